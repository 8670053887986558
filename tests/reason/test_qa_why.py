"""Reasons, rules and counts: what a sceptical reader of the answers found."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Encoder, Head, Network, OneHot, bit, integer, thermometer, threshold
from sugenet.checker.count import check_count
from sugenet.checker.reason import hitting_set_within
from sugenet.errors import CertificateError, QuestionError, RuleSyntaxError
from sugenet.problem.clock import Clock
from sugenet.reason.counts.counting import count
from sugenet.reason.reasons.finding import _Search, each_reason
from sugenet.reason.reasons.oracle import Oracle
from sugenet.reason.rules.rule import parse_rule, rule_of_anchor, rules_of_tree

VOTE = Network.of_bits([DenseLayer([[1, 1, -1, 1]], [2])], Head([[-1], [1]]), classes=["off", "on"])
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


def _copy(certificate):
    return json.loads(json.dumps(certificate))


def test_a_sample_that_is_a_tie_has_no_reasons_one_by_one_either():
    network = Network.of_bits([], Head([[1, 0], [0, 1]]))
    with pytest.raises(QuestionError, match="a tie at the top"):
        list(each_reason(network, [1, 1], ties="against"))


def test_each_reason_says_which_option_it_does_not_have():
    with pytest.raises(QuestionError, match="no option 'n'"):
        list(each_reason(VOTE, [1, 1, 1, -1], n=2))


def test_not_all_reasons_are_claimed_when_the_time_was_up(monkeypatch):
    """All contrastive sets were listed in time, but not all sets that meet them."""
    network = Network.of_bits([], Head([[1] * 9, [-1] * 9]))
    whole = sg.why(network, [1] * 9, n="all")
    assert whole.all_contrasts
    assert whole.all_reasons
    seen: list[str] = []
    before = _Search._reason

    def noted(self, *args, **options):
        seen.append("reason")
        return before(self, *args, **options)

    monkeypatch.setattr(_Search, "_reason", noted)
    monkeypatch.setattr(Clock, "up", lambda clock: len(seen) > 0 and clock.time_limit == 100)
    part = sg.why(network, [1] * 9, n="all", time_limit=100)
    assert part.all_contrasts
    assert not part.all_reasons
    assert len(part.reasons) == 1 < len(whole.reasons)
    assert part.data()["attribution_exact"] is False


def test_not_all_reasons_are_claimed_when_a_set_stays_open(monkeypatch):
    monkeypatch.setattr(_Search, "_list_contrasts", lambda self: None)
    monkeypatch.setattr(Oracle, "ask", lambda self, fixed: None)
    answer = sg.why(VOTE, [1, 1, 1, -1], n="all")
    assert not answer.all_reasons


def test_under_a_time_limit_a_minimum_not_found_leaves_a_minimal_reason():
    network, (X, _) = sg.models.breast_cancer(), sg.models.samples("breast_cancer")
    sg.why(network, X[3])  # compiles
    answer = sg.why(network, X[3], minimal="size", time_limit=2)
    assert answer.upper is not None
    assert answer.upper <= 14
    assert answer.lower <= answer.upper


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
    assert (dict(rule.limits), rule.label) == (limits, label)
    again = parse_rule(ODD, str(rule))
    assert (again.limits, again.label) == (rule.limits, rule.label)


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
    assert rule.label == 1


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


@pytest.mark.parametrize(
    ("region", "word"),
    [
        ({"kind": "L0", "radius": "3", "total": "1"}, "total"),
        ({"kind": "Anything", "features": [0]}, "features"),
        ({"kind": "L0", "radius": "1e99999999"}, "not a number"),
        ({"kind": "Linf", "radius": "1", "strict": True}, "strict"),
        ({"kind": "Prices", "prices": []}, "kind of region"),
        ({"kind": "Moves", "moves": [], "budget": 0, "total": 1}, "total"),
        ({"kind": "Moves", "moves": [[0, 9, 1, 1]], "budget": 0}, "a state"),
        (5, "damaged"),
    ],
)
def test_a_count_does_not_pass_for_that_of_a_larger_region(region, word):
    certificate = _copy(count(VOTE, [1, 1, 1, -1], sg.L0(1)).certificate)
    sg.check(certificate, VOTE)
    certificate["question"]["region"] = region
    for check in (sg.check, check_count):
        with pytest.raises(CertificateError, match=word):
            check(certificate, VOTE)


def test_the_count_of_a_ready_neighbourhood_is_checked_still():
    near = sg.Hamming(2).around(VOTE, [1, 1, 1, -1])
    sg.check(_copy(count(VOTE, near).certificate), VOTE)


def test_a_count_with_budgets_that_never_meet_is_not_tried():
    """Weights 1, 2, 4, ...: every combination has another sum."""
    network = Network.of_bits([], Head([[1] * 40, [-1] * 40]))
    certificate = _copy(count(network, [1] * 40, sg.L0(1)).certificate)
    moves = [[f, 0, 0, 1 << f] for f in range(40)]
    certificate["question"]["region"] = {"kind": "Moves", "moves": moves, "budget": 1 << 39}
    with pytest.raises(CertificateError, match="too many different sums"):
        sg.check(certificate, network)


@pytest.mark.parametrize(
    "options",
    [
        {"time_limit": "x"},
        {"threads": 0},
        {"seed": -1},
        {"samples": 1.5},
        {"samples": 0},
        {"confidence": "x"},
    ],
)
def test_odd_options_of_a_count(options):
    with pytest.raises(QuestionError, match=next(iter(options))):
        count(VOTE, method="sample", **options)


def test_equal_sets_are_met_once():
    rows = [{1, 2}, {2, 3}, {1, 2, 5}, {4}] * 500
    assert hitting_set_within(rows, 2)
    assert not hitting_set_within(rows, 1)
