"""The fewest chains of a strict order that contain all its elements.

By Dilworth's theorem, they are as many as the largest set without two elements in one chain. Both come from
one bipartite matching, and prove each other optimal.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

__all__ = ["Pairs", "fewest_chains"]

Pairs = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


def fewest_chains(count: int, clashes: Pairs) -> tuple[list[int], list[list[int]]]:
    """Return the most elements of which no two are a pair, and as many chains that contain all elements.

    The pairs must be a strict order of the elements 0 to count - 1.

    Examples
    --------
    >>> fewest_chains(4, (np.array([0, 0, 1]), np.array([1, 2, 2])))
    ([2, 3], [[0, 1, 2], [3]])
    """
    later = _sets(count, *clashes)
    after, before = [-1] * count, [-1] * count
    while True:
        kept = _longer_chains(later, after, before)
        if kept is not None:
            break
    chains = []
    for start in range(count):
        if before[start] < 0:
            chain = [start]
            while after[chain[-1]] >= 0:
                chain.append(after[chain[-1]])
            chains.append(chain)
    return kept, chains


def _sets(count: int, k: npt.NDArray[np.intp], m: npt.NDArray[np.intp]) -> list[int]:
    """Return, for each sample, the samples that it clashes with, as bits of an integer."""
    order = np.argsort(k, kind="stable")
    starts = np.searchsorted(k[order], np.arange(count + 1))
    masks = []
    for start, end in pairwise(starts.tolist()):
        row = np.zeros(count, dtype=bool)
        row[m[order[start:end]]] = True
        masks.append(int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little"))
    return masks


def _longer_chains(later: list[int], after: list[int], before: list[int]) -> list[int] | None:
    """Join as many chains as possible, visiting each sample once.

    If none can be joined, return the samples to keep: those that a smallest cover of the graph contains on
    neither side (Koenig's theorem).
    """
    ends = [k for k, m in enumerate(after) if m < 0]
    unseen = (1 << len(later)) - 1
    begins = sum(1 << m for m, k in enumerate(before) if k < 0)
    reached = set(ends)
    joined = False
    for end in ends:
        path: list[tuple[int, int]] = []  # pairs of a sample and the next
        k: int = end
        while True:
            free = later[k] & unseen
            step = (free & begins) or free
            if step:
                m = (step & -step).bit_length() - 1
                unseen ^= 1 << m
                path.append((k, m))
                if before[m] < 0:
                    begins ^= 1 << m
                    for one, other in path:
                        after[one], before[other] = other, one
                    joined = True
                    break
                k = before[m]
                reached.add(k)
            elif path:
                k = path.pop()[0]
            else:
                break
    return None if joined else [k for k in sorted(reached) if unseen >> k & 1]
