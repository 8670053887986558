"""Raw inputs that are rescaled, one factor a feature or channel, in front of the first layer: factors as
whole numbers times one unit (docs/theory.md 3.6).

Scales of a file are exact numbers, and so are their multiples of a common unit where these are short enough
for sums of whole numbers. A batch norm's factor has a square root: it is kept to `_DIGITS` bits, the same for
all channels whose roots are multiples of one another, so that their ratios stay exact. Factors without a
short common unit are rounded to one. How far that can move a value is known, and handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, isqrt, lcm
from typing import NamedTuple

from sugenet.bnn.layers import WIDEST
from sugenet.errors import FileError
from sugenet.io.exact.steps import Pipeline, Root

__all__ = [
    "Factors",
    "Roots",
    "StraightLine",
    "WideRow",
    "common_unit",
    "in_common_units",
    "in_shared_units",
    "rational_root",
    "wide_row",
]

_DIGITS = 192
_ROUNDED = 1 << 54  # sums with rounded factors stay below
_FINE = 1 << 26  # the largest factor has at least so many units: more than a float32 number has
_LONG = 1 << 10  # bits of a common denominator for which sums are not even tried


class StraightLine(NamedTuple):
    """What becomes of a raw number: ``scale * x + shift``, off by at most ``bend * abs(x) + bias``."""

    scale: Fraction
    shift: Fraction
    bend: Fraction = Fraction(0)
    bias: Fraction = Fraction(0)

    def error(self, largest: Fraction) -> Fraction:
        """How far the value of a raw number of at most this size can be off."""
        return self.bend * largest + self.bias


class Roots:
    """One over the square root of variances: exact where it is rational, else a little below; variances whose
    roots are multiples of one another share one.
    """

    def __init__(self) -> None:
        self._known: list[tuple[Fraction, Fraction]] = []

    def inverse(self, v: Fraction) -> tuple[Fraction, Fraction]:
        """A number near ``1 / sqrt(v)``, not above it, and how far it is off at most.

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
        # a whole root of v scaled up, with _DIGITS bits or more
        scale = 1 << _DIGITS + max(0, v.numerator.bit_length() - v.denominator.bit_length())
        near = Fraction(isqrt(v.denominator * scale**2 // v.numerator), scale)
        self._known.append((v, near))
        return near, near / (1 << _DIGITS - 2)

    def straight(self, line: Pipeline) -> StraightLine | None:
        """The steps of a channel as one scale and shift; None where something is clipped."""
        scale, shift, bend, bias = Fraction(1), Fraction(0), Fraction(0), Fraction(0)
        for part in line.parts:
            if isinstance(part, Root):
                near, off = self.inverse(part.v)
                bend, bias = (
                    abs(part.gamma) * (near * bend + off * (abs(scale) + bend)),
                    abs(part.gamma) * (near * bias + off * (abs(shift - part.mean) + bias)),
                )
                scale, shift = part.gamma * near * scale, part.gamma * near * (shift - part.mean) + part.beta
            elif len(part) == 2:
                scale, shift = part[0] * scale, part[0] * shift + part[1]
                bend, bias = abs(part[0]) * bend, abs(part[0]) * bias
            else:
                return None
        return StraightLine(scale, shift, bend, bias)


def rational_root(value: Fraction) -> Fraction | None:
    """The square root, where it is rational."""
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    exact = top**2 == value.numerator and bottom**2 == value.denominator
    return Fraction(top, bottom) if exact else None


@dataclass(frozen=True)
class Factors:
    """Factors as ``whole[k] * unit``, off by at most ``errors[k]``."""

    whole: tuple[int, ...]
    unit: Fraction
    errors: tuple[Fraction, ...]


def in_common_units(factors: Sequence[Fraction], weight: int, where: str) -> Factors:
    """Write factors as multiples of one unit, such that a sum of so much `weight` of any of them fits a
    layer; exactly where they have a unit that is large enough, else rounded to one.

    Examples
    --------
    >>> in_common_units([Fraction(1, 2), Fraction(-1, 3)], 255, "scale")
    Factors(whole=(3, -2), unit=Fraction(1, 6), errors=(Fraction(0, 1), Fraction(0, 1)))
    >>> rounded = in_common_units([Fraction(1, 2), Fraction(1, 3**50)], 255, "scale")
    >>> rounded.whole[0] * 255 < 2**54 <= rounded.whole[0] * 255 * 4, 2 * max(rounded.errors) <= rounded.unit
    (True, True)
    """
    largest, weight = max((abs(factor) for factor in factors), default=Fraction(0)), max(weight, 1)
    if not largest:
        return Factors((0,) * len(factors), Fraction(1), (Fraction(0),) * len(factors))
    unit = common_unit(factors)
    if unit is not None and largest * weight < WIDEST * unit:
        return Factors(tuple(int(f / unit) for f in factors), unit, (Fraction(0),) * len(factors))
    unit = _power_above((largest * weight + largest) / _ROUNDED)
    if largest < _FINE * unit:
        raise FileError(
            f"{where}: the inputs are rescaled by factors without a common unit, and sums of so many of them "
            f"leave no room to keep these to more than 26 bits. Use factors that are multiples of one number."
        )
    whole = tuple(round(f / unit) for f in factors)
    return Factors(whole, unit, tuple(abs(f - w * unit) for f, w in zip(factors, whole, strict=True)))


@dataclass(frozen=True)
class WideRow:
    """Weights of one row as ``whole[k] * unit``, and how far a sum of them can be off."""

    whole: tuple[int, ...]
    unit: Fraction
    error: Fraction


def wide_row(values: Sequence[Fraction], top: int | None, where: str) -> WideRow:
    """Write the weights of a row as multiples of one unit, such that sums over levels up to `top` fit a layer
    (None: over real numbers, where weights have to fit alone); exactly where they have one that is large
    enough, else rounded.

    Examples
    --------
    >>> wide_row([Fraction(0.75), Fraction(-0.3125)], 255, "fc")
    WideRow(whole=(12, -5), unit=Fraction(1, 16), error=Fraction(0, 1))
    """
    sizes = [abs(value) for value in values]
    largest = max(sizes, default=Fraction(0))
    most = largest if top is None else sum(sizes, Fraction(0)) * top
    unit = common_unit(values)
    if not largest or (unit is not None and most < WIDEST * unit):
        unit = unit or Fraction(1)
        return WideRow(tuple(int(value / unit) for value in values), unit, Fraction(0))
    unit = _power_above(2 * most / _ROUNDED)
    if largest < _FINE * unit:
        raise FileError(
            f"{where}: its weights differ too much in size, or are too many, to be kept to more than 26 bits."
        )
    whole = tuple(round(value / unit) for value in values)
    off = sum((abs(v - w * unit) for v, w in zip(values, whole, strict=True)), Fraction(0))
    return WideRow(whole, unit, off * (1 if top is None else top))


def _power_above(value: Fraction) -> Fraction:
    """A power of two above a positive number, at most four times as large."""
    power = value.numerator.bit_length() - value.denominator.bit_length() + 1
    return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)


def common_unit(values: Sequence[Fraction]) -> Fraction | None:
    """The largest number of which all are multiples; None where it would be very long."""
    top, bottom = 0, 1
    for value in {abs(value) for value in values if value}:
        below = lcm(bottom, value.denominator)
        if below.bit_length() > _LONG:
            return None
        top = gcd(top * (below // bottom), value.numerator * (below // value.denominator))
        bottom = below
    return Fraction(top, bottom) if top else Fraction(1)


def in_shared_units(values: Sequence[Fraction]) -> tuple[list[int], Fraction]:
    """Exact numbers over their common denominator, however long it is: whole numbers and what one is worth.

    Examples
    --------
    >>> in_shared_units([Fraction(1, 2), Fraction(-1, 3)])
    ([3, -2], Fraction(1, 6))
    """
    bottom = lcm(*(value.denominator for value in values))
    return [value.numerator * (bottom // value.denominator) for value in values], Fraction(1, bottom)
