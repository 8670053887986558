"""Values that are carried side by side while a network with shortcuts is written as one chain: each lane
holds two-valued maps, and a sum of branches is a sum of lanes that is never written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Window
from sugenet.errors import FileError
from sugenet.io.exact.integers import common_window
from sugenet.io.exact.joining import joined
from sugenet.io.exact.ops import Affine, BatchNorm, Clip, Convolution, LinearOp, Op, Sign
from sugenet.io.exact.steps import Pipeline, Root, pipelines
from sugenet.io.exact.thetas import least_sum
from sugenet.io.exact.units import bias_of, exact_weights

__all__ = [
    "NEEDED",
    "Form",
    "Lane",
    "LaneNeurons",
    "RealValue",
    "constants",
    "neurons_of",
    "summed",
    "ungrouped",
    "wide_layer",
]

Row = npt.NDArray[Any]
"""Exact numbers, one a channel."""
_LARGEST = 1 << 16
"""A weight of one neuron, in units, as `units` has it."""


@dataclass(frozen=True, eq=False)
class Lane:
    """Two-valued maps: (channels, height, width), or (features,)."""

    shape: tuple[int, ...]
    low: Row
    high: Row


@dataclass(frozen=True, eq=False)
class Form:
    """A sum of lanes of one shape, each times a number a channel, and a constant."""

    shape: tuple[int, ...]
    terms: tuple[tuple[Lane, Row], ...]
    shift: Row

    @classmethod
    def of(cls, lane: Lane) -> Form:
        """One lane by itself."""
        count = lane.shape[0]
        return cls(lane.shape, ((lane, constants(1, count)),), constants(0, count))

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """What it reads."""
        return tuple(lane for lane, _ in self.terms)

    def moved(self, op: Affine) -> Form:
        """Scaled and shifted."""
        scale, shift = (_row(values, self.shape[0], op.where) for values in (op.scale, op.shift))
        terms = tuple((lane, own * scale) for lane, own in self.terms)
        return replace(self, terms=terms, shift=self.shift * scale + shift)

    def signed(self, op: Sign, zero: int | None) -> Form | None:
        """The sign of one lane, which is two-valued again; None of a sum, and where it is neither at 0."""
        if len(self.terms) != 1:
            return None
        ((lane, scale),) = self.terms
        at = op.zero or zero or 0
        ends = [own * scale + self.shift for own in (lane.low, lane.high)]
        if not at and any(not value for end in ends for value in end):
            return None
        low, high = (
            np.array([Fraction(op.high if (value or at) > 0 else op.low) for value in end], dtype=object)
            for end in ends
        )
        apart = lane.high - lane.low
        if not apart.all():
            return None
        slope = (high - low) / apart
        return replace(self, terms=((lane, slope),), shift=low - slope * lane.low)


@dataclass(frozen=True, eq=False)
class RealValue:
    """A real value: a layer over a form, with the steps behind it, and a form that was added to that."""

    layer: Convolution
    reads: Form
    shape: tuple[int, ...]
    steps: tuple[Affine | BatchNorm | Clip, ...] = ()
    added: Form | None = None
    later: tuple[Affine | BatchNorm | Clip, ...] = ()
    """Steps behind the addition."""

    def then(self, step: Affine | BatchNorm | Clip) -> RealValue:
        """One step more."""
        if self.added is None:
            return replace(self, steps=(*self.steps, step))
        return replace(self, later=(*self.later, step))


@dataclass(frozen=True, eq=False)
class LaneNeurons:
    """A sign of sums of lanes: whole weights over lanes, and the least sum that is on."""

    where: str
    """The layer whose values these are."""
    sign: Sign
    shape: tuple[int, ...]
    lanes: tuple[Lane, ...]
    weights: Row
    """(out, all channels of the lanes, kernel height, kernel width), exact numbers over the lanes' values."""
    least: list[Fraction]
    window: Window
    flipped: int
    ties: int
    nearest: float

    @property
    def lane(self) -> Lane:
        """What comes out."""
        low, high = (constants(value, self.shape[0]) for value in (self.sign.low, self.sign.high))
        return Lane(self.shape, low, high)


def constants(value: Any, count: int) -> Row:
    """One number so many times."""
    return np.array([Fraction(value)] * count, dtype=object)


def _row(values: Any, count: int, where: str) -> Row:
    row = [Fraction(value) for value in np.asarray(values).reshape(-1).tolist()]
    if len(row) not in (1, count):
        raise FileError(f"{where}: {len(row)} numbers for {count} channels.")
    return np.array(row * (count // len(row)), dtype=object)


def summed(where: str, forms: Sequence[Form]) -> Form:
    """The sum of forms; a lane that several read counts several times."""
    if len({form.shape for form in forms}) > 1:
        raise FileError(f"{where}: it adds values of shapes {' and '.join(str(f.shape) for f in forms)}.")
    scales: dict[Lane, Row] = {}
    for form in forms:
        for lane, scale in form.terms:
            scales[lane] = scales[lane] + scale if lane in scales else scale
    return Form(
        forms[0].shape, tuple(scales.items()), sum((f.shift for f in forms), constants(0, forms[0].shape[0]))
    )


# -- a sign of sums ------------------------------------------------------------------------------------------


def neurons_of(value: RealValue, sign: Sign, zero: int) -> LaneNeurons:
    """The sign of a real value, as whole weights over lanes with one threshold each."""
    form, layer = value.reads, value.layer
    if form.shift.any() and any(layer.pads):
        raise FileError(
            f"{layer.where}: padding with zeros beside values that are shifted. Shift them behind it."
        )
    kernel = ungrouped(layer)
    lines, later = (pipelines(steps, value.shape[0]) for steps in (value.steps, value.later))
    lanes = [
        *form.lanes,
        *(lane for lane in (value.added.lanes if value.added else ()) if lane not in form.lanes),
    ]
    window = Window(_maps(form.shape), kernel.shape[2:], layer.stride, layer.dilation, layer.pads)
    middle = [p // d for p, d in zip(layer.pads[:2], layer.dilation, strict=True)]
    if value.added is not None and (
        window.positions != _maps(value.added.shape)[1:] or layer.stride != (1, 1)
    ):
        raise FileError(f"{layer.where}: a shortcut around a layer that changes the size of its maps.")
    starts = dict(zip(lanes, np.cumsum([0, *(lane.shape[0] for lane in lanes)]).tolist(), strict=False))
    unit = _common([v for lane in form.lanes for v in (*lane.low.tolist(), *lane.high.tolist())])
    most = int(max(abs(v / unit) for lane in form.lanes for v in (*lane.low.tolist(), *lane.high.tolist())))
    rows, least, flipped, ties, near = [], [], 0, 0, np.inf
    for c, bias in enumerate(bias_of(layer)):
        full = np.full((sum(lane.shape[0] for lane in lanes), *kernel.shape[2:]), Fraction(0), dtype=object)
        for lane, scale in form.terms:
            full[starts[lane] : starts[lane] + lane.shape[0]] += kernel[c] * scale[:, None, None]
        constant = bias + sum(
            (form.shift[i] * kernel[c, i].sum() for i in range(len(form.shift))), Fraction(0)
        )
        worth = _common(full.reshape(-1).tolist())
        own = _Channel(full / worth, worth * unit, constant, unit, lines[c], later[c], most)
        if value.added is None:
            found = own.solved(sign, zero)
        else:
            bits = [
                _Bit((starts[lane] + c, *middle), scale[c], lane.low[c], lane.high[c])
                for lane, scale in value.added.terms
            ]
            one = _added(own, bits, value.added.shift[c])
            found = (
                one.solved(sign, zero)
                if one is not None
                else _joined(own, bits, value.added.shift[c], sign, zero, layer.where)
            )
        rows.append(found.weights)
        least.append(found.least)
        flipped, ties, near = flipped + found.falls, ties + found.met, min(near, found.gap)
    return LaneNeurons(
        layer.where,
        sign,
        value.shape,
        tuple(lanes),
        np.array(rows, dtype=object),
        least,
        window,
        flipped,
        ties,
        float(near),
    )


@dataclass(frozen=True, eq=False)
class _Found:
    weights: Row
    least: Fraction
    falls: bool
    met: bool
    gap: float


@dataclass(frozen=True)
class _Bit:
    """A two-valued term of a neuron: where its weight stands, its scale and its values."""

    place: tuple[int, int, int]
    scale: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True, eq=False)
class _Channel:
    """One neuron: ``later(steps(worth * s + constant))`` for the whole sum s of weighted values in units."""

    weights: Row
    worth: Fraction
    constant: Fraction
    unit: Fraction
    steps: Pipeline
    later: Pipeline
    most: int
    """The largest size of a value in units."""

    @property
    def reach(self) -> int:
        """The largest size of the sum."""
        return int(sum(abs(weight) for weight in self.weights.reshape(-1).tolist())) * self.most

    def solved(self, sign: Sign, zero: int) -> _Found:
        """Weights over the values themselves, and the least sum that is on."""
        line = Pipeline((*self.steps.parts, *self.later.parts))
        falls = line.direction() * self.worth < 0
        found = least_sum(line, Fraction(0), zero != 1, self.worth, self.constant)
        weights = self.weights / self.unit
        if isinstance(found, bool):
            return _Found(weights * 0, Fraction(0 if found else 1), False, False, np.inf)
        if found.met and zero == 0:
            raise _tied(sign)
        met = found.met and abs(found.least) <= self.reach + 1
        # between two whole sums, so that nothing is at the threshold
        return _Found(-weights if falls else weights, found.least - Fraction(1, 2), falls, met, found.gap)


def _added(own: _Channel, bits: Sequence[_Bit], shift: Fraction) -> _Channel | None:
    """A neuron with two-valued terms added behind its steps, as one sum, where these steps are rational and
    the weights stay small.
    """
    line = own.steps.line()
    if line is None:
        return None
    full = own.weights * (line[0] * own.worth / own.unit)
    for bit in bits:
        full[bit.place] += bit.scale
    unit = _common([own.unit, *(v for bit in bits for v in (bit.low, bit.high))])
    worth = _common(full.reshape(-1).tolist())
    sizes = [own.most * own.unit, *(abs(v) for bit in bits for v in (bit.low, bit.high))]
    constant, most = line[0] * own.constant + line[1] + shift, int(max(size / unit for size in sizes))
    small = max(abs(weight) for weight in full.reshape(-1).tolist()) <= _LARGEST * worth
    return (
        _Channel(full / worth, worth * unit, constant, unit, Pipeline(()), own.later, most) if small else None
    )


def _joined(
    own: _Channel, bits: Sequence[_Bit], shift: Fraction, sign: Sign, zero: int, where: str
) -> _Found:
    """The same where the steps have a square root, or weights would be large: how many of the terms are high
    decides how large the sum must be, and one weighted sum of both says all of that.
    """
    roots = sum(isinstance(part, Root) for part in (*own.steps.parts, *own.later.parts))
    if roots > 1 or len({bit.scale * (bit.high - bit.low) for bit in bits}) > 1:
        raise FileError(
            f"{where}: a batch norm is added to a shortcut, and the sum is normed again or has terms of "
            f"several sizes. {NEEDED}"
        )
    count, step = len(bits), bits[0].scale * (bits[0].high - bits[0].low)
    start = sum((bit.scale * bit.low for bit in bits), shift)
    reach = own.reach
    falls = own.steps.direction() * own.later.direction() * own.worth < 0
    table = np.zeros((2 * reach + 1, count + 1), np.int64)
    met, sums = False, np.arange(-reach, reach + 1)
    up = step * own.later.direction() > 0
    for high in range(count + 1):
        line = Pipeline((*own.steps.parts, (Fraction(1), start + step * high), *own.later.parts))
        found = least_sum(line, Fraction(0), zero != 1, own.worth, own.constant)
        column = high if up else count - high
        table[:, column] = found if isinstance(found, bool) else sums >= found.least
        met |= not isinstance(found, bool) and found.met and abs(found.least) <= reach + 1
    if met and zero == 0:
        raise _tied(sign)
    p, q, steps, wrong = joined(table, 1)
    if wrong:
        raise FileError(
            f"{where}: {wrong} pairs of a sum and a shortcut agree with no weighted sum. {NEEDED}"
        )
    weights = (-p if falls else p) * own.weights / own.unit
    # p (s + reach) + q m, where m counts the terms that are high, or those that are low
    least = Fraction(int(steps[0, 0])) - p * reach - Fraction(1, 2)
    for bit in bits:
        each = Fraction(q, 1) / (bit.high - bit.low) * (1 if up else -1)
        weights[bit.place] += each
        least += each * (bit.low if up else bit.high)
    return _Found(weights, least, falls, met, np.inf)


NEEDED = (
    "A sign of several real values at once has no small whole weights: put a sign in front of the addition, "
    "so that what is added are -1 and +1."
)


def _tied(sign: Sign) -> FileError:
    return FileError(
        f"{sign.where}: a sum of exactly zero can occur, where sign is 0 and not -1 or +1. "
        "Declare zero=1 or zero=-1."
    )


def _common(values: Iterable[Fraction]) -> Fraction:
    """The largest number of which all are multiples; 1 where all are 0."""
    kept = [Fraction(value) for value in values if value]
    if not kept:
        return Fraction(1)
    bottom = lcm(*(value.denominator for value in kept))
    return Fraction(gcd(*(int(value * bottom) for value in kept)), bottom)


def _maps(shape: tuple[int, ...]) -> tuple[int, int, int]:
    return (shape[0], shape[1], shape[2]) if len(shape) == 3 else (shape[0], 1, 1)


def ungrouped(layer: Convolution) -> Row:
    """The kernel over all channels."""
    weights = exact_weights(layer.weights, layer.where)
    outs, each = weights.shape[:2]
    if layer.groups == 1:
        return weights
    full = np.full((outs, each * layer.groups, *weights.shape[2:]), Fraction(0), dtype=object)
    for j in range(outs):
        first = j // (outs // layer.groups) * each
        full[j, first : first + each] = weights[j]
    return full


# -- one layer of all ----------------------------------------------------------------------------------------


def wide_layer(
    before: Sequence[Lane], made: Sequence[LaneNeurons], carried: Sequence[Lane]
) -> tuple[tuple[Op, ...], tuple[Lane, ...]] | None:
    """One layer that makes some neurons from the lanes there are and carries others past them, as operations,
    and the lanes behind it; None where the windows do not move alike.
    """
    size = _maps(before[0].shape)[1:]
    total = sum(lane.shape[0] for lane in before)
    starts = dict(zip(before, np.cumsum([0, *(lane.shape[0] for lane in before)]).tolist(), strict=False))
    windows = [part.window for part in made] + [Window(_maps(lane.shape), 1) for lane in carried]
    common = common_window(windows)
    if common is None:
        return None
    kernels, shifts = [], []
    for part in made:
        kernel = np.full((part.shape[0], total, *common.kernel), Fraction(0), dtype=object)
        y, x = ((common.pads[k] - part.window.pads[k]) // common.dilation[k] for k in (0, 1))
        h, w = part.window.kernel
        inside = np.concatenate([starts[lane] + np.arange(lane.shape[0]) for lane in part.lanes])
        kernel[:, inside, y : y + h, x : x + w] = part.weights
        kernels.append(kernel)
        shifts += [-least for least in part.least]
    for lane in carried:
        kernel = np.full((lane.shape[0], total, *common.kernel), Fraction(0), dtype=object)
        y, x = (common.pads[k] // common.dilation[k] for k in (0, 1))
        for c in range(lane.shape[0]):
            turn = 1 if lane.high[c] > lane.low[c] else -1
            kernel[c, starts[lane] + c, y, x] = Fraction(turn)
            shifts.append(-turn * (lane.low[c] + lane.high[c]) / 2)
        kernels.append(kernel)
    where = made[0].where
    weights, bias = np.concatenate(kernels), np.array(shifts, dtype=object)
    layer: Op = (
        LinearOp(where, weights[:, :, 0, 0], bias)
        if len(before[0].shape) == 1
        else Convolution(where, weights, bias, common.stride, common.dilation, common.pads)
    )
    assert size == common.shape[1:]
    lanes = (*(part.lane for part in made), *carried)
    ops: list[Op] = [layer, Sign(where)]
    low, high = (np.concatenate([getattr(lane, end) for lane in lanes]) for end in ("low", "high"))
    if (low != -1).any() or (high != 1).any():
        ops.append(Affine(where, (high - low) / 2, (high + low) / 2))
    return tuple(ops), lanes
