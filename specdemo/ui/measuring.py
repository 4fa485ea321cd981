"""What happens in the benchmark and the draft-and-score tab: values in, values out.

Knows no component, no HTML and no formula.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import NamedTuple

from specdemo.benchmark import (
    BenchmarkPlan,
    Progress,
    Results,
    run_benchmark,
    suite,
)
from specdemo.benchmark.report import html_report
from specdemo.benchmark.results import as_json, read
from specdemo.benchmark.suites import named
from specdemo.benchmark.tables import as_csv
from specdemo.errors import InvalidRequestError, SpecdemoError
from specdemo.events import FinishReason
from specdemo.scoring import DraftAndScore, draft_and_score
from specdemo.session import DecodeRequest
from specdemo.ui.handlers import Session
from specdemo.ui.json_view import encode
from specdemo.ui.measuring_views import benchmark_value, score_value
from specdemo.ui.pacing import Ticker, within
from specdemo.ui.proof_view import proof_value
from specdemo.ui.updates import said, status
from specdemo.ui.visitors import Visitors
from specdemo.ui.wording import words

_LOGGER = logging.getLogger(__name__)
_VIEW_SECONDS = 0.5
OWN_FILE = "own"


class BenchmarkForm(NamedTuple):
    """The benchmark's fields, in the order in which they are wired."""

    suite: str
    own_file: str | None
    precisions: list[str]
    draft_sources: list[str]
    draft_lengths: list[str]
    temperature: float | None
    repeats: float | None
    max_new_tokens: float | None
    resumed_file: str | None


class ScoreForm(NamedTuple):
    """Draft-and-score's fields, in the order in which they are wired."""

    prompt: str | None
    mode: str
    max_new_tokens: float | None
    precision: str


@dataclass(frozen=True, slots=True)
class MeasuringUpdate:
    """What changed in a tab; `None` leaves a part as it is. `files` are paths: JSON, CSV, HTML."""

    view: str | None = None
    status: str | None = None
    is_running: bool | None = None
    files: tuple[str, str, str] | None = None


class MeasuringHandlers:
    """One session, many visitors."""

    def __init__(
        self,
        session: Session,
        visitors: Visitors,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._session = session
        self._visitors = visitors
        self._seconds = seconds
        self._clock = clock

    def benchmark(
        self, session_hash: str | None, form: BenchmarkForm, language: str
    ) -> Iterator[MeasuringUpdate]:
        """Updates until every run has its row, or one sentence that says why not."""
        visitor = self._visitors.enter(session_hash)
        visitor.stop = Event()
        results: Results | None = None
        sentence: str | None = None
        try:
            results = begun(form)
            yield MeasuringUpdate(is_running=True)
            ticker = Ticker(_VIEW_SECONDS)
            states = run_benchmark(self._session, results, visitor.stop)
            progresses = within(self._seconds, states, visitor.stop, self._clock)
            with closing(progresses):  # type: ignore[type-var]
                for progress in progresses:
                    results = visitor.results = progress.results
                    yield self._told(progress, ticker, language)
        except SpecdemoError as error:
            sentence = said("error", str(error))
        except Exception:
            _LOGGER.exception("a benchmark failed")
            sentence = status("error", "status_unexpected")
        if results is None:
            yield MeasuringUpdate(status=sentence, is_running=False)
            return
        view = benchmark_value(results, language)
        ending = sentence or _ending(results, language)
        try:
            with saved(results, language) as files:
                yield MeasuringUpdate(view, ending, False, files)
        except OSError as error:  # the rows stay on screen, and are told again with the next run
            _LOGGER.warning("the exports could not be written: %s", error.strerror)
            unwritten = said("error", words(language)["bench_not_written"])
            yield MeasuringUpdate(view, unwritten, False)

    def score(
        self, session_hash: str | None, form: ScoreForm, language: str
    ) -> Iterator[MeasuringUpdate]:
        """Updates until all three answers are there, or one sentence that says why not."""
        visitor = self._visitors.enter(session_hash)
        visitor.stop, visitor.score = Event(), None
        try:
            request = DecodeRequest(
                form.prompt or "",
                is_chat=form.mode == "chat",
                max_new_tokens=int(form.max_new_tokens or 0),
                precision=form.precision,
            )
            yield MeasuringUpdate(status=status("busy", "score_drafting"), is_running=True)
            ticker = Ticker(_VIEW_SECONDS)
            states = draft_and_score(self._session, request, visitor.stop)
            with closing(states):  # type: ignore[type-var]
                for state in states:
                    visitor.score = state
                    now = self._clock()
                    if ticker.is_due(now):
                        value = score_value(state, language)
                        yield MeasuringUpdate(value, status("busy", _stage(state)))
                        ticker.done(now, self._clock())
            value = score_value(visitor.score, language)
            yield MeasuringUpdate(value, _score_ending(visitor.score, language), False)
        except SpecdemoError as error:
            yield MeasuringUpdate(status=said("error", str(error)), is_running=False)
        except Exception:
            _LOGGER.exception("draft-and-score failed")
            yield MeasuringUpdate(status=status("error", "status_unexpected"), is_running=False)

    def views(self, session_hash: str | None, language: str) -> tuple[str, str, str]:
        """Every tab that measures, as this visitor left them, in another language."""
        visitor = self._visitors.enter(session_hash)
        return (
            benchmark_value(visitor.results, language),
            score_value(visitor.score, language),
            proof_value(visitor.proof, language),
        )

    def _told(self, progress: Progress, ticker: Ticker, language: str) -> MeasuringUpdate:
        if progress.stage:
            return MeasuringUpdate(status=said("busy", progress.stage))
        now, view = self._clock(), None
        if ticker.is_due(now):
            view = benchmark_value(progress.results, language)
            ticker.done(now, self._clock())
        return MeasuringUpdate(view, _running(progress, language))


def begun(form: BenchmarkForm) -> Results:
    """The results to add to: none yet, or those of an earlier file; raises a `SpecdemoError`."""
    if form.resumed_file:
        return read(Path(form.resumed_file))
    if form.suite == OWN_FILE and not form.own_file:
        raise InvalidRequestError(words("en")["bench_no_file"])
    chosen = suite(form.own_file or "") if form.suite == OWN_FILE else named(form.suite)
    return Results(
        BenchmarkPlan(
            chosen,
            precisions=tuple(form.precisions),
            draft_sources=tuple(form.draft_sources),
            draft_lengths=tuple(form.draft_lengths),
            temperature=float(form.temperature or 0),
            repeats=int(form.repeats or 0),
            max_new_tokens=int(form.max_new_tokens or 0) or None,
        )
    )


@contextmanager
def saved(results: Results, language: str) -> Iterator[tuple[str, str, str]]:
    """The three exports as files, for as long as it takes to hand them on."""
    with TemporaryDirectory(prefix="specdemo-") as folder:
        stem = Path(folder) / f"bench-{Path(results.plan.suite.name).stem}"
        texts = {
            ".json": encode(as_json(results)),
            ".csv": as_csv(results),
            ".html": html_report(results, language, words(language)),
        }
        for suffix, text in texts.items():
            stem.with_suffix(suffix).write_text(text, encoding="utf-8")
        json_file, csv_file, html_file = (str(stem.with_suffix(suffix)) for suffix in texts)
        yield json_file, csv_file, html_file


def _running(progress: Progress, language: str) -> str:
    results, left = progress.results, progress.seconds_left
    numbers = {"done": len(results.rows), "planned": results.plan.num_runs}
    if left is None:
        return said("busy", words(language)["bench_begun"].format(**numbers))
    duration = f"{left:.0f} s" if left < 90 else f"{left / 60:.0f} min"
    return said("busy", words(language)["bench_running"].format(**numbers, left=duration))


def _ending(results: Results, language: str) -> str:
    numbers = {"done": len(results.rows), "planned": results.plan.num_runs}
    key = "bench_done" if results.is_complete else "bench_stopped"
    return said("done", words(language)[key].format(**numbers))


def _stage(state: DraftAndScore) -> str:
    if state.race is not None or state.score is not None:
        return "score_racing"
    return "score_scoring" if state.draft.trace.finish_reason else "score_drafting"


def _score_ending(state: DraftAndScore | None, language: str) -> str:
    stopped = FinishReason.STOPPED
    if state is None or state.score is None or not state.is_finished:
        return status("done", "status_stopped")
    if state.race and stopped in (
        state.race.normal.trace.finish_reason,
        state.race.speculative.trace.finish_reason,
    ):
        return status("done", "status_stopped")
    if not state.score.num_answer_tokens:
        return status("done", "score_empty")
    first = state.score.first_difference
    if first is None:
        return status("done", "score_agrees")
    return said("done", words(language)["score_done"].format(index=first + 1))
