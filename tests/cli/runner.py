"""Lines of commands as people type them, run in this process or in real ones."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from sugenet.cli import main


def in_process(words, given=""):
    """Exit code, standard output and standard error of one command."""
    out, err = io.StringIO(), io.StringIO()
    before, sys.stdin = sys.stdin, io.StringIO(given)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main(words)
            except SystemExit as stop:
                code = stop.code
    finally:
        sys.stdin = before
    return code, out.getvalue(), err.getvalue()


def as_process(words, given=""):
    """The same, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "sugenet", *words], input=given, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def run_line(line, run=in_process):
    """The same of a line: commands with pipes between them, the first perhaps with a file as its input.

    All of standard error is joined.
    """
    given, err, code = "", "", 0
    for part in line.split(" | "):
        words = shlex.split(part)
        assert words.pop(0) == "sugenet"
        if "<" in words:
            given = Path(words.pop()).read_text()
            words.remove("<")
        code, given, told = run(words, given)
        err += "".join(row for row in told.splitlines(keepends=True) if not row.startswith("compiling"))
    return code, given, err
