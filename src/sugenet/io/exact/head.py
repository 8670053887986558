"""Class scores: exact where they are rational; where a batch norm has square roots, rounded only after proof
that no decision changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt

import numpy as np

from sugenet.bnn import Head
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.steps import Pipeline, Surd

__all__ = ["head_of"]

_DIGITS = 10**60
_PAIRS = 1 << 22


def head_of(
    weights: Ints,
    units: Sequence[Fraction],
    offsets: Sequence[Fraction],
    lines: Sequence[Pipeline],
    where: str,
    top: int = 1,
) -> tuple[Head, str | None]:
    """The head whose score of class k is ``lines[k](units[k] * s + offsets[k])`` for the sum s of weighted
    levels 0..top, and a remark where scores had to be rounded.
    """
    # the head counts from the middle: twice the sum less what it would be with all levels at their top
    totals = weights.sum(axis=1).tolist()
    offsets = [o + u * top * t / 2 for o, u, t in zip(offsets, units, totals, strict=True)]
    units = [u / 2 for u in units]
    if not all(line.is_affine for line in lines):
        raise FileError(
            f"{where}: class scores are clipped, so classes can tie that the network keeps apart."
        )
    rational = [line.line() for line in lines]
    if all(pair is not None for pair in rational):
        pairs = [pair for pair in rational if pair is not None]
        scores = [(a * u, a * o + b) for (a, b), u, o in zip(pairs, units, offsets, strict=True)]
        return _signed(weights, scores, top), None
    near = map(_near, lines)
    scores = [(a * u, a * o + b) for (a, b), u, o in zip(near, units, offsets, strict=True)]
    head = _signed(weights, scores, top)
    if len(set(lines)) > 1:
        _prove_order(weights, units, offsets, lines, scores, where, top)
    return (
        head,
        (
            "scores are rounded to about 16 digits (a batch norm has a square root); the order of classes is "
            "proved unchanged"
        ),
    )


def _signed(weights: Ints, scores: Sequence[tuple[Fraction, Fraction]], top: int) -> Head:
    """Negative scales go into the weights."""
    turned = np.array([[-1 if scale < 0 else 1] for scale, _ in scores])
    tops = None if top == 1 else np.full(weights.shape[1], top)
    return Head(weights * turned, [shift for _, shift in scores], [abs(scale) for scale, _ in scores], tops)


def _near(line: Pipeline) -> tuple[Fraction, Fraction]:
    """Scale and shift rounded to floats."""
    at_0, at_1 = line(Fraction(0)), line(Fraction(1))
    return Fraction(float(_decimal(at_1) - _decimal(at_0))), Fraction(float(_decimal(at_0)))


def _decimal(value: Surd) -> Fraction:
    """A surd to 60 digits."""
    root = Fraction(
        isqrt(value.v.numerator * value.v.denominator * _DIGITS**2), value.v.denominator * _DIGITS
    )
    total = value.p + value.q * root
    return total / root if value.divided else total


def _prove_order(
    weights: Ints,
    units: Sequence[Fraction],
    offsets: Sequence[Fraction],
    lines: Sequence[Pipeline],
    scores: Sequence[tuple[Fraction, Fraction]],
    where: str,
    top: int,
) -> None:
    """Every two scores of different classes, over all sums that can occur,
    compare the same before and after rounding.
    """
    values = []
    for k, row in enumerate(weights):
        size = int(np.abs(row).sum()) * top
        if size * len(weights) > _PAIRS:
            raise FileError(
                f"{where}: too many possible scores to prove that rounding them changes no decision."
            )
        for s in range(-size, size + 1, 2):
            values.append((_decimal(lines[k](units[k] * s + offsets[k])), scores[k][0] * s + scores[k][1], k))
    values.sort()
    largest: dict[int, Fraction] = {}
    for exact, rounded, k in values:
        for other, most in largest.items():
            if other != k and most >= rounded:
                raise FileError(
                    f"{where}: classes {other} and {k} can have scores so close (about {float(exact):.17g}) "
                    "that rounding their batch norm could swap them. Fold the batch norm of the scores in "
                    "exact numbers first."
                )
        largest[k] = max(rounded, largest.get(k, rounded))
