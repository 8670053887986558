"""Curves of certified accuracy, against their definition sample by sample."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.capacity.arguments import read_number
from sugenet.errors import FileError, QuestionError, SoundnessError
from sugenet.sweeps.curve import (
    chosen_radii,
    curve_of,
    curve_points,
    radius_text,
    safety_of_radii,
    safety_of_whatif,
)
from tests.sweeps.drawing import row

SIZES = st.fractions(0, 4, max_denominator=2)


@st.composite
def sweeps(draw):
    """A few sweeps of one data set at rising radii, none of them wrong: behind each sample is the radius at
    which it breaks.
    """
    samples, radii = draw(st.integers(0, 5)), sorted(draw(st.sets(SIZES, min_size=1, max_size=3)))
    breaks = [draw(st.one_of(SIZES, st.just(None))) for _ in range(samples)]
    truths = [draw(st.sampled_from([0, 1])) for _ in range(samples)]
    files = []
    for radius in radii:
        found = []
        for sample in range(samples):
            broken = breaks[sample] is not None and breaks[sample] <= radius
            outcome = draw(st.sampled_from(["refuted" if broken else "proved", "undecided", "missing"]))
            trusted = outcome == "proved" and draw(st.booleans())
            if outcome != "missing":
                found.append(row(sample, outcome, truth=truths[sample], certified=False if trusted else None))
        files.append((radius, found))
    return files, samples


@given(sweeps())
def test_the_curve_of_several_sweeps_by_definition(drawn):
    files, samples = drawn
    _, points = curve_points(safety_of_radii(files), samples, [radius for radius, _ in files])
    assert [point.radius for point in points] == [radius for radius, _ in files]
    flat = [(radius, one) for radius, found in files for one in found]
    if not flat:
        return
    of = Fraction(1, max(samples, 1))
    for point in points:
        lower = upper = 0
        for sample in range(samples):
            mine = [(radius, one) for radius, one in flat if one.sample == sample]
            right = any(one.index == one.truth for _, one in mine)
            proved = any(
                one.outcome == "proved" and one.certified and radius >= point.radius for radius, one in mine
            )
            refuted = any(one.outcome == "refuted" and radius <= point.radius for radius, one in mine)
            lower += right and proved
            upper += (right or not mine) and not refuted
        assert point.accuracy == (lower * of, upper * of)
    assert [p.accuracy.lower for p in points] == sorted((p.accuracy.lower for p in points), reverse=True)
    assert [p.accuracy.upper for p in points] == sorted((p.accuracy.upper for p in points), reverse=True)


@given(sweeps())
def test_one_sweep_says_in_the_curve_what_its_tally_says(drawn):
    from sugenet.sweeps.tally import tally_of

    (radius, found), samples = drawn[0][0], drawn[1]
    assume(found)
    accuracy, (point,) = curve_points(safety_of_radii([(radius, found)]), samples, [radius])
    tally = tally_of(found, samples, "robust")
    assert point.accuracy == tally.certified
    assert accuracy == tally.accuracy


@st.composite
def whatifs(draw):
    samples, limit = draw(st.integers(0, 6)), draw(st.one_of(SIZES, st.none()))
    found = []
    for sample in range(samples):
        outcome = draw(st.sampled_from(["minimum", "found", "none", "undecided", "missing"]))
        if outcome == "missing":
            continue
        lower = draw(SIZES)
        value = lower if outcome == "minimum" else lower + draw(st.fractions("1/2", 2, max_denominator=2))
        found.append(
            row(
                sample,
                outcome,
                truth=draw(st.sampled_from([0, 0, 1])),
                certified=draw(st.booleans()),
                cost=str(value) if outcome in ("minimum", "found") else None,
                lower=None if outcome == "none" else str(lower),
            )
        )
    return found, samples, limit


@given(whatifs(), st.lists(SIZES, min_size=1, max_size=4), st.booleans())
def test_the_curve_of_costs_by_definition(drawn, radii, squares):
    found, samples, limit = drawn
    _, points = curve_points(safety_of_whatif(found, limit), samples, radii, squares=squares)
    of = Fraction(1, max(samples, 1))
    if not found:
        return
    for point in points:
        size = point.radius**2 if squares else point.radius
        lower, upper = 0, samples - len(found)
        for one in found:
            safe = limit is None or size <= limit if one.outcome == "none" else Fraction(one.lower) > size
            refuted = one.cost is not None and Fraction(one.cost) <= size
            lower += one.truth == one.index and safe and one.certified
            upper += one.truth == one.index and not refuted
        assert point.accuracy == (lower * of, upper * of)


def test_ties_at_the_radius_itself():
    """A change that costs just the radius is inside; a lower bound that is just the radius excludes nothing
    there.
    """
    found = [row(0, "found", cost="4", lower="4"), row(1, "undecided", certified=True, lower="4")]
    _, (below, at) = curve_points(safety_of_whatif(found, None), 2, [Fraction(399, 100), Fraction(4)])
    assert (below.certified, below.refuted, below.open) == (2, 0, 0)
    assert (at.certified, at.refuted, at.open) == (0, 1, 1)
    _, (below, at) = curve_points(
        safety_of_whatif(found, None), 2, [Fraction(199, 100), Fraction(2)], squares=True
    )
    assert (below.certified, at.refuted, at.open) == (2, 1, 1)


@given(whatifs(), st.booleans())
def test_radii_are_those_where_something_changes(drawn, squares):
    """At the radii that are chosen when nobody names some, all steps of the curve are seen."""
    found, samples, limit = drawn
    safety = safety_of_whatif(found, limit)
    radii = chosen_radii(safety, squares=squares)
    assert radii == sorted(set(radii))
    assert len(radii) <= 12
    if squares:
        return
    fine = sorted({Fraction(k, 8) for k in range(60)} | set(radii))
    at = {point.radius: point for point in curve_points(safety, samples, fine)[1]}
    for before, after in itertools.pairwise(fine):
        inside = limit is not None and before <= limit < after  # such an end belongs to what is below it
        if after not in radii and not inside:
            assert at[before].accuracy == at[after].accuracy


def test_many_radii_are_thinned_and_roots_rounded_up():
    found = [row(k, "found", cost=str(k + 1), lower=str(k + 1)) for k in range(100)]
    safety = safety_of_whatif(found, None)
    assert len(chosen_radii(safety, squares=False)) == 12
    roots = chosen_radii(safety_of_whatif(found[:4], None), squares=True)
    assert roots == [1, 1.415, 1.733, 2]  # decimals are the floats that they name
    assert [root**2 >= k + 1 for k, root in enumerate(roots)] == [True] * 4


def test_radii_that_are_too_long_to_read_are_rounded_up():
    costs = ["1/3", "1234567", "2251799813685249/4503599627370496", "10/267747", f"1/{2**1074}"]
    found = [row(k, "found", cost=cost, lower=cost) for k, cost in enumerate(costs)]
    radii = chosen_radii(safety_of_whatif(found, None), squares=False)
    words = ["5e-324", "3.735e-05", "1/3", "0.5001", "1234567"]
    assert [radius_text(radius) for radius in radii] == words
    assert [read_number(text) for text in words] == radii  # what is said is what was counted
    assert all(radius >= cost for radius, cost in zip(radii, sorted(map(Fraction, costs)), strict=True))


def test_contradictions_are_refused():
    with pytest.raises(SoundnessError, match=r"sample 3 is proved to keep its class within 2, and refuted"):
        safety_of_radii([(Fraction(2), [row(3, "refuted")]), (Fraction(5), [row(3, "proved")])])
    with pytest.raises(FileError, match="sample 3 has class number 0 in one file and 1 in another"):
        safety_of_radii([(Fraction(2), [row(3)]), (Fraction(5), [row(3, index=1)])])
    with pytest.raises(FileError, match="right class of sample 3 has number 0 in one file and 1"):
        safety_of_radii([(Fraction(2), [row(3)]), (Fraction(5), [row(3, truth=1)])])
    trusted = [(Fraction(2), [row(3, "refuted")]), (Fraction(5), [row(3, "proved", certified=False)])]
    assert safety_of_radii(trusted)[3].is_refuted(Fraction(5))  # the word of a solver is no proof


# -- from results --------------------------------------------------------------------------------------------

NET = sg.Network.of_bits(
    [sg.nn.DenseLayer([[1, 1, -1, 1]], [2])], sg.nn.Head([[-1], [1]]), classes=["off", "on"]
)
OTHER = sg.Network.of_bits(
    [sg.nn.DenseLayer([[1, 1, -1, 1]], [3])], sg.nn.Head([[-1], [1]]), classes=["off", "on"]
)
ROWS = [[1, 1, -1, 1], [-1, -1, 1, -1], [1, -1, 1, 1]]


def swept(question, network=NET, rows=ROWS, y=(1, 0, 0)):
    return sg.sweep(network, rows, question, y=y, jobs=1)


def near(radius, region=sg.Hamming, **more):
    return sg.Robust(sg.each, region(radius), **more)


def test_the_curve_of_costs_is_that_of_the_verdicts():
    """One sweep of whatif says what sweeps of verify say, radius by radius."""
    for region in (sg.Hamming, sg.L0, sg.L1, sg.L2, sg.Linf):
        costs = curve_of([swept(sg.WhatIf(sg.each, region))], [1, 2, 3])
        verdicts = curve_of([swept(near(radius, region)) for radius in (2, 1, 3)])
        assert costs.points == verdicts.points
        assert (costs.asked, costs.cost, costs.accuracy) == (verdicts.asked, verdicts.cost, verdicts.accuracy)
        assert costs.data() == verdicts.data()
        assert str(costs) == str(verdicts)


def test_what_else_was_asked_is_said():
    question = sg.WhatIf(sg.each, sg.Hamming, "on", ["x2"], sg.Linf(1), ties="against")
    assert curve_of([swept(question, rows=ROWS[1:2], y=None)]).asked == (
        "up to R bits flipped; only changes to on count; a tie counts as a change; 1 feature must stay; "
        "within every feature changed by up to 1"
    )
    assert str(curve_of([swept(near(1), y=None)])).startswith("share proved of 3 samples")


def test_what_is_proved_against_one_class_only_is_no_certified_accuracy():
    found = swept(near(1, target="on"), rows=ROWS[1:2], y=[0])
    assert found.tally().certified is None
    assert "certified accuracy" not in str(found.tally())
    assert str(curve_of([found])).startswith("share right and proved of 1 samples")
    assert " certified" not in str(curve_of([found])).replace("not certified", "")


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (lambda: [swept(near(2), OTHER)], r"one is about the network \w{12}, the other about \w{12}"),
        (lambda: [swept(near(2), rows=ROWS[:2], y=[1, 0])], "about 3 samples, the other about 2"),
        (lambda: [swept(near(2), rows=ROWS[::-1])], "about other samples, or other true classes"),
        (lambda: [swept(near(2), y=[1, 1, 1])], "about other samples, or other true classes"),
        (lambda: [swept(near(2, sg.L0))], "more than the radius: region Hamming and region L0"),
        (lambda: [swept(near(2, ties="against"))], "ties lowest and ties against"),
        (lambda: [swept(near(1))], "have the same radius, 1. Give one of them"),
        (lambda: [swept(sg.Predict(sg.each))], "asks predict, but a curve is made of sweeps of verify"),
        (lambda: [swept(sg.Robust(sg.each, sg.AnyInput()))], "asks about any input, which has no radius"),
    ],
)
def test_sweeps_that_make_no_curve_are_refused(others, words):
    with pytest.raises(QuestionError, match=words):
        curve_of([swept(near(1)), *others()])


def test_nothing_makes_no_curve():
    with pytest.raises(QuestionError, match="Give at least one file"):
        curve_of([])
