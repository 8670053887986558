"""Splits with bound leaves: the trees of a proof of kind ``dual``, for its plain and its compiled form.

To be ensured: the splits of every case are complete, every leaf is checked within the splits above it, and
each multiplier of the proof is read exactly once.
"""

import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from typing import Any, TypeAlias

from sugenet.checker.form import Dual
from sugenet.checker.limit import Limit
from sugenet.checker.problem import Row, combined
from sugenet.checker.unpack import unpacked
from sugenet.errors import CertificateError

__all__ = ["Case", "Ranges", "Splits", "Windows", "best_compared", "cases_over", "center_of"]

Windows: TypeAlias = dict[tuple[int, int], tuple[int, float]]
"""The remaining part after splits: levels by layer from 1 and neuron, options by layer 0 and feature."""
Ranges: TypeAlias = tuple[list[Any], list[Any]] | None
"""Levels of the inputs and of all layers, and sums of all layers; None if the part is empty."""
Case: TypeAlias = list[Row]
"""Inequalities over the levels that the head reads."""


class _Stream:
    """The stream of multipliers."""

    def __init__(self, text: str, limit: Limit) -> None:
        self.pieces: Iterator[bytes] = unpacked(text, limit) if text else iter(())
        self.left = memoryview(b"")

    def next(self, count: int) -> Sequence[int]:
        """Return the next `count` integers."""
        while len(self.left) < 8 * count:
            piece = next(self.pieces, None)
            if piece is None:
                raise CertificateError("the multipliers of the proof end too soon.")
            self.left = memoryview(bytes(self.left) + piece)
        numbers, self.left = array("q", bytes(self.left[: 8 * count])), self.left[8 * count :]
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def see_end(self) -> None:
        """Check that nothing is left over."""
        if self.left or next(self.pieces, None) is not None:
            raise CertificateError("the proof has more multipliers than leaves.")


class Splits(ABC):
    """A question whose cases are to be excluded.

    Parameters
    ----------
    features
        The features that move.
    sizes, shares
        The number of neurons and the number of multipliers of each layer.
    cases
        The violations.
    limit
        The limit of time and memory.
    """

    def __init__(
        self,
        features: Collection[int],
        sizes: Sequence[int],
        shares: Sequence[int],
        cases: list[Case],
        limit: Limit,
    ) -> None:
        self.moving, self.sizes, self.shares, self.cases, self.limit = features, sizes, shares, cases, limit

    @abstractmethod
    def ranges(self, windows: Windows) -> Ranges:
        """Return the ranges of levels and sums within splits."""

    @abstractmethod
    def last_levels(self, ranges: Any) -> Sequence[tuple[int, int]]:
        """Return the smallest and largest level of each value that the head reads."""

    @abstractmethod
    def bound(
        self,
        case: Case,
        worth: Mapping[int, int],
        ranges: Any,
        windows: Windows,
        nu: int,
        lambdas: Sequence[Sequence[int]],
    ) -> int | None:
        """Return an integer that no input of a leaf can exceed, for last levels of this worth.

        Return None if the leaf has no input.
        """

    def check(self, proof: Dual) -> str:
        """Check that splits and multipliers exclude every case; return the number of leaves."""
        if len(proof.cases) != len(self.cases):
            raise CertificateError(f"{len(self.cases)} cases to be excluded, but the proof has others.")
        stream = _Stream(proof.multipliers, self.limit)
        root, leaves = self.ranges({}), 0
        for tree, case in zip(proof.cases, self.cases, strict=True):
            waiting: list[tuple[Any, Windows]] = [(tree, {})]
            while waiting:
                self.limit.look()
                part, windows = waiting.pop()
                if isinstance(part, tuple):
                    waiting += self.split(part, windows)
                    continue
                leaves += 1
                ranges = self.ranges(windows) if windows else root
                if part == 0:
                    self.see_ranges(case, ranges)
                elif part == 1:
                    self.see_multipliers(case, ranges, windows, stream)
                else:
                    raise CertificateError("a leaf of a proof by dual bounds is 0 or 1.")
        stream.see_end()
        return "1 leaf" if leaves == 1 else f"{leaves:,} leaves"

    def split(self, part: tuple[Any, ...], windows: Windows) -> list[tuple[Any, Windows]]:
        """Return both parts of a split, the first on top: a neuron below a level, or at it and above."""
        if len(part) != 5 or not all(type(number) is int and number >= 0 for number in part[:3]):
            raise CertificateError("a split has a layer, a neuron, a level and two parts.")
        layer, unit, level, below, above = part
        if level < 1:
            raise CertificateError("a split is at a level above 0.")
        if layer > len(self.sizes) or (layer and unit >= self.sizes[layer - 1]):
            raise CertificateError(f"a split names neuron {unit} of layer {layer}, which is not there.")
        if layer == 0 and unit not in self.moving:
            raise CertificateError(f"a split names feature {unit}, which does not move.")
        min_level, max_level = windows.get((layer, unit), (0, inf))
        self.limit.take(200 + 100 * len(windows), "the splits of a proof")
        return [
            (above, {**windows, (layer, unit): (max(min_level, level), max_level)}),
            (below, {**windows, (layer, unit): (min_level, min(max_level, level - 1))}),
        ]

    def see_ranges(self, case: Case, ranges: Ranges) -> None:
        """Check that ranges alone exclude a case."""
        if ranges is not None:
            last = self.last_levels(ranges)
            tops = [sum(max(w * end for end in last[j]) for j, w in row.items()) for row, _ in case]
            if all(top >= bound for top, (_, bound) in zip(tops, case, strict=True)):
                raise CertificateError("ranges do not exclude a case, although the certificate claims so.")

    def see_multipliers(self, case: Case, ranges: Ranges, windows: Windows, stream: _Stream) -> None:
        """Check that the multipliers of a leaf exclude a case."""
        mu, (nu,) = stream.next(len(case)), stream.next(1)
        lambdas = [stream.next(count) for count in self.shares]
        if nu < 0 or min(mu, default=0) < 0:
            raise CertificateError("a multiplier of an inequality or a budget is negative.")
        if ranges is None:
            return
        worth, needed = combined(mu, 0, case, [0] * len(case))
        max_value = self.bound(case, worth, ranges, windows, nu, lambdas)
        if max_value is not None and max_value >= needed:
            raise CertificateError("the multipliers of a leaf do not exclude its case.")


def cases_over(
    cases: Sequence[Sequence[tuple[list[int], int]]],
    head: Sequence[Sequence[int]],
    lowest: Sequence[int],
) -> list[Case]:
    """Return inequalities over match counts as inequalities over the levels that the head reads."""
    rows = [({j: weight for j, weight in enumerate(row) if weight}, 0) for row in head]
    return [[combined(*part, rows, lowest) for part in case] for case in cases]


def center_of(case: Case) -> int | None:
    """Return the neuron that every inequality of a case reads, if each reads at most one other, all
    different.
    """
    for center in sorted(case[0][0]) if case else ():
        named = [other for row, _ in case for other in row if other != center]
        fits = all(center in row and len(row) <= 2 for row, _ in case)
        if fits and len(set(named)) == len(named):
            return center
    return None


def best_compared(case: Case, center: int, values: Mapping[int, Mapping[int, int]]) -> int | None:
    """Return the largest sum of values of the neurons that a case compares, one level each.

    The levels meet all inequalities of the case; return None if no levels do.
    """
    totals = []
    for level, value in values[center].items():
        parts: list[int | None] = [value]
        for row, bound in case:
            left = bound - row[center] * level
            others = [other for other in row if other != center]
            if not others:
                parts.append(0 if left <= 0 else None)
            for other in others:
                met = (v for q, v in values[other].items() if row[other] * q >= left)
                parts.append(max(met, default=None))
        if None not in parts:
            totals.append(sum(part for part in parts if part is not None))
    return max(totals, default=None)
