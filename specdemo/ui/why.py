"""Findings to sentences. Knows no formula: the numbers come from `metrics`."""

from __future__ import annotations

from specdemo.metrics import Finding, diagnose
from specdemo.trace import Snapshot
from specdemo.ui.numerals import decimal, percent
from specdemo.ui.wording import words

_SHARES = ("share",)
_COUNTS = ("length", "tokens")


def why_sentences(snapshot: Snapshot | None, language: str) -> list[str]:
    """Why the race came out as it did; nothing before it has ended."""
    if snapshot is None or not snapshot.is_finished:
        return []
    return [spoken(finding, language) for finding in diagnose(snapshot).findings]


def spoken(finding: Finding, language: str) -> str:
    """One finding in words."""
    numbers = {name: _number(name, value, language) for name, value in finding.values.items()}
    return words(language)[finding.key].format(**numbers)


def _number(name: str, value: float, language: str) -> str:
    if name in _SHARES:
        return percent(value, language)
    return f"{value:.0f}" if name in _COUNTS else decimal(value, language, 2)
