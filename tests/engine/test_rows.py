from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specdemo.engine import rows


def numbers(seed: int, width: int) -> torch.Tensor:
    return 4 * torch.randn(width, generator=torch.Generator().manual_seed(seed))


@given(st.integers(0, 2**31), st.sampled_from([8, 63, 64, 65, 500]), st.integers(1, 8))
def test_the_largest_entries_are_torchs(seed: int, width: int, count: int) -> None:
    row = numbers(seed, width)
    indices, values = rows.largest(row.numpy(), count)
    expected = row.topk(count)
    assert np.array_equal(values, expected.values.numpy())
    assert np.array_equal(indices, expected.indices.numpy())


@pytest.mark.parametrize("shift", [-100.0, 0.0, 100.0])
def test_the_largest_entries_are_found_wherever_the_row_lies(shift: float) -> None:
    row = numbers(5, 400) + shift
    assert rows.largest(row.numpy(), 8)[0].tolist() == row.topk(8).indices.tolist()


def test_of_equal_entries_the_first_comes_first() -> None:
    row = np.zeros(200, np.float32)
    row[[150, 30, 90]] = 1.0
    assert rows.largest(row, 3)[0].tolist() == [30, 90, 150]


@given(st.integers(0, 2**31), st.sampled_from([8, 130]))
def test_likeliest_is_the_softmax_of_the_largest(seed: int, width: int) -> None:
    row = numbers(seed, width)
    indices, probs = rows.likeliest(row.numpy(), 4)
    expected = torch.softmax(row, -1)[torch.from_numpy(indices)]
    assert torch.allclose(torch.from_numpy(probs), expected, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("x", [-87.0, -20.5, -1.0, -1e-6, 0.0, 0.7, 10.0, 88.0])
def test_exp_is_exact_to_float32(x: float) -> None:
    assert rows.exp(np.float32(x)) == pytest.approx(np.exp(x), rel=3e-7)


@pytest.mark.parametrize("shift", [-500.0, 500.0])
@pytest.mark.parametrize("width", [50, 130])
def test_a_softmax_does_not_depend_on_where_the_logits_lie(shift: float, width: int) -> None:
    row = numbers(3, width)
    probs = rows.softmax((row + shift).numpy(), 1.0, 0, 1.0)
    assert torch.allclose(torch.from_numpy(probs), torch.softmax(row, -1), rtol=1e-3)


def test_missing_tokens_have_no_probability() -> None:
    row = numbers(1, 100)
    row[::2] = -torch.inf
    probs = rows.softmax(row.numpy(), 1.0, 0, 1.0)
    assert not probs[::2].any()
    assert probs.sum() == pytest.approx(1.0, abs=1e-6)


def test_spread_rows_hold_nothing_but_what_was_placed() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    whole = rows.spread(values, np.array([4, 0, 2]), 5)
    assert whole.tolist() == [
        [1.0, -np.inf, 2.0, -np.inf, 0.0],
        [4.0, -np.inf, 5.0, -np.inf, 3.0],
    ]


@given(st.integers(0, 2**31), st.sampled_from([8, 130]))
def test_likeliest_sees_every_chunk_that_holds_anything(seed: int, width: int) -> None:
    row = 40 * numbers(seed, width)
    indices, probs = rows.likeliest(row.numpy(), 2)
    expected = torch.softmax(row.double(), -1)[torch.from_numpy(indices)]
    assert torch.allclose(torch.from_numpy(probs).double(), expected, rtol=1e-4, atol=1e-8)


def test_a_nucleus_that_rounding_leaves_short_keeps_everything() -> None:
    flat = np.zeros(25, np.float32)
    assert 25 * float(np.float32(1 / 25)) < math.nextafter(1.0, 0.0)
    probs = rows.softmax(flat, 1.0, 0, math.nextafter(1.0, 0.0))
    assert probs.tolist() == pytest.approx([1 / 25] * 25)
    uneven = (numbers(1, 25) / 4).numpy()
    whole = rows.softmax(uneven, 1.0, 0, 1.0)
    assert math.fsum(whole) < math.nextafter(1.0, 0.0)
    assert rows.softmax(uneven, 1.0, 0, math.nextafter(1.0, 0.0)).all()


@pytest.mark.parametrize("seed", [10, 28, 64, 80, 104, 114])
def test_the_largest_draw_falls_on_a_token_of_the_last_chunk(seed: int) -> None:
    """Of these, chunk by chunk, rounding leaves a rest as large as the last chunk holds."""
    chance = np.random.default_rng(seed)
    weights = np.exp(chance.normal(size=64 * int(chance.integers(3, 10))) * 10).astype(np.float32)
    chosen = rows.pick(weights / weights.sum(), math.nextafter(1.0, 0.0))
    assert weights[chosen] > 0
    assert chosen >= len(weights) - 64


@pytest.mark.parametrize("seed", [0, 5, 10, 12])
def test_within_a_chunk_the_largest_draw_falls_on_its_last_token(seed: int) -> None:
    """Of these, rounding leaves a rest as large as the last token."""
    weights = np.exp(np.random.default_rng(seed).normal(size=40) * 10).astype(np.float32)
    assert rows.pick(weights / weights.sum(), math.nextafter(1.0, 0.0)) == 39


@pytest.mark.parametrize("draw", [0.0, 0.4, 0.6, math.nextafter(1.0, 0.0)])
def test_empty_chunks_are_passed_over(draw: float) -> None:
    probs = np.zeros(300, np.float32)
    probs[[130, 250]] = 0.5
    assert rows.pick(probs, draw) == (130 if draw < 0.5 else 250)
