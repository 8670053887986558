"""Possibilistic rules with learned parameters on the tasks of Pi-NeSy (Baaj, Marquis, arXiv 2504.07055).

Sums: a column has two digits and a carry. Rules conclude on the triple of the three, and from it on the next
carry and on the digit of the sum. Grids: a rule concludes, for each pair of cells in a row, column or box,
whether they have the same digit, and one rule that the grid is valid if none have. The parameters are learned
from training images, whose degrees are the antipignistic ones of the network, and each is certified. A sum or
a grid is right if every output has one most possible value, the true one. The rules have the structure of
those of the paper; the code is our own.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from sugenet.fit import RuleFit, fit_rules
from sugenet.logic import PossibilisticRule, Reading, RuleBase, degrees_of
from sugenet.logic.sudoku import units

__all__ = [
    "TOLERANCE",
    "Degrees",
    "column_samples",
    "degrees_by_chance",
    "grids_by_rules",
    "learned_columns",
    "learned_grids",
    "sums_by_rules",
]

Degrees = dict[str, Any]
TRIPLES = list(product(range(10), range(10), (0, 1)))
"""Two digits and a carry."""
TOLERANCE = 0.25
"""Samples whose own equations err by more are left out: misread digits."""


def degrees(readings: Sequence[Reading]) -> list[Degrees]:
    """Return the antipignistic degrees of readings."""
    return [degrees_of(reading, "antipignistic") for reading in readings]


def _name(triple: Sequence[int]) -> str:
    return "t" + "".join(map(str, triple))


def _among(variable: str, triples: Sequence[Sequence[int]]) -> str:
    return f"{variable} in {{{', '.join(map(_name, triples))}}}"


def column(number: int) -> tuple[dict[str, Any], list[str]]:
    """Return the variables and the rules of one column; the carry of column k goes to column k - 1."""
    left, right, carry, triple, digit = (f"{name}{number}" for name in ("l", "r", "c", "t", "d"))
    onward = f"c{number - 1}"
    variables = {left: range(10), right: range(10), carry: (0, 1), onward: (0, 1), digit: range(10)}
    rules = []
    for place, name in enumerate((left, right, carry)):
        for value in range(10) if place < 2 else (0,):
            some = [one for one in TRIPLES if one[place] == value]
            rules.append(f"if {name} = {value} then {_among(triple, some)}")
    rules.append(f"if {_among(triple, [one for one in TRIPLES if sum(one) > 9])} then {onward} = 1")
    for value in range(10):
        some = [one for one in TRIPLES if sum(one) % 10 == value]
        rules.append(f"if {_among(triple, some)} then {digit} = {value}")
    return {**variables, triple: list(map(_name, TRIPLES))}, rules


def column_samples(
    readings: Sequence[Reading], truth: Sequence[int], rng: np.random.Generator
) -> tuple[list[Degrees], list[Degrees]]:
    """Return samples and truths of a column: pairs of readings with a random carry."""
    known = degrees(readings)
    samples, truths = [], []
    for k in range(0, len(known) - 1, 2):
        carry = int(rng.integers(2))
        triple = (int(truth[k]), int(truth[k + 1]), carry)
        samples.append({"l1": known[k], "r1": known[k + 1], "c1": {0: 1 - carry, 1: carry}})
        truths.append({"t1": _name(triple), "c0": int(sum(triple) > 9), "d1": sum(triple) % 10})
    return samples, truths


def degrees_by_chance(samples: Sequence[Degrees], rng: np.random.Generator) -> list[Degrees]:
    """Return as truths what rules of a column with random parameters infer: those to learn are not 0."""
    rules = [
        PossibilisticRule(
            rule.premise, rule.conclusion, *(Fraction(int(k), 100) for k in rng.integers(51, size=2))
        )
        for rule in RuleBase.of(*column(1)).rules
    ]
    return RuleBase.of(column(1)[0], rules).infer_each(samples)


def learned_columns(samples: Sequence[Degrees], truths: Sequence[Degrees]) -> RuleFit:
    """Return the rules of a column, learned from samples, and checked."""
    learned = fit_rules(RuleBase.of(*column(1)), samples, truths, tolerance=TOLERANCE)
    learned.check(samples, truths)
    return learned


def sums_by_rules(
    learned: RuleFit, known: Sequence[Degrees], truth: Any, digits: int, orders: Sequence[Any]
) -> tuple[int, int]:
    """Return how many sums of two numbers are right by the learned rules, and how many there are."""
    variables: dict[str, Any] = {}
    rules: list[PossibilisticRule] = []
    for number in range(digits, 0, -1):
        names, texts = column(number)
        variables |= names
        for text, rule in zip(texts, learned.base.rules, strict=True):
            one = PossibilisticRule.of(text)
            rules.append(PossibilisticRule(one.premise, one.conclusion, rule.s, rule.r))
    base = RuleBase.of(variables, rules)
    samples, wanted = [], []
    for order in orders:
        for start in range(0, len(order) - 2 * digits + 1, 2 * digits):
            sides = order[start : start + digits], order[start + digits : start + 2 * digits]
            sample: dict[str, Any] = {f"c{digits}": {0: 1, 1: 0}}
            for side, chosen in zip("lr", sides, strict=True):
                sample |= {f"{side}{k}": known[index] for k, index in enumerate(chosen, start=1)}
            samples.append(sample)
            total = sum(int("".join(str(truth[index]) for index in side)) for side in sides)
            wanted.append(str(total).zfill(digits + 1))
    shown = ["c0", *(f"d{number}" for number in range(1, digits + 1))]
    said = ["".join(_best(found[name]) for name in shown) for found in base.infer_each(samples)]
    return sum(one == other for one, other in zip(said, wanted, strict=True)), len(wanted)


def _best(found: Degrees) -> str:
    """Return the most possible value; a question mark if there are several."""
    top = max(found.values())
    best = [value for value, degree in found.items() if degree == top]
    return best[0] if len(best) == 1 else "?"


def _pairs(size: int) -> list[tuple[int, int]]:
    return sorted({pair for unit in units(size) for pair in combinations(sorted(unit), 2)})


def _checks(pair: RuleBase, grids: Sequence[Sequence[Degrees]], size: int) -> list[Degrees]:
    """Return for each grid the degrees that pairs of its cells are the same."""
    pairs = _pairs(size)
    samples = [{"one": grid[a], "other": grid[b]} for grid in grids for a, b in pairs]
    found = [one["check"] for one in pair.infer_each(samples)]
    starts = range(0, len(found), len(pairs))
    return [{f"p{k}": degree for k, degree in enumerate(found[s : s + len(pairs)])} for s in starts]


def learned_grids(grids: Sequence[Sequence[Degrees]], truths: Sequence[Any], size: int) -> list[RuleFit]:
    """Return the rule for pairs of cells and the one for grids, learned from grids, and checked.

    A truth is the digits of a grid, and whether it is valid.
    """
    digits = range(1, size + 1)
    pair = RuleBase.of(
        {"one": digits, "other": digits, "check": ("differ", "same")}, ["if one = other then check = same"]
    )
    pairs = _pairs(size)
    some = [
        (grid, shown, *pairs[k % len(pairs)])
        for k, (grid, (shown, _)) in enumerate(zip(grids, truths, strict=True))
    ]
    samples = [{"one": grid[a], "other": grid[b]} for grid, _, a, b in some]
    wanted = [{"check": "same" if shown[a] == shown[b] else "differ"} for _, shown, a, b in some]
    first = fit_rules(pair, samples, wanted, tolerance=TOLERANCE)
    first.check(samples, wanted)
    names = [f"p{k}" for k in range(len(pairs))]
    whole = RuleBase.of(
        {**dict.fromkeys(names, ("differ", "same")), "grid": ("invalid", "valid")},
        [f"if {' and '.join(f'{name} = differ' for name in names)} then grid = valid"],
    )
    checks = _checks(first.base, grids, size)
    said = [{"grid": "valid" if is_valid else "invalid"} for _, is_valid in truths]
    second = fit_rules(whole, checks, said, tolerance=TOLERANCE)
    second.check(checks, said)
    return [first, second]


def grids_by_rules(
    learned: Sequence[RuleFit], grids: Sequence[Sequence[Degrees]], truths: Sequence[bool], size: int
) -> int:
    """Return how many grids are judged right by the learned rules."""
    pair, whole = (one.base for one in learned)
    said = [_best(found["grid"]) for found in whole.infer_each(_checks(pair, grids, size))]
    return sum(one == ("valid" if true else "invalid") for one, true in zip(said, truths, strict=True))
