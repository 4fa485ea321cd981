"""One run alone, as whoever asked for it sees it."""

from __future__ import annotations

from dataclasses import dataclass

from specdemo.trace import Environment, LaneSnapshot


@dataclass(frozen=True, slots=True)
class Answer:
    """One run at one moment, and what it is measured on."""

    lane: LaneSnapshot
    environment: Environment
