"""A search that fixes one feature after another: the compiled part of `branches`.

To be ensured: pruned nodes contain no violation. A *lane* is a neuron that an inequality counts as long as
its slack is not negative. The slack is its margin under the best options, for it, of all features that are
not fixed. An option subtracts its loss from every slack. Losses are not negative, so slacks only fall, and
once all features are fixed the slacks are exact. The *allowance* of an inequality is how much it may lose
(`room` in the code). A node is pruned if more is lost, or must be:

- An option that loses more than the allowance is removed. A node in which a feature has no option left is
  pruned.
- If no lane is counted for two features, the sum of their least losses must be lost. An option is also
  removed if it loses more than the allowance that remains without the amount counted for its feature.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator,import-untyped,call-arg"

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils

from sugenet.checker.accelerate.vectors import (
    WORD,
    called,
    emitted,
    everywhere,
    loaded,
    number,
    ones,
    signs,
    stored,
)
from sugenet.compiling import njit

__all__ = ["GOES_ON", "NODES", "SET_ASIDE", "TOP", "VECTOR", "VIOLATION", "search"]

VECTOR = 4
"""Number of words counted at once; every inequality has a multiple of this many."""
GOES_ON, WHOLE, VIOLATION = range(3)
TOP, NODES, SET_ASIDE = range(3)
"""Indices in the state of a search: waiting nodes, visited nodes, deferred nodes."""
_OUT, _FEWER, _OPEN = range(3)
_I64, _U64 = nb.types.int64, nb.types.uint64
_WORDS, _NUMBERS = ir.VectorType(WORD, VECTOR), ir.VectorType(ir.IntType(32), 64)


@emitted(_U64)
def _below(b, slack, at, amount):
    """Return a bit for each of 64 numbers (-1 or more): whether it is less than an amount of 0 or more."""
    upper = everywhere(
        b, b.sub(b.trunc(amount, _NUMBERS.element), ir.Constant(_NUMBERS.element, 1)), _NUMBERS
    )
    return signs(b, b.sub(upper, loaded(b, slack, at, _NUMBERS)))


@emitted(_I64)
def _worth(b, kills, at, used, worth, begin, end):
    """Return the worth of the bits that are set in `kills`, from an index on, but not in `used`.

    It reads the words from `begin` to `end`, whose bits have the same worth.
    """
    total = cgutils.alloca_once_value(b, ir.Constant(_WORDS, [0] * VECTOR))
    with cgutils.for_range_slice(b, begin, end, number(VECTOR), WORD, inc=True) as (w, _):
        bits = b.and_(loaded(b, kills, b.add(at, w), _WORDS), b.not_(loaded(b, used, w, _WORDS)))
        count = called(b, f"llvm.ctpop.v{VECTOR}i64", _WORDS, [bits])
        b.store(b.add(b.load(total), b.mul(count, loaded(b, worth, w, _WORDS))), total)
    return called(b, f"llvm.vector.reduce.add.v{VECTOR}i64", WORD, [b.load(total)])


@emitted(nb.types.void)
def _killed(b, kills, to, near, of, planes, at, words, besides):
    """Write to `kills` the bits that are set in `near` and in `planes`, for some words from an index on.

    If `besides` is all ones, bits that were already set are kept.
    """
    mask = everywhere(b, besides, _WORDS)
    with cgutils.for_range_slice(b, number(0), words, number(VECTOR), WORD, inc=True) as (w, _):
        bits = b.and_(loaded(b, near, b.add(of, w), _WORDS), loaded(b, planes, b.add(at, w), _WORDS))
        old = b.and_(mask, loaded(b, kills, b.add(to, w), _WORDS))
        stored(b, kills, b.add(to, w), b.or_(bits, old))


@njit(nogil=True, cache=True)
def _counts_still(slack, question, alive, near, nothing, room):
    """Compute which lanes still count, and which have less than each amount; return whether they suffice."""
    begin, worth, must, amounts = question[:4]
    words = len(worth)
    for w in range(words):
        alive[w] = ~_below(slack, 64 * w, nb.int32(0))
        for a in range(len(amounts)):
            near[a * words + w] = _below(slack, 64 * w, amounts[a]) & alive[w]
    for q in range(len(must)):
        room[q] = _worth(alive, 0, nothing, worth, begin[q], begin[q + 1]) - must[q]
        if room[q] < 0:
            return False
    return True


@njit(nogil=True, cache=True)
def _options_left(free, question, near, nothing, room, kills, losses, kept):
    """Remove options that lose more than the allowance."""
    begin, worth, must, amounts, first, planes = question[:6]
    words, options = len(worth), first[-1]
    answer = _OPEN
    for f in free:
        left = 0
        for o in range(first[f], first[f + 1]):
            for a in range(len(amounts)):
                besides = nb.uint64(0) - nb.uint64(a > 0)
                _killed(kills, o * words, near, a * words, planes, (a * options + o) * words, words, besides)
            kept[o] = True
            for q in range(len(must)):
                losses[o, q] = _worth(kills, o * words, nothing, worth, begin[q], begin[q + 1])
                kept[o] &= losses[o, q] <= room[q]
            left += kept[o]
        if left == 0:
            return _OUT
        if left == 1:
            answer = _FEWER
    return answer


@njit(nogil=True, cache=True)
def _must_lose(free, q, question, room, kills, losses, kept, used, before, option_worth, counted, order):
    """Count lanes for one feature each: the necessary loss of one inequality, and the options
    it rules out.
    """
    begin, worth, _, _, first, _ = question[:6]
    words, start, end = len(worth), begin[q], begin[q + 1]
    used[:] = 0
    n_ordered = 0
    for f in free:
        counted[f] = 0
        low = nb.int64(1) << 62
        for o in range(first[f], first[f + 1]):
            option_worth[o] = 0
            if kept[o]:
                low = min(low, losses[o, q])
        if low > 0:  # largest losses first
            index = n_ordered
            while index > 0 and order[index - 1, 0] < low:
                order[index, 0], order[index, 1] = order[index - 1, 0], order[index - 1, 1]
                index -= 1
            order[index, 0], order[index, 1] = low, f
            n_ordered += 1
    over = room[q]
    for index in range(n_ordered):
        f = order[index, 1]
        low = nb.int64(1) << 62
        for o in range(first[f], first[f + 1]):
            if kept[o]:
                low = min(low, _worth(kills, o * words, used, worth, start, end))
        before[:] = used
        for o in range(first[f], first[f + 1]):
            w = start
            while kept[o] and option_worth[o] < low:  # as many lanes as required
                more = kills[o * words + w] & ~before[w]
                option_worth[o] += worth[w] * ones(more)
                used[w] |= more
                w += 1
        counted[f] = low
        over -= low
        if over < 0:
            return _OUT
    answer = _OPEN
    for f in free:
        left = 0
        for o in range(first[f], first[f + 1]):
            if kept[o] and losses[o, q] - counted[f] > over:
                besides = option_worth[o] + _worth(kills, o * words, used, worth, start, end) - counted[f]
                kept[o] = besides <= over
            left += kept[o]
        if left == 0:
            return _OUT
        if left == 1:
            answer = _FEWER
    return answer


@njit(nogil=True, cache=True)
def _take(slack, loss):
    """Lower slacks; negative slacks become -1."""
    for lane in range(len(slack)):
        slack[lane] = max(slack[lane] - loss[lane], nb.int32(-1))


@njit(nogil=True, cache=True)
def _fix(slack, free, question, kept):
    """Fix the features that have one option left; return the number of features that are still free."""
    first, loss = question[4], question[6]
    n_free = 0
    for f in free:
        one, left = 0, 0
        for o in range(first[f], first[f + 1]):
            if kept[o]:
                one, left = o, left + 1
        if left == 1:
            _take(slack, loss[one])
        else:
            free[n_free] = f
            n_free += 1
    return n_free


@njit(nogil=True, cache=True)
def _branching(free, question, room, losses, kept):
    """Return the position in the list of the feature to fix next.

    Any feature is correct. Prefer one whose options lose much in the inequality with the smallest allowance.
    """
    first, shift = question[4], question[7]
    tight = np.argmin(room)
    best, chosen = nb.int64(-1), 0
    for index in range(len(free)):
        f = free[index]
        low, high = nb.int64(1) << 62, nb.int64(0)
        for o in range(first[f], first[f + 1]):
            if kept[o]:
                low, high = min(low, losses[o, tight]), max(high, losses[o, tight])
        value = ((low >> shift) + 1) * ((high >> shift) + 1)
        if value > best:
            best, chosen = value, index
    return chosen


@njit(nogil=True, cache=True)
def search(state, quota, deepest, question, stack, aside, work):
    """Visit up to `quota` waiting nodes, the last one first.

    Return whether the search continues, is complete, or has found a violation. A node is a row of slacks and
    the free features. Open nodes at depth `deepest` are deferred, as long as there is space for them.
    """
    slack, free, free_counts, depth = stack
    alive, near, nothing, room, kills, losses, kept, used, before, option_worth, counted, order = work
    first, loss = question[4], question[6]
    for _ in range(quota):
        if state[TOP] == 0:
            return WHOLE
        state[TOP] -= 1
        state[NODES] += 1
        top, n = state[TOP], free_counts[state[TOP]]
        answer = _FEWER
        while answer == _FEWER:
            if not _counts_still(slack[top], question, alive, near, nothing, room):
                answer = _OUT
                break
            if n == 0:
                return VIOLATION
            here = free[top, :n]
            answer = _options_left(here, question, near, nothing, room, kills, losses, kept)
            for q in range(len(room)):
                if answer == _OPEN:
                    answer = _must_lose(
                        here,
                        q,
                        question,
                        room,
                        kills,
                        losses,
                        kept,
                        used,
                        before,
                        option_worth,
                        counted,
                        order,
                    )
            if answer == _FEWER:
                n = _fix(slack[top], here, question, kept)
        if answer == _OUT:
            continue
        if depth[top] == deepest and state[SET_ASIDE] < len(aside[0]):
            index = state[SET_ASIDE]
            aside[0][index], aside[1][index], aside[2][index] = slack[top], free[top], n
            state[SET_ASIDE] += 1
            continue
        index = _branching(free[top, :n], question, room, losses, kept)
        f = free[top, index]
        free[top, index] = free[top, n - 1]
        first_option = -1  # of the child that replaces the node itself
        for o in range(first[f], first[f + 1]):
            if kept[o] and first_option < 0:
                first_option = o
            elif kept[o]:
                state[TOP] += 1
                last = state[TOP]
                slack[last], free[last] = slack[top], free[top]
                free_counts[last], depth[last] = n - 1, depth[top] + 1
                _take(slack[last], loss[o])
        free_counts[top], depth[top] = n - 1, depth[top] + 1
        _take(slack[top], loss[first_option])
        state[TOP] += 1
    return GOES_ON
