"""Compiled branch and bound over free features before one hidden layer (docs/theory.md 7.13).

A *lane* is a neuron of one inequality and holds its slack, the distance from the wrong side of the threshold.
The slack is for the most favourable options of all features not fixed yet. Options only lower slacks, and a
lane below 0 is lost permanently. Lanes are packed in words of 64, words in *groups* whose lanes have the same
worth.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg,var-annotated"

from functools import partial

import numba as nb
from llvmlite import ir
from numba import types
from numba.core import cgutils

from sugenet.bits.emitters import I64, call, emitted, int64, load
from sugenet.compiling import njit
from sugenet.engines.walk.lanes import LANES, ones

__all__ = [
    "ASIDE",
    "DEPTH",
    "GOES_ON",
    "LANES",
    "NODES",
    "STATE",
    "VECTOR",
    "VIOLATION",
    "WHOLE",
    "branch",
]

VECTOR = 4
"""Words that are counted together: group sizes are multiples of this."""
DEPTH, NODES, ASIDE, STATE = range(4)
"""Indices in the state of a search: its position, the nodes so far, and the subtrees set aside."""
GOES_ON, WHOLE, VIOLATION = range(3)
_EXCLUDED, _FEWER, _OPEN = range(3)
_ENDLESS = 1 << 62
_WORDS = ir.VectorType(I64, VECTOR)


def _lanes(b, array, index):
    """Load 64 lanes from an index of a flattened array."""
    return load(b, b.gep(array, [index]), ir.VectorType(array.type.pointee, LANES))


@partial(emitted, result=types.UniTuple(types.uint64, 2))
def _left(_, b, slack, at):
    """Return the bits of 64 lanes that are 0 or more, and of those that are 0."""
    lanes = _lanes(b, slack, at)
    zero = ir.Constant(lanes.type, [0] * LANES)
    return [b.bitcast(b.icmp_signed(how, lanes, zero), I64) for how in (">=", "==")]


@partial(emitted, result=types.int64)
def _lose(_, b, slack, at, loss, of, words, alive, begin, kills, to):
    """Count the lanes of some words that are lost, ``slack[at:] < loss[of:]`` among `alive`; write their bits
    to `kills`.
    """
    total = cgutils.alloca_once_value(b, int64(0))
    with cgutils.for_range(b, words) as loop:
        here = b.mul(loop.index, int64(LANES))
        lost = b.icmp_signed("<", _lanes(b, slack, b.add(at, here)), _lanes(b, loss, b.add(of, here)))
        bits = b.and_(b.bitcast(lost, I64), b.load(b.gep(alive, [b.add(begin, loop.index)])))
        b.store(bits, b.gep(kills, [b.add(to, loop.index)]))
        b.store(b.add(b.load(total), b.ctpop(bits)), total)
    return b.load(total)


def _words_of(b, array, index):
    return load(b, b.gep(array, [index]), _WORDS, 8)


def _counted(b, words, bits_of):
    """Count the bits set in words, `VECTOR` at a time from each index."""
    total = cgutils.alloca_once_value(b, ir.Constant(_WORDS, [0] * VECTOR))
    with cgutils.for_range_slice(b, int64(0), words, int64(VECTOR), I64, inc=True) as (w, _):
        b.store(b.add(b.load(total), call(b, f"llvm.ctpop.v{VECTOR}i64", _WORDS, [bits_of(w)])), total)
    return call(b, f"llvm.vector.reduce.add.v{VECTOR}i64", I64, [b.load(total)])


@partial(emitted, result=types.int64)
def _lose_by_one(_, b, planes, at, near, begin, words, kills, to):
    """Do the same if each option takes 0 or 1: lanes from which it takes 1, and lanes at 0."""

    def bits_of(w):
        bits = b.and_(_words_of(b, planes, b.add(at, w)), _words_of(b, near, b.add(begin, w)))
        b.store(bits, b.bitcast(b.gep(kills, [b.add(to, w)]), _WORDS.as_pointer())).align = 8
        return bits

    return _counted(b, words, bits_of)


@partial(emitted, result=types.int64)
def _unused(_, b, kills, at, used, begin, words):
    """Count the bits of some words, a multiple of `VECTOR`, that are not set in `used`."""

    def bits_of(w):
        return b.and_(_words_of(b, kills, b.add(at, w)), b.not_(_words_of(b, used, b.add(begin, w))))

    return _counted(b, words, bits_of)


@emitted
def _lower(_, b, slack, at, loss, of):
    """Subtract losses from 64 slacks, with saturation."""
    lanes, taken = _lanes(b, slack, at), _lanes(b, loss, of)
    less = call(b, f"llvm.ssub.sat.v{LANES}i{lanes.type.element.width}", lanes.type, [lanes, taken])
    b.store(less, b.bitcast(b.gep(slack, [at]), lanes.type.as_pointer())).align = 1


@njit(nogil=True, cache=True)
def _bounded(slack, at, goal, alive, near, max_sums):
    """Find the remaining lanes and the maximum of each inequality; return whether all can be met."""
    rows, begin, worth, min_sums = goal
    for q in range(min_sums.shape[0]):
        total = nb.int64(0)
        for g in range(rows[q], rows[q + 1]):
            n_alive = nb.int64(0)
            for w in range(begin[g], begin[g + 1]):
                alive[w], near[w] = _left(slack, at + w * LANES)
                n_alive += ones(alive[w])
            total += worth[g] * n_alive
        max_sums[q] = total
        if total < min_sums[q]:
            return False
    return True


@njit(nogil=True, cache=True)
def _looked(slack, at, options, free, goal, alive, near, max_sums, kills, drops, kept):
    """Compute the losses of each option of each free feature, and drop options after which an inequality
    cannot be met. Return whether a feature has no option left (all is excluded), or some have only one, or
    each more.
    """
    loss, first, lanes, planes = options
    rows, begin, worth, min_sums = goal
    words, takes_one = lanes // LANES, len(planes) > 0
    answer = _OPEN
    for f in free:
        left = 0
        for o in range(first[f], first[f + 1]):
            good = True
            for q in range(min_sums.shape[0]):
                total = nb.int64(0)
                for g in range(rows[q], rows[q + 1]):
                    w = begin[g]
                    index, size = o * words + w, begin[g + 1] - w
                    if takes_one:
                        n_killed = _lose_by_one(planes, index, near, w, size, kills, index)
                    else:
                        n_killed = _lose(
                            slack, at + w * LANES, loss, index * LANES, size, alive, w, kills, index
                        )
                    total += worth[g] * n_killed
                drops[o, q] = total
                good &= max_sums[q] - total >= min_sums[q]
            kept[o] = good
            left += good
        if left == 0:
            return _EXCLUDED
        if left == 1:
            answer = _FEWER
    return answer


@njit(nogil=True, cache=True)
def _worth(kills, at, used, group, end, begin, worth):
    """Return the worth of the lanes of an inequality that an option loses and that are not used yet."""
    total = nb.int64(0)
    for g in range(group, end):
        w = begin[g]
        total += worth[g] * _unused(kills, at + w, used, w, begin[g + 1] - w)
    return total


@njit(nogil=True, cache=True)
def _apart(options, free, goal, max_sums, kills, drops, kept, used, before, taken, lows, order):
    """Compute unavoidable losses: each lane is counted for one feature, which loses at least the minimum over
    its options. Return as `_looked`.
    """
    _, first, lanes, _ = options
    rows, begin, worth, min_sums = goal
    words = lanes // LANES
    answer = _OPEN
    for q in range(min_sums.shape[0]):
        start, end = begin[rows[q]], begin[rows[q + 1]]
        used[start:end] = 0
        n = 0
        for f in free:  # those with the largest losses first
            low = nb.int64(_ENDLESS)
            for o in range(first[f], first[f + 1]):
                taken[o] = 0
                if kept[o]:
                    low = min(low, drops[o, q])
            lows[f] = 0
            if low > 0:
                k = n
                while k > 0 and order[k - 1, 0] < low:
                    order[k, 0], order[k, 1] = order[k - 1, 0], order[k - 1, 1]
                    k -= 1
                order[k, 0], order[k, 1] = low, f
                n += 1
        gap = max_sums[q] - min_sums[q]
        for k in range(n):
            f = order[k, 1]
            low = nb.int64(_ENDLESS)
            for o in range(first[f], first[f + 1]):
                if kept[o]:
                    low = min(low, _worth(kills, o * words, used, rows[q], rows[q + 1], begin, worth))
            lows[f] = low
            before[start:end] = used[start:end]  # options of one feature may lose the same lanes
            for o in range(first[f], first[f + 1]):
                if kept[o]:  # at most that many lanes are used up, word by word
                    g, w = rows[q], start
                    while taken[o] < low:
                        while w >= begin[g + 1]:
                            g += 1
                        word = kills[o * words + w] & ~before[w]
                        used[w] |= word
                        taken[o] += worth[g] * ones(word)
                        w += 1
            gap -= low
            if gap < 0:
                return _EXCLUDED
        for f in free:  # an option loses its counted lanes, and those not counted at all
            left = 0
            for o in range(first[f], first[f + 1]):
                if kept[o] and drops[o, q] - lows[f] > gap:
                    option_loss = taken[o] + _worth(
                        kills, o * words, used, rows[q], rows[q + 1], begin, worth
                    )
                    kept[o] = option_loss - lows[f] <= gap
                left += kept[o]
            if left == 0:
                return _EXCLUDED
            if left == 1:
                answer = _FEWER
    return answer


@njit(nogil=True, cache=True)
def _chosen(options, free, goal, max_sums, drops, kept, shift):
    """Return the index of the feature to branch on: its smallest and largest losses are both large."""
    _, first, _, _ = options
    min_sums = goal[3]
    tight = 0
    for q in range(1, min_sums.shape[0]):
        if max_sums[q] - min_sums[q] < max_sums[tight] - min_sums[tight]:
            tight = q
    best, index = nb.int64(-1), 0
    for i in range(len(free)):
        f = free[i]
        low, high = nb.int64(_ENDLESS), nb.int64(0)
        for o in range(first[f], first[f + 1]):
            if kept[o]:
                low = min(low, drops[o, tight])
                high = max(high, drops[o, tight])
        score = ((low >> shift) + 1) * ((high >> shift) + 1)
        if score > best:
            best, index = score, i
    return index


@njit(nogil=True, cache=True)
def _node(depth, options, goal, stack, work, shift):
    """Process a node until nothing more is forced. Return whether it is excluded or branches, with its
    options in `coming`. If no feature is left, it is a violation.
    """
    loss, first, lanes, _ = options
    slack, free, n_free, pick, coming, left = stack
    alive, near, max_sums, kills, drops, kept, used, before, taken, lows, order = work
    words, at, n = lanes // LANES, depth * lanes, n_free[depth]
    status = _FEWER
    while status == _FEWER:
        if not _bounded(slack, at, goal, alive, near, max_sums):
            return _EXCLUDED
        if n == 0:
            return _FEWER
        here = free[depth, :n]
        status = _looked(slack, at, options, here, goal, alive, near, max_sums, kills, drops, kept)
        if status == _OPEN:
            status = _apart(
                options, here, goal, max_sums, kills, drops, kept, used, before, taken, lows, order
            )
        if status == _FEWER:
            n = 0
            for f in here:
                one, some = 0, 0
                for o in range(first[f], first[f + 1]):
                    if kept[o]:
                        one, some = o, some + 1
                if some == 1:
                    pick[depth, f] = one
                    for w in range(words):
                        _lower(slack, at + w * LANES, loss, (one * words + w) * LANES)
                else:
                    free[depth, n] = f
                    n += 1
    if status == _EXCLUDED:
        return _EXCLUDED
    index = _chosen(options, free[depth, :n], goal, max_sums, drops, kept, shift)
    f = free[depth, index]
    n_free[depth] = n - 1
    free[depth, index], free[depth, n - 1] = free[depth, n - 1], f
    k = 0
    for o in range(first[f], first[f + 1]):  # the smallest loss is taken first, from the end
        if kept[o]:
            j = k
            while j > 0 and drops[coming[depth, j - 1], 0] < drops[o, 0]:
                coming[depth, j] = coming[depth, j - 1]
                j -= 1
            coming[depth, j] = o
            k += 1
    left[depth] = k
    return _OPEN


@njit(nogil=True, cache=True)
def branch(state, quota, deepest, aside, options, goal, stack, work, shift):
    """Continue a search for `quota` nodes. Return whether it continues, has ended, or is at a violation,
    which is in ``pick[depth]``: the index of an option per feature.

    Open nodes of depth `deepest` are set aside while there is space, and not entered. `shift` is the number
    of binary digits of losses that are ignored in the choice of features.
    """
    loss, _, lanes, _ = options
    slack, free, n_free, pick, coming, left = stack
    words = lanes // LANES
    end = state[NODES] + quota
    depth = state[DEPTH]
    while True:
        if left[depth] < 0:  # not processed yet
            if state[NODES] >= end:
                state[DEPTH] = depth
                return GOES_ON
            state[NODES] += 1
            status = _node(depth, options, goal, stack, work, shift)
            if status == _FEWER:
                state[DEPTH] = depth
                return VIOLATION
            if status == _OPEN and depth == deepest and state[ASIDE] < len(aside):
                aside[state[ASIDE]] = pick[depth]
                state[ASIDE] += 1
                status = _EXCLUDED
            if status == _EXCLUDED:
                left[depth] = 0
        if left[depth] == 0:
            depth -= 1
            if depth < 0:
                return WHOLE
            continue
        left[depth] -= 1
        o, n = coming[depth, left[depth]], n_free[depth]
        slack[depth + 1] = slack[depth]
        for w in range(words):
            _lower(slack, (depth + 1) * lanes + w * LANES, loss, (o * words + w) * LANES)
        free[depth + 1, :n] = free[depth, :n]
        pick[depth + 1] = pick[depth]
        pick[depth + 1, free[depth, n]] = o
        n_free[depth + 1] = n
        left[depth + 1] = -1
        depth += 1
