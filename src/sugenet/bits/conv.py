"""Convolutions and pooling as arrays for the engines: kernels, thresholds, geometry.

`PackedConv` gives bits and reads bits, or bytes if it is the first layer. `LevelConv` reads and gives levels
by integer weights and sorted thresholds. A dense layer over levels is a convolution whose window is the whole
map.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sugenet.bits.window import Window
from sugenet.bits.words import Words, pack
from sugenet.errors import NetworkError

__all__ = ["LevelConv", "LevelMap", "MapLayer", "PackedConv", "PackedPool"]

_Ints = npt.NDArray[np.int64]

_LARGEST = 127  # largest weight: weights of a kernel over levels are bytes
_LARGEST_SUM = 1 << 31  # upper limit of sums of levels
_NEVER = 1 << 32  # beyond all sums


class _Kernel:
    """Base of convolutions: one kernel per output channel, at all positions of a window."""

    weights: npt.NDArray[Any]
    slide: Window

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (len(self.weights), *self.slide.positions)

    @property
    def products(self) -> int:
        """Products of inputs and weights per sample."""
        return self.weights.size * self.slide.count


@dataclass(frozen=True, eq=False, repr=False)
class PackedConv(_Kernel):
    """Convolution over bits: one neuron per output channel and position, active iff its match count over the
    taps inside the input is at least tau.

    Created by `PackedConv.from_arrays`; run by `PackedMaps`. Padding has no literals, so it neither matches
    nor misses.

    Parameters
    ----------
    weights : int8 array of shape (out channels, in channels / groups, kernel height, kernel width)
        A weight of size k is k literals; 0 is none.
    tau : int64 array of shape (out channels, positions)
        In ``0 .. size + 1``, where the size of a neuron is its largest match count.
    slide : Window
        Input shape and geometry.
    groups : int
        Number of channel groups.
    top : int or None
        None if the input is bits. Otherwise the input is levels 0..top; a level represents `top` bits of
        which that many are 1.

    Examples
    --------
    >>> conv = PackedConv.from_arrays(np.ones((1, 1, 2, 2), int), tau=[3], shape=(1, 3, 3))
    >>> conv
    PackedConv(1x3x3 -> 1x2x2, kernel 2x2)
    """

    weights: npt.NDArray[np.int8]
    tau: _Ints
    slide: Window
    groups: int = 1
    top: int | None = None

    @classmethod
    def from_arrays(
        cls,
        weights: npt.ArrayLike,
        tau: npt.ArrayLike,
        shape: tuple[int, int, int],
        *,
        stride: Any = 1,
        dilation: Any = 1,
        pads: Any = 0,
        groups: int = 1,
        top: int | None = None,
    ) -> Self:
        """Check a kernel and its thresholds.

        Parameters
        ----------
        weights : integers of shape (out channels, in channels / groups, kernel height, kernel width)
            From -127 to 127.
        tau : integers of shape (out channels,) or (out channels, positions)
            Clipped to ``0 .. size + 1``, which changes no answer.
        shape : (int, int, int)
            Channels, height and width of the input; height 1 for sequences.
        stride, dilation : int or (int, int)
            Height and width.
        pads : int or (int, int, int, int)
            Pixels added at the top, left, bottom and right.
        groups : int
            Number of channel groups; the number of channels for a depthwise convolution.
        top : int, optional
            Largest level, for an input of levels instead of bits.
        """
        kernel = _integer_kernel(weights)
        if kernel.max() > _LARGEST or kernel.min() < -_LARGEST:
            where = tuple(int(i) for i in np.argwhere(np.abs(kernel.astype(np.int64)) > _LARGEST)[0])
            raise NetworkError(
                f"weights{list(where)} is {kernel[where]}, but a weight must be in -{_LARGEST}..{_LARGEST}."
            )
        slide = _fitting(kernel, Window(shape, kernel.shape[2:], stride, dilation, pads), groups)
        if top is not None and top < 0:
            raise NetworkError(
                f"top is {top}, but the largest level must be 0 or more; None for an input of bits."
            )
        thresholds = np.asarray(tau)
        if thresholds.dtype.kind not in "iu" or thresholds.shape not in (
            (len(kernel),),
            (len(kernel), slide.count),
        ):
            raise NetworkError(
                f"tau has type {thresholds.dtype} and shape {thresholds.shape}, but must be integers of "
                "shape "
                f"({len(kernel)},), one for each output channel, or ({len(kernel)}, {slide.count}), one for "
                f"each position too."
            )
        bare = cls(kernel.astype(np.int8), np.zeros((0, 0), np.int64), slide, groups, top)
        sizes = bare.sizes
        wide = thresholds if thresholds.ndim == 2 else thresholds[:, None]
        near = np.clip(wide, 0, int(sizes.max()) + 1).astype(np.int64)
        kept = cls(bare.weights, np.minimum(near, sizes + 1), slide, groups, top)
        kept.weights.flags.writeable = kept.tau.flags.writeable = False
        return kept

    @property
    def copies(self) -> int:
        """Number of literals of the largest weight; at least 1."""
        return max(1, int(np.abs(self.weights).max()))

    @cached_property
    def sizes(self) -> _Ints:
        """Largest match count of each neuron, of shape (out channels, positions)."""
        sums = self.slide.over_taps(np.abs(self.weights), inside=True)
        return sums * (1 if self.top is None else self.top)

    @cached_property
    def allowed(self) -> _Ints:
        """Number of literals that a neuron may miss if padding is read as 0, of shape (out channels,
        positions).

        A tap on padding then always misses its positive literals; that many more are allowed.
        """
        outside = self.slide.over_taps(np.maximum(self.weights, 0), inside=False)
        return np.asarray(self.sizes - self.tau + outside)

    @cached_property
    def least(self) -> _Ints:
        """Smallest weighted sum of levels of an active neuron, with padding read as level 0, of shape (out
        channels, positions).
        """
        assert self.top is not None
        return np.asarray(
            self.tau + self.slide.over_taps(np.minimum(self.weights, 0), inside=True) * self.top
        )

    def spread(self) -> npt.NDArray[np.int8]:
        """Return the kernel over all input channels, 0 outside the group, as (out channels,
        in channels, taps).
        """
        outs, per_in = self.weights.shape[:2]
        wide = np.zeros((outs, self.slide.shape[0], len(self.slide.offsets)), np.int8)
        for group in range(self.groups):
            rows = slice(group * outs // self.groups, (group + 1) * outs // self.groups)
            wide[rows, group * per_in : (group + 1) * per_in] = self.weights[rows].reshape(
                -1, per_in, wide.shape[2]
            )
        return wide

    def literals(self) -> tuple[Words, Words]:
        """Return the packed positive and negative literals as (out channels, taps, copies,
        words of the channels).
        """
        wide = self.spread().transpose(0, 2, 1)[:, :, None, :]
        turn = np.arange(self.copies)[:, None]
        return pack(wide > turn), pack(wide < -turn)

    def __repr__(self) -> str:
        kernel, groups = _times(self.slide.kernel), f", groups {self.groups}" if self.groups > 1 else ""
        levels = "" if self.top is None else f", levels 0..{self.top}"
        return (
            f"PackedConv({_times(self.slide.shape)} -> {_times(self.output_shape)}, "
            f"kernel {kernel}{groups}{levels})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class PackedPool:
    """Pooling: whether any, or every, input of a window is active, channel by channel; for levels, the
    maximum or the minimum. Padding never counts.

    Parameters
    ----------
    shape : (int, int, int)
        Channels, height and width of the input.
    kernel, stride, dilation : int or (int, int)
        Height and width.
    pads : int or (int, int, int, int)
        Pixels added at the top, left, bottom and right.
    every : booleans of shape (channels,)
        Whether all inputs must be active (default: False for all channels).
    top : int, optional
        Largest level, for an input of levels instead of bits.

    Examples
    --------
    >>> PackedPool((2, 4, 4), kernel=2, stride=2, every=[False, True])
    PackedPool(2x4x4 -> 2x2x2, kernel 2x2)
    """

    slide: Window
    every: npt.NDArray[np.bool_]
    top: int | None
    gives_sums = False

    def __init__(
        self,
        shape: tuple[int, int, int],
        kernel: Any,
        stride: Any = 1,
        dilation: Any = 1,
        pads: Any = 0,
        every: npt.ArrayLike = False,
        top: int | None = None,
    ) -> None:
        slide, marks = Window(shape, kernel, stride, dilation, pads), np.asarray(every)
        if marks.dtype != np.bool_ or marks.shape not in ((), (slide.shape[0],)):
            raise NetworkError(
                f"every has type {marks.dtype} and shape {marks.shape}, but must be {slide.shape[0]} "
                f"booleans, or one for all."
            )
        empty = (slide.taps < 0).all(axis=1)
        if empty.any():
            raise NetworkError(
                f"pads is {slide.pads}, so that the window at position {int(np.argmax(empty))} lies in "
                f"the padding alone."
            )
        kept = np.array(np.broadcast_to(marks, slide.shape[:1]))
        kept.flags.writeable = False
        for name, value in (("slide", slide), ("every", kept), ("top", top)):
            object.__setattr__(self, name, value)

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (self.slide.shape[0], *self.slide.positions)

    @property
    def products(self) -> int:
        """Number of inputs per sample."""
        return self.slide.pixels

    @property
    def gives(self) -> int:
        """Largest level of the output."""
        return self.top or 1

    def __repr__(self) -> str:
        return (
            f"PackedPool({_times(self.slide.shape)} -> {_times(self.output_shape)}, "
            f"kernel {_times(self.slide.kernel)})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LevelConv(_Kernel):
    """Convolution over levels: the level of a neuron is the number of steps that its weighted sum reaches.

    One neuron per output channel and position. Created by `LevelConv.from_arrays`; run by `LevelMaps`.

    Parameters
    ----------
    weights : int64 array of shape (out channels, in channels / groups, kernel height, kernel width)
        Of any size, as long as sums stay below 2^31.
    steps : int64 array of shape (out channels, steps), or None
        Thresholds on the sum, rows in order. None for a last layer whose sums are the output.
    slide : Window
        Input shape and geometry.
    groups : int
        Number of channel groups.
    top : int
        Largest level of an input.
    pad : int
        Level of padding.
    tops : int64 array of shape (in channels, height, width), or None
        Largest level of each input, for a window that is the whole map.

    Examples
    --------
    >>> LevelConv.from_arrays(np.ones((1, 1, 2, 2), int), [[3, 5]], (1, 3, 3), top=3)
    LevelConv(1x3x3 -> 1x2x2, levels 0..3 -> 0..2)
    """

    weights: _Ints
    steps: _Ints | None
    slide: Window
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
        """Check a kernel and its steps; steps beyond all sums are clipped to the nearest that no sum reaches,
        or all do.
        """
        kernel = _integer_kernel(weights)
        slide = _fitting(kernel, Window(shape, kernel.shape[2:], stride, dilation, pads), groups)
        if top < 0 or not 0 <= pad <= max(top, 0):
            raise NetworkError(f"top is {top} and pad is {pad}, but 0 <= pad <= top is needed.")
        thresholds = None
        if steps is not None:
            rows = np.asarray(steps)
            if rows.ndim != 2 or len(rows) != len(kernel) or rows.dtype.kind not in "iu":
                raise NetworkError(
                    f"steps has type {rows.dtype} and shape {rows.shape}, but must be integers with one row "
                    f"for each of {len(kernel)} output channels."
                )
            thresholds = np.clip(rows, -_NEVER, _NEVER).astype(np.int64)
            if (thresholds[:, 1:] < thresholds[:, :-1]).any():
                raise NetworkError("steps must not fall: sort each row.")
        if max(int(kernel.max()), -int(kernel.min()), 1) * max(top, 1) >= _LARGEST_SUM:
            raise NetworkError(f"a weight of {np.abs(kernel).max()} with levels up to {top} is too large.")
        kept = cls(kernel.astype(np.int64, copy=False), thresholds, slide, groups, int(top), int(pad), tops)
        if kept.largest >= _LARGEST_SUM:
            raise NetworkError(f"sums of up to {kept.largest} are too large: they must stay below 2^31.")
        return kept

    @classmethod
    def dense(
        cls, weights: _Ints, steps: npt.ArrayLike | None, shape: tuple[int, int, int], tops: npt.ArrayLike
    ) -> "LevelConv":
        """Return a dense layer over flat maps of a shape: weights of shape (outputs, inputs), and the largest
        level of each input or one for all.
        """
        each = np.array(np.broadcast_to(np.asarray(tops, np.int64), weights.shape[1:])).reshape(shape)
        kernel = weights.reshape(len(weights), *shape)
        return cls.from_arrays(kernel, steps, shape, top=int(each.max()), tops=each)

    @cached_property
    def largest(self) -> int:
        """Upper bound on the absolute value of all sums and partial sums."""
        return max(int(self.most.max()), int((self.most - self.least).max()), -int(self.least.min()))

    @cached_property
    def least(self) -> _Ints:
        """Lower bound of the sums of each channel."""
        return self._reach(np.minimum(self.weights, 0))

    @cached_property
    def most(self) -> _Ints:
        """Upper bound of the sums of each channel."""
        return self._reach(np.maximum(self.weights, 0))

    def _reach(self, weights: _Ints) -> _Ints:
        tops = np.asarray(self.top) if self.tops is None else self.tops
        return np.asarray((weights * tops).sum(axis=(1, 2, 3)))

    @property
    def gives_sums(self) -> bool:
        """Whether its sums are the output."""
        return self.steps is None

    @property
    def gives(self) -> int:
        """Largest level of the output."""
        return 0 if self.steps is None else self.steps.shape[1]

    def __repr__(self) -> str:
        shapes = f"{_times(self.slide.shape)} -> {_times(self.output_shape)}"
        return f"LevelConv({shapes}, levels 0..{self.top} -> {f'0..{self.gives}' if self.gives else 'sums'})"


MapLayer = PackedConv | PackedPool
LevelMap = LevelConv | PackedPool


def _integer_kernel(weights: npt.ArrayLike) -> npt.NDArray[Any]:
    kernel = np.asarray(weights)
    if kernel.ndim != 4 or 0 in kernel.shape or kernel.dtype.kind not in "iu":
        raise NetworkError(
            f"weights has type {kernel.dtype} and shape {kernel.shape}, but must be integers of shape "
            "(out channels, in channels / groups, kernel height, kernel width), at least one each."
        )
    return kernel


def _fitting(kernel: npt.NDArray[Any], slide: Window, groups: int) -> Window:
    """Check that the channels of a kernel fit those of its input."""
    if groups < 1 or slide.shape[0] != groups * kernel.shape[1] or len(kernel) % groups:
        raise NetworkError(
            f"weights has {kernel.shape[1]} input and {len(kernel)} output channels, which do not fit an "
            f"input of {slide.shape[0]} channels in {groups} groups: give input channels / groups, and "
            f"output channels that the groups divide."
        )
    return slide


def _times(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))
