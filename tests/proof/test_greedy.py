"""A difference of two greedy answers is a tie that rounding decided, or a defect."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import ModelDrafter, NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.protocols import Drafter, ForwardOutput, ModelRunner
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.proof.greedy import Cause, explained, parting_of
from specdemo.trace import RunTrace, advance
from tests.fakes import TableRunner, chain

PROMPT = [0, 1]
FIRST, SECOND = 4, 6


class RoundingRunner(TableRunner):
    """A model whose passes of several rows round the second candidate up a little."""

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        output = super().forward(token_ids, num_logits, features)
        if num_logits > 1:
            output.logits[:, SECOND] += 0.01
        return output


def near_tie(gap: float) -> torch.Tensor:
    """A chain in which 4 after 3 is ahead of 6 by a gap."""
    table = chain(9)
    table[3, SECOND] = table[3, FIRST] - gap
    return table


def traced(target: ModelRunner, drafter: Drafter, max_new_tokens: int = 6) -> RunTrace:
    trace = RunTrace()
    for event in generate(
        target, drafter, Sampler(SamplingParams(), 0), PROMPT,
        draft_length=FixedLength(4), max_new_tokens=max_new_tokens, end_token_ids=frozenset(),
    ):  # fmt: skip
        trace = advance(trace, event)
    return trace


def drafted(table: torch.Tensor) -> ModelDrafter:
    return ModelDrafter(TableRunner(table), Sampler(SamplingParams(), 0))


def test_equal_answers_do_not_part() -> None:
    table = chain(9)
    normal, fast = (
        traced(TableRunner(table), NoDrafter()),
        traced(TableRunner(table), drafted(table)),
    )
    assert parting_of(normal, fast, PROMPT) is None


def test_a_near_tie_that_the_shape_of_the_pass_decides_is_a_tie_with_its_numbers() -> None:
    table = near_tie(0.004)
    normal = traced(TableRunner(table), NoDrafter())
    fast = traced(RoundingRunner(table), drafted(table))
    parting = parting_of(normal, fast, PROMPT)
    assert parting is not None
    assert (parting.position, parting.normal_token_id, parting.speculative_token_id) == (2, 4, 6)
    assert (parting.history, parting.drafted, parting.row) == ((0, 1), (2, 3, 4, 5), 2)
    found = explained(RoundingRunner(table), TableRunner(table), parting)
    assert found.cause is Cause.NUMERICAL_TIE
    assert found.one_row.lead == pytest.approx(0.004, abs=1e-4)
    assert found.several_rows.lead == pytest.approx(-0.006, abs=1e-4)
    assert found.finer.top_2_gap == pytest.approx(0.004, abs=1e-4)
    assert found.rounding_gap == pytest.approx(0.01, abs=1e-4)


def test_a_gap_that_rounding_does_not_reach_is_a_defect() -> None:
    table = near_tie(0.5)
    normal = traced(TableRunner(table), NoDrafter())
    fast = traced(TableRunner(near_tie(-0.5)), drafted(table))
    parting = parting_of(normal, fast, PROMPT)
    assert parting is not None
    found = explained(RoundingRunner(table), TableRunner(table), parting)
    assert found.cause is Cause.DEFECT
    assert found.rounding_gap < found.finer.top_2_gap


def test_a_third_token_is_a_defect_however_close_the_first_two_are() -> None:
    table = near_tie(0.0)
    normal = traced(TableRunner(table), NoDrafter())
    wrong = table.clone()
    wrong[3, 8] = 60.0
    parting = parting_of(normal, traced(TableRunner(wrong), drafted(table)), PROMPT)
    assert parting is not None
    assert explained(TableRunner(table), TableRunner(table), parting).cause is Cause.DEFECT


@pytest.mark.parametrize("is_normal_shorter", [True, False])
def test_an_answer_that_ends_before_the_other_is_a_defect(is_normal_shorter: bool) -> None:
    table = chain(9)
    lengths = (3, 6) if is_normal_shorter else (6, 3)
    normal = traced(TableRunner(table), NoDrafter(), lengths[0])
    fast = traced(TableRunner(table), drafted(table), lengths[1])
    parting = parting_of(normal, fast, PROMPT)
    assert parting is not None
    assert parting.position == 3
    assert None in (parting.normal_token_id, parting.speculative_token_id)
    assert explained(TableRunner(table), TableRunner(table), parting).cause is Cause.DEFECT
