"""Raw columns become feature values: every door gives the values of a slow, obvious definition."""

import csv
import json
from calendar import weekday
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import inf, nan, nextafter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sugenet as sg
from sugenet.checker.network import load_network
from sugenet.errors import EncodingError, FileError
from sugenet.io import load, read_samples, save
from sugenet.io.native.file import network_bytes
from sugenet.nn import (
    GAPS,
    Columns,
    Encoder,
    Head,
    Network,
    OneHot,
    Preparation,
    Steps,
    is_gap,
    moment_of,
    range_labels,
    simplify,
    summary,
)
from sugenet.web.fields import read_sample, sample_schema

COLOURS = ("red", "green", "blue")
WHOLE = Steps((0.0,), whole=True)


def table():
    """An encoder with every way to read a feature, and a network over it."""
    columns = {
        "age": (("age",), "value", 36, ()),
        "income": (("income",), "value", None, ()),
        "colour": (tuple(f"colour_{name}" for name in COLOURS), "one-hot", None, ()),
        "member": (("member",), "value", None, ()),
        "born (days since 1970-01-01)": (("born",), "days", None, ()),
        "born (year)": (("born",), "year", None, ()),
        "debt": (("debt",), "ranges", None, (20.0, 40.5)),
        "city": (("city",), "value", None, ()),
    }
    codings = [
        Steps((18.0, 65.0), 0.0, 150.0, whole=True),
        Steps((1.5, 2.5)),
        OneHot(COLOURS),
        OneHot((False, True)),
        Steps((0.0, 15000.0), whole=True),
        Steps((1990.0,), whole=True),
        OneHot((*range_labels((20.0, 40.5)), None)),
        OneHot(("Paris", "NA", None)),
    ]
    names = ("age", "income", "colour_red", "colour_green", "colour_blue", "member", "born", "debt", "city")
    features = tuple(Preparation(*how) for how in columns.values())
    return Encoder(codings, columns, columns=Columns(names, features))


def network():
    encoder = table()
    rng = np.random.default_rng(0)
    weights = rng.choice([-1, 1], (2, encoder.width))
    return Network(encoder, [], Head(weights), ["stay", "go"])


RAW = [
    {"age": 40, "income": 2.25, "colour_red": 0, "colour_green": 1, "colour_blue": 0, "member": True}
    | {"born": "1980-02-29", "debt": 20, "city": "Paris"},
    {"age": nan, "income": -1.0, "colour_red": 1, "colour_green": 0, "colour_blue": 0, "member": False}
    | {"born": "1969-12-31", "debt": nan, "city": None},
    {"age": 0, "income": 1e300, "colour_red": 0, "colour_green": 0, "colour_blue": 1, "member": True}
    | {"born": "9999-12-31", "debt": 40.5, "city": "NA"},
]
FEATURES = [
    [40, 2.25, "green", True, 3711, 1980, "20 up to 40.5", "Paris"],
    [36, -1.0, "red", False, -1, 1969, None, None],
    [0, 1e300, "blue", True, 2932896, 9999, "40.5 or more", "NA"],
]


def obvious(how, cells, coding):
    """The value of a feature, read as slowly as the words in `sugenet.nn.columns` say it."""
    if how.how == "one-hot" and len(cells) > 1:
        on = [str(cell) in ("1", "1.0", "True") for cell in cells]
        return coding.categories[on.index(True)]
    (cell,) = cells
    if (
        cell is None
        or cell != cell
        or (isinstance(cell, str) and cell.strip().upper() in map(str.upper, GAPS))
    ):
        return how.fill
    if how.how == "days" and isinstance(cell, str):
        return date.fromisoformat(cell).toordinal() - date(1970, 1, 1).toordinal()
    if how.how == "year" and isinstance(cell, str):
        return int(cell[:4])
    if how.how == "ranges" and not isinstance(cell, str):
        reached = [cut for cut in how.cuts if Fraction(cell) >= Fraction(cut)]
        return range_labels(how.cuts)[len(reached)]
    return cell


def test_the_example_is_as_the_definition_says():
    encoder = table()
    for raw, features in zip(RAW, FEATURES, strict=True):
        for how, coding, value in zip(encoder.columns.features, encoder.codings, features, strict=True):
            cells = [raw[name] for name in how.columns]
            if cells != ["NA"]:  # a city of this name
                assert obvious(how, cells, coding) == value == how.value(cells, coding)


def frames():
    """The same rows in every form that samples have."""
    pd = pytest.importorskip("pandas")
    names = list(RAW[0])
    frame = pd.DataFrame(RAW)
    dates = frame.assign(born=[date.fromisoformat(day) for day in frame["born"]])
    typed = frame.astype({"age": "Int64", "member": "boolean", "debt": "Float64", "city": "category"})
    texts = [{name: str(value) for name, value in row.items()} for row in RAW]
    forms = {
        "dicts": RAW,
        "texts": texts,
        "frame": frame,
        "other order": frame[names[::-1]],
        "dates": dates,
        "nullable": typed,
        "rows": [list(row.values()) for row in RAW],
        "array": frame.to_numpy(),
        "numbered": pd.DataFrame(frame.to_numpy()),
        "features": FEATURES,
        "named features": pd.DataFrame(FEATURES, columns=table().names, dtype=object),
        "some of both": frame.drop(columns=["born"]).assign(
            **{
                name: [row[k] for row in FEATURES]
                for k, name in ((4, table().names[4]), (5, table().names[5]))
            }
        ),
    }
    for name, convert in (("pyarrow", "Table.from_pandas"), ("polars", "from_pandas")):
        try:
            module = __import__(name)
        except ImportError:
            continue
        for part in convert.split("."):
            module = getattr(module, part)
        forms[name] = module(frame)
        if name == "pyarrow":
            forms["arrow dates"] = module(dates)
    return forms


@pytest.mark.parametrize("form", ["texts", "frame", "dicts"])
def test_the_forms_of_one_test_are_there(form):
    assert form in frames()


def test_every_door_gives_the_same_values(tmp_path):
    encoder = table()
    for form, samples in frames().items():
        rows = encoder.rows(samples)
        assert rows.tolist() == FEATURES, form
        assert encoder.rows(rows).tolist() == FEATURES, form
        assert encoder.encode(samples).tolist() == encoder.encode(FEATURES).tolist(), form
    for raw, features in zip(RAW, FEATURES, strict=True):
        pd = pytest.importorskip("pandas")
        for one in (
            raw,
            list(raw.values()),
            pd.Series(raw),
            features,
            dict(zip(encoder.names, features, strict=True)),
        ):
            assert encoder.values(one) == features


@pytest.mark.parametrize("header", [True, False])
def test_a_csv_file_gives_the_same_values(tmp_path, header):
    for names, rows in ((list(RAW[0]), [list(row.values()) for row in RAW]), (table().names, FEATURES)):
        path = tmp_path / "x.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows(
                [list(names)] * header + [["" if v is None or v != v else v for v in row] for row in rows]
            )
        X, truth = read_samples(path, network())
        assert X.tolist() == FEATURES
        assert truth is None


def test_a_csv_file_may_mix_raw_columns_and_features(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "id,colour,age,born,income,member,debt,city,class\n"
        "7,green,40,1980-02-29,2.25,TRUE,20 up to 40.5,Paris,go\n"
        "8,red,n/a,1969-12-31,-1,false,,,stay\n"
    )
    X, truth = read_samples(path, network(), "class")
    assert X.tolist() == FEATURES[:2]
    assert truth.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("40,,0,1,0,True,1980-02-29,20,Paris", "line 2, column income: the value is missing"),
        (
            "40,1,0,1,1,True,1980-02-29,20,Paris",
            "column colour: exactly one of its columns must be 1 .* colour_green = '1'",
        ),
        ("40,1,0,1,,True,1980-02-29,20,Paris", "column colour: exactly one of its columns"),
        ("40,1,0,0,0,True,1980-02-29,20,Paris", "column colour: exactly one of its columns"),
        ("40,1,,,,True,1980-02-29,20,Paris", "column colour: the value is missing"),
        ("40,1,0,1,0,True,1981-02-29,20,Paris", "column born: '1981-02-29' is not a date such as"),
        ("40,1,0,1,0,True,29.02.1980,20,Paris", "column born: '29.02.1980' is not a date such as"),
        (
            "40,1,0,1,0,True,1980-02-29,much,Paris",
            "column debt: 'much' is neither a number nor one of the ranges below 20",
        ),
        ("40,1,0,1,0,perhaps,1980-02-29,20,Paris", "column member: 'perhaps' is not a category"),
        ("40,1,0,1,0,True,1980-02-29,20,Rome", "column city: 'Rome' is not a category"),
    ],
)
def test_a_wrong_cell_is_refused_with_its_place(tmp_path, line, error):
    path = tmp_path / "x.csv"
    path.write_text(f"{','.join(RAW[0])}\n{line}\n")
    with pytest.raises(FileError, match=error):
        read_samples(path, network())
    cells = dict(zip(RAW[0], line.split(","), strict=True))
    if "not a category" not in error:
        with pytest.raises(EncodingError, match=error.partition(": ")[2]):
            table().values(cells)
        with pytest.raises(EncodingError, match="sample 1: " + error.partition(": ")[2]):
            table().rows([RAW[0], cells])
    with pytest.raises(EncodingError):
        table().encode([cells])


def test_a_file_keeps_the_columns(tmp_path):
    net = network()
    save(net, tmp_path / "x.sugenet")
    again = load(tmp_path / "x.sugenet")
    assert again.encoder.columns == net.encoder.columns
    assert again.predict(RAW).tolist() == net.predict(FEATURES).tolist()
    bare = replace(net, encoder=replace(net.encoder, columns=None))
    assert (again, again.fingerprint) == (bare, bare.fingerprint)
    assert load_network(network_bytes(net)).fingerprint == net.fingerprint
    assert simplify(net).encoder.columns == net.encoder.columns


def test_the_verbs_read_raw_columns():
    net = network().with_training_range(RAW)
    assert net.encoder.seen == network().with_training_range(FEATURES).encoder.seen
    assert net.predict_one(RAW[0]) == net.predict_one(FEATURES[0])
    assert (
        net.trace(RAW[0]).data() == net.trace(FEATURES[0]).data()
        if hasattr(net.trace(RAW[0]), "data")
        else True
    )
    for ask in (sg.why, sg.whatif):
        assert str(ask(net, RAW[0])) == str(ask(net, FEATURES[0]))
    change = sg.whatif(net, RAW[0])
    assert net.predict_one(list(change.changed)) != net.predict_one(RAW[0])


def test_the_server_reads_raw_columns():
    net = network()
    for raw, features in zip(RAW, FEATURES, strict=True):
        cells = json.loads(json.dumps({name: None if v != v else v for name, v in raw.items()}))
        assert read_sample(net, cells) == read_sample(net, list(cells.values())) == features
        assert read_sample(net, features) == features
    assert len(sample_schema(net)["anyOf"]) == 3


# -- gaps ----------------------------------------------------------------------------------------------------


def test_gaps_are_alike():
    pd = pytest.importorskip("pandas")
    spelled = [
        form(f"{blank}{text}{blank}")
        for text in GAPS
        for form in (str, str.lower, str.upper)
        for blank in ("", " ")
    ]
    others = [None, nan, np.float32("nan"), np.datetime64("NaT"), pd.NaT, pd.NA, Decimal("NaN"), np.ma.masked]
    assert all(map(is_gap, [*spelled, *others]))
    assert not any(
        map(
            is_gap,
            [0, False, True, "0", "no", "n", 0.0, inf, np.bool_(False), date.min, Fraction(0), [], "-"],
        )
    )
    filled = Preparation(("age",), fill=36)
    for gap in (*spelled, *others):
        assert filled.value([gap], WHOLE) == 36
        assert Preparation(("x",)).value([gap], OneHot(("a", None))) is None
        assert Preparation(("x",), fill="a").value([gap], OneHot(("a", "b"))) == "a"
        assert (
            Preparation(("x",), "ranges", cuts=(1.0,)).value([gap], OneHot((*range_labels((1.0,)), None)))
            is None
        )
        for how in ("value", "days"):
            with pytest.raises(
                EncodingError, match=r"the value is missing .* missing='category' or missing='impute'"
            ):
                Preparation(("x",), how).value([gap], WHOLE)


def test_a_category_may_have_the_name_of_a_gap():
    namibia = OneHot(("NA", "DE"))
    assert Preparation(("x",), fill="DE").value(["NA"], namibia) == "NA"
    assert Preparation(("x",), fill="DE").value(["na"], namibia) == "DE"
    assert Preparation(("x",), fill="DE").value([None], namibia) == "DE"


# -- categories ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("categories", "cells"),
    [
        ((1, 2), {1: [1, 1.0, "1", "1.0", " 1 ", True, np.int8(1)], 2: ["2", 2.0, "2e0"]}),
        (("1", "2"), {"1": [1, 1.0, "1"], "2": [2]}),
        (
            (False, True),
            {True: [True, 1, "1.0", "True", "TRUE", "true", np.bool_(True)], False: [False, 0, 0.0, "FALSE"]},
        ),
        (("true", "false"), {"true": [True, "True", "TRUE"], "false": [False]}),
        ((0.5, "x"), {0.5: [0.5, "0.5"], "x": ["x"]}),
    ],
)
def test_a_category_is_itself_or_its_text(categories, cells):
    for category, spellings in cells.items():
        for cell in spellings:
            value = Preparation(("x",)).value([cell], OneHot(categories))
            assert (value, type(value)) == (category, type(category))


# -- dates ---------------------------------------------------------------------------------------------------

MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)).map(
    lambda m: m.replace(microsecond=0)
)


@given(MOMENTS)
def test_dates_are_counted_exactly(moment):
    days = moment.toordinal() - date(1970, 1, 1).toordinal()
    seconds = 86400 * days + 3600 * moment.hour + 60 * moment.minute + moment.second
    expected = {
        "days": days,
        "seconds": seconds,
        "year": moment.year,
        "month": moment.month,
        "weekday": 1 + weekday(moment.year, moment.month, moment.day),
    }
    text = moment.isoformat()
    spellings = [
        moment,
        text,
        text.replace("T", " "),
        np.datetime64(moment),
        np.datetime64(moment, "s"),
        text + "Z",
    ]
    spellings += [text + ".000", moment.replace(tzinfo=UTC)]
    column = np.array([moment], dtype="datetime64[us]")
    for how, value in expected.items():
        reading = Preparation(("x",), how)
        assert {reading.value([cell], WHOLE) for cell in spellings} == {value}
        assert reading.read([column], WHOLE, str).tolist() == [value]
        if how != "seconds":
            assert reading.value([moment.date()], WHOLE) == reading.value([text[:10]], WHOLE) == value


def test_dates_at_the_ends():
    days = Preparation(("x",), "days")
    for text, value in (
        ("0001-01-01", -719162),
        ("1969-12-31", -1),
        ("1970-01-01", 0),
        ("2000-02-29", 11016),
        ("9999-12-31", 2932896),
    ):
        assert days.value([text], WHOLE) == days.value([date.fromisoformat(text)], WHOLE) == value
        assert days.value([value], WHOLE) == days.value([str(value)], OneHot((value,))) == value
    assert [Preparation(("x",), "weekday").value([f"2024-01-0{day}"], WHOLE) for day in range(1, 8)] == [
        *range(1, 8)
    ]


def test_time_zones_are_converted_to_utc():
    seconds = Preparation(("x",), "seconds")
    pd = pytest.importorskip("pandas")
    zone = timezone(timedelta(hours=5, minutes=30))
    for cell in (
        "1970-01-01 00:00+05:30",
        datetime(1970, 1, 1, tzinfo=zone),
        pd.Timestamp("1970-01-01", tz=zone),
    ):
        assert seconds.value([cell], WHOLE) == -19800
    assert seconds.value(["1970-01-01T00:00:00-0130"], WHOLE) == 5400
    assert Preparation(("x",), "days").value(["1970-01-01 00:00+05:30"], WHOLE) == -1


@pytest.mark.parametrize(
    "cell",
    [
        "2020-01-01T00:00:00.5",
        "2020-01-01T00:00:00.00000000000000000001",
        datetime(2020, 1, 1, microsecond=1),
        np.datetime64("2020-01-01T00:00:00.000000001", "ns"),
    ],
)
def test_a_fraction_of_a_second_is_refused(cell):
    with pytest.raises(EncodingError, match=r"2020-01-01.* has a fraction of a second\. Round it"):
        Preparation(("x",), "seconds").value([cell], WHOLE)
    assert Preparation(("x",), "days").value([cell], WHOLE) == 18262
    if isinstance(cell, np.datetime64):
        column = np.array([np.datetime64("2020-01-01", "ns"), cell])
        with pytest.raises(EncodingError, match=r"row 1: '2020-01-01.* has a fraction"):
            Preparation(("x",), "seconds").read([column], WHOLE, "row {}".format)


@pytest.mark.parametrize(
    "text", ["2020-1-1", "20200101", "2020-13-01", "2020-01-01T25:00", "2020-01-01T", "today", "٢٠٢٠-01-01"]
)
def test_other_texts_are_not_dates(text):
    assert moment_of(text) is None


# -- ranges --------------------------------------------------------------------------------------------------


def test_a_lower_end_belongs_to_its_range():
    cuts = (-0.5, 20.0, 2.0**53)
    ranges = Preparation(("x",), "ranges", cuts=cuts)
    coding = OneHot((*ranges.labels, None))
    assert ranges.labels == (
        "below -0.5",
        "-0.5 up to 20",
        "20 up to 9007199254740992.0",
        "9007199254740992.0 or more",
    )
    numbers = [n for cut in cuts for n in (nextafter(cut, -inf), cut, nextafter(cut, inf))]
    numbers += [2**53 + 1, 2**53 - 1, 10**400, -(10**400), Fraction(1, 3), Decimal("0.1"), 0, True, 19]
    for number in numbers:
        label = ranges.labels[sum(Fraction(number) >= Fraction(cut) for cut in cuts)]
        assert ranges.value([number], coding) == label == ranges.value([label], coding)
    for kind in (np.float64, np.float32, np.int64, np.int8, object):
        column = np.array([-1, 0, 20, 19, 127], dtype=kind)
        assert ranges.read([column], coding, str).tolist() == [
            ranges.value([n], coding) for n in column.tolist()
        ]
    for wrong in (inf, "x", [1], -inf):
        with pytest.raises(EncodingError, match="is neither a number nor one of the ranges"):
            ranges.value([wrong], coding)
    assert ranges.read([np.array([nan, 2.0**60])], coding, str).tolist() == [None, ranges.labels[-1]]


# -- the column form is that of single values ----------------------------------------------------------------

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 30),
    st.floats(-3, 30, width=16),
    st.sampled_from(
        [nan, "", "NA", "a", "b", "1", "2.5", "true", "below 1", "2020-01-02", date(1960, 2, 29)]
    ),
)
READINGS = [
    (Preparation(("x",)), Steps((1.0,))),
    (Preparation(("x",), fill=2), Steps((1.0,))),
    (Preparation(("x",)), OneHot(("a", "b", None))),
    (Preparation(("x",), fill="a"), OneHot(("a", "b", 1))),
    (Preparation(("x",), "days", fill=3), WHOLE),
    (Preparation(("x",), "weekday"), OneHot((1, 2, 3, 4, 5, 6, 7))),
    (Preparation(("x",), "ranges", cuts=(1.0, 7.5)), OneHot((*range_labels((1.0, 7.5)), None))),
    (Preparation(("x",), "ranges", "below 1", (1.0,)), OneHot(range_labels((1.0,)))),
    (Preparation(("x", "y"), "one-hot", "a"), OneHot(("a", "b"))),
]


@pytest.mark.parametrize("reading", READINGS, ids=str)
@given(data=st.data())
def test_a_column_is_read_like_its_cells(reading, data):
    how, coding = reading
    cells = data.draw(
        st.sampled_from([CELLS, st.booleans(), st.floats(-3, 9), st.integers(0, 1), st.integers(-3, 9)])
    )
    rows = data.draw(st.lists(st.tuples(*[cells] * len(how.columns)), min_size=1, max_size=6))
    columns = []
    for column in zip(*rows, strict=True):
        typed = np.empty(len(rows), dtype=object)
        typed[:] = column
        columns.append(np.array(column) if cells is not CELLS else typed)
    try:
        expected = [how.value(row, coding) for row in rows]
    except EncodingError:
        with pytest.raises(EncodingError):
            how.read(columns, coding, str)
        return
    values = how.read(columns, coding, str).tolist()
    assert values == expected
    if cells is CELLS and (
        isinstance(coding, OneHot) or not any(map(is_gap, columns[0]))
    ):  # 2 fills floats as 2.0
        assert list(map(type, values)) == list(map(type, expected))


@pytest.mark.parametrize("size", [1, 63, 64, 65])
def test_tables_of_many_columns(size):
    groups = [Preparation((f"g{k}_a", f"g{k}_b"), "one-hot") for k in range(size)]
    names = tuple(column for group in groups for column in group.columns)
    encoder = Encoder(
        [OneHot(("a", "b"))] * size, [f"g{k}" for k in range(size)], columns=Columns(names, tuple(groups))
    )
    bits = np.random.default_rng(size).integers(0, 2, (50, size))
    raw = np.stack([1 - bits, bits], axis=2).reshape(50, 2 * size)
    expected = np.array(["a", "b"], dtype=object)[bits]
    for form in (
        raw,
        raw.astype(float),
        raw.astype(bool),
        raw.tolist(),
        [dict(zip(names, row, strict=True)) for row in raw.tolist()],
    ):
        assert encoder.rows(form).tolist() == expected.tolist()


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: Preparation(("x",), "hour"), "Unknown how='hour'. Use 'value', 'one-hot', 'days'"),
        (lambda: Preparation(()), "how='value' reads one column, but 0 are given"),
        (lambda: Preparation(("x", "y")), "how='value' reads one column, but 2 are given"),
        (lambda: Preparation(("x",), "one-hot"), "reads at least two columns, but 1 are given"),
        (lambda: Preparation(("x", "x"), "one-hot"), "must be names, each a different one"),
        (lambda: Preparation((1,)), "must be names, each a different one"),
        (lambda: Preparation(("x",), cuts=(1,)), "cuts are for how='ranges', but how is 'value'"),
        (lambda: Preparation(("x",), "ranges", cuts=(2, 1)), "do not rise"),
        (lambda: Preparation(("x",), "ranges", cuts=(inf,)), "must be finite"),
        (lambda: Preparation(("x",), fill=nan), "the category nan is a float"),
        (lambda: Columns(("x", "x"), (Preparation(("x",)),)), "must be different"),
        (lambda: Columns(("x",), (Preparation(("y",)),)), "the column 'y' does not exist"),
        (lambda: Columns((" x",), (Preparation((" x",)),)), "begins or ends with a blank"),
        (
            lambda: Columns(("x", "y"), (Preparation(("y",)), Preparation(("x",)))),
            "in the order of the columns",
        ),
        (lambda: over(Columns(("x",), (Preparation(("x",)),) * 2)), "2 preparations for 1 features"),
        (
            lambda: over(Columns(("f", "x"), (Preparation(("x",)),))),
            "has the name of a raw column that it is not",
        ),
        (
            lambda: over(Columns(("x", "y"), (Preparation(("x", "y"), "one-hot"),))),
            "read from 2 columns, but has 0",
        ),
        (
            lambda: over(Columns(("x",), (Preparation(("x",), fill="a"),))),
            "fill of f needs numbers, but holds 'a'",
        ),
        (lambda: replace(over(Columns(("x",), (Preparation(("x",)),))), shape=(1,)), "samples with a shape"),
    ],
)
def test_wrong_columns_are_refused(wrong, error):
    with pytest.raises(EncodingError, match=error):
        wrong()


def over(columns):
    return Encoder([Steps((1.0,))], ["f"], columns=columns)


def test_a_feature_is_given_once():
    for more in ({"colour": "red"}, {"born (year)": 1980}):
        with pytest.raises(EncodingError, match=r"twice: by its own name and by '(colour_red|born)'"):
            table().values(RAW[0] | more)
    with pytest.raises(EncodingError, match="these lack 'born'"):
        table().values({name: value for name, value in RAW[0].items() if name != "born"})
    with pytest.raises(EncodingError, match="have 'more', which the network does not know"):
        table().values(RAW[0] | {"more": 1})
    with pytest.raises(EncodingError, match="the sample has 3 values, but the network reads 8 features"):
        table().values([1, 2, 3])
    with pytest.raises(EncodingError, match="X has shape"):
        table().encode([[1, 2, 3]])


def test_columns_that_no_feature_reads_may_be_there():
    columns = Columns(("id", "x", "same"), (Preparation(("x",), "days"),))
    encoder = Encoder([WHOLE], ["days"], columns=columns)
    for sample in (
        {"x": "1970-01-03"},
        {"same": 1, "x": "1970-01-03"},
        [7, "1970-01-03", 1],
        [2],
        {"days": 2},
    ):
        assert encoder.values(sample) == [2]


# -- summary -------------------------------------------------------------------------------------------------


def test_the_summary_has_the_kind_of_every_feature():
    assert str(summary(network())).splitlines()[-9:] == [
        "features                      kind",
        "age                           whole; gaps become 36",
        "income                        number",
        "colour                        one-hot group of colour_red, colour_green, colour_blue",
        "member                        bool",
        "born (days since 1970-01-01)  date in days",
        "born (year)                   year of a date",
        "debt                          number in 3 ranges; gaps are a category",
        "city                          category of 2; gaps are a category",
    ]


def test_the_summary_joins_features_of_one_kind():
    codings, pixels = [Steps((0.5,)), *[WHOLE] * 29], [f"pixel {i}" for i in range(27)]
    encoder = Encoder(codings, ["share", "a", "b", *pixels])
    lines = str(summary(Network(encoder, [], Head([[1] * 30, [-1] * 30])))).splitlines()
    assert lines[-3:] == [
        "features            kind",
        "share               number",
        "a to pixel 26 (29)  whole",
    ]
    few = Network(Encoder([WHOLE] * 2, ["a", "b"]), [], Head([[1, 1], [1, -1]]))
    assert str(summary(few)).endswith("\nfeatures  kind\na, b      whole")
    filled = Encoder([WHOLE], ["day"], columns=Columns(("day",), (Preparation(("day",), "days", fill=2),)))
    kind = dict(summary(Network(filled, [], Head([[1], [-1]]))).features)["day"]
    assert kind == "date in days; gaps become 1970-01-03"
