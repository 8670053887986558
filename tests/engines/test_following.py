"""Logs of Exact as lemma proofs: constraints are numbered as by the checker, and proofs are checked."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.checker.lemma import _System
from sugenet.engines.hard.learn.solver import facts_of
from sugenet.engines.hard.outside import exact
from sugenet.engines.hard.outside.exact import constraints_of, lemma_of, used_of
from sugenet.reason.questions import problems_of
from tests.checker.plainly import thresholds_plainly
from tests.engines.test_learn import plain as system_of
from tests.engines.test_learn import random_cascade
from tests.problem.levels import any_network
from tests.problem.small import random_sample
from tests.problem.test_problem import REGIONS

LOG = """pseudo-Boolean proof version 1.1
rup >= 0 ;
l 1
l 2
l 3
l 4
l 5
l 6
l 7
pol 8 2 d
l 8
pol 10 s
l 9
pol 12 2 d
l 10
pol 14 2 d
l 11
l 12
l 13
l 14
l 15
pol 9 20 +
pol 17 21 +
pol 16 22 +
pol 18 23 +
pol 13 24 2 * + x10 +
pol 13 24 2 * + ~x8 +
pol 2 25 4 * + 7 26 3 * + +
c 27
"""
"""What Exact 2.2.1 wrote of `recorded`."""


@pytest.fixture
def recorded():
    """The problem of the log, its certificate without the steps, and what the solver was given."""
    rng = np.random.default_rng(95)
    layers = [DenseLayer(rng.choice([-1, 1], (4, 6)), [4] * 4)]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (3, 4)), [0, 1, 0]))
    question = sg.Robust([0, 1, 0, 1, 0, 0], sg.Hamming(2))
    cascade = problems_of(network, question)[0][0].cascade
    facts = facts_of(problems_of(network, question)[0][0].first_layer, cascade)
    rows = list(constraints_of(cascade, facts))
    about = sg.verify(network, question, engine="cdcl").certificate
    about["proof"] = {"kind": "lemma", "variables": cascade.starts[-1] + len(cascade.cases)}
    about["proof"] |= {"facts": facts, "cuts": []}
    return network, json.loads(json.dumps(about)), used_of(rows, cascade, facts), len(rows)


def test_a_recorded_log_is_a_proof(recorded):
    network, certificate, given, there = recorded
    steps = lemma_of(LOG.splitlines(), given, there)
    certificate["proof"] |= steps
    assert (
        sg.check(certificate, network)
        == "9 sums and 1 clauses follow one after the other, the last one empty (plain form)"
    )
    assert sg.check(certificate, network, plain=True) == sg.check(certificate, network)
    del certificate["proof"]["sums"]
    certificate["proof"]["clauses"] = [[]]
    with pytest.raises(sg.errors.CertificateError, match="clause 1, the empty one, does not follow"):
        sg.check(certificate, network)


def test_only_what_the_conclusion_needs_is_kept(recorded):
    _, _, given, there = recorded
    more = LOG.replace("c 27", "pol 22 s\nc 27")
    assert lemma_of(more.splitlines(), given, there) == lemma_of(LOG.splitlines(), given, there)
    clause = LOG.replace("pol 2 25", "rup +1 x1 +1 ~x2 >= 1 ;\npol 2 25").replace("c 27", "c 28")
    assert lemma_of(clause.splitlines(), given, there)["clauses"][-1] == []
    assert [1, -2] not in lemma_of(clause.splitlines(), given, there)["clauses"]
    used = clause.replace("3 * + +", "3 * + + 27 +")
    assert [1, -2] in lemma_of(used.splitlines(), given, there)["clauses"]


@pytest.mark.parametrize(
    "line",
    ["pol 5 x3 w", "pol 1 2 +", "rup +2 x1 +1 x2 >= 1 ;", "rup +1 x1 +1 x2 >= 2 ;", "red +1 x1 >= 1 ; x1 1"],
)
def test_logs_with_other_steps_are_not_translated(recorded, line):
    _, _, given, there = recorded
    log = LOG.replace("pol 2 25 4 * +", f"{line}\npol 2 25 4 * + 27 +").replace("c 27", "c 28")
    assert lemma_of(log.splitlines(), given, there) is None


def test_a_log_without_a_conclusion_is_not_translated(recorded):
    _, _, given, there = recorded
    assert lemma_of(LOG.splitlines()[:-1], given, there) is None


def test_a_log_that_is_too_long_is_not_translated(recorded, monkeypatch):
    _, _, given, there = recorded
    monkeypatch.setattr(exact, "_WORDS", 20)
    assert lemma_of(LOG.splitlines(), given, there) is None


def test_constraints_are_numbered_as_by_the_checker():
    rng = np.random.default_rng(0)
    for _ in range(200):
        cascade = random_cascade(rng, steps=4, hidden=[3, 2])
        ours = [
            (dict(zip(row.literals, row.coefficients, strict=True)), row.least)
            for row in constraints_of(cascade, ())
        ]
        assert ours == _System(thresholds_plainly(system_of(cascade))).constraints


@pytest.mark.parametrize("seed", range(12))
def test_answers_of_exact_are_certified(seed):
    pytest.importorskip("exact")
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    for region in REGIONS:
        answer = sg.verify(network, sg.Robust(x, region), engine="exact")
        assert answer.outcome == sg.verify(network, sg.Robust(x, region)).outcome
        assert answer.is_certified
        sg.check(answer.certificate, network)
