"""A grammar of ONNX graphs that hold binarized networks, and their comparison with ONNX Runtime and with the
interpreter of operators.

Numbers are small multiples of a half, so float32 is exact and even ties must agree; batch norms with square
roots are the exception, and there samples within rounding of a decision are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, floor, prod
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from sugenet.errors import FileError
from sugenet.io.exact.domains import Bits, Integers
from sugenet.io.importers import read_onnx
from sugenet.io.onnx.graph import read_graph
from sugenet.io.onnx.interpreter.program import Interpreter
from sugenet.io.onnx.interpreter.tensors import UncomparableError

QONNX = "qonnx.custom_op.general"


@dataclass(frozen=True)
class Case:
    """One graph."""

    name: str
    raw: bytes
    inputs: Any
    shape: tuple[int, ...]
    """Of one sample."""
    batch: int | None
    standard: bool
    """Whether ONNX Runtime knows all its operators."""
    seed: int


@dataclass
class _Draft:
    """A graph being drawn."""

    random: np.random.Generator
    opset: int
    batch: int | None
    sizes: list[int]
    """Of the current tensor, without the batch."""
    now: str = "x"
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    standard: bool = True
    level: str = "raw"
    """raw, bits or sums"""

    # -- drawing ---------------------------------------------------------------------------------------------

    def pick(self, *options: Any) -> Any:
        return options[int(self.random.integers(len(options)))]

    def maybe(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def halves(self, *shape: int, most: int = 4) -> np.ndarray:
        return (self.random.integers(-most, most + 1, shape) / 2).astype(np.float32)

    def signs(self, *shape: int) -> np.ndarray:
        values = (-1, 1) if self.maybe(0.7) else (-1, 0, 1)
        found = self.random.choice(values, shape).astype(np.float32)
        if not found.any():
            found.reshape(-1)[:1] = 1
        return found

    def const(self, value: Any, dtype: Any = None) -> str:
        array = np.asarray(value, dtype)
        if array.dtype == np.float64 and dtype is None:
            array = array.astype(np.float32)
        name = f"c{len(self.constants)}"
        if self.maybe(0.1) and array.size:
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array)))
            self.constants[f"unused{len(self.constants)}"] = np.zeros(1, np.float32)
        else:
            self.constants[name] = array
        return name

    def add(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any) -> str:
        names = [f"v{len(self.nodes)}"] + [f"v{len(self.nodes)}_{k}" for k in range(1, outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, domain=domain, **attributes))
        if domain not in ("", "ai.onnx.ml"):
            self.standard = False
        return names[0]

    def put(self, op: str, *inputs: str, **attributes: Any) -> None:
        self.now = self.add(op, self.now, *inputs, **attributes)

    # -- plumbing --------------------------------------------------------------------------------------------

    def axes_op(self, op: str, x: str, axes: list[int]) -> str:
        if self.opset >= 13:
            return self.add(op, x, self.const(axes, np.int64))
        return self.add(op, x, axes=axes)

    def plumbing(self) -> None:
        rank = len(self.sizes) + 1
        match self.pick(
            "identity", "dropout", "cast", "squeeze", "transpose", "reshape", "shape", "expand", "noop"
        ):
            case "identity":
                self.put("Identity")
            case "dropout":
                if self.opset >= 12:
                    self.put("Dropout")
                else:
                    self.put("Dropout", ratio=0.5)
            case "cast":
                self.put("Cast", to=11)
                self.put("Cast", to=1)
            case "squeeze":
                axis = self.pick(*range(1, rank + 1))
                x = self.axes_op("Unsqueeze", self.now, [self.pick(axis, axis - rank - 1)])
                self.now = self.axes_op("Squeeze", x, [axis])
            case "transpose":
                order = self.random.permutation(rank).tolist()
                self.put("Transpose", perm=order)
                self.put("Transpose", perm=[order.index(k) for k in range(rank)])
            case "reshape":
                first = self.pick(0, -1) if self.batch is None else self.pick(0, self.batch)
                count = prod(self.sizes)
                if self.maybe(0.5):
                    self.put("Reshape", self.const([first, count], np.int64))
                self.put("Reshape", self.const([first, *self.sizes], np.int64))
            case "shape":
                size = self.add("Gather", self.add("Shape", self.now), self.const(0, np.int64), axis=0)
                size = self.axes_op("Unsqueeze", size, [0])
                rest = self.const(self.sizes, np.int64)
                self.put("Reshape", self.add("Concat", size, rest, axis=0))
            case "expand" if self.opset >= 8:
                self.put("Expand", self.const([1] * self.pick(1, rank), np.int64))
            case "noop" if self.opset >= 18:
                self.put("ReduceMean", self.const([], np.int64), noop_with_empty_axes=1)

    def flatten(self) -> None:
        count, rank = prod(self.sizes), len(self.sizes) + 1
        if rank == 2 and self.maybe(0.7):
            return
        match self.pick("flatten", "flatten", "negative", "reshape", "hwc"):
            case "flatten":
                self.put("Flatten")
            case "negative" if self.opset >= 11:
                self.put("Flatten", axis=1 - rank)
            case "hwc" if rank == 4:
                self.put("Transpose", perm=[0, 2, 3, 1])
                self.put("Flatten", axis=1)
            case _:
                self.put(
                    "Reshape", self.const([self.batch or -1, count] if self.maybe(0.5) else [0, -1], np.int64)
                )
        self.sizes = [count]

    # -- arithmetic ------------------------------------------------------------------------------------------

    def vector(self) -> np.ndarray:
        """A constant to be combined with the data: one number, one a channel, one a value,
        rarely one a sample.
        """
        rank = len(self.sizes)
        match self.pick("one", "one", "first", "first", "all", "sample" if self.maybe(0.05) else "one"):
            case "one":
                return self.halves(*([1] * self.pick(0, 1, rank, rank + 1)))
            case "first":
                return self.halves(self.sizes[0], *[1] * (rank - 1))
            case "all":
                return self.halves(*self.sizes)
        return self.halves(self.batch or 1, *[1] * rank)

    def affine(self) -> None:
        where = self.pick("add", "add", "sub", "mul", "div", "neg", "sum", "mean", "minus")
        match where:
            case "add":
                pair = [self.now, self.const(self.vector())]
                self.now = self.add("Add", *(pair if self.maybe(0.5) else pair[::-1]))
            case "sub":
                self.put("Sub", self.const(self.vector()))
            case "minus":
                self.now = self.add("Sub", self.const(self.vector()), self.now)
            case "mul":
                scale = self.vector()
                self.put("Mul", self.const(np.where(scale == 0, np.float32(1), scale)))
            case "div":
                self.put("Div", self.const(np.float32(self.pick(0.5, 2, -4, 0.25))))
            case "neg":
                self.put("Neg")
            case "sum" if self.opset >= 8:
                others = [self.const(self.vector()) for _ in range(self.pick(0, 1, 2, 3))]
                place = self.pick(*range(len(others) + 1))
                self.now = self.add("Sum", *others[:place], self.now, *others[place:])
            case "mean" if self.opset >= 8:
                self.now = self.add(
                    "Mean", *[self.const(self.vector()) for _ in range(self.pick(1, 3))], self.now
                )

    def clip(self) -> None:
        low, high = float(self.pick(-1, -2, 0, -0.5)), float(self.pick(1, 2, 0.5))
        match self.pick("clip", "relu", "max", "min", "many", "half", "leaky", "prelu"):
            case "clip" | "half":
                if self.opset < 11:
                    self.put("Clip", **({"min": low, "max": high} if self.maybe(0.7) else {"min": low}))
                else:
                    self.put(
                        "Clip",
                        self.const(np.float32(low)),
                        *([self.const(np.float32(high))] if self.maybe(0.7) else []),
                    )
            case "relu":
                self.put("Relu")
            case "leaky":
                self.put("LeakyRelu", alpha=float(self.pick(0.25, 0.5, 2.0)))
            case "prelu" if self.opset >= 9:
                self.now = self.add("PRelu", self.now, self.const(np.abs(self.vector()).astype(np.float32)))
            case "max" | "min" as op if self.opset >= 8:
                self.put(op.capitalize(), self.const(np.float32(low if op == "max" else high)))
            case "many" if self.opset >= 8:
                op = self.pick("Max", "Min")
                bounds = [self.const(self.halves(*([1] * self.pick(0, 1)))) for _ in range(self.pick(2, 3))]
                place = self.pick(*range(len(bounds) + 1))
                self.now = self.add(op, *bounds[:place], self.now, *bounds[place:])

    def norm(self) -> None:
        if len(self.sizes) not in (1, 2, 3):
            return
        count = self.sizes[0]
        gamma, beta, mean = (self.halves(count) for _ in range(3))
        var = self.random.integers(0, 4, count).astype(np.float32)
        eps = {"epsilon": float(self.pick(1.0, 0.25))} if self.maybe(0.7) else {}
        var = np.where(var == 0, np.float32(1), var) if not eps else var
        names = [self.const(row.astype(np.float32)) for row in (gamma, beta, mean, var)]
        old = (
            {"spatial": 1}
            if self.opset < 9 and self.maybe(0.3)
            else {"training_mode": 0}
            if self.opset >= 14 and self.maybe(0.3)
            else {}
        )
        self.put("BatchNormalization", *names, **eps, **old, **({"momentum": 0.5} if self.maybe(0.3) else {}))

    # -- signs -----------------------------------------------------------------------------------------------

    def sign(self) -> None:
        spelling = self.pick(
            "sign",
            "larq",
            "where",
            "cast",
            "heaviside",
            "residue",
            "bipolar",
            "steps",
            "quant",
            "round",
            "hard",
            "less",
            "tanh",
        )
        x = self.now
        high, low = (
            np.float32(v) for v in self.pick((1, -1), (1, -1), (1, 0), (2, -1), (-1, 1), (0.5, -0.5))
        )
        match spelling:
            case "sign" if self.opset >= 9:
                self.put("Sign")
            case "larq" if self.opset >= 9:
                self.now = self.add("Sign", self.add("Add", self.add("Sign", x), self.const(np.float32(0.1))))
            case "where" if self.opset >= 9:
                test = self.pick(
                    "Greater", "Less", *(["GreaterOrEqual", "LessOrEqual"] if self.opset >= 12 else [])
                )
                pair = [
                    x,
                    self.const(self.halves(*self.pick([], [self.sizes[0]] + [1] * (len(self.sizes) - 1)))),
                ]
                test = self.add(test, *(pair if self.maybe(0.7) else pair[::-1]))
                if self.maybe(0.2):
                    test = self.add("Not", test)
                self.now = self.add("Where", test, self.const(high), self.const(low))
            case "heaviside" if self.opset >= 9:
                self.now = self.add("Sign", self.add("Relu", x))
            case "residue" if self.opset >= 9:
                other = x
                if self.maybe(0.5):
                    bounds = {"min": -1.0, "max": 1.0}
                    other = (
                        self.add("Clip", x, **bounds)
                        if self.opset < 11
                        else self.add("Clip", x, self.const(np.float32(-1)), self.const(np.float32(1)))
                    )
                rest = self.add("Sub", self.add("Sign", x), other)
                self.now = self.add("Add", rest, other) if self.maybe(0.5) else self.add("Add", other, rest)
            case "bipolar" if self.maybe(0.4):
                self.put(
                    "BipolarQuant",
                    self.const(np.float32(self.pick(1, 0.5))),
                    domain=self.pick(QONNX, "onnx.brevitas", "finn.custom_op.general"),
                )
            case "steps" if self.maybe(0.4):
                rows = self.halves(self.sizes[0], 1)
                self.put(
                    "MultiThreshold",
                    self.const(rows),
                    domain=QONNX,
                    out_scale=2.0,
                    out_bias=-1.0,
                    out_dtype="BIPOLAR",
                )
            case "quant" if self.maybe(0.4):
                values = (self.const(np.float32(v)) for v in (self.pick(1, 2, 0.5), self.pick(0, 1), 1))
                self.put(
                    "Quant",
                    *values,
                    domain=QONNX,
                    signed=self.pick(0, 1),
                    narrow=0,
                    rounding_mode=self.pick("ROUND", "HALF_EVEN"),
                )
            case "round" if self.opset >= 11:
                self.now = self.add(
                    "Round", self.add("Clip", x, self.const(np.float32(0)), self.const(np.float32(1)))
                )
            case "hard" if self.opset >= 11:
                self.now = self.add("Round", self.add("HardSigmoid", x, alpha=0.5, beta=0.5))
            case "tanh" if self.opset >= 9:
                self.now = self.add("Sign", self.add(self.pick("Tanh", "Atan", "Softsign"), x))
            case _:
                bits = self.add(
                    "Cast",
                    self.add(self.pick("Greater", "Less"), x, self.const(np.float32(self.pick(0, 0, 0.5)))),
                    to=1,
                )
                if self.maybe(0.8):
                    bits = self.add(
                        "Sub", self.add("Mul", bits, self.const(np.float32(2))), self.const(np.float32(1))
                    )
                self.now = bits
        self.level = "bits"

    # -- layers ----------------------------------------------------------------------------------------------

    def dense(self, out: int) -> None:
        self.flatten()
        count = self.sizes[0]
        weights = self.signs(out, count)
        if self.maybe(0.2):
            weights = weights * self.random.integers(1, 4, (out, 1)).astype(np.float32) / 2
        match self.pick("matmul", "gemm", "gemm", "latent"):
            case "matmul":
                self.put("MatMul", self.const(weights.T))
            case "latent" if self.opset >= 9:
                latent = (weights * self.random.random(weights.shape)).astype(np.float32) + np.float32(0.0)
                self.put("MatMul", self.add("Transpose", self.add("Sign", self.const(latent)), perm=[1, 0]))
            case _:
                attributes: dict[str, Any] = {}
                if self.maybe(0.5):
                    attributes["transB"] = 1
                if self.maybe(0.3):
                    attributes["alpha"] = float(self.pick(0.5, 2, -1))
                if self.maybe(0.3):
                    attributes["beta"] = float(self.pick(0.5, 2, -1, 0))
                if self.maybe(0.1):
                    self.put("Transpose", perm=[1, 0])
                    attributes["transA"] = 1
                shapes = [(out,), (out,), (1, out), (), (1,), (1, 1)]
                if self.batch is not None and self.maybe(0.2):
                    shapes = [(self.batch, 1), (self.batch, out)]
                bias = (
                    [self.const(self.halves(*self.pick(*shapes)))]
                    if self.maybe(0.8) or self.opset < 11
                    else []
                )
                self.put(
                    "Gemm",
                    self.const(weights if attributes.get("transB") else weights.T),
                    *bias,
                    **attributes,
                )
        self.sizes = [out]
        self.level = "sums"

    def window(self, kernel: list[int], *, pool: bool) -> dict[str, Any] | None:
        """Attributes of a sliding window; the sizes behind it are set."""
        rank = len(self.sizes) - 1
        strides = [self.pick(1, 1, 2, 3) for _ in range(rank)]
        dilations = [self.pick(1, 1, 1, 2) for _ in range(rank)]
        pads = [self.pick(0, 0, 1, 2) for _ in range(2 * rank)]
        mode = self.pick("NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
        longer = pool and self.opset >= 10 and self.maybe(0.3)
        if mode != "NOTSET" and self.maybe(0.8):  # with gaps or ceil mode runtimes differ
            dilations, longer = [1] * rank, False
        if pool and self.opset < 10:
            dilations = [1] * rank
        after = []
        for k, size in enumerate(self.sizes[1:]):
            reach = dilations[k] * (kernel[k] - 1) + 1
            if mode.startswith("SAME"):
                after.append(-(-size // strides[k]))
                continue
            total = size + (pads[k] + pads[k + rank] if mode == "NOTSET" else 0) - reach
            if total < 0:
                return None
            count = (ceil if longer else floor)(total / strides[k]) + 1
            if longer and (count - 1) * strides[k] >= size + (pads[k] if mode == "NOTSET" else 0):
                count -= 1
            after.append(count)
        found: dict[str, Any] = {"kernel_shape": kernel, "strides": strides}
        if any(d > 1 for d in dilations) or self.maybe(0.1):
            found["dilations"] = dilations
        if mode == "NOTSET":
            found["pads"] = pads
        if mode != "NOTSET" or self.maybe(0.1):
            found["auto_pad"] = mode
        if longer:
            found["ceil_mode"] = 1
        if pool and self.opset < 10:
            found.pop("dilations", None)
        self.sizes = [self.sizes[0], *after]
        return found

    def pad(self, value: np.float32) -> None:
        rank = len(self.sizes) + 1
        amounts = [0, 0] + [self.pick(0, 1, 2) for _ in range(rank - 2)]
        behind = [0, 0] + [self.pick(0, 1) for _ in range(rank - 2)]
        if self.maybe(0.03):
            amounts[1] = 1
        if self.opset < 11:
            self.put(
                "Pad",
                pads=[*amounts, *behind],
                value=float(value),
                **({"mode": "constant"} if self.maybe(0.5) else {}),
            )
        elif self.opset >= 18 and self.maybe(0.5):
            axes = self.pick([2], [-1]) if rank == 3 else self.pick([2, 3], [-1, -2], [3])
            kept = [axis % rank for axis in axes]
            amounts, behind = (
                [row[axis] if axis in kept else 0 for axis in range(rank)] for row in (amounts, behind)
            )
            pads = [amounts[axis] for axis in kept] + [behind[axis] for axis in kept]
            self.put("Pad", self.const(pads, np.int64), self.const(value), self.const(axes, np.int64))
        else:
            self.put(
                "Pad",
                self.const([*amounts, *behind], np.int64),
                *([self.const(value)] if value or self.maybe(0.5) else []),
            )
        self.sizes = [size + a + b for size, a, b in zip(self.sizes, amounts[1:], behind[1:], strict=True)]

    def conv(self) -> None:
        spatial = len(self.sizes) - 1
        value = np.float32(self.pick(0, 0, 1, -1, 0.5))
        for _ in range(self.pick(0, 0, 0, 1, 2)):
            self.pad(value if self.maybe(0.9) else np.float32(0))
        groups = self.pick(1, 1, self.sizes[0])
        channels, before = self.sizes[0], list(self.sizes)
        kernel = [int(min(self.pick(1, 2, 3), size)) for size in self.sizes[1:]]
        found = self.window(kernel, pool=False)
        if found is None:
            self.sizes = before
            kernel = [1] * spatial
            found = {}
        out = groups * self.pick(1, 2)
        if groups > 1 or self.maybe(0.1):
            found["group"] = groups
        bias = [self.const(self.halves(out))] if self.maybe(0.5) else []
        self.put("Conv", self.const(self.signs(out, channels // groups, *kernel)), *bias, **found)
        self.sizes = [out, *self.sizes[1:]]
        self.level = "sums"

    def pool(self) -> None:
        before = list(self.sizes)
        kind = self.pick("max", "max", "max", "average", "global", "global max", "reduce")
        if kind in ("global", "global max"):
            self.put("GlobalAveragePool" if kind == "global" else "GlobalMaxPool")
            self.sizes = [before[0], *[1] * (len(before) - 1)]
            return
        if kind == "reduce":
            axes = [k + 2 for k in range(len(before) - 1)]
            axes = [axis - len(before) - 1 for axis in axes] if self.maybe(0.4) else axes
            op, keep = self.pick("ReduceMean", "ReduceSum", "ReduceMax"), self.pick(0, 1)
            if self.opset >= (13 if op == "ReduceSum" else 18):
                self.put(op, self.const(axes, np.int64), keepdims=keep)
            else:
                self.put(op, axes=axes, keepdims=keep)
            self.sizes = [before[0], *[1] * (len(before) - 1) * keep]
            return
        kernel = [int(min(self.pick(1, 2, 3), size)) for size in before[1:]]
        found = self.window(kernel, pool=True)
        if found is None:
            self.sizes = before
            return
        if kind == "average":
            if self.opset < 19:
                found.pop("dilations", None)
                again = _Draft(self.random, self.opset, self.batch, before)
                self.sizes = again.slid(found)
            if self.maybe(0.5):
                found["count_include_pad"] = self.pick(0, 1)
            self.put("AveragePool", **found)
        else:
            if self.opset >= 8 and self.maybe(0.1):
                found["storage_order"] = 1
            self.put("MaxPool", **found)

    def slid(self, found: dict[str, Any]) -> list[int]:
        """Sizes behind a window without gaps."""
        rank, after = len(self.sizes) - 1, []
        for k, size in enumerate(self.sizes[1:]):
            step, taps = found["strides"][k], found["kernel_shape"][k]
            mode, pads = found.get("auto_pad", "NOTSET"), found.get("pads", [0] * 2 * rank)
            if mode.startswith("SAME"):
                after.append(-(-size // step))
                continue
            total = size + pads[k] + pads[k + rank] - taps
            count = (ceil if found.get("ceil_mode") else floor)(total / step) + 1
            if found.get("ceil_mode") and (count - 1) * step >= size + pads[k]:
                count -= 1
            after.append(count)
        return [self.sizes[0], *after]

    # -- the whole -------------------------------------------------------------------------------------------

    def between(self) -> None:
        """What may stand between a sum and its sign."""
        normed = False
        for _ in range(self.pick(0, 0, 1, 1, 2, 3)):
            match self.pick("affine", "affine", "clip", "norm", "pool", "plumbing", "flatten"):
                case "affine":
                    self.affine()
                case "clip":
                    self.clip()
                case "norm" if not normed:
                    self.norm()
                    normed = True
                case "pool" if len(self.sizes) in (2, 3) and self.level != "raw":
                    self.pool()
                case "flatten" if self.maybe(0.3) and self.level == "sums":
                    self.flatten()
                case _:
                    self.plumbing()

    def tail(self) -> None:
        match self.pick(
            "none", "none", "none", "softmax", "log", "argmax", "topk", "sigmoid", "both", "hard", "logs"
        ):
            case "softmax":
                self.put("Softmax", **self.pick({"axis": 1}, {"axis": -1} if self.opset >= 11 else {}, {}))
            case "log":
                self.put("LogSoftmax", axis=1)
            case "argmax":
                self.put("ArgMax", axis=1, keepdims=self.pick(0, 1))
            case "topk":
                count = [self.const([1], np.int64)] if self.opset >= 10 else []
                self.now = (
                    self.add("TopK", self.now, *count, outputs=2, axis=-1, **({} if count else {"k": 1}))
                    + "_1"
                )
            case "sigmoid":
                self.put("Sigmoid")
            case "both":
                self.put("Softmax", axis=1)
                self.put("ArgMax", axis=1)
            case "hard":
                self.put("Hardmax", axis=1)
            case "logs":
                self.put(
                    "Log",
                ) if False else self.put("Softmax", axis=1)
                self.put("Log")


def _draw(seed: int) -> Case:
    random = np.random.default_rng(seed)
    draft = _Draft(random, int(random.integers(7, 23)), None, [])
    draft.batch = draft.pick(None, None, None, 1, 2, 3)
    last = False
    match draft.pick("flat", "maps", "maps", "line", "last", "square"):
        case "flat":
            draft.sizes = [draft.pick(1, 2, 4, 6)]
        case "maps" | "last" as layout:
            draft.sizes = [draft.pick(1, 2, 3), draft.pick(1, 3, 4), draft.pick(2, 3, 5)]
            last = layout == "last"
        case "line":
            draft.sizes = [draft.pick(1, 2), draft.pick(3, 5)]
        case _:
            draft.sizes = [1, 3, 3]
    shape = (*draft.sizes[1:], draft.sizes[0]) if last else tuple(draft.sizes)
    if last:
        draft.put("Transpose", perm=[0, len(shape), *range(1, len(shape))])
    domain: Any = draft.pick(Integers(0, 3), Integers(-2, 2), Bits(), Integers(0, 2, step=0.5))
    if draft.maybe(0.3) and not isinstance(domain, Bits):
        draft.affine()
    if draft.maybe(0.3):
        draft.plumbing()
    if draft.maybe(0.3):
        draft.sign()
    for _ in range(draft.pick(1, 1, 2)):
        if len(draft.sizes) > 1 and draft.maybe(0.7):
            draft.conv()
        else:
            draft.dense(draft.pick(1, 2, 4))
        draft.between()
        draft.sign()
        if draft.maybe(0.3):
            draft.plumbing()
        if len(draft.sizes) in (2, 3) and draft.maybe(0.3):
            draft.pool()
        if draft.maybe(0.2):
            draft.affine()
    draft.dense(draft.pick(2, 3))
    if draft.maybe(0.3):
        draft.affine()
    draft.tail()
    return Case(
        f"seed {seed}, opset {draft.opset}",
        _model(draft, shape),
        domain,
        shape,
        draft.batch,
        draft.standard,
        seed,
    )


def _model(draft: _Draft, shape: tuple[int, ...]) -> bytes:
    kind = TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info("x", kind, [draft.batch or "n", *shape])]
    graph = helper.make_graph(
        draft.nodes,
        "g",
        inputs,
        [helper.make_empty_tensor_value_info(draft.now)],
        [
            numpy_helper.from_array(np.array(value, order="C"), name)
            for name, value in draft.constants.items()
            if any(name in node.input for node in draft.nodes)
        ],
    )
    opsets = [
        helper.make_opsetid("", draft.opset),
        *(helper.make_opsetid(d, 1) for d in (QONNX, "onnx.brevitas", "finn.custom_op.general")),
    ]
    return bytes(
        helper.make_model(
            graph, opset_imports=opsets if not draft.standard else opsets[:1], ir_version=8
        ).SerializeToString()
    )


def cases(seed: int) -> Iterator[Case]:
    """Graphs without end."""
    number = 0
    while True:
        yield _draw(seed * 1_000_000 + number)
        number += 1


# -- comparison ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What became of one graph."""

    kind: str
    """equal, refused, invalid (the runtime takes it neither) or different."""
    text: str = ""


def samples(case: Case, count: int) -> np.ndarray:
    """Raw samples, in the numbers of the network and the shape of the file."""
    random = np.random.default_rng(case.seed + 1)
    if isinstance(case.inputs, Bits):
        return random.choice([-1, 1], (count, *case.shape))
    return random.integers(case.inputs.low, case.inputs.high + 1, (count, *case.shape))


def in_file(case: Case, x: np.ndarray) -> np.ndarray:
    """Samples in the numbers of the file."""
    return (
        x * float(case.inputs.step) + float(case.inputs.start)
        if isinstance(case.inputs, Integers)
        else x.astype(float)
    )


def run_runtime(case: Case, x: np.ndarray, scores: str) -> tuple[np.ndarray, np.ndarray]:
    """Output and scores by ONNX Runtime; raises what it raises."""
    import onnx
    import onnxruntime as ort

    model = onnx.load_from_string(case.raw)
    output = model.graph.output[0].name
    if scores != output:
        model.graph.output.append(helper.make_empty_tensor_value_info(scores))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    step = case.batch or len(x)
    made = [
        session.run([output, scores], {"x": x[k : k + step].astype(np.float32)})
        for k in range(0, len(x), step)
    ]
    return tuple(np.concatenate([np.reshape(part[k], (step, -1)) for part in made]) for k in (0, 1))  # type: ignore[return-value]


def result(case: Case, count: int = 48) -> Result:
    """Import without the self-proof, and compare with the runtime and the interpreter."""
    x = samples(case, count)
    given = in_file(case, x)
    try:
        found = read_onnx(case.raw, inputs=case.inputs, prove=False).report
    except FileError as error:
        text = str(error)
        if "please report" in text or text[-1] not in ".?" or "Traceback" in text:
            return Result("different", f"a message that reads badly: {text}")
        return Result("refused", text)
    graph = read_graph(case.raw)
    mine = found.network.logits(x.reshape(count, -1))
    classes = found.network.predict(x.reshape(count, -1))
    try:
        program = Interpreter(graph, graph.outputs[0].name)
        step = case.batch or count
        parts = [program.run(given[k : k + step]) for k in range(0, count, step)]
    except UncomparableError as error:
        return Result("different", f"read, but the interpreter cannot run it: {error}")
    theirs = np.concatenate([part.scores.values.reshape(step, -1) for part in parts])
    errors = np.concatenate([np.reshape(part.scores.errors, (step, -1)) for part in parts])
    every = max(
        len(part.decisions) for part in parts
    )  # rounding that happens to give one value only is noted as no decision
    sure = np.concatenate([_sure(part, step) & (len(part.decisions) == every) for part in parts])
    if theirs.shape != mine.shape:
        return Result("different", f"{mine.shape[1]} scores, but {theirs.shape[1]} by the interpreter")
    wrong = (np.abs(mine - theirs) > errors + 1e-9) & np.isfinite(errors)
    if wrong.any():
        return Result(
            "different",
            f"{wrong.any(axis=1).sum()} of {count} samples differ from the "
            f"interpreter: {_first(mine, theirs, wrong)}",
        )
    if not case.standard:
        return Result("equal")
    try:
        ends, scores = run_runtime(case, given, program.scores)
    except Exception as error:  # whatever the runtime does not take
        return Result("invalid", str(error)[:200])
    wrong = (np.abs(mine - scores) > 1e-4 * (1 + np.abs(mine).max(initial=0))) & sure[:, None]
    if wrong.any():
        return Result(
            "different",
            f"{wrong.any(axis=1).sum()} of {count} samples differ from ONNX "
            f"Runtime: {_first(mine, scores, wrong)}",
        )
    if ends.shape[1] == mine.shape[1]:
        picked = ends.argmax(axis=1)
    elif ends.shape[1] == 1 and ends.dtype.kind in "iu":
        picked = ends[:, 0]
    else:
        return Result("equal")
    top = mine.max(axis=1)
    tied = mine[np.arange(count), picked.astype(int)] >= top - 1e-4 * (1 + np.abs(top))
    if ends.shape[1] == mine.shape[1]:  # two large scores are one number behind a sigmoid
        tied |= ends[np.arange(count), classes] >= ends.max(axis=1) * (1 - 1e-6)
    if not (tied | ~sure | (picked == classes)).all():
        return Result("different", "the classes differ from ONNX Runtime's")
    return Result("equal")


def _sure(part: Any, step: int) -> np.ndarray:
    """Samples in which no decision is within the rounding of float32."""
    found = np.ones(step, bool)
    for decision, _ in part.decisions:
        if decision.before.size % step == 0 and decision.margin.any():
            size = np.abs(decision.before).reshape(step, -1)
            found &= (size > 1e-5 * (1 + size.max(initial=0))).all(axis=1)
    return found


def _first(mine: np.ndarray, theirs: np.ndarray, wrong: np.ndarray) -> str:
    sample = int(np.argwhere(wrong)[0][0])
    return f"{mine[sample].tolist()} instead of {theirs[sample].tolist()}"


def difference(case: Case) -> str | None:
    """What differs; None where all agrees or the file is refused."""
    found = result(case)
    return found.text if found.kind == "different" else None
