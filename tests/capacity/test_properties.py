"""Properties against their definitions on all sets and pairs of sets; the table decides."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from sugenet.capacity import (
    BOOLEAN,
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
from sugenet.capacity.properties import (
    equal,
    is_k_maxitive,
    is_k_minitive,
    is_necessity,
    is_possibility,
    is_self_conjugate,
    is_submodular,
    is_supermodular,
    is_symmetric,
    maxitivity,
    minitivity,
    violating_pair,
)
from sugenet.errors import CapacityError, ScaleError, TooLargeError

F = Fraction


def monotone_tables(n, levels):
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


def pairs_of_sets(mu):
    return product(range(mu.criteria.full + 1), repeat=2)


def maxitive_by_definition(mu, k):
    """Every set is worth the best of its subsets of at most k criteria."""
    full = mu.criteria.full
    return all(
        mu.at(mask)
        == max(mu.at(part) for part in range(full + 1) if part & mask == part and part.bit_count() <= k)
        for mask in range(full + 1)
    )


def minitive_by_definition(mu, k):
    """Every set is worth the least of the sets that contain it and lack at most k criteria."""
    n, full = len(mu.criteria), mu.criteria.full
    return all(
        mu.at(mask)
        == min(mu.at(more) for more in range(full + 1) if more & mask == mask and n - more.bit_count() <= k)
        for mask in range(full + 1)
    )


def judge(mu):
    """All properties of `mu`, by definition."""
    n, full, top, bottom = len(mu.criteria), mu.criteria.full, mu.scale.top, mu.scale.bottom
    values = [mu.at(mask) for mask in range(full + 1)]
    found = {
        "symmetric": all(
            values[a] == values[b] for a, b in pairs_of_sets(mu) if a.bit_count() == b.bit_count()
        ),
        "self_conjugate": all(
            values[mask] == mu.scale.reverse(values[full ^ mask]) for mask in range(full + 1)
        ),
        "maxitivity": next(k for k in range(n + 1) if maxitive_by_definition(mu, k)),
        "minitivity": next(k for k in range(n + 1) if minitive_by_definition(mu, k)),
        "possibility": values[0] == bottom
        and all(values[a | b] == max(values[a], values[b]) for a, b in pairs_of_sets(mu)),
        "necessity": values[full] == top
        and all(values[a & b] == min(values[a], values[b]) for a, b in pairs_of_sets(mu)),
    }
    if not isinstance(mu.scale, Ordinal):
        exact = [F(value) for value in values]
        found["submodular"] = all(
            exact[a | b] + exact[a & b] <= exact[a] + exact[b] for a, b in pairs_of_sets(mu)
        )
        found["supermodular"] = all(
            exact[a | b] + exact[a & b] >= exact[a] + exact[b] for a, b in pairs_of_sets(mu)
        )
    return found


def claims(mu):
    """All properties of `mu`, as the module says."""
    found = {
        "symmetric": is_symmetric(mu),
        "self_conjugate": is_self_conjugate(mu),
        "maxitivity": maxitivity(mu),
        "minitivity": minitivity(mu),
        "possibility": is_possibility(mu),
        "necessity": is_necessity(mu),
    }
    if not isinstance(mu.scale, Ordinal):
        found["submodular"] = is_submodular(mu)
        found["supermodular"] = is_supermodular(mu)
    return found


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_all_monotone_tables_on_three_levels(n):
    scale = Ordinal(["low", "mid", "high"])
    for table in monotone_tables(n, 3):
        right = judge(Dense(n, [F(value, 2) for value in table]))
        for mu in (Dense(n, [F(value, 2) for value in table]), Dense(n, [value / 2 for value in table])):
            assert claims(mu) == right
        ordinal = Dense(n, [scale.levels[value] for value in table], scale)
        assert claims(ordinal) == {name: value for name, value in right.items() if "modular" not in name}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_all_boolean_tables(n):
    for table in monotone_tables(n, 2):
        mu = Dense(n, table, BOOLEAN)
        right = judge(mu)
        assert claims(mu) == right
        focal = Focal.of(mu)
        assert claims(focal) == right
        assert claims(Conjugate(Focal.of(mu.conjugate()))) == right


def families(n):
    """Members of every family over n criteria, degenerate ones included."""
    for size, tau in product(range(n + 1), range(-1, n + 2)):
        yield CardinalityThreshold(range(1, size + 1), tau, n)
    for weights in product(range(4), repeat=n):
        if list(weights) == sorted(weights):
            for theta in range(sum(weights) + 2):
                yield WeightedThreshold(weights, theta)
    for values in product((0, F(1, 3), F(1, 2), 1), repeat=n):
        if list(values) == sorted(values):
            yield Possibility(values)
            yield Necessity(values)
    for values in product((0, F(1, 3), F(2, 3), 1), repeat=n + 1):
        if list(values) == sorted(values):
            yield Symmetric(n, values)
    yield WeightedThreshold([F(1, 3)] * n, F(1, 2))
    yield WeightedThreshold([0.1 * 2**-40] + [0.2] * (n - 1), 0.3)
    yield FromFunction(n, lambda held: F(len(held) ** 2, n**2))
    yield Join([Possibility([F(1, 2)] * n), CardinalityThreshold(n, 2)])
    yield Meet([CardinalityThreshold(n, n - 1), Possibility([F(1, k) for k in range(1, n + 1)])])
    yield Nested({F(1, 2): CardinalityThreshold(n, 1), 1: CardinalityThreshold(n, n)})
    yield Nested({F(1, 2): WeightedThreshold(range(1, n + 1), 3), 1: CardinalityThreshold(n, 2)})
    yield Conjugate(Focal(n, {(1,): F(1, 2), tuple(range(1, n + 1)): 1}))
    yield Focal(n, dict.fromkeys(combinations(range(1, n + 1), 2), F(1, 2)))
    yield Focal(n, {pair: F(1, k) for k, pair in enumerate(combinations(range(1, n + 1), 2), start=1)})


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_families_are_what_their_tables_say(n):
    for mu in families(n):
        assert claims(mu) == judge(mu), mu


def test_closed_forms_of_a_cardinality_threshold():  # docs/theory.md 6.7
    n = 100
    for tau in (1, 2, 50, 51, 99, 100):
        mu = CardinalityThreshold(range(1, n + 1), tau, Criteria(range(1, 2 * n + 1)))
        assert (maxitivity(mu), minitivity(mu)) == (tau, n - tau + 1)
        assert (is_submodular(mu), is_supermodular(mu)) == (tau == 1, tau == n)
        assert not is_symmetric(mu)
        assert is_symmetric(CardinalityThreshold(n, tau))
    assert is_self_conjugate(CardinalityThreshold(99, 50))


def test_k_maxitive_and_k_minitive():
    mu = CardinalityThreshold(7, tau=3)
    assert [is_k_maxitive(mu, k) for k in (2, 3, 4)] == [False, True, True]
    assert [is_k_minitive(mu, k) for k in (4, 5, 6)] == [False, True, True]
    with pytest.raises(CapacityError, match=r"k=1\.5 must be an integer"):
        is_k_maxitive(mu, 1.5)


def test_many_weights():
    heavy = WeightedThreshold([50] * 20 + [1] * 30, 80)
    assert maxitivity(heavy) == 31  # one 50 and all ones
    assert minitivity(heavy) == 20  # the conjugate needs 951: nineteen 50s and any other
    assert not is_symmetric(heavy)
    assert is_symmetric(WeightedThreshold([10, 11, 12] * 20, 20))
    assert is_self_conjugate(WeightedThreshold([1] * 51, 26))
    assert not is_self_conjugate(WeightedThreshold([1] * 50, 26))
    assert is_self_conjugate(WeightedThreshold([2] * 30 + [1], 31))
    assert is_possibility(WeightedThreshold([9] * 30 + [0] * 30, 3))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_modularity_fails_by_a_change_of_any_set(n):
    weights = [1 + place for place in range(n)]
    total = sum(weights)
    additive = [
        sum(weight for place, weight in enumerate(weights) if mask >> place & 1) for mask in range(1 << n)
    ]
    scales = {  # short integers, integers of 64 bits, floats that no such integers have, fractions
        "short": lambda value: float(F(value, 64)),
        "long": lambda value: float(F(value, 1 << 61)),
        "rounded": lambda value: float(F(value) * F(3) ** -40 / 8),
        "exact": lambda value: F(value, 3 * total),
    }
    for name, scaled in scales.items():
        for changed in range(1, 1 << n):
            for change in (F(1, 2), F(-1, 2), 0):
                worths = [scaled(value + change * (mask == changed)) for mask, value in enumerate(additive)]
                mu = Dense(n, worths)
                right = judge(mu)
                assert is_supermodular(mu) == right["supermodular"], (name, changed, change)
                assert is_submodular(mu) == right["submodular"], (name, changed, change)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_inequality_of_supermodularity_follows_from_the_others(n):
    def second(worths, one, two, mask):
        return worths[mask | one | two] - worths[mask | one] - worths[mask | two] + worths[mask]

    inequalities = [
        (1 << i, 1 << j, mask)
        for i, j in combinations(range(n), 2)
        for mask in range(1 << n)
        if not mask & (1 << i | 1 << j)
    ]
    for one, two, mask in inequalities:
        both = one | two
        worths = [F(held.bit_count() ** 2 + 4 * held.bit_count()) for held in range(1 << n)]
        for held in range(1 << n):
            if held & both == both:
                worths[held] -= (2 + F(1, n)) * (1 - F((held ^ both ^ mask).bit_count(), n))
        assert [case for case in inequalities if second(worths, *case) < 0] == [(one, two, mask)]
        assert not is_supermodular(Dense(n, [worth / worths[-1] for worth in worths]))


def test_modularity_of_floats_is_exact():
    # 0.1 + 0.2 rounds to more than 0.3, but exactly the three floats satisfy 0.1 + 0.2 > 0.3 by less than a
    # float can show near 0.3
    mu = Dense(2, [0, 0.1, 0.2, 0.3])
    assert is_submodular(mu) == (F(0.1) + F(0.2) >= F(0.3))
    assert is_supermodular(mu) == (F(0.1) + F(0.2) <= F(0.3))
    tiny = Dense(2, [0, 2.0**-60, 1.0, 1.0])  # 1 + 2^-60 rounds to 1
    assert (is_submodular(tiny), is_supermodular(tiny)) == (True, False)
    assert claims(tiny) == judge(tiny)
    rng = np.random.default_rng(0)
    for _ in range(200):
        table = rng.choice([0.1, 0.2, 0.3, 0.7, 0.8, 0.1 + 0.2, 2.0**-60], 8)
        table[0], table[-1] = 0, 1
        for place in range(3):
            pairs = table.reshape(-1, 2, 1 << place)
            np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
        mu = Dense(3, table)
        assert claims(mu) == judge(mu)
        assert claims(mu.conjugate()) == judge(mu.conjugate())


def test_violating_pair_finds_two_sets_or_none():
    for table in product(range(3), repeat=8):
        pair = violating_pair(table)
        monotone = all(table[a] <= table[b] for a, b in product(range(8), repeat=2) if a & b == a)
        assert (pair is None) == monotone
        if pair is not None:
            small, large = (Criteria(3).mask(held) for held in pair)
            assert small & large == small
            assert table[small] > table[large]


def test_violating_pair_takes_functions_mappings_arrays_and_set_functions():
    falls = {(): 0, "a": 2, "b": 1, ("a", "b"): 1}
    expected = frozenset("a"), frozenset("ab")
    assert violating_pair(falls, ["a", "b"]) == expected
    assert (
        violating_pair(
            lambda held: falls[tuple(sorted(held))] if len(held) != 1 else falls[min(held)], ["a", "b"]
        )
        == expected
    )
    assert violating_pair(np.array([0, 2, 1, 1]), ["a", "b"]) == expected
    assert (
        violating_pair([0, 2**60 + 1, 0.5, 2**60], ["a", "b"]) == expected
    )  # not the same number, though the same float
    assert violating_pair([F(0), F(1, 3), F(1, 4), F(1, 2)]) is None
    assert violating_pair(FromFunction(13, lambda held: 1 - len(held) / 13)) == (frozenset(), frozenset({1}))
    assert violating_pair(CardinalityThreshold(5, 2)) is None
    with pytest.raises(CapacityError, match="criteria is missing"):
        violating_pair(len)
    with pytest.raises(CapacityError, match=r"no value for \{b\}: 2 of 4"):
        violating_pair({(): 0, "a": 1}, ["a", "b"])
    with pytest.raises(CapacityError, match="3 values, but 1 criteria"):
        violating_pair([0, 1, 2])
    with pytest.raises(CapacityError, match=r"the worth of \{1\} is nan"):
        violating_pair([0, float("nan"), 1, 1])
    with pytest.raises(TooLargeError, match="limit is 24"):
        violating_pair(len, 25)


def test_equal_compares_functions_not_spellings():
    everything = [mu for mu in families(3) if len(mu.criteria) == 3]
    tables = [tuple(mu.at(mask) for mask in range(8)) for mu in everything]
    rng = np.random.default_rng(1)
    chosen = rng.choice(len(everything), (1500, 2))
    agreed = 0
    for i, j in chosen.tolist():
        assert equal(everything[i], everything[j]) == (tables[i] == tables[j]), (everything[i], everything[j])
        agreed += tables[i] == tables[j]
    assert agreed > 20


def test_equal_with_criteria_in_another_order():
    mu = Focal(["a", "b", "c", "d"], {("a", "c"): 1, ("d",): 0.5})
    for order in (["d", "b", "a", "c"], ["b", "c", "d", "a"]):
        assert equal(mu, Dense.of(Focal(order, {("a", "c"): 1, ("d",): 0.5})))
        assert not equal(mu, Dense.of(Focal(order, {("a", "b"): 1, ("d",): 0.5})))
    assert not equal(mu, Focal(["a", "b", "c", "e"], {("a", "c"): 1}))
    assert not equal(CardinalityThreshold(1, 1), Dense(1, ["0", "1"], Ordinal(["0", "1"])))


def test_equal_over_many_criteria():
    assert equal(CardinalityThreshold(60, 30), WeightedThreshold([2] * 60, 59))
    assert not equal(CardinalityThreshold(60, 30), WeightedThreshold([2] * 60, 61))
    weights = [3] * 30 + [6] * 30
    assert equal(WeightedThreshold(weights, 100), WeightedThreshold(weights, 102))
    assert not equal(WeightedThreshold(weights, 102), WeightedThreshold(weights, 103))
    pairs = {(k, k + 1): 1 for k in range(1, 40)}
    assert equal(Focal(40, pairs), Focal(reversed(range(1, 41)), pairs))
    assert not equal(Focal(40, pairs), Focal(40, {**pairs, (1, 7): 1}))


def test_modularity_needs_numbers():
    mu = Dense(1, ["bad", "good"], Ordinal(["bad", "good"]))
    for ask in (is_submodular, is_supermodular):
        with pytest.raises(ScaleError, match=r"bad < good are not numbers\. Assign a number"):
            ask(mu)


def test_too_many_sums_says_what_to_do():
    weights = np.random.default_rng(2).random(40).tolist()
    with pytest.raises(TooLargeError, match="Round the weights"):
        maxitivity(WeightedThreshold(weights, 10.0))
    with pytest.raises(TooLargeError, match="Round the weights"):
        is_self_conjugate(WeightedThreshold(weights, sum(weights) / 2))
