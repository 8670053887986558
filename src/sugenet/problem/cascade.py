"""A problem as a cascade of thresholds over 0/1 variables, as used by solvers, exports and proofs.

Variables, in this order:

- the *steps* of every feature that may move, feature by feature,
- the neurons of each hidden layer; a neuron with several levels has one variable per level,
- the inequalities of the goal.

The options o_0 < o_1 < ... of a feature are the states it may take, including its own, in rising order. It
has one step for each option after the first. Step k is true iff the option is o_k or later, so each step
implies the one before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.nn.arrays import Ints, make_sure
from sugenet.problem.first_layer import first_layer, margins_of, move_gains
from sugenet.problem.goal import Goal
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood, starts_in

__all__ = ["Cascade", "FeatureSteps", "Thresholds"]


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Variables that are true iff a weighted sum of earlier variables is large enough:
    ``weights[j] @ v >= least[j]``.
    """

    weights: Ints
    least: Ints


class FeatureSteps(NamedTuple):
    """The steps of one feature."""

    feature: int
    first: int
    """Index of the variable of its first step."""
    options: tuple[FeatureMove | None, ...]
    """In rising order of state; None means that the feature stays as it is."""

    @property
    def steps(self) -> range:
        """Its variables."""
        return range(self.first, self.first + len(self.options) - 1)


@dataclass(frozen=True, eq=False)
class Cascade:
    """Chains of input steps, a budget, layers of thresholds, and the goal.

    A violation is an assignment with four properties. Every step implies the one before it. The budget holds.
    Every neuron and inequality is true iff its sum is large enough. All inequalities of some case are true.
    """

    chains: tuple[FeatureSteps, ...]
    budget: tuple[Ints, int] | None
    """Prices of the steps and the largest allowed sum: ``prices @ steps <= limit``; prices can
    be negative.
    """
    layers: tuple[Thresholds, ...]
    """Hidden layers; the first reads the steps, each later one reads the layer before it.

    The last entry is the goal's inequalities.
    """
    cases: tuple[tuple[int, ...], ...]
    """Row indices in the last layer."""

    @classmethod
    def of(cls, near: Neighbourhood, goal: Goal) -> Cascade:
        """Write a problem as thresholds."""
        network = near.network.expanded
        room = len(near.moves) * (network.layers[0].outputs if network.layers else network.encoder.width)
        room += sum(layer.inputs * layer.outputs for layer in network.layers[1:])
        make_sure(
            24 * room,
            "the whole network as thresholds",
            "Use an engine that enumerates inputs: bounds, search, flips or exhaust.",
        )
        first = first_layer(network)
        start = margins_of(near, first)
        # all options, feature by feature in rising order of state; the last entries are the options to stay
        n_moves, features = len(near.moves), np.array(list(near.places), np.int64)
        owners = np.concatenate([near.columns.features, features])
        states = np.concatenate([near.columns.states, near.sample_states[features]])
        order = np.lexsort((states, owners))
        begins = starts_in(owners[order])
        gains = np.concatenate([move_gains(near, first), np.zeros((len(features), first.outputs), np.int64)])
        weights = np.concatenate([near.columns.weights.astype(object), np.zeros(len(features), object)])
        inside = np.flatnonzero(~begins)
        lowest, indices = order[begins], order.tolist()
        chains, count = [], 0
        starts = [*np.flatnonzero(begins).tolist(), len(indices)]
        for feature, (one, next_one) in zip(near.places, pairwise(starts), strict=True):
            options = indices[one:next_one]
            taken = tuple(None if n >= n_moves else near.moves[n] for n in options)
            chains.append(FeatureSteps(feature, count, taken))
            count += len(options) - 1
        rows = gains[order[inside]] - gains[order[inside - 1]]
        layers = [Thresholds(rows.T, -(start + gains[lowest].sum(axis=0)))]
        for layer in network.layers[1:]:
            dense = layer.unrolled()
            layers.append(Thresholds(dense.weights, dense.tau + dense.lowest))
        budget = None
        if near.budget is not None:
            prices = weights[order[inside]] - weights[order[inside - 1]]
            budget = (prices, near.budget - int(weights[lowest].sum()))
        return cls(tuple(chains), budget, (*layers, Thresholds(*goal.neurons(network.head))), goal.members)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Indices of the first variable of the steps and of each layer, and one past the end."""
        sizes = [self.steps, *(len(layer.least) for layer in self.layers)]
        return tuple(np.concatenate([[0], np.cumsum(sizes)]).tolist())

    @cached_property
    def steps(self) -> int:
        """Number of input steps."""
        return sum(len(chain.options) - 1 for chain in self.chains)

    def moves(self, values: Sequence[Any] | npt.NDArray[Any]) -> tuple[FeatureMove, ...]:
        """Return the moves that an assignment of the steps encodes."""
        taken = [bool(value) for value in np.asarray(values[: self.steps]).tolist()]
        chosen = (options[sum(taken[first : first + len(options) - 1])] for _, first, options in self.chains)
        return tuple(move for move in chosen if move is not None)
