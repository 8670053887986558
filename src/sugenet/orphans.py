"""Workers that end when the process that started them ends.

This file imports nothing heavy: a worker calls it first, while it starts.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from time import sleep
from typing import Any

__all__ = ["end_with_parent", "start_worker"]

_PAUSE = 0.5
"""Seconds between two checks of the parent."""
_PR_SET_PDEATHSIG = 1


def start_worker(by_kernel: bool, also: Callable[..., None] | None = None, *values: Any) -> None:
    """Initialize a worker process: it ends with its parent.

    Parameters
    ----------
    by_kernel
        Whether Linux kills it, which also works in the middle of a computation. The kernel looks at the
        thread that started the worker: pass False if that thread can end before its process.
    also, values
        Another initializer to call, with its arguments.
    """
    if by_kernel and sys.platform == "linux":
        with suppress(ImportError, OSError, AttributeError):
            import ctypes

            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    end_with_parent()
    if also is not None:
        also(*values)


@cache
def end_with_parent() -> None:
    """End this process soon after the one that started it through `multiprocessing` or joblib.

    The parent sent its process id before this process began, so its end is noticed even if it came first.
    """
    parent = multiprocessing.parent_process()
    if parent is None or os.name == "nt":
        return

    def is_orphan() -> bool:
        return os.getppid() != parent.pid

    def watch() -> None:
        while not is_orphan():
            sleep(_PAUSE)
        os._exit(1)

    if is_orphan():
        os._exit(1)
    threading.Thread(target=watch, daemon=True, name="sugenet-watch").start()
