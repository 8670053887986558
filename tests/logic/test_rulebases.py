"""Possibilistic rules against their definition by conditional possibilities, over all interpretations."""

from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.errors import QuestionError, RuleSyntaxError, TooLargeError
from sugenet.logic import PossibilisticRule, Reading, RuleBase, degrees_of, possibilities
from tests.thinned import examples

LEVELS = [Fraction(k, 4) for k in range(5)]
PREMISES = {
    "a = 0": lambda a, b: a == 0,
    "a = 1 and b in {0, 2}": lambda a, b: a == 1 and b in (0, 2),
    "a = b": lambda a, b: a == b,
    "a < b or b = 1": lambda a, b: a < b or b == 1,
    "a = 0 and a = 1": lambda a, b: False,
    "true": lambda a, b: True,
    "not (a = 2 and b = 2)": lambda a, b: not (a == 2 and b == 2),
}
CONCLUSIONS = {"c = 0": {0}, "c in {1, 2}": {1, 2}, "c != 2": {0, 1, 3}, "false": None}
degree = st.sampled_from(LEVELS)
distribution = st.tuples(degree, degree, degree).map(
    lambda d: [*d[:2], Fraction(1)] if max(d) < 1 else list(d)
)
rule = st.builds(
    PossibilisticRule, st.sampled_from(list(PREMISES)), st.sampled_from(list(CONCLUSIONS)[:3]), degree, degree
)
VARIABLES = {"a": range(3), "b": range(3), "c": range(4)}


def by_definition(rules, pa, pb):
    """The degree of each value of c: for every rule, the best interpretation together with what it allows."""
    found = []
    for c in range(4):
        allowed = []
        for one in rules:
            options = []
            for a, b in product(range(3), repeat=2):
                true, within = PREMISES[one.premise](a, b), c in CONCLUSIONS[one.conclusion]
                conditional = 1 if true == within else (one.s if within else one.r)
                options.append(min(pa[a], pb[b], conditional))
            allowed.append(max(options))
        found.append(min(allowed))
    return found


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(rule, min_size=1, max_size=4),
    st.lists(st.tuples(distribution, distribution), min_size=1, max_size=3),
)
def test_inference_is_what_conditional_possibilities_say(rules, pairs):
    base = RuleBase.of(VARIABLES, rules)
    samples = [{"a": dict(enumerate(pa)), "b": dict(enumerate(pb))} for pa, pb in pairs]
    for found, (pa, pb) in zip(base.infer_each(samples), pairs, strict=True):
        assert list(found["c"].values()) == by_definition(rules, pa, pb)


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(rule, min_size=1, max_size=3), distribution, distribution)
def test_the_matrix_gives_the_same(rules, pa, pb):
    base = RuleBase.of(VARIABLES, rules)
    sample = {"a": dict(enumerate(pa)), "b": dict(enumerate(pb))}
    (vector,) = base.vectors("c", [sample])
    found = base.infer(sample)["c"]
    for cell, row in zip(base.cells("c"), base.matrix("c"), strict=True):
        value = min(max(pair) for pair in zip(row, vector, strict=True))
        assert {found[u] for u in cell} == {value}
    for u, value in found.items():
        binding = base.because(sample, "c", u)
        left = [one for one in rules if one not in binding]
        assert bool(binding) == (value < 1)
        if binding:
            assert not left or RuleBase.of(VARIABLES, left).infer(sample).get("c", {u: 1})[u] > value


def test_a_cascade_uses_what_was_concluded():
    base = RuleBase.of(
        {"a": range(2), "b": range(2), "c": range(2)},
        [
            PossibilisticRule("a = 1", "b = 1", s=Fraction(1, 4)),
            PossibilisticRule("b = 1 and a = 1", "c = 1", r=Fraction(1, 8)),
        ],
    )
    assert (base.inputs, base.outputs) == (("a",), ("b", "c"))
    found = base.infer({"a": {0: 1, 1: 0}})
    assert list(found["b"].values()) == [1, Fraction(1, 4)]
    assert list(found["c"].values()) == [1, 0]
    assert [str(one) for one in base.because({"a": {0: 1, 1: 0}}, "b", 1)] == [
        "if a = 1 then b = 1 (s = 0.25, r = 0)"
    ]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
def test_transforms_against_their_definitions(weights):
    p = {str(k): Fraction(w, sum(weights)) for k, w in enumerate(weights)}
    ratio, anti, specific = (possibilities(p, name) for name in ("ratio", "antipignistic", "specificity"))
    for v, mine in p.items():
        assert ratio[v] == mine / max(p.values())
        assert anti[v] == sum(min(mine, other) for other in p.values())
        assert specific[v] == sum(other for other in p.values() if other <= mine)
        assert specific[v] <= anti[v]
    for size in range(1, len(p) + 1):
        for some in combinations(p, size):
            assert max(specific[v] for v in some) >= sum(p[v] for v in some)
    for one in (ratio, anti, specific):
        assert max(one.values()) == 1
        assert all((p[u] <= p[v]) == (one[u] <= one[v]) for u in p for v in p)


def test_degrees_of_a_reading_are_those_of_its_softmax():
    reading = Reading.given("x", {"0": 0, "1": Fraction(1, 2), "2": 3000})
    assert degrees_of(reading, digits=4) == {"0": 1, "1": Fraction(6065, 10000), "2": 0}
    assert degrees_of(reading, digits=4, temperature=Fraction(1, 2))["1"] == Fraction(3679, 10000)
    anti = degrees_of(reading, "antipignistic", digits=3)
    assert anti["1"] == Fraction(755, 1000)  # 2 * 0.3775
    base = RuleBase.of({"x": "012", "y": "01"}, ["if x = 1 then y = 1"])
    assert base.infer({"x": reading})["y"]["1"] == Fraction(606531, 10**6)


@settings(max_examples=examples(20), deadline=None)
@given(rule, st.floats(0, 1), st.fractions(0, 1))
def test_a_rule_is_read_as_it_is_written(one, s, r):
    one = PossibilisticRule(one.premise, one.conclusion, s, r)
    assert PossibilisticRule.of(str(one)) == one


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(PREMISES)), st.sampled_from(list(CONCLUSIONS)[:3]), degree), min_size=1
    ),
    distribution,
    distribution,
)
def test_a_weighted_formula_leaves_its_violations_what_its_weight_leaves(formulas, pa, pb):
    base = RuleBase.of(VARIABLES, [(f"if {p} then {q}", weight) for p, q, weight in formulas])
    found = base.infer({"a": dict(enumerate(pa)), "b": dict(enumerate(pb))})["c"]
    for c in range(4):
        best = [
            max(
                min(pa[a], pb[b], 1 - weight if PREMISES[p](a, b) and c not in CONCLUSIONS[q] else 1)
                for a, b in product(range(3), repeat=2)
            )
            for p, q, weight in formulas
        ]
        assert found[str(c)] == min(best)
    assert PossibilisticRule.of(("c = 1", degree_of := Fraction(1, 4))) == PossibilisticRule(
        "true", "c = 1", 1, 1 - degree_of
    )


@pytest.mark.parametrize(
    ("variables", "rules", "said"),
    [
        ({"a": "01"}, ["a = 1 then"], "a rule is text"),
        ({"a": "01"}, [], "needs a rule"),
        ({"a": "01"}, ["if true then a = 1"], "Add an input"),
        ({"a": "00", "b": "01"}, ["if a = 0 then b = 1"], "must be different"),
        ({"a": "01", "b": "01"}, ["if a = 0 then a = 1"], "must not depend on itself"),
        (
            {"a": "01", "b": "01", "c": "01"},
            ["if c = 1 then b = 1", "if a = 1 then c = 1"],
            "on which no earlier",
        ),
        ({"a": "01", "b": "01"}, ["if a = 0 then b = 1 and a = 1"], "about one variable"),
        ({"a": "01", "b": "01"}, [("a = 1", "b = 1", 2)], "from 0 to 1"),
        ({"a": "01", "b": "01"}, ["if a = 0 then b = 1 (s = 0.5, r = 2)"], "r is Fraction"),
        ({"a": range(300), "b": range(300), "c": "01"}, ["if a = b then c = 1"], "90,000 combinations"),
    ],
)
def test_wrong_rules_are_refused(variables, rules, said):
    def make():
        made = [PossibilisticRule(*one) if isinstance(one, tuple) else one for one in rules]
        base = RuleBase.of(variables, made)
        base.infer({name: dict.fromkeys(variables[name], 1) for name in base.inputs})

    with pytest.raises((QuestionError, RuleSyntaxError, TooLargeError), match=said):
        make()


def test_many_samples_of_a_large_premise_are_inferred_one_part_at_a_time():
    values = range(200)  # 40,000 combinations, so that 53 samples are one part too many
    base = RuleBase.of({"a": values, "b": values, "c": "01"}, ["if a = b then c = 1"])
    samples = [
        {"a": {v: int(v == k) for v in values}, "b": {v: int(v == 50) for v in values}} for k in range(53)
    ]
    found = base.infer_each(samples)
    assert [one["c"]["1"] for one in found] == [int(k == 50) for k in range(53)]
    assert [one["c"]["0"] for one in found] == [int(k != 50) for k in range(53)]


def test_a_premise_that_never_holds_limits_the_conclusion():
    base = RuleBase.of(
        {"a": "01", "b": "01"}, ["if false then b = 1 (s = 0.25, r = 0)", "if true then b in {0, 1}"]
    )
    assert base.infer({"a": {0: 1, 1: 0}})["b"] == {"0": 1, "1": Fraction(1, 4)}
    assert base.vectors("b", [{"a": {0: 1, 1: 0}}]) == [[0, 1, 1, 0]]


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        ({}, "no degrees of the input 'a'"),
        ({"a": {0: 1}}, "Give one for each of 0, 1"),
        ({"a": {0: 1, "0": 1, 1: 0}}, "Give one for each of 0, 1"),
        ({"a": [1, 0]}, "sample 0: a is a list"),
        ("a", "sample 0 is a str"),
        ({"a": {0: 1, 1: 0}, "b": {0: 1, 1: 0}}, "'b' is not an input"),
        ({"a": {0: 1, 1: float("nan")}}, "not a finite number"),
        ({"a": {0: 0.5, 1: 0}}, "the largest 1"),
        ({"a": {0: 1, 1: -1}}, "at least 0"),
    ],
)
def test_wrong_degrees_are_refused(sample, said):
    base = RuleBase.of({"a": "01", "b": "01"}, ["if a = 0 then b = 1"])
    with pytest.raises(QuestionError, match=said):
        base.infer(sample)


def test_other_mistakes_are_refused():
    base = RuleBase.of({"a": "01", "b": "01"}, ["if a = 0 then b = 1"])
    with pytest.raises(QuestionError, match="no rule concludes on 'a'"):
        base.cells("a")
    for parameters in ([(0, 0), (0, 0)], [(0, 0, 0)], []):
        with pytest.raises(QuestionError, match="Give a pair"):
            base.with_parameters("b", parameters)
    for digits in (-1, 1.5, 51, True):
        with pytest.raises(QuestionError, match="integer from 0 to 50"):
            possibilities({"a": 1}, digits=digits)
    with pytest.raises(QuestionError, match="b is one of 0, 1, not '2'"):
        base.because({"a": {0: 1, 1: 0}}, "b", 2)
    with pytest.raises(QuestionError, match="not one of ratio"):
        possibilities({"a": 1}, "pignistic")
    with pytest.raises(QuestionError, match="not all 0"):
        possibilities({"a": 0})
    with pytest.raises(QuestionError, match="above 0"):
        degrees_of(Reading.given("x", {"a": 0}), temperature=0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: RuleBase.of({"a": 5, "b": "01"}, ["if a = 0 then b = 0"]), "'5' is not a list of values"),
        (lambda: RuleBase.of(["a"], ["if a = 0 then b = 0"]), "is not a list of values"),
        (lambda: RuleBase.of({1: "01", "1": "01", "b": "01"}, ["if 1 = 0 then b = 0"]), "written alike"),
        (lambda: ONE.with_parameters("b", [1]), "b has 1 rules"),
        (lambda: ONE.because({"a": {0: 1, 1: 0}}, "c", 0), "no rule concludes on 'c'"),
        (lambda: possibilities(None), "probabilities is a NoneType"),
        (lambda: degrees_of("a"), "'a' is not a Reading"),
    ],
)
def test_other_types_are_refused_by_name(wrong, words):
    with pytest.raises(QuestionError, match=words):
        wrong()


ONE = RuleBase.of({"a": "01", "b": "01"}, ["if a = 0 then b = 0"])
