"""Checking a proof by propagation: every clause of it must follow from the thresholds and the clauses
before it, the last one being empty.

To be ensured: no clause is taken in that does not follow (`propagation`), facts about
the first layer hold for every sum that the budget allows, and the end is the empty clause. Nothing here is
shared with the solver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

import numpy as np

from sugenet.checker.accelerate.propagation import Flat, Propagation
from sugenet.checker.accelerate.thresholds import ThresholdSystem, implications_of, reach
from sugenet.checker.form import Lemma
from sugenet.checker.limit import Limit
from sugenet.checker.unpack import unpacked
from sugenet.errors import CertificateError

__all__ = ["check_rup"]

_BLOCK = 1 << 12  # clauses that are read at a time
_WORD = 20  # characters of a literal
_NOT_NORMAL = re.compile(rb"[ \n](?:-?0[0-9]|-0|-?[ \n])|[0-9]-|--")


def check_rup(
    proof: Lemma,
    thresholds: ThresholdSystem,
    assumed: Sequence[int] = (),
    limit: Limit | None = None,
) -> str:
    """Check that thresholds have no solution (in which assumed literals hold); say how many clauses follow.

    Parameters
    ----------
    proof
        ``facts``: first-layer rows fixed throughout, as signed variable numbers from 1; ``cuts``:
        ``(literal, q, p)``, q times the row of a literal plus p times the budget; ``clauses``: tuples of
        signed variable numbers, or those as text (zlib, base64) with a 0 after each.
    thresholds
        What it is about.
    assumed
        Signed variable numbers from 1.
    limit
        Of time and memory.

    Raises
    ------
    CertificateError
        Naming the first clause, fact or cut that does not follow.
    """
    limit = limit or Limit(None, None)
    starts = thresholds.starts
    total, neurons = starts[-1], starts[2] - starts[1]
    if proof.variables != total:
        raise CertificateError(f"the proof is not a propagation proof over {total} variables.")
    if [step for chain in thresholds.chains for step in chain] != list(range(starts[1])):
        raise CertificateError("the chains must hold the steps in order.")
    if len(proof.facts) > neurons:
        raise CertificateError(f"there are {len(proof.facts):,} facts about {neurons:,} neurons.")
    facts = [_literal(fact, total) for fact in proof.facts]
    _check_facts(facts, thresholds, limit)
    premises = [[starts[-2] + c + 1 for c in range(len(thresholds.cases))]]
    premises += [
        [-(starts[-2] + c + 1), starts[-3] + row + 1]
        for c, case in enumerate(thresholds.cases)
        for row in case
    ]
    premises += [[-(b + 1), a + 1] for chain in thresholds.chains for a, b in pairwise(chain)]
    premises += [[literal] for literal in (*facts, *(_literal(literal, total) for literal in assumed))]
    judge = Propagation(implications_of(thresholds, proof.cuts, limit), starts, limit)
    judge.take(_flat(premises))
    count, last = 0, 1
    for block in _clauses(proof, total, limit):
        bad = judge.first_that_fails(block)
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


def _flat(clauses: Sequence[Sequence[int]]) -> Flat:
    sizes = np.fromiter(map(len, clauses), np.int64, len(clauses))
    return np.fromiter((x for clause in clauses for x in clause), np.int32, int(sizes.sum())), sizes


def _literal(value: int, total: int) -> int:
    if not 1 <= abs(value) <= total:
        raise CertificateError(f"{value!r} is not a literal: signed variable numbers go from 1 to {total}.")
    return value


def _clauses(proof: Lemma, total: int, limit: Limit) -> Iterator[Flat]:
    """The clauses of a proof in blocks."""
    clauses = proof.clauses
    if isinstance(clauses, tuple) != (proof.encoding is None):
        raise CertificateError("clauses are lists, or text with an encoding.")
    if isinstance(clauses, tuple):
        listed = [clause for clause in clauses if isinstance(clause, tuple)]
        if len(listed) < len(clauses):
            raise CertificateError("sums have no compiled form.")
        for start in range(0, len(listed), _BLOCK):
            yield _flat([[_literal(x, total) for x in clause] for clause in listed[start : start + _BLOCK]])
        return
    tail, rest = b"", np.zeros(0, np.int64)  # what is left of a word, and of a clause
    for piece in chain(unpacked(clauses, limit), [b"\n"]):
        text = tail + piece
        if text.translate(None, b"0123456789- \n"):
            raise CertificateError("the proof is damaged: clauses are signed numbers.")
        end = max(text.rfind(b" "), text.rfind(b"\n")) + 1
        text, tail = text[:end], text[end:]
        if len(tail) > _WORD:
            raise CertificateError("the proof is damaged: a number of a clause is too long.")
        if _NOT_NORMAL.search(b" " + text):
            raise CertificateError("the proof is damaged: a number of a clause is not in its shortest form.")
        read = list(map(int, text.split()))
        if read and (min(read) < -total or max(read) > total):  # before any cast
            _literal(min(read) if min(read) < -total else max(read), total)
        numbers = np.concatenate([rest, np.array(read, np.int64)])
        ends = np.flatnonzero(numbers == 0)
        done, rest = (
            (numbers[: ends[-1] + 1], numbers[ends[-1] + 1 :]) if len(ends) else (numbers[:0], numbers)
        )
        sizes = np.diff(ends, prepend=-1) - 1
        if max(int(sizes.max(initial=0)), len(rest)) > total:
            raise CertificateError("a clause has more literals than there are variables.")
        if len(sizes):
            yield done[done != 0].astype(np.int32), sizes
    if len(rest):
        raise CertificateError("the last clause does not end.")


def _check_facts(facts: Iterable[int], thresholds: ThresholdSystem, limit: Limit) -> None:
    """A fact must hold for all sums of a first-layer row between the smallest and the largest that
    the budget allows.
    """
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
                f"the fact {fact} does not follow: it is no first-layer neuron that is fixed throughout."
            )
