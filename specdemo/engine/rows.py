"""Rows of logits on a CPU: their largest entries, their softmax, its top-k and top-p.

Torch takes several passes with temporaries of the vocabulary's size, which costs more than a draft
token may. Knows no chance.
"""

from __future__ import annotations

# mypy: ignore-errors
# numba compiles the functions below from their bytecode; its decorators carry no types.
import numpy as np

from specdemo.compilation import njit

_CHUNK = 64
_LEAST = np.int32(-(2**31))


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
    power = np.int32((np.int32(whole) + np.int32(127)) << np.int32(23)).view(np.float32)
    result = value * power
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


@njit(fastmath={"reassoc"})
def _sum(row):
    total = np.float32(0.0)
    for i in range(len(row)):  # by index: a loop over the values does not vectorize
        total += row[i]
    return total


@njit(fastmath={"reassoc"})
def _sum_exp(row, top):
    """The sum of exp(row − top)."""
    total = np.float32(0.0)
    for i in range(len(row)):
        total += exp(row[i] - top)
    return total


@njit
def _in_order(bits):
    """The bits of a float32 as an integer that compares as the float does, and back."""
    return np.int32(bits ^ (np.int32(bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@njit
def _maxima(row):
    """The largest entry of each chunk of a row; compared as integers, which vectorizes."""
    bits = row.view(np.int32)
    maxima = np.full(-(-len(row) // _CHUNK), _LEAST, np.int32)
    num_whole = len(row) // _CHUNK
    for chunk in range(num_whole):
        top = _LEAST
        for i in range(chunk * _CHUNK, chunk * _CHUNK + _CHUNK):
            top = max(top, _in_order(bits[i]))
        maxima[chunk] = top
    for i in range(num_whole * _CHUNK, len(row)):
        maxima[num_whole] = max(maxima[num_whole], _in_order(bits[i]))
    for chunk in range(len(maxima)):
        maxima[chunk] = _in_order(maxima[chunk])
    return maxima.view(np.float32)


@njit
def _largest(row, maxima, values, indices):
    """Fill `values` and `indices` with the largest entries of a row, the first of equals first."""
    values[:] = -np.inf
    for chunk in range(len(maxima)):
        # Most chunks hold nothing large enough.
        if maxima[chunk] > values[-1]:
            first = chunk * _CHUNK
            for i in range(first, min(first + _CHUNK, len(row))):
                if row[i] > values[-1]:
                    _insert(values, indices, row[i], i)


@njit(nogil=True)
def likeliest(logits, count):
    """Indices and softmax probabilities of the `count` largest entries of a row (V,)."""
    indices, probs = np.zeros(count, np.int64), np.empty(count, np.float32)
    maxima = _maxima(logits)
    _largest(logits, maxima, probs, indices)
    top = probs[0]
    total = _sum_exp(logits, top)
    for i in range(count):
        probs[i] = exp(probs[i] - top) / total
    return indices, probs


@njit(nogil=True)
def largest(row, count):
    """Indices and values of the `count` largest entries of a row (V,)."""
    indices, values = np.zeros(count, np.int64), np.empty(count, np.float32)
    _largest(row, _maxima(row), values, indices)
    return indices, values


@njit(nogil=True)
def spread(values, indices, length):
    """Rows (N, K) at their places in rows (N, `length`) that are −infinity elsewhere."""
    whole = np.full((len(values), length), -np.inf, np.float32)
    for n in range(len(values)):
        for i in range(len(indices)):
            whole[n, indices[i]] = values[n, i]
    return whole


@njit
def _border(probs, top_k, top_p):
    """The smallest probability that survives top-k, then top-p over what top-k left."""
    if 0 < top_k < len(probs):
        falling = np.empty(top_k, np.float32)
        _largest(probs, _maxima(probs), falling, np.zeros(top_k, np.int64))
    else:
        # Entries below this bound hold less than 1 − top_p in all: none is in the nucleus, and only
        # the few others need sorting.
        bound = np.float32((1.0 - top_p) / len(probs))
        falling = -np.sort(-probs[probs >= bound])
    mass = np.float64(1.0)
    if 0 < top_k < len(probs):
        mass = np.float64(0.0)
        for prob in falling:
            mass += prob
    before = np.float64(0.0)
    for prob in falling:
        before += prob
        if before >= top_p * mass:
            return prob
    return falling[-1]


@njit(nogil=True)
def softmax(logits, temperature, top_k, top_p):
    """A distribution (V,): softmax at a temperature, cut to top-k and top-p, renormalized.

    Entries as likely as the last one kept stay too.
    """
    probs = np.empty_like(logits)
    scale = np.float32(1.0 / temperature)
    top = _maxima(logits).max()
    for i in range(len(logits)):
        probs[i] = exp((logits[i] - top) * scale)
    _normalize(probs)
    if 0 < top_k < len(logits) or top_p < 1.0:
        border = _border(probs, top_k, top_p)
        for i in range(len(logits)):
            probs[i] = probs[i] if probs[i] >= border else np.float32(0.0)
        _normalize(probs)
    return probs


@njit
def _normalize(probs):
    share = np.float32(1.0) / _sum(probs)
    for i in range(len(probs)):
        probs[i] *= share


@njit(nogil=True)
def positive_part(one, other):
    """The positive part of one − other (V,), normalized where anything is left; what was left."""
    rest = np.empty_like(one)
    for i in range(len(one)):
        rest[i] = max(one[i] - other[i], np.float32(0.0))
    total = _sum(rest)
    if total > 0.0:
        # One by one: of what rounding leaves, the reciprocal may be infinite.
        for i in range(len(rest)):
            rest[i] /= total
    return rest, total


@njit(fastmath={"reassoc"})
def _mass(probs, first, last):
    total = np.float64(0.0)
    for i in range(first, last):
        total += probs[i]
    return total


@njit(nogil=True)
def pick(probs, draw):
    """The entry (V,) that a uniform draw in [0, 1) falls on; never one of probability 0."""
    masses = np.empty(-(-len(probs) // _CHUNK), np.float64)
    for chunk in range(len(masses)):
        first = chunk * _CHUNK
        masses[chunk] = _mass(probs, first, min(first + _CHUNK, len(probs)))
    # Of the true sum, so that rounding can never push the draw past the last entry.
    rest = draw * masses.sum()
    start = 0
    for chunk in range(len(masses)):
        if masses[chunk] > 0.0:
            start = chunk * _CHUNK
            if rest < masses[chunk]:
                break
            rest -= masses[chunk]
    chosen = start
    for i in range(start, min(start + _CHUNK, len(probs))):
        if probs[i] > 0.0:
            chosen = i
            if rest < probs[i]:
                break
            rest -= probs[i]
    return chosen
