"""Reasons for a share of the inputs, against brute force over every input and every set of features."""

import copy
import json
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, integer
from sugenet.reason import L0, AnyInput, Free, Hamming, Linf, answer_of, check, check_answer, why
from tests.problem.levels import any_network
from tests.problem.small import random_network, random_sample, samples_inside

REGIONS = [Hamming(2), L0(2), Linf(1), Free([0, 1]), AnyInput()]
SHARES = [Fraction(1, 2), 0.8]


def classes_by_states(network, x, region):
    """Every input of the region that obeys the laws: the features that it changes, and its class."""
    for values in samples_inside(region.around(network, x)):
        if network.domain.broken(values) is None:
            changed = frozenset(f for f, (a, b) in enumerate(zip(x, values, strict=True)) if a != b)
            yield changed, int(network.predict(np.array([values], dtype=object))[0])


def shares(network, x, region, target=None):
    """The share of every set of features that can change, by definition."""
    label = int(network.predict(np.array([x], dtype=object))[0])
    inputs = list(classes_by_states(network, x, region))
    movable = sorted(set().union(*(changed for changed, _ in inputs)))
    sets = chain.from_iterable(combinations(movable, k) for k in range(len(movable) + 1))
    found = {}
    for fixed in map(frozenset, sets):
        labels = [k for changed, k in inputs if not changed & fixed]
        kept = sum(k == label if target is None else k != target for k in labels)
        found[fixed] = Fraction(kept, len(labels))
    return found


def some_network(seed):
    """A binary, a quantized or a lawful network over few features."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 1:
        network = any_network(rng, seed)
        return network, network.encoder.values(random_sample(network, rng)), rng
    network = random_network(rng, features=int(rng.integers(2, 5)))
    if seed % 3 == 2:
        encoder = Encoder([integer(0, 3), integer(0, 3), OneHot(("a", "b", "c"))], ["low", "high", "kind"])
        weights = rng.integers(-1, 2, (4, encoder.width))
        layer = DenseLayer(weights, [max(1, int(abs(row).sum()) // 2) for row in weights])
        network = Network(encoder, [layer], Head(rng.integers(-1, 2, (3, 4))))
        network = network.within(["if low >= 2 then high >= 2", "if kind = a then low >= 1"])
        x = random_sample(network, rng)
        while network.domain.broken(x) is not None:
            x = random_sample(network, rng)
        return network, x, rng
    return network, random_sample(network, rng), rng


@pytest.mark.parametrize("seed", range(9))
def test_shares_by_brute_force(seed):
    network, x, rng = some_network(seed)
    for region in (REGIONS[seed % 4], AnyInput()):
        truth = shares(network, x, region)
        between = sorted(share for share in truth.values() if 0 < share < 1) or [Fraction(19, 20)]
        for precision in (*SHARES, str(between[len(between) // 2])):  # the last is met exactly
            least = Fraction(str(precision))
            for minimal in ("subset", "size", None):
                answer = why(network, x, region, precision=precision, minimal=minimal)
                (reason,) = answer.reasons
                fixed = frozenset(reason.features)
                assert truth[fixed] == reason.share >= least
                if minimal == "subset":
                    assert reason.status == "minimal"
                    assert all(truth[fixed - {f}] < least for f in fixed)
                if minimal == "size":
                    assert reason.status == "minimum"
                    assert len(fixed) == min(len(s) for s, share in truth.items() if share >= least)
                certificate = json.loads(json.dumps(reason.certificate))
                assert check(certificate, network).startswith("while ")
                if rng.random() < 0.2:
                    assert check(certificate, network, plain=True)
                    assert str(answer_of(json.loads(json.dumps(answer.data())), network)) == str(answer)
                    assert check_answer(answer).status == "holds"


def neuron(n, tau):
    return Network.of_bits([DenseLayer([[1] * n], [tau])], Head([[-1], [1]]), classes=["off", "on"])


def test_a_share_may_rise_as_features_are_dropped():
    """The share is not monotone: nothing reaches it that one feature alone does not."""
    network = Network.of_bits(
        [DenseLayer([[1, 1], [-1, -1]], [2, 2])],
        Head([[-1, -1], [1, 1]], [0, Fraction(1, 2)]),
        classes=["differ", "same"],
    )
    truth = shares(network, [1, 1], AnyInput())
    assert truth[frozenset()] == truth[frozenset({0})] == Fraction(1, 2)
    network = Network.of_bits(
        [DenseLayer([[1, 1, 1], [-1, 1, 1]], [3, 2])],
        Head([[-1, -1], [1, 1]], [0, Fraction(1, 2)]),
        classes=["off", "on"],
    )
    truth = shares(network, [1, 1, 1], AnyInput())
    assert truth[frozenset({0})] < truth[frozenset()]


def test_a_target_and_the_whole_share():
    rng = np.random.default_rng(3)
    network = random_network(rng, features=3)
    x = random_sample(network, rng)
    target = (int(network.predict(np.array([x], dtype=object))[0]) + 1) % 3
    truth = shares(network, x, AnyInput(), target)
    reason = why(network, x, AnyInput(), target=target, precision=0.9).reasons[0]
    assert reason.share == truth[frozenset(reason.features)] >= Fraction(9, 10)
    assert check(reason.certificate, network)
    whole = why(network, x, AnyInput(), precision=1)
    assert whole.question.precision is None
    assert "precision" not in whole.reasons[0].certificate["question"]


def test_a_share_out_of_reach_is_not_claimed(monkeypatch):
    """What cannot be counted stays sufficient for all inputs, which has a proof, or unknown."""
    network, x = sg.models.breast_cancer(), sg.models.samples("breast_cancer")[0][3]
    monkeypatch.setattr("sugenet.reason.reasons.shares._INPUTS", 1 << 16)
    answer = why(network, x, AnyInput(), precision=0.95)
    (reason,) = answer.reasons
    assert (reason.status, reason.share) == ("sufficient", None)
    assert check(reason.certificate, network)
    assert "for at least 95 % of the inputs" in str(answer)
    nothing = why(network, x, AnyInput(), precision=0.95, time_limit=0).reasons[0]
    assert nothing.status in ("sufficient", "unknown")
    assert answer_of(json.loads(json.dumps(nothing.data())), network).status == nothing.status


@pytest.mark.parametrize("seed", range(9))
def test_estimates_hold_for_the_true_shares(seed, monkeypatch):
    """No set can be counted, so fewer features come with an interval that has the true share."""
    monkeypatch.setattr("sugenet.reason.reasons.shares._INPUTS", 0)
    network, x, _ = some_network(seed)
    target = None if seed % 2 else int(network.predict(np.array([x], dtype=object))[0] == 0)
    for region in (REGIONS[seed % 4], AnyInput()):
        truth = shares(network, x, region, target)
        answer = why(network, x, region, precision="3/5", target=target)
        one = answer.estimated
        if one is None:
            continue
        assert set(one.features) < set(answer.features)
        assert Fraction(3, 5) <= one.low <= truth[frozenset(one.features)] <= one.high
        assert "estimated, not proved" in str(answer)
        opened = answer_of(json.loads(json.dumps(answer.data())), network)
        assert (opened.estimated, str(opened)) == (one, str(answer))
        assert why(network, x, region, precision="3/5", target=target, minimal=None).estimated is None


def test_an_estimate_of_a_table():
    network, x = sg.models.breast_cancer(), sg.models.samples("breast_cancer")[0][4]
    answer = why(network, x, AnyInput(), precision=0.95)
    assert answer.reasons[0].status == "sufficient"
    assert len(answer.estimated.features) < len(answer.features)
    assert (answer.estimated.confidence, answer.estimated.samples) == (0.99, 20_000)


def test_forged_shares_fail():
    network, x = neuron(6, 3), [1, 1, 1, 1, -1, -1]
    least = why(network, x, AnyInput(), precision=0.9, minimal="size").reasons[0].certificate
    one = why(network, x, AnyInput(), precision=0.9).reasons[0].certificate
    assert len(one["question"]["fixed"]) == 2
    exact = why(network, x, AnyInput()).reasons[0].certificate

    def claims(answer):
        return lambda c: c.__setitem__("answer", answer)

    def fewer(c):
        c["question"]["fixed"].pop()
        c["proof"]["reason"] = c["proof"]["others"][-1]

    forgeries = [
        (one, "less than 99/100", lambda c: c["question"].__setitem__("precision", "99/100")),
        (one, "is also reached", lambda c: c["question"].__setitem__("precision", "1/2")),
        (one, "less than 9/10|other sets", fewer),
        (one, "inputs of another set", lambda c: c["question"]["fixed"].pop()),
        (one, "do not sum|inputs of the classes", lambda c: c["proof"]["reason"]["counts"].reverse()),
        (one, "other sets", lambda c: c["proof"]["others"].pop()),
        (one, "counted twice", lambda c: c["proof"]["others"].append(c["proof"]["others"][0])),
        (one, "counterexamples say nothing", lambda c: c.__setitem__("witness", exact["witness"])),
        (one, "names no share", lambda c: c["question"].pop("precision")),
        (one, "not between 0 and 1", lambda c: c["question"].__setitem__("precision", 1)),
        (one, "ties go to the lowest", lambda c: c["question"].__setitem__("ties", "against")),
        (one, "must not have|no field", claims("minimum")),
        (least, "smaller sets of features are counted", lambda c: c["proof"]["others"].pop()),
        (least, "counterexamples say nothing", lambda c: c["contrasts"].append([[0, -1]])),
        (exact, "counterexamples say nothing", lambda c: c["question"].__setitem__("precision", "9/10")),
    ]
    for genuine, words, change in forgeries:
        assert check(genuine, network)
        forged = copy.deepcopy(dict(genuine))
        change(forged)
        for plain in (False, True):
            with pytest.raises(CertificateError, match=words):
                check(forged, network, plain=plain)


def test_a_share_is_no_part_of_a_composite():
    from sugenet.logic import Sum
    from sugenet.logic import why as why_sum

    net = sg.models.digits()
    X, _ = sg.models.samples("digits")
    found = why_sum(Sum.of(net, X[[8]], X[[4]]), Hamming(2))
    forged = json.loads(json.dumps(found.certificate))
    part = forged["parts"][0]["certificate"]
    reading = net.encoder.values(part["question"]["sample"])
    part["question"]["precision"] = "9/10"
    share = why(net, reading, Hamming(2), precision=0.9).reasons[0]
    forged["parts"][0]["certificate"] = json.loads(json.dumps(share.certificate))
    with pytest.raises(CertificateError, match="share of the inputs"):
        check(forged, [net])


def test_questions_that_make_no_sense():
    network, x = neuron(3, 2), [1, 1, -1]
    for precision in (0, -1, 1.5, "many", True):
        with pytest.raises((QuestionError,), match="precision"):
            why(network, x, AnyInput(), precision=precision)
    with pytest.raises(QuestionError, match="n='all'"):
        why(network, x, AnyInput(), precision=0.9, n="all")
    with pytest.raises(QuestionError, match="ties"):
        why(network, x, AnyInput(), precision=0.9, ties="against")
