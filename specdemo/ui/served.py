"""What is to be said of an answer that a server gave. Knows no component and no language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from specdemo.trace import ServerReport, Snapshot
from specdemo.ui.wording import words


class Note(NamedTuple):
    """A sentence by the key of its words, and what fills it in."""

    word: str
    values: dict[str, str]


def served_notes(snapshot: Snapshot) -> list[Note]:
    """Whose clock it is, what is known of the drafts, the servers' own times; nothing of others."""
    if not snapshot.settings.is_served:
        return []
    return [Note("served_clock", {}), *_fates(snapshot.speculative.server), *_times(snapshot)]


def served_sentences(snapshot: Snapshot, language: str) -> list[str]:
    """The same as sentences."""
    spoken = words(language)
    return [spoken[note.word].format(**note.values) for note in served_notes(snapshot)]


def _fates(report: ServerReport | None) -> Iterator[Note]:
    if report is None:
        return
    yield Note(f"served_{report.fates.value}", {})
    if report.counters_agree is not None:
        yield Note(f"served_counters_{'agree' if report.counters_agree else 'differ'}", {})


def _times(snapshot: Snapshot) -> Iterator[Note]:
    for role, lane in (("normal", snapshot.normal), ("speculative", snapshot.speculative)):
        report = lane.server
        if report is not None and report.first_token_seconds is not None:
            seconds = {
                "queue": report.queue_seconds,
                "first": report.first_token_seconds,
                "rest": report.generation_seconds,
            }
            values = {k: "–" if v is None else f"{v:.3f}" for k, v in seconds.items()}
            yield Note(f"served_{role}_times", values)
