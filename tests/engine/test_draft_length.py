from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import mean

import pytest

from specdemo.engine.distribution import OneHot
from specdemo.engine.draft_length import (
    AdaptiveLength,
    ConfidenceLength,
    DraftLength,
    FixedLength,
    HeuristicLength,
    confidence,
)
from specdemo.engine.protocols import Proposal
from specdemo.events import Alternative, JudgedToken, Round, TokenOutcome

A, R, U, S = (
    TokenOutcome.ACCEPTED,
    TokenOutcome.REJECTED,
    TokenOutcome.UNTESTED,
    TokenOutcome.RESAMPLED,
)


def proposal(prob: float, *, is_ngram: bool = False) -> Proposal:
    if is_ngram:
        return Proposal(1, OneHot(1, 9), source_position=4)
    return Proposal(1, OneHot(1, 9), 0.1, (Alternative(1, prob),))


def finished(
    outcomes: list[TokenOutcome], draft_seconds: float = 0.5, verify_seconds: float = 1.0
) -> Round:
    judged = tuple(JudgedToken(1, outcome) for outcome in outcomes)
    return Round(0, judged, draft_seconds, verify_seconds, 0.0)


def length(policy: DraftLength, prob: float = 1.0, *, is_ngram: bool = False) -> int:
    proposals: list[Proposal] = []
    while policy.wants_more(proposals):
        proposals.append(proposal(prob, is_ngram=is_ngram))
    return len(proposals)


def test_a_fixed_length_stays() -> None:
    policy = FixedLength(4)
    policy.observe(finished([R, S]))
    assert length(policy) == 4


def test_the_heuristic_grows_by_two_and_shrinks_by_one_within_its_bounds() -> None:
    policy, lengths = HeuristicLength(4, maximum=7), []
    for outcomes in ([A] * 4 + [S], [A] * 6 + [S], [R, S], [S], *[[R, S]] * 8):
        policy.observe(finished(outcomes))
        lengths.append(length(policy))
    assert lengths[:4] == [6, 7, 6, 6]
    assert lengths[-1] == 1


@pytest.mark.parametrize(("prob", "expected"), [(0.9, 8), (0.1, 1)])
def test_confidence_stops_after_the_first_unsure_token(prob: float, expected: int) -> None:
    assert length(ConfidenceLength(8, threshold=0.4), prob) == expected


def test_an_ngram_draft_is_sure_of_itself() -> None:
    assert confidence(proposal(0.0, is_ngram=True)) == 1.0
    assert confidence(proposal(0.25)) == 0.25


def test_confidence_is_of_the_token_that_was_drawn_not_of_the_likeliest() -> None:
    top = (Alternative(1, 0.7), Alternative(5, 0.2))
    assert confidence(Proposal(5, OneHot(5, 9), 0.1, top)) == 0.2


def trained(outcomes: list[TokenOutcome], draft_seconds: float, rounds: int = 30) -> AdaptiveLength:
    policy = AdaptiveLength(16)
    for _ in range(rounds):
        policy.observe(finished(outcomes, draft_seconds))
    return policy


def test_adaptive_drafts_far_where_all_is_kept_and_drafting_is_cheap() -> None:
    assert length(trained([A, A, A, A, S], draft_seconds=0.04), prob=0.99) == 16


def test_adaptive_drafts_little_where_drafting_is_dear() -> None:
    assert length(trained([A, A, R, S], draft_seconds=2.0), prob=0.9) <= 1


def test_adaptive_drafts_little_where_the_draft_is_unsure() -> None:
    sure, unsure = trained([A, A, R, S], 0.3), trained([A, A, R, S], 0.3)
    assert length(unsure, prob=0.2) < length(sure, prob=0.95)


def test_adaptive_drafts_little_where_a_verification_row_is_dear() -> None:
    cheap, dear = AdaptiveLength(16), AdaptiveLength(16)
    for rows in [1, 2, 3, 4, 5] * 6:
        outcomes = [A] * (rows - 1) + [S]
        cheap.observe(finished(outcomes, 0.02, verify_seconds=1.0))
        dear.observe(finished(outcomes, 0.02, verify_seconds=float(rows)))
    assert length(dear, prob=0.8) < length(cheap, prob=0.8)


def test_what_one_run_learned_is_not_known_to_the_next() -> None:
    trained([R, S], draft_seconds=2.0)
    assert length(AdaptiveLength(16)) == length(AdaptiveLength(16)) == 4


def test_a_draft_that_is_known_already_costs_a_row_and_no_pass() -> None:
    policy = AdaptiveLength(8)
    for _ in range(20):
        policy.observe(finished([A, R, S], draft_seconds=1.6, verify_seconds=1.0))
    dear = [proposal(0.6)]
    free = [Proposal(1, OneHot(1, 9), 0.1, (Alternative(1, 0.6),), upcoming_share=0.5)]
    assert not policy.wants_more(dear)
    assert policy.wants_more(free)


def test_a_looked_up_draft_is_as_sure_as_its_share() -> None:
    assert confidence(Proposal(1, OneHot(1, 9), looked_up_share=0.3)) == 0.3


@pytest.mark.parametrize("policy", [FixedLength(3), ConfidenceLength(3)])
def test_a_length_that_does_not_learn_stays_whatever_becomes_of_its_drafts(
    policy: DraftLength,
) -> None:
    before = length(policy)
    policy.observe(finished([R, S]))
    policy.observe(finished([A, A, A, S]))
    assert length(policy) == before == 3


def copied(outcomes: list[TokenOutcome]) -> Round:
    judged = tuple(JudgedToken(1, outcome, source_position=4) for outcome in outcomes)
    return Round(0, judged, 0.0, 1.0, 0.0)


def test_adaptive_copies_on_while_copies_are_kept_and_not_when_they_are_refused() -> None:
    kept, refused = AdaptiveLength(16), AdaptiveLength(16)
    for _ in range(20):
        kept.observe(copied([A] * 6 + [S]))
        refused.observe(copied([R, S]))
    assert length(kept, is_ngram=True) == 16
    assert length(refused, is_ngram=True) <= 1


def test_what_the_models_drafts_teach_says_nothing_about_copies() -> None:
    one, other = trained([A, A, A, S], 0.04), trained([A, A, A, S], 0.04)
    for _ in range(20):
        other.observe(copied([R, S]))
    assert length(one, prob=0.9) > 1
    # The same drafts, judged as sure as ever: only copies became doubtful.
    assert length(other, is_ngram=True) <= 1


def hand_worked() -> AdaptiveLength:
    """Two rounds: two drafts kept in 2.0 s, then one of three refused in 2.4 s."""
    policy = AdaptiveLength(16)
    policy.observe(Round(0, fates([A, A, S]), 0.6, 1.0, 0.4))
    policy.observe(Round(1, fates([R, U, U, S]), 0.9, 1.2, 0.3))
    return policy


def fates(outcomes: list[TokenOutcome], **of_drafts: object) -> tuple[JudgedToken, ...]:
    return tuple(
        JudgedToken(1, outcome, **(of_drafts if outcome.is_draft else {}))  # type: ignore[arg-type]
        for outcome in outcomes
    )


def border(policy: AdaptiveLength, drafts_of: Callable[[float], list[Proposal]]) -> float:
    """The least confidence at which the policy drafts on."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        if policy.wants_more(drafts_of(middle)):
            high = middle
        else:
            low = middle
    return high


# Of the hand-worked rounds: tokens a second; what a row adds to a pass, by the line through 3 rows
# in 1.0 s and 4 rows in 1.2 s with four passes' worth of belief in 0.08; seconds of a draft pass;
# and the share of tested drafts that was kept, each round forgetting a fifth of what was before.
SPEED = (3 + 1) / (2.0 + 2.4)
ROW = (0.5 * 0.1 + 0.5 * 0.1 + 4 * 0.08 * 1.1) / (0.5 * 0.5 + 0.5 * 0.5 + 4)
DRAFT_PASS = (0.6 + 0.9) / (2 + 3)
KEPT = ((4 * 0.6 * 0.8 + 2) * 0.8) / ((4 * 0.8 + 2) * 0.8 + 1)


def test_adaptive_drafts_on_where_what_is_expected_exceeds_what_it_costs() -> None:
    found = border(hand_worked(), lambda prob: [proposal(prob)])
    assert found == pytest.approx((ROW + DRAFT_PASS) * SPEED / KEPT)


def test_the_confidences_of_a_draft_multiply() -> None:
    found = border(hand_worked(), lambda prob: [proposal(0.9), proposal(prob)])
    assert found == pytest.approx((ROW + DRAFT_PASS) * SPEED / KEPT / 0.9)


def test_a_draft_that_is_known_already_is_worth_its_share_and_costs_a_row() -> None:
    known = lambda prob: [replace(proposal(prob), upcoming_share=0.5)]  # noqa: E731
    assert border(hand_worked(), known) == pytest.approx(ROW * SPEED / 0.5)


def test_a_copy_is_worth_what_copies_were_and_costs_a_row() -> None:
    policy = hand_worked()
    kept, tested = 4 * 0.6, 4.0
    for outcomes in ([A, A, S], [R, S], [A, S]):
        policy.observe(Round(2, fates(outcomes, source_position=3), 0.0, 1.0, 0.0))
        kept, tested = 0.8 * kept + outcomes.count(A), 0.8 * tested + outcomes.count(A)
        tested += outcomes.count(R)
    rows, seconds = [3, 4, 3, 2, 2], [1.0, 1.2, 1.0, 1.0, 1.0]
    off = [r - mean(rows) for r in rows]
    slope = sum(o * (s - mean(seconds)) for o, s in zip(off, seconds))
    row = (slope + 4 * 0.08 * mean(seconds)) / (sum(o * o for o in off) + 4)
    speed = (3 + 1 + 3 + 1 + 2) / (2.0 + 2.4 + 3.0)
    longest = next(n for n in range(99) if (kept / tested) ** (n + 1) <= row * speed)
    assert 1 < longest < 16
    assert length(policy, is_ngram=True) == longest
    # What the model's drafts are worth is as it was; only the passes and the speed have changed.
    found = border(policy, lambda prob: [proposal(prob)])
    assert found == pytest.approx((row + DRAFT_PASS) * speed / KEPT)


def test_looked_up_tokens_count_neither_as_tested_nor_as_the_models_passes() -> None:
    policy = AdaptiveLength(16)
    model, looked_up = JudgedToken(1, A), JudgedToken(1, R, looked_up_share=0.9)
    policy.observe(Round(0, (model, looked_up, JudgedToken(1, S)), 0.5, 1.0, 0.5))
    kept = (4 * 0.6 * 0.8 + 1) / (4 * 0.8 + 1)
    found = border(policy, lambda prob: [proposal(prob)])
    assert found == pytest.approx((0.08 * 1.0 + 0.5) * (2 / 2.0) / kept)


def test_before_anything_is_measured_four_tokens_are_drafted() -> None:
    assert length(AdaptiveLength(16), prob=0.01) == 4
    assert length(AdaptiveLength(3)) == 3


def test_a_pass_that_got_cheaper_with_more_rows_makes_rows_free_and_no_cheaper() -> None:
    policy = AdaptiveLength(16)
    policy.observe(Round(0, fates([A] * 7 + [S]), 0.0, 1.0, 0.0))
    policy.observe(Round(0, fates([S]), 0.0, 9.0, 0.0))
    assert border(policy, lambda prob: [proposal(prob)]) == pytest.approx(0.0, abs=1e-9)


def test_the_cost_of_a_row_is_read_from_the_last_32_passes() -> None:
    """Two runs of equal speed whose first pass differed: that is forgotten after 32 more."""
    runs = [AdaptiveLength(16), AdaptiveLength(16)]
    for policy, (verify, overhead) in zip(runs, [(9.0, 1.0), (1.0, 9.0)]):
        policy.observe(Round(0, fates([A] * 5 + [S]), 0.1, verify, overhead))
    for index in range(32):
        one, other = (border(policy, lambda prob: [proposal(prob)]) for policy in runs)
        assert one != pytest.approx(other)
        for policy in runs:
            policy.observe(Round(1, fates([A, A, S] if index % 2 else [A, S]), 0.1, 1.0, 0.0))
    one, other = (border(policy, lambda prob: [proposal(prob)]) for policy in runs)
    assert one == pytest.approx(other)
