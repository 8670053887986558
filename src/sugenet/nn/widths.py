"""How many bits the sums of each layer need: the range of every partial sum, in any order of summation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sugenet.nn.arrays import Ints
from sugenet.nn.codings import Coding, Span
from sugenet.nn.network import Network, network_of
from sugenet.nn.neuron import NEVER
from sugenet.nn.sparse import SparseLayer

__all__ = ["Accumulator", "accumulators"]


@dataclass(frozen=True)
class Accumulator:
    """The sums of a layer: the range of all partial sums over the inputs that can occur.

    Examples
    --------
    >>> Accumulator("layer 1", -3, 4).bits
    4

    See Also
    --------
    accumulators : gives one per layer.
    """

    where: str
    low: int
    """Smallest partial sum of any neuron, in any order of summation."""
    high: int
    """Largest partial sum."""

    @property
    def bits(self) -> int:
        """Bits of a two's complement number that holds every partial sum."""
        return max(self.high.bit_length(), (~self.low).bit_length() if self.low < 0 else 0) + 1

    def __str__(self) -> str:
        return f"{self.where}: partial sums from {self.low:,} to {self.high:,}, {self.bits} bits"


def accumulators(network: Network) -> tuple[Accumulator, ...]:
    """Return the widths that suffice for the sums of each layer and of the head, whatever the order.

    A sum adds weight times input, one input after another. An input is -1 or +1 if it is a bit, else its
    level. Limits of the domain and neurons that never change narrow the ranges. For a first layer whose
    features are independent, both ends are attained; for later layers and convolutions the ranges are
    sufficient. Laws of the domain are not used. Pooling adds nothing and is left out.

    Parameters
    ----------
    network : Network, classifier or pipeline
        A network over bits or levels.

    Returns
    -------
    tuple of Accumulator
        One per layer with sums, and one for the head.

    Raises
    ------
    QuestionError
        If the network reads real numbers, whose sums have no largest width.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[1, -1, 1], [1, 1, 1]], [2, 9])], Head([[1, 2], [-1, 0]]))
    >>> [str(row) for row in accumulators(net)]
    ['layer 1: partial sums from -3 to 3, 3 bits', 'head: partial sums from -3 to 1, 3 bits']

    See Also
    --------
    summary : describes a network, layer by layer.
    """
    network = network_of(network)
    low, high = _inputs(network)
    rows_of_layers = []
    for number, layer in enumerate(network.layers, start=1):
        if layer.every is not None:  # pooling: the largest or smallest of its inputs
            window = layer.window
            assert window is not None
            low, high = np.zeros(layer.outputs, np.int64), np.full(layer.outputs, layer.height)
            continue
        bits = layer.tops is None
        if layer.window is not None:
            rows = layer.weights.reshape(len(layer.weights), -1)
            ends = (-1, 1) if layer.tops is None else (0, int(layer.tops.max()))
            bottom, top = (np.full(rows.shape[1], end) for end in ends)
            rows_of_layers.append(_range(f"layer {number}", rows, bottom, top))
            low, high = np.zeros(layer.outputs, np.int64), np.full(layer.outputs, layer.height)
            continue
        if isinstance(layer, SparseLayer):
            one, other = (layer.factors * (2 * end - 1)[layer.reads] for end in (low, high))
            below, above = (pick(pick(one, other), 0).sum(axis=1) for pick in (np.minimum, np.maximum))
            ends = int(below.min(initial=0)), int(above.max(initial=0))
            rows_of_layers.append(Accumulator(f"layer {number}", *ends))
            one, other = (layer.factors * end[layer.reads] for end in (low, high))
            lowest, highest = (pick(one, other).sum(axis=1) for pick in (np.minimum, np.maximum))
            low, high = _reached(layer, lowest), _reached(layer, highest)
            continue
        rows = layer.weights
        signed = (2 * low - 1, 2 * high - 1) if bits else (low, high)
        rows_of_layers.append(_range(f"layer {number}", rows, *signed))
        positive, negative = np.maximum(rows, 0), np.minimum(rows, 0)
        lowest, highest = positive @ low + negative @ high, positive @ high + negative @ low
        low, high = _reached(layer, lowest), _reached(layer, highest)
    if network.head.tops is None:
        low, high = 2 * low - 1, 2 * high - 1
    return (*rows_of_layers, _range("head", network.head.weights, low, high))


def _inputs(network: Network) -> tuple[Ints, Ints]:
    """Return the smallest and the largest level, or bit, of each input of the first layer."""
    ends: list[list[int]] = [[], []]
    for feature, coding in enumerate(network.encoder.codings):
        states = _states(coding, network.domain.span(feature))
        if network.reads_levels:
            ends[0].append(min(states))
            ends[1].append(max(states))
        else:
            bits = np.array([coding.bits(state) for state in states], int).reshape(len(states), coding.width)
            ends[0] += bits.min(axis=0).tolist()
            ends[1] += bits.max(axis=0).tolist()
    return np.array(ends[0], np.int64), np.array(ends[1], np.int64)


def _states(coding: Coding, span: Span | None) -> list[int]:
    """Return the states of the values that a feature may have."""
    every = [state for state in range(coding.states) if coding.reachable(state)]
    if span is None:
        return every
    if span.values is not None:
        return sorted({coding.state(value) for value in span.values})
    low, high = (None if end is None else coding.state(end) for end in (span.low, span.high))
    return [s for s in every if (low is None or s >= low) and (high is None or s <= high)]


def _range(where: str, rows: Ints, low: Ints, high: Ints) -> Accumulator:
    """Return the range of sums of any of the products: those below 0 alone, or those above 0 alone."""
    positive, negative = np.maximum(rows, 0), np.minimum(rows, 0)
    above = positive @ np.maximum(high, 0) + negative @ np.minimum(low, 0)
    below = positive @ np.minimum(low, 0) + negative @ np.maximum(high, 0)
    return Accumulator(where, int(below.min(initial=0)), int(above.max(initial=0)))


def _reached(layer: Any, sums: Any) -> Ints:
    """Return how many thresholds of each neuron a sum reaches."""
    reached = (sums - layer.lowest)[:, None] >= layer.thresholds
    return np.asarray((reached if layer.is_binary else reached & (layer.thresholds != NEVER)).sum(axis=1))
