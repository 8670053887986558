"""Convolutions and pooling as arrays that the engines read: kernels, thresholds, geometry."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sugenet.bits.slide import Slide
from sugenet.bits.words import Words, pack
from sugenet.errors import NetworkError

__all__ = ["MapLayer", "PackedConv", "PackedPool"]

_Ints = npt.NDArray[np.int64]

_LARGEST = 127  # of a weight: weights of a kernel over levels are bytes


@dataclass(frozen=True, eq=False, repr=False)
class PackedConv:
    """One neuron for each output channel and position; active iff its match count over the taps inside the
    input is at least tau.

    Made by `PackedConv.from_arrays`; run by `PackedMaps`. Padding holds no literals,
    so it neither matches nor fails to.

    Parameters
    ----------
    weights : int8 array of shape (out channels, in channels / groups, kernel height, kernel width)
        A weight of size k is k literals; 0 is none.
    tau : int64 array of shape (out channels, positions)
        In ``0 .. size + 1``, where the size of a neuron is its largest match count.
    slide : Slide
        Input shape and geometry.
    groups : int
        Groups of channels.
    top : int or None
        None when the input is bits. Else it is levels 0..top, each standing for `top` bits of which as many
        are 1 as the level says.

    Examples
    --------
    >>> conv = PackedConv.from_arrays(np.ones((1, 1, 2, 2), int), tau=[3], shape=(1, 3, 3))
    >>> conv
    PackedConv(1x3x3 -> 1x2x2, kernel 2x2)
    """

    weights: npt.NDArray[np.int8]
    tau: _Ints
    slide: Slide
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
            Kept as the nearest of ``0 .. size + 1``, which changes no answer.
        shape : (int, int, int)
            Channels, height and width of the input; height 1 for sequences.
        stride, dilation : int or (int, int)
            For height and width.
        pads : int or (int, int, int, int)
            Pixels added at the top, left, bottom and right.
        groups : int
            As many as channels for a depthwise convolution.
        top : int, optional
            The largest level, for an input of levels instead of bits.
        """
        kernel = np.asarray(weights)
        if kernel.ndim != 4 or 0 in kernel.shape or kernel.dtype.kind not in "iu":
            raise NetworkError(
                f"weights has type {kernel.dtype} and shape {kernel.shape}, but must be integers of shape "
                "(out channels, in channels / groups, kernel height, kernel width), at least one each."
            )
        if kernel.max() > _LARGEST or kernel.min() < -_LARGEST:
            where = tuple(int(i) for i in np.argwhere(np.abs(kernel.astype(np.int64)) > _LARGEST)[0])
            raise NetworkError(
                f"weights{list(where)} is {kernel[where]}, but a weight must be in -{_LARGEST}..{_LARGEST}."
            )
        slide = Slide(shape, kernel.shape[2:], stride, dilation, pads)
        if groups < 1 or slide.shape[0] != groups * kernel.shape[1] or len(kernel) % groups:
            raise NetworkError(
                f"weights has {kernel.shape[1]} input and {len(kernel)} output channels, which do not fit an "
                f"input of {slide.shape[0]} channels in {groups} groups: give input channels / groups, and "
                f"output channels that the groups divide."
            )
        if top is not None and top < 0:
            raise NetworkError(
                f"top is {top}, but the largest level must be 0 or more; None for an input of bits."
            )
        given = np.asarray(tau)
        if given.dtype.kind not in "iu" or given.shape not in ((len(kernel),), (len(kernel), slide.count)):
            raise NetworkError(
                f"tau has type {given.dtype} and shape {given.shape}, but must be integers of shape "
                f"({len(kernel)},), one for each output channel, or ({len(kernel)}, {slide.count}), one for "
                f"each position too."
            )
        bare = cls(kernel.astype(np.int8), np.zeros((0, 0), np.int64), slide, groups, top)
        sizes = bare.sizes
        wide = given if given.ndim == 2 else given[:, None]
        near = np.clip(wide, 0, int(sizes.max()) + 1).astype(np.int64)
        kept = cls(bare.weights, np.minimum(near, sizes + 1), slide, groups, top)
        kept.weights.flags.writeable = kept.tau.flags.writeable = False
        return kept

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (len(self.weights), *self.slide.positions)

    @property
    def copies(self) -> int:
        """How many literals the largest weight stands for; 1 at least."""
        return max(1, int(np.abs(self.weights).max()))

    @cached_property
    def sizes(self) -> _Ints:
        """The largest match count of each neuron, of shape (out channels, positions)."""
        return self._inside(np.abs(self.weights.astype(np.int64))) * (1 if self.top is None else self.top)

    @cached_property
    def allowed(self) -> _Ints:
        """How many literals a neuron may miss where padding is read as 0, of shape (out channels, positions).

        A tap on padding then misses its positive literals, always; so many more are allowed.
        """
        positive = np.maximum(self.weights.astype(np.int64), 0)
        outside = positive.sum(axis=(1, 2, 3))[:, None] - self._inside(positive)
        return np.asarray(self.sizes - self.tau + outside)

    @cached_property
    def least(self) -> _Ints:
        """The least weighted sum of levels of an active neuron, padding read as level 0, of shape (out
        channels, positions).
        """
        assert self.top is not None
        negative = self._inside(np.maximum(-self.weights.astype(np.int64), 0))
        return np.asarray(self.tau - negative * self.top)

    def _inside(self, kernel: _Ints) -> _Ints:
        """Sum a kernel over the taps inside the input, for every neuron."""
        inside = (self.slide.taps >= 0).astype(np.int64)
        sums: _Ints = kernel.sum(axis=1).reshape(len(kernel), -1) @ inside.T
        return sums

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
    """Whether any input of a window is active, or every one, channel by channel. Padding never counts.

    Parameters
    ----------
    shape : (int, int, int)
        Channels, height and width of the input.
    kernel, stride, dilation : int or (int, int)
        For height and width.
    pads : int or (int, int, int, int)
        Pixels added at the top, left, bottom and right.
    every : booleans of shape (channels,)
        Whether all inputs must be active; False for all channels unless said.

    Examples
    --------
    >>> PackedPool((2, 4, 4), kernel=2, stride=2, every=[False, True])
    PackedPool(2x4x4 -> 2x2x2, kernel 2x2)
    """

    slide: Slide
    every: npt.NDArray[np.bool_]

    def __init__(
        self,
        shape: tuple[int, int, int],
        kernel: Any,
        stride: Any = 1,
        dilation: Any = 1,
        pads: Any = 0,
        every: npt.ArrayLike = False,
    ) -> None:
        slide, marks = Slide(shape, kernel, stride, dilation, pads), np.asarray(every)
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
        object.__setattr__(self, "slide", slide)
        object.__setattr__(self, "every", kept)

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return (self.slide.shape[0], *self.slide.positions)

    def __repr__(self) -> str:
        return (
            f"PackedPool({_times(self.slide.shape)} -> {_times(self.output_shape)}, "
            f"kernel {_times(self.slide.kernel)})"
        )


MapLayer = PackedConv | PackedPool


def _times(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))
