"""The table that users of Larq know, with what matters for reasoning added: constant, flipped and
tie-reachable neurons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sugenet.bnn.arrays import Bits
from sugenet.bnn.conv import ConvLayer, PoolLayer
from sugenet.bnn.layer import tops_of
from sugenet.bnn.layers import DenseLayer, LevelLayer
from sugenet.bnn.network import Network
from sugenet.drawn import Drawn

__all__ = ["LayerSummary", "Summary", "summary"]


@dataclass(frozen=True)
class LayerSummary:
    """One line of the table. Counts that nobody knows are None."""

    name: str
    input_bits: int
    """Bits of one input: 1, or more for levels."""
    outputs: int
    one_bit: int
    """Parameters of one bit: weights that are -1 or +1."""
    zeros: int
    """Weights that are 0."""
    thresholds: int
    """Parameters kept as 32-bit numbers: one threshold or bias an output,
    for a convolution one a channel and kind of border.
    """
    products: int
    """Multiply-adds of one bit that one sample takes."""
    constant: int | None
    flipped: int | None
    ties: int | None

    @property
    def bytes(self) -> float:
        """Memory of the packed parameters."""
        return (self.one_bit + self.zeros) / 8 + 4 * self.thresholds


@dataclass(frozen=True)
class Summary(Drawn):
    """All layers of a network; prints as a table with totals."""

    title: str
    layers: tuple[LayerSummary, ...]

    def __str__(self) -> str:
        head = ("layer", "bits", "outputs", "1-bit", "zero", "32-bit", "kB", "MACs", "const", "flip", "ties")
        rows = [
            (
                row.name,
                str(row.input_bits),
                str(row.outputs),
                f"{row.one_bit:,}",
                f"{row.zeros:,}",
                f"{row.thresholds:,}",
                f"{row.bytes / 1000:.2f}",
                f"{row.products:,}",
                *("-" if count is None else str(count) for count in (row.constant, row.flipped, row.ties)),
            )
            for row in self.layers
        ]
        widths = [max(len(line[column]) for line in [head, *rows]) for column in range(len(head))]

        def line(cells: tuple[str, ...]) -> str:
            return "  ".join(
                cell.ljust(width) if not i else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
            )

        rule = "-" * len(line(head))
        weights = sum(row.one_bit + row.zeros for row in self.layers)
        numbers = sum(row.thresholds for row in self.layers)
        packed = sum(row.bytes for row in self.layers)
        full = 4 * (weights + numbers)
        totals = [
            f"parameters     {weights + numbers:,}: {weights:,} weights, {numbers:,} thresholds and biases",
            (
                f"memory         {packed / 1000:.2f} kB packed, {full / 1000:.2f} kB as float32: "
                f"{full / packed:.1f} times smaller"
            )
            if packed
            else "memory         nothing to store",
            f"multiply-adds  {sum(row.products for row in self.layers):,} of one bit for one sample",
        ]
        return "\n".join([self.title, rule, line(head), rule, *(line(row) for row in rows), rule, *totals])


def summary(network: Network) -> Summary:
    """Count what a network consists of.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> layer = DenseLayer([[1, 1, 0], [-1, -1, 1]], tau=[1, 4])
    >>> table = summary(Network.of_bits([layer], Head([[1, 1], [1, -1]])))
    >>> print(table.layers[0].one_bit, table.layers[0].zeros, table.layers[0].constant)
    5 1 1
    """
    rows = []
    for number, layer in enumerate(network.layers, start=1):
        tops = tops_of(layer)
        bits = 1 if tops is None else max(tops, default=1).bit_length()
        constant = int(layer.constant.sum())
        if isinstance(layer, PoolLayer):
            rows.append(LayerSummary(f"{number} pool", bits, layer.outputs, 0, 0, 0, 0, constant, None, None))
            continue
        kind = {DenseLayer: "dense", LevelLayer: "levels", ConvLayer: "conv"}[type(layer)]
        used = int(np.count_nonzero(layer.weights))
        products = (used if not isinstance(layer, ConvLayer) else used * len(layer.window.taps)) * bits
        rows.append(
            LayerSummary(
                f"{number} {kind}",
                bits,
                layer.outputs,
                used,
                int(layer.weights.size) - used,
                len(np.unique(layer.tau.reshape(len(layer.weights), -1), axis=1).T) * len(layer.weights),
                products,
                constant,
                _count(layer.flipped),
                _count(layer.ties),
            )
        )
    head = network.head
    votes = int(np.count_nonzero(head.weights))
    rows.append(
        LayerSummary(
            "head", 1, head.outputs, votes, head.weights.size - votes, head.outputs, votes, None, None, None
        )
    )
    return Summary(str(network), tuple(rows))


def _count(marks: Bits | None) -> int | None:
    return None if marks is None else int(marks.sum())
