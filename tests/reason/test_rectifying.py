"""The least change of thresholds, against every change of thresholds of tiny networks."""

from itertools import product

import numpy as np
import pytest

from sugenet.errors import QuestionError
from sugenet.nn import DenseLayer, Head, Network, OneHot
from sugenet.reason import Always, Fair, Monotone, Never, Robust, check, rectify, verify
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
