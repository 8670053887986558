"""Search for an input that meets a conjunction: gradient ascent through the signs, in floats. It proves
nothing.

Forwards, a neuron is the sign of its sum minus its threshold. Backwards, the sign has the derivative of a
soft window: 1 / (1 + (d / w)^2) at a distance d from the threshold. Several inputs climb at once, each with
its own width w. A point that seems to meet the conjunction is evaluated exactly by the caller.
"""
# mypy: disable-error-code="import-untyped"

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.engines.hard.reals.anneal import Search
from sugenet.engines.hard.reals.bound import Slack

__all__ = ["Climber"]

_WIDTHS = np.array([0.01, 0.02, 0.04, 0.06])
"""Widths of the windows, in units of the average distance in a layer; one input for each."""
_HALVINGS, _STEPS = 5, 20
"""Step sizes, from half of the box by halves, and the steps of each."""
_MOMENTUM = 0.75
_TRIES = 16
"""Points of a climb that are evaluated exactly."""
_NEAR = 0.02
"""Spread of the starts around the middle of the box, in units of its width."""
_DIGITS = 1 << 20
"""Denominator of the values of a point, on the grid."""

Floats = npt.NDArray[np.float64]


class Climber:
    """A network over a box, prepared for gradients."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.low, self.high = (end.astype(float)[:, None] for end in search.inside)

    @cached_property
    def layers(self) -> list[tuple[Any, Floats]]:
        """Return the weights of each layer as a sparse matrix, and thresholds halfway to the sum below."""
        from scipy.sparse import csr_array

        box_layers, out = self.search.first_layer, []
        inputs = len(self.low)
        for number, blocks in enumerate(box_layers.blocks):
            rows = np.concatenate([np.repeat(block.outs, len(block.ins)) for block in blocks])
            columns = np.concatenate([np.tile(block.ins, len(block.outs)) for block in blocks])
            values = np.concatenate([block.weights.reshape(-1) for block in blocks]).astype(float)
            edges = np.empty(len(box_layers.states[number]))
            for block in blocks:
                edges[block.outs] = box_layers.high[block.outs] if number == 0 else block.sums - 1
            weights = csr_array((values, (rows, columns)), shape=(len(edges), inputs))
            weights.eliminate_zeros()
            out.append((weights, edges[:, None]))
            inputs = len(edges)
        return out

    def climb(
        self,
        slack: Slack,
        seed: tuple[int, ...],
        accepts: Callable[[list[Fraction]], bool],
        is_up: Callable[[], bool],
    ) -> float:
        """Climb once from some points near the middle; return the best minimum slack, in the units of
        `Search.worth`, or infinity once a point is accepted.

        Points are in units of the grid. Of each that seems to meet the conjunction, the integers next to it
        are tried first.
        """
        rows, constants = self.search.worth(slack)
        wide = self.high - self.low
        noise = np.random.default_rng(seed).standard_normal((len(self.low), len(_WIDTHS)))
        points = np.clip((self.low + self.high) / 2 + _NEAR * wide * noise, self.low, self.high)
        best, tries = -float("inf"), 0
        for halving in range(_HALVINGS):
            speed = np.zeros_like(points)
            for _ in range(_STEPS):
                if is_up():
                    return best
                signs, distances = self._forwards(points)
                level = rows @ signs + constants[:, None]
                best = max(best, float(level.min(axis=0).max()))
                for column in np.flatnonzero(level.min(axis=0) >= 0):
                    tries += 1
                    if tries > _TRIES:
                        return best
                    point = points[:, column]
                    if accepts([Fraction(int(value)) for value in np.rint(point)]):
                        return float("inf")
                    if accepts([Fraction(round(value * _DIGITS), _DIGITS) for value in point.tolist()]):
                        return float("inf")
                gradient = self._backwards(rows[level.argmin(axis=0)].T, distances)
                speed *= _MOMENTUM
                speed += gradient / (np.abs(gradient).mean(axis=0) + 1e-12)
                points += wide / 2 ** (halving + 1) * np.sign(speed)
                np.clip(points, self.low, self.high, out=points)
        return best

    def _forwards(self, points: Floats) -> tuple[Floats, list[Floats]]:
        values, distances = points, []
        for weights, edges in self.layers:
            distances.append(weights @ values - edges)
            values = np.where(distances[-1] >= 0, 1.0, -1.0)
        return values, distances

    def _backwards(self, gradient: Floats, distances: list[Floats]) -> Floats:
        for (weights, _), distance in zip(reversed(self.layers), reversed(distances), strict=True):
            width = _WIDTHS * np.abs(distance).mean(axis=0) + 1e-12
            gradient = weights.T @ (gradient / (1 + (distance / width) ** 2))
        return gradient
