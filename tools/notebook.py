"""Write the notebook of a page: its text, and its ``>>>`` examples as cells: ``python -m tools.notebook``.

Outputs are not run here: ``SUGENET_REWRITE=1 pytest tests/test_notebooks.py`` does that. An example that
raises an error is left out, and ``print(name)`` becomes ``name``, so that a notebook draws it.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE, NOTEBOOK = ROOT / "docs/paper.md", ROOT / "examples/paper.ipynb"


def cells(text: str) -> Iterator[tuple[str, str]]:
    """Kind and source of each cell: text between blocks of code, and code up to an output."""
    parts = re.split(r"^```pycon\n(.*?)^```\n", text, flags=re.DOTALL | re.MULTILINE)
    for prose, code in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if prose.strip():
            yield "markdown", _prose(prose.strip())
        lines: list[str] = []
        for example in doctest.DocTestParser().get_examples(code):
            if example.exc_msg:
                continue
            lines.append(re.sub(r"\Aprint\((\w+)\)\n\Z", r"\1\n", example.source))
            if example.want:
                yield "code", "".join(lines).strip()
                lines = []
        if lines:
            yield "code", "".join(lines).strip()


def _prose(text: str) -> str:
    """The text of a page with the links of a notebook."""
    text = text.replace("The [notebook](../examples/paper.ipynb) has the same cells with drawings.\n", "\n")
    text = re.sub(r"\[([^\]]+)\]\(#[^)]*\)", r"\1", text)
    return re.sub(r"\]\((\w[\w-]*\.md)", r"](../docs/\1", text)


def main() -> int:
    """Write the notebook, without outputs where its cells changed."""
    found = list(cells(PAGE.read_text()))
    book = {
        "cells": [
            {"cell_type": kind, "id": f"cell-{number:03}", "metadata": {}, "source": source.splitlines(True)}
            | ({"execution_count": None, "outputs": []} if kind == "code" else {})
            for number, (kind, source) in enumerate(found)
        ],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    NOTEBOOK.write_text(json.dumps(book, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
