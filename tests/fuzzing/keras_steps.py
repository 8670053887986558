"""What layers of random Keras models do, in PyTorch on channels first."""

from __future__ import annotations

from math import ceil
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

__all__ = ["ACTIVATIONS", "SIGNS", "padded", "signed", "stepped"]

SIGNS = {"ste_sign": (1, -1.0), "approx_sign": (1, -1.0), "SwishSign": (1, -1.0), "ste_heaviside": (-1, 0.0)}
ACTIVATIONS = SIGNS | {"binary_tanh": (-1, -1.0), "binary_sigmoid": (-1, 0.0)}


def stepped(name: str) -> Any:
    """A quantizer of two or three values."""
    if not name.startswith("ternary"):
        return signed("ste_sign" if name == "binary" else name)
    cut, scale = (0.5, 1.0) if name == "ternary_tanh" else (0.25, 0.5)

    def step(x: Any, before: list[Any]) -> Any:
        before += [x - cut, x + cut]
        above = x > cut if name == "ternary_tanh" else x >= cut
        return scale * (above.double() - (x <= -cut).double())

    return step


def signed(name: str) -> Any:
    """A quantizer of two values."""
    zero, low = ACTIVATIONS[name]

    def step(x: Any, before: list[Any]) -> Any:
        before.append(x)
        return torch.where((x >= 0) if zero > 0 else (x > 0), 1.0, low).double()

    return step


def padded(
    x: Any, padding: str, size: list[int], stride: list[int], dilation: list[int], value: float
) -> Any:
    """Pads as TensorFlow lays them for `same`, and in front for `causal`."""
    around: list[int] = []
    for axis in (1, 0):
        span, length = dilation[axis] * (size[axis] - 1) + 1, x.shape[2 + axis]
        total = (
            max((ceil(length / stride[axis]) - 1) * stride[axis] + span - length, 0)
            if padding == "same"
            else 0
        )
        first_layer = span - 1 if padding == "causal" and axis == 1 else total // 2
        around += [first_layer, total - total // 2 if padding == "same" else 0]
    return F.pad(x, around, value=value)
