"""Runs in an environment that has one other solver: reads the files of benchmarks/peers.py and solves them.

Called as ``PYTHON benchmarks/_solvers.py NAME``. Each line of standard input is a question as JSON, and each
line of standard output an answer: whether there is a violation, the solution, the cost or number, and the
seconds that reading and solving took. It uses nothing of sugenet.
"""

import json
import os
import sys
import time
from importlib import import_module
from importlib.metadata import version
from threading import Timer


def read_opb(path):
    """Return the objective, as pairs of weight and variable, and the rows ``sum >= least``."""
    objective, rows = [], []
    with open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("*") or not line.strip():
                continue
            words = line.rstrip(" ;\n").split()
            if words[0] == "min:":
                objective = pairs(words[1:])
            else:
                assert words[-2] == ">=", line
                rows.append((pairs(words[:-2]), int(words[-1])))
    return objective, rows


def pairs(words):
    return [(int(w), int(v[1:])) for w, v in zip(words[::2], words[1::2], strict=True)]


def last_of(objective, rows):
    return max((v for row in [objective, *(terms for terms, _ in rows)] for _, v in row), default=1)


def exact(ask):
    from exact import Exact

    objective, rows = read_opb(ask["opb"])
    last = last_of(objective, rows)
    solver = Exact([("seed", "1")])
    for number in range(1, last + 1):
        solver.addVariable(f"x{number}")
    for terms, least in rows:
        solver.addConstraint([(w, f"x{v}") for w, v in terms], True, least)
    if ask["kind"] == "count":
        state, number = solver.count([f"x{v}" for v in range(1, ask["steps"] + 1)], ask["limit"])
        return {"outcome": "open" if state in ("TIMEOUT", "PAUSED") else "number", "value": number}
    if objective:
        solver.setObjective([(w, f"x{v}") for w, v in objective], True, 0)
        state = solver.runFull(True, ask["limit"])
        if state == "TIMEOUT":
            return {"outcome": "open"}
        if not solver.hasSolution():
            return {"outcome": "none"}
        return {"outcome": "optimum", "value": solver.getBestSoFar()}
    state = solver.runFull(False, ask["limit"])
    if state == "SAT":
        names = [f"x{v}" for v in range(1, last + 1)]
        values = solver.getLastSolutionFor(names)
        return {"outcome": "some", "true": [k for k, on in enumerate(values, 1) if on]}
    return {"outcome": "none" if state == "UNSAT" else "open"}


def scip(ask):
    from pyscipopt import Model

    if ask["kind"] == "count":
        return None
    model = Model()
    model.hideOutput()
    model.readProblem(ask["opb"])
    model.setParam("limits/time", ask["limit"])
    model.setParam("timing/clocktype", 2)
    model.optimize()
    return linear(
        model.getStatus(),
        model.getNSols() > 0,
        lambda: {v.name.removeprefix("x"): model.getVal(v) for v in model.getVars()},
        model.getObjVal,
        ask,
    )


def highs(ask):
    import highspy

    if ask["kind"] == "count":
        return None
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("time_limit", ask["limit"])
    model.setOptionValue("threads", ask["threads"])
    model.readModel(ask["mps"])
    model.run()
    status = model.modelStatusToString(model.getModelStatus()).lower()
    values = list(model.getSolution().col_value)
    return linear(
        status,
        status == "optimal",
        lambda: dict(enumerate(values, 1)),
        lambda: model.getInfo().objective_function_value,
        ask,
    )


def linear(status, is_found, values, cost, ask):
    """Return the answer of a program for linear rows over integers; it computes in floats."""
    if status == "infeasible":
        return {"outcome": "none"}
    if status != "optimal" or not is_found:
        return {"outcome": "open"}
    if ask["kind"] == "minimum":
        return {"outcome": "optimum", "value": round(cost())}
    true = [int(v) for v, on in values().items() if on > 0.5 and str(v).isdigit()]
    return {"outcome": "some", "true": true}


def cpsat(ask):
    from ortools.sat.python import cp_model

    if ask["kind"] == "count":
        return None
    objective, rows = read_opb(ask["opb"])
    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    x = [model.new_bool_var(f"x{v}") for v in range(last_of(objective, rows) + 1)]
    for terms, least in rows:
        weights, numbers = zip(*terms, strict=True) if terms else ((), ())
        model.add(cp_model.LinearExpr.weighted_sum([x[v] for v in numbers], list(weights)) >= least)
    if objective:
        model.minimize(sum(w * x[v] for w, v in objective))
    solver.parameters.max_time_in_seconds = ask["limit"]
    solver.parameters.num_workers = ask["threads"]
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return {"outcome": "none"}
    if objective:
        if status != cp_model.OPTIMAL:
            return {"outcome": "open"}
        return {"outcome": "optimum", "value": round(solver.objective_value)}
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return {"outcome": "some", "true": [k for k in range(1, len(x)) if solver.value(x[k])]}
    return {"outcome": "open"}


def pysat(ask):
    from pysat.formula import CNF
    from pysat.solvers import Solver

    if ask["kind"] != "decide" or ask["cnf"] is None:
        return None
    start = time.perf_counter()
    with Solver(ask["solver"], bootstrap_with=CNF(from_file=ask["cnf"])) as solver:
        timer = Timer(max(0.01, ask["limit"] - (time.perf_counter() - start)), solver.interrupt)
        timer.start()
        found = solver.solve_limited(expect_interrupt=True)
        timer.cancel()
        if found:
            return {"outcome": "some", "true": [v for v in solver.get_model() if v > 0]}
        return {"outcome": "open" if found is None else "none"}


def marabou(ask):
    """Variables are signs of free reals, and gates signs of sums: exactly the same question, in reals."""
    import warnings

    warnings.simplefilter("ignore")
    from maraboupy import Marabou, MarabouCore

    if ask["kind"] != "decide" or ask["gates"] is None:
        return None
    with open(ask["gates"], encoding="ascii") as file:
        data = json.load(file)
    query, last = MarabouCore.InputQuery(), data["variables"]
    # 0 .. last - 1: the signs; last .. 2 last - 1: what they are signs of
    query.setNumberOfVariables(2 * last)
    gates = {gate: (terms, least) for gate, terms, least in data["gates"]}
    for v in range(last):
        terms, _ = gates.get(v + 1, ([], 0))
        reach = 1 + 2 * sum(abs(w) for w, _ in terms)
        query.setLowerBound(v, -1)
        query.setUpperBound(v, 1)
        query.setLowerBound(last + v, -reach)
        query.setUpperBound(last + v, reach)
        MarabouCore.addSignConstraint(query, last + v, v)
    kinds = MarabouCore.Equation.EquationType
    for gate, (terms, least) in gates.items():
        # sum w x >= least over 0/1 is sum w s + sum w - 2 least + 1 >= 0 over signs, and never 0
        equation = MarabouCore.Equation(kinds.EQ)
        for w, v in terms:
            equation.addAddend(w, v - 1)
        equation.addAddend(-1, last + gate - 1)
        equation.setScalar(2 * least - 1 - sum(w for w, _ in terms))
        query.addEquation(equation)
    for terms, least in data["rows"]:
        equation = MarabouCore.Equation(kinds.GE)
        for w, v in terms:
            equation.addAddend(w, v - 1)
        equation.setScalar(2 * least - sum(w for w, _ in terms))
        query.addEquation(equation)
    options = Marabou.createOptions(verbosity=0, timeoutInSeconds=max(1, round(ask["limit"])))
    status, values, _ = MarabouCore.solve(query, options, "")
    if status == "ERROR":
        raise RuntimeError("Marabou ended with an error of its own")
    if status == "sat":
        return {"outcome": "some", "true": [v + 1 for v in range(last) if values[v] > 0]}
    return {"outcome": "none" if status == "unsat" else "open"}


SOLVERS = {
    "Exact": (exact, "Exact", "exact"),
    "SCIP": (scip, "PySCIPOpt", "pyscipopt"),
    "HiGHS": (highs, "highspy", "highspy"),
    "CP-SAT": (cpsat, "ortools", "ortools.sat.python.cp_model"),
    "Glucose": (pysat, "python-sat", "pysat.solvers"),
    "CaDiCaL": (pysat, "python-sat", "pysat.solvers"),
    "Marabou": (marabou, "maraboupy", "maraboupy.Marabou"),
}


def main():
    solve, package, module = SOLVERS[sys.argv[1]]
    # solvers print what they like: that goes elsewhere
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import_module(module)  # before any question, so that it does not count
    print(json.dumps({"version": version(package)}), file=answers, flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        start, spent = time.perf_counter(), time.process_time()
        try:
            found = solve(ask)
        except Exception as error:  # one question that a solver refuses must not end the others
            found = {"outcome": "error", "error": f"{type(error).__name__}: {error}"[:160]}
        if found is not None:
            found["seconds"] = time.perf_counter() - start
            found["cpu"] = time.process_time() - spent
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
