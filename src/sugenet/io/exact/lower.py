"""From a chain of operations to the exact network: signs become thresholds, sums become match counts, pooling
becomes any or every.

The chain is walked once. At every point the signal is one of three things: raw inputs, bits (each with its
two values), or sums of bits or levels that wait for their sign together with what stands between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np

from sugenet.bnn import ConvLayer, DenseLayer, Encoder, Layer, LevelLayer, Network, PoolLayer, Source, Window
from sugenet.bnn.arrays import Ints
from sugenet.bnn.folding import thresholds
from sugenet.errors import FileError, NetworkError
from sugenet.io.exact.bits import (
    averaged_bits,
    convolution_of_bits,
    linear_of_bits,
    mapped,
    pad_pulls,
    padding_past,
    values_by_channel,
)
from sugenet.io.exact.domains import BitInputs, Inputs, Integers, Reals
from sugenet.io.exact.head import head_of
from sugenet.io.exact.inputs import cut_inputs
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Sign,
)
from sugenet.io.exact.order import pixel_by_pixel, source_shape
from sugenet.io.exact.report import Imported, LayerReport, SignPlace
from sugenet.io.exact.signals import BitSignal, Padding, RawSignal, SumSignal, flat_order, padded
from sugenet.io.exact.steps import Pipeline, pipelines, sign_of
from sugenet.io.exact.sums import (
    averaged_sums,
    cases_of,
    flattened_step,
    gap_to_zero,
    linear_of_means,
    stepped,
    unrolled,
)
from sugenet.io.exact.thetas import theta_of
from sugenet.io.exact.units import bias_of, in_units

__all__ = ["lower"]


def lower(
    chain: OpChain,
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
        What raw samples are: `Integers`, `Reals` or `BitInputs`. Needed when the first layer reads inputs
        that are not binarized; else they are real numbers, each compared with a threshold.
    zero
        What sign(0) shall be where the file says 0 and zero can occur; such a file is refused without it.
    names, classes
        Names of raw features and classes.

    Raises
    ------
    FileError
        Where the chain cannot be exact; it names the operation, the reason, and the nearest thing that works.
    """
    walk = _Lowering(chain, inputs, zero)
    for number, op in enumerate(chain.ops):
        try:
            walk.take(op)
        except NetworkError as error:
            raise FileError(f"{chain.source}: operation {number}, {op.where}: {error}") from error
        except OverflowError:
            raise FileError(
                f"{chain.source}: operation {number}, {op.where}: "
                f"its numbers are too far apart to compute with."
            ) from None
        except FileError as error:
            raise FileError(f"{chain.source}: operation {number}: {error}") from error
    return walk.finish(names, classes)


@dataclass
class _Lowering:
    """The signal so far, and the layers made of it."""

    chain: OpChain
    inputs: Inputs | None
    zero: Literal[1, -1] | None
    encoder: Encoder | None = None
    layers: list[Layer] = field(default_factory=list)
    reports: list[LayerReport] = field(default_factory=list)
    signs: list[SignPlace] = field(default_factory=list)

    def __post_init__(self) -> None:
        shape = self.chain.shape
        places = np.arange(prod(shape))
        self.signal: RawSignal | BitSignal | SumSignal = RawSignal(shape, places)
        if isinstance(self.inputs, BitInputs):
            low, high = (
                np.array([Fraction(v)] * len(places), dtype=object)
                for v in (self.inputs.low, self.inputs.high)
            )
            self.encoder = Encoder.of_bits(len(places))
            self.signal = BitSignal(shape, places, low, high)

    # -- one operation ---------------------------------------------------------------------------------------

    def take(self, op: Op) -> None:
        """Move the signal past one operation."""
        signal = self.signal
        if isinstance(signal, RawSignal):
            self.signal = self._from_raw(signal, op)
        elif isinstance(signal, BitSignal):
            self.signal = self._from_bits(signal, op)
        else:
            self.signal = self._from_sums(signal, op)
        if isinstance(op, Sign):
            self.signs.append(self._place(op, signal))

    def _place(self, op: Sign, before: RawSignal | BitSignal | SumSignal) -> SignPlace:
        bits, number = self.signal, len(self.signs)
        assert isinstance(bits, BitSignal)
        if not isinstance(before, SumSignal):
            return SignPlace(number, op.where, None)
        plain = np.array_equal(bits.order, np.arange(len(bits.order)))
        return SignPlace(
            number, before.where, len(self.layers) - 1, None if plain else np.argsort(bits.order)
        )

    def _from_raw(self, raw: RawSignal, op: Op) -> RawSignal | BitSignal | SumSignal:
        match op:
            case Affine() | BatchNorm() | Clip():
                return replace(raw, steps=(*raw.steps, op), pad=padding_past(raw.pad, op))
            case Flatten() if raw.pad is None:
                steps = (
                    tuple(flattened_step(step, raw.shape, op.order) for step in raw.steps)
                    if len(raw.shape) == 3
                    else raw.steps
                )
                return replace(
                    raw,
                    shape=(prod(raw.shape),),
                    order=flat_order(raw.order, raw.shape, op.order),
                    steps=steps,
                )
            case Sign():
                return self._cut(raw, op)
            case Pad() if len(raw.shape) == 3:
                return replace(
                    raw, pad=padded(raw.pad, Padding(op.pads, (Fraction(op.value),) * raw.shape[0]), op.where)
                )
            case LinearOp() | Convolution():
                return self._level_sums(raw, op)
        raise FileError(
            f"{op.where}: {_word(op)} on inputs that are "
            f"{'padded' if raw.pad else 'not binarized yet'}. Only signs, "
            "linear layers and convolutions can be."
        )

    def _from_bits(self, bits: BitSignal, op: Op) -> BitSignal | SumSignal:
        match op:
            case Affine() | Clip() | Sign():
                return mapped(bits, op)
            case BatchNorm():
                raise FileError(
                    f"{op.where}: batch norm directly behind a sign gives values with square roots. Put it "
                    "in front of the sign, or fold it into the next layer first."
                )
            case Flatten():
                if bits.pad is not None:
                    raise FileError(
                        f"{op.where}: flattens padded maps. Pad in front of convolutions and pooling only."
                    )
                flat = flat_order(np.arange(prod(bits.shape)), bits.shape, op.order)
                return BitSignal((len(flat),), bits.order[flat], bits.low[flat], bits.high[flat])
            case Pad():
                if len(bits.shape) != 3:
                    raise FileError(f"{op.where}: padding of flat values.")
                return replace(
                    bits,
                    pad=padded(bits.pad, Padding(op.pads, (Fraction(op.value),) * bits.shape[0]), op.where),
                )
            case MaxPool():
                return self._pool_bits(bits, op)
            case AveragePool():
                return averaged_bits(bits, op)
            case LinearOp():
                return linear_of_bits(bits, op)
            case Convolution():
                return convolution_of_bits(bits, op)
        raise AssertionError(op)

    def _from_sums(self, sums: SumSignal, op: Op) -> BitSignal | SumSignal:
        match op:
            case Affine() | BatchNorm() | Clip():
                return stepped(sums, op)
            case LinearOp() if sums.mean:
                return linear_of_means(sums, op)
            case MaxPool():
                if sums.pool is not None or sums.flat or len(sums.shape) != 3:
                    raise FileError(
                        f"{op.where}: a second pooling, or pooling of flat values, in front of one sign."
                    )
                window = Window(sums.shape, op.kernel, op.stride, op.dilation, op.pads)
                return replace(
                    sums, pool=window, pool_at=len(sums.steps), shape=(sums.shape[0], *window.positions)
                )
            case AveragePool():
                return averaged_sums(sums, op)
            case Flatten():
                return (
                    replace(sums, shape=(prod(sums.shape),), flat=op.order, maps=sums.shape)
                    if len(sums.shape) == 3
                    else sums
                )
            case Sign():
                return self._sign(sums, op)
        raise FileError(
            f"{op.where}: {_word(op)} behind {sums.where} without a sign between. Two linear steps "
            "in a row are one: multiply them together first; real-valued shortcuts are not supported."
        )

    # -- signs -----------------------------------------------------------------------------------------------

    def _cut(self, raw: RawSignal, op: Sign) -> BitSignal:
        """A sign on raw inputs: one threshold a feature."""
        domain = Reals() if self.inputs is None else self.inputs
        assert not isinstance(domain, BitInputs)
        channels = raw.shape[0] if len(raw.shape) == 3 else len(raw.order)
        lines = pipelines(raw.steps, channels)
        per_place = [lines[c] for c in np.repeat(np.arange(channels), len(raw.order) // channels)]
        places = np.argsort(raw.order)  # by raw feature
        self.encoder, rises, ties = cut_inputs([per_place[p] for p in places], domain, self._zero(op))
        self.reports.append(
            LayerReport(op.where, "inputs", len(places), int((~rises).sum()), 0, int(ties.sum()))
        )
        low, high = Fraction(op.low), Fraction(op.high)
        up = rises[raw.order]
        off, on = (
            np.array([pair[k] if rising else pair[1 - k] for rising in up], dtype=object)
            for k, pair in ((0, (low, high)), (1, (low, high)))
        )
        return BitSignal(raw.shape, raw.order, off, on, padding_past(raw.pad, op))

    def _zero(self, op: Sign) -> Literal[1, -1, 0]:
        return self.zero if op.zero == 0 and self.zero is not None else op.zero

    def _sign(self, sums: SumSignal, op: Sign) -> BitSignal:
        layer, lines = self._threshold_layer(sums, op)
        self.layers.append(layer)
        count = layer.outputs
        if sums.pool is not None:
            per = max(len(lines) // sums.pool.shape[0], 1)
            every = [line.direction(sums.pool_at) < 0 for line in lines[::per]]
            self.layers.append(PoolLayer(sums.pool, every))
            count = self.layers[-1].outputs
        low, high = (np.array([Fraction(v)] * count, dtype=object) for v in (op.low, op.high))
        return BitSignal(sums.shape, sums.order(count), low, high)

    def _threshold_layer(self, sums: SumSignal, op: Sign) -> tuple[Layer, list[Pipeline]]:
        channels = len(sums.weights)
        lines = pipelines(sums.steps, channels)
        per = sums.offset.size // channels
        cases, case_of = cases_of(sums)
        tau = np.empty((channels, len(cases)), np.int64)
        flipped, ties = np.zeros(channels, bool), np.zeros(channels, bool)
        gap = np.full(channels, np.inf)
        thetas: list[list[tuple[Fraction, Fraction] | None]] = []
        for number, (rows, sizes, below, position) in enumerate(cases):
            starts = [
                sums.offset.reshape(channels, per)[c, position] - sums.unit[c] * int(below[c])
                for c in range(channels)
            ]
            stride = [(1 if sums.tops is not None else 2) * unit for unit in sums.unit]

            def decide(c: int, starts: list[Any] = starts, stride: list[Any] = stride) -> tuple[int, Any]:
                line = lines[c]
                return line.direction() * sign_of(stride[c]), lambda count: line(
                    starts[c] + stride[c] * count
                ).sign()

            _, tau[:, number], falls, tied = thresholds(np.sign(rows), sizes, decide, self._zero(op))
            flipped |= falls
            ties |= tied
            if sums.tops is not None:
                thetas.append(self._thetas(sums, lines, self._zero(op), position, (-below, sizes - below)))
            gap = np.minimum(
                gap,
                [
                    gap_to_zero(
                        lines[c], starts[c], stride[c], int(tau[c, number]), int(sizes[c]), bool(falls[c])
                    )
                    for c in range(channels)
                ],
            )
        weights = np.where(flipped.reshape(-1, *[1] * (sums.weights.ndim - 1)), -sums.weights, sums.weights)
        marks = {"flipped": flipped, "ties": ties}
        layer: Layer
        if sums.window is not None:
            positions = tau[:, case_of].reshape(channels, *sums.window.positions)
            top = None if sums.tops is None else sums.tops[0]
            theta = (
                [thetas[case][c] for c in range(channels) for case in case_of]
                if sums.tops is not None
                else None
            )
            layer = ConvLayer(
                weights, positions, sums.window, sums.groups, top, **marks, theta=_if_known(theta)
            )
        elif sums.tops is not None:
            layer = LevelLayer(weights, tau[:, 0], sums.tops, **marks, theta=_if_known(thetas[0]))
        else:
            layer = DenseLayer(weights, tau[:, 0], **marks)
        self.reports.append(
            LayerReport(
                sums.where,
                type(layer).__name__.removesuffix("Layer").lower(),
                layer.outputs,
                int(flipped.sum()),
                int(layer.constant.sum()),
                int(ties.sum()),
                float(gap.min(initial=np.inf)),
            )
        )
        return layer, lines

    def _thetas(
        self,
        sums: SumSignal,
        lines: list[Pipeline],
        zero: Literal[1, -1, 0],
        position: int,
        ends: tuple[Ints, Ints],
    ) -> list[tuple[Fraction, Fraction] | None]:
        """The threshold of each channel on real values; None where sign(0) is neither,
        which real values can meet.
        """
        channels = len(lines)
        if zero == 0:
            return [None] * channels
        offsets = sums.offset.reshape(channels, -1)[:, position]
        return [
            theta_of(lines[c], zero, sums.unit[c], offsets[c], int(ends[0][c]), int(ends[1][c]))
            for c in range(channels)
        ]

    # -- sums ------------------------------------------------------------------------------------------------

    def _level_sums(self, raw: RawSignal, op: LinearOp | Convolution) -> SumSignal:
        """A linear layer or convolution on raw whole numbers, by their levels (docs/theory.md 3.1)."""
        if not isinstance(self.inputs, Integers):
            raise FileError(
                f"{op.where} reads inputs that are not binarized. Say what they are: inputs=Integers(0, 255) "
                "for pixels, with step= and start= where the samples are rescaled before they "
                "enter the network."
            )
        channels = raw.shape[0] if len(raw.shape) == 3 else len(raw.order)
        lines = {pipeline.line() for pipeline in pipelines(raw.steps, channels)}
        if len(lines) != 1 or None in lines:
            raise FileError(
                f"{op.where}: the inputs are rescaled differently for different channels, or with a square "
                f"root, so levels do not add up."
            )
        scale, shift = next(line for line in lines if line is not None)
        domain = self.inputs
        start, step = scale * domain.value(domain.low) + shift, scale * domain.step
        top = domain.high - domain.low
        self.encoder = Encoder.of_integers(len(raw.order), domain.low, domain.high)
        weights, unit = in_units(op.weights, op.where)
        bias, units = bias_of(op), [u * step for u in unit]
        if isinstance(op, LinearOp):
            if len(raw.shape) != 1 or op.weights.shape[1] != len(raw.order):
                raise FileError(
                    f"{op.where}: {op.weights.shape[1]} weights a neuron for inputs of shape {raw.shape}."
                )
            rows = np.zeros_like(weights)
            rows[:, raw.order] = weights
            totals = rows.sum(axis=1).tolist()
            offset = [b + u * start * t for b, u, t in zip(bias, unit, totals, strict=True)]
            return SumSignal(
                op.where,
                rows,
                units,
                np.array(offset, dtype=object),
                (len(rows),),
                tops=(top,) * len(raw.order),
            )
        if len(raw.shape) != 3:
            raise FileError(f"{op.where}: a convolution of flat inputs.")
        zeros = (Fraction(0),) * raw.shape[0]
        pad = padded(raw.pad, Padding(op.pads, zeros), op.where) or Padding((0, 0, 0, 0), zeros)
        window = Window(raw.shape, op.weights.shape[2:], op.stride, op.dilation, pad.pads)
        kinds, kind_of = np.unique(window.taps >= 0, axis=0, return_inverse=True)
        taps = weights.reshape(*weights.shape[:2], -1).sum(axis=1)
        totals, outer = (taps @ kinds.T).tolist(), pad_pulls(op, weights, kinds, pad.fill)
        constants = [
            [b + u * (start * t + o) for t, o in zip(row, rim, strict=True)]
            for b, u, row, rim in zip(bias, unit, totals, outer, strict=True)
        ]
        shape = (len(weights), *window.positions)
        flat = np.array(constants, dtype=object)[:, kind_of.reshape(-1)].reshape(-1)
        return SumSignal(op.where, weights, units, flat, shape, window, op.groups, (top,) * window.inputs)

    def _pool_bits(self, bits: BitSignal, op: MaxPool) -> BitSignal:
        """The largest of bits: any, or every where off is the larger value."""
        if len(bits.shape) != 3 or not np.array_equal(bits.order, np.arange(len(bits.order))):
            raise FileError(f"{op.where}: max pooling of flat or reordered values.")
        if bits.pad is not None:
            raise FileError(
                f"{op.where}: max pooling of padded maps. Use the padding of the pooling itself, "
                f"which never counts."
            )
        window = Window(bits.shape, op.kernel, op.stride, op.dilation, op.pads)
        pairs = values_by_channel(bits, f"{op.where}: max pooling")
        self.layers.append(PoolLayer(window, [high < low for low, high in pairs]))
        per = prod(window.positions)
        low, high = (np.repeat(np.array([pair[k] for pair in pairs], dtype=object), per) for k in (0, 1))
        return BitSignal((bits.shape[0], *window.positions), np.arange(len(low)), low, high)

    # -- the end ---------------------------------------------------------------------------------------------

    def finish(self, names: Iterable[object] | None, classes: Iterable[object] | None) -> Imported:
        """The head, from the sums that are left."""
        sums = self.signal
        if not isinstance(sums, SumSignal):
            raise FileError(
                f"{self.chain.source} ends without class scores: its last operation must be a linear layer, "
                f"with or without scaling."
            )
        if sums.tops is not None:
            raise FileError(
                f"{self.chain.source}: the only layer reads raw numbers. A network needs at least one sign."
            )
        sums = unrolled(sums)
        if sums.pool is not None:
            raise FileError(f"{self.chain.source}: max pooling of class scores.")
        assert self.encoder is not None
        order = sums.order(len(sums.weights))
        lines = pipelines(sums.steps, len(sums.weights))
        head, remark = head_of(
            sums.weights[order],
            [sums.unit[j] for j in order],
            list(sums.offset[order]),
            [lines[j] for j in order],
            sums.where,
        )
        encoder, layers = Encoder(self.encoder.codings, _pixel_names(self.chain.shape)), tuple(self.layers)
        if self.chain.channels_last and len(self.chain.shape) == 3:
            encoder, layers, head = pixel_by_pixel(encoder, layers, head, self.chain.shape)
        shape = source_shape(self.chain)
        encoder = Encoder(
            encoder.codings, encoder.names if names is None else names, shape if len(shape) > 1 else None
        )
        remarks = [f"left out at the end: {name}" for name in self.chain.left_out] + (
            [remark] if remark else []
        )
        source = self._source("other" if self.chain.picks else "ordered" if remarks else "equal", remarks)
        network = Network(encoder, layers, head, classes, {"source": self.chain.source}, source)
        return Imported(network, tuple(self.reports), tuple(remarks), shape, signs=tuple(self.signs))

    def _source(self, outputs: Literal["equal", "ordered", "other"], remarks: list[str]) -> Source:
        match self.inputs:
            case Integers(step=step, start=start):
                return Source(start, step, outputs, "; ".join(remarks))
            case BitInputs(low=low, high=high) if low != high:  # a bit is the raw number 0 or 1
                return Source(low, Fraction(high) - Fraction(low), outputs, "; ".join(remarks))
        return Source(outputs=outputs, remark="; ".join(remarks))


def _word(op: Op) -> str:
    return type(op).__name__.removesuffix("Op")


def _if_known(theta: list[tuple[Fraction, Fraction] | None] | None) -> list[tuple[Fraction, Fraction]] | None:
    known = [] if theta is None else [ends for ends in theta if ends is not None]
    return known if theta is not None and len(known) == len(theta) else None


def _pixel_names(shape: tuple[int, ...]) -> list[str] | None:
    """Names of raw features that are pixels."""
    if len(shape) != 3:
        return None
    channels, height, width = shape
    front = [f"channel {c} " for c in range(channels)] if channels > 1 else [""]
    return [f"{c}pixel ({y},{x})" for c in front for y in range(height) for x in range(width)]
