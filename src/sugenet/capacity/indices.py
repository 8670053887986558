"""Importance and interaction of criteria: Shapley, Banzhaf, orness, additive Moebius (docs/theory.md 6.9).

All indices here have one form. Let T be a set of t criteria and D_T(A) the alternating sum of mu(A and R)
over the R inside T. Then

    I(T) = sum over the A outside T of p(|A|) D_T(A),

where Banzhaf gives all 2^(n-t) sets A the same weight. Shapley gives all sizes the same weight, so 1 /
((n-t+1) C(n-t, |A|)) to each set. So a family only has to provide the sum of D_T over all sets of one size.
Two facts hold for all families: criteria that never matter can be left out, and the indices are linear in mu.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache, lru_cache, reduce, singledispatch
from itertools import accumulate, combinations, pairwise
from math import comb, factorial, gcd, log
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity import transforms
from sugenet.capacity.arguments import plain
from sugenet.capacity.base import TABLE_LIMIT, SetFunction, need_set_function
from sugenet.capacity.combine import Conjugate, Nested
from sugenet.capacity.criteria import Criteria, Criterion, Subset, bits
from sugenet.capacity.measures import Necessity, Possibility, Symmetric
from sugenet.capacity.scales import BOOLEAN, UNIT, Codes, Scale, has_floats
from sugenet.capacity.tables import Dense, Focal
from sugenet.capacity.thresholds import CardinalityThreshold, WeightedThreshold, subset_counts
from sugenet.errors import CapacityError, ScaleError, TooLargeError

__all__ = [
    "Index",
    "WeightedIndex",
    "additive_moebius",
    "banzhaf",
    "entropy_float",
    "favor",
    "from_additive_moebius",
    "increments",
    "interaction",
    "interactions",
    "mean_of_sizes",
    "orness",
    "shapley",
    "sum_work",
    "unanimity_terms",
    "variance",
    "veto",
]

Index: TypeAlias = Literal["shapley", "banzhaf"]


def mean_of_sizes(sums: Sequence[Any], n: int, index: Index) -> Any:
    """Weight sums over the sets of size 0, 1, ... among n criteria by the index: exactly for integers, in
    floats for floats.
    """
    if index == "banzhaf":
        total = sum(sums)
        return total / 2.0**n if isinstance(total, float) else Fraction(total, 1 << n)
    if sums and isinstance(sums[0], float):
        return sum(value / comb(n, size) for size, value in enumerate(sums)) / (n + 1)
    return Fraction(
        sum(value * factorial(size) * factorial(n - size) for size, value in enumerate(sums) if value),
        factorial(n + 1),
    )


def _largest_size(weights: Sequence[int], theta: int) -> int:
    """Return the largest number of weights with sum below theta."""
    return sum(reached < theta for reached in accumulate(sorted(weights)))


def sum_work(weights: Sequence[int], theta: int, index: Index) -> int:
    """Return the number of bit operations of the dynamic program."""
    width = _largest_size(weights, theta) + 1 if index == "shapley" else 1
    return len(weights) ** 2 * theta * width


def _counts(weights: Sequence[int], theta: int, slot: int) -> list[int]:
    """Return the number of sets of each sum below theta."""
    data = subset_counts(sorted(weights), theta, 8 * slot).to_bytes(slot * theta, "little")
    return [int.from_bytes(data[at : at + slot], "little") for at in range(0, slot * theta, slot)]


def _counts_by_size(weights: Sequence[int], theta: int, shift: int) -> list[int]:
    """Return the number of sets of each sum below theta, as one integer with `shift` bits per size."""
    rows, reach = [1] + [0] * (theta - 1), 0
    for weight in sorted(weights):
        reach = min(reach + weight, theta - 1)
        for reached in range(reach, weight - 1, -1):
            if rows[reached - weight]:
                rows[reached] += rows[reached - weight] << shift
    return rows


class WeightedIndex:
    """Indices of sets of positive weights; `below[x]` counts the sets with sum < x, for Shapley with one slot
    per size.

    A count by size is one long integer, a polynomial in z evaluated at 2^slot. Removing one weight w is
    division by 1 + z x^w, so without w, below'[x] = below[x] - z below'[x - w] = below[x] - z below[x - w] +
    z^2 below[x - 2w] - ...
    """

    def __init__(self, weights: Sequence[int], theta: int, index: Index) -> None:
        self.n, self.theta, self.index = len(weights), theta, index
        self.slot = -(-(self.n + 1) // 8)  # bytes that hold any sum of counts
        self.width = _largest_size(weights, theta) + 1 if index == "shapley" else 1
        self.shift = 8 * self.slot if index == "shapley" else 0
        rows = (
            _counts_by_size(weights, theta, self.shift) if self.shift else _counts(weights, theta, self.slot)
        )
        self.below = list(accumulate(rows, initial=0))
        self.latest: dict[int, tuple[tuple[int, ...], list[int]]] = {0: ((), self.below)}

    def __call__(self, taken: tuple[int, ...]) -> Fraction:
        if not taken:
            return 1 - self._mean(self.below[self.theta], self.n)
        below, last = self._without(taken[:-1]), taken[-1]
        # the sum over R inside T of (-1)^|T - R| [reaches theta], rewritten as counts of sets below theta
        signs = {0: -1}
        for weight in taken:
            grown = {reached: -sign for reached, sign in signs.items()}
            for reached, sign in signs.items():
                grown[reached + weight] = grown.get(reached + weight, 0) + sign
            signs = grown
        plus = minus = 0
        for reached, sign in signs.items():
            count = sum(
                (-1) ** turn * (below[x] << turn * self.shift)
                for turn, x in enumerate(range(self.theta - reached, 0, -last))
            )
            plus, minus = plus + count * max(sign, 0), minus + count * max(-sign, 0)
        rest = self.n - len(taken)
        return self._mean(plus, rest) - self._mean(minus, rest)

    def _without(self, taken: tuple[int, ...]) -> list[int]:
        """Return `below` without some weights; the last result of each length is cached, for sets that come
        in order.
        """
        length = len(taken)
        if length not in self.latest or self.latest[length][0] != taken:
            out: list[int] = []
            for x, count in enumerate(self._without(taken[:-1])):
                out.append(count - (out[x - taken[-1]] << self.shift) if x >= taken[-1] else count)
            self.latest[length] = (taken, out)
        return self.latest[length][1]

    def _mean(self, count: int, n: int) -> Fraction:
        data = count.to_bytes(self.slot * self.width, "little")
        by_size = [
            int.from_bytes(data[at : at + self.slot], "little") for at in range(0, len(data), self.slot)
        ]
        value: Fraction = mean_of_sizes(by_size, n, self.index)
        return value


Number: TypeAlias = Fraction | float
Floats: TypeAlias = npt.NDArray[Any]

LISTED = 2_000_000
"""Largest number of subsets that `interactions` lists."""

TABLE_WORK = 1 << 28
"""Bit operations of a dynamic program over sums beyond which a table, if one fits, is faster."""

SUM_WORK = 1 << 42
"""Largest number of bit operations of a dynamic program over sums: a minute or two."""

TERM_WORK = 2_000_000
"""Largest number of steps for writing focal sets as a sum of unanimity games."""

ROUNDING = 1e-9
"""Tolerance by which float sums of Moebius values may miss a monotone table in [0, 1]."""


def shapley(mu: SetFunction) -> dict[Criterion, Number]:
    """Return the Shapley value of each criterion: its mean contribution over all orders in which criteria
    join.

    The values sum to mu(full) - mu(empty). They are exact fractions, unless mu has floats other than 0 and 1.
    For n literals of which tau must hold, the value is 1/n for every tau (docs/theory.md 6.7). Constant
    functions give 0.

    Reference: Shapley [Sha53].

    Examples
    --------
    >>> mu = WeightedThreshold({"price": 3, "comfort": 2, "safety": 2, "colour": 1}, theta=5)
    >>> {name: str(value) for name, value in shapley(mu).items()}
    {'price': '5/12', 'comfort': '1/4', 'safety': '1/4', 'colour': '1/12'}
    >>> str(shapley(CardinalityThreshold(1000, tau=400))[7])
    '1/1000'
    """
    return _by_criterion(mu, "shapley")


def banzhaf(mu: SetFunction) -> dict[Criterion, Number]:
    """Return the Banzhaf value of each criterion: its mean contribution to a random set of the others, all
    2^(n-1) equally likely.

    This is the absolute value, not rescaled to the sum 1. For a Boolean function, it is the probability that
    the criterion decides.

    Reference: Banzhaf [Ban65].

    Examples
    --------
    >>> mu = CardinalityThreshold({1, 2, -3}, tau=3, criteria=Criteria.literals(3))
    >>> {literal: str(value) for literal, value in banzhaf(mu).items()}
    {1: '1/4', -1: '0', 2: '1/4', -2: '0', 3: '0', -3: '1/4'}
    """
    return _by_criterion(mu, "banzhaf")


def interaction(mu: SetFunction, subset: Subset, index: Index = "shapley") -> Number:
    """Return the interaction index of a set of criteria: positive if they complement each other, negative if
    they are redundant.

    For one criterion it is its Shapley or Banzhaf value, for the empty set the mean worth of a set. The
    Shapley interaction of a pair is 0 for every threshold with 2 <= tau <= n-1, so it is not informative
    there. Use ``index="banzhaf"``, whose sign is that of 2 tau - n - 1 (docs/theory.md 6.7).

    Reference: Murofushi and Soneda [MS93]; Grabisch and Roubens [GR99].

    Examples
    --------
    >>> mu = CardinalityThreshold(5, tau=4)
    >>> interaction(mu, {1, 2}), interaction(mu, {1, 2}, index="banzhaf")
    (Fraction(0, 1), Fraction(1, 4))
    """
    _check(mu, index)
    return _values(mu, [mu.criteria.mask(subset)], index)[0]


def interactions(mu: SetFunction, order: int, index: Index = "shapley") -> dict[frozenset[Criterion], Number]:
    """Return the interaction index of every set of `order` criteria.

    Reference: Murofushi and Soneda [MS93]; Grabisch and Roubens [GR99].

    Examples
    --------
    >>> pairs = interactions(Possibility({"a": 1, "b": 1, "c": 0}), 2)
    >>> pairs[frozenset({"a", "b"})], pairs[frozenset({"a", "c"})]
    (Fraction(-1, 1), Fraction(0, 1))
    """
    _check(mu, index)
    n = len(mu.criteria)
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or not 0 <= order <= n:
        raise CapacityError(
            f"order={plain(order)!r} is not in 0..{n}. Give an integer, at most the number of criteria."
        )
    order = int(order)
    if comb(n, order) > LISTED:
        raise TooLargeError(
            f"{comb(n, order):,} sets of {order} among {n} criteria; the limit is {LISTED:,}. Ask for single "
            f"sets: interaction(mu, subset)."
        )
    masks = [sum(1 << index for index in chosen) for chosen in combinations(range(n), order)]
    return dict(zip(map(mu.criteria.members, masks), _values(mu, masks, index), strict=True))


def orness(mu: SetFunction) -> Number:
    """Return how close the Choquet integral with `mu` is to the maximum (1), not the minimum (0), on average.

    It is defined by the Choquet integral, with the mean over inputs uniform in the unit cube. For a Boolean
    function, this is also the Sugeno integral. At least tau of n gives (n - tau) / (n - 1) (docs/theory.md
    6.7).

    Reference: Marichal [Mar00].

    Examples
    --------
    >>> orness(CardinalityThreshold(5, tau=2)), orness(Possibility([1, 1, 1])), orness(Necessity([1, 1, 1]))
    (Fraction(3, 4), Fraction(1, 1), Fraction(0, 1))
    """
    _check(mu, "shapley")
    n = len(mu.criteria)
    if n < 2 or not mu.is_capacity:
        raise CapacityError(
            f"orness needs a capacity over at least 2 criteria, "
            f"where minimum and maximum differ; this is: {mu}."
        )
    return ((n + 1) * _values(mu, [0], "shapley")[0] - 1) / (n - 1)


def veto(mu: SetFunction) -> dict[Criterion, Number]:
    """Return how close each criterion is to a veto: the mean limit that it sets to the Choquet integral.

    It is 1 if the integral never exceeds the value of the criterion, and 0 if the integral is the best value
    of the others whenever the criterion is 0.

    veto(i) = 1 - sum over the sets A without i of mu(A) / ((n - 1) C(n - 1, |A|)).

    Reference: Marichal [Mar00]; Marichal [Mar04].

    Parameters
    ----------
    mu : SetFunction
        A capacity with numbers as worths, over 2 to 24 criteria.

    Returns
    -------
    dict
        One number per criterion: exact fractions, or floats if `mu` has floats other than 0 and 1.

    Examples
    --------
    >>> {name: str(value) for name, value in veto(CardinalityThreshold(3, tau=3)).items()}
    {1: '1', 2: '1', 3: '1'}
    >>> [str(value) for value in veto(CardinalityThreshold(3, tau=2)).values()]
    ['1/2', '1/2', '1/2']
    """
    without, _ = _memberships(mu, "veto")
    n = len(mu.criteria)
    return {name: 1 - n * mean / (n - 1) for name, mean in zip(mu.criteria, without, strict=True)}


def favor(mu: SetFunction) -> dict[Criterion, Number]:
    """Return how close each criterion is to a favor: how much it alone lifts the Choquet integral, on
    average.

    It is 1 if the integral is never below the value of the criterion. It is the veto of the conjugate.

    favor(i) = sum over the sets A without i of mu(A + i) / ((n - 1) C(n - 1, |A|)) - 1 / (n - 1).

    Reference: Marichal [Mar00]; Marichal [Mar04].

    Parameters
    ----------
    mu : SetFunction
        A capacity with numbers as worths, over 2 to 24 criteria.

    Returns
    -------
    dict
        One number per criterion: exact fractions, or floats if `mu` has floats other than 0 and 1.

    Examples
    --------
    >>> {name: str(value) for name, value in favor(Possibility({"a": 1, "b": 0})).items()}
    {'a': '1', 'b': '0'}
    """
    _, within = _memberships(mu, "favor")
    n = len(mu.criteria)
    return {name: (n * mean - 1) / (n - 1) for name, mean in zip(mu.criteria, within, strict=True)}


def _memberships(mu: SetFunction, what: str) -> tuple[list[Number], list[Number]]:
    """Return, for each criterion, the mean worth of the sets without it and of those with it; all sizes count
    the same.
    """
    _need_choice(mu, what)
    n = len(mu.criteria)
    masks = [1 << index for index in range(n)]
    differences, unit = _sums(mu, masks)
    within, _ = _sums(mu, masks, absent=0.0)
    without = [
        [total - rise for total, rise in zip(*rows, strict=True)]
        for rows in zip(within, differences, strict=True)
    ]
    if unit is None:
        shares = _shares(n - 1, "shapley")
        return tuple([float(value) for value in np.array(sums) @ shares] for sums in (without, within))  # type: ignore[return-value]
    return tuple([mean_of_sizes(row, n - 1, "shapley") / unit for row in sums] for sums in (without, within))  # type: ignore[return-value]


def _need_choice(mu: SetFunction, what: str) -> None:
    _check(mu, "shapley")
    if len(mu.criteria) < 2 or not mu.is_capacity:
        raise CapacityError(f"{what} needs a capacity over at least 2 criteria; this is: {mu}.")


def variance(mu: SetFunction) -> Number:
    """Return the normalized variance of a capacity: 0 if every criterion adds the same everywhere, 1 if each
    order has one criterion that adds all.

    It is (q - 1/n) / (1 - 1/n), where q is the sum, over the criteria i and the sets A without i, of
    |A|! (n - |A| - 1)! / n! times (mu(A + i) - mu(A))^2.

    Reference: Kojadinovic, Marichal and Roubens [KMR05].

    Parameters
    ----------
    mu : SetFunction
        A capacity with numbers as worths, over 2 to 24 criteria.

    Returns
    -------
    Fraction or float
        A float if `mu` has floats other than 0 and 1.

    Examples
    --------
    >>> variance(Symmetric(4, [0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), 1]))
    Fraction(0, 1)
    >>> variance(CardinalityThreshold(4, tau=2))
    Fraction(1, 1)
    """
    _need_choice(mu, "variance")
    n, table = len(mu.criteria), mu.table()
    total: Any = 0
    if table.dtype == np.float64 or has_floats(table.flat):
        shares = _shares(n - 1, "shapley")[transforms.sizes(n - 1)]
        for rises in transforms.rises(table.astype(np.float64, copy=False)):
            rises *= rises
            total += float(rises @ shares)
    else:
        integers, unit = transforms.integers(table)
        # squares of 64-bit integers may overflow
        integers = integers.astype(np.float64 if unit.bit_length() * 2 + n < 53 else object)
        for index in range(n):
            squares = _difference(integers, 1 << index) ** 2
            if squares.dtype == np.float64:
                by_size = [int(value) for value in _by_size(squares, n - 1)]
            else:
                sizes = transforms.sizes(n - 1)
                by_size = [sum(squares[sizes == size].tolist()) for size in range(n)]
            total += mean_of_sizes(by_size, n - 1, "shapley") / unit**2
    value: Number = (n * total - 1) / (n - 1)
    return value


def increments(mu: SetFunction) -> dict[Fraction, Fraction]:
    """Return all that adding a criterion to a set can add, with weights: the exact data of the entropy.

    The weight of d is the sum of |A|! (n - |A| - 1)! / n! over the criteria i and the sets A without i with
    mu(A + i) - mu(A) = d. All weights sum to n, and the sum of weight times d is mu(full) - mu(empty). The
    entropy is minus the sum of weight times d ln d.

    Reference: Marichal [Mar02].

    Parameters
    ----------
    mu : SetFunction
        Any set function with numbers as worths, over at most 16 criteria.

    Returns
    -------
    dict
        The weight of each d, from the largest d.

    Examples
    --------
    >>> {str(d): str(weight) for d, weight in increments(CardinalityThreshold(3, tau=2)).items()}
    {'1': '1', '0': '2'}
    """
    _check(mu, "shapley")
    n = len(mu.criteria)
    if n > EXACT_LIMIT:
        raise TooLargeError(
            f"{n} criteria have {n * 2 ** (n - 1):,} exact increments to collect; the limit is {EXACT_LIMIT} "
            f"criteria. entropy_float(mu) takes up to {TABLE_LIMIT}."
        )
    exact = [Fraction(value) for value in mu.table().tolist()]
    shares = [mean_of_sizes([0] * size + [1], n - 1, "shapley") for size in range(n)]
    weights: dict[Fraction, Fraction] = {}
    counts = Counter(
        (exact[mask | bit] - exact[mask], mask.bit_count())
        for mask in range(1 << n)
        for bit in (1 << index for index in range(n))
        if not mask & bit
    )
    for (rise, size), count in sorted(counts.items(), reverse=True):
        weights[rise] = weights.get(rise, Fraction(0)) + count * shares[size]
    return weights


EXACT_LIMIT = 16
"""Largest number of criteria for which exact increments are collected."""


def entropy_float(mu: SetFunction, normalized: bool = True) -> float:
    """Return the entropy of a capacity, computed in floats: how evenly it uses its criteria.

    It is minus the sum, over the criteria i and the sets A without i, of |A|! (n - |A| - 1)! / n! times d ln
    d, with d = mu(A + i) - mu(A). Entropies are logarithms, so the result is a rounded float; `increments`
    has the exact weights.

    Reference: Marichal [Mar02]; Kojadinovic, Marichal and Roubens [KMR05].

    Parameters
    ----------
    mu : SetFunction
        A capacity with numbers as worths, over 2 to 24 criteria.
    normalized : bool
        Divide by ln n, so that it is 1 if all d are 1/n (default: True).

    Returns
    -------
    float
        At most 1 if normalized; 0 if all d are 0 or 1.

    Examples
    --------
    >>> entropy_float(CardinalityThreshold(4, tau=2)), entropy_float(Symmetric(2, [0, 0.5, 1]))
    (0.0, 1.0)
    """
    _need_choice(mu, "entropy")
    n, table = len(mu.criteria), mu.table().astype(np.float64, copy=False)
    total, shape = 0.0, (-1, min(transforms.CHUNK, table.size // 2))
    shares = _shares(n - 1, "shapley")[transforms.sizes(n - 1)].reshape(shape)
    logs = np.empty(shape[1])
    for rises in transforms.rises(table):
        for part, weights in zip(rises.reshape(shape), shares, strict=True):
            np.add(part, np.finfo(np.float64).tiny, out=logs)  # times 0 where the rise is 0
            np.log(logs, out=logs)
            part *= logs
            total -= float(part @ weights)
    return total / log(n) if normalized else total


def additive_moebius(mu: SetFunction) -> Codes:
    """Return the additive Moebius transform as an array by mask: the weights m(B) with mu(A) = sum of m(B)
    over the subsets B of A.

    The result has integers for a Boolean function, fractions if mu has them, else floats; up to 24 criteria.
    For the qualitative transform, which belongs to the Sugeno integral, see `SetFunction.focal_sets`.

    Reference: Chateauneuf and Jaffray [CJ89]; Grabisch, Marichal and Roubens [GMR00].

    Examples
    --------
    >>> additive_moebius(CardinalityThreshold(3, 2)).tolist()  # (-1)^(k - tau) C(k - 1, tau - 1), k >= tau
    [0, 0, 0, 1, 0, 1, 1, -2]
    """
    _check(mu, "shapley")
    table = mu.table()
    if table.dtype == object:
        table = (
            table.astype(np.float64)
            if has_floats(table)
            else np.array([Fraction(value) for value in table], dtype=object)
        )
    return transforms.additive_moebius(table.astype(np.int64) if table.dtype == np.int8 else table)


def from_additive_moebius(
    criteria: Criteria | int | Iterable[Criterion], table: Any, scale: Scale = UNIT
) -> Dense:
    """Build the set function with the given additive Moebius transform, by mask.

    Sums of floats round, so a table of floats that misses [0, 1] or monotonicity by less than 1e-9 is
    corrected.

    Reference: Chateauneuf and Jaffray [CJ89]; Grabisch, Marichal and Roubens [GMR00].

    Examples
    --------
    >>> from_additive_moebius(["a", "b"], [0, 0.25, 0.25, 0.5])({"a", "b"})
    1.0
    >>> from_additive_moebius(["a", "b"], [0, 1, 1, -2], scale=BOOLEAN)
    Traceback (most recent call last):
    ...
    sugenet.errors.NotMonotoneError: not monotone: {b} is worth 1 but {a, b}, which contains it, only 0.
    """
    criteria = Criteria(criteria)
    array = np.asarray(table)
    if array.shape != (1 << len(criteria),):
        raise CapacityError(
            f"table has shape {array.shape}; {len(criteria)} criteria need 2^{len(criteria)} "
            f"values, by bit mask."
        )
    values = transforms.additive_zeta(array if array.dtype.kind in "fO" else array.astype(np.int64))
    if values.dtype.kind == "f":
        near = np.clip(values, 0, 1)
        near = np.where(np.abs(near - values) <= ROUNDING, near, values)
        raised = transforms.max_zeta(near)
        values = np.where(raised - near <= ROUNDING, raised, near)
    return Dense(criteria, values, scale)


def _check(mu: SetFunction, index: str) -> None:
    need_set_function(mu)
    if index not in ("shapley", "banzhaf"):
        raise CapacityError(f"index={index!r} is unknown. Use 'shapley' or 'banzhaf'.")
    if mu.scale not in (BOOLEAN, UNIT):
        raise ScaleError(
            f"indices add and subtract values, and the levels {mu.scale} are not numbers. Assign a number "
            "to each level first: Dense(mu.criteria, [worth[mu(mask)] for mask in range(2**n)]) with worth a "
            "dictionary from levels to numbers in [0, 1]."
        )


def _by_criterion(mu: SetFunction, index: Index) -> dict[Criterion, Number]:
    _check(mu, index)
    return dict(
        zip(mu.criteria, _values(mu, [1 << index for index in range(len(mu.criteria))], index), strict=True)
    )


def _plain(values: Iterable[Fraction], inputs: Iterable[Any]) -> list[Number]:
    """Return exact answers unchanged, or as floats if `inputs` had floats."""
    return [float(value) for value in values] if has_floats(inputs) else list(values)


# --- any function over at most 24 criteria: a table ---------------------------------------------------------


@singledispatch
def _values(mu: SetFunction, masks: Sequence[int], index: Index) -> list[Number]:
    """Return the index of each set of criteria in `masks`, all of the same size; here from a table."""
    rest = len(mu.criteria) - (masks[0].bit_count() if masks else 0)
    rows, unit = _sums(mu, masks)
    if unit is None:
        return [float(value) for value in np.array(rows).reshape(-1, rest + 1) @ _shares(rest, index)]
    return [mean_of_sizes(row, rest, index) / unit for row in rows]


def _sums(mu: SetFunction, masks: Sequence[int], absent: float = -1.0) -> tuple[Sequence[Any], int | None]:
    """Return, for each set T, the sum of D_T over the sets of each size outside T: floats and None, or
    integers and their unit; with ``absent=0``, the sum of mu(A and T) instead.
    """
    parts, unit = _arithmetic(mu.table())
    n, size = len(mu.criteria), masks[0].bit_count() if masks else 0
    if len(masks) < FEW and absent:
        rows = [[_by_size(_difference(part, mask), n - size) for mask in masks] for part in parts]
    else:
        by_mask = [_by_sets(part, n, size, absent) for part in parts]
        rows = [[sums[mask] for mask in masks] for sums in by_mask]
    if unit is None:
        return rows[0], None
    width = _digit_bits(n)
    return [
        [reduce(lambda high, low: (high << width) + int(low), digits, 0) for digits in zip(*row, strict=True)]
        for row in zip(*rows, strict=True)
    ], unit


FEW = 4
"""Number of sets up to which the table is read once for each set."""


def _shares(n: int, index: Index) -> Floats:
    """Return the weight of one set of each size among n criteria."""
    return np.array([float(mean_of_sizes([0] * size + [1], n, index)) for size in range(n + 1)])


def _digit_bits(n: int) -> int:
    """Return a number of bits for which sums of 2^n integers of that size are exact in floats."""
    return 52 - n


def _arithmetic(table: Codes) -> tuple[list[Floats], int | None]:
    """Return values to add up: floats and None; or the digits of integers, highest first, and their unit.

    Digits are floats, so that sums use the fast kernels of NumPy, and small enough for all sums to be exact.
    """
    if table.dtype != object:
        few = table[:: max(1, table.size >> 10)]
        is_exact = table.dtype != np.float64 or all(
            bool(np.all((part == 0) | (part == 1))) for part in (few, table)
        )
        return [table.astype(np.float64, copy=False)], 1 if is_exact else None
    if has_floats(table):
        return [table.astype(np.float64)], None
    integers, unit = transforms.integers(table)
    return _digits(integers.tolist()), unit


def _digits(integers: Sequence[int]) -> list[Floats]:
    """Return the digits of nonnegative integers, highest first, with base 2^(52 - n) for 2^n integers."""
    width = _digit_bits(len(integers).bit_length() - 1)
    count = max(1, -(-max(integers).bit_length() // width))
    window = (1 << width) - 1
    return [
        np.array([value >> number * width & window for value in integers], dtype=np.float64)
        for number in reversed(range(count))
    ]


def _difference(table: Floats, mask: int) -> Floats:
    """Return the table of D_T over the criteria outside T."""
    for index in reversed(list(bits(mask))):
        pairs = table.reshape(-1, 2, 1 << index)
        table = (pairs[:, 1] - pairs[:, 0]).ravel()
    return table


def _by_size(table: Floats, n: int) -> Floats:
    """Return the sum of a table over the sets of each size."""
    return _by_sets(table, n, 0)[0]


def _by_sets(table: Floats, n: int, size: int, absent: float = -1.0) -> dict[int, Floats]:
    """Return, for all sets T of one size, the sum of D_T over the sets of each size outside T.

    The table is a matrix, low criteria along rows and high ones down columns. T is a low and a high part, and
    D_T the product of one pattern for each: so the sums are products of matrices.
    """
    low = n // 2
    matrix = table.reshape(1 << (n - low), 1 << low)
    by_mask: dict[int, Floats] = {}
    patterns = cache(_patterns)  # the halves share them if n is even
    for above in range(max(0, size - low), min(size, n - low) + 1):
        highs, tall = patterns(n - low, above, absent)
        lows, wide = patterns(low, size - above, absent)
        sums = (tall @ matrix) @ wide.T if len(tall) <= len(wide) else tall @ (matrix @ wide.T)
        blocks = sums.reshape(len(highs), -1, len(lows), len(wide) // len(lows)).swapaxes(1, 2)
        totals = _diagonals(blocks).reshape(-1, n - size + 1)
        masks = (high << low | part for high in highs for part in lows)
        by_mask.update(zip(masks, totals, strict=True))
    return by_mask


def _patterns(n: int, size: int, absent: float) -> tuple[list[int], Floats]:
    """Return the sets T of one size among n criteria, and for each of them and each number k a row: on the
    sets with k members outside T a factor `absent` for each absent member of T, and 0 on others.
    """
    every = np.arange(1 << n, dtype=np.uint32)
    masks = [sum(1 << index for index in chosen) for chosen in combinations(range(n), size)]
    rows = np.zeros((len(masks), n - size + 1, 1 << n))
    factors = absent ** np.arange(size + 1)
    for row, mask in zip(rows, masks, strict=True):
        outside = np.bitwise_count(every & ~np.uint32(mask))
        row[outside, every] = factors[np.bitwise_count(~every & np.uint32(mask))]
    return masks, rows.reshape(-1, 1 << n)


def _diagonals(sums: Floats) -> Floats:
    """Add up the last two axes, sizes of a low and of a high part, by total size."""
    *rest, rows, columns = sums.shape
    out = np.zeros((*rest, rows + columns - 1))
    for row in range(rows):
        out[..., row : row + columns] += sums[..., row, :]
    return out


# --- families built from "at least tau of n" ----------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def _step(n: int, tau: int, t: int, index: Index) -> Fraction:
    """Return the index of t of n criteria of which at least tau must hold, 1 <= tau <= n (docs/theory.md
    6.7).
    """
    if t == 0:
        return (
            Fraction(n - tau + 1, n + 1)
            if index == "shapley"
            else Fraction(sum(comb(n, size) for size in range(tau, n + 1)), 1 << n)
        )
    terms = (
        (s, (-1) ** (t - tau + s) * comb(t - 1, tau - s - 1))
        for s in range(max(0, tau - t), min(tau - 1, n - t) + 1)
    )
    if index == "shapley":
        return Fraction(sum(term for _, term in terms), n - t + 1)
    return Fraction(sum(comb(n - t, s) * term for s, term in terms), 1 << (n - t))


def _constant(mu: SetFunction, masks: Sequence[int]) -> list[Number]:
    """Return the indices of a constant: 0, or its value for the empty set of criteria."""
    return _plain([Fraction(0) if mask else Fraction(mu.at(0)) for mask in masks], [mu.at(0)])


@_values.register
def _(mu: CardinalityThreshold, masks: Sequence[int], index: Index) -> list[Number]:
    if mu.constant is not None:
        return _constant(mu, masks)
    inside = mu.lam_mask
    return [
        _step(len(mu.lam), mu.tau, mask.bit_count(), index) if mask & inside == mask else Fraction(0)
        for mask in masks
    ]


@_values.register
def _(mu: Symmetric, masks: Sequence[int], index: Index) -> list[Number]:
    n = len(mu.criteria)
    rises = [Fraction(high) - Fraction(low) for low, high in pairwise(mu.g)]

    @lru_cache
    def of_size(t: int) -> Fraction:
        start = Fraction(mu.g[0]) if t == 0 else Fraction(0)
        return start + sum(rise * _step(n, tau, t, index) for tau, rise in enumerate(rises, start=1) if rise)

    return _plain([of_size(mask.bit_count()) for mask in masks], mu.g)


@_values.register
def _(mu: Possibility, masks: Sequence[int], index: Index) -> list[Number]:
    """Sum over the levels of pi the indices of "at least one of the criteria that reach the level"."""
    if not masks:
        return []
    t = masks[0].bit_count()
    exact = [Fraction(value) for value in mu.pi]
    rising = sorted(exact)
    worth, below, total = {Fraction(0): Fraction(0)}, Fraction(0), Fraction(0)
    for position, level in enumerate(rising):
        if level > below and len(rising) - position >= t:
            total += (level - below) * _step(len(rising) - position, 1, t, index)
            below = level
        worth[level] = total
    min_levels = [
        min((exact[index] for index in bits(mask)), default=rising[-1] if rising else Fraction(0))
        for mask in masks
    ]
    return _plain([worth[level] for level in min_levels], mu.pi)


@_values.register(Necessity)
@_values.register(Conjugate)
def _(mu: Necessity | Conjugate, masks: Sequence[int], index: Index) -> list[Number]:
    return _conjugated(_values(mu.conjugate(), masks, index), masks)


def _conjugated(values: Sequence[Any], masks: Sequence[int]) -> list[Number]:
    """Return the indices of the conjugate: (-1)^(t+1) I, and 1 - I for the empty set of criteria."""
    return [
        1 - value if not mask else value if mask.bit_count() % 2 else -value
        for value, mask in zip(values, masks, strict=True)
    ]


@_values.register
def _(mu: Nested, masks: Sequence[int], index: Index) -> list[Number]:
    """Sum over levels if all are thresholds on the same weights, so that the functions "reaches level m" are
    thresholds, too.
    """
    forms = [level.threshold_form() for _, level in mu.levels]
    weights = {form[0] for form in forms if form is not None}
    if len(weights) > 1 or None in forms:
        return _values.dispatch(SetFunction)(mu, masks, index)
    total, below, members = [Fraction(0) for _ in masks], Fraction(0), [level for _, level in mu.levels]
    for number, (height, _) in enumerate(mu.levels):
        reaches = min(members[number:], key=lambda level: level.threshold_form()[1])  # type: ignore[index]
        rise, below = Fraction(height) - below, Fraction(height)
        total = [
            so_far + rise * Fraction(value)
            for so_far, value in zip(total, _values(reaches, masks, index), strict=True)
        ]
    return _plain(total, [height for height, _ in mu.levels])


# --- weighted thresholds ------------------------------------------------------------------------------------


@_values.register
def _(mu: WeightedThreshold, masks: Sequence[int], index: Index) -> list[Number]:
    """Count the sets below theta by sum, and for Shapley by size, then remove the criteria of T again
    (docs/theory.md 6.8).
    """
    if mu.constant is not None:
        return _constant(mu, masks)
    integers, theta = mu.integers
    unit = gcd(*integers)
    weights = [weight // unit for weight in integers]
    theta = -(-theta // unit)
    positive = [weight for weight in weights if weight]
    flipped = 2 * theta > sum(weights) + 1  # the conjugate has the smaller theta
    if flipped:
        theta = sum(weights) + 1 - theta
    if len(set(positive)) == 1:

        def index_of(taken: tuple[int, ...]) -> Fraction:
            return _step(len(positive), theta, len(taken), index)

    else:
        work = sum_work(positive, theta, index)
        if work > TABLE_WORK and len(weights) <= TABLE_LIMIT:
            return _values.dispatch(SetFunction)(mu, masks, index)
        if work > SUM_WORK:
            raise TooLargeError(
                (
                    f"exact {index} indices of {len(positive)} weights with theta = {theta} (as integers) "
                    f"take about 2^{work.bit_length()} steps on bits; the limit is "
                    f"2^{SUM_WORK.bit_length() - 1}. Round the weights to smaller integers"
                )
                + (", or use banzhaf, which needs far fewer." if index == "shapley" else ".")
            )
        index_of = WeightedIndex(positive, theta, index)
    rows = [tuple(sorted(weights[index] for index in bits(mask))) for mask in masks]
    by_weights = {taken: Fraction(0) if 0 in taken else index_of(taken) for taken in dict.fromkeys(rows)}
    values = [by_weights[taken] for taken in rows]
    return _conjugated(values, masks) if flipped else list(values)


# --- focal sets ---------------------------------------------------------------------------------------------


@_values.register
def _(mu: Focal, masks: Sequence[int], index: Index) -> list[Number]:
    """Sum over unanimity games "all of B hold", whose indices are those of at least b of b; use a table if
    there are too many.
    """
    terms = unanimity_terms(mu)
    if terms is None or len(terms) * len(masks) > 10 * TERM_WORK:
        return _values.dispatch(SetFunction)(mu, masks, index)
    total = [Fraction(0) for _ in masks]
    for number, mask in enumerate(masks):
        by_size: dict[int, Fraction] = {}
        for union, weight in terms.items():
            if mask & union == mask:
                by_size[union.bit_count()] = by_size.get(union.bit_count(), Fraction(0)) + weight
        total[number] = sum(
            (weight * _unanimity(size, mask.bit_count(), index) for size, weight in by_size.items()),
            Fraction(0),
        )
    return _plain(total, [weight for _, weight in mu.weights])


def _unanimity(size: int, t: int, index: Index) -> Fraction:
    return Fraction(1, size - t + 1 if index == "shapley" else 1 << (size - t))


def unanimity_terms(mu: Focal) -> dict[int, Fraction] | None:
    """Return the nonzero additive Moebius weights, or None if they take too many steps.

    From the heaviest focal set down, the next set F adds its weight if F holds and no earlier set does.
    """
    terms: dict[int, Fraction] = {}
    reached: dict[int, int] = {}  # Moebius weights of "some earlier set holds"
    steps = 0
    for focal, weight in sorted(mu.weights, key=lambda pair: pair[1], reverse=True):
        steps += len(reached) + 1
        if steps > TERM_WORK:
            return None
        new = {focal: 1}
        for union, sign in reached.items():
            new[union | focal] = new.get(union | focal, 0) - sign
        exact = Fraction(weight)
        for union, sign in new.items():
            if sign:
                terms[union] = terms.get(union, Fraction(0)) + sign * exact
                reached[union] = reached.get(union, 0) + sign
        reached = {union: sign for union, sign in reached.items() if sign}
    return {union: weight for union, weight in terms.items() if weight}
