"""The first layer seen from a neighbourhood: the margin of each neuron, the gain of each move, and the
neurons that can turn at all.

All later layers depend only on the activity of the fragile neurons. So a set of moves can be replaced by its
*signature*, the new activity of these neurons (docs/theory.md 7.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.nn import DenseLayer, Layer, LevelLayer, Network
from sugenet.nn.arrays import Bits, Ints, make_sure
from sugenet.nn.binary_expansion import owners_of
from sugenet.nn.packed import Packed, compiled
from sugenet.problem.moves import Moves, Way
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood, features_that_fit, row_of

__all__ = [
    "FeatureGains",
    "FirstLayer",
    "first_layer",
    "gains_by_feature",
    "kinds_of",
    "margins_of",
    "move_gains",
    "reach",
]

_BLOCK = 1 << 26  # activities at a time
_KEPT = 1 << 20  # moves times neurons
_TABLE = 1 << 14
_SMALLER = "Ask about fewer features or smaller changes."


@dataclass(frozen=True, eq=False)
class FeatureGains:
    """Gains of the moves of one feature in the match counts of the neurons that read it."""

    moves: slice
    """Positions of the moves."""
    neurons: Ints
    """Neurons, or kinds of neurons as in `kinds_of`."""
    gains: Ints
    """One row per move, one column per neuron."""


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """A neighbourhood in numbers: margins of the fragile neurons at the sample, and the gains
    of each move.
    """

    neighbourhood: Neighbourhood
    active: Bits
    """Activity of the first layer at the sample."""
    fragile: npt.NDArray[np.intp]
    """Neurons that some allowed set of moves may turn; all others are constant in the neighbourhood."""
    margins: Ints
    """M - tau of the fragile neurons; a neuron is active if this is 0 or more."""
    kinds: Ints
    """The kind of each neuron, as in `kinds_of`."""
    gains: tuple[FeatureGains, ...] | None = None
    """Gains of the moves, stored if they are small; else they are recomputed on each iteration."""
    table: Ints | None = None
    """The gains as one array, one row per move and one column per kind of neuron.

    It is used if it is small and a move adds the weight of its feature; then `gains` is None.
    """

    @classmethod
    def of(cls, neighbourhood: Neighbourhood) -> FirstLayer:
        """Look at a neighbourhood from the first layer; a convolution stays a convolution."""
        first = _first(neighbourhood.network)
        margins = margins_of(neighbourhood, first)
        few = len(neighbourhood.moves) * first.outputs <= _KEPT
        table = _table(neighbourhood, first) if few else None
        gains = tuple(gains_by_feature(neighbourhood)) if few and table is None else None
        kinds = kinds_of(first)
        ends = (
            _reaches(neighbourhood, int(kinds.max(initial=-1)) + 1, gains)
            if table is None
            else (reach(neighbourhood, table), reach(neighbourhood, -table))
        )
        up, down = (end[kinds] for end in ends)
        active = margins >= 0
        fragile = np.flatnonzero(np.where(active, margins - down < 0, margins + up >= 0))
        return cls(neighbourhood, active, fragile, margins[fragile], kinds, gains, table)

    @cached_property
    def deltas(self) -> Ints:
        """One row per move, one column per fragile neuron."""
        rows, columns = len(self.neighbourhood.moves), len(self.fragile)
        # walks and searches copy the array
        make_sure(24 * rows * columns, f"the table of {rows:,} changes and {columns:,} neurons", _SMALLER)
        if self.table is not None:
            return self.table[:, self.kinds[self.fragile]]
        out = np.zeros((rows, columns), np.int64)
        for part in self.parts():
            out[part.moves, part.neurons] = part.gains
        return out

    def parts(self) -> Iterator[FeatureGains]:
        """Yield the gains of the moves, feature by feature, with neurons numbered by position among the
        fragile ones.
        """
        kinds = self.kinds[self.fragile]
        if self.table is not None:
            every, gains = np.arange(len(kinds)), self.deltas
            for moves in self.neighbourhood.places.values():
                yield FeatureGains(moves, every, gains[moves])
            return
        indices = np.argsort(kinds, kind="stable")  # neurons of a kind are adjacent
        ends = np.searchsorted(kinds[indices], np.arange(int(self.kinds.max(initial=-1)) + 2))
        for part in gains_by_feature(self.neighbourhood) if self.gains is None else self.gains:
            starts, counts = ends[part.neurons], ends[part.neurons + 1] - ends[part.neurons]
            within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            columns = np.repeat(np.arange(len(counts)), counts)
            yield FeatureGains(part.moves, indices[starts[columns] + within], part.gains[:, columns])

    @cached_property
    def tail(self) -> Packed:
        """The network after its first layer.

        It reads levels if the first layer gives levels: packed weights over their steps would be many times
        larger.
        """
        network = self.neighbourhood.network
        return compiled(network.layers[1:] if network.layers else (), network.head)

    @cached_property
    def _steps(self) -> npt.NDArray[np.intp] | None:
        """Positions of the steps of each neuron of the first layer, one row per neuron; None if it gives
        bits.
        """
        layers = self.neighbourhood.network.layers
        owners = owners_of(layers[:2])[0] if layers else None
        if owners is None:
            return None
        return np.argsort(owners, kind="stable").reshape(
            layers[0].outputs, len(owners) // max(1, layers[0].outputs)
        )

    def scores(self, signatures: Any) -> Ints:
        """Return match counts of the classes for given activities of the fragile neurons, one row each."""
        rows = np.asarray(signatures, dtype=bool)
        step = max(1, _BLOCK // max(1, len(self.active)))
        return np.concatenate([self._scores(rows[k : k + step]) for k in range(0, max(len(rows), 1), step)])

    def _scores(self, rows: Bits) -> Ints:
        activity = np.repeat(self.active[None, :], len(rows), axis=0)
        activity[:, self.fragile] = rows
        steps = self._steps
        return self.tail.match_counts(activity if steps is None else activity[:, steps].sum(axis=2))

    def rows(self, moves: Sequence[FeatureMove]) -> Ints:
        """Return the gains of moves of different features, one row per move, one column per
        fragile neuron.
        """
        order = sorted(range(len(moves)), key=lambda k: moves[k].feature)
        ways = Moves({moves[k].feature: (Way(*moves[k][1:]),) for k in order})
        some = FirstLayer(
            replace(self.neighbourhood, moves=ways),
            self.active,
            self.fragile,
            self.margins,
            self.kinds,
        )
        out = np.empty((len(moves), len(self.fragile)), np.int64)
        out[order] = some.deltas
        return out

    def importance(self) -> dict[int, float]:
        """Return how much each movable feature can change first-layer neurons near their threshold.

        Searches order features by it.
        """
        nearness = 1.0 / (1.0 + np.abs(self.margins))
        best = ((np.abs(part.gains) * nearness[part.neurons]).sum(axis=1).max() for part in self.parts())
        return dict(zip(self.neighbourhood.places, map(float, best), strict=True))


def _first(network: Network) -> Layer:
    """Return the first layer as it is, with staircases split into steps, or the bits if the
    head reads them.
    """
    return network.expanded.layers[0] if network.layers else first_layer(network)


def kinds_of(first: Layer) -> Ints:
    """Return a kind for each neuron of a first layer. A move adds the same to all neurons of a kind, such as
    the steps of a staircase.
    """
    return first.runs[1] if isinstance(first, DenseLayer | LevelLayer) else np.arange(first.outputs)


def margins_of(neighbourhood: Neighbourhood, first: Layer) -> Ints:
    """Return M - tau of each neuron of the first layer at the sample, with staircases split into steps."""
    network = neighbourhood.network
    expanded = network.expanded
    inputs = neighbourhood.inputs if expanded is network else expanded.inputs(row_of(neighbourhood.sample))
    if isinstance(first, DenseLayer):  # usually most bits are off, so sum the weights of the bits that are on
        held = first.columns[np.flatnonzero(inputs[0])].sum(axis=0) - first.run_lowest
        return np.asarray(held[first.runs[1]] - first.tau)
    return np.asarray(first.match_counts(inputs)[0] - first.tau)


def gains_by_feature(neighbourhood: Neighbourhood) -> Iterator[FeatureGains]:
    """Yield the gains of the moves of each feature, in the order of the moves, only for the kinds of neurons
    that read the feature.
    """
    network = neighbourhood.network
    first, encoder = _first(network), network.encoder
    levels = first.tops is not None
    tables: dict[int, Ints] = {}  # bits of all states, if equal features share a small coding
    for feature, moves in neighbourhood.places.items():
        before, after = neighbourhood.states[feature], neighbourhood.columns.states[moves]
        if levels:
            neurons, weights = (
                (np.arange(len(first.runs[0])), first.runs[0][:, feature])
                if isinstance(first, LevelLayer)
                else first.column(feature)
            )
            yield FeatureGains(moves, neurons, (after - before)[:, None] * weights)
            continue
        coding, group = encoder.codings[feature], encoder.group(feature)
        if id(coding) not in tables and coding.states * coding.width <= _TABLE:
            tables[id(coding)] = np.array(
                [coding.bits(state) for state in range(coding.states)], np.int64
            ).reshape(-1, coding.width)
        if id(coding) in tables:
            change = tables[id(coding)][after] - tables[id(coding)][before]  # on: +w, off: -w
        else:
            here = coding.bits(before).astype(np.int64)
            change = np.array([coding.bits(int(state)) - here for state in after]).reshape(
                len(after), len(group)
            )
        if isinstance(first, DenseLayer):
            rows = first.runs[0]
            yield FeatureGains(moves, np.arange(len(rows)), change @ rows[:, group.start : group.stop].T)
            continue
        columns = [first.column(index) for index in group]
        neurons = np.unique(np.concatenate([np.zeros(0, np.int64), *(reading for reading, _ in columns)]))
        rows = np.zeros((len(group), len(neurons)), np.int64)
        for row, (reading, weights) in zip(rows, columns, strict=True):
            row[np.searchsorted(neurons, reading)] = weights
        yield FeatureGains(moves, neurons, change @ rows)


def _table(neighbourhood: Neighbourhood, first: Layer) -> Ints | None:
    """Return the gain of each move in each kind of neuron, if a move adds the weight of its feature per
    state.

    This holds for dense layers over levels or over features of one bit. Otherwise return None.
    """
    network = neighbourhood.network
    if not isinstance(first, LevelLayer) and not (
        isinstance(first, DenseLayer) and network.encoder.has_one_bit_each
    ):
        return None
    features, states, _ = neighbourhood.columns
    rise = states - neighbourhood.sample_states[features]
    return np.asarray(rise[:, None] * first.columns[features])


def _reaches(
    neighbourhood: Neighbourhood, outputs: int, gains: Iterable[FeatureGains] | None
) -> tuple[Ints, Ints]:
    """Return bounds on how much allowed sets of moves can raise and lower each match count.

    The bounds are never too small, but sometimes too large. The best gain of each feature counts. With a
    budget, only the features with the best gains count, as many as can move together.
    """
    fits = features_that_fit(neighbourhood)
    kept: list[tuple[Ints, Ints, Ints]] = []
    up, down = np.zeros(outputs, np.int64), np.zeros(outputs, np.int64)
    for part in gains_by_feature(neighbourhood) if gains is None else gains:
        rises, falls = np.maximum(part.gains.max(axis=0), 0), np.maximum(-part.gains.min(axis=0), 0)
        if fits >= len(neighbourhood.places):
            up[part.neurons] += rises
            down[part.neurons] += falls
        elif fits == 1:
            up[part.neurons] = np.maximum(up[part.neurons], rises)
            down[part.neurons] = np.maximum(down[part.neurons], falls)
        elif fits:
            kept.append((part.neurons, rises, falls))
    if kept:
        neurons, rises, falls = (np.concatenate(rows) for rows in zip(*kept, strict=True))
        return _largest(neurons, rises, fits, outputs), _largest(neurons, falls, fits, outputs)
    return up, down


def _largest(neurons: Ints, values: Ints, count: int, outputs: int) -> Ints:
    """Return the sum of the `count` largest values of each neuron."""
    order = np.lexsort((-values, neurons))
    ordered = neurons[order]
    rank = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    out = np.zeros(outputs, np.int64)
    np.add.at(out, ordered[rank < count], values[order][rank < count])
    return out


def first_layer(network: Network) -> DenseLayer | LevelLayer:
    """Return the first layer as neurons, with staircases split into steps, or the bits if the head reads
    them.
    """
    if not network.layers:
        n = network.encoder.width
        return DenseLayer(np.eye(n, dtype=np.int64), np.ones(n, np.int64))
    first = network.expanded.layers[0]
    dense = first.dense()
    assert isinstance(dense, DenseLayer | LevelLayer)
    return dense


def move_gains(neighbourhood: Neighbourhood, first: DenseLayer | LevelLayer) -> Ints:
    """Return the gain of each move in the match count of each neuron."""
    n_moves = len(neighbourhood.moves)
    make_sure(
        24 * n_moves * first.outputs,
        f"the table of {n_moves:,} changes and {first.outputs:,} neurons",
        _SMALLER,
    )
    table = _table(neighbourhood, first)
    if table is not None:
        return table[:, kinds_of(first)]
    rows = np.zeros((n_moves, first.outputs), np.int64)
    encoder, weights = neighbourhood.network.encoder, first.weights
    for number, move in enumerate(neighbourhood.moves):
        before = neighbourhood.states[move.feature]
        if first.tops is not None:
            rows[number] = weights[:, move.feature] * (move.state - before)
        else:
            coding, group = encoder.codings[move.feature], encoder.group(move.feature)
            change = coding.bits(move.state).astype(np.int64) - coding.bits(before)  # on: +w, off: -w
            rows[number] = weights[:, group.start : group.stop] @ change
    return rows


def reach(neighbourhood: Neighbourhood, gains: Ints) -> Ints:
    """Return a bound on the gain of allowed sets of moves, for each column; never too small, sometimes too
    large.

    The best gain of each feature counts. With a budget, only the features with the best gains count, as many
    as can move together.
    """
    if not neighbourhood.moves:
        return np.zeros(gains.shape[1], np.int64)
    indices = neighbourhood.places
    if len(indices) < len(gains):
        gains = np.maximum.reduceat(gains, [moves.start for moves in indices.values()], axis=0)
    best = np.maximum(gains, 0)
    if neighbourhood.budget is None:
        return np.asarray(best.sum(axis=0))
    ordered = -np.sort(-best, axis=0)
    return np.asarray(ordered[: features_that_fit(neighbourhood)].sum(axis=0))
