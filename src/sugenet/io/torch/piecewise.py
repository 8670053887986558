"""Piecewise affine functions of one number with finitely many breaks, in exact arithmetic. On the way to one,
a function may be piecewise polynomial.

They describe the operations around a sign. ``torch.where(x >= 0, 1, -1)``, ``(x >= 0) * 2 - 1``,
``sign(sign(x) + 0.1)`` and ``x + (sign(x) - x)`` are different programs. A reader that computes with
functions, and does not match programs, handles all of them, including the value at 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, gcd, inf, isinf, lcm
from typing import Any, Literal, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Clip, Leaky, Op, Quantize, Sign, numbers
from sugenet.io.exact.steps import sign_of
from sugenet.io.plain.refusals import refuse_if

__all__ = ["FARTHEST", "Line", "Piecewise"]

Line: TypeAlias = tuple[Fraction, ...]
"""Slope and value at 0. A polynomial has the coefficients of higher powers first."""


FARTHEST = 1 << 8
"""Rounding is followed up to this integer."""
_POWER = 8
"""Largest power of a polynomial."""


@dataclass(frozen=True)
class Piecewise:
    """A function that is affine on the open intervals between `breaks`, with a separate value at each break.

    Sums and products may be polynomials there, which must cancel before a decision: the smooth halves of a
    straight-through estimator do.

    Examples
    --------
    >>> x = Piecewise.identity()
    >>> x.at_least(0).times(2).plus(-1) == x.sign().plus(Fraction(1, 10)).sign()
    True
    >>> x.sign().minus(x).added(x) == x.sign()
    True
    >>> [(op.zero, op.low, op.high) for op in x.at_least(0).ops("here")]
    [(1, 0.0, 1.0)]
    """

    breaks: tuple[Fraction, ...]
    lines: tuple[Line, ...]
    """One per interval, one more than breaks."""
    points: tuple[Fraction, ...]
    """The value at each break."""

    @classmethod
    def identity(cls) -> Piecewise:
        """Return the identity function."""
        return cls((), ((Fraction(1), Fraction(0)),), ())

    @classmethod
    def constant(cls, value: Any) -> Piecewise:
        """Return a constant function."""
        return cls((), ((Fraction(0), Fraction(value)),), ())

    # -- arithmetic ------------------------------------------------------------------------------------------

    def times(self, factor: Any) -> Piecewise:
        """Return the function multiplied by a number."""
        return self.multiplied(Piecewise.constant(factor))

    def plus(self, number: Any) -> Piecewise:
        """Return the function plus a number."""
        return self.added(Piecewise.constant(number))

    def added(self, other: Piecewise) -> Piecewise:
        """Return the sum of two functions of the same number."""
        return self._with(other, _sum)

    def minus(self, other: Piecewise) -> Piecewise:
        """Return the difference of two functions of the same number."""
        return self.added(other.times(-1))

    def multiplied(self, other: Piecewise) -> Piecewise:
        """Return the product."""
        return self._with(other, _product)

    def _with(self, other: Piecewise, join: Callable[[Line, Line], Line]) -> Piecewise:
        breaks = sorted({*self.breaks, *other.breaks})
        lines = [join(p, q) for p, q in zip(self._lines(breaks), other._lines(breaks), strict=True)]
        zero = Fraction(0)
        points = [join((zero, self.value(t)), (zero, other.value(t)))[-1] for t in breaks]
        return _tidy(breaks, lines, points)

    def _lines(self, breaks: list[Fraction]) -> list[Line]:
        """Return the line on each interval between finer breaks."""
        return [self.lines[bisect_left(self.breaks, at)] for at in _inside(breaks)]

    def value(self, x: Fraction) -> Fraction:
        """Return the value at a number."""
        index = bisect_left(self.breaks, x)
        if index < len(self.breaks) and self.breaks[index] == x:
            return self.points[index]
        return _at(self.lines[index], x)

    # -- decisions -------------------------------------------------------------------------------------------

    def choose(self, level: Any, below: Piecewise, equal: Piecewise, above: Piecewise) -> Piecewise:
        """Return one of three functions, depending on whether this one is below, equal to or above a
        level.
        """
        return _chosen(self, Fraction(level), below, equal, above)

    def sign(self) -> Piecewise:
        """Return -1, 0 or 1, as `torch.sign`."""
        return self.choose(0, *(Piecewise.constant(value) for value in (-1, 0, 1)))

    def at_least(self, level: Any) -> Piecewise:
        """Return 1 where the value is at least a level, else 0."""
        return self.choose(level, Piecewise.constant(0), Piecewise.constant(1), Piecewise.constant(1))

    def above(self, level: Any) -> Piecewise:
        """Return 1 where the value is above a level, else 0."""
        return self.choose(level, Piecewise.constant(0), Piecewise.constant(0), Piecewise.constant(1))

    def equal_to(self, level: Any) -> Piecewise:
        """Return 1 where the value equals a level, else 0."""
        return self.choose(level, Piecewise.constant(0), Piecewise.constant(1), Piecewise.constant(0))

    def negated(self) -> Piecewise:
        """Return 1 - f: the negation of a decision."""
        return self.times(-1).plus(1)

    def select(self, yes: Piecewise, no: Piecewise) -> Piecewise:
        """Return `yes` for values at which this decision is 1, and `no` for the others."""
        return self.choose(Fraction(1, 2), no, no, yes)

    def clipped(self, low: float, high: float) -> Piecewise:
        """Return the function clipped to two bounds, which may be infinite."""
        clipped = self
        if not isinf(low):
            bound = Piecewise.constant(low)
            clipped = clipped.choose(low, bound, bound, clipped)
        if not isinf(high):
            bound = Piecewise.constant(high)
            clipped = clipped.choose(high, clipped, bound, bound)
        return clipped

    def rounded(self, way: Literal["round", "floor", "ceil"]) -> Piecewise:
        """Return the function rounded to integers, ties to even.

        Far from 0 an unbounded function stays as it is, so it must be clipped before or after rounding.

        Examples
        --------
        >>> x = Piecewise.identity()
        >>> x.plus(1).times(Fraction(1, 2)).clipped(0, 1).rounded("round") == x.above(0)
        True
        """
        self._check_affine("a rounding")
        half = Fraction(1, 2) if way == "round" else Fraction(0)
        edges: list[Any] = [-inf, *self.breaks, inf]
        breaks = set(self.breaks)
        for (slope, start), low, high in zip(self.lines, edges, edges[1:], strict=False):
            if not slope:
                continue
            ends = sorted(
                slope * end + start if not isinstance(end, float) else end if slope > 0 else -end
                for end in (low, high)
            )
            # An unbounded function is rounded only this far. Beyond, it stays as it is, and must be clipped
            # later.
            first = -FARTHEST if ends[0] == -inf else ends[0]
            last = FARTHEST if ends[1] == inf else ends[1]
            refuse_if(
                last - first > 2 * FARTHEST,
                f"rounds to more than {2 * FARTHEST} integers. Clip them to fewer.",
            )
            levels = range(ceil(first - half), floor(last - half) + 1)
            breaks |= {(level + half - start) / slope for level in levels}
        indices = sorted(breaks)
        lines: list[Line] = [
            (Fraction(0), Fraction(_rounded(self.value(at), way))) for at in _inside(indices)
        ]
        for index in (0, -1):
            if self.lines[index][0]:
                lines[index] = self.lines[index]
        return _tidy(indices, lines, [Fraction(_rounded(self.value(t), way)) for t in indices])

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def is_identity(self) -> bool:
        """Whether this is the identity function."""
        return self == Piecewise.identity()

    @property
    def is_steps(self) -> bool:
        """Whether it takes finitely many values."""
        return all(not any(line[:-1]) for line in self.lines)

    @property
    def levels(self) -> frozenset[Fraction]:
        """The values of a function that takes finitely many."""
        return frozenset({*(line[-1] for line in self.lines), *self.points})

    def _check_affine(self, where: str) -> None:
        """Refuse a polynomial where it matters."""
        refuse_if(
            any(len(line) > 2 for line in self.lines),
            where,
            "multiplies two values that both depend on the input, as x * x does. Only constants can scale a "
            "value, unless the product cancels, as in x * x + (sign(x) - x * x).",
        )

    def ops(self, where: str) -> tuple[Op, ...]:
        """Return the function as operations: affine, clip or sign, and affine maps around them.

        Anything else is refused.
        """
        self._check_affine(where)
        if not self.breaks:
            return _affine(where, *self.lines[0])
        if len(self.breaks) == 1 and self.is_steps:
            return self._step(where)
        bent = self._clip(where) or self._leaky(where)
        if bent is not None:
            return bent
        if self.is_steps:
            return self._quantize(where)
        refuse_if(
            len(self.breaks) > FARTHEST,
            f"{where}: rounds numbers without bounds to whole ones. Clip them before or after rounding.",
        )
        raise FileError(
            f"{where}: is a function with breaks at {', '.join(f'{float(t):g}' for t in self.breaks[:6])} "
            "that is not a sign, a clip or a leaky ReLU. Use a sign, or hard tanh, clamp or ReLU before it."
        )

    def _step(self, where: str) -> tuple[Op, ...]:
        (at,), (point,), left, right = self.breaks, self.points, self.lines[0][1], self.lines[1][1]
        rises = right > left
        low, high = (left, right) if rises else (right, left)
        rule: dict[Fraction, Literal[1, -1, 0]] = {(low + high) / 2: 0, low: -1, high: 1}
        if low == high or point not in rule:
            raise FileError(
                f"{where}: gives {float(left):g} below {float(at):g}, {float(right):g} above and "
                f"{float(point):g} at it, which is not a sign. A sign has two values, "
                "and at its threshold one of them or 0."
            )
        moved = _affine(where, Fraction(1), -at) if rises else _affine(where, Fraction(-1), at)
        if Fraction(float(low)) == low and Fraction(float(high)) == high:
            return (*moved, Sign(where, rule[point], float(low), float(high)))
        return (*moved, Sign(where, rule[point]), *_affine(where, (high - low) / 2, (high + low) / 2))

    def _quantize(self, where: str) -> tuple[Op, ...]:
        """Read increasing or decreasing levels, whose distances are multiples of one number."""
        levels = [start for _, start in self.lines]
        jumps = [b - a for a, b in pairwise(levels)]
        rises = jumps[0] >= 0
        beside = [point in (a, b) for point, (a, b) in zip(self.points, pairwise(levels), strict=True)]
        if any((jump > 0) != rises or not jump for jump in jumps) or not all(beside):
            shown = ", ".join(f"{float(value):g}" for value in levels[:6])
            raise FileError(
                f"{where}: gives the values {shown} in this order, which neither rise nor fall with its "
                "input. A quantizer never turns around."
            )
        unit = Fraction(
            gcd(*(int(jump * lcm(*(j.denominator for j in jumps))) for jump in jumps)),
            lcm(*(j.denominator for j in jumps)),
        )
        turns = [
            (t if rises else -t, point == min(a, b), int(abs(jump) / unit))
            for t, point, (a, b), jump in zip(self.breaks, self.points, pairwise(levels), jumps, strict=True)
        ]
        row = [(t, strict) for t, strict, count in sorted(turns) for _ in range(count)]
        refuse_if(
            len(row) > 2 * FARTHEST,
            f"{where}: its {len(levels)} values are not multiples of one distance apart.",
        )
        steps = Quantize(where, numbers([t for t, _ in row])[None], np.array([strict for _, strict in row]))
        turned = () if rises else _affine(where, Fraction(-1), Fraction(0))
        return (*turned, steps, *_affine(where, unit, min(levels)))

    def _leaky(self, where: str) -> tuple[Op, ...] | None:
        """Read ``scale * leaky(x - at) + start``: one bend, rising or falling on both sides."""
        if len(self.breaks) != 1:
            return None
        (at,), (point,), ((left, _), (right, _)) = self.breaks, self.points, self.lines
        if left * right <= 0 or any(_at(line, at) != point for line in self.lines):
            return None
        bend = Leaky(where, numbers([left / right]))
        return (*_affine(where, Fraction(1), -at), bend, *_affine(where, right, point))

    def _clip(self, where: str) -> tuple[Op, ...] | None:
        """Read ``slope * clip(x) + start``: continuous, flat outside, increasing or decreasing inside."""
        sloped = [k for k, (slope, _) in enumerate(self.lines) if slope]
        continuous = all(
            slope * t + start == point
            for k, (t, point) in enumerate(zip(self.breaks, self.points, strict=True))
            for slope, start in self.lines[k : k + 2]
        )
        if (
            not continuous
            or len(sloped) != 1
            or len(self.lines) > 3
            or (len(self.lines) == 3 and sloped != [1])
        ):
            return None
        (k,) = sloped
        slope, start = self.lines[k]
        ends = [self.breaks[k - 1] if k else -inf, self.breaks[k] if k < len(self.breaks) else inf]
        if all(float(end) == end for end in ends):
            return (Clip(where, float(ends[0]), float(ends[1])), *_affine(where, slope, start))
        bounds = sorted(end * float(slope) if isinstance(end, float) else slope * end + start for end in ends)
        if all(float(end) == end for end in bounds):
            return (*_affine(where, slope, start), Clip(where, float(bounds[0]), float(bounds[1])))
        return None


@lru_cache(maxsize=1024)  # quantizers repeat the same few functions in every layer and run
def _chosen(f: Piecewise, limit: Fraction, below: Piecewise, equal: Piecewise, above: Piecewise) -> Piecewise:
    """Return one of three functions, depending on whether f is below, equal to or above a limit."""
    f._check_affine("a decision")
    edges: list[Any] = [-inf, *f.breaks, inf]
    crossings = {
        (limit - b) / a
        for (a, b), low, high in zip(f.lines, edges, edges[1:], strict=False)
        if a and low < (limit - b) / a < high
    }
    refuse_if(
        len(f.breaks) > FARTHEST and any(not f.breaks[0] <= t <= f.breaks[-1] for t in crossings),
        f"rounds numbers without bounds and decides beyond {FARTHEST}. Clip them first.",
    )
    breaks = sorted({*f.breaks, *crossings, *below.breaks, *equal.breaks, *above.breaks})
    three = (equal, above, below)  # by the sign of the difference: 0, 1, -1
    each = [one._lines(breaks) for one in three]
    lines = [each[sign_of(f.value(at) - limit)][k] for k, at in enumerate(_inside(breaks))]
    points = [three[sign_of(f.value(t) - limit)].value(t) for t in breaks]
    return _tidy(breaks, lines, points)


def _rounded(value: Fraction, way: Literal["round", "floor", "ceil"]) -> int:
    return round(value) if way == "round" else floor(value) if way == "floor" else ceil(value)


def _inside(breaks: list[Fraction]) -> list[Fraction]:
    """Return a number in each interval between breaks."""
    if not breaks:
        return [Fraction(0)]
    return [breaks[0] - 1, *((a + b) / 2 for a, b in pairwise(breaks)), breaks[-1] + 1]


def _affine(where: str, slope: Fraction, start: Fraction) -> tuple[Op, ...]:
    return () if slope == 1 and not start else (Affine(where, numbers([slope]), numbers([start])),)


def _sum(p: Line, q: Line) -> Line:
    size = max(len(p), len(q))
    zero = Fraction(0)
    return _trimmed([a + b for a, b in zip(*([zero] * (size - len(r)) + [*r] for r in (p, q)), strict=True)])


def _product(p: Line, q: Line) -> Line:
    made = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            made[i + j] += a * b
    line = _trimmed(made)
    refuse_if(len(line) > _POWER + 1, f"multiplies values to a power above {_POWER}.")
    return line


def _trimmed(coefficients: list[Fraction]) -> Line:
    first = next((k for k, a in enumerate(coefficients) if a), len(coefficients))
    return tuple(coefficients[min(first, len(coefficients) - 2) :])


def _at(line: Line, x: Fraction) -> Fraction:
    value = Fraction(0)
    for coefficient in line:
        value = value * x + coefficient
    return value


def _tidy(breaks: list[Fraction], lines: list[Line], points: list[Fraction]) -> Piecewise:
    """Return the function without breaks at which nothing changes."""
    kept_breaks: list[Fraction] = []
    kept_lines, kept_points = [lines[0]], []
    for t, line, point in zip(breaks, lines[1:], points, strict=True):
        if line != kept_lines[-1] or _at(line, t) != point:
            kept_breaks.append(t)
            kept_points.append(point)
            kept_lines.append(line)
    return Piecewise(tuple(kept_breaks), tuple(kept_lines), tuple(kept_points))
