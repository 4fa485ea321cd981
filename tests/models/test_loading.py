from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from specdemo.errors import InvalidRequestError, ModelLoadError
from specdemo.models.bundled import read_draft
from specdemo.models.catalog import SMOLLM2_135M
from specdemo.models.loading import (
    available_threads,
    cgroup_cores,
    resolve_device,
    resolve_precision,
)
from specdemo.models.modules import end_token_ids
from specdemo.session.specs import loaded_spec
from tests.models.tiny import tiny_llama


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


@pytest.mark.parametrize("content", [None, b"", b"not safetensors"])
def test_a_draft_that_cannot_be_read_fails_loudly(content: bytes | None, tmp_path: Path) -> None:
    """Never a demo that silently decodes without its draft."""
    tiny_llama().config.save_pretrained(tmp_path)
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelLoadError, match="draft model"):
        read_draft(replace(SMOLLM2_135M.draft, path=tmp_path))


def test_end_tokens_may_be_one_or_many_or_none() -> None:
    config = tiny_llama().config
    for value, expected in ((2, [2]), ([2, 5], [2, 5]), (None, [])):
        config.eos_token_id = value
        assert end_token_ids(config) == expected


def test_generation_settings_add_their_end_tokens(tmp_path: Path) -> None:
    config = tiny_llama().config
    config.eos_token_id = 2
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [2, 107]}')
    assert end_token_ids(config, tmp_path) == [2, 107]


def test_full_precision_has_nothing_to_quantize() -> None:
    plain = loaded_spec("smollm2-135m", "bfloat16", "cpu", "draft", True)
    assert plain == loaded_spec("smollm2-135m", "bfloat16", "cpu")
    assert loaded_spec("smollm2-135m", "nf4", "cpu", "draft", True).label == "nf4 draft double"
    assert loaded_spec("smollm2-135m", "8bit", "cpu", "both", True).label == "8bit"
