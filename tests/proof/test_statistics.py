"""The test of the test: known answers of χ², and how often chance alone is rejected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from specdemo.proof.statistics import (
    LEAST_EXPECTED,
    goodness_of_fit,
    pooled,
    tail,
    total_variation,
)


@pytest.mark.parametrize("statistic", [0.0, 0.5, 12.0, 80.0])
@pytest.mark.parametrize("freedom", [1, 7, 60])
def test_the_p_value_is_scipys(statistic: float, freedom: int) -> None:
    assert tail(statistic, freedom) == pytest.approx(chi2.sf(statistic, freedom), rel=1e-9)


def test_without_small_cells_the_test_is_scipys() -> None:
    counts, probs = {"a": 30, "b": 45, "c": 25}, {"a": 0.3, "b": 0.4, "c": 0.3}
    found, theirs = goodness_of_fit(counts, probs), chisquare([45, 30, 25], [40, 30, 30])
    assert found.statistic == pytest.approx(theirs.statistic)
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.degrees_of_freedom == 2


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=40), st.integers(1, 300))
def test_pooling_loses_no_count_and_leaves_no_small_cell_but_a_lonely_one(
    weights: list[float], num_runs: int
) -> None:
    probs = np.array(weights) / sum(weights)
    counts = dict(enumerate(np.random.default_rng(0).multinomial(num_runs, probs).tolist()))
    cells = pooled(counts, dict(enumerate((num_runs * probs).tolist())))
    assert sum(seen for seen, _ in cells) == num_runs
    assert sum(expected for _, expected in cells) == pytest.approx(num_runs)
    assert len(cells) == 1 or all(expected >= LEAST_EXPECTED for _, expected in cells)


def test_an_outcome_that_cannot_be_is_certain_failure() -> None:
    assert goodness_of_fit({"a": 99, "b": 1}, {"a": 1.0}).p_value == 0.0
    assert goodness_of_fit({"a": 99, "b": 1}, {"a": 1.0, "b": 0.0}).p_value == 0.0


def test_a_single_outcome_leaves_nothing_to_test() -> None:
    assert goodness_of_fit({"a": 100}, {"a": 1.0}).p_value is None


def test_true_samples_are_rejected_as_often_as_the_p_value_says() -> None:
    """2,000 samples: about 5 % lie below 0.05; 3 to 7 % are eight standard deviations wide."""
    chance = np.random.default_rng(1)
    probs = chance.dirichlet(np.full(60, 0.5))
    keyed = dict(enumerate(probs.tolist()))
    found = [
        goodness_of_fit(dict(enumerate(sample)), keyed).p_value
        for sample in chance.multinomial(2000, probs, 2000).tolist()
    ]
    assert 0.03 < np.mean([p is not None and p < 0.05 for p in found]) < 0.07


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_the_band_is_what_true_samples_are_off_by(seed: int) -> None:
    probs = dict.fromkeys(range(10), 0.1)
    even = total_variation(dict.fromkeys(range(10), 100), probs, seed)
    assert even.value == pytest.approx(0.0, abs=1e-12)
    assert 0.015 < even.low < even.high < 0.09
    skewed = total_variation({0: 200, **dict.fromkeys(range(2, 10), 100)}, probs, seed)
    assert skewed.value == pytest.approx(0.1)
    assert skewed.value > skewed.high
