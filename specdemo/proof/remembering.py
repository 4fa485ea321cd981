"""Models that remember every pass, so that thousands of runs cost little but their sampling.

Only forward passes and the warping of their rows are remembered: each distinct one is really
computed, once, in the shape in which a run asks for it. Knows no test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import NamedTuple, TypeAlias

import torch

from specdemo.engine.protocols import ForwardOutput, ModelRunner
from specdemo.engine.sampling import Sampler, SamplingParams, Warped

# The tokens of a pass, how many rows of logits are wanted, and whether features came with them.
_Wanted: TypeAlias = tuple[tuple[int, ...], int, bool]


@dataclass(eq=False, slots=True)
class _Place:
    """A token at the end of a history, with the feature that came with it, if one did.

    A feature follows from the history alone, so that it came is all that a place depends on.
    """

    history: tuple[_Place, ...] = ()
    token_id: int = -1
    feature: torch.Tensor | None = None
    passes: dict[_Wanted, _Pass] = field(default_factory=dict)
    following: dict[tuple[int, bool], _Place] = field(default_factory=dict)

    @property
    def path(self) -> tuple[_Place, ...]:
        """Every place up to this one; none before the first token."""
        return (*self.history, self) if self.token_id >= 0 else ()

    def grow(self, token_id: int, feature: torch.Tensor | None) -> _Place:
        """The place of a next token."""
        key = (token_id, feature is not None)
        if key not in self.following:
            self.following[key] = _Place(self.path, token_id, feature)
        return self.following[key]


class _Pass(NamedTuple):
    """What a pass gave, and the places of its tokens."""

    output: ForwardOutput
    places: tuple[_Place, ...]


class PassTree:
    """All passes of one model so far, by the history that they followed."""

    def __init__(self, runner: ModelRunner) -> None:
        self.root = _Place()
        self.reads_features = runner.reads_features
        self.num_passes = 0
        self._runner = runner
        self._held: tuple[_Place, ...] = ()

    def after(
        self,
        place: _Place,
        token_ids: Sequence[int],
        num_logits: int,
        features: torch.Tensor | None,
    ) -> _Pass:
        """A pass after a history: remembered, or computed now by the model itself."""
        wanted = (tuple(token_ids), num_logits, features is not None)
        found = place.passes.get(wanted)
        if found is None:
            found = place.passes[wanted] = self._compute(place, token_ids, num_logits, features)
        return found

    def _compute(
        self,
        place: _Place,
        token_ids: Sequence[int],
        num_logits: int,
        features: torch.Tensor | None,
    ) -> _Pass:
        self._bring_back(place.path)
        output = self._runner.forward(token_ids, num_logits, features)
        self.num_passes += bool(token_ids)
        places: list[_Place] = []
        for index, token_id in enumerate(token_ids):
            feature = None if features is None else features[index]
            place = place.grow(token_id, feature)
            places.append(place)
        self._held = place.path
        return _Pass(output, tuple(places))

    def _bring_back(self, path: tuple[_Place, ...]) -> None:
        """Put the model's cache where a history ends."""
        pairs = zip(self._held, path)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        self._runner.rollback(shared)
        for has_features, group in groupby(path[shared:], lambda p: p.feature is not None):
            places = list(group)
            features = (
                torch.stack([p.feature for p in places if p.feature is not None])
                if (has_features)
                else None
            )
            self._runner.forward([p.token_id for p in places], 0, features)


class RememberingRunner:
    """A `ModelRunner` for one run that asks a tree of passes in place of the model."""

    def __init__(self, tree: PassTree) -> None:
        self._tree = tree
        self._path: list[_Place] = []

    @property
    def num_cached_tokens(self) -> int:
        return len(self._path)

    @property
    def reads_features(self) -> bool:
        return self._tree.reads_features

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        place = self._path[-1] if self._path else self._tree.root
        found = self._tree.after(place, token_ids, num_logits, features)
        self._path.extend(found.places)
        return found.output

    def rollback(self, keep: int) -> None:
        del self._path[keep:]


class RememberingSampler(Sampler):
    """A sampler that warps each remembered row once.

    A row is known by where it lies in memory: what a tree of passes gave stays where it is.
    """

    def __init__(self, params: SamplingParams, seed: int, warped: dict[int, Warped]) -> None:
        super().__init__(params, seed)
        self._warped = warped

    def warp(
        self, logits: torch.Tensor, prefix: Sequence[int], drafted: Sequence[int] = ()
    ) -> Warped:
        key = logits.data_ptr()
        if key not in self._warped:
            self._warped[key] = super().warp(logits, prefix, drafted)
        return self._warped[key]
