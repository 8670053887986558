"""Better multipliers step by step, where a linear program would be too large.

The bound is convex in its multipliers, and what reaches it in every layer says which way it falls: the sum
that a neuron is taken at, less the sum that the levels before it give.
"""

from __future__ import annotations

import numpy as np

from sugenet.engines.hard.dual.bound import Branch, Multipliers, Weighed
from sugenet.engines.hard.dual.sums import QuantizedSums, Reals
from sugenet.problem.clock import Clock

__all__ = ["ascend"]

_FAST, _SLOW = 0.8, 0.9


def ascend(node: Branch, multipliers: Multipliers, clock: Clock, steps: int) -> tuple[Multipliers, Weighed]:
    """Multipliers as floats that give lower bounds, row by row; the best that were met,
    and what was seen there.
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
    """The direction, each multiplier at its own pace."""
    means[index] = _FAST * means[index] + (1 - _FAST) * fall
    squares[index] = _SLOW * squares[index] + (1 - _SLOW) * fall**2
    mean, square = means[index] / (1 - _FAST**turn), squares[index] / (1 - _SLOW**turn)
    return np.asarray(mean / (np.sqrt(square) + 1e-9))


def _unit(node: Branch, number: int, worth: Reals) -> Reals:
    """How large the multipliers of a layer are: what its levels are worth, by what its sums can do."""
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
