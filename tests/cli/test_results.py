"""``sugenet results``: text, JSON and files say the same, and the exit code says whether everything holds."""

import csv
import json
import os
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest

import sugenet as sg
from sugenet.sweeps.store import writing
from tests.cli.runner import in_process, run_line


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Results of a few digits at two radii, and the costs of changing them."""
    folder = tmp_path_factory.mktemp("swept")
    network, (X, y) = sg.models.digits(), sg.models.samples("digits")
    for radius in (1, 2):
        sg.sweep(
            network,
            X[:8],
            sg.Robust(sg.each, sg.Hamming(radius)),
            y=y[:8],
            jobs=1,
            store=folder / f"{radius}.db",
        )
    sg.sweep(network, X[:4], sg.WhatIf(sg.each), y=y[:4], jobs=1, store=folder / "costs.db")
    return folder


@pytest.fixture
def desk(swept, tmp_path, monkeypatch):
    """A folder with copies of them."""
    for file in swept.glob("*.db"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(line):
    """Standard output of a command that must do."""
    code, out, err = run_line(f"sugenet results {line}")
    assert (code, err) == (0, ""), err
    return out


def test_json_says_what_the_text_says(desk):
    data = json.loads(told("1.db 2.db --curve --check --jobs 1 --json"))
    text = told("1.db 2.db --curve --check --jobs 1")
    assert [one["file"] for one in data["files"]] == ["1.db", "2.db"]
    assert data["files"][1]["outcomes"] == {"proved": 5, "refuted": 3}
    assert data["files"][0]["check"]["counts"] == {"holds": 8}
    assert text.count("  8 hold\n") == 2
    assert [point["radius"] for point in data["curve"]["points"]] == ["1", "2"]
    for point in data["curve"]["points"]:
        assert f"{float(Fraction(point['lower'])):.2%}".replace("%", " %") in text
    with sg.read_results("2.db") as found:
        assert data["files"][1]["certified_accuracy"]["lower"] == str(found.tally().certified.lower)


def test_files_may_come_behind_options(desk):
    assert told("1.db --curve 2.db") == told("1.db 2.db --curve")
    assert told("--curve 1.db 2.db") == told("1.db 2.db --curve")


def test_tables_are_written_and_read_back(desk):
    code, out, err = run_line("sugenet results 2.db --csv - --quiet")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(out.splitlines()))
    with sg.read_results("2.db") as found:
        assert [row["outcome"] for row in rows] == [row.outcome for row in found.rows()]
    code, out, err = run_line("sugenet results 2.db --csv table.csv --limit 0")
    assert (code, err) == (0, "written to table.csv\n")
    assert list(csv.DictReader((desk / "table.csv").read_text().splitlines())) == rows
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run_line("sugenet results 2.db --parquet t.parquet --quiet")[0] == 0
    table = parquet.read_table(desk / "t.parquet")
    assert [str(one) for one in table["sample"].to_pylist()] == [row["sample"] for row in rows]
    assert b"with up to 2 bits flipped" in table.schema.metadata[b"question"]


def test_figures_and_the_page(desk):
    assert run_line("sugenet results 1.db 2.db --curve --svg curve.svg --html page.html --quiet")[0] == 0
    drawn = ET.parse(desk / "curve.svg").getroot()
    assert [group.get("data-x") for group in drawn.iter() if group.get("data-low")] == ["0", "1", "2"]
    assert "<h1>1.db, 2.db: report on a data set</h1>" in (desk / "page.html").read_text()
    assert run_line("sugenet results 2.db --svg times.svg --quiet")[0] == 0
    counts = [element.get("data-value") for element in ET.parse(desk / "times.svg").getroot().iter()]
    assert sum(int(count) for count in counts if count) == 8
    code, out, _ = run_line("sugenet results 1.db 2.db --curve --svg - --quiet")
    assert (code, out) == (0, (desk / "curve.svg").read_text())


def test_a_sample_and_its_certificate(desk):
    with sg.read_results("costs.db") as found:
        answer = found.answer(2)
    assert told("costs.db --sample 2") == f"{answer}\n"
    assert json.loads(told("costs.db --sample 2 --json")) == {
        "sample": 2,
        **json.loads(json.dumps(answer.data())),
    }
    assert run_line("sugenet results costs.db --sample 2 -o c.json")[0] == 0
    assert json.loads((desk / "c.json").read_text()) == json.loads(json.dumps(answer.certificate))


def test_an_answer_without_a_certificate_says_so(desk):
    line = "sugenet sweep digits --ask predict --first 2 --jobs 1 -o p.db --quiet"
    assert run_line(line)[0] == 0
    code, out, err = run_line("sugenet results p.db --sample 1 -o c.json")
    assert (code, err) == (0, "no certificate written: the answer has none\n")
    assert out.startswith("class 9")
    assert not (desk / "c.json").exists()


def test_what_does_not_hold_ends_with_1(desk):
    store, _ = writing("2.db")
    store._connection.execute("UPDATE answers SET answer = x'00' WHERE sample = 3")
    store.close()
    code, out, err = run_line("sugenet results 2.db --check --jobs 1")
    assert (code, err) == (1, "")
    assert "  7 hold\n  1 do not hold\nsample 3: " in out
    code, out, _ = run_line("sugenet results 2.db --check --jobs 1 --json")
    check = json.loads(out)["files"][0]["check"]
    assert (code, check["holds"], check["failures"][0]["sample"]) == (1, False, 3)
    assert run_line("sugenet results 1.db 2.db --check --jobs 1")[0] == 1
    assert run_line("sugenet results 2.db")[0] == 0  # rows are as they were


def test_too_little_time_ends_with_3(desk):
    code, out, _ = run_line("sugenet results 2.db --check --jobs 1 --time-limit 0")
    assert code == 3
    assert "not checked within the limits" in out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1.db --check 0", "--check 0 must be above 0"),
        ("1.db --check 2", "must be above 0 and at most 1"),
        ("1.db --curve --radii 1,x", "--radii 'x' is not a number"),
        ("1.db --curve --radii 1", "radii are those of the files"),
        ("1.db --sample 1 --check", "give --sample or --check, not both"),
        ("1.db --seed 1", "--seed needs --check"),
        ("1.db --time-limit 1", "--time-limit needs --check"),
        ("1.db -o c.json", "-o needs --sample"),
        ("1.db 2.db --csv t.csv", "--csv takes one results file, not 2"),
        ("1.db --parquet -", "Parquet is not text"),
        ("1.db --csv ./1.db", "./1.db holds the results and would be overwritten"),
        ("1.db 2.db --html 2.db", "2.db holds the results and would be overwritten"),
        ("1.db --sample 1 -o 1.db", "1.db holds the results and would be overwritten"),
        ("1.db --csv nowhere/t.csv", "there is no folder 'nowhere'"),
        ("1.db 2.db --curve --svg 2.db", "2.db holds the results and would be overwritten"),
        ("1.db --model breast_cancer", "Give the model that was asked; sugenet results takes the one inside"),
        ("1.db --model nowhere.sugenet", "nowhere.sugenet cannot be read"),
        ("costs.db 1.db --curve", "costs.db asks whatif, which has the whole curve"),
        ("costs.db --curve --radii -1", "a radius is not negative"),
        ("", "missing: FILE"),
    ],
)
def test_what_means_nothing_is_refused_and_nothing_is_written(desk, line, words):
    before = {name: (desk / name).read_bytes() for name in os.listdir()}
    code, out, err = run_line(f"sugenet results {line}")
    assert (code, out) == (2, "")
    assert words in err
    assert {name: (desk / name).read_bytes() for name in os.listdir()} == before


def test_a_page_does_not_overwrite_the_results_that_it_shows(desk):
    before = (desk / "1.db").read_bytes()
    code, _, err = run_line("sugenet report digits --results 1.db --interactive -o 1.db")
    assert code == 2
    assert "1.db holds the results and would be overwritten. Give another file." in err
    assert (desk / "1.db").read_bytes() == before


def test_a_file_that_is_none_is_refused(desk):
    (desk / "text.json").write_text("[1, 2]\n")
    code, _, err = in_process(["results", "text.json"])
    assert code == 2
    assert "is not a results file" in err
