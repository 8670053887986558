"""Convolutions and pooling against plain loops over taps, against unrolled neurons,
and folding against real arithmetic.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.errors import NetworkError
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    Network,
    PoolLayer,
    Window,
    fold_conv,
    simplify,
    summary,
)
from sugenet.nn.folding import sign_of_affine
from tests.thinned import examples


@st.composite
def windows(draw, channels=None):
    c = draw(st.integers(1, 3)) if channels is None else channels
    kernel = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    dilation = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    pads = draw(st.tuples(*[st.integers(0, 2)] * 4))
    least = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    height, width = (
        draw(st.integers(max(1, need - before - after), 4 + need))
        for need, before, after in zip(least, pads[:2], pads[2:], strict=True)
    )
    return Window(
        (c, height, width), kernel, draw(st.tuples(st.integers(1, 2), st.integers(1, 2))), dilation, pads
    )


def taps_by_hand(window, y, x):
    """Yield (tap row, tap column, pixel row, pixel column) of the taps at an output position;
    pixel None on padding.
    """
    _, height, width = window.shape
    for i, j in product(range(window.kernel[0]), range(window.kernel[1])):
        row = y * window.stride[0] - window.pads[0] + i * window.dilation[0]
        column = x * window.stride[1] - window.pads[1] + j * window.dilation[1]
        yield i, j, (row, column) if 0 <= row < height and 0 <= column < width else None


def sums_by_hand(weights, window, groups, values, fill):
    """A convolution, written out."""
    outputs = np.zeros((len(weights), *window.positions), dtype=object)
    per_in, per_out = window.shape[0] // groups, len(weights) // groups
    for o, y, x in product(range(len(weights)), *map(range, window.positions)):
        for i, j, pixel in taps_by_hand(window, y, x):
            for c in range(per_in):
                value = fill if pixel is None else values[o // per_out * per_in + c, pixel[0], pixel[1]]
                outputs[o, y, x] += int(weights[o, c, i, j]) * value
    return outputs


@settings(max_examples=examples(60))
@given(st.data())
def test_match_counts_are_those_of_the_taps_inside(data):
    groups = data.draw(st.integers(1, 2))
    window = data.draw(windows(channels=groups * data.draw(st.integers(1, 2))))
    outs = groups * data.draw(st.integers(1, 2))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    weights = rng.integers(-1, 2, (outs, window.shape[0] // groups, *window.kernel))
    tau = rng.integers(-1, 8, (outs, *window.positions))
    top = data.draw(st.sampled_from([None, 1, 3]))
    layer = ConvLayer(weights, tau, window, groups, top)
    values = rng.integers(0, (top or 1) + 1, (2, window.inputs))
    inputs = values > 0 if top is None else values
    counts = layer.match_counts(inputs)
    for sample in range(2):
        maps = values[sample].reshape(window.shape)
        positive = sums_by_hand(np.maximum(weights, 0), window, groups, maps, 0)
        negative = sums_by_hand(np.maximum(-weights, 0), window, groups, (top or 1) - maps, 0)
        assert (counts[sample] == (positive + negative).reshape(-1)).all()
    dense = layer.unrolled()
    bits = inputs if top is None else np.repeat(values, top, axis=1) > np.tile(np.arange(top), window.inputs)
    assert (dense.activity(bits) == layer.activity(inputs)).all()
    assert (dense.sizes == layer.sizes).all()
    assert (dense.constant == layer.constant).all()
    j = data.draw(st.integers(1, layer.outputs))
    assert layer.neuron(j) == dense.neuron(j)


@settings(max_examples=examples(60))
@given(windows(), st.data())
def test_pooling_is_any_or_every_of_the_window(window, data):
    every = data.draw(st.lists(st.booleans(), min_size=window.shape[0], max_size=window.shape[0]))
    if (window.taps < 0).all(axis=1).any():
        with pytest.raises(NetworkError, match="lies in the padding alone"):
            PoolLayer(window, every)
        return
    layer = PoolLayer(window, every)
    bits = np.random.default_rng(0).random((3, window.inputs)) < 0.5
    found = layer.activity(bits).reshape(3, *layer.output_shape)
    for n, c, y, x in product(range(3), range(window.shape[0]), *map(range, window.positions)):
        inside = [
            bits[n].reshape(window.shape)[c][pixel]
            for _, _, pixel in taps_by_hand(window, y, x)
            if pixel is not None
        ]
        assert found[n, c, y, x] == (all(inside) if every[c] else any(inside))
    assert (layer.unrolled().activity(bits) == layer.activity(bits)).all()
    assert layer.neuron(1) == layer.unrolled().neuron(1)


@settings(max_examples=examples(60))
@given(st.data(), st.sampled_from([1, -1]), st.sampled_from([0, 1, -1]))
def test_folding_a_convolution_is_the_sign_of_the_real_one(data, zero, fill):  # docs/theory.md 4.1
    window = data.draw(windows(channels=data.draw(st.integers(1, 2))))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    weights = rng.integers(-1, 2, (2, window.shape[0], *window.kernel))
    number = st.one_of(st.integers(-2, 2), st.fractions(-2, 2, max_denominator=3))
    gamma, beta, bias = ([data.draw(number) for _ in range(2)] for _ in range(3))
    top, step, start = data.draw(st.sampled_from([(None, 1, 0), (3, Fraction(2, 3), -1), (2, 1, 0)]))
    norm = {"gamma": np.array(gamma, object), "beta": np.array(beta, object), "bias": np.array(bias, object)}
    layer = fold_conv(weights, window, fill=fill, top=top, step=step, start=start, zero=zero, var=2, **norm)
    values = rng.integers(0, (top or 1) + 1, window.inputs)
    real = np.array(
        [2 * v - 1 if top is None else start + step * int(v) for v in values.tolist()], object
    ).reshape(window.shape)
    sums = sums_by_hand(weights, window, 1, real, fill)
    found = layer.activity((values > 0 if top is None else values)[None])[0].reshape(layer.output_shape)
    for o, y, x in product(range(2), *map(range, window.positions)):
        value = sign_of_affine(
            Fraction(gamma[o]) * (Fraction(sums[o, y, x]) + Fraction(bias[o])), Fraction(beta[o]), Fraction(2)
        )
        assert found[o, y, x] == (value >= 0 if zero == 1 else value > 0)


def test_max_pooling_before_the_sign_is_any_or_every_after_it():
    rng = np.random.default_rng(0)
    window = Window((2, 6, 6), 3, pads=1)
    weights = rng.choice([-1, 1], (3, 2, 3, 3))
    gamma = np.array([1.0, -1.0, -0.5])
    beta = np.array([0.3, 0.3, -0.7])
    conv = fold_conv(weights, window, gamma=gamma, beta=beta)
    pool = PoolLayer(Window(conv.output_shape, 2, 2), every=conv.flipped)
    x = rng.random((50, 72)) < 0.5
    sums = conv_sums(weights, window, x).reshape(50, 3, 3, 2, 3, 2)
    pooled = sums.max(axis=(3, 5))
    expected = gamma[:, None, None] * pooled + beta[:, None, None] >= 0
    assert (pool.activity(conv.activity(x)).reshape(expected.shape) == expected).all()


def conv_sums(weights, window, x):
    return np.array(
        [
            sums_by_hand(weights, window, 1, np.where(row, 1, -1).reshape(window.shape), 0).astype(int)
            for row in x
        ]
    )


@pytest.mark.parametrize("levels", [False, True])
def test_a_convolutional_network_end_to_end(levels):
    rng = np.random.default_rng(3)
    encoder = Encoder.of_integers(50, 0, 3) if levels else Encoder.of_bits(50)
    window = Window((2, 5, 5), 3, pads=1)
    conv = ConvLayer(
        rng.integers(-1, 2, (4, 2, 3, 3)), rng.integers(2, 20, (4, 5, 5)), window, top=3 if levels else None
    )
    pool = PoolLayer(Window((4, 5, 5), 2, 2), [True, False, True, False])
    dense = DenseLayer(rng.choice([-1, 1], (7, 16)), rng.integers(5, 10, 7))
    network = Network(encoder, [conv, pool, dense], Head(rng.choice([-1, 1], (3, 7))))
    X = rng.integers(0, 4 if levels else 2, (40, 50))
    expected = network.match_counts(X, engine="definition")
    flat = network.unrolled()
    for other in (network, flat, simplify(network)):
        for engine in ("definition", "numpy", "numba"):
            assert (other.logits(X, engine=engine) == network.logits(X, engine="definition")).all()
    assert (flat.match_counts(X) == expected).all()
    for engine in ("definition", "numpy", "numba"):
        assert network.match_counts(X[:0], engine=engine).shape == (0, 3)
    trace = network.trace(X[0])
    assert trace.index == network.predict(X[:1])[0]
    assert "2 pool" in str(summary(network))
    assert network.fingerprint != flat.fingerprint
    assert network.neuron(2, 3).kind == "threshold"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Window((1, 2, 2), 3), r"does not fit into \(2, 2\)"),
        (lambda: Window((1, 2), 1), "shape=.* must be 3 integers"),
        (lambda: Window((1, 2, 2), 1, stride=0), "stride=0 must be 2 integers, each at least 1"),
        (
            lambda: ConvLayer(np.ones((1, 2, 1, 1)), [1], Window((1, 2, 2), 1)),
            r"kernel has shape \(1, 2, 1, 1\)",
        ),
        (
            lambda: ConvLayer(np.ones((1, 1, 1, 1)), [1, 2], Window((1, 2, 2), 1)),
            r"tau has shape \(2,\), but \(1, 2, 2\) or \(1,\)",
        ),
        (
            lambda: ConvLayer(np.ones((2, 1, 1, 1)), [1, 1], Window((3, 2, 2), 1), groups=2),
            "2 groups do not divide 3",
        ),
        (
            lambda: ConvLayer(np.ones((1, 1, 1, 1)), [1], Window((1, 1, 1), 1), top=2).activity([[3]]),
            r"level 3 of feature 0 in sample 0 is not in 0..2",
        ),
        (
            lambda: ConvLayer(np.ones((1, 1, 1, 1)), [1], Window((1, 1, 1), 1)).activity([[3]]),
            "True and False are needed",
        ),
        (lambda: ConvLayer(np.ones((1, 1, 1, 1)), [1], Window((1, 1, 1), 1)).neuron(2), "no neuron 2"),
        (lambda: PoolLayer(Window((1, 2, 2), 1)).activity([[1]]), "True and False are needed"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(NetworkError, match=message):
        call()
