"""Neighbours of the Sugeno integral, refinements and utilities, against their definitions over all sets."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.capacity import (
    BOOLEAN,
    INTEGRALS,
    UNIT,
    Bipolar,
    CardinalityThreshold,
    Dense,
    Focal,
    Ordinal,
    Possibility,
    Scale,
    SugenoUtility,
    Symmetric,
    additive_moebius,
    choquet,
    discrimax,
    discrimin,
    discriminating_sugeno,
    lexi_sugeno,
    leximax,
    leximin,
    random_capacity,
    shilkret,
    sipos,
    sugeno,
    symmetric_sugeno,
)
from sugenet.errors import CapacityError, CriteriaError, ScaleError
from tests.capacity.oracles import monotone_tables, places, scale_values, set_functions
from tests.thinned import examples

F = Fraction
ORDINAL = ("sugeno", "godel", "contrapositive")
IMPLICATIONS = {
    "sugeno": lambda a, b, scale: max(scale.reverse(a), b),
    "godel": lambda a, b, scale: b if a > b else scale.top,
    "contrapositive": lambda a, b, scale: scale.reverse(a) if a > b else scale.top,
    "shilkret": lambda a, b, _: 1 - F(a) * (1 - F(b)),
    "lukasiewicz": lambda a, b, _: min(F(1), 1 - F(a) + F(b)),
}


def conjunction(name, a, b, scale):
    """The semidual of the implication."""
    return scale.reverse(IMPLICATIONS[name](a, scale.reverse(b), scale))


def integral_of(name, worth, row, scale):
    return max(
        conjunction(name, worth(mask), min([row[place] for place in places(mask)], default=scale.top), scale)
        for mask in range(1 << len(row))
    )


def cointegral_of(name, worth, row, scale):
    full = (1 << len(row)) - 1
    return min(
        IMPLICATIONS[name](
            scale.reverse(worth(full ^ mask)),
            max([row[place] for place in places(mask)], default=scale.bottom),
            scale,
        )
        for mask in range(1 << len(row))
    )


def judged(name, mu, row, scale):
    """The three integrals of a conjunction by definition."""
    turned = [scale.reverse(value) for value in row]
    return (
        integral_of(name, mu.at, row, scale),
        cointegral_of(name, mu.at, row, scale),
        integral_of(name, mu.at, turned, scale),
    )


def computed(name, mu, x):
    return tuple(INTEGRALS[name + kind](mu, x) for kind in ("", " cointegral", " desintegral"))


@pytest.mark.parametrize(("n", "levels"), [(1, 4), (2, 3), (2, 4)])
def test_other_conjunctions_on_every_small_case(n, levels):
    scale = Ordinal(range(levels))
    samples = list(product(scale.levels, repeat=n))
    for table in monotone_tables(n, levels):
        mu = Dense(n, list(table), scale)
        for name in ORDINAL:
            batches = computed(name, mu, samples)
            for number, row in enumerate(samples):
                assert tuple(batch[number] for batch in batches) == judged(name, mu, row, scale)


@settings(max_examples=examples(150))
@given(set_functions(max_n=4), st.sampled_from(sorted(IMPLICATIONS)), st.data())
def test_other_conjunctions_on_every_family(mu, name, data):
    if name not in ORDINAL and mu.scale not in (UNIT, BOOLEAN):
        with pytest.raises(ScaleError, match="computes with numbers"):
            INTEGRALS[name](mu, [mu.scale.top] * len(mu.criteria))
        return
    n = len(mu.criteria)
    row = data.draw(st.lists(scale_values(mu.scale), min_size=n, max_size=n))
    for value, right in zip(computed(name, mu, row), judged(name, mu, row, mu.scale), strict=True):
        assert value == right or (
            isinstance(value, float) and value == pytest.approx(float(right), abs=1e-15)
        )
        if name in ORDINAL or all(isinstance(one, int | F) for one in (*row, *mu.table().tolist())):
            assert value == right


def test_the_sugeno_cointegral_is_the_sugeno_integral():
    mu = random_capacity(4, Ordinal(range(4)), seed=5)
    for row in product(range(4), repeat=4):
        assert INTEGRALS["sugeno cointegral"](mu, row) == INTEGRALS["sugeno"](mu, row) == sugeno(mu, row)


# --- numbers ------------------------------------------------------------------------------------------------


def choquet_of(mu, row):
    """The sum, over all sets, of the additive Moebius weight times the smallest value."""
    table = [F(mu.at(mask)) for mask in range(1 << len(row))]
    total = F(0)
    for mask in range(1, 1 << len(row)):
        weight = sum(
            (-1) ** (mask ^ part).bit_count() * table[part] for part in range(mask + 1) if part & mask == part
        )
        total += weight * min(F(row[place]) for place in places(mask))
    return total


exact_rows = st.lists(
    st.one_of(st.integers(-3, 20), st.fractions(-2, 2, max_denominator=9)), min_size=4, max_size=4
)


@settings(max_examples=examples(60))
@given(st.integers(0, 1000), exact_rows)
def test_choquet_and_sipos_are_exact_on_exact_numbers(seed, row):
    mu = random_capacity(4, UNIT, levels=7, seed=seed)
    value = choquet(mu, row)
    assert isinstance(value, Fraction)
    assert value == choquet_of(mu, row)
    positive, negative = [max(one, 0) for one in row], [max(-one, 0) for one in row]
    # on both signs it is the asymmetric integral, and Sipos' the symmetric one
    assert value == choquet_of(mu, positive) - choquet_of(mu.conjugate(), negative)
    assert sipos(mu, row) == choquet_of(mu, positive) - choquet_of(mu, negative)
    floats = choquet(mu, [float(one) for one in row])
    assert isinstance(floats, float)
    assert floats == pytest.approx(float(choquet_of(mu, [float(one) for one in row])), abs=1e-13)
    above = [abs(float(one)) for one in row]
    right = choquet_of(Dense(4, mu.table().astype(float)), above)
    assert abs(F(choquet(Dense(4, mu.table().astype(float)), above)) - right) <= right * 6 * F(1, 1 << 52)


def test_choquet_of_an_additive_capacity_is_the_weighted_mean():
    mu = Dense(["a", "b"], [F(0), F(1, 4), F(3, 4), F(1)])
    assert choquet(mu, {"a": 12, "b": 16}) == 15
    assert choquet(mu, {"a": [12, 0], "b": [16, 4]}).tolist() == [15, 3]
    assert additive_moebius(mu)[3] == 0


def test_families_without_a_table_are_integrated_along_the_chain():
    mu = CardinalityThreshold(70, tau=3)
    x = [F(place, 70) for place in range(70)]
    assert choquet(mu, x) == shilkret(mu, x) == sugeno(mu, x) == F(67, 70)
    assert choquet(mu, [[1] * 70] * 3).tolist() == [1, 1, 1]
    assert choquet(mu, np.empty((0, 70))).shape == (0,)


def test_batches_by_table_and_by_chain_agree():
    rng = np.random.default_rng(0)
    table = random_capacity(6, UNIT, levels=9, seed=1)
    floats = Dense(6, table.table().astype(float))
    X, focal = rng.random((300, 6)), Focal.of(floats)
    for integral in INTEGRALS.values():
        batch = integral(floats, X)
        chain = [integral(focal, x) for x in X[:20]]
        assert batch[:20].tolist() == chain
    tied = rng.integers(0, 3, (30, 6)) / 2
    assert choquet(floats, tied).tolist() == pytest.approx(
        [float(choquet_of(floats, x)) for x in tied.tolist()]
    )


def test_what_is_no_number_is_refused():
    mu = Possibility([1, 0.5])
    with pytest.raises(CapacityError, match="the empty set is worth 1"):
        choquet(CardinalityThreshold(2, 0), [1, 2])
    with pytest.raises(ScaleError, match="not a finite number"):
        choquet(mu, [float("nan"), 1])
    with pytest.raises(CriteriaError, match="x has shape"):
        choquet(mu, [1, 2, 3])
    with pytest.raises(ScaleError, match="not in"):
        shilkret(mu, [2, 0])
    with pytest.raises(ScaleError, match="computes with numbers"):
        choquet(Possibility(["good", "bad"], Ordinal(["bad", "good"])), ["bad", "bad"])


# --- bipolar scales -----------------------------------------------------------------------------------------


def symmetric_of(worth, row, scale):
    positive, negative = (
        integral_of("sugeno", worth, [max(value, 0) for value in side], scale)
        for side in (row, [-value for value in row])
    )
    return positive if positive > negative else -negative if negative > positive else 0


class Ranks:
    """The integers 0 to top as a scale."""

    bottom, top = 0, 2

    def reverse(self, value):
        return self.top - value


@pytest.mark.parametrize("n", [1, 2])
def test_the_symmetric_sugeno_integral_on_named_levels(n):
    marks = Bipolar(["awful", "bad", "neutral", "good", "great"])
    samples = list(product(range(-2, 3), repeat=n))
    for table in monotone_tables(n, 3):
        mu = Dense(n, [marks.positive.levels[rank] for rank in table], marks.positive)
        named = [[marks.levels[value + 2] for value in row] for row in samples]
        for row, x, value in zip(samples, named, symmetric_sugeno(mu, named, scale=marks), strict=True):
            assert value == marks.levels[symmetric_of(table.__getitem__, row, Ranks()) + 2]
            assert symmetric_sugeno(mu, x, scale=marks) == value


@settings(max_examples=examples(60))
@given(st.integers(0, 1000), st.lists(st.fractions(-1, 1, max_denominator=6), min_size=3, max_size=3))
def test_the_symmetric_sugeno_integral_on_numbers(seed, row):
    mu = random_capacity(3, UNIT, levels=7, seed=seed)
    assert symmetric_sugeno(mu, row) == symmetric_of(mu.at, row, UNIT)
    assert symmetric_sugeno(mu, [-value for value in row]) == -symmetric_sugeno(mu, row)
    floats = Dense.of(mu).table().astype(float)
    assert symmetric_sugeno(Dense(3, floats), [float(one) for one in row]) == symmetric_of(
        floats.__getitem__, [float(one) for one in row], UNIT
    )


def test_bipolar_scales():
    marks = Bipolar([-1, "none", 1])
    assert Scale.from_json(json.loads(json.dumps(marks.to_json()))) == marks
    assert marks != Ordinal([-1, "none", 1])
    with pytest.raises(ScaleError, match="an odd number"):
        Bipolar(["bad", "good"])
    with pytest.raises(ScaleError, match=r"outside of \[-1, 1\]"):
        symmetric_sugeno(Possibility([1]), [-2])
    with pytest.raises(ScaleError):
        symmetric_sugeno(Possibility(["good"], Ordinal(["bad", "good"])), ["bad"])


# --- refinements --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3])
def test_refinements_never_contradict_what_they_refine(n):
    vectors = list(product(range(3), repeat=n))
    for x, y in product(vectors, repeat=2):
        differ = [place for place in range(n) if x[place] != y[place]]
        assert (leximin(x) == leximin(y)) == (sorted(x) == sorted(y)) == (leximax(x) == leximax(y))
        if min(x) > min(y):
            assert leximin(x) > leximin(y)
            assert discrimin(x, y) == 1
        if max(x) > max(y):
            assert leximax(x) > leximax(y)
            assert discrimax(x, y) == 1
        least, best = [
            [choose((v[place] for place in differ), default=0) for v in (x, y)] for choose in (min, max)
        ]
        assert discrimin(x, y) == (least[0] > least[1]) - (least[0] < least[1])
        assert discrimax(x, y) == (best[0] > best[1]) - (best[0] < best[1])
        # leximin refines discrimin, too
        assert discrimin(x, y) <= (leximin(x) > leximin(y)) or discrimin(x, y) < 1
    with pytest.raises(CapacityError, match="2 and 1 values"):
        discrimin([0, 1], [0])


@pytest.mark.parametrize("rows", ["focal", "levels"])
def test_refined_sugeno_integrals(rows):
    scale = Ordinal(range(4))
    vectors = list(product(scale.levels, repeat=2))
    finer = 0
    for seed in range(4):
        mu = random_capacity(2, scale, seed=seed)
        keys = [lexi_sugeno(mu, x, rows) for x in vectors]
        assert [key[0][0] for key in keys] == sugeno(mu, vectors).tolist()
        for (x, one), (y, other) in product(zip(vectors, keys, strict=True), repeat=2):
            sign = discriminating_sugeno(mu, x, y)
            assert sign == -discriminating_sugeno(mu, y, x)
            if sugeno(mu, x) > sugeno(mu, y):
                assert one > other
                assert sign == 1
            if all(a >= b for a, b in zip(x, y, strict=True)):
                assert one >= other
                assert sign >= 0
        finer += len(set(keys)) > len(set(sugeno(mu, vectors).tolist()))
    assert finer


def test_refinements_name_what_is_wrong():
    mu = Possibility([1, 0.5])
    with pytest.raises(CapacityError, match="needs a finite scale"):
        lexi_sugeno(mu, [1, 0], rows="levels")
    with pytest.raises(CapacityError, match="rows='all' is unknown"):
        lexi_sugeno(mu, [1, 0], rows="all")


# --- utilities ----------------------------------------------------------------------------------------------


def test_a_utility_functional_is_the_integral_of_its_utilities():
    scale = Ordinal(range(3))
    tables = {"size": {"S": 0, "L": 2}, 2: {False: 1, True: 2}, "age": {30: 0, 20: 0, 10: 1, 0: 2}}
    for seed in range(5):
        mu = random_capacity(["size", 2, "age"], scale, seed=seed)
        rate = SugenoUtility(mu, tables)
        samples = list(product(*tables.values()))
        batch = rate(samples)
        for x, rating in zip(samples, batch, strict=True):
            utilities = [table[value] for table, value in zip(tables.values(), x, strict=True)]
            assert rate(x) == rate(dict(zip(tables, x, strict=True))) == rating == sugeno(mu, utilities)
            assert rate.utility(x) == dict(zip(tables, utilities, strict=True))
            # a set that reaches the level with its least values reaches it
            for level in scale.levels[1:]:
                least = rate.least(level)
                held = [
                    name
                    for name, value in zip(tables, x, strict=True)
                    if name in least
                    and list(tables[name]).index(value) >= list(tables[name]).index(least[name])
                ]
                assert (rating >= level) == (mu(set(held)) >= level)
    columns = {name: [row[place] for row in samples] for place, name in enumerate(tables)}
    assert rate(columns).tolist() == batch.tolist()


def test_utilities_name_what_is_wrong():
    mu = Symmetric(["a", "b"], [0, 0.5, 1])
    good = {"a": {"x": 0, "y": 1}, "b": {"x": 0.5}}
    rate = SugenoUtility(mu, good)
    assert rate(["y", "x"]) == 0.5
    assert rate.least(0.75) == {"a": "y"}
    with pytest.raises(ScaleError, match=r"a is 'z', which has no utility\. Its values are x, y"):
        rate(["z", "x"])
    with pytest.raises(CriteriaError, match="different lengths"):
        rate([["y"], "x"])
    with pytest.raises(ScaleError, match="which has no utility"):
        rate(np.array([{"y"}, "x"], dtype=object))
    with pytest.raises(CriteriaError, match="x has shape"):
        rate(["y"])
    with pytest.raises(CapacityError, match="falls from 1 at 'y' to 0 at 'z'"):
        SugenoUtility(mu, good | {"a": {"y": 1, "z": 0}})
    with pytest.raises(ScaleError, match="the utility of a = y is 2"):
        SugenoUtility(mu, good | {"a": {"y": 2}})
    with pytest.raises(CriteriaError, match="nothing for b"):
        SugenoUtility(mu, {"a": {"x": 0}})
    with pytest.raises(CapacityError, match="the utilities of b are 3"):
        SugenoUtility(mu, {"a": {"x": 0}, "b": 3})
    assert (
        SugenoUtility(CardinalityThreshold(1, 1), {1: {"x": "low"}}, Ordinal(["low", "high"]))(["x"]) == "low"
    )


def test_frames_and_series_are_read_by_name():
    pandas = pytest.importorskip("pandas")
    mu = Dense(["p", "q"], [0, 0.25, 0.5, 1.0])
    frame = pandas.DataFrame({"q": [1.0, 0.25], "p": [0.0, 1.0]})
    for integral in (sugeno, choquet):
        assert integral(mu, frame).tolist() == [
            integral(mu, {"p": 0, "q": 1}),
            integral(mu, {"p": 1, "q": 0.25}),
        ]
        assert integral(mu, frame.iloc[0]) == integral(mu, {"p": 0, "q": 1})
    assert lexi_sugeno(mu, frame.iloc[0]) == lexi_sugeno(mu, {"p": 0, "q": 1})
    assert sugeno(mu, pandas.DataFrame([[0.0, 1.0]])).tolist() == [0.5]  # labels that are positions
    assert sugeno(CardinalityThreshold([1, 0], 1), pandas.DataFrame({0: [1], 1: [0]})).tolist() == [1]
    for wrong in (frame.rename(columns={"q": "r"}), pandas.concat([frame, frame], axis=1)):
        with pytest.raises(CriteriaError, match=r"unknown criterion 'r'|two columns"):
            sugeno(mu, wrong)


def test_words_are_not_compared_by_the_alphabet():
    scale = Ordinal(["bad", "ok", "good"])
    assert leximin(["good", "bad", "ok"], scale) == leximax(["good", "ok", "bad"], scale)[::-1]
    assert (
        discrimin(["good", "ok"], ["good", "bad"], scale)
        == discrimax(scale.levels, [*scale.levels[:2], scale.levels[0]])
        == 1
    )
    for wrong in (
        lambda: leximin(["good", "bad"]),
        lambda: discrimax(["good"], ["bad"]),
        lambda: leximax([float("nan"), 1]),
    ):
        with pytest.raises(ScaleError, match="is not a number"):
            wrong()
    with pytest.raises(CapacityError, match="values is 3"):
        leximax(3)
