"""Run a binarized TensorFlow Lite file in float64, operator by operator, to verify an import.

It shares only the parser of the file and its table of operators with the reader. Tensors keep the layout of
the file. Packed signs are words of 32 bits, as in the file. A binary convolution counts bits that differ.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sugenet.io.proof.interpreters import Seen, SourceInterpreter, Stage
from sugenet.io.tflite.file import ACTIVATIONS, Operator, TfliteFile
from sugenet.io.tflite.interpreter import computed, reshaped, windows
from sugenet.nn.arrays import Array

__all__ = ["interpreter_of_file"]

_Watch: TypeAlias = Callable[[Operator, Array], None]


def interpreter_of_file(file: TfliteFile, signs: Sequence[str]) -> SourceInterpreter:
    """Return an interpreter that shows the named signs in their order."""

    def run(x: Array) -> Seen:
        stages: dict[str, Stage] = {}

        def watch(operator: Operator, before: Array) -> None:
            maps = before.transpose(0, 3, 1, 2) if before.ndim == 4 else before
            flat = maps.reshape(len(maps), -1)
            stages[str(operator)] = Stage.of_bits(str(operator), flat, flat >= 0)

        scores = _run(file, x, watch).reshape(len(x), -1)
        return Seen(scores, tuple(stages[name] for name in signs), scores)

    return SourceInterpreter(
        "an interpreter of its operators in float64, with packed signs", run, follows=True
    )


def _run(file: TfliteFile, x: Array, watch: _Watch) -> Array:
    """Return the class scores: the values before softmax and similar operators."""
    seen = computed(file, np.asarray(x, np.float64), _KERNELS, watch)
    tails = {"SOFTMAX", "LOG_SOFTMAX", "LOGISTIC", "ARG_MAX"}
    scores = next((op.input(0).index for op in file.operators if op.name in tails), file.outputs[0].index)
    return seen[scores]


def _packed(signs: Array) -> Array:
    """Pack booleans along the last axis into words of 32 bits, the first into the lowest bit."""
    wide = np.zeros((*signs.shape[:-1], -(-signs.shape[-1] // 32) * 32), np.uint64)
    wide[..., : signs.shape[-1]] = signs
    words = wide.reshape(*wide.shape[:-1], -1, 32)
    return np.asarray((words << np.arange(32, dtype=np.uint64)).sum(axis=-1).astype(np.uint32))


def _fused(operator: Operator, x: Array) -> Array:
    stated = operator.options.get("fused_activation_function", 0)
    name = stated.upper() or "NONE" if isinstance(stated, str) else ACTIVATIONS[stated]
    low, high = {"NONE": (-np.inf, np.inf), "RELU": (0, np.inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}[
        name
    ]
    return np.minimum(np.maximum(x, low), high)


def _quantize(watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    watch(operator, tensors[0])
    return _packed(tensors[0] < 0)


def _dequantize(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    bits = (tensors[0][..., None] >> np.arange(32, dtype=np.uint32)) & 1
    flat = bits.reshape(*tensors[0].shape[:-1], -1)[..., : operator.outputs[0].shape[-1]]
    return np.where(flat == 1, -1.0, 1.0)


def _binary_conv(watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    x, w = tensors[0], tensors[1].view(np.uint32)
    cut = windows(operator, x, w.shape[1], w.shape[2], 0)  # bit 0 is +1
    inside = windows(operator, np.ones_like(x[:1]), w.shape[1], w.shape[2], 0).astype(bool)
    words, groups = w.shape[3], x.shape[3] // w.shape[3]
    per = operator.options["channels_in"] // groups
    parts = []
    for group, kernels in enumerate(np.split(w, groups)):
        piece = cut[..., group * words : (group + 1) * words]
        there = inside[..., group * words]  # one mask for all channels of a pixel
        if operator.options.get("pad_values"):
            there = np.ones_like(there)
        differ = np.stack(
            [np.bitwise_count(piece ^ kernel).sum(axis=-1, dtype=np.int64) for kernel in kernels], axis=-1
        )
        sums = (per - 2 * differ) * there[..., None]
        parts.append(sums.sum(axis=(3, 4)))
    sums = np.concatenate(parts, axis=-1)
    if operator.outputs[0].kind != "int32":
        return np.asarray(_fused(operator, sums) * tensors[2].astype(np.float64) + tensors[3])
    size = w.shape[1] * w.shape[2] * per
    differing = (size - sums) / 2
    watch(operator, tensors[4] - differing)
    return _packed(differing > tensors[4])


def _conv(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    x, w = tensors[0], tensors[1].astype(np.float64)
    cut = windows(operator, x, w.shape[1], w.shape[2], 0.0)
    if operator.name == "DEPTHWISE_CONV_2D":
        made = (np.repeat(cut, w.shape[3] // x.shape[3], axis=-1) * w[0]).sum(axis=(3, 4))
    else:
        size, groups = w.shape[3], x.shape[3] // w.shape[3]
        parts = [
            np.tensordot(cut[..., g * size : (g + 1) * size], kernels, axes=((3, 4, 5), (1, 2, 3)))
            for g, kernels in enumerate(np.split(w, groups))
        ]
        made = np.concatenate(parts, axis=-1)
    return _fused(operator, made if len(tensors) < 3 or tensors[2] is None else made + tensors[2])


def _pool(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    x, sizes = tensors[0], (operator.options["filter_height"], operator.options["filter_width"])
    if operator.name == "LceBMaxPool2d":  # -1 only if all are -1
        cut = windows(operator, x, *sizes, 0xFFFFFFFF)
        return np.asarray(np.bitwise_and.reduce(np.bitwise_and.reduce(cut, axis=4), axis=3))
    if operator.name == "MAX_POOL_2D":
        return _fused(operator, windows(operator, x, *sizes, -np.inf).max(axis=(3, 4)))
    total, count = (windows(operator, y, *sizes, 0.0).sum(axis=(3, 4)) for y in (x, np.ones_like(x)))
    return _fused(operator, total / count)


def _dense(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    made = tensors[0].reshape(len(tensors[0]), -1) @ tensors[1].astype(np.float64).T
    return _fused(operator, made if len(tensors) < 3 or tensors[2] is None else made + tensors[2])


def _arithmetic(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    a, b = (tensor.astype(np.float64) for tensor in tensors)
    return _fused(operator, {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}[operator.name](a, b))


def _relu(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    number = ACTIVATIONS.index(operator.name)
    made = Operator(0, "", (), (), {"fused_activation_function": number}, {})
    return _fused(made, tensors[0])


def _mean(_watch: _Watch, operator: Operator, tensors: list[Any]) -> Array:
    return np.asarray(tensors[0].mean(axis=(1, 2)).reshape(len(tensors[0]), *operator.outputs[0].shape[1:]))


_Kernel: TypeAlias = Callable[[_Watch, Operator, list[Any]], Array]
_KERNELS: dict[str, _Kernel] = {
    **dict.fromkeys(("ADD", "MUL", "SUB"), _arithmetic),
    **dict.fromkeys(("AVERAGE_POOL_2D", "LceBMaxPool2d", "MAX_POOL_2D"), _pool),
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D"), _conv),
    **dict.fromkeys(("RELU", "RELU6", "RELU_N1_TO_1"), _relu),
    **dict.fromkeys(("RESHAPE", "SQUEEZE"), reshaped),
    "FULLY_CONNECTED": _dense,
    "LceBconv2d": _binary_conv,
    "LceDequantize": _dequantize,
    "LceQuantize": _quantize,
    "MEAN": _mean,
    "PAD": lambda _, __, tensors: np.pad(tensors[0], tensors[1].reshape(-1, 2).tolist()),
}
