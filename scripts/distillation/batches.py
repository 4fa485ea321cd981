"""Which rows a training step sees, and as which tensors.

A step's batch and branches follow from the seed and the step alone, so an interrupted
training resumes without any saved state of chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
import torch.nn.functional as F
from torch import Tensor

from distillation.draft import DraftModel
from distillation.head import DraftVocabulary, TiedEmbedding
from distillation.shards import Shard
from distillation.streams import Streams, training_streams

NUM_HELD_OUT_ROWS = 8  # the first rows of every shard


@dataclass(frozen=True)
class RowBatch:
    """Rows of one shard."""

    shard: Shard
    rows: Sequence[int]

    def inputs(self) -> tuple[Tensor, Tensor]:
        """Returns token ids (R, T) and the feature of the position before each (R, T, hidden)."""
        rows = torch.tensor(self.rows)
        features = self.shard.features[rows, :-1].float()
        return self.shard.token_ids[rows].long(), F.pad(features, (0, 0, 1, 0))


class TrainingPlan:
    """Deals the training rows of all shards into batches, epoch by epoch."""

    def __init__(self, shards: Sequence[Shard], num_batch_tokens: int, seed: int) -> None:
        self._shards = shards
        self._num_batch_tokens = num_batch_tokens
        self._seed = seed
        self._epoch = -1
        self._batches: list[RowBatch] = []

    @property
    def num_steps_per_epoch(self) -> int:
        """How many batches go once through the data."""
        return sum(self._num_batches(shard) for shard in self._shards)

    def batch(self, step: int) -> RowBatch:
        """Returns the batch of `step`."""
        epoch, index = divmod(step, self.num_steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._deal(Random(f"{self._seed}/{epoch}"))
        return self._batches[index]

    def streams(self, step: int, batch: RowBatch) -> list[Streams]:
        """Draws the branches of each row of a batch."""
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + step)
        row_length = batch.shard.token_ids.shape[1]
        return [
            training_streams(row_length, batch.shard.prefix_length, generator) for _ in batch.rows
        ]

    def _batch_size(self, shard: Shard) -> int:
        return max(1, self._num_batch_tokens // shard.token_ids.shape[1])

    def _num_batches(self, shard: Shard) -> int:
        return (len(shard.token_ids) - NUM_HELD_OUT_ROWS) // self._batch_size(shard)

    def _deal(self, rng: Random) -> list[RowBatch]:
        batches = []
        for shard in self._shards:
            rows = list(range(NUM_HELD_OUT_ROWS, len(shard.token_ids)))
            rng.shuffle(rows)
            size = self._batch_size(shard)
            batches += [
                RowBatch(shard, rows[i * size : (i + 1) * size])
                for i in range(self._num_batches(shard))
            ]
        rng.shuffle(batches)
        return batches


def held_out_batches(shard: Shard, num_rows: int) -> list[RowBatch]:
    """Returns a shard's rows that training never sees, `num_rows` at a time."""
    starts = range(0, NUM_HELD_OUT_ROWS, num_rows)
    return [RowBatch(shard, range(start, start + num_rows)) for start in starts]


def run_draft(
    draft: DraftModel, embedding: TiedEmbedding, batch: RowBatch, streams: Sequence[Streams]
) -> tuple[Tensor, Tensor]:
    """Runs all inputs of a batch; returns hidden states and positions of those after the prefix.

    Both are flat over rows and inputs: (n, hidden), and (n, 2) with row and position in the shard.
    """
    token_ids, features = batch.inputs()
    positions = torch.stack([stream.positions for stream in streams])
    mask = torch.stack([stream.mask() for stream in streams])
    embedded = F.embedding(token_ids.gather(1, positions), embedding.all_rows)
    hidden = draft(embedded, features, positions, mask)
    rows = torch.tensor(batch.rows)[:, None].expand_as(positions)
    counts = positions >= batch.shard.prefix_length
    return hidden[counts], torch.stack((rows[counts], positions[counts]), dim=-1)


def batch_targets(
    shard: Shard, where: Tensor, vocabulary: DraftVocabulary
) -> tuple[Tensor, Tensor]:
    """Returns draft indices and probabilities of the target's top tokens at `where` (n, 2)."""
    rows, positions = where.unbind(1)
    return vocabulary.targets(
        shard.top_token_ids[rows, positions], shard.top_log_probs[rows, positions]
    )
