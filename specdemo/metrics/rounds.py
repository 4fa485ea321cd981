"""What the rounds of a run add up to: fates by position, time by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from specdemo.events import Round, Split, added
from specdemo.metrics.runs import draft_steps, drafted_mean_acceptance_length, ratio
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
    """Where a run's seconds went; they add up to the run's own clock.

    What a client waited for a server is not known by kind: it is all in `waited_seconds`, and the
    prompt's part of it in `prefill_seconds`.
    """

    prefill_seconds: float
    draft_seconds: float
    verify_seconds: float
    overhead_seconds: float
    waited_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """All of them."""
        return (
            self.prefill_seconds
            + self.draft_seconds
            + self.verify_seconds
            + self.overhead_seconds
            + self.waited_seconds
        )


def drafted_rounds(trace: RunTrace) -> tuple[Round, ...]:
    """The rounds in which something was drafted."""
    return tuple(finished for finished in trace.rounds if finished.num_draft_tokens)


def splits(rounds: Iterable[Round]) -> list[Split]:
    """The rounds' seconds by kind; empty if they are not observed of each."""
    found = [finished.split for finished in rounds]
    return [] if None in found else [split for split in found if split]


def acceptance_by_position(trace: RunTrace) -> tuple[PositionCount, ...]:
    """Tested and accepted tokens at the first, second, … place of the draft."""
    tested: Counter[int] = Counter()
    accepted: Counter[int] = Counter()
    for step in draft_steps(trace):
        tested.update(range(step.num_tested))
        accepted.update(range(step.num_accepted))
    return tuple(
        PositionCount(position + 1, tested[position], accepted[position])
        for position in sorted(tested)
    )


def accepted_histogram(trace: RunTrace) -> tuple[int, ...]:
    """Rounds with a draft, by how many of its tokens were kept: none, one, two, …"""
    steps = draft_steps(trace)
    counts = Counter(step.num_accepted for step in steps)
    longest = max((step.num_drafted for step in steps), default=-1)
    return tuple(counts[kept] for kept in range(longest + 1))


def time_shares(trace: RunTrace) -> TimeShares:
    """The run's seconds by kind; a draft that was never judged counts as drafting."""
    return TimeShares(
        prefill_seconds=trace.prefill.seconds if trace.prefill else 0.0,
        draft_seconds=added(*(r.draft_seconds for r in trace.rounds))
        + sum(drafted.seconds for drafted in trace.pending),
        verify_seconds=added(*(r.verify_seconds for r in trace.rounds)),
        overhead_seconds=added(*(r.overhead_seconds for r in trace.rounds)),
        waited_seconds=added(*(r.waited_seconds for r in trace.rounds)),
    )


def per_token_seconds(trace: RunTrace) -> tuple[float, ...]:
    """For each output token, its round's seconds shared among the round's tokens.

    A token that arrived together with the prompt's end has none of its own.
    """
    return tuple(
        finished.seconds / len(finished.output_tokens)
        for finished in trace.rounds
        for _ in finished.output_tokens
        if finished.waited_seconds != 0.0
    )


def server_metrics(trace: RunTrace) -> dict[str, Any]:
    """The run in the keys of vLLM's per-request speculative-decoding metrics.

    As there, only rounds with a draft count as steps and untested tokens count as drafted;
    `acceptance_histogram[k]` is the number of steps that kept k tokens.
    """
    steps = draft_steps(trace)
    per_step_drafted = [step.num_drafted for step in steps]
    per_step_accepted = [step.num_accepted for step in steps]
    num_accepted, num_drafted = sum(per_step_accepted), sum(per_step_drafted)
    return {
        "mean_acceptance_length": drafted_mean_acceptance_length(trace),
        "draft_acceptance_rate": ratio(num_accepted, num_drafted),
        "acceptance_histogram": list(accepted_histogram(trace)),
        "num_spec_steps": len(steps),
        "num_accepted_draft_tokens": num_accepted,
        "num_draft_tokens": num_drafted,
        "num_spec_tokens": max(per_step_drafted, default=0),
        "per_step_accepted": per_step_accepted,
        "per_step_drafted": per_step_drafted,
    }
