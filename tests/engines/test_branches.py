"""Branch and bound before one hidden layer, against brute force: every input of small networks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.engines.walk import branches, credits
from sugenet.engines.walk.branches import BRANCH
from sugenet.nn import DenseLayer, Encoder, Head, LevelLayer, Network, OneHot, integer, thermometer
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses, wins
from sugenet.problem.problem import Fails, Holds, Open, Problem
from sugenet.problem.regions import L0, L1, AnyInput, Hamming, Linf
from tests.engines.test_sets import NEVER, planted
from tests.engines.walked import sets_of
from tests.problem.small import random_network, random_sample


@pytest.fixture
def at_length(monkeypatch):
    """Every search is cut into subtrees, after few nodes."""
    monkeypatch.setattr(branches, "_SLICE", 2)
    monkeypatch.setattr(branches, "_FIRST", 2)
    monkeypatch.setattr(branches, "_DEEPEST", 2)
    monkeypatch.setattr(branches, "_ROOM", 5)
    monkeypatch.setattr(credits, "_SLICE", 2)


def agrees(problem, threads=1):
    """The answer, which is that of all sets of moves."""
    near = problem.near
    rows = np.array([near.moved(moves) for moves in sets_of(near, near.budget)], object)
    bad = problem.goal.violates(near.network.match_counts(rows, engine="definition"))
    found = BRANCH(problem, Clock(threads=threads))
    if not bad.any():
        assert found == Holds("branch", {"kind": "enumerate"})
    else:
        assert isinstance(found, Fails)
        assert tuple(found.witness) in {tuple(row) for row in rows[bad]}
    return found


def leads(near, factors):
    """The value of a sum over the match counts for every set of moves."""
    rows = np.array([near.moved(moves) for moves in sets_of(near, near.budget)], object)
    return near.network.match_counts(rows, engine="definition") @ np.array(factors)


def drawn(rng, lanes, features=7, weights=(-1, 0, 1), head=(-1, 1), classes=3):
    """A network of one hidden layer over bits, and a sample of it."""
    rows = rng.choice(weights, (lanes, features))
    tau = np.abs(rows).sum(axis=1) // 2 + rng.integers(0, 2, lanes)
    network = Network.of_bits([DenseLayer(rows, tau)], Head(rng.choice(head, (classes, lanes))))
    return network, rng.integers(0, 2, features).tolist()


@pytest.mark.parametrize("seed", range(30))
def test_all_inputs_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = random_network(
        rng, features=int(rng.integers(1, 6)), depth=seed % 2, width=int(rng.integers(1, 9))
    )
    if len(network.layers) > 1:
        network = Network(
            network.encoder, network.layers[:1], Head(rng.integers(-2, 3, (3, network.layers[0].outputs)))
        )
    x = random_sample(network, rng)
    for region in (Linf(1), AnyInput()):
        near = region.around(network, x)
        label = int(rng.integers(network.head.outputs))
        for goal in (NEVER, loses(network.head, label), wins(network.head, label, ties="against")):
            agrees(Problem(near, goal))


def just_and_just_not(near, first, second, threads=1):
    """Goals that are reached by the best input alone, and by none: of one inequality, and of two."""
    one, two = leads(near, first), leads(near, second)
    top = int(one.max())
    rest = int(two[one == top].max())
    for cases, bad in (
        (((first, top),), True),
        (((first, top + 1),), False),
        (((first, top), (second, rest)), True),
        (((first, top), (second, rest + 1)), False),
        (((first, int(np.median(one))), (second, int(np.median(two)))), None),
    ):
        goal = Goal((tuple(Votes(factors, least) for factors, least in cases),))
        found = agrees(Problem(near, goal), threads)
        assert bad is None or isinstance(found, Fails) == bad


@pytest.mark.parametrize("lanes", [1, 63, 64, 65, 255, 256, 257])
@pytest.mark.parametrize("head", [(-1, 1), (-2, -1, 0, 1, 3)])
def test_words_and_vectors_of_lanes_that_are_full_and_not(lanes, head):
    rng = np.random.default_rng(lanes)
    network, x = drawn(rng, lanes, head=head)
    just_and_just_not(AnyInput().around(network, x), (1, -1, 0), (0, 2, -1))


@pytest.mark.usefixtures("at_length")
@pytest.mark.parametrize("lanes", [9, 65, 300])
def test_subtrees_by_one_thread_and_by_two(lanes):
    rng = np.random.default_rng(lanes)
    network, x = drawn(rng, lanes, features=8)
    near = AnyInput().around(network, x)
    for threads in (1, 2):
        just_and_just_not(near, (1, -1, 0), (0, 1, -1), threads)
    for least in np.unique(leads(near, (1, -1, 0))).tolist():
        problem = Problem(near, Goal(((Votes((1, -1, 0), least),), (Votes((0, 1, -1), least + 1),))))
        one, two = (BRANCH(problem, Clock(threads=threads)) for threads in (1, 2))
        assert one == two


@pytest.mark.parametrize("weight", [1, 2, 62, 63, 64, 126, 127, 128, 1 << 20])
def test_sums_around_the_ends_of_bytes(weight):
    rng = np.random.default_rng(weight)
    weights = (-weight, -1, 0, 1, weight)
    network, x = drawn(rng, 40, features=6, weights=weights)
    just_and_just_not(AnyInput().around(network, x), (1, -1, 0), (0, 1, -1))
    ends = [k * weight + d for k in (0, 1, 2) for d in (-1, 0, 1)]
    rows = np.array([[1, 1, -1, 0], [weight, weight, 1, -1], [-weight, 1, weight, weight]])
    layer = DenseLayer(np.repeat(rows, len(ends), axis=0), np.tile(ends, len(rows)))
    network = Network.of_bits([layer], Head(rng.choice([-1, 1], (3, layer.outputs))))
    just_and_just_not(AnyInput().around(network, [0, 1, 0, 1]), (1, -1, 0), (0, 1, -1))


def test_sums_beyond_32_bits_are_left_open():
    encoder = Encoder([integer(0, 4)] * 3)
    layer = LevelLayer([[1 << 36, 1 << 36, 1 << 36]], [1 << 38], encoder.tops)
    network = Network(encoder, [layer], Head([[1], [-1]]))
    found = BRANCH(Problem(AnyInput().around(network, [0, 0, 0]), Goal(((Votes((1, -1), 1),),))))
    assert isinstance(found, Open)
    assert "below 2^31" in found.reason


@pytest.mark.parametrize("seed", range(8))
def test_features_of_many_options(seed):
    rng = np.random.default_rng(seed)
    codings = [thermometer([1, 2, 3], 0, 4, True), OneHot(("a", "b", "c")), integer(0, 2), integer(0, 5)]
    encoder = Encoder([codings[k] for k in rng.integers(0, len(codings), 4)])
    lanes = int(rng.integers(1, 90))
    rows = rng.integers(-1, 2, (lanes, encoder.width))
    layer = DenseLayer(rows, np.abs(rows).sum(axis=1) // 2)
    network = Network(encoder, [layer], Head(rng.integers(-1, 2, (3, lanes))))
    near = AnyInput().around(network, random_sample(network, rng))
    just_and_just_not(near, (1, -1, 0), (-1, 0, 1))


def test_levels_are_read_as_they_are():
    rng = np.random.default_rng(5)
    encoder = Encoder([integer(0, 4)] * 4)
    layer = LevelLayer(rng.integers(-40, 41, (30, 4)), rng.integers(0, 200, 30), encoder.tops)
    network = Network(encoder, [layer], Head(rng.choice([-1, 1], (3, 30))))
    just_and_just_not(Linf(1).around(network, [1, 2, 3, 0]), (1, -1, 0), (0, 1, -1))


@given(st.integers(0, 10**6), st.integers(1, 130), st.integers(1, 9))
def test_any_network_of_one_hidden_layer(seed, lanes, features):
    rng = np.random.default_rng(seed)
    head = [(-1, 1), (-1, 0, 1), (-3, -2, 2, 5)][seed % 3]
    network, x = drawn(
        rng, lanes, features, weights=[(-1, 1), (-1, 0, 1), (-3, 0, 1)][seed // 3 % 3], head=head
    )
    just_and_just_not(AnyInput().around(network, x), (1, -1, 0), (0, 1, -1))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_planted_violation_is_found(threads):
    for chosen in ([0, 1, 2], [3, 11, 12], list(range(13)), [12]):
        network = planted(13, chosen)
        found = BRANCH(
            Problem(AnyInput().around(network, [0] * 13), loses(network.head, 0)), Clock(threads=threads)
        )
        assert isinstance(found, Fails)
        assert np.flatnonzero(found.witness).tolist() == chosen


@pytest.mark.parametrize("flips", [59, 60])
def test_a_budget_of_all_features_but_one(flips):
    """As floats, the numbers of sets with and without a budget are equal."""
    network = Network.of_bits([DenseLayer(np.ones((1, 60), int), [60])], Head([[0], [1]]))
    problem = Problem(Hamming(flips).around(network, [0] * 60), loses(network.head, 0))
    assert isinstance(BRANCH(problem), Fails if flips == 60 else Holds)


@pytest.mark.parametrize("seed", range(40))
def test_sets_within_a_budget_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = random_network(
        rng, features=int(rng.integers(1, 6)), depth=seed % 2, width=int(rng.integers(1, 9))
    )
    if len(network.layers) > 1:
        network = Network(
            network.encoder, network.layers[:1], Head(rng.integers(-2, 3, (3, network.layers[0].outputs)))
        )
    x = random_sample(network, rng)
    for region in (Hamming(1), Hamming(3), L0(2), L1(2), L1(4)):
        near = region.around(network, x)
        label = int(rng.integers(network.head.outputs))
        for goal in (NEVER, loses(network.head, label), wins(network.head, label, ties="against")):
            agrees(Problem(near, goal))


@pytest.mark.parametrize("lanes", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("head", [(-1, 1), (-2, -1, 0, 1, 3)])
def test_the_best_set_within_a_budget_is_found_and_no_better_one(lanes, head):
    rng = np.random.default_rng(lanes)
    network, x = drawn(rng, lanes, features=8, head=head)
    for radius in (1, 2, 3, 5):
        just_and_just_not(Hamming(radius).around(network, x), (1, -1, 0), (0, 2, -1))


@pytest.mark.usefixtures("at_length")
def test_a_search_within_a_budget_that_is_cut_into_steps():
    rng = np.random.default_rng(5)
    network, x = drawn(rng, 40, features=8)
    just_and_just_not(Hamming(3).around(network, x), (1, -1, 0), (0, 2, -1))


def test_clauses_of_many_literals_within_a_budget():
    """Clauses are lost by one flip each, and won by many together."""
    rng = np.random.default_rng(11)
    weights = rng.choice([-1, 0, 1], (60, 10), p=[0.15, 0.7, 0.15])
    network = Network.of_bits(
        [DenseLayer(weights, np.abs(weights).sum(axis=1))], Head(rng.choice([-1, 1], (3, 60)))
    )
    for _ in range(4):
        x = rng.integers(0, 2, 10)
        for radius in (2, 4):
            just_and_just_not(Hamming(radius).around(network, x), (1, -1, 0), (0, 2, -1))


def test_what_it_is_not_for_is_left_open_by_name():
    rng = np.random.default_rng(0)
    network, x = drawn(rng, 20)
    assert isinstance(BRANCH(Problem(Hamming(7).around(network, x), NEVER)), Holds)  # which allows all
    deep = Network.of_bits(
        [*network.layers, DenseLayer(rng.choice([-1, 1], (5, 20)), [10] * 5)], Head(np.eye(5, dtype=int))
    )
    found = BRANCH(Problem(AnyInput().around(deep, x), NEVER))
    assert isinstance(found, Open)
    assert "one hidden layer" in found.reason


def test_coefficients_that_are_too_different_are_left_open(monkeypatch):
    monkeypatch.setattr(branches, "_WIDEST", 40)
    network, x = drawn(np.random.default_rng(1), 40, head=tuple(range(1, 60)))
    found = BRANCH(Problem(AnyInput().around(network, x), loses(network.head, 0)))
    assert isinstance(found, Open)
    assert "too differently" in found.reason


def test_the_time_is_looked_at():
    network, x = drawn(np.random.default_rng(2), 300, features=30)
    near = AnyInput().around(network, x)
    goal = Goal(((Votes((1, -1, 0), 40),),))
    wide = Hamming(15).around(network, x)
    for seconds, region in ((0, near), (0.2, near), (0, wide), (0.2, wide)):
        found = BRANCH(Problem(region, goal), Clock(time_limit=seconds, threads=2))
        assert isinstance(found, Open | Fails)
        assert seconds or found.reason.startswith("the time was up")


def test_nothing_that_moves_and_nothing_to_reach():
    network, x = drawn(np.random.default_rng(3), 20)
    still = Linf(0).around(network, x)
    assert isinstance(agrees(Problem(still, NEVER)), Holds)
    assert isinstance(agrees(Problem(AnyInput().around(network, x), Goal(()))), Holds)
    (counts,) = leads(still, (1, -1, 0)).tolist()
    for least in (counts, counts + 1):
        agrees(Problem(still, Goal(((Votes((1, -1, 0), least),),))))


def test_products_are_all_inputs():
    """The brute force here goes through every input."""
    network, x = drawn(np.random.default_rng(4), 5, features=4)
    near = AnyInput().around(network, x)
    assert {near.moved(moves) for moves in sets_of(near)} == set(product((0, 1), repeat=4))
