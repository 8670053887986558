"""Monotone set functions: the common interface of every family.

A capacity is a monotone set function that is worth bottom on the empty set and top on the full set.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from math import lcm
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from sugenet.capacity import transforms
from sugenet.capacity.arguments import exact_number, in_order, plain
from sugenet.capacity.criteria import Criteria, Criterion, Subset, bits
from sugenet.capacity.scales import Codes, Scale, Value
from sugenet.errors import CapacityError, TooLargeError
from sugenet.reprs import ShortRepr

__all__ = [
    "LISTING_LIMIT",
    "TABLE_LIMIT",
    "FocalSet",
    "SetFunction",
    "by_cost",
    "need_set_function",
    "take_all",
    "up_to_limit",
]

TABLE_LIMIT = 24
"""Largest number of criteria for which a table of all 2^n subsets is built."""

LISTING_LIMIT = 2_000_000
"""Largest number of focal sets that are listed if all of them are required."""

_T = TypeVar("_T")

Costs: TypeAlias = Sequence[int] | None
Order: TypeAlias = str | Mapping[Criterion, Any] | Sequence[Any] | None


class FocalSet(NamedTuple):
    """A set worth more than each of its proper subsets, with its worth: one minimal rule."""

    members: frozenset[Criterion]
    weight: Value


class SetFunction(ShortRepr, ABC):
    """A set function that never decreases when criteria are added.

    Call it with a subset: a set, one name, or a bit mask.

    Reference: Choquet [Cho54]; Grabisch [Gra16].
    """

    criteria: Criteria
    scale: Scale

    @abstractmethod
    def at(self, mask: int) -> Value:
        """Return the worth of the set with this bit mask."""

    def __call__(self, subset: Subset) -> Value:
        """Return the worth of a subset."""
        return self.at(self.criteria.mask(subset))

    @abstractmethod
    def conjugate(self) -> SetFunction:
        """Return the conjugate mu^c(A) = 1 - mu(complement of A); conjugating twice restores the function."""

    @property
    def is_capacity(self) -> bool:
        """Whether the empty set is worth bottom and the full set top."""
        return bool(self.at(0) == self.scale.bottom and self.at(self.criteria.full) == self.scale.top)

    @property
    def constant(self) -> Value | None:
        """The common value of all sets, or None if sets differ."""
        value = self.at(0)
        return value if value == self.at(self.criteria.full) else None

    def focal_sets(self, by: Order = None) -> Iterator[FocalSet]:
        """Yield the focal sets lazily.

        Parameters
        ----------
        by
            None: in the fastest order. ``"size"``: smallest first. A cost per criterion (mapping or sequence
            of nonnegative exact numbers, or of floats read exactly): cheapest total first.
        """
        members = self.criteria.members
        return (FocalSet(members(mask), weight) for mask, weight in self.focal_masks(self._costs(by)))

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield (mask, weight) of the focal sets; `costs` are integers, one per criterion."""
        table = self.table()
        focal = transforms.inner_moebius(table, self.scale.codes([self.scale.bottom])[0])
        masks = np.flatnonzero(focal != self.scale.codes([self.scale.bottom])[0])
        if costs is not None:
            price = np.zeros(1, dtype=object if sum(costs) >= 1 << 62 else np.int64)
            for cost in costs:
                price = np.concatenate([price, price + cost])
            masks = masks[np.argsort(price[masks], kind="stable")]
        return ((int(mask), self.scale.element(focal[mask])) for mask in masks)

    def focal_count(self) -> int:
        """Return the exact number of focal sets; they are listed only if the family has no formula."""
        bottom = self.scale.codes([self.scale.bottom])[0]
        return int(np.count_nonzero(transforms.inner_moebius(self.table(), bottom) != bottom))

    def is_focal(self, mask: int) -> bool:
        """Return whether the set is worth more than each of its proper subsets."""
        worth = self.at(mask)
        return bool(worth > self.scale.bottom) and all(
            self.at(mask ^ 1 << index) < worth for index in bits(mask)
        )

    def table(self) -> Codes:
        """Return the values on all 2^n sets, by mask, as codes of the scale."""
        self._fits_table()
        return self.scale.codes([self.at(mask) for mask in range(1 << len(self.criteria))])

    def threshold_form(self) -> tuple[tuple[Any, ...], Any] | None:
        """Return exact weights and theta with mu(A) = [sum of A's weights >= theta], or None if no such form
        is known.
        """
        return None

    def _fits_table(self) -> None:
        n = len(self.criteria)
        if n > TABLE_LIMIT:
            raise TooLargeError(
                f"{type(self).__name__} over {n} criteria would need a table of 2^{n} values; the limit is "
                f"{TABLE_LIMIT} criteria. Thresholds, symmetric functions, possibility, necessity and focal "
                "sets are handled without a table."
            )

    def _costs(self, by: Order) -> Costs:
        if by is None:
            return None
        if isinstance(by, str):
            if by != "size":
                raise CapacityError(
                    f"by={by!r} is not an order of focal sets. Use None, 'size' or a cost per criterion."
                )
            return [1] * len(self.criteria)
        costs = self.criteria.row(by, "by") if isinstance(by, Mapping) else in_order(by, "by")
        if len(costs) != len(self.criteria):
            raise CapacityError(
                f"by has {len(costs)} costs for {len(self.criteria)} criteria. Give one cost for each."
            )
        exact = [
            exact_number(cost, f"the cost of {name}") for name, cost in zip(self.criteria, costs, strict=True)
        ]
        negative = next((name for name, cost in zip(self.criteria, exact, strict=True) if cost < 0), None)
        if negative is not None:
            raise CapacityError(
                f"the cost of {negative} is {plain(costs[self.criteria.place(negative)])}: "
                f"costs must not be negative."
            )
        unit = lcm(1, *(cost.denominator for cost in exact))
        return [int(cost * unit) for cost in exact]

    def _phrase(self) -> str:
        """Return a short description; `__str__` adds the values on the empty and the full set."""
        return type(self).__name__

    def __str__(self) -> str:
        phrase = self._phrase()
        constant = self.constant
        if constant is not None:
            word = {self.scale.top: "always", self.scale.bottom: "never"}.get(constant)
            return f"{phrase}: constant, worth {constant} on every set" + (f" ({word})" if word else "")
        return (
            phrase
            if self.is_capacity
            else (
                f"{phrase} (not a capacity: {self.at(0)} on no criteria, "
                f"{self.at(self.criteria.full)} on all)"
            )
        )


def need_set_function(mu: object, what: str = "mu") -> None:
    """Raise `CapacityError` if `mu` is not a set function."""
    if not isinstance(mu, SetFunction):
        raise CapacityError(
            f"{what} is {mu!r}, which is not a set function. Give one: CardinalityThreshold(3, tau=2)."
        )


def up_to_limit(items: Iterator[_T], what: str, instead: str) -> Iterator[_T]:
    """Yield the items up to a limit; beyond it, raise an error with the remedy `instead`."""
    for number, one in enumerate(items):
        if number >= LISTING_LIMIT:
            raise TooLargeError(
                f"{what} needs all focal sets, and there are over {LISTING_LIMIT:,} to look at. {instead}"
            )
        yield one


def take_all(pairs: Iterator[tuple[int, Value]], what: str, instead: str) -> list[tuple[int, Value]]:
    """List focal sets that must all be known at once, up to a limit."""
    return list(up_to_limit(pairs, what, instead))


def by_cost(pairs: list[tuple[int, Value]], costs: Costs) -> list[tuple[int, Value]]:
    """Sort listed focal sets by total cost, or leave them in order."""
    if costs is None:
        return pairs
    return sorted(pairs, key=lambda pair: (sum(costs[index] for index in bits(pair[0])), pair[0]))
