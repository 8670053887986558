"""Operations on levels: elementwise ones change what they stand for, linear ones make sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.exact.factors import in_common_units, in_shared_units, wide_row
from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Clip, Convolution, LinearOp, Sign, Stairs
from sugenet.io.exact.signals import LevelSignal, Padding, SumSignal, padded
from sugenet.io.exact.steps import pipelines, sign_of
from sugenet.io.exact.sums import averaged_window, unrolled
from sugenet.io.exact.units import bias_of, exact_weights, in_units, quantized

__all__ = [
    "averaged_levels",
    "channels_of",
    "convolution_of_levels",
    "identity_of_levels",
    "linear_of_levels",
    "mapped",
    "pad_pulls",
    "padding_past",
    "stairs_at",
    "values_by_channel",
]


_WIDEST = 1 << 12
"""Flat values that a layer may carry one by one."""


def mapped(levels: LevelSignal, op: Affine | Clip | Sign | Stairs) -> LevelSignal:
    """An elementwise operation on levels changes what they stand for, and the value of the padding.

    It must leave the same distance between any two of them, as everything does with bits.
    """
    channels = levels.shape[0] if len(levels.shape) == 3 else len(levels.order)
    per = len(levels.order) // channels
    functions = _elementwise(op, channels)
    known: dict[tuple[int, Fraction, Fraction], tuple[Fraction, Fraction]] = {}
    pairs = []
    for place, (start, step) in enumerate(zip(levels.start.tolist(), levels.step.tolist(), strict=True)):
        key = (place // per, start, step)
        if key not in known:
            first, last = (functions[place // per](value) for value in (start, start + step * levels.top))
            known[key] = first, (last - first) / levels.top
            if not isinstance(op, Affine) and any(
                functions[place // per](start + step * a) != first + known[key][1] * a
                for a in range(1, levels.top)
            ):
                raise FileError(
                    f"{op.where}: {type(op).__name__.lower()} of levels that are not the same distance apart "
                    "behind it. Quantize behind it."
                )
        pairs.append(known[key])
    start, step = (np.array([pair[k] for pair in pairs], dtype=object) for k in (0, 1))
    return replace(levels, start=start, step=step, pad=padding_past(levels.pad, op), raw=False)


def _elementwise(op: Affine | Clip | Sign | Stairs, channels: int) -> list[Any]:
    """The operation as an exact function of one number, for each channel."""
    if isinstance(op, Sign):
        return [lambda value: _side(op, value)] * channels
    if isinstance(op, Stairs):
        rows = stairs_at(op, channels)
        return [lambda value, row=row: _count(value, row, op.strict.tolist()) for row in rows]
    return [lambda value, line=line: line(value).p for line in pipelines([op], channels)]


def stairs_at(op: Stairs, channels: int) -> list[tuple[Fraction, ...]]:
    """The exact thresholds of each channel; refused where they fall."""
    table = np.asarray(op.thresholds)
    if table.ndim != 2 or len(table) not in (1, channels) or not table.shape[1]:
        raise FileError(f"{op.where}: thresholds of shape {table.shape} for {channels} channels.")
    rows = []
    for k, row in enumerate(table.tolist()):
        if any(isinstance(value, float) and not isfinite(value) for value in row):
            raise FileError(f"{op.where}: a threshold of channel {k} is not finite.")
        exact = tuple(Fraction(value) for value in row)
        if any(
            a > b or (a == b and first and not second)
            for (a, first), (b, second) in pairwise(zip(exact, op.strict.tolist(), strict=True))
        ):
            raise FileError(f"{op.where}: the thresholds of channel {k} do not rise.")
        rows.append(exact)
    return rows * channels if len(rows) == 1 else rows


def _count(value: Fraction, row: Sequence[Fraction], strict: Sequence[bool]) -> Fraction:
    return Fraction(
        sum(value > at or (value == at and not above) for at, above in zip(row, strict, strict=True))
    )


def _side(op: Sign, value: Fraction) -> Fraction:
    sign = sign_of(value) or op.zero
    if sign == 0:
        raise FileError(f"{op.where}: the sign of a bit that is 0, where sign(0) = 0.")
    return Fraction(op.high if sign > 0 else op.low)


def padding_past(pad: Padding | None, op: Affine | BatchNorm | Clip | Sign | Stairs) -> Padding | None:
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
        functions = _elementwise(op, len(pad.fill))
        fill = [function(value) for function, value in zip(functions, pad.fill, strict=True)]
    return replace(pad, fill=tuple(fill))


def values_by_channel(levels: LevelSignal, what: str) -> list[tuple[Fraction, Fraction]]:
    """Start and step of the levels of each channel; refused where they differ within it."""
    rows = [values.reshape(levels.shape[0], -1) for values in (levels.start, levels.step)]
    if any((row != row[:, :1]).any() for row in rows):
        raise FileError(f"{what} of values that are scaled differently within a channel.")
    return list(zip(*(row[:, 0].tolist() for row in rows), strict=True))


def linear_of_levels(levels: LevelSignal, op: LinearOp) -> SumSignal:
    """A linear layer on flat levels."""
    if levels.pad is not None or len(levels.shape) != 1 or op.weights.shape[1] != len(levels.order):
        raise FileError(
            f"{op.where}: {op.weights.shape[1]} weights a neuron for values of shape {levels.shape}. Is a "
            f"flatten missing?"
        )
    return _dense(op.where, op.weights, bias_of(op), levels)


def _dense(where: str, weights: Any, bias: Sequence[Fraction], levels: LevelSignal) -> SumSignal:
    """Weights over levels that stand for anything: the steps go into the weights, the starts into
    the offset.
    """
    starts, steps = levels.start.tolist(), levels.step.tolist()
    pulls: Any
    error, floats = Fraction(0), levels.raw and isinstance(quantized(weights, where), str)
    if floats:
        signed, unit, pulls, error = _in_floats(weights, levels, where)
    elif levels.raw and (levels.error is not None or len(set(zip(starts, steps, strict=True))) > 1):
        signed, unit, pulls, error = _rescaled(weights, levels, where)
    elif len({abs(step) for step in steps}) == 1:  # whole numbers all the way: one size, signs may differ
        signed, unit = in_units(weights, where)
        sums = [
            (start, signed[:, [s == start for s in starts]].sum(axis=1))
            for start in set(starts) - {Fraction(0)}
        ]
        pulls = [
            u * sum((start * int(total[k]) for start, total in sums), Fraction(0)) for k, u in enumerate(unit)
        ]
        signed = signed * np.array([sign_of(step) for step in steps])
        unit = [u * abs(steps[0]) for u in unit]
    else:
        exact = exact_weights(weights, where)
        signed, unit = in_units(exact * levels.step, where)
        pulls = [
            sum((w * m for w, m in zip(row, starts, strict=True)), Fraction(0)) for row in exact.tolist()
        ]
    offset = [b + pull for b, pull in zip(bias, pulls, strict=True)]
    rows = np.zeros((len(signed), len(levels.order)), np.int64)
    rows[:, levels.order] = signed
    return SumSignal(
        where,
        rows,
        unit,
        np.array(offset, dtype=object),
        (len(rows),),
        top=levels.top,
        raw=levels.raw,
        real=levels.real,
        floats=floats,
        error=error,
    )


def _in_floats(
    weights: Any, levels: LevelSignal, where: str
) -> tuple[Ints, list[Fraction], list[Fraction], Fraction]:
    """Weights that are floats over raw levels, each row with a unit of its own; as `_rescaled`."""
    exact, top = exact_weights(weights, where), None if levels.real else levels.top
    rows = [wide_row(row, top, where) for row in (exact * levels.step).tolist()]
    starts, unit = in_shared_units(levels.start.tolist())
    pulls = [
        unit * sum((w * s for w, s in zip(row, starts, strict=True) if s), Fraction(0))
        for row in exact.tolist()
    ]
    known = Fraction(0)
    if levels.error is not None:
        known = max((abs(w) @ levels.error for w in exact), default=Fraction(0))
    whole = np.array([row.whole for row in rows], np.int64).reshape(exact.shape)
    error = max((row.error for row in rows), default=Fraction(0)) + known
    return whole, [row.unit for row in rows], pulls, error


def _rescaled(
    weights: Any, levels: LevelSignal, where: str
) -> tuple[Ints, list[Fraction], list[Fraction], Fraction]:
    """Weights over raw levels that are rescaled feature by feature: whole weights, their units, what the
    starts add to each row, and how far a sum can be off.
    """
    plain, worth = in_units(weights, where)
    sizes = np.abs(plain)
    most = sizes.max(initial=0) if levels.real else sizes.sum(axis=1).max(initial=0) * levels.top
    factors = in_common_units(levels.step.tolist(), int(most), where)
    starts, unit = in_shared_units(levels.start.tolist())
    totals = (plain.astype(object) @ np.array(starts, dtype=object)).tolist()
    pulls = [u * unit * total for u, total in zip(worth, totals, strict=True)]
    signed, shrunk = _reduced(plain * np.array(factors.whole, np.int64))
    known = np.zeros(len(factors.whole), object) if levels.error is None else levels.error
    off = np.array([e * levels.top for e in factors.errors], dtype=object) + known
    errors = [u * total for u, total in zip(worth, _upper(sizes, off), strict=True)]
    units = [u * factors.unit * k for u, k in zip(worth, shrunk, strict=True)]
    return signed, units, pulls, max(errors, default=Fraction(0))


def _reduced(rows: Ints) -> tuple[Ints, list[int]]:
    """Rows divided by what all their numbers are multiples of, and these divisors."""
    flat = rows.reshape(len(rows), -1)
    divisors = np.maximum(np.gcd.reduce(flat, axis=1, initial=0), 1)
    return (flat // divisors[:, None]).reshape(rows.shape), divisors.tolist()


def _upper(sizes: Ints, off: npt.NDArray[Any]) -> list[Fraction]:
    """For each row the sum of `sizes` times `off`, or a little more: in floats that are rounded up."""
    if not off.any():
        return [Fraction(0)] * len(sizes)
    largest = max(off.tolist())
    above = np.array([float(value / largest) for value in off.tolist()])
    total = (sizes @ above) * (1 + 1e-9) + 1e-12
    return [largest * Fraction(value) for value in total.tolist()]


def identity_of_levels(levels: LevelSignal, where: str) -> SumSignal:
    """The levels themselves as sums of one each: for stairs on stairs."""
    if len(levels.shape) == 3 and levels.pad is None:
        ones = np.ones((levels.shape[0], 1, 1, 1))
        return replace(
            convolution_of_levels(levels, Convolution(where, ones, groups=levels.shape[0])), raw=False
        )
    if levels.pad is not None or len(levels.order) > _WIDEST:
        raise FileError(f"{where}: a quantizer of padded or too many values. Put it in front of the padding.")
    return replace(linear_of_levels(levels, LinearOp(where, np.eye(len(levels.order)))), raw=False)


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
    beyond = weights.reshape(outs, per_in, -1) @ (~kinds).T.astype(weights.dtype)
    value = np.array([*fill], dtype=object)[channels_of(op)]
    return np.asarray((beyond * value[:, :, None]).sum(axis=1))


def convolution_of_levels(levels: LevelSignal, op: Convolution) -> SumSignal:
    """A convolution on maps of levels, with a constant of its own wherever taps fall on padding."""
    if len(levels.shape) != 3 or not np.array_equal(levels.order, np.arange(len(levels.order))):
        raise FileError(f"{op.where}: a convolution of flat or reordered values.")
    zeros = (Fraction(0),) * levels.shape[0]
    pad = padded(levels.pad, Padding(op.pads, zeros), op.where) or Padding((0, 0, 0, 0), zeros)
    pairs = values_by_channel(levels, f"{op.where}: a convolution")
    window = Window(levels.shape, op.weights.shape[2:], op.stride, op.dilation, pad.pads)
    outs, per_in = op.weights.shape[:2]
    channel_of = channels_of(op)
    start, step = (np.array([pair[k] for pair in pairs], dtype=object) for k in (0, 1))
    found = quantized(op.weights, op.where)
    floats = levels.raw and isinstance(found, str)
    if isinstance(found, str) and not floats:
        raise FileError(found)
    plain, worth = (
        (exact_weights(op.weights, op.where), [Fraction(1)] * outs) if isinstance(found, str) else found
    )
    error = Fraction(0)
    if floats:
        signed, unit, error = _float_kernel(plain, levels, channel_of, op.where)
    elif levels.raw and (
        len(set(zip(start.tolist(), step.tolist(), strict=True))) > 1 or levels.error is not None
    ):
        signed, unit, error = _rescaled_kernel(plain, worth, levels, channel_of, op.where)
    elif len({abs(s) for s in step.tolist()}) == 1:
        signed = plain * np.array([sign_of(s) for s in step.tolist()])[channel_of][:, :, None, None]
        unit = [u * abs(step[0]) for u in worth]
    else:
        scaled = np.array(
            [plain[o] * worth[o] * step[channel_of[o]][:, None, None] for o in range(outs)], dtype=object
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
                (start[c] * t for c, t in zip(channel_of[o], there[o].tolist(), strict=True) if t),
                Fraction(0),
            )
            constants[o, number] = bias + worth[o] * (pull + outer[o, number])
    return SumSignal(
        op.where,
        signed,
        unit,
        constants[:, kind_of.reshape(-1)].reshape(-1),
        (outs, *window.positions),
        window,
        op.groups,
        levels.top,
        _pad_level(pad, pairs, levels.top),
        levels.raw,
        real=levels.real,
        floats=floats,
        error=error,
    )


def _float_kernel(
    plain: npt.NDArray[Any], levels: LevelSignal, channel_of: npt.NDArray[np.intp], where: str
) -> tuple[Ints, list[Fraction], Fraction]:
    """A kernel of floats over raw levels; as `_rescaled_kernel`."""
    per, top = len(levels.step) // levels.shape[0], None if levels.real else levels.top
    scaled = plain * levels.step[::per][channel_of][:, :, None, None]
    rows = [wide_row(row.reshape(-1).tolist(), top, where) for row in scaled]
    known = Fraction(0)
    if levels.error is not None:
        off = levels.error[::per][channel_of]
        known = max(
            (np.abs(row).reshape(len(e), -1).sum(axis=1) @ e for row, e in zip(plain, off, strict=True))
        )
    whole = np.array([row.whole for row in rows], np.int64).reshape(plain.shape)
    return whole, [row.unit for row in rows], max(row.error for row in rows) + known


def _rescaled_kernel(
    plain: Ints, worth: Sequence[Fraction], levels: LevelSignal, channel_of: npt.NDArray[np.intp], where: str
) -> tuple[Ints, list[Fraction], Fraction]:
    """A kernel over raw levels that are rescaled channel by channel: whole weights, their units, and how far
    a sum can be off.
    """
    per = len(levels.step) // levels.shape[0]
    sizes = np.abs(plain).reshape(*plain.shape[:2], -1).sum(axis=2)
    most = np.abs(plain).max(initial=0) if levels.real else sizes.sum(axis=1).max(initial=0) * levels.top
    factors = in_common_units(levels.step[::per].tolist(), int(most), where)
    whole = np.array(factors.whole, np.int64)[channel_of]
    signed, shrunk = _reduced(plain * whole[:, :, None, None])
    off = np.array([e * levels.top for e in factors.errors], dtype=object)
    if levels.error is not None:
        off = off + levels.error[::per]
    errors = [
        u * sum((int(n) * off[c] for c, n in zip(row, many, strict=True)), Fraction(0))
        for u, row, many in zip(worth, channel_of.tolist(), sizes.tolist(), strict=True)
    ]
    units = [u * factors.unit * k for u, k in zip(worth, shrunk, strict=True)]
    return signed, units, max(errors, default=Fraction(0))


def _pad_level(pad: Padding, pairs: Sequence[tuple[Fraction, Fraction]], top: int) -> int | None:
    """The level that stands for the padding in every channel; None where there is no such level."""
    channels = [(fill - start, step) for fill, (start, step) in zip(pad.fill, pairs, strict=True)]
    if any(
        beyond and not step for beyond, step in channels
    ):  # all levels stand for one number, and not for it
        return None
    found = {beyond / step for beyond, step in channels if step}
    if not found:
        return 0
    level = min(found)
    return int(level) if len(found) == 1 and level.denominator == 1 and 0 <= level <= top else None


def averaged_levels(levels: LevelSignal, op: AveragePool) -> SumSignal:
    """Average pooling of levels: a depthwise convolution with equal weights, unrolled where windows differ in
    how many values they count.
    """
    if len(levels.shape) != 3:
        raise FileError(f"{op.where}: average pooling of flat values.")
    channels, height, width = levels.shape
    top, left, bottom, right = levels.pad.pads if levels.pad is not None else (0, 0, 0, 0)
    window, counts = averaged_window((channels, height + top + bottom, width + left + right), op)
    regular = len(set(counts)) == 1
    ones = np.full((channels, 1, *window.kernel), Fraction(1, counts[0] if regular else 1), dtype=object)
    sums = convolution_of_levels(
        levels, Convolution(op.where, ones, None, window.stride, (1, 1), window.pads, channels)
    )
    if not regular:
        dense = unrolled(sums)
        divisors = counts * channels
        unit = [u / n for u, n in zip(dense.unit, divisors, strict=True)]
        offset = np.array([o / n for o, n in zip(dense.offset, divisors, strict=True)], dtype=object)
        sums = replace(dense, unit=unit, offset=offset)
    return replace(sums, mean=True)
