"""What the rounds of a run add up to: fates by position, time by kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from specdemo.events import Round, TokenOutcome
from specdemo.metrics.runs import ratio
from specdemo.trace import RunTrace


@dataclass(frozen=True, slots=True)
class PositionCount:
    """How often the draft token at one position of its round was judged, and kept."""

    position: int
    num_tested_tokens: int
    num_accepted_tokens: int

    @property
    def acceptance_rate(self) -> float:
        """Accepted ÷ tested at this position."""
        return self.num_accepted_tokens / self.num_tested_tokens


@dataclass(frozen=True, slots=True)
class TimeShares:
    """Where a run's seconds went; they add up to the run's own clock."""

    prefill_seconds: float
    draft_seconds: float
    verify_seconds: float
    overhead_seconds: float

    @property
    def seconds(self) -> float:
        """All of them."""
        return (
            self.prefill_seconds + self.draft_seconds + self.verify_seconds + self.overhead_seconds
        )


def drafted_rounds(trace: RunTrace) -> tuple[Round, ...]:
    """The rounds in which something was drafted."""
    return tuple(finished for finished in trace.rounds if finished.num_draft_tokens)


def acceptance_by_position(trace: RunTrace) -> tuple[PositionCount, ...]:
    """Tested and accepted tokens at the first, second, … place of the draft."""
    tested: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    for finished in trace.rounds:
        tested.update(range(finished.num_tested_tokens))
        accepted.update(range(finished.num_accepted_tokens))
    return tuple(
        PositionCount(position + 1, tested[position], accepted[position])
        for position in sorted(tested)
    )


def accepted_histogram(trace: RunTrace) -> tuple[int, ...]:
    """Rounds with a draft, by how many of its tokens were kept: none, one, two, …"""
    rounds = drafted_rounds(trace)
    counts = Counter(finished.num_accepted_tokens for finished in rounds)
    longest = max((finished.num_draft_tokens for finished in rounds), default=-1)
    return tuple(counts[kept] for kept in range(longest + 1))


def time_shares(trace: RunTrace) -> TimeShares:
    """The run's seconds by kind; a draft that was never judged counts as drafting."""
    return TimeShares(
        prefill_seconds=trace.prefill.seconds if trace.prefill else 0.0,
        draft_seconds=sum(r.draft_seconds for r in trace.rounds)
        + sum(drafted.seconds for drafted in trace.pending),
        verify_seconds=sum(r.verify_seconds for r in trace.rounds),
        overhead_seconds=sum(r.overhead_seconds for r in trace.rounds),
    )


def per_token_seconds(trace: RunTrace) -> tuple[float, ...]:
    """For each output token, its round's seconds shared among the round's tokens."""
    return tuple(
        finished.seconds / len(finished.output_tokens)
        for finished in trace.rounds
        for _ in finished.output_tokens
    )


def server_metrics(trace: RunTrace) -> dict[str, Any]:
    """The run in the keys of vLLM's per-request speculative-decoding metrics.

    As there, only rounds with a draft count as steps and untested tokens count as drafted;
    `acceptance_histogram[k]` is the number of steps that kept k tokens.
    """
    rounds = drafted_rounds(trace)
    per_step_drafted = [finished.num_draft_tokens for finished in rounds]
    # A kept token behind the end of the text was never part of the answer, nor counted here.
    per_step_accepted = [
        sum(token.outcome is TokenOutcome.ACCEPTED for token in finished.judged)
        for finished in rounds
    ]
    num_accepted, num_drafted = sum(per_step_accepted), sum(per_step_drafted)
    extra = ratio(num_accepted, len(rounds))
    return {
        "mean_acceptance_length": None if extra is None else 1 + extra,
        "draft_acceptance_rate": ratio(num_accepted, num_drafted),
        "acceptance_histogram": list(accepted_histogram(trace)),
        "num_spec_steps": len(rounds),
        "num_accepted_draft_tokens": num_accepted,
        "num_draft_tokens": num_drafted,
        "num_spec_tokens": max(per_step_drafted, default=0),
        "per_step_accepted": per_step_accepted,
        "per_step_drafted": per_step_drafted,
    }
