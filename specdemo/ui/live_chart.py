"""Figures to JSON, and the component that redraws them in place.

`gr.Plot` tears its figure down at each update; Plotly's own `react` does not. Knows no formula and
no colour: figures come in the light theme's colours, the page swaps them for the dark ones.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr
import plotly

from specdemo import charts
from specdemo.palette import dark_colours
from specdemo.trace import LaneSnapshot, Snapshot
from specdemo.ui.json_view import encode, json_view
from specdemo.ui.why import why_sentences
from specdemo.ui.wording import DEFAULT_LANGUAGE, words

PLOTLY_SCRIPT = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
PLOTLY_ADDRESS = PLOTLY_SCRIPT.name  # beside the page, which tells no place on this machine
_EMPTY_LANES = {"normal": LaneSnapshot(), "speculative": LaneSnapshot()}


def live_chart() -> gr.HTML:
    """The charts and why the race came out so; Plotly comes from the installed Python package."""
    head = f'<script src="{PLOTLY_ADDRESS}"></script>'
    return json_view(
        "charts",
        value=charts_value(None, DEFAULT_LANGUAGE),
        parts=("timeline", "what_if"),
        head=head,
        dark=dark_colours(),
    )


def charts_value(snapshot: Snapshot | None, language: str) -> str:
    """All charts of this moment, each with its text and table, and why it came out so."""
    lanes = charts.lanes_of(snapshot) if snapshot else _EMPTY_LANES
    every = [_drawn(chart) for chart in charts.charts(lanes, words(language))]
    return encode({"charts": every, "why": why_sentences(snapshot, language)})


def live_value(snapshot: Snapshot, language: str) -> str:
    """The charts worth following in a running race, without tables: little work, few bytes."""
    followed = charts.live_charts(charts.lanes_of(snapshot), words(language))
    return encode({"charts": [_drawn(chart) | {"table": []} for chart in followed], "why": []})


def _drawn(chart: charts.Chart) -> dict[str, Any]:
    return {
        "key": chart.key,
        "text": chart.text,
        "table": chart.table,
        "figure": json.loads(chart.figure.to_json()),
    }
