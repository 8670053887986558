"""Ctrl-C: the command returns partial results within two seconds; pressed again, it stops at once.

A thread receives the signal even while compiled code runs, unlike Python's own handlers.
"""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType

from sugenet.cli.output import Screen
from sugenet.compiling import announced, interrupt_after_compiling

__all__ = ["FINISHING", "INTERRUPTED", "finish_on_interrupt"]

INTERRUPTED = 130
FINISHING = "finishing; Ctrl-C again to stop now"
_SECONDS = 1.8
_ONE_PRESS = 0.25
"""Seconds within which signals count as one press: some programs pass on a signal that the terminal also
sends.
"""


@contextmanager
def finish_on_interrupt(screen: Screen, *, limited: bool = True) -> Iterator[None]:
    """Raise `KeyboardInterrupt` at the first Ctrl-C, and end the process at the second.

    If the time is `limited`, it also ends after two seconds.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return
    announced.clear()
    heard, rings = socket.socketpair()
    rings.setblocking(False)

    def interrupt(_number: int, frame: FrameType | None) -> None:
        if frame is None:  # called by a solver that has its own handlers
            with suppress(OSError):
                rings.send(bytes([signal.SIGINT]))
        if not interrupt_after_compiling():
            raise KeyboardInterrupt

    listener = threading.Thread(
        target=_listen, args=(heard, screen, _SECONDS if limited else None), daemon=True
    )
    listener.start()
    wakeup = signal.set_wakeup_fd(rings.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup)
        rings.close()
        listener.join()
        heard.close()


def _listen(heard: socket.socket, screen: Screen, seconds: float | None) -> None:
    """Wait for signals until the other end is closed; end the process at the second one, or after the time
    limit.

    Files are written whole or not at all.
    """
    pressed = 0.0
    with suppress(TimeoutError):
        while signals := heard.recv(64):
            if announced.is_set():  # a time limit
                announced.clear()
            elif signal.SIGINT in signals and not pressed:
                pressed = monotonic()
                screen.tell(FINISHING)
                heard.settimeout(seconds)
            elif signal.SIGINT in signals and monotonic() - pressed > _ONE_PRESS:
                break
        if not signals:
            return
    screen.complain("interrupted")
    os._exit(INTERRUPTED)
