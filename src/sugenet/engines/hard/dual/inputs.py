"""Inputs of the first layer throughout a neighbourhood: the options of each feature, their changes, and the
largest total worth.

With a budget the options compete: each is worth its gain minus a multiplier times its price. The budget times
the multiplier is added, so the result is an upper bound.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.dual.sums import QuantizedSums, Range, Reading, Reals
from sugenet.nn.arrays import Ints
from sugenet.problem import FeatureMove, Neighbourhood, features_that_fit, heaviest

__all__ = ["Inputs", "Taken"]

_CELLS = 1 << 24
"""Number of gains that are written out at a time."""


class Taken(NamedTuple):
    """Largest worth of the options, one row per set of multipliers, and the options that reach it."""

    value: Reals
    options: Ints
    """Option of each feature, by index."""


class Inputs:
    """Options of every feature that can move, in the order of their states, including its own state."""

    def __init__(self, near: Neighbourhood) -> None:
        self.near = near
        encoder, columns = near.network.encoder, near.columns
        self.start = np.asarray(near.inputs[0]).astype(np.int64)
        self.budget = near.budget if near.budget is not None and near.budget < heaviest(near) else None
        self.features = np.array(list(near.places), np.int64)
        n_moves = np.array([moves.stop - moves.start for moves in near.places.values()], np.int64)
        sample_states = np.array([near.states[feature] for feature in near.places], np.int64)
        # the own state goes after the moves of its feature, then the options of each feature are sorted
        feature = np.concatenate([np.repeat(np.arange(len(n_moves)), n_moves), np.arange(len(n_moves))])
        states = np.concatenate([columns.states, sample_states])
        order = np.lexsort((states, feature))
        self.feature, self.states = feature[order], states[order]
        self.move = np.concatenate([np.arange(len(columns.states)), np.full(len(n_moves), -1)])[order]
        large = columns.weights.dtype == object
        zeros = np.zeros(len(n_moves), object if large else np.int64)
        self.prices = np.concatenate([columns.weights, zeros])[order]
        self.starts = np.searchsorted(self.feature, np.arange(len(n_moves)))
        self.stops = np.append(self.starts[1:], len(self.feature))
        self._entries(encoder, sample_states)

    def _entries(self, encoder: Any, sample_states: Ints) -> None:
        """Set the input changes of each option: indices and amounts, at least one per option."""
        levels = len(self.start) == encoder.features and self.near.network.reads_levels
        if levels:
            self.place = self.features[self.feature]
            self.change = self.states - sample_states[self.feature]
            self.entry = np.arange(len(self.feature))
        else:
            tables: dict[int, Ints] = {}
            index, change, entry = [], [], []
            for number, feature in enumerate(self.features.tolist()):
                coding, group = encoder.codings[feature], encoder.group(feature)
                if id(coding) not in tables:
                    tables[id(coding)] = np.array(
                        [coding.bits(state) for state in range(coding.states)], np.int64
                    ).reshape(coding.states, coding.width)
                mine = slice(self.starts[number], self.stops[number])
                rows = tables[id(coding)][self.states[mine]] - tables[id(coding)][sample_states[number]]
                index.append(np.tile(np.arange(group.start, group.stop), len(rows)))
                change.append(rows.reshape(-1))
                entry.append(np.full(len(rows), rows.shape[1]))
            none = np.zeros(0, np.int64)
            self.place = np.concatenate([none, *index])
            self.change = np.concatenate([none, *change])
            wide = np.concatenate([none, *entry])
            self.entry = np.cumsum(wide) - wide
        self.single = len(self.place) == len(self.feature)

    @property
    def count(self) -> int:
        """Number of options."""
        return len(self.feature)

    def everything(self) -> npt.NDArray[np.bool_]:
        """Return a mask of all options."""
        return np.ones(self.count, bool)

    def box(self, open_: npt.NDArray[np.bool_]) -> Range:
        """Return the minimum and maximum of every input."""
        low, high = self.start.copy(), self.start.copy()
        if self.count:
            wide = np.diff(np.append(self.entry, len(self.place)))
            mine = np.repeat(open_, wide)
            low[self.place], high[self.place] = np.iinfo(np.int64).max, np.iinfo(np.int64).min
            there = self.start[self.place[mine]] + self.change[mine]
            np.minimum.at(low, self.place[mine], there)
            np.maximum.at(high, self.place[mine], there)
        return Range(low, high)

    def gains(self, asked: Reals) -> Reals:
        """Return the gain of each option for given worths of the inputs, one row each."""
        values = asked[:, self.place] * self.change
        return values if self.single else np.add.reduceat(values, self.entry, axis=1)

    def best(self, asked: Reals, nu: Reals, open_: npt.NDArray[np.bool_]) -> Taken:
        """Return the largest ``asked . change - nu price`` of all features, plus ``nu budget``."""
        if not self.count:
            return Taken(np.zeros(len(asked), asked.dtype), np.zeros((len(asked), 0), np.int64))
        worth = self.gains(asked)
        if self.budget is not None:
            worth = worth - nu[:, None] * self.prices.astype(asked.dtype)
        if not open_.all():
            lowest = worth.min() - 1
            worth = np.where(open_, worth, lowest)
        best = np.maximum.reduceat(worth, self.starts, axis=1)
        n_options = self.stops - self.starts
        indices = np.where(worth == np.repeat(best, n_options, axis=1), np.arange(self.count), -1)
        if self.budget is not None:  # among equal options the cheapest: staying, if it is among them
            stay = np.where((self.move < 0) & (indices >= 0), self.count + indices, indices)
            indices = np.maximum.reduceat(stay, self.starts, axis=1) % self.count
        else:
            indices = np.maximum.reduceat(indices, self.starts, axis=1)
        total = best.sum(axis=1)
        return Taken(total if self.budget is None else total + nu * self.budget, indices)

    def lightest(self, open_: npt.NDArray[np.bool_]) -> Ints | None:
        """Return the cheapest open option of every feature; None if they cost more than the budget."""
        heavy = self.prices.max() + 1
        prices = np.where(open_, self.prices, heavy)
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        options = np.array([start + int(np.argmin(prices[start:stop])) for start, stop in pairs], np.int64)
        return None if self.budget is not None and int(prices[options].sum()) > self.budget else options

    def levels(self, options: Ints) -> Ints:
        """Return the inputs of the first layer after options of all features, one row each."""
        rows = np.repeat(self.start[None], len(options), axis=0)
        sizes = np.diff(np.append(self.entry, len(self.place)))
        for row, chosen in zip(rows, options, strict=True):
            marks = np.zeros(self.count, bool)
            marks[chosen] = True
            changed = chosen if self.single else np.repeat(marks, sizes)
            row[self.place[changed]] += self.change[changed]
        return rows

    def moves(self, options: Ints) -> tuple[FeatureMove, ...]:
        """Return the moves of a choice of options."""
        return tuple(self.near.moves[number] for number in self.move[options].tolist() if number >= 0)

    def reach(self, first: Reading, open_: npt.NDArray[np.bool_]) -> Range:
        """Return the minimum and maximum match counts of the first layer."""
        there = first.reach(self.box(open_))
        if not isinstance(first, QuantizedSums) or not self.count:
            return there
        if self.budget is None and self.single:
            return there
        if first.dense is None or self.count * first.outputs > _CELLS:
            return there
        here = first.base + first.forward(self.start[None])[0]
        gains = self.gains(first.dense)  # one row per neuron
        up, down = self._together(gains, open_), self._together(-gains, open_)
        return Range(np.maximum(there.low, here - down), np.minimum(there.high, here + up))

    def _together(self, gains: Ints, open_: npt.NDArray[np.bool_]) -> Ints:
        """Return an upper bound on the total gain of options.

        It is the best of every feature, for as many as fit into the budget, or the gain at the best rate.
        """
        if not open_.all():
            gains = np.where(open_, gains, gains.min() - 1)
        best = np.maximum.reduceat(gains, self.starts, axis=1)
        if self.budget is None:
            return np.asarray(best.sum(axis=1))
        fits = features_that_fit(self.near)
        some = np.sort(best, axis=1)[:, max(0, best.shape[1] - fits) :]
        max_gain = np.maximum(some, 0).sum(axis=1) + np.minimum(best, 0).sum(axis=1)
        paid = self.move >= 0
        if self.prices.dtype != object and self.prices[paid].min() > 0:
            dearest = int(np.abs(gains).max(initial=0)) * self.budget
            if dearest < 1 << 62:
                bought = np.maximum(gains[:, paid] * self.budget // self.prices[paid], 0).max(axis=1)
                max_gain = np.minimum(max_gain, bought)
        return np.asarray(max_gain)
