from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import ModelDrafter, NgramDrafter, NoDrafter
from specdemo.engine.generation import cut_at_end, generate
from specdemo.engine.protocols import Drafter
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.events import (
    DecodeEvent,
    DecodeFinished,
    FinishReason,
    JudgedToken,
    PrefillFinished,
    RoundVerified,
    TokenDrafted,
    TokenOutcome,
)
from specdemo.trace import RunTrace, advance
from tests.fakes import FakeClock, ScriptedDrafter, TableRunner, chain, random_table

# One in a million; seeds are fixed, so the tests do not flicker.
FALSE_ALARM_RATE = 1e-6


def run(
    table: torch.Tensor,
    drafter: Drafter,
    *,
    prompt: Sequence[int] = (0,),
    num_draft_tokens: int = 3,
    max_new_tokens: int = 6,
    ends: frozenset[int] = frozenset(),
    sampler: Sampler | None = None,
    target: TableRunner | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[DecodeEvent]:
    return list(
        generate(
            target or TableRunner(table),
            drafter,
            sampler or Sampler(SamplingParams(), 0),
            prompt,
            draft_length=FixedLength(num_draft_tokens),
            max_new_tokens=max_new_tokens,
            end_token_ids=ends,
            should_stop=should_stop,
        )
    )


def trace_of(events: Sequence[DecodeEvent]) -> RunTrace:
    trace = RunTrace()
    for event in events:
        trace = advance(trace, event)
    return trace


def model_drafter(table: torch.Tensor, sampler: Sampler) -> ModelDrafter:
    return ModelDrafter(TableRunner(table), sampler)


def test_normal_decoding_is_one_token_a_round() -> None:
    trace = trace_of(run(chain(5), NoDrafter()))
    assert trace.token_ids == (1, 2, 3, 4, 0, 1)
    assert {t.outcome for t in trace.output_tokens} == {TokenOutcome.NORMAL}
    assert len(trace.rounds) == 6


def test_a_draft_equal_to_the_target_is_always_accepted() -> None:
    sampler = Sampler(SamplingParams(), 0)
    trace = trace_of(run(chain(5), model_drafter(chain(5), sampler), max_new_tokens=8))
    assert trace.token_ids == (1, 2, 3, 4, 0, 1, 2, 3)
    assert [len(r.output_tokens) for r in trace.rounds] == [4, 4]


@given(
    st.integers(2, 30), st.integers(0, 2**31), st.integers(0, 9), st.integers(1, 20), st.booleans()
)
def test_greedy_speculative_output_is_greedy_normal_output(
    vocab_size: int, seed: int, num_draft_tokens: int, max_new_tokens: int, is_ngram: bool
) -> None:
    table = random_table(vocab_size, seed)
    sampler = Sampler(SamplingParams(), 0)
    drafter: Drafter = (
        NgramDrafter(vocab_size, max_ngram=2, min_ngram=1)
        if is_ngram
        else model_drafter(table + random_table(vocab_size, seed + 1), sampler)
    )
    common = {"prompt": [0, 1, 0], "max_new_tokens": max_new_tokens, "ends": frozenset({1})}
    normal = run(table, NoDrafter(), **common)
    speculative = run(table, drafter, num_draft_tokens=num_draft_tokens, **common)
    assert trace_of(speculative).token_ids == trace_of(normal).token_ids
    assert speculative[-1] == normal[-1]


@pytest.mark.parametrize("num_draft_tokens", [0, 1, 3, 8])
@pytest.mark.parametrize(
    "params",
    [SamplingParams(1.0), SamplingParams(0.8, top_k=3), SamplingParams(1.2, top_p=0.7)],
    ids=["plain", "top-k", "top-p"],
)
def test_two_tokens_follow_the_targets_joint_distribution(
    num_draft_tokens: int, params: SamplingParams
) -> None:
    """χ² over the pairs of 4,000 runs; false alarm 10⁻⁶. The truncated supports differ."""
    table, draft_table = random_table(5, seed=11), random_table(5, seed=12)
    sampler = Sampler(params, 5)
    pairs: Counter[tuple[int | None, ...]] = Counter()
    for _ in range(4000):
        drafter = model_drafter(draft_table, sampler)
        events = run(
            table, drafter, num_draft_tokens=num_draft_tokens, max_new_tokens=2, sampler=sampler
        )
        pairs[trace_of(events).token_ids] += 1
    rows = [d.dense().double() for d in Sampler(params, 0).warp(table, [])]
    expected = {(a, b): float(rows[0][a] * rows[a][b]) for a in range(5) for b in range(5)}
    assert all(expected[pair] > 0 for pair in pairs)  # type: ignore[index]
    likely = {pair: share * 4000 for pair, share in expected.items() if share * 4000 >= 5}
    observed = [*(pairs[pair] for pair in likely)]
    rest, rest_expected = 4000 - sum(observed), 4000 - sum(likely.values())
    if rest_expected >= 5:
        observed, likely = [*observed, rest], {**likely, (-1, -1): rest_expected}
    scale = sum(observed) / sum(likely.values())
    assert chisquare(observed, [e * scale for e in likely.values()]).pvalue > FALSE_ALARM_RATE


def test_the_targets_cache_lags_the_sequence_by_one_token() -> None:
    target = TableRunner(random_table(9, 3))
    sampler = Sampler(SamplingParams(), 0)
    draft = TableRunner(random_table(9, 4))
    length = 3
    for event in generate(
        target, ModelDrafter(draft, sampler), sampler, [0, 1, 2],
        draft_length=FixedLength(4), max_new_tokens=20, end_token_ids=frozenset(),
    ):  # fmt: skip
        if isinstance(event, RoundVerified):
            length += len(event.round.output_tokens)
            assert target.num_cached_tokens == length - 1
            assert length - 2 <= draft.num_cached_tokens <= length - 1


def test_both_caches_hold_the_sequence_and_nothing_refused() -> None:
    target, draft = TableRunner(random_table(9, 3)), TableRunner(random_table(9, 4))
    sampler = Sampler(SamplingParams(), 0)
    sequence = [0, 1, 2]
    for event in generate(
        target, ModelDrafter(draft, sampler), sampler, sequence,
        draft_length=FixedLength(4), max_new_tokens=20, end_token_ids=frozenset(),
    ):  # fmt: skip
        if isinstance(event, RoundVerified):
            sequence = [*sequence, *(t.token_id or 0 for t in event.round.output_tokens)]
            assert target.cached == sequence[:-1]
            assert draft.cached == sequence[: len(draft.cached)]


def test_the_text_ends_at_the_first_end_token_inside_a_draft() -> None:
    drafter = ScriptedDrafter([[1, 2, 3, 4]], 9)
    events = run(chain(9), drafter, num_draft_tokens=4, ends=frozenset({2}))
    trace = trace_of(events)
    assert trace.token_ids == (1, 2)
    assert [t.outcome.value for t in trace.rounds[0].judged] == [
        "accepted", "accepted", "untested", "untested",
    ]  # fmt: skip
    assert events[-1] == DecodeFinished(FinishReason.END_OF_TEXT)


def test_a_refused_token_behind_the_end_was_never_judged() -> None:
    kept = JudgedToken(2, TokenOutcome.ACCEPTED)
    refused = JudgedToken(5, TokenOutcome.REJECTED, target_prob=0.1, draft_prob=0.5, draw=0.9)
    drawn = JudgedToken(6, TokenOutcome.RESAMPLED)
    cut = cut_at_end((kept, refused, drawn), frozenset({2}))
    assert cut == (kept, JudgedToken(5, TokenOutcome.UNTESTED, draft_prob=0.5))


@given(st.integers(1, 12), st.integers(0, 12))
def test_an_answer_never_exceeds_max_new_tokens(max_new_tokens: int, num_draft_tokens: int) -> None:
    sampler = Sampler(SamplingParams(), 0)
    target = TableRunner(chain(5))
    events = run(
        chain(5), model_drafter(chain(5), sampler), target=target,
        num_draft_tokens=num_draft_tokens, max_new_tokens=max_new_tokens,
    )  # fmt: skip
    assert len(trace_of(events).token_ids) == max_new_tokens
    assert target.longest_pass <= min(num_draft_tokens + 1, max_new_tokens)
    assert events[-1] == DecodeFinished(FinishReason.MAX_NEW_TOKENS)


def test_stop_ends_the_run_before_the_next_pass_and_keeps_what_was_decided() -> None:
    target = TableRunner(chain(5))
    events = run(
        chain(5), NoDrafter(), target=target, should_stop=lambda: target.num_cached_tokens >= 2
    )
    assert events[-1] == DecodeFinished(FinishReason.STOPPED)
    assert trace_of(events).token_ids == (1, 2)


def test_each_forward_pass_is_one_event() -> None:
    drafter = ScriptedDrafter([[1, 2], [9]], 12)
    kinds = [type(e) for e in run(chain(12), drafter, num_draft_tokens=2, max_new_tokens=4)]
    assert kinds == [
        PrefillFinished,
        TokenDrafted, TokenDrafted, RoundVerified,
        RoundVerified,
        DecodeFinished,
    ]  # fmt: skip


def test_no_time_span_contains_the_readers_time() -> None:
    clock = FakeClock()
    sampler = Sampler(SamplingParams(), 0)
    target, draft = TableRunner(chain(7), clock, 10.0), TableRunner(chain(7), clock, 1.0)
    trace = RunTrace()
    for event in generate(
        target, ModelDrafter(draft, sampler, clock), sampler, [0, 1],
        draft_length=FixedLength(3), max_new_tokens=8, end_token_ids=frozenset(), clock=clock,
    ):  # fmt: skip
        trace = advance(trace, event)
        clock.now += 1000.0  # the reader draws for a long time
    assert trace.prefill == PrefillFinished(2, 10.0, 1.0, 0.0)
    assert [(r.draft_seconds, r.verify_seconds, r.overhead_seconds) for r in trace.rounds] == [
        (3.0, 10.0, 0.0),
        (3.0, 10.0, 0.0),
    ]
    assert trace.seconds == 11.0 + 26.0


def test_alternatives_stand_with_the_position_they_were_judged_at() -> None:
    drafter = ScriptedDrafter([[1, 5, 6]], 9)
    trace = trace_of(run(chain(9), drafter, num_draft_tokens=3, max_new_tokens=4))
    likeliest = [t.target_top[0].token_id if t.target_top else None for t in trace.rounds[0].judged]
    assert likeliest == [1, 2, None, 2]


def test_an_answer_without_room_is_a_prefill_and_its_end() -> None:
    target = TableRunner(chain(5))
    kinds = [type(e) for e in run(chain(5), NoDrafter(), target=target, max_new_tokens=0)]
    assert kinds == [PrefillFinished, DecodeFinished]
    assert target.num_cached_tokens == 0
