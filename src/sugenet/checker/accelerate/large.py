"""Bounds and walks over networks that are too large to write out, mainly convolutions.

To be ensured: the same as in `bounds` and `walk`. The gain of an input in the first layer is computed by the
definition, only for the neurons that read it. Later layers are recomputed only in neurons that read one that
has changed (`deltas`). If their sums are too large for that, they are products of float matrices that
represent them exactly, at positions whose input has changed (`later`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from sugenet.checker.accelerate.arrays import Ints, expansions_of
from sugenet.checker.accelerate.bounds import exclude, max_turned
from sugenet.checker.accelerate.deltas import Deltas
from sugenet.checker.accelerate.integers import added, violations
from sugenet.checker.accelerate.later import LaterLayers
from sugenet.checker.limit import Limit
from sugenet.checker.problem import in_integers, max_together, priced
from sugenet.checker.setting import Option, Setting
from sugenet.errors import CertificateError

__all__ = ["Large"]

_BLOCK = 512


@dataclass(frozen=True, eq=False)
class _Feature:
    """A feature that can change: prices of its options, their changes of the inputs, and the gains of inputs
    in the neurons.
    """

    prices: Ints
    change: Ints
    """One row per option, one column per input of the first layer."""
    neurons: Ints
    columns: Ints
    """One row per input, one column per neuron."""

    @property
    def gains(self) -> Ints:
        return added(self.change, self.columns)


class Large:
    """A question about one network, checked without writing out its neurons."""

    def __init__(self, setting: Setting, limit: Limit) -> None:
        self.network, self.limit = expansions_of(setting.networks)[0], limit
        options, self.budget = priced(setting, limit)
        self.options = {f: (row, np.array(prices, np.int64)) for f, (row, prices) in options.items()}
        self.start = self.network.inputs_at([setting.base[0]])[0]
        self.base = self.network.margins(self.start)
        self.cases = [[in_integers(*part) for part in case] for case in setting.cases]
        widest = max(layer.outputs for layer in self.network.layers)
        limit.take(
            64 * sum(layer.outputs for layer in self.network.layers) + 16 * _BLOCK * widest,
            "the neurons of a large network",
        )

    @cached_property
    def later(self) -> LaterLayers:
        """The layers after the first, by the definition."""
        return LaterLayers(self.base >= 0, self.network.layers[1:], self.network.head)

    @cached_property
    def deltas(self) -> Deltas | None:
        """The layers after the first, by the neurons that turned; None if their sums are too large."""
        layers, head = self.network.layers[1:], self.network.head
        return Deltas(self.base >= 0, layers, head, self.limit) if Deltas.fits(layers, head) else None

    # -- the first layer -------------------------------------------------------------------------------------

    def features(self) -> Iterator[_Feature]:
        """Yield the features that can change."""
        for feature, (options, prices) in self.options.items():
            self.limit.look()
            yield self._feature(feature, options, prices)

    def _feature(self, feature: int, options: list[Option], prices: Ints) -> _Feature:
        change = self.network.changes(feature, self.start, [option.states[0] for option in options])
        columns = self.network.columns(feature, self.start, self.base)
        neurons = np.flatnonzero(columns.any(axis=0))
        self.limit.fits(24 * len(change) * len(neurons), "the table of gains in neurons")
        return _Feature(prices, change, neurons, columns[:, neurons])

    def together(self) -> int:
        """Return how many features can change together within the budget."""
        return max_together((int(prices.min()) for _, prices in self.options.values()), self.budget)

    # -- bounds ----------------------------------------------------------------------------------------------

    def check_bounds(self) -> str:
        """Check that bounds alone exclude every violation."""
        base, together, entries = self.base, self.together(), []
        for part in self.features():
            gains = part.gains
            entries.append((part.neurons, np.maximum(gains.max(axis=0), 0), np.minimum(gains.min(axis=0), 0)))
        high, low = (base + _best(entries, which, together, len(base)) for which in (1, 2))
        loose = (low >= 0) != (high >= 0)
        parts = ((part.neurons, part.gains) for part in self.features())
        turning = max_turned(base, loose, together, self.budget, parts)
        layers, head = self.network.layers[1:], self.network.head
        return exclude(self.cases, layers, head, base >= 0, loose, turning, self.limit)

    # -- walks -----------------------------------------------------------------------------------------------

    def sets_seen(self) -> int:
        """Return the number of sets of changes, after checking that none is a violation."""
        return _LargeWalk(self).run()

    def violates(self, turned: list[Ints]) -> bool:
        """Return whether some lists of neurons of the first layer that turned are a violation."""
        return bool(violations(self.cases, self.network.head, self._counts(turned)).any())

    def _counts(self, turned: list[Ints]) -> Ints:
        if self.deltas is not None:
            return self.deltas.counts(turned)
        bits = np.repeat((self.base >= 0)[None], len(turned), axis=0)
        for row, neurons in zip(bits, turned, strict=True):
            row[neurons] = ~row[neurons]
        return self.later.counts(bits)


class _LargeWalk:
    """The state of a walk: the patterns found so far, and those still to be evaluated."""

    def __init__(self, question: Large) -> None:
        self.question = question
        self.known = {b""}
        """Sets of neurons that turn together."""
        self.sets, self.waiting = 1, []  # type: tuple[int, list[Ints]]
        self.margins, self.active = question.base.copy(), question.base >= 0
        self.features: list[_Feature] = []

    def run(self) -> int:
        """Return the number of sets."""
        question = self.question
        if question.violates([np.zeros(0, np.int64)]):
            raise CertificateError("the sample itself is a violation.")
        if question.together() <= 1:
            for feature in question.features():
                self._last(feature, 0, np.zeros(0, np.int64))
        else:
            for feature in question.features():
                question.limit.take(
                    feature.columns.nbytes + feature.change.nbytes + 500,
                    "the table of gains of inputs",
                )
                self.features.append(feature)
            lightest = [int(feature.prices.min()) for feature in self.features]
            self.lightest = list(accumulate(reversed(lightest), min))[::-1]
            self._visit(0, 0, np.zeros(0, np.int64))
        self._evaluate()
        return self.sets

    def _visit(self, first: int, spent: int, touched: Ints) -> None:
        """Visit all sets that add a feature from `first` on to the current margins."""
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
        """Visit the sets that end with one more feature."""
        self.question.limit.look()
        budget = self.question.budget
        gains = feature.gains[
            [budget is None or spent + price <= budget for price in feature.prices.tolist()]
        ]
        self.sets += len(gains)
        turned_rows = (self.margins[feature.neurons] + gains >= 0) != self.active[feature.neurons]
        others = np.setdiff1d(touched, feature.neurons)
        others = others[(self.margins[others] >= 0) != self.active[others]]
        taken = 0
        for turned in turned_rows[
            np.append(True, (turned_rows[1:] != turned_rows[:-1]).any(axis=1))[: len(turned_rows)]
        ]:
            neurons = np.sort(np.concatenate([others, feature.neurons[turned]]))
            key = neurons.tobytes()
            if key not in self.known:
                taken += 200 + 2 * len(key)
                self.known.add(key)
                self.waiting.append(neurons)
        self.question.limit.take(taken, "the patterns of a walk")
        if len(self.waiting) >= _BLOCK:
            self._evaluate()

    def _evaluate(self) -> None:
        for start in range(0, len(self.waiting), _BLOCK):
            self.question.limit.look()
            if self.question.violates(self.waiting[start : start + _BLOCK]):
                raise CertificateError("a change that the certificate excludes is a violation.")
        self.waiting = []


def _best(entries: list[tuple[Ints, Ints, Ints]], which: int, fits: int, n_neurons: int) -> Ints:
    """Return for each neuron the sum of its best gains, for as many features as can change together."""
    if not entries:
        return np.zeros(n_neurons, np.int64)
    neurons = np.concatenate([entry[0] for entry in entries])
    values = np.concatenate([entry[which] for entry in entries])
    order = np.lexsort((-np.abs(values), neurons))
    neurons, values = neurons[order], values[order]
    rank = np.arange(len(neurons)) - np.searchsorted(neurons, neurons)
    out = np.zeros(n_neurons, np.int64)
    np.add.at(out, neurons[rank < fits], values[rank < fits])
    return out
