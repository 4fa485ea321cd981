"""Small stand-ins: models as tables, scripted drafts, a clock that ticks when told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy.typing as npt
import torch

from specdemo.engine.distribution import Distribution, OneHot
from specdemo.engine.protocols import ForwardOutput, Proposal

HIDDEN_SIZE = 4


class FakeClock:
    """Seconds that pass only where a fake says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class TableRunner:
    """A model whose logits depend on the last token alone: row i of a table (V, V) follows token i.

    The hidden state of position i is i in every entry, so a test can tell which one it was given.
    Each forward pass takes `pass_seconds` on the fake clock.
    """

    reads_features = False

    def __init__(
        self, table: torch.Tensor, clock: FakeClock | None = None, pass_seconds: float = 1.0
    ) -> None:
        self.table = table
        self.cached: list[int] = []
        self.longest_pass = 0
        self._clock = clock
        self._pass_seconds = pass_seconds

    @property
    def num_cached_tokens(self) -> int:
        return len(self.cached)

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        assert 0 <= num_logits <= len(token_ids)
        first = len(self.cached)
        self.cached.extend(token_ids)
        self.longest_pass = max(self.longest_pass, len(token_ids))
        if self._clock:
            self._clock.now += self._pass_seconds
        positions = torch.arange(first, len(self.cached), dtype=torch.float32)
        hidden = positions.unsqueeze(-1).repeat(1, HIDDEN_SIZE)
        rows = self.table[torch.tensor(list(token_ids), dtype=torch.long)]
        return ForwardOutput(rows[len(token_ids) - num_logits :].clone(), hidden)

    def rollback(self, keep: int) -> None:
        del self.cached[keep:]


class FeatureRunner(TableRunner):
    """A table model that writes down which feature came with which token."""

    reads_features = True

    def __init__(self, table: torch.Tensor) -> None:
        super().__init__(table)
        self.seen: list[float | None] = []

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        given = [None] * len(token_ids) if features is None else features[:, 0].tolist()
        assert len(given) == len(token_ids)
        self.seen.extend(given)
        return super().forward(token_ids, num_logits)

    def rollback(self, keep: int) -> None:
        super().rollback(keep)
        del self.seen[keep:]


class ScriptedDrafter:
    """Proposes given tokens round by round, each from the distribution `of` gives it."""

    def __init__(
        self,
        rounds: Sequence[Sequence[int]],
        vocab_size: int,
        of: Callable[[int], Distribution] | None = None,
    ) -> None:
        self._rounds = iter(rounds)
        self._of = of or (lambda token_id: OneHot(token_id, vocab_size))
        self.rollbacks: list[int] = []

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        return 0.0

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        for token_id in list(next(self._rounds, []))[:num_draft_tokens]:
            yield Proposal(token_id, self._of(token_id))

    def observe(self, hidden: torch.Tensor) -> None:
        pass

    def rollback(self, keep: int) -> None:
        self.rollbacks.append(keep)


def chain(vocab_size: int) -> torch.Tensor:
    """A table in which token i is surely followed by i + 1, the last one by the first."""
    return 50.0 * torch.roll(torch.eye(vocab_size), 1, dims=1)


def random_table(vocab_size: int, seed: int, spread: float = 1.5) -> torch.Tensor:
    """A table of random logits."""
    return spread * torch.randn(
        vocab_size, vocab_size, generator=torch.Generator().manual_seed(seed)
    )


class FarTensor(torch.Tensor):
    """A tensor that says it lies on a GPU, and as such is refused by numpy until it is fetched."""

    @property
    def device(self) -> torch.device:
        return torch.device("cuda")

    def numpy(self, *, force: bool = False) -> npt.NDArray[Any]:
        raise TypeError("a tensor on a GPU has no numbers here")

    def cpu(self) -> torch.Tensor:
        return self.as_subclass(torch.Tensor)


def far(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as if it lay on a GPU."""
    return tensor.as_subclass(FarTensor)
