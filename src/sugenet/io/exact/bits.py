"""Operations on bits: elementwise ones change their two values, linear ones make sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Window
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, Clip, Convolution, Flatten, Linear, Pad, Sign
from sugenet.io.exact.signals import BitSignal, SumSignal, sign_of
from sugenet.io.exact.steps import pipelines
from sugenet.io.exact.units import in_units

__all__ = [
    "averaged_bits",
    "bias_of",
    "convolution_of_bits",
    "flattened_average",
    "linear_of_bits",
    "mapped",
    "padding_of",
    "values_by_channel",
]

_UNROLL = 1 << 26


def mapped(bits: BitSignal, op: Affine | Clip | Sign) -> BitSignal:
    """An elementwise operation on bits changes their two values."""
    channels = bits.shape[0] if len(bits.shape) == 3 else len(bits.order)
    per = len(bits.order) // channels
    if isinstance(op, Sign):

        def side(value: Fraction) -> Fraction:
            sign = sign_of(value) or op.zero
            if sign == 0:
                raise FileError(f"{op.where}: the sign of a bit that is 0, where sign(0) = 0.")
            return Fraction(op.high if sign > 0 else op.low)

        return replace(bits, low=_each(side, bits.low), high=_each(side, bits.high))
    lines = pipelines([op], channels)
    low, high = (
        np.array([lines[place // per](value).p for place, value in enumerate(values)], dtype=object) for values in (bits.low, bits.high)
    )
    return replace(bits, low=low, high=high)


def _each(function: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.array([function(value) for value in values], dtype=object)


def values_by_channel(values: npt.NDArray[Any], bits: BitSignal) -> list[set[Any]]:
    """The different values that the bits of each channel have."""
    return [set(row) for row in values.reshape(bits.shape[0], -1).tolist()]


def bias_of(op: Linear | Convolution) -> list[Fraction]:
    """The exact bias of each output; zeros where there is none."""
    count = len(op.weights)
    if op.bias is None:
        return [Fraction(0)] * count
    row = np.asarray(op.bias).reshape(-1)
    if row.size != count or not np.isfinite(row.astype(float)).all():
        raise FileError(f"{op.where}: the bias holds {row.size} numbers for {count} outputs, or one that is not finite.")
    return [Fraction(value) for value in row.tolist()]


def linear_of_bits(bits: BitSignal, op: Linear) -> SumSignal:
    """A linear layer on flat bits, or on averages of them."""
    if bits.average is not None:
        return _linear_of_average(bits, op)
    if bits.pad is not None or len(bits.shape) != 1 or op.weights.shape[1] != len(bits.order):
        raise FileError(f"{op.where}: {op.weights.shape[1]} weights a neuron for values of shape {bits.shape}. Is a flatten missing?")
    return _dense(op.where, op.weights, bias_of(op), bits)


def _exact(weights: Any, where: str) -> npt.NDArray[Any]:
    array = np.asarray(weights)
    if not np.isfinite(array.astype(float)).all():
        raise FileError(f"{where}: a weight is not a finite number.")
    distinct, places = np.unique(array, return_inverse=True)
    exact = np.array([Fraction(value) for value in distinct.tolist()], dtype=object)
    return exact[places].reshape(array.shape)


def _dense(where: str, weights: Any, bias: Sequence[Fraction], bits: BitSignal) -> SumSignal:
    """Weights over bits with any two values: half their difference goes into the weights, their mean into the offset."""
    half, middle = (bits.high - bits.low) / 2, (bits.high + bits.low) / 2
    pulls: Any
    if len({abs(h) for h in half.tolist()}) == 1:  # whole numbers all the way: one size, signs may differ
        signed, unit = in_units(weights, where)
        means = middle.tolist()
        sums = [(mean, signed[:, [m == mean for m in means]].sum(axis=1)) for mean in set(means) - {Fraction(0)}]
        pulls = [u * sum((mean * int(total[k]) for mean, total in sums), Fraction(0)) for k, u in enumerate(unit)]
        signed = signed * np.array([sign_of(h) for h in half.tolist()])
        unit = [u * abs(half[0]) for u in unit]
    else:
        exact = _exact(weights, where)
        signed, unit = in_units(exact * half, where)
        pulls = [sum((w * m for w, m in zip(row, middle.tolist(), strict=True)), Fraction(0)) for row in exact.tolist()]
    offset = [b + pull for b, pull in zip(bias, pulls, strict=True)]
    rows = np.zeros((len(signed), len(bits.order)), np.int64)
    rows[:, bits.order] = signed
    return SumSignal(where, rows, unit, np.array(offset, dtype=object), (len(rows),))


def padding_of(op: Convolution, before: Pad | None) -> tuple[tuple[int, ...], Fraction]:
    """The padding of a convolution together with that in front of it, and its value."""
    if before is None or not any(before.pads):
        return op.pads, Fraction(0)
    if any(op.pads) and before.value != 0:
        raise FileError(f"{op.where}: padded with {before.value} and then with 0. Only one kind of padding can be.")
    return tuple(a + b for a, b in zip(op.pads, before.pads, strict=True)), Fraction(before.value)


def convolution_of_bits(bits: BitSignal, op: Convolution) -> SumSignal:
    """A convolution on maps of bits, with a constant of its own wherever taps fall on padding."""
    if len(bits.shape) != 3 or not np.array_equal(bits.order, np.arange(len(bits.order))):
        raise FileError(f"{op.where}: a convolution of flat or reordered values.")
    pads, fill = padding_of(op, bits.pad)
    by_channel = list(zip(values_by_channel(bits.low, bits), values_by_channel(bits.high, bits), strict=True))
    if any(len(v) != 1 for pair in by_channel for v in pair):
        raise FileError(f"{op.where}: a convolution of bits whose values differ within a channel.")
    window = Window(bits.shape, op.weights.shape[2:], op.stride, op.dilation, pads)
    lows, highs = ([next(iter(pair[k])) for pair in by_channel] for k in (0, 1))
    outs, per_in = op.weights.shape[:2]
    channel_of = (np.arange(outs) // (outs // op.groups))[:, None] * per_in + np.arange(per_in)  # input channels of each output
    middle = np.array([(a + b) / 2 for a, b in zip(lows, highs, strict=True)], dtype=object)
    half = np.array([(b - a) / 2 for a, b in zip(lows, highs, strict=True)], dtype=object)
    plain, worth = in_units(op.weights, op.where)
    if len({abs(h) for h in half.tolist()}) == 1:
        signed = plain * np.array([sign_of(h) for h in half.tolist()])[channel_of][:, :, None, None]
        unit = [u * abs(half[0]) for u in worth]
    else:
        scaled = np.array([plain[o] * worth[o] * half[channel_of[o]][:, None, None] for o in range(outs)], dtype=object)
        signed, unit = in_units(scaled, op.where)
    kinds, kind_of = np.unique(window.taps >= 0, axis=0, return_inverse=True)
    taps = plain.reshape(outs, per_in, -1)
    constants = np.empty((outs, len(kinds)), dtype=object)
    for number, kind in enumerate(kinds):
        there, beyond = taps[:, :, kind].sum(axis=2), taps[:, :, ~kind].sum(axis=(1, 2))
        for o, bias in enumerate(bias_of(op)):
            pull = sum((middle[c] * int(t) for c, t in zip(channel_of[o], there[o], strict=True) if t), Fraction(0))
            constants[o, number] = bias + worth[o] * (pull + fill * int(beyond[o]))
    offset = constants[:, kind_of.reshape(-1)].reshape(-1)
    return SumSignal(op.where, signed, unit, offset, (outs, *window.positions), window, op.groups)


def averaged_bits(bits: BitSignal) -> SumSignal:
    """Average pooling in front of a threshold: a depthwise convolution with equal weights."""
    op = bits.average
    assert op is not None
    channels = bits.shape[0]
    kernel = op.kernel or bits.shape[1:]
    window = Window(bits.shape, kernel, op.stride if op.kernel else 1, 1, op.pads if op.kernel else 0)
    inside = (window.taps >= 0).sum(axis=1)
    share = prod(window.kernel)
    if not op.count_pads and len(set(inside.tolist())) > 1:
        raise FileError(f"{op.where}: an average over windows of different sizes. Count the padding, or avoid it.")
    divisor = share if op.count_pads else int(inside[0])
    ones = np.full((channels, 1, *window.kernel), Fraction(1, divisor), dtype=object)
    conv = Convolution(op.where, ones, None, window.stride, (1, 1), window.pads, channels)
    return convolution_of_bits(replace(bits, average=None), conv)


def flattened_average(bits: BitSignal, op: Flatten) -> BitSignal:
    """Averages flattened pixel by pixel: only where there is one position a channel."""
    average = bits.average
    assert average is not None
    if average.kernel is None or prod(Window(bits.shape, average.kernel, average.stride, 1, average.pads).positions) == 1:
        return bits
    raise FileError(f"{op.where}: average pooling flattened pixel by pixel in front of a linear layer.")


def _linear_of_average(bits: BitSignal, op: Linear) -> SumSignal:
    """A linear layer on averages is a linear layer on the bits themselves."""
    average = bits.average
    assert average is not None
    pooled = averaged_bits(replace(bits, shape=_maps_of(bits)))
    assert pooled.window is not None
    window = pooled.window
    channels, taps = window.shape[0], window.taps
    if op.weights.shape[1] != channels * len(taps):
        raise FileError(f"{op.where}: {op.weights.shape[1]} weights a neuron for {channels} x {len(taps)} averages.")
    weights = _exact(op.weights, op.where).reshape(len(op.weights), channels, len(taps))
    if len(weights) * window.inputs > _UNROLL:
        raise FileError(f"{op.where}: too many weights behind average pooling.")
    wide = np.full((len(weights), channels, prod(window.shape[1:])), Fraction(0), dtype=object)
    share = abs(pooled.unit[0]) / abs((bits.high[0] - bits.low[0]) / 2)
    for position, pixels in enumerate(taps):
        for pixel in pixels[pixels >= 0]:
            wide[:, :, pixel] += weights[:, :, position] * share
    flat = replace(bits, average=None, shape=(window.inputs,))
    return _dense(op.where, wide.reshape(len(weights), -1), bias_of(op), flat)


def _maps_of(bits: BitSignal) -> tuple[int, ...]:
    if len(bits.shape) == 3:
        return bits.shape
    raise FileError("average pooling of flat values.")
