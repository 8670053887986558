"""`whatif` about several samples: the answers of each alone, and frames with true types."""

from datetime import date

import numpy as np
import pytest

from sugenet.errors import EncodingError, QuestionError
from sugenet.nn import DenseLayer, Encoder, Head, Network, OneHot, Steps
from sugenet.nn.columns import Columns, Preparation
from sugenet.reason import WhatIf, check, each, whatif
from sugenet.sweeps import sweep
from tests.sweeps.drawing import network, table


def test_whatif_of_a_frame_is_the_frame_with_its_changes():
    pd = pytest.importorskip("pandas")
    samples, net = table(8), network()
    answers = whatif(net, samples, "L1")
    assert len(answers) == 8
    for number, answer in enumerate(answers):
        alone = whatif(net, samples.iloc[number], "L1")
        assert (answer.cost, answer.changed) == (alone.cost, alone.changed)
        assert check(answer, net)
    changed = answers.changed()
    more = [*samples["city"].cat.categories, *sorted(set(changed["city"].cat.categories) - {"rome", "oslo"})]
    expected = samples.dtypes.to_dict() | {"city": pd.CategoricalDtype(more)}
    assert changed.dtypes.to_dict() == expected
    assert changed.index.equals(samples.index)
    assert [net.classes[index] for index in net.predict(changed)] == [answer.label for answer in answers]
    frame = answers.to_pandas()
    assert frame["label"].tolist() == [net.classes[index] for index in net.predict(samples)]
    assert frame["label_after"].tolist() == [answer.label for answer in answers]
    assert frame["n_changes"].tolist() == [len(answer.changes()) for answer in answers]
    assert frame["cost"].tolist() == [answer.cost for answer in answers]
    assert frame["is_minimum"].all()
    assert frame["cost (feature)"].tolist() == changed["cost"].tolist()
    assert len(answers.changes()) == frame["n_changes"].sum()


def test_changes_are_made_in_the_columns_of_the_table():
    pd = pytest.importorskip("pandas")
    ranges = ("below 20", "20 up to 40", "40 or more", None)
    codings = {
        "when (days since 1970-01-01)": Steps((18000.0, 18500.0), whole=True),
        "colour": OneHot(("red", "blue", "green")),
        "born (year)": Steps((2000.0, 2010.0), whole=True),
        "born (month)": Steps((6.0,), low=1.0, high=12.0, whole=True),
        "age": OneHot(ranges),
    }
    colours = ("colour_red", "colour_blue", "colour_green")
    features = [
        Preparation(("when",), "days"),
        Preparation(colours, "one-hot"),
        Preparation(("born",), "year"),
        Preparation(("born",), "month"),
        Preparation(("age",), "ranges", cuts=(20.0, 40.0)),
    ]
    columns = Columns(("when", *colours, "born", "age"), tuple(features))
    encoder = Encoder(list(codings.values()), list(codings), columns=columns)
    rng = np.random.default_rng(0)
    layer = DenseLayer(rng.choice([-1, 1], (5, encoder.width)), [5, 4, 5, 6, 4])
    net = Network(encoder, [layer], Head(rng.choice([-1, 1], (2, 5))), classes=["no", "yes"])
    colour = rng.integers(0, 3, 8)
    samples = pd.DataFrame(
        {
            "when": pd.to_datetime(rng.integers(17500, 19000, 8), unit="D"),
            "born": [f"{year}-03-05" for year in rng.integers(1990, 2020, 8)],
            "age": [np.nan, *rng.random(7) * 60],
            **{name: colour == number for number, name in enumerate(colours)},
        }
    )
    answers = whatif(net, samples)
    changed = answers.changed()
    assert [net.classes[index] for index in net.predict(changed)] == [answer.label for answer in answers]
    assert list(changed.columns) == ["when", "age", *colours, "born (year)", "born (month)"]
    assert changed["when"].dtype == samples["when"].dtype
    assert {str(changed[name].dtype) for name in colours} == {"bool"}
    assert (changed[list(colours)].sum(axis=1) == 1).all()
    days = answers.changes().query("feature == 'when'")
    assert all(isinstance(value, date) for name in ("before", "after") for value in days[name])
    texts = whatif(net, samples.assign(when=samples["when"].astype(str))).changed()
    assert texts["when"].tolist() == changed["when"].astype(str).tolist()
    zoned = whatif(net, samples.assign(when=samples["when"].dt.tz_localize("UTC"))).changed()
    assert zoned["when"].tolist() == changed["when"].dt.tz_localize("UTC").tolist()
    frame = sweep(net, samples, WhatIf(each), jobs=1).to_pandas()
    assert frame["when"].tolist() == changed["when"].tolist()
    assert [str(kind) for kind in frame.dtypes[-4:]] == ["category", "int64", "int64", "category"]
    assert [net.classes[index] for index in net.predict(frame.iloc[:, -5:])] == frame["label_after"].tolist()


def test_whatif_of_rows_has_the_types_of_the_network():
    pytest.importorskip("pandas")
    net = network()
    rows = table(4).to_numpy().tolist()
    for several in (rows, [dict(zip(net.encoder.names, row, strict=True)) for row in rows]):
        frame = whatif(net, several).to_pandas()
        assert frame.index.tolist() == [0, 1, 2, 3]
        assert [str(kind) for kind in frame.dtypes[-4:]] == ["int64", "float64", "category", "bool"]
    assert whatif(net, rows[:1]).changed == whatif(net, rows[0]).changed  # one row is one sample
    alone = whatif(net, table(4)[:1])  # a frame stays a frame
    assert len(alone.to_pandas()) == len(alone) == 1
    with pytest.raises(EncodingError, match="one sample is needed"):
        whatif(net, table(4)[:0])


def test_samples_that_the_question_refuses_stay_as_they_are():
    pytest.importorskip("pandas")
    net, samples = network(), table(8)
    answers = whatif(net, samples, target="yes")
    refused = [number for number, label in enumerate(answers.labels) if net.classes[label] == "yes"]
    assert sorted(answers.refusals) == refused != []
    assert all("already" in reason for reason in answers.refusals.values())
    frame = answers.to_pandas()
    assert [number for number, word in enumerate(frame["outcome"]) if word == "refused"] == refused
    assert frame["n_changes"].isna().sum() == len(refused)
    assert answers.changed()["age"].dtype == samples["age"].dtype
    kept = answers.changed().iloc[refused].astype(str)
    assert kept.equals(samples.iloc[refused].astype(str))
    with pytest.raises(QuestionError, match="already"):  # of all of them
        whatif(net, samples.iloc[[refused[0]] * 2], target="yes")
    with pytest.raises(EncodingError, match="age"):
        whatif(net, samples.assign(age=-1))


def test_an_interrupt_keeps_the_answers_before_it():
    def stop(text):
        if text.startswith("sample 3"):
            told.append(text)
        elif told:
            raise KeyboardInterrupt

    told: list[str] = []
    answers = whatif(network(), table(6), "L1", notify=stop)
    assert answers.outcomes()[:2] == ["found", "found"]
    assert answers.outcomes()[3:] == ["missing"] * 3
    assert str(answers).startswith("6 samples: ")
    assert answers.to_pandas()["outcome"].tolist() == answers.outcomes()
