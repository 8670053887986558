"""A network over a box of real inputs, as one over levels that begin at the box (docs/theory.md 3.6).

What is shown of the network over levels is true of the other one inside the box: where weights have to be
rounded, thresholds are taken further apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sugenet.bnn.codings import Steps, integer
from sugenet.bnn.conv import ConvLayer
from sugenet.bnn.encoder import Encoder
from sugenet.bnn.layers import LevelLayer
from sugenet.bnn.network import Network
from sugenet.bnn.reals import Placed, RealLayer

__all__ = ["Boxed", "in_box"]

_USUAL = 1 << 31  # sums of the first layer for which a box needs no levels of its own


@dataclass(frozen=True, eq=False)
class Boxed:
    """The network over levels, the box in these, and the way back."""

    network: Network
    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]
    lows: tuple[Fraction, ...]
    """The raw value of level 0 of each feature."""
    unit: int
    """How much a level is in raw values."""

    def raw(self, levels: Sequence[Fraction]) -> list[Fraction]:
        """Real levels as raw values."""
        return [low + self.unit * level for level, low in zip(levels, self.lows, strict=True)]


def in_box(network: Network, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Boxed | None:
    """The network over levels that begin at a box of raw values; None where its own levels do, or the box
    leaves the values that features can have.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network
    >>> net = Network(Encoder.of_reals(1), [RealLayer([[2]], [Fraction(20001, 10)])], Head([[1], [-1]]))
    >>> boxed = in_box(net, [Fraction(999)], [Fraction(2001, 2)])
    >>> boxed.lower, boxed.upper, boxed.lows, boxed.network.layers[0].theta
    ((Fraction(0, 1),), (Fraction(3, 2),), (Fraction(999, 1),), ((Fraction(21, 10), Fraction(21, 10)),))
    """
    first = network.layers[0] if network.layers else None
    codings = [coding for coding in network.encoder.codings if isinstance(coding, Steps)]
    if len(codings) < network.encoder.features or any(
        low < coding.low or high > coding.high
        for coding, low, high in zip(codings, lower, upper, strict=True)
    ):
        return None
    if isinstance(first, RealLayer):
        layer, lows = first, [Fraction(0)] * len(codings)
    elif (
        isinstance(first, LevelLayer | ConvLayer)
        and first.theta is not None
        and network.reads_levels
        and first.sizes.max(initial=0) >= _USUAL
        and all(coding.every_step for coding in codings)
    ):
        window, groups = (first.window, first.groups) if isinstance(first, ConvLayer) else (None, 1)
        layer = RealLayer(first.weights, first.theta, window, groups)
        lows = [Fraction(coding.low) for coding in codings]
    else:
        return None
    ends = [[value - low for value, low in zip(row, lows, strict=True)] for row in (lower, upper)]
    placed = layer.placed(*ends)
    inside = [tuple(placed.levels(row)) for row in ends]
    base = tuple(low + start for low, start in zip(lows, placed.low, strict=True))
    return Boxed(_over_levels(network, placed), inside[0], inside[1], base, placed.unit)


def _over_levels(network: Network, placed: Placed) -> Network:
    layer = placed.layer
    tops = layer.tops.tolist() if isinstance(layer, LevelLayer) else [layer.top] * layer.inputs
    known = {top: integer(0, top) for top in set(tops)}
    encoder = Encoder([known[top] for top in tops], network.encoder.names)
    return Network(encoder, (layer, *network.layers[1:]), network.head, network.classes)
