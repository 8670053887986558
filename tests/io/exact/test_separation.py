"""Real combinations of integers and their integer twins, at every combination."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.io.exact.separation import Separation, separated
from sugenet.io.exact.steps import Surd

ratios = st.fractions(Fraction(1, 9), 40, max_denominator=9)
sizes = st.builds(
    lambda q, r: Surd.of(1).times(Fraction(1), r).times(q), ratios, ratios | st.just(Fraction(1))
)


def total(values, factors):
    result = Surd.of(0)
    for value, factor in zip(values, factors, strict=True):
        result = result.plus_surd(value.times(Fraction(factor)))
    return result


@given(st.lists(st.tuples(sizes, st.integers(1, 7)), min_size=1, max_size=3), st.booleans(), st.data())
def test_the_sign_is_the_same_at_every_combination(parts, closed, data):
    values, tops = zip(*parts, strict=True)
    if data.draw(st.booleans()):  # a threshold that a combination meets
        end = total(values, [data.draw(st.integers(0, top)) for top in tops])
    else:
        end = Surd.of(data.draw(st.fractions(-10, 300, max_denominator=4)))
    found, met = separated(values, tops, end, closed), False
    for chosen in product(*(range(top + 1) for top in tops)):
        side = total(values, chosen).minus(end).sign()
        met |= side == 0
        on = side > 0 or (side == 0 and closed)
        if isinstance(found, bool):
            assert found == on
        else:
            assert (sum(p * u for p, u in zip(found.factors, chosen, strict=True)) >= found.least) == on
    assert isinstance(found, bool) or found.met == met


@pytest.mark.parametrize(("top", "count", "is_found"), [(144, 2, True), (300, 3, True), (1000, 4, False)])
def test_sums_of_many_wide_values_have_no_small_twin(top, count, is_found):
    values = [Surd.of(1).times(Fraction(1), Fraction(n)) for n in (2, 3, 5, 7)[:count]]
    end = Surd.of(top)
    found = separated(values, [top] * count, end, True)
    assert isinstance(found, Separation) == is_found
    if is_found:
        assert sum(found.factors) * top < 1 << 30
