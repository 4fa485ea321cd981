from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specdemo.engine.distribution import Dense, OneHot, residual
from tests.fakes import far


@given(st.integers(1, 400), st.integers(0, 2**31), st.floats(0, 1, exclude_max=True))
def test_a_token_of_probability_zero_is_never_picked(size: int, seed: int, draw: float) -> None:
    chance = torch.Generator().manual_seed(seed)
    weights = torch.rand(size, generator=chance)
    weights[torch.rand(size, generator=chance) < 0.7] = 0.0
    weights[seed % size] = 0.5
    probs = weights / weights.sum()
    assert probs[Dense(probs).pick(draw)] > 0


@pytest.mark.parametrize("size", [7, 128, 384])
def test_picking_follows_the_cumulative_distribution(size: int) -> None:
    """A grid of 20,000 draws reproduces each probability to 10⁻⁴."""
    probs = torch.softmax(2 * torch.randn(size, generator=torch.Generator().manual_seed(1)), 0)
    grid = (torch.arange(20_000) + 0.5) / 20_000
    counts = torch.bincount(
        torch.tensor([Dense(probs).pick(d.item()) for d in grid]), minlength=size
    )
    assert torch.allclose(counts / 20_000, probs, atol=1.5e-4)


def test_a_one_hot_is_the_dense_one_hot() -> None:
    one = OneHot(2, 4)
    assert one.dense().tolist() == [0, 0, 1, 0]
    assert (one.prob(2), one.prob(1), one.pick(0.99)) == (1.0, 0.0, 2)


@given(st.integers(0, 2**31))
def test_a_residual_is_a_distribution_and_never_holds_what_the_draft_overweighted(
    seed: int,
) -> None:
    target, draft = torch.softmax(
        torch.randn(2, 20, generator=torch.Generator().manual_seed(seed)), -1
    )
    rest = residual(Dense(target), Dense(draft)).dense()
    assert rest.sum().item() == pytest.approx(1.0, abs=1e-5)
    assert not rest[draft > target].any()


def test_what_is_left_of_a_certainty_is_the_certainty() -> None:
    assert residual(OneHot(1, 3), Dense(torch.tensor([0.2, 0.8, 0.0]))) == OneHot(1, 3)
    assert residual(OneHot(1, 3), OneHot(1, 3)) == OneHot(1, 3)


@given(st.integers(0, 2**31), st.floats(0, 1, exclude_max=True))
def test_a_gpu_leaves_and_picks_what_a_cpu_does(seed: int, draw: float) -> None:
    target, draft = torch.softmax(
        torch.randn(2, 20, generator=torch.Generator().manual_seed(seed)), -1
    )
    near, distant = (
        residual(Dense(target), Dense(draft)),
        residual(Dense(far(target)), Dense(draft)),
    )
    assert torch.allclose(near.dense(), distant.dense().cpu(), atol=1e-6)
    assert Dense(far(target)).pick(draw) == Dense(target).pick(draw)


@pytest.mark.parametrize("place", [torch.Tensor.clone, far])
def test_where_both_agree_the_residual_is_the_target(
    place: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    target = Dense(place(torch.tensor([0.25, 0.75])))
    assert residual(target, Dense(torch.tensor([0.25, 0.75]))) is target


def test_what_a_certain_draft_leaves_is_the_rest_of_the_target() -> None:
    rest = residual(Dense(torch.tensor([0.5, 0.25, 0.25])), OneHot(0, 3))
    assert rest.dense().tolist() == pytest.approx([0.0, 0.5, 0.5])


@pytest.mark.parametrize("place", [torch.Tensor.clone, far])
def test_the_least_that_can_be_left_is_a_distribution_too(
    place: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Smaller than that 1 could be divided by it in float32."""
    target = Dense(place(torch.tensor([1.0, 2.5e-44, 0.0])))
    assert residual(target, OneHot(0, 3)).dense().tolist() == [0.0, 1.0, 0.0]
