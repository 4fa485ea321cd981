"""Whose turn it is: a visitor has one run at a time, waiting or going on.

Reads Gradio's queue and keeps nothing else. Knows no run and no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import gradio as gr

DEVICE = "device"  # concurrency_id of every handler that uses the device
LOADING = "load"  # the one of them that every visit begins with: it is no run
# Joins at every press of Step; only one that finds no run of the visitor's starts one.
STEPPING = "step_race"


class Turns:
    """Asked before a message joins the page's queue."""

    def __init__(self, page: gr.Blocks) -> None:
        self._page = page
        self._joining: set[str] = set()

    @contextmanager
    def taken(self, handler: Any, session_hash: str | None) -> Iterator[bool]:
        """Whether the message may join, which it does meanwhile; a second run may not."""
        if session_hash is None or not is_run(handler) or handler.name == STEPPING:
            yield True
        elif session_hash in self._joining or self.has_run(session_hash):
            yield False
        else:
            self._joining.add(session_hash)
            try:
                yield True
            finally:
                self._joining.discard(session_hash)

    def has_run(self, session_hash: str) -> bool:
        """Whether a run of this visitor waits or goes on."""
        queue = self._page._queue
        waiting = (events.queue for events in queue.event_queue_per_concurrency_id.values())
        running = (events for events in queue.active_jobs if events)
        return any(
            event.session_hash == session_hash and event.alive and is_run(event.fn)
            for event in chain.from_iterable([*waiting, *running])
        )

    def refusal(self, session_hash: str | None) -> str:
        """The key of the words for why a run did not start."""
        queue = self._page._queue
        if session_hash and self.has_run(session_hash):
            return "status_one_run"
        is_full = queue.max_size is not None and len(queue) >= queue.max_size
        return "status_queue_full" if is_full else "status_refused"


def is_run(handler: Any) -> bool:
    """Whether a handler is a run on the device."""
    return bool(handler and handler.concurrency_id == DEVICE and handler.name != LOADING)
