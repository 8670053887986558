"""Flip enumeration against brute force: sets, patterns and violations."""

from __future__ import annotations

import numpy as np
import pytest

from sugenet.bnn import ConvLayer, DenseLayer, Encoder, Head, Network, PoolLayer, Window, thermometer
from sugenet.engines.walk import patterns
from sugenet.engines.walk import sweep as walks
from sugenet.engines.walk.patterns import PatternGoal
from sugenet.engines.walk.sets import flip_level
from sugenet.engines.walk.sweep import lanes_for
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses, wins
from sugenet.problem.problem import Enumerated, Problem
from sugenet.problem.regions import L0, L1, L2, AnyInput, Hamming, Linf
from tests.engines.walked import expected, pieces, walk
from tests.problem.clocks import ringing
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_sample

REGIONS = [Hamming(1), Hamming(3), L0(1), L0(2), L1(2), L1(4), L2(2), Linf(1), AnyInput()]
NEVER = Goal(())


def everything(near):
    return sum(m.weight for m in near.moves) if near.budget is None else near.budget


def agrees(problem, budget, threads=None):
    """A walk found what brute force finds; returns it."""
    found = flip_level(problem, budget, Clock(threads=threads))
    sets, _, bad = expected(problem, budget)
    if bad:
        assert found.violation is not None
        assert problem.replays(found.violation)
        assert [sorted(found.violation, key=lambda m: m.feature)] == [
            m for m in bad if set(m) == set(found.violation)
        ]
    else:
        assert (found.sets, found.violation) == (sets, None)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_levels_are_walked_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(rng.integers(network.head.outputs))
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        budget = everything(near)
        for goal in (NEVER, loses(network.head, label), wins(network.head, label, ties="against")):
            problem = Problem(near, goal)
            agrees(problem, budget)
            agrees(problem, budget, threads=1)
            agrees(problem, budget // 2, threads=2)


def wide(fragile, features=7, seed=0, depth=1, classes=3):
    """A network of bits whose first layer has so many neurons, all of which one or two flips can turn."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], (fragile, features))
    x = rng.integers(0, 2, features)
    matches = (signs == np.where(x, 1, -1)).sum(axis=1)
    layers = [DenseLayer(signs, np.clip(matches + rng.integers(0, 2, fragile), 1, features))]
    size = fragile
    for _ in range(depth):
        layers.append(DenseLayer(rng.choice([-1, 1], (9, size)), np.full(9, size // 2)))
        size = 9
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (classes, size)))), x.tolist()


@pytest.mark.parametrize("fragile", [1, 2, 63, 64, 65, 128, 129, 200])
@pytest.mark.parametrize("depth", [0, 2])
def test_patterns_of_one_word_and_more(fragile, depth):
    network, x = wide(fragile, seed=fragile, depth=depth)
    near = Hamming(7).around(network, x)
    label = int(network.predict(np.array([x], object))[0])
    assert len(Problem(near, NEVER).first_layer.fragile) == fragile
    for goal in (NEVER, loses(network.head, label)):
        for budget in (1, 3, 7):
            agrees(Problem(near, goal), budget)


@pytest.mark.parametrize("top", [3, 40, 300, 30_000, 10**6])
def test_sums_of_every_width(top):
    rng = np.random.default_rng(0)
    encoder = Encoder([thermometer([top // 2, top], 0, top, True)] * 3)
    layer = DenseLayer(rng.integers(-top // 9, top // 9 + 1, (6, 6)), rng.integers(0, top // 3, 6))
    network = Network(encoder, [layer], Head(rng.integers(-1, 2, (2, 6))))
    for x in ([0, 1, top], [top, top, 0]):
        problem = Problem(L0(2).around(network, x), NEVER)
        assert (
            lanes_for(problem.first_layer)[0].dtype
            == {3: np.int8, 40: np.int8, 300: np.int16, 30_000: np.int16, 10**6: np.int32}[top]
        )
        agrees(problem, 2)
        agrees(Problem(problem.near, loses(network.head, 0)), 2)


def evaluated(problem, budget, threads):
    """The sets of a walk, and the patterns that it evaluated."""
    patterns, known = [], PatternGoal.reached

    def reached(self, rows):
        patterns.extend(map(tuple, rows.tolist()))
        return known(self, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PatternGoal, "reached", reached)
        return flip_level(problem, budget, Clock(threads=threads)), patterns


@pytest.mark.parametrize("fragile", [40, 70])
def test_larger_neighbourhoods_need_many_parts(monkeypatch, fragile):
    network, x = wide(fragile, features=17, seed=5)
    problem = Problem(Hamming(17).around(network, x), NEVER)
    n_patterns = walk(*pieces(problem.near), NEVER.violates).patterns
    one, patterns = evaluated(problem, 17, threads=1)
    assert one == Enumerated(1 << 17, None)
    assert len(set(patterns)) == n_patterns
    assert len(patterns) < 2 * n_patterns  # a table that grows forgets
    monkeypatch.setattr(walks, "_QUOTA", 1 << 13)
    monkeypatch.setattr(walks, "_TABLE", 1 << 14)
    for threads in (1, 2):
        other, more = evaluated(problem, 17, threads)
        assert other == one
        assert set(more) == set(patterns)


def planted(features, chosen, fragile=70):
    """A network that changes its mind only when exactly the chosen bits flip."""
    rng = np.random.default_rng(1)
    detector = np.full((1, features), -1)
    detector[0, chosen] = 1
    others = rng.choice([-1, 1], (fragile, features))
    layers = [
        DenseLayer(np.concatenate([others, detector]), np.append(np.full(fragile, features // 2), features))
    ]
    head = np.zeros((2, fragile + 1), int)
    head[1, -1] = 1
    return Network.of_bits(layers, Head(head, [0, -0.5]))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_planted_violation_is_found(threads):
    for chosen in ([0, 1, 2], [3, 11, 29], [37, 38, 39]):
        network = planted(40, chosen)
        problem = Problem(Hamming(3).around(network, [0] * 40), loses(network.head, 0))
        assert flip_level(problem, 2, Clock(threads=threads)).violation is None
        found = flip_level(problem, 3, Clock(threads=threads)).violation
        assert sorted(move.feature for move in found) == chosen


def test_the_sample_itself_is_the_first_set():
    network, x = wide(5)
    for radius in (1, 2):
        problem = Problem(Hamming(radius).around(network, x), Goal(((),)))
        assert flip_level(problem, radius, Clock()).violation == ()


def test_stopping_gives_nothing():
    network, x = wide(40, features=14)
    problem = Problem(Hamming(14).around(network, x), NEVER)
    for looks in (0, 1, 2):
        assert flip_level(problem, 14, ringing(looks)) is None


def folded(seed):
    """Convolutions and pooling behind a first layer that is a convolution."""
    rng = np.random.default_rng(seed)
    first, second = Window((1, 3, 4), kernel=2), Window((3, 2, 3), kernel=(1, 2))
    layers = [
        ConvLayer(rng.choice([-1, 1], (3, 1, 2, 2)), [2, 3, 2], first),
        ConvLayer(rng.choice([-1, 1], (4, 3, 1, 2)), [3, 2, 4, 3], second),
        PoolLayer(Window((4, 2, 2), kernel=2), [False, True, False, True]),
    ]
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (3, 4)))), rng.integers(0, 2, 12).tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unrolled", [0, 1 << 22])
def test_layers_that_are_not_dense(seed, unrolled, monkeypatch):
    monkeypatch.setattr(patterns, "_UNROLLED", unrolled)
    network, x = folded(seed)
    label = int(network.predict(np.array([x], object))[0])
    for goal in (NEVER, loses(network.head, label), wins(network.head, (label + 1) % 3)):
        agrees(Problem(Hamming(3).around(network, x), goal), 3)


def test_goals_of_large_numbers():
    network, x = wide(20, seed=3)
    big = Goal(((Votes((1 << 70, -(1 << 70), 0), 1),), (Votes((0, -(1 << 65), 1 << 65), 1),)))
    agrees(Problem(Hamming(3).around(network, x), big), 3)
