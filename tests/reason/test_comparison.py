"""Two networks compared: as all inputs say, gone through by the definition."""

import json
from dataclasses import replace

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps, bit, integer, simplify, thermometer
from sugenet.reason import answer_of, compare
from tests.cli.runner import in_process, run_line
from tests.fuzzing.every_network import every_network
from tests.problem.levels import every_input, lively_network
from tests.problem.small import random_network


def changed(network, rng):
    """The same network with one threshold or bias one off."""
    if network.layers and isinstance(network.layers[0], DenseLayer) and rng.random() < 0.7:
        layer = network.layers[0]
        tau = layer.tau.copy()
        tau[rng.integers(len(tau))] += rng.choice([-1, 1])
        layers = [DenseLayer(layer.weights, tau), *network.layers[1:]]
        return Network(network.encoder, layers, network.head, network.classes)
    head = network.head
    bias = [head.bias[0] + int(rng.choice([-1, 1])), *head.bias[1:]]
    last = Head(head.weights, bias, head.scale, head.tops)
    return Network(network.encoder, network.layers, last, network.classes)


def first_by_hand(left, right, row):
    """The first layer in which a sample's activities differ, as neurons from 1."""
    for number, pair in enumerate(zip(left.hidden(row), right.hidden(row), strict=True), start=1):
        if not np.array_equal(*pair):
            return number, [k + 1 for k in range(pair[0].shape[1]) if pair[0][0, k] != pair[1][0, k]]
    one, two = (net.head.scores(net.match_counts(row, engine="definition"))[0] for net in (left, right))
    return 0, [k + 1 for k in range(len(one)) if one[k] != two[k]]


def test_equal_or_not_as_all_inputs_say():
    outcomes = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        left = lively_network(rng, "dense") if seed % 8 == 0 else random_network(rng, features=3)
        right = simplify(left) if seed % 4 == 0 else changed(left, rng)
        X = every_input(left)
        classes = [network.predict(X, engine="definition") for network in (left, right)]
        comparison = compare(left, right)
        outcomes.add(comparison.outcome)
        assert comparison.is_equal == np.array_equal(*classes)
        assert comparison.outcome != "undecided"
        assert sg.check(comparison.verdict, left, right)
        if comparison.is_equal:
            assert comparison.first is None
            continue
        row = np.empty((1, left.encoder.features), object)
        row[0] = comparison.verdict.witness
        assert left.predict(row)[0] != right.predict(row)[0]
        layer, neurons = first_by_hand(left, right, row)
        first = comparison.first
        assert (first.layer, first.neuron, first.differing) == (layer, neurons[0], len(neurons))
        assert str(first) in str(comparison)
    assert outcomes == {"equal", "different"}


def drawn_pair(rng):
    """Two networks over the same features, with cuts of their own."""
    codings = [[], []]
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.integers(0, 3)
        for side in codings:
            cuts = sorted(rng.choice(np.arange(-1, 3), int(rng.integers(1, 4)), replace=False).tolist())
            side.append([bit(), OneHot(("a", "b", "c")), thermometer(cuts, -2, 3, True)][kind])
    networks = []
    for side in codings:
        encoder = Encoder(side)
        weights = rng.integers(-2, 3, (3, encoder.width))
        layer = DenseLayer(weights, [int(rng.integers(0, abs(row).sum() + 2)) for row in weights])
        bias = [0, int(rng.integers(0, 2))]
        networks.append(Network(encoder, [layer], Head(rng.integers(-1, 2, (2, 3)), bias)))
    return networks


def far(codings, one, other, cost):
    """How far two raw samples are apart."""
    pairs = [
        [int(value == 1) if coding == bit() else value for value in cell]
        for coding, *cell in zip(codings, one, other, strict=True)
    ]
    return sum((a != b) if cost == "L0" else abs(a - b) for a, b in pairs)


def test_the_smallest_difference_as_all_inputs_say():
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        left, right = drawn_pair(rng)
        codings, X = left.encoder.codings, every_input(left)
        is_whole = all(coding.__class__ is Steps and coding.whole for coding in codings)
        cost = "L1" if is_whole and rng.random() < 0.6 else "L0"
        near = X[rng.integers(len(X))] if rng.random() < 0.5 else None
        where = None
        if near is None and isinstance(codings[-1], Steps) and codings[-1] != bit():
            where, X = {left.encoder.names[-1]: (0, 2)}, X[(X[:, -1] >= 0) & (X[:, -1] <= 2)]
        start = X[0] if near is None else near
        differ = X[left.predict(X) != right.predict(X)]
        found = compare(left, right, where=where, near=near, cost=cost)
        assert found.is_equal == (not len(differ))
        if found.is_equal:
            assert found.near is found.distance is None
            continue
        least = min(far(codings, row, start, cost) for row in differ)
        assert (found.distance, found.is_smallest, list(found.near)) == (least, True, list(start))
        assert far(codings, found.witness, start, cost) == least
        assert sg.check(found.verdict, left, right)
        assert (found.nearer is None) == (least == 0)
        if found.nearer is not None:
            assert sg.check(found.nearer, left, right)
            assert sg.check(found.nearer, left, right, plain=True)
            read = answer_of(json.loads(json.dumps(found.nearer.data())), left, right)
            assert str(read) == str(found.nearer)
            forged = json.loads(json.dumps(found.nearer.certificate))
            forged["question"]["region"]["radius"] = str(least)
            with pytest.raises(CertificateError):
                sg.check(forged, left, right)
        seen.add((cost, near is None, least))
    assert len(seen) > 10


def test_a_smallest_difference_needs_a_start_and_time():
    one, two = (Network(Encoder.of_thresholds([0.5, 2]), [], Head([[1, 0], [0, k]])) for k in (1, -1))
    found = compare(one, two)
    assert (found.outcome, found.near, found.is_smallest) == ("different", None, False)
    near = [9.0] * one.encoder.features
    found = compare(one, two, near=near)
    assert found.is_smallest
    rng = np.random.default_rng(1)
    layer = DenseLayer(rng.choice([-1, 1], (9, 12)), [7] * 9)
    network = Network.of_bits([layer], Head(rng.choice([-1, 1], (2, 9))))
    undecided = sg.verify(network, sg.Robust([1] * 12, sg.Hamming(4)), engine="bounds")
    assert undecided.outcome == "undecided"
    assert not replace(found, nearer=undecided).is_smallest
    assert "not proved to be the smallest" in str(replace(found, nearer=undecided))
    with pytest.raises(QuestionError, match="needs features that are integers"):
        compare(one, two, near=near, cost="L1")
    with pytest.raises(QuestionError, match="Unknown cost 'L2'"):
        compare(one, two, cost="L2")
    with pytest.raises(QuestionError, match="outside the limits of x1"):
        compare(one, two, near=near, where={"x1": (0, 1)})
    with pytest.raises(QuestionError, match="other bits"):
        sg.Agree(two, sample=near, region="Hamming(1)")
    with pytest.raises(QuestionError, match="give a sample and a region"):
        sg.Agree(two, region="L0(1)")
    for unused in ({"near": near}, {"cost": "L1"}):
        with pytest.raises(QuestionError, match="not used with smallest=False"):
            compare(one, two, smallest=False, **unused)
    with pytest.raises(QuestionError, match="smallest='no' must be True or False"):
        compare(one, two, smallest="no")
    any_one = compare(one, two, smallest=False)
    assert (any_one.outcome, any_one.near) == ("different", None)


def test_a_sample_that_breaks_a_law_is_not_the_nearest():
    one, two = (Network.of_bits([DenseLayer([[1, 1, 1]], [tau])], Head([[-1], [1]])) for tau in (2, 3))
    law = "if x1 = 0 then x2 = 1"
    found = compare(one, two, within=[law])
    assert (found.outcome, found.near, found.is_smallest) == ("different", None, False)
    assert f'no smallest difference: the lowest values break "{law}"' in str(found)
    assert sg.check(found.verdict, one, two)
    for asked in (
        lambda: compare(one, two, within=[law], near=[0, 0, 1]),
        lambda: sg.verify(one.within([law]), sg.Agree(two, sample=[0, 0, 1], region="L0(1)")),
    ):
        with pytest.raises(QuestionError, match="breaks the law"):
            asked()
    found = compare(one, two, within=[law], near=[1, 0, 0])
    assert found.is_smallest
    assert sg.check(found.nearer, one, two)


def test_a_sample_that_cannot_occur_is_not_the_nearest():
    encoder = Encoder([integer(0, 3)] * 2)
    one, two = (Network(encoder, [DenseLayer([[1] * 6], [tau])], Head([[-1], [1]])) for tau in (4, 5))
    one = one.with_training_range(np.array([[0, 0], [1, 3]]))
    with pytest.raises(QuestionError, match="near is outside the limits of"):
        compare(one, two, within="data", near=[3, 1])
    assert compare(one, two, within="data", near=[1, 0]).witness == (1, 3)


def test_bits_written_as_signs_have_the_distance_1():
    one, two = (Network.of_bits([DenseLayer([[1, 1]], [tau])], Head([[-1], [1]])) for tau in (1, 2))
    found = compare(one, two, near=[-1, 1], cost="L1")
    assert (found.distance, found.is_smallest) == (0, True)
    found = compare(one, two, near=[-1, -1], cost="L1", time_limit=20)
    assert (found.distance, found.is_smallest) == (1, True)
    assert sg.check(found.nearer, one, two)


def test_layers_that_do_not_line_up():
    left = Network.of_bits([DenseLayer([[1, 1], [1, -1]], [1, 1])], Head([[1, 0], [0, 1]]))
    right = Network.of_bits([], Head([[0, 1], [1, 0]]))
    comparison = compare(left, right)
    assert comparison.outcome == "different"
    assert comparison.first is None
    assert "do not line up: [2] neurons in the first network and [] in the second" in str(comparison)


def test_what_a_file_of_another_program_gives(tmp_path):
    for seed in (0, 4, 5, 9):
        network = every_network(seed)
        sg.write_onnx(network, tmp_path / "net.onnx")
        comparison = compare(network, sg.read_onnx(tmp_path / "net.onnx"))
        assert comparison.is_equal
        assert sg.check(comparison.verdict, network, network)


def test_other_names_and_undecided():
    left = Network.of_bits([], Head([[1], [-1]]), classes=["a", "b"])
    with pytest.raises(QuestionError, match="classes of different names"):
        compare(left, Network.of_bits([], Head([[1], [-1]]), classes=["a", "c"]))
    rng = np.random.default_rng(1)
    weights = rng.choice([-1, 1], (60, 60))
    layers = [DenseLayer(weights, [30] * 60), DenseLayer(weights.T, [30] * 60)]
    one, two = (Network.of_bits(layers, Head(rng.choice([-1, 1], (2, 60)), [bias, 0])) for bias in (60, 61))
    comparison = compare(one, one.within("any"), time_limit=60)
    assert comparison.is_equal
    assert compare(one, two, time_limit=0.0).outcome in ("undecided", "different")


def test_the_command(tmp_path):
    network = sg.models.breast_cancer()
    head = network.head
    other = Network(
        network.encoder, network.layers, Head(head.weights, [99, 0], head.scale, head.tops), network.classes
    )
    sg.save(other, tmp_path / "b.sugenet")
    sg.write_onnx(network, tmp_path / "a.onnx")
    code, out, _ = run_line(f"sugenet compare {tmp_path}/a.onnx {tmp_path}/b.sugenet --json", in_process)
    found = json.loads(out)
    assert (code, found["outcome"], found["first"]["layer"]) == (1, "different", 0)
    assert (found["verdict"]["outcome"], found["smallest"]["proved"]) == ("refuted", True)
    code, out, _ = run_line(f"sugenet compare breast_cancer {tmp_path}/a.onnx", in_process)
    assert code == 0
    assert "proved" in out
