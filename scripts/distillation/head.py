"""The frozen LM head over the draft vocabulary, and the loss that never holds all its logits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from distillation.shards import Shard

# The logits of this many tokens stay in the cache; all at once would be fresh pages at every step.
CHUNK = 256


@dataclass(frozen=True)
class DraftVocabulary:
    """The token ids that the draft model can propose, most frequent first."""

    token_ids: tuple[int, ...]
    index_by_token_id: Tensor  # (vocabulary,) long, -1 for a token outside

    @classmethod
    def of(cls, token_ids: Sequence[int], vocabulary_size: int) -> "DraftVocabulary":
        """Builds the inverse of `token_ids`."""
        index_by_token_id = torch.full((vocabulary_size,), -1)
        index_by_token_id[torch.tensor(token_ids)] = torch.arange(len(token_ids))
        return cls(tuple(token_ids), index_by_token_id)

    def by_frequency(
        self, shards: Sequence[Shard], other_texts: Iterable[Sequence[int]]
    ) -> "DraftVocabulary":
        """Orders the ids by how often the target writes them, so that a prefix is the best cut.

        A shard counts with the target's probabilities, any other text with its tokens.
        """
        counts = torch.zeros(len(self.index_by_token_id))
        for shard in shards:
            probs = shard.top_log_probs[:, shard.prefix_length :].float().exp()
            counts.index_add_(
                0, shard.top_token_ids[:, shard.prefix_length :].flatten().long(), probs.flatten()
            )
        for text in other_texts:
            counts.index_add_(0, torch.tensor(text), torch.ones(len(text)))
        ordered = sorted(self.token_ids, key=lambda token_id: -counts[token_id].item())
        return self.of(ordered, len(counts))

    def targets(self, top_token_ids: Tensor, top_log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """Maps top tokens to draft indices and the target's probabilities, 0 for tokens outside."""
        indices = self.index_by_token_id[top_token_ids.long()]
        probs = top_log_probs.float().exp() * (indices >= 0)
        return indices.clamp_min(0), probs


@dataclass(frozen=True)
class TiedEmbedding:
    """The target's embedding, and its rows that serve as the draft model's head."""

    all_rows: Tensor  # (vocabulary, hidden)
    head_rows: Tensor  # (draft vocabulary, hidden)

    @classmethod
    def load(cls, target_folder: Path, token_ids: Sequence[int]) -> "TiedEmbedding":
        """Reads the tied embedding of a target folder."""
        with safe_open(target_folder / "model.safetensors", "pt") as file:
            all_rows = file.get_tensor("model.embed_tokens.weight").float()
        return cls(all_rows, all_rows[torch.tensor(token_ids)].contiguous())


class _HeadCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, hidden: Tensor, head_rows: Tensor, indices: Tensor, probs: Tensor
    ) -> Tensor:
        """Computes losses and, because the head is frozen, the only gradient in the same sweep."""
        losses = hidden.new_empty(len(hidden))
        gradient = torch.empty_like(hidden)
        for start in range(0, len(hidden), CHUNK):
            chunk = slice(start, start + CHUNK)
            logits = hidden[chunk] @ head_rows.T
            logits.sub_(logits.amax(-1, keepdim=True))
            chosen_logits = logits.gather(1, indices[chunk])
            exponentials = logits.exp_()
            total = exponentials.sum(-1, keepdim=True)
            losses[chunk] = (probs[chunk] * (total.log() - chosen_logits)).sum(-1)
            difference = exponentials.div_(total).scatter_add_(1, indices[chunk], -probs[chunk])
            torch.mm(difference, head_rows, out=gradient[chunk])
        ctx.save_for_backward(gradient)
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_losses: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad_losses[:, None], None, None, None


def head_cross_entropy(hidden: Tensor, head_rows: Tensor, indices: Tensor, probs: Tensor) -> Tensor:
    """Returns each row's cross-entropy: `hidden` (n, hidden) against `probs` (n, K) at `indices`.

    `probs` is normalised here; a row without any mass gets loss 0 and no gradient worth mention.
    """
    normalized = probs / probs.sum(-1, keepdim=True).clamp_min(1e-6)
    return _HeadCrossEntropy.apply(hidden, head_rows, indices, normalized)
