"""Random 8-bit networks as TensorFlow Lite files, with scales that make ties common.

They are written by `tflite_writer` alone; what they mean is asked of LiteRT (package ai-edge-litert).
`compare(seed)` is one comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io import Integers, read_tflite
from sugenet.io.proof.near import RawRanges, turning
from tests.fuzzing.tflite_writer import Model

__all__ = ["TfliteModel", "compare", "outcome", "outputs", "tflite_model"]


@dataclass
class TfliteModel:
    """A file, the shape of a sample and what is in it."""

    raw: bytes
    shape: tuple[int, ...]
    floats: bool
    """Whether samples are float32; if not, they are int8."""
    kinds: tuple[str, ...]


@dataclass
class _Builder:
    random: np.random.Generator
    model: Model = field(default_factory=Model)
    kinds: list[str] = field(default_factory=list)

    def scale(self, about: float) -> float:
        """A scale: a power of two, which makes ties, or any number."""
        scale = about * 2.0 ** self.random.uniform(-1, 1)
        if self.random.random() < 0.4:
            return float(2.0 ** np.round(np.log2(scale)))
        return float(np.float32(scale))

    def activation(self, shape: Any, scale: float, zero: int | None = None) -> int:
        zero = int(self.random.choice([-128, -100, -3, 0, 5, 60, 127])) if zero is None else zero
        return self.model.tensor((1, *shape), "i1", np.float32(scale), zero)

    def layer(self, x: int, rows: int, fan: int, axis: int, shape: Any) -> tuple[list[int], float]:
        """Weights and bias of a layer, and the scale of typical sums."""
        weights = self.random.integers(-127, 128, shape)
        if self.random.random() < 0.2:
            weights = self.random.integers(-2, 3, shape)
        each = self.random.random() < 0.6
        unit = self.scale(0.02)
        scales = np.float32([self.scale(unit) for _ in range(rows)] if each else [unit])
        source = np.float32(self.model.grids[x][0])
        typical = (
            float(source) * float(scales.mean()) * sqrt(fan) * 60 * max(1.0, float(np.abs(weights).mean()))
        )
        w = self.model.tensor(shape, "i1", scales, 0, axis, weights)
        units = (source * scales).astype(np.float32)
        bias = np.round(self.random.normal(0, 0.3, rows) * typical / units).clip(-(1 << 30), 1 << 30)
        b = self.model.tensor((rows,), "i4", units, 0, 0, bias)
        return [x, w, b], typical

    def fused(self) -> tuple[str, int]:
        return "b", int(self.random.choice([0, 0, 1, 1, 2, 3]))

    def add(self, name: str, inputs: list[int], out: int, options: Any = None) -> int:
        self.model.operator(name, inputs, [out], options)
        self.kinds.append(name)
        return out

    def dense(self, x: int, rows: int) -> int:
        size = prod(self.model.shapes[x])
        inputs, typical = self.layer(x, rows, size, 0, (rows, size))
        out = self.activation((rows,), self.scale(typical / 50))
        return self.add("FULLY_CONNECTED", inputs, out, {0: self.fused()})

    def slide(
        self, high: int, wide: int, kernel: tuple[int, int], dilated: bool
    ) -> tuple[Any, Any, Any, Any]:
        stride = int(self.random.integers(1, 3)), int(self.random.integers(1, 3))
        spread = (int(self.random.integers(1, 3)), 1) if dilated and stride == (1, 1) else (1, 1)
        same = bool(self.random.random() < 0.5)
        sizes = []
        for size, apart, k in zip((high, wide), spread, kernel, strict=True):
            reach = (k - 1) * apart + 1
            same |= size < reach
        for size, step, apart, k in zip((high, wide), stride, spread, kernel, strict=True):
            sizes.append(-(-size // step) if same else (size - (k - 1) * apart - 1) // step + 1)
        return stride, spread, same, sizes

    def conv(self, x: int) -> int:
        _, high, wide, channels = self.model.shapes[x]
        kernel = int(self.random.integers(1, 4)), int(self.random.integers(1, 4))
        stride, spread, same, sizes = self.slide(high, wide, kernel, True)
        padding, steps = ("b", 0 if same else 1), {1: ("i", stride[1]), 2: ("i", stride[0])}
        if self.random.random() < 0.4:
            times = int(self.random.integers(1, 3))
            rows = channels * times
            inputs, typical = self.layer(x, rows, prod(kernel), 3, (1, *kernel, rows))
            options = {
                0: padding,
                **steps,
                3: ("i", times),
                4: self.fused(),
                5: ("i", spread[1]),
                6: ("i", spread[0]),
            }
            name = "DEPTHWISE_CONV_2D"
        else:
            rows = int(self.random.integers(1, 5))
            inputs, typical = self.layer(x, rows, prod(kernel) * channels, 0, (rows, *kernel, channels))
            options = {0: padding, **steps, 3: self.fused(), 4: ("i", spread[1]), 5: ("i", spread[0])}
            name = "CONV_2D"
        return self.add(name, inputs, self.activation((*sizes, rows), self.scale(typical / 50)), options)

    def pool(self, x: int, name: str) -> int:
        _, high, wide, channels = self.model.shapes[x]
        kernel = int(self.random.integers(1, 4)), int(self.random.integers(1, 4))
        stride, _, same, sizes = self.slide(high, wide, kernel, False)
        options = {
            0: ("b", 0 if same else 1), 1: ("i", stride[1]), 2: ("i", stride[0]), 3: ("i", kernel[1]),
            4: ("i", kernel[0]), 5: self.fused(),
        }  # fmt: skip
        return self.add(name, [x], self.activation((*sizes, channels), *self.model.grids[x]), options)

    def image_step(self, x: int) -> int:
        shape = self.model.shapes[x]
        match self.random.integers(0, 10):
            case 0 | 1 | 2 | 3:
                return self.conv(x)
            case 4:
                return self.pool(x, "MAX_POOL_2D")
            case 5:
                return self.pool(x, "AVERAGE_POOL_2D")
            case 6:
                ends = self.random.integers(0, 2, (4, 2)) * np.array([[0], [1], [1], [0]])
                pads = self.model.tensor((4, 2), "i4", data=ends)
                grown = (shape[1] + ends[1].sum(), shape[2] + ends[2].sum(), shape[3])
                return self.conv(self.add("PAD", [x, pads], self.activation(grown, *self.model.grids[x])))
            case 7:
                other = self.add(
                    "QUANTIZE", [x], self.activation(shape[1:], self.scale(self.model.grids[x][0]))
                )
                other = other if self.random.random() < 0.5 else x
                branch = self.same_conv(x)
                out = self.activation(shape[1:], self.scale(2 * self.model.grids[x][0]))
                return self.add("ADD", [other, branch], out, {0: self.fused()})
            case 8:
                order = [0, *(1 + self.random.permutation(3)).tolist()]
                perm = self.model.tensor((4,), "i4", data=order)
                turned = [shape[k] for k in order[1:]]
                return self.add("TRANSPOSE", [x, perm], self.activation(turned, *self.model.grids[x]))
            case _:
                return self.pointwise(x)

    def same_conv(self, x: int) -> int:
        """A convolution that keeps the shape, and has about the scale of its input."""
        channels = self.model.shapes[x][3]
        inputs, _ = self.layer(x, channels, channels, 0, (channels, 1, 1, channels))
        out = self.activation(self.model.shapes[x][1:], self.scale(self.model.grids[x][0]))
        return self.add("CONV_2D", inputs, out, {0: ("b", 0), 1: ("i", 1), 2: ("i", 1), 3: self.fused()})

    def pointwise(self, x: int) -> int:
        scale, shape = self.model.grids[x][0], self.model.shapes[x][1:]
        match self.random.integers(0, 6):
            case 0 | 1:
                name = str(self.random.choice(["RELU", "RELU6", "RELU_N1_TO_1"]))
                return self.add(name, [x], self.activation(shape, self.scale(scale)))
            case 2:
                return self.add("QUANTIZE", [x], self.activation(shape, self.scale(scale)))
            case 3:
                alpha = float(self.random.choice([0.0, 0.125, 0.2, 0.3]))
                return self.add(
                    "LEAKY_RELU", [x], self.activation(shape, self.scale(scale)), {0: ("f", alpha)}
                )
            case 4:
                values = self.random.integers(-128, 128, shape[-1])
                other = self.model.tensor((shape[-1],), "i1", np.float32(self.scale(scale)), 3, 0, values)
                return self.add(
                    "ADD", [x, other], self.activation(shape, self.scale(scale)), {0: self.fused()}
                )
            case _:
                wide = (*shape[:-1], 2 * shape[-1])
                other = self.add("QUANTIZE", [x], self.activation(shape, *self.model.grids[x]))
                options = {0: ("i", len(shape)), 1: ("b", 0)}
                return self.add(
                    "CONCATENATION", [x, other], self.activation(wide, *self.model.grids[x]), options
                )


def tflite_model(seed: int) -> TfliteModel:
    """A random network."""
    random = np.random.default_rng(seed)
    build = _Builder(random)
    images = random.random() < 0.7
    shape = (
        (int(random.integers(1, 7)), int(random.integers(1, 7)), int(random.integers(1, 4)))
        if images
        else (int(random.integers(1, 12)),)
    )
    floats = bool(random.random() < 0.5)
    scale, zero = np.float32(build.scale(0.02)), int(random.integers(-128, 128))
    if floats:
        start = build.model.tensor((1, *shape), "f4")
        x = build.add("QUANTIZE", [start], build.activation(shape, float(scale), zero))
    else:
        start = x = build.activation(shape, float(scale), zero)
    if images:
        for _ in range(int(random.integers(1, 4))):
            x = build.image_step(x)
        made = build.model.shapes[x]
        if random.random() < 0.3:
            axes = build.model.tensor((2,), "i4", data=[1, 2])
            out = build.activation(made[3:], build.scale(float(build.model.grids[x][0])))
            x = build.add("MEAN", [x, axes], out, {0: ("?", False)})
        elif random.random() < 0.7:
            flat = build.model.tensor((2,), "i4", data=[-1, prod(made)])
            x = build.add("RESHAPE", [x, flat], build.activation((prod(made),), *build.model.grids[x]))
    for _ in range(int(random.integers(0, 2))):
        x = build.dense(x, int(random.integers(1, 9)))
        if random.random() < 0.3:
            x = build.pointwise(x)
    x = build.dense(x, int(random.integers(2, 6)))
    if random.random() < 0.4:
        out = build.model.tensor(build.model.shapes[x], "f4")
        x = build.add("DEQUANTIZE", [x], out)
    return TfliteModel(build.model.raw([start], [x]), shape, floats, tuple(build.kinds))


def outputs(raw: bytes, rows: Any) -> Any:
    """What the reference kernels of LiteRT compute, sample by sample."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kind = OpResolverType.BUILTIN_REF
    run = Interpreter(model_content=raw, num_threads=1, experimental_op_resolver_type=kind)
    run.allocate_tensors()
    (port,), (end,) = run.get_input_details(), run.get_output_details()
    found = []
    for row in rows:
        run.set_tensor(port["index"], row.reshape(port["shape"]).astype(port["dtype"]))
        run.invoke()
        found.append(run.get_tensor(end["index"]).reshape(-1).copy())
    return np.array(found)


def outcome(seed: int) -> str:
    """Read one file and compare all outputs with LiteRT, also next to steps: "equal", or what is wrong."""
    made = tflite_model(seed)
    try:
        network = read_tflite(made.raw, inputs=None if made.floats else Integers(-128, 127))
    except FileError as error:
        return f"different: {error}" if "this is a fault" in str(error).lower() else f"refused: {error}"
    random = np.random.default_rng(seed)
    domain = RawRanges.of_encoder(network.encoder)
    pool = domain.samples(24, random).astype(np.float32).astype(np.float64)
    near = turning(network, domain, network.hidden, pool, 3, random, direct=False)
    rows = np.concatenate([pool, near]).astype(np.float32).astype(np.float64)
    mine = network.head.logits(network.match_counts(rows)).astype(np.float32)
    theirs = outputs(made.raw, rows).astype(np.float32)
    if mine.shape != theirs.shape:
        return f"different: shape {theirs.shape}, not {mine.shape}"
    wrong = np.argwhere(mine != theirs)
    if len(wrong):
        row, k = wrong[0].tolist()
        return f"different: {made.kinds}: output {k} is {theirs[row, k]}, not {mine[row, k]} ({len(wrong)})"
    return "equal"


def compare(seed: int) -> bool:
    """Compare one random file that is read with LiteRT: whether all outputs are equal.

    Files that are refused, such as additions without a weighted sum, are passed over.
    """
    for number in range(seed * 1000, seed * 1000 + 1000):
        found = outcome(number)
        if not found.startswith("refused"):
            return found == "equal"
    raise AssertionError("none of 1000 files was read")
