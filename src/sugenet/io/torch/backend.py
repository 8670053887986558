"""The steps of a quantized operation, asked of PyTorch's own kernels: what rounds, and in which order, is
known to the processor's backend alone.

A requantizer rises with the whole sum, so its levels are known at all sums once they are known on both sides
of each of its 255 steps (docs/theory.md 9.7). There the operation itself is called, with bytes made for the
purpose; the arithmetic of FBGEMM only says where to begin.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Bits, Ints
from sugenet.errors import FileError
from sugenet.io.torch.byte_sums import ByteSums, Levels

__all__ = ["AskedSteps", "PackedOperation", "ask_steps", "other_batch"]

Floats: TypeAlias = npt.NDArray[np.float64]
_WORK = 1 << 40
"""Products that may be computed for questions; beyond, the most doubtful steps come first."""
_CELL = 1 << 10
"""What it costs to make one byte, in products."""
_CALL = 1 << 20
"""What it costs to call an operation, in products."""
_CELLS = 1 << 24
_OTHER, _NEAREST = 64, 8
"""Another number of samples in a batch, and how many steps of a channel are asked again in such batches."""
_QUIET = (1 << 14) - 1
"""Two products of this size fit into 16 bits."""
_LOW = -(1 << 40)


@dataclass(frozen=True, eq=False)
class PackedOperation:
    """A packed operation that ran, and what stood in front of it."""

    where: str
    call: Callable[[Any], Any]
    tensor: Callable[[Levels], Any]
    """Levels of shape (samples, ...) as a quantized tensor like the one of the run."""
    weights: Ints
    """Whole numbers, one row an output channel: its inputs, then its taps."""
    zero: int
    low: Ints
    high: Ints
    """Levels that each input can have, in the shape of a sample."""
    batch: int
    """Samples of a batch: kernels are chosen by it."""
    window: Window | None = None
    groups: int = 1

    def boxes(self) -> list[tuple[Bits, Ints]]:
        """Where to ask: taps that lie inside, and positions whose windows share nothing.

        One kind of taps, all of them, unless windows are larger than their map.
        """
        if self.window is None:
            return [(np.ones(self.weights.shape[1], bool), np.zeros(1, np.int64))]
        taps = self.window.taps
        kinds, kind = np.unique(taps >= 0, axis=0, return_inverse=True)
        found = []
        for k, inside in enumerate(kinds):
            if any(j != k and (inside <= other).all() for j, other in enumerate(kinds)):
                continue
            used, apart = np.zeros(int(np.prod(self.window.shape[1:])), bool), []
            for position in np.flatnonzero(kind.reshape(-1) == k):
                pixels = taps[position][inside]
                if not used[pixels].any():
                    used[pixels] = True
                    apart.append(int(position))
            found.append((np.tile(inside, self.weights.shape[1] // len(inside)), np.array(apart)))
        return found

    def ends(self, channel: int) -> tuple[Ints, Ints]:
        """Levels that the inputs of one output channel can have, tap by tap."""
        if self.window is None:
            return self.low.reshape(-1), self.high.reshape(-1)
        inputs, size = self._inputs(channel), int(np.prod(self.window.kernel))
        low, high = (
            np.repeat(reduced(row.reshape(len(row), -1)[inputs], axis=1), size)
            for reduced, row in ((np.min, self.low), (np.max, self.high))
        )
        return low, high

    def reach(self) -> tuple[Ints, Ints]:
        """The least and the largest sum of each output channel."""
        sums = [ByteSums(row, *self.ends(c), self.zero) for c, row in enumerate(self.weights)]
        return np.array([row.least for row in sums]), np.array([row.largest for row in sums])

    def may_overflow(self) -> bool:
        """Whether two products together can exceed 16 bits, which some kernels add them in."""
        products = [np.abs(row) * self.ends(c)[1] for c, row in enumerate(self.weights)]
        return any(np.sort(row)[-2:].sum() >= 1 << 15 for row in products)

    def _inputs(self, channel: int) -> slice:
        assert self.window is not None
        wide = self.window.shape[0] // self.groups
        group = channel // (len(self.weights) // self.groups)
        return slice(group * wide, (group + 1) * wide)

    def work(self, apart: int) -> int:
        """Products for one question."""
        places = 1 if self.window is None else int(np.prod(self.window.positions))
        return int(
            (self.weights.size * places + _CALL // self.batch) // apart + _CELL * self.weights.shape[1]
        )

    def answers(self, channel: int, levels: Levels, positions: Ints, batch: int) -> Ints:
        """The levels that the kernel gives one output channel for rows of levels, tap by tap, in batches of a
        number of samples.
        """
        block = max(1, _CELLS // self.low.size) * len(positions)
        parts = [
            self._answers(channel, levels[k : k + block], positions, batch)
            for k in range(0, len(levels), block)
        ]
        return np.concatenate(parts)

    def _answers(self, channel: int, rows: Levels, positions: Ints, batch: int) -> Ints:
        if self.window is None:
            return self._run(rows.reshape(-1, *self.low.shape), batch).reshape(len(rows), -1)[:, channel]
        maps = self._maps(channel, rows, positions)
        sample, slot = np.divmod(np.arange(len(rows)), len(positions))
        out = self._run(maps, batch).reshape(len(maps), len(self.weights), -1)
        return np.asarray(out[sample, channel, positions[slot]])

    def _maps(self, channel: int, rows: Levels, positions: Ints) -> Levels:
        assert self.window is not None
        taps = self.window.taps[positions]
        sample, slot = np.divmod(np.arange(len(rows)), len(positions))
        samples = -(-len(rows) // len(positions))
        flat = np.repeat(self.low.reshape(1, len(self.low), -1).astype(np.int16), samples, axis=0)
        inside = taps >= 0
        wide = self.weights.shape[1] // taps.shape[1]
        first = self._inputs(channel).start
        values = rows.reshape(len(rows), wide, taps.shape[1])
        ask, tap = np.nonzero(inside[slot])
        pixel = taps[slot[ask], tap]
        for k in range(wide):
            flat[sample[ask], first + k, pixel] = values[ask, k, tap]
        return flat.reshape(samples, *self.low.shape)

    def _run(self, levels: Levels, batch: int) -> Ints:
        """All samples, in batches of the same size: the last is filled up."""
        missing = -len(levels) % batch
        given = self.tensor(np.concatenate([levels, np.repeat(levels[-1:], missing, axis=0)]))
        found = []
        for k in range(0, len(given), batch):
            out = self.call(given[k : k + batch])
            found.append(out.int_repr().numpy())
        whole = np.concatenate(found)[: len(levels)].astype(np.int64)
        return whole + 128 if str(out.dtype) == "torch.qint8" else whole


@dataclass(frozen=True)
class AskedSteps:
    """How many steps of an operation were asked of its kernel."""

    steps: int
    """Steps between two sums that can occur."""
    asked: int
    """Of these, asked on both sides."""
    moved: int
    """Of these, not where FBGEMM's arithmetic has them."""
    apart: float
    """How far from a tie the nearest of the others is, in levels; infinite where there are none."""
    again: int
    """How many were asked again in batches of another size."""
    elsewhere: int
    """Of these, how many the kernel has at another place there."""
    quiet: bool = False
    """Whether the kernel overflows in 16 bits, so that only small bytes could be asked with."""


def other_batch(size: int) -> int:
    """The size of batches in which doubtful steps are asked again: one sample, or many."""
    return _OTHER if size == 1 else 1


class _UnsteadyError(Exception):
    """The kernel's answers are no rising function of the sum."""


def ask_steps(
    operation: PackedOperation, steps: Ints, doubt: Floats, share: int = 1
) -> tuple[Ints, AskedSteps]:
    """The steps as the kernel has them, where `steps` are a first guess and `doubt` says how far each is from
    a tie: what is least comes first where not all can be asked. `share` operations share the work.
    """
    try:
        return _asked(operation, steps, doubt, share, quiet=False)
    except _UnsteadyError as error:
        if operation.may_overflow():
            with suppress(_UnsteadyError):
                return _asked(operation, steps, doubt, share, quiet=True)
        raise FileError(
            f"{operation.where}: {error}: this backend of PyTorch computes no rising function of the sum. "
            "Nothing was imported. Export the model to ONNX instead."
        ) from error


def _asked(
    operation: PackedOperation, steps: Ints, doubt: Floats, share: int, *, quiet: bool
) -> tuple[Ints, AskedSteps]:
    below, above = np.full(steps.shape, _LOW), np.full(steps.shape, NEVER)
    boxes = operation.boxes()
    work = sum(operation.work(len(positions)) for _, positions in boxes)
    most = max(1, _WORK // (4 * work * share))
    chosen = np.ones(steps.shape, bool)
    if most < steps.size:
        chosen = doubt <= np.partition(doubt.ravel(), most - 1)[most - 1]
    other = np.zeros(2, np.int64)
    open_, reached = np.zeros(steps.shape, bool), np.zeros(steps.shape, bool)
    for inside, positions in boxes:
        for channel, row in enumerate(steps):
            weights = np.where(inside, operation.weights[channel], 0)
            low, high = operation.ends(channel)
            sums = ByteSums(weights, low, high, operation.zero)
            reached[channel] |= (row > sums.least) & (row <= sums.largest)
            if not chosen[channel].any():
                continue
            if quiet:
                high = np.maximum(low, np.minimum(high, _QUIET // np.maximum(1, np.abs(weights))))
                sums = ByteSums(weights, low, high, operation.zero)
            talk = _Talk(operation, channel, sums, positions)
            talk.open_with(row[chosen[channel]])
            talk.close(chosen[channel])
            other += talk.elsewhere(doubt[channel])
            under, over = talk.brackets()
            below[channel] = np.maximum(below[channel], under)
            above[channel] = np.minimum(above[channel], over)
            open_[channel] |= talk.is_open(under, over)
    if (below >= above).any():
        raise _UnsteadyError("one sum has two levels at two positions")
    within = (below > _LOW) & (above < NEVER)
    found = np.clip(steps, below + 1, above)
    asked = within & chosen & ~open_
    there = within | reached
    apart = float(doubt[there & ~asked].min(initial=np.inf))
    moved, (again, elsewhere) = int((found != steps).sum()), other.tolist()
    return found, AskedSteps(int(there.sum()), int(asked.sum()), moved, apart, again, elsewhere, quiet)


class _Talk:
    """What was asked about one output channel: sums and their levels."""

    def __init__(self, operation: PackedOperation, channel: int, sums: ByteSums, positions: Ints) -> None:
        self.operation, self.channel, self.sums, self.positions = operation, channel, sums, positions
        self.known = np.zeros(0, np.int64)
        self.levels = np.zeros(0, np.int64)

    def ask(self, wanted: Ints) -> None:
        """Ask for sums that can be made, each with the smallest and with the largest bytes that give it."""
        wanted = np.setdiff1d(wanted, self.known)
        if not len(wanted):
            return
        batch = self.operation.batch
        levels = [self.sums.levels(wanted, loud=loud) for loud in (False, True)]
        given = self.operation.answers(self.channel, levels[0], self.positions, batch)
        again = self.operation.answers(self.channel, levels[1], np.roll(self.positions, 1), batch)
        if (given != again).any():
            k = int(np.flatnonzero(given != again)[0])
            raise _UnsteadyError(
                f"channel {self.channel} gives {given[k]} and {again[k]} for the sum {wanted[k]}"
            )
        known = np.concatenate([self.known, wanted])
        order = np.argsort(known)
        self.known, self.levels = known[order], np.concatenate([self.levels, given])[order]
        if (np.diff(self.levels) < 0).any():
            k = int(np.flatnonzero(np.diff(self.levels) < 0)[0])
            raise _UnsteadyError(
                f"channel {self.channel} gives {self.levels[k]} for the sum {self.known[k]} and "
                f"{self.levels[k + 1]} for {self.known[k + 1]}"
            )

    def open_with(self, steps: Ints) -> None:
        """Ask at both ends and on both sides of steps."""
        near = np.unique(steps[(steps > self.sums.least) & (steps <= self.sums.largest)])
        ends = np.array([self.sums.least, self.sums.largest])
        self.ask(np.unique(np.concatenate([ends, self.sums.below(near - 1), self.sums.above(near)])))

    def brackets(self) -> tuple[Ints, Ints]:
        """For each level from 1 the largest known sum below it and the least that reaches it."""
        first = np.searchsorted(self.levels, np.arange(1, 256), side="left")
        known = np.concatenate([[_LOW], self.known, [NEVER]])
        return known[first], known[first + 1]

    def close(self, chosen: Bits) -> None:
        """Ask between until nothing is between."""
        while True:
            below, above = self.brackets()
            wide = chosen & (below > _LOW) & (above < NEVER)
            pairs = np.unique(np.stack([below[wide], above[wide]]), axis=1)
            low, high = pairs
            middle = self.sums.below((low + high) // 2)
            middle = np.where(middle > low, middle, self.sums.above(low + 1))
            between = middle < high
            if not between.any():
                return
            self.ask(np.unique(middle[between]))

    def is_open(self, below: Ints, above: Ints) -> Bits:
        """Whether a sum that could not be made may lie between."""
        far = (below > _LOW) & (above < NEVER) & (above - below > self.sums.unit)
        if self.sums.certain:
            far[far] = self.sums.below(above[far] - 1) > below[far]
        return np.asarray(far)

    def elsewhere(self, doubt: Floats) -> tuple[int, int]:
        """Ask about the steps nearest to a tie in batches of another size: how many, and how many are not at
        the same place.
        """
        near = np.argsort(doubt, kind="stable")[:_NEAREST]
        ends = np.stack(self.brackets())[:, near]
        ends = ends[:, (ends[0] > _LOW) & (ends[1] < NEVER)]
        if not ends.size:
            return 0, 0
        wanted, back = np.unique(ends, return_inverse=True)
        batch = other_batch(self.operation.batch)
        given = self.operation.answers(self.channel, self.sums.levels(wanted), self.positions, batch)
        same = given == self.levels[np.searchsorted(self.known, wanted)]
        return ends.shape[1], int((~same[back.reshape(ends.shape)].all(axis=0)).sum())
