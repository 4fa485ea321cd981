"""The seams of the engine: what generation needs of a model and of a drafter. No behaviour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch

from specdemo.engine.distribution import Distribution
from specdemo.events import Alternative


class ForwardOutput(NamedTuple):
    """What a forward pass of T tokens returns: logits (N, V) float32 of the last N rows and
    the last hidden states (T, H) after the final norm, on the model's device."""

    logits: torch.Tensor
    hidden: torch.Tensor


class ModelRunner(Protocol):
    """One set of weights with one cache, for one run."""

    @property
    def num_cached_tokens(self) -> int:
        """How many positions the cache holds."""

    @property
    def reads_features(self) -> bool:
        """Whether `forward` makes use of the target's hidden states."""

    def forward(
        self,
        token_ids: Sequence[int],
        num_logits: int,
        features: torch.Tensor | None = None,
    ) -> ForwardOutput:
        """Append `token_ids` to the cache; returns when the results have reached the host.

        `features` (T, H) holds the target's last hidden state of the position before each token.
        """

    def rollback(self, keep: int) -> None:
        """Forget every position from `keep` on; a cache that holds fewer stays as it is."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A drafted token and the distribution that it was really drawn from.

    A token looked up in a table tells how often it followed there. `upcoming_share` is that share
    of the next proposal, if it is known already and takes no forward pass.
    """

    token_id: int
    distribution: Distribution
    forward_seconds: float = 0.0
    top: tuple[Alternative, ...] = ()
    source_position: int | None = None
    looked_up_share: float | None = None
    upcoming_share: float | None = None


class Drafter(Protocol):
    """Proposes tokens that the target will judge."""

    def prefill(self, token_ids: Sequence[int], hidden: torch.Tensor) -> float:
        """Take in a prompt and its hidden states (T − 1, H); returns seconds in `forward`."""

    def propose(self, token_ids: Sequence[int], num_draft_tokens: int) -> Iterator[Proposal]:
        """Up to `num_draft_tokens` proposals after `token_ids`, one forward pass at a time."""

    def observe(self, hidden: torch.Tensor) -> None:
        """Take in the hidden states (C, H) that the last C committed tokens were drawn from."""

    def rollback(self, keep: int) -> None:
        """Forget every position from `keep` on."""
