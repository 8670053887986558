"""The minimum total cost of any capacity, by minimum cuts (docs/theory.md 10.5), in integers.

Costs say how expensive it is to give a sample another value than its rating.

A capacity is sought through the values p that it gives to the samples. Some capacity gives them if and only
if none of them clash, and then "p_k >= t implies p_m >= s" for s = min(t, least value of m where k reaches
t). Only violated implications are added, cut after cut. Each cut is a lower bound, and the first whose values
do not clash is best. The search begins with every q-th number, as if values were rounded down to it, which
violates fewer implications. Then q falls to 1, and implications that a cut did not need are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import exact_number, plain
from sugenet.errors import CapacityError, TooLargeError
from sugenet.fit.capacities.clashes import Pairs, SampleArrays, Tolerance
from sugenet.fit.capacities.flows import LargestFlow, largest_flow
from sugenet.fit.capacities.ratings import Ratings, see_writable
from sugenet.problem.clock import Clock

__all__ = ["Cheapest", "Costs", "Part", "min_total_cost"]

Places = npt.NDArray[np.int64]
_SMALL = 1 << 60
_LONGEST = 13_000
"""Largest number of bits of a total cost, so that Python can write and read it."""


@dataclass(frozen=True, eq=False)
class Costs:
    """The cost of every sample at every level, times `unit` so that all are integers."""

    levels: npt.NDArray[Any]
    """The candidate values, as increasing integers."""
    unit: int
    over: int
    under: int
    table: list[list[int]] | None
    ratings: list[int]
    weights: list[int]
    given: Any
    """The costs as JSON: null, the prices over and under, or the table."""

    @classmethod
    def of(cls, ratings: Ratings, costs: Any) -> Costs:
        """Read costs in the form that `fit_capacity` accepts."""
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
            prices = None if costs is None else {"over": str(above), "under": str(below)}
            unit = samples.unit * common * finer
            over, under = int(above * finer), int(below * finer)
            _see_length(unit, max(over, under) * samples.top, weights)
            return cls(levels, unit, over, under, None, samples.a.tolist(), weights, prices)
        table = _table(costs, samples.top + 1, samples.levels)
        finer = lcm(*(cost.denominator for row in table for cost in row))
        integer_costs = [[int(cost * finer) for cost in row] for row in table]
        _see_length(common * finer, max(map(max, integer_costs)), weights)
        written = [[str(cost) for cost in row] for row in table]
        return cls(levels, common * finer, 0, 0, integer_costs, samples.a.tolist(), weights, written)

    def at(self, k: Places, indices: Places) -> npt.NDArray[Any]:
        """Return the cost of giving each of these samples the level at its index."""
        ratings, weights, levels, table = self._arrays
        if table is not None:
            return np.asarray(weights[k] * table[ratings[k], indices])
        off = levels[indices] - ratings[k]
        return np.asarray(weights[k] * (self.over * np.maximum(off, 0) - self.under * np.minimum(off, 0)))

    def cheapest(self, k: Places, starts: Places, ends: Places) -> tuple[Places, npt.NDArray[Any]]:
        """Return, for each of these samples, the cheapest index from start to end, and its cost."""
        if self.table is None:
            indices = np.minimum(np.maximum(self._own[k], starts), ends)
        else:
            prices, size = self._arrays[3][np.array(self.ratings)[k]], len(self.table)
            column = np.arange(size)
            outside = (column < starts[:, None]) | (column > ends[:, None])
            indices = np.where(outside, prices.max() + 1, prices).argmin(axis=1)
        return indices, self.at(k, indices)

    def total(self, indices: Places) -> int:
        """Return the cost of the levels at these indices, one per sample."""
        return sum(self.at(np.arange(len(indices)), indices).tolist())

    @cached_property
    def _arrays(self) -> tuple[Any, ...]:
        """Ratings, weights, levels and the table, as Python integers if products could be large."""
        dearest = (
            max(map(max, self.table)) if self.table else max(self.over, self.under) * int(self.levels[-1])
        )
        kind: Any = np.int64 if dearest * max([1, *self.weights]) < _SMALL else object
        table = None if self.table is None else np.array(self.table, dtype=kind)
        ratings = np.array(self.ratings, dtype=np.int64 if self.table else kind)
        return ratings, np.array(self.weights, dtype=kind), self.levels.astype(kind), table

    @cached_property
    def _own(self) -> Places:
        """The index of each rating."""
        ratings = np.array(self.ratings, dtype=self.levels.dtype)
        return np.searchsorted(self.levels, ratings).astype(np.int64)


def _see_length(unit: int, dearest: int, weights: list[int]) -> None:
    """Raise `TooLargeError` if a total cost could not be written."""
    if max(unit, dearest * sum(weights)).bit_length() > _LONGEST:
        raise TooLargeError(
            f"values, weights and costs together make integers of over {_LONGEST:,} bits. Round them."
        )


def _prices(costs: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    if set(costs) != {"over", "under"}:
        raise CapacityError(
            f"costs has the names {', '.join(map(str, costs)) or 'none'}. Give 'over' and 'under': the cost "
            f"per unit above and below the rating."
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


_BITS = 14
"""Bits of the costs while implications are still sought."""
_COARSE = 32
"""Approximate number of levels in the first round."""
_FINER = 4
_AHEAD = 8
"""Powers of two by which implications are added beyond those that are violated."""
_FEW = 5
"""Samples per clash from which on a round with few levels has done enough."""
_MORE = 6
"""Clashes per sample for which implications are added in one round."""

Part = tuple[int, int, int, int, int]
"""k, t, m, s and an amount: p_k >= t implies p_m >= s, and this amount of the cost is due to it."""


@dataclass(frozen=True)
class Cheapest:
    """Values that some capacity gives, as indices into `levels`, with their cost and the parts of the proof.

    The parts prove that no capacity costs less than `least`, which equals the cost unless time ran out.
    """

    cost: int
    places: Places
    least: int
    parts: tuple[Part, ...]


def min_total_cost(samples: SampleArrays, costs: Costs, clock: Clock) -> Cheapest:
    """Return values with the minimum total cost that some capacity gives to the samples."""
    search = _GrowingMinCut(samples, costs)
    while True:
        cut = search.cut()
        left = search.clashes(cut.places)
        if left[0].size > search.ignored and not clock.up():
            search.add(left, cut.places)
            clock.tell(f"{len(search.known):,} implications, {left[0].size:,} clashes left")
        elif search.step == 1 and not left[0].size and not cut.shift:
            cost = costs.total(cut.places)
            return Cheapest(cost, cut.places, cost, cut.parts())
        elif clock.up():
            return search.best(cut)
        else:
            search.refine(cut)


@dataclass(frozen=True)
class _Cut:
    """The cheapest values that satisfy the known implications, and the flow that proves it."""

    places: Places
    flow: LargestFlow
    shift: int
    """Number of low bits of the costs that were left out."""
    samples: Places
    marks: Places
    """Meaning of each node of the flow: "this sample gets at least this index"."""

    def parts(self) -> tuple[Part, ...]:
        """Return the flow as amounts from a sample that requires a value to one that does not."""
        sample, mark = self.samples.tolist(), self.marks.tolist()
        return tuple(
            (sample[first], mark[first], sample[last], mark[last], much << self.shift)
            for first, last, much in self.flow.paths()
        )


class _GrowingMinCut:
    """The implications known so far, and the cut that they allow."""

    def __init__(self, samples: SampleArrays, costs: Costs) -> None:
        self.samples, self.costs = samples, costs
        self.x: Places = np.searchsorted(costs.levels, samples.x).astype(np.int64)
        self.low, self.high = self.x.min(axis=1), self.x.max(axis=1)
        self.known: dict[tuple[int, int, int, int], None] = {}
        self.rng = np.random.default_rng(0)
        self.size = len(costs.levels) + 1
        self.step = 1
        while self.size > _COARSE * self.step:
            self.step *= _FINER
        self.bits: int | None = _BITS
        self.found: Places | None = None
        """The cheapest values so far that some capacity gives."""

    def clashes(self, indices: Places) -> Pairs:
        """Return pairs of samples whose values, rounded down to every `step`-th, no capacity gives
        together.
        """
        rounded, rows = indices // self.step, self.x // self.step
        plain = _Rows(rows, len(self.costs.levels))
        return Tolerance(plain, rounded, rounded).clashes()  # type: ignore[arg-type]

    @property
    def ignored(self) -> int:
        """Number of clashes that are left to a round with more numbers."""
        return len(self.low) // _FEW if self.step > 1 else 0

    def refine(self, cut: _Cut) -> None:
        """Use more numbers and drop implications without flow; at the end, use all bits of the costs."""
        if self.step > 1:
            self._keep(cut.places // self.step * self.step)
            self.step //= _FINER
            self.bits = _BITS
        else:
            self.bits = None
            return
        sample, mark = cut.samples.tolist(), cut.marks.tolist()
        used = {(sample[u], mark[u], sample[v], mark[v]) for u, v in cut.flow.along}
        self.known = {one: None for one in self.known if one in used}

    def add(self, pairs: Pairs, indices: Places) -> None:
        """Add implications that these clashes violate, some for each sample."""
        limit, step = _MORE * len(indices), self.step
        k, m = pairs
        if k.size > limit:
            some = self.rng.choice(k.size, limit, replace=False)
            k, m = k[some], m[some]
        is_few = k.size < len(indices)
        more = 16 if is_few else 2
        x, high, low = self.x // step, indices[k] // step, indices[m] // step
        # from `first` on, sample k forces sample m above its value
        first = np.maximum(low, np.where(x[m] <= low[:, None], x[k], -1).max(axis=1)) + 1
        tried = [first + (high - first) * share // more for share in range(more + 1)]
        if is_few:  # samples move together: look ahead
            tried += [first - (1 << power) for power in range(_AHEAD)]
            tried += [high + (1 << power) for power in range(_AHEAD)]
        for t in tried:
            s = np.minimum(t, np.where(x[k] >= t[:, None], x[m], self.size).min(axis=1))
            told = (s * step > self.low[m]) & (t * step > self.low[k]) & (t * step <= self.high[k])
            rows = np.stack([k, t * step, m, s * step], axis=1)[told]
            self.known.update(dict.fromkeys(map(tuple, rows.tolist())))

    def cut(self) -> _Cut:
        """Return the cheapest values that satisfy the known implications."""
        size, count = self.size, len(self.low)
        known = np.array(list(self.known), dtype=np.int64).reshape(-1, 4)
        ahead, behind = known[:, 0] * size + known[:, 1], known[:, 2] * size + known[:, 3]
        keys = np.unique(np.concatenate([ahead, behind]))
        sample, mark = keys // size, keys % size
        # between its marks, a sample takes the cheapest index
        owner = np.concatenate([np.arange(count), sample])
        starts = np.concatenate([self.low, mark])
        order = np.lexsort((starts, owner))
        owner, starts = owner[order], starts[order]
        is_last = np.append(owner[1:] != owner[:-1], True)
        ends = np.where(is_last, self.high[owner], np.roll(starts, -1) - 1)
        chosen, prices = self.costs.cheapest(owner, starts, ends)
        shift = 0
        if self.bits is not None and keys.size:
            shift = max(0, int(prices.max()).bit_length() - self.bits)
            prices = prices >> shift
        rises = np.diff(prices)[~is_last[:-1]]
        flow = largest_flow(
            np.maximum(-rises, 0),
            np.maximum(rises, 0),
            np.concatenate([self._below(sample), np.searchsorted(keys, np.stack([ahead, behind], axis=1))]),
        )
        reached = np.bincount(sample[flow.held], minlength=count)
        first = np.searchsorted(owner, np.arange(count))
        return _Cut(chosen[first + reached], flow, shift, sample, mark)

    @staticmethod
    def _below(sample: Places) -> Places:
        """Return the edges from each mark of a sample to the one below."""
        upper = np.flatnonzero(sample[1:] == sample[:-1]) + 1
        return np.stack([upper, upper - 1], axis=1)

    # -- where time is up ------------------------------------------------------------------------------------

    def best(self, cut: _Cut) -> Cheapest:
        """Return the cheapest values found, and the bound that the flow proves."""
        indices, parts = self._keep(cut.places), cut.parts()
        return Cheapest(self.costs.total(indices), indices, self._due(parts), parts)

    def _keep(self, indices: Places) -> Places:
        """Return the cheapest values so far, including those obtained from these."""
        indices = np.clip(indices, self.low, self.high)
        tried = [*self._repaired(indices), *([] if self.found is None else [self.found])]
        self.found = min(tried, key=self.costs.total)
        return self.found

    def _repaired(self, indices: Places) -> Iterable[Places]:
        """Yield values near these that some capacity gives: those of the least capacity that gives no sample
        less, and of the greatest that gives none more.
        """
        x = self.x
        smallest, greatest = self.low.copy(), self.high.copy()
        for k, index in enumerate(indices.tolist()):
            held = x[k] >= index
            smallest = np.maximum(smallest, np.minimum(x[:, held].min(axis=1), index))
            held = x[k] <= index
            greatest = np.minimum(greatest, np.maximum(x[:, held].max(axis=1), index))
        return smallest, greatest

    def _due(self, parts: tuple[Part, ...]) -> int:
        """Return a lower bound on the cost of every capacity: the amounts of these parts, plus the minimum
        cost of each sample beyond its own amounts.
        """
        # c_k(p) minus the debt of k: at first all amounts of its t, each repaid from there on; they cancel in
        # the sum, and only the changes along its marks remain
        steps: list[dict[int, int]] = [{} for _ in self.low]
        for k, t, m, s, much in parts:
            steps[k][t] = steps[k].get(t, 0) + much
            steps[m][s] = steps[m].get(s, 0) - much
        total = 0
        for k, mine in enumerate(steps):
            marks = sorted(mine)
            owner = np.full(len(marks) + 1, k)
            starts = np.array([self.low[k], *marks], dtype=np.int64)
            ends = np.array([*(mark - 1 for mark in marks), self.high[k]], dtype=np.int64)
            prices = self.costs.cheapest(owner, starts, ends)[1].tolist()
            beyond, min_price = 0, prices[0]
            for mark, price in zip(marks, prices[1:], strict=True):
                beyond += mine[mark]
                min_price = min(min_price, price + beyond)
            total += min_price
        return int(total)


@dataclass(frozen=True)
class _Rows:
    """The part of `SampleArrays` that `Tolerance` uses."""

    x: Places
    top: int
