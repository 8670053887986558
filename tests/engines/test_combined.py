"""Exhaustion without a table of patterns, against brute force; and its certificate, against forgeries and
the plain form of the check.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.checker.accelerate import enumeration
from sugenet.engines.walk import blocks, choices
from sugenet.engines.walk.choices import EXHAUST, exhaust, is_for_blocks
from sugenet.errors import CertificateError
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses, wins
from sugenet.problem.neighbourhood import combinations_of
from sugenet.problem.problem import Enumerated, Fails, Holds, Problem
from sugenet.problem.regions import AnyInput, Linf
from tests.engines.contract import judged
from tests.engines.test_contract import LEFT_OPEN
from tests.engines.test_sets import NEVER, planted, wide
from tests.engines.walked import expected
from tests.problem.levels import any_network
from tests.problem.small import random_network, random_sample


@pytest.fixture
def always(monkeypatch):
    """Few combinations, and few neurons, too; in small groups."""
    monkeypatch.setattr(choices, "_MANY", 0)
    monkeypatch.setattr(choices, "_LANES", 0)
    monkeypatch.setattr(choices, "_GROUP", 8)
    monkeypatch.setattr(enumeration, "_MANY", 0)


def agrees(problem, threads=None):
    """What the walk by blocks finds, if it is one for blocks."""
    if problem.replays(()) or (found := by_blocks(problem, threads)) is None:
        return None
    sets, _, bad = expected(problem)
    if bad:
        assert found.violation is not None
        assert problem.replays(found.violation)
    else:
        assert found == Enumerated(sets, None)
    return found


def by_blocks(problem, threads=None):
    return exhaust(problem, Clock(threads=threads)) if is_for_blocks(problem) else None


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(20))
def test_all_combinations_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = (
        any_network(rng, seed, features=int(rng.integers(1, 7)))
        if seed % 2
        else random_network(rng, features=int(rng.integers(1, 7)), depth=int(rng.integers(2, 5)))
    )
    x = random_sample(network, rng)
    for region in (Linf(1), AnyInput()):
        near = region.around(network, x)
        if combinations_of(near) <= 2000:
            label = int(rng.integers(network.head.outputs))
            for goal in (NEVER, loses(network.head, label), wins(network.head, label, ties="against")):
                agrees(Problem(near, goal))


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("width", [1, 64, 65, 512, 513])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_vectors_of_neurons_that_are_full_and_not(width, zeros):
    rng = np.random.default_rng(width)
    sizes = [9, 300, width, 70]
    signs = [rng.choice([-1, 1], (m, n)) for n, m in pairwise(sizes)]
    if zeros:
        signs = [np.where(rng.random(rows.shape) < zeros, 0, rows) for rows in signs]
    layers = [DenseLayer(rows, (np.abs(rows).sum(axis=1) + 1) // 2) for rows in signs]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (3, 70))))
    near = AnyInput().around(network, rng.integers(0, 2, 9).tolist())
    silent = Problem(near, NEVER)
    assert agrees(silent) == Enumerated(512, None)
    # the best of all classes' leads, reached just so and just not
    rows = np.array(
        [
            near.moved([m for m, on in zip(near.moves, chosen, strict=True) if on])
            for chosen in np.ndindex(*[2] * 9)
        ],
        object,
    )
    counts = network.match_counts(rows, engine="definition")
    lead = counts[:, 0] - counts[:, 1]
    just = Problem(near, Goal(((Votes((1, -1, 0), int(lead.max())),),)))
    over = Problem(near, Goal(((Votes((1, -1, 0), int(lead.max()) + 1),),)))
    assert agrees(over) == Enumerated(512, None)
    if not just.replays(()):
        one, two = (agrees(just, threads) for threads in (1, 2))
        assert one.violation == two.violation is not None


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_planted_violation_is_found(threads):
    for chosen in ([0, 1, 2], [3, 11, 12], list(range(13)), [12]):
        network = planted(13, chosen)
        passed = np.zeros((1, network.layers[0].outputs), int)
        passed[0, -1] = 1
        deep = Network.of_bits([*network.layers, DenseLayer(passed, [1])], Head([[-1], [1]]))
        problem = Problem(AnyInput().around(deep, [0] * 13), loses(deep.head, 0))
        found = EXHAUST(problem, Clock(threads=threads))
        assert isinstance(found, Fails)
        assert np.flatnonzero(found.witness).tolist() == chosen


@pytest.mark.usefixtures("always")
def test_groups_of_every_size_hold_all_combinations(monkeypatch):
    network, x = wide(70, features=9, seed=3, depth=2)
    silent = Problem(AnyInput().around(network, x), NEVER)
    for size in (1, 2, 4, 8, 32, 256, 512):
        monkeypatch.setattr(choices, "_GROUP", size)
        assert by_blocks(silent) == Enumerated(512, None)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("far", [1, 14, 15, 40, 1000, 1 << 20])
def test_sums_of_all_sizes(far):
    """What moves add has 8 bits, or more; so have the sums."""
    rng = np.random.default_rng(far)
    first = DenseLayer(rng.choice([-far, -1, 1, far], (70, 9)), rng.integers(1, 4 * far + 4, 70))
    second = DenseLayer(rng.choice([-1, 0, 1], (20, 70)), rng.integers(15, 30, 20))
    network = Network.of_bits([first, second], Head(rng.choice([-1, 1], (2, 20))))
    near = AnyInput().around(network, rng.integers(0, 2, 9).tolist())
    for goal in (NEVER, loses(network.head, 0), loses(network.head, 1)):
        problem = Problem(near, goal)
        assert problem.replays(()) or agrees(problem) is not None


@pytest.mark.usefixtures("always")
def test_what_planes_cannot_hold_is_walked_with_its_patterns(monkeypatch):
    monkeypatch.setattr(blocks, "_WIDEST", 8)
    network, x = wide(70, features=9, seed=3, depth=2)
    silent = Problem(AnyInput().around(network, x), NEVER)
    assert not is_for_blocks(silent)
    assert EXHAUST(silent, Clock()) == Holds("exhaust", {"kind": "enumerate"}, 512)


@pytest.mark.usefixtures("always")
def test_the_contract_holds():
    wrong, left = judged("exhaust")
    assert not wrong
    assert left == LEFT_OPEN["exhaust"]


@cache
def robust(seed, features=9):
    """A network of three hidden layers and a sample whose class stays whatever is changed."""
    while True:
        network, x = wide(80, features=features, seed=seed, depth=2)
        label = int(network.predict(np.array([x], object))[0])
        if isinstance(EXHAUST(Problem(AnyInput().around(network, x), loses(network.head, label))), Holds):
            return network, x
        seed += 1


@pytest.mark.usefixtures("always")
def test_certificates_are_checked_both_ways_and_forgeries_refused():
    network, x = robust(0)
    answer = sg.verify(network, sg.Robust(x, Linf(1)), engine="exhaust")
    proof = answer.certificate["proof"]
    assert proof == {"kind": "enumerate"}
    for plain, form in ((False, "blocks"), (True, "plain form")):
        said = sg.check(answer.certificate, network, plain=plain)
        assert said == f"none of the 512 sets of changes is a violation ({form})"
    with pytest.raises(CertificateError, match="'sets'"):
        sg.check(answer.certificate | {"proof": proof | {"sets": 512}}, network)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(6))
def test_the_check_sees_every_violation(seed):
    """The certificate of another sample, or of another question, is refused where there is a violation."""
    rng = np.random.default_rng(seed)
    network, x = robust(0)
    answer = sg.verify(network, sg.Robust(x, Linf(1)), engine="exhaust")
    other, z = wide(int(rng.integers(1, 130)), features=9, seed=100 + seed, depth=int(rng.integers(1, 4)))
    theirs = sg.verify(other, sg.Robust(z, Linf(1)), engine="exhaust")
    if isinstance(theirs, sg.Refuted):
        forged = theirs.certificate | {"answer": "proved", "proof": answer.certificate["proof"]}
        forged["witness"] = None
        for plain in (False, True):
            with pytest.raises(CertificateError, match="is a violation"):
                sg.check(forged, other, plain=plain)
