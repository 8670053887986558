"""Single moves: if no two features can move together, the network evaluates every input of the neighbourhood.

The first layer is evaluated feature by feature, so that a convolution is never unrolled. Moves that turn the
same neurons share one evaluation, by packed inference in blocks.
A ball of radius 1 over a whole image is enumerated in this way.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.problem import Clock, Enumerated, FeatureMove, Neighbourhood, Problem, is_soon_expanded

__all__ = ["inputs_after", "rows_at_once", "violating_singles", "walk_singles"]

_ROW_BYTES = 1 << 25  # of the inputs of one block
_BLOCK = 1 << 11  # largest number of inputs of a block


def walk_singles(problem: Problem, budget: int, clock: Clock) -> Enumerated | None:
    """Enumerate the empty set and all moves that weigh at most `budget`, until one reaches the goal; None if
    the time was up.
    """
    if problem.replays(()):
        return Enumerated(1, ())
    sets = 1 + int((problem.near.columns.weights <= budget).sum())
    for violating in _violating(problem, _turning(problem, budget), clock):
        if violating is None:
            return None
        if violating:
            return Enumerated(sets, (problem.near.moves[violating[0]],))
    return Enumerated(sets, None)


def violating_singles(problem: Problem, clock: Clock) -> Iterator[FeatureMove]:
    """Yield moves that reach the goal alone, feature by feature, one for each pattern of neurons that they
    turn. If there are too many steps to compare patterns, yield all; stop if the time is up.
    """
    near = problem.near
    parts = _turning(problem) if is_soon_expanded(near) else ([k] for k in range(len(near.moves)))
    for violating in _violating(problem, parts, clock):
        yield from (near.moves[k] for k in violating or ())


def _violating(problem: Problem, parts: Iterable[list[int]], clock: Clock) -> Iterator[list[int] | None]:
    """Yield which of the moves of some parts reach the goal alone, block by block; None if the time is up."""
    near, waiting = problem.near, list[int]()
    packed, block = near.network.packed("auto"), rows_at_once(near)
    for part in chain(parts, [None]):
        if clock.up():
            yield None
            return
        waiting += part or []
        if part is None or len(waiting) >= block:
            for start in range(0, len(waiting), block):
                chosen = waiting[start : start + block]
                counts = packed.match_counts(inputs_after(near, chosen), clock.threads)
                yield [chosen[k] for k in np.flatnonzero(problem.goal.violates(counts)).tolist()]
            waiting = []


def _turning(problem: Problem, budget: int | None = None) -> Iterator[list[int]]:
    """Yield the moves of each feature, one of adjacent ones that turn the same neurons. With a budget, only
    those within it, and one of all features that turn the same neurons.
    """
    near, margins = problem.near, problem.first_layer.margins
    known = {b""}
    for part in problem.first_layer.parts():
        inside = np.arange(len(part.gains))
        if budget is not None:
            inside = np.flatnonzero(near.columns.weights[part.moves] <= budget)
        turned = (margins[part.neurons] + part.gains[inside] >= 0) != (margins[part.neurons] >= 0)
        rows = np.flatnonzero(_changes(turned)).tolist()
        if budget is not None:
            keys = {row: np.sort(part.neurons[turned[row]]).astype(np.int32).tobytes() for row in rows}
            rows = [row for row, key in keys.items() if key not in known]
            known.update(keys.values())
        yield (part.moves.start + inside[rows]).tolist()


def _changes(turned: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return which rows differ from the one before."""
    return np.append(True, (turned[1:] != turned[:-1]).any(axis=1))[: len(turned)]


def rows_at_once(near: Neighbourhood) -> int:
    """Return the number of inputs of a block."""
    return max(1, min(_BLOCK, _ROW_BYTES // max(1, int(near.inputs.nbytes))))


def inputs_after(near: Neighbourhood, moves: Sequence[int], start: Any = None) -> Any:
    """Return the inputs of the first layer after each of some moves, one row each, from the sample or from
    the inputs after other moves.
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
