"""For the checker: bounds and walks over networks that are too large to be written out,
convolutions above all.

What an input adds to the first layer is measured by the definition, for the neurons that read it alone.
Behind it, sums of whole numbers are products of float matrices that hold them exactly, and a convolution is
worked out again only where its input has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, DenseLayer, Network, PoolLayer
from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.layer import Layer, tops_of
from sugenet.checker.bounds import contradicts
from sugenet.checker.limit import Limit
from sugenet.checker.setting import Option, Setting, rows_of, unit_of, whole_of
from sugenet.errors import CertificateError

__all__ = ["Large", "is_large"]

_CELLS = 1 << 24
"""Changes times neurons or features, or weights of later layers that are not dense,
up to which everything is written out.
"""
_BLOCK = 64


def is_large(setting: Setting) -> bool:
    """Whether a question about one network would take much room if its neurons were written out."""
    layers = setting.networks[0].layers
    if len(setting.networks) > 1 or not layers:
        return False
    changes = sum(map(len, setting.options.values()))
    written_out = sum(
        layer.inputs * layer.outputs for layer in layers[1:] if not isinstance(layer, DenseLayer)
    )
    return (
        changes * max(layers[0].outputs, setting.networks[0].encoder.features) > _CELLS
        or written_out > _CELLS
    )


@dataclass(frozen=True, eq=False)
class _Feature:
    """A feature that can change: prices of its options, what each changes in the inputs, and what an input
    adds to the neurons.
    """

    prices: Ints
    change: Ints
    """One row an option, one column an input of the first layer."""
    neurons: Ints
    columns: Ints
    """One row an input, one column a neuron."""

    @property
    def gains(self) -> Ints:
        return np.asarray(self.change @ self.columns)


class Large:
    """A question about one network, checked without writing out its neurons."""

    def __init__(self, setting: Setting, limit: Limit, *, strict: bool = False) -> None:
        self.network, self.limit = setting.networks[0], limit
        unit = unit_of(setting.options, limit)
        self.budget = None
        if setting.budget is not None:
            self.budget = (
                (setting.budget * unit).__ceil__() - 1 if strict else (setting.budget * unit).__floor__()
            )
        known: dict[Fraction, int] = {}
        self.options: dict[int, tuple[list[Option], Ints]] = {}
        for feature, row in sorted(setting.options.items()):
            for price in {option.price for option in row} - known.keys():
                known[price] = (price * unit).__floor__()
            kept = [option for option in row if self.budget is None or known[option.price] <= self.budget]
            if kept:
                self.options[feature] = kept, np.array([known[option.price] for option in kept], np.int64)
        self.first = self.network.layers[0]
        self.start = self.network.inputs(rows_of([setting.samples[0]]))[0]
        self.base = self.first.match_counts(self.start[None])[0] - self.first.tau
        self.cases = [[whole_of(*part) for part in case] for case in setting.cases]
        widest = max(layer.outputs for layer in self.network.layers)
        limit.take(
            64 * sum(layer.outputs for layer in self.network.layers) + 16 * _BLOCK * widest,
            "the neurons of a large network",
        )
        self.states = _states(self.network, self.base >= 0)

    # -- the first layer -------------------------------------------------------------------------------------

    def features(self) -> Iterator[_Feature]:
        """The features that can change, one after another."""
        for feature, (options, prices) in self.options.items():
            self.limit.look()
            yield self._feature(feature, options, prices)

    def _feature(self, feature: int, options: list[Option], prices: Ints) -> _Feature:
        encoder = self.network.encoder
        states = [encoder.codings[feature].state(option.values[0]) for option in options]
        if tops_of(self.first) is not None:
            step = 1 if self.start[feature] == 0 else -1
            change = (np.array(states) - int(self.start[feature]))[:, None]
            places, steps = [feature], np.array([step])
        else:
            group = encoder.group(feature)
            here = self.start[group.start : group.stop].astype(np.int64)
            change = np.array([encoder.codings[feature].bits(state) - here for state in states]).reshape(
                len(states), len(group)
            )
            places, steps = list(group), 1 - 2 * here
        rows = np.repeat(self.start[None], len(places), axis=0)
        for row, place, step in zip(rows, places, steps.tolist(), strict=True):
            row[place] = row[place] + step if rows.dtype != bool else step > 0
        columns = (self.first.match_counts(rows) - self.first.tau - self.base) * steps[:, None]
        neurons = np.flatnonzero(columns.any(axis=0))
        self.limit.fits(24 * len(change) * len(neurons), "what each change adds to the neurons")
        return _Feature(prices, change, neurons, columns[:, neurons])

    def _together(self) -> int:
        """How many features can change together within the budget."""
        if self.budget is None:
            return len(self.options)
        return sum(
            1
            for used in accumulate(sorted(int(prices.min()) for _, prices in self.options.values()))
            if used <= self.budget
        )

    # -- bounds ----------------------------------------------------------------------------------------------

    def check_bounds(self) -> str:
        """See that bounds alone exclude every violation."""
        loose, limit = self._loose()
        for number, layer in enumerate(self.network.layers[1:]):
            self.limit.look()
            state, counts = self.states[number], self.states.counts[number]
            falls, rises = _swing(layer, state, loose, limit)
            loose = (counts - falls >= layer.tau) != (counts + rises >= layer.tau)
            limit = int(loose.sum())
        head, state = self.network.head.weights, self.states[-1]
        counts = self.states.counts[-1]
        for case in self.cases:
            if contradicts(head, case):
                continue
            sums = [(_combined(head, factors), factors, least) for factors, least in case]
            if not any(
                _impossible(row, factors, least, counts, state, loose, limit) for row, factors, least in sums
            ):
                raise CertificateError(
                    "bounds do not exclude a violation, against what the certificate claims."
                )
        return "bounds through all layers exclude every violation"

    def _loose(self) -> tuple[Bits, int]:
        """First-layer neurons that may turn, and how many of them together."""
        fits, many = self._together(), len(self.base)
        entries = []
        for part in self.features():
            gains = part.gains
            entries.append((part.neurons, np.maximum(gains.max(axis=0), 0), np.minimum(gains.min(axis=0), 0)))
        high, low = (_best(entries, which, fits, many) for which in (1, 2))
        loose = (self.base + low >= 0) != (self.base + high >= 0)
        count = int(loose.sum())
        if self.budget is None or not count:
            return loose, count
        need = np.where(self.base >= 0, self.base + 1, -self.base)
        most, brought = 0, []
        for part in self.features():
            own = loose[part.neurons]
            toward = part.gains[:, own] * np.where(self.base[part.neurons[own]] >= 0, -1, 1)
            most = max(most, int((toward >= need[part.neurons[own]]).sum(axis=1).max()))
            brought.append(int(np.maximum(toward, 0).sum(axis=1).max()))
        if fits <= 1:
            return loose, most
        total = sum(sorted(brought)[::-1][:fits])
        return loose, min(count, sum(1 for used in accumulate(sorted(need[loose].tolist())) if used <= total))

    # -- walks -----------------------------------------------------------------------------------------------

    def check_walk(self, proof: dict[str, Any]) -> str:
        """Go through every set of changes once more, and judge every different set of
        neurons that they turn.
        """
        if (
            type(proof["sets"]) is not int
            or type(proof["patterns"]) is not int
            or not 0 < proof["patterns"] <= proof["sets"]
        ):
            raise CertificateError("a walk meets a pattern or more, and no more of them than sets.")
        walk = _Walk(self, proof["sets"], proof["patterns"])
        walk.run()
        claimed = (proof["sets"], proof["patterns"], proof["digest"])
        found = (walk.sets, len(walk.known), walk.digest())
        if found != claimed:
            raise CertificateError(
                f"the walk has {found[0]} sets, {found[1]} patterns and digest {found[2]}, but the "
                f"certificate says {str(claimed)[:120]}."
            )
        return (
            f"none of the {walk.sets:,} changes is a violation ({len(walk.known):,} patterns, "
            f"digest {found[2]})"
        )

    def violates(self, counts: Ints) -> bool:
        """Whether some match counts of the classes, one row each, are a violation."""
        rows = counts.astype(object)
        bad = np.zeros(len(rows), bool)
        for case in self.cases:
            good = np.ones(len(rows), bool)
            for factors, least in case:
                good &= np.asarray(rows @ np.array(factors, object) >= least, dtype=bool)
            bad |= good
        return bool(bad.any())


class _Walk:
    def __init__(self, question: Large, most: int, patterns: int) -> None:
        self.question, self.most, self.patterns = question, most, patterns
        self.known: dict[bytes, int] = {b"": 0}
        """Neurons that turn together, and what they have in the digest."""
        self.sets, self.waiting = 1, []  # type: tuple[int, list[Ints]]
        self.margins, self.active = question.base.copy(), question.base >= 0
        marks = np.arange(1, len(self.margins) + 1).astype(np.uint64)
        self.marks = _splitmix64(marks)
        self.features: list[_Feature] = []

    def run(self) -> None:
        question = self.question
        if question.violates(question.states.counts[-1][None]):
            raise CertificateError("the sample itself is a violation.")
        if question._together() <= 1:
            for feature in question.features():
                self._last(feature, 0, np.zeros(0, np.int64))
        else:
            for feature in question.features():
                question.limit.take(
                    feature.columns.nbytes + feature.change.nbytes + 500,
                    "what each input adds to the neurons",
                )
                self.features.append(feature)
            lightest = [int(feature.prices.min()) for feature in self.features]
            self.lightest = list(accumulate(reversed(lightest), min))[::-1]
            self._visit(0, 0, np.zeros(0, np.int64))
        self._judge()

    def _visit(self, first: int, spent: int, touched: Ints) -> None:
        """All sets that add a feature from `first` on to what the margins hold already."""
        budget = self.question.budget
        for number in range(first, len(self.features)):
            feature = self.features[number]
            self._last(feature, spent, touched)
            if number + 1 == len(self.features):
                return
            gains, reached = feature.gains, np.union1d(touched, feature.neurons)
            for row, price in enumerate(feature.prices.tolist()):
                if budget is None or spent + price + self.lightest[number + 1] <= budget:
                    self.margins[feature.neurons] += gains[row]
                    self._visit(number + 1, spent + price, reached)
                    self.margins[feature.neurons] -= gains[row]

    def _last(self, feature: _Feature, spent: int, touched: Ints) -> None:
        """The sets that end with one more feature."""
        self.question.limit.look()
        budget = self.question.budget
        gains = feature.gains[
            [budget is None or spent + price <= budget for price in feature.prices.tolist()]
        ]
        self.sets += len(gains)
        if self.sets > self.most:
            raise CertificateError(
                f"there are more than the {self.most:,} sets of changes that the certificate says."
            )
        own = (self.margins[feature.neurons] + gains >= 0) != self.active[feature.neurons]
        others = np.setdiff1d(touched, feature.neurons)
        others = others[(self.margins[others] >= 0) != self.active[others]]
        for turned in own[np.append(True, (own[1:] != own[:-1]).any(axis=1))[: len(own)]]:
            neurons = np.sort(np.concatenate([others, feature.neurons[turned]]))
            key = neurons.tobytes()
            if key not in self.known:
                self.question.limit.take(200 + 2 * len(key), "the patterns of a walk")
                self.known[key] = int(np.bitwise_xor.reduce(self.marks[neurons]))
                self.waiting.append(neurons)
                if len(self.known) > self.patterns:
                    raise CertificateError(
                        f"there are more than the {self.patterns:,} patterns that the certificate says."
                    )
        if len(self.waiting) >= _BLOCK:
            self._judge()

    def _judge(self) -> None:
        for start in range(0, len(self.waiting), _BLOCK):
            self.question.limit.look()
            block = self.waiting[start : start + _BLOCK]
            bits = np.repeat(self.active[None], len(block), axis=0)
            for row, neurons in zip(bits, block, strict=True):
                row[neurons] = ~row[neurons]
            if self.question.violates(self.question.states.changed(bits)):
                raise CertificateError("a change that the certificate excludes is a violation.")
        self.waiting = []

    def digest(self) -> str:
        values = _splitmix64(np.fromiter(self.known.values(), np.uint64, len(self.known)))
        return f"{int(values.sum(dtype=np.uint64)):016x}"


# -- the layers behind the first -----------------------------------------------------------------------------


class _States(list[Bits]):
    """Activity of every layer at the sample, with the match counts behind each, those of the classes last."""

    counts: list[Ints]
    layers: tuple[Layer, ...]
    head: DenseLayer

    def changed(self, bits: Bits) -> Ints:
        """Match counts of the classes for other activities of the first layer, one row each."""
        for number, layer in enumerate(self.layers):
            bits = _again(layer, bits, self[number], self[number + 1])
        return _dense(self.head.weights, bits)


def _states(network: Network, active: Bits) -> _States:
    found = _States([active])
    found.counts, found.layers = [], network.layers[1:]
    for layer in found.layers:
        found.counts.append(layer.match_counts(found[-1][None])[0])
        found.append(found.counts[-1] >= layer.tau)
    found.head = DenseLayer(network.head.weights, np.zeros(network.head.outputs, np.int64))
    found.counts.append(found.head.match_counts(found[-1][None])[0])
    return found


def _again(layer: Layer, bits: Bits, before: Bits, after: Bits) -> Bits:
    """Activity of a layer for rows of bits, where it gives `after` for the bits `before`: worked out where
    something is different.
    """
    if isinstance(layer, DenseLayer):
        return np.asarray(_dense(layer.weights, bits) >= layer.tau)
    assert isinstance(layer, ConvLayer | PoolLayer)
    channels, height, width = layer.window.shape
    maps = np.zeros((len(bits), channels, height * width + 1), bool)  # the last one is padding
    maps[:, :, :-1] = bits.reshape(len(bits), channels, -1)
    differ = np.append((bits != before).any(axis=0).reshape(channels, -1).any(axis=0), False)
    where = np.flatnonzero(differ[layer.window.taps].any(axis=1))
    if not len(where):
        return np.repeat(after[None], len(bits), axis=0)
    taps = layer.window.taps[where]
    out = np.repeat(after[None], len(bits), axis=0).reshape(len(bits), -1, len(layer.window.taps))
    tau = layer.tau.reshape(out.shape[1:])[:, where]
    if isinstance(layer, PoolLayer):
        out[:, :, where] = maps[:, :, taps].sum(axis=3) >= tau
        return out.reshape(len(bits), -1)
    inside, least = taps >= 0, np.minimum(layer.weights, 0)
    for group in range(layer.groups):
        into = slice(group * channels // layer.groups, (group + 1) * channels // layer.groups)
        outs = slice(
            group * len(layer.weights) // layer.groups, (group + 1) * len(layer.weights) // layer.groups
        )
        kernel = layer.weights[outs].reshape(outs.stop - outs.start, -1)
        patches = maps[:, into][:, :, taps].transpose(0, 2, 1, 3).reshape(len(bits) * len(where), -1)
        held = (
            least[outs].reshape(len(kernel), -1, taps.shape[1]).sum(axis=1) @ inside.T
        )  # what idle inputs of negative weight count
        sums = _product(patches, kernel).reshape(len(bits), len(where), -1).transpose(0, 2, 1) - held
        out[:, outs, where] = sums >= tau[outs]
    return out.reshape(len(bits), -1)


def _dense(weights: Ints, bits: Bits) -> Ints:
    return np.asarray(_product(bits, weights) - np.minimum(weights, 0).sum(axis=1))


def _product(bits: Bits, weights: Ints) -> Ints:
    """Sums of the weights of active inputs: no partial sum is beyond what the floats hold exactly."""
    exact = np.float32 if int(np.abs(weights).sum(axis=1).max(initial=0)) < 1 << 24 else np.float64
    return np.asarray(bits.astype(exact) @ weights.T.astype(exact)).astype(np.int64)


def _swing(layer: Layer, state: Bits, loose: Bits, limit: int) -> tuple[Ints, Ints]:
    """By how much match counts can fall and rise when at most `limit` loose inputs turn."""
    if isinstance(layer, DenseLayer):
        part = layer.weights[:, loose]
        turning = np.where(state[loose], -part, part)
        falls, rises = (
            np.sort(np.minimum(turning, 0), axis=1)[:, :limit],
            np.sort(np.maximum(turning, 0), axis=1)[:, ::-1][:, :limit],
        )
        return -falls.sum(axis=1), rises.sum(axis=1)
    if isinstance(layer, PoolLayer):
        on, off = (layer.match_counts(marks[None])[0] for marks in (loose & state, loose & ~state))
        return np.minimum(on, limit), np.minimum(off, limit)
    assert isinstance(layer, ConvLayer)
    most = limit * int(np.abs(layer.weights).max(initial=0))
    sums = []
    for marks in ((loose & state), (loose & ~state)):
        rows = np.where(marks, 1, 0)[None]
        kernels = (
            ConvLayer(w, np.zeros(len(w), int), layer.window, layer.groups)
            for w in (layer.weights, np.abs(layer.weights))
        )
        signed, sized = (kernel.sums(rows)[0] for kernel in kernels)
        sums.append(((sized + signed) // 2, (sized - signed) // 2))  # positive weights, negative ones
    (on, on_negative), (off, off_negative) = sums
    return np.minimum(on + off_negative, most), np.minimum(off + on_negative, most)


def _best(entries: list[tuple[Ints, Ints, Ints]], which: int, fits: int, many: int) -> Ints:
    """For each neuron the sum of what its best features bring, as many as can change together."""
    if not entries:
        return np.zeros(many, np.int64)
    neurons = np.concatenate([entry[0] for entry in entries])
    values = np.concatenate([entry[which] for entry in entries])
    order = np.lexsort((-np.abs(values), neurons))
    neurons, values = neurons[order], values[order]
    rank = np.arange(len(neurons)) - np.searchsorted(neurons, neurons)
    out = np.zeros(many, np.int64)
    np.add.at(out, neurons[rank < fits], values[rank < fits])
    return out


def _combined(head: Ints, factors: list[int]) -> list[int]:
    row = sum((f * head[k].astype(object) for k, f in enumerate(factors)), np.zeros(head.shape[1], object))
    return [int(value) for value in row]


def _impossible(
    row: list[int], factors: list[int], least: int, counts: Ints, state: Bits, loose: Bits, limit: int
) -> bool:
    """Whether an inequality over the classes' match counts cannot hold."""
    here = sum(f * int(m) for f, m in zip(factors, counts, strict=True))
    gains = sorted(
        (max(0, -w if s else w) for w, s, u in zip(row, state.tolist(), loose.tolist(), strict=True) if u),
        reverse=True,
    )
    return bool(here + sum(gains[:limit]) < least)


def _splitmix64(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
