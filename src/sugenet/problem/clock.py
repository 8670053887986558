"""Time limit, number of threads, random seed and progress reports of an answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Integral, Real
from time import monotonic

from sugenet.bits.compile_policy import see_compiler
from sugenet.compiling import compiling_seconds, listen
from sugenet.errors import QuestionError
from sugenet.reprs import quoted

__all__ = ["Clock", "TimeUpError"]


class TimeUpError(Exception):
    """The time limit was reached within a step; whoever started the step gives the answer so far."""


@dataclass
class Clock:
    """Time limit and other settings of every engine. It starts when it is created, and stops while kernels
    are compiled.

    Parameters
    ----------
    time_limit
        Time limit in seconds (default: none).
    threads
        Number of threads (default: one per core).
    seed
        Random seed.
    notify
        Function called with progress messages.
    now
        Function that returns the time in seconds.

    Examples
    --------
    >>> Clock().left() is None, Clock(0).up()
    (True, True)
    """

    time_limit: float | None = None
    threads: int | None = None
    seed: int = 0
    notify: Callable[[str], None] | None = None
    now: Callable[[], float] = monotonic
    start: float = field(init=False)
    compiled: float = field(init=False)

    def __post_init__(self) -> None:
        see_compiler()
        for name, value, kind, minimum, wanted in (
            ("time_limit", self.time_limit, Real, -inf, "a number of seconds, or None"),
            ("threads", self.threads, Integral, 1, "an integer of at least 1"),
            ("seed", self.seed, Integral, 0, "an integer of at least 0"),
        ):
            if value is None and name != "seed":
                continue
            if isinstance(value, bool) or not isinstance(value, kind) or not value >= minimum:
                raise QuestionError(f"{name}={quoted(value)} must be {wanted}.")
        if self.time_limit is not None and self.time_limit > 2**1000:
            self.time_limit = inf  # also for an integer beyond the range of floats
        if self.time_limit is not None:
            listen()
        self.compiled = compiling_seconds()
        self.start = self.now()

    def left(self) -> float | None:
        """Return the seconds left; None without a limit."""
        return None if self.time_limit is None else max(0.0, self.time_limit - self.seconds)

    @property
    def seconds(self) -> float:
        """Return the seconds since the start, without compile time."""
        compiled = 0.0 if self.time_limit is None else compiling_seconds() - self.compiled
        return max(0.0, self.now() - self.start - compiled)

    def up(self) -> bool:
        """Return whether the time is up."""
        return self.time_limit is not None and self.seconds >= self.time_limit

    def see(self) -> None:
        """Raise `TimeUpError` if the time is up."""
        if self.up():
            raise TimeUpError

    def within(self, seconds: float) -> Clock:
        """Return a clock for a part of the time."""
        left = self.left()
        return replace(self, time_limit=seconds if left is None else min(seconds, left))

    def share(self, part: float) -> Clock:
        """Return a clock for a share of the remaining time."""
        left = self.left()
        return replace(self, time_limit=None if left is None else left * part)

    def for_proof(self) -> Clock:
        """Return a silent clock for the remaining time and a tenth more: an answer that was found is worth a
        proof.
        """
        left = None if self.time_limit is None else max(self.left() or 0.0, 1.0, self.time_limit / 10)
        return replace(self, time_limit=left, notify=None)

    def tell(self, message: str) -> None:
        """Report progress."""
        if self.notify is not None:
            self.notify(message)
