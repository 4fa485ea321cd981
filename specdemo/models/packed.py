"""Llama weights laid out for the compiled pass. Knows no file and no tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers import LlamaConfig

from specdemo.models import kernels

Array = npt.NDArray[Any]


def supports(config: object) -> bool:
    """Whether the compiled pass computes this model."""
    if not isinstance(config, LlamaConfig):
        return False
    width, head_size = config.intermediate_size, config.head_dim or 1
    depths = (config.hidden_size, width // kernels.DOWN_PARTS, head_size)
    return (
        all(depth % kernels.LANES == 0 for depth in depths)
        and width % (kernels.DOWN_PARTS * kernels.GATE_GROUP) == 0
        and config.vocab_size % kernels.BLOCK == 0
        and config.hidden_act == "silu"
        and not (config.attention_bias or config.mlp_bias)
        and (config.rope_parameters or {}).get("rope_type", "default") == "default"
    )


class Matrices(NamedTuple):
    """A matrix or a stack of them: packed weights, and the scales of the rows if they are int8."""

    weights: Array
    scales: Array


@dataclass(frozen=True)
class CompiledWeights:
    """One model's arrays in the layout of `kernels.llama_pass`, shared by all its runs.

    `embedding` (V, H) may be another model's. `feature_proj` (H, H) is there if the model reads the
    target's hidden states, which join the residual stream before layer `feature_layer`;
    `head_token_ids` (N,) if its head covers only a part of the vocabulary.
    """

    embedding: torch.Tensor
    input_norms: Array
    qkv: Matrices
    output: Matrices
    mlp_norms: Array
    gate_up: Matrices
    down: Matrices
    final_norm: Array
    head: Matrices
    num_kv_heads: int
    head_size: int
    epsilon: float
    rope_theta: float
    feature_proj: torch.Tensor | None = None
    feature_layer: int = 0
    head_token_ids: torch.Tensor | None = None

    @cached_property
    def num_bytes(self) -> int:
        """Bytes of all arrays, a shared embedding included."""
        return self.own_bytes + self.embedding.nbytes

    @cached_property
    def own_bytes(self) -> int:
        """Bytes of the arrays that no other model holds."""
        values = [getattr(self, field.name) for field in fields(self) if field.name != "embedding"]
        parts = [part for v in values for part in (v if isinstance(v, Matrices) else [v])]
        return sum(part.nbytes for part in parts if isinstance(part, (np.ndarray, torch.Tensor)))


def compile_weights(
    state: Mapping[str, torch.Tensor],
    config: LlamaConfig,
    dtype: torch.dtype,
    *,
    embedding: torch.Tensor | None = None,
    head_token_ids: torch.Tensor | None = None,
) -> CompiledWeights:
    """Lay out a Llama state dict; `dtype` is that of the matrices: float32, bfloat16 or int8."""

    def stacked(name: str) -> torch.Tensor:
        layers = range(config.num_hidden_layers)
        return torch.stack([state[f"model.layers.{i}.{name}.weight"] for i in layers])

    def packed(matrices: torch.Tensor) -> Matrices:
        weights, scales = quantize(matrices) if dtype == torch.int8 else (matrices.to(dtype), None)
        layout: Array = kernels.pack_rows(as_array(weights))  # type: ignore[no-untyped-call]
        no_scales = np.empty((*layout.shape[:-2], 0), np.float32)
        return Matrices(layout, no_scales if scales is None else scales.numpy())

    attention = "self_attn"
    qkv = torch.cat([stacked(f"{attention}.{n}_proj") for n in "qkv"], dim=1)
    gate_up = interleave(stacked("mlp.gate_proj"), stacked("mlp.up_proj"))
    if embedding is None:
        # Looked up, not multiplied: there is no row scale to undo.
        embedding_dtype = torch.bfloat16 if dtype == torch.int8 else dtype
        # A copy: a tensor of the file would keep the whole file in memory.
        embedding = state["model.embed_tokens.weight"].to(embedding_dtype, copy=True)
    head = state.get("lm_head.weight", embedding)
    reads_features = "model.feature_proj.weight" in state
    return CompiledWeights(
        embedding=embedding,
        input_norms=stacked("input_layernorm").float().numpy(),
        qkv=packed(qkv),
        output=packed(stacked(f"{attention}.o_proj")),
        mlp_norms=stacked("post_attention_layernorm").float().numpy(),
        gate_up=packed(gate_up),
        down=packed(split_columns(stacked("mlp.down_proj"))),
        final_norm=state["model.norm.weight"].to(torch.float32, copy=True).numpy(),
        head=packed(head if head_token_ids is None else head[head_token_ids]),
        num_kv_heads=config.num_key_value_heads or config.num_attention_heads,
        head_size=config.head_dim or config.hidden_size // config.num_attention_heads,
        epsilon=config.rms_norm_eps,
        rope_theta=float((config.rope_parameters or {}).get("rope_theta") or 10_000.0),
        feature_proj=(
            state["model.feature_proj.weight"].to(torch.float32, copy=True)
            if reads_features
            else None
        ),
        feature_layer=getattr(config, "target_feature_layer", 0) if reads_features else 0,
        head_token_ids=head_token_ids,
    )


def quantize(matrices: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights as int8 (…, N, K) and the scales of their rows (…, N): the largest becomes 127."""
    matrices = matrices.float()
    scales = matrices.abs().amax(dim=-1).clamp(min=1e-12) / 127
    return (matrices / scales.unsqueeze(-1)).round().to(torch.int8), scales


def as_array(tensor: torch.Tensor) -> Array:
    """The tensor's memory as an array; bfloat16 as uint16, which numpy has no name for."""
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(np.uint16)
    return tensor.numpy()


def interleave(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """A group of rows of gate, as many of up, and so on (L, 2 I, H)."""
    shape = (gate.shape[0], -1, kernels.GATE_GROUP, gate.shape[2])
    return torch.stack([gate.reshape(shape), up.reshape(shape)], dim=2).flatten(1, 3)


def split_columns(matrices: torch.Tensor) -> torch.Tensor:
    """(L, N, K) as (L, P, N, K / P): what multiplies the first columns, then the next."""
    return torch.stack(matrices.chunk(kernels.DOWN_PARTS, dim=2), dim=1)
