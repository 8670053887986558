"""Express integer functions as thresholds: a requantizer of sums, and a table of the levels of two tensors.

The steps of a requantizer are found by bisection, whatever its arithmetic is: float32 multipliers, fixed
point with a shift, or exact numbers. It only has to rise with the sum.

A table that rises in both levels is a threshold function of ``p a + q b`` iff one ratio p / q works for every
step. It must separate the pairs that reach the step from those that do not. Each two such pairs bound the
ratio
from one side. The simplest fraction between all bounds is used, and every pair is checked again.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import FileError, NetworkError
from sugenet.nn import NEVER, QuantizedConv, QuantizedLayer, Window
from sugenet.nn.arrays import Ints

__all__ = ["Requantizer", "joined", "quantized_conv", "quantized_layer", "steps_of"]

Requantizer: TypeAlias = Callable[[Ints], Ints]
"""Levels from 0 of integer sums of shape (channels, any number). Row c belongs to channel c and must rise
with its sum.
"""

_LOOKED_AT = 1 << 20  # sums at which a requantizer is compared with its steps


def steps_of(level: Requantizer, low: Ints, high: Ints, height: int) -> Ints:
    """For each channel and each m of 1..height, return the smallest sum in low..high with level m or more.

    It is `NEVER` if there is none.

    Examples
    --------
    >>> steps_of(lambda s: np.clip(s // 3, 0, 4), np.array([-9]), np.array([10]), 4).tolist()
    [[3, 6, 9, 2147483648]]
    """
    wanted = np.arange(1, height + 1)[None, :]
    first = np.repeat(np.asarray(low, np.int64)[:, None], height, axis=1)
    beyond = np.repeat(np.asarray(high, np.int64)[:, None] + 1, height, axis=1)
    last = beyond.copy()
    while (first < last).any():
        middle = (first + last) // 2
        reached = level(np.minimum(middle, beyond - 1)) >= wanted
        open_ = first < last
        last = np.where(open_ & reached, middle, last)
        first = np.where(open_ & ~reached, middle + 1, first)
    return np.where(first == beyond, NEVER, first)


def quantized_layer(
    weights: Any, level: Requantizer, *, height: int, top: int, zero: int = 0, reach: int | None = None
) -> QuantizedLayer:
    """Return a dense layer that computes ``level(weights @ (a - zero))`` for levels a in 0..top, as levels
    0..height.

    Parameters
    ----------
    weights
        Integers, one row per output.
    level
        The requantizer, biases included. It takes integer sums, row c those of output c, and returns their
        levels from 0. Levels must not fall as the sum rises.
    height
        The largest level that it returns.
    top, zero
        The largest level of an input, and the level that represents 0.
    reach
        The largest absolute sum that the requantizer supports. Layers with larger sums are refused.

    Examples
    --------
    >>> half = lambda s: np.clip(np.rint(s / 2), 0, 3).astype(int)
    >>> quantized_layer([[1, -1]], half, height=3, top=3).activity([[3, 0], [3, 2], [2, 1]]).ravel()
    array([2, 0, 0])

    A multiplier and a shift, as on a microcontroller: times 5 / 64, half up, and 128 represents 0.

    >>> bias = np.array([[40], [-100]])
    >>> rounded = lambda s: np.clip((((s + bias) * 5 + (1 << 5)) >> 6) + 128, 0, 255)
    >>> layer = quantized_layer([[90, -127], [3, 2]], rounded, height=255, top=255, zero=128)
    >>> layer.activity([[128, 128], [200, 100]])
    array([[131, 120],
           [255, 133]])
    """
    weights = _integers(weights, 2)
    steps, shift = _steps(weights, level, height, top, zero, reach)
    return QuantizedLayer.from_sums(weights, _shifted(steps, shift), np.full(weights.shape[1], top))


def quantized_conv(
    weights: Any,
    level: Requantizer,
    window: Window,
    groups: int = 1,
    *,
    height: int,
    top: int,
    zero: int = 0,
    reach: int | None = None,
) -> QuantizedConv:
    """Do the same as `quantized_layer` for a convolution.

    Weights have the shape (out, in / groups, height, width). Padding is `zero`, so it adds nothing.

    Examples
    --------
    >>> mean = lambda s: np.clip((s + 2) // 4, 0, 3)
    >>> layer = quantized_conv([[[[1, 1], [1, 1]]]], mean, Window((1, 2, 2), 2), height=3, top=3)
    >>> layer.activity([[3, 3, 0, 3]])
    array([[2]])
    """
    weights = _integers(weights, 4)
    steps, shift = _steps(weights.reshape(len(weights), -1), level, height, top, zero, reach)
    return QuantizedConv(weights, _shifted(steps, shift), window, groups, top=top, pad=zero)


def _steps(
    rows: Ints, level: Requantizer, height: int, top: int, zero: int, reach: int | None
) -> tuple[Ints, Ints]:
    """Return thresholds on the sums over ``a - zero``, and the offset for sums over a."""
    if height < 1 or not 0 <= zero <= top:
        raise NetworkError(
            f"height={height}, top={top}, zero={zero}: height must be at least 1, and zero one of the levels "
            f"0..top."
        )
    shift = zero * rows.sum(axis=1)
    low, high = np.minimum(rows, 0).sum(axis=1) * top - shift, np.maximum(rows, 0).sum(axis=1) * top - shift
    if reach is not None and max(-int(low.min(initial=0)), int(high.max(initial=0))) > reach:
        raise FileError(
            f"its sums can reach {max(-int(low.min()), int(high.max())):,}, beyond the {reach:,} that it is "
            f"computed in, where they would wrap around. Use smaller weights or fewer inputs."
        )
    steps = steps_of(level, low, high, height)
    _compare(level, steps, low, high, height)
    return steps, shift


def _compare(level: Requantizer, steps: Ints, low: Ints, high: Ints, height: int) -> None:
    """Check that the steps agree with the requantizer: at all sums if they are few, else at many."""
    if not len(steps):
        return
    n_sums = min(int((high - low).max()) + 1, max(2, _LOOKED_AT // (len(steps) * height)))
    sums = low[:, None] + (high - low)[:, None] * np.arange(n_sums) // max(n_sums - 1, 1)
    levels = np.asarray(level(sums))
    if levels.shape != sums.shape:
        raise NetworkError(
            f"the requantizer gives levels of shape {levels.shape} for sums of shape {sums.shape}."
        )
    expected = (sums[:, :, None] >= steps[:, None, :]).sum(axis=2)
    wrong = np.argwhere(levels != expected)
    if len(wrong):
        row, index = wrong[0].tolist()
        raise NetworkError(
            f"the requantizer of output {row + 1} gives level {levels[row, index]} at a sum of "
            f"{sums[row, index]}, where its steps give {expected[row, index]}. Levels must be from 0 to "
            f"height={height} and must not fall where the sum rises."
        )


def _integers(weights: Any, dimensions: int) -> Ints:
    array = np.asarray(weights)
    if array.ndim != dimensions or array.dtype.kind not in "iu":
        raise NetworkError(
            f"weights must be integers in {dimensions} dimensions, not {array.dtype} of shape {array.shape}."
        )
    return array.astype(np.int64)


def _shifted(steps: Ints, shift: Ints) -> Ints:
    return np.where(steps == NEVER, NEVER, steps + shift[:, None])


_FAR = 1 << 40


def joined(table: Ints, height: int) -> tuple[int, int, Ints, int]:
    """Return weights p and q, steps (1, height) and the number of pairs that differ from `table`.

    ``table[a, b]`` is the level in 0..height of levels a and b.

    Examples
    --------
    >>> a, b = np.meshgrid(np.arange(4), np.arange(4), indexing="ij")
    >>> joined((2 * a + 3 * b) // 4, 3)
    (2, 3, array([[ 4,  8, 12]]), 0)
    """
    low, high = _bounds(table, height)
    p, q = _simplest(low, high)
    sums = p * np.arange(table.shape[0])[:, None] + q * np.arange(table.shape[1])[None, :]
    steps = np.array(
        [[int(sums[table >= m].min()) if (table >= m).any() else NEVER for m in range(1, height + 1)]]
    )
    steps = np.maximum.accumulate(steps, axis=1)
    made = np.searchsorted(steps[0], sums.ravel(), side="right").reshape(sums.shape)
    return p, q, steps, int((made != table).sum())


def _bounds(table: Ints, height: int) -> tuple[Fraction, Fraction]:
    """Return the ratios p / q between which every step is a threshold; crossed if there are none."""
    rows, columns = table.shape
    apart = (
        np.arange(rows)[:, None] - np.arange(rows)[None, :]
    )  # a - a', where (a, b) reaches the step and (a', b') does not
    low, high = Fraction(0), Fraction(_FAR)
    for m in range(1, height + 1):
        first = (table < m).sum(axis=1)  # the smallest b that reaches m, `columns` if none does
        reach, miss = first < columns, first > 0
        gap = (first[None, :] - 1) - first[:, None]  # b' - b: p (a - a') > q (b' - b)
        pair = reach[:, None] & miss[None, :]
        above, below = pair & (apart > 0) & (gap >= 0), pair & (apart < 0)
        if above.any():
            low = max(low, _extreme(gap[above], apart[above], largest=True))
        if below.any():
            high = min(high, _extreme(-gap[below], -apart[below], largest=False))
    return low, high


def _extreme(over: Ints, under: Ints, *, largest: bool) -> Fraction:
    """Return the largest or smallest fraction of integers below 2^20, exactly.

    Any two different fractions of this kind are further apart than the rounding of float64.
    """
    k = int((np.argmax if largest else np.argmin)(over / under))
    return Fraction(int(over[k]), int(under[k]))


def _simplest(low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return the simplest fraction strictly between two. If there is none, return the one nearest to both."""
    if low >= high:
        middle = ((low + high) / 2).limit_denominator(1 << 10)
        return max(middle.numerator, 0), middle.denominator
    integer = int(low)
    if integer + 1 < high:
        return integer + 1, 1
    if low == integer:
        under = int(1 / (high - integer)) + 1
        return integer * under + 1, under
    over, under = _simplest(1 / (high - integer), 1 / (low - integer))
    return integer * over + under, over
