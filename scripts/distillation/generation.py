"""The target writes its own training texts, many rows in lockstep.

Every row plays an endless sequence of parts (a user turn, an answer, a text), so all rows
stay active to the last position and no row is ever padded. Features and probabilities are
recorded on the way: encoding the texts again would cost as much as writing them.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import torch
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from distillation.prompts import text_opening, user_turn_stem
from distillation.shards import Origin, Shard
from distillation.target import KeyValueCache, TargetModel

NUM_TOP = 48  # recorded: about 95 % of the target's mass
NUM_SAMPLED_FROM = 40  # drawn from: a draw over the whole vocabulary would cost as much as the pass
USER_TEMPERATURE = 0.9
ANSWER_TEMPERATURES = (0.0, 0.0, 0.7, 1.0)
MAX_USER_TOKENS = (24, 48, 96, 144)
MAX_ANSWER_TOKENS = 200


@dataclass(frozen=True)
class Part:
    """A stretch of a row: given tokens, then sampled ones up to an end token or a limit."""

    given: Sequence[int]
    temperature: float
    max_num_tokens: int


@dataclass(frozen=True)
class ShardSpec:
    """What kind of rows a shard holds, and how long they are."""

    kind: Literal["chat", "text"]
    row_length: int


# Three quarters chats, a quarter of them long; every prefix of the cycle is a usable mix.
SHARD_CYCLE = (
    ShardSpec("chat", 256),
    ShardSpec("text", 256),
    ShardSpec("chat", 384),
    ShardSpec("chat", 256),
)


class RowWriter:
    """Plays the parts of one row, one token at a time."""

    def __init__(
        self, parts: Iterator[Part], end_token_id: int, stop_token_ids: frozenset[int]
    ) -> None:
        self._parts = parts
        self._end_token_id = end_token_id
        self._stop_token_ids = stop_token_ids
        self._begin_next_part()

    def next_token(self, sampled_token_id: int) -> tuple[int, Origin]:
        """Returns the row's next token, which is the sampled one unless the part has a say."""
        if self._given:
            return self._given.popleft(), Origin.GIVEN
        origin = Origin.SAMPLED if self.temperature else Origin.GREEDY
        if sampled_token_id in self._stop_token_ids:
            self._begin_next_part()
            return self._end_token_id, origin
        if self._num_left == 0:
            self._begin_next_part()
            return self._end_token_id, Origin.GIVEN
        self._num_left -= 1
        return sampled_token_id, origin

    def _begin_next_part(self) -> None:
        part = next(self._parts)
        self._given = deque(part.given)
        self._num_left = part.max_num_tokens
        self.temperature = part.temperature


class ScriptWriter:
    """Turns stems into the parts of chats and texts, as token ids."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        empty_chat = tokenizer.apply_chat_template(
            [{"role": "user", "content": ""}], tokenize=False
        )
        self.chat_prefix = self._encode(str(empty_chat).removesuffix("<|im_end|>\n"))
        (self.end_token_id,) = self._encode("<|im_end|>")
        self.stop_token_ids = frozenset(self._encode("<|im_end|><|im_start|><|endoftext|>"))

    def chat_parts(self, rng: Random) -> Iterator[Part]:
        """Alternates user turns and answers; the prefix's last token is the first one given."""
        opening = self.chat_prefix[-1:]
        while True:
            given = opening + self._encode(user_turn_stem(rng))
            yield Part(given, USER_TEMPERATURE, rng.choice(MAX_USER_TOKENS))
            given = self._encode("\n<|im_start|>assistant\n")
            yield Part(given, rng.choice(ANSWER_TEMPERATURES), MAX_ANSWER_TOKENS)
            opening = self._encode("\n<|im_start|>user\n")

    def text_parts(self, rng: Random) -> Iterator[Part]:
        """Strings plain texts together, each begun by an opening."""
        while True:
            given = self._encode(text_opening(rng))
            yield Part(given, rng.choice(ANSWER_TEMPERATURES), MAX_ANSWER_TOKENS)

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


def sample(
    top_logits: Tensor, top_token_ids: Tensor, temperatures: Tensor, generator: torch.Generator
) -> Tensor:
    """Draws one token id a row from its sorted top logits (R, K); temperature 0 takes the first."""
    exponentials = torch.empty_like(top_logits).exponential_(generator=generator)
    scores = top_logits / temperatures[:, None].clamp_min(1e-3) - exponentials.log()
    choices = torch.where(temperatures > 0, scores.argmax(-1), 0)
    return top_token_ids.gather(1, choices[:, None])[:, 0]


def write_rows(
    target: TargetModel,
    writers: Sequence[RowWriter],
    prefix_token_ids: Sequence[int],
    row_length: int,
    generator: torch.Generator,
) -> Shard:
    """Lets every writer fill one row of `row_length` tokens after a common prefix."""
    prefix_length = len(prefix_token_ids)
    shard = Shard.empty(len(writers), row_length, target.shape.hidden_size, NUM_TOP, prefix_length)
    cache = KeyValueCache(target.shape, len(writers), row_length)
    if prefix_length:
        _write_prefix(target, shard, cache, torch.tensor(prefix_token_ids))
    sampled = torch.zeros(len(writers), dtype=torch.long)
    for position in range(prefix_length, row_length):
        chosen = [
            writer.next_token(token_id) for writer, token_id in zip(writers, sampled.tolist())
        ]
        shard.token_ids[:, position], shard.origins[:, position] = torch.tensor(chosen).unbind(1)
        hidden = target.forward(shard.token_ids[:, position, None].long(), cache)
        top = _record(target, shard, slice(position, position + 1), hidden)
        temperatures = torch.tensor([writer.temperature for writer in writers])
        top_logits, top_token_ids = (values[:, 0, :NUM_SAMPLED_FROM] for values in top)
        sampled = sample(top_logits, top_token_ids, temperatures, generator)
    return shard


def _write_prefix(target: TargetModel, shard: Shard, cache: KeyValueCache, prefix: Tensor) -> None:
    shard.token_ids[:, : len(prefix)] = prefix
    hidden = target.forward(prefix[None], cache)
    cache.fill_all_rows_from_the_first()
    _record(target, shard, slice(0, len(prefix)), hidden)


def _record(
    target: TargetModel, shard: Shard, positions: slice, hidden: Tensor
) -> tuple[Tensor, Tensor]:
    logits = target.logits(hidden.flatten(0, 1))
    top_logits, top_token_ids = logits.topk(NUM_TOP)
    log_probs = top_logits - logits.logsumexp(-1, keepdim=True)
    shape = (*hidden.shape[:2], NUM_TOP)
    shard.features[:, positions] = hidden.half()
    shard.top_token_ids[:, positions] = top_token_ids.view(shape).int()
    shard.top_log_probs[:, positions] = log_probs.view(shape).half()
    return top_logits.view(shape), top_token_ids.view(shape)


def generate_shard(
    target: TargetModel, script: ScriptWriter, index: int, num_rows: int, seed: int
) -> Shard:
    """Writes shard `index`; the same seed and index give the same shard."""
    spec = SHARD_CYCLE[index % len(SHARD_CYCLE)]
    parts = script.chat_parts if spec.kind == "chat" else script.text_parts
    writers = [
        RowWriter(
            parts(Random(f"{seed}/{index}/{row}")), script.end_token_id, script.stop_token_ids
        )
        for row in range(num_rows)
    ]
    # The writers give the prefix's last token themselves: its logits begin the first user turn.
    prefix = script.chat_prefix[:-1] if spec.kind == "chat" else []
    generator = torch.Generator().manual_seed(seed * 1_000_003 + index)
    return write_rows(target, writers, prefix, spec.row_length, generator)


@torch.no_grad()
def generate(
    target_folder: Path, data_folder: Path, num_shards: int, num_rows: int, seed: int
) -> None:
    """Writes the shards that `data_folder` still lacks."""
    data_folder.mkdir(parents=True, exist_ok=True)
    target = TargetModel.load(target_folder, num_rows)
    script = ScriptWriter(AutoTokenizer.from_pretrained(target_folder))
    for index in range(num_shards):
        path = data_folder / f"shard_{index:04d}.safetensors"
        if path.exists():
            continue
        started = time.perf_counter()
        shard = generate_shard(target, script, index, num_rows, seed)
        shard.write(path)
        seconds = time.perf_counter() - started
        num_tokens = shard.token_ids.numel()
        print(f"{path.name}: {num_tokens} tokens, {num_tokens / seconds:.0f} tokens/s", flush=True)
