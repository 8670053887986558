"""How large the maps, windows and numbers of a network from elsewhere may be: a few words in a file can ask
for any amount of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError

__all__ = ["check_maps", "check_numbers"]

_MOST = 1 << 22
_LARGEST = 2.0**128
"""No float32 is larger; products of a few such numbers are floats still."""


def check_maps(where: str, shape: Sequence[int], window: Sequence[int] = ()) -> None:
    """Refuse a layer with more values, or whose windows read more values in all, than are read.

    Examples
    --------
    >>> check_maps("conv1", (64, 112, 112), (7, 7))
    >>> check_maps("pad", (1, 100_000, 100_000))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: pad: maps of 1 x 100000 x 100000 are 10,000,000,000 values, more than
    the 4,194,304 that are read.
    """
    if prod(shape) > _MOST:
        sides = " x ".join(map(str, shape))
        raise FileError(
            f"{where}: maps of {sides} are {prod(shape):,} values, more than the {_MOST:,} that are read."
        )
    if prod(shape[1:]) * prod(window) > _MOST:
        sides = " x ".join(map(str, window))
        raise FileError(
            f"{where}: windows of {sides} at {' x '.join(map(str, shape[1:]))} places read more than the "
            f"{_MOST:,} values that are read."
        )


def check_numbers(where: str, array: npt.NDArray[Any]) -> None:
    """Refuse parameters that are no numbers to compute with.

    Examples
    --------
    >>> check_numbers("fc1.weight", np.array([1.0, np.nan]))
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: fc1.weight holds numbers that are not finite, or larger than 2^128.
    """
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise FileError(f"{where} has dtype {str(array.dtype)[:40]}, but numbers are needed.")
    if not np.isfinite(array).all() or (array.dtype == np.float64 and (np.abs(array) > _LARGEST).any()):
        raise FileError(f"{where} holds numbers that are not finite, or larger than 2^128.")
