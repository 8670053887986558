"""Dual bounds, recomputed in integers from the multipliers of a certificate.

To be ensured: the splits of every case are complete. The range of every sum is computed here, within the
splits above a leaf. At each leaf an integer that no input can exceed is below 0. For levels h of the last
layer, inequalities ``C h >= R`` with multipliers mu >= 0, sums ``s = base + W a`` of each layer with
multipliers lambda, and a budget with nu >= 0, that integer is

    sum over neurons of max (c step(s) - lambda s) + sum of lambda base + max over inputs a of c a - mu R

where c is ``mu C`` after the last layer and ``W' lambda`` before any other. Here s runs over the range of its
neuron, and a over the options of every feature. From each option nu times its price is subtracted, and nu
times the budget is added. This holds for any multipliers: a wrong one proves less, never something false.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Gathering, Ints, Layer, Picking, Sliding, backed
from sugenet.checker.accelerate.integers import array_problem
from sugenet.checker.form import Dual
from sugenet.checker.limit import Limit
from sugenet.checker.problem import in_integers, max_together, priced
from sugenet.checker.setting import Setting
from sugenet.checker.splits import Case, Ranges, Splits, Windows, best_compared, cases_over, center_of

__all__ = ["check_dual"]

Numbers: TypeAlias = npt.NDArray[Any]
"""Integers: 64-bit if nothing overflows, else Python integers."""
_Ends: TypeAlias = tuple[Ints, Ints]
_CELLS = 1 << 24
_FREE = 1 << 60


def check_dual(proof: Dual, setting: Setting, limit: Limit) -> str:
    """Check that multipliers and splits exclude every case of a question."""
    question = _two_sides(setting, limit) if len(setting.networks) > 1 else _one_side(setting, limit)
    return f"dual bounds exclude every violation, case by case ({question.check(proof)})"


# -- inputs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Inputs:
    """The input of the first layer at the sample, and the options of every feature in order, including its
    own state. Each option changes the values at some positions, and has a price.
    """

    start: Ints
    features: list[int]
    first: Ints
    """For each feature the index of its first option; at the end the number of options."""
    prices: Numbers
    entry: Ints
    """For each option the index of its first change; at the end the number of changes."""
    place: Ints
    change: Ints
    slot: Ints
    """For each change the index of its pair of feature and position: two features may change one position."""
    slots: Ints
    """The position of each of these pairs."""
    budget: int | None
    together: int
    """Number of features that can change within the budget."""

    def open(self, windows: Windows) -> npt.NDArray[np.bool_]:
        """Return the options that the splits leave."""
        is_open = np.ones(len(self.prices), bool)
        for (layer, feature), (low, high) in windows.items():
            if layer == 0:
                at = self.features.index(feature)
                numbers = np.arange(self.first[at + 1] - self.first[at])
                is_open[self.first[at] : self.first[at + 1]] &= (numbers >= low) & (numbers <= high)
        return is_open

    def gains(self, asked: Numbers) -> Numbers:
        """Return the gain of each option in ``asked . a``; several rows at a time."""
        if not len(self.place):  # no neuron reads the features
            return np.zeros((*asked.shape[:-1], len(self.prices)), asked.dtype)
        return np.asarray(np.add.reduceat(asked[..., self.place] * self.change, self.entry[:-1], axis=-1))

    def best(self, worth: Numbers, left: npt.NDArray[np.bool_]) -> Numbers:
        """Return the largest worth among the remaining options of every feature."""
        kept = np.where(left, worth, worth.min() - 1) if not left.all() else worth
        return np.asarray(np.maximum.reduceat(kept, self.first[:-1], axis=-1))

    def box(self, left: npt.NDArray[np.bool_]) -> _Ends | None:
        """Return the smallest and largest value at every position, summed over the features that change it.

        Return None if a feature has no option left.
        """
        if self.features and not np.logical_or.reduceat(left, self.first[:-1]).all():
            return None
        some = np.repeat(left, np.diff(self.entry))
        min_change, max_change = np.full(len(self.slots), _FREE), np.full(len(self.slots), -_FREE)
        np.minimum.at(min_change, self.slot[some], self.change[some])
        np.maximum.at(max_change, self.slot[some], self.change[some])
        low, high = self.start.copy(), self.start.copy()
        np.add.at(low, self.slots, min_change)
        np.add.at(high, self.slots, max_change)
        return low, high

    def sum_of_best(self, gains: Ints, left: npt.NDArray[np.bool_]) -> Ints:
        """Return the largest total gain of options, for each row of gains."""
        best = self.best(gains, left)
        if self.budget is None:
            return np.asarray(best.sum(axis=1))
        some = np.sort(best, axis=1)[:, max(0, best.shape[1] - self.together) :]
        max_sum = np.maximum(some, 0).sum(axis=1) + np.minimum(best, 0).sum(axis=1)
        paid = gains.any(axis=0) | (self.prices > 0)  # all other options change nothing
        if (self.prices[paid] > 0).all() and int(np.abs(gains).max(initial=1)) * self.budget < 1 << 62:
            rates = gains[:, paid] * self.budget // self.prices[paid].astype(np.int64)
            max_sum = np.minimum(max_sum, np.maximum(rates, 0).max(axis=1, initial=0))
        return np.asarray(max_sum)


# -- layers --------------------------------------------------------------------------------------------------


class _Stepped:
    """Neurons with sums ``base + W a`` and rising steps; W is written out, or a kernel with its positions."""

    def __init__(
        self, weights: Ints, base: Ints, steps: Ints, sizes: Ints, window: Any = None, groups: int = 1
    ) -> None:
        self.weights, self.base, self.steps, self.sizes = weights, base, steps, sizes
        self.window, self.groups, self.outputs = window, groups, len(steps)
        self.multipliers = self.outputs

    def sums(self, weights: Ints, values: Ints) -> Ints:
        """Return W a, with W or other weights of its shape."""
        if self.window is None:
            return np.asarray(weights @ values)
        taps, channels = self.window.taps, self.window.shape[0]
        maps = np.append(values.reshape(channels, -1), np.zeros((channels, 1), np.int64), axis=1)
        patches = maps[:, taps].reshape(self.groups, channels // self.groups, *taps.shape)
        kernels = weights.reshape(self.groups, len(weights) // self.groups, channels // self.groups, -1)
        return np.asarray(np.einsum("gcpk,gock->gop", patches, kernels).reshape(-1))

    def asked(self, lambdas: Numbers) -> Numbers:
        """Return W' lambda."""
        if self.window is None:
            return np.asarray(lambdas @ self.weights.astype(lambdas.dtype))
        taps, (channels, height, width) = self.window.taps, self.window.shape
        out = np.zeros((channels, height * width + 1), lambdas.dtype)  # the last position is padding
        per_in, per_out = channels // self.groups, len(self.weights) // self.groups
        rows = lambdas.reshape(len(self.weights), len(taps))
        for group in range(self.groups):
            mine = slice(group * per_out, (group + 1) * per_out)
            kernel = self.weights[mine].reshape(per_out, -1).astype(lambdas.dtype)
            parts = (kernel.T @ rows[mine]).reshape(per_in, taps.shape[1], len(taps))
            for tap in range(taps.shape[1]):
                out[group * per_in : (group + 1) * per_in, taps[:, tap]] += parts[:, tap]  # each pixel once
        return out[:, :-1].reshape(-1)

    def reach(self, ends: _Ends) -> _Ends:
        """Return the smallest and largest sums."""
        (low, high), plus, minus = ends, np.maximum(self.weights, 0), np.minimum(self.weights, 0)
        return (
            self.base + self.sums(plus, low) + self.sums(minus, high),
            self.base + self.sums(plus, high) + self.sums(minus, low),
        )

    def levels(self, reach: _Ends) -> _Ends:
        """Return the levels at both ends."""
        low, high = ((self.steps <= end[:, None]).sum(axis=1) for end in reach)
        return low, high

    def narrow(self, reach: _Ends, neuron: int, min_level: int, max_level: float) -> None:
        """Restrict the sums of a neuron to those of some levels."""
        low, high = reach
        if min_level > 0:
            low[neuron] = max(low[neuron], self.steps[neuron, min_level - 1])
        if max_level < self.steps.shape[1]:
            high[neuron] = min(high[neuron], self.steps[neuron, int(max_level)] - 1)

    def most(self, worth: Numbers, lambdas: Numbers, reach: _Ends, _before: _Ends, case: Case) -> int | None:
        """Return the sum over neurons of the largest ``c step(s) - lambda s``, plus the sum of ``lambda
        base``.

        Between steps the term is linear in s, so only both ends of every flat piece are evaluated. If a case
        compares one level with others, levels that do not meet it are skipped.
        """
        first, last = self.levels(reach)
        total = int((lambdas * self.base).sum())
        best, met = np.zeros(self.outputs, lambdas.dtype), np.zeros(self.outputs, bool)
        center = center_of(case)
        values: dict[int, dict[int, int]] = {} if center is None else {j: {} for row, _ in case for j in row}
        for level in range(int(first.min(initial=0)), int(last.max(initial=0)) + 1):
            starts, ends = self._piece(level, reach)
            there = starts <= ends
            here = worth * level - lambdas * np.where(
                lambdas > 0, np.where(there, starts, 0), np.where(there, ends, 0)
            )
            best = np.where(there & (~met | (here > best)), here, best)
            met = met | there
            for neuron, by_level in values.items():
                if there[neuron]:
                    by_level[level] = int(here[neuron])
        assert met.all()  # every range is nonempty
        best[list(values)] = 0
        compared = 0 if center is None else best_compared(case, center, values)
        return None if compared is None else total + int(best.sum()) + compared

    def _piece(self, level: int, reach: _Ends) -> _Ends:
        """Return the sums of a level within the range; the first exceeds the last if there are none."""
        low, high = reach
        starts = low if level == 0 else np.maximum(low, self.steps[:, level - 1])
        ends = high if level == self.steps.shape[1] else np.minimum(high, self.steps[:, level] - 1)
        return starts, ends


class _Largest:
    """The largest level at the taps of a window or, if `least`, the smallest; every tap inside has a
    multiplier.
    """

    def __init__(self, layer: Picking) -> None:
        taps, (channels, height, width) = layer.window.taps, layer.window.shape
        indices = np.arange(channels)[:, None, None] * (height * width) + taps
        self.inside = np.broadcast_to(taps >= 0, indices.shape).reshape(layer.outputs, -1)
        self.places = np.where(taps >= 0, indices, 0).reshape(layer.outputs, -1)
        self.least = np.repeat(layer.every, len(taps))
        self.inputs, self.outputs, self.multipliers = layer.inputs, layer.outputs, int(self.inside.sum())
        self.height = layer.top
        self.sizes = np.full(self.multipliers, self.height)

    def asked(self, lambdas: Numbers) -> Numbers:
        """Return the coefficients of the levels, from the multipliers."""
        out = np.zeros(self.inputs, lambdas.dtype)
        np.add.at(out, self.places[self.inside], lambdas)
        return out

    def reach(self, ends: _Ends) -> _Ends:
        """Return the smallest and largest level of every window."""
        return tuple(
            np.where(
                self.least,
                np.where(self.inside, end[self.places], self.height).min(axis=1),
                np.where(self.inside, end[self.places], 0).max(axis=1),
            )
            for end in ends
        )

    def levels(self, reach: _Ends) -> _Ends:
        """Return the range itself, since the sums of a pool are its levels."""
        return reach

    def narrow(self, reach: _Ends, neuron: int, min_level: int, max_level: float) -> None:
        """Restrict a window to some levels."""
        low, high = reach
        low[neuron], high[neuron] = max(low[neuron], min_level), min(high[neuron], max_level)

    def most(self, worth: Numbers, lambdas: Numbers, reach: _Ends, before: _Ends, _case: Case) -> int | None:
        """Return the sum over windows of the largest ``c v - sum of lambda x``.

        Here v is the largest of the x, or the smallest, so no x goes beyond it.
        """
        low, high = (end[self.places] for end in before)
        shares = np.zeros(self.places.shape, lambdas.dtype)
        shares[self.inside] = lambdas
        best, met = np.zeros(self.outputs, lambdas.dtype), np.zeros(self.outputs, bool)
        for v in range(int(reach[0].min(initial=0)), int(reach[1].max(initial=0)) + 1):
            bottom = np.where(self.least[:, None], np.maximum(low, v), low)
            top = np.where(self.least[:, None], high, np.minimum(high, v))
            there = (reach[0] <= v) & (v <= reach[1]) & ((bottom <= top) | ~self.inside).all(axis=1)
            here = worth * v - (shares * np.where(shares > 0, bottom, top)).sum(axis=1)
            best = np.where(there & (~met | (here > best)), here, best)
            met = met | there
        return int(best.sum()) if met.all() else None  # None: some window has no level left


# -- the question --------------------------------------------------------------------------------------------


class _Question(Splits):
    """The options of features, layers, and the cases."""

    def __init__(
        self, inputs: _Inputs, layers: list[_Stepped | _Largest], cases: list[Case], limit: Limit
    ) -> None:
        sizes, shares = [layer.outputs for layer in layers], [layer.multipliers for layer in layers]
        super().__init__(inputs.features, sizes, shares, cases, limit)
        self.inputs, self.layers = inputs, layers

    def ranges(self, windows: Windows) -> Ranges:
        """Return levels of the inputs and all layers, and sums of all layers, within splits; None if there
        are none.
        """
        left = self.inputs.open(windows)
        box = self.inputs.box(left)
        if box is None:
            return None
        levels, sums = [box], []
        for number, layer in enumerate(self.layers):
            self.limit.look()
            if (levels[-1][0] > levels[-1][1]).any():
                return None
            low, high = layer.reach(levels[-1])
            if number == 0 and isinstance(layer, _Stepped):
                low, high = self._first(layer, left, low, high)
            reach = low.copy(), high.copy()
            for (at, unit), (min_level, max_level) in windows.items():
                if at == number + 1:
                    layer.narrow(reach, unit, min_level, max_level)
            if (reach[0] > reach[1]).any():
                return None
            sums.append(reach)
            levels.append(layer.levels(reach))
        return None if (levels[-1][0] > levels[-1][1]).any() else (levels, sums)

    def _first(self, layer: _Stepped, left: npt.NDArray[np.bool_], low: Ints, high: Ints) -> _Ends:
        """Return the sums of the first layer, feature by feature."""
        inputs = self.inputs
        single = inputs.budget is None and len(inputs.place) == len(inputs.prices)
        if (
            single
            or layer.window is not None
            or len(inputs.prices) * layer.outputs > _CELLS
            or not inputs.features
        ):
            return low, high
        self.limit.fits(
            40 * (len(inputs.place) + len(inputs.prices)) * layer.outputs, "the table of gains in neurons"
        )
        here, gains = layer.base + layer.weights @ inputs.start, inputs.gains(layer.weights)
        return (
            np.maximum(low, here - inputs.sum_of_best(-gains, left)),
            np.minimum(high, here + inputs.sum_of_best(gains, left)),
        )

    def last_levels(self, ranges: Any) -> list[tuple[int, int]]:
        low, high = ranges[0][-1]
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def bound(
        self,
        case: Case,
        worth: Mapping[int, int],
        ranges: Any,
        windows: Windows,
        nu: int,
        lambdas: Sequence[Sequence[int]],
    ) -> int | None:
        (levels, sums), total = ranges, 0
        value_of = np.array([worth.get(j, 0) for j in range(len(levels[-1][0]))], object)
        multipliers: list[Numbers] = [np.asarray(row, np.int64) for row in lambdas]
        if self._stays_small(value_of, levels[-1][1], nu, multipliers):
            value_of = value_of.astype(np.int64)
        else:
            multipliers = [row.astype(object) for row in multipliers]
        for number in reversed(range(len(self.layers))):
            self.limit.look()
            layer, row = self.layers[number], multipliers[number]
            compared = case if number + 1 == len(self.layers) else []
            max_value = layer.most(value_of, row, sums[number], levels[number], compared)
            if max_value is None:
                return None
            total += max_value
            value_of = layer.asked(row)
        return total + int((value_of * self.inputs.start).sum()) + self._inputs(value_of, nu, windows)

    def _inputs(self, worth: Numbers, nu: int, windows: Windows) -> int:
        """Return the largest total worth of the options of all features."""
        inputs = self.inputs
        if not inputs.features:
            return 0
        gains = inputs.gains(worth)
        if inputs.budget is not None:
            gains = gains - nu * inputs.prices.astype(gains.dtype)
        total = int(inputs.best(gains, inputs.open(windows)).sum())
        return total if inputs.budget is None else total + nu * inputs.budget

    def _stays_small(self, worth: Numbers, tops: Ints, nu: int, multipliers: list[Numbers]) -> bool:
        """Return whether no intermediate number exceeds 62 bits: all are sums of parts of these, each at most
        twice.
        """
        parts = [abs(c) * max(1, top) for c, top in zip(worth.tolist(), tops.tolist(), strict=True)]
        for layer, lambdas in zip(self.layers, multipliers, strict=True):
            parts += [abs(a) * b for a, b in zip(lambdas.tolist(), layer.sizes.tolist(), strict=True)]
        if self.inputs.budget is not None:
            parts.append((nu + 1) * (self.inputs.budget + sum(self.inputs.prices.tolist())))
        return bool(4 * sum(parts) < 1 << 62)


def _one_side(setting: Setting, limit: Limit) -> _Question:
    """Return a question about one network, with its layers unchanged."""
    network = backed(setting.networks[0]).quantized
    options, budget = priced(setting, limit)
    start = network.inputs_at([setting.base[0]])[0].astype(np.int64)
    known: dict[Any, tuple[Ints, list[int]]] = {}  # equal features share changes and prices
    listed: list[tuple[Ints, Ints, list[int]]] = []
    for feature, (row, costs) in options.items():
        limit.look()
        coding, base_state = network.codings[feature], setting.own[feature]
        indices = network.places[feature]
        key = (id(row), id(coding), base_state, start[indices].tobytes())
        if key not in known:
            rising = sorted(range(len(row)), key=[option.order for option in row].__getitem__)
            there = [row[k].states[0] for k in rising]
            changes = network.changes(feature, start, there)
            stay = sum(option.order < base_state for option in row)
            prices = [costs[k] for k in rising]
            known[key] = np.insert(changes, stay, 0, axis=0), [*prices[:stay], 0, *prices[stay:]]
        limit.take(40 * known[key][0].size, "the list of all changes in integers")
        listed.append((indices, *known[key]))
    together = max_together((min(costs) for _, costs in options.values()), budget)
    inputs = _inputs_of(start, list(options), listed, budget, together)
    layers = [_layer(layer, limit) for layer in network.layers]
    head = network.head
    limit.take(100 * head.shape[1] * sum(map(len, setting.cases)), "the inequalities of a violation")
    asked = [[in_integers(*part) for part in case] for case in setting.cases]
    cases = cases_over(asked, head.tolist(), (np.minimum(head, 0) @ network.tops).tolist())
    return _Question(inputs, layers, cases, limit)


def _inputs_of(
    start: Ints,
    features: list[int],
    listed: list[tuple[Ints, Ints, list[int]]],
    budget: int | None,
    together: int,
) -> _Inputs:
    """Return the inputs, from the positions of each feature, the changes of its options there, and their
    prices.
    """
    none = np.zeros(0, np.int64)
    change = np.concatenate([none, *(changes.reshape(-1) for _, changes, _ in listed)])
    slots = np.concatenate([none, *(indices for indices, _, _ in listed)])
    widths = np.array([len(indices) for indices, _, _ in listed], np.int64)
    options = np.array([len(changes) for _, changes, _ in listed], np.int64)
    wide = np.repeat(widths, options)
    entry = np.append(0, np.cumsum(wide))
    # an option visits each slot of its feature once
    start_of = np.repeat(np.cumsum(widths) - widths, options)
    slot = np.arange(entry[-1]) + np.repeat(start_of - entry[:-1], wide)
    index = slots[slot]
    prices = [price for _, _, costs in listed for price in costs]
    large = any(price >= 1 << 62 for price in prices)
    first = np.cumsum([0, *(len(costs) for _, _, costs in listed)])
    costs = np.array(prices, object if large else np.int64)
    return _Inputs(start, features, first, costs, entry, index, change, slot, slots, budget, together)


def _layer(layer: Layer, limit: Limit) -> _Stepped | _Largest:
    """Return a layer of the network: match counts are ``base + W a``, and tau are its steps."""
    limit.take(100 * layer.outputs, "the neurons of a layer")
    if isinstance(layer, Picking):
        return _Largest(layer)
    limit.take(layer.steps.nbytes, "the steps of a layer")
    if isinstance(layer, Gathering):
        limit.take(8 * layer.outputs * layer.inputs, "a layer written out as neurons")
        layer = layer.dense()
    window, groups = (layer.window, layer.groups) if isinstance(layer, Sliding) else (None, 1)
    return _Stepped(layer.weights, -layer.lowest, layer.steps, layer.sizes, window, groups)


def _two_sides(setting: Setting, limit: Limit) -> _Question:
    """Return a question about two sides, as thresholds over the gains of its changes in the first layer."""
    problem = array_problem(setting, limit)
    n_neurons, features = len(problem.base), sorted(setting.options)
    listed = []
    for options in problem.offered:
        limit.take(80 * n_neurons * len(options), "the table of gains in neurons")
        gains = np.array([gain for _, gain in options]).reshape(len(options), n_neurons)
        listed.append((np.arange(n_neurons), gains, [price for price, _ in options]))
    inputs = _inputs_of(problem.base, features, listed, None, len(features))
    none = np.zeros(n_neurons, np.int64)
    size = np.abs(problem.base) + np.abs(inputs.change.reshape(len(inputs.prices), n_neurons)).sum(axis=0)
    layers: list[_Stepped | _Largest] = [
        _Stepped(np.eye(n_neurons, dtype=np.int64), none, none[:, None], size)
    ]
    for weights, tau in problem.layers:
        base = np.maximum(-weights, 0).sum(axis=1)
        layers.append(_Stepped(weights, base, tau[:, None], np.abs(weights).sum(axis=1)))
    lowest = np.minimum(problem.head, 0).sum(axis=1).tolist()
    cases = cases_over(problem.cases, problem.head.tolist(), lowest)
    return _Question(inputs, layers, cases, limit)
