"""From a chain of operations to the exact network: signs become thresholds, sums become match counts, pooling becomes any or every.

The chain is walked once. At every point the signal is one of three things: raw inputs, bits (each with its two values), or sums of
bits or levels that wait for their sign together with what stands between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, DenseLayer, Encoder, Layer, LevelLayer, Network, PoolLayer, Window
from sugenet.bnn.fold import thresholds
from sugenet.bnn.layers import Ints
from sugenet.errors import FileError, NetworkError
from sugenet.io.domains import BitInputs, Inputs, Integers, Reals
from sugenet.io.lower_head import head_of
from sugenet.io.lower_inputs import cut_inputs
from sugenet.io.ops import Affine, AveragePool, BatchNorm, Chain, Clip, Convolution, Flatten, Linear, MaxPool, Op, Pad, Sign
from sugenet.io.report import Imported, LayerReport
from sugenet.io.steps import Pipeline, Step, pipelines
from sugenet.io.units import in_units

__all__ = ["lower"]

_UNROLL = 1 << 26


@dataclass(frozen=True, eq=False)
class _Raw:
    """Raw inputs behind elementwise steps."""

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    """Which raw feature stands at each flat place."""
    steps: tuple[Step, ...] = ()
    pad: Pad | None = None


@dataclass(frozen=True, eq=False)
class _Bits:
    """Bits with their two values; `order` says which output of the layer before stands at each flat place."""

    shape: tuple[int, ...]
    order: npt.NDArray[np.intp]
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    """Exact values of each bit, off and on, by flat place."""
    pad: Pad | None = None
    average: AveragePool | None = None


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of weighted bits or levels, with the steps that follow."""

    where: str
    weights: Ints
    """Whole numbers: (outputs, inputs) or a kernel."""
    unit: list[Fraction]
    """What one of these weights is worth, for each output channel."""
    offset: npt.NDArray[Any]
    """Exact constant of each neuron."""
    shape: tuple[int, ...]
    """Of the output, behind pooling."""
    window: Window | None = None
    groups: int = 1
    tops: tuple[int, ...] | None = None
    """Largest levels of the inputs; None when they are bits."""
    steps: tuple[Step, ...] = ()
    pool: Window | None = None
    pool_at: int = 0
    """How many steps stand in front of the pool."""
    flat: Literal["CHW", "HWC"] | None = None
    maps: tuple[int, ...] | None = None
    """Shape in front of the flatten."""


def lower(
    chain: Chain,
    inputs: Inputs | None = None,
    *,
    zero: Literal[1, -1] | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> Imported:
    """Make a chain of operations exact.

    Parameters
    ----------
    chain
        What a reader found.
    inputs
        What raw samples are: `Integers`, `Reals` or `BitInputs`. Needed when the first layer reads inputs that are not binarized; else
        they are real numbers, each compared with a threshold.
    zero
        What sign(0) shall be where the file says 0 and zero can occur; such a file is refused without it.
    names, classes
        Names of raw features and classes.

    Raises
    ------
    FileError
        Where the chain cannot be exact; it names the operation, the reason, and the nearest thing that works.
    """
    walk = _Walk(chain, inputs, zero)
    for number, op in enumerate(chain.ops):
        try:
            walk.take(op)
        except NetworkError as error:
            raise FileError(f"{chain.source}: operation {number}, {op.where}: {error}") from error
        except FileError as error:
            raise FileError(f"{chain.source}: operation {number}: {error}") from error
    return walk.finish(names, classes)


@dataclass
class _Walk:
    """The signal so far, and the layers made of it."""

    chain: Chain
    inputs: Inputs | None
    zero: Literal[1, -1] | None
    encoder: Encoder | None = None
    layers: list[Layer] = field(default_factory=list)
    reports: list[LayerReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = self.chain.shape
        places = np.arange(prod(shape))
        self.signal: _Raw | _Bits | _Sums = _Raw(shape, places)
        if isinstance(self.inputs, BitInputs):
            low, high = (np.array([Fraction(v)] * len(places), dtype=object) for v in (self.inputs.low, self.inputs.high))
            self.encoder = Encoder.of_bits(len(places))
            self.signal = _Bits(shape, places, low, high)

    # -- one operation ---------------------------------------------------------------------------------------------------------

    def take(self, op: Op) -> None:
        """Move the signal past one operation."""
        signal = self.signal
        if isinstance(signal, _Bits) and signal.average is not None and not isinstance(op, Flatten | Linear):
            signal = self.signal = _averaged_maps(signal)
        if isinstance(signal, _Raw):
            self.signal = self._from_raw(signal, op)
        elif isinstance(signal, _Bits):
            self.signal = self._from_bits(signal, op)
        else:
            self.signal = self._from_sums(signal, op)

    def _from_raw(self, raw: _Raw, op: Op) -> _Raw | _Bits | _Sums:
        match op:
            case Affine() | BatchNorm() | Clip() if raw.pad is None:
                return replace(raw, steps=(*raw.steps, op))
            case Flatten() if raw.pad is None:
                return replace(raw, shape=(prod(raw.shape),), order=_flat(raw.order, raw.shape, op.order))
            case Sign() if raw.pad is None:
                return self._cut(raw, op)
            case Pad() if len(raw.shape) == 3:
                return replace(raw, pad=op)
            case Linear() | Convolution():
                return self._level_sums(raw, op)
        raise FileError(
            f"{op.where}: {type(op).__name__} on inputs that are not binarized yet. Only signs, linear layers and convolutions can be."
        )

    def _from_bits(self, bits: _Bits, op: Op) -> _Bits | _Sums:
        match op:
            case Affine() | Clip() | Sign():
                return _mapped(bits, op)
            case BatchNorm():
                raise FileError(
                    f"{op.where}: batch norm directly behind a sign gives values with square roots. Put it in front of the sign, or "
                    "fold it into the next layer first."
                )
            case Flatten():
                if bits.average is not None:
                    return replace(bits, shape=(prod(bits.shape),)) if op.order == "CHW" else _hwc_average(bits, op)
                flat = _flat(np.arange(prod(bits.shape)), bits.shape, op.order)
                return _Bits((len(flat),), bits.order[flat], bits.low[flat], bits.high[flat])
            case Pad():
                return replace(bits, pad=op)
            case MaxPool():
                return self._pool_bits(bits, op)
            case AveragePool():
                return replace(bits, average=op)
            case Linear():
                return _linear(bits, op)
            case Convolution():
                return _convolution(bits, op)
        raise AssertionError(op)

    def _from_sums(self, sums: _Sums, op: Op) -> _Bits | _Sums:
        match op:
            case Affine() | BatchNorm() | Clip():
                return replace(sums, steps=(*sums.steps, _fitted(op, sums)))
            case MaxPool():
                if sums.pool is not None or sums.flat or len(sums.shape) != 3:
                    raise FileError(f"{op.where}: a second pooling, or pooling of flat values, in front of one sign.")
                window = Window(sums.shape, op.kernel, op.stride, op.dilation, op.pads)
                return replace(sums, pool=window, pool_at=len(sums.steps), shape=(sums.shape[0], *window.positions))
            case AveragePool():
                return _averaged_sums(sums, op)
            case Flatten():
                return replace(sums, shape=(prod(sums.shape),), flat=op.order, maps=sums.shape) if len(sums.shape) == 3 else sums
            case Sign():
                return self._sign(sums, op)
        raise FileError(
            f"{op.where}: {type(op).__name__} behind {sums.where} without a sign between. Two linear steps in a row are one: multiply them "
            "together first; real-valued shortcuts are not supported."
        )

    # -- signs -----------------------------------------------------------------------------------------------------------------

    def _cut(self, raw: _Raw, op: Sign) -> _Bits:
        """A sign on raw inputs: one threshold a feature."""
        domain = Reals() if self.inputs is None else self.inputs
        assert not isinstance(domain, BitInputs)
        channels = raw.shape[0] if len(raw.shape) == 3 else len(raw.order)
        lines = pipelines(raw.steps, channels)
        per_place = [lines[c] for c in np.repeat(np.arange(channels), len(raw.order) // channels)]
        places = np.empty(len(raw.order), np.intp)
        places[raw.order] = np.arange(len(raw.order))  # by raw feature
        self.encoder, rises, ties = cut_inputs([per_place[p] for p in places], domain, self._zero(op))
        self.reports.append(LayerReport(op.where, "inputs", len(places), int((~rises).sum()), 0, int(ties.sum())))
        low, high = Fraction(op.low), Fraction(op.high)
        up = rises[raw.order]
        off, on = (
            np.array([pair[k] if rising else pair[1 - k] for rising in up], dtype=object)
            for k, pair in ((0, (low, high)), (1, (low, high)))
        )
        return _Bits(raw.shape, raw.order, off, on)

    def _zero(self, op: Sign) -> Literal[1, -1, 0]:
        return self.zero if op.zero == 0 and self.zero is not None else op.zero

    def _sign(self, sums: _Sums, op: Sign) -> _Bits:
        layer, lines = self._threshold_layer(sums, op)
        self.layers.append(layer)
        count = layer.outputs
        if sums.pool is not None:
            channels = sums.pool.shape[0]
            every = [line.direction(sums.pool_at) < 0 for line in lines[:: max(len(lines) // channels, 1)]]
            self.layers.append(PoolLayer(sums.pool, every))
            count = self.layers[-1].outputs
        order = _flat(np.arange(count), sums.maps, sums.flat) if sums.maps is not None and sums.flat is not None else np.arange(count)
        low, high = (np.array([Fraction(v)] * count, dtype=object) for v in (op.low, op.high))
        return _Bits(sums.shape, order, low, high)

    def _threshold_layer(self, sums: _Sums, op: Sign) -> tuple[Layer, list[Pipeline]]:
        channels = len(sums.weights)
        flat_steps = any(np.size(v) not in (1, channels) for step in sums.steps for v in _numbers(step))
        if sums.window is not None and flat_steps:
            sums = _unrolled(sums)
            channels = len(sums.weights)
        lines = pipelines(sums.steps, channels)
        per = sums.offset.size // channels
        cases, case_of = _cases(sums)
        tau = np.empty((channels, len(cases)), np.int64)
        flipped, ties = np.zeros(channels, bool), np.zeros(channels, bool)
        gap = np.full(channels, np.inf)
        for number, (rows, sizes, below, position) in enumerate(cases):
            starts = [sums.offset.reshape(channels, per)[c, position] - sums.unit[c] * int(below[c]) for c in range(channels)]
            stride = [(1 if sums.tops is not None else 2) * unit for unit in sums.unit]

            def decide(c: int, starts: list[Any] = starts, stride: list[Any] = stride) -> tuple[int, Any]:
                line = lines[c]
                return line.direction() * _sign(stride[c]), lambda count: line(starts[c] + stride[c] * count).sign()

            _, tau[:, number], falls, tied = thresholds(np.sign(rows), sizes, decide, self._zero(op))
            flipped |= falls
            ties |= tied
            gap = np.minimum(
                gap, [_gap(lines[c], starts[c], stride[c], int(tau[c, number]), int(sizes[c]), bool(falls[c])) for c in range(channels)]
            )
        weights = np.where(flipped.reshape(-1, *[1] * (sums.weights.ndim - 1)), -sums.weights, sums.weights)
        marks = {"flipped": flipped, "ties": ties}
        layer: Layer
        if sums.window is not None:
            positions = tau[:, case_of].reshape(channels, *sums.window.positions)
            top = None if sums.tops is None else sums.tops[0]
            layer = ConvLayer(weights, positions, sums.window, sums.groups, top, **marks)
        elif sums.tops is not None:
            layer = LevelLayer(weights, tau[:, 0], sums.tops, **marks)
        else:
            layer = DenseLayer(weights, tau[:, 0], **marks)
        constant = int(layer.constant.sum())
        kind = type(layer).__name__.removesuffix("Layer").lower()
        nearest = float(gap.min(initial=np.inf))
        self.reports.append(LayerReport(sums.where, kind, layer.outputs, int(flipped.sum()), constant, int(ties.sum()), nearest))
        return layer, lines

    # -- sums ------------------------------------------------------------------------------------------------------------------

    def _level_sums(self, raw: _Raw, op: Linear | Convolution) -> _Sums:
        """A linear layer or convolution on raw whole numbers: their levels are the literals (THEORY 3.1)."""
        if not isinstance(self.inputs, Integers):
            raise FileError(
                f"{op.where} reads inputs that are not binarized. Say what they are: inputs=Integers(0, 255) for pixels, "
                "with step= and start= where the samples are rescaled before they enter the network."
            )
        channels = raw.shape[0] if len(raw.shape) == 3 else len(raw.order)
        lines = {pipeline.line() for pipeline in pipelines(raw.steps, channels)}
        if len(lines) != 1 or None in lines:
            raise FileError(
                f"{op.where}: the inputs are rescaled differently for different channels, or with a square root, so levels do not add up."
            )
        scale, shift = next(line for line in lines if line is not None)
        domain = self.inputs
        start, step = scale * domain.value(domain.low) + shift, scale * domain.step
        top = domain.high - domain.low
        self.encoder = Encoder.of_integers(len(raw.order), domain.low, domain.high)
        weights, unit = in_units(op.weights, op.where)
        bias = _bias(op)
        if isinstance(op, Linear):
            if len(raw.shape) != 1 or op.weights.shape[1] != len(raw.order):
                raise FileError(f"{op.where}: {op.weights.shape[1]} weights a neuron for inputs of shape {raw.shape}.")
            rows = np.zeros_like(weights)
            rows[:, raw.order] = weights
            totals = rows.sum(axis=1).tolist()
            offset = [b + u * start * t for b, u, t in zip(bias, unit, totals, strict=True)]
            units = [u * step for u in unit]
            return _Sums(op.where, rows, units, np.array(offset, dtype=object), (len(rows),), tops=(top,) * len(raw.order))
        if len(raw.shape) != 3:
            raise FileError(f"{op.where}: a convolution of flat inputs.")
        pads, fill = _padding(op, raw.pad)
        window = Window(raw.shape, op.weights.shape[2:], op.stride, op.dilation, pads)
        inside = window.taps >= 0
        taps = weights.reshape(*weights.shape[:2], -1).sum(axis=1)
        totals, outer = (taps @ inside.T).tolist(), (taps @ ~inside.T).tolist()
        constants = [
            [b + u * (start * t + fill * o) for t, o in zip(row, rim, strict=True)]
            for b, u, row, rim in zip(bias, unit, totals, outer, strict=True)
        ]
        shape, units = (len(weights), *window.positions), [u * step for u in unit]
        flat = np.array(constants, dtype=object).reshape(-1)
        return _Sums(op.where, weights, units, flat, shape, window, op.groups, (top,) * window.inputs)

    def _pool_bits(self, bits: _Bits, op: MaxPool) -> _Bits:
        """The largest of bits: any, or every where off is the larger value."""
        if len(bits.shape) != 3 or not np.array_equal(bits.order, np.arange(len(bits.order))):
            raise FileError(f"{op.where}: max pooling of flat or reordered values.")
        if bits.pad is not None:
            raise FileError(f"{op.where}: padding with {bits.pad.value} in front of max pooling.")
        window = Window(bits.shape, op.kernel, op.stride, op.dilation, op.pads)
        by_channel = [(low, high) for low, high in zip(_by_channel(bits.low, bits), _by_channel(bits.high, bits), strict=True)]
        if any(len(values) != 1 for pair in by_channel for values in pair):
            raise FileError(f"{op.where}: max pooling of bits whose values differ within a channel.")
        pairs = [(next(iter(low)), next(iter(high))) for low, high in by_channel]
        self.layers.append(PoolLayer(window, [high < low for low, high in pairs]))
        per = prod(window.positions)
        low, high = (np.repeat(np.array([pair[k] for pair in pairs], dtype=object), per) for k in (0, 1))
        return _Bits((bits.shape[0], *window.positions), np.arange(len(low)), low, high)

    # -- the end ---------------------------------------------------------------------------------------------------------------

    def finish(self, names: Iterable[object] | None, classes: Iterable[object] | None) -> Imported:
        """The head, from the sums that are left."""
        sums = self.signal
        if not isinstance(sums, _Sums):
            raise FileError(
                f"{self.chain.source} ends without class scores: its last operation must be a linear layer, with or without scaling."
            )
        if sums.tops is not None:
            raise FileError(f"{self.chain.source}: the only layer reads raw numbers. A network needs at least one sign.")
        if sums.window is not None:
            sums = _unrolled(sums)
        if sums.pool is not None:
            raise FileError(f"{self.chain.source}: max pooling of class scores.")
        assert self.encoder is not None
        head, remark = head_of(sums.weights, sums.unit, list(sums.offset), pipelines(sums.steps, len(sums.weights)), sums.where)
        encoder = Encoder(self.encoder.codings, _pixel_names(self.chain.shape) if names is None else names)
        network = Network(encoder, self.layers, head, classes, {"source": self.chain.source})
        remarks = [f"left out at the end: {name}" for name in self.chain.left_out] + ([remark] if remark else [])
        return Imported(network, tuple(self.reports), tuple(remarks), self.chain.shape, self.chain.channels_last)


def _pixel_names(shape: tuple[int, ...]) -> list[str] | None:
    """Names of raw features that are pixels."""
    if len(shape) != 3:
        return None
    channels, height, width = shape
    front = [f"channel {c} " for c in range(channels)] if channels > 1 else [""]
    return [f"{c}pixel ({y},{x})" for c in front for y in range(height) for x in range(width)]


# -- bits ----------------------------------------------------------------------------------------------------------------------


def _flat(places: npt.NDArray[np.intp], shape: tuple[int, ...], order: str) -> npt.NDArray[np.intp]:
    """Flat places of maps in CHW or HWC order."""
    if len(shape) != 3 or order == "CHW":
        return places
    return places.reshape(shape).transpose(1, 2, 0).reshape(-1)


def _mapped(bits: _Bits, op: Affine | Clip | Sign) -> _Bits:
    """An elementwise operation on bits changes their two values."""
    channels = bits.shape[0] if len(bits.shape) == 3 else len(bits.order)
    per = len(bits.order) // channels
    if isinstance(op, Sign):

        def side(value: Fraction) -> Fraction:
            sign = _sign(value) or op.zero
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


def _by_channel(values: npt.NDArray[Any], bits: _Bits) -> list[set[Any]]:
    return [set(row) for row in values.reshape(bits.shape[0], -1).tolist()]


def _bias(op: Linear | Convolution) -> list[Fraction]:
    count = len(op.weights)
    if op.bias is None:
        return [Fraction(0)] * count
    row = np.asarray(op.bias).reshape(-1)
    if row.size != count or not np.isfinite(row.astype(float)).all():
        raise FileError(f"{op.where}: the bias holds {row.size} numbers for {count} outputs, or one that is not finite.")
    return [Fraction(value) for value in row.tolist()]


def _linear(bits: _Bits, op: Linear) -> _Sums:
    if bits.average is not None:
        return _linear_of_average(bits, op)
    if bits.pad is not None or len(bits.shape) != 1 or op.weights.shape[1] != len(bits.order):
        raise FileError(f"{op.where}: {op.weights.shape[1]} weights a neuron for values of shape {bits.shape}. Is a flatten missing?")
    return _dense(op.where, _exact(op.weights, op.where), _bias(op), bits)


def _exact(weights: Any, where: str) -> npt.NDArray[Any]:
    array = np.asarray(weights)
    if not np.isfinite(array.astype(float)).all():
        raise FileError(f"{where}: a weight is not a finite number.")
    distinct, places = np.unique(array, return_inverse=True)
    exact = np.array([Fraction(value) for value in distinct.tolist()], dtype=object)
    return exact[places].reshape(array.shape)


def _dense(where: str, weights: npt.NDArray[Any], bias: Sequence[Fraction], bits: _Bits) -> _Sums:
    """Exact weights over bits with any two values: half their difference goes into the weights, their mean into the offset."""
    half, middle = (bits.high - bits.low) / 2, (bits.high + bits.low) / 2
    uniform = set(half.tolist())
    if len(uniform) == 1:
        signed, unit = in_units(weights, where)
        unit = [u * next(iter(uniform)) for u in unit]
    else:
        signed, unit = in_units(weights * half, where)
    means = set(middle.tolist())
    if means == {Fraction(0)}:
        offset = list(bias)
    else:
        offset = [
            b + sum((w * m for w, m in zip(row, middle.tolist(), strict=True)), Fraction(0))
            for b, row in zip(bias, weights.tolist(), strict=True)
        ]
    rows = np.zeros((len(signed), len(bits.order)), np.int64)
    rows[:, bits.order] = signed
    return _Sums(where, rows, unit, np.array(offset, dtype=object), (len(rows),))


def _padding(op: Convolution, before: Pad | None) -> tuple[tuple[int, ...], Fraction]:
    """The padding of a convolution together with that in front of it, and its value."""
    if before is None or not any(before.pads):
        return op.pads, Fraction(0)
    if any(op.pads) and before.value != 0:
        raise FileError(f"{op.where}: padded with {before.value} and then with 0. Only one kind of padding can be.")
    return tuple(a + b for a, b in zip(op.pads, before.pads, strict=True)), Fraction(before.value)


def _convolution(bits: _Bits, op: Convolution) -> _Sums:
    if len(bits.shape) != 3 or not np.array_equal(bits.order, np.arange(len(bits.order))):
        raise FileError(f"{op.where}: a convolution of flat or reordered values.")
    pads, fill = _padding(op, bits.pad)
    values = {(low, high) for low, high in zip(bits.low.tolist(), bits.high.tolist(), strict=True)}
    by_channel = list(zip(_by_channel(bits.low, bits), _by_channel(bits.high, bits), strict=True))
    if any(len(v) != 1 for pair in by_channel for v in pair):
        raise FileError(f"{op.where}: a convolution of bits whose values differ within a channel.")
    window = Window(bits.shape, op.weights.shape[2:], op.stride, op.dilation, pads)
    weights = _exact(op.weights, op.where)
    lows, highs = ([next(iter(pair[k])) for pair in by_channel] for k in (0, 1))
    per_in, per_out = bits.shape[0] // op.groups, len(weights) // op.groups
    middle = np.array([(a + b) / 2 for a, b in zip(lows, highs, strict=True)], dtype=object)
    half = np.array([(b - a) / 2 for a, b in zip(lows, highs, strict=True)], dtype=object)
    if len(values) == 1:
        signed, unit = in_units(weights, op.where)
        unit = [u * half[0] for u in unit]
    else:
        scaled = np.array(
            [[weights[o, c] * half[o // per_out * per_in + c] for c in range(per_in)] for o in range(len(weights))], dtype=object
        )
        signed, unit = in_units(scaled, op.where)
    inside = window.taps >= 0
    offset = np.empty((len(weights), len(window.taps)), dtype=object)
    kinds, kind_of = np.unique(inside, axis=0, return_inverse=True)
    for o, bias in enumerate(_bias(op)):
        group = o // per_out * per_in
        kernel = weights[o].reshape(per_in, -1)
        sums = []
        for kind in kinds:
            there = sum((kernel[c][kind].sum() * middle[group + c] for c in range(per_in)), Fraction(0)) if kind.any() else Fraction(0)
            outer = fill * sum((kernel[c][~kind].sum() for c in range(per_in)), Fraction(0)) if fill and not kind.all() else Fraction(0)
            sums.append(bias + there + outer)
        offset[o] = np.array(sums, dtype=object)[kind_of.reshape(-1)]
    return _Sums(op.where, signed, unit, offset.reshape(-1), (len(weights), *window.positions), window, op.groups)


def _averaged_maps(bits: _Bits) -> _Sums:
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
    return _convolution(replace(bits, average=None), conv)


def _hwc_average(bits: _Bits, op: Flatten) -> _Bits:
    average = bits.average
    assert average is not None
    if average.kernel is None or prod(Window(bits.shape, average.kernel, average.stride, 1, average.pads).positions) == 1:
        return replace(bits, shape=(prod(bits.shape),))
    raise FileError(f"{op.where}: average pooling flattened pixel by pixel in front of a linear layer.")


def _linear_of_average(bits: _Bits, op: Linear) -> _Sums:
    """A linear layer on averages is a linear layer on the bits themselves."""
    average = bits.average
    assert average is not None
    pooled = _averaged_maps(replace(bits, shape=_maps_of(bits)))
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
    return _dense(op.where, wide.reshape(len(weights), -1), _bias(op), flat)


def _maps_of(bits: _Bits) -> tuple[int, ...]:
    if len(bits.shape) == 3:
        return bits.shape
    raise FileError("average pooling of flat values.")


# -- sums ----------------------------------------------------------------------------------------------------------------------


def _averaged_sums(sums: _Sums, op: AveragePool) -> _Sums:
    """Averages of sums are sums of more weights, as long as nothing but affine steps stands between."""
    if sums.window is None or sums.pool is not None or any(isinstance(step, Clip) for step in sums.steps):
        raise FileError(f"{op.where}: average pooling of values that are pooled or clipped already.")
    dense = _unrolled(sums)
    channels = sums.shape[0]
    window = Window(sums.shape, op.kernel or sums.shape[1:], op.stride if op.kernel else 1, 1, op.pads if op.kernel else 0)
    inside = (window.taps >= 0).sum(axis=1)
    if any(op.pads) and len(set(inside.tolist())) > 1:
        raise FileError(f"{op.where}: an average of sums over windows that reach into padding.")
    if any(np.size(v) not in (1, channels) for step in sums.steps for v in _numbers(step)):
        raise FileError(f"{op.where}: an average of sums with a different rescaling at every position.")
    per = prod(sums.shape[1:])
    rows, offsets, units = [], [], []
    for c in range(channels):
        for pixels in window.taps:
            chosen = [c * per + int(p) for p in pixels if p >= 0]
            rows.append(dense.weights[chosen].sum(axis=0))
            offsets.append(sum((dense.offset[j] for j in chosen), Fraction(0)) / len(chosen))
            units.append(dense.unit[c * per] / len(chosen))
    steps = tuple(_repeated(step, len(window.taps)) for step in sums.steps)
    shape = (channels, *window.positions)
    return _Sums(sums.where, np.array(rows), units, np.array(offsets, dtype=object), shape, tops=sums.tops, steps=steps)


def _unrolled(sums: _Sums) -> _Sums:
    """A convolution as a dense layer, one neuron a position."""
    if sums.window is None:
        return sums
    per = len(sums.window.taps)
    if len(sums.weights) * per * sums.window.inputs > _UNROLL:
        raise FileError(f"{sums.where}: the convolution would have to be unrolled and is too large for that.")
    layer = ConvLayer(sums.weights, np.zeros(len(sums.weights), np.int64), sums.window, sums.groups).unrolled()
    steps = tuple(
        step if any(np.size(v) not in (1, len(sums.weights)) for v in _numbers(step)) else _repeated(step, per) for step in sums.steps
    )
    unit = [u for u in sums.unit for _ in range(per)]
    return replace(sums, weights=layer.weights, unit=unit, window=None, steps=steps)


def _numbers(step: Step) -> list[Any]:
    match step:
        case Affine():
            return [step.scale, step.shift]
        case BatchNorm():
            return [step.gamma, step.beta, step.mean, step.var]
    return []


def _repeated(step: Step, times: int) -> Step:
    """A step with one number a channel, as one with a number a position."""

    def wide(values: Any) -> Any:
        row = np.asarray(values).reshape(-1)
        return row if row.size == 1 else np.repeat(row, times)

    match step:
        case Affine():
            return replace(step, scale=wide(step.scale), shift=wide(step.shift))
        case BatchNorm():
            return replace(step, gamma=wide(step.gamma), beta=wide(step.beta), mean=wide(step.mean), var=wide(step.var))
    return step


def _fitted(step: Step, sums: _Sums) -> Step:
    """Numbers of a step in the order of the neurons: one a channel of unrolled maps, or given pixel by pixel behind a flatten."""
    if sums.window is None and len(sums.shape) == 3 and len(sums.weights) != sums.shape[0]:
        return _repeated(step, len(sums.weights) // sums.shape[0])
    if sums.flat != "HWC" or sums.maps is None:
        return step
    c, h, w = sums.maps

    def back(values: Any) -> Any:
        row = np.asarray(values).reshape(-1)
        return row.reshape(h, w, c).transpose(2, 0, 1).reshape(-1) if row.size == c * h * w > 1 else row

    match step:
        case Affine():
            return replace(step, scale=back(step.scale), shift=back(step.shift))
        case BatchNorm():
            return replace(step, gamma=back(step.gamma), beta=back(step.beta), mean=back(step.mean), var=back(step.var))
    return step


def _cases(sums: _Sums) -> tuple[list[tuple[Ints, Ints, Ints, int]], npt.NDArray[np.intp]]:
    """The different neurons of each channel: weights inside the input, largest count, what to subtract, and one position of each."""
    channels = len(sums.weights)
    rows = sums.weights.reshape(channels, -1)
    top = 1 if sums.tops is None else sums.tops[0]
    if sums.window is None:
        sizes = np.abs(rows).sum(axis=1) * top
        below = np.asarray(-np.minimum(rows, 0).sum(axis=1) * top) if sums.tops is not None else sizes
        return [(rows, sizes, below, 0)], np.zeros(1, np.intp)
    taps = sums.window.taps
    offset = sums.offset.reshape(channels, len(taps))
    kinds: dict[tuple[Any, ...], int] = {}
    case_of = np.empty(len(taps), np.intp)
    first: list[int] = []
    for position in range(len(taps)):
        key = (taps[position] >= 0).tobytes(), tuple(offset[:, position])
        if key not in kinds:
            kinds[key] = len(first)
            first.append(position)
        case_of[position] = kinds[key]
    cases = []
    for position in first:
        there = np.tile(taps[position] >= 0, rows.shape[1] // taps.shape[1])
        inside = rows * there
        sizes = np.abs(inside).sum(axis=1) * top
        below = np.asarray(-np.minimum(inside, 0).sum(axis=1) * top) if sums.tops is not None else sizes
        cases.append((inside, sizes, below, position))
    return cases, case_of


def _gap(line: Pipeline, start: Fraction, stride: Fraction, tau: int, size: int, falls: bool) -> float:
    """How far the nearest sum is from where the sign turns, in units of the file's sum; infinite for a constant neuron."""
    near = [count for count in (tau - 1, tau) if 0 <= count <= size]
    slope = abs(line.slope())
    if len(near) < 2 or not slope:
        return float("inf")
    return min(abs(float(line(start + stride * (size - count if falls else count)))) for count in near) / slope


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
