from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from specdemo.errors import InvalidRequestError, ModelLoadError, NotEnoughMemoryError
from specdemo.models import loading
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.loading import (
    LoadedSpec,
    available_threads,
    cgroup_cores,
    check_memory,
    end_token_ids,
    read_draft,
    resolve_device,
    resolve_precision,
)
from tests.models.tiny import tiny_llama

SPEC = LoadedSpec(SMOLLM2_135M, "cpu", "bfloat16")


def test_auto_on_a_cpu_is_the_precision_with_the_lighter_weights() -> None:
    assert resolve_precision("auto", "cpu") == "bfloat16"
    assert resolve_precision("float32", "cpu") == "float32"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_a_device_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(InvalidRequestError, match="choose auto or cpu"):
        resolve_device("cuda")


def test_threads_do_not_exceed_a_containers_quota(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    for content, cores in (("250000 100000", 2), ("50000 100000", 1), ("max 100000", None)):
        quota.write_text(content)
        assert cgroup_cores(quota) == cores
    assert cgroup_cores(tmp_path / "absent") is None
    assert available_threads() >= 1


def test_too_little_memory_is_told_with_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.safetensors").write_bytes(bytes(10 << 20))
    monkeypatch.setattr(loading, "available_bytes", lambda device: 4 << 20)
    with pytest.raises(NotEnoughMemoryError, match="needs about 8 MB and 4 MB are free"):
        check_memory(tmp_path, SPEC)
    monkeypatch.setattr(loading, "available_bytes", lambda device: 9 << 20)
    check_memory(tmp_path, SPEC)


@pytest.mark.parametrize("content", [None, b"", b"not safetensors"])
def test_a_draft_that_cannot_be_read_fails_loudly(content: bytes | None, tmp_path: Path) -> None:
    """Never a demo that silently decodes without its draft."""
    tiny_llama().config.save_pretrained(tmp_path)
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    broken = replace(SMOLLM2_135M, draft=replace(SMOLLM2_135M.draft, path=tmp_path))
    with pytest.raises(ModelLoadError, match="draft model"):
        read_draft(broken)


def test_end_tokens_may_be_one_or_many_or_none() -> None:
    config = tiny_llama().config
    for value, expected in ((2, [2]), ([2, 5], [2, 5]), (None, [])):
        config.eos_token_id = value
        assert end_token_ids(config) == expected
