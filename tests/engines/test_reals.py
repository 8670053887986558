"""Queries over real boxes: proofs that the checker accepts,
counterexamples replayed in fractions, and nothing else.
"""

import copy
import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import sugenet as sg
from sugenet.engines.hard.reals.deciding import decide_query
from sugenet.engines.hard.reals.first_layer import BoxFirstLayer
from sugenet.engines.hard.reals.patterns import BoxPatches, conflicts
from sugenet.engines.hard.reals.witness import check_real_witness
from sugenet.errors import CertificateError, NetworkError, QuestionError
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    PoolLayer,
    RealLayer,
    Window,
)
from sugenet.nn.boxed import in_box
from sugenet.problem.clock import Clock
from sugenet.problem.problem import Fails, Holds, Open
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from tests.checker.typed import check_patches
from tests.io.queries import around

TOP = 8


# -- networks and queries ------------------------------------------------------------------------------------


def fractions(rng, count, least, most):
    return [
        Fraction(int(p), int(q))
        for p, q in zip(
            rng.integers(6 * least, 6 * most + 1, count), rng.choice([1, 2, 3, 6], count), strict=True
        )
    ]


def real_layer(rng, n, m):
    weights = rng.choice([-1, 0, 1, 1, -1], (m, n))
    lowest, sizes = np.minimum(weights, 0).sum(axis=1) * TOP, np.abs(weights).sum(axis=1) * TOP
    theta = [
        Fraction(int(rng.integers(low, low + n + 1))) + Fraction(int(rng.integers(0, 6)), 6)
        for low, n in zip(lowest, sizes, strict=True)
    ]
    middle = [
        (t + Fraction(int(low)) + Fraction(int(n), 2)) / 2
        for t, low, n in zip(theta, lowest, sizes, strict=True)
    ]
    return RealLayer(weights, middle)


def conv_layer(rng, channels=2, side=3, pads=0):
    window = Window((1, side, side), kernel=2, pads=pads)
    weights = rng.choice([-1, 1], (channels, 1, 2, 2))
    theta = fractions(rng, channels, -2, 2)
    return RealLayer(weights, [t for t in theta for _ in range(len(window.taps))], window)


def dense_layer(rng, n, m):
    weights = rng.choice([-1, 1], (m, n))
    return DenseLayer(weights, rng.integers(n // 2, n // 2 + 2, m))


def network(kind, seed):
    rng = np.random.default_rng([seed, len(kind)])
    if kind == "real":
        layers = [real_layer(rng, 4, 6)]
    elif kind == "real, dense":
        layers = [real_layer(rng, 4, 6), dense_layer(rng, 6, 5)]
    elif kind == "conv":
        layers = [conv_layer(rng)]
    elif kind == "conv, conv":
        window = Window((2, 2, 2), kernel=2, pads=(1, 0, 0, 0))
        layers = [conv_layer(rng), ConvLayer(rng.choice([-1, 1], (3, 2, 2, 2)), [4, 3, 4], window)]
    elif kind == "conv, conv, dense":
        window = Window((2, 2, 2), kernel=(1, 2))
        layers = [
            conv_layer(rng),
            ConvLayer(rng.choice([-1, 1], (3, 2, 1, 2)), [2, 2, 2], window),
            dense_layer(rng, 6, 5),
        ]
    elif kind == "conv, pool, dense":
        layers = [
            conv_layer(rng),
            PoolLayer(Window((2, 2, 2), kernel=(1, 2)), [False, True]),
            dense_layer(rng, 4, 5),
        ]
    else:
        layers = [conv_layer(rng, channels=1, pads=(1, 0, 0, 0))]
    outputs = layers[-1].outputs
    head = Head(rng.choice([-1, 1], (3, outputs)), fractions(rng, 3, 0, 1), [1, Fraction(1, 2), 1])
    return Network(Encoder.of_reals(layers[0].inputs, 0, TOP), layers, head)


def front_of(net, box):
    return BoxFirstLayer.of(in_box(net, box.lower, box.upper))


def rows_of(layer):
    """The weights of every neuron over all inputs."""
    rows = np.zeros((layer.outputs, layer.inputs), int)
    for row, (places, weights) in zip(rows, layer.reads(), strict=True):
        row[places] = weights
    return rows


KINDS = ["real", "real, dense", "conv", "conv, conv", "conv, conv, dense", "conv, pool, dense", "padded"]


def query_around(net, seed, eps):
    rng = np.random.default_rng(seed)
    center = [Fraction(int(v), 2) for v in rng.integers(0, 2 * TOP + 1, net.encoder.features)]
    scores = scores_at(net, center)
    label = max(range(3), key=lambda k: scores[k])
    return around(center, eps, label, 3, low=0, high=TOP)


def scores_at(net, x):
    """The definition once more, in fractions and by hand."""
    first = net.layers[0]
    rows = rows_of(first)
    sums = [sum((int(w) * Fraction(v) for w, v in zip(row, x, strict=True)), Fraction(0)) for row in rows]
    bits = np.array([[s >= high for s, (_, high) in zip(sums, first.theta, strict=True)]])
    return scores_of(net, bits)


def scores_of(net, bits):
    for layer in net.layers[1:]:
        bits = layer.activity(bits)
    return list(net.head.scores(net.head.match_counts(bits))[0])


def truth(net, query):
    """True: some input violates.

    By every sign pattern of the first layer and a linear program for each; None where it is too close.
    """
    first = net.layers[0]
    rows = rows_of(first)
    edge = np.array([float(low) for low, _ in first.theta])
    close = False
    for case in query.cases:
        bounds = [(float(a), float(b)) for a, b in zip(case.box.lower, case.box.upper, strict=True)] + [
            (None, 1)
        ]
        for pattern in product([False, True], repeat=first.outputs):
            scores = scores_of(net, np.array([pattern]))
            if not any(all(part.holds(scores) for part in conjunction) for conjunction in case.condition):
                continue
            turn = np.where(pattern, 1, -1)
            table = np.c_[-rows * turn[:, None], np.ones(len(rows))]
            found = linprog([*[0] * rows.shape[1], -1], A_ub=table, b_ub=-edge * turn, bounds=bounds)
            if -found.fun > 1e-7:
                return True
            close |= -found.fun > -1e-7
    return None if close else False


# -- decisions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_are_true_and_checked(kind):
    seen = set()
    for seed in range(14):
        net = network(kind, seed)
        query = query_around(net, seed, Fraction(1 + seed % 5, 3))
        outcome = decide_query(net, query, Clock(seed=seed))
        wanted = truth(net, query)
        assert not isinstance(outcome, Open), outcome
        assert wanted is None or wanted == isinstance(outcome, Fails)
        if isinstance(outcome, Fails):
            assert query.violated_by(outcome.witness, scores_at(net, outcome.witness))
            assert "exact arithmetic" in check_real_witness(outcome.witness, net, query)
        else:
            assert check_patches(outcome.proof, net, query).startswith("none of 2 ways")
        seen.add(type(outcome))
    assert seen == {Holds, Fails}


def test_several_boxes_and_conjunctions_of_several_inequalities():
    seen = set()
    for seed in range(30):
        net = network("conv, conv", seed)
        rng = np.random.default_rng(seed)
        cases = []
        for part in range(2):
            low = [Fraction(int(v), 2) for v in rng.integers(0, 2 * TOP - 2, net.encoder.features)]
            box = QueryBox(low, [v + Fraction(2, 3) for v in low])
            rows = [Inequality({0: 2, 1: -1, 2: -1}, part), Inequality({0: -1, 1: 2, 2: -1}, 1)]
            cases.append(Case(box, [rows, [Inequality({2: 1}, 9)]]))
        query = Query(net.encoder.features, 3, cases)
        outcome, wanted = decide_query(net, query, Clock()), truth(net, query)
        assert wanted is None or wanted == isinstance(outcome, Fails)
        if isinstance(outcome, Fails):
            assert query.violated_by(outcome.witness, scores_at(net, outcome.witness))
        else:
            check_patches(outcome.proof, net, query)
        seen.add(type(outcome))
    assert seen == {Holds, Fails}


def test_a_proof_of_one_query_proves_no_other_that_fails():
    """Every proof found, also with numbers changed at random,
    is refused for queries that have a counterexample.
    """
    proofs, failing = [], []
    for seed in range(12):
        net = network("conv, conv", 3)
        for eps in (Fraction(1, 3), Fraction(4, 3)):
            query = query_around(net, seed, eps)
            outcome = decide_query(net, query, Clock())
            (proofs if isinstance(outcome, Holds) else failing).append(
                outcome.proof if isinstance(outcome, Holds) else query
            )
    assert proofs
    assert failing
    rng = np.random.default_rng(0)
    for proof, query in product(proofs, failing):
        for turn in range(3):
            changed = copy.deepcopy(proof)
            for case in changed["cases"] if turn else ():
                for closure in case["closures"]:
                    if "mix" in closure:
                        closure["mix"] = [int(v) + int(rng.integers(0, 3)) for v in closure["mix"]]
                    if closure["by"] == "multipliers":
                        shares = closure["shares"]
                        closure["shares"] = [
                            [p, j, int(v) + int(rng.integers(-50, 50))] for p, j, v in shares
                        ]
            with pytest.raises(CertificateError, match="must be below 0"):
                check_patches(changed, net, query)


def proved(kind="conv, conv"):
    for seed in range(40):
        net = network(kind, seed)
        query = query_around(net, seed, Fraction(2, 3))
        outcome = decide_query(net, query, Clock())
        if isinstance(outcome, Holds) and any(
            closure["by"] == "multipliers" for closure in outcome.proof["cases"][0]["closures"]
        ):
            return net, query, outcome.proof
    raise AssertionError


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda proof, case: proof.update(kind="other"), "unknown kind 'other'"),
        (lambda proof, case: proof.update(cases=[]), "0 cases"),
        (lambda proof, case: proof.pop("cases"), "patches has no field 'cases'"),
        (lambda proof, case: case["closures"].pop(), "1 closures for 2"),
        (lambda proof, case: case.update(grid=0), "grid"),
        (lambda proof, case: case["patches"].append(case["patches"][0]), "twice"),
        (lambda proof, case: case["patches"].append([10**6]), "twice, or one that is not there"),
        (
            lambda proof, case: [c.update(mix=[0], shares=[], by="multipliers") for c in case["closures"]],
            "must be below 0",
        ),
        (lambda proof, case: [c.update(mix=[-1]) for c in case["closures"]], "mix: an integer of at least 0"),
        (
            lambda proof, case: [c.update(mix=[1] * 9) for c in case["closures"]],
            "9 weights for 1 inequalities",
        ),
        (lambda proof, case: [c.update(mix=[0.5]) for c in case["closures"]], "mix: an integer is needed"),
        (lambda proof, case: [c.update(by="faith") for c in case["closures"]], "unknown"),
        (
            lambda proof, case: [
                c.update(by="multipliers", shares=[[0, 10**5, 1]]) for c in case["closures"]
            ],
            "neuron 100000 or patch 0 of a multiplier is not there",
        ),
        (
            lambda proof, case: case.update(
                closures=[{"by": "impossible", "shares": [[0, 1]]}] * len(case["closures"])
            ),
            "without its sign",
        ),
        (
            lambda proof, case: case.update(
                closures=[{"by": "impossible", "shares": []}] * len(case["closures"])
            ),
            "not shown",
        ),
        (
            lambda proof, case: [c.update(by="impossible", shares=[]) for c in case["closures"]],
            "impossible has a field 'mix' that it must not have",
        ),
        (lambda proof, case: case.update(note=1), "PatchedCase has a field 'note' that it must not have"),
        (
            lambda proof, case: case.update(
                closures=[{"by": "split", "neuron": -1, "on": c, "off": c} for c in case["closures"]]
            ),
            "neuron: an integer of at least 0 is needed, not -1",
        ),
    ],
)
def test_damaged_proofs_are_refused(change, match):
    net, query, proof = proved()
    changed = copy.deepcopy(proof)
    change(changed, changed["cases"][0])
    with pytest.raises(CertificateError, match=match):
        check_patches(changed, net, query)


@pytest.mark.parametrize("proof", [{"kind": "bound"}, [{"kind": "bound"}]])
def test_what_holds_for_whole_numbers_proves_nothing_about_real_ones(proof):
    """x >= 1/2 and x < 3/4 turns the class, and no whole number is there."""
    first = RealLayer([[1], [1]], [Fraction(1, 2), Fraction(3, 4)])
    net = Network(Encoder.of_reals(1, 0, TOP), [first], Head([[1, -1], [-1, 1]], [Fraction(-1), 0]))
    query = Query(1, 2, [Case(QueryBox([0], [Fraction(9, 10)]), [[Inequality({0: 1, 1: -1}, 1)]])])
    certificate = json.loads(json.dumps(sg.verify(net, query).certificate))
    assert certificate["answer"] == "refuted"
    sg.check(certificate, net)
    with pytest.raises(CertificateError, match="a query over real numbers needs a proof of kind 'patches'"):
        sg.check({**certificate, "answer": "proved", "witness": None, "proof": proof}, net)


def test_a_split_is_as_good_as_its_parts():
    net, query, proof = proved()
    neuron = int(np.flatnonzero(front_of(net, query.cases[0].box).states[0] == 0)[0])
    for case in proof["cases"]:
        case["closures"] = [{"by": "split", "neuron": neuron, "on": c, "off": c} for c in case["closures"]]
    check_patches(proof, net, query)
    proof["cases"][0]["closures"][0]["on"] = {"by": "impossible", "shares": [[neuron, 1]]}
    with pytest.raises(CertificateError, match="not shown"):
        check_patches(proof, net, query)


def closures_of(closure):
    return [
        closure,
        *(part for side in ("on", "off") if side in closure for part in closures_of(closure[side])),
    ]


def two_convolutions(side, seed):
    rng = np.random.default_rng(seed)
    first = conv_layer(rng, 3, side)
    second = ConvLayer(rng.choice([-1, 1], (4, 3, 2, 2)), [6, 6, 7, 6], Window((3, side - 1, side - 1), 2))
    head = Head(rng.choice([-1, 1], (3, second.outputs)))
    return Network(Encoder.of_reals(side**2, 0, TOP), [first, second], head)


def led_by(base, bound):
    """Whether another class leads that of a query by so much in its box."""
    one, other = (base.label + 1) % 3, base.label
    return Query(base.inputs, 3, [Case(base.cases[0].box, [[Inequality({one: 1, other: -1}, bound)]])])


def test_the_greatest_difference_of_two_scores_is_found_and_proved():
    """Up to it every bound fails with a counterexample; the next one holds with a proof,
    by cases where they are needed.
    """
    ways = set()
    for side, eps, seed in [(4, 1, 0), (4, 2, 2), (4, 2, 3), (5, 1, 1), (6, 1, 1), (6, 1, 2), (6, 2, 3)]:
        net = two_convolutions(side, seed)
        base = query_around(net, seed, eps)
        one, other = (base.label + 1) % 3, base.label
        bound, outcome = -40, None
        while not isinstance(outcome, Holds):
            query = led_by(base, bound)
            outcome = decide_query(net, query, Clock())
            assert not isinstance(outcome, Open)
            if isinstance(outcome, Fails):
                scores = scores_at(net, outcome.witness)
                assert query.violated_by(outcome.witness, scores)
                bound = int(scores[one] - scores[other]) + 1
        proof = json.loads(json.dumps(outcome.proof))
        check_patches(proof, net, query)
        ways |= {part["by"] for part in closures_of(proof["cases"][0]["closures"][0])}
        for part in closures_of(proof["cases"][0]["closures"][0]):
            if part["by"] == "impossible":
                part["shares"] = [[neuron, 0] for neuron, _ in part["shares"]]
                with pytest.raises(CertificateError, match="not shown"):
                    check_patches(proof, net, query)
    assert ways == {"multipliers", "split", "impossible"}


# -- patterns ------------------------------------------------------------------------------------------------


def test_no_pattern_that_occurs_is_ruled_out():
    rng = np.random.default_rng(5)
    for kind, seed in product(KINDS, range(4)):
        net = network(kind, seed)
        query = query_around(net, seed, Fraction(7, 3))
        first_layer = front_of(net, query.cases[0].box)
        ends = np.stack([first_layer.lower, first_layer.upper])
        points = np.concatenate(
            [rng.integers(first_layer.lower, first_layer.upper + 1, (300, len(first_layer.lower))), ends]
        )
        sums = np.array(
            [[block.weights @ x[block.ins] for block in first_layer.blocks[0]] for x in points]
        ).reshape(len(points), -1)
        order = np.argsort(np.concatenate([block.outs for block in first_layer.blocks[0]]))
        active = sums[:, order] >= first_layer.high
        assert not (active[:, first_layer.states[0] == -1]).any()
        assert (active[:, first_layer.states[0] == 1]).all()
        for patch in BoxPatches(first_layer, Clock()).found:
            known = {row.tobytes() for row in patch.patterns}
            assert all(row.tobytes() in known for row in active[:, list(patch.cone)])
            for places, signs in conflicts(first_layer, patch.cone):
                assert not (active[:, [patch.cone[p] for p in places]] == np.array(signs)).all(axis=1).any()


# -- thresholds ----------------------------------------------------------------------------------------------


def test_a_witness_inside_an_enclosure_shows_nothing():
    low, high = Fraction(1, 2) - Fraction(1, 10**6), Fraction(1, 2)
    net = Network(Encoder.of_reals(1, 0, 1), [RealLayer([[1]], [(low, high)])], Head([[1], [-1]]))
    query = around([1], 1, 0, 2, low=0, high=1)
    assert "violates" in check_real_witness([Fraction(1, 4)], net, query)
    assert "violates" in check_real_witness([low - Fraction(1, 3**50)], net, query)
    with pytest.raises(CertificateError, match="near its threshold"):
        check_real_witness([low], net, query)
    with pytest.raises(CertificateError, match="does not violate"):
        check_real_witness([high], net, query)
    with pytest.raises(CertificateError, match="not in a box"):
        check_real_witness([2], net, query)
    inside = Query(1, 2, [Case(QueryBox([low], [(low + high) / 2]), [[Inequality({1: 1, 0: -1}, 0)]])])
    assert isinstance(decide_query(net, inside, Clock()), Open)
    above = Query(1, 2, [Case(QueryBox([high], [1]), [[Inequality({1: 1, 0: -1}, 0)]])])
    check_patches(decide_query(net, above, Clock()).proof, net, above)


def test_a_neuron_is_active_from_the_middle_of_its_enclosure():
    layer = RealLayer([[1]], [(1, 2)])
    assert layer.edges == (Fraction(3, 2),)
    assert layer.activity([[1.5], [1.25]]).tolist() == [[True], [False]]
    exact = np.array([[Fraction(3, 2)], [Fraction(4, 3)]], object)
    assert layer.activity(exact).tolist() == [[True], [False]]


def test_real_values_can_fail_where_integers_hold():
    first = RealLayer([[1, 1], [1, 1]], [Fraction(5, 2), Fraction(7, 2)])
    net = Network(Encoder.of_reals(2, 0, 4), [first], Head([[1, 1], [-1, -1]]))
    query = around([2, 2], Fraction(1, 3), 0, 2)  # 4 at integers, from 10/3 at real numbers
    outcome = decide_query(net, query, Clock())
    assert isinstance(outcome, Fails)
    assert sum(map(Fraction, outcome.witness)) < Fraction(7, 2)
    assert isinstance(decide_query(net, query.integer_bounds(), Clock()), Holds)
    whole = LevelLayer([[1, 1], [1, 1]], [3, 4], [4, 4])
    integers = Network(Encoder.of_integers(2, 0, 4), [whole], net.head)
    assert isinstance(sg.verify(integers, query), sg.Proved)


def test_thresholds_are_numbers_or_pairs():
    with pytest.raises(NetworkError, match="2 values of theta, but there are 1"):
        RealLayer([[1, -1]], [0, 0])
    with pytest.raises(NetworkError, match="which is empty"):
        RealLayer([[1, -1]], [(1, 0)])
    with pytest.raises(NetworkError, match="a number or a pair"):
        RealLayer([[1, -1]], ["many"])


def test_thresholds_are_part_of_the_fingerprint():
    nets = [
        Network(Encoder.of_reals(2, 0, 4), [RealLayer([[1, 1]], [theta])], Head([[1], [-1]]))
        for theta in (Fraction(5, 2), Fraction(9, 4), (Fraction(9, 4), Fraction(5, 2)))
    ]
    assert len({net.fingerprint for net in nets}) == 3


# -- refusals ------------------------------------------------------------------------------------------------


def test_what_the_engine_refuses_it_says():
    net = Network(Encoder.of_reals(1, 0, 1), [RealLayer([[1]], [1])], Head([[1], [-1]]))
    outside = around([0], 1, 0, 2)
    assert "leaves the real numbers" in decide_query(net, outside, Clock()).reason
    with pytest.raises(QuestionError, match="2 inputs"):
        decide_query(net, around([0, 0], 1, 0, 2), Clock())
    plain = Network(Encoder.of_integers(1, 0, 1), [LevelLayer([[1]], [1], [1])], Head([[1], [-1]]))
    query = around([0], 1, 0, 2, low=0, high=1)
    proof = {"kind": "patches", "cases": [{"grid": 1, "patches": [], "closures": []}]}
    for network_, asked in ((plain, query), (net, outside)):
        with pytest.raises(CertificateError, match="does not read real numbers, or the box exceeds"):
            check_patches(proof, network_, asked)
    with pytest.raises(CertificateError, match="does not keep real numbers"):
        check_real_witness([1], plain, query)


def test_time_can_be_up_at_once():
    net = network("conv, conv", 1)
    outcome = decide_query(net, query_around(net, 0, 2), Clock(0))
    assert isinstance(outcome, Open | Holds)
