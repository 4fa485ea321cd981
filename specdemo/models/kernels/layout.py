"""How matrices lie in memory, so that the products read them as one stream. Knows no arithmetic."""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles a function below from its bytecode; its decorators carry no types.
import math

import numpy as np
from llvmlite.binding import get_host_cpu_features

from specdemo.compilation import njit

BLOCK = 4
"""Outputs computed together: the widths of all matrices are multiples of it."""

HAS_WIDE_VECTORS = get_host_cpu_features().get("avx512bw", False)
"""Whether a vector holds 512 bits."""

LANES = 16 if HAS_WIDE_VECTORS else 8
"""Numbers in one vector operation: the depths of all matrices are multiples of it."""

INT8_LANES = 2 * LANES
"""The same for int8 weights, which meet int16 inputs."""

PAIR = 2
"""Rows of a matrix whose lanes lie in turn in memory, so that a block is read as one stream."""

_CACHE_LINE = 64


@njit
def store_packed(row, position, packed):
    """Write one row of a matrix of floats that is packed as by `pack_rows`."""
    depth = row.shape[0]
    flat = packed.reshape(packed.size)
    first = (position - position % PAIR) * depth + position % PAIR * LANES
    for i in range(depth):
        flat[first + i // LANES * PAIR * LANES + i % LANES] = row[i]


def aligned_zeros(shape, dtype):
    """Zeros that begin at a cache line: a vector that lies across two takes twice as long."""
    num_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    buffer = np.zeros(num_bytes + _CACHE_LINE, np.uint8)
    start = -buffer.ctypes.data % _CACHE_LINE
    return buffer[start : start + num_bytes].view(dtype).reshape(shape)


def pack_rows(matrix):
    """`matrix` (..., N, K) with the lanes of each pair of rows in turn, same shape, C order."""
    *batch, num_rows, depth = matrix.shape
    lanes = INT8_LANES if matrix.dtype == np.int8 else LANES
    pairs = matrix.reshape(*batch, num_rows // PAIR, PAIR, depth // lanes, lanes)
    in_turn = np.swapaxes(pairs, -3, -2)
    packed = aligned_zeros(in_turn.shape, matrix.dtype)
    packed[...] = in_turn
    return packed.reshape(matrix.shape)
