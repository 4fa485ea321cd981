"""Reading a long prompt into empty caches, by the library's own matrix products.

A decoding pass waits for the bytes of the weights, and a compiled pass reads them as they lie. A
prompt of hundreds of tokens waits for arithmetic instead: there it pays to unpack each matrix once
for all rows and to let the library multiply. Both runs read the same prompt in the same way.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from specdemo.models import kernels
from specdemo.models.packed import Array, CompiledWeights, Matrices

MIN_ROWS = 256
"""From here on it pays; a shorter prompt is read as fast or faster by compiled passes."""

_BLOCK_ROWS = 512
"""Rows whose widest activations are held at once: enough for the products, and little memory."""


def prefill(
    weights: CompiledWeights,
    hidden: Tensor,
    features: Tensor,
    keys: Array,
    values: Array,
    rotary: tuple[Array, Array],
) -> None:
    """Write the keys and values of T tokens, the first of all, and their last hidden states.

    `hidden` (T, H) holds the embedded tokens and afterwards the normed last hidden states;
    `features` (T, H) join before the weights' feature layer and may be empty; `keys` and `values`
    (L, KV, C, D) are a runner's caches, with room for T tokens.
    """
    w, num_rows = weights, len(hidden)
    memory = torch.empty(max(m.weights[0].size for m in (w.qkv, w.output, w.gate_up)))
    down = torch.empty(w.down.weights[0].size).chunk(kernels.DOWN_PARTS)
    projected = torch.empty(num_rows, w.qkv.weights.shape[1])
    gate_up = torch.empty(_BLOCK_ROWS, w.gate_up.weights.shape[1])
    cos, sin = (torch.from_numpy(table[:num_rows, None]) for table in rotary)
    for layer in range(len(keys)):
        normed = _normed(hidden, w.input_norms[layer], w.epsilon)
        torch.mm(normed, _unpacked(w.qkv, (layer,), memory).T, out=projected)
        qkv = projected.view(num_rows, -1, w.head_size)
        num_kv = w.num_kv_heads
        queries, new_keys, new_values = qkv[:, : -2 * num_kv], *qkv[:, -2 * num_kv :].chunk(2, 1)
        queries, new_keys = _rotated(queries, cos, sin), _rotated(new_keys, cos, sin)
        _store_packed(new_keys.transpose(0, 1), keys[layer])
        torch.from_numpy(values[layer, :, :num_rows]).copy_(new_values.transpose(0, 1))
        attended = _attended(queries, new_keys, new_values)
        hidden.addmm_(attended, _unpacked(w.output, (layer,), memory).T)
        widening = _unpacked(w.gate_up, (layer,), memory, num_interleaved=2)
        narrowing = [_unpacked(w.down, (layer, i), part) for i, part in enumerate(down)]
        for rows in torch.split(hidden, _BLOCK_ROWS):
            both = gate_up[: len(rows)]
            torch.mm(_normed(rows, w.mlp_norms[layer], w.epsilon), widening.T, out=both)
            gate, up = both.chunk(2, dim=1)
            activated = F.silu(gate, inplace=True).mul_(up)
            for matrix, columns in zip(narrowing, activated.chunk(kernels.DOWN_PARTS, dim=1)):
                rows.addmm_(columns, matrix.T)
        if len(features) and layer + 1 == w.feature_layer:
            hidden += features
    hidden.copy_(_normed(hidden, w.final_norm, w.epsilon))


def _attended(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Causal attention (T, N · D) of queries (T, N, D) to keys and values (T, KV, D)."""
    q, k, v = (heads.transpose(0, 1)[None] for heads in (queries, keys, values))
    attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return attended[0].transpose(0, 1).flatten(1)


def _normed(hidden: Tensor, weight: Array, epsilon: float) -> Tensor:
    """Root-mean-square normalisation of each row (torch's own takes twice as long here)."""
    squares: Tensor = torch.linalg.vector_norm(hidden, dim=-1, keepdim=True).square_()
    scale = squares.div_(hidden.shape[1]).add_(epsilon).rsqrt_()
    return (hidden * scale).mul_(torch.from_numpy(weight))


def _unpacked(
    matrices: Matrices, place: tuple[int, ...], memory: Tensor, num_interleaved: int = 1
) -> Tensor:
    """The matrix (N, K) at a place of a stack as float32, its rows scaled if they are int8.

    Matrices whose groups of rows take turns are put one below the other. The result is valid until
    `memory` is used again: fresh memory would cost as much as the product.
    """
    array, scales = matrices.weights[place], torch.from_numpy(matrices.scales[place])
    is_bfloat16 = array.dtype == np.uint16
    stored = torch.from_numpy(array.view(np.int16) if is_bfloat16 else array)
    if is_bfloat16:
        stored = stored.view(torch.bfloat16)
    lanes = kernels.INT8_LANES if array.dtype == np.int8 else kernels.LANES
    in_turn = stored.view(-1, array.shape[1] // lanes, kernels.PAIR, lanes).transpose(1, 2)
    group = len(array) if num_interleaved == 1 else kernels.GATE_GROUP
    turns = (-1, num_interleaved, group // kernels.PAIR, *in_turn.shape[1:])
    groups = in_turn.view(turns).transpose(0, 1)
    matrix = memory[: array.size].view(groups.shape).copy_(groups).view(array.shape)
    if len(scales):
        matrix.mul_(scales.view(-1, num_interleaved, group).transpose(0, 1).reshape(-1, 1))
    return matrix


def _store_packed(new_keys: Tensor, packed: Array) -> None:
    """Write keys (KV, T, D) at the beginning of a layer's cache (KV, C, D)."""
    num_heads, num_rows, size = new_keys.shape
    whole = F.pad(new_keys, (0, 0, 0, num_rows % kernels.PAIR))  # the next key overwrites it
    pairs = whole.reshape(num_heads, -1, kernels.PAIR, size // kernels.LANES, kernels.LANES)
    shape = (num_heads, -1, size // kernels.LANES, kernels.PAIR, kernels.LANES)
    torch.from_numpy(packed).view(shape)[:, : pairs.shape[1]] = pairs.transpose(2, 3)


def _rotated(heads: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding of heads (T, N, D); the tables are (T, 1, D / 2)."""
    a, b = heads.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
