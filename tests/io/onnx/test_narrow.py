"""Files of few bits as Brevitas writes them (QCDQ), against ONNX Runtime."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import sugenet as sg
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.rewriting import narrowed

pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")


def qcdq(seed, clipped=True):
    """Two layers: weights and activations of 2 to 4 bits, with one scale per channel or one for all."""
    random = np.random.default_rng(seed)
    nodes, arrays, count = [], [], 0

    def const(array):
        nonlocal count
        count += 1
        arrays.append(numpy_helper.from_array(np.asarray(array), f"c{count}"))
        return f"c{count}"

    def add(op, *inputs, **attributes):
        nonlocal count
        count += 1
        nodes.append(helper.make_node(op, [*inputs], [f"v{count}"], **attributes))
        return f"v{count}"

    def quantized(x, scale, axis=None):
        bits, signed = int(random.integers(2, 5)), axis is not None or random.random() < 0.5
        kind = np.int8 if signed else np.uint8
        low, high = (1 - 2 ** (bits - 1), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        more = {} if axis is None or np.ndim(scale) == 0 else {"axis": axis}
        unit, zero = const(np.float32(scale)), const(np.zeros(np.shape(scale), kind))
        codes = add("QuantizeLinear", x, unit, zero, **more)
        if clipped:
            codes = add("Clip", codes, const(kind(low)), const(kind(high)))
        return add("DequantizeLinear", codes, unit, zero, **more)

    now = quantized("x", 0.5)
    for size, out in ((6, 8), (8, 3)):
        scale = 0.25 if random.random() < 0.5 else random.choice([0.25, 0.5, 0.125], out)
        weights = random.uniform(-1, 1, (size, out)).astype(np.float32)
        now = add("MatMul", now, quantized(const(weights), scale, axis=1))
        if out == 8:
            rows = [random.uniform(0.5, 1.5, 8).astype(np.float32) for _ in range(4)]
            now = quantized(add("BatchNormalization", now, *map(const, rows)), 0.5)
    port = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6])
    end = helper.make_tensor_value_info(now, TensorProto.FLOAT, ["n", 3])
    opsets = [helper.make_opsetid("", 17)]
    graph = helper.make_graph(nodes, "qcdq", [port], [end], arrays)
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def test_quantizers_of_few_bits_are_read_and_equal_to_onnx_runtime(tmp_path):
    for seed in range(6):
        onnx.save(qcdq(seed), tmp_path / "net.onnx")
        found = sg.read_onnx(tmp_path / "net.onnx", inputs=sg.Integers(-4, 4))
        assert "ONNX Runtime" in " ".join(found.report.proof.interpreters)


def test_other_files_stay_as_they_are():
    plain = read_graph(qcdq(0, clipped=False).SerializeToString())
    assert narrowed(plain) is plain
    model = qcdq(1)
    model.graph.node.append(helper.make_node("Identity", [model.graph.node[1].output[0]], ["beside"]))
    shared = read_graph(model.SerializeToString())
    assert narrowed(shared) is shared
    model = qcdq(2)
    next(array for array in model.graph.initializer if array.name == model.graph.node[1].input[2]).CopyFrom(
        numpy_helper.from_array(np.asarray(5, np.uint8), model.graph.node[1].input[2])
    )
    odd = read_graph(model.SerializeToString())
    assert narrowed(odd) is odd
