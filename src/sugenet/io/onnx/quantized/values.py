"""What a name of a quantized graph stands for, while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from sugenet.bnn import Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.integers import LevelWire
from sugenet.io.onnx.graph import Array
from sugenet.io.onnx.quantized.runtime import Floats, QuantGrid, dequantized

__all__ = [
    "FixedArray",
    "FixedLevelArray",
    "LevelArray",
    "LevelTensor",
    "PendingAddition",
    "PendingAverage",
    "PendingConcat",
    "PendingSum",
    "QuantTail",
    "RawInput",
    "Value",
    "image",
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
    """A quantized tensor: level a is the whole number ``low + a``."""

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
class LevelTensor:
    """A float tensor that is a function of the levels of another, value by value."""

    levels: LevelArray
    table: Floats
    """One number for each level."""
    grid: QuantGrid | None
    """Where they are just dequantized."""
    shape: tuple[int, ...]

    @classmethod
    def of(cls, levels: LevelArray, grid: QuantGrid) -> LevelTensor:
        """Dequantized levels."""
        with np.errstate(over="ignore"):
            table = dequantized(levels.values, grid)
        if not np.isfinite(table).all():
            raise FileError(f"its scale {grid.scale} is so large that its numbers are infinite in float32.")
        return cls(levels, table, grid, levels.shape)


Clips: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class PendingSum:
    """A matrix product or convolution of dequantized levels that waits for its quantizer."""

    where: str
    op: str
    source: LevelTensor
    weights: Ints
    """(out, in / groups, kernel height, kernel width)"""
    scales: Floats
    bias: Ints
    window: Window
    groups: int
    shape: tuple[int, ...]
    """Of the result, without the batch."""
    floats: str = ""
    """Why runtimes compute it in floats; empty where they use whole numbers."""
    shift: Floats | None = None
    """A bias in floats, beside the whole one."""
    clips: Clips = ()
    rescaled: tuple[Callable[[Floats], Floats], ...] = ()
    """What is done to the sums as floats, where the file spells that out (MatMulInteger, Cast, Mul, Add)."""


@dataclass(frozen=True, eq=False)
class PendingAddition:
    """The sum of two tensors, or of one and a constant, that waits for its quantizer."""

    where: str
    left: LevelTensor | FixedLevelArray
    right: LevelTensor | FixedLevelArray
    shape: tuple[int, ...]
    clips: Clips = ()


@dataclass(frozen=True, eq=False)
class PendingAverage:
    """Averages of windows that wait for their quantizer."""

    where: str
    source: LevelTensor
    window: Window
    everything: bool
    """Whether the window is the whole image."""
    shape: tuple[int, ...]
    clips: Clips = ()


@dataclass(frozen=True, eq=False)
class PendingConcat:
    """Tensors side by side that wait for their quantizer."""

    where: str
    parts: tuple[LevelTensor, ...]
    shape: tuple[int, ...]
    clips: Clips = ()


@dataclass(frozen=True, eq=False)
class QuantTail:
    """Class scores behind a softmax or the like."""

    scores: Value
    scores_name: str
    left_out: tuple[str, ...]
    picks: bool


Value: TypeAlias = (
    FixedArray
    | FixedLevelArray
    | RawInput
    | LevelArray
    | LevelTensor
    | PendingSum
    | PendingAddition
    | PendingAverage
    | PendingConcat
    | QuantTail
)


def image(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """A shape as channels, height and width; (n, 1, 1) where it is no image."""
    if len(shape) == 3:
        return shape[0], shape[1], shape[2]
    if len(shape) == 2:
        return shape[0], 1, shape[1]
    return prod(shape), 1, 1
