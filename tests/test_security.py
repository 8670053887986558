"""Every promise of SECURITY.md names a test that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def named(text):
    """The tests that a text names: files, and functions in them."""
    return [(path, name) for path, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)]


def missing(text):
    """Those that are not there."""
    return [
        f"{path}::{name}"
        for path, name in named(text)
        if not (ROOT / path).exists() or (name and f"def {name}(" not in (ROOT / path).read_text())
    ]


def test_every_promise_names_tests_that_exist():
    text = (ROOT / "SECURITY.md").read_text()
    promises = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert [line for line in promises if "| promise |" not in line and not named(line)] == []
    assert missing(text) == []


def test_a_missing_test_is_seen():
    assert missing("| `tests/nowhere.py` | `tests/test_security.py::test_nothing` |") == [
        "tests/nowhere.py::",
        "tests/test_security.py::test_nothing",
    ]
