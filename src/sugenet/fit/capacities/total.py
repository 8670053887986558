"""The least total cost of any capacity, by minimum cuts (docs/theory.md 10.5).

A capacity is sought through the values p that it gives to the samples: some capacity gives them exactly when
none of them clash, and then "p_k >= t implies p_l >= s" for s = min(t, least value of m where k reaches t).
Only such implications that are violated are added, cut after cut: each cut is a lower bound, and the first
whose values clash no more is best.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sugenet.checker.rated import RatedSamples
from sugenet.errors import TooLargeError
from sugenet.fit.capacities.clashes import Pairs, Tolerance
from sugenet.fit.capacities.costs import Costs
from sugenet.fit.capacities.flows import LargestFlow, largest_flow
from sugenet.problem.clock import Clock

__all__ = ["Cheapest", "Part", "least_total_cost"]

_BITS = 14
"""Of costs, while implications are still sought."""

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
    coarse = True  # long numbers take several rounds of flow: until the end their leading bits will do
    while True:
        places, flow, base = search.cut(coarse)
        left = search.clashes(places)
        if not left[0].size and search.shift:
            coarse = False
            continue
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
        self.shift = 0
        """How many bits of the costs the last cut left out."""
        self.rng = np.random.default_rng(0)
        count = len(self.low)
        self.marks: list[set[int]] = [set() for _ in range(count)]
        """For each sample the places that implications speak of."""
        self.segments: dict[int, tuple[list[int], list[int], list[int], int]] = {}

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
        more = 2 if k.size > len(places) else 16
        for one, other in zip(k.tolist(), m.tolist(), strict=True):
            self.segments.pop(one, None)
            self.segments.pop(other, None)
            for t in self._thresholds(one, other, int(places[one]), int(places[other]), more):
                s = self._implied(one, t, other)
                self.known[one, t, other, s] = None
                self.marks[one].add(t)
                self.marks[other].add(s)

    def _implied(self, k: int, t: int, m: int) -> int:
        return int(min(t, self.x[m][self.x[k] >= t].min()))

    def _thresholds(self, k: int, m: int, high: int, low: int, more: int) -> set[int]:
        """Places t at which sample k forces sample m above `low`: the last, the first, and some between."""
        first = max(low + 1, int(self.x[k][self.x[m] <= low].max(initial=-1)) + 1)
        return {first + (high - first) * share // more for share in range(more + 1)}

    def cut(self, coarse: bool) -> tuple[npt.NDArray[np.int64], LargestFlow, int]:
        """The cheapest values that keep the implications known, the flow that shows it, and the cost that
        comes without any.
        """
        nodes: dict[tuple[int, int], int] = {}
        into: list[int] = []
        out: list[int] = []
        edges: list[tuple[int, int]] = []
        base = 0
        choices: list[list[int]] = []
        for k in range(len(self.marks)):
            marks, places, rises, least = self._segments(k)
            choices.append(places)
            base += least
            for mark, rise in zip(marks, rises, strict=True):
                nodes[k, mark] = len(into)
                into.append(-rise if rise < 0 else 0)
                out.append(rise if rise > 0 else 0)
            last = len(into) - 1
            edges += [(node, node - 1) for node in range(last - len(marks) + 2, last + 1)]
        longest = max([0, *into, *out]).bit_length()
        self.shift = max(0, longest - _BITS) if coarse else 0
        into, out = [much >> self.shift for much in into], [much >> self.shift for much in out]
        edges += [(nodes[k, t], nodes[m, s]) for k, t, m, s in self.known]
        self.nodes = list(nodes)
        flow = largest_flow(into, out, np.array(edges, dtype=np.int64).reshape(-1, 2))
        held = iter(flow.held.tolist())
        places = [
            choice[sum(next(held) for _ in marks)] for choice, marks in zip(choices, self.marks, strict=True)
        ]
        return np.array(places, dtype=np.int64), flow, base

    def _segments(self, k: int) -> tuple[list[int], list[int], list[int], int]:
        """The marks of a sample, the cheapest place before, between and after them, how much its cost rises
        from each to the next, and what it costs at least if all of them could be had.
        """
        if k not in self.segments:
            marks = sorted(self.marks[k])
            starts, ends = [int(self.low[k]), *marks], [*(mark - 1 for mark in marks), int(self.high[k])]
            best = [self.costs.cheapest(k, start, end) for start, end in zip(starts, ends, strict=True)]
            rises = [after - before for (_, before), (_, after) in pairwise(best)]
            least = best[0][1] + sum(rise for rise in rises if rise < 0)
            self.segments[k] = marks, [place for place, _ in best], rises, least
        return self.segments[k]

    def parts(self, flow: LargestFlow) -> tuple[Part, ...]:
        """The flow as amounts from a sample that wants a value to one that does not."""
        return tuple((*self.nodes[first], *self.nodes[last], much) for first, last, much in flow.paths())
