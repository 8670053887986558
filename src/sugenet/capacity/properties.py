"""Properties of set functions: monotone, symmetric, self-conjugate, k-maxitive, sub- or supermodular; and
equality of two.

Families answer by formula, for any number of criteria (docs/theory.md 6.4, 6.7). Any other function over at
most 24 criteria answers by its table. Tests are exact on floats, too.
"""

import operator
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate, pairwise
from math import comb
from typing import Any

import numpy as np

from sugenet.capacity import transforms
from sugenet.capacity.arguments import in_order, plain
from sugenet.capacity.base import TABLE_LIMIT, SetFunction, need_set_function, take_all, up_to_limit
from sugenet.capacity.combine import Conjugate, Join, Meet, Nested
from sugenet.capacity.criteria import Criteria, Criterion
from sugenet.capacity.indices import unanimity_terms
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.scales import BOOLEAN, UNIT, Codes
from sugenet.capacity.tables import Dense, Focal, values_by_mask
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold
from sugenet.errors import CapacityError, ScaleError, TooLargeError

__all__ = [
    "additivity",
    "equal",
    "is_belief",
    "is_k_additive",
    "is_k_maxitive",
    "is_k_minitive",
    "is_necessity",
    "is_plausibility",
    "is_possibility",
    "is_self_conjugate",
    "is_submodular",
    "is_supermodular",
    "is_symmetric",
    "maxitivity",
    "minitivity",
    "violating_pair",
]

FEW = 1 << 10
"""Number of sets, those of the first ten criteria, of which a negative weight is sought first."""

SUM_CELLS = 1 << 33
"""Largest number of steps of a dynamic program over sums."""

Pair = tuple[frozenset[Criterion], frozenset[Criterion]]


def violating_pair(
    function: Any, criteria: Criteria | int | Iterable[Criterion] | None = None
) -> Pair | None:
    """Find a set that is worth more than a set with one criterion more, or return None if the function is
    monotone.

    Parameters
    ----------
    function
        Values that compare with each other: a sequence by bit mask, a mapping from subsets, a Python function
        of a frozenset of criteria, or a set function of this package. At most 24 criteria.
    criteria
        Names of the criteria, or their number; not required for a sequence (1..n) or a set function (its
        own).

    Examples
    --------
    >>> small, large = violating_pair([0, 0.5, 0.25, 0.375])
    >>> sorted(small), sorted(large)
    ([1], [1, 2])
    >>> violating_pair(lambda held: len(held) ** 2, criteria=["a", "b", "c"]) is None
    True
    """
    names, table = _raw_table(function, criteria)
    fall = transforms.violation(table)
    return None if fall is None else (names.members(fall[0]), names.members(fall[1]))


def is_symmetric(mu: SetFunction) -> bool:
    """Return whether all sets of the same size have the same worth.

    Examples
    --------
    >>> is_symmetric(WeightedThreshold([5, 4, 4], theta=8))
    True
    >>> is_symmetric(WeightedThreshold([5, 4, 3], theta=8))
    False
    """
    need_set_function(mu)
    return mu.constant is not None or _is_symmetric(mu)


def is_self_conjugate(mu: SetFunction) -> bool:
    """Return whether mu(A) = 1 - mu(complement of A) for all sets A, as for a strict majority of an odd
    number.

    Examples
    --------
    >>> is_self_conjugate(CardinalityThreshold(5, tau=3)), is_self_conjugate(CardinalityThreshold(4, tau=2))
    (True, False)
    """
    need_set_function(mu)
    return _is_self_conjugate(mu)


def maxitivity(mu: SetFunction) -> int:
    """Return the smallest k for which mu is k-maxitive: the size of its largest focal set.

    No rule has more than k criteria.

    Reference: Abbaszadeh and Hüllermeier [AH20].

    Examples
    --------
    >>> maxitivity(CardinalityThreshold(7, tau=3)), minitivity(CardinalityThreshold(7, tau=3))
    (3, 5)
    """
    need_set_function(mu)
    return _maxitivity(mu)


def minitivity(mu: SetFunction) -> int:
    """Return the smallest k for which mu is k-minitive: the maxitivity of its conjugate."""
    need_set_function(mu)
    if (
        _maxitivity.dispatch(type(mu)) is _maxitivity.dispatch(SetFunction)
        and len(mu.criteria) <= TABLE_LIMIT
    ):
        # turned upside down, values compare as in the conjugate
        return _largest_focal(-1 * mu.table()[::-1], -1 * mu.scale.codes([mu.scale.top])[0])
    return maxitivity(mu.conjugate())


def is_k_maxitive(mu: SetFunction, k: int) -> bool:
    """Return whether no focal set has more than k criteria (docs/theory.md 6.4).

    Reference: Abbaszadeh and Hüllermeier [AH20].
    """
    return maxitivity(mu) <= _integer(k)


def is_k_minitive(mu: SetFunction, k: int) -> bool:
    """Return whether no focal set of the conjugate has more than k criteria."""
    return minitivity(mu) <= _integer(k)


def is_possibility(mu: SetFunction) -> bool:
    """Return whether the worth of each set is that of its best criterion, and bottom for the empty set.

    The full set need not be worth the top.

    About n evaluations of `mu` are enough for any function: the set of all criteria up to a level must be
    worth that level.

    Examples
    --------
    >>> mu = WeightedThreshold([5, 6, 1], theta=5)
    >>> is_possibility(mu), is_necessity(mu)
    (True, False)
    """
    need_set_function(mu)
    if mu.at(0) != mu.scale.bottom:
        return False
    singles = sorted(
        ((mu.at(1 << index), 1 << index) for index in range(len(mu.criteria))), key=operator.itemgetter(0)
    )
    upto = list(accumulate((mask for _, mask in singles), operator.or_))
    ends = [index for index, (low, high) in enumerate(pairwise(singles)) if low[0] < high[0]]
    return all(mu.at(upto[index]) == singles[index][0] for index in [*ends, len(singles) - 1] if index >= 0)


def is_necessity(mu: SetFunction) -> bool:
    """Return whether the conjugate is a possibility measure."""
    need_set_function(mu)
    return is_possibility(
        mu.base if isinstance(mu, Conjugate) else Conjugate(mu)
    )  # a view: no table is turned


def equal(mu: SetFunction, nu: SetFunction) -> bool:
    """Return whether both functions are equal on every set, in any form; the order of the criteria may
    differ.

    Examples
    --------
    >>> equal(WeightedThreshold([5, 4, 4], theta=8), CardinalityThreshold(3, tau=2))
    True
    """
    need_set_function(mu)
    need_set_function(nu, "nu")
    numbers = {BOOLEAN, UNIT}
    if set(mu.criteria) != set(nu.criteria) or (mu.scale != nu.scale and not {mu.scale, nu.scale} <= numbers):
        return False
    full = mu.criteria.full
    probes = [
        0,
        full,
        *(side for index in range(len(mu.criteria)) for side in (1 << index, full ^ 1 << index)),
    ]
    if any(mu.at(mask) != nu(mu.criteria.members(mask)) for mask in probes):
        return False
    if mu.criteria == nu.criteria:
        if _same_weights(mu, nu):
            return _same_threshold(mu, nu)
        if len(mu.criteria) > TABLE_LIMIT and is_symmetric(mu) and is_symmetric(nu):
            return all(
                mu.at((1 << size) - 1) == nu.at((1 << size) - 1) for size in range(len(mu.criteria) + 1)
            )
    if len(mu.criteria) <= TABLE_LIMIT:
        return bool(np.array_equal(mu.table(), _reordered(nu, mu.criteria)))
    instead = (
        "Compare the two on the sets that matter to you, or write both as thresholds with the same weights."
    )
    focal = [
        {
            which.criteria.members(mask): weight
            for mask, weight in take_all(which.focal_masks(), "equal", instead)
        }
        for which in (mu, nu)
    ]
    return focal[0] == focal[1]


# --- additive Moebius transforms ----------------------------------------------------------------------------


def additivity(mu: SetFunction) -> int:
    """Return the smallest k for which mu is k-additive: the size of the largest set with an additive Moebius
    weight other than 0.

    Floats are read as exact numbers, without rounding. So a capacity whose float worths were rounded from a
    k-additive one may not be k-additive itself.

    Reference: Grabisch [Gra97].

    Parameters
    ----------
    mu : SetFunction
        Any set function with numbers as worths.

    Returns
    -------
    int
        0 for a constant, 1 for an additive function.

    Examples
    --------
    >>> additivity(WeightedThreshold([1, 0], theta=1)), additivity(CardinalityThreshold(5, tau=2))
    (1, 5)
    """
    need_set_function(mu)
    _need_numbers(mu, "k-additivity")
    n = len(mu.criteria)
    if isinstance(mu, Dense) and n and transforms.has_top_weight(mu.table()):
        return n  # as for most tables
    return max((size for size, _ in _moebius_signs(mu, "k-additivity")), default=0)


def is_k_additive(mu: SetFunction, k: int) -> bool:
    """Return whether no set of more than k criteria has an additive Moebius weight other than 0.

    Reference: Grabisch [Gra97].
    """
    return additivity(mu) <= _integer(k)


def is_belief(mu: SetFunction) -> bool:
    """Return whether mu is a belief function: a capacity whose additive Moebius weights are not negative.

    Floats are read as exact numbers, without rounding.

    Reference: Chateauneuf and Jaffray [CJ89].

    Examples
    --------
    >>> is_belief(Necessity([1, 0.5, 0.25])), is_belief(CardinalityThreshold(3, tau=2))
    (True, False)
    """
    need_set_function(mu)
    _need_numbers(mu, "a belief function")
    if isinstance(mu, Dense) and np.any(transforms.moebius_signs(mu.table()[:FEW]) < 0):
        return False  # as for most tables
    return mu.is_capacity and (
        isinstance(mu, Necessity) or all(sign > 0 for _, sign in _moebius_signs(mu, "a belief function"))
    )


def is_plausibility(mu: SetFunction) -> bool:
    """Return whether mu is a plausibility function: its conjugate is a belief function.

    Examples
    --------
    >>> is_plausibility(Possibility([1, 0.5, 0.25])), is_plausibility(CardinalityThreshold(3, tau=2))
    (True, False)
    """
    need_set_function(mu)
    return is_belief(mu.conjugate())


def _need_numbers(mu: SetFunction, what: str) -> None:
    if mu.scale not in (BOOLEAN, UNIT):
        raise ScaleError(
            f"{what} is about sums of worths, and the levels {mu.scale} are not numbers. Assign a number to "
            "each level first: Dense(mu.criteria, [worth[mu(mask)] for mask in range(2**n)]) with worth a "
            "dictionary from levels to numbers in [0, 1]."
        )


def _moebius_signs(mu: SetFunction, what: str) -> set[tuple[int, int]]:
    """Return the sizes of the nonempty sets with a positive additive Moebius weight, each with 1, and of
    those with a negative one, each with -1.
    """
    need_set_function(mu)
    _need_numbers(mu, what)
    if isinstance(mu, Symmetric | CardinalityThreshold):
        g = [Fraction(value) for value in mu.g] if isinstance(mu, Symmetric) else _steps(mu)
        return {
            (size, 1 if weight > 0 else -1)
            for size, weight in enumerate(_differences_at_zero(g))
            if size and weight
        }
    if isinstance(mu, Conjugate) and len(mu.criteria) > TABLE_LIMIT:
        raise TooLargeError(f"{what} of a conjugate over {len(mu.criteria)} criteria. Ask its base.")
    terms = unanimity_terms(mu) if isinstance(mu, Focal) else None
    if terms is not None:
        return {(mask.bit_count(), 1 if weight > 0 else -1) for mask, weight in terms.items() if mask}
    signs, sizes = transforms.moebius_signs(mu.table()), transforms.sizes(len(mu.criteria))
    return {
        (int(size), sign)
        for sign in (1, -1)
        for size in np.flatnonzero(np.bincount(sizes[signs == sign], minlength=1))
        if size
    }


def _steps(mu: CardinalityThreshold) -> list[Fraction]:
    return [Fraction(size >= mu.tau) for size in range(len(mu.lam) + 1)]


def _differences_at_zero(values: list[Fraction]) -> list[Fraction]:
    """Return the forward differences of all orders at 0: the Moebius weights of a symmetric function by
    size.
    """
    out = []
    while values:
        out.append(values[0])
        values = [after - before for before, after in pairwise(values)]
    return out


# --- helpers ------------------------------------------------------------------------------------------------


def _raw_table(function: Any, criteria: Any) -> tuple[Criteria, Codes]:
    if isinstance(function, SetFunction):
        return function.criteria, function.table()
    if criteria is None:
        if callable(function) or isinstance(function, Mapping):
            raise CapacityError(
                "criteria is missing: name the criteria that the function is about, "
                "as a list or their number."
            )
        function = function if isinstance(function, np.ndarray) else in_order(function, "function")
        criteria = max(len(function).bit_length() - 1, 0)
    names = Criteria(criteria)
    n = len(names)
    if n > TABLE_LIMIT:
        raise TooLargeError(
            f"{n} criteria have 2^{n} subsets to compare; the limit is {TABLE_LIMIT} criteria. "
            f"Check a part of them."
        )
    if callable(function):
        values: Any = [function(names.members(mask)) for mask in range(1 << n)]
    elif isinstance(function, Mapping):
        values = values_by_mask(names, function)
    else:
        values = function
    if len(values) != 1 << n:
        raise CapacityError(
            f"{len(values)} values, but {n} criteria have 2^{n} = {1 << n} subsets. "
            f"Give one value for each, by bit mask."
        )
    table = _comparable(values)
    unordered = np.flatnonzero(np.asarray(table != table, dtype=bool))  # noqa: PLR0124 true of NaN alone
    if unordered.size:
        culprit = int(unordered[0])
        raise CapacityError(
            f"the worth of {names.show(culprit)} is {table[culprit]}, "
            f"which cannot be compared. Give a number."
        )
    return names, table


def _comparable(values: Any) -> Codes:
    """Return the values as an array with the same comparisons: of numbers if that is exact, else of the
    objects.
    """
    if isinstance(values, np.ndarray):
        return values
    exact = all(
        isinstance(value, float) or (isinstance(value, int) and abs(value) <= 1 << 53) for value in values
    )
    out = np.empty(len(values), dtype=np.float64 if exact else object)
    out[:] = values
    return out


def _integer(k: int) -> int:
    try:
        number = operator.index(k)
    except TypeError:
        number = -1
    if number < 0:
        raise CapacityError(f"k={plain(k)!r} must be an integer of at least 0.")
    return number


# --- symmetric ----------------------------------------------------------------------------------------------


@singledispatch
def _is_symmetric(mu: SetFunction) -> bool:
    table, sizes = mu.table(), transforms.sizes(len(mu.criteria))
    first = np.array([(1 << size) - 1 for size in range(len(mu.criteria) + 1)])
    return bool(np.all(table == table[first][sizes]))


@_is_symmetric.register
def _(mu: Symmetric) -> bool:  # noqa: ARG001 the type says it all
    return True


@_is_symmetric.register
def _(mu: CardinalityThreshold) -> bool:
    return mu.constant is not None or len(mu.lam) == len(mu.criteria)


@_is_symmetric.register
def _(mu: WeightedThreshold) -> bool:
    """Check that the lightest and the heaviest sets of each size are on the same side of theta."""
    weights, theta = mu.integers
    rising = sorted(weights)
    return all(
        (low >= theta) == (high >= theta)
        for low, high in zip(accumulate(rising), accumulate(reversed(rising)), strict=True)
    )


@_is_symmetric.register(Possibility)
@_is_symmetric.register(Necessity)
def _(mu: Possibility | Necessity) -> bool:
    return all(value == mu.pi[0] for value in mu.pi)


@_is_symmetric.register
def _(mu: Conjugate) -> bool:
    return _is_symmetric(mu.base)


@_is_symmetric.register
def _(mu: Focal) -> bool:
    """Check that for each size, all sets are focal with one weight, or none is focal."""
    by_size: dict[int, list[Any]] = {}
    for mask, weight in mu.weights:
        by_size.setdefault(mask.bit_count(), []).append(weight)
    return all(
        len(weights) == comb(len(mu.criteria), size) and min(weights) == max(weights)
        for size, weights in by_size.items()
    )


@_is_symmetric.register(Join)
@_is_symmetric.register(Meet)
@_is_symmetric.register(Nested)
def _(mu: Join | Meet | Nested) -> bool:
    parts = [level for _, level in mu.levels] if isinstance(mu, Nested) else mu.members
    if all(part.constant is not None or (not _needs_table(part) and _is_symmetric(part)) for part in parts):
        return True
    return _is_symmetric.dispatch(SetFunction)(mu)


def _needs_table(mu: SetFunction) -> bool:
    return _is_symmetric.dispatch(type(mu)) is _is_symmetric.dispatch(SetFunction)


# --- self-conjugate and equal -------------------------------------------------------------------------------


@singledispatch
def _is_self_conjugate(mu: SetFunction) -> bool:
    table = mu.table()
    if table.dtype == np.float64:
        total = table + table[::-1]
        return bool(np.all(total == 1)) and not np.any(transforms.rounding_error(table, table[::-1], total))
    return bool(np.all(table == mu.scale.reverse_codes(table[::-1])))


@_is_self_conjugate.register
def _(mu: CardinalityThreshold) -> bool:
    return len(mu.lam) == 2 * mu.tau - 1


@_is_self_conjugate.register
def _(mu: WeightedThreshold) -> bool:
    return _same_threshold(mu, mu.conjugate())


@_is_self_conjugate.register
def _(mu: Symmetric) -> bool:
    return mu.g == mu.conjugate().g


@_is_self_conjugate.register(Possibility)
@_is_self_conjugate.register(Necessity)
def _(mu: Possibility | Necessity) -> bool:
    """Check that one criterion decides: its pi is the top and the others are bottom."""
    return sorted(mu.pi) == [mu.scale.bottom] * (len(mu.pi) - 1) + [mu.scale.top]


@_is_self_conjugate.register
def _(mu: Conjugate) -> bool:
    return _is_self_conjugate(mu.base)


def _same_weights(mu: SetFunction, nu: SetFunction) -> bool:
    forms = mu.threshold_form(), nu.threshold_form()
    return forms[0] is not None and forms[1] is not None and forms[0][0] == forms[1][0]


def _same_threshold(mu: SetFunction, nu: SetFunction) -> bool:
    """Return whether no set of weights has its sum between the two thetas; the weights are equal up to a
    factor.
    """
    if mu.constant is not None or nu.constant is not None:
        return bool(mu.constant == nu.constant)
    (weights, theta), (others, other) = _integers(mu), _integers(nu)
    low, high = sorted((theta, -(-other * sum(weights) // sum(others))))
    if len(weights) * high > SUM_CELLS:
        if len(weights) <= TABLE_LIMIT:
            return bool(np.array_equal(mu.table(), nu.table()))
        raise TooLargeError(
            f"{len(weights)} weights with thresholds near {high} (as integers) have too many sums to "
            "compare. Round the weights to smaller integers."
        )
    sums, window = 1, (1 << high) - 1
    for weight in weights:
        if weight < high:
            sums |= sums << weight & window
    return sums >> low == 0


def _integers(mu: SetFunction) -> tuple[list[int], int]:
    form = mu.threshold_form()
    assert form is not None
    return WeightedThreshold(form[0], form[1]).integers


def _reordered(mu: SetFunction, criteria: Criteria) -> Codes:
    """Return the table of `mu` with its criteria in another order."""
    n = len(criteria)
    if mu.criteria == criteria or n < 2:
        return mu.table()
    axes = [n - 1 - mu.criteria.place(name) for name in reversed(criteria.names)]
    return np.asarray(mu.table().reshape((2,) * n).transpose(axes).ravel())


# --- k-maxitive ---------------------------------------------------------------------------------------------


@singledispatch
def _maxitivity(mu: SetFunction) -> int:
    if len(mu.criteria) > TABLE_LIMIT:
        pairs = up_to_limit(
            mu.focal_masks(), "maxitivity", "Ask it of the parts that the set function is made of."
        )
        return max((mask.bit_count() for mask, _ in pairs), default=0)
    return _largest_focal(mu.table(), mu.scale.codes([mu.scale.bottom])[0])


def _largest_focal(table: Codes, bottom: Any) -> int:
    focal = transforms.inner_moebius(table, bottom) != bottom
    return int(transforms.sizes(table.size.bit_length() - 1)[focal].max(initial=0))


@_maxitivity.register
def _(mu: CardinalityThreshold) -> int:
    return mu.tau if 1 <= mu.tau <= len(mu.lam) else 0


@_maxitivity.register
def _(mu: WeightedThreshold) -> int:
    """Return the size of the longest minimal set.

    From the heaviest weight down, the last and lightest member is the one that makes it reach theta.
    """
    weights, theta = mu.integers
    falling = sorted((weight for weight in weights if weight), reverse=True)
    if mu.constant is not None:
        return 0
    if len(falling) * theta > SUM_CELLS or theta > SUM_CELLS >> 5:
        if len(weights) <= TABLE_LIMIT:
            return _maxitivity.dispatch(SetFunction)(mu)
        raise TooLargeError(
            f"{len(falling)} weights and theta = {theta} as integers: the longest focal set takes over "
            f"{SUM_CELLS:,} steps. Round the weights to smaller integers."
        )
    # most members with each sum below theta, -1 if no set has that sum
    longest, best = (
        np.full(theta, -1, np.int32),
        0,
    )
    longest[0] = 0
    for weight in falling:
        before = int(longest[max(0, theta - weight) :].max())
        best = max(best, before + 1)  # 0 if nothing was reached
        if weight < theta:
            grown = longest[:-weight]
            longest[weight:] = np.maximum(longest[weight:], np.where(grown >= 0, grown + 1, -1))
    return best


@_maxitivity.register
def _(mu: Symmetric) -> int:
    return max(mu.steps(), default=0)


@_maxitivity.register(Possibility)
@_maxitivity.register(Necessity)
@_maxitivity.register(Focal)
def _(mu: SetFunction) -> int:
    return max((mask.bit_count() for mask, _ in mu.focal_masks()), default=0)


def is_supermodular(mu: SetFunction) -> bool:
    """Return whether mu(A or B) + mu(A and B) >= mu(A) + mu(B) always (2-monotone, convex); requires a scale
    of numbers.

    Floats are read as exact numbers, without rounding.

    Examples
    --------
    >>> [is_supermodular(CardinalityThreshold(3, tau)) for tau in (1, 2, 3)]  # iff tau = n
    [False, False, True]
    """
    return _is_modular(mu, 1)


def is_submodular(mu: SetFunction) -> bool:
    """Return whether mu(A or B) + mu(A and B) <= mu(A) + mu(B) always (2-alternating, concave); requires a
    scale of numbers.

    Examples
    --------
    >>> [is_submodular(CardinalityThreshold(3, tau)) for tau in (1, 2, 3)]  # iff tau = 1
    [True, False, False]
    """
    return _is_modular(mu, -1)


def _is_modular(mu: SetFunction, sign: int) -> bool:
    _need_numbers(mu, "sub- and supermodularity")
    return mu.constant is not None or _family_modular(mu, sign)


@singledispatch
def _family_modular(mu: SetFunction, sign: int) -> bool:
    if mu.scale == BOOLEAN:
        return _boolean_modular(mu, sign)
    n, (table, unit) = len(mu.criteria), transforms.integers(mu.table())
    if table.dtype == np.int64:
        table = table.astype(np.min_scalar_type(-2 * unit))  # fewer bytes, less time
    table = sign * table
    order, seen = list(range(n)), set[frozenset[int]]()
    # NumPy is slow if neighbours in memory differ in the criterion. So compare pairs among all but the first
    # third of the criteria, with each third first in turn: no two criteria are in all thirds.
    for turn in range(3):
        if turn:
            table, order = transforms.rotated(table, n // 3), order[n // 3 :] + order[: n // 3]
        for high in range(n // 3, n):
            pairs = {low: frozenset((order[low], order[high])) for low in range(n // 3, high)}
            lows = [low for low, pair in pairs.items() if pair not in seen]
            if lows and not _rises_grow(table, high, lows):
                return False
            seen.update(pairs.values())
    return True


def _rises_grow(table: Codes, high: int, lows: list[int]) -> bool:
    """Return whether the criterion with index `high` adds no less, exactly, after one of those in `lows`."""
    pairs = table.reshape(-1, 2, 1 << high)
    rise = pairs[:, 1] - pairs[:, 0]
    rest = None
    for low in lows:
        before, after = _halved(rise, low)
        if rise.dtype != np.float64:
            if np.any(after < before):
                return False
        elif np.any(after <= before):  # equal rounded rises differ by their rounding errors
            if rest is None:
                rest = transforms.rounding_error(pairs[:, 1], -pairs[:, 0], rise)
            lesser, greater = _halved(rest, low)
            if np.any((after < before) | (after == before) & (greater < lesser)):
                return False
    return True


def _halved(rise: Codes, low: int) -> tuple[Codes, Codes]:
    """Return the rises without and with one of the lower criteria."""
    halves = rise.reshape(-1, 2, 1 << low)
    return halves[:, 0], halves[:, 1]


def _boolean_modular(mu: SetFunction, sign: int) -> bool:
    """Decide modularity of a Boolean function.

    It is supermodular if and only if there is one focal set, the criteria that are never dispensable. It is
    submodular if and only if all focal sets are single criteria.
    """
    full, indices = mu.criteria.full, range(len(mu.criteria))
    if sign > 0:
        return bool(mu.at(sum(1 << index for index in indices if not mu.at(full ^ 1 << index))) == 1)
    return bool(mu.at(full ^ sum(1 << index for index in indices if mu.at(1 << index))) == 0)


@_family_modular.register
def _(mu: Symmetric, sign: int) -> bool:
    """Check that g is convex or concave in the size."""
    rises = [sign * (Fraction(high) - Fraction(low)) for low, high in pairwise(mu.g)]
    return rises == sorted(rises)


@_family_modular.register
def _(mu: Possibility, sign: int) -> bool:
    return sign < 0 or sum(value > 0 for value in mu.pi) <= 1


@_family_modular.register(Necessity)
@_family_modular.register(Conjugate)
def _(mu: Necessity | Conjugate, sign: int) -> bool:
    return _is_modular(mu.conjugate(), -sign)


for _threshold in (CardinalityThreshold, WeightedThreshold):
    _family_modular.register(_threshold, _boolean_modular)
