"""Compilation by Numba: notify users who wait for it, and do not count it against their time limits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, current_thread, main_thread
from time import monotonic
from typing import Any

__all__ = ["compiling_seconds", "interrupt_after_compiling", "listen", "notify_compiling"]


class _Watch:
    """Time that Numba has compiled in this process since `listen` was called."""

    def __init__(self) -> None:
        self.lock, self.is_listening = Lock(), False
        self.depth, self.since, self.before = 0, 0.0, 0.0
        self.main_depth, self.is_interrupted = 0, False

    def begin(self, _function: Any) -> None:
        self.main_depth += current_thread() is main_thread()
        with self.lock:
            if self.depth == 0:
                self.since = monotonic()
            self.depth += 1

    def end(self) -> None:
        with self.lock:
            if self.depth == 0:  # it began before anybody listened, or its beginning was missed
                return
            self.depth -= 1
            if self.depth == 0:
                self.before += monotonic() - self.since
        self.main_depth -= current_thread() is main_thread()
        if self.is_interrupted and self.main_depth == 0 and current_thread() is main_thread():
            self.is_interrupted = False
            raise KeyboardInterrupt

    def seconds(self) -> float:
        with self.lock:
            return self.before + (monotonic() - self.since if self.depth else 0.0)


_watch = _Watch()


def listen() -> None:
    """Start measuring how long Numba compiles; without Numba, nothing is compiled."""
    with _watch.lock:
        if _watch.is_listening:
            return
        _watch.is_listening = True
    try:
        from numba.core import event
    except ImportError:
        return
    event.register("numba:compile", _listener(_watch.begin, _watch.end))  # type: ignore[no-untyped-call]


def compiling_seconds() -> float:
    """Return the seconds that Numba has compiled since the first call of `listen`, including current work."""
    return _watch.seconds()


def interrupt_after_compiling() -> bool:
    """Make the main thread raise `KeyboardInterrupt` after it has compiled; return whether it compiles now.

    An interrupted compiler leaves kernels that can neither be run nor compiled again.
    """
    _watch.is_interrupted = _watch.main_depth > 0
    return _watch.is_interrupted


@contextmanager
def notify_compiling(notify: Callable[[str], None] | None, each: str = "") -> Iterator[None]:
    """Call `notify` once, before the first compilation by Numba inside this context.

    If the beginning of a module's name is given, call it with the name of each compiled function of such a
    module.
    """
    if notify is None:
        yield
        return
    from numba.core import event

    waiting = [notify]

    def tell(function: Any) -> None:
        if each and function.__module__.startswith(each):
            notify(function.__qualname__)
        elif not each and waiting:
            waiting.pop()("compiling, once for this machine ...")

    with event.install_listener("numba:compile", _listener(tell, lambda: None)):
        yield


def _listener(start: Callable[[Any], None], end: Callable[[], None]) -> Any:
    from numba.core import event

    class Both(event.Listener):
        """Listener that calls one function at the beginning and one at the end of every event."""

        def on_start(self, event: Any) -> None:
            start(event.data["dispatcher"].py_func)

        def on_end(self, event: Any) -> None:  # noqa: ARG002
            end()

    return Both()
