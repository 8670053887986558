"""Sparse layers: the same neurons as dense ones, in evaluation, questions, certificates and files."""

import json
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate import enumeration
from sugenet.checker.network import load_network
from sugenet.errors import FileError, NetworkError, TooLargeError
from sugenet.nn import DenseLayer, Head, Network, SparseLayer, accumulators, simplify, summary


def sparse(layer):
    """Return the layer with the inputs that its neurons read, in mixed order and with unused places."""
    reads = np.argsort(-np.abs(layer.weights), axis=1, kind="stable")
    return SparseLayer(reads, np.take_along_axis(layer.weights, reads, axis=1), layer.tau, layer.inputs)


def both(seed):
    """Return a random network with dense layers, and the same with some of them sparse."""
    random = np.random.default_rng(seed)
    sizes = [int(random.integers(1, 9)) for _ in range(random.integers(2, 5))]
    layers = []
    for inputs, outputs in pairwise(sizes):
        weights = random.integers(-2, 3, (outputs, inputs)) * (random.random((outputs, inputs)) < 0.6)
        tau = [int(random.integers(-1, np.abs(row).sum() + 2)) for row in weights]
        layers.append(DenseLayer(weights, tau))
    dense = Network.of_bits(layers, Head(random.integers(-2, 3, (int(random.integers(2, 4)), sizes[-1]))))
    mixed = [sparse(layer) if number or seed % 2 else layer for number, layer in enumerate(layers)]
    return dense, replace(dense, layers=(*mixed[:-1], sparse(layers[-1]))), random


@pytest.mark.parametrize("seed", range(12))
def test_a_sparse_layer_is_the_dense_one(seed, tmp_path, monkeypatch):
    dense, other, random = both(seed)
    rows = np.array(list(product([-1, 1], repeat=dense.encoder.features)))
    for engine in ("definition", "numpy", "numba"):
        assert (other.logits(rows, engine=engine) == dense.logits(rows)).all()
        for mine, same in zip(other.hidden(rows, engine), dense.hidden(rows), strict=True):
            assert (mine == same).all()
    for mine, same in zip(other.layers, dense.layers, strict=True):
        assert mine.dense() == same
        assert all((mine.row(j) == same.row(j)).all() for j in range(same.outputs))
        assert [str(mine.neuron(j + 1)) for j in range(same.outputs)] == [
            str(same.neuron(j + 1)) for j in range(same.outputs)
        ]
        for index in range(same.inputs):
            column = np.zeros(same.outputs, np.int64)
            neurons, weights = mine.column(index)
            column[neurons] = weights
            assert (column == same.weights[:, index]).all()
        assert (mine.constant == same.constant).all()
    assert accumulators(other) == accumulators(dense)
    assert simplify(other) == simplify(dense)
    assert len(summary(other).layers) == len(summary(dense).layers)
    path = tmp_path / "sparse.sugenet"
    sg.save(other, path)
    form = load_network(path.read_bytes())
    assert sg.load(path) == other
    assert form.fingerprint == other.fingerprint
    for row in rows[:3]:
        assert [float(score) for score in form.scores((row > 0).astype(int).tolist())] == list(
            dense.logits(row)
        )
    x = rows[random.integers(len(rows))]
    for region in (sg.Hamming(2), sg.AnyInput()):
        for engine in ("auto", "cdcl"):
            answer = sg.verify(other, x, region, engine=engine)
            assert answer.outcome == sg.verify(dense, x, region).outcome
            assert sg.check(answer, other)
            assert sg.check(answer, sg.load(path))
            walked = {**answer.certificate, "proof": {"kind": "enumerate"}}
            for cells in (-1, 1 << 60) if answer.is_proved else ():  # as a large network, and written out
                monkeypatch.setattr(enumeration, "_CELLS", cells)
                assert sg.check(walked, other)
    counted = sg.count(other, x, sg.Hamming(2))
    assert counted.counts == sg.count(dense, x, sg.Hamming(2)).counts
    assert sg.check(counted, other)
    assert sg.check(sg.whatif(other, x), other)
    assert sg.compare(other, dense).outcome == "equal"


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65])
def test_samples_fill_words(count):
    random = np.random.default_rng(count)
    layer = SparseLayer(random.integers(0, 70, (65, 4)), random.integers(-2, 3, (65, 4)), [3] * 65, 70)
    bits = random.random((count, 70)) < 0.5
    assert (layer.activity(bits) == layer.dense().activity(bits)).all()


def test_large_sums_are_not_counted_in_planes():
    layer = SparseLayer([[0, 1]], [[100, -50]], [120], 2)
    assert not layer.is_counted
    bits = np.array(list(product([False, True], repeat=2)))
    net = Network.of_bits([layer], Head([[1], [-1]]))
    assert (layer.activity(bits) == layer.dense().activity(bits)).all()
    assert (
        net.predict(np.where(bits, 1, -1)).tolist()
        == layer.activity(bits)[:, 0].astype(int).__rsub__(1).tolist()
    )


def test_rows_have_one_form():
    layer = SparseLayer([[3, 1, 3, 9], [0, 2, 2, 2]], [[1, -1, 1, 0], [0, 1, 1, -2]], [1, 1], inputs=4)
    assert layer.reads.tolist() == [[1, 3], [0, 0]]
    assert layer.factors.tolist() == [[-1, 2], [0, 0]]
    assert layer == SparseLayer([[1, 3], [0, 0]], [[-1, 2], [0, 0]], [1, 1], inputs=4)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([[4]], [[1]], [1], 4), "neuron 1 reads input 4, but there are 4"),
        (([[-1]], [[1]], [1], 4), "reads input -1"),
        (([[0]], [[1, 1]], [1], 4), "do not fit"),
        (([[0]], [[1]], [1, 1], 4), "do not fit"),
        (([[0]], [[0.5]], [1], 4), "not an integer"),
        (([[0]], [[1 << 31]], [1], 4), "too large"),
        (([[0, 0, 0, 0]], [[1 << 62] * 4], [1], 4), "too large"),  # their sum is 0 in 64 bits
        (([[0]], [[0]], [1], -1), "inputs is -1"),
        (([[0]], [[1]], [1], 2.5), "inputs is 2.5"),
    ],
)
def test_layers_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(NetworkError, match=message):
        SparseLayer(*parts)


def test_files_in_another_form_are_refused(tmp_path):
    net = Network.of_bits(
        [SparseLayer([[0, 2], [1, 0]], [[1, -1], [1, 0]], [1, 1], 3)], Head([[1, 1], [1, 0]])
    )
    sg.save(net, tmp_path / "a.sugenet")
    raw = (tmp_path / "a.sugenet").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["sugenet"])["version"] == 8
    start = 8 + int.from_bytes(raw[:8], "little")
    for tensor, place, value in (("reads", 0, 2), ("reads", 3, 1), ("reads", 1, 7), ("weights", 0, 0)):
        at = start + header[f"layer1.{tensor}"]["data_offsets"][0] + place
        changed = raw[:at] + bytes([value]) + raw[at + 1 :]
        sealed = _sealed(changed)
        (tmp_path / "b.sugenet").write_bytes(sealed)
        with pytest.raises(FileError):
            sg.load(tmp_path / "b.sugenet")
        with pytest.raises(FileError, match=r"reads|unused places|input"):
            load_network(sealed)


def _sealed(raw):
    """Return a changed file with the right digest."""
    from hashlib import sha256

    mark = b'\\"sha256\\":\\"'
    at = raw.find(mark) + len(mark)
    zeros = raw[:at] + b"0" * 64 + raw[at + 64 :]
    return raw[:at] + sha256(zeros).hexdigest().encode() + raw[at + 64 :]


def test_layers_too_large_to_write_out_are_asked_all_the_same():
    count = 20_000
    random = np.random.default_rng(1)
    first = SparseLayer(
        random.integers(0, 30, (count, 2)), random.choice([-1, 1], (count, 2)), [1] * count, 30
    )
    second = SparseLayer(
        random.integers(0, count, (count, 2)), random.choice([-1, 1], (count, 2)), [2] * count, count
    )
    votes = np.repeat(np.eye(2, dtype=int), count // 2, axis=1)
    net = Network.of_bits([first, second], Head(votes))
    with pytest.raises(TooLargeError, match="20,000 neurons over 20,000 inputs"):
        second.dense()
    x = np.where(random.random(30) < 0.5, 1, -1)
    answer = sg.verify(net, x, sg.Hamming(1))
    rows = np.repeat(x[None], 31, axis=0)
    rows[np.arange(30), np.arange(30)] *= -1
    assert answer.outcome == ("proved" if len(set(net.predict(rows).tolist())) == 1 else "refuted")
    assert sg.check(answer, net)
    with pytest.raises(TooLargeError):
        sg.compare(net, net)
