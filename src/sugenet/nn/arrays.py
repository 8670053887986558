"""Types of arrays, and arrays of integers, on which the definition is evaluated."""

from dataclasses import fields
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError

__all__ = ["Array", "Bits", "ByContents", "Doubles", "Indices", "Ints", "integer_array"]

Array: TypeAlias = npt.NDArray[Any]
Bits: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]
Indices: TypeAlias = npt.NDArray[np.intp]
Doubles: TypeAlias = npt.NDArray[np.float64]


class ByContents:
    """A dataclass compared by its fields; array fields are compared by their contents."""

    def __eq__(self, other: object) -> bool:
        return self._contents == other._contents if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._contents)

    @property
    def _contents(self) -> tuple[Any, ...]:
        values = (getattr(self, one.name) for one in fields(self) if one.compare)  # type: ignore[arg-type]
        return tuple(
            (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value for value in values
        )


def integer_array(values: Any, ndim: int, what: str) -> Ints:
    """Check an array of integers and return it as a read-only int64 array."""
    array = np.asarray(values)
    if array.ndim != ndim:
        raise NetworkError(
            f"{what} has shape {array.shape}, but {ndim} dimension{'s' if ndim > 1 else ''} are needed."
        )
    if array.dtype.kind not in "biuf":
        raise NetworkError(f"{what} has dtype {array.dtype}, but integers are required.")
    with np.errstate(invalid="ignore"):
        integers = array.astype(np.int64)
    if not np.array_equal(integers, array):
        position = tuple(int(index) for index in np.argwhere(integers != array)[0])
        raise NetworkError(f"{what}{list(position)} is {array[position]}, which is not an integer.")
    if np.shares_memory(integers, array):
        integers = integers.copy()
    integers.flags.writeable = False
    return integers
