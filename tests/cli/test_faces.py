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
from urllib.request import urlopen

import pytest

import sugenet as sg
from tests.cli.runner import in_process


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The paper's example with its input, in the folder that is worked in."""
    network = sg.Network.of_bits(
        [sg.DenseLayer([[1, 1, -1, 1]], [2])], sg.Head([[-1], [1]]), classes=["off", "on"]
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
        "--target",
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


def test_a_report_names_the_file_that_checks_its_certificates(example):
    page = in_process(["report", "example.sugenet", "input.csv", "--index", "1", "-o", "-"])[1]
    assert "sugenet check certificate.json example.sugenet<" in page


def test_seed_and_threads_reach_the_questions_of_an_interactive_page(example, monkeypatch):
    from sugenet.web import beforehand

    asked = {}
    monkeypatch.setattr(beforehand, "precompute", lambda *_, **how: asked.update(how) or [])
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


def test_the_server_answers_until_it_is_interrupted(example):
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "sugenet", "serve", "example.sugenet", "input.csv", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        told = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:[0-9]+/", told)
        assert address, told
        with urlopen(address[0], timeout=30) as answer:
            assert payload_of(answer.read().decode())["server"] is True
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")
    finally:
        process.kill()
