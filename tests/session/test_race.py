from __future__ import annotations

from dataclasses import replace
from threading import Event

import pytest

from specdemo.errors import InvalidRequestError, PromptTooLongError
from specdemo.events import FinishReason
from specdemo.metrics import compare, run_metrics
from specdemo.session import DecodeRequest, DecodeSession
from specdemo.session.race import encode_prompt, race, warm_up
from specdemo.trace import Snapshot
from tests.session.fakes import finish, table_pair


@pytest.mark.parametrize("order", ["race", "one_after_another"])
@pytest.mark.parametrize("draft_source", ["model", "ngram", "none"])
def test_both_lanes_end_with_the_same_greedy_answer(
    session: DecodeSession, draft_source: str, order: str
) -> None:
    request = DecodeRequest(
        prompt="hello", draft_source=draft_source, order=order, max_new_tokens=30
    )
    last = finish(session, request)
    assert last.is_finished
    assert compare(last).same_output is True
    assert last.normal.text == last.speculative.text


def test_the_lane_whose_clock_is_behind_takes_the_next_step(session: DecodeSession) -> None:
    before: Snapshot | None = None
    for snapshot in session.run(DecodeRequest(prompt="hello", max_new_tokens=20), Event()):
        if before and not (
            before.normal.trace.finish_reason or before.speculative.trace.finish_reason
        ):
            was_behind = before.normal.trace.seconds <= before.speculative.trace.seconds
            assert (snapshot.normal is not before.normal) == was_behind
        before = snapshot


def test_one_after_another_finishes_the_normal_lane_first(session: DecodeSession) -> None:
    request = DecodeRequest(prompt="hello", max_new_tokens=9, order="one_after_another")
    for snapshot in session.run(request, Event()):
        assert snapshot.normal.trace.finish_reason or not snapshot.speculative.trace.rounds


def test_stop_leaves_correct_partial_runs_within_one_pass(session: DecodeSession) -> None:
    stop = Event()
    count_at_stop = 0
    snapshots = session.run(DecodeRequest(prompt="hello", max_new_tokens=100), stop)
    for snapshot in snapshots:
        if not stop.is_set() and len(snapshot.normal.trace.token_ids) == 5:
            stop.set()
            count_at_stop = len(snapshot.speculative.trace.token_ids)
    assert snapshot.is_finished
    assert {snapshot.normal.trace.finish_reason, snapshot.speculative.trace.finish_reason} == {
        FinishReason.STOPPED
    }
    assert len(snapshot.normal.trace.token_ids) == 5
    assert len(snapshot.speculative.trace.token_ids) == count_at_stop
    assert compare(snapshot).same_output is True
    assert run_metrics(snapshot.normal.trace).tokens_per_second


def test_the_same_seed_gives_the_same_run_and_another_seed_another(session: DecodeSession) -> None:
    def answer(seed: int) -> tuple[int | None, ...]:
        # An adaptive length follows the clock, and with it the order of the draws.
        request = DecodeRequest(
            "hello", temperature=1.0, seed=seed, max_new_tokens=30, draft_length="fixed"
        )
        return finish(session, request).speculative.trace.token_ids

    assert answer(1) == answer(1) != answer(2)


def test_sampled_runs_claim_no_equal_output(session: DecodeSession) -> None:
    last = finish(session, DecodeRequest(prompt="hello", temperature=1.0, max_new_tokens=8))
    assert compare(last).same_output is None


def test_pieces_stand_beside_their_tokens(session: DecodeSession) -> None:
    last = finish(session, DecodeRequest(prompt="hello", max_new_tokens=30))
    lane = last.speculative
    assert [len(p) for p in lane.pieces] == [len(r.judged) for r in lane.trace.rounds]
    spoken = [
        piece
        for finished, pieces in zip(lane.trace.rounds, lane.pieces)
        for token, piece in zip(finished.judged, pieces)
        if token.outcome.is_output
    ]
    whole = "".join(spoken)
    assert lane.text.rstrip("\ufffd").startswith(whole[: len(lane.text) // 2])


def test_every_alternative_and_every_prompt_token_has_its_text(session: DecodeSession) -> None:
    last = finish(session, DecodeRequest("hi", temperature=0.7, max_new_tokens=8))
    judged = [t for r in last.speculative.trace.rounds for t in r.judged]
    named = {a.token_id for t in judged for a in (*t.target_top, *t.draft_top, *t.residual_top)}
    assert named
    assert named <= set(last.words.by_token_id)
    prefill = last.normal.trace.prefill
    assert prefill
    assert len(last.words.prompt_pieces) == prefill.num_prompt_tokens
    assert last.settings.prompt == "hi"


def test_memory_is_weights_and_caches_of_this_lane_only(session: DecodeSession) -> None:
    last = finish(session, DecodeRequest(prompt="hello", max_new_tokens=8))
    assert last.normal.memory[-1].draft_weights_bytes == 0
    assert last.normal.memory[-1].draft_cache_bytes == 0
    assert last.speculative.memory[-1].draft_weights_bytes == 10
    assert last.speculative.memory[-1].target_weights_bytes == 1000


def test_a_prompt_beyond_the_context_window_says_by_how_much(session: DecodeSession) -> None:
    with pytest.raises(PromptTooLongError, match="62 more than the context window of 200"):
        finish(session, DecodeRequest(prompt="x" * 162, is_chat=False, max_new_tokens=100))
    assert finish(session, DecodeRequest(prompt="hello", max_new_tokens=4)).is_finished


def test_a_prompt_of_one_token_runs() -> None:
    pair = table_pair()
    request = DecodeRequest(prompt="x", is_chat=False, max_new_tokens=4)
    assert len(encode_prompt(pair, request)) == 1
    *_, last = race(pair, request, [3], lambda: False)
    assert last.is_finished


def test_a_pair_without_a_draft_wants_n_grams(session: DecodeSession) -> None:
    pair = replace(table_pair(), new_draft_runner=None)
    request = DecodeRequest(prompt="hello", max_new_tokens=4, draft_source="ngram")
    *_, last = race(pair, request, [3, 4], lambda: False)
    assert last.is_finished
    with pytest.raises(InvalidRequestError, match="choose n-gram lookup"):
        list(race(pair, replace(request, draft_source="hybrid"), [3, 4], lambda: False))
    warm_up(pair)


def test_a_token_that_the_models_do_not_share_cannot_be_asked_about() -> None:
    pair = replace(table_pair(), vocab_size=60)
    with pytest.raises(InvalidRequestError, match="special token"):
        encode_prompt(pair, DecodeRequest(prompt="x" * 5, is_chat=False))
