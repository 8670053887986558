"""Walks by blocks: all sets of moves within a budget, in planes through as many layers as possible
(docs/theory.md 7.12).

No patterns are stored. Most sets are shown to have the sample's label in planes. The others have few
patterns in a late layer, for which a small, lossy cache suffices. So such a walk counts sets and their
labels, not patterns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np

from sugenet.bits import pack, words_for
from sugenet.bits.threads import Search, search_in_order
from sugenet.nn.arrays import Ints, make_sure

__all__ = ["BlockWalk", "Guards", "Labels", "Met", "fits", "in_planes", "thresholds"]

_WIDEST = 4000  # neurons of a layer that may be open together: their sums have 12 binary digits
_BALL = 1  # index of the layer in which patterns around the sample's own are tried
_PAIRS = 1 << 26  # bytes of the table of all pairs of moves
_KNOWN = 1 << 13  # patterns that a thread remembers
_WAITING = 1 << 12  # patterns that are labelled together
_TRIED = 1 << 18  # patterns around the sample's own, by number of turned neurons, that are labelled first
_WORTH = 1 << 13  # sets that one such pattern may save
_AT_ONCE = 1 << 13
_QUOTA = 1 << 14  # blocks between two checks of the clock

Labels = Callable[[Any], Ints]
"""Function from patterns of the last layer in planes, one row of words each, to their labels."""

Guards = Callable[[Any, int], "tuple[Ints, Ints] | None"]
"""Function from the sample's truth values of the last layer in planes, and its label, to thresholds over that
layer that together imply the label, as weights and tau; None if there are none with such weights.
"""


@dataclass(frozen=True)
class Met:
    """Result of the walk for one largest move."""

    sets: int
    tally: tuple[int, ...]
    """Number of sets per label."""
    stopped: tuple[int, ...] | None
    """Moves of the first set with a label that ends the walk."""


class _BlockMoves(NamedTuple):
    """Moves, and pieces: a move, or two of different features."""

    rows: Any
    """Contribution of each move to the lanes."""
    start: Any
    """Lanes at the sample."""
    weight: Any
    before: Any
    """First move of the same feature."""
    lightest: Any
    """Smallest weight before each move."""
    ends: Any
    """Smallest and largest contribution of any piece to each lane."""
    alike: bool
    """Whether all weights are the same."""
    upto: Any
    """Number of pieces of the moves before each."""
    single: Any
    """Pieces that are one move, as words."""
    piece_weights: Any
    paired: bool
    """Whether there are pieces of two moves."""
    adds: Any
    """Contribution of each piece, one row per lane."""


class _BlockLayers(NamedTuple):
    """Layers over the lanes, padded to complete words by neurons that are never active."""

    positive: Any
    """Literals of weight 1 as words; `negative` has those of weight -1."""
    negative: Any
    kinds: Any
    """Kind of every weight: 0 for 1, 1 for -1, 2 for 0."""
    tau: Any
    neurons: Any
    """Number of neurons of each layer."""
    widths: Any
    """Number of inputs of each layer."""
    width: int
    columns: Any
    """Positive weights, as words per input."""
    both: Any
    """Whether a layer has no weight 0."""


class _BlockBall(NamedTuple):
    """Patterns of one layer that have the sample's label."""

    home: Any
    """The sample's pattern."""
    radius: int
    """Number of neurons that may turn."""
    label: int
    layer: int
    guards: int
    """Number of neurons of one more layer that together imply the label."""


class _BlockMemory(NamedTuple):
    """Patterns and counts of a thread."""

    known: Any
    """Some patterns with their labels."""
    tally: Any
    """Number of sets per label."""
    sizes: Any
    waiting: Any
    """Patterns without a label yet, their number of sets, and one set each."""
    waiting_sets: Any
    met: Any


class _BlockWork(NamedTuple):
    """Scratch memory of a thread; see `planes`."""

    on: Any
    open: Any
    left: Any
    chosen: Any
    inputs: Any
    planes: Any
    masks: Any
    keys: Any
    valid: Any
    sums: Any
    spent: Any
    near: Any
    table: Any
    bytes: Any
    apart: Any


class BlockWalk:
    """Sets of two or more moves, by the largest of them.

    Parameters
    ----------
    start, rows
        The lanes at the sample, and the contribution of each move; a lane of 0 or more is 1. After the last
        come lanes that are never 1 and that nothing changes.
    weight, before
        Weight of each move, and the first move of the same feature; moves of a feature are adjacent.
    budget, together
        Limit on the sum of the weights, and the largest number of moves within it.
    layers
        Weights and tau of the layers over the lanes; weights are -1, 0 or 1.
    labels, many
        Labels of the patterns of the last of these layers, and the number of labels.
    guards
        Thresholds after the last of these layers that imply the sample's label.
    """

    def __init__(
        self,
        start: Any,
        rows: Any,
        weight: Ints,
        before: Ints,
        budget: int,
        together: int,
        layers: list[tuple[Ints, Ints]],
        labels: Labels,
        many: int,
        guards: Guards = lambda _bits, _label: None,
    ) -> None:
        from sugenet.engines.walk.adders import BLOCK

        budget = min(budget, int(weight.sum()))  # this allows all, and twice as much fits into 63 bits
        self.labels, self.many, self.budget, self.together = labels, many, budget, together
        alike = bool((weight == weight[0]).all())
        low, high = (end.astype(np.int64) for end in (rows.min(axis=0), rows.max(axis=0)))
        kind = _kind(start, low, high, together)
        lanes, size = rows.shape[1], np.dtype(kind).itemsize
        pairs = together > 2 and size * lanes * int(before.sum() + len(before)) <= _PAIRS
        self.upto = np.append(0, np.cumsum(1 + before if pairs else np.ones_like(before)))
        self.longest = max(1, together - 2 if pairs else together - 1)
        make_sure(3 * int(self.upto[-1]) * lanes * size, "the moves of a walk", "Ask about a smaller region.")
        movable = (low != 0) | (high != 0)
        start, rows = start.astype(kind), np.ascontiguousarray(rows, kind)
        start[~movable] = np.where(start[~movable] >= 0, 1, -1)
        lightest = np.append(2 * budget + 1, np.minimum.accumulate(weight))
        n_pieces = int(self.upto[-1])
        padded = -(-n_pieces // (64 * BLOCK)) * 64 * BLOCK
        adds, weights = np.zeros((lanes, padded), kind), np.zeros((1, padded), np.int64)
        columns = np.ascontiguousarray(rows.T)
        _add_pieces(columns, before if pairs else 0 * before, self.upto, adds)
        _add_pieces(weight[None], before if pairs else 0 * before, self.upto, weights)
        ends = np.stack([adds[:, :n_pieces].min(axis=1), adds[:, :n_pieces].max(axis=1)])  # also of moves
        single = np.zeros(padded, bool)
        single[self.upto[:-1]] = True
        self.moves = _BlockMoves(
            rows,
            start,
            weight,
            before,
            lightest,
            ends,
            alike,
            self.upto,
            pack(single[None])[0],
            weights[0],
            pairs,
            adds,
        )
        patterns = _through(layers, start[None] >= 0)
        label = int(labels(pack(patterns[-1]))[0])
        self.last = len(layers) - 1
        guard = guards(patterns[-1][0], label)
        if guard is not None and len(guard[1]) and _matches(guard[0], patterns[-1], guard[1]).all():
            layers = [*layers, guard]
        self.tail = _tail(layers, movable)
        self.ball = self._ball(layers, patterns, label)

    def _ball(self, layers: list[tuple[Ints, Ints]], patterns: Any, label: int) -> _BlockBall:
        """Return the number of turned neurons up to which all sets of a layer keep the label."""
        middle = min(_BALL, self.last)
        bits, behind = patterns[middle][0], layers[middle + 1 : self.last + 1]
        self.tail.kinds[-self.tail.width :][: len(bits)] = bits  # differences from it
        sets = comb(len(self.moves.rows), min(self.together, len(self.moves.rows)))
        radius, tried = 0, min(_TRIED, sets // _WORTH)
        while (
            radius < len(bits)
            and comb(len(bits), radius + 1) <= tried
            and self._is_label(label, bits, behind, radius + 1)
        ):
            radius += 1
        guards = len(layers[-1][1]) if len(layers) - 1 > self.last else 0
        return _BlockBall(pack(bits[None])[0], radius, label, middle, guards)

    def _is_label(self, label: int, bits: Any, behind: list[tuple[Ints, Ints]], size: int) -> bool:
        """Return whether the label stays whenever exactly so many bits turn, given the later layers."""
        chosen = combinations(range(len(bits)), size)
        while rows := list(islice(chosen, _AT_ONCE)):
            around = np.repeat(bits[None], len(rows), axis=0)
            indices = np.array(rows)
            np.put_along_axis(around, indices, ~np.take_along_axis(around, indices, axis=1), axis=1)
            if (self.labels(pack([around, *_through(behind, around)][-1])) != label).any():
                return False
        return True

    def run(
        self,
        lasts: list[int],
        stops: Any,
        up: Callable[[], bool],
        threads: int | None,
        step: Callable[[int], None] = lambda _: None,
    ) -> dict[int, Met]:
        """Walk the sets with each largest move, in this order, until one has a label that stops; omit those
        that were not completed.

        The first label that stops does not depend on the number of threads.
        """

        def searcher() -> Search[Met]:
            memory = self._memory()
            return lambda number, is_stopped: self._walk(lasts[number], memory, stops, is_stopped)

        def see(met: Met) -> bool:
            step(met.sets)
            return met.stopped is not None

        met_by_number = search_in_order(len(lasts), searcher, see, up, threads)
        return {lasts[number]: met for number, met in met_by_number.items()}

    def _walk(
        self, last: int, memory: tuple[_BlockMemory, _BlockWork], stops: Any, up: Callable[[], bool]
    ) -> Met | None:
        from sugenet.engines.walk.planes import HEAD, NEXT, SETS, walk_blocks

        known, work = memory
        known.tally[:] = 0
        state = np.zeros(HEAD + self.longest, np.int64)
        state[NEXT] = last
        first, complete = None, False
        while not complete and first is None:
            if up():
                return None
            complete = walk_blocks(
                state, _QUOTA, last, self.moves, self.budget, self.tail, self.ball, known, work
            )
            first = self._label(known, stops)
        return Met(int(state[SETS]), tuple(known.tally.tolist()), first)

    def _label(self, known: _BlockMemory, stops: Any) -> tuple[int, ...] | None:
        """Label the waiting patterns; return the moves of the first whose label stops, if any."""
        from sugenet.engines.walk.planes import settle_waiting

        size = int(known.sizes[0])
        if not size:
            return None
        labels = self.labels(known.waiting[:size])
        np.add.at(known.tally, labels, known.waiting_sets[:size])
        settle_waiting(known.known, known.waiting, size, labels)
        known.sizes[0] = 0
        stopping = np.flatnonzero(stops[labels])
        if not len(stopping):
            return None
        depth, *chosen = known.met[stopping[0]].tolist()
        top = int(np.searchsorted(self.upto, chosen[depth], side="right")) - 1
        second = chosen[depth] - int(self.upto[top]) - 1
        return (*chosen[:depth], top) if second < 0 else (*chosen[:depth], top, second)

    def _memory(self) -> tuple[_BlockMemory, _BlockWork]:
        """Allocate the memory of one thread."""
        from sugenet.engines.walk.adders import BLOCK, SLOT

        widths, sizes = self.tail.widths, self.tail.neurons
        words, layers = words_for(int(sizes[self.last])), len(sizes)
        widest = int(max(widths.max(), sizes.max())) + 72
        all_words = words_for(widest)
        room, planes = _WAITING + 64 * BLOCK, (layers + 1) * widest * SLOT
        make_sure(
            8 * (_KNOWN * (words + 1) + room * (words + 2 + self.together) + planes + 12 * BLOCK * widest),
            "the patterns of a walk",
            "Ask about a smaller region.",
        )
        known = _BlockMemory(
            known=np.zeros((_KNOWN, words + 1), np.uint64),
            tally=np.zeros(self.many, np.int64),
            sizes=np.zeros(2, np.int64),
            waiting=np.zeros((room, words), np.uint64),
            waiting_sets=np.zeros(room, np.int64),
            met=np.zeros((room, self.together + 1), np.int64),
        )
        work = _BlockWork(
            on=np.zeros((2 + layers, all_words), np.uint64),
            open=np.zeros((layers, all_words), np.uint64),
            left=np.zeros(layers * self.tail.tau.shape[1], np.int64),
            chosen=np.zeros((layers, widest), np.int64),
            inputs=np.zeros((layers + 1, widest), np.int64),
            planes=np.zeros(planes, np.uint64),
            masks=np.zeros((64 * BLOCK + 1, BLOCK), np.uint64),
            keys=np.zeros((64 * BLOCK + 1, words), np.uint64),
            valid=np.zeros(BLOCK, np.uint64),
            sums=np.zeros((self.together + 1, self.moves.rows.shape[1]), self.moves.rows.dtype),
            spent=np.zeros(self.together + 1, np.int64),
            near=np.zeros(widest, np.int64),
            table=np.zeros(48 * BLOCK * (widest // 4 + 3), np.uint64),
            bytes=np.zeros((widest + 16) * all_words * 8, np.uint8),
            apart=np.zeros(2 + all_words, np.int64),
        )
        return known, work


def fits(rows: Any) -> bool:
    """Return whether moves change anything, and the lanes are few enough."""
    return bool(np.any(rows)) and rows.shape[1] <= _WIDEST


def in_planes(layers: Sequence[tuple[Ints, Ints]]) -> int:
    """Return how many layers, from the first, have neurons, not too many, and only weights -1, 0 and 1."""
    small = [0 < len(tau) <= _WIDEST and np.abs(weights).max(initial=0) <= 1 for weights, tau in layers]
    return [*small, False].index(False)


def thresholds(weights: Any, min_sums: Any) -> tuple[Ints, Ints] | None:
    """Return sums of integer weights over active neurons that are at least `min_sums`, as weights -1, 0 and 1
    and tau; None if some row has weights of different sizes.
    """
    rows, taus = [], []
    for row, bound in zip(weights.tolist(), min_sums.tolist(), strict=True):
        sizes = {abs(value) for value in row} - {0}
        if len(sizes) > 1:
            return None
        size = max(sizes, default=1)
        rows.append([value // size for value in row])
        taus.append(-(-bound // size) + sum(value < 0 for value in row))
    far = weights.shape[1] + 1
    tau = np.array([min(max(value, -far), far) for value in taus], np.int64)
    return np.array(rows, np.int64).reshape(weights.shape), tau


def _matches(weights: Ints, bits: Any, tau: Ints) -> Any:
    """Return which neurons are active, one row per row of truth values."""
    signs = np.where(bits, 1, -1).astype(np.float32) @ weights.T.astype(np.float32)  # sums below 2^24: exact
    return signs + np.abs(weights).sum(axis=1) >= 2 * tau


def _through(layers: Sequence[tuple[Ints, Ints]], bits: Any) -> list[Any]:
    """Return the output of each layer for rows of truth values."""
    outputs = []
    for weights, tau in layers:
        bits = _matches(weights, bits, tau)
        outputs.append(bits)
    return outputs


def _kind(start: Any, low: Any, high: Any, together: int) -> Any:
    """Return the smallest integer type that holds all sums."""
    far = np.abs(start.astype(np.int64)) + together * np.maximum(np.abs(low), np.abs(high))
    largest = int(far.max(initial=0)) + 1
    return np.int8 if largest <= np.iinfo(np.int8).max else np.int32  # only two, to compile little


def _add_pieces(columns: Any, before: Ints, upto: Ints, out: Any) -> None:
    """Write the contribution of each move, followed by those with each earlier move of another feature."""
    for k, first in enumerate(upto[:-1].tolist()):
        out[:, first] = columns[:, k]
        np.add(columns[:, k : k + 1], columns[:, : before[k]], out=out[:, first + 1 : first + 1 + before[k]])


def _tail(layers: list[tuple[Ints, Ints]], movable: Any) -> _BlockLayers:
    """Return the layers for the kernel; some of the lanes before them are movable."""
    sizes = np.array([len(tau) for _, tau in layers], np.int64)
    widths = np.array([len(movable), *sizes[:-1]], np.int64)
    words, size, width = (
        words_for(int(widths.max())),
        64 * words_for(int(sizes.max())),
        int(max(widths.max(), sizes.max())) + 1,
    )
    positive, negative = np.zeros((2, len(layers), words, size), np.uint64)
    kinds = np.full((len(layers) * size + 1, width), 2, np.uint8)
    taus = np.full((len(layers), size), 1 << 60)
    for number, (weights, tau) in enumerate(layers):
        for out, sign, kind in ((positive, 1, 0), (negative, -1, 1)):
            bits = pack(weights == sign)
            out[number, : bits.shape[1], : len(tau)] = bits.T
            kinds[number * size :][: len(tau), : weights.shape[1]][weights == sign] = kind
        taus[number, : len(tau)] = tau
    columns = np.full((len(layers), width, size // 64), ~np.uint64(0))
    both = np.zeros(len(layers), bool)
    for number, (weights, _) in enumerate(layers):
        bits = pack(np.ascontiguousarray(weights.T > 0))
        columns[number, : len(bits), : bits.shape[1]] = bits
        both[number] = bool(weights[:, movable].all() if number == 0 else weights.all())
    return _BlockLayers(
        positive, negative, kinds.reshape(-1), taus, sizes, widths, width, columns.reshape(-1), both
    )
