"""Where does the time go? Prompt, draft, verification, everything else."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import (
    LABEL_ROOM,
    MARGIN,
    ROWS_AXIS,
    Cell,
    Chart,
    Lanes,
    Table,
    Words,
    end_labels,
    make_figure,
    numbered,
    rounded,
    row_title,
    sentence,
)
from specdemo.palette import TIME_COLOURS
from specdemo.trace import RunTrace

_KINDS = ("prefill", "draft", "verify", "overhead", "waited")
_MILLISECONDS = 1000


def time_chart(lanes: Lanes, words: Words) -> Chart:
    """Seconds by kind, in total and for each round."""
    return Chart(
        "time", time_text(lanes, words), time_table(lanes, words), time_figure(lanes, words)
    )


def time_figure(lanes: Lanes, words: Words) -> go.Figure:
    """Two stacked bars for the whole run, two for the mean round."""
    names = [words[f"lane_{lane}"] for lane in lanes]
    is_served = any("waited" in _kinds(lane.trace) for lane in lanes.values())
    kinds = ("prefill", "waited") if is_served else _KINDS[:-1]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"barmode": "stack", "annotations": [], "margin": MARGIN | {"t": 4}}
    for index, (title, table) in enumerate(_parts(lanes, words)):
        axes = {"xaxis": numbered("x", index), "yaxis": numbered("y", index)}
        for kind in kinds:
            bar = _bar(kind, names, [row[kind] for row in table], words)
            traces.append(bar | axes | {"showlegend": index == 0})
        ends = [_total(row) for row in table]
        traces.append(end_labels(names, ends, "%{x:.3~r}") | axes)
        longest = max((end for end in ends if end), default=1.0)
        top = 1 - index / 2
        layout[f"xaxis{numbered('', index)}"] = {
            "anchor": axes["yaxis"],
            "visible": False,
            "range": [0, longest * LABEL_ROOM],
        }
        layout[f"yaxis{numbered('', index)}"] = ROWS_AXIS | {"domain": [top - 0.44, top - 0.1]}
        layout["annotations"].append(row_title(title, top))
    return make_figure(traces, layout | {"legend": {"orientation": "h", "x": 0, "y": -0.02}})


def time_text(lanes: Lanes, words: Words) -> str:
    """The shares in words."""
    parts = []
    for lane, snapshot in lanes.items():
        seconds = _seconds(snapshot.trace)
        total = _total(seconds)
        if total:
            shares = ", ".join(
                f"{words[f'time_{kind}']} {(seconds[kind] or 0.0) / total:.0%}"
                for kind in _kinds(snapshot.trace)
            )
            parts.append(f"{words[f'lane_{lane}']}: {shares}")
    return sentence(parts) or sentence([words["not_measured"]])


def time_table(lanes: Lanes, words: Words) -> Table:
    """One row a kind, each part of the figure with two columns."""
    parts = _parts(lanes, words)
    names = [words[f"lane_{lane}"] for lane in lanes]
    head: tuple[Cell, ...] = ("", *(f"{title}, {name}" for title, _ in parts for name in names))
    rows: list[tuple[Cell, ...]] = [
        (words[f"time_{kind}"], *(rounded(row[kind]) for _, table in parts for row in table))
        for kind in _KINDS
        if kind != "waited" or any(row[kind] for _, table in parts for row in table)
    ]
    return (head, *rows)


def _kinds(trace: RunTrace) -> tuple[str, ...]:
    """Of a server's answer only two kinds are observed."""
    is_waited = any(finished.waited_seconds is not None for finished in trace.rounds)
    return ("prefill", "waited") if is_waited else _KINDS[:-1]


def _parts(lanes: Lanes, words: Words) -> list[tuple[str, list[dict[str, float | None]]]]:
    traces = [lane.trace for lane in lanes.values()]
    return [
        (words["chart_time_total"], [_seconds(trace) for trace in traces]),
        (words["chart_time_round"], [_round_milliseconds(trace) for trace in traces]),
    ]


def _seconds(trace: RunTrace) -> dict[str, float | None]:
    shares = metrics.time_shares(trace)
    return {kind: getattr(shares, f"{kind}_seconds") or None for kind in _KINDS}


def _round_milliseconds(trace: RunTrace) -> dict[str, float | None]:
    seconds = _seconds(trace) | {"prefill": None}
    return {
        kind: metrics.ratio(_MILLISECONDS * (value or 0.0), len(trace.rounds)) or None
        for kind, value in seconds.items()
    }


def _total(row: dict[str, float | None]) -> float | None:
    return sum(value for value in row.values() if value) or None


def _bar(kind: str, names: list[str], values: list[float | None], words: Words) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": words[f"time_{kind}"],
        "x": [rounded(value) for value in values],
        "y": names,
        "marker": {
            "color": TIME_COLOURS[kind].light,
            "pattern": {"shape": {"draft": "/", "overhead": "."}.get(kind, ""), "size": 5},
        },
        "hoverinfo": "skip",
        "legendgroup": kind,
        "width": 0.72,
    }
