"""Where the taps of a sliding window fall: stride, dilation and padding of convolutions and pooling, in one
or two dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError

__all__ = ["Window"]

_VALUES = 1 << 23
"""Gathered taps at a time, to bound memory."""


@dataclass(frozen=True)
class Window:
    """A window that slides over the pixels of feature maps.

    Parameters
    ----------
    shape
        Channels, height and width of the input; height 1 for sequences.
    kernel, stride, dilation
        Height and width, or one number for both.
    pads
        Pixels added at the top, left, bottom and right; or one number for all.

    Examples
    --------
    >>> window = Window((1, 3, 3), kernel=2, stride=1)
    >>> window.positions, window.taps[0].tolist()
    ((2, 2), [0, 1, 3, 4])
    >>> Window((1, 3, 3), kernel=3, pads=1).taps[0].tolist()  # -1 is padding
    [-1, -1, -1, -1, 0, 1, -1, 3, 4]
    """

    shape: tuple[int, int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]

    def __init__(
        self, shape: Sequence[int], kernel: Any, stride: Any = 1, dilation: Any = 1, pads: Any = 0
    ) -> None:
        for name, value, length, least in (
            ("shape", shape, 3, 1),
            ("kernel", kernel, 2, 1),
            ("stride", stride, 2, 1),
            ("dilation", dilation, 2, 1),
            ("pads", pads, 4, 0),
        ):
            given = (
                (value,) * length
                if isinstance(value, int) and name != "shape"
                else tuple(int(v) for v in value)
            )
            if len(given) != length or min(given) < least:
                raise NetworkError(f"{name}={value!r} must be {length} whole numbers, each at least {least}.")
            object.__setattr__(self, name, given)
        if min(self.positions) < 1:
            raise NetworkError(
                f"a window of {self.kernel} does not fit into {self.shape[1:]} with pads {self.pads}."
            )

    @property
    def positions(self) -> tuple[int, int]:
        """Height and width of the output."""
        (top, left, bottom, right), (_, height, width) = self.pads, self.shape
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True)]
        return (height + top + bottom - reach[0]) // self.stride[0] + 1, (
            width + left + right - reach[1]
        ) // self.stride[1] + 1

    @property
    def inputs(self) -> int:
        """Number of input values: channels times pixels."""
        return int(np.prod(self.shape))

    @cached_property
    def taps(self) -> npt.NDArray[np.intp]:
        """For each position, the pixel of each tap, row by row; -1 where it falls on padding."""
        _, height, width = self.shape
        rows, columns = (
            np.arange(count)[:, None] * step - pad + np.arange(size) * spread
            for count, step, pad, size, spread in zip(
                self.positions, self.stride, self.pads[:2], self.kernel, self.dilation, strict=True
            )
        )
        y, x = rows[:, None, :, None], columns[None, :, None, :]
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        pixels = np.where(inside, y * width + x, -1)
        return np.asarray(pixels.reshape(len(rows) * len(columns), -1))

    def widened(self, factor: int) -> Window:
        """The same window over so many times as many channels."""
        shape = (self.shape[0] * factor, *self.shape[1:])
        return Window(shape, self.kernel, self.stride, self.dilation, self.pads)

    def sums(self, values: npt.NDArray[Any], kernel: npt.NDArray[Any], groups: int = 1) -> npt.NDArray[Any]:
        """Weighted sums of the taps inside the input, of shape (samples, out channels, positions).

        Parameters
        ----------
        values
            One row per sample, floats or whole numbers, channel by channel.
        kernel
            One row per output channel over the input channels of its group and the taps.
        groups
            Channel groups.
        """
        channels, taps, kernel = self.shape[0], self.taps, kernel.reshape(len(kernel), -1)
        maps = values.reshape(len(values), channels, self.shape[1] * self.shape[2])
        weights = kernel.reshape(groups, len(kernel) // groups, -1).transpose(0, 2, 1)
        made = np.empty((len(values), len(kernel), len(taps)), np.result_type(values, kernel))
        step = max(1, _VALUES // max(1, channels * taps.size))
        for start in range(0, len(values), step):
            part = maps[start : start + step]
            # tap -1 reads the zero behind the last pixel
            padded = np.concatenate([part, np.zeros((*part.shape[:2], 1), part.dtype)], axis=2)
            seen = padded[:, :, taps].reshape(len(part), groups, channels // groups, *taps.shape)
            rows = seen.transpose(0, 1, 3, 2, 4).reshape(len(part), groups, len(taps), -1)
            made[start : start + step] = (
                (rows @ weights).transpose(0, 1, 3, 2).reshape(len(part), len(kernel), len(taps))
            )
        return made
