"""Symmetric set functions, possibility and necessity measures: families with one number per size or
criterion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, islice, pairwise
from math import comb
from typing import Any

import numpy as np

from sugenet.capacity import transforms
from sugenet.capacity.arguments import in_order
from sugenet.capacity.base import Costs, SetFunction, by_cost
from sugenet.capacity.criteria import Criteria, Criterion, bits
from sugenet.capacity.scales import UNIT, Codes, Scale, Value, need_scale
from sugenet.capacity.thresholds import CardinalityThreshold
from sugenet.errors import CriteriaError, NotMonotoneError
from sugenet.reprs import set_fields

__all__ = ["Necessity", "Possibility", "Symmetric"]


@dataclass(frozen=True)
class Symmetric(SetFunction):
    """A set function worth `g[k]` on sets with k members.

    Examples
    --------
    >>> mu = Symmetric(["a", "b", "c"], [0, 0.2, 0.2, 1])
    >>> mu({"b"}), mu({"a", "c"}), mu.focal_count()
    (0.2, 0.2, 4)
    """

    criteria: Criteria
    g: tuple[Value, ...]
    scale: Scale

    def __init__(
        self, criteria: Criteria | int | Iterable[Criterion], g: Sequence[Any], scale: Scale = UNIT
    ) -> None:
        criteria = Criteria(criteria)
        need_scale(scale)
        values = tuple(scale.check(value, f"g[{size}]") for size, value in enumerate(in_order(g, "g")))
        if len(values) != len(criteria) + 1:
            raise CriteriaError(
                f"g has {len(values)} values; {len(criteria)} criteria need {len(criteria) + 1}, for sizes 0 "
                f"to {len(criteria)}."
            )
        for size, (low, high) in enumerate(pairwise(values)):
            if low > high:
                raise NotMonotoneError(
                    f"not monotone: sets of {size} are worth {low}, sets of {size + 1} only {high}."
                )
        set_fields(self, criteria=criteria, g=values, scale=scale)

    def at(self, mask: int) -> Value:
        """Look up the worth of the set's size."""
        return self.g[mask.bit_count()]

    def table(self) -> Codes:
        """Look up all sizes at once."""
        self._fits_table()
        return np.asarray(self.scale.codes(list(self.g))[transforms.sizes(len(self.criteria))])

    def conjugate(self) -> Symmetric:
        """Return the conjugate, which is symmetric, too."""
        return Symmetric(self.criteria, [self.scale.reverse(value) for value in reversed(self.g)], self.scale)

    def steps(self) -> list[int]:
        """Return the sizes at which the worth rises."""
        below = [self.scale.bottom, *self.g[:-1]]
        return [size for size, (low, high) in enumerate(zip(below, self.g, strict=True)) if low < high]

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield all sets of a size at which the worth rises."""
        if costs is None or len(set(costs)) < 2:
            masks: Iterator[int] = (mask for size in self.steps() for mask in self._of_size(size, None))
        else:
            masks = self._merged(costs)
        return ((mask, self.g[mask.bit_count()]) for mask in masks)

    def _of_size(self, size: int, costs: Costs) -> Iterator[int]:
        return (mask for mask, _ in CardinalityThreshold(self.criteria.names, size).focal_masks(costs))

    def _merged(self, costs: Sequence[int]) -> Iterator[int]:
        """Yield the cheapest first; the sets of a size are enumerated only when its cheapest one may be
        next.
        """
        min_costs = list(accumulate(sorted(costs), initial=0))
        sizes, heap = self.steps()[::-1], list[tuple[int, int, Iterator[int]]]()

        def push(stream: Iterator[int]) -> None:
            for mask in islice(stream, 1):
                heappush(heap, (sum(costs[index] for index in bits(mask)), mask, stream))

        while heap or sizes:
            while sizes and (not heap or min_costs[sizes[-1]] <= heap[0][0]):
                push(self._of_size(sizes.pop(), costs))
            _, mask, stream = heappop(heap)
            yield mask
            push(stream)

    def focal_count(self) -> int:
        """Return a sum of binomials."""
        return sum(comb(len(self.criteria), size) for size in self.steps())

    def _phrase(self) -> str:
        return "by size: " + ", ".join(f"{size}: {value}" for size, value in enumerate(self.g))


@dataclass(frozen=True)
class _Distributed(SetFunction):
    """Shared base class of possibility and necessity: a distribution pi over the criteria."""

    pi: tuple[Value, ...]
    criteria: Criteria
    scale: Scale

    def __init__(
        self, pi: Mapping[Criterion, Any] | Sequence[Any], scale: Scale = UNIT, criteria: Any = None
    ) -> None:
        need_scale(scale)
        listed = [] if isinstance(pi, Mapping) else in_order(pi, "pi")
        universe = Criteria(
            (list(pi) if isinstance(pi, Mapping) else len(listed)) if criteria is None else criteria
        )
        row = universe.row(pi, "pi") if isinstance(pi, Mapping) else listed
        if len(row) != len(universe):
            raise CriteriaError(f"pi has {len(row)} values for {len(universe)} criteria. Give one for each.")
        checked = tuple(
            scale.check(value, f"pi of {name}") for name, value in zip(universe, row, strict=True)
        )
        set_fields(self, pi=checked, criteria=universe, scale=scale)

    def _phrase(self) -> str:
        shown = ", ".join(
            f"{name}: {value}" for name, value in list(zip(self.criteria, self.pi, strict=True))[:12]
        )
        return f"{type(self).__name__.lower()} of {{{shown}{', ...' if len(self.pi) > 12 else ''}}}"


@dataclass(frozen=True, init=False)
class Possibility(_Distributed):
    """The largest pi in a set is its worth. It is a capacity if some pi is the top.

    Reference: Dubois and Prade [DP14].

    Examples
    --------
    >>> mu = Possibility({"a": 1, "b": 0.5})
    >>> mu({"b"}), mu({"a", "b"}), mu.conjugate()({"a"})
    (0.5, 1, 0.5)
    """

    def at(self, mask: int) -> Value:
        """Return the largest pi in the set."""
        return max((self.pi[index] for index in bits(mask)), default=self.scale.bottom)

    def table(self) -> Codes:
        """Return the largest pi of all sets, by doubling."""
        self._fits_table()
        values = self.scale.codes([self.scale.bottom, *self.pi])
        table = values[:1]
        for value in values[1:]:
            table = np.concatenate([table, np.maximum(table, value)])
        return table

    def conjugate(self) -> Necessity:
        """Return the necessity measure of the same distribution."""
        return Necessity(self.pi, self.scale, self.criteria)

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield the single criteria with positive pi."""
        return iter(
            by_cost(
                [(1 << index, value) for index, value in enumerate(self.pi) if value > self.scale.bottom],
                costs,
            )
        )

    def focal_count(self) -> int:
        """Return the number of positive pi."""
        return sum(value > self.scale.bottom for value in self.pi)


@dataclass(frozen=True, init=False)
class Necessity(_Distributed):
    """1 - pi of the most possible criterion outside a set is its worth. It is a capacity if some pi is the
    top.

    Reference: Dubois and Prade [DP14].

    Examples
    --------
    >>> mu = Necessity({"a": 1, "b": 0.5, "c": 0.25})
    >>> mu({"b", "c"}), mu({"a"}), mu({"a", "b"}), mu({"a", "b", "c"})
    (0, 0.5, 0.75, 1)
    >>> [(sorted(focal.members), focal.weight) for focal in mu.focal_sets(by="size")]
    [(['a'], 0.5), (['a', 'b'], 0.75), (['a', 'b', 'c'], 1)]
    """

    def at(self, mask: int) -> Value:
        """Return 1 - the largest pi outside the set."""
        outside = (self.pi[index] for index in bits(self.criteria.full ^ mask))
        return self.scale.reverse(max(outside, default=self.scale.bottom))

    def table(self) -> Codes:
        """Return the reversed table of the possibility measure."""
        return self.scale.reverse_codes(self.conjugate().table()[::-1])

    def conjugate(self) -> Possibility:
        """Return the possibility measure of the same distribution."""
        return Possibility(self.pi, self.scale, self.criteria)

    @cached_property
    def _chain(self) -> list[tuple[int, Value]]:
        """Return the focal sets: the criteria more possible than each level, from large to small level."""
        bottom = self.scale.bottom
        chain = []
        for level in sorted({bottom, *self.pi}, reverse=True):
            worth = self.scale.reverse(level)
            if worth > bottom:
                chain.append((sum(1 << index for index, value in enumerate(self.pi) if value > level), worth))
        return chain

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield a chain, at most one set per level of pi."""
        return iter(by_cost(self._chain, costs))

    def focal_count(self) -> int:
        """Return the length of the chain."""
        return len(self._chain)
