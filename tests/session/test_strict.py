"""In low precision a row depends on the shape of its pass; strict runs leave one shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

import pytest
import torch

from specdemo.engine.protocols import ForwardOutput
from specdemo.metrics import compare
from specdemo.session.lane import strict_rows
from specdemo.session.race import encode_prompt, race
from specdemo.session.request import DecodeRequest
from specdemo.session.strict import GridRunner
from specdemo.trace import Snapshot
from tests.fakes import random_table
from tests.session.fakes import VOCAB, SizedTable, table_pair


class ShapedTable(SizedTable):
    """Rounds each row by its place in the pass, the pass's length and what it attends to."""

    def forward(
        self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
    ) -> ForwardOutput:
        output = super().forward(token_ids, num_logits, features)
        num_rows, num_keys = len(token_ids), len(self.cached)
        for index in range(num_logits):
            row = num_rows - num_logits + index
            chance = torch.Generator().manual_seed(hash((row, num_rows, num_keys)))
            output.logits[index] += 0.2 * torch.rand(VOCAB, generator=chance)
        return output


def raced(strict: bool, **changes: object) -> Snapshot:
    """A greedy race on a model many of whose tokens are almost equally likely."""
    table = random_table(VOCAB, 1).round()
    pair = table_pair(lambda capacity: ShapedTable(table))
    request = DecodeRequest(
        "Why?", is_chat=False, max_new_tokens=60, strict=strict, **changes,  # type: ignore[arg-type]
    )  # fmt: skip
    *_, last = race(pair, request, encode_prompt(pair, request), lambda: False)
    return last


@pytest.mark.parametrize("source", ["model", "ngram", "hybrid"])
@pytest.mark.parametrize("length", ["fixed", "heuristic", "adaptive"])
def test_strict_lanes_agree_where_the_shape_of_a_pass_decides(source: str, length: str) -> None:
    options = {"draft_source": source, "draft_length": length, "num_draft_tokens": 4}
    assert compare(raced(strict=True, **options)).same_output is True
    assert compare(raced(strict=False, draft_source="model")).same_output is False


def test_a_strict_run_makes_passes_of_one_length_only() -> None:
    seen: set[int] = set()

    class Noted(SizedTable):
        def forward(
            self, token_ids: Sequence[int], num_logits: int, features: torch.Tensor | None = None
        ) -> ForwardOutput:
            if num_logits:
                seen.add(len(token_ids))
            return super().forward(token_ids, num_logits, features)

    pair = table_pair(partial(lambda table, _: Noted(table), random_table(VOCAB, 1)))
    request = DecodeRequest(
        "Why?", draft_length="fixed", num_draft_tokens=3, max_new_tokens=20, strict=True
    )
    for _ in race(pair, request, encode_prompt(pair, request), lambda: False):
        pass
    assert seen == {4}


def test_on_a_grid_a_runner_answers_as_it_does_without() -> None:
    table = random_table(VOCAB, 3)
    plain, grid, chance = SizedTable(table), GridRunner(SizedTable(table), 5), Random(1)
    for runner in (plain, grid):
        runner.forward([1, 2, 3], 0)
    for _ in range(200):
        token_ids = [chance.randrange(VOCAB) for _ in range(chance.randint(1, 9))]
        num_logits = chance.randint(1, len(token_ids))
        one, other = (runner.forward(token_ids, num_logits) for runner in (plain, grid))
        assert torch.equal(one.logits, other.logits)
        assert torch.equal(one.hidden, other.hidden)
        keep = chance.randint(3, plain.num_cached_tokens)
        for runner in (plain, grid):
            runner.rollback(keep)
        assert plain.num_cached_tokens == grid.num_cached_tokens
        assert grid.cache_used_bytes == plain.cache_used_bytes


def test_the_longest_draft_sets_the_number_of_rows() -> None:
    assert strict_rows(DecodeRequest("?")) == 0
    assert strict_rows(DecodeRequest("?", strict=True)) == 16
    fixed = DecodeRequest("?", strict=True, draft_length="fixed", num_draft_tokens=12)
    assert strict_rows(fixed) == 13
