"""When a count must stop, for compiled code too, and how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from typing import TypeVar

import numpy as np

from sugenet.problem.clock import Clock

__all__ = ["Alarm"]

_Found = TypeVar("_Found")


class Alarm:
    """A clock that compiled code can look at, in a byte."""

    def __init__(self, clock: Clock, total: int) -> None:
        self.clock, self.total, self.told = clock, total, clock.seconds
        self.stop = np.zeros(1, np.uint8)
        """Its byte is set when it is time to stop."""
        self.is_interrupted = False

    def _ring(self) -> None:
        self.stop[0] = 1

    def is_up(self) -> bool:
        """Whether it has rung."""
        return bool(self.stop[0])

    def step(self, share: float) -> None:
        """Tell which share is counted, at most once a second."""
        if self.clock.seconds - self.told > 1:
            self.told = self.clock.seconds
            self.clock.tell(f"counted {share:.0%} of {self.total:,}")

    @contextmanager
    def _set(self) -> Iterator[None]:
        timers: list[Timer] = []

        def look() -> None:
            left = self.clock.left()
            if left == 0:
                self._ring()
            elif left is not None and not done:  # set again when something was compiled meanwhile
                timers[:] = [Timer(left, look)]
                timers[0].daemon = True
                timers[0].start()

        done: list[bool] = []
        look()
        try:
            yield
        finally:
            done.append(True)
            for timer in timers:
                timer.cancel()

    def run(self, work: Callable[[], _Found]) -> _Found:
        """Work beside the main thread, which hears Ctrl-C while compiled code runs; what is found until the
        alarm rings is given.
        """
        with self._set():
            if current_thread() is not main_thread():
                return work()
            with ThreadPoolExecutor(1) as pool:
                found = pool.submit(work)
                try:
                    return found.result()
                except KeyboardInterrupt:
                    self.is_interrupted = True
                    self._ring()
                    return found.result()
