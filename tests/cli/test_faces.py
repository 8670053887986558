"""``sugenet report`` and ``sugenet serve``: files that are whole, pages on standard output,
a server that ends with Ctrl-C.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest

import sugenet as sg
from sugenet.io import read_samples
from tests.cli.runner import in_process


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The paper's example with its input, in the folder that is worked in."""
    network = sg.Network.of_bits(
        [sg.nn.DenseLayer([[1, 1, -1, 1]], [2])], sg.nn.Head([[-1], [1]]), classes=["off", "on"]
    )
    sg.save(network, tmp_path / "example.sugenet")
    (tmp_path / "input.csv").write_text("x1,x2,x3,x4,kind\n1,-1,1,-1,off\n1,1,1,1,on\n")
    monkeypatch.chdir(tmp_path)
    return network


def payload_of(page):
    return json.loads(
        re.search(r'<script type="application/json" id="payload"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
    )


@pytest.mark.parametrize("kind", [[], ["--interactive"]])
def test_a_page_goes_to_a_file_or_to_standard_output(example, tmp_path, kind):
    words = ["report", "example.sugenet", "input.csv", "--index", "1", *kind]
    code, out, err = in_process([*words, "-o", "page.html"])
    assert (code, err) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert f"one file of {len(page.encode()) / 1000:,.0f} kB" in out
    assert page.lower().startswith("<!doctype html>")
    code, printed, err = in_process([*words, "-o", "-"])
    assert (code, err) == (0, "")
    assert printed.lower().startswith("<!doctype html>")
    assert sorted(os.listdir()) == ["example.sugenet", "input.csv", "page.html"]


def test_the_interactive_page_knows_samples_truth_and_answers(example):
    words = [
        "report",
        "example.sugenet",
        "input.csv",
        "--index",
        "1",
        "--label-column",
        "kind",
        "--interactive",
        "-o",
        "-",
    ]
    data = payload_of(in_process(words)[1])
    assert (data["title"], data["server"], data["fingerprint"]) == ("example", False, example.fingerprint)
    assert [(sample["values"], sample["truth"]) for sample in data["samples"]] == [
        ([1, -1, 1, -1], 0),
        ([1, 1, 1, 1], 1),
    ]
    assert data["start"] == 1
    assert data["answers"][0]["answer"]["kind"] == "whatif"


@pytest.fixture
def swept(example):
    """Results about the samples of the file."""
    X, y = read_samples("input.csv", example, "kind")
    sg.sweep(example, X, sg.Robust(sg.each, sg.Hamming(1)), y=y, store="results.db", jobs=1).close()
    return example


@pytest.mark.parametrize("samples", [[], ["input.csv", "--label-column", "kind"]])
def test_the_interactive_page_carries_a_results_file(swept, samples):
    words = ["report", "example.sugenet", *samples, "--results", "results.db", "--interactive", "-o", "-"]
    code, page, err = in_process(words)
    assert (code, err) == (0, "")
    data = payload_of(page)
    with sg.read_results("results.db") as results:
        rows = results.rows()
        said = {str(row.sample): str(results.answer(row.sample)) for row in rows}
    assert data["results"]["rows"]["outcome"] == [row.outcome for row in rows]
    assert {sample: one["sentence"] for sample, one in data["results"]["answers"].items()} == said
    assert [(one["index"], one["values"], one["truth"]) for one in data["samples"]] == [
        (0, [1, -1, 1, -1], 0),
        (1, [1, 1, 1, 1], 1),
    ]
    assert data["answers"][0]["question"]["sample"] == [1, -1, 1, -1]


WRONG = [
    (["example.sugenet", "--results", "nowhere.db"], "nowhere.db cannot be read: there is no such file"),
    (["example.sugenet", "--results", "input.csv"], "input.csv' is not a results file"),
    (["digits", "--results", "results.db"], "is about the network"),
    (["example.sugenet", "other.csv", "--results", "results.db"], "sample 1 is another one in"),
    (["example.sugenet", "one.csv", "--results", "results.db"], "is about 2 samples, but 1 are given"),
    (["example.sugenet", "--results", "results.db", "--index", "2"], "there is no sample 2"),
    (
        ["example.sugenet", "--results", "results.db", "--label-column", "kind"],
        "--label-column needs SAMPLES",
    ),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
@pytest.mark.parametrize(
    "command", [["report", "--interactive", "-o", "page.html"], ["serve", "--port", "0"]]
)
def test_results_about_something_else_are_refused(swept, tmp_path, command, words, said):
    (tmp_path / "other.csv").write_text("x1,x2,x3,x4\n1,-1,1,-1\n1,1,1,-1\n")
    (tmp_path / "one.csv").write_text("x1,x2,x3,x4\n1,-1,1,-1\n")
    code, out, err = in_process([*command, *words])
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert not os.path.exists("page.html")


def test_a_page_to_read_is_made_by_another_command(swept):
    code, _, err = in_process(["report", "example.sugenet", "--results", "results.db", "-o", "page.html"])
    assert code == 2
    assert "sugenet results results.db --html page.html" in " ".join(err.split())
    assert in_process(["results", "results.db", "--html", "page.html"])[0] == 0
    assert os.path.exists("page.html")


def test_a_report_names_the_file_that_checks_its_certificates(example):
    page = in_process(["report", "example.sugenet", "input.csv", "--index", "1", "-o", "-"])[1]
    assert "sugenet check certificate.json example.sugenet<" in page


def test_a_page_to_read_is_about_inputs_that_can_occur(example):
    words = [
        "report",
        "breast_cancer",
        "--index",
        "5",
        "--within",
        "data",
        "--law",
        "mean radius < 20",
        "-o",
        "-",
    ]
    page = in_process(words)[1]
    assert "about inputs within what was seen in training that obey" in page
    code, page, _ = in_process([*words, "--interactive", "--time-limit", "1"])
    assert code == 0
    assert '"words":"for inputs within what was seen in training that obey' in page
    assert (
        in_process(["convert", "example.sugenet", "--law", "x1 = 1 or x2 = 1", "-o", "known.sugenet"])[0] == 0
    )
    assert 'asked about: inputs that obey "x1 = 1 or x2 = 1"' in in_process(["summary", "known.sugenet"])[1]


def test_seed_and_threads_reach_the_questions_of_an_interactive_page(example, monkeypatch):
    from sugenet.web import asking

    asked = {}
    monkeypatch.setattr(asking, "precompute", lambda *_, **how: asked.update(how) or [])
    words = ["report", "example.sugenet", "input.csv", "--index", "1", "--interactive", "-o", "-"]
    assert in_process([*words, "--seed", "5", "--threads", "1", "--time-limit", "2"])[0] == 0
    assert (asked["seed"], asked["threads"], asked["time_limit"]) == (5, 1, 2.0)


def test_a_place_that_cannot_be_written_is_named_before_work(example):
    code, out, err = in_process(
        ["report", "example.sugenet", "input.csv", "--index", "1", "-o", "nowhere/page.html"]
    )
    assert (code, out) == (2, "")
    assert (
        err
        == "sugenet: 'nowhere/page.html' cannot be written: there is no folder 'nowhere'. Make it first.\n"
    )


def test_an_older_page_stays_when_the_new_one_cannot_be_made(example, tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("older")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    code, _, err = in_process(["report", "example.sugenet", "input.csv", "--index", "0", "-o", "page.html"])
    assert code == 2
    assert "No space left on device" in err
    assert (tmp_path / "page.html").read_text() == "older"


@pytest.mark.parametrize(
    "words", [["input.csv", "--quiet"], ["--results", "results.db"], ["input.csv", "--no-token"]]
)
def test_the_server_answers_until_it_is_interrupted(swept, words):
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "sugenet", "serve", "example.sugenet", *words, "--port", "0"]
    unwrapped = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=unwrapped
    )
    try:
        stream = process.stdout if "--quiet" in words else process.stderr
        if "--no-token" in words:
            assert "warning: there is no token, so every user of this machine" in stream.readline()
        told = stream.readline()
        found = re.search(r"(http://127\.0\.0\.1:[0-9]+/)(?:\?token=([\w-]{32}))?\s", told)
        assert found, told
        address, token = found.groups()
        assert (token is None) == ("--no-token" in words)
        with urlopen(Request(address, headers={"Authorization": f"Bearer {token}"}), timeout=30) as answer:
            data = payload_of(answer.read().decode())
        assert data["server"] is True
        assert [one["values"] for one in data["samples"]] == [[1, -1, 1, -1], [1, 1, 1, 1]]
        assert data["results"] == ({"name": "results.db", "samples": 2} if "--results" in words else None)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")
    finally:
        process.kill()
