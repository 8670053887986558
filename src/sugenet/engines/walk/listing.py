"""List all violations of small cost in which no change is redundant, by enumeration of all sets of moves.

Sets grow by one move at a time, in arrays. A set that is a violation is not extended, because every larger
one would have a redundant change.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sugenet.engines.walk.patterns import PatternGoal
from sugenet.errors import TooLargeError
from sugenet.nn.arrays import Ints
from sugenet.problem import Clock, FeatureMove, Problem, see_time, sets_within

__all__ = ["MOST_SETS", "needed_changes"]

MOST_SETS = 3e7
"""Largest number of sets of moves that are enumerated for a list."""
_CHUNK = 1 << 16


def needed_changes(problem: Problem, budget: int, clock: Clock) -> list[tuple[FeatureMove, ...]] | None:
    """Return the violations of weight up to a budget without redundant changes, cheapest first; None if there
    are too many sets, or the time was up.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.problem.goal import loses
    >>> from sugenet.problem.regions import Hamming
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]]))
    >>> problem = Problem(Hamming(2).around(net, [+1, -1, +1, -1]), loses(net.head, 0))
    >>> [[move.feature for move in moves] for moves in needed_changes(problem, 2, Clock())]
    [[1], [2], [3]]
    """
    if sets_within(problem.near, budget) > MOST_SETS:
        return None
    moves = problem.near.moves
    feature, _, weight = problem.near.columns
    try:
        see_time(problem.near, clock)
        _ = problem.first_layer.deltas
    except TooLargeError:
        return None
    patterns = PatternGoal(problem.first_layer, problem.goal)
    chunk = max(1 << 8, _CHUNK // (1 + len(problem.first_layer.fragile) // 1024))
    after = np.searchsorted(feature, feature, side="right")  # the first move of a later feature
    minimal: list[frozenset[int]] = []
    listed: list[tuple[FeatureMove, ...]] = []
    sets, sums = np.zeros((1, 0), np.int32), np.zeros(1, np.int64)
    while len(sets) and sets.shape[1] < len(np.unique(feature)):
        grown: list[npt.NDArray[np.int32]] = []
        spent: list[Ints] = []
        bad: list[frozenset[int]] = []
        for rows, used in _extended(sets, sums, weight, after, budget):
            for low in range(0, len(rows), chunk):
                if clock.up():
                    return None
                part, spends = rows[low : low + chunk], used[low : low + chunk]
                wrong = _violating(patterns, part)
                bad += [frozenset(row) for row in part[wrong].tolist()]
                grown.append(part[~wrong])
                spent.append(spends[~wrong])
        for chosen in bad:
            picked = tuple(moves[number] for number in sorted(chosen))
            if not any(smaller <= chosen for smaller in minimal) and problem.near.admits(picked):
                listed.append(picked)
        minimal += bad
        sets = np.concatenate(grown) if grown else sets[:0]
        sums = np.concatenate(spent) if spent else sums[:0]
    return sorted(listed, key=lambda row: (sum(move.price for move in row), [move.feature for move in row]))


def _extended(
    sets: npt.NDArray[np.int32], sums: Ints, weight: Ints, after: Ints, budget: int
) -> Iterator[tuple[npt.NDArray[np.int32], Ints]]:
    """Yield every set with one more move of a later feature, within the budget, in chunks."""
    count = len(weight)
    starts = after[sets[:, -1]] if sets.shape[1] else np.zeros(len(sets), np.int64)
    room = count - starts
    step = max(1, _CHUNK // max(count, 1))
    for low in range(0, len(sets), step):
        part = slice(low, low + step)
        repeats = room[part]
        if not repeats.sum():
            continue
        ends = np.cumsum(repeats)
        last = np.arange(ends[-1]) - np.repeat(ends - repeats, repeats) + np.repeat(starts[part], repeats)
        used = np.repeat(sums[part], repeats) + weight[last]
        fits = used <= budget
        rows = np.concatenate(
            [np.repeat(sets[part], repeats, axis=0), last[:, None].astype(np.int32)], axis=1
        )
        yield rows[fits], used[fits]


def _violating(patterns: PatternGoal, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return which sets of moves reach the goal."""
    first_layer = patterns.first_layer
    margins = np.repeat(first_layer.margins[None, :], len(rows), axis=0)
    for column in range(rows.shape[1]):
        margins += first_layer.deltas[rows[:, column]]
    keys = patterns.pack((margins >= 0) != (first_layer.margins >= 0))
    different, back = np.unique(keys[:, 0] if patterns.words == 1 else keys, axis=0, return_inverse=True)
    return patterns.reached(different.reshape(-1, patterns.words))[back.reshape(-1)]
