"""The notebook of the paper has the cells of the page."""

import json

from tools.notebook import NOTEBOOK, PAGE, cells


def test_the_notebook_is_that_of_the_page():
    kept = [
        (cell["cell_type"], "".join(cell["source"])) for cell in json.loads(NOTEBOOK.read_text())["cells"]
    ]
    assert kept == list(cells(PAGE.read_text())), "python -m tools.notebook, then make refresh"


def test_code_up_to_an_output_is_a_cell():
    error = ">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: x\n"
    code = f">>> a = 1\n>>> print(a)\n1\n{error}>>> a\n1\n"
    page = f"# Page\n\n```pycon\n{code}\n```\n\nSee [there](paper.md#x) and [here](#page).\n"
    assert list(cells(page)) == [
        ("markdown", "# Page"),
        ("code", "a = 1\na"),
        ("code", "a"),
        ("markdown", "See [there](../docs/paper.md#x) and here."),
    ]
