"""How far each sample is safe, as rows of sweeps say it: up to which radius its class is proved to stay, and
from which on it is known to change.

A sample that is proved at a radius is proved at every smaller one, and one that is refuted is refuted at
every larger one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from sugenet.brief import roughly
from sugenet.capacity.arguments import number_words
from sugenet.checker.form import exact
from sugenet.errors import FileError, SoundnessError
from sugenet.sweeps.rows import Row

__all__ = ["Safety", "chosen_radii", "radius_words", "safety_of_radii", "safety_of_whatif"]

_RADII = 12
"""Radii of a curve from `whatif`, unless some are given."""
_SHORT = 8
"""A radius of more letters is rounded."""


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


def chosen_radii(found: Mapping[int, Safety], *, squares: bool, most: int = _RADII) -> list[Fraction]:
    """Radii at which something changes, evenly chosen where they are many; those that are too long to read
    are rounded up to four digits, under L2, where they may be no fractions, to three decimals.
    """
    sizes = {Fraction(end) for safe in found.values() for end, _ in safe.proved if 0 < end < math.inf}
    sizes |= {safe.broken for safe in found.values() if safe.broken is not None}
    sizes = {_root_above(size) if squares else _short_above(size) for size in sizes}
    ordered = sorted(sizes)
    if len(ordered) <= most:
        return ordered
    return sorted({ordered[round(k * (len(ordered) - 1) / (most - 1))] for k in range(most)})


def _root_above(square: Fraction) -> Fraction:
    """The least float with three decimals whose square is as large."""
    place = math.isqrt(math.ceil(square * 10**6))
    while _decimal(place, Fraction(1, 1000)) ** 2 < square:
        place += 1
    return _decimal(place, Fraction(1, 1000))


def _short_above(size: Fraction) -> Fraction:
    """A size that is short, or else the least float with four digits that is as large."""
    if len(number_words(size)) <= _SHORT:
        return size
    unit = Fraction(10) ** (math.floor(math.log10(size)) - 3)
    place = math.ceil(size / unit)
    while _decimal(place, unit) < size:
        place += 1
    return _decimal(place, unit)


def _decimal(place: int, unit: Fraction) -> Fraction:
    """The float that a decimal is read as."""
    return Fraction(float(place * unit))


def radius_words(radius: Fraction) -> str:
    """A radius for people, as it is typed in; a long one in four digits.

    Examples
    --------
    >>> [radius_words(Fraction(value)) for value in (0.25, "1/3", 3.735e-05, 0.1234567891)]
    ['0.25', '1/3', '3.735e-05', '0.1235']
    """
    words = number_words(radius)
    return words if len(words) <= _SHORT else roughly(radius, 4)
