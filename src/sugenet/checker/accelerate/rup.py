"""Check a proof by propagation: every clause must follow from the thresholds and the clauses before it, and
the last one is empty.

To be ensured: no clause is added that does not follow (`propagation`). Facts about the first layer hold for
every sum that the budget allows. The last clause is empty. No code is shared with the solver.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sugenet.checker.accelerate.propagation import Flat, Propagation
from sugenet.checker.accelerate.thresholds import ThresholdSystem, implications_of, reach
from sugenet.checker.form import Lemma
from sugenet.checker.limit import Limit
from sugenet.checker.unpack import steps_of
from sugenet.errors import CertificateError, refuse

__all__ = ["check_rup"]

_BLOCK = 1 << 18  # literals that are checked at a time


def check_rup(
    proof: Lemma,
    thresholds: ThresholdSystem,
    assumed: Sequence[int] = (),
    limit: Limit | None = None,
) -> str:
    """Check that thresholds have no solution in which assumed literals hold; return the number of clauses.

    Parameters
    ----------
    proof
        ``facts``: first-layer rows that are constant, as signed variable numbers from 1. ``cuts``:
        ``(literal, q, p)``, q times the row of a literal plus p times the budget. ``clauses``: tuples of
        signed variable numbers, or the same as text (zlib, base64) with a 0 after each clause.
    thresholds
        The thresholds that it is about.
    assumed
        Signed variable numbers from 1.
    limit
        Limit of time and memory.

    Raises
    ------
    CertificateError
        If a clause, fact or cut does not follow; the message names the first one.
    """
    limit = limit or Limit(None, None)
    starts = thresholds.starts
    total, neurons, facts = starts[-1], starts[2] - starts[1], set(proof.facts)
    refuse(
        CertificateError,
        (proof.variables != total, f"the proof is not a propagation proof over {total} variables."),
        (
            [step for chain in thresholds.chains for step in chain] != list(range(starts[1])),
            "the chains must hold the steps in order.",
        ),
        (len(facts) > neurons, f"there are {len(facts):,} facts about {neurons:,} neurons."),
    )
    _flat([proof.facts, assumed], total)
    _check_facts(proof.facts, thresholds, limit)
    premises = [[starts[-2] + c + 1 for c in range(len(thresholds.cases))]]
    premises += [
        [-(starts[-2] + c + 1), starts[-3] + row + 1]
        for c, case in enumerate(thresholds.cases)
        for row in case
    ]
    premises += [[-(b + 1), a + 1] for chain in thresholds.chains for a, b in pairwise(chain)]
    premises += [[literal] for literal in (*proof.facts, *assumed)]
    propagation = Propagation(implications_of(thresholds, proof.cuts, limit), starts, limit)
    propagation.take(_flat(premises, total))
    count, last = 0, 1
    for block in _clauses(proof, total, limit):
        bad = propagation.first_that_fails(block)
        if bad is not None:
            clause = np.split(block[0], np.cumsum(block[1]))[bad].tolist()
            raise CertificateError(
                f"clause {count + bad + 1}, {str(clause)[:80] if clause else 'the empty one'}, "
                f"does not follow."
            )
        count, last = count + len(block[1]), int(block[1][-1])
    if not count or last:
        raise CertificateError("the proof does not end with the empty clause.")
    return f"{count} clauses follow one after the other, the last one empty"


def _flat(clauses: Sequence[Sequence[int]], total: int) -> Flat:
    """Return clauses one after another, after checking that their literals exist."""
    literals = [x for clause in clauses for x in clause]
    if literals and (min(literals) < -total or max(literals) > total or 0 in literals):  # before any cast
        bad = next(x for x in literals if not 1 <= abs(x) <= total)
        raise CertificateError(f"{bad!r} is not a literal: signed variable numbers go from 1 to {total}.")
    return np.array(literals, np.int32), np.fromiter(map(len, clauses), np.int64, len(clauses))


def _clauses(proof: Lemma, total: int, limit: Limit) -> Iterator[Flat]:
    """Yield the clauses of a proof in blocks."""
    block, size = list[Sequence[int]](), 0
    for step in steps_of(proof.clauses, proof.encoding, total, limit):
        if isinstance(step, str):
            raise CertificateError("sums have no compiled form.")
        block.append(tuple(dict.fromkeys(step)))  # two equal literals would wait for each other
        size += 1 + len(step)
        if size >= _BLOCK:
            yield _flat(block, total)
            block, size = [], 0
    if block:
        yield _flat(block, total)


def _check_facts(facts: Iterable[int], thresholds: ThresholdSystem, limit: Limit) -> None:
    """Check that each fact holds for all sums of a first-layer row that the budget allows."""
    rows, steps = thresholds.layers[0][0].shape
    limit.fits(8 * rows * (4 * steps + 8 * len(thresholds.chains)), "the sums of all features")
    low, high = reach(thresholds)
    bounds = thresholds.layers[0][1]
    for fact in facts:
        row = abs(fact) - 1 - thresholds.starts[1]
        if not 0 <= row < len(bounds) or not (
            low[row] >= bounds[row] if fact > 0 else high[row] < bounds[row]
        ):
            raise CertificateError(
                f"the fact {fact} does not follow: this first-layer neuron is not constant."
            )
