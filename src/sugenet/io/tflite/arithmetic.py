"""The integer arithmetic of TensorFlow Lite's kernels, as functions of whole arrays.

A layer adds up products in 32 bits and rescales the sum by ``input scale * weight scale / output scale``.
Two sets of kernels round the result differently, where it is near a half:

- ``"reference"``: LiteRT's reference kernels. The factor is a multiplier of 31 bits and a shift. The product
  is rounded where the multiplier ends, half up, and again at the shift, half away from zero. Dense layers
  multiply in float64 and round once, half away from zero.
- ``"micro"``: the same, but dense layers are rounded like convolutions. TensorFlow Lite Micro computes so.

The first was confirmed with LiteRT 2.3 on sums next to ties.
"""

from collections.abc import Callable
from math import floor, frexp, ldexp
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.io.plain.refusals import refuse_if
from sugenet.nn.arrays import Ints

__all__ = ["KERNELS", "Kernels", "activation_range", "added", "fixed", "quantized", "rescaled", "rescaler"]

Kernels: TypeAlias = Literal["reference", "micro"]
KERNELS: tuple[Kernels, ...] = ("reference", "micro")
_REACH = (1 << 31) - 1


def fixed(real: float) -> tuple[int, int]:
    """Return a factor as a multiplier of 31 bits and a shift.

    Examples
    --------
    >>> fixed(0.25), fixed(1 / 3)
    ((1073741824, -1), (1431655765, -1))
    """
    if real == 0:
        return 0, 0
    part, shift = frexp(real)
    multiplier = floor(ldexp(part, 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def rescaled(x: Ints, multiplier: Any, shift: Any) -> Ints:
    """Return integers times a multiplier and a shift, rounded twice.

    Examples
    --------
    >>> rescaled(np.array([1, 2, -2, -3]), 1 << 30, -1).tolist()  # times 1/4
    [1, 1, -1, -1]
    """
    left, right = np.maximum(shift, 0), np.maximum(-np.asarray(shift), 0)
    refuse_if((left > 30).any(), "its factor is so large that sums leave 32 bits.")
    moved = x << left
    refuse_if((np.abs(moved) > _REACH).any(), "its factor is so large that sums leave 32 bits.")
    high = (moved * multiplier + (1 << 30)) >> 31
    mask = (1 << right) - 1
    return np.asarray((high >> right) + ((high & mask) > (mask >> 1) + (high < 0)))


def rescaler(
    kernels: Kernels, dense: bool, x: np.float32, w: npt.NDArray[np.float32], y: np.float32
) -> Callable[[Ints], Ints]:
    """Return the function from sums, one row per channel, to integers before the zero point is added.

    The scales of input, weights and output are given.
    """
    reals = [float(x) * float(scale) / float(y) for scale in w]
    if dense and kernels == "reference":
        column = np.array(reals)[:, None]

        def once(sums: Ints) -> Ints:
            product = sums * column
            refuse_if((np.abs(product) > _REACH).any(), "its factor is so large that sums leave 32 bits.")
            return np.asarray((np.sign(product) * np.floor(np.abs(product) + 0.5)).astype(np.int64))

        return once
    multiplier, shift = (np.array(row)[:, None] for row in zip(*map(fixed, reals), strict=True))
    return lambda sums: rescaled(sums, multiplier, shift)


def activation_range(activation: str, scale: np.float32, zero: int) -> tuple[int, int]:
    """Return the smallest and the largest 8-bit integer that an activation lets through."""
    low, high = {"NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}[
        activation
    ]

    def at(value: int) -> int:
        ratio = float(np.float32(value) / scale)
        return zero + (floor(ratio + 0.5) if ratio >= 0 else -floor(0.5 - ratio))

    return (
        -128 if low is None else min(max(-128, at(low)), 127),
        127 if high is None else max(min(127, at(high)), -128),
    )


def added(left: tuple[Any, int], right: tuple[Any, int], out: tuple[Any, int], a: Ints, b: Ints) -> Ints:
    """Return the sum of two 8-bit tensors before it is clipped.

    Each of `left`, `right` and `out` is a scale and a zero point.
    """
    twice = 2 * max(float(left[0]), float(right[0]))
    parts = [
        rescaled((q - zero) << 20, *fixed(float(scale) / twice))
        for q, (scale, zero) in ((a, left), (b, right))
    ]
    return rescaled(parts[0] + parts[1], *fixed(twice / ((1 << 20) * float(out[0])))) + out[1]


def quantized(x: npt.NDArray[np.float32], scale: np.float32, zero: int, low: int, high: int) -> Ints:
    """Return the integers of float32 numbers: divided in float32, rounded half away from zero."""
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = x.astype(np.float32) / scale
    near = np.trunc(ratio.clip(-1e6, 1e6))
    up = np.abs(ratio.clip(-1e6, 1e6) - near) >= 0.5
    return np.asarray(np.clip((near + up * np.sign(ratio)).astype(np.int64) + zero, low, high))
