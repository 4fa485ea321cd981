from __future__ import annotations

import pytest

from specdemo.engine.draft_length import (
    AdaptiveLength,
    ConfidenceLength,
    FixedLength,
    HeuristicLength,
)
from specdemo.engine.drafting import HybridDrafter, ModelDrafter, NgramDrafter, NoDrafter
from specdemo.engine.sampling import Sampler, SamplingParams
from specdemo.session.lane import new_draft_length, new_drafter
from specdemo.session.request import DRAFT_LENGTHS, DRAFT_SOURCES, DecodeRequest
from tests.session.fakes import SizedTable, table_pair


@pytest.mark.parametrize(
    ("source", "kind"),
    list(zip(DRAFT_SOURCES, [ModelDrafter, NgramDrafter, HybridDrafter, NoDrafter])),
)
def test_each_draft_source_has_its_drafter(source: str, kind: type) -> None:
    runner = SizedTable(table_pair().new_target_runner(9).table) if source in (
        "model", "hybrid",
    ) else None  # fmt: skip
    assert type(new_drafter(source, runner, Sampler(SamplingParams(), 0), table_pair())) is kind


@pytest.mark.parametrize(
    ("name", "kind"),
    list(zip(DRAFT_LENGTHS, [FixedLength, HeuristicLength, ConfidenceLength, AdaptiveLength])),
)
def test_each_draft_length_has_its_policy_and_a_memory_of_its_own(name: str, kind: type) -> None:
    request = DecodeRequest("hi", draft_length=name)
    one, other = new_draft_length(request), new_draft_length(request)
    assert type(one) is kind
    assert one is not other
