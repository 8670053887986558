"""Counting by inference: every input of a small region is put to the network, where that is too large to be
looked at as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sugenet.engines.walk.singles import inputs_after, rows_at_once
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.reason.counts.walk import Partition

__all__ = ["MOST_POINTS", "count_points", "is_for_points"]

MOST_POINTS = 1 << 24
_HEAVY = 1 << 22
"""Weights of convolutions as neurons from which on they stay convolutions."""


def is_for_points(near: Neighbourhood, total: float) -> bool:
    """Whether the inputs of a region are few, and the network has convolutions that are large as neurons."""
    layers = [layer for layer in near.network.layers if layer.kind != "dense"]
    return total <= MOST_POINTS and sum(layer.inputs * layer.outputs for layer in layers) > _HEAVY


def count_points(
    near: Neighbourhood,
    threads: int | None,
    stop: Callable[[], bool],
    step: Callable[[int], None] = lambda _: None,
) -> Partition:
    """Count the inputs of each class, all of them in one part; `step` is told how many there are so far."""
    network = near.network
    packed, counts = network.packed("auto"), np.zeros(network.head.outputs, np.int64)
    for rows in _blocks(near):
        if stop():
            return Partition((), (([], tuple(counts.tolist())),), False)
        counts += np.bincount(network.head.classes(packed.match_counts(rows, threads)), minlength=len(counts))
        step(int(counts.sum()))
    return Partition((), (([], tuple(counts.tolist())),), True)


def _blocks(near: Neighbourhood) -> Iterator[Any]:
    """What the first layer reads, for every allowed combination of moves, some rows at a time."""
    size, waiting, many = rows_at_once(near), [near.inputs], 1
    for rows in _visited(near, near.inputs, 0, near.budget):
        waiting.append(rows)
        many += len(rows)
        if many >= size:
            yield np.concatenate(waiting)
            waiting, many = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _visited(near: Neighbourhood, row: Any, first: int, left: int | None) -> Iterator[Any]:
    """All combinations that add a feature from the one at a place on."""
    groups, weights = list(near.places.values()), near.columns.weights
    for place in range(first, len(groups)):
        moves = [
            k for k in range(groups[place].start, groups[place].stop) if left is None or weights[k] <= left
        ]
        rows = inputs_after(near, moves, row)
        yield rows
        if place + 1 < len(groups):
            for one, k in zip(rows, moves, strict=True):
                rest = None if left is None else left - int(weights[k])
                if rest is None or rest >= near.lightest:
                    yield from _visited(near, one[None], place + 1, rest)
