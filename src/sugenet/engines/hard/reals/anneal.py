"""Local search for an input that meets a conjunction: simulated annealing over one value at a time, in
integers. It proves nothing.

A changed value updates the sums of the first layer that read it; neurons that turn update the sums of the
next layer, and so on. Nothing else is recomputed, so a step takes about a microsecond.
"""
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator,import-untyped,call-arg"

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.compiling import njit
from sugenet.engines.hard.reals.bound import Slack
from sugenet.engines.hard.reals.first_layer import BoxFirstLayer
from sugenet.nn import Layer
from sugenet.nn.arrays import Ints

__all__ = ["Search"]

_HOT, _COLD = 10.0, 0.25  # temperatures, in units of the worth of one last-layer neuron
_BYTES = 1 << 28  # for the weights by which all neurons are read


class _Readers(NamedTuple):
    """Neurons that read each input and neuron. Neurons are numbered after the inputs, layer by layer."""

    ptr: Any
    """Start of the weights with which each input, and then each neuron, is read."""
    where: Any
    """Start of its readers in `target`; many can share them."""
    target: Any
    weight: Any
    min_sums: Any
    """Sum from which each neuron is active."""
    depth: int
    """Number of layers."""


class _Point(NamedTuple):
    """Position of a walk, and its scratch arrays."""

    sums: Any
    """Sums of all neurons."""
    worth: Any
    """Worth of the neurons of the last layer, one row per inequality."""
    slack: Any
    """Slacks of the inequalities."""
    scratch: Any
    """Two queues of neurons, the tick of the last change of each, and its sum before."""


@njit(nogil=True, cache=True)
def _move(i, delta, readers, point, tick):
    """Add `delta` to input i; return the tick."""
    ptr, where, target, weight, min_sums, depth = readers
    sums, worth, slack, (queue, spare, stamp, old) = point
    n = 0
    shift = where[i] - ptr[i]
    for e in range(ptr[i], ptr[i + 1]):
        j = target[shift + e]
        before = sums[j] >= min_sums[j]
        sums[j] += weight[e] * delta
        if (sums[j] >= min_sums[j]) != before:
            queue[n] = j
            n += 1
    for _ in range(depth - 1):
        tick += 1
        m = 0
        for a in range(n):
            j = queue[a]
            step = 2 if sums[j] >= min_sums[j] else -2
            shift = where[j] - ptr[j]
            for e in range(ptr[j], ptr[j + 1]):
                k = target[shift + e]
                if stamp[k] != tick:
                    stamp[k] = tick
                    old[k] = sums[k]
                    spare[m] = k
                    m += 1
                sums[k] += weight[e] * step
        n = 0
        for a in range(m):
            k = spare[a]
            if (old[k] >= min_sums[k]) != (sums[k] >= min_sums[k]):
                queue[n] = k
                n += 1
    first_of_last = len(sums) - worth.shape[1]
    for a in range(n):
        j = queue[a]
        step = 2 if sums[j] >= min_sums[j] else -2
        for r in range(worth.shape[0]):
            slack[r] += worth[r, j - first_of_last] * step
    return tick


@njit(nogil=True, cache=True)
def _anneal(x, indices, values, readers, point, steps, seed):
    """Walk from x, which is changed in place; return the best minimum slack, and leave x there once it is 0
    or more. Input i has the values ``first[i] + step[i] * k`` for k up to ``count[i]``.
    """
    np.random.seed(seed)
    first, step, count = values
    slack = point.slack
    value, tick = slack.min(), 0
    best = value
    before = slack.copy()
    for t in range(steps):
        if value >= 0:
            return value
        heat = _HOT * (_COLD / _HOT) ** (t / steps)
        i = indices[np.random.randint(len(indices))]
        draw = np.random.random()
        if draw < 0.4:
            new = first[i]
        elif draw < 0.8:
            new = first[i] + step[i] * count[i]
        else:
            new = first[i] + step[i] * np.random.randint(count[i] + 1)
        if new == x[i]:
            continue
        before[:] = slack
        tick = _move(i, new - x[i], readers, point, tick)
        now = slack.min()
        if now >= value or np.random.random() < np.exp((now - value) / heat):
            value = now
            x[i] = new
            best = max(best, value)
        else:
            tick = _move(i, x[i] - new, readers, point, tick)
            slack[:] = before
    return best


@dataclass(frozen=True, eq=False)
class _Fan:
    """For each input of a layer the number of neurons that read it, the start of their list, and their
    weights.
    """

    counts: Ints
    where: Ints
    target: Ints
    weight: npt.NDArray[Any]


def _fan_bytes(layer: Layer) -> int:
    reads = layer.weights.size // max(1, len(layer.weights))
    return layer.outputs * reads * (1 if _is_short(layer.weights) else 8)


def _fan(layer: Layer) -> _Fan:
    if layer.window is None:
        counts = np.full(layer.inputs, layer.outputs)
        return _Fan(
            counts,
            np.zeros(layer.inputs, np.int64),
            np.arange(layer.outputs),
            _short(layer.weights.T).reshape(-1),
        )
    channels, height, width = layer.window.shape
    taps = layer.window.taps
    positions, taps_of = np.nonzero(taps >= 0)
    pixels = taps[positions, taps_of]
    order = np.argsort(pixels, kind="stable")
    positions, taps_of = positions[order], taps_of[order]
    groups, kernel = layer.groups, _short(layer.weights.reshape(*layer.weights.shape[:2], -1))
    per_in, per_out = channels // groups, len(kernel) // groups
    readers = np.bincount(pixels, minlength=height * width) * per_out
    begins = np.cumsum(readers) - readers
    target = [
        (positions[:, None] + (g * per_out + np.arange(per_out)) * len(taps)).reshape(-1)
        for g in range(groups)
    ]
    where = [begins + c // per_in * len(target[0]) for c in range(channels)]
    weight = [
        kernel[c // per_in * per_out :][:per_out, c % per_in][:, taps_of].T.reshape(-1)
        for c in range(channels)
    ]
    return _Fan(
        np.tile(readers, channels), np.concatenate(where), np.concatenate(target), np.concatenate(weight)
    )


def _short(weights: Ints) -> npt.NDArray[Any]:
    """Return weights as bytes if they fit."""
    return weights.astype(np.int8) if _is_short(weights) else weights


def _is_short(weights: Ints) -> bool:
    return int(np.abs(weights).max(initial=0)) < 1 << 7


@dataclass(frozen=True, eq=False)
class Search:
    """A network over a box, prepared for walks."""

    first_layer: BoxFirstLayer
    inside: tuple[Ints, Ints]
    """The box in units of the grid, rounded inwards; the nearest grid point if it contains none."""
    readers: _Readers

    @classmethod
    def of(cls, box_layers: BoxFirstLayer, inside: tuple[Ints, Ints]) -> Search | None:
        """Collect the readers of each input and neuron; None for a network that is too large."""
        layers = box_layers.network.layers
        if sum(map(_fan_bytes, layers)) > _BYTES:
            return None
        starts = np.cumsum([layers[0].inputs, *(layer.outputs for layer in layers)])
        fans = [_fan(layer) for layer in layers]
        used = np.cumsum([0, *(len(fan.target) for fan in fans)])
        last = np.zeros(layers[-1].outputs, np.int64)  # nothing reads the last layer
        ptr = np.concatenate([[0], np.cumsum(np.concatenate([*(fan.counts for fan in fans), last]))])
        min_sums = [np.zeros(layers[0].inputs, np.int64), box_layers.high]
        # clipping tau changes no decision
        min_sums += [2 * np.clip(layer.tau, 0, layer.sizes + 1) - layer.sizes for layer in layers[1:]]
        readers = _Readers(
            ptr,
            np.concatenate([*(fan.where + before for fan, before in zip(fans, used, strict=False)), last]),
            np.concatenate([fan.target + start for fan, start in zip(fans, starts, strict=False)]),
            np.concatenate([fan.weight for fan in fans]),
            np.concatenate(min_sums),
            len(layers),
        )
        return cls(box_layers, inside, readers)

    @property
    def moves(self) -> bool:
        """Whether different walks can differ."""
        return bool((self.inside[1] > self.inside[0]).any())

    def start(self) -> tuple[Ints, Ints]:
        """Return the middle of the box, integer if possible, and the sums of all neurons there."""
        x = (self.inside[0] + self.inside[1]) // 2
        rounded = x // self.first_layer.grid * self.first_layer.grid
        x = np.where(rounded >= self.inside[0], rounded, x)
        return x, self.sums(x)

    def sums(self, x: Ints) -> Ints:
        """Return the sums of all neurons at a point; the entries of the inputs, which come first, are
        meaningless.
        """
        values, out = x, [np.zeros(len(x), np.int64)]
        for number, blocks in enumerate(self.first_layer.blocks):
            sums = np.empty(len(self.first_layer.states[number]), np.int64)
            active = np.empty(len(sums), np.int64)
            for block in blocks:
                sums[block.outs] = block.weights @ values[block.ins]
                edge = self.first_layer.high[block.outs] if number == 0 else block.sums
                active[block.outs] = np.where(sums[block.outs] >= edge, 1, -1)
            out.append(sums)
            values = active
        return np.concatenate(out)

    def worth(self, slack: Slack) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return rows and constants of a conjunction, in units of the average worth of a neuron of the last
        layer.
        """
        rows = slack.rows.astype(np.float64)
        unit = 2 * np.abs(rows).sum(axis=1) / np.maximum((rows != 0).sum(axis=1), 1)
        unit[unit == 0] = 1.0
        return rows / unit[:, None], slack.constants.astype(np.float64) / unit

    def value(self, slack: Slack, sums: Ints) -> float:
        """Return the minimum slack at a point, in the units of `worth`."""
        rows, constants = self.worth(slack)
        return float((rows @ self._signs(sums) + constants).min(initial=np.inf))

    def _signs(self, sums: Ints) -> npt.NDArray[np.float64]:
        last = len(self.first_layer.states[-1])
        return np.where(sums[-last:] >= self.readers.min_sums[-last:], 1.0, -1.0)

    def walk(self, slack: Slack, steps: int, seed: int, *, whole: bool) -> tuple[float, Ints | None]:
        """Return the best minimum slack of one walk, and the point if its slack is 0 or more; `whole` allows
        integers only.
        """
        grid, (low, high) = self.first_layer.grid, self.inside
        first, last = -(-low // grid) * grid, high // grid * grid
        no = (first > last) | (not whole)
        first, last = np.where(no, low, first), np.where(no, high, last)
        step = np.where(no, np.maximum((high - low) // 8, 1), grid)
        count = (last - first) // step
        x, sums = self.start()
        indices = np.flatnonzero((count > 0) & (np.diff(self.readers.ptr[: len(x) + 1]) > 0))
        rows, constants = self.worth(slack)
        level = rows @ self._signs(sums) + constants
        if not len(rows) or level.min() >= 0:
            return float("inf") if not len(rows) else float(level.min()), x
        if not len(indices):
            return float(level.min()), None
        scratch = np.zeros((4, len(sums)), np.int64)
        point = _Point(sums, np.ascontiguousarray(rows), level, tuple(scratch))
        best = float(_anneal(x, indices, (first, step, count), self.readers, point, steps, seed))
        return best, x if best >= 0 else None
