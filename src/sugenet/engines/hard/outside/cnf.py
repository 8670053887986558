"""A problem in clauses alone: every threshold is a decision diagram of partial sums.

For small cases only; large thresholds are better handled as sums.

1. Variables 1, 2, ... are those of the cascade. Then follows one for each case of the goal if there are
   several and some case has more than one inequality. Then follow the nodes of the diagrams.
2. Every step of a feature implies the one before it.
3. If there is a budget: a diagram over the features, starting at the budget, from which each option subtracts
   its weight. Its root is a new variable and must be true.
4. In the order of their variables, every neuron and inequality: a diagram whose root is that variable. The
   first layer has one group per feature, in order. The sum starts with the cheapest option of every feature,
   and an option adds its change. The others have one group for each neuron before them that is not constant,
   in order, with the options off (adds nothing) and on.
5. The goal: a case implies its inequalities, all of them imply it, and some case holds.

In a diagram the node (i, s) says: if the groups before i have brought the sum to s, the final sum is 0 or
more. ``up`` is an upper bound on the gain of the groups from i on: the sum of their largest gains. In the
first layer, at most as many of them count as features can move together within the budget. ``down`` is the
same for losses. If ``s + up < 0`` the node is false, if ``s - down >= 0`` it is true. A root of either kind
is a single literal and counts as constant. Groups whose options all add nothing are left out. Nodes are
numbered level by level, in rising order of s, and give these clauses:

- For each option, if it is taken, the node equals its target. - The target with the smallest sum implies the
node, and the node implies the target with the largest sum. - A node implies the next one of its level.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappush, heapreplace
from itertools import accumulate, pairwise

import numpy as np

from sugenet.errors import TooLargeError
from sugenet.problem import Cascade, Problem, goal_clauses, variable_names

__all__ = ["CLAUSES", "Cnf"]

CLAUSES = 300_000
"""Default limit on the number of clauses."""


@dataclass(frozen=True)
class _Group:
    """A choice of one of a few options, each of which adds to a sum."""

    gains: tuple[int, ...]
    unless: tuple[tuple[int, ...], ...]
    """For each option, literals of which one is true iff the option is not taken."""


@dataclass(frozen=True, eq=False)
class Cnf:
    """Clauses over numbered variables, the first of them those of the cascade."""

    cascade: Cascade
    variables: int
    clauses: tuple[tuple[int, ...], ...]
    names: tuple[str, ...] = ()
    """Meanings of the first variables, if known; the others are nodes of diagrams."""

    @classmethod
    def of(cls, problem: Problem, *, limit: int = CLAUSES) -> Cnf:
        """Write a problem as clauses; raise `TooLargeError` if there are more than `limit`."""
        cnf, extra = cls.of_cascade(problem.cascade, limit=limit), goal_clauses(problem.cascade)[1]
        names = (*variable_names(problem), *(f"case {number + 1} of the goal" for number in range(extra)))
        return replace(cnf, names=names)

    @classmethod
    def of_cascade(cls, cascade: Cascade, *, limit: int = CLAUSES) -> Cnf:
        """Write thresholds as clauses."""
        goal, extra = goal_clauses(cascade)
        writer = _Writer(cascade.starts[-1] + extra, limit)
        for chain in cascade.chains:
            writer.add((-(step + 1), step) for step in chain.steps[1:])
        _write_budget(writer, cascade)
        _write_layers(writer, cascade)
        writer.add(goal)
        if writer.count > limit:
            more = "more than " if writer.count > _GIVE_UP * limit else ""
            raise TooLargeError(
                f"this takes {more}{writer.count:,} clauses, but {limit:,} is the limit. "
                "Use a form or a solver that takes sums as they are: OPB, SMT-LIB or MPS; CP-SAT or Exact."
            )
        return cls(cascade, writer.variables, tuple(writer.clauses))


_GIVE_UP = 3  # beyond this multiple of the limit, clauses are not even counted


class _Writer:
    """Collector of clauses; beyond the limit they are only counted."""

    def __init__(self, variables: int, limit: int) -> None:
        self.variables, self.limit, self.count = variables, limit, 0
        self.clauses: list[tuple[int, ...]] = []

    def add(self, clauses: Iterable[tuple[int, ...]]) -> None:
        for clause in clauses:
            self.count += 1
            if self.count <= self.limit:
                self.clauses.append(clause)

    def diagram(
        self, root: int, start: int, groups: Iterable[_Group], max_moves: int | None = None
    ) -> bool | None:
        """Make `root` true iff the final sum is 0 or more; report if it is constant."""
        used = [group for group in groups if any(group.gains)]
        up = _reach([max(group.gains) for group in used], max_moves)
        down = _reach([-min(group.gains) for group in used], max_moves)

        def decided(level: int, total: int) -> bool | None:
            if total + up[level] < 0:
                return False
            return True if total - down[level] >= 0 else None

        constant = decided(0, start)
        if constant is not None:
            self.add([(root if constant else -root,)])
            return constant
        nodes = {start: root}
        for level, group in enumerate(used, start=1):
            if self.count > _GIVE_UP * self.limit:
                break
            fates = {
                total: decided(level, total)
                for total in sorted({s + gain for s in nodes for gain in group.gains})
            }
            open_ = [total for total, fate in fates.items() if fate is None]
            after = {total: self.variables + number for number, total in enumerate(open_, start=1)}
            self.variables += len(after)
            for s, node in nodes.items():
                self.add(_node(node, s, group, after, fates))
            self.add((-low, high) for low, high in pairwise(after.values()))
            nodes = after
        return None


def _node(
    node: int, s: int, group: _Group, after: dict[int, int], fates: dict[int, bool | None]
) -> Iterator[tuple[int, ...]]:
    for gain, unless in zip(group.gains, group.unless, strict=True):
        target = after.get(s + gain)
        if target is None:
            yield (*unless, node if fates[s + gain] else -node)
        else:
            yield (*unless, -node, target)
            yield (*unless, node, -target)
    low, high = after.get(s + min(group.gains)), after.get(s + max(group.gains))
    if low is not None:
        yield (-low, node)
    if high is not None:
        yield (-node, high)


def _reach(best: list[int], n_largest: int | None) -> list[int]:
    """Return, for each level, the sum of the `n_largest` largest numbers from it on."""
    if n_largest is None:
        return list(accumulate(reversed(best), initial=0))[::-1]
    sums, kept, total = [0], list[int](), 0
    for value in reversed(best):
        if len(kept) < n_largest:
            heappush(kept, value)
            total += value
        elif kept and value > kept[0]:
            total += value - heapreplace(kept, value)
        sums.append(total)
    return sums[::-1]


def _feature_groups(cascade: Cascade) -> list[tuple[tuple[int, ...], ...]]:
    """Return, for each feature and option, literals of which one is true iff the option is not taken."""
    groups = []
    for chain in cascade.chains:
        steps = [step + 1 for step in chain.steps]
        groups.append(
            tuple(
                (*((-steps[k - 1],) if k else ()), *((steps[k],) if k < len(steps) else ()))
                for k in range(len(chain.options))
            )
        )
    return groups


def _costs(cascade: Cascade) -> tuple[list[list[int]], int | None]:
    """Return the cost of each feature's options above the cheapest, and the rest of the budget if all
    features take the cheapest.
    """
    prices, limit = ((0,) * cascade.steps, None) if cascade.budget is None else cascade.budget
    sums = [list(accumulate((int(prices[s]) for s in chain.steps), initial=0)) for chain in cascade.chains]
    room = None if limit is None else int(limit) - sum(map(min, sums))
    return [[cost - min(row) for cost in row] for row in sums], room


def _write_budget(writer: _Writer, cascade: Cascade) -> None:
    costs, room = _costs(cascade)
    if room is None:
        return
    groups = [
        _Group(tuple(-cost for cost in row), unless)
        for row, unless in zip(costs, _feature_groups(cascade), strict=True)
    ]
    writer.variables += 1
    root = writer.variables
    writer.diagram(root, room, groups)
    writer.add([(root,)])


def _write_layers(writer: _Writer, cascade: Cascade) -> None:
    unless, (costs, room) = _feature_groups(cascade), _costs(cascade)
    first = cascade.layers[0]
    sums = []  # per feature: one row per option, its change relative to staying
    start = -first.least
    for chain, row in zip(cascade.chains, costs, strict=True):
        steps = first.weights[:, chain.steps.start : chain.steps.stop]
        reached = np.concatenate([np.zeros((1, len(start)), np.int64), np.cumsum(steps, axis=1).T])
        stay = row.index(0)
        start = start + reached[stay]
        sums.append((reached - reached[stay]).T.tolist())
    extra = sorted(sorted(row)[1] for row in costs if len(row) > 1)
    max_moves = None if room is None else sum(used <= room for used in accumulate(extra))
    values: list[bool | None] = []
    for j, margin in enumerate(start.tolist()):
        groups = (_Group(tuple(rows[j]), literals) for rows, literals in zip(sums, unless, strict=True))
        values.append(writer.diagram(cascade.starts[1] + j + 1, margin, groups, max_moves))
    for number, layer in enumerate(cascade.layers[1:], start=1):
        before, values = values, []
        free = [(i, cascade.starts[number] + i + 1) for i, value in enumerate(before) if value is None]
        on = np.array([value is True for value in before], dtype=np.int64)
        margins = layer.weights @ on - layer.least
        for j, (margin, row) in enumerate(zip(margins.tolist(), layer.weights.tolist(), strict=True)):
            groups = (_Group((0, row[i]), ((v,), (-v,))) for i, v in free)
            values.append(writer.diagram(cascade.starts[number + 1] + j + 1, margin, groups))
