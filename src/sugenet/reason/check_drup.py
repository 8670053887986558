"""Checking a proof in clauses: they are written down again from the question, as the definition gives it, then every lemma is followed.

Nothing here is shared with the engines. The canonical clauses are described in `sugenet.reason.solvers.cnf`; here other code makes them,
from the numbers that `check_question` works out by the definition. A lemma follows if assuming it false ends in a contradiction by unit
propagation; the proof holds once propagation contradicts itself without assuming anything.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped"

from __future__ import annotations

from base64 import b64decode
from bisect import insort
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any
from zlib import decompressobj
from zlib import error as zlib_error

import numpy as np
import numpy.typing as npt
from numba import njit

from sugenet.errors import CertificateError
from sugenet.reason.check_question import Plain

__all__ = ["check_drup", "clauses_of", "flat", "propagate_all"]

_CLAUSES = 20_000_000
_BYTES = 1 << 30

Clause = tuple[int, ...]


def check_drup(proof: dict[str, Any], plain: Plain) -> str:
    """Check the proof that a question, worked out again from the definition, has no violation; say what was checked.

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
    try:
        variables, clauses = clauses_of(plain, int(proof["clauses"]))
        digest = sha256(b"".join(np.array([*clause, 0], "<i4").tobytes() for clause in clauses)).hexdigest()
        if (proof["variables"], proof["clauses"], proof["cnf"]) != (variables, len(clauses), digest):
            raise CertificateError("the proof is of other clauses than this question has.")
        lemmas, steps = _read(str(proof["data"]), len(clauses), variables)
    except CertificateError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, ArithmeticError, zlib_error) as error:
        raise CertificateError(f"the proof is damaged: {type(error).__name__}: {error}") from error
    state, _, _ = propagate_all(*flat([*clauses, *lemmas]), len(clauses), steps, variables, False)
    if state >= 0:
        raise CertificateError(f"lemma {state - len(clauses) + 1} of the proof does not follow.")
    if state == -2:
        raise CertificateError("the proof ends without a contradiction.")
    return f"{len(clauses):,} clauses say so, by {len(lemmas):,} lemmas that follow one after another"


def _read(data: str, given: int, variables: int) -> tuple[list[Clause], npt.NDArray[np.int64]]:
    """Lemmas, and the order in which clauses come (their number) and go (-1 - their number)."""
    unpacker = decompressobj()
    raw = unpacker.decompress(b64decode(data, validate=True), _BYTES)
    if unpacker.unconsumed_tail:
        raise CertificateError(f"the proof is longer than {_BYTES:,} bytes.")
    if not unpacker.eof:
        raise CertificateError("the proof is cut off.")
    numbers = np.frombuffer(raw, "<i4").tolist()
    lemmas: list[Clause] = []
    steps, place = [], 0
    while place < len(numbers):
        size = numbers[place]
        if size == -1:
            gone = numbers[place + 1]
            if not given <= gone < given + len(lemmas):
                raise CertificateError(f"the proof drops a lemma with the number {gone}, which there is not.")
            steps.append(-1 - gone)
            place += 2
            continue
        lemma = tuple(numbers[place + 1 : place + 1 + size])
        if size < 0 or len(lemma) < size or not all(1 <= abs(literal) <= variables for literal in lemma):
            raise CertificateError(f"lemma {len(lemmas) + 1} of the proof is damaged.")
        steps.append(given + len(lemmas))
        lemmas.append(lemma)
        place += 1 + size
    return lemmas, np.array(steps, np.int64)


# -- the clauses, once more ----------------------------------------------------------------------------------------------------


class _Clauses(list[Clause]):
    """Clauses written down so far, and the number of the last variable."""

    last = 0
    most = _CLAUSES

    def threshold(self, root: int, start: int, gains: list[list[int]], avoid: list[list[Clause]], most: int | None) -> int:
        """`root` is true iff start plus one gain of each group is 0 or more. 1 or 0: it always or never is; -1: it depends."""
        rows = [(row, literals) for row, literals in zip(gains, avoid, strict=True) if set(row) != {0}]
        largest = _best([max(row) for row, _ in rows], most)
        smallest = [-loss for loss in _best([-min(row) for row, _ in rows], most)]
        if start + largest[0] < 0 or start + smallest[0] >= 0:
            self.append((root,) if start + smallest[0] >= 0 else (-root,))
            return int(start + smallest[0] >= 0)
        here = [(start, root)]
        for k, (row, literals) in enumerate(rows):
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
            if len(self) > self.most:
                raise CertificateError(f"the proof is of other clauses: the question takes more than {self.most:,}.")
        return -1


def clauses_of(plain: Plain, room: int = _CLAUSES) -> tuple[int, list[Clause]]:
    """Number of variables and the canonical clauses of a question, which must not be too many."""
    out = _Clauses()
    out.most = min(room, _CLAUSES)
    avoid: list[list[Clause]] = []
    offered = []  # price and gain of every option of a feature, staying as it is among them
    for options, stay in zip(plain.features, plain.stays, strict=True):
        offered.append([*options[:stay], (0, np.zeros(len(plain.base), np.int64)), *options[stay:]])
        chain = [out.last + k for k in range(1, len(options) + 1)]
        out.last += len(chain)
        out += [(-after, before) for before, after in pairwise(chain)]
        avoid.append([(*(-v for v in chain[k - 1 : k] if k), *chain[k : k + 1]) for k in range(len(options) + 1)])
    layers = [(-np.minimum(weights, 0).sum(axis=1) - tau, weights) for weights, tau in plain.layers]
    pairs = list(dict.fromkeys((tuple(factors), least) for case in plain.cases for factors, least in case))
    factors = np.array([row for row, _ in pairs], dtype=object).reshape(len(pairs), len(plain.head))
    head = plain.head.astype(object)
    layers.append((factors @ -np.minimum(head, 0).sum(axis=1) - np.array([least for _, least in pairs], object), factors @ head))
    roots = out.last
    out.last += len(plain.base) + sum(len(margins) for margins, _ in layers)
    last_row = out.last
    rows = [[last_row - len(pairs) + 1 + pairs.index((tuple(row), least)) for row, least in case] for case in plain.cases]
    named = len(rows) > 1 and all(rows) and any(len(row) > 1 for row in rows)
    if named:
        out.last += len(rows)
    most = None
    if plain.budget is not None:
        out.last += 1
        asserted = out.last
        out.threshold(asserted, plain.budget, [[-price for price, _ in options] for options in offered], avoid, None)
        out.append((asserted,))
        lightest = sorted(min(price for price, _ in options) for options in plain.features)
        most = sum(sum(lightest[: k + 1]) <= plain.budget for k in range(len(lightest)))
    gains = [np.array([gain for _, gain in options]).T.tolist() for options in offered]
    known = [out.threshold(roots + 1 + j, margin, [row[j] for row in gains], avoid, most) for j, margin in enumerate(plain.base.tolist())]
    for margins, weights in layers:
        free = [i for i, value in enumerate(known) if value < 0]
        on = [i for i, value in enumerate(known) if value == 1]
        before, roots = roots, roots + len(known)
        switch: list[list[Clause]] = [[(before + 1 + i,), (-before - 1 - i,)] for i in free]
        known = [
            out.threshold(roots + 1 + j, margin + sum(row[i] for i in on), [[0, row[i]] for i in free], switch, None)
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
    sums = [0]
    for value in reversed(values):
        insort(kept, -value)
        del kept[len(kept) if most is None else most :]
        sums.append(-sum(kept))
    return sums[::-1]


# -- following the lemmas ------------------------------------------------------------------------------------------------------


def flat(clauses: Sequence[Clause]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Clauses one after another, literal v as 2v - 2 and -v as 2v - 1; and where each begins."""
    starts = np.zeros(len(clauses) + 1, np.int64)
    np.cumsum([len(clause) for clause in clauses], out=starts[1:])
    literals = np.fromiter((2 * abs(v) - 2 + (v < 0) for clause in clauses for v in clause), np.int32, int(starts[-1]))
    return literals, starts


@njit(nogil=True, cache=True)
def _propagate(done, trail, count, value, reason, heads, following, dead, literals, starts):
    """Propagate units from the trail's place `done`; give the new length of the trail and a clause that is false, or -1."""
    while done < count:
        false = trail[done] ^ 1
        done += 1
        previous, node = -1, heads[false]
        while node >= 0:
            after = following[node]
            clause, side = node >> 1, node & 1
            begin, end = starts[clause], starts[clause + 1]
            moved = dead[clause]
            if not moved:
                other = literals[begin + 1 - side]
                if value[other] != 1:
                    for place in range(begin + 2, end):
                        literal = literals[place]
                        if value[literal] >= 0:
                            literals[place], literals[begin + side] = false, literal
                            following[node] = heads[literal]
                            heads[literal] = node
                            moved = True
                            break
                    if not moved:
                        if value[other] == -1:
                            return count, clause
                        value[other], value[other ^ 1], reason[other >> 1] = 1, -1, clause
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
    return count, -1


@njit(nogil=True, cache=True)
def _needed(conflict, met, trail, count, reason, seen, literals, starts, log, logged):
    """Write down the clauses that made a clause false, or a literal true."""
    if logged + count + 1 > len(log):
        log = np.concatenate((log, np.zeros(len(log) + count + 1, np.int64)))
    if met >= 0:
        seen[met >> 1] = True
    clause, place = conflict, count
    while place >= 0:
        if clause >= 0:
            log[logged] = clause
            logged += 1
            for k in range(starts[clause], starts[clause + 1]):
                seen[literals[k] >> 1] = True
        place -= 1
        clause = -1
        if place >= 0 and seen[trail[place] >> 1]:
            seen[trail[place] >> 1] = False
            clause = reason[trail[place] >> 1]
    return log, logged


@njit(nogil=True, cache=True)
def propagate_all(literals, starts, given, steps, variables, keep):
    """Take in the given clauses, then follow the steps: a clause that comes must follow by unit propagation, one that goes is forgotten.

    Returns -1 when a contradiction is reached, -2 when none is, or the first clause that does not follow; with `keep` also which clauses
    the contradiction needs, and for each the last clause that needs it.
    """
    total = len(starts) - 1
    value = np.zeros(2 * variables, np.int8)
    reason = np.full(variables, -1, np.int64)
    heads = np.full(2 * variables, -1, np.int64)
    following = np.full(2 * total, -1, np.int64)
    dead = np.zeros(total, np.bool_)
    trail = np.zeros(variables + 1, np.int32)
    seen = np.zeros(variables, np.bool_)
    log = np.zeros(1024, np.int64)
    log_starts = np.zeros(total + 2, np.int64)
    logged, root, state, last, conflict = 0, 0, -2, -1, -1
    for turn in range(given + len(steps)):
        clause = turn if turn < given else steps[turn - given]
        if clause < 0:
            dead[-1 - clause] = True
            continue
        begin, end = starts[clause], starts[clause + 1]
        log_starts[clause] = logged
        if turn >= given:
            count, conflict, met = root, -1, -1
            for place in range(begin, end):
                literal = literals[place]
                if value[literal] == 1:
                    met = literal
                    break
                if value[literal] == 0:
                    value[literal], value[literal ^ 1], reason[literal >> 1] = -1, 1, -1
                    trail[count] = literal ^ 1
                    count += 1
            if met < 0:
                count, conflict = _propagate(root, trail, count, value, reason, heads, following, dead, literals, starts)
            if met < 0 and conflict < 0:
                state = clause
                break
            if keep:
                log, logged = _needed(conflict, met, trail, count, reason, seen, literals, starts, log, logged)
            for place in range(root, count):
                value[trail[place]], value[trail[place] ^ 1] = 0, 0
            count = root
        log_starts[clause + 1] = logged
        free = begin
        for place in range(begin, end):
            if free < begin + 2 and value[literals[place]] >= 0:
                literals[place], literals[free] = literals[free], literals[place]
                free += 1
        if free >= begin + 2:
            for side in range(2):
                literal = literals[begin + side]
                following[2 * clause + side] = heads[literal]
                heads[literal] = 2 * clause + side
            continue
        conflict = clause
        if free == begin + 1:
            literal = literals[begin]
            conflict = -1
            if value[literal] == 0:
                value[literal], value[literal ^ 1], reason[literal >> 1] = 1, -1, clause
                trail[root] = literal
                root, conflict = _propagate(root, trail, root + 1, value, reason, heads, following, dead, literals, starts)
        if conflict >= 0:
            state, last = -1, clause
            break
    used, uses = np.zeros(total, np.bool_), np.full(total, -1, np.int64)
    if keep and state == -1:
        log, end = _needed(conflict, -1, trail, root, reason, seen, literals, starts, log, logged)
        for place in range(logged, end):
            used[log[place]], uses[log[place]] = True, last
        for clause in range(last, given - 1, -1):
            if used[clause]:
                for place in range(log_starts[clause], log_starts[clause + 1]):
                    used[log[place]], uses[log[place]] = True, max(uses[log[place]], clause)
    return state, used, uses
