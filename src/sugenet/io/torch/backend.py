"""Find the steps of a quantized operation by calling PyTorch's own kernels.

Only the processor's backend determines what is rounded, and in which order.

A requantizer increases with the sum, so its levels are known at all sums once they are known on both sides of
each of its 255 steps (docs/theory.md 9.7). There the operation itself is called, with bytes chosen for the
purpose. The arithmetic of FBGEMM only provides the first guess.

`ByteSums` determines which sums a neuron can have, and finds bytes for them. Let the magnitudes ``|w|`` be in
units of their greatest common divisor, M the largest of them, and n(r) the smallest sum of the others that is
r modulo M. Then a sum t consists of n(t mod M) and a multiple of M, after other weights are filled as needed.
The upper half is the mirror image of the lower half. If no weight is needed more often than its bytes allow,
these are all possible sums. Otherwise a table of all sums is built, weight by weight, if it is small enough.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.errors import FileError
from sugenet.nn import NEVER, Window
from sugenet.nn.arrays import Bits, Doubles, Ints

__all__ = ["AskedSteps", "ByteSums", "PackedOperation", "ask_steps", "other_batch"]

Levels: TypeAlias = npt.NDArray[np.int16]
_FAR = 1 << 40
_TABLE = 1 << 26


class ByteSums:
    """The sums ``weights @ (a - zero)`` of levels ``low <= a <= high``.

    Examples
    --------
    >>> sums = ByteSums(np.array([6, -10]), np.zeros(2, int), np.full(2, 255), zero=0)
    >>> sums.min_sum, sums.max_sum, sums.unit, sums.certain
    (-2550, 1530, 2, True)
    >>> wanted = np.array([-2549, 0, 7])
    >>> sums.below(wanted).tolist(), sums.above(wanted).tolist()
    ([-2550, 0, 6], [-2544, 0, 8])
    >>> (sums.levels(np.array([8])) @ [6, -10]).tolist()
    [8]
    """

    def __init__(self, weights: Ints, low: Ints, high: Ints, zero: int) -> None:
        self.start = np.where(weights > 0, low, high)
        self.signs = np.sign(weights)
        live = np.flatnonzero((weights != 0) & (high > low))
        self.min_sum = int(weights @ (self.start - zero))
        sizes, self.caps = np.abs(weights[live]), (high - low)[live]
        self.unit = int(np.gcd.reduce(sizes)) if len(live) else 1
        self.live, self.sizes = live, sizes // self.unit
        self.top = int(self.sizes @ self.caps)
        self.max_sum = self.min_sum + self.unit * self.top

    @cached_property
    def _parts(self) -> tuple[int, Ints, Ints, Ints, Ints]:
        """The position of M, n(r) with the multiplicities of the other magnitudes, their positions, and the
        number left at each position for filling.
        """
        big = int(np.lexsort((self.caps, self.sizes))[-1])
        modulus = int(self.sizes[big])
        order = np.argsort(-self.caps, kind="stable")
        _, first = np.unique(self.sizes[order], return_index=True)
        indices = order[first][::-1]  # large ones first: few of them make a sum
        indices = indices[self.sizes[indices] < modulus]
        sizes, rest = self.sizes[indices], np.arange(modulus)
        before = (rest[:, None] - sizes[None, :]) % modulus
        min_sums = np.where(rest == 0, 0, _FAR)
        while len(sizes):
            shorter = np.minimum(min_sums, (min_sums[before] + sizes).min(axis=1))
            if (shorter == min_sums).all():
                break
            min_sums = shorter
        counts, now = np.zeros((modulus, len(sizes)), np.int64), rest
        while now.any():
            rows = np.flatnonzero(now)
            last = (min_sums[before[now[rows]]] + sizes).argmin(axis=1)
            counts[rows, last] += 1
            now = now.copy()
            now[rows] = before[now[rows], last]
        left = self.caps.copy()
        left[indices] -= counts.max(axis=0, initial=0)
        left[big] = 0
        left = np.maximum(left, 0)
        return big, min_sums, counts, indices, left

    @property
    def certain(self) -> bool:
        """Whether the sums made here are all possible sums."""
        return self._roomy or self._table is not None

    @cached_property
    def _table(self) -> list[Bits] | None:
        """The possible totals of the first k weights, for each k; None if not needed, or too large."""
        if self._roomy or len(self.live) * self.top > _TABLE:
            return None
        reachable = [np.arange(self.top + 1) == 0]
        for size, cap in zip(self.sizes.tolist(), self.caps.tolist(), strict=True):
            now, part = reachable[-1], 1
            while cap:
                part = min(part, cap)
                more = now.copy()
                more[part * size :] |= now[: -part * size]
                now, cap, part = more, cap - part, 2 * part
            reachable.append(now)
        return reachable

    @cached_property
    def _roomy(self) -> bool:
        """Whether no weight is needed more often than half of its bytes."""
        if not len(self.live):
            return True
        big, min_sums, counts, indices, _ = self._parts
        modulus = int(self.sizes[big])
        often = 2 * counts.max(axis=0, initial=0) <= self.caps[indices]
        return bool(often.all() and min_sums.max() + modulus <= modulus * self.caps[big])

    def below(self, sums: Any) -> Ints:
        """Return for each sum the largest possible sum that is not larger; the minimum if there is none."""
        wanted = (np.asarray(sums, np.int64) - self.min_sum) // self.unit
        return self._nearest(wanted, -1)

    def above(self, sums: Any) -> Ints:
        """Return for each sum the smallest possible sum that is not smaller; the maximum if there is none."""
        wanted = -((self.min_sum - np.asarray(sums, np.int64)) // self.unit)
        return self._nearest(wanted, 1)

    def _nearest(self, wanted: Ints, way: int) -> Ints:
        totals = np.clip(wanted, 0, self.top)
        while True:
            missing = np.flatnonzero(~self._makes(totals))  # 0 and the top are possible, so this ends
            if not len(missing):
                return np.asarray(self.min_sum + self.unit * totals)
            totals[missing] += way

    def _makes(self, totals: Ints) -> Bits:
        if not len(self.live):
            return np.ones(len(totals), bool)
        if self._table is not None:
            return np.asarray(self._table[-1][totals])
        if self._roomy:
            big, min_sums, *_ = self._parts
            small = np.minimum(totals, self.top - totals)
            return np.asarray(min_sums[small % self.sizes[big]] <= small)
        return self._fits(self._used(totals, np.arange(len(self.live))))

    def _fits(self, used: Levels) -> Bits:
        return np.asarray(((used >= 0) & (used <= self.caps.astype(np.int16))).all(axis=1))

    def levels(self, sums: Ints, *, loud: bool = False) -> Levels:
        """Return levels, one row per sum, for possible sums: as small as possible, or as large if `loud`."""
        rows = np.repeat(self.start[None, :].astype(np.int16), len(sums), axis=0)
        if len(self.live):
            used = self._split((np.asarray(sums) - self.min_sum) // self.unit, loud)
            assert self._fits(used).all()
            rows[:, self.live] += self.signs[self.live].astype(np.int16) * used
        return rows

    def _split(self, totals: Ints, loud: bool) -> Levels:
        """Return how far each live weight is from its start."""
        if self._table is not None:
            return self._looked_up(totals, loud)
        rises = self.signs[self.live] > 0
        order = np.lexsort((-self.sizes, rises != loud))
        used = np.zeros((len(totals), len(order)), np.int16)
        for upper, turned in ((False, order), (True, order[::-1])):
            rows = np.flatnonzero((2 * totals > self.top) == upper)
            used[rows] = self._used(totals[rows], turned)
        if not (fits := self._fits(used)).all():
            used[~fits] = self._used(totals[~fits], np.arange(len(order)))
        return used

    def _looked_up(self, totals: Ints, loud: bool) -> Levels:
        """Choose, from the last weight to the first, the most or fewest units that leave a possible total."""
        assert self._table is not None
        used, rest = np.zeros((len(totals), len(self.live)), np.int16), totals.copy()
        for k in reversed(range(len(self.live))):
            descending = (self.signs[self.live[k]] > 0) == loud
            counts = np.arange(self.caps[k] + 1)[:: -1 if descending else 1]
            left = rest[:, None] - counts * self.sizes[k]
            fits = (left >= 0) & self._table[k][np.maximum(left, 0)]
            used[:, k] = taken = counts[fits.argmax(axis=1)]
            rest -= taken * self.sizes[k]
        return used

    def _used(self, totals: Ints, order: Ints) -> Levels:
        """Do the same by n(r), filled in a given order; the upper half is mirrored."""
        big, min_sums, counts, indices, left = self._parts
        modulus = int(self.sizes[big])
        upper = 2 * totals > self.top
        small = np.where(upper, self.top - totals, totals)
        room = np.concatenate([[0], np.cumsum((left * self.sizes)[order])])
        amount = np.clip(small - min_sums.max(), 0, room[-1])
        full = np.searchsorted(room, amount, side="right") - 1
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        used = (rank < full[:, None]) * left.astype(np.int16)
        rows = np.flatnonzero(full < len(order))
        index = order[full[rows]]
        part = (amount[rows] - room[full[rows]]) // self.sizes[index]
        used[rows, index] += part.astype(np.int16)
        rest = small - room[full]
        rest[rows] -= part * self.sizes[index]
        used[:, indices] += counts[rest % modulus].astype(np.int16)
        multiples = (rest - min_sums[rest % modulus]) // modulus
        used[:, big] = np.clip(multiples, -1, 256)  # out of range either way: it does not fit
        return np.asarray(np.where(upper[:, None], self.caps.astype(np.int16) - used, used), np.int16)


Floats: TypeAlias = Doubles
_WORK = 1 << 40
"""Maximum number of products computed for queries; beyond it, the most doubtful steps come first."""
_CELL = 1 << 10
"""Cost of creating one byte, in products."""
_CALL = 1 << 20
"""Cost of calling an operation, in products."""
_CELLS = 1 << 24
_OTHER, _NEAREST = 64, 8
"""Another batch size, and the number of steps of a channel that are queried again in such batches."""
_QUIET = (1 << 14) - 1
"""Two products of this size fit into 16 bits."""
_LOW = -(1 << 40)


@dataclass(frozen=True, eq=False)
class PackedOperation:
    """A packed operation that ran, and its input."""

    where: str
    call: Callable[[Any], Any]
    tensor: Callable[[Levels], Any]
    """Makes a quantized tensor like that of the run from levels of shape (samples, ...)."""
    weights: Ints
    """Integers, one row per output channel: its inputs, then its taps."""
    zero: int
    low: Ints
    high: Ints
    """Possible levels of each input, in the shape of a sample."""
    batch: int
    """Batch size, on which the choice of kernels depends."""
    window: Window | None = None
    groups: int = 1

    def boxes(self) -> list[tuple[Bits, Ints]]:
        """Return where to query: taps inside the map, and positions whose windows do not overlap.

        There is one kind of taps, all of them, unless windows are larger than their map.
        """
        if self.window is None:
            return [(np.ones(self.weights.shape[1], bool), np.zeros(1, np.int64))]
        taps = self.window.taps
        kinds, kind = np.unique(taps >= 0, axis=0, return_inverse=True)
        boxes = []
        for k, inside in enumerate(kinds):
            if any(j != k and (inside <= other).all() for j, other in enumerate(kinds)):
                continue
            used, apart = np.zeros(int(np.prod(self.window.shape[1:])), bool), []
            for position in np.flatnonzero(kind.reshape(-1) == k):
                pixels = taps[position][inside]
                if not used[pixels].any():
                    used[pixels] = True
                    apart.append(int(position))
            boxes.append((np.tile(inside, self.weights.shape[1] // len(inside)), np.array(apart)))
        return boxes

    def ends(self, channel: int) -> tuple[Ints, Ints]:
        """Return the possible levels of the inputs of one output channel, tap by tap."""
        if self.window is None:
            return self.low.reshape(-1), self.high.reshape(-1)
        inputs, size = self._inputs(channel), int(np.prod(self.window.kernel))
        low, high = (
            np.repeat(reduced(row.reshape(len(row), -1)[inputs], axis=1), size)
            for reduced, row in ((np.min, self.low), (np.max, self.high))
        )
        return low, high

    def reach(self) -> tuple[Ints, Ints]:
        """The minimum and maximum sum of each output channel."""
        sums = [ByteSums(row, *self.ends(c), self.zero) for c, row in enumerate(self.weights)]
        return np.array([row.min_sum for row in sums]), np.array([row.max_sum for row in sums])

    def may_overflow(self) -> bool:
        """Whether the sum of two products can exceed 16 bits, in which some kernels add them."""
        products = [np.abs(row) * self.ends(c)[1] for c, row in enumerate(self.weights)]
        return any(np.sort(row)[-2:].sum() >= 1 << 15 for row in products)

    def _inputs(self, channel: int) -> slice:
        assert self.window is not None
        wide = self.window.shape[0] // self.groups
        group = channel // (len(self.weights) // self.groups)
        return slice(group * wide, (group + 1) * wide)

    def work(self, apart: int) -> int:
        """Return the number of products of one query."""
        indices = 1 if self.window is None else int(np.prod(self.window.positions))
        return int(
            (self.weights.size * indices + _CALL // self.batch) // apart + _CELL * self.weights.shape[1]
        )

    def answers(self, channel: int, levels: Levels, positions: Ints, batch: int) -> Ints:
        """Return the kernel's levels of one output channel for rows of levels, tap by tap, in batches of a
        given size.
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
        """Run all samples in batches of the same size; the last batch is padded."""
        missing = -len(levels) % batch
        samples = self.tensor(np.concatenate([levels, np.repeat(levels[-1:], missing, axis=0)]))
        outputs = []
        for k in range(0, len(samples), batch):
            out = self.call(samples[k : k + batch])
            outputs.append(out.int_repr().numpy())
        codes = np.concatenate(outputs)[: len(levels)].astype(np.int64)
        return codes + 128 if str(out.dtype) == "torch.qint8" else codes


@dataclass(frozen=True)
class AskedSteps:
    """How many steps of an operation were found by querying its kernel."""

    steps: int
    """Steps between two possible sums."""
    asked: int
    """Steps queried on both sides."""
    moved: int
    """Queried steps that differ from FBGEMM's arithmetic."""
    apart: float
    """Distance of the nearest other step from a tie, in levels; infinite if there are none."""
    again: int
    """Number of steps queried again in batches of another size."""
    elsewhere: int
    """Number of those that are at another position there."""
    quiet: bool = False
    """Whether the kernel overflows in 16 bits, so that queries could use only small bytes."""


def other_batch(size: int) -> int:
    """Return the batch size in which doubtful steps are queried again: one sample, or many."""
    return _OTHER if size == 1 else 1


class _UnsteadyError(Exception):
    """The kernel's answers do not increase with the sum."""


def ask_steps(
    operation: PackedOperation, steps: Ints, doubt: Floats, share: int = 1
) -> tuple[Ints, AskedSteps]:
    """Return the steps of the kernel.

    `steps` are a first guess, and `doubt` is the distance of each step from a tie. If not all steps can be
    queried, those nearest to a tie come first. `share` operations share the work.
    """
    try:
        return _asked(operation, steps, doubt, share, quiet=False)
    except _UnsteadyError as error:
        if operation.may_overflow():
            with suppress(_UnsteadyError):
                return _asked(operation, steps, doubt, share, quiet=True)
        raise FileError(
            f"{operation.where}: {error}: this backend of PyTorch does not compute a monotone function of "
            "the sum. Nothing was imported. Export the model to ONNX instead."
        ) from error


def _asked(
    operation: PackedOperation, steps: Ints, doubt: Floats, share: int, *, quiet: bool
) -> tuple[Ints, AskedSteps]:
    below, above = np.full(steps.shape, _LOW), np.full(steps.shape, NEVER)
    boxes = operation.boxes()
    work = sum(operation.work(len(positions)) for _, positions in boxes)
    limit = max(1, _WORK // (4 * work * share))
    chosen = np.ones(steps.shape, bool)
    if limit < steps.size:
        chosen = doubt <= np.partition(doubt.ravel(), limit - 1)[limit - 1]
    other = np.zeros(2, np.int64)
    open_, reached = np.zeros(steps.shape, bool), np.zeros(steps.shape, bool)
    for inside, positions in boxes:
        for channel, row in enumerate(steps):
            weights = np.where(inside, operation.weights[channel], 0)
            low, high = operation.ends(channel)
            sums = ByteSums(weights, low, high, operation.zero)
            reached[channel] |= (row > sums.min_sum) & (row <= sums.max_sum)
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
    corrected = np.clip(steps, below + 1, above)
    asked = within & chosen & ~open_
    there = within | reached
    apart = float(doubt[there & ~asked].min(initial=np.inf))
    moved, (again, elsewhere) = int((corrected != steps).sum()), other.tolist()
    return corrected, AskedSteps(int(there.sum()), int(asked.sum()), moved, apart, again, elsewhere, quiet)


class _Talk:
    """The queries about one output channel: sums and their levels."""

    def __init__(self, operation: PackedOperation, channel: int, sums: ByteSums, positions: Ints) -> None:
        self.operation, self.channel, self.sums, self.positions = operation, channel, sums, positions
        self.known = np.zeros(0, np.int64)
        self.levels = np.zeros(0, np.int64)

    def ask(self, wanted: Ints) -> None:
        """Query possible sums, each with the smallest and with the largest bytes that give it."""
        wanted = np.setdiff1d(wanted, self.known)
        if not len(wanted):
            return
        batch = self.operation.batch
        levels = [self.sums.levels(wanted, loud=loud) for loud in (False, True)]
        answers = self.operation.answers(self.channel, levels[0], self.positions, batch)
        again = self.operation.answers(self.channel, levels[1], np.roll(self.positions, 1), batch)
        if (answers != again).any():
            k = int(np.flatnonzero(answers != again)[0])
            raise _UnsteadyError(
                f"channel {self.channel} gives {answers[k]} and {again[k]} for the sum {wanted[k]}"
            )
        known = np.concatenate([self.known, wanted])
        order = np.argsort(known)
        self.known, self.levels = known[order], np.concatenate([self.levels, answers])[order]
        if (np.diff(self.levels) < 0).any():
            k = int(np.flatnonzero(np.diff(self.levels) < 0)[0])
            raise _UnsteadyError(
                f"channel {self.channel} gives {self.levels[k]} for the sum {self.known[k]} and "
                f"{self.levels[k + 1]} for {self.known[k + 1]}"
            )

    def open_with(self, steps: Ints) -> None:
        """Query both ends, and both sides of each step."""
        near = np.unique(steps[(steps > self.sums.min_sum) & (steps <= self.sums.max_sum)])
        ends = np.array([self.sums.min_sum, self.sums.max_sum])
        self.ask(np.unique(np.concatenate([ends, self.sums.below(near - 1), self.sums.above(near)])))

    def brackets(self) -> tuple[Ints, Ints]:
        """Return for each level from 1 the largest known sum below it and the smallest that reaches it."""
        first = np.searchsorted(self.levels, np.arange(1, 256), side="left")
        known = np.concatenate([[_LOW], self.known, [NEVER]])
        return known[first], known[first + 1]

    def close(self, chosen: Bits) -> None:
        """Bisect until no sum lies between."""
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
        """Return whether a sum that could not be made may lie between."""
        far = (below > _LOW) & (above < NEVER) & (above - below > self.sums.unit)
        if self.sums.certain:
            far[far] = self.sums.below(above[far] - 1) > below[far]
        return np.asarray(far)

    def elsewhere(self, doubt: Floats) -> tuple[int, int]:
        """Query the steps nearest to a tie in batches of another size.

        Return how many were queried, and how many of them are at another position.
        """
        near = np.argsort(doubt, kind="stable")[:_NEAREST]
        ends = np.stack(self.brackets())[:, near]
        ends = ends[:, (ends[0] > _LOW) & (ends[1] < NEVER)]
        if not ends.size:
            return 0, 0
        wanted, back = np.unique(ends, return_inverse=True)
        batch = other_batch(self.operation.batch)
        answers = self.operation.answers(self.channel, self.sums.levels(wanted), self.positions, batch)
        same = answers == self.levels[np.searchsorted(self.known, wanted)]
        return ends.shape[1], int((~same[back.reshape(ends.shape)].all(axis=0)).sum())
