"""Figures of a benchmark: one for each question. Knows no component and no language.

What a figure shows are bars and dots that somebody else worked out. Colours are the light theme's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from specdemo.palette import LANE_COLOURS, MEMORY_COLOURS
from specdemo.trace import MemorySample

_MEGABYTE = 1_000_000
_LABEL_ROOM = 1.22  # the longest bar ends here, so that its number fits beside it
_MEMORY_PARTS = ("target_weights", "draft_weights", "target_cache", "draft_cache")
_LAYOUT: dict[str, Any] = {
    "template": {},
    "showlegend": False,
    "legend": {"orientation": "h", "x": 0, "y": -0.14, "yanchor": "top", "traceorder": "normal"},
    "margin": {"l": 8, "r": 16, "t": 12, "b": 8},
    "hovermode": "closest",
    "font": {"size": 12},
}
_ROWS_AXIS: dict[str, Any] = {
    "autorange": "reversed",
    "type": "category",
    "showgrid": False,
    "automargin": True,
}


@dataclass(frozen=True, slots=True)
class Bar:
    """What one method in one precision measured; `None` was not measured.

    `speedups` has one for each prompt, `memory` is what the run held; servers do not report it.
    """

    label: str
    is_normal: bool
    tokens_per_second: float | None
    time_to_first_token_seconds: float | None
    latency_seconds: float
    speedups: tuple[float, ...]
    median_speedup: float | None
    memory: MemorySample | None


@dataclass(frozen=True, slots=True)
class BenchmarkChart:
    """A figure and the same content in a sentence."""

    key: str
    text: str
    figure: go.Figure


def benchmark_charts(bars: Sequence[Bar], words: Mapping[str, str]) -> tuple[BenchmarkChart, ...]:
    """Every chart of a benchmark; that of memory only of what reports it."""
    held = [(bar, bar.memory) for bar in bars if bar.memory]
    memory = BenchmarkChart(
        "held",
        "; ".join(f"{bar.label}: {_megabytes(sample.total_bytes):,.0f} MB" for bar, sample in held)
        + ".",
        held_figure(held, words),
    )
    return (
        BenchmarkChart("rates", _text(bars, "tokens_per_second", words), rates_figure(bars)),
        BenchmarkChart("speedups", _text(bars, "median_speedup", words), speedups_figure(bars)),
        BenchmarkChart(
            "latencies", _text(bars, "latency_seconds", words), latencies_figure(bars, words)
        ),
        *([memory] if held else []),
    )


def rates_figure(bars: Sequence[Bar]) -> go.Figure:
    """Mean tokens per second of each method."""
    rates = [bar.tokens_per_second for bar in bars]
    trace = _bar(bars, rates) | {"marker": {"color": [_colour(bar) for bar in bars]}}
    return _figure([trace, _end_labels(bars, rates, "%{x:.1f}")], _amounts(rates))


def speedups_figure(bars: Sequence[Bar]) -> go.Figure:
    """A ring for each prompt, a bar for the median, and a line where nothing is gained."""
    shown = [bar for bar in bars if not bar.is_normal and bar.speedups]
    colour = LANE_COLOURS["speculative"].light
    values = [value for bar in shown for value in bar.speedups]
    rings = {
        "type": "scatter",
        "mode": "markers",
        "x": values,
        "y": [bar.label for bar in shown for _ in bar.speedups],
        "marker": {"symbol": "circle-open", "size": 9, "color": colour, "line": {"width": 1.5}},
        "hovertemplate": "%{x:.2f}×<extra></extra>",
    }
    medians = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [bar.median_speedup for bar in shown],
        "y": [bar.label for bar in shown],
        "marker": {"symbol": "line-ns", "size": 26, "line": {"color": colour, "width": 3}},
        "texttemplate": "<b>%{x:.2f}×</b>",
        "textposition": "top center",
        "cliponaxis": False,
        "hoverinfo": "skip",
    }
    even = {
        "type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper",
        "line": {"color": LANE_COLOURS["normal"].light, "width": 1.5, "dash": "dash"},
    }  # fmt: skip
    axes = {
        "xaxis": {"ticksuffix": "×", "range": [0, max([1.2, *values]) * 1.08], "automargin": True},
        "yaxis": _ROWS_AXIS,
        "shapes": [even],
    }
    return _figure([rings, medians], axes)


def latencies_figure(bars: Sequence[Bar], words: Mapping[str, str]) -> go.Figure:
    """Mean seconds of an answer, up to its first token and after it."""
    firsts = [bar.time_to_first_token_seconds for bar in bars]
    totals = [bar.latency_seconds for bar in bars]
    rests = [total - (first or 0.0) for total, first in zip(totals, firsts)]
    colours = [_colour(bar) for bar in bars]
    striped = {"color": colours, "pattern": {"shape": "/", "size": 5, "fillmode": "overlay"}}
    traces = [
        _bar(bars, firsts) | {"marker": striped, "name": words["bench_first_token"]},
        _bar(bars, rests) | {"marker": {"color": colours}, "name": words["bench_rest"]},
        _end_labels(bars, totals, "%{x:.2f} s"),
    ]
    return _figure(traces, _amounts(totals, " s") | {"barmode": "stack", "showlegend": True})


def held_figure(held: Sequence[tuple[Bar, MemorySample]], words: Mapping[str, str]) -> go.Figure:
    """Weights and caches that each method held."""
    traces = []
    bars = [bar for bar, _ in held]
    for part in _MEMORY_PARTS:
        values = [_megabytes(getattr(sample, f"{part}_bytes")) for _, sample in held]
        shape = "/" if part.endswith("cache") else ""
        marker = {
            "color": MEMORY_COLOURS[part].light,
            "pattern": {"shape": shape, "size": 5, "fillmode": "overlay"},
        }
        traces.append(_bar(bars, values) | {"marker": marker, "name": words[f"chart_{part}"]})
    totals = [_megabytes(sample.total_bytes) for _, sample in held]
    traces.append(_end_labels(bars, totals, "%{x:,.0f} MB"))
    return _figure(traces, _amounts(totals, " MB") | {"barmode": "stack", "showlegend": True})


def _bar(bars: Sequence[Bar], values: Sequence[float | None]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": [bar.label for bar in bars],
        "hovertemplate": "%{x:.3~r}",
        "width": 0.66,
    }


def _end_labels(bars: Sequence[Bar], ends: Sequence[float | None], template: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "x": list(ends),
        "y": [bar.label for bar in bars],
        "mode": "text",
        "texttemplate": f" {template}",
        "textposition": "middle right",
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _amounts(values: Sequence[float | None], suffix: str = "") -> dict[str, Any]:
    longest = max((value for value in values if value is not None), default=1.0)
    axis = {"range": [0, longest * _LABEL_ROOM], "ticksuffix": suffix, "nticks": 5}
    return {"xaxis": axis | {"automargin": True}, "yaxis": _ROWS_AXIS}


def _colour(bar: Bar) -> str:
    return LANE_COLOURS["normal" if bar.is_normal else "speculative"].light


def _figure(traces: Sequence[dict[str, Any]], layout: Mapping[str, Any]) -> go.Figure:
    return go.Figure(list(traces), {**_LAYOUT, **layout})


def _text(bars: Sequence[Bar], name: str, words: Mapping[str, str]) -> str:
    parts = []
    for bar in bars:
        value = getattr(bar, name)
        parts.append(f"{bar.label}: {words['not_measured'] if value is None else f'{value:.3g}'}")
    return "; ".join(parts) + "."


def _megabytes(num_bytes: int) -> float:
    return round(num_bytes / _MEGABYTE, 1)
