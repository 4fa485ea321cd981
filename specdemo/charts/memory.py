"""How much memory does it hold, and how do the caches grow?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import (
    LABEL_ROOM,
    ROWS_AXIS,
    Cell,
    Chart,
    Lanes,
    Table,
    Words,
    end_labels,
    make_figure,
    megabytes,
    rounded,
    sentence,
)
from specdemo.charts.speed import thinned
from specdemo.palette import LANE_COLOURS, MEMORY_COLOURS
from specdemo.trace import LaneSnapshot, MemorySample

_PARTS = ("target_weights", "draft_weights", "target_cache", "draft_cache")


def memory_chart(lanes: Lanes, words: Words) -> Chart:
    """Weights and allocated caches of each run, and the peak of the process or device."""
    return Chart(
        "memory", memory_text(lanes, words), memory_table(lanes, words), memory_figure(lanes, words)
    )


def caches_chart(lanes: Lanes, words: Words) -> Chart:
    """The KV caches over the run's clock."""
    return Chart(
        "caches", caches_text(lanes, words), caches_table(lanes, words), caches_figure(lanes, words)
    )


def memory_figure(lanes: Lanes, words: Words) -> go.Figure:
    """One stacked bar a run, beside the highest peak that was measured."""
    samples = _last_samples(lanes)
    rows = [words[f"lane_{lane}"] for lane, _ in samples]
    ends = [megabytes(sample.total_bytes) for _, sample in samples]
    traces = []
    for part in _PARTS:
        values = [megabytes(_part(sample, part)) for _, sample in samples]
        traces.append(_bar(part, rows, values, words))
    peak = _peak(lanes)
    if peak is not None:
        rows, ends = [*rows, words["chart_peak"]], [*ends, megabytes(peak)]
        traces.append(_bar("peak", rows[-1:], ends[-1:], words) | {"showlegend": False})
    traces.append(end_labels(rows, ends, "%{x:,.0f} MB"))
    end = max(ends, default=1.0) * LABEL_ROOM
    axes = {"xaxis": {"ticksuffix": " MB", "nticks": 4, "range": [0, end]}, "yaxis": ROWS_AXIS}
    return make_figure(traces, axes | {"barmode": "stack", "hovermode": "y unified"})


def memory_text(lanes: Lanes, words: Words) -> str:
    """The bars in words, and what the draft adds."""
    if served := _served(lanes, words):
        return sentence(served)
    parts = [
        f"{words[f'lane_{lane}']}: "
        + ", ".join(
            f"{words[f'chart_{part}']} {megabytes(_part(sample, part)):g} MB" for part in _PARTS
        )
        for lane, sample in _last_samples(lanes)
    ]
    peak = _peak(lanes)
    shown = words["not_measured"] if peak is None else f"{megabytes(peak):g} MB"
    return sentence([*parts, *_extra(lanes, words), f"{words['chart_peak']}: {shown}"])


def memory_table(lanes: Lanes, words: Words) -> Table:
    """One row a part, in MB."""
    samples = _last_samples(lanes)
    rows: list[tuple[Cell, ...]] = [("MB", *(words[f"lane_{lane}"] for lane, _ in samples))]
    for part in _PARTS:
        values = (megabytes(_part(sample, part)) for _, sample in samples)
        rows.append((words[f"chart_{part}"], *values))
    peak = _peak(lanes)
    if peak is not None:
        rows.append((words["chart_peak"], *[megabytes(peak)] * len(samples)))
    return tuple(rows)


def caches_figure(lanes: Lanes, words: Words) -> go.Figure:
    """Used bytes as lines, allocated ones dashed above them."""
    traces = []
    for lane, snapshot in lanes.items():
        for is_used in (True, False):
            traces.append(_cache_line(lane, snapshot, words, is_used=is_used))
    layout = {
        "xaxis": {"ticksuffix": " s", "rangemode": "tozero", "automargin": True},
        "yaxis": {"ticksuffix": " MB", "rangemode": "tozero", "automargin": True},
        "hovermode": "x unified",
    }
    return make_figure(traces, layout)


def caches_text(lanes: Lanes, words: Words) -> str:
    """The last sample in words."""
    if served := _served(lanes, words):
        return sentence(served)
    return sentence(
        f"{words[f'lane_{lane}']}: {words['chart_cache_used']} {_used(sample):g} MB, "
        f"{words['chart_cache_allocated']} {_allocated(sample):g} MB"
        for lane, sample in _last_samples(lanes)
    ) or sentence([words["not_measured"]])


def caches_table(lanes: Lanes, words: Words) -> Table:
    """Both caches over the clock, used and allocated, in MB."""
    head = (
        words["chart_run"],
        words["chart_clock"],
        f"{words['chart_target_cache']}, {words['chart_cache_used']}",
        f"{words['chart_draft_cache']}, {words['chart_cache_used']}",
        f"{words['chart_target_cache']}, {words['chart_cache_allocated']}",
        f"{words['chart_draft_cache']}, {words['chart_cache_allocated']}",
    )
    rows: list[tuple[Cell, ...]] = []
    for lane, snapshot in lanes.items():
        for sample in _thinned(snapshot):
            parts = (
                sample.target_cache_used_bytes,
                sample.draft_cache_used_bytes,
                sample.target_cache_bytes,
                sample.draft_cache_bytes,
            )
            row = (words[f"lane_{lane}"], rounded(sample.seconds), *map(megabytes, parts))
            rows.append(row)
    return (head, *rows)


def _bar(part: str, rows: Sequence[str], values: Sequence[float], words: Words) -> dict[str, Any]:
    shape = "/" if part.endswith("cache") else ""
    return {
        "type": "bar",
        "orientation": "h",
        "name": words[f"chart_{part}"],
        "x": values,
        "y": rows,
        "marker": {
            "color": MEMORY_COLOURS[part].light,
            "pattern": {"shape": shape, "size": 5, "fillmode": "overlay"},
        },
        "hovertemplate": "%{x:,.1f} MB",
        "width": 0.6,
    }


def _cache_line(
    lane: str, snapshot: LaneSnapshot, words: Words, *, is_used: bool
) -> dict[str, Any]:
    samples = _thinned(snapshot)
    kind = words["chart_cache_used" if is_used else "chart_cache_allocated"]
    return {
        "type": "scatter",
        "x": [rounded(sample.seconds) for sample in samples],
        "y": [_used(sample) if is_used else _allocated(sample) for sample in samples],
        "name": f"{words[f'lane_{lane}']}, {kind}",
        "mode": "lines",
        "line": {
            "color": LANE_COLOURS[lane].light,
            "width": 2.5 if is_used else 1.2,
            "dash": "solid" if is_used else "dot",
        },
        "hovertemplate": "%{y:.1f} MB",
        "showlegend": is_used,
    }


def _thinned(snapshot: LaneSnapshot) -> list[MemorySample]:
    return [snapshot.memory[index] for index in thinned(len(snapshot.memory))]


def _part(sample: MemorySample, part: str) -> int:
    return int(getattr(sample, f"{part}_bytes"))


def _used(sample: MemorySample) -> float:
    return megabytes(sample.target_cache_used_bytes + sample.draft_cache_used_bytes)


def _allocated(sample: MemorySample) -> float:
    return megabytes(sample.target_cache_bytes + sample.draft_cache_bytes)


def _last_samples(lanes: Lanes) -> list[tuple[str, MemorySample]]:
    return [(name, lane.memory[-1]) for name, lane in lanes.items() if lane.memory]


def _served(lanes: Lanes, words: Words) -> list[str]:
    """What servers report of their memory; empty for runs of this machine."""
    told = []
    for lane, snapshot in lanes.items():
        if snapshot.server is not None:
            cache = snapshot.server.cache_bytes
            shown = (
                words["not_reported"]
                if cache is None
                else words["served_memory"].format(cache=f"{megabytes(cache):g}")
            )
            told.append(f"{words[f'lane_{lane}']}: {shown}")
    return told


def _extra(lanes: Lanes, words: Words) -> list[str]:
    """What the draft costs in memory, weights and cache."""
    samples = dict(_last_samples(lanes))
    if len(samples) < len(lanes):
        return []
    sample = samples["speculative"]
    extra = sample.draft_weights_bytes + sample.draft_cache_bytes
    share = extra / (sample.total_bytes - extra)
    return [words["chart_extra"].format(extra=f"{megabytes(extra):g}", share=f"{share:.0%}")]


def _peak(lanes: Lanes) -> int | None:
    """Both runs share one process, so its peak is drawn once."""
    peaks = [metrics.peak_bytes(lane) for lane in lanes.values()]
    return max((peak for peak in peaks if peak is not None), default=None)
