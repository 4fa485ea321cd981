"""How many tokens per second?"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import (
    Cell,
    Chart,
    Lanes,
    Table,
    Words,
    make_figure,
    named_values,
    rounded,
    sentence,
)
from specdemo.palette import LANE_COLOURS

WINDOW_SECONDS = 1.0
MAX_POINTS = 160


def speed_chart(lanes: Lanes, words: Words) -> Chart:
    """Tokens per second over the race clock."""
    return Chart(
        "speed", speed_text(lanes, words), speed_table(lanes, words), speed_figure(lanes, words)
    )


def speed_figure(lanes: Lanes, words: Words) -> go.Figure:
    """The last second thin, the mean so far thick, over each run's own clock."""
    traces = []
    for lane, lane_snapshot in lanes.items():
        times = metrics.token_times(lane_snapshot.trace)
        traces.append(_line(lane, times, words, is_mean=False))
        traces.append(_line(lane, times, words, is_mean=True))
    layout = {
        "xaxis": {"ticksuffix": " s", "rangemode": "tozero", "automargin": True},
        "yaxis": {"rangemode": "tozero", "automargin": True},
        "hovermode": "x unified",
    }
    return make_figure(traces, layout)


def speed_text(lanes: Lanes, words: Words) -> str:
    """The mean of each run in words."""
    rates = [metrics.run_metrics(lane.trace).tokens_per_second for lane in lanes.values()]
    return sentence([f"{words['chart_rate']}: {named_values(rates, words)}"])


def speed_table(lanes: Lanes, words: Words) -> Table:
    """When each round's tokens were there, how many by then, and the mean so far."""
    head = (words["chart_run"], words["chart_clock"], words["tokens"], words["chart_rate"])
    rows: list[tuple[Cell, ...]] = []
    for lane, lane_snapshot in lanes.items():
        times = metrics.token_times(lane_snapshot.trace)
        rows += [
            (words[f"lane_{lane}"], rounded(times[i]), i + 1, rounded((i + 1) / times[i]))
            for i in round_ends(times)
            if times[i]
        ]
    return (head, *rows)


def _line(lane: str, times: Sequence[float], words: Words, *, is_mean: bool) -> dict[str, Any]:
    chosen = round_ends(times)
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


def round_ends(times: Sequence[float]) -> list[int]:
    """Tokens of one round arrive together: the round's last one stands for all, thinned."""
    ends = [i for i, when in enumerate(times) if i + 1 == len(times) or times[i + 1] > when]
    return [ends[i] for i in thinned(len(ends))]


def _recent_rate(times: Sequence[float], index: int) -> float | None:
    """Tokens per second over the last window that ends at this token."""
    span = min(WINDOW_SECONDS, times[index])
    first = bisect_right(times, times[index] - span)
    return metrics.ratio(bisect_right(times, times[index]) - first, span)


def thinned(length: int) -> list[int]:
    """At most `MAX_POINTS` indices, the last one among them."""
    stride = max(1, -(-length // MAX_POINTS))
    return [*range(stride - 1, length - 1, stride), length - 1] if length else []
