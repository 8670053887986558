"""Single moves: where no two features can move together, every input of the neighbourhood is put to
the network itself.

The first layer is looked at feature by feature, so that a convolution is never unrolled; moves that turn the
same neurons share one judgement, by packed inference in blocks.
A ball of radius 1 over a whole image is settled so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.problem.clock import Clock
from sugenet.problem.neighbourhood import FeatureMove, Neighbourhood
from sugenet.problem.problem import Enumerated, Problem
from sugenet.problem.sizes import is_soon_expanded

__all__ = ["inputs_after", "rows_at_once", "violating_singles", "walk_singles"]

_ROW_BYTES = 1 << 25  # of the inputs of one block
_BLOCK = 1 << 11  # inputs, at most


def walk_singles(problem: Problem, budget: int, clock: Clock) -> Enumerated | None:
    """Go through no move at all and all moves that weigh at most `budget`, until one reaches the goal; None
    when the time was up.
    """
    near = problem.near
    if problem.replays(()):
        return Enumerated(1, 1, ())
    walk = _Single(problem, clock.threads)
    sets = 1
    for part in problem.first_layer.parts():
        if clock.up():
            return None
        inside = np.flatnonzero(near.columns.weights[part.moves] <= budget)
        sets += len(inside)
        turned = walk.turned(part.neurons, part.gains[inside])
        for row in np.flatnonzero(_changes(turned)).tolist():
            walk.add(part.neurons[turned[row]], part.moves.start + int(inside[row]))
        if walk.full and walk.judge():
            return walk.found(sets)
    walk.judge()
    return walk.found(sets)


def violating_singles(problem: Problem, clock: Clock) -> Iterator[FeatureMove]:
    """Moves that reach the goal on their own, feature by feature, one for each pattern of neurons that they
    turn, or all where there are too many steps to look at patterns; until the time is up.
    """
    near = problem.near
    packed = near.network.packed("auto")
    block = rows_at_once(near)
    if not is_soon_expanded(near):  # all of them, then, by the network as it is
        for start in range(0, len(near.moves), block):
            if clock.up():
                return
            chosen = list(range(start, min(start + block, len(near.moves))))
            bad = problem.goal.violates(packed.match_counts(inputs_after(near, chosen), clock.threads))
            yield from (near.moves[chosen[k]] for k in np.flatnonzero(bad).tolist())
        return
    active = problem.first_layer.margins >= 0
    waiting: list[int] = []
    for part in problem.first_layer.parts():
        if clock.up():
            return
        turned = (problem.first_layer.margins[part.neurons] + part.gains >= 0) != active[part.neurons]
        waiting += (part.moves.start + np.flatnonzero(_changes(turned))).tolist()
        if len(waiting) >= block or part.moves.stop == len(near.moves):
            for start in range(0, len(waiting), block):
                chosen = waiting[start : start + block]
                bad = problem.goal.violates(packed.match_counts(inputs_after(near, chosen)))
                yield from (near.moves[chosen[k]] for k in np.flatnonzero(bad).tolist())
                if clock.up():
                    return
            waiting = []


def _changes(turned: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which rows are not as the one before."""
    return np.append(True, (turned[1:] != turned[:-1]).any(axis=1))[: len(turned)]


def rows_at_once(near: Neighbourhood) -> int:
    """How many inputs make a block."""
    return max(1, min(_BLOCK, _ROW_BYTES // max(1, int(near.inputs.nbytes))))


class _Single:
    """Single moves on their way to the network, and the patterns that are known."""

    def __init__(self, problem: Problem, threads: int | None) -> None:
        self.problem, self.threads = problem, threads
        self.margins, self.active = problem.first_layer.margins, problem.first_layer.margins >= 0
        self.known = {b""}
        """Neurons that turn together."""
        self.waiting: list[int] = []
        self.violation: FeatureMove | None = None
        self.block = rows_at_once(problem.near)

    def turned(self, neurons: Ints, gains: Ints) -> npt.NDArray[np.bool_]:
        """Which of the fragile neurons that read a feature have turned, one row a move."""
        return np.asarray((self.margins[neurons] + gains >= 0) != self.active[neurons])

    def add(self, neurons: Ints, move: int) -> None:
        """A move waits to be judged where the neurons that it turns have not been seen."""
        key = np.sort(neurons).astype(np.int32).tobytes()
        if key not in self.known:
            self.known.add(key)
            self.waiting.append(move)

    @property
    def full(self) -> bool:
        """Whether as many moves wait as one block takes."""
        return len(self.waiting) >= self.block

    def judge(self) -> bool:
        """Put the waiting moves to the network; True when one reaches the goal."""
        near, goal = self.problem.near, self.problem.goal
        packed = near.network.packed("auto")
        for start in range(0, len(self.waiting), self.block):
            chosen = self.waiting[start : start + self.block]
            bad = goal.violates(packed.match_counts(inputs_after(near, chosen), self.threads))
            if bad.any():
                self.violation = near.moves[chosen[int(np.argmax(bad))]]
                break
        self.waiting = []
        return self.violation is not None

    def found(self, sets: int) -> Enumerated:
        """What is known at the end."""
        return Enumerated(sets, len(self.known), None if self.violation is None else (self.violation,))


def inputs_after(near: Neighbourhood, moves: Sequence[int], start: Any = None) -> Any:
    """What the first layer reads after each of some moves, one row each; from the sample, or from what it
    reads after others.
    """
    rows = np.repeat(near.inputs if start is None else start, len(moves), axis=0)
    encoder, columns = near.network.encoder, near.columns
    features, states = columns.features[list(moves)], columns.states[list(moves)]
    if near.network.reads_levels:
        rows[np.arange(len(moves)), features] = states
        return rows
    for row, feature, state in zip(rows, features.tolist(), states.tolist(), strict=True):
        group = encoder.group(feature)
        row[group.start : group.stop] = encoder.codings[feature].bits(state)
    return rows
