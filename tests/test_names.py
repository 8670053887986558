"""Samples with names are read by name, whatever the order of their columns, or refused;
samples without names by their order.
"""

import re
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import EncodingError, FileError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, integer, threshold
from sugenet.nn.samples import named_rows
from sugenet.reason.reasons.chain import trace_reasons
from sugenet.web.asking import ask

NAMES = ("age", "dose", "side")
ENCODER = Encoder([integer(0, 4), threshold(0.5, 0, 1), OneHot(("left", "right"))], NAMES)
NETWORK = Network(
    ENCODER,
    [DenseLayer([[1, 1, 1, 1, -1, 1, -1], [1, 1, -1, -1, 1, -1, 1]], [3, 4])],
    Head([[1, -1], [-1, 1]]),
    ["no", "yes"],
)
ROWS = [[3, 0.25, "left"], [0, 0.75, "right"], [4, 1.0, "left"], [1, 0.0, "right"]]


class Frame:
    """As much of a data frame as is needed: columns, and the values beneath them."""

    def __init__(self, rows, columns):
        self.rows, self.columns = [list(row) for row in rows], list(columns)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, name):
        return np.array([row[self.columns.index(name)] for row in self.rows])


class Series:
    """As much of a named row as is needed."""

    def __init__(self, values, index):
        self.values, self.index = list(values), list(index)

    def to_numpy(self):
        return np.array(self.values, object)


def turned(row):
    return list(reversed(row))


def pandas_frame(rows, columns):
    return pytest.importorskip("pandas").DataFrame(rows, columns=columns)


def polars_frame(rows, columns):
    return pytest.importorskip("polars").DataFrame(rows, schema=list(columns), orient="row")


def arrow_table(rows, columns):
    arrow = pytest.importorskip("pyarrow")
    return arrow.table(
        {name: list(cells) for name, cells in zip(columns, zip(*rows, strict=True), strict=True)}
    )


def records(rows, columns):
    kinds = {"age": int, "dose": float, "side": "U8"}
    return np.array([tuple(row) for row in rows], dtype=[(name, kinds.get(name, float)) for name in columns])


def dicts(rows, columns):
    return [dict(zip(columns, row, strict=True)) for row in rows]


def named_tuples(rows, columns):
    kind = namedtuple("Row", columns)
    return [kind(*row) for row in rows]


TABLES = [Frame, pandas_frame, polars_frame, arrow_table, records, dicts, named_tuples]


@pytest.mark.parametrize("table", TABLES)
def test_batches_are_read_by_name(table):
    plain, other = table(ROWS, NAMES), table([turned(row) for row in ROWS], turned(NAMES))
    for method in (
        NETWORK.predict,
        NETWORK.logits,
        NETWORK.match_counts,
        NETWORK.probability,
        ENCODER.encode,
        ENCODER.levels,
    ):
        expected = method(ROWS)
        assert (method(plain) == expected).all()
        assert (method(other) == expected).all()
    for engine in ("definition", "numpy"):
        assert (NETWORK.match_counts(other, engine=engine) == NETWORK.match_counts(ROWS)).all()
    assert all((a == b).all() for a, b in zip(NETWORK.hidden(other), NETWORK.hidden(ROWS), strict=True))


def pandas_series(values, index):
    return pytest.importorskip("pandas").Series(values, index=index, dtype=object)


ONES = [
    Series,
    pandas_series,
    lambda row, names: dict(zip(names, row, strict=True)),
    lambda row, names: Frame([row], names),
    lambda row, names: namedtuple("Row", names)(*row),
    lambda row, names: records([row], names)[0],
]


@pytest.mark.parametrize("one", ONES)
@pytest.mark.parametrize("row", ROWS[:2])
def test_questions_are_read_by_name(one, row):
    for x in (one(row, NAMES), one(turned(row), turned(NAMES))):
        assert np.ravel(NETWORK.predict(x)).tolist() == NETWORK.predict([row]).tolist()
        assert NETWORK.predict_one(x) == NETWORK.predict_one(row)
        found = NETWORK.trace(x)
        found = found[0] if isinstance(found, list) else found
        assert found.matches.tolist() == NETWORK.trace([row])[0].matches.tolist()
        for region in (sg.AnyInput(), sg.Free(["dose"]), sg.Box({"age": (0, 4)}), sg.L0(1)):
            ours, theirs = (sg.verify(NETWORK, sg.Robust(given, region)) for given in (x, row))
            assert (type(ours), ours.certificate["question"]) == (
                type(theirs),
                theirs.certificate["question"],
            )
        answer = sg.whatif(NETWORK, x)
        answer = answer[0] if isinstance(answer, sg.Counterfactuals) else answer
        assert answer.changed == sg.whatif(NETWORK, row).changed
        assert sg.why(NETWORK, x).reasons[0].features == sg.why(NETWORK, row).reasons[0].features
        assert sg.count(NETWORK, x, sg.L0(1)).counts == sg.count(NETWORK, row, sg.L0(1)).counts
        assert str(trace_reasons(NETWORK, x)) == str(trace_reasons(NETWORK, row))
        assert str(sg.show.view_neuron(NETWORK, 1, 1, sample=x)) == str(
            sg.show.view_neuron(NETWORK, 1, 1, sample=row)
        )
        assert sg.show.sample_figure(NETWORK, x) == sg.show.sample_figure(NETWORK, row)


def test_rules_comparisons_and_the_page_read_by_name():
    other = Frame([turned(row) for row in ROWS], turned(NAMES))
    book = sg.rulebook(NETWORK)
    assert book.predict(other) == book.predict(ROWS)
    said = sg.verify_against(NETWORK, NETWORK.predict, other, prepare=lambda x: x)
    assert str(said).startswith("equal on 4 samples")
    pages = [sg.web.payload(NETWORK, X, title="t")["samples"] for X in (other, ROWS)]
    assert pages[0] == pages[1]


NUMBERS = Network.of_bits([DenseLayer([[1, 1, -1], [1, -1, 1]], [2, 1])], Head([[1, -1], [-1, 1]]))


def test_frames_made_without_names_are_read_by_number():
    X = [[1, -1, 1], [1, 1, -1]]
    expected = NUMBERS.predict(X).tolist()
    assert NUMBERS.predict(Frame(X, range(3))).tolist() == expected
    assert NUMBERS.predict(Frame([turned(row) for row in X], [2, 1, 0])).tolist() == expected
    assert NUMBERS.predict(Frame([turned(row) for row in X], ["x3", "x2", "x1"])).tolist() == expected


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        (
            ["a", "b", "c"],
            r"lack 'x1', 'x2', 'x3' and have 'a', 'b', 'c', which the network does not know.*X.to_numpy\(\)",
        ),
        (["x1", "x2"], "lack 'x3'. "),
        (["x1", "x2", "x3", "label"], "have 'label', which the network does not know"),
        (["x1", "x2", "x2"], "two columns 'x2'"),
        ([1, 2, 3], "lack 'x1', 'x2', 'x3' and have '1', '2', '3'"),
        ([0, 1, True], "lack 'x1'"),
    ],
)
def test_other_names_are_refused(columns, match):
    row = [1] * len(columns)
    for asked in (
        lambda: NUMBERS.predict(Frame([row], columns)),
        lambda: sg.whatif(NUMBERS, Series(row, columns)),
        lambda: sg.verify(NUMBERS, sg.Robust(Series(row, columns), sg.L0(1))),
        lambda: NUMBERS.trace(Series(row, columns)),
    ):
        with pytest.raises(EncodingError, match=match):
            asked()


def test_all_samples_of_a_list_have_names_or_none():
    with pytest.raises(EncodingError, match="some samples have names and some have none"):
        NUMBERS.predict([{"x1": 1, "x2": 1, "x3": 1}, [1, 1, 1]])


def test_exact_values_stay_exact():
    x = {"dose": Fraction(1, 3), "side": "left", "age": 2}
    assert ENCODER.values(x) == [2, Fraction(1, 3), "left"]
    large = Encoder([threshold(2.0**60), threshold(0.5)], ["count", "share"])
    assert large.rows(Frame([[0.5, 2**60 - 1]], ["share", "count"])).tolist() == [[2**60 - 1, 0.5]]
    assert named_rows(Frame([[1, 2]], range(2)))[1] is None
    assert named_rows([[1, 2]])[1] is None
    assert named_rows([x])[1] == ["dose", "side", "age"]


# -- where networks are learned ------------------------------------------------------------------------------


def test_learned_networks_keep_the_names_of_the_columns():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3)).round(3)
    frame = Frame(X.tolist(), ["a", "b", "c"])
    assert sg.fit.learn_encoder(frame).names == ("a", "b", "c")
    assert sg.fit.learn_encoder(Frame(X.tolist(), range(3))).names == ("x1", "x2", "x3")
    assert sg.fit.learn_encoder(X, names=["u", "v", "w"]).names == ("u", "v", "w")
    with pytest.raises(EncodingError, match="lack 'u'"):
        sg.fit.learn_encoder(frame, names=["u", "v", "w"])
    pytest.importorskip("torch")
    y = (X[:, 0] > 0.5).astype(int)
    settings = sg.fit.Settings(epochs=2)
    trained = sg.fit.train(
        frame, y, hidden=(4,), settings=settings, validation=(Frame(X[:, ::-1].tolist(), ["c", "b", "a"]), y)
    )
    plain = sg.fit.train(X, y, hidden=(4,), settings=settings, names=["a", "b", "c"], validation=(X, y))
    assert trained.network == plain.network
    assert (
        trained.network.predict(Frame(X[:, ::-1].tolist(), ["c", "b", "a"])) == plain.network.predict(X)
    ).all()


def test_estimators_refuse_columns_that_are_not_theirs():
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("sklearn")
    pytest.importorskip("torch")
    from sugenet.fit.estimators import BNNClassifier, FeatureBinarizer

    rng = np.random.default_rng(0)
    X = rng.random((60, 3)).round(3)
    y = (X[:, 0] > 0.5).astype(int)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    for columns in (["c", "b", "a"], ["a", "b", "d"]):
        classifier = BNNClassifier(hidden=(4,), epochs=2, random_state=0).fit(frame, y)
        binarizer = FeatureBinarizer().fit(frame)
        other = frame.rename(columns={"c": "d"}) if "d" in columns else frame[columns]
        for method in (
            classifier.predict,
            classifier.predict_proba,
            classifier.decision_function,
            binarizer.transform,
        ):
            with pytest.raises(ValueError, match="feature names should match"):
                method(other)
    named = BNNClassifier(hidden=(4,), epochs=2, random_state=0).fit(X, y)
    for method in (named.predict, named.predict_proba):
        with pytest.raises(EncodingError, match="lack 'x1', 'x2', 'x3' and have 'a', 'b', 'c'"):
            method(frame)
        assert (method(pandas.DataFrame(X)) == method(X)).all()
        assert (method(pandas.DataFrame(X)[[2, 0, 1]]) == method(X)).all()
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        FeatureBinarizer().fit(X).transform(frame)
    encoder = sg.fit.learn_encoder(frame)
    with pytest.raises(EncodingError, match="not in the order of the encoder's features"):
        BNNClassifier(hidden=(4,), epochs=2, encoder=encoder).fit(frame[["c", "b", "a"]], y)


# -- files and requests --------------------------------------------------------------------------------------


def test_csv_columns_are_read_by_name_or_refused(tmp_path):
    path = tmp_path / "X.csv"
    path.write_text("side,dose,age\n" + "\n".join(",".join(map(str, turned(row))) for row in ROWS))
    assert (NETWORK.predict(sg.io.read_samples(path, NETWORK)[0]) == NETWORK.predict(ROWS)).all()
    path.write_text("\n".join(",".join(map(str, row)) for row in ROWS))
    assert (NETWORK.predict(sg.io.read_samples(path, NETWORK)[0]) == NETWORK.predict(ROWS)).all()
    path.write_text("c,b,a\n1,1,-1\n1,-1,1\n")
    with pytest.raises(
        FileError,
        match="its first line, c, b, a, is neither a sample nor the names of the features, "
        "which are x1, x2, x3",
    ):
        sg.io.read_samples(path, NUMBERS)


def test_requests_may_name_the_features():
    region = {"kind": "L0", "radius": "1"}
    asked = [
        ask(NETWORK, {"kind": "verify", "sample": sample, "region": region})["sentence"]
        for sample in (ROWS[0], {"side": "left", "age": 3, "dose": 0.25})
    ]
    assert asked[0] == asked[1]
    with pytest.raises((QuestionError, EncodingError), match="lack 'dose'"):
        ask(NETWORK, {"kind": "verify", "sample": {"side": "left", "age": 3}, "region": region})


def test_tables_that_lie_the_wrong_way_are_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS[:3], columns=list(NAMES))
    with pytest.raises(EncodingError, match=r"names of the features are those of the rows.*X\.T"):
        NETWORK.predict(
            frame.T
        )  # as many samples as features: its columns 0, 1, 2 are no numbers of features
    with pytest.raises(EncodingError, match="series with the name 'age' is one column"):
        NETWORK.predict(frame["age"])
    with pytest.raises(EncodingError, match="series with the name 'age' is one column"):
        NETWORK.trace(frame["age"])
    for sample in (
        frame.iloc[0],
        pandas.Series(ROWS[0]),
        frame.set_index(pandas.Index(["age", "b", "c"])).iloc[0],
    ):
        assert NETWORK.predict(sample) == NETWORK.predict(ROWS[:1])[0]
    square = frame.set_axis(list(NAMES), axis=0)  # rows and columns with the same names: columns are features
    assert NETWORK.predict(square).tolist() == NETWORK.predict(ROWS[:3]).tolist()


def test_limits_and_prices_with_names_are_read_by_name():
    pandas = pytest.importorskip("pandas")
    limits = pandas.Series({"dose": (0, 1), "age": 3})  # its values alone would look like limits of feature 0
    assert sg.Box(limits) == sg.Box({"dose": (0, 1), "age": 3})
    assert str(sg.verify(NETWORK, sg.Always("no", limits))) == str(
        sg.verify(NETWORK, sg.Always("no", sg.Box(limits)))
    )
    assert sg.Prices(pandas.Series({"dose": 2, "age": 1})) == sg.Prices({"dose": 2, "age": 1})
    for wrong in (pandas.DataFrame({"age": [0, 1], "dose": [0, 1]}), "age", ["ab"], [1, 2], 3):
        with pytest.raises(QuestionError, match="are needed by feature"):
            sg.Box(wrong)
        with pytest.raises(QuestionError, match="are needed by feature"):
            sg.Prices(wrong)


def test_columns_in_a_dict_are_not_one_sample():
    with pytest.raises(EncodingError, match=r"one sample, but 'age' has 4 values\. Give .* a list of dicts"):
        NETWORK.predict(dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))


def test_one_name_needs_no_brackets():
    assert sg.Free("dose") == sg.Free(["dose"])
    assert sg.whatif(NETWORK, ROWS[0], keep="age").question.keep == ("age",)


def test_rows_of_different_lengths_are_no_table():
    network = Network.of_bits([], Head([[1, 1], [-1, 1]]))
    with pytest.raises(EncodingError, match="the samples make no table"):
        network.predict([[1, 0], [1]])


# -- every verb once more ------------------------------------------------------------------------------------


def said_of_all(given, each_row):
    """What every verb says of the first sample, and of all of them."""
    x, region = each_row, sg.L0(1)
    found = sg.sweep(NETWORK, given, sg.WhatIf(sg.each), jobs=1)
    yield NETWORK.predict(given).tolist()
    yield from (str(found.answer(sample)) for sample in range(len(ROWS)))
    for question in (
        sg.Predict(x),
        sg.Robust(x, region),
        sg.WhatIf(x, sg.L1),
        sg.Why(x, region),
        sg.Count(x, region),
    ):
        yield str(sg.reason.ask(NETWORK, question))
    yield str(NETWORK.trace(x))
    yield str(sg.show.view_predictions(NETWORK, given))
    yield str(sg.show.view_trace(NETWORK, x))
    yield [meter.matches for meter in sg.show.match_meters(NETWORK, x, region=region).meters]
    yield sg.web.payload(NETWORK, given, title="t")["samples"]
    yield re.sub(r'"seconds": [^,}]*', "", sg.show.report(NETWORK, x))


def test_reversed_columns_change_nothing_for_any_verb():
    expected = list(said_of_all(ROWS, ROWS[0]))
    reversed_rows, columns = [turned(row) for row in ROWS], turned(NAMES)
    for table, one in ((Frame, Series), (dicts, lambda row, names: dicts([row], names)[0])):
        assert list(said_of_all(table(reversed_rows, columns), one(reversed_rows[0], columns))) == expected


def test_trees_are_read_by_the_names_that_they_were_fitted_to():
    pandas, trees = pytest.importorskip("pandas"), pytest.importorskip("sklearn.tree")
    network = Network(
        Encoder([integer(0, 4), threshold(0.5, 0, 1)], ["age", "dose"]), [], Head([[1] * 5, [-1] * 5])
    )
    X = pandas.DataFrame([[age, dose] for age in range(5) for dose in (0.0, 1.0)], columns=["age", "dose"])
    y = network.predict(X)
    plain, turned_tree = (
        {
            str(rule)
            for rule in sg.reason.rules_of_tree(
                network, trees.DecisionTreeClassifier(random_state=0).fit(table, y)
            )
        }
        for table in (X.to_numpy(), X[["dose", "age"]])
    )
    assert plain == turned_tree
    wrong = trees.DecisionTreeClassifier().fit(X.rename(columns={"dose": "amount"}), y)
    with pytest.raises(EncodingError, match="lack 'dose' and have 'amount'"):
        sg.check_rule(network, wrong)
