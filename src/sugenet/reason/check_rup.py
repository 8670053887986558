"""Checking a proof by propagation: every clause of it must follow from the thresholds and the clauses before it, the last one being empty.

A clause follows when the contrary of all its literals, taken together, runs into a contradiction by these rules alone. Every threshold
row is two implications ``guard -> weights @ inputs >= least`` (one for the neuron being true, one for false), the budget is one without
a guard, and each *cut* is an implication plus a multiple of the budget. `most` is the largest sum that an implication's inputs can still
reach: below `least`, the guard is false; if the guard is true, an input without which `most` would fall below `least` is set. Nothing here
is shared with the solver.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any
from zlib import decompressobj

import numpy as np
import numpy.typing as npt
from numba import njit

from sugenet.errors import CertificateError

__all__ = ["Plain", "check_rup"]

_TEXT = 1 << 30
_LARGE = 1 << 61
_CHUNK = 200


@dataclass(frozen=True, eq=False)
class Plain:
    """A cascade as plain numbers. Variables from 0: the steps, the rows of each layer, and then one for each case of the goal."""

    chains: tuple[tuple[int, ...], ...]
    """Steps of each feature, in order: each implies the one before it. Together they are 0, 1, 2, ..."""
    budget: tuple[tuple[int, ...], int] | None
    """Prices of the steps, and what the true ones may cost at most."""
    layers: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...]
    """Weights and least sums: a row is true iff the weights of the true ones among the layer before (first: the steps) sum to that."""
    cases: tuple[tuple[int, ...], ...]
    """Rows of the last layer; in some case all are true."""


def check_rup(proof: dict[str, Any], plain: Plain, assumed: Sequence[int] = ()) -> str:
    """Check that a cascade has no solution (in which the assumed literals hold); say how many clauses were followed.

    Parameters
    ----------
    proof
        ``facts``: first-layer rows fixed throughout, as signed variable numbers from 1; ``cuts``: ``[literal, q, p]``, q times the row of a
        literal plus p times the budget; ``clauses``: lists of signed variable numbers, or those as text (zlib, base64) with a 0 after each.
    plain
        The cascade.
    assumed
        Signed variable numbers.

    Raises
    ------
    CertificateError
        Naming the first clause, fact or cut that does not follow.
    """
    try:
        return _check(proof, plain, assumed)
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, OSError) as error:
        raise CertificateError(f"the proof is damaged: {type(error).__name__}: {error}") from error
    except Exception as error:
        if type(error).__module__ == "zlib":
            raise CertificateError(f"the proof is damaged: {error}") from error
        raise


def _check(proof: dict[str, Any], plain: Plain, assumed: Sequence[int]) -> str:
    sizes = [sum(map(len, plain.chains)), *(len(least) for _, least in plain.layers), len(plain.cases)]
    starts = list(accumulate(sizes, initial=0))
    total = starts[-1]
    if proof["kind"] != "rup" or proof["variables"] != total:
        raise CertificateError(f"the proof is no propagation proof over {total} variables.")
    if [step for chain in plain.chains for step in chain] != list(range(starts[1])):
        raise CertificateError("the chains must hold the steps in order.")
    facts = [_literal(fact, total) for fact in proof["facts"]]
    _check_facts(facts, plain, starts)
    clauses = _clauses(proof, total)
    if not clauses or clauses[-1]:
        raise CertificateError("the proof does not end with the empty clause.")
    given = [[starts[-2] + c + 1 for c in range(len(plain.cases))]]
    given += [[-(starts[-2] + c + 1), starts[-3] + row + 1] for c, case in enumerate(plain.cases) for row in case]
    given += [[-(b + 1), a + 1] for chain in plain.chains for a, b in pairwise(chain)]
    given += [[literal] for literal in (*facts, *(_literal(literal, total) for literal in assumed))]
    judge = _Judge(_implications(plain, starts, proof.get("cuts", [])), starts, [*given, *clauses])
    bad = judge.first_that_fails(len(given))
    if bad is not None:
        raise CertificateError(f"clause {bad + 1} of {len(clauses)}, {clauses[bad] or 'the empty one'}, does not follow.")
    return f"{len(clauses)} clauses follow one after the other, the last one empty"


def _literal(value: Any, total: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= abs(value) <= total:
        raise CertificateError(f"{value!r} is no literal: signed variable numbers go from 1 to {total}.")
    return value


def _clauses(proof: dict[str, Any], total: int) -> list[list[int]]:
    if proof.get("encoding") is None:
        return [[_literal(x, total) for x in clause] for clause in proof["clauses"]]
    if proof["encoding"] != "zlib+base64":
        raise CertificateError(f"unknown encoding {proof['encoding']!r}.")
    reader = decompressobj()
    text = reader.decompress(b64decode(proof["clauses"], validate=True), _TEXT)
    if not reader.eof:
        raise CertificateError("the clauses are cut off or too long.")
    clauses: list[list[int]] = [[]]
    for word in text.split():
        literal = int(word)
        if literal == 0:
            clauses.append([])
        else:
            clauses[-1].append(_literal(literal, total))
    if clauses.pop():
        raise CertificateError("the last clause does not end.")
    return clauses


# -- facts -----------------------------------------------------------------------------------------------------------------------


def _check_facts(facts: Iterable[int], plain: Plain, starts: Sequence[int]) -> None:
    """A fact must hold for all sums of a first-layer row between the smallest and the largest that the budget allows."""
    low, high = _reach(plain)
    least = plain.layers[0][1]
    for fact in facts:
        row = abs(fact) - 1 - starts[1]
        if not 0 <= row < len(least) or not (low[row] >= least[row] if fact > 0 else high[row] < least[row]):
            raise CertificateError(f"the fact {fact} does not follow: it is no first-layer neuron that is fixed throughout.")


def _reach(plain: Plain) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Bounds of the first layer's sums: from each feature's cheapest option, as many features as can pay for another, the best of them."""
    weights = plain.layers[0][0].astype(np.int64)
    rows = len(weights)
    prices, limit = ((0,) * weights.shape[1], 0) if plain.budget is None else plain.budget
    options = []
    for chain in plain.chains:
        sums = np.concatenate([np.zeros((1, rows), np.int64), np.cumsum(weights[:, list(chain)].T, axis=0)])
        costs = list(accumulate((int(prices[step]) for step in chain), initial=0))
        options.append((sums, costs, costs.index(min(costs))))
    room = int(limit) - sum(min(costs) for _, costs, _ in options)
    base = np.zeros(rows, np.int64)
    up, down, extra = [np.zeros(rows, np.int64)], [np.zeros(rows, np.int64)], []
    for sums, costs, cheapest in options:
        more = [cost - costs[cheapest] for cost in costs]
        gains = sums[[k for k, cost in enumerate(more) if cost <= room or k == cheapest]] - sums[cheapest]
        base += sums[cheapest]
        up.append(gains.max(axis=0))
        down.append((-gains).max(axis=0))
        extra.append(min(cost for k, cost in enumerate(more) if k != cheapest) if len(more) > 1 else 0)
    fits = sum(1 for cost in accumulate(sorted(extra)) if cost <= room)
    best = [np.sort(np.array(gains), axis=0)[::-1][:fits].sum(axis=0) for gains in (up, down)]
    return base - best[1], base + best[0]


# -- implications ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Implication:
    """``guard -> weights @ inputs >= least``; guard 0: always."""

    guard: int
    weights: npt.NDArray[Any]
    least: int


def _implications(plain: Plain, starts: Sequence[int], cuts: Iterable[Sequence[int]]) -> list[list[_Implication]]:
    """For each layer the implications over its inputs."""
    layers = []
    for number, (weights, least) in enumerate(plain.layers):
        if weights.shape != (len(least), starts[number + 1] - starts[number]):
            raise CertificateError(f"the weights of layer {number + 1} do not fit.")
        names = range(starts[number + 1] + 1, starts[number + 2] + 1)
        found = [_Implication(name, weights[row], int(least[row])) for row, name in enumerate(names)]
        found += [_Implication(-name, -weights[row], 1 - int(least[row])) for row, name in enumerate(names)]
        layers.append(found)
    of = {implication.guard: implication for implication in layers[0]}
    if plain.budget is not None:
        prices, limit = np.array(plain.budget[0], dtype=object), int(plain.budget[1])
        layers[0].append(_Implication(0, -prices, -limit))
        for guard, q, p in cuts:
            if type(q) is not int or type(p) is not int or guard not in of or q < 0 or p < 0:
                raise CertificateError(f"the cut {[guard, q, p]} adds no first-layer row and budget with factors of 0 or more.")
            row = of[guard]
            layers[0].append(_Implication(guard, q * row.weights.astype(object) - p * prices, q * row.least - p * limit))
    elif any(True for _ in cuts):
        raise CertificateError("there are cuts, but no budget.")
    return layers


class _Judge:
    """The arrays that the propagation works on."""

    def __init__(self, layers: list[list[_Implication]], starts: Sequence[int], clauses: list[list[int]]) -> None:
        total = starts[-1]
        flat = [implication for layer in layers for implication in layer]
        if any(float(np.abs(i.weights.astype(float)).sum()) + abs(i.least) >= _LARGE for i in flat):
            raise CertificateError("the weights, prices or factors are too large to check.")
        tables = [np.array([i.weights for i in layer], dtype=np.int64) for layer in layers]
        self.size = len(clauses)
        ends = np.cumsum([0, *map(len, clauses)])
        self.problem = (
            np.concatenate([table.T.ravel() for table in tables]),
            np.cumsum([0, *(table.size for table in tables)]),
            np.array(starts[: len(layers) + 1], np.int64),
            np.cumsum([0, *map(len, layers)]),
            np.array([i.guard for i in flat], np.int64),
            np.array([i.least for i in flat], np.int64),
            np.array([i.least + int(np.abs(i.weights).max(initial=0)) for i in flat], np.int64),  # with this much, nothing follows
            np.searchsorted(starts, np.arange(total), side="right") - 1,
            *_by_guard(np.array([i.guard for i in flat], np.int64), total),
        )
        self.clauses = (np.array([x for clause in clauses for x in clause], np.int64), ends)
        self.state = (
            np.zeros(2 * total + 1, np.int8),  # truth of a literal, at total + literal
            np.zeros(total, np.int64),  # literals set, in order
            np.array([int(np.maximum(i.weights, 0).sum()) for i in flat], np.int64),
            np.full(2 * total + 1, -1, np.int64),  # first clause that watches a literal
            np.full(2 * self.size, -1, np.int64),  # next clause, for the two watches of each
            np.zeros(3, np.int64),  # literals set, literals handled, whether there is a contradiction for good
        )

    def first_that_fails(self, given: int) -> int | None:
        """Number of the first clause behind the given ones that does not follow."""
        _add_given(self.problem, self.clauses, self.state, given)
        for start in range(given, self.size, _CHUNK):
            bad = _follow(self.problem, self.clauses, self.state, start, min(start + _CHUNK, self.size))
            if bad >= 0:
                return int(bad) - given
        return None


def _by_guard(guards: npt.NDArray[np.int64], total: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    order = np.argsort(guards, kind="stable")
    return order, np.searchsorted(guards[order], np.arange(-total, total + 2))


# -- propagation -----------------------------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _put(truth, trail, counts, literal):
    """Make a literal true; whether it was not false."""
    total = trail.shape[0]
    if truth[total + literal] == 0:
        truth[total + literal], truth[total - literal] = 1, -1
        trail[counts[0]] = literal
        counts[0] += 1
    return truth[total + literal] > 0


@njit(nogil=True, cache=True)
def _weigh(weights, at, count, most, enough, first, literal, sign):
    """Take what a literal costs the implications that read it out of `most`, or put it back; how many then have not `enough`."""
    short = 0
    for r in range(count):
        lost = max(-weights[at + r], 0) if literal > 0 else max(weights[at + r], 0)
        most[first + r] -= sign * lost
        short += (lost > 0) & (most[first + r] < enough[first + r])
    return short


@njit(nogil=True, cache=True)
def _force(truth, trail, counts, weights, at, count, low, high, room):
    """Set the open inputs of an implication that it cannot do without: those whose weight is larger than `room`."""
    total = trail.shape[0]
    for v in range(low, high):
        if truth[total + v + 1] == 0:
            w = weights[at + (v - low) * count]
            if abs(w) > room:
                _put(truth, trail, counts, v + 1 if w > 0 else -v - 1)


@njit(nogil=True, cache=True)
def _use(problem, state, r, layer):
    """Conclusions of one implication; whether there is no contradiction."""
    weights, offset, inputs, firsts, guard, least, _enough, _layer, _order, _owned = problem
    truth, trail, most, _head, _following, counts = state
    if most[r] < least[r]:
        return guard[r] != 0 and _put(truth, trail, counts, -guard[r])
    if guard[r] == 0 or truth[trail.shape[0] + guard[r]] > 0:
        at, count = offset[layer] + r - firsts[layer], firsts[layer + 1] - firsts[layer]
        _force(truth, trail, counts, weights, at, count, inputs[layer], inputs[layer + 1], most[r] - least[r])
    return True


@njit(nogil=True, cache=True)
def _watching(literals, ends, truth, trail, head, following, counts, literal):
    """Conclusions of the clauses that watch a literal which is now false; whether there is no contradiction."""
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
    """Draw conclusions until there are no more; whether there is no contradiction."""
    weights, offset, inputs, firsts, guard, _least, enough, layer_of, order, owned = problem
    literals, ends = clauses
    truth, trail, most, head, following, counts = state
    total, layers = trail.shape[0], firsts.shape[0] - 1
    while counts[1] < counts[0]:
        literal = trail[counts[1]]
        layer = layer_of[abs(literal) - 1]
        if layer < layers:
            first, count = firsts[layer], firsts[layer + 1] - firsts[layer]
            at = offset[layer] + (abs(literal) - 1 - inputs[layer]) * count
            short = _weigh(weights, at, count, most, enough, first, literal, 1)
        counts[1] += 1
        if not _watching(literals, ends, truth, trail, head, following, counts, -literal):
            return False
        if layer < layers and short > 0:
            for r in range(first, first + count):
                w = weights[at + r - first]
                fell = w < 0 if literal > 0 else w > 0  # only then can there be something new
                live = guard[r] == 0 or truth[total + guard[r]] >= 0
                if fell and live and most[r] < enough[r] and not _use(problem, state, r, layer):
                    return False
        if 0 < layer <= layers:
            for k in range(owned[total + literal], owned[total + literal + 1]):
                if most[order[k]] < enough[order[k]] and not _use(problem, state, order[k], layer - 1):
                    return False
    return True


@njit(nogil=True, cache=True)
def _undo(problem, state, keep):
    """Take back all but the first literals."""
    weights, offset, inputs, firsts, _guard, _least, enough, layer_of, _order, _owned = problem
    truth, trail, most, _head, _following, counts = state
    total = trail.shape[0]
    while counts[0] > keep:
        counts[0] -= 1
        literal = trail[counts[0]]
        layer = layer_of[abs(literal) - 1]
        if counts[0] < counts[1] and layer < firsts.shape[0] - 1:
            first, count = firsts[layer], firsts[layer + 1] - firsts[layer]
            _weigh(weights, offset[layer] + (abs(literal) - 1 - inputs[layer]) * count, count, most, enough, first, literal, -1)
        truth[total + literal], truth[total - literal] = 0, 0
    counts[1] = keep


@njit(nogil=True, cache=True)
def _take(problem, clauses, state, number):
    """Add a clause for good: watched by two literals that are not false, or a conclusion at once."""
    literals, ends = clauses
    truth, trail, _most, head, following, counts = state
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
    elif good == 0 or not (_put(truth, trail, counts, literals[start]) and _propagate(problem, clauses, state)):
        counts[2] = 1


@njit(nogil=True, cache=True)
def _add_given(problem, clauses, state, given):
    """Draw the conclusions of the implications alone, then add the given clauses."""
    firsts = problem[3]
    counts = state[-1]
    for layer in range(firsts.shape[0] - 1):
        for r in range(firsts[layer], firsts[layer + 1]):
            if not _use(problem, state, r, layer):
                counts[2] = 1
    if not _propagate(problem, clauses, state):
        counts[2] = 1
    for number in range(given):
        if counts[2] == 0:
            _take(problem, clauses, state, number)


@njit(nogil=True, cache=True)
def _follow(problem, clauses, state, start, stop):
    """Check clauses one by one, adding each; the first that does not follow, or -1."""
    literals, ends = clauses
    truth, trail, _most, _head, _following, counts = state
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
