"""Summary table of a network, as in Larq, with columns for reasoning: constant, flipped and
tie-reachable neurons. The kinds of its features follow.
"""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from sugenet.capacity.arguments import number_text
from sugenet.nn.arrays import Bits, Ints
from sugenet.nn.codings import Coding, OneHot
from sugenet.nn.columns import Preparation
from sugenet.nn.layers import Layer
from sugenet.nn.network import Network, network_of
from sugenet.nn.neuron import NEVER
from sugenet.nn.reals import RealLayer
from sugenet.nn.sparse import SparseLayer
from sugenet.plottable import Plottable
from sugenet.reprs import ShortRepr, cut
from sugenet.visible import visible

__all__ = ["LayerSummary", "Summary", "summary"]

_WIDE = 40
"""Letters of the names of features that are shown one by one."""


@dataclass(frozen=True)
class LayerSummary(ShortRepr):
    """One row of the table that `summary` gives. Unknown counts are None.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> layer = DenseLayer([[1, 1, 0], [-1, -1, 1]], tau=[1, 4])
    >>> row = summary(Network.of_bits([layer], Head([[1, 1], [1, -1]]))).layers[0]
    >>> row.name, row.outputs, row.one_bit, row.zeros, row.bytes
    ('1 dense', 2, 5, 1, 8.75)

    See Also
    --------
    Summary : all rows.
    """

    name: str
    input_bits: int
    """Bits of one input: 1, or more for levels."""
    outputs: int
    one_bit: int
    """Number of one-bit parameters: weights that are -1 or +1."""
    zeros: int
    """Number of weights that are 0."""
    wide: int
    """Number of weights of more than one bit."""
    weight_bits: int
    """Bits of the largest weight, with its sign; 1 if all weights are -1, 0 or +1."""
    thresholds: int
    """Parameters stored as 32-bit numbers: one threshold or bias per output, or for a convolution
    one per channel and kind of border.
    """
    products: int
    """One-bit multiply-adds per sample."""
    constant: int | None
    flipped: int | None
    ties: int | None

    @property
    def bytes(self) -> float:
        """Memory of the packed parameters."""
        weights = self.one_bit + self.zeros + self.wide
        return weights * self.weight_bits / 8 + 4 * self.thresholds


@dataclass(frozen=True)
class Summary(Plottable):
    """All layers of a network, printed as a table with totals.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> layer = DenseLayer([[1, 1, 0], [-1, -1, 1]], tau=[1, 4])
    >>> print(summary(Network.of_bits([layer], Head([[1, 1], [1, -1]]))))
    network 3-2-2 over 3 features, classes 0, 1
    --------------------------------------------------------------------------
    layer    bits  outputs  1-bit  zero  32-bit    kB  MACs  const  flip  ties
    --------------------------------------------------------------------------
    1 dense     1        2      5     1       2  0.01     5      1     -     -
    head        1        2      4     0       2  0.01     4      -     -     -
    --------------------------------------------------------------------------
    parameters     14: 10 weights, 4 thresholds and biases
    memory         0.02 kB packed, 0.06 kB as float32: 3.2 times smaller
    multiply-adds  9 of one bit for one sample

    See Also
    --------
    summary : makes the table.
    LayerSummary : one row.
    """

    title: str
    layers: tuple[LayerSummary, ...]
    features: tuple[tuple[str, str], ...] = ()
    """Name and kind of each feature."""

    def __str__(self) -> str:
        wide = any(row.wide for row in self.layers)
        marked = any(row.flipped is not None or row.ties is not None for row in self.layers) or not any(
            "levels)" in row.name for row in self.layers
        )  # staircases do not have these marks
        head = (
            "layer",
            "bits",
            "outputs",
            "1-bit",
            *(("wide",) if wide else ()),
            "zero",
            "32-bit",
            "kB",
            "MACs",
            "const",
            *(("flip", "ties") if marked else ()),
        )
        rows = [
            (
                row.name,
                str(row.input_bits),
                str(row.outputs),
                f"{row.one_bit:,}",
                *((f"{row.wide:,}" + (f" ({row.weight_bits})" if row.wide else ""),) if wide else ()),
                f"{row.zeros:,}",
                f"{row.thresholds:,}",
                f"{row.bytes / 1000:.2f}",
                f"{row.products:,}",
                *(
                    "-" if count is None else str(count)
                    for count in (row.constant, *((row.flipped, row.ties) if marked else ()))
                ),
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
        weights = sum(row.one_bit + row.zeros + row.wide for row in self.layers)
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
        table = [self.title, rule, line(head), rule, *(line(row) for row in rows), rule, *totals]
        return "\n".join([*table, *self._kinds()])

    def _kinds(self) -> list[str]:
        """Return a line for each row of features of one kind; none if all are bits."""
        lines = [("features", "kind")]
        for kind, row in groupby(self.features, lambda feature: feature[1]):
            names = [name for name, _ in row]
            text = ", ".join(names)
            if len(text) > _WIDE and len(names) > 1:
                text = f"{names[0]} to {names[-1]} ({len(names):,})"
            lines.append((visible(text), visible(kind)))
        if {kind for _, kind in lines[1:]} <= {"bit"}:
            return []
        width = max(len(names) for names, _ in lines)
        return [f"{names.ljust(width)}  {kind}" for names, kind in lines]


def summary(network: Network) -> Summary:
    """Summarize a network: its layers, neurons, weights and operations.

    Parameters
    ----------
    network : Network, classifier or pipeline
        The network, a fitted `BNNClassifier`, or a fitted pipeline of scikit-learn that ends with one.

    Returns
    -------
    Summary
        A table that prints itself, with one row per layer.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> layer = DenseLayer([[1, 1, 0], [-1, -1, 1]], tau=[1, 4])
    >>> table = summary(Network.of_bits([layer], Head([[1, 1], [1, -1]])))
    >>> print(table.layers[0].one_bit, table.layers[0].zeros, table.layers[0].constant)
    5 1 1

    See Also
    --------
    Network.trace : one sample through all layers.
    """
    network = network_of(network)
    rows = [_layer_row(number, layer) for number, layer in enumerate(network.layers, start=1)]
    head = network.head
    bits = 1 if head.tops is None else int(head.tops.max(initial=1)).bit_length()
    rows.append(
        LayerSummary(
            "head",
            bits,
            head.outputs,
            **_weights(head.weights),
            thresholds=head.outputs,
            products=_bit_products(head.weights) * bits,
            constant=None,
            flipped=None,
            ties=None,
        )
    )
    encoder = network.encoder
    ways = encoder.columns.features if encoder.columns else [Preparation((name,)) for name in encoder.names]
    kinds = map(_kind, encoder.codings, ways)
    return Summary(str(network), tuple(rows), tuple(zip(encoder.names, kinds, strict=True)))


def _kind(coding: Coding, way: Preparation) -> str:
    """Return the kind of a feature, and the replacement of its gaps."""
    is_days = way.how in ("days", "seconds")
    known = [one for one in coding.categories if one is not None] if isinstance(coding, OneHot) else []
    if isinstance(coding, OneHot):
        kind = "bool" if known == [False, True] else f"category of {len(known)}"
    else:
        kind = "bit" if coding.bipolar else "whole" if coding.whole else "number"
    if way.how == "one-hot":
        kind = f"one-hot group of {cut(', '.join(way.columns), 1, 60)}"
    elif way.how == "ranges":
        kind = f"number in {len(known)} ranges"
    elif way.how != "value":
        kind = f"date in {way.how}" if is_days else f"{way.how} of a date"
    if way.fill is not None:
        fill = way.cells(way.fill, coding)[way.columns[0]] if is_days else way.fill
        kind += f"; gaps become {number_text(fill)}"
    return kind + "; gaps are a category" * (isinstance(coding, OneHot) and None in coding.categories)


def _layer_row(number: int, layer: Layer) -> LayerSummary:
    bits = 64 if layer.kind == "real" else int(layer.input_tops.max(initial=1)).bit_length()
    kind = "levels" if layer.kind == "dense" and layer.is_binary and layer.tops is not None else layer.kind
    name = f"{number} {'reals' if kind == 'real' else kind}"
    name += "" if layer.is_binary else f" ({layer.height + 1} levels)"
    if layer.every is not None:
        return LayerSummary(name, bits, layer.outputs, 0, 0, 0, 1, 0, 0, 0, None, None)
    weights = layer.factors if isinstance(layer, SparseLayer) else layer.weights
    return LayerSummary(
        name,
        bits,
        layer.outputs,
        **_weights(weights),
        thresholds=_threshold_count(layer),
        products=_bit_products(weights) * (layer.outputs // max(1, len(weights))) * bits,
        constant=int(layer.constant.sum()),
        flipped=_count(layer.flipped),
        ties=_count(layer.ties),
    )


def _threshold_count(layer: Layer) -> int:
    """Count the distinct thresholds: for a convolution one per channel and kind of border."""
    if isinstance(layer, RealLayer):
        return len(set(layer.theta))
    if not layer.is_binary:
        return int((layer.steps != NEVER).sum())
    channels = layer.outputs if layer.window is None else len(layer.weights)
    per_channel = layer.tau.reshape(channels, layer.tau.size // max(1, channels))
    return len(np.unique(per_channel, axis=1).T) * channels


def _weights(weights: Ints) -> dict[str, int]:
    """Count the weights of one bit, of 0 and of more bits, and the bits of the largest."""
    sizes = np.abs(weights)
    bits = _weight_bits(weights)
    one = int((sizes == 1).sum())
    zeros = int((sizes == 0).sum())
    return {"one_bit": one, "zeros": zeros, "wide": int(sizes.size) - one - zeros, "weight_bits": bits}


def _weight_bits(weights: Ints) -> int:
    low, high = int(weights.min(initial=0)), int(weights.max(initial=0))
    return 1 if low >= -1 and high <= 1 else max(high.bit_length(), (-low - 1).bit_length()) + 1


def _bit_products(weights: Ints) -> int:
    """Return the number of nonzero weights times the bits of the largest."""
    return int(np.count_nonzero(weights)) * _weight_bits(weights)


def _count(marks: Bits | None) -> int | None:
    return None if marks is None else int(marks.sum())
