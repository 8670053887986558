"""Search for formulas without a special form, with python-sat.

The minimum gap is found by bisection over the levels, one SAT call each. The minimum total cost is found by
MaxSAT and by branch and bound.

Each reading has one variable per value, exactly one of which is true. The caller evaluates the solutions
again. That nothing is better is only claimed here, and the checker verifies it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import Any

from sugenet.engines.hard.outside.pysat import hearing_ctrl_c
from sugenet.logic.formulas import Every, Listed, LogicFormula, OneOf
from sugenet.logic.readings import Gap

__all__ = ["Choices", "Costs"]

Costs = Sequence[Sequence["Gap | None"]]
"""For each reading, the cost of each value; None: it cannot have this value."""
_Prices = list[list[int | None]]
"""Costs as integers."""
_WORK = 1_000_000
"""Initial number of propagations after which MaxSAT is suspended for branch and bound; about a second."""
_CONFLICTS = 200
"""Number of conflicts of a solver between two checks of the clock."""


class Choices:
    """Values of readings under clauses.

    Examples
    --------
    >>> two = Choices([2, 2])
    >>> two.add([two.of(0, 1), two.of(1, 1)])
    >>> two.min_gap([[0, 3], [0, 2]]), two.min_cost([[0, 3], [0, 2]])
    ((2, (0, 1)), (2, (0, 1)))
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self._first = [1]
        for size in self.sizes:
            self._first.append(self._first[-1] + size)
        self.variables = self._first[-1] - 1
        self.clauses: list[list[int]] = []
        self.apart: list[list[int]] = []
        """Sets of variables at most one of which is true: the solver handles them itself."""
        for index, size in enumerate(self.sizes):
            variables = [self.of(index, value) for value in range(size)]
            self.clauses.append(variables)
            self.apart.append(variables)

    def of(self, index: int, value: int) -> int:
        """Return the variable that says that a reading has a value."""
        return self._first[index] + value

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause."""
        self.clauses.append(list(clause))

    def add_apart(self, variables: Iterable[int]) -> None:
        """Require that at most one of some variables is true."""
        self.apart.append(list(variables))

    def demand(self, formula: LogicFormula) -> None:
        """Require that a formula holds."""
        if isinstance(formula, Every):
            for part in formula.parts:
                self.demand(part)
            return
        self.add(self._literals(formula))

    def _literals(self, formula: LogicFormula) -> list[int]:
        """Return literals one of which is true only if a formula holds."""
        match formula:
            case OneOf(place, allowed):
                return [self.of(place, value) for value in sorted(allowed)]
            case Listed(places, rows, True):
                return [
                    self._all([[self.of(p, v)] for p, v in zip(places, row, strict=True)])
                    for row in sorted(rows)
                ]
            case Listed(places, rows, _):
                return [
                    self._all(
                        [[-self.of(p, v) for p, v in zip(places, row, strict=True)] for row in sorted(rows)]
                    )
                ]
            case Every(parts):
                return [self._all([self._literals(part) for part in parts])]
        return [literal for part in formula.parts for literal in self._literals(part)]

    def _all(self, clauses: list[list[int]]) -> int:
        """Return a new variable that is true only if all clauses are."""
        self.variables += 1
        mine = self.variables
        self.clauses += [[-mine, *clause] for clause in clauses]
        return mine

    # -- solving ---------------------------------------------------------------------------------------------

    def min_gap(self, gaps: Sequence[Sequence[Gap | None]]) -> tuple[Gap, tuple[int, ...]] | None:
        """Return the minimum gap with which values satisfy all clauses, and such values; None if there are
        none.
        """
        from pysat.solvers import Solver

        levels = sorted({gap for row in gaps for gap in row if gap is not None})
        ranks = {gap: rank for rank, gap in enumerate(levels)}
        forbidden = [  # for each rank, the literals of the values with a larger gap
            (len(levels) if gap is None else ranks[gap], -self.of(index, value))
            for index, row in enumerate(gaps)
            for value, gap in enumerate(row)
        ]
        with Solver("minicard", bootstrap_with=self.clauses) as solver:
            for row in self.apart:
                solver.add_atmost(row, 1)

            def solved(rank: int) -> tuple[int, ...] | None:
                assumed = [literal for worst, literal in forbidden if worst > rank]
                with hearing_ctrl_c():
                    is_solvable = solver.solve(assumptions=assumed)
                return self._values(solver.get_model()) if is_solvable else None

            def rank_of(values: tuple[int, ...]) -> int:
                chosen = [row[value] for row, value in zip(gaps, values, strict=True)]
                return max((ranks[gap] for gap in chosen if gap is not None), default=0)

            best = solved(len(levels) - 1)
            if best is None:
                return None
            low, high = 0, rank_of(best)
            while low < high:
                middle = (low + high) // 2
                solution = solved(middle)
                if solution is None:
                    low = middle + 1
                else:
                    best, high = solution, rank_of(solution)
        return (levels[high] if levels else 0), best

    def min_cost(
        self, costs: Costs, is_up: Callable[[], bool] | None = None
    ) -> tuple[Gap, tuple[int, ...]] | None:
        """Return the minimum total cost with which all clauses are satisfied, and such values; None if there
        are none.

        Two methods alternate, each time with twice the work: MaxSAT, which is fast if few costs differ, and
        branch and bound, whose time does not depend on the size of numbers.

        Raises
        ------
        TimeoutError
            If the time `is_up` first.
        """
        known = [Fraction(cost) for row in costs for cost in row if cost is not None]
        unit = lcm(1, *(cost.denominator for cost in known))
        prices = [[None if cost is None else int(cost * unit) for cost in row] for row in costs]
        work = _WORK
        with _Bounding(self, prices, is_up) as bounding:
            while True:
                try:
                    values = self._by_cores(prices, is_up, work)
                    break
                except _WorkDoneError:
                    if bounding.run(work):
                        values = bounding.values
                        break
                    work *= 2
        if values is None:
            return None
        total = sum((Fraction(costs[p][v] or 0) for p, v in enumerate(values)), Fraction(0))
        return (int(total) if total.denominator == 1 else total), values

    def _by_cores(
        self, prices: _Prices, is_up: Callable[[], bool] | None, limit: int
    ) -> tuple[int, ...] | None:
        """Return values of minimum cost by MaxSAT; raises `_WorkDoneError` after this many propagations."""
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        wcnf = WCNF()
        wcnf.extend(self.clauses)
        wcnf.extend([[-a, -b] for row in self.apart for a, b in combinations(row, 2)])
        wcnf.nv = max(wcnf.nv, self.variables)
        for index, row in enumerate(prices):
            for value, price in enumerate(row):
                if price is None:
                    wcnf.append([-self.of(index, value)])
                elif price:
                    wcnf.append([-self.of(index, value)], weight=price)

        class Stepping(RC2):  # type: ignore[misc]  # python-sat has no types
            def _call_oracle(self, assumptions: Sequence[int] = (), **_: Any) -> bool:
                return _solved(self.oracle, list(assumptions), is_up, limit)

        with Stepping(wcnf) as solver:
            model = solver.compute()
        return None if model is None else self._values(model)

    def _values(self, model: Sequence[int]) -> tuple[int, ...]:
        """Return the values of the readings in a model."""
        true = {literal for literal in model[: self._first[-1] - 1] if literal > 0}
        return tuple(
            next(value for value in range(size) if self.of(index, value) in true)
            for index, size in enumerate(self.sizes)
        )


class _WorkDoneError(Exception):
    """The allowed work is done."""


def _solved(solver: Any, assumed: list[int], is_up: Callable[[], bool] | None, limit: int) -> bool:
    """Return whether clauses are satisfiable under assumptions.

    Raises
    ------
    TimeoutError
        If the time runs out.
    _WorkDoneError
        If the solver has made more than this many propagations since it began.
    """
    while True:
        if is_up is not None and is_up():
            raise TimeoutError
        if solver.accum_stats()["propagations"] > limit:
            raise _WorkDoneError
        solver.conf_budget(_CONFLICTS)
        with hearing_ctrl_c():
            answer = solver.solve_limited(assumptions=assumed)
        if answer is not None:
            return bool(answer)


class _Bounding:
    """Branch and bound: a node has assumptions about values, and each reading has its cheapest value under
    them.

    If these values contradict each other, the solver returns a core of them: one of its readings has another
    value. That costs at least the smallest step from a value in the core to the next cheapest one. Readings
    of a core are not used again, so these steps add up to a lower bound. A node that may beat the best values
    so far is split by one value of a core: the reading has it, or not.
    """

    def __init__(self, choices: Choices, prices: _Prices, is_up: Callable[[], bool] | None) -> None:
        self.choices, self.is_up = choices, is_up
        self.rows = [
            sorted((price, value) for value, price in enumerate(row) if price is not None) for row in prices
        ]
        self.prices = prices
        self.values: tuple[int, ...] | None = None
        self.least: int | None = None
        self.open: list[tuple[int, ...]] = [()] if all(self.rows) else []
        self.solver: Any = None

    def __enter__(self) -> _Bounding:
        return self

    def __exit__(self, *_: object) -> None:
        if self.solver is not None:
            self.solver.delete()

    def run(self, work: int) -> bool:
        """Continue for this many propagations.

        Return whether nothing is left to search, so that `values` are the best, or None if there are none.
        """
        from pysat.solvers import Solver

        if self.solver is None:
            self.solver = Solver("minicard", bootstrap_with=self.choices.clauses)
            for row in self.choices.apart:
                self.solver.add_atmost(row, 1)
        limit = self.solver.accum_stats()["propagations"] + work
        while self.open:
            node = self.open.pop()
            try:
                self._look(node, limit)
            except _WorkDoneError:
                self.open.append(node)
                return False
        return True

    def _look(self, assumed: tuple[int, ...], limit: int) -> None:
        of, known = self.choices.of, set(assumed)
        rows = []
        for index, row in enumerate(self.rows):
            had = [pair for pair in row if of(index, pair[1]) in known]
            rows.append(had or [pair for pair in row if -of(index, pair[1]) not in known])
        never = [
            -of(p, v) for p, row in enumerate(self.prices) for v, price in enumerate(row) if price is None
        ]
        if not all(rows):
            return
        lower = sum(row[0][0] for row in rows)
        wanted = {of(position, row[0][1]): row for position, row in enumerate(rows)}
        named: list[tuple[int, int]] = []
        while self.least is None or lower < self.least:
            if _solved(self.solver, [*assumed, *never, *wanted], self.is_up, limit):
                break
            mine = [literal for literal in self.solver.get_core() or () if literal in wanted]
            steps = [
                (row[1][0] - row[0][0], literal) for literal in mine if len(row := wanted.pop(literal)) > 1
            ]
            if not steps:
                return
            lower += min(steps)[0]
            named += steps
        else:
            return
        values = self.choices._values(self.solver.get_model())
        total = sum(self.prices[position][value] or 0 for position, value in enumerate(values))
        if self.least is None or total < self.least:
            self.least, self.values = total, values
        if named and lower < self.least:
            literal = max(named)[1]
            self.open += [(*assumed, literal), (*assumed, -literal)]
