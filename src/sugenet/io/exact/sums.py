"""Sums that wait for their sign: averaged, unrolled, and the different neurons that a convolution has at its borders."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import ConvLayer, Window
from sugenet.bnn.layers import Ints
from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, AveragePool, BatchNorm, Clip
from sugenet.io.exact.signals import SumSignal
from sugenet.io.exact.steps import Pipeline, Step

__all__ = ["averaged_sums", "cases_of", "fitted", "gap_to_zero", "numbers_of", "unrolled"]

_UNROLL = 1 << 26


def averaged_sums(sums: SumSignal, op: AveragePool) -> SumSignal:
    """Averages of sums are sums of more weights, as long as nothing but affine steps stands between."""
    if sums.window is None or sums.pool is not None or any(isinstance(step, Clip) for step in sums.steps):
        raise FileError(f"{op.where}: average pooling of values that are pooled or clipped already.")
    dense = unrolled(sums)
    channels = sums.shape[0]
    window = Window(sums.shape, op.kernel or sums.shape[1:], op.stride if op.kernel else 1, 1, op.pads if op.kernel else 0)
    inside = (window.taps >= 0).sum(axis=1)
    if any(op.pads) and len(set(inside.tolist())) > 1:
        raise FileError(f"{op.where}: an average of sums over windows that reach into padding.")
    if any(np.size(v) not in (1, channels) for step in sums.steps for v in numbers_of(step)):
        raise FileError(f"{op.where}: an average of sums with a different rescaling at every position.")
    per = prod(sums.shape[1:])
    rows, offsets, units = [], [], []
    for c in range(channels):
        for pixels in window.taps:
            chosen = [c * per + int(p) for p in pixels if p >= 0]
            rows.append(dense.weights[chosen].sum(axis=0))
            offsets.append(sum((dense.offset[j] for j in chosen), Fraction(0)) / len(chosen))
            units.append(dense.unit[c * per] / len(chosen))
    steps = tuple(_repeated(step, len(window.taps)) for step in sums.steps)
    shape = (channels, *window.positions)
    return SumSignal(sums.where, np.array(rows), units, np.array(offsets, dtype=object), shape, tops=sums.tops, steps=steps)


def unrolled(sums: SumSignal) -> SumSignal:
    """A convolution as a dense layer, one neuron a position."""
    if sums.window is None:
        return sums
    per = len(sums.window.taps)
    if len(sums.weights) * per * sums.window.inputs > _UNROLL:
        raise FileError(f"{sums.where}: the convolution would have to be unrolled and is too large for that.")
    layer = ConvLayer(sums.weights, np.zeros(len(sums.weights), np.int64), sums.window, sums.groups).unrolled()
    steps = tuple(
        step if any(np.size(v) not in (1, len(sums.weights)) for v in numbers_of(step)) else _repeated(step, per) for step in sums.steps
    )
    unit = [u for u in sums.unit for _ in range(per)]
    return replace(sums, weights=layer.weights, unit=unit, window=None, steps=steps)


def numbers_of(step: Step) -> list[Any]:
    """The numbers of a step that may be given one a channel."""
    match step:
        case Affine():
            return [step.scale, step.shift]
        case BatchNorm():
            return [step.gamma, step.beta, step.mean, step.var]
    return []


def _repeated(step: Step, times: int) -> Step:
    """A step with one number a channel, as one with a number a position."""

    def wide(values: Any) -> Any:
        row = np.asarray(values).reshape(-1)
        return row if row.size == 1 else np.repeat(row, times)

    match step:
        case Affine():
            return replace(step, scale=wide(step.scale), shift=wide(step.shift))
        case BatchNorm():
            return replace(step, gamma=wide(step.gamma), beta=wide(step.beta), mean=wide(step.mean), var=wide(step.var))
    return step


def fitted(step: Step, sums: SumSignal) -> Step:
    """Numbers of a step in the order of the neurons: one a channel of unrolled maps, or given pixel by pixel behind a flatten."""
    if sums.window is None and len(sums.shape) == 3 and len(sums.weights) != sums.shape[0]:
        return _repeated(step, len(sums.weights) // sums.shape[0])
    if sums.flat != "HWC" or sums.maps is None:
        return step
    c, h, w = sums.maps

    def back(values: Any) -> Any:
        row = np.asarray(values).reshape(-1)
        return row.reshape(h, w, c).transpose(2, 0, 1).reshape(-1) if row.size == c * h * w > 1 else row

    match step:
        case Affine():
            return replace(step, scale=back(step.scale), shift=back(step.shift))
        case BatchNorm():
            return replace(step, gamma=back(step.gamma), beta=back(step.beta), mean=back(step.mean), var=back(step.var))
    return step


def cases_of(sums: SumSignal) -> tuple[list[tuple[Ints, Ints, Ints, int]], npt.NDArray[np.intp]]:
    """The different neurons of each channel: weights inside the input, largest count, what to subtract, and one position of each."""
    channels = len(sums.weights)
    rows = sums.weights.reshape(channels, -1)
    top = 1 if sums.tops is None else sums.tops[0]
    if sums.window is None:
        sizes = np.abs(rows).sum(axis=1) * top
        below = np.asarray(-np.minimum(rows, 0).sum(axis=1) * top) if sums.tops is not None else sizes
        return [(rows, sizes, below, 0)], np.zeros(1, np.intp)
    taps = sums.window.taps
    offset = sums.offset.reshape(channels, len(taps))
    kinds: dict[tuple[Any, ...], int] = {}
    case_of = np.empty(len(taps), np.intp)
    first: list[int] = []
    for position in range(len(taps)):
        key = (taps[position] >= 0).tobytes(), tuple(offset[:, position])
        if key not in kinds:
            kinds[key] = len(first)
            first.append(position)
        case_of[position] = kinds[key]
    cases = []
    for position in first:
        there = np.tile(taps[position] >= 0, rows.shape[1] // taps.shape[1])
        inside = rows * there
        sizes = np.abs(inside).sum(axis=1) * top
        below = np.asarray(-np.minimum(inside, 0).sum(axis=1) * top) if sums.tops is not None else sizes
        cases.append((inside, sizes, below, position))
    return cases, case_of


def gap_to_zero(line: Pipeline, start: Fraction, stride: Fraction, tau: int, size: int, falls: bool) -> float:
    """How far the nearest sum is from where the sign turns, in units of the file's sum; infinite for a constant neuron."""
    near = [count for count in (tau - 1, tau) if 0 <= count <= size]
    slope = abs(line.slope())
    if len(near) < 2 or not slope:
        return float("inf")
    return min(abs(float(line(start + stride * (size - count if falls else count)))) for count in near) / slope
