"""Runs in processes that are really forked, with nothing shared and everything pickled."""

from __future__ import annotations

import ctypes
import json
import multiprocessing as mp
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest
import torch

from specdemo.errors import InvalidRequestError, SpecdemoError
from specdemo.events import FinishReason
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import read_settings
from specdemo.ui.handlers import Handlers
from specdemo.ui.zero import ZeroSession, seconds_for
from tests.session.fakes import hold, table_pair
from tests.ui.test_handlers import FORM

REQUEST = DecodeRequest("hello", max_new_tokens=20, is_chat=False, draft_length="fixed")


class FakeSpaces:
    """What the package of that name does, as far as its documentation tells."""

    def __init__(self) -> None:
        self.durations: list[float] = []
        self.workers: list[int] = []

    def GPU(self, *, duration: Callable[..., float]) -> Callable[..., Any]:
        """Each call in a fork of its own; arguments and results go through pickles."""

        def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any) -> Any:
                self.durations.append(duration(*arguments))
                results = self._forked(function, pickle.dumps(arguments))
                first = next(results)
                return self._rest(first, results) if first[0] != "returned" else first[1]

            return call

        return decorated

    def _rest(self, first: Any, results: Iterator[Any]) -> Iterator[Any]:
        try:
            while first[0] == "yielded":
                yield first[1]
                first = next(results)
        finally:
            results.close()  # type: ignore[attr-defined]
        if first[0] == "raised":
            raise first[1]

    def _forked(self, function: Callable[..., Any], arguments: bytes) -> Iterator[Any]:
        receiver, sender = mp.Pipe(duplex=False)
        worker = os.fork()
        if not worker:
            work(function, arguments, sender)
        self.workers.append(worker)
        sender.close()
        try:
            while True:
                kind, value = pickle.loads(receiver.recv_bytes())
                yield kind, value
                if kind != "yielded":
                    return
        finally:
            receiver.close()
            os.kill(worker, signal.SIGKILL)
            os.waitpid(worker, 0)


def work(function: Callable[..., Any], arguments: bytes, sender: Any) -> None:
    """The forked process, which never returns to the test."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with its parent
    torch.set_num_threads(1)

    def send(kind: str, value: Any) -> None:
        sender.send_bytes(pickle.dumps((kind, value)))

    try:
        result = function(*pickle.loads(arguments))
        if hasattr(result, "__next__"):
            for value in result:
                send("yielded", value)
            send("ended", None)
        else:
            send("returned", result)
    except SpecdemoError as error:
        send("raised", error)
    finally:
        os._exit(0)


@pytest.fixture
def spaces() -> FakeSpaces:
    return FakeSpaces()


@pytest.fixture
def session(spaces: FakeSpaces, monkeypatch: pytest.MonkeyPatch) -> ZeroSession:
    local = DecodeSession(read_settings({}))
    hold(local, table_pair(), monkeypatch)
    return ZeroSession(local, spaces.GPU)


def test_a_forked_race_yields_the_tokens_of_a_race_in_this_process(
    session: ZeroSession, spaces: FakeSpaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, there = session.run(REQUEST, Event())
    here_session = DecodeSession(read_settings({}))
    hold(here_session, table_pair(), monkeypatch)
    *_, here = here_session.run(REQUEST, Event())
    for lane in ("normal", "speculative"):
        tokens = getattr(there, lane).trace.token_ids
        assert len(tokens) == 20
        assert tokens == getattr(here, lane).trace.token_ids
        assert getattr(there, lane).text == getattr(here, lane).text
    assert spaces.durations == [seconds_for(REQUEST)]


def test_nothing_of_a_run_stays_in_this_process(session: ZeroSession) -> None:
    list(session.run(REQUEST, Event()))
    local = session._session
    assert local._warm is None  # the fork's warm-up was its own
    assert local._store.acquire(lambda: True)


def test_stop_ends_the_process_and_keeps_what_came_out_of_it(
    session: ZeroSession, spaces: FakeSpaces
) -> None:
    stop = Event()
    snapshots = []
    for snapshot in session.run(DecodeRequest("hello", max_new_tokens=150, is_chat=False), stop):
        snapshots.append(snapshot)
        if len(snapshot.normal.trace.token_ids) == 5:
            stop.set()
    last = snapshots[-1]
    assert last.is_finished
    assert last.normal.trace.finish_reason is FinishReason.STOPPED
    assert len(last.normal.trace.token_ids) == 5
    (worker,) = spaces.workers
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_closed_tab_ends_the_process(session: ZeroSession, spaces: FakeSpaces) -> None:
    run = session.run(REQUEST, Event())
    next(run)
    run.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(spaces.workers[0], 0)


def test_the_page_races_stops_and_says_why_it_cannot_step(session: ZeroSession) -> None:
    page = Handlers(session)
    form = FORM._replace(max_new_tokens=20, mode="completion")
    *_, last = page.race("visitor", form, "en", ())
    assert json.loads(last.status or "")["word"].startswith("status_finished")
    (refused,) = page.step_race("visitor", form, "en", ())
    assert json.loads(refused.status or "")["word"] == "status_no_pause"


def test_draft_and_score_goes_there_too(session: ZeroSession) -> None:
    *_, draft = session.write_draft(REQUEST, Event())
    ids = tuple(i for i in draft.lane.trace.token_ids if i is not None)
    scored = session.score(REQUEST, ids, Event())
    assert scored is not None
    assert sum(token.is_answer for token in scored.tokens) > 0
    *_, answer = session.answer(REQUEST, Event())
    assert len(answer.lane.trace.token_ids) == 20


def test_an_error_there_is_the_same_sentence_here_and_other_pairs_are_refused(
    session: ZeroSession,
) -> None:
    with pytest.raises(SpecdemoError, match="context window of 200"):
        list(session.run(DecodeRequest("x" * 300, is_chat=False), Event()))
    with pytest.raises(InvalidRequestError, match="only the bundled pair"):
        list(session.run(DecodeRequest("x", precision="float32"), Event()))
    assert list(session.load()) == []


def test_a_longer_run_may_keep_the_gpu_longer_but_never_for_long() -> None:
    short, long = (seconds_for(DecodeRequest("a", max_new_tokens=n)) for n in (16, 1024))
    assert 20 < short < 30
    assert long == 120
