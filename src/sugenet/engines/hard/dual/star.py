"""Cases that compare the level of one neuron with levels of others, such as *another class is at least as
high* if the outputs are levels.

Such a case does not need a multiplier: only the levels of these neurons that meet it are considered. So
steps that are equal on both sides, and clips, do not weaken the bound.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.dual.sums import Pieces, Reals
from sugenet.nn.arrays import Ints

__all__ = ["Compared", "Star", "star_of"]

_NONE = -(1 << 61)


class Compared(NamedTuple):
    """``mine * center + theirs * level >= least``; without another neuron if `theirs` is 0."""

    neuron: int
    mine: int
    theirs: int
    least: int

    def bound(self, level: Ints) -> Ints:
        """Return the largest level of the other neuron for levels of the center, or the smallest if `theirs`
        > 0.
        """
        if self.theirs < 0:
            return np.asarray((self.mine * level - self.least) // -self.theirs)
        return np.asarray(-((self.mine * level - self.least) // self.theirs))


class Star(NamedTuple):
    """One neuron, and its comparisons with others."""

    center: int
    rows: tuple[Compared, ...]

    def best(self, pieces: Pieces, worth: Reals, slopes: Reals) -> tuple[Any, list[tuple[int, int, int]]]:
        """Return the largest ``sum of worth_j level_j - slope_j s_j`` over levels that meet the case, and the
        neurons, levels and sums that reach it.
        """
        levels, at, values = _values(pieces, self.center, worth, slopes)
        total, fine, chosen = values, np.ones(len(levels), bool), []
        for row in self.rows:
            if not row.theirs:
                fine = fine & (row.mine * levels >= row.least)
                continue
            others, there, theirs = _values(pieces, row.neuron, worth, slopes)
            if row.theirs < 0:
                some = np.searchsorted(others, row.bound(levels), side="right")
                best, index = _running(theirs)
                fine, some = fine & (some > 0), np.maximum(some - 1, 0)
            else:
                some = len(others) - np.searchsorted(others, row.bound(levels), side="left")
                best, index = _running(theirs[::-1])
                index = len(others) - 1 - index
                fine, some = fine & (some > 0), np.maximum(some - 1, 0)
            total = total + best[some]
            chosen.append((row.neuron, others[index[some]], there[index[some]]))
        if not fine.any():
            return _NONE, []
        first = int(np.argmax(np.where(fine, total, total.min() - 1)))
        reached = [(self.center, int(levels[first]), int(at[first]))]
        return total[first], reached + [(n, int(level[first]), int(s[first])) for n, level, s in chosen]

    def gap(self, steps: Ints, sums: Reals, stands: Ints, slopes: Reals) -> float:
        """Return how far sums of a linear program exceed what the center's level allows, by their worth."""
        total, top = 0.0, steps.shape[1]
        for row in self.rows:
            if not row.theirs:
                continue
            limit = int(row.bound(stands[self.center]))
            neuron_steps, there = steps[row.neuron], float(sums[row.neuron])
            if row.theirs < 0:
                far = there - float(neuron_steps[max(limit, 0)] - 1) if limit < top else 0.0
            else:
                far = float(neuron_steps[min(limit, top) - 1]) - there if limit > 0 else 0.0
            total += abs(float(slopes[row.neuron])) * max(0.0, far)
        return total

    @property
    def neurons(self) -> list[int]:
        """Return all neurons of the star."""
        return [self.center, *(row.neuron for row in self.rows if row.theirs)]


def _values(pieces: Pieces, neuron: int, worth: Reals, slopes: Reals) -> tuple[Ints, Ints, Reals]:
    """Return the levels of a neuron, the better end of each piece, and its worth there."""
    mine = pieces.of_neuron(neuron)
    level, lean = pieces.level[mine], slopes[neuron]
    at = (pieces.low if lean > 0 else pieces.high)[mine]
    return level, at, worth[neuron] * level - lean * at


def _running(values: Reals) -> tuple[Reals, npt.NDArray[np.intp]]:
    """Return the running maximum, and the index at which it was reached."""
    best = np.maximum.accumulate(values)
    return best, np.maximum.accumulate(np.where(values == best, np.arange(len(values)), 0))


def star_of(rows: Ints, min_sums: Ints, case: tuple[int, ...]) -> Star | None:
    """Return a case as a star; None if it is not one."""
    read = [np.flatnonzero(rows[row]).tolist() for row in case]
    if not read or not all(1 <= len(neurons) <= 2 for neurons in read):
        return None
    for center in read[0]:
        others = [next((n for n in neurons if n != center), -1) for neurons in read]
        named = [n for n in others if n >= 0]
        if all(center in neurons for neurons in read) and len(set(named)) == len(named):
            compared = [
                Compared(n, int(rows[row, center]), int(rows[row, n]) if n >= 0 else 0, int(min_sums[row]))
                for n, row in zip(others, case, strict=True)
            ]
            return Star(center, tuple(compared))
    return None
