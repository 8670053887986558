"""Two sides made one where they are the same: neurons that are equal throughout a neighbourhood become one,
those that never turn go.

Equality of two networks that share most of their neurons is then seen at once. What remains keeps its order,
so that the checker, which does the same by its own code, speaks of the same neurons.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sugenet.bnn import DenseLayer, Head, Network
from sugenet.bnn.arrays import Ints
from sugenet.problem.front import first_layer, margins_of, move_gains, reach
from sugenet.problem.goal import Goal, Votes
from sugenet.problem.neighbourhood import Neighbourhood
from sugenet.problem.problem import Problem

__all__ = ["merged"]


def merged(near: Neighbourhood, goal: Goal) -> Problem:
    """The same problem over fewer neurons."""
    network = near.network
    first = first_layer(network)
    assert isinstance(first, DenseLayer)
    gains, margins = move_gains(near, first), margins_of(near, first)
    up, down = margins + reach(near, gains), margins - reach(near, -gains)
    constant = np.where(down >= 0, 1, np.where(up < 0, 0, -1))
    kept, source, fixed = _classes(-margins, np.ascontiguousarray(gains.T), constant)
    layers = [DenseLayer(first.weights[kept], first.tau[kept])]
    for layer in network.layers[1:]:
        dense = layer.unrolled()
        weights, least = _folded(
            dense.weights, dense.tau + np.minimum(dense.weights, 0).sum(axis=1), source, fixed, len(kept)
        )
        low, high = np.minimum(weights, 0).sum(axis=1), np.maximum(weights, 0).sum(axis=1)
        constant = np.where(low >= least, 1, np.where(high < least, 0, -1))
        kept, source, fixed = _classes(least, weights, constant)
        layers.append(DenseLayer(weights[kept], (least - low)[kept]))
    before = np.minimum(network.head.weights, 0).sum(axis=1)
    weights, shifts = _folded(
        network.head.weights, np.zeros(network.head.outputs, np.int64), source, fixed, len(kept)
    )
    shifts = before - np.minimum(weights, 0).sum(axis=1) + shifts  # what is missing from the match counts now
    cases = tuple(tuple(_moved(vote, shifts) for vote in case) for case in goal.cases)
    smaller = Network(network.encoder, layers, Head(weights), network.classes, domain=network.domain)
    return Problem(replace(near, network=smaller), Goal(cases, goal.room))


def _moved(vote: Votes, shifts: Ints) -> Votes:
    return Votes(
        vote.factors, vote.least + sum(f * int(s) for f, s in zip(vote.factors, shifts, strict=True))
    )


def _classes(least: Ints, rows: Ints, constant: Ints) -> tuple[list[int], list[tuple[int, bool]], Ints]:
    """Neurons ``row @ v >= least`` to keep, the first of each kind.

    For each neuron also its place among them (-1: constant) and whether it is the opposite of that one, and
    its value where it is constant.
    """
    places: dict[tuple[int, bytes], int] = {}
    kept: list[int] = []
    source: list[tuple[int, bool]] = []
    for number, (bound, row) in enumerate(zip(least.tolist(), rows, strict=True)):
        same, opposite = (bound, row.tobytes()), (1 - bound, (-row).tobytes())
        if constant[number] >= 0:
            source.append((-1, False))
        elif same in places:
            source.append((places[same], False))
        elif opposite in places:
            source.append((places[opposite], True))
        else:
            places[same] = len(kept)
            source.append((len(kept), False))
            kept.append(number)
    return kept, source, np.maximum(constant, 0)


def _folded(
    weights: Ints, least: Ints, source: list[tuple[int, bool]], fixed: Ints, count: int
) -> tuple[Ints, Ints]:
    """Weights over the neurons that are kept, and what their sum must reach then."""
    out, bound = np.zeros((len(weights), count), np.int64), least.copy()
    for column, (place, opposite) in enumerate(source):
        if place < 0:
            bound = bound - weights[:, column] * fixed[column]
        elif opposite:
            out[:, place] -= weights[:, column]
            bound = bound - weights[:, column]
        else:
            out[:, place] += weights[:, column]
    return out, bound
