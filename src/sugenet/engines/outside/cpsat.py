"""OR-Tools CP-SAT: sums with OnlyEnforceIf, as they stand.

It gives no proof, so what it says of no solution is taken on trust.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from importlib.metadata import version
from typing import Any

from sugenet.engines.outside.outcome import never, out_of_time, replayed, trusted
from sugenet.problem.formula import Formula, Linear
from sugenet.problem.outcomes import Open, Outcome
from sugenet.problem.problem import Problem

__all__ = ["solve"]

_LARGEST = 1 << 61  # sums must stay within 63 bits
_BELIEVED = 1 << 31
"""The solver works in floats inside: with coefficients of 36 bits it has called feasible
models infeasible.
"""


def solve(
    problem: Problem,
    *,
    time_limit: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    stop: Callable[[], bool] = never,
) -> Outcome:
    """Decide a problem with CP-SAT."""
    from ortools.sat.python import cp_model

    engine = f"OR-Tools CP-SAT {version('ortools')}"
    late = out_of_time(time_limit, stop)
    formula = Formula.of(problem)
    largest = max(
        (row.total + abs(row.least) for row in (*formula.sums, *(gate.sum for gate in formula.gates))),
        default=0,
    )
    if largest > _LARGEST:
        return Open(engine, "its sums must fit into 61 bits, and these do not", {})
    model = cp_model.CpModel()
    variables = [model.new_bool_var(f"x{number}") for number in range(1, formula.variables + 1)]

    def literal(number: int) -> Any:
        return variables[number - 1] if number > 0 else variables[-number - 1].negated()

    def add(row: Linear) -> Any:
        weights, numbers, least = row.signed()
        return model.add(
            cp_model.LinearExpr.weighted_sum([variables[v - 1] for v in numbers], list(weights)) >= least
        )

    for clause in formula.clauses:
        model.add_bool_or([literal(number) for number in clause])
    for row in formula.sums:
        add(row)
    for gate in formula.gates:
        add(gate.sum).only_enforce_if(literal(gate.variable))
        add(gate.sum.negated()).only_enforce_if(literal(-gate.variable))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads or 0
    solver.parameters.random_seed = seed
    solver.parameters.catch_sigint_signal = False
    reason = None
    with ThreadPoolExecutor(
        1
    ) as pool:  # the solver works there; here is time to ask whether to stop, and for Ctrl-C
        search = pool.submit(solver.solve, model)
        try:
            while reason is None and not wait([search], 0.02).done:
                reason = late()
        finally:
            while not wait([search], 0.02).done:
                solver.stop_search()  # again and again: a search that has not begun yet does not hear it
    status = search.result()
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return replayed(
            problem,
            engine,
            [solver.boolean_value(variable) for variable in variables[: formula.cascade.steps]],
        )
    if status == cp_model.INFEASIBLE and largest > _BELIEVED:
        return Open(
            engine, "it says that there is no violation, but it errs on sums beyond 31 bits, as these are", {}
        )
    if status == cp_model.INFEASIBLE:
        return trusted(engine, variables=formula.variables, constraints=len(list(formula.constraints())))
    return Open(engine, reason or f"it gave up: {solver.status_name(status)}", {})
