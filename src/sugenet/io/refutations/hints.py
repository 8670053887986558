"""Unit propagation that records its reasons: the hints of LRAT and XLRUP proofs.

A checker of these formats does not search. Each lemma names the clauses that become unit one after another. A
conclusion of a counting constraint is first written as a separate clause (``i cb``). Every literal that is
permanently true becomes a unit clause, so that later hints are short.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sugenet.errors import CertificateError
from sugenet.io.refutations.claims import Clause, is_tautology

__all__ = ["Counting", "HintedProof"]


@dataclass(frozen=True, eq=False)
class Counting:
    """``literal <-> the weights of the true literals sum to at least least``; weights are positive."""

    literal: int
    terms: Sequence[tuple[int, int]]
    """Weights and literals."""
    least: int


class _Half:
    """``guard -> the weights of the true literals sum to enough``, as one half of a constraint."""

    def __init__(self, number: int, guard: int, terms: Iterable[tuple[int, int]], least: int) -> None:
        self.number, self.guard = number, guard
        self.terms = sorted(terms, reverse=True)
        self.slack = sum(weight for weight, _ in self.terms) - least


class HintedProof:
    """Lines of a proof with hints, extended lemma by lemma.

    Parameters
    ----------
    variables
        Number of variables.
    clauses
        The clauses of the formula, numbered from 1.
    counting
        Its counting constraints, numbered from 1, separately from the clauses.
    """

    def __init__(self, variables: int, clauses: Sequence[Clause], counting: Sequence[Counting] = ()) -> None:
        self.lines: list[str] = []
        self.done = False
        """Whether the empty clause was derived."""
        self._value = [0] * (2 * variables + 1)  # by literal; -1 indexes from the end
        self._unit: dict[int, int] = {}  # permanently true literals, with the number of the unit clause
        self._clauses: dict[int, list[int]] = {}
        self._watching: list[list[int]] = [[] for _ in self._value]
        self._reading: list[list[tuple[_Half, int]]] = [[] for _ in self._value]
        self._guarded: list[list[_Half]] = [[] for _ in self._value]
        self._trail: list[int] = []
        self._place: dict[int, int] = {}
        self._reason: dict[int, int | _Half | None] = {}
        self._handled = 0
        self._last, self._loose = len(clauses), list[int]()
        self._given = clauses
        self._halves = [half for number, row in enumerate(counting, start=1) for half in _halves(number, row)]

    def start(self) -> None:
        """Add the formula."""
        for half in self._halves:
            self._guarded[half.guard].append(half)
            for weight, literal in half.terms:
                self._reading[literal].append((half, weight))
        for number, clause in enumerate(self._given, start=1):
            self._take(number, clause)
        for half in self._halves:
            if half.slack < 0 and not self.done:
                self._take(*self._clause_of(half, -half.guard))
        self._settle()

    def lemma(self, clause: Clause) -> int:
        """Write a clause with its hints, keep it, and return its number.

        Raises
        ------
        CertificateError
            If it does not follow by unit propagation.
        """
        start, conflict = len(self._trail), None
        known = next((literal for literal in clause if self._value[literal] > 0), None)
        if known is None:
            for literal in clause:
                if not self._value[literal]:
                    self._put(-literal, None)
            conflict = self._propagate()
            if conflict is None:
                raise CertificateError(f"the clause {str(clause)[:60]} does not follow by propagation.")
        hints = self._hints(conflict, start) if known is None else [self._unit[known]]
        self._undo(start)
        number = self._write(clause, hints)
        self._take(number, clause)
        self._settle()
        return number

    def forget(self, number: int) -> None:
        """Drop a lemma. A unit lemma stays, since hints name it."""
        if len(self._clauses.get(number, ())) > 1:
            del self._clauses[number]
            self.lines.append(f"{self._last} d {number} 0")

    # -- clauses -------------------------------------------------------------------------------------------

    def _write(self, clause: Clause, hints: Iterable[int]) -> int:
        self._last += 1
        self.lines.append(" ".join(map(str, (self._last, *clause, 0, *hints, 0))))
        if clause and self._loose:  # nothing follows the empty clause
            self.lines.append(" ".join(map(str, (self._last, "d", *self._loose, 0))))
            self._loose.clear()
        return self._last

    def _clause_of(self, reason: int | _Half, literal: int) -> tuple[int, Sequence[int]]:
        """Return the clause that made a literal true (0: that is false), and its number."""
        if isinstance(reason, int):
            return reason, self._clauses[reason]
        before = self._place.get(literal, len(self._trail))
        room = reason.slack + sum(w for w, x in reason.terms if self._value[x] < 0)
        clause = list(dict.fromkeys((-reason.guard, literal or -reason.guard)))
        for weight, other in reason.terms:
            if other == literal:
                room -= weight
        for weight, other in reason.terms:
            if room < 0:
                break
            if self._value[other] < 0 and self._place[-other] < before:
                clause.append(other)
                room -= weight
        self._last += 1
        self._loose.append(self._last)
        tokens = ("i", "cb", self._last, *clause, 0, reason.number, "u", 0)
        self.lines.append(" ".join(map(str, tokens)))
        return self._last, clause

    def _take(self, number: int, clause: Sequence[int]) -> None:
        """Watch two literals that are not false. A single one becomes permanently true."""
        if self.done or is_tautology(clause):
            return
        row = sorted(clause, key=lambda literal: -self._value[literal])
        self._clauses[number] = row
        for literal in row[:2]:
            self._watching[literal].append(number)
        if not row or self._value[row[0]] < 0:
            if row:
                self._write((), [*(self._unit[-literal] for literal in row), number])
            self.done = True
        elif not self._value[row[0]] and (len(row) == 1 or self._value[row[1]] < 0):
            self._hold(row[0], number, row)

    def _hold(self, literal: int, number: int, clause: Sequence[int]) -> None:
        """Make a literal permanently true, by a unit clause."""
        hints = [self._unit[-other] for other in clause if other != literal]
        self._unit[literal] = self._write((literal,), [*hints, number]) if hints else number
        if number in self._loose:
            self._loose.remove(number)
        if literal not in self._place:
            self._put(literal, None)

    def _settle(self) -> None:
        """Propagate permanently."""
        if self.done:
            return
        start = len(self._unit)
        conflict = self._propagate()
        for literal in self._trail[start:]:
            reason = self._reason[literal]
            if reason is not None and literal not in self._unit:
                self._hold(literal, *self._clause_of(reason, literal))
        if conflict is not None:
            number, clause = self._clause_of(conflict, 0)
            self._write((), [*(self._unit[-literal] for literal in clause), number])
            self.done = True

    # -- propagation ---------------------------------------------------------------------------------------

    def _put(self, literal: int, reason: int | _Half | None) -> None:
        self._value[literal], self._value[-literal] = 1, -1
        self._place[literal], self._reason[literal] = len(self._trail), reason
        self._trail.append(literal)
        for half, weight in self._reading[-literal]:
            half.slack -= weight

    def _undo(self, start: int) -> None:
        for literal in self._trail[start:]:
            self._value[literal] = self._value[-literal] = 0
            del self._place[literal], self._reason[literal]
            for half, weight in self._reading[-literal]:
                half.slack += weight
        del self._trail[start:]
        self._handled = start

    def _propagate(self) -> int | _Half | None:
        """Propagate until nothing more follows. Return the conflict, if there is one."""
        while self._handled < len(self._trail):
            literal = self._trail[self._handled]
            self._handled += 1
            conflict = self._visit(-literal)
            if conflict is not None:
                return conflict
            for half in (*(half for half, _ in self._reading[-literal]), *self._guarded[literal]):
                if half.slack < 0 and self._value[half.guard] > 0:
                    return half
                if half.slack < 0 and not self._value[half.guard]:
                    self._put(-half.guard, half)
                elif self._value[half.guard] > 0:
                    for weight, other in half.terms:
                        if weight <= half.slack:
                            break
                        if not self._value[other]:
                            self._put(other, half)
        return None

    def _visit(self, false: int) -> int | None:
        """Propagate the clauses that watch a literal which is now false."""
        value, kept = self._value, list[int]()
        watching, self._watching[false] = self._watching[false], kept
        for k, number in enumerate(watching):
            clause = self._clauses.get(number)
            if clause is None:
                continue
            if clause[0] == false:
                clause[0], clause[1 % len(clause)] = clause[1 % len(clause)], clause[0]
            if value[clause[0]] <= 0:
                new = next((n for n in range(2, len(clause)) if value[clause[n]] >= 0), 0)
                if new:
                    clause[1], clause[new] = clause[new], clause[1]
                    self._watching[clause[1]].append(number)
                    continue
                if value[clause[0]] < 0:
                    kept += watching[k:]
                    return number
                self._put(clause[0], number)
            kept.append(number)
        return None

    def _hints(self, conflict: int | _Half | None, start: int) -> list[int]:
        """Return the numbers of the clauses that lead to a conflict, in the order in which they become
        unit.
        """
        assert conflict is not None
        number, clause = self._clause_of(conflict, 0)
        hints, needed = [number], {-literal for literal in clause}
        for literal in reversed(self._trail[start:]):
            reason = self._reason[literal]
            if literal in needed and reason is not None:
                number, clause = self._clause_of(reason, literal)
                hints.append(number)
                needed |= {-other for other in clause if other != literal}
        units = [self._unit[literal] for literal in needed if literal in self._unit]
        return [*sorted(units), *reversed(hints)]


def _halves(number: int, row: Counting) -> list[_Half]:
    total = sum(weight for weight, _ in row.terms)
    turned = [(weight, -literal) for weight, literal in row.terms]
    return [
        _Half(number, row.literal, row.terms, row.least),
        _Half(number, -row.literal, turned, total - row.least + 1),
    ]
