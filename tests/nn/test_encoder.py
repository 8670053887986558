from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import EncodingError
from sugenet.nn import (
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    Span,
    Steps,
    bit,
    integer,
    thermometer,
    threshold,
    unused,
)
from tests.nn.nets import codings, raw, raw_values


@given(st.lists(codings, min_size=1, max_size=5), st.data())
def test_bits_levels_and_states_agree(kinds, data):
    encoder = Encoder(kinds)
    rows = data.draw(st.lists(st.tuples(*map(raw_values, kinds)), min_size=1, max_size=5))
    bits, levels = encoder.encode(raw(rows)), encoder.levels(raw(rows))
    for i, row in enumerate(rows):
        states = [coding.state(value) for coding, value in zip(kinds, row, strict=True)]
        assert levels[i].tolist() == states
        assert bits[i].tolist() == [
            b for coding, state in zip(kinds, states, strict=True) for b in coding.bits(state).tolist()
        ]
        assert all(coding.reachable(state) for coding, state in zip(kinds, states, strict=True))
    assert (encoder.bits_of_levels(levels) == bits).all()
    assert [encoder.feature_of[place] for f in range(encoder.features) for place in encoder.group(f)] == list(
        encoder.feature_of
    )


@given(codings, st.data())
def test_a_move_is_the_nearest_raw_value_of_a_state(coding, data):
    value = data.draw(raw_values(coding))
    for state in range(coding.states):
        move = coding.move(value, state)
        if move is None:
            assert not coding.reachable(state)
            continue
        assert coding.state(move.value) == state
        if isinstance(coding, OneHot):
            assert move.distance == (coding.state(value) != state)
            continue
        here = Fraction(0 if coding.bipolar and value == -1 else value)
        assert move.distance == abs(Fraction(move.value) - here)
        if coding.whole:
            candidates = [v for v in range(int(coding.low), int(coding.high) + 1) if coding.state(v) == state]
            assert move.distance == min(abs(v - here) for v in candidates)
        elif move.distance:
            nearer = np.nextafter(move.value, float(value))
            assert coding.state(float(nearer)) != state


def test_words_say_what_a_bit_and_a_state_mean():
    encoder = Encoder(
        [threshold(14.5), Steps((18, 65), low=0, whole=True), OneHot(("left", "right")), bit()],
        ["radius", "age", "side", "flag"],
    )
    assert [encoder.words(place) for place in range(6)] == [
        "radius >= 14.5",
        "age >= 18",
        "age >= 65",
        "side = left",
        "side = right",
        "flag = +1",
    ]
    assert encoder.words(0, on=False) == "radius < 14.5"
    age = encoder.codings[1]
    assert [age.describe("age", state) for state in range(3)] == ["age < 18", "18 <= age < 65", "age >= 65"]
    assert integer(0, 3).describe("pixel", 2) == "pixel = 2"
    assert unused().describe("x", 0) == "x is anything"
    assert encoder.codings[3].describe("flag", 0) == "flag = -1"


@pytest.mark.parametrize("n", [1, 63, 64, 65])
def test_uint8_pixels_keep_every_value(n):
    encoder = Encoder.of_integers(n)
    X = np.random.default_rng(n).integers(0, 256, (5, n)).astype(np.uint8)
    assert (encoder.levels(X) == X).all()
    assert encoder.width == 255 * n
    assert (encoder.encode(X).reshape(5, n, 255).sum(axis=2) == X).all()


def test_thresholds_at_once_are_thresholds_one_by_one():
    rng = np.random.default_rng(0)
    encoder = Encoder.of_thresholds(rng.integers(1, 255, 30), low=0, high=255, whole=True)
    X = rng.integers(0, 256, (20, 30))
    assert (encoder.encode(X) == ([c.cuts[0] for c in encoder.codings] <= X)).all()
    assert (encoder.encode(X) == encoder.encode(X.astype(object))).all()


def test_bits_can_be_written_in_three_ways():
    encoder = Encoder.of_bits(3)
    expected = [[True, False, True]]
    for X in ([[1, -1, 1]], [[1, 0, 1]], np.array([[True, False, True]]), [[1.0, -1.0, 1.0]]):
        assert encoder.encode(X).tolist() == expected
        assert encoder.levels(X).tolist() == [[1, 0, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Encoder.of_bits(2).encode([[1, 2]]),
            r"x2 is .*2.* in sample 0, but it must be -1, 0 or \+1",
        ),
        (lambda: Encoder.of_bits(2).encode([[1, 0.5]]), "x2 is"),
        (lambda: Encoder.of_bits(2).encode([1, 1]), r"X has shape \(2,\).*\[\[...\]\]"),
        (lambda: Encoder.of_bits(2).encode([[1, 1, 1]]), r"samples have 2 features: give \(samples, 2\)"),
        (
            lambda: Encoder.of_integers(2).encode([[1, 300]]),
            "x2 is .*300.* must be an integer from 0 to 255",
        ),
        (lambda: Encoder.of_integers(2).encode([[1, 1.5]]), "x2 is .*1.5"),
        (
            lambda: Encoder([threshold(0)], ["radius"]).encode([[float("nan")]]),
            "radius is .*nan.* in sample 0, but it must be a finite number",
        ),
        (
            lambda: Encoder([threshold(0)], ["radius"]).encode([["wide"]]),
            "radius is 'wide', which is not a number",
        ),
        (
            lambda: Encoder([threshold(0), OneHot(("a", "b"))]).encode(raw([(1, "c")])),
            "x2 is 'c' in sample 0, which is not a category",
        ),
        (lambda: thermometer([2, 1]), "do not rise"),
        (lambda: thermometer([float("nan")]), "do not rise"),
        (lambda: threshold(0, low=2, high=1), "low=2.0 is above high=1.0"),
        (lambda: threshold(0, low="x"), "low is 'x', which is not a number"),
        (lambda: OneHot(("a", "a")), "must be different"),
        (lambda: Encoder([bit()], ["a", "b"]), "2 feature names for 1 features"),
        (lambda: Encoder([bit(), bit()], ["a", "a"]), "'a' stands twice"),
        (lambda: Encoder([bit(), bit()], ["a b", "a  b"]), "'a b' stands twice"),
        (lambda: Encoder([bit()], ["x "]), "the feature name 'x ' begins or ends with a blank"),
        (lambda: OneHot(("a", " a")), "the category ' a' begins or ends with a blank"),
        (lambda: OneHot(("a", "\t")), "begins or ends with a blank"),
        (lambda: OneHot((3.0, "3.0")), "two categories are written '3.0'"),
        (lambda: OneHot((3.0, "3")), "two categories are written '3'"),
    ],
)
def test_bad_samples_and_codings_are_named(call, message):
    with pytest.raises(EncodingError, match=message):
        call()


# -- equal features ------------------------------------------------------------------------------------------


def test_equal_steps_are_one_object_and_nothing_is_built_to_predict(monkeypatch):
    encoder = Encoder([integer(0, 300) for _ in range(50)] + [threshold(0.5), threshold(0.5)])
    assert len({id(coding) for coding in encoder.codings}) == 2
    net = Network(
        Encoder([integer(0, 300) for _ in range(50)]),
        [LevelLayer([[1] * 50], [7000], [300] * 50)],
        Head([[1], [-1]]),
    )
    built = []
    monkeypatch.setattr(Steps, "__post_init__", built.append)
    net.predict(np.full((2, 50), 3))
    net.predict(np.full((2, 50), 3.0), engine="definition")
    assert net.fingerprint
    assert not built


def test_categories_that_compare_equal_stay_apart():
    encoder = Encoder([OneHot((1, 2)), OneHot((1.0, 2.0)), OneHot((True, 2))])
    assert [encoder.codings[k].words("x", 0, True) for k in range(3)] == ["x = 1", "x = 1.0", "x = True"]


def test_a_cut_at_every_step_is_what_integer_builds():
    rng = np.random.default_rng(0)
    near = [
        integer(0, 4),
        integer(-3, -1),
        integer(2, 2),
        bit(),
        unused(0, 0, whole=True),
        unused(),
        unused(0, inf, whole=True),
    ]
    near += [
        Steps((1, 2, 3), 0, 3),
        Steps((1, 2, 3), 0, 4, whole=True),
        Steps((1, 2.5, 3), 0, 3, whole=True),
        Steps((1, 2), 0.5, 2.5, whole=True),
    ]
    near += [Steps(tuple(sorted(set(rng.integers(0, 5, 4).tolist()))), 0, 4, whole=True) for _ in range(60)]
    for coding in near:
        finite = abs(coding.low) < inf and abs(coding.high) < inf
        assert coding.every_step == (finite and coding == integer(int(coding.low), int(coding.high))), coding
        assert hash(coding) == hash(replace(coding))
        assert coding.array.tolist() == list(coding.cuts)


def test_a_whole_number_beside_a_float_is_not_rounded():
    """NumPy makes floats of both, and 2**60 - 1 would reach the cut."""
    encoder = Encoder([Steps((float(2**60),), whole=True), Steps((0.5,))], ["wide", "share"])
    assert encoder.rows([[2**60 - 1, 0.25]]).tolist() == [[2**60 - 1, 0.25]]
    assert encoder.levels([[2**60 - 1, 0.25]]).tolist() == [[0, 0]]
    assert encoder.levels([[2**60, 0.25]]).tolist() == [[1, 0]]
    assert encoder.levels([[2**60 + 1, 0.25], [2**59 + 1, 0.75]]).tolist() == [[1, 0], [0, 1]]
    assert encoder.rows([[3, 0.25]]).dtype == float


def test_a_state_that_only_an_infinite_value_has_is_out_of_reach():
    always, never = Steps((-inf, 0.5)), Steps((0.5, inf))
    assert [always.interval(state) is not None for state in range(3)] == [False, True, True]
    assert [never.interval(state) is not None for state in range(3)] == [True, True, False]
    for coding in (always, never):
        for state in range(3):
            move = coding.move(0.1, state)
            assert move is None or coding.state(move.value) == state


def test_limits_compare_exactly_whatever_their_type():
    cut = np.nextafter(float(np.float32(0.1)), 1)
    coding = threshold(float(cut), 0.0, 0.1000000015)
    for high in (np.float32(0.1), float(np.float32(0.1)), np.longdouble(np.float32(0.1))):
        span = Span(0.0, high)
        assert type(span.high) is float
        assert coding.move(0.0, 1, span) is None
    assert Span(0, Decimal("0.1")).high == 0.1


@given(st.data())
def test_columns_of_one_type_are_read_as_their_values_are(data):
    """A column of plain floats, integers or booleans is read at once, and another one value by value."""
    coding = data.draw(
        st.sampled_from(
            [
                thermometer([-1.5, 0.25, 2]),
                threshold(1, 0, 1, whole=True),
                integer(-3, 3),
                thermometer([2**60]),
            ]
        )
    )
    kind = data.draw(st.sampled_from([float, int, bool]))
    values = {
        float: st.floats() | st.sampled_from([0.25, -0.0, 1.0, 2.5]),
        int: st.integers(-4, 4) | st.integers(2**60 - 1, 2**60 + 1) | st.just(10**30),
        bool: st.booleans(),
    }[kind]
    column = np.array([*data.draw(st.lists(values, min_size=1, max_size=6)), "tail"], dtype=object)[:-1]
    encoder = Encoder([coding], ["a"])

    def outcome(read):
        try:
            return read().tolist()
        except EncodingError as error:
            return str(error)

    singly = outcome(lambda: coding.read(column, "a"))  # objects
    assert outcome(lambda: coding.read(encoder._column(column[:, None], 0), "a")) == singly


def test_the_training_range_does_not_depend_on_the_type_of_the_array():
    rows = [[x / 4, x, x % 2 == 0, "ab"[x % 2]] for x in range(-9, 9)]
    encoder = Encoder([thermometer([0.0]), thermometer([1.0]), bit(), OneHot(("a", "b"))])
    spans = encoder.with_training_range(np.array(rows, dtype=object)).seen
    assert [(span.low, span.high, span.values) for span in spans] == [
        (-2.25, 2.0, None),
        (-9, 8, None),
        (None, None, (-1, 0, 1)),
        (None, None, ("a", "b")),
    ]
    numbers = np.array([row[:2] for row in rows], dtype=float)
    assert Encoder(encoder.codings[:2]).with_training_range(numbers).seen[0] == spans[0]


def test_a_value_without_hash_is_not_a_category():
    column = np.empty(2, dtype=object)
    column[:] = ["a", ["a"]]
    with pytest.raises(EncodingError, match=r"\['a'\] in sample 1, which is not a category"):
        OneHot(("a", "b")).read(column, "x")


def test_booleans_are_read_like_other_bits_if_some_are_unread():
    X = np.array([[False, True, True], [True, False, False]])
    encoder = Encoder([bit(), unused(0, 1, True), bit()])
    smaller = Encoder([bit(), replace(bit(), cuts=()), bit()])
    for some in (encoder, smaller):
        assert some.encode(X).tolist() == X[:, [0, 2]].tolist()
        assert some.levels(X).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_truth_values_of_numbers_are_shown_as_numbers():
    encoder = Encoder([threshold(1, 0, 1, whole=True), OneHot((False, True))], ["a", "b"])
    assert list(map(repr, encoder.values([True, True]))) == ["1", "True"]
