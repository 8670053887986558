"""What is said about the package is true: its version in one place, the Pythons that are tried, its links."""

import re
import tomllib
from pathlib import Path

import pytest

import sugenet

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/sugenet/__init__.py"
    assert f"## {sugenet.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert "version: " not in re.sub("cff-version: ", "", (ROOT / "CITATION.cff").read_text())


def test_the_wheel_is_tried_with_every_python_that_is_claimed():
    claimed = [
        text.rpartition(" ")[2]
        for text in PROJECT["project"]["classifiers"]
        if text.startswith("Programming Language :: Python")
    ]
    tried = re.search(r"^PYTHONS \?= ([^#\n]*)", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert [f"python{version}" for version in claimed] == tried
    assert PROJECT["project"]["requires-python"] == f">={claimed[0]}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_to_files(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_nobody_is_told_to_install_what_is_not_released():
    told = [
        page.name
        for page in (*PAGES, *(ROOT / "src").rglob("*.py"))
        if re.search(r"""pip install ["']?sugenet""", page.read_text())
    ]
    assert told == []


def test_extras_that_errors_name_are_there():
    named = {
        extra
        for file in (ROOT / "src").rglob("*.py")
        for extra in re.findall(r"""how_to_install\(["'](\w+)""", file.read_text())
    }
    assert {"train", "web", "cpsat"} <= named <= set(PROJECT["project"]["optional-dependencies"])


def test_the_citation_names_the_paper_and_its_authors():
    text = (ROOT / "CITATION.cff").read_text()
    for words in ("A Sugeno Integral View of Binarized Neural Network Inference", "Baaj", "Prade"):
        assert words in text
