from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from specdemo import compilation

_COLD_START = """
import torch
from specdemo.models.compiled import CompiledRunner, Threads
from specdemo.models.packed import compile_weights
from tests.models.tiny import tiny_llama
model = tiny_llama()
weights = compile_weights(model.state_dict(), model.config, torch.float32)
print(CompiledRunner(weights, 8, Threads(2)).forward([1, 2, 3], 3).logits.isfinite().all().item())
"""


@pytest.mark.slow
def test_a_first_start_compiles_on_two_threads_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COLD_START],
        env={"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "", "HOME": str(tmp_path)},
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_the_compiled_code_is_named_after_all_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("a")
    other.write_text("b")
    monkeypatch.setattr(compilation, "_SOURCES", [one, other])
    before = compilation.sources_digest()
    other.write_text("c")
    assert compilation.sources_digest() != before
