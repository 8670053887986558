"""Capacities from bases, rules and families of possibility measures, and back."""

from fractions import Fraction
from itertools import islice, product

import pytest
from hypothesis import given, settings

from sugenet.capacity import (
    BOOLEAN,
    CardinalityThreshold,
    Dense,
    GuaranteedBase,
    Ordinal,
    PossibilisticBase,
    Possibility,
    elimination_rules,
    equal,
    guaranteed_base,
    iter_possibilities,
    necessity_family,
    possibilistic_base,
    possibility_family,
    selection_rules,
    sugeno,
)
from sugenet.errors import CapacityError, TooLargeError
from tests.capacity.oracles import integral, monotone_tables, set_functions
from tests.thinned import examples


def scale_of(levels):
    return Ordinal(range(levels))


@pytest.mark.parametrize(("n", "levels"), [(1, 3), (2, 3), (3, 2)])
def test_every_small_capacity_comes_back_from_its_bases_and_rules(n, levels):
    for table in monotone_tables(n, levels, capacities=False):
        mu = Dense(n, list(table), scale_of(levels))
        assert equal(possibilistic_base(mu).capacity(), mu)
        assert equal(guaranteed_base(mu).capacity(), mu)
        if selection_rules(mu).rules:
            assert equal(selection_rules(mu).capacity(), mu)
        if elimination_rules(mu).rules:
            assert equal(elimination_rules(mu).capacity(), mu)


@settings(max_examples=examples(60))
@given(set_functions(max_n=4))
def test_every_family_comes_back(mu):
    assert equal(possibilistic_base(mu).capacity(), mu)
    assert equal(guaranteed_base(mu).capacity(), mu)
    if mu(0) == mu.scale.bottom:
        assert equal(possibility_family(mu), mu)
    if mu(mu.criteria.full) == mu.scale.top:
        assert equal(necessity_family(mu), mu)


ATOMS = [(name, level) for name in (1, 2) for level in (1, 2)]


@pytest.mark.parametrize("kind", [PossibilisticBase, GuaranteedBase])
def test_a_base_that_is_no_integral_is_refused_with_a_sample(kind):
    """All bases of two formulas over two criteria on three levels."""
    scale = scale_of(3)
    bodies = [body for body in product(ATOMS, repeat=2) if body[0] <= body[1]]
    refusals = 0
    for first, second in product(bodies, repeat=2):
        for weights in ((1, 2), (2, 2)):
            base = kind(2, [(first, weights[0]), (second, weights[1])], scale)
            degrees = {x: base(x) for x in product(range(3), repeat=2)}
            table = [degrees[tuple(2 * (mask >> place & 1) for place in range(2))] for mask in range(4)]
            is_integral = all(
                integral(table.__getitem__, [scale.check(value) for value in x], scale.top) == degree
                for x, degree in degrees.items()
            )
            if is_integral:
                assert Dense.of(base.capacity()) == Dense(2, table, scale)
            else:
                refusals += 1
                with pytest.raises(
                    CapacityError, match=r"are not a Sugeno integral: that of \{1: \d, 2: \d\}"
                ):
                    base.capacity()
    assert refusals


def test_a_base_on_all_numbers_needs_levels():
    base = PossibilisticBase(["a"], [([("a", 1)], 0.5)])
    with pytest.raises(CapacityError, match="levels="):
        base.capacity()


def dominating(mu, levels):
    """The distributions whose possibility measure is worth at least mu everywhere."""
    n = len(mu.criteria)
    return [
        pi
        for pi in product(levels, repeat=n)
        if all(Possibility(pi, mu.scale).at(mask) >= mu.at(mask) for mask in range(1 << n))
    ]


@pytest.mark.parametrize(("n", "levels"), [(1, 3), (2, 4), (3, 3)])
def test_the_family_is_the_least_possibility_measures_that_dominate(n, levels):
    scale = scale_of(levels)
    for table in islice(monotone_tables(n, levels), 0, None, 7 if n == 3 else 1):
        mu = Dense(n, list(table), scale)
        above = dominating(mu, scale.levels)
        least = {
            pi
            for pi in above
            if not any(other != pi and all(map(lambda a, b: a <= b, other, pi)) for other in above)
        }
        family = [member.pi for member in possibility_family(mu).members]
        assert len(family) == len(set(family))
        assert set(family) == least
        assert equal(possibility_family(mu), mu)
        x = [scale.levels[(place * 2 + 1) % levels] for place in range(n)]
        assert sugeno(mu, x) == min(sugeno(member, x) for member in possibility_family(mu).members)
        assert sugeno(mu, x) == max(sugeno(member, x) for member in necessity_family(mu).members)


def test_large_families_come_one_by_one():
    assert [sum(pi.pi) for pi in islice(iter_possibilities(CardinalityThreshold(60, tau=30)), 2)] == [31, 31]
    with pytest.raises(TooLargeError, match="more than 5 possibility measures"):
        possibility_family(CardinalityThreshold(12, tau=2), limit=5)
    with pytest.raises(CapacityError, match="the empty set is worth 1"):
        possibility_family(CardinalityThreshold(3, tau=0))
    assert possibility_family(Possibility([1, Fraction(1, 2)])).members == (Possibility([1, Fraction(1, 2)]),)
    assert len(possibility_family(CardinalityThreshold(4, tau=5)).members) == 1
    assert possibility_family(CardinalityThreshold(4, tau=5)).scale == BOOLEAN
