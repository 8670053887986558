"""Time and memory limits of a check, independent of the claims of a certificate.

Memory is counted before it is allocated, by the size of arrays and lists. Time is checked between short
pieces of work, and compile time does not count.
"""

from __future__ import annotations

import sys
from time import monotonic

from sugenet.errors import CheckLimitError, QuestionError

__all__ = ["MEMORY", "SECONDS", "Limit"]

SECONDS = 600.0
"""Default time limit of a check in seconds."""
MEMORY = 2 << 30
"""Default memory limit of a check in bytes."""


class Limit:
    """The time and memory that are left.

    Examples
    --------
    >>> limit = Limit(None, 1000)
    >>> limit.take(800, "a table")
    >>> limit.take(800, "another one")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sugenet.errors.CheckLimitError: not checked within the limit: another one needs more than 1,000 bytes. ...
    """

    def __init__(self, seconds: float | None = SECONDS, memory: int | None = MEMORY) -> None:
        for name, value in (("time_limit", seconds), ("memory_limit", memory)):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0
            ):
                raise QuestionError(f"{name}={value!r} must be a number, not negative, or None for no limit.")
        self.seconds, self.memory = seconds, memory
        self._compiled, self._start = _compiling_seconds(), monotonic()
        self._taken = 0

    def look(self) -> None:
        """Raise `CheckLimitError` if the time is up."""
        if self.seconds is not None and self.spent() > self.seconds:
            raise CheckLimitError(
                f"not checked within the limit: {self.seconds:g} s were not enough. Allow more: time_limit=."
            )

    def left(self) -> float | None:
        """Return the seconds left."""
        return None if self.seconds is None else max(0.0, self.seconds - self.spent())

    def spent(self) -> float:
        """Return the seconds since the check began, without compile time."""
        return max(0.0, monotonic() - self._start - (_compiling_seconds() - self._compiled))

    def take(self, size: int, what: str) -> None:
        """Count memory that stays allocated; raise `CheckLimitError` if it is too much."""
        self.look()
        self._taken += size
        self.fits(0, what)

    def fits(self, size: int, what: str) -> None:
        """Raise `CheckLimitError` if this much additional temporary memory is too much."""
        if self.memory is not None and self._taken + size > self.memory:
            raise CheckLimitError(
                f"not checked within the limit: {what} needs more than {self.memory:,} bytes. "
                f"Allow more: memory_limit=."
            )

    def room(self) -> int | None:
        """Return the bytes left."""
        return None if self.memory is None else self.memory - self._taken

    def part(self) -> Limit:
        """Return the limit for a piece of the work: the same time, and the memory that is left.

        Memory that the piece takes is free again afterwards.
        """
        part = Limit(self.seconds, self.memory)
        part._compiled, part._start, part._taken = self._compiled, self._start, self._taken
        return part


def _compiling_seconds() -> float:
    """Return the seconds spent on compiling, if there is a compiler."""
    module = sys.modules.get("sugenet.compiling")
    return 0.0 if module is None else float(module.compiling_seconds())
