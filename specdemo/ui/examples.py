"""Prompts by application, read from `assets/prompts/examples.json`. Knows no component."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from specdemo.settings import ASSETS_FOLDER


@dataclass(frozen=True, slots=True)
class Application:
    """A use of language models, with prompts that show it."""

    key: str
    is_chat: bool
    prompts: tuple[str, ...]

    def prompt_after(self, prompt: str) -> str:
        """The prompt that follows; the first one after a foreign text or the last."""
        known = self.prompts
        return known[(known.index(prompt) + 1) % len(known)] if prompt in known else known[0]


@cache
def applications() -> tuple[Application, ...]:
    """All applications, in the order in which the page offers them."""
    text = (ASSETS_FOLDER / "prompts" / "examples.json").read_text(encoding="utf-8")
    return tuple(
        Application(key, entry["is_chat"], tuple(entry["prompts"]))
        for key, entry in json.loads(text).items()
    )
