"""What a lesson takes from a run, and what it admits not to find there."""

from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from specdemo import metrics
from specdemo.session import DecodeRequest
from specdemo.trace import LaneSnapshot, Snapshot
from specdemo.ui.claims import claims, own_figures, token_rows
from specdemo.ui.comparison import comparison_value, key_figures
from specdemo.ui.learn_tab import learn_value, step_sentence
from specdemo.ui.lesson import STEPS, lesson, most_refused
from specdemo.ui.recordings import bundled_recordings
from specdemo.ui.run_report import run_report
from specdemo.ui.wording import words
from tests import traces
from tests.ui.fakes import FakeSession


def race(**settings: object) -> Snapshot:
    *_, last = FakeSession().run(DecodeRequest("Why?", **settings), Event())  # type: ignore[arg-type]
    return last


def of(*rounds: str, **settings: object) -> Snapshot:
    """A race whose speculative rounds have these fates; every text is a letter."""
    snapshot = traces.race_of(traces.run("n", "n", "n"), traces.run(*rounds), **settings)
    lanes = (
        replace(lane, pieces=tuple(("x",) * len(r.judged) for r in lane.trace.rounds))
        for lane in (snapshot.normal, snapshot.speculative)
    )
    normal, speculative = lanes
    return replace(snapshot, normal=normal, speculative=speculative)


def test_each_step_shows_a_round_in_which_it_happens() -> None:
    rounds = ("aab", "ras", "rs", "arus", "n")
    steps = {step.key: step for step in lesson(of(*rounds)).steps}
    assert tuple(steps) == STEPS
    assert [steps[key].round_index for key in STEPS] == [3, 3, 3, 3, 0]


@pytest.mark.parametrize(
    ("rounds", "missing"),
    [
        (("n", "n"), set(STEPS)),
        (("rs", "rus"), {"accept", "bonus"}),
        (("aab", "ab"), {"resample"}),
    ],
)
def test_a_step_that_the_run_does_not_hold_is_said_to_be_missing(
    rounds: tuple[str, ...], missing: set[str]
) -> None:
    snapshot = of(*rounds)
    steps = lesson(snapshot).steps
    assert {step.key for step in steps if step.round_index is None} == missing
    for step in steps:
        absent = words("en")[f"learn_none_{step.key}"]
        assert (step_sentence(step, snapshot, "en") == absent) == (step.key in missing)


def test_questions_are_judged_drafts_of_the_run_in_its_order() -> None:
    snapshot = race(temperature=0.7)
    questions = lesson(snapshot).questions
    assert len(questions) == 5
    places = [(question.round_index, question.position) for question in questions]
    assert places == sorted(places)
    text = snapshot.speculative.text
    for question in questions:
        token = snapshot.speculative.trace.rounds[question.round_index].judged[question.position]
        assert question.token.outcome == token.outcome.value
        assert (token.draw or 0) < (question.token.threshold or 0) or token.outcome == "rejected"
        assert question.before in text


def test_a_greedy_question_gives_nothing_away() -> None:
    for question in lesson(race()).questions:
        assert question.token.threshold is None
        assert question.token.draw is None


def test_task_answers_are_the_runs_own_numbers() -> None:
    snapshot = of("ars", "aars", "arus", "aab")
    answers = {task.key: task.answers for task in lesson(snapshot).tasks}
    run = metrics.run_metrics(snapshot.speculative.trace)
    assert answers == {"tau": (run.mean_acceptance_length,), "place": (2.0,), "untested": (1.0,)}


def test_all_places_refused_equally_often_are_right() -> None:
    assert most_refused(traces.run("rs", "ars")) == (1, 2)
    assert most_refused(traces.run("ab")) == ()


def test_token_rows_count_the_prompt_and_every_drafted_token() -> None:
    rows = token_rows(traces.run("n", "n"), traces.run("aab", "rus"))
    assert (rows.normal_target, rows.speculative_target) == (4 + 2, 4 + 3 + 3)
    assert (rows.from_model, rows.from_text, rows.from_table) == (4, 0, 0)


@pytest.mark.parametrize("language", ["en", "it"])
def test_every_claim_stands_beside_a_figure_of_the_run(language: str) -> None:
    rows = claims(race(), language)
    assert len(rows) == 8
    for row in rows:
        assert row.own
        assert "{" not in row.own + row.said + row.note


def test_what_was_not_measured_is_said_and_not_zero() -> None:
    bare = replace(of("n"), normal=LaneSnapshot(), speculative=LaneSnapshot())
    figures = own_figures(bare, "en")
    assert figures["latency"] == figures["memory"] == figures["extra"] == "not measured yet"
    assert figures["tuning"] == figures["verification"] == "nothing was drafted and judged"
    assert key_figures(bare, "en")["compare_alpha"] == "–"


def test_a_slower_run_is_called_slower() -> None:
    slow = traces.race_of(traces.run("n", verify=1.0), traces.run("rs", verify=2.0))
    assert own_figures(slow, "en")["latency"].startswith("100 % more time")


def test_every_bundled_recording_can_be_taught_compared_and_printed() -> None:
    for reader in bundled_recordings().values():
        snapshot = reader().snapshot
        for language in ("en", "it"):
            assert learn_value(snapshot, language)
            assert "error" not in comparison_value(snapshot, reader, language)[:12]
            assert "<script" not in run_report(snapshot, language)


def test_without_a_run_there_is_nothing_to_teach() -> None:
    assert learn_value(None, "en") == ""
    assert "no run on screen" in comparison_value(None, bundled_recordings()["chat"], "en")
