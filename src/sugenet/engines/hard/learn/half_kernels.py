"""Compiled conversion of thresholds to halves, for `halves`: settled variables and weights of 0 are left out.

Everything is in this one file; see `kernels`.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped"

import numpy as np

from sugenet.compiling import njit

__all__ = ["columns", "settle", "thresholds", "weighted"]


@njit(nogil=True, cache=True)
def settle(weights, min_sums, below, outputs, largest):
    """Mark in `outputs`, if it is -1, which thresholds are 1 or 0 for any values of the open inputs.

    Return the number of weights of open inputs of the others; -1 if numbers exceed `largest`.
    """
    room = 0
    for j in range(len(outputs)):
        if outputs[j] >= 0:
            continue
        size, low, high, n_open = abs(min_sums[j]), np.int64(0), np.int64(0), 0
        fits = size < largest
        for i in range(len(below)):
            w = weights[j, i]
            if w == 0:
                continue
            fits = fits and abs(w) < largest - size  # no partial sum exceeds 64 bits
            size += abs(w)
            if below[i] != 0:
                n_open += below[i] < 0
                if below[i] > 0 or w < 0:
                    low += w
                if below[i] > 0 or w > 0:
                    high += w
        # before anything is folded away: the checker of a proof has all of it
        if not fits:
            return -1
        if low >= min_sums[j]:
            outputs[j] = 1
        elif high < min_sums[j]:
            outputs[j] = 0
        else:
            room += n_open
    return room


@njit(nogil=True, cache=True)
def _sort(literals, loads, begin, end):
    """Sort a row by weight, largest first, stably, by merging. NumPy's sort would take seconds to compile."""
    size, width = end - begin, 1
    x, y = np.empty(size, np.int32), np.empty(size, np.int64)
    while width < size:
        for start in range(0, size, 2 * width):
            middle, last = begin + min(start + width, size), begin + min(start + 2 * width, size)
            a, b = begin + start, middle
            for k in range(start, last - begin):
                if b == last or (a < middle and loads[a] >= loads[b]):
                    x[k], y[k] = literals[a], loads[a]
                    a += 1
                else:
                    x[k], y[k] = literals[b], loads[b]
                    b += 1
        for k in range(size):
            literals[begin + k], loads[begin + k] = x[k], y[k]
        width *= 2


@njit(nogil=True, cache=True)
def _half(row, sign, bound, below, first, literals, loads, at):
    """Write the half ``sign * row @ inputs <= bound`` over the open inputs, largest weight first; return its
    end and its cap.
    """
    common, low, begin, alike = np.int64(0), np.int64(0), at, True
    for i in range(len(below)):
        w = sign * row[i]
        if w == 0 or below[i] == 0:
            continue
        if below[i] > 0:
            bound -= w
            continue
        low += min(w, 0)
        load = abs(w)
        alike = alike and (at == begin or load == loads[begin])
        literals[at], loads[at] = 2 * (first + i) + (w < 0), load
        at += 1
        while load:
            common, load = load, common % load
    if common > 1:  # exact for integers
        bound, low = bound // common, low // common
        for k in range(begin, at):
            loads[k] //= common
    if not alike:
        _sort(literals, loads, begin, at)
    return at, bound - low


@njit(nogil=True, cache=True)
def thresholds(weights, min_sums, below, outputs, room, first, behind, both):
    """Return the halves of thresholds that are not settled: the sum of a true one is large enough and, except
    in the goal, that of a false one is not. Returns literals, caps, starts of rows, and loads.

    An open input loads one of the two halves, for any value: the second follows from the first.
    """
    rows, sides = 0, 2 if both else 1
    for j in range(len(outputs)):
        rows += outputs[j] < 0
    out, caps = np.empty(sides * rows, np.int32), np.empty(sides * rows, np.int64)
    starts = np.zeros(sides * rows + 1, np.int64)
    literals, loads = np.empty(sides * room, np.int32), np.empty(sides * room, np.int64)
    h, less = 0, np.int64(-1)
    for j in range(len(outputs)):
        if outputs[j] >= 0:
            continue
        at, end = starts[h], np.int64(0)
        end, caps[h] = _half(weights[j], less, -min_sums[j], below, first, literals, loads, at)
        out[h], starts[h + 1] = 2 * (behind + j), end
        h += 1
        if both:
            total = np.int64(0)
            for k in range(end - at):
                literals[end + k], loads[end + k] = literals[at + k] ^ 1, loads[at + k]
                total += loads[at + k]
            out[h], caps[h], starts[h + 1] = out[h - 1] + 1, total - caps[h - 1] - 1, 2 * end - at
            h += 1
    return out, caps, starts, literals, loads


@njit(nogil=True, cache=True)
def weighted(out, weights, bounds):
    """Return halves over the first variables, all of them open, as given."""
    rows, inputs = weights.shape
    caps, starts = np.empty(rows, np.int64), np.zeros(rows + 1, np.int64)
    literals, loads = np.empty(rows * inputs, np.int32), np.empty(rows * inputs, np.int64)
    below, one, none = np.full(inputs, -1, np.int8), np.int64(1), np.int64(0)  # see `kernels`
    for h in range(rows):
        starts[h + 1], caps[h] = _half(weights[h], one, bounds[h], below, none, literals, loads, starts[h])
    size = starts[rows]
    return out.astype(np.int32), caps, starts, literals[:size].copy(), loads[:size].copy()


@njit(nogil=True, cache=True)
def columns(out, starts, literals, loads, variables):
    """Return the transposed form: the halves that each literal loads and by how much, and the halves that it
    implies.
    """
    begin, owned_begin = np.zeros(2 * variables + 1, np.int64), np.zeros(2 * variables + 1, np.int64)
    for x in literals:
        begin[x + 1] += 1
    for x in out:
        if x >= 0:
            owned_begin[x + 1] += 1
    for x in range(2 * variables):
        begin[x + 1] += begin[x]
        owned_begin[x + 1] += owned_begin[x]
    halves, load = np.empty(len(literals), np.int32), np.empty(len(literals), np.int64)
    owned = np.empty(owned_begin[2 * variables], np.int32)
    at, owned_at = begin.copy(), owned_begin.copy()
    for h in range(len(out)):
        for k in range(starts[h], starts[h + 1]):
            x = literals[k]
            halves[at[x]], load[at[x]] = h, loads[k]
            at[x] += 1
        if out[h] >= 0:
            owned[owned_at[out[h]]] = h
            owned_at[out[h]] += 1
    return begin, halves, load, owned_begin, owned
