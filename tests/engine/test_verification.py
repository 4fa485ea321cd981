from __future__ import annotations

import pytest
import torch
from scipy.stats import chisquare

from specdemo.engine.distribution import Dense, Distribution, OneHot, residual
from specdemo.engine.protocols import Proposal
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.engine.verification import verify
from specdemo.events import TokenOutcome

NUM_DRAWS = 100_000
# The tests below raise a false alarm once in a million runs; with fixed seeds they do not flicker.
FALSE_ALARM_RATE = 1e-6

TARGET = torch.tensor([0.5, 0.3, 0.2, 0.0, 0.0])
DRAFT = torch.tensor([0.1, 0.0, 0.4, 0.3, 0.2])


def sampler(seed: int = 0) -> Sampler:
    return Sampler(SamplingParams(temperature=1.0), seed)


def first_token_counts(target: torch.Tensor, draft: torch.Tensor, draws: int) -> torch.Tensor:
    chance = sampler()
    counts = torch.zeros(len(target))
    targets = [Dense(target), Dense(target)]
    for _ in range(draws):
        drafted = chance.sample(Dense(draft))
        judged = verify([Proposal(drafted, Dense(draft))], targets, chance)
        first = next(token for token in judged if token.outcome.is_output)
        counts[first.token_id or 0] += 1
    return counts


def p_value(counts: torch.Tensor, probs: torch.Tensor) -> float:
    """χ² of counts against probabilities; a count where none may be is certain failure."""
    if counts[probs == 0].any():
        return 0.0
    inside = probs > 0
    expected = probs[inside].double() / probs[inside].double().sum() * counts.sum()
    return float(chisquare(counts[inside].double().numpy(), expected.numpy()).pvalue)


def test_output_distribution_is_the_targets() -> None:
    """χ² over 10⁵ draws with supports that differ; false alarm 10⁻⁶."""
    counts = first_token_counts(TARGET, DRAFT, NUM_DRAWS)
    assert p_value(counts, TARGET) > FALSE_ALARM_RATE


def test_a_replacement_drawn_from_the_target_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug must fail the very test that the true rule passes."""
    monkeypatch.setattr("specdemo.engine.verification.residual", lambda target, draft: target)
    counts = first_token_counts(TARGET, DRAFT, NUM_DRAWS // 10)
    assert p_value(counts, TARGET) < FALSE_ALARM_RATE


def test_an_argmax_draft_judged_by_its_softmax_is_caught() -> None:
    """Pitfall: the draft's distribution must be the one it was drawn from."""
    chance, counts = sampler(), torch.zeros(3)
    target, draft = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.6, 0.3, 0.1])
    for _ in range(NUM_DRAWS // 10):
        judged = verify([Proposal(0, Dense(draft))], [Dense(target)] * 2, chance)
        counts[judged[0 if judged[0].outcome.is_output else -1].token_id or 0] += 1
    assert p_value(counts, target) < FALSE_ALARM_RATE


def test_a_certain_draft_leaves_the_targets_distribution() -> None:
    chance, counts = sampler(), torch.zeros(5)
    for _ in range(NUM_DRAWS // 4):
        judged = verify([Proposal(2, OneHot(2, 5))], [Dense(TARGET)] * 2, chance)
        counts[next(t for t in judged if t.outcome.is_output).token_id or 0] += 1
    assert p_value(counts, TARGET) > FALSE_ALARM_RATE


def outcomes(draft: list[int], targets: list[Distribution]) -> list[tuple[int | None, str]]:
    judged = verify([Proposal(i, OneHot(i, 5)) for i in draft], targets, sampler())
    return [(token.token_id, token.outcome.value) for token in judged]


def test_all_kept_gives_a_bonus_from_the_last_row() -> None:
    assert outcomes([1, 2], [OneHot(1, 5), OneHot(2, 5), OneHot(4, 5)]) == [
        (1, "accepted"), (2, "accepted"), (4, "bonus"),
    ]  # fmt: skip


def test_tokens_behind_a_refusal_are_untested_and_the_replacement_comes_last() -> None:
    assert outcomes([1, 3, 0], [OneHot(1, 5), OneHot(2, 5), OneHot(4, 5), OneHot(4, 5)]) == [
        (1, "accepted"), (3, "rejected"), (0, "untested"), (2, "resampled"),
    ]  # fmt: skip


def test_without_a_draft_the_token_is_a_normal_one() -> None:
    assert outcomes([], [OneHot(3, 5)]) == [(3, "normal")]


def test_equal_distributions_are_always_accepted_and_leave_the_target_as_residual() -> None:
    judged = verify([Proposal(0, Dense(TARGET))], [Dense(TARGET)] * 2, sampler())
    assert judged[0].outcome is TokenOutcome.ACCEPTED
    assert residual(Dense(TARGET), Dense(TARGET)) == Dense(TARGET)


def test_a_token_outside_the_drafts_support_can_still_be_drawn() -> None:
    rest = residual(Dense(TARGET), Dense(DRAFT)).dense()
    assert torch.allclose(rest, torch.tensor([0.4, 0.3, 0.0, 0.0, 0.0]) / 0.7)


def test_every_judged_token_carries_the_numbers_that_decided() -> None:
    judged = verify([Proposal(2, Dense(DRAFT))], [Dense(TARGET)] * 2, sampler(seed=3))
    first = judged[0]
    assert (first.target_prob, first.draft_prob) == pytest.approx((0.2, 0.4))
    assert first.draw is not None
    assert (first.outcome is TokenOutcome.ACCEPTED) == (first.draw < 0.5)
