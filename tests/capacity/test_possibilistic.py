"""Possibilistic bases and bases of guaranteed possibility (docs/theory.md 6.10),
held against equation (2).
"""

import json
import pickle
from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    CardinalityThreshold,
    Dense,
    Focal,
    Ordinal,
    Possibility,
    Symmetric,
)
from sugenet.capacity.possibilistic import (
    Atom,
    GuaranteedBase,
    PossibilisticBase,
    Weighted,
    guaranteed_base,
    possibilistic_base,
)
from sugenet.errors import CapacityError, CriteriaError, RuleSyntaxError, ScaleError, TooLargeError
from tests.capacity.oracles import (
    GRADES,
    focal_sets,
    integral,
    monotone_tables,
    numbers,
    scale_values,
    set_functions,
)

SMALL = [(n, levels) for n in (0, 1, 2) for levels in (2, 3, 4)] + [(3, 2), (3, 3)]
BUILDERS = [possibilistic_base, guaranteed_base]


@cache
def chain(levels):
    return Ordinal(range(levels))


def every_small_set_function():
    for n, levels in SMALL:
        for table in monotone_tables(n, levels, capacities=False):
            yield Dense(n, list(table), chain(levels))
    for table in monotone_tables(3, 4):
        yield Dense(3, list(table), chain(4))


def degree_by_definition(base, x):
    """pi(x) = min of 1 - weight over violated clauses; delta(x) = max of the weights of satisfied terms."""
    row = dict(zip(base.criteria, x, strict=True))
    holds = {formula: [row[atom.criterion] >= atom.level for atom in formula.atoms] for formula in base}
    if isinstance(base, PossibilisticBase):
        return min(
            (base.scale.reverse(formula.weight) for formula in base if not any(holds[formula])),
            default=base.scale.top,
        )
    return max((formula.weight for formula in base if all(holds[formula])), default=base.scale.bottom)


@pytest.mark.parametrize("build", BUILDERS)
def test_the_degree_is_the_integral_on_every_small_case(build):  # docs/theory.md 6.10
    for mu in every_small_set_function():
        base = build(mu)
        assert base.levels is None
        for x in product(mu.scale.levels, repeat=len(mu.criteria)):
            assert base(x) == degree_by_definition(base, x) == integral(mu.at, x, mu.scale.top)


@pytest.mark.parametrize("build", BUILDERS)
def test_no_formula_is_needless_on_small_cases(build):
    for table in monotone_tables(3, 3):
        mu = Dense(3, list(table), chain(3))
        base = build(mu)
        samples = list(product(mu.scale.levels, repeat=3))
        for left in base:
            fewer = type(base)(3, [formula for formula in base if formula != left], mu.scale)
            assert any(fewer(x) != base(x) for x in samples)


# docs/theory.md 6.10: (OR of x_i(a), 1 - a^-) for 1 - a^- <= mu^c(A), as far as not implied
def test_the_clauses_are_those_of_the_formula():
    for mu in every_small_set_function():
        scale, n = mu.scale, len(mu.criteria)
        conjugate = focal_sets(
            lambda mask, mu=mu: mu.scale.reverse(mu.at(mu.criteria.full ^ mask)), n, scale.bottom
        )
        full = {
            (frozenset(Atom(name, a) for name in mu.criteria.members(mask)), scale.reverse(below))
            for mask, weight in conjugate.items()
            for below, a in zip(scale.levels, scale.levels[1:], strict=False)
            if scale.reverse(below) <= weight
        }
        assert set(possibilistic_base(mu)) <= full
        dual = {
            (frozenset(Atom(name, a) for name in mu.criteria.members(mask)), a)
            for mask, weight in focal_sets(mu.at, n, scale.bottom).items()
            for a in scale.levels[1:]
            if a <= weight
        }
        assert set(guaranteed_base(mu)) <= dual


def test_binary_samples_have_the_simple_form():  # docs/theory.md 6.10
    for mu in every_small_set_function():
        n, scale = len(mu.criteria), mu.scale
        pi, delta = (build(mu, levels=[scale.bottom, scale.top]) for build in BUILDERS)
        atoms = {
            mask: frozenset(Atom(name, scale.top) for name in mu.criteria.members(mask))
            for mask in range(1 << n)
        }
        conjugate = focal_sets(
            lambda mask, mu=mu: mu.scale.reverse(mu.at(mu.criteria.full ^ mask)), n, scale.bottom
        )
        assert set(pi) == {(atoms[mask], weight) for mask, weight in conjugate.items()}
        assert set(delta) == {
            (atoms[mask], weight) for mask, weight in focal_sets(mu.at, n, scale.bottom).items()
        }
        for mask in range(1 << n):
            x = [scale.top if mask >> place & 1 else scale.bottom for place in range(n)]
            assert pi(x) == delta(x) == mu.at(mask)


@given(set_functions(), st.data())
def test_the_degree_is_the_integral_for_every_family(mu, data):
    n = len(mu.criteria)
    extra = data.draw(st.lists(numbers, max_size=3)) if mu.scale == UNIT else []
    for build in BUILDERS:
        base = build(mu)
        if mu.scale == UNIT:
            base = build(mu, levels=[*base.levels, *extra])
            assert all(level in base.levels for level in extra)
        levels = st.sampled_from(base.levels or mu.scale.levels)
        row = data.draw(st.lists(levels, min_size=n, max_size=n))
        assert (
            base(row) == base(dict(zip(mu.criteria, row, strict=True))) == integral(mu.at, row, mu.scale.top)
        )
        assert type(base).from_text(base.to_text()) == base
        assert type(base).from_json(json.loads(json.dumps(base.to_json()))) == base
        assert pickle.loads(pickle.dumps(base)) == base


@given(set_functions(max_n=4), st.data())
def test_any_levels_of_samples_will_do(mu, data):  # fewer than the values of mu, or others
    n = len(mu.criteria)
    chosen = data.draw(st.lists(scale_values(mu.scale), max_size=3))
    row = data.draw(
        st.lists(st.sampled_from([mu.scale.bottom, mu.scale.top, *chosen]), min_size=n, max_size=n)
    )
    value = integral(mu.at, row, mu.scale.top)
    assert [build(mu, levels=chosen)(row) for build in BUILDERS] == [value, value]


def test_levels_on_the_unit_interval_are_closed_under_reversal():
    mu = Focal(["x", "y"], {"x": 0.25, ("x", "y"): 1})
    assert possibilistic_base(mu).levels == guaranteed_base(mu).levels == (0, 0.25, 0.75, 1)
    exact = Possibility({"x": 1, "y": 0.3})
    assert possibilistic_base(exact).levels == (0, 0.3, UNIT.reverse(0.3), 1)
    with pytest.raises(
        ScaleError,
        match=r"the value of y is 0.5, but this base tells apart only the levels 0, 0.25, 0.75, 1\. Build",
    ):
        possibilistic_base(mu)([0.25, 0.5])
    assert possibilistic_base(mu, levels=[0.25, 0.5])([0.25, 0.5]) == 0.25
    third = guaranteed_base(mu, levels=[Fraction(1, 3)])
    assert third.levels == (0, Fraction(1, 3), 1)
    assert third([Fraction(1, 3), 0]) == 0.25


def test_a_boolean_capacity_has_a_base_on_any_scale():  # docs/theory.md 6.1
    mu = CardinalityThreshold(3, tau=2)
    for build in BUILDERS:
        assert len(build(mu)) == 3
        base = build(mu, scale=GRADES)
        assert all(base(x) == sorted(x)[1] for x in product(GRADES.levels, repeat=3))


def test_inconsistency_is_what_is_missing_on_all_criteria():
    for mu in every_small_set_function():
        pi = possibilistic_base(mu)
        best = max(pi(x) for x in product(mu.scale.levels, repeat=len(mu.criteria)))
        assert pi.inconsistency == mu.scale.reverse(best) == mu.scale.reverse(mu.at(mu.criteria.full))


def test_constants():
    never, always = CardinalityThreshold(2, tau=3), CardinalityThreshold(2, tau=0)
    assert str(possibilistic_base(never)) == "(false, 1)"
    assert str(guaranteed_base(always)) == "[true, 1]"
    assert str(possibilistic_base(always)) == str(guaranteed_base(never)) == ""
    half = Symmetric(1, [0.5, 0.5])
    assert str(possibilistic_base(half)) == "(false, 0.5)"
    assert str(guaranteed_base(half)) == "[true, 0.5]"
    assert [base([0]) for base in (possibilistic_base(half), guaranteed_base(half))] == [0.5, 0.5]


def test_awkward_names_are_read_back_exactly():
    criteria = ["or", "true", "false", "and", "1", 1, -1, 'a "b"', "x,y", "]", ")", "levels", "", "größe"]
    scale = Ordinal(["false", "true", "1", "a b", "or"])
    for kind in (PossibilisticBase, GuaranteedBase):
        formulas = [([(name, level)], "true") for name in criteria for level in scale.levels[1:]]
        base = kind(
            criteria,
            [*formulas, ([(name, "or") for name in criteria], "1"), ((), "or")],
            scale,
            ["true", "1"],
        )
        again = kind.from_text(base.to_text())
        assert again == base
        assert [type(name) for name in again.criteria] == [type(name) for name in base.criteria]
        assert kind.from_json(json.loads(json.dumps(base.to_json()))) == base


def test_the_heaviest_of_equal_clauses_counts():
    pi = PossibilisticBase(1, [([(1, 1)], 0.25), ([(1, 1)], 0.5)])
    assert list(pi) == [Weighted(frozenset({Atom(1, 1)}), 0.5)]
    assert pi.violated([0]) == tuple(pi)
    delta = GuaranteedBase(1, [([(1, 1)], 0.25), ([(1, 0.5)], 0.25)])
    assert delta.satisfied([0.5]) == (Weighted(frozenset({Atom(1, 0.5)}), 0.25),)
    assert delta([0.75]) == 0.25  # without levels every sample is welcome


def test_bad_bases_are_refused():
    with pytest.raises(CapacityError, match="the atom x >= 0 holds for every sample, since 0 is the bottom"):
        PossibilisticBase(["x"], [([("x", 0)], 1)])
    with pytest.raises(CriteriaError, match="unknown criterion 'y'"):
        PossibilisticBase(["x"], [([("y", 1)], 1)])
    with pytest.raises(ScaleError, match="a weight is 2"):
        PossibilisticBase(["x"], [([("x", 1)], 2)])
    with pytest.raises(TooLargeError, match=r"there are about 10\^119 focal sets.*iter_selection_rules"):
        guaranteed_base(CardinalityThreshold(400, tau=200))
    with pytest.raises(
        TooLargeError, match=r"there are about 10\^119 focal sets of the conjugate.*iter_elimination_rules"
    ):
        possibilistic_base(CardinalityThreshold(400, tau=200))


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("[x >= 1, 1]", r"line 3, column 1: found \[, expected \("),
        ("(x >= 1 and y >= 1, 1)", r"line 3, column 9: found and, expected or or ,"),
        ("(x <= 1, 1)", r"line 3, column 4: found <=, expected >="),
        ("(z >= 1, 1)", r"line 3, column 2: unknown criterion z; the criteria are x, y"),
        ("(x >= 1, 1", r"line 3, column 11: the text ends, expected \)"),
        ("(x >= 1, 7)", r"line 3, column 10: '7' is not a number|line 3, column 10: value is"),
        ("levels: 0, z", r"line 3, column 12: 'z' is not a number"),
    ],
)
def test_bad_text_is_refused_with_the_place_and_an_example(line, complaint):
    with pytest.raises(RuleSyntaxError, match=complaint) as caught:
        PossibilisticBase.from_text(f"criteria: x, y\nscale: [0, 1]\n{line}\n")
    assert "Write it like this: " in str(caught.value)


def test_bad_json_is_refused():
    good = possibilistic_base(Focal(["x"], {"x": 1}, BOOLEAN)).to_json()
    with pytest.raises(RuleSyntaxError, match="does not describe a guaranteed base"):
        GuaranteedBase.from_json(good)
    with pytest.raises(RuleSyntaxError, match="a formula must be like"):
        PossibilisticBase.from_json({**good, "formulas": [{"atoms": []}]})
    with pytest.raises(RuleSyntaxError, match="a formula must be like"):
        PossibilisticBase.from_json({**good, "formulas": [{"atoms": [["x"]], "weight": 1}]})
