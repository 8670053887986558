"""Ratings: what is taken, by name and in order, and what is refused with which words."""

from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.capacity import UNIT, Ordinal
from sugenet.errors import (
    CapacityError,
    CertificateError,
    CriteriaError,
    EncodingError,
    ScaleError,
    TooLargeError,
)

FINE = sg.fit.Ratings([[0.5, 1]], [0.5])
LEVELS = ["bad", "ok", "good"]
ROWS = [["good", "bad"], ["ok", "good"], ["bad", "ok"]]


def test_names_in_any_order_and_tables_of_all_kinds_are_the_same():
    pandas = pytest.importorskip("pandas")
    plain = sg.fit.Ratings(ROWS, ["ok", "ok", "bad"], LEVELS, ["room", "food"])
    frame = pandas.DataFrame(ROWS, columns=["room", "food"])
    turned = frame[["food", "room"]]
    dicts = [{"food": food, "room": room} for room, food in ROWS]
    for X in (frame, turned, dicts, np.array(ROWS), np.array(ROWS, dtype=object)):
        assert sg.fit.Ratings(X, ["ok", "ok", "bad"], LEVELS, ["room", "food"]) == plain
    assert sg.fit.Ratings(turned, ["ok", "ok", "bad"], LEVELS).criteria.names == ("food", "room")


def test_ordered_categories_bring_their_scale():
    pandas = pytest.importorskip("pandas")
    kind = pandas.CategoricalDtype(LEVELS, ordered=True)
    frame = pandas.DataFrame(ROWS, columns=["room", "food"]).astype(kind)
    a = pandas.Series(["ok", "ok", "bad"]).astype(kind)
    assert sg.fit.Ratings(frame, a) == sg.fit.Ratings(ROWS, ["ok", "ok", "bad"], LEVELS, ["room", "food"])
    other = pandas.CategoricalDtype(LEVELS[::-1], ordered=True)
    with pytest.raises(ScaleError, match="categories of food are ordered good < ok < bad"):
        sg.fit.Ratings(frame.astype({"food": other}), a)


def test_whole_numbers_fractions_and_floats_are_what_they_are():
    ratings = sg.fit.Ratings([[1, 0.1], [Fraction(1, 3), "1/2"]], [0.1, Fraction(1, 3)])
    assert ratings.scale == UNIT
    assert ratings.value(ratings.samples.ratings[1]) == Fraction(1, 3)
    assert sg.fit.Ratings([[1, 2]], [2], scale=range(4)).scale == Ordinal(range(4))


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (([[0.5]], ["fine"]), ScaleError, "nothing says which levels are better"),
        (([[0.5], [0.5]], [0.5]), CapacityError, r"a has shape \(1,\), but X has 2 samples"),
        (([[0.5, 1]], [0.5], None, ["u"]), (CriteriaError, EncodingError), "2 columns for 1 criteria"),
        (([0.5, 1], [0.5]), CriteriaError, r"X has shape \(2,\)"),
        (([[0.5, float("nan")]], [0.5]), ScaleError, r"Found nan at \[0, 1\]"),
        (([["so"]], ["bad"], LEVELS), ScaleError, "not a level"),
        (([[0.5]], [1.5]), ScaleError, r"a: not in \[0, 1\]"),
        (([[0.5]], [0.5], None, None, [-1]), CapacityError, r"weights\[0\] is -1"),
        (([[0.5]], [0.5], None, None, [1, 2]), CapacityError, "2 numbers for 1 samples"),
        ((np.empty((0, 2)), []), CapacityError, "no samples"),
        ((np.empty((2, 0)), [0, 1]), CriteriaError, "no columns"),
    ],
)
def test_what_is_wrong_is_said(arguments, error, said):
    with pytest.raises(error, match=said):
        sg.fit.Ratings(*arguments)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "squared"}, "neither 'largest' nor 'total'"),
        ({"maxitive": 0}, "an integer from 1 to 2"),
        ({"maxitive": 1, "minitive": 1}, "Choose one"),
        ({"loss": "total", "maxitive": 1}, "is for loss='largest'"),
        ({"costs": {"over": 1, "under": 1}}, "for loss='total'"),
        ({"time_limit": 1}, "time_limit is for loss='total'"),
        ({"loss": "total", "costs": {"over": 1}}, "'over' and 'under'"),
        ({"loss": "total", "costs": {"over": -1, "under": 1}}, "must not be negative"),
        ({"loss": "total", "costs": [[0, 1], [1, 0]]}, r"scale is \[0, 1\]"),
    ],
)
def test_what_cannot_be_asked_is_said(options, said):
    with pytest.raises(CapacityError, match=said):
        sg.fit.fit_capacity(sg.fit.Ratings([[0.5, 1]], [0.5]), **options)


LONG = Fraction(1, 3**9000)


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (
            lambda: sg.fit.Ratings([[1]], [1], weights=[LONG]),
            TooLargeError,
            r"weights\[0\] is a number of over",
        ),
        (
            lambda: sg.fit.fit_capacity(FINE, "total", costs={"over": LONG, "under": 1}),
            TooLargeError,
            "over'",
        ),
        (
            lambda: sg.fit.fit_capacity(
                sg.fit.Ratings([[Fraction(1, 3**6000)]], [1], weights=[Fraction(1, 5**4000)]), "total"
            ),
            TooLargeError,
            "together make integers of over 13,000 bits",
        ),
        (
            lambda: sg.fit.fit_capacity(sg.fit.Ratings([[0]], [0], range(2)), "total", costs=[[0], [1, 0]]),
            CapacityError,
            "2 rows of 1, 2 costs",
        ),
        (
            lambda: sg.fit.fit_capacity(sg.fit.Ratings([[0]], [0], range(2)), "total", costs=5),
            CapacityError,
            "costs is 5",
        ),
        (lambda: FINE.without([1]), CapacityError, "no sample 1: the indices are 0 to 0"),
        (lambda: sg.fit.version_space(FINE).says([[0.5, 1]]), CriteriaError, "one sample at a time"),
        (lambda: sg.fit.Ratings.of(FINE.data() | {"X": 5}), CapacityError, "ratings are damaged"),
        (
            lambda: sg.fit.Ratings.of(FINE.data() | {"weights": ["1e999999999"]}),
            CertificateError,
            "a number such as",
        ),
    ],
)
def test_long_numbers_damage_and_unknown_samples_are_refused(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_damaged_answers_are_refused():
    for answer in (sg.fit.fit_capacity(FINE, "total"), sg.fit.fit_capacity(FINE, maxitive=1)):
        for error in ("x", "1e999999999", None, float("nan")):
            data = answer.data()
            data["certificate"]["error"] = error
            with pytest.raises(CertificateError):
                sg.fit.learned_of(data)


def test_floats_are_the_same_numbers_in_any_kind_of_array():
    """Small ones are turned into whole numbers at once, others one by one."""
    for low in (0.5, 0.1, 2.0**-59, 2.0**-60, 5e-324, 0):
        for high in (1, 0.3, 1 - 2**-53):
            rows, ratings = [[low, high], [high, low]], [high, 0.25]
            fast, slow = (
                sg.fit.Ratings(np.array(rows, dtype=kind), np.array(ratings, dtype=kind))
                for kind in (float, object)
            )
            assert fast == slow
            top = fast.samples.top
            assert [[Fraction(v, top) for v in row] for row in fast.samples.rows] == [
                [Fraction(v) for v in row] for row in rows
            ]
            assert all(value % 2 == 0 for row in fast.samples.rows for value in row)


def test_weights_that_mean_nothing_are_refused():
    weighted = sg.fit.Ratings([[0.5], [1]], [0.5, 1], weights=[1, 2])
    for ask in (sg.fit.version_space, sg.fit.fit_capacity):
        with pytest.raises(CapacityError, match=r"unweighted\(\)"):
            ask(weighted)
        assert ask(weighted.unweighted())


def test_conflicts_are_said_in_words():
    stays = sg.fit.Ratings(
        [["good", "bad"], ["good", "ok"], ["bad", "bad"]], ["good", "bad", "ok"], LEVELS, ["room", "food"]
    )
    answer = sg.fit.version_space(stays)
    assert answer.sentences() == [
        "sample 1 has at least ok on every criterion, but is rated bad.",
        "sample 2 has at most bad on every criterion, but is rated ok.",
    ]
    other = sg.fit.Ratings([["good", "bad"], ["good", "bad"]], ["good", "bad"], LEVELS, ["room", "food"])
    said = str(sg.fit.version_space(other))
    assert "Sample 0 is rated good and reaches that on room alone, where sample 1 is above bad" in said
    assert "drop so that one fits the rest: 1, for instance sample" in said
