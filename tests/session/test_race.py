from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from threading import Event

import pytest
import torch

from specdemo.errors import InvalidRequestError, PromptTooLongError, SpecdemoError
from specdemo.events import FinishReason
from specdemo.metrics import compare, run_metrics
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.loading import LoadedSpec, ModelPair
from specdemo.session import race as race_module
from specdemo.session.race import DecodeSession, encode_prompt, race, warm_up
from specdemo.session.request import DecodeRequest
from specdemo.settings import read_settings
from specdemo.trace import Snapshot
from tests.fakes import TableRunner, random_table
from tests.models.test_tokenization import byte_tokenizer

VOCAB = 257


class SizedTable(TableRunner):
    """A table model with a cache of one byte a token."""

    cache_bytes = property(lambda self: 100)
    cache_used_bytes = property(lambda self: len(self.cached))


def table_pair(make_target: Callable[[int], SizedTable] | None = None) -> ModelPair:
    """A pair of table models over single bytes."""
    table = random_table(VOCAB, 1)
    return ModelPair(
        spec=LoadedSpec(SMOLLM2_135M, "cpu", "bfloat16"),
        tokenizer=byte_tokenizer(),
        vocab_size=VOCAB,
        context_length=200,
        num_threads=1,
        target_weights_bytes=1000,
        draft_weights_bytes=10,
        new_target_runner=make_target or (lambda capacity: SizedTable(table)),
        new_draft_runner=lambda capacity: SizedTable(table + random_table(VOCAB, 2)),
    )


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> DecodeSession:
    """A session whose store holds the table pair."""
    session = DecodeSession(read_settings({}))
    hold(session, table_pair(), monkeypatch)
    return session


def hold(session: DecodeSession, pair: ModelPair, monkeypatch: pytest.MonkeyPatch) -> None:
    session._store._pair = pair
    monkeypatch.setattr(race_module, "loaded_spec", lambda *names: pair.spec)
    monkeypatch.setattr(race_module, "spec_of", lambda request: pair.spec)


def finish(session: DecodeSession, request: DecodeRequest, stop: Event | None = None) -> Snapshot:
    *_, last = session.run(request, stop or Event())
    return last


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


def test_an_abandoned_run_gives_the_device_up(session: DecodeSession) -> None:
    """A tab that is closed drops the generator without a word."""
    abandoned = session.run(DecodeRequest(prompt="hello"), Event())
    next(abandoned)
    del abandoned
    gc.collect()
    assert finish(session, DecodeRequest(prompt="hello", max_new_tokens=4)).is_finished


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
