"""Learned parameters of rules against the formula of the Chebyshev distance, and against all parameters."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet import check
from sugenet.errors import CapacityError, CertificateError, QuestionError
from sugenet.fit import fit_rules, rule_equations
from sugenet.logic import PossibilisticRule, RuleBase
from tests.thinned import examples

HALVES = [Fraction(k, 4) for k in range(5)]
degree = st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)])
distribution = st.tuples(degree, degree).map(lambda d: d if max(d) == 1 else (Fraction(1), d[1]))
BASE = RuleBase.of({"a": "01", "b": "01", "c": "012"}, ["if a = 1 then c = 1", "if b = 1 then c != 2"])


def samples_of(rows):
    return [
        {name: dict(zip("01", part, strict=True)) for name, part in zip("ab", row, strict=True)}
        for row in rows
    ]


def nabla(rows, wanted):
    """The Chebyshev distance of a min-max system, by its formula."""
    pairs = list(zip(rows, wanted, strict=True))
    return max(
        min(
            max(
                row[j] - b,
                0,
                *(min(max(d - b, Fraction(0)) / 2, max(d - other[j], Fraction(0))) for other, d in pairs),
            )
            for j in range(len(row))
        )
        for row, b in pairs
    )


@settings(max_examples=examples(25), deadline=None)
@given(
    st.lists(st.tuples(distribution, distribution, st.tuples(degree, degree, degree)), min_size=1, max_size=3)
)
def test_the_chebyshev_distance_against_its_formula_and_all_parameters(cases):
    samples = samples_of([case[:2] for case in cases])
    truths = [{"c": dict(zip("012", case[2], strict=True))} for case in cases]
    fitted = fit_rules(BASE, samples, truths)
    system = rule_equations(BASE, "c", samples, truths)
    rows, wanted = system.X.tolist(), system.a.tolist()
    error = fitted.fits["c"].error
    assert error == nabla(rows, wanted)

    def off(parameters):
        columns = [*parameters, Fraction(0)]
        return max(
            abs(min(max(pair) for pair in zip(columns, row, strict=True)) - b)
            for row, b in zip(rows, wanted, strict=True)
        )

    best = [one for one in product(HALVES, repeat=4) if off(one) == error]
    assert min(map(off, product(HALVES, repeat=4))) == error
    learned = [p for rule in fitted.base.rules for p in (rule.s, rule.r)]
    assert off(learned) == error
    assert all(mine <= other for one in best for mine, other in zip(learned, one, strict=True))
    assert "no 1-minitive capacity errs by less" in check(fitted.fits["c"], system)


@settings(max_examples=examples(40), deadline=None)
@given(distribution, distribution, st.tuples(degree, degree, degree))
def test_the_tolerance_is_the_error_of_a_sample_alone(one, other, degrees):
    samples, truths = samples_of([(one, other)]), [{"c": dict(zip("012", degrees, strict=True))}]
    error = fit_rules(BASE, samples, truths).fits["c"].error
    assert fit_rules(BASE, samples, truths, tolerance=error).dropped == {"c": ()}
    if error:
        with pytest.raises(CapacityError, match="Raise the tolerance"):
            fit_rules(BASE, samples, truths, tolerance=error - Fraction(1, 10**9))


@settings(max_examples=examples(15), deadline=None)
@given(
    st.lists(st.sampled_from(HALVES), min_size=6, max_size=6),
    st.lists(st.tuples(distribution, distribution), min_size=1, max_size=5),
)
def test_rules_that_made_the_data_are_met_exactly(values, rows):
    (s1, r1, s2, r2, s3, r3) = values
    true = RuleBase.of(
        {"a": "01", "b": "01", "c": "01", "d": "01"},
        [
            PossibilisticRule("a = 1", "c = 1", s1, r1),
            PossibilisticRule("b = 1", "c = 1", s2, r2),
            PossibilisticRule("c = 1 or a = 0", "d = 0", s3, r3),
        ],
    )
    samples = samples_of(rows)
    fitted = fit_rules(
        RuleBase(true.variables, tuple(PossibilisticRule(r.premise, r.conclusion) for r in true.rules)),
        samples,
        true.infer_each(samples),
    )
    assert all(fit.error == 0 for fit in fitted.fits.values())
    assert fitted.base.infer_each(samples) == true.infer_each(samples)
    assert "meet them exactly" in str(fitted)


def test_samples_that_cannot_be_met_are_left_out():
    base = RuleBase.of({"a": "01", "c": "01"}, ["if a = 1 then c = 1"])
    right, wrong = {"a": {0: 0, 1: 1}}, {"a": {0: 1, 1: 1}}
    truths = [{"c": 1}, {"c": 0}]
    fitted = fit_rules(base, [right, wrong], truths, tolerance=0)
    assert (fitted.dropped["c"], fitted.fits["c"].error) == ((1,), 0)
    assert "without 1 samples" in str(fitted)
    both = fit_rules(base, [right, wrong], truths)
    assert both.fits["c"].error == 1
    assert "no parameters err by less than 1" in str(both)
    with pytest.raises(CertificateError, match="not for"):
        check(both.fits["c"], rule_equations(base, "c", [right], truths[:1]))
    with pytest.raises(CapacityError, match="Raise the tolerance"):
        fit_rules(base, [wrong], truths[1:], tolerance=0)


def test_mistakes_are_refused():
    base = RuleBase.of({"a": "01", "c": "01"}, ["if a = 1 then c = 1"])
    sample = {"a": {0: 1, 1: 0}}
    for samples, truths, said in (
        ([], [], "no samples"),
        ([sample], [{"d": 1}], "'d' is not an output"),
        ([sample], [{}], "no output is named"),
        ([sample], [{"c": 2}], "Give one for each of 0, 1"),
        ([sample], ["c"], "a truth is a str"),
        ([sample], [{"c": {0: 2, 1: 1}}], "from 0 to 1"),
        ([sample], [{"c": {0: 1, "0": 0}}], "Give one for each of 0, 1"),
        ([sample], [{"c": 1}, {"c": 1}], "1 samples and 2 truths"),
        ([sample, sample], [{"c": 1}, {}], "truth 1 says nothing about c"),
    ):
        with pytest.raises((CapacityError, QuestionError), match=said):
            fit_rules(base, samples, truths)


def test_a_fit_is_checked_with_the_parameters_that_its_rules_have():
    base = RuleBase.of({"a": "01", "c": "01"}, ["if a = 1 then c = 1", "if a = 0 then c = 0"])
    samples = [{"a": {0: 0.25, 1: 1}}, {"a": {0: 1, 1: 1}}, {"a": {0: 1, 1: 0}}]
    truths = [{"c": 1}, {"c": 0}, {"c": {0: 1, 1: 0.5}}]
    for learned in (fit_rules(base, samples, truths), fit_rules(base, samples, truths, tolerance=0.5)):
        assert "these err by no more" in learned.check(samples, truths)
        (s, r), second = [(rule.s, rule.r) for rule in learned.base.rules]
        for wrong in ((s + Fraction(1, 64), r), (s, r + Fraction(1, 64))):
            forged = replace(learned, base=learned.base.with_parameters("c", [wrong, second]))
            with pytest.raises(CertificateError, match="in the certificate"):
                forged.check(samples, truths)
        with pytest.raises(CertificateError, match="not for"):
            learned.check(samples, [{"c": 1}, {"c": 1}, {"c": 1}])
