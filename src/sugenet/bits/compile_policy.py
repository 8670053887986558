"""When compiling pays: the first small work is done by a twin that needs no compiler.

A kernel takes a second or several to compile, once for a machine, and is then read from a cache on disk.
Until it is there, its *twin* in NumPy does what is asked, step for step the same; once the steps that were
asked for would have paid for compiling, the kernel is compiled. Steps are known before they are done, and no
clock is asked. ``SUGENET_ENGINE=numba`` compiles at once.
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
"""The variable of the environment that names an engine."""
_DISABLED = "NUMBA_DISABLE_JIT"
"""The variable by which numba is told to compile nothing."""


def is_disabled() -> bool:
    """Whether numba was told to compile nothing."""
    return os.environ.get(_DISABLED, "") not in ("", "0")


def see_compiler() -> None:
    """Refuse what needs kernels if numba was told to compile nothing, or has no space to do so."""
    see_space()
    if is_disabled():
        raise SugenetError(
            f"{_DISABLED}={os.environ[_DISABLED]} tells numba to compile nothing, but questions need its "
            f"kernels; predictions do not. Unset {_DISABLED}."
        )


class Account:
    """Steps that twins were asked for, until compiling pays."""

    def __init__(self, price: int) -> None:
        self.price, self._done, self._lock = price, 0, Lock()

    def pays(self, steps: int) -> bool:
        """Whether compiling pays, with so many steps more."""
        with self._lock:
            self._done += int(steps)
            return self._done > self.price


class CompilePolicy:
    """A kernel and its twin.

    Parameters
    ----------
    kernel
        Of numba, with a cache on disk.
    twin
        Gives the same for the same arguments, and does the same to them.
    account
        Of steps; kernels that are needed together share one.
    """

    def __init__(self, kernel: Any, twin: Callable[..., Any], account: Account) -> None:
        self.kernel, self.twin, self._account = kernel, twin, account
        self._ready: set[Any] = set()
        """Sorts of arguments that the kernel is compiled for."""

    def __call__(self, steps: int, *args: Any) -> Any:
        """Do it, which takes the twin about so many steps."""
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
    """What numba's type of a value depends on, found in a tenth of the time that numba takes for the type."""
    if type(value) is np.ndarray:
        return value.dtype, value.ndim, value.flags.num
    if type(value) is tuple:
        return tuple(map(_sort, value))
    if type(value) is int:  # integers of 64 bits are unsigned
        return int, value.bit_length() > 63
    return type(value)


def is_ready(kernel: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a kernel is compiled for arguments of these kinds, in memory or in the cache on disk."""
    if kinds in kernel.overloads:
        return True
    try:
        return kernel._cache.load_overload(kinds, kernel.targetctx) is not None
    except Exception:  # numba and the file system raise many types here: what cannot be read is not there
        return False


def plain(kernel: Any, **twins: Any) -> Callable[..., Any]:
    """The Python source of a kernel, run as it stands: what it calls is replaced by the twins of that name,
    or is plain too.
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
