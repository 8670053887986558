"""Networks with shortcuts as one chain: what is needed later is carried past the layers between.

Where two branches meet and both are -1 and +1, their sum is never written down: whoever reads it reads both
with the same weights. So a network of residual additions becomes layers whose neurons are those of the file
and, beside them, neurons that repeat a value (one weight, a threshold in the middle).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.lanes import (
    NEEDED,
    Form,
    Lane,
    LaneNeurons,
    RealValue,
    constants,
    neurons_of,
    summed,
    ungrouped,
    wide_layer,
)
from sugenet.io.exact.ops import (
    Affine,
    AveragePool,
    BatchNorm,
    Branches,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    MaxPool,
    Op,
    OpChain,
    Pad,
    Sign,
    Stairs,
    every,
)
from sugenet.io.exact.report import LayerReport
from sugenet.io.exact.rounding import shape_behind
from sugenet.io.exact.signals import flat_order
from sugenet.io.exact.sums import averaged_window
from sugenet.io.exact.units import bias_of, exact_weights

__all__ = ["SignPart", "Straight", "straightened"]

_MOST = 1 << 24
"""Weights of one layer over all lanes, each an exact number."""


class SignPart(NamedTuple):
    """A sign of the file as some of the values of a sign of the chain."""

    number: int
    where: str
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Straight:
    """A chain without branches, and what its signs are in the file."""

    chain: OpChain
    parts: tuple[tuple[SignPart, ...], ...]
    """For each sign of the chain."""
    reports: dict[int, LayerReport]
    """What was noticed where a sign of the chain was made here, by its number."""


def straightened(chain: OpChain, zero: Literal[1, -1] | None = None) -> Straight:
    """A chain with branches as one without; `zero` is what sign(0) shall be where the file says 0.

    Raises
    ------
    FileError
        Where a branch cannot be carried along; it names the operation and what would be needed.
    """
    numbers: dict[int, int] = {}
    for number, op in enumerate(op for op in every(chain.ops) if isinstance(op, Sign | Stairs)):
        numbers.setdefault(id(op), number)
    walk = _Straightening(zero, numbers, chain.shape)
    walk.top(chain.ops)
    return Straight(replace(chain, ops=tuple(walk.ops)), tuple(walk.parts), walk.reports)


_Value: TypeAlias = Form | RealValue


@dataclass
class _Branch:
    """A branch on its way: what it is so far, and what is left of it."""

    value: _Value
    ops: list[Op]


@dataclass
class _Straightening:
    zero: Literal[1, -1] | None
    numbers: dict[int, int]
    shape: tuple[int, ...]
    ops: list[Op] = field(default_factory=list)
    parts: list[tuple[SignPart, ...]] = field(default_factory=list)
    reports: dict[int, LayerReport] = field(default_factory=dict)
    lanes: tuple[Lane, ...] = ()
    """What the operations so far give, channel beside channel; none where it is one value as in the file."""

    def __post_init__(self) -> None:
        self.ends: list[tuple[int, ...]] = []
        """The shape behind each operation so far."""

    # -- outside of branches ---------------------------------------------------------------------------------

    def top(self, ops: Sequence[Op]) -> None:
        """All operations in order: as they are, but for branches and what reads the sum of these."""
        value: _Value | None = None
        waiting = list(ops)
        while waiting:
            op = waiting.pop(0)
            if isinstance(op, Branches):
                if isinstance(value, RealValue):
                    raise FileError(f"{op.where}: a shortcut that begins at a real value. {NEEDED}")
                value = self._meet(self._fork(op) if value is None else value, op, frozenset())
            elif value is None:
                self._plain(op)
            elif isinstance(value, RealValue):
                value = self._behind_real(value, op)
            else:
                value = self._behind_sum(value, op, waiting)
            if isinstance(value, Form) and _is_plain(value, self.lanes):
                value, self.lanes = None, ()
        if value is not None:
            raise FileError("the network ends with a sum of branches, without class scores behind it.")

    def _plain(self, op: Op) -> None:
        self.ops.append(op)
        self.shape = shape_behind(op, self.shape)
        self.ends.append(self.shape)
        if isinstance(op, Sign | Stairs):
            self.parts.append((SignPart(self.numbers[id(op)], op.where, 0, prod(self.shape)),))

    def _fork(self, op: Branches) -> Form:
        """The values that branches begin at, which must be two-valued."""
        last = max((k for k, made in enumerate(self.ops) if isinstance(made, Sign | Stairs)), default=None)
        behind = self.ops[last + 1 :] if last is not None else []
        wrong: Op | None = next(
            (made for made in behind if not isinstance(made, Affine | Flatten | MaxPool)), None
        )
        if last is None and self.ops:
            wrong = self.ops[-1]
        if last is None or wrong is not None:
            what = f"what {wrong.where} gives" if wrong is not None else "the raw inputs"
            raise FileError(f"{op.where}: a shortcut that begins at {what}, which is not -1 and +1. {NEEDED}")
        sign, shape = self.ops[last], self.ends[last]
        if not isinstance(sign, Sign):
            raise FileError(
                f"{op.where}: a shortcut of values on several levels ({sign.where}). Additions of quantized "
                "values are read from integer ONNX files (QDQ, QOperator); here -1 and +1 can be added."
            )
        low, high = (constants(value, shape[0]) for value in (sign.low, sign.high))
        for made, after in zip(behind, self.ends[last + 1 :], strict=True):
            if isinstance(made, Affine):
                low, high = (Form(shape, (), row).moved(made).shift for row in (low, high))
            elif isinstance(made, Flatten):
                order = flat_order(np.arange(prod(shape)), shape, made.order)
                low, high = (np.repeat(row, prod(shape[1:]))[order] for row in (low, high))
            shape = after
        lane = Lane(self.shape, low, high)
        self.lanes = (lane,)
        return Form.of(lane)

    def _behind_sum(self, form: Form, op: Op, later: list[Op]) -> _Value | None:
        """An operation on a sum of lanes; None once there is one value again."""
        if isinstance(op, Affine):
            return form.moved(op)
        if isinstance(op, Sign) and (signed := form.signed(op, self.zero)) is not None:
            return signed
        if isinstance(op, Flatten) and later and isinstance(later[0], LinearOp):
            layer = later.pop(0)
            assert isinstance(layer, LinearOp)
            self._emit(Flatten(op.where), *self._flat(form, op, layer))
        elif isinstance(op, LinearOp | Convolution):
            self._emit(self._over(form, op))
        else:
            self._emit(self._over(form, _identity(form.shape, op.where)))
            self._plain(op)
        self.lanes = ()
        return None

    def _emit(self, *ops: Op) -> None:
        for op in ops:
            self._plain(op)

    def _over(self, form: Form, op: LinearOp | Convolution) -> LinearOp | Convolution:
        """A layer over a sum, as one over the lanes."""
        if isinstance(op, Convolution):
            if form.shift.any() and any(op.pads):
                raise FileError(
                    f"{op.where}: zeros are padded beside values that are shifted. Shift them behind it."
                )
            kernel = ungrouped(op)
        else:
            kernel = exact_weights(op.weights, op.where)
        if kernel.shape[1] != form.shape[0]:
            raise FileError(
                f"{op.where}: {kernel.shape[1]} weights a neuron for values of shape {form.shape}. "
                "Is a flatten missing?"
            )
        scales, tail = dict(form.terms), (1,) * (kernel.ndim - 2)
        blocks = [
            kernel * scales.get(lane, constants(0, lane.shape[0])).reshape(-1, *tail) for lane in self.lanes
        ]
        each = kernel.reshape(*kernel.shape[:2], -1).sum(axis=2)
        bias = np.array(bias_of(op), dtype=object) + each @ form.shift
        wide = _narrow(np.concatenate(blocks, axis=1))
        if isinstance(op, LinearOp):
            return LinearOp(op.where, wide, bias)
        return replace(op, weights=wide, bias=bias, groups=1)

    def _flat(self, form: Form, op: Flatten, layer: LinearOp) -> tuple[LinearOp]:
        """A linear layer over the flattened sum, where all lanes are flattened channel by channel."""
        order = flat_order(np.arange(prod(form.shape)), form.shape, op.order)
        per = prod(form.shape[1:])
        weights = np.empty_like(np.asarray(layer.weights))
        weights[:, order] = layer.weights
        lanes = [
            Lane((prod(lane.shape),), np.repeat(lane.low, per), np.repeat(lane.high, per))
            for lane in self.lanes
        ]
        flat = dict(zip(self.lanes, lanes, strict=True))
        terms = tuple((flat[lane], np.repeat(scale, per)) for lane, scale in form.terms)
        self.lanes = tuple(lanes)
        made = self._over(
            Form((prod(form.shape),), terms, np.repeat(form.shift, per)), replace(layer, weights=weights)
        )
        assert isinstance(made, LinearOp)
        return (made,)

    def _behind_real(self, value: RealValue, op: Op) -> _Value:
        """An operation on a real value that a shortcut was added to."""
        if isinstance(op, Affine | BatchNorm | Clip):
            return value.then(op)
        if isinstance(op, Sign):
            branch = _Branch(value, [op])
            self._layer([branch], frozenset())
            return branch.value
        raise FileError(
            f"{op.where}: {_word(op)} of a real value that a shortcut was added to ({value.layer.where}). "
            f"{NEEDED}"
        )

    # -- branches --------------------------------------------------------------------------------------------

    def _meet(self, fork: Form, op: Branches, outer: frozenset[Lane]) -> _Value:
        """The sum of branches; `outer` are the lanes that are needed behind it."""
        branches = [_Branch(fork, list(ops)) for ops in op.branches]
        while True:
            for branch in branches:
                others = [other for other in branches if other is not branch]
                self._advance(branch, outer | _lanes(others))
            ready = [branch for branch in branches if branch.ops]
            if not ready:
                return _total(op.where, [branch.value for branch in branches])
            if not self._layer(
                ready, outer | _lanes(b for b in branches if b not in ready), tried=len(ready) > 1
            ):
                self._layer(ready[:1], outer | _lanes(b for b in branches if b is not ready[0]))

    def _advance(self, branch: _Branch, needed: frozenset[Lane]) -> None:
        """A branch up to its next sign, or its end."""
        while branch.ops and not (isinstance(branch.value, RealValue) and isinstance(branch.ops[0], Sign)):
            op, value = branch.ops.pop(0), branch.value
            if isinstance(op, Branches) and isinstance(value, Form):
                branch.value = self._meet(value, op, needed)
            elif isinstance(value, RealValue):
                if not isinstance(op, Affine | BatchNorm | Clip):
                    raise FileError(
                        f"{op.where}: {_word(op)} behind {value.layer.where} without a sign between, in a "
                        f"branch. {NEEDED}"
                    )
                branch.value = value.then(op)
            elif isinstance(op, Affine):
                branch.value = value.moved(op)
            elif isinstance(op, Sign) and (signed := value.signed(op, self.zero)) is not None:
                branch.value = signed
            else:
                branch.value = self._opened(value, op, branch)

    def _opened(self, form: Form, op: Op, branch: _Branch) -> RealValue:
        """What a layer makes of a sum of lanes."""
        match op:
            case LinearOp() if len(form.shape) == 1:
                layer = Convolution(op.where, np.asarray(op.weights)[:, :, None, None], op.bias)
            case Convolution() if len(form.shape) == 3:
                layer = op
            case Pad() if op.value == 0 and branch.ops and isinstance(branch.ops[0], Convolution):
                layer = branch.ops.pop(0)  # type: ignore[assignment]
                top, left, bottom, right = (a + b for a, b in zip(op.pads, layer.pads, strict=True))
                layer = replace(layer, pads=(top, left, bottom, right))
            case AveragePool() if len(form.shape) == 3:
                layer = _average(op, form.shape)
            case BatchNorm() | Clip() | Sign():
                branch.ops.insert(0, op)
                layer = _depthwise(form.shape, op.where)
            case _:
                raise FileError(
                    f"{op.where}: {_word(op)} inside a branch cannot be carried along. Linear layers, "
                    "convolutions, averages, batch norms and signs can be."
                )
        outs = (len(layer.weights),)
        shape = outs if len(form.shape) == 1 else shape_behind(layer, form.shape)
        return RealValue(layer, form, shape)

    def _layer(self, ready: Sequence[_Branch], needed: frozenset[Lane], *, tried: bool = False) -> bool:
        """One layer for the next sign of some branches, beside which `needed` is carried; with `tried`, False
        where that cannot be one layer.
        """
        made: list[LaneNeurons] = []
        for branch in ready:
            sign, value = branch.ops[0], branch.value
            assert isinstance(sign, Sign)
            assert isinstance(value, RealValue)
            zero = self.zero if sign.zero == 0 and self.zero is not None else sign.zero
            made.append(neurons_of(value, sign, zero))
        carried = [lane for lane in self.lanes if lane in needed]
        total = sum(lane.shape[0] for lane in self.lanes)
        if (sum(part.shape[0] for part in made) + len(carried)) * total * prod(made[0].window.kernel) > _MOST:
            raise FileError(
                f"{made[0].sign.where}: shortcuts past so many channels are too large to write down."
            )
        found = wide_layer(self.lanes, made, carried)
        if found is None:
            if tried:
                return False
            raise FileError(
                f"{made[0].sign.where}: a value that is needed later would have to be carried past a layer "
                "that changes the size of its maps. Let both branches change it at once, by their own layers."
            )
        ops, lanes = found
        for op in ops:
            self.ops.append(op)
            self.shape = shape_behind(op, self.shape)
            self.ends.append(self.shape)
        self.lanes, per, start, parts = lanes, prod(self.shape[1:]), 0, []
        for branch, part, lane in zip(ready, made, lanes, strict=False):
            sign = branch.ops.pop(0)
            stop = start + part.shape[0] * per
            parts.append(SignPart(self.numbers[id(sign)], part.where, start, stop))
            start, branch.value = stop, Form.of(lane)
        self.reports[len(self.parts)] = LayerReport(
            " and ".join(dict.fromkeys(part.where for part in made)),
            "",
            0,
            sum(part.flipped for part in made),
            0,
            sum(part.ties for part in made),
            min(part.nearest for part in made),
            carried=sum(lane.shape[0] for lane in carried) * per,
        )
        self.parts.append(tuple(parts))
        return True


def _is_plain(form: Form, lanes: Sequence[Lane]) -> bool:
    """Whether a form is all that is there, as it is."""
    return (
        form.lanes == tuple(lanes)
        and len(lanes) == 1
        and (form.terms[0][1] == 1).all()
        and not form.shift.any()
    )


def _lanes(branches: Iterable[_Branch]) -> frozenset[Lane]:
    """What branches still need."""
    found: set[Lane] = set()
    for branch in branches:
        value = branch.value
        forms = [value] if isinstance(value, Form) else [value.reads, value.added]
        found |= {lane for form in forms if form is not None for lane in form.lanes}
    return frozenset(found)


def _total(where: str, values: Sequence[_Value]) -> _Value:
    """The sum of what branches end with."""
    reals, forms = ([v for v in values if isinstance(v, kind)] for kind in (RealValue, Form))
    if not reals:
        return summed(where, [form for form in forms if isinstance(form, Form)])
    real = reals[0]
    assert isinstance(real, RealValue)
    if len(reals) > 1 or real.later:
        names = " and ".join(v.layer.where for v in reals if isinstance(v, RealValue))
        raise FileError(f"{where}: it adds real values ({names}) that no sign stands behind. {NEEDED}")
    more = [form for form in (*forms, real.added) if isinstance(form, Form)]
    added = summed(where, more)
    if added.shape != real.shape:
        raise FileError(f"{where}: it adds values of shapes {real.shape} and {added.shape}.")
    return replace(real, added=added)


def _identity(shape: tuple[int, ...], where: str) -> LinearOp | Convolution:
    if len(shape) == 1:
        return LinearOp(where, np.eye(shape[0]))
    return Convolution(where, np.eye(shape[0])[:, :, None, None])


def _depthwise(shape: tuple[int, ...], where: str) -> Convolution:
    return Convolution(where, np.ones((shape[0], 1, 1, 1)), groups=shape[0])


def _average(op: AveragePool, shape: tuple[int, ...]) -> Convolution:
    window, counts = averaged_window(shape, op)
    if len(set(counts)) > 1:
        raise FileError(
            f"{op.where}: averages inside a branch whose windows count more values here than there."
        )
    weights = np.full((shape[0], 1, *window.kernel), Fraction(1, counts[0]), dtype=object)
    return Convolution(op.where, weights, None, window.stride, (1, 1), window.pads, shape[0])


def _narrow(weights: Any) -> Any:
    """Exact numbers as floats, where all of them are."""
    floats = weights.astype(np.float64)
    return (
        floats if all(Fraction(f) == v for f, v in zip(floats.flat, weights.flat, strict=True)) else weights
    )


def _word(op: Op) -> str:
    return type(op).__name__.removesuffix("Op")
