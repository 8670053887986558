"""Write a question for other solvers: OPB, WBO, DIMACS CNF, SMT-LIB 2 and MPS, each with a map of its
variables.

The files ask for a violation. A solution is a change that reaches the goal. If there is no solution, no
such change exists. Next to each file, ``NAME.map.json`` explains the variables and how to turn a solution
back into a raw sample.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from sugenet.engines.hard.outside.cnf import CLAUSES, Cnf
from sugenet.errors import QuestionError, TooLargeError, refuse
from sugenet.files import check_writable, write_text
from sugenet.problem.formula import Formula, Linear, Objective
from sugenet.problem.problem import Problem

__all__ = ["FORMATS", "export", "sample_of", "write_cnf", "write_mps", "write_opb", "write_smt2", "write_wbo"]

_FLOAT = 1 << 53  # floats represent every integer up to this one


def export(
    problem: Problem,
    path: str | Path,
    format: str | None = None,
    *,
    objective: bool | None = None,
    folded: bool | None = None,
    limit: int | None = None,
) -> Path:
    """Write a problem to a file and return the path of its map.

    Parameters
    ----------
    problem
        The question.
    path
        The file to write. ``PATH.map.json`` is written next to it.
    format
        ``opb``, ``wbo``, ``cnf``, ``smt2`` or ``mps`` (default: the ending of `path`).
    objective, folded
        As in `write_opb`, if the format supports them.
    limit
        Largest number of clauses of a ``cnf`` file, as in `write_cnf`.
    """
    name = (Path(path).suffix.removeprefix(".") if format is None else format).lower()
    refuse(
        QuestionError,
        (
            name not in FORMATS,
            f"there is no format {name!r} to write {str(path)!r} in. Choose one of {', '.join(FORMATS)}.",
        ),
    )
    write = FORMATS[name]
    options = {"objective": objective, "folded": folded, "limit": limit}
    chosen = {option: value for option, value in options.items() if value is not None}
    idle = next((option for option in chosen if option not in signature(write).parameters), None)
    refuse(QuestionError, (idle is not None, f"{idle}= does not apply to {name} files. Leave it out."))
    return write(problem, path, **chosen)


def write_opb(problem: Problem, path: str | Path, *, objective: bool = False, folded: bool = True) -> Path:
    """Write pseudo-Boolean constraints, in the format of the competitions.

    Parameters
    ----------
    problem, path
        The question, and the file to write.
    objective
        Whether to ask for a cheapest change (smallest sum of the weights of the moves) rather than for any.
    folded
        Whether neurons that our bounds show to be constant become single literals. If not, the file does not
        depend on these bounds.
    """
    formula = Formula.of(problem, folded=folded)
    rows = list(formula.constraints())
    lines = [
        _counts(formula, rows),
        *_comments("* ", problem, formula.names, formula.objective if objective else None),
    ]
    if objective:
        weights, numbers, _ = Linear(formula.objective.coefficients, formula.objective.literals, 0).signed()
        lines.append(f"min: {_terms(weights, numbers) or '+0 x1 '};")
    lines += map(_opb_row, rows)
    return _save(
        path, "opb", lines, problem, formula.names, _opb_cost(formula.objective) if objective else None
    )


def write_wbo(problem: Problem, path: str | Path, *, folded: bool = True) -> Path:
    """Write pseudo-Boolean constraints with soft constraints.

    There is one soft constraint per feature, to leave it unchanged. Its weight is the cost of the change.
    """
    formula = Formula.of(problem, folded=folded)
    rows = list(formula.constraints())
    prices = formula.objective.coefficients
    soft = [Linear((1,), (-literal,), 1) for literal in formula.objective.literals]
    known = (
        f" #soft= {len(soft)} mincost= {min(prices, default=0)} maxcost= {max(prices, default=0)} "
        f"sumcost= {sum(prices)}"
    )
    lines = [
        _counts(formula, [*rows, *soft], known),
        *_comments("* ", problem, formula.names, formula.objective),
        "soft: ;",
    ]
    lines += map(_opb_row, rows)
    lines += [f"[{price}] {_opb_row(row)}" for price, row in zip(prices, soft, strict=True)]
    return _save(
        path, "wbo", lines, problem, formula.names, (formula.objective.offset, formula.objective.unit)
    )


def write_cnf(problem: Problem, path: str | Path, *, limit: int = CLAUSES) -> Path:
    """Write clauses in the DIMACS format, for small problems.

    More than `limit` clauses raise `TooLargeError`.
    """
    cnf = Cnf.of(problem, limit=limit)
    clauses = [clause for clause in cnf.clauses if clause] + [(1,), (-1,)] * (() in cnf.clauses)
    lines = [*_comments("c ", problem, cnf.names), f"p cnf {max(cnf.variables, 1)} {len(clauses)}"]
    lines += [" ".join(map(str, (*clause, 0))) for clause in clauses]
    return _save(path, "cnf", lines, problem, cnf.names)


def write_smt2(problem: Problem, path: str | Path, *, folded: bool = True) -> Path:
    """Write SMT-LIB 2: Boolean variables, and integer sums over them (QF_LIA)."""
    formula = Formula.of(problem, folded=folded)
    lines = [*_comments("; ", problem, formula.names), "(set-logic QF_LIA)"]
    lines += [f"(declare-const x{number} Bool)" for number in range(1, formula.variables + 1)]
    lines += [f"(assert {_smt_sum(row)})" for row in formula.sums]
    lines += [f"(assert (= x{gate.variable} {_smt_sum(gate.sum)}))" for gate in formula.gates]
    lines += [f"(assert {_smt_clause(clause)})" for clause in formula.clauses]
    return _save(path, "smt2", [*lines, "(check-sat)"], problem, formula.names)


def write_mps(problem: Problem, path: str | Path, *, objective: bool = False, folded: bool = True) -> Path:
    """Write a 0/1 program in MPS. The options are those of `write_opb`.

    Most programs that read MPS compute in floats, with tolerances. Treat their answers as hints. Numbers
    that a float cannot represent are refused.
    """
    formula = Formula.of(problem, folded=folded)
    rows = [_possible(row) for row in formula.constraints()]
    prices = (
        Linear(formula.objective.coefficients, formula.objective.literals, 0).signed()
        if objective
        else ((), (), 0)
    )
    largest = max((abs(value) for row in rows for value in (row.total, row.least)), default=0)
    refuse(
        TooLargeError,
        (
            max(largest, sum(map(abs, prices[0]))) > _FLOAT,
            "the weights are too finely divided for MPS, whose readers compute in floats. "
            "Use OPB or SMT-LIB.",
        ),
    )
    columns: list[list[tuple[str, int]]] = [[] for _ in range(max(formula.variables, 1))]
    for weight, variable in zip(prices[0], prices[1], strict=True):
        columns[variable - 1].append(("COST", weight))
    right = []
    for number, row in enumerate(rows, start=1):
        weights, variables, bound = row.signed()
        right.append(f"    RHS       c{number:<7}  {bound:>12}")
        for weight, variable in zip(weights, variables, strict=True):
            columns[variable - 1].append((f"c{number}", weight))
    lines = [
        *_comments("* ", problem, formula.names, formula.objective if objective else None),
        "NAME          SUGENET",
        "ROWS",
        " N  COST",
    ]
    lines += [f" G  c{number}" for number in range(1, len(rows) + 1)]
    lines += ["COLUMNS", "    MARKER                 'MARKER'                 'INTORG'"]
    for number, entries in enumerate(columns, start=1):
        lines += [f"    x{number:<7}  {row:<8}  {weight:>12}" for row, weight in entries or [("COST", 0)]]
    lines += ["    MARKER                 'MARKER'                 'INTEND'", "RHS", *right, "BOUNDS"]
    lines += [f" BV BOUND     x{number}" for number in range(1, len(columns) + 1)]
    return _save(
        path,
        "mps",
        [*lines, "ENDATA"],
        problem,
        formula.names,
        _opb_cost(formula.objective) if objective else None,
    )


def sample_of(problem: Problem, solution: Iterable[int]) -> tuple[Any, ...]:
    """Return the raw sample of a solution of an exported file, after checking it by the definition.

    Parameters
    ----------
    problem
        The question that was exported.
    solution
        Indices of the variables that are true. Negative indices, which solvers print for false variables, are
        ignored.

    Raises
    ------
    QuestionError
        If the sample is not a violation. Then the solution does not belong to this question.
    """
    true = {int(number) for number in solution}
    moves = problem.cascade.moves([step + 1 in true for step in range(problem.cascade.steps)])
    sample = problem.near.moved(moves)
    refuse(
        QuestionError,
        (
            not problem.near.admits(moves),
            f"the solution stands for {sample}, which is beyond the limit: "
            f"costs were rounded down to be written.",
        ),
    )
    refuse(
        QuestionError,
        (
            not problem.replays(moves),
            f"the solution stands for {sample}, which is not a violation. It does not answer this question.",
        ),
    )
    return sample


FORMATS: dict[str, Callable[..., Path]] = {
    "opb": write_opb,
    "wbo": write_wbo,
    "cnf": write_cnf,
    "smt2": write_smt2,
    "mps": write_mps,
}
"""The writer of each format, by file ending."""


# -- words ---------------------------------------------------------------------------------------------------


def _comments(
    mark: str, problem: Problem, names: Sequence[str], objective: Objective | None = None
) -> Iterator[str]:
    yield f"{mark}a violation of a sugenet question: network {problem.near.network.fingerprint}"
    if _is_rounded(problem):
        yield (
            f"{mark}costs are rounded down to 60 bits: a solution may cost a little more than the "
            f"limit, see the map"
        )
    if objective is not None:
        yield f"{mark}minimize what a change costs; see the map for its unit"
    for number, name in enumerate(names, start=1):
        yield f"{mark}x{number}: {' '.join(name.split())}"


def _save(
    path: str | Path,
    kind: str,
    lines: Iterable[str],
    problem: Problem,
    names: Sequence[str],
    cost: tuple[int, Fraction] | None = None,
) -> Path:
    side = Path(f"{path}.map.json")
    for target in (path, side):
        check_writable(target)
    near, encoder = problem.near, problem.near.network.encoder
    features = [
        {
            "feature": encoder.names[chain.feature],
            "variables": [step + 1 for step in chain.steps],
            "values": [
                _plain(near.sample[chain.feature] if option is None else option.value)
                for option in chain.options
            ],
        }
        for chain in problem.cascade.chains
    ]
    document = {
        "format": "sugenet variable map",
        "version": 1,
        "file": Path(path).name,
        "kind": kind,
        "network": near.network.fingerprint,
        "sample": [_plain(value) for value in near.sample],
        "reading": (
            "a feature takes the value whose place, from 0, is the number of its true variables; "
            "all other features stay"
        ),
        "costs are rounded down": _is_rounded(problem),
        "features": features,
        "variables": {f"x{number}": name for number, name in enumerate(names, start=1)},
    }
    if cost is not None:
        document["cost"] = {
            "reading": "unit * (offset + value of the solver)",
            "offset": cost[0],
            "unit": str(cost[1]),
        }
    write_text(side, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
    write_text(path, "\n".join(lines) + "\n")
    return side


def _is_rounded(problem: Problem) -> bool:
    return any(move.price != move.weight * problem.near.unit for move in problem.near.moves)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if is_dataclass(value) and not isinstance(value, type):  # the two raw values of a question about pairs
        return {part.name: _plain(getattr(value, part.name)) for part in fields(value)}
    return str(value) if isinstance(value, Fraction) else value


# -- sums ----------------------------------------------------------------------------------------------------


def _possible(row: Linear) -> Linear:
    """Return a row with at least one term, since no reader skips such a row."""
    return row if row.literals else Linear((1,), (1,), 2)


def _terms(weights: Sequence[int], variables: Sequence[int]) -> str:
    return "".join(f"{weight:+d} x{variable} " for weight, variable in zip(weights, variables, strict=True))


def _opb_row(row: Linear) -> str:
    weights, variables, bound = _possible(row).signed()
    return f"{_terms(weights, variables)}>= {bound} ;"


def _opb_cost(objective: Objective) -> tuple[int, Fraction]:
    """Return offset and unit for formats whose costs apply to variables, not to literals.

    ``p * ~x`` is ``p - p * x``.
    """
    negated = sum(c for c, v in zip(objective.coefficients, objective.literals, strict=True) if v < 0)
    return objective.offset + negated, objective.unit


def _counts(formula: Formula, rows: Sequence[Linear], more: str = "") -> str:
    sums = [row.total + abs(row.least) for row in rows] + [sum(formula.objective.coefficients)]
    return (
        f"* #variable= {max(formula.variables, 1)} #constraint= {len(rows)}{more} #equal= 0 "
        f"intsize= {max(sums).bit_length()}"
    )


def _smt_sum(row: Linear) -> str:
    terms = [
        f"(ite x{v} {c} 0)" if v > 0 else f"(ite x{-v} 0 {c})"
        for c, v in zip(row.coefficients, row.literals, strict=True)
    ]
    return f"(>= {terms[0]} {row.least})" if len(terms) == 1 else f"(>= (+ {' '.join(terms)}) {row.least})"


def _smt_clause(clause: Sequence[int]) -> str:
    parts = [f"x{v}" if v > 0 else f"(not x{-v})" for v in clause]
    if len(parts) < 2:
        return parts[0] if parts else "false"
    return f"(or {' '.join(parts)})"
