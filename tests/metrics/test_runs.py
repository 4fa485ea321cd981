from __future__ import annotations

from dataclasses import replace

import pytest

from specdemo.events import (
    DecodeFinished,
    FinishReason,
    JudgedToken,
    PrefillFinished,
    Round,
    TokenOutcome,
)
from specdemo.metrics import (
    compare,
    first_difference,
    peak_bytes,
    run_metrics,
    time_per_output_token_seconds,
    token_times,
)
from specdemo.trace import (
    BestNormal,
    Environment,
    LaneSnapshot,
    MemorySample,
    RunSettings,
    RunTrace,
    Snapshot,
    advance,
)

A, R, U, S, B, N = (
    TokenOutcome.ACCEPTED,
    TokenOutcome.REJECTED,
    TokenOutcome.UNTESTED,
    TokenOutcome.RESAMPLED,
    TokenOutcome.BONUS,
    TokenOutcome.NORMAL,
)
HERE = Environment("cpu", "a processor", 2, "float32", "a pair", ())


def trace(
    *rounds: list[TokenOutcome], reason: FinishReason | None = FinishReason.END_OF_TEXT
) -> RunTrace:
    """A run whose rounds take 1 s to draft, 2 s to verify and 0.5 s besides; tokens count up."""
    prefill = PrefillFinished(4, 2.0, 1.0, 0.5)
    ids = iter(range(1000))
    judged = [tuple(JudgedToken(next(ids), outcome) for outcome in outcomes) for outcomes in rounds]
    done = tuple(Round(i, tokens, 1.0, 2.0, 0.5) for i, tokens in enumerate(judged))
    return RunTrace(prefill, done, (), reason)


def normal(*token_ids: int, reason: FinishReason = FinishReason.END_OF_TEXT) -> RunTrace:
    rounds = [Round(i, (JudgedToken(t, N),), 0.0, 1.0, 0.0) for i, t in enumerate(token_ids)]
    return RunTrace(PrefillFinished(4, 1.0, 0.0, 0.0), tuple(rounds), (), reason)


def test_a_hand_worked_run() -> None:
    metrics = run_metrics(trace([A, A, B], [A, R, U, S], [R, U, U, S]))
    assert metrics.num_output_tokens == 3 + 2 + 1
    assert metrics.num_draft_tokens == 2 + 3 + 3
    assert metrics.num_tested_tokens == 2 + 2 + 1
    assert metrics.num_accepted_tokens == 3
    assert metrics.acceptance_rate == pytest.approx(3 / 5)
    assert metrics.draft_acceptance_rate == pytest.approx(3 / 8)
    assert metrics.mean_acceptance_length == pytest.approx(2.0)
    assert metrics.seconds == pytest.approx(3.5 + 3 * 3.5)
    assert metrics.time_to_first_token_seconds == pytest.approx(7.0)
    assert metrics.tokens_per_second == pytest.approx(6 / 14)
    assert metrics.overhead_rate == pytest.approx(4 * 0.5 / 14)


def test_tokens_behind_the_end_count_as_drafted_only() -> None:
    metrics = run_metrics(trace([A, A, U, U]))
    assert (metrics.num_draft_tokens, metrics.num_tested_tokens, metrics.num_output_tokens) == (
        4,
        2,
        2,
    )


def test_an_empty_run_has_no_rates() -> None:
    metrics = run_metrics(RunTrace())
    assert metrics.num_output_tokens == 0
    assert {metrics.tokens_per_second, metrics.acceptance_rate, metrics.mean_acceptance_length} == {
        None
    }
    assert (metrics.time_to_first_token_seconds, metrics.overhead_rate) == (None, None)


def test_normal_decoding_has_one_token_a_pass() -> None:
    metrics = run_metrics(normal(5, 6, 7))
    assert metrics.mean_acceptance_length == 1.0
    assert (metrics.acceptance_rate, metrics.num_draft_tokens) == (None, 0)


def test_tokens_of_a_round_arrive_together() -> None:
    assert token_times(trace([A, B], [S])) == (7.0, 7.0, 10.5)


def lane(run: RunTrace) -> LaneSnapshot:
    return LaneSnapshot(trace=run)


def snapshot(
    one: RunTrace, other: RunTrace, *, is_greedy: bool = True, best: float | None = None
) -> Snapshot:
    best_normal = None if best is None else BestNormal("bfloat16", best)
    return Snapshot(
        lane(one),
        lane(other),
        HERE,
        RunSettings("?", temperature=float(not is_greedy)),
        best_normal,
    )


def test_speedup_is_the_ratio_of_tokens_per_second() -> None:
    comparison = compare(snapshot(normal(0, 1, 2), trace([A, A, B]), best=0.5))
    assert comparison.speedup == pytest.approx((3 / 7.0) / (3 / 4.0))
    assert comparison.speedup_over_best_normal == pytest.approx((3 / 7.0) / 0.5)
    assert comparison.same_output is True


def test_a_different_token_is_found_and_reported() -> None:
    comparison = compare(snapshot(normal(0, 9, 2), trace([A, A, B])))
    assert (comparison.same_output, comparison.first_difference) == (False, 1)


def test_sampled_runs_are_not_compared_word_for_word() -> None:
    comparison = compare(snapshot(normal(0, 9, 2), trace([A, A, B]), is_greedy=False))
    assert (comparison.same_output, comparison.first_difference) == (None, None)


def test_of_two_finished_answers_the_shorter_one_differs_at_its_end() -> None:
    assert first_difference(normal(0, 1), normal(0, 1, 2)) == 2


def test_a_stopped_answer_is_compared_as_far_as_it_goes() -> None:
    assert first_difference(normal(0, 1, reason=FinishReason.STOPPED), normal(0, 1, 2)) is None


def test_nothing_measured_gives_no_speedup() -> None:
    comparison = compare(snapshot(RunTrace(), RunTrace()))
    assert (comparison.speedup, comparison.speedup_over_best_normal) == (None, None)


def test_the_peak_is_the_highest_sample_and_unknown_stays_unknown() -> None:
    samples = [MemorySample(0.0, 1, 2, 3, 4, 5, 6, peak) for peak in (7, 9, None)]
    assert peak_bytes(LaneSnapshot(memory=tuple(samples))) == 9
    assert peak_bytes(LaneSnapshot(memory=(samples[-1],))) is None
    assert samples[0].total_bytes == 1 + 2 + 3 + 5


def test_a_trace_ends_with_its_reason() -> None:
    ended = advance(RunTrace(), DecodeFinished(FinishReason.STOPPED))
    assert ended.finish_reason is FinishReason.STOPPED


def test_time_per_token_is_the_mean_after_the_first() -> None:
    assert time_per_output_token_seconds(normal(0, 1, 2)) == pytest.approx(1.0)
    assert time_per_output_token_seconds(trace([A, B], [S])) == pytest.approx(3.5 / 2)
    assert time_per_output_token_seconds(normal(0)) is None
    assert time_per_output_token_seconds(RunTrace()) is None


@pytest.mark.parametrize("stopped", [0, 1])
def test_of_unfinished_answers_the_missing_end_is_no_difference(stopped: int) -> None:
    runs = [normal(0, 1), normal(0, 1, 2)]
    runs[stopped] = advance(runs[stopped], DecodeFinished(FinishReason.STOPPED))
    assert first_difference(*runs) is None
    assert first_difference(RunTrace(), runs[1]) is None


def test_a_run_that_has_only_read_its_prompt_has_no_first_token_yet() -> None:
    begun = RunTrace(PrefillFinished(4, 1.0, 0.5, 0.25))
    assert run_metrics(begun).time_to_first_token_seconds is None
    assert run_metrics(begun).seconds == 1.75


def test_rounds_without_a_prefill_are_timed_from_their_own_start() -> None:
    alone = replace(normal(0, 1), prefill=None)
    assert token_times(alone) == (1.0, 2.0)
    assert run_metrics(alone).time_to_first_token_seconds is None


def test_time_outside_the_passes_is_never_negative() -> None:
    rounded = Round(0, (JudgedToken(1, N),), 0.0, 1.0, -1e-9)
    trace = RunTrace(PrefillFinished(4, 1.0, 0.0, 0.0), (rounded,))
    assert run_metrics(trace).overhead_rate == 0.0


@pytest.mark.parametrize("runs", [(RunTrace(), normal(0)), (normal(0), RunTrace())])
def test_one_run_alone_has_no_speedup(runs: tuple[RunTrace, RunTrace]) -> None:
    assert compare(snapshot(*runs)).speedup is None
