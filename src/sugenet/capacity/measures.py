"""Symmetric set functions, possibility and necessity measures: families with one number per size or
criterion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate, islice, pairwise
from math import comb, prod
from typing import Any

import numpy as np

from sugenet.capacity import transforms
from sugenet.capacity.arguments import in_order, plain, show_number
from sugenet.capacity.base import Costs, SetFunction, by_cost
from sugenet.capacity.combine import Conjugate
from sugenet.capacity.criteria import Criteria, Criterion, bits
from sugenet.capacity.scales import UNIT, Codes, Scale, Value, need_scale
from sugenet.capacity.thresholds import CardinalityThreshold
from sugenet.errors import CapacityError, CriteriaError, NotMonotoneError
from sugenet.reprs import set_fields

__all__ = ["LambdaMeasure", "Necessity", "Possibility", "Symmetric"]


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


@dataclass(frozen=True)
class LambdaMeasure(SetFunction):
    """A Sugeno lambda-measure: mu(A or B) = mu(A) + mu(B) + lambda mu(A) mu(B) for disjoint A and B.

    The worths of single criteria determine lambda >= -1, since all criteria together are worth 1. Lambda is
    exact if it is a fraction with a small denominator, or if at most two densities are positive. Otherwise it
    is rounded down to a multiple of 2^-bits. Then all criteria are worth 1 exactly, and every other set at
    most its exact worth.

    Reference: Sugeno [Sug74].

    Parameters
    ----------
    densities : mapping or sequence
        The worth of each single criterion, in [0, 1]; floats are read exactly.
    bits : int
        Precision of a lambda that is not exact (default: 64).
    criteria : list or int, optional
        Names of the criteria (default: those of the mapping, or 1, 2, ...).

    Examples
    --------
    >>> mu = LambdaMeasure({"a": Fraction(1, 4), "b": Fraction(1, 3)})
    >>> mu.lam, mu.is_exact, mu({"a"}), mu({"a", "b"})
    (Fraction(5, 1), True, Fraction(1, 4), Fraction(1, 1))
    >>> mu = LambdaMeasure([0.25, 0.25, 0.25])
    >>> round(float(mu.lam), 4), mu.is_exact, round(float(mu({1, 2})), 4), mu({1, 2, 3})
    (1.2111, False, 0.5757, Fraction(1, 1))
    """

    densities: tuple[Fraction, ...]
    lam: Fraction
    is_exact: bool
    criteria: Criteria
    scale: Scale

    def __init__(
        self, densities: Mapping[Criterion, Any] | Sequence[Any], bits: int = 64, criteria: Any = None
    ) -> None:
        if isinstance(bits, bool) or not isinstance(bits, int) or bits < 1:
            raise CapacityError(f"bits={plain(bits)!r} must be an integer of at least 1.")
        named = Possibility(densities, UNIT, criteria)  # checks names and numbers
        exact = tuple(Fraction(value) for value in named.pi)
        lam, is_exact = _lambda_of([value for value in exact if value], bits)
        set_fields(self, densities=exact, lam=lam, is_exact=is_exact, criteria=named.criteria, scale=UNIT)

    def at(self, mask: int) -> Value:
        """Return the worth by the formula, and 1 for all criteria."""
        worth = Fraction(0)
        for index in bits(mask):
            worth += self.densities[index] * (1 + self.lam * worth)
        return Fraction(1) if mask == self.criteria.full else worth

    def table(self) -> Codes:
        """Return the worths of all sets, by doubling."""
        self._fits_table()
        worths = [Fraction(0)]
        for density in self.densities:
            worths += [worth + density * (1 + self.lam * worth) for worth in worths]
        worths[-1] = Fraction(1)
        return self.scale.codes(worths)

    def conjugate(self) -> SetFunction:
        """Return the conjugate, as a view."""
        return Conjugate(self)

    def _phrase(self) -> str:
        return f"lambda-measure over {len(self.criteria)} criteria, lambda {show_number(self.lam)}"


def _lambda_of(densities: list[Fraction], bits: int) -> tuple[Fraction, bool]:
    """Solve: the product of all 1 + lambda g is 1 + lambda; lambda is 0 only if the sum of all g is 1."""
    total = sum(densities)
    if total == 1:
        return Fraction(0), True
    if len(densities) < 2:
        raise CapacityError(
            "no lambda makes all criteria worth 1: fewer than two densities are positive, and their "
            "sum is not 1. Give more positive densities, or one that is 1."
        )
    if max(densities) == 1:
        return Fraction(-1), True
    if len(densities) == 2:
        return (1 - total) / (densities[0] * densities[1]), True

    def excess(lam: Fraction) -> Fraction:
        return prod((1 + lam * density for density in densities), start=Fraction(1)) - 1 - lam

    # the excess is positive outside of the roots 0 and lambda, and negative between them
    unit = 1 << bits
    low, high = (-unit, 0) if total > 1 else (0, unit)
    while total < 1 and excess(Fraction(high, unit)) <= 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        is_left = (excess(Fraction(middle, unit)) > 0) == (total > 1)
        low, high = (middle, high) if is_left else (low, middle)
    simple = Fraction(2 * low + 1, 2 * unit).limit_denominator(1 << bits // 3)
    if simple and excess(simple) == 0:
        return simple, True
    return Fraction(low, unit), False
