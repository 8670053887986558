"""Transforms of tables, minimal sets of weights, minimal transversals: each against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import thresholds as weights
from sugenet.capacity import transforms
from sugenet.capacity.criteria import minimal, minimal_transversals
from tests.capacity.oracles import focal_sets, monotone_tables, places, subsets

small_weights = st.lists(st.integers(0, 6), max_size=7)


@pytest.mark.parametrize(("n", "levels"), [(1, 4), (2, 4), (3, 3)])
def test_qualitative_moebius_exhaustively(n, levels):  # docs/theory.md 6.2
    full, top = (1 << n) - 1, levels - 1
    for values in monotone_tables(n, levels, capacities=False):
        table = np.array(values)
        inner = transforms.inner_moebius(table, 0)
        expected = focal_sets(values.__getitem__, n, 0)
        assert inner.tolist() == [expected.get(mask, 0) for mask in range(full + 1)]
        assert transforms.max_zeta(inner).tolist() == list(values)
        conjugate = top - table[::-1]
        outer = (top - transforms.inner_moebius(conjugate, 0))[::-1]  # mu^#(A) = 1 - (mu^c)_#(complement)
        for mask in range(full + 1):
            above = min(
                (values[other] for other in range(full + 1) if other & mask == mask and other != mask),
                default=top,
            )
            assert outer[mask] == (values[mask] if values[mask] < above else top)
        assert transforms.violation(table) is None


@given(st.integers(0, 5), st.data())
def test_additive_moebius_is_the_alternating_sum(n, data):
    values = data.draw(st.lists(st.integers(-9, 9), min_size=1 << n, max_size=1 << n))
    moebius = transforms.additive_moebius(np.array(values))
    for mask in range(1 << n):
        signed = ((-1) ** (mask ^ other).bit_count() * values[other] for other in subsets(mask))
        assert moebius[mask] == sum(signed)
    assert transforms.additive_zeta(moebius).tolist() == values


@given(st.integers(1, 4), st.data())
def test_violation_names_a_falling_pair_or_none(n, data):
    values = data.draw(st.lists(st.integers(0, 3), min_size=1 << n, max_size=1 << n))
    found = transforms.violation(np.array(values))
    falls = [(a, b) for b in range(1 << n) for a in subsets(b) if values[a] > values[b]]
    if found is None:
        assert not falls
    else:
        assert found in falls


@given(small_weights, st.integers(-1, 15), st.one_of(st.none(), st.integers(0, 18)), st.booleans())
def test_minimal_sets_of_weights(row, theta, below, sparse):  # docs/theory.md 6.8
    n = len(row)

    def total(mask):
        return sum(row[place] for place in places(mask))

    expected = [
        mask
        for mask in range(1 << n)
        if total(mask) >= theta and all(total(mask ^ 1 << place) < theta for place in places(mask))
    ]
    assert sorted(weights.minimal_sets(row, theta)) == expected
    with pytest.MonkeyPatch.context() as patch:
        if sparse:
            patch.setattr(weights, "DENSE_BITS", 0)
            patch.setattr(weights, "DENSE_CELLS", 0)
        assert weights.count_minimal(row, theta, below) == sum(
            below is None or total(mask) < below for mask in expected
        )
        costs = [(7 * weight + place) % 5 for place, weight in enumerate(row)]
        ranked = list(weights.ranked_minimal_sets(row, theta, costs))
    assert sorted(ranked) == expected
    prices = [sum(costs[place] for place in places(mask)) for mask in ranked]
    assert prices == sorted(prices)


@given(small_weights, st.integers(1, 20))
def test_counts_of_sums_as_one_integer(row, size):
    slot = len(row) + 2
    counts = weights.subset_counts(row, size, slot)
    sums = [sum(row[place] for place in places(mask)) for mask in range(1 << len(row))]
    for low in range(size):
        for high in range(low, size + 1):
            assert weights.window_total(counts, slot, low, high) == sum(low <= s < high for s in sums)


def test_costs_beyond_64_bits_still_rank():
    assert list(weights.ranked_minimal_sets([1, 1, 1], 1, [1 << 70, 5, 1 << 80])) == [2, 1, 4]


@given(st.integers(1, 6), st.data())
def test_minimal_transversals_are_the_minimal_hitting_sets(n, data):  # docs/theory.md 6.3
    edges = data.draw(st.lists(st.integers(0, (1 << n) - 1), max_size=7))
    hitting = [mask for mask in range(1 << n) if all(mask & edge for edge in edges)]
    expected = [
        mask for mask in hitting if not any(other != mask and other & mask == other for other in hitting)
    ]
    found = list(minimal_transversals(edges))
    assert sorted(found) == expected
    assert len(set(found)) == len(found)
    if expected:
        assert sorted(minimal_transversals(found)) == sorted(minimal(edges))  # the blocker of the blocker
