"""Every word on screen, in English and Italian, one row each.

Knows no component and no number. A word in braces is filled in by whoever draws the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from specdemo.ui.wording import (
    charts,
    classroom,
    definitions,
    learn,
    measuring,
    models,
    page,
    proof,
    servers,
    verdict,
    why,
)

LANGUAGES: Final[dict[str, str]] = {"en": "English", "it": "Italiano"}
DEFAULT_LANGUAGE: Final = "en"

_ROWS: Final = {
    **page.ROWS,
    **models.ROWS,
    **servers.ROWS,
    **verdict.ROWS,
    **charts.ROWS,
    **why.ROWS,
    **definitions.ROWS,
    **measuring.ROWS,
    **proof.ROWS,
    **learn.ROWS,
    **classroom.ROWS,
}


def words(language: str) -> Mapping[str, str]:
    """All words of a language; English for a language that is not spoken here."""
    column = 1 if language == "it" else 0
    return {key: row[column] for key, row in _ROWS.items()}


def language_of_visit(wanted: str, accept_language: str) -> str:
    """The language that a link asks for, else the one that the browser prefers."""
    return wanted if wanted in LANGUAGES else preferred_language(accept_language)


def preferred_language(accept_language: str) -> str:
    """The spoken language that an Accept-Language header ranks first."""
    ranked = sorted(map(_tag_and_weight, accept_language.split(",")), key=lambda tag: -tag[1])
    spoken = [tag for tag, weight in ranked if tag in LANGUAGES and weight > 0]
    return spoken[0] if spoken else DEFAULT_LANGUAGE


def _tag_and_weight(entry: str) -> tuple[str, float]:
    tag, _, weight = entry.partition(";q=")
    try:
        return tag.strip().lower()[:2], float(weight or 1)
    except ValueError:
        return tag.strip().lower()[:2], 0.0
