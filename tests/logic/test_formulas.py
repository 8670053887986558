"""Formulas: text means what it says, checked against Python's own evaluation; errors have their place."""

import re

import numpy as np
import pytest
from hypothesis import given as draw
from hypothesis import settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import QuestionError, RuleSyntaxError, TooLargeError
from sugenet.logic import Reading, Statement, parse_formula
from sugenet.logic.composed import Wanted
from sugenet.logic.formulas import data_of, formula_of, holds, negated
from tests.logic.wholes import all_choices
from tests.thinned import examples

VALUES = ("1", "2", "3")
READINGS = [Reading.given(name, dict(zip(VALUES, (0, 1, 2), strict=True))) for name in "abc"]
SIZES = [3, 3, 3]


def conditions():
    sign = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    name = st.sampled_from("abc")
    value = st.tuples(name, sign, st.sampled_from(VALUES)).map(lambda t: (" ".join(t), t))
    pair = st.tuples(st.permutations("abc"), sign).map(
        lambda t: (f"{t[0][0]} {t[1]} {t[0][1]}", (t[0][0], t[1], t[0][1]))
    )
    listed = st.tuples(name, st.sets(st.sampled_from(VALUES), min_size=1)).map(
        lambda t: (f"{t[0]} in {{{', '.join(sorted(t[1]))}}}", (t[0], "in", t[1]))
    )
    return st.one_of(value, pair, listed)


def python_of(condition):
    name, sign, other = condition
    if sign == "in":
        return f"({name} in ({','.join(sorted(other))},))"
    return f"({name} {'==' if sign == '=' else sign} {other})"


def formulas():
    """Pairs of a formula and the same in Python."""
    base = conditions().map(lambda c: (c[0], python_of(c[1])))
    return st.recursive(
        base | st.just(("true", "True")) | st.just(("false", "False")),
        lambda inner: st.one_of(
            inner.map(lambda a: (f"not ({a[0]})", f"(not {a[1]})")),
            st.tuples(inner, inner).map(
                lambda t: (f"({t[0][0]}) and ({t[1][0]})", f"({t[0][1]} and {t[1][1]})")
            ),
            st.tuples(inner, inner).map(
                lambda t: (f"({t[0][0]}) or ({t[1][0]})", f"({t[0][1]} or {t[1][1]})")
            ),
            st.tuples(inner, inner).map(
                lambda t: (f"(if ({t[0][0]}) then ({t[1][0]}))", f"(not {t[0][1]} or {t[1][1]})")
            ),
            st.tuples(inner, inner).map(
                lambda t: (f"(({t[0][0]}) iff ({t[1][0]}))", f"(bool({t[0][1]}) == bool({t[1][1]}))")
            ),
        ),
        max_leaves=6,
    )


@settings(max_examples=examples(80), deadline=None)
@draw(formulas())
def test_text_means_what_python_says(pair):
    text, python = pair
    formula = parse_formula(text, READINGS)
    opposite, code = negated(formula, SIZES), compile(python, "", "eval")
    again = formula_of(data_of(formula))
    for choice in all_choices(READINGS):
        truth = bool(eval(code, {name: k + 1 for name, k in zip("abc", choice, strict=True)}))
        assert holds(formula, choice) == truth == (not holds(opposite, choice)) == holds(again, choice)


def test_and_binds_before_or_and_if_least():
    same = [
        ("a = 1 and b = 1 or c = 1", "(a = 1 and b = 1) or c = 1"),
        ("not a = 1 and b = 1", "(not (a = 1)) and b = 1"),
        ("if a = 1 or b = 1 then c = 1 and a = 1", "if (a = 1 or b = 1) then (c = 1 and a = 1)"),
        ("a = 1 -> b = 1 -> c = 1", "a = 1 -> (b = 1 -> c = 1)"),
        ("NOT NOT a == 1", "a = 1"),
    ]
    for one, other in same:
        assert parse_formula(one, READINGS) == parse_formula(other, READINGS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "place 1: it ends where a condition such as a = 1 is needed"),
        ("a", "place 2: it ends where a sign"),
        ("a =", "place 4: it ends where a value or a reading is needed"),
        ("a = 7", "place 5: '7' is not a value of a (1, 2, 3) or a reading"),
        ("d = 1", "place 1: 'd' is not a reading. There are a, b, c"),
        ("a = 1 b = 2", "place 7: it has 'b' where 'and', 'or' or the end is needed"),
        ("(a = 1", "place 7: it ends where ')' is needed"),
        ("a = 1)", "place 6: it has ')' where 'and', 'or' or the end"),
        ("if a = 1", "place 9: it ends where 'then' is needed"),
        ("a in {1, 9}", "place 10: '9' is not a value of a"),
        ("a in 1", "place 6: it has '1' where '{' is needed"),
        ("a = 'b", 'place 5: "\'b" cannot be read. A quote that is opened must be closed'),
        ("a < x", "place 5: it has 'x' where a number, since < compares numbers, is needed"),
        ("a = a", "place 3: a is compared with itself"),
        ("and = 1", "place 1: 'and' is not a reading"),
        ("(" * 200 + "a = 1" + ")" * 200, "more than 100 brackets"),
        (" iff ".join(["a = 1"] * 20), "more than 12 'iff'"),
        (None, "a formula is text such as"),
    ],
)
def test_errors_have_their_place(text, said):
    with pytest.raises(RuleSyntaxError, match=re.escape(said)):
        parse_formula(text, READINGS)


def test_names_and_values_with_blanks_and_signs():
    door = Reading.given("front door", {"wide open": 0, "shut": 1, "and": 2})
    lamp = Reading.given("lamp=1", {"on": 0, "1/2": 1})
    formula = parse_formula("'front door' = \"wide open\" or 'lamp=1' != on", [door, lamp])
    assert [holds(formula, c) for c in all_choices([door, lamp])] == [True, True, False, True, False, True]
    assert holds(parse_formula("'front door' = 'and'", [door, lamp]), (2, 0))
    with pytest.raises(RuleSyntaxError, match="place 16: 'and' is not a value of front door"):
        parse_formula("'front door' = and", [door, lamp])
    with pytest.raises(RuleSyntaxError, match="which is not a number, so it has no order"):
        parse_formula("'front door' < 3", [door, lamp])
    tight = Reading.given("a-b", {"-1": 0, "2-": 1})
    assert parse_formula("a-b=-1->'a-b'!='2-'", [tight]) == parse_formula("a-b = -1 -> a-b != 2-", [tight])
    one, two = Reading.given("x", {"y": 0, "z": 1}), Reading.given("y", {"z": 0})
    with pytest.raises(RuleSyntaxError, match="is a reading and a value of x"):
        parse_formula("x = y", [one, two])


def test_rows_and_predicates():
    allowed = Statement.of_rows(READINGS, ["c", "a"], [("1", "2"), (3, 3)])
    odd = Statement.of_predicate(READINGS, ["a", "b"], lambda a, b: (int(a) + int(b)) % 2 == 1)
    both = allowed.also(odd)
    for a, b, c in all_choices(READINGS):
        row, one = (c + 1, a + 1) in [(1, 2), (3, 3)], (a + b) % 2 == 1
        assert allowed.value((a, b, c)) == row
        assert odd.value((a, b, c)) == one
        assert both.value((a, b, c)) == (row and one)
    with pytest.raises(QuestionError, match="has 9, but c is one of 1, 2, 3"):
        Statement.of_rows(READINGS, ["c"], [(9,)])
    with pytest.raises(QuestionError, match="must have a value for each of c, a"):
        Statement.of_rows(READINGS, ["c", "a"], [("1",)])
    with pytest.raises(QuestionError, match="there is no reading 'd'"):
        Statement.of_rows(READINGS, ["d"], [])
    with pytest.raises(QuestionError, match="each once"):
        Statement.of_rows(READINGS, ["a", "a"], [])
    many = [Reading.given(f"x{k}", dict.fromkeys(map(str, range(10)), 0)) for k in range(8)]
    with pytest.raises(TooLargeError, match="100,000,000 rows"):
        Statement.of_predicate(many, [r.name for r in many], lambda *v: True)
    with pytest.raises(QuestionError, match="state something"):
        Statement.of(READINGS)


def test_a_long_formula_is_read_and_decided():
    rng = np.random.default_rng(0)
    clauses = [
        f"({' or '.join(f'{n} != {v}' for n, v in zip('abc', rng.integers(1, 4, 3), strict=True))})"
        for _ in range(3000)
    ]
    whole = Statement.of(READINGS, " and ".join(clauses))
    assert whole.says is False
    assert whole.min_gap(Wanted(True)) is None


def test_two_statements_are_joined_only_where_they_are_about_the_same():
    one = Statement.of([Reading.given("a", {"x": 0, "y": 1})], "a = x")
    assert one.also(Statement.of([Reading.given("a", {"x": 0, "y": 1})], "a != y")).says is True
    for gaps in ({"y": 1, "x": 0}, {"x": 0, "y": 2}, {"x": 0, "y": 1, "z": 1}):  # x has another number, ...
        with pytest.raises(QuestionError, match="not about the same readings"):
            one.also(Statement.of([Reading.given("a", gaps)], "a = x"))


def test_brackets_and_long_formulas_are_read_up_to_a_limit():
    for text in ("(" * 100 + "a = 1" + ")" * 100, "not " * 9999 + "not a = 1", "a = 1 and " * 9999 + "a = 1"):
        assert holds(parse_formula(text, READINGS), (0, 0, 0))
    deep = "(a = 1 and (b = 1 or " * 50 + "c = 1" + "))" * 50
    answer = sg.logic.read(Statement.of(READINGS, deep))
    assert answer.gap == 0
    sg.check(answer.certificate, [])
    for text in ("(" * 101, "not (" * 101, "a = 1 -> " * 101, "if a = 1 then " * 101, "(" * 100_000):
        with pytest.raises(RuleSyntaxError, match=r"place \d+: more than 100 brackets, 'then' or '->'"):
            parse_formula(text, READINGS)
    with pytest.raises(RuleSyntaxError) as refused:
        parse_formula("x" * 100_000, READINGS)
    assert len(str(refused.value)) < 200
