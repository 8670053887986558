"""Counting the sets within a budget by blocks of planes, where there are very many (docs/theory.md 7.12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sugenet.bnn.arrays import Ints
from sugenet.engines.walk.blocks import BlockWalk, fits, in_planes, thresholds
from sugenet.reason.counts.space import Space

__all__ = ["MANY", "count_blocks", "is_for_blocks"]

MANY = 1 << 26
"""Combinations from which on they are counted so."""


def is_for_blocks(space: Space, rows: Any) -> bool:
    """Whether a space with a budget is one for blocks; `rows` is what the options add to the lanes."""
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
    """How many sets there are of each class that can win, one row for each feature: those in which it is the
    first in order to change. Without those that were not counted when `stop` was set.
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
    # in the walk the largest move is the first in order
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

    found = walk.run(lasts, np.zeros(out.shape[1], bool), lambda: bool(stop[0]), threads, tell)
    for last, met in found.items():
        out[turned[last]] += met.tally
    return out


def _wide(weights: Ints, lanes: int) -> Ints:
    """Weights over whole words of lanes."""
    out = np.zeros((len(weights), lanes), np.int64)
    out[:, : weights.shape[1]] = weights
    return out


class _Labels:
    """Classes of patterns behind the layers in planes, by their places among those that can win."""

    def __init__(self, space: Space, tail: tuple[Any, ...]) -> None:
        self.space, self.tail, self.depth = space, tail, in_planes(space.tail.layers)
        self.layers = [
            (w, least - np.minimum(w, 0).sum(axis=1)) for w, least in space.tail.layers[: self.depth]
        ]

    def first(self, bits: Any) -> Ints:
        """Of patterns of the first layer, as truth values over the lanes."""
        from sugenet.engines.walk.twins import words_of

        return self._classes(words_of(bits), 0)

    def guards(self, _bits: Any, label: int) -> tuple[Ints, Ints] | None:
        """The class at this place scores more than those before it, and no less than those behind it."""
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
