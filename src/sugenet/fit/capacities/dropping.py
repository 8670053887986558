"""The smallest set of samples to drop so that some capacity fits the rest (docs/theory.md 10.2).

"k clashes with m" is transitive, so samples that clash form chains, and what can be kept is a set without two
of a chain. By Dilworth's theorem the largest such set has as many samples as the fewest chains that hold all
samples; both come from one bipartite matching, and show each other to be best.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sugenet.fit.capacities.clashes import Pairs

__all__ = ["fewest_chains"]


def fewest_chains(count: int, clashes: Pairs) -> tuple[list[int], list[list[int]]]:
    """Of samples 0 to count - 1 the most that can be kept, and as many chains of clashing ones that hold all.

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
    """For each sample those that it clashes with, as bits of a whole number."""
    order = np.argsort(k, kind="stable")
    starts = np.searchsorted(k[order], np.arange(count + 1))
    found = []
    for start, end in pairwise(starts.tolist()):
        row = np.zeros(count, dtype=bool)
        row[m[order[start:end]]] = True
        found.append(int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little"))
    return found


def _longer_chains(later: list[int], after: list[int], before: list[int]) -> list[int] | None:
    """Join chains, from the ends of as many as can be, each sample visited once; where none can be joined,
    the samples that a smallest cover of the graph holds on neither side (Koenig's theorem): those to keep.
    """
    ends = [k for k, m in enumerate(after) if m < 0]
    unseen = (1 << len(later)) - 1
    begins = sum(1 << m for m, k in enumerate(before) if k < 0)
    reached = set(ends)
    joined = False
    for end in ends:
        path: list[tuple[int, int]] = []  # from which sample to which
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
