"""OR-Tools CP-SAT: sums with OnlyEnforceIf, unchanged.

It gives no proof, so its answer that there is no solution is not certified.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from importlib.metadata import version
from typing import Any

from sugenet.engines.protocol import Engine
from sugenet.errors import how_to_install
from sugenet.problem import Clock, Formula, Holds, Linear, Open, Outcome, Problem, replayed

__all__ = ["CPSAT"]

_LARGEST = 1 << 61  # sums must stay within 63 bits
_BELIEVED = 1 << 31
"""The solver uses floats internally: with coefficients of 36 bits it has reported feasible models as
infeasible.
"""


def _cpsat(problem: Problem, clock: Clock) -> Outcome:
    from ortools.sat.python import cp_model

    engine = f"OR-Tools CP-SAT {version('ortools')}"
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
        weights, numbers, min_sum = row.signed()
        return model.add(
            cp_model.LinearExpr.weighted_sum([variables[v - 1] for v in numbers], list(weights)) >= min_sum
        )

    for clause in formula.clauses:
        model.add_bool_or([literal(number) for number in clause])
    for row in formula.sums:
        add(row)
    for gate in formula.gates:
        add(gate.sum).only_enforce_if(literal(gate.variable))
        add(gate.sum.negated()).only_enforce_if(literal(-gate.variable))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = clock.threads or 0
    solver.parameters.random_seed = clock.seed
    solver.parameters.catch_sigint_signal = False
    late = False
    with ThreadPoolExecutor(1) as pool:  # the solver runs there; this thread watches the clock and Ctrl-C
        search = pool.submit(solver.solve, model)
        try:
            while not late and not wait([search], 0.02).done:
                late = clock.up()
        finally:
            while not wait([search], 0.02).done:
                solver.stop_search()  # repeatedly: a search that has not started ignores it
    status = search.result()
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        values = [solver.boolean_value(variable) for variable in variables[: formula.cascade.steps]]
        return replayed(problem, engine, formula.cascade.moves(values))
    if status == cp_model.INFEASIBLE and largest > _BELIEVED:
        return Open(
            engine, "it says that there is no violation, but it errs on sums beyond 31 bits, as these are", {}
        )
    if status == cp_model.INFEASIBLE:
        return Holds(engine, None)
    return Open(engine, "it was stopped" if late else f"it gave up: {solver.status_name(status)}", {})


CPSAT = Engine("cpsat", _cpsat, "ortools", how_to_install("cpsat"))
"""OR-Tools CP-SAT."""
