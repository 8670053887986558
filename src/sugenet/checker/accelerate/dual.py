"""Dual bounds, worked out again in whole numbers from the multipliers of a certificate.

To be ensured: the splits of every case leave nothing out; the range of every sum is worked out here, within
the splits above a leaf; and at each leaf a whole number that no input can exceed is below 0. For levels h of
the last layer, inequalities ``C h >= R`` with multipliers mu >= 0, sums ``s = base + W a`` of each layer with
multipliers lambda, and a budget with nu >= 0, that number is

    sum over neurons of max (c step(s) - lambda s) + sum of lambda base + max over inputs a of c a - mu R

where c is ``mu C`` behind the last layer and ``W' lambda`` before any other, s goes through the range of its
neuron, and a through the options of every feature, each less nu times its price, and nu times the budget
added. It holds for any multipliers, so a wrong one proves less, never something false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Arrays, Layer, Picking, Sliding, backed
from sugenet.checker.accelerate.integers import Demand, whole_of
from sugenet.checker.accelerate.products import Ints
from sugenet.checker.form import Dual
from sugenet.checker.limit import Limit
from sugenet.checker.problem import in_integers, max_together, priced
from sugenet.checker.setting import Setting
from sugenet.checker.unpack import unpacked
from sugenet.errors import CertificateError

__all__ = ["check_dual"]

Numbers: TypeAlias = npt.NDArray[Any]
"""Whole numbers: of 64 bits where nothing leaves them, else Python's own."""
_Windows: TypeAlias = dict[tuple[int, int], tuple[int, int]]
"""What splits leave: of a layer from 1 and a neuron its levels, of layer 0 and a feature its options."""
_Ends: TypeAlias = tuple[Ints, Ints]
_Case: TypeAlias = list[tuple[Numbers, int]]
"""Inequalities over the levels that the head reads, in Python's integers: weights, and the least sum."""
_CELLS = 1 << 24
_FREE = 1 << 60
_NONE = -(1 << 200)
"""Less than any sum: nothing meets what is asked."""


def check_dual(proof: Dual, setting: Setting, limit: Limit) -> str:
    """See that every case of a question is excluded by its multipliers and splits."""
    question = _two_sides(setting, limit) if len(setting.networks) > 1 else _one_side(setting, limit)
    trees = proof.cases
    if len(trees) != len(question.cases):
        raise CertificateError(f"{len(question.cases)} cases to be excluded, but the proof has others.")
    told = _Told(proof.multipliers, limit)
    root = question.ranges({})
    leaves = 0
    for tree, case in zip(trees, question.cases, strict=True):
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
    return f"dual bounds exclude every violation, case by case ({leaves:,} {noun})"


class _Told:
    """The multipliers, one after another."""

    def __init__(self, text: str, limit: Limit) -> None:
        self.pieces: Iterator[bytes] = unpacked(text, limit) if text != "" else iter(())
        self.left = memoryview(b"")

    def next(self, count: int) -> Ints:
        """So many whole numbers."""
        while len(self.left) < 8 * count:
            piece = next(self.pieces, None)
            if piece is None:
                raise CertificateError("the multipliers of the proof end too soon.")
            self.left = memoryview(bytes(self.left) + piece)
        told, self.left = self.left[: 8 * count], self.left[8 * count :]
        return np.frombuffer(told, "<i8").astype(np.int64)

    def see_end(self) -> None:
        """See that nothing is left over."""
        if self.left or next(self.pieces, None) is not None:
            raise CertificateError("the proof has more multipliers than leaves.")


# -- where inputs go -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What the first layer reads at the sample, and the options of every feature in order, its own among
    them: each changes some places by something, and has a price.
    """

    start: Ints
    features: list[int]
    first: Ints
    """For each feature the number of its first option, and at the end how many there are."""
    prices: Numbers
    entry: Ints
    """For each option the number of its first change, and at the end how many there are."""
    place: Ints
    change: Ints
    slot: Ints
    """For each change the number of its feature and place together: two features may change one place."""
    slots: Ints
    """The place of each of these."""
    budget: int | None
    together: int
    """How many features can change within the budget."""

    def open(self, windows: _Windows) -> npt.NDArray[np.bool_]:
        """Options that the splits leave."""
        is_open = np.ones(len(self.prices), bool)
        for (layer, feature), (low, high) in windows.items():
            if layer == 0:
                at = self.features.index(feature)
                numbers = np.arange(self.first[at + 1] - self.first[at])
                is_open[self.first[at] : self.first[at + 1]] &= (numbers >= low) & (numbers <= high)
        return is_open

    def gains(self, asked: Numbers) -> Numbers:
        """What each option adds to ``asked . a``; several rows at a time."""
        if not len(self.place):  # no neuron reads them
            return np.zeros((*asked.shape[:-1], len(self.prices)), asked.dtype)
        return np.asarray(np.add.reduceat(asked[..., self.place] * self.change, self.entry[:-1], axis=-1))

    def best(self, worth: Numbers, left: npt.NDArray[np.bool_]) -> Numbers:
        """The largest worth of the options of every feature that are left."""
        kept = np.where(left, worth, worth.min() - 1) if not left.all() else worth
        return np.asarray(np.maximum.reduceat(kept, self.first[:-1], axis=-1))

    def box(self, left: npt.NDArray[np.bool_]) -> _Ends | None:
        """Least and largest value of every place: what each feature can take off it or add to it, summed over
        the features that change it; None where a feature has no option left.
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
        """The most that options can add together, for each row of gains."""
        best = self.best(gains, left)
        if self.budget is None:
            return np.asarray(best.sum(axis=1))
        some = np.sort(best, axis=1)[:, max(0, best.shape[1] - self.together) :]
        max_sum = np.maximum(some, 0).sum(axis=1) + np.minimum(best, 0).sum(axis=1)
        paid = gains.any(axis=0) | (self.prices > 0)  # all others change nothing
        if (self.prices[paid] > 0).all() and int(np.abs(gains).max(initial=1)) * self.budget < 1 << 62:
            rates = gains[:, paid] * self.budget // self.prices[paid].astype(np.int64)
            max_sum = np.minimum(max_sum, np.maximum(rates, 0).max(axis=1, initial=0))
        return np.asarray(max_sum)


# -- layers --------------------------------------------------------------------------------------------------


class _Stepped:
    """Neurons with sums ``base + W a`` and rising steps; W written out, or a kernel and where it slides."""

    def __init__(
        self, weights: Ints, base: Ints, steps: Ints, sizes: Ints, window: Any = None, groups: int = 1
    ) -> None:
        self.weights, self.base, self.steps, self.sizes = weights, base, steps, sizes
        self.window, self.groups, self.outputs = window, groups, len(steps)
        self.multipliers = self.outputs

    def sums(self, weights: Ints, values: Ints) -> Ints:
        """W a, with W or other weights of its shape."""
        if self.window is None:
            return np.asarray(weights @ values)
        taps, channels = self.window.taps, self.window.shape[0]
        maps = np.append(values.reshape(channels, -1), np.zeros((channels, 1), np.int64), axis=1)
        patches = maps[:, taps].reshape(self.groups, channels // self.groups, *taps.shape)
        kernels = weights.reshape(self.groups, len(weights) // self.groups, channels // self.groups, -1)
        return np.asarray(np.einsum("gcpk,gock->gop", patches, kernels).reshape(-1))

    def asked(self, lambdas: Numbers) -> Numbers:
        """W' lambda."""
        if self.window is None:
            return np.asarray(lambdas @ self.weights.astype(lambdas.dtype))
        taps, (channels, height, width) = self.window.taps, self.window.shape
        out = np.zeros((channels, height * width + 1), lambdas.dtype)  # the last place is padding
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
        """Least and largest sums."""
        (low, high), plus, minus = ends, np.maximum(self.weights, 0), np.minimum(self.weights, 0)
        return (
            self.base + self.sums(plus, low) + self.sums(minus, high),
            self.base + self.sums(plus, high) + self.sums(minus, low),
        )

    def levels(self, reach: _Ends) -> _Ends:
        """Levels at both ends."""
        low, high = ((self.steps <= end[:, None]).sum(axis=1) for end in reach)
        return low, high

    def narrow(self, reach: _Ends, neuron: int, min_level: int, max_level: int) -> None:
        """Leave the sums of some levels."""
        low, high = reach
        if min_level > 0:
            low[neuron] = max(low[neuron], self.steps[neuron, min_level - 1])
        if max_level < self.steps.shape[1]:
            high[neuron] = min(high[neuron], self.steps[neuron, max_level] - 1)

    def most(self, worth: Numbers, lambdas: Numbers, reach: _Ends, case: _Case | None) -> int:
        """The sum over neurons of the largest ``c step(s) - lambda s``, and of ``lambda base``.

        Between steps it is linear in s, so only both ends of every flat piece are looked at. Where levels
        must meet a case that compares one of them with others, those that do not are left out.
        """
        first, last = self.levels(reach)
        total = int((lambdas * self.base).sum())
        best, met = np.zeros(self.outputs, lambdas.dtype), np.zeros(self.outputs, bool)
        for level in range(int(first.min(initial=0)), int(last.max(initial=0)) + 1):
            starts, ends = self._piece(level, reach)
            there = starts <= ends
            here = worth * level - lambdas * np.where(
                lambdas > 0, np.where(there, starts, 0), np.where(there, ends, 0)
            )
            best = np.where(there & (~met | (here > best)), here, best)
            met = met | there
        assert met.all()  # no range is empty
        center = None if case is None else _center(case)
        if case is None or center is None:
            return total + int(best.sum())
        values = {
            neuron: {
                level: int(worth[neuron]) * level
                - int(lambdas[neuron]) * int(starts[neuron] if lambdas[neuron] > 0 else ends[neuron])
                for level in range(int(first[neuron]), int(last[neuron]) + 1)
                for starts, ends in [self._piece(level, reach)]
                if starts[neuron] <= ends[neuron]
            }
            for neuron in {center, *(int(n) for row, _ in case for n in np.flatnonzero(row))}
        }
        best[list(values)] = 0
        return total + int(best.sum()) + _compared(case, center, values)

    def _piece(self, level: int, reach: _Ends) -> _Ends:
        """The sums of a level, as far as they lie in the range; the first beyond the last where none does."""
        low, high = reach
        starts = low if level == 0 else np.maximum(low, self.steps[:, level - 1])
        ends = high if level == self.steps.shape[1] else np.minimum(high, self.steps[:, level] - 1)
        return starts, ends


def _center(case: _Case) -> int | None:
    """The neuron that every inequality of a case reads, each with one other at most, no two with the same."""
    read = [set(np.flatnonzero(row).tolist()) for row, _ in case]
    if not read or not all(1 <= len(neurons) <= 2 for neurons in read):
        return None
    for center in sorted(read[0]):
        others = [neurons - {center} for neurons in read]
        named = [neuron for neurons in others for neuron in neurons]
        if all(center in neurons for neurons in read) and len(set(named)) == len(named):
            return int(center)
    return None


def _compared(case: _Case, center: int, values: dict[int, dict[int, int]]) -> int:
    """The largest sum of the values of these neurons, one level each, that meet all inequalities."""
    best = _NONE
    for level, value in values[center].items():
        total = value
        for row, bound in case:
            left = bound - row[center] * level
            (other,) = set(np.flatnonzero(row).tolist()) - {center} or {center}
            if other == center:
                total += 0 if left <= 0 else _NONE
            else:
                total += max((v for q, v in values[other].items() if row[other] * q >= left), default=_NONE)
        best = max(best, total)
    return best


class _Largest:
    """The largest of the levels that the taps of a window read, or, where `least`, the least; every tap
    inside has a multiplier.
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
        """What the multipliers ask of the levels."""
        out = np.zeros(self.inputs, lambdas.dtype)
        np.add.at(out, self.places[self.inside], lambdas)
        return out

    def reach(self, ends: _Ends) -> _Ends:
        """Least and largest level of every window."""
        return tuple(
            np.where(
                self.least,
                np.where(self.inside, end[self.places], self.height).min(axis=1),
                np.where(self.inside, end[self.places], 0).max(axis=1),
            )
            for end in ends
        )

    def levels(self, reach: _Ends) -> _Ends:
        """The same."""
        return reach

    def narrow(self, reach: _Ends, neuron: int, min_level: int, max_level: int) -> None:
        """Leave some levels."""
        low, high = reach
        low[neuron], high[neuron] = max(low[neuron], min_level), min(high[neuron], max_level)

    def most(self, worth: Numbers, lambdas: Numbers, reach: _Ends, before: _Ends) -> int:
        """The sum over windows of the largest ``c v - sum of lambda x``, where v is the largest of the x (or
        the least), so none goes beyond it.
        """
        low, high = (end[self.places] for end in before)
        shares = np.zeros(self.places.shape, lambdas.dtype)
        shares[self.inside] = lambdas
        best = met = None
        for v in range(int(reach[0].min(initial=0)), int(reach[1].max(initial=0)) + 1):
            bottom = np.where(self.least[:, None], np.maximum(low, v), low)
            top = np.where(self.least[:, None], high, np.minimum(high, v))
            there = (reach[0] <= v) & (v <= reach[1]) & ((bottom <= top) | ~self.inside).all(axis=1)
            here = worth * v - (shares * np.where(shares > 0, bottom, top)).sum(axis=1)
            if best is None or met is None:
                best, met = np.where(there, here, 0), there
            else:
                best = np.where(there & (~met | (here > best)), here, best)
                met = met | there
        if best is None or met is None or not met.all():  # some window has no level left
            return _NONE
        return int(best.sum())


# -- the question --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Question:
    inputs: _Inputs
    layers: list[_Stepped | _Largest]
    cases: list[_Case]
    limit: Limit

    def split(self, part: tuple[Any, ...], windows: _Windows) -> list[tuple[Any, _Windows]]:
        """Both parts of a split, the first on top: a neuron below a level, or at it and above."""
        if len(part) != 5 or not all(type(number) is int and number >= 0 for number in part[:3]):
            raise CertificateError("a split has a layer, a neuron, a level and two parts.")
        layer, unit, level, below, above = part
        if level < 1:
            raise CertificateError("a split is at a level above 0.")
        if layer > len(self.layers) or (layer and unit >= self.layers[layer - 1].outputs):
            raise CertificateError(f"a split names neuron {unit} of layer {layer}, which is not there.")
        if layer == 0 and unit not in self.inputs.features:
            raise CertificateError(f"a split names feature {unit}, which does not move.")
        min_level, max_level = windows.get((layer, unit), (0, _FREE))
        self.limit.take(200 + 100 * len(windows), "the splits of a proof")
        return [
            (above, {**windows, (layer, unit): (max(min_level, level), max_level)}),
            (below, {**windows, (layer, unit): (min_level, min(max_level, level - 1))}),
        ]

    def ranges(self, windows: _Windows) -> tuple[list[_Ends], list[_Ends]] | None:
        """Levels of the inputs and all layers, and sums of all layers, within splits; None where there are
        none.
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
        """Sums of the first layer, feature by feature."""
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
            40 * (len(inputs.place) + len(inputs.prices)) * layer.outputs, "what changes add to neurons"
        )
        here, gains = layer.base + layer.weights @ inputs.start, inputs.gains(layer.weights)
        return (
            np.maximum(low, here - inputs.sum_of_best(-gains, left)),
            np.minimum(high, here + inputs.sum_of_best(gains, left)),
        )

    def see_ranges(self, case: _Case, ranges: Any) -> None:
        """See that ranges alone exclude a case."""
        if ranges is not None:
            low, high = (end.astype(object) for end in ranges[0][-1])
            if all(int(np.maximum(row * low, row * high).sum()) >= bound for row, bound in case):
                raise CertificateError("ranges do not exclude a case, against what the certificate claims.")

    def see_multipliers(self, case: _Case, ranges: Any, windows: _Windows, told: _Told) -> None:
        """See that the multipliers of a leaf exclude a case."""
        mu, (nu,) = told.next(len(case)), told.next(1).tolist()
        multipliers: list[Numbers] = [told.next(layer.multipliers) for layer in self.layers]
        if nu < 0 or (mu < 0).any():
            raise CertificateError("a multiplier of an inequality or a budget is negative.")
        if ranges is None:
            return
        levels, sums = ranges
        worth = np.zeros(len(levels[-1][0]), object)
        total = 0
        for factor, (row, bound) in zip(mu.tolist(), case, strict=True):
            worth, total = worth + factor * row, total - factor * bound
        if self._stays_small(worth, levels[-1][1], nu, multipliers):
            worth = worth.astype(np.int64)
        else:
            multipliers = [layer_lambdas.astype(object) for layer_lambdas in multipliers]
        for number in reversed(range(len(self.layers))):
            self.limit.look()
            layer, lambdas = self.layers[number], multipliers[number]
            if isinstance(layer, _Largest):
                total += layer.most(worth, lambdas, sums[number], levels[number])
            else:
                last = number + 1 == len(self.layers)
                total += layer.most(worth, lambdas, sums[number], case if last else None)
            worth = layer.asked(lambdas)
        total += int((worth * self.inputs.start).sum()) + self._inputs(worth, nu, windows)
        if total >= 0:
            raise CertificateError("the multipliers of a leaf do not exclude its case.")

    def _inputs(self, worth: Numbers, nu: int, windows: _Windows) -> int:
        """The largest that the options of all features are worth together."""
        inputs = self.inputs
        if not inputs.features:
            return 0
        gains = inputs.gains(worth)
        if inputs.budget is not None:
            gains = gains - nu * inputs.prices.astype(gains.dtype)
        total = int(inputs.best(gains, inputs.open(windows)).sum())
        return total if inputs.budget is None else total + nu * inputs.budget

    def _stays_small(self, worth: Numbers, tops: Ints, nu: int, multipliers: list[Numbers]) -> bool:
        """Whether no number on the way leaves 62 bits: all are sums of parts of these, each at most twice."""
        parts = [abs(c) * max(1, top) for c, top in zip(worth.tolist(), tops.tolist(), strict=True)]
        for layer, lambdas in zip(self.layers, multipliers, strict=True):
            parts += [abs(a) * b for a, b in zip(lambdas.tolist(), layer.sizes.tolist(), strict=True)]
        if self.inputs.budget is not None:
            parts.append((nu + 1) * (self.inputs.budget + sum(self.inputs.prices.tolist())))
        return bool(4 * sum(parts) < 1 << 62)


def _one_side(setting: Setting, limit: Limit) -> _Question:
    """A question about one network, whose layers stay what they are."""
    network = backed(setting.networks[0]).stairs
    options, budget = priced(setting, limit)
    start = network.inputs_at([setting.base[0]])[0].astype(np.int64)
    known: dict[Any, tuple[Ints, list[int]]] = {}  # features alike have the same changes and prices
    listed: list[tuple[Ints, Ints, list[int]]] = []
    for feature, (row, costs) in options.items():
        limit.look()
        coding, base_state = network.codings[feature], setting.own[feature]
        indices = network.places[feature]
        key = (id(row), id(coding), base_state, start[indices].tobytes())
        if key not in known:
            rising = sorted(range(len(row)), key=[option.order for option in row].__getitem__)
            there = [row[k].states[0] for k in rising]
            changes = network.reads_of(feature, np.array(there, np.int64)).astype(np.int64) - start[indices]
            stay = sum(option.order < base_state for option in row)
            prices = [costs[k] for k in rising]
            known[key] = np.insert(changes, stay, 0, axis=0), [*prices[:stay], 0, *prices[stay:]]
        limit.take(40 * known[key][0].size, "the list of all changes in whole numbers")
        listed.append((indices, *known[key]))
    together = max_together((min(costs) for _, costs in options.values()), budget)
    inputs = _inputs_of(start, list(options), listed, budget, together)
    layers = [_layer(layer, limit) for layer in network.layers]
    return _Question(inputs, layers, _cases(setting, network, limit), limit)


def _inputs_of(
    start: Ints,
    features: list[int],
    listed: list[tuple[Ints, Ints, list[int]]],
    budget: int | None,
    together: int,
) -> _Inputs:
    """From the places of each feature, what its options change there, and their prices."""
    none = np.zeros(0, np.int64)
    change = np.concatenate([none, *(changes.reshape(-1) for _, changes, _ in listed)])
    slots = np.concatenate([none, *(indices for indices, _, _ in listed)])
    widths = np.array([len(indices) for indices, _, _ in listed], np.int64)
    options = np.array([len(changes) for _, changes, _ in listed], np.int64)
    wide = np.repeat(widths, options)
    entry = np.append(0, np.cumsum(wide))
    # an option goes through the slots of its feature once
    start_of = np.repeat(np.cumsum(widths) - widths, options)
    slot = np.arange(entry[-1]) + np.repeat(start_of - entry[:-1], wide)
    index = slots[slot]
    prices = [price for _, _, costs in listed for price in costs]
    large = any(price >= 1 << 62 for price in prices)
    first = np.cumsum([0, *(len(costs) for _, _, costs in listed)])
    costs = np.array(prices, object if large else np.int64)
    return _Inputs(start, features, first, costs, entry, index, change, slot, slots, budget, together)


def _cases(setting: Setting, network: Arrays, limit: Limit) -> list[_Case]:
    """Inequalities over match counts as inequalities over the levels that the head reads."""
    head = network.head
    below = (np.minimum(head, 0) @ network.tops).tolist()
    cases = []
    for case in setting.cases:
        limit.look()
        limit.take(100 * head.shape[1] * len(case), "the inequalities of a violation")
        cases.append([_over_levels(head, below, in_integers(*part)) for part in case])
    return cases


def _over_levels(weights: Ints, below: list[int], demand: Demand) -> tuple[Numbers, int]:
    factors, bound = demand
    row = np.zeros(weights.shape[1], object)
    for factor, class_weights, low in zip(factors, weights, below, strict=True):
        if factor:
            row, bound = row + factor * class_weights.astype(object), bound + factor * low
    return row, bound


def _layer(layer: Layer, limit: Limit) -> _Stepped | _Largest:
    """A layer of the network: match counts are ``base + W a``, and tau are its steps."""
    limit.take(100 * layer.outputs, "the neurons of a layer")
    if isinstance(layer, Picking):
        return _Largest(layer)
    limit.take(layer.steps.nbytes, "the steps of a layer")
    window, groups = (layer.window, layer.groups) if isinstance(layer, Sliding) else (None, 1)
    return _Stepped(layer.weights, -layer.lowest, layer.steps, layer.sizes, window, groups)


def _two_sides(setting: Setting, limit: Limit) -> _Question:
    """A question about two sides, as thresholds over what its changes add to the first layer."""
    problem = whole_of(setting, limit)
    n_neurons, features = len(problem.base), sorted(setting.options)
    listed = []
    for options in problem.offered:
        limit.take(80 * n_neurons * len(options), "what each change adds to the neurons")
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
    below = np.minimum(problem.head, 0).sum(axis=1).tolist()
    cases = [[_over_levels(problem.head, below, part) for part in case] for case in problem.cases]
    return _Question(inputs, layers, cases, limit)
