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
        whole = array.astype(np.int64)
    if not np.array_equal(whole, array):
        place = tuple(int(index) for index in np.argwhere(whole != array)[0])
        raise NetworkError(f"{what}{list(place)} is {array[place]}, which is not a whole number.")
    if np.shares_memory(whole, array):
        whole = whole.copy()
    whole.flags.writeable = False
    return whole
