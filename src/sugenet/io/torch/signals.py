"""Follow a signal through a running program: the operations so far, and the position of each number.

The program's own numbers for a few samples are kept next to the operations. Every operation that a reader
recognizes is recomputed and compared with them, so a misread program is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import prod
from typing import Any, Literal

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.evaluation import apply
from sugenet.io.exact.ops import (
    Affine,
    Branches,
    Clip,
    Convolution,
    Flatten,
    LinearOp,
    Op,
    OpChain,
    Picks,
    Quantize,
    Sign,
)
from sugenet.io.plain.refusals import refuse_if
from sugenet.io.torch.piecewise import Piecewise
from sugenet.nn.arrays import Array, Doubles, Indices

__all__ = ["Signal", "SignalNode", "chain_of_signal", "concatenated", "exact", "joined", "natural", "start"]


@dataclass(frozen=True, eq=False)
class SignalNode:
    """The result of one operation, with a shape and the values for a few samples.

    The shape is (features,) or (channels, height, width).
    """

    shape: tuple[int, ...]
    values: Doubles
    op: Op | None = None
    before: SignalNode | None = None
    channels_last: bool = False
    """For the first node: whether the program got its samples as (height, width, channels)."""
    reach: float = 0.0
    """The largest magnitude since the previous node, if several steps of the program became one operation.
    """
    branches: tuple[SignalNode, ...] = ()
    """If two branches join here: the last node of each."""
    _known: dict[Any, Any] = field(default_factory=dict)
    """Nodes made from this one, so that readers of the same values share a node."""

    def once(self, key: Any, make: Callable[[], SignalNode]) -> SignalNode:
        """Return the node that was made for this key, or a new one."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]  # type: ignore[no-any-return]

    def maps(self, shape: tuple[int, ...], last: bool, where: str) -> SignalNode:
        """Return this node, and all before it, over maps."""
        return self.once(("maps", shape, last), lambda: _reshaped(self, shape, last, where))

    def path(self) -> Iterator[SignalNode]:
        """Yield all nodes up to this one, first to last."""
        return iter(_path_since(self, None))

    def every(self) -> Iterator[SignalNode]:
        """Yield the same as `path`, but with the nodes of each branch in place of the joining node."""
        return _since(self, None)

    def then(self, op: Op, values: Doubles | None = None) -> SignalNode:
        """Return the node after one more operation, with the program's own values if known.

        Refuse the operation if its values differ.
        """
        computed = apply(op, self.values)
        if values is not None:
            _agree(computed, values.reshape(computed.shape), op.where)
            computed = values.reshape(computed.shape)
        return SignalNode(computed.shape[1:], computed, op, self)


@dataclass(frozen=True, eq=False)
class Signal:
    """A tensor of the program, in terms of a node.

    Its number at a position is ``function(node's number)`` at the flat index given by `order`.
    """

    node: SignalNode
    order: Indices
    function: Piecewise = Piecewise.identity()  # noqa: RUF009 - frozen
    written_at: str = ""
    """The place of the function in the program, in words."""
    tail: tuple[str, ...] = ()
    """Final operations that do not change which score is largest."""
    odd: bool = False
    """Whether the tail keeps the sign of every number, as tanh does."""
    reach: float = 0.0
    """The largest magnitude since the node."""
    rows: int = 0
    """If the program merged the first axis of each sample with the batch: the size of that axis."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample in the program."""
        return self.order.shape

    def same_position(self, other: Signal) -> bool:
        """Return whether both are functions of the same numbers."""
        return self.node is other.node and np.array_equal(self.order, other.order)

    def settled(self, actual: Doubles, where: str) -> Signal:
        """Write the function as operations."""
        if self.function.is_identity:
            return self
        where = self.written_at or where
        key = ("settled", self.function, self.order.tobytes(), self.reach)
        return Signal(self.node.once(key, lambda: self._written(actual, where)), self.order, rows=self.rows)

    def _written(self, actual: Doubles, where: str) -> SignalNode:
        """Return the node after the function's operations, with the program's own values."""
        node = self.node
        for op in self.function.ops(where):
            node = replace(node.then(op), reach=self.reach)
        values = node.values.reshape(len(node.values), -1).copy()
        seen = self.node.values.reshape(len(values), -1)[:, self.order.reshape(-1)]
        flat = actual.reshape(len(values), -1)
        near = np.zeros(seen.shape, bool)
        # In the program's arithmetic, a number next to a break may fall on its other side.
        for index in self.function.breaks:
            near |= (np.abs(seen - float(index)) <= 1e-5 * np.maximum(1.0, np.abs(seen))) & (
                seen != float(index)
            )
        _agree(
            np.where(near, 0.0, values[:, self.order.reshape(-1)]),
            np.where(near, 0.0, flat),
            where,
            float(np.abs(seen).max(initial=0)),
        )
        values[:, self.order.reshape(-1)] = flat
        return replace(node, values=values.reshape(node.values.shape))

    def flat(self, where: str) -> Signal:
        """Return the signal over flat features; `order` may still select and permute them."""
        if len(self.node.shape) == 1:
            return self
        channels, height, width = self.node.shape
        layouts: tuple[tuple[Literal["CHW", "HWC"], Indices], ...] = (
            ("CHW", np.arange(channels * height * width)),
            (
                "HWC",
                np.arange(channels * height * width).reshape(self.node.shape).transpose(1, 2, 0).reshape(-1),
            ),
        )
        for name, indices in layouts:
            if np.array_equal(self.order.reshape(-1), indices):
                made = self.node.once(("flat", name), lambda name=name: self.node.then(Flatten(where, name)))  # type: ignore[misc]
                return Signal(made, np.arange(len(indices)).reshape(self.shape))
        return Signal(self.node.once("flat", lambda: self.node.then(Flatten(where))), self.order)

    def maps(self, where: str) -> Signal:
        """Return the signal over maps, as a convolution reads them: natural order, channels first.

        One dimension counts as height 1.
        """
        refuse_if(
            self.order.ndim not in (2, 3),
            where,
            f"reads samples of shape {self.shape}, but maps (channels, height, width) are needed.",
        )
        shape = self.shape if self.order.ndim == 3 else (self.shape[0], 1, self.shape[1])
        natural = np.arange(prod(shape))
        if self.node.shape == shape and np.array_equal(self.order.reshape(-1), natural):
            return self
        per = prod(self.node.shape[1:])
        chosen = self.order.reshape(shape[0], -1)[:, 0] // per
        if (
            self.node.op is not None
            and self.node.shape[1:] == shape[1:]
            and np.array_equal(self.order.reshape(shape[0], -1), chosen[:, None] * per + np.arange(per))
        ):
            return Signal(self._picked(where, chosen), natural.reshape(self.shape))
        for last in (False, True):
            laid = (
                natural if not last else natural.reshape(*shape[1:], shape[0]).transpose(2, 0, 1).reshape(-1)
            )
            if np.array_equal(self.order.reshape(-1), laid):
                return Signal(self.node.maps(shape, last, where), natural.reshape(self.shape))
        raise FileError(
            f"{where}: reads maps of shape {shape} made from values of shape {self.node.shape} in another "
            "order. Flat features can become maps at the input only, "
            "and axes be permuted only before the first layer."
        )

    def natural(self, where: str) -> Signal:
        """Return the signal over flat features that have the order of the program."""
        if np.array_equal(self.order, np.arange(self.node.shape[0])):
            return self
        return natural(self._picked(where, self.order), self.shape)

    def _picked(self, where: str, chosen: Indices) -> SignalNode:
        """Return the node of some channels of this one."""
        picked = _picking(where, chosen, self.node.shape)
        return self.node.once(
            ("picked", chosen.tobytes()),
            lambda: replace(
                self.node.then(Branches(where, ((picked,),))), branches=(self.node.then(picked),)
            ),
        )

    def channels(self, where: str) -> Signal:
        """Return the signal over values whose first axis is the channel: flat features, or maps."""
        if self.order.size == self.shape[0] and (len(self.node.shape) == 1 or self.order.ndim == 1):
            return self.flat(where)
        return self.maps(where)

    def along_channels(self, values: Array, where: str) -> Array:
        """Convert one number per position of a sample to one per channel or feature of the node."""
        laid = np.empty(self.node.shape, values.dtype).reshape(-1)
        refuse_if(
            len(set(self.order.reshape(-1).tolist())) < laid.size,
            where,
            f"rescales only a part of the {laid.size} values. Use all of them, or none.",
        )
        laid[self.order.reshape(-1)] = values.reshape(-1)
        rows = laid.reshape(self.node.shape[0], -1)
        refuse_if(
            (rows != rows[:, :1]).any(),
            where,
            "has a number of its own at every pixel. One a channel is needed, or flatten first.",
        )
        return np.asarray(rows[:, 0])

    def rescaled(self, op: Op, actual: Doubles) -> Signal:
        """Apply an operation that keeps every number in its position; all positions of the node are in
        use.
        """
        laid = np.empty((len(actual), self.order.size))
        laid[:, self.order.reshape(-1)] = actual.reshape(len(actual), -1)
        return replace(self, node=self.node.then(op, laid))

    def linear(self, where: str, weights: Array, bias: Array | None, actual: Doubles) -> Signal:
        """Apply a linear layer whose weights have the order of the program's features."""
        if self.rows:
            return self._linear_of_rows(where, weights, bias, actual)
        refuse_if(
            self.order.ndim != 1,
            where,
            f"a linear layer reads samples of shape {self.shape}. Flatten them first.",
        )
        refuse_if(
            weights.shape[1] != self.order.size,
            where,
            f"{weights.shape[1]} weights a neuron for {self.order.size} features.",
        )
        flat = self.flat(where)
        indices = flat.order
        refuse_if(
            len(set(indices.tolist())) < len(indices),
            where,
            "reads some features twice. Add up their weights and read them once.",
        )
        rows = np.zeros((len(weights), flat.node.shape[0]), weights.dtype)
        rows[:, indices] = weights
        return natural(flat.node.then(LinearOp(where, rows, bias), actual), actual.shape[1:])

    def _linear_of_rows(self, where: str, weights: Array, bias: Array | None, actual: Doubles) -> Signal:
        """Apply a linear layer along the last axis, to each row of a sample: a dense layer between maps."""
        rows, inputs, outputs = self.rows, prod(self.node.shape), len(weights)
        refuse_if(
            rows * outputs * inputs > 1 << 22,
            where,
            "a linear layer of so many rows is too large to write out.",
        )
        wide = np.zeros((rows, outputs, inputs), weights.dtype)
        for row, indices in zip(wide, self.order, strict=True):
            for index, column in zip(indices, weights.T, strict=True):
                row[:, index] += column
        each = None if bias is None else np.tile(bias, rows)
        op = LinearOp(where, wide.reshape(-1, inputs), each, (rows, 1, outputs))
        values = actual.reshape(len(self.node.values), rows, 1, outputs)
        return replace(natural(self.node.then(op, values), (rows, outputs)), rows=rows)


def joined(where: str, left: Signal, right: Signal, sign: int, actual: Doubles) -> Signal:
    """Return the sum of two signals, or their difference: a shortcut."""
    if left.node.shape != right.node.shape or not np.array_equal(left.order, right.order):
        left, right = _aligned(where, [left, right])
        refuse_if(
            left.shape != right.shape,
            where,
            f"it adds values of shapes {left.shape} and {right.shape}. Only values of the same shape can be "
            "added: pick or repeat channels by a layer before it.",
        )
    ends = [left.node, right.node]
    if sign < 0:
        ends[1] = right.node.then(Affine(where, -np.ones(1), np.zeros(1)))
    return Signal(_met(where, ends, left.order, actual), left.order)


def concatenated(where: str, parts: Sequence[Signal], axis: int, actual: Doubles) -> Signal:
    """Join signals along an axis of their samples: their channels, unless all are of the same numbers.

    Each part is placed among the channels of the result, and these are added.
    """
    if all(part.node is parts[0].node for part in parts):
        order = np.concatenate([part.order for part in parts], axis=axis)
        return replace(parts[0], order=order)
    refuse_if(axis != 0, where, "joins values along another axis than the channels.")
    count, start, ends = actual.shape[1], 0, []
    for part in _aligned(where, parts):
        placed = np.full(count, -1)
        placed[start : start + part.shape[0]] = np.arange(part.shape[0])
        ends.append(part.node.then(_picking(where, placed, part.node.shape)))
        start += part.shape[0]
    order = np.arange(actual[0].size).reshape(actual.shape[1:])
    return Signal(_met(where, ends, order, actual), order)


def _aligned(where: str, parts: Sequence[Signal]) -> list[Signal]:
    """Return signals with their numbers in natural order, all over maps or all over flat features."""
    return [part.flat(where).natural(where) if part.order.ndim == 1 else part.maps(where) for part in parts]


def _picking(where: str, channels: Indices, shape: tuple[int, ...]) -> LinearOp | Convolution:
    """Return the layer that picks channels of values of a shape; -1 is a channel of zeros."""
    rows = (channels[:, None] == np.arange(shape[0])).astype(float)
    return LinearOp(where, rows) if len(shape) == 1 else Convolution(where, rows[:, :, None, None])


def _met(where: str, ends: Sequence[SignalNode], order: Indices, actual: Doubles) -> SignalNode:
    """Return the node of the sum of some nodes, whose numbers are at `order`."""
    trails = [list(end.path()) for end in ends]
    shared = 0
    while all(shared < len(trail) and trail[shared] is trails[0][shared] for trail in trails):
        shared += 1
    assert shared, "all nodes begin at the raw input"
    start = trails[0][shared - 1]
    branches = tuple(
        tuple(node.op for node in _path_since(end, start) if node.op is not None) for end in ends
    )
    made = start.then(Branches(where, branches))
    values = made.values.reshape(len(actual), -1).copy()
    _agree(values[:, order.reshape(-1)], actual.reshape(len(actual), -1), where)
    values[:, order.reshape(-1)] = actual.reshape(len(actual), -1)
    return replace(made, values=values.reshape(made.values.shape), branches=tuple(ends))


def _path_since(end: SignalNode, start: SignalNode | None) -> list[SignalNode]:
    """Return the nodes after one, up to another."""
    nodes = []
    node: SignalNode | None = end
    while node is not None and node is not start:
        nodes.append(node)
        node = node.before
    return nodes[::-1]


def _since(end: SignalNode, start: SignalNode | None) -> Iterator[SignalNode]:
    for node in _path_since(end, start):
        if node.branches:
            for inner in node.branches:
                yield from _since(inner, node.before)
        else:
            yield node


def natural(node: SignalNode, shape: tuple[int, ...]) -> Signal:
    """Return a node's numbers in their own order, in the shape that the program gives them."""
    return Signal(node, np.arange(prod(node.shape)).reshape(shape))


def start(samples: Doubles) -> Signal:
    """Return the raw input of a program, one row per sample; it is flat until something reads it as maps."""
    flat = samples.reshape(len(samples), -1)
    return natural(SignalNode(flat.shape[1:], flat), samples.shape[1:])


def chain_of_signal(source: str, signal: Signal, actual: Doubles, where: str) -> OpChain:
    """Return all operations up to the scores."""
    if not signal.tail:
        signal = signal.settled(actual, where)
    signal = signal.flat(where)
    refuse_if(
        not np.array_equal(signal.order.reshape(-1), np.arange(signal.node.shape[0])),
        where,
        "the output leaves out or reorders scores. Return all of them in their order.",
    )
    first, *later = signal.node.path()
    refuse_if(
        not any(isinstance(node.op, Sign | Quantize) for node in signal.node.every()),
        source,
        "no sign and no quantizer was found on the way from the input to the output, so this "
        "is not a quantized network. Binarize activations with torch.where(x >= 0, 1, -1), or round them.",
    )
    ops = tuple(node.op for node in later if node.op is not None)
    picks: Picks = (
        "class" if any(name.startswith(("argmax at", "topk at", "max at")) for name in signal.tail) else ""
    )
    return OpChain(source, first.shape, ops, first.channels_last, signal.tail, picks)


def _reshaped(node: SignalNode, shape: tuple[int, ...], last: bool, where: str) -> SignalNode:
    """Repeat the operations from the input on, on maps; only operations that do not depend on the shape are
    allowed.
    """
    first, *later = node.path()
    careless = all(
        isinstance(step.op, Clip | Sign)
        or (isinstance(step.op, Quantize) and len(step.op.thresholds) == 1)
        or (isinstance(step.op, Affine) and np.size(step.op.scale) == np.size(step.op.shift) == 1)
        for step in later
    )
    refuse_if(
        not careless or len(first.shape) != 1,
        where,
        f"flat features or other maps become maps of shape {shape} after "
        f"{node.op.where if node.op else 'the input'}. Only the input itself can be reshaped to maps.",
    )

    def laid(values: Doubles) -> Doubles:
        if last:
            return values.reshape(len(values), *shape[1:], shape[0]).transpose(0, 3, 1, 2)
        return values.reshape(len(values), *shape)

    if node.before is None:
        return SignalNode(shape, laid(node.values), channels_last=last)
    before = node.before.maps(shape, last, where)
    return SignalNode(shape, laid(node.values), node.op, before, reach=node.reach)


def _agree(expected: Doubles, actual: Doubles, where: str, size: float = 0.0) -> None:
    scale = max(size, float(np.abs(expected).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        off = ~(np.abs(expected - actual) <= 1e-3 * scale + 1e-30)
    if off.any():
        index = tuple(int(k) for k in np.argwhere(off)[0])
        if not np.isfinite(actual[index]):
            raise FileError(
                f"{where}: gives {actual[index]:g}: the example, or a parameter, "
                f"is not finite or far too large."
            )
        raise FileError(
            f"{where}: gives {actual[index]:g} where {expected[index]:g} was expected, so it was not "
            "understood. It may change values out of sight, through a view or NumPy: write new tensors "
            "instead of changing old ones in place."
        )


def exact(value: Any) -> Fraction:
    """Return the exact value of a number of a file."""
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and not np.isfinite(number):
        raise FileError(f"a parameter is {number}, but every one must be a finite number.")
    return Fraction(number)
