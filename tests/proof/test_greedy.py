"""A difference of two greedy answers is a tie that rounding decided, or a defect."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Event

import pytest
import torch

from specdemo.engine.draft_length import FixedLength
from specdemo.engine.drafting import ModelDrafter, NoDrafter
from specdemo.engine.generation import generate
from specdemo.engine.protocols import Drafter, ForwardOutput, ModelRunner
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.proof.greedy import Cause, Parting, explain, explained, parting_of
from specdemo.session import DecodeRequest, LentModels
from specdemo.trace import RunTrace, advance
from tests.fakes import TableRunner, chain
from tests.traces import HERE, race_of

PROMPT = [0, 1]
FIRST, SECOND = 4, 6


class RoundingRunner(TableRunner):
    """A model that rounds the second candidate down in a pass of one row, up in longer ones."""

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        output = super().forward(token_ids, num_logits, features)
        if num_logits:
            output.logits[:, SECOND] += 0.01 if num_logits > 1 else -0.004
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
    normal = traced(RoundingRunner(table), NoDrafter())
    fast = traced(RoundingRunner(table), drafted(table))
    parting = parting_of(normal, fast, PROMPT)
    assert parting is not None
    assert (parting.position, parting.normal_token_id, parting.speculative_token_id) == (2, 4, 6)
    assert (parting.history, parting.drafted, parting.row) == ((0, 1), (2, 3, 4, 5), 2)
    found = explained(RoundingRunner(table), TableRunner(table), parting)
    assert found.cause is Cause.NUMERICAL_TIE
    assert found.float32 is not None
    rows = (found.one_row, found.several_rows, found.float32)
    leads = [row.normal_logit - row.speculative_logit for row in rows]
    assert leads == pytest.approx([0.008, -0.006, 0.004], abs=1e-4)
    assert [row.top_2_gap for row in rows] == pytest.approx([0.008, 0.006, 0.004], abs=1e-4)
    assert found.float32.behind == pytest.approx(0.004, abs=1e-4)
    assert found.rounding_gap == pytest.approx(0.01, abs=1e-4)


def test_a_gap_that_rounding_does_not_reach_is_a_defect() -> None:
    table = near_tie(0.5)
    normal = traced(TableRunner(table), NoDrafter())
    fast = traced(TableRunner(near_tie(-0.5)), drafted(table))
    parting = parting_of(normal, fast, PROMPT)
    assert parting is not None
    found = explained(RoundingRunner(table), TableRunner(table), parting)
    assert found.cause is Cause.DEFECT
    assert found.float32 is not None
    assert found.rounding_gap < found.float32.behind


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


def test_three_tokens_that_close_are_a_tie_whichever_two_were_chosen() -> None:
    table = near_tie(0.004)
    table[3, 8] = table[3, FIRST] + 0.001
    parting = Parting(2, FIRST, SECOND, (0, 1), (2, 3, 4, 5), 2, 1)
    found = explained(RoundingRunner(table), TableRunner(table), parting)
    assert found.cause is Cause.NUMERICAL_TIE


class WrongRows(TableRunner):
    """A model that is wrong by far in passes of several rows."""

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        output = super().forward(token_ids, num_logits, features)
        if num_logits > 1:
            output.logits[:, SECOND] += 3.0
        return output


def test_what_goes_wrong_by_far_in_longer_passes_is_no_rounding() -> None:
    table = near_tie(1.0)
    normal = traced(WrongRows(table), NoDrafter())
    fast = traced(WrongRows(table), drafted(table))
    parting = parting_of(normal, fast, PROMPT)
    assert parting is not None
    found = explained(WrongRows(table), TableRunner(table), parting)
    assert found.rounding_gap > 1.0
    assert found.cause is Cause.DEFECT


def test_without_float32_nothing_is_claimed() -> None:
    table = near_tie(0.004)
    parting = Parting(2, FIRST, SECOND, (0, 1), (2, 3, 4, 5), 2, 1)
    found = explained(RoundingRunner(table), None, parting)
    assert found.cause is Cause.UNKNOWN
    assert found.rounding_gap == pytest.approx(0.014, abs=1e-4)


def test_a_penalty_is_part_of_what_is_compared() -> None:
    """Penalized by 2, token 4 of logit 50 stands exactly at 25 where it was written before."""
    table = near_tie(0.0)
    parting = Parting(2, FIRST, SECOND, (FIRST, 1), (2, 3, 4, 5), 2, 1)
    found = explained(TableRunner(table), TableRunner(table), parting, penalty=2.0)
    assert (found.one_row.normal_logit, found.one_row.speculative_logit) == (25.0, 50.0)
    assert found.several_rows.normal_logit == 25.0


def test_a_race_is_explained_on_its_own_models() -> None:
    """The lane that drafts is rounded; the session lends the same model, and its float32."""
    table = near_tie(0.004)
    normal = traced(RoundingRunner(table), NoDrafter())
    fast = traced(RoundingRunner(table), drafted(table))
    request = DecodeRequest("?", draft_source="ngram")
    models = LentModels(
        target=RoundingRunner(table),
        draft=None,
        new_float32_target=lambda: TableRunner(table),
        prompt_token_ids=tuple(PROMPT),
        end_token_ids=frozenset(),
        environment=HERE,
        texts_of=lambda ids: {token_id: f"<{token_id}>" for token_id in ids},
    )
    session = Lending(models)
    found = explain(session, request, race_of(normal, fast), Event())
    assert found is not None
    assert found.explained.cause is Cause.NUMERICAL_TIE
    assert found.texts == {FIRST: "<4>", SECOND: "<6>"}
    assert found.precision == HERE.precision
    assert explain(session, request, race_of(normal, normal), Event()) is None
    assert explain(Lending(None), request, race_of(normal, fast), Event()) is None
    assert session.num_lent == 1, "equal answers need no models"


class Lending:
    """A session that lends what it was given."""

    def __init__(self, models: LentModels | None) -> None:
        self.models = models
        self.num_lent = 0

    def lent(
        self, request: DecodeRequest, stop: Event
    ) -> AbstractContextManager[LentModels | None]:
        self.num_lent += 1
        return nullcontext(self.models)


def test_the_prompt_is_taken_in_by_itself_as_both_lanes_read_it() -> None:
    """A long prompt is read otherwise than an answer: the two must not be read as one."""
    taken: list[int] = []

    class Noting(TableRunner):
        def forward(
            self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
        ) -> ForwardOutput:
            taken.append(len(token_ids))
            return super().forward(token_ids, num_logits, features)

    parting = Parting(2, FIRST, SECOND, (0, 1, 2, 3), (4, 5), 1, num_prompt_tokens=3)
    explained(Noting(chain(9)), None, parting)
    assert taken == [2, 2, 1, 2, 1, 3]
