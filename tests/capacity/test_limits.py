"""Large, heavy and dominated: what must neither take all memory nor hang,
and says so where it is too much.
"""

import copy
import pickle
from fractions import Fraction
from itertools import combinations, islice, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    UNIT,
    CardinalityThreshold,
    Conjugate,
    Criteria,
    Dense,
    Focal,
    Join,
    Meet,
    Necessity,
    Nested,
    Symmetric,
    WeightedThreshold,
    banzhaf,
    base,
    equal,
    inner_moebius,
    selection_rules,
    sugeno,
    thresholds,
    transversals,
)
from sugenet.capacity.criteria import containing_none_before, minimal
from sugenet.errors import CapacityError, CriteriaError, TooLargeError
from tests.capacity.oracles import places

HUGE = 10**12


def test_a_weight_beyond_theta_takes_no_memory():
    assert thresholds.subset_counts([HUGE, 1], 2, 4) == 0x11
    assert WeightedThreshold([HUGE, 1], 1).focal_count() == 2
    assert WeightedThreshold([0.1, 0.1], 0.2).conjugate().focal_count() == 2
    assert list(banzhaf(WeightedThreshold([HUGE, 1, 2], 2)).values()) == [Fraction(1, 2), 0, Fraction(1, 2)]
    assert not equal(WeightedThreshold([HUGE, 1], 1), WeightedThreshold([HUGE, 1], 2))
    assert equal(WeightedThreshold([HUGE, 5], 2), WeightedThreshold([HUGE, 5], 3))
    assert (
        Nested({0.5: WeightedThreshold([HUGE, 1], 1), 1: WeightedThreshold([HUGE, 1], 3)}).focal_count() == 2
    )
    heavy = WeightedThreshold([HUGE] + [1] * 40, 20)
    with pytest.raises(TooLargeError, match=r"there are [\d,]+ "):
        selection_rules(heavy)


def test_methods_that_list_sets_refuse_and_name_sorting(monkeypatch):
    mu = CardinalityThreshold(60, 30)
    with pytest.raises(
        TooLargeError, match=r"all 2\^60 sets; the limit is 24 criteria. Use method='sorting'"
    ):
        sugeno(mu, [0.5] * 60, method="definition")
    monkeypatch.setattr(base, "LISTING_LIMIT", 1000)
    with pytest.raises(
        TooLargeError, match=r"method='focal' needs all focal sets.*over 1,000.*method='sorting'"
    ):
        sugeno(mu, [0.5] * 60, method="focal")
    assert sugeno(mu, [0.5] * 60, method="sorting") == 0.5


@given(st.lists(st.tuples(st.integers(0, 31), st.sampled_from([0, 0.25, 0.5, 1])), max_size=12))
def test_focal_drops_what_another_set_makes_needless(pairs):
    mu = Focal(5, [(indices_of(mask), weight) for mask, weight in pairs])
    best = {mask: max(weight for other, weight in pairs if other == mask) for mask, _ in pairs}
    needed = {
        mask: weight
        for mask, weight in best.items()
        if weight > 0
        and not any(other != mask and other & mask == other and best[other] >= weight for other in best)
    }
    assert dict(mu.weights) == needed


def indices_of(mask):
    return {place + 1 for place in places(mask)}


@given(st.lists(st.integers(0, (1 << 130) - 1), max_size=8), st.lists(st.integers(0, 7), max_size=12))
def test_masks_that_contain_none_before(long, short):
    for masks in (long, short, [mask << 126 for mask in short]):
        expected = [
            k for k, mask in enumerate(masks) if not any(other & mask == other for other in masks[:k])
        ]
        assert containing_none_before(masks) == expected


def test_twenty_thousand_given_sets_and_a_list_of_focal_sets_need_few_comparisons(monkeypatch):
    sets = [(1 << a | 1 << b, 1) for a, b in combinations(range(200), 2)]
    assert Focal(200, sets).focal_count() == len(sets)
    monkeypatch.setattr("sugenet.capacity.tables.containing_none_before", None)
    assert Focal.of(CardinalityThreshold(20, 4)).focal_count() == 4845  # focal sets need no comparison at all


def test_transversals_of_thousands_of_pairs_need_no_deep_recursion():
    first = list(islice(transversals([{2 * k, 2 * k + 1} for k in range(1200)]), 2))
    assert [len(found) for found in first] == [1200, 1200]


# --- sets made of others ------------------------------------------------------------------------------------


def test_nested_levels_below_the_top_have_a_nested_conjugate():
    levels = {0.5: CardinalityThreshold(60, 30), 0.75: CardinalityThreshold(60, 40)}
    mu = Nested(levels)
    conjugate = mu.conjugate()
    assert isinstance(conjugate, Nested)
    assert conjugate({}) == 0.25
    assert conjugate.conjugate() == mu
    assert conjugate.focal_count() > 10**15
    assert next(conjugate.focal_sets()).weight == 0.25


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.lists(st.integers(-1, 10), min_size=1, max_size=3, unique=True),
)
def test_conjugates_of_nested_thresholds_that_miss_the_top(row, thetas):
    levels = {
        Fraction(k, 5): WeightedThreshold(row, theta) for k, theta in enumerate(sorted(thetas), start=1)
    }
    mu = Nested(levels)
    conjugate = mu.conjugate()
    assert isinstance(conjugate, Nested)
    assert isinstance(conjugate.conjugate(), Nested)
    for mask in range(mu.criteria.full + 1):
        assert conjugate.at(mask) == 1 - mu.at(mu.criteria.full ^ mask)
        assert conjugate.conjugate().at(mask) == mu.at(mask)
    assert conjugate.focal_count() == len(list(conjugate.focal_sets()))


def test_a_dominated_member_does_not_block_a_join():
    mu = Join(
        [CardinalityThreshold(60, 30), CardinalityThreshold({1, 2}, 1, 60)]
    )  # of the first, few sets are focal in the join
    assert [focal.members for focal in islice(mu.focal_sets(), 2)] == [{1}, {2}]


def test_counting_and_listing_stop_at_a_limit_with_advice_that_helps(monkeypatch):
    monkeypatch.setattr(base, "LISTING_LIMIT", 2000)
    majority = CardinalityThreshold(60, 30)
    for mu in (
        Join([majority, CardinalityThreshold({1, 2}, 1, 60)]),
        Meet([majority] * 2),
        Conjugate(majority),
    ):
        with pytest.raises(TooLargeError, match="need no list") as caught:
            mu.focal_count()
        assert "by=None" not in str(caught.value)
    with pytest.raises(TooLargeError, match="by=None"):
        Meet(
            [CardinalityThreshold(range(1, 31), 2, 60), CardinalityThreshold(range(31, 61), 2, 60)]
        ).focal_sets(by="size")
    with pytest.raises(TooLargeError, match=r"mu\.focal_sets\(\)"):
        inner_moebius(majority)
    with pytest.raises(TooLargeError, match="Keep the set function as it is"):
        Focal.of(majority)


def test_two_equal_levels_are_refused():
    with pytest.raises(CapacityError, match="occurs twice"):
        Nested({"1/2": CardinalityThreshold(2, 1), 0.5: CardinalityThreshold(2, 2)})


# --- orders by cost -----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=1, max_size=7), st.data())
def test_combinations_by_cost(costs, data):
    chosen = data.draw(st.sets(st.integers(0, len(costs) - 1), min_size=1))
    size = data.draw(st.integers(1, len(chosen)))
    found = list(thresholds.ranked_combinations(sorted(chosen), size, costs))
    assert sorted(found) == sorted(sum(1 << place for place in one) for one in combinations(chosen, size))
    prices = [sum(costs[place] for place in places(mask)) for mask in found]
    assert prices == sorted(prices)


def test_a_symmetric_function_of_a_thousand_criteria_is_ordered_lazily(monkeypatch):
    mu = Symmetric(1000, [k / 1000 for k in range(1001)])
    monkeypatch.setattr(
        "sugenet.capacity.thresholds.ranked_minimal_sets", None
    )  # its tables would take gigabytes
    assert [len(focal.members) for focal in islice(mu.focal_sets(by="size"), 1001)][-2:] == [1, 2]
    costs = [k % 7 + 1 for k in range(1000)]
    totals = [sum(costs[i - 1] for i in focal.members) for focal in islice(mu.focal_sets(by=costs), 3000)]
    assert totals == sorted(totals)
    assert totals[0] == 1


def test_a_neuron_of_many_literals_is_ordered_at_once():
    n = 8160
    mu = CardinalityThreshold(range(1, n + 1), 4000, Criteria.literals(n))
    for by in ("size", [k % 3 for k in range(2 * n)]):
        assert len(next(mu.focal_sets(by=by)).members) == 4000


def test_a_tau_beyond_all_bounds_is_a_value_like_any_other():
    mu = CardinalityThreshold(3, 10**5000)
    for by in (None, "size", [1, 2, 3]):
        assert list(mu.focal_sets(by=by)) == []
    assert mu.focal_count() == 0
    assert "10^5000" in str(mu)
    assert "about -10^" in str(mu.conjugate())
    assert "10^5000" in str(WeightedThreshold([1], 10**5000))
    with pytest.raises(CriteriaError, match=r"a mask of 20001 bits is not in 0\.\.2\^16320 - 1"):
        CardinalityThreshold(16320, 3)(1 << 20000)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(1, 12), st.data())
def test_costs_of_up_to_a_hundred_bits_rank_without_objects(row, theta, data):
    costs = data.draw(st.lists(st.integers(0, 1 << 99), min_size=len(row), max_size=len(row)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds.np, "full", only_integers(np.full))
        found = list(thresholds.ranked_minimal_sets(row, theta, [1 << 70, *costs[1:]]))
    assert sorted(found) == sorted(thresholds.minimal_sets(row, theta))
    prices = [sum([1 << 70, *costs[1:]][place] for place in places(mask)) for mask in found]
    assert prices == sorted(prices)


def only_integers(full):
    def checked(shape, value, dtype=np.int64):
        assert dtype is np.int64
        return full(shape, value, dtype)

    return checked


def test_costs_are_divided_by_what_they_share():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds.np, "full", only_integers(np.full))
        assert list(thresholds.ranked_minimal_sets([1, 1], 1, [3 << 200, 1 << 200])) == [2, 1]


# --- floats that are no floats after 1 - x ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["focal", "symmetric", "necessity", "dense", "fractions", "join"])
def test_float_batches_stay_in_float_arrays_and_are_exact(kind, monkeypatch):
    rng = np.random.default_rng(5)
    n = 4
    focal = Focal(
        n,
        {int(m): float(w) / 3 for m, w in zip(rng.integers(1, 15, 9), rng.random(9), strict=True)} | {15: 1},
    )
    dense = Dense.of(Symmetric(n, [0, 0.1, 0.3, 0.7, 1]))
    mu = {
        "focal": focal.conjugate(),
        "symmetric": Symmetric(n, [0, 0.1, 0.3, 0.7, 1]).conjugate(),
        "necessity": Necessity([0.1, 0.3, 0.7, 1]),
        "dense": dense.conjugate(),
        "fractions": Symmetric(n, [0, Fraction(1, 3), Fraction(2, 3), 1, 1]),
        "join": Join([dense, Conjugate(dense), focal.conjugate()]),
    }[kind]
    worths = [mu.at(mask) for mask in range(16)]
    near = sorted(
        {
            edge
            for worth in worths
            for edge in (float(worth), np.nextafter(float(worth), 2), np.nextafter(float(worth), -1))
        }
    )
    near = [value for value in near if 0 <= value <= 1]
    X = np.array(
        [rng.choice(near, n) for _ in range(300)]
    )  # values next to the worths, where rounding could decide
    expected = [sugeno(mu, row, method="sorting") for row in X]
    monkeypatch.setattr(type(UNIT), "reverse_codes", None)  # no arrays of exact complements on the way
    assert list(sugeno(mu, X)) == expected
    assert sugeno(mu, np.zeros((2, n))).dtype == np.float64


def test_distinct_complements_are_made_once():
    codes = np.repeat([0.1, 0.3], 500)
    reversed_codes = UNIT.reverse_codes(codes)
    assert len({id(value) for value in reversed_codes}) == 2
    assert UNIT.reverse_codes(reversed_codes).tolist() == codes.tolist()


def test_copies_of_a_table_are_read_only_and_conjugates_are_not_checked_again(monkeypatch):
    mu = Dense(2, [0, 0.1, 0.3, 1])
    for again in (copy.copy(mu), copy.deepcopy(mu), pickle.loads(pickle.dumps(mu)), mu.conjugate()):
        assert not again.table().flags.writeable
    assert pickle.loads(pickle.dumps(mu)) == mu
    monkeypatch.setattr("sugenet.capacity.transforms.violation", None)
    assert mu.conjugate().conjugate() == mu


@given(
    st.lists(
        st.one_of(st.integers(0, 5), st.fractions(0, 3, max_denominator=6), st.floats(0, 2)),
        min_size=1,
        max_size=4,
    ),
    st.one_of(st.integers(-1, 9), st.fractions(0, 5, max_denominator=7), st.floats(0, 4)),
)
def test_conjugates_of_weights_keep_them_and_come_back(row, theta):
    mu = WeightedThreshold(row, theta)
    conjugate = mu.conjugate()
    assert conjugate.weights == mu.weights
    assert conjugate.conjugate() == mu
    for mask in range(mu.criteria.full + 1):
        assert conjugate.at(mask) == 1 - mu.at(mu.criteria.full ^ mask)


def test_float_weights_are_shown_as_they_were_written():
    assert str(WeightedThreshold([0.1, 0.2], 0.3)) == "0.1 1 + 0.2 2 >= 0.3"
    assert str(WeightedThreshold([0.1, 0.2], 0.15).conjugate()).startswith("0.1 1 + 0.2 2 >= ")


def test_minimal_sets_of_a_full_square():
    assert minimal(
        [sum(1 << k for k in pair) for pair in product(range(4), repeat=2) if pair[0] != pair[1]]
    ) == [3, 5, 6, 9, 10, 12]
