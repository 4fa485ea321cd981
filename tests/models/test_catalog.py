from __future__ import annotations

import hashlib

import pytest

from specdemo.models.catalog import PAIRS, BundledModelSpec, custom_name, find_pair, is_custom


def test_every_bundled_draft_is_the_file_the_catalogue_names() -> None:
    drafts = [p.draft for p in PAIRS.values() if isinstance(p.draft, BundledModelSpec)]
    assert drafts
    for draft in drafts:
        weights = (draft.path / "model.safetensors").read_bytes()
        assert hashlib.sha256(weights).hexdigest() == draft.sha256


def test_a_pair_is_found_by_its_own_name() -> None:
    assert all(name == pair.name for name, pair in PAIRS.items())
    assert all(find_pair(name) is pair for name, pair in PAIRS.items())


def test_every_pair_of_the_hub_tells_licence_size_and_what_to_expect() -> None:
    for pair in PAIRS.values():
        assert pair.note.endswith(".")
        for model in (pair.target, pair.draft):
            assert model
            assert model.licence
        if not pair.is_bundled:
            assert pair.expected_bytes
            assert all(m.source.count("/") == 1 for m in (pair.target, pair.draft) if m)


@pytest.mark.parametrize(
    ("typed", "name", "sources"),
    [
        ((" a/big ", "a/small"), "a/big,a/small", ("a/big", "a/small")),
        (("/models/big/", ""), "/models/big/", ("/models/big/", None)),
    ],
)
def test_a_pair_of_ones_own_is_two_sources_or_one(
    typed: tuple[str, str], name: str, sources: tuple[str, str | None]
) -> None:
    assert custom_name(*typed) == name
    assert is_custom(name)
    pair = find_pair(name)
    assert (pair.target.source, pair.draft.source if pair.draft else None) == sources


def test_a_misspelt_name_is_no_pair_of_ones_own() -> None:
    assert not is_custom("smollm3")
    assert not is_custom("smollm2-135m")
