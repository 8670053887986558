"""Run an 8-bit TensorFlow Lite file operator by operator, to verify an import.

It shares only the parser of the file and its table of operators with the reader. Tensors keep the layout of
the file, (samples, height, width, channels). Sums are rescaled one by one, and nothing is known about levels,
thresholds or bisection.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.exact.report import ImportReport
from sugenet.io.onnx.interpreter.tensors import UncomparableError
from sugenet.io.onnx.quantized.network import LevelImport
from sugenet.io.onnx.quantized.proof import LevelInterpreter, compared_levels
from sugenet.io.onnx.quantized.walk import IntegerProgram
from sugenet.io.tflite.arithmetic import Kernels
from sugenet.io.tflite.file import ACTIVATIONS, PADDINGS, FileTensor, Operator, TfliteFile
from sugenet.nn.arrays import Array

__all__ = ["IntegerRunner", "computed", "prove_integers", "reshaped", "windows"]

_f = np.float32


class IntegerRunner:
    """One file, ready to run."""

    def __init__(self, file: TfliteFile, kernels: str, scores: str) -> None:
        self.file, self.kernels, self.scores = file, kernels, scores

    def __call__(self, rows: Array) -> tuple[Array, dict[str, Array]]:
        """Return the class scores, and every 8-bit tensor in the layout of the file."""
        kind = _f if self.file.inputs[0].kind == "float32" else np.int64
        seen = computed(self.file, rows.astype(kind), _KERNELS, self)
        named = {tensor.key: tensor for tensor in self.file.tensors}
        values = {key: seen[tensor.index] for key, tensor in named.items() if tensor.index in seen}
        if self.scores not in values:
            raise UncomparableError(f"it does not compute {self.scores}.")
        end = values[self.scores]
        readers = [op for op in self.file.operators if op.name == "DEQUANTIZE"]
        if any(op.input(0).key == self.scores for op in readers):
            scale, zero = named[self.scores].grid
            end = (end - zero).astype(_f) * scale
        shown = {key: values[key] for key, tensor in named.items() if key in values and tensor.data is None}
        return end.reshape(len(rows), -1), shown


def computed(
    file: TfliteFile, rows: Array, kernels: Mapping[str, Callable[..., Array]], run: Any
) -> dict[int, Array]:
    """Return all tensors that known operators compute from rows of samples, by their numbers in the file."""
    (port,) = file.inputs
    seen: dict[int, Array] = {t.index: t.data for t in file.tensors if t.data is not None}
    seen[port.index] = rows.reshape(len(rows), *port.shape[1:])
    for operator in file.operators:
        kernel = kernels.get(operator.name)
        if kernel is None or any(t is not None and t.index not in seen for t in operator.inputs):
            continue
        tensors = [None if t is None else seen[t.index] for t in operator.inputs]
        seen[operator.outputs[0].index] = kernel(run, operator, tensors)
    return seen


def _factor(real: float) -> tuple[int, int]:
    """Return the 31 bits and the exponent of a factor."""
    mantissa, exponent = math.frexp(real)
    bits = math.floor(mantissa * 2.0**31 + 0.5)
    if bits == 2**31:
        bits, exponent = 2**30, exponent + 1
    return (0, 0) if exponent < -31 else (bits, exponent)


def _away(x: Array) -> Array:
    """Round floats to integers, halves away from zero."""
    whole = np.trunc(x)
    return np.asarray(whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0))


def _scaled(x: Array, real: float) -> Array:
    """Multiply integers by a factor in fixed point, with two roundings."""
    bits, exponent = _factor(real)
    return _shifted(x, bits, exponent)


def _shifted(x: Array, bits: int, exponent: int) -> Array:
    first = np.floor_divide(x.astype(np.int64) * 2 ** max(exponent, 0) * bits + 2**30, 2**31)
    if exponent >= 0:
        return np.asarray(first)
    down = 2**-exponent
    return np.asarray(np.sign(first) * np.floor_divide(2 * np.abs(first) + down, 2 * down))


def _clipped(x: Array, tensor: FileTensor, activation: str) -> Array:
    scale, zero = tensor.grid
    low, high = -128, 127
    if activation in ("RELU", "RELU6"):
        low = max(low, zero)
    if activation == "RELU6":
        high = min(high, zero + int(_away(np.array(_f(6) / scale, np.float64))))
    if activation == "RELU_N1_TO_1":
        low = max(low, zero + int(_away(np.array(_f(-1) / scale, np.float64))))
        high = min(high, zero + int(_away(np.array(_f(1) / scale, np.float64))))
    return np.minimum(np.maximum(x, min(low, 127)), max(high, -128))


def _activation(operator: Operator) -> str:
    return ACTIVATIONS[operator.options.get("fused_activation_function", 0)]


def windows(operator: Operator, x: Array, height: int, width: int, fill: Any) -> Array:
    """Return every window of images: (samples, rows, columns, height, width, channels)."""
    options = operator.options
    stride = options["stride_h"], options["stride_w"]
    spread = options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1)
    stated = options.get("padding", 0)
    same = (stated.upper() if isinstance(stated, str) else PADDINGS[stated]) == "SAME"
    positions = []
    pads = [(0, 0)]
    for size, step, apart, kernel in zip(x.shape[1:3], stride, spread, (height, width), strict=True):
        reach = (kernel - 1) * apart + 1
        count = math.ceil(size / step) if same else (size - reach) // step + 1
        extra = max((count - 1) * step + reach - size, 0) if same else 0
        pads.append((extra // 2, extra - extra // 2))
        positions.append(np.arange(count)[:, None] * step + np.arange(kernel)[None, :] * apart)
    wide = np.pad(x, [*pads, (0, 0)], constant_values=fill)
    picked = wide[:, positions[0]][:, :, :, positions[1]]  # samples, rows, height, columns, width, channels
    return np.asarray(picked.transpose(0, 1, 3, 2, 4, 5))


def _summed(run: IntegerRunner, operator: Operator, sums: Array, bias: Array | None, scales: Any) -> Array:
    """Add the bias and rescale, channel by channel."""
    out, x = operator.outputs[0], operator.input(0)
    sums = sums if bias is None else sums + bias.astype(np.int64)
    flat, made = sums.reshape(-1, sums.shape[-1]), np.empty(sums.shape, np.int64).reshape(-1, sums.shape[-1])
    for channel in range(flat.shape[1]):
        w = scales[channel] if len(scales) > 1 else scales[0]
        real = float(x.grid[0]) * float(w) / float(out.grid[0])
        column = flat[:, channel]
        if run.kernels == "reference" and operator.name == "FULLY_CONNECTED":
            made[:, channel] = _away(np.clip(column * real, -(2.0**20), 2.0**20))
        else:
            made[:, channel] = _scaled(column, real)
    return _clipped(made.reshape(sums.shape) + out.grid[1], out, _activation(operator))


def _product(a: Array, b: Array) -> Array:
    """Multiply matrices of integers that are exact in float64."""
    return np.asarray((a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64))


def _scales(operator: Operator) -> Any:
    q = operator.input(1).quantization
    assert q is not None
    return q.scale


def _dense(run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    x, w = tensors[0].reshape(len(tensors[0]), -1) - operator.input(0).grid[1], tensors[1]
    return _summed(
        run, operator, _product(x, w.T), tensors[2] if len(tensors) > 2 else None, _scales(operator)
    )


def _conv(run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    x, w = tensors[0] - operator.input(0).grid[1], tensors[1].astype(np.int64)
    cut = windows(operator, x, w.shape[1], w.shape[2], 0)
    groups = x.shape[3] // w.shape[3]
    parts = []
    for group, kernels in enumerate(np.split(w, groups)):
        piece = cut[..., group * w.shape[3] : (group + 1) * w.shape[3]]
        parts.append(_product(piece.reshape(*cut.shape[:3], -1), kernels.reshape(len(kernels), -1).T))
    bias = tensors[2] if len(tensors) > 2 else None
    return _summed(run, operator, np.concatenate(parts, axis=-1), bias, _scales(operator))


def _depthwise(run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    x, w = tensors[0] - operator.input(0).grid[1], tensors[1].astype(np.int64)
    cut = windows(operator, x, w.shape[1], w.shape[2], 0)
    times = operator.options["depth_multiplier"]
    sums = (np.repeat(cut, times, axis=-1) * w[0]).sum(axis=(3, 4))
    return _summed(run, operator, sums, tensors[2] if len(tensors) > 2 else None, _scales(operator))


def _pool(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    sizes = operator.options["filter_height"], operator.options["filter_width"]
    if operator.name == "MAX_POOL_2D":
        cut = windows(operator, tensors[0], *sizes, -1000)
        return _clipped(cut.max(axis=(3, 4)), operator.outputs[0], _activation(operator))
    count = windows(operator, np.ones_like(tensors[0]), *sizes, 0).sum(axis=(3, 4))
    total = windows(operator, tensors[0], *sizes, 0).sum(axis=(3, 4))
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    return _clipped(mean, operator.outputs[0], _activation(operator))


def _mean(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    (scale, zero), (new, new_zero) = operator.input(0).grid, operator.outputs[0].grid
    count = tensors[0].shape[1] * tensors[0].shape[2]
    bits, exponent = _factor(float(scale) / float(new))
    more = min(count.bit_length() - 1, 32, 31 + exponent)
    total = (tensors[0] - zero).sum(axis=(1, 2))
    made = _shifted(total, bits * 2**more // count, exponent - more) + new_zero
    return np.asarray(np.clip(made, -128, 127).reshape(len(made), *operator.outputs[0].shape[1:]))


def _add(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    (sa, za), (sb, zb), (so, zo) = (
        t.grid for t in (operator.input(0), operator.input(1), operator.outputs[0])
    )
    twice = 2.0 * max(float(sa), float(sb))
    a = _scaled((tensors[0].astype(np.int64) - za) * 2**20, float(sa) / twice)
    b = _scaled((tensors[1].astype(np.int64) - zb) * 2**20, float(sb) / twice)
    made = _scaled(a + b, twice / (2.0**20 * float(so))) + zo
    return _clipped(made, operator.outputs[0], _activation(operator))


def _relu(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    (scale, zero), (new, new_zero) = operator.input(0).grid, operator.outputs[0].grid
    x, ratio = tensors[0] - zero, float(scale) / float(new)
    if operator.name == "LEAKY_RELU":
        falling = _scaled(x, float(scale) * float(_f(operator.options["alpha"])) / float(new))
        return np.asarray(np.clip(np.where(x < 0, falling, _scaled(x, ratio)) + new_zero, -128, 127))
    return _clipped(_scaled(x, ratio) + new_zero, operator.outputs[0], operator.name)


def _quantize(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    out = operator.outputs[0]
    scale, zero = out.grid
    low = -128 if out.kind == "int8" else 0
    if tensors[0].dtype == _f:
        ratio = tensors[0] / scale
        made = _away(np.clip(ratio, -1e5, 1e5).astype(np.float64)).astype(np.int64) + zero
    else:
        old, old_zero = operator.input(0).grid
        made = _scaled(tensors[0] - old_zero, float(old) / float(scale)) + zero
    return np.clip(made, low, low + 255)


def _dequantize(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    scale, zero = operator.input(0).grid
    return np.asarray((tensors[0] - zero).astype(_f) * scale)


def reshaped(_run: Any, operator: Operator, tensors: list[Any]) -> Array:
    """Return the values of a tensor in another shape."""
    return np.asarray(tensors[0].reshape(len(tensors[0]), *operator.outputs[0].shape[1:]))


def _pad(_run: IntegerRunner, operator: Operator, tensors: list[Any]) -> Array:
    value = tensors[2].reshape(-1)[0] if operator.name == "PADV2" else operator.input(0).grid[1]
    return np.pad(tensors[0], tensors[1].reshape(-1, 2).tolist(), constant_values=int(value))


_Kernel: TypeAlias = Callable[[IntegerRunner, Operator, list[Any]], Array]
_KERNELS: dict[str, _Kernel] = {
    "ADD": _add,
    "AVERAGE_POOL_2D": _pool,
    "CONCATENATION": lambda _, operator, tensors: np.concatenate(
        tensors, axis=operator.options.get("axis", 0)
    ),
    "CONV_2D": _conv,
    "DEPTHWISE_CONV_2D": _depthwise,
    "DEQUANTIZE": _dequantize,
    "EXPAND_DIMS": reshaped,
    "FULLY_CONNECTED": _dense,
    "LEAKY_RELU": _relu,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    "PAD": _pad,
    "PADV2": _pad,
    "QUANTIZE": _quantize,
    "RELU": _relu,
    "RELU6": _relu,
    "RELU_N1_TO_1": _relu,
    "RESHAPE": reshaped,
    "SQUEEZE": reshaped,
    "TRANSPOSE": lambda _, __, tensors: np.asarray(tensors[0].transpose(tensors[1].reshape(-1).tolist())),
}


def prove_integers(
    made: LevelImport, program: IntegerProgram, file: TfliteFile, kernels: Kernels
) -> ImportReport:
    """Return the import with its proof, or refuse it and name the first tensor that differs."""
    runner = IntegerRunner(file, kernels, program.scores)

    def run(rows: Array) -> tuple[Array, dict[str, Array], Array]:
        scores, tensors = runner(rows)
        maps = {
            key: tensor.transpose(0, 3, 1, 2) if tensor.ndim == 4 else tensor
            for key, tensor in tensors.items()
        }
        return scores, maps, np.zeros(len(rows), bool)

    name = f"an interpreter of its operators in 8-bit integers, rounded like the {kernels} kernels"
    return compared_levels(made, program, LevelInterpreter(name, run))[0]
