"""Learning Sugeno utility functionals, and the maximum of several (docs/theory.md 11.1, 11.2).

A functional is a Sugeno integral of the utilities of the features. Each utility maps the levels of a feature
to those of the target. Cuts and capacities are improved in turn. For given cuts, one minimum cut gives the
best capacity. For a given capacity, each cut in turn moves to its best position. A further term is useful
only if the others do not already reach a level.

A *claim* is a level and a set of features. It says that all samples in which exactly these features reach
their cut of that level are at least of that level. The claims of a capacity are closed: a claim implies all
claims of lower levels or larger sets. Each claim has a gain or a cost. The closed claims with the largest
gain are the source side of a minimum cut, and all best choices lie between the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.capacity import Criteria, Focal, Ordinal
from sugenet.errors import TooLargeError
from sugenet.fit.chains import fewest_chains

__all__ = [
    "Fitted",
    "UtilityFunctional",
    "best_capacity",
    "best_closures",
    "held",
    "learn_all",
    "learn_terms",
    "minimal",
    "reaching",
    "see_rows",
]

Bools: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = npt.NDArray[np.int64]

_MOST = 8000
"""Largest number of claims whose pairs are compared."""
_FEW = 150
"""Largest number of claims for which all implications are added at once."""


def best_closures(levels: Ints, sets: Bools, gains: Ints) -> tuple[Bools, Bools]:
    """Return the least and the greatest of the closed sets of claims with the largest gain.

    The set of all features reaches every level, and the empty set reaches none: these claims are fixed.

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
    return _thresholds_lazily(worth, endless, implies)


def _thresholds_lazily(worth: Ints, endless: int, implies: Bools) -> tuple[Bools, Bools]:
    """Add only violated implications, cut after cut, until none is violated."""
    rng = np.random.default_rng(0)
    count = len(worth)
    known = np.zeros(0, dtype=np.int64)
    while True:
        both = _cut(worth, endless, known // count, known % count)
        violated = [_violated(held, implies) for held in both]
        if not any(len(pairs) for pairs in violated):
            return both
        some = [rng.permutation(pairs)[: 4 * count] for pairs in violated]
        known = np.unique(np.concatenate([known, *some]))


def _violated(held: Bools, implies: Bools) -> Ints:
    """Return the implications from claims that are held to claims that are not, each as one number."""
    inside, outside = np.flatnonzero(held), np.flatnonzero(~held)
    first, second = np.nonzero(implies[np.ix_(inside, outside)])
    return np.asarray(inside[first] * len(held) + outside[second])


def _cut(worth: Ints, endless: int, before: Ints, after: Ints) -> tuple[Bools, Bools]:
    """Return the least and the greatest best choice that satisfy these implications."""
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
    smallest, not_greatest = np.zeros(count + 2, dtype=bool), np.zeros(count + 2, dtype=bool)
    smallest[breadth_first_order(left, source, return_predecessors=False)] = True
    not_greatest[breadth_first_order(left.T.tocsr(), sink, return_predecessors=False)] = True
    return smallest[:count], ~not_greatest[:count]


def _implications(levels: Ints, sets: Bools) -> Bools:
    """Return which claims imply which others."""
    wide = sets.astype(np.float32)
    implies = (wide @ wide.T == sets.sum(axis=1)[:, None]) & (levels[:, None] >= levels[None, :])
    np.fill_diagonal(implies, False)
    return np.asarray(implies)


def _covers(implies: Bools) -> tuple[Ints, Ints]:
    """Return pairs of claims where the first implies the second, without those that follow from others."""
    steps = implies.astype(np.float32)
    first, second = np.nonzero(implies & ~(steps @ steps > 0))
    return first, second


def minimal(sets: Bools) -> Bools:
    """Return the sets of features that contain no other, without duplicates, small ones first."""
    different = np.unique(sets, axis=0)
    different = different[np.argsort(different.sum(axis=1), kind="stable")]
    wide = different.astype(np.float32)
    within = wide @ wide.T == different.sum(axis=1)[None, :]  # the column's set is a subset of the row's
    np.fill_diagonal(within, False)
    return np.asarray(different[~within.any(axis=1)])


@dataclass(frozen=True)
class UtilityFunctional:
    """S_mu(phi_1(x_1), ..., phi_n(x_n)), in integers only.

    Reference: Couceiro, Dubois, Prade and Waldhauser [CDP16]; Brabant, Couceiro and others [BCD20].

    Parameters
    ----------
    cuts
        ``cuts[i][j - 1]`` is the level that feature i must reach for a utility of at least j. Level 0 is
        always reached. A level that the feature does not have is never reached.
    focal
        The focal sets of mu: features from 0, and the level of the target that they are worth.

    Examples
    --------
    >>> meal = UtilityFunctional(((1, 2), (2, 3)), (((0,), 1), ((0, 1), 2)))
    >>> meal.ranks(np.array([[0, 3], [2, 0], [1, 3], [2, 3]])).tolist()
    [0, 1, 1, 2]
    """

    cuts: tuple[tuple[int, ...], ...]
    focal: tuple[tuple[tuple[int, ...], int], ...]

    @property
    def height(self) -> int:
        """The best level of the target."""
        return len(self.cuts[0])

    def ranks(self, table: Ints) -> Ints:
        """Return the level of the target for each row of levels of the features."""
        best = np.zeros(len(table), dtype=np.int64)
        for j, sets in self.by_level():
            best[reaching(held(table, self.cuts, j), sets)] = j
        return best

    def utilities(self, feature: int, levels: int) -> tuple[int, ...]:
        """Return phi of a feature: the level of the target that each of its levels is worth."""
        steps = np.array(self.cuts[feature])
        return tuple(int((steps <= level).sum()) for level in range(levels))

    def capacity(self, names: Sequence[str], scale: Ordinal) -> Focal:
        """Return mu as a set function over the features, on the scale of the target."""
        members = [(tuple(names[i] for i in body), scale.levels[level]) for body, level in self.focal]
        return Focal(Criteria(names), dict(members), scale)

    def corners(self) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
        """Return, for each level of the target, sufficient levels of features: pairs of feature and level."""
        corners = []
        for j, sets in self.by_level():
            for body in sets:
                needs = tuple((int(i), self.cuts[i][j - 1]) for i in np.flatnonzero(body))
                corners.append((j, tuple((i, level) for i, level in needs if level > 0)))
        return corners

    def by_level(self) -> list[tuple[int, Bools]]:
        """Return, for each level of the target from 1, the minimal sets of features that are worth it."""
        out = []
        for j in range(1, self.height + 1):
            bodies = [body for body, level in self.focal if level >= j]
            sets = np.zeros((len(bodies), len(self.cuts)), dtype=bool)
            for row, body in enumerate(bodies):
                sets[row, list(body)] = True
            out.append((j, minimal(sets)))
        return out


def held(table: Ints, cuts: Any, level: int) -> Bools:
    """Return which features reach their cut of a level of the target, for each row."""
    return np.asarray(table >= np.asarray(cuts)[:, level - 1])


def reaching(rows: Bools, sets: Bools) -> Bools:
    """Return which rows contain one of the sets."""
    if not len(sets):
        return np.zeros(len(rows), dtype=bool)
    inside: npt.NDArray[np.bool_] = rows.astype(np.float32) @ sets.T.astype(np.float32) == sets.sum(axis=1)
    return np.asarray(inside.any(axis=1))


Corners: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]
"""Levels of the target from 1, each with levels of all features."""


def learn_all(table: Ints, levels: Ints, gains: Ints) -> tuple[tuple[Fitted, ...], Corners]:
    """Return the monotone function with the largest gain, as the maximum of the fewest functionals.

    No monotone function gains more. The corners say which levels no best function reaches: at most these
    levels of the features, at least this level of the target. Gains of a sample must not rise with the level
    of the target, so that each level is a problem of its own.

    Examples
    --------
    >>> table, levels = np.array([[0, 1], [1, 0], [1, 1], [2, 2]]), np.array([2, 2])
    >>> terms, above = learn_all(table, levels, np.array([[5, -1], [-5, -5], [5, -9], [5, 5]]))
    >>> [term.least.corners() for term in terms], above
    ([[(1, ((1, 1),)), (2, ((0, 2), (1, 2)))]], ((1, (1, 0)), (2, (1, 1))))
    """
    rows, index = np.unique(table, axis=0, return_inverse=True)
    see_rows(len(rows))
    height = gains.shape[1]
    summed = np.zeros((len(rows), height), dtype=np.int64)
    np.add.at(summed, index.reshape(-1), gains)
    steps = np.concatenate(
        [rows[:, [i]] >= np.arange(1, count + 1) for i, count in enumerate(levels)], axis=1
    )
    owner = np.eye(len(levels), dtype=np.int64)[np.repeat(np.arange(len(levels)), levels)]
    # one step that all rows reach, and one that none does: so no row is the full or the empty set
    sets = np.column_stack([np.ones(len(rows), bool), np.zeros(len(rows), bool), steps])
    corners: list[tuple[int, tuple[int, ...]]] = []
    above: list[tuple[int, tuple[int, ...]]] = []
    gain = 0
    for j in range(1, height + 1):
        lower, upper = best_closures(np.ones(len(rows), dtype=np.int64), sets, summed[:, j - 1])
        gain += int(summed[lower, j - 1].sum())
        corners += [(j, tuple(row)) for row in (minimal(steps[lower]) @ owner).tolist()]
        above += [(j, tuple(row)) for row in (~minimal(~steps[~upper]) @ owner).tolist()]
    return tuple(Fitted(gain, term, ()) for term in _fewest_terms(corners, levels, height)), tuple(above)


def see_rows(count: int) -> None:
    """Raise `TooLargeError` if `learn_all` would compare too many rows."""
    if count > _MOST:
        raise TooLargeError(
            f"terms='all' compares {count:,} different rows with each other, and at most {_MOST:,}. Give "
            f"fewer cuts or samples, or terms='card'."
        )


def _fewest_terms(
    corners: list[tuple[int, tuple[int, ...]]], levels: Ints, height: int
) -> list[UtilityFunctional]:
    """Return the fewest minima of utilities whose maximum reaches exactly these corners."""
    level = np.array([j for j, _ in corners])
    points = np.array([point for _, point in corners], dtype=np.int64).reshape(len(corners), len(levels))
    follows = (level[:, None] < level) & (points[:, None] <= points).all(axis=2)
    never = tuple(int(count) + 1 for count in levels)
    full = ((tuple(range(len(levels))), height),)
    terms = []
    first, second = np.nonzero(follows)
    for chain in fewest_chains(len(corners), (first, second))[1]:
        steps = [
            next((corners[one][1] for one in chain if level[one] >= j), never) for j in range(1, height + 1)
        ]
        terms.append(UtilityFunctional(tuple(zip(*steps, strict=True)), full))
    return terms


_SWEEPS, _ROUNDS = 8, 2
_STARTS, _FURTHER = 8, 3
"""Number of initial cuts tried for the first term, and of each kind for every further term."""
_SMALL = 5000
"""Levels of all features, squared, times levels of the target times samples."""
_SPREAD = 0.5
"""Spread of the initial cuts around the point with the same share of samples as the target, in log-odds."""


@dataclass(frozen=True)
class Fitted:
    """A functional, its gain, and the least and greatest capacity with the same gain for its cuts."""

    gain: int
    least: UtilityFunctional
    greatest: tuple[tuple[tuple[int, ...], int], ...]
    """Sets of features that are below a level in all best capacities."""

    def upper(self, table: Ints) -> Ints:
        """Return the values of the greatest best capacity: below a level if a row is within such a set."""
        cuts, best = self.least.cuts, np.zeros(len(table), dtype=np.int64)
        for j in range(1, self.least.height + 1):
            rows = held(table, cuts, j)
            best[_free(rows, [body for body, level in self.greatest if level <= j])] = j
        return best


def _free(rows: Bools, bodies: list[tuple[int, ...]]) -> Bools:
    """Return the nonempty rows that are a subset of none of the sets."""
    free = rows.any(axis=1)
    for body in bodies:
        outside = np.ones(rows.shape[1], dtype=bool)
        outside[list(body)] = False
        free &= rows[:, outside].any(axis=1)
    return np.asarray(free)


def best_capacity(table: Ints, gains: Ints, cuts: Ints) -> Fitted:
    """Return the capacity with the largest gain for given cuts.

    `gains` gives, for each sample and level of the target, the gain of saying that it is reached.
    """
    samples, height = gains.shape
    rows = np.concatenate([held(table, cuts, j) for j in range(1, height + 1)])
    level = np.repeat(np.arange(1, height + 1), samples)
    claims, index = np.unique(np.column_stack([level, rows]), axis=0, return_inverse=True)
    worth = np.zeros(len(claims), dtype=np.int64)
    np.add.at(worth, index.reshape(-1), gains.T.ravel())
    levels, sets = claims[:, 0].astype(np.int64), claims[:, 1:].astype(bool)
    smallest, greatest = best_closures(levels, sets, worth)
    full = tuple(range(table.shape[1]))
    focal = {(full, height)}
    for j in range(1, height + 1):
        focal |= {(_members(body), j) for body in minimal(sets[smallest & (levels == j)])}
    outside = set()
    for j in range(1, height + 1):  # the largest sets below a level determine it
        outside |= {(_members(~rest), j) for rest in minimal(~sets[~greatest & (levels == j)])}
    functional = UtilityFunctional(_plain(cuts), tuple(sorted(focal, key=lambda one: (one[1], one[0]))))
    return Fitted(int(worth[smallest].sum()), functional, tuple(sorted(outside)))


def _members(body: Bools) -> tuple[int, ...]:
    return tuple(int(i) for i in np.flatnonzero(body))


def _plain(cuts: Ints) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(cut) for cut in row) for row in cuts)


def learn_terms(
    table: Ints, levels: npt.NDArray[np.int64], gains: Ints, terms: int, rng: np.random.Generator
) -> tuple[Fitted, ...]:
    """Learn cuts and capacities of several functionals, whose maximum is the answer."""
    rows, index = np.unique(table, axis=0, return_inverse=True)
    summed = np.zeros((len(rows), gains.shape[1]), dtype=np.int64)
    np.add.at(summed, index.reshape(-1), gains)
    counts = np.bincount(index.reshape(-1))
    shares = ((summed > 0) * counts[:, None]).sum(axis=0) / counts.sum()
    fits: list[Fitted] = []
    for turn in range(_ROUNDS if terms > 1 else 1):
        for t in range(terms):
            others = [fitted.least for s, fitted in enumerate(fits) if s != t]
            free = np.where(_reached(others, rows, gains.shape[1]), 0, summed)
            if turn:
                starts = [np.array(fits[t].least.cuts)]
            elif not t:
                spreads = [0.0] + [_SPREAD] * (_STARTS - 1)
                starts = [_first_cuts(rows, counts, shares, rng, spread) for spread in spreads]
            else:
                starts = _further_cuts(rows, levels, free, rng)
                starts += [_first_cuts(rows, counts, shares, rng, _SPREAD) for _ in range(_FURTHER)]
            fits[t : t + 1] = [_best_of(rows, levels, free, starts, rng)]
    return tuple(fits)


def _best_of(rows: Ints, levels: Ints, gains: Ints, starts: list[Ints], rng: np.random.Generator) -> Fitted:
    """Return the best result from several initial cuts; the sum of all positive gains is an upper bound."""
    max_gain = int(gains[gains > 0].sum())
    best = _learn(rows, levels, gains, starts[0], rng)
    for start in starts[1:]:
        if best.gain == max_gain:
            break
        other = _learn(rows, levels, gains, start, rng)
        best = other if other.gain > best.gain else best
    small = int(levels.sum()) ** 2 * gains.shape[1] * len(rows) <= _SMALL
    return _polished(rows, levels, gains, best, max_gain) if small else best


def _polished(rows: Ints, levels: Ints, gains: Ints, best: Fitted, max_gain: int) -> Fitted:
    """For small tables, try all other positions of two cuts of a level, each with its best capacity."""
    features, height = len(levels), gains.shape[1]
    pairs = list(combinations(range(features), 2)) or [(0, 0)]
    helped = True
    while helped and best.gain < max_gain:
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
    """Return cuts of a term that reaches nothing, and of terms that each reach one row not reached yet."""
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
    """Return initial cuts.

    As many samples reach the cut of a feature as reach the level of the target, or for all levels of a
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
    """Move each cut in turn to its best position while all else stays; a feature may never reach a level."""
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
            tail = np.cumsum(by_level[::-1])[::-1]  # gain of the cut at each level
            allowed = tail[lowest : highest + 1]
            if tail[cuts[i, j - 1]] < allowed.max():
                best = np.flatnonzero(allowed == allowed.max())
                cuts[i, j - 1] = lowest + best[len(best) // 2]
    return cuts
