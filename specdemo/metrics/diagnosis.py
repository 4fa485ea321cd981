"""Why a race came out as it did: what cost most, and which knob would help.

A finding is a key and numbers; the words for it belong to the page. "By how much" is always the
speed of this very run without the cost in question, everything else as measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median, quantiles

from specdemo.events import FinishReason
from specdemo.metrics.rounds import drafted_rounds, splits, time_shares
from specdemo.metrics.runs import compare
from specdemo.metrics.theory import RoundCosts, best_length, round_costs, speedup_at
from specdemo.trace import RunTrace, Snapshot

_WORTH_SAYING = 1.05  # a cost whose absence would change the speed by less is not a reason
_WORTH_TURNING = 1.04  # a knob that promises less is left alone
_BUSY = 1.5  # the slowest tenth of equal passes against their median
_MIN_PASSES = 10
_SHORT_ANSWER = 0.2  # share of the run that reading the prompt takes


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about a run: which one, and its numbers."""

    key: str
    values: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict, the costs that matter most (the dearest first), and the knob to turn, if any."""

    verdict: Finding
    costs: tuple[Finding, ...] = ()
    advice: Finding | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All sentences, in order."""
        return (self.verdict, *self.costs, *((self.advice,) if self.advice else ()))


def diagnose(snapshot: Snapshot, *, num_costs: int = 2) -> Diagnosis:
    """Two or three sentences for a race that has ended or been stopped."""
    speedup = compare(snapshot).speedup
    if speedup is None:
        return Diagnosis(Finding("why_nothing"))
    normal, speculative = snapshot.normal.trace, snapshot.speculative.trace
    costs = round_costs(normal, speculative)
    if costs is None:
        is_served = normal.prefill is not None and normal.prefill.waited_seconds is not None
        key = "why_served" if is_served else "why_no_draft"
        return Diagnosis(Finding(key, {"speedup": speedup}))
    found = sorted(
        cost_findings(normal, speculative, speedup), key=lambda cost: -cost.values["without"]
    )
    worth = [cost for cost in found if cost.values["without"] >= _WORTH_SAYING * speedup]
    busy = [Finding("why_busy", {"factor": spread})] if (spread := unevenness(normal)) else []
    return Diagnosis(
        verdict=Finding("why_faster" if speedup >= 1 else "why_slower", {"speedup": speedup}),
        costs=(*worth[:num_costs], *busy),
        advice=advice(snapshot, costs, speedup),
    )


def cost_findings(normal: RunTrace, speculative: RunTrace, speedup: float) -> Iterator[Finding]:
    """Each cost with the speedup that this run would have had without it."""
    rounds = drafted_rounds(speculative)
    shares = time_shares(speculative)
    seconds = speculative.seconds
    pass_seconds = median(split.verify for split in splits(normal.rounds))

    def without(saved_seconds: float) -> float:
        return speedup * seconds / (seconds - saved_seconds)

    num_drafted = sum(finished.num_draft_tokens for finished in rounds)
    num_kept = sum(finished.num_accepted_tokens for finished in rounds)
    # With every draft kept, the same answer takes as many rounds fewer.
    kept, whole = len(rounds) + num_kept, len(rounds) + num_drafted
    in_rounds = sum(finished.seconds for finished in rounds)
    yield Finding(
        "why_refused",
        {
            "drafted": num_drafted / len(rounds),
            "kept": num_kept / len(rounds),
            "without": without(in_rounds * (1 - kept / whole)),
        },
    )
    draft_seconds = shares.draft_seconds
    yield Finding(
        "why_draft_cost",
        {
            "share": draft_seconds / seconds,
            "ratio": draft_seconds / num_drafted / pass_seconds,
            "without": without(draft_seconds),
        },
    )
    extra = sum(split.verify - pass_seconds for split in splits(rounds))
    yield Finding(
        "why_verify_cost",
        {
            "ratio": 1 + extra / len(rounds) / pass_seconds,
            "without": without(max(0.0, extra)),
        },
    )
    yield Finding(
        "why_overhead",
        {
            "share": shares.overhead_seconds / seconds,
            "without": without(shares.overhead_seconds),
        },
    )


def advice(snapshot: Snapshot, costs: RoundCosts, speedup: float) -> Finding | None:
    """The knob that promises most, with the speedup it is expected to bring."""
    promised = [
        found
        for found in (length_advice(snapshot, costs, speedup), longer_advice(snapshot, speedup))
        if found and found.values["expected"] >= _WORTH_TURNING * speedup
    ]
    return max(promised, key=lambda found: found.values["expected"], default=None)


def length_advice(snapshot: Snapshot, costs: RoundCosts, speedup: float) -> Finding | None:
    """Another fixed draft length, by the formula with this run's α, c and v.

    Scaled by what the run really reached against the formula, so that whatever the formula leaves
    out weighs the same on both sides.
    """
    if snapshot.settings.draft_length != "fixed":
        return None
    length = best_length(costs)
    if length == 0:
        return Finding("advice_none", {"expected": 1.0})
    if length == snapshot.settings.num_draft_tokens:
        return None
    expected = speedup * speedup_at(costs, length) / speedup_at(costs, costs.num_draft_tokens)
    return Finding("advice_length", {"length": length, "expected": expected})


def longer_advice(snapshot: Snapshot, speedup: float) -> Finding | None:
    """A longer answer, where reading the prompt, equal in both lanes, takes much of the run."""
    normal, speculative = snapshot.normal.trace, snapshot.speculative.trace
    could_go_on = speculative.finish_reason is FinishReason.MAX_NEW_TOKENS
    is_short = time_shares(speculative).prefill_seconds >= _SHORT_ANSWER * speculative.seconds
    if not (could_go_on and is_short):
        return None
    slow, fast = (trace.seconds + decode_seconds(trace) for trace in (normal, speculative))
    num_tokens = 2 * len(speculative.output_tokens)
    # Stopped runs may hold answers of unequal length: compare their time for each token.
    per_token = len(speculative.output_tokens) / len(normal.output_tokens)
    return Finding("advice_longer", {"tokens": num_tokens, "expected": slow / fast * per_token})


def decode_seconds(trace: RunTrace) -> float:
    """The run without reading its prompt."""
    return trace.seconds - time_shares(trace).prefill_seconds


def unevenness(trace: RunTrace) -> float | None:
    """How much slower the slowest tenth of equal passes was, where it is much: a busy machine."""
    passes = [split.verify for split in splits(trace.rounds)]
    if len(passes) < _MIN_PASSES:
        return None
    factor = quantiles(passes, n=10)[-1] / median(passes)
    return factor if factor >= _BUSY else None
