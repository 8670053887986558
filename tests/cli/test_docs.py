"""Console examples of README and docs print what they say: those of one page run one after the
other, in one folder.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import sugenet as sg
from sugenet.cli.commands import parse
from tests.cli.runner import run_line
from tests.show.garden import garden

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page):
    """Commands of a page with the output that is shown below each;
    other commands than sugenet are left out.
    """
    for block in re.findall(r"```console\n(.*?)```", page.read_text(), flags=re.DOTALL):
        for line, shown in re.findall(r"^\$ (sugenet [^\n]*)\n((?:(?!\$ ).*\n)*)", block, flags=re.MULTILINE):
            yield re.sub(r"\s+# .*", "", line), shown


@pytest.mark.parametrize("page", [page for page in PAGES if any(examples(page))], ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    if page.stem == "levels":  # the network that the page builds
        sg.save(garden(), "garden.sugenet")
        Path("garden.csv").write_text("soil,sun,wind\n2,3,1\n")
    for line, shown in examples(page):
        if line.split()[1] in ("report", "serve"):  # they take long, or do not end: they must be understood
            parse(shlex.split(line)[1:])
            continue
        code, out, err = run_line(line)
        assert (line, code in (0, 1, 3), err) == (line, True, "")
        if shown.strip():
            assert out.rstrip() == shown.rstrip()


def test_pages_have_examples():
    assert len(list(examples(ROOT / "README.md"))) >= 2
    assert len(list(examples(ROOT / "docs" / "cli.md"))) >= 8
