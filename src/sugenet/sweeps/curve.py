"""Certified accuracy over radii: from sweeps that differ in the radius alone, or from one of `whatif`, which
knows how far each sample is safe.

A sample that is proved at a radius is proved at every smaller one, and one that is refuted is refuted at
every larger one, so each file also says something about the radii of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from sugenet.checker.form import exact
from sugenet.drawn import Drawn
from sugenet.errors import FileError, SoundnessError
from sugenet.sweeps.rows import Row
from sugenet.sweeps.tally import Between, percent_words

__all__ = [
    "AccuracyCurve",
    "CurvePoint",
    "Safety",
    "chosen_radii",
    "curve_points",
    "radius_words",
    "safety_of_radii",
    "safety_of_whatif",
]

_RADII = 12
"""Radii of a curve from `whatif`, unless some are given."""


_End: TypeAlias = tuple[Fraction | float, bool]
_EVERYTHING: _End = (math.inf, False)


@dataclass
class Safety:
    """What is known of one sample at all radii: its class, and how far it keeps it.

    `proved` and `trusted` hold ends, each with whether it is inside: up to there the class stays, proved, or
    on the word of a solver; `broken` is the least radius at which the class is known to change.
    """

    label: int
    truth: int | None
    proved: list[_End] = field(default_factory=list)
    trusted: list[_End] = field(default_factory=list)
    broken: Fraction | None = None

    def is_proved(self, radius: Fraction) -> bool:
        """Whether the class is proved to stay within a radius."""
        return _reaches(self.proved, radius)

    def is_trusted(self, radius: Fraction) -> bool:
        """Whether a solver says so, and nothing can be checked."""
        return _reaches(self.trusted, radius)

    def is_refuted(self, radius: Fraction) -> bool:
        """Whether a change within the radius is known."""
        return self.broken is not None and self.broken <= radius

    def breaks(self, radius: Fraction) -> None:
        """Take note of a change at a radius."""
        self.broken = radius if self.broken is None else min(self.broken, radius)


def _reaches(ends: Iterable[_End], radius: Fraction) -> bool:
    return any(radius < end or (inside and radius == end) for end, inside in ends)


@dataclass(frozen=True)
class CurvePoint:
    """All samples at one radius: each is counted once."""

    radius: Fraction
    certified: int
    """Right and proved."""
    on_trust: int
    """Right, and the word of a solver that the class stays."""
    refuted: int
    """Right, or not known to be wrong, and refuted."""
    wrong: int
    """Of a wrong class."""
    open: int
    """The rest: undecided, without an answer, or proved and not known to be right."""

    @property
    def accuracy(self) -> Between:
        """Certified accuracy."""
        total = self.certified + self.on_trust + self.refuted + self.wrong + self.open
        upper = total - self.refuted - self.wrong
        return Between(Fraction(self.certified, total or 1), Fraction(upper, total or 1))

    def data(self) -> dict[str, Any]:
        """Everything as JSON data; exact numbers are text."""
        return {
            "radius": str(self.radius),
            "lower": str(self.accuracy.lower),
            "upper": str(self.accuracy.upper),
            "certified": self.certified,
            "on_trust": self.on_trust,
            "refuted": self.refuted,
            "wrong": self.wrong,
            "open": self.open,
        }


@dataclass(frozen=True)
class AccuracyCurve(Drawn):
    """Certified accuracy at several radii; made by `curve_of`."""

    asked: str
    """The region in words, with R for the radius."""
    cost: str
    """How the radius is measured: ``Linf``, ``L2``, ``Hamming`` and so on."""
    samples: int
    accuracy: Between | None
    """Accuracy without any change; None where the right classes are not known."""
    points: tuple[CurvePoint, ...]
    """By rising radius."""

    def data(self) -> dict[str, Any]:
        """Everything as JSON data; exact numbers are text."""
        ends = None if self.accuracy is None else {k: str(v) for k, v in self.accuracy._asdict().items()}
        return {
            "region": self.asked,
            "cost": self.cost,
            "samples": self.samples,
            "accuracy": ends,
            "points": [point.data() for point in self.points],
        }

    @cached_property
    def table(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """The head of the table and its rows, in words."""
        name = "certified" if self.accuracy is not None else "proved"
        rows: list[tuple[str, ...]] = []
        if self.accuracy is not None and all(point.radius for point in self.points):
            low, high = percent_words(self.accuracy.lower, -1), percent_words(self.accuracy.upper, +1)
            rows.append(("0", low, high, *[""] * 5))
        for point in self.points:
            low, high = percent_words(point.accuracy.lower, -1), percent_words(point.accuracy.upper, +1)
            counts = (point.certified, point.on_trust, point.refuted, point.wrong, point.open)
            rows.append((radius_words(point.radius), low, high, *(f"{many:,}" for many in counts)))
        head = ("R", "at least", "at most", name, "on trust", "refuted", "wrong", "open")
        return head, tuple(rows)

    def __str__(self) -> str:
        head, rows = self.table
        what = "certified accuracy" if self.accuracy is not None else "share proved"
        wide = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, wide, strict=True)).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join([f"{what} of {self.samples:,} samples, {self.asked}", *lines])


def radius_words(radius: Fraction) -> str:
    """A radius for people: as a decimal where it is one, else as a fraction."""
    places = next((n for n in range(7) if (radius * 10**n).denominator == 1), None)
    return str(radius) if places is None else f"{float(radius):.{places}f}"


def safety_of_radii(files: Iterable[tuple[Fraction, Iterable[Row]]]) -> dict[int, Safety]:
    """What rows of `Robust` at several radii say of each sample.

    Raises
    ------
    FileError
        Where two of them give one sample two classes.
    SoundnessError
        Where one proves what another refutes.
    """
    found: dict[int, Safety] = {}
    for radius, rows in files:
        for row in rows:
            safe = _joined(found, row)
            if row.outcome == "refuted":
                safe.breaks(radius)
            elif row.outcome == "proved":
                (safe.proved if row.certified else safe.trusted).append((radius, True))
    return _without_contradiction(found)


def safety_of_whatif(rows: Iterable[Row], limit: Fraction | None) -> dict[int, Safety]:
    """What rows of `WhatIf` say of each sample: the class stays below the lower bound, and changes at the
    cost.

    Costs and the limit, beyond which was not looked, are as certificates have them: squares under L2.
    """
    found: dict[int, Safety] = {}
    for row in rows:
        safe = _joined(found, row)
        if row.value is not None:
            safe.breaks(exact(row.value))
        ends = safe.proved if row.certified else safe.trusted
        if row.outcome == "none":
            ends.append(_EVERYTHING if limit is None else (limit, True))
        elif row.lower is not None:
            ends.append((exact(row.lower), False))
    return _without_contradiction(found)


def _joined(found: dict[int, Safety], row: Row) -> Safety:
    """What is known of the sample of a row, which must have the same classes everywhere."""
    safe = found.setdefault(row.sample, Safety(row.label, row.truth))
    if row.label != safe.label:
        raise FileError(
            f"sample {row.sample} has class number {safe.label} in one file and {row.label} in another, "
            f"though network and samples are the same: one of the files is damaged. Check them."
        )
    if row.truth is not None:
        if safe.truth not in (None, row.truth):
            raise FileError(
                f"the right class of sample {row.sample} has number {safe.truth} in one file and {row.truth} "
                f"in another. Sweep again with the same classes."
            )
        safe.truth = row.truth
    return safe


def _without_contradiction(found: dict[int, Safety]) -> dict[int, Safety]:
    for sample, safe in found.items():
        if safe.broken is not None and safe.is_proved(safe.broken):
            raise SoundnessError(
                f"sample {sample} is proved to keep its class within {radius_words(safe.broken)}, and "
                f"refuted there. One of the two is wrong: check their certificates."
            )
    return found


def curve_points(
    found: Mapping[int, Safety], samples: int, radii: Iterable[Fraction], *, squares: bool = False
) -> tuple[Between | None, tuple[CurvePoint, ...]]:
    """Accuracy, and certified accuracy at each radius; `squares`: what is known is in squares of radii.

    Where no right class is known at all, every class counts as right, and there is no accuracy.
    """
    has_truth = any(safe.truth is not None for safe in found.values())
    right = {sample for sample, safe in found.items() if safe.truth == safe.label or not has_truth}
    wrong = {sample for sample in found if found[sample].truth is not None} - right
    points = []
    for radius in sorted(set(radii)):
        size = radius**2 if squares else radius
        counts = dict.fromkeys(("certified", "on_trust", "refuted", "wrong", "open"), 0)
        for sample, safe in found.items():
            if sample in wrong:
                counts["wrong"] += 1
            elif safe.is_refuted(size):
                counts["refuted"] += 1
            elif sample in right and safe.is_proved(size):
                counts["certified"] += 1
            elif sample in right and safe.is_trusted(size):
                counts["on_trust"] += 1
            else:
                counts["open"] += 1
        counts["open"] += samples - len(found)
        points.append(CurvePoint(radius, **counts))
    of = max(samples, 1)
    accuracy = Between(Fraction(len(right), of), Fraction(samples - len(wrong), of)) if has_truth else None
    return accuracy, tuple(points)


def chosen_radii(found: Mapping[int, Safety], *, squares: bool, most: int = _RADII) -> list[Fraction]:
    """Radii at which something changes, evenly chosen where they are many; under L2, where they may be no
    fractions, rounded up to three decimals.
    """
    sizes = {Fraction(end) for safe in found.values() for end, _ in safe.proved if 0 < end < math.inf}
    sizes |= {safe.broken for safe in found.values() if safe.broken is not None}
    if squares:
        sizes = {_root_above(size) for size in sizes}
    ordered = sorted(sizes)
    if len(ordered) <= most:
        return ordered
    return sorted({ordered[round(k * (len(ordered) - 1) / (most - 1))] for k in range(most)})


def _root_above(square: Fraction) -> Fraction:
    """The least number with three decimals whose square is as large."""
    scaled = square * 10**6
    root = math.isqrt(math.ceil(scaled))
    return Fraction(root if root * root >= scaled else root + 1, 1000)
