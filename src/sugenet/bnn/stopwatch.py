"""How long somebody has waited, without what was compiled meanwhile."""

from __future__ import annotations

from time import monotonic

from sugenet.telling import compiling_seconds, listen

__all__ = ["Stopwatch"]


class Stopwatch:
    """Starts when it is made, and stands still while kernels are compiled.

    Examples
    --------
    >>> Stopwatch().seconds() >= 0
    True
    """

    def __init__(self) -> None:
        listen()
        self._compiled, self._start = compiling_seconds(), monotonic()

    def seconds(self) -> float:
        """Seconds since the start."""
        return max(0.0, monotonic() - self._start - (compiling_seconds() - self._compiled))
