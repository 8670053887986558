"""Random integer networks as ONNX files: quantizers around float operators or integer operators, with scales
that make ties common.

Written with the onnx package alone; what they mean is asked of ONNX Runtime.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

__all__ = ["QuantizedModel", "quantized_model"]

_KINDS = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}


@dataclass
class QuantizedModel:
    """A file, the shape of a sample and what is in it."""

    raw: bytes
    shape: tuple[int, ...]
    kinds: tuple[str, ...]


@dataclass
class _Held:
    """A quantized tensor while the graph grows."""

    name: str
    shape: tuple[int, ...]
    scale: np.float32
    zero: int


@dataclass
class _Builder:
    random: np.random.Generator
    operators: bool
    kind: Any
    weights: Any
    per_channel: bool
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    count: int = 0

    def name(self, what: str) -> str:
        self.count += 1
        return f"{what}{self.count}"

    def fixed(self, what: str, array: Any) -> str:
        name = self.name(what)
        self.constants[name] = np.asarray(array)
        return name

    def node(self, op: str, inputs: list[str], **attributes: Any) -> str:
        out = self.name("t")
        domain = (
            {"domain": "com.microsoft"}
            if op.startswith("QLinearA") or op in ("QGemm", "QLinearGlobalAveragePool", "QLinearConcat")
            else {}
        )
        self.nodes.append(helper.make_node(op, inputs, [out], **domain, **attributes))
        return out

    def scale(self, about: float) -> np.float32:
        """A scale near a number: a power of two, a small multiple of one, or anything."""
        way = self.random.integers(4)
        if way < 2:
            return np.float32(2.0 ** np.round(np.log2(about)))
        if way == 2:
            return np.float32(self.random.integers(1, 8) * 2.0 ** np.round(np.log2(about / 4)))
        return np.float32(about * self.random.uniform(0.7, 1.4))

    def zero(self, relu: bool = False) -> int:
        low, high = np.iinfo(self.kind).min, np.iinfo(self.kind).max
        return low if relu else int(self.random.choice([low, 0, int(self.random.integers(low, high + 1))]))

    def pair(self, scale: Any, zero: int) -> list[str]:
        return [self.fixed("s", np.float32(scale)), self.fixed("z", self.kind(zero))]

    def read(self, held: _Held) -> str:
        return self.node("DequantizeLinear", [held.name, *self.pair(held.scale, held.zero)])

    def kept(self, floats: str, shape: tuple[int, ...], scale: np.float32, zero: int) -> _Held:
        return _Held(self.node("QuantizeLinear", [floats, *self.pair(scale, zero)]), shape, scale, zero)

    def layer(self, x: _Held, op: str, out: int, relu: bool, **attributes: Any) -> _Held:
        """A convolution or a dense layer with everything around it."""
        info = np.iinfo(self.weights)
        low = max(info.min, -127)
        if op == "Conv":
            kernel = attributes["kernel_shape"]
            groups = attributes.get("group", 1)
            size = (out, x.shape[0] // groups, *kernel)
        else:
            size = (out, x.shape[0])
        q = self.random.integers(low, info.max + 1, size).astype(self.weights)
        offset = int(self.random.integers(100, 150)) if self.weights == np.uint8 else 0
        scales = np.array([self.scale(0.01) for _ in range(out if self.per_channel else 1)], np.float32)
        spread = float(np.sqrt(np.prod(size[1:])) * 70 * 60)
        scale = self.scale(float(x.scale) * float(scales.mean()) * spread / 60)
        bias = self.random.integers(-int(spread) - 1, int(spread) + 2, out).astype(np.int32)
        zero, with_bias = self.zero(relu), bool(self.random.integers(2))
        zeros = np.full(scales.shape, offset, self.weights)
        s = self.fixed("s", scales if self.per_channel else scales[0])
        z = self.fixed("z", zeros if self.per_channel else zeros[0])
        shape = self.after(x, op, out, attributes)
        self.kinds.append(op)
        if self.operators:
            inner = [x.name, *self.pair(x.scale, x.zero)]
            target = self.pair(scale, zero)
            if op == "Conv":
                given = [*inner, self.fixed("w", q), s, z, *target]
                if with_bias:
                    given.append(self.fixed("b", bias))
                made = self.node("QLinearConv", given, **attributes)
            elif with_bias:
                given = [*inner, self.fixed("w", q), s, z, self.fixed("b", bias), *target]
                made = self.node("QGemm", given, transB=1)
            else:
                made = self.node("QLinearMatMul", [*inner, self.fixed("w", q.T.copy()), s, z, *target])
            return _Held(made, shape, scale, zero)
        turned = op != "Conv" and not with_bias
        held = self.fixed("w", q.T.copy() if turned else q)
        given = [self.read(x), self.node("DequantizeLinear", [held, s, z], axis=1 if turned else 0)]
        if with_bias:
            units = (x.scale * scales).astype(np.float32)
            nothing = np.zeros(units.shape, np.int32)
            pair = [units, nothing] if self.per_channel else [units[0], nothing[0]]
            names = [self.fixed("b", bias), self.fixed("s", pair[0]), self.fixed("z", pair[1])]
            given.append(self.node("DequantizeLinear", names, axis=0))
        if op == "Conv":
            floats = self.node("Conv", given, **attributes)
        else:
            floats = self.node("Gemm", given, transB=1) if with_bias else self.node("MatMul", given)
        if relu:
            floats = self.node("Relu", [floats])
        return self.kept(floats, shape, scale, zero)

    def after(self, x: _Held, op: str, out: int, attributes: dict[str, Any]) -> tuple[int, ...]:
        if op != "Conv":
            return (out,)
        return (out, *self.slid(x.shape[1:], attributes))

    def slid(self, sizes: Any, attributes: dict[str, Any]) -> tuple[int, ...]:
        pads, strides = attributes.get("pads", [0] * 4), attributes.get("strides", [1, 1])
        spread = attributes.get("dilations", [1, 1])
        return tuple(
            (size + pads[k] + pads[k + 2] - spread[k] * (attributes["kernel_shape"][k] - 1) - 1) // strides[k]
            + 1
            for k, size in enumerate(sizes)
        )

    def convolution(self, x: _Held, out: int | None = None, same: bool = False) -> _Held:
        size = int(self.random.integers(1, 4))
        if same:
            attributes: dict[str, Any] = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        else:
            pad = int(self.random.integers(2))
            attributes = {
                "kernel_shape": [size, min(size, x.shape[2] + 2 * pad)],
                "pads": [pad] * 4,
                "strides": self.random.integers(1, 3, 2).tolist(),
            }
        channels = out or int(self.random.integers(1, 4))
        if not same and x.shape[0] > 1 and self.random.random() < 0.2:
            attributes["group"], channels = x.shape[0], x.shape[0]
        if min(self.slid(x.shape[1:], attributes)) < 1:
            return x
        return self.layer(x, "Conv", channels, bool(self.random.integers(2)), **attributes)

    def pool(self, x: _Held) -> _Held:
        attributes = {"kernel_shape": [2, 2], "strides": self.random.integers(1, 3, 2).tolist()}
        if min(x.shape[1:]) < 2:
            return x
        self.kinds.append("MaxPool")
        shape = (x.shape[0], *self.slid(x.shape[1:], attributes))
        if self.operators:
            return _Held(self.node("MaxPool", [x.name], **attributes), shape, x.scale, x.zero)
        scale = x.scale if self.random.random() < 0.7 else self.scale(float(x.scale))
        return self.kept(self.node("MaxPool", [self.read(x)], **attributes), shape, scale, x.zero)

    def average(self, x: _Held) -> _Held:
        everything = min(x.shape[1:]) < 2 or bool(self.random.integers(2))
        attributes = {} if everything else {"kernel_shape": [2, 1], "strides": [2, 1]}
        op = "GlobalAveragePool" if everything else "AveragePool"
        shape = (x.shape[0], 1, 1) if everything else (x.shape[0], *self.slid(x.shape[1:], attributes))
        scale, zero = self.scale(float(x.scale) * 0.6), self.zero()
        self.kinds.append(op)
        if self.operators:
            given = [x.name, *self.pair(x.scale, x.zero), *self.pair(scale, zero)]
            more = {"channels_last": 0, **attributes}
            return _Held(self.node("QLinear" + op, given, **more), shape, scale, zero)
        return self.kept(self.node(op, [self.read(x)], **attributes), shape, scale, zero)

    def clip(self, x: _Held) -> _Held:
        """A function of single levels between two quantizers."""
        self.kinds.append("Relu")
        op = str(self.random.choice(["Relu", "Clip"]))
        ends = (
            []
            if op == "Relu"
            else [self.fixed("lo", np.float32(-20 * x.scale)), self.fixed("hi", np.float32(50 * x.scale))]
        )
        scale, zero = self.scale(float(x.scale) * 0.7), self.zero()
        return self.kept(self.node(op, [self.read(x), *ends]), x.shape, scale, zero)

    def sum_of(self, a: _Held, b: _Held) -> _Held:
        scale, relu = self.scale(float(a.scale) + float(b.scale)), bool(self.random.integers(2))
        zero = self.zero(relu)
        self.kinds.append("Add")
        if self.operators:
            given = [a.name, *self.pair(a.scale, a.zero), b.name, *self.pair(b.scale, b.zero)]
            return _Held(self.node("QLinearAdd", [*given, *self.pair(scale, zero)]), a.shape, scale, zero)
        floats = self.node("Add", [self.read(a), self.read(b)])
        if relu:
            floats = self.node("Relu", [floats])
        return self.kept(floats, a.shape, scale, zero)

    def residual(self, x: _Held) -> _Held:
        inner = self.convolution(x, same=True)
        return self.sum_of(self.convolution(inner, out=x.shape[0], same=True), x)

    def flat(self, x: _Held) -> _Held:
        size = int(np.prod(x.shape))
        if self.operators:
            return _Held(self.node("Flatten", [x.name]), (size,), x.scale, x.zero)
        return self.kept(self.node("Flatten", [self.read(x)]), (size,), x.scale, x.zero)


def quantized_model(random: np.random.Generator) -> QuantizedModel:
    """A random network of up to five layers with a few channels; int8 or uint8, by tensor or by channel."""
    operators = bool(random.integers(2))
    kind = np.uint8 if random.random() < 0.6 else np.int8
    weights = np.int8 if kind == np.int8 or random.random() < 0.8 else np.uint8
    build = _Builder(random, operators, kind, weights, bool(random.integers(2)))
    images = random.random() < 0.6
    shape = (
        (int(random.integers(1, 3)), *random.integers(3, 6, 2).tolist())
        if images
        else (int(random.integers(1, 7)),)
    )
    x = build.kept("x", shape, build.scale(1 / 255), build.zero())
    if images:
        for _ in range(int(random.integers(1, 4))):
            ways = [build.convolution, build.convolution, build.pool, build.average, build.clip]
            if kind == np.uint8 or operators:
                ways += [build.residual] * 2
            x = ways[int(random.integers(len(ways)))](x)
        x = build.flat(x)
    for _ in range(int(random.integers(0 if images else 1, 3))):
        x = build.layer(x, "Dense", int(random.integers(1, 5)), bool(random.integers(2)))
        if not operators and random.random() < 0.2:
            x = build.clip(x)
    if len(build.kinds) == 0 or random.random() < 0.5:
        x = build.layer(x, "Dense", int(random.integers(2, 4)), False)
    out = build.read(x)
    graph = helper.make_graph(
        build.nodes,
        "quantized",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, *shape])],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in build.constants.items()],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=sets)
    model.ir_version = 10
    return QuantizedModel(model.SerializeToString(), shape, tuple(build.kinds))
