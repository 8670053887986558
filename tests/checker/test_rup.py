"""The checker of propagation proofs: true proofs pass, tampered ones and those of other problems do not."""

from __future__ import annotations

from copy import deepcopy
from itertools import product

import numpy as np
import pytest

from sugenet.checker.accelerate.thresholds import ThresholdSystem
from sugenet.engines.hard.learn.solver import Core, Solver, facts_of
from sugenet.errors import CertificateError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes
from sugenet.problem.problem import Problem
from sugenet.problem.regions import AnyInput, Hamming
from tests.checker.typed import check_rup
from tests.engines.test_learn import plain, random_cascade

ONE = np.ones((1, 1), np.int64)


def proof_of(clauses, variables, facts=(), cuts=()):
    return {
        "kind": "lemma",
        "variables": variables,
        "facts": list(facts),
        "cuts": [list(c) for c in cuts],
        "clauses": clauses,
    }


def two_inputs(least, goal=1):
    """Neuron: x1 + x2 >= least; the goal: neuron >= goal."""
    layers = ((np.array([[1, 1]]), np.array([least])), (ONE, np.array([goal])))
    return ThresholdSystem(((0,), (1,)), None, layers, ((0,),))


def test_propagation_alone_can_be_enough():
    assert (
        check_rup(proof_of([[]], 5), two_inputs(3))
        == "1 clauses follow one after the other, the last one empty"
    )
    with pytest.raises(CertificateError, match="clause 1, the empty one, does not follow"):
        check_rup(proof_of([[]], 5), two_inputs(2))


def test_clauses_must_follow_in_order():
    # x1 xor x2, wanted together with x1 = x2: (a or b), (not a or not b) as neurons, both wanted, and steps
    # chained to be equal
    weights = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]])
    layers = ((weights, np.array([1, -1, 0, 0])), (np.ones((1, 4), np.int64), np.array([4])))
    problem = ThresholdSystem(((0,), (1,)), None, layers, ((0,),))
    check_rup(proof_of([[1], []], 8), problem)
    check_rup(proof_of([[1, 1], []], 8), problem)  # a literal twice, as in the plain form
    with pytest.raises(CertificateError, match=r"clause 1 of 2, \[3, -4\]|the empty one"):
        check_rup(proof_of([[3, -4], []], 8), problem)
    with pytest.raises(CertificateError, match="does not end with the empty clause"):
        check_rup(proof_of([[1]], 8), problem)
    with pytest.raises(CertificateError, match="does not end with the empty clause"):
        check_rup(proof_of([], 8), problem)


def test_assumptions_are_taken_as_true():
    check_rup(proof_of([[]], 5), two_inputs(1), [-1, -2])
    with pytest.raises(CertificateError, match="does not follow"):
        check_rup(proof_of([[]], 5), two_inputs(1), [-1])


def budget_problem(limit):
    """Three inputs, all needed for the neuron that the goal wants, one unit of price each."""
    layers = ((np.ones((1, 3), np.int64), np.array([3])), (ONE, np.array([1])))
    return ThresholdSystem(((0,), (1,), (2,)), ((1, 1, 1), limit), layers, ((0,),))


def test_facts_are_derived_again():
    check_rup(proof_of([[]], 6, facts=[-4]), budget_problem(2))
    check_rup(proof_of([[]], 6, facts=[-4] * 9), budget_problem(2))  # again and again, as in the plain form
    with pytest.raises(CertificateError, match="the fact -4 does not follow"):
        check_rup(proof_of([[]], 6, facts=[-4]), budget_problem(3))
    with pytest.raises(CertificateError, match="the fact 4 does not follow"):
        check_rup(proof_of([[]], 6, facts=[4]), budget_problem(2))
    with pytest.raises(CertificateError, match="the fact 1 does not follow"):
        check_rup(proof_of([[]], 6, facts=[1]), budget_problem(2))


def test_facts_hold_for_every_allowed_input():
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(120):
        cascade = random_cascade(rng, steps=5, hidden=[4])
        if not cascade.cases:
            continue
        steps = np.array(list(product((0, 1), repeat=5)))
        allowed = [all((np.diff(row[list(c.steps)]) <= 0).all() for c in cascade.chains) for row in steps]
        if cascade.budget is not None:
            allowed &= steps.astype(object) @ cascade.budget[0] <= cascade.budget[1]
        inside = steps[np.array(allowed, bool)] @ cascade.layers[0].weights.T >= cascade.layers[0].least
        total = cascade.starts[-1] + len(cascade.cases)
        for row, fact in product(range(4), (True, False)):
            literal = (6 + row) if fact else -(6 + row)
            try:
                check_rup(proof_of([[]], total, facts=[literal]), plain(cascade))
            except CertificateError as error:
                if "the fact" in str(error):
                    continue
            seen += 1
            assert (inside[:, row] == fact).all()
    assert seen > 50


def test_cuts_are_sums_with_the_budget():
    # both neurons need two of their own inputs, one shared; the budget is 2: with the cuts, propagation sees
    # that they exclude each other
    weights = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    layers = ((weights, np.array([2, 2])), (np.ones((1, 2), np.int64), np.array([2])))
    problem = ThresholdSystem(tuple((i,) for i in range(4)), ((1, 1, 1, 1), 2), layers, ((0,),))
    check_rup(proof_of([[]], 8, cuts=[[5, 1, 1], [6, 1, 1]]), problem)
    for cut, words in (
        ([5, -1, 1], "cuts: an integer of at least 0 is needed, not -1"),
        ([5, 1, -1], "cuts: an integer of at least 0 is needed, not -1"),
        ([7, 1, 1], "the cut"),
        ([0, 1, 1], "the cut"),
    ):
        with pytest.raises(CertificateError, match=words):
            check_rup(proof_of([[]], 8, cuts=[cut]), problem)
    with pytest.raises(CertificateError, match="no budget"):
        check_rup(proof_of([[]], 5, cuts=[[3, 1, 1]]), two_inputs(3))


def refuted(seed):
    """A goal that is just out of reach within two flips, though not beyond, with a proof of some clauses."""
    rng = np.random.default_rng(seed)
    everything = np.array(list(product((0, 1), repeat=10)))
    while True:
        layers = [DenseLayer(rng.choice([-1, 1], (m, n)), [n // 2] * m) for n, m in ((10, 16), (16, 24))]
        network = Network.of_bits(layers, Head(rng.choice([-1, 1], (2, 24))))
        x = rng.integers(0, 2, 10)
        lead = network.match_counts(everything) @ [-1, 1]
        most = int(lead[(everything != x).sum(axis=1) <= 2].max())
        if int(lead[(everything != x).sum(axis=1) <= 6].max()) == most:
            continue
        problem = Problem(Hamming(2).around(network, x.tolist()), Goal(((Votes.of([-1, 1], most + 1),),)))
        solver = Solver(problem.cascade, facts_of(problem.first_layer, problem.cascade))
        assert isinstance(solver.solve(Clock()), Core)
        proof = solver.proof()
        if len(proof["clauses"]) > 10:
            return problem, proof


@pytest.mark.parametrize("seed", range(4))
def test_tampered_proofs_fail_when_they_should(seed):
    problem, proof = refuted(seed)
    cascade = plain(problem.cascade)
    check_rup(proof, cascade)
    rng = np.random.default_rng(seed)
    failed = []
    for _ in range(30):
        bad = deepcopy(proof)
        number = int(rng.integers(len(bad["clauses"]) - 1))
        if rng.random() < 0.5:
            del bad["clauses"][number]
        elif bad["clauses"][number]:
            place = int(rng.integers(len(bad["clauses"][number])))
            bad["clauses"][number][place] *= -1
        try:
            check_rup(bad, cascade)
        except CertificateError as error:
            failed.append(str(error))
    assert len(failed) >= 5
    assert all("does not follow" in words for words in failed)
    with pytest.raises(CertificateError, match="does not follow"):
        check_rup({**proof, "clauses": [[]]}, cascade)


@pytest.mark.parametrize("seed", range(3))
def test_a_proof_is_for_its_own_problem(seed):
    problem, proof = refuted(10 + seed)
    network = problem.near.network
    for radius in (6, 10):  # there the goal is reached, so no proof can be right
        wider = Problem(Hamming(radius).around(network, problem.near.sample), problem.goal)
        assert not isinstance(Solver(wider.cascade).solve(Clock()), Core)
        with pytest.raises(CertificateError, match=r"the fact \d+ does not follow"):
            check_rup(proof, plain(wider.cascade))
    free = Problem(AnyInput().around(network, problem.near.sample), problem.goal)
    with pytest.raises(CertificateError, match=r"no budget|does not follow"):
        check_rup(proof, plain(free.cascade))


def test_damaged_proofs_are_said_to_be_damaged():
    good = proof_of([[]], 5)
    for change, words in [
        ({"kind": "drat"}, "unknown kind 'drat'"),
        ({"variables": 6}, "not a propagation proof over 5 variables"),
        ({"clauses": [[9], []]}, "9 is not a literal"),
        ({"clauses": [[0], []]}, "0 is not a literal"),
        ({"clauses": [["1"], []]}, "clauses: an integer is needed, not '1'"),
        ({"clauses": [[True], []]}, "clauses: an integer is needed, not True"),
        ({"clauses": None}, "clauses: text or a list is needed, not null"),
        ({"facts": 3}, "facts: a list is needed, not 3"),
        ({"encoding": "zip"}, "encoding: zlib.base64 is needed, not 'zip'"),
        ({"encoding": "zlib+base64"}, "lists, or text with an encoding"),
        ({"clauses": "eJw="}, "lists, or text with an encoding"),
        ({"encoding": "zlib+base64", "clauses": "!!"}, "damaged"),
        ({"encoding": "zlib+base64", "clauses": "AAAA"}, "damaged"),
        ({"encoding": "zlib+base64", "clauses": "eJw="}, "cut off"),
    ]:
        with pytest.raises(CertificateError, match=words):
            check_rup({**good, **change}, two_inputs(3))
    with pytest.raises(CertificateError, match="has no field 'kind'"):
        check_rup({}, two_inputs(3))
    odd = ThresholdSystem(((1,), (0,)), None, two_inputs(3).layers, ((0,),))
    with pytest.raises(CertificateError, match="in order"):
        check_rup(good, odd)
    with pytest.raises(CertificateError, match="do not fit"):
        check_rup(proof_of([[]], 4), ThresholdSystem(((0,),), None, two_inputs(3).layers, ((0,),)))
    large = ThresholdSystem(((0,), (1,)), ((1 << 70, 1), 5), two_inputs(3).layers, ((0,),))
    with pytest.raises(CertificateError, match="too large"):
        check_rup(good, large)
