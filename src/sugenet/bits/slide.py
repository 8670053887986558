"""Where a window stands as it slides over maps: the geometry that convolutions and pooling share."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError

__all__ = ["Slide"]


@dataclass(frozen=True)
class Slide:
    """A window that slides over padded maps.

    Parameters
    ----------
    shape : (int, int, int)
        Channels, height and width of the input; height 1 for sequences.
    kernel, stride, dilation : (int, int)
        Height and width, or one number for both.
    pads : (int, int, int, int)
        Pixels added at the top, left, bottom and right; or one number for all.

    Examples
    --------
    >>> slide = Slide((1, 3, 3), kernel=2, pads=(0, 1, 0, 0))
    >>> slide.positions, slide.padded
    ((2, 3), (3, 4))
    >>> slide.taps[0].tolist()  # pixels of the input, -1 on padding
    [-1, 0, -1, 3]
    """

    shape: tuple[int, int, int]
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int, int, int]

    def __init__(self, shape: Any, kernel: Any, stride: Any = 1, dilation: Any = 1, pads: Any = 0) -> None:
        given = {
            "shape": (shape, 3, 1),
            "kernel": (kernel, 2, 1),
            "stride": (stride, 2, 1),
            "dilation": (dilation, 2, 1),
            "pads": (pads, 4, 0),
        }
        for name, (value, length, least) in given.items():
            numbers = (
                (value,) * length
                if isinstance(value, int) and name != "shape"
                else tuple(int(v) for v in value)
            )
            if len(numbers) != length or min(numbers) < least:
                raise NetworkError(
                    f"{name} is {value!r}, but must be {length} whole numbers, each at least {least}."
                )
            object.__setattr__(self, name, numbers)
        if min(self.positions) < 1:
            raise NetworkError(
                f"kernel {self.kernel} with dilation {self.dilation} does not fit into {self.padded}, the "
                "input with its padding. Give more padding or a smaller kernel."
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

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """For each position, the pixel under the first tap, counted in the padded input."""
        rows, columns = (
            np.arange(count, dtype=np.int64) * step
            for count, step in zip(self.positions, self.stride, strict=True)
        )
        return (rows[:, None] * self.padded[1] + columns).reshape(-1)

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """For each tap, row by row, how many pixels of the padded input it lies behind the first."""
        rows, columns = (
            np.arange(taps, dtype=np.int64) * spread
            for taps, spread in zip(self.kernel, self.dilation, strict=True)
        )
        return (rows[:, None] * self.padded[1] + columns).reshape(-1)

    @cached_property
    def inner(self) -> npt.NDArray[np.int64]:
        """For each pixel of the input, its place in the padded input."""
        top, left, _, _ = self.pads
        rows, columns = np.arange(self.shape[1]) + top, np.arange(self.shape[2]) + left
        return (rows[:, None] * self.padded[1] + columns).reshape(-1)

    @cached_property
    def taps(self) -> npt.NDArray[np.int64]:
        """For each position, the pixel of the input under each tap; -1 on padding."""
        pixel = np.full(self.padded[0] * self.padded[1], -1, np.int64)
        pixel[self.inner] = np.arange(self.pixels)
        found: npt.NDArray[np.int64] = pixel[self.starts[:, None] + self.offsets]
        return found
