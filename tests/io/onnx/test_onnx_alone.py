"""Each node of a file is compared alone with the interpreter: faults that no sample of the whole network
meets are refused by name.
"""

from dataclasses import replace

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import sugenet as sg  # noqa: E402
from sugenet.errors import FileError  # noqa: E402
from sugenet.io.onnx import reader  # noqa: E402
from sugenet.io.onnx.fold import Folder  # noqa: E402
from sugenet.io.onnx.layers import pooled  # noqa: E402
from sugenet.io.onnx.patterns import elementwise  # noqa: E402

F = np.float32


def model(nodes, shape, outputs, **constants):
    """The bytes of a file with one input "x" and one output "y"."""
    made = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(
        [helper.make_node(op, list(reads), [out], **attributes) for op, reads, out, attributes in nodes],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, *shape])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, outputs])],
        made,
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def sign(before, name, after):
    """x > 0 or x == 0, as some exporters write it."""
    return [
        ("Greater", (before, "zero"), f"{name}g", {}),
        ("Equal", (before, "zero"), f"{name}e", {}),
        ("Or", (f"{name}g", f"{name}e"), f"{name}o", {}),
        ("Where", (f"{name}o", "one", "minus"), after, {}),
    ]


NUMBERS = {"zero": F(0), "one": F(1), "minus": F(-1)}


def weights(seed, *shape):
    return np.random.default_rng(seed).choice([-1, 1], shape).astype(F)


def clipped():
    nodes = [
        ("MatMul", ("x", "A"), "a", {}),
        ("Clip", ("a", "low", "high"), "b", {}),
        ("BatchNormalization", ("b", "unit", "none", "mean", "unit"), "c", {}),
        *sign("c", "s", "d"),
        ("MatMul", ("d", "B"), "y", {}),
    ]
    one = {"unit": np.ones(1, F), "none": np.zeros(1, F), "mean": np.full(1, 1.5, F)}
    return model(
        nodes,
        (64,),
        2,
        A=weights(0, 64, 1) / 32,
        B=np.array([[1, -1]], F),
        low=F(-1),
        high=F(1),
        **one,
        **NUMBERS,
    )


def pool():
    nodes = [
        ("Conv", ("x", "K"), "a", {}),
        ("MaxPool", ("a",), "b", {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ("Flatten", ("b",), "c", {}),
        *sign("c", "s", "d"),
        ("MatMul", ("d", "B"), "y", {}),
    ]
    return model(nodes, (1, 5, 5), 2, K=np.ones((1, 1, 2, 2), F), B=weights(1, 9, 2), **NUMBERS)


def test_the_report_counts_nodes_that_were_compared_alone():
    found = sg.read_onnx(clipped(), inputs=sg.Bits()).report
    assert found.operations_compared_alone == 7  # all but Equal, which is not a sign by itself
    assert sg.read_onnx(clipped(), inputs=sg.Bits(), prove=False).report.operations_compared_alone == 0
    assert sg.read_onnx(pool(), inputs=sg.Bits()).report.operations_compared_alone == 7


def unread(_, given):
    return given[0]


def without_upper_bound(node, given):
    return elementwise(node, [*given[:2], None, None, None], Folder(1 << 20))


def averaged(node, given):
    return pooled(replace(node, op="AveragePool"), given[0])


@pytest.mark.parametrize(
    ("name", "wrong", "file"),
    [
        ("Clip", unread, clipped()),
        ("Clip", without_upper_bound, clipped()),
        ("BatchNormalization", unread, clipped()),
        ("MaxPool", averaged, pool()),
    ],
)
def test_a_fault_is_refused_by_the_name_of_the_node(monkeypatch, name, wrong, file):
    monkeypatch.setitem(reader.RULES, name, wrong)
    with pytest.raises(FileError, match=rf"\({name}\) was compared alone with the interpreter"):
        sg.read_onnx(file, inputs=sg.Bits())
