"""Set functions given value by value: a table of all subsets, a list of focal sets, or any Python function.

The module also has the qualitative Moebius transforms between tables and focal sets (docs/theory.md 6.2), and
the least and the greatest capacity with given worths on some sets (10.1).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sugenet.capacity import transforms
from sugenet.capacity.arguments import plain
from sugenet.capacity.base import (
    TABLE_LIMIT,
    Costs,
    FocalSet,
    SetFunction,
    by_cost,
    need_set_function,
    take_all,
)
from sugenet.capacity.combine import Conjugate
from sugenet.capacity.criteria import (
    Criteria,
    Criterion,
    Subset,
    bits,
    containing_none_before,
    minimal_transversals,
)
from sugenet.capacity.scales import UNIT, Codes, Scale, Value, need_scale
from sugenet.errors import CapacityError, NotMonotoneError, ScaleError, TooLargeError
from sugenet.reprs import set_fields

__all__ = [
    "Dense",
    "Focal",
    "FromFunction",
    "from_inner_moebius",
    "from_outer_moebius",
    "inner_moebius",
    "lower_envelope",
    "outer_moebius",
    "transversals",
    "upper_envelope",
    "values_by_mask",
]

CHECKED_LIMIT = 12
"""Largest number of criteria for which a Python function is checked for monotonicity when it is wrapped."""


@dataclass(frozen=True, eq=False)
class Dense(SetFunction):
    """A table of all 2^n subsets, for up to 24 criteria.

    Parameters
    ----------
    criteria
        Names of the criteria, or their number.
    values
        The worth of every subset: a sequence indexed by bit mask, or a mapping from subsets.
    scale
        The scale of the values (default: the unit interval).

    Examples
    --------
    >>> mu = Dense(["a", "b"], {(): 0, "a": 0.3, "b": 0.8, ("a", "b"): 1})
    >>> mu({"a"}), mu("b"), mu(0b11)
    (0.3, 0.8, 1.0)
    >>> Dense(["a", "b"], [0, 0.5, 0.2, 0.4])
    Traceback (most recent call last):
    ...
    sugenet.errors.NotMonotoneError: not monotone: {a} is worth 0.5 but {a, b}, which contains it, only 0.4.
    """

    criteria: Criteria
    scale: Scale
    _codes: Codes

    def __init__(
        self, criteria: Criteria | int | Iterable[Criterion], values: Any, scale: Scale = UNIT
    ) -> None:
        criteria = Criteria(criteria)
        need_scale(scale)
        n = len(criteria)
        if n > TABLE_LIMIT:
            raise TooLargeError(
                f"a table over {n} criteria has 2^{n} values; the limit is {TABLE_LIMIT} criteria. "
                "Use Focal, a threshold, or FromFunction, which need no table."
            )
        if isinstance(values, Mapping):
            values = values_by_mask(criteria, values)
        codes = scale.codes(values, "values")
        if codes.shape != (1 << n,):
            raise CapacityError(
                f"values has shape {codes.shape}, but {n} criteria have 2^{n} = {1 << n} subsets, "
                f"one value for each."
            )
        fall = transforms.violation(codes)
        if fall is not None:
            small, large = fall
            raise NotMonotoneError(
                f"not monotone: {criteria.show(small)} is worth {scale.element(codes[small])} but "
                f"{criteria.show(large)}, which contains it, only {scale.element(codes[large])}."
            )
        self._set_codes(criteria, codes, scale)

    def _set_codes(self, criteria: Criteria, codes: Codes, scale: Scale) -> None:
        codes.flags.writeable = False
        set_fields(self, criteria=criteria, scale=scale, _codes=codes)

    @classmethod
    def _known(cls, criteria: Criteria, codes: Codes, scale: Scale) -> Dense:
        """Return a table that is known to be monotone."""
        self = cls.__new__(cls)
        self._set_codes(criteria, codes, scale)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # so that a copy is read-only, too
        return Dense._known, (
            self.criteria,
            self._codes.copy(),
            self.scale,
        )

    @classmethod
    def of(cls, mu: SetFunction) -> Dense:
        """Write any set function over at most 24 criteria as a table."""
        return mu if isinstance(mu, Dense) else cls(mu.criteria, mu.scale.decode(mu.table()), mu.scale)

    def at(self, mask: int) -> Value:
        """Look up the value."""
        return self.scale.element(self._codes[mask])

    def table(self) -> Codes:
        """Return the values by mask, as codes of the scale; read-only."""
        return self._codes

    def conjugate(self) -> Dense:
        """Return the table of the conjugate."""
        return Dense._known(self.criteria, self.scale.reverse_codes(self._codes[::-1]), self.scale)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dense):
            return NotImplemented
        same = self.criteria == other.criteria and self.scale == other.scale
        return same and bool(np.array_equal(self._codes, other._codes))

    def __hash__(self) -> int:
        return hash((self.criteria, self.scale, tuple(self._codes.tolist())))

    def _phrase(self) -> str:
        return f"table over {len(self.criteria)} criteria, scale {self.scale}"


def values_by_mask(criteria: Criteria, values: Mapping[Any, Any]) -> list[Any]:
    """Return the values of all subsets, by mask; raise an error if a subset has none or several."""
    by_mask: dict[int, Any] = {}
    for subset, value in values.items():
        mask = criteria.mask(subset)
        if mask in by_mask:
            raise CapacityError(f"{criteria.show(mask)} has two values, {by_mask[mask]!r} and {value!r}.")
        by_mask[mask] = value
    missing = next((mask for mask in range(1 << len(criteria)) if mask not in by_mask), None)
    if missing is not None:
        raise CapacityError(
            f"no value for {criteria.show(missing)}: {len(by_mask)} of {1 << len(criteria)} subsets given. "
            "Give all of them, or use Focal to give only the sets that count."
        )
    return [by_mask[mask] for mask in range(1 << len(criteria))]


@dataclass(frozen=True)
class Focal(SetFunction):
    """The least set function worth at least the given weights on the given sets: the best weight among the
    sets contained.

    Sets that another set makes redundant are dropped, so the remaining sets are its focal sets.

    Reference: Grabisch [Gra04].

    Examples
    --------
    >>> worth = {("price", "safety"): 1, "comfort": 0.4, ("comfort", "price"): 0.3}
    >>> mu = Focal(["price", "comfort", "safety"], worth)
    >>> mu({"comfort", "price"}), mu({"price", "safety"}), mu({"safety"})
    (0.4, 1, 0)
    >>> mu.focal_count()
    2
    """

    criteria: Criteria
    scale: Scale
    weights: tuple[tuple[int, Value], ...]

    def __init__(
        self,
        criteria: Criteria | int | Iterable[Criterion],
        sets: Mapping[Any, Any] | Iterable[FocalSet],
        scale: Scale = UNIT,
    ) -> None:
        criteria = Criteria(criteria)
        need_scale(scale)
        if not isinstance(sets, Iterable):
            raise CapacityError(
                f"sets is {plain(sets)!r}. Give a mapping from sets to weights, or a list of (set, weight)."
            )
        best: dict[int, Value] = {}
        for pair in sets.items() if isinstance(sets, Mapping) else sets:
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise CapacityError(
                    f"{plain(pair)!r} is not a set with a weight. Give a mapping from sets to weights, "
                    f"or (set, weight)."
                )
            subset, weight = pair
            mask = criteria.mask(subset)
            try:
                value = scale.check(weight)
            except ScaleError:
                value = scale.check(weight, f"the weight of {criteria.show(mask)}")
            best[mask] = max(best.get(mask, scale.bottom), value)
        pairs = sorted(best.items(), key=lambda pair: pair[0].bit_count())
        # now a set comes after all sets that could make it redundant
        pairs.sort(key=lambda pair: pair[1], reverse=True)
        pairs = [pair for pair in pairs if pair[1] > scale.bottom]
        self._set_weights(
            criteria, [pairs[number] for number in containing_none_before([mask for mask, _ in pairs])], scale
        )

    def _set_weights(self, criteria: Criteria, focal: list[tuple[int, Value]], scale: Scale) -> None:
        set_fields(
            self,
            criteria=criteria,
            scale=scale,
            weights=tuple(sorted(focal, key=lambda pair: (pair[0].bit_count(), pair[0]))),
        )

    @classmethod
    def of(cls, mu: SetFunction) -> Focal:
        """List the focal sets of any set function (at most two million)."""
        if isinstance(mu, Focal):
            return mu
        self = cls.__new__(cls)  # no focal set makes another redundant, so there is nothing to compare
        instead = "Keep the set function as it is: its integral and its worths need no list."
        self._set_weights(mu.criteria, take_all(mu.focal_masks(), "Focal.of", instead), mu.scale)
        return self

    def at(self, mask: int) -> Value:
        """Return the best weight among the focal sets contained."""
        return max(
            (weight for focal, weight in self.weights if focal & mask == focal), default=self.scale.bottom
        )

    def table(self) -> Codes:
        """Spread the weights over all supersets."""
        self._fits_table()
        values = np.full(1 << len(self.criteria), self.scale.bottom, dtype=object)
        for mask, weight in self.weights:
            values[mask] = weight
        return transforms.max_zeta(self.scale.codes(values.tolist()))

    def focal_masks(self, costs: Costs = None) -> Iterator[tuple[int, Value]]:
        """Yield the given weights."""
        return iter(by_cost(list(self.weights), costs))

    def focal_count(self) -> int:
        """Return the number of weights."""
        return len(self.weights)

    def conjugate(self) -> SetFunction:
        """Return the conjugate, as a view."""
        return Conjugate(self)

    def _phrase(self) -> str:
        return f"best of {len(self.weights)} focal sets over {len(self.criteria)} criteria"


@dataclass(frozen=True)
class FromFunction(SetFunction):
    """Any Python function from a frozenset of criteria to a value.

    It must be monotone. For up to 12 criteria all pairs are checked here; beyond that, the caller is
    responsible (`violating_pair` checks up to 24).

    Examples
    --------
    >>> mu = FromFunction([1, 2, 3], lambda held: len(held) / 3)
    >>> mu({1, 3})
    0.6666666666666666
    """

    criteria: Criteria
    function: Callable[[frozenset[Criterion]], Any]
    scale: Scale

    def __init__(
        self,
        criteria: Criteria | int | Iterable[Criterion],
        function: Callable[[frozenset[Criterion]], Any],
        scale: Scale = UNIT,
    ) -> None:
        need_scale(scale)
        if not callable(function):
            raise CapacityError(
                f"function is {plain(function)!r}. Give a function from a frozenset of criteria to a value."
            )
        set_fields(self, criteria=Criteria(criteria), function=function, scale=scale)
        if len(self.criteria) <= CHECKED_LIMIT:
            Dense.of(self)

    def at(self, mask: int) -> Value:
        """Call the function."""
        members = self.criteria.members(mask)
        return self.scale.check(self.function(members), f"the worth of {self.criteria.show(mask)}")

    def conjugate(self) -> SetFunction:
        """Return the conjugate, as a view."""
        return Conjugate(self)

    def _phrase(self) -> str:
        return (
            f"function {getattr(self.function, '__name__', self.function)} over {len(self.criteria)} criteria"
        )


_T = TypeVar("_T", bound=Hashable)
LAZILY = "Take them one by one: mu.focal_sets()."


def inner_moebius(mu: SetFunction) -> dict[frozenset[Criterion], Value]:
    """Return mu_#: the worth of every focal set; all sets not listed have the bottom of the scale (paper
    2.2).

    Reference: Grabisch [Gra04].

    Examples
    --------
    >>> from sugenet.capacity import Symmetric
    >>> mu = Symmetric(["a", "b"], [0, 0.25, 1])
    >>> [(sorted(focal), weight) for focal, weight in inner_moebius(mu).items()]
    [(['a'], 0.25), (['b'], 0.25), (['a', 'b'], 1)]
    >>> from_inner_moebius(["a", "b"], inner_moebius(mu))({"a"})
    0.25
    """
    need_set_function(mu)
    return {
        mu.criteria.members(mask): weight
        for mask, weight in take_all(mu.focal_masks(), "the Moebius transform", LAZILY)
    }


def outer_moebius(mu: SetFunction) -> dict[frozenset[Criterion], Value]:
    """Return mu^#: the worth of every set that is worth less than each proper superset; all other sets have
    the top of the scale.

    These are the complements of the focal sets of the conjugate.

    Reference: Grabisch [Gra04].

    Examples
    --------
    >>> from sugenet.capacity import Symmetric
    >>> mu = Symmetric(["a", "b"], [0, 0.25, 1])
    >>> [(sorted(kept), weight) for kept, weight in outer_moebius(mu).items()]
    [(['b'], 0.25), (['a'], 0.25), ([], 0)]
    """
    need_set_function(mu)
    dual = take_all(
        mu.conjugate().focal_masks(),
        "the outer Moebius transform",
        f"{LAZILY} Those of mu.conjugate() are the complements.",
    )
    masks = (mu.criteria.full ^ mask for mask, _ in dual)
    return {mu.criteria.members(mask): mu.at(mask) for mask in masks}


def from_inner_moebius(
    criteria: Criteria | int | Iterable[Criterion], weights: Mapping[Any, Any], scale: Scale = UNIT
) -> SetFunction:
    """Return the set function mu(A) = the best weight among the subsets of A.

    Reference: Grabisch [Gra04].
    """
    return Focal(criteria, weights, scale)


def from_outer_moebius(
    criteria: Criteria | int | Iterable[Criterion], weights: Mapping[Any, Any], scale: Scale = UNIT
) -> SetFunction:
    """Return the set function mu(A) = the smallest weight among the supersets of A, or top if there is none.

    Reference: Grabisch [Gra04].

    Examples
    --------
    >>> mu = from_outer_moebius(["a", "b"], {"a": 0.25, (): 0})
    >>> mu(()), mu({"a"}), mu({"b"}), mu({"a", "b"})
    (0, 0.25, 1, 1)
    """
    universe = Criteria(criteria)
    sets: dict[int, Value] = {}
    for subset, weight in weights.items():
        mask = universe.mask(subset)
        sets[universe.full ^ mask] = scale.reverse(
            scale.check(weight, f"the weight of {universe.show(mask)}")
        )
    return Conjugate(Focal(universe, sets, scale))


def transversals(sets: Iterable[AbstractSet[_T]]) -> Iterator[frozenset[_T]]:
    """Yield, lazily, the minimal sets that meet each of the given sets.

    Examples
    --------
    >>> sorted(sorted(found) for found in transversals([{"a", "b"}, {"b", "c"}]))
    [['a', 'c'], ['b']]
    """
    edges = list(sets)
    members = list(dict.fromkeys(member for one in edges for member in one))
    index = {member: number for number, member in enumerate(members)}
    masks = [sum(1 << index[member] for member in one) for one in edges]
    return (frozenset(members[number] for number in bits(mask)) for mask in minimal_transversals(masks))


def lower_envelope(
    criteria: Criteria | int | Iterable[Criterion],
    at_least: Iterable[tuple[Subset, Value]],
    scale: Scale = UNIT,
) -> Focal:
    """Return the least set function with at least these worths on these sets, and top on all criteria.

    Examples
    --------
    >>> mu = lower_envelope(["a", "b", "c"], [({"a"}, 0.25), ({"a", "b"}, 0.5)])
    >>> mu({"a"}), mu({"a", "b"}), mu({"b", "c"}), mu({"a", "b", "c"})
    (0.25, 0.5, 0, 1)
    """
    names = Criteria(criteria)
    return Focal(names, [*at_least, (names.full, scale.top)], scale)  # type: ignore[list-item]


def upper_envelope(
    criteria: Criteria | int | Iterable[Criterion],
    at_most: Iterable[tuple[Subset, Value]],
    scale: Scale = UNIT,
) -> Conjugate:
    """Return the greatest set function with at most these worths on these sets, and bottom on the empty set.

    Examples
    --------
    >>> mu = upper_envelope(["a", "b", "c"], [({"a", "b"}, 0.25), ({"b", "c"}, 0.5)])
    >>> mu(()), mu({"a"}), mu({"b"}), mu({"c"}), mu({"a", "c"})
    (0, 0.25, 0.25, 0.5, 1)
    """
    names = Criteria(criteria)
    outside = [
        (names.full ^ names.mask(subset), scale.reverse(scale.check(worth))) for subset, worth in at_most
    ]
    return Conjugate(Focal(names, [*outside, (names.full, scale.top)], scale))  # type: ignore[list-item]
