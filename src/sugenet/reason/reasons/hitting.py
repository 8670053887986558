"""Hitting sets of features, smallest first, by python-sat's MaxSAT (RC2), and duality.

Reasons and contrastive sets determine each other: all minimal reasons are the minimal sets that meet every
contrastive set, and vice versa (docs/theory.md 8.2). So a list of both shows that neither is incomplete.
"""

from collections.abc import Callable, Iterable
from typing import Any

from sugenet.engines.hard.outside.pysat import hearing_ctrl_c

__all__ = [
    "HittingSets",
    "is_antichain",
    "unlisted_change",
]


class HittingSets:
    """Sets that meet every given set, smallest first, except those that contain a blocked one.

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
        """Require that a set is met."""
        listed = sorted(row)
        self._empty |= not listed
        if listed:
            self._hitman.hit(listed)

    def block(self, row: Iterable[int]) -> None:
        """Exclude all sets that contain this one."""
        listed = sorted(row)
        self._empty |= not listed
        if listed:
            self._hitman.block(listed)

    def smallest(self) -> frozenset[int] | None:
        """Return a smallest set that meets all; None if there is none left."""
        if self._empty:
            return None
        with hearing_ctrl_c():
            members = self._hitman.get()
        return None if members is None else frozenset(members)


Sets = list[frozenset[int]]


def is_antichain(sets: Iterable[frozenset[int]]) -> bool:
    """Return whether no set of a list contains another one or occurs twice.

    Examples
    --------
    >>> is_antichain([frozenset({1}), frozenset({2, 3})]), is_antichain([frozenset({1}), frozenset({1, 3})])
    (True, False)
    """
    rows = sorted(sets, key=len)
    return not any(small <= large for index, large in enumerate(rows) for small in rows[:index])


def unlisted_change(reasons: Sets, contrasts: Sets, look: Callable[[], None]) -> frozenset[int] | None:
    """Return a set that meets every reason and contains no contrastive set; None if there is none.

    If there is none, reasons suffice and contrastive sets change the class, then each list has all minimal
    sets of its kind.

    If there is one, its complement meets every contrastive set and contains no reason. Either the complement
    suffices and a reason is missing, or it does not and a contrastive set is missing.

    Parameters
    ----------
    reasons, contrasts
        Sets of features.
    look
        Called repeatedly; may raise an error to end the search.

    Examples
    --------
    >>> reasons = [frozenset({1, 2}), frozenset({1, 3})]
    >>> unlisted_change(reasons, [frozenset({1}), frozenset({2, 3})], lambda: None)
    >>> sorted(unlisted_change(reasons, [frozenset({1})], lambda: None))
    [2, 3]
    """

    def search(chosen: frozenset[int], left_out: frozenset[int], open_rows: Sets) -> frozenset[int] | None:
        look()
        while True:  # consequences of the choices
            banned = {f for row in contrasts if len(row - chosen) == 1 for f in row - chosen} | left_out
            rows = [row for row in open_rows if not row & chosen]
            forced = {f for row in rows if len(row - banned) == 1 for f in row - banned}
            if any(row <= chosen for row in contrasts) or any(row <= banned for row in rows):
                return None
            if not rows:
                return chosen
            if not forced:
                break
            chosen |= {min(forced)}
        row = min(rows, key=lambda row: (len(row - banned), sorted(row)))
        out = frozenset(banned)
        for feature in sorted(row - banned):
            change = search(chosen | {feature}, out, rows)
            if change is not None:
                return change
            out |= {feature}
        return None

    return search(frozenset(), frozenset(), list(reasons))
