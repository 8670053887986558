"""Walks by blocks, of the engine and of the checker, against brute force and walks that keep patterns."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.checker.accelerate.words import WordWalk
from sugenet.checker.limit import Limit
from sugenet.engines.walk import blocks, sets
from sugenet.engines.walk.patterns import PatternGoal, PlaneGoal
from sugenet.engines.walk.sets import flip_level
from sugenet.engines.walk.sweep import lanes_for
from sugenet.errors import CertificateError
from sugenet.nn import DenseLayer, Head, Network
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses, wins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, Hamming
from tests.engines.contract import judged
from tests.engines.test_sets import planted, wide
from tests.engines.walked import expected, pieces
from tests.problem.clocks import ringing
from tests.problem.levels import any_network
from tests.problem.small import random_sample

NEVER = Goal(())


@pytest.fixture(autouse=True)
def by_blocks(monkeypatch):
    monkeypatch.setattr(sets, "_MANY", 0)


def agrees(problem, budget, threads=None):
    """A walk by blocks found what brute force finds."""
    found = flip_level(problem, budget, Clock(threads=threads))
    many, _, bad = expected(problem, budget)
    assert (found.violation is None) == (not bad)
    if bad:
        assert problem.replays(found.violation)
        assert set(found.violation) in [set(moves) for moves in bad]
    else:
        assert found.sets == many
    return found


def is_by_blocks(problem):
    """Whether the layers of a problem are walked in planes."""
    patterns = PatternGoal(problem.first_layer, problem.goal)
    return PlaneGoal.of(patterns, lanes_for(problem.first_layer)[1]) is not None


def in_words(problem):
    """What the checker sees: how many sets, and how many of them are violations."""
    base, features, budget, layers, head = pieces(problem.near)
    cases = [[(list(vote.factors), vote.least) for vote in case] for case in problem.goal.cases]
    walk = WordWalk(base, features, budget, layers, head, cases, Limit(None, None))
    if not features or not walk.is_for():
        return None
    seen = [1, int(problem.goal.violates(walk.sample())[0])]

    def use(_first, met):
        seen[0] += int(met.set_counts.sum()) + met.n_others
        seen[1] += int(met.set_counts[problem.goal.violates(walk.counts(met.patterns))].sum())

    walk.each(use, threads=1)
    return seen


@pytest.mark.parametrize(
    ("fragile", "depth"), [(1, 1), (2, 2), (63, 3), (64, 2), (65, 1), (130, 3), (64, 1), (65, 2)]
)
def test_as_by_brute_force(fragile, depth):
    network, x = wide(fragile, features=9, seed=fragile + depth, depth=depth)
    label = int(network.predict(np.array([x], object))[0])
    for radius in (2, 4):
        near = Hamming(radius).around(network, x)
        for goal in (NEVER, loses(network.head, label)):
            agrees(Problem(near, goal), radius)
            assert is_by_blocks(Problem(near, goal))
            many, _, bad = expected(Problem(near, goal), radius)
            assert in_words(Problem(near, goal)) == [many, len(bad)]


@pytest.mark.parametrize("seed", range(6))
def test_options_and_weights_of_all_kinds(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(rng.integers(network.head.outputs))
    for region in (Hamming(3), L0(2), L1(4)):
        near = region.around(network, x)
        for goal in (NEVER, loses(network.head, label)):
            problem = Problem(near, goal)
            agrees(problem, near.budget)
            seen = in_words(problem)
            if seen is not None:
                many, _, bad = expected(problem, near.budget)
                assert seen == [many, len(bad)]


def broad(features, seed=0, sparse=False):
    """A network over more moves than a block has, with ternary weights where it is sparse."""
    rng = np.random.default_rng(seed)
    values = [-1, 0, 1] if sparse else [-1, 1]
    layers = [DenseLayer(rng.choice(values, (70, features)), np.full(70, features // (3 if sparse else 2)))]
    for size in (90, 20):
        before = layers[-1].outputs
        layers.append(
            DenseLayer(rng.choice(values, (size, before)), np.full(size, before // (3 if sparse else 2)))
        )
    head = Head(rng.choice([-1, 1], (3, 20)))
    return Network.of_bits(layers, head), rng.integers(0, 2, features).tolist()


@pytest.mark.parametrize(
    ("features", "sparse"),
    [
        (257, True),
        *(pytest.param(many, False, marks=pytest.mark.slow) for many in (256, 511, 512, 513, 530)),
    ],
)
def test_blocks_that_are_full_and_more_than_one(features, sparse):
    network, x = broad(features, seed=features, sparse=sparse)
    label = int(network.predict(np.array([x], object))[0])
    near = Hamming(2).around(network, x)
    rows = np.array([x] * (1 + features + features * (features - 1) // 2), np.int8)
    pairs = [(k,) for k in range(features)] + [(j, k) for j in range(features) for k in range(j)]
    for row, flips in zip(rows[1:], pairs, strict=True):
        row[list(flips)] ^= 1
    wrong = int((network.predict(rows) != label).sum())
    seen = in_words(Problem(near, loses(network.head, label)))
    assert seen == [len(rows), wrong]
    one, two = (flip_level(Problem(near, loses(network.head, label)), 2, Clock(threads=n)) for n in (1, 2))
    assert one.violation == two.violation
    assert (one.violation is None) == (wrong == 0)
    assert flip_level(Problem(near, NEVER), 2, Clock()).sets == len(rows)


def small(seed):
    """A network with weights of 0, or with an input that says nothing, and a sample."""
    rng = np.random.default_rng(seed)
    values = [-1, 1] if seed % 2 else [-1, 0, 1]
    layers, width = [DenseLayer(rng.choice([-1, 1], (20, 13)), rng.integers(4, 9, 20))], 20
    for size in (30, 25)[: 1 + seed // 2]:
        weights = rng.choice(values, (size, width))
        weights[:, 3] *= seed % 3 > 0
        layers.append(DenseLayer(weights, rng.integers(5, width // 2, size)))
        width = size
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (4, width))))
    return network, rng.integers(0, 2, 13).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_however_pieces_and_guards_are(seed, monkeypatch):
    network, x = small(seed)
    label = int(network.predict(np.array([x]))[0])
    rivals = [k for k in range(4) if k != label]
    both = Goal(
        tuple(
            (wins(network.head, rivals[0]).cases[0][0], vote[0]) for vote in loses(network.head, label).cases
        )
    )
    for goal in (NEVER, loses(network.head, label), wins(network.head, rivals[0]), both):
        problem = Problem(Hamming(5).around(network, x), goal)
        found = agrees(problem, 5)
        for module, name, value in ((blocks, "_PAIRS", 0), (blocks, "_TRIED", 0), (blocks, "_BALL", 0)):
            with monkeypatch.context() as patch:
                patch.setattr(module, name, value)
                other = agrees(problem, 5)
                assert (other.violation is None) == (found.violation is None)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(st.integers(-1, 1), min_size=n, max_size=n), min_size=1, max_size=4)
    ),
    st.integers(1, 4),
    st.lists(st.integers(-30, 30), min_size=4, max_size=4),
)
def test_inequalities_are_thresholds(rows, size, bounds):
    weights, least = size * np.array(rows), np.array(bounds[: len(rows)])
    signs, tau = blocks.thresholds(weights, least)
    for bits in product((0, 1), repeat=weights.shape[1]):
        row = np.array(bits)
        matches = np.where(row, signs > 0, signs < 0).sum(axis=1)
        assert ((matches >= tau) == (weights @ row >= least)).all()


def test_inequalities_that_leave_62_bits_are_no_guards():
    network, x = small(1)
    label = int(network.predict(np.array([x]))[0])
    large = Goal(
        tuple(
            (Votes(tuple(value << 62 for value in vote.factors), vote.least << 62),)
            for (vote,) in loses(network.head, label).cases
        )
    )
    problem = Problem(Hamming(4).around(network, x), large)
    agrees(problem, 4)
    assert is_by_blocks(problem)


def test_inequalities_of_several_sizes_are_no_guards():
    assert blocks.thresholds(np.array([[1, 2]]), np.array([1])) is None


def test_a_memory_that_forgets_changes_nothing(monkeypatch):
    network, x = broad(40, seed=3)
    problem = Problem(Hamming(4).around(network, x), NEVER)
    whole = flip_level(problem, 4, Clock())
    monkeypatch.setattr(blocks, "_KNOWN", 4)
    monkeypatch.setattr(blocks, "_WAITING", 1)
    monkeypatch.setattr(blocks, "_TRIED", 0)
    assert flip_level(problem, 4, Clock()) == whole


@pytest.mark.parametrize("threads", [1, 2])
def test_a_planted_violation_is_found(threads):
    for chosen in ([0, 1, 2], [3, 11, 29], [37, 38, 39]):
        network = planted(40, chosen)
        inner = DenseLayer(np.eye(71, dtype=int), np.ones(71, int))
        network = Network.of_bits([network.layers[0], inner], network.head)
        problem = Problem(Hamming(3).around(network, [0] * 40), loses(network.head, 0))
        assert flip_level(problem, 2, Clock(threads=threads)).violation is None
        found = flip_level(problem, 3, Clock(threads=threads))
        assert is_by_blocks(problem)
        assert sorted(move.feature for move in found.violation) == chosen


def test_it_keeps_the_contract_of_engines():
    assert judged("flips")[0] == []


def test_stopping_gives_nothing():
    network, x = broad(40)
    problem = Problem(Hamming(3).around(network, x), NEVER)
    for looks in (0, 1, 2):
        assert flip_level(problem, 3, ringing(looks)) is None


def robust():
    """A network of bits that no two flips can turn, and a sample."""
    layers = [DenseLayer(np.ones((4, 12), int), [3, 5, 8, 11]), DenseLayer([[1, 1, 1, 1]] * 3, [1, 1, 1])]
    return Network.of_bits(layers, Head([[1, 1, 1], [-1, -1, -1]])), [1] * 12


def test_certificates_and_forgeries():
    network, x = robust()
    answer = sg.verify(network, sg.Robust(x, Hamming(2)), engine="flips")
    assert answer.certificate["proof"] == {"kind": "enumerate"}
    for plain in (False, True):
        assert "none of the 79 sets of changes" in sg.check(answer.certificate, network, plain=plain)
    question = {**answer.certificate["question"]}
    forged = Network.of_bits(network.layers, Head([[1, 1, -1], [-1, -1, 1]], [0, 2]))
    bad = sg.verify(forged, sg.Robust(x, Hamming(2)))
    if isinstance(bad, sg.Refuted):
        lie = {**answer.certificate, "network": forged.fingerprint, "question": question}
        with pytest.raises(CertificateError):
            sg.check(lie, forged)
