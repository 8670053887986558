"""What a question means: which values a feature has, which inputs are allowed, and what a change costs.

To be ensured: an input is allowed iff the question's words allow it. For each feature, the values that its
coding, the domain, the region and the limits allow are intersected as sets, before anything is priced. Then
they are grouped by state, and a state costs what its cheapest allowed value costs. Only the data of codings
is used (cuts, low, high, whole, bipolar, silent, categories), not the methods.

A value is a category, an integer, or a finite float64; for `RealNumbers` any rational. A bit is off, written
-1 or 0 and kept as 0, or on; a limit allows off if it contains -1 or 0. A sample's own values can always
occur, also outside the limits of the domain. Laws hold for every input, the sample too. A box contains its
sample. A question about no input is refused.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, floor, inf, nextafter
from sys import float_info
from typing import Any, TypeAlias

from sugenet.checker.form import Anything, Ball, Box, Free, Limit, OneOf, Plain, Prices, Region, WhatIf
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
"""A set of values: categories; or disjoint rising pairs (least, largest) of numbers, both included."""
OPTION_BYTES = 500
"""Bytes that an allowed state takes as Python objects."""
_MANY = "the list of all states that the question allows"
_LARGEST = Fraction(float_info.max)


# -- values --------------------------------------------------------------------------------------------------


def value_of(coding: Coding, raw: Any) -> Any:
    """The value of a feature that a JSON scalar names."""
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
    """The values that a raw sample of a certificate names."""
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
    """The values of a sample of a certificate, which obeys all laws."""
    sample = row_of(network, row)
    if is_broken(network, sample, clauses):
        raise CertificateError("the sample breaks a law, so it cannot occur.")
    return sample


def is_broken(network: NetworkForm, row: Sequence[Any], clauses: Iterable[Clause]) -> bool:
    """Whether an input breaks a law: no condition of some clause holds."""
    return any(not any(_holds(network.codings[f], row[f], at) == on for f, at, on in one) for one in clauses)


def _holds(coding: Coding, value: Any, at: Any) -> bool:
    """Whether a value reaches a cut, or is a category."""
    return _is_in(value, (at,)) if isinstance(coding, Categories) else bool(value >= at)


def _down(coding: Numbers, bound: Any, *, strict: bool = False) -> Any:
    """The largest integer, float64 or rational up to a bound, or below it; -inf if there is none."""
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
    """The values of a feature from `low` to `high`; or above the one, below the other."""
    ends = _ends(coding)
    lower = max(-_down(coding, -low, strict=above), ends[0])
    upper = min(_down(coding, high, strict=below), ends[1])
    return ((lower, upper),) if lower <= upper and lower < inf and upper > -inf else ()


@lru_cache(maxsize=1 << 12)
def _ends(coding: Numbers) -> tuple[Any, Any]:
    """The least and the largest value of a feature."""
    return -_down(coding, -_exact(coding.low)), _down(coding, _exact(coding.high))


def _exact(bound: float) -> Any:
    return bound if abs(bound) == inf else Fraction(bound)


def _all(coding: Coding) -> Values:
    return coding.categories if isinstance(coding, Categories) else _between(coding, -inf, inf)


def _single(coding: Coding, value: Any) -> Values:
    return (value,) if isinstance(coding, Categories) else ((value, value),)


def _both(coding: Coding, first: Values, second: Values) -> Values:
    """The values that are in both sets."""
    if isinstance(coding, Categories):
        return tuple(value for value in first if _is_in(value, second))
    pairs = ((max(a, c), min(b, d)) for a, b in first for c, d in second)
    return tuple(sorted((low, high) for low, high in pairs if low <= high))


def _is_in(category: Any, categories: Iterable[Any]) -> bool:
    return any(type(category) is type(other) and category == other for other in categories)


def _is_allowed(value: Any, values: Values) -> bool:
    """Whether a value is in a set."""
    if values and isinstance(values[0], tuple):
        return any(low <= value <= high for low, high in values)
    return _is_in(value, values)


def _limited(coding: Coding, limit: Limit) -> Values:
    """The values that a limit allows."""
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
    if coding.bipolar:  # off is both -1 and 0
        spans = [
            (value, value)
            for value, names in ((0, (-1, 0)), (1, (1,)))
            if any(low <= name <= high for low, high in spans for name in names)
        ]
    return tuple(piece for low, high in spans for piece in _between(coding, low, high))


def within_limits(coding: Coding, limits: Iterable[Limit]) -> Values:
    """The values of a feature that several limits allow together."""
    values = _all(coding)
    for limit in limits:
        values = _both(coding, values, _limited(coding, limit))
    return values


# -- states --------------------------------------------------------------------------------------------------


def states_within(codings: Sequence[Coding], values: Values) -> list[tuple[int, Values]]:
    """The states of a feature, with the values of each that are in a set; of codings that differ in their
    cuts, the states of all cuts together.
    """
    coding = codings[0]
    if isinstance(coding, Categories):
        return [(state, (c,)) for state, c in enumerate(coding.categories) if _is_in(c, values)]
    parts = ((state, _both(coding, values, cell)) for state, cell in enumerate(_cells(tuple(codings))))
    return [(state, inside) for state, inside in parts if inside]


@lru_cache(maxsize=1 << 8)
def _cells(codings: tuple[Numbers, ...]) -> tuple[Values, ...]:
    """The values of each state, by all cuts of some codings of one feature."""
    cuts = sorted({cut for coding in codings for cut in coding.cuts})
    ends = [-inf, *map(_exact, cuts), inf]
    return tuple(_between(codings[0], low, high, below=high < inf) for low, high in pairwise(ends))


def state_of(coding: Coding, value: Any) -> int:
    """The state of a feature that a value has."""
    if isinstance(coding, Categories):
        return next(s for s, c in enumerate(coding.categories) if _is_in(value, (c,)))
    return bisect_right(coding.cuts, value)


def some(values: Values) -> Any:
    """A value of a set."""
    first = values[0]
    if not isinstance(first, tuple):
        return first
    low, high = first
    return low if low > -inf else high if high < inf else Fraction(0)


def scores(network: NetworkForm, row: Sequence[Any]) -> list[Fraction]:
    """Exact scores of the classes for an input, layer by layer as the definition says."""
    return network.scores(list(map(state_of, network.codings, row)))


def top(class_scores: Sequence[Fraction]) -> list[int]:
    """The classes with the highest score, the lowest first."""
    best = max(class_scores)
    return [k for k, score in enumerate(class_scores) if score == best]


def _nearest(coding: Coding, values: Values, value: Any) -> Any:
    """The value of a set that is nearest to a value, the smaller one of two."""
    if isinstance(coding, Categories):
        return value if _is_in(value, values) else values[0]
    return min((min(max(value, low), high) for low, high in values), key=lambda v: (abs(v - value), v))


def _flips(coding: Coding, before: Any, after: Any) -> int:
    """How many bits differ between two values; those of silent cuts do not count."""
    if isinstance(coding, Categories):
        return 0 if _is_in(before, (after,)) else 2
    passed = range(*sorted((state_of(coding, before), state_of(coding, after))))
    return len(passed) - sum(index in passed for index in coding.silent)


# -- costs ---------------------------------------------------------------------------------------------------


def _distance(coding: Coding, before: Any, after: Any) -> Fraction:
    """Size of a change; 1 between categories."""
    if isinstance(coding, Categories):
        return Fraction(not _is_in(before, (after,)))
    return abs(Fraction(after) - Fraction(before))


def _cost(kind: str, coding: Coding, before: Any, after: Any, price: Fraction | None = None) -> Fraction:
    """What a change of one feature costs."""
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
    """A state of a feature: its cheapest allowed value, and what that costs."""

    state: int
    value: Any
    price: Fraction


# -- inputs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InputSet:
    """A set of inputs: values of every feature, and what the changes of a sample may cost together."""

    network: NetworkForm
    lawful: NetworkForm
    """The same with the laws that inputs obey."""
    allowed: Sequence[Values]
    sample: tuple[Any, ...] | None = None
    measure: str | None = None
    """What changes are added up, and compared with the budget; None: nothing."""
    budget: Fraction | None = None
    strict: bool = False
    """Whether inputs that cost exactly the budget are left out."""
    prices: Mapping[int, Fraction] = field(default_factory=dict)

    def cost(self, row: Sequence[Any]) -> Fraction:
        """What the changes of the sample that make an input cost together; for Linf the largest."""
        assert self.sample is not None
        assert self.measure is not None
        parts = enumerate(zip(self.network.codings, self.sample, row, strict=True))
        costs = [_cost(self.measure, coding, a, b, self.prices.get(f)) for f, (coding, a, b) in parts]
        return max(costs, default=Fraction(0)) if self.measure == "Linf" else sum(costs, Fraction(0))

    def see(self, row: Sequence[Any], what: str = "the witness") -> None:
        """See that an input is one of the set."""
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

    def states(self, resources: Resources) -> tuple[list[Priced], dict[int, list[Priced]], Fraction | None]:
        """For each feature its cheapest state, and its other states with what each costs more; and what of
        the budget is left after the cheapest. The laws may have further cuts.

        Of states that cost the same, the sample's own is the cheapest, then the lowest.
        """
        base: list[Priced] = []
        others: dict[int, list[Priced]] = {}
        budget = self.budget
        known: dict[Any, tuple[Priced, list[Priced]]] = {}
        codings = self.lawful.codings
        for feature, coding in enumerate(codings):
            resources.look()
            sample_value = None if self.sample is None else self.sample[feature]
            key = (
                id(coding),
                self.allowed[feature],
                type(sample_value),
                sample_value,
                self.prices.get(feature),
            )
            if key not in known:
                resources.take(OPTION_BYTES, _MANY)
                known[key] = self._states(feature, coding, sample_value, resources)
            first, rest = known[key]
            resources.take(OPTION_BYTES * len(rest), _MANY)
            base.append(first)
            if rest:
                others[feature] = rest
            if budget is not None:
                budget -= first.price
        return base, others, budget

    def _states(
        self, feature: int, coding: Coding, sample_value: Any, resources: Resources
    ) -> tuple[Priced, list[Priced]]:
        priced = []
        for state, values in states_within([coding], self.allowed[feature]):
            resources.take(OPTION_BYTES, _MANY)
            if self.sample is None:
                priced.append(Priced(state, some(values), Fraction(0)))
                continue
            there, price = _nearest(coding, values, sample_value), Fraction(0)
            if self.budget is not None:  # without a budget, no price matters
                assert self.measure is not None
                price = _cost(self.measure, coding, sample_value, there, self.prices.get(feature))
            priced.append(Priced(state, there, price))
        if not priced:
            raise CertificateError(
                f"no value of feature {feature} is allowed, so the question is about no input."
            )
        here = priced[0].state if self.sample is None else state_of(coding, sample_value)
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
    """The inputs of a region around a sample that can occur.

    Parameters
    ----------
    lawful, network
        With the laws that inputs obey, and without.
    sample
        Values of its features.
    region
        What the question names.
    limits
        Of the domain, by feature: a sample's own value can occur all the same.
    where
        Further limits, which a sample's own value must meet too.
    fixed
        Features that stay as they are.
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
    """All values of a feature that can occur, its own among them."""
    if limit is None:
        return _all(coding)
    values, single = _limited(coding, limit), _single(coding, sample_value)
    if _both(coding, values, single):
        return values
    return (*values, *single) if isinstance(coding, Categories) else tuple(sorted((*values, *single)))


def _near(coding: Coding, sample_value: Any, far: Fraction, *, strict: bool) -> Values:
    """The values that are at most so far from its own, or less far."""
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
    """The inputs that a counterfactual's question allows, up to a cost or below it."""
    fixed = set(range(len(network.codings))) - set(asked.movable)
    cost = asked.cost
    if isinstance(cost, Prices):
        fixed |= set(range(len(network.codings))) - {feature for feature, _ in cost.prices}
    inputs = around(lawful, network, sample, asked.region or Anything(), limits, fixed=fixed)
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
    """Prices of all features; those without one stay as they are."""
    return {**dict.fromkeys(range(len(network.codings)), Fraction(0)), **dict(cost.prices)}
