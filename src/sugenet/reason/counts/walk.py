"""Counting by a walk over all combinations, shared between threads part by part (docs/theory.md 8.4).

If there are very many, they are counted by blocks of planes (docs/theory.md 7.12).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, prod
from threading import Lock
from typing import Any

import numpy as np

from sugenet.bits.threads import share
from sugenet.engines.walk.blocks import BlockWalk, fits, in_planes, thresholds
from sugenet.engines.walk.choices import sums_of
from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Ints
from sugenet.problem.neighbourhood import one_more
from sugenet.reason.counts.space import Space, Tail

__all__ = [
    "MANY",
    "Part",
    "Partition",
    "count_blocks",
    "count_walk",
    "is_for_blocks",
    "scores_of",
    "tail_arrays",
]

MANY = 1 << 26
"""Number of combinations from which on blocks are used."""


def is_for_blocks(space: Space, rows: Any) -> bool:
    """Return whether a space with a budget is suitable for blocks; `rows` is what the options add to the
    lanes.
    """
    return (
        space.budget is not None and space.total >= MANY and in_planes(space.tail.layers) > 0 and fits(rows)
    )


def count_blocks(
    space: Space,
    weights: Sequence[Ints],
    rows: Any,
    together: int,
    tail: tuple[Any, ...],
    stop: Any,
    step: Callable[[float], None],
    threads: int | None,
) -> Ints:
    """Count the sets of each class that can win, one row per feature: sets in which it is the first to
    change.

    Sets that were not counted when `stop` was set are missing.
    """
    assert space.budget is not None
    sizes = [len(row) for row in weights]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    weight = np.concatenate(weights)
    start = np.full(rows.shape[1], -1, rows.dtype)
    start[: len(space.start)] = space.start
    out = np.zeros((len(sizes), len(space.tail.classes)), np.int64)
    labels = _Labels(space, tail)
    lone = np.flatnonzero(weight <= space.budget)
    np.add.at(out, (owner[lone], labels.first(start + rows[lone].astype(np.int64) >= 0)), 1)
    # the walk begins with the largest move
    back = np.arange(len(weight))[::-1]
    turned = owner[back]
    before = np.searchsorted(-turned, -turned)
    layers = [(_wide(w, rows.shape[1]) if k == 0 else w, t) for k, (w, t) in enumerate(labels.layers)]
    walk = BlockWalk(
        start,
        rows[back],
        weight[back],
        before,
        space.budget,
        together,
        layers,
        labels,
        out.shape[1],
        labels.guards,
    )
    lasts = np.flatnonzero(before > 0)[::-1].tolist()
    done = [0]

    def tell(sets: int) -> None:
        done[0] += sets
        step(min(1.0, done[0] / space.total))

    results = walk.run(lasts, np.zeros(out.shape[1], bool), lambda: bool(stop[0]), threads, tell)
    for last, met in results.items():
        out[turned[last]] += met.tally
    return out


def _wide(weights: Ints, lanes: int) -> Ints:
    """Return weights over whole words of lanes."""
    out = np.zeros((len(weights), lanes), np.int64)
    out[:, : weights.shape[1]] = weights
    return out


class _Labels:
    """Classes of patterns after the layers in planes, as positions among the classes that can win."""

    def __init__(self, space: Space, tail: tuple[Any, ...]) -> None:
        self.space, self.tail, self.depth = space, tail, in_planes(space.tail.layers)
        self.layers = [
            (w, bounds - np.minimum(w, 0).sum(axis=1)) for w, bounds in space.tail.layers[: self.depth]
        ]

    def first(self, bits: Any) -> Ints:
        """Return the classes of patterns of the first layer, given as truth values over the lanes."""
        from sugenet.engines.walk.twins import words_of

        return self._classes(words_of(bits), 0)

    def guards(self, _bits: Any, label: int) -> tuple[Ints, Ints] | None:
        """Return the conditions under which the class at this position wins.

        It scores more than the classes before it, and no less than those after it.
        """
        ends = self.space.tail
        if self.depth < len(ends.layers):
            return None
        slopes, offsets = (np.array(row, object) for row in (ends.slopes, ends.offsets))
        others = [k for k in range(len(slopes)) if k != label]
        scores = ends.weights.astype(object) * slopes[:, None]
        more = np.array([int(k < label) for k in others], object)
        if not others:
            return None
        return thresholds(scores[label] - scores[others], more - offsets[label] + offsets[others])

    def __call__(self, patterns: Any) -> Ints:
        return self._classes(patterns, self.depth)

    def _classes(self, patterns: Any, first: int) -> Ints:
        from sugenet.reason.counts.kernels import SIZE, classify

        layers = self.tail[0]
        words = max(patterns.shape[1], *((np.diff(layers).max(initial=1) + 63) >> 6,))
        work, numbers = np.zeros((2, int(words), SIZE), np.uint64), np.zeros((3, SIZE), np.int64)
        out = np.empty(len(patterns), np.int64)
        for k in range(0, len(patterns), SIZE):
            part = np.ascontiguousarray(patterns[k : k + SIZE].T)
            classify(part, part.shape[1], self.tail, first, work, *numbers)
            out[k : k + SIZE] = numbers[2, : part.shape[1]]
        return out


_PARTS = 64  # about this many parts of a region without a budget
_LEAVES = 1 << 9
_COSTLY = 160  # later neurons from which on patterns are worth remembering
_TABLE, _LARGEST = 1 << 16, 1 << 24  # rows for patterns with their class
_RECENT = 1 << 12  # patterns that repeat at once
_LEVELS = 64  # largest budget that is looked up in tables
_DIGITS = 8  # maximum number of binary digits of weights with bounds
_HEAVY = 1 << 60
_RANKS = 1 << 24  # maximum number of ranks of scores

Part = tuple[Any, tuple[int, ...]]
"""A part of the combinations, and its counts by class.

It is given by features one of which is the first to change (None: no feature changes), or by the states of
some features.
"""


@dataclass(frozen=True)
class Partition:
    """Counts of the walked parts, complete or up to the point where the walk was stopped."""

    order: tuple[int, ...]
    """Features in the order of the walk."""
    parts: tuple[Part, ...]
    is_whole: bool


def count_walk(
    space: Space,
    threads: int | None,
    stop: Any,
    step: Callable[[float], None] = lambda _: None,
    *,
    groups: int = 128,
) -> Partition:
    """Count by a walk over all combinations; it ends early when the first byte of the array `stop` is set.

    `step` receives the share of finished parts from time to time. A region with a budget has about `groups`
    parts; 0: one per feature.
    """
    if space.total >= _HEAVY:
        raise TooLargeError(f"{space.total:,} combinations are too many to enumerate.")
    return _CountingWalk(space, threads, stop, step, groups).run()


def tail_arrays(tail: Tail) -> tuple[Any, ...]:
    """Return the later layers as flat arrays for the kernels: neurons, classes, and comparisons of classes
    for bounds.
    """
    rows: list[Ints] = []
    bounds: list[int] = []
    slopes: list[int] = []
    layers = [0]

    def add(weights: Iterable[Ints], new_bounds: list[int], slope: list[int]) -> None:
        rows.extend(weights)
        bounds.extend(new_bounds)
        slopes.extend(slope)
        layers.append(len(rows))

    def add_neurons(pairs: Sequence[tuple[Ints, int]]) -> None:
        shifted_bounds = [int(bound) - int(np.minimum(row, 0).sum()) for row, bound in pairs]
        add((row for row, _ in pairs), shifted_bounds, [1] * len(pairs))

    for weights, min_sums in tail.layers:
        add_neurons(list(zip(weights, min_sums, strict=True)))
    slope, offset, ranks = scores_of(tail)
    add(tail.weights, offset, slope)
    add_neurons(_pairs(tail))
    ends, word, shift, flip, mask = [0], [], [], [], []
    for row in rows:
        size = np.abs(row)
        for digit in range(max(1, int(size.max(initial=0)).bit_length())):
            has = (size >> digit & 1).astype(bool)
            for w in range(max(1, -(-len(row) // 64))):
                bits, signs = has[64 * w : 64 * w + 64], row[64 * w : 64 * w + 64] < 0
                if bits.any():
                    word.append(w)
                    shift.append(digit)
                    mask.append(_word(bits))
                    flip.append(_word(bits & signs))
        ends.append(len(word))
    first, last, limits, slope_of = (np.array(value, np.int64) for value in (layers, ends, bounds, slopes))
    entries = (
        np.array(word, np.int64),
        np.array(shift, np.int64),
        np.array(flip, np.uint64),
        np.array(mask, np.uint64),
    )
    return first, last, entries, limits, slope_of, ranks


def _word(bits: Any) -> int:
    return sum(1 << k for k, bit in enumerate(bits.tolist()) if bit)


def scores_of(tail: Tail) -> tuple[list[int], list[int], Ints]:
    """Return slopes and offsets over match counts that compare like the scores; if too large, the rank of
    each score.
    """
    held = [int(np.minimum(row, 0).sum()) for row in tail.weights]
    slopes, none = list(tail.slopes), np.zeros((0, 0), np.int64)
    offsets = [b + a * h for a, b, h in zip(slopes, tail.offsets, held, strict=True)]
    sizes = np.abs(tail.weights).sum(axis=1).tolist()
    if len(set(slopes)) == 1 and slopes[0] > 0:
        ends = [Fraction(b, slopes[0]) for b in offsets]
        parts = sorted({end % 1 for end in ends})
        small = [int(end // 1) * len(parts) + parts.index(end % 1) for end in ends]
        low = min(small)
        if max(small) - low + len(parts) * max(sizes) < 1 << 60:
            return [len(parts)] * len(slopes), [value - low for value in small], none
    if not tail.is_large:
        return slopes, offsets, none
    if sum(sizes) > _RANKS:
        raise TooLargeError(f"{sum(sizes):,} match counts of the classes are too many to rank.")
    values = [[a * m + b for m in range(int(n) + 1)] for a, b, n in zip(slopes, offsets, sizes, strict=True)]
    index = {value: rank for rank, value in enumerate(sorted({value for row in values for value in row}))}
    ranks = np.zeros((len(values), max(map(len, values))), np.int64)
    for k, row in enumerate(values):
        ranks[k, : len(row)] = [index[value] for value in row]
    return [1] * len(slopes), [0] * len(slopes), ranks


def _pairs(tail: Tail) -> list[tuple[Ints, int]]:
    """Return weights and minimum sum for class j to be better than k, for all pairs with k after j.

    None if weights are large.
    """
    pairs = []
    for j, k in product(range(len(tail.classes)), repeat=2):
        row = [
            tail.slopes[j] * int(a) - tail.slopes[k] * int(b)
            for a, b in zip(tail.weights[j], tail.weights[k], strict=True)
        ]
        min_sum = tail.offsets[k] - tail.offsets[j] + (j > k)
        common = gcd(*row) or 1
        if max(map(abs, row), default=0) // common >= 1 << _DIGITS or abs(min_sum) // common >= _HEAVY:
            return []
        pairs.append((np.array([value // common for value in row], np.int64), -(-min_sum // common)))
    return pairs


class _CountingWalk:
    def __init__(
        self, space: Space, threads: int | None, stop: Any, step: Callable[[float], None], groups: int
    ) -> None:
        self.space, self.threads, self.stop, self.step, self.groups = space, threads, stop, step, groups
        self.tail = tail_arrays(space.tail)
        self.winners, self.classes = space.tail.classes, space.near.network.head.outputs
        free = space.budget is None
        self.places = _order(space) if free else list(range(len(space.features)))
        self.gains = [space.gains[index] for index in self.places]
        self.weights = [space.weights[index] for index in self.places]
        self.kind, self.width = self._kind(), 64 * space.words
        self.lock, self.done = Lock(), 0
        self.spare: list[Any] = []

    def _kind(self) -> Any:
        """Return the smallest integer type that holds every sum and bound."""
        best = [np.maximum(np.abs(rows).max(axis=0, initial=0), 0) for rows in self.gains]
        far = 2 * sum(best, np.zeros(len(self.space.start), np.int64)) + np.abs(self.space.start) + 2
        if self.space.budget is not None:
            fit = 2 * _fits(self.weights, self.space.budget) + 1
            far = np.minimum(
                far, (-np.sort(-np.array(best), axis=0))[:fit].sum(axis=0) * 2 + np.abs(self.space.start) + 2
            )
        largest = int(far.max(initial=0))
        for kind in (np.int8, np.int16, np.int64):
            if largest < np.iinfo(kind).max:
                return kind
        raise TooLargeError("the first layer's sums are too large for a walk: they must stay below 2^63.")

    def _lanes(self, rows: Any, fill: int = 0) -> Any:
        """Return rows padded to whole words."""
        out = np.full((len(rows), self.width), fill, self.kind)
        out[:, : rows.shape[1]] = rows
        return out

    def _moves(
        self, weights: Sequence[Ints], gains: Sequence[Ints], budget: int
    ) -> tuple[tuple[Any, ...], Ints]:
        """Return the options of some features in sequence for the kernel, and the first option of each
        feature.
        """
        sizes = [len(row) for row in weights]
        first, index = np.cumsum([0, *sizes]), np.repeat(np.arange(len(sizes) + 1), [*sizes, 1])
        flat = np.concatenate([np.zeros(0, np.int64), *weights])
        rows = self._lanes(np.concatenate([np.zeros((0, len(self.space.start)), np.int64), *gains]))
        lightest = np.append(np.minimum.accumulate(flat[::-1])[::-1], 2 * _HEAVY)
        alike = bool(len(flat)) and bool((flat == flat[0]).all())
        return (rows, flat, first[1:][index[:-1]], lightest, budget, alike, index), first

    def run(self) -> Partition:
        parts = self._free() if self.space.budget is None else self._limited()
        order = tuple(self.space.features[index] for index in self.places)
        return Partition(order, tuple(parts), not self.stop[0])

    # -- regions with a budget -------------------------------------------------------------------------------

    def _limited(self) -> list[Part]:
        space, budget = self.space, self.space.budget
        assert budget is not None
        moves, first = self._moves(self.weights, self.gains, budget)
        rows, root = moves[0], self._lanes(space.start[None], -1)[0]
        low, high, below = self._below(budget)
        start_label = int(space.tail.labels(space.start[None] >= 0)[0])
        groups = self._groups(below)
        tasks = [
            (int(first[group.start]), int(first[group.stop]), root, moves, (low, high, below, False))
            for group in groups
        ]
        if is_for_blocks(space, rows):
            fit = _fits(self.weights, budget)
            each = count_blocks(space, self.weights, rows, fit, self.tail, self.stop, self.step, self.threads)
            counts = self._by_class(
                np.array([each[group.start : group.stop].sum(axis=0) for group in groups])
            )
        else:
            counts = self._share(tasks)
        nothing = tuple(int(k == start_label) for k in range(self.classes))
        named = [[space.features[self.places[k]] for k in group] for group in groups]
        return [(None, nothing), *zip(named, counts, strict=True)]

    def _groups(self, below: Ints) -> list[range]:
        """Return the features that begin a part, so that no part of several features is more than a small
        share of all.
        """
        max_size = int(below[0, -1]) // self.groups if self.groups else 0
        groups: list[range] = []
        for k in range(len(self.weights)):
            if groups and int(below[groups[-1].start, -1] - below[k + 1, -1]) < max_size:
                groups[-1] = range(groups[-1].start, k + 1)
            else:
                groups.append(range(k, k + 1))
        return groups

    def _below(self, budget: int) -> tuple[Any, Any, Ints]:
        """Return, by remaining budget, how far lanes can still move.

        Also return, by feature and remaining budget, the number of sets that change something.
        """
        wide = budget if budget <= _LEVELS else -1
        up: list[Ints] = []
        down: list[Ints] = []
        for left in range(wide + 1):
            light = [rows[weights <= left] for rows, weights in zip(self.gains, self.weights, strict=True)]
            fit = _fits(self.weights, left)
            for out, sign in ((up, 1), (down, -1)):
                ends = [(sign * rows).max(axis=0, initial=0) for rows in light]
                best = np.array(ends, np.int64).reshape(len(light), len(self.space.start))
                out.append(sign * (-np.sort(-best, axis=0))[:fit].sum(axis=0))
        below = np.zeros((len(self.weights) + 1, max(wide + 1, 1)), np.int64)
        table = {0: 1}
        for k in range(len(self.weights) - 1, -1, -1) if wide >= 0 else ():
            table = one_more(table, Counter(self.weights[k].tolist()), budget)
            below[k] = np.cumsum([table.get(used, 0) for used in range(wide + 1)]) - 1
        shape = (wide + 1, len(self.space.start))
        return self._lanes(np.array(down).reshape(shape)), self._lanes(np.array(up).reshape(shape)), below

    # -- regions without one ---------------------------------------------------------------------------------

    def _free(self) -> list[Part]:
        space, n_options = self.space, [len(row) + 1 for row in self.weights]
        tail = len(n_options)
        while tail and prod(n_options[tail - 1 :]) <= _LEAVES:
            tail -= 1
        head = 0
        while head < tail and prod(n_options[:head]) < _PARTS:
            head += 1
        stays = [np.concatenate([np.zeros((1, rows.shape[1]), np.int64), rows]) for rows in self.gains]
        # the last features are combined to one, whose options are their combinations
        joined = (
            [*stays[head:tail], sums_of(stays[tail:], space.start)] if tail < len(n_options) else stays[head:]
        )
        weights = [np.zeros(len(rows) - 1, np.int64) for rows in joined]
        moves, _ = self._moves(weights, [rows[1:] for rows in joined], 0)
        below = np.array([[prod(map(len, joined[k:])) - 1] for k in range(len(joined) + 1)], np.int64)
        low, high = (self._lanes(_ends_of(joined, pick, space.start)) for pick in (np.min, np.max))
        roots, named = [], []
        for chosen in product(*(range(size) for size in n_options[:head])):
            roots.append(sum((stays[d][k] for d, k in enumerate(chosen)), space.start.astype(np.int64)))
            named.append([self._state(d, k) for d, k in enumerate(chosen)])
        lanes = self._lanes(np.array(roots), -1)
        counts = self._share([(0, len(moves[1]), root, moves, (low, high, below, True)) for root in lanes])
        root_labels = space.tail.labels(np.array(roots) >= 0).tolist()  # for sets without any option
        each = [
            tuple(count + (k == label) for k, count in enumerate(row))
            for row, label in zip(counts, root_labels, strict=True)
        ]
        return list(zip(named, each, strict=True))

    def _state(self, d: int, option: int) -> list[int]:
        """Return a feature and its state, by position in the walk and option; 0 is the state of the
        sample.
        """
        feature = self.space.features[self.places[d]]
        moves = [move.state for move in self.space.near.moves if move.feature == feature]
        return [feature, int(self.space.near.states[feature]) if option == 0 else moves[option - 1]]

    # -- threads ---------------------------------------------------------------------------------------------

    def _share(self, tasks: Sequence[Any]) -> list[tuple[int, ...]]:
        from sugenet.reason.counts.twins import walk

        steps = self.space.total // max(1, len(tasks))
        tallies = np.zeros((len(tasks), len(self.winners)), np.int64)
        stride = next(
            s for s in range(max(1, len(tasks) * 5 // 8), len(tasks) + 2) if gcd(s, len(tasks) or 1) == 1
        )
        mixed = [(k * stride) % len(tasks) for k in range(len(tasks))]  # large parts far from each other

        def work(start: int, end: int) -> None:
            memory = self._memory()
            for k in range(start, end):
                task = mixed[k]
                if not self.stop[0]:
                    walk(steps, *tasks[task], self.tail, memory, tallies[task], self.stop)
                    memory = _grown(memory)
                with self.lock:
                    self.done += 1
                    self.step(self.done / len(tasks))
            with self.lock:
                self.spare.append(memory)

        share(work, len(tasks), 1, self.threads)
        return self._by_class(tallies)

    def _by_class(self, tallies: Any) -> list[tuple[int, ...]]:
        counts = np.zeros((len(tallies), self.classes), np.int64)
        counts[:, list(self.winners)] = tallies
        return [tuple(row) for row in counts.tolist()]

    def _memory(self) -> Any:
        """Return memory for earlier patterns, if it is worth it."""
        from sugenet.reason.counts.kernels import SIZE

        with self.lock:
            if self.spare:
                return self.spare.pop()
        words, costly = self.space.words, len(self.tail[1]) >= _COSTLY
        table = min(_TABLE, 1 << (2 * self.space.total).bit_length()) if costly else 0
        recent = min(_RECENT, max(table, 1))
        second = (
            -(-len(self.space.tail.layers[0][1]) // 64) if costly and len(self.space.tail.layers) > 1 else 0
        )
        return (
            np.zeros((words, recent), np.uint64),
            np.zeros(recent, np.int64),
            np.zeros((words, SIZE + 1), np.uint64),
            np.zeros(SIZE + 1, np.int64),
            np.zeros((second, SIZE + 1), np.uint64),
            (
                np.zeros((table, (second or words) + 1), np.uint64),  # patterns with their class
                np.zeros((second or words, SIZE), np.uint64),  # patterns that wait for their class
                *np.zeros((2, SIZE), np.int64),
                np.zeros(2, np.int64),
            ),
        )


def _grown(memory: Any) -> Any:
    """Return a larger memory for patterns if half of it is used; known patterns are learned again."""
    *rest, (known, *waiting, sizes) = memory
    if 2 * sizes[0] <= len(known) or len(known) >= _LARGEST:
        return memory
    return (*rest, (np.zeros((4 * len(known), known.shape[1]), np.uint64), *waiting, 0 * sizes))


def _fits(weights: Sequence[Ints], budget: int) -> int:
    """Return how many features can change together."""
    lightest = np.sort([int(row.min()) for row in weights])
    return int((np.cumsum(lightest) <= budget).sum())


def _ends_of(gains: list[Ints], pick: Callable[..., Ints], start: Ints) -> Ints:
    """Return the minimum or maximum that the features from each one on can add."""
    rows = [pick(options, axis=0) for options in gains]
    return np.array([sum(rows[d:], np.zeros(len(start), np.int64)) for d in range(len(rows) + 1)])


def _order(space: Space) -> list[int]:
    """Return the order of features: those that change the lanes most come first."""
    far = [int(np.abs(rows).max(axis=0, initial=0).sum()) for rows in space.gains]
    return sorted(range(len(far)), key=lambda index: (-far[index], index))
