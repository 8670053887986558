"""Networks: the definition by hand, the packed engines, PyTorch, trace, simplify, summary:
all the same function.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import EncodingError, NetworkError
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    QuantizedLayer,
    Steps,
    Window,
    integer,
    simplify,
    summary,
    threshold,
)
from sugenet.nn.arrays import integer_array
from tests.nn.evaluated import fold_by_evaluation
from tests.nn.nets import bipolars, networks, raw, samples, scores_by_hand
from tests.thinned import examples

ENGINES = ["definition", "numpy", "numba"]


@given(networks(), st.data())
def test_every_engine_gives_the_definition(network, data):
    rows = data.draw(samples(network))
    expected = [scores_by_hand(network, row) for row in rows]
    for engine in ENGINES:
        counts = network.match_counts(raw(rows), engine=engine)
        assert network.head.scores(counts).tolist() == expected
        assert network.predict(raw(rows), engine=engine).tolist() == [row.index(max(row)) for row in expected]
        assert network.logits(raw(rows), engine=engine).tolist() == [
            [float(score) for score in row] for row in expected
        ]
        for one, other in zip(
            network.hidden(raw(rows), engine=engine), network.hidden(raw(rows)), strict=True
        ):
            assert (one == other).all()
    assert network.head.tied(counts).tolist() == [row.count(max(row)) > 1 for row in expected]


@settings(max_examples=examples(40))
@given(networks(most=3), st.data())
def test_weights_that_count_more_than_once(network, data):
    rows = data.draw(samples(network))
    expected = [scores_by_hand(network, row) for row in rows]
    for engine in ENGINES:
        assert network.head.scores(network.match_counts(raw(rows), engine=engine)).tolist() == expected
        for one, other in zip(
            network.hidden(raw(rows), engine=engine), network.hidden(raw(rows)), strict=True
        ):
            assert (one == other).all()


@given(st.one_of(networks(), networks(most=2)), st.data())
def test_simplify_keeps_the_function(network, data):
    rows = data.draw(samples(network))
    slim = simplify(network)
    assert [scores_by_hand(slim, row) for row in rows] == [scores_by_hand(network, row) for row in rows]
    assert slim.encoder.names == network.encoder.names
    for layer in slim.layers:
        assert not layer.constant.any()
        assert (
            len({(tuple(w), t) for w, t in zip(layer.weights.tolist(), layer.tau.tolist(), strict=True)})
            == layer.outputs
        )
        assert layer.outputs
    assert simplify(slim) == slim
    assert slim.encoder.width <= network.encoder.width


@given(networks(), st.randoms(use_true_random=False))
def test_two_spellings_of_a_network_are_equal_after_simplify(network, random):
    layers = list(network.layers)
    head = network.head
    for place, layer in enumerate(layers):  # shuffle the neurons of each layer, negate some
        order = random.sample(range(layer.outputs), layer.outputs)
        signs = np.array([random.choice([1, -1]) for _ in order])
        weights = layer.weights[order] * signs[:, None]
        tau = np.where(signs > 0, layer.tau[order], layer.sizes[order] - layer.tau[order] + 1)
        layers[place] = (
            LevelLayer(weights, tau, layer.tops)
            if isinstance(layer, LevelLayer)
            else DenseLayer(weights, tau)
        )
        if place + 1 < len(layers):
            after = layers[place + 1]
            layers[place + 1] = DenseLayer(after.weights[:, order] * signs, after.tau)
        else:
            head = Head(head.weights[:, order] * signs, head.bias, head.scale)
    other = Network(network.encoder, layers, head)
    assert simplify(other) == simplify(network)
    assert simplify(other).fingerprint == simplify(network).fingerprint


def test_simplify_removes_what_it_should():
    layer = DenseLayer([[1, 1, 0], [1, 1, 0], [-1, -1, 0], [1, 0, 0], [1, 0, 0]], tau=[1, 1, 2, 0, 2])
    slim = simplify(Network.of_bits([layer], Head([[1, 1, 1, 1, 1]], bias=0)))
    assert slim.layers[0] == DenseLayer([[1, 1]], [1])
    assert slim.head == Head([[1]], bias=0)  # +1 from the constant on, -1 from the constant off
    assert [coding.width for coding in slim.encoder.codings] == [1, 1, 0]
    never = simplify(
        Network(Encoder([threshold(300, 0, 255, True)]), [DenseLayer([[1]], [1])], Head([[1], [-1]]))
    )
    assert never.layers == ()
    assert never.head.bias == (Fraction(-1), Fraction(1))
    assert never.predict([[7]]).tolist() == [1]


@given(networks(), st.data())
def test_trace_tells_what_happened_and_proves_it(network, data):
    row = raw(data.draw(samples(network, size=1)))
    trace = network.trace(row[0])
    assert list(trace.scores) == scores_by_hand(network, row[0])
    assert trace.index == network.predict(row)[0]
    for seen, active in zip(trace.layers, network.hidden(row), strict=True):
        assert (seen.active == active[0]).all()
        assert ((seen.slack >= 0) == seen.active).all()
    if network.encoder.width <= 12:
        assert trace.prove().count("\n") == len(network.layers)
    assert "<- predicted" in str(trace)


@pytest.mark.parametrize("n", [1, 63, 64, 65])
def test_wide_networks_agree_on_all_engines(n):
    rng = np.random.default_rng(n)
    layers = [
        DenseLayer(rng.integers(-1, 2, (65, n)), rng.integers(-1, n + 1, 65)),
        DenseLayer(rng.choice([-1, 1], (63, 65)), rng.integers(20, 45, 63)),
    ]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (10, 63)), rng.normal(size=10)))
    X = rng.random((300, n)) < 0.5
    expected = network.match_counts(X, engine="definition")
    for engine in ("numpy", "numba", "auto"):
        assert (network.match_counts(X, engine=engine) == expected).all()
        assert (network.match_counts(X[:1], engine=engine, threads=1) == expected[:1]).all()
    assert network.match_counts(X[:0]).shape == (0, 10)
    assert "sorting" in network.trace(X[0]).prove()


def test_all_small_networks_against_pytorch():
    """Exhaustive: linear, batch norm, sign, linear, for all inputs, as PyTorch computes it."""
    torch = pytest.importorskip("torch")

    for seed in range(30):
        torch.manual_seed(seed)
        n, m, k = 2 + seed % 5, 1 + seed % 4, 2 + seed % 3
        w1, w2 = (torch.randint(0, 2, shape).float() * 2 - 1 for shape in ((m, n), (k, m)))
        norm = torch.nn.BatchNorm1d(m).eval()
        with torch.no_grad():
            norm.weight.copy_(torch.randn(m))
            norm.bias.copy_(torch.randint(-2, 3, (m,)).float() / 2)
            norm.running_mean.copy_(torch.randint(-2, 3, (m,)).float())
            norm.running_var.copy_(torch.rand(m) + 0.1)
        bias = torch.randn(k)
        with torch.inference_mode():
            layer = fold_by_evaluation(
                w1.int().numpy(), lambda s, norm=norm: norm(torch.tensor(s, dtype=torch.float32)).numpy()
            )
            X = torch.tensor(bipolars(n), dtype=torch.float32)
            hidden = torch.where(norm(X @ w1.T) >= 0, 1.0, -1.0)
            logits = hidden @ w2.T + bias
        network = Network.of_bits([layer], Head(w2.int().numpy(), bias.numpy()))
        assert (network.hidden(X.numpy())[0] == (hidden > 0).numpy()).all()
        for engine in ENGINES:
            assert np.abs(network.logits(X.numpy(), engine=engine) - logits.numpy()).max() < 1e-5
            assert (network.predict(X.numpy(), engine=engine) == logits.argmax(dim=1).numpy()).all()


def test_the_head_by_definition():  # section 3.4
    head = Head([[1, -1, 1], [1, 1, 1]], bias=[0.1, Fraction(-1, 3)])
    for x in bipolars(3):
        counts = head.match_counts(np.array([x]) > 0)
        for k in range(2):
            s = sum(w * v for w, v in zip(head.weights[k].tolist(), x, strict=True))
            assert 2 * counts[0, k] - 3 == s
            assert head.scores(counts)[0, k] == s + head.bias[k]
            nu = head.capacity(k)
            held = {i * v for i, v in enumerate(x, start=1)}
            assert nu(held) == Fraction(int(counts[0, k]), 3)  # S_nu(x) = nu(E(x)) = M / n
        pi, probability = head.possibility(counts), head.probability(counts)
        assert pi.max() == 1
        assert probability.sum() == pytest.approx(1)
        assert np.allclose(pi, probability / probability.max())  # pi_k = P_k / max P
        assert (head.possibility(counts, temperature=10) >= pi).all()


def test_large_scores_do_not_overflow():  # docs/theory.md 5.3
    head = Head(np.ones((2, 2000), int), bias=[0, -4000])
    counts = head.match_counts(np.ones((1, 2000), bool))
    assert head.possibility(counts).tolist() == [[1.0, 0.0]]
    assert head.probability(counts).tolist() == [[1.0, 0.0]]
    tiny = Head([[1], [1]], bias=[1e-300, 0])  # the exact bias decides, beyond 64-bit integers
    assert tiny.classes(tiny.match_counts(np.array([[True]]))).tolist() == [0]
    assert not tiny.tied(tiny.match_counts(np.array([[True]]))).any()


def test_ties_go_to_the_lowest_class():
    network = Network.of_bits([], Head([[1], [1], [-1]]))
    assert network.predict([[1], [-1]]).tolist() == [0, 2]
    assert network.possibility([[1]])[0, :2].tolist() == [1.0, 1.0]


def test_summary_counts_parameters_and_marks():
    layer = DenseLayer([[1, 1, 0], [-1, -1, 1]], tau=[1, 4], flipped=[True, False], ties=[False, False])
    text = str(summary(Network.of_bits([layer], Head([[1, 1], [1, -1]]))))
    assert text.splitlines() == [
        "network 3-2-2 over 3 features, classes 0, 1",
        "--------------------------------------------------------------------------",
        "layer    bits  outputs  1-bit  zero  32-bit    kB  MACs  const  flip  ties",
        "--------------------------------------------------------------------------",
        "1 dense     1        2      5     1       2  0.01     5      1     1     0",
        "head        1        2      4     0       2  0.01     4      -     -     -",
        "--------------------------------------------------------------------------",
        "parameters     14: 10 weights, 4 thresholds and biases",
        "memory         0.02 kB packed, 0.06 kB as float32: 3.2 times smaller",
        "multiply-adds  9 of one bit for one sample",
    ]


def test_fingerprints_tell_networks_apart_but_not_their_notes():
    layer = DenseLayer([[1, -1]], [1])
    network = Network.of_bits([layer], Head([[1]]), notes={"from": "here"})
    assert network.fingerprint == replace_notes(network).fingerprint
    for other in (
        Network.of_bits([DenseLayer([[1, 1]], [1])], Head([[1]])),
        Network.of_bits([DenseLayer([[1, -1]], [2])], Head([[1]])),
        Network.of_bits([layer], Head([[1]], bias=Fraction(1, 3))),
        Network.of_bits([layer], Head([[1]]), classes=["yes"]),
        Network(Encoder([Steps((0.5,)), Steps((0.5,))]), [layer], Head([[1]])),
    ):
        assert other.fingerprint != network.fingerprint


def replace_notes(network):
    return Network(network.encoder, network.layers, network.head, network.classes)


def test_values_are_frozen():
    layer = DenseLayer(np.ones((1, 2), int), [1])
    with pytest.raises(ValueError, match="read-only"):
        layer.weights[0, 0] = 5
    with pytest.raises(AttributeError):
        layer.tau = 1
    source = np.ones((1, 2), np.int64)
    kept = integer_array(source, 2, "w")
    source[0, 0] = 7
    assert kept[0, 0] == 1
    assert replace(Steps((1.0,)), cuts=()) == Steps(())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: DenseLayer([[1, 2], [1, 1]], [1]), NetworkError, "2 rows of weights but 1 values of tau"),
        (
            lambda: Network.of_bits([], Head([[1], [-1]]), classes=["a", " a"]),
            NetworkError,
            "the class name ' a' begins or ends with a blank",
        ),
        (lambda: DenseLayer([[1]], [1.5]), NetworkError, r"tau\[0\] is 1.5"),
        (lambda: DenseLayer([["a"]], [1]), NetworkError, "integers are required"),
        (lambda: DenseLayer([[1]], [1], ties=[True, False]), NetworkError, "ties has shape"),
        (
            lambda: DenseLayer([[1, 1]], [1]).activity([[1, 0]]),
            NetworkError,
            "dtype int64, but True and False are needed",
        ),
        (lambda: DenseLayer([[1, 1]], [1]).activity([[True]]), NetworkError, "samples of 2 bits"),
        (lambda: DenseLayer([[1 << 40]], [1]), NetworkError, "too large"),
        (lambda: LevelLayer([[1]], [1], [-1]), NetworkError, r"tops\[0\] is negative"),
        (lambda: LevelLayer([[1]], [1], [1, 1]), NetworkError, "2 tops for 1 features"),
        (
            lambda: LevelLayer([[1]], [1], [3]).activity([[4]]),
            NetworkError,
            r"level 4 of feature 0 in sample 0 is not in 0..3",
        ),
        (lambda: Head([]), NetworkError, "2 dimensions"),
        (lambda: Head(np.zeros((0, 3), int)), NetworkError, "no class"),
        (lambda: Head([[1]], bias=[1, 2]), NetworkError, "bias has 2 values for 1 classes"),
        (lambda: Head([[1]], scale=-1), NetworkError, "negate its weights"),
        (lambda: Head([[1]]).possibility(np.array([[1]]), temperature=0), NetworkError, "must be positive"),
        (
            lambda: Network.of_bits([DenseLayer([[1]], [1])], Head([[1, 1]])),
            NetworkError,
            "the head reads 2 inputs, but layer 1 has 1",
        ),
        (
            lambda: Network.of_bits([DenseLayer([[1]], [1]), DenseLayer([[1, 1]], [1])], Head([[1]])),
            NetworkError,
            "layer 2 reads 2 inputs, but layer 1 has 1",
        ),
        (
            lambda: Network(Encoder.of_bits(2), [], Head([[1]])),
            NetworkError,
            "the head reads 1 inputs, but the encoder gives 2",
        ),
        (lambda: Network.of_bits([], Head([[1]]), classes=["a", "b"]), NetworkError, "do not fit 1 classes"),
        (
            lambda: Network(Encoder.of_integers(1), [LevelLayer([[1]], [1], [7])], Head([[1]])),
            NetworkError,
            "tops are not those of the encoder",
        ),
        (
            lambda: Network.of_bits([DenseLayer([[1]], [1])], Head([[1]])).neuron(2, 1),
            NetworkError,
            "no layer 2: the network has 1",
        ),
        (
            lambda: Network.of_bits([DenseLayer([[1]], [1])], Head([[1]])).neuron(1, 0),
            NetworkError,
            "layer 1: there is no neuron 0",
        ),
        (lambda: Network.of_bits([DenseLayer([[1]], [1])], Head([[1]])).predict([1, 1]), EncodingError, "2"),
    ],
)
def test_what_does_not_fit_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_fingerprint_is_of_all_cuts_and_categories_and_stays():
    """Files and certificates state it, so it must not follow what a prompt shows of a long coding."""
    categories = tuple(f"category number {k}" for k in range(80))
    encoder = Encoder([integer(0, 255), OneHot(categories)])
    network = Network(encoder, [], Head([[1] * 335, [-1] * 335]))
    assert network.fingerprint == "0c3ad0aa401c0b0c3935ae41bf5168426cbbe9b038a8fe871e17957823f3c1da"
    other = Network(Encoder([integer(0, 255), OneHot((*categories[:-1], "b"))]), [], network.head)
    assert other.fingerprint != network.fingerprint


@pytest.mark.parametrize("kind", ["dense", "levels", "stairs"])
def test_layers_without_neurons_are_summed_up_and_asked(kind):
    none = np.zeros((0, 3), int)
    layer = {
        "dense": lambda: DenseLayer(none, []),
        "levels": lambda: LevelLayer(none, [], [1] * 3),
        "stairs": lambda: QuantizedLayer(none, np.zeros((0, 2), int), [1] * 3),
    }[kind]()
    tops = [] if kind == "stairs" else None
    network = Network.of_bits([layer], Head(np.zeros((2, 0), int), [0, 1], tops=tops))
    first = summary(network).layers[0]
    assert (first.outputs, first.one_bit, first.thresholds, first.bytes, first.constant) == (0, 0, 0, 0, 0)
    assert "1 " in str(summary(network))
    assert network.predict([[1, 0, 1]]).tolist() == [1]
    assert isinstance(sg.verify(network, sg.Robust([1, 0, 1], sg.AnyInput())), sg.reason.Proved)
    assert sg.why(network, [1, 0, 1]).reasons[0].features == ()
    assert isinstance(sg.whatif(network, [1, 0, 1]), sg.reason.NoCounterfactual)


def test_a_convolution_without_channels_is_refused():
    with pytest.raises(NetworkError, match="no output channel"):
        ConvLayer(np.zeros((0, 1, 2, 2), int), [], Window((1, 2, 2), (2, 2)))
