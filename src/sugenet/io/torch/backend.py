"""The steps of a quantized operation, asked of PyTorch's own kernels: what rounds, and in which order, is known
to the processor's backend alone.

A requantizer rises with the whole sum, so its levels are known at all sums once they are known on both sides
of each of its 255 steps. There the operation itself is called, with bytes made for the purpose; the
arithmetic of FBGEMM only says where to begin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.bnn import NEVER, Window
from sugenet.bnn.arrays import Ints
from sugenet.errors import FileError
from sugenet.io.torch.byte_sums import ByteSums

__all__ = ["AskedSteps", "Operation", "ask_steps"]

_WORK = 1 << 35
"""Products that one operation may compute for questions; beyond, the most doubtful steps come first."""
_CELLS = 1 << 24
_QUIET = (1 << 14) - 1
"""Two products of this size fit into 16 bits."""
_LOW = -(1 << 40)


@dataclass(frozen=True, eq=False)
class Operation:
    """A packed operation that ran, and what stood in front of it."""

    where: str
    call: Callable[[Any], Any]
    tensor: Callable[[Ints], Any]
    """Levels of shape (samples, ...) as a quantized tensor like the one of the run."""
    weights: Ints
    """Whole numbers, one row an output channel: its inputs, then its taps."""
    zero: int
    low: Ints
    high: Ints
    """Levels that each input can have, in the shape of a sample."""
    window: Window | None = None
    groups: int = 1

    def boxes(self) -> list[tuple[Ints, Ints]]:
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

    def _inputs(self, channel: int) -> slice:
        assert self.window is not None
        wide = self.window.shape[0] // self.groups
        group = channel // (len(self.weights) // self.groups)
        return slice(group * wide, (group + 1) * wide)

    def work(self, apart: int) -> int:
        """Products for one question."""
        places = 1 if self.window is None else int(np.prod(self.window.positions))
        return self.weights.size * places // apart + 64 * self.weights.shape[1] + 1

    def answers(self, channel: int, levels: Ints, positions: Ints, batch: int | None = None) -> Ints:
        """The levels that the kernel gives one output channel for rows of levels, tap by tap."""
        step = batch or max(1, _CELLS // max(1, self.low.size))
        if self.window is None:
            parts = [
                self._run(levels[k : k + step].reshape(-1, *self.low.shape))[:, channel]
                for k in range(0, len(levels), step)
            ]
            return np.concatenate(parts)
        positions = positions[:1] if batch else positions
        found, step = np.zeros(len(levels), np.int64), step * len(positions)
        for k in range(0, len(levels), step):
            rows = levels[k : k + step]
            maps = self._maps(channel, rows, positions)
            out = self._run(maps).reshape(len(maps), len(self.weights), -1)
            sample, slot = np.divmod(np.arange(len(rows)), len(positions))
            found[k : k + step] = out[sample, channel, positions[slot]]
        return found

    def _maps(self, channel: int, rows: Ints, positions: Ints) -> Ints:
        assert self.window is not None
        taps = self.window.taps[positions]
        sample, slot = np.divmod(np.arange(len(rows)), len(positions))
        samples = -(-len(rows) // len(positions))
        flat = np.repeat(self.low.reshape(1, len(self.low), -1), samples, axis=0)
        inside = taps >= 0
        wide = self.weights.shape[1] // taps.shape[1]
        first = self._inputs(channel).start
        values = rows.reshape(len(rows), wide, taps.shape[1])
        ask, tap = np.nonzero(inside[slot])
        pixel = taps[slot[ask], tap]
        for k in range(wide):
            flat[sample[ask], first + k, pixel] = values[ask, k, tap]
        return flat.reshape(samples, *self.low.shape)

    def _run(self, levels: Ints) -> Ints:
        out = self.call(self.tensor(levels))
        whole = out.int_repr().numpy().astype(np.int64) + (128 if str(out.dtype) == "torch.qint8" else 0)
        return np.asarray(whole.reshape(len(levels), *out.shape[1:]))


@dataclass(frozen=True)
class AskedSteps:
    """How many steps of an operation were asked of its kernel."""

    steps: int
    """Steps between two sums that can occur."""
    asked: int
    """Of these, asked on both sides."""
    moved: int
    """Of these, not where FBGEMM's arithmetic has them."""
    quiet: bool = False
    """Whether the kernel overflows in 16 bits, so that only small bytes could be asked with."""


class _UnsteadyError(Exception):
    """The kernel's answers are no rising function of the sum."""


def ask_steps(operation: Operation, steps: Ints, doubt: Ints) -> tuple[Ints, AskedSteps]:
    """The steps as the kernel has them, where `steps` are a first guess and `doubt` says how far each is from
    a tie: what is least comes first where not all can be asked.
    """
    try:
        return _asked(operation, steps, doubt, quiet=False)
    except _UnsteadyError as error:
        try:
            return _asked(operation, steps, doubt, quiet=True)
        except _UnsteadyError:
            raise FileError(
                f"{operation.where}: {error}: this backend of PyTorch computes no function of the sum. "
                "Nothing was imported. Export the model to ONNX instead."
            ) from error


def _asked(operation: Operation, steps: Ints, doubt: Ints, *, quiet: bool) -> tuple[Ints, AskedSteps]:
    below, above = np.full(steps.shape, _LOW), np.full(steps.shape, NEVER)
    boxes = operation.boxes()
    work = sum(operation.work(len(positions)) for _, positions in boxes)
    most = max(1, _WORK // (4 * work))
    chosen = np.ones(steps.shape, bool)
    if most < steps.size:
        chosen = doubt <= np.partition(doubt.ravel(), most - 1)[most - 1]
    open_, reached = np.zeros(steps.shape, bool), np.zeros(steps.shape, bool)
    random = np.random.default_rng(0)
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
            talk = _Talk(operation, channel, sums, positions, random)
            talk.open_with(row[chosen[channel]])
            talk.close(chosen[channel])
            talk.alone(doubt[channel])
            under, over = talk.brackets()
            below[channel] = np.maximum(below[channel], under)
            above[channel] = np.minimum(above[channel], over)
            open_[channel] |= talk.is_open(under, over)
    if (below >= above).any():
        raise _UnsteadyError("one sum has two levels at two positions")
    within = (below > _LOW) & (above < NEVER)
    found = np.clip(steps, below + 1, above)
    asked = within & chosen & ~open_
    count = int((within | reached).sum())
    return found, AskedSteps(count, int(asked.sum()), int((found != steps).sum()), quiet)


class _Talk:
    """What was asked about one output channel: sums and their levels."""

    def __init__(
        self,
        operation: Operation,
        channel: int,
        sums: ByteSums,
        positions: Ints,
        random: np.random.Generator,
    ) -> None:
        self.operation, self.channel, self.sums, self.positions = operation, channel, sums, positions
        self.random = random
        self.known = np.zeros(0, np.int64)
        self.levels = np.zeros(0, np.int64)

    def ask(self, wanted: Ints) -> None:
        """Ask for sums that can be made, each with two choices of bytes."""
        wanted = np.setdiff1d(wanted, self.known)
        if not len(wanted):
            return
        orders = [None, self.random.permutation(len(self.sums.live))]
        rows = np.concatenate([self.sums.levels(wanted, order) for order in orders])
        turned = np.roll(self.positions, 1)
        first, second = np.split(rows, 2)
        given = self.operation.answers(self.channel, first, self.positions)
        again = self.operation.answers(self.channel, second, turned)
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

    def close(self, chosen: Ints) -> None:
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

    def is_open(self, below: Ints, above: Ints) -> Ints:
        """Whether a sum that could not be made may lie between."""
        far = (below > _LOW) & (above < NEVER) & (above - below > self.sums.unit)
        if self.sums.certain:
            far[far] = self.sums.below(above[far] - 1) > below[far]
        return np.asarray(far)

    def alone(self, doubt: Ints) -> None:
        """Ask again, one sample at a time, where a step is nearest to a tie."""
        near = np.argsort(doubt, kind="stable")[:2]
        wanted = np.unique(np.concatenate([ends[near] for ends in self.brackets()]))
        wanted = np.intersect1d(wanted, self.known)
        levels = self.levels[np.searchsorted(self.known, wanted)]
        given = self.operation.answers(self.channel, self.sums.levels(wanted), self.positions, batch=1)
        if (given != levels).any():
            k = int(np.flatnonzero(given != levels)[0])
            raise _UnsteadyError(
                f"channel {self.channel} gives {levels[k]} for the sum {wanted[k]} in a batch and {given[k]} "
                "for one sample"
            )
