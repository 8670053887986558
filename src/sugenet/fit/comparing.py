"""The trained module and the exact network side by side, level for level: activity, match counts,
scores and classes.

Nothing here is compared with a tolerance. The module's sums are whole numbers and its logits are exact in
float64 (see `fit.module`), so equal scores are true ties,
and both sides give a tie to the lowest class number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.errors import SoundnessError
from sugenet.fit.encoding import reads_levels
from sugenet.fit.module import LevelModule

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Comparison", "compare", "tensor_of"]

_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many samples and values were compared, and how many values differ; `first` says where."""

    samples: int
    values: int
    differing: int
    first: str | None = None

    def check(self) -> None:
        """Raise `SoundnessError` where anything differs."""
        if self.first is not None:
            raise SoundnessError(
                f"{self.first} {self.differing} of {self.values} values differ. "
                f"Please report this network and input."
            )

    def __str__(self) -> str:
        return f"{self.samples} samples, {self.values} values compared, {self.differing} differ"


def compare(network: Network, module: LevelModule, X: Any) -> Comparison:
    """Evaluate raw samples with both, and count the values that differ.

    Compared are the activity of every hidden neuron, the match counts of the classes, their scores,
    and the predicted class.
    """
    array = network.encoder.rows(X)
    values, differing, first = 0, 0, None
    for start in range(0, len(array), _CHUNK):
        for place, (ours, theirs) in _pairs(network, module, array[start : start + _CHUNK]).items():
            wrong = ours != theirs
            values += wrong.size
            differing += int(wrong.sum())
            if first is None and wrong.any():
                row, column = (int(index) for index in np.argwhere(wrong)[0])
                spot = (
                    f"{place}, neuron {column + 1}"
                    if place.startswith("layer")
                    else f"{place} of class {column}"
                )
                spot = f"the {place}" if place == "predicted class" else spot
                first = (
                    f"{spot}: the network has {ours[row, column]}, the module {theirs[row, column]} on "
                    f"sample {start + row}."
                )
    return Comparison(len(array), values, differing, first)


def tensor_of(inputs: npt.NDArray[Any]) -> Tensor:
    """What the module reads: -1/+1 for bits, levels as they are."""
    import torch

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
    given = network.inputs(rows)
    for number, layer in enumerate(network.layers):
        given = layer.activity(given)
        pairs[f"layer {number + 1}"] = given.astype(np.int64), theirs.active[number].numpy()
    counts = network.head.match_counts(given)
    logits = theirs.logits.numpy()
    pairs["match count"] = counts, (theirs.sums.numpy().astype(np.float64) + network.head.sizes) / 2
    pairs["score"] = network.head.logits(counts), logits.astype(np.float64)
    pairs["predicted class"] = network.head.classes(counts)[:, None], np.argmax(logits, axis=1)[:, None]
    return pairs
