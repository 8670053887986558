"""Splits with bound leaves in plain form: integer upper bounds over all inputs, from the multipliers of a
proof.

To be ensured: the splits of every case are complete. The range of every sum is computed here, within the
splits above a leaf. At each leaf an integer that no input can exceed is below 0. For levels h of the last
layer, inequalities ``C h >= R`` with multipliers mu >= 0, sums ``s = W a`` of each layer with multipliers
lambda, and a budget with nu >= 0, that integer is

    sum over neurons of max (c step(s) - lambda s) + max over inputs a of c a - mu R

where c is ``mu C`` after the last layer and ``W' lambda`` before any other. Here s runs over the range of its
neuron, and a over the options of every feature. From each option nu times its price is subtracted, and nu
times the budget is added. A pool neuron has one multiplier per input instead. This holds for any multipliers:
a wrong one proves less, never something false.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from math import inf
from typing import Any, TypeAlias

from sugenet.checker.form import Dual
from sugenet.checker.limit import Limit
from sugenet.checker.network import Pooled, Summed
from sugenet.checker.problem import in_integers, max_together, priced, problem_of
from sugenet.checker.setting import Setting
from sugenet.checker.splits import Case, Ranges, Splits, Windows, best_compared, cases_over, center_of

__all__ = ["check_multipliers"]

_Ends: TypeAlias = list[tuple[int, int]]
_Moves: TypeAlias = list[tuple[int, dict[int, int]]]
"""The options of a feature in order, including its own state: price, and changes by position."""


def check_multipliers(proof: Dual, setting: Setting, limit: Limit) -> str:
    """Check that multipliers and splits exclude every case of a question."""
    is_expanded = len(setting.networks) > 1 or bool(setting.networks[0].clauses)
    question = _over_bits(setting, limit) if is_expanded else _over_levels(setting, limit)
    return f"dual bounds exclude every violation, case by case ({question.check(proof)}, plain form)"


# -- neurons -------------------------------------------------------------------------------------------------


def _n_shares(neuron: Summed | Pooled) -> int:
    """Return the number of multipliers of a neuron: one, or one per input of a pool."""
    return len(neuron.inputs) if isinstance(neuron, Pooled) else 1


def _reach(neuron: Summed | Pooled, before: _Ends) -> tuple[int, int]:
    """Return the smallest and largest sum of a neuron, or the levels for a pool."""
    if isinstance(neuron, Pooled):
        end = min if neuron.least else max
        return end(before[i][0] for i in neuron.inputs), end(before[i][1] for i in neuron.inputs)
    taps = [(before[i], w) for i, w in zip(neuron.inputs, neuron.weights, strict=True)]
    min_sum = sum(w * (low if w > 0 else high) for (low, high), w in taps)
    return min_sum, sum(w * (high if w > 0 else low) for (low, high), w in taps)


def _level(neuron: Summed | Pooled, total: int) -> int:
    """Return the level for a sum; for a pool, the sum itself."""
    return total if isinstance(neuron, Pooled) else bisect_right(neuron.thresholds, total)


def _piece(neuron: Summed | Pooled, level: int, max_level: float) -> tuple[Any, Any]:
    """Return the smallest and largest sum for levels from one to another; for a pool, these levels."""
    if isinstance(neuron, Pooled):
        return level, max_level
    steps = neuron.thresholds
    return -inf if level == 0 else steps[level - 1], inf if max_level >= len(steps) else steps[
        int(max_level)
    ] - 1


def _both(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    return max(a[0], b[0]), min(a[1], b[1])


def _worth(
    neuron: Summed | Pooled, worth: int, lambdas: Sequence[int], reach: tuple[int, int], before: _Ends
) -> dict[int, int]:
    """Return the largest ``c level - lambda s`` for each level that a neuron can have.

    For a pool, the terms of the multipliers of its inputs are subtracted; no input exceeds the level.
    """
    by_level = {}
    for level in range(_level(neuron, reach[0]), _level(neuron, reach[1]) + 1):
        if isinstance(neuron, Pooled):
            beyond = (level, inf) if neuron.least else (-inf, level)
            ends = [_both(before[i], beyond) for i in neuron.inputs]
        else:
            ends = [_both(reach, _piece(neuron, level, level))]
        if all(low <= high for low, high in ends):  # linear in each input, so one of the two ends is best
            asked = (
                share * (low if share > 0 else high) for share, (low, high) in zip(lambdas, ends, strict=True)
            )
            by_level[level] = worth * level - sum(asked)
    return by_level


# -- the question --------------------------------------------------------------------------------------------


class _Moving(Splits):
    """The inputs of the first layer at the sample, the features that move, the layers of neurons, and the
    cases as inequalities over the levels that the head reads.
    """

    def __init__(
        self,
        start: list[int],
        features: dict[int, _Moves],
        budget: int | None,
        together: int,
        layers: Sequence[Sequence[Summed | Pooled]],
        cases: list[Case],
        limit: Limit,
    ) -> None:
        shares = [sum(map(_n_shares, neurons)) for neurons in layers]
        super().__init__(features, [len(neurons) for neurons in layers], shares, cases, limit)
        self.start, self.features, self.budget, self.together = start, features, budget, together
        self.layers = layers
        moved: list[set[int]] = [set() for _ in start]
        for feature, options in features.items():
            for index in (position for _, changes in options for position in changes):
                moved[index].add(feature)
        self.gains: list[dict[int, list[int]]] = []
        """For each neuron of the first layer, the gains of the options of features in its sum."""
        for neuron in layers[0] if layers else ():
            limit.look()
            weights = (
                dict(zip(neuron.inputs, neuron.weights, strict=True)) if isinstance(neuron, Summed) else {}
            )
            self.gains.append(
                {
                    f: [sum(weights.get(p, 0) * c for p, c in changes.items()) for _, changes in features[f]]
                    for f in sorted({f for position in weights for f in moved[position]})
                }
            )

    def _left(self, windows: Windows) -> dict[int, list[int]]:
        """Return the options of each feature that splits leave."""
        options_left = {}
        for feature, options in self.features.items():
            low, high = windows.get((0, feature), (0, inf))
            options_left[feature] = [k for k in range(len(options)) if low <= k <= high]
        return options_left

    def ranges(self, windows: Windows) -> Ranges:
        """Return the ranges of levels and sums within splits."""
        left = self._left(windows)
        if not all(left.values()):
            return None
        box = [(value, value) for value in self.start]
        for feature, kept in left.items():
            options = [self.features[feature][k][1] for k in kept]
            for index in {position for changes in options for position in changes}:
                changes = [one.get(index, 0) for one in options]
                box[index] = box[index][0] + min(changes), box[index][1] + max(changes)
        levels, sums = [box], list[_Ends]()
        for number, neurons in enumerate(self.layers, start=1):
            self.limit.look()
            reach = []
            for j, neuron in enumerate(neurons):
                ends = _reach(neuron, levels[-1])
                if number == 1 and isinstance(neuron, Summed):
                    here = neuron.total(self.start)
                    rise, fall = self._added(j, left, 1), self._added(j, left, -1)
                    ends = _both(ends, (here - fall, here + rise))
                if (number, j) in windows:
                    ends = _both(ends, _piece(neuron, *windows[number, j]))
                if ends[0] > ends[1]:
                    return None
                reach.append(ends)
            sums.append(reach)
            levels.append([(_level(n, a), _level(n, b)) for n, (a, b) in zip(neurons, reach, strict=True)])
        return levels, sums

    def _added(self, j: int, left: dict[int, list[int]], sign: int) -> int:
        """Return the most that options can add to a first-layer sum, or subtract from it.

        It sums the best of each feature, for as many features as the budget allows, and never exceeds the
        best rate times the whole budget.
        """
        gains = [
            [(sign * row[k], self.features[f][k][0]) for k in left[f]] for f, row in self.gains[j].items()
        ]
        best = sorted((max(gain for gain, _ in row) for row in gains), reverse=True)
        if self.budget is None:
            return sum(best)
        max_sum = sum(max(gain, 0) for gain in best[: self.together]) + sum(min(gain, 0) for gain in best)
        paid = [(gain, price) for row in gains for gain, price in row if gain > 0]
        if all(price > 0 for _, price in paid):
            max_sum = min(max_sum, max((gain * self.budget // price for gain, price in paid), default=0))
        return max_sum

    def last_levels(self, ranges: Any) -> Sequence[tuple[int, int]]:
        levels: list[_Ends] = ranges[0]
        return levels[-1]

    def bound(
        self,
        case: Case,
        worth: Mapping[int, int],
        ranges: Any,
        windows: Windows,
        nu: int,
        lambdas: Sequence[Sequence[int]],
    ) -> int | None:
        levels, sums = ranges
        value_of, total = [worth.get(j, 0) for j in range(len(levels[-1]))], 0
        for number in reversed(range(len(self.layers))):
            self.limit.look()
            neurons, stream = self.layers[number], iter(lambdas[number])
            shares = [list(islice(stream, _n_shares(neuron))) for neuron in neurons]
            parts = zip(neurons, value_of, shares, sums[number], strict=True)
            values = [_worth(*part, levels[number]) for part in parts]
            if not all(values):
                return None
            center = center_of(case) if number + 1 == len(self.layers) else None
            named = set() if center is None else {center, *(j for row, _ in case for j in row)}
            total += sum(max(by_level.values()) for j, by_level in enumerate(values) if j not in named)
            if center is not None:
                compared = best_compared(case, center, dict(enumerate(values)))
                if compared is None:
                    return None
                total += compared
            value_of = _passed_on(len(levels[number]), zip(neurons, shares, strict=True))
        total += sum(c * a for c, a in zip(value_of, self.start, strict=True))
        price_of = 0 if self.budget is None else nu
        for feature, kept in self._left(windows).items():
            options = (self.features[feature][k] for k in kept)
            total += max(
                sum(value_of[p] * c for p, c in row.items()) - price_of * price for price, row in options
            )
        return total + (nu * self.budget if self.features and self.budget is not None else 0)


def _passed_on(width: int, parts: Iterable[tuple[Summed | Pooled, Sequence[int]]]) -> list[int]:
    """Return the value of the inputs of a layer: each multiplier times the weights of its neuron."""
    worth = [0] * width
    for neuron, lambdas in parts:
        weights = (
            lambdas if isinstance(neuron, Pooled) else [lambdas[0] * weight for weight in neuron.weights]
        )
        for index, weight in zip(neuron.inputs, weights, strict=True):
            worth[index] += weight
    return worth


def _over_levels(setting: Setting, limit: Limit) -> _Moving:
    """Return a question about one network, with its layers unchanged."""
    network, (base,) = setting.networks[0], setting.base
    options, budget = priced(setting, limit)
    read = [network.reading(feature, state) for feature, state in enumerate(base)]
    features, index = {}, 0
    for feature, here in enumerate(read):
        limit.look()
        moves = [(setting.own[feature], 0, base[feature])]
        if feature in options:
            row, prices = options[feature]
            moves += [(one.order, price, one.states[0]) for one, price in zip(row, prices, strict=True)]
            features[feature] = [
                (
                    price,
                    {index + k: b - a for k, (a, b) in enumerate(zip(here, there, strict=True)) if a != b},
                )
                for _, price, state in sorted(moves)
                for there in [network.reading(feature, state)]
            ]
        index += len(here)
    head = network.head.weights
    lowest = [sum(min(w, 0) * top for w, top in zip(row, network.last_tops, strict=True)) for row in head]
    cases = cases_over([[in_integers(*part) for part in case] for case in setting.cases], head, lowest)
    together = max_together((min(prices) for _, prices in options.values()), budget)
    layers = [layer.neurons for layer in network.layers]
    start = [value for here in read for value in here]
    return _Moving(start, features, budget, together, layers, cases, limit)


def _over_bits(setting: Setting, limit: Limit) -> _Moving:
    """Return a question about two sides or with laws: the first layer reads its own sums, later layers read
    bits.
    """
    problem = problem_of(setting, limit)
    features = {
        number: [(price, {j: gain for j, gain in enumerate(gains) if gain}) for price, gains in row]
        for number, row in zip(problem.numbers, problem.offered, strict=True)
    }
    layers: list[Sequence[Summed | Pooled]] = [[Summed((j,), (1,), (0,)) for j in range(len(problem.base))]]
    for rows in problem.layers:
        layers.append([Summed(tuple(row), tuple(row.values()), (threshold,)) for row, threshold in rows])
    cases = [[problem.inequalities[number] for number in case] for case in problem.cases]
    lightest = (min(price for price, _ in row) for row in problem.features)
    together = max_together(lightest, problem.budget)
    return _Moving(problem.base, features, problem.budget, together, layers, cases, limit)
