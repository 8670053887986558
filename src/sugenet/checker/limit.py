"""How long a check may take and how much memory it may use, whatever a certificate claims.

Memory is added up before it is taken, by what arrays and lists of that size need; time is looked at between
pieces of work that are short, without what is spent on compiling.
"""

from __future__ import annotations

import sys
from time import monotonic

from sugenet.errors import CheckLimitError, QuestionError

__all__ = ["MEMORY", "SECONDS", "Limit"]

SECONDS = 600.0
"""How long a check may take unless said otherwise."""
MEMORY = 2 << 30
"""Bytes that a check may use unless said otherwise."""


class Limit:
    """What is left of the time and of the memory.

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
        """Raise `CheckLimitError` when the time is up."""
        if self.seconds is not None and self.spent() > self.seconds:
            raise CheckLimitError(
                f"not checked within the limit: {self.seconds:g} s were not enough. Allow more: time_limit=."
            )

    def left(self) -> float | None:
        """Seconds that are left."""
        return None if self.seconds is None else max(0.0, self.seconds - self.spent())

    def spent(self) -> float:
        """Seconds since the check began, without those of compiling."""
        return max(0.0, monotonic() - self._start - (_compiling_seconds() - self._compiled))

    def take(self, size: int, what: str) -> None:
        """Count memory that is about to be used for good; raise `CheckLimitError` when it is too much."""
        self.look()
        self._taken += size
        self.fits(0, what)

    def fits(self, size: int, what: str) -> None:
        """Raise `CheckLimitError` when so much more, used for a moment, is too much."""
        if self.memory is not None and self._taken + size > self.memory:
            raise CheckLimitError(
                f"not checked within the limit: {what} needs more than {self.memory:,} bytes. "
                f"Allow more: memory_limit=."
            )

    def room(self) -> int | None:
        """Bytes that are left."""
        return None if self.memory is None else self.memory - self._taken

    def part(self) -> Limit:
        """For a piece of the work: the same time, and what is left of the memory;
        what it takes is given back with it.
        """
        part = Limit(self.seconds, self.memory)
        part._compiled, part._start, part._taken = self._compiled, self._start, self._taken
        return part


def _compiling_seconds() -> float:
    """Seconds that were spent on compiling, if there is anything that compiles."""
    module = sys.modules.get("sugenet.compile_notice")
    return 0.0 if module is None else float(module.compiling_seconds())
