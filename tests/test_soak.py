"""The soak's one calculation: how fast memory's floor rises."""

from __future__ import annotations

import pytest

from benchmarks.soak import Sample, Told


def told(rise: float, *, changes_every: int) -> Told:
    """Ten minutes in which two floors rise by so many megabytes a minute, under runs of 200."""
    samples = []
    for second in range(0, 600, 2):
        is_other = changes_every and second // changes_every % 2 == 1
        floor = (1900.0 if is_other else 900.0) + rise * second / 60
        run = 200.0 * (second % 14 != 0)
        samples.append(Sample(second, floor + run, "float32" if is_other else "bfloat16"))
    return Told(memory=samples)


@pytest.mark.parametrize("rise", [0.0, 5.0])
@pytest.mark.parametrize("changes_every", [0, 100])
def test_the_slope_is_that_of_the_floors_whatever_is_loaded(
    rise: float, changes_every: int
) -> None:
    assert told(rise, changes_every=changes_every).slope() == pytest.approx(rise, abs=1.0)


def test_too_few_samples_have_no_slope() -> None:
    assert Told(memory=[Sample(second, 900.0, "bfloat16") for second in range(9)]).slope() is None
