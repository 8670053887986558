"""Learned Sugeno integrals, the greatest of several, and score cards: against definitions, by brute force."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sugenet.capacity import Ordinal, sugeno
from sugenet.errors import RuleSyntaxError, SugenetError, TooLargeError
from sugenet.fit import FeatureLevels, LevelRule, ScoreCard, UtilityFunctional, parse_level_rule
from sugenet.fit.sugeno import learning
from sugenet.fit.sugeno.columns import declared_chain, learn_chain
from sugenet.fit.sugeno.learning import best_capacity, best_closures, learn_all, learn_terms, minimal
from sugenet.fit.sugeno.model import strongest
from tests.thinned import examples


def subsets(n):
    return [set(chosen) for size in range(n + 1) for chosen in combinations(range(n), size)]


def all_capacities(n, height):
    """All monotone functions from sets to 0..height that are 0 on no feature and `height` on all."""
    sets = [frozenset(one) for one in subsets(n)]
    inner = sets[1:-1]
    for values in product(range(height + 1), repeat=len(inner)):
        mu = {frozenset(): 0, sets[-1]: height, **dict(zip(inner, values, strict=True))}
        if all(mu[a] <= mu[b] for a in sets for b in sets if a <= b):
            yield mu


def integral(mu, utilities):
    """By definition: the best over sets of the least utility in them and their worth."""
    return max(min([mu[A], *(utilities[i] for i in A)]) for A in mu if A)


# -- closed sets of claims -----------------------------------------------------------------------------------


def best_by_brute_force(levels, sets, gains):
    best, found = None, []
    for chosen in product([False, True], repeat=len(gains)):
        held = [k for k, on in enumerate(chosen) if on]
        closed = all(
            chosen[m]
            for k in held
            for m in range(len(gains))
            if levels[m] <= levels[k] and (sets[k] <= sets[m]).all()
        )
        forced = all(
            chosen[k] == bool(sets[k].all()) for k in range(len(gains)) if sets[k].all() or not sets[k].any()
        )
        if closed and forced:
            value = sum(gains[k] for k in held)
            if best is None or value > best:
                best, found = value, []
            if value == best:
                found.append(chosen)
    return np.all(found, axis=0), np.any(found, axis=0)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32), st.booleans())
def test_best_closures_are_the_least_and_the_greatest_of_all(seed, lazy):
    rng = np.random.default_rng(seed)
    claims = np.unique(
        np.column_stack([rng.integers(1, 4, 8), rng.integers(0, 2, (8, rng.integers(1, 4)))]), axis=0
    )
    levels, sets = claims[:, 0], claims[:, 1:].astype(bool)
    gains = rng.integers(-3, 4, len(claims))
    few = learning._FEW
    learning._FEW = 0 if lazy else few
    try:
        least, greatest = best_closures(levels, sets, gains)
    finally:
        learning._FEW = few
    expected = best_by_brute_force(levels, sets, gains)
    assert least.tolist() == expected[0].tolist()
    assert greatest.tolist() == expected[1].tolist()


def test_too_many_claims_are_refused(monkeypatch):
    monkeypatch.setattr(learning, "_MOST", 1)
    with pytest.raises(TooLargeError, match="2 different sets of features"):
        best_closures(np.array([1, 1]), np.array([[True], [False]]), np.array([1, 1]))


def test_minimal_sets():
    sets = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]], dtype=bool)
    assert minimal(sets).astype(int).tolist() == [[0, 1, 0], [1, 0, 1]]
    assert minimal(np.zeros((0, 3), dtype=bool)).shape == (0, 3)


# -- one integral --------------------------------------------------------------------------


def drawn(seed, n=3, height=2, samples=12):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (samples, n))
    cuts = np.sort(rng.integers(0, 5, (n, height)), axis=1)
    gains = rng.integers(-5, 6, (samples, height))
    return table, cuts, gains


def gain_of(table, cuts, gains, mu):
    values = [integral(mu, [sum(row[i] >= cut for cut in cuts[i]) for i in range(len(row))]) for row in table]
    return sum(int(gains[k, :value].sum()) for k, value in enumerate(values)), values


@pytest.mark.parametrize("seed", range(12))
def test_no_capacity_gains_more_and_all_best_ones_lie_in_the_interval(seed):
    table, cuts, gains = drawn(seed)
    fitted = best_capacity(table, gains, cuts)
    others = np.array(list(product(range(4), repeat=3)))
    low, high = fitted.least.ranks(others), fitted.upper(others)
    best, seen = None, []
    for mu in all_capacities(3, 2):
        value, _ = gain_of(table, cuts, gains, mu)
        if best is None or value > best:
            best, seen = value, []
        if value == best:
            seen.append(gain_of(others, cuts, np.zeros((len(others), 2), int), mu)[1])
    own = [int(gains[k, :value].sum()) for k, value in enumerate(fitted.least.ranks(table).tolist())]
    assert sum(own) == best
    assert low.tolist() == np.min(seen, axis=0).tolist()
    assert high.tolist() == np.max(seen, axis=0).tolist()


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 4))
def test_a_functional_is_the_sugeno_integral_of_its_utilities(seed, n, height):
    table, cuts, gains = drawn(seed, n, height)
    one = best_capacity(table, gains, cuts).least
    names, scale = [f"f{i}" for i in range(n)], Ordinal(range(height + 1))
    phi = [one.utilities(i, 4) for i in range(n)]
    utilities = [[scale.levels[phi[i][value]] for i, value in enumerate(row)] for row in table.tolist()]
    mu = one.capacity(names, scale)
    expected = [sugeno(mu, dict(zip(names, row, strict=True))) for row in utilities]
    assert one.ranks(table).tolist() == [scale.rank(value) for value in expected]


@pytest.mark.parametrize("seed", range(6))
def test_more_terms_never_gain_less_and_answers_are_their_maximum(seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, (60, 3))
    truth = np.minimum(table.sum(axis=1) // 4, 2)
    gains = np.where(truth[:, None] >= [1, 2], 1, -1) * 10
    levels = np.array([5, 5, 5])

    def total(terms):
        found = learn_terms(table, levels, gains, terms, np.random.default_rng(0))
        best = np.max([one.least.ranks(table) for one in found], axis=0)
        return int(np.where(best[:, None] >= [1, 2], gains, 0).sum())

    most = int(gains[gains > 0].sum())
    gained = [total(terms) for terms in (1, 6)]
    assert gained[0] <= gained[1] <= most
    assert gained[1] > 0.85 * most


def monotone_functions(points, height):
    """All functions to 0..height that never fall from a point to one that is nowhere lower."""
    above = [
        (a, b) for a, b in product(range(len(points)), repeat=2) if a != b and (points[a] <= points[b]).all()
    ]
    values = np.array(list(product(range(height + 1), repeat=len(points))))
    return values[
        np.all([values[:, a] <= values[:, b] for a, b in above] or [np.ones(len(values), bool)], axis=0)
    ]


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_no_monotone_function_gains_more_and_the_best_ones_lie_in_the_interval(seed):  # theory 11.4
    rng = np.random.default_rng(seed)
    levels, height = rng.integers(1, 4, rng.integers(1, 4)), int(rng.integers(1, 4))
    grid = np.array(list(product(*(range(count + 1) for count in levels))))
    table = grid[rng.permutation(len(grid))[: rng.integers(1, 7)]]
    table = np.concatenate([table, table[:2]])
    gains = np.sort(rng.integers(-3, 4, (len(table), height)), axis=1)[:, ::-1]
    terms, above = learn_all(table, levels, gains)
    worst = np.zeros(len(grid), dtype=np.int64)
    least = np.max([worst, *(term.least.ranks(grid) for term in terms)], axis=0)
    greatest = np.array(
        [min([height, *(j - 1 for j, row in above if (point <= row).all())]) for point in grid]
    )
    points, index = np.unique(table, axis=0, return_inverse=True)
    every = monotone_functions(points, height)
    reached = every[:, index.reshape(-1), None] >= np.arange(1, height + 1)
    totals = (reached * gains).sum(axis=(1, 2))
    best = every[totals == totals.max()]
    places = [grid.tolist().index(point) for point in points.tolist()]
    assert least[places].tolist() == best.min(axis=0).tolist()
    assert greatest[places].tolist() == best.max(axis=0).tolist()
    assert all(term.gain == totals.max() for term in terms)
    # elsewhere: the least and the greatest monotone extension
    assert least.tolist() == [
        max([0, *(v for p, v in zip(points, least[places], strict=True) if (p <= x).all())]) for x in grid
    ]
    assert greatest.tolist() == [
        min([height, *(v for p, v in zip(points, greatest[places], strict=True) if (x <= p).all())])
        for x in grid
    ]


# -- score cards --------------------------------------------------------------------------


def random_card(rng):
    points = tuple(tuple(np.cumsum([0, *rng.integers(0, 4, rng.integers(0, 4))]).tolist()) for _ in range(3))
    most = sum(row[-1] for row in points)
    return ScoreCard(points, tuple(sorted(rng.integers(0, most + 2, rng.integers(1, 4)).tolist())))


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_corners_of_a_card_are_its_minimal_ways(seed):
    card = random_card(np.random.default_rng(seed))
    grid = list(product(*(range(len(row)) for row in card.points)))
    expected = set()
    for j, threshold in enumerate(card.thresholds, start=1):
        able = [p for p in grid if sum(row[t] for row, t in zip(card.points, p, strict=True)) >= threshold]
        expected |= {
            (j, tuple((i, t) for i, t in enumerate(p) if t))
            for p in able
            if not any(q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in able)
        }
    found = list(card.corners())
    assert len(found) == len(set(found))
    assert set(found) == expected


@settings(deadline=None, max_examples=examples(30))
@given(st.integers(0, 2**32))
def test_a_card_is_one_sugeno_integral_over_what_features_reach(seed):
    card = random_card(np.random.default_rng(seed))
    names = [[f"{i} {t}" for t in range(1, len(row))] for i, row in enumerate(card.points)]
    if not sum(map(len, names)):
        return
    scale = Ordinal(range(card.height + 1))
    mu = card.capacity(names, scale)
    for row in product(*(range(len(points)) for points in card.points)):
        reached = {name for i, level in enumerate(row) for name in names[i][:level]}
        expected = sum(sum(card.points[i][t] for i, t in enumerate(row)) >= one for one in card.thresholds)
        assert card.ranks(np.array([row])).tolist() == [expected]
        assert scale.rank(mu(reached)) == expected
        x = {name: scale.top if name in reached else scale.bottom for all_ in names for name in all_}
        if reached:  # the integral of no value at all is what the empty set is worth
            assert scale.rank(sugeno(mu, x)) == expected


def test_a_card_with_too_many_rules_says_so(monkeypatch):
    monkeypatch.setattr("sugenet.fit.sugeno.model._STEPS", 3)
    with pytest.raises(TooLargeError, match="too many rules to list"):
        list(ScoreCard(((0, 1), (0, 1), (0, 1)), (2,)).corners())


# -- features and rules --------------------------------------------------------------------------


def test_directions_are_those_of_most_pairs():
    rng = np.random.default_rng(0)
    for _ in range(30):
        values, target = rng.integers(0, 6, 30).astype(float), rng.integers(0, 4, 30)
        pairs = [
            np.sign(values[a] - values[b]) * np.sign(target[a] - target[b])
            for a, b in combinations(range(30), 2)
        ]
        chain = learn_chain(values, "x", target, None, 16, None)
        assert chain.direction == ("rising" if sum(pairs) >= 0 else "falling")


@pytest.mark.parametrize("direction", ["rising", "falling"])
@pytest.mark.parametrize("cuts", [1, 3, 50])
def test_levels_of_numbers(direction, cuts):
    values = np.random.default_rng(0).normal(size=40).round(1)
    chain = learn_chain(values, "x", np.zeros(40, int), None, cuts, direction)
    assert len(chain.steps) <= cuts
    for level in range(1, len(chain.steps) + 1):
        sign, step = chain.condition(level)
        assert step in values
        expected = values >= step if sign == ">=" else values <= step
        assert ((chain.ranks(values) >= level) == expected).all()


def test_given_utilities():
    chain, cuts = declared_chain("wine", {"sour": 0, "sweet": 2, "dry": 2}, [0, 1, 2])
    assert (chain.order, chain.steps, cuts) == (("sour", "sweet", "dry"), ("sweet", "dry"), (1, 1))
    assert declared_chain("x", None, [0, 5])[1] == (1,)
    for utility, words in (
        ({1: 0, 2: 1, 3: 0}, "rise and fall"),
        ({1: 7}, "holds? 7"),
        ([1], "Give a mapping"),
    ):
        with pytest.raises(SugenetError, match=words):
            declared_chain("x", utility, [0, 1])


CHAINS = (
    FeatureLevels("price per night", (300.0, 120.5), "falling"),
    FeatureLevels("if", ("2", "then good"), "rising", ("1", "2", "then good")),
    FeatureLevels("x", (-1e-20, 3.0), "rising"),
)


@settings(deadline=None)
@given(st.data())
def test_rules_are_read_back_as_they_are_printed(data):
    levels = ["bad", "0.5", "very good"]
    needs = tuple(
        (chain.name, *chain.condition(level))
        for chain in CHAINS
        for level in [data.draw(st.integers(0, len(chain.steps)))]
        if level
    )
    rule = LevelRule(needs, data.draw(st.sampled_from(levels)), CHAINS)
    assert parse_level_rule(str(rule), CHAINS, levels) == rule


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("if y >= 3 then at least bad", "unknown feature y"),
        ("if x >= high then at least bad", "found high, expected a number"),
        ('if "if" >= 3 then at least bad', 'expected one of "1", "2", "then good"'),
        ("if x >= 3 then at least", "found the end, expected one of bad"),
        ("if x >= 3 then at least bad or so", "after the end"),
        ("when x >= 3", "expected if or always"),
    ],
)
def test_rules_that_cannot_be_read(text, words):
    with pytest.raises(RuleSyntaxError, match=words):
        parse_level_rule(text, CHAINS, ["bad"])


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_strongest_rules_say_all_and_nothing_twice(seed):
    rng = np.random.default_rng(seed)
    chains = tuple(FeatureLevels(f"f{i}", tuple(range(1, 4)), "rising") for i in range(3))
    corners = [
        (int(rng.integers(1, 3)), tuple((i, int(t)) for i, t in enumerate(rng.integers(0, 5, 3)) if t))
        for _ in range(rng.integers(0, 9))
    ]
    rules = strongest(corners, chains, [0, 1, 2])
    for row in product(range(4), repeat=3):
        expected = max((j for j, needs in corners if all(row[i] >= t for i, t in needs)), default=0)
        holding = [rule.level for rule in rules if rule.holds(row)]
        assert max(holding, default=0) == expected
    for rule in rules:  # without it something is not said any more
        rest = [other for other in rules if other != rule]
        alone = [
            row
            for row in product(range(4), repeat=3)
            if rule.holds(row) and not any(o.holds(row) and o.level >= rule.level for o in rest)
        ]
        assert alone
    assert UtilityFunctional(((1,),), (((0,), 1),)).corners() == [(1, ((0, 1),))]
