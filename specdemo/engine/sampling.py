"""Logits to distributions, distributions to tokens. Knows no model and no draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple, TypeAlias, overload

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


class WarpedRow(NamedTuple):
    """The distribution of one row of logits, and its likeliest tokens."""

    distribution: Distribution
    top: tuple[Alternative, ...]


class Warped(Sequence[Distribution]):
    """A distribution for each row of logits.

    Worked out when first asked for: rows behind the first refusal never are.
    """

    def __init__(self, num_rows: int, warp_row: Callable[[int], WarpedRow]) -> None:
        self._warp_row = warp_row
        self._rows: list[WarpedRow | None] = [None] * num_rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Distribution: ...

    @overload
    def __getitem__(self, index: slice) -> list[Distribution]: ...

    def __getitem__(self, index: int | slice) -> Distribution | list[Distribution]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self.row(index).distribution

    def row(self, index: int) -> WarpedRow:
        """The distribution of a row with its likeliest tokens."""
        row = self._rows[index]
        if row is None:
            row = self._rows[index] = self._warp_row(range(len(self))[index])
        return row


class Sampler:
    """One run's sampling: its parameters and its one seeded generator."""

    def __init__(self, params: SamplingParams, seed: int) -> None:
        self.params = params
        self._generator = Random(seed)

    def warp(
        self, logits: torch.Tensor, prefix: Sequence[int], drafted: Sequence[int] = ()
    ) -> Warped:
        """A distribution for each row of logits (N, V), with its likeliest tokens.

        Row i follows `prefix` and the first i of the `drafted` tokens, so the penalty sees exactly
        the text before its position, never a token that may yet be refused. Asking for a row that
        has no likeliest token raises `BadLogitsError`.
        """
        return Warped(
            len(logits), lambda i: self._warp_row(logits[i : i + 1], [*prefix, *drafted[:i]])
        )

    def _warp_row(self, logits: torch.Tensor, prefix: Sequence[int]) -> WarpedRow:
        logits = penalize(logits, prefix, self.params.repetition_penalty)
        row = greedy(logits) if self.params.temperature == 0 else soften(logits, self.params)
        if not row.top:
            raise BadLogitsError(
                "The model answered with numbers that are not finite; choose float32 and run again."
            )
        return row

    def draw(self) -> float:
        """A uniform number in [0, 1)."""
        return self._generator.random()

    def sample(self, distribution: Distribution) -> int:
        """A token id drawn from a distribution."""
        return distribution.pick(self.draw())


def penalize(logits: torch.Tensor, prefix: Sequence[int], penalty: float) -> torch.Tensor:
    """A row of logits (1, V) with the tokens of the text before it made less likely."""
    if penalty == 1.0:
        return logits
    ids = torch.tensor(list(set(prefix)), device=logits.device)
    scores = logits[0, ids]
    penalized = logits.clone()
    penalized[0, ids] = torch.where(scores < 0, scores * penalty, scores / penalty)
    return penalized


def greedy(logits: torch.Tensor) -> WarpedRow:
    """A one-hot of the largest logit (1, V); the alternatives are those of the plain softmax."""
    count = min(NUM_ALTERNATIVES, logits.shape[-1])
    if logits.device.type == "cpu":
        top = pair_up(*rows.likeliest(logits.numpy()[0], count))
    else:
        largest = torch.softmax(logits[0], dim=-1).topk(count)
        top = pair_up(largest.indices, largest.values)
    # Without a finite logit there is no likeliest token, and the sampler refuses the row.
    return WarpedRow(OneHot(top[0].token_id if top else 0, logits.shape[-1]), top)


def soften(logits: torch.Tensor, params: SamplingParams) -> WarpedRow:
    """Softmax (1, V) at a temperature, cut to top-k (Fan et al. 2018, arXiv 1805.04833) and top-p.

    Top-p (Holtzman et al. 2020, arXiv 1904.09751) keeps the fewest tokens that hold that much.
    Tokens as likely as the last one kept stay too.
    """
    if logits.device.type == "cpu":
        # Plain floats and ints: the function is compiled anew for every other type.
        numbers = rows.softmax(
            logits.numpy()[0], float(params.temperature), int(params.top_k), float(params.top_p)
        )
        probs = torch.from_numpy(numbers)
    else:
        probs = torch.softmax(logits / params.temperature, dim=-1)
        probs = keep_top_p(keep_top_k(probs, params.top_k), params.top_p)[0]
    return WarpedRow(Dense(probs), top_alternatives(probs))


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


def top_alternatives(probs: torch.Tensor) -> tuple[Alternative, ...]:
    """The likeliest tokens of a distribution (V,)."""
    count = min(NUM_ALTERNATIVES, len(probs))
    if probs.device.type == "cpu":
        return pair_up(*rows.largest(probs.numpy(), count))
    top = probs.topk(count)
    return pair_up(top.indices, top.values)


def alternatives_of(distribution: Distribution) -> tuple[Alternative, ...]:
    """The likeliest tokens of a distribution."""
    if isinstance(distribution, OneHot):
        return (Alternative(distribution.token_id, 1.0),)
    return top_alternatives(distribution.probs)


def pair_up(
    token_ids: torch.Tensor | Array, probs: torch.Tensor | Array
) -> tuple[Alternative, ...]:
    """Ids and their probabilities (K,) as alternatives, without probability 0."""
    pairs = zip(token_ids.tolist(), probs.tolist())
    return tuple(Alternative(token_id, prob) for token_id, prob in pairs if prob > 0)
