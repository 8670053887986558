"""Possibility and necessity of formulas over readings, by linear forms, by search and by the integral, all
against the definition over all interpretations.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given as draw
from hypothesis import settings

from sugenet.capacity import UNIT, Conjugate, Necessity, Possibility, random_capacity, sugeno
from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic import (
    Reading,
    Statement,
    integrate,
    interpretations,
    necessity_of,
    possibility_of,
    read,
)
from sugenet.logic.composed import Wanted
from sugenet.logic.formulas import Every, Listed, OneOf, Some, easiest, holds, is_decomposable, negated
from sugenet.logic.search import Choices
from tests.logic.test_formulas import READINGS, formulas
from tests.logic.wholes import all_choices, by_definition, cheapest_by_definition, given
from tests.thinned import examples


@settings(max_examples=examples(80), deadline=None)
@draw(formulas())
def test_the_gap_of_a_formula_and_of_its_opposite(pair):
    whole = Statement.of(READINGS, pair[0])
    for value in (True, False):
        found = whole.min_gap(Wanted(value))
        assert (None if found is None else found[0]) == by_definition(whole, Wanted(value))
        if found is not None:
            assert whole.value(found[1]) is value
            assert max(r.gaps[k] for r, k in zip(READINGS, found[1], strict=True)) == found[0]


def random_formula(rng, readings, depth):
    """A formula of any shape, as a value."""
    if depth == 0 or rng.random() < 0.2:
        place = int(rng.integers(len(readings)))
        many = len(readings[place].values)
        if rng.random() < 0.4 and len(readings) > 1:
            other = (place + 1) % len(readings)
            rows = {
                (a, b) for a in range(many) for b in range(len(readings[other].values)) if rng.random() < 0.5
            }
            return Listed((place, other), frozenset(rows), bool(rng.random() < 0.5))
        return OneOf(place, frozenset(k for k in range(many) if rng.random() < 0.5))
    parts = tuple(random_formula(rng, readings, depth - 1) for _ in range(rng.integers(0, 4)))
    return (Every if rng.random() < 0.5 else Some)(parts)


def test_linear_forms_and_search_agree_with_the_definition():
    rng, linear = np.random.default_rng(1), 0
    for _ in range(300):
        readings = [given(rng, f"r{k}", "abcd"[: rng.integers(1, 5)]) for k in range(rng.integers(1, 4))]
        formula = random_formula(rng, readings, int(rng.integers(0, 4)))
        gaps = [r.gaps for r in readings]
        expected = min(
            (
                max(r.gaps[k] for r, k in zip(readings, choice, strict=True))
                for choice in all_choices(readings)
                if holds(formula, choice)
            ),
            default=None,
        )
        choices = Choices([len(r.values) for r in readings])
        choices.demand(formula)
        found = choices.min_gap(gaps)
        assert (None if found is None else found[0]) == expected
        assert found is None or holds(formula, found[1])
        if is_decomposable(formula):
            linear += 1
            easy = easiest(formula, gaps)
            assert (None if easy is None else easy[0]) == expected
            if easy is not None:
                assert holds(formula, [easy[1].get(p, r.best) for p, r in enumerate(readings)])
        costs = [
            [None if rng.random() < 0.2 else Fraction(int(c), 3) for c in rng.integers(0, 6, len(g))]
            for g in gaps
        ]
        whole = Statement(tuple(readings), formula, "")
        cheapest = choices.min_cost(costs)
        assert (None if cheapest is None else cheapest[0]) == cheapest_by_definition(
            whole, Wanted(True), costs
        )
    assert linear > 80


def test_terms_clauses_and_their_forms_are_linear():
    rng = np.random.default_rng(2)
    for _ in range(100):
        readings = [given(rng, f"r{k}", "abc") for k in range(3)]
        gaps, sizes = [r.gaps for r in readings], [3, 3, 3]

        def literals(rng=rng):
            some = rng.permutation(3)[: rng.integers(1, 4)]
            return tuple(
                OneOf(int(p), frozenset(rng.permutation(3)[: rng.integers(1, 3)].tolist())) for p in some
            )

        term = Every(literals())
        parts = [min(gaps[p.place][k] for k in p.allowed) for p in term.parts]
        assert easiest(term, gaps)[0] == max(parts)  # Pi of a term is the least of its literals'
        clause = Some(literals())
        against = negated(clause, sizes)
        worst = [
            min((gaps[p.place][k] for k in range(3) if k not in p.allowed), default=None)
            for p in clause.parts
        ]
        found = easiest(against, gaps)  # N of a clause is the largest of its literals'
        assert (None if found is None else found[0]) == (None if None in worst else max(worst))
        dnf, cnf = Some((term, Every(literals()))), Every((clause, Some(literals())))
        assert is_decomposable(dnf)
        assert is_decomposable(negated(cnf, sizes))


# -- the integral --------------------------------------------------------------------------------------------


def graded(rng, names):
    return {name: Fraction(int(k), 4) for name, k in zip(names, rng.integers(0, 5, len(names)), strict=True)}


def by_cuts(mu, names, truth):
    """max over a of min(a, mu({w: l(w) >= a})): the definition of the integral."""
    levels = {truth[name] for name in names}
    return max(min(a, Fraction(mu({name for name in names if truth[name] >= a}))) for a in levels)


def test_the_integral_over_interpretations():
    rng = np.random.default_rng(3)
    for round_ in range(40):
        readings = [given(rng, "a", "01"), given(rng, "b", "012"[: rng.integers(1, 4)])]
        names = interpretations(readings)
        pi, necessity = possibility_of(readings), necessity_of(readings)
        general = random_capacity(names, UNIT, levels=5, seed=round_)
        truth = graded(rng, names)
        degree = dict(zip(names, pi.pi, strict=True))

        def of(values, truth=truth):
            return truth[", ".join(f"{name}={value}" for name, value in values.items())]

        assert integrate(pi, readings, of) == max(min(truth[n], degree[n]) for n in names)
        assert integrate(necessity, readings, of) == min(max(truth[n], 1 - degree[n]) for n in names)
        for mu in (pi, necessity, general):
            assert integrate(mu, readings, of) == by_cuts(mu, names, truth)
            # by focal sets of interpretations, qualitative random sets
            focal = [min(Fraction(f.weight), *(truth[n] for n in f.members)) for f in mu.focal_sets()]
            assert integrate(mu, readings, of) == max(focal)


def test_a_boolean_formula_is_worth_what_its_models_are():
    rng = np.random.default_rng(4)
    for _ in range(40):
        readings = [given(rng, "a", "012"), given(rng, "b", "01")]
        names, formula = interpretations(readings), random_formula(rng, readings, 2)
        models = {n for n, choice in zip(names, all_choices(readings), strict=True) if holds(formula, choice)}
        pi, necessity = possibility_of(readings), necessity_of(readings)
        for mu in (pi, necessity, Conjugate(pi)):
            assert integrate(mu, readings, formula) == mu(models)
        # duality, and the same order as the gaps
        opposite = negated(formula, [3, 2])
        assert integrate(necessity, readings, formula) == 1 - integrate(pi, readings, opposite)
        whole = Statement(tuple(readings), formula, "")
        levels = sorted({gap for r in readings for gap in r.gaps})
        for value, phi in ((True, formula), (False, opposite)):
            found = whole.min_gap(Wanted(value))
            degree = 0 if found is None else 1 - Fraction(levels.index(found[0]), len(levels))
            assert integrate(pi, readings, phi) == degree


def test_capacities_over_other_criteria_are_refused():
    two = [Reading.given(name, {"0": 0, "1": 1}) for name in "ab"]
    with pytest.raises(QuestionError, match="is not an interpretation of these readings"):
        integrate(Possibility([1, 0.5]), two, "a = 0")
    many = [Reading.given(f"x{k}", dict.fromkeys("0123456789", 0)) for k in range(6)]
    with pytest.raises(TooLargeError, match="1,000,000 interpretations"):
        possibility_of(many)
    assert isinstance(necessity_of(two), Necessity)
    assert sugeno(possibility_of(two), dict.fromkeys(interpretations(two), 1)) == 1


# -- contradictions, tautologies, ties -----------------------------------------------------------------------


def test_contradictions_tautologies_and_ties():
    never, always = Statement.of(READINGS, "a = 1 and a = 2"), Statement.of(READINGS, "a = 1 or a != 1")
    assert read(never).gap is None
    assert "impossible, whatever the readings are" in str(read(never))
    assert read(always).margin is None
    assert "any other is impossible" in str(read(always))
    assert read(never, False).margin is None
    assert read(always, False).gap is None
    tied = [Reading.given(name, {"1": 0, "2": 0}) for name in "ab"]
    answer = read(Statement.of(tied, "a = b"))
    assert (answer.gap, answer.margin) == (0, 0)
    assert "but so is another" in str(answer)
    only = [Reading.given("a", {"x": 0})]
    assert read(Statement.of(only, "a = x")).margin is None
    with pytest.raises(QuestionError, match="value=1 must be True or False"):
        read(always, 1)
