"""Readers of public trained networks kept as plain arrays: each gives the exact network and the same
network in float64.

The two share the file and nothing else. The exact one folds batch norm into integer thresholds; the float64
one is the authors' formula written out in NumPy. What the formulas are, and where the files come from, stands
in the README of the folder that the environment variable SUGENET_ZOO names. Nothing of it is copied here.
"""

import gzip
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.nn import DenseLayer, Encoder, Head, LevelLayer, Network, fold, fold_levels, threshold

Floats = npt.NDArray[np.float64]
Arrays = Mapping[str, npt.NDArray[Any]]

CHAINER_EPS = 2e-5
"""Chainer's default for batch norm, which the msakai networks were trained with."""
LFC_INPUTS = 784
LFC_CLASSES = 10


# -- the float64 evaluation ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchNorm:
    """``gamma * (x - mean) / sqrt(var + eps) + beta``, in float64."""

    gamma: Floats
    beta: Floats
    mean: Floats
    var: Floats
    eps: float = 0.0

    def __call__(self, x: Floats) -> Floats:
        return self.gamma * (x - self.mean) / np.sqrt(self.var + self.eps) + self.beta

    def fields(self) -> dict[str, Any]:
        return {"gamma": self.gamma, "beta": self.beta, "mean": self.mean, "var": self.var, "eps": self.eps}


@dataclass(frozen=True)
class Block:
    """A linear layer with a bias, and what its sum goes through before the sign."""

    weights: Floats
    bias: Floats
    norm: BatchNorm

    def value(self, sums: Floats) -> Floats:
        """What the sign is taken of, for sums of weights times inputs."""
        return self.norm(sums.astype(self.bias.dtype) + self.bias)

    def in_float32(self) -> "Block":
        """The same formula in float32."""
        norm = BatchNorm(
            *(
                column.astype(np.float32)
                for column in (self.norm.gamma, self.norm.beta, self.norm.mean, self.norm.var)
            ),
            self.norm.eps,
        )
        return Block(self.weights, self.bias.astype(np.float32), norm)


@dataclass(frozen=True)
class Evaluation:
    """What the float64 network computes for a batch."""

    hidden: list[npt.NDArray[np.bool_]]
    scores: Floats
    nearest: list[float]
    """For each hidden layer how near to zero a value came whose sign was taken."""

    @property
    def classes(self) -> npt.NDArray[np.intp]:
        return np.argmax(self.scores, axis=1)


@dataclass(frozen=True)
class FloatNetwork:
    """Blocks and a linear output with bias, for bipolar inputs; sign(0) = +1."""

    blocks: list[Block]
    weights: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Evaluation:
        hidden, nearest = [], []
        for block in self.blocks:
            value = block.value(x @ block.weights.T)
            hidden.append(value >= 0)
            nearest.append(float(np.abs(value).min()))
            x = np.where(hidden[-1], 1.0, -1.0)
        return Evaluation(hidden, x @ self.weights.T + self.bias, nearest)


@dataclass(frozen=True)
class PixelNetwork:
    """The same after ``sign(batch norm(pixel / 255))``."""

    norm: BatchNorm
    network: FloatNetwork

    def value(self, pixels: npt.NDArray[Any]) -> Floats:
        """What the sign of each pixel is taken of."""
        return self.norm(_float64(pixels) / 255)

    def __call__(self, pixels: npt.NDArray[Any]) -> Evaluation:
        return self.network(np.where(self.value(pixels) >= 0, 1.0, -1.0))


def _float64(array: npt.NDArray[Any]) -> Floats:
    return np.asarray(array, dtype=np.float64)


def _folded(blocks: list[Block]) -> list[DenseLayer]:
    return [fold(block.weights, bias=block.bias, **block.norm.fields()) for block in blocks]


# -- msakai: pixels / 255, batch norm, sign, four blocks, binary output with a real bias ---------------------


def msakai_float(arrays: Arrays) -> PixelNetwork:
    def norm(name: str) -> BatchNorm:
        columns = (_float64(arrays[f"{name}/{part}"]) for part in ("gamma", "beta", "avg_mean", "avg_var"))
        return BatchNorm(*columns, eps=CHAINER_EPS)

    count = sum(name.startswith("blocks/") and name.endswith("/lin/W") for name in arrays)
    blocks = [
        Block(
            _float64(arrays[f"blocks/{b}/lin/W"]),
            _float64(arrays[f"blocks/{b}/lin/b"]),
            norm(f"blocks/{b}/bn"),
        )
        for b in range(count)
    ]
    return PixelNetwork(
        norm("input_bn"),
        FloatNetwork(blocks, _float64(arrays["output_lin/W"]), _float64(arrays["output_lin/b"])),
    )


def _pixel_layer(norm: BatchNorm) -> LevelLayer:
    """One neuron a pixel, which is on where the sign of the pixel's batch norm is +1."""
    inputs = len(norm.gamma)
    return fold_levels(np.eye(inputs, dtype=int), [255] * inputs, step=Fraction(1, 255), **norm.fields())


def msakai_exact(arrays: Arrays) -> Network:
    """The network over uint8 pixels, one cut a pixel: where batch norm of the pixel changes its sign.

    A pixel with negative gamma is on below its cut; the cut is kept and its column of the first weights is
    negated. A bit that is always on has the cut 0, one that is never on the cut 256, which no pixel reaches.
    """
    parts = msakai_float(arrays)
    pixel = _pixel_layer(parts.norm)
    cuts = np.where(
        pixel.flipped, 256 - pixel.tau, pixel.tau
    )  # on iff 255 - a >= tau, that is not a >= 256 - tau
    sign = np.where(pixel.flipped, -1, 1)
    first, *later = parts.network.blocks
    layers = _folded([Block(first.weights * sign, first.bias, first.norm), *later])
    encoder = Encoder.of_thresholds(cuts.tolist(), low=0, high=255, whole=True)
    return Network(encoder, layers, Head(parts.network.weights, parts.network.bias))


def msakai_on_levels(arrays: Arrays) -> Network:
    """The same function with the input's batch norm as a layer of its own,
    which reads the pixels as levels.
    """
    parts = msakai_float(arrays)
    pixel = _pixel_layer(parts.norm)
    layers = [pixel, *_folded(parts.network.blocks)]
    return Network(Encoder.of_integers(pixel.inputs), layers, Head(parts.network.weights, parts.network.bias))


# -- BNN-PYNQ: matches > T, no batch norm left ---------------------------------------------------------------


@dataclass(frozen=True)
class MatchNetwork:
    """Match counts in float64: a neuron fires iff its count is above T;
    the score of a class is its last count.
    """

    weights: list[Floats]
    thresholds: list[Floats]

    def __call__(self, pixels: npt.NDArray[np.uint8]) -> Evaluation:
        on = np.zeros((len(pixels), self.weights[0].shape[1]), bool)
        on[:, : pixels.shape[1]] = pixels > 127  # the padding stays off
        hidden, nearest = [], []
        for weights, above in zip(self.weights[:-1], self.thresholds, strict=False):
            value = self._matches(on, weights) - above
            on = value > 0
            hidden.append(on)
            nearest.append(float(np.abs(value).min()))
        return Evaluation(hidden, self._matches(on, self.weights[-1])[:, :LFC_CLASSES], nearest)

    @staticmethod
    def _matches(on: npt.NDArray[np.bool_], weights: Floats) -> Floats:
        x = on.astype(np.float64)
        return x @ weights.T + (1 - x) @ (1 - weights).T


def lfc_float(arrays: Arrays) -> MatchNetwork:
    numbers = range(sum(name.startswith("W") for name in arrays))
    return MatchNetwork(
        [_float64(arrays[f"W{i}"]) for i in numbers], [_float64(arrays[f"T{i}"]) for i in numbers]
    )


def lfc_padded(arrays: Arrays) -> Network:
    """The network as stored: its padding is kept, as features that are always 0."""
    *hidden, last = (arrays[f"W{i}"].astype(np.int64) * 2 - 1 for i in range(4))
    layers = [DenseLayer(weights, arrays[f"T{i}"] + 1) for i, weights in enumerate(hidden)]
    padding = [threshold(1, low=0, high=0, whole=True)] * (layers[0].inputs - LFC_INPUTS)
    encoder = Encoder([*[threshold(128, low=0, high=255, whole=True)] * LFC_INPUTS, *padding])
    half = Fraction(last.shape[1], 2)
    return Network(
        encoder, layers, Head(last[:LFC_CLASSES], bias=half, scale=Fraction(1, 2))
    )  # M = (2 M - n) / 2 + n / 2


def lfc_exact(arrays: Arrays) -> Network:
    """The network over 784 pixels: a padding bit, always off, is a match where its weight is -1, and tau
    counts it beforehand.
    """
    padded = lfc_padded(arrays)
    first, *later = padded.layers
    matched = (first.weights[:, LFC_INPUTS:] < 0).sum(axis=1)
    layers = [DenseLayer(first.weights[:, :LFC_INPUTS], first.tau - matched), *later]
    return Network(Encoder(padded.encoder.codings[:LFC_INPUTS]), layers, padded.head)


def with_padding(pixels: npt.NDArray[np.uint8], width: int) -> npt.NDArray[np.uint8]:
    return np.pad(pixels, ((0, 0), (0, width - pixels.shape[1])))


# -- BNNQuanalyst: CSV files, batch norm without eps ---------------------------------------------------------


def quanalyst_float(folder: Path) -> FloatNetwork:
    def read(path: Path) -> Floats:
        return np.loadtxt(path, delimiter=",", ndmin=2)

    def block(path: Path) -> Block:
        weight, beta, mean, var = (
            read(path / f"bn_{part}.csv")[0] for part in ("weight", "bias", "mean", "var")
        )
        return Block(
            read(path / "lin_weight.csv"), read(path / "lin_bias.csv")[0], BatchNorm(weight, beta, mean, var)
        )

    count = len(list(folder.glob("blk*")))
    last = folder / "out_blk"
    return FloatNetwork(
        [block(folder / f"blk{b}") for b in range(1, count + 1)],
        read(last / "lin_weight.csv"),
        read(last / "lin_bias.csv")[0],
    )


def quanalyst_exact(folder: Path) -> Network:
    parts = quanalyst_float(folder)
    return Network.of_bits(_folded(parts.blocks), Head(parts.weights, parts.bias))


def quanalyst_inputs(folder: Path, n: int) -> npt.NDArray[np.uint8]:
    """The instances with n inputs, 0 for -1 and 1 for +1, one row each."""
    paths = sorted(folder.glob(f"instance_*_{n}.txt"))
    return np.array([[int(word) for word in path.read_text().split()] for path in paths], np.uint8).reshape(
        len(paths), n
    )


# -- images --------------------------------------------------------------------------------------------------


def idx(path: Path) -> npt.NDArray[np.uint8]:
    """A gzipped idx file of bytes: four bytes of kind and number of axes, their lengths, the data."""
    with gzip.open(path) as file:
        data = file.read()
    shape = struct.unpack(f">{data[3]}I", data[4 : 4 + 4 * data[3]])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def grey_png(path: Path) -> npt.NDArray[np.uint8]:
    """An 8-bit grey, non-interlaced PNG; other kinds are refused."""
    data = path.read_bytes()
    chunks, at = {b"IDAT": b""}, 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        chunks[kind] = chunks.get(kind, b"") + data[at + 8 : at + 8 + size]
        at += size + 12
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 0, 0, 0, 0], f"{path.name} is no plain 8-bit grey PNG"
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    image = np.zeros((height + 1, width + 1), int)  # a row and a column of zeros before the first
    for y, (how, *line) in enumerate(lines.tolist(), start=1):
        for x, delta in enumerate(line, start=1):
            left, up, corner = image[y, x - 1], image[y - 1, x], image[y - 1, x - 1]
            nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            image[y, x] = (delta + (0, left, up, (left + up) // 2, nearest)[how]) % 256
    return image[1:, 1:].astype(np.uint8)


# -- two bits ------------------------------------------------------------------------------------------------


def tfc_two_bits(arrays: Arrays, x: Floats) -> tuple[list[Floats], Floats]:
    """TFC_1W2A as its authors wrote it, in float64: levels 0, 1, 2 of the hidden layers, and the scores.

    Weights are signs; activations are rounded to -1, 0 and 1, a half to the even one.
    """

    def rounded(values: Floats) -> Floats:
        return np.rint(np.clip(values, -1, 1))

    x, levels = rounded(2 * x - 1), []
    for weights, norm in (("40", 3), ("50", 7), ("60", 11)):
        gamma, beta, mean, var = (
            arrays[f"features.{norm}.{name}"].astype(np.float64)
            for name in ("weight", "bias", "running_mean", "running_var")
        )
        sums = x @ np.where(arrays[weights] >= 0, 1.0, -1.0).T
        x = rounded(gamma * (sums - mean) / np.sqrt(var + np.float64(np.float32(1e-5))) + beta)
        levels.append(x + 1)
    last = {name: float(arrays[f"features.15.{name}"][0]) for name in ("weight", "bias", "running_mean")}
    sums = x @ np.where(arrays["70"] >= 0, 1.0, -1.0).T
    root = float(np.power(arrays["84"], arrays["78"])[0])  # in the file's own floats
    return levels, (sums - last["running_mean"]) / root * last["weight"] + last["bias"]
