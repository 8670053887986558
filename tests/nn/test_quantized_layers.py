"""Quantized layers against their definition: expansion, neurons, rules, capacities, simplify, files."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet.io
from sugenet.capacity import sugeno
from sugenet.errors import NetworkError, TooLargeError
from sugenet.nn import (
    NEVER,
    DenseLayer,
    Encoder,
    Head,
    Network,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    QuantizedNeuron,
    RawNeuron,
    Window,
    simplify,
    summary,
)
from tests.nn.level_nets import KINDS, level_network, slow_counts, slow_levels
from tests.thinned import examples


def every_sample(encoder: Encoder) -> np.ndarray[Any, Any]:
    columns = [
        coding.categories if hasattr(coding, "categories") else range(int(coding.low), int(coding.high) + 1)
        for coding in encoder.codings
    ]
    return np.array(list(product(*columns)), dtype=object)


@pytest.mark.parametrize("kind", KINDS)
def test_a_quantized_network_is_what_its_definition_says_and_so_is_its_binary_expansion(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for _ in range(3):
        network = level_network(rng, kind)
        X = every_sample(network.encoder)
        X = X[rng.permutation(len(X))[:40]]
        slow = [slow_counts(network, row) for row in network.inputs(X)]
        assert network.match_counts(X, engine="definition").tolist() == slow
        assert network.match_counts(X).tolist() == slow
        expanded = network.expanded
        assert expanded.match_counts(X, engine="definition").tolist() == slow
        assert expanded.head.tops is None
        assert expanded.expanded is expanded
        assert network.unrolled().match_counts(X, engine="definition").tolist() == slow
        assert simplify(network).logits(X).tolist() == network.logits(X).tolist()
        assert simplify(simplify(network)) == simplify(network)
        trace = network.trace(X[0])
        assert trace.matches.tolist() == slow[0]
        assert "equal" in trace.prove()
        assert str(summary(network)).count("\n") > len(network.layers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_the_network_back(kind: str, tmp_path: Path) -> None:
    network = level_network(np.random.default_rng(5), kind)
    sugenet.io.save(network, tmp_path / "levels.sugenet")
    again = sugenet.io.load(tmp_path / "levels.sugenet")
    assert again == network
    assert again.fingerprint == network.fingerprint
    sugenet.io.save(again, tmp_path / "again.sugenet")
    assert (tmp_path / "again.sugenet").read_bytes() == (tmp_path / "levels.sugenet").read_bytes()


def test_every_number_of_a_staircase_is_in_the_fingerprint() -> None:
    def fingerprint(weight: int = 2, tau: int = 3, height: int = 2, pad: int = 1, top: int = 3) -> str:
        steps = [[tau] * height]
        conv = QuantizedConv(
            [[[[weight, 1]]]], steps, Window((1, 1, 2), (1, 2), pads=(0, 0, 0, 1)), top=top, pad=pad
        )
        pool = PoolLayer(Window((1, 1, 2), (1, 2)), top=height)
        dense = QuantizedLayer([[weight]], [[1] * height], [height])
        network = Network(
            Encoder.of_integers(2, 0, top), [conv, pool, dense], Head([[1], [-1]], tops=[height])
        )
        return network.fingerprint

    found = {
        fingerprint(),
        fingerprint(weight=3),
        fingerprint(tau=4),
        fingerprint(height=3),
        fingerprint(pad=2),
    }
    assert len(found | {fingerprint(top=4)}) == 6


def test_thresholds_on_sums_and_on_match_counts_are_the_same_and_canonical() -> None:
    layer = QuantizedLayer([[2, -3]], [[-5, 4, 99]], [2, 1])
    assert layer.tau.tolist() == [[0, 4, NEVER]]
    assert layer.steps.tolist() == [[-3, 1, NEVER]]
    assert QuantizedLayer.from_sums([[2, -3]], [[-(10**30), 1, 10**30]], [2, 1]) == layer
    assert layer == QuantizedLayer([[2, -3]], [[0, 4, NEVER]], [2, 1])
    assert layer.constant.tolist() == [False]
    assert QuantizedLayer([[1]], [[0, 5]], [3]).constant.tolist() == [True]
    assert layer.expanded().tau.tolist() == [0, 4, NEVER]
    assert layer.column(1)[1].tolist() == [-3]


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_a_neuron_is_a_sugeno_integral_on_its_levels(data: st.DataObject) -> None:
    tops = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=3), "tops")
    weights = data.draw(st.lists(st.integers(-3, 3), min_size=len(tops), max_size=len(tops)), "weights")
    size = sum(abs(w) * t for w, t in zip(weights, tops, strict=True))
    tau = sorted(data.draw(st.lists(st.integers(0, size + 1), min_size=1, max_size=3), "tau"))
    stair = QuantizedNeuron(weights, tau, tops)
    for levels in product(*(range(top + 1) for top in tops)):
        count = sum(w * a if w > 0 else -w * (t - a) for w, a, t in zip(weights, levels, tops, strict=True))
        level = sum(count >= t for t in tau)
        assert stair.match_count(levels) == count
        assert stair.level(levels) == level
        bits = [int(a >= v) for a, t in zip(levels, tops, strict=True) for v in range(1, t + 1)]
        if bits:
            sample = [int(on) for bit in bits for on in (bit, not bit)]
            assert Fraction(sugeno(stair.capacity(), sample)) * len(tau) == level
        for m in range(1, len(tau) + 1):
            assert stair.step(m).active([1 if bit else -1 for bit in bits]) == (level >= m)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_rules_are_the_minimal_level_vectors(data: st.DataObject) -> None:
    tops = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3), "tops")
    weights = data.draw(st.lists(st.integers(-3, 3), min_size=len(tops), max_size=len(tops)), "weights")
    size = sum(abs(w) * t for w, t in zip(weights, tops, strict=True))
    stair = QuantizedNeuron(weights, [data.draw(st.integers(0, size + 1), "tau")], tops)

    def gain(vector: tuple[int, ...]) -> int:
        return sum(abs(w) * v for w, v in zip(weights, vector, strict=True))

    expected = set()
    for vector in product(*(range(top + 1) for top in tops)):
        lower = [
            tuple(v - (k == i) for k, v in enumerate(vector)) for i in range(len(vector)) if vector[i] > 0
        ]
        if gain(vector) >= stair.tau[0] and all(gain(below) < stair.tau[0] for below in lower):
            expected.add(vector)
    found = []
    for rule in stair.rules(1):
        vector = [0] * len(tops)
        for condition in rule:
            at = condition.place - 1
            vector[at] = tops[at] - condition.at_most if condition.at_least is None else condition.at_least
            assert (condition.at_least is None) == (weights[at] < 0)
        found.append(tuple(vector))
    assert len(found) == len(set(found)) == stair.rule_count(1)
    assert set(found) == expected


@pytest.mark.parametrize("kind", ["dense", "bits", "onehot", "conv"])
def test_raw_rules_of_a_level_reach_it(kind: str) -> None:
    network = level_network(np.random.default_rng(3), kind)
    X = every_sample(network.encoder)
    states, levels = network.encoder.levels(X), network.hidden(X)[0]
    for level in range(1, network.layers[0].height + 1):
        neuron = RawNeuron.of(network, 1, level)
        reached = np.zeros(len(X), bool)
        for rule in neuron.rules():
            reached |= np.all(
                [np.isin(states[:, f], allowed) for f, allowed in rule.states] or [[True]], axis=0
            )
        assert np.array_equal(reached, levels[:, 0] >= level)


@pytest.mark.parametrize("kind", KINDS)
def test_neurons_and_columns_are_those_of_the_layer(kind: str) -> None:
    rng = np.random.default_rng(11)
    network = level_network(rng, kind)
    for layer in network.layers:
        if not isinstance(layer, QuantizedLayer | QuantizedConv):
            continue
        tops = layer.tops if isinstance(layer, QuantizedLayer) else np.full(layer.inputs, layer.top)
        values = rng.integers(0, tops + 1)
        assert [layer.neuron(j + 1).level(values) for j in range(layer.outputs)] == slow_levels(
            layer, values.tolist()
        )
        dense = np.zeros((layer.outputs, layer.inputs), int)
        for place in range(layer.inputs):
            neurons, weights = layer.column(place)
            dense[neurons, place] += weights
        assert [layer.neuron(j + 1).weights for j in range(layer.outputs)] == [
            tuple(r) for r in dense.tolist()
        ]


def test_layers_that_do_not_fit_are_refused_by_name() -> None:
    first = QuantizedLayer([[1, 1]], [[1, 2]], [3, 3])
    encoder = Encoder.of_integers(2, 0, 3)
    with pytest.raises(NetworkError, match=r"layer 2 reads bits, but layer 1 gives levels 0\.\.2"):
        Network(encoder, [first, DenseLayer([[1]], [1])], Head([[1]]))
    with pytest.raises(NetworkError, match=r"layer 2 reads levels 0\.\.3, but layer 1 gives levels 0\.\.2"):
        Network(encoder, [first, QuantizedLayer([[1]], [[1]], [3])], Head([[1]]))
    with pytest.raises(NetworkError, match=r"the head reads bits, but layer 1 gives levels 0\.\.2"):
        Network(encoder, [first], Head([[1]]))
    with pytest.raises(NetworkError, match=r"the head reads levels 0\.\.2, but layer 1 gives bits"):
        Network(Encoder.of_bits(1), [DenseLayer([[1]], [1])], Head([[1]], tops=[2]))
    with pytest.raises(NetworkError, match="tops are not those of the encoder"):
        Network(Encoder.of_integers(2, 0, 4), [first], Head([[1]], tops=[2]))
    with pytest.raises(NetworkError, match="the steps of neuron 1 do not rise"):
        QuantizedLayer([[1]], [[2, 1]], [3])
    with pytest.raises(NetworkError, match=r"step 2 of neuron 1 is 1\.5"):
        QuantizedLayer.from_sums([[1]], [[1, 1.5]], [3])
    with pytest.raises(NetworkError, match=r"pad=4 is not a level in 0\.\.3"):
        QuantizedConv([[[[1]]]], [[1]], Window((1, 1, 1), 1), top=3, pad=4)
    with pytest.raises(NetworkError, match=r"level 4 of feature 0 in sample 0 is not in 0\.\.3"):
        first.activity([[4, 0]])
    with pytest.raises(NetworkError, match="there is no level 3"):
        first.neuron(1).reaches(3)
    with pytest.raises(NetworkError, match="below 2\\^31"):
        QuantizedLayer([[1 << 30]], [[1]], [3])
    with pytest.raises(NetworkError, match="pooling of levels"):
        PoolLayer(Window((1, 2, 2), 2), top=3).neuron(1)


def test_too_many_steps_are_not_proved_one_by_one():
    layer = QuantizedLayer.from_sums(
        np.ones((70, 2), int), np.arange(1, 256) * np.ones((70, 1), int), [255, 255]
    )
    net = Network(Encoder.of_integers(2, 0, 255), [layer], Head(np.ones((2, 70), int), tops=[255] * 70))
    with pytest.raises(TooLargeError, match="9,103,500 literals, and the limit is 4,194,304"):
        net.trace([1, 2]).prove()
