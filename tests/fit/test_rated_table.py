"""Rated alternatives from CSV files: what is read is what is written, and sentences name its rows."""

from fractions import Fraction

import pytest

from sugenet.errors import CapacityError, EncodingError
from sugenet.fit import Conflict, Ratings, fit_capacity, learned_of, read_cases, read_ratings, version_space

TABLE = "id;w;b;a;y\nx1;2;0.3;1/3;0.1\n\nx2;0.5;1;0;0.30\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return path


def test_numbers_are_the_decimals_they_are(file):
    table = read_ratings(file, "y", name="id", weights="w", delimiter=";")
    assert (table.criteria, table.lines, table.names) == (("b", "a"), (2, 4), ("x1", "x2"))
    assert table.labels == ("line 2 (x1)", "line 4 (x2)")
    ratings = table.ratings()
    assert ratings.X.tolist() == [[Fraction(3, 10), Fraction(1, 3)], [1, 0]]
    assert ratings.a.tolist() == [Fraction(1, 10), Fraction(3, 10)]
    assert ratings.weights == (2, Fraction(1, 2))
    assert ratings.labels == table.labels


def test_columns_that_are_no_criteria_are_named(file):
    table = read_ratings(file, "y", ignore=["id", "w"], delimiter=";")
    assert table.labels == ("line 2", "line 4")
    assert table.weights is None
    with pytest.raises(EncodingError, match="line 2, column 'id': 'x1' is not a number"):
        read_ratings(file, "y", ignore=["w"], delimiter=";").ratings()
    with pytest.raises(EncodingError, match="'id' is named for two things"):
        read_ratings(file, "y", name="id", ignore=["id"], delimiter=";")


def test_cases_may_come_in_another_order(file, tmp_path):
    (tmp_path / "c.csv").write_text("a,b,id\n1,0.25,new\n")
    cases = read_cases(tmp_path / "c.csv", ["b", "a"], name="id")
    assert cases.values().tolist() == [[Fraction(1, 4), 1]]
    assert cases.labels == ("line 2 (new)",)
    with pytest.raises(EncodingError, match="no column holds ratings"):
        cases.ratings()
    with pytest.raises(EncodingError, match="the column 'id' is not a criterion"):
        read_cases(tmp_path / "c.csv", ["b", "a"])
    assert read_cases(tmp_path / "c.csv", ["b", "a"], spare=["id", "y"]).names is None


def test_sentences_use_the_labels():
    ratings = Ratings([[0.5, 1], [0.25, 0.75]], [1, 0.5], criteria=["room", "food"], labels=["Ann", "Bo"])
    conflict = version_space(ratings)
    assert isinstance(conflict, Conflict)
    assert "Ann is rated 1 and reaches that on food alone, where Bo is above 0.5" in str(conflict)
    assert "1, for instance " in str(conflict)
    assert "Ann and Bo, rated 1 and 0.5, force that" in str(fit_capacity(ratings))
    assert conflict.rest.labels in (("Ann",), ("Bo",))
    assert ratings.unweighted().labels == ratings.rated([0.5, 0.5]).labels == ("Ann", "Bo")


def test_labels_claim_nothing_and_come_back():
    one = Ratings([[0.5, 1]], [0.5], labels=["Ann"])
    assert one == Ratings([[0.5, 1]], [0.5])
    assert Ratings.of(one.data()).labels == ("Ann",)
    assert learned_of(version_space(one).data()).ratings.labels == ("Ann",)
    with pytest.raises(CapacityError, match="labels has 2 names for 1 samples"):
        Ratings([[0.5, 1]], [0.5], labels=["Ann", "Bo"])
