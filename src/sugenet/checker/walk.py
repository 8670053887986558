"""Walking all changes once more, for the checker: nothing here is shared with the engines.

Every set of options is visited one by one, in plain loops; each different pattern of the first layer is then
taken through the later layers by counting the literals that hold, as the definition says.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.bnn.layers import match_counts
from sugenet.checker.limit import Limit
from sugenet.errors import TooLargeError

__all__ = ["MOST_SETS", "Walked", "walk"]

_CHUNK = 1 << 17  # words of patterns that a thread finds before they are put together
_STEPS = 1 << 22  # sets times words that a thread visits before it looks at the clock
_BATCH = 1 << 14  # patterns that are judged at a time, at most
_WORK = 1 << 27  # words of literals for all of them
_TOO_HEAVY = 1 << 60
MOST_SETS = 10**13
_RECENT = 1 << 16  # words of patterns that a thread remembers before it looks them up
_SHARED = 2  # sets of so many options are dealt out to the threads, each with all that it begins

_Patterns = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Walked:
    """What a walk over all sets of options saw."""

    sets: int
    """Sets, the empty one included."""
    patterns: int
    """Different sets of first-layer neurons that they turn, the empty one included."""
    digest: str
    """Sum over the patterns of splitmix64(z) modulo 2^64, z the XOR over the turned neurons j (from 0) of
    splitmix64(j + 1).
    """
    bad: bool
    """Whether some pattern is a violation."""


def walk(
    base: Ints,
    features: Sequence[Sequence[tuple[int, Ints]]],
    budget: int | None,
    layers: Iterable[Any],
    head: Ints,
    violates: Callable[[Ints], npt.NDArray[np.bool_]],
    threads: int | None = None,
    most: int = MOST_SETS,
    patterns: int = MOST_SETS,
    limit: Limit | None = None,
) -> Walked:
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
    loose, together = _loose(np.asarray(base, np.int64), gains, used, weight, heaviest)
    count = threads or _cores()
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
    behind = (
        np.repeat(np.cumsum(sizes), sizes).astype(np.int64) if sizes else np.zeros(0, np.int64)
    )  # first option of the next feature
    lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], _TOO_HEAVY)
    judged = _judge_of(np.asarray(base) >= 0, loose, list(layers), np.asarray(head), limit)
    tally = _Tally(most, patterns, count, words, limit)
    with ThreadPoolExecutor(count) as pool, tally:
        step = (start, rows, weight, behind, lightest, heaviest, together)
        tables = list(pool.map(lambda turn: _share(step, turn, tally), range(count)))
        known, size = tables[0]
        for others, many in tables[1:]:
            if not tally.over:
                known, size = tally.put(0, known, size, _listed(others, many))
        if tally.over:
            return Walked(tally.sets, max(tally.sizes), "", False)
        tables.clear()
        limit.fits(16 * words * (size + 1), "all patterns of a walk")
        found = np.concatenate([_listed(known, size), np.zeros((1, words), np.uint64)])
        del known

        def judge(k: int) -> tuple[bool, int]:
            limit.look()
            batch = found[k : k + judged.batch]
            return bool(np.any(violates(judged.counts(batch)))), int(_digest(batch, loose))

        seen = list(pool.map(judge, range(0, len(found), judged.batch)))
    return Walked(
        tally.sets,
        len(found),
        f"{sum(part for _, part in seen) & ((1 << 64) - 1):016x}",
        any(bad for bad, _ in seen),
    )


class _Tally:
    """What the threads of a walk have seen together, and whether that is more than was claimed."""

    def __init__(self, most: int, patterns: int, threads: int, words: int, limit: Limit) -> None:
        self.most, self.patterns, self.threads, self.words, self.limit = most, patterns, threads, words, limit
        self.walked, self.sizes = (
            [0] * threads,
            [1] * threads,
        )  # sets, and patterns with the empty one, of each thread
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

    def put(self, turn: int, known: _Patterns, size: int, more: _Patterns) -> tuple[_Patterns, int]:
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


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def _loose(
    base: Ints, gains: Ints, used: list[list[tuple[int, Ints]]], weight: Ints, limit: int
) -> tuple[npt.NDArray[np.int64], int]:
    """Neurons that may turn: the largest steps of as many features as fit together would do it;
    and how many fit together.
    """
    if not used:
        return np.zeros(0, np.int64), 0
    starts = np.cumsum([0, *(len(options) for options in used)])[:-1]
    fit = int((np.cumsum(np.sort(np.minimum.reduceat(weight, starts))) <= limit).sum())
    up = np.sort(np.maximum(np.maximum.reduceat(gains, starts, axis=0), 0), axis=0)[::-1][:fit].sum(axis=0)
    down = np.sort(np.minimum(np.minimum.reduceat(gains, starts, axis=0), 0), axis=0)[:fit].sum(axis=0)
    return np.flatnonzero(np.where(base >= 0, base + down < 0, base + up >= 0)).astype(np.int64), fit


def _share(step: tuple[Any, ...], turn: int, tally: _Tally) -> tuple[_Patterns, int]:
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
            out[n] = known[place]
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
    sums[0] = start
    for d in range(depth):
        sums[d + 1] = sums[d] + rows[chosen[d]]
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
            sums[depth + 1] = sums[depth] + rows[k]
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
                z ^= _splitmix64(nb.uint64(loose[j] + 1))
        total += _splitmix64(z)
    return total


@nb.njit(nogil=True, cache=True)
def _splitmix64(value):  # type: ignore[no-untyped-def]
    z = nb.uint64(value + nb.uint64(0x9E3779B97F4A7C15))
    z = nb.uint64((z ^ (z >> nb.uint64(30))) * nb.uint64(0xBF58476D1CE4E5B9))
    z = nb.uint64((z ^ (z >> nb.uint64(27))) * nb.uint64(0x94D049BB133111EB))
    return z ^ (z >> nb.uint64(31))


def _judge_of(
    active: npt.NDArray[np.bool_], loose: Any, layers: list[Any], head: Ints, limit: Limit
) -> _Later | _Defined:
    written = all(isinstance(layer, tuple) and len(layer[1]) for layer in layers) and len(active) > 0
    return _Later(active, loose, layers, head, limit) if written else _Defined(active, loose, layers, head)


class _Defined:
    """The layers behind the first as the definition has them, for those that would be large as bits
    of their literals.
    """

    batch = 1 << 6

    def __init__(self, active: npt.NDArray[np.bool_], loose: Any, layers: list[Any], head: Ints) -> None:
        self.active, self.loose, self.layers, self.head = active, loose, layers, head

    def counts(self, patterns: _Patterns) -> Ints:
        """Match counts of the classes, one row a pattern."""
        bits = np.repeat(self.active[None], len(patterns), axis=0)
        turned = np.unpackbits(patterns.astype("<u8").view(np.uint8), axis=1, bitorder="little")[
            :, : len(self.loose)
        ]
        bits[:, self.loose] ^= turned.astype(bool)
        for layer in self.layers:
            bits = (
                match_counts(layer[0], bits) >= layer[1] if isinstance(layer, tuple) else layer.activity(bits)
            )
        return match_counts(self.head, bits)


class _Later:
    """The layers behind the first, as bits of their literals: one whose weight has the binary digit b adds
    2^b where it holds.
    """

    def __init__(
        self,
        active: npt.NDArray[np.bool_],
        loose: Any,
        layers: list[tuple[Ints, Ints]],
        head: Ints,
        limit: Limit,
    ) -> None:
        layers = [(np.asarray(weights), np.asarray(tau)) for weights, tau in layers]
        every = [weights for weights, _ in layers] + [head]
        self.sizes = np.array([*(len(tau) for _, tau in layers), len(head)], np.int64)
        widest = int(self.sizes.max()) + 63
        digits = [int(np.abs(weights).max(initial=0)).bit_length() for weights in every]
        inside = sum(
            max(1, many) * -(-weights.shape[1] // 64) for many, weights in zip(digits, every, strict=True)
        )
        self.batch = max(16, min(_BATCH, _WORK // (widest * inside)))
        limit.take(
            64 * widest * inside + 48 * sum(weights.size for weights in every), "the later layers in bits"
        )
        self.tau = np.full((len(self.sizes), widest), _TOO_HEAVY)
        for number, (_, tau) in enumerate(layers):
            self.tau[number, : len(tau)] = tau
        rows, places = [], []
        self.start = np.zeros((len(every), widest), np.uint64)
        held = np.where(
            active, np.maximum(every[0], 0), np.maximum(-every[0], 0)
        )  # literals that hold whatever the loose neurons do
        held[:, loose] = 0
        self.start[0, : len(held)] = held.sum(axis=1)
        every[0] = np.where(active, -every[0], every[0])[:, loose]  # literals over what has turned
        for number, weights in enumerate(every):
            for digit in range(max(1, int(np.abs(weights).max(initial=0)).bit_length())):
                has = (np.abs(weights) >> digit & 1).astype(bool)
                both = np.stack([_bits(has & (weights > 0)), _bits(has & (weights < 0))])
                places += [(number, word, digit) for word in range(both.shape[2])]
                rows += [
                    np.pad(both[:, :, word], ((0, 0), (0, widest - len(weights))))
                    for word in range(both.shape[2])
                ]
        self.places = np.array(places, np.int64).reshape(-1, 3)
        self.positive, self.negative = (
            np.array(rows, np.uint64).reshape(-1, 2, widest).transpose(1, 0, 2).copy()
        )

    def counts(self, patterns: _Patterns) -> Ints:
        """Match counts of the classes, one row a pattern."""
        out = np.empty((len(patterns), self.sizes[-1]), np.int64)
        _run(patterns, self.start, self.places, self.positive, self.negative, self.tau, self.sizes, out)
        return out


def _bits(truths: npt.NDArray[np.bool_]) -> _Patterns:
    """Rows of truth values as words, the first in the lowest bit."""
    padded = np.pad(truths, ((0, 0), (0, -truths.shape[1] % 64))).reshape(len(truths), -1, 64)
    words: _Patterns = (padded.astype(np.uint64) << np.arange(64, dtype=np.uint64)).sum(
        axis=2, dtype=np.uint64
    )
    return words


@nb.njit(nogil=True, cache=True)
def _ones(x):  # type: ignore[no-untyped-def]
    x = x - ((x >> nb.uint64(1)) & nb.uint64(0x5555555555555555))
    x = (x & nb.uint64(0x3333333333333333)) + ((x >> nb.uint64(2)) & nb.uint64(0x3333333333333333))
    x = (x + (x >> nb.uint64(4))) & nb.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * nb.uint64(0x0101010101010101)) >> nb.uint64(56)


@nb.njit(nogil=True, cache=True)
def _run(patterns, start, places, positive, negative, tau, sizes, out):  # type: ignore[no-untyped-def]
    """Match counts of the last layer.

    Row r of `places`: the layer, input word and binary digit that row r of the weights is for.
    """
    words = np.zeros(max(patterns.shape[1], (sizes.max() + 63) // 64), np.uint64)
    count = np.zeros(sizes.max() + 63, np.uint64)
    for row in range(len(patterns)):
        for w in range(patterns.shape[1]):
            words[w] = patterns[row, w]
        r = 0
        for layer in range(len(sizes)):
            size = sizes[layer]
            for i in range(len(count)):
                count[i] = start[layer, i]
            while r < len(places) and places[r, 0] == layer:
                word, digit = words[places[r, 1]], nb.uint64(places[r, 2])
                for i in range(size):
                    count[i] += _ones((word & positive[r, i]) | (~word & negative[r, i])) << digit
                r += 1
            if layer < len(sizes) - 1:
                for w in range((size + 63) // 64):
                    word = nb.uint64(0)
                    for i in range(64):  # tau is beyond reach behind the last neuron
                        word |= nb.uint64(nb.int64(count[64 * w + i]) >= tau[layer, 64 * w + i]) << nb.uint64(
                            i
                        )
                    words[w] = word
        for k in range(sizes[-1]):
            out[row, k] = count[k]
