"""Rated samples as plain integers, against which certificates about capacities are checked."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from json import dumps

__all__ = ["RatedSamples"]


@dataclass(frozen=True)
class RatedSamples:
    """Values from 0 to `top`, one row per sample, and a rating for each row.

    On a scale of named levels the numbers are ranks. Otherwise the number v means v / top, and all numbers
    are even, so that half of a difference is also an integer.
    """

    rows: tuple[tuple[int, ...], ...]
    ratings: tuple[int, ...]
    weights: tuple[Fraction, ...]
    top: int
    criteria: tuple[str | int, ...]
    levels: tuple[str, ...] | None

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 of all data."""
        about = dumps([self.criteria, self.levels, [str(weight) for weight in self.weights]])
        digest = sha256(about.encode())
        for numbers in ((self.top,), self.ratings, *self.rows):
            digest.update(b"%x," * len(numbers) % numbers)
        return digest.hexdigest()

    @property
    def unit(self) -> int:
        """The value 1 in these integers: one level, or the length of the scale."""
        return self.top if self.levels is None else 1
