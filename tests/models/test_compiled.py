from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
import torch
from numba import njit
from transformers import GPT2Config, LlamaConfig

from specdemo.models import kernels
from specdemo.models.compiled import CompiledRunner, Threads
from specdemo.models.kernels.dot import linear_block, operand
from specdemo.models.kernels.llama import gated
from specdemo.models.packed import compile_weights, quantize, supports
from tests.models.tiny import tiny_llama, with_features

THREADS = Threads(2)
TOKEN_IDS = torch.randint(0, 160, (45,), generator=torch.Generator().manual_seed(0)).tolist()


def runner(dtype: torch.dtype = torch.float32, threads: Threads = THREADS) -> CompiledRunner:
    model = tiny_llama()
    return CompiledRunner(compile_weights(model.state_dict(), model.config, dtype), 48, threads)


def logits_in_passes_of(size: int, dtype: torch.dtype, threads: Threads = THREADS) -> torch.Tensor:
    compiled = runner(dtype, threads)
    passes = [TOKEN_IDS[i : i + size] for i in range(0, len(TOKEN_IDS), size)]
    return torch.cat([compiled.forward(ids, len(ids)).logits for ids in passes])


@torch.no_grad()
def test_logits_and_hidden_states_are_those_of_transformers() -> None:
    reference = tiny_llama()(torch.tensor([TOKEN_IDS]), output_hidden_states=True)
    output = runner().forward(TOKEN_IDS, len(TOKEN_IDS))
    assert torch.allclose(output.logits, reference.logits[0], atol=2e-5)
    assert torch.allclose(output.hidden, reference.hidden_states[-1][0], atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8], ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 20])
def test_a_rows_logits_do_not_depend_on_how_many_rows_are_in_the_pass(
    size: int, dtype: torch.dtype
) -> None:
    """Bit for bit: verifying a draft gives exactly the logits of one-token passes."""
    assert torch.equal(logits_in_passes_of(size, dtype), logits_in_passes_of(1, dtype))


def test_a_rows_logits_do_not_depend_on_the_number_of_threads() -> None:
    one = logits_in_passes_of(4, torch.bfloat16, Threads(1))
    assert torch.equal(one, logits_in_passes_of(4, torch.bfloat16, Threads(3)))


@torch.no_grad()
def test_bfloat16_weights_are_the_models_weights_rounded() -> None:
    model = tiny_llama()
    for parameter in model.parameters():
        parameter.copy_(parameter.bfloat16().float())
    reference = model(torch.tensor([TOKEN_IDS])).logits[0]
    logits = logits_in_passes_of(5, torch.bfloat16)
    assert torch.allclose(logits, reference, atol=2e-4)


def test_only_the_last_logits_are_computed_when_only_they_are_asked_for() -> None:
    whole = runner().forward(TOKEN_IDS, len(TOKEN_IDS)).logits
    for count in (0, 1, 3, 11):
        some = runner().forward(TOKEN_IDS, count).logits
        assert torch.equal(some, whole[len(TOKEN_IDS) - count :])


def test_after_a_rollback_the_cache_is_as_if_nothing_had_been_there() -> None:
    straight, wandering = runner(), runner()
    straight.forward(TOKEN_IDS[:10], 0)
    wandering.forward(TOKEN_IDS[:10], 0)
    wandering.forward([1, 2, 3, 4, 5, 6], 6)
    wandering.rollback(10)
    wandering.rollback(30)
    assert wandering.num_cached_tokens == 10
    follow = TOKEN_IDS[10:14]
    assert torch.equal(wandering.forward(follow, 4).logits, straight.forward(follow, 4).logits)


def test_a_cut_head_gives_the_other_tokens_no_probability() -> None:
    model = tiny_llama()
    kept = torch.tensor([3, 9, 50, 51])
    weights = compile_weights(model.state_dict(), model.config, torch.float32, head_token_ids=kept)
    logits = CompiledRunner(weights, 8, THREADS).forward(TOKEN_IDS[:3], 3).logits
    whole = runner().forward(TOKEN_IDS[:3], 3).logits
    assert torch.equal(logits[:, kept], whole[:, kept])
    assert logits.isneginf().sum() == 3 * (160 - 4)


@torch.no_grad()
def test_features_are_projected_and_join_before_their_layer() -> None:
    model = tiny_llama(target_feature_layer=2)
    projection, features = torch.randn(64, 64) / 8, torch.randn(5, 64)
    state = {**model.state_dict(), "model.feature_proj.weight": projection}
    weights = compile_weights(state, model.config, torch.float32)
    runner = CompiledRunner(weights, 8, THREADS)
    assert runner.reads_features
    logits = runner.forward([1, 2, 3, 4, 5], 5, features).logits
    assert torch.allclose(logits, with_features(model, features @ projection.T), atol=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int8], ids=str)
def test_the_laid_out_weights_hold_nothing_of_the_file(dtype: torch.dtype) -> None:
    """One tensor of a mapped file keeps all of it in memory."""
    model = tiny_llama()
    state = {**model.state_dict(), "model.feature_proj.weight": torch.eye(64)}
    weights = compile_weights(state, model.config, dtype)
    parts = [getattr(weights, field.name) for field in fields(weights)]
    arrays = [
        np.asarray(a)
        for p in parts
        for a in (p if isinstance(p, tuple) else [p])
        if isinstance(a, np.ndarray) or (isinstance(a, torch.Tensor) and a.dtype != torch.bfloat16)
    ]
    originals = [tensor.numpy() for tensor in state.values()]
    assert not any(np.shares_memory(a, o) for a in arrays for o in originals)


def test_bytes_are_those_of_the_arrays_and_a_shared_embedding_counts_once() -> None:
    model = tiny_llama()
    target = compile_weights(model.state_dict(), model.config, torch.bfloat16)
    draft = compile_weights(
        model.state_dict(), model.config, torch.bfloat16, embedding=target.embedding
    )
    layers = sum(p.numel() for n, p in model.named_parameters() if p.ndim == 2 and "layers" in n)
    norms = sum(p.numel() for p in model.parameters() if p.ndim == 1)
    head = 160 * 64
    assert draft.own_bytes == 2 * (layers + head) + 4 * norms
    assert target.num_bytes == draft.own_bytes + 2 * head
    cache = CompiledRunner(target, 41, THREADS)
    cache.forward([1, 2, 3], 0)
    assert cache.cache_bytes == 2 * 3 * 2 * 44 * 16 * 4
    assert cache.cache_used_bytes == cache.cache_bytes * 3 // 44


def test_models_that_the_pass_would_compute_wrongly_are_not_taken() -> None:
    assert supports(tiny_llama().config)
    assert not supports(GPT2Config())
    assert not supports(LlamaConfig(hidden_act="gelu"))
    assert not supports(LlamaConfig(attention_bias=True))
    assert not supports(LlamaConfig(vocab_size=32001))
    scaled = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}
    assert not supports(LlamaConfig(rope_parameters=scaled))


def test_int8_weights_stay_within_half_a_step_of_the_model() -> None:
    weights = torch.randn(2, 8, 16)
    rounded, scales = quantize(weights)
    assert rounded.dtype == torch.int8
    error = (rounded * scales.unsqueeze(-1) - weights).abs()
    assert (error <= scales.unsqueeze(-1) * 0.5001).all()


@torch.no_grad()
def test_an_int8_pass_computes_with_the_rounded_weights() -> None:
    model = tiny_llama()
    embedding = model.model.embed_tokens.weight
    weights = compile_weights(
        model.state_dict(), model.config, torch.int8, embedding=embedding.detach()
    )
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2 and "embed" not in name:
            halves = parameter.chunk(2, dim=1) if "down_proj" in name else (parameter,)
            exact = [rounded * scales.unsqueeze(-1) for rounded, scales in map(quantize, halves)]
            parameter.copy_(torch.cat(exact, dim=1))
    hidden = model(torch.tensor([TOKEN_IDS]), output_hidden_states=True).hidden_states[-1][0]
    output = CompiledRunner(weights, 48, THREADS).forward(TOKEN_IDS, 0)
    # The inputs of its products are rounded too, to 15 bits.
    assert torch.allclose(output.hidden, hidden, atol=5e-3)


def test_the_largest_sums_of_whole_numbers_do_not_overflow() -> None:
    depth = 1536
    weights, scales = quantize(torch.ones(kernels.BLOCK, depth))
    matrix = (kernels.pack_rows(weights.numpy()), scales.numpy())
    inputs = np.full((1, depth), 3.0, np.float32)
    outputs = np.empty((1, kernels.BLOCK), np.float32)

    @njit
    def multiply(matrix, inputs, outputs):  # type: ignore[no-untyped-def]
        linear_block(matrix, 0, operand(inputs, 1, matrix), 1, outputs, 0)

    multiply(matrix, inputs, outputs)
    assert np.allclose(outputs, 3.0 * depth, rtol=1e-4)


def test_a_gate_is_right_from_far_below_zero_to_far_above() -> None:
    gate = np.array([-1e4, -100, -89, -20, -1, 0, 1, 20, 100, 1e4] * 2, np.float32)
    up, out = np.full_like(gate, 3), np.empty_like(gate)
    gated(gate, up, out)
    expected = torch.nn.functional.silu(torch.from_numpy(gate)).numpy() * 3
    assert np.allclose(out, expected, rtol=1e-6, atol=1e-30)
