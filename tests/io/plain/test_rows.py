"""The one reader of CSV, and that what reads CSV goes through it."""

import re
from io import StringIO
from pathlib import Path

import pytest

import sugenet
from sugenet.errors import FileError
from sugenet.io.plain.texts import csv_rows


def rows(text, **options):
    return list(csv_rows(StringIO(text, newline=""), "it", **options))


def test_rows_have_their_last_line_and_plain_cells():
    assert rows('a , b\r\n\r\n"1\n2",\t3') == [(1, ["a", "b"]), (4, ["1\n2", "3"])]
    assert rows("a;b,c", delimiter=";") == [(1, ["a", "b,c"])]
    assert rows('"a",b', quotes=False) == [(1, ['"a"', "b"])]


def test_only_empty_lines_are_passed_over():
    assert rows("1,2\n\n ,\n  \n") == [(1, ["1", "2"]), (3, ["", ""]), (4, [""])]
    assert rows("\n\n") == rows("") == []


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ('a,b\n1,"x\n', "it, line 2: it cannot be read as CSV: unexpected end of data"),
        ('a\n"x"y\n', "it, line 2: it cannot be read as CSV: ',' expected after '\"'"),
        ("a\nb\n12345678901\n", "it, line 3: it has more than 10 characters"),
    ],
)
def test_what_is_no_csv_is_refused_with_its_line(text, match):
    with pytest.raises(FileError, match=re.escape(match)):
        rows(text, longest=10)


def test_rows_come_before_later_lines_are_looked_at():
    found = csv_rows(StringIO('1,2\n"'), "it")
    assert next(found) == (1, ["1", "2"])
    with pytest.raises(FileError, match="line 2"):
        next(found)


def test_nothing_else_reads_csv():
    source = Path(sugenet.__file__).parent
    found = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"^\s*(import csv|from csv)\b|loadtxt|genfromtxt", path.read_text(), re.M)
    }
    assert found == {
        "io/plain/texts.py",
        "io/arrays/interpreter.py",  # an interpreter shares nothing with the reader
        "io/samples.py",  # writes
        "sweeps/results.py",  # writes
    }
