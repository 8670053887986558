"""The example notebooks run from top to bottom, and their answers draw themselves."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

EXAMPLES = Path(__file__).parent.parent / "examples"
SAID = {
    "breast_cancer": ["proved to be the least", "never loses class malignant", "rules hold"],
    "digits": [
        "proved to be the least",
        "up to 1 feature changed: proved",
        "refuted",
        "none of the 193 changes is a violation",
    ],
}


def test_every_notebook_is_looked_at():
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_it_is_kept_without_outputs(name):
    cells = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4).cells
    assert all(
        not cell.outputs and cell.execution_count is None for cell in cells if cell.cell_type == "code"
    )


@pytest.mark.parametrize("name", SAID)
def test_it_runs(name, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # no profile of the reader's own
    book = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [
        output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"
    ]
    shown = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert all("<svg" in text for text in shown)
    assert len(shown) >= 7
    said = " ".join([*shown, *(output.get("text", "") for output in outputs)])
    for words in SAID[name]:
        assert words in said
