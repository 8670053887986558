"""Find the lemmas of a solver's proof that are needed, by unit propagation with a record of the reasons of
each conclusion.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return,import-untyped"

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sugenet.compiling import njit

__all__ = ["flat", "propagate_all"]


def flat(clauses: Sequence[tuple[int, ...]]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return clauses consecutively, literal v as 2v - 2 and -v as 2v - 1, and the start of each."""
    starts = np.zeros(len(clauses) + 1, np.int64)
    np.cumsum([len(clause) for clause in clauses], out=starts[1:])
    literals = np.fromiter(
        (2 * abs(v) - 2 + (v < 0) for clause in clauses for v in clause), np.int32, int(starts[-1])
    )
    return literals, starts


@njit(nogil=True, cache=True)
def _propagate(done, trail, count, value, reason, heads, following, dead, literals, starts):
    """Propagate units from index `done` of the trail; return the new length of the trail and a clause that
    is false, or -1.
    """
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
                    for index in range(begin + 2, end):
                        literal = literals[index]
                        if value[literal] >= 0:
                            literals[index], literals[begin + side] = false, literal
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
    """Record the clauses that made a clause false, or a literal true."""
    if logged + count + 1 > len(log):
        log = np.concatenate((log, np.zeros(len(log) + count + 1, np.int64)))
    if met >= 0:
        seen[met >> 1] = True
    clause, index = conflict, count
    while index >= 0:
        if clause >= 0:
            log[logged] = clause
            logged += 1
            for k in range(starts[clause], starts[clause + 1]):
                seen[literals[k] >> 1] = True
        index -= 1
        clause = -1
        if index >= 0 and seen[trail[index] >> 1]:
            seen[trail[index] >> 1] = False
            clause = reason[trail[index] >> 1]
    return log, logged


@njit(nogil=True, cache=True)
def propagate_all(literals, starts, n_clauses, steps, variables):
    """Add the given clauses, then follow the steps: an added clause must follow by unit propagation, a
    deleted one is removed.

    Returns -1 if a contradiction is reached, -2 if none is, or the first clause that does not follow. Also
    returns the clauses that the contradiction needs, and for each the last clause that needs it.
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
    for turn in range(n_clauses + len(steps)):
        clause = turn if turn < n_clauses else steps[turn - n_clauses]
        if clause < 0:
            dead[-1 - clause] = True
            continue
        begin, end = starts[clause], starts[clause + 1]
        log_starts[clause] = logged
        if turn >= n_clauses:
            count, conflict, met = root, -1, -1
            for index in range(begin, end):
                literal = literals[index]
                if value[literal] == 1:
                    met = literal
                    break
                if value[literal] == 0:
                    value[literal], value[literal ^ 1], reason[literal >> 1] = -1, 1, -1
                    trail[count] = literal ^ 1
                    count += 1
            if met < 0:
                count, conflict = _propagate(
                    root, trail, count, value, reason, heads, following, dead, literals, starts
                )
            if met < 0 and conflict < 0:
                state = clause
                break
            log, logged = _needed(conflict, met, trail, count, reason, seen, literals, starts, log, logged)
            for index in range(root, count):
                value[trail[index]], value[trail[index] ^ 1] = 0, 0
            count = root
        log_starts[clause + 1] = logged
        free = begin
        for index in range(begin, end):
            if free < begin + 2 and value[literals[index]] >= 0:
                literals[index], literals[free] = literals[free], literals[index]
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
                root, conflict = _propagate(
                    root, trail, root + 1, value, reason, heads, following, dead, literals, starts
                )
        if conflict >= 0:
            state, last = -1, clause
            break
    used, uses = np.zeros(total, np.bool_), np.full(total, -1, np.int64)
    if state == -1:
        log, end = _needed(conflict, -1, trail, root, reason, seen, literals, starts, log, logged)
        for index in range(logged, end):
            used[log[index]], uses[log[index]] = True, last
        for clause in range(last, n_clauses - 1, -1):
            if used[clause]:
                for index in range(log_starts[clause], log_starts[clause + 1]):
                    used[log[index]], uses[log[index]] = True, max(uses[log[index]], clause)
    return state, used, uses
