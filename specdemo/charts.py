"""Snapshots to figures: one pure function per question a viewer may ask.

Knows no component and no language: words are arguments. Colours are the light theme's. Whatever was
not measured is left out and called so in the text, never drawn as zero.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.palette import LANE_COLOURS, MEMORY_COLOURS
from specdemo.trace import LaneSnapshot, MemorySample, RunTrace, Snapshot

Words: TypeAlias = Mapping[str, str]
Lanes: TypeAlias = Mapping[str, LaneSnapshot]  # "normal" and "speculative"

WINDOW_SECONDS = 1.0
MAX_POINTS = 160
_MEGABYTE = 1_000_000
_LABEL_ROOM = 1.25  # the longest bar ends here, so that its number fits beside it
_LANE_NAMES = ("normal", "speculative")
_MARGIN: dict[str, float] = {"l": 8, "r": 12, "t": 8, "b": 8}
_LAYOUT: dict[str, Any] = {
    "template": {},
    "showlegend": True,
    "legend": {"orientation": "h", "x": 0, "y": -0.16, "yanchor": "top", "traceorder": "normal"},
    "margin": _MARGIN,
    "uirevision": "kept",
    "hovermode": False,
    "font": {"size": 12},
}
_ROWS_AXIS: dict[str, Any] = {
    "autorange": "reversed",
    "type": "category",
    "showgrid": False,
    "automargin": True,
}
_TITLE = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "showarrow": False}
_MEMORY_PARTS = ("target_weights", "draft_weights", "target_cache", "draft_cache")


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure and the same content in a sentence."""

    key: str
    text: str
    figure: go.Figure


def lanes_of(snapshot: Snapshot) -> Lanes:
    """Both lanes by name."""
    return {"normal": snapshot.normal, "speculative": snapshot.speculative}


def charts(lanes: Lanes, words: Words) -> tuple[Chart, ...]:
    """Every chart of this moment."""
    return (
        Chart("latency", latency_text(lanes, words), latency_figure(lanes, words)),
        Chart("speed", speed_text(lanes, words), speed_figure(lanes, words)),
        Chart("memory", memory_text(lanes, words), memory_figure(lanes, words)),
    )


def latency_figure(lanes: Lanes, words: Words) -> go.Figure:
    """Time to first token, per output token and in total; a scale of its own for each."""
    rows = _latency_rows(lanes, words)
    names = [words[f"lane_{lane}"] for lane in lanes]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": []}
    for index, (title, values) in enumerate(rows):
        number = str(index + 1) if index else ""
        top = 1 - index / len(rows)
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        traces.append(_lane_bars(names, values) | axes)
        traces.append(_end_labels(names, values, "%{x:.3~r}") | axes)
        longest = max((value for value in values if value is not None), default=1.0)
        layout[f"xaxis{number}"] = {
            "anchor": f"y{number}",
            "visible": False,
            "range": [0, longest * _LABEL_ROOM],
        }
        layout[f"yaxis{number}"] = _ROWS_AXIS | {"domain": [top - 0.29, top - 0.09]}
        layout["annotations"].append(_row_title(title, top))
    return _figure(traces, layout | {"showlegend": False, "margin": _MARGIN | {"t": 4}})


def latency_text(lanes: Lanes, words: Words) -> str:
    """The bars in words."""
    return _sentence(
        f"{title}: {_named_values(values, words)}" for title, values in _latency_rows(lanes, words)
    )


def speed_figure(lanes: Lanes, words: Words) -> go.Figure:
    """Tokens per second over each run's own clock: the last second thin, the mean so far thick."""
    traces = []
    for lane, lane_snapshot in lanes.items():
        times = metrics.token_times(lane_snapshot.trace)
        traces.append(_speed_line(lane, times, words, is_mean=False))
        traces.append(_speed_line(lane, times, words, is_mean=True))
    layout = {
        "xaxis": {"ticksuffix": " s", "rangemode": "tozero", "automargin": True},
        "yaxis": {"rangemode": "tozero", "automargin": True},
        "hovermode": "x unified",
    }
    return _figure(traces, layout)


def speed_text(lanes: Lanes, words: Words) -> str:
    """The mean of each run in words."""
    rates = [metrics.run_metrics(lane.trace).tokens_per_second for lane in lanes.values()]
    return _sentence([f"{words['chart_rate']}: {_named_values(rates, words)}"])


def memory_figure(lanes: Lanes, words: Words) -> go.Figure:
    """Weights and caches of each run, stacked, beside the highest peak that was measured."""
    samples = _last_samples(lanes)
    rows = [words[f"lane_{lane}"] for lane, _ in samples]
    ends = [_megabytes(sample.total_bytes) for _, sample in samples]
    traces = []
    for part in _MEMORY_PARTS:
        values = [_megabytes(getattr(sample, f"{part}_bytes")) for _, sample in samples]
        traces.append(_memory_bar(part, rows, values, words))
    peak = _peak(lanes)
    if peak is not None:
        rows, ends = [*rows, words["chart_peak"]], [*ends, _megabytes(peak)]
        bar = _memory_bar("peak", rows[-1:], ends[-1:], words)
        traces.append(bar | {"showlegend": False})
    traces.append(_end_labels(rows, ends, "%{x:,.0f} MB"))
    end = max(ends, default=1.0) * _LABEL_ROOM
    axes = {"xaxis": {"ticksuffix": " MB", "nticks": 4, "range": [0, end]}, "yaxis": _ROWS_AXIS}
    return _figure(traces, axes | {"barmode": "stack", "hovermode": "y unified"})


def memory_text(lanes: Lanes, words: Words) -> str:
    """The bars in words."""
    parts = [
        f"{words[f'lane_{lane}']}: "
        + ", ".join(
            f"{words[f'chart_{part}']} {_megabytes(getattr(sample, f'{part}_bytes')):g} MB"
            for part in _MEMORY_PARTS
        )
        for lane, sample in _last_samples(lanes)
    ]
    peak = _peak(lanes)
    shown = words["not_measured"] if peak is None else f"{_megabytes(peak):g} MB"
    return _sentence([*parts, f"{words['chart_peak']}: {shown}"])


def time_per_output_token_seconds(trace: RunTrace) -> float | None:
    """Mean time per token after the first one, in seconds."""
    times = metrics.token_times(trace)
    return metrics.ratio(times[-1] - times[0], len(times) - 1) if times else None


def _latency_rows(lanes: Lanes, words: Words) -> list[tuple[str, list[float | None]]]:
    traces = [lane.trace for lane in lanes.values()]
    per_token = [time_per_output_token_seconds(trace) for trace in traces]
    return [
        (
            words["chart_first_token"],
            [metrics.time_to_first_token_seconds(trace) for trace in traces],
        ),
        (words["chart_per_token"], [value and value * 1000 for value in per_token]),
        (words["chart_total"], [trace.seconds or None for trace in traces]),
    ]


def _lane_bars(rows: Sequence[str], values: Sequence[float | None]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": values,
        "y": rows,
        "marker": {"color": [LANE_COLOURS[lane].light for lane in _LANE_NAMES]},
        "hoverinfo": "skip",
        "width": 0.72,
    }


def _row_title(title: str, top: float) -> dict[str, Any]:
    return {"text": title, "x": 0, "y": top, **_TITLE}


def _speed_line(
    lane: str, times: Sequence[float], words: Words, *, is_mean: bool
) -> dict[str, Any]:
    # Tokens of one round arrive together: the round's last one stands for all.
    ends = [i for i, when in enumerate(times) if i + 1 == len(times) or times[i + 1] > when]
    chosen = [ends[i] for i in _thinned(len(ends))]
    if is_mean:
        rates = [metrics.ratio(index + 1, times[index]) for index in chosen]
        name = words["chart_mean"]
    else:
        rates = [_recent_rate(times, index) for index in chosen]
        name = words["chart_recent"]
    return {
        "type": "scatter",
        "x": [round(times[index], 3) for index in chosen],
        "y": [rate and round(rate, 2) for rate in rates],
        "name": name.format(lane=words[f"lane_{lane}"], window=f"{WINDOW_SECONDS:g}"),
        "mode": "lines",
        "line": {"color": LANE_COLOURS[lane].light, "width": 2.5 if is_mean else 1},
        "opacity": 1.0 if is_mean else 0.55,
        "showlegend": is_mean,
        "hovertemplate": "%{y:.1f}",
    }


def _recent_rate(times: Sequence[float], index: int) -> float | None:
    """Tokens per second over the last window that ends at this token."""
    span = min(WINDOW_SECONDS, times[index])
    first = bisect_right(times, times[index] - span)
    return metrics.ratio(bisect_right(times, times[index]) - first, span)


def _thinned(length: int) -> list[int]:
    """At most `MAX_POINTS` indices, the last one among them."""
    stride = max(1, -(-length // MAX_POINTS))
    return [*range(stride - 1, length - 1, stride), length - 1] if length else []


def _memory_bar(
    part: str, rows: Sequence[str], values: Sequence[float], words: Words
) -> dict[str, Any]:
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


def _last_samples(lanes: Lanes) -> list[tuple[str, MemorySample]]:
    return [(name, lane.memory[-1]) for name, lane in lanes.items() if lane.memory]


def _peak(lanes: Lanes) -> int | None:
    """Both runs share one process, so its peak is drawn once."""
    peaks = [metrics.peak_bytes(lane) for lane in lanes.values()]
    return max((peak for peak in peaks if peak is not None), default=None)


def _end_labels(rows: Sequence[str], ends: Sequence[float | None], template: str) -> dict[str, Any]:
    """Numbers where the bars end; a bar's own text gets lost when Plotly redraws it in place."""
    return {
        "type": "scatter",
        "x": ends,
        "y": rows,
        "mode": "text",
        "texttemplate": f" {template}",
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _figure(traces: Sequence[dict[str, Any]], layout: Mapping[str, Any]) -> go.Figure:
    """One constructor call: each `update_` would validate the whole figure again."""
    return go.Figure(traces, {**_LAYOUT, **layout})


def _named_values(values: Sequence[float | None], words: Words) -> str:
    return ", ".join(
        f"{words[f'lane_{lane}']} {words['not_measured'] if value is None else _short(value)}"
        for lane, value in zip(_LANE_NAMES, values, strict=True)
    )


def _sentence(parts: Iterable[str]) -> str:
    return "; ".join(parts) + "."


def _short(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _megabytes(num_bytes: int) -> float:
    return round(num_bytes / _MEGABYTE, 1)
