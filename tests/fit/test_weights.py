"""Weights of samples and classes, by their definitions: removed rows, repeated rows, total weights."""

import json
from dataclasses import replace
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import EncodingError, SugenetError
from sugenet.fit import Settings, read_table, train
from sugenet.fit.scores import Scores
from sugenet.fit.weights import class_factors, taken

torch = pytest.importorskip("torch")

from sugenet.fit.loop import Samples, _loss  # noqa: E402
from sugenet.fit.module import LevelModule  # noqa: E402

SHORT = Settings(epochs=4, batch=16)


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2)
    return X, np.where(X[:, 0] + rng.normal(size=n) > 1.2, "leave", "stay")


# -- samples -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "list", "pandas", "polars"])
def test_rows_of_weight_0_are_removed(kind):
    X, y = rows()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    kept = np.flatnonzero(weights)
    by_definition = train(X[kept], y[kept], (4,), settings=SHORT, sample_weight=weights[kept])
    table = X
    if kind == "list":
        table = X.tolist()
    elif kind != "array":
        table = pytest.importorskip(kind).DataFrame({f"x{i}": X[:, i - 1] for i in range(1, 5)})
    trained = train(table, y, (4,), settings=SHORT, sample_weight=weights)
    assert trained.network == by_definition.network
    assert trained.history == by_definition.history
    assert trained.scores == by_definition.scores
    assert sum(trained.counts) == len(kept)


def test_a_class_whose_rows_all_have_weight_0_is_gone():
    X, y = rows()
    y = np.where(np.arange(len(y)) % 10, y, "other")
    trained = train(X, y, (4,), settings=SHORT, sample_weight=(y != "other").astype(int))
    assert trained.network.classes == ("leave", "stay")


@given(st.data())
def test_an_integer_weight_counts_like_as_many_samples(data):
    n = data.draw(st.integers(1, 30))
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)))
    right = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    y = np.zeros(n, np.int64)
    weighed = Samples(np.zeros((n, 1), bool), y, weights=weights.astype(float))
    repeated = Samples(np.zeros((weights.sum(), 1), bool), y.repeat(weights))
    assert weighed.share(right) == repeated.share(right.repeat(weights))
    order = np.array(data.draw(st.permutations(range(n))))
    assert weighed.share(right[order], order) == weighed.share(right)


def test_the_epoch_is_chosen_by_weight():
    X, y = rows(200)
    weights = np.where(y == "leave", 50.0, 1.0)
    trained = train(X, y, (4,), settings=replace(SHORT, epochs=8), sample_weight=weights, test_share=0)
    best = max(epoch.validation for epoch in trained.history)
    assert trained.history[trained.best_epoch - 1].validation == best
    # weights depend on the class alone, so the score of the kept epoch follows from the counts
    (leave, _), (_, stay) = trained.scores.confusion
    n_leave, n_stay = trained.scores.totals
    assert trained.scores.part == "validation"
    assert best == float(Fraction(50 * leave + stay, 50 * n_leave + n_stay))


def test_the_loss_of_integer_weights_is_that_of_repeated_samples():
    logits = torch.tensor([[0.5, -1.0], [2.0, 0.25], [0.0, 0.0]], dtype=torch.float64)
    y, weights = torch.tensor([0, 1, 1]), torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)
    repeated = _loss(
        logits.repeat_interleave(weights.long(), 0), y.repeat_interleave(weights.long()), None, SHORT
    )
    assert torch.isclose(_loss(logits, y, weights / weights.mean(), SHORT), repeated)


@pytest.mark.parametrize("weight", [1, 0.3])
def test_equal_weights_are_no_weights(weight):
    X, y = rows()
    plain, equal = (train(X, y, (4,), settings=SHORT, sample_weight=w) for w in (None, [weight] * len(y)))
    assert plain.network == equal.network
    assert plain.history == equal.history
    assert plain.scores == replace(equal.scores, weighted=False)


def test_classes_start_with_the_odds_of_their_weights():
    module = LevelModule.start((4, 3, 3), torch.Generator().manual_seed(0))
    module.expect(np.array([1.0, 8.0, 0.0]))
    low, high, absent = (module.unit * module.bias.detach().double()).tolist()
    assert np.isclose(high - low, np.log(8))
    assert absent == low


def test_a_column_can_hold_the_weights():
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y, w=np.arange(len(y)) % 3)
    trained = train(frame, target="y", hidden=(4,), settings=SHORT, sample_weight="w")
    apart = train(frame[list("abcd")], y, (4,), settings=SHORT, sample_weight=frame["w"])
    assert trained.network == apart.network
    assert trained.network.encoder.names == tuple("abcd")
    with pytest.raises(SugenetError, match="sample_weight='v' is not a column"):
        train(frame, target="y", hidden=(4,), settings=SHORT, sample_weight="v")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1] * 119, r"sample_weight has shape \(119,\), but 120 samples need \(120,\)"),
        (np.ones((120, 1)), "has shape"),
        ([1] * 119 + [-1], r"sample_weight\[119\] is -1.0; it must be a finite number of at least 0"),
        ([nan] + [1] * 119, r"sample_weight\[0\] is nan"),
        ([1, inf] + [1] * 118, r"sample_weight\[1\] is inf"),
        ([0] * 120, "sample_weight is zero for all samples"),
        (["a"] * 120, "holds a value that is not a number"),
    ],
)
def test_wrong_sample_weights_are_named(weights, message):
    X, y = rows()
    with pytest.raises(SugenetError, match=message):
        train(X, y, (4,), settings=SHORT, sample_weight=weights)


def test_rows_of_arrow_tables():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"a": [1, 2, 3]})
    assert taken(table, np.array([0, 2]))["a"].to_pylist() == [1, 3]


# -- classes -------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), min_size=2, max_size=40), st.data())
def test_balanced_classes_have_the_same_total(ranks, data):
    ranks = np.array(ranks)
    size = st.lists(st.integers(1, 9), min_size=len(ranks), max_size=len(ranks))
    weights = data.draw(st.none() | size.map(lambda values: np.array(values, float)))
    each = class_factors("balanced", "abcd", ranks, weights)[ranks] * (1 if weights is None else weights)
    totals = np.bincount(ranks, each)[np.unique(ranks)]
    assert np.allclose(totals, totals[0])
    assert np.isclose(each.sum(), len(ranks) if weights is None else weights.sum())


def test_balanced_agrees_with_scikit_learn():
    utils = pytest.importorskip("sklearn.utils.class_weight")
    ranks = np.array([0, 0, 0, 1, 2, 2])
    theirs = utils.compute_class_weight("balanced", classes=np.arange(3), y=ranks)
    assert np.allclose(class_factors("balanced", "abc", ranks), theirs)


@pytest.mark.parametrize(
    "settings", [{"class_weight": {"leave": 9}}, {"class_weight": {"leave": 9, "stay": 1}}]
)
def test_a_class_weight_is_a_weight_of_each_of_its_samples(settings):
    X, y = rows()
    by_class = train(X, y, (4,), settings=replace(SHORT, **settings))
    by_sample = train(X, y, (4,), settings=SHORT, sample_weight=np.where(y == "leave", 9, 1))
    assert by_class.network == by_sample.network
    assert by_class.history == by_sample.history


def test_class_and_sample_weights_are_factors():
    X, y = rows()
    own = np.random.default_rng(2).integers(1, 4, len(y))
    both = train(X, y, (4,), settings=replace(SHORT, class_weight={"stay": 2}), sample_weight=own)
    product = train(X, y, (4,), settings=SHORT, sample_weight=own * np.where(y == "stay", 2, 1))
    assert both.history == product.history


def test_given_validation_samples_have_the_weights_of_their_classes():
    X, y = rows()
    other = rows(60, seed=5)
    trained = train(
        X, y, (4,), settings=replace(SHORT, class_weight={"leave": 7}), validation=other, test_share=0
    )
    (leave, _), (_, stay) = trained.scores.confusion
    n_leave, n_stay = trained.scores.totals
    kept = trained.history[trained.best_epoch - 1]
    assert kept.validation == float(Fraction(7 * leave + stay, 7 * n_leave + n_stay))


def test_rare_classes_are_found_with_balanced_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=2000) > 2.1, "leave", "stay")
    settings = Settings(epochs=10, batch=64)
    plain, balanced = (
        train(X, y, (8,), settings=replace(settings, class_weight=how), test_share=0.3)
        for how in (None, "balanced")
    )
    assert balanced.scores.balanced_accuracy > plain.scores.balanced_accuracy + 0.1
    assert balanced.scores.recall["leave"] > 0.7
    assert balanced.scores.warning is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"away": 2}, "class_weight names 'away', which is not in y. The classes are leave, stay"),
        ({"stay": 0}, r"class_weight\['stay'\] is 0; it must be a number above 0"),
        ({"stay": -1.0}, "is -1.0; it must be"),
        ({"stay": nan}, "is nan; it must be"),
        ({"stay": inf}, "is inf; it must be"),
        ({"stay": True}, "is True; it must be"),
        ({"stay": "2"}, "is '2'; it must be"),
        ("equal", "class_weight is 'equal'. Give a mapping"),
        (3, "class_weight is 3. Give a mapping"),
    ],
)
def test_wrong_class_weights_are_named(given, message):
    X, y = rows()
    with pytest.raises(SugenetError, match=message):
        train(X, y, (4,), settings=replace(SHORT, class_weight=given))


def test_the_names_of_classes_may_be_texts_or_values():
    ranks = np.array([0, 1])
    for key in (1, 1.0, True, "1"):
        assert class_factors({key: 5}, [0, 1], ranks).tolist() == [1, 5]
    with pytest.raises(SugenetError, match="names the class 1 twice, as 1 and '1'"):
        class_factors({1: 5, "1": 6}, [0, 1], ranks)


def test_other_weights_are_another_run(tmp_path):
    X, y = rows()
    path = tmp_path / "run.checkpoint"
    train(X, y, (4,), settings=replace(SHORT, class_weight="balanced"), checkpoint=path)
    with pytest.raises(SugenetError, match="other data, layers or settings"):
        train(X, y, (4,), settings=SHORT, checkpoint=path)
    again = train(X, y, (4,), settings=replace(SHORT, class_weight="balanced"), checkpoint=path)
    assert len(again.history) == SHORT.epochs


# -- files ---------------------------------------------------------------------------------------------------


def test_weights_from_a_file(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("a,w,y\n1,2,no\n,0,no\n3,0.5,yes\n4,1/3,no\n")
    table = read_table(file, "y", weights="w")
    assert table.names == ("a",)
    assert table.weights == (2, Fraction(1, 2), Fraction(1, 3))
    assert table.X.tolist() == [[1], [3], [4]]
    for text, message in (
        ("-1", "'-1' is not a weight"),
        ("nan", "'nan' is not a weight"),
        ("", "'' is not a weight"),
    ):
        file.write_text(f"a,w,y\n1,{text},no\n2,1,yes\n")
        with pytest.raises(EncodingError, match=f"line 2, column 'w': {message}"):
            read_table(file, "y", weights="w")
    file.write_text("a,w,y\n1,0,no\n2,0,yes\n")
    with pytest.raises(EncodingError, match="'w' is zero in every row"):
        read_table(file, "y", weights="w")
    with pytest.raises(EncodingError, match="named for two things"):
        read_table(file, "y", weights="y")
    with pytest.raises(EncodingError, match="no column 'v'"):
        read_table(file, "y", weights="v")


# -- scores --------------------------------------------------------------------------------------------------


@given(st.integers(2, 4), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=60))
def test_scores_by_definition(size, pairs):
    pairs = [(a % size, b % size) for a, b in pairs]
    names = tuple("abcd"[:size])
    y, answers = (np.array(part) for part in zip(*pairs, strict=True))
    scores = Scores.of(names, y, answers, "test", False)
    assert scores.accuracy == np.mean(y == answers)
    assert scores.baseline == max(np.mean(y == k) for k in range(size))
    shares = {names[k]: float(np.mean(answers[y == k] == k)) if (y == k).any() else None for k in range(size)}
    assert scores.recall == shares
    known = [Fraction(int((answers[y == k] == k).sum()), int((y == k).sum())) for k in set(y.tolist())]
    assert scores.balanced_accuracy == float(sum(known) / len(known))
    assert str(scores).count("no test samples") == size - len(known)
    assert json.loads(json.dumps(scores.data()))["recall"] == shares


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_answers_are_warned_about(constant, weighted):
    y = np.array([0] * 90 + [1] * 10)
    scores = Scores.of(("stay", "leave"), y, np.full(100, constant), "test", weighted)
    assert scores.balanced_accuracy == 0.5
    assert "hardly better than always answering stay" in scores.warning
    assert ('class_weight="balanced"' in scores.warning) == (not weighted)


def test_the_limits_of_the_warning():
    def warned(confusion, weighted=False):
        return Scores(("a", "b"), confusion, "test", weighted).warning is not None

    # 4 more right answers of 4 may be chance, 5 of 5 are not
    assert warned(((90, 0), (6, 4)))
    assert not warned(((90, 0), (5, 5)))
    # 16 more of 64 that differ
    assert warned(((60, 24), (10, 40)))
    assert not warned(((60, 23), (10, 40)))
    # with weights, right answers are not the aim: 55 % of balanced accuracy suffice
    assert not warned(((70, 30), (4, 6)), weighted=True)
    assert warned(((70, 30), (4, 6)))
    assert not warned(((60, 40), (5, 5)), weighted=True)
    assert warned(((59, 41), (5, 5)), weighted=True)


def test_samples_of_one_class_show_nothing():
    assert Scores(("a", "b"), ((3, 1), (0, 0)), "validation").warning == (
        "All validation samples are of class a. Hold out more samples."
    )


def test_a_trained_network_prints_its_scores():
    X, y = rows(300)
    trained = train(X, y, (4,), settings=SHORT)
    assert trained.scores.part == "test"
    assert trained.scores.accuracy == trained.test_accuracy
    assert str(trained.scores) in str(trained)
    assert train(X, y, (4,), settings=SHORT, test_share=0).scores.part == "validation"
    alone = train(X, y, (4,), settings=replace(SHORT, validation_share=0), test_share=0)
    assert alone.scores.part == "training"
    assert alone.scores.accuracy == alone.accuracy
