"""From the trained module to the exact network: its own batch norm is asked for the sign at every
sum that can occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.bnn import DenseLayer, Encoder, Head, Layer, LevelLayer, Network, fold_by_evaluation
from sugenet.bnn.arrays import Ints
from sugenet.fit.encoding import reads_levels
from sugenet.fit.module import BIAS_GRID, BinaryModule

__all__ = ["network_of"]


def network_of(
    module: BinaryModule,
    encoder: Encoder,
    classes: Iterable[object] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Network:
    """The network that answers bit for bit as the module does after training."""
    tops = encoder.tops if reads_levels(encoder) else None
    layers: list[Layer] = [
        _dense(module, number)
        if number or tops is None
        else _levels(module, number, np.array(tops, dtype=np.int64))
        for number in range(module.depth)
    ]
    unit = Fraction(module.unit)
    votes = [Fraction(round(bias * BIAS_GRID), BIAS_GRID) for bias in module.biases().tolist()]
    head = Head(_whole(module.weights(module.depth)), bias=[unit * vote for vote in votes], scale=unit)
    return Network(encoder, layers, head, classes, notes)


def _dense(module: BinaryModule, number: int) -> DenseLayer:
    return fold_by_evaluation(_whole(module.weights(number)), lambda sums: _normed(module, number, sums))


def _levels(module: BinaryModule, number: int, tops: Ints) -> LevelLayer:
    """Find each threshold by halving: batch norm rises with the sum, since subtraction, product and addition
    round monotonically.
    """
    weights = _whole(module.weights(number))
    least = np.minimum(weights, 0) @ tops  # the sum at match count 0
    low = np.zeros(len(weights), np.int64)
    high = np.abs(weights) @ tops + 1  # one past the largest match count: never active
    while (low < high).any():
        middle = (low + high) // 2
        active = _normed(module, number, (least + middle)[None, :])[0] >= 0
        low, high = (
            np.where((low < high) & ~active, middle + 1, low),
            np.where((low < high) & active, middle, high),
        )
    return LevelLayer(weights, low, tops)


def _normed(module: BinaryModule, number: int, sums: Any) -> Any:
    import torch

    return module.norm(number, torch.from_numpy(np.asarray(sums, dtype=np.float32))).numpy()


def _whole(weights: Any) -> Ints:
    return np.asarray(weights.numpy(), dtype=np.int64)
