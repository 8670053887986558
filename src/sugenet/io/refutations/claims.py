"""The claim that a certificate refutes: the constraints of the question as the checker states them, and the
clauses that lead to a contradiction.

Only this file depends on the certificate format. `Lemmas` are those of the proof, over thresholds. A
`Resolution`, only over clauses, is found by a SAT solver, for any kind of proof.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from sugenet.checker.accelerate.integers import array_problem
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.accelerate.thresholds import ThresholdSystem, thresholds_of
from sugenet.checker.domain import within_domain
from sugenet.checker.form import (
    Certificate,
    Counted,
    Counterfactual,
    Lemma,
    NoCounterfactual,
    OpenCounterfactual,
    QueryAsked,
    Undecided,
    read_certificate,
)
from sugenet.checker.limit import Limit
from sugenet.checker.meaning import InputSet, cheaper
from sugenet.checker.setting import Asked, inputs_asked, parts_of, sample_of, setting_of
from sugenet.checker.unpack import steps_of
from sugenet.engines.hard.outside import solver_named
from sugenet.engines.hard.outside.cnf import Cnf
from sugenet.engines.hard.outside.pysat import refuted
from sugenet.errors import CertificateError, QuestionError, TooLargeError
from sugenet.nn import Network
from sugenet.problem.cascade import Cascade, FeatureSteps, Thresholds
from sugenet.problem.clock import Clock

__all__ = ["Clause", "Lemmas", "Resolution", "claims_of", "is_tautology"]

Clause: TypeAlias = tuple[int, ...]
"""Signed variable numbers from 1, each once."""


@dataclass(frozen=True, eq=False)
class Lemmas:
    """Thresholds, and clauses that follow from them one after another. The last clause is empty."""

    thresholds: ThresholdSystem
    facts: tuple[int, ...]
    """Rows of the first layer that the budget fixes, as signed variable numbers."""
    cuts: tuple[tuple[int, int, int], ...]
    """``(literal, q, p)``: q times the implication of a literal plus p times the budget."""
    steps: list[Clause | str]
    """Clauses, and sums in the notation of certificates."""


@dataclass(frozen=True, eq=False)
class Resolution:
    """Clauses, and lemmas that follow from them one after another and finally contradict them."""

    variables: int
    given: list[Clause]
    steps: list[Clause | int]
    """A lemma, or the index of a lemma (from 0) to forget."""


def claims_of(
    certificate: Any,
    network: Network,
    other: Network | None,
    kind: type[Lemmas | Resolution],
    clock: Clock | None = None,
) -> list[Lemmas | Resolution]:
    """Return one refutation for each part of the question. The clock limits the SAT solver.

    Raises
    ------
    CertificateError
        If the certificate is for another network or damaged.
    QuestionError
        If its proof is of another kind, or if it has none.
    TooLargeError
        If the question has too many clauses, or if the SAT solver needs more time.
    """
    if not isinstance(certificate, dict) or "network" not in certificate:
        raise QuestionError("only certificates about one network or two have proofs that can be exported.")
    form, limit = form_of(network), Limit(None, None)
    read = read_certificate(certificate, form)
    proof = None if isinstance(read, Counted) else read.proof
    parts = proof if isinstance(proof, tuple) else () if proof is None else (proof,)
    lawful, limits = within_domain(read.domain, form, limit)
    asked = Asked(read.question, form, lawful, limits, None if other is None else form_of(other))
    if proof is None:
        raise QuestionError(f"the certificate has no proof to export: its answer is {read.tag[1]!r}.")
    is_real = isinstance(read.question, QueryAsked) and network.passes_reals
    numbers = [] if is_real else parts_of(asked)
    if is_real or len(parts) != len(numbers):
        raise CertificateError("the proof does not fit the parts of the question, or is about real numbers.")
    inputs, claims = _inputs(read, asked), list[Lemmas | Resolution]()
    for number, part in zip(numbers, parts, strict=True):
        if kind is Lemmas and not isinstance(part, Lemma):
            raise QuestionError(
                f"a proof of kind {part.tag[1]!r} cannot be exported in this format. "
                "Ask again with the engine cdcl, or use the format 'lrat'."
            )
        thresholds = thresholds_of(array_problem(setting_of(asked, limit, number, inputs), limit))
        if kind is Lemmas and isinstance(part, Lemma):
            steps = _steps(part, thresholds.starts[-1], limit)
            claims.append(Lemmas(thresholds, part.facts, part.cuts, steps))
        else:
            claims.append(_resolution(thresholds, clock or Clock()))
    return claims


def _resolution(thresholds: ThresholdSystem, clock: Clock) -> Resolution:
    """Return the refutation of thresholds in clauses that a SAT solver finds."""
    cascade = Cascade(
        tuple(
            FeatureSteps(number, steps[0] if steps else 0, (None,) * (len(steps) + 1))
            for number, steps in enumerate(thresholds.chains)
        ),
        thresholds.budget,  # type: ignore[arg-type]  # a tuple of prices for an array
        tuple(Thresholds(weights, bounds) for weights, bounds in thresholds.layers),
        thresholds.cases,
    )
    solver_named("pysat")
    cnf = Cnf.of_cascade(cascade)
    answer, steps = refuted(cnf, clock)
    if answer:
        raise CertificateError("the clauses of the question have a solution, so the certificate is wrong.")
    if answer is None:
        raise TooLargeError(
            f"the SAT solver did not refute {len(cnf.clauses):,} clauses in {clock.time_limit:g} s. "
            "Allow more: time_limit=, or use the format 'veripb'."
        )
    return Resolution(cnf.variables, list(cnf.clauses), steps)


def _inputs(certificate: Certificate, asked: Asked) -> InputSet | None:
    """Return the inputs of the proof if these are not those of the question."""
    if isinstance(certificate, Undecided) and certificate.proved_up_to is not None:
        return replace(inputs_asked(asked), budget=Fraction(certificate.proved_up_to))
    if isinstance(certificate, Counterfactual | OpenCounterfactual | NoCounterfactual):
        strict = not isinstance(certificate, NoCounterfactual)
        bound = certificate.question.limit if isinstance(certificate, NoCounterfactual) else certificate.lower
        exact = None if bound is None else Fraction(bound)
        sample = sample_of(asked)
        return cheaper(
            asked.lawful, asked.network, sample, certificate.question, asked.limits, exact, strict=strict
        )
    return None


def _steps(proof: Lemma, total: int, limit: Limit) -> list[Clause | str]:
    """Return the clauses and sums of a lemma proof."""
    steps = list(steps_of(proof.clauses, proof.encoding, total, limit))
    if not steps or steps[-1] != ():
        raise CertificateError("the proof does not end with the empty clause.")
    return [step if isinstance(step, str) else _in_range(tuple(dict.fromkeys(step)), total) for step in steps]


def is_tautology(clause: Sequence[int]) -> bool:
    """Return whether a variable occurs with both signs."""
    return len({abs(literal) for literal in clause}) < len(clause)


def _in_range(clause: Clause, total: int) -> Clause:
    if any(not 1 <= abs(literal) <= total for literal in clause):
        raise CertificateError(f"the clause {str(clause)[:60]} has a literal beyond the {total} variables.")
    return clause
