import pickle
import subprocess
import sys
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sugenet
from sugenet.errors import EncodingError, SugenetError
from sugenet.nn import (
    DenseLayer,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    QuantizedLayer,
    Steps,
    thermometer,
)

pytest.importorskip("sklearn")
pytest.importorskip("torch")

from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from sugenet.fit.estimators import BNNClassifier, FeatureBinarizer


def small(**options):
    return BNNClassifier(**{"hidden": (8,), "epochs": 8, "batch": 16, "random_state": 0} | options)


def numbers(n=120, features=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)).round(2)
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


# -- scikit-learn's own checks -------------------------------------------------------------------------------

REPEATED = {
    "check_sample_weight_equivalence_on_dense_data": "repeated samples are drawn into other batches, and "
    "batch norm counts samples; test_weights.py shows that weight 0 removes samples, and how weights count"
}


@parametrize_with_checks(
    [
        BNNClassifier(hidden=(16,), epochs=10, batch=16),
        BNNClassifier(hidden=(12, 8), epochs=12, batch=16, sparsity=0.3, coding="cuts", levels=4),
        FeatureBinarizer(),
        FeatureBinarizer(cuts=[0.0, 0.5]),
    ],
    expected_failed_checks=lambda estimator: REPEATED if isinstance(estimator, BNNClassifier) else {},
)
def test_what_scikit_learn_asks_of_every_estimator(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings(
    "ignore:X does not have valid", "ignore:X has feature names"
)  # which two of the checks provoke
@pytest.mark.parametrize(
    "name",
    [
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_dataframe_column_names_consistency",
    ],
)
def test_what_scikit_learn_asks_of_its_own_estimators(name):
    if "pandas" in name or "dataframe" in name:
        pytest.importorskip("pandas")
    getattr(estimator_checks, name)("FeatureBinarizer", FeatureBinarizer())
    if "transform" not in name:
        getattr(estimator_checks, name)("BNNClassifier", small())


# -- weights -------------------------------------------------------------------------------------------------


def test_samples_of_weight_0_are_not_read():
    X, y = numbers()
    weights = np.arange(len(y)) % 3
    kept = weights > 0
    one = small().fit(X, y, sample_weight=weights)
    other = small().fit(X[kept], y[kept], sample_weight=weights[kept])
    assert one.network_ == other.network_
    assert one.scores_ == other.scores_


@pytest.mark.parametrize("labels", [[0, 1], [0.0, 1.0], [False, True], ["no", "yes"]], ids=str)
def test_classes_have_weights(labels):
    X, y = numbers()
    y = np.minimum(y, 1)
    weighed = small(class_weight={labels[1]: 20}).fit(X, np.array(labels)[y])
    by_sample = small().fit(X, y, sample_weight=np.where(y, 20, 1))
    assert weighed.predict(X).tolist() == np.array(labels)[by_sample.predict(X)].tolist()
    assert weighed.history_ == by_sample.history_
    assert 1 - np.mean(weighed.predict(X) == labels[0]) > np.mean(small().fit(X, y).predict(X))


def test_weights_in_searches_clones_and_copies():
    X, y = numbers()
    weights = 1 + np.arange(len(y)) % 2
    grid = {"class_weight": [None, "balanced", {0: 1, 1: 2, 2: 9}], "sparsity": [0.0, 0.5]}
    search = GridSearchCV(small(epochs=2), grid, cv=2, scoring="balanced_accuracy", refit=True)
    search.fit(X, y, sample_weight=weights)
    best = search.best_estimator_
    assert clone(best).get_params() == best.get_params()
    again = pickle.loads(pickle.dumps(best))
    assert again.class_weight == best.class_weight
    assert (again.predict(X) == best.predict(X)).all()
    assert again.scores_ == best.scores_
    balanced = small(class_weight="balanced").fit(X, y)
    assert balanced.scores_.part == "validation"
    assert sum(balanced.scores_.totals) == 12


def test_output_containers_with_weights():
    pandas = pytest.importorskip("pandas")
    X, y = numbers()
    frame = pandas.DataFrame(X, columns=list("abcd"))
    steps = make_pipeline(StandardScaler(), small(class_weight="balanced")).set_output(transform="pandas")
    steps.fit(frame, y, bnnclassifier__sample_weight=np.ones(len(y)))
    assert steps[-1].network_.encoder.names == tuple("abcd")
    assert steps.predict(frame).shape == y.shape


# -- exactness -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hidden": ()},
        {"sparsity": 0.5},
        {"hidden": (9, 5), "cuts": 1},
        {"noise": 0.1, "patience": 2},
        {"hidden": (9, 5), "levels": 4},
        {"levels": np.int64(16), "weight_bits": 3, "coding": "cuts"},
    ],
    ids=str,
)
def test_answers_are_those_of_the_exact_network(classes, options):
    X, y = numbers()
    y = np.minimum(y, classes - 1)
    names = np.array(["low", "middle", "top"])
    classifier = small(**options).fit(X, names[y])
    network = classifier.network_
    other = numbers(seed=1)[0]
    assert classifier.classes_.tolist() == list(network.classes) == names[:classes].tolist()
    assert classifier.to_network() is network
    assert (classifier.predict(other) == names[network.predict(other, engine="definition")]).all()
    assert (classifier.predict_proba(other) == network.probability(other)).all()
    scores = network.head.scores(network.match_counts(other))
    decision = classifier.decision_function(other)
    if classes == 2:
        assert decision.tolist() == (scores[:, 1] - scores[:, 0]).tolist()
        assert (classifier.predict(other) == classifier.classes_[(decision > 0).astype(int)]).all()
    else:
        assert decision.tolist() == scores.tolist()
        assert (classifier.predict(other) == classifier.classes_[decision.argmax(axis=1)]).all()
    assert classifier.score(X, names[y]) == np.mean(classifier.predict(X) == names[y])


def test_it_learns():
    X = np.random.default_rng(0).random((400, 3))
    y = (X[:, 0] > 0.5) & (X[:, 1] < 0.7)
    classifier = BNNClassifier(hidden=(16,), epochs=30, random_state=0).fit(X[:300], y[:300])
    assert classifier.score(X[300:], y[300:]) > 0.85
    assert classifier.n_iter_ == len(classifier.history_) == 30


def test_the_seed_decides():
    X, y = numbers()
    one, same, other = (small(random_state=seed).fit(X, y).network_ for seed in (3, 3, 4))
    assert one == same
    assert one != other
    again = [small(random_state=np.random.RandomState(7)).fit(X, y).network_ for _ in range(2)]
    assert again[0] == again[1]


def test_more_levels():
    X, y = numbers()
    network = small(levels=4, weight_bits=4).fit(X, y).network_
    assert isinstance(network.layers[0], QuantizedLayer)
    assert network.layers[0].height == 3
    assert BNNClassifier.from_network(network).levels == 4
    assert 1 < np.abs(network.layers[0].weights).max() <= 7


def test_sparse_weights():
    X, y = numbers()
    layer = small(sparsity=0.75).fit(X, y).network_.layers[0]
    assert isinstance(layer, DenseLayer)
    assert (layer.weights == 0).sum(axis=1).tolist() == [12] * 8


@pytest.mark.parametrize("y", [[0, 1], ["a", "b"], [True, False], [2.0, -3.0]])
def test_two_samples_are_enough(y):
    classifier = small().fit([[0.0, 5.0], [1.0, 5.0]], y)
    assert classifier.classes_.tolist() == sorted(y)
    assert set(classifier.predict([[0.0, 5.0], [1.0, 5.0], [-9.0, 7.0]]).tolist()) <= set(y)


# -- in company ----------------------------------------------------------------------------------------------


def test_pipelines():
    X, y = numbers()
    for steps in (
        [StandardScaler(), small()],
        [FeatureBinarizer(cuts=3), small(coding="bits")],
        [FeatureBinarizer(cuts=3), small()],
        [FeatureBinarizer(cuts=3), LogisticRegression()],
        [make_column_transformer((FeatureBinarizer(cuts=5), [0, 1]), remainder="passthrough"), small()],
    ):
        assert make_pipeline(*steps).fit(X, y).score(X, y) > 0.5
    bits = make_pipeline(FeatureBinarizer(cuts=3), small()).fit(X, y)
    assert bits[-1].network_.encoder == Encoder.of_bits(12)


def test_searches_and_cross_validation():
    X, y = numbers()
    search = GridSearchCV(
        small(),
        {"hidden": [(4,), (8, 4)], "sparsity": [0.0, 0.5], "cuts": [1, [0.0]]},
        cv=2,
        error_score="raise",
    ).fit(X, y)
    assert search.best_estimator_.network_.layers[0].outputs in (4, 8)
    options = {"epochs": np.arange(1, 4), "cuts": np.arange(1, 4), "rate": np.array([0.01, 0.02])}
    RandomizedSearchCV(small(), options, n_iter=2, cv=2, random_state=0, error_score="raise").fit(X, y)
    counts = np.random.default_rng(0).poisson(0.2, (60, 3))  # folds see different values
    scores = cross_val_score(small(), counts, counts[:, 0] > 0, cv=3, error_score="raise")
    assert scores.mean() > 0.6


def test_values_that_training_did_not_show_are_read():
    for X in (
        np.array([[0, 1], [1, 0], [0, 0], [1, 1]] * 5),
        np.array([[-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]] * 7),
    ):
        classifier = small().fit(X, X[:, 0] > 0)
        assert (classifier.predict([[7, 0.75], [-9.5, 2]]) == classifier.predict([[1, 1], [-1, 1]])).all()


def test_clones_and_copies():
    X, y = numbers()
    encoder = Encoder([thermometer([0.0, 1.0])] * 4)
    classifier = small(encoder=encoder, sparsity=0.25).fit(X, y)
    assert classifier.network_.encoder == encoder
    fresh = clone(classifier)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    with pytest.raises(NotFittedError):
        fresh.to_network()
    assert fresh.fit(X, y).network_ == classifier.network_
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.network_ == classifier.network_
    assert (copy.predict(X) == classifier.predict(X)).all()


def test_texts_booleans_and_numbers_in_one_table():
    rows = [[float(i % 7), "red" if i % 3 else "blue", bool(i % 2)] for i in range(40)]
    y = ["warm" if row[1] == "red" else "cold" for row in rows]
    for X in (rows, np.array(rows, dtype=object)):
        classifier = small(cuts=2, epochs=40).fit(X, y)
        codings = classifier.network_.encoder.codings
        assert [type(coding) for coding in codings] == [Steps, OneHot, OneHot]
        assert codings[2] == OneHot((False, True))
        assert (codings[0].low, codings[0].high, codings[0].whole) == (-inf, inf, True)
        assert classifier.predict([[99.5, "red", True], [0, "blue", False]]).tolist() == ["warm", "cold"]
        with pytest.raises(EncodingError, match="x2 is 'green' in sample 1, which is not a category"):
            classifier.predict([[1.0, "red", True], [1.0, "green", True]])
    words = np.array([["a", "b"], ["c", "b"], ["a", "d"], ["c", "d"]] * 5)
    assert small(epochs=40).fit(words, words[:, 0] == "a").predict(words[:2]).tolist() == [True, False]


def test_pixels_keep_every_level():
    X = np.random.default_rng(0).integers(0, 200, (60, 5)).astype(np.uint8)
    network = small(coding="integers").fit(X, X[:, 0] > 100).network_
    assert isinstance(network.layers[0], LevelLayer)
    assert network.encoder == Encoder.of_integers(5, 0, 255)


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "age": np.arange(40),
            "kind": pandas.Categorical(["a", "b", "c", "b"] * 10),
            "member": [True, False] * 20,
            "name": ["x", "y"] * 20,
        }
    )
    y = pandas.Series(np.where(frame["age"] > 20, "old", "young"))
    classifier = small(cuts=3, epochs=40).fit(frame, y)
    assert (
        classifier.feature_names_in_.tolist()
        == list(classifier.network_.encoder.names)
        == list(frame.columns)
    )
    assert [coding.width for coding in classifier.network_.encoder.codings] == [3, 3, 2, 2]
    assert classifier.score(frame, y) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["kind", "age", "member", "name"]])
    bits = FeatureBinarizer(cuts=1).set_output(transform="pandas").fit_transform(frame)
    assert list(bits.columns) == [
        "age >= 20",
        "kind = a",
        "kind = b",
        "kind = c",
        "member = +1",
        "name = x",
        "name = y",
    ]
    inside = make_pipeline(FeatureBinarizer().set_output(transform="pandas"), small()).fit(frame, y)[-1]
    assert inside.network_.encoder.names[-1] == "name"


# -- networks in and out -------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["no", "yes", "maybe"], [10, 2, -3]])
def test_saved_and_loaded(tmp_path, names):
    X, y = numbers()
    classifier = small().fit(X, np.array(names)[y])
    sugenet.save(classifier.network_, tmp_path / "net.sugenet")
    again = BNNClassifier.from_network(sugenet.load(tmp_path / "net.sugenet"))
    assert again.classes_.dtype == classifier.classes_.dtype
    assert (again.predict(X) == classifier.predict(X)).all()
    assert (again.predict_proba(X) == classifier.predict_proba(X)).all()
    assert again.n_features_in_ == 4
    assert not hasattr(again, "feature_names_in_")
    assert (again.hidden, again.history_, again.n_iter_) == ((8,), (), 0)
    assert clone(again).set_params(epochs=2).fit(X, y).network_.encoder == classifier.network_.encoder


def test_a_shipped_network_as_a_classifier():
    network = sugenet.models.breast_cancer()
    classifier = BNNClassifier.from_network(network, classes=[1, 0])
    assert classifier.feature_names_in_.tolist() == list(network.encoder.names)
    assert classifier.classes_.tolist() == [1, 0]


def test_from_network_says_what_is_wrong():
    network = Network.of_bits([], Head([[1], [-1]]))
    with pytest.raises(SugenetError, match="3 classes are given, but the network has 2"):
        BNNClassifier.from_network(network, classes="abc")
    with pytest.raises(SugenetError, match="network is a str, but a Network is needed"):
        BNNClassifier.from_network("net.sugenet")


# -- the binarizer -------------------------------------------------------------------------------------------

tables = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.floats(-1e9, 1e9) | st.integers(-3, 3), min_size=m, max_size=m), min_size=2, max_size=12
    )
)


@given(tables, st.integers(1, 4))
def test_inverse_gives_values_with_the_same_bits(rows, cuts):
    X = np.array(rows, dtype=float)
    if len(np.unique(X, axis=0)) == 1:
        with pytest.raises(EncodingError, match="every feature is constant"):
            FeatureBinarizer(cuts=cuts).fit(X)
        return
    binarizer = FeatureBinarizer(cuts=cuts).fit(X)
    bits = binarizer.transform(X)
    assert bits.shape == (len(X), binarizer.encoder_.width)
    assert len(set(binarizer.get_feature_names_out())) == bits.shape[1]
    values = binarizer.inverse_transform(bits)
    assert values.dtype == np.float64
    assert (binarizer.transform(values) == bits).all()
    assert (values >= X.min(axis=0)).all()
    assert (values <= X.max(axis=0)).all()


@pytest.mark.parametrize(
    "options",
    [
        {"cuts": [-5, 100]},
        {"cuts": [[0], [], [1, 2, 3.5]]},
        {"coding": "integers"},
        {"coding": "cuts", "cuts": 2},
    ],
    ids=str,
)
def test_inverse_of_every_legal_pattern(options):
    X = np.array([[0, 3, 2], [1, 3, 4], [2, -7, 0]])
    binarizer = FeatureBinarizer(**options).fit(X)
    encoder = binarizer.encoder_
    for i, coding in enumerate(encoder.codings):
        for state in range(coding.states):
            levels = encoder.levels(X[:1].astype(float))
            levels[0, i] = state
            bits = encoder.bits_of_levels(levels)
            assert (binarizer.transform(binarizer.inverse_transform(bits)) == bits).all()


def test_given_cuts_and_names():
    binarizer = FeatureBinarizer(cuts=[[18, 65], [0.5]]).fit([[10, 0.1], [70, 0.9]])
    assert binarizer.get_feature_names_out().tolist() == ["x0 >= 18", "x0 >= 65", "x1 >= 0.5"]
    assert binarizer.get_feature_names_out(["age", "share"]).tolist() == [
        "age >= 18",
        "age >= 65",
        "share >= 0.5",
    ]
    assert binarizer.transform([[65, 0.5], [64, 0.4]]).tolist() == [[True, True, True], [True, False, False]]
    assert binarizer.inverse_transform([[1, 0, 1], [-1, -1, -1]]).tolist() == [[41.5, 0.9], [10.0, 0.1]]


def test_bits_that_belong_to_nothing():
    binarizer = FeatureBinarizer(cuts=2).fit([[1.0, "a"], [2.0, "b"], [3.0, "a"]])
    with pytest.raises(EncodingError, match="the bits 01 of x1 in sample 1 do not belong to any value"):
        binarizer.inverse_transform([[0, 0, 0, 1], [0, 1, 0, 1]])
    with pytest.raises(EncodingError, match="the bits 11 of x2 in sample 0"):
        binarizer.inverse_transform([[0, 0, 1, 1]])
    with pytest.raises(EncodingError, match=r"bits of shape \(samples, 4\) are needed"):
        binarizer.inverse_transform([[0, 0, 1]])


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"cuts": 0}, "cuts=0 must be an integer of at least 1, or the cuts themselves"),
        ({"cuts": 1.5}, "cuts=1.5 must be"),
        ({"cuts": "many"}, "cuts='many' holds a value that is not a number"),
        ({"cuts": [[1.0]]}, "cuts holds 1 entries for 4 features"),
        ({"cuts": [2.0, 1.0]}, "do not rise"),
        ({"coding": "wild"}, "coding='wild' is not known"),
        ({"coding": "bits"}, "it must be -1, 0 or"),
        ({"coding": "integers"}, "not an integer"),
        ({"hidden": (0,)}, "layer without neurons"),
        ({"epochs": 0}, "epochs=0 must be an integer"),
        ({"sparsity": 1}, "sparsity=1 must be at least 0 and below 1"),
        ({"levels": 1}, "levels=1 must be an integer of at least 2"),
        ({"levels": 2.5}, "levels=2.5 must be an integer"),
        ({"levels": 4, "hidden": ()}, "levels=4 is for hidden neurons"),
        ({"levels": 4, "tau_decay": 1.0}, "but levels=4 has others"),
        ({"encoder": Encoder.of_bits(3)}, "samples have 3 features"),
    ],
    ids=str,
)
def test_wrong_options_are_named_by_fit(options, match):
    X, y = numbers()
    with pytest.raises(SugenetError, match=match):
        small(**options).fit(X, y)


def test_wrong_data_is_named():
    X, y = numbers()
    with pytest.raises(EncodingError, match="y holds one class only, 'a'"):
        small().fit(X, ["a"] * len(X))
    with pytest.raises(EncodingError, match="every feature is constant"):
        small().fit(np.ones((6, 2)), [0, 1] * 3)
    with pytest.raises(
        ValueError, match=r"gaps .NaN, None or empty cells. in 2 rows: .x1. .1.\. Use missing="
    ):
        small().fit([[1.0], [np.nan]], [0, 1])
    with pytest.raises(EncodingError, match=r"in 3 rows: 'x2' \(1\)"):
        small().fit(np.array([[1.0, "a"], [2.0, None], [3.0, "b"]], dtype=object), [0, 1, 0])
    with pytest.raises(EncodingError, match="x1 needs numbers"):
        small(coding="cuts").fit(np.array([[1.0, True], ["abc", False]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match="4 features"):
        small().fit(X, y).predict(X[:, :2])


# -- imports -------------------------------------------------------------------------------------------------


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_package_stays_light():
    assert (
        run("import sugenet.fit, sys; print(*[name for name in ('sklearn', 'torch') if name in sys.modules])")
        == ""
    )
    assert run("import sugenet.fit.estimators, sys; print('torch' in sys.modules)") == "False"


def test_without_scikit_learn():
    code = (
        "import sys\n"
        "sys.modules['sklearn'] = None\n"
        "try:\n"
        " import sugenet.fit.estimators\n"
        "except ImportError as error:\n"
        " print(error)"
    )
    assert 'pip install ".[sklearn]"' in run(code)


def test_without_pytorch():
    code = """
import sys
from importlib.abc import MetaPathFinder
class NoTorch(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("no torch here")
sys.meta_path.insert(0, NoTorch())
from sugenet.nn import Head, Network
from sugenet.fit.estimators import BNNClassifier
network = Network.of_bits([], Head([[1], [-1]]), classes=["a", "b"])
print(BNNClassifier.from_network(network).predict([[1], [0]]))
try:
    BNNClassifier().fit([[0], [1]], [0, 1])
except ValueError as error:
    print(error)
"""
    out = run(code)
    assert out.startswith("['a' 'b']\n")
    assert 'pip install ".[train]"' in out
