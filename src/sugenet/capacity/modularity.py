"""Tests for sub- and supermodular set functions, exact on floats too."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from itertools import combinations, pairwise

import numpy as np

from sugenet.capacity.base import SetFunction
from sugenet.capacity.combine import Conjugate
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.scales import BOOLEAN, UNIT, Codes
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold
from sugenet.errors import ScaleError

__all__ = ["is_submodular", "is_supermodular"]


def is_supermodular(mu: SetFunction) -> bool:
    """Whether mu(A or B) + mu(A and B) >= mu(A) + mu(B) always (2-monotone, convex);
    needs a scale of numbers.

    Floats are taken as the exact numbers they are: no rounding enters.

    Examples
    --------
    >>> [is_supermodular(CardinalityThreshold(3, tau)) for tau in (1, 2, 3)]  # iff tau = n
    [False, False, True]
    """
    return _is_modular(mu, 1)


def is_submodular(mu: SetFunction) -> bool:
    """Whether mu(A or B) + mu(A and B) <= mu(A) + mu(B) always (2-alternating, concave);
    needs a scale of numbers.

    Examples
    --------
    >>> [is_submodular(CardinalityThreshold(3, tau)) for tau in (1, 2, 3)]  # iff tau = 1
    [True, False, False]
    """
    return _is_modular(mu, -1)


def _is_modular(mu: SetFunction, sign: int) -> bool:
    if mu.scale not in (BOOLEAN, UNIT):
        raise ScaleError(
            f"sub- and supermodularity add values, and the levels {mu.scale} are no numbers. Say first what "
            "each level is worth: Dense(mu.criteria, [worth[mu(mask)] for mask in range(2**n)]) with worth a "
            "dictionary from levels to numbers in [0, 1]."
        )
    return mu.constant is not None or _family_modular(mu, sign)


@singledispatch
def _family_modular(mu: SetFunction, sign: int) -> bool:
    if mu.scale == BOOLEAN:
        return _boolean_modular(mu, sign)
    table = mu.table()
    if table.dtype == object:
        table = np.array([Fraction(value) for value in table], dtype=object)
    for low, high in combinations(range(len(mu.criteria)), 2):
        sets = table.reshape(-1, 2, 1 << (high - low - 1), 2, 1 << low)
        joined = sets[:, 1, :, 1], sets[:, 0, :, 0]
        apart = sets[:, 1, :, 0], sets[:, 0, :, 1]
        if _some_sum_exceeds(*((joined, apart) if sign < 0 else (apart, joined))):
            return False
    return True


def _boolean_modular(mu: SetFunction, sign: int) -> bool:
    """Supermodular iff there is one focal set, the criteria that are never dispensable; submodular iff all
    focal sets are single.
    """
    full, places = mu.criteria.full, range(len(mu.criteria))
    if sign > 0:
        return bool(mu.at(sum(1 << place for place in places if not mu.at(full ^ 1 << place))) == 1)
    return bool(mu.at(full ^ sum(1 << place for place in places if mu.at(1 << place))) == 0)


def _some_sum_exceeds(left: tuple[Codes, Codes], right: tuple[Codes, Codes]) -> bool:
    """Whether a + b > c + d somewhere, exactly: rounding keeps the order of sums, and equal sums differ by
    their rounding errors.
    """
    total, other = left[0] + left[1], right[0] + right[1]
    if np.any(total > other):
        return True
    if total.dtype != np.float64:
        return False
    tied = total == other
    return bool(np.any(tied & (_rounding_error(*left, total) > _rounding_error(*right, other))))


def _rounding_error(a: Codes, b: Codes, total: Codes) -> Codes:
    """a + b - total, exactly (Knuth's two-sum)."""
    part = total - a
    return np.asarray((a - (total - part)) + (b - part))


@_family_modular.register
def _(mu: Symmetric, sign: int) -> bool:
    """Convex or concave in the size."""
    rises = [sign * (Fraction(high) - Fraction(low)) for low, high in pairwise(mu.g)]
    return rises == sorted(rises)


@_family_modular.register
def _(mu: Possibility, sign: int) -> bool:
    return sign < 0 or sum(value > 0 for value in mu.pi) <= 1


@_family_modular.register
def _(mu: Necessity, sign: int) -> bool:
    return _is_modular(mu.conjugate(), -sign)


@_family_modular.register
def _(mu: Conjugate, sign: int) -> bool:
    return _is_modular(mu.base, -sign)


for _threshold in (CardinalityThreshold, WeightedThreshold):
    _family_modular.register(_threshold, _boolean_modular)
