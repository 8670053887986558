"""Chains of convolutions and pooling over bits or levels, run in one call, and the packing of maps."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from sugenet.bits.conv import LevelMap, MapLayer
from sugenet.bits.engine import EngineName, Program, engine_named, program_of
from sugenet.bits.words import Words, check_words, pack, unpack, words_for
from sugenet.errors import EncodingError, NetworkError

__all__ = ["LevelMaps", "PackedMaps", "map_columns", "pack_maps", "unpack_maps"]


def pack_maps(bits: npt.ArrayLike, shape: tuple[int, int, int]) -> Words:
    """Pack maps pixel by pixel: the channels of a pixel are the bits of its words.

    Parameters
    ----------
    bits : booleans of shape (batch, channels * height * width)
        Flat maps in the order of NCHW arrays: channel by channel, row by row.
    shape : (int, int, int)
        Channels, height and width.

    Returns
    -------
    uint64 array of shape (batch, height * width, ceil(channels / 64))

    Examples
    --------
    >>> pack_maps([[True, False, True, True]], shape=(2, 1, 2)).tolist()
    [[[3], [2]]]
    """
    array = np.asarray(bits)
    channels, pixels = shape[0], shape[1] * shape[2]
    if array.dtype != np.bool_ or array.ndim != 2 or array.shape[1] != channels * pixels:
        raise EncodingError(
            f"bits has type {array.dtype} and shape {array.shape}, but booleans of shape (batch, "
            f"{channels * pixels}) are needed."
        )
    return pack(array.reshape(len(array), channels, pixels).transpose(0, 2, 1))


def unpack_maps(words: npt.ArrayLike, channels: int) -> npt.NDArray[np.bool_]:
    """Return flat maps in the order of NCHW arrays; the inverse of `pack_maps`.

    Examples
    --------
    >>> unpack_maps(pack_maps([[True, False, True, True]], shape=(2, 1, 2)), channels=2)
    array([[ True, False,  True,  True]])
    """
    bits = unpack(words, channels)
    return bits.transpose(0, 2, 1).reshape(len(bits), bits.shape[1] * channels)


def map_columns(shape: tuple[int, int, int]) -> npt.NDArray[np.intp]:
    """Return the flat NCHW index of each bit of packed maps, read as one row of words; -1 for bits after the
    last channel.

    If its columns are in this order, a dense layer after maps reads their words directly.

    Examples
    --------
    >>> map_columns((3, 1, 2))[:4].tolist(), map_columns((3, 1, 2))[64:68].tolist()
    ([0, 2, 4, -1], [1, 3, 5, -1])
    """
    channels, pixels = shape[0], shape[1] * shape[2]
    columns = np.full((pixels, 64 * words_for(channels)), -1, np.intp)
    columns[:, :channels] = np.arange(channels * pixels).reshape(channels, pixels).T
    return columns.reshape(-1)


class _MapChain:
    """Layers that feed each other, and the engine that runs them."""

    layers: tuple[Any, ...]
    engine: EngineName

    def __init__(self, layers: Iterable[Any], engine: EngineName = "auto") -> None:
        chain = tuple(layers)
        if not chain:
            raise NetworkError("layers is empty, but a chain needs at least one layer.")
        for number, (layer, following) in enumerate(pairwise(chain)):
            if layer.output_shape != following.slide.shape:
                raise NetworkError(
                    f"layer {number} gives maps of shape {layer.output_shape}, but layer {number + 1} reads "
                    f"{following.slide.shape}; the two must be equal."
                )
            self._check(number, layer, following)
        object.__setattr__(self, "layers", chain)
        object.__setattr__(self, "engine", engine_named(engine))

    def _check(self, number: int, layer: Any, following: Any) -> None:
        """Raise an error if a layer does not fit the output of the one before."""
        raise NotImplementedError

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        shape: tuple[int, int, int] = self.layers[-1].output_shape
        return shape

    def with_engine(self, engine: EngineName) -> Self:
        """Return the same chain, counted by another engine."""
        return type(self)(self.layers, engine)

    def __repr__(self) -> str:
        shapes = [self.layers[0].slide.shape, *(layer.output_shape for layer in self.layers)]
        arrows = " -> ".join("x".join(map(str, shape)) for shape in shapes)
        return f"{type(self).__name__}({arrows}, engine={self.engine!r})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return type(self), (self.layers, self.engine)


def _checked_levels(inputs: npt.NDArray[Any], width: int, top: int) -> npt.NDArray[Any]:
    """Return flat levels 0..top of samples; bits are levels too."""
    array = np.asarray(inputs)
    if array.dtype.kind not in "biu" or array.ndim != 2 or array.shape[1] != width:
        raise EncodingError(
            f"inputs has type {array.dtype} and shape {array.shape}, but levels are integers of shape "
            f"(batch, {width})."
        )
    if array.dtype == np.bool_:
        return array.view(np.uint8)
    if array.dtype.itemsize == 1 and array.dtype.kind == "u" and top >= 255:
        return array
    if array.size and (array.min() < 0 or array.max() > top):
        raise EncodingError(
            f"inputs ranges from {array.min()} to {array.max()}, but levels must be in 0..{top}."
        )
    return array


@dataclass(frozen=True, eq=False, repr=False, init=False)
class PackedMaps(_MapChain):
    """Convolutions and pooling that feed each other.

    A group of samples passes through all layers while its maps stay in the cache.

    Parameters
    ----------
    layers : iterable of PackedConv and PackedPool
        At least one; only the first may read levels.
    engine : {"auto", "numba", "numpy"}
        Engine that counts; "auto" becomes the one that the environment names, if it does.

    Examples
    --------
    >>> from sugenet.bits import PackedConv, PackedPool
    >>> conv = PackedConv.from_arrays(np.ones((1, 1, 2, 2), int), tau=[3], shape=(1, 3, 3))
    >>> maps = PackedMaps([conv, PackedPool((1, 2, 2), kernel=2)], engine="numpy")
    >>> maps
    PackedMaps(1x3x3 -> 1x2x2 -> 1x1x1, engine='numpy')
    >>> x = pack_maps([[True, True, False, True, True, False, False, True, False]], (1, 3, 3))
    >>> [unpack_maps(words, 1).tolist() for words in maps.hidden(x)]
    [[[True, False, True, False]], [[True]]]
    """

    layers: tuple[MapLayer, ...]
    engine: EngineName

    def _check(self, number: int, layer: Any, following: Any) -> None:  # noqa: ARG002
        if following.top is not None:
            raise NetworkError(
                f"layer {number + 1} reads levels, but only the first layer can: later ones read bits."
            )

    @property
    def top(self) -> int | None:
        """Largest level of the input; None if it is bits."""
        return self.layers[0].top

    def activity(self, inputs: npt.NDArray[Any], threads: int | None = None) -> Words:
        """Return the packed maps of the last layer, of shape (batch, pixels, words).

        Parameters
        ----------
        inputs : array
            For a first layer over bits, packed maps as returned by `pack_maps`; bits after the last channel
            are ignored. For one over levels, integers of shape (batch, channels * height * width) in the
            order of NCHW arrays.
        threads : int, optional
            Number of threads (default: one per core).
        """
        return self._program.activity(self._checked(inputs), threads)

    def hidden(self, inputs: npt.NDArray[Any], threads: int | None = None) -> tuple[Words, ...]:
        """Return the packed maps of every layer, in order."""
        outputs: list[Words] = []
        for layer in self.layers:
            inputs = PackedMaps([layer], self.engine).activity(inputs, threads)
            outputs.append(inputs)
        return tuple(outputs)

    def _checked(self, inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        slide, array = self.layers[0].slide, np.asarray(inputs)
        channels, pixels = slide.shape[0], slide.pixels
        if self.top is None:
            if array.ndim != 3 or array.shape[1] != pixels:
                raise EncodingError(
                    f"inputs has shape {array.shape}, but packed maps have shape (batch, {pixels}, "
                    f"{words_for(channels)}) here. Pack flat maps with pack_maps()."
                )
            flat = check_words(array.reshape(array.shape[0] * pixels, array.shape[2]), channels, "inputs")
            return flat.reshape(array.shape)
        return np.ascontiguousarray(_checked_levels(array, slide.inputs, self.top))

    @cached_property
    def _program(self) -> Program:
        return program_of("maps", self.layers, self.engine)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class LevelMaps(_MapChain):
    """Convolutions, dense layers and pooling over levels that feed each other.

    A group of samples passes through all layers while its levels stay in the cache.

    Parameters
    ----------
    layers : iterable of LevelConv and PackedPool
        At least one; only the last may have no steps.
    engine : {"auto", "numba", "numpy"}
        Engine that counts; "auto" becomes the one that the environment names, if it does.

    Examples
    --------
    >>> from sugenet.bits import LevelConv
    >>> first = LevelConv.from_arrays([[[[2]], [[-1]]]], [[1, 3, 5]], (2, 1, 1), top=3)
    >>> last = LevelConv.from_arrays([[[[1]]], [[[-1]]]], None, (1, 1, 1), top=3)
    >>> LevelMaps([first], engine="numpy").levels(np.array([[3, 0], [3, 3], [0, 2]])).tolist()
    [[3], [2], [0]]
    >>> LevelMaps([first, last], engine="numpy").sums(np.array([[3, 0]])).tolist()
    [[3, -3]]
    """

    layers: tuple[LevelMap, ...]
    engine: EngineName

    def _check(self, number: int, layer: Any, following: Any) -> None:
        if layer.gives_sums:
            raise NetworkError(f"layer {number} has no steps, but only the last layer may have none.")
        if layer.gives > following.top:
            raise NetworkError(
                f"layer {number} gives levels up to {layer.gives}, but layer {number + 1} reads "
                f"levels up to {following.top}."
            )

    def levels(self, inputs: npt.NDArray[Any], threads: int | None = None) -> npt.NDArray[Any]:
        """Return the levels of the last layer, of shape (batch, channels * height * width) in the order of
        NCHW arrays.

        Parameters
        ----------
        inputs : integers or booleans of shape (batch, channels * height * width)
            Levels in the same order.
        threads : int, optional
            Number of threads (default: one per core).
        """
        return self._program.levels(self._checked(inputs), threads)

    def sums(self, inputs: npt.NDArray[Any], threads: int | None = None) -> npt.NDArray[Any]:
        """Return the sums of the last layer, which has no steps, as int32 of the same shape."""
        if not self.layers[-1].gives_sums:
            raise NetworkError("the last layer has steps, so its levels are asked for, not its sums.")
        return self._program.sums(self._checked(inputs), threads)

    def hidden(self, inputs: npt.NDArray[Any], threads: int | None = None) -> tuple[npt.NDArray[Any], ...]:
        """Return the levels of every layer that has steps, in order."""
        outputs: list[npt.NDArray[Any]] = []
        for layer in self.layers:
            if not layer.gives_sums:
                inputs = LevelMaps([layer], self.engine).levels(inputs, threads)
                outputs.append(inputs)
        return tuple(outputs)

    def _checked(self, inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _checked_levels(inputs, self._width, self.layers[0].top or 1)

    @cached_property
    def _width(self) -> int:
        return self.layers[0].slide.inputs

    @cached_property
    def _program(self) -> Program:
        return program_of("levels", self.layers, self.engine)
