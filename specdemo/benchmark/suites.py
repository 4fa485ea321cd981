"""Sets of prompts: the tutorial's, Spec-Bench's, or a file of the user's own. Knows no model.

A text file holds one prompt a line; a JSONL file one object a line, with `prompt` and, if wanted,
`task` and `completion`. Whatever is wrong with a file is said with its name and its line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdemo.errors import InvalidSuiteError
from specdemo.settings import ASSETS_FOLDER, Limits

MAX_PROMPTS = 1000
# Beyond this a file holds no set of prompts that anybody would measure.
_MAX_FILE_BYTES = 64_000_000
_PROMPTS = ASSETS_FOLDER / "prompts"


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt of a suite; `origin` says where it stands."""

    prompt: str
    task: str
    is_chat: bool
    origin: str


@dataclass(frozen=True, slots=True)
class Suite:
    """Prompts that are measured together."""

    name: str
    cases: tuple[Case, ...]
    max_new_tokens: int


def tutorial() -> Suite:
    """The tutorial's five prompts, continued by 200 tokens each."""
    path = _PROMPTS / "tutorial.json"
    prompts = json.loads(path.read_text(encoding="utf-8"))
    cases = tuple(
        Case(prompt, "tutorial", False, f"prompt {index} of {path.name}")
        for index, prompt in enumerate(prompts, start=1)
    )
    return Suite("tutorial", cases, 200)


def spec_bench() -> Suite:
    """60 prompts over six tasks from Spec-Bench (Xia et al. 2024, arXiv 2401.07851)."""
    return Suite("spec-bench", read_file(_PROMPTS / "spec_bench_60.jsonl").cases, 128)


NAMED = {"tutorial": tutorial, "spec-bench": spec_bench}


def suite(name_or_path: str) -> Suite:
    """A named suite, or the one in a file; raises `InvalidSuiteError`."""
    return named(name_or_path) if name_or_path in NAMED else read_file(Path(name_or_path))


def named(name: str) -> Suite:
    """A suite by its name alone: whoever asks from afar may name no file."""
    if name not in NAMED:
        raise InvalidSuiteError(f"The suite {name!r} is unknown; choose {', '.join(NAMED)}.")
    return NAMED[name]()


def of_prompts(prompts: list[str], *, is_chat: bool) -> Suite:
    """A suite of prompts that came without a file."""
    if not 0 < len(prompts) <= MAX_PROMPTS:
        raise InvalidSuiteError(f"Give 1 to {MAX_PROMPTS:,} prompts; these are {len(prompts):,}.")
    origins = (f"prompt {number}" for number in range(1, len(prompts) + 1))
    cases = (
        Case(_checked(prompt, origin), "own", is_chat, origin)
        for prompt, origin in zip(prompts, origins)
    )
    return Suite("own prompts", tuple(cases), 128)


def read_file(path: Path) -> Suite:
    """The suite in a text or JSONL file; raises `InvalidSuiteError` with file and line."""
    lines = _lines(path)
    read = _json_case if path.suffix in (".jsonl", ".ndjson") else _text_case
    cases = tuple(
        read(line, f"line {number} of {path.name}") for number, line in enumerate(lines, start=1)
    )
    if not cases:
        raise InvalidSuiteError(f"{path.name} holds no prompt; write one on each line.")
    if len(cases) > MAX_PROMPTS:
        raise InvalidSuiteError(
            f"{path.name} holds {len(cases):,} prompts, {MAX_PROMPTS:,} are allowed; line "
            f"{MAX_PROMPTS + 1:,} is the first one too many."
        )
    return Suite(path.name, cases, 128)


def _lines(path: Path) -> list[str]:
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise InvalidSuiteError(
                f"{path} has {path.stat().st_size >> 20} MB, {_MAX_FILE_BYTES >> 20} are allowed; "
                "split it."
            )
        # Only real line ends count: a prompt may hold the others that `splitlines` knows.
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InvalidSuiteError(
            f"The suite {path} cannot be read ({error.strerror}); name {', '.join(NAMED)} or a "
            "text or JSONL file."
        ) from error
    except UnicodeDecodeError as error:
        line = path.read_bytes().count(b"\n", 0, error.start) + 1
        raise InvalidSuiteError(
            f"Line {line} of {path.name} is not UTF-8 text; save the file as UTF-8."
        ) from error
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


def _text_case(line: str, origin: str) -> Case:
    return Case(_checked(line, origin), "own", True, origin)


def _json_case(line: str, origin: str) -> Case:
    form = '{"prompt": "…"}'
    try:
        entry: Any = json.loads(line)
    except ValueError as error:
        raise InvalidSuiteError(
            f"{_capital(origin)} is not JSON ({error}); write {form} there."
        ) from error
    if not isinstance(entry, dict) or not isinstance(entry.get("prompt"), str):
        raise InvalidSuiteError(f"{_capital(origin)} has no text named prompt; write {form} there.")
    task, is_completion = entry.get("task", "own"), entry.get("completion", False)
    if not isinstance(task, str) or not isinstance(is_completion, bool):
        raise InvalidSuiteError(
            f"{_capital(origin)} needs a text as task and true or false as completion."
        )
    return Case(_checked(entry["prompt"], origin), task, not is_completion, origin)


def _checked(prompt: str, origin: str) -> str:
    limit = Limits().prompt_characters
    if not prompt.strip():
        raise InvalidSuiteError(
            f"{_capital(origin)} holds an empty prompt; write one there or remove the line."
        )
    if len(prompt) > limit:
        raise InvalidSuiteError(
            f"{_capital(origin)} holds a prompt of {len(prompt):,} characters, {limit:,} are "
            "allowed; shorten it."
        )
    return prompt


def _capital(origin: str) -> str:
    return origin[0].upper() + origin[1:]
