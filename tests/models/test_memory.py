from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from specdemo.models import memory


def test_free_memory_is_a_number_of_bytes() -> None:
    assert memory.available_bytes("cpu") > 1 << 20


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
