"""What every engine must do, on problems small enough to try all inputs: complaints,
and how often it gave up.

The truth is worked out here from the scores of the classes, so that a mistake in goals,
regions or engines shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sugenet.bnn import Head, Network
from sugenet.engines.ladder import decide
from sugenet.errors import CertificateError, SoundnessError
from sugenet.problem.clock import Clock
from sugenet.problem.goal import LabelGoal
from sugenet.problem.problem import Fails, Holds, Open, Problem
from sugenet.problem.regions import L0, L1, AnyInput, Hamming, Linf
from tests.checker.plainly import lemma_plainly
from tests.checker.typed import check_rup
from tests.engines.test_learn import plain
from tests.engines.walked import expected
from tests.problem.levels import KINDS, lively_network
from tests.problem.small import random_network, random_sample, samples_inside

REGIONS = [Hamming(2), L0(1), L0(2), L1(3), Linf(1), AnyInput()]


@dataclass(frozen=True, eq=False)
class Asked:
    """A problem, and all inputs that are violations."""

    problem: Problem
    bad: frozenset


def _tops(network, row):
    counts = network.match_counts(np.array([row], object), engine="definition")
    (scores,) = network.head.scores(counts)
    return [k for k, score in enumerate(scores) if score == max(scores)]


def _is_bad(tops, label, target, ties):
    if target is None:
        return tops[0] != label if ties == "lowest" else tops != [label]
    return tops[0] == target if ties == "lowest" else target in tops


def _drawn(seed):
    """A network of some depth, every second one with at least two classes that occur; a sample; and the top
    classes of all inputs.
    """
    rng = np.random.default_rng(seed)
    while True:
        network = random_network(rng, features=int(rng.integers(2, 5)), depth=seed % 3)
        if seed % 4 < 2:  # whole scores, so that classes tie
            network = Network(network.encoder, network.layers, Head(network.head.weights))
        x = random_sample(network, rng)
        tops = {row: _tops(network, row) for row in samples_inside(AnyInput().around(network, x))}
        if seed % 2 or len({row[0] for row in tops.values()}) > 1:
            return network, x, tops


def _drawn_levels(number, kind):
    """A network of more than two levels, and the same of it."""
    rng = np.random.default_rng(3 + number)
    network = lively_network(rng, kind)
    x = random_sample(network, rng)
    return network, x, {row: _tops(network, row) for row in samples_inside(AnyInput().around(network, x))}


@cache
def questions():
    """Networks of every coding around samples, each with regions, targets and ties; those of more than two
    levels with every second region.
    """
    found = []
    drawn = [(_drawn(seed), REGIONS) for seed in range(14)]
    drawn += [(_drawn_levels(k, kind), REGIONS[k % 2 :: 2]) for k, kind in enumerate(KINDS)]
    for seed, ((network, x, tops), regions) in enumerate(drawn):
        label = _tops(network, x)[0]
        for number, region in enumerate(regions):
            target = None if (seed + number) % 4 else (label + 1) % 3
            ties = "lowest" if (seed + number) % 3 else "against"
            problem = Problem(region.around(network, x), LabelGoal(network, label, target, ties).goal)
            inside = set(samples_inside(problem.near))
            known = {row: tops.get(row) or _tops(network, row) for row in inside}
            bad = frozenset(row for row in inside if _is_bad(known[row], label, target, ties))
            found.append(Asked(problem, bad))
    return found


def judged(engine):
    """What is wrong with an engine's answers to all questions, and how many it left open."""
    wrong, left = [], 0
    for number, asked in enumerate(questions()):
        try:
            found = decide(asked.problem, Clock(threads=1), engine)
        except SoundnessError as error:
            wrong.append(f"question {number}: {error}")
            continue
        if isinstance(found, Open):
            left += 1
        elif isinstance(found, Fails) and found.witness not in asked.bad:
            wrong.append(f"question {number}: {found.witness} is no violation")
        elif isinstance(found, Holds) and asked.bad:
            wrong.append(f"question {number}: said to hold, but {min(asked.bad, key=str)} is a violation")
        elif isinstance(found, Holds):
            wrong += _of_proof(number, asked.problem, found)
    return wrong, left


def _of_proof(number, problem, found):
    if found.sets not in (None, expected(problem, problem.near.budget)[0]):
        return [f"question {number}: there are not as many sets as by brute force"]
    if found.proof is not None and found.proof["kind"] == "lemma":
        try:
            follow = lemma_plainly if "sums" in found.proof else check_rup
            follow(found.proof, plain(problem.cascade))
        except CertificateError as error:
            return [f"question {number}: {error}"]
    return []
