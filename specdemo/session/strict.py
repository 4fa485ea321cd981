"""Passes on one grid, whatever is asked for: so that rounding falls alike in both lanes."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from specdemo.engine.protocols import ForwardOutput
from specdemo.models.loading import SizedRunner


class GridRunner:
    """A runner that computes each judged position in the same place of a pass of the same shape.

    In low precision a row's logits depend on how many rows are computed with it, on which of them
    it is, and on how many positions are attended to. Behind the prompt the sequence is cut into
    blocks of `num_rows`, and each pass covers one block: what it already holds is computed anew,
    what it does not hold yet is filled up and forgotten. A row then depends on nothing but the
    tokens before it, in either lane. It costs `num_rows` rows for each token of normal decoding,
    and up to two such passes for a draft.
    """

    def __init__(self, runner: SizedRunner, num_rows: int) -> None:
        self._runner = runner
        self._num_rows = num_rows
        self._num_before = 0
        # The tokens behind the passes that nobody judges, which both lanes make alike.
        self._tokens: list[int] = []

    @property
    def num_cached_tokens(self) -> int:
        return self._runner.num_cached_tokens

    @property
    def reads_features(self) -> bool:
        return self._runner.reads_features

    @property
    def cache_bytes(self) -> int:
        """Bytes allocated for keys and values."""
        return self._runner.cache_bytes

    @property
    def cache_used_bytes(self) -> int:
        """Bytes of the positions in use."""
        return self._runner.cache_used_bytes

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        if not num_logits:
            output = self._runner.forward(token_ids, 0, features)
            self._num_before, self._tokens = self._runner.num_cached_tokens, []
            return output
        first = len(self._tokens)
        start = first - first % self._num_rows
        self._tokens.extend(token_ids)
        self._runner.rollback(self._num_before + start)
        blocks = [
            self._block(self._tokens[at : at + self._num_rows])
            for at in range(start, len(self._tokens), self._num_rows)
        ]
        self._runner.rollback(self._num_before + len(self._tokens))
        logits, hidden = (torch.cat(parts)[: len(self._tokens) - start] for parts in zip(*blocks))
        return ForwardOutput(logits[-num_logits:], hidden[first - start :])

    def rollback(self, keep: int) -> None:
        self._runner.rollback(keep)
        del self._tokens[max(0, keep - self._num_before) :]

    def _block(self, token_ids: list[int]) -> ForwardOutput:
        filled = token_ids + token_ids[-1:] * (self._num_rows - len(token_ids))
        return self._runner.forward(filled, self._num_rows)
