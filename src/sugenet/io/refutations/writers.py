"""Write proofs as files: OPB with VeriPB, CNF with DRAT or LRAT, CNF with counting constraints and XLRUP.

Each formula states that the question has a violation, and each proof contradicts it. The constraints and the
variable numbers are those of `sugenet.checker.accelerate.thresholds`. Clauses have further variables after
these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise
from math import gcd
from pathlib import Path
from re import fullmatch
from typing import Any, TypeAlias

from sugenet.checker.accelerate.thresholds import Implication, ThresholdSystem, implications_of
from sugenet.checker.limit import Limit
from sugenet.errors import CertificateError, QuestionError, TooLargeError
from sugenet.files import check_writable, write_text
from sugenet.io.refutations.claims import Clause, Lemmas, Resolution, claims_of, is_tautology
from sugenet.io.refutations.hints import Counting, HintedProof
from sugenet.nn import Network
from sugenet.problem.clock import Clock

__all__ = ["PROOFS", "export_proof"]

_REPEATED = 1 << 16
"""Largest number of literals of a counting constraint, each repeated according to its weight."""

_Lines: TypeAlias = Iterable[str]


def export_proof(
    certificate: dict[str, Any],
    network: Network,
    path: str | Path,
    proof: str,
    *,
    other: Network | None = None,
    time_limit: float = 600.0,
) -> tuple[Path, ...]:
    """Write the proof of a certificate for another checker: a formula and a refutation of it.

    The formula is satisfiable if and only if the question has a violation. Other checkers verify the
    refutation. `check` ensures that the formula expresses the question.

    Parameters
    ----------
    certificate
        JSON data of an answer.
    network, other
        The networks that it is about.
    path
        Names of the files without their endings. The files of a question with several parts are numbered.
    proof
        ``"veripb"`` (``.opb`` and ``.pbp``) or ``"xlrup"`` (``.xnf`` and ``.xlrup``) for certificates of the
        engine ``cdcl``; ``"drat"`` or ``"lrat"`` (``.cnf`` and ``.drat`` or ``.lrat``) for all certificates
        with a proof. For these, a SAT solver refutes the question again, in clauses.
    time_limit
        Seconds for the SAT solver (default: 600).

    Returns
    -------
    tuple of Path
        The files, each formula before its proof.

    Raises
    ------
    CertificateError
        If the certificate is damaged or for another network, or if its proof does not hold.
    QuestionError
        If the certificate has a proof of another kind.
    TooLargeError
        If weights are too large for ``"xlrup"``, which counts literals; if a question has too many clauses
        for ``"drat"`` and ``"lrat"``, or the SAT solver needs more time.

    Examples
    --------
    >>> import sugenet as sg, tempfile
    >>> from sugenet.io import export_proof
    >>> net, (X, _) = sg.models.digits(), sg.models.samples("digits")
    >>> answer = sg.verify(net, sg.Robust(X[3], sg.Hamming(2)), engine="cdcl")
    >>> files = export_proof(answer.certificate, net, f"{tempfile.mkdtemp()}/three", "veripb")
    >>> [file.name for file in files]
    ['three.opb', 'three.pbp']

    See Also
    --------
    sugenet.check, sugenet.io.export
    """
    if proof not in PROOFS:
        raise QuestionError(f"unknown proof format {str(proof)[:60]!r}. Use {', '.join(PROOFS)}.")
    kind, write, endings = PROOFS[proof]
    claims = claims_of(certificate, network, other, kind, Clock(time_limit))
    written: list[Path] = []
    for number, claim in enumerate(claims, start=1):
        stem = f"{path}.{number}" if len(claims) > 1 else str(path)
        targets = [Path(f"{stem}.{ending}") for ending in endings]
        for target in targets:
            check_writable(target)
        texts = ["".join(f"{line}\n" for line in lines) for lines in write(claim)]
        for target, text in zip(targets, texts, strict=True):
            write_text(target, text)
        written += targets
    return tuple(written)


# -- OPB and VeriPB ------------------------------------------------------------------------------------------


def _veripb(claim: Lemmas) -> tuple[_Lines, _Lines]:
    system = claim.thresholds
    rows, ids = _rows(system)
    count, proof, numbers = len(rows), list[str](), _numbers(system, ids)

    def add(step: str) -> int:
        proof.append(step)
        return count + len(proof)

    if claim.facts:
        changes = _Changes(system, ids)
        count_id = add(f"pol {changes.count}") if changes.count else 0
        contrary = {row.guard: row for row in implications_of(system, (), Limit(None, None))[0]}
        for fact in claim.facts:
            if fact == 0 or -fact not in contrary:
                raise CertificateError(f"the fact {fact} is not about a neuron of the first layer.")
            add(f"pol {changes.against(contrary[-fact], count_id)}")
            numbers.append(add(f"rup +1 {_name(fact)} >= 1 ;"))
    for guard, q, p in claim.cuts:
        if (0, guard) not in ids or 0 not in ids or q < 0 or p < 0:
            raise CertificateError(f"the cut {[guard, q, p]} does not add a row and the budget.")
        if q or p:
            add(f"pol {_sum([(str(ids[0, guard]), q), (str(ids[0]), p)])}")
    for step in claim.steps:
        if isinstance(step, str) and claim.cuts:
            raise QuestionError("a proof with sums and cuts cannot be exported.")
        numbers.append(add(f"pol {_pol(step, numbers)}" if isinstance(step, str) else f"rup {_clause(step)}"))
    end = ["output NONE", f"conclusion UNSAT : {count + len(proof)}", "end pseudo-Boolean proof"]
    formula = [f"* #variable= {max(system.starts[-1], 1)} #constraint= {count}", *rows]
    return formula, ["pseudo-Boolean proof version 2.0", f"f {count}", *proof, *end]


def _rows(system: ThresholdSystem) -> tuple[list[str], dict[Any, int]]:
    """Return the constraints of a question, and the numbers of some of them.

    These are the implications by layer and guard, the budget at 0, and the chain constraints by step. A chain
    constraint says that a step implies the one before.
    """
    rows, ids = list[str](), dict[Any, int]()
    for layer, implications in enumerate(implications_of(system, (), Limit(None, None))):
        for row in implications:
            terms = {system.starts[layer] + k: int(w) for k, w in enumerate(row.weights, start=1) if w}
            bound, guard = row.least, row.guard
            if guard:  # enough is added if the guard is false
                enough = max(0, bound - sum(min(w, 0) for w in terms.values()))
                terms[abs(guard)] = -enough if guard > 0 else enough
                bound -= enough if guard > 0 else 0
            rows.append(_inequality(terms, bound))
            ids[(layer, guard) if guard else 0] = len(rows)
    for clause in _given(system):
        rows.append(_inequality({abs(x): 1 if x > 0 else -1 for x in clause}, 1 - sum(x < 0 for x in clause)))
        if len(clause) == 2 and -clause[0] <= system.starts[1]:
            ids["chain", -clause[0]] = len(rows)
    return rows, ids


def _numbers(system: ThresholdSystem, ids: dict[Any, int]) -> list[int]:
    """Return the numbers here of the constraints as a certificate numbers them: rows, clauses, budget."""
    row_ids = [
        ids[layer, sign * guard]
        for layer, (first, after) in enumerate(pairwise(system.starts[1:-1]))
        for guard in range(first + 1, after + 1)
        for sign in (1, -1)
    ]
    clauses = sum(1 for _ in _given(system))
    last = len(row_ids) + (0 in ids)
    return [*row_ids, *range(last + 1, last + 1 + clauses), *([ids[0]] if 0 in ids else [])]


def _pol(text: str, numbers: Sequence[int]) -> str:
    """Return a sum of a certificate, in reverse Polish notation with other numbers."""
    tokens = list[str]()
    for word in text.split(" "):
        match = fullmatch(r"([*/]|~?x|)([1-9][0-9]{0,99})|[+s]", word)
        if match is None or (match[1] == "" and int(match[2]) > len(numbers)):
            raise CertificateError(f"{word[:40]!r} is not a word that a sum has there.")
        if match[1] in ("*", "/"):
            tokens += [match[2], "*" if match[1] == "*" else "d"]
        else:
            tokens.append(str(numbers[int(word) - 1]) if match[1] == "" else word)
    return " ".join(tokens)


def _given(system: ThresholdSystem) -> Iterator[Clause]:
    """Yield the clauses: some case holds, its rows hold, and every step implies the one before it."""
    starts = system.starts
    yield tuple(range(starts[-2] + 1, starts[-1] + 1))
    for case, rows in enumerate(system.cases, start=starts[-2] + 1):
        yield from ((-case, starts[-3] + row + 1) for row in rows)
    for steps in system.chains:
        yield from ((-after - 1, before + 1) for before, after in pairwise(steps))


def _inequality(terms: dict[int, int], bound: int) -> str:
    """Return a constraint of an OPB file. One without terms is still written with a variable."""
    summands = [f"{weight:+d} x{variable}" for variable, weight in terms.items() if weight]
    return f"{' '.join(summands)} >= {bound} ;" if summands else f"+1 x1 >= {2 if bound > 0 else 0} ;"


def _clause(clause: Clause) -> str:
    return "".join(f"+1 {_name(literal)} " for literal in clause) + ">= 1 ;"


def _name(literal: int) -> str:
    return f"x{literal}" if literal > 0 else f"~x{-literal}"


def _sum(terms: Iterable[tuple[str, int]]) -> str:
    """Return a weighted sum of constraints in reverse Polish notation."""
    tokens = list[str]()
    for constraint, factor in terms:
        if factor:
            tokens += [constraint, *([str(factor), "*"] if factor != 1 else []), *["+"] * bool(tokens)]
    return " ".join(tokens)


class _Changes:
    """The number of features that can change within the budget, and the sums of a first-layer row that this
    excludes.

    A feature with steps s_1, ..., s_n has option k iff s_k and not s_(k+1). The constraint ``[option k] >=
    0`` states that it has the option or not. It is a clause of the chain, or a literal for the first and last
    option. Every bound below is a sum of these and the budget.
    """

    def __init__(self, system: ThresholdSystem, ids: dict[Any, int]) -> None:
        self.chains, self.ids = system.chains, ids
        prices, limit = system.budget or ((0,) * system.starts[1], 0)
        costs = [list(accumulate((int(prices[s]) for s in steps), initial=0)) for steps in self.chains]
        self.own = [row.index(min(row)) for row in costs]
        more = [sorted(c - min(row) for k, c in enumerate(row) if k != row.index(min(row))) for row in costs]
        min_extras = [row[0] if row else 0 for row in more]
        room = limit - sum(map(min, costs))
        self.most = sum(spent <= room for spent in accumulate(sorted(min_extras)))
        self.free = [extra == 0 for extra in min_extras]
        unit = sorted(min_extras)[self.most] if self.most < len(min_extras) else 0
        self.count = ""
        if unit:  # each change costs at least a unit, or its cost: rounding gives the number
            terms = [(str(ids[0]), 1)]
            for f, row in enumerate(costs):
                part = min(min_extras[f], unit)
                terms += [
                    (self.option(f, k), cost - min(row) - part * (k != self.own[f]))
                    for k, cost in enumerate(row)
                    if len(row) > 1
                ]
                if part:
                    terms.append((self.option(f, self.own[f]), unit - part))
            self.count = f"{_sum(terms)} {unit} d"

    def option(self, feature: int, k: int) -> str:
        """Return the constraint that a feature has an option or not."""
        steps = self.chains[feature]
        if k == 0:
            return f"~x{steps[0] + 1}"
        return f"x{steps[-1] + 1}" if k == len(steps) else str(self.ids["chain", steps[k] + 1])

    def against(self, row: Implication, count_id: int) -> str:
        """Return a sum of constraints that leaves a row with too small a sum, so that its guard is false."""
        ups, terms, max_sum = list[int](), [(str(self.ids[0, row.guard]), 1)], 0
        for f, steps in enumerate(self.chains):
            sums = list(accumulate((int(row.weights[s]) for s in steps), initial=0))
            base_sum = sums[self.own[f]]
            ups.append(max(sums) - base_sum)
            max_sum += base_sum
            inner = [(k, base_sum + ups[f] * (k != self.own[f]) - sums[k]) for k in range(1, len(steps))]
            terms += [(self.option(f, k), factor) for k, factor in inner]
        worth = sorted(ups, reverse=True)[self.most] if count_id else 0
        terms.append((str(count_id), worth))
        max_sum += worth * (self.most - sum(self.free))
        for f, up in enumerate(ups):
            above = up if self.free[f] else max(up - worth, 0)
            max_sum += above
            if 0 < self.own[f] < len(self.chains[f]):
                terms.append((self.option(f, self.own[f]), above))
        if max_sum >= row.least:
            raise CertificateError(f"the fact {-row.guard} does not follow from the budget.")
        return _sum(terms)


# -- CNF, DRAT and LRAT --------------------------------------------------------------------------------------


def _drat(claim: Resolution) -> tuple[_Lines, _Lines]:
    lemmas = [step for step in claim.steps if isinstance(step, tuple) and step and not is_tautology(step)]
    return _cnf(claim), map(_dimacs, [*lemmas, ()])


def _lrat(claim: Resolution) -> tuple[_Lines, _Lines]:
    return _cnf(claim), _hinted(HintedProof(claim.variables or 1, _without_empty(claim.given)), claim.steps)


def _hinted(proof: HintedProof, steps: Sequence[Clause | int]) -> Iterator[str]:
    """Yield the lines of a proof with hints, which are computed as they are read."""
    proof.start()
    numbers = list[int]()
    for step in steps:
        if proof.done:
            break
        if isinstance(step, tuple):
            numbers.append(0 if is_tautology(step) else proof.lemma(step))
        elif 0 <= step < len(numbers):
            proof.forget(numbers[step])
    if not proof.done:
        raise CertificateError("the proof ends without a contradiction.")
    yield from proof.lines


def _cnf(claim: Resolution) -> list[str]:
    clauses = _without_empty(claim.given)
    return [f"p cnf {max(claim.variables, 1)} {len(clauses)}", *map(_dimacs, clauses)]


def _without_empty(clauses: Sequence[Clause]) -> list[Clause]:
    """Return clauses, with an empty clause replaced by two that contradict each other."""
    return [clause for clause in clauses if clause] + [(1,), (-1,)] * (() in clauses)


def _dimacs(clause: Clause) -> str:
    return " ".join(map(str, (*clause, 0)))


# -- XLRUP ---------------------------------------------------------------------------------------------------


def _xlrup(claim: Lemmas) -> tuple[_Lines, _Lines]:
    """Write neurons, budget and cuts as counting constraints.

    Facts and cuts are part of the formula, since XLRUP cannot add constraints.
    """
    system, last = claim.thresholds, claim.thresholds.starts[-1]
    clauses = [*_given(system), *((fact,) for fact in claim.facts)]
    sums = [
        (system.starts[layer + 1] + row, system.starts[layer], weights[row - 1], int(bounds[row - 1]))
        for layer, (weights, bounds) in enumerate(system.layers)
        for row in range(1, len(bounds) + 1)
    ]
    extra = implications_of(system, claim.cuts, Limit(None, None))[0][2 * len(system.layers[0][1]) :]
    for row in extra:  # the budget, which has no guard, and the cuts
        last += 1
        sums.append((last, 0, row.weights, row.least))
        clauses.append((-row.guard, last) if row.guard else (last,))
    counting = list[Counting]()
    for literal, start, weights, bound in sums:
        constraint = _counting(
            literal, {start + k: int(w) for k, w in enumerate(weights, start=1) if w}, bound
        )
        if 0 < constraint.least <= sum(weight for weight, _ in constraint.terms):
            counting.append(constraint)
        else:
            clauses.append((literal,) if constraint.least <= 0 else (-literal,))
    clauses = _without_empty(clauses)
    written = [" ".join(map(str, _counted(one))) for one in counting]
    formula = [f"p cnf {max(last, 1)} {len(clauses) + len(written)}", *map(_dimacs, clauses)]
    steps = [step for step in claim.steps if isinstance(step, tuple)]
    if len(steps) < len(claim.steps):
        raise QuestionError("a proof with sums cannot be exported as XLRUP. Use the format 'veripb'.")
    named = (f"o b {number} {one}" for number, one in enumerate(written, start=1))
    proof = HintedProof(max(last, 1), clauses, counting)
    return [*formula, *(f"b {one}" for one in written)], chain(named, _hinted(proof, steps))


def _counted(row: Counting) -> Iterator[int]:
    for weight, literal in row.terms:
        yield from [literal] * weight
    yield from (0, row.least, row.literal, 0)


def _counting(literal: int, terms: dict[int, int], bound: int) -> Counting:
    """Return a sum over variables as one over literals with positive weights, without a common factor."""
    bound -= sum(min(weight, 0) for weight in terms.values())
    unit = gcd(*terms.values()) or 1
    if sum(map(abs, terms.values())) > _REPEATED * unit:
        raise TooLargeError(
            "the weights are too large for XLRUP, which counts literals. Use the format 'veripb'."
        )
    return Counting(
        literal,
        [(abs(weight) // unit, variable if weight > 0 else -variable) for variable, weight in terms.items()],
        -(-bound // unit),
    )


PROOFS: dict[str, tuple[Any, Callable[[Any], tuple[_Lines, _Lines]], tuple[str, str]]] = {
    "veripb": (Lemmas, _veripb, ("opb", "pbp")),
    "drat": (Resolution, _drat, ("cnf", "drat")),
    "lrat": (Resolution, _lrat, ("cnf", "lrat")),
    "xlrup": (Lemmas, _xlrup, ("xnf", "xlrup")),
}
"""For each format: the kind of proof that it is written from, its writer, and its file endings."""
