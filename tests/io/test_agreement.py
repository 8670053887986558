"""An exact network against PyTorch modules, ONNX files and functions: equal where it is,
and the first neuron where it is not.
"""

import gzip
import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from torch import nn  # noqa: E402

from sugenet.bnn import DenseLayer, Head, Network  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from sugenet.io.agreement import verify_against  # noqa: E402
from sugenet.io.exact.domains import Bits, Integers  # noqa: E402
from sugenet.io.exact.lower import lower  # noqa: E402
from sugenet.io.importers import from_torch  # noqa: E402
from sugenet.io.proof.tally import Difference  # noqa: E402
from sugenet.io.torch.reader import chain_of_module  # noqa: E402

ZOO = os.environ.get("SUGENET_ZOO")


class Sign(nn.Module):
    def forward(self, x):
        return torch.where(x >= 0, 1.0, -1.0)


def binary(module):
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.Linear | nn.Conv2d):
                part.weight.copy_(
                    torch.where(torch.rand(part.weight.shape, generator=generator) < 0.5, -1.0, 1.0)
                )
                if part.bias is not None:
                    part.bias.copy_(torch.randn(part.bias.shape, generator=generator))
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.copy_(torch.randn(part.num_features, generator=generator))
                part.weight.copy_(torch.randn(part.num_features, generator=generator))
                part.bias.copy_(torch.randn(part.num_features, generator=generator))
    return module.eval()


@pytest.fixture
def dense():
    return binary(
        nn.Sequential(
            nn.Linear(8, 8),
            nn.BatchNorm1d(8),
            Sign(),
            nn.Linear(8, 6),
            nn.BatchNorm1d(6),
            nn.Hardtanh(),
            Sign(),
            nn.Linear(6, 3),
        )
    )


@pytest.fixture
def conv():
    return binary(
        nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(4),
            Sign(),
            nn.Conv2d(4, 3, 2),
            nn.BatchNorm2d(3),
            Sign(),
            nn.MaxPool2d(2, stride=1),
            nn.Flatten(),
            nn.Linear(3, 4),
        )
    )


def samples(*shape, seed=0):
    return np.random.default_rng(seed).choice([-1, 1], shape)


def test_a_module_layer_by_layer(dense):
    X = samples(700, 8)
    network = lower(chain_of_module(dense, X[:1].astype(np.float32)), Bits()).network
    agreement = verify_against(network, dense, X)
    assert str(agreement) == "equal on 700 samples: 2 layers, 14 neurons, 3 classes; 0 near ties"
    assert agreement.equal
    assert json.loads(json.dumps(agreement.to_json()))["equal"] is True


def changed(network, layer, neuron, by):
    """The same network with one threshold moved."""
    layers = list(network.layers)
    old = layers[layer - 1]
    tau = old.tau.copy()
    tau[neuron - 1] += by
    layers[layer - 1] = DenseLayer(old.weights, tau)
    return Network(network.encoder, layers, network.head)


@pytest.mark.parametrize(("layer", "place"), [(1, 0), (1, -1), (2, 1)])
def test_the_first_difference_is_named_with_both_numbers(dense, layer, place):
    X = samples(300, 8)
    right = lower(chain_of_module(dense, X[:1].astype(np.float32)), Bits()).network
    neuron = int(np.flatnonzero(~right.layer(layer).constant)[place]) + 1
    wrong = changed(right, layer, neuron, by=1)
    found = verify_against(wrong, dense, X)
    differ = [
        i
        for i in range(300)
        if right.trace(X[i]).layers[layer - 1].active[neuron - 1]
        != wrong.trace(X[i]).layers[layer - 1].active[neuron - 1]
    ]
    assert not found.equal
    first = found.first
    assert (first.layer, first.neuron, first.sample) == (layer, neuron, differ[0])
    seen = wrong.trace(X[differ[0]]).layers[layer - 1]
    assert (first.matches, first.tau, first.reference) == (
        seen.matches[neuron - 1],
        seen.tau[neuron - 1],
        "on",
    )
    with torch.no_grad():
        before = dense[: 2 if layer == 1 else 5](torch.tensor(X[differ[0]], dtype=torch.float32)[None])[
            0, neuron - 1
        ]
    assert first.value == pytest.approx(float(before), rel=1e-5)
    assert first.value >= 0
    assert str(found).startswith(f"different: {found.differences} activit")
    assert (
        f"First: layer {layer}, neuron {neuron}, sample {differ[0]}: {first.matches} matches against tau "
        f"{first.tau}, so off"
    ) in str(found)


def test_convolutions_and_pools_of_both_kinds(conv):
    X = samples(300, 1, 6, 6)
    imported = lower(chain_of_module(conv, X[:1].astype(np.float32)), Bits())
    agreement = verify_against(imported.reported, conv, X)
    assert agreement.equal
    assert agreement.layers == 2
    assert agreement.neurons == 4 * 9 + 3 * 4


def test_a_layer_that_is_upside_down_is_not_taken_for_another(dense):
    X = samples(50, 8)
    network = lower(chain_of_module(dense, X[:1].astype(np.float32)), Bits()).network
    first = network.layers[0]
    flipped = DenseLayer(-first.weights, first.sizes - first.tau + 1)
    found = verify_against(Network(network.encoder, [flipped, *network.layers[1:]], network.head), dense, X)
    assert found.first.layer == 1
    assert found.differences >= 50 * 8


def test_near_ties_are_listed():
    module = binary(nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2), Sign(), nn.Linear(2, 2)))
    with torch.no_grad():
        module[0].bias.zero_()
        module[1].running_mean.zero_()
        module[1].bias.copy_(torch.tensor([0.0, 1e-7]))
        module[1].weight.fill_(1.0)
    X = samples(64, 4)
    network = lower(chain_of_module(module, X[:1].astype(np.float32)), Bits()).network
    agreement = verify_against(network, module, X)
    sums = X @ module[0].weight.detach().numpy().T
    assert agreement.equal
    assert agreement.near_ties == (sums == 0).sum() > 0
    assert agreement.nearest[0].value == 0.0
    assert {tie.neuron for tie in agreement.nearest} <= {1, 2}
    assert "near ties" in str(agreement)


def test_the_sign_of_zero_in_the_reference_is_a_difference():
    module = binary(nn.Sequential(nn.Linear(4, 2, bias=False), nn.Identity(), nn.Linear(2, 2)))

    class Zero(nn.Module):
        def forward(self, x):
            return torch.sign(x)

    module[1] = Zero()
    X = samples(64, 4)
    network = lower(chain_of_module(module, X[:1].astype(np.float32)), Bits(), zero=1).network
    found = verify_against(network, module, X)
    assert found.first.reference == "0"
    assert found.first.value == 0.0


# -- ONNX ----------------------------------------------------------------------------------------------------


def onnx_model(path, random, spelling):
    """Two layers with the sign spelled in one of the ways that exporters use."""
    names = {
        "w1": random.choice([-1.0, 1.0], (6, 5)),
        "b1": random.standard_normal(5),
        "w2": random.choice([-1.0, 1.0], (5, 3)),
    }
    nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["z"])]
    match spelling:
        case "sign":
            names["tenth"] = np.array(0.1)
            nodes += [
                helper.make_node("Sign", ["z"], ["s"]),
                helper.make_node("Add", ["s", "tenth"], ["t"]),
                helper.make_node("Sign", ["t"], ["a"]),
            ]
        case "where":
            names |= {"zero": np.array(0.0), "one": np.array(1.0), "less": np.array(-1.0)}
            nodes += [
                helper.make_node("Less", ["z", "zero"], ["c"]),
                helper.make_node("Where", ["c", "less", "one"], ["a"]),
            ]
        case "cast":
            names |= {"zero": np.array(0.0), "one": np.array(1.0), "two": np.array(2.0)}
            nodes += [
                helper.make_node("GreaterOrEqual", ["z", "zero"], ["c"]),
                helper.make_node("Cast", ["c"], ["f"], to=TensorProto.FLOAT),
                helper.make_node("Mul", ["f", "two"], ["m"]),
                helper.make_node("Sub", ["m", "one"], ["a"]),
            ]
    nodes.append(helper.make_node("MatMul", ["a", "w2"], ["y"]))
    constants = [numpy_helper.from_array(value.astype(np.float32), name) for name, value in names.items()]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
    weights, bias = names["w1"].T.astype(int), names["b1"]
    tau = [next(m for m in range(8) if 2 * m - 6 + np.float32(b) >= 0) for b in bias]
    return Network.of_bits([DenseLayer(weights, tau)], Head(names["w2"].T.astype(int)))


@pytest.mark.parametrize("spelling", ["sign", "where", "cast"])
def test_onnx_files_layer_by_layer(tmp_path, spelling):
    network = onnx_model(tmp_path / "net.onnx", np.random.default_rng(2), spelling)
    X = samples(400, 6)
    agreement = verify_against(network, tmp_path / "net.onnx", X)
    assert str(agreement).startswith("equal on 400 samples: 1 layer, 5 neurons, 3 classes; 0 near ties")
    found = verify_against(changed(network, 1, 2, by=-1), str(tmp_path / "net.onnx"), X)
    assert (found.first.layer, found.first.neuron, found.first.reference) == (1, 2, "off")
    assert found.first.value < 0
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    assert "outputs only (a session shows its outputs only; give the path" in str(
        verify_against(network, session, X)
    )


def test_onnx_files_that_cannot_be_run(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"hello")
    with pytest.raises(FileError, match=r"bad.onnx: it cannot be read|bad.onnx: ONNX Runtime cannot run it"):
        verify_against(Network.of_bits([], Head([[1], [-1]])), tmp_path / "bad.onnx", [[1]])


@pytest.mark.skipif(ZOO is None, reason="SUGENET_ZOO does not name a folder of public networks")
def test_custom_operations_ask_for_a_function():
    with pytest.raises(
        FileError, match=r"TFC_1W1A.onnx: ONNX Runtime cannot run it: .* Give a function that does"
    ):
        verify_against(Network.of_bits([], Head([[1], [-1]])), Path(ZOO) / "qonnx" / "TFC_1W1A.onnx", [[1]])


# -- functions -----------------------------------------------------------------------------------------------


def test_functions_of_scores_and_of_classes():
    network = Network.of_bits(
        [DenseLayer([[1, 1, -1], [1, -1, 1]], tau=[2, 1])], Head([[1, 1], [-1, 1], [1, -1]])
    )
    X = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    assert verify_against(network, network.logits, X).equal
    assert verify_against(network, network.predict, X).equal
    assert verify_against(network, lambda x: network.logits(x > 0), X, prepare=lambda x: x * 0.5).equal
    other = (network.predict(X) + 1) % 3
    apart = [
        i
        for i, scores in enumerate(network.head.scores(network.match_counts(X)))
        if scores[other[i]] < max(scores)
    ]
    found = verify_against(network, lambda x: other, X)
    assert (found.class_differences, found.ties) == (len(apart), 8 - len(apart))
    assert found.first_class.sample == apart[0]


def test_another_way_to_break_a_tie_is_no_difference():
    network = Network.of_bits([], Head([[1, 1], [1, 1], [-1, -1]]))
    X = np.array([[1, 1]])
    agreement = verify_against(network, lambda x: [1], X)
    assert agreement.equal
    assert agreement.ties == 1
    assert "1 tie between classes" in str(agreement)
    assert not verify_against(network, lambda x: [2], X).equal


@pytest.mark.parametrize(
    ("reference", "X", "message"),
    [
        (
            7,
            [[1]],
            "a reference is a PyTorch module, an .onnx file, an ONNX Runtime session or a function, not int",
        ),
        (lambda x: np.ones((1, 5)), [[1]], "2 scores or one class each"),
        (lambda x: x, [1], "a batch of samples is needed"),
        (nn.Linear(1, 2), [[1]], r"training mode. Call module.eval\(\) first"),
    ],
)
def test_wrong_references(reference, X, message):
    with pytest.raises(FileError, match=message):
        verify_against(Network.of_bits([], Head([[1], [-1]])), reference, X)


def test_values_print_as_sentences():
    difference = Difference(2, 17, 5, 30, 31, 0.25, "on")
    assert str(difference) == (
        "layer 2, neuron 17, sample 5: 30 matches against tau 31, so off; "
        "the reference has 0.25 before its sign, so on"
    )
    assert str(replace(difference, matches=31, reference="off")).count("so on") == 1


def test_our_own_onnx_file_agrees_with_its_network(tmp_path):
    pytest.importorskip("onnxruntime")
    import sugenet as sg

    network = sg.models.digits()
    X, _ = sg.models.samples("digits")
    sg.write_onnx(network, tmp_path / "digits.onnx")
    found = sg.verify_against(network, tmp_path / "digits.onnx", X)
    assert found.equal, str(found)


# -- what the importer knows ---------------------------------------------------------------------------------


def fixed(path, block):
    """The file of `onnx_model`, for so many samples at once."""
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_value = block
    onnx.save(model, path)


@pytest.mark.parametrize("block", [1, 3, 400, 1000])
def test_a_file_for_a_fixed_number_of_samples_is_run_in_blocks(tmp_path, block):
    path, X = tmp_path / "net.onnx", samples(400, 6)
    network = onnx_model(path, np.random.default_rng(2), "sign")
    free = verify_against(network, path, X)
    wrong = verify_against(changed(network, 1, 2, by=-1), path, X)
    fixed(path, block)
    assert verify_against(network, path, X) == free
    found = verify_against(changed(network, 1, 2, by=-1), path, X)
    assert (found, found.equal) == (wrong, False)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert verify_against(network, session, X).equal
    packed = tmp_path / "net.onnx.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert verify_against(network, packed, X) == free


@pytest.mark.parametrize(
    ("inputs", "raw"),
    [
        (Integers(0, 255, step=Fraction(1, 255)), np.arange(256).repeat(36)),
        (Integers(0, 9, step=Fraction(1, 3), start=Fraction(-1, 2)), np.arange(10).repeat(360)),
        (Bits(0, 1), np.array([-1, 1]).repeat(360)),
        (Bits(-2, 5), np.array([0, 1]).repeat(360)),
    ],
)
def test_raw_samples_become_the_numbers_of_the_source(conv, tmp_path, inputs, raw):
    X = np.random.default_rng(3).permutation(raw).reshape(-1, 6, 6)
    found = from_torch(conv, np.zeros((1, 1, 6, 6), np.float32), inputs=inputs, prove=False).report
    assert verify_against(found.reported, conv, X).equal
    bits = isinstance(inputs, Bits)
    assert verify_against(found.network, conv, (X > 0 if bits else X).reshape(len(X), -1)).equal
    low, step = (inputs.low, inputs.high - inputs.low) if bits else (inputs.start, inputs.step)
    whole = (X > 0) if bits else X

    by_hand = (float(low) + whole * float(step)).astype(np.float32)[:, None]
    chunks = iter(np.split(by_hand, range(256, len(X), 256)))
    assert verify_against(found.reported, conv, X, prepare=lambda _: next(chunks)).equal
    moved = verify_against(found.reported, conv, X, prepare=lambda x: x[:, None].astype(np.float32) + 3)
    assert not moved.equal


def test_what_is_exact_in_part_is_not_compared_as_a_whole(dense):
    dense[-1].weight.data.mul_(torch.rand(3, 6))
    found = from_torch(
        nn.Sequential(nn.Linear(8, 8), *dense).eval(), np.zeros((1, 8), np.float32), strict=False
    ).report
    with pytest.raises(FileError, match=r"part of the source was made exact.*net\.report\.scores\(X\)"):
        verify_against(found.reported, dense, samples(3, 8))
