"""A network and a question about it as plain arrays of whole numbers.

To be ensured: every option of the setting is there with what it adds to the first layer, measured by the
definition; its price is not above the true one; and the violations are those of the setting, no fewer. The
match count of the first layer is a sum over features, so what each single change adds is measured once. The
neurons of two sides stand one after another. Staircases are cut into their steps first (`arrays.cuts_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Arrays, Layer, Summing, cuts_of
from sugenet.checker.accelerate.products import Ints, products
from sugenet.checker.limit import Limit
from sugenet.checker.problem import in_integers, priced
from sugenet.checker.setting import Setting

__all__ = [
    "Demand",
    "Options",
    "Whole",
    "joined",
    "over_neurons",
    "reachable",
    "violations",
    "whole_of",
    "with_best",
]

_CELLS = 1 << 18
"""Values, bits and match counts that are worked out at a time."""
Options: TypeAlias = Sequence[Sequence[tuple[int, Ints]]]
"""For each feature its options: a whole price, and what the option adds to the first layer."""
Demand: TypeAlias = tuple[list[int], int]
"""``sum(factor * match count) >= least`` over the classes: the factors, and what must be reached."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A network and a question about it as whole numbers."""

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
    cases: list[list[Demand]]
    limit: Limit

    @cached_property
    def layers(self) -> list[tuple[Ints, Ints]]:
        """Weights and tau of the layers behind the first."""
        layers = []
        for layer in self.behind:
            if isinstance(layer, tuple):
                layers.append(layer)
                continue
            if not isinstance(layer, Summing):
                self.limit.take(16 * layer.outputs * layer.inputs, "a layer written out as neurons")
            dense = layer.dense()
            layers.append((dense.weights, dense.tau))
        return layers

    @cached_property
    def inequalities(self) -> tuple[list[tuple[tuple[int, ...], int]], list[list[int]]]:
        """Those of all cases, each once; and for each case which of them it has."""
        once = dict.fromkeys((tuple(factors), bound) for case in self.cases for factors, bound in case)
        number = {part: k for k, part in enumerate(once)}
        return list(once), [[number[tuple(factors), bound] for factors, bound in case] for case in self.cases]

    @property
    def offered(self) -> list[list[tuple[int, Ints]]]:
        """The options of each feature in order, staying as it is among them."""
        still = (0, np.zeros(len(self.base), np.int64))
        return [
            [*options[:stay], still, *options[stay:]]
            for options, stay in zip(self.features, self.stays, strict=True)
        ]

    def violates(self, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Whether match counts of the classes, one row each, are a violation."""
        return violations(self.cases, self.head, counts)


def violations(cases: list[list[Demand]], head: Ints, counts: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether match counts of the classes, one row each, meet all inequalities of some case."""
    once = dict.fromkeys((tuple(factors), bound) for case in cases for factors, bound in case)
    number = {demand: k for k, demand in enumerate(once)}
    members = [[number[tuple(factors), bound] for factors, bound in case] for case in cases]
    sizes = [sum(map(abs, row)) for row in head.tolist()]  # no match count is larger
    sums = (
        abs(bound) + sum(abs(f) * size for f, size in zip(row, sizes, strict=True)) for row, bound in once
    )
    largest = max(sums, default=0)  # nor is any sum, in whatever order it is added up: floats are exact
    kind: Any = np.float64 if largest < 1 << 53 else np.int64 if largest < 1 << 63 else object
    factors = np.array([row for row, _ in once], kind).reshape(len(once), counts.shape[1])
    bounds = np.array([bound for _, bound in once], kind)[:, None]
    bad, step = np.zeros(len(counts), bool), max(1, _CELLS // max(1, len(once)))
    for k in range(0, len(counts), step):
        met = np.asarray(factors @ counts[k : k + step].T.astype(kind) >= bounds, dtype=bool)
        for case in members:
            bad[k : k + step] |= met[case].all(axis=0)
    return bad


# -- the first layer, and the rest ---------------------------------------------------------------------------


def whole_of(setting: Setting, limit: Limit) -> Whole:
    """A setting in whole numbers."""
    options, budget = priced(setting, limit)
    changes = sum(len(row) for row, _ in options.values())
    cuts = cuts_of(setting.networks)
    wide = sum(_width(network) for network in cuts)
    limit.take((changes + 1) * (8 * wide + 200), "what each change adds to the neurons")
    base, gains = np.empty(wide, np.int64), np.empty((changes, wide), np.int64)
    start = 0
    for side, network in enumerate(cuts):
        stop = start + _width(network)
        states = np.array([setting.base[side]], np.int64)
        base[start:stop] = _first(network, states)[0]
        single = ((f, option.states[side]) for f, (row, _) in options.items() for option in row)
        _changed(network, states, single, gains[:, start:stop], limit)
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
        return Whole(base, features, stays, budget, list(network.layers[1:]), network.head, cases, limit)
    return _merged(base, features, stays, cuts, cases, limit)


def _width(network: Arrays) -> int:
    """Neurons of the first layer; the bits themselves where there is no hidden layer."""
    return network.layers[0].outputs if network.layers else network.width


def _changed(
    network: Arrays, states: Ints, single: Iterable[tuple[int, int]], out: Ints, limit: Limit
) -> None:
    """Write what each change of a single state adds to the match counts of the first layer."""
    read = network.width
    step = max(1, _CELLS // max(1, read + _width(network)))
    index, left = 0, iter(single)
    before = _Before(network, states)
    while block := list(islice(left, step)):
        limit.look()
        rows = np.repeat(states, len(block), axis=0)
        for row, (feature, state) in zip(rows, block, strict=True):
            row[feature] = state
        out[index : index + len(block)] = before.added(rows)
        index += len(block)


class _Before:
    """What the first layer reads at an input, or M - tau of its neurons there."""

    def __init__(self, network: Arrays, states: Ints) -> None:
        self.network, self.layer = network, network.layers[0] if network.layers else None
        is_dense = isinstance(self.layer, Summing)
        self.before: Any = network.inputs_at(states) if is_dense else _first(network, states)

    def added(self, rows: Ints) -> Ints:
        """What other inputs add to the match counts: for a dense layer, the literals of those inputs that
        differ anywhere, since all others hold as they did.
        """
        if not isinstance(self.layer, Summing):
            return np.asarray(_first(self.network, rows) - self.before)
        bits = self.network.inputs_at(rows)
        differ = np.flatnonzero((bits != self.before).any(axis=0))
        weights = self.layer.weights[:, differ]
        here, there = (products(each[:, differ], weights, self.layer.tallest) for each in (self.before, bits))
        return np.asarray(there - here)


def _first(network: Arrays, states: Ints) -> Ints:
    """M - tau of the first layer; of the bits themselves where there is no hidden layer."""
    inputs = network.inputs_at(states)
    if not network.layers:
        return np.where(inputs, 0, -1).astype(np.int64)
    return np.asarray(network.layers[0].match_counts(inputs) - network.layers[0].tau)


def reachable(base: Ints, features: Options, together: int) -> tuple[Ints, Ints]:
    """Least and largest margin M - tau of each first-layer neuron: the best change of every feature, of as
    many as can change together.
    """
    ups = np.zeros((len(features), len(base)), np.int64)
    downs = ups.copy()
    for row, options in enumerate(features):
        for _, gain in options:
            ups[row] = np.maximum(ups[row], gain)
            downs[row] = np.minimum(downs[row], gain)
    return with_best(base, ups, downs, together)


def with_best(base: Ints, ups: Ints, downs: Ints, together: int) -> tuple[Ints, Ints]:
    """Numbers with the least and with the most that so many rows add, of those that bring most."""
    if together == 1 < len(ups):
        ups, downs = ups.max(axis=0, keepdims=True), downs.min(axis=0, keepdims=True)
    elif together < len(ups):
        ups = np.partition(ups, len(ups) - together - 1, axis=0)[len(ups) - together :]
        downs = np.partition(downs, together, axis=0)[:together]
    return base + downs.sum(axis=0), base + ups.sum(axis=0)


def joined(features: Options, max_options: int) -> list[list[tuple[int, Ints]]]:
    """Features without prices, those that add most first. The last ones are made one that has all their
    combinations as options, up to so many: there are as many sets of options as before, which add the same.
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
    networks: tuple[Arrays, ...],
    cases: list[list[Demand]],
    limit: Limit,
) -> Whole:
    """Two sides with equal or opposite neurons made one, and neurons that never turn folded into what
    follows; the first ones are kept.

    All is done on sums of true inputs, ``weights @ v >= least``, and written back as match counts.
    """
    depth = max(1, *(len(network.layers) for network in networks))
    gains = np.array([gain for row in features for _, gain in row]).reshape(
        sum(map(len, features)), len(base)
    )
    limit.take(60 * gains.size, "neurons of both sides that are compared")  # Python integers
    low, high = reachable(base, features, len(features))
    looks = [(-int(base[j]), *gains[:, j].tolist()) for j in range(len(base))]
    values: list[bool | None] = [
        True if low[j] >= 0 else False if high[j] < 0 else None for j in range(len(looks))
    ]
    firsts, index = _first_of_each(looks, values, limit)
    base, features = base[firsts], [[(price, gain[firsts]) for price, gain in row] for row in features]
    layers: list[Layer | tuple[Ints, Ints]] = []
    for weights, tau in (
        _beside(row) for row in zip(*(_later(n, depth, limit) for n in networks), strict=True)
    ):
        limit.take(120 * weights.size, "neurons of both sides that are compared")
        sums, thresholds = _fewer(
            weights, tau + np.minimum(weights, 0).sum(axis=1), values, index, len(firsts)
        )
        min_sums, max_sums = np.minimum(sums, 0).sum(axis=1), np.maximum(sums, 0).sum(axis=1)
        looks = [(int(b), *row.tolist()) for b, row in zip(thresholds, sums, strict=True)]
        values = [
            True if min_sums[j] >= b else False if max_sums[j] < b else None for j, b in enumerate(thresholds)
        ]
        firsts, index = _first_of_each(looks, values, limit)
        layers.append((sums[firsts], (thresholds - min_sums)[firsts]))
    both = _beside([(network.head, np.zeros(len(network.head), np.int64)) for network in networks])[0]
    head, gone = _fewer(both, np.minimum(both, 0).sum(axis=1), values, index, len(firsts))
    gone = gone - np.minimum(head, 0).sum(axis=1)
    folded = [
        [
            (factors, bound + sum(f * int(g) for f, g in zip(factors, gone, strict=True)))
            for factors, bound in case
        ]
        for case in cases
    ]
    return Whole(base, features, stays, None, layers, head, folded, limit)


def _first_of_each(
    looks: list[Any], values: list[bool | None], limit: Limit
) -> tuple[list[int], list[tuple[int, int]]]:
    """First neuron of each look (bound, weights...); for every neuron its place among them, and sign -1 where
    it is the opposite.
    """
    firsts: list[int] = []
    seen: dict[Any, int] = {}
    index = []
    for number, (look, value) in enumerate(zip(looks, values, strict=True)):
        limit.look()
        contrary = (1 - look[0], *(-weight for weight in look[1:]))
        if value is not None:
            index.append((-1, 0))
        elif look not in seen and contrary in seen:
            index.append((seen[contrary], -1))
        else:
            if look not in seen:
                seen[look] = len(firsts)
                firsts.append(number)
            index.append((seen[look], 1))
    return firsts, index


def _fewer(
    weights: Ints, thresholds: Ints, values: list[bool | None], index: list[tuple[int, int]], count: int
) -> tuple[Ints, Ints]:
    """Weights over the neurons kept; a constant or opposite neuron also takes its share of what
    the sum must reach.
    """
    out, bound = np.zeros((len(weights), count), np.int64), np.array(thresholds)
    for column, (value, (target, sign)) in enumerate(zip(values, index, strict=True)):
        if value is None:
            out[:, target] += sign * weights[:, column]
        if value or sign == -1:
            bound = bound - weights[:, column]
    return out, bound


def _later(network: Arrays, depth: int, limit: Limit) -> list[tuple[Ints, Ints]]:
    layers = []
    for layer in network.layers[1:]:
        limit.take(40 * layer.outputs * layer.inputs, "a layer of two networks side by side")
        dense = layer.dense()
        layers.append((dense.weights, dense.tau))
    inputs = network.head.shape[1]
    if len(layers) < depth - 1:
        limit.take(40 * inputs**2, "a layer of two networks side by side")
        layers += [(np.eye(inputs, dtype=np.int64), np.ones(inputs, np.int64))] * (depth - 1 - len(layers))
    return layers


def _beside(parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    weights = np.zeros((sum(w.shape[0] for w, _ in parts), sum(w.shape[1] for w, _ in parts)), np.int64)
    i = j = 0
    for w, _ in parts:
        weights[i : i + w.shape[0], j : j + w.shape[1]] = w
        i, j = i + w.shape[0], j + w.shape[1]
    return weights, np.concatenate([tau for _, tau in parts])


# -- inequalities --------------------------------------------------------------------------------------------


def over_neurons(head: Ints, factors: Sequence[int], bound: int) -> tuple[npt.NDArray[Any], int]:
    """An inequality over match counts as one over the neurons that the head reads: weights, and what those of
    the active ones must sum to, as Python integers.
    """
    row = np.zeros(head.shape[1], object)
    for factor, weights in zip(factors, head, strict=True):
        if factor:
            row = row + factor * weights.astype(object)
            bound += factor * int(np.minimum(weights, 0).sum())
    return row, bound
