"""Floats, fractions and degenerate data: the answers are exact, whatever the numbers are."""

import json
from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.capacity import sugeno
from sugenet.fit.capacities.clashes import Tolerance, min_largest_error
from sugenet.fit.capacities.fitting import _min_total
from sugenet.fit.capacities.flows import largest_flow
from sugenet.fit.capacities.total import Costs
from sugenet.problem.clock import Clock
from tests.capacity.test_exact import floats_in
from tests.thinned import examples

NUMBER = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0, 1, 0.1, 0.3, 0.7, 5e-324, 1 - 2**-53, Fraction(1, 3), Fraction(1, 10**40), True]),
    st.fractions(0, 1, max_denominator=10**6),
)


@st.composite
def rated(draw, most=5, widest=3):
    n, many = draw(st.integers(1, widest)), draw(st.integers(1, most))
    pool = draw(st.lists(NUMBER, min_size=1, max_size=4))
    value = st.one_of(st.sampled_from(pool), NUMBER)
    rows = draw(st.lists(st.tuples(*[value] * n), min_size=many, max_size=many))
    return rows, draw(st.lists(value, min_size=many, max_size=many))


def exact(rows, ratings):
    return [[Fraction(value) for value in row] for row in rows], [Fraction(value) for value in ratings]


def formula(rows, ratings):
    """The least largest error, as docs/theory.md 10.3 has it, pair by pair."""
    found = Fraction(0)
    for x, a in zip(rows, ratings, strict=True):
        found = max(found, a - max(x), min(x) - a)
        for y, b in zip(rows, ratings, strict=True):
            apart = min(max(a - v, w - b, 0) for v, w in zip(x, y, strict=True))
            found = max(found, min(max(a - b, 0) / 2, apart))
    return found


@settings(max_examples=examples(30))
@given(rated(most=8, widest=4))
def test_the_least_largest_error_is_its_formula_and_attained(data):
    stays = sg.fit.Ratings(*data)
    rows, ratings = exact(*data)
    answer = sg.fit.fit_capacity(stays)
    assert answer.error == formula(rows, ratings)
    for mu in (answer.lower, answer.upper):
        values = [sugeno(mu, list(row)) for row in data[0]]
        assert max(abs(Fraction(v) - a) for v, a in zip(values, ratings, strict=True)) == answer.error
    assert sg.check(json.loads(json.dumps(answer.certificate)), stays)


def positive(value):
    return max(value, Fraction(0))


def max_min_distance(matrix, wanted):
    """Baaj's Delta, the Chebyshev distance of max over j of min(matrix[i][j], v_j) = wanted[i]."""

    def sigma(x, y, z):
        return min(positive(x - z) / 2, positive(y - z))

    return max(
        min(
            max(
                [
                    positive(b - row[j]),
                    *(sigma(b, other[j], c) for other, c in zip(matrix, wanted, strict=True)),
                ]
            )
            for j in range(len(row))
        )
        for row, b in zip(matrix, wanted, strict=True)
    )


def min_max_distance(matrix, wanted):
    """Baaj's nabla, that of min over j of max(matrix[i][j], v_j) = wanted[i]: the other one upside down."""
    return max_min_distance([[1 - x for x in row] for row in matrix], [1 - b for b in wanted])


@settings(max_examples=examples(30))
@given(rated(most=4, widest=3))
def test_the_largest_error_is_the_chebyshev_distance_of_both_systems(data):  # theory 10.3
    """The worths of the sets are the unknowns of a max-min system, and of a min-max system."""
    rows, ratings = exact(*data)
    n = len(rows[0])
    sets = [{i for i in range(n) if mask >> i & 1} for mask in range(1 << n)]
    least = [[min(row[i] for i in A) for A in sets[1:]] for row in rows]
    greatest = [[max(row[i] for i in range(n) if i not in A) for A in sets[:-1]] for row in rows]
    pairs = list(zip(rows, ratings, strict=True))
    # the worths of all criteria and of none are fixed, which the systems alone do not know
    forced = max(max(min(row) - a, a - max(row), Fraction(0)) for row, a in pairs)
    error = sg.fit.fit_capacity(sg.fit.Ratings(*data)).error
    assert error == max(forced, max_min_distance(least, ratings))
    assert error == max(forced, min_max_distance(greatest, ratings))
    if n <= 2:  # no capacity does better: halves between the numbers of the data are enough
        some = {Fraction(0), Fraction(1), *ratings, *(v for row in rows for v in row)}
        tried = sorted({(u + v) / 2 for u in some for v in some})
        worths = product(tried, repeat=2) if n == 2 else [(1, 1)]
        values = [
            [max(min(row), *(min(x, w) for x, w in zip(row, worth, strict=False))) for row in rows]
            for worth in worths
        ]
        assert error == min(max(abs(v - a) for v, a in zip(value, ratings, strict=True)) for value in values)


@settings(max_examples=20)
@given(
    rated(most=4, widest=2),
    st.lists(st.sampled_from([0, 1, 0.5, 10**30, Fraction(1, 7)]), min_size=4, max_size=4),
)
def test_the_least_total_cost_over_numbers_of_the_data(data, weights):
    rows, ratings = exact(*data)
    weights = weights[: len(rows)]
    levels = sorted({Fraction(0), Fraction(1), *ratings, *(v for row in rows for v in row)})
    n = len(rows[0])
    tables = [[Fraction(0), Fraction(1)]] if n == 1 else [[0, a, b, 1] for a, b in product(levels, levels)]

    def total(table):
        value = [
            max(
                min([table[mask], *(x for i, x in enumerate(row) if mask >> i & 1)])
                for mask in range(1, 1 << n)
            )
            for row in rows
        ]
        return sum(Fraction(w) * abs(v - a) for w, v, a in zip(weights, value, ratings, strict=True))

    stays = sg.fit.Ratings(*data, weights=weights)
    answer = sg.fit.fit_capacity(stays, "total")
    assert answer.error == min(map(total, tables))
    assert sg.check(json.loads(json.dumps(answer.certificate)), stays)
    again = sg.fit.learned_of(json.loads(json.dumps(answer.data())))
    assert (str(again), again.certificate) == (str(answer), answer.certificate)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_looked_at_coarsely_first_and_bounds_hold_at_any_time(seed):
    """The checker proves which is least; whenever time is up, what is said is true, and the gap closes."""
    rng = np.random.default_rng(seed)
    rows = rng.random((25, 3))
    stays = sg.fit.Ratings(rows, rng.random(25), weights=rng.integers(1, 4, 25))
    costs = Costs.of(stays, {"over": 2, "under": 1})
    best = sg.fit.fit_capacity(stays, "total", costs={"over": 2, "under": 1})
    assert best.is_best
    assert sg.check(best.certificate, stays)
    gaps = []
    for moments in (0, 2, 6, 12, 20, 10_000):
        found = _min_total(stays, costs, Clock(moments, now=count().__next__))
        assert found.least <= best.error <= found.error
        assert sg.check(json.loads(json.dumps(found.certificate)), stays)
        if not found.is_best:
            assert "was not decided in time" in str(found)
        gaps.append(found.error - found.least)
    assert gaps[0] > gaps[2] > gaps[-1] == 0


@settings(max_examples=20)
@given(rated())
def test_answers_go_to_json_and_back(data):
    stays = sg.fit.Ratings(*data)
    assert sg.fit.Ratings.of(json.loads(json.dumps(stays.data()))) == stays
    for answer in (
        sg.fit.version_space(stays),
        sg.fit.fit_capacity(stays),
        sg.fit.fit_capacity(stays, maxitive=1),
    ):
        again = sg.fit.learned_of(json.loads(json.dumps(answer.data())))
        assert type(again) is type(answer)
        assert str(again) == str(answer)
        assert again.certificate == answer.certificate
        assert len(repr(answer)) <= 1000
        assert sg.check(again.certificate, stays)


def test_neighbouring_floats_are_told_apart():
    """Differences that floats round to the same are different errors."""
    low, high = 0.3, float(np.nextafter(0.3, 1))
    errors = [sg.fit.fit_capacity(sg.fit.Ratings([[x, x]], [0.9])).error for x in (low, high)]
    assert errors == [Fraction(0.9) - Fraction(low), Fraction(0.9) - Fraction(high)]
    assert 0.9 - low == 0.9 - high or errors[0] > errors[1]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_sets_of_any_width(n):
    rng = np.random.default_rng(n)
    rows = rng.integers(0, 4, (30, n))
    ratings = rng.integers(0, 4, 30)
    stays = sg.fit.Ratings(rows, ratings, scale=range(4))
    k, m = Tolerance.of(stays.samples).clashes()
    slow = {
        (i, j)
        for i, j in product(range(30), repeat=2)
        if ratings[i] > ratings[j]
        and all(x < ratings[i] or y > ratings[j] for x, y in zip(rows[i], rows[j], strict=True))
    }
    assert set(zip(k.tolist(), m.tolist(), strict=True)) == slow
    assert min_largest_error(stays.samples)[0] == slow_error(rows.tolist(), ratings.tolist())
    for answer in (
        sg.fit.version_space(stays),
        sg.fit.fit_capacity(stays),
        sg.fit.fit_capacity(stays, "total"),
    ):
        assert sg.check(answer.certificate, stays)


def slow_error(rows, ratings):
    found = 0
    for x, a in zip(rows, ratings, strict=True):
        found = max(found, a - max(x), min(x) - a)
        for y, b in zip(rows, ratings, strict=True):
            apart = min(max(a - v, w - b, 0) for v, w in zip(x, y, strict=True))
            found = max(found, min((max(a - b, 0) + 1) // 2, apart))
    return found


def test_fifty_criteria_need_no_table():
    rng = np.random.default_rng(0)
    rows = rng.random((40, 50))
    stays = sg.fit.Ratings(rows, np.sort(rows, axis=1)[:, 25])
    space = sg.fit.version_space(stays)
    assert isinstance(space, sg.fit.VersionSpace)
    new = rng.random((20, 50))
    least, greatest = space.values(new)
    middle = np.sort(new, axis=1)[:, 25]
    assert ((least <= middle) & (middle <= greatest)).all()
    assert all(
        space.rules.bounds(row) == (low, high) for row, low, high in zip(new, least, greatest, strict=True)
    )


@settings(max_examples=20)
@given(st.data())
def test_flows_of_any_size_are_largest(data):
    size = data.draw(st.integers(1, 7))
    much = st.one_of(st.integers(0, 3), st.integers(0, 2**90))
    into, out = ([data.draw(much) for _ in range(size)] for _ in range(2))
    pairs = [(u, v) for u in range(size) for v in range(size) if u != v]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    flow = largest_flow(into, out, np.array(edges, dtype=np.int64).reshape(-1, 2))
    cuts = (
        sum(into[v] for v in range(size) if not held >> v & 1)
        + sum(out[v] for v in range(size) if held >> v & 1)
        for held in range(1 << size)
        if all(held >> v & 1 or not held >> u & 1 for u, v in edges)
    )
    assert flow.size == min(cuts)
    paths = flow.paths()
    assert sum(part for *_, part in paths) == flow.size
    for node in range(size):
        assert sum(part for first, _, part in paths if first == node) <= into[node]
        assert sum(part for _, last, part in paths if last == node) <= out[node]


EXACT = {
    "fractions": st.one_of(
        st.sampled_from([0, 1, Fraction(1, 2), Fraction(3, 4)]), st.fractions(0, 1, max_denominator=10)
    ),
    "integers": st.sampled_from([0, 1]),
}


@settings(max_examples=20)
@given(st.data(), st.sampled_from(sorted(EXACT)))
def test_exact_ratings_give_exact_capacities(data, kind):
    n, many = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    X = data.draw(st.lists(st.tuples(*[EXACT[kind]] * n), min_size=many, max_size=many))
    a = data.draw(st.lists(EXACT[kind], min_size=many, max_size=many))
    stays = sg.fit.Ratings(X, a)
    answers = [
        sg.fit.version_space(stays),
        sg.fit.fit_capacity(stays),
        sg.fit.fit_capacity(stays, maxitive=1),
        sg.fit.fit_capacity(stays, minitive=1),
        sg.fit.fit_capacity(stays, "total"),
    ]
    for answer in [*answers, *(sg.fit.learned_of(json.loads(json.dumps(one.data()))) for one in answers)]:
        assert floats_in([answer.ratings.X, answer.ratings.a]) == []
        if isinstance(answer, sg.fit.Conflict):
            continue
        values = answer.values(X)
        assert floats_in([answer.lower, answer.upper, list(answer.rules), values, answer.values(X[0])]) == []
        if isinstance(answer, sg.fit.CapacityFit):
            found = [answer.error, answer.least, answer.capacity, answer.fitted, answer.predict(X)]
            assert floats_in(found) == []
            if answer.loss == "largest":
                for row in (*values, answer.fitted):
                    assert max(abs(s - r) for s, r in zip(row.tolist(), a, strict=True)) <= answer.error


def test_the_errors_of_exact_ratings_are_no_larger_than_said():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n, many, top = rng.integers(1, 5), rng.integers(1, 9), int(rng.choice([2, 3, 8, 10]))
        X = [[Fraction(int(k), top) for k in row] for row in rng.integers(0, top + 1, (many, n))]
        a = [Fraction(int(k), top) for k in rng.integers(0, top + 1, many)]
        answer = sg.fit.fit_capacity(sg.fit.Ratings(X, a))
        for mu in (answer.lower, answer.upper):
            assert max(abs(sugeno(mu, x) - rating) for x, rating in zip(X, a, strict=True)) <= answer.error
