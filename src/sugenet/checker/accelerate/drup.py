"""Checking a proof in clauses: every lemma must follow from the question's clauses and the lemmas that are
there.

To be ensured: the clauses are those of this question (`clauses`, and a digest), and a lemma is taken in
only if assuming it false ends in a contradiction by unit propagation. The proof holds once propagation
contradicts itself without assuming anything. Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped"

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.clauses import clauses_of, written
from sugenet.checker.accelerate.plain import plain_followed
from sugenet.checker.accelerate.products import Ints
from sugenet.checker.accelerate.whole import Whole
from sugenet.checker.form import Drup
from sugenet.checker.limit import Limit
from sugenet.checker.unpack import unpacked
from sugenet.compiling import njit
from sugenet.errors import CertificateError

__all__ = ["check_drup", "followed"]

_WORK = 1 << 24  # literals that are looked at before the clock is


def check_drup(proof: Drup, whole: Whole, *, plain: bool = False) -> str:
    """Check the proof that a question, worked out again from the definition, has no violation;
    say what was checked.

    Parameters
    ----------
    proof
        What the solver gave.
    whole
        The question in whole numbers.
    plain
        Whether to follow the lemmas in the plain form.

    Raises
    ------
    CertificateError
        Where the proof is damaged, is of another question, or does not hold.
    """
    limit = whole.limit
    variables, clauses = clauses_of(whole, proof.clauses)
    given = len(clauses)
    literals, starts, digest = written(clauses, limit)
    if (proof.variables, proof.clauses, proof.cnf) != (variables, given, digest):
        raise CertificateError("the proof is of other clauses than this question has.")
    del clauses
    lemmas, sizes, steps = _read(proof.data, given, variables, limit)
    limit.take(
        12 * (len(literals) + len(lemmas)) + 40 * (given + len(sizes)) + 40 * variables,
        "the clauses and lemmas",
    )
    both = np.concatenate([literals, np.where(lemmas > 0, 2 * lemmas - 2, -2 * lemmas - 1).astype(np.int32)])
    ends = np.concatenate([starts, starts[-1] + np.cumsum(sizes, dtype=np.int64)])
    state = (plain_followed if plain else followed)(both, ends, given, steps, variables, limit)
    if state >= 0:
        raise CertificateError(f"lemma {state - given + 1} of the proof does not follow.")
    if state == -2:
        raise CertificateError("the proof ends without a contradiction.")
    if proof.lemmas != len(sizes):
        raise CertificateError(f"the proof has {len(sizes):,} lemmas, not {proof.lemmas:,}.")
    return f"{given:,} clauses say so, by {len(sizes):,} lemmas that follow one after another"


def _read(data: str, given: int, variables: int, limit: Limit) -> tuple[npt.NDArray[np.int32], Ints, Ints]:
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
