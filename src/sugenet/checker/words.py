"""Going through very many sets of options, 256 at a time: one bit of four words for each of them.

To be ensured: no set within the budget is left out or met twice, and what the layers make of each is what
the definition says. A set is some options and a last one behind them; a block has 256 of those last ones. All
layers are taken in words (`digits`), and behind them the inequalities of the cases that are looked for. Sets
that meet no case are only counted; of the others the patterns of the last layer are told, and how many sets
have each, for the definition to judge. Nothing here is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import combinations, islice
from math import comb, gcd
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints
from sugenet.checker.bounds import most_together
from sugenet.checker.digits import DIGITS, MOST, SLOT, WORDS, visit
from sugenet.checker.later import bits_of, cores, dense_counts
from sugenet.checker.limit import Limit
from sugenet.checker.whole import Demand, Options, reachable, violations

__all__ = ["Seen", "WordWalk"]

_NEAR = 2  # layers behind the first, after which sets may be near enough to the sample
_TRIED = 1 << 18  # patterns around that of the sample that are tried, by how many neurons turn
_AT_ONCE = 1 << 12
_FAR = 2 * MOST  # from tau, more than any change can be
_CASES = 64  # inequalities that are added up in words
_PLANES = 1 << 25  # bytes of words that say what each option adds
_TABLE = 1 << 15  # patterns that are kept before they are judged
_STEPS = 1 << 13  # blocks between two looks at the clock


class Seen(NamedTuple):
    """What was seen of some sets."""

    patterns: npt.NDArray[np.uint64]
    """Of the last layer, as words."""
    many: Ints
    """How many sets have each of them."""
    calm: int
    """How many other sets there are, which meet no case."""


class WordWalk:
    """All sets of one or more options of different features within a budget, by their first option.

    Parameters
    ----------
    base, features, budget
        As in `walk`.
    layers, head
        Weights and tau of all layers behind the first, and the weights of the classes.
    cases
        What is looked for: all inequalities of some case over the match counts of the classes.
    limit
        Of time and memory.
    """

    def __init__(
        self,
        base: Ints,
        features: Options,
        budget: int,
        layers: list[tuple[Ints, Ints]],
        head: Ints,
        cases: list[list[Demand]],
        limit: Limit,
    ) -> None:
        self.limit, self.head, self.cases = limit, head, cases
        weight = np.array([price for row in features for price, _ in row], np.int64)
        limit.take(24 * len(weight) * len(base), "all changes of a walk")
        gains = np.array([gain for row in features for _, gain in row], np.int64).reshape(
            len(weight), len(base)
        )
        self.together = most_together((min(price for price, _ in row) for row in features), budget)
        low, high = reachable(np.asarray(base, np.int64), [list(row) for row in features], self.together)
        self.loose = np.flatnonzero((low >= 0) != (high >= 0))
        self.fixed = np.asarray(base) >= 0
        sizes = [len(row) for row in features]
        behind = np.repeat(np.cumsum(sizes), sizes).astype(np.int64)
        lightest = np.append(np.minimum.accumulate(weight[::-1])[::-1], budget + 1)
        self.begin = np.asarray(base, np.int64)[self.loose]
        self.gains = np.ascontiguousarray(gains[:, self.loose])
        self.options = (weight, behind, lightest, int(weight.max(initial=0)), budget)
        small = [bool(np.abs(rows).max(initial=0) <= 1 and 0 < len(tau) <= MOST) for rows, tau in layers]
        inside = small.index(False) if False in small else len(small)
        self.inside, self.rest = layers[:inside], layers[inside:]
        self.over = False
        self.key = -(-len(self.inside[-1][1]) // 64) if self.inside else 0

    def is_for(self) -> bool:
        """Whether layers and numbers are as this walk needs them."""
        spread = int(self.gains.max(initial=0)) - int(self.gains.min(initial=0))
        size = spread * len(self.loose) * (len(self.gains) // 8 + 16)
        largest = np.abs(self.begin).max(initial=0) + (self.together + 1) * np.abs(self.gains).max(initial=0)
        return bool(self.inside) and 0 < len(self.loose) <= MOST and size <= _PLANES and largest < 1 << 30

    # -- what is compared with the sample ------------------------------------------------------------------

    @cached_property
    def states(self) -> list[Bits]:
        """The first layer and those behind it at the sample."""
        found = [self.fixed]
        for rows, tau in [*self.inside, *self.rest]:
            found.append(np.asarray(dense_counts(rows, found[-1][None])[0] >= tau))
        return found

    def prepare(self) -> None:
        """Write out planes and layers."""
        lanes, least = -(-len(self.loose) // 64) * 64, int(self.gains.min())
        spread = int(self.gains.max()) - least
        words = -(-len(self.gains) // 64) + WORDS
        self.limit.take(8 * words * len(self.loose) * spread, "what each change adds, as words")
        self.planes = np.zeros((len(self.loose), spread, words), np.uint64)
        for t in range(spread):  # who turns when an option adds more than t and the least
            turned = (self.gains > least + t) != self.fixed[self.loose]
            self.planes[:, t] = _words(turned.T, words)
        gains = np.zeros((len(self.gains), lanes), np.int32)
        gains[:, : len(self.loose)] = self.gains
        active = _words(self.fixed[self.loose][None], lanes // 64)[0]
        ends = (np.ascontiguousarray(end.accumulate(gains[::-1])[::-1]) for end in (np.minimum, np.maximum))
        self.front = (gains, *ends, active, least, *self.planes.shape[1:])
        layers = []
        for (rows, tau), before in zip(self.inside, self.states, strict=False):
            margins = dense_counts(rows, before[None])[0] - tau
            layers.append((margins, np.where(before, -rows, rows).T))
        layers[0] = layers[0][0], layers[0][1][self.loose]
        compared = self._compared()
        masks = np.zeros(0, np.uint64)
        if compared is not None:
            layers.append(compared[:2])
            masks = compared[2]
        self.network, self.kinds = self._written(layers)
        near = _NEAR if len(self.inside) > _NEAR else -1
        self.close = (self._radius() if near > 0 else 0, near, masks)

    def _compared(self) -> tuple[Ints, Ints, npt.NDArray[np.uint64]] | None:
        """The inequalities as one layer more, where their weights are -g, 0 and g: by how much they are met
        at the sample, what each neuron adds when it turns, and for each case its inequalities as a word.
        """
        number = {}
        for case in self.cases:
            for factors, least in case:
                number.setdefault((tuple(factors), least), len(number))
        if self.rest or not 0 < len(number) <= _CASES:
            return None
        active, margins, adds = self.states[-1], [], []
        here = dense_counts(self.head, active[None])[0].astype(object)
        for factors, least in number:
            worth = np.array(factors, object) @ self.head.astype(object)
            unit = gcd(*worth.tolist()) or 1
            if max(map(abs, worth.tolist())) > unit:
                return None
            have = (sum(f * m for f, m in zip(factors, here, strict=True)) - least) // unit
            margins.append(max(-_FAR, min(_FAR, have)))
            adds.append(np.where(active, -worth, worth) // unit)
        masks = [sum(1 << number[tuple(factors), least] for factors, least in case) for case in self.cases]
        return np.array(margins, np.int64), np.array(adds, np.int64).T, np.array(masks, np.uint64)

    def _written(self, layers: list[tuple[Ints, Ints]]) -> tuple[tuple[Any, ...], Any]:
        """Layers as `digits` reads them: M - tau at the sample, what each input adds when it turns (the last
        one nothing), which neurons are active, 64 of them at a time; and the parts of slots that count.
        """
        sizes = np.array([-(-len(margins) // 64) for margins, _ in layers], np.int64)
        size, wide = 64 * int(sizes.max()), max(len(adds) for _, adds in layers) + 1
        wide = max(wide, size + 1)
        self.limit.take(3 * len(layers) * size * wide, "the later layers of a walk")
        base = np.full((len(layers), size), -_FAR, np.int16)
        rows = np.zeros((len(layers), wide, size), np.int8)
        home = np.zeros((len(layers), size // 64), np.uint64)
        for k, (margins, adds) in enumerate(layers):
            base[k, : len(margins)] = np.clip(margins, -_FAR, _FAR)
            rows[k, : len(adds), : len(margins)] = adds
            home[k] = _words((margins >= 0)[None], size // 64)[0]
        kinds = np.full((len(layers) * size + 1, wide), 2 * WORDS, np.uint8)  # the last row: all that turned
        kinds[:-1] = (WORDS * (rows + 1)).transpose(0, 2, 1).reshape(-1, wide)
        kinds[:, -1] = WORDS
        flips = np.append(-(base >= 0).astype(np.int64), 0).view(np.uint64)
        starts = -(np.arange(MOST + 1)[:, None] >> np.arange(DIGITS) & 1)
        network = (base, rows.reshape(-1), home, sizes, wide, flips, starts.astype(np.int64).view(np.uint64))
        return network, kinds.reshape(-1)

    def _radius(self) -> int:
        """How many neurons behind some layers may turn so that no case is met, whichever they are: -1 where
        not even none.
        """
        home, radius = self.states[_NEAR], -1
        about = comb(len(self.gains), min(self.together, len(self.gains)))
        while (
            radius < len(home)
            and comb(len(home), radius + 1) <= min(_TRIED, 1 + about // 64)
            and self._is_calm(home, radius + 1)
        ):
            radius += 1
        return radius

    def _is_calm(self, home: Bits, many: int) -> bool:
        """Whether no case is met whenever exactly so many neurons turn."""
        chosen = combinations(range(len(home)), many)
        while rows := list(islice(chosen, _AT_ONCE)):
            self.limit.look()
            bits = np.repeat(home[None], len(rows), axis=0)
            places = np.array(rows, np.int64).reshape(len(rows), many)
            np.put_along_axis(bits, places, ~np.take_along_axis(bits, places, axis=1), axis=1)
            for weights, tau in [*self.inside[_NEAR:], *self.rest]:
                bits = np.asarray(dense_counts(weights, bits) >= tau)
            if violations(self.cases, self.head, dense_counts(self.head, bits)).any():
                return False
        return True

    # -- the walk --------------------------------------------------------------------------------------------

    def patterns(self, first: int) -> Iterator[Seen]:
        """What the sets that begin with an option have, in turns."""
        most, lanes = max(1, self.together), self.front[0].shape[1]
        chosen, state = np.full(most + 1, -1, np.int64), np.zeros(3, np.int64)
        chosen[0] = first
        sums = np.full((most + 2, lanes), -1, np.int32)
        sums[1, : len(self.loose)] = self.begin + self.gains[first]
        spent = np.zeros(most + 2, np.int64)
        spent[1] = self.options[0][first]
        if spent[1] > self.options[4]:
            return
        yield self._alone(sums[1, : len(self.loose)])
        layers, size = self.network[0].shape
        wide = max(size, lanes) + 4
        lists = (
            *np.zeros((2, layers + 1, wide), np.int64),
            np.zeros((layers + 1, 2), np.int64),
            np.zeros((layers, wide), np.int64),
            np.zeros(layers * size, np.int16),
        )
        room = (
            np.zeros(wide, np.int64),
            np.zeros((layers + 1) * wide * SLOT + SLOT, np.uint64),
            *np.zeros((2, WORDS), np.uint64),
            np.zeros((64 * WORDS + 1, self.key), np.uint64),
            np.zeros((64 * WORDS + 1, WORDS), np.uint64),
        )
        table = np.zeros((_TABLE, self.key), np.uint64), np.zeros(_TABLE, np.int64)
        fixed = (self.options, self.front, self.planes, self.network, self.kinds, self.close, lists, room)
        state[0] = 1
        more = True
        while more and not self.over:
            self.limit.look()
            more = visit(state, (chosen, sums, spent), *fixed, table, _STEPS)
            if not more or 2 * state[1] > _TABLE:
                met = table[1] > 0
                yield Seen(table[0][met], table[1][met], int(state[2]))
                table[0][:], table[1][:], state[1:] = 0, 0, 0

    @property
    def many(self) -> int:
        """How many options there are."""
        return len(self.gains)

    def sample(self) -> Ints:
        """Match counts of the classes when nothing changes."""
        return self.counts(self._alone(self.begin).patterns)

    def _alone(self, margins: Ints) -> Seen:
        """What one set has, from M - tau of the loose neurons."""
        bits = self.fixed.copy()
        bits[self.loose] = margins >= 0
        row = bits[None]
        for rows, tau in self.inside:
            row = np.asarray(dense_counts(rows, row) >= tau)
        return Seen(_words(row, self.key), np.ones(1, np.int64), 0)

    def counts(self, patterns: Any) -> Ints:
        """Match counts of the classes for patterns of the last layer in words."""
        bits = bits_of(patterns, len(self.inside[-1][1]))
        for rows, tau in self.rest:
            bits = np.asarray(dense_counts(rows, bits) >= tau)
        return dense_counts(self.head, bits)

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
