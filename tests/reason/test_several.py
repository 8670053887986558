"""`whatif` about several samples: the answers of each alone, and frames with true types."""

import pytest

from sugenet.errors import EncodingError, QuestionError
from sugenet.reason import check, whatif
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


def test_whatif_of_rows_has_the_types_of_the_network():
    pytest.importorskip("pandas")
    net = network()
    rows = table(4).to_numpy().tolist()
    for several in (rows, [dict(zip(net.encoder.names, row, strict=True)) for row in rows]):
        frame = whatif(net, several).to_pandas()
        assert frame.index.tolist() == [0, 1, 2, 3]
        assert [str(kind) for kind in frame.dtypes[-4:]] == ["int64", "float64", "category", "bool"]
    assert whatif(net, rows[:1]).changed == whatif(net, rows[0]).changed  # one row is one sample
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
