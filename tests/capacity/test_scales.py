import copy
import json
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    UNIT,
    Complement,
    Ordinal,
    Possibility,
    RuleSet,
    Scale,
    selection_rules,
    sugeno,
)
from sugenet.errors import ScaleError
from tests.capacity.oracles import GRADES, numbers, scale_values, scales


@given(scales, st.data())
def test_reversal_is_an_order_reversing_involution(scale, data):
    a, b = data.draw(scale_values(scale)), data.draw(scale_values(scale))
    assert scale.reverse(scale.reverse(a)) == a
    assert (a < b) == (scale.reverse(b) < scale.reverse(a))
    assert scale.reverse(scale.bottom) == scale.top


@given(numbers)
def test_reversal_on_the_unit_interval_is_exactly_one_minus(value):
    assert Fraction(UNIT.reverse(value)) == 1 - Fraction(value)


def test_a_float_complement_that_would_round_keeps_order():
    tiny = 1e-20
    assert 1.0 - tiny == 1.0  # what floats would say
    assert UNIT.reverse(tiny) < 1
    assert UNIT.reverse(2 * tiny) < UNIT.reverse(tiny)


@given(scales, st.data())
def test_codes_order_like_the_scale_and_decode_back(scale, data):
    values = data.draw(st.lists(scale_values(scale), min_size=1, max_size=6))
    codes = scale.codes(values)
    assert list(scale.decode(codes)) == values
    assert [scale.element(code) for code in codes] == values
    assert list(scale.decode(scale.reverse_codes(codes))) == [scale.reverse(value) for value in values]
    for i, a in enumerate(values):
        for j, b in enumerate(values):
            assert (codes[i] < codes[j]) == (a < b)


@given(scales, st.data())
def test_values_and_scales_go_to_text_and_json_and_back(scale, data):
    value = data.draw(scale_values(scale))
    for element in (value, scale.reverse(value)):
        assert scale.parse(str(element)) == element
        assert scale.value_from_json(scale.value_to_json(element)) == element
    assert Scale.from_json(scale.to_json()) == scale


def test_levels_are_strings_ordered_by_place_and_not_by_the_alphabet():
    bad, poor, ok, good, top = GRADES.levels
    assert bad == "bad"
    assert {bad: 1}["bad"] == 1
    assert ok < good
    assert not good < ok  # the alphabet would say so
    assert ok < "good"
    assert max(top, poor) is top
    assert sorted([good, bad, ok]) == ["bad", "ok", "good"]
    for level in (pickle.loads(pickle.dumps(ok)), copy.deepcopy(ok)):
        assert level == ok
        assert level < good


def test_complement_survives_pickle_and_copy():
    value = Complement.of(0.3)
    for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert str(again) == "1 - 0.3"
        assert again == value


@pytest.mark.parametrize(
    ("scale", "value", "message"),
    [
        (BOOLEAN, 2, "x is 2, but the scale is Boolean: give 0 or 1"),
        (BOOLEAN, float("nan"), "give 0 or 1"),
        (BOOLEAN, "yes", "give 0 or 1"),
        (UNIT, 7, r"x is 7, which is not in \[0, 1\]. Rescale it, or use an Ordinal scale"),
        (UNIT, -0.1, r"not in \[0, 1\]"),
        (UNIT, float("nan"), "x is NaN. .*fill or drop missing values"),
        (UNIT, None, "x is None, which is not a number"),
        (UNIT, "1/0", "is not a number in"),
        (UNIT, 1j, "not a number"),
        (GRADES, "great", "x is 'great', which is not a level. The levels are bad < poor < ok < good < top"),
        (GRADES, 0.5, "not a level"),
        (GRADES, None, "not a level"),
    ],
)
def test_a_value_off_the_scale_is_named(scale, value, message):
    with pytest.raises(ScaleError, match=message):
        scale.check(value, "x")


@pytest.mark.parametrize(
    ("scale", "values", "message"),
    [
        (BOOLEAN, [[0, 1], [1, 3]], r"Found .*3.* at \[1, 1\]"),
        (UNIT, [0.5, float("nan")], r"Found .*nan.* at 1"),
        (UNIT, np.array([[0.5, 1.5]]), r"not in \[0, 1\].*1.5.* at \[0, 1\]"),
        (UNIT, np.array([2, 0]), "Found"),
        (UNIT, [Fraction(3, 2), 0.5], "not in"),
        (GRADES, [["bad", "awful"]], r"not a level; the levels are bad < .*awful.* at \[0, 1\]"),
        (GRADES, [0.5, 1.0], "not a level"),
        (GRADES, ["bad", None], r"Found None at 1"),
        (Ordinal(["a", "True"]), ["a", True], r"Found True at 1"),
        (Ordinal(["a", "True"]), np.array([True, False]), r"Found True at 0"),
        (Ordinal(["a", "b"]), ["a", "b\0"], r"Found 'b\\x00' at 1"),
        (GRADES, np.array(["bad", "awful"], dtype=np.dtypes.StringDType()), "Found 'awful' at 1"),
        (UNIT, [[0.5, Fraction(1, 3)], [0.5, None]], r"values is None, .* at \[1, 1\]"),
        (UNIT, [np.float64("nan"), Fraction(1, 3)], r"values is NaN.* at 0"),
        (UNIT, [0.5, [1, 0]], "some entries are single values and others are lists"),
        (BOOLEAN, [0, [1, 0]], "some entries are single values and others are lists"),
    ],
)
def test_a_batch_value_off_the_scale_is_named_with_its_place(scale, values, message):
    with pytest.raises(ScaleError, match=message):
        scale.codes(values)


def test_unit_accepts_what_is_exactly_a_number():
    assert UNIT.check(Decimal("0.1")) == UNIT.check("0.1") == 0.1
    assert UNIT.check("1/10") == Fraction(1, 10)
    assert UNIT.check("1/3") == Fraction(1, 3)
    assert UNIT.check(np.float32(0.5)) == 0.5
    assert UNIT.check(True) == 1


@pytest.mark.parametrize("names", [["only"], [], ["a", "b", "a"], "abc"])
def test_an_ordinal_scale_needs_different_levels(names):
    with pytest.raises(ScaleError):
        Ordinal(names)


def test_names_of_levels_are_told_apart_to_the_last_character():
    scale = Ordinal(["a", "a\0"])
    assert scale.codes(["a", "a\0"]).tolist() == [0, 1]
    assert scale.codes(np.array(["a"], dtype=np.dtypes.StringDType())).tolist() == [0]
    assert scale.codes(np.empty((0, 3), dtype=object)).shape == (0, 3)


def test_levels_have_the_names_that_were_given():
    scale = Ordinal([np.int64(1), 2])
    assert scale.codes([1, "2", np.int8(2)]).tolist() == [0, 1, 1]
    assert [scale.check(value) for value in (1, "1", np.int64(2))] == [1, 1, 2]
    assert Ordinal(["1", "2"]).check(1) == "1"
    assert Ordinal(["1", 2]) != Ordinal([1, 2])
    worst, best = Ordinal([7, "3"]).levels
    assert (worst, best, str(worst), f"{worst}", worst + 1) == (7, "3", "7", "7", 8)
    assert worst < best
    assert worst < 3
    assert sorted([best, worst]) == [7, "3"]
    assert sugeno(Possibility([2, 0, 1], Ordinal(range(3))), [1, 2, 2]) == 1


@pytest.mark.parametrize("names", [range(3), ["0", "1", "2"], ["0", 1, -2], ["-2", "a b", "if"]])
def test_levels_are_written_and_read_back(names):
    scale = Ordinal(names)
    assert [type(level) for level in pickle.loads(pickle.dumps(scale.levels))] == list(
        map(type, scale.levels)
    )
    assert Scale.from_json(json.loads(json.dumps(scale.to_json()))) == scale
    for level in scale.levels:
        back = scale.value_from_json(json.loads(json.dumps(scale.value_to_json(level))))
        assert (back, type(back)) == (level, type(level))
    rules = selection_rules(Possibility(scale.levels, scale))
    assert RuleSet.from_text(rules.to_text()) == rules == RuleSet.from_json(rules.to_json())


@given(
    st.lists(
        st.one_of(
            st.sampled_from(["a", "1", "True", "None", 1, True, None, 1.0, b"a", "a\0"]), st.text(max_size=2)
        ),
        max_size=5,
    )
)
def test_codes_follow_the_rule_of_check(values):
    scale = Ordinal(["a", "1", "True", "None", "1.0"])

    def accepts(value):
        try:
            scale.check(value)
        except ScaleError:
            return False
        return True

    if all(map(accepts, values)):
        assert scale.codes(values).tolist() == [scale.rank(value) for value in values]
    else:
        with pytest.raises(ScaleError):
            scale.codes(values)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (None, "names is None. Give a list of levels"),
        ([0.5, 1.5], "0.5 cannot be the name of a level"),
        ([None, "a"], "None cannot be the name"),
        ([True, False], "True cannot be the name"),
        ([np.float64(0.5), "a"], "^0.5 cannot be the name"),
        ({"a", "b"}, "a set, which has no order"),
    ],
)
def test_names_of_levels_are_text_or_whole_numbers_in_order(names, message):
    with pytest.raises(ScaleError, match=message):
        Ordinal(names)


def test_foreign_json_is_refused():
    with pytest.raises(ScaleError, match="does not describe a scale"):
        Scale.from_json({"kind": "decimal"})


@pytest.mark.parametrize("n_distinct", [1, 3, 2000])
def test_floats_that_recur_are_reversed_alike(n_distinct):
    rng = np.random.default_rng(n_distinct)
    values = np.array([0.0, 0.3, 0.25, *rng.random(2000) ** 9])[:n_distinct]
    codes = values[rng.integers(len(values), size=(2, 2048))]
    codes[0, 0] = 0.3
    found = UNIT.reverse_codes(codes)
    assert found.shape == codes.shape
    right = [UNIT.reverse(value) for value in codes.ravel().tolist()]
    assert [(type(value), value) for value in found.ravel().tolist()] == [
        (type(value), value) for value in right
    ]
    assert {value.origin for value in found.flat if isinstance(value, Complement)} <= set(codes.flat)
    assert np.array_equal(UNIT.reverse_codes(found), codes)
