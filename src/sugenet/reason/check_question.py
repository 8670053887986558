"""For the checker: what a certificate's question says, worked out again from the JSON and the definition (`sugenet.bnn`) alone.

The match count of the first layer is a sum over features, so what each single change adds to it is measured once, by the definition. A
question about two inputs or two networks has two *sides*, whose neurons are written one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import DenseLayer, Network, OneHot, Steps
from sugenet.bnn.codings import Coding
from sugenet.bnn.conv import dense_of
from sugenet.bnn.layers import Ints
from sugenet.errors import CertificateError
from sugenet.reason.check_form import exact

__all__ = [
    "Option",
    "Plain",
    "Setting",
    "as_steps",
    "meets",
    "plain_problems",
    "raw",
    "rows_of",
    "scores",
    "settings_of",
    "unit_of",
    "violates",
    "whole_of",
]


@dataclass(frozen=True)
class Option:
    """A state that a feature may take instead of its own."""

    order: int
    """Place among the feature's states."""
    values: tuple[Any, ...]
    """The raw value on each side."""
    price: Fraction


@dataclass(frozen=True, eq=False)
class Setting:
    """A neighbourhood in raw terms: networks and samples of one or two sides, the options of every feature, and what they may cost."""

    networks: tuple[Network, ...]
    samples: tuple[tuple[Any, ...], ...]
    own: tuple[int, ...]
    """For each feature, the place of its own state among its states."""
    options: dict[int, list[Option]]
    budget: Fraction | None
    cases: list[list[tuple[list[Fraction], Fraction]]]
    """Violations: all inequalities of some case, each ``sum(factor * match count) >= least`` over the classes of all sides."""


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
    layers: list[tuple[Ints, Ints]]
    """Weights and tau of the layers behind the first."""
    head: Ints
    cases: list[list[tuple[list[int], int]]]
    """Inequalities ``sum(factor * match count) >= least`` over the classes."""

    def violates(self, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Whether match counts of the classes, one row each, are a violation."""
        bad = np.zeros(len(counts), bool)
        large = max((abs(f) for case in self.cases for factors, least in case for f in (*factors, least)), default=0) >= 1 << 40
        rows = counts.astype(object if large else np.int64)
        for case in self.cases:
            good = np.ones(len(counts), bool)
            for factors, least in case:
                good &= np.asarray(rows @ np.array(factors, rows.dtype) >= least, dtype=bool)
            bad |= good
        return bad


# -- raw values ----------------------------------------------------------------------------------------------------------------


def raw(network: Network, values: Sequence[Any]) -> tuple[Any, ...]:
    """A raw sample of a certificate; fractions are written as text."""
    if not isinstance(values, list | tuple) or len(values) != network.encoder.features:
        raise CertificateError(f"a sample has {len(values)} values, but the network reads {network.encoder.features} features.")
    pairs = zip(network.encoder.codings, values, strict=True)
    return tuple(exact(value) if isinstance(coding, Steps) and isinstance(value, str) else value for coding, value in pairs)


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
        listed = [Fraction(v) if isinstance(coding, Steps) and isinstance(v, str) else v for v in limit["one of"]]
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


def _allowed(coding: Coding, limit: Any) -> list[tuple[int, Any]]:
    """States that have a value within a limit, each with such a value."""
    found: list[tuple[int, Any]] = []
    for state in range(coding.states):
        if isinstance(coding, OneHot):
            candidates = [coding.categories[state]]
        elif isinstance(limit, dict):
            candidates = [Fraction(v) if isinstance(v, str) else v for v in limit["one of"]]
            candidates = [v for v in candidates if coding.state(v) == state]
        else:
            candidates = _some_inside(coding, state, limit)
        good = [value for value in candidates if meets(coding, value, limit)]
        if good:
            found.append((state, good[0]))
    return found


def _some_inside(coding: Steps, state: int, limit: Any) -> list[Any]:
    """Candidates for a value of a state within bounds: the ends of both intervals, zero, and their roundings to whole numbers."""
    ends = coding.interval(state)
    if ends is None:
        return []
    marks = [Fraction(end) for end in ends if abs(end) != float("inf")] + [Fraction(0)]
    marks += [Fraction(end) for end in limit if end is not None]
    if coding.whole:
        marks = [Fraction(way) for mark in marks for way in (mark.__floor__(), mark.__ceil__())]
    inside = [m for m in marks if (ends[0] == -float("inf") or m >= ends[0]) and (ends[1] == float("inf") or m <= ends[1])]
    return [int(m) if coding.whole else m for m in inside]


# -- settings ------------------------------------------------------------------------------------------------------------------


def _around(network: Network, sample: tuple[Any, ...], claim: dict[str, Any]) -> tuple[dict[int, list[Option]], Fraction | None]:
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
    known: dict[Any, list[tuple[int, Any, Fraction, Fraction]]] = {}  # features alike have the same ways to go
    for feature in sorted(movable):
        coding = network.encoder.codings[feature]
        if kind == "Box":
            here = coding.state(sample[feature])
            within = _allowed(coding, limits[feature]) if feature in limits else []
            found = [Option(state, (value,), Fraction(0)) for state, value in within if state != here]
        elif kind == "Prices" and feature not in prices:
            continue
        else:
            key = (id(coding), type(sample[feature]), sample[feature])
            if key not in known:
                known[key] = _ways(coding, sample[feature], kind)
            found = []
            for state, value, distance, price in known[key]:
                if kind == "Prices":
                    price = prices[feature] * (distance if claim.get("per_unit") else 1)
                if kind == "Linf" and bound is not None and not (distance < bound if strict else distance <= bound):
                    continue
                if _within_region(claim.get("region"), feature, coding, value, distance):
                    found.append(Option(state, (value,), price))
        if found:
            options[feature] = found
    return options, total


def _ways(coding: Coding, value: Any, kind: str) -> list[tuple[int, Any, Fraction, Fraction]]:
    """Every other state, the nearest raw value that has it, how far that is, and what a ball of this kind counts for it."""
    here, found = coding.state(value), []
    for state in range(coding.states):
        move = None if state == here else coding.move(value, state)
        if move is None:
            continue
        distance = Fraction(1) if isinstance(coding, OneHot) else abs(_number(coding, move.value) - _number(coding, value))
        price = {"L0": Fraction(1), "L1": distance, "L2": distance**2}.get(kind, Fraction(0))
        if kind == "Hamming":
            price = Fraction(int((coding.bits(state) != coding.bits(here)).sum()))
        found.append((state, move.value, distance, price))
    return found


def _within_region(region: dict[str, Any] | None, feature: int, coding: Coding, value: Any, distance: Fraction) -> bool:
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
            if isinstance(coding, Steps) and isinstance(limits.get(feature), dict) and len(limits[feature]["one of"]) > 1:
                raise CertificateError("a counterfactual's region limits numbers by bounds, not by lists.")
            return feature in limits and meets(coding, value, limits[feature])
    raise CertificateError(f"unknown region {region!r}.")


def _boxed(network: Network, where: list[Any]) -> dict[int, list[tuple[int, Any]]]:
    """For each feature the states within limits, each with a value; features without limits are free."""
    limits = {int(feature): limit for feature, limit in where}
    found = {f: _allowed(coding, limits.get(f, [None, None])) for f, coding in enumerate(network.encoder.codings)}
    for feature, states in found.items():
        if not states:
            raise CertificateError(f"nothing that can occur meets the limits of feature {feature}.")
    return found


def _over(network: Network, a: int, b: int, *, strictly: bool, at: int = 0, of: int | None = None) -> tuple[list[Fraction], Fraction]:
    """Class a scores more than class b, or as much: an inequality over the match counts, those of this head starting at `at`."""
    head = network.head
    factors = [Fraction(0)] * (head.outputs if of is None else of)
    factors[at + a], factors[at + b] = 2 * head.scale[a], -2 * head.scale[b]
    ends = [head.bias[k] - head.scale[k] * int(np.abs(head.weights[k]).sum()) for k in (a, b)]
    least = ends[1] - ends[0]
    if strictly:  # one more than the next smaller possible value: all terms are multiples of a common unit
        unit = Fraction(1, lcm(*(value.denominator for value in (factors[at + a], factors[at + b], least))))
        least += unit
    return factors, least


def _wins(network: Network, k: int, ties: str, at: int = 0, of: int | None = None) -> list[tuple[list[Fraction], Fraction]]:
    others = [j for j in range(network.head.outputs) if j != k]
    return [_over(network, k, j, strictly=ties == "lowest" and j < k, at=at, of=of) for j in others]


def _loses(network: Network, label: int, ties: str) -> list[list[tuple[list[Fraction], Fraction]]]:
    others = [j for j in range(network.head.outputs) if j != label]
    return [[_over(network, j, label, strictly=ties == "lowest" and j > label)] for j in others]


def settings_of(question: dict[str, Any], network: Network, other: Network | None) -> list[Setting]:
    """What a question asks, as settings none of which may have a violation."""
    kind = question["kind"]
    if kind in ("robust", "whatif", "reason"):
        sample = raw(network, question["sample"])
        label, target, ties = int(question["label"]), question["target"], question["ties"]
        if ties not in ("lowest", "against"):
            raise CertificateError(f"unknown tie rule {ties!r}.")
        found = scores(network, sample)
        if found.index(max(found)) != label:
            raise CertificateError(f"the sample has class {found.index(max(found))}, not {label}.")
        options, budget = _around(network, sample, question["within"] if kind == "whatif" else question["region"])
        if kind == "reason":  # these stay as they are
            options = {feature: row for feature, row in options.items() if feature not in question["fixed"]}
        cases = _loses(network, label, ties) if target is None else [_wins(network, int(target), ties)]
        return [_setting((network,), (sample,), options, budget, cases)]
    if kind in ("always", "never"):
        label = int(question["label"])
        cases = _loses(network, label, "lowest") if kind == "always" else [_wins(network, label, "lowest")]
        return [_free((network,), {f: [(s, (v,)) for s, v in row] for f, row in _boxed(network, question["where"]).items()}, cases)]
    if kind in ("monotone", "fair"):
        return [_pairs(question, network)]
    if kind == "agree":
        return [_two_networks(question, network, other)]
    if kind == "query":
        return [_query_case(network, case) for case in question["cases"]]
    raise CertificateError(f"unknown question {kind!r}.")


def _setting(networks: Any, samples: Any, options: dict[int, list[Option]], budget: Fraction | None, cases: Any) -> Setting:
    own = tuple(coding.state(value) for coding, value in zip(networks[0].encoder.codings, samples[0], strict=True))
    return Setting(networks, samples, own, options, budget, cases)


def _free(networks: tuple[Network, ...], states: dict[int, list[tuple[int, tuple[Any, ...]]]], cases: Any) -> Setting:
    """Every combination of listed states: the first of each feature is taken as the sample."""
    samples = tuple(tuple(states[f][0][1][side] for f in sorted(states)) for side in range(len(networks)))
    options = {f: [Option(order, values, Fraction(0)) for order, (_, values) in enumerate(row)][1:] for f, row in states.items()}
    return Setting(networks, samples, (0,) * len(states), {f: row for f, row in options.items() if row}, None, cases)


def _pairs(question: dict[str, Any], network: Network) -> Setting:
    boxed = _boxed(network, question["where"])
    classes = range(network.head.outputs)
    special = [int(question["feature"])] if question["kind"] == "monotone" else [int(f) for f in question["protected"]]
    states: dict[int, list[tuple[int, tuple[Any, ...]]]] = {f: [(s, (v, v)) for s, v in row] for f, row in boxed.items()}
    for feature in special:
        values = [v for _, v in boxed[feature]]
        if question["kind"] == "monotone":
            if isinstance(network.encoder.codings[feature], OneHot):
                raise CertificateError("a category cannot be raised.")
            chosen = [(a, b) if question["rising"] else (b, a) for a, b in pairwise(values)]
        else:
            chosen = [(a, b) for (i, a), (j, b) in product(enumerate(values), repeat=2) if len(special) > 1 or i < j]
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


def _two_networks(question: dict[str, Any], network: Network, other: Network | None) -> Setting:
    if other is None:
        raise CertificateError("the certificate is about two networks: give the other one too.")
    if question["other"] != other.fingerprint:
        raise CertificateError("the other network is not the one that the certificate is about.")
    if network.encoder.names != other.encoder.names or network.classes != other.classes:
        raise CertificateError("the two networks do not have the same features and classes.")
    limits = {int(feature): limit for feature, limit in question["where"]}
    states: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
    for f, (a, b) in enumerate(zip(network.encoder.codings, other.encoder.codings, strict=True)):
        if isinstance(a, OneHot) or isinstance(b, OneHot):
            if a != b:
                raise CertificateError(f"feature {f} is coded differently in the two networks.")
            found = _allowed(a, limits.get(f, [None, None]))
        else:
            if (a.low, a.high, a.whole, a.bipolar) != (b.low, b.high, b.whole, b.bipolar):
                raise CertificateError(f"feature {f} can take other values in one network than in the other.")
            found = _allowed(Steps(tuple(sorted({*a.cuts, *b.cuts})), a.low, a.high, a.whole, a.bipolar), limits.get(f, [None, None]))
        if not found:
            raise CertificateError(f"nothing that can occur meets the limits of feature {f}.")
        states[f] = [(s, (v, v)) for s, v in found]
    wrong = [(p, q) for p in range(network.head.outputs) for q in range(network.head.outputs) if p != q]
    return _free((network, other), states, _both(network, other, wrong))


def _both(left: Network, right: Network, wrong: list[tuple[int, int]]) -> list[list[tuple[list[Fraction], Fraction]]]:
    k = left.head.outputs
    total = k + right.head.outputs
    return [[*_wins(left, p, "lowest", 0, total), *_wins(right, q, "lowest", k, total)] for p, q in wrong]


def _query_case(network: Network, case: dict[str, Any]) -> Setting:
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
    return _free((network,), {f: [(s, (v,)) for s, v in row] for f, row in _boxed(network, where).items()}, cases)


# -- in whole numbers ----------------------------------------------------------------------------------------------------------


def plain_problems(settings: Sequence[Setting], *, strict: bool = False) -> list[Plain]:
    """Settings in whole numbers; `strict`: what costs exactly the budget is not asked about."""
    return [_plain(setting, strict) for setting in settings]


def _plain(setting: Setting, strict: bool) -> Plain:
    unit = unit_of(setting.options)
    budget = None
    if setting.budget is not None:
        budget = (setting.budget * unit).__ceil__() - 1 if strict else (setting.budget * unit).__floor__()
    options = {f: [o for o in row if budget is None or (o.price * unit).__floor__() <= budget] for f, row in setting.options.items()}
    options = {feature: row for feature, row in options.items() if row}
    moving = sorted(options)
    sides = []
    for side, network in enumerate(setting.networks):
        sample = list(setting.samples[side])
        rows = [sample]
        for feature in moving:
            for option in options[feature]:
                row = list(sample)
                row[feature] = option.values[side]
                rows.append(row)
        sides.append(_first(network, rows_of(rows)))
    counts = np.concatenate(sides, axis=1)
    features, stays, place = [], [], 1
    for feature in moving:
        row = sorted(zip(options[feature], counts[place : place + len(options[feature])], strict=True), key=_order)
        place += len(row)
        features.append([((option.price * unit).__floor__(), count - counts[0]) for option, count in row])
        stays.append(sum(option.order < setting.own[feature] for option, _ in row))
    depth = max(1, *(len(network.layers) for network in setting.networks))
    layers = [
        _beside([(layer.weights, layer.tau) for layer in row]) for row in zip(*(_later(n, depth) for n in setting.networks), strict=True)
    ]
    head = _beside([(network.head.weights, np.zeros(network.head.outputs, np.int64)) for network in setting.networks])[0]
    plain = Plain(counts[0], features, stays, budget, layers, head, [[whole_of(*part) for part in case] for case in setting.cases])
    return plain if len(setting.networks) == 1 else _merged(plain)


def _merged(plain: Plain) -> Plain:
    """Two sides with equal or opposite neurons made one, and neurons that never turn folded into what follows; the first ones are kept.

    All is done on sums of true inputs, ``weights @ v >= least``, and written back as match counts.
    """
    low = plain.base + sum((np.minimum.reduce([0 * g, *(gain for _, gain in row)]) for row in plain.features for g in [row[0][1]]), 0)
    high = plain.base + sum((np.maximum.reduce([0 * g, *(gain for _, gain in row)]) for row in plain.features for g in [row[0][1]]), 0)
    gains = np.array([gain for row in plain.features for _, gain in row]).reshape(sum(map(len, plain.features)), len(plain.base))
    looks = [(-int(plain.base[j]), *gains[:, j].tolist()) for j in range(len(plain.base))]
    values: list[bool | None] = [True if low[j] >= 0 else False if high[j] < 0 else None for j in range(len(looks))]
    firsts, place = _first_of_each(looks, values)
    base, features = plain.base[firsts], [[(price, gain[firsts]) for price, gain in row] for row in plain.features]
    layers = []
    for weights, tau in plain.layers:
        sums, least = _fewer(weights, tau + np.minimum(weights, 0).sum(axis=1), values, place, len(firsts))
        least_sum, most_sum = np.minimum(sums, 0).sum(axis=1), np.maximum(sums, 0).sum(axis=1)
        looks = [(int(b), *row.tolist()) for b, row in zip(least, sums, strict=True)]
        values = [True if least_sum[j] >= b else False if most_sum[j] < b else None for j, b in enumerate(least)]
        firsts, place = _first_of_each(looks, values)
        layers.append((sums[firsts], (least - least_sum)[firsts]))
    head, gone = _fewer(plain.head, np.minimum(plain.head, 0).sum(axis=1), values, place, len(firsts))
    gone = gone - np.minimum(head, 0).sum(axis=1)
    cases = [
        [(factors, least + sum(f * int(g) for f, g in zip(factors, gone, strict=True))) for factors, least in case] for case in plain.cases
    ]
    return Plain(base, features, plain.stays, plain.budget, layers, head, cases)


def _first_of_each(looks: list[Any], values: list[bool | None]) -> tuple[list[int], list[tuple[int, int]]]:
    """First neuron of each look (bound, weights...); for every neuron its place among them, and sign -1 where it is the opposite."""
    firsts: list[int] = []
    seen: dict[Any, int] = {}
    place = []
    for number, (look, value) in enumerate(zip(looks, values, strict=True)):
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


def _fewer(weights: Ints, least: Ints, values: list[bool | None], place: list[tuple[int, int]], count: int) -> tuple[Ints, Ints]:
    """Weights over the neurons kept; a constant or opposite neuron also takes its share of what the sum must reach."""
    out, bound = np.zeros((len(weights), count), np.int64), np.array(least)
    for column, (value, (target, sign)) in enumerate(zip(values, place, strict=True)):
        if value is None:
            out[:, target] += sign * weights[:, column]
        if value or sign == -1:
            bound = bound - weights[:, column]
    return out, bound


def unit_of(options: dict[int, list[Option]]) -> int:
    """Units in one: a common denominator of the prices; or, where sums would leave 60 bits, a power of two, and prices are rounded down.

    Rounding down asks about more changes than the question does, so what is shown of them holds for the question.
    """
    many: dict[tuple[int, int], int] = {}  # prices are few, options can be very many
    for row in options.values():
        for option in row:
            price = option.price.as_integer_ratio()
            many[price] = many.get(price, 0) + 1
    unit = lcm(1, *(below for _, below in many))
    total = sum((Fraction(*price) * count for price, count in many.items()), Fraction(0))
    return unit if total * unit < 2**60 else 2 ** max(0, 59 - int(total).bit_length())


def _order(pair: tuple[Option, Any]) -> int:
    return pair[0].order


def _first(network: Network, X: npt.NDArray[Any]) -> Ints:
    """M - tau of the first layer; of the bits themselves where there is no hidden layer."""
    if not network.layers:
        return np.where(network.encoder.encode(X), 0, -1).astype(np.int64)
    layer = network.layers[0]
    return np.concatenate([layer.match_counts(network.inputs(X[k : k + 4096])) - layer.tau for k in range(0, len(X), 4096)])


def _later(network: Network, depth: int) -> list[DenseLayer]:
    found = [dense_of(layer) for layer in network.layers[1:]]
    passing = DenseLayer(np.eye(network.head.inputs, dtype=np.int64), np.ones(network.head.inputs, np.int64))
    return found + [passing] * (depth - 1 - len(found))


def _beside(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
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


def as_steps(plain: Plain) -> tuple[Any, Any, Any, Any]:
    """The same as thresholds over 0/1 variables: chains of steps, prices and limit, layers with the goal's inequalities last, and cases.

    Each feature's options, its own state among them, stand in order; step k is true iff the option is the k-th or a later one.
    """
    chains, columns, prices, start, spent, count = [], [], [], plain.base.copy(), 0, 0
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
    shift = np.minimum(plain.head, 0).sum(axis=1).astype(object)
    weights = np.array([factors for factors, _ in parts], dtype=object).reshape(len(parts), len(plain.head)) @ plain.head.astype(object)
    least = [least + int(np.array(factors, object) @ shift) for factors, least in parts]
    layers.append((weights.astype(np.int64), np.array(least, dtype=np.int64)))
    cases = tuple(tuple(parts.index((tuple(factors), least)) for factors, least in case) for case in plain.cases)
    return tuple(chains), None if plain.budget is None else (tuple(prices), plain.budget - spent), tuple(layers), cases


def violates(setting: Setting, samples: Sequence[Sequence[Any]]) -> bool:
    """Whether raw samples, one a side, are a violation; by the definition, in exact fractions."""
    counts: list[int] = []
    for network, sample in zip(setting.networks, samples, strict=True):
        counts += network.match_counts(rows_of([sample]), engine="definition")[0].tolist()
    return any(all(sum(f * m for f, m in zip(factors, counts, strict=True)) >= least for factors, least in case) for case in setting.cases)
