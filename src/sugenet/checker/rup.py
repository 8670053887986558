"""Checking a proof by propagation: every clause of it must follow from the thresholds and the clauses before
it, the last one being empty.

A clause follows when the contrary of all its literals, taken together, runs into a contradiction by these
rules alone. Every threshold row is two implications ``guard -> weights @ inputs >= least`` (one for the
neuron being true, one for false), the budget is one without a guard, and each *cut* is an implication plus a
multiple of the budget. `most` is the largest sum that an implication's inputs can still reach: below `least`,
the guard is false; if the guard is true, an input without which `most` would fall below `least` is set.
Nothing here is shared with the solver.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from sugenet.checker.limit import Limit
from sugenet.checker.unpack import unpacked
from sugenet.errors import CertificateError

__all__ = ["Plain", "check_rup"]

_LARGE = 1 << 61
"""For sizes of all weights and bounds of an implication together: sums of two such stay within 63 bits."""
_WORK = 1 << 26  # weights that clauses are propagated over before the clock is looked at
_MOST = 200  # clauses likewise
_BLOCK = 1 << 12  # clauses that are read at a time
_WORD = 20  # letters of a literal


@dataclass(frozen=True, eq=False)
class Plain:
    """A cascade as plain numbers.

    Variables from 0: the steps, the rows of each layer, and then one for each case of the goal.
    """

    chains: tuple[tuple[int, ...], ...]
    """Steps of each feature, in order: each implies the one before it. Together they are 0, 1, 2, ..."""
    budget: tuple[tuple[int, ...], int] | None
    """Prices of the steps, and what the true ones may cost at most."""
    layers: tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...]
    """Weights and least sums: a row is true iff the weights of the true ones among the layer before (first:
    the steps) sum to that.
    """
    cases: tuple[tuple[int, ...], ...]
    """Rows of the last layer; in some case all are true."""


def check_rup(
    proof: dict[str, Any], plain: Plain, assumed: Sequence[int] = (), limit: Limit | None = None
) -> str:
    """Check that a cascade has no solution (in which the assumed literals hold);
    say how many clauses were followed.

    Parameters
    ----------
    proof
        ``facts``: first-layer rows fixed throughout, as signed variable numbers from 1; ``cuts``:
        ``[literal, q, p]``, q times the row of a literal plus p times the budget; ``clauses``: lists of
        signed variable numbers, or those as text (zlib, base64) with a 0 after each.
    plain
        The cascade.
    assumed
        Signed variable numbers.
    limit
        Of time and memory.

    Raises
    ------
    CertificateError
        Naming the first clause, fact or cut that does not follow.
    """
    try:
        return _check(proof, plain, assumed, limit or Limit(None, None))
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise CertificateError(f"the proof is damaged: {type(error).__name__}: {str(error)[:200]}") from error


def _check(proof: dict[str, Any], plain: Plain, assumed: Sequence[int], limit: Limit) -> str:
    sizes = [sum(map(len, plain.chains)), *(len(least) for _, least in plain.layers), len(plain.cases)]
    starts = list(accumulate(sizes, initial=0))
    total = starts[-1]
    if proof["kind"] != "rup" or type(proof["variables"]) is not int or proof["variables"] != total:
        raise CertificateError(f"the proof is no propagation proof over {total} variables.")
    if [step for chain in plain.chains for step in chain] != list(range(starts[1])):
        raise CertificateError("the chains must hold the steps in order.")
    if len(proof["facts"]) > sizes[1]:
        raise CertificateError(f"there are {len(proof['facts']):,} facts about {sizes[1]:,} neurons.")
    facts = [_literal(fact, total) for fact in proof["facts"]]
    _check_facts(facts, plain, starts, limit)
    given = [[starts[-2] + c + 1 for c in range(len(plain.cases))]]
    given += [
        [-(starts[-2] + c + 1), starts[-3] + row + 1] for c, case in enumerate(plain.cases) for row in case
    ]
    given += [[-(b + 1), a + 1] for chain in plain.chains for a, b in pairwise(chain)]
    given += [[literal] for literal in (*facts, *(_literal(literal, total) for literal in assumed))]
    judge = _Judge(_implications(plain, starts, proof.get("cuts", []), limit), starts, limit)
    judge.take(_flat(given))
    count, last = 0, 1
    for block in _clauses(proof, total, limit):
        bad = judge.first_that_fails(block)
        if bad is not None:
            clause = np.split(block[0], np.cumsum(block[1]))[bad].tolist()
            of = "" if "encoding" in proof else f" of {len(proof['clauses'])}"
            raise CertificateError(
                f"clause {count + bad + 1}{of}, {str(clause)[:80] if clause else 'the empty one'}, "
                f"does not follow."
            )
        count, last = count + len(block[1]), int(block[1][-1])
    if not count or last:
        raise CertificateError("the proof does not end with the empty clause.")
    return f"{count} clauses follow one after the other, the last one empty"


_Flat = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
"""Clauses one after another, and the size of each."""


def _flat(clauses: Sequence[Sequence[int]]) -> _Flat:
    sizes = np.fromiter(map(len, clauses), np.int64, len(clauses))
    return np.fromiter((x for clause in clauses for x in clause), np.int32, int(sizes.sum())), sizes


def _literal(value: Any, total: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= abs(value) <= total:
        raise CertificateError(f"{value!r} is no literal: signed variable numbers go from 1 to {total}.")
    return value


def _clauses(proof: dict[str, Any], total: int, limit: Limit) -> Iterator[_Flat]:
    """The clauses of a proof in blocks."""
    clauses = proof["clauses"]
    if "encoding" not in proof:
        if not isinstance(clauses, list) or not all(isinstance(clause, list) for clause in clauses):
            raise CertificateError("the proof is damaged: its clauses must be lists.")
        if not clauses or clauses[-1]:
            raise CertificateError("the proof does not end with the empty clause.")
        for start in range(0, len(clauses), _BLOCK):
            yield _flat([[_literal(x, total) for x in clause] for clause in clauses[start : start + _BLOCK]])
        return
    if proof["encoding"] != "zlib+base64":
        raise CertificateError(f"unknown encoding {str(proof['encoding'])[:40]!r}.")
    words, rest = b"", np.zeros(0, np.int64)  # what is left of a word, and of a clause
    for piece in _then(unpacked(clauses, limit), b"\n"):
        text = words + piece
        if text.translate(None, b"0123456789- \n"):
            raise CertificateError("the proof is damaged: clauses are signed numbers.")
        cut = max(text.rfind(b" "), text.rfind(b"\n")) + 1
        text, words = text[:cut], text[cut:]
        if len(words) > _WORD:
            raise CertificateError("the proof is damaged: a number of a clause is too long.")
        numbers = np.concatenate([rest, np.fromiter(map(int, text.split()), np.int64)])
        if len(numbers) and int(np.abs(numbers).max()) > total:
            _literal(int(numbers[np.argmax(np.abs(numbers))]), total)
        ends = np.flatnonzero(numbers == 0)
        done, rest = (
            (numbers[: ends[-1] + 1], numbers[ends[-1] + 1 :]) if len(ends) else (numbers[:0], numbers)
        )
        sizes = np.diff(ends, prepend=-1) - 1
        if max(int(sizes.max(initial=0)), len(rest)) > total:
            raise CertificateError("a clause has more literals than there are variables.")
        if len(sizes):
            yield done[done != 0].astype(np.int32), sizes
    if len(rest):
        raise CertificateError("the last clause does not end.")


def _then(pieces: Iterator[bytes], last: bytes) -> Iterator[bytes]:
    yield from pieces
    yield last


# -- facts ---------------------------------------------------------------------------------------------------


def _check_facts(facts: Iterable[int], plain: Plain, starts: Sequence[int], limit: Limit) -> None:
    """A fact must hold for all sums of a first-layer row between the smallest and the largest that
    the budget allows.
    """
    rows, steps = plain.layers[0][0].shape
    limit.fits(8 * rows * (4 * steps + 8 * len(plain.chains)), "the sums of all features")
    low, high = _reach(plain)
    least = plain.layers[0][1]
    for fact in facts:
        row = abs(fact) - 1 - starts[1]
        if not 0 <= row < len(least) or not (low[row] >= least[row] if fact > 0 else high[row] < least[row]):
            raise CertificateError(
                f"the fact {fact} does not follow: it is no first-layer neuron that is fixed throughout."
            )


def _reach(plain: Plain) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Bounds of the first layer's sums: from each feature's cheapest option, as many features as can pay for
    another, the best of them.
    """
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


# -- implications --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Implication:
    """``guard -> weights @ inputs >= least``; guard 0: always."""

    guard: int
    weights: npt.NDArray[Any]
    least: int


def _implications(
    plain: Plain, starts: Sequence[int], cuts: Iterable[Sequence[int]], limit: Limit
) -> list[list[_Implication]]:
    """For each layer the implications over its inputs."""
    layers = []
    limit.take(
        sum(50 * weights.size + 400 * len(least) for weights, least in plain.layers),
        "the implications of all neurons",
    )
    for number, (weights, least) in enumerate(plain.layers):
        if weights.shape != (len(least), starts[number + 1] - starts[number]):
            raise CertificateError(f"the weights of layer {number + 1} do not fit.")
        names = range(starts[number + 1] + 1, starts[number + 2] + 1)
        found = [_Implication(name, weights[row], int(least[row])) for row, name in enumerate(names)]
        found += [_Implication(-name, -weights[row], 1 - int(least[row])) for row, name in enumerate(names)]
        layers.append(found)
    of = {implication.guard: implication for implication in layers[0]}
    if plain.budget is not None:
        prices, most = np.array(plain.budget[0], dtype=object), int(plain.budget[1])
        layers[0].append(_Implication(0, -prices, -most))
        for guard, q, p in cuts:
            limit.take(120 * len(prices), "the cuts of a proof")
            if any(type(value) is not int for value in (guard, q, p)) or guard not in of or q < 0 or p < 0:
                raise CertificateError(
                    f"the cut {[guard, q, p]} adds no first-layer row and budget with factors of 0 or more."
                )
            row = of[guard]
            layers[0].append(
                _Implication(guard, q * row.weights.astype(object) - p * prices, q * row.least - p * most)
            )
    elif any(True for _ in cuts):
        raise CertificateError("there are cuts, but no budget.")
    return layers


class _Judge:
    """The arrays that the propagation works on."""

    def __init__(self, layers: list[list[_Implication]], starts: Sequence[int], limit: Limit) -> None:
        total = starts[-1]
        self.limit = limit
        flat = [implication for layer in layers for implication in layer]
        if any(float(np.abs(i.weights.astype(float)).sum()) + abs(i.least) >= _LARGE for i in flat):
            raise CertificateError("the weights, prices or factors are too large to check.")
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
            ),  # with this much, nothing follows
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
            ),  # literals set, literals handled, whether there is a contradiction for good
        )

    def take(self, given: _Flat) -> None:
        """Draw the conclusions of the implications alone, and of clauses that are given."""
        self._write(given)
        _add_given(self.problem, self.clauses, self.state, self.size)

    def first_that_fails(self, clauses: _Flat) -> int | None:
        """Number of the first of more clauses that does not follow; all are taken in, unless there is a
        contradiction for good.
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

    def _write(self, clauses: _Flat) -> None:
        """Write clauses behind those that are known."""
        (literals, ends), (more, sizes) = self.clauses, clauses
        used, size = int(ends[self.size]), self.size + len(sizes)
        self.limit.take(8 * len(more) + 48 * len(sizes), "the clauses of a proof")  # arrays that double
        self.clauses = _grown(literals, used + len(more), 0), _grown(ends, size + 1, 0)
        self.state = (*self.state[:4], _grown(self.state[4], 2 * size, -1), self.state[5])
        self.clauses[0][used : used + len(more)] = more
        self.clauses[1][self.size + 1 : size + 1] = used + np.cumsum(sizes)
        self.size = size


def _grown(array: npt.NDArray[Any], size: int, fill: int) -> npt.NDArray[Any]:
    """The array, twice as large where it is too small."""
    if size <= len(array):
        return array
    return np.concatenate([array, np.full(max(size, 2 * len(array)) - len(array), fill, array.dtype)])


def _by_guard(
    guards: npt.NDArray[np.int64], total: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    order = np.argsort(guards, kind="stable")
    return order, np.searchsorted(guards[order], np.arange(-total, total + 2))


# -- propagation ---------------------------------------------------------------------------------------------


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
    """Take what a literal costs the implications that read it out of `most`, or put it back; how many then
    have not `enough`.
    """
    short = 0
    for r in range(count):
        lost = max(-weights[at + r], 0) if literal > 0 else max(weights[at + r], 0)
        most[first + r] -= sign * lost
        short += (lost > 0) & (most[first + r] < enough[first + r])
    return short


@njit(nogil=True, cache=True)
def _force(truth, trail, counts, weights, at, count, low, high, room):
    """Set the open inputs of an implication that it cannot do without:
    those whose weight is larger than `room`.
    """
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
    """Conclusions of the clauses that watch a literal which is now false;
    whether there is no contradiction.
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
            _weigh(
                weights,
                offset[layer] + (abs(literal) - 1 - inputs[layer]) * count,
                count,
                most,
                enough,
                first,
                literal,
                -1,
            )
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
    elif good == 0 or not (
        _put(truth, trail, counts, literals[start]) and _propagate(problem, clauses, state)
    ):
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
