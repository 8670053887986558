"""Small ONNX files that ask for much: refused by our errors before memory or time is spent, by the reader and
by the interpreter alike.
"""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest

from sugenet.errors import FileError
from sugenet.io.exact.domains import Integers
from sugenet.io.importers import read_onnx
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.interpreter.program import Interpreter

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from tests.io.onnx.test_onnx_nothing_left_out import SIGN, F, model, sign  # noqa: E402

HUGE = 1 << 40
ENDS = [
    *sign("a", "s"),
    ("GlobalAveragePool", ["s"], "r"),
    ("Flatten", ["r"], "t"),
    ("MatMul", ["t", "h"], "y"),
]
NUMBERS = {**SIGN, "w": np.ones((1, 1, 1, 1), F), "h": np.ones((1, 2), F)}


def maps(*nodes, shape=(1, 2, 2), **constants):
    return model([*nodes, *ENDS], {**NUMBERS, **constants}, ["n", *shape])


def conv(shape=(1, 2, 2), **attributes):
    return maps(("Conv", ["x", "w"], "a", attributes), shape=shape)


def pool(op, **attributes):
    return maps(*sign("x", "b"), (op, ["b"], "a", attributes))


def flat(op, inputs, features=4, **constants):
    nodes = [
        (op, inputs, "a", {"axis": 1} if op == "Gather" else {}),
        *sign("a", "s"),
        ("MatMul", ["s", "h"], "y"),
    ]
    return model(nodes, {**SIGN, "h": np.ones((4, 2), F), **constants}, ["n", features])


HOSTILE = {
    "pads": conv(pads=[8192] * 4),
    "pads beyond all": conv(pads=[HUGE] * 4),
    "pads that just fit": conv(pads=[500] * 4),
    "pads with steps": conv(pads=[1 << 19] * 4, strides=[64, 64]),
    "gaps": maps(
        ("Conv", ["x", "k"], "a", {"pads": [4000] * 4, "dilations": [4000, 4000]}), k=np.ones((1, 1, 2, 2), F)
    ),
    "Pad": maps(
        ("Pad", ["x", "p"], "q"), ("Conv", ["q", "w"], "a"), p=np.array([0, 0, 9999, 9999, 0, 0, 9999, 9999])
    ),
    "Pad again and again": maps(
        *((("Pad"), [f"p{k}" if k else "x", "p"], f"p{k + 1}") for k in range(9)),
        ("Conv", ["p9", "w"], "a"),
        p=np.array([0, 0, 99, 99] * 2),
    ),
    "samples": conv(shape=(1, 4096, 4096)),
    "samples of many channels": conv(shape=(1, 1 << 26, 1)),
    "a pool": pool("MaxPool", kernel_shape=[200_000, 200_000], pads=[199_999] * 4, strides=[200_000] * 2),
    "a dense pool": pool("MaxPool", kernel_shape=[120, 120], pads=[119] * 4),
    "an average": pool(
        "AveragePool",
        kernel_shape=[200_000, 200_000],
        pads=[199_999] * 4,
        strides=[200_000] * 2,
        count_include_pad=1,
    ),
    "ceil mode": pool("MaxPool", kernel_shape=[1, 1], pads=[1 << 19] * 4, ceil_mode=1),
    "same": pool("MaxPool", kernel_shape=[1 << 19, 1 << 19], auto_pad="SAME_UPPER"),
    "groups": conv(group=HUGE),
    "Expand": flat("Expand", ["x", "e"], e=np.array([1 << 20, 1 << 20, 4])),
    "Reshape": flat("Reshape", ["x", "e"], e=np.array([HUGE, -1])),
    "Gather": flat("Gather", ["x", "e"], features=1 << 16, e=np.zeros(1 << 10, np.int64)),
    "ConstantOfShape": model(
        [
            ("ConstantOfShape", ["e"], "c"),
            ("Add", ["x", "c"], "a"),
            *sign("a", "s"),
            ("MatMul", ["s", "h"], "y"),
        ],
        {**SIGN, "e": np.array([1 << 30, 4]), "h": np.ones((4, 2), F)},
        ["n", 4],
    ),
    "Range": model(
        [
            ("Range", ["zero", "e", "one"], "c"),
            ("Add", ["x", "c"], "a"),
            *sign("a", "s"),
            ("MatMul", ["s", "h"], "y"),
        ],
        {**SIGN, "e": F(1e12), "h": np.ones((4, 2), F)},
        ["n", 4],
    ),
    "Unsqueeze": flat("Unsqueeze", ["x", "e"], e=np.arange(1, 65)),
    "a fixed batch": model(
        [*sign("x", "s"), ("MatMul", ["s", "h"], "y")], {**SIGN, "h": np.ones((4, 2), F)}, [1 << 40, 4]
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_small_files_that_ask_for_much(name):
    raw = HOSTILE[name]
    assert len(raw) < 1000 or name == "Gather"
    tracemalloc.start()
    try:
        with pytest.raises(FileError) as error:
            read_onnx(raw, inputs=Integers(0, 3))
        assert "understood" not in str(error.value)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
        tracemalloc.reset_peak()
        with suppress(FileError):  # the interpreter by itself, where nothing was read before
            program = Interpreter(read_graph(raw), "y")
            program.run(np.zeros((program.batch or 1, *program.sample)))
        assert tracemalloc.get_traced_memory()[1] < 1 << 30
    finally:
        tracemalloc.stop()
