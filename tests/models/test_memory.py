from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specdemo.errors import NotEnoughMemoryError
from specdemo.models import footprint, memory
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.checkpoint import Source
from specdemo.models.modules import Part
from specdemo.models.pair import LoadedSpec
from specdemo.models.pretrained import plan_of
from tests.models.test_tokenization import byte_tokenizer
from tests.models.tiny import tiny_llama


def test_free_memory_is_a_number_of_bytes() -> None:
    assert memory.available_bytes("cpu") > 1 << 20


def test_a_containers_limit_counts_and_what_the_system_can_drop_is_free(tmp_path: Path) -> None:
    assert memory.allowed_bytes(tmp_path) is None
    for name, content in (
        ("memory.max", "2000000000"),
        ("memory.current", "1500000000"),
        ("memory.stat", "anon 900000000\ninactive_file 400000000"),
    ):
        (tmp_path / name).write_text(content)
    assert memory.allowed_bytes(tmp_path) == 900_000_000
    (tmp_path / "memory.max").write_text("max")
    assert memory.allowed_bytes(tmp_path) is None


def test_a_machine_with_too_little_memory_for_the_bundled_pair_is_told_how_much_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(footprint, "available_bytes", lambda device: 100_000_000)
    config = tiny_llama(vocab_size=49152, hidden_size=576, num_attention_heads=9).config
    source = Source("tiny", None, "", ())
    part = Part("target", source, config, footprint.skeleton_of(config), byte_tokenizer())
    plan = plan_of(LoadedSpec(SMOLLM2_135M, "cpu", "float32"), [part])
    with pytest.raises(NotEnoughMemoryError, match=r"needs about .* and 100 MB of system memory"):
        footprint.check_fits(plan, "cpu")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no peak to read here")
def test_the_peak_grows_with_what_is_held() -> None:
    memory.reset_peak("cpu")
    before = memory.peak_bytes("cpu")
    held = np.ones(64 << 20, np.uint8)
    after = memory.peak_bytes("cpu")
    assert before is not None
    assert after is not None
    assert after - before > len(held) // 2


def test_a_peak_that_cannot_be_read_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_STATUS", tmp_path / "absent")
    monkeypatch.setattr(memory, "_CLEAR", tmp_path / "absent")
    memory.reset_peak("cpu")
    assert memory.peak_bytes("cpu") is None
