"""`docs/theory.md` and the code point at each other, and nothing points at what the project does not have."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
THEORY = ROOT / "docs" / "theory.md"
TEXTS = sorted(
    path
    for folder in ("src", "tests", "benchmarks", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".js", ".md") and path != Path(__file__)
) + sorted(ROOT.glob("*.md"))
TEST = re.compile(r"\btests/[\w/]+\.py::\w+")
SECTION = re.compile(r"\btheory\.md (?:sections? )?(\d+(?:\.\d+)?(?:(?:, | and )\d+(?:\.\d+)?)*)")
PAGE = re.compile(r"(?<![\w/.:*-])[\w./-]*\w\.md\b")


@cache
def names_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text()) if path.exists() else ast.Module([], [])
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def missing_tests(text: str) -> list[str]:
    """Tests that a text names and that there are not."""
    named = [found.split("::") for found in TEST.findall(text)]
    return [f"{path}::{name}" for path, name in named if name not in names_in(ROOT / path)]


def sections(text: str) -> list[str]:
    return re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", text, re.MULTILINE)


def missing_sections(text: str, there: list[str]) -> list[str]:
    """Sections that a text cites and that there are not."""
    cited = [number for found in SECTION.findall(text) for number in re.split(", | and ", found)]
    return [number for number in cited if number not in there]


def missing_pages(text: str, folder: Path) -> list[str]:
    """Pages that a text names and that there are not, beside it, in the root or in docs."""
    places = (folder, ROOT, ROOT / "docs")
    return [page for page in PAGE.findall(text) if not any((place / page).is_file() for place in places)]


def test_every_test_that_the_theory_names_is_there():
    text = THEORY.read_text()
    assert len(TEST.findall(text)) > 80
    assert missing_tests(text) == []
    assert missing_tests("`tests/test_theory.py::test_nothing`, `tests/no.py::test_it`") == [
        "tests/test_theory.py::test_nothing",
        "tests/no.py::test_it",
    ]


def test_every_section_of_the_theory_names_a_test():
    parts = re.split(r"^### ", THEORY.read_text(), flags=re.MULTILINE)[1:]
    assert [part.splitlines()[0] for part in parts if not TEST.search(part)] == []


def test_sections_are_numbered_in_order():
    numbers = [tuple(map(int, number.split("."))) for number in sections(THEORY.read_text())]
    assert numbers == sorted(set(numbers))
    for number in numbers:
        assert number[-1] == 1 or (*number[:-1], number[-1] - 1) in numbers


def test_every_section_and_page_that_is_cited_is_there():
    there = sections(THEORY.read_text())
    found = {
        str(path): missing_sections(text, there) + missing_pages(text, path.parent)
        for path in TEXTS
        for text in [path.read_text()]
    }
    assert {path: cited for path, cited in found.items() if cited} == {}


def test_citations_of_nothing_are_found():
    there = sections(THEORY.read_text())
    assert missing_sections("as said (docs/theory.md 6.4, 6.99), docs/theory.md section 77", there) == [
        "6.99",
        "77",
    ]
    assert missing_pages("docs/nowhere.md, theory.md and PLANS.md", ROOT) == ["docs/nowhere.md", "PLANS.md"]


def test_the_theory_is_cited():
    cited = [path for path in TEXTS if path != THEORY and SECTION.search(path.read_text())]
    assert len(cited) > 40


OTHERS = re.compile(r"\b(?:THEORY|REASONING|DESIGN|IMPORTING|HOUSE|STYLE)\b(?= \d| section|\.md)")


def test_nothing_is_cited_that_readers_do_not_have():
    assert [str(path) for path in TEXTS if OTHERS.search(path.read_text())] == []


def test_a_citation_of_what_readers_do_not_have_is_found():
    assert OTHERS.findall("(THEORY 1.1) and DESIGN section 4, but no THEORY of ours") == ["THEORY", "DESIGN"]
