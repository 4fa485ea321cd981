"""Which drafts are kept: by their place in the draft, and by the round."""

from __future__ import annotations

import plotly.graph_objects as go

from specdemo import metrics
from specdemo.charts.chart import Chart, Lanes, Table, Words, make_figure, rounded, sentence
from specdemo.palette import STATE_COLOURS
from specdemo.trace import RunTrace


def position_chart(lanes: Lanes, words: Words) -> Chart:
    """Accepted ÷ tested at the first, second, … place of the draft."""
    trace = lanes["speculative"].trace
    return Chart(
        "position",
        position_text(trace, words),
        position_table(trace, words),
        position_figure(trace, words),
    )


def histogram_chart(lanes: Lanes, words: Words) -> Chart:
    """How many drafted tokens a round keeps."""
    trace = lanes["speculative"].trace
    return Chart(
        "histogram",
        histogram_text(trace, words),
        histogram_table(trace, words),
        histogram_figure(trace, words),
    )


def position_figure(trace: RunTrace, words: Words) -> go.Figure:
    """Tested tokens as bars, the kept part filled, the rate above them."""
    counts = metrics.acceptance_by_position(trace)
    places = [count.position for count in counts]
    kept = [count.num_accepted_tokens for count in counts]
    refused = [count.num_tested_tokens - count.num_accepted_tokens for count in counts]
    tested = [count.num_tested_tokens for count in counts]
    traces = [
        _column("accepted", places, kept, words),
        _column("rejected", places, refused, words),
        {
            "type": "scatter",
            "x": places,
            "y": tested,
            "mode": "text",
            "text": [f"{count.acceptance_rate:.0%}" for count in counts],
            "textposition": "top center",
            "hoverinfo": "skip",
            "showlegend": False,
        },
    ]
    return make_figure(traces, _columns_layout(words["chart_place"], max(tested, default=1)))


def position_text(trace: RunTrace, words: Words) -> str:
    """The rates in words."""
    counts = metrics.acceptance_by_position(trace)
    parts = [
        f"{count.position}: {count.acceptance_rate:.0%} "
        f"({count.num_accepted_tokens}/{count.num_tested_tokens})"
        for count in counts
    ]
    return sentence(parts) or sentence([words["not_measured"]])


def position_table(trace: RunTrace, words: Words) -> Table:
    """One row a place."""
    head = (
        words["chart_place"],
        words["chart_tested"],
        words["state_accepted"],
        words["acceptance_rate"],
    )
    rows = [
        (c.position, c.num_tested_tokens, c.num_accepted_tokens, rounded(c.acceptance_rate))
        for c in metrics.acceptance_by_position(trace)
    ]
    return (head, *rows)


def histogram_figure(trace: RunTrace, words: Words) -> go.Figure:
    """Rounds by the number of tokens they kept."""
    counts = metrics.accepted_histogram(trace)
    places = list(range(len(counts)))
    labels = {
        "type": "scatter",
        "x": places,
        "y": list(counts),
        "mode": "text",
        "text": [str(count) for count in counts],
        "textposition": "top center",
        "hoverinfo": "skip",
    }
    column = _column("accepted", places, list(counts), words)
    layout = _columns_layout(words["chart_kept"], max(counts, default=1))
    return make_figure([column, labels], layout | {"showlegend": False})


def histogram_text(trace: RunTrace, words: Words) -> str:
    """The counts in words."""
    counts = metrics.accepted_histogram(trace)
    parts = [
        words["chart_rounds_kept"].format(rounds=count, kept=kept)
        for kept, count in enumerate(counts)
    ]
    return sentence(parts) or sentence([words["not_measured"]])


def histogram_table(trace: RunTrace, words: Words) -> Table:
    """One row a number of kept tokens."""
    counts = metrics.accepted_histogram(trace)
    return ((words["chart_kept"], words["chart_rounds"]), *enumerate(counts))


def _column(state: str, places: list[int], values: list[int], words: Words) -> dict[str, object]:
    return {
        "type": "bar",
        "x": places,
        "y": values,
        "name": words[f"state_{state}"],
        "marker": {
            "color": STATE_COLOURS[state].light,
            "pattern": {"shape": "" if state == "accepted" else "x", "size": 5},
        },
        "hoverinfo": "skip",
        "width": 0.7,
    }


def _columns_layout(title: str, highest: int) -> dict[str, object]:
    return {
        "barmode": "stack",
        "xaxis": {"title": {"text": title, "standoff": 4}, "dtick": 1, "automargin": True},
        "yaxis": {"range": [0, max(highest, 1) * 1.15], "automargin": True, "nticks": 5},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"},
    }
