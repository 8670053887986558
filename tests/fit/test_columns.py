"""Column types: a slow definition per kind, and the same kinds through every door."""

import datetime
import re
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.errors import EncodingError, SugenetError
from sugenet.fit import Settings, learn_encoder, read_table, train, understand
from sugenet.fit.columns import RawColumn, RawTable
from sugenet.nn import OneHot, Steps, bit, threshold, unused
from sugenet.nn.columns import Columns, Preparation, is_gap

N = 120
RNG = np.random.default_rng(0)
COLOUR = RNG.integers(0, 3, N)
TABLE = {
    "row_id": [int(i) for i in RNG.permutation(1000)[:N]],
    "line": list(range(7, 7 + N)),
    "age": [None if i % 9 == 4 else float(age) for i, age in enumerate(RNG.integers(18, 80, N))],
    "size": [round(float(x), 2) for x in RNG.normal(size=N)],
    "owner": [bool(x) for x in RNG.integers(0, 2, N)],
    "switch": [int(x) for x in RNG.integers(0, 2, N)],
    "side": [int(x) for x in 2 * RNG.integers(0, 2, N) - 1],
    "city": [f"city {x}" for x in RNG.integers(0, 40, N)],
    "answer": [("yes", "no")[x] for x in RNG.integers(0, 2, N)],
    "joined": [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(x)) for x in RNG.integers(0, 900, N)],
    "code": [f"c{x}" for x in RNG.permutation(9000)[:N]],
    "remark": [f"the {x}. remark is a sentence of several words" for x in range(N)],
    "country": ["AT"] * N,
    "nothing": [None] * N,
    "tint_red": [int(x == 0) for x in COLOUR],
    "weight": [int(x) for x in RNG.integers(0, 300, N)],
    "tint_dark_green": [int(x == 1) for x in COLOUR],
    "tint_blue": [int(x == 2) for x in COLOUR],
}
KINDS = {
    "row_id": "identifier",
    "line": "identifier",
    "age": "whole",
    "size": "number",
    "owner": "bool",
    "switch": "whole",
    "side": "bool",
    "city": "category",
    "answer": "category",
    "joined": "date",
    "code": "identifier",
    "remark": "text",
    "country": "constant",
    "nothing": "constant",
    "tint": "one-hot",
    "weight": "whole",
}


def frame():
    return pytest.importorskip("pandas").DataFrame(TABLE)


def doors(tmp_path):
    yield "rows", np.array(list(zip(*TABLE.values(), strict=True)), dtype=object), {"names": TABLE}
    yield "dicts", [dict(zip(TABLE, row, strict=True)) for row in zip(*TABLE.values(), strict=True)], {}
    pandas = pytest.importorskip("pandas")
    yield "pandas", pandas.DataFrame(TABLE), {}
    yield "pandas types", pandas.DataFrame(TABLE).convert_dtypes(), {}
    yield "dates", pandas.DataFrame(TABLE).astype({"joined": "datetime64[ns]"}), {}
    with suppress(ImportError):
        import polars

        yield "polars", polars.DataFrame(TABLE), {}
    with suppress(ImportError):
        import pyarrow

        yield "arrow", pyarrow.table(TABLE), {}
    for name, options in (("comma", {}), ("semicolon", {"sep": ";"}), ("tab", {"sep": "\t"})):
        file = tmp_path / f"{name}.csv"
        pandas.DataFrame(TABLE).to_csv(file, index=False, encoding="utf-8-sig", **options)
        yield name, file, {}


def test_every_door_gives_the_same_kinds(tmp_path):
    for door, table, options in doors(tmp_path):
        found = understand(table, **options)
        assert {one.name: one.kind for one in found.columns} == KINDS, door
        assert [one.gaps for one in found.columns if one.gaps] == [13, N], door
        assert [one.why for one in found.columns] == WHY, door


WHY = [
    "120 integers in 120 rows, and its name",
    "rows are numbered from 7",
    "49 integers from 18 to 79",
    "96 numbers from -1.88 to 2.23",
    "True and False",
    "2 integers from 0 to 1",
    "-1 and +1",
    "37 texts: city 0, city 1, city 10, c ...",
    "2 texts: no, yes",
    "2020-01-03 to 2022-06-15, read as days",
    "120 different texts in 120 rows",
    "120 different texts in 120 rows",
    "always AT",
    "no value in any row",
    "one of 3 columns is 1 in every row",
    "93 integers from 0 to 297",
]


def test_every_door_gives_the_same_encoder(tmp_path):
    types = dict.fromkeys(["row_id", "line", "code", "remark"], "ignore")
    encoders, rows = [], []
    for _, table, options in doors(tmp_path):
        if hasattr(table, "suffix"):
            table = RawTable(_raw(table))
        encoder = learn_encoder(table, types=types, missing="impute", cuts=2, **options)
        named = RawTable(RawColumn(n, table[:, i]) for i, n in enumerate(TABLE)) if options else table
        encoders.append(encoder)
        rows.append(encoder.encode(named))
    assert all(encoder == encoders[0] and encoder.columns == encoders[0].columns for encoder in encoders)
    assert all((bits == rows[0]).all() for bits in rows)
    assert encoders[0].names == (
        "age", "size", "owner", "switch", "side", "city", "answer", "joined (days since 1970-01-01)", "tint",
        "weight",
    )  # fmt: skip


def _raw(file):
    from sugenet.fit.table import read_columns

    return read_columns(file).columns


# -- the definition ------------------------------------------------------------------------------------------


def slow_kind(values):
    """The kind of a column without name, by the words of the documentation."""
    values = [value for value in values if not is_gap(value)]
    different = set(values)
    if len(different) < 2:
        return "constant"
    if all(type(value) is bool for value in values) or different == {-1, 1}:
        return "bool"
    if all(type(value) in (int, float, bool) for value in values):
        return "whole" if all(value == int(value) and abs(value) < 2**53 for value in values) else "number"
    if all(type(v) is str and re.fullmatch(r"\d{4}-(0\d|1[0-2])-[012]\d", v) for v in values):
        return "date"
    if len(different) > 20 and 10 * len(different) >= 9 * len(values):
        return "text" if sum(map(len, different)) > 24 * len(different) else "identifier"
    return "text" if len(different) > 100 else "category"


GAP = st.sampled_from([None, float("nan"), "", "NA", " n/a ", "?"])
CELLS = [
    st.booleans(),
    st.integers(-3, 3),
    st.integers(-(10**6), 10**6).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["yes", "no", "a much longer text than a name usually has"]),
    st.integers(0, 400).map(str).map("a{}".format),
    st.integers(0, 400).map("row {:03} has a remark that is rather long".format),
    st.integers(1, 28).map("2024-02-{:02}".format),
]


@given(st.sampled_from(CELLS).flatmap(lambda cells: st.lists(cells | GAP, min_size=1, max_size=60)))
def test_kinds_by_definition(values):
    column = np.empty((len(values), 1), dtype=object)
    column[:, 0] = values
    (found,) = understand(column).columns
    assert found.kind == slow_kind(values)
    assert found.gaps == sum(map(is_gap, values))
    assert found.example == next((value for value in values if not is_gap(value)), None)


@given(st.data())
def test_one_hot_groups_by_definition(data):
    rows = data.draw(st.integers(20, 40))
    columns = [
        data.draw(st.lists(st.integers(0, k), min_size=rows, max_size=rows))
        for k in data.draw(st.lists(st.integers(1, 3), max_size=3))
    ]
    table, names = [], []
    for number, column in enumerate(columns):
        kinds = sorted(set(column))
        names += [f"c{number}_{kind}" for kind in kinds] if len(kinds) > 1 else [f"c{number}"]
        table += [[int(v == kind) for v in column] for kind in kinds] if len(kinds) > 1 else [column]
    table.append(list(range(rows)))
    order = data.draw(st.permutations(range(len(table))))
    X = np.array(table)[list(order)].T
    found = understand(X, names=[(*names, "other")[i] for i in order])
    for one in found.columns:
        if one.kind == "one-hot":
            places = [[(*names, "other")[i] for i in order].index(name) for name in one.columns]
            assert all(sorted(set(row)) == [0, 1] and sum(row) == 1 for row in X[:, places].tolist())
    grouped = {name for one in found.columns if one.kind == "one-hot" for name in one.columns}
    assert {name for name in names if "_" in name} <= grouped


def test_one_hot_names_and_evidence():
    opposite = np.array([[i % 2, 1 - i % 2] for i in range(40)])
    (one,) = understand(opposite, names=["red", "blue"]).columns
    assert (one.name, one.categories) == ("red/blue", ("red", "blue"))
    assert [c.kind for c in understand(opposite[:10], names=["red", "blue"]).columns] == ["whole", "whole"]
    (one,) = understand(opposite[:10], names=["tint = red", "tint = blue"]).columns
    assert (one.name, one.categories) == ("tint", ("red", "blue"))
    kinds = understand(opposite, names=["red", "blue"], types={"red": "whole"}).columns
    assert [c.kind for c in kinds] == ["whole", "whole"]
    assert [c.kind for c in understand(opposite * 2 - 1).columns] == ["bool", "bool"]
    bits = opposite.astype(bool)
    assert learn_encoder(bits).codings == (bit(), bit())  # an array of bits stays one
    with pytest.raises(EncodingError, match="types= needs columns of several types"):
        learn_encoder(bits, types={"x1": "bool"})


def test_codings():
    X = np.array(list(zip(*TABLE.values(), strict=True)), dtype=object)
    types = dict.fromkeys(["row_id", "line", "code", "remark"], "ignore")
    encoder = learn_encoder(X, names=TABLE, types=types, missing="impute", cuts=1)
    coding = dict(zip(encoder.names, encoder.codings, strict=True))
    assert coding["owner"] == OneHot((False, True))
    assert coding["switch"] == threshold(1, 0, 1, whole=True)
    assert coding["side"] == bit()
    assert coding["tint"] == OneHot(("red", "dark_green", "blue"))
    assert isinstance(coding["age"], Steps)
    assert coding["age"].whole
    assert not coding["size"].whole
    assert encoder.columns.names == tuple(TABLE)
    read = dict(zip(encoder.names, encoder.columns.features, strict=True))
    assert read["tint"] == Preparation(("tint_red", "tint_dark_green", "tint_blue"), "one-hot")
    assert read["joined (days since 1970-01-01)"].how == "days"
    ages = sorted(age for age in TABLE["age"] if age is not None)
    assert read["age"].fill == ages[(len(ages) - 1) // 2]
    plain = learn_encoder([[1.5, "a", 7], [2.5, "b", 7]])
    assert plain.columns is None
    assert plain.codings[2] == unused(whole=True)


def test_ordered_categories_keep_their_order():
    pandas = pytest.importorskip("pandas")
    sizes = pandas.Categorical(["M", "S", "L", "S"], categories=["S", "M", "L", "XL"], ordered=True)
    assert learn_encoder(pandas.DataFrame({"size": sizes})).codings == (OneHot(("S", "M", "L")),)
    assert learn_encoder(pandas.DataFrame({"size": list("MSLS")})).codings == (OneHot(("L", "M", "S")),)
    polars = pytest.importorskip("polars")
    series = polars.Series("size", ["M", "S", "L"], dtype=polars.Enum(["S", "M", "L", "XL"]))
    assert learn_encoder(polars.DataFrame([series])).codings == (OneHot(("S", "M", "L")),)


@pytest.mark.parametrize(
    ("values", "kind", "codings"),
    [
        ([1, 2, 3, 4], "category", (OneHot((1, 2, 3, 4)),)),
        ([1, 2, 3, 4], "number", (Steps((2.5,)),)),
        ([1.0, 2.0, 3.0, 4.0], "whole", (Steps((3.0,), whole=True),)),
        ([0, 1, 1, 0], "bool", (OneHot((False, True)),)),
        (
            ["2024-01-31", "2023-12-01"] * 2,
            "year+month",
            (Steps((2024.0,), whole=True), Steps((7.0,), whole=True)),
        ),
        (["2024-01-31", "2023-12-01"] * 2, "category", (OneHot(("2023-12-01", "2024-01-31")),)),
    ],
)
def test_types_that_are_given(values, kind, codings):
    rows = [[value, index] for index, value in enumerate(values)]
    encoder = learn_encoder(rows, names=["a", "b"], types={"a": kind}, cuts=1)
    assert encoder.codings[:-1] == codings


@pytest.mark.parametrize(
    ("values", "types", "message"),
    [
        ([1, 2], {"b": "whole"}, "types={'b': 'whole'} names no column. The columns are a"),
        ([1, 2], {"a": "integer"}, "types={'a': 'integer'} is not known; a type is one of bool, whole"),
        ([1, 2.5], {"a": "whole"}, "does not fit: the column holds 2.5"),
        ([1, 2], {"a": "bool"}, "does not fit: the column holds 2"),
        (["x", "y"], {"a": "number"}, "does not fit: the column holds 'x'"),
        (["x", "y"], {"a": "days"}, "needs dates such as 2024-03-31, but the column holds 'x'"),
    ],
)
def test_types_that_do_not_fit(values, types, message):
    with pytest.raises(EncodingError, match=re.escape(message)):
        understand([[value] for value in values], names=["a"], types=types)


def test_dates_and_times():
    day, hour = ["2024-03-01", "2024-03-02"], ["2024-03-01 08:30", "2024-03-02 08:30:05"]
    exact = ["2024-03-01T08:30:00.5", "2024-03-01T08:30:01"]
    found = [
        understand([[v] for v in values]).columns[0] for values in (day, hour, exact, ["2024-02-30"] * 2)
    ]
    assert [one.how for one in found] == [("days",), ("seconds",), ("days",), ("value",)]
    assert found[2].why.endswith("read as days, since times have fractions of a second")
    encoder = learn_encoder([[v] for v in hour], names=["at"])
    assert encoder.names == ("at (seconds since 1970-01-01)",)
    assert encoder.encode([[value] for value in hour]).tolist() == [[False], [True]]


# -- gaps ----------------------------------------------------------------------------------------------------

GAPPED = [
    [1, "x", "2024-01-01", 0, True],
    [None, "NA", "", float("nan"), None],
    [5, "y", "2023-01-01", 1, False],
]
GAPPED += [[3, "x", "2024-05-01", 1, True]]
NAMES = ["a", "b", "c", "d", "e"]


def test_gaps_are_summed_up_at_once():
    with pytest.raises(EncodingError, match=re.escape(
        "There are gaps (NaN, None or empty cells) in 4 rows: 'a' (1), 'b' (1), 'c' (1), 'd' (1), 'e' (1). "
        "Use missing='category' for a category of gaps, missing='impute' for the median or most"
    )):  # fmt: skip
        learn_encoder(GAPPED, names=NAMES)
    with pytest.raises(
        SugenetError, match="missing='guess' is not known; it is one of refuse, category, impute"
    ):
        learn_encoder(GAPPED, names=NAMES, missing="guess")


def test_gaps_as_a_category():
    encoder = learn_encoder(GAPPED, names=NAMES, missing="category", cuts=1)
    assert encoder.codings == (
        OneHot(("below 4", "4 or more", None)),
        OneHot(("x", "y", None)),
        OneHot((2023, 2024, None)),
        OneHot((0, 1, None)),
        OneHot((False, True, None)),
    )
    assert encoder.rows(GAPPED)[1].tolist() == [None] * 5
    with pytest.raises(EncodingError, match="has gaps, and days have no category for them"):
        understand(GAPPED, names=NAMES, missing="category", types={"c": "days"})


def test_gaps_that_are_imputed():
    found = understand(GAPPED, names=NAMES, missing="impute")
    assert [one.why.rpartition("; ")[2] for one in found.columns] == [
        f"gaps become {value}" for value in ("3", "x", "2024-01-01", "1", "True")
    ]
    encoder = learn_encoder(GAPPED, names=NAMES, missing="impute", cuts=1)
    day = (datetime.date(2024, 1, 1) - datetime.date(1970, 1, 1)).days
    assert encoder.rows(GAPPED)[1].tolist() == [3, "x", day, 1, True]
    assert encoder.columns == Columns(
        tuple(NAMES),
        (
            Preparation(("a",), fill=3),
            Preparation(("b",), fill="x"),
            Preparation(("c",), "days", fill=day),
            Preparation(("d",), fill=1),
            Preparation(("e",), fill=True),
        ),
    )


def test_classes_without_a_value():
    with pytest.raises(EncodingError, match="y has no class in 1 of 3 samples, first in sample 1"):
        train([[1], [2], [3]], np.array(["a", None, "b"], dtype=object))


# -- what is printed -----------------------------------------------------------------------------------------


def test_columns_as_a_table():
    found = understand([[7, "x"], [None, "y"]], names=["n", "t"], missing="impute")
    assert str(found) == (
        "2 rows, 2 columns\n"
        "column  kind      gaps  why\n"
        "n       constant     1  always 7; gaps become 7\n"
        "t       category     0  2 texts: x, y\n"
        "To say otherwise: types={'COLUMN': 'TYPE'}. The types are bool, whole, number, category, days, "
        "seconds, year, month, weekday, ignore."
    )
    assert found.data()["columns"][0] == {
        "columns": ["n"],
        "kind": "constant",
        "why": "always 7; gaps become 7",
        "gaps": 1,
        "example": 7,
    }
    assert (
        understand(frame())
        .problems[0]
        .startswith("'row_id' (identifier: 120 integers in 120 rows, and its name), 'line' (identifier: ")
    )
    assert understand(frame(), target="age").data()["rows"] == N


# -- CSV -----------------------------------------------------------------------------------------------------


def test_cells_of_files(tmp_path):
    file = tmp_path / "d.csv"
    file.write_text("zip,flag,age,when,y\n01010,True,36.0,2024-01-01,a\n20095,False,,2024-01-02,b\n", "utf-8")
    table = read_table(file, "y", missing="category")
    assert table.kinds == ("category", "bool", "constant", "date") or table.kinds == (
        "category", "bool", "whole", "date",
    )  # fmt: skip
    assert table.X.tolist() == [["01010", True, 36.0, "2024-01-01"], ["20095", False, None, "2024-01-02"]]
    file.write_text("a,b,y\n" + "1,5,u\n" * 12 + "oh,5,v\n")
    with pytest.raises(EncodingError, match="'oh' is not a number, as most of the column is"):
        read_table(file, "y")
    assert read_table(file, "y", types={"a": "category"}).X[:, 0].tolist() == ["1"] * 12 + ["oh"]
    with pytest.raises(EncodingError, match=r"d.csv: types={'c': 'whole'} names no column"):
        read_table(file, "y", types={"c": "whole", "a": "ignore"})


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
def test_delimiters_are_recognized(tmp_path, sign):
    file = tmp_path / "d.csv"
    file.write_text(
        sign.join(["size", "is, so", "y"]).replace("is, so", '"is, so"')
        + f"\n1{sign}2{sign}a\n3{sign}4{sign}b\n"
    )
    table = read_table(file, "y")
    assert (table.names, table.delimiter) == (("size", "is, so"), sign)


def test_headers_with_two_signs_are_read_with_commas(tmp_path):
    (tmp_path / "d.csv").write_text("a;b,c;y\n1;2;u\n2;2;v\n")
    assert read_table(tmp_path / "d.csv", "y").names == ("a", "b,c")  # commas would not give a column y
    (tmp_path / "d.csv").write_text("a;b,c;d\n1,2\n")
    assert len(understand(tmp_path / "d.csv").columns) == 2
    (tmp_path / "d.csv").write_text("a;b,y\n1,u\n2,v\n")
    assert read_table(tmp_path / "d.csv", "y").names == ("a;b",)


# -- networks ------------------------------------------------------------------------------------------------


def test_a_network_of_raw_columns():
    pytest.importorskip("torch")
    table = frame().drop(columns=["row_id", "line", "code"])
    table["y"] = np.where((COLOUR == 0) | table["owner"], "in", "out")
    trained = train(
        table,
        target="y",
        hidden=(6,),
        settings=Settings(epochs=15, batch=16),
        types={"remark": "ignore"},
        missing="impute",
    )
    net = trained.network
    sample = table.drop(columns=["y"]).iloc[0]
    answer = sg.whatif(net, sample)
    assert answer.outcome == "found"
    assert net.predict(table.drop(columns=["y"])).shape == (N,)
    assert net.predict(table.drop(columns=["y", "remark"])).shape == (N,)


@pytest.mark.parametrize("kind", [bool, int, float])
def test_one_hot_columns_in_scikit_learn(kind):
    pytest.importorskip("torch")
    pandas = pytest.importorskip("pandas")
    from sugenet.fit.estimators import BNNClassifier

    X = pandas.DataFrame(
        {"red": COLOUR == 0, "age": RNG.integers(18, 80, N), "green": COLOUR == 1, "blue": COLOUR == 2}
    )
    X = X.astype(dict.fromkeys(["red", "green", "blue"], kind))
    y = np.where((COLOUR == 0) & (X["age"] > 40), "yes", "no")
    model = BNNClassifier(hidden=(8,), cuts=2, epochs=10, random_state=0).fit(X, y)
    net = model.network_
    assert net.encoder.names == ("red/green/blue", "age")
    assert (model.predict(X) == np.array(net.classes)[net.predict(X)]).all()
    none = X.assign(red=kind(0), green=kind(0), blue=kind(0), age=17.5)  # of an unknown category
    assert model.predict(none).shape == (N,)
    with pytest.raises(EncodingError, match="exactly one of its columns must be 1"):
        net.predict(none)
    changed = dict(zip(net.encoder.names, sg.whatif(net, X.iloc[0]).example, strict=True))
    assert changed["red/green/blue"] in ("red", "green", "blue")
    assert changed["age"] == int(changed["age"])


def test_gaps_in_scikit_learn():
    pytest.importorskip("torch")
    pandas = pytest.importorskip("pandas")
    from sklearn.base import clone

    from sugenet.fit.estimators import BNNClassifier

    X = pandas.DataFrame({"a": TABLE["age"], "b": TABLE["city"], "c": TABLE["size"]})
    y = np.arange(N) % 2
    model = BNNClassifier(hidden=(4,), epochs=2, random_state=0)
    with pytest.raises(ValueError, match=r"in 120 rows: 'a' \(13\). Use missing='category'"):
        model.fit(X, y)
    full = X.assign(a=X["a"].fillna(30))
    with pytest.raises(
        ValueError, match=r"in 120 rows: 'a' \(13\). Fill them in, or fit with missing='category'"
    ):
        model.fit(full, y).predict(X)
    for missing in ("category", "impute"):
        other = clone(model).set_params(missing=missing).fit(X, y)
        assert other.predict(X).shape == (N,)
    assert (
        other.predict(X)
        == other.predict(X.assign(a=X["a"].fillna(other.network_.encoder.columns.features[0].fill)))
    ).all()
    assert (clone(other).fit(full, y).predict(X) >= 0).all()  # gaps that the fold did not show


def test_tables_of_every_library_in_scikit_learn():
    pytest.importorskip("torch")
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    from sugenet.fit.estimators import BNNClassifier

    days = [
        datetime.datetime(2024, 1, 1) + datetime.timedelta(days=int(day)) for day in RNG.integers(0, 99, N)
    ]
    values = {
        "age": [None if i % 7 == 3 else i % 50 for i in range(N)],
        "city": [None if i % 11 == 5 else "ABC"[i % 3] for i in range(N)],
        "member": [None if i % 13 == 5 else i % 2 == 0 for i in range(N)],
        "size": TABLE["size"],
        "joined": days,
    }
    y = np.arange(N) // 3 % 2
    plain = pandas.DataFrame({name: pandas.Series(column, dtype=object) for name, column in values.items()})
    city = pandas.Categorical(values["city"])
    tables = {
        "nullable": plain.convert_dtypes().assign(city=city),
        "ordered": plain.convert_dtypes().assign(city=city.as_ordered()),
        "arrow types": plain.convert_dtypes(dtype_backend="pyarrow"),
        "arrow": arrow.table(values),
        "dictionary": arrow.table({**values, "city": arrow.array(values["city"]).dictionary_encode()}),
        "two chunks": arrow.concat_tables([arrow.table(values)[:9], arrow.table(values)[9:]]),
    }
    with suppress(ImportError):
        import polars

        tables["polars"] = polars.DataFrame(values)
        tables["polars categories"] = polars.DataFrame(values).cast({"city": polars.Categorical})
    for missing in ("impute", "category"):
        model = BNNClassifier(hidden=(4,), epochs=3, random_state=0, missing=missing)
        wanted = model.fit(plain, y)
        classes, network = wanted.predict(plain).tolist(), wanted.network_
        for name, table in tables.items():
            assert wanted.predict(table).tolist() == classes, name
            assert network.predict(table).tolist() == classes, name
            again = BNNClassifier(hidden=(4,), epochs=3, random_state=0, missing=missing).fit(table, y)
            assert again.network_.fingerprint == network.fingerprint, name
            assert list(again.feature_names_in_) == list(values), name
    numbers = pandas.DataFrame({"age": pandas.array(values["age"], "Int64"), "n": [i % 9 for i in range(N)]})
    assert model.fit(numbers, y).network_.encoder.codings[0].categories[-1] is None
    for samples in (plain.to_dict("records"), plain.to_records(index=False)):
        with pytest.raises(EncodingError, match=r"Pass pandas.DataFrame\(X\)"):
            model.predict(samples)


def test_gaps_of_an_arrow_dictionary_are_gaps():
    arrow = pytest.importorskip("pyarrow")
    cells = arrow.array(["a", "b", None] * 9).dictionary_encode()
    table = arrow.table({"c": arrow.chunked_array([cells, cells]), "n": list(range(54))})
    encoder = learn_encoder(table, missing="category")
    assert encoder.codings[0] == OneHot(("a", "b", None))
    assert encoder.encode(table)[:3, :3].tolist() == np.eye(3, dtype=bool).tolist()
    with pytest.raises(EncodingError, match=r"in 54 rows: 'c' \(18\)"):
        learn_encoder(table)


@pytest.mark.parametrize("missing", ["refuse", "impute", "category"])
def test_a_one_hot_group_that_is_empty_in_some_rows_is_still_one(missing):
    pd = pytest.importorskip("pandas")
    colours = np.arange(60) % 3
    frame = pd.DataFrame({f"k_{name}": (colours == i).astype(float) for i, name in enumerate("abc")})
    frame.iloc[3] = np.nan
    found = understand(frame.assign(size=np.arange(60) / 7), missing=missing)
    assert next((one.name, one.kind, one.gaps) for one in found.columns) == ("k", "one-hot", 1)
    with pytest.raises(EncodingError, match=r"'k' \(1\)"):
        found.check()
    frame.iloc[4, 0] = np.nan  # not empty as a whole
    assert {one.kind for one in understand(frame, missing=missing).columns} == {"whole"}


@pytest.mark.parametrize("first", [2**53 - 60, 2**53 - 59, 2**53, 2**63, 2**64, 10**30])
def test_integers_that_floats_round_are_no_numbers(first, tmp_path):
    pd = pytest.importorskip("pandas")
    values = [first + index for index in range(60)]
    doors = [pd.DataFrame({"n": values, "y": ["a", "b"] * 30})]
    doors[0].to_csv(tmp_path / "t.csv", index=False)
    for door in (*doors, tmp_path / "t.csv"):
        (one,) = understand(door, target="y").columns
        assert one.kind == ("whole" if values[-1] < 2**53 else "identifier")
        (one,) = understand(door, target="y", types={"n": "category"}).columns
        assert (one.kind, one.why.split(":")[0]) == ("category", "as given")
        if values[-1] >= 2**53:
            with pytest.raises(EncodingError, match="does not fit"):
                understand(door, target="y", types={"n": "number"})


def test_a_one_hot_group_beside_a_column_of_its_name():
    pd = pytest.importorskip("pandas")
    colour = np.resize(["r", "g"], 40)
    table = pd.DataFrame({"c_r": colour == "r", "c_g": colour == "g", "c": np.resize(["u", "v", "w"], 40)})
    assert learn_encoder(table).names == ("c_r/c_g", "c")
    twice = table[["c_r", "c_g"]].rename(columns={"c_r": "a_r", "c_g": "a_g"}).astype(int)
    both = pd.concat([twice, twice.iloc[::-1].reset_index(drop=True).add_prefix("a_")], axis=1)
    assert set(learn_encoder(both).names) == {"a", "a_a"}


def test_a_one_hot_group_with_gaps_in_different_rows_is_refused():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(np.eye(3)[np.resize([0, 1, 2], 30)], columns=["c_r", "c_g", "c_b"])
    table["n"] = np.arange(30.0) / 7
    table.loc[3, "c_g"] = np.nan
    with pytest.raises(EncodingError, match="'c_r', 'c_g', 'c_b' are one-hot columns") as told:
        learn_encoder(table, missing="impute")
    apart = {"c_r": "bool", "c_g": "bool", "c_b": "bool"}
    assert f"types={apart}" in str(told.value)
    assert learn_encoder(table, missing="impute", types=apart).features == 4
    table.loc[4, ["c_r", "c_g"]] = 1  # never one-hot
    assert learn_encoder(table, missing="impute").features == 4
