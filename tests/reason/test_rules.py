"""Rules from anywhere: typed, with odd names, from Anchors and from trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError, RuleSyntaxError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, bit, integer, thermometer, threshold
from sugenet.reason import CheckedRule, parse_rule, rule_of_anchor, rules_of_tree

ODD = Network(
    Encoder(
        [
            integer(0, 9),
            OneHot(("left", "right", "up and down", "a, b")),
            thermometer([0.1, 0.5], 0, 1),
            bit(),
            threshold(3, 0, 9, True),
        ],
        ["size", "side", "mean radius (cm), left", "salt and pepper", "R&D >= 2"],
    ),
    [],
    Head([[1] * 17, [-1] * 17]),
    ["a", "b -> c"],
)


@pytest.mark.parametrize(
    ("text", "limits", "label"),
    [
        ("salt and pepper = 1 and size < 3 -> a", {0: (None, 2), 3: (1.0, 1.0)}, 0),
        ("side = up and down and size >= 2.5 -> a", {0: (3, None), 1: frozenset({"up and down"})}, 0),
        ("side in {a, b, left} -> a", {1: frozenset({"a, b", "left"})}, 0),
        ("side one of a, b, up and down -> b -> c", {1: frozenset({"a, b", "up and down"})}, 1),
        ("R&D >= 2 >= 3 -> 1", {4: (3, None)}, 1),
        ("0.1 <= mean radius (cm), left < 0.5 -> a", {2: (0.1, np.nextafter(0.5, 0))}, 0),
        ("any input -> a", {}, 0),
    ],
)
def test_rules_with_odd_names_are_read_and_read_back(text, limits, label):
    rule = parse_rule(ODD, text)
    assert (dict(rule.limits), rule.index) == (limits, label)
    again = parse_rule(ODD, str(rule))
    assert (again.limits, again.index) == (rule.limits, rule.index)


@pytest.mark.parametrize(
    "text",
    [
        "size >= nan -> a",
        "size > -inf -> a",
        "size <= 1e400 -> a",
        "size < 1_0 -> a",
        "salt and size < 3 -> a",
    ],
)
def test_rules_that_cannot_be_read(text):
    with pytest.raises(RuleSyntaxError):
        parse_rule(ODD, text)


@pytest.mark.parametrize(
    ("anchor", "prediction"),
    [
        (["size > 3"], [7]),
        (["size > 3"], [-1]),
        (["size > 3"], ["x"]),
        ([3], [0]),
        ("size > 3", [0]),
        (["?"], 0),
    ],
)
def test_damaged_anchors(anchor, prediction):
    with pytest.raises((RuleSyntaxError, QuestionError)):
        rule_of_anchor(ODD, {"data": {"anchor": anchor, "raw": {"prediction": prediction}}})


def test_anchors_with_odd_names():
    rule = rule_of_anchor(
        ODD, {"data": {"anchor": ["side = up and down", "size > 3.00"], "raw": {"prediction": [1]}}}
    )
    assert dict(rule.limits) == {0: (4, None), 1: frozenset({"up and down"})}
    assert rule.index == 1


def test_leaves_of_a_tree_that_nothing_reaches_are_left_out():
    tree = pytest.importorskip("sklearn.tree")
    network = Network(Encoder([integer(0, 9)]), [], Head([[1] * 9, [-1] * 9]))
    fitted = tree.DecisionTreeClassifier(random_state=0).fit(
        [[3.2], [3.4], [3.6], [20], [30]], [0, 1, 0, 1, 0]
    )
    rules = rules_of_tree(network, fitted)
    assert rules
    assert all(rule.limits[0][1][0] is None or rule.limits[0][1][0] <= 9 for rule in rules)
    assert all(isinstance(found.holds, bool) for found in sg.check_rule(network, fitted))
    with pytest.raises(QuestionError, match="must be a classifier"):
        sg.check_rule(network, tree.DecisionTreeRegressor().fit([[1], [2]], [0.5, 1]))


def test_parts_of_all_inputs_are_said_without_powers_of_ten():
    n = 40
    network = Network.of_bits([], Head([[1] * n, [-1] * n]))
    rule = " and ".join(f"x{i} = 1" for i in range(1, n)) + " -> 0"
    assert str(sg.check_rule(network, rule)).endswith(
        "it covers 1 in 549,755,813,888 of all inputs, and is right for 1 of those"
    )
    found = sg.check_rule(network, "x1 = 1 -> 0")
    figures = replace(found.figures, right=3, max_right=found.figures.covered)
    assert str(replace(found, figures=figures)).endswith(
        "is right for at least 1 in 183,251,937,963 of those"
    )
    figures = replace(figures, right=0)
    assert str(replace(found, figures=figures)).endswith("is right for an unknown part of those")
    figures = replace(figures, right=2, max_right=figures.covered - 1)
    assert str(replace(found, figures=figures)).endswith(
        "at least 1 in 274,877,906,944 and at most all but 1 in 549,755,813,888 of those"
    )


def test_an_interrupted_rule_is_not_counted_and_keeps_what_is_known():
    rng = np.random.default_rng(0)
    layers = [DenseLayer(rng.choice([-1, 1], (40, n)), [n // 2] * 40) for n in (60, 40)]
    network = Network.of_bits(layers, Head([[1] * 40, [-1] * 40], [60, 0]))
    heard = []

    def interrupt(message):
        heard.append(message)
        raise KeyboardInterrupt

    found = sg.check_rule(network, "x1 = 1 -> 0", notify=interrupt)
    assert heard == ["bounds ..."]  # nothing is begun after it
    assert (found.outcome, found.verdict.reason, found.figures.total) == ("undecided", "interrupted", 0)
    assert str(found) == f"{found.verdict}\ncoverage not counted in the time"
    assert str(sg.reason.answer_of(found.data(), network)) == str(found)
    with pytest.raises(QuestionError, match="coverage is not known"):
        _ = found.figures.coverage


def test_nearly_all_is_not_all():
    n = 16
    network = Network.of_bits([], Head([[1] * n, [-1] * n], [2 * n - 2, 0]))  # class 1 where all are off
    found = sg.check_rule(network, "x1 = -1 -> 0")
    assert found.holds is False
    assert str(found).endswith("it covers 0.5 of all inputs, and is right for all but 1 in 32,768 of those")
    assert "they cover all but 1 in 32,768 for 0, 0 % for 1" in str(sg.rulebook(network, most=n - 1))


def test_rules_about_bits_are_said_as_they_were_written():
    network = Network.of_bits([DenseLayer([[1, 1], [1, -1]], [2, 1])], Head([[1, -1], [-1, 1]]))
    for off in (-1, 0):
        found = sg.check_rule(network, f"x1 = {off} -> 0")
        assert str(found.rule) == f"x1 = {off} -> 0"
        assert str(found.verdict).endswith(f"Class 1 for x1 = {off}; x2 = {off}")
        assert sg.check(found.verdict.certificate, network)
        assert str(CheckedRule.of(network, found.verdict, found.data())) == str(found)
        assert str(sg.verify(network, sg.Always(0, {"x1": (off, 0)}))).endswith(f"x1 = {off}; x2 = {off}")
    for wrong in ("x1 >= 0", "x1 < 0", "x1 > -0.5", "0 <= x1 <= 1"):  # at -1 and 0, which are alike
        with pytest.raises(RuleSyntaxError, match="is a bit, and both are off: use ="):
            sg.check_rule(network, f"{wrong} -> 0")
    assert sg.check_rule(network, "x1 > 0 -> 1").holds is False


def test_long_rules_are_read_and_refused_in_a_few_words():
    assert parse_rule(ODD, "size >= 1 and " * 5000 + "size >= 2 -> a").limits == ((0, (2, None)),)
    for text in (
        "x" * 100_000 + " -> a",
        "(" * 100_000 + "size = 1 -> a",
        "size = " + "9" * 100_000 + " -> a",
    ):
        with pytest.raises(RuleSyntaxError) as refused:
            parse_rule(ODD, text)
        assert len(str(refused.value)) < 300


def test_a_tree_may_be_deeper_than_the_stack():
    tree = pytest.importorskip("sklearn.tree")
    many = 1200
    fitted = tree.DecisionTreeClassifier(random_state=0).fit(np.arange(many)[:, None], np.arange(many) % 2)
    assert fitted.get_depth() == many - 1
    network = Network(Encoder([integer(0, many)]), [], Head([[1] * many, [-1] * many]))
    rules = rules_of_tree(network, fitted)
    assert [rule.index for rule in rules] == [k % 2 for k in range(many)]
    assert rules[7].limits == ((0, (7, 7)),)
