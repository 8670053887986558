"""One neuron as Sugeno integrals: each statement of docs/theory.md 13, on all inputs of small neurons."""

from fractions import Fraction
from itertools import product

import pytest

from sugenet.capacity import sugeno
from sugenet.errors import NetworkError
from sugenet.spiking import SpikingLayer, SpikingNeuron
from sugenet.spiking.simulation import run_neuron
from tests.spiking.nets import RESETS, convention

WEIGHTS = [(1, -1), (2, 1), (Fraction(3, 2), Fraction(-1, 2)), (0, 1), (-1, -2)]
LEAKS = [0, Fraction(1, 2), Fraction(9, 10), 1]


def neuron(weights, leak, threshold, bias=0, **said) -> SpikingNeuron:
    steps = said.pop("steps", 3)
    layer = SpikingLayer([weights], leak=leak, threshold=threshold, bias=bias)
    return SpikingNeuron(layer, 1, convention(steps, **said))


@pytest.mark.parametrize(("reset", "when"), RESETS)
def test_the_first_spike_is_one_integral_for_every_reset(reset, when):
    for weights, leak, threshold, fires in product(WEIGHTS, LEAKS, (0, 1, 2), (">", ">=")):
        unit = neuron(weights, leak, threshold, steps=2, reset=reset, when=when, fires=fires)
        capacity = unit.first_spike_capacity()
        for x in product((0, 1), repeat=4):
            first = unit.first_spike(x)
            worth = 0 if first is None else Fraction(2 - first, 2)
            assert sugeno(capacity, unit.literals(x)) == worth


def test_the_first_spike_by_the_definition_of_the_integral():
    unit = neuron((2, -1), "1/2", 2, bias="1/4")
    for x in product((0, 1), repeat=6):
        first = unit.first_spike(x)
        worth = 0 if first is None else Fraction(3 - first, 3)
        assert sugeno(unit.first_spike_capacity(), unit.literals(x), method="focal") == worth


def test_rules_are_the_minimal_sets_that_make_it_spike():
    unit = neuron((2, -1), "1/2", 2)
    rules = list(unit.rules(1))
    assert {unit.words(rule) for rule in unit.rules(0)} == {"input 1 spikes at 0 and input 2 does not at 0"}
    for x in product((0, 1), repeat=6):
        held = {k if value else -k for k, value in enumerate(x, start=1)}
        first = unit.first_spike(x)
        assert (first is not None and first <= 1) == any(rule <= held for rule in rules)
    assert not any(one < two for one in rules for two in rules)
    with pytest.raises(NetworkError, match="there is no step 3"):
        unit.rules(3)


def monotone(unit: SpikingNeuron, t: int) -> bool:
    """Whether a spike at a step never goes away when there is more input."""
    steps = unit.convention.steps
    fired = {x: unit.spikes(x)[t] for x in product((0, 1), repeat=steps)}
    return all(
        fired[x] <= fired[y]
        for x, y in product(fired, repeat=2)
        if all(a <= b for a, b in zip(x, y, strict=True))
    )


def test_later_spikes_are_not_monotone_so_no_integral_of_the_inputs_gives_them():
    """Threshold 2, hard reset: 101 gives 001, and 111, which is more, gives 010. Each Sugeno integral of
    the inputs is monotone in them.
    """
    unit = neuron((1,), 1, 2, reset="zero", when="at once")
    assert unit.spikes((1, 0, 1)) == (0, 0, 1)
    assert unit.spikes((1, 1, 1)) == (0, 1, 0)
    assert [monotone(unit, t) for t in range(3)] == [True, True, False]


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("threshold", [1, 2, Fraction(3, 2)])
def test_soft_reset_as_a_cascade_of_thresholds(leak, threshold):
    """y_t = [drive + sum of threshold leak^(t-u) (1 - y_u) >= threshold + sum of threshold leak^(t-u)]."""
    unit = neuron((1, -1), leak, threshold, reset="subtract", when="at once")
    for x in product((0, 1), repeat=6):
        current = [x[2 * t] - x[2 * t + 1] for t in range(3)]
        y: list[int] = []
        for t in range(3):
            drive = sum(Fraction(leak) ** (t - u) * current[u] for u in range(t + 1))
            past = [threshold * Fraction(leak) ** (t - u) for u in range(t)]
            unspent = sum(c * (1 - s) for c, s in zip(past, y, strict=True))
            y.append(int(drive + unspent >= threshold + sum(past)))
        assert tuple(y) == unit.spikes(x)


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("threshold", [1, 2, Fraction(3, 2)])
def test_hard_reset_as_a_cascade_of_joins_and_meets(leak, threshold):
    """y_t = max over r < t of min(y_r, min over r < u < t of 1 - y_u, drive from r + 1 to t >= threshold)."""
    unit = neuron((1, -1), leak, threshold)
    for x in product((0, 1), repeat=6):
        current = [x[2 * t] - x[2 * t + 1] for t in range(3)]
        y = {-1: 1}
        for t in range(3):
            y[t] = max(
                min(
                    y[r],
                    min((1 - y[u] for u in range(r + 1, t)), default=1),
                    int(
                        sum(Fraction(leak) ** (t - u) * current[u] for u in range(r + 1, t + 1)) >= threshold
                    ),
                )
                for r in range(-1, t)
            )
        assert tuple(y[t] for t in range(3)) == unit.spikes(x)


@pytest.mark.parametrize("when", ["at once", "before the leak", "after the input"])
def test_the_spike_count_is_one_integral_without_leak_and_signs(when):
    for weights, threshold, bias, fires in product(
        [(1, 2), (1, 1), (0, 3)], (1, 2, Fraction(5, 2)), (0, Fraction(1, 2)), (">", ">=")
    ):
        unit = neuron(weights, 1, threshold, bias, reset="subtract", when=when, fires=fires)
        capacity = unit.spike_count_capacity()
        for x in product((0, 1), repeat=6):
            assert sugeno(capacity, unit.literals(x)) == Fraction(sum(unit.spikes(x)), 3)


def test_with_signs_the_count_is_another_number():
    """Drives of -2..2 over four steps, threshold 2: the formula for drives without sign fails on 117 of 625
    of them.
    """
    unit = neuron((1,), 1, 2, reset="subtract", when="at once", steps=4)
    wrong = 0
    for drive in product(range(-2, 3), repeat=4):
        spikes, _ = run_neuron([Fraction(d) for d in drive], Fraction(1), Fraction(2), unit.convention)
        total = [sum(drive[: t + 1]) for t in range(4)]
        formula = max(m for m in range(5) if all(total[4 - m + j - 1] >= 2 * j for j in range(1, m + 1)))
        wrong += formula != sum(spikes)
    assert wrong == 117


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"weights": (1, -1)}, "negative"),
        ({"leak": "1/2"}, "the leak is 1/2"),
        ({"reset": "zero"}, "reset='zero'"),
        ({"when": "at once as in snnTorch"}, "snnTorch"),
    ],
)
def test_where_no_integral_counts_it_is_said(said, why):
    usual = {"weights": (1, 1), "leak": 1, "threshold": 1, "reset": "subtract", "when": "at once"}
    with pytest.raises(NetworkError, match=why):
        neuron(**(usual | said)).spike_count_capacity()
