"""A long prompt is read at once; what follows must not notice."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from specdemo.models import prefill
from specdemo.models.compiled import CompiledRunner, Threads
from specdemo.models.packed import compile_weights
from tests.models.tiny import tiny_llama

THREADS = Threads(2)
TOKEN_IDS = torch.randint(0, 160, (300,), generator=torch.Generator().manual_seed(1)).tolist()
PROJECTION = torch.randn(64, 64, generator=torch.Generator().manual_seed(2)) / 8
FEATURES = torch.randn(300, 64, generator=torch.Generator().manual_seed(3))


def runner(dtype: torch.dtype, *, feature_layer: int = 0) -> CompiledRunner:
    model = tiny_llama(**({"target_feature_layer": feature_layer} if feature_layer else {}))
    state = dict(model.state_dict())
    if feature_layer:
        state["model.feature_proj.weight"] = PROJECTION
    return CompiledRunner(compile_weights(state, model.config, dtype), 304, THREADS)


def read_in_passes(runner: CompiledRunner, *, of: int, features: bool = False) -> torch.Tensor:
    """The last hidden states of all tokens, read in passes too short to be a prompt."""
    parts = range(0, len(TOKEN_IDS), of)
    return torch.cat(
        [
            runner.forward(
                TOKEN_IDS[i : i + of], 0, FEATURES[i : i + of] if features else None
            ).hidden
            for i in parts
        ]
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("feature_layer", [0, 1, 2, 3])
def test_a_prompt_read_at_once_leaves_what_short_passes_would(
    dtype: torch.dtype, feature_layer: int
) -> None:
    at_once, in_passes = (runner(dtype, feature_layer=feature_layer) for _ in range(2))
    features = FEATURES if feature_layer else None
    hidden = at_once.forward(TOKEN_IDS, 0, features).hidden
    expected = read_in_passes(in_passes, of=16, features=bool(feature_layer))
    # Int8 weights meet rounded inputs in a pass, and these as they are in a prompt.
    tolerance = 2e-3 if dtype == torch.int8 else 1e-4
    assert torch.allclose(hidden, expected, atol=tolerance)
    assert at_once.num_cached_tokens == in_passes.num_cached_tokens == len(TOKEN_IDS)
    follow = [5, 6, 7]
    logits, expected = at_once.forward(follow, 3).logits, in_passes.forward(follow, 3).logits
    assert torch.allclose(logits, expected, atol=tolerance)


@pytest.mark.parametrize(("length", "num_passes"), [(prefill.MIN_ROWS, 16), (300, 1)])
def test_only_a_long_prompt_is_read_at_once(length: int, num_passes: int) -> None:
    passes: list[int] = []

    class Counting(CompiledRunner):
        def _run_pass(self, rows: Tensor, features: Tensor, logits: Tensor) -> None:
            passes.append(len(rows))
            super()._run_pass(rows, features, logits)

    model = tiny_llama()
    weights = compile_weights(model.state_dict(), model.config, torch.float32)
    Counting(weights, 304, THREADS).forward(TOKEN_IDS[:length], 1)
    assert len(passes) == num_passes


def test_prompts_of_an_odd_length_leave_room_for_the_next_key() -> None:
    for length in (prefill.MIN_ROWS, prefill.MIN_ROWS + 1):
        at_once, in_passes = runner(torch.float32), runner(torch.float32)
        at_once.forward(TOKEN_IDS[:length], 0)
        in_passes.forward(TOKEN_IDS[:9], 0)
        in_passes.forward(TOKEN_IDS[9:length], 0)
        logits, expected = at_once.forward([3], 1).logits, in_passes.forward([3], 1).logits
        assert torch.allclose(logits, expected, atol=1e-4)


def test_the_same_prompt_read_twice_is_the_same_bit_for_bit() -> None:
    first, second = runner(torch.bfloat16), runner(torch.bfloat16)
    assert torch.equal(first.forward(TOKEN_IDS, 0).hidden, second.forward(TOKEN_IDS, 0).hidden)
    assert torch.equal(first.forward([1, 2], 2).logits, second.forward([1, 2], 2).logits)


def test_logits_of_the_last_rows_are_those_of_short_passes() -> None:
    expected = runner(torch.float32)
    read_in_passes(expected, of=16)
    expected.rollback(len(TOKEN_IDS) - 4)
    logits = runner(torch.float32).forward(TOKEN_IDS, 4).logits
    assert torch.allclose(logits, expected.forward(TOKEN_IDS[-4:], 4).logits, atol=1e-4)


def test_the_library_keeps_one_thread_beside_the_passes() -> None:
    runner(torch.float32).forward(TOKEN_IDS, 0)
    assert torch.get_num_threads() == 1
