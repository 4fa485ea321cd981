"""What happens when something is pressed: values in, values out.

Knows no component, no HTML and no formula.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from threading import Event
from types import MappingProxyType
from typing import Protocol

from specdemo import benchmark, metrics, proof, scoring
from specdemo.errors import SpecdemoError
from specdemo.session import ChatTurn, DecodeRequest
from specdemo.settings import Limits
from specdemo.trace import Snapshot
from specdemo.trace_file import TraceFile
from specdemo.ui.form import DEFAULTS, Form, request_from
from specdemo.ui.live_chart import charts_value, live_value
from specdemo.ui.pace import Pace
from specdemo.ui.pacing import Pacer, Ticker
from specdemo.ui.precision_change import compared, precision_run, precisions_value
from specdemo.ui.recordings import Recordings, opened, to_save
from specdemo.ui.run_log import logged
from specdemo.ui.token_stream import StreamLines
from specdemo.ui.updates import (
    ListedRun,
    Update,
    broken_off,
    drawn_to_its_end,
    finished_update,
    measuring_status,
    opening_of,
    said,
    shown_recording,
    status,
)
from specdemo.ui.verdict import TokenPlace, verdict_value
from specdemo.ui.visitors import Visitor, Visitors, paced

_LOGGER = logging.getLogger(__name__)
_TOTALS_SECONDS = 0.25
_CHARTS_SECONDS = 0.6
_PAUSED = status("info", "status_paused")


class Session(benchmark.Session, scoring.Session, proof.Session, Protocol):
    """What the page needs of a session: loading, racing, measuring, scoring and proving."""

    @property
    def busy_with(self) -> str | None:
        """The title of the pair that somebody loads or runs now."""

    @property
    def can_pause(self) -> bool:
        """Whether a run waits where its reader does."""


class Handlers:
    """One session, many visitors."""

    def __init__(
        self,
        session: Session,
        recordings: Recordings = MappingProxyType({}),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._recordings = recordings
        self._clock = clock
        self.visitors = Visitors()

    def load(
        self,
        precision: str,
        pair: str = DEFAULTS.pair,
        quantize: str = DEFAULTS.quantize,
        double_quantization: bool = DEFAULTS.double_quantization,
        *,
        session_hash: str | None = None,
    ) -> Iterator[str]:
        """Status values while the models load; Stop ends it between two of them."""
        yield status("busy", "status_loading")
        visitor = self.visitors.enter(session_hash)
        visitor.stop = Event()
        names = (pair, precision, DEFAULTS.device, quantize, double_quantization)
        try:
            with closing(self._session.load(*names)) as stages:  # type: ignore[type-var]
                for sentence in stages:
                    yield said("busy", sentence)
                    if visitor.stop.is_set():
                        yield status("done", "status_load_stopped")
                        return
            yield status("info", "status_ready")
        except SpecdemoError as error:
            yield said("error", str(error))
        except Exception:
            _LOGGER.exception("loading failed")
            yield status("error", "status_unexpected")

    def waiting(self) -> str | None:
        """Which pair the device is busy with; nothing if it is free."""
        pair = self._session.busy_with
        return status("busy", "status_waiting_for", {"pair": pair}) if pair else None

    def race(
        self,
        session_hash: str | None,
        form: Form,
        language: str,
        runs: tuple[ListedRun, ...],
        conversation: tuple[ChatTurn, ...] = (),
        pace: Pace | None = None,
    ) -> Iterator[Update]:
        """Updates until both lanes have ended, or one sentence that says why they could not."""
        if form.has_gaps:
            yield Update(status=status("error", "number_missing"), is_running=False)
            return
        visitor = self.visitors.enter(session_hash)
        visitor.stop, visitor.pace = Event(), pace or Pace()
        visitor.is_running = True
        lines: StreamLines | None = None
        try:
            request = request_from(form, conversation)
            visitor.last_request = request
            lines = StreamLines(opening_of(request))
            running = status("busy", "status_running")
            yield Update(stream=lines.value, status=running, is_running=True)
            with logged(request, visitor):
                yield from self._loading(visitor, request)
                yield Update(status=running)
                yield from self._updates(visitor, request, lines, language, runs)
        except SpecdemoError as error:
            yield broken_off(lines, said("error", str(error)))
        except Exception:
            _LOGGER.exception("a run failed")
            yield broken_off(lines, status("error", "status_unexpected"))
        finally:
            visitor.is_running = False

    def again(
        self,
        session_hash: str | None,
        form: Form,
        language: str,
        runs: tuple[ListedRun, ...],
    ) -> Iterator[Update]:
        """The form once more; after a follow-up, that turn of the conversation once more."""
        last = self.visitors.enter(session_hash).last_request
        if last is None or not last.history:
            return self.race(session_hash, form, language, runs)
        form = form._replace(prompt=last.prompt)
        return self.race(session_hash, form, language, runs, last.history)

    def stop(self, session_hash: str | None) -> str:
        """Ask this visitor's run to end after the present pass."""
        visitor = self.visitors.enter(session_hash)
        visitor.stop.set()
        visitor.pace.free()
        return status("busy", "status_stopping")

    def step(self, session_hash: str | None) -> bool:
        """One more pass of this visitor's run, then a pause; false if there is no run to step."""
        visitor = self.visitors.enter(session_hash)
        if visitor.is_running and self._session.can_pause:
            visitor.pace.step()
        return visitor.is_running

    def step_race(
        self,
        session_hash: str | None,
        form: Form,
        language: str,
        runs: tuple[ListedRun, ...],
    ) -> Iterator[Update]:
        """A race that pauses after each pass."""
        if not self._session.can_pause:
            return iter((Update(status=status("error", "status_no_pause"), is_running=False),))
        pace = Pace()
        pace.step()
        return self.race(session_hash, form, language, runs, pace=pace)

    def toggle_pause(self, session_hash: str | None) -> str | None:
        """Pause this visitor's run, or let it go on; nothing without a run."""
        visitor = self.visitors.enter(session_hash)
        if not visitor.is_running:
            return None
        if not self._session.can_pause:
            return status("busy", "status_no_pause")
        return _PAUSED if visitor.pace.toggle() else status("busy", "status_running")

    def charts(self, session_hash: str | None, language: str) -> str:
        """The charts of this visitor's last run, in another language."""
        return charts_value(self.visitors.enter(session_hash).last_snapshot, language)

    def recording(self, session_hash: str | None, name: str, language: str) -> Update:
        """A bundled recorded run, whole."""
        reader = self._recordings.get(name)
        if reader is None:
            return Update(status=status("error", "recording_unknown"))
        return self._shown(session_hash, reader, language, name)

    def open_recording(self, session_hash: str | None, encoded: str, language: str) -> Update:
        """A recorded run that the visitor opened, whole, or a sentence that says what is wrong."""
        return self._shown(session_hash, lambda: opened(encoded), language)

    def save_recording(self, session_hash: str | None) -> str:
        """The run on screen as a file; empty before there is one."""
        snapshot = self.visitors.enter(session_hash).last_snapshot
        return to_save(snapshot) if snapshot else ""

    def _shown(
        self,
        session_hash: str | None,
        read: Callable[[], TraceFile],
        language: str,
        name: str = "",
    ) -> Update:
        visitor = self.visitors.enter(session_hash)
        if visitor.is_running:
            return Update(status=status("error", "recording_while_running"))
        try:
            trace_file = read()
        except SpecdemoError as error:
            return Update(status=said("error", str(error)))
        visitor.last_snapshot = trace_file.snapshot
        return shown_recording(trace_file, language, name)

    def verdict(self, session_hash: str | None, place: TokenPlace | None, language: str) -> str:
        """How a token of this visitor's run was judged."""
        return verdict_value(self.visitors.enter(session_hash).last_snapshot, place, language)

    def _loading(self, visitor: Visitor, request: DecodeRequest) -> Iterator[Update]:
        """What takes time if the pair is not loaded yet; the run itself would not tell."""
        names = (request.pair, request.precision, request.device)
        rounding = (request.quantize, request.double_quantization)
        with closing(self._session.load(*names, *rounding)) as stages:  # type: ignore[type-var]
            for sentence in stages:
                yield Update(status=said("busy", sentence))
                if visitor.stop.is_set():
                    return

    def _updates(
        self,
        visitor: Visitor,
        request: DecodeRequest,
        lines: StreamLines,
        language: str,
        runs: tuple[ListedRun, ...],
    ) -> Iterator[Update]:
        # Only of a fixed length is it known when a draft is complete.
        is_fixed = request.draft_length == "fixed"
        pacer = Pacer(request.num_draft_tokens if is_fixed else 1)
        totals_ticker, charts_ticker = Ticker(_TOTALS_SECONDS), Ticker(_CHARTS_SECONDS)
        snapshot: Snapshot | None = None
        started = self._clock()
        with closing(self._session.run(request, visitor.stop)) as run:  # type: ignore[type-var]
            for snapshot in drawn_to_its_end(paced(run, visitor), visitor, lines):
                now = self._clock()
                if now - started > Limits().run_seconds:
                    visitor.stop.set()  # others wait for the device
                is_awaited = snapshot.is_finished or visitor.pace.is_paused
                if not is_awaited and not pacer.is_due(snapshot, now):
                    continue
                lines.add_tokens(snapshot)
                visitor.last_snapshot = snapshot
                charts = None
                if totals_ticker.is_due(now) or snapshot.is_finished:
                    lines.add_totals(snapshot)
                    totals_ticker.done(now, self._clock())
                elif charts_ticker.is_due(now):
                    charts = live_value(snapshot, language)
                    charts_ticker.done(now, self._clock())
                paused = _PAUSED if visitor.pace.is_paused else None
                yield Update(
                    stream=lines.value,
                    charts=charts,
                    status=measuring_status(request, snapshot) or paused,
                )
        if snapshot is None:  # stopped before the device was free
            yield Update(status=status("done", "status_stopped"), is_running=False)
        else:
            visitor.last_snapshot = snapshot
            lines.add_tokens(snapshot)
            if metrics.compare(snapshot).first_difference is not None:
                yield Update(status=status("busy", "difference_recomputing"))
            lines.add_totals(
                snapshot, proof.explain(self._session, request, snapshot, visitor.stop)
            )
            this_run = precision_run(request.prompt, snapshot)
            pairs = compared(visitor.precision_runs, this_run)
            others = (r for r in visitor.precision_runs if r.precision != this_run.precision)
            visitor.precision_runs = (*others, this_run)
            finished = finished_update(request, snapshot, lines, language, runs)
            yield replace(finished, precisions=precisions_value(pairs))
