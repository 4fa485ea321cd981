from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.generation import RepetitionPenaltyLogitsProcessor

from specdemo.engine.distribution import OneHot
from specdemo.engine.sampling import (
    Sampler,
    SamplingParams,
    alternatives_of,
    greedy,
    keep_top_k,
    keep_top_p,
    penalize,
    soften,
)
from specdemo.errors import BadLogitsError
from specdemo.events import Alternative
from tests.fakes import far


def logits(rows: int, width: int, seed: int) -> torch.Tensor:
    return 3 * torch.randn(rows, width, generator=torch.Generator().manual_seed(seed))


def dense(
    params: SamplingParams, row: torch.Tensor, prefix: list[int] | None = None
) -> torch.Tensor:
    return Sampler(params, 0).warp(row, prefix or [])[0].dense()


@given(
    st.integers(0, 2**31),
    st.sampled_from([3, 50, 130, 700]),
    st.floats(0.2, 2.0),
    st.sampled_from([0, 1, 2, 8, 40]),
    st.sampled_from([0.1, 0.5, 0.9, 1.0]),
)
def test_the_compiled_softmax_is_torchs(
    seed: int, width: int, temperature: float, top_k: int, top_p: float
) -> None:
    rows = logits(2, width, seed)
    params = SamplingParams(temperature, top_k, top_p)
    expected = torch.softmax(rows / temperature, dim=-1)
    expected = keep_top_p(keep_top_k(expected, top_k), top_p)
    for logit_row, row in zip(rows, expected):
        distribution = soften(logit_row.unsqueeze(0), params).distribution
        assert torch.allclose(distribution.dense(), row, atol=2e-6)


def test_temperature_zero_is_a_one_hot_of_the_largest_logit() -> None:
    rows = logits(4, 300, seed=1)
    warped = Sampler(SamplingParams(), 0).warp(rows, [])
    assert list(warped) == [OneHot(int(i), 300) for i in rows.argmax(-1)]


def test_of_equal_logits_greedy_takes_the_first() -> None:
    row = torch.zeros(1, 200)
    row[0, [70, 150]] = 5.0
    assert Sampler(SamplingParams(), 0).warp(row, [])[0] == OneHot(70, 200)


def test_alternatives_of_a_greedy_run_are_the_plain_softmax() -> None:
    row = logits(1, 300, seed=2)
    top = Sampler(SamplingParams(), 0).warp(row, []).row(0).top
    expected = torch.softmax(row, -1)[0].topk(8)
    assert [a.token_id for a in top] == expected.indices.tolist()
    assert [a.prob for a in top] == pytest.approx(expected.values.tolist(), rel=1e-4)


def test_top_k_keeps_k_tokens() -> None:
    assert (dense(SamplingParams(1.0, top_k=5), logits(1, 300, 3)) > 0).sum() == 5


def test_top_p_keeps_the_token_that_crosses_the_border() -> None:
    row = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
    assert dense(SamplingParams(1.0, top_p=0.6), row).tolist() == pytest.approx(
        [0.625, 0.375, 0, 0]
    )


def test_the_penalty_divides_positive_and_multiplies_negative_logits() -> None:
    row = torch.tensor([[2.0, -1.0, 0.5]])
    penalized = dense(SamplingParams(1.0, repetition_penalty=2.0), row, [0, 1])
    assert torch.allclose(penalized, torch.softmax(torch.tensor([1.0, -2.0, 0.5]), 0))


@pytest.mark.parametrize("penalty", [0.8, 1.3])
def test_the_penalty_is_that_of_transformers(penalty: float) -> None:
    row, prefix = logits(1, 300, seed=6), [5, 17, 5, 250]
    expected = RepetitionPenaltyLogitsProcessor(penalty)(torch.tensor([prefix]), row.clone())
    assert torch.equal(penalize(row, prefix, penalty), expected)


@pytest.mark.parametrize(("top_p", "num_kept"), [(0.5, 1), (0.51, 2), (0.75, 2), (0.76, 4)])
def test_a_nucleus_ends_with_the_token_that_fills_it(top_p: float, num_kept: int) -> None:
    probs = torch.tensor([[0.5, 0.25, 0.125, 0.125]])
    assert keep_top_p(probs, top_p).count_nonzero() == num_kept


def test_the_penalty_sees_only_the_draft_before_its_position() -> None:
    rows = torch.full((3, 4), 1.0)
    warped = Sampler(SamplingParams(1.0, repetition_penalty=4.0), 0).warp(rows, [0], [1, 2])
    punished = [{i for i, p in enumerate(d.dense()) if p < 0.2} for d in warped]
    assert punished == [{0}, {0, 1}, {0, 1, 2}]
    assert rows.eq(1.0).all(), "the model's logits are not the sampler's to change"


# Where nothing is compiled, numpy warns of what the sampler refuses a line later.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_an_error(temperature: float, bad: float) -> None:
    row = logits(1, 300, seed=4)
    row[0, 17] = bad
    with pytest.raises(BadLogitsError, match="float32"):
        Sampler(SamplingParams(temperature), 0).warp(row, []).row(0)


def test_a_seed_fixes_every_draw_and_positions_get_different_ones() -> None:
    one, other = Sampler(SamplingParams(), 7), Sampler(SamplingParams(), 7)
    draws = [one.draw() for _ in range(5)]
    assert draws == [other.draw() for _ in range(5)]
    assert len(set(draws)) == 5


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_row_that_nobody_asks_for_is_not_judged() -> None:
    rows = logits(2, 300, seed=5)
    rows[1] = math.nan
    warped = Sampler(SamplingParams(), 0).warp(rows, [], [3])
    assert warped[0] == OneHot(int(rows[0].argmax()), 300)
    with pytest.raises(BadLogitsError):
        warped.row(-1)


@given(
    st.integers(0, 2**31),
    st.floats(0.2, 2.0),
    st.sampled_from([0, 1, 8]),
    st.sampled_from([0.5, 1.0]),
)
def test_a_gpu_warps_as_a_cpu_does(seed: int, temperature: float, top_k: int, top_p: float) -> None:
    row = logits(1, 130, seed)
    params = SamplingParams(temperature, top_k, top_p)
    near, distant = soften(row, params), soften(far(row), params)
    assert torch.allclose(near.distribution.dense(), distant.distribution.dense().cpu(), atol=2e-6)
    assert list(distant.top) == alike(near.top)


def test_a_gpu_is_greedy_as_a_cpu_is() -> None:
    row = logits(1, 130, seed=3)
    near, distant = greedy(row), greedy(far(row))
    assert near.distribution == distant.distribution
    assert list(distant.top) == alike(near.top)


def alike(top: tuple[Alternative, ...]) -> list[Alternative]:
    return [Alternative(one.token_id, pytest.approx(one.prob, abs=2e-6)) for one in top]


def test_rows_are_read_one_by_one_or_together() -> None:
    warped = Sampler(SamplingParams(), 0).warp(torch.eye(4)[[2, 0, 3]], [], [2, 0])
    assert [warped[i].prob(2) for i in range(len(warped))] == [1.0, 0.0, 0.0]
    assert warped[1:] == [OneHot(0, 4), OneHot(3, 4)]


def test_of_a_certainty_there_is_one_alternative() -> None:
    assert alternatives_of(OneHot(3, 9)) == (Alternative(3, 1.0),)
