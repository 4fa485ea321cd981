"""What the proof's buttons do, without a page."""

from __future__ import annotations

import json
from typing import Any

from specdemo.proof import FAULTS, SOUND
from specdemo.ui.measuring import MeasuringHandlers
from specdemo.ui.proving import ProofForm, ProofHandlers
from specdemo.ui.visitors import Visitors
from specdemo.ui.wording import LANGUAGES, words
from tests.ui.fakes import FakeSession

FORM = ProofForm("Once upon a time", "completion", 1000, SOUND, "auto")


def handlers() -> ProofHandlers:
    return ProofHandlers(FakeSession(), Visitors())


def told(value: str | None) -> dict[str, Any]:
    assert value is not None
    shown: dict[str, Any] = json.loads(value)
    return shown


def test_a_proof_ends_with_its_verdict_three_charts_and_what_is_remembered() -> None:
    first, *_, last = handlers().prove("visitor", FORM, "en")
    view = told(last.view)
    assert (first.is_running, last.is_running) == (True, False)
    assert view["verdict"] == "proof_held"
    assert view["lanes"]["speculative"]["p_value"] > 1e-4
    assert [chart["title"] for chart in view["charts"]] == ["Token 1", "Token 2", "Token 3"]
    assert 0 < view["num_passes"] < 1000
    assert told(last.status)["text"] == "Finished: 1000 runs of each lane."


def test_a_planted_fault_is_named_and_caught() -> None:
    *_, last = handlers().prove("visitor", FORM._replace(fault="wrong_bonus_row"), "en")
    view = told(last.view)
    assert (view["verdict"], view["fault"], view["is_bad"]) == (
        "proof_caught",
        "wrong_bonus_row",
        True,
    )


def test_each_position_shows_all_of_its_probability() -> None:
    *_, last = handlers().prove("visitor", FORM, "en")
    for chart in told(last.view)["charts"]:
        for trace in chart["figure"]["data"]:
            assert abs(sum(trace["x"]) - 100) < 0.5
            assert len(trace["x"]) <= 10


def test_stopped_there_is_no_verdict_yet() -> None:
    page = handlers()
    updates = page.prove("visitor", FORM, "en")
    for update in updates:
        if "500 of 1000" in (update.status or ""):
            page._visitors.enter("visitor").stop.set()
    view = told(update.view)
    assert (view["done"], view["verdict"], view["is_bad"]) == (500, None, False)
    assert "Stopped after 500 of 1000" in told(update.status)["text"]


def test_a_proof_can_be_had_in_another_language() -> None:
    visitors = Visitors()
    list(ProofHandlers(FakeSession(), visitors).prove("visitor", FORM, "en"))
    *_, value = MeasuringHandlers(FakeSession(), visitors).views("visitor", "it")
    assert told(value)["charts"][0]["figure"]["data"][0]["name"] == "esatta"


def test_what_cannot_be_proven_is_a_sentence() -> None:
    for changes in ({"prompt": " "}, {"fault": "gremlins"}, {"num_runs": None}):
        *_, last = handlers().prove("visitor", FORM._replace(**changes), "en")
        assert told(last.status)["kind"] == "error"
        assert last.is_running is False


def test_every_fault_has_a_name_in_every_language() -> None:
    for language in LANGUAGES:
        assert {f"proof_fault_{kind}" for kind in (SOUND, *FAULTS)} <= words(language).keys()
