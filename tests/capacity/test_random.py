"""The random capacities: the update is monotone and leaves the uniform law as it is, exactly;
the draws show no bias.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from sugenet.capacity import BOOLEAN, UNIT, Dense, Ordinal
from sugenet.capacity.sampling import LEVELS_LIMIT, _Chain, random_capacity
from sugenet.errors import CapacityError, ScaleError, TooLargeError


def capacities(n, levels):
    """All capacities with values 0..levels-1, one in each row."""
    tables = [[0]]
    for mask in range(1, 1 << n):
        least = levels - 1 if mask == (1 << n) - 1 else 0
        tables = [
            [*table, value]
            for table in tables
            for value in range(
                max(least, *(table[mask ^ 1 << place] for place in range(n) if mask >> place & 1)), levels
            )
        ]
    return np.array(tables, dtype=np.int64)


def all_draws(chain):
    """Every sequence of random numbers for one sweep, one in each row;
    those of the empty and the full set are not used.
    """
    free = (1 << chain.n) - 2
    rows = np.zeros((chain.unit**free, 1 << chain.n), np.int64)
    rows[:, 1:-1] = list(product(range(chain.unit), repeat=free))
    return rows


@pytest.mark.parametrize(("n", "levels", "states"), [(1, 4, 1), (2, 2, 4), (2, 3, 9), (3, 2, 18)])
def test_one_sweep_leaves_the_uniform_law_as_it_is(n, levels, states):
    chain, every = _Chain(n, levels), capacities(n, levels)
    draws = all_draws(chain)
    arrivals = Counter()
    for state in every:
        after = np.tile(state, (len(draws), 1))
        chain.sweep(after, draws)
        arrivals.update(map(tuple, after.tolist()))
    assert len(every) == states
    assert arrivals == dict.fromkeys(map(tuple, every.tolist()), len(draws))


@pytest.mark.parametrize(("n", "levels"), [(2, 2), (2, 3), (3, 2)])
def test_one_sweep_keeps_the_order_of_capacities(n, levels):
    chain, every = _Chain(n, levels), capacities(n, levels)
    moved = []
    for state in every:
        after = np.tile(state, (len(all_draws(chain)), 1))
        chain.sweep(after, all_draws(chain))
        moved.append(after)
    for (low, low_after), (high, high_after) in product(zip(every, moved, strict=True), repeat=2):
        if (low <= high).all():
            assert (low_after <= high_after).all()


def test_extremes_enclose_all_capacities():
    low, high = _Chain(3, 3).extremes()
    every = capacities(3, 3)
    assert (low <= every).all()
    assert (every <= high).all()
    assert low.tolist() in every.tolist()
    assert high.tolist() in every.tolist()


def test_every_number_of_choices_divides_the_unit_and_fits():
    for levels in range(2, LEVELS_LIMIT + 1):
        unit = _Chain(2, levels).unit
        assert all(unit % choices == 0 for choices in range(1, levels + 1))
        assert unit * levels < 1 << 63


@pytest.mark.parametrize(("n", "levels", "draws", "bound"), [(3, 2, 3600, 55.0), (2, 3, 1800, 38.0)])
def test_draws_are_equally_frequent(n, levels, draws, bound):
    """Chi-square with 17 or 8 degrees of freedom; chance exceeds the bound about once in 10^5 seeds,
    and the seed is fixed.
    """
    every = capacities(n, levels)
    rng = np.random.default_rng(20240607)
    seen = Counter(tuple(_Chain(n, levels).draw(rng).tolist()) for _ in range(draws))
    expected = draws / len(every)
    assert set(seen) <= set(map(tuple, every.tolist()))
    assert sum((seen[tuple(state)] - expected) ** 2 / expected for state in every.tolist()) < bound


def test_the_past_is_reused(monkeypatch):
    """Each further attempt starts earlier but ends with the same sweeps as the one before."""
    attempts = []

    def recorded(self, states, draws, original=_Chain.sweep):
        attempts[-1].append(draws.tolist())
        original(self, states, draws)

    def started(self, original=_Chain.extremes):
        attempts.append([])
        return original(self)

    monkeypatch.setattr(_Chain, "sweep", recorded)
    monkeypatch.setattr(_Chain, "extremes", started)
    _Chain(4, 4).draw(np.random.default_rng(0))
    assert len(attempts) > 2
    for before, after in pairwise(attempts):
        assert len(after) == 2 * len(before)
        assert after[-len(before) :] == before


def test_random_capacity_on_each_scale():
    ordinal = Ordinal(["bad", "ok", "good"])
    for mu in (
        random_capacity(5, seed=1),
        random_capacity(["a", "b", "c"], ordinal, seed=2),
        random_capacity(4, UNIT, levels=6, seed=3),
        random_capacity(1, BOOLEAN, levels=2, seed=3),
        random_capacity(8, seed=5),
    ):
        assert isinstance(mu, Dense)
        assert mu.is_capacity
    fifths = {Fraction(k, 5) for k in range(6)}
    assert set(random_capacity(4, UNIT, levels=6, seed=3).table().tolist()) <= fifths
    assert random_capacity(3, seed=7) == random_capacity(3, seed=np.random.default_rng(7))
    assert len({random_capacity(3, ordinal, seed=seed) for seed in range(20)}) > 10


def test_wrong_requests_say_what_to_do():
    with pytest.raises(ScaleError, match=r"infinitely many values\. Say how many"):
        random_capacity(3, UNIT)
    with pytest.raises(ScaleError, match="levels=1 must be an integer"):
        random_capacity(3, UNIT, levels=1)
    with pytest.raises(ScaleError, match=r"levels=3 does not fit the scale \{0, 1\}"):
        random_capacity(3, levels=3)
    with pytest.raises(CapacityError, match="criteria is empty"):
        random_capacity(0)
    with pytest.raises(TooLargeError, match="13 criteria"):
        random_capacity(13)
    with pytest.raises(TooLargeError, match="50 levels"):
        random_capacity(2, UNIT, levels=50)
