"""What a certificate's question says: where an input may go, what that costs, and what would be a
violation.

To be ensured: no input that the question speaks of is left out, and no violation. All is read from the
JSON, whose form was seen before (`form`), and from the definition (`sugenet.bnn`); what the checker itself
assumes comes as arguments (`Within`), never inside the JSON. A question about two inputs or two networks has
two *sides*, whose classes stand one after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import lcm
from typing import Any

from sugenet.bnn import Network, OneHot, Span, Steps
from sugenet.bnn.codings import Coding
from sugenet.checker.domain import obeying
from sugenet.checker.limit import Limit
from sugenet.checker.values import (
    ALL_CHANGES,
    OPTION_BYTES,
    allowed,
    bits_flipped,
    distance,
    meets,
    raw,
    scores,
    top,
)
from sugenet.errors import CertificateError

__all__ = ["Option", "Setting", "Within", "around", "boxed", "parts_of", "see_other", "setting_of"]

_SUMMED = ("Hamming", "L0", "L1", "L2", "Prices")
"""Kinds whose changes are added up and compared with a budget."""


@dataclass(frozen=True, slots=True)
class Option:
    """A state that a feature may take instead of its own."""

    order: int
    """Place among the feature's states."""
    values: tuple[Any, ...]
    """The raw value on each side."""
    price: Fraction


@dataclass(frozen=True, eq=False)
class Setting:
    """A neighbourhood in raw terms: networks and samples of one or two sides, the options of every feature,
    and what they may cost.
    """

    networks: tuple[Network, ...]
    samples: tuple[tuple[Any, ...], ...]
    own: tuple[int, ...]
    """For each feature, the place of its own state among its states."""
    options: dict[int, list[Option]]
    budget: Fraction | None
    strict: bool
    """Whether what costs exactly the budget is not asked about."""
    cases: list[list[tuple[list[Fraction], Fraction]]]
    """Violations: all inequalities of some case, each ``sum(factor * match count) >= least`` over the
    classes of all sides.
    """

    @property
    def cuts(self) -> tuple[Network, ...]:
        """The networks over bits alone: staircases cut into their steps by the definition."""
        return tuple(network.cut for network in self.networks)


@dataclass(frozen=True, slots=True)
class Within:
    """How far features may move: a region, or a cost up to a bound."""

    kind: str
    bound: Fraction | None = None
    """What the changes may sum to, or for Linf how far each may go; for L2 a sum of squares."""
    strict: bool = False
    """Whether what costs exactly the bound is not asked about."""
    limits: Mapping[int, Any] = field(default_factory=dict)
    """Of a box: what each feature may be; the others stay."""
    movable: frozenset[int] | None = None
    """Features that may move; None: all."""
    prices: Mapping[int, Fraction] = field(default_factory=dict)
    per_unit: bool = False
    region: dict[str, Any] | None = None
    """Of a cost: where a counterfactual must lie besides."""

    @classmethod
    def of_region(cls, region: dict[str, Any]) -> Within:
        """A region of a question."""
        kind = region["kind"]
        if kind == "Box":
            return cls(kind, limits={int(feature): limit for feature, limit in region["limits"]})
        if kind == "Free":
            return cls(kind, movable=frozenset(map(int, region["features"])))
        return cls(
            kind, None if kind == "Anything" else Fraction(region["radius"]) ** (2 if kind == "L2" else 1)
        )

    @classmethod
    def of_cost(cls, question: dict[str, Any], bound: Fraction | None, *, strict: bool) -> Within:
        """What the cost of a counterfactual's question allows up to a bound, or below it."""
        cost, movable = question["cost"], frozenset(map(int, question["movable"]))
        prices = {int(f): Fraction(p) for f, p in cost.get("prices", [])}
        per_unit = cost.get("per_unit", False)
        return cls(cost["kind"], bound, strict, {}, movable, prices, per_unit, question["region"])

    def allows(self, far: Fraction) -> bool:
        """Whether a single feature may go so far; only Linf forbids that by itself."""
        if self.kind != "Linf" or self.bound is None:
            return True
        return far < self.bound if self.strict else far <= self.bound


# -- where features may go -----------------------------------------------------------------------------------


def around(
    network: Network, sample: Sequence[Any], within: Within, limit: Limit
) -> tuple[dict[int, list[Option]], Fraction | None]:
    """Options of the features around a sample, and the budget that they share."""
    options: dict[int, list[Option]] = {}
    known: dict[Any, list[Option]] = {}  # features alike have the same ways to go
    by_feature = within.kind == "Prices" or within.region is not None
    for feature, coding in enumerate(network.encoder.codings):
        if within.movable is not None and feature not in within.movable:
            continue
        limit.look()
        if within.kind == "Box":
            here = coding.state(sample[feature])
            inside = []
            if feature in within.limits:
                inside = allowed(coding, within.limits[feature], limit, network.domain.span(feature))
            found = [Option(state, (value,), Fraction(0)) for state, value in inside if state != here]
        elif within.kind == "Prices" and feature not in within.prices:
            continue
        else:
            span = network.domain.span(feature)
            key = (id(coding), type(sample[feature]), sample[feature], feature if by_feature else -1, span)
            if key not in known:
                known[key] = _ways(feature, coding, sample[feature], within, span, limit)
            found = known[key]
            limit.take(OPTION_BYTES * len(found), ALL_CHANGES)
        if found:
            options[feature] = found
    return options, within.bound if within.kind in _SUMMED else None


def _ways(
    feature: int, coding: Coding, value: Any, within: Within, span: Span | None, limit: Limit
) -> list[Option]:
    """Every other state within reach, the nearest raw value that has it, and what that counts.

    Up and down from the feature's own state, of numbers as far as one may go: beyond that, each is further.
    """
    here, found = coding.state(value), []
    for states in (range(here - 1, -1, -1), range(here + 1, coding.states)):
        for state in states:
            limit.look()
            move = coding.move(value, state, span)
            if move is None:
                continue
            far = distance(coding, value, move.value)
            if not within.allows(far):
                if isinstance(coding, Steps):
                    break
                continue
            if _within_region(within.region, feature, coding, move.value, far):
                price = _price(feature, coding, value, move.value, far, within)
                found.append(Option(state, (move.value,), price))
    return sorted(found, key=lambda option: option.order)


def _price(feature: int, coding: Coding, value: Any, there: Any, far: Fraction, within: Within) -> Fraction:
    """What a change counts."""
    match within.kind:
        case "Prices":
            return within.prices[feature] * (far if within.per_unit else 1)
        case "Hamming":
            return Fraction(bits_flipped(coding, value, there))
        case "L0":
            return Fraction(1)
        case "L1":
            return far
        case "L2":
            return far**2
    return Fraction(0)


def _within_region(
    region: dict[str, Any] | None, feature: int, coding: Coding, value: Any, far: Fraction
) -> bool:
    """Whether a counterfactual may move a feature to a value: regions without a budget of their own."""
    if region is None or region["kind"] == "Anything":
        return True
    if region["kind"] == "Linf":
        return far <= Fraction(region["radius"])
    if region["kind"] == "Free":
        return feature in region["features"]
    limits = {int(f): limit for f, limit in region["limits"]}
    listed = isinstance(coding, Steps) and isinstance(limits.get(feature), dict)
    if listed and len(limits[feature]["one of"]) > 1:
        raise CertificateError("a counterfactual's region limits numbers by bounds, not by lists.")
    return feature in limits and meets(coding, value, limits[feature])


def boxed(network: Network, where: list[Any], limit: Limit) -> dict[int, list[tuple[int, Any]]]:
    """For each feature the states within limits, each with a value; features without limits are free."""
    limits = {int(feature): bounds for feature, bounds in where}
    known: dict[Any, list[tuple[int, Any]]] = {}  # features alike have the same states
    found = {}
    for f, coding in enumerate(network.encoder.codings):
        span = network.domain.span(f)
        key = (id(coding), str(limits.get(f)), span)
        if key not in known:
            known[key] = allowed(coding, limits.get(f, [None, None]), limit, span)
        limit.take(OPTION_BYTES * len(known[key]), ALL_CHANGES)
        found[f] = known[key]
    for feature, states in found.items():
        if not states:
            raise CertificateError(f"nothing that can occur meets the limits of feature {feature}.")
    return found


# -- violations ----------------------------------------------------------------------------------------------


def _scores_reach(
    network: Network,
    terms: Iterable[tuple[int, Fraction]],
    bound: Fraction,
    at: int = 0,
    of: int | None = None,
) -> tuple[list[Fraction], Fraction]:
    """Scores of classes, each times its factor, sum to a bound: an inequality over the match counts, those of
    this head starting at `at`.
    """
    head = network.head
    factors, least = [Fraction(0)] * (head.outputs if of is None else of), bound
    for k, value in terms:
        factors[at + k] = 2 * head.scale[k] * value
        least -= value * (head.bias[k] - head.scale[k] * int(head.sizes[k]))
    return factors, least


def _over(
    network: Network, a: int, b: int, *, strictly: bool, at: int = 0, of: int | None = None
) -> tuple[list[Fraction], Fraction]:
    """Class a scores more than class b, or as much."""
    factors, least = _scores_reach(network, [(a, Fraction(1)), (b, Fraction(-1))], Fraction(0), at, of)
    if strictly:  # one more than the next smaller possible value: all terms are multiples of a common unit
        unit = Fraction(1, lcm(*(value.denominator for value in (factors[at + a], factors[at + b], least))))
        least += unit
    return factors, least


def _wins(
    network: Network, k: int, ties: str, at: int = 0, of: int | None = None
) -> list[tuple[list[Fraction], Fraction]]:
    others = [j for j in range(network.head.outputs) if j != k]
    return [_over(network, k, j, strictly=ties == "lowest" and j < k, at=at, of=of) for j in others]


def _loses(network: Network, label: int, ties: str) -> list[list[tuple[list[Fraction], Fraction]]]:
    others = [j for j in range(network.head.outputs) if j != label]
    return [[_over(network, j, label, strictly=ties == "lowest" and j > label)] for j in others]


def _both(
    left: Network, right: Network, wrong: list[tuple[int, int]]
) -> list[list[tuple[list[Fraction], Fraction]]]:
    k = left.head.outputs
    total = k + right.head.outputs
    return [[*_wins(left, p, "lowest", 0, total), *_wins(right, q, "lowest", k, total)] for p, q in wrong]


# -- questions -----------------------------------------------------------------------------------------------


def parts_of(question: dict[str, Any]) -> int:
    """How many settings a question has, none of which may have a violation."""
    return len(question["cases"]) if question["kind"] == "query" else 1


def setting_of(
    question: dict[str, Any],
    network: Network,
    other: Network | None,
    limit: Limit,
    part: int = 0,
    within: Within | None = None,
) -> Setting:
    """What a question asks, or the part of it with a number from 0.

    `within` is what the checker asks about instead of the question's own region: of a counterfactual always,
    of robustness where a part of the region is claimed.
    """
    kind = question["kind"]
    if kind in ("robust", "whatif", "reason"):
        return _about_a_sample(question, network, within or Within.of_region(question["region"]), limit)
    if kind in ("always", "never"):
        label = int(question["label"])
        cases = _loses(network, label, "lowest") if kind == "always" else [_wins(network, label, "lowest")]
        inside = _alone(boxed(network.lawful, question["where"], limit))
        return _free((network.lawful,), inside, obeying(network, cases))
    if kind in ("monotone", "fair"):
        return _pairs(question, network, limit)
    if kind == "agree":
        return _two_networks(question, network, other, limit)
    return _query_case(network, question["cases"][part], limit)


def _about_a_sample(question: dict[str, Any], network: Network, within: Within, limit: Limit) -> Setting:
    sample = raw(network, question["sample"])
    label, target, ties = int(question["label"]), question["target"], question["ties"]
    first = top(scores(network, sample))[0]
    if first != label:
        raise CertificateError(f"the sample has class {first}, not {label}.")
    lawful = network.lawful
    codings = lawful.encoder.codings
    options, budget = around(lawful, sample, within, limit)
    if question["kind"] == "reason":  # these stay as they are
        fixed = set(question["fixed"])
        options = {feature: row for feature, row in options.items() if feature not in fixed}
    cases = _loses(network, label, ties) if target is None else [_wins(network, int(target), ties)]
    cases = obeying(network, cases)
    own = tuple(coding.state(value) for coding, value in zip(codings, sample, strict=True))
    return Setting((lawful,), (sample,), own, options, budget, within.strict, cases)


def _alone(states: dict[int, list[tuple[int, Any]]]) -> dict[int, list[tuple[int, tuple[Any, ...]]]]:
    """The states of a question with one side."""
    return {f: [(s, (v,)) for s, v in row] for f, row in states.items()}


def _free(
    networks: tuple[Network, ...], states: dict[int, list[tuple[int, tuple[Any, ...]]]], cases: Any
) -> Setting:
    """Every combination of listed states: the first of each feature is taken as the sample."""
    samples = tuple(tuple(states[f][0][1][side] for f in sorted(states)) for side in range(len(networks)))
    options = {
        f: [Option(order, values, Fraction(0)) for order, (_, values) in enumerate(row)][1:]
        for f, row in states.items()
    }
    return Setting(
        networks,
        samples,
        (0,) * len(states),
        {f: row for f, row in options.items() if row},
        None,
        False,
        cases,
    )


def _pairs(question: dict[str, Any], network: Network, limit: Limit) -> Setting:
    classes = range(network.head.outputs)
    laws = network.domain.laws
    network = network.lawful  # its last class wins where a law is broken, so that no other does
    inside = boxed(network, question["where"], limit)
    limit.take(800 * len(classes) ** 3, "the list of all pairs of classes")
    special = (
        [int(question["feature"])]
        if question["kind"] == "monotone"
        else [int(f) for f in question["protected"]]
    )
    states: dict[int, list[tuple[int, tuple[Any, ...]]]] = {
        f: [(s, (v, v)) for s, v in row] for f, row in inside.items()
    }
    for feature in special:
        values = [v for _, v in inside[feature]]
        if question["kind"] == "monotone":
            if isinstance(network.encoder.codings[feature], OneHot):
                raise CertificateError("a category cannot be raised.")
            # a state between two may break a law, and then nothing compares the two through it
            limit.take(OPTION_BYTES * len(values) ** 2 * bool(laws), "the list of all pairs of values")
            steps = combinations(values, 2) if laws else pairwise(values)
            chosen = [(a, b) if question["rising"] else (b, a) for a, b in steps]
        else:
            limit.take(OPTION_BYTES * len(values) ** 2, "the list of all pairs of values")
            chosen = [
                (a, b) for (i, a), (j, b) in product(enumerate(values), repeat=2) if len(special) > 1 or i < j
            ]
        if not chosen:
            raise CertificateError(f"feature {feature} takes one value only, so there is nothing to compare.")
        states[feature] = [(order, pair) for order, pair in enumerate(chosen)]
    label = question.get("label")
    if question["kind"] == "fair":
        wrong = [(p, q) for p in classes for q in classes if p != q]
    elif label is None:
        wrong = [(p, q) for p in classes for q in classes if p > q]
    else:
        wrong = [(int(label), q) for q in classes if q != label]
    return _free((network, network), states, _both(network, network, wrong))


def see_other(question: dict[str, Any], network: Network, other: Network | None) -> Network:
    """The other network, when it is the one that the certificate is about and reads and
    says the same things.
    """
    if other is None:
        raise CertificateError("the certificate is about two networks: give the other one too.")
    if question["other"] != other.fingerprint:
        raise CertificateError("the other network is not the one that the certificate is about.")
    if network.encoder.names != other.encoder.names or network.classes != other.classes:
        raise CertificateError("the two networks do not have the same features and classes.")
    for f, (a, b) in enumerate(zip(network.encoder.codings, other.encoder.codings, strict=True)):
        if isinstance(a, OneHot) or isinstance(b, OneHot):
            if a != b:
                raise CertificateError(f"feature {f} is coded differently in the two networks.")
        elif (a.low, a.high, a.whole, a.bipolar) != (b.low, b.high, b.whole, b.bipolar):
            raise CertificateError(f"feature {f} can take other values in one network than in the other.")
    return other


def _two_networks(question: dict[str, Any], network: Network, other: Network | None, limit: Limit) -> Setting:
    other, count = see_other(question, network, other), network.head.outputs
    network = network.lawful  # as above
    limits = {int(feature): bounds for feature, bounds in question["where"]}
    limit.take(800 * count**3, "the list of all pairs of classes")
    states: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
    for f, (a, b) in enumerate(zip(network.encoder.codings, other.encoder.codings, strict=True)):
        both = a
        if isinstance(a, Steps) and isinstance(b, Steps):
            both = Steps(tuple(sorted({*a.cuts, *b.cuts})), a.low, a.high, a.whole, a.bipolar)
        found = allowed(both, limits.get(f, [None, None]), limit, network.domain.span(f))
        if not found:
            raise CertificateError(f"nothing that can occur meets the limits of feature {f}.")
        states[f] = [(s, (v, v)) for s, v in found]
    wrong = [(p, q) for p in range(count) for q in range(count) if p != q]
    return _free((network, other), states, _both(network, other, wrong))


def _query_case(network: Network, case: dict[str, Any], limit: Limit) -> Setting:
    where = [[f, [low, high]] for f, (low, high) in enumerate(zip(case["lower"], case["upper"], strict=True))]
    cases = [
        [
            _scores_reach(network, [(k, Fraction(value)) for k, value in terms], Fraction(bound))
            for terms, bound in conjunction
        ]
        for conjunction in case["condition"]
    ]
    return _free((network.lawful,), _alone(boxed(network.lawful, where, limit)), obeying(network, cases))
