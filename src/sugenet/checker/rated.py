"""Samples with ratings as plain whole numbers: what certificates about capacities are checked against."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from json import dumps

__all__ = ["RatedSamples"]


@dataclass(frozen=True)
class RatedSamples:
    """Values from 0 to `top`, a row a sample, and a rating for each row.

    On a scale of named levels the numbers are ranks. Else the number v stands for v / top, and all are even,
    so that half of a difference is whole, too.
    """

    rows: tuple[tuple[int, ...], ...]
    ratings: tuple[int, ...]
    weights: tuple[Fraction, ...]
    top: int
    criteria: tuple[str | int, ...]
    levels: tuple[str, ...] | None

    @cached_property
    def fingerprint(self) -> str:
        """Of everything that is here, sha256."""
        about = dumps([self.criteria, self.levels, [str(weight) for weight in self.weights]])
        digest = sha256(about.encode())
        for numbers in ((self.top,), self.ratings, *self.rows):
            digest.update(b"%x," * len(numbers) % numbers)
        return digest.hexdigest()

    @property
    def unit(self) -> int:
        """What 1 is in these whole numbers: a level, or the length of the scale."""
        return self.top if self.levels is None else 1
