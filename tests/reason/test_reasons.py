"""Reasons against brute force: sufficiency, minimality, minimum size, duality, closed forms of one neuron;
certificates that can fail.
"""

from __future__ import annotations

import copy
import json
from itertools import chain, combinations
from math import comb

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.reason import hitting_set_within
from sugenet.engines import ladder
from sugenet.engines.walk import blocks
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Problem
from sugenet.reason import (
    L0,
    AnyInput,
    Free,
    Hamming,
    Linf,
    answer_of,
    check,
    check_answer,
    each_reason,
    trace_reasons,
    why,
)
from sugenet.reason.reasons import oracle
from sugenet.reason.reasons.finding import _Search
from sugenet.reason.reasons.oracle import Oracle
from tests.engines.test_sets import NEVER, wide
from tests.problem.clocks import hold
from tests.problem.small import random_network, random_sample, samples_inside
from tests.reason.test_verdicts import is_violated, top

REGIONS = [Hamming(1), Hamming(2), Hamming(4), L0(2), Linf(1), Free([0, 1]), AnyInput()]


def subsets(features):
    listed = sorted(features)
    return (
        frozenset(row) for row in chain.from_iterable(combinations(listed, k) for k in range(len(listed) + 1))
    )


def minimal(family):
    listed = sorted(family, key=len)
    return {row for row in listed if not any(other < row for other in listed)}


def truth(network, x, region, target=None, ties="lowest"):
    """All minimal reasons and all minimal contrastive sets, by definition."""
    label = top(network, x)[0]
    near = region.around(network, x)
    wrong = [
        frozenset(f for f, (a, b) in enumerate(zip(x, y, strict=True)) if a != b)
        for y in samples_inside(near)
        if is_violated(top(network, y), label, target, ties)
    ]
    movable = {move.feature for move in near.moves}
    enough = [s for s in subsets(movable) if all(s & changed for changed in wrong)]
    return minimal(enough), minimal(wrong)


@pytest.mark.parametrize("seed", range(25))
def test_all_reasons_and_contrastive_sets(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, features=int(rng.integers(2, 6)))
    x = random_sample(network, rng)
    for region in REGIONS:
        reasons, contrasts = truth(network, x, region)
        found = why(network, x, region, n="all")
        assert {frozenset(reason.features) for reason in found.reasons} == reasons
        assert found.all_reasons
        assert found.all_contrasts
        assert {c.features for c in found.contrasts} == contrasts
        sizes = [len(reason.features) for reason in found.reasons]
        assert sizes == sorted(sizes)
        names = network.encoder.names
        assert set(found.core) == {
            names[f] for f in range(len(names)) if reasons and all(f in reason for reason in reasons)
        }
        assert set(found.relevant) == {names[f] for reason in reasons for f in reason}
        assert set(found.irrelevant) == set(names) - set(found.relevant)
        assert all(
            found.attribution[names[f]] * len(reasons) == sum(f in r for r in reasons) for f in found.movable
        )
        for reason in found.reasons:
            assert check(json.loads(json.dumps(reason.certificate)), network)
        assert str(found)
        json.dumps(found.data())


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("kind", ["subset", "size", None])
def test_one_reason(seed, kind, monkeypatch):
    """Without a list of all counterexamples, as in large regions,
    by asking about one set of features after another.
    """
    monkeypatch.setattr("sugenet.engines.walk.listing.MOST_SETS", 0)
    monkeypatch.setattr("sugenet.reason.reasons.oracle._SMALL", 0 if seed % 2 else 2e6)
    rng = np.random.default_rng(100 + seed)
    network = random_network(rng, features=int(rng.integers(2, 6)))
    x = random_sample(network, rng)
    for region in REGIONS:
        reasons, _ = truth(network, x, region)
        found = why(network, x, region, minimal=kind)
        (reason,) = found.reasons
        features = frozenset(reason.features)
        assert any(smaller <= features for smaller in reasons)
        if kind == "subset":
            assert features in reasons
            assert reason.status in ("minimal", "minimum")
        if kind == "size":
            assert len(features) == min(map(len, reasons)) == found.lower == found.upper
            assert reason.status == "minimum"
        assert check(json.loads(json.dumps(reason.certificate)), network)


@pytest.mark.parametrize("seed", range(12))
def test_one_reason_of_a_deep_network(seed, monkeypatch):
    """Counterexamples are exchanged for others, and a feature that has to move is moved at once."""
    monkeypatch.setattr("sugenet.engines.walk.listing.MOST_SETS", 0)
    rng = np.random.default_rng(500 + seed)
    network = random_network(rng, features=5, depth=3, width=5)
    x = random_sample(network, rng)
    for region in (REGIONS[seed % 6], AnyInput()):
        reasons, _ = truth(network, x, region)
        (reason,) = why(network, x, region).reasons
        assert frozenset(reason.features) in reasons
        assert reason.status in ("minimal", "minimum")
        assert check(json.loads(json.dumps(reason.certificate)), network)


@pytest.mark.parametrize("seed", range(8))
def test_a_list_of_reasons_is_resumed(seed, monkeypatch):
    """In parts, also from JSON, the same reasons are found, and each once."""
    monkeypatch.setattr("sugenet.engines.walk.listing.MOST_SETS", 0)
    rng = np.random.default_rng(700 + seed)
    network = random_network(rng, features=5)
    x = random_sample(network, rng)
    reasons, _ = truth(network, x, AnyInput())
    found = why(network, x, AnyInput(), n=1, minimal="size")
    for n in (2, 3, "all"):
        data = json.loads(json.dumps(found.data()))
        found = why(network, x, AnyInput(), n=n, minimal="size", resume=answer_of(data, network))
        assert len(found.reasons) == (len(reasons) if n == "all" else min(n, len(reasons)))
    assert {frozenset(reason.features) for reason in found.reasons} == reasons
    assert found.all_reasons
    assert check_answer(found).status == "holds"


def test_only_an_answer_to_the_same_question_is_resumed():
    network, x = neuron(5, 3), [1, 1, 1, 1, -1]
    answer = why(network, x, AnyInput(), n=2)
    for other, region in ((x, Hamming(2)), ([1] * 5, AnyInput())):
        with pytest.raises(QuestionError, match="another question"):
            why(network, other, region, n="all", resume=answer)
    with pytest.raises(QuestionError, match="another question"):
        why(neuron(5, 2), x, AnyInput(), n="all", resume=answer)
    with pytest.raises(QuestionError, match="precision= finds one"):
        why(network, x, AnyInput(), precision=0.9, resume=answer)
    assert len(why(network, x, n="all", resume=answer).reasons) == 4


def hits(family):
    """Minimal sets that meet every set of a family."""
    everything = frozenset(chain.from_iterable(family))
    return minimal([s for s in subsets(everything) if all(s & row for row in family)])


@pytest.mark.parametrize("seed", range(15))
def test_duality(seed):
    rng = np.random.default_rng(200 + seed)
    network = random_network(rng, features=5)
    x = random_sample(network, rng)
    found = why(network, x, Hamming(3), n="all")
    reasons, contrasts = {frozenset(r.features) for r in found.reasons}, {c.features for c in found.contrasts}
    assert hits(contrasts) == reasons
    if contrasts:
        assert hits(reasons) == contrasts


def neuron(n, tau):
    return Network.of_bits(
        [DenseLayer([[1] * n], [tau])], Head([[-1], [1]], bias=[0, 0]), classes=["off", "on"]
    )


@pytest.mark.parametrize(
    ("n", "tau", "on"), [(5, 2, 4), (5, 3, 3), (6, 4, 2), (4, 1, 0), (6, 6, 5), (3, 1, 3)]
)
def test_closed_forms_of_one_neuron(n, tau, on):
    """Reasons and contrastive sets of a threshold are subsets of the matched or
    unmatched literals (docs/theory.md 8.3).
    """
    x = [1] * on + [-1] * (n - on)
    found = why(neuron(n, tau), x, AnyInput(), n="all")
    active = on >= tau
    pool, reason, contrast = (
        (range(on), tau, on - tau + 1) if active else (range(on, n), n - tau + 1, tau - on)
    )
    assert {r.features for r in found.reasons} == set(combinations(pool, reason))
    assert {c.features for c in found.contrasts} == {frozenset(row) for row in combinations(pool, contrast)}
    assert len(found.reasons) == comb(len(pool), reason)
    assert all(found.attribution[f"x{i + 1}"] * len(pool) == reason for i in pool)


def test_a_robust_sample_needs_nothing():
    found = why(neuron(5, 1), [1, 1, 1, 1, -1], Hamming(2))
    assert found.reasons[0].features == ()
    assert "nothing needs to be known" in str(found)
    assert found.core == ()


def test_forged_reasons_fail():
    network, x = neuron(6, 3), [1, 1, 1, 1, -1, -1]
    reason = why(network, x, AnyInput(), minimal="size").reasons[0]
    assert reason.status == "minimum"
    for words, change in (
        ("bounds do not exclude", lambda c: c["question"]["fixed"].pop()),
        ("nothing shows that feature 4", lambda c: c["question"]["fixed"].append(4)),
        ("nothing shows that feature 3", lambda c: c["witness"].pop()),
        ("the counterexample for feature 5", lambda c: c["witness"][0].__setitem__(0, 5)),
        ("do not exclude a smaller reason", lambda c: c["contrasts"].clear()),
        ("does not change the answer", lambda c: c["contrasts"][0].__setitem__(0, [4, 1])),
        ("unknown answer 'best'", lambda c: c.__setitem__("answer", "best")),
        (
            "bounds do not exclude",
            lambda c: c.__setitem__("proof", {"kind": "bound"}) or c["question"]["fixed"].clear(),
        ),
    ):
        forged = copy.deepcopy(reason.certificate)
        change(forged)
        with pytest.raises(CertificateError, match=words):
            check(forged, network)


def test_hitting_sets_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(200):
        family = [
            set(rng.choice(7, rng.integers(1, 5), replace=False).tolist()) for _ in range(rng.integers(0, 7))
        ]
        least = min(len(s) for s in subsets(range(7)) if all(s & row for row in family))
        assert hitting_set_within(family, least)
        assert least == 0 or not hitting_set_within(family, least - 1)


def test_same_seed_same_answer_and_bad_questions():
    rng = np.random.default_rng(4)
    network = random_network(rng, features=5)
    x = random_sample(network, rng)
    a, b = (why(network, x, AnyInput(), seed=3) for _ in range(2))
    assert [r.features for r in a.reasons] == [r.features for r in b.reasons]
    with pytest.raises(QuestionError, match="minimal="):
        why(network, x, AnyInput(), minimal="smallest")
    with pytest.raises(QuestionError, match="n="):
        why(network, x, AnyInput(), n=0)


@pytest.mark.parametrize("seed", range(30))
def test_the_features_of_a_chain_suffice(seed):
    rng = np.random.default_rng(300 + seed)
    network = random_network(rng, features=int(rng.integers(1, 6)))
    x = random_sample(network, rng)
    found = trace_reasons(network, x)
    assert found.index == top(network, x)[0]
    reasons, _ = truth(network, x, AnyInput())
    assert any(reason <= set(found.features) for reason in reasons)
    assert found.label in str(found)
    json.dumps(found.data())


@pytest.mark.parametrize("n", [1, 3, "all"])
def test_each_reason_is_told_when_it_is_proved(n):
    network = Network.of_bits(
        [DenseLayer([[+1, +1, -1, +1, +1]], [3])], Head([[-1], [+1]]), classes=["off", "on"]
    )
    told = []
    found = why(network, [1, 1, -1, 1, -1], AnyInput(), n=n, minimal="size", each=told.append)
    assert told == list(found.reasons)
    assert told


VOTE = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])


def test_a_sample_that_is_a_tie_has_no_reasons_one_by_one_either():
    network = Network.of_bits([], Head([[1, 0], [0, 1]]))
    with pytest.raises(QuestionError, match="a tie at the top"):
        list(each_reason(network, [1, 1], AnyInput(), ties="against"))


def test_each_reason_has_no_number():
    with pytest.raises(TypeError, match="unexpected keyword argument 'n'"):
        list(each_reason(VOTE, [1, 1, 1, -1], AnyInput(), n=2))


def test_not_all_reasons_are_claimed_when_the_time_was_up(monkeypatch):
    """All contrastive sets were listed in time, but not all sets that meet them."""
    network = Network.of_bits([], Head([[1] * 9, [-1] * 9]))
    whole = sg.why(network, [1] * 9, sg.AnyInput(), n="all")
    assert whole.all_contrasts
    assert whole.all_reasons
    seen: list[str] = []
    before = _Search._reason

    def noted(self, *args, **options):
        seen.append("reason")
        return before(self, *args, **options)

    monkeypatch.setattr(_Search, "_reason", noted)
    monkeypatch.setattr(Clock, "up", lambda clock: len(seen) > 0 and clock.time_limit == 100)
    part = sg.why(network, [1] * 9, sg.AnyInput(), n="all", time_limit=100)
    assert part.all_contrasts
    assert not part.all_reasons
    assert len(part.reasons) == 1 < len(whole.reasons)


def test_not_all_reasons_are_claimed_when_a_set_stays_open(monkeypatch):
    monkeypatch.setattr(_Search, "_list_contrasts", lambda self: None)
    monkeypatch.setattr(Oracle, "ask", lambda self, fixed, **_: None)
    answer = sg.why(VOTE, [1, 1, 1, -1], sg.AnyInput(), n="all")
    assert not answer.all_reasons


@pytest.mark.parametrize("seed", range(4))
def test_features_that_stay_open_are_asked_about_again(seed, monkeypatch):
    rng, first, ask = np.random.default_rng(seed), set(), Oracle.ask

    def hesitant(self, fixed, **options):
        if len(first) == 1:
            return ask(self, fixed, **options)
        first.add(fixed)
        return None

    monkeypatch.setattr(_Search, "_list_contrasts", lambda self: None)
    monkeypatch.setattr(Oracle, "ask", hesitant)
    network = random_network(rng, features=6, depth=3, width=5)
    answer = sg.why(network, random_sample(network, rng), sg.AnyInput())
    assert answer.status in ("minimal", "minimum")
    assert sg.check(answer, network)


def test_under_a_time_limit_a_minimum_not_found_leaves_a_minimal_reason(monkeypatch):
    network, (X, _) = sg.models.breast_cancer(), sg.models.samples("breast_cancer")
    for step, status in ((0.1, "sufficient"), (0.002, "minimal")):
        hold(monkeypatch, step)
        answer = sg.why(network, X[3], sg.AnyInput(), minimal="size", time_limit=2, threads=1)
        assert [reason.status for reason in answer.reasons] == [status]
        assert answer.lower < answer.upper == len(answer.reasons[0].features)


@pytest.mark.parametrize("seed", range(4))
def test_no_set_of_features_is_decided_twice(seed, monkeypatch):
    """Deciding is most of the work; the proof that ends the search is in the certificate."""
    rng = np.random.default_rng(seed)
    layers = [DenseLayer(rng.choice([-1, 1], (12, 10)), np.full(12, 5))]
    layers += [DenseLayer(rng.choice([-1, 1], (12, 12)), np.full(12, 6)) for _ in range(2)]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (3, 12))))
    decided = []

    def decide(problem, clock):
        decided.append(frozenset(problem.near.places))
        return ladder.decide(problem, clock)

    monkeypatch.setattr(oracle, "decide", decide)
    (reason,) = why(network, rng.integers(0, 2, 10).tolist(), Linf(1)).reasons
    assert reason.status in ("minimal", "minimum")
    assert check(reason.certificate, network)
    assert decided
    assert len(set(decided)) == len(decided)


@pytest.mark.parametrize(("depth", "free", "small"), [(1, 20, True), (1, 21, False), (2, 27, True)])
@pytest.mark.parametrize("blocks_fit", [True, False])
def test_combinations_that_are_walked_instead_of_asked_of_the_solver(
    depth, free, small, blocks_fit, monkeypatch
):
    monkeypatch.setattr(blocks, "_WIDEST", 2000 if blocks_fit else 8)
    network, x = wide(70, features=32, depth=depth)
    problem = Problem(Free(range(free)).around(network, x), NEVER)
    assert oracle._is_small(problem) == (small and (depth == 1 or blocks_fit))
    assert not oracle._is_small(Problem(AnyInput().around(network, x), NEVER))


def test_equal_sets_are_met_once():
    rows = [{1, 2}, {2, 3}, {1, 2, 5}, {4}] * 500
    assert hitting_set_within(rows, 2)
    assert not hitting_set_within(rows, 1)
