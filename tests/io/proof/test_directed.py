"""Samples directed to thresholds: legal, every state when there are few, and next to neurons that turn."""

import numpy as np

from sugenet.io.proof.near import directed
from sugenet.nn import DenseLayer, Head, Network, OneHot
from tests.fuzzing.every_network import every_network
from tests.problem.levels import every_input
from tests.problem.small import random_network


def as_numbers(network, raw):
    """Categories by their index, cell by cell."""
    return [
        [
            float(coding.categories.index(value) if isinstance(coding, OneHot) else value)
            for coding, value in zip(network.encoder.codings, row, strict=True)
        ]
        for row in raw.tolist()
    ]


def test_all_combinations_of_states_if_they_are_few():
    for seed in range(30):
        network = random_network(np.random.default_rng(seed), features=2)
        found = directed(network, 10_000)
        assert found.every
        reached = {tuple(row) for row in network.inputs(found.raw).tolist()}
        assert reached == {tuple(row) for row in network.inputs(every_input(network)).tolist()}


def test_samples_are_legal_and_the_same_for_other_programs():
    for seed in range(60):
        network = every_network(seed)
        found = directed(network, 24, seed)
        assert len(found.raw) <= 24
        assert found.numbers.tolist() == as_numbers(network, found.raw)
        network.predict(found.raw)  # refuses values that cannot occur
        assert np.array_equal(directed(network, 24, seed).numbers, found.numbers)


def test_pairs_lie_on_both_sides_of_a_threshold():
    rng = np.random.default_rng(0)
    layers = [
        DenseLayer(rng.choice([-1, 1], (40, 100)), [70] * 40),  # random samples rarely turn these on
        DenseLayer(rng.choice([-1, 1], (20, 40)), [25] * 20),
    ]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (2, 20))))
    found = directed(network, 64)
    assert 16 <= found.near <= 32
    assert not found.every
    counts = layers[0].match_counts(network.inputs(found.raw))
    random_counts = layers[0].match_counts(rng.random((64, 100)) < 0.5)
    at = lambda array: int(((array == 70) | (array == 69)).sum())  # noqa: E731
    assert at(counts) > 2 * at(random_counts)
    assert (counts >= 70).any()
