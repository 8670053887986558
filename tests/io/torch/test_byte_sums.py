"""Sums of bytes, against the set of all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.io.torch.backend import ByteSums
from tests.thinned import examples


@st.composite
def neurons(draw):
    count = draw(st.integers(0, 4))
    most = draw(st.sampled_from([3, 12, 128]))
    weights = draw(st.lists(st.integers(-most, most), min_size=count, max_size=count))
    low = draw(st.lists(st.integers(0, 6), min_size=count, max_size=count))
    wide = draw(st.sampled_from([2, 9, 25]))
    more = draw(st.lists(st.integers(0, wide), min_size=count, max_size=count))
    factor = draw(st.sampled_from([1, 1, 2, 3]))
    rows = (np.array(row, np.int64) for row in (weights, low, more))
    w, a, b = rows
    return w * factor, a, a + b, draw(st.integers(0, 255))


def all_sums(weights, low, high, zero):
    found = {0}
    for w, a, b in zip(weights.tolist(), low.tolist(), high.tolist(), strict=True):
        found = {s + w * (x - zero) for s in found for x in range(a, b + 1)}
    return np.array(sorted(found))


@settings(max_examples=examples(150), deadline=None)
@given(neurons(), st.randoms(use_true_random=False))
def test_all_sums_are_found_and_no_others(neuron, random):
    weights, low, high, zero = neuron
    there, sums = all_sums(*neuron), ByteSums(*neuron)
    assert (sums.min_sum, sums.max_sum) == (there[0], there[-1])
    assert sums.certain
    wanted = np.array([random.randint(sums.min_sum - 3, sums.max_sum + 3) for _ in range(40)])
    below, above = sums.below(wanted), sums.above(wanted)
    assert np.array_equal(below, there[np.maximum(np.searchsorted(there, wanted, "right") - 1, 0)])
    assert np.array_equal(above, there[np.minimum(np.searchsorted(there, wanted, "left"), len(there) - 1)])
    for loud in (False, True):
        for rows in (below, above):
            levels = sums.levels(rows, loud=loud)
            assert ((low <= levels) & (levels <= high)).all()
            assert np.array_equal((levels - zero) @ weights, rows)


@pytest.mark.parametrize("count", [5, 63, 64, 65, 784])
def test_many_weights_without_a_table(count):
    """By the least sums modulo the largest weight: every multiple of the unit but near the ends."""
    random = np.random.default_rng(count)
    weights = random.integers(-128, 128, count)
    sums = ByteSums(weights, np.zeros(count, np.int64), np.full(count, 255), 100)
    assert sums._roomy
    wanted = random.integers(sums.min_sum, sums.max_sum + 1, 200)
    quiet, loud = (sums.levels(sums.below(wanted), loud=loud) for loud in (False, True))
    assert np.array_equal((quiet.astype(int) - 100) @ weights, sums.below(wanted))
    assert np.array_equal((loud.astype(int) - 100) @ weights, sums.below(wanted))
    assert (quiet.sum(axis=1) < loud.sum(axis=1)).mean() > 0.9
    assert (sums.below(wanted) == wanted).mean() > (0.9 if sums.unit == 1 else 0)


def test_a_table_and_the_least_sums_agree():
    random = np.random.default_rng(0)
    for _ in range(20):
        neuron = (random.integers(-20, 21, 4), np.zeros(4, np.int64), random.integers(20, 90, 4), 7)
        one, two = ByteSums(*neuron), ByteSums(*neuron)
        if not one._roomy:
            continue
        two.__dict__["_roomy"] = False  # takes the table
        wanted = np.arange(one.min_sum, one.max_sum + 1)
        assert np.array_equal(one.below(wanted), two.below(wanted))
