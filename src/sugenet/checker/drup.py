"""Checking a proof in clauses: they are written down again from the question, as the definition gives it,
then every lemma is followed.

Nothing here is shared with the engines. The canonical clauses are described in `sugenet.engines.outside.cnf`;
here other code makes them, from the numbers that `check_question` works out by the definition. A lemma
follows if assuming it false ends in a contradiction by unit propagation; the proof holds once propagation
contradicts itself without assuming anything.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped"

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from sugenet.bnn.arrays import Ints
from sugenet.checker.limit import Limit
from sugenet.checker.setting import Plain, over_inputs
from sugenet.checker.unpack import unpacked
from sugenet.errors import CertificateError

__all__ = ["check_drup", "clauses_of", "followed", "written"]

_CLAUSES = 20_000_000
_CLAUSE = 250  # bytes that a clause takes as Python objects
_BLOCK = 1 << 16  # clauses that are written as numbers at a time
_WORK = 1 << 24  # literals that are looked at before the clock is

Clause = tuple[int, ...]


def check_drup(proof: dict[str, Any], plain: Plain) -> str:
    """Check the proof that a question, worked out again from the definition, has no violation;
    say what was checked.

    Parameters
    ----------
    proof
        What the solver gave: ``{"kind": "drup", ...}``.
    plain
        The question in whole numbers.

    Raises
    ------
    CertificateError
        Where the proof is damaged, is of another question, or does not hold.
    """
    limit = plain.limit
    for name in ("variables", "clauses", "lemmas"):
        if type(proof.get(name)) is not int:
            raise CertificateError(f"the proof is damaged: the number of {name} is missing.")
    variables, clauses = clauses_of(plain, proof["clauses"])
    given = len(clauses)
    literals, starts, digest = written(clauses, limit)
    if (proof["variables"], proof["clauses"], proof["cnf"]) != (variables, given, digest):
        raise CertificateError("the proof is of other clauses than this question has.")
    del clauses
    lemmas, sizes, steps = _read(proof["data"], given, variables, limit)
    limit.take(
        12 * (len(literals) + len(lemmas)) + 40 * (given + len(sizes)) + 40 * variables,
        "the clauses and lemmas",
    )
    both = np.concatenate([literals, np.where(lemmas > 0, 2 * lemmas - 2, -2 * lemmas - 1).astype(np.int32)])
    ends = np.concatenate([starts, starts[-1] + np.cumsum(sizes, dtype=np.int64)])
    state = followed(both, ends, given, steps, variables, limit)
    if state >= 0:
        raise CertificateError(f"lemma {state - given + 1} of the proof does not follow.")
    if state == -2:
        raise CertificateError("the proof ends without a contradiction.")
    if proof["lemmas"] != len(sizes):
        raise CertificateError(f"the proof has {len(sizes):,} lemmas, not {proof['lemmas']:,}.")
    return f"{given:,} clauses say so, by {len(sizes):,} lemmas that follow one after another"


def _read(data: Any, given: int, variables: int, limit: Limit) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
    """Literals of all lemmas, their sizes, and the order in which clauses come (their number) and go
    (-1 - their number).
    """
    raw = bytearray()
    for piece in unpacked(data, limit):
        limit.take(6 * len(piece), "the lemmas of a proof")
        raw += piece
    if len(raw) % 4:
        raise CertificateError("the proof is damaged: it is no row of numbers.")
    numbers = np.frombuffer(raw, "<i4").astype(np.int32)
    literals, sizes, steps = (
        np.empty(len(numbers), np.int32),
        np.empty(len(numbers), np.int32),
        np.empty(len(numbers), np.int64),
    )
    wrong, place, count, turns, used = _split(numbers, given, variables, literals, sizes, steps)
    if wrong == 1:
        raise CertificateError(
            f"the proof drops a lemma with the number {numbers[place + 1]}, which there is not."
        )
    if wrong:
        raise CertificateError(f"lemma {count + 1} of the proof is damaged.")
    return literals[:used].copy(), sizes[:count].astype(np.int64), steps[:turns].copy()


@njit(nogil=True, cache=True)
def _split(numbers, given, variables, literals, sizes, steps):
    """Lemmas as literals and sizes, and the steps; first whether something is wrong (1: a lemma that is
    dropped, 2: one that comes).
    """
    place, count, turns, used = 0, 0, 0, 0
    while place < len(numbers):
        size = numbers[place]
        if size == -1:
            if place + 1 >= len(numbers):
                return 2, place, count, turns, used
            if not given <= numbers[place + 1] < given + count:
                return 1, place, count, turns, used
            steps[turns] = -1 - numbers[place + 1]
            turns += 1
            place += 2
            continue
        if size < 0 or size > variables or place + size >= len(numbers):
            return 2, place, count, turns, used
        for k in range(place + 1, place + 1 + size):
            if numbers[k] == 0 or not -variables <= numbers[k] <= variables:
                return 2, place, count, turns, used
            literals[used] = numbers[k]
            used += 1
        sizes[count] = size
        steps[turns] = given + count
        count += 1
        turns += 1
        place += 1 + size
    return 0, place, count, turns, used


def written(
    clauses: Sequence[Clause], limit: Limit
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], str]:
    """Clauses one after another, literal v as 2v - 2 and -v as 2v - 1; where each begins;
    and the digest of them as numbers.
    """
    starts = np.zeros(len(clauses) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, clauses), np.int64, len(clauses)), out=starts[1:])
    limit.take(4 * int(starts[-1]) + 16 * len(clauses), "the clauses of the question")
    literals, digest = np.empty(int(starts[-1]), np.int32), sha256()
    for first in range(0, len(clauses), _BLOCK):
        limit.look()
        block = clauses[first : first + _BLOCK]
        begin, end = int(starts[first]), int(starts[first + len(block)])
        numbers = np.fromiter(
            chain.from_iterable((*clause, 0) for clause in block), "<i4", end - begin + len(block)
        )
        digest.update(numbers.tobytes())
        plain = numbers[numbers != 0]
        literals[begin:end] = np.where(plain > 0, 2 * plain - 2, -2 * plain - 1)
    return literals, starts, digest.hexdigest()


# -- the clauses, once more ----------------------------------------------------------------------------------


class _Clauses(list[Clause]):
    """Clauses written down so far, and the number of the last variable."""

    last = 0
    most = _CLAUSES
    counted = 0

    def __init__(self, limit: Limit) -> None:
        super().__init__()
        self.limit = limit

    def make_room(self, more: int, names: int = 0) -> None:
        """See that so many clauses more are not too many, and that there is memory for them."""
        if len(self) + more > self.most:
            raise CertificateError(
                f"the proof is of other clauses: the question takes more than {self.most:,}."
            )
        self.limit.take(_CLAUSE * (len(self) - self.counted), "the clauses of the question")
        self.counted = len(self)
        self.limit.fits(2 * _CLAUSE * more + 150 * names, "the clauses of the question")

    def threshold(
        self, root: int, start: int, gains: list[list[int]], avoid: list[list[Clause]], most: int | None
    ) -> int:
        """`root` is true iff start plus one gain of each group is 0 or more.

        1 or 0: it always or never is; -1: it depends.
        """
        self.limit.look()
        rows = [(row, literals) for row, literals in zip(gains, avoid, strict=True) if set(row) != {0}]
        largest = _best([max(row) for row, _ in rows], most)
        smallest = [-loss for loss in _best([-min(row) for row, _ in rows], most)]
        if start + largest[0] < 0 or start + smallest[0] >= 0:
            self.append((root,) if start + smallest[0] >= 0 else (-root,))
            return int(start + smallest[0] >= 0)
        here = [(start, root)]
        for k, (row, literals) in enumerate(rows):
            self.make_room(len(here) * len(row), len(here) * len(row))  # at least one clause for each below
            totals = sorted({total + gain for total, _ in here for gain in row})
            names: dict[int, int] = {}
            for total in totals:
                if total + smallest[k + 1] < 0 <= total + largest[k + 1]:
                    self.last += 1
                    names[total] = self.last
            for total, node in here:
                for gain, instead in zip(row, literals, strict=True):
                    next_ = names.get(total + gain)
                    if next_ is not None:
                        self.append((*instead, -node, next_))
                        self.append((*instead, node, -next_))
                    elif total + gain + smallest[k + 1] >= 0:
                        self.append((*instead, node))
                    else:
                        self.append((*instead, -node))
                if total + min(row) in names:
                    self.append((-names[total + min(row)], node))
                if total + max(row) in names:
                    self.append((-node, names[total + max(row)]))
            here = list(names.items())
            for (_, low), (_, high) in pairwise(here):
                self.append((-low, high))
        self.make_room(0)
        return -1


def clauses_of(plain: Plain, room: int = _CLAUSES) -> tuple[int, list[Clause]]:
    """Number of variables and the canonical clauses of a question, which must not be too many."""
    limit = plain.limit
    out = _Clauses(limit)
    out.most = min(room, _CLAUSES)
    limit.take(
        60 * len(plain.base) * sum(map(len, plain.features)), "what each change adds, as Python integers"
    )
    limit.take(60 * sum(weights.size for weights, _ in plain.layers), "the weights, as Python integers")
    avoid: list[list[Clause]] = []
    offered = []  # price and gain of every option of a feature, staying as it is among them
    for options, stay in zip(plain.features, plain.stays, strict=True):
        offered.append([*options[:stay], (0, np.zeros(len(plain.base), np.int64)), *options[stay:]])
        chain = [out.last + k for k in range(1, len(options) + 1)]
        out.last += len(chain)
        out += [(-after, before) for before, after in pairwise(chain)]
        avoid.append(
            [(*(-v for v in chain[k - 1 : k] if k), *chain[k : k + 1]) for k in range(len(options) + 1)]
        )
    layers = [(-np.minimum(weights, 0).sum(axis=1) - tau, weights) for weights, tau in plain.layers]
    pairs = list(dict.fromkeys((tuple(factors), least) for case in plain.cases for factors, least in case))
    limit.take(50 * len(pairs) * plain.head.shape[1], "the inequalities over the last neurons")
    shift = (-np.minimum(plain.head, 0).sum(axis=1)).tolist()
    votes = np.empty((len(pairs), plain.head.shape[1]), object)
    for number, (factors, _) in enumerate(pairs):
        limit.look()
        votes[number] = over_inputs(factors, plain.head)
    sums = [sum(f * s for f, s in zip(factors, shift, strict=True)) - least for factors, least in pairs]
    layers.append((np.array(sums, object), votes))
    roots = out.last
    out.last += len(plain.base) + sum(len(margins) for margins, _ in layers)
    last_row = out.last
    rows = [
        [last_row - len(pairs) + 1 + pairs.index((tuple(row), least)) for row, least in case]
        for case in plain.cases
    ]
    named = len(rows) > 1 and all(rows) and any(len(row) > 1 for row in rows)
    if named:
        out.last += len(rows)
    most = None
    if plain.budget is not None:
        out.last += 1
        asserted = out.last
        out.threshold(
            asserted, plain.budget, [[-price for price, _ in options] for options in offered], avoid, None
        )
        out.append((asserted,))
        lightest = sorted(min(price for price, _ in options) for options in plain.features)
        most = sum(sum(lightest[: k + 1]) <= plain.budget for k in range(len(lightest)))
    gains = [np.array([gain for _, gain in options]).T.tolist() for options in offered]
    known = [
        out.threshold(roots + 1 + j, margin, [row[j] for row in gains], avoid, most)
        for j, margin in enumerate(plain.base.tolist())
    ]
    for margins, weights in layers:
        free = [i for i, value in enumerate(known) if value < 0]
        on = [i for i, value in enumerate(known) if value == 1]
        before, roots = roots, roots + len(known)
        switch: list[list[Clause]] = [[(before + 1 + i,), (-before - 1 - i,)] for i in free]
        known = [
            out.threshold(
                roots + 1 + j, margin + sum(row[i] for i in on), [[0, row[i]] for i in free], switch, None
            )
            for j, (margin, row) in enumerate(zip(margins.tolist(), weights.tolist(), strict=True))
        ]
    if not all(rows):
        return out.last, list(out)
    if named:
        for number, row in enumerate(rows, start=last_row + 1):
            out += [(-number, variable) for variable in row]
            out.append((*dict.fromkeys(-variable for variable in row), number))
        out.append(tuple(range(last_row + 1, last_row + 1 + len(rows))))
    elif len(rows) == 1:
        out += [(variable,) for variable in rows[0]]
    else:
        out.append(tuple(dict.fromkeys(row[0] for row in rows)))
    return out.last, list(out)


def _best(values: list[int], most: int | None) -> list[int]:
    """From each place on, the sum of the `most` largest values."""
    kept: list[int] = []
    total, sums = 0, [0]
    for value in reversed(values):
        total += value
        if most is not None:
            insort(kept, -value)
            total += sum(kept[most:])  # these are negative
            del kept[most:]
        sums.append(total)
    return sums[::-1]


# -- following the lemmas ------------------------------------------------------------------------------------


def followed(
    literals: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    given: int,
    steps: npt.NDArray[np.int64],
    variables: int,
    limit: Limit | None = None,
) -> int:
    """Take in the given clauses, then follow the steps: a clause that comes must follow by unit propagation,
    one that goes is forgotten.

    -1 when a contradiction is reached, -2 when none is, or the first clause that does not follow.
    """
    limit = limit or Limit(None, None)
    total = len(starts) - 1
    place = (
        np.zeros(2 * variables, np.int8),  # 1: the literal is true, -1: false
        np.full(2 * variables, -1, np.int64),  # first watch of a literal: 2 * clause + side
        np.full(2 * total, -1, np.int64),  # the next watch
        np.zeros(total, np.bool_),  # gone
        np.zeros(variables + 1, np.int32),  # literals that are true, in order
        np.zeros(2, np.int64),  # how many are true for good; the next turn
    )
    state = -3
    while state == -3:
        limit.look()
        state = int(_follow(literals, starts, given, steps, place, _WORK))
    return state


@njit(nogil=True, cache=True)
def _propagate(done, count, value, heads, following, dead, trail, literals, starts):
    """Propagate units from the trail's place `done`; the new length of the trail,
    whether a clause is false, and the work.
    """
    work = 0
    while done < count:
        false = trail[done] ^ 1
        done += 1
        previous, node = -1, heads[false]
        while node >= 0:
            after = following[node]
            clause, side = node >> 1, node & 1
            begin, end = starts[clause], starts[clause + 1]
            moved = dead[clause]
            work += 1
            if not moved:
                other = literals[begin + 1 - side]
                if value[other] != 1:
                    for place in range(begin + 2, end):
                        work += 1
                        literal = literals[place]
                        if value[literal] >= 0:
                            literals[place], literals[begin + side] = false, literal
                            following[node] = heads[literal]
                            heads[literal] = node
                            moved = True
                            break
                    if not moved:
                        if value[other] == -1:
                            return count, True, work
                        value[other], value[other ^ 1] = 1, -1
                        trail[count] = other
                        count += 1
            if moved:
                if previous < 0:
                    heads[false] = after
                else:
                    following[previous] = after
            else:
                previous = node
            node = after
    return count, False, work


@njit(nogil=True, cache=True)
def _follow(literals, starts, given, steps, place, room):
    """Go on for a while: -3 when there is more to do, else as `followed` says."""
    value, heads, following, dead, trail, counts = place
    while counts[1] < given + len(steps):
        if room < 0:
            return -3
        turn = counts[1]
        counts[1] += 1
        clause = turn if turn < given else steps[turn - given]
        if clause < 0:
            dead[-1 - clause] = True
            continue
        begin, end, root = starts[clause], starts[clause + 1], counts[0]
        room -= end - begin + 1
        if turn >= given:
            count, follows = root, False
            for k in range(begin, end):
                literal = literals[k]
                if value[literal] == 1:
                    follows = True
                    break
                if value[literal] == 0:
                    value[literal], value[literal ^ 1] = -1, 1
                    trail[count] = literal ^ 1
                    count += 1
            if not follows:
                count, follows, work = _propagate(
                    root, count, value, heads, following, dead, trail, literals, starts
                )
                room -= work
            if not follows:
                return clause
            for k in range(root, count):
                value[trail[k]], value[trail[k] ^ 1] = 0, 0
        free = begin
        for k in range(begin, end):
            if free < begin + 2 and value[literals[k]] >= 0:
                literals[k], literals[free] = literals[free], literals[k]
                free += 1
        if free >= begin + 2:
            for side in range(2):
                literal = literals[begin + side]
                following[2 * clause + side] = heads[literal]
                heads[literal] = 2 * clause + side
            continue
        if free == begin:
            return -1
        literal = literals[begin]
        if value[literal] == 0:
            value[literal], value[literal ^ 1] = 1, -1
            trail[root] = literal
            counts[0], wrong, work = _propagate(
                root, root + 1, value, heads, following, dead, trail, literals, starts
            )
            room -= work
            if wrong:
                return -1
    return -2
