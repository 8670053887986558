"""Memory check before large allocations: a question that does not fit raises an error instead of
exhausting the machine.
"""

import os
from pathlib import Path

from sugenet.errors import TooLargeError

__all__ = ["available", "make_sure", "size_text"]

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
