"""Going through very many sets of options, 256 at a time: one bit of four words for each of them.

To be ensured: no set within the budget is left out or met twice, and what the layers make of each is what
the definition says. A set is some options and a last one behind them; a block has 256 of those last ones. A
neuron that is the same for all of them is settled by counting literals; the others add up their inputs digit
by digit of binary numbers, all sets of a block at once. Only how often each pattern of a late layer was met
is kept, until it is judged. Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Ints
from sugenet.checker.bounds import most_together
from sugenet.checker.digits import WORDS, visit
from sugenet.checker.later import bits_of, cores, dense_counts
from sugenet.checker.limit import Limit
from sugenet.checker.whole import Options, reachable

__all__ = ["WordWalk"]

_LAYERS = 2  # behind the first, as words
_WIDEST = 1 << 12  # neurons of a layer
_PLANES = 1 << 25  # bytes of words that say what each option adds
_TABLE = 1 << 15  # patterns that are kept before they are judged
_STEPS = 1 << 13  # words between two looks at the clock

Seen = tuple[npt.NDArray[np.uint64], Ints]
"""Patterns of the last layer as words, and how many sets have each."""


class WordWalk:
    """All sets of one or more options of different features within a budget, by their first option.

    Parameters
    ----------
    base, features, budget
        As in `walk`.
    layers
        Weights and tau of all layers behind the first.
    limit
        Of time and memory.
    """

    def __init__(
        self, base: Ints, features: Options, budget: int, layers: list[tuple[Ints, Ints]], limit: Limit
    ) -> None:
        self.limit = limit
        weight = np.array([price for row in features for price, _ in row], np.int64)
        limit.take(24 * len(weight) * len(base), "all changes of a walk")
        gains = np.array([gain for row in features for _, gain in row], np.int64).reshape(
            len(weight), len(base)
        )
        self.together = most_together((min(price for price, _ in row) for row in features), budget)
        low, high = reachable(np.asarray(base, np.int64), [list(row) for row in features], self.together)
        self.loose = np.flatnonzero((low >= 0) != (high >= 0))
        self.fixed = np.asarray(base) >= 0
        self.rest = layers[min(_LAYERS, len(layers)) :]
        sizes = [len(row) for row in features]
        behind = np.repeat(np.cumsum(sizes), sizes).astype(np.int64)
        lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], budget + 1)
        self.begin = np.asarray(base, np.int64)[self.loose]
        self.gains = np.ascontiguousarray(gains[:, self.loose])
        self.options = (weight, behind, lightest, int(weight.max(initial=0)), budget)
        self.inside = layers[:_LAYERS]
        self.over = False
        self.key = -(-len(self.inside[-1][1]) // 64) if self.inside else 0

    def is_for(self) -> bool:
        """Whether layers and numbers are as this walk needs them."""
        spread = int(self.gains.max(initial=0)) - int(self.gains.min(initial=0))
        size = spread * len(self.loose) * (len(self.gains) // 8 + 16)
        small = all(np.abs(rows).max(initial=0) <= 1 and 0 < len(tau) <= _WIDEST for rows, tau in self.inside)
        return bool(self.inside) and small and 0 < len(self.loose) <= _WIDEST and size <= _PLANES

    def prepare(self) -> None:
        """Write out planes and layers."""
        self.least = int(self.gains.min())
        spread = int(self.gains.max()) - self.least
        words = -(-len(self.gains) // 64) + WORDS
        self.limit.take(8 * words * len(self.loose) * spread, "what each change adds, as words")
        planes = np.zeros((len(self.loose), spread, words), np.uint64)
        for t in range(spread):
            planes[:, t] = _words((self.gains > self.least + t).T, words)
        first, tau = self.inside[0]
        held = np.where(self.fixed, np.maximum(first, 0), np.maximum(-first, 0))
        held[:, self.loose] = 0
        layers = [(first[:, self.loose], tau - held.sum(axis=1)), *self.inside[1:]]
        size, width = max(len(tau) for _, tau in layers), max(rows.shape[1] for rows, _ in layers)
        shape = len(layers), -(-width // 64), size
        plus, minus = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
        signs = np.zeros((len(layers), size, width), np.int8)
        taus, sizes = np.full((len(layers), size), 1 << 40), np.zeros((len(layers), 2), np.int64)
        for k, (rows, tau) in enumerate(layers):
            sizes[k] = rows.shape
            taus[k, : len(tau)] = tau
            for out, sign in ((plus, 1), (minus, -1)):
                out[k, :, : len(tau)] = _words(rows == sign, shape[1]).T
            signs[k, : rows.shape[0], : rows.shape[1]] = rows
        self.network = (plus, minus, signs.reshape(-1), taus, sizes)
        self.planes, self.width, self.size = planes, width, size

    def patterns(self, first: int) -> Iterator[Seen]:
        """What the sets that begin with an option have, in turns: patterns, and how many sets."""
        most = max(1, self.together)
        chosen, state = np.full(most + 1, -1, np.int64), np.zeros(2, np.int64)
        chosen[0] = first
        sums = np.zeros((most + 2, len(self.loose)), np.int64)
        sums[1] = self.begin + self.gains[first]
        spent = np.zeros(most + 2, np.int64)
        spent[1] = self.options[0][first]
        words, wide = -(-max(self.width, self.size) // 64), max(self.width, self.size) + 2
        layers = len(self.inside)
        room = (
            np.zeros((3 + layers, words), np.uint64),
            *np.zeros((3, wide), np.int64),
            *np.zeros((3, layers + 1, wide), np.int64),
            np.zeros((layers + 1) * wide * WORDS, np.uint64),
            np.zeros(WORDS, np.uint64),
            np.zeros((64 * WORDS + 1, self.key), np.uint64),
            np.zeros((64 * WORDS + 1, WORDS), np.uint64),
        )
        if spent[1] > self.options[4]:
            return
        yield self._alone(sums[1])
        known, many = np.zeros((_TABLE, self.key), np.uint64), np.zeros(_TABLE, np.int64)
        state[0] = 1
        more = True
        while more and not self.over:
            self.limit.look()
            more = visit(
                state,
                chosen,
                sums,
                spent,
                *self.options,
                self.gains,
                self.least,
                self.planes,
                *self.network,
                *room,
                known,
                many,
                _STEPS,
            )
            if not more or 2 * state[1] > _TABLE:
                met = many > 0
                yield known[met], many[met]
                known[:], many[:], state[1] = 0, 0, 0

    @property
    def many(self) -> int:
        """How many options there are."""
        return len(self.gains)

    def sample(self, head: Ints) -> Ints:
        """Match counts of the classes when nothing changes."""
        return self.counts(self._alone(self.begin)[0], head)

    def _alone(self, margins: Ints) -> Seen:
        """What one set has, from M - tau of the loose neurons."""
        bits = self.fixed.copy()
        bits[self.loose] = margins >= 0
        row = bits[None]
        for rows, tau in self.inside:
            row = np.asarray(dense_counts(rows, row) >= tau)
        return _words(row, self.key), np.ones(1, np.int64)

    def counts(self, patterns: Any, head: Ints) -> Ints:
        """Match counts of the classes for patterns of the last layer in words."""
        bits = bits_of(patterns, len(self.inside[-1][1]))
        for rows, tau in self.rest:
            bits = np.asarray(dense_counts(rows, bits) >= tau)
        return dense_counts(head, bits)

    def each(self, firsts: list[int], use: Callable[[int, Seen], None], threads: int | None = None) -> None:
        """Go through all sets with these first options; `use` is told what was seen, by several threads."""
        self.prepare()

        def work(first: int) -> None:
            for seen in self.patterns(first):
                use(first, seen)

        with ThreadPoolExecutor(threads or cores()) as pool:
            jobs = [pool.submit(work, first) for first in firsts]
            try:
                for job in jobs:
                    job.result()
            except BaseException:  # an interrupt, too, ends the others soon
                self.over = True
                for job in jobs:
                    job.cancel()
                raise


def _words(bits: npt.NDArray[np.bool_], words: int) -> npt.NDArray[np.uint64]:
    """Rows of truth values as so many words, the first in the lowest bit."""
    rows = np.asarray(bits)
    padded = np.zeros((len(rows), 64 * words), bool)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
