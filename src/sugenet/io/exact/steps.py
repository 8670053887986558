"""Steps between a sum and its sign or quantizer, as exact functions of one number: affine maps, one batch
norm, clipping. They are evaluated, and solved backwards for the sum at which a threshold is reached.

A value is stored as ``p + q * sqrt(v)`` with rationals p, q and v, so the square root of a batch norm is
never rounded. A threshold has the same form. If it is irrational and compared with real numbers, it is
enclosed between two rationals, whose distance `_BITS` defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, isinf, isqrt, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, BatchNorm, Clip
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.folding import sign_of_affine

__all__ = [
    "MinSum",
    "Pipeline",
    "Root",
    "Step",
    "Surd",
    "per_channel",
    "pipelines",
    "rational_root",
    "sign_of",
    "smallest_sum",
    "theta_of",
    "within",
]

Step: TypeAlias = Affine | BatchNorm | Clip


@dataclass(frozen=True)
class Root:
    """The batch norm of one channel, multiplied by the square root of its variance: ``gamma * (x - mean) +
    beta * sqrt(v)``.
    """

    gamma: Fraction
    beta: Fraction
    mean: Fraction
    v: Fraction


@dataclass(frozen=True)
class Surd:
    """``(p + q sqrt(v)) / sqrt(v)**divided``: exact, with at most one square root."""

    p: Fraction
    q: Fraction = Fraction(0)
    v: Fraction = Fraction(1)
    divided: bool = False

    def sign(self) -> int:
        """Return the exact sign. Dividing by a positive root does not change it."""
        return sign_of_affine(self.p, self.q, self.v)

    def __float__(self) -> float:
        root = sqrt(self.v)
        return (float(self.p) + float(self.q) * root) / (root if self.divided else 1.0)


@dataclass(frozen=True)
class Pipeline:
    """The exact steps of one channel, in order."""

    parts: tuple[tuple[Fraction, Fraction] | Root | tuple[str, Fraction | float, Fraction | float], ...]

    def __call__(self, x: Fraction) -> Surd:
        """Return the value at x."""
        value = Surd(Fraction(x))
        for part in self.parts:
            if isinstance(part, Root):
                value = Surd(part.gamma * (value.p - part.mean), part.beta, part.v, divided=True)
            elif len(part) == 2:
                a, b = part
                p, q = (a * value.p, a * value.q + b) if value.divided else (a * value.p + b, a * value.q)
                value = Surd(p, q, value.v, value.divided)
            else:
                value = _clipped(value, part[1], part[2])
        return value

    def direction(self, start: int = 0) -> int:
        """Return the direction of the steps from `start` on: +1 if the value rises with x, -1 if it falls, 0
        if it is constant.
        """
        sign = 1
        for part in self.parts[start:]:
            if isinstance(part, Root):
                sign *= sign_of(part.gamma)
            elif len(part) == 2:
                sign *= sign_of(part[0])
        return sign

    @property
    def is_affine(self) -> bool:
        """Whether nothing is clipped."""
        return all(isinstance(part, Root) or len(part) == 2 for part in self.parts)

    def line(self) -> tuple[Fraction, Fraction] | None:
        """Return scale and shift, if the steps are affine without a square root."""
        scale, shift = Fraction(1), Fraction(0)
        for part in self.parts:
            if isinstance(part, Root) or len(part) != 2:
                return None
            scale, shift = part[0] * scale, part[0] * shift + part[1]
        return scale, shift


def _clipped(value: Surd, low: Fraction | float, high: Fraction | float) -> Surd:
    for bound, outside in ((low, -1), (high, 1)):
        if isinstance(bound, float) and isinf(bound):
            continue
        limit = Fraction(bound)
        p, q = (value.p, value.q - limit) if value.divided else (value.p - limit, value.q)
        if Surd(p, q, value.v).sign() == outside:
            return Surd(limit)
    return value


def pipelines(steps: Sequence[Step], channels: int) -> list[Pipeline]:
    """Return the steps of each channel. A step has numbers for all channels together or for each."""
    norms = [step for step in steps if isinstance(step, BatchNorm)]
    if len(norms) > 1:
        raise FileError(
            f"{norms[1].where}: a second batch norm before one sign has a root inside a root. Fold the "
            f"two into one first."
        )
    columns = [_columns(step, channels) for step in steps]
    return [Pipeline(tuple(column[c] for column in columns)) for c in range(channels)]


def _columns(step: Step, channels: int) -> list[Any]:
    if isinstance(step, Clip):
        low, high = (bound if isinf(bound) else Fraction(bound) for bound in (step.low, step.high))
        refuse_if(
            not step.low <= step.high,
            step.where,
            f"clips between {step.low} and {step.high}, which is empty.",
        )
        return [("clip", low, high)] * channels
    if isinstance(step, Affine):
        scale, shift = (per_channel(value, channels, step.where) for value in (step.scale, step.shift))
        return list(zip(scale, shift, strict=True))
    gamma, beta, mean, var = (
        per_channel(v, channels, step.where) for v in (step.gamma, step.beta, step.mean, step.var)
    )
    eps = Fraction(exact_number(float(step.eps), "eps"))
    roots = []
    for c in range(channels):
        v = var[c] + eps
        if v <= 0:
            raise FileError(
                f"{step.where}: channel {c} has variance {float(var[c])} + {float(eps)}, "
                f"which is not positive."
            )
        roots.append(Root(gamma[c], beta[c], mean[c], v))
    return roots


def per_channel(values: Any, channels: int, where: str) -> list[Fraction]:
    """Return exact numbers, one per channel. A single number is repeated."""
    row = np.asarray(values).reshape(-1)
    refuse_if(row.size not in (1, channels), where, f"{row.size} numbers for {channels} channels.")
    bad = next(
        (value for value in row.tolist() if not isinstance(value, Fraction) and not isfinite(value)), None
    )
    refuse_if(bad is not None, where, f"holds {bad}, but every parameter must be a finite number.")
    exact = [Fraction(exact_number(value, where)) for value in row.tolist()]
    return exact * channels if row.size == 1 else exact


def sign_of(value: Fraction) -> int:
    """Return -1, 0 or +1."""
    return (value > 0) - (value < 0)


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
        """Return all x for which ``scale * x + shift`` is in this half."""
        return replace(self, up=self.up == (scale > 0), p=(self.p - shift) / scale, q=self.q / scale)

    def side(self, x: Fraction) -> int:
        """Return the side of x: -1 below the end, 0 at it, +1 above."""
        return sign_of_affine(x - self.p, -self.q, self.v)

    def holds(self, x: Fraction) -> bool:
        """Return whether x is inside."""
        side = self.side(x)
        return self.closed if side == 0 else (side > 0) == self.up


def theta_of(
    line: Pipeline, zero: Literal[1, -1], unit: Fraction, offset: Fraction
) -> tuple[Fraction, Fraction] | bool:
    """Return an enclosure of theta for a neuron that is active iff ``s >= theta``.

    The steps read the sum s of real numbers as ``unit * s + offset``. Return a bool if the neuron is always
    on or always off.

    If the sign falls with s, it is the theta of -s. If sign(0) is -1, the enclosure starts at theta. It is so
    small that no other sum of floats with integer weights lies inside.

    Examples
    --------
    >>> low, high = theta_of(Pipeline(()), -1, Fraction(1), Fraction(-2))
    >>> low, 0 < high - low < Fraction(1, 2**1074)
    (Fraction(2, 1), True)
    """
    half = _sums_in(line, _HalfLine(True, zero == 1, Fraction(0)), unit, offset)
    if isinstance(half, bool):
        return half
    low, high = _enclosed(half)
    return (low, high) if half.closed or low < high else (low, low + Fraction(1, low.denominator << 1076))


class MinSum(NamedTuple):
    """The point where a neuron first reaches a threshold."""

    least: int
    """The smallest integer sum that reaches it."""
    met: bool
    """Whether an integer sum is exactly at the threshold."""
    gap: float
    """Distance of the nearest integer sum to it, for messages only."""


def smallest_sum(
    line: Pipeline, threshold: Fraction, strict: bool, unit: Fraction, offset: Fraction
) -> MinSum | bool:
    """Return the smallest integer s at which ``line(unit * s + offset)`` reaches a threshold.

    If `strict`, the value must be above the threshold. Return a bool if s does not matter.

    If the line falls with s, it is the smallest -s.

    Examples
    --------
    >>> line = Pipeline((Root(Fraction(1), Fraction(0), Fraction(0), Fraction(2)),))  # x / sqrt(2) >= 3
    >>> smallest_sum(line, Fraction(3), False, Fraction(1), Fraction(0)).least
    5
    >>> smallest_sum(Pipeline(()), Fraction(1, 2), True, Fraction(-1, 2), Fraction(0))
    MinSum(least=2, met=True, gap=0.0)
    """
    half = _sums_in(line, _HalfLine(True, not strict, threshold), unit, offset)
    if isinstance(half, bool):
        return half
    below = _floor(half)
    met = half.side(Fraction(below)) == 0
    try:
        part = 0.0 if met else float(half.p - below) + float(half.q) * sqrt(half.v)
    except OverflowError:  # overflow of the terms; the sum is from 0 to 1
        part = float(_enclosed(half)[0] - below)
    return MinSum(below if met and half.closed else below + 1, met, abs(min(part, 1 - part)))


def within(min_sum: MinSum | bool, low: int, high: int) -> int:
    """Return the smallest sum of low..high that reaches a threshold; high + 1 if none does."""
    if isinstance(min_sum, bool):
        return int(low if min_sum else high + 1)
    return int(min(max(min_sum.least, low), high + 1))


def _floor(half: _HalfLine) -> int:
    """Return the largest integer that is not above the end."""
    square = half.q**2 * half.v
    # p + q sqrt(v) is (a +- sqrt(x)) / b in integers
    a, b = half.p.numerator * square.denominator, half.p.denominator * square.denominator
    x = half.p.denominator**2 * square.numerator * square.denominator
    root = isqrt(x)
    if half.q < 0 and root * root < x:
        root += 1
    return int((a - root if half.q < 0 else a + root) // b)


def _sums_in(line: Pipeline, half: _HalfLine, unit: Fraction, offset: Fraction) -> _HalfLine | bool:
    """Return the sums s whose ``line(unit * s + offset)`` is in a half, or their negatives if that makes it
    the upper half; a bool if s does not matter.
    """
    solution = _solved(line, half)
    if isinstance(solution, bool):
        return solution
    if not unit:
        return solution.holds(offset)
    solution = solution.moved(unit, offset)
    return solution if solution.up else replace(solution, up=True, p=-solution.p, q=-solution.q)


def _solved(line: Pipeline, half: _HalfLine) -> _HalfLine | bool:
    """Return the half that the steps map into the given one; a bool if they map all or nothing into it."""
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
            fixed = _decided(half, part[1], part[2])
            if fixed is not None:
                return fixed
    return half


def _decided(half: _HalfLine, low: Fraction | float, high: Fraction | float) -> bool | None:
    """Return whether values between two bounds are in a half, if both bounds agree. Otherwise clipping has no
    effect.
    """
    first, last = (
        (bound > 0) == half.up if isinstance(bound, float) and isinf(bound) else half.holds(Fraction(bound))
        for bound in (low, high)
    )
    return first if first == last else None


def rational_root(value: Fraction) -> Fraction | None:
    """Return the square root, if it is rational."""
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    exact = top**2 == value.numerator and bottom**2 == value.denominator
    return Fraction(top, bottom) if exact else None


def _enclosed(half: _HalfLine) -> tuple[Fraction, Fraction]:
    """Return two rationals around the end; equal if it is rational."""
    square = half.q**2 * half.v
    root, sign = rational_root(square), sign_of(half.q)
    if root is not None:
        return (half.p + sign * root,) * 2
    scale = 1 << (_BITS + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
    near = isqrt(square.numerator * scale**2 // square.denominator)
    low, high = sorted(half.p + sign * Fraction(value, scale) for value in (near, near + 1))
    return low, high
