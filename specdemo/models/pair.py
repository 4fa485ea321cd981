"""What a loaded pair is and what it answers to. No behaviour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from specdemo.engine.protocols import ModelRunner
from specdemo.models.catalog import PairSpec
from specdemo.models.continuations import ContinuationTable
from specdemo.models.quantization import KINDS, Quantization
from specdemo.models.tokenization import Tokenizer

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


class SizedRunner(ModelRunner, Protocol):
    """A runner that can tell what its cache weighs."""

    @property
    def cache_bytes(self) -> int:
        """Bytes allocated for keys and values."""

    @property
    def cache_used_bytes(self) -> int:
        """Bytes of the positions in use."""


@dataclass(frozen=True, slots=True)
class LoadedSpec:
    """What a loaded pair answers to.

    `precision` may be `8bit` or `nf4`; then `quantize` says which models are rounded: `target`,
    `draft` or `both`, and the rest is bfloat16.
    """

    pair: PairSpec
    device: str
    precision: str
    quantize: str = "both"
    double_quantization: bool = False

    @property
    def is_quantized(self) -> bool:
        """Whether any weights are rounded on loading."""
        return self.precision in KINDS

    @property
    def dtype(self) -> torch.dtype:
        """The type of everything that is not rounded."""
        return PRECISIONS.get(self.precision, torch.bfloat16)

    @property
    def name(self) -> str:
        """The pair's name and how its weights are kept."""
        return f"{self.pair.name} {self.label}"

    @property
    def label(self) -> str:
        """The precision in a word or two."""
        parts = [self.quantize] if self.is_quantized and self.quantize != "both" else []
        parts += ["double"] if self.double_quantization else []
        return " ".join([self.precision, *parts])

    def quantization_of(self, role: str) -> Quantization | None:
        """How the `target` or the `draft` is rounded, if it is."""
        if not self.is_quantized or self.quantize not in (role, "both"):
            return None
        return Quantization(self.precision, self.double_quantization)


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models that share a tokenizer, ready to run; without a draft, n-grams are drafted.

    `new_target_runner` and `new_draft_runner` take how many positions the cache must hold.
    """

    spec: LoadedSpec
    tokenizer: Tokenizer
    vocab_size: int
    context_length: int
    num_threads: int
    target_weights_bytes: int
    draft_weights_bytes: int
    new_target_runner: Callable[[int], SizedRunner]
    new_draft_runner: Callable[[int], SizedRunner] | None
    continuations: ContinuationTable | None = None
