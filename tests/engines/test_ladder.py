"""The ladder tries the cheapest engine first, and something without a limit last."""

from math import inf

import pytest

import sugenet as sg
from benchmarks.ladder import LOSS, distance, follow
from sugenet.engines import ladder
from sugenet.engines.ladder import RUNGS, Facts
from sugenet.problem.goal import loses
from sugenet.problem.problem import Problem

REGIONS = [sg.Hamming(1), sg.Hamming(6), sg.L0(2), sg.Linf(1), sg.Free(range(8)), sg.AnyInput()]


def problem_of(name, region):
    network = getattr(sg.models, name)()
    samples, _ = sg.models.samples(name)
    return Problem(region.around(network, samples[7]), loses(network.head, 1))


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("name", ["digits", "breast_cancer"])
def test_expected_seconds_rise_and_the_last_has_no_limit(name, region):
    problem = problem_of(name, region)
    facts = Facts(problem)
    rungs = sorted((r for r in RUNGS if r.applies(facts)), key=lambda rung: rung.seconds(facts))
    assert [step.name for step in ladder._ladder(problem)] == [rung.engine.name for rung in rungs]
    assert rungs[0].engine.name == "bounds"
    assert rungs[-1].limit(facts) == inf


def test_sets_or_combinations_are_walked_through_and_never_both():
    for region in REGIONS:
        facts = Facts(problem_of("digits", region))
        assert (facts.sets < inf) != (facts.combinations < inf)


def test_a_longer_walk_comes_after_the_search():
    few, many = ([e.name for e in ladder._ladder(problem_of("digits", sg.Hamming(r)))] for r in (2, 6))
    assert few.index("flips") < few.index("search")
    assert many.index("search") < many.index("flips")


def test_the_ladder_loses_nothing_on_problems_whose_engines_were_measured():
    found = distance(6, with_zoo=False)
    assert found["problems"] > 20
    assert not found["left_open"]
    assert found["over_before"] <= LOSS


def test_following_the_ladder_adds_what_leaves_a_problem_open():
    problem = problem_of("digits", sg.Hamming(2))
    times = {"prepare": (1.0, False), "bounds": (2.0, False), "flips": (4.0, True), "search": (8.0, True)}
    assert follow(problem, times) == (7.0, True)
    assert follow(problem, times | {"bounds": (2.0, True)}) == (3.0, True)
    is_open = {name: (seconds, False) for name, (seconds, _) in times.items()}
    assert follow(problem, is_open) == (15.0, False)
