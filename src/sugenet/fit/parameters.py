"""Parameters of possibilistic rules from data, by min-max equation systems (docs/theory.md 12.9).

For each sample and each cell of an output, the parameters x must satisfy min over columns of max(entry, x) =
degree, where an entry is a degree of a premise or 1. This is a Sugeno integral by a 1-minitive capacity,
so `fit_capacity(..., minitive=1)` finds the parameters with the smallest largest error, the Chebyshev
distance of the system. Its certificate shows that no parameters are better.

Reference: Baaj and Marquis [BM25].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from sugenet.capacity import UNIT
from sugenet.capacity.arguments import exact_number, show_number
from sugenet.checker import check
from sugenet.checker.form import exact
from sugenet.errors import CapacityError, CertificateError, QuestionError
from sugenet.fit.capacities.answers import CapacityFit
from sugenet.fit.capacities.fitting import fit_capacity
from sugenet.fit.capacities.ratings import Ratings
from sugenet.logic import RuleBase
from sugenet.logic.degrees import by_value
from sugenet.reprs import Sentences

__all__ = ["RuleFit", "fit_rules", "rule_equations"]

_ONE = Fraction(1)


def rule_equations(
    base: RuleBase,
    output: str,
    samples: Sequence[Mapping[str, Any]],
    truths: Sequence[Mapping[str, Any]],
) -> Ratings:
    """Return the min-max equation system for the parameters of the rules of an output.

    Parameters
    ----------
    base
        The rules. Earlier outputs are inferred with their parameters.
    output
        The output.
    samples
        The degrees of all inputs, one mapping per sample, as `RuleBase.infer` takes them.
    truths
        For each sample the value of the output, or the degrees of its values.

    Returns
    -------
    Ratings
        A row per sample and cell, with the criteria s1, r1, s2, r2, ... and the degree that the cell should
        have. The last criterion, *always*, is 1 in every row: its parameter is 0 and changes nothing.

    Examples
    --------
    >>> base = RuleBase.of({"a": ["no", "yes"], "b": ["no", "yes"]}, ["if a = yes then b = yes"])
    >>> print(rule_equations(base, "b", [{"a": {"no": 0.25, "yes": 1}}], [{"b": "yes"}]))
    2 samples on 3 criteria (s1, r1, always), scale [0, 1]
    """
    _see_pairs(samples, truths)
    return _system(base, output, [row for rows in _rows(base, output, samples, truths) for row in rows])


def _rows(
    base: RuleBase, output: str, samples: Sequence[Mapping[str, Any]], truths: Sequence[Mapping[str, Any]]
) -> list[list[tuple[Fraction, ...]]]:
    """Return the equations of each sample: for each cell the entries of the parameters, and the degree."""
    cells = base.cells(output)
    is_open = [[entry != 1 for entry in row] for row in _signs(base, output)]
    systems = []
    for k, (vector, truth) in enumerate(zip(base.vectors(output, samples), truths, strict=True)):
        degrees = _wanted(base, output, truth, k)
        rows = [
            (
                *(entry if counts else _ONE for entry, counts in zip(vector, open_columns, strict=True)),
                max(degrees[value] for value in cell),
            )
            for open_columns, cell in zip(is_open, cells, strict=True)
        ]
        systems.append(list(dict.fromkeys(rows)))
    return systems


def _system(base: RuleBase, output: str, rows: Sequence[tuple[Fraction, ...]]) -> Ratings:
    """Return equations, each once, with the criteria that `rule_equations` names."""
    table = np.array([(*row[:-1], _ONE, row[-1]) for row in dict.fromkeys(rows)], dtype=object)
    names = [f"{name}{number}" for number in range(1, len(base.rules_of(output)) + 1) for name in "sr"]
    return Ratings(table[:, :-1], table[:, -1], UNIT, [*names, "always"])


def _can_be_met(rows: Sequence[tuple[Fraction, ...]], error: Fraction) -> bool:
    """Return whether parameters meet these equations within an error: if so, the least ones that are not too
    small do.
    """
    unit = lcm(error.denominator, *(number.denominator for row in rows for number in row))
    *columns, wanted = zip(*([int(number * unit) for number in row] for row in rows), strict=True)
    margin = int(error * unit)
    solution = [
        max((b - margin for entry, b in zip(column, wanted, strict=True) if entry < b - margin), default=0)
        for column in columns
    ]
    lowest = [min(map(max, row, solution)) for row in zip(*columns, strict=True)]
    return all(value <= b + margin for value, b in zip(lowest, wanted, strict=True))


def _see_pairs(samples: Sequence[Any], truths: Sequence[Any]) -> None:
    if not samples:
        raise CapacityError("there are no samples. Give at least one.")
    strange = [truth for truth in truths if not isinstance(truth, Mapping)]
    if strange:
        raise QuestionError(f"a truth is a {type(strange[0]).__name__}. Give values or degrees by output.")
    if len(samples) != len(truths):
        raise CapacityError(f"there are {len(samples)} samples and {len(truths)} truths. Give one for each.")


def _signs(base: RuleBase, output: str) -> list[list[Fraction]]:
    """Return the matrix with parameters of 0: an entry is 1 where the column does not count."""
    zeros = [(0, 0)] * len(base.rules_of(output))
    return base.with_parameters(output, zeros).matrix(output)


def _wanted(base: RuleBase, output: str, truth: Mapping[str, Any], k: int) -> dict[str, Fraction]:
    values = base.variables[output]
    if output not in truth:
        raise QuestionError(f"truth {k} says nothing about {output}.")
    wanted = truth[output] if isinstance(truth[output], Mapping) else {truth[output]: 1}
    degrees = by_value(wanted, values, f"truth {k}: {output}", may_lack=True)
    if not 0 <= min(degrees) <= max(degrees) <= 1:
        raise QuestionError(f"truth {k}: the degrees of {output} must be from 0 to 1.")
    return dict(zip(values, degrees, strict=True))


@dataclass(frozen=True, eq=False)
class RuleFit(Sentences):
    """Rules with the parameters that were learned.

    `base` has the parameters. For each output that was learned, `fits` has the fit of its equations with
    its certificate, and `dropped` the samples that were left out, by index.
    """

    base: RuleBase
    fits: Mapping[str, CapacityFit]
    dropped: Mapping[str, tuple[int, ...]]

    def check(self, samples: Sequence[Mapping[str, Any]], truths: Sequence[Mapping[str, Any]]) -> str:
        """Check the certificate of every output, and that the rules have the parameters that it is about.

        Parameters
        ----------
        samples, truths
            As for `fit_rules`. The equations are made again from them.

        Returns
        -------
        str
            A sentence per output.

        Raises
        ------
        CertificateError
            If a certificate does not hold, or the parameters of a rule are not those of its capacity.
        """
        _see_pairs(samples, truths)
        lines = []
        for output, fit in self.fits.items():
            kept = [k for k in range(len(samples)) if k not in self.dropped[output]]
            system = rule_equations(self.base, output, [samples[k] for k in kept], [truths[k] for k in kept])
            check(fit.certificate, system)
            data, names = fit.certificate["proof"]["capacity"], system.criteria.names
            # a focal set {j} of the conjugate is worth 1 - c_j, and c_j is the parameter in column j
            worth = {indices[0]: 1 - exact(share) for indices, share in data}
            stated = [p for rule in self.base.rules_of(output) for p in (rule.s, rule.r)]
            for k, value in enumerate(stated):
                certified = worth.get(k, Fraction(1))
                if value != certified:
                    raise CertificateError(
                        f"{output}: {names[k]} is {show_number(value)}, "
                        f"but {show_number(certified)} in the certificate."
                    )
            lines.append(
                f"{output}: no parameters err by less than {show_number(exact(fit.certificate['error']))} in "
                f"{len(system):,} equations, and these err by no more"
            )
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = []
        for output, fit in self.fits.items():
            left = len(self.dropped[output])
            without = f", without {left} samples" if left else ""
            best = (
                f"no parameters err by less than {show_number(Fraction(fit.error))}, and these err by no more"
            )
            told = "these parameters meet them exactly" if not fit.error else best
            lines.append(f"{output}: {len(fit.ratings):,} equations{without}: {told}.")
        return "\n".join(lines)


def fit_rules(
    base: RuleBase,
    samples: Sequence[Mapping[str, Any]],
    truths: Sequence[Mapping[str, Any]],
    tolerance: Any = None,
) -> RuleFit:
    """Learn the parameters of possibilistic rules, one output after the other.

    Reference: Baaj and Marquis [BM25].

    Parameters
    ----------
    base
        The rules. Their own parameters are not used, except for outputs without a truth.
    samples
        The degrees of all inputs, one mapping per sample.
    truths
        For each sample the values of outputs by name, or the degrees of their values. The rules of an
        output that no truth names keep their parameters.
    tolerance
        Leave out samples whose own equations cannot be met within this error (default: use all samples).

    Returns
    -------
    RuleFit
        The rules with the least parameters of the smallest largest error, and a certificate per output.

    Examples
    --------
    >>> base = RuleBase.of({"a": ["no", "yes"], "b": ["no", "yes"]}, ["if a = yes then b = yes"])
    >>> samples = [{"a": {"no": 0.25, "yes": 1}}, {"a": {"no": 1, "yes": 0}}]
    >>> truths = [{"b": {"no": 0.5, "yes": 1}}, {"b": {"no": 1, "yes": 0.25}}]
    >>> learned = fit_rules(base, samples, truths)
    >>> print(learned)
    b: 3 equations: these parameters meet them exactly.
    >>> print(*learned.base.rules)
    if a = yes then b = yes (s = 0.25, r = 0.5)
    >>> print(learned.check(samples, truths))
    b: no parameters err by less than 0 in 3 equations, and these err by no more
    """
    if not isinstance(base, RuleBase):
        raise QuestionError(f"{str(base)[:60]!r} is not a rule base. Make one with RuleBase.of.")
    samples, truths = list(samples or ()), list(truths or ())
    _see_pairs(samples, truths)
    limit = None if tolerance is None else Fraction(exact_number(tolerance, "tolerance"))
    known = {name for truth in truths for name in truth}
    strange = sorted(known - set(base.outputs))
    if strange or not known:
        told = f"{strange[0]!r} is not an output" if strange else "no output is named"
        raise QuestionError(f"truths: {told}. The outputs are {', '.join(base.outputs)}.")
    fits, dropped = {}, {}
    for output in base.outputs:
        if output not in known:
            continue
        kept, rows = list(range(len(samples))), _rows(base, output, samples, truths)
        if limit is not None:
            kept = [k for k in kept if _can_be_met(rows[k], limit)]
            if not kept:
                raise CapacityError(
                    f"no sample meets the equations of {output} within {tolerance}. Raise the tolerance."
                )
        fit = fit_capacity(_system(base, output, [row for k in kept for row in rows[k]]), minitive=1)
        fits[output] = fit
        dropped[output] = tuple(sorted(set(range(len(samples))) - set(kept)))
        worth = [
            fit.capacity(fit.ratings.criteria.names[:k] + fit.ratings.criteria.names[k + 1 :])
            for k in range(len(fit.ratings.criteria) - 1)
        ]
        base = base.with_parameters(output, list(zip(worth[::2], worth[1::2], strict=True)))
    return RuleFit(base, fits, dropped)
