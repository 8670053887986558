"""Entries by name that record which of them were read, so that a reader can refuse unused ones by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

__all__ = ["Ledger"]

_T = TypeVar("_T")


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
