"""Types of arrays, arrays of integers, on which the definition is evaluated, and a check of memory before
large ones: a question that does not fit raises an error instead of exhausting the machine.
"""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import NetworkError, TooLargeError

__all__ = [
    "Array",
    "Bits",
    "ByContents",
    "Doubles",
    "Indices",
    "Ints",
    "available",
    "integer_array",
    "make_sure",
    "size_text",
]

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
    if (array.dtype.kind == "f" or array.dtype == np.uint64) and not np.array_equal(integers, array):
        position = tuple(int(index) for index in np.argwhere(integers != array)[0])
        raise NetworkError(f"{what}{list(position)} is {array[position]}, which is not an integer.")
    if np.shares_memory(integers, array):
        integers = integers.copy()
    integers.flags.writeable = False
    return integers


_SHARE = 0.5
"""Share of the available memory that one step may use: numbers are often copied once."""
_SMALL = 1 << 22
"""Bytes that may be allocated without a check."""
_UNKNOWN = 1 << 32
"""Bytes assumed to be available if the system does not report them."""


def available() -> int:
    """Return the bytes that this process can still allocate: the minimum over the machine, its control
    group and its own limit.
    """
    return max(0, min(_of_machine(), _of_group(), _of_process()))


def make_sure(needed: int, what: str, instead: str) -> None:
    """Check that a step fits into memory before it starts.

    Raises
    ------
    TooLargeError
        With the object to build, its size, the available memory and an alternative.

    Examples
    --------
    >>> make_sure(10**18, "all 10^9 rows", "Ask for fewer.")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sugenet.errors.TooLargeError: all 10^9 rows would take 931,322,574.6 GiB of memory, ... Ask for fewer.
    """
    if needed <= _SMALL:
        return
    free = int(_SHARE * available())
    if needed > free:
        raise TooLargeError(
            f"{what} would take {size_text(needed)} of memory, and a step may take "
            f"{size_text(free)} here. {instead}"
        )


def size_text(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / (1 << 30):,.1f} GiB" if size >= 1 << 29 else f"{size / (1 << 20):,.0f} MiB"


def _of_machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # neither Linux nor another system that reports it
        return _UNKNOWN


def _of_group() -> int:
    """Return the bytes that a container leaves, if there is one: its limit minus its use, not counting
    cached files.
    """
    for folder, limit, used in (
        ("", "memory.max", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        path = Path("/sys/fs/cgroup", folder)
        try:
            rows = dict(line.split() for line in (path / "memory.stat").read_text().splitlines())
            kept = int((path / used).read_text()) - int(rows.get("inactive_file", 0))
            return int((path / limit).read_text()) - kept
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return 1 << 62


def _of_process() -> int:
    """Return the bytes that a limit on the address space leaves."""
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        if soft == resource.RLIM_INFINITY:
            return 1 << 62
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError, IndexError):
        return 1 << 62
    return soft - taken
