"""README, changelog and site keep to the style; each rule finds its fault and leaves good sentences alone."""

import pytest

from tools.prose import EXCEPTIONS, PAGES, RULES, broken, findings, main, paragraphs, sentences

BAD = {
    "headless what": "What cannot be read is refused.",
    "'is no'": "3 is no region.",
    "'where' for 'if'": "The name is used, where it is missing.",
    "'behind' for 'after'": "Layers behind the first are binary.",
    "default": "4 threads unless given.",
    "'at least cost'": "It finds a sample of another class at least cost.",
    "'a' for 'per'": "Workers are started, one a core.",
    "not a standard word": "It goes on with whole numbers.",
    "metaphor": "The solver believes nothing.",
    "missing noun": "It uses all cores that there are.",
    "semicolons": "One; two; three.",
}
GOOD = [
    "Can it fail, and what would change it?",
    "There is no release yet.",
    "The file is no longer read.",
    "The folder where results are stored.",
    "Unreadable laws raise `RuleSyntaxError`.",
    "One thread per core (default: 4); the rest waits.",
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_finds_its_fault(rule):
    assert broken(BAD[rule]) == [rule]


@pytest.mark.parametrize("sentence", GOOD)
def test_good_sentences_pass(sentence):
    assert broken(sentence) == []


def test_long_sentences_are_found():
    assert broken(" ".join(["word"] * 31) + ".") == ["over 30 words"]
    assert broken(" ".join(["word"] * 30) + ".") == []


def test_code_links_and_tables_are_not_prose():
    text = """
A [link](what/is/no) and `what is no code`.

```python
what = "is no"
```

| a | b |
|---|---|
| `what is no` | One cell. Two sentences. |

- first item
  on two lines
- second
"""
    assert [paragraph for _, paragraph in paragraphs(text)] == [
        "A link and `X`.", "a", "b", "`X`", "One cell. Two sentences.", "first item on two lines", "second",
    ]  # fmt: skip
    assert sentences("One cell, e.g. This. Two sentences: One. `X` is three.") == [
        "One cell, e.g. This.",
        "Two sentences:",
        "One.",
        "`X` is three.",
    ]


def test_a_finding_names_file_line_rule_and_sentence():
    (finding,) = findings("# Title\n\nFine.\nWhat cannot be read\nis refused.", "page")
    assert str(finding) == "page:3: [headless what] What cannot be read is refused."


def test_every_exception_has_a_reason_and_is_used():
    texts = " ".join(" ".join(page.read_text().split()) for page in PAGES)
    for part, reason in EXCEPTIONS.items():
        assert reason
        assert part in texts, part


def test_readme_and_site_have_no_finding(capsys):
    assert main([]) == 0, capsys.readouterr().out


def test_the_exit_code_tells(tmp_path, capsys):
    page = tmp_path / "page.txt"
    page.write_text("3 is no region.\n")
    assert main([str(page)]) == 1
    assert capsys.readouterr().out == f"{page}:1: ['is no'] 3 is no region.\n"
    assert main(["--count", str(page)]) == 1
    assert capsys.readouterr().out.split() == ["1", str(page), "1", "in", "all"]
