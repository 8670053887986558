"""Hitting sets, smallest first, by python-sat's MaxSAT (RC2): the other half of every search for reasons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sugenet.engines.hard.outside.pysat import hearing_ctrl_c

__all__ = ["HittingSets"]


class HittingSets:
    """Sets that meet every set given so far, smallest first, without those that contain a blocked one.

    Examples
    --------
    >>> sets = HittingSets([{1, 2}, {2, 3}])
    >>> sorted(sets.smallest())
    [2]
    >>> sets.block({2})
    >>> sorted(sets.smallest())
    [1, 3]
    >>> sets.hit({4}), sorted(sets.smallest())
    (None, [1, 3, 4])
    """

    def __init__(self, sets: Iterable[Iterable[int]] = ()) -> None:
        from pysat.examples.hitman import Hitman

        self._empty = False
        self._hitman: Any = Hitman(solver="g4", htype="sorted")
        for row in sets:
            self.hit(row)

    def hit(self, row: Iterable[int]) -> None:
        """Demand that a set be met."""
        listed = sorted(row)
        self._empty |= not listed
        if listed:
            self._hitman.hit(listed)

    def block(self, row: Iterable[int]) -> None:
        """Leave out all sets that contain this one."""
        listed = sorted(row)
        self._empty |= not listed
        if listed:
            self._hitman.block(listed)

    def smallest(self) -> frozenset[int] | None:
        """A smallest set that meets all; None when there is none left."""
        if self._empty:
            return None
        with hearing_ctrl_c():
            found = self._hitman.get()
        return None if found is None else frozenset(found)
