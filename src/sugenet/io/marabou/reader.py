"""An input query of Marabou as a chain of linear layers and signs, and as a query about it.

Equations are solved one by one, each for the one variable that is not known yet, in exact numbers, so that
batch norms and biases written as equations of their own become part of the layer before them. A sign of a
sign that cannot turn it, such as sign(sign(x) + 0.1), is that sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sugenet.errors import FileError
from sugenet.io.exact.ops import Affine, LinearOp, Op, OpChain, Sign, numbers
from sugenet.io.marabou.contents import Equation, InputQuery
from sugenet.problem.query import Case, Condition, Inequality, Query, QueryBox

__all__ = ["chain_of_query", "query_of_contents"]

_WORK = 1 << 26


@dataclass(frozen=True)
class _Form:
    """A sum over the values of one level, and a constant; level 0 are the inputs, each other one signs."""

    level: int
    terms: dict[int, Fraction]
    """By variable."""
    constant: Fraction


class _Solving:
    """What each variable is, once it is known."""

    def __init__(self, contents: InputQuery) -> None:
        self.contents = contents
        self.forms: dict[int, _Form] = {v: _Form(0, {v: Fraction(1)}, Fraction(0)) for v in contents.inputs}
        self.levels: list[list[int]] = [list(contents.inputs)]
        self.behind: dict[int, _Form] = {}
        """Of each sign that is kept, the sum that it is taken of."""
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
        """Solve the equations that have one variable left; those that have none say something more."""
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
        """A sign of one sign that follows it, or its opposite."""
        if form.level == 0 or len(form.terms) != 1:
            return None
        ((v, factor),) = form.terms.items()
        up, down = form.constant + factor >= 0, form.constant - factor >= 0
        return None if up == down else _Form(form.level, {v: Fraction(1 if up else -1)}, Fraction(0))

    def total(self, terms: dict[int, Fraction], constant: Fraction, line: int) -> _Form:
        """A sum of known variables."""
        level, found = None, dict[int, Fraction]()
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
                found[u] = found.get(u, Fraction(0)) + factor * c
        return _Form(level or 0, {u: c for u, c in found.items() if c}, constant)


def chain_of_query(contents: InputQuery) -> OpChain:
    """The network of an input query."""
    solved = _Solving(contents)
    ops: list[Op] = []
    for level in range(1, len(solved.levels)):
        before = solved.levels[level - 1]
        forms = [solved.behind[f] for f in solved.levels[level]]
        ops += [*_linear(f"signs {level}", forms, before, first=level == 1), Sign(f"signs {level}")]
    outputs = [_output(solved, v) for v in contents.outputs]
    last = len(solved.levels) - 1
    if any(form.level != last and form.terms for form in outputs):
        raise FileError("its outputs are not all sums of the last signs.")
    ops += _linear("outputs", outputs, solved.levels[last], first=False)
    return OpChain(contents.source, (len(contents.inputs),), tuple(ops))


def _output(solved: _Solving, variable: int) -> _Form:
    if variable not in solved.forms:
        raise FileError(f"the output variable {variable} is given by no equation.")
    return solved.forms[variable]


def _linear(where: str, forms: Sequence[_Form], before: Sequence[int], *, first: bool) -> list[Op]:
    """A layer; of raw inputs one by one only scales and shifts, of scaled ones their scales in front."""
    place = {v: k for k, v in enumerate(before)}
    shift = numbers([form.constant for form in forms])
    if first and [list(form.terms) for form in forms] == [[v] for v in before]:
        scale = numbers([form.terms[v] for form, v in zip(forms, before, strict=True)])
        return [Affine(where, scale, shift)]
    scales = _scales(forms, before) if first else None
    flat = [Fraction(0)] * (len(forms) * len(before))
    for row, form in enumerate(forms):
        for v, factor in form.terms.items():
            flat[row * len(before) + place[v]] = factor if scales is None else factor / scales[place[v]]
    layer = LinearOp(where, numbers(flat).reshape(len(forms), len(before)), shift)
    return [layer] if scales is None else [Affine(where, numbers(scales), np.zeros(len(scales))), layer]


def _scales(forms: Sequence[_Form], before: Sequence[int]) -> list[Fraction] | None:
    """What each input is multiplied by before all neurons weigh it alike, up to a factor for each neuron;
    None where it is the same for all, or there is nothing of the kind.
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
    """The question of an input query: its bounds of inputs, and what it says of outputs.

    Bounds of variables between must be those that every sign keeps.
    """
    solved = _Solving(contents)
    lower, upper = contents.lower, contents.upper
    missing = next((v for v in contents.inputs if v not in lower or v not in upper), None)
    if missing is not None:
        raise FileError(f"the input variable {missing} has no lower or no upper bound.")
    box = QueryBox([lower[v] for v in contents.inputs], [upper[v] for v in contents.inputs])
    place, free = {v: k for k, v in enumerate(contents.outputs)}, set(contents.inputs)
    found: list[Inequality] = []
    for bounds, sign in ((lower, 1), (upper, -1)):
        for v, value in bounds.items():
            if v in place:
                found.append(Inequality({place[v]: sign}, sign * value))
            elif v not in free and not (v in contents.signs and sign * value <= -1):
                raise FileError(
                    f"variable {v}, which is no input and no output, is bounded by {float(value):g}: only "
                    "bounds of -1 and +1 on signs are read there."
                )
    for equation in solved.rest:
        if not equation.terms or any(v not in place for v in equation.terms):
            raise FileError(f"line {equation.line}: it is no condition on outputs, and gives no variable.")
        terms = {place[v]: factor for v, factor in equation.terms.items()}
        if equation.sign != "<=":
            found.append(Inequality(terms, equation.scalar))
        if equation.sign != ">=":
            found.append(Inequality({k: -factor for k, factor in terms.items()}, -equation.scalar))
    condition: Condition = (tuple(found),)
    return Query(len(contents.inputs), len(contents.outputs), [Case(box, condition)])
