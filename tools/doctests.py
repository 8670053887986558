"""Write what the ``>>>`` examples of pages print now into the pages: ``python -m tools.doctests PAGE...``.

Examples whose output may vary (`doctest: +ELLIPSIS`, or a traceback) are left alone, and named where they
differ. Read the difference before keeping it.
"""

from __future__ import annotations

import doctest
import sys
from pathlib import Path


class _Rewriter(doctest.DocTestRunner):
    """Runs the examples of a page, and collects those that print something else."""

    def __init__(self) -> None:
        super().__init__(optionflags=doctest.NORMALIZE_WHITESPACE)
        self.found: dict[int, tuple[doctest.Example, str]] = {}
        self.left: list[str] = []

    def report_failure(self, out, test, example, got):  # type: ignore[no-untyped-def]
        if example.exc_msg or doctest.ELLIPSIS in example.options or not example.want:
            self.left.append(example.source.strip())
        else:
            self.found[example.lineno] = example, got

    def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
        self.left.append(f"{example.source.strip()}: {exc_info[1]}")


def rewritten(text: str, name: str) -> tuple[str, list[str]]:
    """The page with new outputs, and the examples that need a person."""
    runner = _Rewriter()
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner.run(test, clear_globs=False)
    lines = text.splitlines(keepends=True)
    for number, (example, got) in sorted(runner.found.items(), reverse=True):
        start = number + example.source.count("\n")
        space = " " * example.indent
        new = [f"{space}{line or '<BLANKLINE>'}\n" for line in got.rstrip("\n").split("\n")]
        lines[start : start + example.want.count("\n")] = new
    return "".join(lines), runner.left


def main(pages: list[str]) -> int:
    """Rewrite these pages; 1 if something is left to do."""
    code = 0
    for page in map(Path, pages):
        text, left = rewritten(page.read_text(), page.name)
        if text != page.read_text():
            page.write_text(text)
            print(f"{page}: rewritten")
        for source in left:
            code = 1
            print(f"{page}: look at it yourself: {source}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
