"""FINN and BNN-PYNQ: parameter folders, dataflow graphs and the old domain, against their arithmetic.

`timed` compares pixels as BNN-PYNQ's table with pixels that are scaled, in the same run.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks._measure import take_turns
from benchmarks.files.kind import Kind, Outcome, Read, Refused, Skipped
from sugenet.io.exact.domains import Integers
from sugenet.io.exact.lower import lower
from sugenet.io.exact.ops import (
    Affine,
    Convolution,
    Flatten,
    LinearOp,
    OpChain,
    Sign,
    numbers,
    rounded,
)
from tests.fuzzing.pynq_folders import random_conv, random_dense, wider

_SAMPLES = 200


def _dense(folder: Path) -> Outcome:
    random = np.random.default_rng(1)
    made = random_dense(random, 70, (12, 9), outputs=5)
    found = sg.read_bnn_pynq(made.write(folder / "net"), features=70).report
    X = random.integers(0, 256, (_SAMPLES, 70))
    want = np.array([made.highest_bit(x) for x in X])
    return Read(_SAMPLES, int((found.network.predict(X) != want).sum()))


def _conv(folder: Path) -> Outcome:
    random = np.random.default_rng(2)
    made = random_conv(random, side=7)
    found = sg.read_bnn_pynq(made.write(folder / "net")).report
    X = random.integers(0, 256, (100, 3, 7, 7))
    want = np.array([made.last(x)[0] for x in X])
    return Read(len(X), int((found.network.match_counts(X) != want).any(axis=1).sum()))


def _two_bits(folder: Path) -> Outcome:
    random = np.random.default_rng(3)
    made = wider(random, random_dense(random))
    found = sg.read_bnn_pynq(made.write(folder / "net"), features=70).report
    X = random.integers(0, 256, (_SAMPLES, 70))
    want = [made.highest_bit(x) for x in X]
    return Read(_SAMPLES, int((found.network.predict(X) != want).sum()))


def _refused(read: Any, way: str) -> Outcome:
    try:
        read()
    except sg.errors.FileError as error:
        said = str(error)
        return Refused(way) if way in said else Read(0, 1)
    return Read(0, 1)


def _graph(op: str, domain: str, weights: Any) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    hardware = {"PE": 1, "SIMD": 1, "backend": "fpgadataflow", "mem_mode": "decoupled"}
    types = {"inputDataType": "BIPOLAR", "weightDataType": "BIPOLAR"}
    nodes = [
        helper.make_node(
            "Thresholding_Batch",
            ["x", "t"],
            ["a"],
            domain=domain,
            NumChannels=len(weights),
            numSteps=1,
            inputDataType="UINT8",
            outputDataType="BIPOLAR",
            **hardware,
        ),
        helper.make_node(
            op,
            ["a", "w"],
            ["y"],
            domain=domain,
            MW=weights.shape[0],
            MH=weights.shape[1],
            noActivation=1,
            outputDataType="UINT32",
            **types,
            **hardware,
        ),
    ]
    limits = np.full((len(weights), 1), 128, np.float32)
    constants = {"t": limits, "w": weights.astype(np.float32)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, len(weights)])],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    sets = [helper.make_opsetid("", 11), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8).SerializeToString()


def _unit(op: str, domain: str) -> Any:
    def attempt(_: Path) -> Outcome:
        try:
            import onnx  # noqa: F401
        except ImportError:
            return Skipped("onnx is not installed")
        random = np.random.default_rng(4)
        weights = random.choice([-1, 1], (40, 6))
        if op == "VVAU_hls":
            return _refused(lambda: sg.read_onnx(_graph(op, domain, weights)).report, "step_streamline.onnx")
        found = sg.read_onnx(_graph(op, domain, weights), inputs=sg.Integers(0, 255)).report
        X = random.integers(0, 256, (_SAMPLES, 40))
        want = [[sum((v >= 128) == (w > 0) for v, w in zip(x, c, strict=True)) for c in weights.T] for x in X]
        return Read(_SAMPLES, int((found.network.logits(X) != np.array(want)).any(axis=1).sum()))

    return attempt


def kinds() -> Iterator[Kind]:
    yield Kind("dense folder, highest bit", "finnthesizer", _dense)
    yield Kind("convolutional folder, pixels by a table", "finnthesizer", _conv)
    yield Kind("folder with 2-bit activations", "finnthesizer", _two_bits)
    yield Kind("StreamingFCLayer_Batch, domain finn", "FINN 0.2", _unit("StreamingFCLayer_Batch", "finn"))
    flow = "finn.custom_op.fpgadataflow"
    yield Kind("MatrixVectorActivation", "FINN 0.8", _unit("MatrixVectorActivation", flow))
    yield Kind("MVAU_hls", "FINN 0.10", _unit("MVAU_hls", f"{flow}.hls"))
    yield Kind("VVAU_hls", "FINN 0.10", _unit("VVAU_hls", f"{flow}.hls"))


def timed(quick: bool) -> dict[str, Any]:
    """Predictions of the same convolution over 64 images of 3 x 32 x 32 bytes, microseconds an image: with
    pixels as a table, and as integers times 2/255 less 1; and what the encoding alone takes.
    """
    weights = np.random.default_rng(0).choice([-1.0, 1.0], (16, 3, 3, 3))
    scores = np.random.default_rng(1).choice([-1.0, 1.0], (10, 16 * 15 * 15))
    rest = (
        Convolution("conv", weights, np.full(16, 0.001), stride=(2, 2)),
        Sign("sign"),
        Flatten("maps"),
        LinearOp("scores", scores),
    )
    codes = (
        Affine("pixels", numbers([Fraction(128)]), np.zeros(1)),
        rounded("pixels", -128, 127),
        Affine("pixels", np.full(1, 1 / 128), np.full(1, -1.0)),
    )
    pixels = Integers(0, 255, step=Fraction(2, 255), start=-1)
    networks = {
        "affine": lower(OpChain("affine", (3, 32, 32), rest), pixels).network,
        "table": lower(OpChain("table", (3, 32, 32), codes + rest), pixels).network,
    }
    X = np.random.default_rng(2).integers(0, 256, (64, 3, 32, 32), dtype=np.uint8)
    systems = {f"{name}_predict": partial(net.predict, X, threads=1) for name, net in networks.items()}
    systems |= {f"{name}_encode": partial(net.encoder.levels, X) for name, net in networks.items()}
    times = take_turns(systems, 1 if quick else 5, least=3)
    return {f"pixels_{name}_us_an_image": round(1e6 * spent / len(X), 2) for name, spent in times.items()}
