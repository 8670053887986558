"""Patches: last-layer neurons that depend on the same few open first-layer neurons, with all sign patterns
that these can take together.

A pattern is excluded if two or three of its signs contradict each other over the box: then the sum of their
margins cannot reach zero. The remaining patterns include all that occur, and few others, so a bound over
them is a bound over the box.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.reals.first_layer import BoxFirstLayer
from sugenet.nn.arrays import Bits
from sugenet.problem.clock import Clock

__all__ = ["BoxPatches", "Conflict", "Patch", "conflicts"]

Conflict: TypeAlias = tuple[tuple[int, ...], tuple[bool, ...]]
"""Indices in a cone, and signs that they cannot have together."""

_LONGEST = 3  # signs of a conflict
_FEW = 40  # neurons up to which conflicts of three are searched
_WIDEST = 160  # neurons of a cone
_MOST = 1 << 13  # patterns of a patch
_ROOM = 1 << 19  # patterns of all patches
_CHUNK = 1 << 22
_DENSE = 10  # neurons of a patch cut out of a wide first layer


@dataclass(frozen=True, eq=False)
class Patch:
    """Neurons of the last layer, and their signs in each pattern of the open first-layer neurons on which
    they depend.
    """

    cone: tuple[int, ...]
    patterns: Bits
    """One row per pattern, one column per neuron of the cone."""
    outs: npt.NDArray[np.intp]
    signs: npt.NDArray[np.int8]
    """-1 or +1: one row per pattern, one column per element of `outs`."""


@dataclass(frozen=True, eq=False)
class BoxPatches:
    """All patches over one box; open last-layer neurons outside every patch count as free."""

    first_layer: BoxFirstLayer
    clock: Clock
    """If its time is up, only the patches found so far are used."""

    @cached_property
    def found(self) -> tuple[Patch, ...]:
        """Patches, in the order of the last layer, up to the limits."""
        out: list[Patch] = []
        room = _ROOM
        for outs, cone in self._groups():
            patch = None if self.clock.up() else self._patch(outs, cone, min(_MOST, room))
            if patch is not None:
                out.append(patch)
                room -= len(patch.patterns)
        return tuple(out)

    @cached_property
    def free(self) -> npt.NDArray[np.intp]:
        """Open neurons of the last layer outside every patch."""
        covered = np.zeros(len(self.first_layer.states[-1]), bool)
        for patch in self.found:
            covered[patch.outs] = True
        return np.flatnonzero((self.first_layer.states[-1] == 0) & ~covered)

    def _groups(self) -> Iterator[tuple[npt.NDArray[np.intp], tuple[int, ...]]]:
        """Yield open neurons of the last layer with the same cone."""
        cones = _cones(self.first_layer)
        joined: dict[tuple[int, ...], list[int]] = {}
        if len(self.first_layer.blocks) == 1:
            for block in self.first_layer.blocks[0]:
                open_ones = block.outs[self.first_layer.states[0][block.outs] == 0].tolist()
                size = len(open_ones) if len(open_ones) <= _FEW // 2 else _DENSE
                for start in range(0, len(open_ones), max(size, 1)):
                    part = open_ones[start : start + size]
                    joined[tuple(part)] = part
        else:
            for block, cone in zip(self.first_layer.blocks[-1], cones, strict=True):
                open_ones = block.outs[self.first_layer.states[-1][block.outs] == 0].tolist()
                if open_ones and cone is not None:
                    joined.setdefault(cone, []).extend(open_ones)
        for cone, outs in joined.items():
            yield np.array(sorted(outs), np.intp), cone

    def _patch(self, outs: npt.NDArray[np.intp], cone: tuple[int, ...], limit: int) -> Patch | None:
        patterns = self._patterns(cone, limit)
        if patterns is None:
            return None
        widest = max(
            (len(block.ins) for blocks in self.first_layer.blocks[1:] for block in blocks), default=1
        )
        step, parts = max(1, _CHUNK // widest), []
        for start in range(0, len(patterns), step):  # all patterns of a layer at once can be large
            if self.clock.up():
                return None
            rows = patterns[start : start + step]
            parts.append(
                _signs_of(
                    self.first_layer,
                    len(self.first_layer.blocks) - 1,
                    outs,
                    {j: rows[:, k] for k, j in enumerate(cone)},
                    len(rows),
                )
            )
        signs = np.concatenate(parts) if parts else np.zeros((0, len(outs)), np.int8)
        return Patch(cone, patterns, outs, signs)

    def _patterns(self, cone: tuple[int, ...], limit: int) -> Bits | None:
        """Return all patterns without a conflict; None if they are too many."""
        by_last: dict[int, list[Conflict]] = {}
        for conflict in conflicts(self.first_layer, cone):
            by_last.setdefault(max(conflict[0]), []).append(conflict)
        rows = np.zeros((1, 0), bool)
        for index in range(len(cone)):
            wide = np.repeat(rows, 2, axis=0)
            rows = np.concatenate([wide, (np.arange(len(wide)) % 2 == 1)[:, None]], axis=1)
            keep = np.ones(len(rows), bool)
            for indices, signs in by_last.get(index, ()):
                keep &= (rows[:, list(indices)] != np.array(signs)).any(axis=1)
            rows = rows[keep]
            if len(rows) > limit:
                return None
        return rows


def conflicts(box_layers: BoxFirstLayer, cone: Sequence[int]) -> Iterator[Conflict]:
    """Yield two or three signs of the cone that no point of the box produces together."""
    rows, inputs = box_layers.rows(cone)
    lower, upper = box_layers.lower[inputs], box_layers.upper[inputs]
    chosen = np.array(cone, np.intp)
    low, high = box_layers.low[chosen], box_layers.high[chosen]
    for size in range(2, (_LONGEST if len(cone) <= _FEW else 2) + 1):
        sets = np.array(list(combinations(range(len(cone)), size)), np.intp).reshape(-1, size)
        step = max(1, _CHUNK // max(rows.shape[1] * size, 1))
        for start in range(0, len(sets), step):
            part = sets[start : start + step]
            for signs in product((False, True), repeat=size):
                turned = np.where(signs, 1, -1)
                total = (rows[part] * turned[:, None]).sum(axis=1)
                max_sums = np.maximum(total, 0) @ upper + np.minimum(total, 0) @ lower
                needed = (np.where(signs, low[part], -high[part])).sum(axis=1)
                never = max_sums < needed if all(signs) else max_sums <= needed  # off is strict
                for indices in part[never].tolist():
                    yield tuple(indices), signs


def _cones(box_layers: BoxFirstLayer) -> list[tuple[int, ...] | None]:
    """Return the open first-layer neurons on which each block of the last layer depends; None if they are
    too many.
    """
    reach: list[frozenset[int] | None] = [
        frozenset({j} if state == 0 else ()) for j, state in enumerate(box_layers.states[0].tolist())
    ]
    cones: list[tuple[int, ...] | None] = []
    before = box_layers.states[0]
    for blocks, states in zip(box_layers.blocks[1:], box_layers.states[1:], strict=True):
        cones = []
        after: list[frozenset[int] | None] = [frozenset()] * len(states)
        for block in blocks:
            behind = _joined(reach[i] for i in block.ins[before[block.ins] == 0].tolist())
            cones.append(None if behind is None else tuple(sorted(behind)))
            for j in block.outs[states[block.outs] == 0].tolist():
                after[j] = behind
        reach, before = after, states
    return cones


def _joined(cones: Iterable[frozenset[int] | None]) -> frozenset[int] | None:
    out: set[int] = set()
    for cone in cones:
        if cone is None:
            return None
        out |= cone
        if len(out) > _WIDEST:
            return None
    return frozenset(out)


def _signs_of(
    box_layers: BoxFirstLayer, layer: int, indices: npt.NDArray[np.intp], pattern: dict[int, Bits], count: int
) -> npt.NDArray[np.int8]:
    """Return -1 or +1 of some neurons of a layer in each of `count` patterns of the open first-layer
    neurons.
    """
    states = box_layers.states[layer][indices]
    out = np.repeat(states[None, :], count, axis=0)
    still = np.flatnonzero(states == 0)
    if layer == 0:
        for index in still.tolist():
            out[:, index] = np.where(pattern[int(indices[index])], 1, -1)
        return out
    numbers = box_layers.block_numbers[layer]
    by_block: dict[int, list[int]] = {}
    for index in still.tolist():
        by_block.setdefault(int(numbers[indices[index]]), []).append(index)
    for number, members in by_block.items():
        block = box_layers.blocks[layer][number]
        inputs = _signs_of(box_layers, layer - 1, block.ins, pattern, count).astype(np.float32)
        rows = np.searchsorted(block.outs, indices[members])
        weights = block.weights[rows]
        # integers, so exact
        exact = np.float32 if int(np.abs(weights).sum(axis=1).max(initial=0)) < 1 << 24 else np.float64
        sums = inputs.astype(exact) @ weights.T.astype(exact)
        out[:, members] = np.where(sums >= block.sums[rows], 1, -1)
    return out
