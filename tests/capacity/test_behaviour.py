"""Veto, favor, variance, entropy, additivity, belief functions and lambda-measures, by definition."""

from fractions import Fraction
from itertools import permutations, product
from math import comb, factorial, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    CardinalityThreshold,
    Dense,
    Focal,
    LambdaMeasure,
    Necessity,
    Ordinal,
    Possibility,
    Symmetric,
    WeightedThreshold,
    additivity,
    choquet,
    entropy_float,
    favor,
    from_additive_moebius,
    increments,
    is_belief,
    is_k_additive,
    is_plausibility,
    random_capacity,
    shapley,
    transforms,
    variance,
    veto,
)
from sugenet.errors import CapacityError, ScaleError, TooLargeError
from tests.capacity.oracles import numbers, set_functions
from tests.thinned import examples

F = Fraction


def moebius_of(table):
    return [
        sum(
            (-1) ** (mask ^ part).bit_count() * table[part] for part in range(mask + 1) if part & mask == part
        )
        for mask in range(len(table))
    ]


def judged(mu):
    """Indices by their sums over sets, in fractions; the entropy in floats."""
    n = len(mu.criteria)
    table = [F(mu.at(mask)) for mask in range(1 << n)]
    vetoes, favors, squares, entropy = {}, {}, F(0), 0.0
    for place, name in enumerate(mu.criteria):
        without = [mask for mask in range(1 << n) if not mask >> place & 1]
        vetoes[name] = 1 - sum(table[mask] / comb(n - 1, mask.bit_count()) for mask in without) / (n - 1)
        favors[name] = (
            sum(table[mask | 1 << place] / comb(n - 1, mask.bit_count()) for mask in without) - 1
        ) / (n - 1)
        for mask in without:
            share = F(factorial(mask.bit_count()) * factorial(n - 1 - mask.bit_count()), factorial(n))
            rise = table[mask | 1 << place] - table[mask]
            squares += share * rise**2
            entropy -= float(share) * float(rise) * log(rise) if rise else 0
    return vetoes, favors, (squares - F(1, n)) / (1 - F(1, n)), entropy / log(n)


@settings(max_examples=examples(100))
@given(set_functions(max_n=4))
def test_indices_of_every_family(mu):
    if isinstance(mu.scale, Ordinal):
        with pytest.raises(ScaleError):
            veto(mu)
        return
    if len(mu.criteria) < 2 or not mu.is_capacity:
        with pytest.raises(CapacityError, match="needs a capacity over at least 2"):
            veto(mu)
        return
    found = veto(mu), favor(mu), variance(mu)
    right = judged(mu)
    values = [
        (value, other)
        for one, two in zip(found[:2], right[:2], strict=True)
        for value, other in zip(one.values(), two.values(), strict=True)
    ]
    for value, other in [*values, (found[2], right[2])]:
        assert value == pytest.approx(float(other), abs=1e-12) if isinstance(value, float) else value == other
    assert list(found[0]) == list(mu.criteria)
    assert entropy_float(mu) == pytest.approx(right[3], abs=1e-12)
    weights = increments(mu)
    assert sum(weights.values()) == len(mu.criteria)
    assert sum(rise * weight for rise, weight in weights.items()) == 1
    assert entropy_float(mu, normalized=False) == pytest.approx(
        -sum(float(weight) * float(rise) * log(rise) for rise, weight in weights.items() if rise), abs=1e-12
    )
    exact = all(not isinstance(value, float) or value in (0, 1) for value in mu.table().tolist())
    if exact:
        assert favor(mu) == veto(mu.conjugate())


def test_veto_and_favor_are_means_of_the_choquet_integral():
    mu = random_capacity(["a", "b", "c", "d"], levels=6, scale=UNIT, seed=4)
    n, vetoes, favors = 4, veto(mu), favor(mu)
    for name in mu.criteria:
        # the other values at random are, on average and in one order, 1/n, ..., (n-1)/n
        orders = list(permutations([other for other in mu.criteria if other != name]))
        means = [
            sum(
                choquet(mu, {name: at} | {other: F(k, n) for k, other in enumerate(order, 1)})
                for order in orders
            )
            / len(orders)
            for at in (0, 1)
        ]
        assert vetoes[name] == 1 - means[0] * n / (n - 1)
        assert favors[name] == (means[1] * n - 1) / (n - 1)
    assert veto(Necessity([1, 1, 1])) == {1: 1, 2: 1, 3: 1}
    assert favor(Possibility([1, 1, 1])) == {1: 1, 2: 1, 3: 1}


def test_larger_tables_and_long_fractions():
    rng = np.random.default_rng(1)
    floats = np.maximum.accumulate(np.sort(rng.random(1 << 5)))
    floats[0], floats[-1] = 0, 1
    long = [F(int(value * 2**53) ** 2, 2**106) for value in floats]
    for table in (floats, long):
        mu = Dense(5, table)
        vetoes, favors, right, entropy = judged(mu)
        assert [float(value) for value in veto(mu).values()] == pytest.approx(
            [float(value) for value in vetoes.values()]
        )
        assert [float(value) for value in favor(mu).values()] == pytest.approx(
            [float(value) for value in favors.values()]
        )
        assert float(variance(mu)) == pytest.approx(float(right))
        assert entropy_float(mu) == pytest.approx(entropy)
    assert (veto(mu), favor(mu), variance(mu)) == (vetoes, favors, right)


@pytest.mark.parametrize("unit", [2**26, 2**31, 2**54, 2**62, 3**20, 10**30])
def test_squares_of_long_fractions_are_exact(unit):
    rng = np.random.default_rng(unit % 1000)
    for n in (2, 4):
        shares = np.sort([F(int(rng.integers(1 << 62)) * unit >> 62, unit) for _ in range((1 << n) - 2)])
        mu = Dense(n, [0, *shares, 1])
        assert variance(mu) == judged(mu)[2]


def test_entropy_of_large_tables_is_refused_exactly_only():
    mu = Symmetric(17, [F(size, 17) for size in range(18)])
    assert entropy_float(mu) == pytest.approx(1)
    assert variance(mu) == 0
    with pytest.raises(TooLargeError, match="limit is 16"):
        increments(mu)


# --- additive Moebius weights -------------------------------------------------------------------------------


@settings(max_examples=examples(150))
@given(set_functions(max_n=5))
def test_additivity_and_belief_of_every_family(mu):
    if isinstance(mu.scale, Ordinal):
        for ask in (additivity, is_belief, is_plausibility):
            with pytest.raises(ScaleError, match="sums of worths"):
                ask(mu)
        return
    n = len(mu.criteria)
    weights = moebius_of([F(mu.at(mask)) for mask in range(1 << n)])
    order = max((mask.bit_count() for mask in range(1 << n) if weights[mask]), default=0)
    assert additivity(mu) == order
    assert is_k_additive(mu, order)
    assert order == 0 or not is_k_additive(mu, order - 1)
    assert is_belief(mu) == (mu.is_capacity and min(weights[1:]) >= 0)
    dual = moebius_of([1 - F(mu.at(((1 << n) - 1) ^ mask)) for mask in range(1 << n)])
    assert is_plausibility(mu) == (mu.is_capacity and min(dual[1:]) >= 0)


@settings(max_examples=examples(100))
@given(st.integers(1, 4), st.data())
def test_signs_of_moebius_weights_are_exact(n, data):
    values = data.draw(st.lists(numbers, min_size=1 << n, max_size=1 << n))
    if data.draw(st.booleans()):  # sums of floats, rounded: weights near 0
        singles = data.draw(st.lists(st.floats(0, 0.2), min_size=n, max_size=n))
        values = [
            float(sum(singles[place] for place in range(n) if mask >> place & 1)) for mask in range(1 << n)
        ]
    table = UNIT.codes(values)
    right = [(weight > 0) - (weight < 0) for weight in moebius_of([F(value) for value in values])]
    assert transforms.moebius_signs(table).tolist() == right


@pytest.mark.parametrize(
    "last", [2.0**-62, 2.0**-63, 2.0**-1074]
)  # in 64-bit integers, and too fine for them
def test_weights_that_are_zero_modulo_64_bits_are_seen(last):
    worths = {}
    for mask in range(1 << 5):
        members = {place for place in range(5) if mask >> place & 1}
        worths[mask] = F(len(members) > 2 and members not in ({0, 1, 2}, {2, 3, 4}))
    worths[0b00011] = worths[0b00111] = F(last)
    table = [worths[mask] for mask in range(1 << 5)]
    weights = moebius_of(table)
    assert weights[-1] == 4  # 2^64 times 2^-62
    mu = Dense(5, [float(value) for value in table])
    exact, unit = transforms.integers(mu.table())
    assert (exact.dtype == np.int64, unit) == ((True, 2**62) if last == 2.0**-62 else (False, 1))
    if last == 2.0**-62:
        assert transforms.additive_moebius(exact)[-1] == 0
    assert additivity(mu) == 5
    assert transforms.moebius_signs(mu.table()).tolist() == np.sign(np.array(weights, dtype=object)).tolist()


@pytest.mark.parametrize("n", [3, 5, 11])  # with 11, one criterion is not among those that are tried first
@pytest.mark.parametrize("worth", [2.0**-30, 2.0**-53, 2.0**-62, 2.0**-63])
def test_belief_up_to_the_last_bit(n, worth):
    held = np.arange(1 << n)
    members = (held >> (n - 1)) + (held >> (n - 2) & 1)
    added, joined = worth * members, worth * np.minimum(members, 1)
    for table, right in ((added, True), (joined, False)):
        table[-1] = 1
        assert is_belief(Dense(n, table)) == right
        assert additivity(Dense(n, table)) == n
        assert additivity(Dense(n, np.where(held < held[-1], table, table[-2] + table[1]))) == 2 - right


def test_sums_of_absolute_values_are_bounded():
    most = (1 << 63) - 1
    for values in ([-most - 1], [1 << 62, 1 << 62], [most, 1], [-most - 1, 0], [most, -most, 0, 0]):
        assert not transforms._sum_fits(np.array(values))
    for values in ([0], [most], [1 << 62], [-(1 << 62), (1 << 62) - 3], [1 << 62, 0, 0, 0], [-5, 7, 1, 0]):
        assert transforms._sum_fits(np.array(values))


@pytest.mark.parametrize("n", range(7))
def test_rises_are_all_differences(n):
    table = np.random.default_rng(n).integers(0, 1 << 40, 1 << n)
    right = [
        (mask.bit_count(), int(table[mask | 1 << place] - table[mask]))
        for place in range(n)
        for mask in range(1 << n)
        if not mask >> place & 1
    ]
    found = [
        (place.bit_count(), value)
        for rises in transforms.rises(table)
        for place, value in enumerate(rises.tolist())
    ]
    assert sorted(found) == sorted(right)
    for count in range(n + 1):
        moved = transforms.rotated(table, count)
        for mask in range(1 << n):
            assert moved[mask >> count | (mask & ((1 << count) - 1)) << (n - count)] == table[mask]


def test_parts_of_a_table_are_converted_and_added_alike(monkeypatch):
    mu = random_capacity(5, seed=3)
    mu = Dense(5, [float(value) for value in mu.scale.decode(mu.table())])
    whole = transforms.integers(mu.table())[0].tolist(), entropy_float(mu)
    monkeypatch.setattr(transforms, "CHUNK", 4)
    assert transforms.integers(mu.table())[0].tolist() == whole[0]
    assert entropy_float(mu) == pytest.approx(whole[1])


def test_wide_functions_without_a_table():
    assert additivity(CardinalityThreshold(60, 3)) == 60
    assert additivity(Symmetric(60, [F(size, 60) for size in range(61)])) == 1
    assert is_belief(CardinalityThreshold(60, 60))
    assert is_belief(Necessity([1] + [0.5] * 59))
    assert is_plausibility(Possibility([1] + [0.5] * 59))
    assert additivity(Focal(60, {(1, 2): 1, (3,): 0.5})) == 3
    with pytest.raises(TooLargeError):
        additivity(WeightedThreshold(range(1, 41), theta=300))


def test_two_additive_capacities():
    mu = from_additive_moebius(3, [F(0), F(1, 2), F(1, 2), F(-1, 4), F(1, 4), F(0), F(0), F(0)])
    assert additivity(mu) == 2
    # a 2-additive capacity is its Shapley value and its interactions
    assert shapley(mu) == {1: F(3, 8), 2: F(3, 8), 3: F(1, 4)}


# --- lambda-measures ----------------------------------------------------------------------------------------

densities = st.lists(
    st.one_of(st.fractions(0, 1, max_denominator=8), st.floats(0, 1)), min_size=2, max_size=4
)


@settings(max_examples=examples(80))
@given(densities)
def test_lambda_measures(singles):
    total = sum(F(one) for one in singles)
    positive = sum(one > 0 for one in singles)
    if positive < 2 and total != 1:
        with pytest.raises(CapacityError, match="no lambda"):
            LambdaMeasure(singles)
        return
    mu = LambdaMeasure(singles)
    n, lam = len(singles), mu.lam
    assert mu.is_capacity
    assert (lam > 0, lam < 0) == (total < 1, total > 1) or (lam == 0 and not mu.is_exact)
    assert Dense.of(mu).table().tolist() == [mu.at(mask) for mask in range(1 << n)]
    full = mu.criteria.full

    def worth(lam, mask):
        out = F(0)
        for place in range(n):
            if mask >> place & 1:
                out = out + F(singles[place]) + lam * out * F(singles[place])
        return out

    if mu.is_exact:
        assert worth(lam, full) == 1
    else:
        assert worth(lam, full) < 1 < worth(lam + F(1, 1 << 64), full)
    for a, b in product(range(1 << n), repeat=2):
        if not a & b and (mu.is_exact or a | b != full):
            assert mu.at(a | b) == mu.at(a) + mu.at(b) + lam * mu.at(a) * mu.at(b)
    if mu.is_exact:
        assert is_belief(mu) == (lam >= 0)
        assert is_plausibility(mu) == (lam <= 0)


def test_lambda_measures_of_known_lambda():
    for wrong in (0, -1, 2.5, "64", True):
        with pytest.raises(CapacityError, match="must be an integer of at least 1"):
            LambdaMeasure([0.1, 0.2, 0.3], bits=wrong)
    mu = LambdaMeasure([F(1, 3), F(1, 3), F(1, 3)])
    assert (mu.lam, mu.is_exact, mu({1, 2})) == (0, True, F(2, 3))
    # 1 + lambda g = 2 for each of three gives 1 + lambda = 8
    mu = LambdaMeasure([F(1, 7)] * 3)
    assert (mu.lam, mu.is_exact, mu({1, 3})) == (7, True, F(3, 7))
    assert LambdaMeasure({"a": 1, "b": 0.5}).lam == -1
    assert str(mu).startswith("lambda-measure over 3 criteria, lambda 7")
    assert mu.conjugate()({1, 3}) == 1 - F(1, 7)
    assert mu.scale != BOOLEAN
