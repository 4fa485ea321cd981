"""Runs a plan, one answer after another, warm. Knows no file and no screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from specdemo.benchmark.plan import PlannedRun
from specdemo.benchmark.results import Results, Row, repeated_share, write
from specdemo.errors import InvalidSuiteError, PromptTooLongError
from specdemo.events import FinishReason
from specdemo.metrics import run_metrics
from specdemo.session import Answer, DecodeRequest


class Session(Protocol):
    """What a benchmark needs of a session."""

    def load(
        self,
        pair: str,
        precision: str,
        device: str,
        quantize: str = "both",
        double_quantization: bool = False,
    ) -> Iterator[str]:
        """Load the models and warm them up, a sentence per stage."""

    def answer(self, request: DecodeRequest, stop: Event) -> Iterator[Answer]:
        """One run alone, a snapshot per forward pass."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a benchmark stands.

    `seconds_left` is what the rest will take if it goes on as the runs since the start did; it is
    `None` before the first one. `stage` tells of loading.
    """

    results: Results
    seconds_left: float | None = None
    stage: str | None = None


def run_benchmark(
    session: Session,
    begun: Results,
    stop: Event,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Progress]:
    """The missing rows of results, one `Progress` for each; a stopped run leaves no row.

    The first progress has the rows that were there before. Raises a `SpecdemoError`; what was
    yielded before stays valid.
    """
    results, missing = begun, begun.missing
    yield Progress(results)
    precision: str | None = None
    spent, num_done = 0.0, 0
    for run in missing:
        if run.precision != precision:
            precision = run.precision
            for stage in session.load(results.plan.pair, precision, results.plan.device):
                yield Progress(results, None, stage)
        if stop.is_set():
            return
        started = clock()
        last = measured(session, results, run, stop)
        if last is None:
            return
        spent, num_done = spent + clock() - started, num_done + 1
        results = results.with_row(row_of(run, last), last.environment)
        yield Progress(results, spent / num_done * (len(missing) - num_done))


def measured(session: Session, results: Results, run: PlannedRun, stop: Event) -> Answer | None:
    """A run's last snapshot; `None` if it was stopped."""
    last: Answer | None = None
    try:
        for last in session.answer(results.plan.request(run), stop):  # noqa: B007
            pass
    except PromptTooLongError as error:
        raise InvalidSuiteError(f"{results.plan.suite.cases[run.case].origin}: {error}") from error
    is_stopped = last is None or last.lane.trace.finish_reason is FinishReason.STOPPED
    return None if is_stopped else last


def row_of(run: PlannedRun, answer: Answer) -> Row:
    """The row that a finished answer makes."""
    lane = answer.lane
    return Row(
        run=run,
        environment=0,
        metrics=run_metrics(lane.trace),
        memory=lane.memory[-1] if lane.memory else None,
        repeated_share=repeated_share(lane.trace.token_ids),
        token_ids=lane.trace.token_ids,
        text=lane.text,
    )


def recorded(progresses: Iterator[Progress], path: Path | None) -> Iterator[Progress]:
    """The same, with the file rewritten before each new row is told of."""
    num_written: int | None = None
    for progress in progresses:
        num_rows = len(progress.results.rows)
        # The first time nothing is measured yet: a place that cannot be written to costs no row.
        if path is not None and num_rows != num_written:
            write(progress.results, path)
            num_written = num_rows
        yield progress
