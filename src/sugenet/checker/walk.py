"""Walking through all changes once more: every set of options is visited one by one, in plain loops
(`plain` has the same with ``itertools``).

To be ensured: no set within the budget is left out, and each different pattern of the first layer is
judged, with all its layers behind (`later`). What was seen must have the numbers and the digest of the
certificate. Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.bnn import DenseLayer
from sugenet.bnn.arrays import Ints
from sugenet.checker.bounds import most_together
from sugenet.checker.later import Patterns, cores, judge_of, splitmix64
from sugenet.checker.limit import Limit
from sugenet.checker.plain import WalkSeen, plain_walk
from sugenet.checker.whole import Options, Whole, reachable
from sugenet.errors import CertificateError, TooLargeError

__all__ = ["MOST_SETS", "as_claimed", "check_walk", "patterns_of", "walk"]

_CHUNK = 1 << 17  # words of patterns that a thread finds before they are put together
_STEPS = 1 << 22  # sets times words that a thread visits before it looks at the clock
_TOO_HEAVY = 1 << 60
MOST_SETS = 10**13
_RECENT = 1 << 16  # words of patterns that a thread remembers before it looks them up
_SHARED = 2  # sets of so many options are dealt out to the threads, each with all that it begins
_WRITTEN = 1 << 22
"""Weights of later layers up to which convolutions are written out as neurons, which is faster then."""


def check_walk(proof: dict[str, Any], whole: Whole, *, plain: bool = False) -> str:
    """Walk through all changes once more, and compare the numbers with what the certificate says."""
    sets = proof["sets"]
    if type(sets) is not int or not 0 < sets <= MOST_SETS:
        raise CertificateError(f"a walk goes through at most {MOST_SETS:,} sets.")
    patterns = patterns_of(proof)
    form, layers = (plain_walk, whole.layers) if plain else (walk, _behind(whole))
    problem = whole.base, whole.features, whole.budget, layers, whole.head, whole.violates
    found = form(*problem, most=sets, patterns=patterns, limit=whole.limit)
    if found.bad:
        raise CertificateError("a change that the certificate excludes is a violation.")
    if found.sets > sets:
        raise CertificateError(f"there are more than the {sets:,} sets of changes that the certificate says.")
    if found.patterns > patterns:
        raise CertificateError(f"there are more than the {patterns:,} patterns that the certificate says.")
    return as_claimed(found, proof)


def patterns_of(proof: dict[str, Any]) -> int:
    """How many patterns a walk is said to meet."""
    sets, patterns = proof["sets"], proof["patterns"]
    if type(sets) is not int or type(patterns) is not int or not 0 < patterns <= sets:
        raise CertificateError("a walk meets a pattern or more, and no more of them than sets.")
    return patterns


def as_claimed(found: WalkSeen, proof: dict[str, Any]) -> str:
    """See that a walk without a violation has the numbers of the certificate; say what was seen."""
    claimed = (proof["sets"], proof["patterns"], proof["digest"])
    if (found.sets, found.patterns, found.digest) != claimed:
        raise CertificateError(
            f"the walk has {found.sets} sets, {found.patterns} patterns and digest {found.digest}, "
            f"but the certificate says {str(claimed)[:120]}."
        )
    return (
        f"none of the {found.sets:,} changes is a violation ({found.patterns:,} patterns, "
        f"digest {found.digest})"
    )


def _behind(whole: Whole) -> list[Any]:
    """The later layers as weights and tau; as they are where some would be large so, or have no neurons."""
    sizes = [
        layer.outputs * layer.inputs for layer in whole.behind if not isinstance(layer, tuple | DenseLayer)
    ]
    empty = not len(whole.base) or any(
        (len(layer[1]) if isinstance(layer, tuple) else layer.outputs) == 0 for layer in whole.behind
    )
    return list(whole.behind) if empty or sum(sizes) > _WRITTEN else list(whole.layers)


def walk(
    base: Ints,
    features: Options,
    budget: int | None,
    layers: Iterable[Any],
    head: Ints,
    violates: Callable[[Ints], npt.NDArray[np.bool_]],
    threads: int | None = None,
    most: int = MOST_SETS,
    patterns: int = MOST_SETS,
    limit: Limit | None = None,
) -> WalkSeen:
    """Walk every set with at most one option a feature, weights summing to at most the budget,
    and judge every pattern.

    Parameters
    ----------
    base
        M - tau of the first layer at the sample.
    features
        For each feature its options: a whole weight, and what the option adds to `base`.
    budget
        For the sum of the weights; None allows every set.
    layers
        The layers behind the first: weights and tau of all of them, or some as layers of a network.
    head
        Weights of the head, one row a class.
    violates
        From match counts of the classes, one row a pattern, to whether they are a violation;
        called from several threads.
    threads
        How many may work at once; one per core when None.
    most, patterns
        Stop once there are more sets or patterns than this; they are then not judged.
    limit
        Of time and memory.
    """
    limit = limit or Limit(None, None)
    used = [list(options) for options in features if len(options)]
    weight, heaviest = _weights(used, budget)
    limit.take(16 * len(weight) * len(base), "all changes of a walk")
    gains = np.array([gain for options in used for _, gain in options], np.int64).reshape(
        len(weight), len(base)
    )
    together = most_together((min(price for price, _ in options) for options in used), heaviest)
    low, high = reachable(np.asarray(base, np.int64), used, together)
    loose = np.flatnonzero((low >= 0) != (high >= 0)).astype(np.int64)
    count = threads or cores()
    # Sums of at most `together` gains and a base: below 2^31,
    # so that int32 holds them and every one on the way.
    small = (
        int(np.abs(base[loose]).max(initial=0))
        + int(np.abs(gains[:, loose]).max(initial=0)) * max(1, together)
        < 1 << 31
    )
    words = max(1, -(-len(loose) // 64))
    limit.take(
        64 * words * (8 - 4 * small) * (len(gains) + 1 + count * (together + 3)), "all changes of a walk"
    )
    lanes = np.full((len(gains) + 1, 64 * words), 0, np.int32 if small else np.int64)
    lanes[0] = -1  # neurons that never turn, behind the last
    lanes[0, : len(loose)], lanes[1:, : len(loose)] = base[loose], gains[:, loose]
    del gains
    start, rows = lanes[0].reshape(words, 64), lanes[1:].reshape(-1, words, 64)
    sizes = [len(options) for options in used]
    # first option of the next feature
    behind = np.repeat(np.cumsum(sizes), sizes).astype(np.int64) if sizes else np.zeros(0, np.int64)
    lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], _TOO_HEAVY)
    judged = judge_of(np.asarray(base) >= 0, loose, list(layers), np.asarray(head), limit)
    tally = _Tally(most, patterns, count, words, limit)
    with ThreadPoolExecutor(count) as pool, tally:
        step = (start, rows, weight, behind, lightest, heaviest, together)
        tables = list(pool.map(lambda turn: _share(step, turn, tally), range(count)))
        known, size = tables[0]
        for others, many in tables[1:]:
            if not tally.over:
                known, size = tally.put(0, known, size, _listed(others, many))
        if tally.over:
            return WalkSeen(tally.sets, max(tally.sizes), "", False)
        tables.clear()
        limit.fits(16 * words * (size + 1), "all patterns of a walk")
        found = np.concatenate([_listed(known, size), np.zeros((1, words), np.uint64)])
        del known

        def judge(k: int) -> tuple[bool, int]:
            limit.look()
            batch = found[k : k + judged.batch]
            return bool(np.any(violates(judged.counts(batch)))), int(_digest(batch, loose))

        seen = list(pool.map(judge, range(0, len(found), judged.batch)))
    return WalkSeen(
        tally.sets,
        len(found),
        f"{sum(part for _, part in seen) & ((1 << 64) - 1):016x}",
        any(bad for bad, _ in seen),
    )


class _Tally:
    """What the threads of a walk have seen together, and whether that is more than was claimed."""

    def __init__(self, most: int, patterns: int, threads: int, words: int, limit: Limit) -> None:
        self.most, self.patterns, self.threads, self.words, self.limit = most, patterns, threads, words, limit
        # sets, and patterns with the empty one, of each thread
        self.walked, self.sizes = (
            [0] * threads,
            [1] * threads,
        )
        self.room = [0] * threads  # bytes of each thread's table
        self.stopped = False

    def __enter__(self) -> _Tally:
        return self

    def __exit__(self, *error: object) -> None:
        self.stopped = True  # an error or an interrupt in one thread ends the others soon

    @property
    def sets(self) -> int:
        return sum(self.walked)

    @property
    def over(self) -> bool:
        """Whether there are more sets or patterns than was claimed: a thread's patterns are all different."""
        return self.sets > self.most or max(self.sizes) > self.patterns

    def put(self, turn: int, known: Patterns, size: int, more: Patterns) -> tuple[Patterns, int]:
        """Put patterns into a thread's table, a larger one where it gets too full and there
        is memory for that.
        """
        if 2 * (size + len(more)) > len(known):
            room = 1 << (2 * (size + len(more))).bit_length()
            self.room[turn] = 8 * self.words * room
            self.limit.fits(sum(self.room) + 16 * self.words * size, "the patterns of a walk")
            old, known = _listed(known, size), np.zeros((room, self.words), np.uint64)
            _put(known, old)
        size += int(_put(known, more))
        self.sizes[turn] = size + 1
        return known, size


def _weights(used: list[list[tuple[int, Ints]]], budget: int | None) -> tuple[Ints, int]:
    """Weights of all options, and what they may sum to."""
    weights = [int(weight) for options in used for weight, _ in options]
    if any(weight < 0 for weight in weights):
        raise ValueError("an option has a negative weight.")
    if sum(weights) >= _TOO_HEAVY:
        raise TooLargeError("the costs are too finely divided to walk through again.")
    if budget is not None and budget < 0:
        raise ValueError(f"a budget of {budget} does not even allow the empty set.")
    return np.array(weights, np.int64), sum(weights) if budget is None else min(int(budget), sum(weights))


def _share(step: tuple[Any, ...], turn: int, tally: _Tally) -> tuple[Patterns, int]:
    """One thread's share of the sets: a table of their different patterns but the empty one (0 stands for a
    free place), and its size.
    """
    start, rows, weight, behind, lightest, heaviest, together = step
    words = tally.words
    chosen = np.full(together + 2, -1, np.int64)
    state = np.zeros(3, np.int64)  # depth, sets of `_SHARED` options met, sets walked
    chunk = np.zeros((max(64, _CHUNK // words), words), np.uint64)
    recent = np.zeros((1 << max(6, (_RECENT // words).bit_length() - 1), words), np.uint64)
    known, size, more = np.zeros((64, words), np.uint64), 0, True
    steps = max(1, _STEPS // words)
    while more and not (tally.over or tally.stopped):
        tally.limit.look()
        here = min(steps, tally.most + 1)
        more, found = _visit(
            state,
            chosen,
            start,
            rows,
            weight,
            behind,
            lightest,
            heaviest,
            turn,
            tally.threads,
            recent,
            chunk,
            here,
        )
        tally.walked[turn] = int(state[2])
        known, size = tally.put(turn, known, size, chunk[:found])
    return known, size


@nb.njit(nogil=True, cache=True)
def _put(known, patterns):  # type: ignore[no-untyped-def]
    """Put patterns that are not 0 into the table; how many are new."""
    new = 0
    words, last = patterns.shape[1], nb.uint64(len(known) - 1)  # the size is a power of 2
    for row in range(len(patterns)):
        place = _mix(patterns, row) & last
        if words == 1:  # the same as below, without loops
            key = patterns[row, 0]
            there = known[place, 0]
            while there != key and there != nb.uint64(0):
                place = (place + nb.uint64(1)) & last
                there = known[place, 0]
            known[place, 0] = key
            new += there != key
            continue
        while True:
            free = same = True
            for w in range(words):
                free &= known[place, w] == 0
                same &= known[place, w] == patterns[row, w]
            if free or same:
                break
            place = (place + nb.uint64(1)) & last
        if free and not same:
            new += 1
            for w in range(words):
                known[place, w] = patterns[row, w]
    return new


@nb.njit(nogil=True, cache=True)
def _listed(known, size):  # type: ignore[no-untyped-def]
    """The patterns in a table."""
    out = np.empty((size, known.shape[1]), np.uint64)
    n = 0
    for place in range(len(known)):
        some = nb.uint64(0)
        for w in range(known.shape[1]):
            some |= known[place, w]
        if some != nb.uint64(0):
            for w in range(known.shape[1]):
                out[n, w] = known[place, w]
            n += 1
    return out


@nb.njit(nogil=True, cache=True)
def _mix(patterns, row):  # type: ignore[no-untyped-def]
    mixed = nb.uint64(0)
    for w in range(patterns.shape[1]):
        mixed = nb.uint64((mixed ^ patterns[row, w]) * nb.uint64(0xD1342543DE82EF95))
        mixed ^= mixed >> nb.uint64(31)
    return mixed


@nb.njit(nogil=True, cache=True)
def _add(sums, depth, rows, k):  # type: ignore[no-untyped-def]
    """The sums of the next depth, with option k."""
    for w in range(rows.shape[1]):
        for j in range(64):
            sums[depth + 1, w, j] = sums[depth, w, j] + rows[k, w, j]


@nb.njit(nogil=True, cache=True)
def _visit(state, chosen, start, rows, weight, behind, lightest, limit, turn, turns, recent, chunk, steps):  # type: ignore[no-untyped-def]
    """Visit sets depth first from where `state` and `chosen` are, and write down which neurons each turns,
    until the chunk is full.

    It also ends after so many steps. Whether there are more sets, and how many patterns were written down.

    A pattern that was written down a short time ago, or is empty, is not written again. Sets of `_SHARED`
    options and what they begin belong to the threads in turn, smaller ones to the first.
    """
    options, words = rows.shape[0], rows.shape[1]
    active = np.zeros(words, np.uint64)
    for w in range(words):
        for j in range(64):
            active[w] |= nb.uint64(start[w, j] >= 0) << nb.uint64(j)
    size = 0
    depth = state[0]
    sums = np.zeros((len(chosen) + 1, words, 64), start.dtype)
    spent = np.zeros(len(chosen) + 1, np.int64)
    for w in range(words):
        for j in range(64):
            sums[0, w, j] = start[w, j]
    for d in range(depth):
        _add(sums, d, rows, chosen[d])
        spent[d + 1] = spent[d] + weight[chosen[d]]
    if depth == 0 and chosen[0] == -1 and turn == 0:
        state[2] = 1  # the empty set
    went_on = False
    while depth >= 0:
        deeper = False
        k = chosen[depth] + 1  # chosen[depth] is the option tried last at this depth
        while k < options:
            if spent[depth] + weight[k] > limit:
                steps -= 1
                k = options if spent[depth] + lightest[k] > limit else k + 1
                continue
            steps -= 1
            if size == len(chunk) or (steps < 0 and went_on):
                state[0], chosen[depth] = depth, k - 1
                return True, size
            went_on = True
            if depth + 1 == _SHARED:
                state[1] += 1
            mine = (state[1] % turns if depth + 1 >= _SHARED else 0) == turn
            if mine:
                state[2] += 1
                for w in range(words):
                    key = active[w]
                    for j in range(64):
                        key ^= nb.uint64(sums[depth, w, j] + rows[k, w, j] >= 0) << nb.uint64(j)
                    chunk[size, w] = key
                place, fresh = _mix(chunk, size) & nb.uint64(len(recent) - 1), False
                for w in range(words):
                    fresh |= recent[place, w] != chunk[size, w]
                    recent[place, w] = chunk[size, w]
                size += fresh
            if (mine or depth + 1 < _SHARED) and spent[depth] + weight[k] + lightest[behind[k]] <= limit:
                deeper = True
                break
            k += 1
        chosen[depth] = k
        if deeper:
            _add(sums, depth, rows, k)
            spent[depth + 1] = spent[depth] + weight[k]
            depth += 1
            chosen[depth] = behind[k] - 1
        else:
            depth -= 1
    return False, size


@nb.njit(nogil=True, cache=True)
def _digest(patterns, loose):  # type: ignore[no-untyped-def]
    total = nb.uint64(0)
    for row in range(len(patterns)):
        z = nb.uint64(0)
        for j in range(len(loose)):
            if patterns[row, j // 64] >> nb.uint64(j % 64) & nb.uint64(1):
                z ^= splitmix64(nb.uint64(loose[j] + 1))
        total += splitmix64(z)
    return total
