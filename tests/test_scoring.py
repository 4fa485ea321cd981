from __future__ import annotations

import math
from threading import Event

import pytest
import torch
from transformers import AutoModelForCausalLM

from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.conversion import converted_folder
from specdemo.scoring import draft_and_score, score_of
from specdemo.session import DecodeRequest, DecodeSession, ScoredToken
from specdemo.session.race import run_through
from specdemo.settings import read_settings
from tests.session.fakes import hold, table_pair
from tests.ui.fakes import FakeSession

REQUEST = DecodeRequest("Why is the sky blue?", max_new_tokens=40)


def token(log_prob: float | None, best: float | None = None, *, is_answer: bool) -> ScoredToken:
    return ScoredToken(1, "x", is_answer, log_prob, 2, "y", best if best else log_prob)


def test_the_tutorial_counts_the_prompt_and_the_answer_stands_beside() -> None:
    score = score_of(
        [
            token(None, is_answer=False),
            token(-3.0, is_answer=False),
            token(-1.0, is_answer=True),
            token(-2.0, -0.5, is_answer=True),
        ]
    )
    assert score.average_log_likelihood == pytest.approx(-2.0)
    assert score.answer_average_log_likelihood == pytest.approx(-1.5)
    assert score.perplexity == pytest.approx(math.exp(2.0))
    assert score.answer_perplexity == pytest.approx(math.exp(1.5))
    assert (score.num_answer_tokens, score.first_difference) == (2, 1)


def test_an_empty_answer_has_no_average_of_its_own() -> None:
    score = score_of([token(None, is_answer=False), token(-1.0, is_answer=False)])
    assert score.average_log_likelihood == -1.0
    assert (score.answer_average_log_likelihood, score.first_difference) == (None, None)
    nothing = score_of([token(None, is_answer=False)])
    assert (nothing.average_log_likelihood, nothing.perplexity) == (None, None)


def test_a_tie_for_the_first_choice_is_no_other_choice() -> None:
    assert score_of([token(-0.7, -0.7, is_answer=True)]).first_difference is None


def test_first_the_draft_then_its_score_then_both_ways_to_decode() -> None:
    states = list(draft_and_score(FakeSession(), REQUEST, Event()))
    kinds = [(s.score is not None, s.race is not None) for s in states]
    assert list(dict.fromkeys(kinds)) == [(False, False), (True, False), (True, True)]
    assert states[-1].is_finished


def test_stop_while_the_draft_writes_leaves_the_draft() -> None:
    stop = Event()
    for state in draft_and_score(FakeSession(), REQUEST, stop):
        if len(state.draft.trace.token_ids) == 5:
            stop.set()
    assert len(state.draft.trace.token_ids) == 5
    assert (state.scored, state.race) == (None, None)


def test_a_real_session_scores_what_its_draft_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    session = DecodeSession(read_settings({}))
    hold(session, table_pair(), monkeypatch)
    request = DecodeRequest("hello", is_chat=False, max_new_tokens=12)
    *_, last = draft_and_score(session, request, Event())
    assert last.is_finished
    assert last.race is not None
    assert last.draft.trace.token_ids != last.race.normal.trace.token_ids, "the draft's own text"
    assert last.race.normal.trace.token_ids == last.race.speculative.trace.token_ids


@pytest.mark.slow
def test_the_bundled_pair_scores_as_transformers_does() -> None:
    settings = read_settings()
    prompt = "Machine learning is transforming the world by "
    request = DecodeRequest(prompt, is_chat=False, precision="float32", max_new_tokens=30)
    states = draft_and_score(DecodeSession(settings), request, Event())
    scored = next(state for state in states if state.scored is not None)
    assert scored.scored is not None
    assert scored.score is not None
    token_ids = torch.tensor([[t.token_id for t in scored.scored.tokens]])
    folder = run_through(converted_folder(SMOLLM2_135M.target, settings.cache_folder))  # type: ignore[arg-type]
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        logits = model(token_ids).logits[0, :-1]
    loss = torch.nn.functional.cross_entropy(logits, token_ids[0, 1:]).item()
    assert scored.score.average_log_likelihood == pytest.approx(-loss, abs=1e-5)
