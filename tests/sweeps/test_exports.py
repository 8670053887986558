"""CSV, Parquet and data frames of results: read back, they say what the rows say."""

import csv
import io
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import FileError, QuestionError, SugenetError
from sugenet.files import write_text
from sugenet.reason import Predict, WhatIf, check, each
from sugenet.sweeps import read_results, sweep
from sugenet.sweeps.results import COLUMNS, answer_columns, arrow_table, csv_text
from tests.sweeps.drawing import network, row, rows, table

CLASSES = ['a, "quoted"\r\nclass', "=1+1\u2028é"]
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=4)


def swept(n, store=None):
    y = ["yes", "no"] * (n // 2)
    return sweep(network(), table(n), WhatIf(each, "L1"), y=y, store=store, jobs=1)


@given(rows(["proved", "refuted", "undecided"]), st.lists(names, min_size=2, max_size=2))
def test_csv_read_back_is_what_was_written(drawn, classes):
    found, samples = drawn
    read = list(
        csv.reader(io.StringIO(csv_text(answer_columns(found, samples, classes)), newline=""), strict=True)
    )
    assert read[0] == list(COLUMNS)
    by_sample = {one.sample: one for one in found}
    assert len(read) == samples + 1
    for sample, cells in enumerate(read[1:]):
        said = dict(zip(COLUMNS, cells, strict=True))
        one = by_sample.get(sample)
        assert said["sample"] == str(sample)
        if one is None:
            assert said["outcome"] == "missing"
            assert not any(cells[2:])
            continue
        assert said["label"] == classes[one.index]
        assert said["true_label"] == ("" if one.truth is None else classes[one.truth])
        assert said["right"] == ("" if one.truth is None else str(one.truth == one.index).lower())
        assert float(said["seconds"]) == one.seconds
        assert said["certified"] == str(one.certified).lower()


def test_lines_of_csv_end_as_its_standard_says():
    assert csv_text(answer_columns([row(0)], 2, CLASSES)).count("\r\n") == 5  # two of them inside quotes
    assert csv_text(answer_columns([row(0)], 2, ["a", "b"])).replace("\r\n", "").count("\n") == 0


def test_an_arrow_table_says_what_the_rows_say():
    pytest.importorskip("pyarrow")
    found = [
        row(0, "found", cost="7/3", lower="1" + "0" * 40, seconds=0.1),
        row(2, index=1, truth=None, time_limit=2.5),
    ]
    columns = answer_columns(found, 4, CLASSES)
    table = arrow_table(columns, {"network": "abc"})
    assert table.column_names == list(COLUMNS)
    costs = ("cost", "lower")
    assert all(table[name].to_pylist() == columns[name].values for name in COLUMNS if name not in costs)
    assert Fraction(table["cost"][0].as_py()) == Fraction(7, 3)
    assert table.schema.metadata[b"network"] == b"abc"
    assert str(table.schema.field("seconds").type) == "double"
    assert table["label"].chunk(0).dictionary.to_pylist() == CLASSES
    assert arrow_table(answer_columns([], 0, CLASSES), {}).num_rows == 0


def test_without_the_library_the_error_says_what_to_install(tmp_path, monkeypatch):
    results = swept(2)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SugenetError, match=r'pip install "\.\[parquet\]"'):
        results.write_parquet(tmp_path / "r.parquet")
    assert list(tmp_path.iterdir()) == []
    for frame in (results.to_pandas, results.changes):
        with pytest.raises(SugenetError, match="a data frame requires pandas: pip install pandas"):
            frame()


def test_what_cannot_be_written_leaves_what_was_there(tmp_path):
    (tmp_path / "r.csv").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write_text(tmp_path / "r.csv", csv_text(answer_columns([row(0)], 1, CLASSES)))
    file = tmp_path / "kept.csv"
    file.write_text("before")
    with pytest.raises(IndexError):  # a row of a class that there is not: nothing is written
        write_text(file, csv_text(answer_columns([replace(row(0), index=9)], 1, CLASSES)))
    assert file.read_text() == "before"


# -- data frames ---------------------------------------------------------------------------------------------


def test_a_frame_has_one_row_per_sample_with_true_types(tmp_path):
    pd = pytest.importorskip("pandas")
    samples = table(6)
    results = swept(6, tmp_path / "r.db")
    frame = results.to_pandas()
    assert frame.index.equals(samples.index)
    assert list(frame.columns[: len(COLUMNS)]) == list(COLUMNS)
    assert list(frame.columns[len(COLUMNS) :]) == [
        *("label_after", "n_changes", "is_minimum", "age", "cost (feature)", "city", "owner"),
    ]
    kinds = {name: str(frame[name].dtype) for name in frame}
    assert kinds["outcome"] == "string"
    assert kinds["label"] == kinds["true_label"] == kinds["label_after"] == kinds["city"] == "category"
    assert kinds["sample"] == kinds["n_changes"] == kinds["age"] == "int64"
    assert kinds["right"] == kinds["is_minimum"] == kinds["owner"] == "bool"
    assert kinds["seconds"] == kinds["cost (feature)"] == "float64"
    assert list(frame["label"].cat.categories) == ["no", "yes"]
    for sample, answer in enumerate(results.answers()):
        said = frame.iloc[sample]
        assert (said["outcome"], said["cost"], said["lower"]) == ("found", answer.cost, answer.lower)
        assert (said["label_after"], said["n_changes"]) == (answer.label, len(answer.changes()))
        assert tuple(said[["age", "cost (feature)", "city", "owner"]]) == answer.example
        assert check(answer, network())
    read = read_results(tmp_path / "r.db").to_pandas()
    assert read.index.tolist() == list(range(6))
    pd.testing.assert_frame_equal(read, frame.reset_index(drop=True))


def test_parquet_and_csv_have_the_columns_of_the_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    parquet = pytest.importorskip("pyarrow.parquet")
    results = swept(6)
    frame = results.to_pandas().reset_index(drop=True)
    results.write_parquet(tmp_path / "r.parquet")
    read = pd.read_parquet(tmp_path / "r.parquet")
    assert list(read.columns) == list(frame.columns)
    for name in ("cost", "lower"):
        assert read[name].map(Fraction).tolist() == frame[name].tolist()
    exact = frame.drop(columns=["cost", "lower"])
    pd.testing.assert_frame_equal(read[list(exact.columns)].astype(exact.dtypes), exact)
    assert parquet.read_schema(tmp_path / "r.parquet").metadata[b"network"] == network().fingerprint.encode()
    results.write_csv(tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == list(frame.columns)
    assert [row[rows[0].index("age")] for row in rows[1:]] == [str(age) for age in frame["age"]]


def test_samples_without_an_answer_have_unknown_values(tmp_path):
    pd = pytest.importorskip("pandas")
    results = sweep(network(), table(8), WhatIf(each, target="yes"), store=tmp_path / "r.db", jobs=1)
    refused = [row.sample for row in results.rows() if row.outcome == "refused"]
    assert refused
    frame = results.to_pandas()
    assert frame["n_changes"].dtype == "Int64"
    assert frame["is_minimum"].dtype == "boolean"
    assert frame["label_after"].isna().tolist() == [n in refused for n in range(8)]
    pd.testing.assert_series_equal(frame["age"].iloc[refused], table(8)["age"].iloc[refused])
    part = sweep(network(), table(4), WhatIf(each), total_time=0, jobs=1).to_pandas()
    assert set(part["outcome"]) == {"missing"}
    assert part["age"].isna().all()


def test_changes_are_listed_one_by_one():
    pytest.importorskip("pandas")
    results = swept(6)
    listed = results.changes()
    assert list(listed.columns) == ["sample", "feature", "before", "after"]
    for sample in range(6):
        own = listed[listed["sample"] == sample]
        said = {
            feature: ends for feature, *ends in own[["feature", "before", "after"]].itertuples(index=False)
        }
        assert said == {name: list(ends) for name, ends in results.answer(sample).changes().items()}
        assert set(own.index) == {f"row {sample}"}
    with pytest.raises(QuestionError, match=r"no changes. Ask WhatIf\(each\)"):
        sweep(network(), table(2), Predict(each), jobs=1).changes()
