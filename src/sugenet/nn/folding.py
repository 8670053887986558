"""Folding: a linear sum, bias, scale and batch norm before a sign become weights and one integer
threshold per neuron.

`fold` takes the parameters as the exact numbers they are and decides the sign of the real batch norm exactly,
square root included (docs/theory.md 2).

Convolutions have a separate threshold for each set of taps on padding (docs/theory.md 4.1). Each function
reports for each neuron whether a sum of exactly zero can occur. If it cannot, all conventions for sign(0)
agree.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, TypedDict

import numpy as np

from sugenet.bits.window import Window
from sugenet.capacity.thresholds import exact_number
from sugenet.errors import NetworkError, TieError
from sugenet.nn.arrays import Bits, Ints, integer_array
from sugenet.nn.conv import ConvLayer
from sugenet.nn.layers import DenseLayer, LevelLayer

__all__ = [
    "Decide",
    "Norm",
    "SignOfZero",
    "exact_decisions",
    "fold",
    "fold_conv",
    "fold_levels",
    "sign_of_affine",
    "thresholds",
]

SignOfZero = Literal[1, -1, 0]
Decide = Callable[[int], tuple[int, Callable[[int], int]]]


class Norm(TypedDict, total=False):
    """Bias, scale and batch norm between a sum and its sign: one number for all neurons or one per neuron."""

    bias: Any
    scale: Any
    gamma: Any
    beta: Any
    mean: Any
    var: Any
    eps: Any


_BIPOLAR = Fraction(2), Fraction(-1)
"""A bit is a level 0 or 1 that is -1 or +1 in sums."""
DEFAULTS: Norm = {"bias": 0, "scale": 1, "gamma": 1, "beta": 0, "mean": 0, "var": 1, "eps": 0}


def sign_of_affine(linear: Fraction, root_factor: Fraction, radicand: Fraction) -> int:
    """Return the exact sign of ``linear + root_factor * sqrt(radicand)`` for rationals.

    Examples
    --------
    >>> sign_of_affine(Fraction(-3), Fraction(2), Fraction(2))
    -1
    >>> sign_of_affine(Fraction(-2), Fraction(1), Fraction(4))
    0
    """
    signs = _sign(linear), _sign(root_factor) if radicand else 0
    if signs[0] * signs[1] >= 0:
        return signs[0] or signs[1]
    return signs[0] * _sign(linear**2 - root_factor**2 * radicand)


def fold(
    weights: Any,
    *,
    zero: SignOfZero = 1,
    bias: Any = 0,
    scale: Any = 1,
    gamma: Any = 1,
    beta: Any = 0,
    mean: Any = 0,
    var: Any = 1,
    eps: Any = 0,
) -> DenseLayer:
    """Fold ``sign(gamma * (scale * s + bias - mean) / sqrt(var + eps) + beta)``, s the bipolar sum, exactly.

    Reference: Umuroglu and others [UFG17]; Narodytska and others [NKR18].

    Parameters
    ----------
    weights : array of int
        -1, 0 or +1, one row per neuron.
    zero : {1, -1, 0}, default: 1
        Value of sign(0). 0, as in `torch.sign`, is accepted only if a sum of zero provably cannot occur.
    bias : number or array, default: 0
        Added to the scaled sum. This and all later parameters: one number for all neurons, or one each.
        Floats (also float32) are read as the exact numbers they are.
    scale : number or array, default: 1
        Factor of the sum.
    gamma : number or array, default: 1
        Factor of batch norm.
    beta : number or array, default: 0
        Offset of batch norm.
    mean : number or array, default: 0
        Running mean of batch norm.
    var : number or array, default: 1
        Running variance of batch norm.
    eps : number or array, default: 0
        Added to the variance.

    Returns
    -------
    DenseLayer
        The neurons, with marks for reversed weights (`flipped`) and possible sums of zero (`ties`).

    Raises
    ------
    NetworkError
        If shapes do not fit, a weight is not -1, 0 or +1, `zero` is unknown, or
        ``var + eps`` is not positive.
    TieError
        If `zero` is 0 and a sum of zero can occur.
    CapacityError
        If a parameter is not a finite number.

    Examples
    --------
    >>> layer = fold([[+1, -1], [+1, +1]], gamma=[1, -1], beta=[0.5, 0.5], mean=[0, 0])
    >>> layer.weights.tolist(), layer.tau.tolist(), layer.flipped.tolist(), layer.ties.tolist()
    ([[1, -1], [-1, -1]], [1, 1], [False, True], [False, False])
    >>> fold([[+1, -1]], zero=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    sugenet.errors.TieError: neuron 1: 1 matches of 2 give exactly zero, where sign is 0 and not -1 or +1.
    Declare zero=1 or zero=-1.

    See Also
    --------
    fold_levels : the same for integer features.
    fold_conv : the same for convolutions.
    DenseLayer : the result.
    """
    norm = Norm(bias=bias, scale=scale, gamma=gamma, beta=beta, mean=mean, var=var, eps=eps)
    rows = integer_array(weights, 2, "weights")
    tops = np.ones(rows.shape[1], np.int64)
    decide = _decisions(norm, rows, tops, *_BIPOLAR)
    folded, tau, flipped, ties = thresholds(rows, np.abs(rows) @ tops, decide, zero)
    return DenseLayer(folded, tau, flipped=flipped, ties=ties)


def fold_levels(
    weights: Any,
    tops: Any,
    *,
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
) -> LevelLayer:
    """Fold a first layer on integer features exactly, as `fold` does for bits (docs/theory.md 3.1).

    The level a_i = 0..tops[i] of feature i enters the sum as ``start + step * a_i``. For pixels divided by
    255 and moved to [-1, 1], this is ``step=Fraction(2, 255)`` and ``start=-1``.

    Parameters
    ----------
    weights : array of int
        -1, 0 or +1, one row per neuron.
    tops : array of int
        Largest level of each feature.
    step : number, default: 1
        Difference between consecutive levels in the sum.
    start : number, default: 0
        Value of level 0 in the sum.
    zero : {1, -1, 0}, default: 1
        Value of sign(0). 0, as in `torch.sign`, is accepted only if a sum of zero provably cannot occur.
    bias : number or array, default: 0
        Added to the scaled sum. This and all later parameters: one number for all neurons, or one each.
        Floats (also float32) are read as the exact numbers they are.
    scale : number or array, default: 1
        Factor of the sum.
    gamma : number or array, default: 1
        Factor of batch norm.
    beta : number or array, default: 0
        Offset of batch norm.
    mean : number or array, default: 0
        Running mean of batch norm.
    var : number or array, default: 1
        Running variance of batch norm.
    eps : number or array, default: 0
        Added to the variance.

    Returns
    -------
    LevelLayer
        The neurons, with the marks that `fold` leaves.

    Raises
    ------
    NetworkError
        If shapes do not fit, a top is negative, a weight is not -1, 0 or +1, `zero` is unknown, or
        ``var + eps`` is not positive.
    TieError
        If `zero` is 0 and a sum of zero can occur.
    CapacityError
        If a parameter is not a finite number.

    Examples
    --------
    >>> layer = fold_levels([[+1, -1]], tops=[255, 255], bias=-10)  # a_1 - a_2 >= 10
    >>> layer.tau.tolist(), layer.activity([[20, 10], [20, 11]]).ravel().tolist()
    ([265], [True, False])

    See Also
    --------
    fold : the same for bits.
    LevelLayer : the result.
    """
    norm = Norm(bias=bias, scale=scale, gamma=gamma, beta=beta, mean=mean, var=var, eps=eps)
    rows, highest = integer_array(weights, 2, "weights"), integer_array(tops, 1, "tops")
    if highest.shape != rows.shape[1:]:
        raise NetworkError(f"{len(highest)} tops for {rows.shape[1]} features. Every feature has one.")
    unit, origin = Fraction(exact_number(step, "step")), Fraction(exact_number(start, "start"))
    decide = _decisions(norm, rows, highest, unit, origin)
    folded, tau, flipped, ties = thresholds(rows, np.abs(rows) @ highest, decide, zero)
    return LevelLayer(folded, tau, highest, flipped=flipped, ties=ties)


def _decisions(
    norm: Norm, rows: Ints, tops: Ints, unit: Fraction, origin: Fraction, outer: Any = 0
) -> Decide:
    """Return the signs of the batch norm if a level a of 0..top enters the sum as ``origin + unit * a`` and
    padding adds `outer`.
    """
    below = -np.minimum(rows, 0) @ tops
    starts = outer + origin * rows.sum(axis=1).astype(object) - unit * below.astype(object)
    return exact_decisions(norm, [unit] * len(rows), starts.tolist())


def exact_decisions(norm: Norm, steps: list[Fraction], starts: list[Fraction]) -> Decide:
    """Return the sign of the batch norm at each match count M, for sums ``starts[j] + steps[j] * M``,
    in exact arithmetic.
    """
    parameters: dict[str, Any] = {**DEFAULTS, **norm}
    columns = [_per_neuron(value, len(steps), name) for name, value in parameters.items()]

    def decide(j: int) -> tuple[int, Callable[[int], int]]:
        bias, scale, gamma, beta, mean, var, eps = (column[j] for column in columns)
        if var + eps <= 0:
            raise NetworkError(
                f"neuron {j + 1}: var + eps is {float(var + eps)}, but batch norm needs a positive variance."
            )
        slope = gamma * scale * steps[j]
        offset = gamma * (scale * starts[j] + bias - mean)
        return _sign(slope), lambda count: sign_of_affine(slope * count + offset, beta, var + eps)

    return decide


def thresholds(rows: Ints, sizes: Ints, decide: Decide, zero: SignOfZero) -> tuple[Ints, Ints, Bits, Bits]:
    """Find each threshold by bisection over the match counts; `decide(j)` gives the direction and
    the sign at a count.
    """
    if zero not in (1, -1, 0):
        raise NetworkError(f"zero={zero!r} is not a sign of zero. Use 1, -1 or 0.")
    if rows.size and np.abs(rows).max() > 1:
        raise NetworkError("fold reads weights -1, 0 and +1. Put positive scales into `scale`.")
    folded, taus = rows.copy(), np.zeros(len(rows), np.int64)
    flipped, ties = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for j, size in enumerate(sizes.tolist()):
        direction, sign_at = decide(j)
        falls = direction < 0  # then count the opposite literals: size - M of them hold
        at_zero, above = (_first(sign_at, min_sign, size, falls) for min_sign in (0, 1))
        ties[j] = at_zero < above
        if ties[j] and zero == 0:
            raise TieError(
                f"neuron {j + 1}: {size - at_zero if falls else at_zero} matches of {size} give exactly "
                "zero, where sign is 0 and not -1 or +1. Declare zero=1 or zero=-1."
            )
        taus[j] = above if zero == -1 else at_zero
        if falls:
            folded[j], flipped[j] = -rows[j], True
    return folded, taus, flipped, ties


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
    """Fold a convolution with bias, scale and batch norm before a sign, in exact arithmetic.

    Parameters
    ----------
    weights : array of int
        -1, 0 or +1, of shape (out channels, in channels / groups, kernel height, kernel width).
    window : Window
        Input shape and geometry.
    groups : int, default: 1
        Number of channel groups.
    fill : number, default: 0
        Value of padding: 0, +1, -1 or any exact number.
    top : int, default: None
        Largest level of each input value. None: the input is bits, which are -1 and +1 in the sum.
    step : number, default: 1
        Difference between consecutive levels in the sum, if `top` is given.
    start : number, default: 0
        Value of level 0 in the sum, if `top` is given.
    zero : {1, -1, 0}, default: 1
        Value of sign(0). 0, as in `torch.sign`, is accepted only if a sum of zero provably cannot occur.
    bias : number or array, default: 0
        Added to the scaled sum. This and all later parameters: one number for all channels, or one each.
        Floats (also float32) are read as the exact numbers they are.
    scale : number or array, default: 1
        Factor of the sum.
    gamma : number or array, default: 1
        Factor of batch norm.
    beta : number or array, default: 0
        Offset of batch norm.
    mean : number or array, default: 0
        Running mean of batch norm.
    var : number or array, default: 1
        Running variance of batch norm.
    eps : number or array, default: 0
        Added to the variance.

    Returns
    -------
    ConvLayer
        The neurons, one per output channel and position, with the marks that `fold` leaves for each channel.

    Raises
    ------
    NetworkError
        If shapes, groups or `top` do not fit, a weight is not -1, 0 or +1, `zero` is unknown, or
        ``var + eps`` is not positive.
    TieError
        If `zero` is 0 and a sum of zero can occur.
    CapacityError
        If a parameter is not a finite number.

    Examples
    --------
    >>> layer = fold_conv(np.ones((1, 1, 3, 3), int), Window((1, 3, 3), kernel=3, pads=1))  # sum >= 0
    >>> layer.tau.reshape(3, 3).tolist()  # at least half of the 4, 6 or 9 taps inside
    [[2, 3, 2], [3, 5, 3], [2, 3, 2]]

    See Also
    --------
    fold : the same for dense layers.
    ConvLayer : the result.
    """
    norm = Norm(bias=bias, scale=scale, gamma=gamma, beta=beta, mean=mean, var=var, eps=eps)
    unit, origin, padding = (
        Fraction(exact_number(v, name)) for v, name in ((step, "step"), (start, "start"), (fill, "fill"))
    )

    if top is None:
        unit, origin = _BIPOLAR

    kernel = integer_array(weights, 4, "kernel")
    rows = kernel.reshape(len(kernel), -1)
    cases, case_of = np.unique(window.taps >= 0, axis=0, return_inverse=True)
    if rows.shape[1] % max(cases.shape[1], 1):
        raise NetworkError(
            f"the kernel has shape {kernel.shape}, which does not fit a window of {window.kernel}."
        )
    tops = np.full(rows.shape[1], 1 if top is None else top)
    tau = np.empty((len(rows), len(cases)), np.int64)
    flipped, ties = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for number, case in enumerate(cases):  # for each set of taps that can fall inside the input
        there = np.tile(case, rows.shape[1] // len(case))
        inside, outside = rows * there, (rows * ~there).sum(axis=1)
        decide = _decisions(norm, inside, tops, unit, origin, padding * outside.astype(object))
        _, tau[:, number], falls, tied = thresholds(inside, np.abs(inside) @ tops, decide, zero)
        flipped |= falls  # a position with a constant sign has no direction, and its tau fits both
        ties |= tied
    folded = np.where(flipped[:, None, None, None], -kernel, kernel)
    positions = tau[:, case_of.reshape(-1)].reshape(len(rows), *window.positions)
    return ConvLayer(folded, positions, window, groups, top, flipped=flipped, ties=ties)


def _first(sign_at: Callable[[int], int], min_sign: int, size: int, falls: bool) -> int:
    """Return the smallest count at which the sign is at least `min_sign`, or size + 1 if there is none.

    If the sign falls, opposite literals are counted.
    """
    low, high = 0, size + 1
    while low < high:
        middle = (low + high) // 2
        if sign_at(size - middle if falls else middle) >= min_sign:
            high = middle
        else:
            low = middle + 1
    return low


def _per_neuron(values: Any, count: int, what: str) -> list[Fraction]:
    row = np.asarray(values)
    if row.ndim == 0:
        return [Fraction(exact_number(values, what))] * count
    if row.shape != (count,):
        raise NetworkError(
            f"{what} has shape {row.shape} for {count} neurons. Give one number for each, or one for all."
        )
    return [
        Fraction(exact_number(value, f"{what} of neuron {j + 1}")) for j, value in enumerate(row.tolist())
    ]


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
