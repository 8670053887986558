"""Turn a chain of operations into the exact network. Signs become thresholds, quantizers become stairs, sums
become match counts, and pooling becomes any or every.

The chain is processed once. At every point the signal is one of three things:

- raw inputs
- levels, with the values that they represent (bits are levels 0 and 1)
- sums of levels that wait for their sign or their stairs, with the steps between
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isinf, prod
from typing import Any, Literal, NamedTuple

import numpy as np

from sugenet.errors import FileError, NetworkError, TieError
from sugenet.io.exact.branches import Straight, straightened
from sugenet.io.exact.domains import Bits, Inputs, Integers, Reals, cut_inputs, line_of
from sugenet.io.exact.head import head_of, head_of_tail, is_affine, see_apart
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Convolution,
    Flatten,
    Leaky,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Quantize,
    Sign,
    op_word,
)
from sugenet.io.exact.pixels import pixel_by_pixel, pixel_names, source_shape
from sugenet.io.exact.report import ImportReport, LayerReport, SignLocation
from sugenet.io.exact.signals import (
    LevelSignal,
    Padding,
    RawSignal,
    SumSignal,
    averaged_levels,
    averaged_sums,
    cases_of,
    convolution_of_levels,
    ends_of,
    flat_order,
    flattened_step,
    identity_of_levels,
    linear_of_levels,
    linear_of_means,
    mapped,
    numbered,
    padded,
    padding_past,
    plain_offset,
    stepped,
    thresholds_at,
    unrolled,
    values_by_channel,
)
from sugenet.io.exact.steps import Pipeline, pipelines, sign_of, smallest_sum, theta_of, within
from sugenet.io.exact.units import Roots
from sugenet.io.plain.refusals import expected, refuse_if
from sugenet.nn import (
    ConvLayer,
    Encoder,
    Head,
    Layer,
    Network,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    RealLayer,
    Source,
    Window,
)
from sugenet.nn.arrays import Bits as BitArray
from sugenet.nn.arrays import Doubles, Ints
from sugenet.nn.layers import dense_layer

__all__ = ["WAY", "Refusal", "lower", "lowered"]

_STEPS = 1 << 20
"""Largest number of steps of one layer, each of which is computed exactly."""


def lower(
    chain: OpChain,
    inputs: Inputs | None = None,
    *,
    zero: Literal[1, -1] | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> ImportReport:
    """Make a chain of operations exact.

    Parameters
    ----------
    chain
        The operations that a reader found.
    inputs
        The values that raw samples can have: `Integers`, `Reals` or `Bits`. Required if the first layer reads
        inputs that are not binarized. Otherwise they are real numbers, each compared with a threshold.
    zero
        Value of sign(0), if the file defines it as 0 and zero can occur. Without it, such a file is refused.
    names, classes
        Names of raw features and classes.

    Raises
    ------
    FileError
        If the chain cannot be exact. The message names the operation, the reason and the nearest alternative.
    """
    outcome = lowered(chain, inputs, zero=zero, names=names, classes=classes)
    if isinstance(outcome, Refusal):
        raise FileError(outcome.text)
    return outcome


@dataclass(frozen=True)
class Refusal:
    """The reason why a chain cannot be exact."""

    text: str
    operation: int | None = None
    """Index of the operation in the chain without branches; None if no single operation is the reason."""
    final: bool = True
    """Whether an affine tail cannot be read in another way either."""


def lowered(
    chain: OpChain,
    inputs: Inputs | None = None,
    *,
    zero: Literal[1, -1] | None = None,
    names: Iterable[object] | None = None,
    classes: Iterable[object] | None = None,
) -> ImportReport | Refusal:
    """Do the same as `lower`, but return a refusal as a value."""
    try:
        walk = _Lowering(straightened(chain, zero, inputs), inputs, zero)
        refusal = walk.run()
        if refusal is None:
            return walk.finish(names, classes)
        tail = walk.chain.ops[walk.behind :]
        if not refusal.final and walk.n_signs and walk.levels is not None and is_affine(tail):
            return walk.finish(names, classes, walk.levels, tail)
        return refusal
    except FileError as error:
        return Refusal(str(error))


WAY = " Or read the rest exactly and leave this layer in floats: strict=False."


def _at_an_end(chain: OpChain, number: int) -> bool:
    """Return whether an operation is before the first sign or after the last one, with layers between."""
    signs = [index for index, op in enumerate(chain.ops) if isinstance(op, Sign | Quantize)]
    if not signs or signs[0] < number < signs[-1]:
        return False
    middle = chain.ops[signs[0] :] if number < signs[0] else chain.ops[: signs[-1]]
    return any(isinstance(op, LinearOp | Convolution | Branches) for op in middle)


@dataclass
class _Lowering:
    """The signal so far, and the layers made from it."""

    straight: Straight
    inputs: Inputs | None
    zero: Literal[1, -1] | None
    encoder: Encoder | None = None
    layers: list[Layer] = field(default_factory=list)
    reports: list[LayerReport] = field(default_factory=list)
    n_signs: int = 0
    """Number of signs of the chain that were processed."""
    remarks: list[str] = field(default_factory=list)
    blurred: bool = False
    """Whether rounded factors of the inputs could change a neuron that has no threshold on real values."""

    def __post_init__(self) -> None:
        self.chain = self.straight.chain
        self.signs = [SignLocation(number, where, None) for number, where in enumerate(self.straight.signs)]
        shape = self.chain.shape
        indices = np.arange(prod(shape))
        self.signal: RawSignal | LevelSignal | SumSignal = RawSignal(shape, indices)
        self.declared_inputs = self.inputs
        if isinstance(self.inputs, Integers) and self.inputs.channels > 1:
            domain = self.inputs
            refuse_if(
                domain.channels != shape[0],
                self.chain.source,
                f"inputs have a step or start for each of {domain.channels} "
                f"{'channels' if len(shape) == 3 else 'features'}, but samples have {shape[0]}.",
            )
            before = Affine("inputs", np.array(domain.steps, object), np.array(domain.starts, object))
            self.signal = RawSignal(shape, indices, (before,))
            self.inputs = Integers(domain.low, domain.high)
        if isinstance(self.inputs, Bits):
            self.encoder = Encoder.of_bits(len(indices))
            self.signal = _levels(shape, indices, Fraction(self.inputs.low), Fraction(self.inputs.high))

        self.levels = self.signal if isinstance(self.signal, LevelSignal) else None
        """The last levels without padding, which an affine tail can read."""
        self.behind = 0
        """Index of the first operation after them."""

    def run(self) -> Refusal | None:
        """Process all operations, up to the first that is refused."""
        for number, op in enumerate(self.chain.ops):
            where = f"{self.chain.source}: operation {number}"
            try:
                self.take(op)
            except NetworkError as error:
                return Refusal(f"{where}, {op.where}: {error}", number)
            except OverflowError:
                return Refusal(f"{where}, {op.where}: its numbers are too far apart to compute with.", number)
            except FileError as error:
                way = WAY if _at_an_end(self.chain, number) else ""
                return Refusal(f"{where}: {error}{way}", number, final=False)
            if isinstance(self.signal, LevelSignal) and self.signal.pad is None:
                self.levels, self.behind = self.signal, number + 1
        return None

    # -- one operation ---------------------------------------------------------------------------------------

    def take(self, op: Op) -> None:
        """Move the signal past one operation."""
        signal = self.signal
        if isinstance(op, Quantize) and op.top == 1:  # two levels are a sign
            shift = -np.array([Fraction(v) for v in np.asarray(op.thresholds)[:, 0].tolist()], dtype=object)
            self.take(Affine(op.where, np.ones(1), shift))
            self.take(Sign(op.where, -1 if op.strict[0] else 1, 0.0, 1.0))
            return
        if isinstance(signal, LevelSignal) and signal.top > 1 and isinstance(op, Sign | Quantize):
            signal = identity_of_levels(signal, op.where)
        if isinstance(signal, RawSignal):
            self.signal = self._from_raw(signal, op)
        elif isinstance(signal, LevelSignal):
            self.signal = self._from_levels(signal, op)
        else:
            self.signal = self._from_sums(signal, op)
        if isinstance(op, Sign | Quantize):
            self._place(op, signal)

    def _place(self, op: Sign | Quantize, before: RawSignal | LevelSignal | SumSignal) -> None:
        """Record the location of a sign, and of the signs of the file that it contains."""
        assert isinstance(self.signal, LevelSignal)
        parts, seen = self.straight.parts[self.n_signs], self.straight.reports.get(self.n_signs)
        self.n_signs += 1
        report = None if isinstance(before, LevelSignal) else len(self.reports) - 1
        made = SignLocation(parts[0].number, op.where, None, report=report)
        if isinstance(before, SumSignal):
            order = self.signal.order
            indices = None if np.array_equal(order, np.arange(len(order))) else np.argsort(order)
            made = replace(made, where=before.where, layer=len(self.layers) - 1, places=indices)
        if seen is None:
            self.signs[made.number] = made
            return
        if made.layer is not None and made.places is None:
            for part in parts:
                self.signs[part.number] = replace(made, number=part.number, where=part.where, part=part.part)
        if report is not None:
            layer_report = self.reports[report]
            self.reports[report] = replace(
                seen, kind=layer_report.kind, neurons=layer_report.neurons, constant=layer_report.constant
            )

    def _from_raw(self, raw: RawSignal, op: Op) -> RawSignal | LevelSignal | SumSignal:
        match op:
            case Affine() | BatchNorm() | Clip() | Leaky():
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
            case Sign() | Quantize():
                return self._cut(raw, op)
            case Pad() if len(raw.shape) == 3:
                return replace(
                    raw, pad=padded(raw.pad, Padding(op.pads, (Fraction(op.value),) * raw.shape[0]), op.where)
                )
            case LinearOp() | Convolution():
                return self._from_levels(self._raw_levels(raw, op), op)
        raise FileError(
            f"{op.where}: {op_word(op)} on inputs that are "
            f"{'padded' if raw.pad else 'not binarized yet'}. Only signs, "
            "linear layers and convolutions can be."
        )

    def _from_levels(self, levels: LevelSignal, op: Op) -> LevelSignal | SumSignal:
        match op:
            case Affine() | Clip() | Leaky() | Sign() | Quantize():
                return mapped(levels, op)
            case Branches():
                raise FileError(f"{op.where}: a shortcut adds real values without a sign after them.")
            case BatchNorm():
                raise FileError(
                    f"{op.where}: batch norm directly after a sign or a quantizer gives values with square "
                    "roots. Put it before that, or fold it into the next layer first."
                )
            case Flatten():
                refuse_if(
                    levels.pad is not None,
                    op.where,
                    "flattens padded maps. Pad before convolutions and pooling only.",
                )
                flat = flat_order(np.arange(prod(levels.shape)), levels.shape, op.order)
                order, start, step = (row[flat] for row in (levels.order, levels.start, levels.step))
                return replace(levels, shape=(len(flat),), order=order, start=start, step=step)
            case Pad():
                refuse_if(len(levels.shape) != 3, op.where, "padding of flat values.")
                around = Padding(op.pads, (Fraction(op.value),) * levels.shape[0])
                return replace(levels, pad=padded(levels.pad, around, op.where))
            case MaxPool():
                return self._pool_levels(levels, op)
            case AveragePool():
                return averaged_levels(levels, op)
            case LinearOp():
                return linear_of_levels(levels, op)
            case Convolution():
                return convolution_of_levels(levels, op)
        raise AssertionError(op)

    def _from_sums(self, sums: SumSignal, op: Op) -> LevelSignal | SumSignal:
        match op:
            case Affine() | BatchNorm() | Clip() | Leaky():
                return stepped(sums, op)
            case LinearOp() if sums.mean and op.maps is None:
                return linear_of_means(sums, op)
            case MaxPool():
                refuse_if(
                    sums.pool is not None or sums.flat or len(sums.shape) != 3,
                    op.where,
                    "a second pooling, or pooling of flat values, before one sign.",
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
            case Quantize():
                return self._quantize(sums, op)
        raise FileError(
            f"{op.where}: {op_word(op)} after {sums.where} without a sign between. Two linear steps "
            "in a row are one: multiply them together first; real-valued shortcuts are not supported."
        )

    # -- signs -----------------------------------------------------------------------------------------------

    def _cut(self, raw: RawSignal, op: Sign | Quantize) -> LevelSignal:
        """Apply a sign or a quantizer to raw inputs: one threshold per feature, or several."""
        domain = Reals() if self.inputs is None else self.inputs
        assert not isinstance(domain, Bits)
        channels = raw.shape[0]
        channel_of = np.repeat(np.arange(channels), len(raw.order) // channels)[np.argsort(raw.order)]
        lines = pipelines(raw.steps, channels)
        if isinstance(op, Sign):
            top, low, high, strict = 1, Fraction(op.low), Fraction(op.high), [self._zero(op) == -1]
            rows: list[tuple[Fraction, ...]] = [(Fraction(0),)] * channels
        else:
            top, low, high = op.top, Fraction(0), Fraction(op.top)
            rows, strict = thresholds_at(op, channels), op.strict.tolist()
        cuts = cut_inputs([lines[c] for c in channel_of], [rows[c] for c in channel_of], strict, domain)
        ties = cuts.ties if isinstance(op, Sign) else cuts.ties * 0
        refuse_if(
            isinstance(op, Sign) and self._zero(op) == 0 and ties.any(),
            f"input {int(np.argmax(ties))} can be exactly zero, where sign is 0 and not -1 or +1. "
            f"Declare zero=1 or zero=-1.",
        )
        self.encoder, rises = cuts.encoder, cuts.rises
        self.reports.append(
            LayerReport(op.where, "inputs", len(rises), int((~rises).sum()), 0, int(ties.sum()))
        )
        up, size = rises[raw.order], (high - low) / top
        start = np.array([low if rising else high for rising in up], dtype=object)
        step = np.array([size if rising else -size for rising in up], dtype=object)
        # levels that no raw number has are not among them
        start, top = start + step * cuts.first, self.encoder.codings[0].width
        return LevelSignal(raw.shape, raw.order, start, step, top, padding_past(raw.pad, op))

    def _zero(self, op: Sign) -> Literal[1, -1, 0]:
        return self.zero if op.zero == 0 and self.zero is not None else op.zero

    def _sign(self, sums: SumSignal, op: Sign) -> LevelSignal:
        """Apply a sign to sums: one threshold per neuron."""
        lines = pipelines(sums.steps, len(sums.weights))
        make = self._real_layer if sums.real else self._threshold_layer
        return self._made(sums, make(sums, lines, self._zero(op)), lines, Fraction(op.low), Fraction(op.high))

    def _made(
        self,
        sums: SumSignal,
        layer: Layer,
        lines: list[Pipeline],
        low: Fraction,
        high: Fraction,
        top: int = 1,
    ) -> LevelSignal:
        """Return the output of a layer, after the pooling that waits for it."""
        self.layers.append(layer)
        if sums.floats:
            self.remarks.append(
                f"{sums.where}: its weights are floats, taken as the exact numbers that they are; a "
                "binarized layer would have weights of one size"
            )
        if sums.error:
            self._remark(sums, self.reports[-1].nearest)
        count = layer.outputs
        if sums.pool is not None:
            per = max(len(lines) // sums.pool.shape[0], 1)
            every = [line.direction(sums.pool_at) < 0 for line in lines[::per]]
            self.layers.append(PoolLayer(sums.pool, every, top=None if top == 1 else top))
            count = self.layers[-1].outputs
        return _levels(sums.shape, sums.order(count), low, high, top)

    def _quantize(self, sums: SumSignal, op: Quantize) -> LevelSignal:
        """Apply a quantizer to sums: each of its thresholds is a step of every neuron."""
        refuse_if(
            sums.real,
            op.where,
            "a quantizer of sums of real numbers. Only a sign can be: give integers, inputs=Integers(...).",
        )
        if sums.window is not None and sums.pad is None and (sums.window.taps < 0).any():
            sums = unrolled(sums)  # the padding is not a level, so borders have their own steps
        sums, kinds = numbered(sums, op.where)
        rows = thresholds_at(op, int(kinds.max()) + 1)
        channels = len(sums.weights)
        refuse_if(
            channels * op.top > _STEPS,
            op.where,
            f"{channels} neurons with {op.top} steps each are more than the {_STEPS:,} steps "
            "that are worked out. Use fewer bits.",
        )
        lines = pipelines(sums.steps, channels)
        case = (ends_of(sums.weights, sums.top), plain_offset(sums))
        min_sums = _min_sums(sums, lines, [rows[k] for k in kinds], op.strict.tolist(), [case])
        weights, steps = min_sums.weights, min_sums.steps[:, 0]
        layer: Layer
        if sums.window is None:
            layer = QuantizedLayer.from_sums(weights, steps.tolist(), [sums.top] * weights.shape[1])
        else:
            layer = QuantizedConv(weights, steps, sums.window, sums.groups, top=sums.top, pad=sums.pad or 0)
        self._report(sums, layer, min_sums.flipped, min_sums.ties, min_sums.nearest.min())
        return self._made(sums, layer, lines, Fraction(0), Fraction(op.top), op.top)

    def _threshold_layer(self, sums: SumSignal, lines: list[Pipeline], zero: Literal[1, -1, 0]) -> Layer:
        cases, case_of = cases_of(sums)
        min_sums = _min_sums(sums, lines, [[Fraction(0)] * 2] * len(lines), [False, True], cases)
        flipped, weights = min_sums.flipped, min_sums.weights
        at_zero, above = np.moveaxis(min_sums.steps - min_sums.lows[:, :, None], 2, 0)
        tied = at_zero < above
        if tied.any() and zero == 0:
            case, c = np.argwhere(tied.T)[0].tolist()
            size, matches = int(np.ptp(cases[case][0][c])), int(at_zero[c, case])
            raise TieError(
                f"neuron {c + 1}: {size - matches if flipped[c] else matches} matches of {size} give "
                "exactly zero, where sign is 0 and not -1 or +1. Declare zero=1 or zero=-1."
            )
        tau = above if zero == -1 else at_zero
        marks = {"flipped": flipped, "ties": tied.any(axis=1)}
        top = sums.top if sums.raw or sums.top > 1 else None
        layer: Layer
        if sums.window is not None:
            positions = tau[:, case_of].reshape(len(lines), *sums.window.positions)
            layer = ConvLayer(weights, positions, sums.window, sums.groups, top, **marks)
        else:
            tops = None if top is None else np.full(weights.shape[1], top)
            layer = dense_layer(weights, tau[:, 0], tops, **marks)
        self._report(sums, layer, flipped, marks["ties"], min_sums.nearest[int(zero == -1)])
        return layer

    def _report(
        self, sums: SumSignal, layer: Layer, flipped: BitArray, ties: BitArray, nearest: float
    ) -> None:
        kind = type(layer).__name__.removesuffix("Layer").lower()
        counts = (layer.outputs, int(flipped.sum()), int(layer.constant.sum()), int(ties.sum()))
        self.reports.append(LayerReport(sums.where, kind, *counts, float(nearest)))

    def _real_layer(self, sums: SumSignal, lines: list[Pipeline], zero: Literal[1, -1, 0]) -> RealLayer:
        """Return the layer over real numbers.

        Constant neurons read nothing. Thresholds are as far apart as rounded factors can matter within the
        bounds of the inputs.
        """
        channels = len(sums.weights)
        if zero == 0:
            raise FileError(
                f"{sums.where}: sums of real numbers can be exactly zero, where sign is 0 and not -1 or +1. "
                "Declare zero=1 or zero=-1."
            )
        offsets = sums.offset.reshape(channels, -1)
        flipped, weights = _turned(sums, lines)
        largest = self._largest()
        theta: list[tuple[Fraction, Fraction]] = []
        constant = 0
        for c, line in enumerate(lines):
            known = {o: theta_of(line, zero, sums.unit[c], o) for o in set(offsets[c].tolist())}
            ends = [known[o] for o in offsets[c].tolist()]
            if any(isinstance(end, bool) for end in ends):  # then all positions are constant
                weights[c], constant = 0, constant + len(ends)
                ends = [(Fraction(not end),) * 2 for end in ends]
            elif sums.error and largest is not None:
                off = sums.error * largest / abs(sums.unit[c])
                ends = [(low - off, high + off) for low, high in ends]  # type: ignore[misc]
            theta += ends  # type: ignore[arg-type]
        layer = RealLayer(weights, theta, sums.window, sums.groups)
        self.reports.append(
            LayerReport(
                sums.where, "real", layer.outputs, int(flipped.sum()), constant, layer.outputs - constant
            )
        )
        return layer

    def _largest(self) -> Fraction | None:
        """Return the largest absolute value of a real input, at least 1; None if inputs are unbounded."""
        assert isinstance(self.inputs, Reals)
        ends = (self.inputs.low, self.inputs.high)
        return None if any(map(isinf, ends)) else max(Fraction(1), *(abs(Fraction(end)) for end in ends))

    def _remark(self, sums: SumSignal, nearest: float) -> None:
        """Add a remark on the error of the factors of raw inputs, and its possible effects."""
        off = float(sums.error)
        if sums.real:
            self.blurred = self._largest() is None
            self.remarks.append(
                f"{sums.where}: the factors of its inputs have square roots, or no short common unit, and "
                "are kept to 54 bits of the largest"
                + (
                    "; without bounds on the inputs the rest may matter: inputs=Reals(low, high)"
                    if self.blurred
                    else "; boxes of real inputs allow for the rest"
                )
            )
            return
        if 2 * off < nearest:
            self.remarks.append(
                f"{sums.where}: its inputs are rescaled with a square root that is kept to 192 bits; no sum "
                "of integers is so near a threshold that the rest matters"
            )
            return
        self.blurred = True
        self.remarks.append(
            f"{sums.where}: the factors of its inputs have square roots, or no short common unit, and are "
            f"rounded: a sum is off by at most {off:.2g}, and a neuron that comes nearer than that to its "
            "threshold may differ from the exact one"
        )

    # -- sums ------------------------------------------------------------------------------------------------

    def _raw_levels(self, raw: RawSignal, op: LinearOp | Convolution) -> LevelSignal:
        """Rescale raw numbers: integers are levels (docs/theory.md 3.1), real ones stay as they are (3.6)."""
        domain, count, real = self.inputs, len(raw.order), isinstance(self.inputs, Reals)
        if not isinstance(domain, Integers | Reals):
            raise FileError(
                f"{op.where} reads inputs that are not binarized. Say what they are: inputs=Integers(0, 255) "
                "for pixels, inputs=Integers(0, 255, step=Fraction(1, 255)) where they are divided by 255 "
                "before they enter the network, inputs=Integers(0, 255, step=Fraction(1, 255), "
                "start=Fraction(-1, 2)) where 1/2 is taken away then, inputs=Reals() for floats as they are."
            )
        channels, roots = raw.shape[0], Roots()
        straightened = [roots.straight(pipeline) for pipeline in pipelines(raw.steps, channels)]
        lines = [line for line in straightened if line is not None]
        refuse_if(
            len(lines) < len(straightened),
            op.where,
            "the inputs are clipped, so that levels do not add up. Clip the samples before "
            "they enter the network, and leave the clipping out of it.",
        )
        first, unit, top, largest = Fraction(0), Fraction(1), 1, Fraction(1)
        if isinstance(domain, Integers):
            first, unit, top = domain.value(domain.low), domain.step, domain.high - domain.low
            largest = max(abs(first), abs(domain.value(domain.high)))
            self.encoder = Encoder.of_integers(count, domain.low, domain.high)
        else:
            self.encoder = Encoder.of_reals(count, domain.low, domain.high)
        start, step, error = (
            np.repeat(np.array(values, dtype=object), count // channels)
            for values in (
                [line.scale * first + line.shift for line in lines],
                [line.scale * unit for line in lines],
                [line.error(largest) for line in lines],
            )
        )
        known = error if error.any() else None
        return LevelSignal(raw.shape, raw.order, start, step, top, raw.pad, True, real, known)

    def _pool_levels(self, levels: LevelSignal, op: MaxPool) -> LevelSignal:
        """Return the largest of levels. For bits this is any, or every if off is the larger value."""
        refuse_if(
            len(levels.shape) != 3 or not np.array_equal(levels.order, np.arange(len(levels.order))),
            op.where,
            "max pooling of flat or reordered values.",
        )
        refuse_if(
            levels.pad is not None,
            op.where,
            "max pooling of padded maps. Use the padding of the pooling itself, which never counts.",
        )
        window = Window(levels.shape, op.kernel, op.stride, op.dilation, op.pads)
        pairs = values_by_channel(levels, f"{op.where}: max pooling")
        every = [step < 0 for _, step in pairs]
        self.layers.append(PoolLayer(window, every, top=None if levels.top == 1 else levels.top))
        per = prod(window.positions)
        start, step = (np.repeat(np.array([pair[k] for pair in pairs], dtype=object), per) for k in (0, 1))
        shape = (levels.shape[0], *window.positions)
        return LevelSignal(shape, np.arange(len(start)), start, step, levels.top)

    # -- the end ---------------------------------------------------------------------------------------------

    def finish(
        self,
        names: Iterable[object] | None,
        classes: Iterable[object] | None,
        levels: LevelSignal | None = None,
        tail: Sequence[Op] = (),
    ) -> ImportReport:
        """Return the network, with the head: sums, or levels and a float tail after them."""
        outputs: Literal["equal", "ordered", "other"]
        if levels is None:
            head, remark = self._head()
            outputs, error = "ordered" if remark else "equal", 0.0
            if head.outputs > prod(self.signal.shape):  # two classes of one output
                outputs = "other"
        else:
            head, remark, error = head_of_tail(levels, tail, self.chain.source)
            outputs = "other" if remark else "equal"
        assert self.encoder is not None
        see_apart(head, self.chain.left_out, self.chain.source)
        encoder, layers = Encoder(self.encoder.codings, pixel_names(self.chain.shape)), tuple(self.layers)
        if self.chain.channels_last and len(self.chain.shape) == 3:
            encoder, layers, head = pixel_by_pixel(encoder, layers, head, self.chain.shape)
        shape = source_shape(self.chain)
        encoder = Encoder(
            encoder.codings, encoder.names if names is None else names, shape if len(shape) > 1 else None
        )
        remarks = [f"left out at the end: {name}" for name in self.chain.left_out] + (
            [remark] if remark else []
        )
        if self.chain.picks or self.blurred:
            outputs = "other"
        elif remarks and outputs == "equal":
            outputs = "ordered"
        remarks += self.remarks
        source = self._source(outputs, remarks)
        network = Network(encoder, layers, head, classes, {"source": self.chain.source}, source)
        return ImportReport(
            network, tuple(self.reports), tuple(remarks), shape, signs=tuple(self.signs), error=error
        )

    def _head(self) -> tuple[Head, str | None]:
        """Return the head of the remaining sums."""
        sums = self.signal
        if isinstance(sums, LevelSignal) and self.layers and sums.pad is None:
            return self._head_of_levels(sums)
        sums = expected(
            sums,
            SumSignal,
            f"{self.chain.source} ends without class scores: its last operation must be a linear layer, "
            "with or without scaling, or a sign after one.",
        )
        refuse_if(
            sums.raw,
            self.chain.source,
            "the only layer reads raw numbers. A network needs at least one sign.",
        )
        sums = unrolled(sums)
        refuse_if(sums.pool is not None, self.chain.source, "max pooling of class scores.")
        order = sums.order(len(sums.weights))
        lines = pipelines(sums.steps, len(sums.weights))
        return head_of(
            sums.weights[order],
            [sums.unit[j] for j in order],
            list(sums.offset[order]),
            [lines[j] for j in order],
            sums.where,
            sums.top,
        )

    def _head_of_levels(self, levels: LevelSignal) -> tuple[Head, None]:
        """Return the head of a network that ends with a sign or quantizer: its values are the scores.

        A single output has two classes, for its lower and its higher value.
        """
        sums = identity_of_levels(levels, self.chain.source)
        sums = replace(unrolled(sums), window=None)
        order, rows = sums.order(len(sums.weights)), len(sums.weights)
        weights, units, offsets = sums.weights[order], [sums.unit[j] for j in order], list(sums.offset[order])
        if rows == 1:
            refuse_if(
                levels.top > 1,
                self.chain.source,
                f"ends with one output of {levels.top + 1} levels, which says no class. End with a sign.",
            )
            middle = (levels.start[0] + levels.end[0]) / 2
            weights = np.concatenate([weights * 0, weights])
            units, offsets = [Fraction(1), *units], [middle, *offsets]
            self.remarks.append("the only output is a sign: class 1 is its higher value, class 0 the lower")
        else:
            self.remarks.append(
                "the network ends with a sign or quantizer, so scores are often equal: "
                "the first class with the largest is the answer"
            )
        return head_of(weights, units, offsets, [Pipeline(())] * len(weights), sums.where, sums.top)[0], None

    def _source(self, outputs: Literal["equal", "ordered", "other"], remarks: list[str]) -> Source:
        start, step = line_of(self.declared_inputs)
        if isinstance(self.declared_inputs, Integers) and self.declared_inputs.channels > 1:
            per = prod(self.chain.shape[1:])
            order = [k // per for k in range(prod(self.chain.shape))]
            if self.chain.channels_last:
                order = [k % self.chain.shape[0] for k in range(len(order))]
            start, step = (
                tuple(row[k] if len(row) > 1 else row[0] for k in order)
                for row in (self.declared_inputs.starts, self.declared_inputs.steps)
            )
        return Source(start, step, outputs, "; ".join(remarks))


def _levels(shape: tuple[int, ...], order: Any, low: Fraction, high: Fraction, top: int = 1) -> LevelSignal:
    """Return levels between two values, the same everywhere."""
    start, step = (np.array([value] * len(order), dtype=object) for value in (low, (high - low) / top))
    return LevelSignal(shape, order, start, step, top)


class _MinSums(NamedTuple):
    """The smallest sums at which neurons reach their thresholds."""

    weights: Ints
    """Weights, negated in rows that fall with their sum. The sums are over these weights."""
    flipped: BitArray
    lows: Ints
    """The smallest sum of each row of weights and each case."""
    steps: Ints
    """Steps of each row, case and threshold; the largest sum plus one if no sum reaches the threshold."""
    ties: BitArray
    nearest: Doubles
    """For each threshold, the distance from the nearest sum to the point where it is reached."""


def _min_sums(
    sums: SumSignal,
    lines: list[Pipeline],
    rows: Sequence[Sequence[Fraction]],
    strict: Sequence[bool],
    cases: Sequence[tuple[Ints, Any]],
) -> _MinSums:
    """Return the smallest sums for the thresholds of each row of weights. Strict thresholds must be exceeded.

    Cases differ in their smallest and largest sums and in their constants.
    """
    flipped, weights = _turned(sums, lines)
    lows = np.empty((len(lines), len(cases)), np.int64)
    steps = np.empty((*lows.shape, len(strict)), np.int64)
    ties, nearest = np.zeros(len(lines), bool), np.full(len(strict), np.inf)
    for case, (ends, offset) in enumerate(cases):
        for c, line in enumerate(lines):
            low, high = (-ends[c][::-1] if flipped[c] else ends[c]).tolist()
            lows[c, case] = low
            for m, (at, above) in enumerate(zip(rows[c], strict, strict=True)):
                min_sum = smallest_sum(line, at, above, sums.unit[c], offset[c])
                steps[c, case, m] = within(min_sum, low, high)
                if not isinstance(min_sum, bool) and low < min_sum.least <= high:
                    ties[c] |= min_sum.met
                    nearest[m] = min(nearest[m], min_sum.gap * abs(float(sums.unit[c])))
    return _MinSums(weights, flipped, lows, steps, ties, nearest)


def _turned(sums: SumSignal, lines: list[Pipeline]) -> tuple[BitArray, Ints]:
    """Return which rows fall with their sum, and the weights with these rows negated."""
    flipped = np.array([line.direction() * sign_of(u) < 0 for line, u in zip(lines, sums.unit, strict=True)])
    turned = flipped.reshape(-1, *[1] * (sums.weights.ndim - 1))
    return flipped, np.where(turned, -sums.weights, sums.weights)
