"""The best capacity for given cuts, by one minimum cut (docs/theory.md 11.2).

A *claim* is a level and a set of features: all samples of which exactly these features reach their cut of
that level are said to be at least of that level. A capacity makes claims that are closed: with a claim all
those of lower levels or larger sets. Each claim gains or costs something; the closed claims that gain most
are the source side of a minimum cut, and those of all best choices lie between the least and the greatest.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import TooLargeError

__all__ = ["best_closures", "minimal"]

Bools: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]

_MOST = 8000
"""Claims; their pairs are compared."""
_FEW = 150
"""Claims of which all implications are known at once."""


def best_closures(levels: Ints, sets: Bools, gains: Ints) -> tuple[Bools, Bools]:
    """The least and the greatest of the closed sets of claims that gain most.

    All features reach every level, and none reaches no level: these claims are not free.

    Examples
    --------
    >>> levels, gains = np.array([1, 1, 1, 2]), np.array([-3, 2, 0, 5])
    >>> sets = np.array([[1, 0], [1, 1], [0, 1], [1, 0]], dtype=bool)
    >>> least, greatest = best_closures(levels, sets, gains)
    >>> least.tolist(), greatest.tolist()
    ([True, True, False, True], [True, True, True, True])
    """
    count = len(gains)
    if count > _MOST:
        raise TooLargeError(
            f"{count:,} different sets of features at some level; at most {_MOST:,} are compared with each "
            f"other. Give fewer cuts, levels or samples, or terms='card'."
        )
    implies = _implications(levels, sets)
    endless = int(np.abs(gains).sum()) + 1
    worth = np.where(sets.all(axis=1), endless, np.where(sets.any(axis=1), gains, -endless))
    if count <= _FEW:
        return _cut(worth, endless, *_covers(implies))
    return _cut_lazily(worth, endless, implies)


def _cut_lazily(worth: Ints, endless: int, implies: Bools) -> tuple[Bools, Bools]:
    """Only implications that are violated are added, cut after cut, until none is."""
    rng = np.random.default_rng(0)
    count = len(worth)
    known = np.zeros(0, dtype=np.int64)
    while True:
        both = _cut(worth, endless, known // count, known % count)
        found = [_violated(held, implies) for held in both]
        if not any(len(pairs) for pairs in found):
            return both
        some = [rng.permutation(pairs)[: 4 * count] for pairs in found]
        known = np.unique(np.concatenate([known, *some]))


def _violated(held: Bools, implies: Bools) -> Ints:
    """Implications from what is held to what is not, each as one number."""
    inside, outside = np.flatnonzero(held), np.flatnonzero(~held)
    first, second = np.nonzero(implies[np.ix_(inside, outside)])
    return np.asarray(inside[first] * len(held) + outside[second])


def _cut(worth: Ints, endless: int, before: Ints, after: Ints) -> tuple[Bools, Bools]:
    """The least and the greatest best choice that keep these implications."""
    from scipy.sparse import csr_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow  # type: ignore[import-untyped]

    count = len(worth)
    source, sink = count, count + 1
    gainful, costly = np.flatnonzero(worth > 0), np.flatnonzero(worth < 0)
    tails = np.concatenate([np.full(gainful.size, source), costly, before])
    heads = np.concatenate([gainful, np.full(costly.size, sink), after])
    room = np.concatenate([worth[gainful], -worth[costly], np.full(before.size, endless)])
    shape = (count + 2, count + 2)
    graph = csr_array((room.astype(np.int32), (tails, heads)), shape=shape)
    left = graph - maximum_flow(graph, source, sink).flow
    left.eliminate_zeros()
    least, not_greatest = np.zeros(count + 2, dtype=bool), np.zeros(count + 2, dtype=bool)
    least[breadth_first_order(left, source, return_predecessors=False)] = True
    not_greatest[breadth_first_order(left.T.tocsr(), sink, return_predecessors=False)] = True
    return least[:count], ~not_greatest[:count]


def _implications(levels: Ints, sets: Bools) -> Bools:
    """Which claims imply which others."""
    wide = sets.astype(np.float32)
    implies = (wide @ wide.T == sets.sum(axis=1)[:, None]) & (levels[:, None] >= levels[None, :])
    np.fill_diagonal(implies, False)
    return np.asarray(implies)


def _covers(implies: Bools) -> tuple[Ints, Ints]:
    """Pairs of claims where the first implies the second, without those that follow from others."""
    steps = implies.astype(np.float32)
    first, second = np.nonzero(implies & ~(steps @ steps > 0))
    return first, second


def minimal(sets: Bools) -> Bools:
    """Of some sets of features those that contain no other, each once, small ones first."""
    different = np.unique(sets, axis=0)
    different = different[np.argsort(different.sum(axis=1), kind="stable")]
    wide = different.astype(np.float32)
    within = wide @ wide.T == different.sum(axis=1)[None, :]  # the column's set is part of the row's
    np.fill_diagonal(within, False)
    return np.asarray(different[~within.any(axis=1)])
