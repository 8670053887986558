"""Steps between a sum and its sign or quantizer, as exact functions of one number: affine maps, batch norms,
clipping, leaky ReLU. They are evaluated, and solved backwards for the sum at which a threshold is reached.

A value is a sum of rationals times square roots, so the square root of a batch norm is never rounded, also if
several follow each other. A threshold has the same form. If it is irrational and compared with real numbers,
it is enclosed between two rationals, whose distance `_BITS` defines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf, isfinite, isinf, isqrt, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, BatchNorm, Clip, Leaky
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.folding import sign_of_affine

__all__ = [
    "Bend",
    "HalfLine",
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
    "solved",
    "theta_of",
    "within",
]

Step: TypeAlias = Affine | BatchNorm | Clip | Leaky


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
class Bend:
    """A rising function with a bend at 0: values below 0 are multiplied by a positive slope."""

    slope: Fraction


@dataclass(frozen=True)
class Surd:
    """A sum of rationals times square roots of positive rationals, exactly: one root per batch norm so far.

    Examples
    --------
    >>> one = Surd.of(1)
    >>> two = one.times(Fraction(1), root=Fraction(8)).plus(-2)  # sqrt(8) - 2
    >>> two.sign(), two.times(Fraction(1), root=Fraction(2)).sign()
    (1, 1)
    >>> Surd(((Fraction(0), Fraction(1)), (Fraction(2), Fraction(2)), (Fraction(-1), Fraction(8)))).sign()
    0
    """

    terms: tuple[tuple[Fraction, Fraction], ...]
    """Factors and radicands. The first radicand is 1."""

    @classmethod
    def of(cls, value: Any) -> Surd:
        """Return a rational."""
        return cls(((Fraction(value), Fraction(1)),))

    @property
    def rational(self) -> Fraction:
        """The rational part."""
        return self.terms[0][0]

    def plus(self, number: Fraction) -> Surd:
        """Return the sum with a rational."""
        (first, one), *roots = self.terms
        return Surd(((first + number, one), *roots))

    def plus_surd(self, other: Surd) -> Surd:
        """Return the sum with another."""
        return Surd(((self.rational + other.rational, Fraction(1)), *self.terms[1:], *other.terms[1:]))

    def minus(self, other: Surd) -> Surd:
        """Return the difference."""
        return self.plus_surd(other.times(Fraction(-1)))

    def times(self, factor: Fraction, root: Fraction = Fraction(1)) -> Surd:
        """Return the product with a rational, and with the square root of one."""
        if root == 1:
            return Surd(tuple((q * factor, r) for q, r in self.terms))
        return Surd(((Fraction(0), Fraction(1)), *((q * factor, r * root) for q, r in self.terms if q)))

    def sign(self) -> int:
        """Return the exact sign."""
        if len(self.terms) < 3:
            (p, _), (q, r) = self.terms[0], self.terms[-1] if len(self.terms) == 2 else (Fraction(0),) * 2
            return sign_of_affine(p, q, r)
        terms, bits = self._independent(), _BITS
        if not terms:
            return 0
        while True:  # roots of different square classes are independent, so the sum is not 0
            low, high = Surd(terms).enclosed(bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            bits *= 2

    def _independent(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return the terms with those added up whose roots are rational multiples of each other."""
        kept: dict[Fraction, Fraction] = {}
        for q, r in self.terms:
            like = next((other for other in kept if rational_root(r * other) is not None), r)
            ratio = rational_root(r * like)
            assert ratio is not None
            kept[like] = kept.get(like, Fraction(0)) + q * ratio / like
        return tuple((q, r) for r, q in kept.items() if q)

    def enclosed(self, bits: int) -> tuple[Fraction, Fraction]:
        """Return two rationals around the value, with so many bits per root; equal if it is rational."""
        low = high = Fraction(0)
        for q, r in self.terms:
            square = q**2 * r
            root, sign = rational_root(square), sign_of(q)
            if root is None:
                scale = 1 << (bits + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
                near = isqrt(square.numerator * scale**2 // square.denominator)
                ends = sorted(sign * Fraction(value, scale) for value in (near, near + 1))
            else:
                ends = [sign * root] * 2
            low, high = low + ends[0], high + ends[1]
        return low, high

    def floor(self) -> int:
        """Return the largest integer that is not above the value."""
        if len(self.terms) == 1:
            return self.rational.numerator // self.rational.denominator
        low, high = (floor(end) for end in self.enclosed(_BITS))
        return next(value for value in range(high, low - 1, -1) if self.plus(-Fraction(value)).sign() >= 0)

    def __float__(self) -> float:
        return sum(float(q) * sqrt(r) for q, r in self.terms)


@dataclass(frozen=True)
class Pipeline:
    """The exact steps of one channel, in order."""

    parts: tuple[
        tuple[Fraction, Fraction] | Root | Bend | tuple[str, Fraction | float, Fraction | float], ...
    ]

    def __call__(self, x: Fraction) -> Surd:
        """Return the value at x."""
        value = Surd.of(x)
        for part in self.parts:
            if isinstance(part, Root):
                value = value.plus(-part.mean).times(part.gamma / part.v, part.v).plus(part.beta)
            elif isinstance(part, Bend):
                value = value.times(part.slope) if value.sign() < 0 else value
            elif len(part) == 2:
                value = value.times(part[0]).plus(part[1])
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
            elif not isinstance(part, Bend) and len(part) == 2:
                sign *= sign_of(part[0])
        return sign

    @property
    def is_affine(self) -> bool:
        """Whether nothing is clipped or bent."""
        return all(
            isinstance(part, Root) or (isinstance(part, tuple) and len(part) == 2) for part in self.parts
        )

    def line(self) -> tuple[Fraction, Fraction] | None:
        """Return scale and shift, if the steps are affine without a square root."""
        scale, shift = Fraction(1), Fraction(0)
        for part in self.parts:
            if isinstance(part, Root | Bend) or len(part) != 2:
                return None
            scale, shift = part[0] * scale, part[0] * shift + part[1]
        return scale, shift


def _clipped(value: Surd, low: Fraction | float, high: Fraction | float) -> Surd:
    for bound, outside in ((low, -1), (high, 1)):
        if isinstance(bound, float) and isinf(bound):
            continue
        if value.plus(-Fraction(bound)).sign() == outside:
            return Surd.of(bound)
    return value


def pipelines(steps: Sequence[Step], channels: int) -> list[Pipeline]:
    """Return the steps of each channel. A step has numbers for all channels together or for each."""
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
    if isinstance(step, Leaky):
        slopes = per_channel(step.slope, channels, step.where)
        refuse_if(
            min(slopes) < 0,
            step.where,
            f"channel {slopes.index(min(slopes))} has the slope {float(min(slopes)):g} below zero, so it "
            "falls and rises again. Only slopes of 0 or more give a threshold.",
        )
        return [Bend(slope) if slope else ("clip", Fraction(0), inf) for slope in slopes]
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
class HalfLine:
    """The values above (`up`) or below an end, with or without this end itself."""

    up: bool
    closed: bool
    end: Surd

    def moved(self, scale: Fraction, shift: Fraction) -> HalfLine:
        """Return all x for which ``scale * x + shift`` is in this half."""
        return replace(self, up=self.up == (scale > 0), end=self.end.plus(-shift).times(1 / scale))

    def holds(self, x: Fraction) -> bool:
        """Return whether x is inside."""
        side = -self.end.plus(-x).sign()
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
    half = _sums_in(line, HalfLine(True, zero == 1, Surd.of(0)), unit, offset)
    if isinstance(half, bool):
        return half
    low, high = half.end.enclosed(_BITS)
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
    half = _sums_in(line, HalfLine(True, not strict, Surd.of(threshold)), unit, offset)
    if isinstance(half, bool):
        return half
    below = half.end.floor()
    rest = half.end.plus(-Fraction(below))
    met = rest.sign() == 0
    part = 0.0 if met else float(rest.enclosed(_BITS)[0])
    return MinSum(below if met and half.closed else below + 1, met, abs(min(part, 1 - part)))


def within(min_sum: MinSum | bool, low: int, high: int) -> int:
    """Return the smallest sum of low..high that reaches a threshold; high + 1 if none does."""
    if isinstance(min_sum, bool):
        return int(low if min_sum else high + 1)
    return int(min(max(min_sum.least, low), high + 1))


def _sums_in(line: Pipeline, half: HalfLine, unit: Fraction, offset: Fraction) -> HalfLine | bool:
    """Return the sums s whose ``line(unit * s + offset)`` is in a half, or their negatives if that makes it
    the upper half; a bool if s does not matter.
    """
    solution = solved(line, half)
    if isinstance(solution, bool):
        return solution
    if not unit:
        return solution.holds(offset)
    solution = solution.moved(unit, offset)
    return solution if solution.up else replace(solution, up=True, end=solution.end.times(Fraction(-1)))


def solved(line: Pipeline, half: HalfLine) -> HalfLine | bool:
    """Return the half that the steps map into the given one; a bool if they map all or nothing into it."""
    for part in reversed(line.parts):
        if isinstance(part, Root):
            if not part.gamma:
                return half.holds(part.beta)
            # gamma (x - mean) / sqrt(v) + beta, against p: x - mean against (p - beta) sqrt(v) / gamma
            end = half.end.plus(-part.beta).times(1 / part.gamma, part.v).plus(part.mean)
            half = replace(half, up=half.up == (part.gamma > 0), end=end)
        elif isinstance(part, Bend):
            half = replace(half, end=half.end.times(1 / part.slope)) if half.end.sign() < 0 else half
        elif len(part) == 2:
            if not part[0]:
                return half.holds(part[1])
            half = half.moved(*part)
        else:
            fixed = _decided(half, part[1], part[2])
            if fixed is not None:
                return fixed
    return half


def _decided(half: HalfLine, low: Fraction | float, high: Fraction | float) -> bool | None:
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
