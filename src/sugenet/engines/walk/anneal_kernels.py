"""Compiled annealing over sets of moves: one change of a feature per step, evaluated at once.

Plain loops throughout: numba's whole-array functions take longer to compile than all of this.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped"
# mypy: disable-error-code="call-arg"

import numba as nb
import numpy as np

from sugenet.compiling import njit
from sugenet.engines.walk.lanes import ones

__all__ = ["anneal"]


@njit(nogil=True, cache=True)
def _missing(
    words,
    indices,
    positive,
    negative,
    tau,
    sizes,
    shift,
    starts,
    classes,
    factors,
    min_sums,
    cases,
    members,
    count,
):
    """Return the shortfall of the goal for the pattern in `words`, which is overwritten.

    Row r of `places`: the layer, the input word and the binary digit of the weights of row r of `positive`
    and `negative`.
    """
    r = 0
    for layer in range(len(sizes)):
        size = sizes[layer]
        for i in range(count.shape[0]):
            count[i] = 0
        while r < len(indices) and indices[r, 0] == layer:
            word, digit = words[indices[r, 1]], nb.uint64(indices[r, 2])
            for i in range(size):
                count[i] += nb.uint64(ones((word & positive[r, i]) | (~word & negative[r, i]))) << digit
            r += 1
        if layer < len(sizes) - 1:
            for w in range((size + 63) // 64):
                word = nb.uint64(0)
                for i in range(64):
                    word |= nb.uint64(nb.int64(count[64 * w + i]) >= tau[layer, 64 * w + i]) << nb.uint64(i)
                words[w] = word
    best = nb.int64(1)
    for c in range(len(cases) - 1):
        worst = nb.int64(0)
        for m in range(cases[c], cases[c + 1]):
            q = members[m]
            total = min_sums[q]
            for i in range(starts[q], starts[q + 1]):
                total -= factors[i] * (nb.int64(count[classes[i]]) + shift[classes[i]])
            worst = total if m == cases[c] else max(worst, total)
        best = worst if c == 0 else min(best, worst)
    return best


@njit(nogil=True, cache=True)
def _random(state):
    """Return the next number of a xorshift generator."""
    x = state[0]
    x ^= x << nb.uint64(13)
    x ^= x >> nb.uint64(7)
    x ^= x << nb.uint64(17)
    state[0] = x
    return x >> nb.uint64(11)


def anneal(chosen, start, rows, first, weight, budget, steps, hot, cold, seed, later, votes):
    """Anneal from the options `chosen` of each feature, in place; return the smallest shortfall, 0 or less as
    soon as the goal is reached.

    Options of feature f are rows first[f]..first[f+1]-1; the first of them is to stay. Changes without cost
    are always accepted. If a change would exceed the budget, a random moved feature is reset. Worse states
    are accepted with a probability that falls with the temperature, from `hot` to `cold`.
    """
    parts, widest = len(start), int(later[4].max())
    away = np.flatnonzero(chosen)
    lanes = start + rows[first[away] + chosen[away]].sum(axis=0, dtype=start.dtype)
    words = [
        np.zeros(size, np.uint64) for size in (parts, parts, max(parts, (widest + 63) // 64), widest + 63)
    ]
    # features that have moved, and their indices in that list
    moved, where = np.zeros(len(chosen), np.int64), np.full(len(chosen), -1, np.int64)
    moved[: len(away)], where[away] = away, range(len(away))
    work = (np.array([seed], np.uint64), lanes, lanes.copy(), *words, moved, where)
    used, fall = int(weight[first[away] + chosen[away]].sum()), (cold / hot) ** (1.0 / steps)
    return _anneal(chosen, rows, first, weight, budget, steps, hot, fall, used, len(away), work, later, votes)


@njit(nogil=True, cache=True)
def _anneal(chosen, rows, first, weight, budget, steps, heat, fall, used, n_moved, work, later, votes):
    indices, positive, negative, tau, sizes, shift = later
    starts, classes, factors, min_sums, cases, members = votes
    state, lanes, tried, pattern, fresh, words, count, moved, where = work
    features, parts = len(chosen), len(lanes)
    now = nb.int64(1 << 62)
    best = now
    for step in range(steps):
        heat *= fall
        back = -1
        f = nb.int64(_random(state) % nb.uint64(features))
        old = first[f] + chosen[f]
        options = first[f + 1] - first[f]
        new = old
        if step > 0:  # the first step evaluates the start
            pick = nb.int64(_random(state) % nb.uint64(options - 1))
            new = first[f] + (pick if pick < chosen[f] else pick + 1)
        spent = used - weight[old] + weight[new]
        if spent > budget:
            if n_moved == 0:
                continue
            back = moved[nb.int64(_random(state) % nb.uint64(n_moved))]
            if back == f:
                continue
            spent -= weight[first[back] + chosen[back]]
            if spent > budget:
                continue
        same = step > 0
        for w in range(parts):
            key = nb.uint64(0)
            if back >= 0:
                gone = first[back] + chosen[back]
                for j in range(64):
                    tried[w, j] = lanes[w, j] + rows[new, w, j] - rows[old, w, j] - rows[gone, w, j]
            else:
                for j in range(64):
                    tried[w, j] = lanes[w, j] + rows[new, w, j] - rows[old, w, j]
            for j in range(64):
                key |= nb.uint64(tried[w, j] >= 0) << nb.uint64(j)
            fresh[w] = words[w] = key
            same &= key == pattern[w]
        missing = now
        if not same:
            missing = _missing(
                words,
                indices,
                positive,
                negative,
                tau,
                sizes,
                shift,
                starts,
                classes,
                factors,
                min_sums,
                cases,
                members,
                count,
            )
            if missing > now and (_random(state) % nb.uint64(1 << 30)) / (1 << 30) >= np.exp(
                (now - missing) / heat
            ):
                continue
        now = missing
        used = spent
        for w in range(parts):
            pattern[w] = fresh[w]
            for j in range(64):
                lanes[w, j] = tried[w, j]
        for turn in range(2):
            g, option = (f, new - first[f]) if turn == 0 else (back, 0)
            if g < 0:
                break
            chosen[g] = option
            if option > 0 and where[g] < 0:
                moved[n_moved], where[g] = g, n_moved
                n_moved += 1
            elif option == 0 and where[g] >= 0:
                n_moved -= 1
                other = moved[n_moved]
                moved[where[g]], where[other] = other, where[g]
                where[g] = -1
        best = min(best, now)
        if now <= 0:
            break
    return best
