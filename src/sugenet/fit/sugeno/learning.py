"""Learning Sugeno utility functionals, and the greatest of several (docs/theory.md 11.2).

Cuts and capacities take turns. For given cuts the capacity is the best there is, by one minimum cut; for a
given capacity each cut in turn moves to its best place. A further term is worth something only where the
others do not reach a level already.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt

from sugenet.fit.sugeno.closures import Bools, Ints, best_closures, minimal
from sugenet.fit.sugeno.functional import UtilityFunctional, held, reaching

__all__ = ["Fitted", "best_capacity", "learn_terms"]

_SWEEPS, _ROUNDS = 8, 2
_STARTS, _FURTHER = 8, 3
"""First cuts that are tried for the first term; and of both kinds for each further one."""
_SMALL = 5000
"""Levels of all features, squared, times levels of the target times samples."""
_SPREAD = 0.5
"""How far first cuts are drawn from where the share of samples is that of the target, in log-odds."""


@dataclass(frozen=True)
class Fitted:
    """A functional, what it gains, and the least and greatest capacity that gain as much with its cuts."""

    gain: int
    least: UtilityFunctional
    greatest: tuple[tuple[tuple[int, ...], int], ...]
    """Sets of features that are below a level in all of the best capacities."""

    def upper(self, table: Ints) -> Ints:
        """What the greatest of the best capacities gives: below a level where a row is within such a set."""
        cuts, best = self.least.cuts, np.zeros(len(table), dtype=np.int64)
        for j in range(1, self.least.height + 1):
            rows = held(table, cuts, j)
            best[_free(rows, [body for body, level in self.greatest if level <= j])] = j
        return best


def _free(rows: Bools, bodies: list[tuple[int, ...]]) -> Bools:
    """Rows that hold something and are part of none of the sets."""
    free = rows.any(axis=1)
    for body in bodies:
        outside = np.ones(rows.shape[1], dtype=bool)
        outside[list(body)] = False
        free &= rows[:, outside].any(axis=1)
    return np.asarray(free)


def best_capacity(table: Ints, gains: Ints, cuts: Ints) -> Fitted:
    """For given cuts the capacity that gains most: `gains` says for each sample and level of the target what
    is gained by saying that it is reached.
    """
    samples, height = gains.shape
    rows = np.concatenate([held(table, cuts, j) for j in range(1, height + 1)])
    level = np.repeat(np.arange(1, height + 1), samples)
    claims, place = np.unique(np.column_stack([level, rows]), axis=0, return_inverse=True)
    worth = np.zeros(len(claims), dtype=np.int64)
    np.add.at(worth, place.reshape(-1), gains.T.ravel())
    levels, sets = claims[:, 0].astype(np.int64), claims[:, 1:].astype(bool)
    least, greatest = best_closures(levels, sets, worth)
    full = tuple(range(table.shape[1]))
    focal = {(full, height)}
    for j in range(1, height + 1):
        focal |= {(_members(body), j) for body in minimal(sets[least & (levels == j)])}
    outside = set()
    for j in range(1, height + 1):  # of the sets below a level the largest say it all
        outside |= {(_members(~rest), j) for rest in minimal(~sets[~greatest & (levels == j)])}
    functional = UtilityFunctional(_plain(cuts), tuple(sorted(focal, key=lambda one: (one[1], one[0]))))
    return Fitted(int(worth[least].sum()), functional, tuple(sorted(outside)))


def _members(body: Bools) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(body))


def _plain(cuts: Ints) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(cut) for cut in row) for row in cuts)


def learn_terms(
    table: Ints, levels: npt.NDArray[np.int64], gains: Ints, terms: int, rng: np.random.Generator
) -> tuple[Fitted, ...]:
    """Learn cuts and capacities of several functionals, the greatest of which is the answer."""
    rows, place = np.unique(table, axis=0, return_inverse=True)
    summed = np.zeros((len(rows), gains.shape[1]), dtype=np.int64)
    np.add.at(summed, place.reshape(-1), gains)
    counts = np.bincount(place.reshape(-1))
    shares = ((summed > 0) * counts[:, None]).sum(axis=0) / counts.sum()
    found: list[Fitted] = []
    for turn in range(_ROUNDS if terms > 1 else 1):
        for t in range(terms):
            others = [fitted.least for s, fitted in enumerate(found) if s != t]
            free = np.where(_reached(others, rows, gains.shape[1]), 0, summed)
            if turn:
                starts = [np.array(found[t].least.cuts)]
            elif not t:
                spreads = [0.0] + [_SPREAD] * (_STARTS - 1)
                starts = [_first_cuts(rows, counts, shares, rng, spread) for spread in spreads]
            else:
                starts = _further_cuts(rows, levels, free, rng)
                starts += [_first_cuts(rows, counts, shares, rng, _SPREAD) for _ in range(_FURTHER)]
            found[t : t + 1] = [_best_of(rows, levels, free, starts, rng)]
    return tuple(found)


def _best_of(rows: Ints, levels: Ints, gains: Ints, starts: list[Ints], rng: np.random.Generator) -> Fitted:
    """The best that is found from several first cuts; nothing gains more than all that is positive."""
    most = int(gains[gains > 0].sum())
    best = _learn(rows, levels, gains, starts[0], rng)
    for start in starts[1:]:
        if best.gain == most:
            break
        other = _learn(rows, levels, gains, start, rng)
        best = other if other.gain > best.gain else best
    small = int(levels.sum()) ** 2 * gains.shape[1] * len(rows) <= _SMALL
    return _polished(rows, levels, gains, best, most) if small else best


def _polished(rows: Ints, levels: Ints, gains: Ints, best: Fitted, most: int) -> Fitted:
    """Of small tables all other places of two cuts of a level are tried, each with its best capacity."""
    features, height = len(levels), gains.shape[1]
    pairs = list(combinations(range(features), 2)) or [(0, 0)]
    helped = True
    while helped and best.gain < most:
        helped = False
        for j, (a, b) in product(range(height), pairs):
            for first, second in product(range(int(levels[a]) + 1), range(int(levels[b]) + 1)):
                cuts = np.array(best.least.cuts)
                cuts[a, j], cuts[b, j] = first, second
                if (np.diff(cuts, axis=1) >= 0).all():
                    other = best_capacity(rows, gains, cuts)
                    if other.gain > best.gain:
                        best, helped = other, True
    return best


def _further_cuts(rows: Ints, levels: Ints, free: Ints, rng: np.random.Generator) -> list[Ints]:
    """Cuts of a term that reaches nothing, and of terms that reach one row each that is not reached yet."""
    never = np.repeat(levels[:, None], free.shape[1], axis=1)
    wanting = np.flatnonzero((free > 0).any(axis=1))
    chosen = rng.choice(wanting, min(_FURTHER, len(wanting)), replace=False) if len(wanting) else wanting
    starts = [never]
    for row in chosen:
        cuts = never.copy()
        cuts[:, : 1 + int(np.flatnonzero(free[row] > 0)[-1])] = rows[row][:, None]
        starts.append(cuts)
    return starts


def _reached(others: list[UtilityFunctional], rows: Ints, height: int) -> Bools:
    best = np.max([one.ranks(rows) for one in others], axis=0) if others else np.zeros(len(rows), np.int64)
    return np.asarray(best[:, None] >= np.arange(1, height + 1))


def _first_cuts(
    rows: Ints, counts: Ints, shares: npt.NDArray[np.float64], rng: np.random.Generator, spread: float
) -> Ints:
    """As many samples reach the cut of a feature as reach the level of the target, or for all levels of a
    feature more or fewer than that.
    """
    cuts = np.zeros((rows.shape[1], len(shares)), dtype=np.int64)
    inner = np.clip(shares, 1e-3, 1 - 1e-3)
    odds = np.log(inner / (1 - inner))
    for i in range(rows.shape[1]):
        order = np.argsort(-rows[:, i], kind="stable")
        above = np.cumsum(counts[order]) / counts.sum()
        wanted = 1 / (1 + np.exp(-odds - spread * rng.normal()))
        at = rows[order, i][np.minimum(np.searchsorted(above, wanted, side="right"), len(rows) - 1)]
        cuts[i] = np.maximum.accumulate(at)
    return cuts


def _learn(rows: Ints, levels: Ints, gains: Ints, cuts: Ints, rng: np.random.Generator) -> Fitted:
    best = best_capacity(rows, gains, cuts)
    for _ in range(_SWEEPS):
        cuts = _move_cuts(rows, levels, gains, best.least, rng)
        now = best_capacity(rows, gains, cuts)
        if now.gain <= best.gain:
            return best
        best = now
    return best


def _move_cuts(
    rows: Ints, levels: Ints, gains: Ints, functional: UtilityFunctional, rng: np.random.Generator
) -> Ints:
    """Each cut in turn to where it gains most while all else stays; a feature may reach a level never."""
    cuts = np.array(functional.cuts)
    features, height = cuts.shape
    sets = dict(functional.by_level())
    for j in rng.permutation(height) + 1:
        for i in rng.permutation(features):
            now = held(rows, cuts, j)
            now[:, i] = True
            pivotal = reaching(now, sets[j])
            now[:, i] = False
            pivotal &= ~reaching(now, sets[j])
            lowest = cuts[i, j - 2] if j > 1 else 0
            highest = cuts[i, j] if j < height else levels[i]
            by_level = np.zeros(levels[i] + 1, dtype=np.int64)
            np.add.at(by_level, rows[:, i], np.where(pivotal, gains[:, j - 1], 0))
            tail = np.cumsum(by_level[::-1])[::-1]  # what is gained by the cut at each level
            allowed = tail[lowest : highest + 1]
            if tail[cuts[i, j - 1]] < allowed.max():
                best = np.flatnonzero(allowed == allowed.max())
                cuts[i, j - 1] = lowest + best[len(best) // 2]
    return cuts
