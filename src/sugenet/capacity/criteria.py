"""The finite set C of criteria, named or numbered, and its subsets as bit masks.

The module also finds minimal masks and minimal transversals, which relate the focal sets of a capacity to
those of its conjugate (docs/theory.md 6.3).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import plain
from sugenet.errors import CriteriaError
from sugenet.reprs import ShortRepr

__all__ = [
    "Criteria",
    "Criterion",
    "Subset",
    "bits",
    "containing_none_before",
    "minimal",
    "minimal_transversals",
]

Criterion: TypeAlias = int | str
"""A name, or a number from 1; in the polarized encoding a literal, `+i` or `-i`."""

Subset: TypeAlias = int | str | Iterable[Criterion]
"""A bit mask, one name, or several criteria. A bare number is always a mask: write `{3}` for criterion 3."""


@dataclass(frozen=True)
class Criteria(ShortRepr):
    """The criteria in a fixed order; the criterion with index k (from 0) is bit k of a mask.

    Examples
    --------
    >>> criteria = Criteria(["price", "comfort", "safety"])
    >>> criteria.mask({"price", "safety"}), criteria.mask("comfort"), sorted(criteria.members(6))
    (5, 2, ['comfort', 'safety'])
    >>> Criteria(3).names, Criteria.literals(2).names
    ((1, 2, 3), (1, -1, 2, -2))
    >>> criteria.mask({"prize"})
    Traceback (most recent call last):
    ...
    sugenet.errors.CriteriaError: unknown criterion 'prize'. The criteria are price, comfort, safety.
    """

    names: tuple[Criterion, ...]

    def __init__(self, names: Criteria | int | Iterable[Criterion]) -> None:
        raw_names: Iterable[Any]
        if isinstance(names, Criteria):
            raw_names = names.names
        elif isinstance(names, str):
            raise CriteriaError(f"criteria is the single text {names!r}. Give a list of names: [{names!r}].")
        elif not isinstance(names, Iterable) or (isinstance(names, np.ndarray) and names.ndim != 1):
            raw_names = range(1, _count(names, "criteria") + 1)
        else:
            raw_names = names
        checked = tuple(name if isinstance(name, str) else _number(name) for name in raw_names)
        seen: set[Criterion] = set()
        for name in checked:
            if name in seen:
                raise CriteriaError(f"criterion {name!r} occurs twice. Every criterion needs its own name.")
            seen.add(name)
        object.__setattr__(self, "names", checked)

    @classmethod
    def literals(cls, n: int) -> Criteria:
        """Return the 2n literals of the polarized encoding (paper section 3.1): 1, -1, 2, -2, ..."""
        return cls(literal for i in range(1, _count(n, "inputs") + 1) for literal in (i, -i))

    @cached_property
    def _bit(self) -> dict[Criterion, int]:
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def full(self) -> int:
        """The mask of all criteria."""
        return (1 << len(self.names)) - 1

    def place(self, name: object) -> int:
        """Return the index of a criterion, from 0."""
        try:
            return self._bit[name]  # type: ignore[index]
        except (KeyError, TypeError):
            raise CriteriaError(
                f"unknown criterion {plain(name)!r}. The criteria are {_listing(self.names)}."
            ) from None

    def mask(self, subset: Subset) -> int:
        """Turn a subset in any accepted form into its bit mask."""
        if isinstance(subset, str):
            return 1 << self.place(subset)
        if not isinstance(subset, Iterable):
            try:
                mask = operator.index(subset)
            except TypeError:
                raise CriteriaError(
                    f"{plain(subset)!r} is not a subset. Give a set of criteria, one name, or a bit mask."
                ) from None
            if not 0 <= mask <= self.full:
                shown = f"mask {mask}" if mask.bit_length() <= 64 else f"a mask of {mask.bit_length()} bits"
                last = str(self.full) if len(self.names) <= 64 else f"2^{len(self.names)} - 1"
                raise CriteriaError(f"{shown} is not in 0..{last}: there are {len(self.names)} criteria.")
            return mask
        mask = 0
        for name in subset:
            bit = 1 << self.place(name)
            if mask & bit:
                raise CriteriaError(f"criterion {plain(name)!r} occurs twice in {subset!r}.")
            mask |= bit
        return mask

    def members(self, mask: int) -> frozenset[Criterion]:
        """Turn a bit mask into the set of its criteria."""
        return frozenset(self.names[index] for index in bits(mask))

    def show(self, subset: int | AbstractSet[Criterion]) -> str:
        """Write a subset as text, in the order of the criteria."""
        mask = subset if isinstance(subset, int) else self.mask(subset)
        return "{" + ", ".join(str(self.names[index]) for index in bits(mask)) + "}"

    def row(self, by_name: Mapping[Any, Any], what: str) -> list[Any]:
        """Return the values of a mapping from criteria in the order of the criteria, with none missing and
        none extra.
        """
        for name in by_name:
            self.place(name)
        missing = [name for name in self.names if name not in by_name]
        if missing:
            raise CriteriaError(
                f"{what} has nothing for {_listing(missing)}. Give every criterion exactly once."
            )
        return [by_name[name] for name in self.names]

    def labelled(self, x: Any) -> Any:
        """Return a data frame, or a series that is one sample, as a mapping by label; all else unchanged.

        Labels 0, 1, ... are positions, unless the criteria have these names.
        """
        labels = getattr(x, "columns", None)
        labels = getattr(x, "index", None) if labels is None and hasattr(x, "to_numpy") else labels
        if isinstance(x, Mapping) or labels is None or callable(labels):
            return x
        names = list(labels)
        if names == list(range(len(self))) and sorted(self.names, key=str) != sorted(names, key=str):
            return x
        if len(set(names)) < len(names):
            raise CriteriaError("two columns have the same name. Give one column for each criterion.")
        return {name: x[name] for name in names}

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Criterion]:
        return iter(self.names)


def bits(mask: int) -> Iterator[int]:
    """Yield the indices of the 1 bits of a mask, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _count(number: object, what: str) -> int:
    try:
        count = -1 if isinstance(number, bool | np.bool_) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        count = -1
    if count < 0:
        raise CriteriaError(f"{plain(number)!r} {what}? Give their number, or a list of their names.")
    return count


def _number(name: object) -> int:
    try:
        if isinstance(name, bool | np.bool_):
            raise TypeError
        return operator.index(name)  # type: ignore[arg-type]
    except TypeError:
        raise CriteriaError(
            f"{plain(name)!r} cannot be the name of a criterion. Use text or integers."
        ) from None


def _listing(names: Iterable[object]) -> str:
    """Return a list of names as text, cut off with a count if there are many."""
    texts = [str(name) for name in names]
    return (
        ", ".join(texts)
        if len(texts) <= _LISTED
        else f"{', '.join(texts[:_LISTED])} and {len(texts) - _LISTED} more"
    )


_LISTED = 8  # names that a message lists
LOOKAHEAD = 256  # number of unmet edges searched for the one with the fewest choices left


def containing_none_before(masks: Sequence[int]) -> list[int]:
    """Return the indices of the masks that contain no earlier mask.

    Examples
    --------
    >>> containing_none_before([0b110, 0b111, 0b001, 0b101])
    [0, 2]
    """
    words = max((mask.bit_length() for mask in masks), default=0) // 64 + 1
    data = b"".join(mask.to_bytes(8 * words, "little") for mask in masks)
    rows: npt.NDArray[Any] = np.frombuffer(data, dtype="<u8").reshape(-1, words)
    kept: npt.NDArray[Any] = np.empty((words, len(masks)), np.uint64)
    numbers: list[int] = []
    for number, outside in enumerate(~rows):
        inside = np.flatnonzero(kept[0, : len(numbers)] & outside[0] == 0)
        for word in range(1, words):
            if not inside.size:
                break
            inside = inside[kept[word, inside] & outside[word] == 0]
        if not inside.size:
            kept[:, len(numbers)] = rows[number]
            numbers.append(number)
    return numbers


def minimal(masks: Iterable[int]) -> list[int]:
    """Keep the masks that contain no other, smallest first."""
    rising = sorted(set(masks), key=lambda m: (m.bit_count(), m))
    return [rising[number] for number in containing_none_before(rising)]


def minimal_transversals(edges: Iterable[int]) -> Iterator[int]:
    """Yield, lazily, the minimal masks that meet every edge.

    Depth-first search that keeps, for every chosen element, the edges that only this element meets (the MMCS
    algorithm of Murakami and Uno). An element whose list would become empty is never added, so every set it
    yields is minimal and none is yielded twice.

    Examples
    --------
    >>> sorted(minimal_transversals([0b011, 0b110]))
    [2, 5]
    >>> list(minimal_transversals([])), list(minimal_transversals([0]))
    ([0], [])
    """
    rows = minimal(edges)
    if 0 in rows:
        return
    everything = 0
    contains: dict[int, int] = {}  # for each element, the indices of the edges that contain it, as a mask
    for number, row in enumerate(rows):
        everything |= row
        for index in bits(row):
            contains[index] = contains.get(index, 0) | 1 << number

    # an explicit stack: there may be thousands of elements to choose
    stack = [(0, everything, (1 << len(rows)) - 1, list[int]())]
    while stack:
        chosen, allowed, unmet, alone = stack.pop()
        if not unmet:
            yield chosen
            continue
        branch = min((rows[number] & allowed for number in islice(bits(unmet), LOOKAHEAD)), key=int.bit_count)
        allowed &= ~branch
        further = []
        for index in bits(branch):
            hit = contains[index]
            # most lists are unchanged, and are shared
            still = [edges & ~hit if edges & hit else edges for edges in alone]
            if all(still):
                further.append((chosen | 1 << index, allowed, unmet & ~hit, [*still, unmet & hit]))
                allowed |= 1 << index
        stack.extend(reversed(further))
