"""Integer networks in ONNX files: equal to ONNX Runtime bit for bit, near ties included, or refused."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from sugenet.errors import FileError
from sugenet.io import Integers, Reals, read_onnx
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.quantized import runtime
from sugenet.io.onnx.quantized.network import level_import
from sugenet.io.onnx.quantized.proof import prove_levels
from sugenet.io.onnx.quantized.reader import read_program
from sugenet.io.onnx.quantized.runtime import QuantGrid
from sugenet.io.onnx.writer import onnx_bytes
from sugenet.nn import NEVER, Network, PoolLayer, QuantizedConv, QuantizedLayer
from tests.fuzzing.quantized_graphs import quantized_model
from tests.thinned import examples

PIXELS = Integers(0, 255, step=Fraction(1, 255))
FLOAT, UINT8, INT8 = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8


def file(nodes, constants, ins, outs, opset=17):
    """Bytes of a graph of nodes (op, inputs, output, attributes); ports are (name, type, shape)."""
    mine = {
        "QGemm",
        "QLinearAdd",
        "QLinearAveragePool",
        "QLinearGlobalAveragePool",
        "QLinearConcat",
        "QLinearSoftmax",
    }
    made = [
        helper.make_node(op, given, [out], **({"domain": "com.microsoft"} if op in mine else {}), **more)
        for op, given, out, more in nodes
    ]
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info(*port) for port in ins],
        [helper.make_tensor_value_info(*port) for port in outs],
        [
            value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value), name)
            for name, value in constants.items()
        ],
    )
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=sets)
    model.ir_version = 10
    return model.SerializeToString()


def run(raw, **feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def f32(value):
    return np.float32(value)


def dense(weights=((3, -2), (1, 5)), **more):
    """A small QDQ file: quantizer, Gemm, quantizer."""
    held = {
        "s": f32(1 / 255),
        "z": np.uint8(0),
        "w": np.array(weights, np.int8),
        "ws": f32(0.01),
        "wz": np.int8(0),
        "ys": f32(0.02),
        "yz": np.uint8(100),
        **more.pop("constants", {}),
    }
    nodes = [
        ("QuantizeLinear", ["x", "s", "z"], "q", {}),
        ("DequantizeLinear", ["q", "s", "z"], "d", {}),
        ("DequantizeLinear", ["w", "ws", "wz"], "wd", {}),
        *more.pop("middle", [("Gemm", ["d", "wd"], "g", {"transB": 1})]),
        ("QuantizeLinear", ["g", "ys", "yz"], "yq", {}),
        *more.pop("end", [("DequantizeLinear", ["yq", "ys", "yz"], "y", {})]),
    ]
    return file(nodes, held, [("x", FLOAT, [None, 2])], [("y", more.pop("kind", FLOAT), None)], **more)


# -- random graphs -------------------------------------------------------------------------------------------


def compared(seed, prove=False):
    """Whether a random graph was read; it must then equal ONNX Runtime everywhere."""
    random = np.random.default_rng(seed)
    model = quantized_model(random)
    inputs = [PIXELS, None, Integers(-100, 155, step=Fraction(1, 128))][seed % 3]
    try:
        network = read_onnx(model.raw, inputs=inputs, prove=prove)
    except FileError as error:
        if "pairs of levels do not agree" in str(error) or "in floats, because float32 sums" in str(error):
            return False
        raise
    shape = (40, network.encoder.features)
    if inputs is None:
        X = values = random.uniform(-0.5, 1.5, shape).astype(np.float32)
    else:
        X = random.integers(inputs.low, inputs.high + 1, shape)
        values = np.array([[float(inputs.value(int(x))) for x in row] for row in X], np.float32)
    theirs = run(model.raw, x=values.reshape(40, *model.shape)).reshape(40, -1)
    mine = network.logits(X, engine="definition").astype(np.float32)
    assert np.array_equal(mine, theirs), (seed, model.kinds)
    return True


def test_random_graphs_equal_onnx_runtime():
    assert sum(compared(seed) for seed in range(examples(80))) > examples(68)


def test_graphs_that_are_equal_prove_themselves():
    assert sum(compared(seed, prove=True) for seed in range(1000, 1016)) > 13


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_thousands_of_random_graphs_equal_onnx_runtime(seed):
    assert sum(compared(10_000 + seed * 500 + k, prove=k % 10 == 0) for k in range(500)) > 450


# -- the arithmetic, operator by operator --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_every_pair_of_levels_is_added_as_onnx_runtime_adds_it(kind):
    random, info = np.random.default_rng(5), np.iinfo(kind)
    port = UINT8 if kind == np.uint8 else INT8
    a, b = np.meshgrid(np.arange(info.min, info.max + 1), np.arange(info.min, info.max + 1), indexing="ij")
    for ratio in (1.0, 0.5, 0.3, 1.7):
        scales = [f32(0.01), f32(0.01 * ratio), f32(0.01 * (1 + ratio) * random.choice([0.5, 0.7, 1.0]))]
        zeros = [int(z) for z in random.integers(info.min, info.max + 1, 3)]
        held = {f"s{k}": scales[k] for k in range(3)} | {f"z{k}": kind(zeros[k]) for k in range(3)}
        nodes = [("QLinearAdd", ["a", "s0", "z0", "b", "s1", "z1", "s2", "z2"], "y", {})]
        raw = file(nodes, held, [("a", port, [None, None]), ("b", port, [None, None])], [("y", port, None)])
        theirs = run(raw, a=a.astype(kind).reshape(1, -1), b=b.astype(kind).reshape(1, -1)).reshape(a.shape)
        grids = [QuantGrid(s, z, info.min, info.max) for s, z in zip(scales, zeros, strict=True)]
        assert np.array_equal(runtime.added(*grids), theirs.astype(int) - info.min)


def test_requantizers_beside_ties_and_beyond_24_bits():
    """Sums that float32 cannot hold, and products that lie next to a half."""
    random = np.random.default_rng(3)
    for scale in (2.0**-16, 3 * 2.0**-18, 0.0000123, 2.0**-7):
        x = random.integers(0, 256, (400, 300)).astype(np.uint8)
        w = random.integers(-128, 128, (300, 3)).astype(np.int8)
        x[:100], w[:, 0] = 255, 127  # sums beyond 2^23
        held = {
            "s": f32(1),
            "z": np.uint8(0),
            "w": w,
            "ws": f32(scale),
            "wz": np.int8(0),
            "ys": f32(0.5),
            "yz": np.uint8(7),
        }
        nodes = [("QLinearMatMul", ["x", "s", "z", "w", "ws", "wz", "ys", "yz"], "y", {})]
        raw = file(nodes, held, [("x", UINT8, [None, 300])], [("y", UINT8, None)])
        factors = runtime.multipliers(1, np.full(3, scale), 0.5)
        level = runtime.requantizer(factors, np.zeros(3, np.int64), QuantGrid(0.5, 7, 0, 255))
        sums = x.astype(np.int64) @ w.astype(np.int64)
        assert np.array_equal(level(sums.T).T, run(raw, x=x).astype(int))


def test_averages_in_float32_follow_every_order():
    """The least and largest level over all ways to a sum, against all ways themselves."""
    grid, out = QuantGrid(0.1, 2, 0, 6), QuantGrid(0.07, 1, 0, 15)
    least, largest, _ = runtime.averages(grid, 3, 3, out)
    seen = {}
    for ways in np.ndindex(7, 7, 7):
        total = f32(0)
        for q in ways:
            total = f32(total + f32(f32(q - 2) * f32(0.1)))
        level = int(np.clip(np.rint(f32(f32(total / f32(3)) / f32(0.07)) + f32(1)), 0, 15))
        seen.setdefault(sum(ways), set()).add(level)
    assert [(min(seen[s]), max(seen[s])) for s in range(19)] == list(zip(least, largest, strict=True))
    assert any(len(levels) > 1 for levels in seen.values()) == bool((least != largest).any())


def test_exact_steps_are_those_of_fractions():
    grid = QuantGrid(0.5, -1, -4, 3)
    unit, offset = Fraction(1, 8), Fraction(1, 4)
    steps = runtime.exact_steps(unit, offset, grid, [(-1.5, 1.25)], -40, 40)
    for s in range(-40, 41):
        value = min(max(unit * s + offset, Fraction(-3, 2)), Fraction(5, 4))
        level = min(max(round(value / Fraction(1, 2)) - 1, -4), 3) + 4
        assert sum(s >= step for step in steps) == level, s


def test_fma_is_rounded_once():
    random = np.random.default_rng(0)
    a = random.integers(-255, 256, 20_000).astype(np.float32)
    b = random.standard_normal(20_000).astype(np.float32)
    c = np.round(-a.astype(np.float64) * b, 2).astype(np.float32) + random.choice([0, 2.0**-20, 1], 20_000)
    made = runtime.with_fma(a, b, c.astype(np.float32))
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.astype(np.float32).tolist(), made, strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        down, up = np.nextafter(got, f32(-np.inf)), np.nextafter(got, f32(np.inf))
        gap = abs(Fraction(float(got)) - exact)
        assert gap <= abs(Fraction(float(down)) - exact)
        assert gap <= abs(Fraction(float(up)) - exact)


# -- what onnxruntime.quantization writes --------------------------------------------------------------------


def float_model(kind):
    """A small float model: dense, convolutions with pools, or a residual block."""
    random, held = np.random.default_rng(1), {}

    def w(name, *shape):
        held[name] = (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        return name

    def conv(x, name, out, channels, size=3, **more):
        pads = [size // 2] * 4
        return (
            "Conv",
            [x, w(f"w{name}", out, channels, size, size), w(f"b{name}", out)],
            f"c{name}",
            {"pads": pads, **more},
        )

    if kind == "dense":
        shape = [9]
        nodes = [
            ("Gemm", ["x", w("w1", 8, 9), w("b1", 8)], "a", {"transB": 1}),
            ("Relu", ["a"], "r", {}),
            ("MatMul", ["r", w("w2", 8, 3)], "y", {}),
        ]
    elif kind == "pools":
        shape = [1, 8, 8]
        nodes = [
            conv("x", "1", 3, 1),
            ("Relu", ["c1"], "r1", {}),
            ("MaxPool", ["r1"], "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            conv("p", "2", 4, 3),
            ("Relu", ["c2"], "r2", {}),
            ("AveragePool", ["r2"], "v", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            ("Flatten", ["v"], "f", {}),
            ("Gemm", ["f", w("w3", 3, 16), w("b3", 3)], "y", {"transB": 1}),
        ]
    else:
        shape = [2, 6, 6]
        nodes = [
            conv("x", "0", 4, 2),
            ("Relu", ["c0"], "r0", {}),
            conv("r0", "1", 4, 4, strides=[2, 2]),
            ("Relu", ["c1"], "r1", {}),
            conv("r1", "2", 4, 4),
            conv("r0", "s", 4, 4, size=1, strides=[2, 2]),
            ("Add", ["c2", "cs"], "m", {}),
            ("Relu", ["m"], "n", {}),
            conv("n", "3", 4, 4),
            ("Add", ["c3", "n"], "k", {}),
            ("Relu", ["k"], "l", {}),
            ("GlobalAveragePool", ["l"], "o", {}),
            ("Flatten", ["o"], "f", {}),
            ("Gemm", ["f", w("w9", 3, 4), w("b9", 3)], "y", {"transB": 1}),
        ]
    return file(nodes, held, [("x", FLOAT, ["n", *shape])], [("y", FLOAT, None)]), shape


def static(folder, kind, quant_format, activations, per_channel):
    quantization = pytest.importorskip("onnxruntime.quantization")
    raw, shape = float_model(kind)
    (folder / "float.onnx").write_bytes(raw)
    data = iter([{"x": (np.random.default_rng(2).integers(0, 256, (40, *shape)) / 255).astype(np.float32)}])

    class Samples(quantization.CalibrationDataReader):
        def get_next(self):
            return next(data, None)

    quantization.quantize_static(
        folder / "float.onnx",
        folder / "whole.onnx",
        Samples(),
        quant_format=quantization.QuantFormat[quant_format],
        activation_type=quantization.QuantType[activations],
        weight_type=quantization.QuantType.QInt8,
        per_channel=per_channel,
    )
    return folder / "whole.onnx", shape


CASES = [
    ("dense", "QDQ", "QUInt8", False),
    ("dense", "QDQ", "QInt8", True),
    ("dense", "QOperator", "QInt8", False),
    ("pools", "QOperator", "QUInt8", True),
    ("pools", "QOperator", "QInt8", False),
    ("residual", "QDQ", "QUInt8", True),
    ("residual", "QDQ", "QUInt8", False),
    ("residual", "QOperator", "QUInt8", False),
    ("residual", "QOperator", "QInt8", True),
]


@pytest.mark.parametrize(("kind", "quant_format", "activations", "per_channel"), CASES)
def test_what_quantize_static_writes(tmp_path, kind, quant_format, activations, per_channel):
    path, shape = static(tmp_path, kind, quant_format, activations, per_channel)
    found = read_onnx(path, inputs=PIXELS).report
    assert found.proof.interpreters[-1] == "ONNX Runtime"
    X = np.random.default_rng(4).integers(0, 256, (100, *shape))
    theirs = run(path.read_bytes(), x=(X / 255).astype(np.float32)).reshape(100, -1)
    mine = found.network.logits(X.reshape(100, -1), engine="definition")
    assert np.array_equal(mine.astype(np.float32), theirs)
    assert {type(layer) for layer in found.network.layers} <= {QuantizedLayer, QuantizedConv, PoolLayer}


def test_averages_whose_order_of_additions_decides(tmp_path):
    """In QDQ files averages keep the scale of their input, so that sums lie on ties, up to float rounding."""
    path, _ = static(tmp_path, "pools", "QDQ", "QUInt8", False)
    with pytest.raises(
        FileError, match=r"AveragePool.*in floats, because float32 sums depend on their order"
    ):
        read_onnx(path, inputs=PIXELS)
    found = read_onnx(path, inputs=PIXELS, strict=False).report
    assert any("read in exact numbers" in remark for remark in found.remarks)


def test_int8_tensors_that_are_read_twice_are_floats_in_onnx_runtime(tmp_path):
    path, _ = static(tmp_path, "residual", "QDQ", "QInt8", False)
    with pytest.raises(FileError, match=r"is int8 and read more than once.*uint8"):
        read_onnx(path, inputs=PIXELS)
    assert read_onnx(path, inputs=PIXELS, strict=False).report.proof is not None


# -- inputs --------------------------------------------------------------------------------------------------


def test_real_inputs_are_cut_where_the_quantizer_rounds():
    network = read_onnx(dense())
    cuts = network.encoder.codings[0].cuts
    scale = f32(1 / 255)
    for m, cut in enumerate(cuts, start=1):
        assert float(f32(cut)) == cut
        below = np.nextafter(f32(cut), f32(-np.inf))
        assert np.rint(f32(cut) / scale) >= m > np.rint(below / scale)
    X = np.random.default_rng(0).uniform(-1, 2, (200, 2)).astype(np.float32)
    X[:100] = np.array(cuts, np.float32)[np.random.default_rng(1).integers(0, 255, (100, 2))]
    assert np.array_equal(network.logits(X, engine="definition").astype(np.float32), run(dense(), x=X))
    assert read_onnx(dense(), inputs=Reals(0, 1)).encoder.codings[0].high == 1


@pytest.mark.parametrize(
    "inputs",
    [
        Integers(0, 255, step=Fraction(1, 255)),
        Integers(0, 1000, step=Fraction(1, 1000)),  # several raw numbers to a level
        Integers(0, 50, step=Fraction(1, 50)),  # levels that no raw number has
        Integers(-3, 3),
    ],
)
def test_whole_inputs_of_any_step(inputs):
    network = read_onnx(dense(), inputs=inputs)
    X = np.random.default_rng(0).integers(inputs.low, inputs.high + 1, (300, 2))
    values = np.array([[float(inputs.value(int(x))) for x in row] for row in X], np.float32)
    assert np.array_equal(network.logits(X, engine="definition").astype(np.float32), run(dense(), x=values))


def test_a_normalized_input():
    nodes = [
        ("Sub", ["x", "m"], "u", {}),
        ("Div", ["u", "d"], "v", {}),
        ("QuantizeLinear", ["v", "s", "z"], "q", {}),
        ("DequantizeLinear", ["q", "s", "z"], "h", {}),
        ("DequantizeLinear", ["w", "s", "wz"], "wd", {}),
        ("MatMul", ["h", "wd"], "g", {}),
        ("QuantizeLinear", ["g", "ys", "z"], "yq", {}),
        ("DequantizeLinear", ["yq", "ys", "z"], "y", {}),
    ]
    held = {
        "m": np.array([0.5, 0.25], np.float32),
        "d": np.array([0.3, 0.7], np.float32),
        "s": f32(0.02),
        "z": np.uint8(90),
        "w": np.array([[3, -4], [5, 100]], np.int8),
        "wz": np.int8(0),
        "ys": f32(0.1),
    }
    raw = file(nodes, held, [("x", FLOAT, [None, 2])], [("y", FLOAT, None)])
    X = np.random.default_rng(0).integers(0, 256, (300, 2))
    network = read_onnx(raw, inputs=PIXELS)
    assert np.array_equal(
        network.logits(X, engine="definition").astype(np.float32), run(raw, x=(X / 255).astype(np.float32))
    )


def test_whole_numbers_as_input():
    nodes = [
        ("MatMulInteger", ["x", "w", "z", "wz"], "a", {}),
        ("Cast", ["a"], "f", {"to": 1}),
        ("Mul", ["f", "s"], "m", {}),
        ("Add", ["m", "b"], "n", {}),
        ("Relu", ["n"], "r", {}),
        ("QuantizeLinear", ["r", "ys", "yz"], "y", {}),
    ]
    held = {
        "w": np.array([[3, -4, 9], [5, 100, -7]], np.int8),
        "z": np.uint8(3),
        "wz": np.int8(1),
        "s": np.array([0.013, 0.02, 0.005], np.float32),
        "b": np.array([0.5, -0.25, 3], np.float32),
        "ys": f32(0.25),
        "yz": np.uint8(0),
    }
    raw = file(nodes, held, [("x", UINT8, [None, 2])], [("y", UINT8, None)])
    network = read_onnx(raw)
    X = np.random.default_rng(0).integers(0, 256, (500, 2))
    assert np.array_equal(network.logits(X, engine="definition"), run(raw, x=X.astype(np.uint8)))
    with pytest.raises(FileError, match=r"integers from 0 to 255. Declare inputs=Integers\(0, 255\)"):
        read_onnx(raw, inputs=PIXELS)


@pytest.mark.parametrize("kind", ["conv", "matmul"])
def test_class_scores_without_a_last_quantizer(kind):
    middle = (
        [("Gemm", ["d", "wd"], "y", {"transB": 1})] if kind == "conv" else [("MatMul", ["d", "wd"], "y", {})]
    )
    held = {
        "s": f32(1 / 255),
        "z": np.uint8(5),
        "w": np.array([[3, -2], [1, 5]], np.int8),
        "ws": f32(0.013),
        "wz": np.int8(0),
    }
    nodes = [
        ("QuantizeLinear", ["x", "s", "z"], "q", {}),
        ("DequantizeLinear", ["q", "s", "z"], "d", {}),
        ("DequantizeLinear", ["w", "ws", "wz"], "wd", {}),
        *middle,
    ]
    raw = file(nodes, held, [("x", FLOAT, [None, 2])], [("y", FLOAT, None)])
    network = read_onnx(raw, inputs=PIXELS)
    X = np.random.default_rng(0).integers(0, 256, (300, 2))
    theirs = run(raw, x=(X / 255).astype(np.float32))
    assert np.allclose(network.logits(X, engine="definition"), theirs, rtol=1e-6)
    assert (network.predict(X, engine="definition") == theirs.argmax(axis=1)).all()


@pytest.mark.parametrize("tail", ["Softmax", "ArgMax"])
def test_tails_are_left_out(tail):
    end = [("DequantizeLinear", ["yq", "ys", "yz"], "t", {}), (tail, ["t"], "y", {"axis": 1})]
    raw = dense(end=end, kind=TensorProto.INT64 if tail == "ArgMax" else FLOAT)
    found = read_onnx(raw, inputs=PIXELS).report
    X = np.random.default_rng(0).integers(0, 256, (300, 2))
    theirs = run(raw, x=(X / 255).astype(np.float32))
    theirs = theirs.reshape(-1) if tail == "ArgMax" else theirs.argmax(axis=1)
    assert (found.network.predict(X, engine="definition") == theirs).all()
    assert any(tail in remark for remark in found.remarks)


def test_concatenated_branches():
    held = {
        "s": f32(1 / 255),
        "z": np.uint8(0),
        "w": np.ones((2, 1, 1, 1), np.int8),
        "wz": np.int8(0),
        "ws": f32(0.5),
        "a": f32(0.004),
        "b": f32(0.003),
        "za": np.uint8(9),
        "c": f32(0.005),
        "zc": np.uint8(4),
    }
    nodes = [
        ("QuantizeLinear", ["x", "s", "z"], "q", {}),
        ("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "a", "za"], "l", {}),
        ("QLinearConv", ["q", "s", "z", "w", "ws", "wz", "b", "z"], "r", {"strides": [1, 1]}),
        ("QLinearConcat", ["c", "zc", "l", "a", "za", "r", "b", "z"], "k", {"axis": 1}),
        ("Flatten", ["k"], "f", {}),
        ("DequantizeLinear", ["f", "c", "zc"], "y", {}),
    ]
    raw = file(nodes, held, [("x", FLOAT, [None, 1, 2, 2])], [("y", FLOAT, None)])
    network = read_onnx(raw, inputs=PIXELS)
    X = np.random.default_rng(0).integers(0, 256, (100, 4))
    theirs = run(raw, x=(X / 255).astype(np.float32).reshape(-1, 1, 2, 2))
    assert np.array_equal(network.logits(X, engine="definition").astype(np.float32), theirs)


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("shape", [(5,), (3, 2, 2)])
def test_a_constant_that_is_added_is_a_function_of_single_levels(left, shape):
    random = np.random.default_rng(0)
    row = random.integers(0, 256, (3, 1, 1) if len(shape) == 3 else shape).astype(np.uint8)
    held = {
        "s": f32(1 / 255),
        "z": np.uint8(0),
        "c": row,
        "cs": f32(0.0031),
        "cz": np.uint8(77),
        "ys": f32(0.0057),
        "yz": np.uint8(31),
    }
    data, fixed = ["q", "s", "z"], ["c", "cs", "cz"]
    given = [*fixed, *data] if left else [*data, *fixed]
    nodes = [
        ("QuantizeLinear", ["x", "s", "z"], "q", {}),
        ("QLinearAdd", [*given, "ys", "yz"], "a", {}),
        ("Flatten", ["a"], "f", {}),
        ("DequantizeLinear", ["f", "ys", "yz"], "y", {}),
    ]
    raw = file(nodes, held, [("x", FLOAT, [None, *shape])], [("y", FLOAT, None)])
    network = read_onnx(raw, inputs=PIXELS)
    X = np.repeat(np.arange(256)[:, None], np.prod(shape), axis=1)
    theirs = run(raw, x=(X / 255).astype(np.float32).reshape(-1, *shape))
    assert np.array_equal(network.logits(X, engine="definition").astype(np.float32), theirs)


# -- widths --------------------------------------------------------------------------------------------------


def test_widths_are_said_by_the_file():
    """Four bits and sixteen are read, in exact numbers, because runtimes compute them in floats."""
    tensor = helper.make_tensor("w", TensorProto.INT4, [2, 2], [3, -2, 7, -8])
    zero = helper.make_tensor("wz", TensorProto.INT4, [], [0])
    raw = dense(constants={"w": tensor, "wz": zero, "yz": np.uint16(100), "ys": f32(0.0001)}, opset=21)
    with pytest.raises(FileError, match="in floats, because its weights have 4 bits"):
        read_onnx(raw, inputs=PIXELS)
    network = read_onnx(raw, inputs=PIXELS, strict=False)
    assert network.layers[0].weights.tolist() == [[3, -2], [7, -8]]
    assert network.layers[0].height == 65535
    four = {"z": helper.make_tensor("z", TensorProto.UINT4, [], [0]), "s": f32(1 / 15)}
    narrow = read_onnx(dense(constants=four, opset=21), inputs=PIXELS, strict=False)
    assert narrow.layers[0].tops.tolist() == [15, 15]


# -- refusals ------------------------------------------------------------------------------------------------


def test_refusals_name_what_and_say_what_to_do():
    refused = {
        r"dynamic quantization takes its scales from each input.*quantize_static": file(
            [("DynamicQuantizeLinear", ["x"], "y", {})], {}, [("x", FLOAT, [None, 2])], [("y", UINT8, None)]
        ),
        r"Gemm.*in floats, because it is clipped to \(0.0, inf\)": dense(
            middle=[("Gemm", ["d", "wd"], "h", {"transB": 1}), ("Relu", ["h"], "g", {})]
        ),
        r"its bias is not quantized": dense(
            middle=[("Gemm", ["d", "wd", "b"], "g", {"transB": 1})], constants={"b": np.ones(2, np.float32)}
        ),
        r"the scale of its bias is not": dense(
            middle=[
                ("DequantizeLinear", ["b", "bs"], "bd", {}),
                ("Gemm", ["d", "wd", "bd"], "g", {"transB": 1}),
            ],
            constants={"b": np.ones(2, np.int32), "bs": f32(0.5)},
        ),
        r"Transpose.*channels-first": dense(
            middle=[("Transpose", ["d"], "t", {"perm": [1, 0]}), ("Gemm", ["t", "wd"], "g", {})]
        ),
        r"its alpha or beta is not 1": dense(
            middle=[("Gemm", ["d", "wd"], "g", {"transB": 1, "alpha": 2.0})]
        ),
        r"after node 4 \(Softmax\), which must be the end.*nodes_to_exclude": dense(
            middle=[("Gemm", ["d", "wd"], "h", {"transB": 1}), ("Softmax", ["h"], "g", {"axis": 1})]
        ),
    }
    for words, raw in refused.items():
        with pytest.raises(FileError, match=words):
            read_onnx(raw, inputs=PIXELS)
    with pytest.raises(FileError, match="there is no sign"):
        read_onnx(dense(), inputs=PIXELS, zero=1)


def test_what_does_not_fit_together_is_refused_by_node():
    """Files that runtimes do not load, or fail on: never a traceback, never a network."""
    refused = {
        r"ONNX Runtime, .* loads it and then fails: .*Mend the file": dense(
            constants={"ys": np.full((1, 1), 0.02, np.float32)}
        ),
        r"ONNX Runtime, .* calls it invalid: In Node, .*Mend the file": dense(
            end=[("DequantizeLinear", ["yq", "ys", "yz"], "y", {"output_dtype": 1})]  # since opset 23
        ),
        r"node 2 \(DequantizeLinear\): it has 3 scales and 1 zero points for a constant of shape \(2, 2\)": (
            dense(constants={"ws": np.full(3, 0.01, np.float32)})
        ),
        r"node 4 \(QuantizeLinear\): it quantizes to int32, but .* up to 16 bits": dense(
            constants={"yz": np.int32(0)}
        ),
        r"node 5 \(DequantizeLinear\): its output_dtype is not float32": dense(
            end=[("DequantizeLinear", ["yq", "ys", "yz"], "y", {"output_dtype": 10})], opset=23
        ),
        r"node 5 \(DequantizeLinear\): its scale is missing": dense(
            end=[("DequantizeLinear", ["yq"], "y", {})]
        ),
        r"node 3 \(Gemm\): it is not supported": dense(
            middle=[("Gemm", ["d", "wd"], "g", {"transB": 1, "domain": "com.microsoft"})]
        ),
        r"node 3 \(DequantizeLinear\): its axis is 2, but its input has 1 axes": dense(
            middle=[
                ("DequantizeLinear", ["b", "bs"], "bd", {"axis": 2}),
                ("Gemm", ["d", "wd", "bd"], "g", {}),
            ],
            constants={"b": np.ones(2, np.int32), "bs": np.ones(2, np.float32)},
        ),
        r"ReduceMean\): ONNX Runtime averages it in floats.*dynamo=False": dense(
            middle=[("ReduceMean", ["d"], "h", {"axes": [1]}), ("MatMul", ["h", "wd"], "g", {})]
        ),
        r"BatchNormalization\): fold it into the previous layer.*fuse_linear_bn_eval": dense(
            middle=[
                ("BatchNormalization", ["d", "o", "o", "o", "o"], "h", {}),
                ("MatMul", ["h", "wd"], "g", {}),
            ],
            constants={"o": np.ones(2, np.float32)},
        ),
        r"its input is clipped and not quantized again.*ActivationSymmetric": dense(
            middle=[("Relu", ["d"], "h", {}), ("Gemm", ["h", "wd"], "g", {"transB": 1})]
        ),
    }
    for words, raw in refused.items():
        with pytest.raises(FileError, match=words):
            read_onnx(raw, inputs=PIXELS)


@pytest.mark.parametrize(
    ("constants", "words"),
    [
        ({"wz": np.uint8(0)}, "int8 and uint8, but int8 or uint8 is needed for both"),
        ({"w": np.ones((2, 2), np.int16), "wz": np.int16(0)}, "are int16, but int8 or uint8"),
        ({"ws": np.ones(3, np.float32)}, r"it has 3 scales .* weights of shape \(2, 2\)"),
        ({"b": np.ones(3, np.int32)}, "its bias must be int32 with one number for each of 2"),
        ({"b": np.ones(2, np.int64)}, "its bias must be int32 with one number for each of 2"),
        ({"yz": np.int32(0)}, "the zero point of its output is int32"),
    ],
)
def test_integer_operators_have_types(constants, words):
    held = {
        "s": f32(0.5),
        "z": np.uint8(0),
        "w": np.ones((2, 2), np.int8),
        "wz": np.int8(0),
        "ws": f32(1),
        "b": np.ones(2, np.int32),
        "yz": np.uint8(0),
        **constants,
    }
    nodes = [("QGemm", ["x", "s", "z", "w", "ws", "wz", "b", "s", "yz"], "y", {"transB": 1})]
    with pytest.raises(FileError, match=r"node 0 \(QGemm\): .*" + words):
        read_onnx(file(nodes, held, [("x", UINT8, [None, 2])], [("y", UINT8, None)]))


@pytest.mark.parametrize(
    ("scale", "words"), [(1e36, "its scales are so far apart"), (3e38, "so large that .* infinite")]
)
def test_scales_too_far_apart_to_average(scale, words):
    held = {"s": f32(scale), "z": np.uint8(0), "y": f32(1e-4)}
    nodes = [
        ("QLinearGlobalAveragePool", ["x", "s", "z", "y", "z"], "p", {}),
        ("Flatten", ["p"], "out", {}),
    ]
    raw = file(nodes, held, [("x", UINT8, [None, 2, 2, 2])], [("out", UINT8, None)])
    with pytest.raises(FileError, match=r"node 0 \(QLinearGlobalAveragePool\): .*" + words):
        read_onnx(raw)


def test_sums_that_no_weights_explain_are_counted():
    """Scales 8 : 1 over 10, where every tenth sum is a tie that float32 breaks one way or the other."""
    held = {
        "s": f32(1 / 255),
        "z": np.uint8(0),
        "a": f32(0.03125),
        "b": f32(0.00390625),
        "bz": np.uint8(66),
        "y": f32(0.0390625),
    }
    nodes = [
        ("QuantizeLinear", ["x", "s", "z"], "q", {}),
        ("QLinearConv", ["q", "s", "z", "w", "s", "wz", "a", "z"], "l", {}),
        ("QLinearConv", ["q", "s", "z", "w", "s", "wz", "b", "bz"], "r", {}),
        ("QLinearAdd", ["l", "a", "z", "r", "b", "bz", "y", "z"], "k", {}),
        ("Flatten", ["k"], "out", {}),
    ]
    held |= {"w": np.ones((1, 1, 1, 1), np.int8), "wz": np.int8(0)}
    raw = file(nodes, held, [("x", FLOAT, [None, 1, 1, 1])], [("out", UINT8, None)])
    with pytest.raises(FileError, match=r"QLinearAdd\): 245 of its 65,536 pairs of levels do not agree"):
        read_onnx(raw, inputs=PIXELS)


# -- the proof -----------------------------------------------------------------------------------------------


def test_a_wrong_step_is_found_by_the_interpreter():
    graph = read_graph(dense())
    program = read_program(graph)
    made = level_import(program, PIXELS)
    assert prove_levels(made, program, graph).proof.bits > 0
    network = made.found.network
    layer = network.layers[0]
    steps = layer.steps.copy()
    steps = np.where(steps < NEVER, steps + 3, NEVER)
    wrong = QuantizedLayer.from_sums(layer.weights, steps, layer.tops)
    turned = Network(network.encoder, [wrong], network.head)
    with pytest.raises(FileError, match=r"what was read is not what the source computes; .* at 'yq'"):
        prove_levels(replace(made, found=replace(made.found, network=turned)), program, graph)


# -- and back ------------------------------------------------------------------------------------------------


def test_networks_of_levels_are_written_as_they_are():
    for seed in (0, 1, 2, 3, 4, 6):
        random = np.random.default_rng(seed)
        network = read_onnx(quantized_model(random).raw, inputs=PIXELS, prove=False)
        raw = onnx_bytes(network, hidden=True)
        X = random.integers(0, 256, (20, network.encoder.features))
        session = onnxruntime.InferenceSession(raw, providers=["CPUExecutionProvider"])
        names = [port.name for port in session.get_outputs()]
        found = dict(zip(names, session.run(None, {"x": X.astype(np.float64)}), strict=True))
        assert np.array_equal(found["class"], network.predict(X, engine="definition"))
        assert np.array_equal(found["scores"], network.logits(X, engine="definition"))
        for k, levels in enumerate(network.hidden(X), start=1):
            assert np.array_equal(found[f"hidden_{k}"], levels)
