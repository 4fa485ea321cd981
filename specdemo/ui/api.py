"""The same runs for other programs: typed endpoints in place of buttons.

Knows no component. Whatever comes in is checked by the room that runs it; an error a user can mend
reaches the caller as its own sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from threading import Event
from typing import Any, Protocol, TypeVar

import gradio as gr
from gradio.events import api
from pydantic import TypeAdapter, ValidationError

from specdemo import benchmark, metrics
from specdemo.benchmark.suites import named, of_prompts
from specdemo.errors import InvalidRequestError, SpecdemoError
from specdemo.plain import environment_json, finite, snapshot_json
from specdemo.session import Answer, DecodeRequest
from specdemo.session.catalogue import listed_pairs
from specdemo.settings import read_settings
from specdemo.trace import Snapshot
from specdemo.ui.pacing import within

_REPLACEMENT = "\ufffd"
_T = TypeVar("_T")
_REQUESTS = TypeAdapter(DecodeRequest)
_PLANS = TypeAdapter(benchmark.BenchmarkPlan)
_PROMPTS = TypeAdapter(list[str])
_FLAG = TypeAdapter(bool)


class Session(benchmark.Session, Protocol):
    """What the endpoints need of a session."""

    def run(self, request: DecodeRequest, stop: Event) -> Iterator[Snapshot]:
        """Both runs, one snapshot per forward pass."""


class Endpoints:
    """The functions behind the endpoints; each call is one visitor in the device's queue."""

    def __init__(self, session: Session, measuring_seconds: float | None = None) -> None:
        self._session = session
        self._measuring_seconds = measuring_seconds

    def decode(
        self,
        prompt: str,
        completion: bool = False,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        seed: int = 42,
        draft_source: str = "hybrid",
        draft_length: str = "adaptive",
        num_draft_tokens: int = 4,
        top_k: int = 0,
        top_p: float = 1.0,
        repetition_penalty: float = 1.0,
        system_prompt: str = "",
        pair: str = "smollm2-135m",
        precision: str = "auto",
    ) -> dict[str, Any]:
        """Answer a prompt normally and speculatively; both answers, their numbers, the speedup."""
        with _own_sentence():
            request = _request(
                prompt=prompt, completion=completion, system_prompt=system_prompt, pair=pair,
                precision=precision, draft_source=draft_source, draft_length=draft_length,
                num_draft_tokens=num_draft_tokens, temperature=temperature, top_k=top_k,
                top_p=top_p, repetition_penalty=repetition_penalty, seed=seed,
                max_new_tokens=max_new_tokens,
            )  # fmt: skip
            *_, last = self._session.run(request, Event())
            return dict(finite(snapshot_json(last)))

    def decode_stream(
        self,
        prompt: str,
        completion: bool = False,
        max_new_tokens: int = 128,
        temperature: float = 0.0,
        seed: int = 42,
        draft_source: str = "hybrid",
        draft_length: str = "adaptive",
        num_draft_tokens: int = 4,
        top_k: int = 0,
        top_p: float = 1.0,
        repetition_penalty: float = 1.0,
        system_prompt: str = "",
        pair: str = "smollm2-135m",
        precision: str = "auto",
    ) -> Iterator[dict[str, Any]]:
        """Answer a prompt speculatively, one delta of text and token ids for each round."""
        with _own_sentence():
            request = _request(
                prompt=prompt, completion=completion, system_prompt=system_prompt, pair=pair,
                precision=precision, draft_source=draft_source, draft_length=draft_length,
                num_draft_tokens=num_draft_tokens, temperature=temperature, top_k=top_k,
                top_p=top_p, repetition_penalty=repetition_penalty, seed=seed,
                max_new_tokens=max_new_tokens,
            )  # fmt: skip
            yield from map(finite, deltas(self._session.answer(request, Event())))

    def bench(
        self,
        suite: str = "tutorial",
        prompts: list[str] | None = None,
        completion: bool = False,
        precisions: list[str] | None = None,
        draft_sources: list[str] | None = None,
        draft_lengths: list[str] | None = None,
        temperature: float = 0.0,
        repeats: int = 1,
        seed: int = 42,
        max_new_tokens: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Measure a named suite or your own prompts; progress, then the summary and all rows."""
        with _own_sentence():
            plan = _valid(
                _PLANS,
                suite=_suite(suite, prompts, is_chat=not _checked(_FLAG, completion)),
                precisions=precisions or ["auto"],
                draft_sources=draft_sources or ["hybrid"],
                draft_lengths=draft_lengths or ["adaptive"],
                temperature=temperature,
                repeats=repeats,
                seed=seed,
                max_new_tokens=max_new_tokens,
            )
            yield from map(finite, self._measured(benchmark.Results(plan)))

    def models(self) -> list[dict[str, Any]]:
        """The pairs that can be run, with sizes, licences, and whether they are ready."""
        settings = read_settings()
        pairs, names = listed_pairs(settings), settings.pairs
        return [asdict(pair) for pair in pairs if names is None or pair.name in names]

    def _measured(self, results: benchmark.Results) -> Iterator[dict[str, Any]]:
        stop = Event()
        progresses = benchmark.run_benchmark(self._session, results, stop)
        for progress in within(self._measuring_seconds, progresses, stop):
            results = progress.results
            yield {
                "num_runs": len(results.rows),
                "num_planned_runs": results.plan.num_runs,
                "seconds_left": progress.seconds_left,
                "stage": progress.stage,
            }
        yield {
            "num_runs": len(results.rows),
            "num_planned_runs": results.plan.num_runs,
            "summary": asdict(benchmark.summarize(results)),
            "rows": [asdict(row) for row in results.rows],
            "environments": [environment_json(e) for e in results.environments],
        }


def add_endpoints(
    blocks: gr.Blocks, session: Session, concurrency_id: str, measuring_seconds: float | None = None
) -> None:
    """Add the endpoints to a page that is otherwise complete; they share its device's queue.

    The page's own handlers become private: their arguments follow the layout.
    """
    for handler in blocks.fns.values():
        handler.api_visibility = "private"
    endpoints = Endpoints(session, measuring_seconds)
    for function in (endpoints.decode, endpoints.decode_stream, endpoints.bench):
        api(function, concurrency_id=concurrency_id, concurrency_limit=1)
    api(endpoints.models, queue=False)


def _request(*, completion: bool, **given: Any) -> DecodeRequest:
    is_chat = not _checked(_FLAG, completion)
    return _valid(_REQUESTS, **given, is_chat=is_chat, order="one_after_another")


def _suite(name: str, prompts: list[str] | None, *, is_chat: bool) -> benchmark.Suite:
    if prompts:
        return of_prompts(_checked(_PROMPTS, prompts), is_chat=is_chat)
    return named(name)


def _valid(kind: TypeAdapter[_T], **given: Any) -> _T:
    return _checked(kind, given)


def _checked(kind: TypeAdapter[_T], given: Any) -> _T:
    """The value in its declared types: raw HTTP may carry anything."""
    try:
        return kind.validate_python(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "input"
        raise InvalidRequestError(f"{place}: {first['msg']}.") from error


@contextmanager
def _own_sentence() -> Iterator[None]:
    """Hand a user's error on as what it says; Gradio hides all others behind a general one."""
    try:
        yield
    except SpecdemoError as error:
        raise gr.Error(str(error), print_exception=False) from error


def deltas(answers: Iterator[Answer]) -> Iterator[dict[str, Any]]:
    """What each round added; the last delta has the run's numbers.

    Half a character waits for its other half, so the texts add up to the answer.
    """
    num_tokens = num_rounds = 0
    sent = ""
    for answer in answers:
        lane = answer.lane
        is_over = lane.trace.finish_reason is not None
        if len(lane.trace.rounds) == num_rounds and not is_over:
            continue
        whole = lane.text if is_over else lane.text.rstrip(_REPLACEMENT)
        token_ids = lane.trace.token_ids
        delta: dict[str, Any] = {
            "text": whole[len(sent) :],
            "token_ids": list(token_ids[num_tokens:]),
            "seconds": lane.trace.seconds,
        }
        num_tokens, num_rounds = len(token_ids), len(lane.trace.rounds)
        sent = max(sent, whole, key=len)
        if is_over:
            delta["metrics"] = asdict(metrics.run_metrics(lane.trace))
            delta["environment"] = environment_json(answer.environment)
        yield delta
