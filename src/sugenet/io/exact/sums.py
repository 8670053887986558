"""Sums that wait for their sign: averaged, unrolled, and the different neurons that a convolution
has at its borders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import RealLayer, Window
from sugenet.bnn.arrays import Ints
from sugenet.bnn.layers import WIDEST
from sugenet.errors import FileError
from sugenet.io.exact.factors import wide_row
from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Clip, LinearOp
from sugenet.io.exact.signals import SumSignal, flat_order
from sugenet.io.exact.steps import Pipeline, Step, pipelines
from sugenet.io.exact.units import bias_of, exact_weights, in_units

__all__ = [
    "averaged_sums",
    "averaged_window",
    "cases_of",
    "flattened_step",
    "gap_to_zero",
    "linear_of_means",
    "numbered",
    "plain_offset",
    "stepped",
    "unrolled",
]

_UNROLL = 1 << 26


def averaged_sums(sums: SumSignal, op: AveragePool) -> SumSignal:
    """Averages of sums are sums of more weights, as long as nothing but affine steps stands between."""
    if (
        sums.window is None
        or sums.pool is not None
        or len(sums.shape) != 3
        or any(isinstance(step, Clip) for step in sums.steps)
    ):
        raise FileError(f"{op.where}: average pooling of values that are flat, pooled or clipped already.")
    dense = unrolled(sums)
    channels = sums.shape[0]
    window, counts = averaged_window(sums.shape, op)
    # a step with a shift would move the padding too
    if sums.steps and counts != (window.taps >= 0).sum(axis=1).tolist():
        raise FileError(
            f"{op.where}: an average that counts padding, of values that are rescaled. "
            f"Rescale them behind the pooling."
        )
    per = prod(sums.shape[1:])
    rows, offsets, units, rounded = [], [], [], Fraction(0)
    for c in range(channels):
        for pixels, count in zip(window.taps, counts, strict=True):
            chosen = [c * per + int(p) for p in pixels if p >= 0]
            row, unit, error = _total(dense.weights[chosen], dense.unit[c * per] / count, sums)
            rows.append(row)
            units.append(unit)
            rounded = max(rounded, error)
            offsets.append(sum((dense.offset[j] for j in chosen), Fraction(0)) / count)
    steps = tuple(_repeated(step, len(window.taps)) for step in sums.steps)
    return SumSignal(
        sums.where,
        np.array(rows),
        units,
        np.array(offsets, dtype=object),
        (channels, *window.positions),
        top=sums.top,
        raw=sums.raw,
        steps=steps,
        real=sums.real,
        floats=sums.floats,
        error=sums.error + rounded,  # an average of sums is off by no more than the sums
    )


def _total(rows: Ints, unit: Fraction, sums: SumSignal) -> tuple[Ints, Fraction, Fraction]:
    """The sum of rows of weights, its unit, and how far it is off: long weights of real numbers are
    rounded.
    """
    short = int(np.abs(rows).max(initial=0)) * len(rows) < WIDEST
    whole = (rows if short else rows.astype(object)).sum(axis=0)
    if short or not sums.real:
        return np.asarray(whole, np.int64), unit, Fraction(0)
    places = np.flatnonzero(whole)
    found, near = (
        wide_row([w * unit for w in whole[places].tolist()], None, sums.where),
        np.zeros_like(rows[0]),
    )
    near[places] = found.whole
    return near, found.unit, found.error


def averaged_window(shape: tuple[int, ...], op: AveragePool) -> tuple[Window, list[int]]:
    """Where average pooling looks, and how many values it counts at each position."""
    window = Window(
        shape, op.kernel or shape[1:], op.stride if op.kernel else 1, 1, op.pads if op.kernel else 0
    )
    counts = (window.taps >= 0).sum(axis=1)
    if counts.min() == 0:
        raise FileError(
            f"{op.where}: the window at position {int(counts.argmin())} lies in the padding alone."
        )
    if op.count_pads:
        (top, left, bottom, right), (below, aside) = window.pads, op.beyond
        full = shape[0], shape[1] + top + bottom - below, shape[2] + left + right - aside
        counts = (Window(full, window.kernel, window.stride, 1, (0, 0, below, aside)).taps >= 0).sum(axis=1)
    return window, counts.tolist()


def unrolled(sums: SumSignal) -> SumSignal:
    """A convolution as a dense layer, one neuron a position."""
    if sums.window is None:
        return sums
    per = len(sums.window.taps)
    _small(len(sums.weights) * per * sums.window.inputs, sums.where)
    layer = RealLayer(sums.weights, [0] * (len(sums.weights) * per), sums.window, sums.groups)
    rows = np.zeros((layer.outputs, layer.inputs), np.int64)
    for row, (places, weights) in zip(rows, layer.reads(), strict=True):
        row[places] = weights
    return replace(
        sums,
        weights=rows,
        unit=[u for u in sums.unit for _ in range(per)],
        window=None,
        steps=tuple(_repeated(step, per) for step in sums.steps),
    )


def _spread(sums: SumSignal) -> SumSignal:
    """Rows of its own for each place behind the pool, one for each value of its window: then a step can be
    another one at each place.
    """
    assert sums.pool is not None
    taps = sums.pool.taps
    _small(
        sums.pool.shape[0]
        * taps.size
        * (sums.window.inputs if sums.window is not None else sums.weights.shape[1]),
        sums.where,
    )
    dense = unrolled(sums)
    # a value twice is no other largest value
    pixels = np.where(taps >= 0, taps, taps.max(axis=1, keepdims=True))
    channels, per = sums.pool.shape[0], prod(sums.pool.shape[1:])
    chosen = (np.arange(channels)[:, None, None] * per + pixels).reshape(-1)
    return replace(
        dense,
        weights=dense.weights[chosen],
        unit=[dense.unit[j] for j in chosen.tolist()],
        offset=dense.offset[chosen],
        steps=tuple(_changed(step, lambda row: row[chosen]) for step in dense.steps),
        pool=Window((channels * len(taps), 1, taps.shape[1]), (1, taps.shape[1])),
        spread=True,
    )


def _small(size: int, where: str) -> None:
    if size > _UNROLL:
        raise FileError(f"{where}: the convolution would have to be unrolled and is too large for that.")


_NUMBERS: dict[type, tuple[str, ...]] = {
    Affine: ("scale", "shift"),
    BatchNorm: ("gamma", "beta", "mean", "var"),
}
"""What of a step may be given one a channel."""


def _numbers_of(step: Step) -> dict[str, npt.NDArray[Any]]:
    return {name: np.asarray(getattr(step, name)).reshape(-1) for name in _NUMBERS.get(type(step), ())}


def _changed(step: Step, change: Callable[[Any], Any]) -> Step:
    """A step with its rows of numbers changed; one number for all stays as it is."""
    rows: dict[str, Any] = {
        name: row if row.size == 1 else change(row) for name, row in _numbers_of(step).items()
    }
    return replace(step, **rows)


def _repeated(step: Step, times: int) -> Step:
    """A step with each of its numbers repeated."""
    return _changed(step, lambda row: np.repeat(row, times))


def flattened_step(step: Step, shape: tuple[int, ...], order: str) -> Step:
    """A step with one number a channel of maps, as one a feature of the flattened maps."""
    places = flat_order(np.arange(prod(shape)), shape, order)
    return _changed(step, lambda row: np.repeat(row, prod(shape[1:]))[places])


def stepped(sums: SumSignal, step: Step) -> SumSignal:
    """One step more: with one number for all, one a channel of maps, or one a feature of flat values.

    Features that were maps get rows of their own where the numbers of a channel differ from place to place.
    """
    count = sums.shape[0]
    wrong = next((row.size for row in _numbers_of(step).values() if row.size not in (1, count)), None)
    if wrong is not None:
        raise FileError(
            f"{step.where}: {wrong} numbers for {count} {'channels' if len(sums.shape) == 3 else 'features'}."
        )
    if len(sums.shape) == 1 and sums.maps is not None:
        channels, per = sums.maps[0], prod(sums.maps[1:])
        back = np.argsort(sums.order(count))
        step = _changed(step, lambda row: row[back])
        rows = [row.reshape(channels, per) for row in _numbers_of(step).values() if row.size == count > 1]
        if all((row == row[:, :1]).all() for row in rows):
            step, count = _changed(step, lambda row: row.reshape(channels, per)[:, 0]), channels
        elif sums.pool is None:
            sums = unrolled(sums)
        elif not sums.spread:
            sums = _spread(sums)
    return replace(sums, steps=(*sums.steps, _repeated(step, len(sums.weights) // count)))


def numbered(sums: SumSignal, where: str) -> tuple[SumSignal, npt.NDArray[np.intp]]:
    """The sums with rows enough for a step that differs from channel to channel, or from feature to feature,
    and which of these each row of weights belongs to.
    """
    marked = stepped(sums, Affine(where, np.arange(sums.shape[0]), np.zeros(1)))
    last = marked.steps[-1]
    assert isinstance(last, Affine)
    numbers = np.broadcast_to(np.asarray(last.scale), len(marked.weights))
    return replace(marked, steps=marked.steps[:-1]), numbers


def plain_offset(sums: SumSignal) -> list[Fraction]:
    """The constant of each row of weights, where padding is a level like any other."""
    rows: list[Fraction] = sums.offset.reshape(len(sums.weights), -1)[:, 0].tolist()
    if sums.window is None or not (sums.window.taps[0] < 0).any():
        return rows
    assert sums.pad is not None
    kernel = sums.weights.reshape(len(sums.weights), -1, sums.window.taps.shape[1])
    outside = kernel[:, :, sums.window.taps[0] < 0].sum(axis=(1, 2)).tolist()
    return [o - u * sums.pad * w for o, u, w in zip(rows, sums.unit, outside, strict=True)]


def linear_of_means(sums: SumSignal, op: LinearOp) -> SumSignal:
    """A linear layer on averages of levels is a linear layer on the levels themselves."""
    places = prod(sums.shape)
    if len(sums.shape) != 1 or op.weights.shape[1] != places:
        raise FileError(
            f"{op.where}: {op.weights.shape[1]} weights a neuron for averages of shape {sums.shape}. Is a "
            f"flatten missing?"
        )
    if sums.pool is not None:
        raise FileError(f"{op.where}: a linear layer on the largest of averages.")
    lines = [line.line() for line in pipelines(sums.steps, len(sums.weights))]
    if None in lines:
        raise FileError(
            f"{op.where}: a linear layer on averages that are clipped, or rescaled with a square root."
        )
    outs, inputs = len(op.weights), sums.window.inputs if sums.window is not None else sums.weights.shape[1]
    _small(outs * inputs, op.where)
    weights = exact_weights(op.weights, op.where)[:, np.argsort(sums.order(places))]
    wide = np.full((outs, inputs), Fraction(0), dtype=object)
    offset = bias_of(op)
    per = places // len(sums.weights)  # places that share a row of weights
    for place in range(places):
        row = place // per
        line = lines[row]
        assert line is not None
        pull = weights[:, place] * (line[0] * sums.unit[row])
        for pixel, weight in _taps(sums, row, place % per):
            wide[:, pixel] += pull * weight
        offset = [
            o + w * (line[0] * sums.offset[place] + line[1])
            for o, w in zip(offset, weights[:, place], strict=True)
        ]
    signed, unit = in_units(wide, op.where)
    return SumSignal(op.where, signed, unit, np.array(offset, dtype=object), (outs,), top=sums.top)


def _taps(sums: SumSignal, row: int, position: int) -> list[tuple[int, int]]:
    """Inputs that a sum reads, with their weights."""
    if sums.window is None:
        return [(int(j), int(sums.weights[row, j])) for j in np.flatnonzero(sums.weights[row])]
    first = row * prod(sums.window.shape[1:])  # averages read their own channel
    kernel = sums.weights[row].reshape(-1)
    return [
        (first + int(pixel), int(weight))
        for pixel, weight in zip(sums.window.taps[position], kernel, strict=True)
        if pixel >= 0
    ]


def cases_of(sums: SumSignal) -> tuple[list[tuple[Ints, Ints, Ints, int]], npt.NDArray[np.intp]]:
    """The different neurons of each channel: weights inside the input, largest match count, what to subtract
    from it for the sum, and one position of each.
    """
    channels = len(sums.weights)
    rows = sums.weights.reshape(channels, -1)

    def case(inside: Ints, position: int) -> tuple[Ints, Ints, Ints, int]:
        sizes = np.abs(inside).sum(axis=1) * sums.top
        return inside, sizes, np.asarray(-np.minimum(inside, 0).sum(axis=1) * sums.top), position

    if sums.window is None:
        return [case(rows, 0)], np.zeros(1, np.intp)
    taps = sums.window.taps
    offset = sums.offset.reshape(channels, len(taps))
    keys = [((taps[k] >= 0).tobytes(), tuple(offset[:, k])) for k in range(len(taps))]
    first: dict[tuple[Any, ...], int] = {}
    for position, key in enumerate(keys):
        first.setdefault(key, position)
    number = {key: k for k, key in enumerate(first)}
    times = rows.shape[1] // taps.shape[1]
    cases = [case(rows * np.tile(taps[k] >= 0, times), k) for k in first.values()]
    return cases, np.array([number[key] for key in keys], np.intp)


def gap_to_zero(line: Pipeline, start: Fraction, stride: Fraction, tau: int, size: int, falls: bool) -> float:
    """How far the nearest sum is from where the sign turns, in units of the file's sum;
    infinite for a constant neuron.
    """
    near = [count for count in (tau - 1, tau) if 0 <= count <= size]
    slope = abs(line.slope())
    if len(near) < 2 or not slope:
        return float("inf")
    return (
        min(abs(float(line(start + stride * (size - count if falls else count)))) for count in near) / slope
    )
