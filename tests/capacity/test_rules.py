"""Selection and elimination rules (paper section 2.2), held against equation (2) and read back
from text and JSON.
"""

import json
import pickle
from fractions import Fraction
from functools import cache
from itertools import islice, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    CardinalityThreshold,
    Criteria,
    Dense,
    Focal,
    Ordinal,
    Symmetric,
    WeightedThreshold,
    sugeno,
)
from sugenet.capacity.rules import (
    EliminationRule,
    RuleSet,
    SelectionRule,
    ThresholdRule,
    elimination_rules,
    iter_elimination_rules,
    iter_selection_rules,
    parse_rule,
    selection_rules,
)
from sugenet.errors import CapacityError, CriteriaError, RuleSyntaxError, ScaleError, TooLargeError
from tests.capacity.oracles import GRADES, focal_sets, integral, monotone_tables, scale_values, set_functions

SMALL = [(n, levels) for n in (0, 1, 2) for levels in (2, 3, 4)] + [(3, 2), (3, 3)]


@cache
def chain(levels):
    return Ordinal(range(levels))


def every_small_set_function():
    """All monotone set functions, capacities or not, for n <= 3 and up to 3 levels (4 for n <= 2), and 3
    criteria on 4 levels.
    """
    for n, levels in SMALL:
        for table in monotone_tables(n, levels, capacities=False):
            yield Dense(n, list(table), chain(levels))
    for table in monotone_tables(3, 4):
        yield Dense(3, list(table), chain(4))


def samples(mu):
    return product(mu.scale.levels, repeat=len(mu.criteria))


def test_there_are_as_many_small_set_functions_as_dedekind_says():
    assert len(monotone_tables(3, 2, capacities=False)) == 20
    assert len(monotone_tables(3, 3, capacities=False)) == 168  # maps of 2^3 to 3 levels are ideals of 2^4
    assert len(monotone_tables(3, 4)) > 500


def test_complete_rules_determine_the_integral_on_every_small_case():  # docs/theory.md 6.6
    for mu in every_small_set_function():
        selection, elimination = selection_rules(mu), elimination_rules(mu)
        for x in samples(mu):
            value = integral(mu.at, x, mu.scale.top)
            assert selection.bounds(x) == (value, mu.scale.top)
            assert elimination.bounds(x) == (mu.scale.bottom, value)


def test_the_papers_rules_are_sound_and_on_two_levels_complete():  # section 2.2
    short = 0
    for mu in every_small_set_function():
        rules = RuleSet(
            mu.criteria,
            [*selection_rules(mu, complete=False), *elimination_rules(mu, complete=False)],
            mu.scale,
        )
        assert not any(rule.graded for rule in rules)
        for x in samples(mu):
            value = integral(mu.at, x, mu.scale.top)
            lower, upper = rules.bounds(x)
            assert lower <= value <= upper
            if len(mu.scale.levels) == 2:
                assert lower == value == upper
            short += lower < upper
    assert short > 0


def test_the_papers_rules_are_incomplete_for_one_criterion_worth_1():  # S is x itself (docs/theory.md 6.6)
    mu = Focal(["x"], {"x": 1})
    (rule,) = selection_rules(mu, complete=False)
    assert str(rule) == "if x >= 1 then S >= 1"
    assert RuleSet(mu.criteria, [rule]).bounds([0.5]) == (0, 1)
    assert selection_rules(mu).bounds([0.5]) == (0.5, 1)
    assert elimination_rules(mu).bounds([0.5]) == (0, 0.5)


def test_every_rule_comes_from_a_focal_set_of_mu_or_of_its_conjugate():  # section 2.2
    for mu in every_small_set_function():
        n, bottom, top = len(mu.criteria), mu.scale.bottom, mu.scale.top
        found = {mu.criteria.mask(rule.body): rule.level for rule in selection_rules(mu)}
        assert found == focal_sets(mu.at, n, bottom)
        found = {mu.criteria.mask(rule.body): rule.level for rule in elimination_rules(mu)}
        by_definition = focal_sets(
            lambda mask, mu=mu: mu.scale.reverse(mu.at(mu.criteria.full ^ mask)), n, bottom
        )
        assert found == {mask: mu.scale.reverse(weight) for mask, weight in by_definition.items()}
        assert top not in found.values()


def test_expanded_rules_say_the_same_and_none_is_needless():
    for n, levels in [(1, 4), (2, 3), (3, 3)]:
        for table in monotone_tables(n, levels, capacities=False):
            mu = Dense(n, list(table), chain(levels))
            for graded in (selection_rules(mu), elimination_rules(mu)):
                plain = graded.expand()
                assert not any(rule.graded for rule in plain)
                assert all(plain.bounds(x) == graded.bounds(x) for x in samples(mu))
    mu = Symmetric(3, [0, 1, 2, 2], chain(3))
    plain = selection_rules(mu).expand()
    without = [RuleSet(mu.criteria, [rule for rule in plain if rule != left], mu.scale) for left in plain]
    assert len(plain) == 6
    assert all(any(plain.bounds(x) != fewer.bounds(x) for x in samples(mu)) for fewer in without)


def test_rules_give_their_set_function_back_on_every_small_case():
    for mu in every_small_set_function():
        for complete in (True, False):
            assert Dense.of(selection_rules(mu, complete).capacity("selection")) == mu
            assert Dense.of(elimination_rules(mu, complete).capacity("elimination")) == mu
    assert Dense.of(RuleSet(2, [SelectionRule(2, {1}, 0)]).capacity()) == Dense(2, [0, 0, 0, 0])
    assert Dense.of(RuleSet(2, [EliminationRule(2, {1}, 1)]).capacity()) == Dense(2, [1, 1, 1, 1])


@given(set_functions(), st.data())
def test_complete_rules_determine_the_integral_of_every_family(
    mu, data
):  # also floats, fractions, degenerate functions
    n = len(mu.criteria)
    row = data.draw(st.lists(scale_values(mu.scale), min_size=n, max_size=n))
    value = integral(mu.at, row, mu.scale.top)
    rules = RuleSet(mu.criteria, [*selection_rules(mu), *elimination_rules(mu)], mu.scale)
    assert rules.bounds(row) == (value, value)
    assert rules.bounds(dict(zip(mu.criteria, row, strict=True))) == (value, value)
    assert sugeno(mu, row) == value
    for rule in rules.deciding(row):
        assert not rule.graded
        assert rule.bound(row) == value
    for complete in (True, False):
        plain = RuleSet(
            mu.criteria, [*selection_rules(mu, complete), *elimination_rules(mu, complete)], mu.scale
        )
        lower, upper = plain.bounds(row)
        assert lower <= value <= upper
        assert RuleSet.from_text(plain.to_text()) == plain
        assert RuleSet.from_json(json.loads(json.dumps(plain.to_json()))) == plain
        assert pickle.loads(pickle.dumps(plain)) == plain
        assert not list(plain.conflicts())
    masks = range(1 << n)
    for side in ("selection", "elimination"):
        assert [rules.capacity(side).at(mask) for mask in masks] == [mu.at(mask) for mask in masks]


def test_elimination_thresholds_are_values_of_mu_not_results_of_arithmetic():
    mu = Dense(["a", "b"], {(): 0, "a": 0.3, "b": 0.1, ("a", "b"): 1})
    assert 1 - (1 - 0.1) != 0.1
    assert str(elimination_rules(mu, by="size")).splitlines() == [
        # the name is quoted, since a is a word of the sentence
        'for every a >= 0.1: if "a" <= a then S <= a',
        "for every a >= 0.3: if b <= a then S <= a",
        'for every a >= 0: if "a" <= a and b <= a then S <= a',
    ]
    assert {type(rule.level) for rule in elimination_rules(mu)} == {float}


def test_constants_have_rules_without_conditions():
    always, never = CardinalityThreshold(3, tau=0), CardinalityThreshold(3, tau=4)
    assert str(selection_rules(always)) == "always S >= 1"
    assert str(selection_rules(never)) == ""
    assert str(elimination_rules(never)) == "always S <= 0"
    assert str(elimination_rules(always)) == ""
    assert selection_rules(always).bounds([0, 0, 0]) == (1, 1)
    middling = Symmetric(1, [0.2, 0.8])
    assert (
        str(selection_rules(middling, by="size"))
        == "always S >= 0.2\nfor every a <= 0.8: if 1 >= a then S >= a"
    )
    assert (
        str(elimination_rules(middling, by="size"))
        == "always S <= 0.8\nfor every a >= 0.2: if 1 <= a then S <= a"
    )


def test_a_boolean_capacity_has_graded_rules_on_a_longer_scale():  # docs/theory.md 6.1
    mu = CardinalityThreshold(3, tau=2)
    assert str(next(iter(selection_rules(mu)))) == "if 1 >= 1 and 2 >= 1 then S >= 1"
    for scale in (UNIT, GRADES):
        rules = RuleSet(
            mu.criteria, [*selection_rules(mu, scale=scale), *elimination_rules(mu, scale=scale)], scale
        )
        for x in product(scale.levels or (0, 0.3, Fraction(1, 3), 1), repeat=3):
            assert rules.bounds(x) == (sorted(x)[1], sorted(x)[1])
    with pytest.raises(ScaleError, match=r"scale is \{0, 1\}, but the set function has values on \[0, 1\]"):
        selection_rules(Focal(1, {1: 1}), scale=BOOLEAN)


def test_fired_rules_are_those_whose_body_holds():
    mu = Focal(["price", "comfort", "safety"], {("price", "safety"): "good", "comfort": "ok"}, GRADES)
    rules = selection_rules(mu, complete=False)
    x = {"price": "good", "comfort": "poor", "safety": "top"}
    assert str(rules.fired(x)) == "if price >= good and safety >= good then S >= good"
    assert [rule.applies(x) for rule in rules] == [False, True]
    assert [rule.bound(x) for rule in rules] == [None, "good"]
    assert len(selection_rules(mu).fired(x)) == 2
    assert str(selection_rules(mu).deciding(x)) == "if price >= good and safety >= good then S >= good"
    assert (
        str(elimination_rules(mu).deciding(x)) == "always S <= good"
    )  # no set is worth more, so longer rules are needless


def test_one_rule_at_a_threshold():
    graded = SelectionRule(2, {1}, 0.5, graded=True)
    assert graded.at(0.25) == SelectionRule(2, {1}, 0.25)
    with pytest.raises(CapacityError, match=r"level=0.75 is not a threshold of the rule 'for every a <= 0.5"):
        graded.at(0.75)
    with pytest.raises(CapacityError, match="level=0 is not a threshold"):
        graded.at(0)
    with pytest.raises(CapacityError, match="level=1 is not a threshold"):
        EliminationRule(2, {1}, 0.5, graded=True).at(1)
    assert EliminationRule(2, {1}, 0.5, graded=True).at(0.75).level == 0.75


def test_equal_rules_are_equal_values():
    assert SelectionRule(2, (), 0.5, graded=True) == SelectionRule(2, (), 0.5)
    assert SelectionRule(2, {1}, 1, True, BOOLEAN) == SelectionRule(2, {1}, 1, False, BOOLEAN)
    assert SelectionRule(2, {1}, "poor", True, GRADES) == SelectionRule(2, {1}, "poor", False, GRADES)
    assert SelectionRule(2, {1}, "ok", True, GRADES) != SelectionRule(2, {1}, "ok", False, GRADES)
    assert EliminationRule(2, {1}, "good", True, GRADES) == EliminationRule(2, {1}, "good", False, GRADES)
    assert SelectionRule(2, {1}, 0.5) != EliminationRule(2, {1}, 0.5)
    assert len(RuleSet(2, [SelectionRule(2, {1}, 0.5), SelectionRule(2, {1}, Fraction(1, 2))])) == 1


def test_conflicts_are_the_pairs_that_no_set_function_meets():
    scale = chain(3)
    bodies = [(), (1,), (2,), (1, 2)]
    makers = [(a, b, i, j) for a in scale.levels for b in scale.levels for i in bodies for j in bodies]
    functions = [Dense(2, list(table), scale) for table in monotone_tables(2, 3, capacities=False)]
    for a, b, i, j in makers:
        rules = RuleSet(
            2, [SelectionRule(2, i, a, scale=scale), EliminationRule(2, j, b, scale=scale)], scale
        )
        met = any(
            all(rules.bounds(x)[0] <= sugeno(mu, x) <= rules.bounds(x)[1] for x in samples(mu))
            for mu in functions
        )
        assert met == (not list(rules.conflicts()))


def test_the_side_is_asked_for_where_the_rules_do_not_tell_it():
    both = RuleSet(1, [SelectionRule(1, {1}, 0.5), EliminationRule(1, {1}, 0.5)])
    for unclear in (both, RuleSet(1, [])):
        with pytest.raises(CapacityError, match=r"both kinds of rules or none .* capacity\('selection'\)"):
            unclear.capacity()
    with pytest.raises(CapacityError, match="side='upper' does not say"):
        both.capacity("upper")
    assert both.capacity("selection")({1}) == both.selection.capacity()({1}) == 0.5
    assert both.capacity("elimination")(()) == both.elimination.capacity()(()) == 0.5
    assert RuleSet(1, []).capacity("selection").constant == 0
    assert RuleSet(1, []).capacity("elimination").constant == 1


AWKWARD = [
    "price",
    "top speed",
    "and",
    "then",
    "if",
    "S",
    "a",
    "or",
    "true",
    "always",
    "for",
    "every",
    "criteria",
    "scale",
    "levels",
    "1",
    "-1",
    1,
    -1,
    0,
    12,
    "007",
    "1 - 0.3",
    "1/3",
    "0.5",
    "+1",
    "٣",
    "",
    " ",
    '"',
    "\\",
    'say "hi"',
    "x\ny",
    "x\ty",
    "x\r",
    "\u2028",
    "a:b",
    "c,d",
    "<=",
    ">= 3",
    "≥",
    "(x)",
    "[y]",
    "#",
    "x-y",
    "größe",
    "名前",
    "e\u0301",
    "naïve café",
]


def awkward_scale():
    return Ordinal(
        [
            "a",
            "S",
            "1",
            "-2",
            "0.5",
            "then",
            "very good",
            "",
            'a "quoted" one',
            "gut",
            "größer",
            "{0, 1}",
            " padded ",
        ]
    )


@pytest.mark.parametrize("made", [SelectionRule, EliminationRule])
def test_awkward_names_and_levels_are_read_back_exactly(made):
    criteria, scale = Criteria(AWKWARD), awkward_scale()
    rules = [
        made(criteria, {name}, level, graded, scale)
        for name in AWKWARD
        for level in scale.levels
        for graded in (True, False)
    ]
    rules.append(made(criteria, AWKWARD, "gut", True, scale))
    rules.extend(made(criteria, (), level, False, scale) for level in scale.levels)
    for rule in rules:
        read = parse_rule(str(rule), criteria, scale)
        assert read == rule
        assert {type(name) for name in read.body} == {type(name) for name in rule.body}
        assert ThresholdRule.from_json(json.loads(json.dumps(rule.to_json())), criteria, scale) == rule
    together = RuleSet(criteria, rules, scale)
    again = RuleSet.from_text(together.to_text())
    assert again == together
    assert [type(name) for name in again.criteria] == [type(name) for name in criteria]
    assert RuleSet.from_json(json.loads(json.dumps(together.to_json()))) == together


names = st.one_of(st.text(max_size=6), st.integers(-20, 20), st.sampled_from(AWKWARD))


@given(
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.lists(st.text(max_size=4), min_size=2, max_size=4, unique=True),
    st.data(),
)
def test_any_names_and_levels_are_read_back_exactly(listed, levels, data):
    criteria, scale = Criteria(listed), Ordinal(levels)
    made = data.draw(st.sampled_from([SelectionRule, EliminationRule]))
    body, level = data.draw(st.sets(st.sampled_from(listed))), data.draw(st.sampled_from(scale.levels))
    rule = made(criteria, body, level, data.draw(st.booleans()), scale)
    assert parse_rule(str(rule), criteria, scale) == rule
    rules = RuleSet(criteria, [rule], scale)
    assert RuleSet.from_text(rules.to_text()) == rules
    assert RuleSet.from_json(json.loads(json.dumps(rules.to_json()))) == rules


@pytest.mark.parametrize(
    "level", [0, 1, 0.1, 1e-20, 5e-324, 1.0, Fraction(1, 3), UNIT.reverse(0.3), UNIT.reverse(1e-20)]
)
def test_numbers_are_read_back_exactly(level):
    rule = EliminationRule(["x", -3], {"x", -3}, level, graded=True)
    read = parse_rule(str(rule), ["x", -3])
    assert read == rule
    assert read.level == level
    assert ThresholdRule.from_json(json.loads(json.dumps(rule.to_json())), ["x", -3]).level == level


def test_the_words_of_a_rule():
    criteria = Criteria(["price", "top speed", "and", 3, -3, "3"])
    assert str(SelectionRule(criteria, criteria.names, 0.5)) == (
        'if price >= 0.5 and "top speed" >= 0.5 and "and" >= 0.5 and 3 >= 0.5 and -3 >= 0.5 and "3" >= '
        "0.5 then S >= 0.5"
    )
    assert parse_rule("if price ≥ 1/2 and 3≥0.5 then S>=0.5", criteria).body == {"price", 3}
    assert parse_rule("for every a >= 1 - 0.3: if price <= a then S <= a", criteria) == EliminationRule(
        criteria, {"price"}, UNIT.reverse(0.3), graded=True
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"column 1: the text ends, expected if or for or always"),
        ("when price >= ok", r"column 1: found when, expected if or for or always"),
        ("if price is ok then S >= ok", r"column 10: found is, expected >= or <="),
        ("if price >= ok", r"column 15: the text ends, expected and or then"),
        ("if price >= ok then S <= ok", r"column 23: found <=, expected >="),
        ("if price >= ok and comfort <= ok then S >= ok", r"column 28: found <=, expected >="),
        ("if price >= ok then S >= good", r"column 26: the threshold is good here and ok before"),
        ("if price >= ok and comfort >= good then S >= good", r"column 31: the threshold is good here"),
        (
            "if prize >= ok then S >= ok",
            r"column 4: unknown criterion prize; the criteria are price, comfort, 3",
        ),
        ('if "3" >= ok then S >= ok', r'column 4: unknown criterion "3"; the criteria are price, comfort, 3'),
        ("if price >= ok and price >= ok then S >= ok", r"column 20: criterion price occurs twice"),
        (
            "if price >= fine then S >= fine",
            r"column 13: value is 'fine', which is not a level. The levels are bad < poor < ok",
        ),
        ("if price >= ok then S >= ok please", r"column 29: found please after the end"),
        ("for every a <= ok: if price <= a then S <= a", r"column 29: found <=, expected >="),
        ("for every a <= ok: if price >= ok then S >= a", r"column 32: found ok, expected a"),
        ("for every a <= ok if price >= a then S >= a", r"column 19: found if, expected :"),
        ("always S >= ", r"column 12: the text ends, expected a value"),
        ('if "price >= ok then S >= ok', r"column 4: a quote that is never closed"),
        ('if "pr\\ice" >= ok then S >= ok', r"column 4: .*unknown escape"),
        ("if price = ok then S >= ok", r"column 10: cannot read ="),
        ("if >= ok then S >= ok", r"column 4: found >=, expected a name"),
        (
            "if and >= ok then S >= ok",
            r'column 4: found and, expected a name, which a name can only be in quotes: "and"',
        ),
        ("if price >= a then S >= a", r"column 13: found a, expected a value of the scale bad < poor"),
    ],
)
def test_bad_text_is_refused_with_the_place_and_an_example(text, complaint):
    with pytest.raises(RuleSyntaxError, match=complaint) as caught:
        parse_rule(text, ["price", "comfort", 3], GRADES)
    assert str(caught.value).endswith("Write it like this: if price >= top then S >= top")


@given(st.text(alphabet='ifa S>=<1"\\:,-thenlwys3', max_size=30))
def test_any_text_is_a_rule_or_a_syntax_error(text):
    try:
        rule = parse_rule(text, ["i", 1, "3"])
    except RuleSyntaxError:
        return
    assert parse_rule(str(rule), ["i", 1, "3"]) == rule


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"column 1: the text ends, expected criteria"),
        ("criteria: x\nif x >= 1 then S >= 1", r"line 2, column 1: found if, expected scale"),
        ("criteria: x, x\nscale: [0, 1]", r"line 1, column 14: criterion 'x' occurs twice"),
        ("criteria: x y\nscale: [0, 1]", r"line 1, column 13: found y, expected ,"),
        ("criteria: x\nscale: bad", r"line 2, column 8: an ordinal scale needs at least 2 levels"),
        ("criteria: x\nscale: bad < bad", r"line 2, column 14: level 'bad' occurs twice"),
        (
            "criteria: x\n\n# a remark\nscale: [0, 1]\nif x >= 2 then S >= 2",
            r"line 5, column 9: value is 2, which is not in \[0, 1\]",
        ),
    ],
)
def test_bad_texts_of_rule_sets(text, complaint):
    with pytest.raises(RuleSyntaxError, match=complaint):
        RuleSet.from_text(text)


def test_bad_json_is_refused():
    with pytest.raises(RuleSyntaxError, match="does not describe a rule"):
        ThresholdRule.from_json({"kind": "selection", "body": "x", "level": 1, "graded": True}, ["x"])
    with pytest.raises(RuleSyntaxError, match="does not describe a set of rules"):
        RuleSet.from_json({"rules": []})
    with pytest.raises(CriteriaError, match="unknown criterion 'y'"):
        ThresholdRule.from_json({"kind": "selection", "body": ["y"], "level": 1, "graded": True}, ["x"])


def test_rules_of_other_criteria_or_scales_do_not_mix():
    with pytest.raises(CriteriaError, match="is over other criteria than the set"):
        RuleSet(3, [SelectionRule(2, {1}, 1)])
    with pytest.raises(ScaleError, match="They must agree"):
        RuleSet(2, [SelectionRule(2, {1}, 1, scale=BOOLEAN)])
    with pytest.raises(CriteriaError, match="the sample has 1 values for 2 criteria"):
        RuleSet(2, []).bounds([1])
    with pytest.raises(ScaleError, match="the value of 2 is 7"):
        RuleSet(2, []).bounds([1, 7])
    with pytest.raises(CapacityError, match="stands for infinitely many"):
        RuleSet(1, [SelectionRule(1, {1}, 1, graded=True)]).expand()


def test_too_many_rules_are_counted_not_listed():
    mu = CardinalityThreshold(400, tau=200)
    with pytest.raises(TooLargeError, match=r"there are about 10\^119 selection rules.*iter_selection_rules"):
        selection_rules(mu)
    with pytest.raises(
        TooLargeError, match=r"there are about 10\^119 elimination rules.*iter_elimination_rules"
    ):
        elimination_rules(mu, by="size")
    with pytest.raises(
        TooLargeError, match=r"there are 20 selection rules, one for each focal set; the limit is 19"
    ):
        selection_rules(CardinalityThreshold(6, tau=3), limit=19)
    assert len(selection_rules(CardinalityThreshold(6, tau=3), limit=20)) == 20
    matching = Focal(
        40, {frozenset({i, i + 1}): 1 for i in range(1, 40, 2)}
    )  # its conjugate has 2^20 focal sets and no formula
    with pytest.raises(TooLargeError, match="there are more than 10,000 elimination rules"):
        elimination_rules(matching)
    thousand = CardinalityThreshold(20_000, tau=10_000)  # a number of 6,000 digits
    with pytest.raises(TooLargeError, match=r"about 10\^60"):
        selection_rules(thousand, limit=1)


def test_the_first_rules_of_very_many_come_at_once():
    mu = WeightedThreshold(range(1, 401), theta=40_000)
    first = list(islice(iter_selection_rules(mu, by="size"), 3))
    assert [len(rule.body) for rule in first] == [117, 117, 117]  # 400 + ... + 284 = 40,014
    assert all(sum(rule.body) >= 40_000 and sum(rule.body) - min(rule.body) < 40_000 for rule in first)
    rule = next(iter_elimination_rules(mu))
    assert rule.level == 0
    assert sum(rule.body) > 80_200 - 40_000 >= sum(rule.body) - min(rule.body)


def test_errors_about_long_lines_show_where_and_not_all():
    for text in ("if " + "(" * 100_000, "if x >= 0.5 and " * 9999, "if " + "x" * 100_000 + " >= 0.5"):
        with pytest.raises(RuleSyntaxError) as refused:
            parse_rule(text, ["x", "y"])
        assert len(str(refused.value)) < 800
        assert "^" in str(refused.value)
