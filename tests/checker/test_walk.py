"""The checker's walk against brute force and against the engines, which it shares no code with."""

from __future__ import annotations

import numpy as np
import pytest

from sugenet.checker import walk as check_walk
from sugenet.checker.walk import walk
from sugenet.engines.walk.choices import exhaust
from sugenet.engines.walk.sets import flip_level
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.goal import loses, wins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import Anything, Hamming
from tests.engines.test_sets import NEVER, REGIONS, planted, wide
from tests.engines.walked import expected, pieces
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_sample


@pytest.mark.parametrize("seed", range(40))
def test_all_sets_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(rng.integers(network.head.outputs))
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        for goal in (NEVER, loses(network.head, label), wins(network.head, label)):
            sets, patterns, digest, bad = expected(Problem(near, goal), budget=near.budget)
            found = walk(*pieces(near), goal.violates, threads=1 + seed % 3)
            assert (found.sets, found.patterns, found.digest, found.bad) == (
                sets,
                patterns,
                digest,
                bool(bad),
            )


@pytest.mark.parametrize("fragile", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("threads", [1, 2])
def test_engine_and_checker_agree(fragile, threads):
    network, x = wide(fragile, features=12, seed=fragile, depth=2)
    label = int(network.predict(np.array([x], object))[0])
    for region in (Hamming(3), Anything()):
        near = region.around(network, x)
        silent, found = (
            Problem(near, NEVER),
            walk(*pieces(near), loses(network.head, label).violates, threads=threads),
        )
        budget = near.budget or sum(move.weight for move in near.moves)
        level = flip_level(silent, budget, Clock(threads=threads))
        assert (found.sets, found.patterns, found.digest) == (level.sets, level.patterns, level.digest)
        if near.budget is None:
            every = exhaust(silent, Clock(threads=threads))
            assert (found.sets, found.patterns, found.digest) == (every.sets, every.patterns, every.digest)
        asked = flip_level(Problem(near, loses(network.head, label)), budget, Clock())
        assert found.bad == (asked.violation is not None)


def test_chunks_that_fill_up(monkeypatch):
    monkeypatch.setattr(check_walk, "_CHUNK", 100)
    network, x = wide(70, features=10, depth=0)
    for region in (Hamming(3), Anything()):
        near = region.around(network, x)
        sets, patterns, digest, _ = expected(Problem(near, NEVER), budget=near.budget)
        for threads in (1, 2, 5):
            found = walk(*pieces(near), NEVER.violates, threads=threads)
            assert (found.sets, found.patterns, found.digest, found.bad) == (sets, patterns, digest, False)


@pytest.mark.parametrize("chosen", [[0, 1, 2], [3, 11, 29], [37, 38, 39]])
def test_a_planted_violation_is_found(chosen):
    network = planted(40, chosen)
    for radius in (2, 3):
        near = Hamming(radius).around(network, [0] * 40)
        assert walk(*pieces(near), loses(network.head, 0).violates).bad == (radius == 3)


def test_large_weights_and_no_layers():
    rng = np.random.default_rng(0)
    base, gain = (
        rng.integers(-3, 3, 9),
        [[(1, rng.integers(-9, 10, 9))], [(2, rng.integers(-9, 10, 9)), (3, rng.integers(-9, 10, 9))]],
    )
    layers = [
        (rng.integers(-300, 301, (7, 9)), rng.integers(0, 900, 7)),
        (rng.integers(-5, 6, (70, 7)), rng.integers(0, 20, 70)),
    ]
    head = rng.integers(-9, 10, (3, 70))
    seen = []
    walk(
        base,
        gain,
        4,
        layers,
        head,
        lambda counts: seen.extend(counts.tolist()) or np.zeros(len(counts), bool),
        threads=1,
    )
    expected = set()
    for first, second in ((0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (1, 2)):
        margin = base + first * gain[0][0][1] + (gain[1][second - 1][1] if second else 0)
        bits = margin >= 0
        for weights, tau in layers:
            bits = np.where(weights > 0, weights * bits, -weights * ~bits).sum(axis=1) >= tau
        expected.add(tuple(np.where(head > 0, head * bits, -head * ~bits).sum(axis=1).tolist()))
    assert set(map(tuple, seen)) == expected
    found = walk(base, [], None, [], rng.integers(-1, 2, (2, 9)), lambda counts: np.ones(len(counts), bool))
    assert (found.sets, found.patterns, found.bad) == (1, 1, True)


def test_what_cannot_be_walked_is_said():
    row = np.zeros(1, np.int64)
    with pytest.raises(TooLargeError, match="too finely divided"):
        walk(row, [[(1 << 60, row)]], None, [], row[:, None], NEVER.violates)
    with pytest.raises(ValueError, match="negative"):
        walk(row, [[(-1, row)]], None, [], row[:, None], NEVER.violates)
    with pytest.raises(ValueError, match="empty set"):
        walk(row, [[(1, row)]], -1, [], row[:, None], NEVER.violates)
