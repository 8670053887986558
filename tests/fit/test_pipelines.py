"""Pipelines of scikit-learn, asked as a whole in raw columns, against `pipe.predict` at every edge."""

import itertools
import pickle
from math import inf, nextafter

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import EncodingError, NetworkError
from sugenet.fit.steps import least_reaching
from sugenet.nn import OneHot

pytest.importorskip("torch")
pytest.importorskip("sklearn")
pytest.importorskip("pandas")

import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from sugenet import BNNClassifier

pytestmark = pytest.mark.filterwarnings("ignore:The steps hide")


def classifier(**settings):
    return BNNClassifier(**{"hidden": (6,), "epochs": 2, "batch": 32, "random_state": 0} | settings)


def people(seed=0, n=80):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.normal(3e4, 1e4, n).round(2),
            "height": rng.normal(1.7, 0.1, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": rng.choice(["S", "M", "L"], n),
            "floor": rng.choice([1, 2, 5], n),
            "owner": rng.random(n) < 0.5,
        }
    )
    return frame, np.where((frame.age > 50) ^ (frame.colour == "red"), "yes", "no")


def edges(coding):
    """Values of a feature at which something can change: every cut and its neighbours, every category."""
    if isinstance(coding, OneHot):
        return list(coding.categories)
    around = (0, 1, -1) if coding.whole else (0,)
    values = [cut + step for cut in coding.cuts for step in around]
    values += [] if coding.whole else [nextafter(cut, way) for cut in coding.cuts for way in (-inf, inf)]
    return [value for value in [*values, 1.0, -7.5] if coding.has(value)]


def raw_rows(net, rows, frame):
    """Rows of features as the frame of raw columns that the pipeline reads."""
    made = frame.iloc[[0] * len(rows)].reset_index(drop=True)
    for name, column in zip(net.encoder.names, zip(*rows, strict=True), strict=True):
        made[name] = [np.nan if value is None else value for value in column]
    return made


def assert_same(pipe, frame, seed=0, count=300):
    """The network says what the pipeline says: at edges, on random rows of edges, and on the samples."""
    net = sg.from_sklearn(pipe)
    rng = np.random.default_rng(seed)
    pools = [edges(coding) for coding in net.encoder.codings]
    rows = [[pool[rng.integers(len(pool))] for pool in pools] for _ in range(count)]
    for feature, pool in enumerate(pools):
        for value in pool:
            row = rows[int(rng.integers(count))].copy()
            row[feature] = value
            rows.append(row)
    table = raw_rows(net, rows, frame)
    names = np.array(net.classes)
    assert names[net.predict(rows)].tolist() == pipe.predict(table).astype(str).tolist()
    assert names[net.predict(table)].tolist() == pipe.predict(table).astype(str).tolist()
    assert names[net.predict(frame)].tolist() == pipe.predict(frame).astype(str).tolist()
    return net


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-3, 0.1), clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, quantile_range=(10.0, 80.0)),
    Binarizer(threshold=1.75),
    make_pipeline(MaxAbsScaler(), StandardScaler(), MinMaxScaler()),
    KBinsDiscretizer(5, encode="ordinal"),
    KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    KBinsDiscretizer(3, encode="onehot"),
    make_pipeline(StandardScaler(), KBinsDiscretizer(4, encode="onehot-dense")),
    make_pipeline(KBinsDiscretizer(4, encode="ordinal"), OneHotEncoder(drop="first")),
    make_pipeline(KBinsDiscretizer(4, encode="onehot-dense"), VarianceThreshold(0.16), StandardScaler()),
    make_pipeline(SimpleImputer(), StandardScaler()),
    FeatureUnion([("scaled", StandardScaler()), ("bins", KBinsDiscretizer(3, encode="ordinal"))]),
    FunctionTransformer(),
    "passthrough",
]
ENCODERS = [
    OneHotEncoder(),
    OneHotEncoder(drop="first"),
    OneHotEncoder(drop="if_binary", dtype=np.float32),
    OneHotEncoder(handle_unknown="ignore", min_frequency=0.3),
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2),
    OneHotEncoder(drop=["red", "S"]),
    OrdinalEncoder(),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    make_pipeline(OrdinalEncoder(), StandardScaler()),
    make_pipeline(OrdinalEncoder(), OneHotEncoder()),
    make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
    make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=lambda one: str(one)[:40])
def test_numbers(scaler):
    frame, y = people()
    columns = ["age", "income", "height"]
    steps = ColumnTransformer(
        [("numbers", clone(scaler) if scaler != "passthrough" else scaler, columns)], sparse_threshold=0
    )
    pipe = make_pipeline(steps, classifier()).fit(frame, y)
    net = assert_same(pipe, frame)
    assert set(net.encoder.names) <= set(columns)


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda one: str(one)[:60])
def test_categories_exhaustively(encoder):
    frame, y = people()
    steps = ColumnTransformer([("names", clone(encoder), ["colour", "size"])], sparse_threshold=0)
    pipe = make_pipeline(steps, classifier()).fit(frame, y)
    net = assert_same(pipe, frame)
    rows = list(itertools.product(*(coding.categories for coding in net.encoder.codings)))
    assert len(rows) == 9
    said = pipe.predict(raw_rows(net, rows, frame))
    assert [net.classes[index] for index in net.predict(rows)] == said.tolist()


def test_plain_one_hot_keeps_the_weights_of_the_classifier():
    frame, y = people()
    steps = ColumnTransformer([("names", OneHotEncoder(sparse_output=False), ["colour", "size"])])
    net = sg.from_sklearn(make_pipeline(steps, classifier()).fit(frame, y))
    assert net.encoder.codings == (OneHot(("blue", "green", "red")), OneHot(("L", "M", "S")))
    assert set(np.unique(net.layers[0].weights)) <= {-1, 0, 1}


@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines(seed):
    rng = np.random.default_rng(seed)
    frame, y = people(seed)
    numbers = ["age", "income", "height"]
    parts = []
    for index in range(rng.integers(1, 4)):
        scaler = SCALERS[rng.integers(len(SCALERS))]
        chosen = [name for name in numbers if rng.random() < 0.7] or ["age"]
        parts.append((f"n{index}", scaler if isinstance(scaler, str) else clone(scaler), chosen))
    for index in range(rng.integers(1, 3)):
        parts.append((f"c{index}", clone(ENCODERS[rng.integers(len(ENCODERS))]), ["colour", "size"]))
    parts.append(("floor", OneHotEncoder(), ["floor"]))
    steps = ColumnTransformer(parts, remainder=["drop", "passthrough"][seed % 2], sparse_threshold=0)
    if rng.random() < 0.5 and not any("onehot'" in str(part) or "OneHot" in str(part) for part in parts):
        steps.set_output(transform="pandas")
    hidden = [(5,), (), (4, 3)][seed % 3]
    frame = frame.drop(columns="owner") if seed % 2 else frame
    pipe = make_pipeline(steps, classifier(hidden=hidden, levels=2 + 2 * (seed % 2) if hidden else 2)).fit(
        frame, y
    )
    assert_same(pipe, frame, seed)


def test_one_column_used_in_several_ways_is_one_feature():
    frame, y = people()
    steps = make_column_transformer(
        (StandardScaler(), ["age", "height"]),
        (KBinsDiscretizer(4, encode="ordinal"), ["age"]),
        ("passthrough", ["age", "owner"]),
        (OneHotEncoder(sparse_output=False), ["floor"]),
        (MinMaxScaler(), ["floor"]),
    )
    net = assert_same(make_pipeline(steps, classifier()).fit(frame, y), frame)
    assert net.encoder.names == ("age", "height", "floor", "owner")
    assert net.encoder.codings[2] == OneHot((1, 2, 5))


@pytest.mark.parametrize(
    "selection",
    [
        ["age", "income"],
        [0, 1],
        slice(0, 2),
        slice("age", "income"),
        [True, True] + [False] * 5,
        [-7, -6],
        pytest.param(make_column_selector("age|inc"), id="selector"),
    ],
    ids=str,
)
def test_columns_are_selected_as_scikit_learn_does(selection):
    frame, y = people()
    steps = ColumnTransformer([("numbers", StandardScaler(), selection)])
    net = assert_same(make_pipeline(steps, classifier()).fit(frame, y), frame)
    assert net.encoder.names == ("age", "income")
    assert net.encoder.columns.names == tuple(frame.columns)
    assert "raw columns without effect: height, colour, size, floor, owner" in str(net.report)


def test_selectors_and_arrays():
    frame, y = people()
    table = frame[["age", "income", "height", "floor"]].to_numpy(float)
    pipe = make_pipeline(StandardScaler(), SelectKBest(k=2), MinMaxScaler(), classifier()).fit(table, y)
    net = sg.from_sklearn(pipe)
    assert net.encoder.features == 2
    assert [net.classes[k] for k in net.predict(table)] == pipe.predict(table).tolist()


def test_integers_keep_their_levels_behind_a_selector():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 16, (80, 6)).astype(np.uint8)
    table[:, 2] = 7
    pipe = make_pipeline(VarianceThreshold(), classifier(coding="integers")).fit(table, table[:, 0] > 7)
    net = sg.from_sklearn(pipe)
    assert net.reads_levels
    assert [net.classes[k] for k in net.predict(table)] == pipe.predict(table).astype(str).tolist()


def test_a_gap_is_filled_as_the_imputer_fills_it():
    frame, y = people()
    frame.loc[::5, "income"] = np.nan
    frame["colour"] = frame["colour"].astype(object)
    frame.loc[::7, "colour"] = None
    steps = make_column_transformer(
        (make_pipeline(StandardScaler(), SimpleImputer(strategy="median")), ["income", "age"]),
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="unknown"), OneHotEncoder()),
            ["colour"],
        ),
        sparse_threshold=0,
    )
    frame["colour"] = frame["colour"].where(frame["colour"].notna(), np.nan)
    pipe = make_pipeline(steps, classifier()).fit(frame, y)
    net = assert_same(pipe, frame)
    age, income, colour = net.encoder.columns.features
    assert income.fill == pytest.approx(frame.income.median())
    assert (colour.fill, age.columns) == ("unknown", ("age",))
    row = frame.iloc[0].to_dict() | {"income": None, "colour": "NA"}
    gaps = frame.iloc[[0]].assign(income=np.nan, colour=np.nan)
    assert net.predict_one(row) == pipe.predict(gaps)[0]


def test_a_missing_value_may_be_a_category():
    frame, y = people()
    frame["colour"] = frame["colour"].astype(object)
    frame.loc[::4, "colour"] = np.nan
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["colour"]), (StandardScaler(), ["age"])
    )
    net = assert_same(make_pipeline(steps, classifier()).fit(frame, y), frame)
    assert net.encoder.codings[1] == OneHot(("blue", "green", "red", None))


def test_ranges_are_those_of_the_raw_training_data():
    frame, y = people()
    steps = make_column_transformer(
        (StandardScaler(), ["age", "income"]),
        (MinMaxScaler(), ["floor"]),
        (KBinsDiscretizer(3, encode="ordinal"), ["height"]),
        (OneHotEncoder(sparse_output=False), ["colour"]),
    )
    pipe = make_pipeline(steps, classifier())
    pipe.fit(frame, y)
    if pipe[-1].network_.encoder.seen is None:
        pipe[-1].network_ = pipe[-1].network_.with_training_range(pipe[:-1].transform(frame))
    seen = dict(
        zip(*(getattr(sg.from_sklearn(pipe).encoder, name) for name in ("names", "seen")), strict=True)
    )
    for name in ("age", "income", "height"):
        assert (seen[name].low, seen[name].high) == (frame[name].min(), frame[name].max())
    assert seen["floor"].values == (1, 2, 5)
    assert seen["colour"].values == ("blue", "green", "red")


def test_rows_tell_which_numbers_are_integers():
    frame, y = people()
    pipe = make_pipeline(make_column_transformer((StandardScaler(), ["age", "height"])), classifier()).fit(
        frame, y
    )
    net = sg.from_sklearn(pipe, frame)
    age, height = net.encoder.codings
    assert (age.whole, height.whole) == (True, False)
    assert all(float(cut).is_integer() for cut in age.cuts)
    assert net.encoder.seen[0].low == frame.age.min()
    assert [net.classes[k] for k in net.predict(frame)] == pipe.predict(frame).tolist()


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()], ids=str
)
def test_integers_are_recognised_behind_a_scaler(scaler):
    frame, y = people()
    frame = frame[["age", "height"]].assign(half=frame.age / 2)
    pipe = make_pipeline(scaler, classifier()).fit(frame, y)
    net = assert_same(pipe, frame)
    assert [coding.whole for coding in net.encoder.codings] == [True, False, False]
    assert all(float(cut).is_integer() for cut in net.encoder.codings[0].cuts)


def mixed():
    frame, y = people()
    steps = make_column_transformer(
        (StandardScaler(), ["age", "income", "height"]),
        (OneHotEncoder(sparse_output=False), ["colour", "size"]),
    )
    return make_pipeline(steps, classifier(epochs=15)).fit(frame, y), frame


def test_questions_take_the_pipeline():
    pipe, frame = mixed()
    net = sg.from_sklearn(pipe)
    row = frame.iloc[3]
    assert str(sg.why(pipe, row)) == str(sg.why(net, row))
    assert str(sg.verify(pipe, row, sg.L0(1))) == str(sg.verify(net, row, sg.L0(1)))
    assert str(sg.count(pipe, row, sg.L0(1))) == str(sg.count(net, row, sg.L0(1)))
    assert str(sg.rulebook(pipe, most=2)) == str(sg.rulebook(net, most=2))
    assert str(sg.trace_reasons(pipe, row)) == str(sg.trace_reasons(net, row))
    assert str(sg.check_rule(pipe, "age >= 30 -> yes")) == str(sg.check_rule(net, "age >= 30 -> yes"))
    assert str(sg.summary(pipe)) == str(sg.summary(net))
    answer = sg.whatif(pipe[-1], pipe[:-1].transform(frame)[3])
    assert answer.network is pipe[-1].network_


@pytest.mark.parametrize("index", range(6))
def test_a_counterfactual_is_a_raw_row_that_the_pipeline_classifies_as_stated(index):
    pipe, frame = mixed()
    answer = sg.whatif(pipe, frame.iloc[index])
    assert answer.outcome == "found"
    changed = frame.iloc[[index]].astype(object)
    for name, (before, after) in answer.changes().items():
        assert frame.iloc[index][name] == before
        changed[name] = after
    assert pipe.predict(frame.iloc[[index]])[0] != pipe.predict(changed)[0] == answer.label


def test_searches_copies_and_pickles():
    pipe, frame = mixed()
    frame, y = people()
    search = GridSearchCV(clone(pipe), {"bnnclassifier__hidden": [(4,), (6,)]}, cv=2).fit(frame, y)
    assert sg.from_sklearn(search) == sg.from_sklearn(search.best_estimator_)
    assert sg.from_sklearn(pickle.loads(pickle.dumps(pipe))) == sg.from_sklearn(pipe)
    again = clone(pipe).set_output(transform="pandas").fit(frame, y)
    net = assert_same(again, frame)
    assert net.encoder.names == ("age", "income", "height", "colour", "size")


def test_save_and_load(tmp_path):
    pipe, frame = mixed()
    net = sg.from_sklearn(pipe)
    sg.save(net, tmp_path / "raw.sugenet")
    again = sg.load(tmp_path / "raw.sugenet")
    assert again == net
    assert again.predict(frame).tolist() == net.predict(frame).tolist()


REFUSED = [
    (PCA(2), "step first: the step PCA cannot be turned around, because only these"),
    (QuantileTransformer(n_quantiles=5), "QuantileTransformer cannot be turned around"),
    (
        FunctionTransformer(np.log1p),
        "FunctionTransformer cannot be turned around, because it calls a function",
    ),
    (SimpleImputer(add_indicator=True), "SimpleImputer cannot be turned around, because of add_indicator"),
    (SimpleImputer(missing_values=0), "because it replaces the value 0, which is not a gap"),
    (
        make_pipeline(StandardScaler(), OneHotEncoder(sparse_output=False)),
        "first, onehotencoder: .* reads numbers",
    ),
    (FeatureUnion([("a", StandardScaler())], transformer_weights={"a": 2.0}), "it has transformer_weights"),
]


@pytest.mark.parametrize(("step", "message"), REFUSED, ids=lambda one: str(one)[:30])
def test_refusals_name_the_step(step, message):
    frame, y = people()
    numbers = frame[["age", "income", "height"]]
    pipe = Pipeline([("first", step), ("net", classifier())]).fit(numbers, y)
    with pytest.raises(EncodingError, match=message):
        sg.from_sklearn(pipe)


def test_a_step_of_another_package_is_refused():
    class Own(StandardScaler):
        def transform(self, X):
            return -super().transform(X)

    frame, y = people()
    numbers = frame[["age", "income"]]
    with pytest.raises(EncodingError, match="the step Own cannot be turned around"):
        sg.from_sklearn(make_pipeline(Own(), classifier()).fit(numbers, y))


def test_other_models_are_refused():
    frame, y = people()
    numbers = frame[["age", "income"]]
    with pytest.raises(NetworkError, match="A Pipeline is not a network"):
        sg.from_sklearn(make_pipeline(StandardScaler(), RandomForestClassifier(2)).fit(numbers, y))
    with pytest.raises(NetworkError, match="A dict is not a network"):
        sg.why({}, [1])
    with pytest.raises(NotFittedError):
        sg.from_sklearn(make_pipeline(StandardScaler(), classifier()))


@pytest.mark.parametrize("seed", range(5))
def test_the_search_finds_the_first_float_by_definition(seed):
    rng = np.random.default_rng(seed)
    mean, scale = rng.normal(size=2)

    def rising(x):
        return (x - mean) / abs(scale)

    targets = [*rng.normal(size=4), 0.0]
    for target, found in zip(targets, least_reaching(rising, targets, -1e300, 1e300), strict=True):
        assert rising(found) >= target > rising(nextafter(found, -inf))
    assert least_reaching(np.sign, [0.5, 2.0, -2.0], -5.0, 5.0) == [5e-324, None, -5.0]


# -- column types after steps --------------------------------------------------------------------------------


def visits(n=120):
    rng = np.random.default_rng(3)
    side = rng.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
            "day": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "k_a": side,
            "k_b": 1 - side,
        }
    )
    return frame, np.where((frame["age"] > 45) ^ (frame["city"] == "Ulm"), "yes", "no")


@pytest.mark.parametrize("step", ["passthrough", MinMaxScaler()], ids=str)
def test_a_group_of_raw_columns_has_their_name(step):
    X, y = visits()
    steps = make_column_transformer((StandardScaler(), ["age"]), (step, ["k_a", "k_b"]))
    pipe = make_pipeline(steps, classifier()).fit(X, y)
    net = sg.from_sklearn(pipe)
    assert net.encoder.names == ("age", "k")
    assert net.encoder.codings[1] == OneHot(("a", "b"))
    assert net.encoder.preparations["k"].columns == ("k_a", "k_b")
    assert (np.array(net.classes)[net.predict(X)] == pipe.predict(X)).all()


def test_integers_are_recognised_beside_texts_and_dates():
    X, y = visits()
    steps = make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["city", "day"]))
    net = sg.from_sklearn(make_pipeline(steps, classifier()).fit(X, y))
    assert net.encoder.codings[0].whole


def test_parts_of_a_date_are_compared_as_dates():
    X, y = visits()
    steps = make_column_transformer(
        (StandardScaler(), ["age"]), ("passthrough", ["day"]), verbose_feature_names_out=False
    )
    pipe = make_pipeline(
        steps.set_output(transform="pandas"), classifier(types={"day": "year+month+weekday"})
    )
    net = sg.from_sklearn(pipe.fit(X, y))
    assert net.encoder.names == ("age", "day (year)", "day (month)", "day (weekday)")
    assert (np.array(net.classes)[net.predict(X)] == pipe.predict(X)).all()


def test_the_classifier_fills_gaps_that_a_scaler_passes_on():
    X, y = visits()
    X["age"] = X["age"].astype(float).mask(np.arange(len(X)) % 9 == 4)
    steps = make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["city"]))
    pipe = make_pipeline(steps, classifier(missing="impute")).fit(X, y)
    net = sg.from_sklearn(pipe)
    assert (np.array(net.classes)[net.predict(X)] == pipe.predict(X)).all()


def test_ranges_after_a_scaler_limit_nothing():
    X, y = visits()
    X["age"] = X["age"].astype(float).mask(np.arange(len(X)) % 9 == 4)
    steps = make_column_transformer((StandardScaler(), ["age"]), ("passthrough", ["city"]))
    pipe = make_pipeline(steps, classifier(missing="category")).fit(X, y)
    net, full = sg.from_sklearn(pipe), X.dropna()
    assert (np.array(net.classes)[net.predict(full)] == pipe.predict(full)).all()
    with pytest.raises(EncodingError, match="age, sample 4: the value is missing"):
        net.predict(X)


def test_one_bit_of_a_number_does_not_limit_it():
    X, y = visits()
    steps = make_column_transformer((Binarizer(threshold=45), ["age"]), (OneHotEncoder(), ["city"]))
    net = sg.from_sklearn(make_pipeline(steps, classifier()).fit(X, y))
    assert net.encoder.seen[0].values is None
    answer = sg.whatif(net, X.iloc[0])
    assert abs(answer.example[0]) < 1000


def test_an_imputer_may_fill_in_a_text_of_a_gap():
    X, y = visits()
    X["city"] = X["city"].astype(object).mask(np.arange(len(X)) % 9 == 4, np.nan)
    filler = SimpleImputer(strategy="constant", fill_value="none")
    steps = make_column_transformer((filler, ["city"]), ("passthrough", ["age"]))
    pipe = make_pipeline(steps, classifier(missing="impute")).fit(X, y)
    net = sg.from_sklearn(pipe)
    assert (np.array(net.classes)[net.predict(X)] == pipe.predict(X)).all()


def one_hot(seed=0, n=90):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["r", "g", "b"], n)
    frame = pd.DataFrame({f"c_{one}": (colour == one).astype(int) for one in "rgb"})
    frame["age"] = rng.integers(18, 90, n)
    return frame, np.where((colour == "r") ^ (frame.age > 50), "yes", "no")


def test_one_hot_columns_move_together_behind_every_scaler():
    frame, y = one_hot()
    scalers = [StandardScaler(), RobustScaler(), MaxAbsScaler(), MinMaxScaler((-3, 0.1), clip=True)]
    for scaler in [*scalers, make_pipeline(SimpleImputer(), StandardScaler(), MinMaxScaler())]:
        pipe = make_pipeline(scaler, classifier()).fit(frame, y)
        net = sg.from_sklearn(pipe)
        assert net.encoder.names == ("c", "age"), scaler
        assert net.encoder.codings[0] == OneHot(("r", "g", "b"))
        states = pd.DataFrame(np.eye(3, dtype=int), columns=list(frame.columns[:3])).assign(age=40)
        for table in (frame, states):
            assert [net.classes[k] for k in net.predict(table)] == pipe.predict(table).tolist()


def test_rows_show_one_hot_columns_that_bins_hide():
    frame, y = one_hot()
    for step in (Binarizer(threshold=0.5), KBinsDiscretizer(2, encode="ordinal", strategy="uniform")):
        pipe = make_pipeline(step, classifier()).fit(frame, y)
        with pytest.warns(UserWarning, match=r"c_r, c_g, c_b, age\. Give the training data"):
            hidden = sg.from_sklearn(pipe)
        assert "c_r, c_g, c_b, age" in str(hidden.report)
        net = sg.from_sklearn(pipe, frame)
        assert net.encoder.names == ("c", "age")
        assert net.encoder.codings[1].whole
        assert [net.classes[k] for k in net.predict(frame)] == pipe.predict(frame).tolist()


def test_columns_that_gaps_may_split_are_named():
    frame, y = one_hot()
    gaps = frame.astype(float)
    gaps.iloc[:9, :3] = np.nan
    pipe = make_pipeline(SimpleImputer(), StandardScaler(), classifier()).fit(gaps, y)
    with pytest.warns(UserWarning, match="c_b, c_g, c_r"):
        sg.from_sklearn(pipe)
    assert sg.from_sklearn(pipe, gaps).encoder.names == ("c", "age")


def test_bits_that_were_both_on_and_types_that_were_given_stay_apart():
    frame, y = one_hot()
    both = frame.copy()
    both.loc[0, ["c_r", "c_g"]] = 1
    net = sg.from_sklearn(make_pipeline(StandardScaler(), classifier()).fit(both, y), frame)
    assert net.encoder.names == tuple(frame.columns)
    scaler = StandardScaler().set_output(transform="pandas")
    declared = classifier(types={"c_r": "number"})
    net = sg.from_sklearn(make_pipeline(scaler, declared).fit(frame, y), frame)
    assert net.encoder.names == tuple(frame.columns)


def test_a_group_beside_a_column_of_its_name_has_all_names():
    frame, y = one_hot()
    pipe = make_pipeline(StandardScaler(), classifier()).fit(frame.rename(columns={"age": "c"}), y)
    assert sg.from_sklearn(pipe).encoder.names == ("c_r/c_g/c_b", "c")


def test_integers_stay_integers_behind_a_mean():
    frame, y = people()
    numbers = frame[["age", "income"]].copy()
    numbers.loc[:5, "age"] = np.nan
    pipe = make_pipeline(SimpleImputer(), StandardScaler(), classifier()).fit(numbers, y)
    net = sg.from_sklearn(pipe)
    assert [coding.whole for coding in net.encoder.codings] == [True, False]
    known = numbers.dropna()
    assert [net.classes[k] for k in net.predict(known)] == pipe.predict(known).tolist()


def test_a_pipeline_is_converted_once_and_again_after_a_fit():
    frame, y = one_hot()
    pipe = make_pipeline(StandardScaler(), classifier()).fit(frame, y)
    assert sg.from_sklearn(pipe) is sg.from_sklearn(pipe)
    first = sg.from_sklearn(pipe)
    pipe.fit(frame, np.where(frame.age > 30, "yes", "no"))
    net = sg.from_sklearn(pipe)
    assert net is not first
    assert [net.classes[k] for k in net.predict(frame)] == pipe.predict(frame).tolist()


def test_signs_behind_a_step_stay_signs():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sign": rng.integers(0, 2, 80) * 2 - 1, "n": rng.normal(size=80)})
    y = np.where(frame.sign > 0, "yes", "no")
    for step, rows in ((StandardScaler(), None), (Binarizer(threshold=0.5), frame)):
        pipe = make_pipeline(step, classifier()).fit(frame, y)
        net = sg.from_sklearn(pipe, rows)
        assert net.encoder.codings[0] == OneHot((-1, 1))  # never 0
        assert [net.classes[k] for k in net.predict(frame)] == pipe.predict(frame).tolist()


def test_a_constant_column_in_bins():
    frame, y = people()
    numbers = frame[["age"]].assign(one=3.5)
    pipe = make_pipeline(KBinsDiscretizer(3, encode="ordinal"), classifier())
    with pytest.warns(UserWarning, match="constant"):
        pipe.fit(numbers, y)
    net = sg.from_sklearn(pipe, numbers)
    assert [net.classes[k] for k in net.predict(numbers)] == pipe.predict(numbers).tolist()


def test_integers_are_known_beside_their_fill_and_if_they_are_large():
    rng = np.random.default_rng(1098)
    frame = pd.DataFrame({"big": rng.integers(2**40, 2**52, 80), "on": rng.random(80) < 0.6})
    y = np.where(frame.on ^ (frame.big > 2**51), "yes", "no")
    pipe = make_pipeline(SimpleImputer(strategy="median"), RobustScaler(), classifier())
    net = sg.from_sklearn(pipe.fit(frame.astype(float), y))
    assert [coding.whole for coding in net.encoder.codings] == [True, True]


def test_a_scaler_that_clips_does_not_make_signs_of_bits():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"on": rng.random(80) < 0.5, "half": rng.integers(1, 3, 80) / 2})
    pipe = make_pipeline(MinMaxScaler((-2, 0.3), clip=True), classifier()).fit(
        frame, frame.on ^ (frame.half > 0.5)
    )
    for rows in (None, frame):
        net = sg.from_sklearn(pipe, rows)
        assert not any(isinstance(coding, OneHot) for coding in net.encoder.codings)
        assert [net.classes[k] for k in net.predict(frame)] == pipe.predict(frame).astype(str).tolist()
