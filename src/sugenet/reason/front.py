"""The first layer seen from a neighbourhood: how far each neuron is from turning, what each move adds, and which can turn at all.

Everything behind the first layer depends on the activity of the fragile neurons alone (DESIGN section 4), so a set of moves is as good as
its *signature*: their new activity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import DenseLayer, LevelLayer, Network
from sugenet.bnn.conv import ConvLayer, dense_of
from sugenet.bnn.layers import Bits, Ints
from sugenet.bnn.packed import Packed
from sugenet.reason.regions import Neighbourhood

__all__ = ["Front", "features_that_fit", "first_layer", "move_gains", "reach"]


@dataclass(frozen=True, eq=False)
class Front:
    """A neighbourhood as numbers: margins of the fragile neurons at the sample, and what each move adds to them."""

    neighbourhood: Neighbourhood
    active: Bits
    """Activity of the first layer at the sample."""
    fragile: npt.NDArray[np.intp]
    """Neurons that some allowed set of moves may turn; all others are as they are throughout the neighbourhood."""
    margins: Ints
    """M - tau of the fragile neurons; 0 or more is active."""
    deltas: Ints
    """One row a move, one column a fragile neuron."""

    @classmethod
    def of(cls, neighbourhood: Neighbourhood) -> Front:
        """Look at a neighbourhood from the first layer."""
        network = neighbourhood.network
        first = first_layer(network)
        margins = first.match_counts(neighbourhood.inputs)[0] - first.tau
        deltas = move_gains(neighbourhood, first)
        up, down = reach(neighbourhood, deltas), reach(neighbourhood, -deltas)
        active = margins >= 0
        fragile = np.flatnonzero(np.where(active, margins - down < 0, margins + up >= 0))
        return cls(neighbourhood, active, fragile, margins[fragile], deltas[:, fragile])

    @cached_property
    def tail(self) -> Packed:
        """The network behind its first layer."""
        network = self.neighbourhood.network
        return Packed.of(network.layers[1:] if network.layers else (), network.head)

    def scores(self, signatures: Any) -> Ints:
        """Match counts of the classes for given activities of the fragile neurons, one row each."""
        rows = np.asarray(signatures, dtype=bool)
        activity = np.repeat(self.active[None, :], len(rows), axis=0)
        activity[:, self.fragile] = rows
        return self.tail.match_counts(activity)


def first_layer(network: Network) -> DenseLayer | LevelLayer:
    """The first layer as neurons; the bits themselves where the head reads them."""
    if not network.layers:
        n = network.encoder.width
        return DenseLayer(np.eye(n, dtype=np.int64), np.ones(n, np.int64))
    first = network.layers[0]
    if isinstance(first, ConvLayer) and first.top is not None:
        rows = ConvLayer(first.weights, first.tau.reshape(first.output_shape), first.window, first.groups).unrolled().weights
        return LevelLayer(rows, first.tau, [first.top] * first.inputs)
    return first if isinstance(first, LevelLayer) else dense_of(first)


def move_gains(neighbourhood: Neighbourhood, first: DenseLayer | LevelLayer) -> Ints:
    """What each move adds to the match count of each neuron."""
    rows = np.zeros((len(neighbourhood.moves), first.outputs), np.int64)
    encoder, weights = neighbourhood.network.encoder, first.weights
    for number, move in enumerate(neighbourhood.moves):
        before = neighbourhood.states[move.feature]
        if isinstance(first, LevelLayer):
            rows[number] = weights[:, move.feature] * (move.state - before)
        else:
            coding, group = encoder.codings[move.feature], encoder.group(move.feature)
            change = coding.bits(move.state).astype(np.int64) - coding.bits(before)  # on: +w, off: -w
            rows[number] = weights[:, group.start : group.stop] @ change
    return rows


def reach(neighbourhood: Neighbourhood, gains: Ints) -> Ints:
    """The most that allowed sets of moves can gain, for each column; never too little, sometimes too much.

    Of every feature the best gain counts; with a budget, as many features as could ever move together, those with the best gains.
    """
    moves, budget = neighbourhood.moves, neighbourhood.budget
    if not moves:
        return np.zeros(gains.shape[1], np.int64)
    features = np.array([move.feature for move in moves])
    starts = np.flatnonzero(np.diff(features, prepend=-1))
    best = np.maximum(np.maximum.reduceat(gains, starts, axis=0), 0)
    if budget is None:
        return np.asarray(best.sum(axis=0))
    ordered = -np.sort(-best, axis=0)
    return np.asarray(ordered[: features_that_fit(neighbourhood)].sum(axis=0))


def features_that_fit(neighbourhood: Neighbourhood) -> int:
    """No allowed set of moves changes more features than this."""
    lightest: dict[int, int] = {}
    for move in neighbourhood.moves:
        lightest[move.feature] = min(lightest.get(move.feature, move.weight), move.weight)
    if neighbourhood.budget is None:
        return len(lightest)
    return sum(1 for used in accumulate(sorted(lightest.values())) if used <= neighbourhood.budget)
