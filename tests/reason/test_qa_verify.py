"""Defects that a review found in verify, whatif and check, each once more."""

from __future__ import annotations

import copy
import json
from fractions import Fraction

import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Encoder, Head, Network, OneHot, integer, thermometer, threshold
from sugenet.checker.query import Case, Inequality, Query, QueryBox
from sugenet.engines.ladder import Clock
from sugenet.engines.outside import cpsat
from sugenet.errors import CertificateError, QuestionError
from sugenet.problem.goal import Votes
from sugenet.problem.problem import Problem
from sugenet.reason import NoCounterfactual, Proved, Refuted, Undecided

NET = Network.of_bits(
    [DenseLayer([[1, 1, -1, 1], [-1, 1, 1, 1], [1, -1, 1, 1]], [2, 3, 2])], Head([[1, 1, 1], [-1, -1, 1]])
)
X = [1, 1, 1, 1]


def checked(answer, network, *others):
    return sg.check(json.loads(json.dumps(answer.certificate)), network, *others)


def robust(**region):
    certificate = copy.deepcopy(sg.verify(NET, sg.Robust(X, sg.L0(0))).certificate)
    certificate["question"]["region"] = region
    return certificate


@pytest.mark.parametrize(
    ("region", "words"),
    [
        ({"kind": "Anything", "features": []}, "a field 'features' that it must not have"),
        ({"kind": "L0", "radius": "4", "total": "0"}, "a field 'total' that it must not have"),
        ({"kind": "L0", "radius": "4", "features": []}, "a field 'features' that it must not have"),
        ({"kind": "Linf", "radius": "1", "strict": True}, "a field 'strict' that it must not have"),
        ({"kind": "L0", "radius": "4", "region": {"kind": "Free"}}, "a field 'region' that it must not have"),
        ({"kind": "L0", "radius": "-1"}, "'-1' must not be below 0"),
        ({"kind": "L0", "radius": "1e1000000000"}, "not a number such as 3"),
        ({"kind": "L0", "radius": "1e-1000000000"}, "not a number such as 3"),
        ({"kind": "Prices", "radius": "4", "prices": []}, "unknown kind of region"),
        ({"kind": "Free", "features": [-1, -2, -3, -4]}, "a feature must be a number from 0 to 3"),
        ({"kind": "Free", "features": "0123"}, "features must be a list"),
        ({"kind": "Box", "limits": [[-1, [0, 1]]]}, "a feature must be a number from 0 to 3"),
        ({"kind": "Box", "limits": [[0, [0, 1]], [0, [1, 1]]]}, "a feature has limits twice"),
    ],
)
def test_a_region_that_says_more_than_it_must_is_refused(region, words):
    with pytest.raises(CertificateError, match=words):
        sg.check(robust(**region), NET)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost": {"kind": "L0", "radius": "0"}}, "a field 'radius' that it must not have"),
        ({"cost": {"kind": "L0", "total": "0"}}, "a field 'total' that it must not have"),
        ({"cost": {"kind": "Box", "limits": []}}, "unknown cost"),
        ({"cost": {"kind": "Prices", "prices": [[0, "-1"]], "per_unit": False}}, "'-1' must not be below 0"),
        ({"movable": [-1, -2]}, "a feature must be a number from 0 to 3"),
        ({"region": {"kind": "Free", "features": ["0", "1"]}}, "a feature must be a number from 0 to 3"),
        ({"limit": "-5"}, "'-5' must not be below 0"),
        ({"target": -1}, "a class must be a number from 0 to 1"),
        ({"label": True}, "a class must be a number from 0 to 1"),
    ],
)
def test_a_counterfactual_question_that_says_more_than_it_must_is_refused(change, words):
    certificate = copy.deepcopy(sg.whatif(NET, X, limit=0).certificate)
    assert sg.check(certificate, NET)
    certificate["question"] |= {"limit": None} | change
    with pytest.raises(CertificateError, match=words):
        sg.check(certificate, NET)


def test_damage_is_always_a_certificate_error():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    for field in ("network", "answer", "proof"):
        with pytest.raises(CertificateError, match=r"nested too deeply|must be a JSON object"):
            sg.check(sg.verify(NET, sg.Robust(X, sg.L0(0))).certificate | {field: deep}, NET)
    proved = sg.verify(NET, sg.Robust(X, sg.L0(0)), engine="pysat").certificate
    for data in ("AAAA", None, 3):
        with pytest.raises(CertificateError, match=r"unknown compression method|a compressed proof is text"):
            sg.check(proved | {"proof": proved["proof"] | {"data": data}}, NET)


def test_a_walk_with_too_few_sets_is_refused_at_once():
    net = sg.models.digits()
    x = sg.models.samples("digits")[0][7]
    certificate = copy.deepcopy(sg.verify(net, sg.Robust(x, sg.L0(1)), engine="flips").certificate)
    certificate["question"]["region"]["radius"] = "40"
    with pytest.raises(CertificateError, match=r"more than 10\^30 sets of changes, not 193"):
        sg.check(certificate, net)


def test_cuts_have_whole_factors():
    answer = sg.verify(NET, sg.Robust(X, sg.L0(0)), engine="cdcl")
    proof = answer.certificate["proof"] | {"cuts": [[1, 0.5, 0]]}
    with pytest.raises(CertificateError, match=r"the cut \[1, 0.5, 0\] adds no first-layer row"):
        sg.check(answer.certificate | {"proof": proof}, NET)


@pytest.mark.parametrize("engine", ["auto", "cdcl", "pysat", "exhaust", "flips"])
@pytest.mark.parametrize("limit", [None, 9, Fraction(9, 2)])
@pytest.mark.parametrize("region", [None, sg.Free([0, 1])])
def test_that_there_is_nothing_at_all_is_certified(engine, limit, region):
    net = Network(
        Encoder([integer(0, 3)] * 3),
        [DenseLayer([[1] * 9, [1, -1, 1] * 3], [2, 3])],
        Head([[1, 1], [1, -1]], [5, 0]),
    )
    answer = sg.whatif(net, [1, 2, 0], sg.L1, engine=engine, limit=limit, region=region)
    assert isinstance(answer, NoCounterfactual) or engine == "exhaust"  # which takes no budgets
    assert checked(answer, net)


def test_costs_of_floats_are_walked_again():
    net = Network(
        Encoder([thermometer([0.1, 0.3, 0.7])] * 3),
        [DenseLayer([[1, 1, -1] * 3, [1, -1, 1] * 3], [3, 5])],
        Head([[1, 1], [-1, 1]]),
    )
    x = [0.123456789, 0.987654321, 0.55555]
    for cost in (sg.L1, sg.L2):
        for radius in (0.1, 0.25, 1.0):
            assert checked(sg.verify(net, sg.Robust(x, cost(radius)), engine="flips"), net)
        for region in (None, sg.Free([0, 2]), sg.Linf(0.4)):
            assert checked(sg.whatif(net, x, cost, region=region), net)


def test_fractions_are_measured_exactly():
    net = Network(Encoder([threshold(3.0)]), [], Head([[-1], [1]]))
    answer = sg.whatif(net, [Fraction(1, 3)], sg.L1)
    assert answer.value == Fraction(8, 3)
    assert checked(answer, net)


def test_numbers_and_words_as_categories():
    net = Network(
        Encoder([OneHot((3, 1, 2)), OneHot(("a", "b"))]), [], Head([[1, -1, -1, 1, 0], [-1, 1, 1, 0, 1]])
    )
    answer = sg.whatif(net, [3, "a"])
    assert "becomes" in str(answer)
    assert checked(answer, net)


def test_largest_change_of_several():
    net = Network(Encoder([integer(0, 4)] * 2), [], Head([[1] * 8, [-1] * 8], [0, -1]))
    found = sg.whatif(net, [4, 4], sg.Linf, n=4)
    listed = [found, *found.others]
    assert [answer.value for answer in listed] == sorted(answer.value for answer in listed)
    assert len(listed) == 4
    assert found.all_listed
    assert {tuple(answer.changed) for answer in listed} >= {(2, 2)} or found.value > 2


def test_classes_whose_scores_do_not_count():
    head = Head([[1, -1], [1, 1], [-1, 1]], [0, Fraction(1, 3), 0], [0, 0, 1])
    net = Network.of_bits([DenseLayer([[1, 1, -1], [1, -1, 1]], [2, 2])], head)
    other = Network.of_bits(net.layers, Head(head.weights, [0, Fraction(1, 3), 0], [0, 0, 1]))
    for engine in ("auto", "cdcl", "pysat", "search"):
        answer = sg.verify(net, sg.Agree(other), engine=engine)
        if isinstance(answer, Proved):
            assert checked(answer, net, other)
    assert Votes.of([0, 0], 7) == Votes((0, 0), 1)
    assert Votes.of([0, 0], -7) == Votes((0, 0), 0)


def test_one_output():
    net = Network(Encoder([integer(0, 1)] * 3), [], Head([[1, 1, -1]]))
    for bound in range(-4, 5):
        query = Query(3, 1, [Case(QueryBox([0] * 3, [1] * 3), [[Inequality({0: -1}, bound)]])])
        answer = sg.verify(net, query)
        assert isinstance(answer, Refuted) == (bound <= 3)
        assert checked(answer, net)


def test_cpsat_is_not_believed_about_large_numbers(monkeypatch):
    net = Network.of_bits(
        [DenseLayer([[1, 1, 1, 1]] * 2, [2, 3])], Head([[1, -1], [-1, 1]], scale=[1 + 2**-40, 1])
    )
    question = sg.Robust([1, 1, 1, -1], sg.Anything(), target=1)
    problem = Problem(question.near(net), question.keeps(net).goal)
    assert type(cpsat.solve(problem)).__name__ == "Open"
    monkeypatch.setattr(cpsat, "_BELIEVED", 1 << 61)
    assert type(cpsat.solve(problem)).__name__ == "Holds"


def test_limits_prices_and_features_stand_once():
    with pytest.raises(QuestionError, match="limits twice"):
        sg.verify(NET, sg.Always(0, sg.Box([(0, (0, 1)), ("x1", (1, 1))])))
    with pytest.raises(QuestionError, match="two prices"):
        sg.whatif(NET, X, sg.Prices([(0, 1), ("x1", 2)]))
    assert checked(sg.verify(NET, sg.Robust(X, sg.Free([0, "x1", 0]))), NET)
    answer = sg.verify(NET, sg.Fair([0, "x1"]))
    assert checked(answer, NET)


def test_lists_of_numbers_do_not_hide_counterfactuals():
    net = Network(Encoder([thermometer([10, 20], 0, 30, True)]), [], Head([[-1, -1], [1, 1]], [1, 0]))
    with pytest.raises(QuestionError, match="Give bounds"):
        sg.whatif(net, [5], region=sg.Box({0: {5, 25}}))


@pytest.mark.parametrize(
    "wrong", [{"time_limit": float("nan")}, {"time_limit": "5"}, {"threads": 0}, {"seed": -1}]
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(QuestionError, match=next(iter(wrong))):
        sg.verify(NET, sg.Robust(X, sg.L0(1)), **wrong)
    with pytest.raises(QuestionError):
        Clock(**wrong)


def test_what_is_known_at_an_interruption(monkeypatch):
    from sugenet.engines import ladder as decide

    net = sg.models.digits()
    x = sg.models.samples("digits")[0][7]
    real, levels = decide.flip_level, []

    def once(problem, floor, level, **options):
        if levels:
            raise KeyboardInterrupt
        levels.append(level)
        return real(problem, floor, level, **options)

    monkeypatch.setattr(decide, "flip_level", once)
    monkeypatch.setattr(decide, "_levels", lambda near: [4, near.budget])
    answer = sg.verify(net, sg.Robust(x, sg.L2(3)), engine="flips")
    assert isinstance(answer, Undecided)
    assert answer.reason == "interrupted"
    if "proved_up_to" in answer.facts:
        assert "raw distance of 2 (sum of squares 4)" in str(answer)
        assert checked(answer, net).startswith("up to a sum of squares of 4")


def test_lists_that_are_not_complete_say_so(monkeypatch):
    from sugenet.engines.walk import listing

    monkeypatch.setattr(listing, "MOST_SETS", 0)
    found = sg.whatif(NET, X, n="all")
    assert not found.all_listed
    assert "not listed" in str(found)
    assert found.data()["all_listed"] is False


def test_boxes_beyond_all_floats():
    net = Network(Encoder([threshold(1.0)]), [], Head([[1], [-1]]))
    with pytest.raises(QuestionError, match="box is empty"):
        sg.verify(net, sg.Always(0, {0: (10**400, None)}))


def test_none_is_a_category_like_any_other():
    network = Network(Encoder([OneHot((None, "b"))]), [], Head([[-1, 1], [1, -1]]))
    answer = sg.verify(network, sg.Robust(["b"], sg.Box({"x1": {None, "b"}})))
    assert isinstance(answer, Refuted)
    checked(answer, network)
    forged = answer.certificate | {"answer": "proved", "witness": None, "proof": {"kind": "bounds"}}
    with pytest.raises(CertificateError, match="do not exclude"):
        sg.check(forged, network)
