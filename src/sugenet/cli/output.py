"""What people see: answers on standard output, notes, progress and errors on standard error; colour and
progress on terminals only.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from contextlib import suppress
from errno import EBADF
from typing import Any, TextIO

from sugenet.cli.words import as_typed, as_typed_hints
from sugenet.visible import visible

__all__ = ["CLOSED", "Screen", "columns", "drop_output", "wrapped"]

CLOSED = "standard output is closed, so the answer cannot be written. Send it to a file, or to /dev/null"

WIDEST = 100
"""Longer lines are hard to read, however wide the terminal is."""
_COLOURS = {"proved": "32", "holds": "32", "refuted": "31", "undecided": "33"}
_OPEN, _CLOSE = "\ud800", "\ud801"
"""Around a verdict, until it is printed: halves of surrogate pairs, which no name can hold."""
_GAP = re.compile(r"\S {2,}(?=\S)")
_MARKED = re.compile(f"{_OPEN}(.*?){_CLOSE}")


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self) -> None:
        self.as_json = False
        self.quiet = False
        self.flags: dict[str, str] = {}
        """The options of the command by the names of the arguments that they stand for."""
        self._in_progress = False
        self._told: set[str] = set()

    def say(self, text: str, data: Any, *, beside: bool = False) -> int:
        """Print an answer, as text or as JSON data; `beside` other output, on standard error.

        Returns exit code 0.
        """
        if beside:
            if not self.quiet:
                self._warn(as_typed_hints(text))
        else:
            self._print(_json(data) if self.as_json else _dressed(as_typed_hints(text), sys.stdout))
        return 0

    @staticmethod
    def mark(word: str) -> str:
        """A word of ours that says a verdict, and may have the colour of that."""
        return f"{_OPEN}{word}{_CLOSE}"

    def put(self, text: str) -> None:
        """Print data to standard output: as it is, but on a terminal what that would obey is spelled out."""
        is_shown = sys.stdout is not None and _is_terminal(sys.stdout)
        self._print(visible(text, keep="\t\r\n") if is_shown else text)

    def _print(self, text: str) -> None:
        """Print to standard output. What nobody reads any more, as behind head, is dropped, and the exit code
        stays.
        """
        self.clear()
        if sys.stdout is None:
            raise OSError(EBADF, CLOSED)
        try:
            print(text)
        except BrokenPipeError:
            drop_output()

    def finish(self) -> None:
        """Take the line of progress away, and write what still waits to be written."""
        self.clear()
        if sys.stdout is not None:
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                drop_output()

    def tell(self, note: str) -> None:
        """Print a note of one line to standard error, unless it shall be quiet."""
        if not self.quiet:
            self._warn(visible(as_typed_hints(note)))

    def tell_once(self, note: str) -> None:
        """Print a note that is printed once in a command."""
        if note not in self._told:
            self._told.add(note)
            self.tell(note)

    def complain(self, message: str, hint: str = "") -> None:
        """Print an error in one line, in words that can be typed, and a hint in another."""
        self._warn(
            "\n".join([visible(f"sugenet: {as_typed(message, self.flags)}"), *([hint] if hint else [])])
        )

    def _warn(self, text: str) -> None:
        self.clear()
        if sys.stderr is not None:
            with suppress(OSError):
                print(_dressed(text, sys.stderr), file=sys.stderr)

    def progress(self, words: str) -> None:
        """On a terminal, one line that is written over; elsewhere nothing."""
        if not self.quiet and sys.stderr is not None and _is_terminal(sys.stderr):
            with suppress(OSError):
                sys.stderr.write(f"\r\x1b[K{visible(words)[: columns() - 1]}")
                sys.stderr.flush()
                self._in_progress = True

    def clear(self) -> None:
        """Take the line of progress away."""
        if self._in_progress:
            self._in_progress = False
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


def drop_output() -> None:
    """Let what cannot be written go, so that the interpreter does not try once more when it ends."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def columns() -> int:
    """Width of the terminal, of at most 100; 80 where it is not known."""
    return max(20, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))


def wrapped(text: str, width: int) -> str:
    """Break lines that are too long between words; what follows is set in by two more than the line.

    Rows of tables stay whole.
    """
    lines = []
    for line in text.splitlines():
        if len(line) <= width or len(_GAP.findall(line)) > 2:
            lines.append(line)
            continue
        indent = " " * (min(len(line) - len(line.lstrip()), width // 2) + 2)
        lines += textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
    return "\n".join(lines)


def _dressed(text: str, stream: TextIO | None) -> str:
    """Text as a stream shall have it: safe to show, wrapped where the width is known, and marked verdicts in
    colour where there is colour.
    """
    terminal = stream is not None and _is_terminal(stream)
    coloured = terminal and not os.environ.get("NO_COLOR")
    text = visible(text if coloured else _MARKED.sub(r"\1", text), keep=f"\n{_OPEN}{_CLOSE}")
    if terminal or os.environ.get("COLUMNS"):
        text = wrapped(text, columns())
    return _MARKED.sub(lambda found: f"\x1b[1;{_COLOURS[found[1]]}m{found[1]}\x1b[0m", text)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def _json(data: Any) -> str:
    """JSON in letters that standard output can write: a letter spelled out by the stream
    would not be JSON. What a terminal obeys, or does not show, is spelled out as JSON does it.
    """
    written = json.dumps(data, indent=2, ensure_ascii=False)
    odd: dict[str, str | int | None] = {
        one: json.dumps(one)[1:-1] for one in set(written) - {"\n"} if visible(one) != one
    }
    written = written.translate(str.maketrans(odd))
    try:
        written.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(data, indent=2)
    return written
