"""What most often followed a few tokens in texts that the target wrote. Knows no model.

Retrieval in place of a draft pass, as REST does (He et al. 2023, arXiv 2311.08252), from a table
that `scripts/distill_draft.py tabulate` makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import safe_open

_FILE = "continuations.safetensors"


class _Contexts(NamedTuple):
    """Contexts of one length: their sorted keys, what followed most, its share in 255ths."""

    keys: npt.NDArray[Any]
    token_ids: npt.NDArray[Any]
    shares: npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ContinuationTable:
    """The likeliest continuation of contexts of one, two, … tokens."""

    vocab_size: int
    by_size: tuple[_Contexts, ...]

    @classmethod
    def from_folder(cls, folder: Path) -> ContinuationTable | None:
        """The table beside a draft model, if it has one."""
        path = folder / _FILE
        if not path.exists():
            return None
        with safe_open(path, "np") as file:
            names = set(file.keys())
            sizes = range(1, 1 + sum(name.startswith("keys_") for name in names))
            parts = ("keys", "token_ids", "shares")
            by_size = [_Contexts(*(file.get_tensor(f"{p}_{n}") for p in parts)) for n in sizes]
            return cls(int(file.metadata()["vocabulary_size"]), tuple(by_size))

    @property
    def num_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for contexts in self.by_size for array in contexts)

    def after(self, token_ids: Sequence[int]) -> tuple[int, float] | None:
        """The token that most often followed the end of these, and its share of all that did.

        The longest context that is known wins.
        """
        for size in range(min(len(self.by_size), len(token_ids)), 0, -1):
            contexts = self.by_size[size - 1]
            key = 0
            for token_id in token_ids[-size:]:
                key = key * self.vocab_size + token_id
            at = int(np.searchsorted(contexts.keys, key))
            if at < len(contexts.keys) and contexts.keys[at] == key:
                return int(contexts.token_ids[at]), float(contexts.shares[at]) / 255
        return None
