"""Which component shows which word, so that one switch can change the page's language.

Knows no event and no run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import gradio as gr

from specdemo.ui.wording import DEFAULT_LANGUAGE, words

_Component = TypeVar("_Component", bound=gr.blocks.Block)
Choices = Mapping[str, str]  # value: key of its word


class Labels:
    """Components and the keys of their words, in the order in which they were added."""

    def __init__(self) -> None:
        self._entries: list[tuple[gr.blocks.Block, dict[str, str | Choices]]] = []

    def make(
        self, kind: type[_Component], keys: Mapping[str, str | Choices], **options: Any
    ) -> _Component:
        """A new component whose properties named in `keys` hold the words of those keys."""
        component = kind(**_spoken(keys, words(DEFAULT_LANGUAGE)), **options)
        self._entries.append((component, dict(keys)))
        return component

    def adopt(self, view: gr.HTML) -> gr.HTML:
        """Have a view's own words replaced too."""
        self._entries.append((view, {}))
        return view

    @property
    def components(self) -> list[gr.blocks.Block]:
        """The components, in the order of `updates`."""
        return [component for component, _ in self._entries]

    def updates(self, language: str, values: Mapping[gr.blocks.Block, str]) -> list[dict[str, Any]]:
        """What to change for a language, along with new values for some components."""
        spoken, changes = words(language), []
        for component, keys in self._entries:
            properties = _spoken(keys, spoken) if keys else _view_words(language)
            if component in values:
                properties["value"] = values[component]
            changes.append(gr.update(**properties))
        return changes


def choices_of(choices: Choices, spoken: Mapping[str, str]) -> list[tuple[str, str]]:
    """Choices as Gradio wants them: what is shown, what it means; a name is its own word."""
    return [(spoken.get(key, key), value) for value, key in choices.items()]


def _view_words(language: str) -> dict[str, Any]:
    return {"words": dict(words(language)), "language": language}


def _spoken(keys: Mapping[str, str | Choices], spoken: Mapping[str, str]) -> dict[str, Any]:
    return {
        name: spoken[key] if isinstance(key, str) else choices_of(key, spoken)
        for name, key in keys.items()
    }
