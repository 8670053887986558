"""The formulas of docs/theory.md 6 that no single family or method carries,
by their definition on all small cases.
"""

from fractions import Fraction
from itertools import permutations, product
from math import ceil, comb
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    CardinalityThreshold,
    Criteria,
    Dense,
    Possibility,
    WeightedThreshold,
    interaction,
    outer_moebius,
    sugeno,
    transforms,
)
from tests.capacity.oracles import integral, monotone_tables, numbers, places, scale_values, set_functions


@pytest.mark.parametrize(("n", "levels"), [(1, 4), (2, 3), (3, 2)])
def test_the_tables_with_one_max_zeta_are_an_interval(n, levels):  # docs/theory.md 6.2
    candidates = np.array(list(product(range(levels), repeat=1 << n)))
    spread = np.array([transforms.max_zeta(m) for m in candidates])
    for values in monotone_tables(n, levels, capacities=False):
        mu = np.array(values)
        solves = (spread == mu).all(axis=1)
        between = (candidates >= transforms.inner_moebius(mu, 0)).all(axis=1) & (candidates <= mu).all(axis=1)
        assert solves.any()
        assert (solves == between).all()


@given(set_functions(max_n=4), st.data())
def test_the_integral_as_a_minimum_over_outer_moebius_sets(mu, data):  # docs/theory.md 6.2
    row = data.draw(st.lists(scale_values(mu.scale), min_size=len(mu.criteria), max_size=len(mu.criteria)))
    sample = dict(zip(mu.criteria, row, strict=True))
    rated = (
        max([worth, *(value for name, value in sample.items() if name not in kept)], default=mu.scale.bottom)
        for kept, worth in outer_moebius(mu).items()
    )
    assert sugeno(mu, sample) == min(rated, default=mu.scale.top)


@pytest.mark.parametrize(("n", "levels"), [(1, 3), (2, 4), (3, 3)])
def test_a_capacity_is_the_least_of_possibilities_over_orders(n, levels):  # docs/theory.md 6.4
    for table in monotone_tables(n, levels):
        members = []
        for order in permutations(range(n)):
            pi = [
                Fraction(table[sum(1 << later for later in order[order.index(i) :])], levels - 1)
                for i in range(n)
            ]
            members.append(Possibility(pi))
        for mask in range(1 << n):
            assert min(member.at(mask) for member in members) == Fraction(table[mask], levels - 1)


@pytest.mark.parametrize(("n", "levels"), [(1, 3), (2, 3), (3, 3)])
def test_the_integral_is_a_median(n, levels):  # docs/theory.md 6.5
    for table in monotone_tables(n, levels):
        mu = Dense(n, [Fraction(value, levels - 1) for value in table])
        for row in product(range(levels), repeat=n):
            falling = sorted(range(n), key=lambda i: -row[i])
            worths = [table[sum(1 << i for i in falling[:k])] for k in range(1, n)]
            middle = median_low([*row, *worths])  # 2n - 1 numbers
            assert middle == integral(table.__getitem__, row, levels - 1)
            assert sugeno(mu, [Fraction(value, levels - 1) for value in row]) == Fraction(middle, levels - 1)


@given(st.integers(1, 6), st.integers(0, 4), st.data())
def test_models_of_a_cardinality_threshold(n, others, data):  # docs/theory.md 6.7
    tau = data.draw(st.integers(0, n + 1))
    mu = CardinalityThreshold(range(1, n + 1), tau, n + others)
    models = interaction(mu, (), "banzhaf") * 2 ** (n + others)  # of no criterion: the mean worth
    assert models == sum(mu.at(mask) for mask in range(1 << (n + others)))
    assert models == 2**others * sum(comb(n, k) for k in range(tau, n + 1))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=7), st.integers(0, 20))
def test_models_of_a_weighted_threshold(row, theta):  # docs/theory.md 6.8
    mu = WeightedThreshold(row, theta)
    sums = [sum(row[place] for place in places(mask)) for mask in range(1 << len(row))]
    assert interaction(mu, (), "banzhaf") * 2 ** len(row) == sum(total >= theta for total in sums)


@given(
    st.lists(st.integers(-4, 4).filter(bool), min_size=1, max_size=5),
    st.one_of(st.integers(-12, 12), numbers),
)
def test_bipolar_sums_are_thresholds_on_literals(weights, theta):  # docs/theory.md 6.8
    n, total = len(weights), sum(map(abs, weights))
    by_literal = dict.fromkeys(Criteria.literals(n), 0)
    for i, weight in enumerate(weights, start=1):
        by_literal[i if weight > 0 else -i] = abs(weight)
    mu = WeightedThreshold(by_literal, ceil((Fraction(theta) + total) / 2), Criteria.literals(n))
    for x in product((-1, 1), repeat=n):
        reached = sum(weight * value for weight, value in zip(weights, x, strict=True)) >= theta
        assert mu({i * value for i, value in enumerate(x, start=1)}) == reached
