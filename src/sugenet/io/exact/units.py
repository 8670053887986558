"""Write exact numbers as integers times one unit: weights row by row, and the factors of raw inputs that are
rescaled before the first layer (docs/theory.md 3.6).

A binarized layer has weights -1, 0 and +1, at any scale in the file. Scales of a file are exact numbers. They
stay exact multiples of a common unit if these are short enough for sums of integers. The factor of a batch
norm has a square root, which is kept to `_DIGITS` bits. Channels whose roots are multiples of one another
share it, so that their ratios stay exact. Factors without a short common unit are rounded to one. The
resulting error bound is passed on.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, isqrt, lcm
from typing import Any, NamedTuple

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Convolution, LinearOp
from sugenet.io.exact.steps import Pipeline, Root, rational_root
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.nn.arrays import Array, Ints
from sugenet.nn.layers import WIDEST

__all__ = [
    "InUnits",
    "Roots",
    "StraightLine",
    "bias_of",
    "common_unit",
    "exact_weights",
    "in_common_units",
    "in_shared_units",
    "in_units",
    "quantized",
    "wide_row",
]

_LARGEST = 1 << 16
"""Largest weight of a file in units: at most sixteen bits are read."""
_LARGEST_EXACT = 1 << 30
"""The same for weights that were computed as exact numbers."""


def in_units(weights: Any, where: str) -> tuple[Ints, list[Fraction]]:
    """Write each row of weights exactly as integers times a positive unit, the largest possible.

    Raise `FileError` if a row has none.

    Examples
    --------
    >>> rows, units = in_units(np.array([[0.5, -0.5, 0.5], [2, 0, -3]]), "layer 1")
    >>> rows.tolist(), [str(unit) for unit in units]
    ([[1, -1, 1], [2, 0, -3]], ['1/2', '1'])
    """
    outcome = quantized(weights, where)
    if isinstance(outcome, str):
        raise FileError(outcome)
    return outcome


def quantized(weights: Any, where: str) -> tuple[Ints, list[Fraction]] | str:
    """Do the same, or return a message about a row that has no unit."""
    array = np.asarray(weights)
    rows = array.reshape(len(array), -1)
    if rows.dtype != object and not np.isfinite(rows).all():
        raise FileError(
            f"{where}: row {int(np.argmax(~np.isfinite(rows).all(axis=1)))} of the weights holds a number "
            f"that is not finite."
        )
    integers = np.zeros(rows.shape, np.int64)
    units = []
    for k, row in enumerate(rows):
        sizes = np.unique(np.abs(row[row != 0])).tolist()
        if len(sizes) <= 1:
            units.append(Fraction(sizes[0] if sizes else 1))
            integers[k] = np.where(row > 0, 1, np.where(row < 0, -1, 0))
            continue
        unit = common_unit([Fraction(size) for size in sizes])
        if unit is None or sizes[-1] > (_LARGEST if rows.dtype != object else _LARGEST_EXACT) * unit:
            return (
                f"{where}: row {k} of the weights is not quantized: it holds weights of size "
                f"{float(sizes[0]):.6g} and {float(sizes[1]):.6g}{' and more' if len(sizes) > 2 else ''}, "
                f"which are not small multiples of one number. A binarized layer has one size a row, a "
                f"quantized one multiples of a scale: export weights as the network uses them."
            )
        units.append(unit)
        multiples = {size: int(Fraction(size) / unit) for size in sizes}
        integers[k] = [
            0 if not v else multiples[abs(v)] if v > 0 else -multiples[abs(v)] for v in row.tolist()
        ]
    return integers.reshape(array.shape), units


def exact_weights(weights: Any, where: str) -> Array:
    """Return weights as exact numbers."""
    array = np.asarray(weights)
    refuse_if(not np.isfinite(array.astype(float)).all(), where, "a weight is not a finite number.")
    distinct, indices = np.unique(array, return_inverse=True)
    exact = np.array([Fraction(value) for value in distinct.tolist()], dtype=object)
    return exact[indices].reshape(array.shape)


def bias_of(op: LinearOp | Convolution) -> list[Fraction]:
    """Return the exact bias of each output; zeros if there is none."""
    count = len(op.weights)
    if op.bias is None:
        return [Fraction(0)] * count
    row = np.asarray(op.bias).reshape(-1)
    refuse_if(
        row.size != count or not np.isfinite(row.astype(float)).all(),
        op.where,
        f"the bias holds {row.size} numbers for {count} outputs, or one that is not finite.",
    )
    return [Fraction(value) for value in row.tolist()]


_DIGITS = 192
_ROUNDED = 1 << 54  # sums with rounded factors stay below this
_FINE = 1 << 26  # the largest factor has at least this many units: more than a float32 number has
_LONG = 1 << 10  # bits of a common denominator above which sums are not tried


class StraightLine(NamedTuple):
    """The value of a raw number: ``scale * x + shift``, with error at most ``bend * abs(x) + bias``."""

    scale: Fraction
    shift: Fraction
    bend: Fraction = Fraction(0)
    bias: Fraction = Fraction(0)

    def error(self, largest: Fraction) -> Fraction:
        """Return the error bound of the value of a raw number of at most this absolute value."""
        return self.bend * largest + self.bias


class Roots:
    """Reciprocals of the square roots of variances: exact if rational, else slightly below.

    Variances whose roots are multiples of one another share one.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Fraction, Fraction]] = []

    def inverse(self, v: Fraction) -> tuple[Fraction, Fraction]:
        """Return a number near ``1 / sqrt(v)``, not above it, and its error bound.

        Examples
        --------
        >>> roots = Roots()
        >>> roots.inverse(Fraction(4))
        (Fraction(1, 2), Fraction(0, 1))
        >>> (one, _), (two, _) = roots.inverse(Fraction(3)), roots.inverse(Fraction(12))
        >>> one / two, abs(one**2 * 3 - 1) < Fraction(1, 2**180)
        (Fraction(2, 1), True)
        """
        exact = rational_root(v)
        if exact is not None:
            return 1 / exact, Fraction(0)
        for other, near in self._known[:8]:
            ratio = rational_root(other / v)
            if ratio is not None:
                return near * ratio, near * ratio / (1 << _DIGITS - 2)
        # an integer root of v scaled up, with _DIGITS bits or more
        scale = 1 << _DIGITS + max(0, v.numerator.bit_length() - v.denominator.bit_length())
        near = Fraction(isqrt(v.denominator * scale**2 // v.numerator), scale)
        self._known.append((v, near))
        return near, near / (1 << _DIGITS - 2)

    def straight(self, line: Pipeline) -> StraightLine | None:
        """Return the steps of a channel as one scale and shift; None if something is clipped."""
        scale, shift, bend, bias = Fraction(1), Fraction(0), Fraction(0), Fraction(0)
        for part in line.parts:
            if isinstance(part, Root):
                near, off = self.inverse(part.v)
                bend, bias = (
                    abs(part.gamma) * (near * bend + off * (abs(scale) + bend)),
                    abs(part.gamma) * (near * bias + off * (abs(shift - part.mean) + bias)),
                )
                scale, shift = part.gamma * near * scale, part.gamma * near * (shift - part.mean) + part.beta
            elif isinstance(part, tuple) and len(part) == 2:
                scale, shift = part[0] * scale, part[0] * shift + part[1]
                bend, bias = abs(part[0]) * bend, abs(part[0]) * bias
            else:
                return None
        return StraightLine(scale, shift, bend, bias)


class InUnits(NamedTuple):
    """Numbers as ``whole[k] * unit``, each with error at most ``errors[k]``."""

    whole: tuple[int, ...]
    unit: Fraction
    errors: tuple[Fraction, ...]

    @property
    def error(self) -> Fraction:
        """The error bound of their sum."""
        return sum(self.errors, Fraction(0))


def in_common_units(factors: Sequence[Fraction], weight: int, where: str) -> InUnits:
    """Write factors as multiples of one unit, such that a sum of total weight `weight` fits a layer.

    The result is exact if the factors have a unit that is large enough. Otherwise it is rounded.

    Examples
    --------
    >>> in_common_units([Fraction(1, 2), Fraction(-1, 3)], 255, "scale")
    InUnits(whole=(3, -2), unit=Fraction(1, 6), errors=(Fraction(0, 1), Fraction(0, 1)))
    >>> rounded = in_common_units([Fraction(1, 2), Fraction(1, 3**50)], 255, "scale")
    >>> rounded.whole[0] * 255 < 2**54 <= rounded.whole[0] * 255 * 4, 2 * max(rounded.errors) <= rounded.unit
    (True, True)
    """
    largest, weight = max((abs(factor) for factor in factors), default=Fraction(0)), max(weight, 1)
    return required(
        _in_units_below(factors, largest * weight, largest * weight + largest),
        where,
        "the inputs are rescaled by factors without a common unit, and sums of so many of them leave no room "
        "to keep these to more than 26 bits. Use factors that are multiples of one number.",
    )


def wide_row(values: Sequence[Fraction], top: int | None, where: str) -> InUnits:
    """Write the weights of a row as multiples of one unit, such that sums over levels up to `top` fit a
    layer.

    If `top` is None, the sums are over real numbers, and only the weights have to fit. The result is exact if
    the weights have a unit that is large enough. Otherwise it is rounded.

    Examples
    --------
    >>> wide_row([Fraction(0.75), Fraction(-0.3125)], 255, "fc")[:2]
    ((12, -5), Fraction(1, 16))
    """
    sizes = [abs(value) for value in values]
    max_sum = max(sizes, default=Fraction(0)) if top is None else sum(sizes, Fraction(0)) * top
    return required(
        _in_units_below(values, max_sum, 2 * max_sum),
        where,
        "its weights differ too much in size, or are too many, to be kept to more than 26 bits.",
    )


def _in_units_below(values: Sequence[Fraction], max_sum: Fraction, room: Fraction) -> InUnits | None:
    """Return numbers in their common unit if a sum of `max_sum` then fits a layer.

    Otherwise round them so that a sum of `room` fits. Return None if that leaves too few bits.
    """
    largest, unit = max((abs(value) for value in values), default=Fraction(0)), common_unit(values)
    if unit is not None and max_sum < WIDEST * unit:
        return InUnits(tuple(int(value / unit) for value in values), unit, (Fraction(0),) * len(values))
    unit = _power_above(room / _ROUNDED)
    if largest < _FINE * unit:
        return None
    integers = tuple(round(value / unit) for value in values)
    return InUnits(integers, unit, tuple(abs(v - w * unit) for v, w in zip(values, integers, strict=True)))


def _power_above(value: Fraction) -> Fraction:
    """Return a power of two above a positive number, at most four times as large."""
    power = value.numerator.bit_length() - value.denominator.bit_length() + 1
    return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)


def common_unit(values: Sequence[Fraction]) -> Fraction | None:
    """Return the largest number that all are multiples of; None if it would be very long."""
    top, bottom = 0, 1
    for value in {abs(value) for value in values if value}:
        below = lcm(bottom, value.denominator)
        if below.bit_length() > _LONG:
            return None
        top = gcd(top * (below // bottom), value.numerator * (below // value.denominator))
        bottom = below
    return Fraction(top, bottom) if top else Fraction(1)


def in_shared_units(values: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """Return exact numbers over their common denominator, of any length: integers and their unit.

    Examples
    --------
    >>> in_shared_units([Fraction(1, 2), Fraction(-1, 3)])
    ([3, -2], Fraction(1, 6))
    """
    bottom = lcm(*(value.denominator for value in values))
    return [value.numerator * (bottom // value.denominator) for value in values], Fraction(1, bottom)
