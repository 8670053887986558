"""FINN's dataflow nodes and its old domain, against what FINN executes, written out number by number."""

from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

FLOW, HLS = "finn.custom_op.fpgadataflow", "finn.custom_op.fpgadataflow.hls"
HARDWARE = {"PE": 1, "SIMD": 1, "backend": "fpgadataflow", "mem_mode": "decoupled", "resType": "lut"}


class Made:
    """A graph in the making, and what it computes."""

    def __init__(self, shape, domain, ending):
        self.shape, self.domain, self.ending = shape, domain, ending
        self.nodes, self.constants, self.steps, self.now = [], {}, [], "x"

    def add(self, op, arrays, step, domain=None, last=False, **attributes):
        names = []
        for array in arrays:
            names.append(f"c{len(self.constants)}")
            self.constants[names[-1]] = np.asarray(array, np.float32)
        out = "y" if last else f"t{len(self.nodes)}"
        domain = self.domain if domain is None else domain
        node = helper.make_node(op, [self.now, *names], [out], domain=domain, **attributes)
        self.nodes.append(node)
        self.steps.append(step)
        self.now = out

    def raw(self):
        out = helper.make_empty_tensor_value_info(self.now)
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, *self.shape])],
            [out],
            [numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        sets = [helper.make_opsetid("", 11), helper.make_opsetid(self.domain, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()

    def run(self, x):
        for step in self.steps:
            x = step(x)
        return x


def counted(value, row):
    return sum(value >= t for t in row)


def unit(weights, limits, mode, levels):
    """What a matrix-vector unit gives for the last axis, in whole numbers."""
    height = weights.shape[1]

    def neuron(values, j):
        if mode == "multiply":
            total = sum(int(v) * int(w) for v, w in zip(values, weights[:, j], strict=True))
        else:
            total = sum(int(v) == int(w) for v, w in zip(values, weights[:, j], strict=True))
        if limits is None:
            return total
        reached = counted(total, limits[j])
        return 2 * reached - 1 if levels == "BIPOLAR" else reached + levels

    def run(x):
        out = np.zeros((*x.shape[:-1], height), np.int64)
        for place in np.ndindex(*x.shape[:-1]):
            out[place] = [neuron(x[place], j) for j in range(height)]
        return out

    return run


def windows(kernel, stride):
    def run(x):
        high, wide = ((size - kernel) // stride + 1 for size in x.shape[1:3])
        out = np.zeros((1, high, wide, kernel * kernel * x.shape[3]), np.int64)
        for i, j in product(range(high), range(wide)):
            cut = [x[0, i * stride + a, j * stride + b] for a in range(kernel) for b in range(kernel)]
            out[0, i, j] = np.concatenate(cut)
        return out

    return run


def pool(side):
    def run(x):
        shape = (1, x.shape[1] // side, x.shape[2] // side, x.shape[3])
        out = np.zeros(shape, np.int64)
        for _, i, j, c in np.ndindex(*shape):
            out[0, i, j, c] = x[0, side * i : side * i + side, side * j : side * j + side, c].max()
        return out

    return run


def add_unit(made, random, width, height, mode, levels, last=False):
    kinds = {"bipolar": ("BIPOLAR", (-1, 1)), "xnor": ("BINARY", (0, 1)), "multiply": ("INT4", (-1, 1))}
    name, values = kinds[mode]
    weights = random.choice(values, (width, height))
    steps = 0 if last else 1 if levels in ("BIPOLAR", 0) else 3
    middle = 0 if mode == "multiply" else width // 2
    limits = None if last else np.sort(random.integers(middle - 3, middle + 4, (height, steps)), axis=1)
    op = {"": "MatrixVectorActivation", "_Batch": "StreamingFCLayer_Batch", "_hls": "MVAU_hls"}[made.ending]
    made.add(
        op,
        [weights] if last else [weights, limits],
        unit(weights, limits, "multiply" if mode == "multiply" else "count", levels),
        MW=width,
        MH=height,
        inputDataType=name,
        weightDataType="BIPOLAR" if mode == "bipolar" else name,
        outputDataType="INT32" if last else "BIPOLAR" if levels == "BIPOLAR" else "INT4",
        ActVal=0 if levels == "BIPOLAR" or last else levels,
        binaryXnorMode=int(mode == "xnor"),
        noActivation=int(last),
        numInputVectors=[1],
        **HARDWARE,
    )


def thresholding(made, random, channels, lows, levels="BIPOLAR"):
    limits = random.integers(*lows, (channels, 1))
    out = (2, -1) if levels == "BIPOLAR" else (1, 0)
    made.add(
        "Thresholding_hls" if made.ending == "_hls" else "Thresholding_Batch",
        [limits],
        lambda x: np.where(x >= limits[:, 0], sum(out), out[1]),
        NumChannels=channels,
        numSteps=1,
        inputDataType="UINT8",
        outputDataType=levels if levels == "BIPOLAR" else "BINARY",
        ActVal=0,
        **HARDWARE,
    )


PLACES = [(FLOW, ""), ("finn", "_Batch"), (HLS, "_hls")]


@pytest.mark.parametrize("mode", ["bipolar", "xnor", "multiply"])
@pytest.mark.parametrize(("domain", "ending"), PLACES)
def test_dense_units_are_what_finn_executes(domain, ending, mode):
    random = np.random.default_rng(len(domain) + len(mode))
    made = Made((7,), domain, ending)
    thresholding(made, random, 7, (60, 200), "BINARY" if mode == "xnor" else "BIPOLAR")
    levels = 0 if mode == "xnor" else -2 if mode == "multiply" else "BIPOLAR"
    add_unit(made, random, 7, 6, mode, levels)
    made.add(
        f"StreamingDataWidthConverter{ending or '_Batch'}", [], lambda x: x, inWidth=8, outWidth=4, shape=[1]
    )
    add_unit(made, random, 6, 5, mode, levels)
    add_unit(made, random, 5, 4, mode, levels, last=True)
    found = sg.read_onnx(made.raw(), inputs=sg.Integers(0, 255)).report
    assert "an interpreter of ONNX operators" in found.proof.interpreters[0]
    X = random.integers(0, 256, (100, 7))
    want = np.array([made.run(row[None])[0] for row in X])
    assert np.array_equal(found.network.logits(X), want)
    assert found.proof.layers == 2


@pytest.mark.parametrize(("domain", "ending"), PLACES)
def test_convolutions_pools_and_labels(domain, ending):
    random = np.random.default_rng(5)
    made = Made((8, 8, 2), domain, ending)
    thresholding(made, random, 2, (60, 200))
    window = "ConvolutionInputGenerator" + ("_hls" if ending == "_hls" else "")
    common = {"inputDataType": "BIPOLAR", "outputDataType": "BIPOLAR", "SIMD": 1, "depthwise": 0}
    made.add(
        window, [], windows(3, 1), ConvKernelDim=3, IFMChannels=2, IFMDim=8, OFMDim=6, Stride=1, **common
    )
    add_unit(made, random, 18, 5, "bipolar", "BIPOLAR")
    side = {"ImgDim": [6, 6], "PoolDim": [2, 2]} if ending == "_hls" else {"ImgDim": 6, "PoolDim": 2}
    made.add(f"StreamingMaxPool{ending}", [], pool(2), NumChannels=5, dataType="BIPOLAR", **side)
    made.add(
        window,
        [],
        windows(3, 1),
        ConvKernelDim=[3, 3],
        IFMChannels=5,
        IFMDim=[3, 3],
        OFMDim=[1, 1],
        Stride=[1, 1],
        Dilation=[1, 1],
        **common,
    )
    add_unit(made, random, 45, 6, "bipolar", "BIPOLAR")
    add_unit(made, random, 6, 3, "bipolar", "BIPOLAR", last=True)
    scores = made.run
    made.add(f"LabelSelect{ending}", [], lambda x: x, Labels=3, K=1, PE=1, inputDataType="UINT4", last=True)
    found = sg.read_onnx(made.raw(), inputs=sg.Integers(0, 255)).report
    X = random.integers(0, 256, (60, 8, 8, 2))
    want = np.array([scores(image[None]).reshape(-1) for image in X])
    assert np.array_equal(found.network.logits(X), want)
    assert (found.network.predict(X) == want.argmax(axis=1)).all()
    assert "an interpreter of ONNX operators" in found.proof.interpreters[0]


def test_popcounts_of_the_general_domain():
    random = np.random.default_rng(1)
    for domain in ("finn", "finn.custom_op.general", "qonnx.custom_op.general"):
        made = Made((9,), domain, "")
        limits, weights = random.integers(50, 200, (9, 1)), random.integers(0, 2, (9, 4))
        made.add(
            "MultiThreshold", [limits], lambda x, t=limits: (x >= t[:, 0]).astype(int), out_dtype="BINARY"
        )
        made.add("XnorPopcountMatMul", [weights], unit(weights, None, "count", 0))
        found = sg.read_onnx(made.raw(), inputs=sg.Integers(0, 255)).report
        X = random.integers(0, 256, (100, 9))
        assert np.array_equal(found.network.logits(X), [made.run(row[None])[0] for row in X])


def small(**changes):
    made = Made((4,), FLOW, "_Batch")
    random = np.random.default_rng(0)
    thresholding(made, random, 4, (60, 200))
    weights = random.choice([-1, 1], (4, 3))
    attributes = {
        "MW": 4,
        "MH": 3,
        "inputDataType": "BIPOLAR",
        "weightDataType": "BIPOLAR",
        "outputDataType": "INT32",
        "noActivation": 1,
    }
    op = changes.pop("op", "StreamingFCLayer_Batch")
    made.add(op, [changes.pop("weights", weights)], None, **{**attributes, **changes})
    return made.raw()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"MH": 4}, r"node 1 \(StreamingFCLayer_Batch\): its weights have shape \(4, 3\), but \(MW, MH\)"),
        ({"MH": "three"}, "its attribute MH is 'three', but an integer is required"),
        ({"noActivation": 0}, "it has 2 inputs, which does not fit noActivation=0"),
        ({"secret": 3}, r"its attribute 'secret' is '3', which is not known\. Read the model from before"),
        ({"weights": np.full((4, 3), 2)}, "its weights are said to be -1 and 1, but hold other numbers"),
        ({"weights": np.ones((2, 2, 3))}, "its weights are not a matrix in the file"),
        ({"op": "VVAU_hls"}, r"this node of a dataflow graph is not read\. .*step_streamline\.onnx"),
        ({"op": "StreamingDataflowPartition"}, "before CreateDataflowPartition"),
    ],
)
def test_what_is_refused_says_the_way(changes, words):
    with pytest.raises(FileError, match=words):
        sg.read_onnx(small(**changes))


def test_what_is_refused_is_read_without_the_change():
    assert len(sg.read_onnx(small(), inputs=sg.Integers(0, 255)).classes) == 3


def test_the_old_domain_is_the_general_one():
    made = Made((3,), "finn", "")
    made.add("MultiThreshold", [[[0.5]]], None, out_scale=2.0, out_bias=-1.0)
    made.add("MatMul", [np.eye(3)], None, domain="")
    assert sg.read_onnx(made.raw()).encoder.features == 3
    made = Made((3,), "finn", "")
    made.add("SecretOp", [], None)
    with pytest.raises(FileError, match=r"node 0 \(SecretOp\)"):
        sg.read_onnx(made.raw())
