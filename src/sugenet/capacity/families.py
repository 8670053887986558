"""Capacities as families of possibility or necessity measures (docs/theory.md 6.14).

A possibility measure dominates mu if and only if some criterion of each focal set F has pi at least mu(F). So
the least of them are found level by level, from the highest: minimal transversals of the focal sets of a
level that the criteria taken before do not meet.
"""

from collections.abc import Iterator
from itertools import islice

from sugenet.capacity.base import SetFunction, need_set_function, take_all
from sugenet.capacity.combine import Join, Meet
from sugenet.capacity.criteria import bits, minimal_transversals
from sugenet.capacity.measures import Possibility
from sugenet.capacity.rules import RULE_LIMIT
from sugenet.capacity.scales import BOOLEAN, Value
from sugenet.errors import CapacityError, TooLargeError

__all__ = ["iter_possibilities", "necessity_family", "possibility_family"]


def iter_possibilities(mu: SetFunction) -> Iterator[Possibility]:
    """Yield, lazily, the least possibility measures that dominate a set function.

    Reference: Dubois, Prade and Rico [DPR13b]; Dubois, Prade and Rico [DPR13].

    Parameters
    ----------
    mu : SetFunction
        Any set function that is worth bottom on the empty set.

    Yields
    ------
    Possibility
        Each is worth at least `mu` on every set, and no smaller possibility measure is.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold
    >>> [pi.pi for pi in iter_possibilities(CardinalityThreshold(3, tau=2))]
    [(1, 1, 0), (1, 0, 1), (0, 1, 1)]
    """
    need_set_function(mu)
    bottom = mu.scale.bottom
    if mu.at(0) != bottom:
        raise CapacityError(
            f"the empty set is worth {mu.at(0)}, and no possibility measure is worth that much on it. "
            f"Give a set function that is worth {bottom} on it."
        )
    if mu.scale == BOOLEAN:  # the focal sets of the conjugate, which many families list lazily
        return (
            Possibility([mask >> index & 1 for index in range(len(mu.criteria))], BOOLEAN, mu.criteria)
            for mask in (
                [0] if mu.constant is not None else (mask for mask, _ in mu.conjugate().focal_masks())
            )
        )
    instead = "Its conjugate may have fewer: possibility_family(mu.conjugate())."
    pairs = take_all(mu.focal_masks(), "the family of possibility measures", instead)
    levels = sorted({weight for _, weight in pairs}, reverse=True)
    edges = [[mask for mask, weight in pairs if weight == level] for level in levels]
    distributions = _by_level(edges, levels, (bottom,) * len(mu.criteria), 0)
    return (Possibility(pi, mu.scale, mu.criteria) for pi in distributions)


def _by_level(
    edges: list[list[int]], levels: list[Value], pi: tuple[Value, ...], taken: int
) -> Iterator[tuple[Value, ...]]:
    """Yield the distributions that continue the one of the levels above."""
    if not edges:
        yield pi
        return
    for chosen in minimal_transversals(edge for edge in edges[0] if not edge & taken):
        grown = list(pi)
        for index in bits(chosen):
            grown[index] = levels[0]
        yield from _by_level(edges[1:], levels[1:], tuple(grown), taken | chosen)


def possibility_family(mu: SetFunction, limit: int = RULE_LIMIT) -> Meet:
    """Return a set function as the pointwise minimum of possibility measures.

    Its Sugeno integral is the least of theirs.

    Reference: Dubois, Prade and Rico [DPR13b]; Dubois, Prade and Rico [DPR13].

    Parameters
    ----------
    mu : SetFunction
        Any set function that is worth bottom on the empty set.
    limit : int
        Raise an error if there are more measures than this (default: 10,000).

    Returns
    -------
    Meet
        Equal to `mu`; its `members` are the least possibility measures that dominate `mu`.

    See Also
    --------
    iter_possibilities : the measures one by one, without a limit.
    necessity_family : the dual, a maximum of necessity measures.

    Examples
    --------
    >>> from sugenet.capacity import Focal
    >>> mu = Focal(["price", "comfort", "safety"], {("price", "safety"): 1, "comfort": 0.4})
    >>> family = possibility_family(mu)
    >>> for pi in family.members:
    ...     print(pi)
    possibility of {price: 1, comfort: 0.4, safety: 0}
    possibility of {price: 0, comfort: 0.4, safety: 1}
    >>> family({"comfort", "price"}) == mu({"comfort", "price"}) == 0.4
    True
    """
    members = list(islice(iter_possibilities(mu), limit + 1))
    if len(members) > limit:
        raise TooLargeError(
            f"there are more than {limit:,} possibility measures in the family. Allow more with limit=..., "
            f"or take the first ones: itertools.islice(iter_possibilities(mu), 10)."
        )
    return Meet(members)


def necessity_family(mu: SetFunction, limit: int = RULE_LIMIT) -> Join:
    """Return a set function as the pointwise maximum of necessity measures.

    They are the conjugates of the family of possibility measures of the conjugate.

    Reference: Dubois, Prade and Rico [DPR13b]; Dubois, Prade and Rico [DPR13].

    Parameters
    ----------
    mu : SetFunction
        Any set function that is worth top on all criteria.
    limit : int
        Raise an error if there are more measures than this (default: 10,000).

    Returns
    -------
    Join
        Equal to `mu`; its `members` are the greatest necessity measures that `mu` dominates.

    See Also
    --------
    possibility_family : the dual, a minimum of possibility measures.

    Examples
    --------
    >>> from sugenet.capacity import CardinalityThreshold
    >>> family = necessity_family(CardinalityThreshold(3, tau=2))
    >>> [nec.pi for nec in family.members], family({1, 3}), family({2})
    ([(1, 1, 0), (1, 0, 1), (0, 1, 1)], 1, 0)
    """
    need_set_function(mu)
    return Join(member.conjugate() for member in possibility_family(mu.conjugate(), limit).members)
