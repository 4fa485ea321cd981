"""One entry per visitor, from the first click to the closed tab.

The only mutable state that the page keeps for the whole process. Knows no component.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event, Lock

from specdemo.benchmark import Results
from specdemo.proof import Proof
from specdemo.scoring import DraftAndScore
from specdemo.session import DecodeRequest
from specdemo.trace import Snapshot
from specdemo.ui.pace import Pace
from specdemo.ui.precision_change import PrecisionRun

# Whoever talks to the server without a page never says goodbye.
MAX_VISITORS = 256


@dataclass(slots=True)
class Visitor:
    """What the page remembers of one visitor."""

    stop: Event = field(default_factory=Event)
    pace: Pace = field(default_factory=Pace)
    is_running: bool = False
    last_request: DecodeRequest | None = None
    last_snapshot: Snapshot | None = None
    # The latest run in each precision, oldest first.
    precision_runs: tuple[PrecisionRun, ...] = ()
    results: Results | None = None
    score: DraftAndScore | None = None
    proof: Proof | None = None


class Visitors:
    """Visitors by Gradio's session hash."""

    def __init__(self) -> None:
        self._by_session: dict[str, Visitor] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._by_session)

    def enter(self, session_hash: str | None) -> Visitor:
        """The visitor of a session, met now or before; of too many the idlest is forgotten."""
        with self._lock:
            visitor = self._by_session.pop(session_hash or "", None) or Visitor()
            idle = (name for name, known in self._by_session.items() if not known.is_running)
            if len(self._by_session) >= MAX_VISITORS:
                self._by_session.pop(next(idle))
            self._by_session[session_hash or ""] = visitor
            return visitor

    def leave(self, session_hash: str | None) -> None:
        """Stop and forget the visitor."""
        with self._lock:
            visitor = self._by_session.pop(session_hash or "", None)
        if visitor is not None:
            visitor.stop.set()
            visitor.pace.free()


def paced(run: Iterator[Snapshot], visitor: Visitor) -> Iterator[Snapshot]:
    """The run's snapshots, each asked for when the visitor's pace allows.

    A pause that outlasts its patience stops the run, so that others get the device.
    """
    while True:
        if not visitor.pace.wait():
            visitor.stop.set()
        snapshot = next(run, None)
        if snapshot is None:
            return
        yield snapshot
