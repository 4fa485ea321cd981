from __future__ import annotations

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

A, R, S = TokenOutcome.ACCEPTED, TokenOutcome.REJECTED, TokenOutcome.RESAMPLED


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
