"""Known mistakes of speculative decoding, planted on purpose: each must be caught by the test.

The engine holds none of them. They reach it as its own arguments: a rule of verification, a
drafter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

import torch

from specdemo.engine.distribution import Dense, Distribution
from specdemo.engine.drafting import ModelDrafter
from specdemo.engine.protocols import ForwardOutput, ModelRunner, Proposal
from specdemo.engine.sampling import Sampler
from specdemo.engine.verification import Verify, verify
from specdemo.events import JudgedToken, TokenOutcome


@dataclass(frozen=True, slots=True)
class Rules:
    """What a run drafts with and judges by."""

    new_drafter: Callable[[ModelRunner, Sampler], ModelDrafter] = ModelDrafter
    verify: Verify = verify


class UnwarpedDrafter(ModelDrafter):
    """Draws from the warped distribution and reports the plain softmax."""

    def _draw(self, output: ForwardOutput, prefix: Sequence[int], seconds: float) -> Proposal:
        drawn = super()._draw(output, prefix, seconds)
        return replace(drawn, distribution=Dense(torch.softmax(output.logits[0], dim=-1)))


class ArgmaxDrafter(ModelDrafter):
    """Proposes the likeliest token and reports a distribution that it never drew from."""

    def _draw(self, output: ForwardOutput, prefix: Sequence[int], seconds: float) -> Proposal:
        drawn = super()._draw(output, prefix, seconds)
        return replace(drawn, token_id=drawn.top[0].token_id)


def replace_from_target(
    proposals: Sequence[Proposal], targets: Sequence[Distribution], sampler: Sampler
) -> tuple[JudgedToken, ...]:
    """Draws the replacement from the target's distribution instead of the residual."""
    judged = verify(proposals, targets, sampler)
    if judged[-1].outcome is not TokenOutcome.RESAMPLED:
        return judged
    row = sum(token.outcome is TokenOutcome.ACCEPTED for token in judged)
    return (*judged[:-1], replace(judged[-1], token_id=sampler.sample(targets[row])))


def bonus_from_wrong_row(
    proposals: Sequence[Proposal], targets: Sequence[Distribution], sampler: Sampler
) -> tuple[JudgedToken, ...]:
    """Draws the bonus token from the row that judged the last draft token."""
    judged = verify(proposals, targets, sampler)
    if judged[-1].outcome is not TokenOutcome.BONUS:
        return judged
    return (*judged[:-1], replace(judged[-1], token_id=sampler.sample(targets[-2])))


SOUND: Final = "none"
FAULTS: Final[Mapping[str, Rules]] = MappingProxyType(
    {
        "unwarped_draft": Rules(new_drafter=UnwarpedDrafter),
        "target_replacement": Rules(verify=replace_from_target),
        "argmax_draft": Rules(new_drafter=ArgmaxDrafter),
        "wrong_bonus_row": Rules(verify=bonus_from_wrong_row),
    }
)


def rules_of(kind: str) -> Rules:
    """The rules with one fault planted; `none` is the engine as it is."""
    return FAULTS.get(kind, Rules())
