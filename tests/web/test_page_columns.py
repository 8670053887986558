"""CSV files of raw columns in the browser: cells become the values that Python reads, or both refuse them."""

import csv
import io
import json
from base64 import b64encode

import numpy as np
import pytest

from sugenet.errors import EncodingError, FileError
from sugenet.io import read_samples
from sugenet.io.native.file import network_bytes
from sugenet.nn import Columns, Encoder, Head, Network, OneHot, Preparation, Steps, range_labels
from sugenet.web import payload
from sugenet.web.bundle import bundled
from tests.nn.test_columns import FEATURES, RAW, network

READ = """([file, texts]) => {
  const bytes = Uint8Array.from(atob(file), (letter) => letter.charCodeAt(0));
  const model = new _engine_model.Model(_engine_network_file.payloadOf(bytes, "test", "0"));
  return texts.map((text) => {
    try {
      return _engine_csv.readSamples(model, text).map(({ values }) => values);
    } catch (error) {
      return error.message;
    }
  });
}"""


@pytest.fixture
def read(page):
    """The browser's reader of CSV files."""
    for name in ("network_file", "model", "csv"):  # each with its own copy of what it imports
        script = f"{bundled(f'engine/{name}.js')}\nreturn _engine_{name};"
        page.add_script_tag(content=f"globalThis._engine_{name} = (() => {{ {script} }})()")
    return lambda net, texts: page.evaluate(READ, [b64encode(network_bytes(net)).decode(), texts])


def written(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def test_the_page_knows_the_columns():
    assert payload(network(), title="x")["columns"] == network().encoder.columns.data()
    assert json.loads(json.dumps(network().encoder.columns.data()))["features"][2] == {
        "columns": [2, 3, 4],
        "how": "one-hot",
        "fill": None,
        "cuts": [],
    }


def test_raw_columns_and_features_in_the_browser(read):
    net = network()
    cells = [["" if value is None or value != value else value for value in row.values()] for row in RAW]
    features = [["" if value is None else value for value in row] for row in FEATURES]
    texts = [
        written(rows) for rows in ([list(RAW[0]), *cells], cells, [net.encoder.names, *features], features)
    ]
    for rows in read(net, texts):
        assert rows == FEATURES
    twice = written([[*RAW[0], "colour"], [*cells[0], "red"]])
    lacking = written([list(RAW[0])[:-1], cells[0][:-1]])
    assert read(net, [twice, lacking]) == [
        "The file gives colour twice, also by the column colour_red. Remove one.",
        "The file has no column city, and 8 columns for 8 features.",
    ]


CELLS = {
    "x": ["1", "1.0", "-2.5", "1/3", "NA", "", " n/a", "abc", "20", "1e400"],
    "y": ["a", "b", "NA", "", "?", "c", "None"],
    "z_a": ["0", "1", "1.0", "true", "FALSE", "", "2", "NA"],
    "z_b": ["0", "1", "0.0", "True", "", "x"],
    "when": [
        *("2020-02-29", "2021-02-29", "1969-12-31 23:59:59", "0001-01-01", "9999-12-31T23:59Z", "17", "NaT"),
        *("2000-01-01 00:00:00.5", "2000-01-01 00:00:00.0+05:30", "2000-01-01T12:00-0130", "0099-03-01"),
        *("31.12.2020", "2000-01-01T24:00", "-3", "1/2"),
    ],
    "much": ["-1", "0", "0.5", "0.49999999999999994", "7", "7.000000000000001", "below 0.5", "NA", "nope"],
    "flag": ["True", "TRUE", "false", "1", "yes", ""],
}


def test_cells_are_read_alike_in_python_and_in_the_browser(read, tmp_path):
    parts = ("days", "seconds", "year", "month", "weekday")
    whole = Steps((0.0,), whole=True)
    labels = range_labels((0.5, 7.0))
    columns = Columns(
        tuple(CELLS),
        (
            Preparation(("x",), fill=3),
            Preparation(("y",)),
            Preparation(("z_a", "z_b"), "one-hot", "a"),
            *(Preparation(("when",), part) for part in parts),
            Preparation(("much",), "ranges", cuts=(0.5, 7.0)),
            Preparation(("flag",)),
        ),
    )
    codings = [Steps((1.0,)), OneHot(("a", "b", None)), OneHot(("a", "b")), *[whole] * 5]
    codings += [OneHot((*labels, None)), OneHot((False, True))]
    encoder = Encoder(codings, ["x", "y", "z", *parts, "much", "flag"], columns=columns)
    net = Network(encoder, [], Head(np.ones((2, encoder.width), int)))
    usual = {"x": "1", "y": "a", "z_a": "1", "z_b": "0", "when": "2020-01-01", "much": "1", "flag": "True"}
    lines = [usual | {name: cell} for name, cells in CELLS.items() for cell in cells]
    lines += [usual | {"z_a": a, "z_b": b} for a in CELLS["z_a"] for b in CELLS["z_b"]]
    texts = [written([list(CELLS), list(line.values())]) for line in lines]
    outcomes = set()
    for text, actual in zip(texts, read(net, texts), strict=True):
        (tmp_path / "x.csv").write_text(text)
        try:
            X, _ = read_samples(tmp_path / "x.csv", net)
            net.encoder.encode(X)
            expected = X.tolist()
        except (FileError, EncodingError):
            assert isinstance(actual, str), (text, actual)
        else:
            assert actual == expected, text
        outcomes.add(type(actual))
    assert outcomes == {str, list}
