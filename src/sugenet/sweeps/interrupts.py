"""Ctrl-C and time limits of a sweep: who hears an interrupt, and when."""

from __future__ import annotations

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

__all__ = ["Handler", "deaf", "interrupted_once", "interrupts_wait", "loud", "on_interrupt", "within"]

Handler: TypeAlias = Callable[[int, FrameType | None], object]
"""What a signal calls."""

_ENDING = 2.0
"""Seconds in which an interrupt is one with the one before."""


@contextmanager
def on_interrupt(stop: Callable[[Handler, int, FrameType | None], None]) -> Iterator[None]:
    """Let Ctrl-C call a function, with the handler before as its first argument; in the main thread, and if
    there is a handler.
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
    """Take Ctrl-C that is held down as one: a second interrupt would end the cleaning up after the first, and
    a solver in the middle of its work.
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
    """Hold an interrupt back until workers are started; they inherit that, so that Ctrl-C is for the driver
    alone, and does not end them in the middle of their imports, with a traceback each.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    with suppress(ImportError, AttributeError):  # whoever starts it later, lets interrupts through again
        from joblib.externals.loky.backend import resource_tracker

        resource_tracker.ensure_running()
    multiprocessing.resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def within(seconds: float | None, run: Callable[[], None]) -> bool:
    """Run something for at most this time, which an interrupt of the main thread ends; False where it did."""
    if seconds is None or seconds == inf or threading.current_thread() is not threading.main_thread():
        run()  # of another thread, it ends when those are back that are out
        return True
    rung = threading.Event()

    def ring() -> None:
        rung.set()
        if hasattr(signal, "pthread_kill"):  # a real signal ends also what only waits
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
    if deaf:  # as in the background of a script, where only the time may interrupt
        signal.signal(signal.SIGINT, stop)
    try:
        timer.start()
        try:
            run()
        finally:
            timer.cancel()
            timer.join()  # it rings here, or never
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
    """In a process of its own: Ctrl-C is for the driver, who ends the workers."""
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
    """In the driver itself: a question that Ctrl-C cuts short gives what it knows, which is no answer here,
    so the signals that came are told.
    """
    stopped: list[int] = []

    def stop(before: Handler, number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        before(number, frame)

    with on_interrupt(stop):
        yield stopped
