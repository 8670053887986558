"""Handing out the samples of a sweep through joblib, and keeping what comes back: `drive`.

Whatever backend of joblib is active does the work: processes of this machine unless said otherwise. A worker
that ends takes only its own samples with it, and they go out again; one that ends its worker time and again
is asked alone at last, and then given up by name.
"""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from time import monotonic
from typing import Any

from sugenet.errors import SugenetError, SweepError
from sugenet.orphans import start_worker
from sugenet.sweeps.cutting import Queue
from sugenet.sweeps.interrupts import interrupts_wait, within
from sugenet.sweeps.progress import Progress
from sugenet.sweeps.samples import DataSet
from sugenet.sweeps.store import Entry, Store
from sugenet.sweeps.work import Chunk, Done, Task, do

__all__ = ["drive", "workers"]

_STRIKES = 3
"""Workers that may end with a sample before it is asked alone."""
_BREAKS = 5
"""Times that all may break down one after another without an answer between."""
_HOPELESS = 10
"""Samples that may fail before the first answer."""


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
    """Answer all pending samples and keep the answers; False where the time ended it."""
    with workers(backend, options, jobs) as (count, parallel):
        run = _Handout(job, network, samples, store, progress, keep, Queue(pending, count, job.time_limit))
        run.end = None if total_time is None else monotonic() + total_time
        in_time = within(total_time, lambda: run.all(parallel, 2 * count))
        if in_time:
            run.complain()
    return in_time


class _Handout:
    """What is out, what broke, and what came back."""

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
        """When no more is given out."""

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.end is not None and monotonic() >= self.end

    def all(self, parallel: Callable[[Iterator[Any]], Any], ahead: int) -> None:
        """Go on until nothing waits."""
        broken, suspects = 0, set[int]()
        while (len(self.queue) or suspects) and not self.is_late():
            alone = None
            if not len(self.queue):  # whoever ended its workers before: now each for itself
                alone = suspects.pop()
                self.queue.set_apart(alone)
            before = self.answered
            try:
                with _closing(parallel(self.tasks(ahead, once=alone is not None))) as found:
                    for done in found:
                        self.take(done)
            except SugenetError:
                raise
            except Exception as error:  # every backend has its own words for a worker that is gone
                broken = 0 if self.answered > before else broken + 1
                if broken >= _BREAKS:
                    raise SweepError(
                        f"the workers ended {broken} times without an answer: "
                        f"{type(error).__name__}: {str(error)[:200]}. All answers before are kept, and the "
                        f"same command goes on."
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
        """Chunks as long as there are any; the first ones carry the network, and so do the last, since what
        has to go out again then would wait for those that take long.
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
        """Keep what a worker brings."""
        if done.unknown:
            self.sent = 0  # the next chunks carry the network again
            self.queue.again(done.unknown)
            return
        if done.entries:
            self.store.put(map(self.keep, done.entries))
        for entry in done.entries:
            row = entry.row
            self.queue.answered(row.sample, row.seconds, done.sizes.get(row.sample), learn=not done.cold)
            self.progress.answered(row)
        self.answered += len(done.entries)
        for sample, size in done.back:
            self.queue.give_back(sample, size)
        for sample, words in done.failed:
            self.queue.gone(sample)
            self.failed[sample] = words
        if len(self.failed) >= _HOPELESS and not self.answered:
            self.complain()

    def complain(self) -> None:
        """Name the samples without an answer, if there are any."""
        if self.failed:
            listed = [
                f"sample {sample}: {words.rstrip('.')}" for sample, words in sorted(self.failed.items())
            ]
            more = f"; and {len(listed) - 3} more" if len(listed) > 3 else ""
            many = "1 sample has" if len(listed) == 1 else f"{len(listed)} samples have"
            raise SweepError(f"{many} no answer. {'; '.join(listed[:3])}{more}. All other answers are kept.")


@contextmanager
def _closing(found: Generator[Any, None, None]) -> Iterator[Iterator[Any]]:
    """Call those back that are still out, now; joblib need not say that there are some."""
    try:
        yield found
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.close()


@contextmanager
def workers(
    backend: str | None, options: dict[str, Any], jobs: int | None
) -> Iterator[tuple[int, Callable[[Iterator[Any]], Generator[Any, None, None]]]]:
    """How many there are, and a function that runs tasks on them and gives results as they come."""
    import joblib

    ask = {} if jobs is None else {"n_jobs": jobs}
    if backend is None and jobs is None:
        active, _ = joblib.parallel.get_active_backend()
        plain = type(active).__name__ == "LokyBackend" and joblib.effective_n_jobs(None) == 1
        ask = {"n_jobs": -1} if plain else {}
    elif backend is not None and jobs is None:
        ask = {"n_jobs": -1}
    given = options if backend is None else {"backend": backend, **options}
    with ExitStack() as stack:
        try:
            stack.enter_context(joblib.parallel_config(**given, **ask))
            active, _ = joblib.parallel.get_active_backend()
            count = joblib.effective_n_jobs(None)
        except Exception as error:  # every backend has its own words where it is not there
            said = next(iter(str(error).splitlines()), "").rstrip(".:") or type(error).__name__
            if said.startswith("Invalid backend"):
                said = "joblib does not know it"
            raise SweepError(
                f"the backend {backend or 'of joblib'} cannot be used: {said}. Check its name and its "
                f"options, and that its cluster runs."
            ) from error
        streams = getattr(active, "supports_return_generator", False)
        begin = _first_of_all(active) if type(active).__name__ == "LokyBackend" else {}

        def run(tasks: Iterator[Any]) -> Generator[Any, None, None]:
            if streams:
                with interrupts_wait():
                    found = joblib.Parallel(return_as="generator_unordered", batch_size=1, **begin)(tasks)
                yield from found
                return
            # such a backend gives its results at the end of a call only: so each call is a short one
            with joblib.Parallel(batch_size=1) as parallel:
                while some := list(islice(tasks, 2 * count)):
                    yield from parallel(some)

        yield count, run


def _first_of_all(backend: Any) -> dict[str, Any]:
    """What a process of joblib's own does before it takes any work: it sees to it that it ends with this one.

    Whoever configured the backend with an initializer gets that, too.
    """
    by_kernel = threading.current_thread() is threading.main_thread()
    given = backend.backend_kwargs
    also = (given["initializer"], *given.get("initargs", ())) if given.get("initializer") else ()
    return {"initializer": start_worker, "initargs": (by_kernel, *also)}
