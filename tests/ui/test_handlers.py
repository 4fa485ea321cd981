"""What the page does when something is pressed, without a page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from specdemo.errors import InvalidRequestError, ModelLoadError
from specdemo.session import ChatTurn
from specdemo.ui.form import Form, request_from
from specdemo.ui.handlers import Handlers
from specdemo.ui.pace import Pace
from specdemo.ui.updates import Update
from specdemo.ui.verdict import TokenPlace
from specdemo.ui.visitors import MAX_VISITORS
from tests.ui.fakes import ANSWER, FakeSession

FORM = Form(
    prompt="Why is the sky blue?",
    precision="auto",
    mode="chat",
    draft_source="model",
    draft_length="fixed",
    num_draft_tokens=5,
    temperature=0.0,
    top_k=0,
    top_p=1.0,
    repetition_penalty=1.0,
    seed=42,
    max_new_tokens=40,
    order="race",
    system_prompt="",
)


class FakeClock:
    """A clock that moves on by the same step whenever it is read."""

    def __init__(self, step: float = 0.05) -> None:
        self._now, self._step = 0.0, step

    def __call__(self) -> float:
        self._now += self._step
        return self._now


def handlers(session: FakeSession) -> Handlers:
    return Handlers(session, clock=FakeClock())


def status(update: Update) -> dict[str, object]:
    assert update.status is not None
    value: dict[str, object] = json.loads(update.status)
    return value


def test_the_form_becomes_the_request_field_by_field() -> None:
    form = FORM._replace(
        mode="completion",
        draft_source="ngram",
        draft_length="fixed",
        num_draft_tokens=3.0,
        temperature=0.7,
        top_k=40.0,
        top_p=0.9,
        repetition_penalty=1.2,
        seed=7.0,
        max_new_tokens=64.0,
        order="one_after_another",
        system_prompt=" Be brief. ",
    )
    request = request_from(form)
    assert not request.is_chat
    assert (request.draft_source, request.order) == ("ngram", "one_after_another")
    assert (request.num_draft_tokens, request.top_k, request.seed) == (3, 40, 7)
    assert (request.temperature, request.top_p, request.repetition_penalty) == (0.7, 0.9, 1.2)
    assert (request.max_new_tokens, request.system_prompt) == (64, "Be brief.")


def test_a_race_starts_running_and_ends_not_running() -> None:
    first, *_, last = handlers(FakeSession()).race("visitor", FORM, "en", ())
    assert first.is_running is True
    assert last.is_running is False
    assert status(last)["word"] == "status_finished_faster"
    assert last.chosen_precision == "bfloat16"


def test_only_auto_tells_what_it_chose() -> None:
    *_, last = handlers(FakeSession()).race("visitor", FORM._replace(precision="float32"), "en", ())
    assert last.chosen_precision is None


def test_a_finished_run_is_listed_first() -> None:
    page = handlers(FakeSession())
    *_, one = page.race("visitor", FORM, "en", ())
    assert one.runs is not None
    *_, two = page.race("visitor", FORM._replace(prompt="Another one"), "en", one.runs)
    assert two.runs is not None
    assert [run.prompt for run in two.runs] == ["Another one", "Why is the sky blue?"]
    assert all(run.speedup and run.speedup > 1 for run in two.runs)


def test_stop_ends_the_run_with_its_partial_numbers() -> None:
    page = handlers(FakeSession())
    updates = page.race("visitor", FORM, "en", ())
    for _ in range(8):
        next(updates)
    page.stop("visitor")
    *_, last = updates
    assert status(last)["word"] == "status_stopped"
    assert last.stream is not None
    assert '"stopped"' in last.stream
    assert last.charts is not None


def test_stop_of_one_visitor_leaves_another_running() -> None:
    page = handlers(FakeSession())
    updates = page.race("visitor", FORM, "en", ())
    next(updates)
    page.stop("somebody else")
    *_, last = updates
    assert status(last)["word"] == "status_finished_faster"


def test_closing_the_page_closes_the_session() -> None:
    session = FakeSession()
    updates = handlers(session).race("visitor", FORM, "en", ())
    while not session.num_open_runs:
        next(updates)
    updates.close()  # type: ignore[attr-defined]
    assert session.num_open_runs == 0


def test_a_user_error_is_one_sentence_and_the_next_run_works() -> None:
    page = handlers(FakeSession())
    *_, last = page.race("visitor", FORM._replace(prompt="  \n "), "en", ())
    assert status(last)["kind"] == "error"
    assert str(status(last).get("text") or status(last).get("word"))
    assert last.is_running is False
    *_, after = page.race("visitor", FORM, "en", ())
    assert status(after)["word"] == "status_finished_faster"


def test_a_surprise_is_logged_and_shown_without_its_details(
    caplog: pytest.LogCaptureFixture,
) -> None:
    page = handlers(FakeSession(fails_with=RuntimeError("secret path")))
    *_, last = page.race("visitor", FORM, "en", ())
    assert status(last)["word"] == "status_unexpected"
    assert last.stream is not None
    assert last.stream.rstrip().endswith('["failed"]')
    assert "secret path" in caplog.text
    assert "secret path" not in str(last)


@pytest.mark.parametrize("name", ["temperature", "seed", "max_new_tokens"])
def test_an_empty_number_is_a_sentence_and_not_a_surprise(name: str) -> None:
    *_, last = handlers(FakeSession()).race("visitor", FORM._replace(**{name: None}), "en", ())
    assert status(last)["kind"] == "error"
    assert status(last).get("word") != "status_unexpected"


def test_a_chat_answer_can_be_followed_up() -> None:
    page = handlers(FakeSession())
    *_, last = page.race("visitor", FORM._replace(max_new_tokens=1000), "en", ())
    assert last.conversation == (
        ChatTurn("user", "Why is the sky blue?"),
        ChatTurn("assistant", ANSWER),
    )
    *_, after = page.race(
        "visitor", FORM._replace(prompt="And at dusk?"), "en", (), last.conversation
    )
    assert after.conversation is not None
    assert len(after.conversation) == 4


def test_a_completion_starts_no_conversation() -> None:
    *_, last = handlers(FakeSession()).race("visitor", FORM._replace(mode="completion"), "en", ())
    assert last.conversation == ()


def test_again_repeats_the_last_turn_of_a_conversation() -> None:
    page = handlers(FakeSession())
    *_, last = page.race("visitor", FORM, "en", ())
    assert last.conversation
    list(page.race("visitor", FORM._replace(prompt="And at dusk?"), "en", (), last.conversation))
    *_, again = page.again("visitor", FORM._replace(seed=7), "en", ())
    assert again.conversation is not None
    assert [turn.text for turn in again.conversation if turn.role == "user"] == [
        "Why is the sky blue?",
        "And at dusk?",
    ]


def test_loading_ends_ready_or_with_the_errors_own_sentence() -> None:
    class Broken(FakeSession):
        def load(self, *names: object) -> Iterator[str]:
            yield "Reading …"
            raise ModelLoadError("The file is damaged; download it again.")

    assert json.loads(list(handlers(FakeSession()).load("auto"))[-1])["word"] == "status_ready"
    last = json.loads(list(handlers(Broken()).load("auto"))[-1])
    assert (last["kind"], last["text"]) == ("error", "The file is damaged; download it again.")


def test_stop_ends_a_load_between_two_stages() -> None:
    page = handlers(FakeSession())
    stages = page.load("auto", session_hash="visitor")
    next(stages)
    next(stages)
    page.stop("visitor")
    assert json.loads(list(stages)[-1])["word"] == "status_load_stopped"


def totals_of(update: Update) -> dict[str, Any]:
    lines = [json.loads(line) for line in (update.stream or "").splitlines()]
    return [line[1] for line in lines if line[0] == "totals"][-1]


def test_where_greedy_answers_part_the_position_is_computed_anew_and_judged() -> None:
    form = FORM._replace(prompt="Please differ")
    *updates, last = handlers(FakeSession()).race("visitor", form, "en", ())
    assert "difference_recomputing" in [status(u).get("word") for u in updates if u.status]
    why = totals_of(last)["why"]
    assert (why["cause"], why["index"]) == ("numerical_tie", 7)
    assert why["texts"] == [" <b>", " blue"]
    assert [row[0] for row in why["rows"]] == ["one", "several", "float32"]
    assert why["rows"][0][1:] == [9.0, 9.0, 0.0]


def test_equal_or_sampled_answers_have_no_difference_to_judge() -> None:
    for form in (FORM, FORM._replace(prompt="Please differ", temperature=0.7)):
        *updates, last = handlers(FakeSession()).race("visitor", form, "en", ())
        assert totals_of(last)["why"] is None
        assert "difference_recomputing" not in [status(u).get("word") for u in updates if u.status]


def test_a_change_of_precision_is_set_beside_the_run_before() -> None:
    page = handlers(FakeSession())
    *_, first = page.race("visitor", FORM, "en", ())
    *_, second = page.race("visitor", FORM._replace(precision="nf4", seed=8), "en", ())
    assert first.precisions
    assert second.precisions
    assert len(json.loads(first.precisions)["rows"]) == 1
    value = json.loads(second.precisions)
    assert [row["precision"] for row in value["rows"]] == ["bfloat16", "nf4"]
    assert value["word"] == "precision_not_faster"
    assert not value["other_prompt"]


def test_the_form_tells_which_pair_and_what_to_quantize() -> None:
    form = FORM._replace(models="custom", custom_target="a/big", custom_draft=" a/small ")
    request = request_from(form._replace(precision="nf4", quantize="draft"))
    assert (request.pair, request.precision, request.quantize) == ("a/big,a/small", "nf4", "draft")
    with pytest.raises(InvalidRequestError, match="model pair"):
        request_from(FORM._replace(models="custom"))


def test_a_visitor_who_leaves_is_forgotten_and_stopped() -> None:
    page = handlers(FakeSession())
    visitor = page.visitors.enter("visitor")
    page.visitors.leave("visitor")
    assert visitor.stop.is_set()
    assert len(page.visitors) == 0


def test_of_too_many_visitors_the_idlest_is_forgotten_and_never_one_who_runs() -> None:
    visitors = Handlers(FakeSession()).visitors
    visitors.enter("runs").is_running = True
    kept = visitors.enter("comes back")
    for number in range(MAX_VISITORS):
        visitors.enter(f"visitor {number}")
        assert visitors.enter("comes back") is kept
    assert len(visitors) == MAX_VISITORS
    assert visitors.enter("runs").is_running


def test_the_charts_can_be_had_before_any_run() -> None:
    value = json.loads(handlers(FakeSession()).charts("new", "it"))
    assert {"timeline", "latency", "speed", "memory"} <= {chart["key"] for chart in value["charts"]}
    assert value["why"] == []


def test_a_verdict_can_be_had_while_the_race_runs_and_after_it() -> None:
    page = handlers(FakeSession())
    place = TokenPlace("normal", 0, 0)
    assert page.verdict("visitor", place, "en") == ""
    race = page.race("visitor", FORM, "en", ())
    for _ in race:
        if page.verdict("visitor", place, "en"):
            break
    list(race)
    assert json.loads(page.verdict("visitor", place, "en"))["outcome"] == "normal"


def test_steps_make_one_pass_each_and_end_like_any_race() -> None:
    page = handlers(FakeSession())
    race = page.step_race("visitor", FORM, "en", ())
    rounds = []
    for update in race:
        rounds.append((update.stream or "").count('["round"'))
        page.step("visitor")
    assert max(later - earlier for earlier, later in pairwise(rounds[:-1])) == 1
    assert update.is_running is False
    assert page.step("visitor") is False


def test_a_pause_that_outlasts_its_patience_stops_the_run_and_keeps_its_numbers() -> None:
    page = handlers(FakeSession())
    pace = Pace(patience_seconds=0.0)
    for _ in range(9):
        pace.step()
    *_, last = page.race("visitor", FORM, "en", (), pace=pace)
    assert status(last)["word"] == "status_stopped"
    assert "totals" in (last.stream or "")


def test_without_a_run_there_is_nothing_to_step_or_pause() -> None:
    page = handlers(FakeSession())
    assert page.step("visitor") is False
    assert page.toggle_pause("visitor") is None


def test_a_run_that_takes_too_long_is_stopped_for_the_others() -> None:
    page = Handlers(FakeSession(), clock=FakeClock(step=200.0))
    *_, last = page.race("visitor", FORM, "en", ())
    assert status(last)["word"] == "status_stopped"


def test_the_log_tells_of_runs_that_were_left_or_refused(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="specdemo")
    race = handlers(FakeSession()).race("visitor", FORM, "en", ())
    next(race), next(race)
    race.close()  # type: ignore[attr-defined]
    refusing = handlers(FakeSession(fails_with=InvalidRequestError("No.")))
    list(refusing.race("visitor", FORM, "en", ()))
    outcomes = [json.loads(r.getMessage().removeprefix("run "))["outcome"] for r in caplog.records]
    assert outcomes == ["left", "InvalidRequestError"]


def test_the_log_has_a_line_for_each_run_and_no_prompt(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="specdemo")
    list(handlers(FakeSession()).race("visitor", FORM, "en", ()))
    (line,) = [record.getMessage() for record in caplog.records]
    told = json.loads(line.removeprefix("run "))
    assert told["outcome"] == "finished"
    assert told["prompt"] == len(str(FORM.prompt))
    assert told["normal"]["finish_reason"] == "max_new_tokens"
    assert str(FORM.prompt) not in line
