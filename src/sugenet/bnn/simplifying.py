"""The same function with less: constants propagated, neurons that are the same (or opposite) merged, what
nobody reads dropped.

Neurons that compute the same value become one whose weight counts as often as it did before, so weights
larger than 1 can arise. Neurons are brought to one sign and one order, so two spellings of a network that
differ in these become equal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sugenet.bnn.arrays import Bits, Ints
from sugenet.bnn.codings import Coding, Steps
from sugenet.bnn.encoder import Encoder
from sugenet.bnn.head import Head
from sugenet.bnn.layers import DenseLayer, LevelLayer
from sugenet.bnn.network import Network
from sugenet.bnn.simplifying_levels import simplify_levels

__all__ = ["simplify"]

_Simple: TypeAlias = DenseLayer | LevelLayer


def simplify(network: Network) -> Network:
    """Return a network that computes the same scores, without what does not matter.

    Raw features stay, in their order, so samples need no change; a feature that no longer matters is read by
    no bit. Marks that folding left for `summary` are dropped. Convolutions and pooling are unrolled first;
    staircases stay such unless levels are pooled, which are cut into bits then.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head, Network
    >>> weights = [[1, 1, 0], [-1, -1, 0], [1, 1, 0], [0, 0, 1]]
    >>> layer = DenseLayer(weights, tau=[1, 2, 1, 0])  # 2 is the opposite of 1, 4 constant
    >>> net = simplify(Network.of_bits([layer], Head([[1, 1, 1, 1], [1, -1, 1, 1]])))
    >>> net.layers[0].weights.tolist(), net.head.weights.tolist(), [int(b) for b in net.head.bias]
    ([[1, 1]], [[1], [3]], [1, 1])
    """
    if network.cut is not network:
        plain = not network.layers or any(layer.every is not None for layer in network.layers)
        found = network.cut if plain else simplify_levels(network)
        return simplify(found) if found.cut is found else found
    network = _unrolled(network)
    wires = _of_encoder(network)
    layers: list[_Simple] = []
    for layer in network.layers:
        assert isinstance(layer, DenseLayer | LevelLayer)
        tops = layer.tops if isinstance(layer, LevelLayer) else None
        weights, shift = wires.rewire(layer.weights)
        sizes = _sizes(weights, tops)
        # the test s >= 2 tau - size stays the same, and both are even
        tau = layer.tau - (layer.sizes + shift - sizes) // 2
        rows, tau, wires = _canonical(weights, tau, sizes)
        layers.append(DenseLayer(rows, tau) if tops is None else LevelLayer(rows, tau, tops))
    votes, shift = wires.rewire(network.head.weights)
    bias = [
        b + scale * int(extra)
        for b, scale, extra in zip(network.head.bias, network.head.scale, shift, strict=True)
    ]
    layers, votes = _drop_unread(layers, votes)
    if not layers and network.layers:
        votes = np.zeros((network.head.outputs, network.encoder.width), np.int64)
    encoder, layers, votes = _drop_inputs(network.encoder, layers, votes)
    head = Head(votes, bias, network.head.scale)
    known = (network.notes, network.source, network.domain)
    return Network(encoder, layers, head, network.classes, *known)


def _unrolled(network: Network) -> Network:
    """Convolutions and pooling as neurons; a dense layer over levels stays one."""
    if all(isinstance(layer, DenseLayer | LevelLayer) for layer in network.layers):
        return network
    return replace(
        network,
        layers=tuple(
            layer if isinstance(layer, LevelLayer) else layer.unrolled() for layer in network.layers
        ),
    )


@dataclass(frozen=True)
class _Wires:
    """What became of a layer's outputs: each is a constant,
    or plus or minus one of the outputs that are kept.
    """

    constant: Ints
    """+1 or -1 where the output never changes, else 0."""
    source: npt.NDArray[np.intp]
    """Which kept output it is; without meaning for constants."""
    sign: Ints
    kept: int

    def rewire(self, weights: Ints) -> tuple[Ints, Ints]:
        """Weights over the kept outputs, and what the constants add to the bipolar sum of each row."""
        moved = np.zeros((self.kept, len(weights)), np.int64)
        alive = self.constant == 0
        np.add.at(moved, self.source[alive], (weights * self.sign)[:, alive].T)
        return np.ascontiguousarray(moved.T), np.asarray(weights @ self.constant)


def _of_encoder(network: Network) -> _Wires:
    """Bits that no raw value can change are constants; levels are left as they are."""
    encoder = network.encoder
    if network.layers and isinstance(network.layers[0], LevelLayer):
        n = encoder.features
        return _Wires(np.zeros(n, np.int64), np.arange(n), np.ones(n, np.int64), n)
    patterns = []
    for coding in encoder.codings:
        seen = np.array([coding.bits(state) for state in range(coding.states) if coding.reachable(state)])
        patterns.append(np.where(seen.all(axis=0), 1, np.where(seen.any(axis=0), 0, -1)))
    constant = np.concatenate([*patterns, np.zeros(0, np.int64)]).astype(np.int64)
    n = encoder.width
    return _Wires(constant, np.arange(n), np.ones(n, np.int64), n)


def _sizes(weights: Ints, tops: Ints | None) -> Ints:
    return np.asarray(np.abs(weights).sum(axis=1) if tops is None else np.abs(weights) @ tops)


def _canonical(weights: Ints, tau: Ints, sizes: Ints) -> tuple[Ints, Ints, _Wires]:
    """Bring neurons to lowest terms and one sign, merge equal ones, put them in order."""
    count = len(weights)
    constant = np.where(tau <= 0, 1, np.where(tau > sizes, -1, 0)).astype(np.int64)
    sign, keys = np.ones(count, np.int64), [((), 0)] * count
    for j in np.flatnonzero(constant == 0).tolist():
        divisor = int(np.gcd.reduce(weights[j]))
        row, least, size = weights[j] // divisor, -(-int(tau[j]) // divisor), int(sizes[j]) // divisor
        if row[np.flatnonzero(row)[0]] < 0:
            row, least, sign[j] = -row, size - least + 1, -1
        keys[j] = (tuple(row.tolist()), least)
    kept = sorted({key for key, fixed in zip(keys, constant, strict=True) if not fixed})
    place = {key: number for number, key in enumerate(kept)}
    source = np.array([place.get(key, 0) for key in keys], dtype=np.intp)
    rows = np.array([row for row, _ in kept], np.int64).reshape(len(kept), weights.shape[1])
    return rows, np.array([least for _, least in kept], np.int64), _Wires(constant, source, sign, len(kept))


def _drop_unread(layers: list[_Simple], votes: Ints) -> tuple[list[_Simple], Ints]:
    """From the head backwards, drop neurons whose output has no weight;
    nothing is left when a layer has none.
    """
    kept: list[_Simple] = []
    reader = votes
    for layer in reversed(layers):
        read = reader.any(axis=0)
        reader = reader[:, read]
        if kept:
            kept[-1] = DenseLayer(reader, kept[-1].tau)
        else:
            votes = reader
        weights, tau = layer.weights[read], layer.tau[read]
        kept.append(
            LevelLayer(weights, tau, layer.tops)
            if isinstance(layer, LevelLayer)
            else DenseLayer(weights, tau)
        )
        reader = weights
    kept.reverse()
    return ([], votes) if any(not layer.outputs for layer in kept) else (kept, votes)


def _drop_inputs(encoder: Encoder, layers: list[_Simple], votes: Ints) -> tuple[Encoder, list[_Simple], Ints]:
    """Drop the cuts of the encoder that nobody reads; a level feature goes as a whole,
    a category stays as it is.
    """
    reader = layers[0].weights if layers else votes
    used: Bits = np.asarray(reader.any(axis=0))
    codings: list[Coding] = []
    if layers and isinstance(layers[0], LevelLayer):
        codings = [
            coding if alive or not isinstance(coding, Steps) else replace(coding, cuts=())
            for coding, alive in zip(encoder.codings, used.tolist(), strict=True)
        ]
        tops = np.where(used, layers[0].tops, 0)
        return (
            Encoder(codings, encoder.names, encoder.shape, encoder.seen),
            [LevelLayer(reader, layers[0].tau, tops), *layers[1:]],
            votes,
        )
    for feature, coding in enumerate(encoder.codings):
        group = encoder.group(feature)
        if isinstance(coding, Steps):
            cuts = tuple(
                cut for cut, alive in zip(coding.cuts, used[group.start : group.stop], strict=True) if alive
            )
            coding = replace(coding, cuts=cuts)
        else:
            used[group.start : group.stop] = True
        codings.append(coding)
    if layers:
        layers = [DenseLayer(reader[:, used], layers[0].tau), *layers[1:]]
    else:
        votes = votes[:, used]
    return Encoder(codings, encoder.names, encoder.shape, encoder.seen), layers, votes
