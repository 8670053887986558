"""Counting by single inputs.

Every input of a small region is evaluated, if the network is too large to treat the region as a whole. Or
inputs are drawn at random, all equally likely.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.engines.walk.singles import inputs_after, rows_at_once
from sugenet.nn.arrays import Ints
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.reason.counts.space import Space
from sugenet.reason.counts.walk import Partition

__all__ = [
    "MOST_POINTS",
    "count_points",
    "interval",
    "is_for_points",
    "sample_classes",
]

MOST_POINTS = 1 << 24
_HEAVY = 1 << 22
"""Number of weights of convolutions, unrolled to neurons, from which on they stay convolutions."""


def is_for_points(near: Neighbourhood, total: float) -> bool:
    """Return whether a region has few inputs, and the network has convolutions that are large as neurons."""
    layers = [layer for layer in near.network.layers if layer.kind != "dense"]
    return total <= MOST_POINTS and sum(layer.inputs * layer.outputs for layer in layers) > _HEAVY


def count_points(
    near: Neighbourhood,
    threads: int | None,
    stop: Callable[[], bool],
    step: Callable[[int], None] = lambda _: None,
) -> Partition:
    """Count the inputs of each class, all in one part; `step` receives the number so far."""
    network = near.network
    packed, counts = network.packed("auto"), np.zeros(network.head.outputs, np.int64)
    for rows in _blocks(near):
        if stop():
            return Partition((), (([], tuple(counts.tolist())),), False)
        counts += np.bincount(network.head.classes(packed.match_counts(rows, threads)), minlength=len(counts))
        step(int(counts.sum()))
    return Partition((), (([], tuple(counts.tolist())),), True)


def _blocks(near: Neighbourhood) -> Iterator[Any]:
    """Yield the inputs of the first layer for every allowed combination of moves, several rows at a time."""
    size, waiting, n_rows = rows_at_once(near), [near.inputs], 1
    for rows in _visited(near, near.inputs, 0, near.budget):
        waiting.append(rows)
        n_rows += len(rows)
        if n_rows >= size:
            yield np.concatenate(waiting)
            waiting, n_rows = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _visited(near: Neighbourhood, row: Any, first: int, left: int | None) -> Iterator[Any]:
    """Yield all combinations that add a feature at this position or later."""
    groups, weights = list(near.places.values()), near.columns.weights
    for index in range(first, len(groups)):
        moves = [
            k for k in range(groups[index].start, groups[index].stop) if left is None or weights[k] <= left
        ]
        rows = inputs_after(near, moves, row)
        yield rows
        if index + 1 < len(groups):
            for one, k in zip(rows, moves, strict=True):
                rest = None if left is None else left - int(weights[k])
                if rest is None or rest >= near.lightest:
                    yield from _visited(near, one[None], index + 1, rest)


_BATCH = 4096
_TABLE = 1 << 22


def interval(hits: int, samples: int, confidence: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share.

    Examples
    --------
    >>> [round(end, 4) for end in interval(9, 10, 0.95)]
    [0.555, 0.9975]
    """
    from scipy.stats import beta  # type: ignore[import-untyped]

    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, samples - hits + 1))
    high = 1.0 if hits == samples else float(beta.ppf(1 - tail, hits + 1, samples - hits))
    return low, high


def sample_classes(space: Space, samples: int, seed: int) -> tuple[int, ...]:
    """Draw inputs and count their classes."""
    rng = np.random.default_rng(seed)
    hits = np.zeros(space.near.network.head.outputs, np.int64)
    draw = _free if space.budget is None else _Limited(space).draw
    for first in range(0, samples, _BATCH):
        lanes = draw(space, min(_BATCH, samples - first), rng)
        hits += np.bincount(space.tail.labels(lanes >= 0), minlength=len(hits))
    return tuple(hits.tolist())


def _free(space: Space, samples: int, rng: np.random.Generator) -> Ints:
    """Return the lanes of random combinations if all combinations are allowed."""
    lanes = np.repeat(space.start[None], samples, axis=0)
    for gains in space.gains:
        lanes += _with_none(gains)[rng.integers(0, len(gains) + 1, samples)]
    return lanes


def _with_none(gains: Ints) -> Ints:
    return np.concatenate([np.zeros((1, gains.shape[1]), np.int64), gains])


class _Limited:
    """Combinations within a budget, by index: for each feature and remaining budget, the number of
    continuations.
    """

    def __init__(self, space: Space) -> None:
        assert space.budget is not None
        kind = np.int64 if space.total < 1 << 62 else object
        levels = sorted(self._reached(space))
        self.place = {left: k for k, left in enumerate(levels)}
        self.levels = np.array(levels, np.int64)
        self.ways: list[npt.NDArray[Any]] = [np.ones(len(levels), kind)]
        for weights in reversed(space.weights):
            after, here = self.ways[-1], self.ways[-1].copy()
            for weight in weights.tolist():
                fits = self.levels >= weight
                here[fits] += after[np.searchsorted(self.levels, self.levels[fits] - weight)]
            self.ways.append(here)
        self.ways.reverse()

    @staticmethod
    def _reached(space: Space) -> set[int]:
        """Return the possible remaining budgets, closed under using more."""
        from sugenet.errors import TooLargeError

        assert space.budget is not None
        weights = {weight for row in space.weights for weight in row.tolist()}
        reached = more = {space.budget}
        while more:
            more = {left - weight for left in more for weight in weights if weight <= left} - reached
            reached = reached | more
            if len(reached) * len(space.features) > _TABLE:
                raise TooLargeError(
                    "the costs are too finely divided to draw combinations with equal chance."
                )
        return reached

    def draw(self, space: Space, samples: int, rng: np.random.Generator) -> Ints:
        """Return the lanes of random combinations."""
        left = np.full(samples, self.place[int(space.budget or 0)])
        rank = self._ranks(space.total, samples, rng)
        lanes = np.repeat(space.start[None], samples, axis=0)
        for number, (weights, gains) in enumerate(zip(space.weights, space.gains, strict=True)):
            after, open_ = self.ways[number + 1], np.ones(samples, bool)
            chosen = np.zeros(samples, np.int64)
            for option, weight in enumerate([0, *weights.tolist()]):
                fits = open_ & (self.levels[left] >= weight)
                target = np.searchsorted(
                    self.levels, np.where(fits, self.levels[left] - weight, self.levels[left])
                )
                n_ways = after[target]
                here = fits & np.asarray(rank < n_ways, dtype=bool)
                rank = np.where(fits & ~here, rank - n_ways, rank)
                chosen[here], open_[here] = option, False
            spent = np.array([0, *weights.tolist()])[chosen]
            left = np.searchsorted(self.levels, self.levels[left] - spent)
            lanes += _with_none(gains)[chosen]
        return lanes

    @staticmethod
    def _ranks(total: int, samples: int, rng: np.random.Generator) -> npt.NDArray[Any]:
        """Return random integers below `total`, all equally likely."""
        if total < 1 << 62:
            return rng.integers(0, total, samples)
        ranks: list[int] = []
        size = -(-total.bit_length() // 8)
        while len(ranks) < samples:
            number = int.from_bytes(rng.bytes(size), "little") >> (8 * size - total.bit_length())
            if number < total:
                ranks.append(number)
        return np.array(ranks, dtype=object)
