"""Exported questions, read again by small readers written here: solutions are the violations,
the optimum is the least cost.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sugenet.errors import FileError, QuestionError, TooLargeError
from sugenet.io import export, sample_of, write_cnf, write_mps, write_opb, write_smt2, write_wbo
from sugenet.nn import DenseLayer, Encoder, Head, Network, threshold
from sugenet.problem.goal import Goal, Votes, loses
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, L2, AnyInput, Hamming, Linf
from tests.problem.small import random_network, random_sample, violating

REGIONS = [Hamming(2), L0(1), L1(2), L2(2), Linf(1), AnyInput()]
LARGEST = 14
"""Variables up to which all assignments are gone through."""


def problems(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, features=int(rng.integers(1, 4)), depth=int(rng.integers(0, 2)), width=2)
    x, label = random_sample(network, rng), int(rng.integers(3))
    odd = [
        Goal(()),
        Goal(((),)),
        Goal(((Votes((1, 1, -1), 1), Votes((0, 1, 0), 1)), (Votes((-1, 0, 2), 0),))),
    ]
    for region in REGIONS:
        for goal in (loses(network.head, label), loses(network.head, label, ties="against"), *odd):
            problem = Problem(region.around(network, x), goal)
            if problem.cascade.starts[-1] + len(goal.cases) <= LARGEST:
                yield problem


def least_weights(problem):
    """For every violation, by its steps, what its moves weigh."""
    cascade = problem.cascade
    rows = np.array(list(product((0, 1), repeat=cascade.steps)), np.int64).reshape(
        2**cascade.steps, cascade.steps
    )
    good = rows[violating(cascade, rows)]
    return {tuple(row): sum(move.weight for move in cascade.moves(row)) for row in good.tolist()}


def assignments(count):
    return np.array(list(product((0, 1), repeat=count)), np.int64).reshape(2**count, count)


# -- readers -------------------------------------------------------------------------------------------------


def read_pb(path):
    """Variables, objective terms or None, and constraints as (weight or None, terms, least),
    of an OPB or WBO file.
    """
    lines = path.read_text().splitlines()
    header = dict(re.findall(r"(#?\w+)= (\d+)", lines[0]))
    assert lines[0].startswith("* #variable= ")
    objective, rows = None, []
    for line in lines[1:]:
        if line.startswith("*") or line == "soft: ;":
            continue
        assert line.endswith(";")
        terms = [(int(c), int(v)) for c, v in re.findall(r"([+-]\d+) x(\d+)", line)]
        if line.startswith("min:"):
            objective = terms
            continue
        price = re.match(r"\[(\d+)\] ", line)
        rows.append(
            (None if price is None else int(price[1]), terms, int(re.search(r">= (-?\d+) ;$", line)[1]))
        )
    assert len(rows) == int(header["#constraint"])
    assert sum(price is not None for price, _, _ in rows) == int(header.get("#soft", 0))
    assert all(1 <= v <= int(header["#variable"]) for _, terms, _ in rows for _, v in terms)
    return int(header["#variable"]), objective, rows


def total(terms, values):
    return sum((c * values[:, v - 1] for c, v in terms), np.zeros(len(values), np.int64))


def read_cnf(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("c ")]
    _, _, variables, count = lines[0].split()
    clauses = [[int(word) for word in line.split()] for line in lines[1:]]
    assert len(clauses) == int(count)
    assert all(clause[-1] == 0 for clause in clauses)
    return int(variables), [clause[:-1] for clause in clauses]


def read_smt(text):
    """S-expressions."""
    stack = [[]]
    for token in re.findall(r"[()]|[^\s()]+", re.sub(r";.*", "", text)):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    assert len(stack) == 1
    return stack[0]


def smt_value(term, values):
    if isinstance(term, str):
        if term in ("true", "false"):
            return np.full(len(values), term == "true")
        return values[:, int(term[1:]) - 1] == 1 if term[0] == "x" else np.full(len(values), int(term))
    parts = [smt_value(part, values) for part in term[1:]]
    match term[0]:
        case "ite":
            return np.where(*parts)
        case "+":
            return sum(parts)
        case ">=":
            return parts[0] >= parts[1]
        case "=":
            return parts[0] == parts[1]
        case "or":
            return np.any(parts, axis=0)
        case "not":
            return ~parts[0]
    raise AssertionError(term)


def read_mps(path):
    """Columns, cost terms and rows (terms, least) of an MPS file with only >= rows and 0/1 columns."""
    section, rows, least, columns = None, {}, {}, []
    for line in path.read_text().splitlines():
        if line.startswith("*"):
            continue
        words = line.split()
        if not line.startswith(" "):
            section = words[0]
        elif section == "ROWS":
            rows[words[1]] = []
            assert words[0] == ("N" if words[1] == "COST" else "G")
        elif section == "COLUMNS" and "'MARKER'" not in words:
            rows[words[1]].append((int(words[2]), int(words[0][1:])))
            columns.append(words[0])
        elif section == "RHS":
            least[words[1]] = int(words[2])
        elif section == "BOUNDS":
            assert words[0] == "BV"
    count = len(set(columns))
    assert len(columns) == sum(len(row) for row in rows.values())
    return count, rows.pop("COST"), [(terms, least[name]) for name, terms in rows.items()]


# -- the files say what the problem says ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("folded", [True, False])
def test_opb(tmp_path, seed, folded):
    for problem in problems(seed):
        side = write_opb(problem, tmp_path / "q.opb", objective=True, folded=folded)
        count, objective, rows = read_pb(tmp_path / "q.opb")
        values = assignments(count)
        good = (
            values[np.all([total(terms, values) >= least for _, terms, least in rows], axis=0)]
            if rows
            else values
        )
        expected = least_weights(problem)
        assert sorted(tuple(row[: problem.cascade.steps]) for row in good.tolist()) == sorted(expected)
        if expected:
            cost = json.loads(side.read_text())["cost"]
            assert total(objective, good).min() + cost["offset"] == min(expected.values())
            assert Fraction(cost["unit"]) == problem.near.unit


@pytest.mark.parametrize("seed", range(15))
def test_wbo(tmp_path, seed):
    for problem in problems(seed):
        side = write_wbo(problem, tmp_path / "q.wbo")
        count, _, rows = read_pb(tmp_path / "q.wbo")
        values = assignments(count)
        hard = np.all(
            [total(t, values) >= least for price, t, least in rows if price is None]
            or [np.ones(len(values), bool)],
            axis=0,
        )
        paid = sum(
            (price * (total(t, values) < least) for price, t, least in rows if price is not None),
            np.zeros(len(values), np.int64),
        )
        expected = least_weights(problem)
        assert hard.any() == bool(expected)
        if expected:
            assert paid[hard].min() + json.loads(side.read_text())["cost"]["offset"] == min(expected.values())


@pytest.mark.parametrize("seed", range(15))
def test_smt2(tmp_path, seed):
    for problem in problems(seed):
        write_smt2(problem, tmp_path / "q.smt2")
        logic, *commands, last = read_smt((tmp_path / "q.smt2").read_text())
        assert (logic, last) == (["set-logic", "QF_LIA"], ["check-sat"])
        names = [words[1] for words in commands if words[0] == "declare-const"]
        assert names == [f"x{k}" for k in range(1, len(names) + 1)]
        values = assignments(len(names))
        good = np.all(
            [smt_value(words[1], values) for words in commands if words[0] == "assert"]
            or [np.ones(len(values), bool)],
            axis=0,
        )
        assert sorted(tuple(row[: problem.cascade.steps]) for row in values[good].tolist()) == sorted(
            least_weights(problem)
        )


@pytest.mark.parametrize("seed", range(15))
def test_mps(tmp_path, seed):
    for problem in problems(seed):
        side = write_mps(problem, tmp_path / "q.mps", objective=True)
        count, cost, rows = read_mps(tmp_path / "q.mps")
        values = assignments(count)
        good = values[
            np.all(
                [total(terms, values) >= least for terms, least in rows] or [np.ones(len(values), bool)],
                axis=0,
            )
        ]
        expected = least_weights(problem)
        assert sorted(tuple(row[: problem.cascade.steps]) for row in good.tolist()) == sorted(expected)
        if expected:
            assert total(cost, good).min() + json.loads(side.read_text())["cost"]["offset"] == min(
                expected.values()
            )


@pytest.mark.parametrize("seed", range(15))
def test_cnf(tmp_path, seed):
    solvers = pytest.importorskip("pysat.solvers")
    formula = pytest.importorskip("pysat.formula")
    for problem in problems(seed):
        write_cnf(problem, tmp_path / "q.cnf")
        count, clauses = read_cnf(tmp_path / "q.cnf")
        theirs = formula.CNF(from_file=str(tmp_path / "q.cnf"))
        assert theirs.clauses == clauses
        assert max((abs(v) for clause in clauses for v in clause), default=0) <= count
        with solvers.Solver("cadical195", bootstrap_with=clauses) as solver:
            expected = least_weights(problem)
            assert solver.solve() == bool(expected)
            if expected:
                assert sample_of(problem, solver.get_model()) in {
                    problem.near.moved(problem.cascade.moves(steps)) for steps in expected
                }


@pytest.mark.parametrize("seed", range(6))
def test_a_reader_of_others_takes_the_mps(tmp_path, seed):
    builder = pytest.importorskip("ortools.linear_solver.python.model_builder")
    for problem in problems(seed):
        side = write_mps(problem, tmp_path / "q.mps", objective=True)
        model = builder.Model()
        assert model.import_from_mps_file(str(tmp_path / "q.mps"))
        solver = builder.Solver("sat")
        status, expected = solver.solve(model), least_weights(problem)
        assert (status == builder.SolveStatus.OPTIMAL) == bool(expected)
        if expected:
            assert round(solver.objective_value) + json.loads(side.read_text())["cost"]["offset"] == min(
                expected.values()
            )


# -- maps, names, refusals -----------------------------------------------------------------------------------


@pytest.fixture
def problem():
    encoder = Encoder([threshold(9, 0, 16, True), threshold(2.5)], ["pixel\n(3,4)", "größe"])
    network = Network(
        encoder, [DenseLayer([[1, -1], [1, 1]], [1, 2])], Head([[1, 1], [-1, 1]]), classes=["light", "dark"]
    )
    return Problem(L0(2).around(network, [10, Fraction(5, 2)]), loses(network.head, 0))


@pytest.mark.parametrize("ending", ["opb", "wbo", "cnf", "smt2", "mps"])
def test_every_file_has_a_map(tmp_path, problem, ending):
    side = export(problem, tmp_path / f"q.{ending}")
    assert side == tmp_path / f"q.{ending}.map.json"
    document = json.loads(side.read_text(encoding="utf-8"))
    assert (document["kind"], document["file"], document["network"]) == (
        ending,
        f"q.{ending}",
        problem.near.network.fingerprint,
    )
    assert document["sample"] == [10, "5/2"]
    assert document["variables"]["x2"] == "feature größe >= 2.5"
    assert document["variables"]["x5"] == "class dark scores more than class light"
    assert document["features"][0] == {"feature": "pixel\n(3,4)", "variables": [1], "values": [8, 10]}
    text = (tmp_path / f"q.{ending}").read_text(encoding="utf-8")
    assert "x1: feature pixel\\n(3,4) >= 9\n" in text  # a name never breaks a comment
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"q.{ending}", f"q.{ending}.map.json"]


def test_the_format_can_be_named(tmp_path, problem):
    export(problem, tmp_path / "question", "opb", objective=True)
    assert "\nmin: " in (tmp_path / "question").read_text()
    with pytest.raises(QuestionError, match=r"there is no format 'txt'.*opb, wbo, cnf, smt2, mps"):
        export(problem, tmp_path / "q.txt")
    with pytest.raises(FileError, match="no folder"):
        export(problem, tmp_path / "missing" / "q.opb")


def test_solutions_are_replayed(problem):
    assert sample_of(problem, [-1, 2, -3]) == (8, Fraction(5, 2))
    with pytest.raises(QuestionError, match="which is not a violation"):
        sample_of(problem, [1, 2])


def test_too_large_files_are_refused(tmp_path, problem):
    with pytest.raises(TooLargeError, match=r"clauses, but 3 is the limit"):
        write_cnf(problem, tmp_path / "q.cnf", limit=3)
    network = Network(Encoder([threshold(0.1), threshold(1e9 + 0.1)]), [], Head([[1, 1], [-1, -1]]))
    fine = Problem(L1(1e9 + 0.15).around(network, [0.0, 0.0]), loses(network.head, 1))
    with pytest.raises(TooLargeError, match="readers compute in floats"):
        write_mps(fine, tmp_path / "q.mps")
    write_opb(fine, tmp_path / "q.opb")
    assert "* costs are rounded down" in (tmp_path / "q.opb").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["q.opb", "q.opb.map.json"]
