"""A Llama forward pass compiled for this processor: the arithmetic, and nothing else.

A decoding pass on a CPU moves every weight once through the processor and does little with it, so
its cost is the bytes of the weights. Weights may be float32, bfloat16 (kept as uint16) or int8;
activations, sums and caches are float32, but for products with int8 weights, which are whole
numbers. Each output number is one chain of fused multiply-adds in a fixed order or an exact sum,
whatever the number of rows in the pass. Scoring a draft therefore
gives, bit for bit, the logits that one-token passes would give, in every weight precision.

Knows no tokenizer, no sampling, no file; weights are `packed.py`'s arrays, caches `compiled.py`'s.
"""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles the functions below from their bytecode; its decorators carry no types.
import math

import numpy as np

from specdemo.compilation import njit
from specdemo.engine.rows import exp
from specdemo.models.kernels.barrier import share, wait_for_all
from specdemo.models.kernels.dot import NO_SCALES, linear_block, operand
from specdemo.models.kernels.layout import BLOCK, store_packed

DOWN_PARTS = 2
"""Of the longest rows, the down projection's: eight whole ones overflow the nearest cache."""

GATE_GROUP = 16
"""Rows of gate that lie together, those of up behind them: as many exponentials at once."""

# A sum that the compiler may vectorize: in another order, but in the same one for every row.
_in_any_order = njit(fastmath={"reassoc", "nsz", "nnan"})


@_in_any_order
def _sum_of_squares(values):
    total = np.float32(0.0)
    for i in range(values.shape[0]):
        total += values[i] * values[i]
    return total


@_in_any_order
def _sum(values, length):
    total = np.float32(0.0)
    for i in range(length):
        total += values[i]
    return total


@_in_any_order
def _largest(values, length):
    top = values[0]
    for i in range(1, length):
        top = max(top, values[i])
    return top


@njit
def _rms_norm(hidden, weight, num_rows, epsilon, out):
    """Root-mean-square normalisation of each row."""
    width = hidden.shape[1]
    for row in range(num_rows):
        total = _sum_of_squares(hidden[row])
        scale = np.float32(1.0) / np.float32(math.sqrt(total / np.float32(width) + epsilon))
        for i in range(width):
            out[row, i] = hidden[row, i] * scale * weight[i]


@njit
def _rotate(head, cos, sin):
    """Rotary position embedding of one head at one position, in place."""
    half = cos.shape[0]
    for i in range(half):
        a, b = head[i], head[i + half]
        head[i] = a * cos[i] - b * sin[i]
        head[i + half] = b * cos[i] + a * sin[i]


@njit
def _softmax(scores, length):
    """Softmax over the first `length` scores, in place."""
    top = _largest(scores, length)
    for t in range(length):
        scores[t] = exp(scores[t] - top)
    total = _sum(scores, length)
    for t in range(length):
        scores[t] /= total


@njit
def _weighted_sum(weights, values, length, out):
    """Sum over t of weights[t] · values[t]."""
    for i in range(out.shape[0]):
        out[i] = np.float32(0.0)
    # Four at a time: each time, `out` is read and written.
    whole = length - length % 4
    for t in range(0, whole, 4):
        a, b, c, d = weights[t], weights[t + 1], weights[t + 2], weights[t + 3]
        for i in range(out.shape[0]):
            first = a * values[t, i] + b * values[t + 1, i]
            out[i] += first + (c * values[t + 2, i] + d * values[t + 3, i])
    for t in range(whole, length):
        for i in range(out.shape[0]):
            out[i] += weights[t] * values[t, i]


@njit
def _layer_of(matrices, layer):
    """One layer's matrix of a stack."""
    weights, scales = matrices
    return weights[layer], scales[layer]


@njit
def _add_projection(matrix, first, last, inputs, num_rows, hidden):
    """hidden += what a matrix makes of `inputs`, for the blocks from `first` to `last`."""
    projected = np.empty((num_rows, BLOCK), np.float32)
    factors = operand(inputs, num_rows, matrix)
    for block in range(first, last):
        linear_block(matrix, block, factors, num_rows, projected, 0)
        for row in range(num_rows):
            for i in range(BLOCK):
                hidden[row, block * BLOCK + i] += projected[row, i]


@njit
def _add_features(features, first, last, hidden):
    """hidden += features for the columns from `first` to `last`."""
    for row in range(len(features)):
        for n in range(first, last):
            hidden[row, n] += features[row, n]


@njit
def _attend(head, kv_head, start, num_rows, qkv, keys, values, rotary_cos, rotary_sin, out):
    """Causal attention of one head; `keys` and `values` (T, D) already hold the new rows."""
    size = keys.shape[1]
    padded_end = (start + num_rows + BLOCK - 1) // BLOCK * BLOCK
    queries = np.empty((num_rows, size), np.float32)
    scores = np.empty((num_rows, padded_end), np.float32)
    scale = np.float32(1.0 / math.sqrt(size))
    for row in range(num_rows):
        queries[row] = qkv[row, head * size : (head + 1) * size] * scale
        _rotate(queries[row], rotary_cos[start + row], rotary_sin[start + row])
    for block in range(padded_end // BLOCK):
        linear_block(
            (keys, NO_SCALES), block, (queries, NO_SCALES), num_rows, scores, block * BLOCK
        )
    for row in range(num_rows):
        length = start + row + 1
        _softmax(scores[row], length)
        _weighted_sum(scores[row], values, length, out[row, head * size : (head + 1) * size])


@njit
def gated(gate, up, out):
    """silu(gate) · up, in a function of its own: only so the loop is vectorized."""
    for i in range(out.shape[0]):
        # `exp` takes no more than 88, where the quotient is next to nothing.
        out[i] = gate[i] * up[i] / (np.float32(1.0) + exp(min(-gate[i], np.float32(88.0))))


@njit
def _gate(matrix, first, last, inputs, num_rows, activated):
    """silu(gate) · up for the groups from `first` to `last`."""
    # A group at a time: whole rows lie 12 kB apart and would evict each other from the cache.
    gate_up = np.empty((num_rows, 2 * GATE_GROUP), np.float32)
    factors = operand(inputs, num_rows, matrix)
    num_blocks = 2 * GATE_GROUP // BLOCK
    for group in range(first, last):
        for i in range(num_blocks):
            linear_block(matrix, group * num_blocks + i, factors, num_rows, gate_up, i * BLOCK)
        part, column = divmod(group * GATE_GROUP, activated.shape[2])
        for row in range(num_rows):
            gate, up = gate_up[row, :GATE_GROUP], gate_up[row, GATE_GROUP:]
            gated(gate, up, activated[part, row, column : column + GATE_GROUP])


@njit(nogil=True)
def llama_pass(
    thread,  # which of the threads this call is
    num_threads,  # each makes the same call with its own number
    counter,  # (1,) int64, zero at the start of the pass
    start,  # position of the first row: the number of cached tokens
    num_rows,  # R, from 1 to MAX_ROWS
    num_logits,  # N: logits are computed for the last N rows
    hidden,  # (R, H) embedded inputs; afterwards the normed last hidden states
    features,  # (R, H), added to the residual stream before layer `feature_layer`; may be empty
    feature_layer,  # from 1 on
    keys,  # (L, KV, T, D), each (T, D) packed; T is a multiple of BLOCK
    values,  # (L, KV, T, D)
    rotary_cos,  # (T, D / 2)
    rotary_sin,  # (T, D / 2)
    input_norms,  # (L, H)
    qkv_matrices,  # weights (L, Q + 2 KV · D, H) and scales (L, N or 0), packed as all below
    output_matrices,  # (L, H, Q)
    mlp_norms,  # (L, H)
    gate_up_matrices,  # (L, 2 I, H), rows in turn: a group of gate, one of up
    down_matrices,  # (L, P, H, I / P): halves of the columns, P = DOWN_PARTS
    final_norm,  # (H,)
    head_matrix,  # (V, H)
    epsilon,
    all_normed,  # scratch of each thread (threads, MAX_ROWS, H)
    qkv,  # scratch that the threads share, as the next two: (R, Q + 2 KV · D)
    attended,  # (R, Q)
    activated,  # (P, R, I / P)
    logits,  # (N, V)
):
    """One thread's share of a forward pass: writes caches, last hidden states and logits."""
    num_layers, num_kv_heads, _, size = keys.shape
    width = hidden.shape[1]
    num_heads = attended.shape[1] // size
    normed = all_normed[thread]
    qkv_first, qkv_last = share(qkv_matrices[0].shape[1] // BLOCK, thread, num_threads)
    head_first, head_last = share(num_heads, thread, num_threads)
    width_first, width_last = share(width // BLOCK, thread, num_threads)
    num_groups = gate_up_matrices[0].shape[1] // (2 * GATE_GROUP)
    gate_first, gate_last = share(num_groups, thread, num_threads)
    expected = 0

    for layer in range(num_layers):
        _rms_norm(hidden, input_norms[layer], num_rows, epsilon, normed)
        matrix = _layer_of(qkv_matrices, layer)
        factors = operand(normed, num_rows, matrix)
        for block in range(qkv_first, qkv_last):
            linear_block(matrix, block, factors, num_rows, qkv, block * BLOCK)
        expected += num_threads
        wait_for_all(counter, expected)

        if thread == 0:
            for row in range(num_rows):
                for kv_head in range(num_kv_heads):
                    first = (num_heads + kv_head) * size
                    key = qkv[row, first : first + size]
                    _rotate(key, rotary_cos[start + row], rotary_sin[start + row])
                    store_packed(key, start + row, keys[layer, kv_head])
                    first += num_kv_heads * size
                    values[layer, kv_head, start + row] = qkv[row, first : first + size]
        expected += num_threads
        wait_for_all(counter, expected)

        for head in range(head_first, head_last):
            kv_head = head * num_kv_heads // num_heads
            _attend(
                head, kv_head, start, num_rows, qkv,
                keys[layer, kv_head], values[layer, kv_head], rotary_cos, rotary_sin, attended,
            )  # fmt: skip
        expected += num_threads
        wait_for_all(counter, expected)

        matrix = _layer_of(output_matrices, layer)
        _add_projection(matrix, width_first, width_last, attended, num_rows, hidden)
        expected += num_threads
        wait_for_all(counter, expected)

        _rms_norm(hidden, mlp_norms[layer], num_rows, epsilon, normed)
        matrix = _layer_of(gate_up_matrices, layer)
        _gate(matrix, gate_first, gate_last, normed, num_rows, activated)
        expected += num_threads
        wait_for_all(counter, expected)

        matrices = _layer_of(down_matrices, layer)
        for part in range(DOWN_PARTS):
            matrix, inputs = _layer_of(matrices, part), activated[part]
            _add_projection(matrix, width_first, width_last, inputs, num_rows, hidden)
        if layer + 1 == feature_layer:
            _add_features(features, width_first * BLOCK, width_last * BLOCK, hidden)
        expected += num_threads
        wait_for_all(counter, expected)

    _rms_norm(hidden, final_norm, num_rows, epsilon, normed)
    first, last = share(head_matrix[0].shape[0] // BLOCK, thread, num_threads)
    if num_logits > 0:
        judged = normed[num_rows - num_logits : num_rows]
        factors = operand(judged, num_logits, head_matrix)
        for block in range(first, last):
            linear_block(head_matrix, block, factors, num_logits, logits, block * BLOCK)
    wait_for_all(counter, expected + num_threads)
    if thread == 0:
        hidden[:num_rows] = normed[:num_rows]
