"""Check the clauses of a propagation proof fast, with compiled code over arrays. `rules` has the definition.

To be ensured: a clause is added only if the negation of all its literals, taken together, leads to a
contradiction. `most` is the largest sum that an implication's inputs can still reach. If it is below `least`,
the guard is false. If the guard is true, every input without which `most` would fall below `least` is set. A
clause with one literal left sets that literal.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped"

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.thresholds import Implication
from sugenet.checker.limit import Limit
from sugenet.compiling import njit
from sugenet.errors import CheckLimitError

__all__ = ["Flat", "Propagation"]

_LARGE = 1 << 61
"""Bound on the sum of all absolute weights and bounds of an implication: two such sums fit in 63 bits."""
_WORK = 1 << 26  # weights that clauses are propagated over between checks of the clock
_MOST = 200  # clauses between checks of the clock
Flat: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
"""Clauses one after another, and the length of each."""


class Propagation:
    """The current knowledge, as the arrays that the compiled code works on."""

    def __init__(self, layers: list[list[Implication]], starts: Sequence[int], limit: Limit) -> None:
        total = starts[-1]
        self.limit = limit
        flat = [implication for layer in layers for implication in layer]
        if any(int(np.abs(i.weights).sum()) + abs(i.least) >= _LARGE for i in flat):
            raise CheckLimitError(
                "the weights, prices or factors are too large for 64 bits: "
                "check(..., plain=True) can check them."
            )
        guard = np.array([i.guard for i in flat], np.int64)
        thresholds = np.array([i.least for i in flat], np.int64)
        largest = np.array([int(np.abs(i.weights).max(initial=0)) for i in flat], np.int64)
        weights = _weights(layers, starts, limit)
        self.step = max(1, min(_MOST, _WORK // (1 + len(weights[2]))))
        self.size = 0
        self.problem = (
            guard,
            thresholds,
            thresholds + largest,  # with this much, nothing can be derived
            *_grouped(guard, -total, total),
            *_by_row(*weights, len(flat)),
            *_by_literal(*weights, total),
        )
        self.clauses = np.zeros(1 << 10, np.int32), np.zeros(1 << 10, np.int64)
        limit.take(60 * total, "the variables of a proof")
        self.state: tuple[npt.NDArray[Any], ...] = (
            np.zeros(2 * total + 1, np.int8),  # truth of a literal, at total + literal
            np.zeros(total, np.int64),  # literals set, in order
            np.array([int(np.maximum(i.weights, 0).sum()) for i in flat], np.int64),
            np.full(2 * total + 1, -1, np.int64),  # first clause that watches a literal
            np.full(1 << 11, -1, np.int64),  # next clause, for the two watches of each
            np.zeros(
                3, np.int64
            ),  # literals set, literals handled, whether there is a permanent contradiction
        )

    def take(self, clauses: Flat) -> None:
        """Propagate the implications alone, then the given clauses."""
        self._write(clauses)
        _add_stated(self.problem, self.clauses, self.state, self.size)

    def first_that_fails(self, clauses: Flat) -> int | None:
        """Return the index of the first of more clauses that does not follow, or None.

        All clauses are added, unless there is a permanent contradiction.
        """
        if self.state[-1][2]:
            return None
        before = self.size
        self._write(clauses)
        for start in range(before, self.size, self.step):
            self.limit.look()
            bad = _follow(self.problem, self.clauses, self.state, start, min(start + self.step, self.size))
            if bad >= 0:
                return int(bad) - before
        return None

    def _write(self, clauses: Flat) -> None:
        """Append clauses to the known ones."""
        (literals, ends), (more, sizes) = self.clauses, clauses
        used, size = int(ends[self.size]), self.size + len(sizes)
        self.limit.take(8 * len(more) + 48 * len(sizes), "the clauses of a proof")  # arrays grow by doubling
        self.clauses = _grown(literals, used + len(more), 0), _grown(ends, size + 1, 0)
        self.state = (*self.state[:4], _grown(self.state[4], 2 * size, -1), self.state[5])
        self.clauses[0][used : used + len(more)] = more
        self.clauses[1][self.size + 1 : size + 1] = used + np.cumsum(sizes)
        self.size = size


def _grown(array: npt.NDArray[Any], size: int, fill: int) -> npt.NDArray[Any]:
    """Return the array, doubled if it is too small."""
    if size <= len(array):
        return array
    return np.concatenate([array, np.full(max(size, 2 * len(array)) - len(array), fill, array.dtype)])


_Ints: TypeAlias = npt.NDArray[np.int64]


def _weights(
    layers: list[list[Implication]], starts: Sequence[int], limit: Limit
) -> tuple[_Ints, _Ints, _Ints]:
    """Return the weights that are not 0: for each its implication, its variable from 0, and itself."""
    kept, first = [], 0
    for start, layer in zip(starts, layers, strict=False):
        for number, implication in enumerate(layer, start=first):
            at = np.flatnonzero(implication.weights)
            limit.take(100 * len(at), "the implications of all neurons")
            row = np.full(len(at), number, np.int64)
            kept.append((row, start + at, implication.weights[at].astype(np.int64)))
        first += len(layer)
    parts = zip(*kept, strict=True)
    rows, variables, weights = (np.concatenate([np.zeros(0, np.int64), *part]) for part in parts)
    return rows, variables, weights


def _by_row(rows: _Ints, variables: _Ints, weights: _Ints, count: int) -> tuple[_Ints, _Ints, _Ints]:
    """Return the first weight of each implication; its variables and weights, the largest weight first."""
    order = np.lexsort((-np.abs(weights), rows))
    return np.searchsorted(rows, np.arange(count + 1)), variables[order], weights[order]


def _by_literal(rows: _Ints, variables: _Ints, weights: _Ints, total: int) -> tuple[_Ints, _Ints, _Ints]:
    """Return the first implication of each literal that loses weight if it is true; these implications, and
    how much they lose.
    """
    order, begins = _grouped(np.where(weights > 0, -variables - 1, variables + 1), -total, total)
    return begins, rows[order], np.abs(weights[order])


def _grouped(keys: _Ints, low: int, high: int) -> tuple[_Ints, _Ints]:
    """Return an order by keys, and the position of each key from `low` to `high` in it, and the end."""
    order = np.argsort(keys, kind="stable")
    return order, np.searchsorted(keys[order], np.arange(low, high + 2))


# -- compiled ------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _put(truth, trail, counts, literal):
    """Make a literal true; return whether it was not false."""
    total = trail.shape[0]
    if truth[total + literal] == 0:
        truth[total + literal], truth[total - literal] = 1, -1
        trail[counts[0]] = literal
        counts[0] += 1
    return truth[total + literal] > 0


@njit(nogil=True, cache=True)
def _weigh(problem, state, literal, sign):
    """Subtract the cost of a literal from the sums of the implications that it costs something, or add it
    again; return whether one of them is then short.
    """
    enough, begins, rows, losses = problem[2], problem[8], problem[9], problem[10]
    max_sums, total = state[2], state[1].shape[0]
    short = False
    for k in range(begins[total + literal], begins[total + literal + 1]):
        max_sums[rows[k]] -= sign * losses[k]
        short |= max_sums[rows[k]] < enough[rows[k]]
    return short


@njit(nogil=True, cache=True)
def _use(problem, state, r):
    """Propagate one implication; return whether there is no contradiction."""
    guard, thresholds, enough, _order, _owned, starts, variables, weights, _begins, _rows, _losses = problem
    truth, trail, max_sums, _head, _following, counts = state
    total, room = trail.shape[0], max_sums[r] - thresholds[r]
    if max_sums[r] >= enough[r]:
        return True
    if room < 0:
        return guard[r] != 0 and _put(truth, trail, counts, -guard[r])
    if guard[r] == 0 or truth[total + guard[r]] > 0:  # then it needs every input of a larger weight
        for k in range(starts[r], starts[r + 1]):
            if abs(weights[k]) <= room:
                break
            v = variables[k] + 1
            if truth[total + v] == 0:
                _put(truth, trail, counts, v if weights[k] > 0 else -v)
    return True


@njit(nogil=True, cache=True)
def _watching(literals, ends, truth, trail, head, following, counts, literal):
    """Propagate the clauses that watch a literal which is now false; return whether there is no
    contradiction.
    """
    total = trail.shape[0]
    node = head[total + literal]
    head[total + literal] = -1
    fine = True
    while node >= 0:
        after, start, end = following[node], ends[node >> 1], ends[(node >> 1) + 1]
        mine, other = start + (node & 1), literals[start + 1 - (node & 1)]
        home = literal
        if fine and truth[total + other] <= 0:
            for k in range(start + 2, end):
                if truth[total + literals[k]] >= 0:
                    home = literals[k]
                    literals[k], literals[mine] = literal, home
                    break
            if home == literal:
                fine = _put(truth, trail, counts, other)
        following[node] = head[total + home]
        head[total + home] = node
        node = after
    return fine


@njit(nogil=True, cache=True)
def _propagate(problem, clauses, state):
    """Propagate to a fixed point; return whether there is no contradiction."""
    guard, _thresholds, _enough, order, owned, _starts, _variables, _weights, begins, rows, _losses = problem
    literals, ends = clauses
    truth, trail, _max_sums, head, following, counts = state
    total = trail.shape[0]
    while counts[1] < counts[0]:
        literal = trail[counts[1]]
        short = _weigh(problem, state, literal, 1)
        counts[1] += 1
        if not _watching(literals, ends, truth, trail, head, following, counts, -literal):
            return False
        if short:
            for k in range(begins[total + literal], begins[total + literal + 1]):
                r = rows[k]
                is_live = guard[r] == 0 or truth[total + guard[r]] >= 0
                if is_live and not _use(problem, state, r):
                    return False
        for k in range(owned[total + literal], owned[total + literal + 1]):
            if not _use(problem, state, order[k]):
                return False
    return True


@njit(nogil=True, cache=True)
def _undo(problem, state, keep):
    """Undo all but the first literals."""
    truth, trail, _max_sums, _head, _following, counts = state
    total = trail.shape[0]
    while counts[0] > keep:
        counts[0] -= 1
        literal = trail[counts[0]]
        if counts[0] < counts[1]:
            _weigh(problem, state, literal, -1)
        truth[total + literal], truth[total - literal] = 0, 0
    counts[1] = keep


@njit(nogil=True, cache=True)
def _take(problem, clauses, state, number):
    """Add a clause permanently: watched by two literals that are not false, or propagated at once."""
    literals, ends = clauses
    truth, trail, _max_sums, head, following, counts = state
    total = trail.shape[0]
    start, end = ends[number], ends[number + 1]
    good = 0
    for k in range(start, end):
        x = literals[k]
        if truth[total + x] > 0:
            return
        if truth[total + x] == 0 and good < 2:
            literals[k], literals[start + good] = literals[start + good], x
            good += 1
    if good == 2:
        for k in range(2):
            following[2 * number + k] = head[total + literals[start + k]]
            head[total + literals[start + k]] = 2 * number + k
    elif good == 0 or not (
        _put(truth, trail, counts, literals[start]) and _propagate(problem, clauses, state)
    ):
        counts[2] = 1


@njit(nogil=True, cache=True)
def _add_stated(problem, clauses, state, n_clauses):
    """Propagate the implications alone, then add the given clauses."""
    counts = state[-1]
    for r in range(len(problem[0])):
        if not _use(problem, state, r):
            counts[2] = 1
    if not _propagate(problem, clauses, state):
        counts[2] = 1
    for number in range(n_clauses):
        if counts[2] == 0:
            _take(problem, clauses, state, number)


@njit(nogil=True, cache=True)
def _follow(problem, clauses, state, start, stop):
    """Check clauses one by one, and add each; return the first that does not follow, or -1."""
    literals, ends = clauses
    truth, trail, _max_sums, _head, _following, counts = state
    for number in range(start, stop):
        if counts[2] == 1:
            return -1
        keep = counts[0]
        fine = True
        for k in range(ends[number], ends[number + 1]):
            fine = fine and _put(truth, trail, counts, -literals[k])
        if fine and _propagate(problem, clauses, state):
            return number
        _undo(problem, state, keep)
        _take(problem, clauses, state, number)
    return -1
