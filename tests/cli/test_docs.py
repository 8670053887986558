"""Console examples of README and docs print what they say: those of one page run one after the
other, in one folder, with the files that the page has its reader write.

``SUGENET_REWRITE=1 pytest tests/cli/test_docs.py`` writes what is printed now into the pages: read the
difference before keeping it. Where a page shows nothing, nothing is written; a line ``?`` asks for it.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import sugenet as sg
from sugenet.cli.commands import parse
from tests.cli.pages import PAGES, ROOT, TUTORIALS, Command, Typed, steps, with_outputs
from tests.cli.runner import run_line
from tests.show.garden import garden

TRAINED = re.compile(r"<!-- (\S+\.sugenet): ([0-9a-f]*), trained with (.*) -->")
"""Which network a tutorial trained when its outputs were written, and with what."""


def examples(page):
    return [
        step
        for step in steps(page.read_text())
        if isinstance(step, Command) and step.line.startswith("sugenet ")
    ]


def arithmetic():
    """What decides how PyTorch rounds: another processor may train another network, about which other
    things are true.
    """
    import torch

    cpus = Path("/proc/cpuinfo")
    vendor = re.search(r"vendor_id\s*: (\S+)", cpus.read_text() if cpus.exists() else "")
    parts = [torch.__version__, torch.backends.cpu.get_cpu_capability(), *(vendor.groups() if vendor else [])]
    return " ".join(["PyTorch", *parts])


def with_trained(text):
    """The page with the fingerprints of the networks that lie in this folder."""
    return TRAINED.sub(
        lambda note: f"<!-- {note[1]}: {sg.load(note[1]).fingerprint}, trained with {arithmetic()} -->", text
    )


def typed(line):
    """Exit code, standard output and standard error of a line of sugenet, or of a script that was written."""
    if line.startswith("sugenet "):
        return run_line(line)
    said = io.StringIO()
    with redirect_stdout(said):
        runpy.run_path(line.removeprefix("python "), run_name="__main__")
    return 0, said.getvalue(), ""


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)], ids=lambda page: page.stem)
def test_commands_print_what_the_page_says(page, tmp_path, monkeypatch):
    if page in TUTORIALS or page.stem == "import-checkpoints":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "examples").symlink_to(ROOT / "examples")  # tutorials are typed in a clone
    if page.stem == "levels":  # the network that the page builds
        sg.save(garden(), "garden.sugenet")
        Path("garden.csv").write_text("soil,sun,wind\n2,3,1\n")
    text, found = page.read_text(), {}
    for step in steps(text):
        if isinstance(step, Typed):
            Path(step.name).write_text(step.text)
        elif step.line.startswith(("sugenet report ", "sugenet serve ")):  # they take long, or do not end
            parse(shlex.split(step.line)[1:])
        elif re.match(
            r"sugenet |python [\w/]+\.py$", step.line
        ):  # the others are run from a clean clone, see below
            code, out, err = typed(step.line)
            err = re.sub(r"^(certificate written to \S+|cells are separated by semicolons)\n", "", err)
            assert (step.line, code in (0, 1, 3), err) == (step.line, True, "")
            if step.shown.strip():
                found[step] = out
    if os.environ.get("SUGENET_REWRITE"):
        page.write_text(with_trained(with_outputs(text, found)))
    notes = TRAINED.findall(text)
    if all(how == arithmetic() for *_, how in notes):
        assert TRAINED.findall(with_trained(text)) == notes, (
            "trained otherwise than when this was written: make refresh"
        )
        for step, out in found.items():
            assert (step.line, out.rstrip()) == (step.line, step.shown.rstrip())


def test_pages_have_examples():
    assert len(examples(ROOT / "README.md")) >= 2
    assert len(examples(ROOT / "docs" / "cli.md")) >= 8
    assert len(TUTORIALS) == 2
    for page in TUTORIALS:
        assert TRAINED.findall(page.read_text())
        verbs = {step.line.split()[1] for step in examples(page)}
        assert {"whatif", "report", "check"} <= verbs


def test_the_four_lines_for_your_own_model_run():
    torch = pytest.importorskip("torch")
    (lines,) = re.findall(
        r"Your own model, in four lines:\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL
    )
    assert len(list(filter(None, lines.splitlines()))) == 4

    class Sign(torch.nn.Module):
        def forward(self, x):
            return torch.where(x >= 0, 1.0, -1.0)

    model = torch.nn.Sequential(torch.nn.Linear(3, 2), Sign(), torch.nn.Linear(2, 2, bias=False)).eval()
    with torch.no_grad():
        model[0].weight.copy_(torch.tensor([[1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]]))
        model[0].bias.copy_(torch.tensor([-100.5, -50.5]))
        model[2].weight.copy_(torch.tensor([[1.0, 1.0], [-1.0, 1.0]]))
    x = [200, 20, 30]
    names = {"model": model, "example": torch.tensor([x], dtype=torch.float32), "x": x}
    exec(lines, names)
    assert "proved to be the least" in str(names["answer"])
