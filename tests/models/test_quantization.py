from __future__ import annotations

import pytest
import torch
from torch import nn

from specdemo.models.quantization import (
    Quantization,
    kept_names,
    planned_layer_bytes,
    quantize_layers,
    resident_bytes,
)
from tests.models.tiny import tiny_llama

ROUNDINGS = [Quantization("8bit"), Quantization("nf4"), Quantization("nf4", is_double=True)]


@pytest.mark.parametrize("rounding", ROUNDINGS, ids=str)
@torch.inference_mode()
def test_rounded_layers_answer_much_like_the_exact_ones(rounding: Quantization) -> None:
    exact, rounded = tiny_llama(initializer_range=0.05), tiny_llama(initializer_range=0.05)
    quantize_layers(rounded, rounding, "cpu")
    ids = torch.arange(3, 20).unsqueeze(0)
    expected, found = exact(ids).logits.flatten(), rounded(ids).logits.flatten()
    assert torch.corrcoef(torch.stack([expected, found]))[0, 1] > 0.95
    assert not torch.equal(expected, found)


@pytest.mark.parametrize("rounding", ROUNDINGS, ids=str)
def test_bytes_include_the_scales_and_do_not_change_at_the_first_pass(
    rounding: Quantization,
) -> None:
    model = tiny_llama(intermediate_size=128)
    exact_bytes = resident_bytes(model)
    layers = [m for n, m in model.named_modules() if isinstance(m, nn.Linear) and n != "lm_head"]
    planned = exact_bytes - sum(layer.weight.nbytes for layer in layers)
    planned += sum(planned_layer_bytes(layer, rounding, "cpu") for layer in layers)
    quantize_layers(model, rounding, "cpu")
    model(torch.tensor([[1, 2, 3]]))
    assert 0 <= resident_bytes(model) - planned < 2048 * len(layers)


def test_the_head_and_widths_that_no_kernel_takes_are_kept() -> None:
    model = nn.Module()
    model.lm_head, model.good = nn.Linear(64, 320), nn.Linear(64, 704)
    model.odd, model.narrow = nn.Linear(64, 688), nn.Linear(96, 704)
    assert kept_names(model) == ["lm_head", "odd", "narrow"]
    quantize_layers(model, Quantization("nf4"), "cpu")
    assert type(model.odd) is type(model.lm_head) is nn.Linear
    assert type(model.good) is not nn.Linear


def test_weights_that_two_models_share_count_once() -> None:
    target, draft = tiny_llama(), tiny_llama(seed=1)
    draft.model.embed_tokens = target.model.embed_tokens
    draft.lm_head = target.lm_head
    shared = target.model.embed_tokens.weight.nbytes
    assert resident_bytes(draft, shared_with=target) == resident_bytes(draft) - shared
