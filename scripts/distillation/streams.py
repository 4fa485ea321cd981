"""Where drafting stands in a text: which inputs carry a feature, and what each may look at.

A row of T tokens becomes one sequence of T + B inputs. The first T are the committed
tokens: every one carries the target's feature of the position before it. The other B are
drafted tokens, copies without a feature, in short branches: a branch hangs on a committed
token (its anchor), sees the committed tokens up to the anchor and itself, and is seen by
nobody else. That is exactly what the draft model meets at inference, at every depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

MAX_DEPTH = 6  # the longest branch predicts the sixth drafted token

# Out of 15 branches: how many have 1, 2, ... drafted inputs. Falls as the odds of getting there do.
BRANCH_LENGTHS = (1,) * 5 + (2,) * 4 + (3,) * 3 + (4,) * 2 + (5,)


@dataclass(frozen=True)
class Streams:
    """The inputs of one row: T committed ones, then B drafted ones."""

    positions: Tensor  # (T + B,) position of the input in its row
    anchors: Tensor  # (T + B,) last committed position it sees; its own for a committed input
    num_committed: int

    @classmethod
    def build(cls, num_committed: int, anchors: Sequence[int], lengths: Sequence[int]) -> "Streams":
        """Hangs a branch of `lengths[i]` drafted inputs on each committed position `anchors[i]`."""
        committed = torch.arange(num_committed)
        repeats = torch.tensor(lengths)
        drafted_anchors = torch.tensor(anchors).repeat_interleave(repeats)
        steps = torch.cat([torch.arange(1, length + 1) for length in lengths])
        return cls(
            positions=torch.cat((committed, drafted_anchors + steps)),
            anchors=torch.cat((committed, drafted_anchors)),
            num_committed=num_committed,
        )

    @property
    def depths(self) -> Tensor:
        """Which drafted token each input predicts: 1 after a committed input, up to `MAX_DEPTH`."""
        return self.positions - self.anchors + 1

    def mask(self) -> Tensor:
        """Returns what may be seen, (T + B, T + B) bool, queries in rows."""
        query_positions, query_anchors = self.positions[:, None], self.anchors[:, None]
        is_committed = torch.arange(len(self.positions)) < self.num_committed
        sees_committed = is_committed & (self.positions <= query_anchors)
        sees_branch = (
            ~is_committed & (self.anchors == query_anchors) & (self.positions <= query_positions)
        )
        return sees_committed | sees_branch


def training_streams(row_length: int, prefix_length: int, generator: torch.Generator) -> Streams:
    """Draws branches on a third of the positions after the prefix, always equally many inputs."""
    last = row_length - MAX_DEPTH
    num_branches = (last - prefix_length) // 3
    anchors = (
        prefix_length + torch.randperm(last - prefix_length, generator=generator)[:num_branches]
    )
    lengths = [BRANCH_LENGTHS[i % len(BRANCH_LENGTHS)] for i in range(num_branches)]
    return Streams.build(row_length, anchors.tolist(), lengths)


def exhaustive_streams(row_length: int, prefix_length: int) -> Streams:
    """Hangs a branch of full depth on every position after the prefix."""
    anchors = range(prefix_length, row_length - MAX_DEPTH + 1)
    return Streams.build(row_length, anchors, [MAX_DEPTH - 1] * len(anchors))
