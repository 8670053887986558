"""The checker's own branch and bound, against the definition; and certificates that are forged."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.checker.accelerate import branches, budgets, enumeration
from sugenet.checker.accelerate.branches import branches_seen
from sugenet.checker.accelerate.integers import ArrayProblem
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError, CheckLimitError, TooLargeError
from sugenet.nn import DenseLayer, Encoder, Head, LevelLayer, Network, integer
from tests.checker.plainly import seen_plainly
from tests.checker.test_groups import drawn
from tests.checker.test_words import counts_of


@pytest.fixture
def at_length(monkeypatch):
    """Searches are cut into nodes that threads share, after few of them."""
    monkeypatch.setattr(branches, "_PART", 2)
    monkeypatch.setattr(branches, "_SHORT", 2)
    monkeypatch.setattr(branches, "_DEEPEST", 2)
    monkeypatch.setattr(branches, "_ASIDE", 3)


def agrees(base, rows, stays, layers, head, threads=1):
    """A violation is seen where there is one: in most combinations, in few, and in none."""
    still = np.zeros_like(base)
    sums = [base + sum(chosen) for chosen in product(*([still, *(gain for _, gain in row)] for row in rows))]
    counts = counts_of(np.array(sums), layers, head)
    some, other = [1, -1, 0], [0, 1, -1]
    values, others = counts @ np.array(some), counts @ np.array(other)
    top = int(values.max())
    rest = int(others[values == top].max())
    for cases, bad in (
        ([[(some, int(np.median(values)))]], True),
        ([[(some, top)]], True),
        ([[(some, top + 1)]], False),
        ([[(some, top), (other, rest)]], True),
        ([[(some, top), (other, rest + 1)]], False),
        ([[(some, top), (other, rest + 1)], [(some, top + 1)], [(other, int(others.max()))]], True),
        ([[]], True),
        ([], False),
    ):
        whole = ArrayProblem(base, rows, stays, None, layers, head, cases, Limit(None, None))
        assert branches_seen(whole, threads=threads) == (None if bad else len(sums)), cases
        assert len(sums) > 50 or seen_plainly(whole) == (None if bad else len(sums))


KINDS = [
    {},
    {"gains": (-2, 0, 1), "head": (-2, 0, 1, 3)},
    {"gains": (-130, -1, 0, 1, 127), "head": (-1, 0, 1)},
]


@pytest.mark.parametrize("width", [1, 63, 64, 65, 255, 256, 257])
@pytest.mark.parametrize("kind", KINDS)
def test_as_by_the_definition(width, kind):
    rng = np.random.default_rng(width)
    agrees(*drawn(rng, 6, (width,), **kind))


@pytest.mark.usefixtures("at_length")
@pytest.mark.parametrize("threads", [1, 2])
def test_nodes_that_threads_share(threads):
    rng = np.random.default_rng(7)
    for kind in KINDS:
        agrees(*drawn(rng, 6, (70,), **kind), threads=threads)


@given(st.integers(0, 10**6), st.integers(1, 100), st.integers(0, 6))
def test_any_question(seed, width, features):
    rng = np.random.default_rng(seed)
    agrees(*drawn(rng, features, (width,), **KINDS[seed % 3]))


PRICED = [*KINDS, {"gains": (-9, -1, 0, 1, 2), "head": (-5, 0, 1)}]


@pytest.mark.parametrize("seed", range(24))
def test_sets_within_a_budget_as_by_the_definition(seed, monkeypatch):
    """Prices of 0 to 3; budgets that allow nothing, some sets and all."""
    monkeypatch.setattr(budgets, "_PART", 1 + seed % 3)
    rng = np.random.default_rng(seed)
    base, rows, stays, layers, head = drawn(rng, seed % 7, (int(rng.integers(1, 90)),), **PRICED[seed % 4])
    rows = [[(int(rng.integers(0, 4)), gain) for _, gain in row] for row in rows]
    for budget in (0, 1, 2, 4, 20):
        sums = [
            base + sum((gain for _, gain in chosen), np.zeros_like(base))
            for chosen in product(*([(0, np.zeros_like(base)), *row] for row in rows))
            if sum(price for price, _ in chosen) <= budget
        ]
        counts = counts_of(np.array(sums), layers, head)
        some, other = [1, -1, 0], [0, 1, -1]
        values, others = counts @ np.array(some), counts @ np.array(other)
        top = int(values.max())
        rest = int(others[values == top].max())
        for cases, bad in (
            ([[(some, top)]], True),
            ([[(some, top + 1)]], False),
            ([[(some, top), (other, rest)]], True),
            ([[(some, top), (other, rest + 1)]], False),
            ([[(some, top + 1)], [(other, int(others.max()))]], True),
            ([[]], True),
            ([], False),
        ):
            whole = ArrayProblem(base, rows, stays, budget, layers, head, cases, Limit(None, None))
            assert budgets.is_reached(whole) == bad, (budget, cases)


def test_a_budget_is_enumerated_if_branching_takes_longer(monkeypatch):
    """Both forms say the same, and a forged claim is refused by either."""
    monkeypatch.setattr(enumeration, "_FEW", 10)
    rng = np.random.default_rng(3)
    weights = rng.choice([-1, 1], (30, 12))
    network = Network.of_bits(
        [DenseLayer(weights, [6] * 30)], Head(rng.choice([-1, 1], (2, 30)), bias=[4, 0])
    )
    outcomes = set()
    for _ in range(6):
        sample = rng.integers(0, 2, 12).tolist()
        answer = sg.verify(network, sg.Robust(sample, sg.Hamming(2)))
        claim = dict(answer.certificate) | {
            "answer": "proved",
            "witness": None,
            "proof": {"kind": "enumerate"},
        }
        outcomes.add(answer.outcome)
        for fewest, form in ((1000, "branch and bound"), (0, "walk")):
            monkeypatch.setattr(enumeration, "_FEWEST", fewest)
            monkeypatch.setattr(budgets, "_PART", 1)
            if answer.outcome == "proved":
                said = sg.check(claim, network)
                assert said.startswith("none of the 79 sets of changes is a violation")
                assert fewest == 0 or said.endswith(f"({form})")
            else:
                with pytest.raises(CertificateError, match="is a violation"):
                    sg.check(claim, network)
    assert outcomes == {"proved", "refuted"}


@cache
def robust(lanes=80, features=9):
    """A network of one hidden layer and a sample whose class stays whatever is changed, with the answer."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        weights = rng.choice([-1, 0, 1], (lanes, features))
        head = Head(rng.choice([-1, 1], (3, lanes)), bias=[40, 0, 0])
        network = Network.of_bits([DenseLayer(weights, np.abs(weights).sum(axis=1) // 2)], head)
        answer = sg.verify(network, sg.Robust([0, 1, 0] * 3, sg.Linf(1)), engine="branch")
        if isinstance(answer, sg.Proved):
            return network, answer
    raise AssertionError("none is robust")


def test_certificates_are_checked_both_ways_and_forgeries_refused():
    network, answer = robust()
    proof = answer.certificate["proof"]
    assert proof == {"kind": "enumerate"}
    assert "branch and bound" in str(answer)
    for plain, form in ((False, "branch and bound"), (True, "plain form")):
        said = sg.check(answer.certificate, network, plain=plain)
        assert said == f"none of the 512 sets of changes is a violation ({form})"
    with pytest.raises(CertificateError, match="'sets'"):
        sg.check(answer.certificate | {"proof": proof | {"sets": 512}}, network)
    other = answer.certificate["question"] | {"label": 1}
    with pytest.raises(CertificateError, match="class 0, not 1"):
        sg.check(answer.certificate | {"question": other}, network)


@pytest.mark.parametrize("seed", range(6))
def test_the_check_sees_every_violation(seed):
    rng = np.random.default_rng(100 + seed)
    lanes = int(rng.integers(1, 130))
    weights = rng.choice([-1, 0, 1], (lanes, 9))
    other = Network.of_bits(
        [DenseLayer(weights, np.abs(weights).sum(axis=1) // 2)], Head(rng.choice([-1, 1], (3, lanes)))
    )
    theirs = sg.verify(other, sg.Robust(rng.integers(0, 2, 9).tolist(), sg.Linf(1)), engine="branch")
    if isinstance(theirs, sg.Refuted):
        forged = theirs.certificate | {"answer": "proved", "proof": {"kind": "enumerate"}, "witness": None}
        for plain in (False, True):
            with pytest.raises(CertificateError, match="is a violation"):
                sg.check(forged, other, plain=plain)


def test_what_branches_refuse():
    base, rows, stays, layers, head = drawn(np.random.default_rng(1), 4, (9,))
    fine = [[([1 << 60, -1, 0], 1)]]
    with pytest.raises(TooLargeError, match="too finely divided"):
        branches_seen(ArrayProblem(base, rows, stays, None, layers, head, fine, Limit(None, None)))
    with pytest.raises(TooLargeError, match="too large"):
        branches_seen(ArrayProblem(base + (1 << 31), rows, stays, None, layers, head, [], Limit(None, None)))
    with pytest.raises(TooLargeError, match="too finely divided"):
        budgets.is_reached(ArrayProblem(base, rows, stays, 2, layers, head, fine, Limit(None, None)))


def of_one_neuron(base, gain, features):
    """A violation is that the neuron is active; the first feature adds a gain, all others nothing."""
    rows = [[(1, np.array([gain if k == 0 else 0], np.int64))] for k in range(features)]
    head, case = np.array([[1], [0]], np.int64), [[([1, -1], 1)]]
    return ArrayProblem(
        np.array([base], np.int64), rows, [0] * features, 256, [], head, case, Limit(None, None)
    )


@pytest.mark.parametrize("base", [-1, -(1 << 40), -(1 << 62)])
def test_sums_within_a_budget_do_not_overflow(base):
    assert budgets.is_reached(of_one_neuron(base, 1 << 40, 300)) == (base >= -(1 << 40))
    with pytest.raises(TooLargeError, match="too large"):
        budgets.is_reached(of_one_neuron(base, 1 << 55, 300))


def test_a_change_by_a_large_weight_within_a_budget_is_seen():
    encoder = Encoder([integer(0, 1)] * 300)
    layer = LevelLayer([[1 << 55] + [0] * 299], [1], encoder.tops)
    network = Network(encoder, [layer], Head([[0], [1]]))
    answer = sg.verify(network, sg.Robust([0] * 300, sg.L0(1)))
    question = answer.certificate["question"]
    question |= {"region": question["region"] | {"radius": "256"}}
    forged = answer.certificate | {"answer": "proved", "witness": None, "proof": {"kind": "enumerate"}}
    with pytest.raises(CertificateError):
        sg.check(forged | {"question": question}, network)


def test_limits_end_a_check():
    base, rows, stays, layers, head = drawn(np.random.default_rng(2), 5, (90,))
    case = [[([1, -1, 0], 10)]]
    with pytest.raises(CheckLimitError, match="bytes"):
        branches_seen(ArrayProblem(base, rows, stays, None, layers, head, case, Limit(None, 1000)))
    rows = [[(1, gain)] for gain in np.random.default_rng(3).choice([-1, 1], (40, 90))]
    values = [[([1, -1, 0], 34)]]
    with pytest.raises(CheckLimitError, match="were not enough"):
        branches_seen(ArrayProblem(base, rows, [0] * 40, None, layers, head, values, Limit(0, None)))
    with pytest.raises(CheckLimitError, match="were not enough"):
        budgets.is_reached(ArrayProblem(base, rows, [0] * 40, 20, layers, head, values, Limit(0, None)))
