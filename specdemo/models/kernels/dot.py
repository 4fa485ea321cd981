"""Products of packed matrices with a few rows, in vector instructions. Knows no model.

Each output number is one chain of fused multiply-adds in a fixed order, for any number of rows.
Int8 weights meet inputs rounded to int16 and add up in int32, which is exact in any order and takes
half the instructions.
"""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles the functions below from their bytecode; its decorators carry no types.
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from specdemo.compilation import njit
from specdemo.models.kernels.layout import BLOCK, HAS_WIDE_VECTORS, INT8_LANES, LANES, PAIR

MAX_ROWS = 16
"""Rows in one compiled pass; longer inputs are fed in blocks of this size."""

_MOST_ROWS = 8 if HAS_WIDE_VECTORS else 6
"""Rows whose sums fit into registers, so that weights are converted once for all of them."""

NO_SCALES = np.empty(0, np.float32)
"""The scales of weights that are what they are."""

_PREFETCH = 1024
"""How many weights ahead the memory is asked for; measured, the gain is flat around it."""

_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_SUMS = ir.VectorType(ir.IntType(32), INT8_LANES // 2)


def _load(builder, pointer, index, dtype):
    """A vector of float32 from float32 or bfloat16 (as uint16); of int32 from int16 or int8."""
    lanes = INT8_LANES if dtype in (types.int8, types.int16) else LANES
    words = ir.VectorType(ir.IntType(32), lanes)
    address = builder.gep(pointer, [index])

    def loaded(vector):
        width = dtype.bitwidth // 8
        return builder.load(builder.bitcast(address, vector.as_pointer()), align=width)

    if dtype == types.float32:
        return loaded(_FLOATS)
    integers = loaded(ir.VectorType(ir.IntType(dtype.bitwidth), lanes))
    if lanes == INT8_LANES:
        return builder.sext(integers, words)
    # A bfloat16 is the upper half of a float32.
    sixteen = ir.Constant(words, [16] * LANES)
    return builder.bitcast(builder.shl(builder.zext(integers, words), sixteen), _FLOATS)


def _lanes(builder, chosen, vector, other=None):
    """Some lanes of a vector, or of two that count as one, as a vector."""
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), list(chosen))
    return builder.shuffle_vector(vector, other or ir.Constant(vector.type, ir.Undefined), mask)


def _fused_step(builder, loaded, values, total):
    """total + loaded · values, rounded once."""
    function_type = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    fma = cgutils.get_or_insert_function(builder.module, function_type, f"llvm.fma.v{LANES}f32")
    return builder.call(fma, [loaded, values, total])


def _integer_step(builder, loaded, values, total):
    """total + the products of neighbouring lanes: one instruction where the processor has it."""
    products = builder.mul(loaded, values)
    even = _lanes(builder, range(0, INT8_LANES, 2), products)
    odd = _lanes(builder, range(1, INT8_LANES, 2), products)
    return builder.add(total, builder.add(even, odd))


def _prefetch(builder, pointer, index):
    """Ask for the cache line that lies `_PREFETCH` weights ahead."""
    byte_pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, word, word, word])
    prefetch = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch")
    ahead = builder.add(index, ir.Constant(index.type, _PREFETCH))
    address = builder.bitcast(builder.gep(pointer, [ahead]), byte_pointer)
    builder.call(prefetch, [address, word(0), word(3), word(1)])  # read, keep, data


def _horizontal_sums(builder, vectors):
    """Vectors whose lanes are, in order, the sums of the lanes of each of `vectors`.

    Lanes are added by halves, of two vectors at once: the order of the additions within each is
    the same whatever its neighbour is.
    """
    add = builder.fadd if vectors[0].type.element == ir.FloatType() else builder.add
    segment = vectors[0].type.count
    while segment > 1:
        if len(vectors) % 2 and len(vectors) > 1:
            vectors = [*vectors, ir.Constant(vectors[0].type, None)]
        joined = list(zip(vectors[::2], vectors[1::2])) or [(vectors[0],)]
        count = vectors[0].type.count * len(joined[0])
        half = segment // 2
        firsts = [lane for lane in range(count) if lane % segment < half]
        vectors = [
            add(_lanes(builder, firsts, *pair), _lanes(builder, [i + half for i in firsts], *pair))
            for pair in joined
        ]
        segment = half
    return vectors


def _dot_pair_of(num_rows):
    """A compiled function `(weights, n, inputs, m, out, column)` that fills two columns of `out`.

    out[m + i, column + j] = weights[n + j] · inputs[m + i] for i < num_rows and j < PAIR.
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
        index = ir.IntType(64)
        is_integer = weights_type.dtype == types.int8
        lanes, sums_type, add_products = (
            (INT8_LANES, _SUMS, _integer_step) if is_integer else (LANES, _FLOATS, _fused_step)
        )

        def offset(first, plus, stride):
            return builder.mul(builder.add(first, ir.Constant(index, plus)), stride)

        stream = builder.mul(n, depth)
        input_rows = [offset(m, i, depth) for i in range(num_rows)]
        zero = ir.Constant(sums_type, None)
        sums = [
            [cgutils.alloca_once_value(builder, zero) for _ in range(PAIR)] for _ in range(num_rows)
        ]
        for row in sums:
            for cell in row:
                builder.store(zero, cell)
        steps = (ir.Constant(index, 0), depth, ir.Constant(index, lanes))
        with cgutils.for_range_slice(builder, *steps, intp=index) as (k, _):
            step = builder.add(stream, builder.mul(k, ir.Constant(index, PAIR)))
            _prefetch(builder, weights.data, step)
            columns = [
                _load(builder, weights.data, builder.add(step, lane), weights_type.dtype)
                for lane in (ir.Constant(index, 0), ir.Constant(index, lanes))
            ]
            for i, row in enumerate(input_rows):
                values = _load(builder, inputs.data, builder.add(row, k), inputs_type.dtype)
                for j, loaded in enumerate(columns):
                    total = add_products(builder, loaded, values, builder.load(sums[i][j]))
                    builder.store(total, sums[i][j])
        totals = _horizontal_sums(builder, [builder.load(cell) for row in sums for cell in row])
        totals = [
            builder.extract_element(vector, ir.Constant(ir.IntType(32), lane))
            for vector in totals
            for lane in range(vector.type.count)
        ]
        for i in range(num_rows):
            for j in range(PAIR):
                place = builder.add(offset(m, i, width), builder.add(column, ir.Constant(index, j)))
                total = totals[i * PAIR + j]
                if is_integer:
                    total = builder.sitofp(total, ir.FloatType())
                builder.store(total, builder.gep(out.data, [place]))
        return context.get_dummy_value()

    @intrinsic
    def dot_pair(typingctx, weights, n, inputs, m, out, column):
        integer = types.intp
        return types.void(weights, integer, inputs, integer, out, integer), codegen

    return dot_pair


_dot_1, _dot_2, _dot_3, _dot_4, _dot_5, _dot_6, _dot_7, _dot_8 = map(_dot_pair_of, range(1, 9))


@njit
def _dot_pair(weights, n, inputs, num_rows, out, column):
    """Two outputs of `inputs @ weights.T` for all rows, written from `column` on."""
    m = 0
    while m < num_rows:
        # In equal parts: nine rows as five and four, not as eight and one.
        rest = num_rows - m
        num_parts = (rest + _MOST_ROWS - 1) // _MOST_ROWS
        part = (rest + num_parts - 1) // num_parts
        if part == 1:
            _dot_1(weights, n, inputs, m, out, column)
        elif part == 2:
            _dot_2(weights, n, inputs, m, out, column)
        elif part == 3:
            _dot_3(weights, n, inputs, m, out, column)
        elif part == 4:
            _dot_4(weights, n, inputs, m, out, column)
        elif part == 5:
            _dot_5(weights, n, inputs, m, out, column)
        elif part == 6:
            _dot_6(weights, n, inputs, m, out, column)
        elif part == 7:
            _dot_7(weights, n, inputs, m, out, column)
        else:
            _dot_8(weights, n, inputs, m, out, column)
        m += part


@njit(fastmath={"nnan", "nsz"})
def _largest_magnitude(row):
    """The largest absolute value of a row."""
    largest = np.float32(0.0)
    for i in range(len(row)):
        largest = max(largest, abs(row[i]))
    return largest


@njit
def _rounded(inputs, num_rows):
    """Inputs as int16 and the scale of each row: the finest whose sums of products fit 32 bits."""
    depth = inputs.shape[1]
    largest = np.float32(min(32767, (2**31 - 1) // (127 * depth)))
    values = np.empty((num_rows, depth), np.int16)
    scales = np.empty(num_rows, np.float32)
    for row in range(num_rows):
        scales[row] = max(_largest_magnitude(inputs[row]), np.float32(1e-30)) / largest
        factor = np.float32(1.0) / scales[row]
        for i in range(depth):
            values[row, i] = np.int16(np.rint(inputs[row, i] * factor))
    return values, scales


def operand(inputs, num_rows, matrix):
    """`inputs` in the numbers that the weights of `matrix` meet, and the scales of its rows."""
    raise NotImplementedError("compiled code only")


@overload(operand)
def _operand(inputs, num_rows, matrix):
    if matrix[0].dtype == types.int8:
        return lambda inputs, num_rows, matrix: _rounded(inputs, num_rows)
    return lambda inputs, num_rows, matrix: (inputs, NO_SCALES)


@njit
def linear_block(matrix, block, operand, num_rows, out, column):
    """Four outputs of a matrix for all rows, written from `column` on.

    A matrix is its packed weights and, if they are int8, the scale of each of its rows; so is an
    operand, as made by `operand`.
    """
    weights, weight_scales = matrix
    inputs, input_scales = operand
    n = block * BLOCK
    for pair in range(0, BLOCK, PAIR):
        _dot_pair(weights, n + pair, inputs, num_rows, out, column + pair)
    if len(weight_scales):
        for row in range(num_rows):
            for i in range(BLOCK):
                out[row, column + i] *= weight_scales[block * BLOCK + i] * input_scales[row]
