"""Simplification: propagate constants, merge equal or opposite neurons, and drop unread neurons, without
changing the function.

Each neuron is brought to lowest terms: thresholds that are always or never reached are dropped, weights are
divided by their common divisor, and the first weight is made positive. Equal neurons are merged and their
weights added, so weights larger than 1 can arise. A reader of a neuron's level or bit then reads
``offset + sign * level`` of the neuron that is left. Neurons are sorted, so networks that differ only in
these respects become equal.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sugenet.nn.arrays import Ints
from sugenet.nn.codings import Coding, Steps
from sugenet.nn.encoder import Encoder
from sugenet.nn.head import Head
from sugenet.nn.layers import Layer, QuantizedLayer, dense_layer
from sugenet.nn.network import Network
from sugenet.nn.neuron import NEVER

__all__ = ["drop_unread", "simplify"]


def simplify(network: Network) -> Network:
    """Return a network that computes the same scores, without irrelevant parts.

    Raw features stay, in their order, so samples need no change; no bit reads a feature that no longer
    matters. Marks that folding left for `summary` are dropped. Convolutions and pooling are unrolled first.
    Staircases stay, unless levels are pooled; then they are cut into bits.

    Parameters
    ----------
    network : Network
        The network to simplify.

    Returns
    -------
    Network
        The smaller network, with the same classes, notes, source and domain.

    Raises
    ------
    NetworkError
        If the first layer reads real numbers.
    TooLargeError
        If unrolled convolutions are too large.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> weights = [[1, 1, 0], [-1, -1, 0], [1, 1, 0], [0, 0, 1]]
    >>> layer = DenseLayer(weights, tau=[1, 2, 1, 0])  # 2 is the opposite of 1, 4 constant
    >>> net = simplify(Network.of_bits([layer], Head([[1, 1, 1, 1], [1, -1, 1, 1]])))
    >>> net.layers[0].weights.tolist(), net.head.weights.tolist(), [int(b) for b in net.head.bias]
    ([[1, 1]], [[1], [3]], [1, 1])

    See Also
    --------
    summary : describes a network, layer by layer.
    Agree : claim that two networks agree.
    """
    network = _unrolled(network)
    encoder, head, wires = network.encoder, network.head, _of_encoder(network)
    tops = np.array(encoder.tops) if network.reads_levels else np.ones(encoder.width, np.int64)
    layers: list[_Neurons] = []
    for layer in network.layers:
        steps = [
            [tau + low for tau in taus if layer.is_binary or tau != NEVER]
            for taus, low in zip(layer.thresholds.tolist(), layer.lowest.tolist(), strict=True)
        ]
        neurons, wires = _canonical(*wires.rewire(layer.weights), steps, tops)
        layers.append(neurons)
        tops = np.full(len(neurons.rows), neurons.height)
    votes, shift = wires.rewire(head.weights)
    layers, votes = _drop_unread(layers, votes)
    if not layers and network.layers:
        votes = np.zeros((head.outputs, encoder.width), np.int64)
    first, on_levels = layers[0].rows if layers else votes, network.reads_levels and bool(layers)
    encoder, read = drop_unread(encoder, np.asarray(first.any(axis=0)), on_levels=on_levels)
    first, tops = (
        (first, np.array(encoder.tops)) if on_levels else (first[:, read], np.ones(len(read), np.int64))
    )
    votes = votes if layers else first
    made: list[Layer] = []
    for neurons in layers:
        from_levels = not made[-1].is_binary if made else network.reads_levels
        made.append(_layer(replace(neurons, rows=neurons.rows if made else first), tops, from_levels))
        tops = np.full(made[-1].outputs, made[-1].height)
    # a score is scale * (2 * sum of w a - sum of w t) + bias, before and after
    full = votes @ (tops if made else np.ones(votes.shape[1], np.int64))
    moved = (2 * shift - head.weights @ head.input_tops + full).tolist()
    bias = [b + scale * more for b, scale, more in zip(head.bias, head.scale, moved, strict=True)]
    last = Head(votes, bias, head.scale, None if not made or made[-1].is_binary else tops)
    return Network(encoder, made, last, network.classes, network.notes, network.source, network.domain)


def _unrolled(network: Network) -> Network:
    """Return the network with convolutions and pooling as neurons; dense layers over levels stay."""
    if not network.layers or any(layer.every is not None for layer in network.layers):
        network = network.expanded
    if all(layer.kind == "dense" for layer in network.layers):
        return network
    dense = (
        layer.dense() if layer.kind == "dense" or network.has_levels else layer.unrolled()
        for layer in network.layers
    )
    return replace(network, layers=tuple(dense))


@dataclass(frozen=True)
class _Neurons:
    """A layer as rows over the remaining outputs of the layer before, with rising steps of their plain
    sums.
    """

    rows: Ints
    steps: tuple[tuple[int, ...], ...]

    @property
    def height(self) -> int:
        return max(map(len, self.steps), default=0)


@dataclass(frozen=True)
class _Wires:
    """New form of a layer's outputs: each is ``offset + sign * level`` of an output that is kept."""

    offset: Ints
    sign: Ints
    """0 if the output is constant."""
    source: npt.NDArray[np.intp]
    """Index of the kept output; meaningless for constants."""
    kept: int

    def rewire(self, weights: Ints) -> tuple[Ints, Ints]:
        """Return weights over the kept outputs, and the constant added to the sum of each row."""
        moved = np.zeros((self.kept, len(weights)), np.int64)
        alive = self.sign != 0
        np.add.at(moved, self.source[alive], (weights * self.sign)[:, alive].T)
        return np.ascontiguousarray(moved.T), np.asarray(weights @ self.offset)


def _of_encoder(network: Network) -> _Wires:
    """Return the wires of the encoder: bits that no raw value can change are constants; levels stay."""
    encoder = network.encoder
    if network.reads_levels:
        n = encoder.features
        return _Wires(np.zeros(n, np.int64), np.ones(n, np.int64), np.arange(n), n)
    always, sometimes = [], []
    for coding in encoder.codings:
        seen = np.array([coding.bits(state) for state in range(coding.states) if coding.reachable(state)])
        always.append(seen.all(axis=0))
        sometimes.append(seen.any(axis=0))
    offset = np.concatenate([*always, np.zeros(0, bool)]).astype(np.int64)
    sign = np.concatenate([*sometimes, np.zeros(0, bool)]).astype(np.int64) - offset
    return _Wires(offset, sign, np.arange(encoder.width), encoder.width)


def _canonical(rows: Ints, shift: Ints, steps: list[list[int]], tops: Ints) -> tuple[_Neurons, _Wires]:
    """Bring neurons to lowest terms and one sign, merge equal ones, and sort them."""
    count = len(rows)
    low, high = (np.minimum(rows, 0) @ tops).tolist(), (np.maximum(rows, 0) @ tops).tolist()
    offset, sign = np.zeros(count, np.int64), np.zeros(count, np.int64)
    keys: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ())] * count
    for j, (neuron_steps, moved) in enumerate(zip(steps, shift.tolist(), strict=True)):
        left = [t - moved for t in neuron_steps if low[j] < t - moved <= high[j]]
        offset[j] = sum(t - moved <= low[j] for t in neuron_steps)
        if not left:
            continue
        divisor = int(np.gcd.reduce(rows[j]))
        row, left = rows[j] // divisor, [-(-t // divisor) for t in left]
        sign[j] = 1
        if row[np.flatnonzero(row)[0]] < 0:  # the level counts the steps that the negated sum misses
            row, left, sign[j] = -row, [1 - t for t in reversed(left)], -1
            offset[j] += len(left)
        keys[j] = tuple(row.tolist()), tuple(left)
    kept = sorted({key for key, alive in zip(keys, sign, strict=True) if alive})
    number = {key: index for index, key in enumerate(kept)}
    source = np.array([number.get(key, 0) for key in keys], dtype=np.intp)
    weights = np.array([row for row, _ in kept], np.int64).reshape(len(kept), rows.shape[1])
    return _Neurons(weights, tuple(kept_steps for _, kept_steps in kept)), _Wires(
        offset, sign, source, len(kept)
    )


def _drop_unread(layers: list[_Neurons], votes: Ints) -> tuple[list[_Neurons], Ints]:
    """Drop neurons whose output has no weight, from the head backwards; if a layer has none left, all are
    dropped.
    """
    kept: list[_Neurons] = []
    reader = votes
    for layer in reversed(layers):
        read = reader.any(axis=0)
        reader = reader[:, read]
        if kept:
            kept[-1] = replace(kept[-1], rows=reader)
        else:
            votes = reader
        reader = layer.rows[read]
        kept.append(_Neurons(reader, tuple(layer.steps[j] for j in np.flatnonzero(read))))
    kept.reverse()
    return ([], votes) if any(not len(layer.rows) for layer in kept) else (kept, votes)


def drop_unread(
    encoder: Encoder, read: npt.NDArray[np.bool_], *, on_levels: bool = False
) -> tuple[Encoder, npt.NDArray[np.intp]]:
    """Return the encoder without unread cuts, and the indices of the inputs that stay.

    A level feature is dropped as a whole; a category stays.
    """
    used = read.copy()
    codings: list[Coding] = []
    for feature, known in enumerate(encoder.codings):
        coding: Coding = known
        group = range(feature, feature + 1) if on_levels else encoder.group(feature)
        alive = used[group.start : group.stop]
        if not isinstance(coding, Steps):
            alive[:] = True
        elif on_levels:
            coding = coding if alive[0] else replace(coding, cuts=())
        else:
            coding = replace(
                coding, cuts=tuple(c for c, kept in zip(coding.cuts, alive, strict=True) if kept)
            )
        codings.append(coding)
    return replace(encoder, codings=tuple(codings)), np.flatnonzero(used)


def _layer(neurons: _Neurons, tops: Ints, from_levels: bool) -> Layer:
    if neurons.height > 1:
        steps = [
            [*neuron_steps, *[1 << 62] * (neurons.height - len(neuron_steps))]
            for neuron_steps in neurons.steps
        ]
        return QuantizedLayer.from_sums(neurons.rows, steps, tops)
    tau = (
        np.array([neuron_steps[0] for neuron_steps in neurons.steps], np.int64)
        - np.minimum(neurons.rows, 0) @ tops
    )
    return dense_layer(neurons.rows, tau, tops if from_levels else None)
