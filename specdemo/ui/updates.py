"""What changes on the page, as values. Knows no component, no visitor and no session."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from secrets import token_hex

from specdemo import metrics
from specdemo.errors import SpecdemoError
from specdemo.events import FinishReason
from specdemo.session import ChatTurn, DecodeRequest
from specdemo.trace import Snapshot
from specdemo.trace_file import TraceFile
from specdemo.ui.form import DEFAULTS
from specdemo.ui.json_view import encode
from specdemo.ui.live_chart import charts_value
from specdemo.ui.token_stream import Opening, StreamLines, environment_value
from specdemo.ui.visitors import Visitor

_RUN_PROMPT_CHARACTERS = 60
_MAX_LISTED_RUNS = 50


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One line in the list of this visit's runs."""

    time: float
    prompt: str
    source: str
    normal: float | None
    speculative: float | None
    speedup: float | None


@dataclass(frozen=True, slots=True)
class Update:
    """What changed on the page; `None` leaves a part as it is."""

    stream: str | None = None
    charts: str | None = None
    environment: str | None = None
    status: str | None = None
    is_running: bool | None = None
    chosen_precision: str | None = None
    conversation: tuple[ChatTurn, ...] | None = None
    runs: tuple[ListedRun, ...] | None = None
    precisions: str | None = None


def opening_of(request: DecodeRequest) -> Opening:
    """What the lanes show before the first token."""
    turns = tuple((turn.role, turn.text) for turn in request.history)
    return Opening(token_hex(4), request.prompt, request.is_chat, turns)


def shown_recording(trace_file: TraceFile, language: str, name: str = "") -> Update:
    """A recorded run as it stands when it is over, with where and when it was made."""
    snapshot = trace_file.snapshot
    settings = snapshot.settings
    turns = tuple((turn.role, turn.text) for turn in settings.history)
    opening = Opening(token_hex(4), settings.prompt, settings.is_chat, turns, name)
    lines = StreamLines(opening)
    lines.add_tokens(snapshot)
    lines.add_totals(snapshot)
    made = {"processor": snapshot.environment.processor, "date": trace_file.recorded_at[:10]}
    return Update(
        stream=lines.value,
        charts=charts_value(snapshot, language),
        environment=environment_value(snapshot),
        status=status("info", "recording_shown", made),
        conversation=(),
    )


def finished_update(
    request: DecodeRequest,
    snapshot: Snapshot,
    lines: StreamLines,
    language: str,
    runs: tuple[ListedRun, ...],
) -> Update:
    """Everything that a finished run leaves on the page."""
    answer = snapshot.speculative.text
    turns = (*request.history, ChatTurn("user", request.prompt), ChatTurn("assistant", answer))
    return Update(
        stream=lines.value,
        charts=charts_value(snapshot, language),
        environment=environment_value(snapshot),
        status=_closing_status(snapshot),
        is_running=False,
        chosen_precision=(
            snapshot.environment.precision
            if request.precision == "auto" and not request.is_served
            else None
        ),
        conversation=turns if request.is_chat and answer else (),
        runs=(_listed(request, snapshot), *runs)[:_MAX_LISTED_RUNS],
    )


def measuring_status(request: DecodeRequest, snapshot: Snapshot) -> str | None:
    """After a race in a chosen precision, normal decoding may still run in the fastest one."""
    may_go_on = snapshot.is_finished and request.precision != DEFAULTS.precision
    return status("busy", "status_measuring") if may_go_on else None


def _closing_status(snapshot: Snapshot) -> str:
    reasons = {lane.trace.finish_reason for lane in (snapshot.normal, snapshot.speculative)}
    if FinishReason.STOPPED in reasons:
        return status("done", "status_stopped")
    speedup = metrics.compare(snapshot).speedup
    if speedup is None:
        return status("done", "status_finished")
    key = "status_finished_faster" if speedup >= 1 else "status_finished_slower"
    return status("done", key, {"speedup": speedup})


def _listed(request: DecodeRequest, snapshot: Snapshot) -> ListedRun:
    comparison = metrics.compare(snapshot)
    return ListedRun(
        time=time.time(),
        prompt=request.prompt[:_RUN_PROMPT_CHARACTERS],
        source=request.draft_source,
        normal=metrics.run_metrics(snapshot.normal.trace).tokens_per_second,
        speculative=metrics.run_metrics(snapshot.speculative.trace).tokens_per_second,
        speedup=comparison.speedup,
    )


def drawn_to_its_end(
    snapshots: Iterator[Snapshot], visitor: Visitor, lines: StreamLines
) -> Iterator[Snapshot]:
    """The snapshots of a run; should it break off, all that had arrived is drawn and kept first."""
    snapshot: Snapshot | None = None
    try:
        for snapshot in snapshots:
            yield snapshot
    except SpecdemoError:
        if snapshot is not None:
            visitor.last_snapshot = snapshot
            lines.add_tokens(snapshot)
            lines.add_totals(snapshot)
        raise


def broken_off(lines: StreamLines | None, sentence: str) -> Update:
    """A run that ended before its time, and why."""
    if lines is not None:
        lines.add_failure()
    return Update(stream=lines.value if lines else None, status=sentence, is_running=False)


def status(kind: str, key: str, values: Mapping[str, float | str] | None = None) -> str:
    """A value for the status line: a word, and numbers to fill in."""
    return encode({"kind": kind, "word": key, "values": values or {}})


def said(kind: str, sentence: str) -> str:
    """A value for the status line: a sentence as it is."""
    return encode({"kind": kind, "text": sentence})
