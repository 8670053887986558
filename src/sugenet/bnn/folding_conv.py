"""Folding for convolutions: as in `fold`, with a threshold of its own wherever taps fall on padding
(docs/theory.md 4.1).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bits.window import Window
from sugenet.bnn.arrays import Ints, integer_array
from sugenet.bnn.conv import ConvLayer
from sugenet.bnn.folding import Decide, Norm, SignOfZero, evaluated_decisions, exact_decisions, thresholds
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import NetworkError

__all__ = ["fold_conv", "fold_conv_by_evaluation"]


def fold_conv(
    weights: Any,
    window: Window,
    *,
    groups: int = 1,
    fill: Any = 0,
    top: int | None = None,
    step: Any = 1,
    start: Any = 0,
    zero: SignOfZero = 1,
    bias: Any = 0,
    scale: Any = 1,
    gamma: Any = 1,
    beta: Any = 0,
    mean: Any = 0,
    var: Any = 1,
    eps: Any = 0,
) -> ConvLayer:
    """Fold a convolution with bias, scale and batch norm in front of a sign, in exact arithmetic.

    Parameters
    ----------
    weights
        -1, 0 or +1, of shape (out channels, in channels / groups, kernel height, kernel width).
    window, groups
        Geometry.
    fill
        The value of padding: 0, +1, -1 or any exact number.
    top, step, start
        For levels 0..top instead of bits: a level a enters the sum as ``start + step * a``,
        as in `fold_levels`.
    zero
        What sign(0) is.
    bias, scale, gamma, beta, mean, var, eps
        As in `fold`: one number for all output channels or one for each.

    Examples
    --------
    >>> layer = fold_conv(np.ones((1, 1, 3, 3), int), Window((1, 3, 3), kernel=3, pads=1))  # sum >= 0
    >>> layer.tau.reshape(3, 3).tolist()  # at least half of the 4, 6 or 9 taps inside
    [[2, 3, 2], [3, 5, 3], [2, 3, 2]]
    """
    norm = Norm(bias=bias, scale=scale, gamma=gamma, beta=beta, mean=mean, var=var, eps=eps)
    unit, origin, padding = (
        Fraction(exact_number(v, name)) for v, name in ((step, "step"), (start, "start"), (fill, "fill"))
    )

    def decide(inside: Ints, outside: Ints, sizes: Ints) -> Decide:
        outer = [padding * int(total) for total in outside.sum(axis=1)]
        if top is None:
            return exact_decisions(
                norm,
                [Fraction(2)] * len(sizes),
                [pad - int(size) for pad, size in zip(outer, sizes, strict=True)],
            )
        below = -np.minimum(inside, 0).sum(axis=1) * top
        starts = [
            p + origin * int(t) - unit * int(b)
            for p, t, b in zip(outer, inside.sum(axis=1), below, strict=True)
        ]
        return exact_decisions(norm, [unit] * len(sizes), starts)

    return _fold(weights, window, groups, top, decide, zero)


def fold_conv_by_evaluation(
    weights: Any,
    window: Window,
    value: Callable[[npt.NDArray[np.float64]], Any],
    *,
    groups: int = 1,
    fill: int = 0,
    zero: SignOfZero = 1,
) -> ConvLayer:
    """Fold what a framework computes between the sum of a convolution over bits and the sign,
    by asking it at every sum.
    """
    if fill not in (0, 1, -1):
        raise NetworkError(f"fill={fill} must be 0, 1 or -1: padded sums must be whole numbers.")

    def decide(_inside: Ints, outside: Ints, sizes: Ints) -> Decide:
        return evaluated_decisions(value, sizes, np.asarray(fill * outside.sum(axis=1) - sizes))

    return _fold(weights, window, groups, None, decide, zero)


def _fold(
    weights: Any,
    window: Window,
    groups: int,
    top: int | None,
    decide: Callable[[Ints, Ints, Ints], Decide],
    zero: SignOfZero,
) -> ConvLayer:
    """Find the thresholds once for each set of taps that can fall inside the input."""
    kernel = integer_array(weights, 4, "kernel")
    rows = kernel.reshape(len(kernel), -1)
    cases, case_of = np.unique(window.taps >= 0, axis=0, return_inverse=True)
    if rows.shape[1] % max(cases.shape[1], 1):
        raise NetworkError(
            f"the kernel has shape {kernel.shape}, which does not fit a window of {window.kernel}."
        )
    tau = np.empty((len(rows), len(cases)), np.int64)
    flipped, ties = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for number, case in enumerate(cases):
        there = np.tile(case, rows.shape[1] // len(case))
        inside, outside = rows * there, rows * ~there
        sizes = np.abs(inside).sum(axis=1) * (1 if top is None else top)
        _, tau[:, number], falls, tied = thresholds(inside, sizes, decide(inside, outside, sizes), zero)
        flipped |= falls  # where a position has a constant sign it says no direction, and its tau fits both
        ties |= tied
    folded = np.where(flipped[:, None, None, None], -kernel, kernel)
    positions = tau[:, case_of.reshape(-1)].reshape(len(rows), *window.positions)
    return ConvLayer(folded, positions, window, groups, top, flipped=flipped, ties=ties)
