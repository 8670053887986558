"""What the site adds to the pages: every public name, and the notebooks with their outputs."""

import json

import sugenet
from tools.site import NOTEBOOKS, ROOMS, notebook_page, reference, room_page


def test_no_public_name_is_forgotten():
    lines = set(reference().splitlines())
    for name in sugenet.__all__:
        assert (f"::: sugenet.{name}" in lines) != (f"- [sugenet.{name}](api/{name}.md)" in lines), name
    rooms = {name for name in sugenet.__all__ if f"- [sugenet.{name}](api/{name}.md)" in lines}
    assert rooms <= set(ROOMS)


def test_a_room_has_all_its_names():
    page = room_page("capacity").splitlines()
    assert [name for name in sugenet.capacity.__all__ if f"::: sugenet.capacity.{name}" not in page] == []


def test_notebooks_come_with_code_and_outputs():
    for path in NOTEBOOKS:
        page, cells = notebook_page(path), json.loads(path.read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        assert all(f"```python\n{source}\n```" in page for source in code)
        assert page.count('<div class="answer"') >= 7
