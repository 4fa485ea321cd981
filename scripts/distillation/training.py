"""Trains the draft model and leaves a usable checkpoint behind all the time."""

import gzip
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from distillation.batches import RowBatch, TrainingPlan, batch_targets, run_draft
from distillation.draft import DraftModel
from distillation.files import written_whole
from distillation.head import DraftVocabulary, TiedEmbedding, head_cross_entropy
from distillation.shards import Shard, shard_paths

NUM_WARMUP_STEPS = 20
FINAL_RATE = 0.03  # of the peak learning rate
MAX_GRADIENT_NORM = 1.0
STATE_FILE = "training_state.pt"


@dataclass(frozen=True)
class TrainingSpec:
    """Everything that shapes a training."""

    num_steps: int
    stop_after: int  # steps of this call; the schedule still ends at `num_steps`
    num_batch_tokens: int
    learning_rate: float
    feature_learning_rate: float
    num_steps_per_checkpoint: int
    seed: int


@dataclass(frozen=True)
class TrainingPaths:
    """Where a training reads and writes."""

    target: Path
    data: Path
    initial: Path  # a draft folder to start from
    draft_token_ids: Path  # JSON list, in any order
    counted_texts: Path | None  # gzipped JSON lines with `token_ids`, to count frequencies in
    output: Path


def train(paths: TrainingPaths, spec: TrainingSpec, kept_layers: Sequence[int] | None) -> None:
    """Trains from `paths.initial`, or goes on from the state in `paths.output`."""
    torch.manual_seed(spec.seed)
    shards = [Shard.read(path) for path in shard_paths(paths.data)]
    draft = DraftModel.load(paths.initial, kept_layers)
    trainer = Trainer(draft, paths, spec, shards)
    first = trainer.restore()
    for step in range(first, min(spec.num_steps, spec.stop_after)):
        trainer.step(step)
        if (step + 1) % spec.num_steps_per_checkpoint == 0:
            trainer.save(step + 1)
    trainer.save(min(spec.num_steps, spec.stop_after))


def read_texts(path: Path | None) -> Iterator[list[int]]:
    """Yields the token ids of each line; nothing without a path."""
    if path is None:
        return
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield json.loads(line)["token_ids"]


def sample_features(shards: Sequence[Shard]) -> Tensor:
    """Returns features of some positions of every shard, (n, hidden)."""
    return torch.cat(
        [shard.features[:, shard.prefix_length :: 16].flatten(0, 1).float() for shard in shards]
    )


def learning_rate_factor(step: int, num_steps: int) -> float:
    """Warms up linearly, then falls along a half cosine to `FINAL_RATE`."""
    if step < NUM_WARMUP_STEPS:
        return (step + 1) / NUM_WARMUP_STEPS
    progress = (step - NUM_WARMUP_STEPS) / max(1, num_steps - NUM_WARMUP_STEPS)
    return FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * progress)) / 2


class Trainer:
    """One draft model, its optimizer and its data."""

    def __init__(
        self, draft: DraftModel, paths: TrainingPaths, spec: TrainingSpec, shards: Sequence[Shard]
    ) -> None:
        self._draft = draft
        self._paths = paths
        self._spec = spec
        self._base_config = json.loads((paths.initial / "config.json").read_text())
        token_ids = json.loads(paths.draft_token_ids.read_text())
        vocabulary = DraftVocabulary.of(token_ids, self._base_config["vocab_size"])
        self._vocabulary = vocabulary.by_frequency(shards, read_texts(paths.counted_texts))
        self._embedding = TiedEmbedding.load(paths.target, self._vocabulary.token_ids)
        draft.whiten_features(sample_features(shards))
        self._plan = TrainingPlan(shards, spec.num_batch_tokens, spec.seed)
        self._optimizer = self._new_optimizer()
        self._losses: list[Tensor] = []
        print(
            f"{self._plan.num_steps_per_epoch} steps an epoch, {spec.num_steps} in all", flush=True
        )

    def step(self, step: int) -> None:
        """Takes one optimizer step."""
        started = time.process_time()
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak"] * learning_rate_factor(step, self._spec.num_steps)
        batch = self._plan.batch(step)
        losses, depths = self._batch_losses(batch, step)
        self._optimizer.zero_grad()
        losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(self._draft.parameters(), MAX_GRADIENT_NORM)
        self._optimizer.step()
        self._report(step, losses.detach(), depths, time.process_time() - started)

    def restore(self) -> int:
        """Loads the saved state, if there is one, and returns the next step."""
        path = self._paths.output / STATE_FILE
        if not path.exists():
            return 0
        state = torch.load(path)
        self._draft.load_state_dict(state["draft"])
        self._optimizer.load_state_dict(state["optimizer"])
        return state["step"]

    def save(self, step: int) -> None:
        """Writes the draft folder and, beside it, what it takes to resume."""
        self._draft.save(self._paths.output, self._base_config, self._vocabulary.token_ids)
        state = {
            "draft": self._draft.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "step": step,
        }
        with written_whole(self._paths.output / STATE_FILE) as unfinished:
            torch.save(state, unfinished)

    def _new_optimizer(self) -> torch.optim.Optimizer:
        feature = list(self._draft.feature_proj.parameters())
        others = [
            p for name, p in self._draft.named_parameters() if not name.startswith("feature_proj")
        ]
        groups = [
            {"params": others, "peak": self._spec.learning_rate},
            {"params": feature, "peak": self._spec.feature_learning_rate},
        ]
        return torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01, fused=True)

    def _batch_losses(self, batch: RowBatch, step: int) -> tuple[Tensor, Tensor]:
        streams = self._plan.streams(step, batch)
        hidden, where = run_draft(self._draft, self._embedding, batch, streams)
        indices, probs = batch_targets(batch.shard, where, self._vocabulary)
        losses = head_cross_entropy(hidden, self._embedding.head_rows, indices, probs)
        depths = torch.cat([s.depths[s.positions >= batch.shard.prefix_length] for s in streams])
        return losses, depths

    def _report(self, step: int, losses: Tensor, depths: Tensor, cpu_seconds: float) -> None:
        first, later = losses[depths == 1].mean(), losses[depths > 1].mean()
        self._losses.append(torch.tensor((first, later, len(losses), cpu_seconds)))
        if (step + 1) % 10 == 0:
            first, later, num_losses, cpu_seconds = torch.stack(self._losses[-10:]).mean(0).tolist()
            print(
                f"step {step + 1}: loss {first:.3f} at depth 1, {later:.3f} beyond; "
                f"{num_losses / cpu_seconds:.0f} loss tokens per CPU second",
                flush=True,
            )
