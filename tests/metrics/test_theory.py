from __future__ import annotations

import pytest

from specdemo import metrics
from specdemo.metrics.theory import speedup_at
from specdemo.trace import RunTrace
from tests.traces import run


def costs(**changes: float) -> metrics.RoundCosts:
    values = {
        "acceptance_rate": 0.5,
        "num_draft_tokens": 2.0,
        "cost_ratio": 0.1,
        "verify_ratio": 1.2,
        "overhead_ratio": 0.0,
        "target_seconds": 1.0,
    }
    return metrics.RoundCosts(**{**values, **changes})


@pytest.mark.parametrize(
    ("alpha", "length", "expected"), [(0.5, 2, 1.75), (0.0, 5, 1.0), (1.0, 4, 5.0), (0.8, 0, 1.0)]
)
def test_expected_tokens_are_the_papers(alpha: float, length: int, expected: float) -> None:
    assert metrics.expected_tokens(alpha, length) == pytest.approx(expected)


def test_the_formula_divides_tokens_by_costs() -> None:
    assert metrics.predicted_speedup(0.5, 0.1, 1.2, 2) == pytest.approx(1.75 / 1.4)


def test_costs_are_measured_in_the_normal_runs_passes() -> None:
    normal = run("n", "n", "n", verify=2.0, overhead=0.1)
    speculative = run("aab", "rus", "n", draft=0.4, verify=3.0, overhead=0.3)
    found = metrics.round_costs(normal, speculative)
    assert found is not None
    assert found.acceptance_rate == pytest.approx(2 / 3)
    assert found.num_draft_tokens == 2.0
    assert found.cost_ratio == pytest.approx(0.2)
    assert found.verify_ratio == pytest.approx(1.5)
    assert found.overhead_ratio == pytest.approx(0.1)


def test_the_line_of_v_passes_through_one_and_the_measured_value() -> None:
    assert costs().verify_ratio_at(0) == 1.0
    assert costs().verify_ratio_at(2) == pytest.approx(1.2)
    assert costs().verify_ratio_at(4) == pytest.approx(1.4)


def test_without_a_judged_draft_there_are_no_costs() -> None:
    assert metrics.round_costs(run("n"), run("n")) is None
    assert metrics.round_costs(RunTrace(), run("ab")) is None


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"acceptance_rate": 0.0}, 0),
        ({"acceptance_rate": 1.0, "verify_ratio": 1.0}, 16),
        ({"acceptance_rate": 0.5, "cost_ratio": 0.6, "verify_ratio": 1.0}, 0),
    ],
)
def test_the_best_length_follows_alpha_and_the_costs(
    changes: dict[str, float], expected: int
) -> None:
    assert metrics.best_length(costs(**changes)) == expected


def test_the_best_length_is_no_worse_than_its_neighbours() -> None:
    best = metrics.best_length(costs(acceptance_rate=0.7))
    own = speedup_at(costs(acceptance_rate=0.7), best)
    assert all(own >= speedup_at(costs(acceptance_rate=0.7), best + step) for step in (-1, 1))


def test_at_break_even_the_formula_gives_one() -> None:
    alpha = metrics.break_even_acceptance_rate(costs())
    assert alpha is not None
    assert metrics.predicted_speedup(alpha, 0.1, 1.2, 2) == pytest.approx(1.0, abs=1e-6)


def test_costs_that_nothing_can_pay_for_have_no_break_even() -> None:
    assert metrics.break_even_acceptance_rate(costs(cost_ratio=2.0)) is None
