"""Refusals: an unreadable file raises a `FileError` that says where and why."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from sugenet.errors import FileError, SugenetError

__all__ = ["named", "refuse_if", "required", "within"]

_T = TypeVar("_T")


def refuse_if(wrong: object, *message: str) -> None:
    """Raise `FileError` if something is wrong; the message is the optional place, and the reason.

    Examples
    --------
    >>> refuse_if(False, "fc1 (Dense)", "units is 0.")
    >>> refuse_if(True, "fc1 (Dense)", "units is 0.")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: fc1 (Dense): units is 0.
    """
    if wrong:
        raise FileError(": ".join(message))


def required(value: _T | None, *message: str) -> _T:
    """Return a value, or refuse it as `refuse_if` does if it is None.

    Examples
    --------
    >>> required({"W0": 1}.get("T0"), "there is no array 'T0'.")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: there is no array 'T0'.
    """
    if value is None:
        raise FileError(": ".join(message))
    return value


@contextmanager
def within(where: object, *also: type[SugenetError]) -> Iterator[None]:
    """Prefix the message of every `FileError` raised inside with a place.

    Errors of the other given classes become a `FileError`, too.

    Examples
    --------
    >>> with within("net.h5"):
    ...     refuse_if(True, "fc1 (Dense)", "units is 0.")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: net.h5: fc1 (Dense): units is 0.
    """
    kinds: tuple[type[SugenetError], ...] = (FileError, *also)
    try:
        yield
    except kinds as error:
        raise FileError(f"{where}: {error}") from None


@contextmanager
def named(name: str, hint: str = "") -> Iterator[None]:
    """Prefix the message of every `FileError` with the name of a file, and append a hint.

    A file that the system cannot read raises a `FileError`, too.

    Examples
    --------
    >>> with named("net.h5", " Save it again."):
    ...     raise FileNotFoundError(2, "No such file")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: net.h5 cannot be read: No such file.
    """
    try:
        yield
    except FileError as error:
        raise FileError(f"{name}: {error}{hint}") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {error.strerror or error}.") from None
