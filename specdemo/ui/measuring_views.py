"""The views of the benchmark and of draft-and-score as JSON. Knows no component and no run."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from specdemo.benchmark import Results, summarize
from specdemo.benchmark.report import charts_of, tables_of
from specdemo.metrics import run_metrics
from specdemo.palette import dark_colours
from specdemo.scoring import DraftAndScore, is_other_choice
from specdemo.session import ScoredToken
from specdemo.trace import LaneSnapshot
from specdemo.ui.json_view import encode
from specdemo.ui.wording import words


def benchmark_value(results: Results | None, language: str) -> str:
    """The benchmark's view: how far it is, charts and tables; empty without a row."""
    if results is None or not results.rows:
        return ""
    spoken, summary = words(language), summarize(results)
    return encode(
        {
            "done": len(results.rows),
            "planned": results.plan.num_runs,
            # Not a property of the view: those are lost while its tab has not been opened yet.
            "dark": dark_colours(),
            "charts": [
                {
                    "title": spoken[f"bench_chart_{chart.key}"],
                    "text": chart.text,
                    "figure": json.loads(chart.figure.to_json()),
                }
                for chart in charts_of(summary, spoken)
            ],
            "tables": [asdict(table) for table in tables_of(results, summary, spoken)],
        }
    )


def score_value(state: DraftAndScore | None, language: str) -> str:
    """The view of draft-and-score: three answers, the numbers, every token of the draft."""
    if state is None:
        return ""
    race, score, scored = state.race, state.score, state.scored
    return encode(
        {
            "draft": _lane(state.draft),
            "speculative": race and _lane(race.speculative),
            "normal": race and _lane(race.normal),
            "score": score and asdict(score),
            "score_seconds": scored and scored.score_seconds,
            "num_changed_ids": scored and scored.num_changed_ids,
            "lacks_features": scored and scored.draft_lacks_features,
            "tokens": scored and list(_chips(t for t in scored.tokens if t.is_answer)),
            "language": language,
        }
    )


def _lane(lane: LaneSnapshot) -> dict[str, Any]:
    metrics = run_metrics(lane.trace)
    return {"text": lane.text, "seconds": metrics.seconds, "rate": metrics.tokens_per_second}


def _chips(tokens: Iterable[ScoredToken]) -> Iterator[dict[str, Any]]:
    """Tokens as boxes; those that share one character make one, as surprising as its worst."""
    shared: list[ScoredToken] = []
    has_differed = False
    for token in tokens:
        shared.append(token)
        if not token.piece:
            continue
        worst = min(shared, key=lambda t: math.inf if t.log_prob is None else t.log_prob)
        is_first = not has_differed and any(map(is_other_choice, shared))
        has_differed = has_differed or is_first
        yield {
            "text": token.piece,
            "log_prob": worst.log_prob,
            "best": worst.best_piece,
            "best_log_prob": worst.best_log_prob,
            "is_first": is_first,
        }
        shared = []
