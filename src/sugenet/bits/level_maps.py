"""A chain of layers of staircases, run as one."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.engine import EngineName, LevelProgram, engine_named
from sugenet.bits.stairs import LevelConv, StairMap
from sugenet.errors import EncodingError, NetworkError

__all__ = ["LevelMaps"]


@dataclass(frozen=True, eq=False, repr=False)
class LevelMaps:
    """Convolutions, dense layers and pooling over levels that feed each other.

    A group of samples goes through all layers while its levels stay in the cache.

    Parameters
    ----------
    layers : iterable of LevelConv and LevelPool
        At least one; only the last may have no steps.
    engine : {"auto", "numba", "numpy"}
        Who counts; "auto" becomes the one that the environment names, if it does.

    Examples
    --------
    >>> first = LevelConv.from_arrays([[[[2]], [[-1]]]], [[1, 3, 5]], (2, 1, 1), top=3)
    >>> last = LevelConv.from_arrays([[[[1]]], [[[-1]]]], None, (1, 1, 1), top=3)
    >>> LevelMaps([first], engine="numpy").levels(np.array([[3, 0], [3, 3], [0, 2]])).tolist()
    [[3], [2], [0]]
    >>> LevelMaps([first, last], engine="numpy").sums(np.array([[3, 0]])).tolist()
    [[3, -3]]
    """

    layers: tuple[StairMap, ...]
    engine: EngineName

    def __init__(self, layers: Iterable[StairMap], engine: EngineName = "auto") -> None:
        chain = tuple(layers)
        if not chain:
            raise NetworkError("layers is empty, but a chain needs at least one layer.")
        for number, (layer, following) in enumerate(pairwise(chain)):
            if layer.output_shape != following.slide.shape:
                raise NetworkError(
                    f"layer {number} gives maps of shape {layer.output_shape}, but layer {number + 1} reads "
                    f"{following.slide.shape}; the two must be equal."
                )
            if isinstance(layer, LevelConv) and layer.steps is None:
                raise NetworkError(f"layer {number} has no steps, but only the last layer may have none.")
            if layer.gives > following.top:
                raise NetworkError(
                    f"layer {number} gives levels up to {layer.gives}, but layer {number + 1} reads "
                    f"levels up to {following.top}."
                )
        object.__setattr__(self, "layers", chain)
        object.__setattr__(self, "engine", engine_named(engine).name)

    @property
    def output_shape(self) -> tuple[int, int, int]:
        """Channels, height and width of the output."""
        return self.layers[-1].output_shape

    def levels(self, inputs: npt.NDArray[Any], threads: int | None = None) -> npt.NDArray[Any]:
        """Return the levels of the last layer, of shape (batch, channels * height * width) in the order of
        NCHW arrays.

        Parameters
        ----------
        inputs : integers or booleans of shape (batch, channels * height * width)
            Levels in the same order.
        threads : int, optional
            How many threads may work at once; one per core when not given.
        """
        return self._program.levels(self._checked(inputs), threads)

    def sums(self, inputs: npt.NDArray[Any], threads: int | None = None) -> npt.NDArray[Any]:
        """Return the sums of the last layer, which has no steps, as int32 of the same shape."""
        last = self.layers[-1]
        if not isinstance(last, LevelConv) or last.steps is not None:
            raise NetworkError("the last layer has steps, so its levels are asked for, not its sums.")
        return self._program.sums(self._checked(inputs), threads)

    def hidden(self, inputs: npt.NDArray[Any], threads: int | None = None) -> tuple[npt.NDArray[Any], ...]:
        """Return the levels of every layer that has steps, in order."""
        found: list[npt.NDArray[Any]] = []
        for layer in self.layers:
            if not isinstance(layer, LevelConv) or layer.steps is not None:
                inputs = LevelMaps([layer], self.engine).levels(inputs, threads)
                found.append(inputs)
        return tuple(found)

    def _checked(self, inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
        first, array = self.layers[0], np.asarray(inputs)
        width = self._width
        if array.dtype.kind not in "biu" or array.ndim != 2 or array.shape[1] != width:
            raise EncodingError(
                f"inputs has type {array.dtype} and shape {array.shape}, but levels are integers of shape "
                f"(batch, {width})."
            )
        if array.dtype == np.bool_:
            return array.view(np.uint8)
        if array.dtype.itemsize == 1 and array.dtype.kind == "u" and first.top >= 255:
            return array
        if array.size and (array.min() < 0 or array.max() > first.top):
            raise EncodingError(
                f"inputs ranges from {array.min()} to {array.max()}, but levels must be in 0..{first.top}."
            )
        return array

    @cached_property
    def _width(self) -> int:
        return int(np.prod(self.layers[0].slide.shape))

    @cached_property
    def _program(self) -> LevelProgram:
        return engine_named(self.engine).levels(self.layers)

    def __repr__(self) -> str:
        shapes = [self.layers[0].slide.shape, *(layer.output_shape for layer in self.layers)]
        return (
            f"LevelMaps({' -> '.join('x'.join(map(str, shape)) for shape in shapes)}, engine={self.engine!r})"
        )

    def __reduce__(self) -> tuple[Callable[..., "LevelMaps"], tuple[Any, ...]]:
        return LevelMaps, (self.layers, self.engine)
