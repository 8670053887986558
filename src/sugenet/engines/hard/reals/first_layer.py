"""A network over a box of real values: the inputs of its first layer as integers, and the neurons that the
box leaves open.

The box and the thresholds are put on a grid of 1 / `grid`, if necessary as fine as sums of 64 bits allow.
Values off the grid are rounded outwards by less than a step, so every property proved for the rounded box
holds for the exact one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import ceil, floor, lcm

import numpy as np
import numpy.typing as npt

from sugenet.errors import QuestionError
from sugenet.nn import Layer, Network, Window
from sugenet.nn.arrays import Ints
from sugenet.nn.boxed import Boxed
from sugenet.nn.reals import Theta

__all__ = ["MAX_BITS", "Block", "BoxFirstLayer", "blocks_of", "common_denominator", "finest_grid"]

# larger than every sum of the first layer, in units of the grid:
# three of them and their thresholds fit into 64 bits
_LARGEST = 1 << 58
MAX_BITS = 1 << 14
"""Bits of a common denominator: enough for any decimal of 4000 digits; with more, sums would be slow."""


@dataclass(frozen=True, eq=False)
class Block:
    """Neurons of a layer that read the same inputs."""

    ins: npt.NDArray[np.intp]
    outs: npt.NDArray[np.intp]
    weights: Ints
    """One row per element of `outs`, one column per element of `ins`."""
    tau: Ints

    @cached_property
    def sums(self) -> Ints:
        """Smallest bipolar sum that activates each neuron."""
        sizes = np.abs(self.weights).sum(axis=1)
        # clipping tau changes no decision and avoids overflow
        return np.asarray(2 * np.clip(self.tau, 0, sizes + 1) - sizes)


def blocks_of(layer: Layer) -> list[Block]:
    """Split a layer into blocks: a dense layer is one block, a convolution has one per position, pooling one
    per channel and position.
    """
    if layer.window is not None:
        return list(_window_blocks(layer, layer.window))
    return [Block(np.arange(layer.inputs), np.arange(layer.outputs), layer.weights, layer.tau)]


def _window_blocks(layer: Layer, window: Window) -> Iterable[Block]:
    channels, height, width = window.shape
    taps, tau, groups = window.taps, layer.tau, layer.groups
    kernel = layer.weights.reshape(*layer.weights.shape[:2], -1)
    per_in, per_out = channels // groups, len(kernel) // groups
    inside_kernels: dict[bytes, list[Ints]] = {}  # kernels by the part that is inside, which positions share
    for position, pixels in enumerate(taps):
        inside = pixels >= 0
        key = inside.tobytes()
        if key not in inside_kernels:
            inside_kernels[key] = [
                kernel[g * per_out : (g + 1) * per_out, :, inside].reshape(per_out, -1) for g in range(groups)
            ]
        for group, rows in enumerate(inside_kernels[key]):
            into = (
                np.arange(group * per_in, (group + 1) * per_in)[:, None] * (height * width) + pixels[inside]
            )
            outs = np.arange(group * per_out, (group + 1) * per_out) * len(taps) + position
            yield Block(into.reshape(-1), outs, rows, tau[outs])


def finest_grid(denominators: Iterable[int], size: int) -> int:
    """Return the grid for fractions with these denominators if sums up to `size` fit on it; otherwise the
    grid for as many of them as fit, refined.

    Examples
    --------
    >>> finest_grid({2, 1000}, size=255), finest_grid({10**10}, size=255)
    (1000, 10000000000)
    >>> long = finest_grid({3, 10**40}, size=255)
    >>> long % 3 == 0, long * 256 < 2**58 <= long * 512
    (True, True)
    """
    max_grid = (_LARGEST - 1) // (size + 1)
    if not max_grid:
        raise QuestionError("sums of the first layer are too large for exact bounds.")
    grid, exact = 1, True
    for denominator in sorted(denominators):
        both = lcm(grid, denominator)
        grid, exact = (both, exact) if both <= max_grid else (grid, False)
    # by a power of two: grid points stay short floats
    return grid if exact else grid << (max_grid // grid).bit_length() - 1


def common_denominator(values: Iterable[Fraction]) -> int | None:
    """Return the least common denominator; None if it is so long that exact sums would be slow."""
    unit = 1
    for denominator in {value.denominator for value in values}:
        unit = lcm(unit, denominator)
        if unit.bit_length() > MAX_BITS:
            return None
    return unit


@dataclass(frozen=True, eq=False)
class BoxFirstLayer:
    """The layers of a network as blocks, and the state of every neuron over a box: +1 on, -1 off, 0 open.

    Staircases are cut into their steps.
    """

    network: Network
    theta: Theta
    """Exact thresholds of the first layer."""
    grid: int
    lower: Ints
    upper: Ints
    """Box, in units of the grid."""
    low: Ints
    high: Ints
    """Thresholds of the first layer, in units of the grid: on from `high`, off below `low`."""
    blocks: tuple[tuple[Block, ...], ...]
    """Blocks of every layer."""
    states: tuple[npt.NDArray[np.int8], ...]
    """States of the neurons of every layer."""

    @classmethod
    def of(cls, boxed: Boxed) -> BoxFirstLayer:
        """Compute bounds through all layers; raise `QuestionError` if sums are too large for them."""
        network, lower, upper = boxed.network.expanded, boxed.lower, boxed.upper
        rational = {low.denominator for low, high in boxed.theta if low == high}
        size = int(boxed.layer.sizes.max(initial=0))
        grid = finest_grid(rational | {end.denominator for end in chain(lower, upper)}, size)
        widest = 2 * grid * (size + 1)  # a threshold beyond every sum may be moved
        low, high = (
            np.array([min(max(edge, -widest), widest) for edge in edges], np.int64)
            for edges in (
                [floor(start * grid) for start, _ in boxed.theta],
                [ceil(end * grid) for _, end in boxed.theta],
            )
        )
        floors = np.array([floor(value * grid) for value in lower], np.int64)
        ceils = np.array([ceil(value * grid) for value in upper], np.int64)
        blocks = tuple(tuple(blocks_of(layer)) for layer in network.layers)
        states = [_first_states(blocks[0], floors, ceils, low, high)]
        for layer, part in zip(network.layers[1:], blocks[1:], strict=True):
            states.append(_next_states(part, states[-1], layer.outputs))
        return cls(network, boxed.theta, grid, floors, ceils, low, high, blocks, tuple(states))

    @cached_property
    def home(self) -> dict[int, tuple[Block, int]]:
        """Block of every first-layer neuron, and its index there."""
        return {j: (block, k) for block in self.blocks[0] for k, j in enumerate(block.outs.tolist())}

    @cached_property
    def block_numbers(self) -> tuple[npt.NDArray[np.intp], ...]:
        """For every layer the number of each neuron's block."""
        all_numbers = tuple(np.empty(len(states), np.intp) for states in self.states)
        for numbers, blocks in zip(all_numbers, self.blocks, strict=True):
            for number, block in enumerate(blocks):
                numbers[block.outs] = number
        return all_numbers

    def rows(self, neurons: Sequence[int]) -> tuple[Ints, npt.NDArray[np.intp]]:
        """Return the weights of first-layer neurons over the inputs that any of them reads, and these
        inputs.
        """
        parts = [self.home[j] for j in neurons]
        inputs = (
            np.unique(np.concatenate([block.ins for block, _ in parts])) if parts else np.zeros(0, np.intp)
        )
        rows = np.zeros((len(neurons), len(inputs)), np.int64)
        for row, (block, k) in zip(rows, parts, strict=True):
            row[np.searchsorted(inputs, block.ins)] = block.weights[k]
        return rows, inputs


def _first_states(
    blocks: Iterable[Block], lower: Ints, upper: Ints, low: Ints, high: Ints
) -> npt.NDArray[np.int8]:
    states = np.zeros(len(low), np.int8)
    for block in blocks:
        up, down = np.maximum(block.weights, 0), np.minimum(block.weights, 0)
        min_sums = up @ lower[block.ins] + down @ upper[block.ins]
        max_sums = up @ upper[block.ins] + down @ lower[block.ins]
        states[block.outs] = np.where(
            min_sums >= high[block.outs], 1, np.where(max_sums < low[block.outs], -1, 0)
        )
    return states


def _next_states(blocks: Iterable[Block], before: npt.NDArray[np.int8], outputs: int) -> npt.NDArray[np.int8]:
    states = np.zeros(outputs, np.int8)
    for block in blocks:
        bits = before[block.ins].astype(np.int64)
        middle, reach = block.weights @ bits, np.abs(block.weights) @ (bits == 0)
        states[block.outs] = np.where(
            middle - reach >= block.sums, 1, np.where(middle + reach < block.sums, -1, 0)
        )
    return states
