"""Prime rules of a large network, grown from codewords by the CDCL solver, which keeps its learned clauses.

A rule begins as a single codeword. The limits that the solver did not need for its proof are dropped first;
then whole features, the least important first. Then each remaining limit is widened as far as possible.
Widening can only make a rule false, never true, so one pass leaves nothing to widen. Codewords of known
class, the samples and all counterexamples, answer most questions with "no" at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from sugenet.engines.hard.learn.solver import Core, Found, Solver, solver_of
from sugenet.engines.ladder import decide
from sugenet.errors import SoundnessError
from sugenet.nn.arrays import Ints
from sugenet.problem import AnyInput, Box, Clock, Fails, Holds, Problem, loses, row_of
from sugenet.reason.rules.grid import Grid, Masks, indices_of

__all__ = ["Grower", "Grown"]


@dataclass(frozen=True)
class Grown:
    """Box all of whose codewords have the class; prime unless some question was undecided."""

    masks: Masks
    prime: bool


@dataclass
class Grower:
    """Search for rules of one class."""

    grid: Grid
    label: int
    clock: Clock
    others: Ints
    """Codewords known to have another class, one row of places each."""
    _solver: Solver | None = None
    _steps: dict[int, range] = field(default_factory=dict)
    _open: bool = False

    def __post_init__(self) -> None:
        start = self.grid.values([0] * len(self.grid.sizes))
        problem = Problem(
            AnyInput().around(self.grid.network, start), loses(self.grid.network.head, self.label)
        )
        self._solver = solver_of(problem, self.clock.seed)
        if self._solver is not None:
            self._steps = {chain.feature: chain.steps for chain in problem.cascade.chains}

    def grow(self, indices: Sequence[int], take: Ints | None = None) -> Grown | None:
        """Return a rule that covers a codeword of the class; None if there was no time to prove anything.

        `take` are codewords that it should also cover, as many as possible, the nearest first.
        """
        self._open = False
        box = [1 << int(index) for index in indices]
        order = self._order(indices)
        known = self._asked(box)
        if known is None:
            return None
        box = known if take is None else self._taken(known, take)
        for feature in order:
            if self._late():
                break
            if box[feature] != self.grid.full[feature]:
                box = self._asked([*box[:feature], self.grid.full[feature], *box[feature + 1 :]]) or box
        for feature in order:
            if self._late():
                break
            if box[feature] != self.grid.full[feature]:
                box[feature] = self._widened(box, feature)
        return Grown(tuple(box), not self._open)

    def _taken(self, box: list[int], take: Ints) -> list[int]:
        """Return a box that is widened to further codewords, as far as it keeps the class."""
        rest = take
        while len(rest) and not self._late():
            allowed = [
                np.array([mask >> index & 1 for index in range(size)], bool)
                for mask, size in zip(box, self.grid.sizes, strict=True)
            ]
            outside = np.stack([~row[rest[:, f]] for f, row in enumerate(allowed)], axis=1).sum(axis=1)
            rest, outside = rest[outside > 0], outside[outside > 0]
            if not len(rest):
                break
            nearest = int(outside.argmin())
            wide = [self._with(f, mask, int(rest[nearest, f])) for f, mask in enumerate(box)]
            box = self._asked(wide) or box
            rest = np.delete(rest, nearest, axis=0)
        return box

    def _with(self, feature: int, mask: int, index: int) -> int:
        """Return allowed places with that at an index; for a number, also those between them."""
        wide = mask | 1 << index
        if not self.grid.is_number(feature):
            return wide
        return (1 << wide.bit_length()) - (wide & -wide)

    def _order(self, indices: Sequence[int]) -> list[int]:
        """Return features from least to most important: by their effect on first-layer neurons near the
        threshold.
        """
        problem = Problem(
            AnyInput().around(self.grid.network, self.grid.values(indices)),
            loses(self.grid.network.head, self.label),
        )
        weight = dict.fromkeys(range(len(self.grid.sizes)), 0.0) | problem.importance()
        return sorted(weight, key=lambda feature: (weight[feature], feature))

    def _widened(self, box: list[int], feature: int) -> int:
        """Return the places that one limit can have while the others stay."""
        mask, size = box[feature], self.grid.sizes[feature]
        if not self.grid.is_number(feature):
            for index in range(size):
                if not mask >> index & 1 and self._holds([*box[:feature], 1 << index, *box[feature + 1 :]]):
                    mask |= 1 << index
            return mask
        low, high = indices_of(mask)[0], indices_of(mask)[-1]
        far, near = 0, low  # all down to `near` are allowed; nothing beyond `far` is known to be allowed
        while far < near:
            middle = (far + near) // 2
            if self._holds([*box[:feature], (1 << near) - (1 << middle), *box[feature + 1 :]]):
                near = middle
            else:
                far = middle + 1
        low = near
        near, far = high, size - 1
        while near < far:
            middle = (near + far + 1) // 2
            if self._holds([*box[:feature], (1 << middle + 1) - (1 << near + 1), *box[feature + 1 :]]):
                near = middle
            else:
                far = middle - 1
        return (1 << near + 1) - (1 << low)

    # -- questions -------------------------------------------------------------------------------------------

    def _asked(self, box: list[int]) -> list[int] | None:
        """Return a box proved to have the class throughout: this one, or a larger one if its proof allows it.

        None if not proved.
        """
        if self._refuted(box) or self._late():
            return None
        if self._solver is None:
            return box if self._decided(box) else None
        answer = self._solved(self._literals(box))
        if not isinstance(answer, Core):
            return None
        needed: set[int | None] = set(answer.literals)
        wide = list(box)
        for feature, mask in enumerate(box):
            if mask == self.grid.full[feature]:
                continue
            low, high = self._ends(feature, mask)
            below = (mask & -mask) - 1 if low in needed else 0
            wide[feature] = (
                (1 << mask.bit_length()) - 1 if high in needed else self.grid.full[feature]
            ) & ~below
        return wide

    def _holds(self, box: list[int]) -> bool:
        """Return whether a whole box is proved to have the class."""
        if self._refuted(box) or self._late():
            return False
        if self._solver is None:
            return self._decided(box)
        parts = product(*map(_runs_of, box))  # the solver's variables can only express neighbouring places
        return all(isinstance(self._solved(self._literals(part)), Core) for part in parts)

    def _late(self) -> bool:
        """Return whether the time is up, so that further questions stay undecided."""
        late = self.clock.up()
        self._open |= late
        return late

    def _refuted(self, box: list[int]) -> bool:
        return bool(self.grid.inside(tuple(box), self.others).any())

    def _ends(self, feature: int, mask: int) -> tuple[int | None, int | None]:
        """Return the literals for "no lower" and "no higher" of neighbouring places."""
        steps, indices = self._steps.get(feature, range(0)), indices_of(mask)
        low = None if indices[0] == 0 else steps[indices[0] - 1] + 1
        high = None if indices[-1] == self.grid.sizes[feature] - 1 else -(steps[indices[-1]] + 1)
        return low, high

    def _literals(self, box: Sequence[int]) -> list[int]:
        return [
            literal for f, mask in enumerate(box) for literal in self._ends(f, mask) if literal is not None
        ]

    def _solved(self, literals: list[int]) -> Any:
        assert self._solver is not None
        answer = self._solver.solve(self.clock, literals)
        if isinstance(answer, Found):
            values = answer.values
            row = [
                sum(bool(values[step]) for step in self._steps.get(f, ()))
                for f in range(len(self.grid.sizes))
            ]
            self._learn(np.array(row, np.int64))
        elif not isinstance(answer, Core):
            self._open = True
        return answer

    def _decided(self, box: list[int]) -> bool:
        near = Box(self.grid.limits(tuple(box))).of(self.grid.network)
        outcome = decide(Problem(near, loses(self.grid.network.head, self.label)), self.clock)
        if isinstance(outcome, Fails):
            self._learn(self.grid.places(row_of(outcome.witness))[0])
        elif not isinstance(outcome, Holds):
            self._open = True
        return isinstance(outcome, Holds)

    def _learn(self, indices: Ints) -> None:
        if int(self.grid.classes(indices[None, :], "definition")[0]) == self.label:
            raise SoundnessError(
                f"the codeword {indices.tolist()} is not a counterexample. Please report this network."
            )
        self.others = np.concatenate([self.others, indices[None, :]])


def _runs_of(mask: int) -> list[int]:
    """Split a mask into masks of neighbouring places."""
    runs = []
    while mask:
        low = mask & -mask
        run = mask & ~(mask + low)  # adding carries over the lowest run
        runs.append(run)
        mask ^= run
    return runs
