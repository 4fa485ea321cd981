"""Looks for evaluation prompts in the training texts, by the word sequences they share."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transformers import AutoTokenizer

from distillation.shards import Shard, shard_paths

NUM_WORDS = 8
WORD = re.compile(r"\w+")
PROMPT_FIELDS = ("prompt", "text", "question")


@dataclass(frozen=True)
class Overlap:
    """How many training rows share a word sequence with how many prompts."""

    num_rows: int
    num_prompts: int
    num_shared_rows: int
    num_shared_prompts: int
    examples: tuple[str, ...]


def read_prompts(paths: Iterable[Path]) -> list[str]:
    """Reads every prompt of JSON or JSON-lines files: bare strings, or a field of objects."""
    prompts: list[str] = []
    for path in paths:
        text = path.read_text()
        documents = (
            map(json.loads, text.splitlines()) if path.suffix == ".jsonl" else [json.loads(text)]
        )
        prompts += [prompt for document in documents for prompt in _strings(document)]
    return prompts


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            named = [value[field] for field in PROMPT_FIELDS if field in value]
            for item in named or value.values():
                yield from _strings(item)


def word_sequences(text: str, num_words: int) -> set[tuple[str, ...]]:
    """Returns all runs of `num_words` words; punctuation and case are ignored."""
    words = WORD.findall(text.lower())
    return {tuple(words[i : i + num_words]) for i in range(len(words) - num_words + 1)}


class PromptIndex:
    """Prompts by their runs of `NUM_WORDS` words; a shorter prompt counts as a whole."""

    def __init__(self, prompts: Sequence[str]) -> None:
        self.prompts_by_sequence: dict[tuple[str, ...], set[int]] = {}
        for index, prompt in enumerate(prompts):
            num_words = min(NUM_WORDS, len(WORD.findall(prompt)))
            for sequence in word_sequences(prompt, num_words):
                self.prompts_by_sequence.setdefault(sequence, set()).add(index)
        self._lengths = {len(sequence) for sequence in self.prompts_by_sequence if sequence}

    def shared(self, text: str) -> set[tuple[str, ...]]:
        """The word sequences of a text that some prompt has too."""
        return {
            sequence
            for length in self._lengths
            for sequence in word_sequences(text, length)
            if sequence in self.prompts_by_sequence
        }


def find_overlap(texts: Sequence[str], prompts: Sequence[str]) -> Overlap:
    """Compares all texts with all prompts."""
    index = PromptIndex(prompts)
    prompts_by_sequence = index.prompts_by_sequence
    shared_rows, shared_prompts, examples = 0, set(), set()
    for text in texts:
        shared = index.shared(text)
        shared_rows += bool(shared)
        shared_prompts |= {index for sequence in shared for index in prompts_by_sequence[sequence]}
        examples |= {" ".join(sequence) for sequence in shared}
    return Overlap(
        len(texts), len(prompts), shared_rows, len(shared_prompts), tuple(sorted(examples)[:5])
    )


def data_overlap(target_folder: Path, data_folder: Path, prompt_paths: Sequence[Path]) -> Overlap:
    """Compares all rows of a data folder with the prompts of files."""
    tokenizer = AutoTokenizer.from_pretrained(target_folder)
    texts: list[str] = []
    for path in shard_paths(data_folder):
        shard = Shard.read(path)
        texts += tokenizer.batch_decode(shard.token_ids[:, shard.prefix_length :].tolist())
    return find_overlap(texts, read_prompts(prompt_paths))
