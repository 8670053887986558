"""Readings: gaps are exact differences of votes, by the definition; what is no reading is refused."""

from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import NetworkError, QuestionError
from sugenet.logic import readings_of
from tests.logic.wholes import images, net_of


@pytest.mark.parametrize(
    ("scale", "bias"), [(1, 0), (Fraction(1, 8), 0), (2, [0, 0.5, Fraction(1, 3)]), ([1, 2, 3], 0)]
)
def test_gaps_are_differences_of_scores(scale, bias):
    net = net_of(3, bits=5, classes="abc", scale=scale, bias=bias)
    X = images(5)
    unit = 2 * (Fraction(1) if isinstance(scale, list) else Fraction(scale))
    for x, reading in zip(X, readings_of(net, X), strict=True):
        scores = net.head.scores(net.match_counts([x], engine="definition"))[0]
        assert list(reading.gaps) == [(max(scores) - score) / unit for score in scores]
        assert reading.best == net.predict([x], engine="definition")[0]
        if bias == 0 and not isinstance(scale, list):
            counts = net.match_counts([x], engine="definition")[0].tolist()
            assert list(reading.gaps) == [max(counts) - count for count in counts]  # votes, whole numbers
            assert all(type(gap) is int for gap in reading.gaps)


def test_a_network_may_choose_among_some_classes():
    net = net_of(1, bits=4, classes="abcd")
    some = net.among(["d", "b"])
    assert some.classes == ("b", "d")
    assert some is net.among([1, 3])
    assert net.among(range(4)) is net
    for x in images(4):
        scores = net.head.scores(net.match_counts([x]))[0]
        assert some.predict([x])[0] == (0 if scores[1] >= scores[3] else 1)
        assert sg.Reading.of(net, x, "r", among=["b", "d"]).gaps == sg.Reading.of(some, x, "r").gaps
    with pytest.raises(NetworkError, match="'e' is no class"):
        net.among("e")
    with pytest.raises(NetworkError, match="True is no class"):
        net.among([True])
    with pytest.raises(NetworkError, match="name at least one"):
        net.among([])


def test_what_is_no_reading_is_refused():
    with pytest.raises(QuestionError, match="the best value must have the gap 0"):
        sg.Reading.given("a", {"x": 1})
    with pytest.raises(QuestionError, match="the best value must have the gap 0"):
        sg.Reading.given("a", {})
    with pytest.raises(QuestionError, match="two values that are written alike"):
        sg.Reading.given("a", {1: 0, "1": 2})
    with pytest.raises(QuestionError, match="2 names for 1 samples"):
        readings_of(net_of(0), [(1, 1, 1)], ["a", "b"])
    two = [sg.Reading.given("a", {"1": 0})] * 2
    with pytest.raises(QuestionError, match="two readings are called 'a'"):
        sg.Stated.of(two, "a = 1")
    assert readings_of(net_of(0), []) == ()


def test_one_value_is_certain():
    only = sg.Reading.given("a", {"here and there": 0})
    assert only.margin is None
    assert str(only) == "a = here and there, the only value"


def test_arrays_lists_and_names_read_the_same():
    net, X = sg.models.digits(), sg.models.samples("digits")[0][:3]
    rows = [list(map(int, row)) for row in X]
    named = [dict(zip(net.encoder.names, row, strict=True)) for row in rows]
    expected = [reading.gaps for reading in readings_of(net, X)]
    for given in (rows, named, X.reshape(3, 8, 8) if net.encoder.shape else rows, np.array(rows, object)):
        assert [reading.gaps for reading in readings_of(net, given)] == expected
