"""Compiled counting: a walk over combinations of options that passes every pattern to the later layers, in
blocks.

Lanes hold how far each fragile neuron is past its turning point. Adding an option and comparing with zero
gives 64 bits of a pattern in a few instructions. Patterns are collected and labelled at least 256 at a time,
one neuron after another. If labelling is expensive, earlier patterns are remembered with their class. A
subtree in which no neuron, or no class, can change is counted by a table of sizes. Code shared with other
walks is in `lanes`; all other code is in this file, since the cache on disk is renewed when *this* file
changes.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg"

import numba as nb
import numpy as np

from sugenet.compiling import njit
from sugenet.engines.walk.lanes import GOLDEN, LANES, fetch, ones, turned

__all__ = ["CHUNK", "LANES", "SIZE", "classify", "merge", "walk"]

CHUNK = 256  # patterns between two checks of the free space
SIZE = 1024  # maximum number of patterns labelled together
_TRIES = 256  # tries of a bound before its benefit is checked

_WAITS = nb.uint64(1 << 32)


@njit(nogil=True, cache=True)
def _matches(src, size, entries, first, end, count):
    """For every pattern, sum the literals that hold over some entries."""
    word, shift, flip, mask = entries
    if end == first + 1:
        row, f, m, s = src[word[first]], flip[first], mask[first], shift[first]
        for i in range(size):
            count[i] = ones((row[i] ^ f) & m) << s
        return
    if end == first + 2:
        row, f, m, s = src[word[first]], flip[first], mask[first], shift[first]
        row_, f_, m_, s_ = src[word[first + 1]], flip[first + 1], mask[first + 1], shift[first + 1]
        for i in range(size):
            count[i] = (ones((row[i] ^ f) & m) << s) + (ones((row_[i] ^ f_) & m_) << s_)
        return
    for i in range(size):
        count[i] = 0
    for e in range(first, end):
        row, f, m, s = src[word[e]], flip[e], mask[e], shift[e]
        for i in range(size):
            count[i] += ones((row[i] ^ f) & m) << s


@njit(nogil=True, cache=True)
def _layer(src, size, tail, layer, dst, count):
    """Compute the activity of one later layer."""
    layers, ends, entries, bounds, _, _ = tail
    n_neurons = layers[layer + 1] - layers[layer]
    for w in range((n_neurons + 63) >> 6):
        out = dst[w]
        for i in range(size):
            out[i] = 0
        for q in range(64 * w, min(64 * w + 64, n_neurons)):
            neuron = layers[layer] + q
            _matches(src, size, entries, ends[neuron], ends[neuron + 1], count)
            bound, bit = bounds[neuron], nb.uint64(1) << nb.uint64(q & 63)
            for i in range(size):
                out[i] |= bit if count[i] >= bound else nb.uint64(0)


@njit(nogil=True, cache=True)
def classify(patterns, size, tail, first, work, count, best, labels):
    """Compute the classes of the first `size` patterns, as positions among the classes that can win.

    ``patterns[w, i]`` is word w of pattern i.

    The patterns are inputs of layer `first` of the layers after the first one.
    """
    layers, ends, entries, bounds, slope, ranks = tail
    src = patterns
    last = layers.shape[0] - 3
    for layer in range(first, last):
        _layer(src, size, tail, layer, work[layer & 1], count)
        src = work[layer & 1]
    for k in range(layers[last + 1] - layers[last]):
        q = layers[last] + k
        _matches(src, size, entries, ends[q], ends[q + 1], count)
        a, b = slope[q], bounds[q]
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
def _bounds(sure, open_, here, entries, first, end):
    """Count the literals that hold in any case, and those that may hold in addition."""
    word, shift, flip, mask = entries
    fixed = free = nb.int64(0)
    for e in range(first, end):
        unknown = open_[here, word[e]]
        fixed += ones((sure[here, word[e]] ^ flip[e]) & mask[e] & ~unknown) << shift[e]
        free += ones(mask[e] & unknown) << shift[e]
    return fixed, free


@njit(nogil=True, cache=True)
def _settled(tail, sure, open_):
    """Return the class of every pattern with the bits ``sure[0]`` and any of ``open_[0]``.

    -1 if bounds through the layers do not decide it.
    """
    layers, ends, entries, bounds, slope, _ = tail
    last = layers.shape[0] - 3
    here = 0
    for layer in range(last):
        n_neurons, there = layers[layer + 1] - layers[layer], 1 - here
        for w in range((n_neurons + 63) >> 6):
            sure[there, w] = open_[there, w] = 0
        for q in range(n_neurons):
            neuron = layers[layer] + q
            fixed, free = _bounds(sure, open_, here, entries, ends[neuron], ends[neuron + 1])
            bit = nb.uint64(1) << nb.uint64(q & 63)
            if fixed >= bounds[neuron]:
                sure[there, q >> 6] |= bit
            elif fixed + free >= bounds[neuron]:
                open_[there, q >> 6] |= bit
        here = there
    classes = layers[last + 1] - layers[last]
    winner, top = 0, nb.int64(0)
    for k in range(classes):  # a class that may win: the one with the best midpoint
        q = layers[last] + k
        fixed, free = _bounds(sure, open_, here, entries, ends[q], ends[q + 1])
        score = slope[q] * (2 * fixed + free) + 2 * bounds[q]
        if k == 0 or score > top:
            winner, top = k, score
    for k in range(classes):
        q = layers[last + 1] + winner * classes + k
        if k != winner and _bounds(sure, open_, here, entries, ends[q], ends[q + 1])[0] < bounds[q]:
            return -1
    return winner


@njit(nogil=True, cache=True)
def _folded(keys, i):
    h = keys[0, i]
    for w in range(1, keys.shape[0]):
        h = (h ^ (h >> nb.uint64(29))) * GOLDEN ^ keys[w, i]
    h *= GOLDEN
    return h ^ (h >> nb.uint64(32))


@njit(nogil=True, cache=True)
def _label_waiting(first, store, tail, work, tally):
    """Label the waiting patterns, add them up by class, and remember them."""
    known, waiting, waiting_counts, indices, sizes = store
    words = known.shape[1] - 1
    _, _, count, best, labels, blocks = work
    size = sizes[1]
    classify(waiting, size, tail, first, blocks, count, best, labels)
    for i in range(size):
        tally[labels[i]] += waiting_counts[i]
        if indices[i] >= 0:
            known[indices[i], words] = nb.uint64(labels[i] + 1)
    sizes[1] = 0


@njit(nogil=True, cache=True)
def _resolve(met, counts, size, first, store, tail, work, tally):
    """Add up patterns by class, each with its multiplicity: from memory, or later, when enough of them wait.

    A row of `known` is a pattern followed by its class plus 1, or by `_WAITS` and its position among the
    waiting ones. 0 marks an empty row.
    """
    known, waiting, waiting_counts, indices, sizes = store
    words, mask = known.shape[1] - 1, nb.uint64(known.shape[0] - 1)
    best = work[3]
    for i in range(size):
        index = nb.intp(_folded(met, i) & mask)
        best[i] = index
        fetch(known, index * (words + 1))
    for i in range(size):
        index = nb.uint64(best[i])
        while True:
            label = known[index, words]
            if label == nb.uint64(0):
                if sizes[1] == SIZE:
                    _label_waiting(first, store, tail, work, tally)
                    best = work[3]
                    for later in range(i + 1, size):
                        best[later] = nb.intp(_folded(met, later) & mask)
                n = sizes[1]
                indices[n] = -1
                if 2 * sizes[0] <= known.shape[0]:
                    sizes[0] += 1
                    indices[n] = nb.intp(index)
                    known[index, words] = _WAITS + nb.uint64(n)
                for w in range(words):
                    waiting[w, n] = met[w, i]
                    if indices[n] >= 0:
                        known[index, w] = met[w, i]
                waiting_counts[n] = counts[i]
                sizes[1] = n + 1
                break
            differ = nb.uint64(0)
            for w in range(words):
                differ |= known[index, w] ^ met[w, i]
            if differ == nb.uint64(0):
                if label >= _WAITS:
                    waiting_counts[label - _WAITS] += counts[i]
                else:
                    tally[nb.intp(label) - 1] += counts[i]
                break
            index = (index + nb.uint64(1)) & mask


@njit(nogil=True, cache=True)
def _remember(size, memory, tail, work, tally):
    """Add up visited patterns.

    If there are several later layers, they are added up by the output of the second layer, which has far
    fewer patterns.
    """
    _, _, met, met_counts, second, store = memory
    zero = tail[0][0]
    if second.shape[0] == 0:
        _resolve(met, met_counts, size, zero, store, tail, work, tally)
    else:
        _layer(met, size, tail, zero, second, work[2])
        _resolve(second, met_counts, size, zero + 1, store, tail, work, tally)


@njit(nogil=True, cache=True)
def _flush(patterns, size, memory, tail, work, tally):
    """Add up found patterns by their class."""
    recent, recent_counts, met, met_counts, _, store = memory
    if store[0].shape[0] == 0:
        _, _, count, best, labels, blocks = work
        classify(patterns, size, tail, tail[0][0], blocks, count, best, labels)
        for k in range(tally.shape[0]):
            total = 0
            for i in range(size):
                total += labels[i] == k
            tally[k] += total
        return
    words, mask = recent.shape[0], nb.uint64(recent.shape[1] - 1)
    n = nb.uint64(0)
    if words == 1:
        row, old, out = patterns[0], recent[0], met[0]
        for i in range(size):
            key = row[i]
            index = ((key * GOLDEN) >> nb.uint64(40)) & mask
            before, repeats = old[index], recent_counts[index]
            other = before != key
            out[n], met_counts[n] = before, repeats
            old[index] = key
            recent_counts[index] = 1 if other else repeats + 1
            n += nb.uint64(other)
    else:
        for i in range(size):
            index = (_folded(patterns, i) >> nb.uint64(8)) & mask
            differ = nb.uint64(0)
            for w in range(words):
                before = recent[w, index]
                differ |= before ^ patterns[w, i]
                met[w, n] = before
                recent[w, index] = patterns[w, i]
            repeats = recent_counts[index]
            met_counts[n] = repeats
            recent_counts[index] = 1 if differ != nb.uint64(0) else repeats + 1
            n += nb.uint64(differ != nb.uint64(0))
    _remember(nb.intp(n), memory, tail, work, tally)


@njit(nogil=True, cache=True)
def _forget(memory, tail, work, tally):
    """Add up the patterns in the memory of recent ones, and empty it."""
    recent, recent_counts, met, met_counts, second, store = memory
    if store[0].shape[0] == 0:
        return
    n = tail[0][0]
    for index in range(recent.shape[1]):
        if recent_counts[index] > 0:
            for w in range(recent.shape[0]):
                met[w, n] = recent[w, index]
            met_counts[n] = recent_counts[index]
            recent_counts[index] = 0
            n += 1
        if n == SIZE or index == recent.shape[1] - 1:
            _remember(n, memory, tail, work, tally)
            n = tail[0][0]
    _label_waiting(tail[0][0] + (second.shape[0] > 0), store, tail, work, tally)


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _by_bounds(acc, depth, where, size, limits, tail, scratch, tally):
    """Return whether bounds show that all sets with a prefix have one class.

    If so, these sets are added up, or wait with their pattern.
    """
    low, high, _, _ = limits
    sure, open_, tries, gained, heavy, heavy_counts, sizes = scratch
    lanes, layers = acc.shape[1], tail[0]
    differ = nb.uint64(0)
    for w in range(lanes // LANES):
        at, of = depth * lanes + w * LANES, where * lanes + w * LANES
        sure[0, w] = turned(acc, at, low, of)
        open_[0, w] = turned(acc, at, high, of) ^ sure[0, w]
        differ |= open_[0, w]
    if differ == nb.uint64(0):
        for w in range(lanes // LANES):
            heavy[w, sizes[0]] = sure[0, w]
        heavy_counts[sizes[0]] = size
        sizes[0] += 1
        return True
    cost = 8 + tail[2][0].shape[0] // 16  # approximate cost of a bound, relative to a combination
    has_pairs = layers[layers.shape[0] - 1] > layers[layers.shape[0] - 2]
    if not has_pairs or size <= cost or not (tries[where] < _TRIES or gained[where] > tries[where] * cost):
        return False
    label = _settled(tail, sure, open_)
    tries[where] += 1
    if label < 0:
        return False
    gained[where] += size
    tally[label] += size
    return True


@njit(nogil=True, cache=True)
def _add_heavy(tail, work, scratch, tally):
    """Add up the patterns that stand for many sets."""
    _, _, _, _, heavy, heavy_counts, sizes = scratch
    classify(heavy, sizes[0], tail, tail[0][0], work[5], work[2], work[3], work[4])
    for i in range(sizes[0]):
        tally[work[4][i]] += heavy_counts[i]
    sizes[0] = 0


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _line(acc, depth, rows, start, end, weight, left, alike, patterns, n):
    """Write the patterns of the sets that add one of the options start..end-1, if the remaining budget allows
    it.

    Return the new number of patterns.
    """
    lanes = rows.shape[1]
    if alike:
        for w in range(lanes // LANES):
            row, at = patterns[w], depth * lanes + w * LANES
            for k in range(start, end):
                row[n + k - start] = turned(acc, at, rows, k * lanes + w * LANES)
        return n + end - start
    for k in range(start, end):
        for w in range(lanes // LANES):
            patterns[w, n] = turned(acc, depth * lanes + w * LANES, rows, k * lanes + w * LANES)
        n += weight[k] <= left
    return n


@njit(nogil=True, cache=True, _nrt=False, forceinline=True)
def _next_prefix(depth, end, acc, spent, following, moves):
    """Move to the next prefix and return its number of options; -1 at the end."""
    rows, weight, after, lightest, budget, _, _ = moves
    while depth >= 0:
        last, k = end if depth == 0 else rows.shape[0], following[depth]
        while k < last and spent[depth] + weight[k] + lightest[after[k]] > budget:
            k += 1
        if k < last:
            for lane in range(rows.shape[1]):
                acc[depth + 1, lane] = acc[depth, lane] + rows[k, lane]
            spent[depth + 1] = spent[depth] + weight[k]
            following[depth], following[depth + 1] = k + 1, after[k]
            return depth + 1
        depth -= 1
    return depth


@njit(nogil=True, cache=True)
def walk(begin, end, root, moves, limits, tail, memory, tally, stop):
    """Count by class the sets of options that begin with one of the options begin..end-1.

    Every set is a prefix followed by a last option. ``root`` holds the initial lanes. `moves` holds what each
    option adds to them, the weights, the first option of the next feature, and the minimum weight from each
    option on. Then come the budget, whether all options weigh the same, and the feature of each option.
    `limits` holds the minimum and maximum still to come, the number of these sets, and whether they are
    indexed by feature. They are if all weights are 0 and every option may begin a set; otherwise they are
    indexed by the remaining budget. Sets are added to `tally`. The walk ends early when ``stop[0]`` is set.
    """
    rows, weight, _, lightest, budget, alike, index = moves
    low, _, sizes, by_feature = limits
    count, lanes = rows.shape
    words = lanes // LANES
    max_depth = index[count] - index[begin] + 1 if count > begin else 1
    acc = np.empty((max_depth + 1, lanes), rows.dtype)
    spent, following = np.zeros(max_depth + 1, np.int64), np.zeros(max_depth + 1, np.int64)
    for lane in range(lanes):
        acc[0, lane] = root[lane]
    following[0] = begin
    widest, layers = words, tail[0]
    for layer in range(layers.shape[0] - 1):
        widest = max(widest, (layers[layer + 1] - layers[layer] + 63) >> 6)
    patterns = np.empty((words, SIZE), np.uint64)
    work = (
        np.empty((widest, SIZE), np.uint64),
        np.empty(SIZE, np.int64),
        np.empty(SIZE, np.int64),
        np.empty(SIZE, np.int64),
        np.empty(SIZE, np.int64),
        np.empty((2, widest, SIZE), np.uint64),
    )
    scratch = (
        np.zeros((2, widest), np.uint64),
        np.zeros((2, widest), np.uint64),
        np.zeros(low.shape[0], np.int64),
        np.zeros(low.shape[0], np.int64),
        np.empty((words, SIZE), np.uint64),
        np.empty(SIZE, np.int64),
        np.zeros(1, np.int64),
    )
    n = depth = layers[0]  # 0, but not a constant, which would compile everything below once more
    while depth >= 0 and stop[0] == 0:
        first, left = following[depth], budget - spent[depth]
        last = end if depth == 0 else count
        if low.shape[0] > 0 and (depth > 0 or by_feature):
            where = index[first] if by_feature else left
            if _by_bounds(acc, depth, where, sizes[index[first], left], limits, tail, scratch, tally):
                first = last
                if scratch[6][0] == SIZE:
                    _add_heavy(tail, work, scratch, tally)
        start, over = first, last if lightest[first] <= left else first
        while start < over:
            if n + CHUNK > SIZE:
                _flush(patterns, n, memory, tail, work, tally)
                n = layers[0]
            part = min(start + CHUNK, over)
            n = _line(acc, depth, rows, start, part, weight, left, alike, patterns, n)
            start = part
        if first >= last or 2 * lightest[first] > left:
            following[depth] = last
        depth = _next_prefix(depth, end, acc, spent, following, moves)
    _flush(patterns, n, memory, tail, work, tally)
    _forget(memory, tail, work, tally)
    _add_heavy(tail, work, scratch, tally)


@njit(nogil=True, cache=True)
def merge(rows, table, where):
    """Give equal rows the same number: ``where[i]`` is the number of row i. Return the first row of each
    number.

    `table` must be filled with -1.
    """
    mask = nb.uint64(table.shape[0] - 1)
    words, keys = rows.shape[1], rows.T
    new = 0
    firsts = np.empty(rows.shape[0], np.int64)
    for i in range(rows.shape[0]):
        at = _folded(keys, i) & mask
        while True:
            number = table[at]
            if number < 0:
                table[at] = where[i] = new
                firsts[new] = i
                new += 1
                break
            same = True
            for w in range(words):
                same &= rows[firsts[number], w] == rows[i, w]
            if same:
                where[i] = number
                break
            at = (at + nb.uint64(1)) & mask
    return firsts[:new]
