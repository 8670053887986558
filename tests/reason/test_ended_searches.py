"""Searches that are ended early: what one cost finds all find, and more time is never worse."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

import sugenet as sg
from sugenet.engines.walk.descent import Descent
from sugenet.nn import DenseLayer, Encoder, Head, Network, integer
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Problem
from sugenet.reason import L0, L1, L2, Counterfactual, Hamming, Linf, NoCounterfactual, Prices
from sugenet.reason.counterfactuals.searching import CounterfactualSearch, answer_of
from sugenet.reason.questions import WhatIf
from tests.engines.test_sets import folded, wide
from tests.problem.clocks import interrupting, ringing
from tests.problem.levels import any_network
from tests.problem.small import random_sample

COSTS = [L0, L1, L2, Linf, Hamming]
LOOKS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 256, 1024]


def pixels(seed, width=12, neurons=24):
    """A dense network over whole numbers, and a sample."""
    rng = np.random.default_rng(seed)
    layers = [
        DenseLayer(
            rng.choice([-1, 1], (neurons, 4 * width)), rng.integers(2 * width - 2, 2 * width + 3, neurons)
        ),
        DenseLayer(rng.choice([-1, 1], (neurons, neurons)), np.full(neurons, neurons // 2)),
    ]
    network = Network(Encoder([integer(0, 4)] * width), layers, Head(rng.choice([-1, 1], (3, neurons))))
    return network, rng.integers(0, 5, width).tolist()


def cases():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        network = any_network(rng, seed)
        yield network, random_sample(network, rng)
    yield pixels(1)
    yield wide(70, features=40, depth=2, seed=4)
    yield folded(1)


CASES = list(cases())


def known(answer):
    """What an answer costs, and how far that may be from the least."""
    cost = answer.cost if isinstance(answer, Counterfactual) else inf
    return cost, inf if isinstance(answer, NoCounterfactual) else answer.lower


def searcher(network, x, cost, clock, **more):
    return CounterfactualSearch(network, WhatIf(x, cost, **more), "auto", clock)


@pytest.mark.parametrize(
    ("number", "clock"), [*((k, ringing) for k in range(len(CASES))), (2, interrupting), (5, interrupting)]
)
def test_more_time_is_never_worse(number, clock):
    network, x = CASES[number]
    prices = Prices({f: Fraction(f % 3 + 1, 2) for f in range(1, len(x))}, per_unit=bool(number % 2))
    for cost in [*COSTS, prices]:
        before = inf, Fraction(-1)
        for looks in LOOKS:
            answer = answer_of(searcher(network, x, cost, clock(looks)))
            now = known(answer)
            assert now[0] <= before[0]
            assert now[1] >= before[1]
            assert now[1] <= now[0]
            assert sg.check(answer.certificate, network)
            before = now
            if now[0] == now[1]:
                break


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_one_cost_finds_all_find(number):
    network, x = CASES[number]
    found = []
    for looks in LOOKS[:9:2]:
        answers = [answer_of(searcher(network, x, cost, ringing(looks))) for cost in COSTS]
        found.append({isinstance(answer, Counterfactual) for answer in answers})
        assert len(found[-1]) == 1
    assert found[0] == {False}


@pytest.mark.parametrize("seed", range(6))
def test_limits_and_regions_hold_for_what_was_found_without_them(seed):
    network, x = pixels(seed)
    for cost in COSTS:
        for limit in (1, 2, 6, 40):
            answer = answer_of(searcher(network, x, cost, ringing(40), max_cost=limit, region=Linf(2)))
            if isinstance(answer, Counterfactual):
                assert answer.cost <= limit ** (2 if cost is L2 else 1)
                assert all(abs(a - b) <= 2 for a, b in zip(x, answer.changed, strict=True))
            assert sg.check(answer.certificate, network)


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("largest", [True, False])
def test_going_down_leaves_nothing_that_could_be_left_out(number, largest):
    """From far away, by the definition alone: every set that is told reaches the goal, each cheaper or as
    cheap with fewer changes in the end, and no change of the last can be undone.
    """
    network, x = CASES[number]
    asked = searcher(network, x, Linf if largest else L1, Clock())
    problem = asked.everything
    told = []
    descent = Descent(problem, largest, Clock(), told.append)
    if not descent.far():
        assert not told
        return
    descent.down()
    assert all(problem.replays(moves) for moves in told)
    last = told[-1]
    for move in last:
        assert not problem.replays([other for other in last if other is not move])
    assert asked.value(last) <= asked.value(told[0])


def test_boxes_keep_the_moves_that_stay_in_them():
    network, x = pixels(2)
    limits = {f: (max(0, x[f] - f % 3), None if f % 2 else 3 + x[f] // 4) for f in range(9)}
    near = searcher(network, x, L1, Clock(), region=sg.Box(limits)).whole
    kept = {(move.feature, move.value) for move in near.moves}
    assert kept == {
        (f, value)
        for f, (low, high) in limits.items()
        for value in range(5)
        if value != x[f] and low <= value <= (4 if high is None else high)
    }


def test_costs_that_are_too_finely_divided_hide_nothing():
    """Prices whose sum leaves 60 bits cannot be searched as weights."""
    network, x = pixels(1)
    cost = Prices({f: 10**20 + f for f in range(len(x))}, per_unit=True)
    assert isinstance(answer_of(searcher(network, x, cost, ringing(64))), Counterfactual)


def test_listed_changes_are_in_one_order():
    network, x = pixels(3)
    for cost in COSTS:
        listed = sg.whatif(network, x, cost, n=12)
        near = searcher(network, x, cost, Clock())
        rows = [near.whole.moves_to(one.changed) for one in (listed, *listed.others)]
        assert rows == sorted(rows, key=near.rank)
        again = sg.whatif(network, x, cost, n=12, threads=1)
        assert [one.changed for one in again.others] == [one.changed for one in listed.others]


def test_ctrl_c_while_others_are_listed_keeps_the_first(monkeypatch):
    from sugenet.reason.counterfactuals import searching

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(searching, "needed_changes", stop)
    network, x = pixels(3)
    answer = sg.whatif(network, x, L0, n=3)
    assert answer.is_minimum
    assert not answer.all_listed
    assert Problem(searcher(network, x, L0, Clock()).whole, answer.prop.goal).near.moves_to(answer.changed)
