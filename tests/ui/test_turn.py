"""One run a visitor, waiting or going on: asked by raw HTTP, past the page's own buttons."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import httpx
import pytest

from specdemo.settings import read_settings
from specdemo.ui.serving import launch
from specdemo.ui.turn import Turns
from specdemo.ui.wiring import build_page
from tests.ui.fakes import FakeSession


class Held(FakeSession):
    """A session whose runs begin when they are let."""

    def __init__(self) -> None:
        super().__init__()
        self.may_run = Event()

    def run(self, request: Any, stop: Any) -> Iterator[Any]:
        assert self.may_run.wait(60)
        yield from super().run(request, stop)


class Visits:
    """A page with a held device, asked by several visitors."""

    def __init__(self) -> None:
        self.session = Held()
        self.page = build_page(self.session)
        _, address, _ = launch(self.page, read_settings({}), prevent_thread_lock=True, quiet=True)
        self._client = httpx.Client(base_url=str(address), timeout=60)
        config = self._client.get("/config").json()
        self._values = {c["id"]: c["props"].get("value") for c in config["components"]}
        self._handlers = {h["api_name"]: h for h in config["dependencies"]}

    def ask(self, visitor: str, name: str = "race") -> httpx.Response:
        handler = self._handlers[name]
        values = [self._values[component] for component in handler["inputs"]]
        message = {"data": values, "fn_index": handler["id"], "session_hash": visitor}
        return self._client.post("/gradio_api/queue/join", json=message)

    def read_to_the_end(self, visitor: str) -> None:
        """All that is told to a visitor until nothing of theirs is left."""
        given = {"session_hash": visitor}
        with self._client.stream("GET", "/gradio_api/queue/data", params=given) as told:
            for _ in told.iter_lines():
                pass


@pytest.fixture
def visits() -> Iterator[Visits]:
    visits = Visits()
    yield visits
    visits.session.may_run.set()
    visits.page.close(verbose=False)


def test_a_second_run_of_a_visitor_is_refused_with_a_sentence_until_the_first_has_ended(
    visits: Visits,
) -> None:
    assert visits.ask("one").status_code == 200
    assert visits.ask("two").status_code == 200  # waits behind it
    for visitor in ("one", "two"):
        for name in ("race", "again", "ask", "measure", "drawn", "drawn_1", "decode"):
            refused = visits.ask(visitor, name)
            assert refused.status_code == 429, name
            assert refused.json()["detail"].startswith("You have a run that waits or goes on")
    visits.session.may_run.set()
    for visitor in ("one", "two"):
        visits.read_to_the_end(visitor)
    assert visits.ask("one").status_code == 200


def test_loading_and_stepping_are_no_second_run(visits: Visits) -> None:
    for name in ("race", "load", "step_race"):
        assert visits.ask("one", name).status_code == 200


def test_why_a_run_did_not_start_is_told_in_the_visitors_language(visits: Visits) -> None:
    turns = Turns(visits.page)
    assert turns.refusal("one") == "status_refused"
    visits.ask("one")
    assert turns.refusal("one") == "status_one_run"
    codes = [visits.ask(f"visitor-{number}").status_code for number in range(66)]
    assert codes[:64] == [200] * 64
    assert codes[-1] == 503
    assert turns.refusal("somebody else") == "status_queue_full"
