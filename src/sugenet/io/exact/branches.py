"""Write a network with shortcuts as one chain, whose layers carry several values side by side.

Each lane holds two-valued maps. A sum of branches is a sum of lanes that is never written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import gcd, prod
from typing import Any, Literal, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.domains import Bits, Inputs
from sugenet.io.exact.evaluation import shape_behind
from sugenet.io.exact.head import is_affine
from sugenet.io.exact.integers import kernel_over, ungrouped
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
    every,
    numbers,
    op_word,
)
from sugenet.io.exact.report import LayerReport, SignLocation
from sugenet.io.exact.requantize import joined
from sugenet.io.exact.separation import Separation, separated
from sugenet.io.exact.signals import averaged_window, changed, flat_order
from sugenet.io.exact.steps import (
    HalfLine,
    Pipeline,
    Root,
    Step,
    Surd,
    per_channel,
    pipelines,
    smallest_sum,
    solved,
)
from sugenet.io.exact.units import bias_of, exact_weights, in_shared_units
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn import Window
from sugenet.nn.arrays import Array, Ints

__all__ = [
    "NEEDED",
    "Form",
    "Lane",
    "LaneNeurons",
    "LaneTerm",
    "RealValue",
    "Straight",
    "constants",
    "neurons_of",
    "picked_channels",
    "straightened",
    "summed",
    "wide_layer",
]

Row = Array
"""Exact numbers, one per channel."""
_LARGEST = 1 << 16
"""Largest weight of one neuron, in units as in `units`."""


@dataclass(frozen=True, eq=False)
class Lane:
    """Two-valued maps: (channels, height, width), or (features,)."""

    shape: tuple[int, ...]
    low: Row
    high: Row


@dataclass(frozen=True, eq=False)
class LaneTerm:
    """One lane in a form: for each channel of the form a channel of the lane (-1: none) and its factor."""

    lane: Lane
    source: Ints
    factors: Row

    def at(self, end: Row) -> Row:
        """Return a row of the lane for the channels of the form; channels without one have any number."""
        return np.asarray(end[self.source])


@dataclass(frozen=True, eq=False)
class Form:
    """A sum of channels of lanes, each times a factor, and a constant."""

    shape: tuple[int, ...]
    terms: tuple[LaneTerm, ...]
    shift: Row

    @classmethod
    def of(cls, lane: Lane) -> Form:
        """Return the form of one lane."""
        count = lane.shape[0]
        term = LaneTerm(lane, np.arange(count), constants(1, count))
        return cls(lane.shape, (term,), constants(0, count))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes that it reads."""
        return tuple(dict.fromkeys(term.lane for term in self.terms))

    def moved(self, op: Affine) -> Form:
        """Return the form, scaled and shifted."""
        scale, shift = (_row(values, self.shape[0], op.where) for values in (op.scale, op.shift))
        terms = tuple(replace(term, factors=term.factors * scale) for term in self.terms)
        return replace(self, terms=terms, shift=self.shift * scale + shift)

    def picked(self, channels: Ints) -> Form:
        """Return some channels in their order; -1 is a channel of zeros."""
        terms = tuple(
            LaneTerm(
                term.lane, np.where(channels < 0, -1, term.source[channels]), _picked(term.factors, channels)
            )
            for term in self.terms
        )
        held = tuple(term for term in terms if (term.source >= 0).any())
        return Form((len(channels), *self.shape[1:]), held, _picked(self.shift, channels))

    def over(self, kernel: Array) -> dict[Lane, Array]:
        """Return a kernel over the channels as kernels over the lanes."""
        kernels = {
            lane: np.full((len(kernel), lane.shape[0], *kernel.shape[2:]), Fraction(0), dtype=object)
            for lane in self.lanes
        }
        for term in self.terms:
            held = np.flatnonzero(term.source >= 0)
            scaled = kernel[:, held] * term.factors[held].reshape(-1, *[1] * (kernel.ndim - 2))
            for channel, column in zip(term.source[held].tolist(), scaled.swapaxes(0, 1), strict=True):
                kernels[term.lane][:, channel] += column
        return kernels

    def signed(self, op: Sign, zero: int | None) -> Form | None:
        """Return the sign of values that are two-valued, which is two-valued again.

        Return None for a sum, and if the sign of 0 is 0.
        """
        count = np.array([term.source >= 0 for term in self.terms]).reshape(-1, self.shape[0]).sum(axis=0)
        if (count > 1).any():
            return None
        at = op.zero or zero or 0

        def cut(values: Row) -> Row:
            return _exact(op.high if (value or at) > 0 else op.low for value in values)

        shift, terms = cut(self.shift), []
        seen = [self.shift[count == 0]]
        for term in self.terms:
            held, factors = np.flatnonzero(term.source >= 0), constants(0, self.shape[0])
            ends = [end[term.source[held]] for end in (term.lane.low, term.lane.high)]
            low, high = (self.shift[held] + term.factors[held] * end for end in ends)
            apart = ends[1] - ends[0]
            if not apart.all():
                return None
            factors[held] = (cut(high) - cut(low)) / apart
            shift[held] = cut(low) - factors[held] * ends[0]
            terms.append(replace(term, factors=factors))
            seen += [low, high]
        if not at and any((values == 0).any() for values in seen):
            return None
        return replace(self, terms=tuple(terms), shift=shift)


def _exact(values: Iterable[Any]) -> Row:
    return np.array([Fraction(value) for value in values], dtype=object)


def _picked(row: Row, channels: Ints) -> Row:
    return _exact(row[channel] if channel >= 0 else 0 for channel in channels.tolist())


@dataclass(frozen=True, eq=False)
class _RealTerm:
    """A layer over a form, and the steps after it."""

    layer: Convolution
    reads: Form
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False)
class RealValue:
    """A real value: a sum of terms and of a form that was added to them, and the steps after the addition.

    If there are several terms, their steps are affine.
    """

    terms: tuple[_RealTerm, ...]
    shape: tuple[int, ...]
    added: Form | None = None
    later: tuple[Step, ...] = ()

    @property
    def where(self) -> str:
        """The layers that it comes from."""
        return " and ".join(term.layer.where for term in self.terms)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """The lanes that it reads."""
        forms = [*(term.reads for term in self.terms), *([self.added] if self.added else [])]
        return tuple(dict.fromkeys(lane for form in forms for lane in form.lanes))

    @property
    def bits(self) -> tuple[LaneTerm, ...]:
        """The lanes that are added."""
        return () if self.added is None else self.added.terms

    def then(self, step: Step) -> RealValue:
        """Return the value after one more step."""
        if self.added is None and len(self.terms) == 1:
            return replace(self, terms=(replace(self.terms[0], steps=(*self.terms[0].steps, step)),))
        return replace(self, later=(*self.later, step))

    def picked(self, channels: Ints) -> RealValue:
        """Return some channels in their order; -1 is a channel of zeros."""
        held = Affine(self.where, (channels >= 0).astype(int), np.zeros(1))
        ends = (held,) if (channels < 0).any() else ()

        def chosen(steps: Sequence[Step]) -> tuple[Step, ...]:
            return (*(changed(step, lambda row: row[channels]) for step in steps), *ends)

        terms = tuple(
            _RealTerm(_picked_layer(term.layer, channels), term.reads, chosen(term.steps))
            for term in self.terms
        )
        added = None if self.added is None else self.added.picked(channels)
        later = chosen(self.later) if self.later else ()
        return RealValue(terms, (len(channels), *self.shape[1:]), added, later)

    def settled(self) -> RealValue:
        """Return the value with its last steps moved into the terms; all steps must be affine."""
        first, *others = self.terms
        if self.later and self.added is not None:
            others.append(_RealTerm(_depthwise(self.added.shape, self.where), self.added))
        terms = (
            replace(first, steps=(*first.steps, *self.later)),
            *(replace(term, steps=(*term.steps, *map(_scaling, self.later))) for term in others),
        )
        for term in terms:
            refuse_if(
                any(isinstance(step, Clip | Leaky) for step in term.steps),
                term.layer.where,
                f"a shortcut adds values after steps that are clipped or bent. {NEEDED}",
            )
        return RealValue(terms, self.shape, None if self.later else self.added)


def _picked_layer(layer: Convolution, channels: Ints) -> Convolution:
    """Return some outputs of a layer."""
    weights, bias = ungrouped(np.asarray(layer.weights), layer.groups)[channels], layer.bias
    return replace(
        layer, weights=weights, bias=None if bias is None else np.asarray(bias)[channels], groups=1
    )


def _scaling(step: Step) -> Step:
    """Return an affine step without its constant."""
    if isinstance(step, BatchNorm):
        return replace(step, beta=np.zeros_like(step.beta), mean=np.zeros_like(step.mean))
    return replace(step, shift=np.zeros(1)) if isinstance(step, Affine) else step


@dataclass(frozen=True, eq=False)
class _LaneNeuron:
    """One neuron over lanes."""

    weights: Row
    """Weights of shape (all channels of the lanes, kernel height, kernel width), exact numbers over the
    values of the lanes.
    """
    min_sum: Fraction
    """The smallest sum that is on."""
    falls: bool
    """Whether the neuron falls with its sum, so that its weights were negated."""
    met: bool
    """Whether a sum can be exactly at the threshold."""
    gap: float


@dataclass(frozen=True, eq=False)
class LaneNeurons:
    """A sign of sums of lanes: integer weights over lanes, and the smallest sum that is on."""

    where: str
    """The layer with these values."""
    sign: Sign
    shape: tuple[int, ...]
    lanes: tuple[Lane, ...]
    neurons: list[_LaneNeuron]
    """One per output channel."""
    window: Window

    @cached_property
    def lane(self) -> Lane:
        """The output lane."""
        low, high = (constants(value, self.shape[0]) for value in (self.sign.low, self.sign.high))
        return Lane(self.shape, low, high)


def constants(value: Any, count: int) -> Row:
    """Return a row with one number repeated."""
    return np.array([Fraction(value)] * count, dtype=object)


def _row(values: Any, count: int, where: str) -> Row:
    return np.array(per_channel(values, count, where), dtype=object)


def summed(where: str, forms: Sequence[Form]) -> Form:
    """Return the sum of forms. A lane that several forms read counts several times."""
    refuse_if(
        len({form.shape for form in forms}) > 1,
        where,
        f"it adds values of shapes {' and '.join(str(f.shape) for f in forms)}.",
    )
    terms: dict[tuple[Lane, bytes], LaneTerm] = {}
    for term in (term for form in forms for term in form.terms):
        key = term.lane, term.source.tobytes()
        known = terms.get(key)
        terms[key] = term if known is None else replace(term, factors=term.factors + known.factors)
    shift = sum((form.shift for form in forms), constants(0, forms[0].shape[0]))
    return Form(forms[0].shape, tuple(terms.values()), shift)


# -- a sign of sums ------------------------------------------------------------------------------------------


def neurons_of(value: RealValue, sign: Sign, zero: int) -> LaneNeurons:
    """Return the sign of a real value, as integer weights over lanes with one threshold each.

    Terms whose steps are rational, and what is added to them, are one integer combination. A single term may
    also have steps that are clipped or have a square root. Other sums are compared with sums whose factors
    are integers, at all values of the terms.
    """
    refuse_if(
        not value.lanes,
        value.where,
        "the values that it reads are the same for all samples. Leave out the layers before it, or train "
        "them again.",
    )
    count = value.shape[0]
    lines, later = [pipelines(term.steps, count) for term in value.terms], pipelines(value.later, count)
    several = len(lines) > 1 or value.added is not None
    neurons: list[_LaneNeuron | None] = [None] * count
    window = None
    if several and all(line.line() is not None for column in lines for line in column):
        whole, window = _channels(value, lines, later)
        neurons = [channel.solved(sign, zero) if channel.is_small else None for channel in whole]
    elif not several:
        bare = RealValue((replace(value.terms[0], steps=()),), value.shape)
        alone, window = _channels(bare, [[Pipeline(())] * count], later, lines[0])
        neurons = [channel.solved(sign, zero) for channel in alone]
    if window is None or None in neurons:
        mixed, window = _mixed_neurons(value, lines, later, sign, zero)
        neurons = [one or other for one, other in zip(neurons, mixed, strict=True)]
    made = [neuron for neuron in neurons if neuron is not None]
    return LaneNeurons(value.where, sign, value.shape, value.lanes, made, window)


def _channels(
    value: RealValue,
    lines: Sequence[Sequence[Pipeline]],
    later: Sequence[Pipeline],
    steps: Sequence[Pipeline] = (),
) -> tuple[list[_Channel], Window]:
    """Return the channels of a real value whose terms have rational lines, and their window."""
    known = [[line.line() or (Fraction(0), Fraction(0)) for line in column] for column in lines]
    scales = [np.array([scale for scale, _ in column], dtype=object) for column in known]
    constant = value.added.shift if value.added is not None else constants(0, value.shape[0])
    for term, column, scale in zip(value.terms, known, scales, strict=True):
        constant = constant + scale * _constant(term) + [shift for _, shift in column]
    weights, window = _combined(value, scales, [term.factors for term in value.bits])
    unit, max_size = _sizes(value.lanes)
    channels = []
    for c, row in enumerate(weights):
        worth = _common(row.reshape(-1).tolist())
        line = Pipeline((*(steps[c].parts if steps else ()), *later[c].parts))
        channels.append(_Channel(row / worth, worth * unit, constant[c], unit, line, max_size))
    return channels, window


def _constant(term: _RealTerm) -> Row:
    """Return the constants of a term before its steps."""
    kernel = _kernel(term)
    shifted = kernel.reshape(*kernel.shape[:2], -1).sum(axis=2) @ term.reads.shift
    return np.asarray(shifted + np.array(bias_of(term.layer), object))


def _wide(term: _RealTerm) -> Array:
    """Return the exact weights of a term over the values of its lanes."""
    kernel = _kernel(term)
    kernels = term.reads.over(kernel)
    none = kernel[:, :0]  # if all that it reads is constant
    return np.concatenate([none, *(kernels[lane] for lane in term.reads.lanes)], axis=1)


def _combined(value: RealValue, scales: Sequence[Row], bits: Sequence[Row]) -> tuple[Array, Window]:
    """Return a real value, without constants, as weights over its lanes, and its window.

    `scales` has the factors of each term, `bits` those of each lane that is added.
    """
    pieces = []
    for term, scale in zip(value.terms, scales, strict=True):
        layer, kernel = term.layer, _wide(term)
        window = Window(_maps(term.reads.shape), kernel.shape[2:], layer.stride, layer.dilation, layer.pads)
        pieces.append((term.reads.lanes, kernel * scale[:, None, None, None], window))
    for bit, factor in zip(value.bits, bits, strict=True):
        diagonal = np.full((len(factor), bit.lane.shape[0]), Fraction(0), dtype=object)
        held = np.flatnonzero(bit.source >= 0)
        diagonal[held, bit.source[held]] = factor[held]
        pieces.append(((bit.lane,), diagonal[:, :, None, None], Window(_maps(bit.lane.shape), 1)))
    combined = kernel_over(value.lanes, pieces)
    if combined is None:
        raise FileError(
            f"{value.where}: a shortcut around layers whose windows move differently, or that change the "
            "size of its maps."
        )
    weights, window = combined
    total = weights.reshape(-1, value.shape[0], *weights.shape[1:]).sum(axis=0)
    return np.asarray(total), window


@dataclass(frozen=True)
class _Sums:
    """The values of a sum: ``low + step * u`` for the integers u of 0..top."""

    low: Fraction
    step: Fraction
    top: int

    @classmethod
    def of(cls, row: Array, low: Array, high: Array, padded: bool) -> _Sums:
        """Return the sums of weighted two-valued inputs, some of which may be padded with 0."""
        ends = list(zip((row * low).reshape(-1).tolist(), (row * high).reshape(-1).tolist(), strict=True))
        none = (Fraction(0),) if padded else ()
        step = _common({a for end in ends for a in end} if padded else {b - a for a, b in ends})
        low_end, high_end = (sum((best(*end, *none) for end in ends), Fraction(0)) for best in (min, max))
        return cls(low_end, step, int((high_end - low_end) / step))

    def end(self, high: bool) -> Fraction:
        """Return the smallest or the largest value."""
        return self.low + self.step * self.top * high


@dataclass(frozen=True)
class _Addend:
    """One of several values that are added: a function of sums."""

    line: Pipeline
    sums: _Sums

    @property
    def size(self) -> Surd | None:
        """The change of the value per step of the sums, without its sign; None if it is clipped or bent."""
        if not self.line.is_affine:
            return None
        factor, root = self.sums.step, Fraction(1)
        for part in self.line.parts:
            if isinstance(part, Root):
                factor, root = factor * part.gamma / part.v, root * part.v
            else:
                factor *= part[0]  # type: ignore[index,operator]
        return Surd.of(1).times(Fraction(1), root).times(abs(factor))


@dataclass(frozen=True)
class _Mixed:
    """A neuron over several parts: a factor for each, and the smallest sum that is on."""

    factors: tuple[Fraction, ...]
    min_sum: Fraction
    falls: bool = False
    met: bool = False


def _mixed(parts: Sequence[_Addend], later: Pipeline, zero: int) -> _Mixed | None:
    """Return the sign of a sum of parts as an integer combination; None if there is no small one."""
    half = solved(later, HalfLine(True, zero == 1, Surd.of(0)))
    none = (Fraction(0),) * len(parts)
    if isinstance(half, bool):
        return _Mixed(none, Fraction(0 if half else 1))
    turn = 1 if half.up else -1
    turns = [turn * part.line.direction() for part in parts]
    firsts = [part.sums.end(up < 0) for part, up in zip(parts, turns, strict=True)]
    groups: dict[Surd | None, list[int]] = {}
    for k, part in enumerate(parts):
        if part.sums.top and turns[k]:
            groups.setdefault(part.size, []).append(k)
    separation: Separation | bool | None
    if None in groups:
        separation = _clipped(parts, firsts, turns, later, zero) if len(groups) == 2 else None
    else:
        end = half.end.times(Fraction(turn))
        for part, first in zip(parts, firsts, strict=True):
            end = end.minus(part.line(first).times(Fraction(turn)))
        tops = [sum(parts[k].sums.top for k in group) for group in groups.values()]
        separation = separated([size for size in groups if size], tops, end, half.closed)
    if separation is None or isinstance(separation, bool):
        return None if separation is None else _Mixed(none, Fraction(0 if separation else 1))
    factors, min_sum = list(none), Fraction(separation.least) - Fraction(1, 2)
    for group, each in zip(groups.values(), separation.factors, strict=True):
        for k in group:
            factors[k] = turns[k] * each / parts[k].sums.step
            min_sum += factors[k] * firsts[k]
    return _Mixed(tuple(factors), min_sum, turns[0] < 0, separation.met)


def _clipped(
    parts: Sequence[_Addend], firsts: Sequence[Fraction], turns: Sequence[int], later: Pipeline, zero: int
) -> Separation | None:
    """Return the integers for a first part that is clipped or bent, beside rational ones of one size."""
    (clipped, *others), top = parts, parts[0].sums.top
    count = sum(part.sums.top for part in others)
    size = next(part.size.rational for part in others if part.size is not None and part.sums.top)
    start = sum((p.line(at).rational for p, at in zip(others, firsts[1:], strict=True)), Fraction(0))
    table, met = np.zeros((top + 1, count + 1), np.int64), False
    for high in range(count + 1):
        added = (Fraction(1), start + later.direction() * size * high)
        line = Pipeline((*clipped.line.parts, added, *later.parts))
        min_sum = smallest_sum(line, Fraction(0), zero != 1, clipped.sums.step, clipped.sums.low)
        falling = top if turns[0] < 0 else 0
        column = min_sum if isinstance(min_sum, bool) else np.arange(top + 1) - falling >= min_sum.least
        table[:, high] = column
        met |= not isinstance(min_sum, bool) and min_sum.met
    p, q, steps, wrong = joined(table, 1)
    return None if wrong else Separation((p, q), int(steps[0, 0]), met)


def _mixed_neurons(
    value: RealValue, lines: Sequence[Sequence[Pipeline]], later: Sequence[Pipeline], sign: Sign, zero: int
) -> tuple[list[_LaneNeuron], Window]:
    """Return the sign of a sum of terms that have no common unit."""
    tables = [_wide(term) for term in value.terms]
    starts = [_constant(term) for term in value.terms]
    ends = [
        tuple(
            np.concatenate([[], *(getattr(lane, end) for lane in term.reads.lanes)])[:, None, None]
            for end in ("low", "high")
        )
        for term in value.terms
    ]
    mixed = []
    for c in range(value.shape[0]):
        parts = [
            _Addend(
                line if start[c] == 0 else Pipeline(((Fraction(1), start[c]), *line.parts)),
                _Sums.of(table[c], low, high, any(term.layer.pads)),
            )
            for term, line, table, start, (low, high) in zip(
                value.terms, (column[c] for column in lines), tables, starts, ends, strict=True
            )
        ]
        for bit in value.bits:
            one = np.array([[[Fraction(1)]]], dtype=object)
            low, high = (bit.at(end)[c : c + 1] for end in (bit.lane.low, bit.lane.high))
            factor = bit.factors[c] if bit.source[c] >= 0 else Fraction(0)
            parts.append(_Addend(Pipeline(((factor, Fraction(0)),)), _Sums.of(one, low, high, False)))
        shift = value.added.shift[c] if value.added is not None else Fraction(0)
        line = Pipeline(((Fraction(1), shift), *later[c].parts))
        neuron = _mixed(parts, line, zero)
        if neuron is None:
            raise FileError(
                f"{value.where}: channel {c} adds {len(parts)} values whose scales have no common unit, and "
                f"no integer weights whose sums have 30 bits agree with its sign. {NEEDED}"
            )
        if neuron.met and zero == 0:
            raise _tied(sign)
        mixed.append(neuron)
    factors = np.array([neuron.factors for neuron in mixed], dtype=object).T
    weights, window = _combined(value, list(factors[: len(tables)]), list(factors[len(tables) :]))
    return [
        _LaneNeuron(row, neuron.min_sum, neuron.falls, neuron.met, np.inf)
        for row, neuron in zip(weights, mixed, strict=True)
    ], window


def _kernel(term: _RealTerm) -> Array:
    """Return the exact weights of a term over all channels of its form."""
    form, layer = term.reads, term.layer
    refuse_if(
        form.shift.any() and any(layer.pads),
        layer.where,
        "padding with zeros beside values that are shifted. Shift them after it.",
    )
    return np.asarray(ungrouped(exact_weights(layer.weights, layer.where), layer.groups))


def _starts(lanes: Sequence[Lane]) -> dict[Lane, int]:
    return dict(zip(lanes, np.cumsum([0, *(lane.shape[0] for lane in lanes)]).tolist(), strict=False))


def _sizes(lanes: Sequence[Lane]) -> tuple[Fraction, int]:
    """Return the unit of the values of lanes, and the largest of them in units."""
    values = [value for lane in lanes for value in (*lane.low.tolist(), *lane.high.tolist())]
    unit = _common(values)
    return unit, int(max(abs(value / unit) for value in values))


@dataclass(frozen=True, eq=False)
class _Channel:
    """One neuron: ``line(worth * s + constant)`` for the integer sum s of weighted values in units."""

    weights: Row
    worth: Fraction
    constant: Fraction
    unit: Fraction
    line: Pipeline
    max_size: int
    """Largest absolute value, in units."""

    @property
    def reach(self) -> int:
        """The largest absolute value of the sum."""
        return int(sum(abs(weight) for weight in self.weights.reshape(-1).tolist())) * self.max_size

    @property
    def is_small(self) -> bool:
        """Whether its weights have at most 16 bits."""
        return bool(max((abs(weight) for weight in self.weights.reshape(-1).tolist()), default=0) <= _LARGEST)

    def solved(self, sign: Sign, zero: int) -> _LaneNeuron:
        """Return weights over the values themselves, and the smallest sum that is on."""
        falls = self.line.direction() * self.worth < 0
        min_sum = smallest_sum(self.line, Fraction(0), zero != 1, self.worth, self.constant)
        weights = self.weights / self.unit
        if isinstance(min_sum, bool):
            return _LaneNeuron(weights * 0, Fraction(0 if min_sum else 1), False, False, np.inf)
        if min_sum.met and zero == 0:
            raise _tied(sign)
        met = min_sum.met and abs(min_sum.least) <= self.reach + 1
        # between two integer sums, so that nothing is at the threshold
        return _LaneNeuron(
            -weights if falls else weights, min_sum.least - Fraction(1, 2), falls, met, min_sum.gap
        )


NEEDED = "Put a sign before the addition, so that what is added are -1 and +1."


def _tied(sign: Sign) -> FileError:
    return FileError(
        f"{sign.where}: a sum of exactly zero can occur, where sign is 0 and not -1 or +1. "
        "Declare zero=1 or zero=-1."
    )


def _common(values: Iterable[Fraction]) -> Fraction:
    """Return the largest number that divides all values; 1 if all are 0."""
    integers, unit = in_shared_units([Fraction(value) for value in values if value])
    return gcd(*integers) * unit or Fraction(1)


def _maps(shape: tuple[int, ...]) -> tuple[int, int, int]:
    return (shape[0], shape[1], shape[2]) if len(shape) == 3 else (shape[0], 1, 1)


# -- one layer of all ----------------------------------------------------------------------------------------


def wide_layer(
    before: Sequence[Lane], made: Sequence[LaneNeurons], carried: Sequence[Lane]
) -> tuple[tuple[Op, ...], tuple[Lane, ...]] | None:
    """Return one layer that computes some neurons from the lanes and carries others past them.

    Return its operations and the lanes after it, or None if the windows do not move alike.
    """
    pieces = [
        (part.lanes, np.array([neuron.weights for neuron in part.neurons], dtype=object), part.window)
        for part in made
    ]
    shifts = [-neuron.min_sum for part in made for neuron in part.neurons]
    for lane in carried:
        turns = np.where(lane.high > lane.low, 1, -1)
        pieces.append(
            ((lane,), (np.eye(len(turns), dtype=int) * turns)[:, :, None, None], Window(_maps(lane.shape), 1))
        )
        shifts += (-turns * (lane.low + lane.high) / 2).tolist()
    combined = kernel_over(
        before, [(lanes, weights.astype(object), window) for lanes, weights, window in pieces]
    )
    if combined is None:
        return None
    weights, window = combined
    where, bias = made[0].where, np.array(shifts, dtype=object)
    layer: Op = (
        LinearOp(where, weights[:, :, 0, 0], bias)
        if len(before[0].shape) == 1
        else Convolution(where, weights, bias, window.stride, window.dilation, window.pads)
    )
    lanes = (*(part.lane for part in made), *carried)
    ops: list[Op] = [layer, Sign(where)]
    low, high = (np.concatenate([getattr(lane, end) for lane in lanes]) for end in ("low", "high"))
    if (low != -1).any() or (high != 1).any():
        ops.append(Affine(where, (high - low) / 2, (high + low) / 2))
    return tuple(ops), lanes


_LARGEST_LAYER = 1 << 24
"""Largest number of weights of one layer over all lanes, each an exact number."""


@dataclass(frozen=True, eq=False)
class Straight:
    """A chain without branches, and how its signs relate to those of the file."""

    chain: OpChain
    parts: tuple[tuple[SignLocation, ...], ...]
    """The signs of the file in each sign of the chain. Their layers are not known yet."""
    reports: dict[int, LayerReport]
    """Layer reports for signs of the chain that were made here, by index."""
    signs: tuple[str, ...]
    """The operations of all signs of the file."""


def straightened(
    chain: OpChain, zero: Literal[1, -1] | None = None, inputs: Inputs | None = None
) -> Straight:
    """Return a chain without branches; `zero` is the value of sign(0) if the file defines it as 0.

    Branches may begin at raw inputs that are declared as bits.

    Raises
    ------
    FileError
        If a branch cannot be carried along. The message names the operation and the missing condition.
    """
    signs = [op for op in every(chain.ops) if isinstance(op, Sign | Quantize)]
    where = tuple(op.where for op in signs)
    if not any(isinstance(op, Branches) for op in chain.ops):
        return Straight(
            chain, tuple((SignLocation(k, op.where, None),) for k, op in enumerate(signs)), {}, where
        )
    numbers = {id(op): number for number, op in reversed(list(enumerate(signs)))}  # of duplicates, the first
    walk = _Straightening(zero, numbers, chain.shape, inputs)
    with within(chain.source):
        walk.top(chain.ops)
    return Straight(replace(chain, ops=tuple(walk.ops)), tuple(walk.parts), walk.reports, where)


_Value: TypeAlias = Form | RealValue


@dataclass
class _Straightening:
    zero: Literal[1, -1] | None
    numbers: dict[int, int]
    shape: tuple[int, ...]
    inputs: Inputs | None = None
    ops: list[Op] = field(default_factory=list)
    parts: list[tuple[SignLocation, ...]] = field(default_factory=list)
    reports: dict[int, LayerReport] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    """Outputs of the operations so far, side by side by channel; empty if there is one value, as in the
    file.
    """
    waiting: list[LaneNeurons] = field(default_factory=list)
    """Signs in branches that have no layer yet."""

    def __post_init__(self) -> None:
        self.ends: list[tuple[int, ...]] = []
        """The shape after each operation so far."""
        self.raw = self.shape

    # -- outside of branches ---------------------------------------------------------------------------------

    def top(self, ops: Sequence[Op]) -> None:
        """Add all operations in order, unchanged except for branches and the readers of their sums."""
        value: _Value | None = None
        waiting = list(ops)
        while waiting:
            op = waiting.pop(0)
            if isinstance(op, Branches):
                value = self._meet(self._fork(op) if value is None else value, op)
            elif value is None:
                self._plain(op)
            elif (moved := self._moved(value, op)) is not None:
                value = moved
            elif isinstance(value, RealValue):
                value = self._behind_real(value, op, waiting)
            else:
                self._behind_sum(value, op, waiting)
                value = None
            if value is not None:
                self._lay(value.lanes)
            if isinstance(value, Form) and _is_plain(value, self.lanes):
                value, self.lanes = None, ()
        refuse_if(
            value is not None, "the network ends with a sum of branches, without class scores after it."
        )

    def _append(self, op: Op) -> None:
        self.ops.append(op)
        self.shape = shape_behind(op, self.shape)
        self.ends.append(self.shape)

    def _plain(self, op: Op) -> None:
        self._append(op)
        if isinstance(op, Sign | Quantize):
            self.parts.append((SignLocation(self.numbers[id(op)], op.where, None),))

    def _fork(self, op: Branches) -> _Value:
        """Return the values that branches start from: two-valued, or a layer over two-valued ones."""
        last = max((k for k, made in enumerate(self.ops) if isinstance(made, Sign | Quantize)), default=None)
        start = 0 if last is None else last + 1
        behind = self.ops[start:]
        real = next(
            (k for k, made in enumerate(behind) if not isinstance(made, Affine | Flatten | MaxPool)),
            len(behind),
        )
        if last is not None:
            made, shape = self.ops[last], self.ends[last]
            if not isinstance(made, Sign):
                raise FileError(
                    f"{op.where}: a shortcut of values on several levels ({made.where}). Additions of "
                    "quantized values are read from integer ONNX files (QDQ, QOperator); here -1 and +1 can "
                    "be added."
                )
            ends: tuple[Any, Any] = made.low, made.high
        elif isinstance(self.inputs, Bits):
            shape, ends = self.raw, (self.inputs.low, self.inputs.high)
        else:
            what = f"what {self.ops[-1].where} gives" if self.ops else "the raw inputs"
            raise FileError(
                f"{op.where}: a shortcut that begins at {what}, which is not -1 and +1. Take the sign of the "
                "first layer before the shortcut, or declare inputs=Bits() if raw samples are bits."
            )
        low, high = (constants(end, shape[0]) for end in ends)
        behind, after_real = behind[:real], behind[real:]
        for made, after in zip(behind, self.ends[start:], strict=False):
            if isinstance(made, Affine):
                low, high = (Form(shape, (), row).moved(made).shift for row in (low, high))
            elif isinstance(made, Flatten):
                order = flat_order(np.arange(prod(shape)), shape, made.order)
                low, high = (np.repeat(row, prod(shape[1:]))[order] for row in (low, high))
            shape = after
        lane = Lane(shape, low, high)
        self.lanes = (lane,)
        del self.ops[start + real :], self.ends[start + real :]
        self.shape = shape
        return self._end(Form.of(lane), list(after_real))

    def _moved(self, value: _Value, op: Op) -> _Value | None:
        """Return a value after an operation that needs no layer; None if the operation needs one."""
        if isinstance(value, RealValue):
            return value.then(op) if isinstance(op, Step) else None
        if isinstance(op, Affine):
            return value.moved(op)
        return value.signed(op, self.zero) if isinstance(op, Sign) else None

    def _behind_sum(self, form: Form, op: Op, later: list[Op]) -> None:
        """Add a layer over a sum of lanes, after which there is one value again."""
        if isinstance(op, Flatten) and later and isinstance(later[0], LinearOp):
            layer = later.pop(0)
            assert isinstance(layer, LinearOp)
            self._emit(Flatten(op.where), self._flat(form, op, layer))
        elif isinstance(op, LinearOp | Convolution):
            self._emit(self._over(form, op))
        else:
            self._emit(self._over(form, _identity(form.shape, op.where)))
            self._plain(op)
        self.lanes = ()

    def _emit(self, *ops: Op) -> None:
        for op in ops:
            self._plain(op)

    def _over(self, form: Form, op: LinearOp | Convolution) -> LinearOp | Convolution:
        """Return a layer over a sum as a layer over the lanes."""
        if isinstance(op, Convolution):
            refuse_if(
                form.shift.any() and any(op.pads),
                op.where,
                "zeros are padded beside values that are shifted. Shift them after it.",
            )
            kernel = ungrouped(exact_weights(op.weights, op.where), op.groups)
        else:
            kernel = exact_weights(op.weights, op.where)
        refuse_if(
            kernel.shape[1] != form.shape[0],
            op.where,
            f"{kernel.shape[1]} weights a neuron for values of shape {form.shape}. Is a flatten missing?",
        )
        kernels = form.over(kernel)
        blocks = [
            kernels[lane]
            if lane in kernels
            else np.full((len(kernel), lane.shape[0], *kernel.shape[2:]), Fraction(0), dtype=object)
            for lane in self.lanes
        ]
        each = kernel.reshape(*kernel.shape[:2], -1).sum(axis=2)
        bias = np.array(bias_of(op), dtype=object) + each @ form.shift
        full = np.concatenate(blocks, axis=1)
        wide = numbers(full.reshape(-1).tolist()).reshape(full.shape)
        if isinstance(op, LinearOp):
            return LinearOp(op.where, wide, bias)
        return replace(op, weights=wide, bias=bias, groups=1)

    def _flat(self, form: Form, op: Flatten, layer: LinearOp) -> LinearOp | Convolution:
        """Return a linear layer over the flattened sum, if all lanes are flattened channel by channel."""
        order = flat_order(np.arange(prod(form.shape)), form.shape, op.order)
        per = prod(form.shape[1:])
        weights = np.empty_like(np.asarray(layer.weights))
        weights[:, order] = layer.weights
        lanes = [
            Lane((prod(lane.shape),), np.repeat(lane.low, per), np.repeat(lane.high, per))
            for lane in self.lanes
        ]
        flat = dict(zip(self.lanes, lanes, strict=True))
        terms = tuple(
            LaneTerm(
                flat[term.lane],
                np.where(spread < 0, -1, spread * per + np.tile(np.arange(per), form.shape[0])),
                np.repeat(term.factors, per),
            )
            for term in form.terms
            for spread in [np.repeat(term.source, per)]
        )
        self.lanes = tuple(lanes)
        return self._over(
            Form((prod(form.shape),), terms, np.repeat(form.shift, per)), replace(layer, weights=weights)
        )

    def _behind_real(self, value: RealValue, op: Op, later: Sequence[Op]) -> _Value | None:
        """Add the sign of a real value that a shortcut was added to, or the start of the scores after it."""
        if isinstance(op, Sign):
            return self._signed(value, op)
        if is_affine([op, *later]):
            layers = [(self._over(term.reads, _narrow(term)), *term.steps) for term in value.terms]
            if value.added is not None:
                layers.append((self._over(value.added, _identity(value.shape, value.where)),))
            self._emit(Branches(value.where, tuple(layers)), *value.later, op)
            self.lanes = ()
            return None
        raise FileError(
            f"{op.where}: {op_word(op)} of a real value that a shortcut was added to ({value.where}). "
            f"{NEEDED}"
        )

    # -- branches --------------------------------------------------------------------------------------------

    def _meet(self, fork: _Value, op: Branches) -> _Value:
        """Return the sum of branches."""
        return _total(op.where, [self._end(fork, list(ops)) for ops in op.branches])

    def _end(self, value: _Value, ops: list[Op]) -> _Value:
        """Return the value at the end of a branch. Its signs wait for their layers."""
        while ops:
            op = ops.pop(0)
            if isinstance(op, Branches):
                value = self._meet(value, op)
            elif isinstance(op, LinearOp | Convolution) and (channels := picked_channels(op)) is not None:
                value = value.picked(channels)
            elif isinstance(value, RealValue) and isinstance(op, Sign):
                value = self._signed(value, op)
            elif (moved := self._moved(value, op)) is not None:
                value = moved
            elif isinstance(value, RealValue):
                raise FileError(
                    f"{op.where}: {op_word(op)} after {value.where} without a sign between, in a "
                    f"branch. {NEEDED}"
                )
            else:
                value = self._opened(value, op, ops)
        return value

    def _signed(self, value: RealValue, sign: Sign) -> Form:
        zero = self.zero if sign.zero == 0 and self.zero is not None else sign.zero
        self.waiting.append(neurons_of(value, sign, zero))
        return Form.of(self.waiting[-1].lane)

    def _lay(self, needed: Sequence[Lane]) -> None:
        """Add the layers of the signs that wait; `needed` are the lanes that are read after them."""
        while self.waiting:
            ready = [part for part in self.waiting if set(part.lanes) <= set(self.lanes)]
            if not self._layer(ready, needed, tried=len(ready) > 1):
                self._layer(ready[:1], needed)

    def _opened(self, form: Form, op: Op, later: list[Op]) -> RealValue:
        """Apply a layer to a sum of lanes."""
        match op:
            case LinearOp() if len(form.shape) == 1:
                layer = Convolution(op.where, np.asarray(op.weights)[:, :, None, None], op.bias)
            case Convolution() if len(form.shape) == 3:
                layer = op
            case Pad() if op.value == 0 and later and isinstance(later[0], Convolution):
                layer = later.pop(0)  # type: ignore[assignment]
                top, left, bottom, right = (a + b for a, b in zip(op.pads, layer.pads, strict=True))
                layer = replace(layer, pads=(top, left, bottom, right))
            case AveragePool() if len(form.shape) == 3:
                layer = _average(op, form.shape)
            case BatchNorm() | Clip() | Leaky() | Sign():
                later.insert(0, op)
                layer = _depthwise(form.shape, op.where)
            case _:
                raise FileError(
                    f"{op.where}: {op_word(op)} inside a branch cannot be carried along. Linear layers, "
                    "convolutions, averages, batch norms and signs can be."
                )
        outs = (len(layer.weights),)
        shape = outs if len(form.shape) == 1 else shape_behind(layer, form.shape)
        return RealValue((_RealTerm(layer, form),), shape)

    def _layer(self, made: Sequence[LaneNeurons], needed: Sequence[Lane], *, tried: bool = False) -> bool:
        """Add one layer for some signs, which also carries what others and what comes later need.

        With `tried`, return False if one layer is not enough.
        """
        rest = [part for part in self.waiting if part not in made]
        read = {lane for part in rest for lane in part.lanes}.union(needed)
        carried = [lane for lane in self.lanes if lane in read]
        total = sum(lane.shape[0] for lane in self.lanes)
        refuse_if(
            (sum(part.shape[0] for part in made) + len(carried)) * total * prod(made[0].window.kernel)
            > _LARGEST_LAYER,
            made[0].sign.where,
            "shortcuts past so many channels are too large to write down.",
        )
        layer = wide_layer(self.lanes, made, carried)
        if layer is None:
            if tried:
                return False
            raise FileError(
                f"{made[0].sign.where}: a value that is needed later would have to be carried past a layer "
                "that changes the size of its maps. Let both branches change it at once, by their own layers."
            )
        ops, lanes = layer
        for op in ops:
            self._append(op)
        self.lanes, per, start, parts = lanes, prod(self.shape[1:]), 0, []
        for part in made:
            stop = start + part.shape[0] * per
            parts.append(SignLocation(self.numbers[id(part.sign)], part.where, None, part=(start, stop)))
            start = stop
        self.waiting = rest
        neurons = [neuron for part in made for neuron in part.neurons]
        self.reports[len(self.parts)] = LayerReport(
            " and ".join(dict.fromkeys(part.where for part in made)),
            "",
            0,
            sum(neuron.falls for neuron in neurons),
            0,
            sum(neuron.met for neuron in neurons),
            float(min(neuron.gap for neuron in neurons)),
            carried=sum(lane.shape[0] for lane in carried) * per,
        )
        self.parts.append(tuple(parts))
        return True


def _is_plain(form: Form, lanes: Sequence[Lane]) -> bool:
    """Return whether a form consists of exactly these lanes, unchanged."""
    return (
        form.lanes == tuple(lanes)
        and len(lanes) == 1
        and (form.terms[0].factors == 1).all()
        and np.array_equal(form.terms[0].source, np.arange(lanes[0].shape[0]))
        and not form.shift.any()
    )


def _total(where: str, values: Sequence[_Value]) -> _Value:
    """Return the sum of the results of branches."""
    reals, forms = ([v for v in values if isinstance(v, kind)] for kind in (RealValue, Form))
    if not reals:
        return summed(where, [form for form in forms if isinstance(form, Form)])
    real = reals[0]
    assert isinstance(real, RealValue)
    if len(reals) > 1 or real.later:
        settled = [value.settled() for value in reals if isinstance(value, RealValue)]
        forms += [value.added for value in settled if value.added is not None]
        real = RealValue(tuple(term for value in settled for term in value.terms), real.shape)
    more = [form for form in (*forms, real.added) if isinstance(form, Form)]
    shapes = {value.shape for value in values}
    refuse_if(
        len(shapes) > 1, where, f"it adds values of shapes {' and '.join(str(shape) for shape in shapes)}."
    )
    return replace(real, added=summed(where, more) if more else None)


def picked_channels(op: LinearOp | Convolution) -> Ints | None:
    """Return the channel that each output repeats (-1: none), if a layer only picks and places channels."""
    weights = np.asarray(op.weights)
    if isinstance(op, Convolution):
        if weights.shape[2:] != (1, 1) or any(op.pads) or op.stride != (1, 1) or op.groups > 1:
            return None
        weights = weights[:, :, 0, 0]
    ones = weights == 1
    if op.bias is not None or (ones.sum(axis=1) > 1).any() or not (ones | (weights == 0)).all():
        return None
    return np.where(ones.any(axis=1), ones.argmax(axis=1), -1)


def _identity(shape: tuple[int, ...], where: str) -> LinearOp | Convolution:
    if len(shape) == 1:
        return LinearOp(where, np.eye(shape[0]))
    return Convolution(where, np.eye(shape[0])[:, :, None, None])


def _narrow(term: _RealTerm) -> LinearOp | Convolution:
    """Return the layer of a term as the file has it: linear if it reads flat features."""
    layer = term.layer
    if len(term.reads.shape) == 3:
        return layer
    weights = ungrouped(np.asarray(layer.weights), layer.groups)[:, :, 0, 0]
    return LinearOp(layer.where, weights, layer.bias)


def _depthwise(shape: tuple[int, ...], where: str) -> Convolution:
    return Convolution(where, np.ones((shape[0], 1, 1, 1)), groups=shape[0])


def _average(op: AveragePool, shape: tuple[int, ...]) -> Convolution:
    window, counts = averaged_window(shape, op)
    refuse_if(
        len(set(counts)) > 1,
        op.where,
        "averages inside a branch whose windows count more values here than there.",
    )
    weights = np.full((shape[0], 1, *window.kernel), Fraction(1, counts[0]), dtype=object)
    return Convolution(op.where, weights, None, window.stride, (1, 1), window.pads, shape[0])
