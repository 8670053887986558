"""Two networks compared: as all inputs say, gone through by the definition."""

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError
from sugenet.nn import DenseLayer, Head, Network, simplify
from sugenet.reason import compare
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
    assert (code, found["comparison"], found["first"]["layer"]) == (1, "different", 0)
    code, out, _ = run_line(f"sugenet compare breast_cancer {tmp_path}/a.onnx", in_process)
    assert code == 0
    assert "proved" in out
