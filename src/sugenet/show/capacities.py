"""Figures of capacities: all sets of a few criteria, or the focal sets of many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

from sugenet.capacity import FocalSet, Ordinal, Scale, SetFunction
from sugenet.capacity.arguments import rating_words
from sugenet.capacity.criteria import bits
from sugenet.errors import CapacityError, TooLargeError
from sugenet.show.figures import FocalRow, Focals, Lattice, LatticeSet

__all__ = ["capacity_drawn", "focal_dots", "lattice_of"]

_LATTICE = 5
"""Criteria whose 2^n sets can be seen at a glance."""
_ROWS = 12
_SORTED = 10_000


def capacity_drawn(mu: SetFunction, upper: SetFunction | None = None) -> tuple[Lattice | Focals, ...]:
    """A capacity, or all those from one to another: the lattice of up to 5 criteria, else focal sets.

    Examples
    --------
    >>> from sugenet.capacity import Possibility
    >>> [figure.title for figure in capacity_drawn(Possibility({"price": 0.5, "room": 1}))]
    ['what each set of criteria is worth']
    >>> [len(figure.rows) for figure in capacity_drawn(Possibility([1, 1, 0.5, 0.5, 0.25, 0]))]
    [5]
    """
    if len(mu.criteria) <= _LATTICE:
        return (lattice_of(mu, upper),)
    least = focal_dots(mu, "sets of criteria that suffice")
    return (
        (least,)
        if upper is None
        else (least, focal_dots(upper, "sets of criteria that hold it down", up=False))
    )


def lattice_of(mu: SetFunction, upper: SetFunction | None = None, title: str = "") -> Lattice:
    """All sets of criteria by size with what they are worth: to `upper`, where that is given.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> drawn = lattice_of(Focal(["price", "room"], {"price": 0.5, ("price", "room"): 1}))
    >>> [(drawn.key(one), one.low_words, one.focal) for one in drawn.sets]
    [('none', '0', False), ('a', '0.5', True), ('b', '0', False), ('ab', '1', True)]
    """
    n, greatest = len(mu.criteria), mu if upper is None else upper
    if n > _LATTICE:
        raise CapacityError(f"a lattice of {n} criteria has 2^{n} sets; it is drawn for up to {_LATTICE}.")
    sets = tuple(
        LatticeSet(
            tuple(bits(mask)),
            _share(mu.scale, mu.at(mask)),
            _share(mu.scale, greatest.at(mask)),
            rating_words(mu.at(mask)),
            rating_words(greatest.at(mask)),
            mu.is_focal(mask),
        )
        for mask in range(1 << n)
    )
    return Lattice(title or "what each set of criteria is worth", tuple(map(str, mu.criteria)), sets)


def focal_dots(mu: SetFunction, title: str, limit: int = _ROWS, *, up: bool = True) -> Focals:
    """The focal sets of a capacity, best first: those that suffice for a level. Or, unless `up`, the sets
    that hold the value at or below a level: the focal sets of its conjugate.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> mu = Focal(["price", "room"], {"price": 0.5, ("price", "room"): 1})
    >>> [(row.members, row.words) for row in focal_dots(mu, "up").rows]
    [((0, 1), 'at least 1'), ((0,), 'at least 0.5')]
    >>> [(row.members, row.words) for row in focal_dots(mu, "down", up=False).rows]
    [((0,), 'at most 0'), ((1,), 'at most 0.5')]
    """
    shown = mu if up else mu.conjugate()
    focal, left, order = _focal_sets(shown, limit)
    kept = [name for name in mu.criteria if any(name in one.members for one in focal)]
    rows = []
    for one in focal:
        level = one.weight if up else mu.scale.reverse(one.weight)
        words = f"{'at least' if up else 'at most'} {rating_words(level)}"
        places = tuple(place for place, name in enumerate(kept) if name in one.members)
        rows.append(FocalRow(places, _share(mu.scale, level), words))
    caption = (
        "where all of a row reach a level, up to the one beside it, so does the value"
        if up
        else "where all of a row are at or below a level, from the one beside it on, so is the value"
    )
    return Focals(title, tuple(map(str, kept)), tuple(rows), left, f"{caption}; {order}")


def _focal_sets(mu: SetFunction, limit: int) -> tuple[Sequence[FocalSet], int, str]:
    """Some focal sets, how many more there are, and which these are: the best, of very many the shortest."""
    try:
        many = mu.focal_count()
    except TooLargeError:
        return list(islice(mu.focal_sets(by="size"), limit)), 0, "the shortest of more than can be counted"
    if many > _SORTED:
        return list(islice(mu.focal_sets(by="size"), limit)), max(0, many - limit), "the shortest"
    order: Any = sorted(mu.focal_sets(), key=lambda one: (len(one.members), mu.criteria.mask(one.members)))
    order.sort(key=lambda one: one.weight, reverse=True)
    return order[:limit], max(0, many - limit), "the strongest first"


def _share(scale: Scale, value: Any) -> Fraction:
    """How much of the scale is below a value: ranks of levels, else the number."""
    if isinstance(scale, Ordinal):
        return Fraction(scale.rank(value), len(scale.names) - 1)
    return Fraction(value)
