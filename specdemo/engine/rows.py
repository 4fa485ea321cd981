"""Rows of logits on a CPU: their largest entries, their softmax, its top-k and top-p.

Torch takes several passes with temporaries of the vocabulary's size, which costs more than a draft
token may. Knows no chance.
"""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles the functions below from their bytecode; its decorators carry no types.
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from specdemo.compilation import njit

_CHUNK = 64


@intrinsic
def _float_from_bits(typingctx, bits):
    """The float32 with the given 32 bits."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), codegen


@njit
def exp(x):
    """e to the x, x ≤ 88, to a relative 2e-7; without a branch, so that loops of it vectorize."""
    bounded = max(x, np.float32(-87.0))
    whole = np.floor(bounded * np.float32(1.4426950408889634) + np.float32(0.5))
    # ln 2 in two parts, so that the rest keeps its low bits.
    rest = bounded - whole * np.float32(0.693359375)
    rest = rest + whole * np.float32(2.12194440e-4)
    poly = np.float32(1.9875691500e-4)
    poly = poly * rest + np.float32(1.3981999507e-3)
    poly = poly * rest + np.float32(8.3334519073e-3)
    poly = poly * rest + np.float32(4.1665795894e-2)
    poly = poly * rest + np.float32(1.6666665459e-1)
    poly = poly * rest + np.float32(5.0000001201e-1)
    value = poly * rest * rest + rest + np.float32(1.0)
    result = value * _float_from_bits((np.int32(whole) + np.int32(127)) << np.int32(23))
    return np.float32(0.0) if x < np.float32(-87.0) else result


@njit
def _insert(values, indices, value, index):
    """Put an entry into its place in a falling list, pushing the last one out."""
    place = len(values) - 1
    while place > 0 and values[place - 1] < value:
        values[place] = values[place - 1]
        indices[place] = indices[place - 1]
        place -= 1
    values[place] = value
    indices[place] = index


@njit(fastmath={"nnan", "nsz"})
def _chunk_max(row, first, last):
    top = row[first]
    for i in range(first + 1, last):
        top = max(top, row[i])
    return top


@njit(fastmath={"reassoc"})
def _sum(row):
    total = np.float32(0.0)
    for value in row:
        total += value
    return total


@njit(fastmath={"reassoc"})
def _sum_exp(row, top):
    total = np.float32(0.0)
    for i in range(len(row)):
        total += exp(row[i] - top)
    return total


@njit
def _largest(row, values, indices):
    """Fill `values` and `indices` with the largest entries of a row, the first of equals first."""
    values[:] = -np.inf
    for first in range(0, len(row), _CHUNK):
        last = min(first + _CHUNK, len(row))
        # Most chunks hold nothing large enough, and their maximum is quick to find.
        if _chunk_max(row, first, last) > values[-1]:
            for i in range(first, last):
                if row[i] > values[-1]:
                    _insert(values, indices, row[i], i)


@njit(nogil=True)
def likeliest(logits, count):
    """Indices and softmax probabilities of the `count` largest entries of each row (N, V)."""
    indices = np.zeros((len(logits), count), np.int64)
    probs = np.empty((len(logits), count), np.float32)
    for n in range(len(logits)):
        _largest(logits[n], probs[n], indices[n])
        top = probs[n, 0]
        total = _sum_exp(logits[n], top)
        for i in range(count):
            probs[n, i] = exp(probs[n, i] - top) / total
    return indices, probs


@njit(nogil=True)
def largest(rows, count):
    """Indices and values of the `count` largest entries of each row (N, V)."""
    indices = np.zeros((len(rows), count), np.int64)
    values = np.empty((len(rows), count), np.float32)
    for n in range(len(rows)):
        _largest(rows[n], values[n], indices[n])
    return indices, values


@njit
def _border(probs, top_k, top_p):
    """The smallest probability that survives top-k, then top-p over what top-k left."""
    if 0 < top_k < len(probs):
        falling = np.empty(top_k, np.float32)
        _largest(probs, falling, np.zeros(top_k, np.int64))
    else:
        # Entries below this bound hold less than 1 − top_p in all: none is in the nucleus, and only
        # the few others need sorting.
        bound = np.float32((1.0 - top_p) / len(probs))
        falling = -np.sort(-probs[probs >= bound])
    mass = 1.0
    if 0 < top_k < len(probs):
        mass = 0.0
        for prob in falling:
            mass += prob
    before = 0.0
    for prob in falling:
        before += prob
        if before >= top_p * mass:
            return prob
    return falling[-1]


@njit(nogil=True)
def softmax(logits, temperature, top_k, top_p):
    """Distributions (N, V): softmax at a temperature, cut to top-k and top-p, renormalized.

    Entries as likely as the last one kept stay too.
    """
    probs = np.empty_like(logits)
    scale = np.float32(1.0 / temperature)
    for n in range(len(logits)):
        row, out = logits[n], probs[n]
        top = _chunk_max(row, 0, len(row))
        for i in range(len(row)):
            out[i] = exp((row[i] - top) * scale)
        total = _sum(out)
        for i in range(len(row)):
            out[i] /= total
        if 0 < top_k < len(row) or top_p < 1.0:
            border = _border(out, top_k, top_p)
            for i in range(len(row)):
                out[i] = out[i] if out[i] >= border else np.float32(0.0)
            total = _sum(out)
            for i in range(len(row)):
                out[i] /= total
    return probs
