"""What stands between a sum and its sign, as exact functions of one number: affine maps,
one batch norm, clipping.

A value is kept as ``p + q * sqrt(v)`` with rationals p, q and v,
so that a batch norm's square root never has to be rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, isinf, sqrt
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn.folding import sign_of_affine
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, BatchNorm, Clip

__all__ = ["Pipeline", "Root", "Step", "Surd", "pipelines", "sign_of"]

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

    def slope(self) -> float:
        """How much the value moves when x moves by 1, for messages only."""
        return float(self(Fraction(1))) - float(self(Fraction(0)))


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
        if not step.low <= step.high:
            raise FileError(f"{step.where}: clips between {step.low} and {step.high}, which is empty.")
        return [("clip", low, high)] * channels
    if isinstance(step, Affine):
        scale, shift = (_per_channel(value, channels, step.where) for value in (step.scale, step.shift))
        return list(zip(scale, shift, strict=True))
    gamma, beta, mean, var = (
        _per_channel(v, channels, step.where) for v in (step.gamma, step.beta, step.mean, step.var)
    )
    eps = Fraction(exact_number(float(step.eps), "eps"))
    found = []
    for c in range(channels):
        v = var[c] + eps
        if v <= 0:
            raise FileError(
                f"{step.where}: channel {c} has variance {float(var[c])} + {float(eps)}, "
                f"which is not positive."
            )
        found.append(Root(gamma[c], beta[c], mean[c], v))
    return found


def _per_channel(values: Any, channels: int, where: str) -> list[Fraction]:
    row = np.asarray(values).reshape(-1)
    if row.size not in (1, channels):
        raise FileError(f"{where}: {row.size} numbers for {channels} channels.")
    bad = next(
        (value for value in row.tolist() if not isinstance(value, Fraction) and not isfinite(value)), None
    )
    if bad is not None:
        raise FileError(f"{where}: holds {bad}, but every parameter must be a finite number.")
    exact = [Fraction(exact_number(value, where)) for value in row.tolist()]
    return exact * channels if row.size == 1 else exact


def sign_of(value: Fraction) -> int:
    """-1, 0 or +1."""
    return (value > 0) - (value < 0)
