"""Capacities from ratings against the list of all capacities, by the definition written out."""

from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.capacity import is_k_maxitive, is_k_minitive, sugeno
from tests.capacity.oracles import integral, monotone_tables, subsets
from tests.thinned import examples


@cache
def values_of(table, row, top):
    return integral(table.__getitem__, row, top)


def small_maxitive(table, n, k):
    """Whether what each set is worth is worth already some part of at most k criteria."""
    return all(
        table[mask] == max(table[part] for part in subsets(mask) if part.bit_count() <= k)
        for mask in range(1 << n)
    )


def conjugate(table, top):
    return tuple(top - value for value in reversed(table))


def all_of(found, n, tables):
    """The tables between the least and the greatest capacity of an answer."""
    low = [int(found.lower.at(mask)) for mask in range(1 << n)]
    high = [int(found.upper.at(mask)) for mask in range(1 << n)]
    return {table for table in tables if all(a <= b <= c for a, b, c in zip(low, table, high, strict=True))}


@st.composite
def rated(draw):
    n, levels = draw(st.sampled_from([(1, 5), (2, 5), (3, 3), (2, 4), (3, 2)]))
    value = st.integers(0, levels - 1)
    count = draw(st.integers(1, 6))
    rows = draw(st.lists(st.tuples(*[value] * n), min_size=count, max_size=count))
    if draw(st.booleans()):  # near to some capacity, so that conflicts are few
        table = draw(st.sampled_from(monotone_tables(n, levels)))
        ratings = [values_of(table, row, levels - 1) for row in rows]
        ratings[0] = draw(value)
    else:
        ratings = draw(st.lists(value, min_size=count, max_size=count))
    return n, levels, rows, ratings


def prepared(data):
    n, levels, rows, ratings = data
    tables = monotone_tables(n, levels)
    given_values = [[values_of(table, row, levels - 1) for row in rows] for table in tables]
    return sg.fit.Ratings(rows, ratings, scale=range(levels)), tables, given_values


@settings(max_examples=examples(30))
@given(rated())
def test_the_version_space_is_every_capacity_that_fits(data):
    n, _, rows, ratings = data
    stays, tables, found = prepared(data)
    fit = {table for table, values in zip(tables, found, strict=True) if values == ratings}
    answer = sg.fit.version_space(stays)
    assert isinstance(answer, sg.fit.VersionSpace if fit else sg.fit.Conflict)
    assert sg.check(answer.certificate, stays)
    if fit:
        assert all_of(answer, n, tables) == fit
        assert answer.lower.is_capacity
        assert answer.upper.is_capacity
        least, greatest = answer.values(rows)
        assert list(map(int, least)) == list(map(int, greatest)) == ratings


@settings(max_examples=20)
@given(rated())
def test_a_new_sample_gets_every_value_between_and_no_other(data):
    n, levels, _, ratings = data
    stays, tables, found = prepared(data)
    answer = sg.fit.version_space(stays)
    if isinstance(answer, sg.fit.Conflict):
        return
    fit = [table for table, values in zip(tables, found, strict=True) if values == ratings]
    for row in product(range(levels), repeat=n):
        least, greatest = answer.values(row)
        got = {values_of(table, row, levels - 1) for table in fit}
        assert got == set(range(int(least), int(greatest) + 1))
        assert answer.rules.bounds(row) == (least, greatest)


@settings(max_examples=examples(30))
@given(rated())
def test_conflicts_are_what_no_capacity_can_meet_and_the_fewest_samples_are_dropped(data):
    _, _, _, ratings = data
    stays, _, found = prepared(data)
    answer = sg.fit.version_space(stays)
    if isinstance(answer, sg.fit.VersionSpace):
        return
    count = len(ratings)
    fewest = min(
        sum(a != b for a, b in zip(values, ratings, strict=True)) for values in found
    )  # a sample is dropped or met
    assert len(answer.dropped) == fewest
    if answer.rest is not None:
        assert isinstance(sg.fit.version_space(answer.rest), sg.fit.VersionSpace)
    alone = {k for k in range(count) if all(values[k] != ratings[k] for values in found)}
    assert set(answer.alone) == alone
    clashing = {
        frozenset(pair)
        for pair in combinations(set(range(count)) - alone, 2)
        if not any(all(values[k] == ratings[k] for k in pair) for values in found)
    }
    assert {frozenset(pair) for pair in answer.pairs} == clashing
    assert len(answer.sentences()) == len(alone) + len(clashing)


@settings(max_examples=examples(30))
@given(rated())
def test_clashes_are_transitive(data):
    stays, _, _ = prepared(data)
    answer = sg.fit.version_space(stays)
    pairs = set(answer.pairs) if isinstance(answer, sg.fit.Conflict) else set()
    assert all((k, n) in pairs for k, m in pairs for other, n in pairs if other == m)


@settings(max_examples=examples(30))
@given(rated())
def test_the_least_largest_error_and_all_capacities_that_attain_it(data):
    n, _, _, ratings = data
    stays, tables, found = prepared(data)
    errors = [max(abs(a - b) for a, b in zip(values, ratings, strict=True)) for values in found]
    answer = sg.fit.fit_capacity(stays)
    assert answer.error == min(errors)
    best = {table for table, error in zip(tables, errors, strict=True) if error == min(errors)}
    assert all_of(answer, n, tables) == best
    assert sg.check(answer.certificate, stays)


@settings(max_examples=25)
@given(rated(), st.integers(1, 3))
def test_k_maxitive_and_k_minitive_fits_are_best_and_the_greatest_or_least(data, k):
    n, levels, _, ratings = data
    k = min(k, n)
    stays, tables, found = prepared(data)
    errors = [max(abs(a - b) for a, b in zip(values, ratings, strict=True)) for values in found]
    for kind, is_kind, side in (
        ("maxitive", is_k_maxitive, lambda a, b: a <= b),
        ("minitive", is_k_minitive, lambda a, b: a >= b),
    ):
        allowed = [
            (table, error)
            for table, error in zip(tables, errors, strict=True)
            if small_maxitive(table if kind == "maxitive" else conjugate(table, levels - 1), n, k)
        ]
        answer = sg.fit.fit_capacity(stays, **{kind: k})
        assert answer.error == min(error for _, error in allowed)
        assert is_kind(answer.capacity, k)
        assert answer.capacity.is_capacity
        mine = tuple(int(answer.capacity.at(mask)) for mask in range(1 << n))
        assert (mine, answer.error) in allowed
        for table, error in allowed:
            if error == answer.error:
                assert all(side(a, b) for a, b in zip(table, mine, strict=True))
        assert sg.check(answer.certificate, stays)


def priced(costs):
    if costs is None:
        return lambda rating, value: abs(rating - value)
    if isinstance(costs, dict):
        return lambda rating, value: (
            costs["over"] * max(value - rating, 0) + costs["under"] * max(rating - value, 0)
        )
    return lambda rating, value: costs[rating][value]


@settings(max_examples=examples(30))
@given(rated(), st.data())
def test_the_least_total_cost_for_any_costs_and_weights(data, more):
    _, levels, rows, ratings = data
    _, _, found = prepared(data)
    count = len(ratings)
    weights = more.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    table = [[more.draw(st.integers(0, 4)) * (a != b) for b in range(levels)] for a in range(levels)]
    stays = sg.fit.Ratings(rows, ratings, scale=range(levels), weights=weights)
    for costs in (None, {"over": 2, "under": 3}, {"over": 0, "under": 1}, table):
        price = priced(costs)

        def total(values, price=price):
            triples = zip(weights, ratings, values, strict=True)
            return sum(weight * price(rating, value) for weight, rating, value in triples)

        answer = sg.fit.fit_capacity(stays, "total", costs=costs)
        assert answer.error == answer.least == min(map(total, found))
        early = sg.fit.fit_capacity(stays, "total", costs=costs, time_limit=0)
        assert early.least <= answer.error <= early.error
        assert total([int(value) for value in early.fitted]) == early.error
        assert sg.check(early.certificate, stays)
        for mu in (answer.lower, answer.upper):
            values = [int(value) for value in sugeno(mu, rows)]
            assert total(values) == answer.error
        assert sg.check(answer.certificate, stays)


@pytest.mark.parametrize("loss", ["largest", "total"])
def test_numbers_between_the_data_do_no_better(loss):
    """On [0, 1] the optimum over capacities on the finer grid of eighths is that over all numbers."""
    rng = np.random.default_rng(4)
    tables = monotone_tables(2, 9)
    for _ in range(25):
        rows = [tuple(2 * int(value) for value in row) for row in rng.integers(0, 5, (4, 2))]
        ratings = [2 * int(value) for value in rng.integers(0, 5, 4)]
        stays = sg.fit.Ratings([[v / 8 for v in row] for row in rows], [a / 8 for a in ratings])
        measure = max if loss == "largest" else sum
        best = min(
            measure(abs(values_of(table, row, 8) - a) for row, a in zip(rows, ratings, strict=True))
            for table in tables
        )
        assert sg.fit.fit_capacity(stays, loss).error == Fraction(best, 8)


def test_the_worked_example_of_max_min_systems():
    """Baaj, arXiv 2408.07768: the greatest 2-maxitive capacity of three rated samples."""
    stays = sg.fit.Ratings([[0.15, 0.2, 0.3], [0.5, 0.25, 0.3], [0.4, 0.7, 0.35]], [0.2, 0.3, 0.4])
    answer = sg.fit.fit_capacity(stays, maxitive=2)
    assert answer.error == 0
    worth = {(1,): 0.3, (2,): 0.4, (3,): 0.2, (1, 2): 1, (1, 3): 1, (2, 3): 1, (1, 2, 3): 1}
    assert {members: answer.capacity(members) for members in worth} == worth


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_three_criteria_on_five_levels(seed):
    """Against all 49347 capacities."""
    rng = np.random.default_rng(seed)
    rows = [tuple(map(int, row)) for row in rng.integers(0, 5, (4, 3))]
    data = (3, 5, rows, [int(value) for value in rng.integers(0, 5, 4)])
    stays, tables, found = prepared(data)
    ratings = data[3]
    errors = [max(abs(a - b) for a, b in zip(values, ratings, strict=True)) for values in found]
    best = sg.fit.fit_capacity(stays)
    assert best.error == min(errors)
    assert all_of(best, 3, tables) == {
        table for table, error in zip(tables, errors, strict=True) if error == min(errors)
    }
    totals = [sum(abs(a - b) for a, b in zip(values, ratings, strict=True)) for values in found]
    assert sg.fit.fit_capacity(stays, "total").error == min(totals)
