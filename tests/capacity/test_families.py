"""Every family against its own values: tables, focal sets, counts, conjugates, orders."""

from fractions import Fraction
from itertools import combinations, islice
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
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
    Join,
    Meet,
    Necessity,
    Nested,
    Possibility,
    Symmetric,
    WeightedThreshold,
    equal,
    inner_moebius,
    interactions,
    maxitivity,
    random_capacity,
    selection_rules,
    shapley,
    violating_pair,
)
from sugenet.errors import CapacityError, CriteriaError, NotMonotoneError, ScaleError, TooLargeError
from tests.capacity.oracles import GRADES, focal_sets, monotone_tables, places, set_functions
from tests.thinned import examples


@given(set_functions())
def test_tables_agree_with_single_values(mu):
    assert list(mu.scale.decode(mu.table())) == [mu.at(mask) for mask in range(1 << len(mu.criteria))]


@given(set_functions())
def test_every_family_is_monotone(mu):
    for mask in range(1 << len(mu.criteria)):
        assert all(mu.at(mask ^ 1 << place) <= mu.at(mask) for place in places(mask))


@given(set_functions(), st.data())
def test_focal_sets_are_those_of_the_definition_in_every_order(mu, data):
    n = len(mu.criteria)
    expected = focal_sets(mu.at, n, mu.scale.bottom)
    costs = data.draw(
        st.lists(st.one_of(st.integers(0, 3), st.sampled_from([0.1, Fraction(1, 3)])), min_size=n, max_size=n)
    )
    for by, price in (
        (None, None),
        ("size", [1] * n),
        (costs, costs),
        (dict(zip(mu.criteria, costs, strict=True)), costs),
    ):
        listed = list(mu.focal_sets(by=by))
        assert {mu.criteria.mask(focal.members): focal.weight for focal in listed} == expected
        assert len(listed) == len(expected)
        if price:
            totals = [
                sum(Fraction(price[place]) for place in places(mu.criteria.mask(focal.members)))
                for focal in listed
            ]
            assert totals == sorted(totals)
    assert mu.focal_count() == len(expected)
    assert all(mu.is_focal(mask) == (mask in expected) for mask in range(1 << n))


@given(set_functions())
def test_conjugate_reverses_on_the_complement_and_twice_is_the_identity(mu):  # paper 2.2, mu^c
    conjugate, full = mu.conjugate(), mu.criteria.full
    for mask in range(full + 1):
        assert conjugate.at(mask) == mu.scale.reverse(mu.at(full ^ mask))
        assert conjugate.conjugate().at(mask) == mu.at(mask)
    expected = focal_sets(conjugate.at, len(mu.criteria), mu.scale.bottom)
    assert dict(conjugate.focal_masks()) == expected
    assert conjugate.focal_count() == len(expected)
    view = Conjugate(mu)
    assert dict(view.focal_masks()) == expected
    assert list(view.table()) == list(conjugate.table())


@given(set_functions())
def test_a_set_function_is_the_best_of_its_focal_sets(mu):  # paper 2.2, mu from mu_#
    again = Focal.of(mu)
    assert [again.at(mask) for mask in range(mu.criteria.full + 1)] == [
        mu.at(mask) for mask in range(mu.criteria.full + 1)
    ]
    assert Dense.of(again) == Dense.of(mu)


@pytest.mark.parametrize(("n", "dedekind"), [(1, 3), (2, 6), (3, 20), (4, 168), (5, 7581)])
def test_boolean_capacities_number_dedekind_minus_two(n, dedekind):  # docs/theory.md 6.4
    tables = monotone_tables(n, 2)
    assert len(tables) == dedekind - 2
    assert len({Dense(n, table, BOOLEAN) for table in tables}) == len(tables)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_cardinality_threshold_closed_forms(n):  # docs/theory.md 6.7
    for tau in range(-1, n + 3):
        mu = CardinalityThreshold(n, tau)
        assert mu.is_capacity == (1 <= tau <= n)
        assert mu.focal_count() == (comb(n, tau) if tau >= 0 else 1)
        assert mu.conjugate() == CardinalityThreshold(n, n - tau + 1)
        assert (Dense.of(mu.conjugate()) == Dense.of(mu)) == (n == 2 * tau - 1)


def test_the_neuron_of_example_1():  # paper, Example 1
    mu = CardinalityThreshold({1, 2, -3, 4}, tau=2, criteria=Criteria.literals(4))
    assert {focal.members for focal in mu.focal_sets()} == {
        frozenset(pair) for pair in combinations([1, 2, -3, 4], 2)
    }
    assert mu({1, -2, 3, -4}) == 0  # x = (+1, -1, +1, -1)
    assert mu({1, 2, 3, -4}) == 1


@pytest.mark.parametrize(
    ("mu", "text"),
    [
        (CardinalityThreshold(3, 0), "constant, worth 1 on every set (always)"),
        (CardinalityThreshold(3, 4), "constant, worth 0 on every set (never)"),
        (WeightedThreshold([1, 2], 4), "1 1 + 2 2 >= 4: constant, worth 0"),
        (Symmetric(2, ["ok", "ok", "top"], GRADES), "not a capacity: ok on no criteria, top on all"),
        (CardinalityThreshold(100, 7), "at least 7 of 100 criteria"),
        (Possibility([0.5, 1]), "possibility of {1: 0.5, 2: 1}"),
    ],
)
def test_a_value_says_what_it_is(mu, text):
    assert text in str(mu)


def test_numbers_of_every_kind_are_taken():
    assert Criteria(np.int64(3)) == Criteria(3)
    assert CardinalityThreshold(np.int64(3), 2) == CardinalityThreshold(3, 2)
    assert WeightedThreshold((k for k in (3, 1)), 3) == WeightedThreshold([3, 1], 3)
    cheapest = CardinalityThreshold(2, 1).focal_sets(by=np.array([0.5, 0.1], dtype=np.float32))
    assert [focal.members for focal in cheapest] == [{2}, {1}]


def test_weighted_threshold_takes_floats_as_what_they_are():
    assert WeightedThreshold([0.1, 0.2], 0.3)({1, 2}) == 1  # exactly: 0.1 + 0.2 exceeds the float 0.3
    tenths = [Fraction(1, 10), Fraction(2, 10)]
    assert WeightedThreshold(tenths, Fraction(3, 10))({1, 2}) == 1
    assert WeightedThreshold(tenths, 0.3)({1, 2}) == 1  # the float 0.3 is a little less than 3/10
    assert WeightedThreshold([0.1] * 3, 0.3)({1, 2, 3}) == 1


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=6), st.integers(-10, 10))
def test_signed_weights_on_literals(weights, theta):  # docs/theory.md 6.8
    mu = WeightedThreshold.signed(weights, theta)
    n = len(weights)
    for mask in range(1 << n):
        literals = {i if mask >> (i - 1) & 1 else -i for i in range(1, n + 1)}
        assert mu(literals) == (sum(weights[i] for i in places(mask)) >= theta)


@pytest.mark.parametrize("by", [None, "size"])
def test_large_thresholds_are_never_listed_to_be_counted(by):
    weights = [(37 * i) % 97 + 1 for i in range(400)]
    mu = WeightedThreshold(weights, sum(weights) // 2)
    assert mu.focal_count() > 10**100
    first = list(islice(mu.focal_sets(by=by), 10_000))
    assert len({focal.members for focal in first}) == 10_000
    assert all(mu.is_focal(mu.criteria.mask(focal.members)) for focal in first[::1000])
    assert mu.conjugate().focal_count() > 10**100


def test_many_levels_of_one_large_threshold_are_counted_by_formula():
    weights = [1, 2, 3] * 40
    low, high = (WeightedThreshold(weights, theta) for theta in (60, 61))
    mu = Nested({0.5: low, 1: high})
    small = Nested({0.5: WeightedThreshold(weights[:9], 6), 1: WeightedThreshold(weights[:9], 8)})
    assert small.focal_count() == len(list(small.focal_sets()))
    assert mu.focal_count() < low.focal_count() + high.focal_count()
    assert mu.conjugate().focal_count() > 0


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=6),
    st.lists(st.integers(-2, 14), min_size=1, max_size=4, unique=True),
)
def test_nested_thresholds_count_between_levels(weights, thetas):
    thetas = sorted(thetas)
    levels = {
        Fraction(m, len(thetas)): WeightedThreshold(weights, theta) for m, theta in enumerate(thetas, start=1)
    }
    mu = Nested(levels)
    assert mu.focal_count() == len(focal_sets(mu.at, len(weights), 0))
    assert isinstance(mu.conjugate(), Nested)


def test_a_necessity_of_many_criteria_has_a_short_chain():
    mu = Necessity([Fraction(i, 1000) for i in range(1, 1001)])
    assert mu.focal_count() == 1000
    assert Possibility(mu.pi).focal_count() == 1000


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda: Dense(["a", "b"], [0, 0.5, 0.2, 0.4]),
            NotMonotoneError,
            r"\{a\} is worth 0.5 but \{a, b\}, which contains it, only 0.4",
        ),
        (lambda: Dense(2, [0, 1, 1]), CapacityError, r"shape \(3,\), but 2 criteria have 2\^2 = 4 subsets"),
        (lambda: Dense(2, [0, float("nan"), 1, 1]), ScaleError, "nan.* at 1"),
        (lambda: Dense(2, [0, 3, 5, 7]), ScaleError, r"not in \[0, 1\]"),
        (lambda: Dense(25, []), TooLargeError, r"limit is 24 criteria. Use Focal, a threshold"),
        (lambda: Dense(["a", "b"], {(): 0, "a": 1}), CapacityError, r"no value for \{b\}: 2 of 4"),
        (lambda: Dense(["a", "b"], {"a": 0, 1: 0.5}), CapacityError, r"\{a\} has two values"),
        (lambda: Dense(["a", "a"], [0, 1, 1, 1]), CriteriaError, "'a' occurs twice"),
        (lambda: Focal(["a"], {"b": 1}), CriteriaError, "unknown criterion 'b'. The criteria are a"),
        (lambda: Focal(["a"], {("a", "a"): 1}), CriteriaError, "'a' occurs twice in"),
        (lambda: Focal(["a"], {"a": 2}), ScaleError, r"the weight of \{a\} is 2"),
        (lambda: Focal(["a"], {8: 1}), CriteriaError, r"mask 8 is not in 0..1: there are 1 criteria"),
        (lambda: FromFunction(2, lambda held: -len(held) / 2 + 1), NotMonotoneError, r"\{\} is worth 1.0"),
        (lambda: FromFunction(2, len), ScaleError, r"the worth of \{1, 2\} is 2"),
        (lambda: Symmetric(2, [0, 1]), CriteriaError, "2 values; 2 criteria need 3, for sizes 0 to 2"),
        (lambda: Symmetric(2, [0, 1, 0.5]), NotMonotoneError, "sets of 1 are worth 1, sets of 2 only 0.5"),
        (lambda: CardinalityThreshold(3, 1.5), CapacityError, "tau=1.5 must be an integer"),
        (lambda: CardinalityThreshold({1, 5}, 1, 3), CriteriaError, "unknown criterion 5"),
        (lambda: WeightedThreshold([1, -2], 1), CapacityError, "weight of 2 is -2.*WeightedThreshold.signed"),
        (
            lambda: WeightedThreshold([1, float("inf")], 1),
            CapacityError,
            "weight of 2 is inf, which is not a finite number",
        ),
        (lambda: WeightedThreshold([1], None), CapacityError, "theta is None"),
        (lambda: WeightedThreshold({"a": 1}, 1, ["a", "b"]), CriteriaError, "weights has nothing for b"),
        (lambda: WeightedThreshold([1, 2, 3], 1, ["a", "b"]), CriteriaError, "3 weights for 2 criteria"),
        (lambda: Possibility({"a": 1, "b": "much"}), ScaleError, "'much'"),
        (lambda: Possibility([1], UNIT, 2), CriteriaError, "pi has 1 values for 2"),
        (lambda: Join([]), CapacityError, "Join of no set functions"),
        (lambda: Meet([Possibility([1]), Possibility([1, 1])]), CriteriaError, "different criteria"),
        (lambda: Join([Possibility([1]), Possibility(["ok"], GRADES)]), ScaleError, "different scales"),
        (lambda: Nested({}), CapacityError, "Nested without levels"),
        (lambda: Nested({0: CardinalityThreshold(1, 1)}), CapacityError, "bottom of the scale"),
        (lambda: Nested({1: Possibility([1])}), CapacityError, "needs a Boolean one"),
        (lambda: Criteria(-1), CriteriaError, "-1 criteria"),
        (lambda: Criteria("abc"), CriteriaError, r"single text 'abc'"),
        (lambda: Criteria([1.5]), CriteriaError, "1.5 cannot be the name"),
        (lambda: Possibility([1])(1.5), CriteriaError, "1.5 is not a subset"),
        (
            lambda: list(Possibility([1]).focal_sets(by="length")),
            CapacityError,
            "by='length' is not an order",
        ),
        (lambda: list(Possibility([1]).focal_sets(by=[1, 2])), CapacityError, "2 costs for 1 criteria"),
        (lambda: list(Possibility([1]).focal_sets(by=[-1])), CapacityError, "must not be negative"),
        (
            lambda: list(Possibility([1]).focal_sets(by=[float("nan")])),
            CapacityError,
            "cost of 1 is nan, which is not a finite number",
        ),
        (lambda: Possibility([1]).focal_sets(by=3), CapacityError, "by is 3. Give a list"),
        (lambda: Criteria(3.0), CriteriaError, "3.0 criteria"),
        (lambda: Criteria(None), CriteriaError, "None criteria"),
        (lambda: Criteria(np.float64(3)), CriteriaError, "^3.0 criteria"),
        (lambda: Criteria.literals(1.5), CriteriaError, "1.5 inputs"),
        (lambda: Criteria.literals(-1), CriteriaError, "-1 inputs"),
        (lambda: Possibility([1])({np.int64(7)}), CriteriaError, "unknown criterion 7"),
        (lambda: WeightedThreshold(None, 1), CapacityError, "weights is None. Give a list"),
        (lambda: WeightedThreshold(3, 1), CapacityError, "weights is 3. Give a list"),
        (lambda: WeightedThreshold({30, 7}, 8), CapacityError, "a set, which has no order"),
        (lambda: Possibility({1, 0.5}), CapacityError, "pi is .*a set, which has no order"),
        (lambda: Possibility(None), CapacityError, "pi is None. Give a list"),
        (lambda: Possibility([1, np.float64(1.5)]), ScaleError, "pi of 2 is 1.5, which is not in"),
        (lambda: Symmetric(2, None), CapacityError, "g is None"),
        (lambda: Dense(2, [0, [1, 2], 1, 1]), ScaleError, "some entries are single values"),
        (
            lambda: Dense(1, [0, 1], ["bad", "ok"]),
            ScaleError,
            r"scale is \['bad', 'ok'\], which is not a scale",
        ),
        (lambda: Focal(2, [{1}, {2}]), CapacityError, r"\{1\} is not a set with a weight"),
        (lambda: Focal(2, None), CapacityError, "sets is None. Give a mapping"),
        (lambda: FromFunction(2, 3), CapacityError, "function is 3"),
        (lambda: Join(Possibility([1])), CapacityError, r"give a list of set functions, Join\(\[mu, nu\]\)"),
        (lambda: Join([Possibility([1]), 3]), CapacityError, "member 1 is 3, which is not a set function"),
        (lambda: Conjugate(3), CapacityError, "base is 3, which is not a set function"),
        (lambda: Nested([Possibility([1])]), CapacityError, "Give a mapping from levels"),
        (lambda: Nested({1: 3}), CapacityError, "level 1 is 3, which is not a set function"),
        (lambda: interactions(Possibility([1]), 1.0), CapacityError, "order=1.0 is not in 0..1"),
        (lambda: shapley(3), CapacityError, "mu is 3, which is not a set function"),
        (lambda: equal(Possibility([1]), 3), CapacityError, "nu is 3, which is not a set function"),
        (lambda: maxitivity(3), CapacityError, "mu is 3, which is not a set function"),
        (lambda: selection_rules(3), CapacityError, "mu is 3, which is not a set function"),
        (lambda: inner_moebius(3), CapacityError, "mu is 3, which is not a set function"),
        (lambda: violating_pair(3), CapacityError, "function is 3"),
        (lambda: random_capacity(3, seed="x"), CapacityError, "seed='x' is not a seed"),
        (lambda: random_capacity(3, ["a", "b"]), ScaleError, "which is not a scale"),
        (
            lambda: FromFunction(30, lambda held: 1).focal_count(),
            TooLargeError,
            r"table of 2\^30 values; the limit is 24",
        ),
    ],
)
def test_bad_input_is_named_with_its_remedy(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_floats_of_unlucky_size_are_refused_with_the_remedy(monkeypatch):
    monkeypatch.setattr("sugenet.capacity.thresholds.SPARSE_STATES", 1000)
    mu = WeightedThreshold(np.random.default_rng(0).random(40), 10.1)
    assert len(list(islice(mu.focal_sets(), 100))) == 100
    with pytest.raises(TooLargeError, match="Fraction"):
        mu.focal_count()
    with pytest.raises(TooLargeError, match="any order"):
        next(mu.focal_sets(by="size"))


@settings(max_examples=examples(50))
@given(set_functions(max_n=4))
def test_values_are_frozen_and_hash_by_value(mu):
    with pytest.raises(AttributeError):
        mu.scale = UNIT
    assert hash(Dense.of(mu)) == hash(Dense.of(Dense.of(mu)))
