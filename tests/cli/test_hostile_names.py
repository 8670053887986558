"""A model file forges nothing on a terminal, whatever its classes, features and categories are called.

Each command is asked about two networks that differ in names alone, plain ones and hostile ones: it prints as
many lines about both, and nothing that a terminal obeys, that turns text around, or that cannot be seen.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from itertools import cycle

import numpy as np
import pytest

from sugenet.bnn import DenseLayer, Encoder, Head, Network, OneHot, threshold
from sugenet.cli import look, main
from sugenet.errors import EncodingError, NetworkError, QuestionError, SoundnessError
from sugenet.io import save
from sugenet.io.native.container import seal
from sugenet.io.native.document import to_document
from sugenet.io.samples import write_samples
from sugenet.visible import visible

FORGED = "the class stays 3, for any input: proved by bounds through all layers"
HOSTILE = [
    f"\x1b[2J\x1b[H{FORGED}",
    f"3\n{FORGED}\n",
    f"3\r{FORGED}\x1b[K",
    "\b" * 40 + FORGED,
    f"\x9b2J\x9bH{FORGED}",
    f"\x1b]8;;http://evil.example\x1b\\{FORGED}\x1b]8;;\x1b\\",
    "\x1b]52;c;cm0gLXJmIC8=\x07",
    f"\u202e{FORGED[::-1]}\u202c",
    "\u2066a\u2069\u200e\u200f\u061c",
    "a\u200db\u200c\u2060\ufeff\u00ad",
    f"\u2028{FORGED}\u2029\x85\x0b\x0c",
    "\ue000\U000e0041\U000f0000\ufdd0\x7f\0",
    "\x1b[1;32mproved\x1b[0m",
]
DANGEROUS = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
VERDICT = re.compile(r"\x1b\[1;3[123]m(proved|refuted|undecided|holds)\x1b\[0m")


def raw_characters(text):
    return sorted({one for one in text if one != "\n" and unicodedata.category(one) in DANGEROUS})


def network_of(names):
    """Two classes, five features, two of them with three categories each, all called by these names."""
    named = (f"{mark}{name}{mark}" for mark, name in enumerate(cycle(names)))  # no two are the same
    one, two = (OneHot(tuple(next(named) for _ in range(3))) for _ in range(2))
    encoder = Encoder([threshold(0.5, 0, 1), one, threshold(2.5, 0, 9), two], [next(named) for _ in range(4)])
    rng = np.random.default_rng(5)
    layer = DenseLayer(rng.choice([-1, 1], (5, encoder.width)), [4, 4, 5, 3, 4])
    return Network(encoder, [layer], Head(rng.choice([-1, 1], (3, 5))), [next(named) for _ in range(3)])


def on_desk(folder, names):
    """A model file, its samples, and words that name its parts."""
    folder.mkdir()
    network = network_of(names)
    save(network, folder / "model.sugenet")
    categories = [coding.categories for coding in network.encoder.codings if isinstance(coding, OneHot)]
    rows = [[0.25, categories[0][0], 7.0, categories[1][2]], [0.75, categories[0][1], 1.0, categories[1][0]]]
    write_samples(folder / "samples.csv", network, rows)
    return folder, network


COMMANDS = {
    "summary": "summary MODEL",
    "predict": "predict MODEL SAMPLES",
    "trace": "trace MODEL SAMPLES --index 0 --layer 1",
    "neuron": "rules MODEL --neuron 2",
    "rules": "rules MODEL SAMPLES --limit 4",
    "rule": "rules MODEL --check RULE",
    "why": "why MODEL SAMPLES --index 0",
    "whys": "why MODEL SAMPLES --index 0 --hamming 3 -n all",
    "chain": "why MODEL SAMPLES --index 0 --chain",
    "whatif": "whatif MODEL SAMPLES --index 0 -n 3",
    "whatif to": "whatif MODEL SAMPLES --index 0 --target CLASS --cost L1",
    "whatif none": "whatif MODEL SAMPLES --index 0 --keep ALL",
    "verify": "verify MODEL SAMPLES --index 0 --l0 3",
    "proved": "verify MODEL SAMPLES --index 0 --l0 0",
    "undecided": "verify MODEL SAMPLES --index 0 --l0 3 --engine bounds",
    "free": "verify MODEL SAMPLES --index 0 --free FEATURE",
    "where": "verify MODEL --never CLASS --where LIMIT",
    "always": "verify MODEL --always CLASS",
    "monotone": "verify MODEL --monotone NUMBER",
    "fair": "verify MODEL --fair FEATURE",
    "count": "count MODEL SAMPLES --index 0 --l0 1",
    "estimate": "count MODEL --method sample",
    "reading": "state MODEL SAMPLES --reading LABEL=0 --reading LABEL'=1 --claim CLAIM",
    "sweep": "sweep MODEL SAMPLES --ask whatif -o RESULTS --jobs 1",
    "results": "results RESULTS",
    "answer": "results RESULTS --sample 0",
    "certificate": "whatif MODEL SAMPLES --index 0 -o CERTIFICATE",
    "check": "check CERTIFICATE MODEL",
    "report": "report MODEL SAMPLES --index 0 -o PAGE --time-limit 2",
    "c": "convert MODEL -o model.c",
    "seen": "convert MODEL --seen SAMPLES -o seen.sugenet",
    "witness": "verify MODEL SAMPLES --index 0 --l0 3 --witness WITNESS",
    "no class": "whatif MODEL SAMPLES --index 0 --target LABEL",
    "no feature": "verify MODEL SAMPLES --index 0 --free LABEL",
    "no limit": "verify MODEL --never CLASS --where 'LABEL = 3'",
    "no category": "predict MODEL WRONG",
    "no rule": "rules MODEL --check LABEL",
    "no law": "why MODEL SAMPLES --index 0 --law LABEL",
    "no file": "predict LABEL",
    "no command": "LABEL",
    "no number": "predict MODEL --limit LABEL",
}
SLOW = {"sweep", "results", "report"}


def words_of(line, desk, label):
    folder, network = desk
    category = network.encoder.codings[1].categories[1]
    known = {
        "MODEL": folder / "model.sugenet",
        "SAMPLES": folder / "samples.csv",
        "WRONG": folder / "wrong.csv",
        "CLASS": network.classes[0],
        "FEATURE": network.encoder.names[1],
        "ALL": ",".join(network.encoder.names),
        "NUMBER": network.encoder.names[0],
        "LIMIT": f"{network.encoder.names[1]} = {category}",
        "LABEL": label,
        "CLAIM": f'"{label}" = "{label}\'"',
        "RULE": f"{network.encoder.names[0]} >= 0.5 -> {network.classes[0]}",
        "RESULTS": folder / f"{label[:20].replace('/', '').replace(chr(0), '')}.db",
        "CERTIFICATE": folder / "certificate.json",
        "PAGE": folder / "page.html",
        "model.c": folder / "model.c",
        "seen.sugenet": folder / "seen.sugenet",
        "WITNESS": folder / "witness.csv",
    }
    parts = re.compile("|".join(sorted(known, key=len, reverse=True)))
    return [parts.sub(lambda found: str(known[found[0]]), word) for word in line.split(" ")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def ran(words, stream=io.StringIO):
    out, err = stream(), stream()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([str(word).replace("\0", "") for word in words])
        except SystemExit as stop:
            code = stop.code
    return code, out.getvalue(), re.sub("^compiling.*\n", "", err.getvalue(), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def desks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    made = {}
    forged = [f"\n{FORGED}\n{name}" for name in HOSTILE]
    for name, names in (("plain", [f"name{k}" for k in range(len(HOSTILE))]), ("hostile", forged)):
        made[name] = on_desk(folder / name, names)
        lines = (made[name][0] / "samples.csv").read_text().replace(names[4], "").splitlines(keepends=True)
        (made[name][0] / "wrong.csv").write_text("".join(lines).replace("0.25", f"0.25{names[0]}"))
        for first in ("certificate", "sweep"):
            label = "name1" if name == "plain" else HOSTILE[1]
            assert ran(words_of(COMMANDS[first], made[name], label))[0] == 0
    return made


CASES = [
    pytest.param(name, as_json, marks=[pytest.mark.slow] * (name in SLOW), id=f"{name}{' --json' * as_json}")
    for name, line in COMMANDS.items()
    for as_json in (False, True)
    if not (as_json and (" -o " in line or name.startswith("no ")))  # no JSON, or the same error
]


@pytest.mark.parametrize(("name", "as_json"), CASES)
def test_no_command_lets_a_name_reach_the_terminal(desks, name, as_json):
    line = COMMANDS[name]
    line += " --json" * as_json
    plain = ran(words_of(line, desks["plain"], "name1"))
    hostile = ran(words_of(line, desks["hostile"], HOSTILE[1]))
    assert raw_characters(hostile[1] + hostile[2]) == []
    assert hostile[0] == plain[0]
    if name != "results":  # whose lines are as many as there are classes of times
        assert [text.count("\n") for text in hostile[1:]] == [text.count("\n") for text in plain[1:]]
    assert not any(row.startswith(FORGED) for row in (hostile[1] + hostile[2]).splitlines())
    if as_json:
        assert json.loads(hostile[1]).keys() == json.loads(plain[1]).keys()


def rated(path, names):
    """A table whose columns, rows and levels have these names; how fit is asked about it."""
    named = [f"{mark}{name}{mark}".replace("\0", "") for mark, name in enumerate(names)]
    levels = named[5:8]
    rows = [(2, 0, 1, 1), (1, 2, 0, 1), (0, 1, 2, 0), (2, 2, 1, 2), (0, 0, 0, 0), (2, 2, 2, 0), (1, 2, 2, 0)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(named[:5])
        writer.writerows([f"{named[8]}{k}", *(levels[level] for level in row)] for k, row in enumerate(rows))
    return ["fit", path, "--name", named[0], "--label-column", named[4], "--order", "<".join(levels)]


@pytest.mark.parametrize("options", ["", "--loss total", "--terms 1", "--terms card", "--predict FILE"])
def test_no_table_lets_a_name_reach_the_terminal(tmp_path, options):
    printed = []
    for names in ([f"name{k}" for k in range(len(HOSTILE))], [f"\n{FORGED}\n{name}" for name in HOSTILE]):
        file = tmp_path / f"table{len(printed)}.csv"
        printed.append(ran([*rated(file, names), *options.replace("FILE", str(file)).split()]))
    (code, out, err), hostile = printed
    assert (hostile[0], raw_characters(hostile[1] + hostile[2])) == (code, [])
    assert [text.count("\n") for text in hostile[1:]] == [out.count("\n"), err.count("\n")]
    assert not any(row.startswith(FORGED) for row in hostile[1].splitlines())


@pytest.mark.parametrize("label", HOSTILE, ids=visible)
def test_no_argument_reaches_the_terminal(desks, label):
    for name in ("no class", "no limit", "no file", "no command", "no number"):
        code, out, err = ran(words_of(COMMANDS[name], desks["plain"], label))
        assert (code, out, raw_characters(err)) == (2, "", [])
        assert err.count("\n") <= 2


def test_colour_is_of_verdicts_and_not_of_names(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    desk = on_desk(tmp_path / "words", ["proved", "refuted by", ": undecided (", "certificate holds"])
    for name, marks in (
        ("verify", 1),
        ("proved", 1),
        ("undecided", 1),
        ("count", 0),
        ("whatif", 2),
        ("why", 1),
    ):
        _, out, err = ran(words_of(COMMANDS[name], desk, "proved"), Terminal)
        assert (len(VERDICT.findall(out)), raw_characters(VERDICT.sub("", out))) == (marks, []), out
        assert re.findall("[0-9]\x1b|\x1b\\[0m[0-9]", out) == []  # names have a number at either end
        assert VERDICT.findall(err) == []


@pytest.mark.parametrize("name", ["verify", "summary", "rules", "no class"])
def test_a_terminal_gets_nothing_but_our_own_colours(desks, monkeypatch, name):
    monkeypatch.setenv("TERM", "xterm")
    _, out, err = ran(words_of(COMMANDS[name], desks["hostile"], HOSTILE[0]), Terminal)
    assert raw_characters(VERDICT.sub("", out + err).replace("\r\x1b[K", "")) == []


def test_data_on_a_terminal_is_spelled_out_and_in_a_file_as_it_is(desks, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    words = words_of("results RESULTS --csv -", desks["hostile"], HOSTILE[1])
    assert raw_characters(ran(words, Terminal)[1].replace("\r\n", "\n")) == []
    assert "\x1b" in ran(words)[1]


def test_pages_and_pictures_spell_out_what_turns_text_around(desks):
    from sugenet.show.markup import Html

    assert str(Html("<p>{}</p>").format("\u202ea\u200b<\x1b")) == "<p>\\u202ea\\u200b&lt;\\x1b</p>"
    _, network = desks["hostile"]
    assert raw_characters(network.predict and str(network)) == []
    answer = ran(words_of(COMMANDS["report"].replace("PAGE", "-"), desks["hostile"], "x"))[1]
    assert raw_characters(answer.replace("\t", "")) == []


def test_names_are_unicode_from_the_constructor_on():
    layers, head = [], Head([[1], [-1]])
    with pytest.raises(NetworkError, match=r"class name 'a\\ud800' holds \\ud800, which is not Unicode"):
        Network(Encoder.of_bits(1), layers, head, ["a\ud800", "b"])
    with pytest.raises(NetworkError, match=r"note 'from: \\udcff'"):
        Network(Encoder.of_bits(1), layers, head, notes={"from": "\udcff"})
    with pytest.raises(EncodingError, match=r"feature name '\\udcff\.csv'"):
        Encoder.of_bits(1, ["\udcff.csv"])
    with pytest.raises(EncodingError, match=r"category '\\ud800'"):
        OneHot(("a", "\ud800"))


@pytest.mark.parametrize("part", ["class name", "feature name", "category"])
def test_a_file_with_half_a_pair_in_a_name_is_refused_by_name(desks, tmp_path, part):
    _, network = desks["plain"]
    document, tensors = to_document(network)
    names = {
        "class name": network.classes,
        "feature name": network.encoder.names,
        "category": network.encoder.codings[1].categories,
    }
    old = names[part][0]
    text = json.dumps(document).replace(f'"{old}"', f'"{old}\\ud800"')
    (tmp_path / "model.sugenet").write_bytes(seal(json.loads(text), tensors))
    for words in (
        ["summary"],
        ["rules"],
        ["verify", "--always", "x"],
        ["count"],
        ["trace"],
        ["serve", "--port", "0"],
    ):
        code, out, err = ran([words[0], tmp_path / "model.sugenet", *words[1:]])
        assert (code, out) == (2, "")
        assert f"the {part} '{old}\\ud800' holds \\ud800, which is not Unicode. Rename it." in err


def test_errors_are_safe_to_show_in_python_too(desks):
    from sugenet.reason import Always, verify

    with pytest.raises(QuestionError) as caught:
        verify(desks["hostile"][1], Always("none of them"))
    assert raw_characters(str(caught.value)) == []


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are bytes elsewhere")
def test_a_file_name_that_is_not_unicode_is_shown_and_read(desks):
    folder, _ = desks["plain"]
    odd = os.fsencode(folder) + b"/odd\xff.sugenet"
    with open(odd, "wb") as file:
        file.write((folder / "model.sugenet").read_bytes())
    there = [os.fsdecode(odd), "summary"]
    code, out, err = ran(["summary", there[0]])
    assert (code, err) == (0, "")
    for words in (["predict", f"{there[0]}x"], ["whatif", there[0], "\udcff.csv"], ["\udcff"]):
        code, out, err = ran(words)
        assert (code, out) == (2, "")
        assert "\\udcff" in err
    code, out, _ = ran(
        [
            "report",
            there[0],
            folder / "samples.csv",
            "--index",
            "0",
            "-o",
            there[0] + ".html",
            "--json",
            "--time-limit",
            "0",
        ]
    )
    assert code == 0
    assert json.loads(out)["output"].endswith("odd\udcff.sugenet.html")


# -- exit codes ----------------------------------------------------------------------------------------------


def with_a_bug(monkeypatch, error):
    """Exit code, standard output and standard error of a command that has a bug."""

    def broken(_):
        raise error

    monkeypatch.setattr(look, "network_of", broken)
    return ran(["summary", "digits"])


@pytest.mark.parametrize(
    "error",
    [TypeError("a\x1b[2Jb\nc"), AssertionError(), KeyError("x"), SoundnessError("two\nlines")],
    ids=repr,
)
def test_a_bug_ends_with_70_and_one_line(monkeypatch, error):
    monkeypatch.delenv("SUGENET_DEBUG", raising=False)
    code, out, err = with_a_bug(monkeypatch, error)
    assert (code, out, raw_characters(err)) == (70, "", [])
    assert err.startswith(f"sugenet: a bug in sugenet, please report it: {type(error).__name__}: ")
    assert err.count("\n") == 1
    assert "SUGENET_DEBUG=1" in err


def test_a_bug_shows_where_it_is_when_asked(monkeypatch):
    monkeypatch.setenv("SUGENET_DEBUG", "1")
    assert "Traceback" in with_a_bug(monkeypatch, TypeError())[2]


def test_the_exit_code_of_a_bug_is_that_of_the_process():
    code = (
        "import runpy, sys\n"
        "sys.modules['sugenet.cli.session'] = None\n"  # a part that is missing
        "runpy.run_module('sugenet', run_name='__main__')"  # as python -m does
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.startswith("sugenet: a bug in sugenet, please report it: ModuleNotFoundError")
