"""Which snapshots are worth drawing, and how long one may go on. Knows no screen.

Time is an argument, or the clock that tells it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from threading import Event
from typing import TypeVar

from specdemo.trace import Snapshot

_T = TypeVar("_T")

UPDATES_PER_SECOND = 15.0
MAX_SHARE = 0.04
_BURST = 2.0
_PATIENCE_SECONDS = 0.2


class Pacer:
    """Lets through at most `UPDATES_PER_SECOND` snapshots, never sleeping.

    A small burst is allowed, and half-built drafts are skipped unless nothing was drawn for a
    while. With a plain minimum interval the drawing falls into step with the target's passes,
    and a viewer would see every verdict but never the draft that it judges.
    """

    def __init__(self, num_draft_tokens: int) -> None:
        self._num_draft_tokens = num_draft_tokens
        self._allowance = _BURST
        self._asked_at: float | None = None
        self._drawn_at = float("-inf")

    def is_due(self, snapshot: Snapshot, now: float) -> bool:
        """Whether to draw this snapshot."""
        self._refill(now)
        if not self._is_worth_it(snapshot, now):
            return False
        self._allowance -= 1.0
        self._drawn_at = now
        return True

    def _refill(self, now: float) -> None:
        elapsed = 0.0 if self._asked_at is None else now - self._asked_at
        self._asked_at = now
        self._allowance = min(_BURST, self._allowance + elapsed * UPDATES_PER_SECOND)

    def _is_worth_it(self, snapshot: Snapshot, now: float) -> bool:
        if self._allowance < 1.0:
            return False
        num_pending = len(snapshot.speculative.trace.pending)
        is_half_built = 0 < num_pending < self._num_draft_tokens
        return not is_half_built or now - self._drawn_at >= _PATIENCE_SECONDS


class Ticker:
    """True at most once per interval, and more seldom where the work takes long."""

    def __init__(self, interval_seconds: float) -> None:
        self._interval_seconds = interval_seconds
        self._due_at = float("-inf")

    def is_due(self, now: float) -> bool:
        """Whether it is time for the work again."""
        return now >= self._due_at

    def done(self, started: float, finished: float) -> None:
        """Note what the work took: the next may not take more than `MAX_SHARE` of the time."""
        pause = max(self._interval_seconds, (finished - started) / MAX_SHARE)
        self._due_at = started + pause


def within(
    seconds: float | None,
    states: Iterator[_T],
    stop: Event,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[_T]:
    """The states of something that is told to stop when it has taken that long."""
    started = clock()
    with closing(states):  # type: ignore[type-var]
        for state in states:
            if seconds is not None and clock() - started > seconds:
                stop.set()
            yield state
