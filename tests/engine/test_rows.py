from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from specdemo.engine import rows


def numbers(seed: int, width: int) -> torch.Tensor:
    return 4 * torch.randn(3, width, generator=torch.Generator().manual_seed(seed))


@given(st.integers(0, 2**31), st.sampled_from([8, 63, 64, 65, 500]), st.integers(1, 8))
def test_the_largest_entries_are_torchs(seed: int, width: int, count: int) -> None:
    table = numbers(seed, width)
    indices, values = rows.largest(table.numpy(), count)
    expected = table.topk(count, dim=-1)
    assert np.array_equal(values, expected.values.numpy())
    assert np.array_equal(indices, expected.indices.numpy())


def test_of_equal_entries_the_first_comes_first() -> None:
    table = np.zeros((1, 200), np.float32)
    table[0, [150, 30, 90]] = 1.0
    assert rows.largest(table, 3)[0].tolist() == [[30, 90, 150]]


@given(st.integers(0, 2**31), st.sampled_from([8, 130]))
def test_likeliest_is_the_softmax_of_the_largest(seed: int, width: int) -> None:
    table = numbers(seed, width)
    indices, probs = rows.likeliest(table.numpy(), 4)
    expected = torch.softmax(table, -1).gather(-1, torch.from_numpy(indices))
    assert torch.allclose(torch.from_numpy(probs), expected, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("x", [-87.0, -20.5, -1.0, -1e-6, 0.0, 0.7, 10.0, 88.0])
def test_exp_is_exact_to_float32(x: float) -> None:
    assert rows.exp(np.float32(x)) == pytest.approx(np.exp(x), rel=3e-7)


def test_missing_tokens_have_no_probability() -> None:
    table = numbers(1, 100)
    table[:, ::2] = -torch.inf
    probs = rows.softmax(table.numpy(), 1.0, 0, 1.0)
    assert not probs[:, ::2].any()
    assert probs.sum(-1) == pytest.approx(1.0, abs=1e-6)
