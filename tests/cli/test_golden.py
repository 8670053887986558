"""What is printed, word for word, at 80 columns: each file of `golden/` is a session,
its commands run in one folder.

A line ``$ sugenet ...`` is a command, lines behind it are what it prints, ``2>`` marks standard error,
``[exit 3]`` a code that is not 0. Numbers that depend on the machine or on the day are written as ``#``.
``SUGENET_REWRITE=1 pytest tests/cli/test_golden.py`` writes what is printed now:
read the difference before keeping it.
"""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

import sugenet as sg
from sugenet.cli.commands import groups
from tests.cli.rated import RATED
from tests.cli.runner import as_process, in_process, run_line
from tests.show.garden import garden

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.txt"))
COMMANDS = [name for commands in groups().values() for name in commands]
WHOLE = re.compile(r'\$ |\s*"')
"""What is never broken: commands, JSON."""
VARIES = [
    (re.compile(r'("(?:seconds|bytes|accuracy|test_accuracy|best_epoch)": )[0-9.e+-]+'), r"\1#"),
    (re.compile(r'^    "balanced_accuracy": .*?^    "warning": .*?$', re.MULTILINE | re.DOTALL), "    #"),
    (re.compile(r'("fingerprint": ")[0-9a-f]{64}'), r"\1#"),
    (re.compile(r"of [0-9,]+ kB"), "of # kB"),
    (re.compile(r"[0-9]+\.[0-9]+%"), "#%"),
    (re.compile(r"loss [0-9.]+"), "loss #"),
    (re.compile(r"^times: .*\n(?:  .*\n)*", re.MULTILINE), "times: #\n"),
    (re.compile(r"^hardest: .*$", re.MULTILINE), "hardest: #"),
    (re.compile(r"done in [0-9.]+ (ms|s|min|h)\b"), "done in #"),
]


def printed(line, run=in_process):
    """What a line of commands prints, as the sessions have it."""
    code, out, err = run_line(line, run)
    text = out + "".join(f"2> {row}\n" for row in err.splitlines()) + (f"[exit {code}]\n" if code else "")
    for pattern, put in VARIES:
        text = pattern.sub(put, text)
    return text


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder with a few files to work on, and a terminal of 80 columns that is none."""
    X, y = sg.models.samples("breast_cancer")
    net = sg.models.breast_cancer()
    with open(tmp_path / "patients.csv", "w", newline="") as file:
        rows = [[*row, net.classes[k]] for row, k in zip(X[:4].tolist(), y[:4], strict=True)]
        csv.writer(file).writerows([[*net.encoder.names, "diagnosis"], *rows])
    fruit = [[100 + 7 * i, "red" if i % 3 else "green", "apple" if i > 10 else "plum"] for i in range(20)]
    with open(tmp_path / "fruit.csv", "w", newline="") as file:
        csv.writer(file).writerows([["weight", "colour", "fruit"], *fruit])
    (tmp_path / "text.json").write_text("[1, 2]\n")
    example = sg.Network.of_bits(
        [sg.nn.DenseLayer([[1, 1, -1, 1]], [2])], sg.nn.Head([[-1], [1]]), classes=["off", "on"]
    )
    sg.save(example, tmp_path / "example.sugenet")
    (tmp_path / "input.csv").write_text("1,-1,1,-1\n")
    sg.save(garden(), tmp_path / "levels.sugenet")
    (tmp_path / "garden.csv").write_text(
        "soil,sun,wind,truth\n2,3,1,water\n3,1,0,rest\n0,3,3,water\n1,1,1,water\n"
    )
    for name, text in RATED.items():
        (tmp_path / f"{name}.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_sessions_print_what_they_printed(desk, path):
    if path.stem == "train":
        pytest.importorskip("torch")
    expected = path.read_text()
    lines = [line for line in expected.splitlines() if line.startswith("$ ")]
    found = "\n".join(f"{line}\n{printed(line[2:])}" for line in lines)
    if os.environ.get("SUGENET_REWRITE"):
        path.write_text(found)
    assert found == expected


@pytest.mark.parametrize(
    "line",
    [
        "sugenet verify digits --index 7 --l0 2",
        "sugenet whatif digits --index 7 -o - | sugenet check - digits",
        "sugenet whatiff",
    ],
)
def test_a_process_prints_the_same(desk, line):
    assert printed(line, as_process) == printed(line)


def test_every_command_has_a_session_and_its_help():
    text = "".join(path.read_text() for path in GOLDEN)
    for name in COMMANDS:
        assert f"$ sugenet {name} --help\n" in text
        assert re.search(rf"^\$ .*sugenet {name} (?!--help)|^\$ sugenet {name}$", text, re.MULTILINE), name
    assert {f"[exit {code}]" for code in (1, 2, 3)} <= set(text.splitlines())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_nothing_is_wider_than_80_columns(path):
    wide = [line for line in path.read_text().splitlines() if len(line.removeprefix("2> ")) > 80]
    assert [line for line in wide if not WHOLE.match(line)] == []
