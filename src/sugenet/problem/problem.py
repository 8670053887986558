"""A question in its simplest form: does some set of moves of a neighbourhood reach a goal?
Engines decide problems.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sugenet.bnn.arrays import Ints
from sugenet.brief import Brief
from sugenet.problem.cascade import Cascade
from sugenet.problem.front import Front
from sugenet.problem.goal import Goal
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood, row_of
from sugenet.problem.sizes import is_soon_cut

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem(Brief):
    """Whether some allowed set of moves takes the match counts of the classes to the goal."""

    near: Neighbourhood
    goal: Goal
    counts: Ints | None = None
    """Match counts of the classes at the sample, one row, where they are known."""

    @cached_property
    def front(self) -> Front:
        """The first layer seen from the neighbourhood."""
        return Front.of(self.near)

    @cached_property
    def cascade(self) -> Cascade:
        """The whole problem as thresholds over 0/1 variables."""
        return Cascade.of(self.near, self.goal)

    def importance(self) -> dict[int, float]:
        """For each feature that can move, what it can bring to neurons of the first layer, for the order of
        searches: to those near their threshold, or to all where there are too many steps to look at each.
        """
        return self.front.importance() if is_soon_cut(self.near) else _brought(self.near)

    @cached_property
    def begins_bad(self) -> bool:
        """Whether the sample itself is a violation, by the definition where the packed form says so."""
        near = self.near
        counts = near.network.packed().match_counts(near.inputs) if self.counts is None else self.counts
        return bool(self.goal.violates(counts)[0]) and self.replays(())

    def replays(self, moves: Iterable[FeatureMove]) -> bool:
        """Whether moves are allowed and reach the goal, by the definition."""
        return self.replay(moves) is not None

    def replay(self, moves: Iterable[FeatureMove]) -> Ints | None:
        """The match counts of the classes that moves lead to, one row, by the definition; None where moves
        are not allowed or do not reach the goal.
        """
        chosen = list(moves)
        near = self.near
        if not all(near.has(move) for move in chosen) or not near.admits(chosen):
            return None
        if near.budget is not None and sum(move.weight for move in chosen) > near.budget:
            return None
        counts = self._after(chosen)
        return counts if self.goal.violates(counts)[0] else None

    def reaches(self, moves: Iterable[FeatureMove]) -> bool:
        """Whether moves reach the goal, allowed or not."""
        return bool(self.goal.violates(self._after(moves))[0])

    def _after(self, moves: Iterable[FeatureMove]) -> Ints:
        near = self.near
        return near.network.match_counts(row_of(near.moved(moves)), engine="definition")


def _brought(near: Neighbourhood) -> dict[int, float]:
    """What each feature can bring to all neurons of the first layer together; 0 behind a pool."""
    first, network = near.network.layers[0], near.network
    found = dict.fromkeys(near.places, 0.0)
    if first.every is None:
        for feature, moves in near.places.items():
            far = abs(near.columns.states[moves] - near.states[feature]).max()
            places = [feature] if network.reads_levels else network.encoder.group(feature)
            found[feature] = float(far * sum(int(abs(first.column(place)[1]).sum()) for place in places))
    return found
