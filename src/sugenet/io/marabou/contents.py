"""An ``.ipq`` file as values: variables, bounds, equations and constraints, every number as it is spelled.

The lines are: how many variables, lower bounds, upper bounds, equations and constraints; how many inputs and
the inputs, "number,variable"; the outputs likewise; the bounds, "variable,number"; the equations,
"number,type,scalar,variable,coefficient,...", where type 0 is =, 1 is >= and 2 is <=; and the constraints,
"number,sign,f,b" for f = sign(b), which is +1 at 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TextIO

from sugenet.errors import FileError
from sugenet.io.plain.gzipped import plain_file
from sugenet.io.vnnlib_numbers import UnsupportedError, constant_of
from sugenet.reading import open_text

__all__ = ["Equation", "InputQuery", "read_input_query"]

_MAX_BYTES, _MAX_LINE = 1 << 25, 1 << 22
_MAX_VARIABLES = 1 << 22
_SIGNS = ("=", ">=", "<=")


@dataclass(frozen=True)
class Equation:
    """A sum of products that equals its scalar, or is at least or at most that."""

    line: int
    sign: str
    scalar: Fraction
    terms: dict[int, Fraction]


@dataclass(frozen=True)
class InputQuery:
    """All that a file says."""

    source: str
    variables: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    lower: dict[int, Fraction]
    upper: dict[int, Fraction]
    equations: tuple[Equation, ...]
    signs: dict[int, int]
    """Of each variable that is the sign of another, that other."""


@dataclass
class _Lines:
    """Lines with their numbers."""

    lines: Iterator[str]
    number: int = 0
    known: dict[str, Fraction] = field(default_factory=dict)

    def next(self, *counts: int) -> list[str]:
        """The parts of the next line, of which there must be so many; any number unless said."""
        self.number += 1
        line = next(self.lines, None)
        if line is None:
            raise FileError(f"it ends before line {self.number}. Is the file whole?")
        parts = [part.strip() for part in line.strip().rstrip(",").split(",")]
        if counts and len(parts) not in counts:
            raise FileError(f"line {self.number}: {line.strip()[:60]!r} has {len(parts)} parts.")
        return parts

    def whole(self, text: str, most: int) -> int:
        if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > most:
            raise FileError(f"line {self.number}: {text[:40]!r} is no whole number up to {most:,}.")
        return int(text)

    def number_of(self, text: str) -> Fraction:
        try:
            if text not in self.known:
                self.known[text] = constant_of(0, text)
            return self.known[text]
        except UnsupportedError:
            raise FileError(f"line {self.number}: {text[:40]!r} is no number.") from None


def read_input_query(path: str | Path) -> InputQuery:
    """Read a file, packed by gzip or not."""
    name = Path(path).name
    try:
        with plain_file(path, _MAX_BYTES) as file, open_text(file, _MAX_BYTES, "ascii", None) as stream:
            return _contents(name, _Lines(_short_lines(stream)))
    except UnicodeDecodeError:
        raise FileError(f"{name}: it is not text.") from None
    except OSError as error:
        raise FileError(f"{name}: it cannot be read: {error.strerror or error}.") from None
    except FileError as error:
        raise error if str(error).startswith(name) else FileError(f"{name}: {error}") from None


def _short_lines(stream: TextIO) -> Iterator[str]:
    while line := stream.readline(_MAX_LINE):
        if len(line) == _MAX_LINE:
            raise FileError(f"a line has more than {_MAX_LINE:,} letters.")
        yield line


def _contents(name: str, lines: _Lines) -> InputQuery:
    variables = lines.whole(lines.next(1)[0], _MAX_VARIABLES)
    counts = [lines.whole(lines.next(1)[0], _MAX_VARIABLES) for _ in range(4)]

    def variable(text: str) -> int:
        return lines.whole(text, variables - 1)

    ports = []
    for what in ("input", "output"):
        placed: dict[int, int] = {}
        for _ in range(lines.whole(lines.next(1)[0], variables)):
            place, held = lines.next(2)
            if lines.whole(place, variables) in placed:
                raise FileError(f"line {lines.number}: the {what} {place} stands twice.")
            placed[int(place)] = variable(held)
        if not placed or sorted(placed) != list(range(len(placed))):
            raise FileError(f"its {what}s are not numbered from 0 without a gap.")
        ports.append(tuple(placed[k] for k in range(len(placed))))
    bounds: list[dict[int, Fraction]] = []
    for count in counts[:2]:
        rows = (lines.next(2) for _ in range(count))
        bounds.append({variable(held): lines.number_of(value) for held, value in rows})
    equations = tuple(_equation(lines, variable) for _ in range(counts[2]))
    signs: dict[int, int] = {}
    for _ in range(counts[3]):
        _, kind, *both = [*lines.next(), ""]
        if kind != "sign" or len(both) != 3:
            raise FileError(
                f"line {lines.number}: the constraint {kind[:40]!r} is not read. Networks of signs are: "
                "relu, max, absoluteValue and others are not binarized."
            )
        f, b = (variable(text) for text in both[:2])
        if f in signs:
            raise FileError(f"line {lines.number}: variable {f} is the sign of two others.")
        signs[f] = b
    rest = next((line for line in lines.lines if line.strip()), None)
    if rest is not None:
        raise FileError(f"{rest.strip()[:60]!r} would be left over behind the last constraint.")
    return InputQuery(name, variables, ports[0], ports[1], bounds[0], bounds[1], equations, signs)


def _equation(lines: _Lines, variable: object) -> Equation:
    assert callable(variable)
    parts = lines.next()
    if len(parts) < 5 or len(parts) % 2 == 0:
        raise FileError(f"line {lines.number}: an equation has {len(parts)} parts.")
    terms: dict[int, Fraction] = {}
    for held, factor in zip(parts[3::2], parts[4::2], strict=True):
        key = variable(held)
        terms[key] = terms.get(key, Fraction(0)) + lines.number_of(factor)
    terms = {key: value for key, value in terms.items() if value}
    return Equation(lines.number, _SIGNS[lines.whole(parts[1], 2)], lines.number_of(parts[2]), terms)
