"""Rates, lengths and speeds of one run, and of two beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from specdemo.events import FinishReason, TokenOutcome, added
from specdemo.trace import LaneSnapshot, RunTrace, Snapshot


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """What one run measured.

    `acceptance_rate` is accepted ÷ tested (α of Leviathan et al. 2023, arXiv 2211.17192),
    `draft_acceptance_rate` accepted ÷ drafted, `mean_acceptance_length` τ the output tokens per
    target pass, bonus included; `drafted_mean_acceptance_length` is the same over the passes that
    judged a draft, which is what vLLM calls mean acceptance length. `overhead_rate` is the share of
    the run spent outside `ModelRunner.forward`.
    """

    num_output_tokens: int
    num_rounds: int
    seconds: float
    time_to_first_token_seconds: float | None
    tokens_per_second: float | None
    acceptance_rate: float | None
    draft_acceptance_rate: float | None
    mean_acceptance_length: float | None
    num_draft_tokens: int
    num_tested_tokens: int
    num_accepted_tokens: int
    overhead_rate: float | None
    finish_reason: FinishReason | None
    drafted_mean_acceptance_length: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both runs beside each other.

    `speedup` is the ratio of tokens per second. `same_output` is `None` when sampling: equal in
    distribution does not mean equal text. `first_difference` is an index into the answers.
    """

    speedup: float | None
    speedup_over_best_normal: float | None
    same_output: bool | None
    first_difference: int | None


def ratio(numerator: float, denominator: float) -> float | None:
    """The quotient, or `None` when there is nothing to divide by."""
    return numerator / denominator if denominator else None


class DraftStep(NamedTuple):
    """One verification of a draft, in numbers of tokens."""

    num_drafted: int
    num_tested: int
    num_accepted: int


def draft_steps(trace: RunTrace) -> tuple[DraftStep, ...]:
    """Every verification that had a draft: as a server counted them, or as the rounds show them.

    A kept token behind the end of the text was never part of the answer: the rounds do not count
    it, a server does.
    """
    if trace.steps:
        return tuple(
            DraftStep(drafted, accepted + (accepted < drafted), accepted)
            for drafted, accepted in zip(trace.steps.drafted, trace.steps.accepted)
        )
    return tuple(
        DraftStep(r.num_draft_tokens, r.num_tested_tokens, r.num_accepted_tokens)
        for r in trace.rounds
        if r.num_draft_tokens
    )


def drafted_mean_acceptance_length(trace: RunTrace) -> float | None:
    """Tokens that a pass over a draft brings: its kept ones and one more."""
    steps = draft_steps(trace)
    extra = ratio(sum(step.num_accepted for step in steps), len(steps))
    return None if extra is None else 1 + extra


def num_passes(trace: RunTrace) -> int | None:
    """How many target passes wrote the answer so far; `None` where a server's are not known.

    A server's rounds are the parts in which its answer arrived, until it tells what they were.
    """
    if trace.prefill is None or trace.prefill.waited_seconds is None:
        return len(trace.rounds)
    if trace.steps is None:
        return None
    if not trace.steps.drafted:
        return len(trace.output_tokens)
    is_told = any(token.outcome is not TokenOutcome.NORMAL for token in trace.output_tokens)
    return len(trace.rounds) if is_told else None


def run_metrics(trace: RunTrace) -> RunMetrics:
    """The numbers of one run, finished or not."""
    rounds = trace.rounds
    steps = draft_steps(trace)
    num_output_tokens = len(trace.output_tokens)
    num_draft_tokens = sum(step.num_drafted for step in steps)
    num_tested_tokens = sum(step.num_tested for step in steps)
    num_accepted_tokens = sum(step.num_accepted for step in steps)
    return RunMetrics(
        num_output_tokens=num_output_tokens,
        num_rounds=len(rounds),
        seconds=trace.seconds,
        time_to_first_token_seconds=time_to_first_token_seconds(trace),
        tokens_per_second=ratio(num_output_tokens, trace.seconds),
        acceptance_rate=ratio(num_accepted_tokens, num_tested_tokens),
        draft_acceptance_rate=ratio(num_accepted_tokens, num_draft_tokens),
        mean_acceptance_length=ratio(num_output_tokens, num_passes(trace) or 0),
        num_draft_tokens=num_draft_tokens,
        num_tested_tokens=num_tested_tokens,
        num_accepted_tokens=num_accepted_tokens,
        overhead_rate=overhead_rate(trace),
        finish_reason=trace.finish_reason,
        drafted_mean_acceptance_length=drafted_mean_acceptance_length(trace),
    )


def time_to_first_token_seconds(trace: RunTrace) -> float | None:
    """Prefill plus the first round: its tokens arrive together."""
    if trace.prefill is None or not trace.rounds:
        return None
    return trace.prefill.seconds + trace.rounds[0].seconds


def overhead_rate(trace: RunTrace) -> float | None:
    """1 − seconds inside `ModelRunner.forward` ÷ run seconds, over prefill and finished rounds.

    `None` where they were not observed: of a server one sees only how long it took.
    """
    if trace.prefill is None or trace.prefill.waited_seconds is not None:
        return None
    inside = added(trace.prefill.target_seconds, trace.prefill.draft_seconds)
    inside += added(*(r.draft_seconds for r in trace.rounds))
    inside += added(*(r.verify_seconds for r in trace.rounds))
    whole = trace.prefill.seconds + sum(r.seconds for r in trace.rounds)
    outside = ratio(whole - inside, whole)
    return None if outside is None else max(0.0, outside)


def token_times(trace: RunTrace) -> tuple[float, ...]:
    """When each output token was there, in seconds on the run's own clock."""
    clock = trace.prefill.seconds if trace.prefill else 0.0
    times: list[float] = []
    for finished in trace.rounds:
        clock += finished.seconds
        times.extend([clock] * len(finished.output_tokens))
    return tuple(times)


def time_per_output_token_seconds(trace: RunTrace) -> float | None:
    """Mean time per token after the first one, in seconds."""
    times = token_times(trace)
    return ratio(times[-1] - times[0], len(times) - 1) if times else None


def first_difference(one: RunTrace, other: RunTrace) -> int | None:
    """Index of the first output token that differs, over the length both have reached.

    Two finished answers of different length differ where the shorter one ends.
    """
    for index, (a, b) in enumerate(zip(one.token_ids, other.token_ids)):
        if a != b:
            return index
    finished = one.finish_reason and other.finish_reason
    stopped = FinishReason.STOPPED in (one.finish_reason, other.finish_reason)
    if finished and not stopped and len(one.token_ids) != len(other.token_ids):
        return min(len(one.token_ids), len(other.token_ids))
    return None


def compare(snapshot: Snapshot) -> Comparison:
    """The normal run beside the speculative one."""
    normal, speculative = snapshot.normal.trace, snapshot.speculative.trace
    fast = run_metrics(speculative).tokens_per_second
    slow = run_metrics(normal).tokens_per_second
    best = snapshot.best_normal
    difference = first_difference(normal, speculative)
    return Comparison(
        speedup=ratio(fast, slow) if fast and slow else None,
        speedup_over_best_normal=fast / best.tokens_per_second if best and fast else None,
        same_output=(difference is None) if snapshot.is_greedy else None,
        first_difference=difference if snapshot.is_greedy else None,
    )


def peak_bytes(lane: LaneSnapshot) -> int | None:
    """The highest peak seen in the lane's samples."""
    peaks = [sample.peak_bytes for sample in lane.memory if sample.peak_bytes is not None]
    return max(peaks, default=None)
