"""A network and a question about it as plain arrays of integers.

To be ensured: every option of the setting is included with its gains in the first layer, computed by the
definition. Its price is not above the true price. No violation of the setting is missing. The match count of
the first layer is a sum over features, so the gain of each single change is computed once. The neurons of two
sides are listed one after another. Staircases are split into steps first (`arrays.expansions_of`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import (
    Arrays,
    Ints,
    Layer,
    Summing,
    bits_layer,
    expansions_of,
    products,
)
from sugenet.checker.limit import Limit
from sugenet.checker.problem import Row, in_integers, max_together, numbered, priced, swings_of
from sugenet.checker.setting import Setting
from sugenet.checker.sides import merged

__all__ = [
    "ArrayProblem",
    "Demand",
    "OptionTable",
    "Options",
    "added",
    "array_problem",
    "dense_rows",
    "joined",
    "over_neurons",
    "reachable",
    "violations",
]

_CELLS = 1 << 18
"""Number of values, bits and match counts computed at a time."""
Options: TypeAlias = Sequence[Sequence[tuple[int, Ints]]]
"""For each feature its options: an integer price, and the gains of the option in the first layer."""
Demand: TypeAlias = tuple[list[int], int]
"""``sum(factor * match count) >= least`` over the classes: the factors and the bound."""


@dataclass(frozen=True, eq=False)
class ArrayProblem:
    """A network and a question about it in integers."""

    base: Ints
    """M - tau of the first layer at the sample."""
    features: list[list[tuple[int, Ints]]]
    """For each feature that can change: the price and the gain of each option, in the order of its states."""
    stays: list[int]
    """For each of these features, the number of options before its own state."""
    budget: int | None
    later: list[Layer]
    """The layers after the first, over bits."""
    head: Ints
    cases: list[list[Demand]]
    limit: Limit

    @cached_property
    def layers(self) -> list[tuple[Ints, Ints]]:
        """Weights and tau of the layers after the first."""
        layers = []
        for layer in self.later:
            if not isinstance(layer, Summing):
                self.limit.take(16 * layer.outputs * layer.inputs, "a layer written out as neurons")
            dense = layer.dense()
            layers.append((dense.weights, dense.tau))
        return layers

    @property
    def offered(self) -> list[list[tuple[int, Ints]]]:
        """Return the options of each feature in order, including its own state."""
        still = (0, np.zeros(len(self.base), np.int64))
        return [
            [*options[:stay], still, *options[stay:]]
            for options, stay in zip(self.features, self.stays, strict=True)
        ]

    def violates(self, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return whether match counts of the classes, one row each, are a violation."""
        return violations(self.cases, self.head, counts)


def violations(cases: list[list[Demand]], head: Ints, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return whether match counts of the classes, one row each, meet all inequalities of some case."""
    once, members = numbered(cases)
    sizes = [sum(map(abs, row)) for row in head.tolist()]  # upper bounds of the match counts
    sums = (
        abs(bound) + sum(abs(f) * size for f, size in zip(row, sizes, strict=True)) for row, bound in once
    )
    largest = max(sums, default=0)  # bounds every sum, in any order of addition: floats are exact
    kind: Any = np.float64 if largest < 1 << 53 else np.int64 if largest < 1 << 63 else object
    factors = np.array([row for row, _ in once], kind).reshape(len(once), counts.shape[1])
    bounds = np.array([bound for _, bound in once], kind)[:, None]
    bad, step = np.zeros(len(counts), bool), max(1, _CELLS // max(1, len(once)))
    for k in range(0, len(counts), step):
        met = np.asarray(factors @ counts[k : k + step].T.astype(kind) >= bounds, dtype=bool)
        for case in members:
            bad[k : k + step] |= met[case].all(axis=0)
    return bad


# -- first and later layers ----------------------------------------------------------------------------------


def array_problem(setting: Setting, limit: Limit) -> ArrayProblem:
    """Return a setting in integers."""
    options, budget = priced(setting, limit)
    changes = sum(len(row) for row, _ in options.values())
    cuts = expansions_of(setting.networks)
    wide = sum(_width(network) for network in cuts)
    limit.take((changes + 1) * (8 * wide + 200), "the table of gains in neurons")
    base, gains = np.empty(wide, np.int64), np.empty((changes, wide), np.int64)
    start = 0
    for side, network in enumerate(cuts):
        stop = start + _width(network)
        here = network.inputs_at([setting.base[side]])[0]
        base[start:stop] = network.margins(here)
        states = {f: [option.states[side] for option in row] for f, (row, _) in options.items()}
        _add(network, here, base[start:stop], states, gains[:, start:stop], limit)
        start = stop
    features, stays, index = [], [], 0
    for feature, (row, prices) in options.items():
        order = sorted(range(len(row)), key=[option.order for option in row].__getitem__)
        features.append([(prices[k], gains[index + k]) for k in order])
        stays.append(sum(option.order < setting.own[feature] for option in row))
        index += len(row)
    cases = [[in_integers(*part) for part in case] for case in setting.cases]
    if len(cuts) == 1:
        network = cuts[0]
        return ArrayProblem(
            base, features, stays, budget, list(network.layers[1:]), network.head, cases, limit
        )
    return _merged(base, features, stays, budget, cuts, cases, limit)


def _width(network: Arrays) -> int:
    """Return the number of first-layer neurons, or of bits if there is no hidden layer."""
    return network.layers[0].outputs if network.layers else network.width


def _add(
    network: Arrays,
    here: npt.NDArray[Any],
    margins: Ints,
    states: dict[int, list[int]],
    out: Ints,
    limit: Limit,
) -> None:
    """Write the gains of each state of each feature in the neurons of the first layer."""
    first = network.layers[0] if network.layers else None
    if network.is_direct and isinstance(first, Summing) and states:  # each feature is read as one value
        features = np.repeat(list(states), list(map(len, states.values())))
        there = np.concatenate(list(states.values()))
        change = (there if network.reads_levels else there > 0).astype(np.int64) - here[features]
        np.multiply(first.weights.T[features], change[:, None], out=out)
        return
    index = 0
    for feature, row in states.items():
        limit.look()
        change = network.changes(feature, here, row)
        out[index : index + len(row)] = added(change, network.columns(feature, here, margins))
        index += len(row)


def added(change: Ints, columns: Ints) -> Ints:
    """Return the gains in neurons, one row each, from changes of some values and the gains per unit,
    `columns`.
    """
    return products(change, columns.T, int(np.abs(change).max(initial=0)))


def reachable(base: Ints, features: Options, together: int) -> tuple[Ints, Ints]:
    """Return the smallest and largest margin M - tau of each first-layer neuron.

    The best change of every feature counts, for as many features as can change together.
    """
    ups = np.zeros((len(features), len(base)), np.int64)
    downs = ups.copy()
    for row, options in enumerate(features):
        for _, gain in options:
            ups[row] = np.maximum(ups[row], gain)
            downs[row] = np.minimum(downs[row], gain)
    return _with_best(base, ups, downs, together)


class OptionTable:
    """All options, feature after feature, and the neurons that sets of them can turn.

    Parameters
    ----------
    base, features
        M - tau of the first layer at the sample, and the options of each feature, at least one.
    budget
        Largest sum of the weights of a set.
    limit
        Limit of time and memory.
    """

    def __init__(self, base: Ints, features: Options, budget: int, limit: Limit) -> None:
        sizes = [len(row) for row in features]
        first = np.cumsum([0, *sizes])
        limit.take(24 * int(first[-1]) * len(base), "all changes of a walk")
        self.weight = np.array([price for row in features for price, _ in row], np.int64)
        gains = np.array([gain for row in features for _, gain in row], np.int64)
        self.gains = gains.reshape(len(self.weight), len(base))
        self.behind = np.repeat(first[1:], sizes).astype(np.int64)
        """For each option the index of the first option of the next feature."""
        self.lightest = np.append(np.minimum.accumulate(self.weight[::-1])[::-1], budget + 1)
        """The smallest weight of an option and those after it; at the end more than the budget."""
        self.together = max_together((min(price for price, _ in row) for row in features), budget)
        """Number of features that can change together."""
        ups, downs = (
            end(end.reduceat(self.gains, first[:-1]) if len(self.gains) > len(sizes) else self.gains, 0)
            for end in (np.maximum, np.minimum)
        )
        self.low, self.high = _with_best(np.asarray(base, np.int64), ups, downs, self.together)
        self.loose = np.flatnonzero((self.low >= 0) != (self.high >= 0)).astype(np.int64)
        """Neurons that can turn."""


def _with_best(base: Ints, ups: Ints, downs: Ints, together: int) -> tuple[Ints, Ints]:
    """Return numbers with the smallest and the largest gain of `together` rows, those with the
    largest gains.
    """
    if together == 1 < len(ups):
        ups, downs = ups.max(axis=0, keepdims=True), downs.min(axis=0, keepdims=True)
    elif together < len(ups):
        ups = np.partition(ups, len(ups) - together - 1, axis=0)[len(ups) - together :]
        downs = np.partition(downs, together, axis=0)[:together]
    return base + downs.sum(axis=0), base + ups.sum(axis=0)


def joined(features: Options, max_options: int) -> list[list[tuple[int, Ints]]]:
    """Return features without prices, those with the largest gains first.

    The last features are merged into one, with all their combinations as options, up to a limit. There are as
    many sets of options as before, with the same gains.
    """
    merged = [[(0, gain) for _, gain in row] for row in features]
    merged.sort(key=lambda row: -sum(int(np.abs(gain).sum()) for _, gain in row))
    while len(merged) > 1 and (len(merged[-1]) + 1) * (len(merged[-2]) + 1) <= max_options:
        last, other = merged.pop(), merged.pop()
        both = [(0, gain + more) for _, gain in other for _, more in last]
        merged.append([*other, *last, *both])
    return merged


# -- two sides -----------------------------------------------------------------------------------------------


def _merged(
    base: Ints,
    features: list[list[tuple[int, Ints]]],
    stays: list[int],
    budget: int | None,
    networks: tuple[Arrays, ...],
    cases: list[list[Demand]],
    limit: Limit,
) -> ArrayProblem:
    """Return two sides with equal or opposite neurons merged, in plain form, and converted back to match
    counts.
    """
    limit.take(60 * len(base) * sum(map(len, features)), "neurons of both sides that are compared")
    sides = []
    for network in networks:
        later = []
        for layer in network.layers[1:]:
            limit.take(400 * layer.outputs * layer.inputs, "a layer of two networks side by side")
            dense = layer.dense()
            later.append(_rows(dense.weights, dense.tau + np.minimum(dense.weights, 0).sum(axis=1)))
        head_rows = _rows(network.head, np.zeros(len(network.head), np.int64))
        sides.append((_width(network), later, [weights for weights, _ in head_rows]))
    listed = [[(price, gain.tolist()) for price, gain in row] for row in features]
    swings = swings_of(listed, len(base))
    margins, options, rows_of_layers, head_rows = merged(base.tolist(), listed, swings, sides, limit)
    layers: list[Layer] = []
    width = len(margins)
    for rows in rows_of_layers:
        weights, thresholds = dense_rows(rows, width)
        layers.append(bits_layer(weights, thresholds - np.minimum(weights, 0).sum(axis=1)))
        width = len(rows)
    head, constants = dense_rows(head_rows, width)
    lowest = np.concatenate([np.minimum(network.head, 0).sum(axis=1) for network in networks])
    more = (lowest + constants - np.minimum(head, 0).sum(axis=1)).tolist()
    folded = [
        [
            (factors, bound + sum(f * one for f, one in zip(factors, more, strict=True)))
            for factors, bound in case
        ]
        for case in cases
    ]
    kept = [[(price, np.array(gain, np.int64)) for price, gain in row] for row in options]
    return ArrayProblem(np.array(margins, np.int64), kept, stays, budget, layers, head, folded, limit)


def _rows(weights: Ints, thresholds: Ints) -> list[Row]:
    """Return neurons as rows in plain form."""
    listed = zip(weights.tolist(), thresholds.tolist(), strict=True)
    return [({j: w for j, w in enumerate(row) if w}, threshold) for row, threshold in listed]


def dense_rows(rows: Sequence[Row], width: int) -> tuple[Ints, Ints]:
    """Return rows in plain form as weights of `width` bits, and thresholds."""
    weights = np.zeros((len(rows), width), np.int64)
    for number, (row, _) in enumerate(rows):
        weights[number, list(row)] = list(row.values())
    return weights, np.array([threshold for _, threshold in rows], np.int64)


# -- inequalities --------------------------------------------------------------------------------------------


def over_neurons(head: Ints, factors: Sequence[int], bound: int) -> tuple[npt.NDArray[Any], int]:
    """Return an inequality over match counts as one over the neurons that the head reads.

    It has weights, and the least sum over the active neurons, as Python integers.
    """
    row = np.zeros(head.shape[1], object)
    for factor, weights in zip(factors, head, strict=True):
        if factor:
            row = row + factor * weights.astype(object)
            bound += factor * int(np.minimum(weights, 0).sum())
    return row, bound
