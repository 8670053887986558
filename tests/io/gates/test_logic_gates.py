"""Logic-gate networks: all gates, random networks, questions with certificates, and refusals by name."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io.gates.network import gate_import
from sugenet.io.gates.program import GateLayer, InputCuts
from sugenet.io.gates.reader import read_gates
from tests.fuzzing import logic_gates as gates


def test_every_gate_after_every_pair_of_gates():
    rows, ids = np.array(list(product([0, 1], repeat=3))), np.arange(16)
    first = (np.repeat([0, 1], 16), np.repeat([1, 2], 16), np.tile(ids, 2))
    one, two, then = (part.reshape(-1) for part in np.meshgrid(ids, ids, ids, indexing="ij"))
    last = (one, 16 + two, then)
    chosen = list(zip(one.tolist(), two.tolist(), then.tolist(), strict=True))
    made = gate_import(read_gates([first, last], 3, 1, None, None), None)
    got = made.values[-1].of(made.found.network.hidden(rows)[-1])
    table = [[gates.TABLES[g](a, b) for a, b in product([False, True], repeat=2)] for g in ids]
    want = [
        [bool(table[op][2 * table[f][2 * a + b] + table[g][2 * b + c]]) for f, g, op in chosen]
        for a, b, c in rows
    ]
    assert (got == np.array(want)).all()


def test_random_arrays():
    assert not [found for seed in range(60) if (found := gates.compare_arrays(seed))]


def test_random_circuits():
    assert not [found for seed in range(60) if (found := gates.compare_circuit(seed))]


@pytest.mark.skipif(not gates.has_torchlogix(), reason="torchlogix is not installed, or needs another Python")
def test_random_modules_of_torchlogix():
    assert gates.compare(0, 40) == []


@pytest.mark.parametrize("width", [1, 63, 64, 65])
def test_words_are_filled(width):
    random = np.random.default_rng(width)
    layers = gates.arrays(random, width, [width, width], 2)
    net = sg.from_logic_gates(layers, features=width, outputs=2)
    rows = random.integers(0, 2, (20, width))
    assert net.logits(rows).tolist() == [gates.scores_of_arrays(layers, 2, row) for row in rows]


def test_xor_costs_one_neuron_and_no_layer():
    net = sg.from_logic_gates([([0, 0, 1], [1, 1, 2], [6, 9, 1])], features=3, outputs=3)
    assert [layer.outputs for layer in net.layers] == [5]
    assert "2 XOR or XNOR gates as two neurons each" in net.report.remarks
    assert "equal to truth tables of its gates" in str(net.report)


def test_questions_are_answered_as_enumeration_does():
    rows = np.array(list(product([0, 1], repeat=5)))
    for seed in range(4):
        random = np.random.default_rng(seed)
        layers = gates.arrays(random, 5, [9, 8, 3], 2)
        net = sg.from_logic_gates(layers, features=5, outputs=2)
        classes = np.array([np.argmax(gates.scores_of_arrays(layers, 2, row)) for row in rows])
        x = rows[seed]
        distance = (rows != x).sum(axis=1)
        near = distance <= 2
        own = classes[seed]
        answer = sg.verify(net, x, sg.Hamming(2))
        assert answer.outcome == ("proved" if (classes[near] == own).all() else "refuted")
        others = distance[classes != own]
        found = sg.whatif(net, x)
        assert (found.cost if found.outcome == "found" else None) == (others.min() if len(others) else None)
        counted = sg.count(net, x, sg.Hamming(2))
        assert [counted.counts[k] for k in (0, 1)] == [int((classes[near] == k).sum()) for k in (0, 1)]
        reason = sg.why(net, x, sg.AnyInput())
        same = (rows[:, list(reason.features)] == x[list(reason.features)]).all(axis=1)
        assert (classes[same] == own).all()
        for one in (answer, found, counted, reason):
            assert sg.check(one, net)


def test_thresholds_are_strict_and_read_as_float32():
    cut = np.float32(51 / 255)
    program = read_gates([([0], [0], [3])], 1, 1, None, None)
    thresholds = InputCuts("cuts", np.array([[cut, 0.5, 0.5]], np.float32), np.array([0, 1, 2]))
    layer = GateLayer("layer 1", *(np.array(row) for row in ([0, 1, 2], [0, 1, 2], [3, 3, 12])))
    program = replace(program, thresholds=thresholds, layers=(layer,), members=(np.arange(2), np.array([2])))
    program = replace(program, offsets=(0.0, 0.0))
    pixels = gate_import(program, sg.Integers(0, 255, step=Fraction(1, 255))).found.network
    assert pixels.logits([[51], [52], [127], [128]]).tolist() == [[0, 1], [1, 1], [1, 1], [2, 0]]
    reals = gate_import(program, None).found.network
    assert reals.logits([[cut], [np.nextafter(float(cut), 1)], [0.5]]).tolist() == [[0, 1], [1, 1], [1, 1]]
    with pytest.raises(FileError, match="compared with thresholds"):
        gate_import(program, sg.Bits(0, 1))
    with pytest.raises(FileError, match="positive step"):
        gate_import(program, sg.Integers(0, 255, step=-1))


@pytest.mark.slow
def test_learning_reads_wide_layers_of_gates():
    """Weights of 0 do not count as work: these layers have 9 million weights, about 10,000 of them not 0."""
    random = np.random.default_rng(4)
    layers = gates.arrays(random, 64, [2000, 2000, 1000], 2)
    net = sg.from_logic_gates(layers, features=64, outputs=2, prove=False)
    x = random.integers(0, 2, 64)
    found = [sg.verify(net, x, sg.Hamming(1), engine=engine).outcome for engine in ("flips", "cdcl")]
    assert found[0] == found[1] != "undecided"


ARRAYS = [([0, 1], [1, 2], [6, 1])]


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (ARRAYS, {"outputs": 2}, "features="),
        (ARRAYS, {"features": 3}, "outputs="),
        (ARRAYS, {"features": 3, "outputs": 3}, "2 values cannot be summed in 3 groups"),
        (ARRAYS, {"features": 2, "outputs": 2}, "the second input of gate 1 is 2"),
        ([([0], [0], [16])], {"features": 1, "outputs": 1}, "gate 0 has number 16"),
        ([([0.5], [0], [1])], {"features": 1, "outputs": 1}, "rows of integers"),
        ([([0], [0])], {"features": 1, "outputs": 1}, "three rows of integers"),
        ([([0, 0], [0], [1])], {"features": 1, "outputs": 1}, "do not fit"),
        (ARRAYS, {"features": 3, "outputs": 2, "temperature": -1}, "divided by -1"),
        (ARRAYS, {"features": 3, "outputs": 2, "temperature": 0}, "divided by 0"),
        (ARRAYS, {"features": 3, "outputs": 2, "temperature": 1e-40}, "cannot tell all sums"),
        (ARRAYS, {"features": 3, "outputs": 2, "shape": (3,)}, "shape= is for PyTorch modules"),
        (ARRAYS, {"features": 3, "outputs": 2, "inputs": sg.Bits()}, "Bits\\(0, 1\\)"),
        (ARRAYS, {"features": 3, "outputs": 2, "zero": 1}, "zero= and strict= do not apply"),
        (7, {"features": 3, "outputs": 2}, "not int"),
        ({"n_inputs": 2, "more": 1}, {}, "more"),
        ({"n_inputs": 2}, {"outputs": 2}, "outputs= does not apply"),
        ({"n_inputs": 2, "outputs": [0]}, {}, "End the network with GroupSum"),
        ({"n_inputs": 2, "input_shape": [3]}, {}, "input_shape"),
        ({"n_inputs": 1, "gates": [{"gate_id": 1, "op": "MUX", "in0": 0, "in1": 0}]}, {}, "MUX"),
        ({"n_inputs": 1, "gates": [{"gate_id": 1, "op": "AND", "in0": 0, "in1": 2}]}, {}, "it reads 2"),
        ({"n_inputs": 1, "gates": [{"gate_id": 0, "op": "AND", "in0": 0, "in1": 0}]}, {}, "stands twice"),
    ],
)
def test_refusals(model, options, message):
    with pytest.raises(FileError, match=message):
        sg.from_logic_gates(model, **options)


def test_wide_layers_are_sparse(tmp_path):
    random = np.random.default_rng(7)
    layers = gates.arrays(random, 30, [3000, 4000, 2000], 2)
    net = sg.from_logic_gates(layers, features=30, outputs=2)
    assert [layer.kind for layer in net.layers] == ["dense", "sparse", "sparse"]
    rows = random.integers(0, 2, (5, 30))
    assert net.logits(rows).tolist() == [gates.scores_of_arrays(layers, 2, row) for row in rows]
    answer = sg.verify(net, rows[0], sg.Hamming(1))
    near = np.abs(rows[0] - np.concatenate([np.zeros((1, 30), int), np.eye(30, dtype=int)]))
    classes = {int(np.argmax(gates.scores_of_arrays(layers, 2, row))) for row in near}
    assert answer.outcome == ("proved" if len(classes) == 1 else "refuted")
    assert sg.check(answer, net)
    sg.save(net, tmp_path / "wide.sugenet")
    assert sg.load(tmp_path / "wide.sugenet") == net


def test_circuit_files(tmp_path):
    found = gates.circuit(np.random.default_rng(5))
    file = tmp_path / "circuit.json"
    file.write_text(json.dumps(found))
    assert sg.from_logic_gates(file) == sg.from_logic_gates(found)


def test_modules_are_refused_by_name():
    torch = pytest.importorskip("torch")
    plain = torch.nn.Sequential(torch.nn.Linear(3, 2)).eval()
    with pytest.raises(FileError, match="no layer of gates"):
        sg.from_logic_gates(plain)
    if not gates.has_torchlogix():
        return
    from torchlogix import layers as tl

    for parts, message in [
        ([tl.LogicDense(4, 4)], "does not end with GroupSum"),
        ([tl.LogicDense(4, 4), tl.GroupSum(2), torch.nn.Softmax(-1)], "Softmax follows"),
        ([torch.nn.Linear(4, 4), tl.LogicDense(4, 4), tl.GroupSum(2)], "Linear is not read"),
        ([tl.LogicDense(4, 4, lut_rank=4, parametrization="light"), tl.GroupSum(2)], "lut_rank=2"),
        ([tl.LogicDense(4, 4), tl.LogicDense(5, 5), tl.GroupSum(5)], "reads 5 values of 4"),
        ([tl.LogicConv2d(3, 1, 2, 1), torch.nn.Flatten(), tl.LogicDense(8, 8), tl.GroupSum(2)], "from_model"),
    ]:
        with pytest.raises(FileError, match=message):
            sg.from_logic_gates(torch.nn.Sequential(*parts).eval())
    model = torch.nn.Sequential(tl.LogicDense(4, 4), tl.GroupSum(2))
    with pytest.raises(FileError, match="training mode"):
        sg.from_logic_gates(model.train())
