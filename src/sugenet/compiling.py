"""Kernels that Numba compiles, cached in folders to which nobody else can write.

Numba caches pickles, and loading a pickle runs code. So a kernel is cached only in a folder to which others
cannot write. The first choice is Numba's own (`NUMBA_CACHE_DIR`, then ``__pycache__`` next to the source,
then the user's cache folder). The second is a private folder of sugenet. If there is none, the kernel is
compiled in memory if that is worthwhile, with one warning.

Users who wait for the compiler are told, and the time does not count against their limits. Kernels are
compiled when they are first needed. Interactive commands call `compile_in_background`, so that a
user waits for the compiler once, not in each of the first commands.
"""

import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from threading import Event, Lock, current_thread, main_thread
from time import monotonic
from typing import Any

from sugenet.errors import SugenetError
from sugenet.visible import visible

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "announced",
    "compile_in_background",
    "compiling_seconds",
    "interrupt_after_compiling",
    "is_private",
    "listen",
    "njit",
    "notify_compiling",
    "private_folder",
    "see_space",
    "space_missing",
]

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_KEPT = (".nbi", ".nbc")
"""File name endings of Numba's cache files."""
_TOLD = "SUGENET_CACHE_TOLD"
_BACKGROUND = "SUGENET_BACKGROUND"
"""Environment variable that disables compiling in the background if it is 0."""
_LOWEST = 19
"""Lowest priority of a process."""
_SPACE, _CORE = 448 << 20, 32 << 20
"""Address space that Numba and LLVM require, and each thread of NumPy: with less they end the process."""
_choosing = Lock()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Apply `numba.njit` with a cache on disk to which nobody else can write, or without a cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        import numba

        listen()
        config: Any = numba.core.config
        if not options.get("cache"):
            return numba.njit(**options)(function)
        configured = config.CACHE_DIR
        with _choosing:
            try:
                for folder in dict.fromkeys([configured, "", private_folder]):
                    config.CACHE_DIR = chosen = folder() if callable(folder) else folder
                    if chosen is None or (chosen and not is_private(chosen, _ours())):
                        continue
                    kernel = _kept(numba.njit(**options), function)
                    if kernel is not None:
                        if configured and chosen != configured:
                            _say(
                                f"NUMBA_CACHE_DIR={visible(configured)[:60]} is not used for sugenet: you "
                                "cannot write it, or others can, and what is kept there is run as code. "
                                "Name a folder that only you can write."
                            )
                        return kernel
            finally:
                config.CACHE_DIR = configured
        _say(
            "compiled kernels are not kept: there is no folder that you can write and others cannot. NumPy "
            "does small work, and larger work is compiled in each run. Set NUMBA_CACHE_DIR to such a folder."
        )
        return numba.njit(**options | {"cache": False})(function)

    return decorate


def _kept(compile_it: Callable[[Callable[..., Any]], Any], function: Callable[..., Any]) -> Any:
    """Return the kernel if Numba found a folder for it to which nobody else can write."""
    try:
        kernel = compile_it(function)
    except RuntimeError:  # no folder is writable
        return None
    _see_stale(kernel)
    _save_alone(kernel)
    index = getattr(getattr(kernel, "stats", None), "cache_path", None)
    if index is None:  # Numba's compiler is disabled
        return kernel
    source = function.__code__.co_filename
    beside = os.path.dirname(index) == os.path.dirname(source)
    # the owner of the source can run code anyway
    return kernel if is_private(index, _ours() | ({os.stat(source).st_uid} if beside else set())) else None


def _see_stale(kernel: Any) -> None:
    """Compile again if the index of a cache cannot be read.

    Numba unpickles the index before it compares the age of the source, and types of an older version may no
    longer exist.
    """
    kept = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
    load = getattr(kept, "_load_index", None)
    if kept is None or load is None:
        return

    def load_or_forget() -> Any:
        try:
            return load()
        except Exception:  # whatever unpickling raises
            return {}

    kept._load_index = load_or_forget


def _save_alone(kernel: Any) -> None:
    """Let only one process at a time write the cache of a kernel.

    Numba picks free file names, and two processes could pick the same name for different code.
    """
    cached: Any = getattr(kernel, "_cache", None)
    folder = getattr(cached, "cache_path", None)
    if folder is None or fcntl is None:
        return
    save = cached.save_overload

    def save_locked(signature: Any, data: Any) -> None:
        with ExitStack() as lock:
            with suppress(OSError):  # then Numba cannot write either, and continues
                os.makedirs(folder, exist_ok=True)
                fcntl.flock(lock.enter_context(open(f"{folder}/sugenet.lock", "a")), fcntl.LOCK_EX)
            save(signature, data)

    cached.save_overload = save_locked


# -- in the background ---------------------------------------------------------------------------------------


def compile_in_background() -> bool:
    """Start ``sugenet warm-up`` at the lowest priority, once per version of sugenet on a machine.

    Return True if it was started.
    """
    folder = private_folder()
    if folder is None or os.name != "posix" or os.environ.get(_BACKGROUND) == "0":
        return False
    import subprocess

    from sugenet import __version__

    about = [__version__, sys.version, os.path.dirname(__file__), os.environ.get("NUMBA_CACHE_DIR", "")]
    marker = os.path.join(os.path.dirname(folder), f"warm-{sha256(repr(about).encode()).hexdigest()[:16]}")
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sugenet", "warm-up", "--quiet"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.setpriority(os.PRIO_PROCESS, process.pid, _LOWEST)
    except OSError:  # it was started before, or cannot be started
        return False
    process.returncode = 0  # it outlives this process, and Python must not warn of that
    return True


# -- folders that nobody else can write ----------------------------------------------------------------------


def private_folder() -> str | None:
    """Return sugenet's folder in the user's cache folder, created if missing; None if this is not
    possible.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or ""
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "sugenet", "numba")
    try:
        os.makedirs(base, exist_ok=True)
        for path in (os.path.dirname(folder), folder):
            os.makedirs(path, 0o700, exist_ok=True)
    except OSError:
        return None
    return folder


@cache
def _ours() -> frozenset[int]:
    """Return the trusted owners of files: this user, and the owner of the machine."""
    return frozenset({os.getuid(), 0, os.stat("/").st_uid}) if hasattr(os, "getuid") else frozenset()


@cache
def is_private(folder: str, owners: frozenset[int]) -> bool:
    """Return whether only trusted users can write to a folder or replace it, and all Numba files in it are
    theirs.
    """
    if not hasattr(os, "getuid"):  # the folders of a user are private on Windows
        return True
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        for end in {os.path.abspath(folder), os.path.realpath(folder)}:
            path, last = end, True
            while True:
                info = os.lstat(path)
                sticky = not last and info.st_mode & stat.S_ISVTX
                if info.st_uid not in owners or (not sticky and _is_open(info)):
                    return False
                path, last, before = os.path.dirname(path), False, path
                if path == before:
                    break
        closed = not stat.S_IMODE(os.stat(folder).st_mode) & 0o077
        with os.scandir(folder) as files:
            kept = [one.stat(follow_symlinks=False) for one in files if one.name.endswith(_KEPT)]
        return all(one.st_uid in owners and (closed or not _is_open(one)) for one in kept)
    except OSError:
        return False


def _is_open(info: os.stat_result) -> bool:
    """Return whether others can write: everybody, or a group with other members."""
    if stat.S_ISLNK(info.st_mode):
        return False
    if info.st_mode & _OTHERS == stat.S_IWGRP:
        return not _is_own_group(info.st_gid)
    return bool(info.st_mode & _OTHERS)


@cache
def _is_own_group(group: int) -> bool:
    """Return whether a group is a user's private group, as many systems create it, without other members."""
    import grp
    import pwd

    try:
        user, entry = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == user.pw_name and user.pw_gid == group and set(entry.gr_mem) <= {user.pw_name}


def _say(text: str) -> None:
    """Warn once, in this process and those that it starts."""
    if _TOLD not in os.environ:
        os.environ[_TOLD] = "1"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


# -- address space -------------------------------------------------------------------------------------------


def space_missing() -> str | None:
    """Return a message if a limit such as ``ulimit -v`` leaves too little space for Numba.

    None if it leaves enough, or Numba is already loaded.
    """
    if "numba" in sys.modules or sys.platform == "win32":
        return None
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = _SPACE + _CORE * (os.cpu_count() or 1)
    if limit == resource.RLIM_INFINITY or limit - _space_used() >= needed:
        return None
    return (
        f"the limit of address space is {limit >> 20} MB (ulimit -v), but NumPy and the compiler need "
        f"{needed >> 20} MB more than the {_space_used() >> 20} MB in use. Raise it: ulimit -v unlimited"
    )


def _space_used() -> int:
    with suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    return 0


def see_space() -> None:
    """Raise an error if a limit leaves too little space for the compiler."""
    missing = space_missing()
    if missing is not None:
        raise SugenetError(f"{missing}.")


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
announced = Event()
"""Set before an interrupt that is a time limit: nobody pressed Ctrl-C."""


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
