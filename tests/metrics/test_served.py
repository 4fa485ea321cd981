"""Numbers of answers that a server gave: what a client saw, and what the server counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specdemo import metrics
from specdemo.events import DraftsTold, PrefillFinished, ServerSteps
from specdemo.metrics import diagnose
from specdemo.trace import RunTrace, advance
from tests.traces import race_of, run


def served(*rounds: str, waits: tuple[float, ...], steps: ServerSteps | None = None) -> RunTrace:
    """A run whose rounds are known only by how long they took; the prompt took half a second."""
    local = run(*rounds)
    return replace(
        local,
        prefill=PrefillFinished(5, None, None, None, 0.5),
        rounds=tuple(
            replace(
                finished, draft_seconds=None, verify_seconds=None, overhead_seconds=None,
                waited_seconds=wait,
            )
            for finished, wait in zip(local.rounds, waits, strict=True)
        ),
        steps=steps,
    )  # fmt: skip


NOTHING = ServerSteps((), ())
NORMAL = served("n", "n", "n", waits=(0.0, 0.2, 0.2), steps=NOTHING)
FAST = served("n", "arus", waits=(0.0, 0.3), steps=ServerSteps((3,), (1,)))


def test_the_clock_is_what_the_client_waited() -> None:
    assert FAST.seconds == pytest.approx(0.8)
    assert metrics.time_to_first_token_seconds(FAST) == 0.5
    assert metrics.token_times(FAST) == pytest.approx((0.5, 0.8, 0.8))
    # The first token came with the end of the prompt: it has no time of its own.
    assert metrics.per_token_seconds(FAST) == pytest.approx((0.15, 0.15))


def test_what_is_not_observed_is_no_number() -> None:
    assert metrics.run_metrics(FAST).overhead_rate is None
    assert metrics.round_costs(NORMAL, FAST) is None
    assert FAST.rounds[0].split is None
    shares = metrics.time_shares(FAST)
    assert (shares.draft_seconds, shares.verify_seconds, shares.overhead_seconds) == (0, 0, 0)
    assert (shares.prefill_seconds, shares.waited_seconds) == (0.5, 0.3)
    assert shares.seconds == FAST.seconds


def test_why_says_no_more_than_was_seen() -> None:
    found = diagnose(race_of(NORMAL, FAST))
    assert found.verdict.key == "why_served"
    assert found.verdict.values["speedup"] == pytest.approx(0.9 / 0.8)
    assert (found.costs, found.advice) == ((), None)


def test_a_step_that_kept_its_whole_draft_tested_no_more_than_that() -> None:
    trace = served("n", "aaab", waits=(0.0, 0.1), steps=ServerSteps((3,), (3,)))
    numbers = metrics.run_metrics(trace)
    assert (numbers.num_tested_tokens, numbers.num_accepted_tokens) == (3, 3)


def test_the_servers_counts_hold_where_a_refusal_has_no_place() -> None:
    # The third of five steps kept two of three; where the wholly refused draft stood is unknown.
    steps = ServerSteps((3, 3), (2, 0))
    trace = served("n", "n", "aars", "n", "n", waits=(0.0, 0.1, 0.2, 0.1, 0.1), steps=steps)
    numbers = metrics.run_metrics(trace)
    assert (numbers.num_draft_tokens, numbers.num_tested_tokens) == (6, 4)
    assert numbers.num_accepted_tokens == 2
    assert numbers.draft_acceptance_rate == pytest.approx(1 / 3)
    assert numbers.mean_acceptance_length == pytest.approx(7 / 5)
    assert numbers.drafted_mean_acceptance_length == 2.0
    assert metrics.accepted_histogram(trace) == (1, 0, 1, 0)
    places = metrics.acceptance_by_position(trace)
    assert [(p.num_tested_tokens, p.num_accepted_tokens) for p in places] == [
        (2, 1),
        (1, 1),
        (1, 0),
    ]


def test_passes_are_counted_only_where_they_are_known() -> None:
    parts = served("n", "nnn", waits=(0.0, 0.4))
    assert metrics.run_metrics(parts).mean_acceptance_length is None
    late = replace(parts, steps=ServerSteps((3,), (1,)))
    assert metrics.run_metrics(late).mean_acceptance_length is None
    assert metrics.run_metrics(late).num_accepted_tokens == 1
    plain = replace(parts, steps=NOTHING)
    assert metrics.run_metrics(plain).mean_acceptance_length == 1.0
    assert metrics.run_metrics(FAST).mean_acceptance_length == 1.5


def test_a_trace_takes_the_fates_that_are_told_with_the_end() -> None:
    live = served("n", "nn", waits=(0.0, 0.3))
    steps = ServerSteps((3,), (1,))
    told = advance(live, DraftsTold(FAST.rounds, steps))
    assert told == FAST
    assert told.seconds == live.seconds
