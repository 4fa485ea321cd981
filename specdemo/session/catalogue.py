"""What can be run here: the named pairs with their sizes and licences. Loads nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants

from specdemo.models.catalog import PAIRS, BundledModelSpec, ModelSpec, PairSpec
from specdemo.settings import Settings


@dataclass(frozen=True, slots=True)
class ListedPair:
    """A pair as lists show it.

    `expected_bytes` is what both models' weights take in the pair's own precision, `None` where
    their parameters are not counted; `is_cached` tells whether it loads without a download or an
    unpacking.
    """

    name: str
    title: str
    target: str
    draft: str | None
    licence: str
    is_gated: bool
    expected_bytes: int | None
    is_cached: bool
    note: str


def listed_pairs(settings: Settings) -> tuple[ListedPair, ...]:
    """Every pair of the catalogue."""
    return tuple(_listed(pair, settings.cache_folder) for pair in PAIRS.values())


def _listed(pair: PairSpec, cache_folder: Path) -> ListedPair:
    models = [model for model in (pair.target, pair.draft) if model]
    return ListedPair(
        name=pair.name,
        title=pair.title,
        target=pair.target.name,
        draft=pair.draft.name if pair.draft else None,
        licence=pair.target.licence,
        is_gated=any(model.is_gated for model in models),
        expected_bytes=pair.expected_bytes,
        is_cached=all(_is_cached(model, cache_folder) for model in models),
        note=pair.note,
    )


def _is_cached(model: ModelSpec, cache_folder: Path) -> bool:
    if isinstance(model, BundledModelSpec):
        # The draft is read as it lies; the target is unpacked once.
        return model.path.is_dir() or any(cache_folder.glob(f"{model.name}-*"))
    hub_name = "models--" + model.source.replace("/", "--")
    return any((Path(constants.HF_HUB_CACHE) / hub_name / "snapshots").glob("*"))
