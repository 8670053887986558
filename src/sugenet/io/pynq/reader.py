"""A BNN-PYNQ folder as a chain of operations.

A neuron fires iff its match count is *above* its threshold: M > T is 2 M - n >= 2 T - n + 1, and since sums
are two apart the bias n - 1 - 2 T is never met. The first layer of a convolutional design adds fixed-point
numbers q / 128 and compares the sum with T / 256.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Sign,
    numbers,
    rounded,
)
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.io.pynq.memory import Folding, Memory

__all__ = ["Last", "PixelRounding", "chain_of_memory"]

Last: TypeAlias = Literal["bits", "matches"]
PixelRounding: TypeAlias = Literal["nearest", "floor"]

_THRESHOLDS = (-(1 << 15), (1 << 15) - 1)
_FIXED = (-(1 << 23), (1 << 23) - 1)
"""What the accelerators' threshold memories hold: 16 bits, and 24 of which 8 are behind the point."""


def chain_of_memory(
    memory: Memory,
    *,
    features: int | None = None,
    outputs: int | None = None,
    last: Last | None = None,
    rounding: PixelRounding | None = None,
) -> OpChain:
    """All operations from the pixels (0..255) to the scores.

    Parameters
    ----------
    features
        How many bits the first dense layer reads; those beyond are padding that is always off.
    outputs
        How many of the last rows are classes.
    last
        ``"bits"``: the class of the highest bit that is on, as the driver takes it where the last layer has
        thresholds; ``"matches"``: the class of most matches.
    rounding
        Of pixels to fixed point, where the first layer reads them so.
    """
    design, count = memory.design, _outputs(memory, outputs)
    ops: list[Op]
    shape: tuple[int, ...]
    if design.is_conv:
        shape, ops = (design.layers[0].channels, *(design.layers[0].side,) * 2), _pixels(rounding)
        refuse_if(
            features is not None, f"features={features} is for dense designs; here {shape} pixels are read."
        )
    else:
        refuse_if(
            rounding is not None,
            f"rounding={rounding!r} is for designs that read pixels; here they are bits.",
        )
        shape, ops = (_features(memory, features),), [Affine("pixels", np.ones(1), np.array([-127.5]))]
        ops.append(Sign("pixels"))
    for number, layer in enumerate(design.layers[:-1]):
        ops += _layer(memory, number, layer, shape)
        if design.pools_behind(number):
            ops.append(MaxPool(f"pool behind layer {number}", (2, 2), (2, 2)))
        if layer.kernel and not design.layers[number + 1].kernel:
            ops.append(Flatten("maps", "HWC"))
    tail, left_out = _last(memory, count, last, shape)
    return OpChain(memory.source, shape, (*ops, *tail), left_out=left_out)


def _pixels(rounding: PixelRounding | None) -> list[Op]:
    """2 x / 255 - 1 as a number q / 128: 256 x / 255 - 128 is never half way between two whole numbers."""
    refuse_if(
        rounding not in (None, "nearest", "floor"),
        f"rounding={rounding!r} is not known: 'nearest' or 'floor'.",
    )
    whole = rounded("pixels", -128, 127, "floor" if rounding == "floor" else "half even")
    spread = Affine("pixels", numbers([Fraction(256, 255)]), np.array([-128.0]))
    return [spread, whole, Affine("pixels", np.ones(1), np.array([-128.0]))]


def _features(memory: Memory, features: int | None) -> int:
    width = memory.design.layers[0].width
    known = required(
        memory.design.features if features is None else features,
        f"its first layer reads {width} bits, of which the last are padding. Say how many are inputs: "
        "features=784.",
    )
    refuse_if(not 0 < known <= width, f"features={known}, but the first layer reads {width} bits.")
    return known


def _outputs(memory: Memory, outputs: int | None) -> int:
    rows = memory.weights[-1].size // memory.design.layers[-1].words
    count = required(
        len(memory.classes) if outputs is None and memory.classes else outputs,
        f"its last layer has {rows} rows, of which the first are classes, and there is no classes.txt. "
        "Say how many: outputs=10.",
    )
    refuse_if(not 0 < count <= rows, f"{count} classes, but the last layer has {rows} rows.")
    return count


def _signs(memory: Memory, number: int) -> npt.NDArray[np.float64]:
    """Weights of -1 and +1, one row a neuron."""
    layer, words = memory.design.layers[number], memory.weights[number]
    refuse_if(
        layer.simd < 64 and (words >> np.uint64(layer.simd)).any(),
        f"layer {number} has words with more than {layer.simd} bits.",
    )
    bits = (words[..., None] >> np.arange(layer.simd, dtype=np.uint64)) & np.uint64(1)
    rows = bits.reshape(layer.pe, -1, layer.width).swapaxes(0, 1).reshape(-1, layer.width)
    return rows.astype(np.float64) * 2 - 1


def _limits(memory: Memory, number: int, rows: int, ends: tuple[int, int]) -> npt.NDArray[np.float64]:
    held = required(memory.thresholds[number], f"layer {number} has no thresholds.")
    limits = held.T.reshape(-1)[:rows]
    wrong = (limits < ends[0]) | (limits > ends[1])
    if wrong.any():
        raise FileError(
            f"layer {number}, neuron {int(np.argmax(wrong))}: its threshold {int(limits[wrong][0])} is not "
            f"one of {ends[0]}..{ends[1]}, which the accelerator can hold."
        )
    return limits.astype(np.float64)


def _layer(memory: Memory, number: int, layer: Folding, shape: tuple[int, ...]) -> list[Op]:
    where, signs = f"layer {number}", _signs(memory, number)
    if not layer.kernel:
        return [_dense(memory, number, signs, shape), Sign(where)]
    if number == 0:  # twice the sum of q is a whole number above T, or not
        bias = -np.floor(_limits(memory, 0, len(signs), _FIXED) / 2) - 0.5
    else:
        bias = layer.width - 1 - 2 * _limits(memory, number, len(signs), _THRESHOLDS)
    kernel = signs.reshape(-1, layer.kernel, layer.kernel, layer.channels).transpose(0, 3, 1, 2)
    return [Convolution(where, np.ascontiguousarray(kernel), bias), Sign(where)]


def _dense(memory: Memory, number: int, signs: npt.NDArray[np.float64], shape: tuple[int, ...]) -> LinearOp:
    bias = signs.shape[1] - 1 - 2 * _limits(memory, number, len(signs), _THRESHOLDS)
    if number == 0:  # padding is always off, that is -1
        bias, signs = bias - signs[:, shape[0] :].sum(axis=1), signs[:, : shape[0]]
    return LinearOp(f"layer {number}", signs, bias)


def _last(
    memory: Memory, count: int, last: Last | None, shape: tuple[int, ...]
) -> tuple[list[Op], tuple[str, ...]]:
    """The highest bit that is on wins, and class 0 where none is: (c + 1) times the bit, ties to the lowest
    class. Without thresholds, most matches.
    """
    number = len(memory.design.layers) - 1
    thresholds = memory.thresholds[number] is not None and not memory.design.is_conv
    refuse_if(last not in (None, "bits", "matches"), f"last={last!r} is not known: 'bits' or 'matches'.")
    refuse_if(
        last == "bits" and not thresholds,
        "last='bits' is for designs whose last layer has thresholds. Leave it out.",
    )
    signs, where = _signs(memory, number)[:count], f"layer {number}"
    if last == "matches" or not thresholds:
        note = f"thresholds of {where}: the class of most matches is taken, not that of the highest bit"
        bias = None
        if number == 0:  # padding is always off, that is -1
            bias, signs = -signs[:, shape[0] :].sum(axis=1), signs[:, : shape[0]]
        return [LinearOp(where, signs, bias)], (note,) if thresholds else ()
    places = np.arange(1.0, count + 1)
    return [
        _dense(memory, number, signs, shape),
        Sign(where),
        LinearOp("highest bit", np.diag(places), places),
    ], ()
