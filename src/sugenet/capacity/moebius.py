"""Qualitative Moebius transforms of a set function and back, the least and the greatest capacity that some
sets and worths allow, and minimal transversals, on sets of criteria (docs/theory.md 6.2, 10.1).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from sugenet.capacity.base import SetFunction, need_set_function, take_all
from sugenet.capacity.combine import Conjugate
from sugenet.capacity.criteria import Criteria, Criterion, Subset, bits
from sugenet.capacity.dualizing import minimal_transversals
from sugenet.capacity.scales import UNIT, Scale, Value
from sugenet.capacity.tables import Focal

__all__ = [
    "from_inner_moebius",
    "from_outer_moebius",
    "inner_moebius",
    "lower_envelope",
    "outer_moebius",
    "transversals",
    "upper_envelope",
]

_T = TypeVar("_T", bound=Hashable)
LAZILY = "Take them one by one: mu.focal_sets()."


def inner_moebius(mu: SetFunction) -> dict[frozenset[Criterion], Value]:
    """mu_#: the worth of every focal set; on all sets not listed it is the bottom of the scale (paper 2.2).

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
    """mu^#: the worth of every set that is worth less than each proper superset;
    elsewhere it is the top of the scale.

    These are the complements of the focal sets of the conjugate.

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
    """mu(A) = the best weight among the subsets of A."""
    return Focal(criteria, weights, scale)


def from_outer_moebius(
    criteria: Criteria | int | Iterable[Criterion], weights: Mapping[Any, Any], scale: Scale = UNIT
) -> SetFunction:
    """mu(A) = the least weight among the supersets of A, top where there is none.

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
    given = list(sets)
    members = list(dict.fromkeys(member for one in given for member in one))
    place = {member: number for number, member in enumerate(members)}
    masks = [sum(1 << place[member] for member in one) for one in given]
    return (frozenset(members[number] for number in bits(mask)) for mask in minimal_transversals(masks))


def lower_envelope(
    criteria: Criteria | int | Iterable[Criterion],
    at_least: Iterable[tuple[Subset, Value]],
    scale: Scale = UNIT,
) -> Focal:
    """The least set function that is worth at least so much on each of these sets, and top on all criteria.

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
    """The greatest set function that is worth at most so much on each of these sets, and bottom on none.

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
