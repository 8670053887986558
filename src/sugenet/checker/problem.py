"""A question about networks in integers: the gain of each change in the first layer, and the violations.

To be ensured: every option of the setting is included with its gains, its price is not above the true price,
and no violation of the setting is missing. A level becomes as many bits as it has steps. So each neuron is a
weighted sum of bits with one threshold, and so is each inequality of a violation. Only the standard library
is required. Compiled rules (`ArrayProblem`) follow this definition.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import gcd, inf, lcm
from typing import Any, TypeAlias

from sugenet.checker.limit import Limit
from sugenet.checker.network import Categories, LayerForm, NetworkForm, Pooled, Summed
from sugenet.checker.setting import Option, Setting
from sugenet.errors import CertificateError

__all__ = [
    "IntegerProblem",
    "Row",
    "combined",
    "in_integers",
    "later_rows",
    "max_together",
    "numbered",
    "priced",
    "problem_of",
    "reaches",
    "swings_of",
]

_DIGITS = 1 << 14
"""Largest number of bits of a common denominator."""

Row: TypeAlias = tuple[dict[int, int], int]
"""Weights of bits of the previous layer, and the threshold for the sum over the active ones."""


@dataclass(frozen=True, eq=False)
class IntegerProblem:
    """A problem in which every feature takes one option; a violation meets all inequalities of some case."""

    base: list[int]
    """For each neuron of the first layer, its sum above the threshold if every feature stays."""
    features: list[list[tuple[int, list[int]]]]
    """For each feature that can change: the price of each option and its gain in each neuron."""
    numbers: list[int]
    """The indices of these features."""
    states: list[list[int]]
    """The states of their options."""
    stays: list[int]
    """For each of them, the number of options before its own state."""
    own: tuple[int, ...]
    """The states of features that stay fixed."""
    budget: int | None
    layers: list[list[Row]]
    """The later layers."""
    inequalities: list[Row]
    """Over the last layer, without repetitions."""
    cases: list[list[int]]
    """The indices of the inequalities of each case."""
    scores: list[tuple[dict[int, int], Fraction, Fraction]]
    """For each class of the first network: weights of bits of the last layer, and the factor and constant
    that turn their sum into its score.
    """
    limit: Limit

    def last_bits(self, first: Sequence[bool]) -> Sequence[bool]:
        """Return the bits of the last layer for given bits of the first."""
        for layer in self.layers:
            first = [reaches(row, first) for row in layer]
        return first

    def is_violated(self, first: Sequence[bool]) -> bool:
        """Return whether bits of the first layer are a violation."""
        last = self.last_bits(first)
        met = [reaches(row, last) for row in self.inequalities]
        return any(all(met[number] for number in case) for case in self.cases)

    def label(self, first: Sequence[bool]) -> int:
        """Return the class for given bits of the first layer; among equal scores the lowest class."""
        last = self.last_bits(first)
        class_scores = [
            factor * sum(weight for bit, weight in weights.items() if last[bit]) + constant
            for weights, factor, constant in self.scores
        ]
        return class_scores.index(max(class_scores))

    @property
    def offered(self) -> list[list[tuple[int, list[int]]]]:
        """Return the options of each feature in the order of its states, including its own state."""
        still = (0, [0] * len(self.base))
        return [
            [*options[:stay], still, *options[stay:]]
            for options, stay in zip(self.features, self.stays, strict=True)
        ]


def reaches(row: Row, bits: Sequence[bool]) -> bool:
    """Return whether the weights of active bits reach the threshold."""
    weights, threshold = row
    return sum(weight for bit, weight in weights.items() if bits[bit]) >= threshold


def max_together(lightest: Iterable[int], budget: int | None) -> int:
    """Return how many items fit in the budget together.

    Items are features, by the lightest change of each, or neurons, by the amount each needs to turn.
    """
    return sum(budget is None or used <= budget for used in accumulate(sorted(lightest)))


def swings_of(features: Sequence[Any], width: int) -> list[tuple[int, int]]:
    """Return how far the options of some features can lower and raise each neuron."""
    return [
        (
            sum(min(0, *(gain[j] for _, gain in row)) for row in features),
            sum(max(0, *(gain[j] for _, gain in row)) for row in features),
        )
        for j in range(width)
    ]


# -- prices --------------------------------------------------------------------------------------------------


def _unit_of(options: dict[int, list[Option]], limit: Limit, *, is_exact: bool) -> int:
    """Return the number of price units in one: a common denominator of the prices.

    If sums would exceed 60 bits, it is a power of two, and prices are rounded down. Rounding down allows more
    changes than the question does, so a proof about them holds for the question.
    """
    rows = {id(row): row for row in options.values()}
    price_counts: Counter[tuple[int, int]] = Counter()
    for number, times in Counter(map(id, options.values())).items():  # equal features share one list
        for option in rows[number]:
            price_counts[option.price.as_integer_ratio()] += times
    unit = 1  # there are few prices, but there can be very many options
    for divisor in {below for _, below in price_counts}:
        limit.look()
        unit = lcm(unit, divisor)
        if unit.bit_length() > _DIGITS:
            raise CertificateError(
                "the costs are too finely divided: they have no common denominator of a sane size."
            )
    total = sum((Fraction(*price) * count for price, count in price_counts.items()), Fraction(0))
    return unit if is_exact or total * unit < 2**60 else 2 ** max(0, 59 - int(total).bit_length())


def priced(
    setting: Setting, limit: Limit, *, is_exact: bool = False
) -> tuple[dict[int, tuple[list[Option], list[int]]], int | None]:
    """Return the options within the budget with their prices, for every feature, and the
    budget, in integers.
    """
    unit = _unit_of(setting.options, limit, is_exact=is_exact)
    budget = None
    if setting.budget is not None:  # rounded down; slightly smaller if the budget itself is excluded
        exact = setting.budget * unit
        budget = exact.__ceil__() - 1 if setting.strict else exact.__floor__()
    shared: dict[int, tuple[list[Option], list[int]]] = {}  # equal features share one list
    for row in setting.options.values():
        if id(row) not in shared:
            costs = [(option.price * unit).__floor__() for option in row]
            fit = [k for k, cost in enumerate(costs) if budget is None or cost <= budget]
            shared[id(row)] = [row[k] for k in fit], [costs[k] for k in fit]
    priced_options = {feature: shared[id(row)] for feature, row in sorted(setting.options.items())}
    return {feature: kept for feature, kept in priced_options.items() if kept[0]}, budget


# -- bits ----------------------------------------------------------------------------------------------------


class _Bits:
    """A network over bits only: first-layer rows as gains per input, and the rows of later layers."""

    def __init__(self, network: NetworkForm) -> None:
        self.network, self.clauses = network, network.clauses
        self.inputs: list[list[tuple[int, int, int]]] = []
        """For each input of the first layer, the neurons that read it: neuron, weight, and the level that
        counts for a pool, else 0.
        """
        layers = network.layers or (_passing(network),)
        self.least = self._first(layers[0], _order(*layers[:2]))
        self.later, order = later_rows(layers, len(self.clauses))
        head = network.head.weights
        self.head = [{b: row[j] for b, (j, _) in enumerate(order) if row[j]} for row in head]
        if self.clauses:
            self.head.append({len(order) + k: 1 for k in range(len(self.clauses))})

    def _first(self, layer: LayerForm, order: list[tuple[int, int]]) -> list[int]:
        """Record the readers of each input; return the thresholds of the first layer."""
        network = self.network
        width = sum(len(network.reading(f, 0)) for f in range(len(network.codings)))
        self.inputs, thresholds = [[] for _ in range(width)], list[Any]()
        for number, (j, m) in enumerate(order):
            neuron = layer.neurons[j]
            if isinstance(neuron, Pooled):
                for index in neuron.inputs:
                    self.inputs[index].append((number, 1, m))
                thresholds.append(len(neuron.inputs) if neuron.least else 1)
                continue
            for index, weight in zip(neuron.inputs, neuron.weights, strict=True):
                self.inputs[index].append((number, weight, 0))
            thresholds.append(neuron.thresholds[m - 1])
        self.laws: dict[int, list[tuple[int, Any, bool]]] = {}
        for number, clause in enumerate(self.clauses, start=len(order)):
            for feature, at, on in clause:
                self.laws.setdefault(feature, []).append((number, at, on))
            thresholds.append(len(clause))
        self.starts = list(
            accumulate((len(network.reading(f, 0)) for f in range(len(network.codings))), initial=0)
        )
        return [self._most(number) + 1 if bound == inf else bound for number, bound in enumerate(thresholds)]

    def _most(self, number: int) -> int:
        """Return a number larger than any sum of a first-layer neuron."""
        tops = [coding.width for coding in self.network.codings] if self.network.reads_levels else None
        return sum(
            max(weight, 0) * (tops[index] if tops else 1)
            for index, readers in enumerate(self.inputs)
            for reader, weight, _ in readers
            if reader == number
        )

    def added(self, feature: int, state: int) -> dict[int, int]:
        """Return the gains of a state of a feature in the neurons of the first layer."""
        gains: dict[int, int] = {}
        for index, value in enumerate(self.network.reading(feature, state), start=self.starts[feature]):
            if value:
                for number, weight, level in self.inputs[index]:
                    more = int(value >= level) if level else weight * value
                    gains[number] = gains.get(number, 0) + more
        coding = self.network.codings[feature]
        for number, at, on in self.laws.get(feature, ()):
            there = (
                coding.categories[state] == at
                if isinstance(coding, Categories)
                else state > coding.cuts.index(at)
            )
            gains[number] = gains.get(number, 0) + (there != on)
        return gains


def _passing(network: NetworkForm) -> LayerForm:
    """Return a layer that passes the bits of the features on."""
    width = sum(len(network.reading(f, 0)) for f in range(len(network.codings)))
    return LayerForm(tuple(Summed((index,), (1,), (1,)) for index in range(width)))


def later_rows(layers: Sequence[LayerForm], passed: int = 0) -> tuple[list[list[Row]], list[tuple[int, int]]]:
    """Return the later layers over bits, and the bits of the last layer, each as a neuron and a level.

    Each layer passes on `passed` additional bits.
    """
    order, layer_rows = _order(*layers[:2]), []
    for number, layer in enumerate(layers[1:], start=1):
        index = {bit: index for index, bit in enumerate(order)}
        order = _order(*layers[number : number + 2])
        rows = [_row(layer.neurons[j], m, index, layers[number - 1].top) for j, m in order]
        layer_rows.append([*rows, *(({len(index) + k: 1}, 1) for k in range(passed))])
    return layer_rows, order


def _order(layer: LayerForm, following: LayerForm | None = None) -> list[tuple[int, int]]:
    """Return the bits of a layer, each as a neuron and a level from 1.

    They are ordered value by value. Bits of maps are ordered by channel, level and pixel.
    """
    levels = range(1, layer.top + 1)
    maps = layer.maps
    if following is not None and following.reads is not None:
        maps = following.reads
    if maps is None or layer.top == 1:
        return [(j, m) for j in range(len(layer.neurons)) for m in levels]
    channels, pixels = maps[0], maps[1] * maps[2]
    return [(c * pixels + p, m) for c in range(channels) for m in levels for p in range(pixels)]


def _row(neuron: Summed | Pooled, m: int, index_of: dict[tuple[int, int], int], top: int) -> Row:
    """Return the condition that a later neuron reaches level m, over the bits of the previous layer."""
    if isinstance(neuron, Pooled):
        return {index_of[position, m]: 1 for position in neuron.inputs}, len(
            neuron.inputs
        ) if neuron.least else 1
    weights = {
        index_of[position, level]: weight
        for position, weight in zip(neuron.inputs, neuron.weights, strict=True)
        for level in range(1, top + 1)
    }
    threshold = neuron.thresholds[m - 1]
    return weights, sum(w for w in weights.values() if w > 0) + 1 if threshold == inf else threshold


# -- the whole -----------------------------------------------------------------------------------------------


def problem_of(setting: Setting, limit: Limit, *, is_exact: bool = False) -> IntegerProblem:
    """Return a setting in integers; with `is_exact`, no price is rounded."""
    options, budget = priced(setting, limit, is_exact=is_exact)
    sides = [_Bits(network) for network in setting.networks]
    base, gains = _added_by(setting, {feature: row for feature, (row, _) in options.items()}, sides, limit)
    features, states, stays = [], [], []
    for feature, (row, prices) in options.items():
        order = sorted(range(len(row)), key=[option.order for option in row].__getitem__)
        features.append([(prices[k], gains[feature, row[k].states]) for k in order])
        states.append([row[k].order for k in order])
        stays.append(sum(option.order < setting.own[feature] for option in row))
    layers, rows = sides[0].later, [(weights, 0) for weights in sides[0].head]
    if len(sides) > 1:
        from sugenet.checker.sides import merged

        both = [(len(bits.least), bits.later, bits.head) for bits in sides]
        base, features, layers, rows = merged(base, features, swings_of(features, len(base)), both, limit)
    parts, cases = numbered([[in_integers(*part) for part in case] for case in setting.cases])
    offsets = [sum(min(w, 0) for w in weights.values()) for bits in sides for weights in bits.head]
    head = setting.networks[0].head
    scores = [
        (weights, 2 * scale, bias - scale * size - 2 * scale * sum(min(w, 0) for w in weights.values()))
        for weights, scale, bias, size in zip(sides[0].head, head.scale, head.bias, head.sizes, strict=True)
    ]
    return IntegerProblem(
        base=base,
        features=features,
        numbers=list(options),
        states=states,
        stays=stays,
        own=setting.own,
        budget=budget,
        layers=layers,
        inequalities=[combined(factors, bound, rows, offsets) for factors, bound in parts],
        cases=cases,
        scores=scores,
        limit=limit,
    )


_Gains: TypeAlias = dict[tuple[int, tuple[int, ...]], list[int]]


def _added_by(
    setting: Setting, options: dict[int, list[Option]], sides: Sequence[_Bits], limit: Limit
) -> tuple[list[int], _Gains]:
    """Return, for each first-layer neuron of all sides, its sum above the threshold, and the gain of each
    option of each feature.
    """
    base: list[int] = []
    gains: _Gains = {}
    for number, bits in enumerate(sides):
        limit.look()
        sums = [-threshold for threshold in bits.least]
        here = [bits.added(feature, state) for feature, state in enumerate(setting.base[number])]
        for added in here:
            for neuron, more in added.items():
                sums[neuron] += more
        base += sums
        for feature, row in options.items():
            for option in row:
                limit.look()
                there, gain = bits.added(feature, option.states[number]), [0] * len(sums)
                for neuron in {*there, *here[feature]}:
                    gain[neuron] = there.get(neuron, 0) - here[feature].get(neuron, 0)
                gains.setdefault((feature, option.states), []).extend(gain)
    return base, gains


def in_integers(factors: Sequence[Fraction], bound: Fraction) -> tuple[list[int], int]:
    """Return an inequality over integers with integer coefficients, without a common factor."""
    if not any(factors):
        return [0] * len(factors), int(bound > 0)
    unit = lcm(1, *(f.denominator for f in factors))
    row = [f.numerator * (unit // f.denominator) for f in factors]
    common = gcd(*row)
    return [f // common for f in row], (bound * unit / common).__ceil__()


def numbered(
    cases: Sequence[Sequence[tuple[Sequence[int], int]]],
) -> tuple[list[tuple[tuple[int, ...], int]], list[list[int]]]:
    """Return the distinct inequalities of all cases, and the indices of those of each case."""
    rows = [[(tuple(factors), bound) for factors, bound in case] for case in cases]
    number = {part: k for k, part in enumerate(dict.fromkeys(part for case in rows for part in case))}
    return list(number), [[number[part] for part in case] for case in rows]


def combined(factors: Sequence[int], bound: int, rows: Sequence[Row], offsets: Sequence[int]) -> Row:
    """Return an inequality over match counts as one over bits.

    The match count of a class is the sum of its row minus the smallest sum that its weights allow.
    """
    weights: dict[int, int] = {}
    for factor, (row, constant), lowest in zip(factors, rows, offsets, strict=True):
        if factor:
            for bit, weight in row.items():
                weights[bit] = weights.get(bit, 0) + factor * weight
            bound += factor * (lowest + constant)
    return {bit: weight for bit, weight in weights.items() if weight}, bound
