"""From the trained module to the exact network, and a comparison of both.

The network takes its steps from the batch norm of the module, evaluated at sums that can occur. The
comparison covers activity, match counts, scores and classes, level for level.

Nothing here is compared with a tolerance. The sums of the module are integers and its logits are exact in
float64 (see `fit.module`), so equal scores are true ties. Both sides give a tie to the lowest class index.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from sugenet.errors import SoundnessError
from sugenet.fit.encoding import reads_levels
from sugenet.fit.module import BIAS_GRID, LevelModule
from sugenet.nn import DenseLayer, Encoder, Head, Layer, LevelLayer, Network, QuantizedLayer
from sugenet.nn.arrays import Ints

__all__ = ["Comparison", "compare", "network_of", "tensor_of"]


def network_of(
    module: LevelModule,
    encoder: Encoder,
    classes: Iterable[object] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Network:
    """Return the network that gives the same levels as the module after training."""
    tops = encoder.tops if reads_levels(encoder) else None
    layers = [_layer(module, number, None if number else tops) for number in range(module.depth)]
    unit = Fraction(module.unit)
    votes = [Fraction(round(bias * BIAS_GRID), BIAS_GRID) for bias in module.biases().tolist()]
    weights = _integers(module.weights(module.depth))
    between = None if module.levels == 2 else np.full(weights.shape[1], module.levels - 1)
    head = Head(weights, bias=[unit * vote for vote in votes], scale=unit, tops=between)
    return Network(encoder, layers, head, classes, notes)


def _layer(module: LevelModule, number: int, raw: tuple[int, ...] | None) -> Layer:
    """Return one hidden layer, counted from 0; `raw` are the tops of features that it reads unencoded."""
    weights = _integers(module.weights(number))
    bits = raw is None and (number == 0 or module.levels == 2)
    tops = np.array(raw) if raw is not None else np.full(weights.shape[1], 1 if bits else module.levels - 1)
    # a match count M is the plain sum minus its least value; for levels read as 2 a - top, the sum is 2 M - n
    scale, min_sums = (2, -np.abs(weights) @ tops) if raw is None else (1, np.minimum(weights, 0) @ tops)
    tau = _steps(module, number, np.abs(weights) @ tops, scale, min_sums)
    if module.levels > 2:
        return QuantizedLayer(weights, tau, tops)
    return DenseLayer(weights, tau[:, 0]) if bits else LevelLayer(weights, tau[:, 0], tops)


def _steps(module: LevelModule, number: int, sizes: Ints, scale: int, min_sums: Ints) -> Ints:
    """Return the smallest match counts that reach the levels of each neuron, found by bisection.

    Batch norm increases with the sum, since subtraction, product and addition round monotonically.
    """
    wanted = np.arange(1, module.levels)
    low = np.zeros((len(sizes), len(wanted)), np.int64)
    high = np.repeat(sizes[:, None] + 1, len(wanted), axis=1)  # one past the largest: never reached
    while (low < high).any():
        middle = (low + high) // 2
        sums = torch.from_numpy((min_sums[:, None] + scale * middle).T)
        levels = module.climb(module.norm(number, sums)).numpy().T
        reached = levels >= wanted
        low, high = (
            np.where((low < high) & ~reached, middle + 1, low),
            np.where((low < high) & reached, middle, high),
        )
    return low


def _integers(weights: Any) -> Ints:
    return np.asarray(weights.numpy(), dtype=np.int64)


_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Comparison:
    """Number of samples and values compared, and number of values that differ; `first` is the first
    difference.
    """

    samples: int
    values: int
    differing: int
    first: str | None = None

    def check(self) -> None:
        """Raise `SoundnessError` if anything differs."""
        if self.first is not None:
            raise SoundnessError(
                f"{self.first} {self.differing} of {self.values} values differ. "
                f"Please report this network and input."
            )

    def __str__(self) -> str:
        return f"{self.samples} samples, {self.values} values compared, {self.differing} differ"


def compare(network: Network, module: LevelModule, X: Any) -> Comparison:
    """Evaluate raw samples with both, and count the values that differ.

    The comparison covers the activity of every hidden neuron, the match counts of the classes, their scores,
    and the predicted class.
    """
    array = network.encoder.rows(X)
    values, differing, first = 0, 0, None
    for start in range(0, len(array), _CHUNK):
        for position, (ours, theirs) in _pairs(network, module, array[start : start + _CHUNK]).items():
            wrong = ours != theirs
            values += wrong.size
            differing += int(wrong.sum())
            if first is None and wrong.any():
                row, column = (int(index) for index in np.argwhere(wrong)[0])
                spot = (
                    f"{position}, neuron {column + 1}"
                    if position.startswith("layer")
                    else f"{position} of class {column}"
                )
                spot = f"the {position}" if position == "predicted class" else spot
                first = (
                    f"{spot}: the network has {ours[row, column]}, the module {theirs[row, column]} on "
                    f"sample {start + row}."
                )
    return Comparison(len(array), values, differing, first)


def tensor_of(inputs: npt.NDArray[Any]) -> Tensor:
    """Return the input of the module: -1/+1 for bits, levels unchanged."""
    if inputs.dtype == bool:
        return torch.from_numpy(np.where(inputs, np.float32(1), np.float32(-1)))
    return torch.from_numpy(inputs.astype(np.float32))


def _pairs(
    network: Network, module: LevelModule, rows: npt.NDArray[Any]
) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    encoder = network.encoder
    # a staircase may read single bits as levels 0 and 1, which the module reads as -1 and +1
    levels = bool(network.layers) and reads_levels(encoder)
    theirs = module.evaluate(tensor_of(encoder.levels(rows) if levels else encoder.encode(rows)))
    pairs: dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}
    activities = network.inputs(rows)
    for number, layer in enumerate(network.layers):
        activities = layer.activity(activities)
        pairs[f"layer {number + 1}"] = activities.astype(np.int64), theirs.active[number].numpy()
    counts = network.head.match_counts(activities)
    logits = theirs.logits.numpy()
    pairs["match count"] = counts, (theirs.sums.numpy().astype(np.float64) + network.head.sizes) / 2
    pairs["score"] = network.head.logits(counts), logits.astype(np.float64)
    pairs["predicted class"] = network.head.classes(counts)[:, None], np.argmax(logits, axis=1)[:, None]
    return pairs
