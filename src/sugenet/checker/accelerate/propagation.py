"""Check the clauses of a propagation proof fast, with compiled code over arrays. `rules` has the definition.

To be ensured: a clause is added only if the negation of all its literals, taken together, leads to a
contradiction. `most` is the largest sum that an implication's inputs can still reach. If it is below `least`,
the guard is false. If the guard is true, every input without which `most` would fall below `least` is set. A
clause with one literal left sets that literal.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

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
        tables = [np.array([i.weights for i in layer], dtype=np.int64) for layer in layers]
        self.step = max(1, min(_MOST, _WORK // (1 + sum(table.size for table in tables))))
        self.size = 0
        self.problem = (
            np.concatenate([table.T.ravel() for table in tables]),
            np.cumsum([0, *(table.size for table in tables)]),
            np.array(starts[: len(layers) + 1], np.int64),
            np.cumsum([0, *map(len, layers)]),
            np.array([i.guard for i in flat], np.int64),
            np.array([i.least for i in flat], np.int64),
            np.array(
                [i.least + int(np.abs(i.weights).max(initial=0)) for i in flat], np.int64
            ),  # with this much, nothing can be derived
            np.searchsorted(starts, np.arange(total), side="right") - 1,
            *_by_guard(np.array([i.guard for i in flat], np.int64), total),
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


def _by_guard(
    guards: npt.NDArray[np.int64], total: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    order = np.argsort(guards, kind="stable")
    return order, np.searchsorted(guards[order], np.arange(-total, total + 2))


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
def _weigh(weights, at, count, max_sums, enough, first, literal, sign):
    """Subtract the cost of a literal for the implications that read it from `max_sums`, or add it again.

    Return the number of implications that then do not have `enough`.
    """
    short = 0
    for r in range(count):
        lost = max(-weights[at + r], 0) if literal > 0 else max(weights[at + r], 0)
        max_sums[first + r] -= sign * lost
        short += (lost > 0) & (max_sums[first + r] < enough[first + r])
    return short


@njit(nogil=True, cache=True)
def _force(truth, trail, counts, weights, at, count, low, high, room):
    """Set the open inputs that an implication requires: those whose weight is larger than `room`."""
    total = trail.shape[0]
    for v in range(low, high):
        if truth[total + v + 1] == 0:
            w = weights[at + (v - low) * count]
            if abs(w) > room:
                _put(truth, trail, counts, v + 1 if w > 0 else -v - 1)


@njit(nogil=True, cache=True)
def _use(problem, state, r, layer):
    """Propagate one implication; return whether there is no contradiction."""
    weights, offset, inputs, firsts, guard, thresholds, _enough, _layer, _order, _owned = problem
    truth, trail, max_sums, _head, _following, counts = state
    if max_sums[r] < thresholds[r]:
        return guard[r] != 0 and _put(truth, trail, counts, -guard[r])
    if guard[r] == 0 or truth[trail.shape[0] + guard[r]] > 0:
        at, count = offset[layer] + r - firsts[layer], firsts[layer + 1] - firsts[layer]
        _force(
            truth,
            trail,
            counts,
            weights,
            at,
            count,
            inputs[layer],
            inputs[layer + 1],
            max_sums[r] - thresholds[r],
        )
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
    weights, offset, inputs, firsts, guard, _thresholds, enough, layer_of, order, owned = problem
    literals, ends = clauses
    truth, trail, max_sums, head, following, counts = state
    total, layers = trail.shape[0], firsts.shape[0] - 1
    while counts[1] < counts[0]:
        literal = trail[counts[1]]
        layer = layer_of[abs(literal) - 1]
        if layer < layers:
            first, count = firsts[layer], firsts[layer + 1] - firsts[layer]
            at = offset[layer] + (abs(literal) - 1 - inputs[layer]) * count
            short = _weigh(weights, at, count, max_sums, enough, first, literal, 1)
        counts[1] += 1
        if not _watching(literals, ends, truth, trail, head, following, counts, -literal):
            return False
        if layer < layers and short > 0:
            for r in range(first, first + count):
                w = weights[at + r - first]
                fell = w < 0 if literal > 0 else w > 0  # only then can anything new follow
                live = guard[r] == 0 or truth[total + guard[r]] >= 0
                if fell and live and max_sums[r] < enough[r] and not _use(problem, state, r, layer):
                    return False
        if 0 < layer <= layers:
            for k in range(owned[total + literal], owned[total + literal + 1]):
                if max_sums[order[k]] < enough[order[k]] and not _use(problem, state, order[k], layer - 1):
                    return False
    return True


@njit(nogil=True, cache=True)
def _undo(problem, state, keep):
    """Undo all but the first literals."""
    weights, offset, inputs, firsts, _guard, _thresholds, enough, layer_of, _order, _owned = problem
    truth, trail, max_sums, _head, _following, counts = state
    total = trail.shape[0]
    while counts[0] > keep:
        counts[0] -= 1
        literal = trail[counts[0]]
        layer = layer_of[abs(literal) - 1]
        if counts[0] < counts[1] and layer < firsts.shape[0] - 1:
            first, count = firsts[layer], firsts[layer + 1] - firsts[layer]
            _weigh(
                weights,
                offset[layer] + (abs(literal) - 1 - inputs[layer]) * count,
                count,
                max_sums,
                enough,
                first,
                literal,
                -1,
            )
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
    firsts = problem[3]
    counts = state[-1]
    for layer in range(firsts.shape[0] - 1):
        for r in range(firsts[layer], firsts[layer + 1]):
            if not _use(problem, state, r, layer):
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
