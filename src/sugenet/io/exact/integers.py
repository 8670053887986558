"""Integer operations over named tensors of levels, as one chain of layers.

A graph with branches, as a residual network is, becomes a chain: what is needed later is carried past the
layers between by neurons that repeat it (weight 1, steps 1..top), so that the sum of two branches is a layer
that reads both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeAlias

import numpy as np

from sugenet.bnn import NEVER, Layer, PoolLayer, StairConv, StairLayer, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError, NetworkError

__all__ = [
    "LevelWire",
    "Operation",
    "Place",
    "Pooling",
    "Staircase",
    "chained",
    "common_window",
    "remapped",
]

_MOST = 1 << 26
"""Weights of a layer that has to be written out densely."""
_ALWAYS = -(1 << 40)
"""A step that every sum reaches."""


@dataclass(frozen=True)
class LevelWire:
    """A tensor of levels 0..top, channel by channel; (n, 1, 1) where it is no image."""

    name: str
    shape: tuple[int, int, int]
    top: int

    @property
    def size(self) -> int:
        """Number of values."""
        return prod(self.shape)


@dataclass(frozen=True, eq=False)
class Staircase:
    """A convolution of one or more wires that lie channel beside channel, with steps on its plain sums of
    levels; a dense layer has a 1x1 kernel over wires seen as (n, 1, 1).
    """

    where: str
    sources: tuple[LevelWire, ...]
    result: LevelWire
    weights: Ints
    """(out, in / groups, kernel height, kernel width)"""
    steps: Ints
    """(out, result.top): rising thresholds on the sums, padding included."""
    window: Window
    """Over all sources together."""
    groups: int = 1
    pad: int = 0

    @property
    def flat(self) -> bool:
        """Whether it reads an image as if it were none."""
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
    """Where a tensor lies among the outputs of a layer."""

    name: str
    layer: int
    start: int
    stop: int


def remapped(
    wire: LevelWire, name: str, steps: Ints, where: str, shape: tuple[int, int, int] | None = None
) -> Staircase:
    """A rising function of every level: as thresholds on it, one row for all or one for each channel, where
    the wire is seen in another shape if one is given.
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


def chained(
    start: LevelWire, operations: Sequence[Operation], end: LevelWire
) -> tuple[tuple[Layer, ...], tuple[Place, ...]]:
    """The layers from `start` to `end`, and where each tensor can be seen in them.

    Raises
    ------
    FileError
        Where a layer would be too large, or a value would have to be carried past a pool.
    """
    return _LevelChain(start, _merged(list(operations), end), end).run()


# -- fewer operations ----------------------------------------------------------------------------------------


def _merged(operations: list[Operation], end: LevelWire) -> list[Operation]:
    """Functions of single levels taken into the steps of what makes these levels, in front of pools."""
    done = False
    while not done:
        done = True
        for k, operation in enumerate(operations):
            if not _pointwise(operation):
                continue
            source = operation.sources[0]
            maker = next((j for j, other in enumerate(operations) if other.result == source), None)
            if maker is None or source == end:
                continue
            if sum(other.sources.count(source) for other in operations) > 1:
                continue
            before = operations[maker]
            assert isinstance(operation, Staircase)
            if isinstance(before, Staircase):
                operations[maker] = _composed(before, operation)
                del operations[k]
            else:  # the largest of a window rises with each, so the function may come first
                moved = LevelWire(
                    f"{operation.result.name} before {before.where}",
                    before.sources[0].shape,
                    operation.result.top,
                )
                first = replace(
                    remapped(before.sources[0], moved.name, operation.steps, operation.where), result=moved
                )
                operations[k] = replace(before, sources=(moved,), result=operation.result)
                operations[maker] = first
            done = False
            break
    return operations


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
    """The steps of `after`, which are levels of `before`, as thresholds on the sums of `before`."""
    rows = np.concatenate(
        [np.full((len(before.steps), 1), _ALWAYS), before.steps, np.full((len(before.steps), 1), NEVER)],
        axis=1,
    )
    levels = np.clip(after.steps, 0, before.steps.shape[1] + 1)
    return replace(before, result=after.result, steps=np.take_along_axis(rows, levels, axis=1))


# -- the chain -----------------------------------------------------------------------------------------------


@dataclass
class _LevelChain:
    start: LevelWire
    waiting: list[Operation]
    end: LevelWire
    layers: list[Layer] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state: list[LevelWire] = [self.start]
        self.top = self.start.top

    def run(self) -> tuple[tuple[Layer, ...], tuple[Place, ...]]:
        if not self.waiting:
            again = f"{self.start.name} (again)"
            steps = np.arange(1, self.top + 1)[None, :]
            self.waiting = [remapped(self.start, again, steps, f"{self.start.name!r}")]
            self.end = self.waiting[0].result
        while self.waiting:
            self._step()
        assert self.state == [self.end]
        return tuple(self.layers), tuple(self.places)

    def _step(self) -> None:
        first = next(op for op in self.waiting if all(source in self.state for source in op.sources))
        chosen = [first]
        for other in self.waiting:
            if other is not first and set(other.sources) <= set(first.sources) and _beside([*chosen, other]):
                chosen.append(other)
        rest = [op for op in self.waiting if op not in chosen]
        needed = {source for op in rest for source in op.sources} | {self.end}
        carried = [wire for wire in self.state if wire in needed]
        try:
            self.layers.append(self._layer(chosen, carried))
        except NetworkError as error:
            raise FileError(f"{first.where}: {error}") from None
        self.waiting = rest
        made = [op.result for op in chosen if op.result in needed]
        assert len(made) == len(chosen), "an operation whose result nothing reads"
        place = 0
        for wire in [*made, *carried]:
            if wire in made:
                self.places.append(Place(wire.name, len(self.layers) - 1, place, place + wire.size))
            place += wire.size
        self.state = [*made, *carried]

    def _layer(self, chosen: list[Operation], carried: list[LevelWire]) -> Layer:
        first = chosen[0]
        if isinstance(first, Pooling):
            if carried or self.state != list(first.sources):
                raise FileError(
                    f"{first.where}: {(carried or self.state)[-1].name!r} is needed behind this pool, and "
                    f"values cannot be carried past pools. Pool in front of the branch."
                )
            return PoolLayer(first.window, top=self.top)
        pieces = [op for op in chosen if isinstance(op, Staircase)]
        rows = sum(len(op.steps) for op in pieces)
        if rows * max(op.result.top for op in pieces) > _MOST:
            raise FileError(f"{first.where}: its {rows:,} staircases have too many steps to write down.")
        height = max([op.result.top for op in pieces] + [wire.top for wire in carried])
        steps = [_filled(op.steps, height) for op in pieces]
        if len(pieces) == 1 and not carried and self.state == list(first.sources):
            made = self._alone(first, steps[0])
        else:
            made = self._images(pieces, steps, carried, height) or self._dense(pieces, carried, height)
        self.top = height
        return made

    def _alone(self, op: Staircase, steps: Ints) -> Layer:
        if (1, 1) == op.window.kernel == op.window.shape[1:] == op.window.positions and op.groups == 1:
            return StairLayer.from_sums(
                op.weights[:, :, 0, 0], steps.tolist(), np.full(op.window.inputs, self.top)
            )
        return StairConv(op.weights, steps, op.window, op.groups, top=self.top, pad=op.pad)

    def _images(
        self, pieces: list[Staircase], steps: list[Ints], carried: list[LevelWire], height: int
    ) -> StairConv | None:
        """One convolution of all that is there, where all pictures have the same size."""
        size = self.state[0].shape[1:]
        if size == (1, 1) or any(wire.shape[1:] != size for wire in self.state):
            return None
        common = common_window([op.window for op in pieces] + [Window(wire.shape, 1) for wire in carried])
        pads = {op.pad for op in pieces if any(op.window.pads)}
        if common is None or len(pads) > 1 or any(op.flat for op in pieces):
            return None
        places = dict(
            zip(self.state, np.cumsum([0] + [wire.shape[0] for wire in self.state]).tolist(), strict=False)
        )
        window = _with_channels(common, sum(wire.shape[0] for wire in self.state))
        kernels = []
        for op in pieces:
            kernel = np.zeros((len(op.weights), window.shape[0], *window.kernel), np.int64)
            y, x = (common.pads[k] - op.window.pads[k] for k in (0, 1))
            h, w = op.window.kernel
            inside = np.concatenate([places[source] + np.arange(source.shape[0]) for source in op.sources])
            full = _ungrouped(op)
            kernel[:, inside, y : y + h, x : x + w] = full
            kernels.append(kernel)
        for wire in carried:
            kernel = np.zeros((wire.shape[0], window.shape[0], *window.kernel), np.int64)
            kernel[
                np.arange(wire.shape[0]),
                places[wire] + np.arange(wire.shape[0]),
                common.pads[0],
                common.pads[1],
            ] = 1
            kernels.append(kernel)
            steps = [
                *steps,
                np.repeat(_filled(np.arange(1, wire.top + 1)[None, :], height), wire.shape[0], 0),
            ]
        return StairConv(
            np.concatenate(kernels), np.concatenate(steps), window, top=self.top, pad=max(pads, default=0)
        )

    def _dense(self, pieces: list[Staircase], carried: list[LevelWire], height: int) -> StairLayer:
        """Everything written out."""
        inputs = sum(wire.size for wire in self.state)
        outputs = sum(op.result.size for op in pieces) + sum(wire.size for wire in carried)
        if outputs * max(inputs, height) > _MOST:
            raise FileError(
                f"{pieces[0].where}: {carried[0].name if carried else 'what stands beside it'!r} is needed "
                f"later and has another size, which takes a layer of {outputs:,} neurons over {inputs:,} "
                f"inputs; up to {_MOST:,} weights are supported. Use fewer channels or smaller images."
            )
        starts = dict(
            zip(self.state, np.cumsum([0] + [wire.size for wire in self.state]).tolist(), strict=False)
        )
        rows, steps = [], []
        for op in pieces:
            written = StairConv(op.weights, op.steps, op.window, op.groups, top=self.top, pad=op.pad).dense()
            inside = np.concatenate([starts[source] + np.arange(source.size) for source in op.sources])
            block = np.zeros((op.result.size, inputs), np.int64)
            block[:, inside] = written.weights
            rows.append(block)
            steps.append(_filled(written.steps, height))
        for wire in carried:
            block = np.zeros((wire.size, inputs), np.int64)
            block[np.arange(wire.size), starts[wire] + np.arange(wire.size)] = 1
            rows.append(block)
            steps.append(np.repeat(_filled(np.arange(1, wire.top + 1)[None, :], height), wire.size, axis=0))
        return StairLayer.from_sums(np.concatenate(rows), np.concatenate(steps), np.full(inputs, self.top))


def _filled(steps: Ints, height: int) -> Ints:
    """With steps that nothing reaches, up to a number of them."""
    return np.pad(steps, ((0, 0), (0, height - steps.shape[1])), constant_values=NEVER)


def _ungrouped(op: Staircase) -> Ints:
    """The kernel over all channels."""
    out, each = op.weights.shape[:2]
    if op.groups == 1:
        return op.weights
    full = np.zeros((out, each * op.groups, *op.weights.shape[2:]), np.int64)
    for j in range(out):
        first = j // (out // op.groups) * each
        full[j, first : first + each] = op.weights[j]
    return full


def _beside(operations: Sequence[Operation]) -> bool:
    """Whether operations over the same picture can be one layer."""
    pieces = [op for op in operations if isinstance(op, Staircase)]
    if len(pieces) < len(operations):
        return False
    pads = {op.pad for op in pieces if any(op.window.pads)}
    same = len({(op.window.shape[1:], op.flat) for op in pieces}) == 1
    return same and len(pads) < 2 and common_window([op.window for op in pieces]) is not None


def common_window(windows: Sequence[Window]) -> Window | None:
    """One window that covers several at every position; None where they do not move alike."""
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
    found = Window(shape, kernel, stride, dilation, (top, left, *ends))
    return found if found.positions == (rows, columns) else None


def _with_channels(window: Window, channels: int) -> Window:
    """The same window over other channels."""
    return Window((channels, *window.shape[1:]), window.kernel, window.stride, window.dilation, window.pads)
