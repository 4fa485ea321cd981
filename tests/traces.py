"""Traces worked out by hand, for whoever needs one."""

from __future__ import annotations

from specdemo.events import FinishReason, JudgedToken, PrefillFinished, Round, TokenOutcome
from specdemo.trace import Environment, LaneSnapshot, RunSettings, RunTrace, Snapshot

HERE = Environment("cpu", "a processor", 2, "float32", "a pair", ())
FATES = {
    "a": TokenOutcome.ACCEPTED,
    "r": TokenOutcome.REJECTED,
    "u": TokenOutcome.UNTESTED,
    "s": TokenOutcome.RESAMPLED,
    "b": TokenOutcome.BONUS,
    "n": TokenOutcome.NORMAL,
}


def run(
    *rounds: str,
    prefill: float = 0.0,
    draft: float = 0.0,
    verify: float = 1.0,
    overhead: float = 0.0,
    reason: FinishReason | None = FinishReason.MAX_NEW_TOKENS,
) -> RunTrace:
    """Rounds by the first letters of their tokens' fates; `draft` is seconds for each token."""
    return RunTrace(
        prefill=PrefillFinished(5, prefill, 0.0, 0.0),
        rounds=tuple(
            Round(
                index,
                tuple(JudgedToken(7, FATES[letter]) for letter in fates),
                draft * sum(letter in "aru" for letter in fates),
                verify,
                overhead,
            )
            for index, fates in enumerate(rounds)
        ),
        finish_reason=reason,
    )


def race_of(normal: RunTrace, speculative: RunTrace, **settings: object) -> Snapshot:
    """Both runs as a finished race."""
    asked = RunSettings("?", **settings)  # type: ignore[arg-type]
    return Snapshot(LaneSnapshot(normal), LaneSnapshot(speculative), HERE, asked)
