"""Compiled search with clause learning over clauses and *halves* of thresholds, for `solver`.

A literal is ``2 * variable``, plus 1 if it says false. A half is ``literal -> load <= cap``. The load is the
sum of the weights of true inputs with a positive weight and of the absolute weights of false inputs with a
negative weight; ``slack = cap - load``. A reified threshold is two halves, a budget one half without a
literal. Weights of 0 are not stored: each literal lists the halves that it loads, and each half the literals
that load it. Every literal that is set stores its reason: a clause, a half or its chain. A half is explained
lazily, by loads that are in the clause already and as few others as its slack allows.

The search starts with inputs, each tried with its last value. If that has made no progress for some dozens of
conflicts, it continues by activity alone, with random values and restarts in Luby's series. It never does so
if few inputs move very many neurons.

Everything is in this one file: Numba caches compiled code by the file that contains it, and a function that
calls one of another file is not recompiled if that file changes.

Integers are passed as int64: for every other type a function would be compiled again.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,no-any-return"
# mypy: disable-error-code="import-untyped,call-arg,var-annotated"

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from sugenet.compiling import njit

__all__ = [
    "ARENA_FULL",
    "ARENA_USED",
    "CHAIN",
    "CONFLICTS",
    "FAILED",
    "HALVES",
    "HEADER",
    "LOG_FULL",
    "LOG_USED",
    "NEXT",
    "NUMBERS",
    "PAUSED",
    "RANDOM",
    "REDUCE",
    "SATISFIED",
    "SIZE",
    "TAME",
    "TRAIL",
    "UNSATISFIABLE",
    "VARIABLES",
    "WILD",
    "Machine",
    "back_to_start",
    "begin",
    "literals_of",
    "run",
    "starts_of",
    "trim",
]

PAUSED, SATISFIED, UNSATISFIABLE, FAILED, ARENA_FULL, LOG_FULL = range(6)
"""Return values of `run`."""

NUMBERS = 23
(
    QUEUE,
    TRAIL,
    LEVEL,
    ARENA_USED,
    HEAP,
    CONFLICTS,
    LOG_USED,
    NEXT,
    DIRTY,
    WORK,
    SINCE_RESTART,
    SINCE_REDUCE,
    REDUCE,
    CLASH,
    DECISIONS,
    RESTARTS,
    SIZE,
    VARIABLES,
    HALVES,
    RANDOM,
    SINCE_CALL,
    WILD,
    TAME,
) = range(NUMBERS)
"""Indices in `Machine.numbers`; TAME is the number of conflicts of a call before the search goes wild."""

GROWTH, FAST, SLOW = range(3)
"""Indices in `Machine.reals`."""

HEADER = 5
"""Words of a clause in the arena before its literals: size, number, number of levels, and the next clauses
in the lists of its two watches.
"""

CHAIN = -(1 << 30)
NOTHING = CHAIN - 1
NONE = -1
"""Reason of a literal: a clause (its index in the arena), NONE (chosen or given), CHAIN, or
``-2 - half``.
"""

_NEVER = -(1 << 62)
_LUBY = 100
"""Conflicts of the shortest run between two restarts in the wild search."""


class Machine(NamedTuple):
    """State of the search; arrays only."""

    # the problem
    row_from: Any
    row_literal: Any
    row_load: Any
    """Literals that load each half, and their weights, largest first."""
    column_from: Any
    column_half: Any
    column_load: Any
    """Halves that each literal loads."""
    cap: Any
    top: Any
    """Largest load of a half."""
    out: Any
    """Literal that implies a half, or -1."""
    owned_from: Any
    owned: Any
    """Halves that each literal implies, consecutively."""
    before: Any
    after: Any
    """Neighbours in the chain of an input step, or -1."""
    # the assignment
    value: Any
    """Value of each literal: 1 true, -1 false, 0 open."""
    free: Any
    """Whether each variable is open."""
    level: Any
    place: Any
    reason: Any
    origin: Any
    """Reason why a variable is set permanently, with clauses by number."""
    trail: Any
    levels: Any
    """Length of the trail at the start of each level."""
    slack: Any
    base: Any
    """A half is examined if its slack is below this."""
    limit: Any
    """The same, minus the part that was already examined."""
    # clauses
    arena: Any
    watch: Any
    # choosing
    rank: Any
    """Variables of a lower rank are chosen first, until the search goes wild."""
    ranked: Any
    """Initial ranks."""
    activity: Any
    heap: Any
    heap_at: Any
    phase: Any
    # scratch
    mark: Any
    clause: Any
    why: Any
    why_load: Any
    dirty: Any
    is_dirty: Any
    stamp: Any
    # the record
    log: Any
    numbers: Any
    reals: Any


@intrinsic
def _raw(_typing, arrays):
    """The same machine with plain pointers in place of arrays, which are cheaper to pass."""
    pointers = types.NamedTuple(
        [types.CPointer(array.dtype) for array in arrays.types], arrays.instance_class
    )

    def emit(context, b, signature, arguments):
        pointers = []
        for k, array in enumerate(arrays.types):
            view = context.make_array(array)(context, b, value=b.extract_value(arguments[0], k))
            pointers.append(b.bitcast(view.data, context.get_value_type(types.CPointer(array.dtype))))
        return context.make_tuple(b, signature.return_type, pointers)

    return pointers(arrays), emit


# -- a heap of open variables, the most active first ---------------------------------------------------------


@njit(nogil=True, cache=True)
def _up(m, k):
    heap, heap_at, activity, rank = m.heap, m.heap_at, m.activity, m.rank
    v = heap[k]
    while k > 0:
        parent = (k - 1) >> 1
        u = heap[parent]
        if rank[u] < rank[v] or (rank[u] == rank[v] and activity[u] >= activity[v]):
            break
        heap[k] = u
        heap_at[u] = k
        k = parent
    heap[k] = v
    heap_at[v] = k


@njit(nogil=True, cache=True)
def _down(m, k):
    heap, heap_at, activity, rank = m.heap, m.heap_at, m.activity, m.rank
    size = m.numbers[HEAP]
    v = heap[k]
    while 2 * k + 1 < size:
        child = 2 * k + 1
        u = heap[child]
        if child + 1 < size:
            w = heap[child + 1]
            if rank[w] < rank[u] or (rank[w] == rank[u] and activity[w] > activity[u]):
                child += 1
                u = w
        if rank[u] > rank[v] or (rank[u] == rank[v] and activity[u] <= activity[v]):
            break
        heap[k] = u
        heap_at[u] = k
        k = child
    heap[k] = v
    heap_at[v] = k


@njit(nogil=True, cache=True)
def _insert(m, v):
    if m.heap_at[v] < 0:
        k = m.numbers[HEAP]
        m.numbers[HEAP] += 1
        m.heap[k] = v
        _up(m, np.int64(k))


@njit(nogil=True, cache=True)
def _pop(m):
    heap, heap_at = m.heap, m.heap_at
    v = heap[0]
    m.numbers[HEAP] -= 1
    size = m.numbers[HEAP]
    heap_at[v] = -1
    if size > 0:
        heap[0] = heap[size]
        heap_at[heap[0]] = 0
        _down(m, 0)
    return v


@njit(nogil=True, cache=True)
def _bump(m, v):
    activity = m.activity
    activity[v] += m.reals[GROWTH]
    if activity[v] > 1e100:
        for u in range(m.numbers[VARIABLES]):
            activity[u] *= 1e-100
        m.reals[GROWTH] *= 1e-100
    if m.heap_at[v] >= 0:
        _up(m, np.int64(m.heap_at[v]))


# -- assignment and backtracking -----------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _set(m, literal, why):
    numbers, value = m.numbers, m.value
    v = literal >> 1
    value[literal] = 1
    value[literal ^ 1] = -1
    m.free[v] = 0
    level = numbers[LEVEL]
    m.level[v] = level
    m.place[v] = numbers[TRAIL]
    m.reason[v] = why
    if level == 0:
        m.origin[v] = m.arena[why + 1] if why >= 0 else why
    m.trail[numbers[TRAIL]] = literal
    numbers[TRAIL] += 1


@njit(nogil=True, cache=True)
def _back(m, level):
    """Undo all assignments above a level."""
    numbers = m.numbers
    if numbers[LEVEL] <= level:
        return
    keep = m.levels[level]
    slack, base, limit = m.slack, m.base, m.limit
    for t in range(numbers[TRAIL] - 1, keep - 1, -1):
        literal = m.trail[t]
        v = literal >> 1
        if t < numbers[QUEUE]:
            for k in range(m.owned_from[literal], m.owned_from[literal + 1]):
                base[m.owned[k]] = 0
                limit[m.owned[k]] = 0
            for k in range(m.owned_from[literal ^ 1], m.owned_from[(literal ^ 1) + 1]):
                base[m.owned[k]] = 0
                limit[m.owned[k]] = 0
            for k in range(m.column_from[literal], m.column_from[literal + 1]):
                h = m.column_half[k]
                slack[h] += m.column_load[k]
                limit[h] = base[h]
            numbers[WORK] += m.column_from[literal + 1] - m.column_from[literal]
        m.value[literal] = 0
        m.value[literal ^ 1] = 0
        m.free[v] = 1
        m.phase[v] = literal & 1
        _insert(m, v)
    numbers[TRAIL] = keep
    numbers[QUEUE] = min(numbers[QUEUE], keep)
    numbers[LEVEL] = level


# -- propagation ---------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _touch(m, h):
    if m.is_dirty[h] == 0:
        m.is_dirty[h] = 1
        m.dirty[m.numbers[DIRTY]] = h
        m.numbers[DIRTY] += 1


@njit(nogil=True, cache=True)
def _load(m, literal):
    """Update the halves that a literal loads and the halves that it implies."""
    slack, base, limit = m.slack, m.base, m.limit
    for k in range(m.column_from[literal], m.column_from[literal + 1]):
        h = m.column_half[k]
        slack[h] -= m.column_load[k]
        if slack[h] < limit[h]:
            _touch(m, np.int64(h))
    m.numbers[WORK] += m.column_from[literal + 1] - m.column_from[literal]
    for k in range(m.owned_from[literal], m.owned_from[literal + 1]):
        h = m.owned[k]
        base[h] = m.top[h]
        limit[h] = m.top[h]
        if slack[h] < m.top[h]:
            _touch(m, np.int64(h))
    for k in range(m.owned_from[literal ^ 1], m.owned_from[(literal ^ 1) + 1]):
        h = m.owned[k]
        base[h] = _NEVER
        limit[h] = _NEVER


@njit(nogil=True, cache=True)
def _clauses(m, falsified):
    """Visit the clauses that watch a literal which is now false; return the conflicting clause, or
    NOTHING.
    """
    arena, value, watch = m.arena, m.value, m.watch
    last = -1
    node = watch[falsified]
    while node >= 0:
        ref, slot = node >> 1, node & 1
        following = arena[ref + 3 + slot]
        first = ref + HEADER
        other = arena[first + 1 - slot]
        m.numbers[WORK] += 4
        if value[other] != 1:
            moved = False
            for k in range(first + 2, first + arena[ref]):
                if value[arena[k]] >= 0:
                    fresh = arena[k]
                    arena[k] = falsified
                    arena[first + slot] = fresh
                    arena[ref + 3 + slot] = watch[fresh]
                    watch[fresh] = node
                    if last < 0:
                        watch[falsified] = following
                    else:
                        arena[(last >> 1) + 3 + (last & 1)] = following
                    moved = True
                    break
            if moved:
                node = following
                continue
            if value[other] < 0:
                return ref
            _set(m, np.int64(other), np.int64(ref))
        last = node
        node = following
    return NOTHING


@njit(nogil=True, cache=True)
def _look(m, h):
    """Propagate one half; return the conflict, or NOTHING."""
    slack, literal = m.slack[h], m.out[h]
    if slack < 0:
        if literal < 0 or m.value[literal] == 1:
            return -2 - h
        if m.value[literal] == 0:
            _set(m, np.int64(literal ^ 1), np.int64(-2 - h))
        return NOTHING
    if slack < m.top[h] and (literal < 0 or m.value[literal] == 1):
        k, last = m.row_from[h], m.row_from[h + 1]
        m.numbers[WORK] += last - k
        while k < last and m.row_load[k] > slack:
            if m.value[m.row_literal[k]] == 0:
                _set(m, np.int64(m.row_literal[k] ^ 1), np.int64(-2 - h))
            k += 1
        m.limit[h] = slack
    return NOTHING


@njit(nogil=True, cache=True)
def _propagate(m):
    """Propagate everything; return the reason of a conflict, or NOTHING."""
    numbers, value = m.numbers, m.value
    conflict = NOTHING
    while conflict == NOTHING:
        if numbers[QUEUE] < numbers[TRAIL]:
            literal = m.trail[numbers[QUEUE]]
            numbers[QUEUE] += 1
            _load(m, literal)
            v = literal >> 1
            neighbour = m.after[v] if literal & 1 else m.before[v]
            if neighbour >= 0:
                implied = 2 * neighbour + (literal & 1)
                if value[implied] < 0:
                    numbers[CLASH] = implied
                    conflict = CHAIN
                    break
                if value[implied] == 0:
                    _set(m, np.int64(implied), np.int64(CHAIN))
            conflict = _clauses(m, literal ^ 1)
        elif numbers[DIRTY] > 0:
            numbers[DIRTY] -= 1
            h = m.dirty[numbers[DIRTY]]
            m.is_dirty[h] = 0
            conflict = _look(m, h)
        else:
            break
    while numbers[DIRTY] > 0:
        numbers[DIRTY] -= 1
        m.is_dirty[m.dirty[numbers[DIRTY]]] = 0
    return conflict


# -- explaining and learning ---------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _explain(m, code, implied, known):
    """Write to `why` true literals that force `implied` (-1: that conflict); return their number.

    For a half: first the loads that are in the clause already or set permanently, then as many others as
    needed, those of the last level last. If `known` is 1 and others are needed, return -1.
    """
    why, arena = m.why, m.arena
    n = 0
    if code >= 0:
        for k in range(code + HEADER, code + HEADER + arena[code]):
            if arena[k] != implied:
                why[n] = arena[k] ^ 1
                n += 1
        return n
    if code == CHAIN:
        if implied < 0:
            implied = m.numbers[CLASH]
            why[0] = implied ^ 1
            n = 1
        why[n] = 2 * ((implied >> 1) + 1) if implied & 1 == 0 else 2 * ((implied >> 1) - 1) + 1
        return n + 1
    h = -2 - code
    first, last = m.row_from[h], m.row_from[h + 1]
    literals, loads = m.row_literal, m.row_load
    mark, level, index, value = m.mark, m.level, m.place, m.value
    need, bound, literal = m.cap[h], m.numbers[TRAIL], m.out[h]
    opposite = -1  # the load of the implied literal, which is absent
    if implied >= 0:
        bound = index[implied >> 1]
    if implied < 0 or implied != (literal ^ 1):
        opposite = implied ^ 1 if implied >= 0 else -1
        if literal >= 0:
            why[0] = literal
            n = 1
    total = need * 0
    for k in range(first, last):
        x = literals[k]
        v = x >> 1
        if x == opposite:
            need -= loads[k]
        elif value[x] == 1 and index[v] < bound and (mark[v] == 1 or level[v] == 0):
            total += loads[k]
            why[n] = x
            n += 1
    m.numbers[WORK] += last - first
    if total > need:
        return n
    if known == 1:
        return -1
    start, current = n, m.numbers[LEVEL]
    for latest in range(2):
        for k in range(first, last):
            x = literals[k]
            v = x >> 1
            if (
                value[x] == 1
                and mark[v] == 0
                and level[v] > 0
                and (level[v] == current) == (latest == 1)
                and index[v] < bound
            ):
                total += loads[k]
                m.why_load[n] = loads[k]
                why[n] = x
                n += 1
                if total > need:
                    break
        if total > need:
            break
    spare = total - need - 1
    k = n - 1
    while k >= start and spare > 0:
        if m.why_load[k] <= spare:
            spare -= m.why_load[k]
            n -= 1
            why[k] = why[n]
            m.why_load[k] = m.why_load[n]
        k -= 1
    return n


@njit(nogil=True, cache=True)
def _redundant(m, literal):
    """Return whether a true literal follows from others that are in the clause or set permanently: the number
    of these, which are then in `why`, else -1.
    """
    code = m.reason[literal >> 1]
    if code == NONE:
        return -1
    mark, level, arena, why = m.mark, m.level, m.arena, m.why
    if code >= 0:
        n = 0
        for k in range(code + HEADER, code + HEADER + arena[code]):
            x = arena[k]
            if x != literal:
                if mark[x >> 1] == 0 and level[x >> 1] > 0:
                    return -1
                why[n] = x ^ 1
                n += 1
        return n
    if code != CHAIN and m.out[-2 - code] >= 0:
        speaker = m.out[-2 - code] >> 1
        if speaker != literal >> 1 and mark[speaker] == 0 and level[speaker] > 0:
            return -1
    n = _explain(m, np.int64(code), np.int64(literal), np.int64(1))
    for k in range(n):
        if mark[why[k] >> 1] == 0 and level[why[k] >> 1] > 0:
            return -1
    return n


@njit(nogil=True, cache=True)
def _record(m, word):
    m.log[m.numbers[LOG_USED]] = word
    m.numbers[LOG_USED] += 1


@njit(nogil=True, cache=True)
def _used(m, code, n, stamp):
    """Record a used clause, and the permanently set literals among the first `n` of `why`."""
    if code >= 0:
        _record(m, np.int64(m.arena[code + 1]))
    for k in range(n):
        v = m.why[k] >> 1
        if m.level[v] == 0 and m.stamp[v] != stamp:
            m.stamp[v] = stamp
            _record(m, np.int64(-1 - v))


@njit(nogil=True, cache=True)
def _learn(m, code):
    """Learn the clause of the first unique implication point into `clause`; return its length.

    Its sources are appended to the log, after a gap for the clause itself, which `run` fills.
    """
    numbers, mark, level, clause, why = m.numbers, m.mark, m.level, m.clause, m.why
    current = numbers[LEVEL]
    stamp = numbers[NEXT]
    open_ones, size, implied = 0, 1, -1
    t = numbers[TRAIL] - 1
    while True:
        n = _explain(m, np.int64(code), np.int64(implied), np.int64(0))
        _used(m, np.int64(code), np.int64(n), np.int64(stamp))
        for k in range(n):
            v = why[k] >> 1
            if mark[v] == 0 and level[v] > 0:
                mark[v] = 1
                _bump(m, v)
                if level[v] == current:
                    open_ones += 1
                else:
                    clause[size] = why[k] ^ 1
                    size += 1
        while mark[m.trail[t] >> 1] == 0:
            t -= 1
        implied = m.trail[t]
        t -= 1
        mark[implied >> 1] = 0
        open_ones -= 1
        if open_ones == 0:
            break
        code = m.reason[implied >> 1]
    clause[0] = implied ^ 1
    kept = 1
    # drop literals that follow from the others; they stay marked, since others may rest on them
    for k in range(1, size):
        n = _redundant(m, clause[k] ^ 1)
        if n < 0:
            x = clause[k]
            clause[k] = clause[kept]
            clause[kept] = x
            kept += 1
        else:
            _used(m, np.int64(m.reason[clause[k] >> 1]), np.int64(n), np.int64(stamp))
    for k in range(1, size):
        mark[clause[k] >> 1] = 0
    return kept


@njit(nogil=True, cache=True)
def _add(m, size, spread):
    """Add `clause` to the arena, watched by its first two literals; return its index."""
    numbers, arena, clause = m.numbers, m.arena, m.clause
    ref = numbers[ARENA_USED]
    arena[ref] = size
    arena[ref + 1] = numbers[NEXT]
    arena[ref + 2] = spread
    numbers[NEXT] += 1
    for k in range(size):
        arena[ref + HEADER + k] = clause[k]
    numbers[ARENA_USED] = ref + HEADER + size
    if size > 1:
        for slot in range(2):
            arena[ref + 3 + slot] = m.watch[clause[slot]]
            m.watch[clause[slot]] = 2 * ref + slot
    return ref


@njit(nogil=True, cache=True)
def _write(m, start, size):
    """Complete the record of a clause whose sources are in the log from `start + 2` on: sizes, then
    sources, then literals.
    """
    m.log[start] = size
    m.log[start + 1] = m.numbers[LOG_USED] - start - 2
    for k in range(size):
        _record(m, np.int64(m.clause[k]))


@njit(nogil=True, cache=True)
def _failed(m, literal):
    """Write the clause of the assumptions that contradict `literal`, an assumption that is false; return its
    length.
    """
    mark, trail, why = m.mark, m.trail, m.why
    stamp = m.numbers[NEXT]
    m.clause[0] = literal ^ 1
    size = 1
    v = literal >> 1
    if m.level[v] == 0:
        m.why[0] = literal ^ 1
        _used(m, np.int64(-1), np.int64(1), np.int64(stamp))
        return size
    mark[v] = 1
    for t in range(m.numbers[TRAIL] - 1, m.levels[0] - 1, -1):
        x = trail[t]
        v = x >> 1
        if mark[v] == 0:
            continue
        mark[v] = 0
        code = m.reason[v]
        if code == NONE:
            m.clause[size] = x ^ 1
            size += 1
            continue
        n = _explain(m, np.int64(code), np.int64(x), np.int64(0))
        _used(m, np.int64(code), np.int64(n), np.int64(stamp))
        for k in range(n):
            if m.level[why[k] >> 1] > 0:
                mark[why[k] >> 1] = 1
    return size


# -- forgetting ----------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _reduce(m, n_original):
    """At level 0: drop satisfied clauses and the worse half of the learned ones, and rebuild the watches."""
    numbers, arena, value = m.numbers, m.arena, m.value
    counts = np.zeros(1 << 10, np.int64)
    ref, total = 0, 0
    while ref < numbers[ARENA_USED]:
        if arena[ref + 1] >= n_original and arena[ref + 2] > 2:
            counts[min(arena[ref + 2], 1023)] += 1
            total += 1
        ref += HEADER + arena[ref]
    keep, worst = 0, 2
    while worst < 1023 and keep + counts[worst + 1] <= total // 2:
        worst += 1
        keep += counts[worst]
    some = total // 2 - keep  # of the clauses with the next worse score, the latest
    skip = counts[worst + 1] - some if worst < 1023 else 0
    for x in range(2 * numbers[VARIABLES]):
        m.watch[x] = -1
    ref, to = 0, 0
    while ref < numbers[ARENA_USED]:
        size = arena[ref]
        following = ref + HEADER + size
        drop = False
        if arena[ref + 1] >= n_original and arena[ref + 2] > worst:
            if arena[ref + 2] == worst + 1 and skip <= 0:
                drop = False
            else:
                drop = True
                if arena[ref + 2] == worst + 1:
                    skip -= 1
        if not drop:
            first, good = ref + HEADER, 0
            for k in range(size):
                x = arena[first + k]
                if value[x] > 0:
                    drop = True
                    break
                if value[x] == 0 and good < 2:
                    arena[first + k] = arena[first + good]
                    arena[first + good] = x
                    good += 1
            drop = drop or good < 2
        if not drop:
            for k in range(HEADER + size):
                arena[to + k] = arena[ref + k]
            for slot in range(2):
                x = arena[to + HEADER + slot]
                arena[to + 3 + slot] = m.watch[x]
                m.watch[x] = 2 * to + slot
            to += HEADER + size
        ref = following
    numbers[ARENA_USED] = to
    for t in range(numbers[TRAIL]):
        m.reason[m.trail[t] >> 1] = NONE


# -- the search ----------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def begin(arrays, units, clauses, sizes):
    """Add the given clauses, set the given units, put every other variable into the heap, and examine every
    half once.
    """
    m = _raw(arrays)
    start = 0
    for size in sizes:
        for k in range(size):
            m.clause[k] = clauses[start + k]
        start += size
        _record(m, np.int64(size))
        _record(m, np.int64(0))
        for k in range(size):
            _record(m, np.int64(m.clause[k]))
        ref = _add(m, np.int64(size), np.int64(0))
        if size == 0:
            return
        if size == 1 and m.value[m.clause[0]] == 0:
            _set(m, np.int64(m.clause[0]), np.int64(ref))
    for x in units:
        if m.value[x] == 0:
            _set(m, np.int64(x), np.int64(NONE))
    for v in range(m.numbers[VARIABLES]):
        if m.free[v] == 1:
            _insert(m, v)
    for h in range(m.numbers[HALVES]):
        _touch(m, np.int64(h))


@njit(nogil=True, cache=True)
def _spread(m, size):
    """Return the number of levels of the literals of `clause`, and the index of the second highest level."""
    stamp = -2 - m.numbers[CONFLICTS]
    spread, second = 0, 1
    for k in range(size):
        level = m.level[m.clause[k] >> 1]
        if m.stamp[level] != stamp:
            m.stamp[level] = stamp
            spread += 1
        if k > 1 and level > m.level[m.clause[second] >> 1]:
            second = k
    return spread, second


@njit(nogil=True, cache=True)
def _draw(m):
    """Return a random bit by xorshift, so that the same seed gives the same search."""
    x = m.numbers[RANDOM]
    x ^= x << 13
    x ^= (x >> 7) & ((1 << 57) - 1)
    x ^= x << 17
    m.numbers[RANDOM] = x
    return (x >> 20) & 1


@njit(nogil=True, cache=True)
def _luby(k):
    """Return the k-th number of Luby's series, from 0: 1, 1, 2, 1, 1, 2, 4, ..."""
    size, power = 1, 0
    while size < k + 1:
        size = 2 * size + 1
        power += 1
    while size - 1 != k:
        size = (size - 1) >> 1
        power -= 1
        k = k % size
    return 1 << power


@njit(nogil=True, cache=True)
def _rank_by(m, wild):
    """Choose by activity alone, or by rank first, and rebuild the heap."""
    numbers = m.numbers
    numbers[WILD], numbers[SINCE_RESTART], numbers[RESTARTS] = wild, 0, 0
    for v in range(numbers[VARIABLES]):
        m.rank[v] = 0 if wild == 1 else m.ranked[v]
        m.heap_at[v] = -1
    numbers[HEAP] = 0
    for v in range(numbers[VARIABLES]):
        if m.free[v] == 1:
            _insert(m, v)


@njit(nogil=True, cache=True)
def run(arrays, assumptions, n_original, work):
    """Search for about `work` units; return a code from PAUSED to LOG_FULL."""
    m = _raw(arrays)
    numbers, reals, clause = m.numbers, m.reals, m.clause
    variables = numbers[VARIABLES]
    room, space = arrays.log.shape[0], arrays.arena.shape[0]
    numbers[WORK] = 0
    while True:
        if numbers[LOG_USED] + 6 * variables + 16 > room:
            return LOG_FULL
        if numbers[ARENA_USED] + variables + 2 * HEADER > space:
            return ARENA_FULL
        conflict = _propagate(m)
        if conflict != NOTHING:
            numbers[CONFLICTS] += 1
            numbers[SINCE_RESTART] += 1
            numbers[SINCE_REDUCE] += 1
            numbers[SINCE_CALL] += 1
            start = numbers[LOG_USED]
            numbers[LOG_USED] += 2
            if numbers[LEVEL] == 0:
                n = _explain(m, np.int64(conflict), np.int64(-1), np.int64(0))
                _used(m, np.int64(conflict), np.int64(n), np.int64(numbers[NEXT]))
                _write(m, np.int64(start), np.int64(0))
                numbers[SIZE] = 0
                return UNSATISFIABLE
            size = _learn(m, conflict)
            _write(m, np.int64(start), np.int64(size))
            spread, second = _spread(m, size)
            target = 0
            if size > 1:
                x = clause[1]
                clause[1] = clause[second]
                clause[second] = x
                target = m.level[clause[1] >> 1]
            _back(m, np.int64(target))
            ref = _add(m, np.int64(size), np.int64(spread))
            _set(m, np.int64(clause[0]), np.int64(ref))
            reals[GROWTH] *= 1.0 / 0.95
            reals[FAST] += (spread - reals[FAST]) / min(32, numbers[CONFLICTS])
            reals[SLOW] += (spread - reals[SLOW]) / min(2048, numbers[CONFLICTS])
            continue
        if numbers[WORK] > work:
            return PAUSED
        if numbers[WILD] == 1:
            restart = numbers[SINCE_RESTART] >= _LUBY * _luby(numbers[RESTARTS])
        else:
            restart = numbers[SINCE_RESTART] > 50 and reals[FAST] > 1.15 * reals[SLOW]
        if restart:
            _back(m, np.int64(0))
            numbers[SINCE_RESTART] = 0
            numbers[RESTARTS] += 1
        if numbers[WILD] == 0 and numbers[SINCE_CALL] > numbers[TAME]:
            _back(m, np.int64(0))
            _rank_by(m, np.int64(1))
        if numbers[SINCE_REDUCE] > numbers[REDUCE]:
            _back(m, np.int64(0))
            _reduce(m, n_original)
            numbers[SINCE_REDUCE] = 0
            numbers[REDUCE] += 300
        choice = -1
        while numbers[LEVEL] < assumptions.shape[0]:
            x = assumptions[numbers[LEVEL]]
            if m.value[x] < 0:
                start = numbers[LOG_USED]
                numbers[LOG_USED] += 2
                size = _failed(m, x)
                _write(m, np.int64(start), np.int64(size))
                numbers[NEXT] += 1
                numbers[SIZE] = size
                return FAILED
            if m.value[x] == 0:
                choice = x
                break
            m.levels[numbers[LEVEL]] = numbers[TRAIL]
            numbers[LEVEL] += 1
        while choice < 0 and numbers[HEAP] > 0:
            v = _pop(m)
            if m.free[v] == 1:
                choice = 2 * v + (_draw(m) if numbers[WILD] == 1 else m.phase[v])
        if choice < 0:
            return SATISFIED
        numbers[DECISIONS] += 1
        m.levels[numbers[LEVEL]] = numbers[TRAIL]
        numbers[LEVEL] += 1
        _set(m, np.int64(choice), np.int64(NONE))


@njit(nogil=True, cache=True)
def back_to_start(arrays):
    """Undo everything that is not set permanently, and restart as a tame search."""
    m = _raw(arrays)
    _back(m, np.int64(0))
    m.numbers[SINCE_CALL] = 0
    if m.numbers[WILD] == 1:
        _rank_by(m, np.int64(0))


@njit(nogil=True, cache=True)
def starts_of(log, count):
    """Return the start of each clause of a log."""
    starts = np.zeros(count, np.int64)
    at = 0
    for number in range(count):
        starts[number] = at
        at += 2 + log[at] + log[at + 1]
    return starts


@njit(nogil=True, cache=True)
def trim(arrays, log, starts, last):
    """At level 0: find the clauses of the log, and the permanently set variables, on which `last` rests."""
    m = _raw(arrays)
    needed = np.zeros(starts.shape[0], np.uint8)
    asked = np.zeros(m.numbers[VARIABLES], np.uint8)
    stack = np.zeros(m.numbers[VARIABLES], np.int64)
    needed[last] = 1
    for number in range(last, -1, -1):
        if needed[number] == 0:
            continue
        start = starts[number]
        size = 0
        for k in range(start + 2, start + 2 + log[start + 1]):
            if log[k] >= 0:
                needed[log[k]] = 1
            elif asked[-1 - log[k]] == 0:
                asked[-1 - log[k]] = 1
                stack[size] = -1 - log[k]
                size += 1
        while size > 0:
            size -= 1
            v = stack[size]
            code = m.origin[v]
            n = 0
            if code >= 0:
                needed[code] = 1
                first = starts[code] + 2 + log[starts[code] + 1]
                for k in range(first, first + log[starts[code]]):
                    if log[k] >> 1 != v:
                        m.why[n] = log[k]
                        n += 1
            elif code != NONE:
                n = _explain(m, np.int64(code), np.int64(2 * v + (m.value[2 * v] < 0)), np.int64(0))
            for k in range(n):
                u = m.why[k] >> 1
                if asked[u] == 0:
                    asked[u] = 1
                    stack[size] = u
                    size += 1
    return needed, asked


@njit(nogil=True, cache=True)
def literals_of(log, starts, needed, n_original):
    """Return the needed clauses without the given ones, as signed variable numbers from 1, in the order of
    the variables, with a 0 after each.
    """
    size = 0
    for number in range(n_original, starts.shape[0]):
        if needed[number] == 1:
            size += log[starts[number]] + 1
    out = np.zeros(size, np.int64)
    at = 0
    for number in range(n_original, starts.shape[0]):
        if needed[number] == 1:
            first = starts[number] + 2 + log[starts[number] + 1]
            count = log[starts[number]]
            for k in range(count):
                x = log[first + k]
                index = at + k
                while index > at and abs(out[index - 1]) > (x >> 1) + 1:
                    out[index] = out[index - 1]
                    index -= 1
                out[index] = -(x >> 1) - 1 if x & 1 else (x >> 1) + 1
            at += count + 1
    return out
