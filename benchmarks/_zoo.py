"""Public networks and images for the benchmarks, from the folder that SUGENET_ZOO names."""

from __future__ import annotations

import gzip
import os
import struct
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

import sugenet as sg
from sugenet.bnn import Network
from sugenet.io import from_state_dict, read_bnnquanalyst, read_npz, read_onnx

PIXELS = sg.Integers(0, 255, step=Fraction(1, 255))


def folder() -> Path | None:
    """The folder, or None with a word about it."""
    name = os.environ.get("SUGENET_ZOO")
    if not name:
        print("SUGENET_ZOO is not set: the public networks are not at hand, nothing was measured.")
        return None
    return Path(name)


def _idx(path: Path) -> np.ndarray:
    data = gzip.decompress(path.read_bytes())
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


@cache
def mnist(zoo: Path) -> tuple[np.ndarray, np.ndarray]:
    """The test images, flat, and their labels."""
    return _idx(zoo / "mnist/t10k-images-idx3-ubyte.gz").reshape(-1, 784), _idx(
        zoo / "mnist/t10k-labels-idx1-ubyte.gz"
    )


@cache
def mnist_train(zoo: Path) -> tuple[np.ndarray, np.ndarray]:
    """The training images, flat, and their labels."""
    return _idx(zoo / "mnist/train-images-idx3-ubyte.gz").reshape(-1, 784), _idx(
        zoo / "mnist/train-labels-idx1-ubyte.gz"
    )


def right(network: Network, X: np.ndarray, y: np.ndarray, count: int) -> np.ndarray:
    """The first samples that the network classifies as they are labelled."""
    return X[np.flatnonzero(network.predict(X) == y)[:count]]


def msakai(zoo: Path, name: str = "mnist") -> Network:
    return read_npz(zoo / f"msakai/{name}.npz", inputs=PIXELS)


def lfc(zoo: Path) -> Network:
    path = zoo / "bnn_pynq/lfcW1A1_mnist.npz"
    return read_npz(path, features=784, outputs=10, above=127, inputs=sg.Integers(0, 255))


def quanalyst(zoo: Path) -> list[tuple[str, Network, np.ndarray]]:
    """Each network with its inputs."""
    found = []
    for path in sorted(path for path in (zoo / "bnnquanalyst").iterdir() if path.name.startswith("mnist")):
        network = read_bnnquanalyst(path, inputs=sg.Bits())
        files = sorted((zoo / "bnnquanalyst/inputs").glob(f"instance_*_{network.encoder.features}.txt"))
        found.append(
            (
                path.name.removeprefix("mnist_bnn_"),
                network,
                np.array([file.read_text().split() for file in files], int),
            )
        )
    return found


def npaq(zoo: Path) -> list[tuple[str, Network, np.ndarray, np.ndarray]]:
    """Each network with the first 2000 test images, resized to its bits, and their labels."""
    X, y = mnist(zoo)
    found = []
    for path in sorted((zoo / "npaq").glob("*.pt")):
        network = from_state_dict(path, inputs=sg.Bits())
        side = round(network.encoder.features**0.5)
        small = [
            np.asarray(Image.fromarray(x.reshape(28, 28)).resize((side, side), Image.Resampling.BILINEAR))
            for x in X[:2000]
        ]
        found.append(
            (path.stem, network, (np.array(small).reshape(2000, -1) / 255 > 0.1307).astype(int), y[:2000])
        )
    return found


@cache
def traffic(zoo: Path):
    return read_onnx(next((zoo / "traffic").glob("*.onnx.gz")), inputs=sg.Reals(0, 255)).report
