"""The checker of counts agrees with true certificates of every kind, and refuses what was changed."""

import copy
import json

import numpy as np
import pytest

from sugenet.checker.accelerate import count as module
from sugenet.checker.certificate import check
from sugenet.errors import CertificateError, CheckLimitError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.boxes import Box
from sugenet.problem.regions import L0, L1, L2, AnyInput, Free, Hamming, Linf
from sugenet.reason.counts.counting import count
from tests.problem.levels import any_network
from tests.problem.small import random_network, random_sample, raw_values


def certificates(network, x, rng):
    feature = int(rng.integers(network.encoder.features))
    values = raw_values(network.encoder.codings[feature])
    for region in (Hamming(2), L0(2), L1(3), L2(2), Linf(1), Free([0]), AnyInput()):
        yield count(network, x, region, method=str(rng.choice(["auto", "sums", "walk"]))).certificate
    yield count(network).certificate
    yield count(network, where={feature: {values[0], values[-1]}}).certificate
    yield count(
        network, x, Hamming(4), where={feature: {values[0]}, 0: {x[0]}} if feature else {0: {values[-1]}}
    ).certificate
    yield count(network, x, Box({0: {x[0]}, feature: set(values)})).certificate


@pytest.mark.parametrize("seed", range(40))
def test_true_certificates_pass(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    for certificate in certificates(network, random_sample(network, rng), rng):
        assert "counted again" in check(json.loads(json.dumps(certificate)), network)


def test_larger_ones():
    rng = np.random.default_rng(1)
    network = Network.of_bits(
        [DenseLayer(rng.choice([-1, 1], (70, 24)), [12] * 70)], Head(rng.choice([-1, 1], (4, 70)))
    )
    x = rng.integers(0, 2, 24)
    ball = count(network, x, Hamming(5)).certificate
    assert "55,455 inputs counted again in" in check(ball, network)
    whole = count(network, x, Free(range(18))).certificate
    assert "262,144 inputs" in check(whole, network)


def test_far_too_many_to_visit():
    n = 120
    network = Network.of_bits([DenseLayer([[1] * n, [1, -1] * (n // 2)], [60, 70])], Head([[-1, 1], [1, 1]]))
    assert f"{2**n:,} inputs counted again" in check(count(network).certificate, network)


def test_too_large_is_said(monkeypatch):
    rng = np.random.default_rng(2)
    network = Network.of_bits(
        [DenseLayer(rng.choice([-1, 1], (40, 30)), [15] * 40)], Head(rng.choice([-1, 1], (4, 40)))
    )
    certificate = count(network, rng.integers(0, 2, 30), Hamming(6)).certificate
    monkeypatch.setattr(module, "_VISITED", 1000)
    with pytest.raises(CheckLimitError, match="too many to count again"):
        check(certificate, network)


def test_changed_certificates_fail():
    rng = np.random.default_rng(3)
    network = random_network(rng, features=4, depth=1)
    other = random_network(rng, features=4, depth=1)
    x = random_sample(network, rng)
    for region in (Hamming(2), AnyInput()):
        good = count(network, x, region, method="walk").certificate
        parts = good["proof"]["parts"]
        place = max(range(len(parts)), key=lambda k: sum(parts[k][1]))

        def bad(words, change, good=good):
            forged = copy.deepcopy(good)
            change(forged)
            with pytest.raises(CertificateError, match=words):
                check(forged, network)

        def swap(c, place=place):  # another class for one input, with all sums as they should be
            row = c["proof"]["parts"][place][1]
            k = next(k for k, many in enumerate(row) if many)
            for counts in (row, c["counts"]):
                counts[k] -= 1
                counts[(k + 1) % 3] += 1

        bad(r"inputs of the classes, not \[", swap)
        bad("do not sum to the claimed counts", lambda c: c["counts"].reverse())
        bad(r"the region has \d+ inputs, not", lambda c: c.update(total=c["total"] + 1))
        bad("do not make up the region|has no parts", lambda c: c["proof"]["parts"].pop())
        bad("do not make up the region", lambda c: c["proof"]["parts"].append(c["proof"]["parts"][0]))
        bad("is for the network", lambda c: c.update(network=other.fingerprint))
        bad("does not have 3 counts", lambda c: c["proof"]["parts"][0][1].append(0))
        bad("proof: unknown kind 'trust'", lambda c: c["proof"].update(kind="trust"))
    forged = copy.deepcopy(count(network, x, Hamming(1)).certificate)
    forged["question"]["region"]["radius"] = "2"
    with pytest.raises(CertificateError, match="the region has 18 inputs, not 6"):
        check(forged, network)
    box = copy.deepcopy(count(network, x, Box({0: {x[0]}})).certificate)
    box["question"]["region"]["limits"] *= 2
    with pytest.raises(CertificateError, match="twice"):
        check(box, network)


def test_a_condition_of_a_law_counts_once():
    net = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[-1], [1]])).within(["if x1 = 0 then x2 = 1"])
    true = json.loads(json.dumps(count(net).certificate))
    (clause,) = true["domain"]["laws"][0]["clauses"]
    clause.append(clause[0])
    parts = {"kind": "partition", "order": [], "parts": [[[], [1, 3, 0]]]}
    for plain in (False, True):
        assert check(true, net, plain=plain)
        with pytest.raises(CertificateError, match="inputs of the classes"):
            check(true | {"counts": [1, 3, 0], "proof": parts}, net, plain=plain)
