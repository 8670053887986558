"""Splits with bound leaves in plain form: integers that no input can exceed, from the multipliers of a proof.

To be ensured: the splits of every case leave nothing out; the range of every sum is computed here, within the
splits above a leaf; and at each leaf an integer that no input can exceed is below 0. For levels h of the last
layer, inequalities ``C h >= R`` with multipliers mu >= 0, sums ``s = W a`` of each layer with multipliers
lambda, and a budget with nu >= 0, that integer is

    sum over neurons of max (c step(s) - lambda s) + max over inputs a of c a - mu R

where c is ``mu C`` after the last layer and ``W' lambda`` before any other, s goes through the range of its
neuron, and a through the options of every feature, each less nu times its price, and nu times the budget
added. A neuron of a pool has a multiplier for each of its inputs instead. All this holds for any multipliers:
a wrong one proves less, never something false.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import inf
from struct import unpack
from typing import Any, TypeAlias

from sugenet.checker.form import Dual
from sugenet.checker.limit import Limit
from sugenet.checker.network import Pooled, Summed
from sugenet.checker.problem import Row, combined, in_integers, max_together, priced, problem_of
from sugenet.checker.setting import Setting
from sugenet.checker.unpack import unpacked
from sugenet.errors import CertificateError

__all__ = ["check_multipliers"]

_Windows: TypeAlias = dict[tuple[int, int], tuple[int, float]]
"""What splits leave: of a layer from 1 and a neuron its levels, of layer 0 and a feature its options."""
_Ends: TypeAlias = list[tuple[int, int]]
_Ranges: TypeAlias = tuple[list[_Ends], list[_Ends]] | None
"""Levels of the inputs and of all layers, and sums of all layers; None if there are none."""
_Moves: TypeAlias = list[tuple[int, dict[int, int]]]
"""The options of a feature in order, its own among them: price, and changes by place."""
_Case: TypeAlias = list[Row]


def check_multipliers(proof: Dual, setting: Setting, limit: Limit) -> str:
    """See that every case of a question is excluded by its multipliers and splits."""
    is_expanded = len(setting.networks) > 1 or bool(setting.networks[0].clauses)
    question = _over_bits(setting, limit) if is_expanded else _over_levels(setting, limit)
    if len(proof.cases) != len(question.cases):
        raise CertificateError(f"{len(question.cases)} cases to be excluded, but the proof has others.")
    told = _Stream(proof.multipliers, limit)
    root, leaves = question.ranges({}), 0
    for tree, case in zip(proof.cases, question.cases, strict=True):
        waiting: list[tuple[Any, _Windows]] = [(tree, {})]
        while waiting:
            limit.look()
            part, windows = waiting.pop()
            if isinstance(part, tuple):
                waiting += question.split(part, windows)
                continue
            leaves += 1
            ranges = question.ranges(windows) if windows else root
            if part == 0:
                question.see_ranges(case, ranges)
            elif part == 1:
                question.see_multipliers(case, ranges, windows, told)
            else:
                raise CertificateError("a leaf of a proof by dual bounds is 0 or 1.")
    told.see_end()
    noun = "leaf" if leaves == 1 else "leaves"
    return f"dual bounds exclude every violation, case by case ({leaves:,} {noun}, plain form)"


class _Stream:
    """The multipliers, one after another."""

    def __init__(self, text: str, limit: Limit) -> None:
        self.pieces = unpacked(text, limit) if text else iter(())
        self.left = b""

    def next(self, count: int) -> tuple[int, ...]:
        """So many integers."""
        while len(self.left) < 8 * count:
            piece = next(self.pieces, None)
            if piece is None:
                raise CertificateError("the multipliers of the proof end too soon.")
            self.left += piece
        told, self.left = self.left[: 8 * count], self.left[8 * count :]
        return unpack(f"<{count}q", told)

    def see_end(self) -> None:
        """See that nothing is left over."""
        if self.left or next(self.pieces, None) is not None:
            raise CertificateError("the proof has more multipliers than leaves.")


# -- neurons -------------------------------------------------------------------------------------------------


def _reach(neuron: Summed | Pooled, before: _Ends) -> tuple[int, int]:
    """The least and the largest sum of a neuron; of a pool, level."""
    if isinstance(neuron, Pooled):
        end = min if neuron.least else max
        return end(before[i][0] for i in neuron.inputs), end(before[i][1] for i in neuron.inputs)
    taps = [(before[i], w) for i, w in zip(neuron.inputs, neuron.weights, strict=True)]
    min_sum = sum(w * (low if w > 0 else high) for (low, high), w in taps)
    return min_sum, sum(w * (high if w > 0 else low) for (low, high), w in taps)


def _level(neuron: Summed | Pooled, total: int) -> int:
    """The level that a sum gives; of a pool, itself."""
    return total if isinstance(neuron, Pooled) else bisect_right(neuron.thresholds, total)


def _piece(neuron: Summed | Pooled, level: int, max_level: float) -> tuple[Any, Any]:
    """The least and the largest sum of levels from one to another; of a pool, these levels."""
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
    """For each level that a neuron can have, the largest ``c level - lambda s``; of a pool, less what the
    multipliers of its inputs ask, none of which goes beyond the level.
    """
    by_level = {}
    for level in range(_level(neuron, reach[0]), _level(neuron, reach[1]) + 1):
        if isinstance(neuron, Pooled):
            beyond = (level, inf) if neuron.least else (-inf, level)
            ends = [_both(before[i], beyond) for i in neuron.inputs]
        else:
            ends = [_both(reach, _piece(neuron, level, level))]
        if all(low <= high for low, high in ends):  # linear in each: one of both ends is the best
            asked = (
                share * (low if share > 0 else high) for share, (low, high) in zip(lambdas, ends, strict=True)
            )
            by_level[level] = worth * level - sum(asked)
    return by_level


def _center(case: _Case) -> int | None:
    """The neuron that every inequality of a case reads, each with one other at most, no two with the same."""
    for center in sorted(case[0][0]) if case else ():
        named = [other for row, _ in case for other in row if other != center]
        fits = all(center in row and len(row) <= 2 for row, _ in case)
        if fits and len(set(named)) == len(named):
            return center
    return None


def _compared(case: _Case, center: int, values: Sequence[dict[int, int]]) -> int | None:
    """The largest sum of the values of the neurons that a case compares, one level each, of levels that meet
    all its inequalities; None if there are none.
    """
    totals = []
    for level, value in values[center].items():
        parts: list[int | None] = [value]
        for row, bound in case:
            left = bound - row[center] * level
            others = [other for other in row if other != center]
            if not others:
                parts.append(0 if left <= 0 else None)
            for other in others:
                met = (v for q, v in values[other].items() if row[other] * q >= left)
                parts.append(max(met, default=None))
        if None not in parts:
            totals.append(sum(part for part in parts if part is not None))
    return max(totals, default=None)


# -- the question --------------------------------------------------------------------------------------------


class _Splits:
    """What the first layer reads at the sample, the features that move, layers of neurons, and the cases as
    inequalities over the levels that the head reads.
    """

    def __init__(
        self,
        start: list[int],
        features: dict[int, _Moves],
        budget: int | None,
        together: int,
        layers: Sequence[Sequence[Summed | Pooled]],
        cases: list[_Case],
        limit: Limit,
    ) -> None:
        self.start, self.features, self.budget, self.together = start, features, budget, together
        self.layers, self.cases, self.limit = layers, cases, limit
        moved: list[set[int]] = [set() for _ in start]
        for feature, options in features.items():
            for index in (position for _, changes in options for position in changes):
                moved[index].add(feature)
        self.gains: list[dict[int, list[int]]] = []
        """For each neuron of the first layer, what the options of features add to its sum."""
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

    def split(self, part: tuple[Any, ...], windows: _Windows) -> list[tuple[Any, _Windows]]:
        """Both parts of a split, the first on top: a neuron below a level, or at it and above."""
        if len(part) != 5 or not all(type(number) is int and number >= 0 for number in part[:3]):
            raise CertificateError("a split has a layer, a neuron, a level and two parts.")
        layer, unit, level, below, above = part
        if level < 1:
            raise CertificateError("a split is at a level above 0.")
        if layer > len(self.layers) or (layer and unit >= len(self.layers[layer - 1])):
            raise CertificateError(f"a split names neuron {unit} of layer {layer}, which is not there.")
        if layer == 0 and unit not in self.features:
            raise CertificateError(f"a split names feature {unit}, which does not move.")
        min_level, max_level = windows.get((layer, unit), (0, inf))
        self.limit.take(200 + 100 * len(windows), "the splits of a proof")
        return [
            (above, {**windows, (layer, unit): (max(min_level, level), max_level)}),
            (below, {**windows, (layer, unit): (min_level, min(max_level, level - 1))}),
        ]

    def _left(self, windows: _Windows) -> dict[int, list[int]]:
        """The options of each feature that splits leave."""
        options_left = {}
        for feature, options in self.features.items():
            low, high = windows.get((0, feature), (0, inf))
            options_left[feature] = [k for k in range(len(options)) if low <= k <= high]
        return options_left

    def ranges(self, windows: _Windows) -> _Ranges:
        """How far levels and sums go within splits."""
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
        """The most that options add to a sum of the first layer, or take off it: what each feature can, of as
        many as the budget allows; and not more than the best rate gives for the whole budget.
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

    def see_ranges(self, case: _Case, ranges: _Ranges) -> None:
        """See that ranges alone exclude a case."""
        if ranges is not None:
            last = ranges[0][-1]
            tops = [sum(max(w * end for end in last[j]) for j, w in row.items()) for row, _ in case]
            if all(top >= bound for top, (_, bound) in zip(tops, case, strict=True)):
                raise CertificateError("ranges do not exclude a case, against what the certificate claims.")

    def see_multipliers(self, case: _Case, ranges: _Ranges, windows: _Windows, told: _Stream) -> None:
        """See that the multipliers of a leaf exclude a case."""
        mu, (nu,) = told.next(len(case)), told.next(1)
        multipliers = [
            [told.next(len(neuron.inputs) if isinstance(neuron, Pooled) else 1) for neuron in neurons]
            for neurons in self.layers
        ]
        if nu < 0 or min(mu, default=0) < 0:
            raise CertificateError("a multiplier of an inequality or a budget is negative.")
        bound = None if ranges is None else self._bound(case, ranges, windows, mu, nu, multipliers)
        if bound is not None and bound >= 0:
            raise CertificateError("the multipliers of a leaf do not exclude its case.")

    def _bound(
        self,
        case: _Case,
        ranges: tuple[list[_Ends], list[_Ends]],
        windows: _Windows,
        mu: Sequence[int],
        nu: int,
        multipliers: list[list[tuple[int, ...]]],
    ) -> int | None:
        """The integer that no input of a leaf can exceed; None if no input is there."""
        levels, sums = ranges
        worth = [0] * len(levels[-1])
        total = -sum(factor * bound for factor, (_, bound) in zip(mu, case, strict=True))
        for factor, (row, _) in zip(mu, case, strict=True):
            for j, weight in row.items():
                worth[j] += factor * weight
        for number in reversed(range(len(self.layers))):
            self.limit.look()
            parts = list(zip(self.layers[number], worth, multipliers[number], sums[number], strict=True))
            values = [_worth(*part, levels[number]) for part in parts]
            if not all(values):
                return None
            center = _center(case) if number + 1 == len(self.layers) else None
            named = set() if center is None else {center, *(j for row, _ in case for j in row)}
            total += sum(max(by_level.values()) for j, by_level in enumerate(values) if j not in named)
            if center is not None:
                compared = _compared(case, center, values)
                if compared is None:
                    return None
                total += compared
            worth = _passed_on(len(levels[number]), [(neuron, lambdas) for neuron, _, lambdas, _ in parts])
        total += sum(c * a for c, a in zip(worth, self.start, strict=True))
        price_of = 0 if self.budget is None else nu
        for feature, kept in self._left(windows).items():
            options = (self.features[feature][k] for k in kept)
            total += max(
                sum(worth[p] * c for p, c in row.items()) - price_of * price for price, row in options
            )
        return total + (nu * self.budget if self.features and self.budget is not None else 0)


def _passed_on(width: int, parts: Iterable[tuple[Summed | Pooled, tuple[int, ...]]]) -> list[int]:
    """What inputs of a layer are worth: each multiplier times the weights of its neuron."""
    worth = [0] * width
    for neuron, lambdas in parts:
        weights = (
            lambdas if isinstance(neuron, Pooled) else [lambdas[0] * weight for weight in neuron.weights]
        )
        for index, weight in zip(neuron.inputs, weights, strict=True):
            worth[index] += weight
    return worth


def _over_levels(setting: Setting, limit: Limit) -> _Splits:
    """A question about one network, whose layers stay what they are."""
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
    rows = [({j: w for j, w in enumerate(row) if w}, 0) for row in network.head.weights]
    lowest = [sum(min(w, 0) * network.last_tops[j] for j, w in row.items()) for row, _ in rows]
    cases = [[combined(*in_integers(*part), rows, lowest) for part in case] for case in setting.cases]
    together = max_together((min(prices) for _, prices in options.values()), budget)
    layers = [layer.neurons for layer in network.layers]
    start = [value for here in read for value in here]
    return _Splits(start, features, budget, together, layers, cases, limit)


def _over_bits(setting: Setting, limit: Limit) -> _Splits:
    """A question about two sides or with laws: the first layer reads its own sums, and all others bits."""
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
    return _Splits(problem.base, features, problem.budget, together, layers, cases, limit)
