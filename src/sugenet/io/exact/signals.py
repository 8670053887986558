"""What flows through a chain while it is made exact: raw inputs, bits with their two values, or sums that
wait for their sign.
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

__all__ = ["BitSignal", "Padding", "RawSignal", "SumSignal", "flat_order", "padded"]


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
class BitSignal:
    """Bits with their two values; `order` says which output of the layer before stands at each flat place."""

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    """Exact values of each bit, off and on, by flat place."""
    pad: Padding | None = None


@dataclass(frozen=True, eq=False)
class SumSignal:
    """Sums of weighted bits or levels, with the steps that follow."""

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
    tops: tuple[int, ...] | None = None
    """Largest levels of the inputs; None when they are bits."""
    steps: tuple[Step, ...] = ()
    """Each with one number for all, or one for each row of `weights`."""
    pool: Window | None = None
    pool_at: int = 0
    """How many steps stand in front of the pool."""
    flat: Literal["CHW", "HWC"] | None = None
    maps: tuple[int, ...] | None = None
    """Shape in front of the flatten."""
    mean: bool = False
    """Whether these are averages of bits, which a linear layer can follow."""
    spread: bool = False
    """Whether each place behind the pool has rows of its own for all values of its window."""

    def order(self, count: int) -> npt.NDArray[np.intp]:
        """Which of so many outputs stands at each flat place."""
        places = np.arange(count)
        return places if self.maps is None or self.flat is None else flat_order(places, self.maps, self.flat)


def flat_order(places: npt.NDArray[np.intp], shape: tuple[int, ...], order: str) -> npt.NDArray[np.intp]:
    """Flat places of maps in CHW or HWC order."""
    if len(shape) != 3 or order == "CHW":
        return places
    return places.reshape(shape).transpose(1, 2, 0).reshape(-1)
