"""Counts by blocks against counts that go through every combination, and against all inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sugenet.checker.accelerate import count as checked
from sugenet.checker.certificate import check
from sugenet.errors import CertificateError
from sugenet.nn import DenseLayer, Encoder, Head, Network, thermometer
from sugenet.problem.regions import L0, L1, Hamming
from sugenet.reason import count
from sugenet.reason.counts import walk
from tests.engines.test_blocks import broad, small
from tests.engines.test_sets import wide
from tests.problem.levels import any_network
from tests.problem.small import random_sample


def both(monkeypatch, network, x, region):
    """The same count without blocks, and by them."""
    slow = count(network, x, region, method="walk")
    with monkeypatch.context() as patch:
        patch.setattr(walk, "MANY", 1)
        fast = count(network, x, region, method="walk")
    return slow, fast


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 3))])
def test_counts_as_by_the_other_walk(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    cases = [
        (any_network(rng, seed), None),
        wide(65 if seed % 2 else 20, features=11, seed=seed, depth=1 + seed % 3),
    ]
    for network, x in cases:
        sample = random_sample(network, rng) if x is None else x
        for region in (Hamming(3), L0(2), L1(4)):
            slow, fast = both(monkeypatch, network, sample, region)
            assert fast.counts == slow.counts
            assert fast.certificate["proof"] == slow.certificate["proof"]
            with monkeypatch.context() as patch:
                patch.setattr(checked, "MANY", 1)
                assert "counted again" in check(fast.certificate, network)


def test_counts_of_more_than_a_block(monkeypatch):
    network, x = broad(300, seed=1)
    slow, fast = both(monkeypatch, network, x, Hamming(2))
    assert fast.counts == slow.counts
    rows = np.array([x] * (1 + 300 + 300 * 299 // 2), np.int8)
    flips = [[k] for k in range(300)] + [[j, k] for j in range(300) for k in range(j)]
    for row, chosen in zip(rows[1:], flips, strict=True):
        row[chosen] ^= 1
    assert list(fast.counts) == np.bincount(network.predict(rows), minlength=3).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_counts_with_weights_of_no_weight(seed, monkeypatch):
    network, x = small(seed)
    slow, fast = both(monkeypatch, network, x, Hamming(5))
    rows = np.array(list(product((0, 1), repeat=13)))
    inside = rows[np.count_nonzero(rows != x, axis=1) <= 5]
    assert list(fast.counts) == np.bincount(network.predict(inside), minlength=4).tolist()
    assert fast.counts == slow.counts


@pytest.mark.parametrize("seed", range(3))
def test_counts_with_moves_that_add_much(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    encoder = Encoder([thermometer(range(1, 91), 0, 90, True), *[thermometer([1], 0, 1, True)] * 8])
    first = np.concatenate(
        [rng.choice([-1, 1], (12, 1)).repeat(90, axis=1), rng.choice([-1, 1], (12, 8))], axis=1
    )
    match = np.where(first[:, :1] > 0, 0, 90)
    layers = [
        DenseLayer(first, match[:, 0] + np.where(first[:, 0] > 0, 1, -1) * rng.integers(2, 70, 12)),
        DenseLayer(rng.choice([-1, 1], (10, 12)), np.full(10, 6)),
    ]
    network = Network(encoder, layers, Head(rng.choice([-1, 1], (3, 10))))
    slow, fast = both(monkeypatch, network, [0] * 9, L1(85))
    assert fast.counts == slow.counts
    assert sum(count > 0 for count in fast.counts) > 1


def test_a_forged_count_is_refused(monkeypatch):
    network, x = broad(30, seed=2)
    certificate = count(network, x, Hamming(3), method="walk").certificate
    monkeypatch.setattr(checked, "MANY", 1)
    check(certificate, network)
    parts = [[what, list(row)] for what, row in certificate["proof"]["parts"]]
    row = next(row for _, row in parts if sum(row) > 1)
    row[int(np.argmax(row))] -= 1
    row[(int(np.argmax(row)) + 1) % len(row)] += 1
    sums = [sum(column) for column in zip(*(row for _, row in parts), strict=True)]
    forged = {**certificate, "counts": sums, "proof": {**certificate["proof"], "parts": parts}}
    with pytest.raises(CertificateError, match="inputs of the classes"):
        check(forged, network)
