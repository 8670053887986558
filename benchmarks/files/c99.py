"""Networks as C: compiled, and compared with the definition; one sample at a time beside ONNX Runtime."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import sugenet as sg
from benchmarks._measure import take_turns
from benchmarks.files.kind import Kind, Outcome, Read, Skipped
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, Network, PoolLayer, Window

_LIBRARY = ["-std=c99", "-Wall", "-Wextra", "-O3", "-march=native", "-shared", "-fPIC"]


def dense() -> Network:
    """Bytes, three layers of 256 over one cut each, ten classes: MNIST's shape."""
    rng = np.random.default_rng(0)
    layers, width = [], 784
    for size in (256, 256, 256):
        layers.append(DenseLayer(rng.choice([-1, 1], (size, width)), np.full(size, width // 2)))
        width = size
    encoder = Encoder.of_thresholds([128.0] * 784, low=0, high=255, whole=True)
    return Network(encoder, layers, Head(rng.choice([-1, 1], (10, width))))


def convolutional() -> Network:
    """Bytes, 1x16x16, two convolutions with pooling between."""
    rng = np.random.default_rng(1)
    first = Window((1, 16, 16), 3, pads=1)
    conv = ConvLayer(rng.choice([-1, 1], (32, 1, 3, 3)), rng.integers(900, 1400, 32), first, top=255)
    pool = PoolLayer(Window(conv.output_shape, 2, 2))
    second = Window(pool.output_shape, 3)
    again = ConvLayer(rng.choice([-1, 1], (32, 32, 3, 3)), np.full(32, 144), second)
    return Network(
        Encoder.of_integers(256), [conv, pool, again], Head(rng.choice([-1, 1], (10, again.outputs)))
    )


class Library:
    """A network compiled from its C file."""

    def __init__(self, network: Network, folder: Path) -> None:
        import ctypes

        sg.write_c(network, folder / "net.c")
        command = ["gcc", *_LIBRARY, str(folder / "net.c"), "-o", str(folder / "net.so")]
        subprocess.run(command, check=True, capture_output=True)
        self.library = ctypes.CDLL(str(folder / "net.so"))
        self.classes = network.head.outputs

    def match_counts(self, X: np.ndarray) -> np.ndarray:
        out = np.empty((len(X), self.classes), np.int32)
        for row, counts in zip(np.ascontiguousarray(X), out, strict=True):
            given = (row.ctypes.data_as(_pointer()), counts.ctypes.data_as(_pointer()))
            if self.library.net_match_counts(*given):
                raise ValueError("a value is none of its feature")
        return out


def _pointer() -> Any:
    from ctypes import c_void_p

    return c_void_p


def _tried(network: Network, folder: Path) -> Outcome:
    if shutil.which("gcc") is None:
        return Skipped("there is no gcc here")
    X = np.random.default_rng(2).integers(0, 256, (300, network.encoder.features)).astype(np.uint8)
    counts = Library(network, folder).match_counts(X)
    return Read(len(X), int((counts != network.match_counts(X, engine="definition")).any(axis=1).sum()))


def kinds() -> Iterable[Kind]:
    """Written by us, compiled by gcc."""
    return [
        Kind("C99, dense 784-256-256-256-10", "gcc", lambda folder: _tried(dense(), folder)),
        Kind("C99, convolutions over bytes", "gcc", lambda folder: _tried(convolutional(), folder)),
    ]


_LOOP = """#define net_DECLARATIONS_ONLY
#include "net.c"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv)
{
    const int many = atoi(argv[argc - 1]);
    static uint8_t x[64][net_FEATURES];
    long sum = 0;
    struct timespec a, b;
    for (int i = 0; i < 64; i++)
        for (int f = 0; f < net_FEATURES; f++) x[i][f] = (uint8_t)((i * 31 + f * 97) % 256);
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < many; i++) sum += net_predict(x[i % 64]);
    clock_gettime(CLOCK_MONOTONIC, &b);
    printf("%.9f %ld", ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)) / many, sum);
    return 0;
}
"""


def timed(quick: bool) -> dict[str, Any]:
    """One sample at a time, one thread each: the C file in a loop of its own, ONNX Runtime in Python's."""
    if shutil.which("gcc") is None:
        return {"c99_equal": None, "c99_vs_onnxruntime_batch1": None}
    import onnxruntime

    network = dense()
    X = np.random.default_rng(3).integers(0, 256, (64, 784))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        equal = _tried(network, folder)
        (folder / "loop.c").write_text(_LOOP, encoding="ascii")
        command = ["gcc", "-std=gnu99", "-O3", "-march=native", "loop.c", "net.c", "-o", "loop"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        sg.write_onnx(network, folder / "net.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(folder / "net.onnx"), options)
        rows = [{"x": row[None].astype(np.float64)} for row in X]

        def runtime() -> None:
            for row in rows:
                session.run(["class"], row)

        def own() -> float:
            done = subprocess.run([folder / "loop", "20000"], capture_output=True, text=True, check=True)
            return float(done.stdout.split()[0])

        best = min(own() for _ in range(3 if quick else 10))
        other = take_turns({"onnxruntime": runtime}, 0.5 if quick else 5.0)["onnxruntime"] / len(rows)
    print(f"one sample: C {1e6 * best:.2f} us, ONNX Runtime {1e6 * other:.2f} us")
    same = isinstance(equal, Read) and equal.different == 0
    return {"c99_equal": same, "c99_vs_onnxruntime_batch1": round(other / best, 1)}
