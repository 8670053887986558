"""A fresh person: README and both tutorials typed into a real shell, from a clean clone.

Installing takes minutes, so the default run has tests/cli/test_docs.py, which types the same lines into
this process.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.pages import ROOT, TUTORIALS, Command, steps, type_in


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """No environment of Python but the system's; PyTorch of the version that is tested."""
    folder = tmp_path_factory.mktemp("constraints")
    (folder / "constraints.txt").write_text("torch==2.13.0\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    outside = [place for place in kept["PATH"].split(":") if Path(place) != Path(sys.prefix) / "bin"]
    return kept | {"PIP_CONSTRAINT": str(folder / "constraints.txt"), "PATH": ":".join(outside)}


def from_a_clone(page):
    """What the page has typed; where it only says how to install, a clone and an environment first."""
    asked = [
        replace(step, line=step.line.replace("REPOSITORY", str(ROOT))) if isinstance(step, Command) else step
        for step in steps(page.read_text())
    ]
    if page in TUTORIALS:
        return asked
    begin = f"git clone -q {ROOT} sugenet", "cd sugenet", "python3 -m venv .venv", ". .venv/bin/activate"
    return [*(Command(line, "", 0) for line in begin), *asked]


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "README.md", *TUTORIALS], ids=lambda page: page.stem)
def test_a_fresh_person_gets_what_the_page_promises(page, environment, tmp_path):
    for command, code, out in type_in(from_a_clone(page), str(tmp_path), environment):
        assert (command.line, code in (0, 1, 3)) == (command.line, True)
        if command.shown.strip():
            assert out.strip(), command.line
    desk = tmp_path / "sugenet"
    assert "<svg" in (desk / "report.html").read_text()
    assert "<script" in (desk / "explorer.html").read_text()
