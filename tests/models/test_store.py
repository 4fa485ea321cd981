from __future__ import annotations

import gc
import weakref
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import pytest

from specdemo.errors import ModelLoadError
from specdemo.models import store as store_module
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.loading import LoadedSpec
from specdemo.models.store import ModelStore


@dataclass(eq=False)
class FakePair:
    """What the store looks at."""

    spec: LoadedSpec


SPECS = [LoadedSpec(SMOLLM2_135M, "cpu", precision) for precision in ("bfloat16", "float32")]


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Loading is instant; the list tells what was loaded."""
    loaded: list[str] = []

    def load_pair(spec: LoadedSpec, *rest: object) -> Generator[str, None, FakePair]:
        yield f"loading {spec.precision}"
        loaded.append(spec.precision)
        return FakePair(spec)

    monkeypatch.setattr(store_module, "load_pair", load_pair)
    return loaded


def finish(stages: Generator[str, None, object]) -> object:
    while True:
        try:
            next(stages)
        except StopIteration as done:
            return done.value


def test_a_pair_is_loaded_once_until_another_is_asked_for(loads: list[str]) -> None:
    store = ModelStore(Path(), 1)
    for spec in (SPECS[0], SPECS[0], SPECS[1], SPECS[0]):
        finish(store.load(spec))
    assert loads == ["bfloat16", "float32", "bfloat16"]


def test_the_old_pair_is_gone_before_the_new_one_is_loaded(loads: list[str]) -> None:
    store = ModelStore(Path(), 1)
    old = weakref.ref(finish(store.load(SPECS[0])))
    stages = store.load(SPECS[1])
    next(stages)
    gc.collect()
    assert old() is None


def test_after_a_failed_load_the_next_one_works(
    loads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ModelStore(Path(), 1)
    working = store_module.load_pair

    def failing(*_: object) -> Generator[str, None, object]:
        yield "loading"
        raise ModelLoadError("The file is damaged; download it again.")

    monkeypatch.setattr(store_module, "load_pair", failing)
    with pytest.raises(ModelLoadError):
        finish(store.load(SPECS[0]))
    monkeypatch.setattr(store_module, "load_pair", working)
    finish(store.load(SPECS[0]))
    assert loads == ["bfloat16"]


@pytest.mark.usefixtures("loads")
def test_it_is_known_which_pair_the_device_is_busy_with_and_when_it_is_free() -> None:
    store = ModelStore(Path(), 1)
    for spec in SPECS:
        assert store.busy_with is None
        assert store.acquire(lambda: False)
        stages = store.load(spec)
        next(stages, None)
        assert store.busy_with == SMOLLM2_135M.title
        finish(stages)
        assert store.busy_with == SMOLLM2_135M.title
        store.release()
    assert store.busy_with is None


def test_the_device_is_one_holders_at_a_time() -> None:
    store = ModelStore(Path(), 1)
    assert store.acquire(lambda: False)
    assert not store.acquire(lambda: True)
    store.release()
    assert store.acquire(lambda: True)
