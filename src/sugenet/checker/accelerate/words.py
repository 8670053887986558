"""Enumerate very many sets of options, 512 at a time: each set is one bit of eight words.

To be ensured: every set within the budget is visited exactly once, and the layers are evaluated as defined. A
set consists of some options and a last *unit* after them: an option, or a pair of options of different
features. After one option, units of both kinds follow; after several, only pairs. If there are too many pairs
for their words, units are single options after any number. A block has 512 units. All layers are evaluated in
words (`blocks`, `turning`), then the inequalities of the cases that are searched for. Sets that meet no case
are only counted. For the others, the patterns of the last layer are returned and evaluated by the definition.
No code is shared with the engines.
"""
# mypy: disable-error-code="no-untyped-call"

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.checker.accelerate.arrays import Ints, through
from sugenet.checker.accelerate.blocks import visit
from sugenet.checker.accelerate.digits import MOST, SLOT, WORDS
from sugenet.checker.accelerate.integers import ArrayProblem, Demand, Options, OptionTable, joined, violations
from sugenet.checker.accelerate.later import cores
from sugenet.checker.accelerate.turning import Turning, words_of
from sugenet.checker.limit import Limit
from sugenet.errors import TooLargeError

__all__ = ["SetsSeen", "WordWalk", "blocks_seen"]

_PAIRS = 1 << 26  # bytes for the gains of pairs of options
_TABLE = 1 << 15  # patterns that are stored before they are evaluated
_AT_ONCE = 1 << 10  # sets of one option that are evaluated together
_STEPS = 1 << 13  # blocks between two checks of the clock
_CLOSE = 16  # neurons near tau: options with the same effect on them are adjacent, so blocks differ less


class SetsSeen(NamedTuple):
    """Results for some sets."""

    patterns: npt.NDArray[np.uint64]
    """Patterns of the last layer, as words."""
    set_counts: Ints
    """Number of sets with each pattern."""
    n_others: int
    """Number of other sets, which meet no case."""


class WordWalk:
    """All sets of one or more options of different features within a budget, by their first option.

    Parameters
    ----------
    base, features, budget
        As in `walk`.
    layers, head, cases, limit
        As in `Turning`.
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
        self.limit = limit
        budget = min(budget, sum(max(price for price, _ in row) for row in features))  # fits in 64 bits
        table = OptionTable(base, features, budget, limit)
        self.together, self.loose, self.weight = table.together, table.loose, table.weight
        self.begin = np.asarray(base, np.int64)[self.loose]
        self.gains, self.n_options = np.ascontiguousarray(table.gains[:, self.loose]), len(table.gains)
        self.options = (table.behind, table.lightest, budget)
        self.tail = Turning(np.asarray(base) >= 0, self.loose, layers, head, cases, limit)
        self.over = False
        self.spare: list[tuple[Any, ...]] = []

    def is_for(self) -> bool:
        """Return whether this walk supports the layers and numbers."""
        largest = int(np.abs(self.begin).max(initial=0)) + (self.together + 1) * int(
            np.abs(self.gains).max(initial=0)
        )
        return (
            bool(self.tail.inside) and 0 < len(self.loose) <= MOST and largest < 1 << 30  # sums have 32 bits
        )

    def prepare(self) -> None:
        """Build planes and layers."""
        lanes = -(-len(self.loose) // 64) * 64
        self.limit.take(24 * self.n_options * lanes, "the table of gains of all changes")
        gains = np.zeros((self.n_options, lanes), np.int32)
        gains[:, : len(self.loose)] = self.gains
        ends = (self._extremes(gains, end) for end in (np.minimum, np.maximum))
        units, adds = self._units()
        first_layer = (gains, *ends, words_of((self.begin >= 0)[None], lanes // 64)[0], adds)
        self.fixed = (self.options, units, first_layer, *self.tail.written())
        self._look_at_singles()
        self.lanes, self.size = lanes, self.fixed[3][0].shape
        self.limit.take(8 * cores() * _TABLE * (self.size[1] // 64 + 1), "patterns that are to be evaluated")

    def _extremes(self, gains: npt.NDArray[np.int32], end: np.ufunc) -> npt.NDArray[np.int32]:
        """Return the smallest or largest gain of the options from each one on, followed by that of pairs."""
        extremes = np.zeros((2, *gains.shape), np.int32)
        extremes[0] = end.accumulate(gains[::-1])[::-1]
        behind, last = self.options[0], None
        for k in reversed(range(self.n_options)):
            if behind[k] < self.n_options:
                here = gains[k] + extremes[0, behind[k]]
                last = here if last is None else end(here, last)
                extremes[1, k] = last
        return extremes.reshape(-1, gains.shape[1])

    def _units(self) -> tuple[tuple[Any, ...], npt.NDArray[Any]]:
        """Return options and pairs of options.

        The result has their weights, the heaviest of each kind, where those after an option begin and end,
        and their gains in each neuron.
        """
        behind, options, loose = self.options[0], self.n_options, len(self.loose)
        after = options - behind  # number of options that can be the second of a pair with each
        begin = -(-options // 64) * 64
        pairs, largest = int(after.sum()), int(np.abs(self.gains).max(initial=0))
        kind = np.dtype(np.int8 if 2 * largest < 1 << 7 else np.int32)
        paired = self.together > 2 and pairs * (8 + kind.itemsize * loose) <= _PAIRS
        pairs = pairs if paired else 0
        units = begin + pairs
        self.limit.take(kind.itemsize * loose * (units + 64 * WORDS), "the table of gains by neuron")
        self.limit.take(24 * pairs, "pairs of changes")
        first = np.repeat(np.arange(options, dtype=np.int32), after if paired else 0)
        starts = begin + np.append(0, np.cumsum(after))
        second = np.arange(pairs, dtype=np.int32)
        if paired:
            second += np.repeat((behind - (starts[:-1] - begin)).astype(np.int32), after)
        weight = np.zeros(units, np.int64)
        weight[:options], weight[begin:] = self.weight, self.weight[first] + self.weight[second]
        heaviest = np.array([self.weight.max(), weight[begin:].max(initial=0)], np.int64)
        ends = np.array([options, units if pairs else 0], np.int64)
        adds = np.zeros((loose, units + 64 * WORDS), kind)
        for row, gains in zip(adds, self.gains.T.astype(kind), strict=True):
            self.limit.look()
            row[:options], row[begin:units] = gains, gains[first] + gains[second]
        return (weight, heaviest, np.stack([np.arange(options + 1), starts]), ends), adds

    def patterns(self, first: int) -> Iterator[SetsSeen]:
        """Yield the results for the sets that begin with an option, in turns."""
        max_chosen, loose = max(1, self.together), len(self.loose)
        chosen, state = np.full(max_chosen + 1, -1, np.int64), np.zeros(5, np.int64)
        chosen[0], state[0] = first, 1
        sums = np.full((max_chosen + 2, self.lanes), -1, np.int32)
        sums[1, :loose] = self.begin + self.gains[first]
        spent = np.zeros(max_chosen + 2, np.int64)
        spent[1] = self.weight[first]
        if spent[1] > self.options[2]:
            return
        if self.met[first]:
            yield SetsSeen(self.alone[first : first + 1], np.ones(1, np.int64), 0)
        else:
            state[2] = 1
        try:
            buffers = self.spare.pop()
        except IndexError:
            buffers = self._buffers()
        table, more = buffers[-1], True
        while more and not self.over:
            self.limit.look()
            more = visit(state, (chosen, sums, spent), *self.fixed, *buffers, _STEPS)
            if not more or 2 * state[1] > _TABLE:
                met = np.flatnonzero(table[1]) if state[1] else np.zeros(0, np.int64)
                yield SetsSeen(table[0][met], table[1][met], int(state[2]))
                table[1][met], state[1:3] = 0, 0
        self.spare.append(buffers)

    def _buffers(self) -> tuple[Any, ...]:
        """Return the work arrays of a thread, and an empty table of patterns, which it leaves empty."""
        layers, size = self.size
        wide, words = max(size, self.lanes) + 4, size // 64
        lists = (  # per layer: neurons that turned for all or some sets, their numbers, neurons to decide
            *np.zeros((2, layers + 1, wide), np.int64),
            np.zeros((layers + 1, 2), np.int64),
            np.zeros((layers, wide), np.int64),
            np.zeros(layers * size, np.int16),
            self.fixed[3][0].copy(),  # M - tau at the sample, of the first layer after some options
            np.zeros((layers + 1) * wide, np.int16),
        )
        buffers = (
            np.zeros(wide, np.int64),
            _zeros((layers + 1) * wide * SLOT),
            *_zeros(2 * WORDS).reshape(2, WORDS),
            np.zeros((64 * WORDS + 1, words), np.uint64),
            np.zeros((64 * WORDS + 1, WORDS), np.uint64),
        )
        return lists, buffers, (np.zeros((_TABLE, words), np.uint64), np.zeros(_TABLE, np.int64))

    def sample(self) -> Ints:
        """Return the match counts of the classes without any change."""
        return self.counts(self._patterns(self.begin[None]))

    def _patterns(self, margins: Ints) -> npt.NDArray[np.uint64]:
        """Return patterns of the last layer in words, from M - tau of the loose neurons, one row each."""
        bits = np.repeat(self.tail.active[None], len(margins), axis=0)
        bits[:, self.loose] = margins >= 0
        bits = through(self.tail.inside, bits)
        return words_of(bits, -(-bits.shape[1] // 64))

    def _look_at_singles(self) -> None:
        """Compute the patterns of the sets of one option, and which of them meet a case."""
        parts = []
        for k in range(0, self.n_options, _AT_ONCE):
            self.limit.look()
            parts.append(self._patterns(self.begin + self.gains[k : k + _AT_ONCE]))
        self.alone = np.concatenate(parts)
        self.met = violations(self.tail.cases, self.tail.head, self.counts(self.alone))

    def counts(self, patterns: npt.NDArray[np.uint64]) -> Ints:
        """Return match counts of the classes for patterns of the last layer in words."""
        return self.tail.counts(patterns)

    def each(self, use: Callable[[int, SetsSeen], None], threads: int | None = None) -> None:
        """Enumerate all sets by their first option; several threads pass their results to `use`."""
        self.prepare()

        def work(first: int) -> None:
            for seen in self.patterns(first):
                use(first, seen)

        with ThreadPoolExecutor(threads or cores()) as pool:
            jobs = [pool.submit(work, first) for first in range(self.n_options)]
            try:
                for job in jobs:
                    job.result()
            except BaseException:  # also an interrupt soon ends the other threads
                self.over = True
                for job in jobs:
                    job.cancel()
                raise


def _zeros(words: int) -> npt.NDArray[np.uint64]:
    """Return zeroed words aligned to a cache line, where vectors of 8 are read fastest."""
    buffer = np.zeros(words + 8, np.uint64)
    skipped = -buffer.ctypes.data % 64 // 8
    return buffer[skipped : skipped + words]


# -- questions -----------------------------------------------------------------------------------------------


def blocks_seen(problem: ArrayProblem, threads: int | None = None) -> int | None:
    """Return the number of sets, including the empty one, or None if one of them is a violation."""
    prices = [price for row in problem.features for price, _ in row]
    if not prices or not len(problem.base) or sum(prices) >= 1 << 60:
        raise TooLargeError("the question is not one for blocks.")
    if problem.budget is None:
        features, budget = _in_groups(problem.features), 0
    else:
        close = np.argsort(np.abs(2 * problem.base + 1), kind="stable")[:_CLOSE]
        features = sorted(problem.features, key=lambda row: tuple(row[0][1][close].tolist()))
        budget = int(problem.budget)
    walk = WordWalk(
        problem.base, features, budget, problem.layers, problem.head, problem.cases, problem.limit
    )
    if not walk.is_for():
        raise TooLargeError("the layers or numbers are not ones for blocks.")
    lock, met, bad = Lock(), [1], [bool(problem.violates(walk.sample())[0])]

    def use(_first: int, seen: SetsSeen) -> None:
        wrong = len(seen.patterns) > 0 and bool(np.any(problem.violates(walk.counts(seen.patterns))))
        with lock:
            met[0] += int(seen.set_counts.sum()) + seen.n_others
            bad[0] |= wrong

    walk.each(use, threads)
    return None if bad[0] else met[0]


def _in_groups(features: Options) -> list[list[tuple[int, Ints]]]:
    """Return features without prices, several merged into one with as many combinations as a
    block has sets.
    """
    rest, groups = features, list[list[tuple[int, Ints]]]()
    while rest:
        *rest, last = joined(rest, 64 * WORDS)
        groups.append(last)
    return groups[::-1]
