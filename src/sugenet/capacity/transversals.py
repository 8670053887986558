"""Minimal transversals of a hypergraph: the bridge between the focal sets of a capacity and of its conjugate (THEORY 1.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sugenet.capacity.criteria import bits

__all__ = ["minimal", "minimal_transversals"]


def minimal(masks: Iterable[int]) -> list[int]:
    """Keep the masks that contain no other, smallest first."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda m: (m.bit_count(), m)):
        if not any(other & mask == other for other in kept):
            kept.append(mask)
    return kept


def minimal_transversals(edges: Iterable[int]) -> Iterator[int]:
    """Yield, lazily, the minimal masks that meet every edge.

    Depth-first search that keeps, for every chosen element, the edges that it alone meets (Murakami and Uno's MMCS): an element
    whose list would become empty is never added, so every set it yields is minimal and none is yielded twice.

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
    for row in rows:
        everything |= row
    contains = {place: sum(1 << number for number, row in enumerate(rows) if row >> place & 1) for place in bits(everything)}

    def search(chosen: int, allowed: int, unmet: int, alone: list[int]) -> Iterator[int]:
        if not unmet:
            yield chosen
            return
        branch = min((rows[number] & allowed for number in bits(unmet)), key=int.bit_count)
        allowed &= ~branch
        for place in bits(branch):
            hit = contains[place]
            still = [edges & ~hit for edges in alone]
            if all(still):
                yield from search(chosen | 1 << place, allowed, unmet & ~hit, [*still, unmet & hit])
                allowed |= 1 << place

    yield from search(0, everything, (1 << len(rows)) - 1, [])
