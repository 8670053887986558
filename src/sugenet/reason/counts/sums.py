"""Counting by sums: features are added one after another, and combinations with equal sums are merged.

A sum that is certain to stay above or below its neuron's threshold is cut to the nearest value with that
property. The result is a decision diagram over sums, level by level. Equal columns make it small, and so do
narrow layers and networks without a hidden layer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.nn.arrays import Ints
from sugenet.reason.counts.space import Space
from sugenet.reason.counts.walk import Part, Partition

__all__ = ["count_sums"]

_BYTES = 1 << 29


def count_sums(space: Space, max_sums: int, stop: Callable[[], bool] = lambda: False) -> Partition | None:
    """Count by sums; None if stopped, or if some feature has more than `max_sums` different sums."""
    indices = _order(space)
    limit = space.budget
    ends = [[np.maximum((sign * rows).max(axis=0, initial=0), 0) for rows in space.gains] for sign in (1, -1)]
    heavy = [int(row.max()) for row in space.weights]
    up, down = (sum(rows, np.zeros(len(space.start), np.int64)) for rows in ends)
    rest = sum(heavy)
    largest = int((np.abs(space.start) + 2 * up + 2 * down + 2).max(initial=0)) + (
        0 if limit is None else limit + 2 * rest
    )
    kind = next(
        (kind for kind in (np.int8, np.int16, np.int32, np.int64) if largest < np.iinfo(kind).max), None
    )
    if kind is None:
        return None
    width = len(space.start) + (limit is not None)
    words = max(1, -(-width * np.dtype(kind).itemsize // 8))
    states = np.zeros((1, words * 8 // np.dtype(kind).itemsize), kind)
    states[0, : len(space.start)] = space.start
    counts: npt.NDArray[Any] = np.array([1], np.int64 if space.total < 1 << 62 else object)
    for index in indices[:-1]:
        up, down, rest = up - ends[0][index], down - ends[1][index], rest - heavy[index]
        if stop() or len(states) * (len(space.weights[index]) + 1) * words * 8 > _BYTES:
            return None
        pieces = [
            _stepped(space, index, option, states, counts, up, down, rest)
            for option in range(-1, len(space.weights[index]))
        ]
        states, counts = _merged(
            np.concatenate([rows for rows, _ in pieces]),
            np.concatenate([part_counts for _, part_counts in pieces]),
        )
        if len(states) > max_sums:
            return None
    parts: list[Part] = []
    nothing = np.zeros(len(space.start), np.int64)
    moves = [
        [move.state for move in space.near.moves if move.feature == feature] for feature in space.features
    ]
    for option in range(-1, len(space.weights[indices[-1]])):
        rows, row_counts = _merged(*_stepped(space, indices[-1], option, states, counts, nothing, nothing, 0))
        feature = space.features[indices[-1]]
        state = int(space.near.states[feature]) if option < 0 else moves[indices[-1]][option]
        parts.append(([[feature, state]], _by_class(space, rows, row_counts)))
    return Partition(tuple(space.features[position] for position in indices), tuple(parts), True)


def _order(space: Space) -> list[int]:
    """Return the order of features: those that change the lanes most come first, equal ones next to each
    other.
    """
    far = [int(np.abs(rows).max(axis=0, initial=0).sum()) for rows in space.gains]
    looks = [
        (rows.tobytes(), weights.tobytes()) for rows, weights in zip(space.gains, space.weights, strict=True)
    ]
    return sorted(range(len(far)), key=lambda index: (-far[index], looks[index], index))


def _stepped(
    space: Space, index: int, option: int, states: Any, counts: Any, up: Ints, down: Ints, rest: int
) -> tuple[Any, Any]:
    """Return the states after one option of a feature (-1 for none), cut to values that still matter."""
    lanes, rows = len(space.start), states.copy()
    if option >= 0:
        rows[:, :lanes] += space.gains[index][option].astype(rows.dtype)
    np.clip(rows[:, :lanes], (-1 - up).astype(rows.dtype), down.astype(rows.dtype), out=rows[:, :lanes])
    if space.budget is not None:
        if option >= 0:
            rows[:, lanes] += int(space.weights[index][option])
            fits = rows[:, lanes] <= space.budget
            rows, counts = rows[fits], counts[fits]
        np.maximum(rows[:, lanes], space.budget - rest, out=rows[:, lanes])
    return rows, counts


def _merged(states: Any, counts: Any) -> tuple[Any, Any]:
    """Merge equal states."""
    from sugenet.reason.counts.twins import merge

    rows = np.ascontiguousarray(states)
    where = np.empty(len(rows), np.int64)
    table = np.full(1 << (2 * len(rows)).bit_length(), -1, np.int64)
    firsts = merge(len(rows), rows.view(np.uint64), table, where)
    sums = np.zeros(len(firsts), counts.dtype)
    np.add.at(sums, where, counts)
    return rows[firsts], sums


def _by_class(space: Space, states: Any, counts: Any) -> tuple[int, ...]:
    totals = [0] * space.near.network.head.outputs
    for first in range(0, len(states), 4096):
        labels = space.tail.labels(states[first : first + 4096, : len(space.start)] >= 0)
        for label, count in zip(labels.tolist(), counts[first : first + 4096].tolist(), strict=True):
            totals[label] += count
    return tuple(totals)
