"""Multipliers in closed form: each staircase is bounded by one line, layer by layer from the last.

A neuron that is wanted high is bounded from above by a line through the ends of its steps, one that is wanted
low from below. Of two such choices the better one is kept, case by case.
"""

from __future__ import annotations

import numpy as np

from sugenet.bnn.arrays import Ints
from sugenet.engines.hard.dual.bound import Branch, Multipliers
from sugenet.engines.hard.dual.sums import Pool, QuantizedSums, Range, Reals

__all__ = ["SCALE", "by_slopes", "slope_of"]

SCALE = 1 << 28
"""What an inequality counts."""


def by_slopes(node: Branch, cases: Ints, mu: Reals, *, flat: bool) -> Multipliers:
    """Multipliers for given ones of the inequalities, one row each: whole numbers as floats, which may be
    larger than 64 bits hold. They guide; `Relaxed.whole` makes them small enough to decide.

    `flat`: a neuron with one step in reach is taken as constant where that leaves less room.
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
    """Slopes of a line above and a line below each staircase."""
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
    """One tap stands for the largest where it is wanted low, or where no other can exceed it; else all share
    it, or none.
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
    """What a unit of the budget is worth: the rate at which it runs out."""
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
