"""Does a sample come from a distribution? χ², total variation, and what chance alone would give.

Knows no model and no token: outcomes are whatever can be counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch

_Outcome = TypeVar("_Outcome", bound=Hashable)
# Below this many expected, χ² is no longer close to its limit (Cochran 1954).
LEAST_EXPECTED = 5.0
_NUM_RESAMPLES = 1000
_BAND = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """Pearson's χ² of counts against probabilities; outcomes expected under 5 times are one cell.

    With a single cell there is nothing to test: `p_value` is `None`. An outcome that the
    distribution rules out makes it 0.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float | None


@dataclass(frozen=True, slots=True)
class Distance:
    """Total variation between a sample's shares and the distribution.

    `low` and `high` hold 95 % of what samples of this size drawn from the distribution itself
    give (a parametric bootstrap).
    """

    value: float
    low: float
    high: float


def goodness_of_fit(
    counts: Mapping[_Outcome, int], probs: Mapping[_Outcome, float]
) -> GoodnessOfFit:
    """χ² of counts against probabilities that sum to 1."""
    num_runs = sum(counts.values())
    if any(count and not probs.get(outcome) for outcome, count in counts.items()):
        return GoodnessOfFit(float("inf"), len(probs) - 1, 0.0)
    cells = pooled(counts, {outcome: num_runs * prob for outcome, prob in probs.items()})
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in cells)
    freedom = len(cells) - 1
    return GoodnessOfFit(statistic, freedom, tail(statistic, freedom) if freedom > 0 else None)


def pooled(
    counts: Mapping[_Outcome, int], expected: Mapping[_Outcome, float]
) -> list[tuple[int, float]]:
    """Cells as (seen, expected), the likeliest first; the unlikely ones together make the last.

    Cells are chosen by what is expected alone, so that the counts cannot choose them.
    """
    cells: list[tuple[int, float]] = []
    falling = sorted(expected, key=lambda outcome: -expected[outcome])
    rest_seen, rest_expected = 0, 0.0
    for outcome in falling:
        if expected[outcome] >= LEAST_EXPECTED:
            cells.append((counts.get(outcome, 0), expected[outcome]))
        else:
            rest_seen += counts.get(outcome, 0)
            rest_expected += expected[outcome]
    if rest_expected >= LEAST_EXPECTED or not cells:
        return [*cells, (rest_seen, rest_expected)] if rest_expected else cells
    last_seen, last_expected = cells.pop()
    return [*cells, (last_seen + rest_seen, last_expected + rest_expected)]


def tail(statistic: float, degrees_of_freedom: int) -> float:
    """The probability that χ² is at least this large."""
    half = torch.tensor([degrees_of_freedom / 2, statistic / 2], dtype=torch.float64)
    return float(torch.special.gammaincc(half[0], half[1]))


def total_variation(
    counts: Mapping[_Outcome, int], probs: Mapping[_Outcome, float], seed: int
) -> Distance:
    """Half the summed difference between shares and probabilities, and its band."""
    num_runs = max(1, sum(counts.values()))
    outcomes = [*probs, *(outcome for outcome in counts if outcome not in probs)]
    exact = np.array([probs.get(outcome, 0.0) for outcome in outcomes])
    exact = exact / exact.sum()
    seen = np.array([counts.get(outcome, 0) for outcome in outcomes]) / num_runs
    chance = np.random.default_rng(seed).multinomial(num_runs, exact, _NUM_RESAMPLES) / num_runs
    low, high = np.quantile(np.abs(chance - exact).sum(axis=1) / 2, _BAND)
    return Distance(float(np.abs(seen - exact).sum() / 2), float(low), float(high))
