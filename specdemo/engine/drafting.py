"""Where drafts come from: a small model, the text itself, or nowhere.

Knows no target model beyond the hidden states it is handed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

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

    # Of a long prompt such a model reads only the last tokens: the far text reaches it through the
    # features, and reading it all would cost a tenth of the target's own time.
    _PROMPT_TOKENS = 192

    def __init__(
        self, runner: ModelRunner, sampler: Sampler, clock: Clock = time.perf_counter
    ) -> None:
        self._runner = runner
        self._sampler = sampler
        self._clock = clock
        # Features of the committed tokens that are not yet encoded, one row for each.
        self._features: torch.Tensor | None = None
        self._num_encoded = 0
        self._num_skipped = 0

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        if self._runner.reads_features:
            self._num_skipped = max(0, len(token_ids) - 1 - self._PROMPT_TOKENS)
            nothing_before = hidden.new_zeros(1, hidden.shape[-1])
            self._features = torch.cat([nothing_before, hidden])[self._num_skipped :]
        _, seconds = self._encode(token_ids[self._num_skipped : -1], num_logits=0)
        return seconds

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        prefix = list(token_ids)
        for _ in range(num_draft_tokens):
            proposal = self.next(prefix, len(token_ids))
            prefix.append(proposal.token_id)
            yield proposal

    def next(self, prefix: Sequence[int], num_committed: int) -> Proposal:
        """The proposal after a prefix of committed tokens and of drafted ones, whoever did them."""
        cached, seconds = self._runner.num_cached_tokens + self._num_skipped, 0.0
        if cached < num_committed:
            num_logits = int(len(prefix) == num_committed)
            output, seconds = self._encode(prefix[cached:num_committed], num_logits)
            cached = num_committed
        if cached < len(prefix):
            output, more_seconds = self._timed_forward(prefix[cached:], 1, None)
            seconds += more_seconds
        return self._draw(output, prefix, seconds)

    def observe(self, hidden: torch.Tensor) -> None:
        if self._features is not None:
            self._features = torch.cat([self._features, hidden])

    def rollback(self, keep: int) -> None:
        # A model that reads features forgets its own draft: what was kept is encoded anew.
        keep -= self._num_skipped
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


class Continuations(Protocol):
    """A table of what most often followed a few tokens."""

    def after(self, token_ids: Sequence[int]) -> tuple[int, float] | None:
        """The token that most often followed the end of these, and its share of all that did."""


class HybridDrafter:
    """Copies from the text where it repeats itself; elsewhere asks a table, or else the model.

    A look-up takes no forward pass, so after a first token a small share is enough for the table to
    be believed; in place of the model's first token it must be nearly sure.
    """

    _SURE = 0.7
    _WORTH_A_ROW = 0.45

    def __init__(
        self,
        ngram: NgramDrafter,
        model: ModelDrafter,
        vocab_size: int,
        continuations: Continuations | None = None,
    ) -> None:
        self._ngram = ngram
        self._model = model
        self._vocab_size = vocab_size
        self._continuations = continuations

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        return self._model.prefill(token_ids, hidden)

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        copied = self._ngram.propose(token_ids, num_draft_tokens)
        first = next(copied, None)
        if first is not None:
            yield first
            yield from copied
            return
        prefix = list(token_ids)
        found = self._look_up(prefix, self._SURE)
        for _ in range(num_draft_tokens):
            proposal = self._certain(*found) if found else self._model.next(prefix, len(token_ids))
            prefix.append(proposal.token_id)
            found = self._look_up(prefix, self._WORTH_A_ROW)
            yield replace(proposal, upcoming_share=found[1] if found else None)

    def observe(self, hidden: torch.Tensor) -> None:
        self._model.observe(hidden)

    def rollback(self, keep: int) -> None:
        self._model.rollback(keep)

    def _look_up(self, prefix: Sequence[int], least_share: float) -> tuple[int, float] | None:
        found = self._continuations.after(prefix) if self._continuations else None
        return found if found and found[1] >= least_share else None

    def _certain(self, token_id: int, share: float) -> Proposal:
        return Proposal(token_id, OneHot(token_id, self._vocab_size), looked_up_share=share)


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
            if end is not None:
                return end
        return None
