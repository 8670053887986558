"""One meaning of a number for all faces: how each spelling is read, at and beside a cut; what is shown reads
back.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.capacity.arguments import exact_number, float_number, number_text, read_number
from sugenet.errors import CapacityError
from sugenet.io.vnnlib import parse_vnnlib
from sugenet.nn import Encoder, Head, Network, bit, integer, threshold
from sugenet.problem.query import Query
from sugenet.reason.phrases import short_number
from tests.cli.runner import as_process
from tests.fuzzing.faces import REFUSED, SPELLINGS, WRONG, around, compare_faces, differing, literal, within

SPELLED = [
    ("0.1", 0.1),
    ("0.09999999999999999999", 0.1),
    ("1/10", Fraction(1, 10)),
    (str(2**53 + 1), 2**53 + 1),
    (f"{2**53 + 1}.", 2**53),
    ("-0.0", 0),
    ("1e-400", 0),
    (".5", Fraction(1, 2)),
    ("5.", 5),
    ("+3", 3),
    (" 3 ", 3),
    ("003", 3),
    ("-7/2", Fraction(-7, 2)),
    ("9" * 4300, 10**4300 - 1),
]


@pytest.mark.parametrize(("text", "value"), SPELLED, ids=lambda value: str(value)[:24])
def test_text_is_the_number_that_python_reads(text, value):
    found = read_number(text)
    assert Fraction(found) == Fraction(value)
    assert found == literal(text)
    assert type(found) is type(literal(text))


@pytest.mark.parametrize("text", [*WRONG, "", " ", "9" * 4301, "1/" + "9" * 4301])
def test_other_text_is_refused_by_name(text):
    with pytest.raises(CapacityError, match="radius is '"):
        read_number(text, "radius")


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (Decimal("0.1"), Fraction(0.1)),
        (Decimal("1e-400"), 0),
        (Decimal(2**53 + 1), 2**53 + 1),
        (np.float32(0.1), Fraction(float(np.float32(0.1)))),
        (np.int8(-3), -3),
        (np.longdouble("0.5"), Fraction(1, 2)),
        (Fraction(1, 10), Fraction(1, 10)),
    ],
)
def test_numbers_of_python_are_what_they_are(value, exact):
    assert exact_number(value, "radius") == exact


@pytest.mark.parametrize(
    "value", [True, np.bool_(1), None, b"1", 1j, float("inf"), np.float32("nan"), "1", [1]]
)
def test_what_is_no_number_of_python_is_refused(value):
    with pytest.raises(CapacityError, match="radius is"):
        exact_number(value, "radius")


def test_a_float64_is_not_rounded_to():
    assert float_number(np.longdouble(0.1)) == 0.1
    wide = [np.longdouble("0.1")] if np.finfo(np.longdouble).nmant > 52 else []
    for value in (Fraction(1, 10), 2**53 + 1, "1/3", *wide):
        with pytest.raises(CapacityError, match="is not a float64"):
            float_number(value)


NUMBERS = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.fractions()
    | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)
)


@given(NUMBERS)
@example(Fraction(1, 10))
@example(Fraction(0.1))
@example(1e22)
@example(Fraction(10**22 + 1))
@example(5e-324)
def test_numbers_that_are_shown_read_back(value):
    assert Fraction(read_number(number_text(value))) == Fraction(value)


@given(st.fractions(min_value=0) | st.decimals(0, 10, places=3).map(Fraction), st.sampled_from([-1, 0, 1]))
@example(Fraction(3, 10), 0)
@example(Fraction(2999999999, 10**10), 1)
def test_costs_that_are_shown_read_back_as_the_bounds_that_they_are(value, towards):
    words = short_number(value, towards)
    shown = Fraction(read_number(words.removeprefix("about ")))
    if words.startswith("about "):
        assert towards == 0
    else:
        assert (shown - value) * towards >= 0
        assert towards or shown == value


# -- through all faces ---------------------------------------------------------------------------------------


def network(cut=0.1):
    """The class is high from a cut on."""
    encoder = Encoder([threshold(cut), integer(0, 4), bit()], ["x", "k", "b"])
    return Network(encoder, [], Head([[-1, *[0] * 5], [1, *[0] * 5]]), ["low", "high"])


@pytest.mark.parametrize("kind", ["Linf", "L1"])
@pytest.mark.parametrize("radius", [*SPELLINGS, *WRONG])
def test_a_radius_is_the_same_for_all_faces(tmp_path, radius, kind):
    faces = around(network(), tmp_path, ["-0.0", "1", "-1"], kind, radius)
    assert not differing(faces)
    verdict = faces["server"][0]
    if radius in WRONG or literal(radius) < 0:
        assert verdict == REFUSED
    else:
        assert verdict == ("refuted" if literal(radius) >= 0.1 else "proved")


@pytest.mark.parametrize("sample", [*SPELLINGS, *WRONG])
def test_a_sample_is_the_same_for_all_faces(tmp_path, sample):
    faces = around(network(), tmp_path, [sample, "4/2", "0"], "Linf", "0")
    assert not differing(faces)
    assert (faces["server"][0] == REFUSED) >= (sample in WRONG)


@pytest.mark.parametrize("limit", [*SPELLINGS, *WRONG])
def test_a_limit_is_the_same_for_all_faces(tmp_path, limit):
    faces = within(network(), tmp_path, limit, str(2**60))
    assert not differing(faces)
    wanted = REFUSED if limit in WRONG else "proved" if literal(limit) >= Fraction(1, 10) else "refuted"
    assert faces["rule"][0] == wanted


def test_the_command_line_as_a_process_of_its_own(tmp_path):
    sg.save(network(), tmp_path / "net.sugenet")
    (tmp_path / "x.csv").write_text("x,k,b\n0.0,3,-1\n")
    words = ["verify", str(tmp_path / "net.sugenet"), str(tmp_path / "x.csv"), "--quiet"]
    assert as_process([*words, "--linf", "0.1"])[0] == 1
    assert as_process([*words, "--linf", "1/10"])[0] == 0
    code, _, err = as_process([*words, "--linf", "0x10"])
    assert code == 2
    assert "'0x10' is not a number such as 12, 0.5, 1e-3 or 1/3" in " ".join(err.split())


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_random_questions_are_the_same_for_all_faces(seed):
    compared, differ = compare_faces(seed, 40)
    assert compared > 100
    assert differ == []


# -- bits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", ["0", "0.5", "1", "1.5", "2"])
@pytest.mark.parametrize("sample", [[-1, -1], [0, 0], [-1, 0], [1, 1], [1, -1]])
def test_a_bit_that_is_off_has_the_same_neighbours_however_it_is_written(sample, eps):
    net = Network(
        Encoder.of_bits(2), [], Head([[1, 1], [-1, -1]], bias=[0, 1]), ["a", "b"]
    )  # scores differ everywhere, so that a tie is no violation
    query = sg.verify(net, Query.around(net, sample, literal(eps)))
    robust = sg.verify(net, sg.Robust(sample, sg.Linf(literal(eps)), ties="against"))
    assert type(query) is type(robust)
    assert sg.check(query.certificate, net)


@pytest.mark.parametrize("comparison", ["b > -1", "b >= 0", "b < 0", "b > -0.5", "b <= -1/2"])
def test_comparisons_that_the_spellings_of_off_answer_differently_are_refused(comparison):
    for ask in (
        lambda: sg.check_rule(network(), f"{comparison} -> high"),
        lambda: network().within(comparison),
    ):
        with pytest.raises(sg.errors.RuleSyntaxError, match="both are off"):
            ask()


# -- VNN-LIB -------------------------------------------------------------------------------------------------


@given(st.lists(NUMBERS, min_size=2, max_size=2).map(sorted))
@example([Fraction(1, 10), 0.1])
@example([2**53 + 1, 10**300])
@example([1e300, 10**301])
def test_queries_read_back_as_they_are(ends):
    query = Query.within(ends[:1], ends[1:], 0, 2)
    assert parse_vnnlib(query.to_text()) == query
