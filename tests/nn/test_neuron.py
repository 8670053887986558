"""The paper's section 3, equation by equation, exhaustively for small n."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.capacity import CardinalityThreshold, sugeno
from sugenet.errors import NetworkError
from sugenet.nn import Neuron, Turn, active_set, decode, lam_of, match_bits, match_count, polarize, tau_of
from tests.nn.nets import bipolars
from tests.thinned import examples

CASES = [(w, x) for n in range(1, 5) for w in bipolars(n) for x in bipolars(n)]


def test_the_match_count_and_the_bipolar_sum():  # section 3.1
    for w, x in CASES:
        n, s = len(w), sum(a * b for a, b in zip(w, x, strict=True))
        m = len(active_set(x) & lam_of(w))
        assert (
            m
            == match_count(lam_of(w), x)
            == sum(a == b for a, b in zip(w, x, strict=True))
            == sum(match_bits(w, x))
        )
        assert s == 2 * m - n
        assert {literal for literal, value in polarize(x).items() if value} == active_set(x)


@pytest.mark.parametrize("theta", [-9, -2.5, -2, -0.1, 0, 0.1 + 0.2 - 0.3, Fraction(1, 3), 1, 2, 3.5, 9])
def test_a_neuron_is_the_sugeno_integral_of_its_capacity(theta):  # section 3.2
    for w, x in CASES:
        neuron = Neuron.from_theta(w, theta)
        s = sum(a * b for a, b in zip(w, x, strict=True))
        assert neuron.active(x) == (s >= theta)
        if len(w) <= 3:
            integral = sugeno(neuron.capacity(), polarize(x), method="definition")
            assert integral == (s >= theta)
            assert decode(integral) == (1 if s >= theta else -1)
        n, tau = len(w), neuron.tau
        z = match_bits(w, x)
        assert sugeno(CardinalityThreshold(n, tau), z) == (s >= theta)  # Remark 1
        assert neuron.kind == ("always" if tau <= 0 else "never" if tau > n else "threshold")
        assert neuron.negated().active(x) == (not neuron.active(x))


def test_example_1():
    neuron = Neuron.from_theta([+1, +1, -1, +1], theta=0)
    assert neuron.tau == 2
    assert set(neuron.rules()) == {frozenset(pair) for pair in combinations([1, 2, -3, 4], 2)}
    assert not neuron.active([+1, -1, +1, -1])
    assert neuron.active([+1, +1, +1, -1])
    assert frozenset([2]) in set(neuron.turning_sets([+1, -1, +1, -1]))


@settings(max_examples=examples(100))
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=5), st.integers(-1, 9))
def test_reasons_of_a_neuron_are_the_minimal_sets_that_hold(weights, tau):
    neuron = Neuron(weights, tau)
    for x in product([-1, 1], repeat=len(weights)):
        held = [i * v for i, v in enumerate(x, start=1)]
        worth = {
            frozenset(s): sum(abs(weights[abs(i) - 1]) for i in s if weights[abs(i) - 1] * i > 0) >= tau
            for size in range(len(held) + 1)
            for s in combinations(held, size)
        }
        minimal = {s for s, enough in worth.items() if enough and not any(worth[s - {i}] for i in s)}
        reasons = neuron.why(x)
        found = list(reasons.focal_sets())
        assert len(found) == len(set(found)) == reasons.focal_count
        assert set(found) == minimal
        assert reasons.is_active == neuron.active(x) == bool(minimal)
        assert reasons.match_count == neuron.match_count(x)
        assert reasons.turn == neuron.turn(x)
        flipped = [
            [-v if i in flips else v for i, v in enumerate(x, start=1)] for flips in reasons.turning_sets()
        ]
        assert all(neuron.why(y).is_active != reasons.is_active for y in flipped)
        assert str(reasons).startswith("active" if reasons.is_active else "not active")


def test_reasons_print_for_wide_and_constant_neurons():
    wide = Neuron([1] * 60, 30).why([1] * 40 + [-1] * 20)
    assert str(wide).splitlines()[1].endswith("} and 847,660,522 more")
    assert (
        str(wide).splitlines()[2].startswith("11 flips deactivate it, in 2,311,801,440 ways: inputs {1, 2, ")
    )
    assert str(Neuron([1, -1], 0).why([-1, 1])).splitlines() == [
        "active: M = 0 >= tau = 0; of Lam, nothing holds",
        "1 focal set is active: {}",
        "no flip changes it",
    ]
    with pytest.raises(NetworkError, match="1 coordinates, but the neuron has 2 inputs"):
        Neuron([1, 1], 1).why([1])


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=6), st.integers(-1, 9), st.data())
def test_turning_sets_are_the_smallest_flips_that_change_the_neuron(weights, tau, data):  # docs/theory.md 1.4
    neuron = Neuron(weights, tau)
    n = len(weights)
    x = data.draw(st.sampled_from(bipolars(n)))
    turning = []
    for size in range(n + 1):
        for places in combinations(range(n), size):
            flipped = [-v if i in places else v for i, v in enumerate(x)]
            if neuron.active(flipped) != neuron.active(x):
                turning.append(frozenset(i + 1 for i in places))
        if turning:
            break
    assert sorted(neuron.turning_sets(x), key=sorted) == sorted(turning, key=sorted)
    assert neuron.turn(x) == (Turn(len(turning[0]), len(turning)) if turning else Turn(None, 0))


@pytest.mark.parametrize("tau", range(-1, 7))
def test_turns_by_formula(tau):
    neuron = Neuron([1, -1, 1, -1, 1], tau)
    for x in bipolars(5):
        m = neuron.match_count(x)
        if neuron.kind == "threshold":
            expected = (
                Turn(m - tau + 1, comb(m, m - tau + 1)) if m >= tau else Turn(tau - m, comb(5 - m, tau - m))
            )
            assert neuron.turn(x) == expected


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=4), st.integers(-1, 9))
def test_a_neuron_that_counts_literals_more_than_once(weights, tau):
    neuron = Neuron(weights, tau)
    for x in product([-1, 1], repeat=len(weights)):
        m = sum(abs(w) for w, v in zip(weights, x, strict=True) if w * v > 0)
        assert neuron.match_count(x) == m
        assert sugeno(neuron.capacity(), polarize(x)) == (m >= tau)


def test_tau_is_exact_near_ties():  # docs/theory.md 1.2
    assert tau_of(0.1 + 0.2 - 0.3, 4) == 3
    assert tau_of(5.551115123125783e-17, 4) == 3
    assert tau_of(-5.551115123125783e-17, 4) == 2
    assert [tau_of(theta, 5) for theta in (-6, -5, -4, -3, 3, 4, 5, 6)] == [0, 0, 1, 1, 4, 5, 5, 6]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: polarize([1, 0]), r"x\[2\] is 0, but bipolar vectors hold -1 and \+1"),
        (lambda: active_set([1, 0.5]), r"x\[2\] is 0.5"),
        (lambda: active_set([float("nan")]), "nan"),
        (lambda: match_bits([1, 1], [1]), "1 coordinates but there are 2 weights"),
        (lambda: Neuron([1, 1], 1).match_count([1]), "1 coordinates, but the neuron has 2 inputs"),
    ],
)
def test_bad_vectors_are_named(call, message):
    with pytest.raises(NetworkError, match=message):
        call()


def test_constant_neurons_say_so():
    assert str(Neuron([1, 1], 0)) == "always active (tau = 0)"
    assert str(Neuron([1, 1], 3)) == "never active (tau = 3 of 2 literals)"
    assert Neuron([1, 1], 3).turn([1, 1]) == Turn(None, 0)
    assert list(Neuron([1, 1], 3).turning_sets([1, 1])) == []
