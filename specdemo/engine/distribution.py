"""Distributions over the vocabulary, as the engine needs them. Knows no logits and no chance.

A one-hot is a value of its own: greedy decoding and n-gram drafts go through the same rules as
sampling and cost next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch

from specdemo.engine import rows


@dataclass(frozen=True, slots=True)
class OneHot:
    """All probability on one token."""

    token_id: int
    vocab_size: int

    def prob(self, token_id: int) -> float:
        """The probability of a token."""
        return float(token_id == self.token_id)

    def pick(self, draw: float) -> int:
        """The token that a uniform draw in [0, 1) falls on."""
        return self.token_id

    def dense(self) -> torch.Tensor:
        """All probabilities (V,)."""
        probs = torch.zeros(self.vocab_size)
        probs[self.token_id] = 1.0
        return probs


@dataclass(frozen=True, slots=True)
class Dense:
    """Any distribution, as its probabilities (V,)."""

    probs: torch.Tensor

    def prob(self, token_id: int) -> float:
        """The probability of a token."""
        return self.probs[token_id].item()

    def pick(self, draw: float) -> int:
        """The token that a uniform draw in [0, 1) falls on; never one of probability 0."""
        return int(rows.pick(self.probs.cpu().numpy(), draw))

    def dense(self) -> torch.Tensor:
        """All probabilities (V,)."""
        return self.probs


Distribution: TypeAlias = OneHot | Dense


def residual(target: Distribution, draft: Distribution) -> Distribution:
    """The normalized positive part of target − draft: what acceptance left undone.

    Where both agree to rounding nothing is left, and the target's own distribution is right.
    """
    if isinstance(target, OneHot):
        # Whatever is left of a certainty is the certainty.
        return target
    one, other = target.probs, draft.dense().to(target.probs)
    if one.device.type == "cpu":
        numbers, total = rows.positive_part(one.numpy(), other.numpy())
        return Dense(torch.from_numpy(numbers)) if total > 0 else target
    positive = (one - other).clamp(min=0.0)
    total = positive.sum().item()
    return Dense(positive / total) if total > 0 else target
