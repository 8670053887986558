"""ONNX files read as chains: torch modules by both of its exporters, QONNX, FINN and tf2onnx spellings,
refusals, damaged and hostile files.
"""

import gzip
import io
import os
import warnings
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.errors import FileError
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.exact.evaluation import apply
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import Affine, Flatten, Quantize, Sign
from sugenet.io.importers import read_onnx
from sugenet.io.onnx.writer import onnx_bytes
from sugenet.nn import DenseLayer, Head, Network
from tests.io.chains import evaluate, read_chain
from tests.thinned import examples

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

torch_models = pytest.importorskip("tests.io.torch.models", reason="PyTorch is not installed")
torch = torch_models.torch
CASES = torch_models.cases()


def kinds(chain):
    return [type(op).__name__ for op in chain.ops]


# -- torch modules -------------------------------------------------------------------------------------------


def legacy(case):
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = case.samples()[:2]
        torch.onnx.export(
            case.module, (x,), out, dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "n"}}
        )
    return out.getvalue()


def dynamo(case, folder):
    pytest.importorskip(
        "onnxscript", reason="onnxscript, which torch's newer exporter needs, is not installed"
    )
    path = Path(folder) / "module.onnx"
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        batch = ({0: torch.export.Dim("n")},)
        torch.onnx.export(
            case.module, (case.samples()[:2],), path, dynamo=True, verbose=False, dynamic_shapes=batch
        )
    return path


def check(case, source):
    """The chain computes what the module does, sign by sign; the network made of it too,
    on every input where they are few.
    """
    chain = read_chain(source)
    x = case.samples()
    expected, seen = torch_models.watched(case.module, x)
    signs, value = [], np.asarray(x, np.float64)
    if chain.channels_last:
        value = value.transpose(0, 3, 1, 2)
    value = value.reshape(len(x), *chain.shape)
    for op in chain.ops:
        value = apply(op, value)
        if isinstance(op, Sign):
            signs.append(value.reshape(len(x), -1))
    assert len(signs) == len(seen)
    for mine, theirs in zip(signs, seen, strict=True):
        np.testing.assert_allclose(mine, theirs.reshape(len(x), -1).numpy(), atol=1e-5)
    tail = chain.left_out[-1] if chain.left_out else ""
    scores = torch.from_numpy(value)
    ends = (
        scores.log_softmax(1) if "LogSoftmax" in tail else scores.softmax(1) if "Softmax" in tail else scores
    )
    np.testing.assert_allclose(ends.numpy(), expected.numpy(), atol=1e-4)

    domain = Integers(0, 3) if case.values is torch_models.PIXELS else Bits()
    imported = lower(chain, domain)
    rows = x.numpy()
    np.testing.assert_allclose(imported.network.logits(rows), value, atol=1e-5)
    best = value.max(axis=1)
    classes = imported.network.predict(rows)
    assert (value[np.arange(len(x)), classes] >= best - 1e-6).all()
    return chain


@pytest.mark.parametrize("name", CASES)
def test_torch_modules_by_the_older_exporter(name):
    check(CASES[name], legacy(CASES[name]))


SOME = [
    "dense, sign",
    "dense, where <, swapped",
    "dense, compare, scale, shift",
    "dense, straight through, clipped",
    "dense, rounded",
    "dense, weights alpha",
    "dense, batch norm on the scores",
    "dense, features turned",
    "conv, batch norm, sign, pool",
    "conv, pool, batch norm, sign",
    "conv, padding -1",
    "conv, ceil mode",
    "conv, flattened pixel by pixel",
    "conv, channels last input",
    "sequence",
    "pixels, scaled",
]


@pytest.mark.parametrize("name", SOME)
def test_torch_modules_by_the_newer_exporter(name, tmp_path):
    check(CASES[name], dynamo(CASES[name], tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in SOME])
def test_all_torch_modules_by_the_newer_exporter(name, tmp_path):
    check(CASES[name], dynamo(CASES[name], tmp_path))


def test_the_rule_at_zero_is_the_one_of_the_spelling():
    zeros = {
        name: next(op for op in read_chain(legacy(CASES[f"dense, {name}"])).ops if isinstance(op, Sign)).zero
        for name in torch_models.SIGNS
    }
    assert {name for name, zero in zeros.items() if zero == 0} == {
        "sign",
        "hard tanh",
        "straight through",
        "straight through, clipped",
        "scaled",
    }
    assert {name for name, zero in zeros.items() if zero == -1} == {
        "where >",
        "where <=, swapped",
        "rounded",
        "reversed",
    }


def test_a_fixed_batch_and_every_opset():
    case = CASES["dense, image input"]
    for batch, opset in ((1, 9), (1, 13), (3, 11), (3, 17)):
        out = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(case.module, (case.samples()[:batch],), out, dynamo=False, opset_version=opset)
        chain = check(case, out.getvalue())
        assert chain.shape == (1, 3, 3)
        assert kinds(chain) == ["Flatten", "LinearOp", "BatchNorm", "Sign", "LinearOp"]


# -- models written by hand ----------------------------------------------------------------------------------


def tensor(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(
    nodes, constants, shape, outputs=("y",), dtype=TensorProto.FLOAT, opset=15, domain=None, inputs=None
):
    """A model with one input x; `nodes` are tuples (op, inputs, output, attributes)."""
    made = [
        helper.make_node(
            op, ins, outs if isinstance(outs, list) else [outs], domain=("" if d is None else d), **attributes
        )
        for op, ins, outs, attributes, d in ((*node, None) if len(node) == 4 else node for node in nodes)
    ]
    ports = inputs or [helper.make_tensor_value_info("x", dtype, shape)]
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    read = {name for node in made for name in node.input} | set(outputs)
    kept = [tensor(name, array) for name, array in constants.items() if name in read]
    graph = helper.make_graph(made, "g", ports, ends, kept)
    sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def run(proto, x):
    return ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, {"x": x}
    )[0]


def same_as_runtime(proto, shape, values=(-1.0, 1.0), count=64, seed=0):
    """The chain of a model, checked against ONNX Runtime."""
    x = np.random.default_rng(seed).choice(np.array(values, np.float32), (count, *shape))
    chain = read_chain(proto.SerializeToString())
    np.testing.assert_allclose(evaluate(chain, x), run(proto, x).reshape(count, -1), atol=1e-4)
    return chain


RNG = np.random.default_rng(7)
W = RNG.choice(np.array([-1, 1], np.float32), (6, 4))
V = RNG.choice(np.array([-1, 1], np.float32), (4, 3))
K = RNG.choice(np.array([-1, 1], np.float32), (4, 2, 3, 3))


@pytest.mark.parametrize("domain", ["onnx.brevitas", "finn.custom_op.general", "qonnx.custom_op.general"])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_bipolar_quant(domain, scale):
    nodes = [
        ("BipolarQuant", ["latent", "one"], "w", {}, domain),
        ("MatMul", ["x", "w"], "a", {}),
        ("Add", ["a", "b"], "c", {}),
        ("BipolarQuant", ["c", "scale"], "d", {}, domain),
        ("MatMul", ["d", "v"], "y", {}),
    ]
    latent = (W * RNG.uniform(0.1, 1, W.shape)).astype(np.float32)
    latent[0, 0] = 0  # is +1
    constants = {
        "latent": latent,
        "one": np.float32(1),
        "b": np.full(4, 0.5, np.float32),
        "scale": np.float32(scale),
        "v": V,
    }
    chain = read_chain(model(nodes, constants, ["n", 6], domain=domain).SerializeToString())
    assert kinds(chain) == ["LinearOp", "Affine", "Sign", "LinearOp"]
    assert np.array_equal(chain.ops[0].weights, np.where(latent >= 0, 1, -1).T)
    assert (chain.ops[2].zero, chain.ops[2].low, chain.ops[2].high) == (1, -scale, scale)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_multi_threshold(layout):
    thresholds = np.array([[0.5], [-np.inf], [-1.0], [2.0]], np.float32)
    shape, nodes = (["n", 2, 5, 5], [("Conv", ["x", "k"], "a", {})])
    if layout == "NHWC":
        nodes += [("Transpose", ["a"], "b", {"perm": [0, 2, 3, 1]})]
    threshold = (
        "MultiThreshold",
        ["b" if layout == "NHWC" else "a", "t"],
        "c",
        {"out_scale": 2.0, "out_bias": -1.0, "data_layout": layout},
        "qonnx.custom_op.general",
    )
    chain = read_chain(
        model(
            [*nodes, threshold, ("Reshape", ["c", "flat"], "d", {}), ("MatMul", ["d", "w"], "y", {})],
            {"k": K, "t": thresholds, "flat": np.array([0, -1]), "w": np.ones((36, 2), np.float32)},
            shape,
            domain="qonnx.custom_op.general",
        ).SerializeToString()
    )
    assert kinds(chain) == ["Convolution", "Affine", "Sign", "Flatten", "LinearOp"]
    assert next(op.order for op in chain.ops if isinstance(op, Flatten)) == (
        "HWC" if layout == "NHWC" else "CHW"
    )
    x = RNG.choice([-1.0, 1.0], (20, 2, 5, 5))
    sums = apply(chain.ops[0], x)
    signs = np.where(sums >= thresholds.reshape(4, 1, 1), 1, -1)
    assert np.array_equal(apply(chain.ops[2], apply(chain.ops[1], sums)), signs)


def test_quantizers_of_one_bit_and_of_weights():
    domain = "qonnx.custom_op.general"
    latent = np.array([[0.9, -0.9, 0.2], [-3.0, 0.4, 0.6]], np.float32)
    constants = {
        "latent": latent,
        "s": np.float32(0.5),
        "z": np.float32(0),
        "two": np.float32(2),
        "one": np.float32(1),
        "w": V[:3],
    }
    nodes = [
        (
            "Quant",
            ["latent", "s", "z", "two"],
            "q",
            {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"},
            domain,
        ),
        ("MatMul", ["x", "q"], "a", {}),
        (
            "Quant",
            ["a", "one", "z", "one"],
            "b",
            {"signed": 0, "narrow": 0, "rounding_mode": "ROUND"},
            domain,
        ),
        ("MatMul", ["b", "w"], "y", {}),
    ]
    chain = read_chain(model(nodes, constants, ["n", 2], domain=domain).SerializeToString())
    assert np.array_equal(chain.ops[0].weights.T, np.array([[0.5, -0.5, 0.0], [-0.5, 0.5, 0.5]], np.float32))
    assert (chain.ops[1].shift, chain.ops[2].zero, chain.ops[2].low, chain.ops[2].high) == (-0.5, -1, 0, 1)


def test_finn_windows_as_matrices():
    domain = "finn.custom_op.general"
    nodes = [
        ("Transpose", ["x"], "a", {"perm": [0, 2, 3, 1]}),
        (
            "Im2Col",
            ["a"],
            "b",
            {"kernel_size": [3, 3], "stride": [1, 1], "pad_amount": [1, 1, 1, 1], "input_shape": "(1,5,5,2)"},
            domain,
        ),
        ("MatMul", ["b", "w"], "c", {}),
        (
            "MultiThreshold",
            ["c", "t"],
            "d",
            {"out_scale": 2.0, "out_bias": -1.0, "data_layout": "NHWC"},
            domain,
        ),
        ("MaxPoolNHWC", ["d"], "e", {"kernel_shape": [2, 2], "strides": [2, 2]}, domain),
        ("MatMul", ["e", "v"], "f", {}),
        ("ReduceMean", ["f"], "y", {"axes": [1, 2], "keepdims": 0}),
    ]
    rows = K.transpose(2, 3, 1, 0).reshape(18, 4)
    chain = read_chain(
        model(
            nodes, {"w": rows, "t": np.zeros((1, 1), np.float32), "v": V}, ["n", 2, 5, 5], domain=domain
        ).SerializeToString()
    )
    assert kinds(chain) == ["Convolution", "Sign", "MaxPool", "Convolution", "AveragePool", "Flatten"]
    assert np.array_equal(chain.ops[0].weights, K)
    assert chain.ops[0].pads == (1, 1, 1, 1)
    assert chain.ops[3].weights.shape == (3, 4, 1, 1)


def test_larq_by_tf2onnx():
    """Channel-last input, transposes around convolutions, same padding, batch norm of the dense layer by
    reciprocal square root.
    """
    nodes = [
        ("Transpose", ["x"], "a", {"perm": [0, 3, 1, 2]}),
        ("Conv", ["a", "k"], "b", {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ("BatchNormalization", ["b", "g", "o", "m", "v4"], "c", {"epsilon": 1e-3}),
        ("Transpose", ["c"], "d", {"perm": [0, 2, 3, 1]}),
        ("Sign", ["d"], "e", {}),
        ("Add", ["e", "tenth"], "f", {}),
        ("Sign", ["f"], "g1", {}),
        ("Reshape", ["g1", "flat"], "h", {}),
        ("MatMul", ["h", "w"], "i", {}),
        ("Add", ["v3", "eps"], "j", {}),
        ("Sqrt", ["j"], "k1", {}),
        ("Reciprocal", ["k1"], "l", {}),
        ("Mul", ["i", "l"], "m1", {}),
        ("Mul", ["m3", "l"], "n1", {}),
        ("Sub", ["b3", "n1"], "o1", {}),
        ("Add", ["m1", "o1"], "p", {}),
        ("Softmax", ["p"], "y", {"axis": -1}),
    ]
    row = lambda size: RNG.uniform(0.5, 1.5, size).astype(np.float32)  # noqa: E731
    constants = {
        "k": K,
        "g": row(4) * [1, -1, 1, -1],
        "o": row(4) - 1,
        "m": row(4),
        "v4": row(4),
        "tenth": np.float32(0.1),
        "flat": np.array([-1, 36]),
    }
    constants |= {
        "w": RNG.choice(np.array([-1, 1], np.float32), (36, 3)),
        "v3": row(3),
        "eps": np.float32(1e-3),
        "m3": row(3),
        "b3": row(3),
    }
    constants["g"] = constants["g"].astype(np.float32)
    proto = model(nodes, constants, ["n", 6, 5, 2])
    chain = read_chain(proto.SerializeToString())
    assert (chain.shape, chain.channels_last) == ((2, 6, 5), True)
    assert kinds(chain) == ["Convolution", "BatchNorm", "Sign", "Flatten", "LinearOp", "Affine", "Affine"]
    assert chain.left_out == ("node 16 (Softmax)",)
    assert (chain.ops[0].pads, chain.ops[2].zero, chain.ops[3].order) == ((0, 1, 1, 1), 1, "HWC")
    x = RNG.choice(np.array([-1, 1], np.float32), (50, 6, 5, 2))
    scores = evaluate(chain, x)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(shares / shares.sum(1, keepdims=True), run(proto, x), atol=1e-5)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 1.0), (1.0, 2.0)])
@pytest.mark.parametrize("turned", [0, 1])
def test_gemm_in_all_its_forms(alpha, beta, turned):
    nodes = [
        ("Gemm", ["x", "w", "b"], "a", {"alpha": alpha, "beta": beta, "transB": turned}),
        ("Sign", ["a"], "c", {}),
        ("Gemm", ["c", "v"], "y", {"transA": 0}),
    ]
    chain = same_as_runtime(
        model(
            nodes,
            {"w": W.T.copy() if turned else W, "b": np.full((1, 4), 0.25, np.float32), "v": V},
            ["n", 6],
        ),
        (6,),
    )
    assert kinds(chain)[0] == "LinearOp"
    assert (chain.ops[0].bias is not None) == (alpha == beta == 1)


CONV = {"kernel_shape": [3, 3]}
GRAPHS = {
    "same lower": (
        [
            ("Conv", ["x", "k"], "a", {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
            ("Sign", ["a"], "b", {}),
            ("Flatten", ["b"], "y", {}),
        ],
        ["Convolution", "Sign", "Flatten"],
    ),
    "valid": (
        [
            ("Conv", ["x", "k"], "a", {"auto_pad": "VALID", **CONV}),
            ("Sign", ["a"], "b", {}),
            ("GlobalMaxPool", ["b"], "c", {}),
            ("Flatten", ["c"], "y", {}),
        ],
        ["Convolution", "Sign", "MaxPool", "Flatten"],
    ),
    "pad, old style": (
        [
            ("Pad", ["x", "pads", "minus"], "a", {}),
            ("Conv", ["a", "k"], "b", {}),
            ("Sign", ["b"], "c", {}),
            ("Flatten", ["c"], "y", {}),
        ],
        ["Pad", "Convolution", "Sign", "Flatten"],
    ),
    "sum of pixels": (
        [
            ("Conv", ["x", "k"], "a", {}),
            ("Sign", ["a"], "b", {}),
            ("ReduceSum", ["b", "pixels"], "y", {"keepdims": 0}),
        ],
        ["Convolution", "Sign", "AveragePool", "Affine", "Flatten"],
    ),
    "mean with kept axes": (
        [
            ("Conv", ["x", "k"], "a", {}),
            ("Sign", ["a"], "b", {}),
            ("ReduceMean", ["b"], "c", {"axes": [-1, -2]}),
            ("Squeeze", ["c", "pixels"], "y", {}),
        ],
        ["Convolution", "Sign", "AveragePool", "Flatten"],
    ),
    "average, pads counted": (
        [
            ("Conv", ["x", "k"], "a", {}),
            (
                "AveragePool",
                ["a"],
                "b",
                {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1},
            ),
            ("Sign", ["b"], "c", {}),
            ("Flatten", ["c"], "y", {}),
        ],
        ["Convolution", "AveragePool", "Sign", "Flatten"],
    ),
    "average, pads not counted": (
        [
            ("Conv", ["x", "k"], "a", {}),
            (
                "AveragePool",
                ["a"],
                "b",
                {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "ceil_mode": 1, "strides": [2, 2]},
            ),
            ("Sign", ["b"], "c", {}),
            ("Flatten", ["c"], "y", {}),
        ],
        ["Convolution", "AveragePool", "Sign", "Flatten"],
    ),
    "max pool, ceil mode, storage order": (
        [
            ("Conv", ["x", "k"], "a", {}),
            (
                "MaxPool",
                ["a"],
                "b",
                {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "storage_order": 1},
            ),
            ("Sign", ["b"], "c", {}),
            ("Flatten", ["c"], "y", {}),
        ],
        ["Convolution", "MaxPool", "Sign", "Flatten"],
    ),
    "dynamic reshape": (
        [
            ("Conv", ["x", "k"], "a", {}),
            ("Shape", ["a"], "s", {}),
            ("Gather", ["s", "none"], "n1", {"axis": 0}),
            ("Unsqueeze", ["n1", "none1"], "n2", {}),
            ("Concat", ["n2", "minus1"], "n3", {"axis": 0}),
            ("Sign", ["a"], "b", {}),
            ("Reshape", ["b", "n3"], "y", {}),
        ],
        ["Convolution", "Sign", "Flatten"],
    ),
    "through maps of other ranks": (
        [
            ("Unsqueeze", ["x", "none1"], "u", {}),
            ("Squeeze", ["u", "none1"], "x1", {}),
            ("Conv", ["x1", "k"], "a", {}),
            ("Sign", ["a"], "b", {}),
            ("Transpose", ["b"], "c", {"perm": [0, 2, 3, 1]}),
            ("Reshape", ["c", "rows"], "d", {}),
            ("MatMul", ["d", "v"], "e", {}),
            ("Flatten", ["e"], "y", {}),
        ],
        ["Convolution", "Sign", "Convolution", "Flatten"],
    ),
    "hard sigmoid rounded": (
        [
            ("Conv", ["x", "k"], "a", {}),
            ("HardSigmoid", ["a"], "b", {"alpha": 0.5, "beta": 0.5}),
            ("Round", ["b"], "c", {}),
            ("Flatten", ["c"], "y", {}),
        ],
        ["Convolution", "Affine", "Clip", "Affine", "Sign", "Flatten"],
    ),
    "clip by attributes of constants": (
        [
            ("Conv", ["x", "k"], "a", {}),
            (
                "Clip",
                [
                    "a",
                    "minus",
                    "",
                ],
                "b",
                {},
            ),
            ("Min", ["b", "two"], "c", {}),
            ("Max", ["one", "c"], "d", {}),
            ("Sign", ["d"], "e", {}),
            ("Flatten", ["e"], "y", {}),
        ],
        ["Convolution", "Clip", "Clip", "Clip", "Sign", "Flatten"],
    ),
    "both comparisons": (
        [
            ("Conv", ["x", "k"], "a", {}),
            ("Less", ["two", "a"], "b", {}),
            ("Not", ["b"], "c", {}),
            ("Cast", ["c"], "d", {"to": 1}),
            ("Neg", ["d"], "e", {}),
            ("Flatten", ["e"], "y", {}),
        ],
        ["Convolution", "Affine", "Sign", "Flatten"],
    ),
    "constant from the left": (
        [
            ("Conv", ["x", "k"], "a", {}),
            ("Sub", ["one", "a"], "b", {}),
            ("Mul", ["third", "b"], "c", {}),
            ("Div", ["c", "third"], "d", {}),
            ("Sign", ["d"], "e", {}),
            ("Flatten", ["e"], "y", {}),
        ],
        ["Convolution", "Affine", "Affine", "Affine", "Sign", "Flatten"],
    ),
}
NUMBERS = {
    "k": K,
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 0]),
    "minus": np.float32(-1),
    "one": np.float32(1),
    "two": np.float32(2),
    "third": np.float32(3),
    "pixels": np.array([2, 3]),
    "none": np.array(0),
    "none1": np.array([0]),
    "minus1": np.array([-1]),
    "rows": np.array([0, 16, 4]),
    "v": V,
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_against_onnx_runtime(name):
    nodes, expected = GRAPHS[name]
    used = {name for node in nodes for name in node[1]}
    shape = [1, 2, 6, 6] if name == "through maps of other ranks" else ["n", 2, 6, 6]
    count = 1 if shape[0] == 1 else 64
    chain = same_as_runtime(
        model(nodes, {key: array for key, array in NUMBERS.items() if key in used}, shape),
        (2, 6, 6),
        count=count,
    )
    assert kinds(chain) == expected


def test_division_is_exact():
    nodes = [
        ("Div", ["x", "c"], "a", {}),
        ("Div", ["a", "eight"], "b", {}),
        ("Sign", ["b"], "d", {}),
        ("MatMul", ["d", "w"], "y", {}),
    ]
    chain = read_chain(
        model(nodes, {"c": np.float32(255), "eight": np.float32(8), "w": W}, ["n", 6]).SerializeToString()
    )
    first, second = (op.scale for op in chain.ops[:2] if isinstance(op, Affine))
    assert first.item() * 255 == 1
    assert (second.dtype, second.item()) == (np.float32, 0.125)


def test_a_constant_for_every_pixel_flattens():
    shift = RNG.normal(size=(1, 4, 3, 3)).astype(np.float32)
    nodes = [
        ("Conv", ["x", "k"], "a", {}),
        ("Add", ["a", "s"], "b", {}),
        ("Sign", ["b"], "c", {}),
        ("Transpose", ["c"], "d", {"perm": [0, 2, 3, 1]}),
        ("Flatten", ["d"], "e", {}),
        ("MatMul", ["e", "w"], "y", {}),
    ]
    proto = model(
        nodes, {"k": K, "s": shift, "w": RNG.choice(np.array([-1, 1], np.float32), (36, 2))}, ["n", 2, 5, 5]
    )
    assert kinds(same_as_runtime(proto, (2, 5, 5))) == [
        "Convolution",
        "Flatten",
        "Affine",
        "Sign",
        "LinearOp",
    ]


@pytest.mark.parametrize("channel", [1, 3])
def test_a_constant_for_every_channel_of_the_raw_input(channel):
    shape = [1, 1, 1, 1]
    shape[channel] = 3
    perm = [0, 1, 2, 3] if channel == 1 else [0, 3, 1, 2]
    nodes = [
        ("Sub", ["x", "m"], "a", {}),
        ("Transpose", ["a"], "b", {"perm": perm}),
        ("Conv", ["b", "k"], "c", {}),
        ("Sign", ["c"], "d", {}),
        ("Flatten", ["d"], "y", {}),
    ]
    size = (3, 4, 5) if channel == 1 else (4, 5, 3)
    kernel = RNG.choice(np.array([-1, 1], np.float32), (2, 3, 2, 2))
    proto = model(
        nodes, {"m": np.array([0.5, 0.25, 2], np.float32).reshape(shape), "k": kernel}, ["n", *size]
    )
    chain = same_as_runtime(proto, size, values=(0.0, 1.0, 2.0, 3.0))
    assert (chain.shape, chain.channels_last) == ((3, 4, 5), channel == 3)


def _qkeras_binary(x, out, curve=""):
    """Nodes of tf2onnx for `binary` of QKeras: a sign, +1 at 0, and a straight-through estimator."""
    rest = curve and f"{out}c"
    return [
        *([(curve, [x], rest, {})] if curve else []),
        ("Sign", [x], f"{out}s", {}),
        ("Abs", [f"{out}s"], f"{out}a", {}),
        ("Sub", ["one", f"{out}a"], f"{out}z", {}),
        ("Add", [f"{out}s", f"{out}z"], f"{out}q", {}),
        ("Neg", [rest or x], f"{out}n", {}),
        ("Add", [f"{out}n", f"{out}q"], f"{out}d", {}),
        ("Identity", [f"{out}d"], f"{out}i", {}),
        ("Add", [rest or x, f"{out}i"], out, {}),
    ]


@pytest.mark.parametrize("curve", ["", "Tanh"])
def test_qkeras_by_tf2onnx(curve):
    nodes = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Add", ["a", "b"], "c", {}),
        *_qkeras_binary("c", "h", curve),
        ("MatMul", ["h", "v"], "y", {}),
    ]
    constants = {"w": W, "b": np.array([0, 2, -2, 0.5], np.float32), "v": V, "one": np.float32(1)}
    proto = model(nodes, constants, ["n", 6])
    chain = same_as_runtime(proto, (6,), values=(-1.0, 0.0, 1.0, 2.0))
    assert kinds(chain) == ["LinearOp", "Affine", "Sign", "LinearOp"]
    assert chain.ops[2].zero == 1
    assert "straight-through" in chain.left_out[0]
    assert read_onnx(proto.SerializeToString(), inputs=Integers(-1, 2)).hidden


def test_a_sign_less_one_curve_plus_another_is_refused():
    nodes = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Atan", ["a"], "other", {}),
        *_qkeras_binary("a", "h", "Tanh")[:-1],
        ("Add", ["other", "hi"], "h", {}),
        ("MatMul", ["h", "v"], "y", {}),
    ]
    constants = {"w": W, "v": V, "one": np.float32(1)}
    with pytest.raises(FileError, match="whose curve only a sign may follow"):
        read_onnx(model(nodes, constants, ["n", 6]).SerializeToString(), inputs=Bits())


def test_linear_along_the_last_axis():
    """It is read where the last axis holds the channels of each pixel, and refused elsewhere."""
    head = [("Flatten", ["h"], "f", {}), ("MatMul", ["f", "v"], "y", {})]
    first = [("MatMul", ["x", "w"], "a", {}), ("Add", ["a", "half"], "b", {}), ("Sign", ["b"], "s", {})]
    again = [("MatMul", ["s", "u"], "c", {}), ("Add", ["c", "half"], "d", {}), ("Sign", ["d"], "h", {})]
    constants = {"w": W[:3], "u": W[1:5], "v": RNG.choice([-1, 1], (20, 3)).astype(np.float32)}
    constants |= {"half": np.float32(0.5), "k": K[:, :, :1, :1]}
    proto = model([*first, *again, *head], constants, ["n", 5, 3])
    same_as_runtime(proto, (5, 3))
    assert read_onnx(proto.SerializeToString(), inputs=Bits()).hidden
    maps = [("Conv", ["x", "k"], "a", {}), ("Add", ["a", "half"], "b", {}), ("Sign", ["b"], "s", {})]
    with pytest.raises(FileError, match=r"nor the channels of each pixel\. Flatten before it, transpose"):
        read_chain(model([*maps, *again, *head], constants, ["n", 2, 5, 4]).SerializeToString())


def test_weights_of_a_straight_through_estimator():
    latent = (W * np.float32(0.3)).astype(np.float32)
    nodes = [
        ("Sign", ["l"], "s", {}),
        ("Sub", ["s", "l"], "d", {}),
        ("Add", ["d", "l"], "w", {}),
        ("MatMul", ["x", "w"], "a", {}),
        ("Sign", ["a"], "b", {}),
        ("MatMul", ["b", "v"], "y", {}),
    ]
    chain = read_chain(model(nodes, {"l": latent, "v": V}, ["n", 6]).SerializeToString())
    assert np.array_equal(chain.ops[0].weights, W.T)
    assert "straight-through" in chain.left_out[0]


def test_names_decide_nothing():
    """All scales point at one constant with a misleading name, as deduplicating exporters write them."""
    nodes = [
        ("BipolarQuant", ["x", "fc.weight"], "a", {}, "onnx.brevitas"),
        ("MatMul", ["a", "bias"], "b", {}),
        ("BipolarQuant", ["b", "fc.weight"], "c", {}, "onnx.brevitas"),
        ("MatMul", ["c", "running_var"], "y", {}),
    ]
    chain = read_chain(
        model(
            nodes, {"fc.weight": np.float32(1), "bias": W, "running_var": V}, ["n", 6], domain="onnx.brevitas"
        ).SerializeToString()
    )
    assert kinds(chain) == ["Sign", "LinearOp", "Sign", "LinearOp"]


def test_outputs_and_inputs_that_do_not_matter():
    nodes = [
        ("MatMul", ["x", "w"], "a", {}),
        ("Sign", ["a"], "b", {}),
        ("MatMul", ["b", "v"], "scores", {}),
        ("TopK", ["scores", "one"], ["best", "class"], {}),
        ("Exp", ["scores"], "strange", {}),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 6]) for name in ("unused", "x")]
    chain = read_chain(
        model(
            nodes, {"w": W, "v": V, "one": np.array([1])}, None, ["strange", "class"], inputs=ports
        ).SerializeToString()
    )
    assert kinds(chain) == ["LinearOp", "Sign", "LinearOp"]
    assert chain.left_out == ("node 3 (TopK)", "output 'strange'")


# -- refusals ------------------------------------------------------------------------------------------------

FRONT = [("MatMul", ["x", "w"], "a", {}), ("Sign", ["a"], "b", {})]
REFUSED = {
    "gate": (
        [*FRONT, ("Mul", ["a", "a"], "c", {}), ("MatMul", ["c", "v"], "y", {})],
        r"node 2 \(Mul\): it combines two values that both depend on the input",
    ),
    "concat": (
        [*FRONT, ("Concat", ["a", "v"], "y", {"axis": 1})],
        r"node 2 \(Concat\): it joins the data with a constant",
    ),
    "gelu": (
        [("MatMul", ["x", "w"], "a", {}), ("Gelu", ["a"], "y", {})],
        r"node 1 \(Gelu\): it has no exact meaning",
    ),
    "prelu": (
        [("MatMul", ["x", "w"], "a", {}), ("PRelu", ["a", "x"], "y", {})],
        r"it combines two values that both depend on the input",
    ),
    "float16": ([("MatMul", ["x", "w"], "a", {}), ("Cast", ["a"], "y", {"to": 10})], "casts to float16"),
    "cast of reals": (
        [("Mul", ["x", "half"], "a", {}), ("Cast", ["a"], "y", {"to": 7})],
        "casts real values to int64",
    ),
    "softmax inside": (
        [("Softmax", ["x"], "a", {}), ("MatMul", ["a", "w"], "y", {})],
        r"node 1 \(MatMul\): it comes after node 0 \(Softmax\), which must be the end",
    ),
    "a join along no axis": (
        [("Concat", ["x", "x"], "a", {}), ("MatMul", ["a", "w"], "y", {})],
        r"node 0 \(Concat\): its attribute axis is missing",
    ),
    "a join along an axis that does not exist": (
        [("Concat", ["x", "x"], "a", {"axis": 5}), ("MatMul", ["a", "w"], "y", {})],
        r"node 0 \(Concat\): its axis is 5, but the data have 2 axes",
    ),
    "tanh inside": (
        [("Tanh", ["x"], "a", {}), ("MatMul", ["a", "w"], "y", {})],
        r"after node 0 \(Tanh\), whose curve only a sign may follow",
    ),
    "training dropout": (
        [("Dropout", ["x", "half", "yes"], "a", {}), ("MatMul", ["a", "w"], "y", {})],
        r"model.eval\(\)",
    ),
    "no sign": (
        [("Equal", ["x", "half"], "a", {}), ("Cast", ["a"], "b", {"to": 1}), ("MatMul", ["b", "w"], "y", {})],
        r"node 0 \(Equal\) and what follows it give 0.0 both below and above zero: this is not a sign",
    ),
    "two outputs": (
        [("MatMul", ["x", "w"], "y", {}), ("Sign", ["y"], "z", {})],
        r"several outputs that are different values \('y', 'z'\)",
    ),
    "unknown domain": ([("Sorcery", ["x"], "y", {}, "com.example")], "its domain 'com.example' is not known"),
    "smallest": (
        [("MatMul", ["x", "w"], "a", {}), ("TopK", ["a", "k1"], ["b", "y"], {"largest": 0})],
        "picks the smallest scores",
    ),
    "batch statistics": (
        [
            ("MatMul", ["x", "w"], "a", {}),
            ("BatchNormalization", ["a", "p", "p", "p", "p"], "y", {"training_mode": 1}),
        ],
        r"model.eval\(\)",
    ),
    "weights that depend": (
        [("Transpose", ["x"], "a", {}), ("MatMul", ["x", "a"], "y", {})],
        "two of its inputs depend on the data",
    ),
    "left product": ([("MatMul", ["w", "x"], "y", {})], "multiplies weights from the left"),
    "wrong sizes": ([("MatMul", ["x", "v"], "y", {})], "weights have 4 rows for 6 inputs"),
    "negative scale": (
        [("BipolarQuant", ["x", "minus"], "a", {}, "onnx.brevitas"), ("MatMul", ["a", "w"], "y", {})],
        "its scale is -1, but it must be positive",
    ),
    "three dimensions": (
        [("Reshape", ["x", "five"], "a", {}), ("Conv", ["a", "k3"], "y", {})],
        "convolutions in one and two dimensions",
    ),
    "flat to maps": (
        [*FRONT, ("Reshape", ["b", "maps"], "c", {}), ("Conv", ["c", "k1x1"], "y", {})],
        "maps that were made from flat features",
    ),
    "batch size in a sum": (
        [
            ("Shape", ["x"], "s", {}),
            ("Gather", ["s", "n0"], "n", {}),
            ("Cast", ["n"], "f", {"to": 1}),
            ("Div", ["x", "f"], "a", {}),
            ("MatMul", ["a", "w"], "y", {}),
        ],
        "the size of the batch",
    ),
    "divided by zero": ([("Div", ["x", "zero"], "y", {})], "divides by zero"),
    "not finite": ([("Mul", ["x", "inf"], "y", {})], "not finite"),
    "abs": ([("Abs", ["x"], "y", {})], "absolute value of real data"),
    "rounded reals": (
        [("Round", ["x"], "y", {})],
        "rounds real values without bounds, so the levels are not known",
    ),
    "mode of padding": (
        [("Reshape", ["x", "maps6"], "a", {}), ("Pad", ["a", "pads"], "y", {"mode": "reflect"})],
        "pads by 'reflect'",
    ),
    "xnor": (
        [("XnorPopcountMatMul", ["x", "w"], "y", {}, "finn.custom_op.general")],
        "its weights are said to be 0 and 1, but hold other numbers",
    ),
}
PARTS = {
    "w": W,
    "v": V,
    "p": np.ones(4, np.float32),
    "half": np.float32(0.5),
    "zero": np.float32(0),
    "minus": np.float32(-1),
    "inf": np.float32(np.inf),
    "four": np.float32(4),
    "eight": np.float32(8),
    "yes": np.array(True),
    "t3": np.array([[0, 1, 2]], np.float32),
    "k1": np.array([1]),
    "n0": np.array(0),
    "five": np.array([0, 1, 1, 2, 3]),
    "k3": np.ones((1, 1, 1, 1, 1), np.float32),
    "maps": np.array([0, 1, 2, 2]),
    "maps6": np.array([0, 1, 2, 3]),
    "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]),
    "k1x1": np.ones((1, 1, 1, 1), np.float32),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_node_the_reason_and_what_works(name):
    nodes, message = REFUSED[name]
    used = {key for node in nodes for key in node[1]}
    outputs = ("y", "z") if name == "two outputs" else ("y",)
    proto = model(nodes, {key: array for key, array in PARTS.items() if key in used}, ["n", 6], outputs)
    with pytest.raises(FileError, match=message):
        read_chain(proto.SerializeToString())


def test_inputs_that_cannot_be_data():
    for shape, dtype, message in [
        (["n", "m"], 1, "only the batch may be open"),
        (["n", 1 << 40], 1, "only the batch may be open"),
        ([6], 1, "a batch axis and one or more others"),
        (["n", 6], 8, "has element type 8"),
        (["n", 6], 10, "has element type 10"),
        (["n", 2, 3, 4, 5], 1, "Up to three are supported"),
        ([0, 6], 1, "only the batch may be open"),
    ]:
        with pytest.raises(FileError, match=message):
            read_chain(model([("Sign", ["x"], "y", {})], {}, shape, dtype=dtype).SerializeToString())
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 6]) for name in ("x", "z")]
    with pytest.raises(FileError, match=r"2 data inputs \('x', 'z'\)"):
        read_chain(model([("Add", ["x", "z"], "y", {})], {}, None, inputs=ports).SerializeToString())
    with pytest.raises(FileError, match="do not depend on any input"):
        read_chain(model([("Identity", ["w"], "y", {})], {"w": W}, ["n", 6]).SerializeToString())


def test_control_flow_and_functions():
    branch = helper.make_graph(
        [helper.make_node("Sign", ["x"], ["b"])], "b", [], [helper.make_empty_tensor_value_info("b")]
    )
    with pytest.raises(FileError, match=r"node 0 \(If\): control flow is not supported"):
        read_chain(
            model(
                [("If", ["x"], "y", {"then_branch": branch, "else_branch": branch})], {}, ["n", 6]
            ).SerializeToString()
        )
    proto = model([("Mine", ["x"], "y", {}, "my")], {}, ["n", 6], domain="my")
    proto.functions.append(
        helper.make_function(
            "my",
            "Mine",
            ["a"],
            ["b"],
            [helper.make_node("Sign", ["a"], ["b"])],
            [helper.make_opsetid("", 15)],
        )
    )
    with pytest.raises(FileError, match=r"onnx.inliner.inline_local_functions"):
        read_chain(proto.SerializeToString())


# -- files ---------------------------------------------------------------------------------------------------


def small():
    return model(
        [("MatMul", ["x", "w"], "a", {}), ("Sign", ["a"], "b", {}), ("MatMul", ["b", "v"], "y", {})],
        {"w": W, "v": V},
        ["n", 6],
    )


def test_paths_archives_and_side_files(tmp_path):
    raw = small().SerializeToString()
    (tmp_path / "a.onnx").write_bytes(raw)
    (tmp_path / "a.onnx.gz").write_bytes(gzip.compress(raw))
    for name in ("a.onnx", "a.onnx.gz"):
        chain = read_chain(tmp_path / name)
        assert chain.source == name
        assert np.array_equal(chain.ops[0].weights, W.T)
    onnx.save_model(
        small(), tmp_path / "b.onnx", save_as_external_data=True, location="b.data", size_threshold=0
    )
    assert np.array_equal(read_chain(str(tmp_path / "b.onnx")).ops[0].weights, W.T)
    with pytest.raises(FileError, match=r"side file 'b.data', but only bytes were given. Give the path"):
        read_chain((tmp_path / "b.onnx").read_bytes())
    (tmp_path / "b.data").write_bytes(b"short")
    with pytest.raises(FileError, match=r"lies at bytes \d+ to \d+ of 'b.data', which has 5"):
        read_chain(tmp_path / "b.onnx")
    (tmp_path / "b.data").unlink()
    with pytest.raises(FileError, match=r"constant '.' lies in the side file 'b.data', which is missing"):
        read_chain(tmp_path / "b.onnx")
    with pytest.raises(FileError, match="there is no such file or folder"):
        read_chain(tmp_path / "c.onnx")
    with pytest.raises(FileError, match="it is a folder"):
        read_chain(tmp_path)


@pytest.mark.parametrize(
    "location", ["../w.data", "/etc/hostname", "sub/../../w.data", "link", "", ".", "a\x00b"]
)
def test_side_files_stay_in_the_folder(tmp_path, location):
    (tmp_path / "w.data").write_bytes(W.tobytes())
    folder = tmp_path / "model"
    folder.mkdir()
    if location == "link":
        os.symlink(tmp_path / "w.data", folder / "link")
    proto = small()
    weights = proto.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    entry = weights.external_data.add()
    entry.key, entry.value = "location", location
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(FileError, match="outside the folder of the model"):
        read_chain(folder / "m.onnx")


def test_archives_that_would_fill_the_memory():
    with pytest.raises(FileError, match="a gzip archive of more than"):
        read_chain(gzip.compress(bytes(1 << 27), 6))
    with pytest.raises(FileError, match="cut off"):
        read_chain(gzip.compress(small().SerializeToString())[:-9])


def hostile(change):
    proto = small()
    change(proto)
    return proto.SerializeToString()


def _cycle(proto):
    proto.graph.node[0].input[0] = "y"


def _huge(proto):
    proto.graph.initializer[0].dims[0] = 1 << 60


def _negative(proto):
    proto.graph.initializer[0].dims[0] = -6


def _missing(proto):
    proto.graph.node[0].input[1] = "nowhere"


def _double(proto):
    proto.graph.node[1].output[0] = "a"


def _twice(proto):
    proto.graph.initializer.append(proto.graph.initializer[0])


def _short(proto):
    proto.graph.initializer[0].raw_data = proto.graph.initializer[0].raw_data[:-1]


def _rank(proto):
    proto.graph.initializer[0].dims.extend([1] * 20)


def _text(proto):
    proto.graph.initializer[0].data_type = TensorProto.STRING


def _no_graph(proto):
    proto.ClearField("graph")


def _no_output(proto):
    del proto.graph.output[:]


def _crowd(proto):
    for number in range(20_001):
        proto.graph.node.add(op_type="Sign", input=["x"], output=[f"n{number}"])


def _old(proto):
    proto.opset_import[0].version = 3


def _deep(proto):
    graph = proto.graph
    for _ in range(40):
        node = graph.node.add(op_type="If", input=["x"], output=["deep"])
        attribute = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH)
        graph = attribute.g
    proto.graph.output[0].name = "deep"


def _long(proto):
    del proto.graph.node[:], proto.graph.initializer[:]
    names = ["x", *(f"s{k}" for k in range(9_999)), "y"]
    for before, after in pairwise(names):
        proto.graph.node.add(op_type="Neg", input=[before], output=[after])


def _bomb(op, attributes=None, **constants):
    def change(proto):
        for name, array in constants.items():
            proto.graph.initializer.append(tensor(name, array))
        proto.graph.node.insert(0, helper.make_node(op, list(constants), ["bomb"], **(attributes or {})))
        proto.graph.node[1].input[1] = "bomb"

    return change


HOSTILE = {
    "cycle": (_cycle, "the graph has a cycle"),
    "huge": (_huge, "but at most 8 sizes"),
    "negative": (_negative, "but at most 8 sizes"),
    "missing": (_missing, r"node 0 \(MatMul\) reads 'nowhere', which nothing makes"),
    "made twice": (_double, "makes 'a', which is there already"),
    "constant twice": (_twice, "constant 'w' occurs twice"),
    "short": (_short, r"needs 96 bytes, but 95 are there"),
    "rank": (_rank, "but at most 8 sizes"),
    "text": (_text, "has element type text"),
    "no graph": (_no_graph, "holds no graph"),
    "no output": (_no_output, "its outputs do not depend on any input"),
    "crowd": (_crowd, "more than the 20,000 that are read"),
    "old": (_old, "opset 3, but 7 or later is needed"),
    "deep": (_deep, "control flow is not supported"),
    "growing": (
        _bomb("Expand", pa=np.ones(1, np.float32), pb=np.array([1 << 20, 1 << 20])),
        "grow far beyond",
    ),
    "growing by broadcasting": (
        _bomb("Add", pa=np.ones((1 << 16, 1), np.float32), pb=np.ones((1, 1 << 16), np.float32)),
        "grow far beyond",
    ),
    "growing by range": (
        _bomb("Range", pa=np.array(0), pb=np.array(1 << 50), pc=np.array(1)),
        "grow far beyond",
    ),
    "growing by shape": (_bomb("ConstantOfShape", pa=np.array([1 << 31, 1 << 31])), "grow far beyond"),
    "growing by picking": (
        _bomb("Gather", pa=np.ones((1, 1 << 16), np.float32), pb=np.zeros(1 << 16, np.int64)),
        "grow far beyond",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(name):
    change, message = HOSTILE[name]
    with pytest.raises(FileError, match=message):
        read_chain(hostile(change))


def test_long_chains_are_read():
    assert len(read_chain(hostile(_long)).ops) == 10_000


def test_a_file_of_fields_alone():
    with pytest.raises(FileError, match="more than 400,000 fields"):
        read_chain(b"\x08\x01" * 500_000)


SEEDS = [
    small().SerializeToString(),
    onnx_bytes(Network.of_bits([DenseLayer([[1, -1, 1]], [2])], Head([[1], [-1]]))),
    legacy(CASES["conv, sign, mean"]),
    legacy(CASES["dense, straight through, clipped"]),
]


def only_file_errors(raw):
    """A file may be refused, for a reason that was foreseen; nothing else may happen."""
    said = ""
    try:
        read_chain(raw)
    except FileError as error:
        said = str(error)
    assert "please report it" not in said


@given(st.binary(max_size=200))
@settings(max_examples=examples(200))
def test_random_bytes(raw):
    only_file_errors(raw)


@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=6),
)
@settings(max_examples=examples(600))
def test_changed_bytes(raw, changes):
    damaged = bytearray(raw)
    for place, value in changes:
        damaged[int(place * len(raw))] = value
    only_file_errors(bytes(damaged))


@given(st.sampled_from(SEEDS), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=examples(200))
def test_cut_and_repeated_bytes(raw, first, second):
    a, b = sorted((int(first * len(raw)), int(second * len(raw))))
    only_file_errors(raw[:a])
    only_file_errors(raw[:a] + raw[b:])
    only_file_errors(raw[:b] + raw[a:])


OPS = [
    "Abs",
    "Add",
    "ArgMax",
    "AveragePool",
    "BatchNormalization",
    "BipolarQuant",
    "Cast",
    "Clip",
    "Concat",
    "Conv",
    "Div",
    "Dropout",
    "Equal",
    "Expand",
    "Flatten",
    "Gather",
    "Gemm",
    "GlobalAveragePool",
    "GreaterOrEqual",
    "HardSigmoid",
    "Im2Col",
    "MatMul",
    "MaxPool",
    "MaxPoolNHWC",
    "Mul",
    "MultiThreshold",
    "Neg",
    "Pad",
    "Quant",
    "Range",
    "ReduceMean",
    "Relu",
    "Reshape",
    "Round",
    "Shape",
    "Sign",
    "Slice",
    "Softmax",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Tanh",
    "TopK",
    "Transpose",
    "Unsqueeze",
    "Where",
]
ARRAYS = {
    "f0": np.float32(0.5),
    "f1": np.ones(3, np.float32),
    "f2": W[:3, :3],
    "f4": K,
    "fn": np.array([np.nan, np.inf], np.float32),
    "i0": np.array(1),
    "i1": np.array([0, -1]),
    "i2": np.array([2, 3, 1 << 40]),
    "b": np.array([True, False]),
    "e": np.zeros((0, 3), np.float32),
}
ATTRIBUTES = {
    "axis": st.integers(-9, 9),
    "axes": st.lists(st.integers(-5, 5), min_size=1, max_size=3),
    "perm": st.lists(st.integers(-1, 4), min_size=1, max_size=4),
    "kernel_shape": st.lists(st.sampled_from([-1, 0, 1, 2, 1 << 40]), min_size=1, max_size=3),
    "strides": st.lists(st.sampled_from([0, 1, 2, 1 << 60]), min_size=1, max_size=3),
    "pads": st.lists(st.sampled_from([-1, 0, 1, 2, 1 << 60]), min_size=1, max_size=8),
    "dilations": st.lists(st.integers(-1, 3), min_size=1, max_size=2),
    "group": st.sampled_from([-1, 0, 1, 2]),
    "to": st.sampled_from([0, 1, 7, 9, 11, 99]),
    "keepdims": st.integers(0, 1),
    "ceil_mode": st.integers(0, 1),
    "transA": st.integers(0, 1),
    "transB": st.integers(0, 1),
    "alpha": st.floats(allow_nan=True, width=32),
    "mode": st.sampled_from(["constant", "reflect", ""]),
}


@given(st.data())
@settings(max_examples=examples(250))
def test_graphs_of_anything(data):
    """Well-formed files whose nodes make no sense."""
    shape = data.draw(
        st.sampled_from(
            [["n", 6], ["n", 3], [1, 2, 5, 5], ["n", 2, 5, 5], ["n", 5, 5, 2], [2, 3, 4], ["n", 3, 3, 3]]
        )
    )
    names, nodes = ["x", *ARRAYS, ""], []
    for number in range(data.draw(st.integers(1, 6))):
        inputs = data.draw(st.lists(st.sampled_from(names[-4:] + names), min_size=1, max_size=4))
        if data.draw(st.booleans()):
            inputs[0] = names[-1] if number else "x"
        chosen = data.draw(st.lists(st.sampled_from(sorted(ATTRIBUTES)), max_size=3, unique=True))
        op = data.draw(st.sampled_from(OPS))
        domain = (
            "qonnx.custom_op.general"
            if op in ("BipolarQuant", "Quant", "MultiThreshold", "Im2Col", "MaxPoolNHWC")
            else ""
        )
        nodes.append((op, inputs, f"v{number}", {key: data.draw(ATTRIBUTES[key]) for key in chosen}, domain))
        names.append(f"v{number}")
    proto = model(nodes, ARRAYS, shape, [names[-1]], opset=data.draw(st.sampled_from([9, 12, 15])))
    only_file_errors(proto.SerializeToString())


class Draft:
    """A random graph in which float32 is exact: small whole numbers and halves only."""

    def __init__(self, draw):
        self.draw = draw
        self.shape = draw(st.sampled_from([(6,), (2, 4, 6), (4, 6, 2), (3, 7), (1, 4, 4), (4, 4), (3, 4, 4)]))
        self.batch = draw(st.sampled_from(["n", 1, 3]))
        self.sizes, self.now, self.nodes, self.constants = list(self.shape), "x", [], {}

    def add(self, op, *inputs, **attributes):
        self.nodes.append((op, list(inputs), f"v{len(self.nodes)}", attributes))
        return f"v{len(self.nodes) - 1}"

    def number(self, value):
        self.constants[f"c{len(self.constants)}"] = np.asarray(value)
        return f"c{len(self.constants) - 1}"

    def real(self, value):
        return self.number(np.float32(value))

    def signs(self, *sizes):
        bits = self.draw(st.integers(0, 2 ** int(np.prod(sizes)) - 1))
        flat = [1.0 if bits >> k & 1 else -1.0 for k in range(int(np.prod(sizes)))]
        return self.number(np.array(flat, np.float32).reshape(sizes))

    def halves(self, sizes):
        return self.number(
            np.array(
                self.draw(
                    st.lists(st.integers(-4, 4), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes)))
                ),
                np.float32,
            ).reshape(sizes)
            / 2
        )

    def step(self):
        x, sizes, pick = self.now, self.sizes, lambda *options: self.draw(st.sampled_from(options))
        along = [1] * len(sizes)
        if sizes:
            axis = self.draw(st.integers(0, len(sizes) - 1))
            along[axis] = sizes[axis]
        match pick(
            "sign",
            "sign",
            "where",
            "cast",
            "affine",
            "vector",
            "linear",
            "linear",
            "conv",
            "pool",
            "transpose",
            "reshape",
            "clip",
            "pad",
            "pixels",
            "residue",
            "cut",
            "gather",
            "product",
        ):
            case "sign":
                x = self.add("Sign", x)
                if pick(True, False):
                    x = self.add("Sign", self.add("Add", x, self.real(0.1)))
            case "where":
                sides = [x, self.real(pick(0, 0, 0.5, -1))]
                test = self.add(
                    pick("Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
                    *(sides if pick(True, False) else sides[::-1]),
                )
                x = self.add("Where", test, self.real(pick(1, 2)), self.real(pick(-1, 0, 1.5)))
            case "cast":
                bits = self.add("Cast", self.add("GreaterOrEqual", x, self.real(0)), to=1)
                x = self.add("Sub", self.add("Mul", bits, self.real(2)), self.real(1))
            case "affine":
                op, sides = pick("Add", "Sub", "Mul", "Div"), [x, self.real(pick(0.5, 2, -1, 4))]
                x = self.add(op, *(sides if op == "Div" or pick(True, False) else sides[::-1]))
            case "vector":
                x = self.add(pick("Add", "Mul", "Sub"), x, self.halves(pick(along, [1, *along], list(sizes))))
            case "cut":
                x = self.add(
                    "Where",
                    self.add(pick("GreaterOrEqual", "Less"), x, self.halves(along)),
                    self.real(1),
                    self.real(-1),
                )
            case "linear":
                x, count, out = self.add("Flatten", x), int(np.prod(sizes)), pick(1, 2, 4)
                gemm = lambda: self.add(  # noqa: E731
                    "Gemm", x, self.signs(out, count), self.halves([out]), transB=1, alpha=pick(1.0, 0.5)
                )
                x = gemm() if pick(True, False) else self.add("MatMul", x, self.signs(count, out))
            case "conv" if len(sizes) == 3 and min(sizes[1:]) > 1:
                groups = pick(1, 2) if sizes[0] % 2 == 0 else 1
                pads = pick(
                    {},
                    {"pads": [1, 0, 0, 1]},
                    {"auto_pad": "SAME_UPPER"},
                    {"auto_pad": "SAME_LOWER"},
                    {"auto_pad": "VALID"},
                )
                x = self.add(
                    "Conv",
                    x,
                    self.signs(pick(2, 4), sizes[0] // groups, 2, 2),
                    group=groups,
                    strides=[pick(1, 2), pick(1, 2)],
                    **pads,
                )
            case "conv" if len(sizes) == 2 and sizes[1] > 1:
                x = self.add("Conv", x, self.signs(2, sizes[0], 2), pads=[pick(0, 1), pick(0, 1)])
            case "pool" if len(sizes) == 3 and min(sizes[1:]) > 1:
                window = {"kernel_shape": [2, 2], "strides": [pick(1, 2), pick(1, 2)]}
                pads = {"pads": pick([0, 0, 0, 0], [1, 0, 0, 1], [1, 1, 1, 1]), "ceil_mode": pick(0, 1)}
                x = (
                    self.add("MaxPool", x, **window, **pads)
                    if pick(True, False)
                    else self.add("AveragePool", x, **window)
                )
            case "transpose":
                x = self.add("Transpose", x, perm=[0, *self.draw(st.permutations(range(1, len(sizes) + 1)))])
            case "reshape":
                count = int(np.prod(sizes))
                first = pick(*(k for k in range(1, count + 1) if count % k == 0))
                x = self.add(
                    "Reshape",
                    x,
                    self.number(
                        [pick(0, -1), *pick([count], [first, count // first], [1, first, count // first])]
                    ),
                )
            case "clip":
                x = (
                    self.add("Clip", x, self.real(-1), self.real(pick(1, 2)))
                    if pick(True, False)
                    else self.add("Relu", x)
                )
            case "pad" if len(sizes) == 3:
                x = self.add(
                    "Pad", x, self.number([0, 0, pick(0, 1), 1, 0, 0, 1, 0]), self.real(pick(0, 1, -1))
                )
            case "pixels" if len(sizes) == 3:
                mean = sizes[1] * sizes[2] in (1, 2, 4, 8, 16)
                x = self.add(
                    "ReduceMean" if mean else "ReduceMax", x, axes=pick([2, 3], [-1, -2]), keepdims=pick(0, 1)
                )
            case "residue":
                other = self.add("Clip", x, self.real(-1), self.real(1)) if pick(True, False) else x
                rest = self.add("Sub", self.add("Sign", x), other)
                x = self.add("Add", rest, other) if pick(True, False) else self.add("Add", other, rest)
            case "gather" if len(sizes) == 1:
                x = self.add(
                    "Gather",
                    x,
                    self.number(
                        self.draw(st.lists(st.integers(-sizes[0], sizes[0] - 1), min_size=1, max_size=4))
                    ),
                    axis=1,
                )
            case "product" if len(sizes) > 1:
                x = self.add("MatMul", x, self.signs(sizes[-1], pick(1, 3)))
        self.now = x

    def model(self):
        return model(self.nodes, self.constants, [self.batch, *self.shape], [self.now])


@given(st.data())
@settings(max_examples=examples(80))
def test_whatever_is_read_is_what_onnx_runtime_computes(data):
    draft = Draft(data.draw)
    count = 3 if draft.batch == "n" else draft.batch
    x = (
        np.random.default_rng(data.draw(st.integers(0, 999)))
        .integers(-2, 3, (count, *draft.shape))
        .astype(np.float32)
    )
    expected = x
    for _ in range(data.draw(st.integers(2, 9))):
        draft.step()
        if draft.now == "x":
            continue
        try:
            expected = run(draft.model(), x)
        except Exception as error:  # what the runtime does not take is no model
            assert "ONNXRuntimeError" in str(error)  # noqa: PT017
            return
        draft.sizes = list(expected.shape[1:])
    if draft.now == "x":
        return
    try:
        chain = read_chain(draft.model().SerializeToString())
    except FileError:
        return
    assert np.array_equal(evaluate(chain, x), expected.reshape(count, -1))


# -- real files ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def zoo():
    folder = os.environ.get("SUGENET_ZOO")
    if not folder:
        pytest.skip("SUGENET_ZOO is not set: the folder of published networks is not at hand")
    return Path(folder)


def test_tfc_1w1a(zoo):
    chain = read_chain(zoo / "qonnx" / "TFC_1W1A.onnx")
    assert chain.shape == (1, 28, 28)
    assert kinds(chain) == [
        "Affine",
        "Affine",
        "Sign",
        "Flatten",
        *["LinearOp", "BatchNorm", "Sign"] * 3,
        "LinearOp",
        *["Affine"] * 4,
    ]
    assert [op.weights.shape for op in chain.ops if hasattr(op, "weights")] == [
        (64, 784),
        (64, 64),
        (64, 64),
        (10, 64),
    ]
    assert all(op.zero == 1 for op in chain.ops if isinstance(op, Sign))
    assert chain.left_out == ()


def test_tfc_1w2a(zoo):
    chain = read_chain(zoo / "qonnx" / "TFC_1W2A.onnx")
    assert [op.top for op in chain.ops if isinstance(op, Quantize)] == [2, 2, 2, 2]
    assert not any(isinstance(op, Sign) for op in chain.ops)


def test_traffic_signs(zoo):
    paths = sorted((zoo / "traffic").glob("*.onnx.gz"))
    assert paths
    for path in paths:
        chain = read_chain(path)
        assert (chain.shape, chain.channels_last) == ((3, 30, 30), True)
        assert kinds(chain) == ["Convolution", "Sign", "Convolution", "Sign", "Flatten", "LinearOp"]
        assert [op.zero for op in chain.ops if isinstance(op, Sign)] == [1, 1]
        assert chain.ops[4].order == "HWC"
        assert len(chain.left_out) == 1
        session = ort.InferenceSession(gzip.decompress(path.read_bytes()), providers=["CPUExecutionProvider"])
        x = np.random.default_rng(1).integers(0, 256, (4, 30, 30, 3)).astype(np.float32)
        expected = session.run(None, {session.get_inputs()[0].name: x})[0]
        assert (evaluate(chain, x).argmax(1) == expected.argmax(1)).all()


def test_damaged_real_files(zoo):
    raw = (zoo / "qonnx" / "TFC_1W1A.onnx").read_bytes()
    random = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(raw)
        for place in (
            random.integers(0, len(raw), 20) if random.random() < 0.5 else random.integers(0, 3000, 3)
        ):
            damaged[place] = random.integers(256)
        only_file_errors(bytes(damaged))
