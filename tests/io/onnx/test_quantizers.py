"""QONNX quantizers of any width: random small graphs against a slow evaluation in fractions that shares no
code with the reader, on every input that there is.
"""

from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor
from random import Random

import numpy as np
import pytest

from sugenet.errors import FileError
from sugenet.io import Bits, Integers, Reals, read_onnx

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

DOMAINS = ("onnx.brevitas", "qonnx.custom_op.general", "finn.custom_op.general")
MODES = ("ROUND", "HALF_EVEN", "HALF_UP", "HALF_DOWN", "FLOOR", "CEIL", "ROUND_TO_ZERO", "UP", "DOWN")


class Model:
    """A chain of nodes with, beside each, the same step in fractions over arrays of objects."""

    def __init__(self, shape, seed):
        self.random, self.shape, self.domain = Random(seed), shape, DOMAINS[seed % 3]
        self.nodes, self.constants, self.steps, self.now = [], [], [], "x"

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), name))
        return name

    def node(self, op, inputs, domain="", **attributes):
        made = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [made], domain=domain, **attributes))
        return made

    def then(self, op, parameters, step, domain="", **attributes):
        self.now = self.node(op, [self.now, *parameters], domain, **attributes)
        self.steps.append(step)

    def file(self):
        ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", *self.shape))]
        ends = [helper.make_empty_tensor_value_info(self.now)]
        graph = helper.make_graph(self.nodes, "g", ports, ends, self.constants)
        sets = [helper.make_opsetid("", 15), helper.make_opsetid(self.domain, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()

    def run(self, sample):
        x = np.array([Fraction(v) for v in sample], dtype=object).reshape(self.shape)
        for step in self.steps:
            x = step(x)
        return x.reshape(-1).tolist()

    # -- parts -----------------------------------------------------------------------------------------------

    def quantizer(self, bits=None, channels=None, coarse=False):
        """Parameters of a quantizer and what it does to one number of one channel."""
        random = self.random
        bits = bits or random.choice([1, 2, 2, 3, 4, 8])
        signed = random.random() < 0.5
        narrow = random.random() < 0.3 and (bits != 1 or signed)
        mode = random.choice(MODES)
        count = channels if channels and random.random() < 0.4 else 1
        sizes = [0.5, 1.0, 0.1, 0.3, 2.0, 0.7] if coarse else [0.25, 0.1, 1.0, 0.05]
        scale = np.array([random.choice(sizes) for _ in range(count)], np.float32)
        is_sign = bits == 1 and signed  # QONNX's program: -1 and +1, +1 at 0, in any rounding mode
        zero = np.float32(0 if is_sign else random.choice([0, 0, 0, 1, -1]))
        low = -(2 ** (bits - 1)) + narrow if signed else 0
        high = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
        exact = [Fraction(float(s)) for s in scale]

        def apply(value, channel):
            s = exact[channel % count]
            if is_sign:
                return s if value >= 0 else -s
            place = min(max(Fraction(value) / s + int(zero), Fraction(low)), Fraction(high))
            return (rounding(place, mode) - int(zero)) * s

        return scale, zero, np.float32(bits), {"signed": int(signed), "narrow": int(narrow)}, mode, apply

    def quantized(self, weights):
        """Weights through a quantizer node; their exact values beside."""
        outs = len(weights)
        scale, zero, bits, flags, mode, apply = self.quantizer(channels=outs)
        shape = (len(scale),) + (1,) * (weights.ndim - 1)
        given = [self.constant(weights), self.constant(scale.reshape(shape)), self.constant(zero)]
        name = self.node("Quant", [*given, self.constant(bits)], self.domain, **flags, rounding_mode=mode)
        exact = np.empty(weights.shape, dtype=object)
        for place in np.ndindex(*weights.shape):
            exact[place] = apply(float(np.float32(weights[place])), place[0])
        return name, exact

    def activation(self, channels, rank):
        """A quantizer of data."""
        scale, zero, bits, flags, mode, apply = self.quantizer(channels=channels, coarse=True)
        full = scale.reshape(1, -1, *[1] * (rank - 1))
        given = [self.constant(full), self.constant(zero), self.constant(bits)]
        op = self.random.choice(["Quant", "IntQuant"])

        def step(x):
            made = np.empty(x.shape, dtype=object)
            for place in np.ndindex(*x.shape):
                made[place] = apply(x[place], place[0])
            return made

        self.then(op, given, step, self.domain, **flags, rounding_mode=mode)

    def thresholds(self, channels):
        """FINN's count of thresholds."""
        random = self.random
        rows = 1 if random.random() < 0.4 else channels
        steps = random.choice([2, 3, 5])
        places = [-2.5, -1.0, -0.4, 0.0, 0.3, 1.0, 2.2]
        table = np.array([[random.choice(places) for _ in range(steps)] for _ in range(rows)], np.float32)
        gain, shift = random.choice([1.0, 0.5, 2.0]), random.choice([0.0, -1.0, -2.0])

        def step(x):
            made = np.empty(x.shape, dtype=object)
            for place in np.ndindex(*x.shape):
                row = table[place[0] % rows].tolist()
                made[place] = sum(x[place] >= Fraction(t) for t in row) * Fraction(gain) + Fraction(shift)
            return made

        self.then("MultiThreshold", [self.constant(table)], step, self.domain, out_scale=gain, out_bias=shift)

    def norm(self, channels):
        """Batch norm with a variance whose root is rational, so that fractions can follow it."""
        random = self.random
        gamma, beta, mean = (
            np.array([random.choice([-1.5, -0.5, 0.0, 0.75, 1.0, 2.0]) for _ in range(channels)], np.float32)
            for _ in range(3)
        )
        root = np.array([random.choice([0.5, 1.0, 3.0]) for _ in range(channels)])
        parameters = [self.constant(v) for v in (gamma, beta, mean, root**2)]

        def step(x):
            made = np.empty(x.shape, dtype=object)
            for place in np.ndindex(*x.shape):
                g, b, m, r = (Fraction(float(v[place[0]])) for v in (gamma, beta, mean, root))
                made[place] = g * (x[place] - m) / r + b
            return made

        self.then("BatchNormalization", parameters, step, epsilon=0.0)

    def linear(self, inputs, outputs):
        weights = np.array([[self.random.uniform(-1, 1) for _ in range(inputs)] for _ in range(outputs)])
        name, exact = self.quantized(weights)
        turned = self.node("Transpose", [name], perm=[1, 0])
        self.then("MatMul", [turned], lambda x: np.array([sum(row * x) for row in exact], dtype=object))

    def convolution(self, channels, outputs, size, pad):
        kernel = np.array(
            [self.random.uniform(-1, 1) for _ in range(outputs * channels * size * size)]
        ).reshape(outputs, channels, size, size)
        name, exact = self.quantized(kernel)

        def step(x):
            _, height, width = x.shape
            wide = np.full((channels, height + 2 * pad, width + 2 * pad), Fraction(0), dtype=object)
            wide[:, pad : pad + height, pad : pad + width] = x
            high, across = wide.shape[1] - size + 1, wide.shape[2] - size + 1
            made = np.empty((outputs, high, across), dtype=object)
            for o, r, c in np.ndindex(*made.shape):
                made[o, r, c] = (exact[o] * wide[:, r : r + size, c : c + size]).sum()
            return made

        self.then("Conv", [name], step, pads=[pad] * 4, kernel_shape=[size, size])

    def pool(self, op):
        def step(x):
            channels, height, width = x.shape
            made = np.empty((channels, height - 1, width), dtype=object)
            for c, r, k in np.ndindex(*made.shape):
                window = x[c, r : r + 2, k]
                made[c, r, k] = max(window) if op == "MaxPool" else sum(window) / Fraction(2)
            return made

        self.then(op, [], step, kernel_shape=[2, 1], strides=[1, 1])

    def flatten(self):
        self.then("Flatten", [], lambda x: x.reshape(-1), axis=1)


def rounding(value, mode):
    """One number as QONNX says, by cases."""
    size, sign = abs(value), 1 if value >= 0 else -1
    below, part = floor(size), size - floor(size)
    match mode:
        case "FLOOR":
            return floor(value)
        case "CEIL":
            return ceil(value)
        case "ROUND_TO_ZERO" | "DOWN":
            return sign * below
        case "UP":
            return sign * ceil(size)
    if part != Fraction(1, 2):
        return sign * (below + (part > Fraction(1, 2)))
    up = {"HALF_UP": True, "HALF_DOWN": False}.get(mode, below % 2 == 1)
    return sign * (below + up)


def dense(seed):
    model = Model((3,), seed)
    if model.random.random() < 0.5:
        model.activation(3, 1)
    for inputs, outputs in ((3, 4), (4, 3)):
        model.linear(inputs, outputs)
        if model.random.random() < 0.6:
            model.norm(outputs)
        if model.random.random() < 0.25:
            model.then("Relu", [], np.vectorize(lambda v: max(v, Fraction(0)), otypes=[object]))
        model.thresholds(outputs) if model.random.random() < 0.3 else model.activation(outputs, 1)
    model.linear(3, 2)
    return model


def maps(seed):
    model = Model((1, 3, 2), seed)
    if model.random.random() < 0.3:
        model.activation(1, 3)
    pad = model.random.choice([0, 1, 1])
    model.convolution(1, 2, 2, pad)
    first = model.random.random() < 0.4
    if first and pad:
        model.pool("MaxPool")
    if model.random.random() < 0.6:
        model.norm(2)
    model.thresholds(2) if model.random.random() < 0.3 else model.activation(2, 3)
    height = {0: 2, 1: 4}[pad] - (first and pad > 0)
    if model.random.random() < 0.6:
        op = model.random.choice(["MaxPool", "AveragePool"])
        model.pool(op)
        height -= 1
        if op == "AveragePool":
            model.activation(2, 3)
    width = {0: 1, 1: 3}[pad]
    if model.random.random() < 0.5 and pad:
        model.convolution(2, 2, 3, 1)
        model.activation(2, 3)
    model.flatten()
    model.linear(2 * height * width, 3)
    return model


def compared(model, inputs, samples):
    found = read_onnx(model.file(), inputs=inputs).report
    network = found.network
    raw = [[float(inputs.value(v)) if isinstance(inputs, Integers) else v for v in row] for row in samples]
    scores = network.head.scores(network.match_counts(np.array(samples), engine="definition"))
    for mine, row in zip(scores, raw, strict=True):
        assert list(mine) == model.run(row)
    return found


NO_UNIT = ("the weights of its last layer leave 60 bits", "match counts must stay below 2^31")


def read_or_no_unit(model, inputs, samples):
    """Return the import; None if scales of different channels have no common unit, or too fine a one."""
    try:
        return compared(model, inputs, samples)
    except FileError as error:
        if not any(words in str(error) for words in NO_UNIT):
            raise
        return None


WHOLE = Integers(0, 3, step=Fraction(1, 2), start=-1)


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_dense_graphs_agree_with_fractions_on_every_input(part):
    samples = list(product(range(4), repeat=3))
    found = [read_or_no_unit(dense(seed), WHOLE, samples) for seed in range(part, 40, 2)]
    read = [one for one in found if one is not None]
    assert len(read) >= 8
    assert all(one.proof.left < one.proof.samples for one in read)
    assert any(layer.kind == "quantized" for one in read for layer in one.layers)


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_graphs_of_maps_agree_with_fractions(part):
    random = Random(part)
    found = []
    for seed in range(part, 40, 2):
        samples = [[random.randrange(4) for _ in range(6)] for _ in range(12)]
        found.append(read_or_no_unit(maps(seed), WHOLE, samples))
    read = [one for one in found if one is not None]
    assert len(read) >= 8
    assert any(layer.kind == "quantizedconv" for one in read for layer in one.layers)


def test_a_quantizer_of_raw_reals_cuts_them_exactly():
    read = 0
    for seed in range(12):
        model = Model((2,), seed)
        model.activation(2, 1)
        model.linear(2, 3)
        model.activation(3, 1)
        model.linear(3, 2)
        scale = float(numpy_helper.to_array(model.constants[0]).reshape(-1)[0])
        edges = [k * scale / 2 for k in range(-9, 10)]
        near = [np.nextafter(edge, side) for edge in edges for side in (-9.0, 9.0)]
        random = Random(seed)
        samples = [[random.choice([*edges, *near]) for _ in range(2)] for _ in range(60)]
        read += read_or_no_unit(model, Reals(), samples) is not None
    assert read >= 6


def test_quantizers_that_cannot_be_read_are_refused_by_name():
    def quant(scale=1.0, zero=0.0, bits=2.0, **attributes):
        model = Model((2,), 0)
        given = [model.constant(v) for v in (scale, zero, bits)]
        model.then("Quant", given, None, model.domain, **attributes)
        model.linear(2, 2)
        return model

    for model, message in (
        (quant(bits=2.5), "it quantizes to 2.5 bits, but one integer from 1 to 16"),
        (quant(bits=24.0), "it quantizes to 24 bits"),
        (quant(scale=0.0), "its scale is 0 and its zero point 0, but positive"),
        (quant(zero=0.5), "its zero point 0.5"),
        (quant(rounding_mode="STOCHASTIC"), "it rounds by 'STOCHASTIC'. Known are ROUND"),
        (quant(bits=1.0, signed=0, narrow=1), "it has one level only: unsigned"),
        (quant(zero=1.0, bits=1.0), "it is a sign .one signed bit. with a zero point. Use BipolarQuant"),
        (quant(axis=1), "its attribute 'axis' is not known"),
    ):
        with pytest.raises(FileError, match=rf"node 0 \(Quant.*{message}"):
            read_onnx(model.file(), inputs=Reals())
    model = Model((2,), 0)
    model.then("Trunc", [model.constant(v) for v in (1.0, 0.0, 8.0, 4.0)], None, model.domain)
    model.linear(2, 2)
    with pytest.raises(FileError, match=r"\(Trunc.*: it drops the lowest bits .* Put a Quant there"):
        read_onnx(model.file(), inputs=Reals())


def test_a_constant_that_no_node_reads_is_ignored_with_a_remark():
    model = dense(1)
    model.constant([3.0])
    spare = model.constants[-1].name
    report = read_onnx(model.file(), inputs=WHOLE).report
    assert f"ignored: no node reads the constant '{spare}'" in report.remarks


# -- what other tools write ----------------------------------------------------------------------------------


def plain_file(nodes, constants, features, domain):
    made = [helper.make_node(op, ins, [out], domain=where, **more) for op, ins, out, where, more in nodes]
    graph = helper.make_graph(
        made,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, features])],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in constants.items()],
    )
    sets = [helper.make_opsetid("", 13), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()


@pytest.mark.parametrize("narrow", [0, 1])
def test_what_qonnx_makes_of_qkeras(narrow):
    """A dense layer with binary kernel and activation: both are a Quant with one signed bit."""
    domain, random = "qonnx.custom_op.general", np.random.default_rng(1)
    kernels = [random.uniform(-1, 1, shape) for shape in ((7, 5), (5, 3))]
    kernels[0][0, 0] = 0  # is +1
    biases = [random.uniform(-2, 2, size) for size in (5, 3)]
    one_bit = {"signed": 1, "narrow": narrow, "rounding_mode": "ROUND"}
    bits = {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"}
    nodes = [
        ("Quant", ["k0", "one", "zero", "one"], "w0", domain, one_bit),
        ("Quant", ["b0", "quarter", "zero", "four"], "c0", domain, bits),
        ("Quant", ["k1", "quarter", "zero", "four"], "w1", domain, bits),
        ("Quant", ["b1", "quarter", "zero", "four"], "c1", domain, bits),
        ("MatMul", ["x", "w0"], "m0", "", {}),
        ("Add", ["m0", "c0"], "s0", "", {}),
        ("Quant", ["s0", "one", "zero", "one"], "h", domain, one_bit),
        ("MatMul", ["h", "w1"], "m1", "", {}),
        ("Add", ["m1", "c1"], "y", "", {}),
    ]
    constants = {"k0": kernels[0], "b0": biases[0], "k1": kernels[1], "b1": biases[1]}
    constants |= {"one": 1.0, "zero": 0.0, "quarter": 0.25, "four": 4.0}
    network = read_onnx(plain_file(nodes, constants, 7, domain), inputs=Integers(-2, 2))
    x = random.integers(-2, 3, (300, 7))

    def four_bits(v):
        return np.clip(np.rint(np.asarray(v, np.float32) / 0.25), -7, 7) * 0.25

    sums = x @ np.where(kernels[0] >= 0, 1, -1) + four_bits(biases[0])
    scores = np.where(sums >= 0, 1, -1) @ four_bits(kernels[1]) + four_bits(biases[1])
    assert np.array_equal(network.logits(x), scores)
    assert np.array_equal(network.predict(x), scores.argmax(axis=1))


@pytest.mark.parametrize("form", ["QONNX", "FINN"])
def test_finns_cybersecurity_example(form):
    """2-bit weights and activations, -1 and +1 mapped to 0 and 1 first, padded inputs, one output, a sign."""
    domain = "qonnx.custom_op.general" if form == "QONNX" else "finn.custom_op.general"
    random = np.random.default_rng(3)
    sizes, padding = (13, 6, 6, 1), 3
    nodes = [("Add", ["x", "one"], "x1", "", {}), ("Div", ["x1", "two"], "h0", "", {})]
    constants = {"one": [1.0], "two": 2.0, "zero": 0.0, "bits": 2.0, "half": 0.5}
    x = random.choice([-1, 1], (400, sizes[0]))
    value, last = (x + 1) / 2, len(sizes) - 2
    for k, (ins, outs) in enumerate(pairwise(sizes)):
        weights = random.integers(-1, 2, (ins, outs))
        if not k:
            weights[-padding:] = 0
        bias = random.integers(-4, 5, outs) / 8
        gamma, beta = (random.integers(1, 5, outs) / 2 for _ in range(2))
        mean = np.median(value @ weights * 0.5, axis=0)  # about half of the samples on either side
        if k == last:
            bias = -mean - 0.125
        names = {"w": weights * 0.5, "b": bias, "g": gamma, "e": beta, "m": mean, "v": np.full(outs, 4.0)}
        constants |= {f"{name}{k}": array for name, array in names.items()}
        if form == "QONNX":
            flags = {"signed": 1, "narrow": 1, "rounding_mode": "ROUND"}
            nodes.append(("Quant", [f"w{k}", "half", "zero", "bits"], f"q{k}", domain, flags))
            nodes.append(("Gemm", [f"h{k}", f"q{k}", f"b{k}"], f"s{k}", "", {}))
        else:
            nodes.append(("MatMul", [f"h{k}", f"w{k}"], f"t{k}", "", {}))
            nodes.append(("Add", [f"t{k}", f"b{k}"], f"s{k}", "", {}))
        value = value @ (weights * 0.5) + bias
        if k == last:
            break
        norm = [f"{name}{k}" for name in ("s", "g", "e", "m", "v")]
        nodes.append(("BatchNormalization", norm, f"n{k}", "", {"epsilon": 0.0}))
        value = (value - mean) / 2 * gamma + beta
        if form == "QONNX":
            flags = {"signed": 0, "narrow": 0, "rounding_mode": "ROUND"}
            nodes.append(("Relu", [f"n{k}"], f"r{k}", "", {}))
            nodes.append(("Quant", [f"r{k}", "half", "zero", "bits"], f"h{k + 1}", domain, flags))
            value = np.clip(np.rint(value / 0.5), 0, 3) * 0.5
        else:
            steps = np.array([[0.25, 0.75, 1.25]])
            constants[f"steps{k}"] = steps
            flags = {"out_dtype": "UINT2"}
            nodes.append(("MultiThreshold", [f"n{k}", f"steps{k}"], f"l{k}", domain, flags))
            nodes.append(("Mul", [f"l{k}", "half"], f"h{k + 1}", "", {}))
            value = (value[..., None] >= steps[0]).sum(axis=-1) * 0.5
    if form == "QONNX":
        nodes.append(("BipolarQuant", [f"s{last}", "one"], "y", domain, {}))
    else:
        constants["sign"] = [[0.0]]
        flags = {"out_scale": 2.0, "out_bias": -1.0, "out_dtype": "BIPOLAR"}
        nodes.append(("MultiThreshold", [f"s{last}", "sign"], "y", domain, flags))
    read = {name for _, ins, *_ in nodes for name in ins}
    kept = {name: array for name, array in constants.items() if name in read}
    network = read_onnx(plain_file(nodes, kept, sizes[0], domain), inputs=Bits())
    expected = (value[:, 0] >= 0).astype(int)
    assert 0 < expected.sum() < len(x)
    assert np.array_equal(network.predict(x), expected)
