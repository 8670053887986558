"""Arrays of bits and of whole numbers: what the definition is written in."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError

__all__ = ["Bits", "Ints", "integer_array"]

Bits: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]


def integer_array(values: Any, ndim: int, what: str) -> Ints:
    """Check whole numbers and return them as a read-only int64 array."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise NetworkError(
            f"{what} has shape {array.shape}, but {ndim} dimension{'s' if ndim > 1 else ''} are needed."
        )
    if array.dtype.kind not in "biuf":
        raise NetworkError(f"{what} has dtype {array.dtype}, but whole numbers are needed.")
    with np.errstate(invalid="ignore"):
        integers = array.astype(np.int64)
    if not np.array_equal(integers, array):
        position = tuple(int(index) for index in np.argwhere(integers != array)[0])
        raise NetworkError(f"{what}{list(position)} is {array[position]}, which is not a whole number.")
    if np.shares_memory(integers, array):
        integers = integers.copy()
    integers.flags.writeable = False
    return integers
