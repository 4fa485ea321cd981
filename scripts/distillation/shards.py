"""Rows of text with everything the target knew about them, on disk.

One shard is one batch of rows of equal length: token ids, the target's last hidden state
and its most probable next tokens at every position.
"""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from distillation.files import written_whole


class Origin(IntEnum):
    """How a token came into its row."""

    GIVEN = 0
    SAMPLED = 1
    GREEDY = 2


@dataclass(frozen=True)
class Shard:
    """Rows that the target wrote, position by position, R rows of T tokens.

    Position i holds what the target said after reading tokens 0..i.
    """

    token_ids: Tensor  # (R, T) int32
    origins: Tensor  # (R, T) uint8, an `Origin` each
    features: Tensor  # (R, T, hidden) float16, what the target's LM head reads
    top_token_ids: Tensor  # (R, T, K) int32, most probable first
    top_log_probs: Tensor  # (R, T, K) float16, at temperature 1 over the whole vocabulary
    prefix_length: int  # tokens that all rows share, worth no loss

    @classmethod
    def empty(
        cls, num_rows: int, row_length: int, hidden_size: int, num_top: int, prefix_length: int
    ) -> "Shard":
        """Allocates a shard to be filled position by position."""
        return cls(
            token_ids=torch.zeros(num_rows, row_length, dtype=torch.int32),
            origins=torch.zeros(num_rows, row_length, dtype=torch.uint8),
            features=torch.zeros(num_rows, row_length, hidden_size, dtype=torch.float16),
            top_token_ids=torch.zeros(num_rows, row_length, num_top, dtype=torch.int32),
            top_log_probs=torch.zeros(num_rows, row_length, num_top, dtype=torch.float16),
            prefix_length=prefix_length,
        )

    @classmethod
    def read(cls, path: Path) -> "Shard":
        """Reads a shard written by `write`."""
        with safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            return cls(**tensors, prefix_length=int(file.metadata()["prefix_length"]))

    def write(self, path: Path) -> None:
        """Writes the shard whole or not at all."""
        tensors = {name: value for name, value in vars(self).items() if isinstance(value, Tensor)}
        with written_whole(path) as unfinished:
            save_file(tensors, unfinished, metadata={"prefix_length": str(self.prefix_length)})


def shard_paths(folder: Path) -> list[Path]:
    """Lists the finished shards of a data folder in order."""
    return sorted(folder.glob("shard_*.safetensors"))
