"""Numbers as a language writes them. Knows no meaning."""

from __future__ import annotations


def decimal(value: float | None, language: str, digits: int = 3) -> str:
    """A decimal number, with a comma in Italian; a dash where there is none."""
    return "–" if value is None else _localized(f"{value:.{digits}f}", language)


def percent(value: float, language: str) -> str:
    """A share in whole percent."""
    return _localized(f"{100 * value:.0f}", language) + " %"


def _localized(number: str, language: str) -> str:
    return number.replace(".", ",") if language == "it" else number
