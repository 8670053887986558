"""Search for a violation guided by the bounds: start from inputs that the multipliers favour and follow the
slopes of the network. It proves nothing.
"""

import numpy as np

from sugenet.engines.hard.dual.bound import Branch, Relaxed
from sugenet.engines.hard.dual.sums import Pool, QuantizedSums, Reals
from sugenet.nn.arrays import Ints
from sugenet.problem import Clock, FeatureMove

__all__ = ["Attack", "climbed"]

_CELLS = 1 << 22


class Attack:
    """Inputs of a neighbourhood, tested by their exact match counts."""

    def __init__(self, relaxed: Relaxed, root: Branch, clock: Clock) -> None:
        self.relaxed, self.root, self.clock = relaxed, root, clock
        self.rows = relaxed.rows
        self.found: tuple[FeatureMove, ...] | None = None
        self.random = np.random.default_rng(clock.seed)
        heaviest = max((layer.outputs * layer.top for layer in relaxed.layers), default=1)
        self.most = int(np.clip(_CELLS // heaviest, 1, 16))
        """Number of inputs tested at a time."""

    def run(self, levels: Reals) -> list[Ints]:
        """Return the match counts of all layers and the levels of the last, as integers."""
        seen = []
        here = levels
        for layer in self.relaxed.layers:
            if isinstance(layer, Pool):
                taps = np.where(layer.inside, here[:, layer.taps] * layer.sign[:, None], -layer.top - 1)
                here = taps.max(axis=2) * layer.sign
                seen.append(here)
                continue
            sums = layer.base + np.rint(layer.forward(here.astype(np.float64))).astype(np.int64)
            seen.append(sums)
            here = climbed(layer, sums)
        seen.append(here)
        return seen

    def missing(self, last: Ints) -> Ints:
        """Return the shortfall of the worst inequality for every row and case; 0 or less: a violation."""
        short = self.relaxed.least - last @ self.rows.T
        return np.stack([short[:, list(case)].max(axis=1) for case in self.relaxed.cases], axis=1)

    def tries(self, options: Ints) -> bool:
        """Return whether some row of options (one per feature) is a violation, exactly, and store it."""
        if self.relaxed.inputs.budget is not None:
            prices = self.relaxed.inputs.prices[options].sum(axis=1)
            options = options[prices <= self.relaxed.inputs.budget]
        if not len(options):
            return False
        missing = self.missing(self.run(self.relaxed.inputs.levels(options))[-1])
        for row in np.flatnonzero((missing <= 0).any(axis=1)).tolist():
            moves = self.relaxed.inputs.moves(options[row])
            if self.relaxed.problem.near.admits(moves) and self.relaxed.problem.replays(moves):
                self.found = moves
                return True
        return False

    def walk(self, options: Ints, cases: Ints, turns: int) -> bool:
        """Walk from some options, each row for its own case, to the best vertex by slopes of the network. The
        slopes are taken over a random width around its sums.
        """
        for turn in range(turns):
            if self.tries(options):
                return True
            if self.clock.up():
                return False
            seen = self.run(self.relaxed.inputs.levels(options))
            missing = self.missing(seen[-1])[np.arange(len(options)), cases]
            if not turn:
                best, kept = missing, options
            better = missing < best
            best, kept = np.where(better, missing, best), np.where(better[:, None], options, kept)
            stuck = ~better & (self.random.random(len(options)) < 0.5)
            if turn and stuck.any():  # continue from the best of its case
                for case in np.unique(cases[stuck]).tolist():
                    case_rows = np.flatnonzero(cases == case)
                    options[stuck & (cases == case)] = kept[case_rows[np.argmin(best[case_rows])]]
                seen = self.run(self.relaxed.inputs.levels(options))
            options = self.vertex(self.slopes(seen, cases))
        return self.tries(options)

    def slopes(self, seen: list[Ints], cases: Ints) -> Reals:
        """Return the worth of each input for the worst inequality of each row's case, by secants at its
        sums.
        """
        short = self.relaxed.least - seen[-1] @ self.rows.T
        worst = [
            self.relaxed.cases[case][int(np.argmax(row[list(self.relaxed.cases[case])]))]
            for row, case in zip(short, cases.tolist(), strict=True)
        ]
        worth = self.rows[worst].astype(np.float64)
        for number in reversed(range(len(self.relaxed.layers))):
            layer, reach = self.relaxed.layers[number], self.root.reach[number]
            if isinstance(layer, Pool):
                low, high = layer.taps_of(self.root.levels[number])
                chief = np.argmax(low + high, axis=1)
                tap_worth = np.zeros((len(worth), *layer.taps.shape))
                tap_worth[:, np.arange(layer.outputs), chief] = worth
                worth = layer.back(tap_worth.reshape(len(worth), -1))
                continue
            share = self.random.uniform(0.02, 0.7, (len(worth), 1))
            wide = np.ceil(share * (reach.high - reach.low) + 1).astype(np.int64)
            rise = climbed(layer, seen[number] + wide) - climbed(layer, seen[number] - wide)
            worth = layer.back(worth * rise / (2 * wide))
        return worth

    def vertex(self, worth: Reals) -> Ints:
        """Return the best option of every feature; with a budget, those with the highest gain."""
        inputs = self.relaxed.inputs
        if inputs.budget is None:
            return inputs.best(worth, np.zeros(len(worth)), self.root.open_).options
        gains = inputs.gains(worth)
        staying = np.flatnonzero(inputs.move < 0)
        out = np.repeat(staying[None], len(worth), axis=0)
        prices = np.maximum(inputs.prices.astype(np.float64), 1e-9)
        for row, gain in zip(out, gains, strict=True):
            left = inputs.budget
            for option in np.argsort(-gain / prices)[: 4 * len(staying)].tolist():
                feature = int(inputs.feature[option])
                price = int(inputs.prices[option])
                if gain[option] > 0 and price <= left and row[feature] == staying[feature]:
                    row[feature], left = option, left - price
        return out


def climbed(layer: QuantizedSums, sums: Ints) -> Ints:
    """Return the levels of match counts, row by row."""
    if layer.top == 1:
        return (sums >= layer.steps[:, 0]).astype(np.int64)
    return np.asarray((sums[:, :, None] >= layer.steps).sum(axis=2))
