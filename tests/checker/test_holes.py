"""False certificates that were accepted once (`holes`), and what the rest of the package says to the same."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf

import pytest

import sugenet as sg
from sugenet.errors import CertificateError, EncodingError, QuestionError
from sugenet.nn import Head, Network, OneHot
from sugenet.problem.query import Case, Inequality, Query, QueryBox
from tests.checker.holes import HOLES, high_from


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("holes", HOLES, ids=lambda holes: holes.__name__)
def test_true_certificates_hold_and_false_ones_are_refused(holes, plain):
    for hole in holes():
        if hole.is_true:
            assert sg.check(hole.certificate, hole.network, plain=plain)
        else:
            with pytest.raises(CertificateError, match=hole.words):
                sg.check(hole.certificate, hole.network, plain=plain)


def test_a_box_holds_its_sample():
    net = high_from(10.0)
    with pytest.raises(QuestionError, match="outside the box"):
        sg.whatif(net, [5.0], sg.L1, region=sg.Box({"x": (12, 20)}))
    with pytest.raises(QuestionError, match="outside the box"):
        sg.verify(net, sg.Robust([5.0], sg.Box({"x": (12, 20)})))


def test_a_value_is_a_float_or_it_is_none():
    net, v = high_from(5.0), 5 - Fraction(3, 4) / 2**50  # below 5, above the float before 5
    assert sg.verify(net, sg.Robust([10.0], sg.L1(10 - v))).outcome == "proved"
    with pytest.raises(EncodingError, match="must be a finite number"):
        net.predict([[v]])


def test_integers_beyond_the_floats_are_values_too():
    big = 2**53
    net = high_from(float(big + 2), whole=True)
    answer = sg.verify(net, sg.Robust([big + 10], sg.L1(9)))
    assert answer.witness == (big + 1,)
    assert sg.verify(net, sg.Robust([big + 10], sg.L1(8))).outcome == "proved"
    assert net.predict([[big + 1], [big + 2]]).tolist() == [0, 1]


def test_counts_take_region_and_limits_together():
    net = high_from(10.0)
    with pytest.raises(QuestionError):
        sg.count(net, [5.0], sg.L1(5), where={"x": (12, 20)})
    with pytest.raises(QuestionError):
        sg.count(net, [5.0], sg.L0(0), where={"x": (6, 7)})
    assert sg.count(net, [5.0], sg.L1(5), where={"x": {5, 15}}).counts == (1, 0)
    assert sg.count(net, [5.0], sg.L1(9), where={"x": (5, 15)}).counts == (1, 1)
    assert sg.count(net, [5.0], sg.L0(1), where={"x": (6, 7)}).counts == (1, 0)


def test_infinity_is_not_a_value():
    for cut, label, value in ((inf, 0, inf), (-1.7976931348623157e308, 1, -inf)):
        net = high_from(cut)
        with pytest.raises(EncodingError, match="must be a finite number"):
            net.predict([[value]])
        assert sg.verify(net, sg.Always(label)).outcome == "proved"
        with pytest.raises(EncodingError):
            sg.verify(net, sg.Robust([value], sg.L0(1)))


@pytest.mark.parametrize("category", [b"x", Fraction(1, 3), inf, (1, 2), object()])
def test_categories_that_no_certificate_can_hold_are_refused(category):
    with pytest.raises(EncodingError, match="which certificates can hold"):
        OneHot((category, "other"))


def test_own_certificates_hold_whatever_the_types_of_values():
    from decimal import Decimal

    import numpy as np

    net = high_from(0.5)
    for value in (True, np.float32(0.25), np.int8(1), Decimal("0.75"), "0.75", Fraction(3, 4)):
        for answer in (
            sg.verify(net, sg.Robust([value], sg.Linf(Fraction(1, 8)))),
            sg.verify(net, sg.Always("high", {"x": (value, None)})),
            sg.whatif(net, [value], sg.L1),
            sg.count(net, [value], sg.L0(1), where={"x": (None, value)}),
        ):
            assert sg.check(json.loads(json.dumps(answer.certificate)), net)


def test_a_query_with_a_box_that_holds_no_value_is_refused():
    net = high_from(2.0, whole=True)
    with pytest.raises(QuestionError, match="nothing that can occur"):
        sg.verify(net, Query(1, 2, [Case(QueryBox([0.25], [0.75]), [[Inequality({0: 1}, 0)]])]))


@pytest.mark.parametrize("plain", [False, True])
def test_two_witnesses_differ_in_what_the_question_is_about_alone(plain):
    network = Network.of_bits([], Head([[1, 1, 0], [-1, -1, 0]]))
    for question in (sg.Fair(["x1"]), sg.Monotone("x1")):
        true = sg.verify(network, question).certificate
        assert sg.check(true, network, plain=plain)
        before, after = true["witness"]
        with pytest.raises(CertificateError, match="feature 2, which must be equal"):
            sg.check({**true, "witness": [before, [*after[:2], 1 - before[2]]]}, network, plain=plain)
