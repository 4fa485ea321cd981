"""What most often followed a few tokens in texts that the target wrote, as sorted tables.

A table for each context length: keys (the tokens of the context in base V), the token that followed
most, and its share, counts + 1 below so that rare contexts promise little. Entries that a shorter
context says as surely are left out.
"""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from distillation.files import written_whole
from distillation.overlap import PromptIndex, read_prompts
from distillation.shards import Shard, shard_paths

MAX_CONTEXT = 4
MIN_COUNT = 2
MIN_SHARE = 0.3

Table = dict[tuple[int, ...], tuple[int, float]]


def read_texts(paths: Iterable[Path]) -> Iterator[Sequence[int]]:
    """Token ids of every text in gzipped JSON lines and in folders of shards."""
    for path in paths:
        if path.is_dir():
            for shard_path in shard_paths(path):
                yield from Shard.read(shard_path).token_ids.tolist()
        else:
            with gzip.open(path, "rt") as lines:
                for line in lines:
                    yield json.loads(line)["token_ids"]


def count(texts: Iterable[Sequence[int]]) -> list[dict[tuple[int, ...], Counter[int]]]:
    """How often each token followed each context, a table for each context length."""
    counts: list[dict[tuple[int, ...], Counter[int]]] = [
        defaultdict(Counter) for _ in range(MAX_CONTEXT)
    ]
    for text in texts:
        for end in range(1, len(text)):
            for size in range(1, min(MAX_CONTEXT, end) + 1):
                counts[size - 1][tuple(text[end - size : end])][text[end]] += 1
    return counts


def tabulate(counts: Sequence[dict[tuple[int, ...], Counter[int]]]) -> list[Table]:
    """The likeliest continuation of each context that is worth a place."""
    tables: list[Table] = []
    for contexts in counts:
        table: Table = {}
        for context, followers in contexts.items():
            token_id, times = followers.most_common(1)[0]
            total = followers.total()
            share = times / (total + 1)
            if total < MIN_COUNT or share < MIN_SHARE:
                continue
            shorter = longest_known(tables, context[1:])
            if shorter and shorter[0] == token_id and shorter[1] >= share:
                continue
            table[context] = (token_id, share)
        tables.append(table)
    return tables


def longest_known(tables: Sequence[Table], context: tuple[int, ...]) -> tuple[int, float] | None:
    """What the longest known end of a context says."""
    for size in range(len(context), 0, -1):
        if found := tables[size - 1].get(context[-size:]):
            return found
    return None


def as_tensors(tables: Sequence[Table], vocabulary_size: int) -> dict[str, Tensor]:
    """Each table as sorted keys, tokens, and shares in 255ths."""
    tensors = {}
    for size, table in enumerate(tables, start=1):
        keyed = {}
        for context, found in table.items():
            key = 0
            for token_id in context:
                key = key * vocabulary_size + token_id
            keyed[key] = found
        keys = sorted(keyed)
        tensors[f"keys_{size}"] = torch.tensor(keys, dtype=torch.int64)
        tensors[f"token_ids_{size}"] = torch.tensor([keyed[k][0] for k in keys], dtype=torch.int32)
        shares = [round(255 * keyed[k][1]) for k in keys]
        tensors[f"shares_{size}"] = torch.tensor(shares, dtype=torch.uint8)
    return tensors


def without_prompts(
    texts: Iterable[Sequence[int]], tokenizer: PreTrainedTokenizerBase, prompts: Sequence[str]
) -> Iterator[Sequence[int]]:
    """The texts that share no run of words with a prompt that something is measured on."""
    index = PromptIndex(prompts)
    dropped = 0
    for text in texts:
        if index.shared(tokenizer.decode(text)):
            dropped += 1
        else:
            yield text
    print(f"{dropped} texts dropped: they share words with a prompt", flush=True)


def write_continuations(
    texts: Iterable[Path], target: Path, prompts: Iterable[Path], output: Path
) -> None:
    """Counts the texts, but for those that share words with a prompt, and writes the table."""
    tokenizer = AutoTokenizer.from_pretrained(target)
    vocabulary_size = json.loads((target / "config.json").read_text())["vocab_size"]
    kept = without_prompts(read_texts(texts), tokenizer, read_prompts(prompts))
    tables = tabulate(count(kept))
    with written_whole(output / "continuations.safetensors") as unfinished:
        save_file(
            as_tensors(tables, vocabulary_size),
            unfinished,
            metadata={"vocabulary_size": str(vocabulary_size)},
        )
    print([len(table) for table in tables], flush=True)
