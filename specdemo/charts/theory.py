"""What should it have been? The papers' formula with this run's own numbers.

The page redraws the two curves itself when a viewer asks "what if"; `meta` carries what it needs.
"""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import Chart, Lanes, Table, Words, make_figure, rounded, sentence
from specdemo.metrics.theory import MAX_LENGTH, speedup_at
from specdemo.palette import LANE_COLOURS, THEORY_COLOURS

LENGTHS = tuple(range(MAX_LENGTH + 1))


def theory_chart(lanes: Lanes, words: Words) -> Chart:
    """Predicted speedup over the draft length, and the measured one."""
    costs = metrics.round_costs(lanes["normal"].trace, lanes["speculative"].trace)
    measured = measured_speedup(lanes)
    return Chart(
        "theory",
        theory_text(costs, measured, words),
        theory_table(costs, words),
        theory_figure(costs, measured, words),
    )


def theory_figure(
    costs: metrics.RoundCosts | None, measured: float | None, words: Words
) -> go.Figure:
    """The curve with the measured v, the textbook's thin, the measured point, the break-even."""
    traces: list[dict[str, Any]] = []
    meta: dict[str, Any] = {}
    if costs is not None:
        own, textbook = predicted(costs)
        best = metrics.best_length(costs)
        traces = [
            _curve(own, words["chart_formula"], LANE_COLOURS["speculative"].light, 2.5),
            _curve(textbook, words["chart_textbook"], THEORY_COLOURS["textbook"].light, 1.2),
            _point([best], [own[best]], words["chart_best"], "circle-open"),
        ]
        if measured is not None:
            at = rounded(costs.num_draft_tokens)
            traces.append(_point([at], [rounded(measured)], words["chart_measured"], "diamond"))
        meta = {
            "acceptance_rate": rounded(costs.acceptance_rate),
            "cost_ratio": rounded(costs.cost_ratio),
            "verify_ratio": rounded(costs.verify_ratio),
            "num_draft_tokens": rounded(costs.num_draft_tokens),
        }
    layout = {
        "meta": meta,
        "xaxis": {
            "title": {"text": words["chart_draft_length"], "standoff": 8},
            "range": [0, 16],
            "automargin": True,
        },
        "yaxis": {"ticksuffix": "×", "rangemode": "tozero", "automargin": True},
        "shapes": [_break_even_line()],
        "hovermode": "x unified",
        "legend": {"orientation": "h", "x": 0, "y": -0.28, "yanchor": "top"},
    }
    return make_figure(traces, layout)


def theory_text(costs: metrics.RoundCosts | None, measured: float | None, words: Words) -> str:
    """α, c and v, the best length, and where drafting would stop paying."""
    if costs is None:
        return sentence([words["not_measured"]])
    own, _ = predicted(costs)
    best = metrics.best_length(costs)
    even = metrics.break_even_acceptance_rate(costs)
    parts = [
        words["chart_ratios"].format(
            alpha=f"{costs.acceptance_rate:.2f}",
            c=f"{costs.cost_ratio:.2f}",
            v=f"{costs.verify_ratio:.2f}",
            length=f"{costs.num_draft_tokens:.1f}",
        ),
        words["chart_best_is"].format(length=best, speedup=f"{own[best]:.2f}"),
    ]
    if measured is not None:
        parts.append(f"{words['chart_measured']} {measured:.2f}×")
    if even is not None:
        parts.append(words["chart_breaks_even"].format(alpha=f"{even:.2f}"))
    return sentence(parts)


def theory_table(costs: metrics.RoundCosts | None, words: Words) -> Table:
    """Both curves, a row for each length."""
    head = (words["chart_draft_length"], words["chart_formula"], words["chart_textbook"])
    return (head, *zip(LENGTHS, *predicted(costs))) if costs else (head,)


def predicted(costs: metrics.RoundCosts) -> tuple[list[float], list[float]]:
    """The speedup at each of `LENGTHS`: with the measured v, and with the textbook's v = 1."""
    own = [speedup_at(costs, length) for length in LENGTHS]
    alpha, c = costs.acceptance_rate, costs.cost_ratio
    textbook = [metrics.predicted_speedup(alpha, c, 1.0, length) for length in LENGTHS]
    return [round(value, 4) for value in own], [round(value, 4) for value in textbook]


def measured_speedup(lanes: Lanes) -> float | None:
    """The ratio of tokens per second, prompt included."""
    slow, fast = (metrics.run_metrics(lane.trace).tokens_per_second for lane in lanes.values())
    return fast / slow if slow and fast else None


def _curve(values: list[float], name: str, colour: str, width: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(LENGTHS),
        "y": values,
        "name": name,
        "line": {"color": colour, "width": width, "dash": "solid" if width > 2 else "dot"},
        "hovertemplate": "%{y:.2f}×",
    }


def _point(x: list[float | None], y: list[float | None], name: str, symbol: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "name": name,
        "marker": {"color": THEORY_COLOURS["point"].light, "symbol": symbol, "size": 11},
        "hovertemplate": "%{y:.2f}×",
    }


def _break_even_line() -> dict[str, Any]:
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": 1,
        "y1": 1,
        "line": {"color": THEORY_COLOURS["even"].light, "width": 1, "dash": "dash"},
    }
