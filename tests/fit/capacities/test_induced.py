"""The capacity that a network has on some features, against the network itself, set by set."""

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError
from sugenet.nn import DenseLayer, Head, Network
from tests.capacity.oracles import monotone_tables


def random_network(seed, n=5, hidden=4):
    rng = np.random.default_rng(seed)
    weights = rng.choice([-1, 1], (hidden, n))
    head = rng.choice([-1, 1], (2, hidden))
    return Network.of_bits([DenseLayer(weights, rng.integers(1, n + 1, hidden))], Head(head))


def said(network, x, features, label, mask):
    row = [1 if j in features and mask >> features.index(j) & 1 else x[j] for j in range(len(x))]
    return int(network.predict([row])[0] == label)


@pytest.mark.parametrize("seed", range(12))
def test_it_is_what_the_network_says_or_as_near_as_any_capacity(seed):
    network = random_network(seed)
    x, features = [-1, -1, -1, 1, -1], [0, 2, 4]
    good = {f"x{j + 1}": 1 for j in features}
    for label in (0, 1):
        found = sg.fit.induced_capacity(network, x, good, label=label)
        table = [said(network, x, features, label, mask) for mask in range(8)]
        mine = [found.capacity.at(mask) for mask in range(8)]
        assert found.is_exact
        assert found.wrong == sum(a != b for a, b in zip(mine, table, strict=True))
        falls = [(a, b) for a in range(8) for b in range(8) if a & b == a and table[a] > table[b]]
        assert (found.falls is None) == (not falls)
        if falls:
            small, large = (found.capacity.criteria.mask(part) for part in found.falls)
            assert (small, large) in falls
            best = min(sum(a != b for a, b in zip(t, table, strict=True)) for t in monotone_tables(3, 2))
            assert found.wrong == best
            assert "The network is not a capacity there" in str(found)
        else:
            assert mine == table


def test_a_neuron_of_the_first_layer_is_a_threshold_over_any_number_of_features():
    rng = np.random.default_rng(3)
    n = 40
    weights = np.ones((1, n), dtype=int)
    network = Network.of_bits([DenseLayer(weights, [25])], Head([[1], [-1]]))
    good = {f"x{j + 1}": 1 for j in range(n - 4)}
    found = sg.fit.induced_capacity(network, [-1] * (n - 4) + [1] * 4, good, neuron=(1, 1))
    assert found.is_exact
    assert found.tried is None
    for _ in range(50):
        held = rng.random(n - 4) < 0.6
        row = [*np.where(held, 1, -1).tolist(), 1, 1, 1, 1]
        mask = sum(1 << int(place) for place in np.flatnonzero(held))
        assert found.capacity.at(mask) == int(network.hidden([row])[0][0, 0] > 0)


@pytest.mark.parametrize("seed", range(6))
def test_the_threshold_of_a_neuron_is_what_all_sets_say(seed):
    network = random_network(seed)
    x = [-1] * 5
    for number in (1, 2, 3, 4):
        weights = network.layers[0].weights[number - 1]
        good = {f"x{j + 1}": int(weights[j]) for j in range(5)}
        base = [-int(weights[j]) for j in range(5)]
        found = sg.fit.induced_capacity(network, base, good, neuron=(1, number))
        for mask in range(32):
            row = [good[f"x{j + 1}"] if mask >> j & 1 else base[j] for j in range(5)]
            assert found.capacity.at(mask) == int(network.hidden([row])[0][0, number - 1] > 0)
    assert x


def test_from_samples_and_the_gap_to_all_sets():
    network = random_network(1, n=8, hidden=5)
    good = {f"x{j + 1}": 1 for j in range(8)}
    every = sg.fit.induced_capacity(network, [-1] * 8, good)
    some = sg.fit.induced_capacity(network, [-1] * 8, good, samples=60, label=every.what.split()[1])
    assert (some.tried, some.is_exact) == (60, False)
    assert (
        some.gap(every)
        == every.gap(some)
        == sum(some.capacity.at(mask) != every.capacity.at(mask) for mask in range(256))
    )
    assert every.gap(every) == 0


def test_as_json_and_what_no_capacity_can_be_is_said():
    net = Network.of_bits([DenseLayer([[1, 1, 1], [1, 1, -1]], tau=[2, 3])], Head([[1, -1], [-1, 1]]))
    good = {"x1": 1, "x2": 1, "x3": 1}
    neuron = sg.fit.induced_capacity(net, [-1, -1, -1], good, neuron=(1, 1))
    assert neuron.data()["capacity"] == {"weights": ["1", "1", "1"], "theta": "2"}
    label = sg.fit.induced_capacity(net, [-1, -1, -1], good, neuron=(1, 1), samples=8)
    assert label.data()["capacity"] == {"focal sets": [["x1", "x2"], ["x1", "x3"], ["x2", "x3"]]}
    always = sg.fit.induced_capacity(net, [-1, -1, -1], good, samples=8)
    assert (always.wrong, always.falls) == (1, None)
    assert "wrong on 1 of these, as every capacity is" in str(always)
    for answer in (neuron, label, always):
        assert json.loads(json.dumps(answer.data())) == answer.data()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"good": {}}, "at least one feature"),
        ({"good": {"x9": 1}}, "x9"),
        ({"label": 5}, "no class 5"),
        ({"label": 0, "neuron": (1, 1)}, "Choose one"),
        ({"neuron": (1, 9)}, "neurons 1 to 4, not 9"),
        ({"samples": 0}, "at least 1"),
        ({"samples": 4, "seed": -1}, "seed=-1"),
        ({"neuron": 5}, "must be a pair"),
        ({"neuron": (1, 1.0)}, "must be a pair"),
    ],
)
def test_what_cannot_be_asked_is_said(options, message):
    given = {"good": {"x1": 1}} | options
    with pytest.raises(QuestionError, match=message):
        sg.fit.induced_capacity(random_network(0), [-1] * 5, **given)
