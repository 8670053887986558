"""Positions of a window that slides over maps: shapes, strides, dilation and padding of convolutions and
pooling, in one or two dimensions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError

__all__ = ["Window"]

_Ints = npt.NDArray[np.int64]

_VALUES = 1 << 23
"""Number of taps gathered at a time, to bound memory."""


@dataclass(frozen=True)
class Window:
    """A window that slides over the pixels of feature maps.

    Parameters
    ----------
    shape : sequence of int
        Channels, height and width of the input; height 1 for sequences.
    kernel : int or (int, int)
        Height and width of the window, or one number for both.
    stride : int or (int, int), default: 1
        Pixels from one position to the next, down and right.
    dilation : int or (int, int), default: 1
        Pixels from one tap to the next, down and right.
    pads : int or (int, int, int, int), default: 0
        Pixels added at the top, left, bottom and right; or one number for all.

    Raises
    ------
    NetworkError
        If a number is missing or too small, or the window does not fit into the input.

    Examples
    --------
    >>> window = Window((1, 3, 3), kernel=2, stride=1)
    >>> window.positions, window.taps[0].tolist()
    ((2, 2), [0, 1, 3, 4])
    >>> Window((1, 3, 3), kernel=3, pads=1).taps[0].tolist()  # -1 is padding
    [-1, -1, -1, -1, 0, 1, -1, 3, 4]

    See Also
    --------
    ConvLayer : convolution over the positions.
    PoolLayer : pooling over the positions.
    """

    shape: tuple[int, int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]

    def __init__(
        self, shape: Sequence[int], kernel: Any, stride: Any = 1, dilation: Any = 1, pads: Any = 0
    ) -> None:
        for name, value, length, minimum in (
            ("shape", shape, 3, 1),
            ("kernel", kernel, 2, 1),
            ("stride", stride, 2, 1),
            ("dilation", dilation, 2, 1),
            ("pads", pads, 4, 0),
        ):
            numbers = (
                (value,) * length
                if isinstance(value, int) and name != "shape"
                else tuple(int(v) for v in value)
            )
            if len(numbers) != length or min(numbers) < minimum:
                raise NetworkError(f"{name}={value!r} must be {length} integers, each at least {minimum}.")
            object.__setattr__(self, name, numbers)
        if min(self.positions) < 1:
            raise NetworkError(
                f"a window of {self.kernel} does not fit into {self.shape[1:]} with pads {self.pads}."
            )

    @property
    def padded(self) -> tuple[int, int]:
        """Height and width of the input with its padding."""
        top, left, bottom, right = self.pads
        return self.shape[1] + top + bottom, self.shape[2] + left + right

    @property
    def positions(self) -> tuple[int, int]:
        """Height and width of the output."""
        height, width = (
            (size - spread * (taps - 1) - 1) // step + 1
            for size, taps, step, spread in zip(
                self.padded, self.kernel, self.stride, self.dilation, strict=True
            )
        )
        return height, width

    @property
    def count(self) -> int:
        """The number of positions."""
        return self.positions[0] * self.positions[1]

    @property
    def pixels(self) -> int:
        """The number of pixels of the input, without padding."""
        return self.shape[1] * self.shape[2]

    @property
    def inputs(self) -> int:
        """Number of input values: channels times pixels."""
        return self.shape[0] * self.pixels

    @cached_property
    def starts(self) -> _Ints:
        """For each position, the pixel under the first tap, counted in the padded input."""
        return self._grid(*(np.arange(n) * step for n, step in zip(self.positions, self.stride, strict=True)))

    @cached_property
    def offsets(self) -> _Ints:
        """For each tap, row by row, its offset from the first in pixels of the padded input."""
        return self._grid(*(np.arange(n) * step for n, step in zip(self.kernel, self.dilation, strict=True)))

    @cached_property
    def inner(self) -> _Ints:
        """For each pixel of the input, its index in the padded input."""
        return self._grid(*(np.arange(n) + pad for n, pad in zip(self.shape[1:], self.pads, strict=False)))

    def _grid(self, rows: _Ints, columns: _Ints) -> _Ints:
        return np.asarray((rows[:, None] * self.padded[1] + columns).reshape(-1), np.int64)

    @cached_property
    def taps(self) -> _Ints:
        """For each position, the pixel of each tap, row by row; -1 for a tap on padding."""
        pixel = np.full(self.padded[0] * self.padded[1], -1, np.int64)
        pixel[self.inner] = np.arange(self.pixels)
        return np.asarray(pixel[self.starts[:, None] + self.offsets])

    def widened(self, factor: int) -> "Window":
        """Return the same window over `factor` times as many channels."""
        shape = (self.shape[0] * factor, *self.shape[1:])
        return Window(shape, self.kernel, self.stride, self.dilation, self.pads)

    def over_taps(self, kernel: npt.NDArray[Any], *, inside: bool) -> _Ints:
        """Return the sum of each kernel over the taps inside the input, or on padding, of each position."""
        taps = self.taps >= 0 if inside else self.taps < 0
        summed = kernel.astype(np.int64).reshape(*kernel.shape[:2], -1).sum(axis=1)
        return np.asarray(summed @ taps.T.astype(np.int64))

    def sums(self, values: npt.NDArray[Any], kernel: npt.NDArray[Any], groups: int = 1) -> npt.NDArray[Any]:
        """Return weighted sums of the taps inside the input, of shape (samples, out channels, positions).

        Parameters
        ----------
        values
            One row per sample, floats or integers, channel by channel.
        kernel
            One row per output channel over the input channels of its group and the taps.
        groups
            Number of channel groups.
        """
        outs, (count, taps), channels = len(kernel), self.taps.shape, self.shape[0]
        weights = kernel.reshape(groups, outs // groups, -1).transpose(0, 2, 1)
        made = np.empty((len(values), outs, count), np.result_type(values, kernel))
        step = max(1, _VALUES // max(1, channels * self.taps.size))
        for start in range(0, len(values), step):
            part = values[start : start + step].reshape(-1, channels, self.pixels)
            # tap -1 reads the zero after the last pixel
            padded = np.concatenate([part, np.zeros((*part.shape[:2], 1), part.dtype)], axis=2)
            seen = padded[:, :, self.taps].reshape(len(part), groups, channels // groups, count, taps)
            rows = seen.transpose(1, 0, 3, 2, 4).reshape(groups, len(part) * count, -1)
            sums = (rows @ weights).reshape(groups, len(part), count, outs // groups)
            made[start : start + step] = sums.transpose(1, 0, 3, 2).reshape(len(part), outs, count)
        return made
