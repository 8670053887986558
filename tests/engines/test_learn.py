"""Search with learning against brute force: every answer, every proof, assumptions and cores."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from sugenet.checker.accelerate.thresholds import ThresholdSystem
from sugenet.engines.hard.learn import half_kernels, kernels
from sugenet.engines.hard.learn.halves import halves_of
from sugenet.engines.hard.learn.solver import BRIEFLY, CDCL, Core, Found, Solver, Stopped, facts_of
from sugenet.errors import QuestionError, TooLargeError
from sugenet.nn import DenseLayer, Encoder, Head, Network, bit, thermometer
from sugenet.problem.cascade import Cascade, FeatureSteps, Thresholds
from sugenet.problem.clock import Clock
from sugenet.problem.goal import Goal, Votes, loses, wins
from sugenet.problem.problem import Fails, Holds, Open, Problem
from sugenet.problem.regions import L0, L1, L2, AnyInput, Free, Hamming, Linf
from tests.checker.typed import check_rup
from tests.problem.clocks import ringing
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_network, random_sample, samples_inside, violating

REGIONS = [Hamming(1), Hamming(3), L0(1), L0(2), L1(2), L2(2), Linf(1), Linf(3), Free([0]), AnyInput()]


def plain(cascade):
    """What a checker needs; certificates build it by the definition, here it is read off."""
    budget = None if cascade.budget is None else (tuple(cascade.budget[0]), cascade.budget[1])
    layers = tuple((layer.weights, layer.least) for layer in cascade.layers)
    return ThresholdSystem(
        tuple(tuple(chain.steps) for chain in cascade.chains), budget, layers, cascade.cases
    )


def rows_of(samples):
    rows = np.empty((len(samples), len(samples[0])), dtype=object)
    for number, sample in enumerate(samples):
        rows[number] = sample
    return rows


def random_cascade(rng, *, steps=7, hidden=None, budget=None):
    """Chains of up to three steps, weights up to 3, prices of both signs, constant neurons, several cases."""
    chains, first = [], 0
    while first < steps:
        length = int(rng.integers(1, min(3, steps - first) + 1))
        options = list(range(length + 1))  # any values do for moves
        options[rng.integers(length + 1)] = None
        chains.append(FeatureSteps(len(chains), first, tuple(options)))
        first += length
    sizes = [
        steps,
        *(rng.integers(1, 7, rng.integers(0, 3)) if hidden is None else hidden),
        int(rng.integers(1, 4)),
    ]
    layers = []
    for before, after in pairwise(sizes):
        weights = rng.integers(-3, 4, (after, before))
        low, high = np.minimum(weights, 0).sum(axis=1), np.maximum(weights, 0).sum(axis=1)
        layers.append(
            Thresholds(
                weights, np.array([rng.integers(a - 1, b + 3) for a, b in zip(low, high, strict=True)])
            )
        )
    cases = tuple(
        tuple(rng.choice(sizes[-1], rng.integers(0, sizes[-1] + 1), replace=False).tolist())
        for _ in range(rng.integers(0, 4))
    )
    if budget is None and rng.random() < 0.6:
        prices = rng.integers(-3, 5, steps)
        budget = (
            prices.astype(object),
            int(rng.integers(np.minimum(prices, 0).sum(), np.maximum(prices, 0).sum() + 1)),
        )
    return Cascade(tuple(chains), budget, tuple(layers), cases)


@pytest.mark.parametrize("seed", range(60))
def test_every_problem_is_decided_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(rng.integers(network.head.outputs))
    for region in some_of(REGIONS, seed):
        near = region.around(network, x)
        counts = network.match_counts(rows_of(list(samples_inside(near))), engine="definition")
        for make, ties in product((loses, wins), ("lowest", "against")):
            problem = Problem(near, make(network.head, label, ties=ties))
            outcome = CDCL(problem, Clock(seed=seed))
            if problem.goal.violates(counts).any():
                assert isinstance(outcome, Fails)
                assert problem.goal.violates(
                    network.match_counts(rows_of([outcome.witness]), engine="definition")
                )[0]
                assert tuple(outcome.witness) in set(samples_inside(near))
            else:
                assert isinstance(outcome, Holds)
                assert "the last one empty" in check_rup(outcome.proof, plain(problem.cascade))


@pytest.mark.parametrize("seed", range(150))
def test_cascades_of_any_weights_prices_and_cases(seed):
    rng = np.random.default_rng(10_000 + seed)
    cascade = random_cascade(rng)
    everything = np.array(list(product((0, 1), repeat=cascade.steps)))
    good = everything[violating(cascade, everything)]
    solver = Solver(cascade, seed=seed)
    for _ in range(4):  # the same solver again and again, under other assumptions
        assumed = [
            int(s)
            for s in rng.permutation(np.arange(1, cascade.steps + 1))[: rng.integers(0, 4)]
            * rng.choice([-1, 1])
        ]
        wanted = (
            good[[all(row[abs(s) - 1] == (s > 0) for s in assumed) for row in good]] if len(good) else good
        )
        answer = solver.solve(Clock(), assumed)
        if len(wanted):
            assert isinstance(answer, Found)
            assert answer.values[: cascade.steps].astype(int).tolist() in wanted.tolist()
        else:
            assert isinstance(answer, Core)
            assert set(answer.literals) <= set(assumed)
            assert not [row for row in good if all(row[abs(s) - 1] == (s > 0) for s in answer.literals)]
            check_rup(solver.proof(), plain(cascade), answer.literals)


@pytest.mark.parametrize("seed", range(12))
def test_larger_networks_against_all_inputs_near(seed):
    rng = np.random.default_rng(seed)
    layers, size = [], 30
    for width in (20, 10):
        weights = rng.choice([-1, 1], (width, size))
        layers.append(DenseLayer(weights, size // 2 + rng.integers(-2, 3, width)))
        size = width
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (3, size))))
    x = rng.integers(0, 2, 30).tolist()
    label = int(network.predict([x])[0])
    for radius in (1, 2, 3):
        near = Hamming(radius).around(network, x)
        flips = [[*rows] for rows in product(range(31), repeat=radius) if list(rows) == sorted(rows)]
        samples = np.repeat(np.array([[*x, 0]]), len(flips), axis=0)
        for column in zip(*flips, strict=True):
            samples[np.arange(len(flips)), column] ^= 1
        problem = Problem(near, loses(network.head, label))
        outcome = CDCL(problem, Clock(seed=seed))
        broken = bool((network.predict(samples[:, :30]) != label).any())
        assert isinstance(outcome, Fails if broken else Holds)
        if isinstance(outcome, Holds):
            check_rup(outcome.proof, plain(problem.cascade))


def learned_from():
    """Two questions that take thousands of conflicts: as much as one class can lead by, and one more."""
    rng = np.random.default_rng(3)
    layers = [DenseLayer(rng.choice([-1, 1], (m, n)), [n // 2] * m) for n, m in ((14, 30), (30, 40))]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (2, 40))))
    counts = network.match_counts(np.array(list(product((0, 1), repeat=14))))
    most = int((counts[:, 1] - counts[:, 0]).max())
    near = AnyInput().around(network, [0] * 14)
    return [(more, Cascade.of(near, Goal(((Votes.of([-1, 1], most + more),),)))) for more in (0, 1)]


def test_many_conflicts_with_forgetting_and_restarts():
    for more, cascade in learned_from():
        solver = Solver(cascade)
        assert isinstance(solver.solve(Clock()), Core if more else Found)
    assert solver.conflicts > 2500
    proof = solver.proof()
    assert proof["encoding"] == "zlib+base64"
    check_rup(proof, plain(cascade))


@pytest.mark.parametrize("seed", range(4))
def test_wide_layers_are_searched_by_inputs_alone(seed):
    rng = np.random.default_rng(seed)
    layer = DenseLayer(rng.choice([-1, 0, 1], (130, 10)), rng.integers(2, 5, 130))
    network = Network.of_bits([layer], Head(rng.choice([-1, 1], (2, 130))))
    counts = network.match_counts(np.array(list(product((0, 1), repeat=10))))
    most = int((counts[:, 1] - counts[:, 0]).max())
    near = AnyInput().around(network, [0] * 10)
    for more in (0, 1):  # as much as one class can lead by, and one more
        problem = Problem(near, Goal(((Votes.of([-1, 1], most + more),),)))
        solver = Solver(problem.cascade, facts_of(problem.first_layer, problem.cascade), seed=seed)
        assert isinstance(solver.solve(Clock()), Core if more else Found)
        assert solver.machine.numbers[kernels.WILD] == 0
        assert solver.machine.numbers[kernels.TAME] > 1 << 60
    assert solver.conflicts > 50  # after which others go wild
    check_rup(solver.proof(), plain(problem.cascade))
    few = Network.of_bits(
        [DenseLayer(layer.weights[:90], layer.tau[:90])], Head(network.head.weights[:, :90])
    )
    other = Problem(AnyInput().around(few, [0] * 10), Goal(((Votes.of([-1, 1], most + 1),),)))
    assert Solver(other.cascade).machine.numbers[kernels.TAME] == 50


def test_facts_are_neurons_that_nothing_turns():
    network = Network.of_bits(
        [DenseLayer([[1] * 6, [1, -1, 1, -1, 1, -1]], [1, 3])], Head([[1, 1], [-1, -1]])
    )
    problem = Problem(Hamming(2).around(network, [1] * 6), loses(network.head, 0))
    assert facts_of(problem.first_layer, problem.cascade) == [7]


def test_core_names_the_assumptions_to_blame():
    # x1 and x2 together make the neuron true, and the goal wants it false
    chains = tuple(FeatureSteps(i, i, (None, 1)) for i in range(4))
    layers = (
        Thresholds(np.array([[1, 1, 0, 0]]), np.array([2])),
        Thresholds(np.array([[-1]]), np.array([0])),
    )
    solver = Solver(Cascade(chains, None, layers, ((0,),)))
    assert set(solver.solve(Clock(), [3, 1, 4, 2]).literals) == {1, 2}
    assert isinstance(solver.solve(Clock(), [1, -2]), Found)
    assert set(solver.solve(Clock(), [3, -3]).literals) == {3, -3}
    check_rup(solver.proof(), plain(solver.cascade), [3, -3])
    assert isinstance(solver.solve(Clock()), Found)
    with pytest.raises(QuestionError, match="no proof"):  # that of the call before is gone
        solver.proof()
    with pytest.raises(QuestionError, match="from 1 to 6"):
        solver.solve(Clock(), [0])


def test_no_case_and_an_empty_case():
    network = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[1], [-1]]))
    near = Hamming(1).around(network, [1, 1])
    never = Problem(near, Goal(()))
    outcome = CDCL(never)
    assert isinstance(outcome, Holds)
    check_rup(outcome.proof, plain(never.cascade))
    assert isinstance(CDCL(Problem(near, Goal(((),)))), Fails)


def test_a_proof_needs_a_refutation():
    network = Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[1], [-1]]))
    solver = Solver(Problem(Hamming(2).around(network, [1, 1]), loses(network.head, 0)).cascade)
    assert isinstance(solver.solve(Clock()), Found)
    with pytest.raises(QuestionError, match="no proof"):
        solver.proof()


def hard_problem():
    rng = np.random.default_rng(0)
    weights = [rng.choice([-1, 1], (40, n)) for n in (40, 40)]
    network = Network.of_bits(
        [DenseLayer(w, [20] * 40) for w in weights], Head(rng.choice([-1, 1], (2, 40)), [0, -30])
    )
    x = rng.integers(0, 2, 40).tolist()
    return Problem(AnyInput().around(network, x), wins(network.head, 1))


def test_stop_and_limits_leave_it_open():
    problem = hard_problem()
    said = []
    stopped = CDCL(problem, Clock(0, notify=said.append))
    assert isinstance(stopped, Open)
    assert stopped.reason == "stopped"
    assert said
    assert stopped.facts["conflicts"] > 0


def test_a_search_that_was_stopped_goes_on_when_its_problem_comes_back():
    problem = hard_problem()
    first, second = (CDCL(problem, Clock(0)) for _ in range(2))
    assert second.facts["conflicts"] > first.facts["conflicts"]
    assert CDCL(problem, Clock(0, seed=1)).facts["conflicts"] < second.facts["conflicts"]  # another search
    solver = Solver(problem.cascade, facts_of(problem.first_layer, problem.cascade))
    for _ in range(3):
        assert isinstance(solver.solve(Clock(), work=10_000, afresh=False), Stopped)
    assert isinstance(solver.solve(Clock(), list(range(1, 41))), Core | Found)


def test_pieces_of_a_search_decide_as_a_whole_one():
    for bound, cascade in learned_from():
        solver, pieces, answer = Solver(cascade), 0, Stopped("")
        while isinstance(answer, Stopped):
            answer, pieces = solver.solve(Clock(), work=200_000, afresh=pieces == 0), pieces + 1
        assert isinstance(answer, Found if bound == 0 else Core)
    assert pieces > 3
    check_rup(solver.proof(), plain(cascade))


def test_a_short_search_leaves_large_networks_and_hard_questions_open():
    hard = hard_problem()
    found = BRIEFLY(hard)
    assert isinstance(found, Open)
    assert 0 < found.facts["conflicts"] < CDCL(hard, ringing(100)).facts["conflicts"]
    rng = np.random.default_rng(1)
    layers = [DenseLayer(rng.choice([-1, 1], (400, n)), [n // 2] * 400) for n in (20, 400)]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (2, 400))))
    large = Problem(AnyInput().around(network, [0] * 20), loses(network.head, 0))
    assert "too large" in BRIEFLY(large).reason
    assert "cascade" not in vars(large)


def test_restarts_come_in_lubys_series():
    series = [kernels._luby(k) for k in range(31)]
    assert series == [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8, *series[:15], 16]


def test_thresholds_that_are_settled_are_not_searched_over():
    first = DenseLayer([[1] * 6, [1, -1, 1, -1, 1, -1], [1, 1, 0, 0, 0, 0]], [1, 3, 2])
    second = DenseLayer([[1, 1, 0], [1, 0, 1], [0, 0, 1]], [1, 2, 1])  # the first is always active here
    network = Network.of_bits([first, second], Head([[1, 1, 1], [-1, -1, -1]], [0, -2]))
    problem = Problem(Hamming(2).around(network, [1] * 6), wins(network.head, 1))
    facts, starts = facts_of(problem.first_layer, problem.cascade), problem.cascade.starts
    assert halves_of(problem.cascade, facts).fixed[starts[1] :][:6].tolist() == [1, -1, -1, 1, -1, -1]
    solver = Solver(problem.cascade, facts)
    assert isinstance(solver.solve(Clock()), Core)
    check_rup(solver.proof(), plain(problem.cascade))


def meaning(cascade, fixed, halves):
    """Each half as the definition has it: whether it holds of some values of the variables."""
    starts, budget = cascade.starts, cascade.budget

    def threshold(variable, negative):
        number = max(k for k, start in enumerate(starts) if start <= variable)
        layer, row = cascade.layers[number - 1], variable - starts[number]
        weights, least = layer.weights[row].tolist(), int(layer.least[row])
        sign = 1 if negative else -1
        return starts[number - 1], [sign * w for w in weights], least - 1 if negative else -least

    found = []
    if budget is not None:
        found.append((-1, 0, list(map(int, budget[0])), budget[1]))
        for variable, negative, q, p in halves.cuts:
            first, weights, most = threshold(variable, negative)
            both = [q * w + p * int(price) for w, price in zip(weights, budget[0], strict=True)]
            found.append((2 * variable + negative, first, both, q * most + p * budget[1]))
    for variable in range(starts[1], starts[-1]):
        if fixed[variable] < 0:
            for negative in range(1 if variable >= starts[-2] else 2):
                found.append((2 * variable + negative, *threshold(variable, negative)))
    return found


@pytest.mark.parametrize("seed", range(80))
def test_halves_say_what_the_thresholds_say(seed):
    rng = np.random.default_rng(seed)
    size = {70: 1, 71: 63, 72: 64, 73: 65}.get(seed, 7)
    cascade = random_cascade(rng, steps=size, hidden=None if size < 8 else [size, 5])
    starts = cascade.starts
    facts = rng.permutation(np.arange(starts[1], starts[2]))[: rng.integers(0, 3)] + 1
    if len(cascade.layers) == 1:
        facts = facts[:0]
    facts = (facts * rng.choice([-1, 1], len(facts))).tolist()
    halves = halves_of(cascade, facts)
    fixed = halves.fixed
    assert [fixed[abs(fact) - 1] == (fact > 0) for fact in facts] == [True] * len(facts)
    assert not [cut for cut in halves.cuts if cut[0] >= starts[-2] and cut[1]]  # of the goal one half alone
    wanted = meaning(cascade, fixed, halves)
    assert halves.literals.tolist() == [literal for literal, *_ in wanted]
    values = rng.integers(0, 2, (100, starts[-1]))
    values[:, fixed >= 0] = fixed[fixed >= 0]
    for h, (_, first, weights, most) in enumerate(wanted):
        part = slice(halves.starts[h], halves.starts[h + 1])
        loading, loads = halves.loading[part], halves.loads[part]
        assert all(fixed[x >> 1] < 0 for x in loading)
        assert len(set(loading >> 1)) == len(loading)
        assert (loads > 0).all()
        assert (np.diff(loads) <= 0).all()
        assert np.gcd.reduce(loads, initial=0) in (0, 1)
        assert halves.tops[h] == max(loads, default=0)
        load = ((values[:, loading >> 1] == 1 - (loading & 1)) * loads).sum(axis=1)
        sums = values[:, first : first + len(weights)] @ np.array(weights)
        assert ((load <= halves.caps[h]) == (sums <= most)).all()
    for number, layer in enumerate(cascade.layers):  # what is fixed, and only that, is so whatever is chosen
        below = fixed[starts[number] : starts[number + 1]]
        for row, (weights, least) in enumerate(zip(layer.weights, layer.least, strict=True)):
            known = weights[below == 1].sum()
            low, high = (known + end(weights[below < 0], 0).sum() for end in (np.minimum, np.maximum))
            own = starts[number + 1] + row
            if own + 1 not in facts and -own - 1 not in facts:
                assert fixed[own] == (1 if low >= least else 0 if high < least else -1)


@pytest.mark.parametrize("size", [1, 63, 64, 65, pytest.param(200, marks=pytest.mark.slow)])
def test_columns_are_rows_the_other_way_round(size):
    rng = np.random.default_rng(size)
    cascade = random_cascade(rng, steps=size, hidden=[size, 3])
    halves, variables = halves_of(cascade, []), cascade.starts[-1]
    column_from, half, load, owned_from, owned = half_kernels.columns(
        halves.literals, halves.starts, halves.loading, halves.loads, variables
    )
    rows = [
        (int(x), h, int(halves.loads[k]))
        for h in range(len(halves.literals))
        for k, x in enumerate(halves.loading[: halves.starts[h + 1]])
        if k >= halves.starts[h]
    ]
    owners = np.repeat(np.arange(2 * variables), np.diff(column_from))
    assert list(zip(owners.tolist(), half.tolist(), load.tolist(), strict=True)) == sorted(rows)
    speaking = np.repeat(np.arange(2 * variables), np.diff(owned_from))
    wanted = sorted((int(x), h) for h, x in enumerate(halves.literals) if x >= 0)
    assert list(zip(speaking.tolist(), owned.tolist(), strict=True)) == wanted


def test_thresholds_at_the_edge_of_what_fits():
    chains = tuple(FeatureSteps(k, k, (None, 1)) for k in range(2))
    largest = (3 << 58) - 1
    for least, fits in ((1, True), (2, False), (-1, True), (-2, False)):  # all sizes together below 3 * 2^59
        layer = Thresholds(np.array([[largest, -largest]]), np.array([least]))
        cascade = Cascade(chains, None, (layer,), ((0,),))
        if fits:
            halves = halves_of(cascade, [])
            assert halves.loads.tolist() == [1, 1]
            assert halves.caps.tolist() == [0 if least > 0 else 1]
        else:
            with pytest.raises(TooLargeError, match="60 bits"):
                halves_of(cascade, [])


def test_the_same_seed_gives_the_same_answer():
    network = random_network(np.random.default_rng(5), features=4, depth=2)
    x = random_sample(network, np.random.default_rng(5))
    problem = Problem(AnyInput().around(network, x), wins(network.head, 2))
    assert CDCL(problem, Clock(seed=1)) == CDCL(problem, Clock(seed=1))
    solvers = [Solver(hard_problem().cascade, seed=3) for _ in range(2)]  # beyond where values are random
    answers = [solver.solve(Clock(), work=20_000_000) for solver in solvers]
    assert solvers[0].conflicts == solvers[1].conflicts > 600
    assert [type(answer) for answer in answers] == [Stopped, Stopped]


def test_each_kernel_is_compiled_for_one_kind_of_numbers():
    """Every further kind is compiled anew: whole seconds of somebody's first question."""
    network = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]))
    CDCL(Problem(Hamming(2).around(network, [1, -1, 1, -1]), loses(network.head, 0)))
    CDCL(Problem(Linf(1).around(network, [1, -1, 1, -1]), wins(network.head, 1)))
    found = [
        kernel
        for part in (kernels, half_kernels)
        for kernel in vars(part).values()
        if hasattr(kernel, "py_func")
    ]
    assert len(found) > 25
    assert not [kernel for kernel in found if len(kernel.signatures) > 1]


def test_finely_divided_prices_need_more_digits():
    steps = 3
    chains = tuple(FeatureSteps(i, i, (None, 1)) for i in range(steps))
    layers = (
        Thresholds(np.ones((1, steps), np.int64), np.array([2])),
        Thresholds(np.array([[1]]), np.array([1])),
    )
    prices = np.array([10**12 + 1, 10**12, 10**12 + 2], object)
    for limit, expected in ((2 * 10**12 + 1, Found), (2 * 10**12, Core)):
        cascade = Cascade(chains, (prices, limit), layers, ((0,),))
        solver = Solver(cascade)
        assert isinstance(solver.solve(Clock()), expected)
        if expected is Core:
            check_rup(solver.proof(), plain(cascade))
    with pytest.raises(TooLargeError, match="60 bits"):
        Solver(Cascade(chains, (prices * 10**9 + 1, 10**21), layers, ((0,),)))


def test_thermometers_and_bits_with_a_middle_state():
    encoder = Encoder([thermometer([1, 2, 3], 0, 4, True), bit(), bit()])
    network = Network(
        encoder, [DenseLayer([[1, -1, 1, 1, 1], [1, 1, 1, -1, 0]], [3, 2])], Head([[1, 1], [-1, 1], [1, -1]])
    )
    for x in product(range(4), (0, 1), (0, 1)):
        label = int(network.predict([x])[0])
        for region in (L1(1), L1(2), L0(1), Hamming(2)):
            problem = Problem(region.around(network, x), loses(network.head, label))
            broken = any(int(network.predict([y])[0]) != label for y in samples_inside(problem.near))
            outcome = CDCL(problem)
            assert isinstance(outcome, Fails if broken else Holds)
