"""Change one feature after another within a budget until no violation can be reached.

To be ensured: each case of a violation is searched, and the search starts from the question itself. This form
is for one hidden layer and for questions with a budget. There an inequality is a sum over neurons, each of
which counts or does not. A neuron that does not count lacks some amount. An option has a *share* of each such
neuron: the part of that amount that it adds. The options of a violation complete as many neurons as the
inequality misses. So their shares, times the weights of the neurons, sum to at least what is missing. If the
largest shares of as many options as the budget allows sum to less, there is no violation. No code is shared
with the engines.
"""
# mypy: disable-error-code="no-untyped-call,no-untyped-def,untyped-decorator"

from typing import Any

import numpy as np

from sugenet.checker.accelerate.integers import ArrayProblem, Demand, over_neurons
from sugenet.compiling import njit
from sugenet.errors import TooLargeError

__all__ = ["is_reached"]

_PART = 1 << 8
"""Number of nodes between two checks of the clock."""
_WHOLE = 5040
"""Shares of a neuron of weight 1; parts of it are rounded up."""
_LARGE = 1 << 61
_GOES_ON, _DONE, _VIOLATION = range(3)


def is_reached(problem: ArrayProblem, max_nodes: int | None = None) -> bool:
    """Return whether some set of changes within the budget is a violation."""
    assert problem.budget is not None
    options = sum(map(len, problem.features))
    problem.limit.take(24 * (options + 2) * (len(problem.base) + 2), "all changes")
    owner = np.repeat(np.arange(len(problem.features)), [len(row) for row in problem.features])
    price = np.array([price for row in problem.features for price, _ in row], np.int64)
    gains = np.array([gain for row in problem.features for _, gain in row], np.int64)
    gains = gains.reshape(options, len(problem.base)).T
    costs = np.cumsum(sorted(min(price for price, _ in row) for row in problem.features), dtype=np.int64)
    searches = [_CaseWithin(problem, owner, price, gains, costs, case) for case in problem.cases]
    return any(search.is_met(max_nodes) for search in searches)


class _CaseWithin:
    """The search of one case: all its inequalities must be met."""

    def __init__(
        self, problem: ArrayProblem, owner: Any, price: Any, gains: Any, costs: Any, case: list[Demand]
    ) -> None:
        assert problem.budget is not None
        self.limit = problem.limit
        deepest = int(np.searchsorted(costs, problem.budget, side="right"))
        reach = deepest * max(int(gains.max(initial=0)), -int(gains.min(initial=0)))
        lacks, grows, weights = [np.zeros(0, np.int64)], [gains[:0]], [np.zeros(0, np.int64)]
        missing, ends = [], [0]
        for factors, threshold in case:
            row, bound = over_neurons(problem.head, factors, threshold)
            used = np.flatnonzero(row)
            sign = np.where(row[used] > 0, 1, -1)
            largest = _WHOLE * (sum(map(abs, row.tolist())) + abs(bound) + 1) + (2 * reach + 1) * len(used)
            if largest * (deepest + 1) >= _LARGE:
                raise TooLargeError(
                    "the scores are too finely divided or the sums too large for branch and bound."
                )
            lack = np.where(sign > 0, -problem.base[used], problem.base[used] + 1)
            lacks.append(np.clip(lack, -reach, reach + 1))  # beyond that, no set of changes turns it
            grows.append(gains[used] * sign[:, None])
            weights.append(np.abs(row[used]).astype(np.int64))
            missing.append(bound - sum(weight for weight in row.tolist() if weight < 0))
            ends.append(ends[-1] + len(used))
        self.question = (
            owner,
            price,
            costs,
            np.concatenate(grows),
            np.array(ends),
            np.concatenate(weights),
            np.array(missing, np.int64),
        )
        lanes, options, rows = ends[-1], len(price), deepest + 2
        self.limit.take(8 * (lanes * options + rows * (lanes + 2 * options)), "the search for a violation")
        self.stack = (
            np.zeros((rows, lanes), np.int64),
            np.zeros((rows, options), np.int64),
            np.ones((rows, options), np.bool_),
            np.zeros(rows, np.int64),
            np.zeros(rows, np.int64),
            np.zeros(rows, np.bool_),
        )
        self.stack[0][0], self.stack[3][0] = np.concatenate(lacks), problem.budget

    def is_met(self, max_nodes: int | None) -> bool:
        """Return whether some set of changes meets all inequalities."""
        state, status = np.zeros(2, np.int64), _GOES_ON
        while status == _GOES_ON:
            self.limit.look()
            if max_nodes is not None and state[1] > max_nodes:
                raise TooLargeError("it is faster to enumerate all sets than to branch.")
            status = int(_search(self.question, self.stack, state))
        return status == _VIOLATION


@njit(nogil=True, cache=True)
def _share(question, q, lack, is_open, left, fits, out):
    """Write the sum of the shares of each option for an inequality; closed ones have none."""
    _, price, _, grows, ends, weights, _ = question
    out[:] = 0
    for lane in range(ends[q], ends[q + 1]):
        if lack[lane] <= 0:
            continue
        best = 0
        for o in range(len(price)):
            if is_open[o] and price[o] <= left:
                best = max(best, grows[lane, o])
        if best * fits < lack[lane]:  # the budget is too small for this neuron
            continue
        unit = (weights[lane] * _WHOLE + lack[lane] - 1) // lack[lane]
        for o in range(len(price)):
            if is_open[o] and price[o] <= left and grows[lane, o] > 0:
                out[o] += unit * min(grows[lane, o], lack[lane])


@njit(nogil=True, cache=True)
def _largest(shares, count):
    """Return the sum of the largest shares."""
    if count >= len(shares):
        return shares.sum()
    return np.partition(shares, len(shares) - count - 1)[len(shares) - count :].sum()


@njit(nogil=True, cache=True)
def _enter(question, stack, depth, fits):
    """Compute the shares at a node, for the inequality with the least to spare, and what they must reach.

    Return whether all inequalities are met there.
    """
    ends, weights, missing = question[4], question[5], question[6]
    lacks, shares, is_open, left, owed, _ = stack
    scratch, tight, is_met = np.zeros(shares.shape[1], np.int64), _LARGE, True
    for q in range(len(missing)):
        still = missing[q]
        for lane in range(ends[q], ends[q + 1]):
            if lacks[depth, lane] <= 0:
                still -= weights[lane]
        if still <= 0:
            continue
        is_met = False
        _share(question, q, lacks[depth], is_open[depth], left[depth], fits, scratch)
        spare = _largest(scratch, fits) - still * _WHOLE
        if spare < tight:
            tight, owed[depth] = spare, still * _WHOLE
            shares[depth] = scratch
    return is_met


@njit(nogil=True, cache=True)
def _search(question, stack, state):
    """Visit some nodes, and return whether the search continues, is complete or has found a violation.

    At each depth the open option with the largest share is taken next. When it returns, that option is closed
    for the other sets of this depth. `state` holds the depth and the number of nodes.
    """
    owner, price, costs, grows = question[0], question[1], question[2], question[3]
    lacks, shares, is_open, left, owed, is_entered = stack
    depth, last = state[0], state[1] + _PART
    while depth >= 0:
        fits = np.searchsorted(costs, left[depth], side="right")
        if not is_entered[depth]:
            if state[1] >= last:
                state[0] = depth
                return _GOES_ON
            state[1] += 1
            is_entered[depth] = True
            if _enter(question, stack, depth, fits):
                return _VIOLATION
        if _largest(shares[depth], fits) < owed[depth]:
            depth -= 1
            continue
        o = np.argmax(shares[depth])
        shares[depth, o], is_open[depth, o] = 0, False
        for lane in range(lacks.shape[1]):
            lacks[depth + 1, lane] = lacks[depth, lane] - grows[lane, o]
        for other in range(len(owner)):
            is_open[depth + 1, other] = is_open[depth, other] and owner[other] != owner[o]
        left[depth + 1], is_entered[depth + 1] = left[depth] - price[o], False
        depth += 1
    return _DONE
