"""What the counts of a proof say. Knows no run and no screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specdemo.proof.exact import Tokens, marginal
from specdemo.proof.sampling import NUM_TOKENS, Proof
from specdemo.proof.statistics import Distance, GoodnessOfFit, goodness_of_fit, total_variation

# A lane is rejected below this: a sound one is, once in ten thousand tests.
SIGNIFICANCE: Final = 1e-4


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a lane's tokens follow the exact distribution: together, and position by position.

    The verdict hangs on `joint` alone; `None` says that there was nothing to test.
    """

    joint: GoodnessOfFit
    distance: Distance
    positions: tuple[GoodnessOfFit, ...]

    @property
    def is_rejected(self) -> bool | None:
        """Whether the test finds a difference."""
        p_value = self.joint.p_value
        return None if p_value is None else p_value < SIGNIFICANCE


@dataclass(frozen=True, slots=True)
class Verdict:
    """Both lanes."""

    speculative: Fit
    normal: Fit


def verdict(proof: Proof) -> Verdict:
    """Both lanes tested against the exact distribution."""
    return Verdict(*(fit(counts, proof) for counts in (proof.speculative, proof.normal)))


def fit(counts: Mapping[Tokens, int], proof: Proof) -> Fit:
    """One lane's counts against the exact distribution."""
    return Fit(
        goodness_of_fit(counts, proof.exact),
        total_variation(counts, proof.exact, proof.plan.request.seed),
        tuple(
            goodness_of_fit(marginal(counts, position), marginal(proof.exact, position))
            for position in range(NUM_TOKENS)
        ),
    )
