"""What a certificate claims, decided by brute force in Python's own integers and fractions: every raw input
of a small network is looked at.

Nothing here is shared with the checker or the engines but the codings of the encoder and the
numbers of the network.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations, product

import numpy as np

from sugenet.nn import ConvLayer, LevelLayer, OneHot, PoolLayer, QuantizedConv, QuantizedLayer, Steps


class Truth:
    """A small network over whole numbers and categories, by the definition."""

    def __init__(self, network):
        self.network, self.codings = network, network.encoder.codings

    @cached_property
    def values(self):
        """Raw values of each feature: one for each that makes a difference."""
        found = []
        for coding in self.codings:
            found.append(
                list(coding.categories)
                if isinstance(coding, OneHot)
                else list(range(int(coding.low), int(coding.high) + 1))
            )
        return found

    @cached_property
    def inputs(self):
        return list(product(*self.values))

    def number(self, feature, value):
        """A raw number exactly; -1 is 0 for bipolar bits."""
        if isinstance(self.codings[feature], OneHot):
            return value
        exact = Fraction(value)
        return Fraction(0) if self.codings[feature].bipolar and exact == -1 else exact

    def state(self, feature, value):
        coding = self.codings[feature]
        return (
            coding.state(value)
            if isinstance(coding, OneHot)
            else sum(self.number(feature, value) >= Fraction(c) for c in coding.cuts)
        )

    def scores(self, x):
        states = tuple(self.state(f, value) for f, value in enumerate(x))
        if states not in self._scores:
            values = [int(b) for f, s in enumerate(states) for b in self.codings[f].bits(s)]
            if self.network.reads_levels:
                values = list(states)
            for layer in self.network.layers:
                values = _given(layer, values)
            head = self.network.head
            tops = [1] * len(values) if head.tops is None else head.tops.tolist()
            signs = [
                sum(w * (2 * v - t) for w, v, t in zip(row, values, tops, strict=True))
                for row in head.weights.tolist()
            ]
            self._scores[states] = [a * s + b for a, s, b in zip(head.scale, signs, head.bias, strict=True)]
        return self._scores[states]

    @cached_property
    def _scores(self):
        return {}

    def tops(self, x):
        scores = self.scores(x)
        return [k for k, score in enumerate(scores) if score == max(scores)]

    def label(self, x):
        return self.tops(x)[0]

    # -- regions and costs -----------------------------------------------------------------------------------

    def changes(self, sample, x):
        """For each feature that changes: how far, and how many bits."""
        found = {}
        for f, (a, b) in enumerate(zip(sample, x, strict=True)):
            one_hot = isinstance(self.codings[f], OneHot)
            if (a != b) if one_hot else self.number(f, a) != self.number(f, b):
                bits = (
                    self.codings[f].bits(self.state(f, a)) != self.codings[f].bits(self.state(f, b))
                ).sum()
                found[f] = (Fraction(1) if one_hot else abs(self.number(f, b) - self.number(f, a)), int(bits))
        return found

    def cost(self, claim, sample, x):
        """What a change costs, for L2 the sum of squares; None where it must not be."""
        changes = self.changes(sample, x)
        match claim["kind"]:
            case "L0":
                return Fraction(len(changes))
            case "Hamming":
                return Fraction(sum(bits for _, bits in changes.values()))
            case "L1":
                return sum((d for d, _ in changes.values()), Fraction(0))
            case "L2":
                return sum((d * d for d, _ in changes.values()), Fraction(0))
            case "Linf":
                return max((d for d, _ in changes.values()), default=Fraction(0))
            case "Prices":
                prices = {f: Fraction(p) for f, p in claim["prices"]}
                if not set(changes) <= set(prices):
                    return None
                return sum(
                    (prices[f] * (d if claim["per_unit"] else 1) for f, (d, _) in changes.items()),
                    Fraction(0),
                )
        raise AssertionError(claim)

    def meets(self, where, x):
        for feature, limit in where:
            value = self.number(feature, x[feature])
            if isinstance(limit, dict):
                if value not in [self.number(feature, v) for v in limit["one of"]]:
                    return False
            elif isinstance(self.codings[feature], Steps) and not self.is_between(feature, value, *limit):
                return False
        return True

    def is_between(self, feature, value, low, high):
        """Whether a number is from `low` to `high`; a bit that is off, if -1 or 0 is."""
        names = [-1, 0] if self.codings[feature].bipolar and value == 0 else [value]
        return any(
            (low is None or name >= Fraction(low)) and (high is None or name <= Fraction(high))
            for name in names
        )

    def inside(self, region, sample, x):
        match region["kind"]:
            case "AnyInput":
                return True
            case "Free":
                return set(self.changes(sample, x)) <= set(region["features"])
            case "Box":
                return set(self.changes(sample, x)) <= {f for f, _ in region["limits"]} and self.meets(
                    region["limits"], x
                )
        radius = Fraction(region["radius"])
        return self.cost(region, sample, x) <= (radius**2 if region["kind"] == "L2" else radius)

    def changed(self, question, x):
        """Whether an input is not the class that was asked to stay, or is the target."""
        tops, label, target = self.tops(x), question["label"], question["target"]
        if target is None:
            return tops[0] != label if question["ties"] == "lowest" else tops != [label]
        return tops[0] == target if question["ties"] == "lowest" else target in tops


def _given(layer, values):
    """What each neuron gives for what the layer reads, bits as 0 and 1."""
    if isinstance(layer, PoolLayer):
        taps = _taps(layer)
        every = np.repeat(layer.every, len(taps) // len(layer.every)).tolist()
        return [
            (min if all_ else max)(values[i] for i, _ in row) for row, all_ in zip(taps, every, strict=True)
        ]
    if isinstance(layer, QuantizedConv):
        sums = [sum(w * (layer.pad if i is None else values[i]) for i, w in taps) for taps in _taps(layer)]
        steps = [row for row in layer.steps.tolist() for _ in range(len(sums) // len(layer.steps))]
        return [sum(total >= t for t in row) for total, row in zip(sums, steps, strict=True)]
    if isinstance(layer, ConvLayer):
        top = layer.top or 1
        counts = [
            sum(w * values[i] if w > 0 else -w * (top - values[i]) for i, w in taps if i is not None)
            for taps in _taps(layer)
        ]
    else:
        tops = layer.tops.tolist() if isinstance(layer, LevelLayer | QuantizedLayer) else [1] * len(values)
        counts = [
            sum(w * v if w > 0 else -w * (t - v) for w, v, t in zip(row, values, tops, strict=True))
            for row in layer.weights.tolist()
        ]
    if isinstance(layer, QuantizedLayer):
        return [sum(m >= t for t in row) for m, row in zip(counts, layer.tau.tolist(), strict=True)]
    return [int(m >= tau) for m, tau in zip(counts, layer.tau.tolist(), strict=True)]


def _taps(layer):
    """For each neuron of a map the inputs that it reads, with their weights:
    the window laid on the image by hand. None for an input is padding, which a pool does not read.
    """
    window = layer.window
    (channels, height, width), (top, left, bottom, right) = window.shape, window.pads
    (high, wide), (down, across), (apart, beside) = window.kernel, window.stride, window.dilation
    if isinstance(layer, PoolLayer):
        kernels = [(range(c, c + 1), [[[1] * wide] * high]) for c in range(channels)]
    else:
        per_in, outs = channels // layer.groups, len(layer.weights) // layer.groups
        kernels = [
            (range(o // outs * per_in, (o // outs + 1) * per_in), k)
            for o, k in enumerate(layer.weights.tolist())
        ]
    found = []
    for reads, kernel in kernels:
        for y in range(-top, height + bottom - apart * (high - 1), down):
            for x in range(-left, width + right - beside * (wide - 1), across):
                spots = [
                    (c, y + a * apart, x + b * beside, k[a][b])
                    for c, k in zip(reads, kernel, strict=True)
                    for a in range(high)
                    for b in range(wide)
                ]
                found.append(
                    [
                        ((c * height + v) * width + u if inside else None, w)
                        for c, v, u, w in spots
                        for inside in (0 <= v < height and 0 <= u < width,)
                        if w and (inside or not isinstance(layer, PoolLayer))
                    ]
                )
    return found


def is_true(certificate, network, other=None):
    """Whether what a certificate claims is so."""
    truth, question, answer = Truth(network), certificate["question"], certificate["answer"]
    kind = question["kind"]
    if kind in ("robust", "whatif", "reason") and truth.label(question["sample"]) != question["label"]:
        return False
    if answer == "unknown" or (answer == "undecided" and certificate["proved_up_to"] is None):
        return True  # nothing else is claimed
    if kind == "whatif":
        return _whatif(truth, question, answer, certificate)
    if kind == "reason":
        return _reason(truth, question, answer)
    if kind == "count":
        return (
            _counts(truth, question) == certificate["counts"]
            and sum(certificate["counts"]) == certificate["total"]
        )
    violation = _violations(truth, question, None if other is None else Truth(other))
    if answer == "refuted":
        rows = certificate["witness"] if kind in ("monotone", "fair") else [certificate["witness"]]
        return violation(
            *(
                tuple(
                    Fraction(v) if isinstance(v, str) and isinstance(c, Steps) else v
                    for v, c in zip(row, truth.codings, strict=True)
                )
                for row in rows
            )
        )
    if answer == "proved":
        return not any(
            violation(*rows)
            for rows in product(truth.inputs, repeat=2 if kind in ("monotone", "fair") else 1)
        )
    most, sample = Fraction(certificate["proved_up_to"]), question["sample"]
    return not any(
        truth.changed(question, x) and truth.cost(question["region"], sample, x) <= most for x in truth.inputs
    )


def _violations(truth, question, other):
    kind = question["kind"]
    if kind == "robust":
        return lambda x: (
            truth.inside(question["region"], question["sample"], x) and truth.changed(question, x)
        )
    if kind in ("always", "never"):
        return lambda x: (
            truth.meets(question["where"], x) and (truth.label(x) == question["label"]) == (kind == "never")
        )
    if kind == "agree":
        return lambda x: truth.meets(question["where"], x) and truth.label(x) != other.label(x)
    if kind == "query":
        return lambda x: any(_in_case(truth, case, x) for case in question["cases"])

    special = {question["feature"]} if kind == "monotone" else set(question["protected"])
    others = [f for f in range(len(truth.codings)) if f not in special]

    def pair(x, y):
        if any(truth.number(f, x[f]) != truth.number(f, y[f]) for f in others) or not (
            truth.meets(question["where"], x) and truth.meets(question["where"], y)
        ):
            return False
        p, q = truth.label(x), truth.label(y)
        if kind == "fair":
            return p != q
        feature = question["feature"]
        a, b = truth.number(feature, x[feature]), truth.number(feature, y[feature])
        if not (b > a if question["rising"] else b < a):
            return False
        return q < p if question["label"] is None else p == question["label"] != q

    return pair


def _in_case(truth, case, x):
    numbers = [truth.number(f, value) for f, value in enumerate(x)]
    boxes = enumerate(zip(numbers, case["lower"], case["upper"], strict=True))
    if not all(truth.is_between(f, value, low, high) for f, (value, low, high) in boxes):
        return False
    scores = truth.scores(x)
    return any(
        all(sum(Fraction(v) * scores[k] for k, v in terms) >= Fraction(b) for terms, b in row)
        for row in case["condition"]
    )


def _whatif(truth, question, answer, certificate):
    sample, cost = question["sample"], question["cost"]

    def allowed(x):
        if not set(truth.changes(sample, x)) <= set(question["movable"]) or not truth.changed(question, x):
            return None
        if question["region"] is not None and not truth.inside(question["region"], sample, x):
            return None
        return truth.cost(cost, sample, x)

    costs = [found for x in truth.inputs if (found := allowed(x)) is not None]
    if answer == "none":
        return not any(question["limit"] is None or found <= Fraction(question["limit"]) for found in costs)
    if any(found < Fraction(certificate["lower"]) for found in costs):
        return False
    if answer == "open":
        return True
    price = allowed(
        [
            Fraction(v) if isinstance(v, str) and isinstance(c, Steps) else v
            for v, c in zip(certificate["witness"], truth.codings, strict=True)
        ]
    )
    limit = question["limit"]
    return (
        price is not None
        and price == Fraction(certificate["value"])
        and (limit is None or price <= Fraction(limit))
    )


def _reason(truth, question, answer):
    sample, region = question["sample"], question["region"]
    wrong = [
        set(truth.changes(sample, x))
        for x in truth.inputs
        if truth.inside(region, sample, x) and truth.changed(question, x)
    ]

    def suffices(fixed):
        return all(changed & fixed for changed in wrong)

    fixed = set(question["fixed"])
    if not suffices(fixed):
        return False
    if answer == "minimal":
        return not any(suffices(fixed - {f}) for f in fixed)
    if answer == "minimum":
        return (
            not any(suffices(set(few)) for few in combinations(range(len(sample)), len(fixed) - 1))
            if fixed
            else True
        )
    return True


def _counts(truth, question):
    """Codewords of each class: one for each combination of states, with the cheapest raw values."""
    sample, where = question["sample"], question["where"]
    counts = [0] * truth.network.head.outputs
    options = []
    for f, values in enumerate(truth.values):
        states = {}
        for v in values:
            if not truth.meets([(g, lim) for g, lim in where if g == f], [v] * (f + 1)):
                continue
            state, price = truth.state(f, v), Fraction(0)
            if sample is not None:
                row = list(sample)
                row[f] = v
                if question["region"]["kind"] in ("Free", "Box", "AnyInput"):
                    price = None if not truth.inside(question["region"], sample, row) else Fraction(0)
                else:
                    price = truth.cost(question["region"], sample, row)
            if price is not None and (state not in states or price < states[state][0]):
                states[state] = (price, v)
        options.append(list(states.values()))
    kind = None if sample is None else question["region"]["kind"]
    radius = Fraction(question["region"]["radius"]) if kind in ("Hamming", "L0", "L1", "L2", "Linf") else None
    for chosen in product(*options):
        prices = [price for price, _ in chosen]
        total = max(prices, default=Fraction(0)) if kind == "Linf" else sum(prices, Fraction(0))
        if radius is None or total <= (radius**2 if kind == "L2" else radius):
            counts[truth.label([v for _, v in chosen])] += 1
    return counts
