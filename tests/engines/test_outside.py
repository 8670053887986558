"""One contract for all solvers: on small problems they agree with brute force, and they stop when told to."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.engines import ladder, protocol
from sugenet.engines.hard.outside import SOLVERS, cpsat, solver_named
from sugenet.engines.hard.outside.cnf import Cnf
from sugenet.engines.hard.outside.pysat import hearing_ctrl_c
from sugenet.engines.protocol import Engine
from sugenet.errors import QuestionError
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses
from sugenet.problem.problem import Fails, Holds, Open, Problem
from sugenet.problem.regions import L1, Hamming, Linf
from sugenet.reason.reasons.hitting import HittingSets
from tests.problem.levels import any_network
from tests.problem.small import random_sample, samples_inside
from tests.problem.test_problem import REGIONS, goals


@pytest.fixture(params=SOLVERS)
def solve(request):
    pytest.importorskip(SOLVERS[request.param].package)
    return solver_named(request.param)


def has_violation(problem):
    rows = np.array([list(y) for y in samples_inside(problem.near)], dtype=object)
    return bool(problem.goal.violates(problem.near.network.match_counts(rows, engine="definition")).any())


@pytest.mark.parametrize("seed", range(12))
def test_solvers_agree_with_brute_force(solve, seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    odd = [
        Goal(()),
        Goal(((),)),
        Goal(((Votes((1, 1, -1), 1), Votes((0, 1, 0), 1)), (Votes((-1, 0, 2), 0),))),
    ]
    for region in REGIONS:
        near = region.around(network, x)
        for goal in goals(network, rng)[0] + odd:
            problem = Problem(near, goal)
            found = solve(problem, Clock(threads=1, seed=seed))
            if has_violation(problem):
                assert isinstance(found, Fails)
                assert found.witness in set(samples_inside(near))
                assert goal.violates(
                    network.match_counts(np.array([found.witness], object), engine="definition")
                )[0]
            else:
                assert isinstance(found, Holds)
                assert found.proof is None or found.proof["kind"] == "lemma"


def shipped(name, index, region):
    network = getattr(sg.models, name)()
    x = sg.models.samples(name)[0][index]
    return Problem(region.around(network, x), loses(network.head, int(network.predict(x[None])[0])))


@pytest.mark.parametrize(
    ("name", "index", "region", "outcome"),
    [
        ("digits", 1, Hamming(2), Holds),
        ("digits", 2, Hamming(2), Fails),
        ("digits", 1, Linf(2), Holds),
        ("breast_cancer", 0, Linf(0.1), Fails),
    ],
)
def test_solvers_decide_the_shipped_models(solve, name, index, region, outcome):
    assert isinstance(solve(shipped(name, index, region)), outcome)


def test_finely_divided_costs(solve):
    for index, outcome in ((0, Fails), (2, Holds)):
        assert isinstance(solve(shipped("breast_cancer", index, L1(0.25))), (outcome, Open))


def test_solvers_stop(solve):
    problem = shipped("digits", 3, Hamming(5))
    for limit in (0.3, 0):
        found = solve(problem, Clock(limit, threads=1))
        if solve is SOLVERS["exact"] and isinstance(found, Fails):
            continue  # it looks at the clock every quarter of a second
        assert isinstance(found, Open)
        assert found.reason == "it was stopped"


@pytest.mark.parametrize("name", ["cpsat", "pysat"])
def test_a_stopped_solver_says_so(name):
    pytest.importorskip(SOLVERS[name].package)
    found = solver_named(name)(shipped("digits", 1, Hamming(3)), Clock(0, threads=1))
    assert isinstance(found, Open)
    assert found.reason == "it was stopped"


def test_large_scores():
    network = Network.of_bits([], Head([[1, 1], [-1, 1]], bias=[0, 2**-50], scale=[1, 1 + 2**-50]))
    problem = Problem(Hamming(1).around(network, [1, 1]), loses(network.head, 0))
    for solver in SOLVERS.values():
        pytest.importorskip(solver.package)
        assert isinstance(solver(problem), Fails)
    network = Network.of_bits([], Head([[1, 1], [-1, 1]], bias=[0, 2**-58], scale=[1, 1 + 2**-50]))
    problem = Problem(Hamming(1).around(network, [1, 1]), loses(network.head, 0))
    found = solver_named("cpsat")(problem)
    assert isinstance(found, Fails) or "61 bits" in found.reason


def test_pysat_refuses_what_is_too_large(monkeypatch):
    pytest.importorskip("pysat")
    monkeypatch.setattr(Cnf, "of", partial(Cnf.of, limit=1000))
    found = solver_named("pysat")(shipped("digits", 1, Hamming(2)))
    assert isinstance(found, Open)
    assert "clauses, but 1,000 is the limit" in found.reason


def test_solvers_have_names(monkeypatch):
    with pytest.raises(QuestionError, match=r"no solver 'z3'\. Choose one of cpsat, pysat, exact"):
        solver_named("z3")
    monkeypatch.setattr(protocol, "_is_installed", lambda _name: False)
    with pytest.raises(
        QuestionError,
        match=r"needs the package 'exact', which is not installed; "
        r"from a clone of sugenet: pip install \"\.\[exact\]\"",
    ):
        solver_named("exact")


def test_ctrl_c_that_python_sat_takes_is_given_back(monkeypatch):
    """It tells of Ctrl-C by an error of its own, which a search for reasons would not know."""
    hitman = pytest.importorskip("pysat.examples.hitman")
    import pysolvers

    def interrupted(_):
        raise pysolvers.error("Caught keyboard interrupt")

    sets = HittingSets([{1, 2}])
    monkeypatch.setattr(hitman.Hitman, "get", interrupted)
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        with pytest.raises(KeyboardInterrupt):
            sets.smallest()
        signal.raise_signal(signal.SIGINT)  # Python's handler is in its place, and heard of the first, too
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT] * 2
    with pytest.raises(ZeroDivisionError), hearing_ctrl_c():
        1 / 0  # noqa: B018


def test_cpsat_is_not_believed_about_large_numbers(monkeypatch):
    net = Network.of_bits(
        [DenseLayer([[1, 1, 1, 1]] * 2, [2, 3])], Head([[1, -1], [-1, 1]], scale=[1 + 2**-40, 1])
    )
    question = sg.Robust([1, 1, 1, -1], sg.AnyInput(), target=1)
    problem = Problem(question.near(net), question.label_goal(net).goal)
    assert type(cpsat.CPSAT(problem)).__name__ == "Open"
    monkeypatch.setattr(cpsat, "_BELIEVED", 1 << 61)
    assert type(cpsat.CPSAT(problem)).__name__ == "Holds"


def test_without_cpsat_the_ladder_ends_with_a_proof_and_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setattr(protocol, "_is_installed", lambda name: find_spec(name) is not None)  # asked again
    network = sg.models.breast_cancer()
    X, _ = sg.models.samples("breast_cancer")
    problem = Problem(sg.AnyInput().around(network, X[7]), loses(network.head, 1))
    assert ladder._ladder(problem)[-1].name == "cdcl"
    with pytest.raises(QuestionError, match=r'from a clone of sugenet: pip install "\.\[cpsat\]"'):
        sg.verify(network, sg.Robust(X[7], sg.L0(1)), engine="cpsat")
    assert isinstance(sg.verify(network, sg.Robust(X[7], sg.L0(1))), sg.Proved)
    last = Engine("cdcl", lambda _problem, _clock: Open("cdcl", "too large", {}))
    rungs = [replace(rung, engine=last) for rung in ladder.RUNGS if rung.engine.name in ("cdcl", "search")]
    monkeypatch.setattr(ladder, "RUNGS", rungs)
    found = ladder.decide(problem, Clock())
    assert isinstance(found, Open)
    assert found.reason.endswith(f"CP-SAT might decide it, and is not installed; {SOLVERS['cpsat'].install}")
