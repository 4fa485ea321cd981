from __future__ import annotations

import pytest
import torch

from specdemo.errors import UnsupportedCacheError
from specdemo.models.runner import HFModelRunner
from tests.models.tiny import tiny_llama, with_features

TOKEN_IDS = list(range(3, 40))


def test_a_cached_run_gives_the_logits_of_one_pass_over_everything() -> None:
    runner = HFModelRunner(tiny_llama(), 160)
    whole = HFModelRunner(tiny_llama(), 160).forward(TOKEN_IDS, len(TOKEN_IDS)).logits
    runner.forward(TOKEN_IDS[:20], 0)
    assert torch.allclose(runner.forward(TOKEN_IDS[20:], 17).logits, whole[20:], atol=1e-5)


def test_after_a_rollback_the_cache_is_as_if_nothing_had_been_there() -> None:
    straight, wandering = HFModelRunner(tiny_llama(), 160), HFModelRunner(tiny_llama(), 160)
    straight.forward(TOKEN_IDS[:10], 0)
    wandering.forward(TOKEN_IDS[:10], 0)
    wandering.forward([1, 2, 3], 3)
    wandering.rollback(10)
    wandering.rollback(10)
    wandering.rollback(99)
    assert wandering.num_cached_tokens == 10
    follow = TOKEN_IDS[10:14]
    assert torch.allclose(
        wandering.forward(follow, 4).logits, straight.forward(follow, 4).logits, atol=1e-6
    )


def test_an_empty_pass_computes_nothing() -> None:
    runner = HFModelRunner(tiny_llama(), 160)
    output = runner.forward([], 0)
    assert (runner.num_cached_tokens, output.logits.shape, output.hidden.shape) == (
        0, (0, 160), (0, 64),
    )  # fmt: skip


def test_logits_end_at_the_shared_vocabulary() -> None:
    assert HFModelRunner(tiny_llama(), 150).forward([1, 2], 2).logits.shape == (2, 150)


def test_cache_bytes_are_the_bytes_of_its_tensors() -> None:
    runner = HFModelRunner(tiny_llama(), 160)
    assert runner.cache_bytes == 0
    runner.forward(TOKEN_IDS[:10], 0)
    assert runner.cache_bytes == runner.cache_used_bytes == 2 * 3 * 2 * 10 * 16 * 4


def test_a_cut_head_gives_the_other_tokens_no_probability() -> None:
    kept = torch.tensor([3, 9])
    logits = HFModelRunner(tiny_llama(), 160, head_token_ids=kept).forward([1, 2], 1).logits
    assert logits.isneginf().sum() == 158
    assert logits[:, kept].isfinite().all()


@torch.no_grad()
def test_features_are_projected_and_join_before_their_layer() -> None:
    model = tiny_llama(target_feature_layer=2)
    projection, features = torch.randn(64, 64) / 8, torch.randn(5, 64)
    runner = HFModelRunner(model, 160, feature_proj=projection)
    assert runner.reads_features
    logits = runner.forward([1, 2, 3, 4, 5], 5, features).logits
    assert torch.allclose(logits, with_features(model, features @ projection.T), atol=2e-5)


def test_a_cache_that_does_not_roll_back_is_refused() -> None:
    runner = HFModelRunner(tiny_llama(), 160)
    runner.forward([1, 2, 3], 0)
    runner._cache.crop = lambda count: None  # type: ignore[method-assign]
    with pytest.raises(UnsupportedCacheError, match="ordinary attention"):
        runner.rollback(1)
