"""The smallest set of samples to drop so that some capacity fits the rest (docs/theory.md 10.2).

"k clashes with l" is transitive, so samples that clash form chains, and what can be kept is a set without two
of a chain. By Dilworth's theorem the largest such set has as many samples as the fewest chains that hold all
samples; both come from one bipartite matching, and show each other to be best.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from sugenet.fit.capacities.clashes import Pairs

__all__ = ["fewest_chains"]


def fewest_chains(count: int, clashes: Pairs) -> tuple[list[int], list[list[int]]]:
    """Of samples 0 to count - 1: the most that can be kept, and as many chains of clashing ones that hold all.

    Examples
    --------
    >>> fewest_chains(4, (np.array([0, 0, 1]), np.array([1, 2, 2])))
    ([2, 3], [[0, 1, 2], [3]])
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    k, l = clashes
    graph = csr_array((np.ones(k.size, dtype=np.int8), (k, l)), shape=(count, count))
    after = maximum_bipartite_matching(graph, perm_type="column")
    before = np.full(count, -1)
    before[after[after >= 0]] = np.flatnonzero(after >= 0)
    chains = []
    for start in np.flatnonzero(before < 0).tolist():
        chain = [start]
        while after[chain[-1]] >= 0:
            chain.append(int(after[chain[-1]]))
        chains.append(chain)
    return _unmet(graph.indptr, graph.indices, after, before), chains


def _unmet(
    starts: npt.NDArray[np.int32],
    nexts: npt.NDArray[np.int32],
    after: npt.NDArray[np.int32],
    before: npt.NDArray[np.int64],
) -> list[int]:
    """The samples that a smallest cover of the matching's graph holds on neither side (Koenig's theorem)."""
    count = len(after)
    left = after < 0
    right = np.zeros(count, dtype=bool)
    waiting = deque(np.flatnonzero(left).tolist())
    while waiting:
        k = waiting.popleft()
        for l in nexts[starts[k] : starts[k + 1]].tolist():
            if not right[l]:
                right[l] = True
                other = int(before[l])
                if other >= 0 and not left[other]:
                    left[other] = True
                    waiting.append(other)
    return np.flatnonzero(left & ~right).tolist()
