"""Layers behind the first as `blocks` reads them: what they have at the sample, and what turning adds.

To be ensured: M - tau of a neuron is that at the sample, plus what each neuron before it adds that turned;
and an inequality over the match counts of the classes is met where the same holds for its one more neuron.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from functools import cached_property
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.digits import DIGITS, MOST, WORDS
from sugenet.checker.accelerate.integers import Demand
from sugenet.checker.accelerate.later import bits_of
from sugenet.checker.accelerate.products import Bits, Ints, dense_counts, through
from sugenet.checker.limit import Limit
from sugenet.checker.problem import numbered

__all__ = ["Turning", "words_of"]

_FAR = 2 * MOST  # from tau: more than all changes together, and small enough for 16 bits with them
_CASES = 64  # inequalities that are one more layer
_COPIES = 4  # of a neuron, where its weight in an inequality is so large


class Turning:
    """The layers behind the first, and the inequalities of the cases behind them.

    Parameters
    ----------
    active, loose
        The first layer at the sample, and those of its neurons that may turn.
    layers, head
        Weights and tau of the layers behind it, and the weights of the classes.
    cases
        What is looked for: all inequalities of some case over the match counts of the classes.
    limit
        Of time and memory.
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
        """The first layer and those in words at the sample."""
        states = [self.active]
        for layer in self.inside:
            states.append(through([layer], states[-1][None])[0])
        return states

    def counts(self, patterns: npt.NDArray[np.uint64]) -> Ints:
        """Match counts of the classes for patterns of the last layer in words."""
        bits = bits_of(patterns, len(self.inside[-1][1]))
        return dense_counts(self.head, through(self.rest, bits))

    # -- inequalities --------------------------------------------------------------------------------------

    def _inequalities(self) -> tuple[Ints, Ints, npt.NDArray[np.uint64]] | None:
        """By how much each is met at the sample, in units of it; what neurons of the last layer add when they
        turn; and for each case its inequalities as a word. None where they are too many, or weights too
        different.
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
        """Everything for `blocks`: layers, which part of a slot counts for each weight, and the inequalities
        of each case.
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
            if copies * len(adds) <= MOST:  # a neuron that counts twice is there twice, and so on
                layers[-1] = np.tile(layers[-1][0], copies), np.tile(layers[-1][1], copies)
                split = [np.clip(np.abs(adds) - k, 0, 1) * np.sign(adds) for k in range(copies)]
                layers.append((met, np.concatenate(split)))
                masks = cases
        return *self._arrays(layers), masks

    def _arrays(self, layers: list[tuple[Ints, Ints]]) -> tuple[tuple[Any, ...], Any]:
        """M - tau at the sample, what each input adds when it turns (the last one nothing), which neurons are
        active, and how many vectors of 64 there are; and the parts of slots that count.
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
    """Rows of truth values as so many words, the first in the lowest bit."""
    rows = np.asarray(bits)
    padded = np.zeros((len(rows), 64 * words), bool)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
