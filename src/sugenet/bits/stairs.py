"""Layers of staircases as arrays that the engines read: whole weights over levels, sorted steps, geometry.

A dense layer is a convolution whose window is the whole map.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.slide import Slide
from sugenet.errors import NetworkError

__all__ = ["LevelConv", "LevelPool", "StairMap"]

_Ints = npt.NDArray[np.int64]
_LARGEST = 1 << 31  # sums stay below
_NEVER = 1 << 32  # beyond all sums


@dataclass(frozen=True, eq=False, repr=False)
class LevelConv:
    """One neuron for each output channel and position: its level is how many steps its weighted sum reaches.

    Made by `LevelConv.from_arrays`; run by `LevelMaps`.

    Parameters
    ----------
    weights : int64 array of shape (out channels, in channels / groups, kernel height, kernel width)
        Of any size, as long as sums stay below 2^31.
    steps : int64 array of shape (out channels, steps), or None
        Thresholds on the sum, rows in order. None for a last layer whose sums are the answer.
    slide : Slide
        Input shape and geometry.
    groups : int
        Groups of channels.
    top : int
        The largest level of an input.
    pad : int
        The level of padding.
    tops : int64 array of shape (in channels, height, width), or None
        The largest level of each input, for a window that is the whole map.

    Examples
    --------
    >>> LevelConv.from_arrays(np.ones((1, 1, 2, 2), int), [[3, 5]], (1, 3, 3), top=3)
    LevelConv(1x3x3 -> 1x2x2, levels 0..3 -> 0..2)
    """

    weights: _Ints
    steps: _Ints | None
    slide: Slide
    groups: int
    top: int
    pad: int = 0
    tops: _Ints | None = None

    @classmethod
    def from_arrays(
        cls,
        weights: npt.ArrayLike,
        steps: npt.ArrayLike | None,
        shape: tuple[int, int, int],
        *,
        top: int,
        stride: Any = 1,
        dilation: Any = 1,
        pads: Any = 0,
        groups: int = 1,
        pad: int = 0,
        tops: _Ints | None = None,
    ) -> "LevelConv":
        """Check a kernel and its steps; steps beyond all sums are kept as the nearest that no sum reaches,
        or all do.
        """
        kernel = np.asarray(weights)
        if kernel.ndim != 4 or 0 in kernel.shape or kernel.dtype.kind not in "iu":
            raise NetworkError(
                f"weights has type {kernel.dtype} and shape {kernel.shape}, but must be integers of shape "
                "(out channels, in channels / groups, kernel height, kernel width), at least one each."
            )
        slide = Slide(shape, kernel.shape[2:], stride, dilation, pads)
        if groups < 1 or slide.shape[0] != groups * kernel.shape[1] or len(kernel) % groups:
            raise NetworkError(
                f"weights has {kernel.shape[1]} input and {len(kernel)} output channels, which do not fit an "
                f"input of {slide.shape[0]} channels in {groups} groups."
            )
        if top < 0 or not 0 <= pad <= max(top, 0):
            raise NetworkError(f"top is {top} and pad is {pad}, but 0 <= pad <= top is needed.")
        given = None
        if steps is not None:
            rows = np.asarray(steps)
            if rows.ndim != 2 or len(rows) != len(kernel) or rows.dtype.kind not in "iu":
                raise NetworkError(
                    f"steps has type {rows.dtype} and shape {rows.shape}, but must be integers with one row "
                    f"for each of {len(kernel)} output channels."
                )
            given = np.clip(rows, -_NEVER, _NEVER).astype(np.int64)
            if (given[:, 1:] < given[:, :-1]).any():
                raise NetworkError("steps must not fall: sort each row.")
        if max(int(kernel.max()), -int(kernel.min()), 1) * max(top, 1) >= _LARGEST:
            raise NetworkError(f"a weight of {np.abs(kernel).max()} with levels up to {top} is too large.")
        kept = cls(kernel.astype(np.int64, copy=False), given, slide, groups, int(top), int(pad), tops)
        if kept.largest >= _LARGEST:
            raise NetworkError(f"sums of up to {kept.largest} are too large: they must stay below 2^31.")
        return kept

    @classmethod
    def dense(
        cls, weights: _Ints, steps: npt.ArrayLike | None, shape: tuple[int, int, int], tops: npt.ArrayLike
    ) -> "LevelConv":
        """A dense layer over flat maps of a shape: weights of shape (outputs, inputs), the largest level of
        each input or one for all.
        """
        each = np.array(np.broadcast_to(np.asarray(tops, np.int64), weights.shape[1:])).reshape(shape)
        kernel = weights.reshape(len(weights), *shape)
        return cls.from_arrays(kernel, steps, shape, top=int(each.max()), tops=each)

    @cached_property
    def largest(self) -> int:
        """No sum, and no part of one, is larger in size."""
        return max(int(self.most.max()), int((self.most - self.least).max()), -int(self.least.min()))

    @cached_property
    def least(self) -> _Ints:
        """Bound below of the sums of each channel."""
        return self._reach(np.minimum(self.weights, 0))

    @cached_property
    def most(self) -> _Ints:
        """Bound above of the sums of each channel."""
        return self._reach(np.maximum(self.weights, 0))

    def _reach(self, weights: _Ints) -> _Ints:
        tops = np.asarray(self.top) if self.tops is None else self.tops
        return np.asarray((weights * tops).sum(axis=(1, 2, 3)))

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (len(self.weights), *self.slide.positions)

    @property
    def gives(self) -> int:
        """The largest level of the output."""
        return 0 if self.steps is None else self.steps.shape[1]

    def __repr__(self) -> str:
        shapes = " -> ".join("x".join(map(str, shape)) for shape in (self.slide.shape, self.output_shape))
        return f"LevelConv({shapes}, levels 0..{self.top} -> {f'0..{self.gives}' if self.gives else 'sums'})"


@dataclass(frozen=True, eq=False)
class LevelPool:
    """The largest level of a window, or the least, channel by channel. Padding never counts.

    Parameters
    ----------
    slide : Slide
        Geometry; no window may lie in the padding alone.
    every : booleans of shape (channels,)
        Whether the least is taken.
    top : int
        The largest level.
    """

    slide: Slide
    every: npt.NDArray[np.bool_]
    top: int

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (self.slide.shape[0], *self.slide.positions)

    @property
    def gives(self) -> int:
        """The largest level of the output."""
        return self.top


StairMap = LevelConv | LevelPool
