"""Minimal transversals of a hypergraph: the bridge between the focal sets of a capacity and of its
conjugate (docs/theory.md 6.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.criteria import bits

__all__ = ["containing_none_before", "minimal", "minimal_transversals"]

LOOKAHEAD = 256  # unmet edges among which the one with the fewest choices left is looked for


def containing_none_before(masks: Sequence[int]) -> list[int]:
    """Numbers of the masks that contain no earlier mask.

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

    Depth-first search that keeps, for every chosen element, the edges that it alone meets (Murakami and Uno's
    MMCS): an element whose list would become empty is never added,
    so every set it yields is minimal and none is yielded twice.

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
    contains: dict[int, int] = {}  # for each element the numbers of the edges that hold it, as a mask
    for number, row in enumerate(rows):
        everything |= row
        for place in bits(row):
            contains[place] = contains.get(place, 0) | 1 << number

    # a stack of our own: there may be thousands of elements to choose
    stack = [(0, everything, (1 << len(rows)) - 1, list[int]())]
    while stack:
        chosen, allowed, unmet, alone = stack.pop()
        if not unmet:
            yield chosen
            continue
        branch = min((rows[number] & allowed for number in islice(bits(unmet), LOOKAHEAD)), key=int.bit_count)
        allowed &= ~branch
        further = []
        for place in bits(branch):
            hit = contains[place]
            # most lists stay what they are, and are shared
            still = [edges & ~hit if edges & hit else edges for edges in alone]
            if all(still):
                further.append((chosen | 1 << place, allowed, unmet & ~hit, [*still, unmet & hit]))
                allowed |= 1 << place
        stack.extend(reversed(further))
