"""Split a batch into blocks and share them between threads, including the calling thread.

The work itself releases the interpreter lock, so plain threads use all cores. Blocks are taken from one
queue, so a core that is busy with something else takes fewer of them. Helpers that have not begun when the
queue is empty are cancelled. So calls from inside another pool, or many calls at once, cannot deadlock.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import TypeAlias, TypeVar

from sugenet.errors import SugenetError

__all__ = ["Search", "cores", "help_out", "search_in_order", "share"]

_T = TypeVar("_T")
Search: TypeAlias = Callable[[int, Callable[[], bool]], _T | None]
"""Function from the index of a unit, and whether to stop, to its result; None if it was stopped."""

_BLOCKS_PER_THREAD = 8  # enough that a late core costs little, few enough that taking one costs nothing
_STEP = 64  # blocks begin at multiples of this many samples, the block that the kernels keep in cache

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = Lock()


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share(task: Callable[[int, int], object], total: int, grain: int, threads: int | None) -> None:
    """Call ``task(start, stop)`` for blocks that make up ``range(total)``.

    Parameters
    ----------
    task : callable
        Processes the samples ``start <= s < stop``. Must be safe to call from several threads.
    total : int
        The number of samples.
    grain : int
        Blocks are at least this large, except for the last one: below it, passing work to a thread costs
        more than it saves.
    threads : int or None
        Number of threads; None: one per core.
    """
    _check(threads)
    # checked before the cores are counted, which takes as long as a small network does
    if total < 2 * grain or threads == 1:
        if total:
            task(0, total)
        return
    count = cores() if threads is None else threads
    blocks = min(total // grain, count * _BLOCKS_PER_THREAD)
    size = -(-total // blocks)
    size = -(-size // _STEP) * _STEP if size > _STEP else size
    starts = deque(range(0, total, size))
    helpers = min(count, len(starts)) - 1

    def work() -> None:
        while starts:
            try:
                start = starts.popleft()
            except IndexError:  # another thread took the last one between the two lines
                return
            task(start, min(start + size, total))

    futures = [_pool(helpers).submit(work) for _ in range(helpers)]
    try:
        work()
    finally:
        begun = [future for future in futures if not future.cancel()]
        errors = [error for future in begun if (error := future.exception()) is not None]
    if errors:
        raise errors[0]


def search_in_order(
    units: int,
    searcher: Callable[[], Search[_T]],
    see: Callable[[_T], bool],
    up: Callable[[], bool],
    threads: int | None,
) -> dict[int, _T]:
    """Search units of work in order until one ends the search; return the results of completed units, by
    index.

    All units before the first one that ends the search have results, for any number of threads.

    Parameters
    ----------
    units : int
        Number of units.
    searcher : callable
        Called once by each thread: returns the function that searches its units.
    see : callable
        Called with each result, one at a time: whether it ends the search.
    up : callable
        Whether to stop; never called by two threads at once.
    threads : int or None
        Number of threads; None: one per core.
    """
    results: dict[int, _T] = {}
    waiting, lock, ends, is_over = iter(range(units)), Lock(), list[int](), [False]

    def is_stopped(number: int) -> bool:
        with lock:
            is_over[0] = is_over[0] or up()
            return is_over[0] or any(end < number for end in ends)

    def work(_start: int, _stop: int) -> None:
        try:
            search = searcher()
            while True:
                with lock:
                    number = None if is_over[0] or ends else next(waiting, None)
                if number is None:
                    return
                result = search(number, partial(is_stopped, number))
                with lock:
                    if result is not None:
                        results[number] = result
                        if see(result):
                            ends.append(number)
        except BaseException:  # Ctrl-C too: the other threads stop
            is_over[0] = True
            raise

    share(work, min(units, threads or cores()), 1, threads)
    return results


def help_out(lead: Callable[[], object], helper: Callable[[], object], threads: int | None) -> None:
    """Call `lead` here and, meanwhile, `helper` in every other allowed thread; return when `lead` does.

    Nothing waits for a helper: it may begin late, or not at all, and must then find nothing left to do.
    """
    _check(threads)
    count = cores() if threads is None else threads
    futures = [_pool(count - 1).submit(helper) for _ in range(count - 1)]
    try:
        lead()
    finally:
        for future in futures:
            future.cancel()


def _check(threads: int | None) -> None:
    if threads is not None and threads < 1:
        raise SugenetError(f"threads is {threads}, but must be 1 or more, or None for one thread per core.")


def _pool(helpers: int) -> ThreadPoolExecutor:
    with _lock:
        if helpers not in _pools:
            _pools[helpers] = ThreadPoolExecutor(helpers, thread_name_prefix="sugenet-bits")
        return _pools[helpers]


def _forget_pools() -> None:
    """Drop the pools after a fork: the child has no threads, so inherited pools would wait forever."""
    global _lock  # noqa: PLW0603
    _lock = Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)
