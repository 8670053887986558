"""The least total cost of any capacity, by minimum cuts (docs/theory.md 10.5).

A capacity is sought through the values p that it gives to the samples: some capacity gives them exactly when
none of them clash, and then "p_k >= t implies p_l >= s" for s = min(t, least value of m where k reaches t).
Only such implications that are violated are added, cut after cut: each cut is a lower bound, and the first
whose values clash no more is best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sugenet.checker.rated import RatedSamples
from sugenet.errors import TooLargeError
from sugenet.fit.capacities.clashes import Pairs, Tolerance
from sugenet.fit.capacities.costs import Costs
from sugenet.fit.capacities.flows import LargestFlow, largest_flow
from sugenet.problem.clock import Clock

__all__ = ["Cheapest", "Part", "least_total_cost"]

Part = tuple[int, int, int, int, int]
"""k, t, m, s and an amount: p_k >= t implies p_l >= s, and so much of the cost is due to that."""


@dataclass(frozen=True)
class Cheapest:
    """Values of least total cost, by their places among `levels`, and the parts that show it to be so."""

    cost: int
    places: npt.NDArray[np.int64]
    parts: tuple[Part, ...]


def least_total_cost(samples: RatedSamples, costs: Costs, clock: Clock) -> Cheapest:
    """Values that some capacity gives to the samples, of the least total cost."""
    search = _GrowingCut(samples, costs)
    while True:
        places, flow, base = search.cut()
        left = search.clashes(places)
        if not left[0].size:
            return Cheapest(base + flow.size, places, search.parts(flow))
        if clock.up():
            raise TooLargeError(
                f"the least total cost was not found within {clock.time_limit:g} s. Allow more time, round "
                f"the values, or use loss='largest'."
            )
        search.add(left, places)
        clock.tell(f"{len(search.known):,} implications, {left[0].size:,} clashes left")


class _GrowingCut:
    """The implications known so far, and the cut that they allow."""

    def __init__(self, samples: RatedSamples, costs: Costs) -> None:
        self.samples, self.costs = samples, costs
        self.levels = costs.levels
        self.x = np.searchsorted(self.levels, samples.x).astype(np.int64)
        self.low, self.high = self.x.min(axis=1), self.x.max(axis=1)
        self.known: dict[tuple[int, int, int, int], None] = {}
        self.rng = np.random.default_rng(0)
        count = len(self.low)
        self.marks: list[set[int]] = [set() for _ in range(count)]
        """For each sample the places that implications speak of."""

    @cached_property
    def _ranked(self) -> RatedSamples:
        rows = tuple(map(tuple, self.x.tolist()))
        ratings = tuple(self.low.tolist())
        return RatedSamples(
            rows, ratings, self.samples.weights, len(self.levels), self.samples.criteria, None
        )

    def clashes(self, places: npt.NDArray[np.int64]) -> Pairs:
        """Pairs of samples whose values no capacity gives together."""
        return Tolerance(self._ranked, places, places).clashes()

    def add(self, pairs: Pairs, places: npt.NDArray[np.int64]) -> None:
        """Add implications that these clashes violate: of each sample some."""
        most = 6 * len(places)
        k, m = pairs
        if k.size > most:
            some = self.rng.choice(k.size, most, replace=False)
            k, m = k[some], m[some]
        for one, other in zip(k.tolist(), m.tolist(), strict=True):
            for t in self._thresholds(one, other, int(places[one]), int(places[other])):
                s = self._implied(one, t, other)
                self.known[one, t, other, s] = None
                self.marks[one].add(t)
                self.marks[other].add(s)

    def _implied(self, k: int, t: int, m: int) -> int:
        return int(min(t, self.x[m][self.x[k] >= t].min()))

    def _thresholds(self, k: int, m: int, high: int, low: int) -> Iterator[int]:
        """Places t at which sample k forces sample m above `low`: the last, the first, and one between."""
        first = max(low + 1, int(self.x[k][self.x[m] <= low].max(initial=-1)) + 1)
        yield from {high, first, (first + high) // 2}

    def cut(self) -> tuple[npt.NDArray[np.int64], LargestFlow, int]:
        """The cheapest values that keep the implications known, the flow that shows it, and the cost that
        comes without any.
        """
        nodes: dict[tuple[int, int], int] = {}
        into: list[int] = []
        out: list[int] = []
        edges: list[tuple[int, int]] = []
        base = 0
        choices: list[list[int]] = []
        for k, marks in enumerate(self.marks):
            starts = [int(self.low[k]), *sorted(marks)]
            ends = [mark - 1 for mark in starts[1:]] + [int(self.high[k])]
            best = [self.costs.cheapest(k, start, end) for start, end in zip(starts, ends, strict=True)]
            choices.append([place for place, _ in best])
            base += best[0][1]
            for number, mark in enumerate(starts[1:], start=1):
                nodes[k, mark] = len(into)
                rise = best[number][1] - best[number - 1][1]
                into.append(max(-rise, 0))
                out.append(max(rise, 0))
                base += min(rise, 0)
                if number > 1:
                    edges.append((len(into) - 1, len(into) - 2))
        edges += [(nodes[k, t], nodes[m, s]) for k, t, m, s in self.known]
        self.nodes = list(nodes)
        flow = largest_flow(into, out, np.array(edges, dtype=np.int64).reshape(-1, 2))
        held = iter(flow.held.tolist())
        places = [
            choice[sum(next(held) for _ in marks)] for choice, marks in zip(choices, self.marks, strict=True)
        ]
        return np.array(places, dtype=np.int64), flow, base

    def parts(self, flow: LargestFlow) -> tuple[Part, ...]:
        """The flow as amounts from a sample that wants a value to one that does not."""
        return tuple((*self.nodes[first], *self.nodes[last], much) for first, last, much in flow.paths())
