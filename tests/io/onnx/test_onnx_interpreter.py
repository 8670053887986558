"""The interpreter of ONNX operators against ONNX Runtime, operator by operator, over shapes,
attributes and operator sets.
"""

import zlib

import numpy as np
import pytest

from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.interpreter.program import DATAFLOW_OPERATORS, OPERATORS, Interpreter
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.onnx.reader import ACCEPTED
from tests.thinned import examples

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

F = np.float32
KINDS = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(bool): TensorProto.BOOL,
    np.dtype(np.int32): TensorProto.INT32,
}
CUSTOM = "qonnx.custom_op.general"


def build(op, data, constants, opset, domain="", outputs=1, **attributes):
    """A graph of one operator; `data` is an array at place 0, or None where all inputs are constants."""
    names = ([] if data is None else ["x"]) + [
        f"c{k}" if c is not None else "" for k, c in enumerate(constants)
    ]
    node = helper.make_node(
        op, names, [f"y{k}" if k else "y" for k in range(outputs)], domain=domain, **attributes
    )
    dead = [] if data is not None else [helper.make_node("Identity", ["x"], ["dead"])]
    given = np.zeros((1, 1), F) if data is None else data
    graph = helper.make_graph(
        [node, *dead],
        "g",
        [helper.make_tensor_value_info("x", KINDS[given.dtype], given.shape)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.array(c), f"c{k}") for k, c in enumerate(constants) if c is not None],
    )
    opsets = [
        helper.make_opsetid("", opset),
        helper.make_opsetid(CUSTOM, 1),
        helper.make_opsetid("ai.onnx.ml", 1),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def interpreted(raw, data):
    graph = read_graph(raw)
    program = Interpreter(graph, "y")
    found = program.run(data).values["y"]
    assert np.all(found.error >= 0)
    return found.values


def by_runtime(raw, data):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(raw, options, providers=["CPUExecutionProvider"]).run(["y"], {"x": data})[0]


class Plottable:
    """Random inputs and attributes of one operator."""

    def __init__(self, op, number):
        self.random = np.random.default_rng(zlib.crc32(op.encode()) + number)
        self.opset = (
            int(self.random.integers(16, 23))
            if op in ("Where", "GreaterOrEqual", "LessOrEqual")
            else int(self.random.integers(11, 23))
        )

    def pick(self, *options):
        return options[int(self.random.integers(len(options)))]

    def real(self, *shape):
        return (self.random.integers(-8, 9, shape) / 4).astype(F)

    def shape(self, low=2, high=4):
        return tuple(
            int(size) for size in self.random.integers(1, 4, int(self.random.integers(low, high + 1)))
        )

    def beside(self, shape):
        """A shape that broadcasts with another."""
        return tuple(
            size if self.random.random() < 0.6 else 1 for size in shape[self.pick(0, 0, 1, len(shape)) :]
        )

    def ints(self, values):
        return np.array(values, np.int64)


def one(low=None):
    def draw(d):
        x = d.real(*d.shape())
        return (np.abs(x) + F(low) if low is not None else x), [], {}

    return draw


def two(d):
    shape = d.shape()
    return d.real(*shape), [d.real(*d.beside(shape))], {}


def divided(d):
    x, (y,), _ = two(d)
    return x, [np.where(y == 0, F(1), y)], {}


def logical(d):
    shape = d.shape()
    return d.real(*shape) > 0, [d.real(*d.beside(shape)) > 0], {}


def many(d):
    shape = d.shape()
    return d.real(*shape), [d.real(*d.beside(shape)) for _ in range(d.pick(0, 1, 2, 3))], {}


def reduced(d):
    shape = d.shape(2, 4)
    rank = len(shape)
    axes = d.pick(None, [], [0], [-1], list(range(1, rank)), [rank - 1, 0])
    d.opset = d.pick(18, 20, 22)
    rest = {"keepdims": d.pick(0, 1)} if d.random.random() < 0.7 else {}
    if d.random.random() < 0.4:
        rest["noop_with_empty_axes"] = d.pick(0, 1)
    return d.real(*shape), [] if axes is None else [d.ints(axes)], rest


def soft(d):
    shape = d.shape(2, 4)
    return d.real(*shape), [], d.pick({}, {"axis": 1}, {"axis": -1}, {"axis": len(shape) - 1})


def window(d, pool):
    rank = d.pick(1, 2)
    sizes = [int(size) for size in d.random.integers(3, 7, rank)]
    kernel = [d.pick(1, 2, 3) for _ in range(rank)]
    rest = {"kernel_shape": kernel, "strides": [d.pick(1, 2, 3) for _ in range(rank)]}
    mode = d.pick("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if mode == "NOTSET":
        rest["pads"] = [d.pick(0, *range(size)) if pool else d.pick(0, 1, 2) for size in kernel * 2]
        rest["dilations"] = [d.pick(1, 1, 2) for _ in range(rank)]
        reach = [(k - 1) * s + 1 for k, s in zip(kernel, rest["dilations"], strict=True)]
        sizes = [max(size, far) for size, far in zip(sizes, reach, strict=True)]
    else:
        rest["auto_pad"] = mode
    return sizes, kernel, rest


def convolution(d):
    sizes, kernel, rest = window(d, pool=False)
    groups, per, out = d.pick(1, 2, 3), d.pick(1, 2), d.pick(1, 2)
    bias = [d.real(groups * out)] if d.random.random() < 0.5 else []
    return (
        d.real(2, groups * per, *sizes),
        [d.real(groups * out, per, *kernel), *bias],
        {**rest, "group": groups},
    )


def largest(d):
    sizes, _, rest = window(d, pool=True)
    if rest.get("auto_pad") is None and d.random.random() < 0.5:
        rest["ceil_mode"] = 1
    return d.real(2, 2, *sizes), [], rest


def averaged(d):
    sizes, _, rest = window(d, pool=True)
    d.opset = d.pick(19, 22) if "dilations" in rest else d.opset
    rest["count_include_pad"] = d.pick(0, 1)
    if rest.get("auto_pad") is None and not rest["count_include_pad"] and d.random.random() < 0.5:
        rest["ceil_mode"] = 1
    return d.real(2, 2, *sizes), [], rest


def gemm(d):
    n, k, m = (d.pick(1, 2, 3) for _ in range(3))
    a, b = d.pick(0, 1), d.pick(0, 1)
    c = d.pick([], [d.real(*d.pick((), (1,), (m,), (n, 1), (1, m), (n, m)))])
    rest = {"transA": a, "transB": b, "alpha": d.pick(1.0, 0.5), "beta": d.pick(1.0, 2.0, 0.0)}
    return d.real(*((k, n) if a else (n, k))), [d.real(*((m, k) if b else (k, m))), *c], rest


def normalized(d):
    shape = d.shape(2, 4)
    rest = {"epsilon": d.pick(1e-5, 0.25)} if d.random.random() < 0.5 else {}
    rows = [d.real(shape[1]) for _ in range(3)]
    return d.real(*shape), [*rows, np.abs(d.real(shape[1])) + F(0.5)], rest


def padded(d):
    shape = d.shape(2, 4)
    amounts = d.random.integers(-1, 3, 2 * len(shape))
    amounts[np.array(shape * 2) < 3] = np.abs(amounts[np.array(shape * 2) < 3])
    if d.random.random() < 0.3:
        d.opset = d.pick(18, 21)
        axis = d.pick(0, -1, len(shape) - 1)
        return d.real(*shape), [d.ints([1, 2]), F(d.pick(0, 1.5)), d.ints([axis])], {}
    return d.real(*shape), [d.ints(amounts), F(d.pick(0, -1))][: d.pick(1, 2)], {"mode": "constant"}


def reshaped(d):
    target = d.pick([-1], [0, -1], [3, 2, 2], [2, -1, 1], [0, 0, 2])
    return d.real(2, 3, 2), [d.ints(target)], d.pick({}, {"allowzero": 0}) if d.opset >= 14 else {}


def squeezed(d):
    d.opset = max(d.opset, 13)
    return d.real(1, 2, 1), d.pick([], [d.ints([0])], [d.ints([-1, 0])]), {}


def unsqueezed(d):
    d.opset = max(d.opset, 13)
    return d.real(2, 3), [d.ints(d.pick([0], [-1], [1, 3], [3, 0]))], {}


def sliced(d):
    cases = [
        ([0], [2], None, None),
        ([1], [1 << 40], [1], None),
        ([-1], [-(1 << 40)], [1], [-1]),
        ([0, 1], [2, -1], [-1, 0], [1, 1]),
        ([3], [0], [1], [-2]),
    ]
    first, last, axes, steps = cases[int(d.random.integers(len(cases)))]
    given = [
        d.ints(first),
        d.ints(last),
        *([] if axes is None else [d.ints(axes)]),
        *([] if steps is None else [d.ints(steps)]),
    ]
    return d.real(3, 4), given, {}


def clipped(d):
    return d.real(*d.shape()), d.pick([F(-1)], [F(-1), F(1)], [None, F(0.5)], []), {}


def cast(d):
    to = d.pick(1, 6, 7, 9, 11)
    return d.real(*d.shape()), [], {"to": to}


def gathered(d):
    return (
        d.real(3, 4),
        [d.pick(d.ints([0, -1, 2]), d.ints(1), d.ints([[0], [-2]]))],
        {"axis": d.pick(0, 1, -1)},
    )


DRAWN = {
    **dict.fromkeys(
        [
            "Abs",
            "Asinh",
            "Atan",
            "Ceil",
            "Erf",
            "Exp",
            "Floor",
            "Identity",
            "Neg",
            "Relu",
            "Round",
            "Sigmoid",
            "Sign",
            "Sinh",
            "Softsign",
            "Tanh",
            "Size",
            "GlobalMaxPool",
            "GlobalAveragePool",
        ],
        one(),
    ),
    **dict.fromkeys(["Log", "Reciprocal", "Sqrt"], one(0.5)),
    **dict.fromkeys(["Add", "Sub", "Mul", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"], two),
    **dict.fromkeys(["And", "Or", "Xor"], logical),
    **dict.fromkeys(["Max", "Min", "Sum", "Mean"], many),
    **dict.fromkeys(["ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"], reduced),
    **dict.fromkeys(["Softmax", "LogSoftmax", "Hardmax"], soft),
    "Div": divided,
    "Not": lambda d: (d.real(2, 3) > 0, [], {}),
    "Where": lambda d: (d.real(2, 3) > 0, [d.real(*d.beside((2, 3))), d.real(*d.beside((2, 3)))], {}),
    "LeakyRelu": lambda d: (d.real(2, 3), [], d.pick({}, {"alpha": 0.25}, {"alpha": -0.5})),
    "PRelu": lambda d: (d.real(2, 3), [d.real(*d.pick((1,), (3,), (2, 3)))], {}),
    "Clip": clipped,
    "Cast": cast,
    "HardSigmoid": lambda d: (d.real(2, 3), [], d.pick({}, {"alpha": 0.5}, {"alpha": 0.25, "beta": 0.75})),
    "Dropout": lambda d: (d.real(2, 3), [], {}),
    "Conv": convolution,
    "MaxPool": largest,
    "AveragePool": averaged,
    "Gemm": gemm,
    "MatMul": lambda d: (d.real(*d.pick((2, 3), (2, 2, 3), (1, 2, 2, 3))), [d.real(3, 2)], {}),
    "BatchNormalization": normalized,
    "Pad": padded,
    "Reshape": reshaped,
    "Flatten": lambda d: (
        d.real(2, 3, 2),
        [],
        d.pick({}, {"axis": 0}, {"axis": 2}, {"axis": 3}, {"axis": -1}),
    ),
    "Transpose": lambda d: (d.real(2, 3, 1), [], d.pick({}, {"perm": [0, 2, 1]}, {"perm": [2, 0, 1]})),
    "Squeeze": squeezed,
    "Unsqueeze": unsqueezed,
    "Expand": lambda d: (d.real(2, 1), [d.ints(d.pick([3], [2, 3], [4, 1, 2], [1, 1, 1]))], {}),
    "Gather": gathered,
    "GatherElements": lambda d: (d.real(3, 2), [d.ints(d.pick([[0, -1]], [[2, 1], [0, 0]]))], {"axis": 0}),
    "Concat": lambda d: (d.real(2, 3), [d.real(2, 1), d.real(2, 2)], {"axis": d.pick(1, -1)}),
    "Slice": sliced,
    "Shape": lambda d: (
        d.real(2, 3, 4),
        [],
        d.pick({}, {"start": 1}, {"end": -1}, {"start": -2, "end": 9}, {"start": 2, "end": 1})
        if d.opset >= 15
        else {},
    ),
    "ArgMax": lambda d: (
        d.real(3, 4),
        [],
        {"axis": d.pick(0, 1, -1), "keepdims": d.pick(0, 1), "select_last_index": d.pick(0, 1)},
    ),
    "TopK": lambda d: (
        d.real(3, 4) + np.arange(4, dtype=F) / 64,
        [d.ints([2])],
        {"largest": d.pick(0, 1), "sorted": 1},
    ),
    "ReduceProd": lambda d: (None, [d.real(2, 3)], {"keepdims": d.pick(0, 1)}),
    "Pow": lambda d: (None, [np.abs(d.real(2, 3)), F(d.pick(2, 0.5, 3))], {}),
    "Constant": lambda d: (None, [], {"value": numpy_helper.from_array(d.real(2, 3))}),
    "ConstantOfShape": lambda d: (
        None,
        [d.ints([2, 3])],
        d.pick({}, {"value": numpy_helper.from_array(np.array([7], np.int64))}),
    ),
    "Range": lambda d: (
        None,
        d.pick(
            [F(0), F(2), F(0.5)],
            [np.int64(5), np.int64(-2), np.int64(-3)],
            [np.int64(3), np.int64(1), np.int64(1)],
        ),
        {},
    ),
}
OWN = {
    "Binarizer",
    "BipolarQuant",
    "Im2Col",
    "IntQuant",
    "LceDequantize",
    "LceQuantize",
    "MaxPoolNHWC",
    "MultiThreshold",
    "Quant",
    "Rsqrt",
}
"""Operators that ONNX Runtime does not have."""


def test_every_operator_that_is_read_is_known_and_tested():
    assert ACCEPTED - set(OPERATORS) == set()
    assert set(OPERATORS) == set(DRAWN) | OWN | set(DATAFLOW_OPERATORS)


@pytest.mark.parametrize("op", DRAWN)
def test_operators_against_onnx_runtime(op):
    compared = 0
    for number in range(examples(24)):
        d = Plottable(op, number)
        data, constants, rest = DRAWN[op](d)
        if op.startswith("Global") and data.ndim < 3:
            data = data[..., None]
        raw = build(op, data, constants, d.opset, outputs=2 if op == "TopK" else 1, **rest)
        try:
            expected = by_runtime(raw, np.zeros((1, 1), F) if data is None else data)
        except Exception as error:  # what the runtime does not take is no graph
            assert "ONNXRuntimeError" in str(error)  # noqa: PT017
            continue
        if data is None:
            graph = read_graph(raw)
            found = _constant(graph)
        else:
            found = interpreted(raw, data)
        assert found.shape == expected.shape, (rest, d.opset)
        if expected.dtype.kind in "iub":
            assert np.array_equal(found, expected), (rest, d.opset)
        else:
            np.testing.assert_allclose(
                found, expected, rtol=2e-5, atol=1e-6, err_msg=f"{rest}, opset {d.opset}"
            )
        compared += 1
    assert compared > examples(12)


def _constant(graph):
    """What an operator on constants gives, beside data that do not matter."""
    from sugenet.io.onnx.graph import Node

    program = Interpreter.__new__(Interpreter)
    program.graph, program.output, program.read, program.fixed = graph, "y", {"y"}, {}
    from sugenet.io.onnx.interpreter.program import _Budget
    from sugenet.io.onnx.interpreter.tensors import constant

    values = {name: constant(array) for name, array in graph.constants.items()}
    node: Node = next(node for node in graph.nodes if "y" in node.outputs)
    program._step(node, values, _Budget())
    return values["y"].values


OLD = {
    ("Clip", 7): ({"min": -1.0, "max": 0.5}, (2, 3), []),
    ("Pad", 7): ({"pads": [0, 1, 1, 0], "value": 2.0}, (2, 3), []),
    ("Squeeze", 9): ({"axes": [0]}, (1, 3), []),
    ("Unsqueeze", 9): ({"axes": [0, 2]}, (2, 3), []),
    ("ReduceSum", 9): ({"axes": [1], "keepdims": 0}, (2, 3), []),
    ("ReduceMax", 12): ({"axes": [-1]}, (2, 3), []),
    ("Softmax", 9): ({}, (2, 3, 2), []),
    ("LogSoftmax", 12): ({"axis": 2}, (2, 3, 2), []),
    ("Hardmax", 11): ({"axis": 1}, (2, 3, 2), []),
    ("Slice", 9): ({"starts": [1], "ends": [9], "axes": [1]}, (2, 3), []),
    ("TopK", 9): ({"k": 2}, (2, 3), []),
    ("Dropout", 7): ({"ratio": 0.5}, (2, 3), []),
    ("BatchNormalization", 7): ({"spatial": 1, "momentum": 0.9}, (2, 1, 3), [[2.0], [1.0], [0.5], [0.25]]),
    ("MaxPool", 8): ({"kernel_shape": [2, 2], "storage_order": 1}, (1, 1, 3, 3), []),
    ("AveragePool", 7): (
        {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0], "count_include_pad": 1},
        (1, 1, 3, 3),
        [],
    ),
    ("Max", 7): ({}, (2, 3), []),
}


@pytest.mark.parametrize(("op", "opset"), OLD)
def test_forms_of_older_operator_sets(op, opset):
    rest, shape, constants = OLD[op, opset]
    x = (np.random.default_rng(1).permutation(int(np.prod(shape))).reshape(shape) - 3).astype(F) / 2
    raw = build(op, x, [np.array(c, F) for c in constants], opset, outputs=2 if op == "TopK" else 1, **rest)
    np.testing.assert_allclose(interpreted(raw, x), by_runtime(raw, x), rtol=1e-5)


X = np.array([[-1.5, -0.5, 0.0, 0.5, 1.5, 3.0]], F)
MAPS = np.arange(18, dtype=F).reshape(1, 3, 3, 2)
BY_HAND = {
    "BipolarQuant": (X, [F(0.5)], {}, [[-0.5, -0.5, 0.5, 0.5, 0.5, 0.5]]),
    "Quant": (
        X,
        [F(1), F(0), F(2)],
        {"signed": 1, "narrow": 0, "rounding_mode": "ROUND"},
        [[-2, 0, 0, 0, 1, 1]],
    ),
    "IntQuant": (
        X,
        [F(0.5), F(1), F(1)],
        {"signed": 0, "narrow": 0, "rounding_mode": "FLOOR"},
        [[-0.5, -0.5, 0, 0, 0, 0]],
    ),
    "MultiThreshold": (
        X,
        [np.array([[-1, 0.5]] * 6, F)],
        {"out_scale": 2.0, "out_bias": -1.0},
        [[-1, 1, 1, 3, 3, 3]],
    ),
    "LceQuantize": (X, [], {}, [[-1, -1, 1, 1, 1, 1]]),
    "LceDequantize": (X, [], {}, X),
    "Rsqrt": (np.array([[4, 0.25]], F), [], {}, [[0.5, 2]]),
    "MaxPoolNHWC": (MAPS, [], {"kernel_shape": [2, 2], "strides": [2, 2]}, [[[[8, 9]]]]),
    "Im2Col": (
        MAPS,
        [],
        {"kernel_size": [2, 2], "stride": [2, 2], "input_shape": "(1,3,3,2)"},
        [[[[0, 1, 2, 3, 6, 7, 8, 9]]]],
    ),
    "Binarizer": (X, [], {"threshold": 0.5}, [[0, 0, 0, 0, 1, 1]]),
}


@pytest.mark.parametrize("op", sorted(OWN))
def test_operators_of_others_by_hand(op):
    x, constants, rest, expected = BY_HAND[op]
    raw = build(op, x, constants, 15, domain="ai.onnx.ml" if op == "Binarizer" else CUSTOM, **rest)
    assert np.array_equal(interpreted(raw, x), np.array(expected))


@pytest.mark.parametrize("back", [True, False])
def test_rounded_numbers_without_axes_get_axes_and_lose_them(back):
    """The bound of a single number goes where the number goes."""
    nodes = [
        helper.make_node("Exp", ["c"], ["e"]),
        helper.make_node("Unsqueeze", ["e", "axes"], ["u"]),
        helper.make_node("Squeeze", ["u"], ["s"]),
        helper.make_node("Mul", ["x", "s" if back else "u"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3))],
        [helper.make_empty_tensor_value_info("y")],
        [
            numpy_helper.from_array(np.array(0.3, F), "c"),
            numpy_helper.from_array(np.array([0, 1]), "axes"),
        ],
    )
    opsets = [helper.make_opsetid("", 13)]
    raw = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    x = np.array([[1, 2, 3]], F)
    found = Interpreter(read_graph(raw), "y").run(x).values["y"]
    assert found.errors.shape == (1, 3)
    assert not found.exact
    np.testing.assert_allclose(found.values, by_runtime(raw, x), rtol=1e-6)


# -- bounds and refusals -------------------------------------------------------------------------------------


def test_bounds_on_rounding_hold():
    """Against exact fractions: no value is further from the exact one than its bound says."""
    from fractions import Fraction

    random = np.random.default_rng(5)
    for _ in range(50):
        x, w = random.normal(size=(1, 40)).astype(F), random.normal(size=(40, 3)).astype(F)
        raw = build("MatMul", x, [w], 15)
        found = Interpreter(read_graph(raw), "y").run(x).values["y"]
        for k in range(3):
            exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x[0], w[:, k], strict=True))
            assert (
                0 < abs(Fraction(float(found.values[0, k])) - exact) <= Fraction(float(found.errors[0, k]))
                or exact == found.values[0, k]
            )
    whole = build("MatMul", np.ones((1, 40), F), [np.ones((40, 3), F) / 4], 15)
    assert Interpreter(read_graph(whole), "y").run(np.ones((1, 40))).values["y"].exact


def test_a_decision_within_rounding_is_uncertain_and_stays_so():
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Sign", ["a"], ["s"]),
        helper.make_node("MatMul", ["s", "one"], ["y"]),
    ]
    w = np.array([[0.1], [0.2], [-0.3]], F)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(w, "w"), numpy_helper.from_array(np.ones((1, 1), F), "one")],
    )
    raw = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8
    ).SerializeToString()
    tiny = float(w[0, 0]) * 1e-20
    found = Interpreter(read_graph(raw), "y").run(np.array([[1e-20, 0.0, tiny / 0.3]]))
    assert found.scores.errors.max() <= 2
    assert not Interpreter(read_graph(raw), "y").run(np.array([[1.0, 0, 0]])).scores.errors.any()


@pytest.mark.parametrize(
    ("op", "data", "constants", "rest", "message"),
    [
        ("Relu", X, [], {"slope": 1.0}, "its attribute 'slope' is not known"),
        ("Expand", X, [np.array([1 << 40, 6])], {}, "values that a comparison may make"),
        (
            "Conv",
            np.ones((1, 1, 2, 2), F),
            [np.ones((1, 1, 1, 1), F)],
            {"pads": [1 << 30] * 4},
            "values that a comparison may make",
        ),
        (
            "MaxPool",
            np.ones((1, 1, 2, 2), F),
            [],
            {"kernel_shape": [1 << 30, 1 << 30], "auto_pad": "SAME_UPPER"},
            "values that a comparison",
        ),
        ("Pad", X, [np.array([0, 1 << 40, 0, 0])], {}, "values that a comparison may make"),
        ("Gather", X, [np.array([9])], {"axis": 1}, "index is out of range"),
        ("Pad", X, [np.array([0, 1, 0, 0])], {"mode": "reflect"}, "pads by copies"),
        ("BatchNormalization", X, [np.ones(6, F)] * 4, {"training_mode": 1}, "statistics of the batch"),
    ],
)
def test_what_the_interpreter_does_not_take(op, data, constants, rest, message):
    with pytest.raises(UncomparableError, match=message):
        interpreted(build(op, data, constants, 15, **rest), data)
