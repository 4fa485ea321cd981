"""How fast were two races, over one clock?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import Lanes, Words, make_figure
from specdemo.charts.speed import round_ends
from specdemo.palette import LANE_COLOURS

_DASHES = {"this": "solid", "other": "dash"}


def overlay_figure(this: Lanes, other: Lanes, words: Words) -> go.Figure:
    """The mean speed so far of all four lanes: the first race solid, the second dashed."""
    traces = [
        _line(lane, metrics.token_times(snapshot.trace), race, words)
        for race, lanes in (("this", this), ("other", other))
        for lane, snapshot in lanes.items()
    ]
    layout = {
        "xaxis": {"ticksuffix": " s", "rangemode": "tozero", "automargin": True},
        "yaxis": {"rangemode": "tozero", "automargin": True},
        "hovermode": "x unified",
    }
    return make_figure(traces, layout)


def _line(lane: str, times: Sequence[float], race: str, words: Words) -> dict[str, Any]:
    ends = [index for index in round_ends(times) if times[index]]
    return {
        "type": "scatter",
        "x": [round(times[index], 3) for index in ends],
        "y": [round((index + 1) / times[index], 2) for index in ends],
        "name": f"{words[f'lane_{lane}']}, {words[f'compare_{race}'].lower()}",
        "mode": "lines",
        "line": {"color": LANE_COLOURS[lane].light, "width": 2, "dash": _DASHES[race]},
        "hovertemplate": "%{y:.1f}",
    }
