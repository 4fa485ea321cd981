"""One clock: both runs as blocks of work on a shared time axis."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import plotly.graph_objects as go

from specdemo.charts.chart import (
    Cell,
    Chart,
    Lanes,
    Table,
    Words,
    make_figure,
    rounded,
    sentence,
)
from specdemo.events import Round
from specdemo.palette import TIME_COLOURS
from specdemo.trace import RunTrace

_KINDS = ("prefill", "draft", "verify", "waited")


def timeline_chart(lanes: Lanes, words: Words) -> Chart:
    """When each pass ran, on each run's own clock."""
    return Chart(
        "timeline",
        timeline_text(lanes, words),
        timeline_table(lanes, words),
        timeline_figure(lanes, words),
    )


def timeline_figure(lanes: Lanes, words: Words) -> go.Figure:
    """A row for each run: its prompt, then for each round its draft and its verification.

    `customdata` names the lane and the round of each block, for the page to link with the tokens.
    What a round spends outside the passes shows as the gap behind it.
    """
    traces = [
        _blocks(lane, snapshot.trace, kind, words)
        for lane, snapshot in lanes.items()
        for kind in _KINDS
    ]
    layout = {
        "barmode": "overlay",
        "bargap": 0.3,
        "showlegend": True,
        "xaxis": {"ticksuffix": " s", "rangemode": "tozero", "automargin": True},
        "yaxis": {
            "autorange": "reversed",
            "type": "category",
            "automargin": True,
            "showgrid": False,
            "fixedrange": True,
        },
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": {"orientation": "h", "x": 0, "y": -0.3, "yanchor": "top", "traceorder": "normal"},
    }
    return make_figure([trace for trace in traces if trace["x"] or trace["showlegend"]], layout)


def timeline_text(lanes: Lanes, words: Words) -> str:
    """How many rounds each run took, and how long."""
    return sentence(
        words["timeline_run"].format(
            lane=words[f"lane_{lane}"],
            rounds=len(snapshot.trace.rounds),
            seconds=f"{snapshot.trace.seconds:.2f}",
        )
        for lane, snapshot in lanes.items()
    )


def timeline_table(lanes: Lanes, words: Words) -> Table:
    """One row a round."""
    head: tuple[Cell, ...] = (
        words["chart_run"],
        words["chart_round"],
        words["chart_start"],
        words["time_draft"],
        words["time_verify"],
        words["time_overhead"],
        words["chart_drafted"],
        words["chart_kept"],
        words["tokens"],
    )
    is_served = any(r.waited_seconds is not None for s in lanes.values() for r in s.trace.rounds)
    if is_served:
        head = (*head, words["time_waited"])
    rows: list[tuple[Cell, ...]] = []
    for lane, snapshot in lanes.items():
        trace = snapshot.trace
        for start, finished in zip(round_starts(trace), trace.rounds):
            seconds = (finished.draft_seconds, finished.verify_seconds, finished.overhead_seconds)
            rows.append(
                (
                    words[f"lane_{lane}"],
                    finished.index + 1,
                    *(rounded(value) for value in (start, *seconds)),
                    finished.num_draft_tokens,
                    finished.num_accepted_tokens,
                    len(finished.output_tokens),
                    *([rounded(finished.waited_seconds)] if is_served else []),
                )
            )
    return (head, *rows)


def round_starts(trace: RunTrace) -> tuple[float, ...]:
    """When each round began on the run's own clock, in seconds."""
    first = trace.prefill.seconds if trace.prefill else 0.0
    return tuple(accumulate((r.seconds for r in trace.rounds[:-1]), initial=first))


def _blocks(lane: str, trace: RunTrace, kind: str, words: Words) -> dict[str, Any]:
    spans = _prefill_spans(trace) if kind == "prefill" else _round_spans(trace, kind)
    return {
        "type": "bar",
        "orientation": "h",
        "y": [words[f"lane_{lane}"]] * len(spans),
        "base": [rounded(start, 5) for start, _, _ in spans],
        "x": [rounded(seconds) for _, seconds, _ in spans],
        "customdata": [
            [lane, -1 if r is None else r.index, _described(r, words)] for *_, r in spans
        ],
        "name": words[f"time_{kind}"],
        "legendgroup": kind,
        "showlegend": lane == "speculative" and (kind != "waited" or bool(spans)),
        "marker": {
            "color": TIME_COLOURS[kind].light,
            "line": {"width": 0},
            "pattern": {"shape": "/" if kind == "draft" else "", "size": 4},
        },
        "hovertemplate": f"%{{customdata[2]}}{words[f'time_{kind}']} %{{x:.4f}} s<extra></extra>",
        "width": 0.7,
    }


def _prefill_spans(trace: RunTrace) -> list[tuple[float, float, Round | None]]:
    return [(0.0, trace.prefill.seconds, None)] if trace.prefill else []


def _round_spans(trace: RunTrace, kind: str) -> list[tuple[float, float, Round | None]]:
    spans: list[tuple[float, float, Round | None]] = []
    for start, finished in zip(round_starts(trace), trace.rounds):
        split = finished.split
        if split is None:
            if kind == "waited":
                spans.append((start, finished.seconds, finished))
            continue
        if kind == "draft" and split.draft:
            spans.append((start, split.draft, finished))
        if kind == "verify":
            spans.append((start + split.draft, split.verify, finished))
    return spans


def _described(finished: Round | None, words: Words) -> str:
    """A round in words, in front of the pass that is pointed at."""
    if finished is None:
        return ""
    described = words["timeline_round"].format(
        round=finished.index + 1,
        drafted=finished.num_draft_tokens,
        kept=finished.num_accepted_tokens,
        tokens=len(finished.output_tokens),
    )
    return f"{described}<br>"
