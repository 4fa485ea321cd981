from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from specdemo.errors import CacheFolderError, ModelLoadError
from specdemo.models import conversion
from specdemo.models.catalog import SMOLLM2_135M, ModelSpec
from specdemo.models.conversion import converted_folder, is_intact
from tests.models.tiny import tiny_llama


@pytest.fixture
def spec(tmp_path: Path) -> ModelSpec:
    source = tmp_path / "tiny.gguf"
    source.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    return replace(SMOLLM2_135M.target, name="tiny", path=source, sha256=digest)


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Conversion writes two small files; the list tells how often it ran."""
    ran: list[Path] = []

    def convert(source: Path, folder: Path) -> None:
        ran.append(source)
        (folder / "model.safetensors").write_bytes(b"converted")
        (folder / "config.json").write_text("{}")

    monkeypatch.setattr(conversion, "convert", convert)
    return ran


def finish(stages: Generator[str, None, Path]) -> Path:
    while True:
        try:
            next(stages)
        except StopIteration as done:
            return Path(done.value)


def test_a_model_is_converted_once(
    spec: ModelSpec, conversions: list[Path], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    first, second = finish(converted_folder(spec, cache)), finish(converted_folder(spec, cache))
    assert first == second
    assert len(conversions) == 1
    assert [path.name for path in cache.iterdir()] == [first.name]


@pytest.mark.parametrize("harm", ["change", "cut", "remove", "manifest"])
def test_a_corrupt_cache_is_rebuilt(
    harm: str, spec: ModelSpec, conversions: list[Path], tmp_path: Path
) -> None:
    folder = finish(converted_folder(spec, tmp_path / "cache"))
    weights = folder / "model.safetensors"
    match harm:
        case "change":
            weights.write_bytes(b"converteX")
        case "cut":
            weights.write_bytes(b"conv")
        case "remove":
            weights.unlink()
        case "manifest":
            (folder / "manifest.json").write_text("{")
    assert not is_intact(folder)
    assert is_intact(finish(converted_folder(spec, tmp_path / "cache")))
    assert len(conversions) == 2


def test_an_interrupted_conversion_leaves_nothing_behind(
    spec: ModelSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(source: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion, "convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        finish(converted_folder(spec, tmp_path / "cache"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(
    spec: ModelSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, folder: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(conversion, "convert", full)
    with pytest.raises(CacheFolderError, match=r"No space left.*SPECDEMO_CACHE"):
        finish(converted_folder(spec, tmp_path / "cache"))
    assert list((tmp_path / "cache").iterdir()) == []


def test_weights_that_outgrow_the_disk_are_one_sentence_and_leave_nothing_behind(
    spec: ModelSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library that writes them wraps the system's error in one of its own."""
    monkeypatch.setattr(
        conversion, "convert", lambda _, folder: tiny_llama().save_pretrained(folder)
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(CacheFolderError, match=r"could not be written .*SPECDEMO_CACHE"):
            finish(converted_folder(spec, tmp_path / "cache"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "cache").iterdir()) == []
    assert is_intact(finish(converted_folder(spec, tmp_path / "cache")))


def test_what_a_killed_conversion_left_is_removed_and_what_another_writes_is_not(
    spec: ModelSpec, conversions: list[Path], tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    abandoned, going_on = (cache / f".converting-{pid}-x" for pid in (2**22 + 1, os.getpid()))
    for folder in (abandoned, going_on):
        folder.mkdir(parents=True)
    finish(converted_folder(spec, cache))
    assert not abandoned.exists()
    assert going_on.exists()


def test_a_cache_folder_that_cannot_be_made_is_one_sentence(
    spec: ModelSpec, conversions: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheFolderError, match="SPECDEMO_CACHE"):
        finish(converted_folder(spec, tmp_path / "file" / "cache"))


def test_a_missing_model_file_is_one_sentence(spec: ModelSpec, tmp_path: Path) -> None:
    spec.path.unlink()
    with pytest.raises(ModelLoadError, match=r"tiny\.gguf is missing"):
        finish(converted_folder(spec, tmp_path / "cache"))


def test_a_damaged_model_file_is_one_sentence(spec: ModelSpec, tmp_path: Path) -> None:
    spec.path.write_bytes(b"weightX")
    with pytest.raises(ModelLoadError, match="SHA-256"):
        finish(converted_folder(spec, tmp_path / "cache"))


def test_the_bundled_file_is_the_one_the_catalogue_names() -> None:
    conversion.check_source(SMOLLM2_135M.target)
