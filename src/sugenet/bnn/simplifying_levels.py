"""A network of staircases without what does not matter: what `simplify` does where there are levels.

Each neuron is brought to lowest terms: steps that are always or never reached go, a common divisor of its
weights goes, the first weight is positive; equal neurons become one. Whoever read the level of a neuron reads
``offset + sign * level`` of what is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from sugenet.bnn.arrays import Ints
from sugenet.bnn.codings import OneHot
from sugenet.bnn.conv import ConvLayer, StairConv
from sugenet.bnn.encoder import Encoder
from sugenet.bnn.head import Head
from sugenet.bnn.layers import DenseLayer, Layer, LevelLayer, StairLayer
from sugenet.bnn.network import Network
from sugenet.bnn.neuron import NEVER

__all__ = ["simplify_levels"]


@dataclass(frozen=True)
class _Stairs:
    """A layer as rows over what is left of the layer before, and rising steps of their sums."""

    rows: tuple[tuple[int, ...], ...]
    steps: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return max((len(own) for own in self.steps), default=0)


@dataclass(frozen=True)
class _Wire:
    """What became of a value: ``offset + sign * level`` of a kept output, of none where sign is 0."""

    offset: int
    sign: int = 0
    kept: int = 0


def simplify_levels(network: Network) -> Network:
    """The same scores from fewer and shorter staircases; convolutions are unrolled first."""
    encoder = network.encoder
    levels = network.reads_levels
    tops = list(encoder.tops or ()) if levels else [1] * encoder.width
    wires = [_Wire(0, 1, place) for place in range(len(tops))]
    layers: list[_Stairs] = []
    for layer in network.layers:
        weights, steps = _plain(layer)
        found, wires = _canonical(weights, steps, wires, tops)
        layers.append(found)
        tops = [found.height] * len(found.rows)
    votes, shift = _rewired(network.head.weights.tolist(), wires, len(tops))
    head = network.head
    full = (head.weights @ (np.ones(head.inputs, np.int64) if head.tops is None else head.tops)).tolist()
    # a score is scale * (2 * sum of w a - sum of w t) + bias
    plain = [
        (2 * s - f) * scale + b for s, f, scale, b in zip(shift, full, head.scale, head.bias, strict=True)
    ]
    layers, votes = _drop_unread(layers, votes)
    if not layers:
        votes = [[0] * encoder.width] * head.outputs
        return replace(network, layers=(), head=Head(votes, plain, head.scale))
    encoder, layers = _drop_features(encoder, layers) if levels else (encoder, layers)
    tops = list(encoder.tops or ()) if levels else [1] * encoder.width
    made: list[Layer] = []
    for number, stairs in enumerate(layers):
        made.append(_layer(stairs, tops, from_levels=levels if number == 0 else tops != [1] * len(tops)))
        tops = [stairs.height] * len(stairs.rows)
    binary = layers[-1].height == 1 and isinstance(made[-1], DenseLayer | LevelLayer)
    totals = [sum(row) * layers[-1].height for row in votes]
    bias = [b + scale * t for b, scale, t in zip(plain, head.scale, totals, strict=True)]
    return replace(
        network,
        encoder=encoder,
        layers=tuple(made),
        head=Head(votes, bias, head.scale, None if binary else tops),
    )


def _plain(layer: Layer) -> tuple[list[list[int]], list[list[int]]]:
    """Weights, and the steps of their plain sums of levels or bits."""
    if isinstance(layer, StairConv):
        layer = layer.dense()
    if isinstance(layer, StairLayer):
        return layer.weights.tolist(), [[t for t in own if t != NEVER] for own in layer.steps.tolist()]
    assert isinstance(layer, DenseLayer | LevelLayer | ConvLayer)
    if isinstance(layer, ConvLayer):
        rows = layer.rows()
        tops = np.full(layer.inputs, layer.top or 1)
    else:
        rows = layer.weights
        tops = layer.tops if isinstance(layer, LevelLayer) else np.ones(layer.inputs, np.int64)
    least: Ints = layer.tau + np.minimum(rows, 0) @ tops
    return rows.tolist(), [[t] for t in least.tolist()]


def _rewired(
    weights: Sequence[Sequence[int]], wires: Sequence[_Wire], kept: int
) -> tuple[list[list[int]], list[int]]:
    """Weights over what is kept, and what is always added."""
    rows, shifts = [], []
    for row in weights:
        moved, shift = [0] * kept, 0
        for weight, wire in zip(row, wires, strict=True):
            shift += weight * wire.offset
            if wire.sign:
                moved[wire.kept] += weight * wire.sign
        rows.append(moved)
        shifts.append(shift)
    return rows, shifts


def _canonical(
    weights: list[list[int]], steps: list[list[int]], wires: Sequence[_Wire], tops: list[int]
) -> tuple[_Stairs, list[_Wire]]:
    rows, shifts = _rewired(weights, wires, len(tops))
    keys: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    found: list[_Wire] = []
    for row, own, shift in zip(rows, steps, shifts, strict=True):
        low = sum(min(w, 0) * top for w, top in zip(row, tops, strict=True))
        high = sum(max(w, 0) * top for w, top in zip(row, tops, strict=True))
        moved = [t - shift for t in own]
        always = sum(t <= low for t in moved)
        left = [t for t in moved if low < t <= high]
        keys.append(((), ()))
        if not left:
            found.append(_Wire(always))
            continue
        divisor = gcd(*row)
        row, left = [w // divisor for w in row], [-(-t // divisor) for t in left]
        if next(w for w in row if w) < 0:  # the level counts the steps of the negated sum that are missed
            row, left = [-w for w in row], [1 - t for t in reversed(left)]
            found.append(_Wire(always + len(left), -1))
        else:
            found.append(_Wire(always, +1))
        keys[-1] = tuple(row), tuple(left)
    kept = sorted({key for key, wire in zip(keys, found, strict=True) if wire.sign})
    place = {key: number for number, key in enumerate(kept)}
    wired = [replace(wire, kept=place.get(key, 0)) for key, wire in zip(keys, found, strict=True)]
    return _Stairs(tuple(row for row, _ in kept), tuple(own for _, own in kept)), wired


def _drop_unread(layers: list[_Stairs], votes: list[list[int]]) -> tuple[list[_Stairs], list[list[int]]]:
    """From the head backwards, drop neurons whose level has no weight;
    nothing is left when a layer has none.
    """
    kept: list[_Stairs] = []
    reader: Sequence[Sequence[int]] = votes
    for layer in reversed(layers):
        read = [j for j in range(len(layer.rows)) if any(row[j] for row in reader)]
        narrow = [[row[j] for j in read] for row in reader]
        if kept:
            kept[-1] = _Stairs(tuple(map(tuple, narrow)), kept[-1].steps)
        else:
            votes = narrow
        kept.append(_Stairs(tuple(layer.rows[j] for j in read), tuple(layer.steps[j] for j in read)))
        reader = kept[-1].rows
    kept.reverse()
    return ([], votes) if any(not layer.rows for layer in kept) else (kept, votes)


def _drop_features(encoder: Encoder, layers: list[_Stairs]) -> tuple[Encoder, list[_Stairs]]:
    """Features that nobody reads lose their cuts."""
    used = [any(row[place] for row in layers[0].rows) for place in range(encoder.features)]
    codings = [
        coding if alive or isinstance(coding, OneHot) else replace(coding, cuts=())
        for coding, alive in zip(encoder.codings, used, strict=True)
    ]
    return Encoder(codings, encoder.names, encoder.shape), layers


def _layer(stairs: _Stairs, tops: list[int], *, from_levels: bool) -> Layer:
    steps = [[*own, *[1 << 62] * (stairs.height - len(own))] for own in stairs.steps]
    found = StairLayer.from_sums(stairs.rows, steps, tops)
    if stairs.height > 1:
        return found
    binary = found.cut()
    return binary if from_levels else DenseLayer(binary.weights, binary.tau)
