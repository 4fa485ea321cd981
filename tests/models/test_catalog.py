from __future__ import annotations

import hashlib

from specdemo.models.catalog import PAIRS


def test_every_bundled_draft_is_the_file_the_catalogue_names() -> None:
    for pair in PAIRS.values():
        weights = (pair.draft.path / "model.safetensors").read_bytes()
        assert hashlib.sha256(weights).hexdigest() == pair.draft.sha256


def test_a_pair_is_found_by_its_own_name() -> None:
    assert all(name == pair.name for name, pair in PAIRS.items())
