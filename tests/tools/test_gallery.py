"""Pictures of the gallery are up to date, and the page shows all of them."""

import pytest

from tools.gallery import FOLDER, drawn, pictures


@pytest.mark.parametrize("name", pictures())
def test_it_is_what_would_be_drawn(name):
    assert (FOLDER / f"{name}.svg").read_text() == drawn(name), "make refresh draws it again"


def test_the_page_shows_every_picture():
    page = (FOLDER.parent / "plots.md").read_text()
    assert [name for name in pictures() if f"](img/{name}.svg)" not in page] == []
