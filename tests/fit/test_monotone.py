"""Networks that are monotone by request: proved by `verify`, and by evaluating all inputs of small ones; and
networks that read few features.
"""

from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import SugenetError
from sugenet.fit import Settings, learn_encoder, train
from sugenet.nn import Encoder, OneHot, bit, integer, thermometer, unused

torch = pytest.importorskip("torch")

from sugenet.fit.folding import tensor_of  # noqa: E402

SHORT = Settings(epochs=6, batch=16, validation_share=0.2)
WAYS = {1: "rising", -1: "falling"}


def table(seed, n=60, classes=2):
    """Random numbers and a category, and classes that rise with the first and fall with the second column."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, :3] = rng.integers(0, 4, (n, 3))
    X[:, 3] = rng.choice(["a", "b"], n)
    score = X[:, 0].astype(int) - X[:, 1].astype(int) + rng.integers(-2, 3, n)
    return X, np.digitize(score, [0] if classes == 2 else [-1, 1])


def coder(kind):
    each = {"bits": thermometer([1, 2, 3], 0, 3, True), "levels": integer(0, 3)}[kind]
    return Encoder(
        [each] * 3 + ([OneHot(("a", "b"))] if kind == "bits" else []), list("pqrs")[: 3 + (kind == "bits")]
    )


def assert_proved(network, monotone):
    for feature, way in monotone.items():
        answer = sg.verify(network, sg.Monotone(feature, rising=way in (1, "rising")), time_limit=60)
        assert answer.outcome == "proved"
        assert answer.proof_kind == "order"
        assert "signs of weights" in sg.check(answer, network)


def is_monotone(network, feature, way):
    """By definition: the class of every input, and of the same input with the next value of the feature."""
    values = [range(4)] * 3 + [["a", "b"]] * (network.encoder.features - 3)
    rows = list(product(*values))
    label = dict(zip(rows, network.predict(np.array(rows, dtype=object)).tolist(), strict=True))
    raised = (
        tuple(np.add(row[f], f == feature) if f < 3 else row[f] for f in range(len(row))) for row in rows
    )
    return all(
        way * (label[after] - label[before]) >= 0
        for before, after in zip(rows, raised, strict=True)
        if after[feature] < 4
    )


OPTIONS = {
    "plain": {},
    "sparse": {"sparsity": 0.6},
    "low bounds": {"tau_decay": 3.0, "tau_goal": 1, "noise": 0.1},
    "4 levels": {"levels": 4},
    "weights of 3 bits": {"weight_bits": 3, "sparsity": 0.3, "levels": 3},
    "robust": {"robust": "linf:1", "sparsity": 0.3},
    "few features": {"features": 2},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", ["bits", "levels"])
@pytest.mark.parametrize("hidden", [(), (1,), (7,), (9, 5), (4, 3, 2)], ids=str)
def test_what_was_requested_is_proved_and_true_of_every_input(options, kind, hidden):
    options = options if hidden else {name: value for name, value in options.items() if name != "levels"}
    for seed, (monotone, classes) in enumerate(
        [({"p": 1}, 2), ({"q": "falling", "p": "rising"}, 3), ({0: -1, 1: -1, 2: +1}, 2)]
    ):
        X, y = table(seed, classes=classes)
        trained = train(
            X if kind == "bits" else X[:, :3].astype(int),
            y,
            hidden,
            encoder=coder(kind),
            monotone=monotone,
            settings=replace(SHORT, seed=seed, **options),
        )
        assert trained.comparison.differing == 0
        network = trained.network
        assert_proved(network, monotone)
        names = network.encoder.names
        wanted = {f if isinstance(f, str) else names[f]: WAYS.get(way, way) for f, way in monotone.items()}
        assert trained.monotone == wanted
        for name, way in wanted.items():
            assert is_monotone(network, names.index(name), 1 if way == "rising" else -1)


def test_a_monotone_network_still_learns():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3)).round(3)
    y = (X[:, 0] + X[:, 1] > 1).astype(int)
    how = Settings(epochs=40, batch=16, seed=1)
    good = train(X, y, (16, 8), monotone={0: 1, 1: 1}, settings=how)
    bad = train(X, y, (16, 8), monotone={0: -1, 1: -1}, settings=how)
    assert good.test_accuracy > 0.8 > 0.7 > bad.test_accuracy
    assert "raising x1 or raising x2 never lowers the class (0 < 1)" in str(good)
    assert "never lowers" not in str(train(X, y, (4,), settings=SHORT))


def test_no_request_changes_nothing():
    X, y = table(0)
    plain = train(X, y, (6,), settings=SHORT)
    assert train(X, y, (6,), monotone={}, settings=SHORT).network == plain.network
    assert train(X, y, (6,), settings=replace(SHORT, features=4)).network == plain.network


@pytest.mark.parametrize(
    ("monotone", "match"),
    [
        ({"d": 1}, "monotone names 'd', a category, which cannot be raised. Leave it out."),
        ({"c": 1}, "monotone names 'c', which has one value in the data"),
        ({"x": 1}, "monotone names 'x', which is not a feature. They are a, b, c, d."),
        ({"a": 2}, "monotone holds 2; a direction is 'rising' .+1., 'falling' .-1. or None."),
        ({"a": "up"}, "monotone holds 'up'; a direction"),
        ({"a": True}, "monotone holds True; a direction"),
        ({"a": {}}, "monotone holds {}; a direction"),
        ({"a": 1, 0: -1}, "monotone names 'a' twice, by name and by index 0. Leave one of them out."),
        (3, "monotone is 3. Give a mapping from features"),
        (np.array([1, -1]), r"monotone is array\(\[ 1, -1\]\). Give a mapping from features"),
    ],
)
def test_what_cannot_be_raised_is_refused(monotone, match):
    encoder = Encoder([thermometer([1]), bit(), unused(), OneHot(("a", "b"))], list("abcd"))
    X = np.array([[0, 1, 5, "a"], [2, -1, 5, "b"]] * 10, dtype=object)
    with pytest.raises(SugenetError, match=match):
        train(X, [0, 1] * 10, (3,), encoder=encoder, monotone=monotone, settings=SHORT)


def test_a_run_resumes_with_the_same_request_only(tmp_path):
    X, y = table(1)
    how = {"hidden": (5,), "encoder": coder("bits"), "settings": replace(SHORT, features=2)}
    whole = train(X, y, monotone={"p": 1}, **how)

    def stop(epoch):
        if epoch.number == 3:
            raise KeyboardInterrupt

    path = tmp_path / "run"
    assert train(X, y, monotone={"p": 1}, checkpoint=path, progress=stop, **how).interrupted
    assert train(X, y, monotone={"p": 1}, checkpoint=path, **how).network == whole.network
    with pytest.raises(SugenetError, match="other data, layers or settings"):
        train(X, y, monotone={"p": -1}, checkpoint=path, **how)


# -- few features --------------------------------------------------------------------------------------------


def read_by(network):
    """The features with a weight other than 0 in the first layer, or in the head if there is none."""
    rows = network.layers[0].weights if network.layers else network.head.weights
    columns = np.flatnonzero(np.asarray(rows).any(axis=0))
    return {
        column if network.reads_levels else network.encoder.feature_of[column] for column in columns.tolist()
    }


@pytest.mark.parametrize(
    "options", [{}, {"sparsity": 0.5}, {"weight_bits": 3}, {"robust": "linf:1"}], ids=str
)
@pytest.mark.parametrize("kind", ["cuts", "integers"])
@pytest.mark.parametrize("hidden", [(), (8,), (8, 4)], ids=str)
def test_few_features_are_read_and_the_useful_ones(options, kind, hidden):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (200, 8))
    y = X[:, 2] + X[:, 5] > 8
    encoder = learn_encoder(X, coding=kind, cuts=4)
    how = Settings(epochs=12, batch=16, features=2, **options)
    trained = train(X, y, hidden, encoder=encoder, settings=how)
    assert trained.comparison.differing == 0
    assert len(read_by(trained.network)) <= 2
    if kind == "cuts" and not options:
        assert read_by(trained.network) == {2, 5}
    assert trained.best_epoch > 6  # all others were left out before
    sizes = [len(sg.why(trained.network, x, sg.AnyInput()).features) for x in X[:3]]
    assert max(sizes) <= 2


@pytest.mark.parametrize("hidden", [(), (8, 4)], ids=str)
@pytest.mark.parametrize("epoch", [1, 4])
def test_an_interrupted_run_reads_no_more_features(hidden, epoch):
    def stop(report):
        if report.number == epoch:
            raise KeyboardInterrupt

    X, y = table(3)
    how = replace(SHORT, epochs=20, features=2)
    trained = train(X, y, hidden, settings=how, progress=stop)
    assert trained.interrupted
    assert trained.comparison.differing == 0
    assert len(read_by(trained.network)) <= 2


@pytest.mark.parametrize("features", [0, -1, 1.5, True, "2"])
def test_a_number_of_features_is_an_integer_from_1(features):
    with pytest.raises(SugenetError, match=r"features=.* must be an integer of at least 1"):
        Settings(features=features)


def test_those_go_first_whose_mean_costs_least():
    X, y = table(2, n=80)
    module = train(X, y, (5,), settings=replace(SHORT, epochs=10, features=3)).module
    rows = tensor_of(learn_encoder(X).encode(X))
    labels = torch.from_numpy(np.asarray(y))

    def loss(feature):
        mixed = rows.clone()
        mixed[:, module.feature_of == feature] = rows.mean(dim=0)[module.feature_of == feature]
        return float(torch.nn.functional.cross_entropy(module.evaluate(mixed).logits, labels))

    left = {*module.feature_of[module.read > 0].tolist()}
    assert len(left) == 3
    least = min(left, key=loss)
    module.leave_out(1, 2 / 3, rows, labels)  # of 4 features, 1 + 3 * (1 - 2 / 3) stay
    assert {*module.feature_of[module.read > 0].tolist()} == left - {least}
    assert not module.weights(0)[:, module.feature_of == least].any()
    module.leave_out(1, 2 / 3, rows, labels)
    assert len({*module.feature_of[module.read > 0].tolist()}) == 2


def test_a_weight_is_a_number_of_equal_samples():
    X, y = table(2, n=80)
    rows, labels = tensor_of(learn_encoder(X).encode(X)), torch.from_numpy(np.asarray(y))
    weights = torch.from_numpy(np.random.default_rng(1).integers(1, 9, len(y)))
    several = torch.repeat_interleave(torch.arange(len(y)), weights)
    module = train(X, y, (5,), settings=replace(SHORT, epochs=10, features=3)).module
    twin = deepcopy(module)
    module.leave_out(1, 1.0, rows, labels, weights)
    twin.leave_out(1, 1.0, rows[several], labels[several])
    assert module.read.tolist() == twin.read.tolist()
