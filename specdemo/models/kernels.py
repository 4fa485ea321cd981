"""A Llama forward pass compiled for this processor: the arithmetic, and nothing else.

A decoding pass on a CPU moves every weight once through the processor and does little with it, so
its cost is the bytes of the weights. Weights may be bfloat16 (kept as uint16) or float32;
activations, sums and caches are float32 always. Each output number is one chain of fused
multiply-adds in a fixed order, whatever the number of rows in the pass. Scoring a draft therefore
gives, bit for bit, the logits that one-token passes would give, in every weight precision.

Knows no tokenizer, no sampling, no file; caches and weights are arrays owned by `compiled.py`.
"""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles the functions below from their bytecode; its decorators carry no types.
import math
import sys

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from specdemo.engine.rows import exp

MAX_ROWS = 8
"""Rows in one compiled pass; longer inputs are fed in blocks of this size."""

BLOCK = 4
"""Outputs computed together: the widths of all matrices are multiples of it."""

LANES = 8
"""Numbers in one vector operation: the depths of all matrices are multiples of it."""

PAIR = 2
"""Rows of a matrix whose lanes lie in turn in memory, so that a block is read as one stream."""

_PREFETCH = 1024
"""How many weights ahead the memory is asked for; measured, the gain is flat around it."""

_VECTOR = ir.VectorType(ir.FloatType(), LANES)


def _load_weights(builder, pointer, index, is_bfloat16):
    """Eight weights as float32; a bfloat16 is the upper half of a float32."""
    address = builder.gep(pointer, [index])
    if not is_bfloat16:
        return builder.load(builder.bitcast(address, _VECTOR.as_pointer()), align=4)
    halves = ir.VectorType(ir.IntType(16), LANES)
    words = ir.VectorType(ir.IntType(32), LANES)
    loaded = builder.load(builder.bitcast(address, halves.as_pointer()), align=2)
    sixteen = ir.Constant(words, [16] * LANES)
    return builder.bitcast(builder.shl(builder.zext(loaded, words), sixteen), _VECTOR)


def _prefetch(builder, pointer, index):
    """Ask for the cache line that lies `_PREFETCH` weights ahead."""
    byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
    prefetch = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch")
    ahead = builder.add(index, ir.Constant(index.type, _PREFETCH))
    address = builder.bitcast(builder.gep(pointer, [ahead]), byte_pointer)
    builder.call(prefetch, [address, word(0), word(3), word(1)])  # read, keep, data


def _horizontal_sum(builder, vector):
    """The sum of the lanes, by halves: a fixed order."""
    width = LANES
    while width > 1:
        width //= 2
        shape = ir.VectorType(ir.IntType(32), width)
        low = ir.Constant(shape, list(range(width)))
        high = ir.Constant(shape, list(range(width, 2 * width)))
        undefined = ir.Constant(vector.type, ir.Undefined)
        vector = builder.fadd(
            builder.shuffle_vector(vector, undefined, low),
            builder.shuffle_vector(vector, undefined, high),
        )
    return builder.extract_element(vector, ir.Constant(ir.IntType(32), 0))


def _dot_block(num_rows, num_outputs):
    """A compiled function `(weights, n, inputs, m, out, column)` that fills a block of `out`.

    out[m + i, column + j] = weights[n + j] · inputs[m + i] for i < num_rows, j < num_outputs.
    `weights` is packed by `pack_rows`.
    """

    def codegen(context, builder, signature, args):
        weights_type, _, inputs_type, _, out_type, _ = signature.args
        weights, n, inputs, m, out, column = args
        weights = context.make_array(weights_type)(context, builder, weights)
        inputs = context.make_array(inputs_type)(context, builder, inputs)
        out = context.make_array(out_type)(context, builder, out)
        depth = cgutils.unpack_tuple(builder, weights.shape)[1]
        width = cgutils.unpack_tuple(builder, out.shape)[1]
        is_bfloat16 = weights_type.dtype == types.uint16
        index = ir.IntType(64)

        def offset(first, plus, stride):
            return builder.mul(builder.add(first, ir.Constant(index, plus)), stride)

        lane_rows = [ir.Constant(index, j % PAIR * LANES) for j in range(num_outputs)]
        weight_rows = [
            builder.add(offset(n, j - j % PAIR, depth), lane) for j, lane in enumerate(lane_rows)
        ]
        input_rows = [offset(m, i, depth) for i in range(num_rows)]
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        sums = [
            [cgutils.alloca_once_value(builder, zero) for _ in range(num_outputs)]
            for _ in range(num_rows)
        ]
        for row in sums:
            for cell in row:
                builder.store(zero, cell)
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), f"llvm.fma.v{LANES}f32"
        )
        steps = (ir.Constant(index, 0), depth, ir.Constant(index, LANES))
        with cgutils.for_range_slice(builder, *steps, intp=index) as (k, _):
            step = builder.mul(k, ir.Constant(index, PAIR))
            for row in weight_rows[::PAIR]:
                _prefetch(builder, weights.data, builder.add(row, step))
            columns = [
                _load_weights(builder, weights.data, builder.add(row, step), is_bfloat16)
                for row in weight_rows
            ]
            for i, row in enumerate(input_rows):
                values = _load_weights(builder, inputs.data, builder.add(row, k), False)
                for j, loaded in enumerate(columns):
                    total = builder.call(fma, [loaded, values, builder.load(sums[i][j])])
                    builder.store(total, sums[i][j])
        for i in range(num_rows):
            for j in range(num_outputs):
                place = builder.add(offset(m, i, width), builder.add(column, ir.Constant(index, j)))
                total = _horizontal_sum(builder, builder.load(sums[i][j]))
                builder.store(total, builder.gep(out.data, [place]))
        return context.get_dummy_value()

    @intrinsic
    def dot_block(typingctx, weights, n, inputs, m, out, column):
        integer = types.intp
        return types.void(weights, integer, inputs, integer, out, integer), codegen

    return dot_block


_dot_1x4, _dot_2x4, _dot_3x2 = _dot_block(1, 4), _dot_block(2, 4), _dot_block(3, 2)
# From three rows on, two outputs at a time: 3 x 4 sums and operands overflow 16 registers.
_dot_4x2, _dot_5x2, _dot_6x2 = _dot_block(4, 2), _dot_block(5, 2), _dot_block(6, 2)


@njit(cache=True)
def _linear_block(weights, block, inputs, num_rows, out, column):
    """Four outputs of `inputs @ weights.T` for all rows, written from `column` on."""
    n = block * BLOCK
    if num_rows == 1:
        _dot_1x4(weights, n, inputs, 0, out, column)
    elif num_rows == 2:
        _dot_2x4(weights, n, inputs, 0, out, column)
    elif num_rows == 3:
        _dot_3x2(weights, n, inputs, 0, out, column)
        _dot_3x2(weights, n + 2, inputs, 0, out, column + 2)
    elif num_rows == 5:
        _dot_5x2(weights, n, inputs, 0, out, column)
        _dot_5x2(weights, n + 2, inputs, 0, out, column + 2)
    elif num_rows == 6:
        _dot_6x2(weights, n, inputs, 0, out, column)
        _dot_6x2(weights, n + 2, inputs, 0, out, column + 2)
    else:
        _dot_4x2(weights, n, inputs, 0, out, column)
        _dot_4x2(weights, n + 2, inputs, 0, out, column + 2)
        if num_rows == 7:
            _dot_3x2(weights, n, inputs, 4, out, column)
            _dot_3x2(weights, n + 2, inputs, 4, out, column + 2)
        elif num_rows == 8:
            _dot_4x2(weights, n, inputs, 4, out, column)
            _dot_4x2(weights, n + 2, inputs, 4, out, column + 2)


@njit(cache=True)
def _rms_norm(hidden, weight, num_rows, epsilon, out):
    """Root-mean-square normalisation of each row."""
    width = hidden.shape[1]
    for row in range(num_rows):
        total = np.float32(0.0)
        for i in range(width):
            total += hidden[row, i] * hidden[row, i]
        scale = np.float32(1.0) / np.float32(math.sqrt(total / np.float32(width) + epsilon))
        for i in range(width):
            out[row, i] = hidden[row, i] * scale * weight[i]


@njit(cache=True)
def _rotate(head, cos, sin):
    """Rotary position embedding of one head at one position, in place."""
    half = cos.shape[0]
    for i in range(half):
        a, b = head[i], head[i + half]
        head[i] = a * cos[i] - b * sin[i]
        head[i + half] = b * cos[i] + a * sin[i]


@njit(cache=True)
def _store_packed(row, position, packed):
    """Write one row of a matrix that is packed as by `pack_rows`."""
    depth = row.shape[0]
    flat = packed.reshape(packed.size)
    first = (position - position % PAIR) * depth + position % PAIR * LANES
    for i in range(depth):
        flat[first + i // LANES * PAIR * LANES + i % LANES] = row[i]


@njit(cache=True)
def _softmax(scores, length):
    """Softmax over the first `length` scores, in place."""
    top = scores[0]
    for t in range(1, length):
        top = max(top, scores[t])
    for t in range(length):
        scores[t] = exp(scores[t] - top)
    total = np.float32(0.0)
    for t in range(length):
        total += scores[t]
    for t in range(length):
        scores[t] /= total


@njit(cache=True)
def _weighted_sum(weights, values, length, out):
    """Sum over t of weights[t] · values[t]."""
    for i in range(out.shape[0]):
        out[i] = np.float32(0.0)
    for t in range(length):
        weight = weights[t]
        for i in range(out.shape[0]):
            out[i] += weight * values[t, i]


def pack_rows(matrix):
    """`matrix` (..., N, K) with the lanes of each pair of rows in turn, same shape, C order."""
    *batch, num_rows, depth = matrix.shape
    pairs = matrix.reshape(*batch, num_rows // PAIR, PAIR, depth // LANES, LANES)
    return np.ascontiguousarray(np.swapaxes(pairs, -3, -2)).reshape(matrix.shape)


_YIELD_FUNCTION = "SwitchToThread" if sys.platform == "win32" else "sched_yield"


@intrinsic
def _arrive(typingctx, counter):
    """Add one to a counter that threads share."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "seq_cst")
        return context.get_dummy_value()

    return types.void(counter), codegen


@intrinsic
def _arrived(typingctx, counter):
    """The value of a counter that threads share."""

    def codegen(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(array.data, "seq_cst", 8)

    return types.int64(counter), codegen


@intrinsic
def _give_way(typingctx):
    """Let another thread have the processor."""

    def codegen(context, builder, signature, args):
        function_type = ir.FunctionType(ir.IntType(32), [])
        give_way = cgutils.get_or_insert_function(builder.module, function_type, _YIELD_FUNCTION)
        builder.call(give_way, [])
        return context.get_dummy_value()

    return types.void(), codegen


@njit(cache=True)
def _wait_for_all(counter, expected):
    """Arrive, then wait for the others: spin briefly, then give way, for a core may be taken."""
    _arrive(counter)
    spins = 0
    while _arrived(counter) < expected:
        spins += 1
        if spins > 4000:
            _give_way()


@njit(cache=True)
def _share(num_items, thread, num_threads):
    """The range of items that is this thread's."""
    return num_items * thread // num_threads, num_items * (thread + 1) // num_threads


@njit(cache=True)
def _add_projection(weights, first, last, inputs, num_rows, hidden):
    """hidden += inputs @ weights.T for the blocks from `first` to `last`."""
    projected = np.empty((num_rows, BLOCK), np.float32)
    for block in range(first, last):
        _linear_block(weights, block, inputs, num_rows, projected, 0)
        for row in range(num_rows):
            for i in range(BLOCK):
                hidden[row, block * BLOCK + i] += projected[row, i]


@njit(cache=True)
def _add_features(features, first, last, hidden):
    """hidden += features for the columns from `first` to `last`."""
    for row in range(len(features)):
        for n in range(first, last):
            hidden[row, n] += features[row, n]


@njit(cache=True)
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
        _linear_block(keys, block, queries, num_rows, scores, block * BLOCK)
    for row in range(num_rows):
        length = start + row + 1
        _softmax(scores[row], length)
        _weighted_sum(scores[row], values, length, out[row, head * size : (head + 1) * size])


@njit(cache=True)
def _gate(weights, first, last, inputs, num_rows, activated):
    """silu(gate) · up for the blocks from `first` to `last`, two of each in a block."""
    # A block at a time: whole rows lie 12 kB apart and would evict each other from the cache.
    gate_up = np.empty((num_rows, BLOCK), np.float32)
    for block in range(first, last):
        _linear_block(weights, block, inputs, num_rows, gate_up, 0)
        for row in range(num_rows):
            for i in range(PAIR):
                gate, up = gate_up[row, i], gate_up[row, PAIR + i]
                sigmoid = np.float32(1.0) / (np.float32(1.0) + exp(-gate))
                activated[row, block * PAIR + i] = gate * sigmoid * up


@njit(nogil=True, cache=True)
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
    qkv_weights,  # (L, Q + 2 KV · D, H), packed as all matrices below
    output_weights,  # (L, H, Q)
    mlp_norms,  # (L, H)
    gate_up_weights,  # (L, 2 I, H), rows in turn: two of gate, two of up
    down_weights,  # (L, H, I)
    final_norm,  # (H,)
    head_weights,  # (V, H)
    epsilon,
    qkv,  # scratch that the threads share, as the next two: (R, Q + 2 KV · D)
    attended,  # (R, Q)
    activated,  # (R, I)
    logits,  # (N, V)
):
    """One thread's share of a forward pass: writes caches, last hidden states and logits."""
    num_layers, num_kv_heads, _, size = keys.shape
    width = hidden.shape[1]
    num_heads = attended.shape[1] // size
    normed = np.empty((num_rows, width), np.float32)
    qkv_first, qkv_last = _share(qkv_weights.shape[1] // BLOCK, thread, num_threads)
    head_first, head_last = _share(num_heads, thread, num_threads)
    width_first, width_last = _share(width // BLOCK, thread, num_threads)
    gate_first, gate_last = _share(gate_up_weights.shape[1] // BLOCK, thread, num_threads)
    expected = 0

    for layer in range(num_layers):
        _rms_norm(hidden, input_norms[layer], num_rows, epsilon, normed)
        weights = qkv_weights[layer]
        for block in range(qkv_first, qkv_last):
            _linear_block(weights, block, normed, num_rows, qkv, block * BLOCK)
        expected += num_threads
        _wait_for_all(counter, expected)

        if thread == 0:
            for row in range(num_rows):
                for kv_head in range(num_kv_heads):
                    first = (num_heads + kv_head) * size
                    key = qkv[row, first : first + size]
                    _rotate(key, rotary_cos[start + row], rotary_sin[start + row])
                    _store_packed(key, start + row, keys[layer, kv_head])
                    first += num_kv_heads * size
                    values[layer, kv_head, start + row] = qkv[row, first : first + size]
        expected += num_threads
        _wait_for_all(counter, expected)

        for head in range(head_first, head_last):
            kv_head = head * num_kv_heads // num_heads
            _attend(
                head, kv_head, start, num_rows, qkv,
                keys[layer, kv_head], values[layer, kv_head], rotary_cos, rotary_sin, attended,
            )  # fmt: skip
        expected += num_threads
        _wait_for_all(counter, expected)

        weights = output_weights[layer]
        _add_projection(weights, width_first, width_last, attended, num_rows, hidden)
        expected += num_threads
        _wait_for_all(counter, expected)

        _rms_norm(hidden, mlp_norms[layer], num_rows, epsilon, normed)
        weights = gate_up_weights[layer]
        _gate(weights, gate_first, gate_last, normed, num_rows, activated)
        expected += num_threads
        _wait_for_all(counter, expected)

        weights = down_weights[layer]
        _add_projection(weights, width_first, width_last, activated, num_rows, hidden)
        if layer + 1 == feature_layer:
            _add_features(features, width_first * BLOCK, width_last * BLOCK, hidden)
        expected += num_threads
        _wait_for_all(counter, expected)

    _rms_norm(hidden, final_norm, num_rows, epsilon, normed)
    first, last = _share(head_weights.shape[0] // BLOCK, thread, num_threads)
    if num_logits > 0:
        judged = normed[num_rows - num_logits :]
        for block in range(first, last):
            _linear_block(head_weights, block, judged, num_logits, logits, block * BLOCK)
    _wait_for_all(counter, expected + num_threads)
    if thread == 0:
        hidden[:num_rows] = normed
