"""Certificates about several readings as JSON, with proofs that no choice of classes has a value.

A claim has the checker's form, a small network over the classes of the readings. The CDCL search proves it,
so the checker follows clauses instead of searching.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import prod
from re import escape, finditer, fullmatch
from typing import Any

import numpy as np

from sugenet.checker.accelerate.thresholds import system_of
from sugenet.checker.composed_form import CompositeClaim
from sugenet.checker.composites import StatementComposite, Wish, composite_of
from sugenet.checker.form import exact
from sugenet.checker.limit import Limit
from sugenet.checker.problem import IntegerProblem
from sugenet.checker.reading import Sizes, read
from sugenet.engines.hard.learn.solver import Core, Found, Solver
from sugenet.errors import CertificateError, RuleSyntaxError, SoundnessError
from sugenet.logic.addition import Sum
from sugenet.logic.composed import Composed, Wanted
from sugenet.logic.formulas import Every, Listed, LogicFormula, formula_of
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Gap, Reading, exact_gap, readings_of
from sugenet.logic.stated import Statement
from sugenet.logic.sudoku import Sudoku
from sugenet.nn import Network
from sugenet.problem.boxes import plain
from sugenet.problem.cascade import Cascade, FeatureSteps, Thresholds
from sugenet.problem.clock import Clock
from sugenet.reason.envelope import asked_of, composed_envelope, domain_data
from sugenet.reason.questions import raw_of

__all__ = [
    "PartOf",
    "certificate_of",
    "composite_in",
    "lemma_of",
    "networks_of",
    "proof_that_none",
    "sample_of",
]

PartOf = tuple[int, dict[str, Any]]
"""The position of a reading, and a certificate about it."""


def sample_of(reading: Reading) -> list[Any]:
    """Return the raw values of a reading's sample."""
    assert reading.network is not None
    return [plain(value) for value in reading.network.encoder.values(reading.sample)]


def networks_of(composed: Composed) -> list[Network]:
    """Return the networks that read a composite, each once, with all their classes."""
    networks: dict[str, Network] = {}
    for reading in composed.readings:
        network = reading.base or reading.network
        if network is not None:
            networks.setdefault(network.fingerprint, network)
    return list(networks.values())


def certificate_of(
    composed: Composed, question: Mapping[str, Any], answer: str, parts: Sequence[PartOf] = (), **more: Any
) -> dict[str, Any]:
    """Return a certificate about a composite, composed of certificates of its parts."""
    named = [network.fingerprint for network in networks_of(composed)]
    return composed_envelope(
        named,
        readings=[_reading_data(reading, named) for reading in composed.readings],
        whole=composed.composite_data(),
        question=dict(question),
        answer=answer,
        **more,
        parts=[{"reading": index, "certificate": certificate} for index, certificate in parts],
    )


def _reading_data(reading: Reading, named: Sequence[str]) -> dict[str, Any]:
    if reading.network is None:
        gaps = [str(gap) for gap in reading.gaps]
        return {"kind": "given", "name": reading.name, "values": list(reading.values), "gaps": gaps}
    base = reading.base or reading.network
    some = None if reading.base is None else [base.classes.index(name) for name in reading.values]
    return {
        "name": reading.name,
        "network": named.index(base.fingerprint),
        "classes": some,
        "sample": sample_of(reading),
        **domain_data(reading.network),
    }


# -- and back ------------------------------------------------------------------------------------------------


def composite_in(certificate: Mapping[str, Any], networks: Sequence[Network], text: str | None) -> Composed:
    """Return the composite of a certificate; `text` is the text of a statement."""
    known = {network.fingerprint: network for network in networks}
    readings = [_reading_in(data, certificate["networks"], known) for data in certificate["readings"]]
    data = certificate["whole"]
    match data["kind"]:
        case "sum":
            return Sum(tuple(readings[: data["left"]]), tuple(readings[data["left"] :]))
        case "sudoku":
            return Sudoku(tuple(readings))
        case "stated":
            formula = formula_of(data["formula"])
            if not isinstance(text, str) or not _says(text, formula, readings):
                raise CertificateError("the text of the statement does not say what its formula says.")
            return Statement(tuple(readings), formula, text)
    raise CertificateError(f"there is no whole of kind {str(data['kind'])[:40]!r}.")


def _reading_in(data: Mapping[str, Any], named: Sequence[str], known: Mapping[str, Network]) -> Reading:
    if "gaps" in data:
        gaps = [exact_gap(exact(gap)) for gap in data["gaps"]]
        return Reading.given(data["name"], dict(zip(data["values"], gaps, strict=True)))
    fingerprint = named[data["network"]]
    if fingerprint not in known:
        raise CertificateError(
            f"the answer is about the network {str(fingerprint)[:12]}, which is not given."
        )
    network = asked_of(data, known[fingerprint])
    sample = raw_of(network, data["sample"])
    return readings_of(network, [sample], [data["name"]], data["classes"])[0]


def _says(text: str, formula: LogicFormula, readings: Sequence[Reading]) -> bool:
    """Return whether a text is that of a formula; rows and Python functions only have a name."""
    with suppress(RuleSyntaxError):
        return parse_formula(text, readings) == formula
    if isinstance(formula, Listed):
        return formula.on and _is_called(text, formula, readings)
    if not isinstance(formula, Every) or len(formula.parts) != 2:
        return False
    cuts = [hit.start() for hit in finditer(r"\) and \(", text)]  # joined as in `Statement.also`
    return (
        text.startswith("(")
        and text.endswith(")")
        and any(
            _says(text[1:at], formula.parts[0], readings)
            and _says(text[at + len(") and (") : -1], formula.parts[1], readings)
            for at in cuts
        )
    )


def _is_called(text: str, formula: Listed, readings: Sequence[Reading]) -> bool:
    """Return whether a text is a name that rows or a Python function get."""
    names = ", ".join(readings[index].name for index in formula.places)
    called = rf"(the predicate|a predicate|[^\W\d]\w*)\({escape(names)}\)"
    return text == f"{names} are one of {len(formula.rows)} rows" or fullmatch(called, text) is not None


_FEW = 1000
"""Number of choices that the checker enumerates, or the number of parts of a formula; more require
clauses.
"""


def proof_that_none(
    composed: Composed,
    wanted: Wanted,
    costs: Sequence[Mapping[int, Gap]],
    below: Gap | None = None,
    clock: Clock | None = None,
) -> dict[str, Any] | None:
    """Prove that no choice has a wanted value at a sum of costs below a bound.

    Parameters
    ----------
    composed, wanted
        The composite and the value.
    costs
        For each reading, the possible classes by index, with their costs.
    below
        The bound (default: none).
    clock
        The time limit (default: none).

    Returns
    -------
    dict or None
        The proof as JSON; None if no choice is cheap enough, so that nothing is left to prove.

    Raises
    ------
    TimeoutError
        If the time runs out.
    """
    min_total = sum(min(row.values()) for row in costs) if all(costs) else None
    if min_total is None or (below is not None and min_total >= below):
        return None
    parsed = read(CompositeClaim, composed.composite_data(), Sizes(), "the composite")
    judged = composite_of(parsed, [reading.values for reading in composed.readings])
    if not isinstance(judged, StatementComposite):
        return {"kind": "enumerate"}
    rows = [{k: Fraction(cost) for k, cost in row.items()} for row in costs]
    wish = Wish(wanted.value, wanted.other, None if below is None else Fraction(below))
    problem = judged.problem(rows, wish, Limit(None, None))
    if prod(len(costs[index]) for index in judged.places) <= max(_FEW, sum(map(len, problem.layers))):
        return {"kind": "enumerate"}
    return lemma_of(problem, clock or Clock())


def lemma_of(problem: IntegerProblem, clock: Clock) -> dict[str, Any]:
    """Return clauses that prove that a problem has no violation, as JSON; `TimeoutError` if the time runs
    out.
    """
    solver = Solver(_cascade(problem), has_cuts=False)  # each would be as long as all costs, and prove little
    match solver.solve(clock):
        case Core():
            return solver.proof()
        case Found():
            raise SoundnessError("there are classes that the answer excludes. Please report this question.")
    raise TimeoutError


def _cascade(problem: IntegerProblem) -> Cascade:
    """Return a problem of the checker in the form of the search."""
    system = system_of(problem)
    chains = []
    for number, steps in enumerate(system.chains):
        options: tuple[Any, ...] = (None, *steps)
        chains.append(FeatureSteps(number, steps[0], options))
    budget = None if system.budget is None else (np.array(system.budget[0], object), system.budget[1])
    layers = tuple(Thresholds(weights, bounds) for weights, bounds in system.layers)
    return Cascade(tuple(chains), budget, layers, system.cases)
