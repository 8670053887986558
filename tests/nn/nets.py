"""Random networks of every kind, and their evaluation written out from the paper."""

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from sugenet.nn import DenseLayer, Encoder, Head, LevelLayer, Network, OneHot, Steps, bit, integer, threshold


def bipolars(n):
    return list(product([-1, 1], repeat=n))


@st.composite
def dense_layers(draw, n, m=None, most=1):
    m = draw(st.integers(1, 6)) if m is None else m
    weights = draw(
        st.lists(st.lists(st.integers(-most, most), min_size=n, max_size=n), min_size=m, max_size=m)
    )
    tau = draw(st.lists(st.integers(-1, n + 2), min_size=m, max_size=m))
    return DenseLayer(np.array(weights, dtype=int).reshape(m, n), tau)


codings = st.sampled_from(
    [
        bit(),
        threshold(0.5),
        threshold(3, low=0, high=7, whole=True),
        threshold(9, low=0, high=7, whole=True),  # can never be reached
        Steps((2.0, 4.0, 6.0), low=0, high=7, whole=True),
        integer(0, 3),
        OneHot(("red", "green", "blue")),
        OneHot((True, False)),
    ]
)


def raw_values(coding):
    if isinstance(coding, OneHot):
        return st.sampled_from(coding.categories)
    if coding.bipolar:
        return st.sampled_from([-1, 0, 1])
    if coding.whole:
        return st.integers(int(coding.low), int(coding.high))
    return st.floats(-2, 2)


@st.composite
def networks(draw, most=1, categories=True):
    kinds = codings if categories else codings.filter(lambda coding: isinstance(coding, Steps))
    encoder = Encoder(draw(st.lists(kinds, min_size=1, max_size=4)))
    layers = []
    width = encoder.width
    if encoder.tops is not None and draw(st.booleans()):
        weights = draw(
            st.lists(
                st.lists(st.integers(-most, most), min_size=encoder.features, max_size=encoder.features),
                min_size=1,
                max_size=5,
            )
        )
        tau = draw(st.lists(st.integers(-1, width + 1), min_size=len(weights), max_size=len(weights)))
        layers.append(LevelLayer(weights, tau, encoder.tops))
        width = layers[-1].outputs
    for _ in range(draw(st.integers(0, 2))):
        layers.append(draw(dense_layers(width, most=most)))
        width = layers[-1].outputs
    classes = draw(st.integers(1, 4))
    votes = draw(
        st.lists(
            st.lists(st.integers(-most, most), min_size=width, max_size=width),
            min_size=classes,
            max_size=classes,
        )
    )
    number = st.one_of(
        st.integers(-3, 3), st.fractions(-2, 2, max_denominator=3), st.sampled_from([0.1, 0.5, -0.3])
    )
    bias = draw(st.lists(number, min_size=classes, max_size=classes))
    scale = draw(
        st.one_of(
            st.just(1), st.lists(st.fractions(0, 2, max_denominator=3), min_size=classes, max_size=classes)
        )
    )
    return Network(encoder, layers, Head(votes, bias, scale))


def samples(network, size=8):
    row = st.tuples(*(raw_values(coding) for coding in network.encoder.codings))
    return st.lists(row, min_size=1, max_size=size)


def raw(rows):
    """Rows of mixed values as an array that keeps their types."""
    array = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        array[i] = row
    return array


def scores_by_hand(network, row):
    """The paper, line by line: encode, bipolar sums, thresholds theta = 2 tau - size, affine scores."""
    encoder = network.encoder
    states = [coding.state(value) for coding, value in zip(encoder.codings, row, strict=True)]
    bits = [
        bool(b) for coding, state in zip(encoder.codings, states, strict=True) for b in coding.bits(state)
    ]
    for layer in network.layers:
        rows = layer.weights
        if isinstance(layer, LevelLayer):
            rows = np.repeat(rows, layer.tops, axis=1)
        after = []
        for weights, tau in zip(rows.tolist(), layer.tau.tolist(), strict=True):
            s = sum(w * (1 if b else -1) for w, b in zip(weights, bits, strict=True))
            after.append(s >= 2 * tau - sum(map(abs, weights)))
        bits = after
    head = network.head
    return [
        Fraction(scale) * sum(w * (1 if b else -1) for w, b in zip(weights, bits, strict=True)) + bias
        for weights, scale, bias in zip(head.weights.tolist(), head.scale, head.bias, strict=True)
    ]
