from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.continuations import ContinuationTable


@pytest.fixture
def table(tmp_path: Path) -> ContinuationTable:
    """After 3: 5, half of the time; after 2 3: 7, nearly always; ten tokens in all."""
    tensors = {
        "keys_1": torch.tensor([3]),
        "token_ids_1": torch.tensor([5], dtype=torch.int32),
        "shares_1": torch.tensor([128], dtype=torch.uint8),
        "keys_2": torch.tensor([23, 90]),
        "token_ids_2": torch.tensor([7, 1], dtype=torch.int32),
        "shares_2": torch.tensor([255, 51], dtype=torch.uint8),
    }
    save_file(tensors, tmp_path / "continuations.safetensors", metadata={"vocabulary_size": "10"})
    found = ContinuationTable.from_folder(tmp_path)
    assert found is not None
    return found


def test_the_longest_known_context_wins(table: ContinuationTable) -> None:
    assert table.after([1, 2, 3]) == (7, 1.0)
    assert table.after([1, 4, 3]) == (5, 128 / 255)
    assert table.after([9, 0]) == (1, 51 / 255)


def test_an_unknown_context_has_no_continuation(table: ContinuationTable) -> None:
    assert table.after([4]) is None
    assert table.after([]) is None


def test_bytes_are_those_of_the_arrays(table: ContinuationTable) -> None:
    assert table.num_bytes == 3 * (8 + 4 + 1)


def test_a_draft_without_a_table_has_none(tmp_path: Path) -> None:
    assert ContinuationTable.from_folder(tmp_path) is None


def test_the_bundled_table_is_sorted_and_within_the_vocabulary() -> None:
    table = ContinuationTable.from_folder(SMOLLM2_135M.draft.path)
    assert table is not None
    for contexts in table.by_size:
        assert (contexts.keys[1:] > contexts.keys[:-1]).all()
        assert contexts.token_ids.max() < table.vocab_size == 49152
