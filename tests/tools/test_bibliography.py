"""Keys of the bibliography: each one that a docstring or a page cites is on the page, and no entry is
useless.
"""

import ast
import re

import pytest

from tools.prose import ROOT

PAGE = (ROOT / "docs/bibliography.md").read_text()
ENTRIES = re.findall(r'^- <a id="(\w+)"></a>\*\*\[(\w+)\]\*\* (.+)$', PAGE, re.MULTILINE)
KEYS = [key for _, key, _ in ENTRIES]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
LINE = re.compile(r"^ *Reference: [^\[\]]+ \[[^\]]+\](?:; [^\[\]]+ \[[^\]]+\])*\.$")
"""Authors and key, once or more: ``Reference: Shapley [Sha53]; Banzhaf [Ban65].``"""


def cited():
    """Each line of references in a docstring, with its place."""
    for path in SOURCES:
        text = path.read_text()
        if not re.search(r"Reference:|\[[A-Z]\w*\d\d[a-z]?\]", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for line in (ast.get_docstring(node) or "").splitlines():
                    if re.match(r" *Reference:", line) or re.search(r"\[[A-Z]\w*\d\d[a-z]?\]", line):
                        yield f"{path.name}: {getattr(node, 'name', 'module')}", line


CITED = list(cited())


def test_entries_have_unique_keys_in_alphabetical_order():
    assert len(ENTRIES) == len(re.findall(r"^- ", PAGE, re.MULTILINE)) == len(set(KEYS))
    assert sorted(KEYS, key=str.lower) == KEYS
    for anchor, key, text in ENTRIES:
        assert anchor == key.lower()
        assert re.search(r"\b(?:19|20)\d\d\.( |$)", text), f"{key} has no year"
        assert text.split()[0].endswith(".") or text.startswith("L. De"), f"{key} has no authors"


def test_keys_in_docstrings_are_on_the_page():
    assert CITED
    for place, line in CITED:
        assert LINE.match(line), f"{place}: {line}"
        for key in re.findall(r"\[(\w+)\]", line):
            assert key in KEYS, f"{place}: {key} is not in docs/bibliography.md"


def test_authors_in_docstrings_are_those_of_the_entry():
    texts = {key: text for _, key, text in ENTRIES}
    for place, line in CITED:
        for names, key in re.findall(r"(?:Reference: |; )([^\[\]]+) \[(\w+)\]", line):
            authors = texts[key].partition("*")[0]
            for name in re.findall(r"\b(?:De )?[A-Z]\w+", names):
                assert name in authors, f"{place}: {name} is not an author of {key}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_links_from_pages_name_their_key(page):
    for key, anchor in re.findall(r"\[([^\]]+)\]\((?:bibliography\.md)?#(\w+\d\d[a-z]?)\)", page.read_text()):
        if anchor in {key.lower() for key in KEYS}:
            assert key.lower() == anchor
        else:
            assert page.name != "bibliography.md", f"{key} is not an entry"
