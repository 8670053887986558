"""How far a sweep is: how fast, what came out so far, and what is still to come."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from time import monotonic

from sugenet.reason.words import percent_words
from sugenet.sweeps.cutting import Queue
from sugenet.sweeps.rows import Row
from sugenet.sweeps.tally import time_words

__all__ = ["Progress"]


class Progress:
    """Tells whoever wants to know, once a second, from a thread of its own."""

    def __init__(self, total: int, known: Counter[str], notify: Callable[[str], None] | None) -> None:
        self.total, self.outcomes, self.notify = total, Counter(known), notify
        self.queue: Queue | None = None
        self._start, self._new, self._lock = monotonic(), 0, threading.Lock()

    def answered(self, row: Row) -> None:
        """Count an answer."""
        with self._lock:
            self._new += 1
            self.outcomes[row.outcome] += 1

    def replaced(self, outcome: str) -> None:
        """A sample with this outcome gets another."""
        with self._lock:
            self.outcomes[outcome] -= 1

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell while something else goes on."""
        if self.notify is None:
            yield
            return
        end = threading.Event()

        def tell() -> None:
            assert self.notify is not None
            if hasattr(signal, "pthread_sigmask"):  # an interrupt is for the main thread
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            while not end.wait(0.5):
                self.notify(str(self))

        teller = threading.Thread(target=tell, daemon=True, name="sugenet-progress")
        teller.start()
        try:
            yield
        finally:
            end.set()
            teller.join(1.0)

    def __str__(self) -> str:
        with self._lock:
            done = self.outcomes.total()
            parts = [f"{done} of {self.total}"]
            for word, many in self.outcomes.most_common():
                if many:
                    parts.append(f"{percent_words(Fraction(many, done))} {word}")
            speed = self._new / max(monotonic() - self._start, 1e-9)
        if self._new:
            parts.append(f"{speed:.3g} a second")
        if self.queue is not None:
            parts.append(self._left())
        return ", ".join(parts)

    def _left(self) -> str:
        assert self.queue is not None
        likely, worst = self.queue.remaining()
        if worst is None:
            return f"at least {time_words(likely)} left" if likely else "how long is not known yet"
        if worst > 1.5 * likely + 1:
            return f"{time_words(likely)} to {time_words(worst)} left"
        return f"{time_words(likely)} left"
