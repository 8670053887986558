"""The least and the greatest capacity that some sets and worths allow, without a table
(docs/theory.md 10.1).
"""

from __future__ import annotations

from collections.abc import Iterable

from sugenet.capacity.combine import Conjugate
from sugenet.capacity.criteria import Criteria, Criterion, Subset
from sugenet.capacity.scales import UNIT, Scale, Value
from sugenet.capacity.tables import Focal

__all__ = ["lower_envelope", "upper_envelope"]


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
