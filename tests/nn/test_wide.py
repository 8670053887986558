"""First layers with sums beyond 31 bits: parts in floats, ONNX, files, and every question against brute
force.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import NetworkError
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, LevelLayer, Network, Window, integer
from sugenet.nn.packed import Wide, parts_of
from sugenet.web import payload
from tests.fuzzing.forgeries import real
from tests.fuzzing.truth import Truth, is_true
from tests.problem.levels import every_input
from tests.thinned import examples


def wide_dense(rng, bits, outputs=4):
    """Small levels, weights of so many bits, thresholds at sums that occur."""
    encoder = Encoder([integer(0, 3), integer(-1, 1), integer(0, 1), integer(0, 2)])
    weights = rng.integers(-(1 << bits), (1 << bits) + 1, (outputs, 4)) * (rng.random((outputs, 4)) > 0.2)
    free = LevelLayer(weights, np.zeros(outputs, int), encoder.tops)
    counts = free.match_counts(rng.integers(0, np.array(encoder.tops) + 1, (outputs, 4)))
    return encoder, LevelLayer(weights, np.diag(counts), encoder.tops)


def wide_conv(rng, bits):
    encoder, window = Encoder.of_integers(4, 0, 2), Window((1, 2, 2), 2, pads=(1, 0, 0, 0))
    kernel = rng.integers(-(1 << bits), (1 << bits) + 1, (2, 1, 2, 2))
    free = ConvLayer(kernel, [0, 0], window, top=2)
    tau = np.diag(free.match_counts(rng.integers(0, 3, (free.outputs, 4)))).reshape(free.output_shape)
    return encoder, ConvLayer(kernel, tau, window, top=2)


def lively(rng, make, bits):
    while True:
        encoder, first = make(rng, bits)
        behind = DenseLayer(rng.integers(-1, 2, (3, first.outputs)), rng.integers(0, 4, 3))
        network = Network(encoder, [first, behind], Head(rng.choice([-1, 1], (3, 3)), rng.integers(-2, 3, 3)))
        if len(set(network.predict(every_input(network), engine="definition").tolist())) > 1:
            return network


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 10**6), st.sampled_from([1, 20, 31, 43, 45, 50]), st.sampled_from([1, 7, 63, 64, 65]))
def test_sums_in_parts_are_the_definition(seed, bits, features):
    rng = np.random.default_rng(seed)
    top = 3
    weights = rng.integers(-(1 << min(bits, 47)), 1 << min(bits, 47), (5, features))
    total = sum(part.astype(np.int64) << shift for shift, part in parts_of(weights, top))
    assert np.array_equal(total, weights)
    levels = rng.integers(0, top + 1, (9, features))
    free = LevelLayer(weights, np.zeros(5, int), [top] * features)
    layer = LevelLayer(weights, free.match_counts(levels[:1])[0], [top] * features)
    assert np.array_equal(Wide(layer).bits(levels), layer.activity(levels))
    window = Window((1, 1, features), (1, min(2, features)), pads=(0, 1, 0, 0))
    kernel = rng.integers(-(1 << 50), 1 << 50, (3, 1, 1, min(2, features)))
    free_conv = ConvLayer(kernel, np.zeros(3, int), window, top=top)
    tau = free_conv.match_counts(levels[:1])[0].reshape(free_conv.output_shape)
    conv = ConvLayer(kernel, tau, window, top=top)
    assert np.array_equal(Wide(conv).bits(levels), conv.activity(levels))


def test_limits_are_said():
    with pytest.raises(NetworkError, match=r"match counts must stay below 2\^56"):
        LevelLayer([[1 << 55, 1]], [1], [2, 1])
    with pytest.raises(NetworkError, match=r"match counts must stay below 2\^31"):
        DenseLayer([[1 << 31]], [1])
    LevelLayer([[(1 << 55) - 1, 0]], [1], [2, 1])
    window = Window((1, 1, 2), (1, 2))
    with pytest.raises(NetworkError, match=r"below 2\^56"):
        ConvLayer([[[[1 << 55, 0]]]], [1], window, top=2)
    with pytest.raises(NetworkError, match=r"below 2\^31"):
        ConvLayer([[[[1 << 31, 0]]]], [1], window)


@pytest.mark.parametrize("make", [wide_dense, wide_conv])
@pytest.mark.parametrize("bits", [24, 40, 51])
def test_as_onnx_and_in_files(make, bits, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    network = lively(np.random.default_rng(bits), make, bits)
    X = every_input(network).astype(np.int64)
    sg.write_onnx(network, tmp_path / "net.onnx", hidden=True)
    session = runtime.InferenceSession(tmp_path / "net.onnx")
    found = dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {"x": X.astype(float)}), strict=True)
    )
    assert np.array_equal(found["hidden_1"], network.hidden(X)[0])
    assert np.array_equal(found["class"], network.predict(X, engine="definition"))
    assert np.array_equal(network.predict(X), found["class"])
    sg.save(network, tmp_path / "net.sugenet")
    assert sg.load(tmp_path / "net.sugenet") == network
    if network.layers[0].sizes.max() >= 1 << 31:
        with pytest.raises(NetworkError, match=r"the explorer cannot show.*sugenet verify"):
            payload(network, title="wide")


def test_a_trace_proves_itself():
    network = lively(np.random.default_rng(1), wide_dense, 45)
    assert "4 Sugeno integrals" in network.trace([1, 0, 1, 2]).prove()


@pytest.mark.slow
@pytest.mark.parametrize("make", [wide_dense, wide_conv])
@pytest.mark.parametrize("seed", range(8))
def test_every_question_against_brute_force(make, seed):
    """All kinds of questions and their certificates; engines that cannot hold the sums say so and others
    answer.
    """
    rng = np.random.default_rng(seed)
    network = lively(rng, make, (33, 45, 51)[seed % 3])
    other = Network(network.encoder, (), Head(rng.integers(-1, 2, (3, network.encoder.width))))
    assert network.predict(every_input(network)).tolist() == [
        Truth(network).label(x) for x in every_input(network).tolist()
    ]
    for certificate in real(network, other, rng):
        spelled = json.loads(json.dumps(certificate))
        assert is_true(spelled, network, other)
        sg.check(spelled, network, other)
        sg.check(spelled, network, other, plain=True)
