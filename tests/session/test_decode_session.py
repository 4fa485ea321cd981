"""The session: one device, given up whatever happens, and only to pairs that are allowed."""

from __future__ import annotations

import gc
from threading import Event

import pytest
import torch

from specdemo.errors import InvalidRequestError, SpecdemoError
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import read_settings
from tests.session.fakes import VOCAB, SizedTable, finish, hold, table_pair


def test_closing_the_run_gives_the_device_to_the_next(session: DecodeSession) -> None:
    first = session.run(DecodeRequest(prompt="hello"), Event())
    next(first)
    first.close()
    assert finish(session, DecodeRequest(prompt="hello", max_new_tokens=4)).is_finished


def test_a_run_that_waits_for_the_device_can_be_stopped(session: DecodeSession) -> None:
    first = session.run(DecodeRequest(prompt="hello"), Event())
    next(first)
    stop = Event()
    stop.set()
    assert list(session.run(DecodeRequest(prompt="hello"), stop)) == []
    first.close()


def test_a_failure_inside_a_pass_frees_the_device(
    session: DecodeSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(capacity: int) -> SizedTable:
        table = torch.full((VOCAB, VOCAB), torch.nan)
        return SizedTable(table)

    healthy = session._store._pair
    assert healthy is not None
    session._warm = healthy.spec
    hold(session, table_pair(failing), monkeypatch)
    with pytest.raises(SpecdemoError, match="not finite"):
        finish(session, DecodeRequest(prompt="hello"))
    hold(session, healthy, monkeypatch)
    assert finish(session, DecodeRequest(prompt="hello", max_new_tokens=4)).is_finished


def test_an_abandoned_run_gives_the_device_up(session: DecodeSession) -> None:
    """A tab that is closed drops the generator without a word."""
    abandoned = session.run(DecodeRequest(prompt="hello"), Event())
    next(abandoned)
    del abandoned
    gc.collect()
    assert finish(session, DecodeRequest(prompt="hello", max_new_tokens=4)).is_finished


def test_pairs_of_ones_own_are_refused_where_they_are_not_allowed() -> None:
    session = DecodeSession(read_settings({"SPACE_ID": "someone/space"}))
    request = DecodeRequest(prompt="hello", pair="/etc,owner/name")
    for attempt in (session.run(request, Event()), session.load(request.pair)):
        with pytest.raises(InvalidRequestError, match="only the pairs of its catalogue"):
            next(attempt)


def test_pairs_that_a_public_server_does_not_offer_are_refused_before_anything_is_loaded() -> None:
    session = DecodeSession(read_settings({"SPACE_ID": "someone/space"}))
    request = DecodeRequest(prompt="hello", pair="gemma-2-9b")
    for attempt in (session.run(request, Event()), session.load(request.pair)):
        with pytest.raises(InvalidRequestError, match="runs only smollm2-135m; choose"):
            next(attempt)
