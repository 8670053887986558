"""Where a sum turns: the steps between it and its sign, or a threshold of its stairs, solved backwards for
the sum, exactly; for the first layer on real values too.

A threshold is ``p + q * sqrt(v)``. Where it is irrational it is kept between two rationals, as near to each
other as `_BITS` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isinf, isqrt, sqrt
from typing import Literal, NamedTuple

from sugenet.bnn.folding import sign_of_affine
from sugenet.io.exact.steps import Pipeline, Root

__all__ = ["LeastSum", "least_sum", "theta_of"]

_BITS = 128


@dataclass(frozen=True)
class _HalfLine:
    """The values above (`up`) or below ``p + q sqrt(v)``, with or without this end itself."""

    up: bool
    closed: bool
    p: Fraction
    q: Fraction = Fraction(0)
    v: Fraction = Fraction(1)

    def moved(self, scale: Fraction, shift: Fraction) -> _HalfLine:
        """All x for which ``scale * x + shift`` is in this half."""
        return replace(self, up=self.up == (scale > 0), p=(self.p - shift) / scale, q=self.q / scale)

    def side(self, x: Fraction) -> int:
        """Where x stands: -1 below the end, 0 at it, +1 above."""
        return sign_of_affine(x - self.p, -self.q, self.v)

    def holds(self, x: Fraction) -> bool:
        """Whether x is inside."""
        side = self.side(x)
        return self.closed if side == 0 else (side > 0) == self.up


def theta_of(
    line: Pipeline, zero: Literal[1, -1], unit: Fraction, offset: Fraction
) -> tuple[Fraction, Fraction] | bool:
    """Enclosure of theta, active iff ``s >= theta``, for the sum s of real numbers that enters the steps as
    ``unit * s + offset``; or whether the neuron is always on or always off.

    Where the sign falls with s, it is the theta of -s. Where sign(0) is -1, the enclosure begins at theta
    and is so small that no other sum of floats with whole weights lies inside.

    Examples
    --------
    >>> low, high = theta_of(Pipeline(()), -1, Fraction(1), Fraction(-2))
    >>> low, 0 < high - low < Fraction(1, 2**1074)
    (Fraction(2, 1), True)
    """
    half = _solved(line, _HalfLine(True, zero == 1, Fraction(0)))
    if not isinstance(half, bool) and not unit:
        half = half.holds(offset)
    if isinstance(half, bool):
        return half
    half = half.moved(unit, offset)
    if not half.up:
        half = replace(half, up=True, p=-half.p, q=-half.q)
    low, high = _enclosed(replace(half, closed=True))
    return (low, high) if half.closed or low < high else (low, low + Fraction(1, low.denominator << 1076))


class LeastSum(NamedTuple):
    """Where a neuron begins to reach a threshold."""

    least: int
    """The least whole sum that does."""
    met: bool
    """Whether a whole sum is exactly at the threshold."""
    gap: float
    """How far the nearest whole sum is from it, for messages only."""


def least_sum(
    line: Pipeline, threshold: Fraction, strict: bool, unit: Fraction, offset: Fraction
) -> LeastSum | bool:
    """The least whole s at which ``line(unit * s + offset)`` reaches a threshold, or is above it where
    `strict`; a bool where s does not matter.

    Where the line falls with s, it is the least of -s.

    Examples
    --------
    >>> line = Pipeline((Root(Fraction(1), Fraction(0), Fraction(0), Fraction(2)),))  # x / sqrt(2) >= 3
    >>> least_sum(line, Fraction(3), False, Fraction(1), Fraction(0)).least
    5
    >>> least_sum(Pipeline(()), Fraction(1, 2), True, Fraction(-1, 2), Fraction(0))
    LeastSum(least=2, met=True, gap=0.0)
    """
    half = _solved(line, _HalfLine(True, not strict, threshold))
    if not isinstance(half, bool) and not unit:
        half = half.holds(offset)
    if isinstance(half, bool):
        return half
    half = half.moved(unit, offset)
    if not half.up:
        half = replace(half, up=True, p=-half.p, q=-half.q)
    below = _floor(half)
    met = half.side(Fraction(below)) == 0
    part = 0.0 if met else float(half.p - below) + float(half.q) * sqrt(half.v)
    return LeastSum(below if met and half.closed else below + 1, met, abs(min(part, 1 - part)))


def _floor(half: _HalfLine) -> int:
    """The largest whole number that is not above the end."""
    square = half.q**2 * half.v
    # p + q sqrt(v) is (a +- sqrt(x)) / b in whole numbers
    a, b = half.p.numerator * square.denominator, half.p.denominator * square.denominator
    x = half.p.denominator**2 * square.numerator * square.denominator
    root = isqrt(x)
    if half.q < 0 and root * root < x:
        root += 1
    return int((a - root if half.q < 0 else a + root) // b)


def _solved(line: Pipeline, half: _HalfLine) -> _HalfLine | bool:
    """The half that the steps map into the given one; a bool where they map all or nothing into it."""
    for part in reversed(line.parts):
        if isinstance(part, Root):
            if not part.gamma:
                return half.holds(part.beta)
            # gamma (x - mean) / sqrt(v) + beta, against p: x - mean against (p - beta) sqrt(v) / gamma
            half = _HalfLine(
                half.up == (part.gamma > 0), half.closed, part.mean, (half.p - part.beta) / part.gamma, part.v
            )
        elif len(part) == 2:
            if not part[0]:
                return half.holds(part[1])
            half = half.moved(*part)
        else:
            fixed = _clipped(half, part[1], part[2])
            if fixed is not None:
                return fixed
    return half


def _clipped(half: _HalfLine, low: Fraction | float, high: Fraction | float) -> bool | None:
    """What a half says of values between two bounds, where it says the same of both;
    else clipping changes nothing.
    """
    first, last = (
        (bound > 0) == half.up if isinstance(bound, float) and isinf(bound) else half.holds(Fraction(bound))
        for bound in (low, high)
    )
    return first if first == last else None


def _enclosed(half: _HalfLine) -> tuple[Fraction, Fraction]:
    """Two rationals around the end, equal where it is rational and belongs to the half."""
    low = high = half.p
    if half.q:
        square = half.q**2 * half.v
        top, bottom = isqrt(square.numerator), isqrt(square.denominator)
        sign = 1 if half.q > 0 else -1
        if top**2 == square.numerator and bottom**2 == square.denominator:
            low = high = half.p + sign * Fraction(top, bottom)
        else:
            scale = 1 << (_BITS + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
            root = isqrt(square.numerator * scale**2 // square.denominator)
            low, high = sorted(half.p + sign * Fraction(value, scale) for value in (root, root + 1))
    if half.closed or low < high:
        return low, high
    return low, low + Fraction(1, 1 << _BITS)
