"""What the words promise."""

from __future__ import annotations

import re

import pytest

from specdemo.palette import STATE_STYLES
from specdemo.settings import ASSETS_FOLDER
from specdemo.ui.examples import applications
from specdemo.ui.wording import LANGUAGES, preferred_language, words


def test_every_word_exists_in_every_language() -> None:
    english, *others = (words(language) for language in LANGUAGES)
    for other in others:
        assert english.keys() == other.keys()
        assert all(text.strip() for text in other.values())


def test_both_languages_have_the_same_gaps_to_fill() -> None:
    english, italian = words("en"), words("it")
    for key in english:
        assert _gaps(english[key]) == _gaps(italian[key]), key


def test_no_word_is_markup() -> None:
    for language in LANGUAGES:
        assert not [text for text in words(language).values() if "<" in text or "${" in text]


def test_every_word_that_a_script_names_exists() -> None:
    named = {
        key
        for script in (ASSETS_FOLDER / "js").glob("*.js")
        for key in re.findall(r'(?:word|fill)\("(\w+)"', script.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= words("en").keys()


def test_every_token_state_and_every_example_has_a_name() -> None:
    known = words("en").keys()
    assert {f"state_{state}" for state in STATE_STYLES} <= known
    assert {f"example_{application.key}" for application in applications()} <= known


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("it-IT,it;q=0.9,en;q=0.8", "it"),
        ("en-GB,it;q=0.5", "en"),
        ("de,it;q=0.7,en;q=0.3", "it"),
        ("de-DE", "en"),
        ("it;q=0, en", "en"),
        ("", "en"),
        (";;;q=x,,", "en"),
    ],
)
def test_the_page_follows_the_browsers_language(header: str, language: str) -> None:
    assert preferred_language(header) == language


def _gaps(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))
