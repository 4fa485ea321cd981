"""How often should each token come, and how often does it? Knows no test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from specdemo.charts.chart import Words, make_figure, rounded, sentence
from specdemo.palette import LANE_COLOURS, MEMORY_COLOURS

_HEADROOM = 1.15


@dataclass(frozen=True, slots=True)
class Share:
    """One outcome: its exact probability, and the share of each lane's runs that had it."""

    label: str
    exact: float
    speculative: float
    normal: float


def shares_figure(shares: Sequence[Share], words: Words) -> go.Figure:
    """A bar for what should be, a dot and a ring for what is."""
    places = list(range(len(shares)))
    exact = {
        "type": "bar",
        "orientation": "h",
        "name": words["proof_exact"],
        "x": [_percent(share.exact) for share in shares],
        "y": places,
        "width": 0.7,
        "marker": {"color": MEMORY_COLOURS["peak"].light},
    }
    lanes = [_marks(shares, "normal", words), _marks(shares, "speculative", words)]
    longest = max((max(s.exact, s.speculative, s.normal) for s in shares), default=0.01)
    return make_figure(
        [exact, *lanes],
        {
            "xaxis": {
                "range": [0, _percent(longest * _HEADROOM)], "ticksuffix": " %", "nticks": 5,
                "automargin": True,
            },
            "yaxis": {
                "autorange": "reversed", "showgrid": False, "automargin": True,
                "tickvals": places,
                # Plotly reads markup in a tick's text.
                "ticktext": [f"{escape(share.label)} " for share in shares],
            },
        },
    )  # fmt: skip


def shares_text(shares: Sequence[Share], words: Words) -> str:
    """The same in words."""
    return sentence(
        f"{share.label}: {words['proof_exact']} {share.exact:.1%}, {words['lane_speculative']} "
        f"{share.speculative:.1%}, {words['lane_normal']} {share.normal:.1%}"
        for share in shares
    )


def _marks(shares: Sequence[Share], lane: str, words: Words) -> dict[str, Any]:
    is_normal = lane == "normal"
    colour = LANE_COLOURS[lane].light
    return {
        "type": "scatter",
        "mode": "markers",
        "name": words[f"lane_{lane}"],
        "x": [_percent(getattr(share, lane)) for share in shares],
        "y": list(range(len(shares))),
        "cliponaxis": False,
        "marker": {
            "symbol": "circle-open" if is_normal else "circle",
            "size": 13 if is_normal else 7,
            "color": colour,
            "line": {"width": 2 if is_normal else 0, "color": colour},
        },
    }


def _percent(value: float) -> float | None:
    return rounded(100 * value)
