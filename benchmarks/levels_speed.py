"""How fast networks of 8-bit weights and levels answer, side by side with ONNX Runtime's int8.

Run: python -m benchmarks.levels_speed [--quick] [--one-core]

A dense network of 784-512-256-10 and a convolutional one for 32x32 pixels of three bytes (six convolutions of
3x3, three poolings, one dense layer) with random weights answer a batch on all cores, then one sample. ONNX
Runtime has networks of the same shapes, quantized by `onnxruntime.quantization` in each of its two formats;
the faster one of them is compared. Both take turns, and what counts is the median of the ratios of the turns:
other work on the machine slows both. `network.predict` is timed whole, from raw bytes to classes; ONNX
Runtime from float32 to scores. With --one-core each has one thread, and processor time is measured in place
of the clock: it stands still while others run.
"""

import argparse
import json
import logging
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Watch, machine
from sugenet.bits import prepare
from sugenet.bits.threads import cores
from sugenet.nn import Encoder, Head, Network, PoolLayer, QuantizedConv, QuantizedLayer, Window

DENSE = (784, 512, 256, 10)
SHAPE = (3, 32, 32)
CONVS = (32, 32, "pool", 64, 64, "pool", 128, 128, "pool")
CLASSES, TOP = 10, 255
BATCHES = {"dense": 4096, "conv": 256}
CHECKED = 32  # samples compared with the definition

System = Callable[[], Any]


@dataclass(frozen=True)
class Pair:
    """Seconds of the two in the turns of one comparison."""

    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """How many times faster sugenet is: the median over the turns."""
        return statistics.median(b / a for a, b in zip(self.ours, self.theirs, strict=True))


def stairs(rng: Any, weights: Any) -> Any:
    """Steps as a requantizer has them: a sum times a scale, plus a bias, rounded to a level."""
    size = weights[0].size
    scale = TOP / (2 * np.sqrt(size) * np.abs(weights).mean() * TOP / 2) * rng.uniform(0.9, 1.1, len(weights))
    bias = rng.uniform(-8, 8, len(weights))
    return np.ceil((np.arange(1, TOP + 1) - 0.5 - bias[:, None]) / scale[:, None]).astype(np.int64)


def dense_network(rng: Any) -> Network:
    layers = []
    for inputs, outputs in pairwise(DENSE[:-1]):
        weights = rng.integers(-127, 128, (outputs, inputs))
        layers.append(QuantizedLayer.from_sums(weights, stairs(rng, weights), [TOP] * inputs))
    head = Head(rng.integers(-127, 128, (CLASSES, DENSE[-2])), tops=[TOP] * DENSE[-2])
    return Network(Encoder.of_integers(DENSE[0]), layers, head)


def conv_network(rng: Any) -> Network:
    layers: list[Any] = []
    shape = SHAPE
    for outs in CONVS:
        if isinstance(outs, str):
            layers.append(PoolLayer(Window(shape, 2, 2), top=TOP))
        else:
            weights = rng.integers(-127, 128, (outs, shape[0], 3, 3))
            window = Window(shape, 3, pads=1)
            layers.append(QuantizedConv(weights, stairs(rng, weights), window, top=TOP))
        shape = layers[-1].output_shape
    width = layers[-1].outputs
    head = Head(rng.integers(-127, 128, (CLASSES, width)), tops=[TOP] * width)
    return Network(Encoder.of_integers(int(np.prod(SHAPE))), layers, head)


def products(network: Network) -> int:
    """Products of one sample."""
    kernels = [layer for layer in network.layers if isinstance(layer, QuantizedConv | QuantizedLayer)]
    counts = [len(layer.window.taps) if isinstance(layer, QuantizedConv) else 1 for layer in kernels]
    return sum(n * layer.weights.size for n, layer in zip(counts, kernels, strict=True)) + (
        network.head.weights.size
    )


# The peer: float networks of the same shapes, quantized by its own tools.


def float_model(kind: str, rng: Any) -> tuple[Any, tuple[int, ...]]:
    """A float network in ONNX, and the shape of a sample."""
    from onnx import TensorProto, helper, numpy_helper

    nodes, tensors, name = [], [], "x"

    def add(operator: str, weights: Any, number: int, out: str, **about: Any) -> None:
        size = weights.size / weights.shape[1 if operator == "Gemm" else 0]
        tensors.append(numpy_helper.from_array((weights / np.sqrt(size)).astype(np.float32), f"w{number}"))
        bias = rng.normal(0, 0.1, weights.shape[1 if operator == "Gemm" else 0]).astype(np.float32)
        tensors.append(numpy_helper.from_array(bias, f"b{number}"))
        nodes.append(helper.make_node(operator, [name, f"w{number}", f"b{number}"], [out], **about))

    if kind == "dense":
        shape: tuple[int, ...] = DENSE[:1]
        for number, (inputs, outputs) in enumerate(pairwise(DENSE[:-1])):
            add("Gemm", rng.normal(size=(inputs, outputs)), number, f"s{number}")
            nodes.append(helper.make_node("Relu", [f"s{number}"], [f"h{number}"]))
            name = f"h{number}"
        width = DENSE[-2]
    else:
        shape, channels, side = SHAPE, SHAPE[0], SHAPE[1]
        for number, outs in enumerate(CONVS):
            if isinstance(outs, str):
                about = {"kernel_shape": [2, 2], "strides": [2, 2]}
                nodes.append(helper.make_node("MaxPool", [name], [f"h{number}"], **about))
                side //= 2
            else:
                add("Conv", rng.normal(size=(outs, channels, 3, 3)), number, f"s{number}", pads=[1, 1, 1, 1])
                nodes.append(helper.make_node("Relu", [f"s{number}"], [f"h{number}"]))
                channels = outs
            name = f"h{number}"
        nodes.append(helper.make_node("Flatten", [name], ["flat"]))
        name, width = "flat", channels * side * side
    add("Gemm", rng.normal(size=(width, CLASSES)), 99, "y")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *shape])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", CLASSES])
    graph = helper.make_graph(nodes, kind, [x], [y], tensors)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)]), shape


def onnx_sessions(kind: str, rng: Any, threads: int) -> tuple[list[Any], tuple[int, ...]] | None:
    """Sessions of the quantized network, one for each format, and the shape of a sample."""
    try:
        import onnx
        import onnxruntime
        from onnxruntime import quantization
    except ImportError as error:
        print(f"ONNX or ONNX Runtime is missing ({error}): its figures are null.")
        return None
    model, shape = float_model(kind, rng)

    class Samples(quantization.CalibrationDataReader):  # type: ignore[misc]
        """A few random batches, by which ranges are found."""

        def __init__(self) -> None:
            self.batches = iter([{"x": rng.random((16, *shape)).astype(np.float32)} for _ in range(2)])

        def get_next(self) -> Any:
            return next(self.batches, None)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    sessions, level = [], logging.root.manager.disable
    logging.disable(logging.WARNING)  # advice on preparing a model, which is small here
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "float.onnx")
        onnx.save(model, source)
        for form in (quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator):
            path = Path(folder, f"{form}.onnx")
            quantization.quantize_static(
                source,
                path,
                Samples(),
                quant_format=form,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
            )
            sessions.append(
                onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
            )
    logging.disable(level)
    return sessions, shape


def compared(ours: System, theirs: list[System], seconds: float, clock: Callable[[], float]) -> Pair:
    """Time both in turns; a turn begins with a pause, in which threads that spin fall asleep, and a call
    that is not counted. Of the peer the form that was fastest in the first turns goes on.
    """
    firsts = [min(_turn(system, clock) for _ in range(3)) for system in theirs]
    peer = theirs[int(np.argmin(firsts))]
    pair, end = Pair([], []), time.perf_counter() + seconds
    while time.perf_counter() < end or len(pair.ours) < 5:
        pair.ours.append(_turn(ours, clock))
        pair.theirs.append(_turn(peer, clock))
    return pair


def _turn(system: System, clock: Callable[[], float]) -> float:
    time.sleep(0.02)
    system()
    best, end = float("inf"), time.perf_counter() + 0.05
    while best == float("inf") or time.perf_counter() < end:
        begin = clock()
        system()
        best = min(best, clock() - begin)
    return best


def measure(quick: bool = False, one_core: bool = False) -> dict[str, Any]:
    """Compare all; figures are null where the peer is not installed."""
    prepare("numba", levels=True)
    rng, threads = np.random.default_rng(0), 1 if one_core else cores()
    clock = time.process_time if one_core else time.perf_counter
    result: dict[str, Any] = {}
    print(f"{'':<34}{'sugenet':>12}{'ONNX Runtime':>15}{'sugenet is faster by':>23}")
    for kind, network in (("dense", dense_network(rng)), ("conv", conv_network(rng))):
        x = rng.integers(0, TOP + 1, (BATCHES[kind], network.encoder.features), np.uint8)
        assert np.array_equal(
            network.match_counts(x[:CHECKED]), network.match_counts(x[:CHECKED], engine="definition")
        ), "the kernels differ from the definition"
        peer = onnx_sessions(kind, rng, threads)
        for words, part, key in (("batch of", x, ""), ("", x[:1].copy(), "one_")):
            name = f"{'conv_' if kind == 'conv' else ''}int8_{key}vs_onnxruntime"
            if peer is None:
                result[name] = None
                continue
            sessions, shape = peer
            floats = (part / TOP).astype(np.float32).reshape(len(part), *shape)
            theirs = [lambda s=session, f=floats: s.run(None, {"x": f}) for session in sessions]
            pair = compared(
                lambda p=part, n=network: n.predict(p, threads=threads), theirs, 1.5 if quick else 15, clock
            )
            result[name] = round(pair.ratio, 2)
            what = f"{kind}, {words} {len(part)}" if words else f"{kind}, one sample"
            print(
                f"{what:<34}{min(pair.ours) * 1e3:>9.3f} ms{min(pair.theirs) * 1e3:>12.3f} ms"
                f"{pair.ratio:>23.2f}"
            )
            if words:
                rate = products(network) * len(part) / min(pair.ours) / 1e9
                print(f"{'':<6}{rate:,.0f} billion products a second")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="end within 25 seconds")
    parser.add_argument("--one-core", action="store_true", help="one thread each, in processor time")
    options = parser.parse_args()
    watch = Watch()
    threads = "1 thread" if options.one_core else f"{cores()} threads"
    print(f"{machine()}; {threads}; Python {platform.python_version()}, NumPy {np.__version__}\n")
    result = measure(options.quick, options.one_core)
    print(f"\nOther programs used {watch.others():.0%} of the cores meanwhile.")
    print("RESULT", json.dumps(result))


if __name__ == "__main__":
    main()
