"""Where drafts come from: a small model, the text itself, or nowhere.

Knows no target model beyond the hidden states it is handed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import torch

from specdemo.engine.distribution import OneHot
from specdemo.engine.protocols import ForwardOutput, ModelRunner, Proposal
from specdemo.engine.sampling import Sampler

Clock = Callable[[], float]


class NoDrafter:
    """Proposes nothing, which turns each round into one token of normal decoding."""

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        return 0.0

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        return iter(())

    def observe(self, hidden: torch.Tensor) -> None:
        pass

    def rollback(self, keep: int) -> None:
        pass


class ModelDrafter:
    """Drafts with a small model.

    A draft model that reads features sees, for each committed token, the target's last hidden state
    at the position before it (as EAGLE does, Li et al. 2024, arXiv 2401.15077). Tokens of the
    draft itself have none yet; once committed, they are encoded anew with theirs.
    """

    def __init__(
        self, runner: ModelRunner, sampler: Sampler, clock: Clock = time.perf_counter
    ) -> None:
        self._runner = runner
        self._sampler = sampler
        self._clock = clock
        # Features of the committed tokens that are not yet encoded, one row for each.
        self._features: torch.Tensor | None = None
        self._num_encoded = 0

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        if self._runner.reads_features:
            nothing_before = hidden.new_zeros(1, hidden.shape[-1])
            self._features = torch.cat([nothing_before, hidden])
        _, seconds = self._encode(token_ids[:-1], num_logits=0)
        return seconds

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        if num_draft_tokens == 0:
            return
        pending = token_ids[self._runner.num_cached_tokens :]
        output, seconds = self._encode(pending, num_logits=1)
        drafted: list[int] = []
        while True:
            proposal = self._draw(output, [*token_ids, *drafted], seconds)
            drafted.append(proposal.token_id)
            yield proposal
            if len(drafted) == num_draft_tokens:
                return
            output, seconds = self._timed_forward(drafted[-1:], 1, None)

    def observe(self, hidden: torch.Tensor) -> None:
        if self._features is not None:
            self._features = torch.cat([self._features, hidden])

    def rollback(self, keep: int) -> None:
        # A model that reads features forgets its own draft: what was kept is encoded anew.
        self._runner.rollback(keep if self._features is None else min(keep, self._num_encoded))

    def _encode(self, token_ids: Sequence[int], num_logits: int) -> tuple[ForwardOutput, float]:
        """Take in committed tokens, with their features where the model reads them."""
        features = None
        if self._features is not None:
            features = self._features[: len(token_ids)]
            self._features = self._features[len(token_ids) :]
        output, seconds = self._timed_forward(token_ids, num_logits, features)
        self._num_encoded = self._runner.num_cached_tokens
        return output, seconds

    def _timed_forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None
    ) -> tuple[ForwardOutput, float]:
        started = self._clock()
        output = self._runner.forward(token_ids, num_logits, features)
        return output, self._clock() - started

    def _draw(self, output: ForwardOutput, prefix: Sequence[int], seconds: float) -> Proposal:
        distribution, top = self._sampler.warp(output.logits, prefix).row(0)
        return Proposal(self._sampler.sample(distribution), distribution, seconds, top)


class HybridDrafter:
    """Copies from the text where it repeats itself, and asks the model elsewhere."""

    def __init__(self, ngram: NgramDrafter, model: ModelDrafter) -> None:
        self._ngram = ngram
        self._model = model

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        return self._model.prefill(token_ids, hidden)

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        copied = self._ngram.propose(token_ids, num_draft_tokens)
        first = next(copied, None)
        if first is None:
            yield from self._model.propose(token_ids, num_draft_tokens)
        else:
            yield first
            yield from copied

    def observe(self, hidden: torch.Tensor) -> None:
        self._model.observe(hidden)

    def rollback(self, keep: int) -> None:
        self._model.rollback(keep)


class NgramDrafter:
    """Drafts what followed the last tokens earlier in the text (prompt lookup, Saxena 2023).

    The longest match of `max_ngram` down to `min_ngram` tokens wins, the latest place first.
    Each proposal is certain, so its distribution is a one-hot over `vocab_size`.
    """

    def __init__(self, vocab_size: int, *, max_ngram: int = 3, min_ngram: int = 2) -> None:
        self._vocab_size = vocab_size
        self._sizes = range(max_ngram, min_ngram - 1, -1)
        self._ends: dict[tuple[int, ...], int] = {}
        self._num_indexed = 0

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        return 0.0

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        self._index(token_ids)
        start = self._match(token_ids)
        if start is None:
            return
        for position in range(start, min(start + num_draft_tokens, len(token_ids))):
            certain = OneHot(token_ids[position], self._vocab_size)
            yield Proposal(certain.token_id, certain, source_position=position)

    def observe(self, hidden: torch.Tensor) -> None:
        pass

    def rollback(self, keep: int) -> None:
        pass

    def _index(self, token_ids: Sequence[int]) -> None:
        """Note where each n-gram that has a continuation ends; committed tokens never change."""
        for end in range(self._num_indexed, len(token_ids)):
            for size in self._sizes:
                if size <= end:
                    self._ends[tuple(token_ids[end - size : end])] = end
        self._num_indexed = len(token_ids)

    def _match(self, token_ids: Sequence[int]) -> int | None:
        for size in self._sizes:
            end = self._ends.get(tuple(token_ids[-size:]))
            if end is not None and size <= len(token_ids):
                return end
        return None
