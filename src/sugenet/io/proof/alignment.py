"""Which sign of a reference is which layer of a network: by the operations where both follow the same ones,
else by size and order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.bnn import Network
from sugenet.io.exact.report import SignPlace
from sugenet.io.proof.judges import Stage

__all__ = ["LayerPair", "aligned"]

_Bits = npt.NDArray[Any]
"""Bits or levels of a layer."""


@dataclass(frozen=True, eq=False)
class LayerPair:
    """A hidden layer, from 0, the number of its stage, and where in the stage each of its neurons
    stands (None: in order).
    """

    layer: int
    stage: int
    order: npt.NDArray[np.intp] | None = None
    part: tuple[int, int] | None = None
    """The neurons of the layer that are the stage's, as `SignPlace` has them."""

    def of(self, stages: Sequence[Stage]) -> Stage:
        """The stage in the order of the layer's neurons."""
        stage = stages[self.stage]
        return stage if self.order is None else stage.at(self.order)


def aligned(
    network: Network,
    bits: Sequence[_Bits],
    stages: Sequence[Stage],
    signs: Sequence[SignPlace],
    follows: bool = False,
) -> list[LayerPair]:
    """Pairs of layers and stages, first to last.

    `signs` says which sign of the chain that was read became which layer; where the reference `follows` the
    chain, its signs are the same. Others have more signs than the network has layers (those on the inputs) or
    fewer (pooling is a layer of its own here): then stages are taken in order, of the same size, and such
    that as much as possible agrees.
    """
    known = _known(bits, stages, signs) if follows else None
    return known if known is not None else _matched(network, bits, stages, signs)


def _known(
    bits: Sequence[_Bits], stages: Sequence[Stage], signs: Sequence[SignPlace]
) -> list[LayerPair] | None:
    if not signs or len(stages) != len(signs):
        return None
    pairs = []
    for sign in signs:
        if sign.layer is None:
            continue
        if stages[sign.number].high.shape != bits[sign.layer][:, sign.neurons].shape:
            return None
        pairs.append(LayerPair(sign.layer, sign.number, sign.places, sign.part))
    return sorted(pairs, key=lambda pair: pair.layer)  # branches stand beside one another


def _matched(
    network: Network, bits: Sequence[_Bits], stages: Sequence[Stage], signs: Sequence[SignPlace]
) -> list[LayerPair]:
    orders = {sign.layer: sign.places for sign in signs}
    best: list[list[tuple[float, list[LayerPair]]]] = [
        [(0.0, [])] * (len(stages) + 1) for _ in range(len(bits) + 1)
    ]
    for i in range(1, len(bits) + 1):
        ways = (_pixel_by_pixel(network, i - 1), orders.get(i - 1))
        for j in range(1, len(stages) + 1):
            choices = [best[i - 1][j], best[i][j - 1]]
            if stages[j - 1].high.shape == bits[i - 1].shape:
                total, pairs = best[i - 1][j - 1]
                for order in (None, *(way for way in ways if way is not None)):
                    given = stages[j - 1].given if order is None else stages[j - 1].given[:, order]
                    share = float((given == bits[i - 1]).mean())
                    choices.append((total + 1 + share, [*pairs, LayerPair(i - 1, j - 1, order)]))
            best[i][j] = max(choices, key=lambda choice: choice[0])
    return best[-1][-1][1]


def _pixel_by_pixel(network: Network, layer: int) -> npt.NDArray[np.intp] | None:
    """Where the neurons of maps stand in a stage that lies pixel by pixel."""
    shape = network.layers[layer].output_shape
    if shape is None:
        return None
    channels, height, width = shape
    return (
        np.arange(channels * height * width).reshape(height, width, channels).transpose(2, 0, 1).reshape(-1)
    )
