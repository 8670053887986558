"""Steps as lines: if thresholds are evenly spaced, a level is a product and a sum in floating point, clipped
at both ends. A line is used only if this is proved.

With floats ``slope >= 0`` and ``offset``, ``min(max(trunc(float(s) * slope + offset), low), high)`` never
falls as ``s`` grows: each rounded operation keeps the order, whether product and sum are rounded separately
or at once. So it equals the steps everywhere if it is equal on both sides of every step. There the exact
value is farther from the next integer than all roundings together can move it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Lines", "clipped_steps", "lines_of", "slopes_of"]

_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.floating[Any]]

_TURNS = 30  # iterations to find the slope
_ROUNDED = (
    2  # units in the last place: to a float, of the product and of the sum, each by half a unit at most
)
_LARGEST = 1 << 30  # largest value on a line, which becomes an integer of 32 bits


@dataclass(frozen=True)
class Lines:
    """One line per neuron, and whether it is proved."""

    slope: _Floats
    offset: _Floats
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    proved: npt.NDArray[np.bool_]

    def levels(self, sums: _Ints) -> _Ints:
        """Return the levels of sums, one row per neuron, by the operations that the kernels use."""
        values = sums.astype(self.slope.dtype) * self.slope[:, None] + self.offset[:, None]
        return np.clip(values.astype(np.int64), self.low[:, None], self.high[:, None])


def clipped_steps(steps: _Ints, lower: _Ints, upper: _Ints) -> _Ints:
    """Clip thresholds to ``least .. most + 1``, for sums from `lower` to `upper`: this changes no level."""
    return np.minimum(np.maximum(steps, lower[:, None]), upper[:, None] + 1)


def lines_of(
    steps: _Ints, lower: _Ints, upper: _Ints, dtype: Any, slopes: npt.NDArray[np.float64] | None = None
) -> Lines:
    """Find lines in floats of `dtype` for neurons whose sums are `lower` to `upper`.

    Parameters
    ----------
    steps : int64 array of shape (neurons, steps)
        Rows in order; the level of a sum is how many thresholds it reaches.
    lower, upper : int64 arrays of shape (neurons,)
        Bounds of the sums.
    dtype : numpy.float32 or numpy.float64
        The floats of the kernel.
    slopes : float64 array of shape (neurons,), optional
        Slopes from `slopes_of`, if they are known.

    Examples
    --------
    >>> lines = lines_of(np.array([[3, 6, 9], [1, 2, 9]]), np.array([0, 0]), np.array([9, 9]), np.float32)
    >>> lines.proved.tolist()
    [True, False]
    >>> lines.levels(np.array([[2, 3, 8, 9]]))[0].tolist()
    [0, 1, 2, 3]
    """
    low, high, number, open_ = _reached(steps, lower, upper)
    slope = (slopes_of(steps, lower, upper) if slopes is None else slopes).astype(dtype)
    floor, ceiling = _bounds(slope.astype(np.float64), steps, open_)
    middle = np.add(floor, ceiling, where=open_.any(axis=1), out=np.zeros(len(steps))) / 2
    offset = middle.astype(dtype)
    # equal thresholds are one step of several levels: there the last is reached, and below it not the first
    first, last = _first_equal(steps, open_, number), _last_equal(steps, open_, number)
    exact, start = slope.astype(np.float64)[:, None], offset.astype(np.float64)[:, None]
    at = steps * exact + start
    unsure = ((np.abs(steps) + 1) * exact + np.abs(start)) * _ROUNDED
    unsure *= float(np.finfo(dtype).eps) + float(
        np.finfo(np.float64).eps
    )  # of the kernel, and of this function
    good = ((at - unsure >= last) & (at - exact + unsure < first)) | ~open_
    ends = np.abs(np.stack([lower, upper], axis=1) * exact + start).max(axis=1)
    proved = good.all(axis=1) & (slope >= 0) & (ends < _LARGEST)
    return Lines(slope, offset, low.astype(np.int32), high.astype(np.int32), proved)


def _reached(steps: _Ints, lower: _Ints, upper: _Ints) -> tuple[_Ints, _Ints, _Ints, npt.NDArray[np.bool_]]:
    """Return how many steps all sums reach, how many any sum reaches, the indices of the steps, and which are
    open: some sums reach them and some do not.
    """
    low = (steps <= lower[:, None]).sum(axis=1)
    high = (steps <= upper[:, None]).sum(axis=1)
    number = np.arange(1, steps.shape[1] + 1)
    return low, high, number, (number > low[:, None]) & (number <= high[:, None])


def slopes_of(steps: _Ints, lower: _Ints, upper: _Ints) -> npt.NDArray[np.float64]:
    """Return the slopes that leave the widest interval for the offset; its width is concave in the slope."""
    low, high, _, open_ = _reached(steps, lower, upper)
    neurons = np.arange(len(steps))
    first, last = np.minimum(low, steps.shape[1] - 1), np.maximum(high - 1, 0)
    rise, run = high - 1 - low, steps[neurons, last] - steps[neurons, first]
    rise, run = np.maximum(rise, 0).astype(np.float64), np.maximum(run, 0).astype(np.float64)
    # from the first step to the last one, the line rises by `rise`, give or take the rise of one more sum
    under = rise / (run + 1)
    over = np.where(run > 1, rise / np.maximum(run - 1, 1), high - low + 1.0)
    over = np.maximum(over, under) + np.where(rise == 0, 1.0, 0)
    for _ in range(_TURNS):
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
    """Return bounds of the offset: level m is reached at its threshold, and not one below."""
    number = np.arange(1, steps.shape[1] + 1)
    at = number - slope[:, None] * np.where(open_, steps, 0)
    floor = np.where(open_, at, -np.inf).max(axis=1, initial=-np.inf)
    ceiling = np.where(open_, at + slope[:, None], np.inf).min(axis=1, initial=np.inf)
    return floor, ceiling


def _last_equal(rows: _Ints, open_: npt.NDArray[np.bool_], number: _Ints) -> _Ints:
    """Return the index of the last open step with the same threshold as each."""
    if not rows.shape[1]:
        return rows
    ends = np.ones(rows.shape, bool)
    ends[:, :-1] = (rows[:, :-1] != rows[:, 1:]) | ~open_[:, 1:]
    marked = np.where(ends, number, len(number) + 1)
    return np.minimum.accumulate(marked[:, ::-1], axis=1)[:, ::-1]


def _first_equal(rows: _Ints, open_: npt.NDArray[np.bool_], number: _Ints) -> _Ints:
    """Return the index of the first open step with the same threshold as each."""
    if not rows.shape[1]:
        return rows
    begins = np.ones(rows.shape, bool)
    begins[:, 1:] = (rows[:, :-1] != rows[:, 1:]) | ~open_[:, :-1]
    return np.maximum.accumulate(np.where(begins, number, 0), axis=1)
