"""All ways to the Sugeno integral, held against equation (2) of the paper."""

from fractions import Fraction
from itertools import product
from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    CardinalityThreshold,
    Conjugate,
    Criteria,
    Dense,
    Focal,
    FromFunction,
    Ordinal,
    Symmetric,
    WeightedThreshold,
    sugeno,
)
from sugenet.capacity import integral as integrals
from sugenet.errors import CapacityError, CriteriaError, ScaleError
from tests.capacity.oracles import (
    GRADES,
    integral,
    monotone_tables,
    numbers,
    places,
    scale_values,
    set_functions,
)

METHODS = ["auto", "definition", "sorting", "focal", "cuts"]


def lifted(mu, scale):
    return mu.at if mu.scale == scale else lambda mask: scale.top if mu.at(mask) else scale.bottom


@given(set_functions(), st.data())
def test_all_methods_give_the_definition(mu, data):  # equation (2)
    row = data.draw(st.lists(scale_values(mu.scale), min_size=len(mu.criteria), max_size=len(mu.criteria)))
    expected = integral(mu.at, row, mu.scale.top)
    for method in METHODS:
        assert sugeno(mu, row, method=method) == expected
    assert sugeno(mu, dict(zip(mu.criteria, row, strict=True))) == expected


@pytest.mark.parametrize("wrap", [list, tuple, np.array, lambda column: np.array(column, dtype=object)])
def test_batches_by_name(wrap):
    mu = Focal(["a", "b"], {"a": 0.5, ("a", "b"): 1})
    rows = [[0.1, 0.2], [0.3, 0.9]]  # as many samples as criteria
    expected = [sugeno(mu, row) for row in rows]
    assert sugeno(mu, {"b": wrap([0.2, 0.9]), "a": wrap([0.1, 0.3])}).tolist() == expected
    assert sugeno(mu, [{"b": b, "a": a} for a, b in rows]).tolist() == expected
    assert sugeno(mu, {"a": wrap([]), "b": wrap([])}).shape == (0,)
    grades = Focal(["a", "b"], {("a", "b"): "ok"}, GRADES)
    assert sugeno(grades, {"a": wrap(["ok", "bad"]), "b": wrap(["top", "ok"])}).tolist() == ["ok", "bad"]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 40, 100])
def test_sorting_asks_for_few_worths(n):  # docs/theory.md 6.5
    asked = []

    def worth(held):
        asked.append(held)
        return len(held) / n

    mu = FromFunction(n, worth)
    for row in np.random.default_rng(n).random((50, n)):
        asked.clear()
        sugeno(mu, row, method="sorting")
        assert len(asked) <= ceil(log2(n)) + 1


@given(set_functions(max_n=4), st.data())
def test_a_batch_is_its_rows(mu, data):
    n = len(mu.criteria)
    rows = data.draw(
        st.lists(st.lists(scale_values(mu.scale), min_size=n, max_size=n), min_size=1, max_size=4)
    )
    batch = np.empty((len(rows), n), dtype=object)
    batch[:] = rows
    for method in METHODS:
        assert list(sugeno(mu, batch, method=method)) == [sugeno(mu, row) for row in rows]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_exhaustively_on_three_levels(n):  # paper 2.2, all capacities and all samples
    scale = Ordinal(range(3))
    samples = list(product(range(3), repeat=n))
    X = np.array(samples).astype(str)
    for table in monotone_tables(n, 3):
        mu = Dense(n, np.array(table).astype(str), scale)
        expected = [integral(table.__getitem__, row, 2) for row in samples]
        assert [level.rank for level in sugeno(mu, X)] == expected
        focal = Focal.of(mu)
        assert [level.rank for level in sugeno(focal, X)] == expected  # S from focal sets, paper 2.2
        reversed_ = sugeno(Conjugate(mu), np.array([[scale.reverse(v) for v in row] for row in X]))
        assert [2 - level.rank for level in reversed_] == expected  # 1 - S_mu(x) = S_mu^c(1 - x)
        for row, value in list(zip(samples, expected, strict=True))[::5]:  # cuts (docs/theory.md 6.1)
            for a in range(1, 3):
                above = sum(1 << i for i in range(n) if row[i] >= a)
                assert (value >= a) == (table[above] >= a)
            for a in range(2):
                above = sum(1 << i for i in range(n) if row[i] > a)
                assert (value <= a) == (table[above] <= a)


@given(set_functions(), st.data())
def test_a_binary_sample_integrates_to_the_worth_of_its_set(mu, data):  # paper 2.2, S_mu(x) = mu(H)
    mask = data.draw(st.integers(0, mu.criteria.full))
    row = [mu.scale.top if mask >> place & 1 else mu.scale.bottom for place in range(len(mu.criteria))]
    assert sugeno(mu, row) == mu.at(mask)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(-1, 12), st.data())
def test_the_threshold_constraint_is_a_sugeno_integral(weights, theta, data):  # equations (3) and (4)
    x = data.draw(st.lists(st.integers(0, 1), min_size=len(weights), max_size=len(weights)))
    assert sugeno(WeightedThreshold(weights, theta), x) == (
        sum(w * v for w, v in zip(weights, x, strict=True)) >= theta
    )


@given(st.lists(numbers, min_size=1, max_size=6), st.data())
def test_the_integral_of_a_cardinality_threshold_is_the_tau_th_largest(row, data):  # docs/theory.md 6.5
    tau = data.draw(st.integers(1, len(row)))
    assert sugeno(CardinalityThreshold(len(row), tau), row) == sorted(row, reverse=True)[tau - 1]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4), st.data())
def test_graded_inputs_of_the_polarized_encoding(degrees, data):  # docs/theory.md 6.1
    n = len(degrees)
    signs = data.draw(st.lists(st.sampled_from([1, -1]), min_size=n, max_size=n))
    tau = data.draw(st.integers(0, n + 1))
    mu = CardinalityThreshold({s * i for i, s in enumerate(signs, start=1)}, tau, Criteria.literals(n))
    sample = {}
    for i, degree in enumerate(degrees, start=1):
        sample[i], sample[-i] = degree, UNIT.reverse(degree)
    row = [sample[literal] for literal in mu.criteria]
    expected = integral(lifted(mu, UNIT), row, 1)
    for method in METHODS:
        assert sugeno(mu, sample, method=method, scale=UNIT) == expected


@given(set_functions(max_n=4, scale=BOOLEAN), st.data())
def test_a_boolean_set_function_integrates_samples_on_any_scale(mu, data):
    row = data.draw(
        st.lists(st.sampled_from(GRADES.levels), min_size=len(mu.criteria), max_size=len(mu.criteria))
    )
    expected = integral(lifted(mu, GRADES), row, GRADES.top)
    for method in METHODS:
        assert sugeno(mu, row, method=method, scale=GRADES) == expected


@pytest.mark.parametrize("n", [1, 7, 20])
def test_large_batches_agree_with_one_sample_at_a_time(n):
    rng = np.random.default_rng(n)
    mu = Dense.of(
        Focal(n, {int(m): float(w) for m, w in zip(rng.integers(0, 1 << n, 30), rng.random(30), strict=True)})
    )
    X = rng.random((100_000, n))
    X[::3] = np.round(X[::3], 1)  # with ties
    found = sugeno(mu, X)
    assert found.shape == (100_000,)
    for row in range(0, 100_000, 7919):
        assert found[row] == sugeno(mu, X[row], method="sorting")
    assert sugeno(mu, X[:0]).shape == (0,)


def test_results_are_of_the_scale():
    assert type(sugeno(CardinalityThreshold(2, 1), [0, 1])) is int
    assert sugeno(Symmetric(2, [0, Fraction(1, 3), 1]), [1, 0]) == Fraction(1, 3)
    assert sugeno(Symmetric(2, ["bad", "ok", "top"], GRADES), ["top", "bad"]) == "ok"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda mu: sugeno(mu, [0.5]), CriteriaError, r"x has shape \(1,\), but a sample has 2 values"),
        (lambda mu: sugeno(mu, np.zeros((2, 2, 2))), CriteriaError, "batch of shape"),
        (lambda mu: sugeno(mu, {"a": 1}), CriteriaError, "the sample has nothing for b"),
        (lambda mu: sugeno(mu, {"a": 1, "b": 1, "c": 0}), CriteriaError, "unknown criterion 'c'"),
        (lambda mu: sugeno(mu, [0.5, float("nan")]), ScaleError, "Found nan at 1"),
        (
            lambda mu: sugeno(mu, {"a": [0.1, 0.3], "b": [0.2]}),
            CriteriaError,
            r"different lengths \(a: 2, b: 1\)",
        ),
        (
            lambda mu: sugeno(mu, {"a": [0.1, 0.3], "b": 1}),
            CriteriaError,
            r"different lengths \(a: 2, b: one value\)",
        ),
        (lambda mu: sugeno(mu, [{"a": 1, "b": 1}, [1, 1]]), CriteriaError, "sample 1 of x is not a mapping"),
        (lambda mu: sugeno(mu, [{"a": 1, "b": 1}, {"a": 1}]), CriteriaError, "sample 1 has nothing for b"),
        (
            lambda mu: sugeno(mu, [[0, 1], [1]]),
            CriteriaError,
            "samples of x have different lengths; every sample has 2 values",
        ),
        (lambda mu: sugeno(mu, [[0, 1], [0, None]]), ScaleError, r"None.* at \[1, 1\]"),
        (lambda mu: sugeno([0, 1], [1]), CapacityError, r"mu is \[0, 1\], which is not a set function"),
        (lambda mu: sugeno(mu, [0, 1], scale="unit"), ScaleError, "scale is 'unit', which is not a scale"),
        (lambda mu: sugeno(mu, [3, 4]), ScaleError, r"not in \[0, 1\]"),
        (
            lambda mu: sugeno(mu, [0, 1], method="magic"),
            CapacityError,
            "method='magic' is not one of auto, definition",
        ),
        (lambda mu: sugeno(mu, ["ok", "ok"], scale=GRADES), ScaleError, "They must agree"),
        (lambda mu: sugeno(CardinalityThreshold(1, 1), ["ok"]), ScaleError, "give scale="),
    ],
)
def test_bad_samples_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Symmetric(["a", "b"], [0, 0.5, 1]))


def test_a_function_without_a_table_is_sorted():
    mu = FromFunction(40, lambda held: len(held) / 40)
    X = np.random.default_rng(0).random((5, 40))
    assert sugeno(mu, X).tolist() == [
        max(min(v, (k + 1) / 40) for k, v in enumerate(sorted(row)[::-1])) for row in X.tolist()
    ]


def test_places_are_the_bits():
    assert places(0b1010) == [1, 3]


@pytest.mark.parametrize("n", [1, 2, 5, 16, 20])
@pytest.mark.parametrize("kind", ["any", "ties", "near ties", "ends"])
def test_the_fast_table_lookup_is_its_plain_twin(n, kind):
    rng = np.random.default_rng(n)
    table = Dense.of(
        Focal(n, {int(m): float(w) for m, w in zip(rng.integers(0, 1 << n, 40), rng.random(40), strict=True)})
    ).table()
    table = np.maximum(table, 0.05) if kind == "ends" else table  # worth something on the empty set
    X = rng.random((40_000, n))
    if kind == "ties":
        X = np.round(X, 1)
    if kind == "near ties":  # values that differ in their last bits only
        X[:, : n // 2] = 0.3 + rng.integers(0, 40, (40_000, n // 2)) * 2.0**-54
    if kind == "ends":
        X[rng.random(X.shape) < 0.3] = 0.0
        X[rng.random(X.shape) < 0.2] = 1.0
        X[0] = -0.0
    assert (integrals.integrals_by_table(table, X) == integrals._by_argsort(table, X)).all()
    assert (integrals._by_halving(table, X[:100]) == integrals._by_argsort(table, X[:100])).all()
