from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    from_inner_moebius,
    from_outer_moebius,
    inner_moebius,
    outer_moebius,
    transversals,
)
from tests.capacity.oracles import focal_sets, set_functions


@given(set_functions(max_n=4))
def test_both_transforms_are_the_definition_and_invert(mu):  # docs/theory.md 6.2
    criteria, scale, full = mu.criteria, mu.scale, mu.criteria.full
    inner, outer = inner_moebius(mu), outer_moebius(mu)
    assert inner == {
        criteria.members(mask): worth
        for mask, worth in focal_sets(mu.at, len(criteria), scale.bottom).items()
    }
    for mask in range(full + 1):
        above = min(
            (mu.at(other) for other in range(full + 1) if other & mask == mask and other != mask),
            default=scale.top,
        )
        kept = mu.at(mask) < above
        assert (criteria.members(mask) in outer) == kept
        if kept:
            assert outer[criteria.members(mask)] == mu.at(mask)
    for again in (from_inner_moebius(criteria, inner, scale), from_outer_moebius(criteria, outer, scale)):
        assert [again.at(mask) for mask in range(full + 1)] == [mu.at(mask) for mask in range(full + 1)]


@given(st.lists(st.frozensets(st.sampled_from("abcde")), max_size=5))
def test_transversals_meet_every_set_and_none_can_spare_a_member(sets):
    members = sorted(frozenset().union(*sets))
    hitting = [
        held
        for size in range(6)
        for held in map(frozenset, combinations(members, size))
        if all(held & one for one in sets)
    ]
    expected = [held for held in hitting if not any(other < held for other in hitting)]
    found = list(transversals(sets))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
    assert bool(found) == (frozenset() not in sets)
