"""Counts against brute force over small networks with every coding and region, and against closed forms."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, QuestionError, TooLargeError
from sugenet.nn import DenseLayer, Encoder, Head, LevelLayer, Network, integer, threshold
from sugenet.problem.boxes import Box
from sugenet.problem.regions import L0, L1, L2, AnyInput, Free, Hamming, Linf
from sugenet.reason import Counted, CountOpen, CountSampled, NetworkRule, count, coverage, parse_rule
from sugenet.reason.counts import walk as count_walk
from tests.problem.clocks import hold
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_network, random_sample, raw_values, samples_inside

REGIONS = [Hamming(0), Hamming(1), Hamming(3), L0(1), L0(2), L1(3), L2(2), Linf(1), Free([0]), AnyInput()]


def classes_of(network, samples):
    rows = np.empty((len(samples), network.encoder.features), dtype=object)
    for number, sample in enumerate(samples):
        rows[number] = sample
    return np.bincount(network.predict(rows, engine="definition"), minlength=network.head.outputs).tolist()


def brute(near):
    return classes_of(near.network, list(samples_inside(near)))


@pytest.mark.parametrize("seed", range(150))
def test_every_region_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    for region in some_of(REGIONS, seed):
        want = brute(region.around(network, x))
        for method in ("auto", "walk", "sums"):
            answer = count(network, x, region, method=method)
            assert isinstance(answer, Counted)
            assert list(answer.counts) == want
            assert answer.total == sum(want)
            assert [
                sum(column)
                for column in zip(*(row for _, row in answer.certificate["proof"]["parts"]), strict=True)
            ] == want
        assert answer.index == int(network.predict(np.array([x], dtype=object))[0])
        assert answer.robustness == Fraction(want[answer.index], sum(want))
        assert sum(answer.share(k) for k in range(network.head.outputs)) == 1


@pytest.mark.parametrize("seed", range(25))
def test_wider_networks_by_walk_and_sums_and_threads(seed):
    rng = np.random.default_rng(1000 + seed)
    n, m = int(rng.integers(8, 14)), int(rng.choice([5, 63, 64, 65, 130]))
    first = rng.integers(-1, 2, (m, n)) * rng.integers(1, 4, (m, n))
    taus = np.abs(first).sum(axis=1) // 2 + rng.integers(-1, 2, m)
    second = rng.integers(-3, 4, (7, m))
    layers = [DenseLayer(first, taus), DenseLayer(second, np.abs(second).sum(axis=1) // 2)]
    network = Network.of_bits(
        layers, Head(rng.integers(-2, 3, (4, 7)), [Fraction(1, 3), 0, Fraction(-2, 7), 0])
    )
    x = rng.integers(0, 2, n)
    for region in (Hamming(3), AnyInput(), Hamming(n - 1), Free(range(0, n, 2))):
        want = brute(region.around(network, x))
        for method, threads in (("walk", 1), ("walk", 2), ("sums", 1)):
            assert list(count(network, x, region, method=method, threads=threads).counts) == want


@pytest.mark.parametrize("seed", range(20))
def test_patterns_that_are_remembered_count_alike(seed, monkeypatch):
    rng = np.random.default_rng(2000 + seed)
    n = 12
    first = rng.choice([-1, 1], (int(rng.choice([20, 70])), n))
    network = Network.of_bits(
        [DenseLayer(first, [n // 2] * len(first))], Head(rng.choice([-1, 1], (5, len(first))))
    )
    x = rng.integers(0, 2, n)
    for region in (Hamming(4), AnyInput()):
        want = count(network, x, region, method="walk").counts
        monkeypatch.setattr(count_walk, "_COSTLY", 0)
        monkeypatch.setattr(count_walk, "_TABLE", 1 << 8)
        monkeypatch.setattr(count_walk, "_RECENT", 1 << 4)
        assert count(network, x, region, method="walk").counts == want
        monkeypatch.undo()


def test_levels_and_large_weights():
    rng = np.random.default_rng(5)
    for _ in range(20):
        encoder = Encoder([integer(0, 3), integer(0, 200), integer(0, 2)])
        weights = rng.integers(-40, 41, (6, 3))
        sizes = np.abs(weights) @ encoder.tops
        layer = LevelLayer(weights, [int(rng.integers(0, size + 1)) for size in sizes], encoder.tops)
        network = Network(encoder, [layer], Head(rng.integers(-1, 2, (3, 6)), scale=[1, Fraction(1, 3), 2]))
        x = random_sample(network, rng)
        for region in (L1(30), AnyInput(), Box({1: (10, 60), 0: {1, x[0]}}) if 10 <= x[1] <= 60 else Linf(9)):
            want = brute(region.around(network, x))
            for method in ("walk", "sums"):
                assert list(count(network, x, region, method=method).counts) == want


def test_scores_beyond_64_bits():
    rng = np.random.default_rng(6)
    layers = [DenseLayer(rng.choice([-1, 1], (9, 8)), [4] * 9)]
    head = Head(
        rng.choice([-1, 1], (3, 9)),
        [Fraction(1, 3**30), Fraction(1, 7**20), 0],
        [1 + Fraction(1, 5**25), 1, Fraction(10**30 + 1, 10**30)],
    )
    network = Network.of_bits(layers, head)
    for region in (Hamming(3), AnyInput()):
        want = brute(region.around(network, [1] * 8))
        assert list(count(network, [1] * 8, region, method="walk").counts) == want
        assert list(count(network, [1] * 8, region, method="sums").counts) == want


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 200])
def test_one_neuron_is_a_sum_of_binomials(n):
    tau = n // 2 + 1
    network = Network.of_bits([DenseLayer([[1] * n], [tau])], Head([[-1], [1]]))
    answer = count(network)
    assert answer.counts == (sum(comb(n, m) for m in range(tau)), sum(comb(n, m) for m in range(tau, n + 1)))
    ball = count(network, [1] * n, Hamming(min(n, 40)))
    assert ball.counts[1] == sum(comb(n, k) for k in range(min(n, 40, n - tau) + 1))
    assert ball.total == sum(comb(n, k) for k in range(min(n, 40) + 1))


def test_no_hidden_layer_is_one_threshold():
    n = 90
    network = Network.of_bits([], Head([[-1] * n, [1] * n]))
    assert count(network).counts == (
        sum(comb(n, m) for m in range(n // 2 + 1)),
        sum(comb(n, m) for m in range(n // 2 + 1, n + 1)),
    )


def test_constant_networks_and_idle_features():
    constant = Network.of_bits([DenseLayer([[1] * 300], [0])], Head([[-1], [1]]))
    answer = count(constant)
    assert (answer.counts, answer.method) == ((0, 2**300), "constant")
    rng = np.random.default_rng(7)
    weights = np.zeros((6, 40), np.int64)
    weights[:, :9] = rng.choice([-1, 1], (6, 9))
    network = Network.of_bits([DenseLayer(weights, [5] * 6)], Head(rng.choice([-1, 1], (3, 6))))
    free = count(network, method="walk")
    assert free.counts == count(network, method="sums").counts
    assert free.total == 2**40
    x = rng.integers(0, 2, 40)
    for radius in range(6):
        want = [sum(comb(31, k) for k in range(radius - level + 1)) for level in range(radius + 1)]
        counts = np.zeros(3, object)
        for level, times in enumerate(want):
            ring = (
                np.array(brute(Hamming(level).around(*_small(network, x))))
                if level
                else np.array(brute(Hamming(0).around(*_small(network, x))))
            )
            inner = np.array(brute(Hamming(level - 1).around(*_small(network, x)))) if level else 0
            counts = counts + times * (ring - inner)
        for method in ("walk", "sums", "auto"):
            assert count(network, x, Hamming(radius), method=method).counts == tuple(counts)


def _small(network, x):
    layer = network.layers[0]
    return Network.of_bits([DenseLayer(layer.weights[:, :9], layer.tau)], network.head), x[:9]


def is_inside(network, x, region, row):
    """Whether raw values are in a region around others, by the definition."""
    pairs = list(zip(network.encoder.codings, x, row, strict=True))
    match region:
        case Hamming():
            used = sum(coding.flips(coding.state(a), coding.state(b)) for coding, a, b in pairs)
        case L0():
            used = sum(a != b for _, a, b in pairs)
        case L1():
            used = sum((a != b) if isinstance(a, str) else abs(a - b) for _, a, b in pairs)
        case _:
            return True
    return used <= region.radius


def by_states(network, rows):
    """Of raw inputs the first of each combination of states."""
    found = {}
    for row in rows:
        states = tuple(coding.state(v) for coding, v in zip(network.encoder.codings, row, strict=True))
        found.setdefault(states, list(row))
    return list(found.values())


@pytest.mark.parametrize("seed", range(60))
def test_limits_inside_a_region(seed):
    rng = np.random.default_rng(3000 + seed)
    network = random_network(rng, features=4)
    x = random_sample(network, rng)
    feature = int(rng.integers(4))
    values = raw_values(network.encoder.codings[feature])
    chosen = {values[k] for k in rng.choice(len(values), rng.integers(1, len(values) + 1), replace=False)}
    everything = list(product(*map(raw_values, network.encoder.codings)))
    for region in (Hamming(2), L0(2), L1(3), AnyInput(), None):
        near = [row for row in everything if is_inside(network, x, region, row)]
        inside = by_states(network, [row for row in near if row[feature] in chosen])
        asked = {} if region is None else {"x": x, "region": region}
        if not inside:
            with pytest.raises(QuestionError, match=r"so near|within its limits"):
                count(network, **asked, where={feature: chosen})
            continue
        want = classes_of(network, inside)
        assert list(count(network, **asked, where={feature: chosen}).counts) == want
        rule = NetworkRule(network, ((feature, frozenset(chosen)),), int(rng.integers(3)))
        figures = coverage(network, rule, **asked)
        assert figures.is_exact
        assert figures.coverage == Fraction(len(inside), len(by_states(network, near)))
        assert figures.precision == Fraction(want[rule.index], len(inside))


def test_rules_that_cover_nothing_in_a_region():
    network = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]))
    figures = coverage(network, parse_rule(network, "x1 = 1 and x2 = 1 -> 1"), [0, 0, 0], Hamming(1))
    assert (figures.covered, figures.coverage) == (0, 0)
    with pytest.raises(QuestionError, match="covers nothing"):
        _ = figures.precision
    assert "covers 0 of 4" in str(figures)


def test_a_time_limit_leaves_lower_bounds(monkeypatch):
    hold(monkeypatch, 0.02)
    rng = np.random.default_rng(8)
    first = rng.choice([-1, 1], (60, 60))
    network = Network.of_bits([DenseLayer(first, [30] * 60)], Head(rng.choice([-1, 1], (3, 60))))
    answer = count(network, rng.integers(0, 2, 60), Hamming(8), time_limit=0.3)
    assert isinstance(answer, CountOpen)
    assert 0 < sum(answer.lower) < answer.total == sum(comb(60, k) for k in range(9))
    assert all(low <= high for low, high in zip(answer.lower, answer.upper, strict=True))
    assert "of them counted" in str(answer)
    assert answer.data()["outcome"] == "undecided"
    rule = coverage(network, parse_rule(network, "x1 = 1 -> 1"), time_limit=0.2)
    assert not rule.is_exact
    assert rule.coverage == Fraction(1, 2)
    with pytest.raises(QuestionError, match="between"):
        _ = rule.precision


@pytest.mark.parametrize("seed", range(8))
def test_sampling_intervals_hold_the_truth(seed):
    rng = np.random.default_rng(4000 + seed)
    network = random_network(rng, features=4)
    x = random_sample(network, rng)
    for region in (Hamming(3), L0(2), L2(3), AnyInput()):
        truth = count(network, x, region)
        drawn = count(network, x, region, method="sample", samples=2000, seed=seed, confidence=0.9999)
        assert isinstance(drawn, CountSampled)
        assert (drawn.samples, drawn.total) == (2000, truth.total)
        for k, (low, high) in enumerate(drawn.intervals):
            assert low <= truth.share(k) <= high
    again = count(network, x, AnyInput(), method="sample", samples=2000, seed=seed, confidence=0.9999)
    assert again.hits == drawn.hits
    assert "Clopper-Pearson" in str(drawn)


def test_sampling_far_beyond_counting():
    n = 200
    network = Network.of_bits([DenseLayer([[1] * n], [n - 20])], Head([[-1], [1]]))
    truth = count(network, [1] * n, Hamming(40)).share(1)
    low, high = count(
        network, [1] * n, Hamming(40), method="sample", samples=3000, confidence=0.999
    ).intervals[1]
    assert low <= truth <= high


def test_answers_in_words_and_json():
    network = Network.of_bits([DenseLayer([[1, 1, 1, 1]], [3])], Head([[-1], [1]]), classes=["low", "high"])
    answer = count(network, [1, 1, 1, 1], Hamming(2))
    assert str(answer).splitlines() == [
        (
            "11 inputs (up to 2 bits flipped), each legal state of a feature once; 45.45 % keep class high; "
            "exact, by a walk over all of them"
        ),
        "  low   6  54.55 %",
        "  high  5  45.45 %",
    ]
    assert answer.data()["counts"] == {"low": 6, "high": 5}
    assert answer.share("low") == Fraction(6, 11)
    with pytest.raises(QuestionError, match="no sample"):
        _ = count(network).robustness


def test_wrong_questions():
    network = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[-1], [1]]))
    with pytest.raises(QuestionError, match="method='guess'"):
        count(network, method="guess")
    with pytest.raises(QuestionError, match="needs a region"):
        count(network, [1, 1])
    with pytest.raises(QuestionError, match="needs a sample"):
        count(network, region=Hamming(1))
    with pytest.raises(QuestionError, match="is not a region"):
        count(network, [1, 1], 3)
    with pytest.raises(QuestionError, match="between 0 and 1"):
        count(network, method="sample", confidence=1)
    near = Hamming(1).around(network, [1, 1])  # has no words, so that no certificate could name it
    with pytest.raises(QuestionError, match="needs a region"):
        count(network, near)
    with pytest.raises(QuestionError, match="is not a region"):
        count(network, [1, 1], near)
    assert count(network, [1, 1], Hamming(1), where={}).counts == (0, 3)


def test_costs_that_were_rounded_are_not_counted():
    encoder = Encoder([threshold(1e-9), threshold(1e12)])
    network = Network(encoder, [], Head([[1, 1], [-1, -1]]))
    with pytest.raises(TooLargeError, match="finely divided"):
        count(network, [0, 0], L1(1e13))
    assert count(network, [0, 0], L0(2)).total == 4


VOTE = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])


def _copy(certificate):
    return json.loads(json.dumps(certificate))


@pytest.mark.parametrize(
    ("region", "word"),
    [
        ({"kind": "L0", "radius": "3", "total": "1"}, "total"),
        ({"kind": "AnyInput", "features": [0]}, "features"),
        ({"kind": "L0", "radius": "1e99999999"}, "radius: a number such as 3"),
        ({"kind": "Linf", "radius": "1", "strict": True}, "strict"),
        ({"kind": "Prices", "prices": []}, "unknown kind 'Prices'"),
        ({"kind": "Moves", "moves": [], "budget": 0}, "unknown kind 'Moves'"),
        ({"kind": "Free", "features": [0, 4]}, "a feature from 0 to 3 is needed, not 4"),
        (5, "region: a JSON object or null is needed, not 5"),
    ],
)
def test_a_count_does_not_pass_for_that_of_a_larger_region(region, word):
    certificate = _copy(count(VOTE, [1, 1, 1, -1], sg.L0(1)).certificate)
    sg.check(certificate, VOTE)
    certificate["question"]["region"] = region
    with pytest.raises(CertificateError, match=word):
        sg.check(certificate, VOTE)


def test_a_count_with_budgets_that_never_meet_is_not_tried():
    """Changes of 1, 2, 4, ...: every combination has another sum."""
    encoder = Encoder([threshold(1 << f) for f in range(40)])
    network = Network(encoder, [], Head([[1] * 40, [-1] * 40]))
    certificate = _copy(count(network, [0] * 40, sg.L0(1)).certificate)
    certificate["question"]["region"] = {"kind": "L1", "radius": str(1 << 39)}
    with pytest.raises(CertificateError, match="too many different sums"):
        sg.check(certificate, network)


@pytest.mark.parametrize(
    "options",
    [
        {"time_limit": "x"},
        {"threads": 0},
        {"seed": -1},
        {"samples": 1.5},
        {"samples": 0},
        {"confidence": "x"},
    ],
)
def test_odd_options_of_a_count(options):
    with pytest.raises(QuestionError, match=next(iter(options))):
        count(VOTE, method="sample", **options)
