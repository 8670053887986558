"""For the checker: what a certificate's question says, worked out again from the JSON and the definition
(`sugenet.bnn`) alone.

The match count of the first layer is a sum over features, so what each single change adds to it is measured
once, by the definition. A question about two inputs or two networks has two *sides*, whose neurons are
written one after another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise, product
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import DenseLayer, Layer, Network, OneHot, Steps
from sugenet.bnn.arrays import Ints
from sugenet.bnn.codings import Coding
from sugenet.bnn.layer import dense_of
from sugenet.checker.form import exact
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError

__all__ = [
    "Option",
    "Plain",
    "Setting",
    "as_steps",
    "meets",
    "over_inputs",
    "parts_of",
    "plain_of",
    "raw",
    "rows_of",
    "scores",
    "see_other",
    "setting_of",
    "unit_of",
    "weights_of",
    "whole_of",
]

_OPTION = 500
"""Bytes that a change takes as Python objects."""
_CELLS = 1 << 18
"""Values, bits and match counts that are worked out at a time."""
_DIGITS = 1 << 14
"""Bits of a common denominator."""


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
    cases: list[list[tuple[list[Fraction], Fraction]]]
    """Violations: all inequalities of some case, each ``sum(factor * match count) >= least`` over the
    classes of all sides.
    """


@dataclass(frozen=True, eq=False)
class Plain:
    """The same in whole numbers."""

    base: Ints
    """M - tau of the first layer at the sample."""
    features: list[list[tuple[int, Ints]]]
    """For each feature that can change: the price and the gain of each option, in the order of its states."""
    stays: list[int]
    """For each of these features, how many of its options stand before its own state."""
    budget: int | None
    behind: list[Layer | tuple[Ints, Ints]]
    """The layers behind the first, as the network has them or as weights and tau."""
    head: Ints
    cases: list[list[tuple[list[int], int]]]
    """Inequalities ``sum(factor * match count) >= least`` over the classes."""
    limit: Limit

    @cached_property
    def layers(self) -> list[tuple[Ints, Ints]]:
        """Weights and tau of the layers behind the first."""
        found = []
        for layer in self.behind:
            if isinstance(layer, tuple):
                found.append(layer)
                continue
            if not isinstance(layer, DenseLayer):
                self.limit.take(16 * layer.outputs * layer.inputs, "a layer written out as neurons")
            dense = dense_of(layer)
            found.append((dense.weights, dense.tau))
        return found

    def violates(self, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Whether match counts of the classes, one row each, are a violation."""
        bad = np.zeros(len(counts), bool)
        sizes = [sum(map(abs, row)) for row in self.head.tolist()]  # no match count is larger
        sums = (
            abs(least) + sum(abs(f) * size for f, size in zip(row, sizes, strict=True))
            for case in self.cases
            for row, least in case
        )
        rows = counts.astype(np.int64 if max(sums, default=0) < 1 << 63 else object)
        for case in self.cases:
            good = np.ones(len(counts), bool)
            for factors, least in case:
                good &= np.asarray(rows @ np.array(factors, rows.dtype) >= least, dtype=bool)
            bad |= good
        return bad


# -- raw values ----------------------------------------------------------------------------------------------


def raw(network: Network, values: Sequence[Any]) -> tuple[Any, ...]:
    """A raw sample of a certificate; fractions are written as text."""
    if not isinstance(values, list | tuple) or len(values) != network.encoder.features:
        raise CertificateError(
            f"a sample has {len(values)} values, but the network reads {network.encoder.features} features."
        )
    pairs = zip(network.encoder.codings, values, strict=True)
    return tuple(
        exact(value) if isinstance(coding, Steps) and isinstance(value, str) else value
        for coding, value in pairs
    )


def rows_of(rows: Sequence[Sequence[Any]]) -> npt.NDArray[Any]:
    """Raw samples as an array that keeps their values."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for number, row in enumerate(rows):
        for place, value in enumerate(row):
            array[number, place] = value
    return array


def scores(network: Network, row: Sequence[Any]) -> list[Fraction]:
    """Exact scores of the classes, by the definition."""
    return list(network.head.scores(network.match_counts(rows_of([row]), engine="definition"))[0])


def _number(coding: Steps, value: Any) -> Fraction:
    return Fraction(0 if coding.bipolar and value == -1 else value)


def meets(coding: Coding, value: Any, limit: Any) -> bool:
    """Whether a raw value is within a limit of a certificate: a pair of bounds, or a list of values."""
    if isinstance(limit, dict):
        listed = [
            Fraction(v) if isinstance(coding, Steps) and isinstance(v, str) else v for v in limit["one of"]
        ]
        if isinstance(coding, Steps):
            return _number(coding, value) in [_number(coding, v) for v in listed]
        return value in listed
    low, high = limit
    if isinstance(coding, OneHot):
        if low is not None or high is not None:
            raise CertificateError("a category has bounds, which only numbers can have.")
        return True
    number = _number(coding, value)
    return (low is None or number >= Fraction(low)) and (high is None or number <= Fraction(high))


def _allowed(coding: Coding, bounds: Any, limit: Limit) -> list[tuple[int, Any]]:
    """States that have a value within bounds, each with such a value."""
    found: dict[int, Any] = {}
    if isinstance(coding, Steps) and isinstance(bounds, dict):
        for value in bounds["one of"]:
            limit.take(_OPTION, _CHANGES)
            number = Fraction(value) if isinstance(value, str) else value
            found.setdefault(coding.state(number), number)
        return sorted(found.items(), key=lambda pair: pair[0])
    for state in range(coding.states):
        limit.take(_OPTION, _CHANGES)
        candidates = (
            [coding.categories[state]] if isinstance(coding, OneHot) else _some_inside(coding, state, bounds)
        )
        good = [value for value in candidates if meets(coding, value, bounds)]
        if good:
            found[state] = good[0]
    return list(found.items())


_CHANGES = "the list of all changes that the question allows"


def _some_inside(coding: Steps, state: int, limit: Any) -> list[Any]:
    """Candidates for a value of a state within bounds: the ends of both intervals, zero,
    and their roundings to whole numbers.
    """
    ends = coding.interval(state)
    if ends is None:
        return []
    marks = [Fraction(end) for end in ends if abs(end) != float("inf")] + [Fraction(0)]
    marks += [Fraction(end) for end in limit if end is not None]
    if coding.whole:
        marks = [Fraction(way) for mark in marks for way in (mark.__floor__(), mark.__ceil__())]
    inside = [
        m
        for m in marks
        if (ends[0] == -float("inf") or m >= ends[0]) and (ends[1] == float("inf") or m <= ends[1])
    ]
    return [int(m) if coding.whole else m for m in inside]


# -- settings ------------------------------------------------------------------------------------------------


def _around(
    network: Network, sample: tuple[Any, ...], claim: dict[str, Any], limit: Limit
) -> tuple[dict[int, list[Option]], Fraction | None]:
    """Options and budget of a region around a sample, or of a cost with a bound."""
    kind = claim["kind"]
    bound = None if claim.get("radius") is None else Fraction(claim["radius"]) ** (2 if kind == "L2" else 1)
    if claim.get("total") is not None:  # of a cost; for L2 the sum of squares
        bound = Fraction(claim["total"])
    strict = bool(claim.get("strict", False))
    prices = {int(f): Fraction(p) for f, p in claim.get("prices", [])}
    if kind == "Box":
        limits = {int(feature): limit for feature, limit in claim["limits"]}
    movable = set(range(network.encoder.features))
    movable &= {int(f) for f in claim["features"]} if "features" in claim else movable
    options: dict[int, list[Option]] = {}
    total = bound if kind in ("Hamming", "L0", "L1", "L2", "Prices") else None
    if kind not in ("Hamming", "L0", "L1", "L2", "Linf", "Prices", "Free", "Box", "Anything"):
        raise CertificateError(f"unknown region or cost {kind!r}.")
    known: dict[
        Any, list[tuple[int, Any, Fraction, Fraction]]
    ] = {}  # features alike have the same ways to go
    for feature in sorted(movable):
        coding = network.encoder.codings[feature]
        limit.look()
        if kind == "Box":
            here = coding.state(sample[feature])
            within = _allowed(coding, limits[feature], limit) if feature in limits else []
            found = [Option(state, (value,), Fraction(0)) for state, value in within if state != here]
        elif kind == "Prices" and feature not in prices:
            continue
        else:
            key = (id(coding), type(sample[feature]), sample[feature])
            if key not in known:
                known[key] = _ways(coding, sample[feature], kind, limit)
            limit.take(_OPTION * len(known[key]), _CHANGES)
            found = []
            for state, value, distance, price in known[key]:
                if kind == "Prices":
                    price = prices[feature] * (distance if claim.get("per_unit") else 1)
                if (
                    kind == "Linf"
                    and bound is not None
                    and not (distance < bound if strict else distance <= bound)
                ):
                    continue
                if _within_region(claim.get("region"), feature, coding, value, distance):
                    found.append(Option(state, (value,), price))
        if found:
            options[feature] = found
    return options, total


def _ways(coding: Coding, value: Any, kind: str, limit: Limit) -> list[tuple[int, Any, Fraction, Fraction]]:
    """Every other state, the nearest raw value that has it, how far that is,
    and what a ball of this kind counts for it.
    """
    here, found = coding.state(value), []
    for state in range(coding.states):
        limit.look()
        move = None if state == here else coding.move(value, state)
        if move is None:
            continue
        distance = (
            Fraction(1)
            if isinstance(coding, OneHot)
            else abs(_number(coding, move.value) - _number(coding, value))
        )
        price = {"L0": Fraction(1), "L1": distance, "L2": distance**2}.get(kind, Fraction(0))
        if kind == "Hamming":
            price = Fraction(int((coding.bits(state) != coding.bits(here)).sum()))
        found.append((state, move.value, distance, price))
    return found


def _within_region(
    region: dict[str, Any] | None, feature: int, coding: Coding, value: Any, distance: Fraction
) -> bool:
    """Whether a counterfactual may move a feature to a value: regions without a budget of their own."""
    match None if region is None else region["kind"]:
        case None | "Anything":
            return True
        case "Linf":
            assert region is not None
            return distance <= Fraction(region["radius"])
        case "Free":
            assert region is not None
            return feature in region["features"]
        case "Box":
            assert region is not None
            limits = {int(f): limit for f, limit in region["limits"]}
            if (
                isinstance(coding, Steps)
                and isinstance(limits.get(feature), dict)
                and len(limits[feature]["one of"]) > 1
            ):
                raise CertificateError("a counterfactual's region limits numbers by bounds, not by lists.")
            return feature in limits and meets(coding, value, limits[feature])
    raise CertificateError(f"unknown region {region!r}.")


def _boxed(network: Network, where: list[Any], limit: Limit) -> dict[int, list[tuple[int, Any]]]:
    """For each feature the states within limits, each with a value; features without limits are free."""
    limits = {int(feature): bounds for feature, bounds in where}
    known: dict[Any, list[tuple[int, Any]]] = {}  # features alike have the same states
    found = {}
    for f, coding in enumerate(network.encoder.codings):
        key = (id(coding), str(limits.get(f)))
        if key not in known:
            known[key] = _allowed(coding, limits.get(f, [None, None]), limit)
        limit.take(_OPTION * len(known[key]), _CHANGES)
        found[f] = known[key]
    for feature, states in found.items():
        if not states:
            raise CertificateError(f"nothing that can occur meets the limits of feature {feature}.")
    return found


def _over(
    network: Network, a: int, b: int, *, strictly: bool, at: int = 0, of: int | None = None
) -> tuple[list[Fraction], Fraction]:
    """Class a scores more than class b, or as much: an inequality over the match counts,
    those of this head starting at `at`.
    """
    head = network.head
    factors = [Fraction(0)] * (head.outputs if of is None else of)
    factors[at + a], factors[at + b] = 2 * head.scale[a], -2 * head.scale[b]
    ends = [head.bias[k] - head.scale[k] * int(np.abs(head.weights[k]).sum()) for k in (a, b)]
    least = ends[1] - ends[0]
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


def parts_of(question: dict[str, Any]) -> int:
    """How many settings a question has, none of which may have a violation."""
    return len(question["cases"]) if question["kind"] == "query" else 1


def setting_of(
    question: dict[str, Any], network: Network, other: Network | None, limit: Limit, part: int = 0
) -> Setting:
    """What a question asks, or the part of it with a number from 0."""
    kind = question["kind"]
    if kind in ("robust", "whatif", "reason"):
        sample = raw(network, question["sample"])
        label, target, ties = int(question["label"]), question["target"], question["ties"]
        if ties not in ("lowest", "against"):
            raise CertificateError(f"unknown tie rule {ties!r}.")
        found = scores(network, sample)
        if found.index(max(found)) != label:
            raise CertificateError(f"the sample has class {found.index(max(found))}, not {label}.")
        options, budget = _around(
            network, sample, question["within"] if kind == "whatif" else question["region"], limit
        )
        if kind == "reason":  # these stay as they are
            fixed = set(question["fixed"])
            options = {feature: row for feature, row in options.items() if feature not in fixed}
        cases = _loses(network, label, ties) if target is None else [_wins(network, int(target), ties)]
        return _setting((network,), (sample,), options, budget, cases)
    if kind in ("always", "never"):
        label = int(question["label"])
        cases = _loses(network, label, "lowest") if kind == "always" else [_wins(network, label, "lowest")]
        boxed = _boxed(network, question["where"], limit)
        return _free((network,), {f: [(s, (v,)) for s, v in row] for f, row in boxed.items()}, cases)
    if kind in ("monotone", "fair"):
        return _pairs(question, network, limit)
    if kind == "agree":
        return _two_networks(question, network, other, limit)
    if kind == "query":
        return _query_case(network, question["cases"][part], limit)
    raise CertificateError(f"unknown question {kind!r}.")


def _setting(
    networks: Any, samples: Any, options: dict[int, list[Option]], budget: Fraction | None, cases: Any
) -> Setting:
    own = tuple(
        coding.state(value) for coding, value in zip(networks[0].encoder.codings, samples[0], strict=True)
    )
    return Setting(networks, samples, own, options, budget, cases)


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
        networks, samples, (0,) * len(states), {f: row for f, row in options.items() if row}, None, cases
    )


def _pairs(question: dict[str, Any], network: Network, limit: Limit) -> Setting:
    boxed = _boxed(network, question["where"], limit)
    classes = range(network.head.outputs)
    limit.take(800 * len(classes) ** 3, "the list of all pairs of classes")
    special = (
        [int(question["feature"])]
        if question["kind"] == "monotone"
        else [int(f) for f in question["protected"]]
    )
    states: dict[int, list[tuple[int, tuple[Any, ...]]]] = {
        f: [(s, (v, v)) for s, v in row] for f, row in boxed.items()
    }
    for feature in special:
        values = [v for _, v in boxed[feature]]
        if question["kind"] == "monotone":
            if isinstance(network.encoder.codings[feature], OneHot):
                raise CertificateError("a category cannot be raised.")
            chosen = [(a, b) if question["rising"] else (b, a) for a, b in pairwise(values)]
        else:
            limit.take(_OPTION * len(values) ** 2, "the list of all pairs of values")
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
    other = see_other(question, network, other)
    limits = {int(feature): bounds for feature, bounds in question["where"]}
    limit.take(800 * network.head.outputs**3, "the list of all pairs of classes")
    states: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
    for f, (a, b) in enumerate(zip(network.encoder.codings, other.encoder.codings, strict=True)):
        both = a
        if isinstance(a, Steps) and isinstance(b, Steps):
            both = Steps(tuple(sorted({*a.cuts, *b.cuts})), a.low, a.high, a.whole, a.bipolar)
        found = _allowed(both, limits.get(f, [None, None]), limit)
        if not found:
            raise CertificateError(f"nothing that can occur meets the limits of feature {f}.")
        states[f] = [(s, (v, v)) for s, v in found]
    wrong = [(p, q) for p in range(network.head.outputs) for q in range(network.head.outputs) if p != q]
    return _free((network, other), states, _both(network, other, wrong))


def _both(
    left: Network, right: Network, wrong: list[tuple[int, int]]
) -> list[list[tuple[list[Fraction], Fraction]]]:
    k = left.head.outputs
    total = k + right.head.outputs
    return [[*_wins(left, p, "lowest", 0, total), *_wins(right, q, "lowest", k, total)] for p, q in wrong]


def _query_case(network: Network, case: dict[str, Any], limit: Limit) -> Setting:
    where = [[f, [low, high]] for f, (low, high) in enumerate(zip(case["lower"], case["upper"], strict=True))]
    head = network.head
    if len(where) != network.encoder.features:
        raise CertificateError("the query is for another number of inputs.")
    cases = []
    for conjunction in case["condition"]:
        rows = []
        for terms, bound in conjunction:
            factors, least = [Fraction(0)] * head.outputs, Fraction(bound)
            for k, value in terms:
                factors[k] = 2 * head.scale[k] * Fraction(value)
                least -= Fraction(value) * (head.bias[k] - head.scale[k] * int(np.abs(head.weights[k]).sum()))
            rows.append((factors, least))
        cases.append(rows)
    return _free(
        (network,),
        {f: [(s, (v,)) for s, v in row] for f, row in _boxed(network, where, limit).items()},
        cases,
    )


# -- in whole numbers ----------------------------------------------------------------------------------------


def weights_of(setting: Setting, limit: Limit, *, strict: bool = False) -> tuple[list[list[int]], int | None]:
    """Prices of the options of every feature within the budget, and the budget, in whole numbers."""
    unit = unit_of(setting.options, limit)
    budget = None
    if setting.budget is not None:
        budget = (setting.budget * unit).__ceil__() - 1 if strict else (setting.budget * unit).__floor__()
    known = {
        price: (price * unit).__floor__()
        for price in {option.price for row in setting.options.values() for option in row}
    }
    rows = ([known[option.price] for option in row] for row in setting.options.values())
    kept = ([price for price in row if budget is None or price <= budget] for row in rows)
    return [row for row in kept if row], budget


def plain_of(setting: Setting, limit: Limit, *, strict: bool = False) -> Plain:
    """A setting in whole numbers; `strict`: what costs exactly the budget is not asked about."""
    unit = unit_of(setting.options, limit)
    budget = None
    if setting.budget is not None:
        budget = (setting.budget * unit).__ceil__() - 1 if strict else (setting.budget * unit).__floor__()
    options = {
        f: [o for o in row if budget is None or (o.price * unit).__floor__() <= budget]
        for f, row in setting.options.items()
    }
    options = {feature: row for feature, row in options.items() if row}
    moving = sorted(options)
    changes = sum(len(options[feature]) for feature in moving)
    wide = sum(_width(network) for network in setting.networks)
    limit.take((changes + 1) * (8 * wide + 200), "what each change adds to the neurons")
    base, gains = np.empty(wide, np.int64), np.empty((changes, wide), np.int64)
    start = 0
    for side, network in enumerate(setting.networks):
        stop = start + _width(network)
        sample = rows_of([setting.samples[side]])
        base[start:stop] = _first(network, sample)[0]
        single = ((feature, option.values[side]) for feature in moving for option in options[feature])
        _changed(network, sample, single, gains[:, start:stop], limit)
        start = stop
    gains -= base
    features, stays, place = [], [], 0
    for feature in moving:
        row = sorted(
            zip(options[feature], gains[place : place + len(options[feature])], strict=True), key=_order
        )
        place += len(row)
        features.append([((option.price * unit).__floor__(), gain) for option, gain in row])
        stays.append(sum(option.order < setting.own[feature] for option, _ in row))
    cases = [[whole_of(*part) for part in case] for case in setting.cases]
    if len(setting.networks) == 1:
        network = setting.networks[0]
        return Plain(
            base, features, stays, budget, list(network.layers[1:]), network.head.weights, cases, limit
        )
    return _merged(base, features, stays, setting.networks, cases, limit)


def _width(network: Network) -> int:
    """Neurons of the first layer; the bits themselves where there is no hidden layer."""
    return network.layers[0].outputs if network.layers else network.encoder.width


def _changed(
    network: Network, sample: npt.NDArray[Any], single: Iterable[tuple[int, Any]], out: Ints, limit: Limit
) -> None:
    """Write M - tau of the first layer after each single change of a sample."""
    read = network.encoder.features if network.reads_levels else network.encoder.width
    step = max(1, _CELLS // max(1, read + _width(network)))
    place, left = 0, iter(single)
    while block := list(islice(left, step)):
        limit.look()
        rows = np.repeat(sample, len(block), axis=0)
        for row, (feature, value) in zip(rows, block, strict=True):
            row[feature] = value
        out[place : place + len(block)] = _first(network, rows)
        place += len(block)


def _merged(
    base: Ints,
    features: list[list[tuple[int, Ints]]],
    stays: list[int],
    networks: tuple[Network, ...],
    cases: list[list[tuple[list[int], int]]],
    limit: Limit,
) -> Plain:
    """Two sides with equal or opposite neurons made one, and neurons that never turn folded into what
    follows; the first ones are kept.

    All is done on sums of true inputs, ``weights @ v >= least``, and written back as match counts.
    """
    depth = max(1, *(len(network.layers) for network in networks))
    low = base + sum(
        (np.minimum.reduce([0 * g, *(gain for _, gain in row)]) for row in features for g in [row[0][1]]), 0
    )
    high = base + sum(
        (np.maximum.reduce([0 * g, *(gain for _, gain in row)]) for row in features for g in [row[0][1]]), 0
    )
    gains = np.array([gain for row in features for _, gain in row]).reshape(
        sum(map(len, features)), len(base)
    )
    limit.take(60 * gains.size, "neurons of both sides that are compared")  # Python integers
    looks = [(-int(base[j]), *gains[:, j].tolist()) for j in range(len(base))]
    values: list[bool | None] = [
        True if low[j] >= 0 else False if high[j] < 0 else None for j in range(len(looks))
    ]
    firsts, place = _first_of_each(looks, values, limit)
    base, features = base[firsts], [[(price, gain[firsts]) for price, gain in row] for row in features]
    layers: list[Layer | tuple[Ints, Ints]] = []
    for weights, tau in (
        _beside(row) for row in zip(*(_later(n, depth, limit) for n in networks), strict=True)
    ):
        limit.take(120 * weights.size, "neurons of both sides that are compared")
        sums, least = _fewer(weights, tau + np.minimum(weights, 0).sum(axis=1), values, place, len(firsts))
        least_sum, most_sum = np.minimum(sums, 0).sum(axis=1), np.maximum(sums, 0).sum(axis=1)
        looks = [(int(b), *row.tolist()) for b, row in zip(least, sums, strict=True)]
        values = [
            True if least_sum[j] >= b else False if most_sum[j] < b else None for j, b in enumerate(least)
        ]
        firsts, place = _first_of_each(looks, values, limit)
        layers.append((sums[firsts], (least - least_sum)[firsts]))
    both = _beside(
        [(network.head.weights, np.zeros(network.head.outputs, np.int64)) for network in networks]
    )[0]
    head, gone = _fewer(both, np.minimum(both, 0).sum(axis=1), values, place, len(firsts))
    gone = gone - np.minimum(head, 0).sum(axis=1)
    folded = [
        [
            (factors, least + sum(f * int(g) for f, g in zip(factors, gone, strict=True)))
            for factors, least in case
        ]
        for case in cases
    ]
    return Plain(base, features, stays, None, layers, head, folded, limit)


def _first_of_each(
    looks: list[Any], values: list[bool | None], limit: Limit
) -> tuple[list[int], list[tuple[int, int]]]:
    """First neuron of each look (bound, weights...); for every neuron its place among them, and sign -1 where
    it is the opposite.
    """
    firsts: list[int] = []
    seen: dict[Any, int] = {}
    place = []
    for number, (look, value) in enumerate(zip(looks, values, strict=True)):
        limit.look()
        contrary = (1 - look[0], *(-weight for weight in look[1:]))
        if value is not None:
            place.append((-1, 0))
        elif look not in seen and contrary in seen:
            place.append((seen[contrary], -1))
        else:
            if look not in seen:
                seen[look] = len(firsts)
                firsts.append(number)
            place.append((seen[look], 1))
    return firsts, place


def _fewer(
    weights: Ints, least: Ints, values: list[bool | None], place: list[tuple[int, int]], count: int
) -> tuple[Ints, Ints]:
    """Weights over the neurons kept; a constant or opposite neuron also takes its share of what
    the sum must reach.
    """
    out, bound = np.zeros((len(weights), count), np.int64), np.array(least)
    for column, (value, (target, sign)) in enumerate(zip(values, place, strict=True)):
        if value is None:
            out[:, target] += sign * weights[:, column]
        if value or sign == -1:
            bound = bound - weights[:, column]
    return out, bound


def unit_of(options: dict[int, list[Option]], limit: Limit) -> int:
    """Units in one: a common denominator of the prices; or, where sums would leave 60 bits, a power of two,
    and prices are rounded down.

    Rounding down asks about more changes than the question does,
    so what is shown of them holds for the question.
    """
    many: dict[tuple[int, int], int] = {}  # prices are few, options can be very many
    for row in options.values():
        for option in row:
            price = option.price.as_integer_ratio()
            many[price] = many.get(price, 0) + 1
    unit = 1
    for divisor in {below for _, below in many}:
        limit.look()
        unit = lcm(unit, divisor)
        if unit.bit_length() > _DIGITS:
            raise CertificateError(
                "the costs are too finely divided: they have no common denominator of a sane size."
            )
    total = sum((Fraction(*price) * count for price, count in many.items()), Fraction(0))
    return unit if total * unit < 2**60 else 2 ** max(0, 59 - int(total).bit_length())


def _order(pair: tuple[Option, Any]) -> int:
    return pair[0].order


def _first(network: Network, X: npt.NDArray[Any]) -> Ints:
    """M - tau of the first layer; of the bits themselves where there is no hidden layer."""
    if not network.layers:
        return np.where(network.encoder.encode(X), 0, -1).astype(np.int64)
    layer = network.layers[0]
    return np.asarray(layer.match_counts(network.inputs(X)) - layer.tau)


def _later(network: Network, depth: int, limit: Limit) -> list[tuple[Ints, Ints]]:
    found = []
    for layer in network.layers[1:]:
        limit.take(40 * layer.outputs * layer.inputs, "a layer of two networks side by side")
        dense = dense_of(layer)
        found.append((dense.weights, dense.tau))
    inputs = network.head.inputs
    if len(found) < depth - 1:
        limit.take(40 * inputs**2, "a layer of two networks side by side")
        found += [(np.eye(inputs, dtype=np.int64), np.ones(inputs, np.int64))] * (depth - 1 - len(found))
    return found


def _beside(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    weights = np.zeros((sum(w.shape[0] for w, _ in parts), sum(w.shape[1] for w, _ in parts)), np.int64)
    i = j = 0
    for w, _ in parts:
        weights[i : i + w.shape[0], j : j + w.shape[1]] = w
        i, j = i + w.shape[0], j + w.shape[1]
    return weights, np.concatenate([tau for _, tau in parts])


def whole_of(factors: list[Fraction], least: Fraction) -> tuple[list[int], int]:
    """An inequality over whole numbers in whole numbers, without a common factor."""
    if not any(factors):
        return [0] * len(factors), int(least > 0)
    unit = lcm(1, *(f.denominator for f in factors))
    row = [int(f * unit) for f in factors]
    common = gcd(*row)
    return [f // common for f in row], (least * unit / common).__ceil__()


def over_inputs(factors: Sequence[int], head: Ints) -> npt.NDArray[Any]:
    """Sums of factors times the weights of the classes, one for each input of the head,
    as Python integers.
    """
    row = np.zeros(head.shape[1], object)
    for factor, weights in zip(factors, head, strict=True):
        if factor:
            row = row + factor * weights.astype(object)
    return row


def as_steps(plain: Plain) -> tuple[Any, Any, Any, Any]:
    """The same as thresholds over 0/1 variables: chains of steps, prices and limit, layers with the goal's
    inequalities last, and cases.

    Each feature's options, its own state among them, stand in order; step k is true iff the option is the
    k-th or a later one.
    """
    chains, columns, prices, start, spent, count = [], [], [], plain.base.copy(), 0, 0
    plain.limit.take(24 * len(plain.base) * sum(map(len, plain.features)), "the steps of all features")
    for options, stay in zip(plain.features, plain.stays, strict=True):
        row = [*options[:stay], (0, np.zeros(len(plain.base), np.int64)), *options[stay:]]
        start, spent = start + row[0][1], spent + row[0][0]
        for (price, gain), (after, higher) in pairwise(row):
            columns.append(higher - gain)
            prices.append(after - price)
        chains.append(tuple(range(count, count + len(row) - 1)))
        count += len(row) - 1
    layers = [(np.array(columns, np.int64).reshape(count, len(plain.base)).T, -start)]
    layers += [(weights, tau + np.minimum(weights, 0).sum(axis=1)) for weights, tau in plain.layers]
    parts = list(dict.fromkeys((tuple(factors), least) for case in plain.cases for factors, least in case))
    shift = np.minimum(plain.head, 0).sum(axis=1).tolist()
    plain.limit.take(8 * len(parts) * plain.head.shape[1], "the inequalities over the last neurons")
    weights = np.empty((len(parts), plain.head.shape[1]), np.int64)
    for number, (factors, _) in enumerate(parts):
        plain.limit.look()
        weights[number] = over_inputs(factors, plain.head)  # an error where it leaves 64 bits
    least = [least + sum(f * s for f, s in zip(factors, shift, strict=True)) for factors, least in parts]
    layers.append((weights, np.array(least, dtype=np.int64)))
    cases = tuple(
        tuple(parts.index((tuple(factors), least)) for factors, least in case) for case in plain.cases
    )
    return (
        tuple(chains),
        None if plain.budget is None else (tuple(prices), plain.budget - spent),
        tuple(layers),
        cases,
    )
