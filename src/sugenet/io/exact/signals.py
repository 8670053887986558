"""Signals in a chain while it is made exact, and the effect of operations on them. A signal is raw inputs,
levels with their values (bits are levels 0 and 1), or sums that wait for their sign or quantizer.

Elementwise operations change the values of levels, and linear ones make sums of them. Sums are averaged,
unrolled, and written as the different neurons that a convolution has at its borders.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import isfinite, prod
from typing import Any, Literal, NamedTuple

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Clip,
    Convolution,
    Leaky,
    LinearOp,
    Quantize,
    Sign,
)
from sugenet.io.exact.steps import Step, pipelines, sign_of
from sugenet.io.exact.units import (
    bias_of,
    exact_weights,
    in_common_units,
    in_shared_units,
    in_units,
    quantized,
    wide_row,
)
from sugenet.io.plain.refusals import refuse_if
from sugenet.nn import RealLayer, Window
from sugenet.nn.arrays import Array, Bits, Indices, Ints
from sugenet.nn.layers import WIDEST

__all__ = [
    "LevelSignal",
    "Padding",
    "RawSignal",
    "SumSignal",
    "averaged_levels",
    "averaged_sums",
    "averaged_window",
    "cases_of",
    "changed",
    "channels_of",
    "convolution_of_levels",
    "ends_of",
    "flat_order",
    "flattened_step",
    "identity_of_levels",
    "linear_of_levels",
    "linear_of_means",
    "mapped",
    "numbered",
    "pad_pulls",
    "padded",
    "padding_past",
    "plain_offset",
    "stepped",
    "thresholds_at",
    "unrolled",
    "values_by_channel",
]


@dataclass(frozen=True)
class Padding:
    """Constant pixels around maps: how many at the top, left, bottom and right, and their value in each
    channel.
    """

    pads: tuple[int, int, int, int]
    fill: tuple[Fraction, ...]


def padded(before: Padding | None, after: Padding, where: str) -> Padding | None:
    """Merge padding around padding into one, if the values are the same.

    Cropping can only remove pixels that were added before.
    """
    if before is None or not any(after.pads):
        before = before or Padding((0, 0, 0, 0), after.fill)
    elif any(side > 0 for side in after.pads) and before.fill != after.fill:
        first, second = (", ".join(f"{float(v):g}" for v in sorted(set(pad.fill))) for pad in (before, after))
        raise FileError(
            f"{where}: padded with {first} and then with {second}. Only one kind of padding can be: "
            f"use the same value."
        )
    sides = [a + b for a, b in zip(before.pads, after.pads, strict=True)]
    refuse_if(min(sides) < 0, where, f"crops the maps (pads {after.pads}). Pads of 0 or more can be.")
    top, left, bottom, right = sides
    return Padding((top, left, bottom, right), before.fill) if any(sides) else None


@dataclass(frozen=True, eq=False)
class RawSignal:
    """Raw inputs after elementwise steps."""

    shape: tuple[int, ...]
    order: Indices
    """The raw feature at each flat position."""
    steps: tuple[Step, ...] = ()
    pad: Padding | None = None


@dataclass(frozen=True, eq=False)
class LevelSignal:
    """Levels 0..top with their values; `order` is the output of the previous layer at each flat position."""

    shape: tuple[int, ...]
    order: Indices
    start: Array
    step: Array
    """Level a has the value ``start + step * a``, exactly, by flat position."""
    top: int = 1
    """The largest level; 1 for bits."""
    pad: Padding | None = None
    raw: bool = False
    """Whether these are raw integers among real numbers."""
    real: bool = False
    """Whether these are raw real numbers: x has the value ``start + step * x``, and `top` is not used."""
    error: Array | None = None
    """Error bound of the value of a level, by flat position; None: exact."""

    @property
    def end(self) -> Array:
        """The value of the largest level. For a bit, its value if it is on."""
        return np.asarray(self.start + self.step * self.top)


@dataclass(frozen=True, eq=False)
class SumSignal:
    """Sums of weighted levels 0..top, with the steps that follow."""

    where: str
    weights: Ints
    """Integers of shape (outputs, inputs), or a kernel if there is a window."""
    unit: list[Fraction]
    """The value of weight 1, for each row."""
    offset: Array
    """Exact constant of each neuron."""
    shape: tuple[int, ...]
    """Shape of the output, after pooling."""
    window: Window | None = None
    groups: int = 1
    top: int = 1
    """Largest level of the inputs."""
    pad: int | None = None
    """The level of the padding, if it is the same in every channel."""
    raw: bool = False
    """Whether the inputs are raw integers."""
    steps: tuple[Step, ...] = ()
    """Steps, each with one number for all, or one per row of `weights`."""
    pool: Window | None = None
    pool_at: int = 0
    """Number of steps before the pool."""
    flat: Literal["CHW", "HWC"] | None = None
    maps: tuple[int, ...] | None = None
    """Shape before the flatten."""
    mean: bool = False
    """Whether these are averages of levels, or maps of a dense layer, which a linear layer can follow."""
    spread: bool = False
    """Whether each position after the pool has its own rows for all values of its window."""
    real: bool = False
    """Whether the inputs are raw real numbers."""
    floats: bool = False
    """Whether the weights are floats that are not small multiples of one number."""
    error: Fraction = Fraction(0)
    """Error bound of a sum, if the factors of raw inputs had to be rounded."""

    def order(self, count: int) -> Indices:
        """Return which of `count` outputs is at each flat position."""
        indices = np.arange(count)
        return (
            indices if self.maps is None or self.flat is None else flat_order(indices, self.maps, self.flat)
        )


def flat_order(indices: Indices, shape: tuple[int, ...], order: str) -> Indices:
    """Return the flat positions of maps in CHW or HWC order."""
    if len(shape) != 3 or order == "CHW":
        return indices
    return indices.reshape(shape).transpose(1, 2, 0).reshape(-1)


_UNROLL = 1 << 26


def averaged_sums(sums: SumSignal, op: AveragePool) -> SumSignal:
    """Return averages of sums as sums of more weights, if only affine steps are between."""
    refuse_if(
        sums.window is None
        or sums.pool is not None
        or len(sums.shape) != 3
        or any(isinstance(step, Clip | Leaky) for step in sums.steps),
        op.where,
        "average pooling of values that are flat, pooled or clipped already.",
    )
    dense = unrolled(sums)
    channels = sums.shape[0]
    window, counts = averaged_window(sums.shape, op)
    # a step with a shift would also shift the padding
    refuse_if(
        sums.steps and counts != (window.taps >= 0).sum(axis=1).tolist(),
        op.where,
        "an average that counts padding, of values that are rescaled. Rescale them after the pooling.",
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
        error=sums.error + rounded,  # the error of an average of sums is at most that of the sums
    )


def _total(rows: Ints, unit: Fraction, sums: SumSignal) -> tuple[Ints, Fraction, Fraction]:
    """Return the sum of rows of weights, its unit, and its error bound. Long weights of real numbers are
    rounded.
    """
    short = int(np.abs(rows).max(initial=0)) * len(rows) < WIDEST
    total = (rows if short else rows.astype(object)).sum(axis=0)
    if short or not sums.real:
        return np.asarray(total, np.int64), unit, Fraction(0)
    indices = np.flatnonzero(total)
    row, near = (
        wide_row([w * unit for w in total[indices].tolist()], None, sums.where),
        np.zeros_like(rows[0]),
    )
    near[indices] = row.whole
    return near, row.unit, row.error


def averaged_window(shape: tuple[int, ...], op: AveragePool) -> tuple[Window, list[int]]:
    """Return the window of average pooling, and how many values it counts at each position."""
    window = Window(
        shape, op.kernel or shape[1:], op.stride if op.kernel else 1, 1, op.pads if op.kernel else 0
    )
    counts = (window.taps >= 0).sum(axis=1)
    refuse_if(
        counts.min() == 0,
        op.where,
        f"the window at position {int(counts.argmin())} lies in the padding alone.",
    )
    if op.count_pads:
        (top, left, bottom, right), (below, aside) = window.pads, op.beyond
        full = shape[0], shape[1] + top + bottom - below, shape[2] + left + right - aside
        counts = (Window(full, window.kernel, window.stride, 1, (0, 0, below, aside)).taps >= 0).sum(axis=1)
    return window, counts.tolist()


def unrolled(sums: SumSignal) -> SumSignal:
    """Return a convolution as a dense layer, with one neuron per position."""
    if sums.window is None:
        return sums
    per = len(sums.window.taps)
    _small(len(sums.weights) * per * sums.window.inputs, sums.where)
    layer = RealLayer(sums.weights, [0] * (len(sums.weights) * per), sums.window, sums.groups)
    rows = np.zeros((layer.outputs, layer.inputs), np.int64)
    for row, (indices, weights) in zip(rows, layer.reads(), strict=True):
        row[indices] = weights
    return replace(
        sums,
        weights=rows,
        unit=[u for u in sums.unit for _ in range(per)],
        window=None,
        steps=tuple(_repeated(step, per) for step in sums.steps),
    )


def _spread(sums: SumSignal) -> SumSignal:
    """Return sums with their own rows for each position after the pool, one per value of its window.

    Then a step can differ between positions.
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
    # a repeated value does not change the maximum
    pixels = np.where(taps >= 0, taps, taps.max(axis=1, keepdims=True))
    channels, per = sums.pool.shape[0], prod(sums.pool.shape[1:])
    chosen = (np.arange(channels)[:, None, None] * per + pixels).reshape(-1)
    return replace(
        dense,
        weights=dense.weights[chosen],
        unit=[dense.unit[j] for j in chosen.tolist()],
        offset=dense.offset[chosen],
        steps=tuple(changed(step, lambda row: row[chosen]) for step in dense.steps),
        pool=Window((channels * len(taps), 1, taps.shape[1]), (1, taps.shape[1])),
        spread=True,
    )


def _small(size: int, where: str) -> None:
    refuse_if(size > _UNROLL, where, "the convolution would have to be unrolled and is too large for that.")


_NUMBERS: dict[type, tuple[str, ...]] = {
    Affine: ("scale", "shift"),
    BatchNorm: ("gamma", "beta", "mean", "var"),
    Leaky: ("slope",),
}
"""Attributes of a step that may have one number per channel."""


def _numbers_of(step: Step) -> dict[str, Array]:
    return {name: np.asarray(getattr(step, name)).reshape(-1) for name in _NUMBERS.get(type(step), ())}


def changed(step: Step, change: Callable[[Any], Any]) -> Step:
    """Return a step with its rows of numbers changed. A single number stays as it is."""
    rows: dict[str, Any] = {
        name: row if row.size == 1 else change(row) for name, row in _numbers_of(step).items()
    }
    return replace(step, **rows)


def _repeated(step: Step, times: int) -> Step:
    """Return a step with each of its numbers repeated."""
    return changed(step, lambda row: np.repeat(row, times))


def flattened_step(step: Step, shape: tuple[int, ...], order: str) -> Step:
    """Return a step per channel of maps as a step per feature of the flattened maps."""
    indices = flat_order(np.arange(prod(shape)), shape, order)
    return changed(step, lambda row: np.repeat(row, prod(shape[1:]))[indices])


def stepped(sums: SumSignal, step: Step) -> SumSignal:
    """Add a step, with one number for all, one per channel of maps, or one per feature of flat values.

    Features that were maps get their own rows if the numbers of a channel differ between positions.
    """
    count = sums.shape[0]
    wrong = next((row.size for row in _numbers_of(step).values() if row.size not in (1, count)), None)
    refuse_if(
        wrong is not None,
        step.where,
        f"{wrong} numbers for {count} {'channels' if len(sums.shape) == 3 else 'features'}.",
    )
    if len(sums.shape) == 1 and sums.maps is not None:
        channels, per = sums.maps[0], prod(sums.maps[1:])
        back = np.argsort(sums.order(count))
        step = changed(step, lambda row: row[back])
        rows = [row.reshape(channels, per) for row in _numbers_of(step).values() if row.size == count > 1]
        if all((row == row[:, :1]).all() for row in rows):
            step, count = changed(step, lambda row: row.reshape(channels, per)[:, 0]), channels
        elif sums.pool is None:
            sums = unrolled(sums)
        elif not sums.spread:
            sums = _spread(sums)
    return replace(sums, steps=(*sums.steps, _repeated(step, len(sums.weights) // count)))


def numbered(sums: SumSignal, where: str) -> tuple[SumSignal, Indices]:
    """Return the sums with enough rows for a step that differs between channels or features.

    Also return the channel or feature of each row of weights.
    """
    marked = stepped(sums, Affine(where, np.arange(sums.shape[0]), np.zeros(1)))
    last = marked.steps[-1]
    assert isinstance(last, Affine)
    numbers = np.broadcast_to(np.asarray(last.scale), len(marked.weights))
    return replace(marked, steps=marked.steps[:-1]), numbers


def plain_offset(sums: SumSignal) -> list[Fraction]:
    """Return the constant of each row of weights, if padding is an ordinary level."""
    rows: list[Fraction] = sums.offset.reshape(len(sums.weights), -1)[:, 0].tolist()
    if sums.window is None or not (sums.window.taps[0] < 0).any():
        return rows
    assert sums.pad is not None
    kernel = sums.weights.reshape(len(sums.weights), -1, sums.window.taps.shape[1])
    outside = kernel[:, :, sums.window.taps[0] < 0].sum(axis=(1, 2)).tolist()
    return [o - u * sums.pad * w for o, u, w in zip(rows, sums.unit, outside, strict=True)]


def linear_of_means(sums: SumSignal, op: LinearOp) -> SumSignal:
    """Return a linear layer on averages of levels as a linear layer on the levels."""
    indices = prod(sums.shape)
    refuse_if(
        len(sums.shape) != 1 or op.weights.shape[1] != indices,
        op.where,
        f"{op.weights.shape[1]} weights a neuron for averages of shape {sums.shape}. Is a flatten missing?",
    )
    refuse_if(sums.pool is not None, op.where, "a linear layer on the largest of averages.")
    lines = [line.line() for line in pipelines(sums.steps, len(sums.weights))]
    refuse_if(
        None in lines,
        op.where,
        "a linear layer on averages that are clipped, or rescaled with a square root.",
    )
    outs, inputs = len(op.weights), sums.window.inputs if sums.window is not None else sums.weights.shape[1]
    _small(outs * inputs, op.where)
    weights = exact_weights(op.weights, op.where)[:, np.argsort(sums.order(indices))]
    wide = np.full((outs, inputs), Fraction(0), dtype=object)
    offset = bias_of(op)
    per = indices // len(sums.weights)  # positions that share a row of weights
    for index in range(indices):
        row = index // per
        line = lines[row]
        assert line is not None
        pull = weights[:, index] * (line[0] * sums.unit[row])
        for pixel, weight in _taps(sums, row, index % per):
            wide[:, pixel] += pull * weight
        offset = [
            o + w * (line[0] * sums.offset[index] + line[1])
            for o, w in zip(offset, weights[:, index], strict=True)
        ]
    signed, unit = in_units(wide, op.where)
    return SumSignal(op.where, signed, unit, np.array(offset, dtype=object), (outs,), top=sums.top)


def _taps(sums: SumSignal, row: int, position: int) -> list[tuple[int, int]]:
    """Return the inputs that a sum reads, with their weights."""
    if sums.window is None:
        return [(int(j), int(sums.weights[row, j])) for j in np.flatnonzero(sums.weights[row])]
    first = row * prod(sums.window.shape[1:])  # averages read their own channel
    kernel = sums.weights[row].reshape(-1)
    return [
        (first + int(pixel), int(weight))
        for pixel, weight in zip(sums.window.taps[position], kernel, strict=True)
        if pixel >= 0
    ]


def ends_of(weights: Ints, top: int) -> Ints:
    """Return the smallest and the largest sum of each row of weights over levels 0..top."""
    rows = weights.reshape(len(weights), -1)
    return np.stack([function(rows, 0).sum(axis=1) * top for function in (np.minimum, np.maximum)], axis=1)


def cases_of(sums: SumSignal) -> tuple[list[tuple[Ints, Array]], Indices]:
    """Return the different neurons of each channel, by which taps lie inside the input.

    These are the smallest and the largest sum and the constant of each channel, and the case of each
    position.
    """
    channels = len(sums.weights)
    if sums.window is None:
        return [(ends_of(sums.weights, sums.top), sums.offset)], np.zeros(1, np.intp)
    taps, rows = sums.window.taps >= 0, sums.weights.reshape(channels, -1)
    offset = sums.offset.reshape(channels, len(taps))
    keys = [(taps[k].tobytes(), tuple(offset[:, k])) for k in range(len(taps))]
    first: dict[tuple[Any, ...], int] = {}
    for position, key in enumerate(keys):
        first.setdefault(key, position)
    number = {key: k for k, key in enumerate(first)}
    times = rows.shape[1] // taps.shape[1]
    cases = [(ends_of(rows * np.tile(taps[k], times), sums.top), offset[:, k]) for k in first.values()]
    return cases, np.array([number[key] for key in keys], np.intp)


_WIDEST = 1 << 12
"""Largest number of flat values that a layer may carry one by one."""


def mapped(levels: LevelSignal, op: Affine | Clip | Leaky | Sign | Quantize) -> LevelSignal:
    """Apply an elementwise operation to levels: it changes their values, and the value of the padding.

    The distance between successive levels must stay constant. For bits it always does.
    """
    channels = levels.shape[0] if len(levels.shape) == 3 else len(levels.order)
    per = len(levels.order) // channels
    functions = _elementwise(op, channels)
    known: dict[tuple[int, Fraction, Fraction], tuple[Fraction, Fraction]] = {}
    pairs = []
    for index, (start, step) in enumerate(zip(levels.start.tolist(), levels.step.tolist(), strict=True)):
        key = (index // per, start, step)
        if key not in known:
            first, last = (functions[index // per](value) for value in (start, start + step * levels.top))
            known[key] = first, (last - first) / levels.top
            refuse_if(
                not isinstance(op, Affine)
                and any(
                    functions[index // per](start + step * a) != first + known[key][1] * a
                    for a in range(1, levels.top)
                ),
                op.where,
                f"{type(op).__name__.lower()} of levels that are not the same distance apart "
                "after it. Quantize after it.",
            )
        pairs.append(known[key])
    start, step = (np.array([pair[k] for pair in pairs], dtype=object) for k in (0, 1))
    return replace(levels, start=start, step=step, pad=padding_past(levels.pad, op), raw=False)


def _elementwise(op: Affine | Clip | Leaky | Sign | Quantize, channels: int) -> list[Any]:
    """Return the operation as an exact function of one number, for each channel."""
    if isinstance(op, Sign):
        return [lambda value: _side(op, value)] * channels
    if isinstance(op, Quantize):
        rows = thresholds_at(op, channels)
        return [lambda value, row=row: _count(value, row, op.strict.tolist()) for row in rows]
    return [lambda value, line=line: line(value).rational for line in pipelines([op], channels)]


def thresholds_at(op: Quantize, channels: int) -> list[tuple[Fraction, ...]]:
    """Return the exact thresholds of each channel. Falling thresholds are refused."""
    table = np.asarray(op.thresholds)
    refuse_if(
        table.ndim != 2 or len(table) not in (1, channels) or not table.shape[1],
        op.where,
        f"thresholds of shape {table.shape} for {channels} channels.",
    )
    rows = []
    for k, row in enumerate(table.tolist()):
        refuse_if(
            any(isinstance(value, float) and not isfinite(value) for value in row),
            op.where,
            f"a threshold of channel {k} is not finite.",
        )
        exact = tuple(Fraction(value) for value in row)
        refuse_if(
            any(
                a > b or (a == b and first and not second)
                for (a, first), (b, second) in pairwise(zip(exact, op.strict.tolist(), strict=True))
            ),
            op.where,
            f"the thresholds of channel {k} do not rise.",
        )
        rows.append(exact)
    return rows * channels if len(rows) == 1 else rows


def _count(value: Fraction, row: Sequence[Fraction], strict: Sequence[bool]) -> Fraction:
    return Fraction(
        sum(value > at or (value == at and not above) for at, above in zip(row, strict, strict=True))
    )


def _side(op: Sign, value: Fraction) -> Fraction:
    sign = sign_of(value) or op.zero
    refuse_if(sign == 0, op.where, "the sign of a bit that is 0, where sign(0) = 0.")
    return Fraction(op.high if sign > 0 else op.low)


def padding_past(
    pad: Padding | None, op: Affine | BatchNorm | Clip | Leaky | Sign | Quantize
) -> Padding | None:
    """Return padding after an elementwise operation, which also changes its values."""
    if pad is None:
        return None
    if isinstance(op, BatchNorm):
        raise FileError(
            f"{op.where}: batch norm of padded values gives a padding with a square root. Pad after it."
        )
    if isinstance(op, Sign):
        at = {1: Fraction(op.high), -1: Fraction(op.low), 0: (Fraction(op.low) + Fraction(op.high)) / 2}
        fill = [at[sign_of(value) or op.zero] for value in pad.fill]
    else:
        functions = _elementwise(op, len(pad.fill))
        fill = [function(value) for function, value in zip(functions, pad.fill, strict=True)]
    return replace(pad, fill=tuple(fill))


def values_by_channel(levels: LevelSignal, what: str) -> list[tuple[Fraction, Fraction]]:
    """Return start and step of the levels of each channel. If they differ within a channel, refuse."""
    rows = [values.reshape(levels.shape[0], -1) for values in (levels.start, levels.step)]
    refuse_if(
        any((row != row[:, :1]).any() for row in rows),
        f"{what} of values that are scaled differently within a channel.",
    )
    return list(zip(*(row[:, 0].tolist() for row in rows), strict=True))


def linear_of_levels(levels: LevelSignal, op: LinearOp) -> SumSignal:
    """Return a linear layer on flat levels: a convolution of one pixel with one channel per level."""
    count = len(levels.order)
    refuse_if(
        op.maps is not None and levels.pad is not None,
        op.where,
        "reads padded maps, which only convolutions and pooling can. Leave the padding out.",
    )
    refuse_if(
        levels.pad is not None
        or (len(levels.shape) != 1 and op.maps is None)
        or op.weights.shape[1] != count,
        op.where,
        f"{op.weights.shape[1]} weights a neuron for values of shape {levels.shape}. Is a flatten missing?",
    )
    pixel = replace(levels, shape=(count, 1, 1), order=np.arange(count))
    kernel = np.asarray(op.weights)[:, :, None, None]
    sums = convolution_of_levels(pixel, Convolution(op.where, kernel, op.bias), flat=True)
    rows = np.zeros(sums.weights.shape[:2], np.int64)
    rows[:, levels.order] = sums.weights[:, :, 0, 0]
    shape = (len(rows),) if op.maps is None else op.maps
    return replace(sums, weights=rows, shape=shape, window=None, pad=None, mean=op.maps is not None)


def _reduced(rows: Ints) -> tuple[Ints, list[int]]:
    """Return rows divided by their greatest common divisors, and these divisors."""
    flat = rows.reshape(len(rows), -1)
    divisors = np.maximum(np.gcd.reduce(flat, axis=1, initial=0), 1)
    return (flat // divisors[:, None]).reshape(rows.shape), divisors.tolist()


def _upper(sizes: Ints, off: Array) -> list[Fraction]:
    """Return an upper bound of the sum of `sizes` times `off` for each row, in floats rounded up."""
    if not off.any():
        return [Fraction(0)] * len(sizes)
    largest = max(off.tolist())
    above = np.array([float(value / largest) for value in off.tolist()])
    total = (sizes @ above) * (1 + 1e-9) + 1e-12
    return [largest * Fraction(value) for value in total.tolist()]


def identity_of_levels(levels: LevelSignal, where: str) -> SumSignal:
    """Return the levels as sums of one term each, for stairs on stairs."""
    if len(levels.shape) == 3 and levels.pad is None:
        ones = np.ones((levels.shape[0], 1, 1, 1))
        return replace(
            convolution_of_levels(levels, Convolution(where, ones, groups=levels.shape[0])), raw=False
        )
    refuse_if(
        levels.pad is not None or len(levels.order) > _WIDEST,
        where,
        "a quantizer of padded or too many values. Put it before the padding.",
    )
    return replace(linear_of_levels(levels, LinearOp(where, np.eye(len(levels.order)))), raw=False)


def channels_of(op: Convolution) -> Indices:
    """Return the input channels that each output of a convolution reads, one row per output."""
    outs, per_in = op.weights.shape[:2]
    return np.asarray((np.arange(outs) // (outs // op.groups))[:, None] * per_in + np.arange(per_in))


def pad_pulls(op: Convolution, weights: Ints, kinds: Bits, fill: Sequence[Fraction]) -> Array:
    """Return the contribution of taps on padding, in units of the weights.

    There is one row per output, and one column per kind of position (True: a tap inside).
    """
    outs, per_in = weights.shape[:2]
    if not any(fill):
        return np.full((outs, len(kinds)), Fraction(0), dtype=object)
    beyond = weights.reshape(outs, per_in, -1) @ (~kinds).T.astype(weights.dtype)
    value = np.array([*fill], dtype=object)[channels_of(op)]
    return np.asarray((beyond * value[:, :, None]).sum(axis=1))


def convolution_of_levels(levels: LevelSignal, op: Convolution, *, flat: bool = False) -> SumSignal:
    """Return a convolution on maps of levels, with separate constants for positions with taps on padding.

    `flat` is for a linear layer, which reads many channels of one pixel.
    """
    refuse_if(
        len(levels.shape) != 3 or not np.array_equal(levels.order, np.arange(len(levels.order))),
        op.where,
        "a convolution of flat or reordered values.",
    )
    zeros = (Fraction(0),) * levels.shape[0]
    pad = padded(levels.pad, Padding(op.pads, zeros), op.where) or Padding((0, 0, 0, 0), zeros)
    pairs = values_by_channel(levels, f"{op.where}: a convolution")
    window = Window(levels.shape, op.weights.shape[2:], op.stride, op.dilation, pad.pads)
    made, channel_of = _level_weights(levels, op, flat), channels_of(op)
    outs, per_in = op.weights.shape[:2]
    starts, unit = in_shared_units([start for start, _ in pairs])
    kinds, kind_of = np.unique(window.taps >= 0, axis=0, return_inverse=True)
    taps = made.plain.reshape(outs, per_in, -1)
    outer = pad_pulls(op, made.plain, kinds, pad.fill)
    constants = np.empty((outs, len(kinds)), dtype=object)
    for number, kind in enumerate(kinds):
        pulls = _dot(taps[:, :, kind].sum(axis=2), np.array(starts, dtype=object)[channel_of])
        constants[:, number] = np.array(bias_of(op), dtype=object) + np.array(made.worth, dtype=object) * (
            unit * pulls + outer[:, number]
        )
    return SumSignal(
        op.where,
        made.whole,
        made.unit,
        constants[:, kind_of.reshape(-1)].reshape(-1),
        (outs, *window.positions),
        window,
        op.groups,
        levels.top,
        _pad_level(pad, pairs, levels.top),
        levels.raw,
        real=levels.real,
        floats=made.floats,
        error=made.error,
    )


class _LevelWeights(NamedTuple):
    """Weights over levels."""

    whole: Ints
    unit: list[Fraction]
    """The value of 1 in `whole`, for each row."""
    plain: Array
    """Weights over the values of the levels: integers times `worth`, or exact numbers."""
    worth: list[Fraction]
    floats: bool = False
    error: Fraction = Fraction(0)
    """Error bound of a sum."""


def _level_weights(levels: LevelSignal, op: Convolution, flat: bool) -> _LevelWeights:
    """Return weights with the steps of levels multiplied in. Those of raw levels may have to be rounded."""
    per, channel_of = len(levels.order) // levels.shape[0], channels_of(op)
    start, step = levels.start[::per], levels.step[::per]
    off = np.zeros(len(step), object) if levels.error is None else levels.error[::per]
    sizes, along = {abs(s) for s in step.tolist()}, np.s_[:, :, None, None]
    outcome = quantized(op.weights, op.where)
    if isinstance(outcome, str):
        refuse_if(not levels.raw and (len(sizes) == 1 or not flat), outcome)
        outcome = exact_weights(op.weights, op.where), [Fraction(1)] * len(op.weights)
        if levels.raw:
            return _in_floats(levels, op, outcome[0], step[channel_of], off[channel_of])
    plain, worth = outcome
    if levels.raw and (
        levels.error is not None or len(set(zip(start.tolist(), step.tolist(), strict=True))) > 1
    ):
        return _rescaled(levels, op, (plain, worth), step, off, flat)
    if len(sizes) == 1:  # integers throughout: one size, signs may differ
        signs = np.array([sign_of(s) for s in step.tolist()])[channel_of]
        return _LevelWeights(plain * signs[along], [u * abs(step[0]) for u in worth], plain, worth)
    scaled = plain * np.array(worth, dtype=object).reshape(-1, 1, 1, 1) * step[channel_of][along]
    return _LevelWeights(*in_units(scaled, op.where), plain, worth)


def _in_floats(levels: LevelSignal, op: Convolution, plain: Any, step: Any, off: Any) -> _LevelWeights:
    """Return float weights over raw levels, each row with its own unit."""
    rows = [
        wide_row(row.reshape(-1).tolist(), None if levels.real else levels.top, op.where)
        for row in plain * step[:, :, None, None]
    ]
    known = (np.abs(plain).reshape(*step.shape, -1).sum(axis=2) * off).sum(axis=1).tolist()
    error = max((row.error for row in rows), default=Fraction(0)) * levels.top + max(
        known, default=Fraction(0)
    )
    integers = np.array([row.whole for row in rows], np.int64).reshape(plain.shape)
    return _LevelWeights(
        integers, [row.unit for row in rows], plain, [Fraction(1)] * len(rows), True, Fraction(error)
    )


def _rescaled(
    levels: LevelSignal,
    op: Convolution,
    weights: tuple[Ints, list[Fraction]],
    step: Any,
    off: Any,
    flat: bool,
) -> _LevelWeights:
    """Return weights over raw levels that are rescaled channel by channel."""
    (plain, worth), channel_of = weights, channels_of(op)
    sizes = np.abs(plain).reshape(*channel_of.shape, -1).sum(axis=2)
    max_sum = np.abs(plain).max(initial=0) if levels.real else sizes.sum(axis=1).max(initial=0) * levels.top
    factors = in_common_units(step.tolist(), int(max_sum), op.where)
    integers = np.array(factors.whole, np.int64)[channel_of]
    signed, shrunk = _reduced(plain * integers[:, :, None, None])
    off = off + np.array([e * levels.top for e in factors.errors], dtype=object)
    totals = _upper(sizes, off) if flat else _dot(sizes.astype(object), off[channel_of]).tolist()
    errors = [u * total for u, total in zip(worth, totals, strict=True)]
    units = [u * factors.unit * k for u, k in zip(worth, shrunk, strict=True)]
    return _LevelWeights(signed, units, plain, worth, error=max(errors, default=Fraction(0)))


def _dot(rows: Array, values: Array) -> Array:
    """Return the sums of rows times values, exactly."""
    if rows.dtype != object:
        reach = int(np.abs(rows).sum(axis=1).max(initial=0)) * int(np.abs(values).max(initial=0))
        kind = np.int64 if reach < 1 << 62 else object
        rows, values = rows.astype(kind), values.astype(kind)
    return np.asarray((rows * values).sum(axis=1).astype(object))


def _pad_level(pad: Padding, pairs: Sequence[tuple[Fraction, Fraction]], top: int) -> int | None:
    """Return the level with the value of the padding in every channel; None if there is no such level."""
    channels = [(fill - start, step) for fill, (start, step) in zip(pad.fill, pairs, strict=True)]
    if any(
        beyond and not step for beyond, step in channels
    ):  # all levels have one value, and it is not this one
        return None
    levels = {beyond / step for beyond, step in channels if step}
    if not levels:
        return 0
    level = min(levels)
    return int(level) if len(levels) == 1 and level.denominator == 1 and 0 <= level <= top else None


def averaged_levels(levels: LevelSignal, op: AveragePool) -> SumSignal:
    """Return average pooling of levels as a depthwise convolution with equal weights.

    It is unrolled if windows count different numbers of values.
    """
    refuse_if(len(levels.shape) != 3, op.where, "average pooling of flat values.")
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
