"""Goals and cascades against the definition, on all inputs of small networks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sugenet.problem.goal import loses, wins
from sugenet.problem.problem import Problem
from sugenet.problem.regions import L0, L1, L2, AnyInput, Hamming, Linf
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_sample, samples_inside, violating

REGIONS = [Hamming(1), Hamming(3), L0(1), L0(2), L1(2), L2(2), Linf(1), Linf(3), AnyInput()]


def goals(network, rng):
    label = int(rng.integers(network.head.outputs))
    return [
        make(network.head, label, ties=ties) for make in (loses, wins) for ties in ("lowest", "against")
    ], label


@pytest.mark.parametrize("seed", range(40))
def test_goals_say_what_they_should(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    rows = [random_sample(network, rng) for _ in range(40)]
    counts = np.concatenate(
        [network.match_counts(np.array([row], object), engine="definition") for row in rows]
    )
    (lost, lost_against, won, won_against), label = goals(network, rng)
    for scores, *found in zip(
        network.head.scores(counts),
        *(g.violates(counts) for g in (lost, lost_against, won, won_against)),
        strict=True,
    ):
        tops = [k for k, score in enumerate(scores) if score == max(scores)]
        assert found == [tops[0] != label, tops != [label], tops[0] == label, label in tops]


@pytest.mark.parametrize("seed", range(40))
def test_a_cascade_is_the_problem(seed):
    rng = np.random.default_rng(1000 + seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        for goal in goals(network, rng)[0]:
            problem = Problem(near, goal)
            cascade = problem.cascade
            found = set()
            if cascade.steps > 12:
                continue
            for steps in product((0, 1), repeat=cascade.steps):
                if violating(cascade, [steps])[0]:
                    moves = cascade.moves(steps)
                    assert problem.replays(moves)
                    found.add(tuple(near.moved(moves)))
            expected = set()
            for y in samples_inside(near):
                if goal.violates(network.match_counts(np.array([y], object), engine="definition"))[0]:
                    expected.add(tuple(y))
            assert found == expected
