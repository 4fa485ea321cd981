"""How long does it take? First token, each token, everything."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles
from typing import Any

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import (
    LABEL_ROOM,
    MARGIN,
    ROWS_AXIS,
    Chart,
    Lanes,
    Table,
    Words,
    end_labels,
    make_figure,
    named_values,
    numbered,
    rounded,
    row_title,
    sentence,
)
from specdemo.palette import LANE_COLOURS

_MILLISECONDS = 1000
_WHISKER = 0.05  # the whiskers hold all but this share at either end


def latency_chart(lanes: Lanes, words: Words) -> Chart:
    """Time to first token, per output token and in total."""
    return Chart(
        "latency",
        latency_text(lanes, words),
        latency_table(lanes, words),
        latency_figure(lanes, words),
    )


def latency_figure(lanes: Lanes, words: Words) -> go.Figure:
    """A scale of its own for each; the time per output token as its distribution."""
    names = [words[f"lane_{lane}"] for lane in lanes]
    first, mean, total = (values for _, values in _rows(lanes, words))
    titles = [title for title, _ in _rows(lanes, words)]
    spreads = [spread(metrics.per_token_seconds(lane.trace)) for lane in lanes.values()]
    traces: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"annotations": []}
    for index, values in enumerate((first, mean, total)):
        axes = {"xaxis": numbered("x", index), "yaxis": numbered("y", index)}
        is_spread = index == 1
        ends = [s[-1] if s else None for s in spreads] if is_spread else values
        bars = _boxes(names, spreads, mean) if is_spread else [_bars(names, values)]
        traces += [bar | axes for bar in bars]
        traces.append(_labels(names, ends, values) | axes)
        longest = max((end for end in ends if end is not None), default=1.0)
        top = 1 - index / 3
        layout[f"xaxis{numbered('', index)}"] = {
            "anchor": axes["yaxis"],
            "visible": False,
            "range": [0, longest * LABEL_ROOM],
        }
        layout[f"yaxis{numbered('', index)}"] = ROWS_AXIS | {"domain": [top - 0.29, top - 0.09]}
        layout["annotations"].append(row_title(titles[index], top))
    return make_figure(traces, layout | {"showlegend": False, "margin": MARGIN | {"t": 4}})


def latency_text(lanes: Lanes, words: Words) -> str:
    """The means in words."""
    return sentence(
        f"{title}: {named_values(values, words)}" for title, values in _rows(lanes, words)
    )


def latency_table(lanes: Lanes, words: Words) -> Table:
    """One row a measure, the quartiles of the time per output token among them."""
    head = ("", *(words[f"lane_{lane}"] for lane in lanes))
    rows = [(title, *map(rounded, values)) for title, values in _rows(lanes, words)]
    spreads = [spread(metrics.per_token_seconds(lane.trace)) for lane in lanes.values()]
    for name, place in (("q1", 1), ("median", 2), ("q3", 3)):
        title = f"{words['chart_per_token']}, {words[f'chart_{name}']}"
        rows.append((title, *(rounded(s[place] if s else None) for s in spreads)))
    return (head, *rows)


def spread(seconds: Sequence[float]) -> tuple[float, ...] | None:
    """Milliseconds: 5 %, quartiles, 95 %; `None` for fewer than two values."""
    if len(seconds) < 2:
        return None
    cuts = quantiles(seconds, n=20, method="inclusive")
    return tuple(_MILLISECONDS * cuts[place] for place in (0, 4, 9, 14, 18))


def _rows(lanes: Lanes, words: Words) -> list[tuple[str, list[float | None]]]:
    traces = [lane.trace for lane in lanes.values()]
    per_token = [metrics.time_per_output_token_seconds(trace) for trace in traces]
    return [
        (
            words["chart_first_token"],
            [metrics.time_to_first_token_seconds(trace) for trace in traces],
        ),
        (words["chart_per_token"], [value and value * _MILLISECONDS for value in per_token]),
        (words["chart_total"], [trace.seconds or None for trace in traces]),
    ]


def _bars(rows: Sequence[str], values: Sequence[float | None]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [rounded(value) for value in values],
        "y": rows,
        "marker": {"color": [colour.light for colour in LANE_COLOURS.values()]},
        "hoverinfo": "skip",
        "width": 0.72,
    }


def _boxes(
    rows: Sequence[str],
    spreads: Sequence[tuple[float, ...] | None],
    means: Sequence[float | None],
) -> list[dict[str, Any]]:
    boxes = []
    for row, values, mean, colour in zip(rows, spreads, means, LANE_COLOURS.values()):
        low, q1, middle, q3, high = values or (None,) * 5
        boxes.append(
            {
                "type": "box",
                "orientation": "h",
                "y": [row],
                "lowerfence": [rounded(low)],
                "q1": [rounded(q1)],
                "median": [rounded(middle)],
                "q3": [rounded(q3)],
                "upperfence": [rounded(high)],
                "mean": [rounded(mean)],
                "line": {"color": colour.light, "width": 1.5},
                "fillcolor": "rgba(0,0,0,0)",
                "width": 0.6,
                "hoverinfo": "skip",
            }
        )
    return boxes


def _labels(
    rows: Sequence[str], ends: Sequence[float | None], values: Sequence[float | None]
) -> dict[str, Any]:
    label = end_labels(rows, [rounded(end) for end in ends], "%{text}")
    return label | {"text": [_number(value) for value in values]}


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"
