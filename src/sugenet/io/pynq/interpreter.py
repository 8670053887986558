"""Interpret a BNN-PYNQ folder as the driver and the processing elements of the accelerator do.

Imports are compared with this interpreter, which unpacks the words independently.
"""

import numpy as np

from sugenet.io.proof.interpreters import SourceInterpreter, Stage, interpreter_of_stages
from sugenet.io.pynq.reader import Folding, Last, Memory, PixelRounding
from sugenet.nn.arrays import Array

__all__ = ["interpreter_of_memory"]


def interpreter_of_memory(
    memory: Memory, outputs: int, last: Last | None, rounding: PixelRounding | None
) -> SourceInterpreter:
    """Return an interpreter of popcounts and comparisons, element by element."""
    return interpreter_of_stages(
        "the accelerator's elements, popcount by popcount",
        lambda x, stages: _run(memory, outputs, last, rounding, x, stages),
    )


def _run(
    memory: Memory,
    outputs: int,
    last: Last | None,
    rounding: PixelRounding | None,
    pixels: Array,
    stages: list[Stage],
) -> Array:
    layers = memory.design.layers
    x: Array
    floats = 2 * pixels.reshape(len(pixels), -1) / 255 - 1
    if memory.design.is_conv:
        codes = np.floor(floats * 128 + (0 if rounding == "floor" else 0.5))
        codes = np.clip(codes, -128, 127).astype(np.int64)
        stages.append(Stage.of_levels("pixels", np.full(codes.shape, 0.25), codes + 128))
        x = codes.reshape(-1, layers[0].channels, layers[0].side, layers[0].side)
    else:
        stages.append(Stage("pixels", floats, floats >= 0, floats < 0))
        x = np.pad(floats >= 0, ((0, 0), (0, layers[0].width - floats.shape[1]))).astype(np.int64)
    for number, layer in enumerate(layers[:-1]):
        sums, limits = _sums(memory, number, x), _limits(memory, number)
        limits = limits[:, None, None] if layer.kernel else limits
        far = [sums - limits[..., k] - 0.5 for k in range(layer.thresholds)]
        count = sum((one > 0).astype(np.int64) for one in far)
        name, levels = f"layer {number}", np.asarray(count).reshape(len(x), -1)
        nearest = np.take_along_axis(np.array(far), np.abs(far).argmin(axis=0)[None], axis=0)[0]
        beside = nearest.reshape(len(x), -1)
        if layer.thresholds == 1:
            stages.append(Stage.of_bits(name, beside, levels > 0))
            x = np.asarray(count)
        else:
            stages.append(Stage.of_levels(name, beside, levels))
            x = np.asarray(count) - 1
        if memory.design.pools_behind(number):
            x = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, -1, 2).max(axis=(3, 5))
        if layer.kernel and not layers[number + 1].kernel:
            x = x.transpose(0, 2, 3, 1).reshape(len(x), -1)
    number = len(layers) - 1
    matches = _sums(memory, number, x)[:, :outputs]
    if last == "matches" or memory.design.is_conv or memory.thresholds[number] is None:
        is_counted = memory.design.counts_matches(number)
        return np.asarray(2.0 * matches - layers[number].width if is_counted else matches)
    limits = _limits(memory, number)[:outputs, 0]
    on = matches > limits
    stages.append(Stage.of_bits(f"layer {number}", matches - limits - 0.5, on))
    return np.where(on, 2.0 * np.arange(1, outputs + 1), 0.0)


def _limits(memory: Memory, number: int) -> Array:
    held, layer = memory.thresholds[number], memory.design.layers[number]
    assert held is not None
    return np.array([held[n % layer.pe, n // layer.pe] for n in range(held.shape[0] * held.shape[1])])


def _sums(memory: Memory, number: int, x: Array) -> Array:
    """Return match counts, or plain sums if not all numbers are bits; for the first layer of a convolutional
    design, twice the sum of its products.
    """
    layer, words = memory.design.layers[number], memory.weights[number]
    rows = np.array([_row(words, layer, n) for n in range(words.size // layer.words)])
    if layer.kernel:
        x = _windows(x, layer)
    values = x.astype(np.float32)  # integers far below 2 ** 24
    if number == 0 and memory.design.is_conv:
        sums = 2 * (values @ rows.T)
    else:
        reads_bits = number == 0 or memory.design.layers[number - 1].thresholds == 1
        sums = (2 * values - 1 if reads_bits else values) @ rows.T
        if memory.design.counts_matches(number):
            sums = (sums + rows.shape[1]) / 2
    return np.moveaxis(sums, -1, 1) if layer.kernel else sums


def _row(words: Array, layer: Folding, neuron: int) -> Array:
    """Return the weights of a neuron: lowest bits first in every word of its element."""
    start = neuron // layer.pe * layer.words
    bytes_ = words[neuron % layer.pe, start : start + layer.words].astype("<u8").view(np.uint8)
    bits = np.unpackbits(bytes_, bitorder="little").reshape(-1, 64)[:, : layer.simd * layer.bits].reshape(-1)
    low, *high = (bits[k :: layer.bits].astype(np.float32) for k in range(layer.bits))
    return np.asarray(low - 2 * high[0] if high else 2 * low - 1)


def _windows(x: Array, layer: Folding) -> Array:
    """Return each window as a row, pixel by pixel with its channels together."""
    seen = np.lib.stride_tricks.sliding_window_view(x, (layer.kernel, layer.kernel), axis=(2, 3))
    return seen.transpose(0, 2, 3, 4, 5, 1).reshape(len(x), layer.out_side, layer.out_side, -1)
