"""Telling people who wait that something is being compiled."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["telling"]


@contextmanager
def telling(notify: Callable[[str], None] | None) -> Iterator[None]:
    """Call `notify` once, before the first thing that numba has to compile meanwhile."""
    if notify is None:
        yield
        return
    from numba.core import event

    class Once(event.Listener):
        """Tells at the first event alone."""

        def __init__(self, tell: Callable[[str], None]) -> None:
            self.tell: Callable[[str], None] | None = tell

        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if self.tell is not None:
                self.tell("compiling, once for this machine (some seconds)")
                self.tell = None

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Once(notify)):
        yield
