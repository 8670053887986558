"""Search where no form helps: the least gap by halving over the levels, one SAT call each, and the least sum
of costs by MaxSAT, both by python-sat.

Each reading has a variable for each value, of which one is true. What the solvers find is looked at again by
the caller; that there is nothing better is theirs to say here, and the judge's to see again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm

from sugenet.engines.outside.pysat import hearing_ctrl_c
from sugenet.logic.formulas import Every, Listed, LogicFormula, OneOf
from sugenet.logic.readings import Gap

__all__ = ["Choices", "Costs"]

Costs = Sequence[Sequence["Gap | None"]]
"""For each reading what each of its values costs; None: it cannot have it."""


class Choices:
    """Values of readings under clauses.

    Examples
    --------
    >>> two = Choices([2, 2])
    >>> two.add([two.of(0, 1), two.of(1, 1)])
    >>> two.least_gap([[0, 3], [0, 2]]), two.least_cost([[0, 3], [0, 2]])
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
        """Sets of variables of which at most one is true: the solver counts them itself."""
        for place, size in enumerate(self.sizes):
            own = [self.of(place, value) for value in range(size)]
            self.clauses.append(own)
            self.apart.append(own)

    def of(self, place: int, value: int) -> int:
        """The variable that says that a reading has a value."""
        return self._first[place] + value

    def add(self, clause: Iterable[int]) -> None:
        """Demand that a literal of a clause be true."""
        self.clauses.append(list(clause))

    def add_apart(self, variables: Iterable[int]) -> None:
        """Demand that at most one of some variables be true."""
        self.apart.append(list(variables))

    def demand(self, formula: LogicFormula) -> None:
        """Demand that a formula holds."""
        if isinstance(formula, Every):
            for part in formula.parts:
                self.demand(part)
            return
        self.add(self._literals(formula))

    def _literals(self, formula: LogicFormula) -> list[int]:
        """Literals of which one is true only if a formula holds."""
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
        """A new variable that is true only if all clauses are."""
        self.variables += 1
        mine = self.variables
        self.clauses += [[-mine, *clause] for clause in clauses]
        return mine

    # -- solving ---------------------------------------------------------------------------------------------

    def least_gap(self, gaps: Sequence[Sequence[Gap | None]]) -> tuple[Gap, tuple[int, ...]] | None:
        """The least gap with which values obey all clauses, and such values; None: none do."""
        from pysat.solvers import Solver

        levels = sorted({gap for row in gaps for gap in row if gap is not None})
        ranks = {gap: rank for rank, gap in enumerate(levels)}
        forbidden = [  # for each rank the literals of the values that are behind it
            (len(levels) if gap is None else ranks[gap], -self.of(place, value))
            for place, row in enumerate(gaps)
            for value, gap in enumerate(row)
        ]
        with Solver("minicard", bootstrap_with=self.clauses) as solver:
            for row in self.apart:
                solver.add_atmost(row, 1)

            def solved(rank: int) -> tuple[int, ...] | None:
                assumed = [literal for worst, literal in forbidden if worst > rank]
                with hearing_ctrl_c():
                    found = solver.solve(assumptions=assumed)
                return self._values(solver.get_model()) if found else None

            def rank_of(values: tuple[int, ...]) -> int:
                chosen = [row[value] for row, value in zip(gaps, values, strict=True)]
                return max((ranks[gap] for gap in chosen if gap is not None), default=0)

            best = solved(len(levels) - 1)
            if best is None:
                return None
            low, high = 0, rank_of(best)
            while low < high:
                middle = (low + high) // 2
                found = solved(middle)
                if found is None:
                    low = middle + 1
                else:
                    best, high = found, rank_of(found)
        return (levels[high] if levels else 0), best

    def find(self, allowed: Sequence[Iterable[int]]) -> tuple[int, ...] | None:
        """Values among those that are allowed that obey all clauses."""
        own = [set(row) for row in allowed]
        costs = [[0 if v in own[p] else None for v in range(size)] for p, size in enumerate(self.sizes)]
        found = self.least_gap(costs)
        return None if found is None else found[1]

    def least_cost(
        self, costs: Costs, is_up: Callable[[], bool] | None = None
    ) -> tuple[Gap, tuple[int, ...]] | None:
        """The least sum of costs with which all clauses are obeyed, and such values; None: there are none.

        Raises
        ------
        TimeoutError
            Where the time `is_up` first; that is looked at between calls of the solver.
        """
        from pysat.examples.rc2 import RC2
        from pysat.formula import WCNF

        known = [Fraction(cost) for row in costs for cost in row if cost is not None]
        unit = lcm(1, *(cost.denominator for cost in known))
        wcnf = WCNF()
        wcnf.extend(self.clauses)
        wcnf.extend([[-a, -b] for row in self.apart for a, b in combinations(row, 2)])
        wcnf.nv = max(wcnf.nv, self.variables)
        for place, row in enumerate(costs):
            for value, cost in enumerate(row):
                if cost is None:
                    wcnf.append([-self.of(place, value)])
                elif cost:
                    wcnf.append([-self.of(place, value)], weight=int(cost * unit))

        class Timed(RC2):  # type: ignore[misc]  # python-sat has no types
            def process_core(self) -> None:
                if is_up is not None and is_up():
                    raise TimeoutError
                super().process_core()

        with Timed(wcnf) as solver, hearing_ctrl_c():
            model = solver.compute()
        if model is None:
            return None
        values = self._values(model)
        total = sum((Fraction(costs[p][v] or 0) for p, v in enumerate(values)), Fraction(0))
        return (int(total) if total.denominator == 1 else total), values

    def _values(self, model: Sequence[int]) -> tuple[int, ...]:
        """What a model chooses for each reading."""
        true = {literal for literal in model[: self._first[-1] - 1] if literal > 0}
        return tuple(
            next(value for value in range(size) if self.of(place, value) in true)
            for place, size in enumerate(self.sizes)
        )
