"""Exact in, exact out: from integers and fractions alone no function makes a float, not even 0.0 or 1.0."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sugenet as sg
from sugenet import capacity as cap
from sugenet.capacity import UNIT, Scale, SetFunction, sugeno
from sugenet.logic import Reading, integrate, interpretations, necessity_of, possibility_of
from tests.capacity.oracles import integral

N = 3
NUMBER = st.one_of(
    st.sampled_from([0, 1, Fraction(1, 2), Fraction(1, 4)]), st.fractions(0, 1, max_denominator=9)
)
WHOLE = st.sampled_from([0, 1])
KINDS = {"fractions": NUMBER, "integers": WHOLE}
MEASURES = ("at", "table", "focal sets", "conjugate")


def floats_in(value, seen=None):
    """Every float within a value, wherever it hides."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | Scale):
        return []
    seen.add(id(value))
    if isinstance(value, float | np.floating):
        return [value]
    if isinstance(value, np.ndarray):
        return [value.dtype] if value.dtype.kind == "f" else floats_in(value.tolist(), seen)
    if isinstance(value, Mapping):
        return floats_in([*value.keys(), *value.values()], seen)
    if isinstance(value, list | tuple | set | frozenset):
        return [one for part in value for one in floats_in(part, seen)]
    if isinstance(value, SetFunction):
        parts = [value.table(), [value.at(mask) for mask in range(1 << len(value.criteria))]]
        return floats_in([*parts, list(value.focal_sets()), *vars(value).values()], seen)
    if is_dataclass(value):
        return floats_in([getattr(value, field.name) for field in fields(value)], seen)
    return []


def closed_upwards(values):
    """The least monotone table above some values, 0 on the empty set and 1 on the full one."""
    table = [0, *values[1:-1], 1]
    return [max(table[part] for part in range(mask + 1) if part & mask == part) for mask in range(len(table))]


@st.composite
def families(draw, numbers):
    """One set function of each family, made of exact numbers alone."""
    row = draw(st.lists(numbers, min_size=1 << N, max_size=1 << N))
    table, ones = closed_upwards(row), [*row[:N][:-1], 1]
    rises = [0, *sorted(row[:N][:-1]), 1]
    dense = cap.Dense(N, table)
    focal = cap.Focal(N, {1: row[1], 6: row[2], 7: 1})
    levels = sorted({*row, 1} - {0})
    return {
        "table": dense,
        "conjugate table": dense.conjugate(),
        "focal": focal,
        "conjugate": cap.Conjugate(focal),
        "symmetric": cap.Symmetric(N, rises),
        "possibility": cap.Possibility(ones),
        "necessity": cap.Necessity(ones),
        "join": cap.Join([focal, cap.Possibility(ones)]),
        "meet": cap.Meet([focal, cap.Necessity(ones)]),
        "nested": cap.Nested(
            {level: cap.CardinalityThreshold(N, min(k + 1, N)) for k, level in enumerate(levels)}
        ),
        "function": cap.FromFunction(N, lambda members: table[sum(1 << (name - 1) for name in members)]),
        "at least": cap.CardinalityThreshold(N, 2),
        "weighted": cap.WeightedThreshold([Fraction(1, 3), 1, Fraction(2, 3)], theta=1),
        "lower": cap.lower_envelope(N, [({1}, row[3]), ({2, 3}, row[4])]),
        "upper": cap.upper_envelope(N, [({1}, row[3]), ({2, 3}, row[4])]),
    }


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_set_functions_and_their_transforms(data, kind):
    for name, mu in data.draw(families(KINDS[kind])).items():
        found = {
            "itself": mu,
            "conjugate": mu.conjugate(),
            "as a table": cap.Dense.of(mu),
            "as focal sets": cap.Focal.of(mu),
            "inner": cap.inner_moebius(mu),
            "outer": cap.outer_moebius(mu),
            "from inner": cap.from_inner_moebius(N, cap.inner_moebius(mu), mu.scale),
            "from outer": cap.from_outer_moebius(N, cap.outer_moebius(mu), mu.scale),
            "additive": cap.additive_moebius(mu),
            "from additive": cap.from_additive_moebius(N, cap.additive_moebius(mu), UNIT),
            "shapley": cap.shapley(mu),
            "banzhaf": cap.banzhaf(mu),
            "pairs": cap.interactions(mu, 2),
            "one pair": cap.interaction(mu, {1, 2}, "banzhaf"),
            "rules": [*cap.selection_rules(mu), *cap.elimination_rules(mu)],
            "rules read back": cap.RuleSet.from_text(cap.selection_rules(mu).to_text()),
        }
        if mu.is_capacity:
            found["orness"] = cap.orness(mu)
        for what, value in found.items():
            assert floats_in(value) == [], f"{what} of {name}"


@settings(max_examples=25, deadline=None)
@given(st.data(), st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(KINDS)))
def test_integrals_of_one_sample_and_of_batches(data, kind, samples):
    X = data.draw(st.lists(st.tuples(*[KINDS[samples]] * N), min_size=1, max_size=4))
    for name, mu in data.draw(families(KINDS[kind])).items():
        expected = [integral(mu.at, list(x), 1) for x in X]
        for method in ("auto", "definition", "sorting", "focal", "cuts"):
            ones = [sugeno(mu, list(x), method, UNIT) for x in X]
            batch = sugeno(mu, X, method, UNIT)
            assert ones == batch.tolist() == expected
            assert floats_in([ones, batch]) == [], f"{name} by {method}"


def test_integers_are_no_floats_and_half_a_fraction_is_none():
    half = cap.Focal(2, {1: Fraction(1, 2), 3: 1})
    found = sugeno(half, [[1, 0], [0, 1], [1, 1]])
    assert [(type(value), value) for value in found.tolist()] == [
        (Fraction, Fraction(1, 2)),
        (int, 0),
        (int, 1),
    ]
    assert type(cap.Dense(1, [0, 1])({1})) is int
    assert cap.additive_moebius(cap.Dense(2, [0, 1, 1, 1])).tolist() == [0, 1, 1, -1]
    assert UNIT.codes([0, 0.5]).dtype == np.float64  # one float, and the row is one of floats
    assert UNIT.codes([Decimal("0.1"), 1]).tolist() == [0.1, 1.0]  # a decimal is read as its text is


@settings(max_examples=15, deadline=None)
@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_possibilistic_bases(data, kind):
    mu = data.draw(families(KINDS[kind]))["focal"]
    levels = sorted({0, 1, *data.draw(st.lists(KINDS[kind], max_size=2))})
    x = data.draw(st.lists(st.sampled_from(levels), min_size=N, max_size=N))
    for base in (cap.possibilistic_base(mu, levels=levels), cap.guaranteed_base(mu, levels=levels)):
        assert floats_in(base) == []
        assert floats_in(type(base).from_text(base.to_text())) == []
        assert floats_in(base(x)) == []


def test_drawn_capacities():
    assert floats_in(cap.random_capacity(3, UNIT, levels=5, seed=1)) == []


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.integers(0, 9), st.fractions(0, 9, max_denominator=9)), min_size=1, max_size=3),
        min_size=1,
        max_size=2,
    )
)
def test_readings_and_their_measures(rows):
    readings = [
        Reading.given(f"r{place}", {f"v{k}": gap for k, gap in enumerate([0, *gaps])})
        for place, gaps in enumerate(rows)
    ]
    names = interpretations(readings)
    for mu in (possibility_of(readings), necessity_of(readings)):
        assert floats_in(vars(mu)) == []
        graded = integrate(mu, readings, lambda values: Fraction(1, 2) if values["r0"] == "v0" else 1)
        assert floats_in([integrate(mu, readings, "r0 = v0"), graded, mu({names[0]})]) == []
    answer = sg.logic.read(sg.logic.Statement.of(readings, "r0 = v0"), False)
    assert floats_in([reading.gaps for reading in readings] + [answer.gap, answer.margin]) == []
