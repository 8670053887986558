"""The engine that "auto" stands for: compiled kernels where they are on this machine or compiling pays, NumPy
until then.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy.typing as npt

from sugenet.bits.conv import MapLayer, PackedConv
from sugenet.bits.engine import Counts, LevelProgram, MapProgram, Neurons, Program
from sugenet.bits.numba_engine import NumbaEngine, is_ready
from sugenet.bits.numpy_engine import NumpyEngine
from sugenet.bits.paying import Account
from sugenet.bits.stairs import LevelConv, StairMap
from sugenet.bits.words import Words

__all__ = ["LateEngine"]

_ACCOUNTS = {"layers": Account(1 << 34), "maps": Account(1 << 31), "levels": Account(1 << 31)}
"""Products of inputs and weights that NumPy does in about the time that compiling takes."""

_Made = TypeVar("_Made")


@dataclass
class _Late(Generic[_Made]):
    """A program for NumPy, and how to make the compiled one."""

    kernel: str
    products: int
    first: _Made
    make: Callable[[], _Made]
    then: _Made | None = field(default=None, init=False)

    def __call__(self, samples: int) -> _Made:
        """The program for so many samples."""
        if self.then is None:
            if not _ACCOUNTS[self.kernel].pays(samples * self.products) and not is_ready(self.kernel):
                return self.first
            self.then = self.make()
        return self.then


def _products(layer: PackedConv | LevelConv) -> int:
    return layer.weights.size * layer.slide.count


@dataclass(frozen=True)
class LateEngine:
    """Compiles when that pays."""

    name: str = "auto"

    def program(self, layers: Sequence[Neurons]) -> Program:
        """Make a chain of layers ready to run."""
        if is_ready("layers"):
            return NumbaEngine().program(layers)
        products = sum(layer.width * len(layer.tau) for layer in layers)
        first = NumpyEngine().program(layers)
        return _LateProgram(_Late("layers", products, first, lambda: NumbaEngine().program(layers)))

    def maps(self, layers: Sequence[MapLayer]) -> MapProgram:
        """Make a chain of convolutions and pooling ready to run."""
        if is_ready("maps"):
            return NumbaEngine().maps(layers)
        products = sum(
            _products(layer) if isinstance(layer, PackedConv) else layer.slide.pixels for layer in layers
        )
        first = NumpyEngine().maps(layers)
        return _LateMaps(_Late("maps", products, first, lambda: NumbaEngine().maps(layers)))

    def levels(self, layers: Sequence[StairMap]) -> LevelProgram:
        """Make a chain of layers of staircases ready to run."""
        if is_ready("levels"):
            return NumbaEngine().levels(layers)
        products = sum(
            _products(layer) if isinstance(layer, LevelConv) else layer.slide.pixels for layer in layers
        )
        first = NumpyEngine().levels(layers)
        return _LateLevels(_Late("levels", products, first, lambda: NumbaEngine().levels(layers)))

    def prepare(self, notify: Callable[[str], None] | None = None, *, levels: bool = False) -> None:
        """Load all kernels, compiled now where they are not on this machine."""
        NumbaEngine().prepare(notify, levels=levels)


@dataclass(frozen=True)
class _LateProgram:
    late: _Late[Any]

    def match_counts(self, words: Words, threads: int | None) -> Counts:
        return self.late(len(words)).match_counts(words, threads)  # type: ignore[no-any-return]

    def activity(self, words: Words, threads: int | None) -> Words:
        return self.late(len(words)).activity(words, threads)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _LateMaps:
    late: _Late[Any]

    def activity(self, inputs: npt.NDArray[Any], threads: int | None) -> Words:
        return self.late(len(inputs)).activity(inputs, threads)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _LateLevels:
    late: _Late[Any]

    def levels(self, inputs: npt.NDArray[Any], threads: int | None) -> npt.NDArray[Any]:
        return self.late(len(inputs)).levels(inputs, threads)  # type: ignore[no-any-return]

    def sums(self, inputs: npt.NDArray[Any], threads: int | None) -> npt.NDArray[Any]:
        return self.late(len(inputs)).sums(inputs, threads)  # type: ignore[no-any-return]
