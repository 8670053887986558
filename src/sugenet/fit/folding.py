"""From the trained module to the exact network: its own batch norm is asked for the level at sums that
can occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.bnn import DenseLayer, Encoder, Head, Layer, LevelLayer, Network, StairLayer
from sugenet.bnn.arrays import Ints
from sugenet.fit.encoding import reads_levels
from sugenet.fit.module import BIAS_GRID, LevelModule

__all__ = ["network_of"]


def network_of(
    module: LevelModule,
    encoder: Encoder,
    classes: Iterable[object] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Network:
    """The network that answers level for level as the module does after training."""
    tops = encoder.tops if reads_levels(encoder) else None
    layers = [_layer(module, number, None if number else tops) for number in range(module.depth)]
    unit = Fraction(module.unit)
    votes = [Fraction(round(bias * BIAS_GRID), BIAS_GRID) for bias in module.biases().tolist()]
    weights = _whole(module.weights(module.depth))
    between = None if module.levels == 2 else np.full(weights.shape[1], module.levels - 1)
    head = Head(weights, bias=[unit * vote for vote in votes], scale=unit, tops=between)
    return Network(encoder, layers, head, classes, notes)


def _layer(module: LevelModule, number: int, raw: tuple[int, ...] | None) -> Layer:
    """One hidden layer, counted from 0; `raw` are the tops of features that it reads as they are."""
    weights = _whole(module.weights(number))
    bits = raw is None and (number == 0 or module.levels == 2)
    tops = np.array(raw) if raw is not None else np.full(weights.shape[1], 1 if bits else module.levels - 1)
    # a match count M is the plain sum above its least value; of levels read as 2 a - top it is 2 M - n
    scale, least = (2, -np.abs(weights) @ tops) if raw is None else (1, np.minimum(weights, 0) @ tops)
    tau = _steps(module, number, np.abs(weights) @ tops, scale, least)
    if module.levels > 2:
        return StairLayer(weights, tau, tops)
    return DenseLayer(weights, tau[:, 0]) if bits else LevelLayer(weights, tau[:, 0], tops)


def _steps(module: LevelModule, number: int, sizes: Ints, scale: int, least: Ints) -> Ints:
    """Of each neuron the least match counts that reach its levels, found by halving: batch norm rises with
    the sum, since subtraction, product and addition round monotonically.
    """
    import torch

    wanted = np.arange(1, module.levels)
    low = np.zeros((len(sizes), len(wanted)), np.int64)
    high = np.repeat(sizes[:, None] + 1, len(wanted), axis=1)  # one past the largest: never reached
    while (low < high).any():
        middle = (low + high) // 2
        sums = torch.from_numpy((least[:, None] + scale * middle).T)
        levels = module.climb(module.norm(number, sums)).numpy().T
        reached = levels >= wanted
        low, high = (
            np.where((low < high) & ~reached, middle + 1, low),
            np.where((low < high) & reached, middle, high),
        )
    return low


def _whole(weights: Any) -> Ints:
    return np.asarray(weights.numpy(), dtype=np.int64)
