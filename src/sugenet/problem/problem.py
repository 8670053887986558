"""A question in its simplest form: whether some set of moves of a neighbourhood reaches a goal.

Engines decide problems. A problem holds, with a proof, or it fails, with a witness. Otherwise it stays open,
with the facts found so far. The definition replays the moves of every witness, whichever
engine found them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from sugenet.errors import SoundnessError
from sugenet.nn.arrays import Ints
from sugenet.problem.cascade import Cascade
from sugenet.problem.first_layer import FirstLayer
from sugenet.problem.goal import Goal
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood, is_soon_expanded, row_of
from sugenet.reprs import ShortRepr

__all__ = [
    "ENUMERATED",
    "Enumerated",
    "Fails",
    "Holds",
    "Interrupted",
    "Open",
    "Outcome",
    "Problem",
    "replayed",
]


@dataclass(frozen=True, eq=False)
class Problem(ShortRepr):
    """Whether some allowed set of moves takes the match counts of the classes to the goal."""

    near: Neighbourhood
    goal: Goal
    counts: Ints | None = None
    """Match counts of the classes at the sample, one row, if they are known."""
    proof: Any = None
    """Proof that there is no violation, if the translation of the question already gave one."""

    @cached_property
    def first_layer(self) -> FirstLayer:
        """The first layer as seen from the neighbourhood."""
        return FirstLayer.of(self.near)

    @cached_property
    def cascade(self) -> Cascade:
        """The whole problem as thresholds over 0/1 variables."""
        return Cascade.of(self.near, self.goal)

    def importance(self) -> dict[int, float]:
        """Return how much each movable feature can change neurons of the first layer, to order searches.

        Only neurons near their threshold count. If there are too many steps to look at each, all neurons
        count.
        """
        return self.first_layer.importance() if is_soon_expanded(self.near) else _brought(self.near)

    @cached_property
    def begins_bad(self) -> bool:
        """Whether the sample itself is a violation. If the packed form says so, the definition
        confirms it.
        """
        near = self.near
        counts = near.network.packed().match_counts(near.inputs) if self.counts is None else self.counts
        return bool(self.goal.violates(counts)[0]) and self.replays(())

    def replays(self, moves: Iterable[FeatureMove]) -> bool:
        """Return whether moves are allowed and reach the goal, by the definition."""
        return self.replay(moves) is not None

    def replay(self, moves: Iterable[FeatureMove]) -> Ints | None:
        """Return the match counts of the classes after moves, one row, by the definition.

        Return None if the moves are not allowed or do not reach the goal.
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
        """Return whether moves reach the goal, allowed or not."""
        return bool(self.goal.violates(self._after(moves))[0])

    def _after(self, moves: Iterable[FeatureMove]) -> Ints:
        near = self.near
        return near.network.match_counts(row_of(near.moved(moves)), engine="definition")


def _brought(near: Neighbourhood) -> dict[int, float]:
    """Return how much each feature can change all neurons of the first layer together; 0 after a pool."""
    first, network = near.network.layers[0], near.network
    contributions = dict.fromkeys(near.places, 0.0)
    if first.every is None:
        for feature, moves in near.places.items():
            far = abs(near.columns.states[moves] - near.states[feature]).max()
            indices = [feature] if network.reads_levels else network.encoder.group(feature)
            contributions[feature] = float(
                far * sum(int(abs(first.column(index)[1]).sum()) for index in indices)
            )
    return contributions


# -- outcomes ------------------------------------------------------------------------------------------------

ENUMERATED = {"kind": "enumerate"}
"""The proof of an enumeration: the checker enumerates again."""


@dataclass(frozen=True)
class Holds:
    """No input of the problem is a violation. `proof` is JSON for the checker; None if there is none."""

    engine: str
    proof: Any
    sets: int | None = None
    """Number of sets of moves that the engine enumerated; None if it enumerated none or did not count."""


@dataclass(frozen=True)
class Fails:
    """An input that is a violation, in raw values, replayed exactly."""

    engine: str
    witness: tuple[Any, ...]
    counts: Ints | None = field(default=None, compare=False)
    """Match counts of the classes of the problem's network at the witness, one row, if they are known."""


@dataclass(frozen=True)
class Open:
    """Neither proved nor refuted; `facts` were found on the way."""

    engine: str
    reason: str
    facts: dict[str, Any]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the facts known at that time."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__("interrupted")
        self.facts = facts


Outcome: TypeAlias = Holds | Fails | Open


def replayed(problem: Problem, engine: str, moves: tuple[FeatureMove, ...]) -> Fails | Open:
    """Return the witness that moves lead to if the definition agrees, or `Open` if only
    rounding allows them.
    """
    if not problem.near.admits(moves):
        return Open(
            engine, "a violation was found whose exact cost is beyond the limit by less than rounding", {}
        )
    witness = problem.near.moved(moves)
    counts = problem.replay(moves)
    if counts is None:
        raise SoundnessError(
            f"{engine} answered {witness}, which does not reach the goal. Please report this question."
        )
    return Fails(engine, witness, counts)


@dataclass(frozen=True)
class Enumerated:
    """Result of enumerating sets of moves."""

    sets: int
    """Number of sets enumerated."""
    violation: tuple[FeatureMove, ...] | None
    """Moves that reach the goal, or None if none of the sets does."""
