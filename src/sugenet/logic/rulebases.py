"""Possibilistic rules whose parameters say how uncertain they are, and inference by min-max matrices.

A rule "if P then Q" has two parameters: s, the possibility of Q if P is false, and r, the possibility of the
contrary of Q if P is true. With lambda the possibility of P and rho that of its contrary, the rule allows Q
the degree max(s, lambda), and the contrary of Q max(r, rho). A value of the output is as possible as the
rule that allows it least (docs/theory.md 12.8). This is the min-max form of possibilistic rule-based systems.

A conclusion may be a condition of later rules, so that rules form a cascade. `sugenet.fit.fit_rules` learns
the parameters.

Reference: Baaj and Marquis [BM25].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import exact_number, number_text, read_number
from sugenet.errors import QuestionError, RuleSyntaxError, TooLargeError, refuse
from sugenet.logic.degrees import by_value, degrees_of
from sugenet.logic.formulas import Every, LogicFormula, OneOf, holds, indices_in
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Reading
from sugenet.reprs import ShortRepr

__all__ = ["PossibilisticRule", "RuleBase"]

_MOST = 1 << 16
"""Maximum number of combinations of values of a condition that is not a conjunction."""
_CELLS = 1 << 21
"""Combinations of values, over all samples, that are compared at a time."""
_SPLIT = re.compile(r"\s*if\s+(.+?)\s+then\s+(.+?)(?:\s*\(s = ([^,()]+), r = ([^,()]+)\)\s*)?", re.DOTALL)
_ONE = Fraction(1)

Degrees = Mapping[Any, Any]
"""The degree of possibility of each value of a variable."""
Ranks = npt.NDArray[np.int64]
_Sides = tuple[tuple[Fraction, ...], tuple[Fraction, ...]]


@dataclass(frozen=True)
class PossibilisticRule:
    """Rule "if premise then conclusion" with its two parameters.

    Parameters
    ----------
    premise
        Formula over variables (`parse_formula`).
    conclusion
        Formula over one variable.
    s
        Possibility of the conclusion if the premise is false, from 0 to 1 (default: 0).
    r
        Possibility of the contrary of the conclusion if the premise is true (default: 0: the rule is
        certain).

    Examples
    --------
    >>> print(PossibilisticRule("sky = grey", "road = wet", s=0.25, r=0.5))
    if sky = grey then road = wet (s = 0.25, r = 0.5)
    """

    premise: str
    conclusion: str
    s: Fraction = Fraction(0)
    r: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name in ("s", "r"):
            exact = Fraction(exact_number(getattr(self, name), name, QuestionError))
            if not 0 <= exact <= 1:
                raise QuestionError(f"{name} is {getattr(self, name)!r}: give a degree from 0 to 1.")
            object.__setattr__(self, name, exact)

    @classmethod
    def of(cls, rule: str | tuple[str, Any]) -> PossibilisticRule:
        """Read a rule: "if ... then ...", with parameters of 0 unless they follow as `str` writes them; or a
        weighted formula, a pair of "if ... then ..." or of a conclusion alone and of its certainty.

        A formula with the certainty w leaves its contrary the possibility 1 - w, so r = 1 - w, and says
        nothing if its premise is false, so s = 1.

        Reference: Dubois and Prade [DP14].

        Examples
        --------
        >>> print(PossibilisticRule.of(("a = 3", 0.75)))
        if true then a = 3 (s = 1, r = 0.25)
        """
        text, certainty = rule if isinstance(rule, tuple) and len(rule) == 2 else (rule, None)
        is_text = isinstance(text, str)
        parts = _SPLIT.fullmatch(text) if is_text else None
        if certainty is not None and is_text and (parts is None or parts[3] is None):
            weight = Fraction(exact_number(certainty, "certainty", QuestionError))
            premise, conclusion = (parts[1], parts[2]) if parts else ("true", text)
            return cls(premise, conclusion, Fraction(1), 1 - weight)
        if parts is None or certainty is not None:
            raise RuleSyntaxError(
                f"a rule is text such as 'if a = 1 then b != 2', or a pair such as ('b = 2', 0.7), "
                f"not {str(rule)[:60]!r}."
            )
        s, r = (
            Fraction(read_number(parts[k] or "0", name, QuestionError)) for k, name in ((3, "s"), (4, "r"))
        )
        return cls(parts[1], parts[2], s, r)

    def __str__(self) -> str:
        told = f"s = {number_text(self.s)}, r = {number_text(self.r)}"
        return f"if {self.premise} then {self.conclusion} ({told})"


@dataclass(frozen=True, eq=False)
class RuleBase(ShortRepr):
    """Possibilistic rules over variables with a few values each; `of` makes one.

    Examples
    --------
    >>> base = RuleBase.of(
    ...     {"a": range(3), "b": range(3), "same": ["no", "yes"]}, ["if a = b then same = yes"]
    ... )
    >>> found = base.infer({"a": {0: 1, 1: 0.5, 2: 0}, "b": {0: 0.25, 1: 1, 2: 0}})
    >>> {value: str(degree) for value, degree in found["same"].items()}
    {'no': '1', 'yes': '1/2'}
    """

    variables: Mapping[str, tuple[str, ...]]
    rules: tuple[PossibilisticRule, ...]

    @classmethod
    def of(cls, variables: Mapping[str, Iterable[Any]], rules: Iterable[Any]) -> RuleBase:
        """Return the rule base of rules over variables, given with their values.

        Rules are text, weighted formulas such as ``("a = 3", 0.7)`` (`PossibilisticRule.of`), or
        `PossibilisticRule` values. A variable with a rule that concludes on it is an
        output, any other an input. A premise may use inputs, and outputs of earlier rules.
        """
        strange: list[Any] = [variables] if not isinstance(variables, Mapping) else []
        strange = strange or [values for values in variables.values() if not isinstance(values, Iterable)]
        if strange:
            raise QuestionError(
                f"{str(strange[0])[:60]!r} is not a list of values. Give each variable its values: "
                "{'sky': ['blue', 'grey']}."
            )
        named = {str(name): tuple(map(str, values)) for name, values in variables.items()}
        made = tuple(
            rule if isinstance(rule, PossibilisticRule) else PossibilisticRule.of(rule) for rule in rules
        )
        wrong = next(
            (name for name, values in named.items() if not values or len(set(values)) < len(values)), None
        )
        refuse(
            QuestionError,
            (wrong is not None, f"the values of {wrong!r} must be different, and at least one."),
            (
                len(named) < len(variables),
                f"two variables are written alike: {', '.join(map(str, variables))}.",
            ),
            (not made, "a rule base needs a rule."),
        )
        base = cls(named, made)
        if not base.inputs:
            raise QuestionError("every variable is the conclusion of a rule. Add an input.")
        return base

    @property
    def inputs(self) -> tuple[str, ...]:
        """The variables on which no rule concludes."""
        return tuple(name for name in self.variables if name not in self._sets)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The variables on which rules conclude, in the order of their first rules."""
        return tuple(self._sets)

    def rules_of(self, output: str) -> tuple[PossibilisticRule, ...]:
        """Return the rules that conclude on an output."""
        return tuple(self.rules[index] for index in self._set(output).rules)

    def with_parameters(self, output: str, parameters: Sequence[tuple[Any, Any]]) -> RuleBase:
        """Return the rule base with other parameters (s, r) of the rules of an output."""
        indices = self._set(output).rules
        if [len(pair) if isinstance(pair, Sequence) else 0 for pair in parameters] != [2] * len(indices):
            raise QuestionError(f"{output} has {len(indices)} rules. Give a pair (s, r) for each of them.")
        rules = list(self.rules)
        for index, (s, r) in zip(indices, parameters, strict=True):
            rules[index] = replace(rules[index], s=s, r=r)
        other = RuleBase(self.variables, tuple(rules))
        read = ("_parsed", "_sets", "_premises")  # these do not depend on parameters
        other.__dict__.update({name: self.__dict__[name] for name in read if name in self.__dict__})
        return other

    # -- matrices --------------------------------------------------------------------------------------------

    def cells(self, output: str) -> list[tuple[str, ...]]:
        """Return the values of an output in groups that no rule tells apart: the rows of the matrix."""
        values = self.variables[output]
        groups = self._set(output).groups
        return [tuple(values[k] for k in members) for members in groups.values()]

    def matrix(self, output: str) -> list[list[Fraction]]:
        """Return the matrix: a row per cell, and the columns s and r of every rule.

        The degree of a cell is the minimum over the columns of the maximum of the entry and of `vector`.
        """
        rules = self.rules_of(output)
        return [
            [
                entry
                for rule, on in zip(rules, signs, strict=True)
                for entry in ((rule.s, _ONE) if on else (_ONE, rule.r))
            ]
            for signs in self._set(output).groups
        ]

    def vectors(
        self, output: str, samples: Sequence[Mapping[str, Degrees | Reading]]
    ) -> list[list[Fraction]]:
        """Return, for each sample, the degrees lambda and rho of the premise of every rule of an output."""
        levels, tables = self._tables(samples)
        for earlier, rules in self._sets.items():
            if earlier == output:
                break
            tables[earlier] = self._concluded(rules, tables, levels)
        pairs = [self._premise(rule, tables, len(levels)) for rule in self._set(output).rules]
        columns = [column.tolist() for pair in pairs for column in pair]
        return [[levels[rank] for rank in row] for row in zip(*columns, strict=True)]

    # -- inference -------------------------------------------------------------------------------------------

    def infer(self, sample: Mapping[str, Degrees | Reading]) -> dict[str, dict[str, Fraction]]:
        """Return the degrees of possibility of the values of all outputs, by name.

        Parameters
        ----------
        sample
            For each input the degrees of its values, of which the largest is 1; or a `Reading`, whose
            degrees are `degrees_of(reading)`.
        """
        return self.infer_each([sample])[0]

    def infer_each(
        self, samples: Sequence[Mapping[str, Degrees | Reading]]
    ) -> list[dict[str, dict[str, Fraction]]]:
        """Return what `infer` returns, for each of many samples."""
        levels, tables = self._tables(samples)
        for output, rules in self._sets.items():
            tables[output] = self._concluded(rules, tables, levels)
        rows = {output: tables[output].tolist() for output in self._sets}
        return [
            {
                output: {
                    value: levels[rank] for value, rank in zip(self.variables[output], ranks[k], strict=True)
                }
                for output, ranks in rows.items()
            }
            for k in range(len(samples))
        ]

    def because(
        self, sample: Mapping[str, Degrees | Reading], output: str, value: Any
    ) -> list[PossibilisticRule]:
        """Return the rules that allow a value of an output no more than its degree.

        Without them the value would be more possible. The list is empty if the degree is 1.
        """
        groups, values = self._set(output).groups, self.variables[output]
        if str(value) not in values:
            raise QuestionError(f"{output} is one of {', '.join(values)}, not {str(value)[:40]!r}.")
        index = values.index(str(value))
        signs = next(signs for signs, members in groups.items() if index in members)
        vector = self.vectors(output, [sample])[0]
        rules = self.rules_of(output)
        allowed = [
            max(rule.s, vector[2 * k]) if on else max(rule.r, vector[2 * k + 1])
            for k, (rule, on) in enumerate(zip(rules, signs, strict=True))
        ]
        lowest = min(allowed)
        return [rule for rule, degree in zip(rules, allowed, strict=True) if degree == lowest < 1]

    def _concluded(self, rules: _RuleSet, tables: dict[str, Ranks], levels: list[Fraction]) -> Ranks:
        """Return the ranks of the degrees of an output: a row per sample, a column per value."""
        rank = {level: index for index, level in enumerate(levels)}
        signs = np.array(list(rules.groups), dtype=bool)
        ranks: Ranks | None = None
        for column, index in enumerate(rules.rules):
            possible, contrary = self._premise(index, tables, len(levels))
            with_it = np.maximum(possible, rank[self.rules[index].s])
            without = np.maximum(contrary, rank[self.rules[index].r])
            allowed = np.where(signs[:, column], with_it[:, None], without[:, None])
            ranks = allowed if ranks is None else np.minimum(ranks, allowed)
        assert ranks is not None
        ends = np.empty((len(ranks), sum(map(len, rules.groups.values()))), dtype=np.int64)
        for number, members in enumerate(rules.groups.values()):
            ends[:, members] = ranks[:, number, None]
        return ends

    def _premise(self, index: int, tables: dict[str, Ranks], n_levels: int) -> tuple[Ranks, Ranks]:
        """Return the ranks of the possibility of a premise and of its contrary, for each sample."""
        names = list(self.variables)
        n_samples = len(next(iter(tables.values())))
        possible = np.full(n_samples, n_levels - 1, dtype=np.int64)
        contrary = np.zeros(n_samples, dtype=np.int64)
        for indices, truth in self._premises[index]:
            step = max(1, _CELLS // max(truth.size, 1))
            for start in range(0, n_samples, step):
                some = slice(start, start + step)
                count = len(possible[some])
                parts = [
                    np.full([count] + [1] * len(indices), n_levels - 1)
                ]  # alone if nothing is read: false
                for k, position in enumerate(indices):
                    shape = [count] + [1] * len(indices)
                    shape[k + 1] = truth.shape[k]
                    parts.append(tables[names[position]][some].reshape(shape))
                joint = np.broadcast_to(reduce(np.minimum, parts), (count, *truth.shape))
                possible[some] = np.minimum(possible[some], joint[:, truth].max(axis=1, initial=0))
                contrary[some] = np.maximum(contrary[some], joint[:, ~truth].max(axis=1, initial=0))
        return possible, contrary

    def _tables(
        self, samples: Sequence[Mapping[str, Degrees | Reading]]
    ) -> tuple[list[Fraction], dict[str, Ranks]]:
        """Return all degrees that occur, in order, and the ranks of the inputs."""
        for k, sample in enumerate(samples):
            if not isinstance(sample, Mapping):
                raise QuestionError(f"sample {k} is a {type(sample).__name__}. Give degrees by input.")
            strange = next((name for name in sample if name not in self.inputs), None)
            if strange is not None:
                raise QuestionError(
                    f"sample {k}: {str(strange)[:40]!r} is not an input. "
                    f"The inputs are {', '.join(self.inputs)}."
                )
        exact = {
            name: [self._degrees(name, sample, k) for k, sample in enumerate(samples)] for name in self.inputs
        }
        stated = {degree for rows in exact.values() for row in rows for degree in row}
        levels = sorted(stated | {Fraction(0), _ONE} | {p for rule in self.rules for p in (rule.s, rule.r)})
        rank = {level: index for index, level in enumerate(levels)}
        return levels, {
            name: np.array([[rank[degree] for degree in row] for row in rows], dtype=np.int64).reshape(
                len(samples), len(self.variables[name])
            )
            for name, rows in exact.items()
        }

    def _degrees(self, name: str, sample: Mapping[str, Degrees | Reading], k: int) -> list[Fraction]:
        stated = sample.get(name)
        if stated is None:
            raise QuestionError(f"sample {k} has no degrees of the input {name!r}.")
        known = degrees_of(stated) if isinstance(stated, Reading) else stated
        degrees = by_value(known, self.variables[name], f"sample {k}: {name}")
        if max(degrees) != 1 or min(degrees) < 0:
            raise QuestionError(f"sample {k}: the degrees of {name} must be at least 0, and the largest 1.")
        return degrees

    # -- reading rules ---------------------------------------------------------------------------------------

    def _set(self, output: str) -> _RuleSet:
        if output not in self._sets:
            raise QuestionError(
                f"no rule concludes on {str(output)[:40]!r}. The outputs are {', '.join(self._sets)}."
            )
        return self._sets[output]

    @cached_property
    def _parsed(self) -> list[tuple[LogicFormula, LogicFormula]]:
        variables = [Reading(name, values, (0,) * len(values)) for name, values in self.variables.items()]
        return [
            (parse_formula(rule.premise, variables), parse_formula(rule.conclusion, variables))
            for rule in self.rules
        ]

    @cached_property
    def _sets(self) -> dict[str, _RuleSet]:
        """The rules of each output, and its values in groups by the conclusions that contain them."""
        names = list(self.variables)
        members: dict[int, list[int]] = {}
        for index, (_, conclusion) in enumerate(self._parsed):
            about = indices_in(conclusion)
            if len(about) != 1:
                raise QuestionError(
                    f"rule {index}: a conclusion is about one variable, "
                    f"unlike {self.rules[index].conclusion!r}."
                )
            members.setdefault(next(iter(about)), []).append(index)
        order = list(members)
        for position, (output, indices) in enumerate(members.items()):
            late = next(
                (k for i in indices for k in sorted(indices_in(self._parsed[i][0])) if k in order[position:]),
                None,
            )
            if late is not None:
                raise QuestionError(
                    f"a rule about {names[output]} uses {names[late]}, on which no earlier rules conclude. "
                    f"Give the rules of {names[late]} first; a variable must not depend on itself."
                )
        sets = {}
        for output, indices in members.items():
            groups: dict[tuple[bool, ...], list[int]] = {}
            choice = [0] * len(names)
            for value in range(len(self.variables[names[output]])):
                choice[output] = value
                signs = tuple(holds(self._parsed[i][1], choice) for i in indices)
                groups.setdefault(signs, []).append(value)
            sets[names[output]] = _RuleSet(tuple(indices), groups)
        return sets

    @cached_property
    def _premises(self) -> list[list[tuple[tuple[int, ...], npt.NDArray[np.bool_]]]]:
        """Each premise as a conjunction of truth tables over different variables."""
        return [self._tabled(premise, index) for index, (premise, _) in enumerate(self._parsed)]

    def _tabled(
        self, premise: LogicFormula, index: int
    ) -> list[tuple[tuple[int, ...], npt.NDArray[np.bool_]]]:
        sizes = [len(values) for values in self.variables.values()]
        parts = premise.parts if isinstance(premise, Every) else (premise,)
        if all(isinstance(part, OneOf) for part in parts):
            allowed: dict[int, set[int]] = {}
            for part in parts:
                allowed[part.place] = allowed.get(part.place, set(part.allowed)) & part.allowed  # type: ignore[union-attr]
            return [
                ((position,), np.isin(np.arange(sizes[position]), list(some)))
                for position, some in allowed.items()
            ]
        indices = tuple(sorted(indices_in(premise)))
        shape = [sizes[position] for position in indices]
        if prod(shape) > _MOST:
            raise TooLargeError(
                f"rule {index}: its premise has {prod(shape):,} combinations of values, more than {_MOST:,}. "
                f"Use a conjunction of conditions, or more rules with outputs between."
            )
        choice, truth = [0] * len(sizes), np.zeros(shape, dtype=bool)
        for values in product(*map(range, shape)):
            for position, value in zip(indices, values, strict=True):
                choice[position] = value
            truth[values] = holds(premise, choice)
        return [(indices, truth)]


@dataclass(frozen=True)
class _RuleSet:
    """The rules of one output by index, and its values in groups by the conclusions that contain them."""

    rules: tuple[int, ...]
    groups: dict[tuple[bool, ...], list[int]]
