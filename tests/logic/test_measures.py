"""Integrals with a belief, by capacities per reading, by shares and by few interpretations: each against the
definition over all interpretations."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

from sugenet.capacity import (
    UNIT,
    Focal,
    Necessity,
    Ordinal,
    Possibility,
    WeightedThreshold,
    random_capacity,
    sugeno,
)
from sugenet.errors import QuestionError, TooLargeError
from sugenet.logic import Distortion, Reading, Statement, integrate, interpretations, possibility_of, read
from sugenet.logic.formulas import holds
from tests.logic.test_possibility import random_formula
from tests.logic.wholes import all_choices


def readings_of(rng, n_readings):
    return [Reading.given(f"r{k}", dict.fromkeys("abc"[: rng.integers(1, 4)], 0)) for k in range(n_readings)]


def beliefs_of(rng, readings):
    return {r.name: {v: Fraction(int(rng.integers(0, 5)), 4) for v in r.values} for r in readings}


def degrees(readings, formula, belief):
    """min(truth, belief) of every interpretation."""
    return {
        choice: min(
            [Fraction(holds(formula, choice))]
            + [belief[r.name][r.values[k]] for r, k in zip(readings, choice, strict=True)]
        )
        for choice in all_choices(readings)
    }


def by_definition(worth, degree):
    """The Sugeno integral: the best level with the worth of the set that reaches it."""
    return max(
        min(level, worth({c for c, d in degree.items() if d >= level})) for level in set(degree.values())
    )


def test_a_belief_is_the_minimum_with_the_truth():
    rng = np.random.default_rng(0)
    for _ in range(30):
        readings = readings_of(rng, 2)
        formula, belief = random_formula(rng, readings, 2), beliefs_of(rng, readings)
        mu = random_capacity(interpretations(readings), UNIT, levels=5, seed=rng)
        degree = degrees(readings, formula, belief)
        names = dict(zip(all_choices(readings), interpretations(readings), strict=True))
        expected = by_definition(lambda some, mu=mu, names=names: mu({names[c] for c in some}), degree)
        assert integrate(mu, readings, formula, belief) == expected
        told = integrate(
            mu, readings, formula, lambda values, b=belief: min(b[n][v] for n, v in values.items())
        )
        assert told == expected


def test_capacities_per_reading_against_nested_integrals():
    rng = np.random.default_rng(1)
    for _ in range(120):
        readings = readings_of(rng, int(rng.integers(1, 4)))
        formula, belief = random_formula(rng, readings, int(rng.integers(0, 4))), beliefs_of(rng, readings)
        measures = {r.name: random_capacity(r.values, UNIT, levels=5, seed=rng) for r in readings}
        degree = degrees(readings, formula, belief)

        def nested(choice, readings=readings, measures=measures, degree=degree):
            if len(choice) == len(readings):
                return degree[choice]
            reading = readings[len(choice)]
            inner = {v: nested((*choice, k)) for k, v in enumerate(reading.values)}
            return sugeno(measures[reading.name], inner)

        expected = nested(())
        assert integrate(measures, readings, formula, belief) == expected
        free = {r.name: dict.fromkeys(r.values, 1) for r in readings}
        assert integrate(measures, readings, formula) == integrate(measures, readings, formula, free)
        by_function = integrate(
            measures,
            readings,
            lambda values, r=readings, f=formula: Fraction(
                holds(f, [one.values.index(values[one.name]) for one in r])
            ),
            belief,
        )
        assert by_function == expected


def test_shares_against_the_definition():
    rng = np.random.default_rng(2)
    for _ in range(100):
        readings = readings_of(rng, int(rng.integers(1, 4)))
        formula, belief = random_formula(rng, readings, int(rng.integers(0, 4))), beliefs_of(rng, readings)
        weights = {r.name: {v: int(rng.integers(1, 4)) for v in r.values} for r in readings[:2]}
        steps = [(Fraction(int(s), 8), Fraction(int(w), 4)) for s, w in rng.integers(1, 5, (3, 2))]

        def share(choice, readings=readings, weights=weights):
            rows = [
                (weights.get(r.name, dict.fromkeys(r.values, 1)), r.values[k])
                for r, k in zip(readings, choice, strict=True)
            ]
            return prod((Fraction(row[v], sum(row.values())) for row, v in rows), start=Fraction(1))

        def worth(some, share=share, steps=steps):
            total = sum(map(share, some), Fraction(0))
            return max((w for s, w in steps if total >= s), default=Fraction(0))

        expected = by_definition(worth, degrees(readings, formula, belief))
        mu = Distortion(steps, weights)
        assert integrate(mu, readings, formula, belief) == expected
        by_function = integrate(
            mu,
            readings,
            lambda values, r=readings, f=formula: Fraction(
                holds(f, [one.values.index(values[one.name]) for one in r])
            ),
            belief,
        )
        assert by_function == expected


MANY = [Reading.given(f"r{k}", dict.fromkeys("0123456789", 0)) for k in range(40)]
ALL_ODD = " and ".join(f"r{k} in {{1, 3, 5, 7, 9}}" for k in range(40))
SOME_ODD = " or ".join(f"r{k} in {{1, 3, 5, 7, 9}}" for k in range(40))


def test_forty_digits_need_no_list():
    half = Fraction(1, 2**40)
    assert integrate(Distortion([(half, 1)]), MANY, ALL_ODD) == 1
    assert integrate(Distortion([(half + half / 2, 1)]), MANY, ALL_ODD) == 0
    assert integrate(Distortion([(1 - half, 1)]), MANY, SOME_ODD) == 1
    most = {r.name: WeightedThreshold([1] * 10, 6, list(r.values)) for r in MANY}
    assert integrate(most, MANY, SOME_ODD) == 0
    assert integrate(most, MANY, "r0 != 1 and (r1 < 7 or r2 = 3)") == 1
    pi = {r.name: Possibility({v: Fraction(1, 1 + k) for k, v in enumerate(r.values)}) for r in MANY}
    assert integrate(pi, MANY, ALL_ODD) == Fraction(1, 2)
    nec = {r.name: Necessity({v: Fraction(1, 1 + k) for k, v in enumerate(r.values)}) for r in MANY}
    assert integrate(nec, MANY, ALL_ODD) == 0
    names = [", ".join(f"r{k}={digit}" for k in range(40)) for digit in (1, 2, 3)]
    few = Focal(names, [({names[0], names[2]}, Fraction(3, 4)), (set(names), 1)])
    assert integrate(few, MANY, ALL_ODD) == Fraction(3, 4)
    assert integrate(few, MANY, "r0 = r1 and r1 < 4") == 1


def test_possibility_per_reading_is_the_possibility_of_all():
    two = [Reading.given("a", {"0": 0, "1": 2}), Reading.given("b", {"0": 5, "1": 0})]
    joint = possibility_of(two)
    each = {
        r.name: Possibility(
            {v: joint({w for w in interpretations(two) if f"{r.name}={v}" in w}) for v in r.values}
        )
        for r in two
    }
    for text in ("a = 1 and b = 0", "a = b", "a = 1 or b = 0"):
        assert integrate(each, two, text) == integrate(joint, two, text)
    assert read(Statement.of(two, "a = b")) is not None


def test_what_is_too_large_or_wrong_is_refused():
    equal = " and ".join(f"r{k} = r{k + 1}" for k in range(39))
    three = {r.name: WeightedThreshold([1] * 10, 6, list(r.values)) for r in MANY}
    two = MANY[:2]
    cases = [
        (lambda: integrate(Distortion([(1, 1)]), MANY, equal), TooLargeError, "interpretations that no part"),
        (lambda: integrate(three, MANY, equal), TooLargeError, "interpretations that no part"),
        (lambda: integrate(three, MANY, lambda values: 1), TooLargeError, "interpretations that no part"),
        (lambda: integrate(Distortion([]), two, "r0 = 1"), QuestionError, "pairs of a share"),
        (lambda: integrate(Distortion([(2, 1)]), two, "r0 = 1"), QuestionError, "pairs of a share"),
        (lambda: integrate(Distortion([(1, 1)], {"x": {}}), two, "r0 = 1"), QuestionError, "no reading 'x'"),
        (
            lambda: integrate(Distortion([(1, 1)], {"r0": {"0": 1}}), two, "r0 = 1"),
            QuestionError,
            "Give one for each",
        ),
        (
            lambda: integrate(Distortion([(1, 1)], {"r0": dict.fromkeys("0123456789", 0)}), two, "r0 = 1"),
            QuestionError,
            "not all 0",
        ),
        (lambda: integrate({}, two, "r0 = 1"), QuestionError, "a capacity for each reading"),
        (
            lambda: integrate({r.name: Possibility({"x": 1}) for r in two}, two, "r0 = 1"),
            QuestionError,
            "must be over its values",
        ),
        (lambda: integrate(7, two, "r0 = 1"), QuestionError, "capacity is a int"),
        (lambda: integrate(Distortion([(1, 1)]), two, lambda v: 2), QuestionError, "not from 0 to 1"),
        (lambda: integrate(Distortion([(1, 1)]), two, lambda v: float("nan")), QuestionError, "not a finite"),
        (
            lambda: integrate(
                Distortion([(1, 1)]), two, "r0 = 1", {r.name: dict.fromkeys(r.values, 2) for r in two}
            ),
            QuestionError,
            "not from 0 to 1",
        ),
        (
            lambda: integrate(Distortion([(1, 1)]), two, Statement.of(two, "r0 = 1")),
            QuestionError,
            "truth is a Statement",
        ),
        (
            lambda: integrate(Distortion([(1, 1)]), two, "r0 = 1", {"r0": {}}),
            QuestionError,
            "belief must have",
        ),
    ]
    for call, error, said in cases:
        with pytest.raises(error, match=said):
            call()


DOORS = [Reading.given(name, {"open": 0, "shut": 1}) for name in ("front", "back")]
CASES = Focal(interpretations(DOORS), {tuple(interpretations(DOORS)): 1})
SURE = {reading.name: {"open": 1, "shut": 1} for reading in DOORS}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: integrate(CASES, ["front"], "front = open"), "'front' is not a Reading"),
        (lambda: integrate(CASES, None, "front = open"), "'None' is not a Reading"),
        (lambda: integrate(CASES, DOORS, "front = open", 3), "belief is a int"),
        (
            lambda: integrate(CASES, DOORS, "front = open", SURE | {"back": {"open": 2, "shut": 1}}),
            "the belief in back is 2, which is not from 0 to 1",
        ),
        (
            lambda: integrate(
                Focal(interpretations(DOORS), {interpretations(DOORS)[0]: "yes"}, Ordinal(["no", "yes"])),
                DOORS,
                "front = open",
                SURE,
            ),
            "the levels no < yes",
        ),
        (lambda: Distortion([1]), "must be pairs"),
        (lambda: Distortion(None), "must be pairs"),
        (lambda: Distortion([(1, 1)], 3), "weights of the values"),
        (lambda: possibility_of([]), "at least one reading"),
        (lambda: read(None), "'None' is not a composite"),
        (lambda: Statement.of(["a"], "a = 1"), "'a' is not a Reading"),
    ],
)
def test_other_types_are_refused_by_name(wrong, words):
    with pytest.raises(QuestionError, match=words):
        wrong()


def test_truth_may_be_a_boolean_of_numpy():
    even = Distortion([(0.5, 1)])
    assert integrate(even, DOORS, lambda values: np.bool_(values["front"] == "open")) == 1
