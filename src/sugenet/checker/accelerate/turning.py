"""Layers after the first in the form that `blocks` reads: their state at the sample, and the gains of
turning.

To be ensured: M - tau of a neuron is its value at the sample, plus the gain of each earlier neuron that
turned. Each inequality over the match counts of the classes is one more neuron, and is met iff the same holds
for it.
"""
# mypy: disable-error-code="no-untyped-call"

from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Bits, Ints, dense_counts, through
from sugenet.checker.accelerate.digits import DIGITS, MOST, WORDS
from sugenet.checker.accelerate.integers import Demand
from sugenet.checker.accelerate.later import bits_of
from sugenet.checker.limit import Limit
from sugenet.checker.problem import numbered

__all__ = ["Turning", "words_of"]

_FAR = 2 * MOST  # distance from tau: more than all changes together, and the sum fits in 16 bits
_CASES = 64  # largest number of inequalities, which form one more layer
_COPIES = 4  # largest number of copies of a neuron with a large weight in an inequality


class Turning:
    """The layers after the first, followed by the inequalities of the cases.

    Parameters
    ----------
    active, loose
        The first layer at the sample, and those of its neurons that may turn.
    layers, head
        Weights and tau of the later layers, and the weights of the classes.
    cases
        The cases to search for: all inequalities of some case over the match counts of the classes.
    limit
        Limit of time and memory.
    """

    def __init__(
        self,
        active: Bits,
        loose: Ints,
        layers: list[tuple[Ints, Ints]],
        head: Ints,
        cases: list[list[Demand]],
        limit: Limit,
    ) -> None:
        small = [bool(np.abs(rows).max(initial=0) <= 1 and 0 < len(tau) <= MOST) for rows, tau in layers]
        n_inside = small.index(False) if False in small else len(small)
        self.inside, self.rest = layers[:n_inside], layers[n_inside:]
        self.active, self.loose, self.head, self.cases, self.limit = active, loose, head, cases, limit

    @cached_property
    def states(self) -> list[Bits]:
        """The first layer and the layers in words at the sample."""
        states = [self.active]
        for layer in self.inside:
            states.append(through([layer], states[-1][None])[0])
        return states

    def counts(self, patterns: npt.NDArray[np.uint64]) -> Ints:
        """Return match counts of the classes for patterns of the last layer in words."""
        bits = bits_of(patterns, len(self.inside[-1][1]))
        return dense_counts(self.head, through(self.rest, bits))

    # -- inequalities --------------------------------------------------------------------------------------

    def _inequalities(self) -> tuple[Ints, Ints, npt.NDArray[np.uint64]] | None:
        """Return the slacks of inequalities, the gains of last-layer neurons when they turn, and the
        inequalities of each case as a word.

        Slacks are those at the sample, in units of each inequality. Return None if there are too many
        inequalities, or if weights differ too much.
        """
        parts, members = numbered(self.cases)
        if self.rest or not 0 < len(parts) <= _CASES:
            return None
        last, margins, adds = self.states[-1], [], []
        here = dense_counts(self.head, last[None])[0].tolist()
        for row, bound in parts:
            worth = np.array(row, object) @ self.head.astype(object)
            unit = gcd(*worth.tolist()) or 1
            if max(map(abs, worth.tolist()), default=0) > _COPIES * unit:
                return None
            have = sum(factor * count for factor, count in zip(row, here, strict=True)) - bound
            margins.append(max(-_FAR, min(_FAR, have // unit)))
            adds.append(np.where(last, -worth, worth) // unit)
        masks = [sum(1 << one for one in set(case)) for case in members]
        return np.array(margins, np.int64), np.array(adds, np.int64).T, np.array(masks, np.uint64)

    # -- arrays --------------------------------------------------------------------------------------------

    def written(self) -> tuple[tuple[Any, ...], Any, npt.NDArray[np.uint64]]:
        """Return the arrays for `blocks`: layers, the part of a slot that counts for each weight, and the
        inequalities of each case.
        """
        layers = []
        for (rows, tau), before in zip(self.inside, self.states, strict=False):
            margins = dense_counts(rows, before[None])[0] - tau
            layers.append((margins, np.where(before, -rows, rows).T))
        layers[0] = layers[0][0], layers[0][1][self.loose]
        masks, inequalities = np.zeros(0, np.uint64), self._inequalities()
        if inequalities is not None:
            met, adds, cases = inequalities
            copies = max(1, int(np.abs(adds).max(initial=0)))
            if copies * len(adds) <= MOST:  # a neuron that counts twice has two copies, and so on
                layers[-1] = np.tile(layers[-1][0], copies), np.tile(layers[-1][1], copies)
                split = [np.clip(np.abs(adds) - k, 0, 1) * np.sign(adds) for k in range(copies)]
                layers.append((met, np.concatenate(split)))
                masks = cases
        return *self._arrays(layers), masks

    def _arrays(self, layers: list[tuple[Ints, Ints]]) -> tuple[tuple[Any, ...], Any]:
        """Return the arrays of layers, and the parts of slots that count.

        The arrays are M - tau at the sample, the gain of each input when it turns (0 for the last one), the
        active neurons, and the number of vectors of 64.
        """
        sizes = np.array([-(-len(margins) // 64) for margins, _ in layers], np.int64)
        size, wide = 64 * int(sizes.max()), max(len(adds) for _, adds in layers) + 1
        self.limit.take(4 * len(layers) * size * wide, "the later layers of a walk")
        base = np.full((len(layers), size), -_FAR, np.int16)
        rows = np.zeros((len(layers), wide, size), np.int8)
        home = np.zeros((len(layers), size // 64), np.uint64)
        for k, (margins, adds) in enumerate(layers):
            base[k, : len(margins)] = np.clip(margins, -_FAR, _FAR)
            rows[k, : len(adds), : len(margins)] = adds
            home[k] = words_of((margins >= 0)[None], size // 64)[0]
        kinds = (WORDS * (rows + 1)).astype(np.uint8).transpose(0, 2, 1)
        flips = -(base >= 0).astype(np.int64).reshape(-1).view(np.uint64)
        starts = -(np.arange(MOST + 1)[:, None] >> np.arange(DIGITS) & 1)
        network = (base, rows.reshape(-1), home, sizes, wide, flips, starts.astype(np.int64).view(np.uint64))
        return network, np.ascontiguousarray(kinds).reshape(-1)


def words_of(bits: npt.NDArray[np.bool_], words: int) -> npt.NDArray[np.uint64]:
    """Return rows of truth values as `words` words, the first in the lowest bit."""
    rows = np.asarray(bits)
    padded = np.zeros((len(rows), 64 * words), bool)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
