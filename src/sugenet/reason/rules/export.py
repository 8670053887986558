"""Rulebooks in other formats: Python code, DNF and CNF like DIMACS, a possibilistic base.

Variables are the encoder's bits, numbered from 1; comments explain them. A rule is a conjunction of bits: a
number is at least one cut and below another; a category is none of the excluded ones.
"""

import ast
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from sugenet.capacity import BOOLEAN, UNIT, Criteria, PossibilisticBase
from sugenet.errors import QuestionError
from sugenet.nn import OneHot, Steps
from sugenet.reason.rules.grid import Grid, Masks, indices_of

__all__ = ["legal_clauses", "literals_of", "possibilistic_base", "to_cnf_dimacs", "to_dnf", "to_python"]


def literals_of(grid: Grid, masks: Masks) -> list[int]:
    """Return the bits that a box requires, as signed integers from 1; for legal codewords they are equivalent
    to the box.
    """
    literals = []
    for feature in grid.conditions(masks):
        coding, first = grid.network.encoder.codings[feature], grid.network.encoder.group(feature).start + 1
        if isinstance(coding, OneHot):
            chosen = indices_of(masks[feature])
            literals += (
                [first + chosen[0]]
                if len(chosen) == 1
                else [-(first + c) for c in range(coding.width) if c not in chosen]
            )
            continue
        low, high = grid.span(feature, masks[feature])
        literals += [] if low is None else [first + low - 1]
        literals += [] if high is None else [-(first + high)]
    return literals


def legal_clauses(grid: Grid) -> list[list[int]]:
    """Return clauses that exactly the possible codewords satisfy."""
    clauses: list[list[int]] = []
    for feature, coding in enumerate(grid.network.encoder.codings):
        group = grid.network.encoder.group(feature)
        bits = [index + 1 for index in group]
        if isinstance(coding, OneHot):
            clauses.append(bits)
            clauses += [[-a, -b] for a, b in combinations(bits, 2)]
            continue
        clauses += [[a, -b] for a, b in pairwise(bits)]
        # not: the last cut reached is number `state`
        clauses += [
            [-bit for bit in bits[state - 1 : state] if state] + bits[state : state + 1]
            for state in set(range(coding.states)) - set(grid.states[feature])
        ]
    return clauses


def _map(grid: Grid) -> list[str]:
    return [
        f"c {index + 1} {_line(grid.network.encoder.words(index))}"
        for index in range(grid.network.encoder.width)
    ]


def _line(text: str) -> str:
    return " ".join(text.split())


def to_dnf(grid: Grid, rules: Sequence[Any], label: int) -> str:
    """Return the rules of one class as terms."""
    lines = [f"c rules of class {_line(grid.network.classes[label])}, one term each", *_map(grid)]
    lines.append(f"p dnf {grid.network.encoder.width} {len(rules)}")
    lines += [" ".join(map(str, [*literals_of(grid, rule.masks), 0])) for rule in rules]
    return "\n".join(lines) + "\n"


def to_cnf_dimacs(grid: Grid, rules: Sequence[Any]) -> str:
    """Return legal codewords, exactly one class, and every rule as clauses."""
    width, names = grid.network.encoder.width, grid.network.classes
    labels = [width + 1 + k for k in range(len(names))]
    clauses = [*legal_clauses(grid), labels, *([-a, -b] for a, b in combinations(labels, 2))]
    clauses += [
        [*(-literal for literal in literals_of(grid, rule.masks)), labels[rule.index]] for rule in rules
    ]
    lines = [
        *_map(grid),
        *(f"c {label} class {_line(name)}" for label, name in zip(labels, names, strict=True)),
    ]
    lines.append(f"p cnf {labels[-1]} {len(clauses)}")
    lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
    return "\n".join(lines) + "\n"


def possibilistic_base(
    grid: Grid, rules: Sequence[Any], weights: Sequence[Fraction] | None = None
) -> PossibilisticBase:
    """Return every rule as a clause over the literals of the bits and the classes, of weight 1 by default."""
    names = [f"class {name}" for name in grid.network.classes]
    criteria = Criteria([*Criteria.literals(grid.network.encoder.width), *names])
    formulas: list[Any] = [
        ([*((-literal, 1) for literal in literals_of(grid, rule.masks)), (names[rule.index], 1)], weight)
        for rule, weight in zip(rules, weights or [Fraction(1)] * len(rules), strict=True)
    ]
    return PossibilisticBase(criteria, formulas, BOOLEAN if weights is None else UNIT)


def to_python(grid: Grid, rules: Sequence[Any]) -> str:
    """Return Python code with one `if` per rule."""
    encoder, classes = grid.network.encoder, grid.network.classes
    used = sorted({feature for rule in rules for feature in grid.conditions(rule.masks)})
    lines = [
        "def classify(sample):",
        (
            '    """Class of a sample, a sequence of raw values, by rules proved of a network; '
            'None where no rule speaks."""'
        ),
    ]
    for feature in used:
        coding = encoder.codings[feature]
        number = "int" if isinstance(coding, Steps) and coding.whole else "float"
        read = f"sample[{feature}]" if isinstance(coding, OneHot) else f"{number}(sample[{feature}])"
        lines.append(f"    x{feature} = {read}  # {_line(encoder.names[feature])}")
    for rule in rules:
        tests = " and ".join(
            _test(grid, feature, rule.masks[feature]) for feature in grid.conditions(rule.masks)
        )
        lines += [f"    if {tests or 'True'}:", f"        return {classes[rule.index]!r}"]
    return "\n".join([*lines, "    return None"]) + "\n"


def _test(grid: Grid, feature: int, mask: int) -> str:
    coding = grid.network.encoder.codings[feature]
    if isinstance(coding, OneHot):
        chosen = tuple(coding.categories[index] for index in indices_of(mask))
        try:
            same = ast.literal_eval(repr(chosen)) == chosen
        except (ValueError, SyntaxError):
            same = False
        if not same:
            raise QuestionError(
                f"the categories {chosen} cannot be written as Python code. "
                f"Use text or numbers for categories."
            )
        return f"x{feature} in {chosen!r}"
    low, high = grid.span(feature, mask)
    lower = None if low is None else coding.cuts[low - 1]
    upper = None if high is None else coding.cuts[high]
    if lower is None or upper is None:
        return f"x{feature} < {upper!r}" if lower is None else f"x{feature} >= {lower!r}"
    return f"{lower!r} <= x{feature} < {upper!r}"
