"""Unrolled networks against the recurrence, run step by step in exact numbers."""

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import NetworkError, TooLargeError
from sugenet.spiking import SpikingLayer, SpikingNetwork, simulate, simulate_floats, unroll
from sugenet.spiking.unrolling import scaled_costs, subset_sums
from tests.spiking.nets import RESETS, all_inputs, convention, conventions, random_layer, random_network


def compare(spiking: SpikingNetwork, samples: list[tuple[int, ...]]) -> None:
    """Class and scores of each sample, by two ways that share nothing but the numbers."""
    network = unroll(spiking).network
    counts = network.match_counts(np.array(samples), engine="definition")
    labels, scores = network.head.classes(counts), network.head.scores(counts)
    for k, sample in enumerate(samples):
        run = simulate(spiking, sample)
        assert labels[k] == run.label, (spiking, sample)
        if spiking.convention.ties == "lowest":
            assert tuple(scores[k]) == run.scores, (spiking, sample)


@pytest.mark.parametrize(("reset", "when"), RESETS)
def test_every_convention_on_small_networks(reset, when):
    random = Random(1)
    for said in conventions(reset, when):
        spiking = random_network(random, said)
        compare(spiking, all_inputs(spiking, 64, random))


@pytest.mark.slow
@pytest.mark.parametrize(("reset", "when"), RESETS)
def test_every_convention_on_many_networks(reset, when):
    random = Random(2)
    for said in conventions(reset, when):
        for _ in range(8):
            spiking = random_network(random, said, most_steps=5)
            compare(spiking, all_inputs(spiking, 512, random))


@pytest.mark.parametrize("reset", ["zero", "subtract"])
@pytest.mark.parametrize("when", ["at once", "before the leak", "after the input"])
def test_longer_windows(reset, when):
    random = Random(7)
    layers = [random_layer(random, 2, 3), random_layer(random, 3, 2)]
    spiking = SpikingNetwork(layers, convention(8, reset=reset, when=when))
    compare(spiking, all_inputs(spiking, 60, random))


def test_the_packed_network_is_the_same():
    random = Random(3)
    spiking = SpikingNetwork(
        [
            SpikingLayer(
                [[Fraction(random.randint(-90, 99), 100) for _ in range(13)] for _ in range(6)],
                leak="9/10",
                threshold=1,
            ),
            random_layer(random, 6, 3),
        ],
        convention(5, reset="subtract", when="after the input", code="latency", fires=">"),
    )
    network = unroll(spiking).network
    X = np.array(all_inputs(spiking, 300, random))
    expected = network.match_counts(X, engine="definition")
    assert np.array_equal(network.match_counts(X), expected)
    assert np.array_equal(network.match_counts(X, engine="numpy"), expected)


def test_a_neuron_that_never_spikes_and_one_that_always_does():
    never = SpikingLayer([[1, 1], [-1, -1]], leak=1, threshold=[100, 3])
    compare(SpikingNetwork([never], convention(2)), list(product((0, 1), repeat=4)))
    always = SpikingLayer([[1, 1], [-1, 0]], leak=1, threshold=[-1, -5])
    for reset, when in (("zero", "after the input"), ("subtract", "at once"), ("once", None)):
        compare(
            SpikingNetwork([always], convention(3, reset=reset, when=when)), list(product((0, 1), repeat=6))
        )


def test_silence_is_a_tie():
    layer = SpikingLayer([[1], [1], [1]], leak=1, threshold=9)
    for ties, label in (("lowest", 0), ("highest", 2)):
        spiking = SpikingNetwork([layer], convention(2, ties=ties))
        assert (
            unroll(spiking).network.predict([[1, 1]]).tolist() == [simulate(spiking, [1, 1]).label] == [label]
        )


def test_more_or_equal_is_not_more():
    layer = SpikingLayer([[1]], leak=1, threshold=1)
    for fires, spikes in ((">", 0), (">=", 1)):
        spiking = SpikingNetwork([layer], convention(1, fires=fires))
        assert simulate(spiking, [1]).scores == (spikes,)
        assert unroll(spiking).network.logits([[1]]).tolist() == [[spikes]]


def test_costs_keep_their_order():
    random = Random(5)
    for _ in range(60):
        costs = tuple(Fraction(random.randint(-20, 20), random.randint(1, 9)) for _ in range(5))
        exact, whole = subset_sums(costs), subset_sums(scaled_costs(costs))
        for a, b in product(range(len(exact)), repeat=2):
            assert (exact[a] < exact[b]) == (whole[a] < whole[b])


def test_depth_grows_with_steps_plus_layers():
    random = Random(2)
    layers = [random_layer(random, 3, 3) for _ in range(4)]
    for reset, when in (("zero", "at once"), ("subtract", "at once")):
        network = unroll(SpikingNetwork(layers, convention(6, reset=reset, when=when))).network
        assert len(network.layers) <= 6 + 3 * 4


def test_neurons_say_what_they_are():
    layer = SpikingLayer([[1, 1], [1, -1]], leak="1/2", threshold=1)
    found = unroll(SpikingNetwork([layer], convention(3)))
    assert "neuron 1 of spiking layer 1 spikes at 1" in found.neurons[-1]
    assert [len(words) for words in found.neurons] == [layer.outputs for layer in found.network.layers]
    with pytest.raises(NetworkError, match="no neuron 99 of layer 1"):
        found.words(1, 99)


def test_what_does_not_fit_is_refused():
    fine = SpikingLayer([[Fraction(1, 3**15), Fraction(1, 5**12)]], leak="9/10", threshold=Fraction(1, 10**9))
    with pytest.raises(TooLargeError, match=r"integers of up to \d+ bits.*grid"):
        unroll(SpikingNetwork([fine], convention(4)))
    long = SpikingLayer([[1]], leak="1/2", threshold=Fraction(1, 1 << 14))
    said = {"reset": "subtract", "when": "at once"}
    with pytest.raises(TooLargeError, match="more than 4096 different bounds"):
        unroll(SpikingNetwork([long], convention(20, **said)))
    potential = SpikingLayer([[1, Fraction(1, 3**15), Fraction(1, 5**12)]], leak=1, spikes=False)
    with pytest.raises(TooLargeError, match="the potential of class 0"):
        unroll(SpikingNetwork([potential], convention(2, reset="none", when=None, decision="last potential")))


def test_without_a_leak_long_windows_are_small():
    layer = SpikingLayer([[1, 2], [2, 1]], leak=1, threshold=3)
    spiking = SpikingNetwork([layer], convention(15, reset="subtract", when="at once", code="latency"))
    compare(spiking, all_inputs(spiking, 40, Random(1)))


def test_floats_agree_where_all_numbers_are_floats():
    random = Random(11)
    for said in [said for pair in RESETS for said in conventions(*pair)][::7]:
        spiking = random_network(random, said)
        halves = [
            SpikingLayer(
                [[round(w * 2) for w in row] for row in layer.weights],
                leak=[Fraction(round(4 * leak), 4) for leak in layer.leak],
                threshold=layer.threshold,
                bias=[round(b) for b in layer.bias],
                spikes=layer.spikes,
            )
            for layer in spiking.layers
        ]
        halved = SpikingNetwork(halves, spiking.convention)
        samples = all_inputs(halved, 64, random)
        assert simulate_floats(halved, samples).tolist() == [simulate(halved, x).label for x in samples]


# -- questions -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> SpikingNetwork:
    random = Random(4)
    layers = [
        SpikingLayer(
            [[Fraction(random.randint(-6, 9), 4) for _ in range(5)] for _ in range(4)],
            leak="3/4",
            threshold=1,
        ),
        SpikingLayer(
            [[Fraction(random.randint(-6, 9), 4) for _ in range(4)] for _ in range(3)],
            leak="3/4",
            threshold=1,
        ),
    ]
    said = {"reset": "subtract", "when": "after the input", "fires": ">", "code": "latency"}
    return SpikingNetwork(layers, convention(4, decision="first spike", **said))


def within(spiking: SpikingNetwork, x: tuple[int, ...], total: int) -> list[tuple[int, ...]]:
    steps = spiking.convention.steps
    return [
        y
        for y in product(range(steps + 1), repeat=len(x))
        if sum(abs(a - b) for a, b in zip(x, y, strict=True)) <= total
    ]


def test_questions_are_about_the_spiking_network(small):
    network = unroll(small).network
    for x in [(0, 1, 2, 3, 4), (4, 0, 0, 2, 1)]:
        label = simulate(small, x).label
        labels = {y: simulate(small, y).label for y in within(small, x, 2)}
        answer = sg.verify(network, sg.Robust(x, sg.L1(2)))
        assert isinstance(answer, sg.Proved) == (set(labels.values()) == {label})
        sg.check(answer.certificate, network)
        counted = sg.count(network, x, sg.L1(2))
        assert sum(counted.counts) == len(labels)
        assert counted.counts[label] == sum(found == label for found in labels.values())
        sg.check(counted.certificate, network)
        change = sg.whatif(network, x, cost=sg.L1)
        if isinstance(change, sg.Counterfactual):
            cost = int(change.cost)
            far, near = within(small, x, cost), within(small, x, cost - 1)
            assert {simulate(small, y).label for y in near} == {label}
            assert {simulate(small, y).label for y in far} != {label}
            sg.check(change.certificate, network)
        for reason in sg.why(network, x, sg.L1(1)).reasons:
            sg.check(reason.certificate, network)


@pytest.mark.parametrize(("leak", "steps"), [("9/10", 7), ("3/4", 11), ("1/2", 21), ("1", 64)])
def test_sums_reach_as_far_as_the_docs_say(leak, steps):
    """The table of limits in docs/spiking.md: 64 inputs with weights of 1/16 to 31/16."""
    layer = SpikingLayer([[Fraction(1 + 7 * i % 31, 16) for i in range(64)]], leak=leak, threshold=1)
    said = {"reset": "none", "when": None, "code": "latency", "decision": "first spike", "fires": ">"}
    assert unroll(SpikingNetwork([layer], convention(steps, **said))).network.encoder.features == 64
    if steps < 64:
        with pytest.raises(TooLargeError, match="exact sums are limited to 31"):
            unroll(SpikingNetwork([layer], convention(steps + 1, **said)))
