"""Threshold capacities: at least tau of some literals (the paper's mu_{w,tau}), or weights that reach theta
(paper section 2.2).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb, lcm
from typing import Any

import numpy as np

from sugenet.brief import set_fields
from sugenet.capacity.arguments import exact_number, in_order, plain, show_number
from sugenet.capacity.base import Costs, SetFunction
from sugenet.capacity.criteria import Criteria, Criterion, bits
from sugenet.capacity.scales import BOOLEAN, Boolean, Codes, Value
from sugenet.capacity.weights import (
    count_minimal,
    minimal_sets,
    ranked_combinations,
    ranked_minimal_sets,
    to_integers,
)
from sugenet.errors import CapacityError, CriteriaError

__all__ = ["CardinalityThreshold", "WeightedThreshold", "exact_number"]


@dataclass(frozen=True)
class CardinalityThreshold(SetFunction):
    """Worth 1 on the sets that hold at least `tau` members of `lam`, else 0 (docs/theory.md 6.7).

    Parameters
    ----------
    lam
        The criteria or literals that count; a number n means 1..n.
    tau
        How many must hold. Below 1 every set is worth 1, above the size of `lam` every set is worth 0: such a
        function is no capacity, but a value like any other that says so.
    criteria
        All criteria, when there are more than `lam`: for a neuron the 2n literals, `Criteria.literals(n)`.

    Examples
    --------
    The neuron of the paper's Example 1:

    >>> mu = CardinalityThreshold({1, 2, -3, 4}, tau=2, criteria=Criteria.literals(4))
    >>> mu({1}), mu({1, 2}), mu({1, 3}), mu.focal_count()
    (0, 1, 0, 6)
    >>> print(mu)
    at least 2 of {1, 2, -3, 4}
    >>> print(CardinalityThreshold(3, tau=0))
    at least 0 of {1, 2, 3}: constant, worth 1 on every set (always)
    >>> print(mu.conjugate())
    at least 3 of {1, 2, -3, 4}
    """

    criteria: Criteria
    lam: frozenset[Criterion]
    tau: int
    scale: Boolean = BOOLEAN

    def __init__(
        self,
        lam: int | Iterable[Criterion],
        tau: int,
        criteria: Criteria | int | Iterable[Criterion] | None = None,
    ) -> None:
        chosen = Criteria(sorted(lam, key=_literal_order) if isinstance(lam, set | frozenset) else lam)
        universe = chosen if criteria is None else Criteria(criteria)
        try:
            count = operator.index(tau)
        except TypeError:
            raise CapacityError(
                f"tau={plain(tau)!r} must be a whole number: how many of {len(chosen)} must hold."
            ) from None
        universe.mask(chosen.names)
        set_fields(self, criteria=universe, lam=frozenset(chosen.names), tau=count)

    @cached_property
    def lam_mask(self) -> int:
        """The mask of `lam` among the criteria."""
        return self.criteria.mask(self.lam)

    def at(self, mask: int) -> Value:
        """Count the members of `lam`."""
        return int((mask & self.lam_mask).bit_count() >= self.tau)

    def table(self) -> Codes:
        """Count for all masks at once."""
        self._fits_table()
        held = np.arange(1 << len(self.criteria), dtype=np.uint32) & np.uint32(self.lam_mask)
        return np.asarray(np.bitwise_count(held).astype(np.int64) >= self.tau, dtype=np.int8)

    def conjugate(self) -> CardinalityThreshold:
        """At least n - tau + 1 of the same literals."""
        return CardinalityThreshold(self.lam, len(self.lam) - self.tau + 1, self.criteria)

    def threshold_form(self) -> tuple[tuple[Any, ...], Any]:
        """Weight 1 for the members of `lam`."""
        return tuple(self.lam_mask >> place & 1 for place in range(len(self.criteria))), self.tau

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """The tau-element subsets of `lam`."""
        if self.tau <= 0:
            return iter([(0, 1)])
        if self.tau > len(self.lam):
            return iter([])
        places = list(bits(self.lam_mask))
        if costs is not None and len({costs[place] for place in places}) > 1:
            return ((mask, 1) for mask in ranked_combinations(places, self.tau, costs))
        return ((sum(chosen), 1) for chosen in combinations([1 << place for place in places], self.tau))

    def focal_count(self) -> int:
        """Binomial: n choose tau."""
        return comb(len(self.lam), max(self.tau, 0))

    def _phrase(self) -> str:
        shown = self.criteria.show(self.lam_mask) if len(self.lam) <= 12 else f"{len(self.lam)} criteria"
        return f"at least {show_number(self.tau)} of {shown}"


@dataclass(frozen=True)
class WeightedThreshold(SetFunction):
    """Worth 1 on the sets whose weights sum to at least `theta`, else 0:
    the paper's threshold constraint (docs/theory.md 6.8).

    Parameters
    ----------
    weights
        Nonnegative numbers, by criterion or in order for criteria 1..n. Floats are taken as the exact binary
        numbers they are. For signed weights use `WeightedThreshold.signed`.
    theta
        The threshold. It is a capacity exactly when 0 < theta <= the sum of the weights.
    criteria
        Names in the order of `weights`, when these come as a sequence.

    Examples
    --------
    >>> mu = WeightedThreshold({"price": 3, "comfort": 2, "safety": 2}, theta=4)
    >>> mu({"price"}), mu({"comfort", "safety"}), mu.focal_count()
    (0, 1, 3)
    >>> WeightedThreshold([0.1, 0.2], theta=0.3)({1, 2})  # exactly a little more than the float 0.3
    1
    """

    criteria: Criteria
    weights: tuple[Any, ...]
    theta: Any
    scale: Boolean = BOOLEAN

    def __init__(
        self,
        weights: Mapping[Criterion, Any] | Sequence[Any],
        theta: Any,
        criteria: Criteria | int | Iterable[Criterion] | None = None,
    ) -> None:
        listed = [] if isinstance(weights, Mapping) else in_order(weights, "weights")
        universe = Criteria(
            (list(weights) if isinstance(weights, Mapping) else len(listed)) if criteria is None else criteria
        )
        row = universe.row(weights, "weights") if isinstance(weights, Mapping) else listed
        if len(row) != len(universe):
            raise CriteriaError(f"{len(row)} weights for {len(universe)} criteria. Give one weight for each.")
        exact = tuple(
            exact_number(weight, f"the weight of {name}") for name, weight in zip(universe, row, strict=True)
        )
        negative = next((name for name, weight in zip(universe, exact, strict=True) if weight < 0), None)
        if negative is not None:
            raise CapacityError(
                f"the weight of {negative} is {plain(row[universe.place(negative)])}, so adding it would "
                "lower the sum. Use WeightedThreshold.signed, which counts the opposite literal instead."
            )
        set_fields(self, criteria=universe, weights=exact, theta=exact_number(theta, "theta"))

    @classmethod
    def signed(cls, weights: Sequence[Any], theta: Any) -> WeightedThreshold:
        """The constraint sum of w_i x_i >= theta on bits x_i with weights of any sign, over the 2n literals.

        A negative weight becomes the weight of the opposite literal: -w x = -w + w (1 - x).

        Examples
        --------
        >>> mu = WeightedThreshold.signed([2, -3], theta=0)
        >>> mu({1, -2}), mu({1, 2}), mu({-1, -2}), mu.theta
        (1, 0, 1, 3)
        """
        exact = [
            exact_number(weight, f"weight {place}")
            for place, weight in enumerate(in_order(weights, "weights"), start=1)
        ]
        by_literal: dict[Criterion, Any] = {
            sign * i: max(sign * weight, 0) for i, weight in enumerate(exact, start=1) for sign in (1, -1)
        }
        shift = sum(-weight for weight in exact if weight < 0)
        return cls(by_literal, exact_number(theta, "theta") + shift, Criteria.literals(len(exact)))

    @cached_property
    def integers(self) -> tuple[list[int], int]:
        """The same function with integer weights and threshold."""
        return to_integers(self.weights, self.theta)

    def at(self, mask: int) -> Value:
        """Sum the weights."""
        weights, theta = self.integers
        return int(sum(weights[place] for place in bits(mask)) >= theta)

    def table(self) -> Codes:
        """Sum for all masks at once."""
        self._fits_table()
        weights, theta = self.integers
        sums = np.zeros(1, dtype=np.int64 if sum(weights) + abs(theta) < 1 << 62 else object)
        for weight in weights:
            sums = np.concatenate([sums, sums + weight])
        return np.asarray(sums >= theta).astype(np.int8)

    def conjugate(self) -> WeightedThreshold:
        """Sets whose complement stays below theta: sum > W - theta,
        which for whole numbers is sum >= W - theta + 1.

        Sums are multiples of a unit. Where theta is one, too, the next multiple is W - theta + unit; else no
        sum is W - theta. So the weights stay as they are, and conjugating twice gives theta back.
        """
        unit = Fraction(1, lcm(1, *(weight.denominator for weight in self.weights)))
        step = unit if (self.theta / unit).denominator == 1 else 0
        return WeightedThreshold(self.weights, sum(self.weights) - self.theta + step, self.criteria)

    def threshold_form(self) -> tuple[tuple[Any, ...], Any]:
        """The weights and theta."""
        return self.weights, self.theta

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Minimal sets that reach theta; in any order lazily for all weights,
        by cost through a table of sums.
        """
        weights, theta = self.integers
        found = minimal_sets(weights, theta) if costs is None else ranked_minimal_sets(weights, theta, costs)
        return ((mask, 1) for mask in found)

    def focal_count(self) -> int:
        """By dynamic program over sums."""
        return count_minimal(*self.integers)

    def _phrase(self) -> str:
        if len(self.weights) > 12:
            return f"weights of {len(self.weights)} criteria reach {show_number(self.theta)}"
        terms = " + ".join(
            f"{show_number(weight)} {name}" for name, weight in zip(self.criteria, self.weights, strict=True)
        )
        return f"{terms} >= {show_number(self.theta)}"


def _literal_order(name: Criterion) -> tuple[str, int, int]:
    """Names by the alphabet; numbers and literals by their coordinate, the positive one first."""
    return (name, 0, 0) if isinstance(name, str) else ("", abs(name), -name)
