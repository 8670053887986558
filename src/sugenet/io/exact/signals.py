"""What flows through a chain while it is made exact: raw inputs, bits with their two values, or sums that wait for their sign."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Window
from sugenet.bnn.layers import Ints
from sugenet.io.exact.ops import AveragePool, Pad
from sugenet.io.exact.steps import Step

__all__ = ["BitSignal", "RawSignal", "SumSignal", "flat_order", "sign_of"]


@dataclass(frozen=True, eq=False)
class RawSignal:
    """Raw inputs behind elementwise steps."""

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    """Which raw feature stands at each flat place."""
    steps: tuple[Step, ...] = ()
    pad: Pad | None = None


@dataclass(frozen=True, eq=False)
class BitSignal:
    """Bits with their two values; `order` says which output of the layer before stands at each flat place."""

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    """Exact values of each bit, off and on, by flat place."""
    pad: Pad | None = None
    average: AveragePool | None = None


@dataclass(frozen=True, eq=False)
class SumSignal:
    """Sums of weighted bits or levels, with the steps that follow."""

    where: str
    weights: Ints
    """Whole numbers: (outputs, inputs) or a kernel."""
    unit: list[Fraction]
    """What one of these weights is worth, for each output channel."""
    offset: npt.NDArray[Any]
    """Exact constant of each neuron."""
    shape: tuple[int, ...]
    """Of the output, behind pooling."""
    window: Window | None = None
    groups: int = 1
    tops: tuple[int, ...] | None = None
    """Largest levels of the inputs; None when they are bits."""
    steps: tuple[Step, ...] = ()
    pool: Window | None = None
    pool_at: int = 0
    """How many steps stand in front of the pool."""
    flat: Literal["CHW", "HWC"] | None = None
    maps: tuple[int, ...] | None = None
    """Shape in front of the flatten."""


def flat_order(places: npt.NDArray[np.intp], shape: tuple[int, ...], order: str) -> npt.NDArray[np.intp]:
    """Flat places of maps in CHW or HWC order."""
    if len(shape) != 3 or order == "CHW":
        return places
    return places.reshape(shape).transpose(1, 2, 0).reshape(-1)


def sign_of(value: Fraction) -> int:
    """-1, 0 or +1."""
    return (value > 0) - (value < 0)
