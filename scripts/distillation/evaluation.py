"""How well a draft model foresees its target on held-out rows, as it would at inference.

Texts are the target's own, so greedy decoding is simulated exactly: as long as the draft
model agrees with the text, it has drafted the text.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from distillation.batches import RowBatch, batch_targets, held_out_batches, run_draft
from distillation.draft import DraftModel
from distillation.head import CHUNK, DraftVocabulary, TiedEmbedding
from distillation.shards import Origin, Shard, shard_paths
from distillation.streams import MAX_DEPTH, exhaustive_streams

NUM_DRAFT_TOKENS = (3, 4, 5, 6)
NUM_ROWS_PER_BATCH = 2  # a row has 1,500 to 2,200 inputs here, and their mask is a square


@dataclass(frozen=True)
class Foresight:
    """What the draft model made of every held-out position, R rows by S anchors by depth.

    Entry (r, s, d) is the drafted token number d + 1 after anchor s; it is compared with the
    text's token d + 1 places later. All are (R, S, MAX_DEPTH).
    """

    agrees: Tensor  # bool: both models' most probable tokens are the same
    overlap: Tensor  # sum over tokens of min(target_probs, draft_probs) at temperature 1
    origins: Tensor  # uint8: how the token came into the text


@dataclass(frozen=True)
class Judge:
    """A draft model with everything needed to compare it with its target."""

    draft: DraftModel
    embedding: TiedEmbedding
    vocabulary: DraftVocabulary

    @classmethod
    def load(cls, target_folder: Path, draft_folder: Path) -> "Judge":
        """Loads a draft folder and the target's embedding."""
        token_ids = json.loads((draft_folder / "draft_token_ids.json").read_text("utf-8"))
        embedding = TiedEmbedding.load(target_folder, token_ids)
        vocabulary = DraftVocabulary.of(token_ids, len(embedding.all_rows))
        return cls(DraftModel.load(draft_folder), embedding, vocabulary)

    def foresee(self, batch: RowBatch, sizes: Sequence[int]) -> list[Foresight]:
        """Drafts from every position of a batch, with the most frequent tokens, `sizes` of them."""
        shard = batch.shard
        row_length = shard.token_ids.shape[1]
        streams = exhaustive_streams(row_length, shard.prefix_length)
        hidden, where = run_draft(self.draft, self.embedding, batch, [streams] * len(batch.rows))
        depths = streams.depths[streams.positions >= shard.prefix_length].repeat(len(batch.rows))
        anchors = where[:, 1] - depths + 1
        # Anchors near the end have no full branch, and the last token has no successor.
        num_anchors = row_length - MAX_DEPTH - shard.prefix_length
        complete = anchors < shard.prefix_length + num_anchors
        rows, anchors = where[:, 0] - batch.rows[0], anchors - shard.prefix_length
        cells = ((rows * num_anchors + anchors) * MAX_DEPTH + depths - 1)[complete]
        hidden, where = hidden[complete], where[complete]
        origins = shard.origins[where[:, 0], where[:, 1] + 1]
        shape = (len(batch.rows), num_anchors, MAX_DEPTH)
        compared = [(*self._compare(hidden, shard, where, size), origins) for size in sizes]
        return [Foresight(*(_arranged(v, cells, shape) for v in values)) for values in compared]

    def _compare(
        self, hidden: Tensor, shard: Shard, where: Tensor, size: int
    ) -> tuple[Tensor, Tensor]:
        agrees, overlap = torch.empty(len(hidden), dtype=torch.bool), torch.empty(len(hidden))
        head_rows = self.embedding.head_rows[:size]
        for start in range(0, len(hidden), CHUNK):
            chunk = slice(start, start + CHUNK)
            probs = (hidden[chunk] @ head_rows.T).softmax(-1)
            indices, target_probs = batch_targets(shard, where[chunk], self.vocabulary)
            inside = (target_probs > 0) & (indices < size)
            draft_probs = probs.gather(1, indices.clamp_max(size - 1)) * inside
            agrees[chunk] = (probs.argmax(-1) == indices[:, 0]) & inside[:, 0]
            # Beyond the recorded top tokens nothing is counted: a lower bound, by some 0.01.
            overlap[chunk] = torch.minimum(target_probs, draft_probs).sum(-1)
        return agrees, overlap


def _arranged(values: Tensor, cells: Tensor, shape: Sequence[int]) -> Tensor:
    return torch.empty_like(values).index_copy_(0, cells, values).view(*shape)


def mean_acceptance_length(foresights: Sequence[Foresight], num_draft_tokens: int) -> float:
    """Simulates greedy decoding: tokens per target pass, the bonus token included."""
    num_tokens = num_rounds = 0
    for foresight in foresights:
        accepted = foresight.agrees[..., :num_draft_tokens].long().cumprod(-1).sum(-1)
        greedy = (foresight.origins[..., :num_draft_tokens] == Origin.GREEDY).all(-1)
        for row_accepted, row_greedy in zip(accepted.tolist(), greedy.tolist()):
            lengths = _round_lengths(row_accepted, row_greedy)
            num_tokens, num_rounds = num_tokens + sum(lengths), num_rounds + len(lengths)
    return num_tokens / max(1, num_rounds)


def _round_lengths(accepted: Sequence[int], greedy: Sequence[bool]) -> list[int]:
    lengths = []
    position = 0
    while position < len(accepted):
        if greedy[position]:
            lengths.append(accepted[position] + 1)
            position += lengths[-1]
        else:
            position += 1
    return lengths


def _mean_by_depth(
    foresights: Sequence[Foresight],
    value: Callable[[Foresight], Tensor],
    counts: Callable[[Foresight], Tensor],
) -> list[float]:
    totals = sum((value(f) * counts(f)).sum((0, 1)) for f in foresights)
    numbers = sum(counts(f).sum((0, 1)) for f in foresights)
    return [round(mean, 4) for mean in torch.as_tensor(totals / numbers).tolist()]


def summary(foresights: Sequence[Foresight]) -> dict[str, object]:
    """Returns the rates of all foresights, by depth 1 to `MAX_DEPTH`."""

    def written(foresight: Foresight) -> Tensor:
        return foresight.origins != Origin.GIVEN

    def greedy(foresight: Foresight) -> Tensor:
        return foresight.origins == Origin.GREEDY

    return {
        "agreement_by_depth": _mean_by_depth(foresights, lambda f: f.agrees, written),
        "overlap_by_depth": _mean_by_depth(foresights, lambda f: f.overlap, written),
        "agreement_by_depth_on_greedy_text": _mean_by_depth(foresights, lambda f: f.agrees, greedy),
        "mean_acceptance_length_on_greedy_text": {
            str(n): round(mean_acceptance_length(foresights, n), 3) for n in NUM_DRAFT_TOKENS
        },
    }


@torch.no_grad()
def evaluate(
    target_folder: Path, data_folder: Path, draft_folder: Path, cut: int
) -> dict[str, object]:
    """Measures a draft folder on held-out rows, with its whole vocabulary and with `cut` tokens."""
    judge = Judge.load(target_folder, draft_folder)
    sizes = (len(judge.vocabulary.token_ids), cut)
    by_batch = [
        judge.foresee(batch, sizes)
        for path in shard_paths(data_folder)
        for batch in held_out_batches(Shard.read(path), NUM_ROWS_PER_BATCH)
    ]
    return {f"vocabulary_{size}": summary(found) for size, found in zip(sizes, zip(*by_batch))}
