"""Hand out the samples of a sweep through joblib, and keep the answers.

`drive` does the work, and `Progress` reports it.

The active joblib backend runs the workers (default: processes on this machine). If a worker dies, only its
own samples are lost, and they are retried. A sample that repeatedly kills its worker is finally tried alone,
and then reported as failed.

Cheap samples go to a worker together, in chunks of about half a second. Expensive ones go alone. Costs are
measured on the way: chunks start small and grow with the measured mean.

If some samples take long, workers are told from which size on a question is expensive. Its size is the number
of changes that it allows. Workers answer the cheap samples of a chunk and return the others. Those are handed
out alone, the most expensive first, when no cheap ones are left.
"""

from __future__ import annotations

import random
import signal
import threading
import warnings
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from itertools import islice
from threading import RLock
from time import monotonic
from typing import Any

from sugenet.errors import SugenetError, SweepError
from sugenet.orphans import start_worker
from sugenet.reason.phrases import percent_text
from sugenet.reprs import time_text
from sugenet.sweeps.interrupts import interrupts_wait, within
from sugenet.sweeps.samples import DataSet, Row
from sugenet.sweeps.store import Entry, Store
from sugenet.sweeps.work import Chunk, Done, Task, do

__all__ = ["Progress", "Queue", "drive", "workers"]

_TARGET = 0.5
"""Target duration of a chunk, in seconds."""
_LEAST = 0.1
"""Minimum duration of a chunk in seconds, when few samples are left."""
_LARGEST = 4096
_DEAR = 0.25
"""Seconds from which a sample is expensive."""


class Queue:
    """Waiting samples, and their expected costs; thread-safe."""

    def __init__(self, samples: Iterable[int], workers: int, time_limit: float | None) -> None:
        self._fresh = list(samples)
        # In mixed order, so that finished samples resemble the remaining ones, and time estimates are
        # realistic.
        random.Random(0).shuffle(self._fresh)
        self._alone: list[tuple[float, int]] = []
        self._out: set[int] = set()
        self._workers, self._time_limit = max(1, workers), time_limit
        self._seconds: dict[int, list[float]] = defaultdict(list)
        self._total, self._count = 0.0, 0
        self._lock = RLock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._fresh) + len(self._alone)

    @property
    def waiting(self) -> set[int]:
        """Samples that are with a worker."""
        with self._lock:
            return set(self._out)

    def take(self) -> tuple[list[int], float | None]:
        """Return the next samples to hand out, none if nothing waits, and the size from which one is
        expensive.
        """
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
        limit = max(len(self._fresh) // (2 * self._workers), int(_LEAST / mean))  # the last chunks are small
        return max(1, min(limit, _LARGEST, int(_TARGET / mean)))

    def _dear(self) -> float | None:
        """Return the smallest size at which samples took long on average."""
        long = [size for size, seconds in self._seconds.items() if sum(seconds) >= _DEAR * len(seconds)]
        return float(min(long)) if long else None

    def answered(self, sample: int, seconds: float, size: float | None, *, learn: bool = True) -> None:
        """Record the cost of an answer; `learn=False` if it is not typical."""
        with self._lock:
            self._out.discard(sample)
            if not learn:
                return
            self._total, self._count = self._total + seconds, self._count + 1
            if size is not None:
                self._seconds[int(size)].append(seconds)

    def gone(self, sample: int) -> None:
        """Record that a sample has no answer and is not retried."""
        with self._lock:
            self._out.discard(sample)

    def give_back(self, sample: int, size: float | None) -> None:
        """Take back a sample that was not started; an expensive one is handed out alone."""
        with self._lock:
            dear = self._dear()
            if size is None or dear is None or size < dear:
                self.again([sample])
            else:
                self.set_apart(sample, size)

    def set_apart(self, sample: int, size: float = 0.0) -> None:
        """Take back a sample whose worker died; it is handed out alone."""
        with self._lock:
            self._out.discard(sample)
            insort(self._alone, (size, sample))

    def again(self, samples: Sequence[int]) -> None:
        """Take samples back unchanged."""
        with self._lock:
            self._out.difference_update(samples)
            self._fresh += samples

    # -- remaining time --------------------------------------------------------------------------------------

    def remaining(self) -> tuple[float, float | None]:
        """Return the estimated remaining seconds, and those if every expensive sample uses all its time.

        None: unknown.
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
        """Return the estimated seconds of a returned sample, from those of its size or the next smaller
        one.
        """
        near = [known for known in self._seconds if known <= size]
        if near:
            seconds = self._seconds[max(near)]
            mean = sum(seconds) / len(seconds) * 2.0 ** (int(size) - max(near))
        else:
            mean = self._total / self._count
        return mean if self._time_limit is None else min(mean, self._time_limit)


_STRIKES = 3
"""Number of workers that a sample may kill before it is tried alone."""
_BREAKS = 5
"""Number of consecutive breakdowns of all workers without an answer in between."""
_HOPELESS = 10
"""Number of samples that may fail before the first answer."""


def drive(
    job: Task,
    network: bytes,
    samples: DataSet,
    pending: list[int],
    store: Store,
    progress: Progress,
    *,
    backend: str | None,
    options: dict[str, Any],
    jobs: int | None,
    total_time: float | None,
    keep: Callable[[Entry], Entry],
) -> bool:
    """Answer all pending samples and keep the answers. Return False if time ran out."""
    with workers(backend, options, jobs) as (count, parallel):
        run = _Handout(job, network, samples, store, progress, keep, Queue(pending, count, job.time_limit))
        run.end = None if total_time is None else monotonic() + total_time
        in_time = within(total_time, lambda: run.all(parallel, 2 * count))
        if in_time:
            run.complain()
    return in_time


class _Handout:
    """Samples that are with workers, breakdowns, and answers."""

    def __init__(
        self,
        job: Task,
        network: bytes,
        samples: DataSet,
        store: Store,
        progress: Progress,
        keep: Callable[[Entry], Entry],
        queue: Queue,
    ) -> None:
        self.job, self.network, self.samples, self.store = job, network, samples, store
        self.progress, self.keep, self.queue = progress, keep, queue
        progress.queue = queue
        self.sent = 0
        self.answered = 0
        self.strikes: Counter[int] = Counter()
        self.failed: dict[int, str] = {}
        self.end: float | None = None
        """The time after which no more samples are handed out."""

    def is_late(self) -> bool:
        """Return whether the time is up."""
        return self.end is not None and monotonic() >= self.end

    def all(self, parallel: Callable[[Iterator[Any]], Any], ahead: int) -> None:
        """Continue until nothing waits."""
        broken, suspects = 0, set[int]()
        while (len(self.queue) or suspects) and not self.is_late():
            alone = None
            if not len(self.queue):  # retry samples that killed their workers, each alone
                alone = suspects.pop()
                self.queue.set_apart(alone)
            before = self.answered
            try:
                with _closing(parallel(self.tasks(ahead, once=alone is not None))) as results:
                    for done in results:
                        self.take(done)
            except SugenetError:
                raise
            except Exception as error:  # each backend has its own error for a lost worker
                broken = 0 if self.answered > before else broken + 1
                if broken >= _BREAKS:
                    raise SweepError(
                        f"the workers ended {broken} times without an answer: "
                        f"{type(error).__name__}: {str(error)[:200]}. All answers before are kept, and the "
                        f"same command resumes."
                    ) from error
                for sample in self.queue.waiting:
                    self.strikes[sample] += 1
                    if sample == alone:
                        self.queue.gone(sample)
                        self.failed[sample] = (
                            f"its worker ended {self.strikes[sample]} times: there may be too little memory"
                        )
                    elif self.strikes[sample] >= _STRIKES:
                        self.queue.gone(sample)
                        suspects.add(sample)
                    else:
                        self.queue.set_apart(sample)

    def tasks(self, ahead: int, *, once: bool) -> Iterator[Any]:
        """Yield chunks while there are any.

        The first chunks carry the network. So do the last ones: a retry at the end would have to wait for
        slow samples.
        """
        from joblib import delayed

        while not self.is_late():
            taken, dear = self.queue.take()
            if not taken:
                return
            self.sent += 1
            carried = self.network if self.sent <= ahead or len(self.queue) < ahead else None
            yield delayed(do)(self.job, Chunk(tuple(map(self._sample, taken)), dear), carried)
            if once:
                return

    def _sample(self, sample: int) -> tuple[int, list[Any], int, int | None]:
        truths = self.samples.truths
        truth = None if truths is None else truths[sample]
        return sample, self.samples.values(sample), int(self.samples.labels[sample]), truth

    def take(self, done: Done) -> None:
        """Store the results of a worker."""
        if done.unknown:
            self.sent = 0  # the next chunks carry the network again
            self.queue.again(done.unknown)
            return
        if done.entries:
            self.store.put(map(self.keep, done.entries))
        for row in (entry.row for entry in done.entries):
            self.queue.answered(row.sample, row.seconds, done.sizes.get(row.sample), learn=not done.cold)
            self.progress.answered(row)
        self.answered += len(done.entries)
        for sample, size in done.back:
            self.queue.give_back(sample, size)
        for sample, reason in done.failed:
            self.queue.gone(sample)
            self.failed[sample] = reason
        if len(self.failed) >= _HOPELESS and not self.answered:
            self.complain()

    def complain(self) -> None:
        """Name the samples without an answer, if there are any."""
        if self.failed:
            listed = [
                f"sample {sample}: {reason.rstrip('.')}" for sample, reason in sorted(self.failed.items())
            ]
            more = f"; and {len(listed) - 3} more" if len(listed) > 3 else ""
            subject = "1 sample has" if len(listed) == 1 else f"{len(listed)} samples have"
            raise SweepError(
                f"{subject} no answer. {'; '.join(listed[:3])}{more}. All other answers are kept."
            )


@contextmanager
def _closing(results: Generator[Any, None, None]) -> Iterator[Iterator[Any]]:
    """Cancel all pending tasks now; joblib may not report that there are any."""
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.close()


@contextmanager
def workers(
    backend: str | None, options: dict[str, Any], jobs: int | None
) -> Iterator[tuple[int, Callable[[Iterator[Any]], Generator[Any, None, None]]]]:
    """Return the number of workers, and a function that runs tasks and yields results as they arrive."""
    import joblib

    ask = {} if jobs is None else {"n_jobs": jobs}
    if backend is None and jobs is None:
        active, _ = joblib.parallel.get_active_backend()
        plain = type(active).__name__ == "LokyBackend" and joblib.effective_n_jobs(None) == 1
        ask = {"n_jobs": -1} if plain else {}
    elif backend is not None and jobs is None:
        ask = {"n_jobs": -1}
    config = options if backend is None else {"backend": backend, **options}
    with ExitStack() as stack:
        try:
            stack.enter_context(joblib.parallel_config(**config, **ask))
            active, _ = joblib.parallel.get_active_backend()
            count = joblib.effective_n_jobs(None)
        except Exception as error:  # each backend has its own error if it is missing
            reason = next(iter(str(error).splitlines()), "").rstrip(".:") or type(error).__name__
            if reason.startswith("Invalid backend"):
                reason = "joblib does not know it"
            raise SweepError(
                f"the backend {backend or 'of joblib'} cannot be used: {reason}. Check its name and its "
                f"options, and that its cluster runs."
            ) from error
        streams = getattr(active, "supports_return_generator", False)
        begin = _first_of_all(active) if type(active).__name__ == "LokyBackend" else {}

        def run(tasks: Iterator[Any]) -> Generator[Any, None, None]:
            if streams:
                with interrupts_wait():
                    results = joblib.Parallel(return_as="generator_unordered", batch_size=1, **begin)(tasks)
                yield from results
                return
            # Such a backend returns its results only at the end of a call, so calls are kept short.
            with joblib.Parallel(batch_size=1) as parallel:
                while some := list(islice(tasks, 2 * count)):
                    yield from parallel(some)

        yield count, run


def _first_of_all(backend: Any) -> dict[str, Any]:
    """Return the initializer for joblib's own processes: they end when this process ends.

    An initializer from the configuration of the backend is called, too.
    """
    by_kernel = threading.current_thread() is threading.main_thread()
    options = backend.backend_kwargs
    also = (options["initializer"], *options.get("initargs", ())) if options.get("initializer") else ()
    return {"initializer": start_worker, "initargs": (by_kernel, *also)}


class Progress:
    """Progress reports, once per second, from a thread."""

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
        """Record that the answer of a sample with this outcome is replaced."""
        with self._lock:
            self.outcomes[outcome] -= 1

    @contextmanager
    def told(self) -> Iterator[None]:
        """Report progress while the body runs."""
        if self.notify is None:
            yield
            return
        end = threading.Event()

        def tell() -> None:
            assert self.notify is not None
            if hasattr(signal, "pthread_sigmask"):  # interrupts are for the main thread
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
            counts = [(word, count) for word, count in self.outcomes.most_common() if count]
            parts = [f"{percent_text(Fraction(count, done))} {word}" for word, count in counts]
            speed = self._new / max(monotonic() - self._start, 1e-9)
        if self._new:
            parts.append(f"{speed:.3g} a second")
        if self.queue is not None:
            parts.append(self._left(self.queue))
        return ", ".join([f"{done} of {self.total}", *parts])

    def _left(self, queue: Queue) -> str:
        likely, worst = queue.remaining()
        if worst is None:
            return f"at least {time_text(likely)} left" if likely else "how long is not known yet"
        if worst > 1.5 * likely + 1:
            return f"{time_text(likely)} to {time_text(worst)} left"
        return f"{time_text(likely)} left"
