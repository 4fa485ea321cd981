"""The papers' speedup formula, fed with one run's own measurements.

Leviathan et al. 2023 (arXiv 2211.17192, theorem 3.8) assume that judging a draft costs what one
token costs (v = 1) and that every drafted token is kept with the same chance α.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean

from specdemo.metrics.rounds import drafted_rounds, splits
from specdemo.trace import RunTrace

MAX_LENGTH = 16


@dataclass(frozen=True, slots=True)
class RoundCosts:
    """What the rounds with a draft cost, in target passes of one token.

    `cost_ratio` c is a draft pass, `verify_ratio` v a verification pass over the draft's mean
    length `num_draft_tokens` γ, `overhead_ratio` what a round takes outside the passes beyond a
    normal token's. `target_seconds` is the pass that all are measured in.
    """

    acceptance_rate: float
    num_draft_tokens: float
    cost_ratio: float
    verify_ratio: float
    overhead_ratio: float
    target_seconds: float

    def verify_ratio_at(self, num_draft_tokens: float) -> float:
        """v for another length: a straight line through 1 without a draft and the measured v."""
        return 1.0 + (self.verify_ratio - 1.0) * num_draft_tokens / self.num_draft_tokens


def round_costs(normal: RunTrace, speculative: RunTrace) -> RoundCosts | None:
    """The costs as measured in a race; `None` until both lanes hold a round that tells.

    A server's rounds never tell: a client sees only how long they took.
    """
    rounds = drafted_rounds(speculative)
    num_tested = sum(finished.num_tested_tokens for finished in rounds)
    own, drafted = splits(normal.rounds), splits(rounds)
    if not own or not drafted or not num_tested:
        return None
    target_seconds = mean(split.verify for split in own)
    num_drafted = sum(finished.num_draft_tokens for finished in rounds)
    # Both lanes run the same loop: only what a round adds to it is the draft's.
    own_overhead = mean(split.overhead for split in own)
    overhead = mean(split.overhead for split in drafted) - own_overhead
    return RoundCosts(
        acceptance_rate=sum(finished.num_accepted_tokens for finished in rounds) / num_tested,
        num_draft_tokens=num_drafted / len(rounds),
        cost_ratio=sum(split.draft for split in drafted) / num_drafted / target_seconds,
        verify_ratio=mean(split.verify for split in drafted) / target_seconds,
        overhead_ratio=overhead / target_seconds,
        target_seconds=target_seconds,
    )


def expected_tokens(acceptance_rate: float, num_draft_tokens: float) -> float:
    """Tokens that a round of γ drafts is expected to bring: (1 − α^(γ+1)) ÷ (1 − α)."""
    if acceptance_rate >= 1.0:
        return num_draft_tokens + 1.0
    all_kept = math.pow(acceptance_rate, num_draft_tokens + 1.0)
    return (1.0 - all_kept) / (1.0 - acceptance_rate)


def predicted_speedup(
    acceptance_rate: float, cost_ratio: float, verify_ratio: float, num_draft_tokens: float
) -> float:
    """Expected tokens of a round ÷ what it costs, γ c + v, in one-token target passes."""
    tokens = expected_tokens(acceptance_rate, num_draft_tokens)
    return tokens / (num_draft_tokens * cost_ratio + verify_ratio)


def speedup_at(costs: RoundCosts, num_draft_tokens: float) -> float:
    """The formula at another length, with the costs of this run."""
    verify_ratio = costs.verify_ratio_at(num_draft_tokens)
    return predicted_speedup(
        costs.acceptance_rate, costs.cost_ratio, verify_ratio, num_draft_tokens
    )


def best_length(costs: RoundCosts, maximum: int = MAX_LENGTH) -> int:
    """The number of draft tokens at which the formula is highest; 0 where no draft pays."""
    return max(range(maximum + 1), key=lambda length: speedup_at(costs, length))


def break_even_acceptance_rate(costs: RoundCosts) -> float | None:
    """The α at which this run's length and costs bring nothing; `None` if not even 1 would do."""
    length = costs.num_draft_tokens
    price = length * costs.cost_ratio + costs.verify_ratio
    if expected_tokens(1.0, length) < price:
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if expected_tokens(middle, length) < price:
            low = middle
        else:
            high = middle
    return high
