"""The layers of hls4ml's example models (`BinaryDense`, `TernaryDense` and their convolutions) and the
activations that go with them, by the words of a file.

A kernel W in [-H, H] is used as ``H * binary_tanh(W / H)`` or, of ternary layers, as H where W / H > 1/2,
as -H where W / H <= -1/2, else 0. ``binary_tanh(x)`` is ``2 round((clip(x, -1, 1) + 1) / 2) - 1``: TensorFlow
rounds halves to even, so that 0 becomes -1, as do positive numbers that vanish beside 1/2 in the layer's
floats.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Op, Sign, Stairs
from sugenet.io.larq.keras_file import KerasLayer
from sugenet.io.larq.quantizers import precision

__all__ = ["ACTIVATIONS", "LAYERS", "kernel_used", "steps_of"]

LAYERS = ("BinaryDense", "TernaryDense", "BinaryConv2D", "TernaryConv2D")
ACTIVATIONS = ("binary_tanh", "ternary_tanh", "binary_sigmoid")


def kernel_used(layer: KerasLayer, kernel: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A kernel as the forward pass uses it."""
    if "H" not in layer.config:
        raise FileError(
            f"{layer.where}: it has no setting 'H', so it is not the layer of hls4ml's examples, and what it "
            "does with its kernel is not known. QuantDense of Larq or QDense of QKeras can be read."
        )
    height = layer.config.get("H")
    if not isinstance(height, int | float) or isinstance(height, bool) or not 0 < height < inf:
        raise FileError(f"{layer.where}: H is {str(height)[:40]!r}, but a number above 0 is needed.")
    layer.config.pass_over("kernel_lr_multiplier", "bias_lr_multiplier")
    single: Any = np.float64 if precision(layer.config.get("dtype")) == "float64" else np.float32
    size, half = single(height), single(0.5)
    if not size > 0:
        raise FileError(f"{layer.where}: H is {height!r}, which is 0 in its floats.")
    w = kernel.astype(single) / size
    if layer.kind.startswith("Ternary"):
        return np.asarray(np.where(w > half, size, np.where(w <= -half, -size, single(0))))
    return np.asarray(np.where(half * w + half > half, size, -size))


def steps_of(where: str, name: str) -> tuple[Op, ...]:
    """An activation as operations."""
    if name == "ternary_tanh":
        cuts = Stairs(where, np.array([[-0.5, 0.5]]), np.array([True, True]))
        return (cuts, Affine(where, np.array([1.0]), np.array([-1.0])))
    return (Sign(where, zero=-1, low=0.0 if name == "binary_sigmoid" else -1.0),)
