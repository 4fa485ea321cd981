from __future__ import annotations

from dataclasses import replace

import pytest

from specdemo.events import (
    JudgedToken,
    PrefillFinished,
    Round,
    RoundVerified,
    TokenDrafted,
    TokenOutcome,
)
from specdemo.trace import RunTrace, advance
from tests.traces import race_of, run

PREFILL = PrefillFinished(3, 1.0, 0.5, 0.25)
DRAFTED = TokenDrafted(0, 7, 0.5, 0.125)
KEPT = JudgedToken(7, TokenOutcome.ACCEPTED)
ROUND = Round(0, (KEPT, JudgedToken(8, TokenOutcome.BONUS)), 0.5, 2.0, 0.5)


def test_drafted_tokens_are_pending_until_their_round_is_verified() -> None:
    drafted = advance(advance(RunTrace(), PREFILL), DRAFTED)
    assert drafted.pending == (DRAFTED,)
    assert drafted.token_ids == ()
    verified = advance(drafted, RoundVerified(ROUND))
    assert verified.pending == ()
    assert verified.token_ids == (7, 8)


def test_the_clock_counts_each_second_once() -> None:
    trace = advance(RunTrace(), PREFILL)
    assert trace.seconds == 1.75
    trace = advance(trace, DRAFTED)
    assert trace.seconds == 1.875
    # The round's seconds hold those of its draft.
    assert advance(trace, RoundVerified(ROUND)).seconds == 1.75 + 3.0


def test_an_earlier_trace_is_left_as_it_was() -> None:
    before = advance(RunTrace(), PREFILL)
    advance(before, DRAFTED)
    assert before.pending == ()


def test_what_is_no_event_is_refused() -> None:
    with pytest.raises(AssertionError):
        advance(RunTrace(), "token")  # type: ignore[arg-type]


def test_a_race_is_finished_when_both_lanes_have_ended() -> None:
    ended = run("ab")
    running = replace(ended, finish_reason=None)
    assert race_of(ended, ended).is_finished
    assert not race_of(ended, running).is_finished
    assert not race_of(running, ended).is_finished


def test_only_temperature_zero_is_greedy() -> None:
    assert race_of(RunTrace(), RunTrace()).is_greedy
    assert not race_of(RunTrace(), RunTrace(), temperature=0.1).is_greedy
