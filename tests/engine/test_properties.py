"""What holds for every table model, every draft length and wherever a run is stopped."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specdemo.engine.distribution import Dense, residual
from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import ModelDrafter, NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.events import DecodeFinished, FinishReason, Round, TokenOutcome
from specdemo.metrics import run_metrics
from specdemo.trace import RunTrace, advance
from tests.fakes import FakeClock, TableRunner

A, R, U = TokenOutcome.ACCEPTED, TokenOutcome.REJECTED, TokenOutcome.UNTESTED


@dataclass(frozen=True)
class World:
    """Two table models and how to run them."""

    target: torch.Tensor
    draft: torch.Tensor
    params: SamplingParams
    num_draft_tokens: int
    max_new_tokens: int
    ends: frozenset[int]
    seed: int


@st.composite
def tables(draw: st.DrawFn, vocab_size: int) -> torch.Tensor:
    """Logits (V, V): random, flat, sure of one token, or with impossible tokens."""
    chance = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    kind = draw(st.sampled_from(["random", "flat", "sure", "cut"]))
    table = 2.0 * torch.randn(vocab_size, vocab_size, generator=chance)
    if kind == "flat":
        return torch.zeros(vocab_size, vocab_size)
    if kind == "sure":
        return 100.0 * table
    if kind == "cut":
        is_cut = torch.rand(vocab_size, vocab_size, generator=chance) < 0.7
        is_cut[:, draw(st.integers(0, vocab_size - 1))] = False
        return table.masked_fill(is_cut, -torch.inf)
    return table


@st.composite
def worlds(draw: st.DrawFn, *, greedy: bool = False) -> World:
    vocab_size = draw(st.integers(2, 50))
    target = draw(tables(vocab_size))
    draft = target if draw(st.booleans()) else draw(tables(vocab_size))
    temperature = 0.0 if greedy else draw(st.sampled_from([0.3, 1.0, 2.0]))
    params = SamplingParams(
        temperature, draw(st.sampled_from([0, 1, 3])), draw(st.sampled_from([0.5, 0.9, 1.0]))
    )
    ends = draw(st.frozensets(st.integers(0, vocab_size - 1), max_size=1))
    return World(
        target, draft, params, draw(st.integers(0, 12)), draw(st.integers(1, 20)), ends,
        draw(st.integers(0, 1000)),
    )  # fmt: skip


def traced(world: World, *, is_normal: bool = False, num_passes: int | None = None) -> RunTrace:
    """A run to its end, or stopped after so many passes of either model."""
    sampler = Sampler(world.params, world.seed)
    clock = FakeClock()
    target = TableRunner(world.target, clock)
    draft = TableRunner(world.draft, clock)
    limit = float("inf") if num_passes is None else num_passes
    drafter = NoDrafter() if is_normal else ModelDrafter(draft, sampler, clock)
    trace = RunTrace()
    for event in generate(
        target, drafter, sampler, [0],
        draft_length=FixedLength(world.num_draft_tokens), max_new_tokens=world.max_new_tokens,
        end_token_ids=world.ends, should_stop=lambda: clock.now >= limit, clock=clock,
    ):  # fmt: skip
        assert trace.finish_reason is None
        trace = advance(trace, event)
        assert not isinstance(event, DecodeFinished) or trace.finish_reason is event.reason
    return trace


@settings(max_examples=150, deadline=None)
@given(worlds(greedy=True))
def test_greedy_output_is_the_normal_one_token_for_token(world: World) -> None:
    fast, normal = traced(world), traced(world, is_normal=True)
    assert fast.token_ids == normal.token_ids
    assert fast.finish_reason is normal.finish_reason


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_every_round_is_a_kept_draft_then_one_token_of_the_targets(world: World) -> None:
    trace = traced(world)
    for finished in trace.rounds:
        kept = list(takewhile(lambda token: token.outcome is A, finished.judged))
        rest = finished.judged[len(kept) :]
        assert len(kept) == finished.num_accepted_tokens
        check_rest(finished, world)
        for token in finished.judged:
            if token.outcome in (A, R):
                assert token.draw is not None
                assert token.draft_prob is not None
                assert token.target_prob is not None
                assert token.draft_prob > 0
                assert (token.outcome is A) == (token.draw * token.draft_prob < token.target_prob)
            if token.outcome.is_output:
                assert token.target_prob is not None
                assert token.target_prob > 0
            else:
                assert token in rest


def check_rest(finished: Round, world: World) -> None:
    """Behind the kept tokens: a refusal with its replacement, a bonus, or the end of the text."""
    outcomes = [token.outcome for token in finished.judged]
    rest = outcomes[finished.num_accepted_tokens :]
    last = finished.output_tokens[-1].token_id
    if rest and rest[0] is R:
        assert rest[1:-1] == [U] * (len(rest) - 2)
        assert rest[-1] is TokenOutcome.RESAMPLED
    elif rest and rest[0] is U:
        assert set(rest) == {U}
        assert last in world.ends
    elif rest:
        has_draft = len(outcomes) > 1
        assert rest == [TokenOutcome.BONUS if has_draft else TokenOutcome.NORMAL]
    else:
        assert last in world.ends


@settings(max_examples=150, deadline=None)
@given(worlds(), st.integers(0, 40))
def test_stopped_anywhere_what_was_decided_stays(world: World, num_passes: int) -> None:
    whole, part = traced(world), traced(world, num_passes=num_passes)
    assert part.rounds == whole.rounds[: len(part.rounds)]
    if part.finish_reason is FinishReason.STOPPED:
        assert len(part.rounds) < len(whole.rounds)
    else:
        assert part == whole


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_a_run_ends_where_it_must_and_every_token_is_counted_once(world: World) -> None:
    trace = traced(world)
    token_ids = trace.token_ids
    assert 1 <= len(token_ids) <= world.max_new_tokens
    assert not world.ends & set(token_ids[:-1])
    has_ended = token_ids[-1] in world.ends
    assert trace.finish_reason is (
        FinishReason.END_OF_TEXT if has_ended else FinishReason.MAX_NEW_TOKENS
    )
    metrics = run_metrics(trace)
    judged = [token.outcome for finished in trace.rounds for token in finished.judged]
    assert metrics.num_output_tokens == len(token_ids)
    if judged.count(A) + judged.count(R):
        tested = judged.count(A) + judged.count(R)
        assert metrics.acceptance_rate == judged.count(A) / tested
        assert metrics.draft_acceptance_rate == judged.count(A) / (tested + judged.count(U))
    assert metrics.mean_acceptance_length == len(token_ids) / len(trace.rounds)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(2, 50))
def test_what_is_kept_and_what_is_replaced_add_up_to_the_target(
    data: st.DataObject, vocab_size: int
) -> None:
    """min(p, q) is kept; the rest of q, redrawn from the residual, makes it p."""
    target, draft = (Dense(data.draw(tables(vocab_size))[0].softmax(-1).float()) for _ in range(2))
    kept = torch.minimum(target.probs, draft.probs)
    total = kept + (1 - kept.sum()) * residual(target, draft).dense()
    assert torch.allclose(total, target.probs, atol=2e-6)
