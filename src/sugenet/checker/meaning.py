"""The meaning of a question: the values of each feature, the allowed inputs, and the cost of a change.

To be ensured: an input is allowed iff the question allows it. For each feature, the values that its coding,
the domain, the region and the limits allow are intersected as sets, before anything is priced. Then they are
grouped by state. The cost of a state is the cost of its cheapest allowed value. Only the data of codings is
used (cuts, low, high, whole, bipolar, silent, categories), not the methods.

A value is a category, an integer, or a finite float64; for `RealNumbers` it is any rational. A bit is on or
off. Off is written -1 or 0 and stored as 0; a limit allows off if it contains -1 or 0. A sample's own values
can always occur, even outside the limits of the domain. Laws hold for every input, including the sample. A
box contains its sample. A question about no input is refused.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, inf, nextafter
from sys import float_info
from typing import Any, TypeAlias

from sugenet.checker.form import AnyInput, Ball, Box, Free, Limit, OneOf, Plain, Prices, Region, WhatIf
from sugenet.checker.limit import Limit as Resources
from sugenet.checker.network import Categories, Clause, Coding, NetworkForm, Numbers, RealNumbers
from sugenet.checker.reading import exact
from sugenet.errors import CertificateError

__all__ = [
    "InputSet",
    "Priced",
    "Values",
    "around",
    "cheaper",
    "is_broken",
    "row_of",
    "sample_in",
    "scores",
    "some",
    "state_of",
    "states_within",
    "top",
    "value_of",
    "within_limits",
]

Values: TypeAlias = tuple[Any, ...]
"""A set of values: categories, or disjoint rising pairs (smallest, largest) of numbers, both included."""
OPTION_BYTES = 500
"""Number of bytes of an allowed state as Python objects."""
_MANY = "the list of all states that the question allows"
_LARGEST = Fraction(float_info.max)


# -- values --------------------------------------------------------------------------------------------------


def value_of(coding: Coding, raw: Any) -> Any:
    """Return the value of a feature that a JSON scalar denotes."""
    if isinstance(coding, Categories):
        if not any(type(raw) is type(category) and raw == category for category in coding.categories):
            raise CertificateError(f"{str(raw)[:40]!r} is not a category of its feature.")
        return raw
    number = exact(raw)
    value = number.numerator if number.denominator == 1 else number
    if coding.bipolar and value == -1:
        return 0
    if not _between(coding, value, value):
        raise CertificateError(f"{str(raw)[:40]} is not a value of its feature.")
    return value


def row_of(network: NetworkForm, row: Sequence[Any]) -> tuple[Any, ...]:
    """Return the values that a raw sample of a certificate denotes."""
    values, known = [], dict[Any, Any]()
    for feature, (coding, raw) in enumerate(zip(network.codings, row, strict=True)):
        key = (id(coding), type(raw), raw)
        if key not in known:
            try:
                known[key] = value_of(coding, raw)
            except CertificateError as error:
                raise CertificateError(f"feature {feature}: {error}") from None
        values.append(known[key])
    return tuple(values)


def sample_in(network: NetworkForm, row: Sequence[Any], clauses: Iterable[Clause]) -> tuple[Any, ...]:
    """Return the values of a sample of a certificate, after checking that it obeys all laws."""
    sample = row_of(network, row)
    if is_broken(network, sample, clauses):
        raise CertificateError("the sample breaks a law, so it cannot occur.")
    return sample


def is_broken(network: NetworkForm, row: Sequence[Any], clauses: Iterable[Clause]) -> bool:
    """Return whether an input breaks a law: no condition of some clause holds."""
    return any(not any(_holds(network.codings[f], row[f], at) == on for f, at, on in one) for one in clauses)


def _holds(coding: Coding, value: Any, at: Any) -> bool:
    """Return whether a value reaches a cut, or is a category."""
    return _is_in(value, (at,)) if isinstance(coding, Categories) else bool(value >= at)


def _down(coding: Numbers, bound: Any, *, strict: bool = False) -> Any:
    """Return the largest integer, float64 or rational up to a bound, or below it; -inf if there is none."""
    if isinstance(coding, RealNumbers):
        if strict:
            raise CertificateError("real numbers below a bound have no largest one.")
        return bound
    if coding.whole:
        return bound if abs(bound) == inf else ceil(bound) - 1 if strict else floor(bound)
    if bound > _LARGEST:
        return _LARGEST
    if bound < -_LARGEST or (strict and bound == -_LARGEST):
        return -inf
    near = float(bound)
    if near > bound or (strict and near == bound):
        near = nextafter(near, -inf)
    return Fraction(near)


def _between(coding: Numbers, low: Any, high: Any, *, above: bool = False, below: bool = False) -> Values:
    """Return the values of a feature from `low` to `high`, without the ends if `above` or `below` is set."""
    ends = _ends(coding)
    lower = max(-_down(coding, -low, strict=above), ends[0])
    upper = min(_down(coding, high, strict=below), ends[1])
    return ((lower, upper),) if lower <= upper and lower < inf and upper > -inf else ()


@lru_cache(maxsize=1 << 12)
def _ends(coding: Numbers) -> tuple[Any, Any]:
    """Return the smallest and the largest value of a feature."""
    return -_down(coding, -_exact(coding.low)), _down(coding, _exact(coding.high))


def _exact(bound: float) -> Any:
    return bound if abs(bound) == inf else Fraction(bound)


def _all(coding: Coding) -> Values:
    return coding.categories if isinstance(coding, Categories) else _between(coding, -inf, inf)


def _single(coding: Coding, value: Any) -> Values:
    return (value,) if isinstance(coding, Categories) else ((value, value),)


def _both(coding: Coding, first: Values, second: Values) -> Values:
    """Return the values that are in both sets."""
    if isinstance(coding, Categories):
        return tuple(value for value in first if _is_in(value, second))
    pairs = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return tuple(sorted((low, high) for low, high in pairs if low <= high))


def _is_in(category: Any, categories: Iterable[Any]) -> bool:
    return any(type(category) is type(other) and category == other for other in categories)


def _is_allowed(value: Any, values: Values) -> bool:
    """Return whether a value is in a set."""
    if values and isinstance(values[0], tuple):
        return any(low <= value <= high for low, high in values)
    return _is_in(value, values)


def _limited(coding: Coding, limit: Limit) -> Values:
    """Return the values that a limit allows."""
    if isinstance(coding, Categories):
        if not isinstance(limit, OneOf):
            if limit == (None, None):
                return coding.categories
            raise CertificateError("a category has bounds, which only numbers have.")
        named = [value_of(coding, value) for value in limit.values]
        return tuple(category for category in coding.categories if _is_in(category, named))
    if isinstance(limit, OneOf):
        spans: list[tuple[Any, Any]] = [(number, number) for number in sorted(map(exact, limit.values))]
    else:
        low, high = limit
        spans = [(-inf if low is None else low, inf if high is None else high)]
    if coding.bipolar:  # both -1 and 0 mean off
        spans = [
            (value, value)
            for value, names in ((0, (-1, 0)), (1, (1,)))
            if any(low <= name <= high for low, high in spans for name in names)
        ]
    return tuple(piece for low, high in spans for piece in _between(coding, low, high))


def within_limits(coding: Coding, limits: Iterable[Limit]) -> Values:
    """Return the values of a feature that several limits allow together."""
    values = _all(coding)
    for limit in limits:
        values = _both(coding, values, _limited(coding, limit))
    return values


# -- states --------------------------------------------------------------------------------------------------


def states_within(codings: Sequence[Coding], values: Values) -> list[tuple[int, Values]]:
    """Return the states of a feature, with the values of each that are in a set.

    If codings differ in their cuts, the states are those of all cuts together.
    """
    coding = codings[0]
    if isinstance(coding, Categories):
        return [(state, (c,)) for state, c in enumerate(coding.categories) if _is_in(c, values)]
    parts = ((state, _both(coding, values, cell)) for state, cell in enumerate(_cells(tuple(codings))))
    return [(state, inside) for state, inside in parts if inside]


@lru_cache(maxsize=1 << 8)
def _cells(codings: tuple[Numbers, ...]) -> tuple[Values, ...]:
    """Return the values of each state, by all cuts of some codings of one feature."""
    cuts = sorted({cut for coding in codings for cut in coding.cuts})
    ends = [-inf, *map(_exact, cuts), inf]
    return tuple(_between(codings[0], low, high, below=high < inf) for low, high in pairwise(ends))


def state_of(coding: Coding, value: Any) -> int:
    """Return the state of a feature for a value."""
    if isinstance(coding, Categories):
        return next(s for s, c in enumerate(coding.categories) if _is_in(value, (c,)))
    return bisect_right(coding.cuts, value)


def some(values: Values) -> Any:
    """Return a value of a set."""
    first = values[0]
    if not isinstance(first, tuple):
        return first
    low, high = first
    return low if low > -inf else high if high < inf else Fraction(0)


def scores(network: NetworkForm, row: Sequence[Any]) -> list[Fraction]:
    """Return exact scores of the classes for an input, layer by layer by the definition."""
    return network.scores(list(map(state_of, network.codings, row)))


def top(class_scores: Sequence[Fraction]) -> list[int]:
    """Return the classes with the highest score, the lowest first."""
    best = max(class_scores)
    return [k for k, score in enumerate(class_scores) if score == best]


def _nearest(coding: Coding, values: Values, value: Any) -> Any:
    """Return the value of a set that is nearest to a value; the smaller one in a tie."""
    if isinstance(coding, Categories):
        return value if _is_in(value, values) else values[0]
    return min((min(max(value, low), high) for low, high in values), key=lambda v: (abs(v - value), v))


def _flips(coding: Coding, before: Any, after: Any) -> int:
    """Return the number of bits that differ between two values; bits of silent cuts do not count."""
    if isinstance(coding, Categories):
        return 0 if _is_in(before, (after,)) else 2
    passed = range(*sorted((state_of(coding, before), state_of(coding, after))))
    return len(passed) - sum(index in passed for index in coding.silent)


# -- costs ---------------------------------------------------------------------------------------------------


def _distance(coding: Coding, before: Any, after: Any) -> Fraction:
    """Return the size of a change; 1 between categories."""
    if isinstance(coding, Categories):
        return Fraction(not _is_in(before, (after,)))
    return abs(Fraction(after) - Fraction(before))


def _cost(kind: str, coding: Coding, before: Any, after: Any, price: Fraction | None = None) -> Fraction:
    """Return the cost of a change of one feature."""
    far = _distance(coding, before, after)
    match kind:
        case "Hamming":
            return Fraction(_flips(coding, before, after))
        case "L0":
            return Fraction(far > 0)
        case "L2":
            return far**2
        case "price":
            assert price is not None
            return price * (far > 0)
        case "price per unit":
            assert price is not None
            return price * far
    return far


@dataclass(frozen=True, slots=True)
class Priced:
    """A state of a feature, with its cheapest allowed value and the cost of that value."""

    state: int
    value: Any
    price: Fraction


# -- inputs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InputSet:
    """A set of inputs: values of every feature, and a budget for the changes of a sample."""

    network: NetworkForm
    lawful: NetworkForm
    """The same network with the laws that inputs obey."""
    allowed: Sequence[Values]
    sample: tuple[Any, ...] | None = None
    measure: str | None = None
    """The measure of changes that is summed and compared with the budget; None for no measure."""
    budget: Fraction | None = None
    strict: bool = False
    """Whether inputs that cost exactly the budget are excluded."""
    prices: Mapping[int, Fraction] = field(default_factory=dict)

    def cost(self, row: Sequence[Any]) -> Fraction:
        """Return the total cost of the changes from the sample to an input; for Linf the largest change."""
        assert self.sample is not None
        assert self.measure is not None
        parts = enumerate(zip(self.network.codings, self.sample, row, strict=True))
        costs = [_cost(self.measure, coding, a, b, self.prices.get(f)) for f, (coding, a, b) in parts]
        return max(costs, default=Fraction(0)) if self.measure == "Linf" else sum(costs, Fraction(0))

    def see(self, row: Sequence[Any], what: str = "the witness") -> None:
        """Check that an input is in the set."""
        for feature, (value, allowed) in enumerate(zip(row, self.allowed, strict=True)):
            if not _is_allowed(value, allowed):
                raise CertificateError(
                    f"{what} has {row[feature]} for feature {feature}, which the question does not allow."
                )
        if is_broken(self.network, row, self.lawful.clauses):
            raise CertificateError(f"{what} breaks a law.")
        if self.budget is not None and self.measure is not None:
            cost = self.cost(row)
            if cost > self.budget or (self.strict and cost == self.budget):
                raise CertificateError(f"{what} is at {cost}, outside the region of {self.budget}.")

    def states(
        self, resources: Resources, other: NetworkForm | None = None
    ) -> tuple[list[Priced], dict[int, list[Priced]], Fraction | None]:
        """Return the cheapest state of each feature, its other states with their additional cost, and the
        budget left after the cheapest states. The laws may have further cuts, and so may another network.

        Among states of equal cost, the sample's own state comes first, then the lowest.
        """
        base: list[Priced] = []
        others: dict[int, list[Priced]] = {}
        budget = self.budget
        known: dict[Any, tuple[Priced, list[Priced]]] = {}
        for feature, coding in enumerate(self.lawful.codings):
            resources.look()
            sample_value = None if self.sample is None else self.sample[feature]
            codings = [coding] if other is None else [coding, other.codings[feature]]
            key = (
                *map(id, codings),
                self.allowed[feature],
                type(sample_value),
                sample_value,
                self.prices.get(feature),
            )
            if key not in known:
                resources.take(OPTION_BYTES, _MANY)
                known[key] = self._states(feature, codings, sample_value, resources)
            first, rest = known[key]
            resources.take(OPTION_BYTES * len(rest), _MANY)
            base.append(first)
            if rest:
                others[feature] = rest
            if budget is not None:
                budget -= first.price
        return base, others, budget

    def _states(
        self, feature: int, codings: Sequence[Coding], sample_value: Any, resources: Resources
    ) -> tuple[Priced, list[Priced]]:
        priced, coding = [], codings[0]
        for state, values in states_within(codings, self.allowed[feature]):
            resources.take(OPTION_BYTES, _MANY)
            if self.sample is None:
                priced.append(Priced(state, some(values), Fraction(0)))
                continue
            there, price = _nearest(coding, values, sample_value), Fraction(0)
            if self.budget is not None:  # prices matter only with a budget
                assert self.measure is not None
                price = _cost(self.measure, coding, sample_value, there, self.prices.get(feature))
            priced.append(Priced(state, there, price))
        if not priced:
            raise CertificateError(
                f"no value of feature {feature} is allowed, so the question is about no input."
            )
        here = priced[0].state
        if self.sample is not None:
            cells = states_within(codings, _all(coding))
            here = next(state for state, values in cells if _is_allowed(sample_value, values))
        first = min(priced, key=lambda one: (one.price, one.state != here, one.state))
        rest = [replace(one, price=one.price - first.price) for one in priced if one is not first]
        return first, rest


def around(
    lawful: NetworkForm,
    network: NetworkForm,
    sample: tuple[Any, ...],
    region: Region,
    limits: Mapping[int, Limit],
    where: Mapping[int, Limit] | None = None,
    fixed: Iterable[int] = (),
) -> InputSet:
    """Return the inputs of a region around a sample that can occur.

    Parameters
    ----------
    lawful, network
        The network with the laws that inputs obey, and without.
    sample
        The values of the sample.
    region
        The region of the question.
    limits
        Limits of the domain, by feature. A sample's own value can occur even outside them.
    where
        Further limits, which a sample's own value must also meet.
    fixed
        Features that stay fixed.
    """
    staying, where = set(fixed), where or {}
    named = dict(region.limits) if isinstance(region, Box) else {}
    free = (
        set(region.features) if isinstance(region, Free) else set(named) if isinstance(region, Box) else None
    )
    far = Fraction(region.radius) if isinstance(region, Ball) and region.kind == "Linf" else None
    known: dict[Any, Values] = {}
    allowed = []
    for feature, (coding, sample_value) in enumerate(zip(network.codings, sample, strict=True)):
        stays = feature in staying or (free is not None and feature not in free)
        asked = (stays, limits.get(feature), named.get(feature), where.get(feature))
        key = (id(coding), type(sample_value), sample_value, asked)
        if key not in known:
            values = (
                _single(coding, sample_value)
                if stays
                else _occurring(coding, sample_value, limits.get(feature))
            )
            if far is not None:
                values = _both(coding, values, _near(coding, sample_value, far, strict=False))
            more = [limit for limit in (named.get(feature), where.get(feature)) if limit is not None]
            known[key] = _both(coding, values, within_limits(coding, more)) if more else values
        allowed.append(known[key])
        if feature in named and not _both(
            coding, _limited(coding, named[feature]), _single(coding, sample_value)
        ):
            raise CertificateError(f"the sample is outside the box, by feature {feature}.")
    kind = region.kind if isinstance(region, Ball) and region.kind != "Linf" else None
    budget = (
        Fraction(region.radius) ** (2 if kind == "L2" else 1) if kind and isinstance(region, Ball) else None
    )
    return InputSet(network, lawful, allowed, sample, kind, budget)


def _occurring(coding: Coding, sample_value: Any, limit: Limit | None) -> Values:
    """Return all values of a feature that can occur, including its own."""
    if limit is None:
        return _all(coding)
    values, single = _limited(coding, limit), _single(coding, sample_value)
    if _both(coding, values, single):
        return values
    return (*values, *single) if isinstance(coding, Categories) else tuple(sorted((*values, *single)))


def _near(coding: Coding, sample_value: Any, far: Fraction, *, strict: bool) -> Values:
    """Return the values at a distance of at most `far` from the own value, or less if `strict`."""
    if isinstance(coding, Categories):
        there = far > 1 or (far == 1 and not strict)
        return coding.categories if there else (sample_value,) if far > 0 or not strict else ()
    return _between(coding, sample_value - far, sample_value + far, above=strict, below=strict)


def cheaper(
    lawful: NetworkForm,
    network: NetworkForm,
    sample: tuple[Any, ...],
    asked: WhatIf,
    limits: Mapping[int, Limit],
    bound: Fraction | None,
    *,
    strict: bool,
) -> InputSet:
    """Return the inputs that a counterfactual question allows, up to a cost or below it."""
    fixed = set(range(len(network.codings))) - set(asked.movable)
    cost = asked.cost
    if isinstance(cost, Prices):
        fixed |= set(range(len(network.codings))) - {feature for feature, _ in cost.prices}
    inputs = around(lawful, network, sample, asked.region or AnyInput(), limits, fixed=fixed)
    if isinstance(cost, Prices):
        kind = "price per unit" if cost.per_unit else "price"
        return replace(inputs, measure=kind, budget=bound, strict=strict, prices=_all_prices(network, cost))
    assert isinstance(cost, Plain)
    if cost.kind == "Linf" and bound is not None:
        allowed, known = [], dict[Any, Values]()
        for coding, sample_value, values in zip(network.codings, sample, inputs.allowed, strict=True):
            key = (id(coding), type(sample_value), sample_value, values)
            if key not in known:
                known[key] = _both(coding, values, _near(coding, sample_value, bound, strict=strict))
            allowed.append(known[key])
        inputs = replace(inputs, allowed=allowed)
    return replace(inputs, measure=cost.kind, budget=None if cost.kind == "Linf" else bound, strict=strict)


def _all_prices(network: NetworkForm, cost: Prices) -> dict[int, Fraction]:
    """Return the prices of all features; features without a price stay fixed."""
    return {**dict.fromkeys(range(len(network.codings)), Fraction(0)), **dict(cost.prices)}
