"""The view of a proof as JSON: the verdict in a sentence, three charts, what is remembered.

Knows no component and no run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from specdemo.charts.shares import Share, shares_figure, shares_text
from specdemo.palette import dark_colours
from specdemo.proof import NUM_TOKENS, SIGNIFICANCE, SOUND, Fit, Proof, verdict
from specdemo.proof.exact import marginal
from specdemo.ui.json_view import encode
from specdemo.ui.wording import words

_MOST_SHOWN = 10


def proof_value(proof: Proof | None, language: str) -> str:
    """Everything that the tab shows of a proof; empty before the first runs."""
    if proof is None:
        return ""
    spoken, found = words(language), verdict(proof)
    request = proof.plan.request
    shares = [shares_at(proof, position, spoken) for position in range(NUM_TOKENS)]
    return encode(
        {
            "done": proof.num_runs,
            "planned": proof.plan.num_runs,
            # Looked at before its time, a test rejects more than it says.
            "verdict": verdict_key(proof, found.speculative) if proof.is_complete else None,
            "is_bad": bool(found.speculative.is_rejected) and proof.is_complete,
            "fault": None if proof.plan.fault == SOUND else proof.plan.fault,
            "significance": SIGNIFICANCE,
            "lanes": {
                "speculative": _fit(found.speculative),
                "normal": _fit(found.normal),
            },
            "num_outcomes": len(proof.exact),
            "num_passes": proof.num_passes,
            "seconds": proof.seconds,
            "settings": {
                "top_k": request.top_k,
                "temperature": request.temperature,
                "top_p": request.top_p,
                "draft": request.num_draft_tokens,
                "seed": request.seed,
                "tokens": NUM_TOKENS,
            },
            "dark": dark_colours(),
            "charts": [
                {
                    "title": spoken["proof_position"].format(index=position + 1),
                    "text": shares_text(shown, spoken),
                    "figure": json.loads(shares_figure(shown, spoken).to_json()),
                }
                for position, shown in enumerate(shares)
            ],
        }
    )


def verdict_key(proof: Proof, fit: Fit) -> str:
    """Which sentence the verdict is."""
    if fit.is_rejected is None:
        return "proof_nothing_to_test"
    planted = proof.plan.fault != SOUND
    if fit.is_rejected:
        return "proof_caught" if planted else "proof_rejected"
    return "proof_missed" if planted else "proof_held"


def shares_at(proof: Proof, position: int, spoken: Mapping[str, str]) -> list[Share]:
    """The likeliest tokens at a position, and all others together."""
    exact = marginal(proof.exact, position)
    lanes = [marginal(counts, position) for counts in (proof.speculative, proof.normal)]
    falling = sorted(exact, key=lambda token_id: -exact[token_id])
    shown = falling if len(falling) <= _MOST_SHOWN else falling[: _MOST_SHOWN - 1]
    rows = [
        Share(
            spoken["proof_ended"] if token_id is None else _label(proof.texts[token_id]),
            exact[token_id],
            *(lane.get(token_id, 0) / proof.num_runs for lane in lanes),
        )
        for token_id in shown
    ]
    if len(shown) == len(falling):
        return rows
    sums = [1 - sum(getattr(row, name) for row in rows) for name in ("speculative", "normal")]
    others = spoken["proof_others"].format(count=len(falling) - len(shown))
    return [*rows, Share(others, 1 - sum(row.exact for row in rows), *sums)]


def _fit(fit: Fit) -> dict[str, float | None]:
    return {
        "p_value": fit.joint.p_value,
        "distance": fit.distance.value,
        "low": fit.distance.low,
        "high": fit.distance.high,
    }


def _label(text: str) -> str:
    return text.replace("\n", "↵").replace("\t", "⇥").strip() or "␣"
