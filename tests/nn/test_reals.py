"""First layers over real numbers: floats as the exact numbers that they are, boxes of them, files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.form import read_certificate
from sugenet.errors import EncodingError, NetworkError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, Real, RealLayer, Window, summary
from sugenet.nn.boxed import in_box
from sugenet.nn.conv import ConvLayer
from sugenet.web import payload
from tests.thinned import examples


def slowly(layer, x):
    """Activity by the definition: fractions, neuron by neuron."""
    found = []
    for (places, weights), (_, high) in zip(layer.reads(), layer.theta, strict=True):
        total = sum((int(w) * Fraction(x[i]) for i, w in zip(places, weights, strict=True)), Fraction(0))
        found.append(total >= high)
    return found


def convolution(rng, bits=3):
    window = Window((2, 3, 3), 2, pads=(1, 0, 0, 1))
    kernel = rng.integers(-(1 << bits), 1 << bits, (4, 1, 2, 2))
    free = RealLayer(kernel, [0] * (4 * len(window.taps)), window, groups=2)
    return free, 18


def dense(rng, bits=3, features=6):
    return RealLayer(rng.integers(-(1 << bits), 1 << bits, (5, features)), [0] * 5), features


numbers = (
    st.floats(-1e6, 1e6) | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float)
)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 10**6),
    st.lists(numbers, min_size=6, max_size=6),
    st.sampled_from([1, 20, 53, 55]),
    st.integers(-2, 2),
)
def test_floats_are_the_numbers_that_they_are(seed, x, bits, ulps):
    """Thresholds at the exact sum, and a hair beside: whatever the size of the numbers."""
    free, _ = dense(np.random.default_rng(seed), bits)
    sums = free.sums(x)
    layer = RealLayer(free.weights, [s + ulps * (abs(s) + 1) / 2**60 for s in sums])
    assert layer.activity(np.array([x])).tolist() == [slowly(layer, x)] == [[ulps <= 0] * 5]
    exact = np.array([[Fraction(v) + Fraction(1, 3) for v in x]], object)
    assert layer.activity(exact).tolist() == [slowly(layer, exact[0])]


@pytest.mark.parametrize("features", [1, 63, 64, 65])
def test_many_samples(features):
    rng = np.random.default_rng(features)
    free, _ = dense(rng, 8, features)
    X = np.round(rng.normal(size=(40, features)), 1)
    layer = RealLayer(free.weights, free.sums(X[0].tolist()))
    assert layer.activity(X).tolist() == [slowly(layer, x) for x in X.tolist()]
    assert layer.activity(X.astype(np.float32)).tolist() == [
        slowly(layer, x) for x in X.astype(np.float32).tolist()
    ]


def test_convolutions_leave_padding_out():
    rng = np.random.default_rng(0)
    free, features = convolution(rng)
    X = np.round(rng.normal(size=(12, features)), 1)
    layer = RealLayer(free.weights, free.sums(X[0].tolist()), free.window, 2)
    assert layer.activity(X).tolist() == [slowly(layer, x) for x in X.tolist()]
    # and as a convolution of integers has it
    W = rng.integers(0, 4, (9, features))
    plain = ConvLayer(free.weights, np.zeros(4, int), free.window, 2, top=3)
    sums = plain.match_counts(W) + plain.lowest
    assert [layer.sums(w) for w in W.tolist()] == sums.tolist()


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 10**6), st.sampled_from([2, 30, 54]), st.booleans())
def test_a_layer_over_a_box_is_the_layer_there(seed, bits, maps):
    """Short weights exactly; long ones within thresholds that are as much further apart."""
    rng = np.random.default_rng(seed)
    free, features = convolution(rng, bits) if maps else dense(rng, bits)
    size = 10.0 ** rng.integers(-3, 7)
    low = [Fraction(v) for v in (rng.normal(size=features) * size).tolist()]
    high = [v + Fraction(w) for v, w in zip(low, (rng.random(features) * size).tolist(), strict=True)]
    points = [
        [
            a + (b - a) * Fraction(int(k), 7)
            for a, b, k in zip(low, high, rng.integers(0, 8, features), strict=True)
        ]
        for _ in range(6)
    ]
    layer = RealLayer(free.weights, free.sums(points[0]), free.window, free.groups)
    placed = layer.placed(low, high)
    over = RealLayer(placed.layer.weights, placed.theta, free.window, free.groups)
    doubtful = 0
    for point in points:
        levels = placed.levels(point)
        assert placed.raw(levels) == point
        assert all(0 <= level <= 1 << 12 for level in levels)
        for s, (first, last), on in zip(over.sums(levels), over.theta, slowly(layer, point), strict=True):
            assert on if s >= last else not on if s < first else True
            doubtful += first <= s < last
    assert doubtful == 0 or bits > 30


def test_values_are_checked():
    network = Network(Encoder.of_reals(2, -1, 1), [RealLayer([[1, 1]], [0])], Head([[1], [-1]]))
    for x, words in (([0.5, 1.5], "must be a finite number from -1 to 1"), ([0.5, np.nan], "must be")):
        with pytest.raises(EncodingError, match=words):
            network.predict([x])
    free = Network(Encoder.of_reals(1), [RealLayer([[1]], [2**70])], Head([[1], [-1]]))
    with pytest.raises(EncodingError, match="must be a finite number"):
        free.predict([[np.inf]])
    assert free.predict(np.array([[2**70], [2**70 - 1], [Fraction(2**71, 2)]], object)).tolist() == [0, 1, 0]
    with pytest.raises(NetworkError, match="go together"):
        Network(Encoder.of_reals(2), [DenseLayer(np.zeros((1, 0), int), [1])], Head([[1], [-1]]))
    with pytest.raises(NetworkError, match="go together"):
        Network(Encoder.of_bits(2), [RealLayer([[1, 1]], [0])], Head([[1], [-1]]))
    with pytest.raises(NetworkError, match=r"weights must stay below 2\^56"):
        RealLayer([[1 << 56]], [0])
    with pytest.raises(NetworkError, match="2 values of theta, but there are 1 neurons"):
        RealLayer([[1]], [0, 1])
    with pytest.raises(EncodingError, match="Laws and thresholds require integers"):
        Real((1.0,))


def sample_network(rng, *, maps=False):
    free, features = convolution(rng) if maps else dense(rng)
    x = rng.normal(size=features) * 10.0 ** rng.integers(-1, 4)
    theta = [s + (abs(s) + 1) * Fraction(float(rng.normal() * 0.2)) for s in free.sums(x.tolist())]
    layer = RealLayer(free.weights, theta, free.window, free.groups)
    behind = DenseLayer(rng.choice([-1, 1], (5, layer.outputs)), rng.integers(1, layer.outputs, 5))
    head = Head(rng.choice([-1, 1], (3, 5)), [Fraction(int(v), 3) for v in rng.integers(-2, 3, 3)])
    return Network(Encoder.of_reals(features), [layer, behind], head), x


@pytest.mark.parametrize("maps", [False, True])
def test_files_traces_and_tables(maps, tmp_path):
    network, x = sample_network(np.random.default_rng(2), maps=maps)
    sg.save(network, tmp_path / "net.sugenet")
    again = sg.load(tmp_path / "net.sugenet")
    assert again == network
    assert again.fingerprint == network.fingerprint
    trace = network.trace(x)
    assert trace.layers[0].active.tolist() == slowly(network.layers[0], x)
    assert "of real numbers in fractions equal the activity" in trace.prove()
    assert "over real numbers active" in str(trace)
    assert "1 reals" in str(summary(network))
    sg.write_onnx(network, tmp_path / "net.onnx")
    assert sg.read_onnx(tmp_path / "net.onnx") == network
    with pytest.raises(NetworkError, match="the explorer cannot show this network"):
        payload(network, title="reals")
    with pytest.raises(QuestionError, match="no literals"):
        network.neuron(1, 1)


def holds_throughout(network, certificate, rng, count):
    """Whether no sampled point of the box meets the condition, by the definition."""
    (case,) = read_certificate(certificate, form_of(network)).question.cases
    ends = list(zip(case.lower, case.upper, strict=True))
    for _ in range(count):
        point = [low + (high - low) * Fraction(int(rng.choice([0, 1, 3, 5, 8])), 8) for low, high in ends]
        (scores,) = network.head.scores(network.match_counts(np.array([point], object), engine="definition"))
        if any(
            all(sum(f * scores[k] for k, f in terms) >= bound for terms, bound in way)
            for way in case.condition
        ):
            return False
    return True


@pytest.mark.parametrize("seed", range(12))
def test_boxes_are_decided_and_their_certificates_hold(seed):
    rng = np.random.default_rng(seed)
    network, x = sample_network(rng, maps=seed % 3 == 2)
    radius = Fraction(float(np.abs(x).max())) * Fraction(
        int(rng.integers(1, 30)), 300 if seed % 3 == 2 else 100
    )
    limits = {k: (float(x[k]) - float(radius), float(x[k]) + 0.5) for k in range(len(x))}
    question = [
        sg.Robust(x, sg.Linf(radius)),
        sg.Robust(x, sg.Box({0: limits[0]}), ties="against"),
        sg.Robust(x, sg.Linf(radius / 4), target=(int(network.predict([x])[0]) + 1) % 3),
        sg.Never(int(rng.integers(3)), limits),
        sg.Always(int(network.predict([x])[0]), limits),
    ][seed % 5]
    answer = sg.verify(network, question)
    said = sg.check(answer.certificate, network)
    assert said
    if isinstance(answer, sg.reason.Proved):
        assert holds_throughout(network, answer.certificate, rng, 60)
    else:
        assert isinstance(answer, sg.reason.Refuted)
        label = network.classes[int(network.predict(np.array([answer.witness], object))[0])]
        assert answer.labels == (label,)
        forged = {**answer.certificate, "witness": [float(v) for v in x]}
        if not isinstance(question, sg.Never | sg.Always):
            with pytest.raises(sg.errors.CertificateError):
                sg.check(forged, network)


def test_boxes_outside_the_domain_are_refused():
    layer = RealLayer([[1, 1]], [0])
    network = Network(Encoder.of_reals(2, -1, 1), [layer], Head([[1], [-1]]))
    assert in_box(network, [Fraction(-2), Fraction(0)], [Fraction(0), Fraction(0)]) is None
    answer = sg.verify(network, sg.Robust([0.5, 0.9], sg.Linf(0.25)))  # cut to what can occur
    assert isinstance(answer, sg.reason.Proved)
    case = read_certificate(answer.certificate, form_of(network)).question.cases[0]
    assert case.upper == (Fraction(3, 4), Fraction(1))
    with pytest.raises(QuestionError, match="limited to single values"):
        sg.verify(network, sg.Always(0, {0: {0.5, 0.25}}))
    with pytest.raises(QuestionError, match="outside the box"):
        sg.verify(network, sg.Robust([0.5, 0.9], sg.Box({0: (0.6, 0.7)})))
    with pytest.raises(QuestionError, match="not a box of real inputs"):
        sg.verify(network, sg.Robust([0.5, 0.9], sg.L1(1)))


def test_ties_go_to_the_lowest_class():
    """Scores h and 2 h + 1 of one neuron h: a tie where it is off."""
    layer, box = RealLayer([[1]], [0]), {0: (-1, 3)}
    first, last = (
        Network(Encoder.of_reals(1), [layer], Head([[1], [1]], *both))
        for both in (([1, 0], [2, 1]), ([0, 1], [1, 2]))
    )

    def holds(network, question):
        answer = sg.verify(network, question)
        sg.check(answer.certificate, network)
        return isinstance(answer, sg.reason.Proved)

    assert first.predict([[1.0], [-0.5]]).tolist() == [0, 0]
    assert last.predict([[1.0], [-0.5]]).tolist() == [1, 0]
    assert holds(first, sg.Robust([1.0], sg.Linf(2)))
    assert not holds(first, sg.Robust([1.0], sg.Linf(2), ties="against"))
    assert holds(first, sg.Always(0, box))
    assert holds(first, sg.Never(1, box))
    assert not holds(last, sg.Robust([1.0], sg.Linf(2)))
    assert not holds(last, sg.Never(0, box))
    assert holds(last, sg.Never(0, {0: (0, 3)}))
    assert not holds(last, sg.Always(1, box))
