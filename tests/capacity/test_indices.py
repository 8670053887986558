"""Indices against their definitions, written out as sums over subsets and over orders."""

from fractions import Fraction
from itertools import combinations, permutations, product
from math import comb, factorial

import numpy as np
import pytest

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    CardinalityThreshold,
    Conjugate,
    Criteria,
    Dense,
    Focal,
    FromFunction,
    Join,
    Meet,
    Necessity,
    Nested,
    Ordinal,
    Possibility,
    Symmetric,
    WeightedThreshold,
)
from sugenet.capacity import indices as module
from sugenet.capacity.indices import (
    additive_moebius,
    banzhaf,
    from_additive_moebius,
    interaction,
    interactions,
    orness,
    shapley,
)
from sugenet.errors import CapacityError, NotMonotoneError, ScaleError, TooLargeError

F = Fraction
INDICES = ("shapley", "banzhaf")


def subsets_of(mask):
    part = mask
    while True:
        yield part
        if part == 0:
            return
        part = (part - 1) & mask


def by_definition(mu, mask, index):
    """The defining double sum, in fractions."""
    n, t = len(mu.criteria), mask.bit_count()
    total = F(0)
    for outside in subsets_of(mu.criteria.full ^ mask):
        size = outside.bit_count()
        weight = (
            F(factorial(n - t - size) * factorial(size), factorial(n - t + 1))
            if index == "shapley"
            else F(1, 2 ** (n - t))
        )
        total += weight * sum(
            (-1) ** (t - part.bit_count()) * F(mu.at(outside | part)) for part in subsets_of(mask)
        )
    return total


def shapley_by_orders(mu):
    """What each criterion adds when it comes, averaged over all orders."""
    total = dict.fromkeys(mu.criteria, F(0))
    for order in permutations(range(len(mu.criteria))):
        mask = 0
        for place in order:
            total[mu.criteria.names[place]] += F(mu.at(mask | 1 << place)) - F(mu.at(mask))
            mask |= 1 << place
    return {name: value / factorial(len(mu.criteria)) for name, value in total.items()}


def mean_choquet_by_orders(mu):
    """Mean of the Choquet integral over the unit cube: in each order of n uniform values, the k-th smallest
    is k / (n + 1) on average.
    """
    n, total = len(mu.criteria), F(0)
    for order in permutations(range(n)):
        mask = mu.criteria.full
        for k, place in enumerate(order, start=1):
            total += F(k, n + 1) * (F(mu.at(mask)) - F(mu.at(mask ^ 1 << place)))
            mask ^= 1 << place
    return total / factorial(n)


def monotone_tables(n, levels):
    """All monotone tables on 2^n sets with values 0..levels-1."""
    tables = [[]]
    for mask in range(1 << n):
        tables = [
            [*table, value]
            for table in tables
            for value in range(
                max((table[mask ^ 1 << place] for place in range(n) if mask >> place & 1), default=0), levels
            )
        ]
    return tables


def capacities(n, levels):
    return [table for table in monotone_tables(n, levels) if table[0] == 0 and table[-1] == levels - 1]


def random_monotone(rng, n, levels):
    table = rng.integers(0, levels, 1 << n)
    for place in range(n):
        pairs = table.reshape(-1, 2, 1 << place)
        np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
    return table


def random_families(seed, n):
    """One function of each family over n criteria, exact values only."""
    rng = np.random.default_rng(seed)
    integers = lambda high, size=None: rng.integers(0, high, size).tolist()  # noqa: E731
    lam = [i for i in range(1, n + 1) if rng.random() < 0.7] or [1]
    weights = integers(7, n)
    fractions = [F(value, 6) for value in integers(7, n)]
    focal = {
        mask: F(value + 1, 6) for mask, value in zip(set(integers(1 << n, 4)), integers(6, 4), strict=False)
    }
    yield CardinalityThreshold(lam, integers(len(lam) + 3) - 1, range(1, n + 1))
    yield WeightedThreshold(weights, integers(sum(weights) + 3) - 1)
    yield WeightedThreshold([F(w, 3) for w in weights], F(integers(sum(weights) + 1), 4))
    yield WeightedThreshold([2 * (w % 2) for w in weights], 3)
    yield Symmetric(n, sorted(F(value, 6) for value in integers(7, n + 1)))
    yield Possibility(fractions)
    yield Necessity(fractions)
    yield Focal(n, focal)
    yield Conjugate(Focal(n, focal))
    yield Dense(n, [F(int(value), 5) for value in random_monotone(rng, n, 6)])
    yield Dense(n, random_monotone(rng, n, 2), BOOLEAN)
    thetas = integers(sum(weights) + 2, 2)
    yield Nested(
        {F(1, 3): WeightedThreshold(weights, thetas[0]), F(3, 4): WeightedThreshold(weights, thetas[1])}
    )
    yield Nested(
        {F(1, 3): WeightedThreshold(weights, thetas[0]), F(3, 4): CardinalityThreshold(n, integers(n))}
    )
    yield Join([Possibility(fractions), CardinalityThreshold(n, 2)])
    yield Meet([Possibility(fractions), WeightedThreshold(weights, 2)])
    yield FromFunction(n, lambda held: F(len(held), n))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(6))
def test_every_family_and_every_subset_is_as_defined(n, seed):
    for mu in random_families(100 * n + seed, n):
        for index, mask in product(INDICES, range(1 << n)):
            value = interaction(mu, mask, index)
            assert isinstance(value, Fraction)
            assert value == by_definition(mu, mask, index), (mu, mask, index)
        assert shapley(mu) == {
            name: by_definition(mu, 1 << place, "shapley") for place, name in enumerate(mu.criteria)
        }
        assert banzhaf(mu) == {
            name: by_definition(mu, 1 << place, "banzhaf") for place, name in enumerate(mu.criteria)
        }
        assert interactions(mu, min(2, n), "banzhaf") == {
            frozenset(pair): by_definition(mu, mu.criteria.mask(pair), "banzhaf")
            for pair in combinations(mu.criteria, min(2, n))
        }


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_capacities_on_three_levels(n):
    for table in capacities(n, 3):
        mu = Dense(n, [F(value, 2) for value in table])
        assert shapley(mu) == shapley_by_orders(mu)
        assert sum(shapley(mu).values()) == 1
        for index, mask in product(INDICES, range(1 << n)):
            assert interaction(mu, mask, index) == by_definition(mu, mask, index)
        floats = Dense(n, [value / 2 for value in table])
        assert shapley(floats) == pytest.approx(shapley_by_orders(mu), abs=1e-15)
        if n > 1:
            assert orness(mu) == ((n + 1) * mean_choquet_by_orders(mu) - 1) / (n - 1)


def test_dedekind_numbers_less_two_count_the_boolean_capacities():  # docs/theory.md 6.4
    assert [len(capacities(n, 2)) for n in (1, 2, 3, 4)] == [1, 4, 18, 166]


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_closed_forms_of_a_cardinality_threshold(n):  # docs/theory.md 6.7
    lam = [i if i % 2 else -i for i in range(1, n + 1)]
    for tau in range(1, n + 1):
        mu = CardinalityThreshold(lam, tau, Criteria.literals(n))
        assert shapley(mu) == {literal: F(int(literal in lam), n) for literal in mu.criteria}
        assert banzhaf(mu) == {
            literal: int(literal in lam) * F(comb(n - 1, tau - 1), 2 ** (n - 1)) for literal in mu.criteria
        }
        alone = CardinalityThreshold(n, tau)
        if n > 1:
            assert orness(alone) == F(n - tau, n - 1)
            assert interaction(mu, lam[:2]) == F((tau >= 2) - (tau <= n - 1), n - 1)
            pair = F((comb(n - 2, tau - 2) if tau >= 2 else 0) - comb(n - 2, tau - 1), 2 ** (n - 2))
            assert interaction(mu, lam[:2], "banzhaf") == pair
            assert np.sign(float(pair)) == np.sign(2 * tau - n - 1)
        sizes = [mask.bit_count() for mask in range(1 << n)]
        assert additive_moebius(alone).tolist() == [
            (-1) ** (k - tau) * comb(k - 1, tau - 1) if k >= tau else 0 for k in sizes
        ]


def test_conjugate_keeps_values_and_flips_even_interactions():
    mu = WeightedThreshold([5, 3, 3, 2, 0], 7)
    for index, order in product(INDICES, range(1, 6)):
        assert interactions(mu.conjugate(), order, index) == {
            held: (-1) ** (order + 1) * value for held, value in interactions(mu, order, index).items()
        }


def test_functions_that_are_no_capacities_get_their_true_values():
    for mu in (
        CardinalityThreshold(3, 0),
        CardinalityThreshold(3, 4),
        WeightedThreshold([2, 1], 9),
        Symmetric(2, [1, 1, 1]),
        Focal(2, {}),
    ):
        assert (
            set(shapley(mu).values()) == set(banzhaf(mu).values()) == set(interactions(mu, 2).values()) == {0}
        )
        assert interaction(mu, ()) == mu.at(0)


def test_large_cardinality_threshold():
    mu = CardinalityThreshold(range(1, 1001), 400, range(1, 1501))
    assert shapley(mu)[1000] == F(1, 1000)
    assert shapley(mu)[1001] == 0
    assert banzhaf(mu)[1] == F(comb(999, 399), 2**999)
    assert interaction(mu, range(1, 1001)) == comb(999, 399)


def test_large_weights_agree_with_a_table_and_with_counting():
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 30, 18).tolist()
    mu = WeightedThreshold(weights, sum(weights) * 2 // 3)
    table = Dense.of(mu)
    assert shapley(mu) == shapley(table)
    assert banzhaf(mu) == banzhaf(table)
    some = [{1, 5}, {2, 3, 18}, {4, 5, 6, 7}]
    for held, index in product(some, INDICES):
        assert interaction(mu, held, index) == interaction(table, held, index)
    assert sum(shapley(WeightedThreshold(rng.integers(1, 12, 90).tolist(), 200)).values()) == 1


def test_banzhaf_of_many_weights_sums_to_the_mean_gain():
    # sum over i of Banzhaf_i = sum over A of (2 |A| - n) mu(A) / 2^(n-1),
    # which for weights 1 and 2 is a sum of binomials
    ones, twos, theta = 150, 130, 200
    n = ones + twos
    mu = WeightedThreshold([1] * ones + [2] * twos, theta)
    gains = sum(
        (2 * (a + b) - n) * comb(ones, a) * comb(twos, b)
        for a in range(ones + 1)
        for b in range(twos + 1)
        if a + 2 * b >= theta
    )
    assert sum(banzhaf(mu).values()) == F(gains, 2 ** (n - 1))
    window = sum(
        comb(ones - 1, a) * comb(twos, b)
        for a in range(ones)
        for b in range(twos + 1)
        if a + 2 * b == theta - 1
    )
    assert banzhaf(mu)[1] == F(window, 2 ** (n - 1))


def test_float_weights_fall_back_to_a_table():
    rng = np.random.default_rng(2)
    weights = rng.random(10).tolist()
    mu = WeightedThreshold(weights, 5.0)
    assert (
        shapley(mu)
        == shapley(Dense.of(mu))
        == {name: by_definition(mu, 1 << k, "shapley") for k, name in enumerate(mu.criteria)}
    )


def test_too_large_says_what_to_do():
    weights = np.random.default_rng(3).integers(1, 10**6, 300).tolist()
    with pytest.raises(TooLargeError, match=r"shapley indices of 300 weights .* use banzhaf"):
        shapley(WeightedThreshold(weights, sum(weights) // 2))
    with pytest.raises(TooLargeError, match=r"interaction\(mu, subset\)"):
        interactions(CardinalityThreshold(100, 3), 6)
    many = Join([CardinalityThreshold(30, 3), WeightedThreshold(range(30), 9)])
    with pytest.raises(TooLargeError, match="limit is 24"):
        shapley(many)


def test_float_values_give_floats_close_to_the_exact_ones():
    rng = np.random.default_rng(4)
    table = random_monotone(rng, 9, 1000) / 1024
    mu, exact = Dense(9, table), Dense(9, [F(value) for value in table.tolist()])
    for index, order in product(INDICES, (0, 1, 2, 3)):
        found, right = interactions(mu, order, index), interactions(exact, order, index)
        assert all(isinstance(value, float) for value in found.values())
        assert found == pytest.approx({held: float(value) for held, value in right.items()}, abs=1e-13)
    for family in (
        Possibility([1.0, 0.3, 0.7]),
        Necessity([1.0, 0.3, 0.7]),
        Symmetric(3, [0, 0.1, 0.3, 1.0]),
        Focal(3, {3: 0.1, 4: 0.3}),
    ):
        for index, mask in product(INDICES, range(8)):
            value = interaction(family, mask, index)
            assert isinstance(value, float)
            assert value == pytest.approx(float(by_definition(family, mask, index)), abs=1e-15)
    assert all(isinstance(value, float) for value in shapley(Dense(2, [0, 0.3, 0.3, 1]).conjugate()).values())


def test_fractions_with_huge_denominators_stay_exact():
    big = 10**30 + 57
    mu = Dense(3, [0, F(1, big), F(1, 3), F(1, 3), F(2, big), F(1, 2), F(1, 2), 1])
    assert shapley(mu) == shapley_by_orders(mu)
    assert interaction(mu, 0b101) == by_definition(mu, 0b101, "shapley")


def test_focal_sets_over_many_criteria_need_no_table():
    pairs = [(1, 2), (2, 3), (40, 41), (5, 6, 7)]
    mu = Focal(60, {pairs[0]: F(1, 2), pairs[1]: F(1, 3), pairs[2]: 1, pairs[3]: F(1, 4)})
    kept = [1, 2, 3, 40, 41, 5, 6, 7]
    small = Focal(kept, {held: mu(held) for held in pairs})
    assert {name: value for name, value in shapley(mu).items() if name in kept} == shapley(Dense.of(small))
    assert shapley(mu)[60] == 0
    assert interaction(mu, {2, 3}, "banzhaf") == interaction(Dense.of(small), {2, 3}, "banzhaf")


def test_focal_sets_with_too_many_terms_use_a_table(monkeypatch):
    sets = {(1 << a) | (1 << b): F(a + b, 20) for a, b in combinations(range(7), 2)}
    mu = Focal(7, sets)
    expected = shapley(mu)
    monkeypatch.setattr(module, "TERM_WORK", 5)
    assert module.unanimity_terms(mu) is None
    assert shapley(mu) == expected


def test_moebius_and_back():
    rng = np.random.default_rng(5)
    for n in (0, 1, 4):
        table = [F(int(value), 7) for value in random_monotone(rng, n, 8)]
        mu = Dense(n, table)
        weights = additive_moebius(mu)
        for mask in range(1 << n):
            assert weights[mask] == sum(
                (-1) ** (mask ^ part).bit_count() * table[part] for part in subsets_of(mask)
            )
        assert from_additive_moebius(n, weights) == mu
    floats = Dense(8, random_monotone(rng, 8, 1000) / 999)
    back = from_additive_moebius(8, additive_moebius(floats))
    assert np.abs(back.table() - floats.table()).max() < 1e-12
    with pytest.raises(NotMonotoneError, match=r"\{2\} is worth"):
        from_additive_moebius(2, [0.0, 0.5, 0.5, -0.6])
    with pytest.raises(ScaleError, match="not in"):
        from_additive_moebius(1, [0.0, 1.5])
    with pytest.raises(CapacityError, match="2 criteria need 2"):
        from_additive_moebius(2, [0.0, 1.0])


def test_a_table_of_zeros_and_ones_has_exact_indices():
    table = [0, 0, 0, 1, 0, 1, 1, 1]
    for values in (table, [float(value) for value in table]):
        mu = Dense(3, values)
        for ask in (shapley, banzhaf):
            assert ask(mu) == ask(CardinalityThreshold(3, 2))
            assert all(isinstance(value, Fraction) for value in ask(mu).values())
    assert all(isinstance(value, float) for value in shapley(Dense(1, [0.25, 1])).values())


def test_indices_need_numbers_and_known_names():
    mu = Dense(1, ["bad", "good"], Ordinal(["bad", "ok", "good"]))
    for ask in (
        shapley,
        banzhaf,
        orness,
        additive_moebius,
        lambda nu: interactions(nu, 1),
        lambda nu: interaction(nu, 1),
    ):
        with pytest.raises(
            ScaleError, match=r"bad < ok < good are not numbers\. Assign a number to each level first"
        ):
            ask(mu)
    with pytest.raises(CapacityError, match="index='owen' is unknown"):
        interaction(CardinalityThreshold(2, 1), 1, "owen")
    with pytest.raises(CapacityError, match=r"order=3 is not in 0\.\.2"):
        interactions(CardinalityThreshold(2, 1), 3)
    with pytest.raises(CapacityError, match="at least 2 criteria"):
        orness(CardinalityThreshold(1, 1))
    with pytest.raises(CapacityError, match="orness needs a capacity"):
        orness(CardinalityThreshold(3, 0))


def test_orness_of_every_family_is_the_mean_of_the_choquet_integral():
    for mu in random_families(7, 4):
        if mu.is_capacity:
            assert orness(mu) == (5 * mean_choquet_by_orders(mu) - 1) / 3
    assert orness(Dense(3, [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1], UNIT)) == pytest.approx(0.5)


def test_fractions_of_many_digits_stay_exact():
    rng = np.random.default_rng(3)
    long = [F(int(rng.integers(1, 1 << 60)), (1 << 61) - 1) ** 3 for _ in range(32)]
    mu = Dense.of(Focal(5, dict(enumerate(long))))
    for size in range(6):
        for index in INDICES:
            for found, value in interactions(mu, size, index).items():
                assert value == by_definition(mu, mu.criteria.mask(found), index)
