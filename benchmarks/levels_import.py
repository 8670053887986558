"""An int8 convolutional network for MNIST, trained here, quantized by `onnxruntime.quantization`, imported
and compared with ONNX Runtime on the whole test set; then robustness of some samples:
``python -m benchmarks.levels_import [--quick]``.

Needs torch, onnx, onnxruntime and the zoo's MNIST images.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks import _zoo

PIXELS = sg.Integers(0, 255, step=Fraction(1, 255))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="a smaller network, 2,000 test images, 2 s a sample"
    )
    parser.add_argument(
        "--samples", type=int, default=20, metavar="N", help="samples whose robustness is asked"
    )
    parser.add_argument(
        "--radius", type=int, default=1, metavar="R", help="grey levels that a pixel may change"
    )
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="a sample")
    options = parser.parse_args()
    zoo = _zoo.folder()
    if zoo is None:
        print("RESULT {}")
        return
    limit = options.time_limit or (2.0 if options.quick else 20.0)
    with tempfile.TemporaryDirectory() as folder:
        figures = run(zoo, Path(folder), options.quick, options.samples, options.radius, limit)
    print("RESULT " + json.dumps(figures))


def run(zoo: Path, folder: Path, quick: bool, samples: int, radius: int, limit: float) -> dict[str, Any]:
    images = _zoo._idx(zoo / "mnist/train-images-idx3-ubyte.gz")
    labels = _zoo._idx(zoo / "mnist/train-labels-idx1-ubyte.gz")
    weights = trained(images, labels, channels=(2, 4) if quick else (4, 8), steps=300 if quick else 900)
    path = quantized(float_model(weights), images[:256], folder)
    start = time.perf_counter()
    found = sg.read_onnx(path, inputs=PIXELS).report
    seconds = time.perf_counter() - start
    network = found.network
    X, y = _zoo.mnist(zoo)
    X, y = (X[:2000], y[:2000]) if quick else (X, y)
    theirs = runtime_scores(path, X)
    mine = network.logits(X).astype(np.float32)
    differing = int((mine != theirs).any(axis=1).sum())
    classes = network.predict(X)
    print(found)
    print(f"{len(X):,} images: {(classes == y).mean():.2%} right, {differing} differ from ONNX Runtime")
    outcomes, asked = Counter[str](), np.flatnonzero(classes == y)[:samples]
    start = time.perf_counter()
    for k in asked.tolist():
        outcomes[robust(network, X[k], radius, limit)] += 1
    spent = time.perf_counter() - start
    print(f"L-inf {radius} of {len(asked)} samples: {dict(outcomes)} in {spent:.1f} s")
    return {
        "neurons": int(sum(layer.outputs for layer in network.layers)),
        "import_s": round(seconds, 2),
        "images": len(X),
        "accuracy": round(float((classes == y).mean()), 4),
        "outputs": int(mine.size),
        "differing": differing,
        "radius": radius,
        "asked": len(asked),
        "decided": outcomes["proved"] + outcomes["refuted"],
        **{name: outcomes[name] for name in ("proved", "refuted", "undecided")},
        "asked_s": round(spent, 1),
    }


def robust(network: sg.Network, sample: np.ndarray, radius: int, limit: float) -> str:
    """What was decided of one sample; proofs are checked again."""
    answer = sg.verify(network, sg.Robust(sample, sg.Linf(radius)), time_limit=limit)
    kind = type(answer).__name__.lower()
    if kind == "proved":
        sg.check(answer.certificate, network)
    return kind


def trained(images: np.ndarray, labels: np.ndarray, channels: tuple[int, int], steps: int) -> dict[str, Any]:
    """Weights of two convolutions and a linear layer, by a few hundred steps of Adam."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = channels
    net = nn.Sequential(
        nn.Conv2d(1, first, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(first, second, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2, ceil_mode=False),
        nn.Flatten(),
        nn.Linear(second * 9, 10),
    )
    x, y = torch.tensor(images).float()[:, None] / 255, torch.tensor(labels).long()
    adam = torch.optim.Adam(net.parameters(), 0.005)
    for _ in range(steps):
        batch = torch.randint(len(x), (64,))
        adam.zero_grad()
        nn.functional.cross_entropy(net(x[batch]), y[batch]).backward()
        adam.step()
    state = net.state_dict()
    return {
        f"{name}{k}": state[f"{place}.{part}"].numpy()
        for k, place in enumerate((0, 2, 6))
        for name, part in (("w", "weight"), ("b", "bias"))
    }


def float_model(held: dict[str, Any]) -> Any:
    """The float model, written with the onnx package."""
    from onnx import TensorProto, helper, numpy_helper

    nodes = [
        helper.make_node("Conv", ["x", "w0", "b0"], ["c0"], strides=[2, 2], pads=[2, 2, 2, 2]),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("Conv", ["r0", "w1", "b1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("MaxPool", ["r1"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w2", "b2"], ["scores"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "mnist",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 28, 28])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])],
        [numpy_helper.from_array(array, name) for name, array in held.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    return model


def quantized(model: Any, images: np.ndarray, folder: Path) -> Path:
    """The file that `quantize_static` writes: QDQ, uint8 activations, int8 weights by channel."""
    from onnxruntime import quantization

    logging.getLogger().setLevel(logging.ERROR)
    (folder / "float.onnx").write_bytes(model.SerializeToString())
    batches = iter([{"x": scaled(images[k : k + 64])} for k in range(0, len(images), 64)])

    class Samples(quantization.CalibrationDataReader):  # type: ignore[misc, unused-ignore]
        def get_next(self) -> Any:
            return next(batches, None)

    quantization.quantize_static(
        folder / "float.onnx",
        folder / "int8.onnx",
        Samples(),
        quant_format=quantization.QuantFormat.QDQ,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        per_channel=True,
    )
    return folder / "int8.onnx"


def scaled(images: np.ndarray) -> np.ndarray:
    return (images.reshape(-1, 1, 28, 28) / np.float32(255)).astype(np.float32)


def runtime_scores(path: Path, X: np.ndarray) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    parts = [session.run(None, {"x": scaled(X[k : k + 500])})[0] for k in range(0, len(X), 500)]
    return np.concatenate(parts)


if __name__ == "__main__":
    main()
