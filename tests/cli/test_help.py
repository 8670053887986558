"""Help, suggestions, the language of conditions, and output that is the same in every run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

import sugenet as sg
from sugenet.cli import main
from sugenet.cli.commands import groups, parser_of_all
from sugenet.cli.faces import without_times

PHRASE = re.compile(r"[a-z0-9.-]|CSV[ ,]|JSON |[A-Z]+=|HTML ")
"""How help begins: in lower case, or with an abbreviation or a pattern that is typed."""


def phrases():
    for commands in groups().values():
        yield from ((name, command.about) for name, command in commands.items())
    for name, parser in parser_of_all()[1].items():
        yield from ((name, action.help or "") for action in parser._actions)


def run(capsys, *words):
    code = main([str(word) for word in words])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_help_lines_are_lower_case_phrases_of_at_most_ten_words():
    def n_words(text):  # an example in quotes is read as one word, and defaults are a note
        return len(re.sub(r"'[^']*'", "EXAMPLE", re.sub(r" \(default.*\)$", "", text)).split())

    wrong = {
        (name, text)
        for name, text in phrases()
        if n_words(text) > 10 or not PHRASE.match(text) or text.endswith(".")
    }
    assert wrong == set()


def test_sugenet_alone_prints_its_help(capsys):
    with pytest.raises(SystemExit) as ended:
        main([])
    alone = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--help"])
    assert (ended.value.code, alone) == (0, capsys.readouterr().out)
    assert list(groups()) == ["ask", "model", "data sets", "logic", "tools"]


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("whatif", "digits", "--limit", "3"), " Did you mean --time-limit?"),
        (("predict", "digits", "--to", "3"), ""),
        (("whatif", "digits", "--maxcost", "3"), " Did you mean --max-cost?"),
        (("whatif", "digits", "--immutable", "x"), ""),
        (("predict", "digits", "--label", "x"), " Did you mean --label-column?"),
    ],
)
def test_suggestions_are_near_options_of_this_command(capsys, words, suggested):
    code, _, err = run(capsys, *words)
    assert (code, err.splitlines()[0]) == (2, f"sugenet: there is no option {words[2]}.{suggested}")


# -- conditions ----------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path):
    """A small network with a category and a number; its class is always 0."""
    encoder = sg.nn.Encoder([sg.nn.OneHot(("Paris", "Rome", "Bonn")), sg.nn.integer(0, 9)], ["city", "n"])
    sg.save(sg.Network(encoder, [], sg.nn.Head([[1] * 12, [-1] * 12], [40, 0])), tmp_path / "n.sugenet")
    return tmp_path / "n.sugenet"


def test_where_check_and_law_read_the_same_conditions(capsys, model):
    condition = "city = Rome and not n >= 6"
    for words in (
        ("verify", model, "--always", "0", "--where", condition),
        ("verify", model, "--always", "0", "--law", condition),
        ("rules", model, "--check", f"{condition} -> 0"),
    ):
        assert run(capsys, *words)[0] == 0


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("n < 3 or city = Rome", "joins conditions by 'or', which is for values of one feature only"),
        ("n != 3", "excludes one number, which leaves two ranges"),
        ("n = 1..5", "For a range, write 2 <= x <= 5"),
        ("m < 3", "where a condition on a feature"),
        ("n < 3 and", "has its end where a condition"),
        ("n < 3 and n > 5", "exclude each other"),
    ],
)
@pytest.mark.parametrize("option", ["--where", "--check"])
def test_conditions_that_cannot_be_asked_are_refused_with_the_reason(capsys, model, option, condition, words):
    if option == "--where":
        code, out, err = run(capsys, "verify", model, "--never", "1", option, condition)
    else:
        code, out, err = run(capsys, "rules", model, option, f"{condition} -> 0")
    assert (code, out) == (2, "")
    assert words in err


def test_conditions_are_joined_over_options_and_categories(capsys, model):
    def counted(*texts):
        where = [word for text in texts for word in ("--where", text)]
        code, out, _ = run(capsys, "count", model, *where, "--json", "--quiet")
        assert code == 0
        return json.loads(out)["total"]

    assert counted() == 30
    assert counted("city = Paris or city = Rome") == counted("city in {Paris, Rome}") == 20
    assert counted("city != Bonn", "2 <= n < 4") == counted("not city = Bonn and n >= 2 and n < 4") == 4


# -- the same twice ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ("report", "digits", "--index", "7", "--time-limit", "600", "-o", "-"),
        ("report", "digits", "--index", "7", "--interactive", "--time-limit", "600", "-o", "-"),
        ("why", "digits", "--index", "7", "--l0", "2", "-n", "3", "--json"),
        ("whatif", "digits", "--index", "7", "-n", "all", "--json"),
        ("count", "digits", "--index", "7", "--hamming", "3", "--json"),
        ("verify", "digits", "--index", "7", "--l0", "2", "--json"),
    ],
    ids=" ".join,
)
def test_the_output_of_a_command_is_the_same_in_every_run(words):
    found = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "sugenet", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode in (0, 1)
        found.append(without_times(json.loads(done.stdout)) if "--json" in words else done.stdout)
    assert found[0] == found[1]
