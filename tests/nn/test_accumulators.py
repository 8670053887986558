"""Widths of accumulators: every partial sum in every order, gone through by the definition."""

from itertools import permutations

import numpy as np

from sugenet.nn import Accumulator, DenseLayer, Domain, Encoder, Head, LevelLayer, Network, accumulators
from sugenet.nn.codings import Span, integer
from tests.fuzzing.every_network import every_network, samples_of
from tests.problem.levels import KINDS, every_input, lively_network


def products(layer, values, j):
    """The products that the sum of neuron j adds: bits are -1 and +1."""
    numbers = np.where(values, 1, -1) if layer.tops is None else values
    return (np.asarray(layer.row(j) if hasattr(layer, "row") else layer.weights[j]) * numbers).tolist()


def partial_sums(terms):
    """Every partial sum, in every order: the sums of all subsets."""
    sums = {0}
    for term in terms:
        sums |= {total + term for total in sums}
    return sums


def test_subsets_are_the_orders():
    terms = [3, -2, 5, -1]
    ordered = {sum(order[:k]) for order in permutations(terms) for k in range(5)}
    assert partial_sums(terms) == ordered


def test_no_partial_sum_leaves_its_range():
    for seed, kind in enumerate(("dense", "mixed", "bits", "onehot", "saturated", "conv", "pool", "flat")):
        network = lively_network(np.random.default_rng(seed), kind)
        X = every_input(network)[:: max(1, len(every_input(network)) // 40)]
        rows = list(accumulators(network))
        shown = [network.inputs(X), *network.hidden(X)]
        for layer, values in zip((*network.layers, network.head), shown, strict=True):
            if getattr(layer, "every", None) is not None:
                continue
            row = rows.pop(0)
            seen = set()
            for sample in values:
                for j in range(layer.outputs):
                    seen |= partial_sums(products(layer, sample, j))
            assert row.low <= min(seen)
            assert max(seen) <= row.high
        assert not rows
    assert len(KINDS) == 9


def test_a_first_layer_attains_both_ends():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        encoder = Encoder([integer(-1, 2), integer(0, 3), integer(0, 1)])
        domain = Domain({0: Span(0, 1), 1: Span(2, 3)} if seed % 2 else {})
        layer = LevelLayer(rng.integers(-4, 5, (3, 3)), rng.integers(0, 9, 3), encoder.tops)
        head = Head(rng.integers(-1, 2, (2, 3)))
        network = Network(encoder, [layer], head, domain=domain)
        X = [row for row in every_input(network).tolist() if domain.outside(row) is None]
        sums = set()
        for sample in network.inputs(np.array(X)):
            for j in range(3):
                sums |= partial_sums(products(layer, sample, j))
        first = accumulators(network)[0]
        assert (first.low, first.high) == (min(sums), max(sums))


def test_neurons_that_never_change_narrow_the_next_layer():
    never, ever = DenseLayer([[1, 1]] * 2, [3, 0]), Head([[1, 1], [-1, 0]])
    first, head = accumulators(Network.of_bits([never], ever))
    assert (first.low, first.high) == (-2, 2)
    assert (head.low, head.high) == (-1, 1)


def test_bits_hold_the_range_and_one_bit_less_does_not():
    for low in (-65, -64, -3, -1, 0):
        for high in (0, 1, 63, 64, 2**31 - 1, 2**31):
            bits = Accumulator("layer 1", low, high).bits
            assert -(2 ** (bits - 1)) <= low <= high < 2 ** (bits - 1)
            assert bits == 1 or not (-(2 ** (bits - 2)) <= low <= high < 2 ** (bits - 2))


def test_every_kind_has_widths():
    for seed in range(30):
        network = every_network(seed)
        if not network.passes_reals:
            assert len(accumulators(network)) >= 1
            assert samples_of(network, np.random.default_rng(0)).shape[1] == network.encoder.features
