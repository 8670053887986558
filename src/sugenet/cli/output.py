"""Output: answers on standard output, and notes, progress and errors on standard error.

Colour and progress appear only on terminals.

Messages are written once, for Python. If they name an argument that a command has as an option, such as
``bits=(1, 2)``, they are changed to name the option, ``--bits 1,2``.
"""

import ast
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from errno import EBADF
from fractions import Fraction
from shlex import quote
from typing import Any, TextIO

from sugenet.visible import visible

__all__ = [
    "CLOSED",
    "Screen",
    "as_typed",
    "as_typed_hints",
    "columns",
    "drop_output",
    "wrapped",
]

_ALIASES = {"prove=False": "--no-proof", "strict=False": "--no-strict"}
"""Arguments whose options have other names."""

_INPUTS = re.compile(r"(?:inputs=)?\b(Integers|Reals|Bits)\(((?:[^()]|\([^()]*\))*)\)")
_TYPES = re.compile(r"types=(\{(?:'[^']*': '[^']*'(?:, )?)+\})")
_VALUE = (
    r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\]]*\]|-?[0-9][0-9.e+-]*[0-9]|-?[0-9]|None|True|False|\.\.\.|\w+|"
)
_HINTS = {
    "method='sample'": "--method sample",
    "time_limit=": "--time-limit",
    "memory_limit=": "--memory-limit",
}
_FIRES = {">": "above", ">=": "reaching"}


def as_typed_hints(text: str) -> str:
    """Return an answer whose hints can be typed; text about samples stays unchanged.

    Examples
    --------
    >>> as_typed_hints("Estimate with method='sample'")
    'Estimate with --method sample'
    """
    for phrase, typed in _HINTS.items():
        text = text.replace(phrase, typed)
    return text


def as_typed(text: str, flags: Mapping[str, str]) -> str:
    """Return a message about arguments as one about the options of a command: `flags` by name of the
    argument.

    Examples
    --------
    >>> flags = {"bits": "--bits", "inputs": "--inputs", "zero": "--zero", "weight_bits": "--weight-bits"}
    >>> as_typed("say bits=(1, 2), or quantize(bits=2) in an architecture", flags)
    'say --bits 1,2, or quantize(bits=2) in an architecture'
    >>> as_typed("declare inputs=Integers(0, 255, step=Fraction(1, 255)), zero=-1.", flags)
    'declare --inputs 0..255/255, --zero -1.'
    >>> as_typed("weight_bits=9 must be at most 8.", flags)
    '--weight-bits 9 must be at most 8.'
    >>> as_typed("Leave them out: types={'id': 'ignore', 'my note': 'ignore'}.", {"types": "--type"})
    "Leave them out: --type id=ignore --type 'my note=ignore'."
    """
    if not flags:  # an empty name would match everywhere
        return text
    if "inputs" in flags:
        text = _INPUTS.sub(lambda match: f"{flags['inputs']} {_inputs(match[1], match[2])}", text)
    if "types" in flags:
        text = _TYPES.sub(lambda match: _types(match[1], flags["types"]), text)
    for phrase, flag in _ALIASES.items():
        if flag in flags.values():
            text = text.replace(phrase, flag)
    names = "|".join(re.escape(name) for name in flags)
    return re.sub(
        rf"(?<![\w.-])({names})=({_VALUE})(?=\W|$)",
        lambda match: match[0] if _is_inside(text, match.start()) else _option(match, flags),
        text,
    )


def _types(mapping: str, flag: str) -> str:
    return " ".join(f"{flag} {quote(f'{name}={kind}')}" for name, kind in ast.literal_eval(mapping).items())


def _is_inside(text: str, index: int) -> bool:
    """Return whether a position is between the brackets of ``quantize(bits=2)``, where options have no
    meaning.
    """
    start = text.rfind("(", 0, index)
    return start > 0 and text[start - 1].isalnum() and ")" not in text[start:index]


def _option(match: re.Match[str], flags: Mapping[str, str]) -> str:
    flag, value = flags[match[1]], match[2]
    if not value:
        return flag
    if match[1] == "image":
        return f"{flag} {'x'.join(re.findall(r'[0-9]+', value)) or value}"
    if value[0] in "([":
        parts = [part.strip().strip("'\"") for part in value[1:-1].split(",") if part.strip()]
        return f"{flag} {','.join(parts) or quote('')}"
    if value[0] in "'\"":
        plain = ast.literal_eval(value)
        if match[1] in ("when", "decision", "fires"):
            return f"{flag} {_FIRES.get(plain, plain.replace(' ', '-'))}"
        return f"{flag} {'tab' if plain == chr(9) else quote(plain)}"
    return f"{flag} {value}"


def _inputs(kind: str, about: str) -> str:
    """Return the kind of raw samples, in the syntax of ``--inputs``.

    Examples
    --------
    >>> _inputs("Integers", "0, 255, step=Fraction(2, 255), start=Fraction(-1, 1)")
    '0..255*2/255-1'
    >>> _inputs("Integers", "..."), _inputs("Bits", ""), _inputs("Reals", "low, high")
    ('LOW..HIGH', 'bits', 'reals:LOW..HIGH')
    """
    if kind == "Reals" and "low" in about:
        return "reals:LOW..HIGH"
    if kind != "Integers":
        return {"Reals": "reals", "Bits": "bits"}[kind]
    ends = re.match(r"(-?[0-9]+), (-?[0-9]+)", about)
    numbers = {
        name: Fraction(int(top), int(bottom or 1))
        for name, top, bottom in re.findall(r"(step|start)=(?:Fraction\()?(-?[0-9]+)(?:, ([0-9]+)\))?", about)
    }
    step, start = numbers.get("step", Fraction(1)), numbers.get("start", Fraction(0))
    times = "" if step == 1 else f"/{step.denominator}" if step.numerator == 1 else f"*{step}"
    plus = "" if not start else f"{'+' if start > 0 else ''}{start}"
    return f"{f'{ends[1]}..{ends[2]}' if ends else 'LOW..HIGH'}{times}{plus}"


CLOSED = "standard output is closed. Redirect it to a file or to /dev/null"

WIDEST = 100
"""Longer lines are hard to read, even on a wide terminal."""
_COLOURS = {"proved": "32", "holds": "32", "refuted": "31", "undecided": "33"}
_OPEN, _CLOSE = "\ud800", "\ud801"
"""Markers around a verdict until it is printed: halves of surrogate pairs, which no name can contain."""
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
        """Print an answer, as text or as JSON data; on standard error if it is `beside` other output.

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
        """Return a verdict with markers, so that it can be printed in colour."""
        return f"{_OPEN}{word}{_CLOSE}"

    def put(self, text: str) -> None:
        """Print data to standard output unchanged, except that control characters are escaped on a
        terminal.
        """
        is_shown = sys.stdout is not None and _is_terminal(sys.stdout)
        self._print(visible(text, keep="\t\r\n") if is_shown else text)

    def write(self, path: str, text: str, what: str = "") -> None:
        """Write a text file and report its path; - is standard output."""
        if path == "-":
            self.put(text.removesuffix("\n"))
            return
        from sugenet.files import write_text

        write_text(path, text)
        self.tell(f"{what} written to {path}".lstrip())

    def _print(self, text: str) -> None:
        """Print to standard output. After a closed pipe, as with head, output is dropped and the exit code
        stays the same.
        """
        self.clear()
        if sys.stdout is None:
            raise OSError(EBADF, CLOSED)
        try:
            print(text)
        except BrokenPipeError:
            drop_output()

    def finish(self) -> None:
        """Remove the progress line, and flush the output."""
        self.clear()
        if sys.stdout is not None:
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                drop_output()

    def tell(self, note: str) -> None:
        """Print a note of one line to standard error, unless quiet."""
        if not self.quiet:
            self._warn(visible(as_typed_hints(note)))

    def tell_once(self, note: str) -> None:
        """Print a note at most once per command."""
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

    def is_watched(self) -> bool:
        """Whether notes go to a terminal."""
        return not self.quiet and sys.stderr is not None and _is_terminal(sys.stderr)

    def progress(self, message: str) -> None:
        """Overwrite the progress line on a terminal; elsewhere do nothing."""
        if self.is_watched():
            with suppress(OSError):
                sys.stderr.write(f"\r\x1b[K{visible(message)[: columns() - 1]}")
                sys.stderr.flush()
                self._in_progress = True

    def clear(self) -> None:
        """Remove the progress line."""
        if self._in_progress:
            self._in_progress = False
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()


def drop_output() -> None:
    """Drop output that cannot be written, so that the interpreter does not try again at exit."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def columns() -> int:
    """Return the width of the terminal, at most 100; 80 if it is unknown."""
    return max(20, min(shutil.get_terminal_size((80, 24)).columns, WIDEST))


def wrapped(text: str, width: int) -> str:
    """Break lines that are too long between words; continuation lines are indented by two more.

    Rows of tables are not broken.
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
    """Return text for a stream: safe to show, wrapped if the width is known, and with coloured verdicts if
    supported.
    """
    terminal = stream is not None and _is_terminal(stream)
    coloured = terminal and not os.environ.get("NO_COLOR")
    text = visible(text if coloured else _MARKED.sub(r"\1", text), keep=f"\n{_OPEN}{_CLOSE}")
    if terminal or os.environ.get("COLUMNS"):
        text = wrapped(text, columns())
    return _MARKED.sub(lambda match: f"\x1b[1;{_COLOURS[match[1]]}m{match[1]}\x1b[0m", text)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def _json(data: Any) -> str:
    """Return JSON in characters that standard output can write: escapes by the stream would not be JSON.

    Control and invisible characters are escaped as in JSON.
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
