"""Steps between a sum and its sign or quantizer, as exact functions of one number: affine maps, one batch
norm, clipping; evaluated, and solved backwards for the sum at which a threshold is reached.

A value is kept as ``p + q * sqrt(v)`` with rationals p, q and v, so that a batch norm's square root never has
to be rounded. A threshold has the same form. If it is irrational and real numbers are compared with it, it is
kept between two rationals, as near to each other as `_BITS` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite, isinf, isqrt, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sugenet.bnn.folding import sign_of_affine
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, BatchNorm, Clip
from sugenet.io.plain.refusals import refuse_if

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
    """One channel's batch norm, multiplied by the square root of its variance:
    ``gamma * (x - mean) + beta * sqrt(v)``.
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
        """Exact sign; dividing by a positive root does not change it."""
        return sign_of_affine(self.p, self.q, self.v)

    def __float__(self) -> float:
        root = sqrt(self.v)
        return (float(self.p) + float(self.q) * root) / (root if self.divided else 1.0)


@dataclass(frozen=True)
class Pipeline:
    """The exact steps of one channel, in order."""

    parts: tuple[tuple[Fraction, Fraction] | Root | tuple[str, Fraction | float, Fraction | float], ...]

    def __call__(self, x: Fraction) -> Surd:
        """Value at x."""
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
        """+1 where the value rises with x, -1 where it falls, 0 where it cannot move;
        of the steps from `start` on.
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
        """Scale and shift, where the steps are affine without a square root."""
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
    """The steps of each channel; a step speaks of all channels at once or of each."""
    norms = [step for step in steps if isinstance(step, BatchNorm)]
    if len(norms) > 1:
        raise FileError(
            f"{norms[1].where}: a second batch norm in front of one sign has a root inside a root. Fold the "
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
    """Exact numbers, one a channel; one for all is repeated."""
    row = np.asarray(values).reshape(-1)
    refuse_if(row.size not in (1, channels), where, f"{row.size} numbers for {channels} channels.")
    bad = next(
        (value for value in row.tolist() if not isinstance(value, Fraction) and not isfinite(value)), None
    )
    refuse_if(bad is not None, where, f"holds {bad}, but every parameter must be a finite number.")
    exact = [Fraction(exact_number(value, where)) for value in row.tolist()]
    return exact * channels if row.size == 1 else exact


def sign_of(value: Fraction) -> int:
    """-1, 0 or +1."""
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
    half = _sums_in(line, _HalfLine(True, zero == 1, Fraction(0)), unit, offset)
    if isinstance(half, bool):
        return half
    low, high = _enclosed(half)
    return (low, high) if half.closed or low < high else (low, low + Fraction(1, low.denominator << 1076))


class MinSum(NamedTuple):
    """Where a neuron begins to reach a threshold."""

    least: int
    """The least whole sum that does."""
    met: bool
    """Whether a whole sum is exactly at the threshold."""
    gap: float
    """How far the nearest whole sum is from it, for messages only."""


def smallest_sum(
    line: Pipeline, threshold: Fraction, strict: bool, unit: Fraction, offset: Fraction
) -> MinSum | bool:
    """The least whole s at which ``line(unit * s + offset)`` reaches a threshold, or is above it where
    `strict`; a bool where s does not matter.

    Where the line falls with s, it is the least of -s.

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
    except OverflowError:  # of the terms; the sum is from 0 to 1
        part = float(_enclosed(half)[0] - below)
    return MinSum(below if met and half.closed else below + 1, met, abs(min(part, 1 - part)))


def within(min_sum: MinSum | bool, low: int, high: int) -> int:
    """The least sum of low..high that reaches a threshold, high + 1 if none does."""
    if isinstance(min_sum, bool):
        return int(low if min_sum else high + 1)
    return int(min(max(min_sum.least, low), high + 1))


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


def _sums_in(line: Pipeline, half: _HalfLine, unit: Fraction, offset: Fraction) -> _HalfLine | bool:
    """The sums s whose ``line(unit * s + offset)`` is in a half, or their negatives if that makes it the
    upper one; a bool if s does not matter.
    """
    solution = _solved(line, half)
    if isinstance(solution, bool):
        return solution
    if not unit:
        return solution.holds(offset)
    solution = solution.moved(unit, offset)
    return solution if solution.up else replace(solution, up=True, p=-solution.p, q=-solution.q)


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
            fixed = _decided(half, part[1], part[2])
            if fixed is not None:
                return fixed
    return half


def _decided(half: _HalfLine, low: Fraction | float, high: Fraction | float) -> bool | None:
    """What a half says of values between two bounds, where it says the same of both;
    else clipping changes nothing.
    """
    first, last = (
        (bound > 0) == half.up if isinstance(bound, float) and isinf(bound) else half.holds(Fraction(bound))
        for bound in (low, high)
    )
    return first if first == last else None


def rational_root(value: Fraction) -> Fraction | None:
    """The square root, where it is rational."""
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    exact = top**2 == value.numerator and bottom**2 == value.denominator
    return Fraction(top, bottom) if exact else None


def _enclosed(half: _HalfLine) -> tuple[Fraction, Fraction]:
    """Two rationals around the end, equal if it is rational."""
    square = half.q**2 * half.v
    root, sign = rational_root(square), sign_of(half.q)
    if root is not None:
        return (half.p + sign * root,) * 2
    scale = 1 << (_BITS + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
    near = isqrt(square.numerator * scale**2 // square.denominator)
    low, high = sorted(half.p + sign * Fraction(value, scale) for value in (near, near + 1))
    return low, high
