"""Ctrl-C and time limits of a sweep: which process handles an interrupt, and when."""

import _thread
import multiprocessing.resource_tracker
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import inf
from time import monotonic
from types import FrameType
from typing import TypeAlias

from sugenet.compiling import announced

__all__ = ["Handler", "deaf", "interrupted_once", "interrupts_wait", "loud", "on_interrupt", "within"]

Handler: TypeAlias = Callable[[int, FrameType | None], object]
"""A signal handler."""

_ENDING = 2.0
"""Seconds within which repeated interrupts count as one."""


@contextmanager
def on_interrupt(stop: Callable[[Handler, int, FrameType | None], None]) -> Iterator[None]:
    """Make Ctrl-C call a function, with the previous handler as its first argument.

    Only in the main thread, and only if there is a handler.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, partial(stop, before))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Treat Ctrl-C that is held down as one interrupt.

    A second interrupt would break the cleanup after the first, or a solver during its work.
    """
    last: list[float] = []

    def stop(before: Handler, number: int, frame: FrameType | None) -> None:
        if not last or monotonic() - last[0] >= _ENDING:
            last[:] = [monotonic()]
            before(number, frame)

    with on_interrupt(stop):
        yield


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Hold back interrupts until the workers have started.

    The workers inherit this. So Ctrl-C reaches only the driver, and does not end workers during their
    imports, with a traceback each.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    with suppress(ImportError, AttributeError):  # if it is started later, it unblocks interrupts
        from joblib.externals.loky.backend import resource_tracker

        resource_tracker.ensure_running()
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def within(seconds: float | None, run: Callable[[], None]) -> bool:
    """Run a function, and interrupt the main thread after some seconds; return False if that happened."""
    if seconds is None or seconds == inf or threading.current_thread() is not threading.main_thread():
        run()  # in another thread, it ends when the pending tasks are done
        return True
    rung = threading.Event()

    def ring() -> None:
        rung.set()
        announced.set()
        if hasattr(signal, "pthread_kill"):  # a real signal also ends a wait
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def stop(_number: int, _frame: FrameType | None) -> None:
        if rung.is_set() or before is signal.SIG_DFL:
            raise KeyboardInterrupt

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    before = signal.getsignal(signal.SIGINT)
    deaf = before in (signal.SIG_IGN, signal.SIG_DFL)
    if deaf:  # as in a script's background job, where only the time limit may interrupt
        signal.signal(signal.SIGINT, stop)
    try:
        timer.start()
        try:
            run()
        finally:
            timer.cancel()
            timer.join()  # it fires here, or never
    except KeyboardInterrupt:
        timer.cancel()
        if not rung.is_set():
            raise
        return False
    finally:
        if deaf:
            signal.signal(signal.SIGINT, before)
    return True


# -- in a worker ---------------------------------------------------------------------------------------------


@contextmanager
def deaf() -> Iterator[list[int]]:
    """Ignore Ctrl-C in a worker process: the driver handles it and ends the workers."""
    if threading.current_thread() is not threading.main_thread():
        yield []
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield []
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def loud() -> Iterator[list[int]]:
    """Record signals in the driver itself.

    If Ctrl-C interrupts a question, it returns a partial result, which is not an answer here. The recorded
    signals tell.
    """
    stopped: list[int] = []

    def stop(before: Handler, number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        before(number, frame)

    with on_interrupt(stop):
        yield stopped
