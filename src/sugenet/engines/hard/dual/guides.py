"""Float multipliers as guides: in closed form, and improved by ascent.

In closed form each staircase is bounded by one line, layer by layer from the last. A neuron that should be
high is bounded from above by a line through the ends of its steps, one that should be low from below. The
better of two such choices is kept, case by case.

Ascent is for problems that are too large for a linear program. The bound is convex in its multipliers. The
sum at which a neuron is evaluated, minus the sum that the levels before it give, is a descent direction.
"""

import numpy as np

from sugenet.engines.hard.dual.bound import Branch, Multipliers, Weighed
from sugenet.engines.hard.dual.sums import Pool, QuantizedSums, Range, Reals
from sugenet.nn.arrays import Ints
from sugenet.problem.clock import Clock

__all__ = ["SCALE", "ascend", "by_slopes", "slope_of"]

SCALE = 1 << 28
"""Weight of an inequality."""
_FAST, _SLOW = 0.8, 0.9


def by_slopes(node: Branch, cases: Ints, mu: Reals, *, flat: bool) -> Multipliers:
    """Return multipliers for given ones of the inequalities, one row each.

    They are integers as floats, which may exceed 64 bits. They only guide: `Relaxed.whole` makes them small
    enough to decide.

    `flat`: a neuron with one step in reach counts as constant if that gives a tighter bound.
    """
    relaxed = node.relaxed
    worth: Reals = mu.astype(np.float64) @ relaxed.rows.astype(np.float64)
    layers: list[Reals] = []
    for number in reversed(range(len(relaxed.layers))):
        layer, reach = relaxed.layers[number], node.reach[number]
        if isinstance(layer, QuantizedSums):
            rise, fall = slope_of(layer.steps, reach, flat=flat)
            slopes = np.rint(worth * np.where(worth > 0, rise, fall))
        else:
            slopes = _of_pool(layer, worth, node.levels[number], flat=flat)
        layers.append(slopes)
        worth = layer.back(slopes)
    return Multipliers(cases, mu, _price(node, worth), layers[::-1])


def slope_of(steps: Ints, reach: Range, *, flat: bool) -> tuple[Reals, Reals]:
    """Return the slopes of a line above and a line below each staircase."""
    first, last = ((steps <= ends[:, None]).sum(axis=1) for ends in reach)
    neurons, n_steps = np.arange(len(steps)), last - first
    begins = steps[neurons, np.minimum(first, steps.shape[1] - 1)]
    ends = steps[neurons, np.maximum(last - 1, 0)]
    left, right = np.maximum(ends - reach.low, 1), np.maximum(reach.high - begins + 1, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        max_slope = np.where(
            (n_steps > 1) & (ends > begins), (n_steps - 1) / np.maximum(ends - begins, 1), np.inf
        )
        rise, fall = np.minimum(max_slope, n_steps / left), np.minimum(max_slope, n_steps / right)
    if flat:
        wide = reach.high - reach.low
        rise = np.where((n_steps == 1) & (wide >= 2 * left), 0.0, rise)
        fall = np.where((n_steps == 1) & (wide >= 2 * right), 0.0, fall)
    moving = n_steps > 0
    return np.where(moving, rise, 0.0), np.where(moving, fall, 0.0)


def _of_pool(pool: Pool, worth: Reals, inputs: Range, *, flat: bool) -> Reals:
    """Return slopes for the taps of a pool. One tap represents the largest if it should be low, or if no
    other can exceed it; otherwise all share it, or none.
    """
    low, high = pool.taps_of(inputs)
    wanted = worth * pool.sign > 0
    chief = np.argmax(low + high, axis=1)
    rows = np.arange(pool.outputs)
    others = high.copy()
    others[rows, chief] = low.min()
    alone = low[rows, chief] >= others.max(axis=1)
    one = np.zeros(low.shape)
    one[rows, chief] = 1.0
    share = np.where(
        pool.inside, 0.0 if flat else 1.0 / np.maximum(pool.inside.sum(axis=1, keepdims=True), 1), 0
    )
    parts = np.where((~wanted | alone)[:, :, None], one, share)
    return np.asarray(np.rint(worth[:, :, None] * parts).reshape(len(worth), -1))


def _price(node: Branch, asked: Reals) -> Reals:
    """Return the worth of a unit of the budget: the rate at which it is used up."""
    inputs = node.relaxed.inputs
    out = np.zeros(len(asked))
    if inputs.budget is None or not inputs.count:
        return out
    paid = np.flatnonzero((inputs.move >= 0) & node.open_ & (inputs.prices > 0))
    rates = inputs.gains(asked)[:, paid] / inputs.prices[paid].astype(np.float64)
    for row, rate in enumerate(rates):
        order = np.argsort(-rate)
        _, firsts = np.unique(inputs.feature[paid[order]], return_index=True)
        order = order[np.sort(firsts)]  # the best of each feature
        spent = np.cumsum(inputs.prices[paid[order]].astype(np.float64))
        over = np.searchsorted(spent, float(inputs.budget), side="right")
        out[row] = max(0.0, np.rint(rate[order[over]])) if over < len(order) else 0
    return out


def ascend(node: Branch, multipliers: Multipliers, clock: Clock, steps: int) -> tuple[Multipliers, Weighed]:
    """Return float multipliers with lower bounds, row by row: the best that were found, and the bound
    there.
    """
    relaxed = node.relaxed
    here = [np.asarray(values, np.float64) for values in multipliers.layers]
    nu = np.asarray(multipliers.nu, np.float64)
    seen = relaxed.see(node, Multipliers(multipliers.cases, multipliers.mu, nu, here))
    sizes = [_unit(node, number, seen.worth[number + 1]) for number in range(len(here))]
    best, kept, first = seen.value, Multipliers(multipliers.cases, multipliers.mu, nu, here), seen
    means = [np.zeros_like(values) for values in here]
    squares = [np.zeros_like(values) for values in here]
    price, priced = np.maximum(nu, 1.0), [np.zeros_like(nu), np.zeros_like(nu)]
    for turn in range(1, steps + 1):
        if clock.up() or bool((best < 0).all()):
            break
        pace = (1 - turn / (steps + 1)) ** 2
        parts = [relaxed.inputs.levels(seen.taken.options), *(layer.level for layer in seen.best[:-1])]
        levels = [np.asarray(part, np.float64) for part in parts]
        after = []
        for number, (layer, slopes) in enumerate(zip(relaxed.layers, here, strict=True)):
            taken = seen.best[number].at
            if isinstance(layer, QuantizedSums):
                fall = layer.base + layer.forward(levels[number]) - taken
            else:
                fall = np.where(layer.inside, levels[number][:, layer.taps], 0).reshape(taken.shape) - taken
            after.append(slopes - sizes[number] * pace * _adam(fall, means, squares, number, turn))
        spent = 0.0 if relaxed.inputs.budget is None else float(relaxed.inputs.budget)
        if spent and relaxed.inputs.count:
            fall = spent - relaxed.inputs.prices.astype(np.float64)[seen.taken.options].sum(axis=1)
            nu = np.maximum(0.0, nu - price * pace * _adam(fall, [priced[0]], [priced[1]], 0, turn))
        here = after
        seen = relaxed.see(node, Multipliers(multipliers.cases, multipliers.mu, nu, here))
        better = seen.value < best
        if better.any():
            best = np.where(better, seen.value, best)
            kept = kept.where(better, Multipliers(multipliers.cases, multipliers.mu, nu, here))
            first = seen
    return kept, first


def _adam(fall: Reals, means: list[Reals], squares: list[Reals], index: int, turn: int) -> Reals:
    """Return the direction, with a separate step size per multiplier."""
    means[index] = _FAST * means[index] + (1 - _FAST) * fall
    squares[index] = _SLOW * squares[index] + (1 - _SLOW) * fall**2
    mean, square = means[index] / (1 - _FAST**turn), squares[index] / (1 - _SLOW**turn)
    return np.asarray(mean / (np.sqrt(square) + 1e-9))


def _unit(node: Branch, number: int, worth: Reals) -> Reals:
    """Return the scale of the multipliers of a layer: the worth of its levels over the range of its sums."""
    reach, levels = node.reach[number], node.levels[number + 1]
    room = np.maximum(reach.high - reach.low, 1)
    rise = (levels.high - levels.low) / room
    layer = node.relaxed.layers[number]
    mean = np.abs(worth).mean(axis=1, keepdims=True)
    if isinstance(layer, QuantizedSums):
        return np.asarray(rise * (np.abs(worth) + mean) / 2)
    return np.asarray(
        np.where(layer.inside, ((np.abs(worth) + mean) * rise / 2)[:, :, None], 0.0).reshape(len(worth), -1)
    )
