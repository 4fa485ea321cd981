"""The matrix of families and the bundled pair on a CUDA device, in bfloat16 and NF4.

In these precisions a near-tie between two tokens may fall either way, so a difference is reported
with the gap between the two likeliest tokens there, and only the run itself must succeed.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch

from specdemo.models.catalog import custom_name, find_pair
from specdemo.models.loading import LoadedSpec, ModelPair, load_pair
from specdemo.settings import read_settings
from tests.models.families import FAMILIES, save_model
from tests.models.test_families import NEW_TOKENS, PROMPT, finish, judged, output

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device"),
    pytest.mark.filterwarnings("default"),
]


@pytest.mark.parametrize("precision", ["bfloat16", "nf4"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_runs(family: str, precision: str, tmp_path: Path) -> None:
    name = custom_name(
        save_model(tmp_path / "target", family, seed=0),
        save_model(tmp_path / "draft", family, seed=1, role="draft"),
    )
    report(finish(load_pair(LoadedSpec(find_pair(name), "cuda", precision), Path(), 2)))


@pytest.mark.parametrize("quantize", ["both", "target", "draft"])
@pytest.mark.parametrize("precision", ["bfloat16", "8bit", "nf4"])
def test_the_bundled_pair_runs(precision: str, quantize: str) -> None:
    spec = LoadedSpec(find_pair("smollm2-135m"), "cuda", precision, quantize)
    report(finish(load_pair(spec, read_settings().cache_folder, 2)))


def report(pair: ModelPair) -> None:
    """Run normally and with drafts of 1 to 8 tokens; warn where the answers part."""
    prompt = pair.tokenizer.encode(PROMPT)
    normal = output(judged(pair, prompt, 0))
    assert len(normal) == NEW_TOKENS
    for count in range(1, 9):
        found = output(judged(pair, prompt, count))
        assert len(found) == NEW_TOKENS
        at = next((i for i, (a, b) in enumerate(zip(normal, found)) if a != b), None)
        if at is not None:
            runner = pair.new_target_runner(len(prompt) + NEW_TOKENS)
            top = runner.forward([*prompt, *normal[:at]], 1).logits[0].topk(2).values
            gap = (top[0] - top[1]).item()
            warnings.warn(
                f"{pair.spec.pair.title} {pair.spec.label}, {count} draft tokens: differs from "
                f"token {at} on, where the two likeliest are {gap:.4f} apart",
                stacklevel=1,
            )
