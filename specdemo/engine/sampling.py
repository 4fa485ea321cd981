"""Logits to distributions, distributions to tokens. Knows no model and no draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy.typing as npt
import torch

from specdemo.engine import rows
from specdemo.engine.distribution import Dense, Distribution, OneHot
from specdemo.errors import BadLogitsError
from specdemo.events import Alternative

NUM_ALTERNATIVES = 8
Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How logits become a distribution.

    Temperature 0 is greedy: a one-hot. `top_k` 0, `top_p` 1 and `repetition_penalty` 1 are off.
    The penalty is CTRL's (Keskar et al. 2019, arXiv 1909.05858), over prompt and answer.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0


class Warped(NamedTuple):
    """A distribution for each row of logits, and its likeliest tokens."""

    distributions: list[Distribution]
    tops: list[tuple[Alternative, ...]]


class Sampler:
    """One run's sampling: its parameters and its one seeded generator."""

    def __init__(self, params: SamplingParams, seed: int) -> None:
        self.params = params
        self._generator = torch.Generator().manual_seed(seed)

    def warp(
        self, logits: torch.Tensor, prefix: Sequence[int], drafted: Sequence[int] = ()
    ) -> Warped:
        """A distribution for each row of logits (N, V), with its likeliest tokens.

        Row i follows `prefix` and the first i of the `drafted` tokens, so the penalty sees exactly
        the text before its position, never a token that may yet be refused. Raises
        `BadLogitsError` where a row has no likeliest token.
        """
        logits = self._penalize(logits, prefix, drafted)
        warped = greedy(logits) if self.params.temperature == 0 else soften(logits, self.params)
        if not all(warped.tops):
            raise BadLogitsError(
                "The model answered with numbers that are not finite; choose float32 and run again."
            )
        return warped

    def _penalize(
        self, logits: torch.Tensor, prefix: Sequence[int], drafted: Sequence[int]
    ) -> torch.Tensor:
        penalty = self.params.repetition_penalty
        if penalty == 1.0:
            return logits
        seen = set(prefix)
        penalized = logits.clone()
        for index, row in enumerate(penalized):
            ids = torch.tensor(list(seen | set(drafted[:index])), device=logits.device)
            scores = row[ids]
            row[ids] = torch.where(scores < 0, scores * penalty, scores / penalty)
        return penalized

    def draw(self) -> float:
        """A uniform number in [0, 1)."""
        return torch.rand((), generator=self._generator, dtype=torch.float64).item()

    def sample(self, distribution: Distribution) -> int:
        """A token id drawn from a distribution."""
        return distribution.pick(self.draw())


def greedy(logits: torch.Tensor) -> Warped:
    """One-hots of the largest logits (N, V); the alternatives are those of the plain softmax."""
    count = min(NUM_ALTERNATIVES, logits.shape[-1])
    if logits.device.type == "cpu":
        indices, probs = rows.likeliest(logits.numpy(), count)
    else:
        top = torch.softmax(logits, dim=-1).topk(count, dim=-1)
        indices, probs = top.indices, top.values
    tops = pair_up(indices, probs)
    return Warped([OneHot(row[0].token_id, logits.shape[-1]) for row in tops if row], tops)


def soften(logits: torch.Tensor, params: SamplingParams) -> Warped:
    """Softmax at a temperature, cut to top-k (Fan et al. 2018, arXiv 1805.04833), then to top-p.

    Top-p (Holtzman et al. 2020, arXiv 1904.09751) keeps the fewest tokens that hold that much.
    Tokens as likely as the last one kept stay too.
    """
    if logits.device.type == "cpu":
        # Plain floats and ints: the function is compiled anew for every other type.
        numbers = rows.softmax(
            logits.numpy(), float(params.temperature), int(params.top_k), float(params.top_p)
        )
        probs = torch.from_numpy(numbers)
    else:
        probs = torch.softmax(logits / params.temperature, dim=-1)
        probs = keep_top_p(keep_top_k(probs, params.top_k), params.top_p)
    return Warped([Dense(row) for row in probs], top_alternatives(probs))


def keep_top_k(probs: torch.Tensor, top_k: int) -> torch.Tensor:
    """The `top_k` likeliest tokens of each row (N, V), renormalized."""
    if not 0 < top_k < probs.shape[-1]:
        return probs
    return _keep_from(probs, probs.topk(top_k, dim=-1).values[:, -1:])


def keep_top_p(probs: torch.Tensor, top_p: float) -> torch.Tensor:
    """The fewest tokens of each row (N, V) that hold `top_p` of it, renormalized."""
    if top_p >= 1.0:
        return probs
    falling = probs.sort(dim=-1, descending=True).values
    before = falling.cumsum(dim=-1) - falling
    num_kept = (before < top_p).sum(dim=-1, keepdim=True)
    return _keep_from(probs, falling.gather(-1, num_kept - 1))


def _keep_from(probs: torch.Tensor, border: torch.Tensor) -> torch.Tensor:
    kept = probs.masked_fill(probs < border, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


def top_alternatives(probs: torch.Tensor) -> list[tuple[Alternative, ...]]:
    """The likeliest tokens of each row (N, V)."""
    count = min(NUM_ALTERNATIVES, probs.shape[-1])
    if probs.device.type == "cpu":
        return pair_up(*rows.largest(probs.numpy(), count))
    top = probs.topk(count, dim=-1)
    return pair_up(top.indices, top.values)


def alternatives_of(distribution: Distribution) -> tuple[Alternative, ...]:
    """The likeliest tokens of a distribution."""
    if isinstance(distribution, OneHot):
        return (Alternative(distribution.token_id, 1.0),)
    return top_alternatives(distribution.probs.unsqueeze(0))[0]


def pair_up(
    token_ids: torch.Tensor | Array, probs: torch.Tensor | Array
) -> list[tuple[Alternative, ...]]:
    """Rows of ids and rows of probabilities (N, K) as alternatives, without probability 0."""
    return [
        tuple(Alternative(i, p) for i, p in zip(row_ids, row_probs) if p > 0)
        for row_ids, row_probs in zip(token_ids.tolist(), probs.tolist())
    ]
