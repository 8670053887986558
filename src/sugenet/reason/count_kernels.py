"""Compiled counting: a walk over combinations of options that gives every pattern to the network behind the first layer, in blocks.

Lanes hold how far each fragile neuron is past its turn, so that adding an option and comparing with zero gives 64 bits of a pattern in a few
instructions. Patterns are collected and judged 256 and more at a time, one neuron after another. Where that is costly, patterns that came by
before are remembered with their class. A subtree in which no neuron, or no class, can change any more is counted by a table of sizes.
All of it is in this file, since the cache on disk is renewed when *this* file changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped,call-arg"

from __future__ import annotations

import numba as nb
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

__all__ = ["CHUNK", "LANES", "SIZE", "classify", "merge", "walk"]

LANES = 64
CHUNK = 256  # patterns between two looks at whether there is room
SIZE = 1024  # patterns that are judged together, at most
_TRIES = 256  # tries of a bound before its worth is looked at

_GOLDEN = nb.uint64(0x9E3779B97F4A7C15)


@intrinsic
def _turned(_typing, lanes, place, rows, where):  # noqa: ARG001 numba reads the names
    """Bits of 64 lanes: ``lanes[place:] + rows[where:] >= 0``, places in the flat arrays."""
    signature = types.uint64(lanes, types.intp, rows, types.intp)

    def emit(context, b, signature, arguments):
        vector = ir.VectorType(ir.IntType(signature.args[0].dtype.bitwidth), LANES)

        def load(array):
            data = context.make_array(signature.args[array])(context, b, arguments[array]).data
            value = b.load(b.bitcast(b.gep(data, [arguments[array + 1]]), vector.as_pointer()))
            value.align = 1
            return value

        bits = b.icmp_signed(">=", b.add(load(0), load(2)), ir.Constant(vector, [0] * LANES))
        return b.bitcast(bits, ir.IntType(64))

    return signature, emit


@intrinsic
def _ones(_typing, word):  # noqa: ARG001 numba reads the names
    """How many bits of a word are set."""
    signature = types.int64(types.uint64)

    def emit(_context, b, _signature, arguments):
        return b.ctpop(arguments[0])

    return signature, emit


@njit(nogil=True, cache=True, inline="always")
def _matches(src, size, entries, first, end, count):
    """Sum over some entries of the literals that hold, for every pattern."""
    word, shift, flip, mask = entries
    if end == first + 1:
        row, f, m, s = src[word[first]], flip[first], mask[first], shift[first]
        for i in range(size):
            count[i] = _ones((row[i] ^ f) & m) << s
        return
    if end == first + 2:
        row, f, m, s = src[word[first]], flip[first], mask[first], shift[first]
        row_, f_, m_, s_ = src[word[first + 1]], flip[first + 1], mask[first + 1], shift[first + 1]
        for i in range(size):
            count[i] = (_ones((row[i] ^ f) & m) << s) + (_ones((row_[i] ^ f_) & m_) << s_)
        return
    for i in range(size):
        count[i] = 0
    for e in range(first, end):
        row, f, m, s = src[word[e]], flip[e], mask[e], shift[e]
        for i in range(size):
            count[i] += _ones((row[i] ^ f) & m) << s


@njit(nogil=True, cache=True)
def classify(patterns, size, tail, work, count, best, labels):
    """Classes of the first `size` patterns, by their places among those that can win. ``patterns[w, i]`` is word w of pattern i."""
    layers, ends, entries, least, slope, ranks = tail
    src = patterns
    last = layers.shape[0] - 2
    for layer in range(last):
        dst = work[layer & 1]
        many = layers[layer + 1] - layers[layer]
        for w in range((many + 63) >> 6):
            out = dst[w]
            for i in range(size):
                out[i] = 0
            for q in range(64 * w, min(64 * w + 64, many)):
                neuron = layers[layer] + q
                _matches(src, size, entries, ends[neuron], ends[neuron + 1], count)
                bound, bit = least[neuron], nb.uint64(1) << nb.uint64(q & 63)
                for i in range(size):
                    out[i] |= bit if count[i] >= bound else nb.uint64(0)
        src = dst
    for k in range(layers[last + 1] - layers[last]):
        q = layers[last] + k
        _matches(src, size, entries, ends[q], ends[q + 1], count)
        a, b = slope[q], least[q]
        if ranks.shape[0] > 0:
            row = ranks[k]
            for i in range(size):
                count[i] = row[count[i]]
            a, b = 1, 0
        if k == 0:
            for i in range(size):
                best[i] = a * count[i] + b
                labels[i] = 0
        else:
            for i in range(size):
                score = a * count[i] + b
                better = score > best[i]
                best[i] = score if better else best[i]
                labels[i] = k if better else labels[i]


@njit(nogil=True, cache=True)
def _settled(low, high, tail, work):
    """The class that every pattern between two has (bits may be set where `high` is and must be where `low` is), or -1 if bounds do not tell."""
    layers, ends, entries, least, slope, ranks = tail
    word, shift, flip, mask = entries
    last = layers.shape[0] - 2
    sure, open_ = work[0], work[1]  # bits that are set in any case, and bits that are not settled
    for w in range(low.shape[0]):
        sure[0, w], open_[0, w] = low[w], low[w] ^ high[w]
    here = 0
    for layer in range(last):
        many, there = layers[layer + 1] - layers[layer], 1 - here
        for w in range((many + 63) >> 6):
            sure[there, w] = open_[there, w] = 0
        for q in range(many):
            neuron = layers[layer] + q
            fixed = free = nb.int64(0)
            for e in range(ends[neuron], ends[neuron + 1]):
                unknown = open_[here, word[e]]
                fixed += _ones((sure[here, word[e]] ^ flip[e]) & mask[e] & ~unknown) << shift[e]
                free += _ones(mask[e] & unknown) << shift[e]
            bit = nb.uint64(1) << nb.uint64(q & 63)
            if fixed >= least[neuron]:
                sure[there, q >> 6] |= bit
            elif fixed + free >= least[neuron]:
                open_[there, q >> 6] |= bit
        here = there
    if ranks.shape[0] > 0:
        return -1
    winner, top = 0, nb.int64(0)
    first, end = layers[last], layers[last + 1]
    for q in range(first, end):  # the class that wins where every open bit is 0
        score = nb.int64(0)
        for e in range(ends[q], ends[q + 1]):
            score += _ones((sure[here, word[e]] ^ flip[e]) & mask[e]) << shift[e]
        score = slope[q] * score + least[q]
        if q == first or score > top:
            winner, top = q, score
    for q in range(first, end):  # by how much every other class can gain on it
        if q == winner:
            continue
        gain = nb.int64(0)
        for e in range(ends[q], ends[q + 1]):
            gain += slope[q] * ((_ones((sure[here, word[e]] ^ flip[e]) & mask[e])) << shift[e])
            gain += slope[q] * (_ones(flip[e] ^ nb.uint64(0) & nb.uint64(0)) * 0)
        return -2
    return winner - first
