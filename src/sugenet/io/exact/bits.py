"""Operations on bits: elementwise ones change their two values, linear ones make sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Clip, Convolution, LinearOp, Sign
from sugenet.io.exact.signals import BitSignal, Padding, SumSignal, padded
from sugenet.io.exact.steps import pipelines, sign_of
from sugenet.io.exact.sums import averaged_window, unrolled
from sugenet.io.exact.units import bias_of, exact_weights, in_units

__all__ = [
    "averaged_bits",
    "channels_of",
    "convolution_of_bits",
    "linear_of_bits",
    "mapped",
    "pad_pulls",
    "padding_past",
    "values_by_channel",
]


def mapped(bits: BitSignal, op: Affine | Clip | Sign) -> BitSignal:
    """An elementwise operation on bits changes their two values, and that of the padding."""
    channels = bits.shape[0] if len(bits.shape) == 3 else len(bits.order)
    per = len(bits.order) // channels
    values: Any = (
        [lambda value: _side(op, value)] * channels
        if isinstance(op, Sign)
        else [lambda value, line=line: line(value).p for line in pipelines([op], channels)]
    )
    low, high = (
        np.array([values[place // per](value) for place, value in enumerate(row)], dtype=object)
        for row in (bits.low, bits.high)
    )
    return replace(bits, low=low, high=high, pad=padding_past(bits.pad, op))


def _side(op: Sign, value: Fraction) -> Fraction:
    sign = sign_of(value) or op.zero
    if sign == 0:
        raise FileError(f"{op.where}: the sign of a bit that is 0, where sign(0) = 0.")
    return Fraction(op.high if sign > 0 else op.low)


def padding_past(pad: Padding | None, op: Affine | BatchNorm | Clip | Sign) -> Padding | None:
    """Padding behind an elementwise operation, which changes its values too."""
    if pad is None:
        return None
    if isinstance(op, BatchNorm):
        raise FileError(
            f"{op.where}: batch norm of padded values gives a padding with a square root. Pad behind it."
        )
    if isinstance(op, Sign):
        at = {1: Fraction(op.high), -1: Fraction(op.low), 0: (Fraction(op.low) + Fraction(op.high)) / 2}
        fill = [at[sign_of(value) or op.zero] for value in pad.fill]
    else:
        fill = [line(value).p for line, value in zip(pipelines([op], len(pad.fill)), pad.fill, strict=True)]
    return replace(pad, fill=tuple(fill))


def values_by_channel(bits: BitSignal, what: str) -> list[tuple[Fraction, Fraction]]:
    """The two values of the bits of each channel; refused where they differ within it."""
    rows = [values.reshape(bits.shape[0], -1) for values in (bits.low, bits.high)]
    if any((row != row[:, :1]).any() for row in rows):
        raise FileError(f"{what} of bits whose values differ within a channel.")
    return list(zip(*(row[:, 0].tolist() for row in rows), strict=True))


def linear_of_bits(bits: BitSignal, op: LinearOp) -> SumSignal:
    """A linear layer on flat bits."""
    if bits.pad is not None or len(bits.shape) != 1 or op.weights.shape[1] != len(bits.order):
        raise FileError(
            f"{op.where}: {op.weights.shape[1]} weights a neuron for values of shape {bits.shape}. Is a "
            f"flatten missing?"
        )
    return _dense(op.where, op.weights, bias_of(op), bits)


def _dense(where: str, weights: Any, bias: Sequence[Fraction], bits: BitSignal) -> SumSignal:
    """Weights over bits with any two values: half their difference goes into the weights,
    their mean into the offset.
    """
    half, middle = (bits.high - bits.low) / 2, (bits.high + bits.low) / 2
    pulls: Any
    if len({abs(h) for h in half.tolist()}) == 1:  # whole numbers all the way: one size, signs may differ
        signed, unit = in_units(weights, where)
        means = middle.tolist()
        sums = [
            (mean, signed[:, [m == mean for m in means]].sum(axis=1)) for mean in set(means) - {Fraction(0)}
        ]
        pulls = [
            u * sum((mean * int(total[k]) for mean, total in sums), Fraction(0)) for k, u in enumerate(unit)
        ]
        signed = signed * np.array([sign_of(h) for h in half.tolist()])
        unit = [u * abs(half[0]) for u in unit]
    else:
        exact = exact_weights(weights, where)
        signed, unit = in_units(exact * half, where)
        pulls = [
            sum((w * m for w, m in zip(row, middle.tolist(), strict=True)), Fraction(0))
            for row in exact.tolist()
        ]
    offset = [b + pull for b, pull in zip(bias, pulls, strict=True)]
    rows = np.zeros((len(signed), len(bits.order)), np.int64)
    rows[:, bits.order] = signed
    return SumSignal(where, rows, unit, np.array(offset, dtype=object), (len(rows),))


def channels_of(op: Convolution) -> npt.NDArray[np.intp]:
    """The input channels that each output of a convolution reads, one row an output."""
    outs, per_in = op.weights.shape[:2]
    return np.asarray((np.arange(outs) // (outs // op.groups))[:, None] * per_in + np.arange(per_in))


def pad_pulls(
    op: Convolution, weights: Ints, kinds: npt.NDArray[np.bool_], fill: Sequence[Fraction]
) -> npt.NDArray[Any]:
    """What taps on padding add, in units of the weights: one row an output, one column a kind of position
    (True: a tap inside).
    """
    outs, per_in = weights.shape[:2]
    if not any(fill):
        return np.full((outs, len(kinds)), Fraction(0), dtype=object)
    beyond = weights.reshape(outs, per_in, -1) @ (~kinds).T.astype(np.int64)
    value = np.array([*fill], dtype=object)[channels_of(op)]
    return np.asarray((beyond * value[:, :, None]).sum(axis=1))


def convolution_of_bits(bits: BitSignal, op: Convolution) -> SumSignal:
    """A convolution on maps of bits, with a constant of its own wherever taps fall on padding."""
    if len(bits.shape) != 3 or not np.array_equal(bits.order, np.arange(len(bits.order))):
        raise FileError(f"{op.where}: a convolution of flat or reordered values.")
    zeros = (Fraction(0),) * bits.shape[0]
    pad = padded(bits.pad, Padding(op.pads, zeros), op.where) or Padding((0, 0, 0, 0), zeros)
    pairs = values_by_channel(bits, f"{op.where}: a convolution")
    window = Window(bits.shape, op.weights.shape[2:], op.stride, op.dilation, pad.pads)
    outs, per_in = op.weights.shape[:2]
    channel_of = channels_of(op)
    middle = np.array([(low + high) / 2 for low, high in pairs], dtype=object)
    half = np.array([(high - low) / 2 for low, high in pairs], dtype=object)
    plain, worth = in_units(op.weights, op.where)
    if len({abs(h) for h in half.tolist()}) == 1:
        signed = plain * np.array([sign_of(h) for h in half.tolist()])[channel_of][:, :, None, None]
        unit = [u * abs(half[0]) for u in worth]
    else:
        scaled = np.array(
            [plain[o] * worth[o] * half[channel_of[o]][:, None, None] for o in range(outs)], dtype=object
        )
        signed, unit = in_units(scaled, op.where)
    kinds, kind_of = np.unique(window.taps >= 0, axis=0, return_inverse=True)
    taps = plain.reshape(outs, per_in, -1)
    outer = pad_pulls(op, plain, kinds, pad.fill)
    constants = np.empty((outs, len(kinds)), dtype=object)
    for number, kind in enumerate(kinds):
        there = taps[:, :, kind].sum(axis=2)
        for o, bias in enumerate(bias_of(op)):
            pull = sum(
                (middle[c] * int(t) for c, t in zip(channel_of[o], there[o], strict=True) if t), Fraction(0)
            )
            constants[o, number] = bias + worth[o] * (pull + outer[o, number])
    offset = constants[:, kind_of.reshape(-1)].reshape(-1)
    return SumSignal(op.where, signed, unit, offset, (outs, *window.positions), window, op.groups)


def averaged_bits(bits: BitSignal, op: AveragePool) -> SumSignal:
    """Average pooling of bits: a depthwise convolution with equal weights, unrolled where windows differ in
    how many values they count.
    """
    if len(bits.shape) != 3:
        raise FileError(f"{op.where}: average pooling of flat values.")
    channels, height, width = bits.shape
    top, left, bottom, right = bits.pad.pads if bits.pad is not None else (0, 0, 0, 0)
    window, counts = averaged_window((channels, height + top + bottom, width + left + right), op)
    regular = len(set(counts)) == 1
    ones = np.full((channels, 1, *window.kernel), Fraction(1, counts[0] if regular else 1), dtype=object)
    sums = convolution_of_bits(
        bits, Convolution(op.where, ones, None, window.stride, (1, 1), window.pads, channels)
    )
    if not regular:
        dense = unrolled(sums)
        divisors = counts * channels
        unit = [u / n for u, n in zip(dense.unit, divisors, strict=True)]
        offset = np.array([o / n for o, n in zip(dense.offset, divisors, strict=True)], dtype=object)
        sums = replace(dense, unit=unit, offset=offset)
    return replace(sums, mean=True)
