"""Values of names in a quantized graph while it is read, and small readings of constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.quantized.runtime import Floats, QuantGrid, dequantized
from sugenet.io.plain.refusals import refuse_if

__all__ = [
    "DequantizedTensor",
    "FixedArray",
    "FixedLevelArray",
    "LevelArray",
    "LevelTensor",
    "Pending",
    "PendingAddition",
    "PendingAverage",
    "PendingConcat",
    "PendingSum",
    "QuantTail",
    "RawInput",
    "Value",
    "clip_to",
    "ends_of",
    "exact",
    "fits_evenly",
    "floats_of",
    "image",
    "integer_levels",
    "number_of",
    "rising",
    "row_of",
    "whole_of",
    "word",
    "zero_of",
]


@dataclass(frozen=True, eq=False)
class FixedArray:
    """A constant."""

    array: Array
    width: int | None = None
    """Bits of its whole numbers, where these are fewer than those of the array."""


@dataclass(frozen=True, eq=False)
class FixedLevelArray:
    """A constant that was quantized: ``scale * (q - zero)``, with one scale for all or one for each index of
    an axis.
    """

    q: Ints
    scale: Floats
    zero: Ints
    axis: int
    width: int | None = None
    """Bits, where these are fewer than 8."""

    @property
    def whole(self) -> Ints:
        """The whole numbers that the scale is for."""
        return self.q - self._along(self.zero)

    @property
    def floats(self) -> Floats:
        """As DequantizeLinear gives them."""
        return np.asarray(self.whole.astype(np.float32) * self._along(self.scale))

    def _along(self, values: Array) -> Array:
        if values.size == 1:
            return np.asarray(values.reshape(()))
        shape = [1] * self.q.ndim
        shape[self.axis] = values.size
        return values.reshape(shape)

    def scales(self, axis: int) -> Floats | None:
        """One scale for each index of an axis; None where they belong to another."""
        if self.scale.size == 1:
            return np.full(self.q.shape[axis], self.scale.reshape(-1)[0], np.float32)
        return self.scale if self.axis % self.q.ndim == axis % self.q.ndim else None


@dataclass(frozen=True, eq=False)
class RawInput:
    """The input in floats, with what was done to each value so far."""

    shape: tuple[int, ...]
    steps: tuple[Callable[[Floats], Floats], ...] = ()


@dataclass(frozen=True, eq=False)
class LevelArray:
    """A quantized tensor: level a is the integer ``low + a``."""

    name: str
    """Of the tensor in the file."""
    wire: LevelWire
    low: int
    kind: np.dtype[np.generic]
    shape: tuple[int, ...]
    """Without the batch."""

    @property
    def values(self) -> Ints:
        """The whole number of each level."""
        return self.low + np.arange(self.wire.top + 1)


@dataclass(frozen=True, eq=False)
class LevelTensor(LevelArray):
    """A float tensor that is a function of levels, value by value."""

    table: Floats
    """One number for each level."""


@dataclass(frozen=True, eq=False)
class DequantizedTensor(LevelTensor):
    """Levels that are just dequantized."""

    grid: QuantGrid

    @classmethod
    def of(cls, levels: LevelArray, scale: Any, zero: int) -> DequantizedTensor:
        """Dequantized levels."""
        grid = QuantGrid(scale, zero, levels.low, levels.low + levels.wire.top)
        with np.errstate(over="ignore"):
            table = dequantized(levels.values, grid)
        refuse_if(
            not np.isfinite(table).all(),
            f"its scale {grid.scale} is so large that its numbers are infinite in float32.",
        )
        return cls(levels.name, levels.wire, levels.low, levels.kind, levels.shape, table, grid)


Clips: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pending:
    """What waits for its quantizer."""

    where: str
    shape: tuple[int, ...]
    """Of the result, without the batch."""
    clips: Clips = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class PendingSum(Pending):
    """A matrix product or convolution of dequantized levels."""

    op: str
    source: DequantizedTensor
    weights: Ints
    """(out, in / groups, kernel height, kernel width)"""
    scales: Floats
    bias: Ints
    window: Window
    groups: int = 1
    floats: str = ""
    """Why runtimes compute it in floats; empty where they use whole numbers."""
    shift: Floats | None = None
    """A bias in floats, beside the whole one."""
    rescaled: tuple[Callable[[Floats], Floats], ...] = ()
    """What is done to the sums as floats, where the file spells that out (MatMulInteger, Cast, Mul, Add)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PendingAddition(Pending):
    """The sum of two tensors, or of one and a constant."""

    tensors: tuple[LevelTensor, ...]
    constant: FixedLevelArray | None
    is_constant_last: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class PendingAverage(Pending):
    """Averages of windows."""

    source: DequantizedTensor
    window: Window
    everything: bool
    """Whether the window is the whole image."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PendingConcat(Pending):
    """Tensors side by side."""

    parts: tuple[DequantizedTensor, ...]


@dataclass(frozen=True, eq=False)
class QuantTail:
    """Class scores behind a softmax or the like."""

    scores: Value
    scores_name: str
    left_out: tuple[str, ...]
    picks: bool


Value: TypeAlias = FixedArray | FixedLevelArray | RawInput | LevelArray | Pending | QuantTail


def image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """A shape as channels, height and width; (n, 1, 1) where it is no image."""
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    if len(shape) == 2:
        return shape[0], 1, shape[1]
    return prod(shape), 1, 1


def rising(table: Ints, height: int) -> Ints:
    """A rising table of levels as thresholds on its index."""
    refuse_if((np.diff(table) < 0).any(), "its levels fall where its input rises.")
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
    refuse_if(np.dtype(kind).kind not in "iu", f"it quantizes to {kind}, but whole numbers are needed.")
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def floats_of(value: Value | None) -> Array:
    """A constant of finite float32 numbers."""
    if not isinstance(value, FixedArray) or value.array.dtype != np.float32:
        raise FileError("one of its constants is missing or is not float32.")
    refuse_if(not np.isfinite(value.array).all(), "one of its constants is not finite.")
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
    refuse_if((full != full[:, :1]).any(), "it adds a constant that differs within a channel.")
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


def integer_levels(value: Value | None) -> LevelArray | None:
    """A tensor of integers; None of anything else, floats that are functions of levels too."""
    return value if isinstance(value, LevelArray) and not isinstance(value, LevelTensor) else None


def word(value: Value | None) -> str:
    """What a value is, in words."""
    phrases = {
        FixedArray: "a constant",
        FixedLevelArray: "a quantized constant",
        RawInput: "the unquantized input",
        LevelArray: "whole numbers",
        LevelTensor: "a float tensor of levels",
        DequantizedTensor: "a float tensor of levels",
        PendingSum: "a product in front of its quantizer",
        PendingAddition: "a sum in front of its quantizer",
        PendingAverage: "averages in front of their quantizer",
        PendingConcat: "joined tensors in front of their quantizer",
        QuantTail: "a softmax or the like",
    }
    return "nothing" if value is None else phrases[type(value)]
