"""What it costs to give a sample another value than its rating, in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import exact_number, plain
from sugenet.errors import CapacityError, TooLargeError
from sugenet.fit.capacities.ratings import Ratings, see_writable

__all__ = ["Costs"]

Places = npt.NDArray[np.int64]
_SMALL = 1 << 60
_LONGEST = 13_000
"""Bits of a total cost, so that Python writes and reads it."""


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost of every sample at every level, times `unit` so that all are whole."""

    levels: npt.NDArray[Any]
    """The values that are looked at, as whole numbers, rising."""
    unit: int
    over: int
    under: int
    table: list[list[int]] | None
    ratings: list[int]
    weights: list[int]
    given: Any
    """As JSON: null, the prices over and under, or the table."""

    @classmethod
    def of(cls, ratings: Ratings, costs: Any) -> Costs:
        """Read costs as `fit_capacity` takes them."""
        samples = ratings.samples
        common = lcm(*(weight.denominator for weight in samples.weights))
        weights = [int(weight * common) for weight in samples.weights]
        levels = (
            np.unique(
                np.concatenate([samples.x.ravel(), samples.a, np.array([0, samples.top], samples.a.dtype)])
            )
            if samples.levels is None
            else np.arange(samples.top + 1)
        )
        if costs is None or isinstance(costs, Mapping):
            above, below = _prices({"over": 1, "under": 1} if costs is None else costs)
            finer = lcm(above.denominator, below.denominator)
            given = None if costs is None else {"over": str(above), "under": str(below)}
            unit = samples.unit * common * finer
            over, under = int(above * finer), int(below * finer)
            _see_length(unit, max(over, under) * samples.top, weights)
            return cls(levels, unit, over, under, None, samples.a.tolist(), weights, given)
        table = _table(costs, samples.top + 1, samples.levels)
        finer = lcm(*(cost.denominator for row in table for cost in row))
        whole = [[int(cost * finer) for cost in row] for row in table]
        _see_length(common * finer, max(map(max, whole)), weights)
        written = [[str(cost) for cost in row] for row in table]
        return cls(levels, common * finer, 0, 0, whole, samples.a.tolist(), weights, written)

    def at(self, k: Places, places: Places) -> npt.NDArray[Any]:
        """The cost of giving each of these samples the level at its place."""
        ratings, weights, levels, table = self._arrays
        if table is not None:
            return np.asarray(weights[k] * table[ratings[k], places])
        off = levels[places] - ratings[k]
        return np.asarray(weights[k] * (self.over * np.maximum(off, 0) - self.under * np.minimum(off, 0)))

    def cheapest(self, k: Places, starts: Places, ends: Places) -> tuple[Places, npt.NDArray[Any]]:
        """For each of these samples the cheapest place from start to end, and its cost."""
        if self.table is None:
            places = np.minimum(np.maximum(self._own[k], starts), ends)
        else:
            prices, size = self._arrays[3][np.array(self.ratings)[k]], len(self.table)
            column = np.arange(size)
            outside = (column < starts[:, None]) | (column > ends[:, None])
            places = np.where(outside, prices.max() + 1, prices).argmin(axis=1)
        return places, self.at(k, places)

    def total(self, places: Places) -> int:
        """What the levels at these places cost, one for each sample."""
        return sum(self.at(np.arange(len(places)), places).tolist())

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """Ratings, weights, levels and the table: of Python's numbers where products could be large."""
        dearest = max(map(max, self.table)) if self.table else max(self.over, self.under) * int(self.levels[-1])
        kind: Any = np.int64 if dearest * max([1, *self.weights]) < _SMALL else object
        table = None if self.table is None else np.array(self.table, dtype=kind)
        ratings = np.array(self.ratings, dtype=np.int64 if self.table else kind)
        return ratings, np.array(self.weights, dtype=kind), self.levels.astype(kind), table

    @cached_property
    def _own(self) -> Places:
        """The place of each rating."""
        ratings = np.array(self.ratings, dtype=self.levels.dtype)
        return np.searchsorted(self.levels, ratings).astype(np.int64)


def _see_length(unit: int, dearest: int, weights: list[int]) -> None:
    """Raise `TooLargeError` where a total cost could not be written down."""
    if max(unit, dearest * sum(weights)).bit_length() > _LONGEST:
        raise TooLargeError(
            f"values, weights and costs together make whole numbers of over {_LONGEST:,} bits. Round them."
        )


def _prices(costs: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    if set(costs) != {"over", "under"}:
        raise CapacityError(
            f"costs has the names {', '.join(map(str, costs)) or 'none'}. Give 'over' and 'under': what each "
            f"unit above and below the rating costs."
        )
    over, under = (Fraction(exact_number(costs[name], f"costs[{name!r}]")) for name in ("over", "under"))
    for name, price in (("over", over), ("under", under)):
        if price < 0:
            raise CapacityError(f"costs[{name!r}] is {plain(costs[name])}: costs must not be negative.")
        see_writable(price, f"costs[{name!r}]")
    return over, under


def _table(costs: Any, size: int, levels: tuple[str, ...] | None) -> list[list[Fraction]]:
    if levels is None:
        raise CapacityError(
            "costs is a table, but the scale is [0, 1]. Give {'over': 1, 'under': 2}, or use Ordinal levels."
        )
    try:
        rows = [list(row) for row in costs]
    except TypeError:
        raise CapacityError(
            f"costs is {plain(costs)!r}. Give 'over' and 'under', or a row for each rating, with the cost of "
            f"each value."
        ) from None
    if len(rows) != size or any(len(row) != size for row in rows):
        raise CapacityError(
            f"costs has {len(rows)} rows of {', '.join(map(str, sorted({len(row) for row in rows})))} costs, "
            f"but there are {size} levels. Give a row for each rating, with the cost of each value."
        )
    table = [
        [Fraction(exact_number(cost, f"costs[{a}][{value}]")) for value, cost in enumerate(row)]
        for a, row in enumerate(rows)
    ]
    for a, row in enumerate(table):
        for value, cost in enumerate(row):
            if cost < 0 or (a == value and cost):
                raise CapacityError(
                    f"costs[{a}][{value}] is {plain(rows[a][value])}: costs must not be negative, and a "
                    f"rating that is met costs nothing."
                )
            see_writable(cost, f"costs[{a}][{value}]")
    return table
