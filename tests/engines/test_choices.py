"""Exhaustion against brute force: combinations, patterns and violations."""

from __future__ import annotations

import numpy as np
import pytest

from sugenet.engines import ladder
from sugenet.engines.walk import sweep as walks
from sugenet.engines.walk.choices import EXHAUST, exhaust
from sugenet.engines.walk.sets import flip_level
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, loses, wins
from sugenet.problem.neighbourhood import combinations_of
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, AnyInput, Free, Hamming, Linf
from tests.engines.test_sets import NEVER, planted, wide
from tests.engines.walked import expected
from tests.problem.levels import any_network
from tests.problem.small import random_network, random_sample


def agrees(problem, threads=None):
    found = exhaust(problem, Clock(threads=threads))
    sets, _, bad = expected(problem)
    if bad:
        assert found.violation is not None
        assert problem.replays(found.violation)
    else:
        assert (found.sets, found.violation) == (sets, None)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_all_combinations_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed, features=int(rng.integers(1, 7)))
    x = random_sample(network, rng)
    label = int(rng.integers(network.head.outputs))
    for region in (Linf(1), Linf(2), AnyInput(), Free([0]), L0(6), L1(10**6)):
        near = region.around(network, x)
        if combinations_of(near) > 2000:
            continue
        for goal in (NEVER, loses(network.head, label), wins(network.head, label, ties="against")):
            agrees(Problem(near, goal))


@pytest.mark.parametrize("fragile", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("features", [1, 9, 13])
def test_patterns_of_one_word_and_more(fragile, features):
    network, x = wide(fragile, features=features, seed=fragile)
    label = int(network.predict(np.array([x], object))[0])
    near = AnyInput().around(network, x)
    agrees(Problem(near, loses(network.head, label)))
    one, two = (agrees(Problem(near, NEVER), threads=threads) for threads in (1, 2))
    assert one == two
    assert flip_level(Problem(near, NEVER), sum(m.weight for m in near.moves), Clock()) == one


def test_many_rounds_and_parts(monkeypatch):
    monkeypatch.setattr(walks, "_QUOTA", 1 << 12)
    monkeypatch.setattr(walks, "_TABLE", 1 << 12)
    network, x = wide(30, features=16, seed=2)
    agrees(Problem(AnyInput().around(network, x), NEVER))


def test_combinations_that_cannot_matter_are_counted_and_not_walked():
    network, x = wide(3, features=8)
    near = Linf(1).around(network, x)
    still = Problem(near, NEVER)
    idle = random_network(np.random.default_rng(3), features=4)
    assert combinations_of(near) == exhaust(still, Clock()).sets == 256
    assert combinations_of(Free([]).around(idle, random_sample(idle, np.random.default_rng(0)))) == 1


@pytest.mark.parametrize("threads", [1, 2])
def test_a_planted_violation_is_found(threads):
    for chosen in ([0, 1, 2], [3, 11, 15], list(range(16)), [15]):
        network = planted(16, chosen)
        problem = Problem(AnyInput().around(network, [0] * 16), loses(network.head, 0))
        found = exhaust(problem, Clock(threads=threads))
        assert sorted(move.feature for move in found.violation) == chosen


def test_what_cannot_be_exhausted_is_said():
    network, x = wide(3, features=8)
    assert "this one has one" in EXHAUST(Problem(Hamming(2).around(network, x), NEVER)).reason
    network, x = wide(3, features=50)
    assert "1.13e+15 combinations, too many" in EXHAUST(Problem(AnyInput().around(network, x), NEVER)).reason


def test_stopping_and_the_sample_itself():
    network, x = wide(3, features=8)
    near = AnyInput().around(network, x)
    assert exhaust(Problem(near, NEVER), Clock(0)) is None
    assert exhaust(Problem(near, Goal(((),))), Clock()).violation == ()


@pytest.mark.parametrize(
    ("free", "first"), [(16, ["bounds", "exhaust"]), (17, ["bounds", "cdcl"]), (24, ["bounds", "cdcl"])]
)
def test_few_combinations_are_walked_before_anything_is_learned(free, first):
    network, x = wide(70, features=300, depth=2)
    problem = Problem(Free(range(free)).around(network, x), NEVER)
    assert [engine.name for engine in ladder._ladder(problem)][:2] == first
