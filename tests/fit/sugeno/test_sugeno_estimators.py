"""`SugenoRegressor` and `SugenoClassifier`: what they answer, in whose words, and at home in scikit-learn."""

import pickle
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.capacity import Ordinal, random_capacity, sugeno
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit import fit_capacity, parse_level_rule, version_space

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sugenet.fit.sugeno.estimators import SugenoClassifier, SugenoRegressor

SCALE = ["bad", "ok", "good"]


@parametrize_with_checks(
    [
        SugenoRegressor(levels=4, cuts=5),
        SugenoClassifier("card"),
    ]
)
def test_what_scikit_learn_asks_of_every_estimator(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SugenoRegressor(),
        SugenoRegressor("card"),
        SugenoClassifier(),
        SugenoClassifier(cuts=3, smoothing=0),
        SugenoRegressor(3),
        SugenoClassifier(3),
        SugenoClassifier("all"),
        SugenoRegressor("all"),
        SugenoClassifier(order="sorted"),
    ]
)
def test_what_scikit_learn_asks_of_slow_ones(estimator, check):
    check(estimator)


# -- meaning ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_data_of_a_sugeno_integral_are_met_and_the_interval_is_the_version_space(seed):
    scale = Ordinal(range(4))
    mu = random_capacity(3, scale, seed=seed)
    grid = np.array(list(product(range(4), repeat=3)))
    truth = np.array([int(str(sugeno(mu, row))) for row in grid.tolist()])
    some = np.random.default_rng(seed).permutation(64)[:20]
    some = np.concatenate([some, [0, 21, 42, 63]])  # all levels occur
    model = SugenoRegressor(utilities="same").fit(grid[some], truth[some])
    assert model.score(grid[some], truth[some]) == 1
    space = version_space(model.ratings(grid[some], truth[some]))
    interval = model.predict_interval(grid)
    for row, (low, high), real in zip(grid.tolist(), interval.tolist(), truth.tolist(), strict=True):
        assert [int(str(value)) for value in space.values([str(v) for v in row])] == [low, high]
        assert low <= real <= high
    assert (model.predict(grid) == interval[:, 0]).all()


@pytest.mark.parametrize("seed", range(3))
def test_given_utilities_have_the_certified_least_error(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (60, 4)), rng.integers(0, 4, 60)
    model = SugenoRegressor(utilities="same").fit(X, y)
    ratings = model.ratings(X, y)
    best = fit_capacity(ratings, loss="total")
    assert "checked" in sg.check(best.certificate, ratings)
    assert np.abs(model.predict(X) - y).sum() == best.error


def test_learned_utilities_have_the_least_error_that_these_allow():
    rng = np.random.default_rng(0)
    X, y = rng.random((80, 3)).round(2), rng.integers(0, 3, 80)
    y[X.sum(axis=1) > 1.7] = 2
    for model in (
        SugenoRegressor(smoothing=0, random_state=0).fit(X, y),
        SugenoClassifier(smoothing=0, order="sorted", random_state=0).fit(X, y),
    ):
        best = fit_capacity(model.ratings(X, y), loss="total")
        assert np.abs(model.predict(X) - y).sum() == best.error
        mu, ratings = model.capacity_, model.ratings(X, y)
        assert [int(str(v)) for v in sugeno(mu, ratings.scale.decode(ratings.X))] == model.predict(X).tolist()


def table(seed=0, samples=150):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.integers(0, 4, samples), rng.integers(0, 3, samples), rng.integers(0, 4, samples)]
    )
    y = np.clip((X[:, 0] + 2 * X[:, 1] - X[:, 2] + rng.integers(0, 2, samples)) // 2, 0, 3)
    return X, y


def by_rules(rules, row, bottom, order):
    """The best level among the rules that hold; rules are read back from what they print."""
    read = [parse_level_rule(str(rule), rule.chains, order) for rule in rules]
    return max([bottom, *(rule.level for rule in read if rule.holds(row))], key=order.index)


@pytest.mark.parametrize("terms", [1, 3, "card", "all"])
@pytest.mark.parametrize("make", [SugenoRegressor, SugenoClassifier])
def test_rules_read_back_are_all_that_is_answered(make, terms):
    X, y = table()
    options = {"order": "sorted"} if make is SugenoClassifier else {}
    model = make(terms, random_state=0, **options).fit(X, y)
    assert model.directions_ == {"x1": "rising", "x2": "rising", "x3": "falling"}
    grid = list(product(range(4), range(3), range(4)))
    levels = list(model.model_.levels)
    answers = model.predict(grid).tolist()
    assert answers == [by_rules(model.rules_, row, levels[0], levels) for row in grid]
    for row, answer in zip(grid, answers, strict=True):  # and it is monotone
        for better in grid:
            if better[0] >= row[0] and better[1] >= row[1] and better[2] <= row[2]:
                assert answers[grid.index(better)] >= answer
    if terms in (1, "all"):
        low, high = model.predict_interval(grid).T
        assert (low == answers).all()
        assert (high >= low).all()


def test_classes_without_order_have_a_model_each():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (200, 2))
    y = np.array(["sweet", "sour", "bitter"])[np.where(X[:, 0] > 2, 0, np.where(X[:, 1] > 2, 1, 2))]
    model = SugenoClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) == 1
    assert list(model.model_) == list(model.rules_) == model.classes_.tolist() == ["bitter", "sour", "sweet"]
    grid = list(product(range(5), repeat=2))
    counts = {kind: (y == kind).sum() for kind in model.classes_}
    for row, answer in zip(grid, model.predict(grid), strict=True):
        sure = {
            kind: by_rules(rules, row, 0.0, list(model.model_[kind].levels))
            for kind, rules in model.rules_.items()
        }
        assert answer == max(sure, key=lambda kind: (sure[kind], counts[kind]))
    with pytest.raises(SugenetError, match="classes without order have no interval"):
        model.predict_interval(X)
    with pytest.raises(AttributeError, match=r"see model_\[class\]"):
        _ = model.capacity_


def test_a_card_says_what_it_adds_up():
    X, y = table()
    model = SugenoRegressor("card", points=20).fit(X, y)
    rows = model.model_.read(X.astype(float))
    sums = [sum(model.card_.points[i][level] for i, level in enumerate(row)) for row in rows]
    assert model.predict(X).tolist() == [sum(s >= t for t in model.card_.thresholds) for s in sums]
    assert max(sums) <= sum(row[-1] for row in model.card_.points) <= 22
    with pytest.raises(SugenetError, match="a score card has no such set"):
        model.predict_interval(X)
    with pytest.raises(AttributeError, match="there is no score card"):
        _ = SugenoRegressor().fit(X, y).card_


def test_cards_learn_what_one_integral_cannot_say():
    grid = np.array(list(product(range(4), repeat=3)))
    y = grid.sum(axis=1) // 3
    errors = [
        np.abs(SugenoRegressor(terms, random_state=0, smoothing=0).fit(grid, y).predict(grid) - y).sum()
        for terms in (1, 20, "card", "all")
    ]
    assert errors[0] > errors[1]
    assert errors[0] > 5
    assert errors[2:] == [0, 0]


def test_costs_move_answers_to_what_is_dear():
    X = [[0], [0], [0], [1], [1], [1]]
    y = [0, 0, 1, 0, 1, 1]
    assert SugenoClassifier(smoothing=0, random_state=0).fit(X, y).predict([[0], [1]]).tolist() == [0, 1]
    dear = SugenoClassifier(smoothing=0, class_weight={1: 5}, random_state=0).fit(X, y)
    assert dear.predict([[0], [1]]).tolist() == [1, 1]
    assert SugenoClassifier("card", class_weight={0: 5.0}).fit(X, y).predict([[0], [1]]).tolist() == [0, 0]
    for weights, words in (({7: 1}, "names 7"), ({1: 0}, "above 0"), (3, "Give a mapping")):
        with pytest.raises(SugenetError, match=words):
            SugenoClassifier(class_weight=weights).fit(X, y)


# -- names, orders, directions -----------------------------------------------------------------------------


def test_strings_with_an_order():
    X = [["bad", 3], ["ok", 2], ["good", 1], ["good", 9], ["bad", 1], ["ok", 1]]
    y = ["no", "maybe", "yes", "maybe", "no", "yes"]
    model = SugenoRegressor(
        "card", orders={"x1": SCALE}, order=["no", "maybe", "yes"], directions={1: "falling"}, smoothness=0
    ).fit(X, y)
    assert model.predict(X).tolist() == y
    assert model.score(X, y) == 1
    assert str(model.rules_[0]) == "if x1 >= ok and x2 <= 1 then at least yes"
    with pytest.raises(
        EncodingError, match="x1 is 'awful' in sample 0, which is not among its levels: bad < ok"
    ):
        model.predict([["awful", 1]])
    with pytest.raises(EncodingError, match=r"x1 holds names .* nothing says which are better"):
        SugenoRegressor(order=["no", "maybe", "yes"]).fit(X, y)
    with pytest.raises(EncodingError, match=r"y holds names .* Give order, worst first"):
        SugenoRegressor(orders={0: SCALE}).fit(X, y)
    with pytest.raises(EncodingError, match="y holds 'yes', which is not in its order: no < maybe"):
        SugenoRegressor(orders={0: SCALE}, order=["no", "maybe"]).fit(X, y)


@pytest.mark.parametrize("make", [SugenoRegressor, SugenoClassifier])
def test_pandas_categories_bring_their_order(make):
    pandas = pytest.importorskip("pandas")
    kind = pandas.CategoricalDtype(SCALE, ordered=True)
    frame = pandas.DataFrame(
        {
            "room": pandas.Series(["good", "ok", "bad", "good"] * 5, dtype=kind),
            "price": [100, 200, 300, 310] * 5,
        }
    )
    y = pandas.Series(["good", "ok", "bad", "ok"] * 5, dtype=kind)
    model = make(random_state=0).fit(frame, y)
    assert model.predict(frame).tolist() == y.tolist()
    assert model.directions_ == {"room": "rising", "price": "falling"}
    assert all(rule.level in SCALE for rule in model.rules_)
    assert model.feature_names_in_.tolist() == ["room", "price"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["price", "room"]])
    assert model.utilities_["room"][0] == "bad"


def test_directions_are_given_or_learned():
    X, y = [[1, 5], [2, 4], [3, 3], [4, 2]], [0, 0, 1, 1]
    assert SugenoClassifier().fit(X, y).directions_ == {"x1": "rising", "x2": "falling"}
    assert SugenoClassifier(directions="rising").fit(X, y).directions_ == {"x1": "rising", "x2": "rising"}
    assert SugenoClassifier(directions=[-1, None]).fit(X, y).directions_ == {"x1": "falling", "x2": "falling"}
    for wrong, words in (
        ("up", "directions holds 'up'"),
        ([1], "an entry for each of the 2"),
        ({"x9": 1}, "names 'x9', which is not a feature"),
    ):
        with pytest.raises(SugenetError, match=words):
            SugenoClassifier(directions=wrong).fit(X, y)


def test_utilities_given_by_values():
    X = [["cheap", 1], ["dear", 2], ["cheap", 2], ["dear", 1]]
    y = ["ok", "ok", "good", "bad"]
    utilities = {"x1": {"dear": "bad", "cheap": "good"}, "x2": {1: "ok", 2: "good"}}
    model = SugenoRegressor(utilities=utilities, order=SCALE).fit(X, y)
    assert model.utilities_ == {"x1": ("bad", "good"), "x2": ("ok", "good")}
    # x2 alone is worth ok or not: either way one sample is off by a level
    assert model.predict(X).tolist() == ["ok", "bad", "good", "bad"]
    assert model.predict_interval(X).tolist() == [
        ["ok", "ok"],
        ["bad", "ok"],
        ["good", "good"],
        ["bad", "ok"],
    ]
    for wrong, words in (
        ({"x1": {"dear": "bad"}}, "has no entry for x2"),
        ({**utilities, "x3": {}}, "'x3', which is not a feature"),
    ):
        with pytest.raises(SugenetError, match=words):
            SugenoRegressor(utilities=wrong, order=SCALE).fit(X, y)
    with pytest.raises(SugenetError, match="terms must be 1"):
        SugenoRegressor(2, utilities="same").fit([[0], [1]], [0, 1])
    with pytest.raises(SugenetError, match="leave out directions"):
        SugenoRegressor(utilities="same", directions="rising").fit([[0], [1]], [0, 1])


def test_many_numbers_are_put_in_groups():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = X[:, 0] * 10 + rng.normal(size=300) / 10
    model = SugenoRegressor(levels=7, cuts=30, random_state=0).fit(X, y)
    assert len(model.levels_) == 7
    assert set(model.predict(X)) <= set(y)
    assert model.score(X, y) > 0.9
    constant = SugenoRegressor().fit(X, np.full(300, 3.5))
    assert constant.predict(X[:2]).tolist() == [3.5, 3.5]


# -- at home in scikit-learn ---------------------------------------------------------------------------------


def test_clone_pickle_pipeline_and_search():
    X, y = table()
    model = SugenoRegressor("card", points=50, directions={"x3": "falling"}).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    assert (fresh.fit(X, y).predict(X) == model.predict(X)).all()
    scores = cross_val_score(
        make_pipeline(StandardScaler(), SugenoClassifier("card", order="sorted")), X, y, cv=3
    )
    assert scores.mean() > 0.5
    search = GridSearchCV(SugenoRegressor(random_state=0), {"terms": [1, "card"]}, cv=3).fit(X, y)
    assert search.best_params_ == {"terms": "card"}
    one, same = (SugenoRegressor(2, random_state=5).fit(X, y).model_ for _ in range(2))
    assert one == same


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"terms": 0}, "terms is 0"),
        ({"terms": "cards"}, "terms is 'cards'"),
        ({"smoothing": 2}, "smoothing is 2"),
        ({"cuts": 0}, "cuts is 0"),
        ({"points": 1.5}, "points is 1.5"),
        ({"levels": 1}, "levels is 1"),
        ({"order": "ab"}, "Give all levels of y once"),
    ],
)
def test_settings_that_make_no_sense(options, words):
    with pytest.raises(SugenetError, match=words):
        SugenoRegressor(**options).fit([[0], [1]], [0, 1])


def test_no_torch_is_needed():
    code = """
import sys
from sugenet.fit.sugeno.estimators import SugenoClassifier, SugenoRegressor
for terms in (1, 2, "card"):
    SugenoClassifier(terms).fit([[0], [1]], [0, 1]).predict([[1]])
    SugenoRegressor(terms).fit([[0], [1]], [0, 1]).rules_
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
