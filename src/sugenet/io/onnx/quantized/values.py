"""Values of names in a quantized graph while it is read, and readers of simple constants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.exact.integers import LevelWire
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.quantized.runtime import Floats, QuantGrid, dequantized
from sugenet.io.plain.refusals import expected, refuse_if
from sugenet.nn import NEVER, Window
from sugenet.nn.arrays import Ints

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
    "integers_of",
    "number_of",
    "rising",
    "row_of",
    "word",
    "zero_of",
]


@dataclass(frozen=True, eq=False)
class FixedArray:
    """A constant."""

    array: Array
    width: int | None = None
    """Bit width of its integers, if smaller than that of the array."""


@dataclass(frozen=True, eq=False)
class FixedLevelArray:
    """A constant that was quantized: ``scale * (q - zero)``, with one scale for all or one per index of an
    axis.
    """

    q: Ints
    scale: Floats
    zero: Ints
    axis: int
    width: int | None = None
    """Bit width, if smaller than 8."""

    @property
    def whole(self) -> Ints:
        """The integers that the scale applies to."""
        return self.q - self._along(self.zero)

    @property
    def floats(self) -> Floats:
        """The values as DequantizeLinear computes them."""
        return np.asarray(self.whole.astype(np.float32) * self._along(self.scale))

    def _along(self, values: Array) -> Array:
        if values.size == 1:
            return np.asarray(values.reshape(()))
        shape = [1] * self.q.ndim
        shape[self.axis] = values.size
        return values.reshape(shape)

    def scales(self, axis: int) -> Floats | None:
        """Return one scale per index of an axis; None if the scales belong to another axis."""
        if self.scale.size == 1:
            return np.full(self.q.shape[axis], self.scale.reshape(-1)[0], np.float32)
        return self.scale if self.axis % self.q.ndim == axis % self.q.ndim else None


@dataclass(frozen=True, eq=False)
class RawInput:
    """The input in floats, with the operations applied to each value so far."""

    shape: tuple[int, ...]
    steps: tuple[Callable[[Floats], Floats], ...] = ()


@dataclass(frozen=True, eq=False)
class LevelArray:
    """A quantized tensor: level a is the integer ``low + a``."""

    name: str
    """Name of the tensor in the file."""
    wire: LevelWire
    low: int
    kind: np.dtype[np.generic]
    shape: tuple[int, ...]
    """Shape without the batch."""

    @property
    def values(self) -> Ints:
        """The integer of each level."""
        return self.low + np.arange(self.wire.top + 1)


@dataclass(frozen=True, eq=False)
class LevelTensor(LevelArray):
    """A float tensor that is an elementwise function of levels."""

    table: Floats
    """One number for each level."""


@dataclass(frozen=True, eq=False)
class DequantizedTensor(LevelTensor):
    """Levels that are only dequantized."""

    grid: QuantGrid

    @classmethod
    def of(cls, levels: LevelArray, scale: Any, zero: int) -> DequantizedTensor:
        """Return dequantized levels."""
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
    """A value that waits for its quantizer."""

    where: str
    shape: tuple[int, ...]
    """Shape of the result, without the batch."""
    clips: Clips = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class PendingSum(Pending):
    """A matrix product or convolution of dequantized levels."""

    op: str
    source: DequantizedTensor
    weights: Ints
    """Shape (out, in / groups, kernel height, kernel width)."""
    scales: Floats
    bias: Ints
    window: Window
    groups: int = 1
    floats: str = ""
    """Why runtimes compute it in floats; empty if they use integers."""
    shift: Floats | None = None
    """A bias in floats, in addition to the integer one."""
    rescaled: tuple[Callable[[Floats], Floats], ...] = ()
    """Operations on the sums as floats, if the file contains them (MatMulInteger, Cast, Mul, Add)."""


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
    """Class scores after a softmax or a similar operator."""

    scores: Value
    scores_name: str
    left_out: tuple[str, ...]
    picks: bool


Value: TypeAlias = FixedArray | FixedLevelArray | RawInput | LevelArray | Pending | QuantTail


def image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return a shape as channels, height and width; (n, 1, 1) if it is not an image."""
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    if len(shape) == 2:
        return shape[0], 1, shape[1]
    return prod(shape), 1, 1


def rising(table: Ints, height: int) -> Ints:
    """Return a rising table of levels as thresholds on its index."""
    refuse_if((np.diff(table) < 0).any(), "its levels fall where its input rises.")
    first = np.searchsorted(table, np.arange(1, height + 1), side="left")
    return np.where(first == len(table), NEVER, first)[None, :]


def clip_to(x: Any, clips: Any) -> Any:
    """Clip to each pair of ends, in float32."""
    for low, high in clips:
        x = np.minimum(np.maximum(x, np.float32(low)), np.float32(high))
    return np.asarray(x, np.float32)


def ends_of(kind: Any, width: int | None = None) -> tuple[int, int]:
    """Return the smallest and the largest integer of an element type, or of a width in bits."""
    if width is not None:
        return (
            (-(1 << (width - 1)), (1 << (width - 1)) - 1)
            if np.dtype(kind).kind == "i"
            else (0, (1 << width) - 1)
        )
    refuse_if(np.dtype(kind).kind not in "iu", f"it quantizes to {kind}, but integers are required.")
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _fixed(value: Value | None, fits: Callable[[Array], bool], wrong: str) -> Array:
    """Return the array of a constant that fits, or refuse it."""
    array = expected(value, FixedArray, wrong).array
    refuse_if(not fits(array), wrong)
    return array


def floats_of(value: Value | None) -> Array:
    """Return a constant of finite float32 numbers."""
    wrong = "one of its constants is missing or is not float32."
    array = _fixed(value, lambda array: array.dtype == np.float32, wrong)
    refuse_if(not np.isfinite(array).all(), "one of its constants is not finite.")
    return array


def integers_of(value: Value | None) -> Ints:
    """Return a constant of integers."""
    wrong = "one of its constants is missing or does not contain integers."
    return _fixed(value, lambda array: array.dtype.kind in "iu", wrong).astype(np.int64)


def number_of(value: Value) -> Any:
    """Return a constant of one number."""
    wrong = "one of its bounds is not a single constant."
    return _fixed(value, lambda array: array.size == 1, wrong).reshape(-1)[0]


def zero_of(value: Value | None, kind: Any) -> int:
    """Return a zero point, which must have the element type of its tensor."""
    if value is None:
        return 0
    wrong = "its zero point is not one constant of the element type of its tensor."
    array = _fixed(value, lambda array: array.size == 1 and array.dtype == np.dtype(kind), wrong)
    return int(array.reshape(-1)[0])


def row_of(array: Array, shape: tuple[int, ...], channels: int) -> Array:
    """Return one number per channel, if a constant is added to data of a shape."""
    while array.ndim > len(shape) and array.shape[0] == 1:
        array = array[0]
    full = np.broadcast_to(array, shape).reshape(channels, -1)
    refuse_if((full != full[:, :1]).any(), "it adds a constant that differs within a channel.")
    return full[:, 0]


def exact(value: Any) -> Fraction:
    """Return a float as an exact number."""
    return Fraction(float(value))


def fits_evenly(window: Window) -> bool:
    """Return whether windows reach the end of the image, so that rounding up adds none."""
    (top, left, bottom, right), (_, height, width) = window.pads, window.shape
    reach = [d * (k - 1) + 1 for d, k in zip(window.dilation, window.kernel, strict=True)]
    return (height + top + bottom - reach[0]) % window.stride[0] == 0 and (
        width + left + right - reach[1]
    ) % window.stride[1] == 0


def integer_levels(value: Value | None) -> LevelArray | None:
    """Return a tensor of integers; None for anything else, including floats that are functions of levels."""
    return value if isinstance(value, LevelArray) and not isinstance(value, LevelTensor) else None


def word(value: Value | None) -> str:
    """Return the kind of a value, in words."""
    phrases = {
        FixedArray: "a constant",
        FixedLevelArray: "a quantized constant",
        RawInput: "the unquantized input",
        LevelArray: "integers",
        LevelTensor: "a float tensor of levels",
        DequantizedTensor: "a float tensor of levels",
        PendingSum: "a product before its quantizer",
        PendingAddition: "a sum before its quantizer",
        PendingAverage: "averages before their quantizer",
        PendingConcat: "joined tensors before their quantizer",
        QuantTail: "a softmax or the like",
    }
    return "nothing" if value is None else phrases[type(value)]
