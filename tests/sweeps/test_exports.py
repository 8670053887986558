"""CSV and Parquet of results: read back, they say what the rows say."""

import csv
import io
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sugenet.errors import FileError, SugenetError
from sugenet.files import write_text
from sugenet.sweeps.results import COLUMNS, csv_text, export_rows, write_parquet
from tests.sweeps.drawing import row, rows

CLASSES = ['a, "quoted"\r\nclass', "=1+1\u2028é"]
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=4)


@given(rows(["proved", "refuted", "undecided"]), st.lists(names, min_size=2, max_size=2))
def test_csv_read_back_is_what_was_written(drawn, classes):
    found, samples = drawn
    read = list(csv.reader(io.StringIO(csv_text(found, samples, classes), newline=""), strict=True))
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
    assert csv_text([row(0)], 2, CLASSES).count("\r\n") == 5  # two of them inside quotes
    assert csv_text([row(0)], 2, ["a", "b"]).replace("\r\n", "").count("\n") == 0


def test_parquet_read_back_is_what_was_written(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = [
        row(0, "found", cost="7/3", lower="1" + "0" * 40, seconds=0.1),
        row(2, index=1, truth=None, time_limit=2.5),
    ]
    write_parquet(tmp_path / "r.parquet", found, 4, CLASSES, {"network": "abc"})
    table = parquet.read_table(tmp_path / "r.parquet")
    assert table.column_names == list(COLUMNS)
    assert [tuple(one.values()) for one in table.to_pylist()] == export_rows(found, 4, CLASSES)
    assert Fraction(table["cost"][0].as_py()) == Fraction(7, 3)
    assert table.schema.metadata[b"network"] == b"abc"
    assert str(table.schema.field("seconds").type) == "double"
    write_parquet(tmp_path / "none.parquet", [], 0, CLASSES, {})
    assert parquet.read_table(tmp_path / "none.parquet").num_rows == 0


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SugenetError, match=r'pip install "\.\[parquet\]"'):
        write_parquet(tmp_path / "r.parquet", [row(0)], 1, CLASSES, {})
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_leaves_what_was_there(tmp_path):
    (tmp_path / "r.csv").mkdir()
    with pytest.raises(FileError, match="it is a folder"):
        write_text(tmp_path / "r.csv", csv_text([row(0)], 1, CLASSES))
    file = tmp_path / "kept.csv"
    file.write_text("before")
    with pytest.raises(IndexError):  # a row of a class that there is not: nothing is written
        write_text(file, csv_text([replace(row(0), index=9)], 1, CLASSES))
    assert file.read_text() == "before"
