"""A network over a box of real inputs, as a network over levels that begin at the box (docs/theory.md 3.6).

Every property proved for the network over levels also holds for the original one inside the box: if weights
must be rounded, the thresholds are moved further apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sugenet.nn.codings import Steps, integer
from sugenet.nn.conv import ConvLayer
from sugenet.nn.encoder import Encoder
from sugenet.nn.layers import LevelLayer
from sugenet.nn.network import Network
from sugenet.nn.reals import Placed, RealLayer, Theta

__all__ = ["Boxed", "in_box"]


@dataclass(frozen=True, eq=False)
class Boxed:
    """The network over levels, the thresholds of its first layer on real levels, the box in levels,
    and the conversion back to raw values.
    """

    network: Network
    placed: Placed
    lower: list[Fraction]
    upper: list[Fraction]

    @property
    def layer(self) -> LevelLayer | ConvLayer:
        """First layer, over levels."""
        return self.placed.layer

    @property
    def theta(self) -> Theta:
        """Thresholds of the first layer on real levels."""
        return self.placed.theta


def in_box(network: Network, lower: Sequence[Fraction], upper: Sequence[Fraction]) -> Boxed | None:
    """Return the network over levels that begin at a box of real inputs.

    None if the network does not keep real numbers, or if the box contains values that a feature cannot have.

    Examples
    --------
    >>> from sugenet.nn import Head, Network
    >>> net = Network(Encoder.of_reals(1), [RealLayer([[2]], [Fraction(20001, 10)])], Head([[1], [-1]]))
    >>> boxed = in_box(net, [Fraction(999)], [Fraction(2001, 2)])
    >>> boxed.lower, boxed.upper, boxed.placed.low, boxed.theta
    ([Fraction(0, 1)], [Fraction(3, 2)], (999,), ((Fraction(21, 10), Fraction(21, 10)),))
    """
    first = network.layers[0] if network.layers else None
    if not isinstance(first, RealLayer):
        return None
    for coding, low, high in zip(network.encoder.codings, lower, upper, strict=True):
        assert isinstance(coding, Steps)
        if low < coding.low or high > coding.high:
            return None
    placed = first.placed(lower, upper)
    return Boxed(_over_levels(network, placed), placed, placed.levels(lower), placed.levels(upper))


def _over_levels(network: Network, placed: Placed) -> Network:
    layer = placed.layer
    tops = layer.input_tops.tolist()
    known = {top: integer(0, top) for top in set(tops)}
    encoder = Encoder([known[top] for top in tops], network.encoder.names)
    return Network(encoder, (layer, *network.layers[1:]), network.head, network.classes)
