"""Distributions over the vocabulary, as the engine needs them. Knows no logits and no chance.

A one-hot is a value of its own: greedy decoding and n-gram drafts go through the same rules as
sampling and cost next to nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch

_CHUNK = 128


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
        num_chunks, rest = divmod(len(self.probs), _CHUNK)
        if rest or num_chunks <= 1:
            return _pick(self.probs, draw)[0]
        # First the chunk, then the token in it: one sum over everything would take much longer.
        chunks = self.probs.view(num_chunks, _CHUNK)
        chunk, share = _pick(chunks.sum(dim=-1, dtype=torch.float64), draw)
        token, _ = _pick(chunks[chunk], share)
        return chunk * _CHUNK + token

    def dense(self) -> torch.Tensor:
        """All probabilities (V,)."""
        return self.probs


Distribution: TypeAlias = OneHot | Dense


def _pick(weights: torch.Tensor, draw: float) -> tuple[int, float]:
    """The entry of (N,) that a uniform draw falls on, and where in that entry, in [0, 1)."""
    cumulative = weights.cumsum(0, dtype=torch.float64)
    # Scaled by the true sum, so that rounding can never push the draw past the last entry.
    threshold = draw * cumulative[-1].item()
    index = int(torch.searchsorted(cumulative, threshold, right=True))
    weight = weights[index].item()
    below = cumulative[index].item() - weight
    return index, min(max((threshold - below) / weight, 0.0), math.nextafter(1.0, 0.0))


def residual(target: Distribution, draft: Distribution) -> Distribution:
    """The normalized positive part of target − draft: what acceptance left undone.

    Where both agree to rounding nothing is left, and the target's own distribution is right.
    """
    if isinstance(target, OneHot):
        # Whatever is left of a certainty is the certainty.
        return target
    positive = (target.probs - draft.dense().to(target.probs.device)).clamp(min=0.0)
    total = positive.sum()
    return Dense(positive / total) if total > 0 else target
