"""Readings: gaps are exact differences of scores, by the definition; what is no reading is refused."""

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
    for x, reading in zip(X, readings_of(net, X), strict=True):
        scores = net.head.scores(net.match_counts([x], engine="definition"))[0]
        assert list(reading.gaps) == [max(scores) - score for score in scores]
        assert reading.best == net.predict([x], engine="definition")[0]
        assert all(type(gap) is int or gap.denominator > 1 for gap in reading.gaps)


@pytest.mark.parametrize("seed", range(5))
def test_gaps_of_networks_with_other_scales_compare_as_possibilities(seed):
    scales = [Fraction(1, 8), 1, 3, [1, 2, 3], 0]
    nets = [net_of(seed, bits=4, classes="abc", scale=s, bias=[0, 0.5, Fraction(1, 3)]) for s in scales]
    for x in images(4):
        pairs = [
            (gap, float(pi))
            for net in nets
            for gap, pi in zip(sg.logic.Reading.of(net, x).gaps, net.possibility([x])[0], strict=True)
        ]
        assert [pi for _, pi in sorted(pairs)] == sorted((pi for _, pi in pairs), reverse=True)


def test_one_vote_of_a_large_scale_is_less_possible_than_two_of_a_small_one():
    head = [[1, 1], [1, -1]]
    large, small = (sg.Network.of_bits([], sg.nn.Head(head, scale=scale), classes="xy") for scale in (10, 1))
    two = [sg.logic.Reading.of(large, [1, 1], "a"), sg.logic.Reading.of(small, [1, 1], "b")]
    assert [reading.gaps for reading in two] == [(0, 20), (0, 2)]
    answer = sg.logic.read(sg.logic.Statement.of(two, "a = y or b = y"))
    assert (answer.gap, answer.choice) == (2, (0, 1))
    assert "gap of 2" in sg.check(answer.certificate, [large, small])


def test_a_network_may_choose_among_some_classes():
    net = net_of(1, bits=4, classes="abcd")
    some = net.with_classes(["d", "b"])
    assert some.classes == ("b", "d")
    assert some is net.with_classes([1, 3])
    assert net.with_classes(range(4)) is net
    for x in images(4):
        scores = net.head.scores(net.match_counts([x]))[0]
        assert some.predict([x])[0] == (0 if scores[1] >= scores[3] else 1)
        assert (
            sg.logic.Reading.of(net, x, "r", among=["b", "d"]).gaps == sg.logic.Reading.of(some, x, "r").gaps
        )
    with pytest.raises(NetworkError, match="'e' is not a class"):
        net.with_classes("e")
    with pytest.raises(NetworkError, match="True is not a class"):
        net.with_classes([True])
    with pytest.raises(NetworkError, match="name at least one"):
        net.with_classes([])


def test_what_is_no_reading_is_refused():
    with pytest.raises(QuestionError, match="the best value must have the gap 0"):
        sg.logic.Reading.given("a", {"x": 1})
    with pytest.raises(QuestionError, match="the best value must have the gap 0"):
        sg.logic.Reading.given("a", {})
    with pytest.raises(QuestionError, match="two values that are written alike"):
        sg.logic.Reading.given("a", {1: 0, "1": 2})
    with pytest.raises(QuestionError, match="2 names for 1 samples"):
        readings_of(net_of(0), [(1, 1, 1)], ["a", "b"])
    two = [sg.logic.Reading.given("a", {"1": 0})] * 2
    with pytest.raises(QuestionError, match="two readings are called 'a'"):
        sg.logic.Statement.of(two, "a = 1")
    assert readings_of(net_of(0), []) == ()


def test_one_value_is_certain():
    only = sg.logic.Reading.given("a", {"here and there": 0})
    assert only.margin is None
    assert str(only) == "a = here and there, the only value"


def test_arrays_lists_and_names_read_the_same():
    net, X = sg.models.digits(), sg.models.samples("digits")[0][:3]
    rows = [list(map(int, row)) for row in X]
    named = [dict(zip(net.encoder.names, row, strict=True)) for row in rows]
    expected = [reading.gaps for reading in readings_of(net, X)]
    for given in (rows, named, X.reshape(3, 8, 8) if net.encoder.shape else rows, np.array(rows, object)):
        assert [reading.gaps for reading in readings_of(net, given)] == expected
