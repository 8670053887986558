"""How far the match counts of a network of several levels can go within a region: bounds layer by layer, in
levels (docs/theory.md 3.4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sugenet.bnn import DenseLayer, LevelLayer
from sugenet.bnn.arrays import Ints
from sugenet.bnn.layers import Layer
from sugenet.problem.front import move_gains, reach
from sugenet.problem.neighbourhood import Neighbourhood

__all__ = ["level_bands"]


def level_bands(near: Neighbourhood, layer: int) -> tuple[Ints, Ints]:
    """Least and largest match counts of a layer, from 1; of pooling, levels. What lies outside cannot
    happen.
    """
    network = near.network
    low, high = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for number, one in enumerate(network.layers[:layer], start=1):
        if one.every is not None and not one.is_binary:
            low, high = _inputs(near) if number == 1 else (low, high)
            low, high = one.activity(low[None, :])[0], one.activity(high[None, :])[0]
            continue
        least, most = _first(near) if number == 1 else _counts(one, low, high)
        if number == layer:
            return least, most
        low, high = _levels(one, least), _levels(one, most)
    return low, high


def _first(near: Neighbourhood) -> tuple[Ints, Ints]:
    """The first layer: sums over the features that can move together."""
    network = near.network
    rows = network.layers[0].rows()
    tau = np.zeros(len(rows), np.int64)
    first = LevelLayer(rows, tau, network.encoder.tops) if network.reads_levels else DenseLayer(rows, tau)
    gains, here = move_gains(near, first), first.match_counts(near.inputs)[0]
    return here - reach(near, -gains), here + reach(near, gains)


def _inputs(near: Neighbourhood) -> tuple[Ints, Ints]:
    """The least and the largest level of every feature."""
    low = np.asarray(near.inputs[0], np.int64).copy()
    high = low.copy()
    for move in near.moves:
        low[move.feature] = min(low[move.feature], move.state)
        high[move.feature] = max(high[move.feature], move.state)
    return low, high


def _counts(layer: Layer, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    rows = layer.rows()
    tops = layer.input_tops
    up, down = np.maximum(rows, 0), np.maximum(-rows, 0)
    return up @ low + down @ (tops - high), up @ high + down @ (tops - low)


def _levels(layer: Any, counts: Ints) -> Ints:
    if layer.tau.ndim == 1:
        return np.asarray(counts >= layer.tau, np.int64)
    return np.asarray((counts[:, None] >= layer.tau).sum(axis=1))
