"""Refusals: an unreadable file raises a `FileError` that says where and why. A `Ledger` records which entries
were read, so that a reader can refuse unused ones by name.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from sugenet.errors import FileError, SugenetError

__all__ = ["Ledger", "expected", "named", "refuse_if", "required", "within"]

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


def expected(value: object, kind: type[_T], *message: str) -> _T:
    """Return a value, or refuse it as `refuse_if` does if it is not of a type.

    Examples
    --------
    >>> expected("two", int, "units is 'two', not an integer.")
    Traceback (most recent call last):
    ...
    sugenet.errors.FileError: units is 'two', not an integer.
    """
    if not isinstance(value, kind):
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


class Ledger(Mapping[str, _T]):
    """A mapping that records which entries were read; testing for a name does not count as reading.

    Examples
    --------
    >>> arrays = Ledger({"weight": 1, "bias": 2, "scale": 3})
    >>> arrays["weight"], arrays.get("bias"), "scale" in arrays
    (1, 2, True)
    >>> arrays.left()
    ['scale']
    >>> arrays.pass_over("scale", "epoch")
    >>> arrays.left()
    []
    """

    def __init__(self, entries: Mapping[str, _T]) -> None:
        self._entries = entries
        self._taken: set[str] = set()

    def __getitem__(self, name: str) -> _T:
        value = self._entries[name]
        self._taken.add(name)
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def pass_over(self, *names: str) -> None:
        """Mark names, present or not, as irrelevant for the network."""
        self._taken.update(names)

    def left(self) -> list[str]:
        """Return the names that were neither read nor marked as irrelevant, in order."""
        return [name for name in self._entries if name not in self._taken]
