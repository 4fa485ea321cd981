"""What every chart is made of: its figure, the same content in words and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import plotly.graph_objects as go

from specdemo.trace import LaneSnapshot

Words: TypeAlias = Mapping[str, str]
Lanes: TypeAlias = Mapping[str, LaneSnapshot]  # "normal" and "speculative"
Cell: TypeAlias = str | float | int | None
Table: TypeAlias = tuple[tuple[Cell, ...], ...]  # the first row names the columns

LANE_NAMES = ("normal", "speculative")
LABEL_ROOM = 1.25  # the longest bar ends here, so that its number fits beside it
MARGIN: dict[str, float] = {"l": 8, "r": 12, "t": 8, "b": 8}
ROWS_AXIS: dict[str, Any] = {
    "autorange": "reversed",
    "type": "category",
    "showgrid": False,
    "automargin": True,
}
LEGEND_BELOW: dict[str, Any] = {
    "orientation": "h",
    "x": 0,
    "y": -0.16,
    "yanchor": "top",
    "traceorder": "normal",
}
_LAYOUT: dict[str, Any] = {
    "template": {},
    "showlegend": True,
    "legend": LEGEND_BELOW,
    "margin": MARGIN,
    "uirevision": "kept",
    "hovermode": False,
    "font": {"size": 12},
}
_TITLE = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "showarrow": False}
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure, the same content in a sentence, and its numbers as a table."""

    key: str
    text: str
    table: Table
    figure: go.Figure


def make_figure(traces: Sequence[dict[str, Any]], layout: Mapping[str, Any]) -> go.Figure:
    """One constructor call: each `update_` would validate the whole figure again."""
    return go.Figure(traces, {**_LAYOUT, **layout})


def end_labels(rows: Sequence[str], ends: Sequence[float | None], template: str) -> dict[str, Any]:
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


def row_title(title: str, top: float) -> dict[str, Any]:
    """The title of one part of a figure, above it."""
    return {"text": title, "x": 0, "y": top, **_TITLE}


def numbered(axis: str, index: int) -> str:
    """Plotly's name of the axis of a part: x, x2, x3, …"""
    return f"{axis}{index + 1 if index else ''}"


def sentence(parts: Iterable[str]) -> str:
    """Parts of a text as one sentence; empty without any."""
    text = "; ".join(parts)
    return f"{text}." if text else ""


def short(value: float | None, words: Words) -> str:
    """Three digits that mean something, or that there is nothing yet."""
    if value is None:
        return words["not_measured"]
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def named_values(values: Sequence[float | None], words: Words) -> str:
    """A value of each lane, with the lane's name."""
    return ", ".join(
        f"{words[f'lane_{lane}']} {short(value, words)}"
        for lane, value in zip(LANE_NAMES, values, strict=True)
    )


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Significant digits enough for a chart, few enough for the wire."""
    return None if value is None else float(f"{value:.{digits}g}")


def megabytes(num_bytes: int) -> float:
    """Bytes in MB, to a tenth."""
    return round(num_bytes / _MEGABYTE, 1)
