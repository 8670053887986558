"""List sentences that break the style of this project: ``python -m tools.prose [--count] [FILE...]``.

Without files it reads README, all other pages at the root, and the site. ``--docstrings`` adds the docstrings
of ``src``, and ``--help-texts`` the help of the command line. The exit code is 1 if a page has a finding.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [page for pattern in ("*.md", "docs/*.md", "examples/*.ipynb") for page in sorted(ROOT.glob(pattern))]
LONGEST = 30
"""Largest number of words in a sentence."""

_NOUN_PLACES = "of|for|than|by|with|from|to|on|in|at|as|after|before|into|only|just|even|and|or|but|so|all"
_CONDITIONS = (
    "it|they|there|this|these|you|one|none|nothing|something|possible|needed|necessary|given|asked|neither|both|no|not"
    "|such|time|that is|that are"
)
_UNITS = "core|second|minute|hour|day|neuron|layer|class|feature|sample|thread|line|row|file|bit"
_GO = "go|goes|going|went|gone"

RULES = {
    "headless what": rf"^What(?:ever)?\b(?! if\b)|\b(?:{_NOUN_PLACES}),? what(?:ever)?\b(?! if\b)"
    r"|, what\b(?! if\b)|\bthat which\b",
    "'is no'": r"(?<![Tt]here )\b(?:is|are|was|were|be) no\b(?! longer\b| (?:more|fewer|less) than\b)",
    "'where' for 'if'": rf"^Where(?:ver)?\b|\bwherever\b|\b(?:only|except|even|also|but|or|and|not) where\b"
    rf"|\bwhere (?:{_CONDITIONS})\b",
    "'behind' for 'after'": r"\bbehind\b|\bin front of\b",
    "default": r"\bunless (?:given|told|said|named|asked|stated|set)\b",
    "'at least cost'": r"\bat (?:the )?least (?:cost|price|distance)\b",
    "'a' for 'per'": rf"\b(?:one|two|\d+|once|twice|times|each|millions?|thousands?) an? (?:{_UNITS})\b",
    "not a standard word": rf"\bwhole numbers?\b|\bdear(?:er|est)?\b|\b(?:{_GO}) (?:on|through)\b|\bletters\b"
    r"|\bwork(?:s|ed)? out again\b|\bst(?:ands?|ood) in\b|\bsome \d|\bseen? again\b|\bbesides\b",
    "metaphor": r"\b(?:room|house|judge|door)s?\b"
    r"|\b(?:solver|engine|checker|network|file)s? (?:comes?|believes?|thinks?|wants?|(?:is|are) asked)\b",
    "missing noun": r"\b(?:that|which|as|than) there (?:is|are)(?: not)?\s*[.,;:)]|\bwhat there (?:is|are)\b",
    "semicolons": r";.*;",
}
"""Patterns by name, for the text of one sentence in which code is written as `X`."""

EXCEPTIONS = {
    "On the reasons behind decisions": "the title of a paper",
    "What to do when it is undecided": "the title of a page",
    "What if": "the name of a question",
    "what if": "the name of a question",
}
"""Parts of sentences that keep a word which a rule names, each with the reason."""

_ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|cf|vs|etc|al|Eq|eq|Fig|no|pp|resp)\.$")


@dataclass(frozen=True)
class Finding:
    """A sentence, where it is, and the rule that it breaks."""

    place: str
    line: int
    sentence: str
    rule: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}: [{self.rule}] {self.sentence}"


def findings(text: str, place: str) -> list[Finding]:
    """Every sentence of a Markdown text that breaks a rule, once per rule."""
    return [
        Finding(place, line, sentence, rule)
        for line, paragraph in paragraphs(text)
        for sentence in sentences(paragraph)
        for rule in broken(sentence)
    ]


def broken(sentence: str) -> list[str]:
    """Names of the rules that a sentence breaks."""
    text = sentence
    for part in EXCEPTIONS:
        text = text.replace(part, "X")
    asked = {"headless what", "'where' for 'if'"} if text.endswith("?") else set()
    found = [name for name, pattern in RULES.items() if name not in asked and re.search(pattern, text)]
    n_words = sum(1 for word in text.split() if re.search(r"[A-Za-z]{2}|^[aAI]$|`X`|\d", word))
    return found + [f"over {LONGEST} words"] * (n_words > LONGEST)


def text_of(page: Path) -> str:
    """The text of a page; the Markdown cells of a notebook."""
    if page.suffix != ".ipynb":
        return page.read_text()
    cells = json.loads(page.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph, list item and table cell with the number of its first line, without code and links."""
    lines: list[str] = []
    start = 0
    for number, line in enumerate([*_without_code(text).split("\n"), ""], start=1):
        new = re.match(r"\s*(?:[-*]|\d+\.|#+|>|!!!.*|:)\s+(?=\S)", line)
        if lines and (new or not line.strip() or line.lstrip().startswith("|")):
            yield start, _plain(" ".join(lines))
            lines = []
        if line.lstrip().startswith("|"):
            cells = line.strip().strip("|").split("|")
            yield from ((number, _plain(cell)) for cell in cells if cell.strip(" -:"))
        elif line.startswith("#"):
            yield number, _plain(line.lstrip("# "))
        elif line.strip():
            start = start if lines else number
            lines.append(line[new.end() :] if new else line.strip())


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; a colon ends one if a new sentence follows it."""
    found: list[str] = []
    parts = re.split(r"(?<=[.!?])[\"')*]*\s+|(?<=:)\s+(?=[A-Z][a-z])", paragraph)
    for part in (part.replace("**", "") for part in parts):
        if found and _ABBREVIATIONS.search(found[-1]):
            found[-1] = f"{found[-1]} {part}"
        elif part.strip():
            found.append(part.strip())
    return found


def _without_code(text: str) -> str:
    """The text with code blocks, comments and formulas emptied, so that lines keep their numbers."""

    def empty(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    text = re.sub(r"^([ ]*)(```+|~~~+).*?^\1\2[ ]*$", empty, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", empty, text, flags=re.DOTALL)
    text = re.sub(r"^(?:>>>|\.\.\. ).*(?:\n(?!\s*$).*)*", empty, text, flags=re.MULTILINE)
    text = re.sub(r"^(?: {4,}|\t)(?![-*]|\d+\.).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"(`+)(?=[^`]).+?(?<=[^`])\1(?!`)", lambda code: f"`X`{empty(code)}", text, flags=re.DOTALL)


def _plain(text: str) -> str:
    """The words of a paragraph: no images, addresses, tags or marks."""
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?[a-z][^>]*>", "", text)
    return re.sub(r"\s+", " ", text).strip()


def docstrings() -> Iterator[tuple[str, int, str]]:
    """Place, line and text of each docstring of `src`, without the examples and headings of sections."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            if text := ast.get_docstring(node):
                line = node.body[0].lineno - 1
                text = re.sub(r"^.*\n-+$", "\n", text, flags=re.MULTILINE)
                text = re.sub(r"^ {4}", "\n", text, flags=re.MULTILINE)
                yield str(path.relative_to(ROOT)), line, text


def help_texts() -> Iterator[tuple[str, int, str]]:
    """Command and text of each help line of the command line."""
    from sugenet.cli.commands import parser_of_all

    for name, parser in parser_of_all()[1].items():
        for text in (parser.description, *(action.help for action in parser._actions)):
            if text and text != argparse.SUPPRESS:
                yield f"sugenet {name}", 0, text


def main(words: list[str] | None = None) -> int:
    """Print what is found; 1 if a page has a finding."""
    parser = argparse.ArgumentParser(prog="python -m tools.prose", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="pages (default: README and site)")
    parser.add_argument("--count", action="store_true", help="print the number of findings per file")
    parser.add_argument("--docstrings", action="store_true", help="read docstrings, too")
    parser.add_argument("--help-texts", action="store_true", help="read the help of commands, too")
    asked = parser.parse_args(words)
    found = [one for page in asked.files or PAGES for one in findings(text_of(page), _name(page))]
    code = int(bool(found))
    for wanted, texts in ((asked.docstrings, docstrings), (asked.help_texts, help_texts)):
        for place, line, text in texts() if wanted else ():
            found += [replace(one, line=line + one.line) for one in findings(text, place)]
    if asked.count:
        for place, number in Counter(one.place for one in found).most_common():
            print(f"{number:6}  {place}")
        print(f"{len(found):6}  in all")
    else:
        print(*found, sep="\n", end="\n" if found else "")
    return code


def _name(page: Path) -> str:
    page = page.resolve()
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else str(page)


if __name__ == "__main__":
    sys.exit(main())
