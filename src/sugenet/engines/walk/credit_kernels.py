"""Compiled branch and bound over sets of moves within a budget (docs/theory.md 7.14).

A *lane* is a neuron of one inequality. Its *need* is the gain without which it does not count; it counts if
that is 0 or less. A move has a *credit*: of each lane that does not count, the part of its need that the move
brings. So moves that make up a deficit have at min_sums that much credit together.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"

import numpy as np

from sugenet.compiling import njit

__all__ = ["DEPTH", "GOES_ON", "NODES", "SCALE", "STATE", "VIOLATION", "WHOLE", "search"]

DEPTH, NODES, STATE = range(3)
"""Indices in the state of a search: its position, and the nodes so far."""
GOES_ON, WHOLE, VIOLATION = range(3)
SCALE = 720720
"""Credit of a unit of worth: up to 16 moves have equal parts of it."""


@njit(nogil=True, cache=True)
def _credits(q, depth, fits, moves, goal, stack, work):
    """Add up the credits of the moves for an inequality, and write the moves that have any to `rated`; return
    their number and the work.
    """
    features, weights, _, rising, column_from, column, gain = moves
    rows, worth, _, reach = goal
    need, left, banned, taken = stack[0], stack[1], stack[2], stack[3]
    credit, rated = work[0], work[1]
    n, size = 0, 0
    for lane in range(rows[q], rows[q + 1]):
        needed = need[depth, lane]
        if needed <= 0 or needed > reach[min(fits, len(reach) - 1), lane]:
            continue
        each = -(-worth[lane] * SCALE // needed)
        size += rising[lane] - column_from[lane]
        for k in range(column_from[lane], rising[lane]):
            o = column[k]
            if not banned[o] and not taken[features[o]] and weights[o] <= left[depth]:
                if credit[o] == 0:
                    rated[n] = o
                    n += 1
                credit[o] += each * min(gain[k], needed)
    return n, size


@njit(nogil=True, cache=True)
def _node(depth, moves, goal, stack, work):
    """Look at a node: return how it ends, with the moves to branch over in `order`, and the work."""
    lightest = moves[2]
    rows, worth, min_sums, _ = goal
    need, left, order, rates, n_ordered = stack[0], stack[1], stack[4], stack[5], stack[6]
    credit, rated, deficits = work
    is_met, size = True, len(worth)
    for q in range(len(min_sums)):
        deficits[q] = min_sums[q]
        for lane in range(rows[q], rows[q + 1]):
            if need[depth, lane] <= 0:
                deficits[q] -= worth[lane]
        is_met &= deficits[q] <= 0
    if is_met:
        return VIOLATION, size
    fits = np.searchsorted(lightest, left[depth], side="right")
    status, tightest = GOES_ON, -1
    for q in range(len(min_sums)):
        if deficits[q] <= 0 or status == WHOLE:
            continue
        n, more = _credits(q, depth, fits, moves, goal, stack, work)
        size += more + n
        negated = np.zeros(n, np.int64)
        for k in range(n):
            negated[k] = -credit[rated[k]]
            credit[rated[k]] = 0
        ranks = np.argsort(negated, kind="mergesort")
        spare = -deficits[q] * SCALE
        for k in range(min(fits, n)):
            spare -= negated[ranks[k]]
        if spare < 0:
            status = WHOLE
        elif tightest < 0 or spare < tightest:
            tightest = spare
            n_ordered[depth] = n
            for k in range(n):
                order[depth, k], rates[depth, k] = rated[ranks[k]], -negated[ranks[k]]
            stack[7][depth] = deficits[q] * SCALE
    return status, size


@njit(nogil=True, cache=True)
def _follows(depth, k, fits, stack):
    """Return whether the moves of a node from `k` on have enough credit."""
    rates, n_ordered, owed = stack[5], stack[6], stack[7]
    total = 0
    for j in range(k, min(k + fits, n_ordered[depth])):
        total += rates[depth, j]
    return total >= owed[depth]


@njit(nogil=True, cache=True)
def search(state, quota, moves, goal, stack, work):
    """Continue a search for about `quota` steps. Return whether it continues, has ended, or is at a
    violation: the moves that were taken last at each depth.
    """
    features, weights, lightest, _, _, _, _, row_from, row, row_gain = moves
    need, left, banned, taken, order, _, n_ordered, _, following = stack
    some = (features, weights, lightest, moves[3], moves[4], moves[5], moves[6])
    depth = state[DEPTH]
    while depth >= 0:
        if following[depth] < 0:
            if quota < 0:
                state[DEPTH] = depth
                return GOES_ON
            state[NODES] += 1
            status, size = _node(depth, some, goal, stack[:8], work)
            quota -= size
            if status == VIOLATION:
                state[DEPTH] = depth
                return VIOLATION
            following[depth] = 0
            if status == WHOLE:
                n_ordered[depth] = 0
        k = following[depth]
        fits = np.searchsorted(lightest, left[depth], side="right")
        if k >= n_ordered[depth] or not _follows(depth, k, fits, stack[:8]):
            for j in range(k):
                banned[order[depth, j]] = False
            depth -= 1
            if depth >= 0:
                o = order[depth, following[depth] - 1]
                taken[features[o]], banned[o] = False, True
            continue
        o = order[depth, k]
        following[depth] += 1
        taken[features[o]] = True
        need[depth + 1] = need[depth]
        for j in range(row_from[o], row_from[o + 1]):
            need[depth + 1, row[j]] -= row_gain[j]
        left[depth + 1] = left[depth] - weights[o]
        following[depth + 1] = -1
        depth += 1
    state[DEPTH] = 0
    return WHOLE
