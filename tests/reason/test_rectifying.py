"""The least change of thresholds, against every change of thresholds of tiny networks."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sugenet.errors import QuestionError
from sugenet.nn import DenseLayer, Head, Network, OneHot
from sugenet.reason import Always, Fair, Monotone, Never, Robust, check, rectify, verify
from sugenet.reason.demands import settled
from tests.nn.level_nets import level_network


def least_by_enumeration(network, claims, most):
    """The least sum of changes with which the claims hold; None up to a limit."""
    taus = [layer.tau.tolist() for layer in network.layers]
    flat = [(k, j) for k, row in enumerate(taus) for j in range(len(row))]
    sizes = [int(abs(network.layers[k].weights[j]).sum()) for k, j in flat]
    best = None
    for chosen in product(*(range(size + 2) for size in sizes)):
        cost = sum(abs(t - taus[k][j]) for t, (k, j) in zip(chosen, flat, strict=True))
        if cost > most or (best is not None and cost >= best):
            continue
        layers = []
        for k, layer in enumerate(network.layers):
            tau = [t for t, (at, _) in zip(chosen, flat, strict=True) if at == k]
            layers.append(DenseLayer(layer.weights, tau))
        changed = Network(network.encoder, layers, network.head, network.classes)
        if all(verify(changed, claim).is_proved for claim in claims):
            best = cost
    return best


def numeric(network):
    return [f for f, coding in enumerate(network.encoder.codings) if not isinstance(coding, OneHot)]


@pytest.mark.parametrize("seed", range(10))
def test_the_least_change_by_enumeration(seed):
    rng = np.random.default_rng(40 + seed)
    bits, width = 3, 2
    layers = [DenseLayer(rng.choice([-1, 1], (width, bits)), rng.integers(0, 4, width))]
    if seed % 3 == 0:
        layers.append(DenseLayer(rng.choice([-1, 1], (1, width)), rng.integers(0, 3, 1)))
    head = Head(rng.choice([-1, 1], (2, layers[-1].outputs)))
    network = Network.of_bits(layers, head)
    claims = [
        [Always(0, {"x1": 1})],
        [Never(1, {"x2": -1})],
        [Monotone("x1")],
        [Fair(["x3"]), Always(1, {"x1": 1, "x2": 1})],
    ][seed % 4]
    most = 4
    least = least_by_enumeration(network, claims, most)
    found = rectify(network, claims, max_change=most)
    if least is None:
        assert found.outcome == "none"
        assert found.network is None
        return
    assert found.outcome == "rectified"
    assert found.lower == least == sum(abs(a - b) for _, _, a, b in found.changes)
    for verdict in found.verdicts:
        assert check(verdict, found.network)
    assert str(found)
    diving = rectify(network, claims, time_limit=60)
    assert diving.is_least
    assert diving.size == least


@pytest.mark.parametrize("seed", range(12))
def test_the_least_change_of_a_neuron_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, values = 3, [[-1, 1], [-1, 0, 1], [-2, 1, 3]][seed % 3]
    tops = rng.integers(1, 3, n).tolist()
    row, tau = rng.choice(values, n).tolist(), int(rng.integers(0, 4))
    demands = {tuple(int(rng.integers(0, t + 1)) for t in tops): bool(rng.integers(2)) for _ in range(4)}

    def matches(weights, inputs):
        return sum(w * v if w >= 0 else -w * (t - v) for w, v, t in zip(weights, inputs, tops, strict=True))

    def steps(weights):
        return sum(abs(values.index(a) - values.index(b)) for a, b in zip(weights, row, strict=True))

    fitting = [
        steps(weights) + abs(level - tau)
        for weights in product(values, repeat=n)
        for level in range(20)
        if all((matches(weights, inputs) >= level) == on for inputs, on in demands.items())
    ]
    found = settled(row, tau, tops, values, sorted(demands.items()))
    assert (found is None) == (not fitting)
    if found is not None:
        assert found.size == min(fitting) == steps(found.row.tolist()) + abs(found.tau - tau)
        assert all((matches(found.row, inputs) >= found.tau) == on for inputs, on in demands.items())


@pytest.mark.parametrize("seed", range(8))
def test_the_least_change_of_weights_by_enumeration(seed):
    rng = np.random.default_rng(70 + seed)
    values = [-1, 1] if seed % 2 else [-1, 0, 1]
    rows = rng.choice(values, (2, 3))
    rows[0] = np.resize(values, 3)  # each value occurs
    layer = DenseLayer(rows, rng.integers(0, 4, 2))
    network = Network.of_bits([layer], Head(rng.choice([-1, 1], (2, 2)), [0, Fraction(seed % 3, 2)]))
    claims = [
        [Always(0, {"x1": 1}), Always(1, {"x1": -1, "x2": -1})],
        [Always(1, {"x1": 1, "x3": 1}), Always(0, {"x1": 1, "x3": -1})],
        [Monotone("x2"), Always(1, {"x1": 1, "x3": -1})],
        [Fair(["x3"]), Always(1, {"x1": 1, "x2": 1}), Always(0, {"x1": -1})],
    ][seed % 4]
    most, sizes = 3, []
    for chosen in product(values, repeat=6):
        changed = np.array(chosen).reshape(2, 3)
        moved = abs(np.searchsorted(values, changed) - np.searchsorted(values, rows)).sum()
        for taus in product(range(5), repeat=2) if moved <= most else ():
            cost = int(moved + abs(np.array(taus) - layer.tau).sum())
            if cost > most or (sizes and cost >= min(sizes)):
                continue
            other = Network(network.encoder, [DenseLayer(changed, taus)], network.head, network.classes)
            if all(verify(other, claim).is_proved for claim in claims):
                sizes.append(cost)
    found = rectify(network, claims, weights=True, max_change=most)
    assert found.outcome == ("rectified" if sizes else "none")
    if sizes:
        assert found.lower == found.size == min(sizes)
        assert all(check(verdict, found.network) for verdict in found.verdicts)
        rows = found.network.layers[0].weights
        assert all(rows[j - 1, i - 1] == after for _, j, i, _, after in found.weights)
        assert len(found.weights) == int((rows != layer.weights).sum())
        only = rectify(network, claims, max_change=most)
        assert only.network is None or only.size >= found.size
        assert rectify(network, claims, weights=True, time_limit=60).size == found.size


def test_a_change_of_weights_is_told():
    network = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    claims = ["x1 = 1 and x2 = 1 -> off", "x1 = -1 and x3 = 1 -> on"]
    assert rectify(network, claims).outcome == "none"
    found = rectify(network, claims, weights=True)
    assert str(found).startswith("2 weights changed, by 2 in all, the least: weight 1 of neuron 1 of layer 1")
    assert found.weights == ((1, 1, 1, 1, -1), (1, 1, 2, 1, -1))


def test_accuracy_before_and_after():
    network = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    X = np.array([[1, -1, -1], [1, 1, -1], [-1, -1, -1]])
    found = rectify(network, ["x1 = 1 -> on"], X, ["on", "on", "off"])
    assert found.changes == ((1, 1, 2, 1),)
    assert tuple(map(str, found.accuracy)) == ("2/3", "1")
    assert "66.67% before, 100.00% after" in str(found)
    assert rectify(found.network, ["x1 = 1 -> on"]).changes == ()


def test_what_cannot_be_rectified():
    network = Network.of_bits([DenseLayer([[1, 1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
    impossible = rectify(network, [Always(0), Always(1)])
    assert (impossible.outcome, impossible.network) == ("none", None)
    assert rectify(network, [Always(0)], max_change=1).outcome == "none"
    assert rectify(network, [Always(0)], time_limit=0).outcome == "undecided"
    with pytest.raises(QuestionError, match="not a claim to rectify"):
        rectify(network, [Robust([1, 1, 1], "L0(1)")])
    with pytest.raises(QuestionError, match="X and y"):
        rectify(network, [Always(0)], X=[[1, 1, 1]])
    with pytest.raises(QuestionError, match="dense layers"):
        rectify(level_network(np.random.default_rng(0), "quantized"), [Always(0)])
