"""What flows through a chain while it is made exact: raw inputs, levels with their values (bits are levels 0
and 1), or sums that wait for their sign or their stairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.steps import Step

__all__ = ["LevelSignal", "Padding", "RawSignal", "SumSignal", "flat_order", "padded"]


@dataclass(frozen=True)
class Padding:
    """Constant pixels around maps: how many at the top, left, bottom and right,
    and the value that they have in each channel.
    """

    pads: tuple[int, int, int, int]
    fill: tuple[Fraction, ...]


def padded(before: Padding | None, after: Padding, where: str) -> Padding | None:
    """Padding around padding: one, where the values are the same.

    Cropping can take away what was added before, and nothing else.
    """
    if before is None or not any(after.pads):
        before = before or Padding((0, 0, 0, 0), after.fill)
    elif any(side > 0 for side in after.pads) and before.fill != after.fill:
        first, second = (", ".join(f"{float(v):g}" for v in sorted(set(pad.fill))) for pad in (before, after))
        raise FileError(
            f"{where}: padded with {first} and then with {second}. Only one kind of padding can be: "
            f"use the same value."
        )
    sides = [a + b for a, b in zip(before.pads, after.pads, strict=True)]
    if min(sides) < 0:
        raise FileError(f"{where}: crops the maps (pads {after.pads}). Pads of 0 or more can be.")
    top, left, bottom, right = sides
    return Padding((top, left, bottom, right), before.fill) if any(sides) else None


@dataclass(frozen=True, eq=False)
class RawSignal:
    """Raw inputs behind elementwise steps."""

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    """Which raw feature stands at each flat place."""
    steps: tuple[Step, ...] = ()
    pad: Padding | None = None


@dataclass(frozen=True, eq=False)
class LevelSignal:
    """Levels 0..top with what they stand for; `order` says which output of the layer before stands at each
    flat place.
    """

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    start: npt.NDArray[Any]
    step: npt.NDArray[Any]
    """Level a stands for ``start + step * a``, exactly, by flat place."""
    top: int = 1
    """The largest level; bits have 1."""
    pad: Padding | None = None
    raw: bool = False
    """Whether these are raw whole numbers, which stand among real ones."""
    real: bool = False
    """Whether these are raw real numbers: x stands for ``start + step * x``, and `top` says nothing."""
    error: npt.NDArray[Any] | None = None
    """By flat place, how far what a level stands for can be off at most; None: nothing is."""

    @property
    def end(self) -> npt.NDArray[Any]:
        """What the largest level stands for: of a bit, its value where it is on."""
        return np.asarray(self.start + self.step * self.top)


@dataclass(frozen=True, eq=False)
class SumSignal:
    """Sums of weighted levels 0..top, with the steps that follow."""

    where: str
    weights: Ints
    """Whole numbers: (outputs, inputs), or a kernel where there is a window."""
    unit: list[Fraction]
    """What one of these weights is worth, for each of their rows."""
    offset: npt.NDArray[Any]
    """Exact constant of each neuron."""
    shape: tuple[int, ...]
    """Of the output, behind pooling."""
    window: Window | None = None
    groups: int = 1
    top: int = 1
    """Largest level of the inputs."""
    pad: int | None = None
    """The level that padding has in every channel, where it is one."""
    raw: bool = False
    """Whether the inputs are raw whole numbers."""
    steps: tuple[Step, ...] = ()
    """Each with one number for all, or one for each row of `weights`."""
    pool: Window | None = None
    pool_at: int = 0
    """How many steps stand in front of the pool."""
    flat: Literal["CHW", "HWC"] | None = None
    maps: tuple[int, ...] | None = None
    """Shape in front of the flatten."""
    mean: bool = False
    """Whether these are averages of levels, which a linear layer can follow."""
    spread: bool = False
    """Whether each place behind the pool has rows of its own for all values of its window."""
    real: bool = False
    """Whether the inputs are raw real numbers."""
    floats: bool = False
    """Whether the weights are floats, no small multiples of one number."""
    error: Fraction = Fraction(0)
    """How far a sum can be off at most, where the factors of raw inputs had to be rounded."""

    def order(self, count: int) -> npt.NDArray[np.intp]:
        """Which of so many outputs stands at each flat place."""
        places = np.arange(count)
        return places if self.maps is None or self.flat is None else flat_order(places, self.maps, self.flat)


def flat_order(places: npt.NDArray[np.intp], shape: tuple[int, ...], order: str) -> npt.NDArray[np.intp]:
    """Flat places of maps in CHW or HWC order."""
    if len(shape) != 3 or order == "CHW":
        return places
    return places.reshape(shape).transpose(1, 2, 0).reshape(-1)
