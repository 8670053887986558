"""Write integer operations over named tensors of levels as one chain of layers.

A graph with branches, such as a residual network, becomes a chain. Values that are needed later are carried
past the layers between by neurons that repeat them (weight 1, steps 1..top). So the sum of two branches is a
layer that reads both.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import numpy as np

from sugenet.errors import NetworkError
from sugenet.io.exact.requantize import joined
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.nn import NEVER, Layer, PoolLayer, QuantizedConv, QuantizedLayer, Window
from sugenet.nn.arrays import Ints

__all__ = [
    "LevelWire",
    "Operation",
    "Place",
    "Pooling",
    "Staircase",
    "added",
    "chained",
    "kernel_over",
    "remapped",
    "side_by_side",
    "ungrouped",
]

_MOST = 1 << 26
"""Largest number of weights of a layer that has to be written out densely."""
_ALWAYS = -(1 << 40)
"""A step that every sum reaches."""


@dataclass(frozen=True)
class LevelWire:
    """A tensor of levels 0..top, channel by channel; (n, 1, 1) if it is not an image."""

    name: str
    shape: tuple[int, int, int]
    top: int

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Staircase:
    """A convolution of one or more wires that lie side by side by channel, with steps on its plain sums of
    levels.

    A dense layer has a 1x1 kernel over wires seen as (n, 1, 1).
    """

    where: str
    sources: tuple[LevelWire, ...]
    result: LevelWire
    weights: Ints
    """Shape (out, in / groups, kernel height, kernel width)."""
    steps: Ints
    """Shape (out, result.top): rising thresholds on the sums, padding included."""
    window: Window
    """Window over all sources together."""
    groups: int = 1
    pad: int = 0

    @property
    def flat(self) -> bool:
        """Whether it reads an image as flat values."""
        return any(source.shape[1:] != self.window.shape[1:] for source in self.sources)


@dataclass(frozen=True, eq=False)
class Pooling:
    """The largest level of each window."""

    where: str
    sources: tuple[LevelWire, ...]
    result: LevelWire
    window: Window


Operation: TypeAlias = Staircase | Pooling


@dataclass(frozen=True)
class Place:
    """Position of a tensor among the outputs of a layer."""

    name: str
    layer: int
    start: int
    stop: int


def remapped(
    wire: LevelWire, name: str, steps: Ints, where: str, shape: tuple[int, int, int] | None = None
) -> Staircase:
    """Return a rising function of every level, as thresholds on it, one row for all or one per channel.

    If `shape` is given, the wire is seen in this shape.
    """
    seen = wire.shape if shape is None else shape
    return Staircase(
        where,
        (wire,),
        LevelWire(name, seen, steps.shape[1]),
        np.ones((seen[0], 1, 1, 1), np.int64),
        np.broadcast_to(steps, (seen[0], steps.shape[1])),
        Window(seen, 1),
        seen[0],
    )


def added(
    where: str, left: LevelWire, right: LevelWire, result: LevelWire, table: Ints, why: str
) -> Staircase:
    """Return the sum of two wires with its quantizer: one staircase over both.

    `table` has its level for every pair of levels, and `why` says why weighted sums may not agree with it.
    """
    p, q, steps, wrong = joined(table, result.top)
    refuse_if(
        wrong,
        f"{wrong:,} of its {table.size:,} pairs of levels do not agree with any weighted sum of the two, "
        f"{why}. Choose other scales for this addition.",
    )
    (channels, *size), wires = result.shape, (left, right) if left != right else (left,)
    each = _eye(channels)
    weights = np.concatenate([p * each, q * each], axis=1) if left != right else (p + q) * each
    window, rows = Window((channels * len(wires), *size), 1), np.repeat(steps, channels, axis=0)
    return Staircase(where, wires, result, weights[:, :, None, None], rows, window)


def side_by_side(where: str, wires: Sequence[LevelWire], result: LevelWire, steps: Ints) -> Staircase:
    """Return wires joined along their channels, with the steps of each channel."""
    refuse_if(
        len(set(wires)) < len(wires), "it joins a tensor with itself. Let each part be a tensor of its own."
    )
    each = _eye(result.shape[0])[:, :, None, None]
    return Staircase(where, tuple(wires), result, each, steps, Window(result.shape, 1))


def _eye(channels: int) -> Ints:
    """Return the weights of a layer that copies each channel."""
    refuse_if(
        channels > 1 << 13,
        f"it joins {channels:,} channels, but {1 << 13:,} are supported. Join images, not rows.",
    )
    return np.eye(channels, dtype=np.int64)


def chained(
    start: LevelWire, operations: Sequence[Operation], end: LevelWire
) -> tuple[tuple[Layer, ...], tuple[Place, ...]]:
    """Return the layers from `start` to `end`, and the position of each tensor in them.

    Raises
    ------
    FileError
        If a layer would be too large, or a value would have to be carried past a pool.
    """
    waiting = _merged(list(operations), end)
    if not waiting:
        again = remapped(
            start, f"{start.name} (again)", np.arange(1, start.top + 1)[None, :], f"{start.name!r}"
        )
        waiting, end = [again], again.result
    state, top = [start], start.top
    layers: list[Layer] = []
    indices: list[Place] = []
    while waiting:
        chosen = _chosen(waiting, state)
        waiting = [op for op in waiting if op not in chosen]
        needed = {source for op in waiting for source in op.sources} | {end}
        carried, made = [wire for wire in state if wire in needed], [op.result for op in chosen]
        assert needed.issuperset(made), "an operation whose result nothing reads"
        with within(chosen[0].where, NetworkError):
            layers.append(_layer(chosen, carried, state, top))
        state = [*made, *carried]
        top = max(wire.top for wire in state)
        stops = np.cumsum([wire.size for wire in made]).tolist()
        for wire, stop in zip(made, stops, strict=True):
            indices.append(Place(wire.name, len(layers) - 1, stop - wire.size, stop))
    assert state == [end]
    return tuple(layers), tuple(indices)


# -- fewer operations ----------------------------------------------------------------------------------------


def _merged(operations: list[Operation], end: LevelWire) -> list[Operation]:
    """Merge functions of single levels into the steps that produce these levels, also across pools."""
    while (pair := next(_mergeable(operations, end), None)) is not None:
        k, maker = pair
        operation, before = operations[k], operations[maker]
        assert isinstance(operation, Staircase)
        if isinstance(before, Staircase):
            operations[maker] = _composed(before, operation)
            del operations[k]
        else:  # the largest of a window rises with each value, so the function may be applied first
            source, name = before.sources[0], f"{operation.result.name} before {before.where}"
            operations[maker] = remapped(source, name, operation.steps, operation.where)
            operations[k] = replace(before, sources=(operations[maker].result,), result=operation.result)
    return operations


def _mergeable(operations: Sequence[Operation], end: LevelWire) -> Iterator[tuple[int, int]]:
    """Yield functions of single levels that nothing else reads, each with the producer of these levels."""
    makers = {operation.result: k for k, operation in enumerate(operations)}
    reads = Counter(source for operation in operations for source in operation.sources)
    for k, operation in enumerate(operations):
        source = operation.sources[0]
        if source not in makers or source == end or reads[source] > 1 or not _pointwise(operation):
            continue
        if not _turned(operations[makers[source]], operation):
            yield k, makers[source]


def _turned(before: Operation, operation: Operation) -> bool:
    """Return whether a pool sees its values in another shape than they have, so that channels differ."""
    if isinstance(before, Staircase) or not isinstance(operation, Staircase):
        return False
    shapes = before.sources[0].shape, before.window.shape
    return shapes[0] != shapes[1] or operation.window.shape[0] != shapes[0][0]


def _pointwise(operation: Operation) -> bool:
    return (
        isinstance(operation, Staircase)
        and len(operation.sources) == 1
        and operation.groups == operation.window.shape[0]
        and operation.weights.shape[0] == operation.groups
        and operation.window.kernel == operation.window.stride == (1, 1)
        and not any(operation.window.pads)
        and bool((operation.weights == 1).all())
        and operation.sources[0].shape == operation.result.shape
    )


def _composed(before: Staircase, after: Staircase) -> Staircase:
    """Return the steps of `after`, which are levels of `before`, as thresholds on the sums of `before`."""
    rows = np.concatenate(
        [np.full((len(before.steps), 1), _ALWAYS), before.steps, np.full((len(before.steps), 1), NEVER)],
        axis=1,
    )
    each = len(before.steps) // len(after.steps)  # a dense layer has a row per pixel
    levels = np.clip(np.repeat(after.steps, each, axis=0), 0, before.steps.shape[1] + 1)
    return replace(before, result=after.result, steps=np.take_along_axis(rows, levels, axis=1))


# -- one layer -----------------------------------------------------------------------------------------------


def _chosen(waiting: Sequence[Operation], state: Sequence[LevelWire]) -> list[Operation]:
    """Return the next operation, with others over the same tensors that can share a layer with it."""
    first = next(op for op in waiting if all(source in state for source in op.sources))
    chosen = [first]
    for other in waiting:
        if other is not first and set(other.sources) <= set(first.sources) and _beside([*chosen, other]):
            chosen.append(other)
    return chosen


def _layer(chosen: list[Operation], carried: list[LevelWire], state: list[LevelWire], top: int) -> Layer:
    """Return operations as one layer that also repeats values that are needed later."""
    first = chosen[0]
    if isinstance(first, Pooling):
        refuse_if(
            carried or state != list(first.sources),
            first.where,
            f"{(carried or state)[-1].name!r} is needed after this pool, and "
            f"values cannot be carried past pools. Pool before the branch.",
        )
        return PoolLayer(first.window, top=top)
    pieces = [op for op in chosen if isinstance(op, Staircase)]
    rows = sum(len(op.steps) for op in pieces)
    refuse_if(
        rows * max(op.result.top for op in pieces) > _MOST,
        first.where,
        f"its {rows:,} staircases have too many steps to write down.",
    )
    if len(pieces) == 1 and not carried and state == list(first.sources):
        return _alone(first, top)
    pieces += [remapped(wire, wire.name, np.arange(1, wire.top + 1)[None, :], "") for wire in carried]
    return _images(pieces, state, top) or _written_out(pieces, carried, state, top)


def _alone(op: Staircase, top: int) -> Layer:
    window = op.window
    if (1, 1) == window.kernel == window.shape[1:] == window.positions and op.groups == 1:
        return QuantizedLayer.from_sums(
            op.weights[:, :, 0, 0], op.steps.tolist(), np.full(window.inputs, top)
        )
    return QuantizedConv(op.weights, op.steps, window, op.groups, top=top, pad=op.pad)


def _images(pieces: Sequence[Staircase], state: Sequence[LevelWire], top: int) -> QuantizedConv | None:
    """Return one convolution of all values, if all images have the same size."""
    size, pads = state[0].shape[1:], {op.pad for op in pieces if any(op.window.pads)}
    if size == (1, 1) or any(wire.shape[1:] != size for wire in state):
        return None
    if len(pads) > 1 or any(op.flat for op in pieces):
        return None
    combined = kernel_over(
        state, [(op.sources, ungrouped(op.weights, op.groups), op.window) for op in pieces]
    )
    if combined is None:
        return None
    return QuantizedConv(combined[0], _all_steps(pieces), combined[1], top=top, pad=max(pads, default=0))


def _written_out(
    pieces: Sequence[Staircase], carried: Sequence[LevelWire], state: Sequence[LevelWire], top: int
) -> QuantizedLayer:
    """Return a dense layer with every weight written out."""
    inputs, outputs = (sum(wire.size for wire in wires) for wires in (state, [op.result for op in pieces]))
    refuse_if(
        outputs * max(inputs, *(op.result.top for op in pieces)) > _MOST,
        pieces[0].where,
        f"{carried[0].name if carried else 'what stands beside it'!r} is needed "
        f"later and has another size, which takes a layer of {outputs:,} neurons over {inputs:,} "
        f"inputs; up to {_MOST:,} weights are supported. Use fewer channels or smaller images.",
    )
    starts = _starts(state, [wire.size for wire in state])
    dense = [
        QuantizedConv(op.weights, op.steps, op.window, op.groups, top=top, pad=op.pad).dense()
        for op in pieces
    ]
    rows = np.zeros((outputs, inputs), np.int64)
    stop = 0
    for op, layer in zip(pieces, dense, strict=True):
        inside = np.concatenate([starts[source] + np.arange(source.size) for source in op.sources])
        stop += op.result.size
        rows[stop - op.result.size : stop, inside] = layer.weights
    return QuantizedLayer.from_sums(rows, _all_steps(dense), np.full(inputs, top))


def _all_steps(pieces: Sequence[Staircase] | Sequence[Layer]) -> Ints:
    """Return the steps of all pieces. Shorter rows are filled with steps that no sum reaches."""
    height = max(piece.steps.shape[1] for piece in pieces)
    return np.concatenate(
        [
            np.pad(piece.steps, ((0, 0), (0, height - piece.steps.shape[1])), constant_values=NEVER)
            for piece in pieces
        ]
    )


def _beside(operations: Sequence[Operation]) -> bool:
    """Return whether operations over the same image can share a layer."""
    pieces = [op for op in operations if isinstance(op, Staircase)]
    if len(pieces) < len(operations):
        return False
    pads = {op.pad for op in pieces if any(op.window.pads)}
    same = len({(op.window.shape[1:], op.flat) for op in pieces}) == 1
    return same and len(pads) < 2 and _common_window([op.window for op in pieces]) is not None


# -- values side by side -------------------------------------------------------------------------------------


def _starts(state: Sequence[Any], sizes: Sequence[int]) -> dict[Any, int]:
    return dict(zip(state, np.cumsum([0, *sizes]).tolist(), strict=False))


def ungrouped(weights: Any, groups: int) -> Any:
    """Return a kernel over all channels."""
    outs, each = weights.shape[:2]
    if groups == 1:
        return weights
    full = np.zeros((outs, each * groups, *weights.shape[2:]), weights.dtype)
    for j in range(outs):
        first = j // (outs // groups) * each
        full[j, first : first + each] = weights[j]
    return full


def kernel_over(
    state: Sequence[Any], pieces: Sequence[tuple[Sequence[Any], Any, Window]]
) -> tuple[Any, Window] | None:
    """Return one kernel, and its window, over all values that lie side by side.

    Each piece reads some of these values with its own kernel and window. Return None if the windows do not
    move alike.
    """
    common = _common_window([window for _, _, window in pieces])
    if common is None:
        return None
    starts, total = (
        _starts(state, [value.shape[0] for value in state]),
        sum(value.shape[0] for value in state),
    )
    kernels = []
    for sources, weights, window in pieces:
        kernel = np.zeros((len(weights), total, *common.kernel), weights.dtype)
        y, x = ((common.pads[k] - window.pads[k]) // common.dilation[k] for k in (0, 1))
        each = [starts[source] + np.arange(source.shape[0]) for source in sources]
        inside = np.concatenate([np.arange(0), *each])
        kernel[:, inside, y : y + window.kernel[0], x : x + window.kernel[1]] = weights
        kernels.append(kernel)
    shape = (total, *common.shape[1:])
    return np.concatenate(kernels), Window(shape, common.kernel, common.stride, common.dilation, common.pads)


def _common_window(windows: Sequence[Window]) -> Window | None:
    """Return one window that covers several at every position; None if they do not move alike."""
    spread = {window.dilation for window in windows if window.kernel != (1, 1)} or {(1, 1)}
    strides, positions = {window.stride for window in windows}, {window.positions for window in windows}
    if len(spread) > 1 or len(strides) > 1 or len(positions) > 1:
        return None
    dilation, stride = spread.pop(), strides.pop()
    top, left = (max(window.pads[k] for window in windows) for k in (0, 1))
    if any((top - w.pads[0]) % dilation[0] or (left - w.pads[1]) % dilation[1] for w in windows):
        return None
    if dilation != (1, 1) and any(w.pads[:2] != (top, left) for w in windows):
        return None
    kernel = (
        max(top - window.pads[0] + window.kernel[0] for window in windows),
        max(left - window.pads[1] + window.kernel[1] for window in windows),
    )
    shape = windows[0].shape
    (rows, columns) = positions.pop()
    ends = [
        max(0, (count - 1) * step + spread_ * (size - 1) + 1 - long - before)
        for count, step, spread_, size, long, before in zip(
            (rows, columns), stride, dilation, kernel, shape[1:], (top, left), strict=True
        )
    ]
    common = Window(shape, kernel, stride, dilation, (top, left, *ends))
    return common if common.positions == (rows, columns) else None
