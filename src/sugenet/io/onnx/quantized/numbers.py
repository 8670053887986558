"""Small readings of constants, and words for values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.quantized.values import (
    FixedArray,
    FixedLevelArray,
    LevelArray,
    LevelTensor,
    PendingAddition,
    PendingAverage,
    PendingConcat,
    PendingSum,
    QuantTail,
    RawInput,
    Value,
)

__all__ = [
    "clip_to",
    "ends_of",
    "exact",
    "fits_evenly",
    "floats_of",
    "number_of",
    "rising",
    "row_of",
    "whole_of",
    "word",
    "zero_of",
]


def rising(table: Ints, height: int) -> Ints:
    """A rising table of levels as thresholds on its index."""
    if (np.diff(table) < 0).any():
        raise FileError("its levels fall where its input rises.")
    first = np.searchsorted(table, np.arange(1, height + 1), side="left")
    return np.where(first == len(table), NEVER, first)[None, :]


def clip_to(x: Any, clips: Any) -> Any:
    """Clipped to each pair of ends, in float32."""
    for low, high in clips:
        x = np.minimum(np.maximum(x, np.float32(low)), np.float32(high))
    return np.asarray(x, np.float32)


def ends_of(kind: Any, width: int | None = None) -> tuple[int, int]:
    """The least and the largest whole number of an element type, or of a width in bits."""
    if width is not None:
        return (
            (-(1 << (width - 1)), (1 << (width - 1)) - 1)
            if np.dtype(kind).kind == "i"
            else (0, (1 << width) - 1)
        )
    if np.dtype(kind).kind not in "iu":
        raise FileError(f"it quantizes to {kind}, but whole numbers are needed.")
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def floats_of(value: Value | None) -> Array:
    """A constant of finite float32 numbers."""
    if not isinstance(value, FixedArray) or value.array.dtype != np.float32:
        raise FileError("one of its constants is missing or is not float32.")
    if not np.isfinite(value.array).all():
        raise FileError("one of its constants is not finite.")
    return value.array


def whole_of(value: Value | None) -> Ints:
    """A constant of whole numbers."""
    if not isinstance(value, FixedArray) or value.array.dtype.kind not in "iu":
        raise FileError("one of its constants is missing or holds no whole numbers.")
    return value.array.astype(np.int64)


def number_of(value: Value) -> Any:
    """A constant of one number."""
    if not isinstance(value, FixedArray) or value.array.size != 1:
        raise FileError("one of its bounds is no single constant.")
    return value.array.reshape(-1)[0]


def zero_of(value: Value | None, kind: Any) -> int:
    """A zero point, which must have the element type of its tensor."""
    if value is None:
        return 0
    if not isinstance(value, FixedArray) or value.array.size != 1 or value.array.dtype != np.dtype(kind):
        raise FileError("its zero point is not one constant of the element type of its tensor.")
    return int(value.array.reshape(-1)[0])


def row_of(array: Array, shape: tuple[int, ...], channels: int) -> Array:
    """One number for each channel, where a constant is added to data of a shape."""
    while array.ndim > len(shape) and array.shape[0] == 1:
        array = array[0]
    full = np.broadcast_to(array, shape).reshape(channels, -1)
    if (full != full[:, :1]).any():
        raise FileError("it adds a constant that differs within a channel.")
    return full[:, 0]


def exact(value: Any) -> Fraction:
    """A float as the number that it is."""
    return Fraction(float(value))


def fits_evenly(window: Window) -> bool:
    """Whether windows reach the end of the image, so that rounding up adds none."""
    (top, left, bottom, right), (_, height, width) = window.pads, window.shape
    reach = [d * (k - 1) + 1 for d, k in zip(window.dilation, window.kernel, strict=True)]
    return (height + top + bottom - reach[0]) % window.stride[0] == 0 and (
        width + left + right - reach[1]
    ) % window.stride[1] == 0


def word(value: Value | None) -> str:
    """What a value is, in words."""
    words = {
        FixedArray: "a constant",
        FixedLevelArray: "a quantized constant",
        RawInput: "the unquantized input",
        LevelArray: "whole numbers",
        LevelTensor: "a float tensor of levels",
        PendingSum: "a product in front of its quantizer",
        PendingAddition: "a sum in front of its quantizer",
        PendingAverage: "averages in front of their quantizer",
        PendingConcat: "joined tensors in front of their quantizer",
        QuantTail: "a softmax or the like",
    }
    return "nothing" if value is None else words[type(value)]
