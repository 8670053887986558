"""The example notebooks are kept with their outputs, and these are what they give now.

``SUGENET_REWRITE=1 pytest tests/test_notebooks.py`` keeps what they give: read the difference before
committing it.
"""

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

EXAMPLES = Path(__file__).parent.parent / "examples"
SAID = {
    "breast_cancer": ["proved to be the least", "never loses class malignant", "rules hold"],
    "diabetes": [
        "No capacity fits all 442 samples",
        "and none without fewer",
        "the total cost of no capacity is below 190",
        "HDL &lt;= ",
    ],
    "paper": [
        "no focal set is active",
        "3 Sugeno integrals by definition equal the activity",
        "exactly those that obey 4 selection rules",
        "The network is not a capacity there",
    ],
    "digits": [
        "proved to be the least",
        "up to 1 feature changed: proved",
        "refuted",
        "none of the 193 sets of changes is a violation",
    ],
}


def shown(cell):
    """What a cell shows, apart from what libraries may do otherwise: pixels of PNG, names of objects."""
    for output in cell.get("outputs", []):
        if output.output_type == "stream":
            yield output.name, output.text
        else:
            yield from (
                (kind, None if kind == "image/png" else text)
                for kind, text in sorted(output.data.items())
                if kind != "text/plain" or len(output.data) == 1
            )


def run(book, folder):
    nbclient.NotebookClient(
        book,
        timeout=120,
        kernel_name="python3",
        coalesce_streams=True,
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # times
        for output in cell.get("outputs", []):
            if len(output.get("data", {})) > 1:  # the picture says it
                output.data.pop("text/plain", None)
    book.metadata.language_info = {"name": "python"}  # and no version


def test_every_notebook_is_looked_at():
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_its_outputs_are_current(name, monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # no profile of the reader's own
    path = EXAMPLES / f"{name}.ipynb"
    kept, book = nbformat.read(path, as_version=4), nbformat.read(path, as_version=4)
    run(book, tmp_path)
    if os.environ.get("SUGENET_REWRITE"):
        nbformat.write(book, path)
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert not [
        output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"
    ]
    drawn = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert all("<svg" in text for text in drawn)
    assert len(drawn) >= 7
    said = " ".join([*drawn, *(output.get("text", "") for output in outputs)])
    for words in SAID[name]:
        assert words in said
    for before, now in zip(kept.cells, book.cells, strict=True):
        assert list(shown(before)) == list(shown(now)), f"{before.source}\nshows something else: make refresh"


@pytest.mark.parametrize("name", SAID)
def test_it_is_small_and_says_nothing_of_a_machine(name):
    text = (EXAMPLES / f"{name}.ipynb").read_text()
    assert len(text) < 400_000
    assert "/home/" not in text
    assert "/root/" not in text
    assert str(EXAMPLES.parent) not in text
