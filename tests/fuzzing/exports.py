"""Random questions written for other people's solvers, answered by them,
against all samples gone through by the definition; and networks written as ONNX and read back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sugenet.io import export, read_onnx, sample_of
from sugenet.io.onnx.writer import onnx_bytes
from sugenet.problem.goal import loses, wins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, L2, AnyInput, Free, Hamming, Linf
from tests.fuzzing.every_network import every_network, samples_of
from tests.problem.small import random_network, random_sample, raw_values

__all__ = ["Case", "cases", "difference", "round_trip"]


@dataclass(frozen=True, eq=False)
class Case:
    """A question, the format it is written in, and whether the cheapest answer is asked for."""

    seed: int
    network: Any
    sample: list[Any]
    region: Any
    target: int
    asked: str
    """``loses`` or ``wins``, with ``!`` where a tie counts too."""
    format: str
    objective: bool
    folded: bool

    def __str__(self) -> str:
        what = f"class {self.target} {self.asked} within {self.region} of {self.sample}"
        return (
            f"export, seed {self.seed}, {self.network}: {what}, {self.format}, objective {self.objective}, "
            f"folded {self.folded}"
        )


def cases(seed: int) -> Iterator[Case]:
    """Questions without end."""
    number = 0
    formats = ["opb", "wbo", "cnf", "mps", "mps-scipy", *(["smt2"] if find_spec("z3") else [])]
    while True:
        one = seed * 1_000_003 + number
        random = np.random.default_rng(one)
        network = random_network(
            random, features=int(random.integers(1, 5)), depth=int(random.integers(0, 3))
        )
        radius = int(random.integers(0, 4))
        names = random.permutation(network.encoder.features)[: random.integers(1, 3)].tolist()
        regions = [Hamming(radius), L0(radius), L1(radius), L2(radius), Linf(radius), AnyInput(), Free(names)]
        format, objective = formats[int(random.integers(len(formats)))], bool(random.integers(2))
        yield Case(
            one,
            network,
            random_sample(network, random),
            regions[int(random.integers(len(regions)))],
            int(random.integers(3)),
            ["loses", "loses!", "wins", "wins!"][int(random.integers(4))],
            format,
            objective and format in ("opb", "mps", "mps-scipy"),
            bool(random.integers(2)) or format == "cnf",
        )
        number += 1


def difference(case: Case) -> str | None:
    """What is wrong with an answer; None where nothing is."""
    try:
        return _difference(case)
    except Exception as error:
        return f"{case}\ncrashed: {type(error).__name__}: {error}"


def _difference(case: Case) -> str | None:
    expected = _violations(case)
    head, ties = case.network.head, "against" if case.asked.endswith("!") else "lowest"
    goal = (loses if case.asked.startswith("loses") else wins)(head, case.target, ties=ties)
    problem = Problem(case.region.around(case.network, case.sample), goal)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "question"
        options = {"objective": True} if case.objective else {}
        options |= {} if case.format == "cnf" else {"folded": case.folded}
        side = export(problem, path, case.format.removesuffix("-scipy"), **options)
        solution, value = _SOLVERS[case.format](path, case.objective)
        cost = json.loads(side.read_text()).get("cost")
    if (solution is None) != (not expected):
        return (
            f"{case}\n"
            f"{'no solution' if solution is None else solution}, but {len(expected)} samples are "
            f"violations: {list(expected)[:3]}"
        )
    if solution is None:
        return None
    sample = tuple(sample_of(problem, solution))
    if sample not in expected:
        return f"{case}\nthe solution {sample} is no violation"
    if value is not None and Fraction(cost["unit"]) * (cost["offset"] + value) != min(expected.values()):
        return (
            f"{case}\n"
            f"the cheapest costs {Fraction(cost['unit']) * (cost['offset'] + value)}, "
            f"not {min(expected.values())}"
        )
    return None


def round_trip(seed: int) -> bool:
    """Whether a random network, written as ONNX and read back, is equal: names, limits, laws and notes
    included, with the same classes and scores.
    """
    network = every_network(seed)
    back = read_onnx(onnx_bytes(network, hidden=bool(seed % 2)))
    X = samples_of(network, np.random.default_rng(seed))
    return (
        back == network
        and (back.domain, back.notes, back.source) == (network.domain, network.notes, network.source)
        and back.fingerprint == network.fingerprint
        and np.array_equal(back.predict(X), network.predict(X, engine="definition"))
        and np.array_equal(back.logits(X), network.logits(X, engine="definition"))
    )


# -- the definition ------------------------------------------------------------------------------------------


def _violations(case: Case) -> dict[tuple[Any, ...], Fraction]:
    """All raw samples of the region that answer the question, with what the change costs there."""
    network, found = case.network, {}
    everything = list(product(*map(raw_values, network.encoder.codings)))
    rows = np.array(everything, dtype=object).reshape(len(everything), -1)
    scores = network.head.ranked(network.match_counts(rows))
    bits = network.encoder.encode(np.concatenate([rows, np.array([case.sample], dtype=object)]))
    for place, sample in enumerate(everything):
        apart = [_apart(a, b) for a, b in zip(sample, case.sample, strict=True)]
        cost = _cost(case.region, apart, int((bits[place] != bits[-1]).sum()))
        if cost is not None and _answers(case, scores[place].tolist()):
            found[sample] = cost
    return found


def _apart(a: Any, b: Any) -> Fraction:
    return Fraction(int(a != b)) if isinstance(a, str) else abs(Fraction(a) - Fraction(b))


def _cost(region: Any, apart: list[Fraction], flipped: int) -> Fraction | None:
    """What a change uses up; None beyond the region."""
    match region:
        case Hamming(radius=radius):
            return Fraction(flipped) if flipped <= radius else None
        case L0(radius=radius):
            used = Fraction(sum(value > 0 for value in apart))
            return used if used <= radius else None
        case L1(radius=radius):
            return sum(apart, Fraction(0)) if sum(apart) <= radius else None
        case L2(radius=radius):
            used = sum((value**2 for value in apart), Fraction(0))
            return used if used <= radius**2 else None
        case Linf(radius=radius):
            return sum(apart, Fraction(0)) if max(apart) <= radius else None
        case Free(features=features):
            return (
                sum(apart, Fraction(0))
                if all(value == 0 for k, value in enumerate(apart) if k not in features)
                else None
            )
    assert isinstance(region, AnyInput)
    return sum(apart, Fraction(0))


def _answers(case: Case, scores: list[int]) -> bool:
    """Whether the class loses or wins; a tie goes to the lowest class, or counts against the sample."""
    mine, target = scores[case.target], case.target
    others = [(score, k) for k, score in enumerate(scores) if k != target]
    match case.asked:
        case "loses":
            return any(score > mine or (score == mine and k < target) for score, k in others)
        case "loses!":
            return any(score >= mine for score, _ in others)
        case "wins":
            return all(mine > score or (mine == score and target < k) for score, k in others)
    return all(mine >= score for score, _ in others)


# -- other people's solvers ----------------------------------------------------------------------------------


def _cp_sat(
    count: int, rows: list[tuple[Any, list[tuple[int, int]], int]], objective: list[tuple[int, int]] | None
) -> Any:
    """Sums of (weight, variable) that reach a least value; rows with a price may fail and then cost it."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{k}") for k in range(count + 1)]
    paid: list[Any] = []
    for price, terms, least in rows:
        total = sum((c * x[v] for c, v in terms), 0 * x[0])
        if price is None:
            model.add(total >= least)
        else:
            kept = model.new_bool_var("kept")
            model.add(total >= least).only_enforce_if(kept)
            paid.append(price * (1 - kept))
    goal = (
        sum(paid) if paid else None if objective is None else sum((c * x[v] for c, v in objective), 0 * x[0])
    )
    if goal is not None:
        model.minimize(goal)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None, None
    assert status in (cp_model.OPTIMAL, cp_model.FEASIBLE), status
    value = None if goal is None else round(solver.objective_value)
    return [k if solver.value(x[k]) else -k for k in range(1, count + 1)], value


def _pseudo_boolean(path: Path, _objective: bool) -> Any:
    lines = path.read_text().splitlines()
    count = int(re.search(r"#variable= (\d+)", lines[0])[1])  # type: ignore[index]
    rows, objective = [], None
    for line in lines:
        if line.startswith(("*", "soft:")):
            continue
        terms = [(int(c), int(v)) for c, v in re.findall(r"([+-]?\d+) x(\d+)", line)]
        if line.startswith("min:"):
            objective = terms
            continue
        price = re.match(r"\[(\d+)\]", line)
        rows.append(
            (None if price is None else int(price[1]), terms, int(re.search(r">= ([+-]?\d+) *;", line)[1]))
        )  # type: ignore[index]
    return _cp_sat(count, rows, objective)


def _wbo(path: Path, objective: bool) -> Any:
    """The soft rows say the cost, where there are any."""
    return _pseudo_boolean(path, objective)


def _cnf(path: Path, _objective: bool) -> Any:
    from pysat.formula import CNF
    from pysat.solvers import Solver

    with Solver("cadical195", bootstrap_with=CNF(from_file=str(path))) as solver:
        return (solver.get_model(), None) if solver.solve() else (None, None)


def _mps(path: Path, objective: bool) -> Any:
    from ortools.linear_solver.python import model_builder

    model, solver = model_builder.Model(), model_builder.Solver("sat")
    assert model.import_from_mps_file(str(path))
    if solver.solve(model) != model_builder.SolveStatus.OPTIMAL:
        return None, None
    found = [int(v.name[1:]) * (1 if solver.value(v) > 0.5 else -1) for v in model.get_variables()]
    return found, round(solver.objective_value) if objective else None


def _mps_scipy(path: Path, objective: bool) -> Any:
    from scipy.optimize import Bounds, LinearConstraint, milp

    columns: dict[str, dict[str, float]] = {}
    rows: list[str] = []
    right: dict[str, float] = {}
    section = ""
    for line in path.read_text().splitlines():
        words = line.split()
        if line.startswith("*") or not words:
            continue
        if not line.startswith(" "):
            section = words[0]
        elif section == "ROWS" and words[0] == "G":
            rows.append(words[1])
        elif section == "COLUMNS" and "'MARKER'" not in words:
            columns.setdefault(words[0], {})[words[1]] = float(words[2])
        elif section == "RHS":
            right[words[1]] = float(words[2])
    names = list(columns)
    cost = np.array([columns[name].get("COST", 0.0) for name in names])
    matrix = np.array([[columns[name].get(row, 0.0) for name in names] for row in rows]).reshape(
        len(rows), len(names)
    )
    limits = [LinearConstraint(matrix, [right.get(row, 0.0) for row in rows])] if rows else []
    found = milp(cost, integrality=np.ones(len(names)), bounds=Bounds(0, 1), constraints=limits)
    if found.x is None:
        assert found.status == 2, found.message
        return None, None
    return [
        int(name[1:]) * (1 if value > 0.5 else -1) for name, value in zip(names, found.x, strict=True)
    ], round(found.fun) if objective else None


def _smt2(path: Path, _objective: bool) -> Any:
    import z3

    solver = z3.Solver()
    solver.from_file(str(path))
    if solver.check() == z3.unsat:
        return None, None
    model = solver.model()
    return [int(str(v)[1:]) * (1 if z3.is_true(model[v]) else -1) for v in model.decls()], None


_SOLVERS: dict[str, Any] = {
    "opb": _pseudo_boolean,
    "wbo": _wbo,
    "cnf": _cnf,
    "mps": _mps,
    "mps-scipy": _mps_scipy,
    "smt2": _smt2,
}
