"""Read and write VNNLIB files, the queries of VNN-COMP, exactly. Unsupported content is refused with line
and column.

The reader supports the part of SMT-LIB that the competitions use: ``declare-const`` of X_i and Y_k, and
``assert`` of ``and`` and ``or``. These combine ``<=`` and ``>=`` between linear expressions with ``+``,
``-`` and ``*``. Inputs are bounded one at a time, so the input sets are boxes. Version 2 declares a
network with tensors instead (see `vnnlib_parsing`) and also has ``==``.
"""

import gzip
import os
import re
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any, TypeAlias

from sugenet.errors import FileError
from sugenet.files import write_bytes
from sugenet.io.plain.gzipped import unzipped
from sugenet.io.vnnlib_parsing import (
    DECLARING,
    SUPPORTED,
    WORD,
    Declared,
    UnsupportedError,
    constant_of,
    shortened,
    sized,
    unsupported_if,
)
from sugenet.problem.query import BIT_LIMIT, SIZE_LIMIT, Case, Condition, Inequality, Query, QueryBox
from sugenet.reading import read_file

__all__ = ["parse_vnnlib", "read_vnnlib", "write_vnnlib"]

_TOKEN = re.compile(rf"[()]|;[^\n]*|{WORD}|[^\s();]+")
_VARIABLE = re.compile(r"([XY])_(0|[1-9]\d{0,8})", re.ASCII)
_DEPTH = 200
# bounds time and memory: a file of 64 kB may expand to 64 MiB. Enough for 200,000 inputs
_BRACKETS = 1 << 20
_WORK = 4_000_000  # steps to expand expressions and conditions; bounds time and memory
_COMMANDS = ("declare-const", "assert", "vnnlib-version", "declare-network")
_OPERATORS = ("and", "or", "<=", ">=", "+", "-", "*")
_STRICT = (
    "is not supported: boxes and conditions hold their bounds. Write <= or >=, which asks for a little more"
)


def read_vnnlib(path: str | os.PathLike[str]) -> Query:
    """Read a query from a VNNLIB file, compressed with gzip or not.

    Parameters
    ----------
    path : str or Path
        A file of at most 64 MiB of text.

    Returns
    -------
    Query
        The query, which `verify` decides.

    Raises
    ------
    FileError
        If the file is missing, damaged or not supported. The message has line and column.

    Examples
    --------
    >>> read_vnnlib("nowhere.vnnlib")
    Traceback (most recent call last):
    sugenet.errors.FileError: 'nowhere.vnnlib' cannot be read: No such file or directory. Check the path.

    See Also
    --------
    verify : decides the query.
    """
    name = os.fspath(path)
    try:
        return parse_vnnlib(unzipped(read_file(path, SIZE_LIMIT), SIZE_LIMIT).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileError(
            f"{name!r} cannot be read: it is not text (byte {error.start}). "
            f"Give a .vnnlib or .vnnlib.gz file."
        ) from error
    except FileError as error:
        raise FileError(f"{name!r} cannot be read: {error}") from error
    except (OSError, ValueError) as error:
        raise FileError(
            f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}. Check the path."
        ) from error


def write_vnnlib(query: Query, path: str | os.PathLike[str]) -> None:
    """Write a query to a file, compressed if its name ends with ``.gz``. Equal queries give equal bytes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> query = Query.within([0.1, 7], [0.25, 8], label=0, outputs=2)
    >>> with TemporaryDirectory() as folder:
    ...     write_vnnlib(query, f"{folder}/robust.vnnlib.gz")
    ...     read_vnnlib(f"{folder}/robust.vnnlib.gz") == query
    True
    """
    raw = query.to_text().encode()
    write_bytes(path, gzip.compress(raw, mtime=0) if os.fspath(path).endswith(".gz") else raw)


def parse_vnnlib(text: str) -> Query:
    """Read a query from text.

    Examples
    --------
    >>> query = parse_vnnlib('''
    ... (declare-const X_0 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
    ... (assert (>= X_0 -5e-1)) (assert (<= X_0 0.1))  ; the float64 0.1
    ... (assert (or (and (<= Y_0 Y_1)) (and (>= (+ Y_0 (* 2.0 Y_1)) 5))))
    ... ''')
    >>> query.cases[0].box == QueryBox([-0.5], [0.1]), len(query.cases[0].condition)
    (True, 2)
    >>> parse_vnnlib("(declare-const X_0 Real) (assert (< X_0 1))")
    Traceback (most recent call last):
    sugenet.errors.FileError: line 1, column 35: < is not supported. Supported are declare-const of X_i
    and Y_k as Real, and assert with and, or, <=, >=, +, -, * and numbers.
    """
    if len(text) > SIZE_LIMIT:
        raise FileError(f"the text has {len(text):,} characters, but {SIZE_LIMIT:,} is the limit.")
    try:
        return _QueryReader(_WORK + len(text)).read(text)
    except UnsupportedError as error:
        start = text.rfind("\n", 0, error.place) + 1
        raise FileError(
            f"line {text.count(chr(10), 0, error.place) + 1}, column {error.place - start + 1}: {error}"
        ) from None


_Variable: TypeAlias = tuple[str, int]
_ALWAYS: Condition = ((),)


@dataclass(slots=True)
class _Linear:
    """A linear expression: non-zero coefficients of variables, and a constant."""

    terms: dict[_Variable, Fraction]
    constant: Fraction


@dataclass(slots=True)
class _Part:
    """A conjunction of bounds on inputs and a condition on outputs.

    An upper bound has the key ("<=", i), a lower bound (">=", i).
    """

    bounds: dict[_Variable, Fraction]
    condition: Condition

    @property
    def size(self) -> int:
        return len(self.bounds) + sum(len(conjunction) + 1 for conjunction in self.condition) + 1


_Formula: TypeAlias = list[_Part]
"""A disjunction of parts."""
_Item: TypeAlias = str | _Linear | _Formula | None
"""The value of a word or a pair of brackets; None for a complete command."""
_Items: TypeAlias = list[tuple[int, _Item]]
"""Items, each with its position in the text."""


@dataclass
class _QueryReader:
    """A reader that works from left to right with a stack, without recursion.

    Brackets are evaluated when they close.
    """

    limit: int
    """Largest number of steps. Expressions that are already expanded are always read."""
    declared: set[_Variable] = field(default_factory=set)
    asserted: list[_Formula] = field(default_factory=list)
    known: dict[str, Fraction] = field(default_factory=dict)
    """Numbers by their spelling, since files repeat them."""
    work: int = 0
    tensors: Declared = field(default_factory=Declared)
    """The declarations of version 2."""

    def read(self, text: str) -> Query:
        if text.count("(") > _BRACKETS:
            index = next(islice(re.finditer(r"[(]", text), _BRACKETS, None)).start()
            raise UnsupportedError(
                index, f"there are more than {_BRACKETS:,} pairs of brackets. Split the query."
            )
        frames: list[tuple[int, _Items]] = []
        for token in _TOKEN.finditer(text):
            index, word = token.start(), token.group()
            if word[0] == ";":
                continue
            if word == "(":
                frames.append((index, []))
                if len(frames) > _DEPTH:
                    raise UnsupportedError(
                        index, f"brackets are nested more than {_DEPTH} deep. Write it flatter."
                    )
            elif not frames:
                raise UnsupportedError(index, f"{shortened(word)} is outside of brackets. {SUPPORTED}")
            elif word == ")":
                start, items = frames.pop()
                value = self.reduce(start, items, outermost=not frames)
                if frames:
                    frames[-1][1].append((start, value))
            else:
                items = frames[-1][1]
                named = not items or items[0][1] in DECLARING
                items.append((index, word if named else self.number(index, word)))
        if frames:
            raise UnsupportedError(frames[-1][0], "this bracket is never closed. Is the file whole?")
        return self.query(len(text))

    def reduce(self, index: int, items: _Items, outermost: bool) -> _Item:
        """Return the value of a pair of brackets."""
        head = items[0][1] if items else None
        if not isinstance(head, str):
            raise UnsupportedError(index, f"brackets must begin with the name of an operation. {SUPPORTED}")
        if head in DECLARING and head not in _COMMANDS:
            return self.tensor(index, [item for _, item in items], inside=not outermost)
        if head in ("<", ">", "!=") and self.tensors.is_new:
            raise UnsupportedError(items[0][0], f"{head} {_STRICT}.")
        equal = head in ("==", "=") and self.tensors.is_new
        if head not in _COMMANDS and head not in _OPERATORS and not equal:
            raise UnsupportedError(items[0][0], f"{shortened(head)} is not supported. {SUPPORTED}")
        if (head in _COMMANDS) != outermost:
            raise UnsupportedError(
                items[0][0],
                f"{head} {'must not be nested' if head in _COMMANDS else 'must be in assert'}. {SUPPORTED}",
            )
        if len(items) == 1:
            raise UnsupportedError(index, f"{head} is empty.")
        rest = items[1:]
        match head:
            case "declare-const":
                self.declare(index, rest)
                return None
            case "vnnlib-version" | "declare-network":
                return self.tensor(index, [item for _, item in items], inside=False)
            case "assert":
                unsupported_if(len(rest) != 1, index, f"assert takes one condition, not {len(rest)}.")
                self.asserted += _formulas(head, rest)
                return None
            case "and":
                return self.both(index, _formulas(head, rest))
            case "or":
                return self.either(index, _formulas(head, rest))
            case "<=" | ">=":
                return self.compare(index, head, _linears(head, rest))
            case "==" | "=":
                numbers = _linears(head, rest)
                return self.both(index, [self.compare(index, sign, numbers) for sign in ("<=", ">=")])
            case "*":
                return self.multiply(index, _linears(head, rest))
            case "+":
                return self.add(index, _linears(head, rest))
            case _:
                first, *others = _linears(head, rest)
                negative = [_times(index, other, Fraction(-1)) for other in others or [first]]
                return self.add(index, [first, *negative] if others else negative)

    def spend(self, index: int, steps: int) -> None:
        self.work += steps
        if self.work > self.limit:
            raise UnsupportedError(
                index,
                f"written out as boxes and conjunctions this takes more than {self.limit:,} steps. "
                f"Split the query.",
            )

    def tensor(self, index: int, tokens: list[Any], *, inside: bool) -> _Item:
        """Read a declaration of version 2, and add the variables once a network is complete."""
        made = self.tensors.take(index, tokens, inside=inside, older=bool(self.declared))
        if tokens[0] == "declare-network":
            self.declared |= {
                (kind, i) for kind, count in self.tensors.counts().items() for i in range(count)
            }
        return made

    # -- numbers ---------------------------------------------------------------------------------------------

    def declare(self, index: int, items: _Items) -> None:
        unsupported_if(
            self.tensors.is_new,
            index,
            "declare-const is of version 1, and the file is of version 2: declare a network.",
        )
        tokens = [item for _, item in items]
        variable = (
            _variable(tokens[0])
            if len(tokens) == 2 and tokens[1] == "Real" and isinstance(tokens[0], str)
            else None
        )
        if variable is None:
            raise UnsupportedError(
                index, "a declaration must be like (declare-const X_0 Real) or (declare-const Y_0 Real)."
            )
        unsupported_if(variable in self.declared, index, f"{tokens[0]} is declared twice.")
        self.declared.add(variable)

    def number(self, index: int, word: str) -> _Linear:
        variable = self.tensors.element(index, word) if self.tensors.is_new else _variable(word)
        if variable is None:
            if word not in self.known:
                self.known[word] = constant_of(index, word)
            return _Linear({}, self.known[word])
        if variable not in self.declared:
            raise UnsupportedError(
                index, f"{word} is not declared. Declare it first: (declare-const {word} Real)."
            )
        return _Linear({variable: Fraction(1)}, Fraction(0))

    def add(self, index: int, numbers: list[_Linear]) -> _Linear:
        self.spend(index, sum(len(number.terms) + 1 for number in numbers))
        terms, constant = dict(numbers[0].terms), numbers[0].constant
        for number in numbers[1:]:
            constant = sized(index, constant + number.constant)
            for variable, value in number.terms.items():
                terms[variable] = sized(index, terms.get(variable, Fraction(0)) + value)
        return _Linear({variable: value for variable, value in terms.items() if value}, constant)

    def multiply(self, index: int, numbers: list[_Linear]) -> _Linear:
        value = numbers[0]
        for other in numbers[1:]:
            if value.terms and other.terms:
                raise UnsupportedError(
                    index, "two variables are multiplied, but only linear expressions are supported."
                )
            self.spend(index, len(value.terms) + len(other.terms) + 1)
            value = (
                _times(index, other, value.constant) if other.terms else _times(index, value, other.constant)
            )
        return value

    # -- conditions ------------------------------------------------------------------------------------------

    def compare(self, index: int, sign: str, numbers: list[_Linear]) -> _Formula:
        if len(numbers) < 2:
            raise UnsupportedError(index, f"{sign} compares at least two expressions, not one.")
        pairs = [(a, b) if sign == ">=" else (b, a) for a, b in pairwise(numbers)]
        formulas = [
            _at_least(index, self.add(index, [larger, _times(index, smaller, Fraction(-1))]))
            for larger, smaller in pairs
        ]
        return formulas[0] if len(formulas) == 1 else self.both(index, formulas)

    def both(self, index: int, formulas: list[_Formula]) -> _Formula:
        """Return the conjunction: parts are paired, their bounds tightened, their conditions multiplied
        out.
        """
        if not all(formulas):
            return []
        single = [formula[0] for formula in formulas if len(formula) == 1]
        several = [formula for formula in formulas if len(formula) > 1]
        if not several and len(single) == 1:
            return formulas[0]
        joined: _Formula = [self.meet(index, single)] if single else several.pop(0)
        for formula in several:
            joined = [self.meet(index, [one, other]) for one in joined for other in formula]
        return joined

    def meet(self, index: int, parts: list[_Part]) -> _Part:
        self.spend(index, 40 + sum(part.size for part in parts))
        bounds: dict[_Variable, Fraction] = {}
        for part in parts:
            for (sign, i), value in part.bounds.items():
                other = bounds.get((sign, i), value)
                bounds[sign, i] = min(value, other) if sign == "<=" else max(value, other)
        fixed = tuple(row for part in parts if len(part.condition) == 1 for row in part.condition[0])
        condition: Condition = (fixed,)
        for part in parts:
            if len(part.condition) > 1:
                longest = max(map(len, condition)) + max(map(len, part.condition)) + 1
                self.spend(index, len(condition) * len(part.condition) * longest)
                condition = tuple((*one, *other) for one in condition for other in part.condition)
        return _Part(bounds, condition)

    def either(self, index: int, formulas: list[_Formula]) -> _Formula:
        """Return the disjunction. Parts with the same bounds are merged."""
        if len(formulas) == 1:
            return formulas[0]
        self.spend(index, sum(part.size for formula in formulas for part in formula))
        joined: dict[frozenset[tuple[_Variable, Fraction]], tuple[_Part, list[tuple[Inequality, ...]]]] = {}
        for formula in formulas:
            for part in formula:
                joined.setdefault(frozenset(part.bounds.items()), (part, []))[1].extend(part.condition)
        return [_Part(part.bounds, tuple(dict.fromkeys(condition))) for part, condition in joined.values()]

    def query(self, end: int) -> Query:
        counts = {}
        for kind, what in (("X", "input"), ("Y", "output")):
            numbers = {i for letter, i in self.declared if letter == kind}
            missing = min(set(range(len(numbers) + 1)) - numbers)
            if not numbers or missing < len(numbers):
                raise UnsupportedError(
                    end,
                    f"the {what} {kind}_{missing} is not declared. They are numbered from 0 without a gap.",
                )
            counts[kind] = len(numbers)
        parts = self.both(end, self.asserted) if self.asserted else [_Part({}, _ALWAYS)]
        cases = []
        for part in parts:
            ends = [(part.bounds.get((">=", i)), part.bounds.get(("<=", i))) for i in range(counts["X"])]
            if any(low is not None and high is not None and low > high for low, high in ends):
                continue  # an empty box contains no inputs
            lower, upper = (
                [low for low, _ in ends if low is not None],
                [high for _, high in ends if high is not None],
            )
            if min(len(lower), len(upper)) < counts["X"]:
                i, side = next(
                    (i, "lower" if low is None else "upper")
                    for i, (low, high) in enumerate(ends)
                    if low is None or high is None
                )
                raise UnsupportedError(
                    end, f"X_{i} has no {side} bound, but inputs must be in a box. Assert one."
                )
            cases.append(Case(QueryBox(lower, upper), part.condition))
        return Query(counts["X"], counts["Y"], cases)


def _formulas(name: str, items: _Items) -> list[_Formula]:
    return _each(items, list, f"{name} takes conditions, made of <=, >=, and, or, but this is a number.")


def _linears(name: str, items: _Items) -> list[_Linear]:
    return _each(items, _Linear, f"{name} takes numbers, made of X_i, Y_k, +, -, *, but this is a condition.")


def _each(items: _Items, kind: type[Any], wrong: str) -> list[Any]:
    for index, item in items:
        if not isinstance(item, kind):
            raise UnsupportedError(index, wrong)
    return [item for _, item in items]


def _at_least(index: int, number: _Linear) -> _Formula:
    """Return the condition that an expression is at least 0."""
    kinds = {kind for kind, _ in number.terms}
    if not kinds:
        return [_Part({}, _ALWAYS)] if number.constant >= 0 else []
    if kinds == {"Y"}:
        part = Inequality({k: value for (_, k), value in number.terms.items()}, -number.constant)
        if max(part.bound.bit_length(), *(value.bit_length() for _, value in part.terms)) > BIT_LIMIT:
            raise UnsupportedError(index, "in integers this inequality needs more than 4000 digits.")
        return [_Part({}, ((part,),))]
    if len(number.terms) > 1:
        raise UnsupportedError(
            index, "a condition must bound one input, or compare outputs: only boxes of inputs are supported."
        )
    (((_, i), factor),) = number.terms.items()
    return [_Part({(">=" if factor > 0 else "<=", i): sized(index, -number.constant / factor)}, _ALWAYS)]


def _times(index: int, number: _Linear, factor: Fraction) -> _Linear:
    if factor == -1:
        return _Linear({variable: -value for variable, value in number.terms.items()}, -number.constant)
    terms = {variable: sized(index, value * factor) for variable, value in number.terms.items() if factor}
    return _Linear(terms, sized(index, number.constant * factor))


def _variable(word: str) -> _Variable | None:
    match = _VARIABLE.fullmatch(word)
    return (match[1], int(match[2])) if match else None
