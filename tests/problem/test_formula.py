"""Formulas and clauses against the definition: on small problems every violation is exactly one solution, and
there are no others.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sugenet.bnn import (
    DenseLayer,
    Encoder,
    Head,
    Network,
    OneHot,
    QuantizedConv,
    QuantizedLayer,
    Window,
    threshold,
)
from sugenet.engines.hard.outside.cnf import Cnf
from sugenet.errors import TooLargeError
from sugenet.problem.formula import Formula, Gate, Linear, fixed_values
from sugenet.problem.goal import Goal, Votes, loses
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L1, AnyInput, Hamming
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_network, random_sample, true_sum, violating
from tests.problem.test_problem import REGIONS, goals


def small_problems(seed, steps=12):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    odd = [
        Goal(()),
        Goal(((),)),
        Goal(((Votes((1, 1, -1), 1), Votes((0, 1, 0), 1)), (Votes((-1, 0, 2), 0),))),
    ]
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        for goal in goals(network, rng)[0] + odd:
            problem = Problem(near, goal)
            if problem.cascade.steps <= steps:
                yield problem


def holds(row, values):
    return true_sum(row.coefficients, row.literals, values) >= row.least


def value(objective, values):
    return objective.unit * (objective.offset + true_sum(objective.coefficients, objective.literals, values))


def all_steps(cascade):
    return np.array(list(product((0, 1), repeat=cascade.steps)), dtype=np.int64).reshape(
        2**cascade.steps, cascade.steps
    )


def violations(problem):
    rows = all_steps(problem.cascade)
    return {
        tuple(row) for row, bad in zip(rows.tolist(), violating(problem.cascade, rows), strict=True) if bad
    }


def extended(formula, steps):
    """The values that all other variables must have."""
    values = np.array(steps)
    everything = list(steps)
    for layer in formula.cascade.layers:
        values = (layer.weights @ values >= layer.least).astype(int)
        everything += values.tolist()
    rows = values.tolist()
    return (
        everything
        + [int(all(rows[k] for k in case)) for case in formula.cascade.cases][
            : formula.variables - len(everything)
        ]
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("folded", [True, False])
def test_solutions_are_the_violations(seed, folded):
    for problem in small_problems(seed, 7):
        formula = Formula.of(problem, folded=folded)
        rows, bad = list(formula.constraints()), violations(problem)
        assert all(len(row.coefficients) == 0 or min(row.coefficients) > 0 for row in rows)
        for steps in all_steps(problem.cascade).tolist():
            values = extended(formula, steps)
            assert all(holds(row, values) for row in rows) == (tuple(steps) in bad)


@pytest.mark.parametrize("seed", range(30))
def test_there_are_no_other_solutions(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, features=2, depth=1, width=2)
    near = Hamming(2).around(network, random_sample(network, rng))
    for goal in (
        *goals(network, rng)[0],
        Goal(((Votes((1, 1, -1), 1), Votes((0, 1, 0), 1)), (Votes((-1, 0, 2), 0),))),
    ):
        problem = Problem(near, goal)
        for folded in (True, False):
            formula = Formula.of(problem, folded=folded)
            if formula.variables > 12:
                continue
            rows = list(formula.constraints())
            found = [
                v for v in product((0, 1), repeat=formula.variables) if all(holds(row, v) for row in rows)
            ]
            assert {v[: problem.cascade.steps] for v in found} == violations(problem)
            assert len(found) == len(violations(problem))


@pytest.mark.parametrize("seed", range(12))
def test_clauses_have_the_violations_as_models(seed):
    solvers = pytest.importorskip("pysat.solvers")
    for problem in small_problems(100 + seed):
        cnf = Cnf.of(problem)
        with solvers.Solver("glucose4", bootstrap_with=cnf.clauses) as solver:
            for number in range(1, cnf.variables + 1):
                solver.add_clause([number, -number])
            steps = range(1, problem.cascade.steps + 1)
            models = (
                [tuple(int(v in set(model)) for v in steps) for model in solver.enum_models()]
                if () not in cnf.clauses
                else []
            )
        assert sorted(set(models)) == sorted(violations(problem))


@pytest.mark.parametrize("seed", range(12))
def test_fixed_values_are_constant(seed):
    for problem in small_problems(200 + seed, 8):
        cascade, fixed = problem.cascade, fixed_values(problem)
        anything = Problem(problem.near, Goal(((),)))
        for steps in violations(anything):
            values = np.array(extended(Formula.of(problem), steps)[: cascade.starts[-1]])
            assert (fixed[fixed >= 0] == values[fixed >= 0]).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_objective_is_what_the_moves_weigh(seed):
    for problem in small_problems(300 + seed, 8):
        objective = Formula.of(problem).objective
        for steps in violations(Problem(problem.near, Goal(((),)))):
            assert value(objective, steps) == problem.near.unit * sum(
                move.weight for move in problem.cascade.moves(steps)
            )


def test_sums():
    row = Linear.of([3, -2, 0, 1], [1, 2, 3, 4], 1)
    assert row == Linear((3, 2, 1), (1, -2, 4), 3)
    gate = Gate(9, row)
    for values in product((0, 1), repeat=9):
        weights, numbers, least = row.signed()
        assert holds(row, values) == (3 * values[0] - 2 * values[1] + values[3] >= 1)
        assert holds(row, values) == (
            sum(w * values[v - 1] for w, v in zip(weights, numbers, strict=True)) >= least
        )
        assert holds(row.negated(), values) != holds(row, values)
        assert all(holds(part, values) for part in gate.constraints()) == (holds(row, values) == values[8])
    assert (Linear((), (), 0).constant, Linear((2,), (1,), 3).constant, row.constant) == (True, False, None)


def test_every_variable_has_words():
    encoder = Encoder(
        [threshold(9, 0, 16, True), OneHot(("red", "green", "blue"))], ["pixel (3,4)", "colour"]
    )
    head = Head([[1, -1], [-1, 1], [1, 1]], bias=[0, Fraction(1, 3), 0])
    network = Network(
        encoder, [DenseLayer([[1, 1, -1, 0], [1, 0, 1, 1]], [2, 2])], head, classes=["a", "b", "c"]
    )
    near = AnyInput().around(network, [3, "green"])
    goal = Goal((*loses(head, 1, ties="against").cases, (Votes((1, 1, -2), 1), Votes((0, 0, 0), 0))))
    assert Formula.of(Problem(near, goal)).names == (
        "feature pixel (3,4) >= 9",
        "feature colour = green or blue",
        "feature colour = blue",
        "layer 1, neuron 1 is active",
        "layer 1, neuron 2 is active",
        # with a third between them there is no tie, so this is the same inequality
        "class a scores more than class b",
        "class c scores more than class b",
        "1 M[a] + 1 M[b] + -2 M[c] >= 1 for match counts M of the classes",
        "0 >= 0 for match counts M of the classes",
        "case 1 of the goal",
        "case 2 of the goal",
        "case 3 of the goal",
    )
    bits = Network(encoder, [], Head([[1, 1, 0, 0], [0, 0, 1, 1]]))
    assert (
        "bit 2: colour = red"
        in Formula.of(Problem(Hamming(1).around(bits, [3, "green"]), loses(bits.head, 0))).names
    )


def test_too_many_clauses_are_refused_with_their_number():
    rng = np.random.default_rng(0)
    network = random_network(rng, features=4, depth=1, width=5)
    problem = Problem(AnyInput().around(network, random_sample(network, rng)), loses(network.head, 0))
    count = len(Cnf.of(problem).clauses)
    assert count > 20
    with pytest.raises(TooLargeError, match=rf"takes {count} clauses, but {count - 1} is the limit.*OPB"):
        Cnf.of(problem, limit=count - 1)
    with pytest.raises(TooLargeError, match="more than"):
        Cnf.of(problem, limit=2)


def test_fine_costs_make_clauses_explode_and_are_given_up_on():
    network = Network(
        Encoder([threshold(0.1 * k + 0.37) for k in range(30)]), [], Head([[1] * 30, [-1] * 30])
    )
    problem = Problem(L1(20).around(network, [0.0] * 30), loses(network.head, 1))
    with pytest.raises(TooLargeError, match="more than"):
        Cnf.of(problem, limit=10_000)


def test_the_variables_of_levels_say_which_level():
    first = QuantizedLayer([[1, 1], [1, -1]], [[1, 2], [1, 2]], [1, 1])
    middle = QuantizedConv(np.ones((1, 1, 1, 2), int), [[1, 3]], Window((1, 1, 2), (1, 2)), top=2)
    network = Network.of_bits([first, middle], Head([[1], [-1]], tops=[2]))
    names = Formula.of(Problem(Hamming(1).around(network, [1, 1]), loses(network.head, 0))).names
    assert names[2:-1] == (
        "layer 1, neuron 1 reaches level 1",  # the map behind it reads level by level
        "layer 1, neuron 2 reaches level 1",
        "layer 1, neuron 1 reaches level 2",
        "layer 1, neuron 2 reaches level 2",
        "layer 2, neuron 1 reaches level 1",
        "layer 2, neuron 1 reaches level 2",
    )
