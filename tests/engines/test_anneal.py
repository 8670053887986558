"""Local search: what it finds is a violation, the same every time, and it finds what small networks have."""

from __future__ import annotations

import numpy as np
import pytest

from sugenet.engines.walk import patterns
from sugenet.engines.walk.anneal import Patience, search
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses, wins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, L2, AnyInput, Hamming, Linf
from tests.engines.test_sets import NEVER, folded, planted, wide
from tests.engines.walked import expected
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_sample

REGIONS = [Hamming(2), L0(1), L0(2), L1(4), L2(3), Linf(2), AnyInput()]


@pytest.mark.parametrize("seed", range(30))
def test_small_violations_are_all_found_and_as_light_as_can_be(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(network.predict(np.array([x], object))[0])
    for region in some_of(REGIONS, seed):
        for goal in (loses(network.head, label), wins(network.head, (label + 1) % 3)):
            problem = Problem(region.around(network, x), goal)
            bad = expected(problem, budget=problem.near.budget)[2]
            found = search(problem, Clock(), restarts=4)
            if problem.goal.violates(
                problem.first_layer.scores(problem.first_layer.active[None, problem.first_layer.fragile])
            )[0]:
                continue  # the sample itself, which is asked before any search
            assert (found is not None) == bool(bad)
            if found is not None:
                assert problem.replays(found)
                assert sum(m.weight for m in found) == min(sum(m.weight for m in moves) for moves in bad)


def test_the_seed_decides():
    network, x = wide(70, features=40, depth=2, seed=4)
    label = int(network.predict(np.array([x], object))[0])
    problem = Problem(AnyInput().around(network, x), loses(network.head, label))
    found = [search(problem, Clock(seed=seed)) for seed in (1, 1, 2)]
    assert found[0] == found[1]
    assert all(problem.replays(moves) for moves in found)
    quick = search(problem, Clock(), light=False)
    assert problem.replays(quick)
    assert len(quick) >= len(found[0])


@pytest.mark.parametrize("unrolled", [0, 1 << 22])
def test_layers_that_are_not_dense(unrolled, monkeypatch):
    monkeypatch.setattr(patterns, "_UNROLLED", unrolled)
    for seed in range(6):
        network, x = folded(seed)
        label = int(network.predict(np.array([x], object))[0])
        problem = Problem(AnyInput().around(network, x), loses(network.head, label))
        found = search(problem, Clock())
        assert found is None or problem.replays(found)
        assert found is not None or unrolled == 0 or not expected(problem)[2]


def test_nothing_to_find_and_stopping():
    network, x = wide(10)
    problem = Problem(Hamming(2).around(network, x), NEVER)
    assert search(problem, Clock()) is None
    network = planted(40, [5])
    problem = Problem(Hamming(1).around(network, [0] * 40), loses(network.head, 0))
    assert [m.feature for m in search(problem, Clock())] == [5]
    assert search(problem, Clock(0)) is None
    assert search(Problem(L0(0).around(network, [0] * 40), problem.goal), Clock()) is None


def test_goals_of_large_numbers():
    network, x = wide(20, seed=3)
    big = Goal(((Votes((1 << 70, -(1 << 70), 0), 1),), (Votes((0, -(1 << 65), 1 << 65), 1),)))
    problem = Problem(AnyInput().around(network, x), big)
    found = search(problem, Clock())
    assert found is None or problem.replays(found)


def test_patience_finds_what_is_lighter_and_does_not_depend_on_threads():
    network, x = wide(30, features=24, seed=3, depth=2)
    label = int(network.predict(np.array([x], object))[0])
    goal = loses(network.head, label)

    def within(budget):
        return Problem(Hamming(budget).around(network, x), goal)

    sets = []
    for threads in (1, 2):
        kept = []
        patience = Patience(within, Clock(threads=threads), kept.append)
        budget = 24
        while budget > 0 and patience.go_on(budget, 200_000):
            assert within(budget).replays(kept[-1])
            budget = len(kept[-1]) - 1
        assert kept
        assert not patience.go_on(budget, 0)
        sets.append(kept)
    assert sets[0] == sets[1]
    silent = Patience(within, Clock(0), sets.append)
    assert not silent.go_on(24, 10**9)
