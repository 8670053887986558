"""Tsetlin machines and look-up tables: equal to their definition, questions, refusals."""

import importlib
from collections import Counter
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import FileError
from sugenet.io import from_tables, from_tsetlin
from sugenet.io.tables.reader import cover, threshold_of
from sugenet.nn import Encoder, OneHot, threshold
from sugenet.reason import ask, check
from tests.fuzzing import truth_tables, tsetlin_machines

needs_tmu = pytest.mark.skipif(not tsetlin_machines.has_tmu(), reason="tmu is not installed")
XOR = [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]


def functions(k):
    for values in product((False, True), repeat=1 << k):
        yield np.array(values).reshape([2] * k)


# -- equality ------------------------------------------------------------------------------------------------


def test_random_machines_are_read_as_defined():
    assert all(map(tsetlin_machines.compare, range(60)))


def test_random_tables_are_read_as_defined():
    assert all(map(truth_tables.compare, range(60)))


@pytest.mark.slow
def test_many_more():
    assert all(map(tsetlin_machines.compare, range(1000, 2000)))
    assert all(map(truth_tables.compare, range(1000, 2000)))


@needs_tmu
def test_models_of_tmu_are_read_as_they_predict():
    assert all(map(tsetlin_machines.compare_tmu, range(20)))


@needs_tmu
@pytest.mark.slow
def test_many_more_models_of_tmu():
    assert all(map(tsetlin_machines.compare_tmu, range(1000, 2000)))


@pytest.mark.parametrize("inputs", [63, 64, 65])
def test_clauses_of_one_word_and_more(inputs):
    random = np.random.default_rng(inputs)
    include = (random.random((7, 2 * inputs)) < 0.05).astype(int)
    weights = random.integers(-3, 4, (3, 7))
    net, X = from_tsetlin(include, weights), random.integers(0, 2, (50, inputs))
    X[:7] = include[:, :inputs]  # each clause without contradictions holds in one of them
    expected = [tsetlin_machines.votes_of(include, weights, row, None) for row in X]
    assert net.logits(X).tolist() == expected


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_every_table_of_few_inputs(k):
    """A cover is its function, and the threshold functions are as many as are known."""
    found = 0
    for cube in functions(k):
        points = np.indices(cube.shape).reshape(k, -1).T if k else np.zeros((1, 0), int)
        covered = [
            any(all(t in (2, v) for t, v in zip(term, p, strict=True)) for term in cover(cube))
            for p in points
        ]
        assert covered == cube.reshape(-1).tolist()
        form = threshold_of(cube)
        if form is not None:
            found += 1
            assert (points @ form[0] >= form[1]).tolist() == covered
    assert found == {0: 2, 1: 4, 2: 14, 3: 104}[k]


@pytest.mark.slow
def test_every_threshold_function_of_four_inputs():
    assert sum(threshold_of(cube) is not None for cube in functions(4)) == 1882


# -- questions -----------------------------------------------------------------------------------------------


def test_all_questions_about_a_machine_speak_of_raw_features():
    encoder = Encoder([threshold(14.5, 0, 30), OneHot(("left", "right"))], ["radius", "side"])
    include = [[1, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0]]
    net = from_tsetlin(include, [[0, 2, 1], [3, -1, 0]], booleanizer=encoder, classes=["benign", "malignant"])
    x = [20.0, "right"]
    assert net.predict_one(x) == "malignant"
    monotone = sg.Monotone("radius", "malignant")
    questions = (sg.Robust(x, sg.Hamming(1)), monotone, sg.Always("malignant"), sg.Count())
    for answer in (sg.why(net, x), sg.whatif(net, x), *(ask(net, question) for question in questions)):
        assert check(answer, net), answer
    assert "side from right to left" in str(sg.whatif(net, x))
    rules = sg.rulebook(net)
    assert "radius" in str(rules)
    assert check(rules, net)


def test_all_questions_about_tables():
    parity = [0, 1, 1, 0, 1, 0, 0, 1]
    layers = [([[0, 1, 2], [2, 3]], [parity, [0, 1, 1, 1]]), ([[0, 1]], [[0, 0, 0, 1]])]
    ages = [[18, 65], 3.5, 1.5]
    net = from_tables(
        layers, [[0], [1]], booleanizer=ages, inputs=sg.Reals(0, 99), names=["age", "dose", "days"]
    )
    x = [30, 4.0, 2.0]
    questions = (sg.Robust(x, sg.Hamming(1)), sg.Monotone("days"), sg.Always(1), sg.Count())
    for answer in (sg.why(net, x), sg.whatif(net, x), *(ask(net, question) for question in questions)):
        assert check(answer, net), answer
    assert check(sg.rulebook(net), net)
    counts = Counter(net.predict([[a, d, t] for a in (0, 18, 65) for d in (0, 4) for t in (0, 2)]).tolist())
    assert sum(counts.values()) == 12
    assert str(counts[1]) in str(sg.count(net))


def test_a_machine_and_its_tables_are_proved_equal():
    machine = from_tsetlin(XOR, [1, 1, -1, -1])
    tables = from_tables([([[0, 1]], [[0, 1, 1, 0]])], [[0], [1]])
    answer = sg.verify(machine, sg.Agree(tables))
    assert isinstance(answer, sg.Proved)
    assert check(answer, machine)


def test_an_empty_clause_is_off_and_ties_go_to_the_lowest_class():
    net = from_tsetlin(np.zeros((2, 4), int), [[-1, -1], [5, 5]])
    assert net.logits([[0, 1]]).tolist() == [[0, 0]]
    assert net.predict([[0, 1]]).tolist() == [0]
    assert from_tsetlin(np.zeros((2, 4), int), [5, 5]).predict([[0, 1]]).tolist() == [1], (
        "a sum of 0 is class 1"
    )


def test_a_contradictory_clause_is_off():
    assert from_tsetlin([[1, 1]], [[0], [5]]).predict([[0], [1]]).tolist() == [0, 0]


def test_a_clamp_that_saturates_makes_ties():
    include = [[1, 0], [1, 0]]
    assert from_tsetlin(include, [[1, 1], [2, 2]]).predict([[1]]).tolist() == [1]
    clamped = from_tsetlin(include, [[1, 1], [2, 2]], clamp=2)
    assert clamped.predict([[1]]).tolist() == [0]
    assert clamped.logits([[1]]).tolist() == [[2, 2]]
    free = from_tsetlin(include, [[1, 1], [2, 2]], clamp=4)
    assert free.layers[1:] == ()
    assert "clamp of 4 changes no class" in str(free.report)


def test_one_hot_bins():
    sklearn = pytest.importorskip("sklearn.preprocessing")
    random = np.random.default_rng(1)
    X = np.round(random.normal(size=(80, 3)), 1)
    bins = sklearn.KBinsDiscretizer(
        3, encode="onehot", strategy="quantile", quantile_method="averaged_inverted_cdf"
    ).fit(X)
    width = bins.transform(X).shape[1]
    include, weights = (random.random((6, 2 * width)) < 0.2).astype(int), random.integers(-3, 4, (3, 6))
    net = from_tsetlin(include, weights, booleanizer=bins)
    expected = [tsetlin_machines.votes_of(include, weights, row, None) for row in bins.transform(X).toarray()]
    assert net.logits(X).tolist() == expected
    assert net.encoder.features == 3
    assert "next to them" in str(net.report)


def test_a_booleanizer_object_is_compared():
    class Binarizer:
        unique_values = (np.array([1.0, 2.0]), np.array([0.5]))

        def __init__(self, shift):
            self.shift = shift

        def transform(self, X):
            return np.stack([X[:, 0] >= 1, X[:, 0] >= 2, X[:, 1] >= 0.5 + self.shift], axis=1).astype(float)

    include = [[1, 0, 1, 0, 1, 0]]
    net = from_tsetlin(include, [[0], [1]], booleanizer=Binarizer(0))
    assert net.predict([[1.0, 0.5], [2.0, 0.5]]).tolist() == [1, 0]
    with pytest.raises(FileError, match="the booleanizer gives 0 for Boolean input 2"):
        from_tsetlin(include, [[0], [1]], booleanizer=Binarizer(0.25))


def test_images_have_named_pixels():
    net = from_tsetlin(
        np.eye(8, dtype=int), np.eye(8, dtype=int), booleanizer=76, inputs=sg.Integers(0, 255), image=(2, 2)
    )
    assert net.encoder.names[3] == "pixel (1,1)"
    assert net.predict([[[255, 0], [0, 0]]]).tolist() == [0]


def test_tables_of_several_bits_and_binary_scores():
    """Two bits per table, and scores in two's complement."""
    entries = [[k & 1, k >> 1] for k in range(4)]
    net = from_tables([([[0, 1], [2, 3]], [entries, entries])], [[1, -2, 0, 0], [0, 0, 1, -2]])
    for row in product((0, 1), repeat=4):
        assert net.logits([row]).tolist() == [[row[0] - 2 * row[1], row[2] - 2 * row[3]]]


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        (([[1, 0]],), {}, "weights= is missing"),
        (([[1, 0, 1]], [[1], [1]]), {}, "3 literals, but each input has two"),
        (([[1, 2]], [[1], [1]]), {}, "other numbers than 0 and 1"),
        (([[1, 0]], [[1, 1], [1, 1]]), {}, r"the shape is \(2, 2\), but the clauses need \(1,\) or"),
        (([[[1, 0]]], [[1]]), {}, "one class"),
        (([[1, 0]], [[0.5], [1]]), {}, "weights"),
        (([[1, 0]], [[1 << 31], [1]]), {}, r"2\^31"),
        (([[1, 0]], [[1], [1]]), {"clamp": 0}, "clamp=0 is not a positive integer"),
        (([[1, 0]], [[1], [1]]), {"booleanizer": [[1, 2]]}, "makes 2 Booleans, but the model reads 1"),
        (([[1, 0]], [[1], [1]]), {"booleanizer": [np.inf]}, "threshold of feature 0"),
        (([[1, 0]], [[1], [1]]), {"inputs": sg.Integers(0, 3)}, "reads bits"),
        (([[1, 0]], [[1], [1]]), {"inputs": sg.Bits(), "booleanizer": 2}, "Leave one out"),
        (([[1, 0]], [[1], [1]]), {"inputs": sg.Integers(0, 3, step=2), "booleanizer": 2}, "raw numbers"),
    ],
)
def test_machines_that_are_refused(given, options, text):
    with pytest.raises(FileError, match=text):
        from_tsetlin(*given, **options)


@pytest.mark.parametrize(
    ("layers", "votes", "options", "text"),
    [
        ([], [[1]], {}, "no layers"),
        ([([[0]], [[0, 1], [1, 0]])], [[1]], {}, "1 rows of connections and 2 tables"),
        ([([[0, 1]], [[0, 1]])], [[1]], {}, "2 entries, but 2 connections need 4"),
        ([([[0]], [[0, 2]])], [[1]], {}, "entries must be 0 or 1"),
        ([([[3]], [[0, 1]])], [[1]], {"features": 2}, "numbered from 0 to 1"),
        ([([[0]], [[0, 1]]), ([[1]], [[0, 1]])], [[1]], {}, "layer 2: table 1: connections"),
        ([([[0.5]], [[0, 1]])], [[1]], {}, "row of integers"),
        ([([list(range(13))], [[0] * 8192])], [[1]], {}, "At most 12"),
        ([([[0]], [[0, 1]])], [[1, 1]], {}, "2 columns, but the last layer 1 bits"),
        ([([[0]], [[0, 1]])], [[1], [1]], {"bias": [1]}, "1 numbers in bias for 2 classes"),
        ([([[0]], [[0, 1]])], [[1 << 60], [1]], {}, r"2\^53"),
        ([([[]], [[1]])], [[1], [1]], {}, "no table reads an input"),
    ],
)
def test_tables_that_are_refused(layers, votes, options, text):
    with pytest.raises(FileError, match=text):
        from_tables(layers, votes, **options)


@needs_tmu
def test_models_of_tmu_that_are_refused():
    vanilla = importlib.import_module("tmu.models.classification.vanilla_classifier").TMClassifier
    regressor = importlib.import_module("tmu.models.regression.vanilla_regressor").TMRegressor
    X, Y = np.random.default_rng(0).integers(0, 2, (2, 20, 4), np.uint32)
    with pytest.raises(FileError, match="not fitted"):
        from_tsetlin(vanilla(4, 5, 2.0))
    with pytest.raises(FileError, match="only TMClassifier and TMCoalescedClassifier"):
        from_tsetlin(regressor(4, 5, 2.0))
    model = vanilla(4, 5, 2.0, seed=1)
    model.fit(X, np.ascontiguousarray(Y[:, 0]))
    with pytest.raises(FileError, match="clamp=4, but the model has T=5"):
        from_tsetlin(model, clamp=4)
    with pytest.raises(FileError, match="has its own"):
        from_tsetlin(model, [1])
    model = vanilla(4, 5, 2.0, patch_dim=(2, 1), seed=1)
    model.fit(X, np.ascontiguousarray(Y[:, 0]))
    with pytest.raises(FileError, match="convolutional clauses"):
        from_tsetlin(model)


def test_kinds_of_random_machines():
    """The generator makes machines of every kind."""
    from random import Random

    kinds = Counter(
        (np.ndim(i), np.ndim(w)) for i, w in (tsetlin_machines.machine_of(Random(s), 3) for s in range(40))
    )
    assert len(kinds) == 3
