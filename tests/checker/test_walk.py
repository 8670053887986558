"""The checker's walk against brute force and against the engines, which it shares no code with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.checker.accelerate import walk as check_walk
from sugenet.engines.walk.choices import exhaust
from sugenet.engines.walk.sets import flip_level
from sugenet.errors import TooLargeError
from sugenet.problem.clock import Clock
from sugenet.problem.goal import loses, wins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import AnyInput, Hamming
from tests.engines.test_sets import NEVER, REGIONS, planted, wide
from tests.engines.walked import expected, pieces, walk, walked_plainly
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_sample
from tests.thinned import examples


@pytest.mark.parametrize("seed", range(40))
def test_all_sets_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(rng.integers(network.head.outputs))
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        for goal in (NEVER, loses(network.head, label), wins(network.head, label)):
            sets, patterns, bad = expected(Problem(near, goal), budget=near.budget)
            found = walk(*pieces(near), goal.violates, threads=1 + seed % 3)
            assert (found.sets, found.patterns, found.bad) == (sets, patterns, bool(bad))


@pytest.mark.parametrize("fragile", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("threads", [1, 2])
def test_engine_and_checker_agree(fragile, threads):
    network, x = wide(fragile, features=12, seed=fragile, depth=2)
    label = int(network.predict(np.array([x], object))[0])
    for region in (Hamming(3), AnyInput()):
        near = region.around(network, x)
        silent, found = (
            Problem(near, NEVER),
            walk(*pieces(near), loses(network.head, label).violates, threads=threads),
        )
        budget = near.budget or sum(move.weight for move in near.moves)
        level = flip_level(silent, budget, Clock(threads=threads))
        assert found.sets == level.sets
        if near.budget is None:
            every = exhaust(silent, Clock(threads=threads))
            assert found.sets == every.sets
        asked = flip_level(Problem(near, loses(network.head, label)), budget, Clock())
        assert found.bad == (asked.violation is not None)


def test_chunks_that_fill_up(monkeypatch):
    monkeypatch.setattr(check_walk, "_CHUNK", 100)
    network, x = wide(70, features=10, depth=0)
    for region in (Hamming(3), AnyInput()):
        near = region.around(network, x)
        sets, patterns, _ = expected(Problem(near, NEVER), budget=near.budget)
        for threads in (1, 2, 5):
            found = walk(*pieces(near), NEVER.violates, threads=threads)
            assert (found.sets, found.patterns, found.bad) == (sets, patterns, False)


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


@st.composite
def problems(draw):
    """A first layer, options and a budget for them, layers behind, and a head."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    width, far = draw(st.sampled_from([1, 5, 63, 64, 65])), draw(st.sampled_from([1, 3, 60, 200, 1 << 31]))
    base = rng.integers(-far, far + 1, width)
    features = [
        [(int(rng.integers(0, 4)), rng.integers(-far, far + 1, width)) for _ in range(many)]
        for many in draw(st.lists(st.integers(1, 3), max_size=6))
    ]
    budget = draw(st.one_of(st.none(), st.integers(0, 12)))
    size = draw(st.sampled_from([1, 9, 65]))
    most = draw(st.sampled_from([1, 2, 1 << 14]))
    layers = [(rng.integers(-most, most + 1, (size, width)), rng.integers(-width, most * width + 1, size))]
    return base, features, budget, layers[: draw(st.integers(0, 1))], rng.integers(-most, most + 1, (3, 99))


@given(problems(), st.integers(1, 3), st.sampled_from([1, 4, 512]))
@settings(max_examples=examples(150), deadline=None)
def test_as_the_plain_form(problem, threads, together):
    base, features, budget, layers, head = problem
    head = head[:, : len(layers[0][1]) if layers else len(base)]

    def violates(counts):
        return counts @ np.array([1, -1, 2]) >= int(np.abs(head).sum()) // 8

    given = (base, features, budget, layers, head, violates)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(check_walk, "_TOGETHER", together)
        found = walk(*given, threads=threads)
    assert found == walked_plainly(*given)


@pytest.mark.parametrize("far", [126, 127, 128, (1 << 31) - 1, 1 << 31, 1 << 40])
def test_sums_at_the_ends_of_their_numbers(far):
    base = np.array([0, -1, far - 3, -far + 3])
    rows = [np.array([1, -1, 3, -3]), np.array([-1, 1, -far, far]), np.array([0, 0, -1, 1])]
    for budget in (None, 1, 2):
        given = (base, [[(1, row)] for row in rows], budget, [], np.eye(4, dtype=np.int64), NEVER.violates)
        assert walk(*given, threads=1) == walked_plainly(*given)


def test_what_no_neuron_depends_on_is_counted_and_not_walked():
    rng = np.random.default_rng(0)
    base, features = np.append(rng.integers(-2, 2, 6), [0]), []
    for number in range(40):  # the last neuron turns in the first feature alone
        gain = np.zeros(7, np.int64)
        gain[-1] = -1000 if number == 0 else 1 if number < 3 else 0
        features.append([(1, gain)])
    found = walk(base, features, None, [], rng.integers(-1, 2, (2, 7)), NEVER.violates)
    assert (found.sets, found.patterns) == (1 << 40, 2)
