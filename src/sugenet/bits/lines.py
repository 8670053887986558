"""Steps as lines: where thresholds lie at even distances, a level is a product and a sum in floating point,
cut at both ends; and where this is proved, not hoped for.

With floats ``slope >= 0`` and ``offset``, ``trunc(min(max(float(s) * slope + offset, low), high))`` never
falls as ``s`` grows: each rounded operation keeps the order. So it equals the steps everywhere as soon as it
is equal on both sides of every step, and there it is worked out, with the operations of the kernel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Lines", "clipped_steps", "lines_of"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.floating[Any]]

_HALVINGS = 40  # of the range of slopes


@dataclass(frozen=True)
class Lines:
    """One line for each neuron, and for which of them it is proved."""

    slope: _Floats
    offset: _Floats
    low: _Floats
    high: _Floats
    proved: npt.NDArray[np.bool_]

    def levels(self, sums: _Ints) -> _Ints:
        """Levels of sums, one row a neuron, by the operations that the kernels use."""
        return _on_line(sums, self.slope, self.offset, self.low, self.high)


def clipped_steps(steps: _Ints, least: _Ints, most: _Ints) -> _Ints:
    """Thresholds as the nearest of ``least .. most + 1``, where sums are `least` to `most`:
    that changes no level.
    """
    return np.minimum(np.maximum(steps, least[:, None]), most[:, None] + 1)


def lines_of(steps: _Ints, least: _Ints, most: _Ints, dtype: Any) -> Lines:
    """Find lines in floats of `dtype` for neurons whose sums are `least` to `most`.

    Parameters
    ----------
    steps : int64 array of shape (neurons, steps)
        Rows in order; the level of a sum is how many thresholds it reaches.
    least, most : int64 arrays of shape (neurons,)
        Bounds of the sums.
    dtype : numpy.float32 or numpy.float64
        The floats of the kernel.

    Examples
    --------
    >>> lines = lines_of(np.array([[3, 6, 9], [1, 2, 9]]), np.array([0, 0]), np.array([9, 9]), np.float32)
    >>> lines.proved.tolist()
    [True, False]
    >>> lines.levels(np.array([[2, 3, 8, 9]]))[0].tolist()
    [0, 1, 2, 3]
    """
    low = (steps <= least[:, None]).sum(axis=1)
    high = (steps <= most[:, None]).sum(axis=1)
    number = np.arange(1, steps.shape[1] + 1)
    open_ = (number > low[:, None]) & (number <= high[:, None])  # steps that some sums reach and some do not
    slope = _fitted(steps, open_, low, high).astype(dtype)
    floor, ceiling = _bounds(slope.astype(np.float64), steps, open_)
    middle = np.add(floor, ceiling, where=open_.any(axis=1), out=np.zeros(len(steps))) / 2
    offset = middle.astype(dtype)
    low_, high_ = low.astype(dtype), high.astype(dtype)
    rows = np.where(open_, steps, 0)
    # what a sum at a step, and one below it, must give: equal thresholds are one step of several levels
    after = _last_equal(rows, open_, number)
    before = _first_equal(rows, open_, number) - 1
    good = slope >= 0
    for sums, levels in ((rows, after), (rows - 1, before)):
        equal = _on_line(sums, slope, offset, low_, high_) == levels
        good &= (equal | ~open_).all(axis=1)
    return Lines(slope, offset, low_, high_, good)


def _on_line(sums: _Ints, slope: _Floats, offset: _Floats, low: _Floats, high: _Floats) -> _Ints:
    # in 32 bits, as the kernel has them: a conversion from 64 could round otherwise
    values = sums.astype(np.int32).astype(slope.dtype) * slope[:, None] + offset[:, None]
    return np.minimum(np.maximum(values, low[:, None]), high[:, None]).astype(np.int32).astype(np.int64)


def _fitted(steps: _Ints, open_: npt.NDArray[np.bool_], low: _Ints, high: _Ints) -> npt.NDArray[np.float64]:
    """The slope that leaves most room for the offset; the room is a concave function of the slope."""
    neurons = np.arange(len(steps))
    first, last = np.minimum(low, steps.shape[1] - 1), np.maximum(high - 1, 0)
    rise, run = high - 1 - low, steps[neurons, last] - steps[neurons, first]
    rise, run = np.maximum(rise, 0).astype(np.float64), np.maximum(run, 0).astype(np.float64)
    # from the first step to the last one, the line rises by `rise`, give or take what one sum more adds
    under = rise / (run + 1)
    over = np.where(run > 1, rise / np.maximum(run - 1, 1), high - low + 1.0)
    over = np.maximum(over, under) + np.where(rise == 0, 1.0, 0)
    for _ in range(_HALVINGS):
        third = (over - under) / 3
        left, right = under + third, over - third
        better = _room(left, steps, open_) < _room(right, steps, open_)
        under, over = np.where(better, left, under), np.where(better, over, right)
    return np.asarray((under + over) / 2)


def _room(
    slope: npt.NDArray[np.float64], steps: _Ints, open_: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float64]:
    floor, ceiling = _bounds(slope, steps, open_)
    return np.asarray(ceiling - floor)


def _bounds(
    slope: npt.NDArray[np.float64], steps: _Ints, open_: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Between what the offset must be: level m is reached at its threshold, and not one below."""
    number = np.arange(1, steps.shape[1] + 1)
    at = number - slope[:, None] * np.where(open_, steps, 0)
    floor = np.where(open_, at, -np.inf).max(axis=1, initial=-np.inf)
    ceiling = np.where(open_, at + slope[:, None], np.inf).min(axis=1, initial=np.inf)
    return floor, ceiling


def _last_equal(rows: _Ints, open_: npt.NDArray[np.bool_], number: _Ints) -> _Ints:
    """The number of the last open step with the same threshold as each."""
    if not rows.shape[1]:
        return rows
    ends = np.ones(rows.shape, bool)
    ends[:, :-1] = (rows[:, :-1] != rows[:, 1:]) | ~open_[:, 1:]
    marked = np.where(ends, number, len(number) + 1)
    return np.minimum.accumulate(marked[:, ::-1], axis=1)[:, ::-1]


def _first_equal(rows: _Ints, open_: npt.NDArray[np.bool_], number: _Ints) -> _Ints:
    """The number of the first open step with the same threshold as each."""
    if not rows.shape[1]:
        return rows
    begins = np.ones(rows.shape, bool)
    begins[:, 1:] = (rows[:, :-1] != rows[:, 1:]) | ~open_[:, :-1]
    return np.maximum.accumulate(np.where(begins, number, 0), axis=1)
