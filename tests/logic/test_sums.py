"""Sums of digits: the product of carry matrices against all vectors of digits."""

import json
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic import Reading, read, readings_of
from sugenet.logic.composed import Wanted
from tests.logic.wholes import all_choices, by_definition, cheapest_by_definition, given

LENGTHS = [(1, 1), (2, 2), (1, 2), (2, 1), (3, 1)]


def drawn_sum(rng, left, right, values="0123456789"):
    names = [f"l{k}" for k in range(left)] + [f"r{k}" for k in range(right)]
    digits = [
        given(rng, name, "".join(sorted(rng.permutation(list(values))[: rng.integers(1, 7)])))
        for name in names
    ]
    return sg.logic.Sum(tuple(digits[:left]), tuple(digits[left:]))


@pytest.mark.parametrize(("left", "right"), LENGTHS)
def test_every_sum_against_all_vectors_of_digits(left, right):
    rng = np.random.default_rng(10 * left + right)
    for _ in range(6 if left + right < 4 else 2):
        total = drawn_sum(rng, left, right)
        by_value = {}
        for choice in all_choices(total.readings):
            gap = max(r.gaps[k] for r, k in zip(total.readings, choice, strict=True))
            value = total.value(choice)
            by_value[value] = min(gap, by_value.get(value, gap))
        for value in range(-1, 10 ** max(left, right) * 2 + 1):
            assert total.gap(value) == by_value.get(value)
            found = total.min_gap(Wanted(value))
            assert found is None or total.value(found[1]) == value
        others = [gap for value, gap in by_value.items() if value != total.says]
        assert total.margin == min(others, default=None)  # necessity: the least margin of the digits
        assert total.gap(total.says) == 0


@pytest.mark.parametrize(("left", "right"), LENGTHS[:4])
def test_the_cheapest_digits_of_a_sum_and_of_any_other(left, right):
    rng = np.random.default_rng(left + 7 * right)
    for _ in range(8):
        total = drawn_sum(rng, left, right, "0189")
        costs = [
            [None if rng.random() < 0.15 else Fraction(int(c), 2) for c in rng.integers(0, 9, len(r.values))]
            for r in total.readings
        ]
        for value in {0, 9, 10, 99, 198, total.says, -3, 5000}:
            for other in (False, True):
                wanted = Wanted(value, other)
                found = total.min_cost(wanted, costs)
                assert (None if found is None else found[0]) == cheapest_by_definition(total, wanted, costs)
                assert found is None or wanted.met(total.value(found[1]))
                best = total.min_gap(wanted)
                assert (None if best is None else best[0]) == by_definition(total, wanted)


def test_long_numbers():
    rng = np.random.default_rng(0)
    digits = [given(rng, f"d{k}", "0123456789") for k in range(130)]
    total = sg.logic.Sum(tuple(digits[:65]), tuple(digits[65:]))
    assert total.gap(total.says) == 0
    assert total.value(total.read) == sum(total.addends(total.read))
    found = total.min_gap(Wanted(total.says + 1))
    assert found[0] == total.gap(total.says + 1)
    assert total.value(found[1]) == total.says + 1


def test_two_changed_digits_may_cancel_and_one_never_does():
    five, three = (
        Reading.given(n, {d: 0 if d == own else 1 for d in "345"}) for n, own in (("a", "5"), ("b", "3"))
    )
    total = sg.logic.Sum((five,), (three,))
    assert total.value((1, 1)) == total.says == 8  # 4 + 4 = 5 + 3
    rng = np.random.default_rng(1)
    for _ in range(20):
        total = drawn_sum(rng, 2, 2)
        own = total.read
        for place, reading in enumerate(total.readings):
            for k in range(len(reading.values)):
                assert (total.value((*own[:place], k, *own[place + 1 :])) == total.says) == (k == own[place])


def test_networks_with_different_heads_add_up():
    net, X = sg.models.digits(), sg.models.samples("digits")[0]
    few = net.with_classes(["3", "4"])
    one = readings_of(few, X[[7]], ["left"])[0]
    two = readings_of(net, X[[4]], ["right"])[0]
    total = sg.logic.Sum((one,), (two,))
    assert str(total).startswith("3 + 6 = 9")
    assert total.gap(10) == min(max(one.gaps[1], two.gaps[6]), max(one.gaps[0], two.gaps[7]))
    answer = read(total)
    assert "another value has a gap" in sg.check(answer.certificate, [few, net])
    with pytest.raises(sg.errors.CertificateError, match="which is not given"):
        sg.check(answer.certificate, net)


def test_what_is_no_sum_is_refused():
    digit, word = Reading.given("a", {"1": 0}), Reading.given("b", {"one": 0})
    with pytest.raises(QuestionError, match="b may be 'one', which is not a digit"):
        sg.logic.Sum((digit,), (word,))
    with pytest.raises(QuestionError, match="needs a digit on the left"):
        sg.logic.Sum((), (digit,))
    total = sg.logic.Sum((digit,), (Reading.given("c", {"2": 0}),))
    assert total.margin is None
    assert "the only sum there is" in str(total)
    for wrong in (True, "3", 1.5):
        with pytest.raises(QuestionError, match="is not a sum: give an integer"):
            read(total, wrong)
    net, X = sg.models.breast_cancer(), sg.models.samples("breast_cancer")[0]
    with pytest.raises(QuestionError, match="which is not a digit"):
        sg.logic.Sum.of(net, X[[0]], X[[1]])
    many = [Reading.given(f"d{k}", {"9": 0}) for k in range(4002)]
    with pytest.raises(TooLargeError, match="a number has 4,001 digits, more than 4,000"):
        sg.logic.Sum(many[:1], many[1:])
    long = sg.logic.Sum(many[:1], many[1:4001])
    assert sg.check(json.loads(json.dumps(read(long).certificate)), net)
    for value in (10**5000, -(10**5000)):
        with pytest.raises(QuestionError, match="a sum has at most 4,001 digits"):
            read(long, value)
