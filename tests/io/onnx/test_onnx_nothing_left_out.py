"""ONNX graphs in which something could be left out: inputs, attributes, samples of a batch, nodes; and
imports that prove themselves.
"""

import numpy as np
import pytest

from sugenet.errors import FileError
from sugenet.io import importers
from sugenet.io.exact.domains import Bits, Integers, Reals
from sugenet.io.importers import read_onnx
from sugenet.io.onnx import layers, operators, patterns, reader
from sugenet.io.onnx.reader import ACCEPTED
from sugenet.io.onnx.wire import blob, number
from tests.io.chains import read_chain

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

F = np.float32
EYE = np.eye(2, dtype=F)


def model(nodes, constants, shape, opset=17, kind=TensorProto.FLOAT, outputs=("y",)):
    """Nodes are (op, inputs, output, attributes)."""
    made = [
        helper.make_node(op, names, [out] if isinstance(out, str) else out, **rest[0] if rest else {})
        for op, names, out, *rest in nodes
    ]
    read = {name for node in made for name in node.input}
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(np.array(value), name) for name, value in constants.items() if name in read],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    ).SerializeToString()


def run(raw, x):
    session = ort.InferenceSession(raw, providers=["CPUExecutionProvider"])
    kind = np.uint8 if "uint8" in session.get_inputs()[0].type else np.float32
    return session.run(None, {"x": np.asarray(x, kind)})[0]


SIGN = {"zero": F(0), "one": F(1), "less": F(-1)}


def sign(x, y):
    return [("GreaterOrEqual", [x, "zero"], f"{y}_on"), ("Where", [f"{y}_on", "one", "less"], y)]


def equal(raw, inputs, X, batch=None):
    """What was read is what the runtime computes."""
    found = read_onnx(raw, inputs=inputs).report
    expected = run(raw, X)
    flat = np.asarray(X).reshape(len(X), -1)
    np.testing.assert_allclose(found.network.logits(flat), expected.reshape(len(X), -1), atol=1e-6)
    return found


GRID = np.array([[a, b] for a in range(-3, 4) for b in range(-3, 4)], F)


# -- every input counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_operators_of_any_number_of_inputs(op, place):
    others = [("a", F(-1)), ("b", F(1)), ("c", F(0.5))]
    for count in range(4):
        names = [name for name, _ in others[:count]]
        names.insert(min(place, count), "x")
        nodes = [(op, names, "m"), ("Sub", ["m", "half"], "d"), *sign("d", "s"), ("MatMul", ["s", "w"], "y")]
        raw = model(nodes, {**dict(others), **SIGN, "half": F(0.75), "w": EYE}, ["n", 2])
        equal(raw, Integers(-3, 3), GRID)


def test_a_bound_of_higher_rank_adds_axes():
    nodes = [
        ("Max", ["x", "bound"], "m"),
        *sign("m", "s"),
        ("Reshape", ["s", "flat"], "t"),
        ("MatMul", ["t", "w"], "y"),
    ]
    raw = model(
        nodes, {**SIGN, "bound": np.full((1, 1, 1), -2, F), "flat": np.array([-1, 2]), "w": EYE}, ["n", 2]
    )
    equal(raw, Integers(-3, 3), GRID)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (1, 1), (1, 2)])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (0.5, 1.0), (1.0, -2.0), (-1.0, 0.0)])
def test_the_third_input_of_gemm_is_laid_along_its_own_axes(shape, alpha, beta):
    c = np.arange(1, 1 + int(np.prod(shape)), dtype=F).reshape(shape)
    nodes = [*sign("x", "s"), ("Gemm", ["s", "w", "c"], "y", {"alpha": alpha, "beta": beta})]
    equal(model(nodes, {**SIGN, "w": EYE + 1, "c": c}, ["n", 2]), Integers(-3, 3), GRID)


@pytest.mark.parametrize("shape", [(2, 1), (2, 2)])
def test_numbers_that_differ_from_sample_to_sample_are_refused(shape):
    c = np.array([[0], [9]], F) * np.ones(shape, F)
    nodes = [*sign("x", "s"), ("Gemm", ["s", "w", "c"], "y")]
    with pytest.raises(FileError, match=r"node 2 \(Gemm\): its constant differs from sample to sample"):
        read_onnx(model(nodes, {**SIGN, "w": EYE, "c": c}, [2, 2]), inputs=Reals())
    same = model(nodes, {**SIGN, "w": EYE, "c": np.full(shape, 3, F)}, [2, 2])
    assert read_onnx(same, inputs=Reals()).logits([[1, -1]]).tolist() == [[4, 2]]


def test_more_inputs_than_an_operator_has():
    raw = model(
        [("Relu", ["x", "c"], "r"), *sign("r", "s"), ("MatMul", ["s", "w"], "y")],
        {**SIGN, "c": F(1), "w": EYE},
        ["n", 2],
    )
    with pytest.raises(FileError, match=r"node 0 \(Relu\): it has 2 inputs, but 1 at most are known"):
        read_chain(raw)


# -- signs of clipped values ---------------------------------------------------------------------------------

CLIPPED = {
    "relu": [("Relu", ["q"], "r")],
    "relu, scaled": [("Relu", ["q"], "p"), ("Mul", ["p", "two"], "r")],
    "relu, turned": [("Relu", ["q"], "p"), ("Neg", ["p"], "r")],
    "least 0": [("Max", ["q", "zero"], "r")],
    "most 0": [("Min", ["q", "zero"], "r")],
    "between": [("Clip", ["q", "zero", "two"], "r")],
    "shifted": [("Clip", ["q", "less", "two"], "p"), ("Add", ["p", "one"], "r")],
    "a channel each": [("Relu", ["q"], "p"), ("Mul", ["p", "both"], "r")],
}


@pytest.mark.parametrize("name", CLIPPED)
@pytest.mark.parametrize("options", [{}, {"zero": 1}, {"zero": -1}])
def test_the_sign_of_clipped_values_has_two_values(name, options):
    """Larq's ste_heaviside after tf2onnx, and its kin: no rule for sign(0) turns 0 and 1 into -1 and +1."""
    nodes = [
        ("MatMul", ["x", "w"], "q"),
        *CLIPPED[name],
        ("Sign", ["r"], "s"),
        ("Gemm", ["s", "h", "c"], "y"),
    ]
    constants = {**SIGN, "two": F(2), "both": np.array([1, 2], F), "w": np.array([[1, -1], [1, 1]], F)}
    raw = model(nodes, {**constants, "h": np.array([[1, 2], [-3, 1]], F), "c": np.array([0, 9], F)}, ["n", 2])
    found = read_onnx(raw, inputs=Integers(-3, 3), **options).report
    assert found.network.logits(GRID).tolist() == run(raw, GRID).tolist()


def test_values_clipped_at_zero_in_some_channels_only():
    nodes = [
        ("MatMul", ["x", "w"], "q"),
        ("Relu", ["q"], "p"),
        ("Add", ["p", "b"], "r"),
        ("Sign", ["r"], "s"),
        ("MatMul", ["s", "w"], "y"),
    ]
    raw = model(nodes, {"w": EYE, "b": np.array([0, -1], F)}, ["n", 2])
    for options in ({}, {"zero": 1}, {"zero": -1}):
        with pytest.raises(FileError, match="clipped at zero in some channels only"):
            read_onnx(raw, inputs=Integers(-3, 3), **options)


def test_the_sign_of_unsigned_numbers():
    nodes = [("Sign", ["x"], "u"), ("Cast", ["u"], "s", {"to": 1}), ("MatMul", ["s", "w"], "y")]
    raw = model(nodes, {"w": EYE + 1}, ["n", 2], kind=TensorProto.UINT8)
    X = np.array([[a, b] for a in range(3) for b in range(3)])
    found = read_onnx(raw, inputs=Integers(0, 2)).report
    assert found.network.logits(X).tolist() == run(raw, X).tolist()


# -- every attribute counts ----------------------------------------------------------------------------------


def test_the_tables_of_attributes_are_those_of_all_operator_sets():
    """Each attribute that some operator set from 7 on gives to an operation that is read stands in the
    table, and no other.
    """
    unread = {"Constant": {"sparse_value", "value_string", "value_strings"}, "Range": {"stash_type"}}
    for op in sorted(ACCEPTED):
        schemas = []
        for version in range(7, 29):
            try:
                schemas.append(onnx.defs.get_schema(op, version))
            except onnx.defs.SchemaError:
                continue
        if not schemas:
            continue
        named = {name for schema in schemas for name in schema.attributes} - unread.get(op, set())
        assert named == set(operators.ATTRIBUTES.get(op, {})), op
        most = max(schema.max_input for schema in schemas)
        assert operators.INPUTS.get(op, 1) == (most if most < 100 else operators.INPUTS["Sum"]), op


@pytest.mark.parametrize("op", sorted(ACCEPTED & set(operators.ATTRIBUTES) - {"ConstantOfShape"}))
def test_the_defaults_of_attributes_are_those_of_all_operator_sets(op):
    stated = {}
    for version in range(7, 29):
        if onnx.defs.has(op, version):
            for name, attribute in onnx.defs.get_schema(op, version).attributes.items():
                if attribute.default_value.type:
                    value = helper.get_attribute_value(attribute.default_value)
                    stated.setdefault(name, set()).add(value.decode() if isinstance(value, bytes) else value)
    for name, default in operators.ATTRIBUTES[op].items():
        if isinstance(default, type | tuple):
            plain = len(stated.get(name, ())) == 1 and name not in operators._IRRELEVANT.get(op, ())
            assert not plain or op in ("Clip", "Hardmax", "LogSoftmax", "Softmax"), name
        else:
            assert stated.get(name, {default}) == {F(default) if isinstance(default, float) else default}, (
                name
            )


def test_an_attribute_that_is_not_known():
    raw = model(
        [("Relu", ["x"], "r", {"slope": 0.5}), *sign("r", "s"), ("MatMul", ["s", "w"], "y")],
        {**SIGN, "w": EYE},
        ["n", 2],
    )
    with pytest.raises(
        FileError, match=r"node 0 \(Relu\): its attribute 'slope' is not known. Known are none"
    ):
        read_chain(raw)


def test_an_attribute_that_nothing_asked_for(monkeypatch):
    monkeypatch.setitem(patterns._RULES, "HardSigmoid", lambda node, values, flow: flow)
    nodes = [("HardSigmoid", ["x"], "r", {"alpha": 0.5}), *sign("r", "s"), ("MatMul", ["s", "w"], "y")]
    with pytest.raises(FileError, match=r"its attribute alpha is '0.5', which is not supported here"):
        read_chain(model(nodes, {**SIGN, "w": EYE}, ["n", 2]))


def test_empty_axes_that_say_nothing_is_reduced():
    nodes = [
        ("ReduceMean", ["x", "none"], "r", {"noop_with_empty_axes": 1}),
        *sign("r", "s"),
        ("MatMul", ["s", "w"], "y"),
    ]
    equal(
        model(nodes, {**SIGN, "none": np.zeros(0, np.int64), "w": EYE}, ["n", 2], opset=18),
        Integers(-3, 3),
        GRID,
    )


@pytest.mark.parametrize("op", ["ReduceMean", "ReduceMax", "ReduceMin"])
def test_a_constant_that_holds_nothing_has_no_mean_and_no_end(op):
    nodes = [
        (op, ["none"], "r", {"keepdims": 0}),
        ("Sub", ["x", "r"], "a"),
        *sign("a", "s"),
        ("MatMul", ["s", "w"], "y"),
    ]
    with pytest.raises(FileError, match=r"it reduces an array of shape \(0,\), which holds nothing"):
        read_chain(model(nodes, {**SIGN, "none": np.zeros(0, F), "w": EYE}, ["n", 2]))


def test_parts_of_the_shape_of_a_constant():
    nodes = [
        ("Shape", ["w"], "k", {"start": 1}),
        ("Cast", ["k"], "f", {"to": 1}),
        ("Sub", ["x", "f"], "d"),
        *sign("d", "s"),
        ("MatMul", ["s", "w"], "y"),
    ]
    equal(model(nodes, {**SIGN, "w": np.ones((2, 1), F)}, ["n", 2]), Integers(-3, 3), GRID)


def test_padding_of_nothing_is_nothing():
    nodes = [
        ("Pad", ["x"], "p", {"pads": [0, 0, 0, 0], "value": 1.0}),
        ("Sign", ["p"], "s"),
        ("MatMul", ["s", "w"], "y"),
    ]
    chain = read_chain(model(nodes, {"w": EYE}, ["n", 2], opset=10))
    assert [type(op).__name__ for op in chain.ops] == ["Sign", "LinearOp"]


POOLS = {
    "gaps": {"kernel_shape": [2, 1], "dilations": [2, 1], "auto_pad": "SAME_LOWER"},
    "pixels left out": {"kernel_shape": [1, 1], "strides": [3, 1], "auto_pad": "SAME_UPPER"},
    "ceil": {"kernel_shape": [1, 1], "strides": [2, 2], "ceil_mode": 1, "auto_pad": "VALID"},
}


@pytest.mark.parametrize("name", POOLS)
def test_pools_that_runtimes_read_differently(name):
    nodes = [
        *sign("x", "s"),
        ("MaxPool", ["s"], "p", POOLS[name]),
        ("Flatten", ["p"], "f"),
        ("MatMul", ["f", "w"], "y"),
    ]
    with pytest.raises(FileError, match="which runtimes read differently"):
        read_chain(model(nodes, {**SIGN, "w": np.ones((9, 2), F)}, ["n", 1, 3, 3]))


def test_pads_beside_auto_pad():
    nodes = [
        ("Conv", ["x", "k"], "c", {"auto_pad": "SAME_UPPER", "pads": [1, 1, 1, 1]}),
        *sign("c", "s"),
        ("Flatten", ["s"], "f"),
        ("MatMul", ["f", "w"], "y"),
    ]
    with pytest.raises(FileError, match=r"it has both pads \[1, 1, 1, 1\] and auto_pad 'SAME_UPPER'"):
        read_chain(
            model(nodes, {**SIGN, "k": np.ones((1, 1, 1, 1), F), "w": np.ones((9, 2), F)}, ["n", 1, 3, 3])
        )


def test_operator_sets_that_are_not_known_yet():
    raw = model([*sign("x", "s"), ("MatMul", ["s", "w"], "y")], {**SIGN, "w": EYE}, ["n", 2], opset=29)
    with pytest.raises(FileError, match="it uses opset 29, but 28 is the last that is known"):
        read_chain(raw)


def test_a_file_with_two_graphs():
    """Protocol buffers join the two; reading one of them alone would be another network."""
    raw = model([*sign("x", "s"), ("MatMul", ["s", "w"], "y")], {**SIGN, "w": EYE}, ["n", 2])
    with pytest.raises(FileError, match="field 7 holds a message twice"):
        read_chain(raw + blob(7, blob(2, "more")))
    assert read_chain(raw + number(1, 8)).ops


# -- what stands behind the scores ---------------------------------------------------------------------------

BEHIND = {
    "the class along the batch": (
        [("Softmax", ["z"], "p"), ("ArgMax", ["p"], "y", {"axis": 0})],
        "does not hold all values of a sample",
    ),
    "whole numbers": (
        [("Softmax", ["z"], "p"), ("Cast", ["p"], "y", {"to": 7})],
        "which can change the class",
    ),
    "a yes or no": (
        [("ArgMax", ["z"], "p", {"axis": 1}), ("Cast", ["p"], "y", {"to": 9})],
        "which can change the class",
    ),
    "logarithms twice": (
        [("LogSoftmax", ["z"], "p"), ("Log", ["p"], "y")],
        "logarithms of values that may be negative",
    ),
    "a class of the class": (
        [("ArgMax", ["z"], "p", {"axis": 1}), ("ArgMax", ["p"], "y", {"axis": 1})],
        "must be the end of the network",
    ),
}


@pytest.mark.parametrize("name", BEHIND)
def test_tails_that_change_the_class(name):
    nodes, message = BEHIND[name]
    with pytest.raises(FileError, match=message):
        read_chain(
            model([*sign("x", "s"), ("MatMul", ["s", "w"], "z"), *nodes], {**SIGN, "w": EYE}, ["n", 2])
        )


@pytest.mark.parametrize("nodes", [
    [("Softmax", ["z"], "p"), ("Log", ["p"], "y")],
    [("Softmax", ["z"], "p"), ("ArgMax", ["p"], "y", {"axis": -1})],
    [("Sigmoid", ["z"], "p"), ("Reshape", ["p", "flat"], "y")],
    [("ArgMax", ["z"], "p", {"axis": 1, "keepdims": 1}), ("Squeeze", ["p", "axes"], "y")],
])  # fmt: skip
def test_tails_that_do_not(nodes):
    constants = {**SIGN, "w": EYE + 1, "flat": np.array([-1, 2]), "axes": np.array([1])}
    raw = model([*sign("x", "s"), ("MatMul", ["s", "w"], "z"), *nodes], constants, ["n", 2])
    found = read_onnx(raw, inputs=Integers(-3, 3)).report
    mine, theirs = found.network.predict(GRID), run(raw, GRID)
    theirs = theirs.argmax(axis=1) if theirs.dtype.kind == "f" else theirs.reshape(-1)
    logits = found.network.logits(GRID)
    assert (logits[np.arange(len(GRID)), theirs] == logits[np.arange(len(GRID)), mine]).all()


# -- imports that prove themselves ---------------------------------------------------------------------------

HIDDEN = [
    ("MatMul", ["x", "w"], "q"),
    ("Add", ["q", "b"], "r"),
    *sign("r", "s"),
    ("MatMul", ["s", "h"], "t"),
    *sign("t", "u"),
    ("MatMul", ["u", "w"], "y"),
]
NUMBERS = {**SIGN, "w": EYE + 1, "b": np.array([1, -2], F), "h": np.array([[1, -1], [1, 1]], F)}


def test_the_report_says_by_whom_and_on_how_many_samples():
    found = read_onnx(model(HIDDEN, NUMBERS, ["n", 2]), inputs=Integers(-3, 3)).report
    assert found.proof is not None
    assert found.proof.interpreters == ("an interpreter of ONNX operators in float64", "ONNX Runtime")
    assert found.proof.layers == 2
    assert not found.proof.unseen
    assert "equal to an interpreter of ONNX operators in float64 and ONNX Runtime on " in str(found)
    assert "nothing was compared" in str(
        read_onnx(model(HIDDEN, NUMBERS, ["n", 2]), inputs=Integers(-3, 3), prove=False).report
    )


def refused_alone_and_as_a_whole(monkeypatch, raw, node, whole):
    """A node is compared alone, and then with the whole network."""
    with pytest.raises(FileError, match=rf"{node} was compared alone with the interpreter"):
        read_onnx(raw, inputs=Integers(-3, 3))
    monkeypatch.setattr(importers, "compare_nodes", lambda _: 0)
    with pytest.raises(FileError, match=rf"not what the source computes; the first difference is at {whole}"):
        read_onnx(raw, inputs=Integers(-3, 3))


def test_a_reader_that_leaves_something_out_is_noticed(monkeypatch):
    """Whichever rule is wrong: the first node that differs is named, and nothing is imported."""
    raw = model(HIDDEN, NUMBERS, ["n", 2])
    monkeypatch.setitem(patterns._RULES, "Add", lambda node, values, flow: flow)
    whole = r"node 0 \(MatMul\): neuron \d of layer 1"
    refused_alone_and_as_a_whole(monkeypatch, raw, r"node 1 \(Add\)", whole)


def test_a_wrong_second_layer_is_noticed_there(monkeypatch):
    def half(node, given):
        found = layers.linear(node, reader.flow_of(given), given[1].array)
        return found if node.number != 4 else layers.linear(node, reader.flow_of(given), abs(given[1].array))

    monkeypatch.setitem(reader.RULES, "MatMul", half)
    raw, node = model(HIDDEN, NUMBERS, ["n", 2]), r"node 4 \(MatMul\)"
    refused_alone_and_as_a_whole(monkeypatch, raw, node, rf"{node}: neuron \d of layer 2")


def test_wrong_scores_are_noticed(monkeypatch):
    raw = model([*HIDDEN[:-1], ("Gemm", ["u", "w", "b"], "y", {"alpha": 0.5})], NUMBERS, ["n", 2])

    def unbiased(node, given):
        return layers.gemm(node, reader.flow_of(given), given[1].array, None)

    monkeypatch.setitem(reader.RULES, "Gemm", unbiased)
    node = r"node 7 \(Gemm\)"
    refused_alone_and_as_a_whole(monkeypatch, raw, node, rf"{node}: score \d is")


def test_what_cannot_be_run_is_said(monkeypatch):
    from sugenet.io.onnx.interpreter import program

    monkeypatch.delitem(program.OPERATORS, "Where")
    found = read_onnx(model(HIDDEN, NUMBERS, ["n", 2]), inputs=Integers(-3, 3)).report
    assert "could not be run (node 3 (Where): the interpreter does not know this operator" in str(found)


def test_fixed_batches_and_channels_last_are_compared_layer_by_layer():
    k = np.array([[[[1, -1], [1, 1]]], [[[-1, 1], [1, -1]]]], F)
    nodes = [
        ("Transpose", ["x"], "t", {"perm": [0, 3, 1, 2]}),
        ("Conv", ["t", "k"], "c"),
        ("Transpose", ["c"], "l", {"perm": [0, 2, 3, 1]}),
        *sign("l", "s"),
        ("Reshape", ["s", "flat"], "f"),
        ("MatMul", ["f", "w"], "y"),
    ]
    w = np.random.default_rng(0).choice([-1, 1], (8, 2)).astype(F)
    for batch in (None, 1, 3):
        raw = model(
            nodes, {**SIGN, "k": k, "flat": np.array([batch or -1, 8]), "w": w}, [batch or "n", 3, 3, 1]
        )
        found = read_onnx(raw, inputs=Bits()).report
        assert found.proof.layers == 1
        assert not found.proof.left


# -- constants as large as the batch -------------------------------------------------------------------------


def likes(shape, fill):
    """The sign that PyTorch exports for ``where(x >= 0, ones_like(x), -ones_like(x))``."""
    made = [("Shape", ["x"], "sizes"), ("GreaterOrEqual", ["x", "zero"], "on")]
    if fill == "ConstantOfShape":
        made += [(fill, ["sizes"], "ones", {"value": numpy_helper.from_array(np.ones(1, F))})]
    else:
        made += [(fill, ["one", "sizes"], "ones")]
    nodes = [
        *made,
        ("Neg", ["ones"], "less"),
        ("Where", ["on", "ones", "less"], "s"),
        ("MatMul", ["s", "w"], "y"),
    ]
    return model(nodes, {"zero": F(0), "one": F(1), "w": EYE}, shape)


@pytest.mark.parametrize("fill", ["ConstantOfShape", "Expand"])
@pytest.mark.parametrize("batch", ["n", len(GRID), 1])
def test_ones_like_the_data(fill, batch):
    raw = likes([batch, 2], fill)
    if batch == 1:
        assert read_onnx(raw, inputs=Integers(-3, 3)).predict(GRID[:1]).shape == (1,)
    else:
        equal(raw, Integers(-3, 3), GRID)


def test_constants_as_long_as_the_batch_are_only_compared_element_by_element():
    ones = [
        ("Shape", ["x"], "sizes"),
        ("ConstantOfShape", ["sizes"], "ones", {"value": numpy_helper.from_array(np.ones(1, F))}),
    ]
    tail = [*sign("a", "s"), ("MatMul", ["s", "w"], "y")]
    shifted = model([*ones, ("Sub", ["x", "ones"], "a"), *tail], {**SIGN, "w": EYE}, ["n", 2])
    equal(shifted, Integers(-3, 3), GRID)
    total = [*ones, ("ReduceSum", ["ones"], "t", {"keepdims": 0}), ("Sub", ["x", "t"], "a"), *tail]
    with pytest.raises(FileError, match=r"ReduceSum.*all samples of a batch"):
        read_onnx(model(total, {**SIGN, "w": EYE}, ["n", 2]), inputs=Integers(-3, 3))
    wide = [
        *ones,
        ("Unsqueeze", ["x", "first"], "u"),
        ("Sub", ["u", "ones"], "v"),
        ("Squeeze", ["v", "first"], "a"),
        *tail,
    ]
    with pytest.raises(FileError, match=r"does not fit|several|axes"):
        read_onnx(model(wide, {**SIGN, "w": EYE, "first": np.array([2])}, ["n", 2]), inputs=Integers(-3, 3))
    biased = [*sign("x", "b"), *ones, ("Gemm", ["b", "w", "ones"], "a"), *tail]
    with pytest.raises(FileError, match=r"Gemm.*size of the batch"):
        read_onnx(model(biased, {**SIGN, "w": EYE}, ["n", 2]), inputs=Integers(-3, 3))


# -- what is picked ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("outputs", [("v",), ("i",), ("v", "i"), ("i", "v")])
@pytest.mark.parametrize("tail", ["Softmax", "Identity"])
def test_the_largest_scores_and_their_classes_are_not_taken_for_one_another(count, outputs, tail):
    weights = np.array([[1, -1, 1], [1, 1, -1]], F)
    last = (tail, ["m"], "p", {"axis": 1} if tail == "Softmax" else {})
    nodes = [
        *sign("x", "s"),
        ("MatMul", ["s", "w"], "m"),
        last,
        ("TopK", ["p", "k"], ["v", "i"], {"axis": 1}),
    ]
    raw = model(nodes, {**SIGN, "w": weights, "k": np.array([count])}, ["n", 2], outputs=outputs)
    found = read_onnx(raw, inputs=Integers(-3, 3)).report
    assert found.network.source.outputs == "other"
    classes = (
        ort.InferenceSession(raw, providers=["CPUExecutionProvider"]).run(None, {"x": GRID})[
            outputs.index("i")
        ]
        if "i" in outputs
        else None
    )
    if classes is not None:
        scores = found.network.logits(GRID)
        assert (scores[np.arange(len(GRID)), classes[:, 0]] == scores.max(axis=1)).all()


@pytest.mark.parametrize(
    ("tail", "scores", "said"),
    [
        ("Sigmoid", [4, 8], None),
        (
            "Sigmoid",
            [30, 60],
            r"node \d+ \(Sigmoid\), classes with the scores 30 and 60 tie in 32-bit floats",
        ),
        ("Softmax", [30, 60], None),
        ("Softmax", [2.0**-20, 2.0**-19], r"scores only 1.91e-06 apart can tie after node \d+ \(Softmax\)"),
    ],
)
def test_classes_that_tie_behind_the_scores_are_refused(tail, scores, said):
    nodes = [*sign("x", "s"), ("MatMul", ["s", "w"], "a"), (tail, ["a"], "y")]
    made = model(nodes, {**SIGN, "w": np.array([scores], F)}, ["n", 1])
    if said is not None:
        with pytest.raises(FileError, match=said):
            read_onnx(made, inputs=Bits())
        return
    found = read_onnx(made, inputs=Bits()).report
    assert found.network.predict([[1], [-1]]).tolist() == [1, 0]
    assert found.proof is not None
