"""Counting the inputs of one part of a region by class.

To be ensured: every input of the part is counted once. Combinations are visited one by one in plain loops,
and every different pattern of the first layer is taken through the later layers; or, where there are too
many, feature after feature is added and equal sums are put together. In the plain form each input goes
through all layers on its own.
"""
# mypy: disable-error-code="no-untyped-call,untyped-decorator,import-untyped"

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numba as nb
import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Arrays, Summing
from sugenet.checker.accelerate.later import bits_of, cores
from sugenet.checker.accelerate.products import Ints, dense_counts
from sugenet.checker.accelerate.whole import Whole
from sugenet.checker.limit import Limit
from sugenet.compiling import njit
from sugenet.errors import CheckLimitError

__all__ = ["CountPart", "CountRegion", "counted"]

_FEW = 1 << 16  # combinations for which nothing else is tried
_SUMS = 1 << 17  # different sums
_CHUNK = 1 << 16  # combinations that are visited at a time
_CELLS = 1 << 21  # neurons of all of them


@dataclass(frozen=True, eq=False)
class CountRegion:
    """What the question asks about, in whole numbers; features in order of their numbers."""

    network: Arrays
    whole: Whole
    features: list[int]
    states: list[list[int]]
    """The states of the options of each feature."""
    own: dict[int, int]
    """The states at the sample."""
    limit: Limit

    @cached_property
    def rows(self) -> dict[int, tuple[Ints, Ints]]:
        """For each feature the weights and the gains of its options."""
        width = len(self.whole.base)
        found = {}
        for feature, row in zip(self.features, self.whole.features, strict=True):
            gains = np.array([gain for _, gain in row], np.int64).reshape(len(row), width)
            found[feature] = np.array([weight for weight, _ in row], np.int64), gains
        return found

    @cached_property
    def place(self) -> dict[int, int]:
        """Where each feature stands."""
        return {feature: place for place, feature in enumerate(self.features)}

    def options(self, feature: int) -> list[tuple[int, Ints]]:
        """Weight and gain of each option."""
        return self.whole.features[self.place[feature]]


@dataclass(frozen=True, eq=False)
class CountPart:
    """A part of a region: M - tau to begin with, the features that may still change,
    and what is left of the budget.
    """

    base: Ints
    rest: list[int]
    left: int | None
    size: int
    """How many inputs it has."""


def counted(region: CountRegion, parts: Sequence[list[CountPart]], *, visit: bool) -> list[list[int]]:
    """Counts by class of parts of a region, each of which begins with some roots."""
    threads = cores()
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda roots: _recount(region, roots, visit=visit, share=threads), parts))


def _recount(region: CountRegion, roots: list[CountPart], *, visit: bool, share: int) -> list[int]:
    counts = [0] * len(region.network.head)
    for root in roots:
        region.limit.look()
        if root.size == 0:
            continue
        found = _by_sums(region, root, share) if root.size > _FEW else None
        if found is None:
            if not visit:
                raise CheckLimitError(
                    f"{root.size:,} inputs of one part are too many to count again, and have too many "
                    "different sums. Count some parts: check_count(certificate, network, parts=2)."
                )
            found = _by_visits(region, root)
        counts = [a + b for a, b in zip(counts, found, strict=True)]
    return counts


def _classes(region: CountRegion, active: npt.NDArray[np.bool_], many: Sequence[int]) -> list[int]:
    """Counts by class of patterns of the first layer, each with how many it stands for."""
    values = active
    for layer in region.whole.behind:
        if isinstance(layer, tuple | Summing):
            weights, tau = layer if isinstance(layer, tuple) else (layer.weights, layer.tau)
            values = np.asarray(dense_counts(weights, values) >= tau)
        else:  # a convolution stays one
            region.limit.look()
            values = np.concatenate(
                [layer.levels(values[k : k + 64]) for k in range(0, max(1, len(values)), 64)]
            )
    held = dense_counts(region.whole.head, values)
    counts = [0] * len(region.network.head)
    for label, each in zip(region.network.classes(held).tolist(), many, strict=True):
        counts[label] += int(each)
    return counts


def _by_sums(region: CountRegion, root: CountPart, share: int) -> list[int] | None:
    """Feature after feature, with equal sums put together; None where there are too many different ones."""
    rows, used, many = root.base[None].copy(), np.zeros(1, np.int64), [1]
    far = [np.abs([gain for _, gain in region.options(f)]).max(axis=0) for f in root.rest]
    after = sum(far, np.zeros(len(root.base), np.int64))
    for feature, most in zip(root.rest, far, strict=True):
        after = after - most
        region.limit.look()
        room = region.limit.room()
        if (
            room is not None
            and 48 * (len(root.base) + 4) * len(rows) * (len(region.options(feature)) + 1) > room // share
        ):
            return None
        grown, spent, times = [rows], [used], list(many)
        for weight, gain in region.options(feature):
            fits = np.ones(len(rows), bool) if root.left is None else used + weight <= root.left
            grown.append(rows[fits] + gain)
            spent.append(used[fits] + (0 if root.left is None else weight))
            times += [value for value, good in zip(many, fits.tolist(), strict=True) if good]
        rows, used = np.clip(np.concatenate(grown), -1 - after, after), np.concatenate(spent)
        both, where = np.unique(np.column_stack([rows, used]), axis=0, return_inverse=True)
        many = [0] * len(both)
        for place, value in zip(where.reshape(-1).tolist(), times, strict=True):
            many[place] += value
        rows, used = both[:, :-1], both[:, -1]
        if len(rows) > _SUMS or 64 * len(rows) > root.size:
            return None
    return _classes(region, rows >= 0, many)


def _by_visits(region: CountRegion, root: CountPart) -> list[int]:
    """Every combination one by one."""
    tables = [region.rows[feature] for feature in root.rest]
    weights = np.concatenate([np.zeros(0, np.int64), *(row for row, _ in tables)])
    gains = np.concatenate([np.zeros((0, len(root.base)), np.int64), *(row for _, row in tables)])
    sizes = [len(row) for row, _ in tables]
    behind = np.repeat(np.cumsum(sizes), sizes).astype(np.int64) if sizes else np.zeros(0, np.int64)
    left = int(weights.sum()) if root.left is None else min(root.left, int(weights.sum()))
    lightest = np.append(np.minimum.accumulate(weights[::-1])[::-1], 2**62)
    small = int(np.abs(root.base).max(initial=0)) + int(np.abs(gains).sum(axis=0).max(initial=0)) < 1 << 15
    kind = np.int16 if small else np.int64
    words = max(1, -(-len(root.base) // 64))
    base, gains = root.base.astype(kind), gains.astype(kind)
    chosen, state = np.full(len(sizes) + 1, -1, np.int64), np.array([0], np.int64)
    chunk = np.zeros((max(64, min(_CHUNK, _CELLS // max(1, len(root.base)))), words), np.uint64)
    counts = [0] * len(region.network.head)
    while state[0] >= 0:
        region.limit.look()
        size = _visit(state, chosen, base, gains, weights, behind, lightest, left, chunk)
        keys = (
            chunk[:size, 0]
            if words == 1
            else np.ascontiguousarray(chunk[:size]).view(f"V{8 * words}").reshape(-1)
        )
        found, many = np.unique(keys, return_counts=True)
        rows = np.ascontiguousarray(found).view(np.uint64).reshape(len(found), words)
        more = _classes(region, bits_of(rows, len(root.base)), many.tolist())
        counts = [a + b for a, b in zip(counts, more, strict=True)]
    return counts


@njit(nogil=True, cache=True)
def _visit(state, chosen, base, gains, weights, behind, lightest, left, chunk):  # type: ignore[no-untyped-def]
    """Write down the active neurons of every set of options, depth first from where `state` and `chosen` are,
    until the chunk is full.

    ``state[0]`` is the depth, -1 at the end; ``chosen[d]`` the option tried last at depth d.
    """
    neurons, depth, size = len(base), state[0], 0
    sums = np.zeros((len(chosen) + 1, neurons), base.dtype)
    spent = np.zeros(len(chosen) + 1, np.int64)
    for j in range(neurons):
        sums[0, j] = base[j]
    for d in range(depth):
        for j in range(neurons):
            sums[d + 1, j] = sums[d, j] + gains[chosen[d], j]
        spent[d + 1] = spent[d] + weights[chosen[d]]
    if depth == 0 and chosen[0] == -1:
        for w in range(chunk.shape[1]):
            chunk[0, w] = 0
        for j in range(neurons):
            chunk[0, j >> 6] |= nb.uint64(base[j] >= 0) << nb.uint64(j & 63)
        size = 1
    while depth >= 0:
        k = chosen[depth] + 1
        while k < len(weights) and spent[depth] + weights[k] > left:
            k = len(weights) if spent[depth] + lightest[k] > left else k + 1
        if k >= len(weights):
            depth -= 1
            continue
        if size == len(chunk):
            state[0] = depth
            return size
        chosen[depth] = k
        for j in range(neurons):
            sums[depth + 1, j] = sums[depth, j] + gains[k, j]
        for w in range(chunk.shape[1]):
            key = nb.uint64(0)
            for j in range(64 * w, min(64 * w + 64, neurons)):
                key |= nb.uint64(sums[depth + 1, j] >= 0) << nb.uint64(j & 63)
            chunk[size, w] = key
        size += 1
        if spent[depth] + weights[k] + lightest[behind[k]] <= left:
            spent[depth + 1] = spent[depth] + weights[k]
            depth += 1
            chosen[depth] = behind[k] - 1
    state[0] = -1
    return size
