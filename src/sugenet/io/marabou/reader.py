"""Read an input query of Marabou, an ``.ipq`` file, with every number as it is spelled. It becomes a chain of
linear layers and signs, and a query about it.

The file has these lines:

- the numbers of variables, lower bounds, upper bounds, equations and constraints
- the number of inputs, and the inputs as "number,variable"; the same for the outputs
- the bounds as "variable,number"
- the equations as "number,type,scalar,variable,coefficient,...", where type 0 is =, 1 is >= and 2 is <=
- the constraints as "number,sign,f,b" for f = sign(b), which is +1 at 0

Equations are solved one by one, each for its one unknown variable, in exact numbers. So batch norms and
biases written as separate equations become part of the layer before them. A sign of a sign that cannot change
it, such as sign(sign(x) + 0.1), is that sign.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TextIO

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, LinearOp, Op, OpChain, Sign, numbers
from sugenet.io.plain.gzipped import plain_file
from sugenet.io.plain.refusals import refuse_if, required
from sugenet.io.vnnlib_parsing import UnsupportedError, constant_of
from sugenet.problem.query import Case, Condition, Inequality, Query, QueryBox
from sugenet.reading import open_text

__all__ = ["Equation", "InputQuery", "chain_of_query", "query_of_contents", "read_input_query"]

_WORK = 1 << 26
_MAX_BYTES, _MAX_LINE = 1 << 25, 1 << 22
_MAX_VARIABLES = 1 << 22
_SIGNS = ("=", ">=", "<=")


@dataclass(frozen=True)
class Equation:
    """A sum of products that is equal to its scalar, at least the scalar, or at most the scalar."""

    line: int
    sign: str
    scalar: Fraction
    terms: dict[int, Fraction]


@dataclass(frozen=True)
class InputQuery:
    """The contents of a file."""

    source: str
    variables: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    lower: dict[int, Fraction]
    upper: dict[int, Fraction]
    equations: tuple[Equation, ...]
    signs: dict[int, int]
    """For each variable that is the sign of another, that other variable."""


@dataclass
class _Lines:
    """Lines with their numbers."""

    lines: Iterator[str]
    number: int = 0
    known: dict[str, Fraction] = field(default_factory=dict)

    def next(self, *counts: int) -> list[str]:
        """Return the parts of the next line, which must have this many (default: any number)."""
        self.number += 1
        line = required(next(self.lines, None), f"it ends before line {self.number}. Is the file whole?")
        parts = [part.strip() for part in line.strip().rstrip(",").split(",")]
        if counts and len(parts) not in counts:
            raise FileError(f"line {self.number}: {line.strip()[:60]!r} has {len(parts)} parts.")
        return parts

    def integer(self, text: str, limit: int) -> int:
        if not (text.isascii() and text.isdecimal()) or len(text) > 10 or int(text) > limit:
            raise FileError(f"line {self.number}: {text[:40]!r} is not an integer up to {limit:,}.")
        return int(text)

    def number_of(self, text: str) -> Fraction:
        try:
            if text not in self.known:
                self.known[text] = constant_of(0, text)
            return self.known[text]
        except UnsupportedError:
            raise FileError(f"line {self.number}: {text[:40]!r} is not a number.") from None


def read_input_query(path: str | Path) -> InputQuery:
    """Read a file, compressed with gzip or not."""
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
        refuse_if(len(line) == _MAX_LINE, f"a line has more than {_MAX_LINE:,} characters.")
        yield line


def _contents(name: str, lines: _Lines) -> InputQuery:
    variables = lines.integer(lines.next(1)[0], _MAX_VARIABLES)
    counts = [lines.integer(lines.next(1)[0], _MAX_VARIABLES) for _ in range(4)]

    def variable(text: str) -> int:
        return lines.integer(text, variables - 1)

    ports = []
    for what in ("input", "output"):
        placed: dict[int, int] = {}
        for _ in range(lines.integer(lines.next(1)[0], variables)):
            index, held = lines.next(2)
            refuse_if(
                lines.integer(index, variables) in placed,
                f"line {lines.number}: the {what} {index} occurs twice.",
            )
            placed[int(index)] = variable(held)
        refuse_if(
            not placed or sorted(placed) != list(range(len(placed))),
            f"its {what}s are not numbered from 0 without a gap.",
        )
        ports.append(tuple(placed[k] for k in range(len(placed))))
    bounds: list[dict[int, Fraction]] = []
    for count in counts[:2]:
        rows = (lines.next(2) for _ in range(count))
        bounds.append({variable(held): lines.number_of(value) for held, value in rows})
    equations = tuple(_equation(lines, variable) for _ in range(counts[2]))
    signs: dict[int, int] = {}
    for _ in range(counts[3]):
        _, kind, *both = [*lines.next(), ""]
        refuse_if(
            kind != "sign" or len(both) != 3,
            f"line {lines.number}: the constraint {kind[:40]!r} is not read. Networks of signs are: "
            "relu, max, absoluteValue and others are not binarized.",
        )
        f, b = (variable(text) for text in both[:2])
        refuse_if(f in signs, f"line {lines.number}: variable {f} is the sign of two others.")
        signs[f] = b
    rest = next((line for line in lines.lines if line.strip()), None)
    if rest is not None:
        raise FileError(f"{rest.strip()[:60]!r} would be left over after the last constraint.")
    return InputQuery(name, variables, ports[0], ports[1], bounds[0], bounds[1], equations, signs)


def _equation(lines: _Lines, variable: Callable[[str], int]) -> Equation:
    parts = lines.next()
    refuse_if(
        len(parts) < 5 or len(parts) % 2 == 0, f"line {lines.number}: an equation has {len(parts)} parts."
    )
    terms: dict[int, Fraction] = {}
    for held, factor in zip(parts[3::2], parts[4::2], strict=True):
        key = variable(held)
        terms[key] = terms.get(key, Fraction(0)) + lines.number_of(factor)
    terms = {key: value for key, value in terms.items() if value}
    return Equation(lines.number, _SIGNS[lines.integer(parts[1], 2)], lines.number_of(parts[2]), terms)


# -- layers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """A sum over the values of one level, and a constant. Level 0 is the inputs, other levels are signs."""

    level: int
    terms: dict[int, Fraction]
    """Coefficients by variable."""
    constant: Fraction


class _Solving:
    """The value of each variable, once it is known."""

    def __init__(self, contents: InputQuery) -> None:
        self.contents = contents
        self.forms: dict[int, _Form] = {v: _Form(0, {v: Fraction(1)}, Fraction(0)) for v in contents.inputs}
        self.levels: list[list[int]] = [list(contents.inputs)]
        self.behind: dict[int, _Form] = {}
        """For each sign that is kept, the sum that it is taken of."""
        self.work = 0
        self.left = [equation for equation in contents.equations if equation.sign == "="]
        self.rest: list[Equation] = [e for e in contents.equations if e.sign != "="]
        signs = dict(contents.signs)
        while True:
            moved = self._equations() | self._signs(signs)
            if not moved:
                break
        if signs:
            f, b = next(iter(signs.items()))
            raise FileError(f"variable {f} is the sign of {b}, which no equation gives.")
        self.rest = [*self.left, *self.rest]

    def _equations(self) -> bool:
        """Solve the equations with one unknown variable. Those without one are further conditions."""
        kept, moved = [], False
        targets = set(self.contents.signs)
        for equation in self.left:
            unknown = [v for v in equation.terms if v not in self.forms]
            if len(unknown) == 1 and unknown[0] not in targets:
                (v,) = unknown
                others = {u: -c / equation.terms[v] for u, c in equation.terms.items() if u != v}
                self.forms[v] = self.total(others, equation.scalar / equation.terms[v], equation.line)
                moved = True
            else:
                kept.append(equation)
        self.left = kept
        return moved

    def _signs(self, signs: dict[int, int]) -> bool:
        ready = [(f, b) for f, b in signs.items() if b in self.forms]
        for f, b in ready:
            del signs[f]
            form = self.forms[b]
            same = self._unturned(form)
            if same is not None:
                self.forms[f] = same
                continue
            level = form.level + 1
            while len(self.levels) <= level:
                self.levels.append([])
            self.levels[level].append(f)
            self.behind[f] = form
            self.forms[f] = _Form(level, {f: Fraction(1)}, Fraction(0))
        return bool(ready)

    def _unturned(self, form: _Form) -> _Form | None:
        """Return a sign of one sign that equals it, or its opposite."""
        if form.level == 0 or len(form.terms) != 1:
            return None
        ((v, factor),) = form.terms.items()
        up, down = form.constant + factor >= 0, form.constant - factor >= 0
        return None if up == down else _Form(form.level, {v: Fraction(1 if up else -1)}, Fraction(0))

    def total(self, terms: dict[int, Fraction], constant: Fraction, line: int) -> _Form:
        """Return a sum of known variables."""
        level, coefficients = None, dict[int, Fraction]()
        for v, factor in terms.items():
            form = self.forms[v]
            self.work += len(form.terms) + 1
            if self.work > _WORK:
                raise FileError(f"its equations are longer than {_WORK:,} terms when they are written out.")
            if form.terms and level not in (None, form.level):
                raise FileError(
                    f"line {line}: it adds values of different layers. Only chains of layers are read."
                )
            level = form.level if form.terms else level
            constant += factor * form.constant
            for u, c in form.terms.items():
                coefficients[u] = coefficients.get(u, Fraction(0)) + factor * c
        return _Form(level or 0, {u: c for u, c in coefficients.items() if c}, constant)


def chain_of_query(contents: InputQuery) -> OpChain:
    """Return the network of an input query."""
    solved = _Solving(contents)
    ops: list[Op] = []
    for level in range(1, len(solved.levels)):
        before = solved.levels[level - 1]
        forms = [solved.behind[f] for f in solved.levels[level]]
        ops += [*_linear(f"signs {level}", forms, before, first=level == 1), Sign(f"signs {level}")]
    outputs = [_output(solved, v) for v in contents.outputs]
    last = len(solved.levels) - 1
    refuse_if(
        any(form.level != last and form.terms for form in outputs),
        "its outputs are not all sums of the last signs.",
    )
    ops += _linear("outputs", outputs, solved.levels[last], first=False)
    return OpChain(contents.source, (len(contents.inputs),), tuple(ops))


def _output(solved: _Solving, variable: int) -> _Form:
    refuse_if(variable not in solved.forms, f"the output variable {variable} is given by no equation.")
    return solved.forms[variable]


def _linear(where: str, forms: Sequence[_Form], before: Sequence[int], *, first: bool) -> list[Op]:
    """Return a layer. Raw inputs one by one only have scales and shifts. Scales of scaled inputs are applied
    before.
    """
    index = {v: k for k, v in enumerate(before)}
    shift = numbers([form.constant for form in forms])
    if first and [list(form.terms) for form in forms] == [[v] for v in before]:
        scale = numbers([form.terms[v] for form, v in zip(forms, before, strict=True)])
        return [Affine(where, scale, shift)]
    scales = _scales(forms, before) if first else None
    flat = [Fraction(0)] * (len(forms) * len(before))
    for row, form in enumerate(forms):
        for v, factor in form.terms.items():
            flat[row * len(before) + index[v]] = factor if scales is None else factor / scales[index[v]]
    layer = LinearOp(where, numbers(flat).reshape(len(forms), len(before)), shift)
    return [layer] if scales is None else [Affine(where, numbers(scales), np.zeros(len(scales))), layer]


def _scales(forms: Sequence[_Form], before: Sequence[int]) -> list[Fraction] | None:
    """Return the factor of each input before all neurons weigh it alike, up to one factor per neuron.

    Return None if it is the same for all, or there are no such factors.
    """
    if any(len(form.terms) != len(before) for form in forms):
        return None
    scales = [abs(forms[0].terms[v]) for v in before]
    for form in forms:
        factor = abs(form.terms[before[0]]) / scales[0]
        if any(abs(form.terms[v]) != factor * scale for v, scale in zip(before, scales, strict=True)):
            return None
    return None if len(set(scales)) == 1 else scales


def query_of_contents(contents: InputQuery) -> Query:
    """Return the question of an input query: its bounds of inputs, and its conditions on outputs.

    Bounds of variables between must be those that every sign satisfies.
    """
    solved = _Solving(contents)
    lower, upper = contents.lower, contents.upper
    missing = next((v for v in contents.inputs if v not in lower or v not in upper), None)
    refuse_if(missing is not None, f"the input variable {missing} has no lower or no upper bound.")
    box = QueryBox([lower[v] for v in contents.inputs], [upper[v] for v in contents.inputs])
    index, free = {v: k for k, v in enumerate(contents.outputs)}, set(contents.inputs)
    inequalities: list[Inequality] = []
    for bounds, sign in ((lower, 1), (upper, -1)):
        for v, value in bounds.items():
            if v in index:
                inequalities.append(Inequality({index[v]: sign}, sign * value))
            elif v not in free and not (v in contents.signs and sign * value <= -1):
                raise FileError(
                    f"variable {v}, which is neither input nor output, is bounded by {float(value):g}: only "
                    "bounds of -1 and +1 on signs are read there."
                )
    for equation in solved.rest:
        refuse_if(
            not equation.terms or any(v not in index for v in equation.terms),
            f"line {equation.line}: it is not a condition on outputs, and defines no variable.",
        )
        terms = {index[v]: factor for v, factor in equation.terms.items()}
        if equation.sign != "<=":
            inequalities.append(Inequality(terms, equation.scalar))
        if equation.sign != ">=":
            inequalities.append(Inequality({k: -factor for k, factor in terms.items()}, -equation.scalar))
    condition: Condition = (tuple(inequalities),)
    return Query(len(contents.inputs), len(contents.outputs), [Case(box, condition)])
