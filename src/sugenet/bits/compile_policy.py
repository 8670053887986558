"""Compile only if it pays: small work at the start is done by a twin that needs no compiler.

A kernel takes a second or more to compile, once per machine, and is then read from a cache on disk. Until
then its *twin* in NumPy does the same work step by step. Once the requested steps would have paid for
compilation, the kernel is compiled. Steps are known in advance, and no clock is read.
``SUGENET_ENGINE=numba`` compiles at once.
"""

import os
from collections.abc import Callable
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np

from sugenet.compiling import see_space
from sugenet.errors import SugenetError

__all__ = ["ENGINE", "Account", "CompilePolicy", "is_disabled", "is_ready", "plain", "see_compiler"]

ENGINE = "SUGENET_ENGINE"
"""Environment variable that names an engine."""
_DISABLED = "NUMBA_DISABLE_JIT"
"""Environment variable that disables compilation in numba."""


def is_disabled() -> bool:
    """Return whether compilation is disabled in numba."""
    return os.environ.get(_DISABLED, "") not in ("", "0")


def see_compiler() -> None:
    """Raise an error if compilation is disabled in numba, or if there is no space for it."""
    see_space()
    if is_disabled():
        raise SugenetError(
            f"{_DISABLED}={os.environ[_DISABLED]} tells numba to compile nothing, but questions need its "
            f"kernels; predictions do not. Unset {_DISABLED}."
        )


class Account:
    """Number of steps requested from twins, until compilation pays."""

    def __init__(self, price: int) -> None:
        self.price, self._done, self._lock = price, 0, Lock()

    def pays(self, steps: int) -> bool:
        """Return whether compilation pays after `steps` more steps."""
        with self._lock:
            self._done += int(steps)
            return self._done > self.price


class CompilePolicy:
    """A kernel and its twin.

    Parameters
    ----------
    kernel
        Numba kernel with a cache on disk.
    twin
        Function with the same result and side effects for the same arguments.
    account
        Account of steps; kernels that are needed together share one.
    """

    def __init__(self, kernel: Any, twin: Callable[..., Any], account: Account) -> None:
        self.kernel, self.twin, self._account = kernel, twin, account
        self._ready: set[Any] = set()
        """Kinds of arguments for which the kernel is compiled."""

    def __call__(self, steps: int, *args: Any) -> Any:
        """Run the kernel or the twin, which takes about `steps` steps."""
        return self._chosen(steps, args)(*args)

    def _chosen(self, steps: int, args: tuple[Any, ...]) -> Callable[..., Any]:
        if os.environ.get(ENGINE) == "numba":
            return self.kernel  # type: ignore[no-any-return]
        sort = _sort(args)
        if sort in self._ready or is_ready(self.kernel, tuple(map(self.kernel.typeof_pyval, args))):
            self._ready.add(sort)
            return self.kernel  # type: ignore[no-any-return]
        return self.kernel if self._account.pays(steps) else self.twin


def _sort(value: Any) -> Any:
    """Return a key that determines numba's type of a value, ten times faster than numba finds the type."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num
    if type(value) is tuple:
        return tuple(map(_sort, value))
    if type(value) is int:  # integers of 64 bits are unsigned
        return int, value.bit_length() > 63
    return type(value)


def is_ready(kernel: Any, kinds: tuple[Any, ...]) -> bool:
    """Return whether a kernel is compiled for arguments of these kinds, in memory or in the cache on disk."""
    if kinds in kernel.overloads:
        return True
    try:
        return kernel._cache.load_overload(kinds, kernel.targetctx) is not None
    except Exception:  # numba and the file system raise many types here; an unreadable cache is missing
        return False


def plain(kernel: Any, **twins: Any) -> Callable[..., Any]:
    """Return the Python source of a kernel as a function, uncompiled. Functions that it calls are replaced by
    the twins of that name, or are uncompiled too.
    """
    run = _plain(kernel.py_func, twins)

    def call(*args: Any) -> Any:
        with np.errstate(over="ignore"):  # words wrap around
            return run(*args)

    return call


def _plain(function: Any, twins: dict[str, Any]) -> FunctionType:
    scope = {**function.__globals__, "nb": np}
    for name in function.__code__.co_names:
        if name in twins:
            scope[name] = twins[name]
        elif hasattr(scope.get(name), "py_func"):
            scope[name] = _plain(scope[name].py_func, twins)
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
