"""Figures of a results file, against their definitions."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import QuestionError
from sugenet.reason.phrases import percent_text
from sugenet.sweeps.tally import listed, tally_of
from tests.sweeps.drawing import SECONDS, row, rows

VERDICTS = ["proved", "refuted", "undecided"]


@given(rows(VERDICTS))
def test_certified_accuracy_by_definition(drawn):
    found, samples = drawn
    tally = tally_of(reversed(found), samples, "robust")
    by_sample = {one.sample: one for one in found}
    known = any(one.truth is not None for one in found)
    lower = upper = right = maybe_right = 0
    for sample in range(samples):
        one = by_sample.get(sample)
        is_right = one is not None and (one.truth == one.index if known else True)
        may_be_right = one is None or one.truth in (None, one.index)
        lower += is_right and one.outcome == "proved" and one.certified
        upper += may_be_right and (one is None or one.outcome != "refuted")
        right += is_right
        maybe_right += may_be_right
    of = max(samples, 1)
    assert tally.certified == (Fraction(lower, of), Fraction(upper, of))
    if known:
        assert tally.accuracy == (Fraction(right, of), Fraction(maybe_right, of))
        assert tally.right == right
    else:
        assert tally.accuracy is tally.right is None
    assert sum(tally.outcomes.values()) == samples
    assert len(tally.missing) + tally.answered == samples
    assert {one.sample for one in tally.on_trust} == {
        one.sample for one in found if one.outcome == "proved" and not one.certified
    }
    assert [one.sample for one in tally.undecided] == [one.sample for one in found if not one.settled]
    assert json.loads(json.dumps(tally.data()))["samples"] == samples
    assert str(tally)


@given(st.lists(SECONDS, min_size=1, max_size=30))
def test_every_time_is_in_the_one_bin_that_holds_it(seconds):
    tally = tally_of([row(k, seconds=one) for k, one in enumerate(seconds)], len(seconds), "robust")
    assert sum(one.answers for one in tally.times) == len(seconds)
    for one in tally.times:
        assert one.answers == sum(one.low <= time < one.high for time in seconds)
        assert one.low == 0 or 2.9 < one.high / one.low < 3.4
    assert all(a.high == b.low for a, b in zip(tally.times, tally.times[1:], strict=False))
    assert tally.times[0].answers
    assert tally.times[-1].answers
    assert [one.seconds for one in tally.hardest(3)] == sorted(seconds, reverse=True)[:3]
    assert tally.largest == max(seconds)


@given(st.fractions(0, 1), st.sampled_from([-1, 0, 1]))
def test_percentages_never_say_more_than_is_so(share, towards):
    text = percent_text(share, towards)
    if text[0] in "ou":  # over, under
        word, bound, _ = text.split()
        assert share > Fraction(bound) / 100 if word == "over" else share < Fraction(bound) / 100
        return
    shown = Fraction(text.removesuffix(" %")) / 100
    assert abs(shown - share) <= Fraction(1, 10_000) / (2 if towards == 0 else 1)
    assert towards >= 0 or shown <= share
    assert towards <= 0 or shown >= share
    assert shown not in (0, 1) or shown == share


@given(st.sets(st.integers(0, 30)), st.integers(1, 5))
def test_lists_of_samples_lose_none(numbers, most):
    words, _, left = listed(sorted(numbers), most).partition(" and ")
    named = []
    for part in filter(None, words.split(", ")):
        low, _, high = part.partition("-")
        named += range(int(low), int(high or low) + 1)
    assert named == sorted(numbers)[: len(named)]
    assert len(named) + (int(left.split()[0]) if left else 0) == len(numbers)


def test_the_text_of_a_tally():
    found = [
        row(0, "proved", seconds=0.002),
        row(1, "proved", certified=False, seconds=0.2),
        row(2, "refuted", seconds=0.25),
        row(3, "undecided", seconds=6.0),
        row(4, "proved", index=1, seconds=0.002),
    ]
    assert str(tally_of(found, 8, "robust", "the class stays")) == (
        "the class stays\n"
        "  proved     3  37.50 %\n"
        "  refuted    1  12.50 %\n"
        "  undecided  1  12.50 %\n"
        "  missing    3  37.50 %\n"
        "  samples    8    100 %\n"
        "accuracy: 50.00 % to 87.50 % (4 of 5 answers right)\n"
        "certified accuracy: 12.50 % to 75.00 %\n"
        "\n"
        "times: 6.45 s in all, median 0.2 s, longest 6 s\n"
        "    1 ms to 3 ms  2  ########################################\n"
        "   3 ms to 10 ms  0\n"
        "  10 ms to 30 ms  0\n"
        "  30 ms to 0.1 s  0\n"
        "  0.1 s to 0.3 s  2  ########################################\n"
        "    0.3 s to 1 s  0\n"
        "      1 s to 3 s  0\n"
        "     3 s to 10 s  1  ####################\n"
        "hardest: 3 (6 s), 2 (0.25 s), 1 (0.2 s), 0 (2 ms), 4 (2 ms)\n"
        "undecided: 1, samples 3\n"
        "not certified: 1, samples 1\n"
        "missing: 3, samples 5-7"
    )


@pytest.mark.parametrize("kind", ["whatif", "why", "count", "predict"])
def test_other_questions_have_accuracy_alone(kind):
    tally = tally_of([row(0, "predicted"), row(1, "predicted", index=1)], 2, kind)
    assert tally.certified is None
    assert tally.accuracy == (Fraction(1, 2), Fraction(1, 2))
    assert tally.on_trust == ()  # a prediction trusts nobody
    assert "certified" not in str(tally)


def test_costs_are_those_that_are_proved_to_be_least():
    found = [
        row(0, "found", cost="4", lower="4"),
        row(1, "found", cost="1", lower="1/2"),
        row(2, "found", cost="7/2", lower="7/2"),
        row(3, "none"),
    ]
    tally = tally_of(found, 4, "whatif")
    assert tally.costs == (Fraction(7, 2), Fraction(4))
    assert "costs: from 3.5 to 4, median 3.75 (2 proved to be least)" in str(tally)
    assert tally.data()["costs"] == {"least": "7/2", "median": "15/4", "largest": "4", "squares": False}
    assert "sums of squares: from 3.5" in str(tally_of(found, 4, "whatif", squares=True))
    assert tally_of(found[1:2], 4, "whatif").data()["costs"] is None


def test_nothing_answered_is_no_error():
    tally = tally_of([], 3, "robust")
    assert tally.certified == (0, 1)
    assert (tally.median, tally.largest, tally.times, tally.seconds) == (None, None, (), 0)
    assert "missing: 3, samples 0-2" in str(tally)
    assert tally.accuracy is None
    assert tally_of([], 3, "robust", has_truth=True).accuracy == (0, 1)
    assert str(tally_of([], 0, "robust"))


def test_rows_that_cannot_be_are_refused():
    with pytest.raises(QuestionError, match="sample 1 has two rows"):
        tally_of([row(1), row(1)], 3, "robust")
    with pytest.raises(QuestionError, match="row of sample 3, but there are 3 samples"):
        tally_of([row(3)], 3, "robust")
