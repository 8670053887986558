"""Which samples go to a worker together: cheap ones in chunks of about half a second, dear ones alone.

What a sample costs is learned on the way. Chunks begin small and grow with the measured mean. Where some take
long, workers are told from which size on a question is dear, that is how many changes it allows; they do the
cheap ones of a chunk and give the others back, which then go out alone, the dearest first, when nothing cheap
is left.
"""

from __future__ import annotations

import random
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable
from threading import Lock

__all__ = ["Queue"]

_TARGET = 0.5
"""Seconds that a chunk shall take."""
_LEAST = 0.1
"""And shall at least take, when few samples are left."""
_LARGEST = 4096
_DEAR = 0.25
"""Seconds from which a sample is dear."""


class Queue:
    """Samples that wait, and what is known of their cost; safe to use from several threads."""

    def __init__(self, samples: Iterable[int], workers: int, time_limit: float | None) -> None:
        self._fresh = list(samples)
        # in mixed order, so that what is done is like what is to come, and the remaining time is honest
        random.Random(0).shuffle(self._fresh)
        self._alone: list[tuple[float, int]] = []
        self._out: set[int] = set()
        self._workers, self._time_limit = max(1, workers), time_limit
        self._seconds: dict[int, list[float]] = defaultdict(list)
        self._total, self._count = 0.0, 0
        self._lock = Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._fresh) + len(self._alone)

    @property
    def waiting(self) -> set[int]:
        """Samples that are with a worker."""
        with self._lock:
            return set(self._out)

    def take(self) -> tuple[list[int], float | None]:
        """The next samples to go out, none where nothing waits; and the size from which one is dear."""
        with self._lock:
            if self._fresh:
                size = self._chunk()
                taken = self._fresh[-size:]
                del self._fresh[-size:]
            elif self._alone:
                taken = [self._alone.pop()[1]]
            else:
                taken = []
            self._out.update(taken)
            return taken, self._dear()

    def _chunk(self) -> int:
        mean = max(1e-6, self._total / self._count) if self._count else _TARGET / 4
        most = max(len(self._fresh) // (2 * self._workers), int(_LEAST / mean))  # the last chunks are small
        return max(1, min(most, _LARGEST, int(_TARGET / mean)))

    def _dear(self) -> float | None:
        """The least size at which samples took long in the mean."""
        long = [size for size, seconds in self._seconds.items() if sum(seconds) >= _DEAR * len(seconds)]
        return float(min(long)) if long else None

    def answered(self, sample: int, seconds: float, size: float | None, *, learn: bool = True) -> None:
        """Learn what an answer cost, unless it was not like those to come."""
        with self._lock:
            self._out.discard(sample)
            if not learn:
                return
            self._total, self._count = self._total + seconds, self._count + 1
            if size is not None:
                self._seconds[int(size)].append(seconds)

    def gone(self, sample: int) -> None:
        """It has no answer, and is not asked again."""
        with self._lock:
            self._out.discard(sample)

    def give_back(self, sample: int, size: float | None) -> None:
        """Take a sample back that was not begun: a dear one goes out alone."""
        with self._lock:
            dear = self._dear()
            if size is None or dear is None or size < dear:
                self._out.discard(sample)
                self._fresh.append(sample)
            else:
                self._set_apart(sample, size)

    def set_apart(self, sample: int) -> None:
        """Take a sample back whose worker ended: it goes out alone."""
        with self._lock:
            self._set_apart(sample, 0.0)

    def _set_apart(self, sample: int, size: float) -> None:
        self._out.discard(sample)
        insort(self._alone, (size, sample))

    def again(self, samples: Iterable[int]) -> None:
        """Take samples back as they went out."""
        with self._lock:
            taken = list(samples)
            self._out.difference_update(taken)
            self._fresh += taken

    # -- remaining time --------------------------------------------------------------------------------------

    def remaining(self) -> tuple[float, float | None]:
        """Seconds that are still to come: as it went so far, and if every dear sample takes all its time;
        None: nobody knows.
        """
        with self._lock:
            if not self._count:
                return 0.0, None
            dear = [self._likely(size) for size, _ in self._alone]
            mean = (self._total + sum(dear)) / (self._count + len(dear))
            plain = len(self._fresh) + len(self._out)
            likely = plain * mean + sum(dear)
            if self._time_limit is None:
                worst = None if self._alone or self._out else likely
            else:
                worst = plain * mean + self._time_limit * (len(dear) + min(len(self._out), self._workers))
            workers = self._workers
            return likely / workers, None if worst is None else max(worst, likely) / workers

    def _likely(self, size: float) -> float:
        """Seconds of a sample that was given back: as those of its size or the next smaller one took."""
        near = [known for known in self._seconds if known <= size]
        if near:
            seconds = self._seconds[max(near)]
            mean = sum(seconds) / len(seconds) * 2.0 ** (int(size) - max(near))
        else:
            mean = self._total / self._count
        return mean if self._time_limit is None else min(mean, self._time_limit)
