"""What the page shows of a race between two servers."""

from __future__ import annotations

import json
from dataclasses import replace
from threading import Event

import pytest

from specdemo.session import DecodeRequest, DecodeSession
from specdemo.settings import read_settings
from specdemo.trace import SERVER_DRAFTS, SERVER_PAIR, Snapshot
from specdemo.ui.claims import own_figures
from specdemo.ui.form import Form, request_from
from specdemo.ui.handlers import Handlers
from specdemo.ui.served import served_notes, served_sentences
from specdemo.ui.token_stream import Opening, StreamLines
from specdemo.ui.updates import Update
from specdemo.ui.verdict import TokenPlace
from specdemo.ui.why import why_sentences
from specdemo.ui.wiring import build_page
from tests.remote.stand_in import Behaviour, two
from tests.ui.fakes import FakeSession

FORM = Form(
    "What is rain?", "auto", "chat", "hybrid", "fixed", 4, 0, 0, 1.0, 1.0, 42, 48, "race", "",
    models=SERVER_PAIR,
)  # fmt: skip


def updates(speculative: Behaviour) -> tuple[Handlers, list[Update]]:
    """Every update of a race that the page makes."""
    with two(Behaviour(), speculative) as servers:
        handlers = Handlers(DecodeSession(replace(read_settings({}), servers=servers)))
        return handlers, list(handlers.race("v", FORM, "en", ()))


@pytest.fixture(scope="module")
def finished() -> tuple[Handlers, list[Update]]:
    return updates(Behaviour("draft-chat"))


def snapshot_of(handlers: Handlers) -> Snapshot:
    snapshot = handlers.visitors.enter("v").last_snapshot
    assert snapshot is not None
    return snapshot


def test_servers_choose_their_drafts_whatever_the_fields_say() -> None:
    request = request_from(FORM._replace(precision="nf4", strict=True))
    assert (request.pair, request.draft_source) == (SERVER_PAIR, SERVER_DRAFTS)
    assert (request.precision, request.strict) == ("auto", False)


def test_the_fates_are_drawn_when_the_server_has_told_them() -> None:
    lines = StreamLines(Opening("run", "What is rain?", True))
    with two(Behaviour(), Behaviour("draft-chat")) as servers:
        session = DecodeSession(replace(read_settings({}), servers=servers))
        for snapshot in session.run(request_from(FORM), Event()):
            lines.add_tokens(snapshot)
    drawn = [json.loads(line) for line in lines.value.splitlines()]
    again = drawn.index(["again", "speculative"])
    live, told = (
        [line for line in part if line[:2] == ["round", "speculative"]]
        for part in (drawn[:again], drawn[again:])
    )
    assert {chip[1] for line in live for chip in line[3]} == {"normal"}
    assert "".join(chip[0] for line in live for chip in line[3]) == snapshot.speculative.text
    assert len(told) == len(live) == 31
    assert [chip[:2] for chip in told[2][3]] == [
        [" a", "accepted"], ["◌", "rejected"], ["◌×2", "untested"], [" fundamental", "resampled"],
    ]  # fmt: skip
    assert ["again", "normal"] not in drawn


def test_the_page_says_what_is_not_known(finished: tuple[Handlers, list[Update]]) -> None:
    handlers, (*_, last) = finished
    assert last.environment is not None
    told = json.loads(last.environment)
    keys = [word for word, _ in told["notes"]]
    assert told["word"] == "environment_served"
    assert keys[:3] == ["served_clock", "served_known", "served_counters_agree"]
    for language, sentence in (("en", "not which"), ("it", "non quali")):
        assert sentence in " ".join(served_sentences(snapshot_of(handlers), language))


def test_without_colours_one_sentence_says_why() -> None:
    handlers, _ = updates(Behaviour("draft-chat", tells_fates=False))
    sentences = served_sentences(snapshot_of(handlers), "en")
    assert [s for s in sentences if "--per-request-spec-decode-metrics detailed" in s]


def test_every_view_of_a_run_takes_one_of_servers(
    finished: tuple[Handlers, list[Update]],
) -> None:
    handlers, (*_, last) = finished
    snapshot = snapshot_of(handlers)
    assert last.charts is not None
    assert "reserved for the caches of all requests" in handlers.charts("v", "en")
    assert "waiting for the server" in handlers.charts("v", "en")
    assert "inside the server is not observed" in why_sentences(snapshot, "en")[0]
    assert own_figures(snapshot, "en")["memory"] == "not reported"
    assert handlers.save_recording("v")
    for position in (0, 1):
        told = json.loads(handlers.verdict("v", TokenPlace("speculative", 2, position), "en"))
        assert "stay there" in told["sentence"]


def test_a_stream_that_breaks_off_stays_on_screen() -> None:
    broken = Behaviour("draft-chat", breaks_from_request=2, break_after=20)
    handlers, (*_, last) = updates(broken)
    assert last.status is not None
    assert "broke off its answer after" in last.status
    assert last.stream is not None
    assert "fundamental" in last.stream
    assert last.is_running is False
    assert snapshot_of(handlers).speculative.text.startswith("Rain is")


def test_runs_of_this_machine_have_no_note_of_servers() -> None:
    *_, last = FakeSession().run(DecodeRequest("Why?"), Event())
    assert served_notes(last) == []


@pytest.mark.parametrize("has_servers", [True, False])
def test_servers_can_be_chosen_only_where_they_are_known(has_servers: bool) -> None:
    page = build_page(FakeSession(), has_servers=has_servers)
    choices = [
        value
        for block in page.blocks.values()
        if getattr(block, "elem_id", None) == "sd-models"
        for _, value in block.choices
    ]
    assert (SERVER_PAIR in choices) is has_servers
