"""Search for violations on the network itself: distant inputs first, then nearer ones at lower cost.

Nothing is expanded to steps or tabulated, so it works for networks of any kind and size. It finds violations
and never proves; floats only decide the order of attempts.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.engines.walk.singles import rows_at_once
from sugenet.nn import Steps
from sugenet.nn.arrays import Ints
from sugenet.problem import Clock, FeatureMove, Problem

__all__ = ["Descent"]

_DRAWN = 30
"""Number of distant inputs drawn at random in each of two ways."""
_TRIES = 16
"""Number of distances, or of changes, that are tried at a time."""
_ROUNDS = 30
"""Largest number of rounds in which values are moved nearer."""
_OUT = -1  # no move

Change: TypeAlias = tuple[Ints, Ints]
"""Indices of features, and the indices of their new moves."""


class Descent:
    """Sets of moves that reach the goal of a problem, made cheaper by successive changes.

    Parameters
    ----------
    problem
        The problem; its budget is ignored.
    largest
        Whether the largest price counts instead of the sum.
    clock
        Checked before every batch of inputs. The answer depends only on its seed, unless the time is up.
    keep
        Called with every set as soon as it is known, so that nothing is lost if the search ends early.
    """

    def __init__(
        self,
        problem: Problem,
        largest: bool,
        clock: Clock,
        keep: Callable[[tuple[FeatureMove, ...]], object],
    ) -> None:
        self.near, self.goal, self.largest, self.clock, self.keep = (
            problem.near,
            problem.goal,
            largest,
            clock,
            keep,
        )
        near, codings = self.near, problem.near.network.encoder.codings
        self.features, self.states = np.array(list(near.places), np.int64), near.columns.states
        self.starts = np.array([index.start for index in near.places.values()], np.int64)
        self.stops = np.array([index.stop for index in near.places.values()], np.int64)
        self.own = np.array(near.states, np.int64)[self.features]
        # starting at the sample, states below lead down and those above lead up; categories are side by side
        self.above = self.states > self.own.repeat(self.stops - self.starts)
        steps = np.array([isinstance(codings[feature], Steps) for feature in self.features.tolist()], bool)
        self.steps = steps.repeat(self.stops - self.starts)
        floats: dict[int, float] = {}
        ways = list(near.moves.ways.values())
        both = {
            key: np.array(
                [(_float(way.distance, floats), _float(way.price, floats)) for way in rows]
            ).reshape(-1, 2)
            for key, rows in near.moves.distinct.items()
        }
        table = np.concatenate([np.zeros((0, 2)), *(both[id(rows)] for rows in ways)])
        self.distances, self.prices = table[:, 0], table[:, 1]
        self.chosen = np.full(len(self.features), _OUT)

    def far(self) -> bool:
        """Return whether some distant input reaches the goal: every feature at its minimum, at its maximum,
        at either, or anywhere. The cheapest of these is then moved nearer to the sample.
        """
        rng = np.random.default_rng(self.clock.seed)
        size = (_DRAWN, len(self.features))
        ends = np.where(rng.random(size) < 0.5, self.starts, self.stops - 1)
        sampled = rng.integers(self.starts, self.stops, size)
        rows = np.concatenate([[self.starts, self.stops - 1], ends, sampled])
        every = np.arange(len(self.features))
        best: Ints | None = None
        self.chosen = np.full(len(self.features), _OUT)
        for number in np.flatnonzero(self._reach([(every, row) for row in rows])).tolist()[:2]:
            self._go((every, rows[number]))
            self._clip()
            if best is None or self._value(self.chosen) < self._value(best):
                best = self.chosen
        if best is None:
            return False
        self.chosen = best
        return True

    def nearer(self, moves: tuple[FeatureMove, ...]) -> None:
        """Make moves that reach the goal cheaper."""
        indices = {feature: index for index, feature in enumerate(self.features.tolist())}
        self.chosen = np.full(len(self.features), _OUT)
        for move in moves:
            index = indices[move.feature]
            states = self.states[self.starts[index] : self.stops[index]]
            self.chosen[index] = self.starts[index] + int(np.flatnonzero(states == move.state)[0])
        self.down()

    def down(self) -> None:
        """Drop unnecessary moves and move values nearer, until neither helps."""
        self._clip()
        size = int((self.chosen >= 0).sum())
        while size > 1 and not self.clock.up():
            size = (size + 1) // 2
            self._improve([(part, np.full(len(part), _OUT)) for part in self._chunks(size)])
        for _ in range(_ROUNDS):
            if self.clock.up():
                return
            fewer = self._improve([(part, np.full(1, _OUT)) for part in self._chunks(1)])
            if not self._closer() and not fewer:
                return

    def _value(self, chosen: Ints) -> float:
        prices = self.prices[chosen[chosen >= 0]]
        with np.errstate(
            over="ignore"
        ):  # costs of the largest floats: they only affect the order of attempts
            return float(prices.max(initial=0.0) if self.largest else prices.sum())

    def _chunks(self, size: int) -> Iterator[Ints]:
        """Yield moved features, by cost, `size` at a time."""
        moved = np.flatnonzero(self.chosen >= 0)
        order = moved[np.argsort(-self.prices[self.chosen[moved]], kind="stable")]
        return (order[k : k + size] for k in range(0, len(order), size))

    # -- evaluating ------------------------------------------------------------------------------------------

    def _go(self, *changes: Change) -> None:
        chosen = self.chosen.copy()
        for indices, moves in changes:
            chosen[indices] = moves
        self.chosen = chosen
        self.keep(tuple(self.near.moves[k] for k in chosen[chosen >= 0].tolist()))

    def _reach(self, changes: list[Change]) -> npt.NDArray[np.bool_]:
        """Return which changes of the chosen moves reach the goal; none after the time is up."""
        out = np.zeros(len(changes), bool)
        packed = self.near.network.packed("auto")
        block = rows_at_once(self.near)
        here = np.array(self.near.states, np.int64)
        here[self.features] = self._states(np.arange(len(self.features)), self.chosen)
        for start in range(0, len(changes), block):
            if self.clock.up():
                break
            part = changes[start : start + block]
            rows = np.repeat(here[None], len(part), axis=0)
            for row, (indices, moves) in zip(rows, part, strict=True):
                row[self.features[indices]] = self._states(indices, moves)
            network = self.near.network
            inputs = rows if network.reads_levels else network.encoder.bits_of_levels(rows)
            counts = packed.match_counts(inputs, self.clock.threads)
            out[start : start + len(part)] = self.goal.violates(counts)
        return out

    def _states(self, indices: Ints, moves: Ints) -> Ints:
        """Return the states of features after their moves."""
        return np.where(moves < 0, self.own[indices], self.states[moves])

    def _improve(self, changes: list[Change]) -> bool:
        """Make as many compatible changes as possible, of those possible alone; return whether any was
        made.
        """
        changed = False
        while changes and not self.clock.up():
            changes = [changes[k] for k in np.flatnonzero(self._reach(changes)).tolist()]
            if not changes:
                break
            low, high = 1, len(changes) + 1  # this many are compatible, this many are not known to be
            while high - low > 1:
                tried = sorted({low + (high - low) * k // _TRIES for k in range(1, _TRIES + 1)} - {low, high})
                good = self._reach([_together(changes[:count]) for count in tried])
                last_good = int(np.flatnonzero(good)[-1]) if good.any() else -1
                high = tried[last_good + 1] if last_good + 1 < len(tried) else high
                if last_good < 0:
                    high = tried[0]
                else:
                    low = tried[last_good]
                if self.clock.up():
                    break
            self._go(*changes[:low])
            changed = True
            changes = changes[low + 1 :]  # the next one was not compatible with these
        return changed

    # -- values nearer ---------------------------------------------------------------------------------------

    def _clip(self) -> None:
        """Find the smallest distance within which the clipped values still reach the goal."""
        start = self.chosen
        moved = np.flatnonzero(start >= 0)
        if not len(moved):
            return
        goals, far = start[moved], self.distances[start[moved]].max()
        radii = np.unique(self.distances[self.distances <= far])
        low, high = -1, len(radii) - 1  # the sample itself, and all unchanged
        while high - low > 1 and not self.clock.up():
            tried = sorted({low + (high - low) * k // _TRIES for k in range(1, _TRIES)} - {low, high})
            changes = [(moved, self._clipped(moved, goals, radii[index])) for index in tried]
            good = np.flatnonzero(self._reach(changes))
            first = int(good[0]) if len(good) else len(tried)
            if len(good):
                before = self.chosen
                if self._value(_after(before, changes[first])) <= self._value(before):
                    self._go(changes[first])
                high = tried[first]
            low = tried[first - 1] if first else low

    def _clipped(self, moved: Ints, goals: Ints, radius: float) -> Ints:
        """Return the furthest move of each feature towards its goal within a distance."""
        inside = self.distances <= radius
        up = np.add.reduceat(inside & self.above, self.starts, dtype=np.int64)[moved]
        down = np.add.reduceat(inside & ~self.above, self.starts, dtype=np.int64)[moved]
        first = self.stops[moved] - np.add.reduceat(self.above, self.starts, dtype=np.int64)[moved]
        rising = np.where(up > 0, np.minimum(goals, first + up - 1), _OUT)
        falling = np.where(down > 0, np.maximum(goals, first - down), _OUT)
        stepped = np.where(self.above[goals], rising, falling)
        return np.where(self.steps[goals], stepped, np.where(inside[goals], goals, _OUT))

    def _closer(self) -> bool:
        """Move single values to cheaper ones: half of the way, three quarters, or one step. Return whether
        any was moved. If the largest price counts, only that one is considered.
        """
        moved = np.flatnonzero(self.chosen >= 0)
        prices = self.prices[self.chosen[moved]]
        if self.largest:
            moved = moved[prices == prices.max(initial=0.0)]
        changes: list[Change] = []
        for index in moved.tolist():
            inside = np.arange(self.starts[index], self.stops[index])
            cheaper = inside[self.prices[inside] < self.prices[self.chosen[index]]]
            cheaper = cheaper[np.argsort(self.prices[cheaper], kind="stable")]
            n_cheaper = len(cheaper)
            picked = dict.fromkeys((n_cheaper // 2, 3 * n_cheaper // 4, n_cheaper - 1)) if n_cheaper else {}
            changes += [(np.array([index]), cheaper[[k]]) for k in picked]
        good = self._reach(changes)
        first: dict[int, Change] = {}
        for change, fine in zip(changes, good.tolist(), strict=True):
            if fine:
                first.setdefault(int(change[0][0]), change)
        return self._improve(list(first.values()))


def _after(chosen: Ints, change: Change) -> Ints:
    after = chosen.copy()
    after[change[0]] = change[1]
    return after


def _together(changes: list[Change]) -> Change:
    return np.concatenate([indices for indices, _ in changes]), np.concatenate(
        [moves for _, moves in changes]
    )


def _float(number: Fraction, known: dict[int, float]) -> float:
    """Return the float nearest to a fraction, cached."""
    if id(number) not in known:
        try:
            known[id(number)] = float(number)
        except OverflowError:
            known[id(number)] = float("inf")
    return known[id(number)]
