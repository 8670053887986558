"""The rule ``lemma`` in plain form: clauses that follow one after another until they are contradictory.

To be ensured: it accepts only if no input of the problem is a violation.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from random import random
from re import compile as pattern
from typing import Any, TypeAlias

from sugenet.checker.form import Lemma
from sugenet.checker.problem import IntegerProblem, Row, max_together
from sugenet.checker.unpack import steps_of
from sugenet.errors import CertificateError

__all__ = ["check_lemma"]

_Constraint: TypeAlias = tuple[dict[int, int], int]
"""Positive factors of literals, and the least sum of those of the true literals."""
_WORD = pattern(r"(?P<kind>[*/]|~?x|)(?P<number>[1-9][0-9]{0,99})|(?P<sign>[+s])")
"""A word of a sum: a constraint 7, a literal x7 or ~x7, a factor *7, a divisor /7, + or s."""
_NEEDED = {"*": 1, "/": 1, "s": 1, "+": 2}
"""Number of constraints that a word uses."""
_DRAWN = 0.1
"""The share of clauses that are drawn at random."""
_OPEN, _LARGEST = 16, 1 << 4096
"""Largest number of constraints that a sum holds at a time, and largest number in it."""


def check_lemma(
    proof: Lemma, problem: IntegerProblem, assumed: Iterable[int] = (), *, drawn: bool = False
) -> str:
    """Check that clauses follow one after another by propagation, until they are contradictory.

    Sums between them derive constraints by cutting planes.
    """
    system = _System(problem)
    if proof.variables != system.count:
        raise CertificateError(f"the proof is not a propagation proof over {system.count} variables.")
    system.see_facts(proof.facts)
    system.add_cuts(proof.cuts)
    for literal in (*proof.facts, *assumed):
        system.see_literal(literal)
        system.add({literal: 1}, 1)
    over = system.contradicts(system.true, range(len(system.constraints)))
    n_steps, sums = 0, 0
    last: Any = None
    for last in steps_of(proof.clauses, proof.encoding, system.count, problem.limit):
        n_steps += 1
        if isinstance(last, str):
            sums += 1
            system.add(*system.summed(last))
        else:
            for literal in last:
                system.see_literal(literal)
            if not over and (not drawn or random() < _DRAWN) and not system.follows(last):
                shown = str(list(last))[:80] if last else "the empty one"
                raise CertificateError(f"clause {n_steps}, {shown}, does not follow.")
            system.add(dict.fromkeys(last, 1), 1)
        over = over or system.contradicts(system.true, [len(system.constraints) - 1])
    if last != ():
        raise CertificateError("the proof does not end with the empty clause.")
    if sums != proof.sums:
        raise CertificateError(f"the proof has {sums:,} sums, not {proof.sums:,}.")
    phrase = f"{n_steps - sums} clauses follow one after the other, the last one empty (plain form)"
    return f"{sums} sums and {phrase}" if sums else phrase


class _System:
    """A problem as constraints over 0/1 variables: steps of features, neurons, inequalities, cases.

    Step k of a feature is true iff its option is the k-th or a later one. Every neuron and inequality is true
    iff its sum reaches its threshold. A case implies its inequalities, and some case is true. Constraints are
    numbered from 1, in this order:

    - for each row of each layer, that it is true, then that it is false,
    - that some case is true,
    - each case with each of its inequalities,
    - each step with the one before it,
    - the budget,
    - the cuts and facts of the proof,
    - the steps of the proof.
    """

    def __init__(self, problem: IntegerProblem) -> None:
        self.problem, self.limit = problem, problem.limit
        self.constraints: list[_Constraint] = []
        self.uses: dict[int, list[int]] = {}
        self.true: set[int] = set()
        offered, base = problem.offered, problem.base
        self.steps = sum(len(row) - 1 for row in offered)
        start = [margin + sum(row[0][1][j] for row in offered) for j, margin in enumerate(base)]
        changes = [
            (after[0] - before[0], [b - a for a, b in zip(before[1], after[1], strict=True)])
            for row in offered
            for before, after in pairwise(row)
        ]
        rows: list[list[Row]] = [
            [
                ({k: gain[j] for k, (_, gain) in enumerate(changes) if gain[j]}, -start[j])
                for j in range(len(base))
            ],
            *problem.layers,
            problem.inequalities,
        ]
        self.starts = [0, *accumulate([self.steps, *map(len, rows)])]
        self.rows = rows[0]
        for layer, names, inputs in zip(rows, self.starts[1:], self.starts, strict=False):
            for number, (weights, threshold) in enumerate(layer, start=names + 1):
                terms = {inputs + bit + 1: weight for bit, weight in weights.items()}
                self.imply(number, terms, threshold)
                self.imply(-number, {name: -weight for name, weight in terms.items()}, 1 - threshold)
        self.count = self.starts[-1] + len(problem.cases)
        named = range(self.starts[-1] + 1, self.count + 1)
        self.add(dict.fromkeys(named, 1), 1)
        for name, case in zip(named, problem.cases, strict=True):
            for number in case:
                self.add({-name: 1, self.starts[-2] + number + 1: 1}, 1)
        step = 0
        for row in offered:
            for _ in range(len(row) - 2):
                step += 1
                self.add({-(step + 1): 1, step: 1}, 1)
            step += len(row) > 1
        self.prices = [price for price, _ in changes]
        self.most = None
        if problem.budget is not None:
            self.most = problem.budget - sum(row[0][0] for row in offered)
            self.imply(0, {k + 1: -price for k, price in enumerate(self.prices) if price}, -self.most)

    def add(self, factors: dict[int, int], bound: int) -> None:
        """Add a constraint."""
        self.limit.take(150 * (1 + len(factors)), "the constraints of a proof")
        for literal in factors if bound > 0 else ():
            self.uses.setdefault(-literal, []).append(len(self.constraints))
        self.constraints.append((factors, bound))

    def imply(self, guard: int, terms: dict[int, int], threshold: int) -> None:
        """Add: if the guard is true, the weights of true variables sum to at least `threshold`; guard 0:
        always.
        """
        factors = {name if weight > 0 else -name: abs(weight) for name, weight in terms.items()}
        bound = threshold - sum(min(weight, 0) for weight in terms.values())
        self.add(factors | ({-guard: bound} if guard and bound > 0 else {}), bound)

    def see_literal(self, literal: int) -> None:
        """Refuse an integer that is not a literal."""
        if not 1 <= abs(literal) <= self.count:
            raise CertificateError(
                f"{literal!r} is not a literal: signed variable numbers go from 1 to {self.count}."
            )

    def see_facts(self, facts: Iterable[int]) -> None:
        """Check that each fact holds for every sum of a first-layer neuron that the budget allows."""
        for fact in facts:
            row = abs(fact) - 1 - self.starts[1]
            if not 0 <= row < len(self.rows):
                raise CertificateError(f"the fact {fact} is not about a neuron of the first layer.")
            low, high = self._reach(row)
            if not (low >= 0 if fact > 0 else high < 0):
                raise CertificateError(
                    f"the fact {fact} does not follow: this first-layer neuron is not constant."
                )

    def _reach(self, j: int) -> tuple[int, int]:
        """Return the smallest and largest margin of a neuron: each feature at its best, as many as the budget
        allows.
        """
        problem, rises, falls, extra = self.problem, [], [], []
        cheapest = [
            prices.index(min(prices)) for prices in ([price for price, _ in row] for row in problem.offered)
        ]
        spent = sum(row[k][0] for row, k in zip(problem.offered, cheapest, strict=True))
        room = 0 if problem.budget is None else problem.budget - spent
        start = problem.base[j]
        for row, k in zip(problem.offered, cheapest, strict=True):
            more = [price - row[k][0] for price, _ in row]
            free = problem.budget is None
            gains = [
                gain[j] - row[k][1][j]
                for cost, (_, gain) in zip(more, row, strict=True)
                if free or cost <= room
            ]
            start += row[k][1][j]
            rises.append(max([0, *gains]))
            falls.append(min([0, *gains]))
            extra.append(0 if free or len(more) < 2 else min(c for index, c in enumerate(more) if index != k))
        fits = max_together(extra, room)
        return start + sum(sorted(falls)[:fits]), start + sum(sorted(rises, reverse=True)[:fits])

    def add_cuts(self, cuts: Iterable[tuple[int, int, int]]) -> None:
        """Add cuts; a cut is q times the row of a first-layer literal plus p times the budget."""
        for guard, q, p in cuts:
            row = abs(guard) - 1 - self.starts[1]
            if self.most is None or not 0 <= row < len(self.rows):
                raise CertificateError(
                    f"the cut {[guard, q, p]} adds no first-layer row and budget with factors of 0 or more."
                )
            weights, threshold = self.rows[row]
            sign = 1 if guard > 0 else -1
            terms = {k + 1: q * sign * weights.get(k, 0) - p * price for k, price in enumerate(self.prices)}
            bound = threshold if guard > 0 else 1 - threshold
            self.imply(
                guard, {name: weight for name, weight in terms.items() if weight}, q * bound - p * self.most
            )

    def summed(self, text: str) -> _Constraint:
        """Return the constraint that a sum derives.

        A word can push a constraint onto the stack: one by its number, or the constraint that a literal is at
        least 0. Other words change the last constraint of the stack. They multiply it by a factor, divide it
        and round all numbers up, reduce factors to the bound, or add it to the constraint before it.
        """
        hand: list[_Constraint] = []
        for word in text.split(" "):
            self.limit.look()
            match = _WORD.fullmatch(word)
            if match is None or len(hand) < _NEEDED.get(word[0], 0):
                raise CertificateError(f"{word[:40]!r} is not a word that a sum has there.")
            kind, number = match["kind"] or word, int(match["number"] or 1)
            if word == match["number"]:
                if number > len(self.constraints):
                    raise CertificateError(f"there is no constraint {number} before the sum that reads it.")
                factors, bound = self.constraints[number - 1]
                hand.append((dict(factors), bound))
            elif kind in ("x", "~x"):
                literal = number if kind == "x" else -number
                self.see_literal(literal)
                hand.append(({literal: 1}, 0))
            else:
                hand.append(_changed(kind, number, hand))
            if len(hand) > _OPEN:
                raise CertificateError(f"a sum has more than {_OPEN} constraints at hand.")
        if len(hand) != 1:
            raise CertificateError("a sum does not end with one constraint.")
        return _within(*hand[0])

    def follows(self, clause: Sequence[int]) -> bool:
        """Return whether assuming the negation of a clause leads to a contradiction."""
        assumed = {-literal for literal in clause} - self.true
        if any(-literal in self.true or -literal in assumed for literal in assumed):
            return True
        touched = [number for literal in assumed for number in self.uses.get(literal, ())]
        return self.contradicts(self.true | assumed, touched)

    def contradicts(self, true: set[int], numbers: Iterable[int]) -> bool:
        """Propagate some constraints into the set of true literals; return whether they are contradictory."""
        waiting = dict.fromkeys(numbers)
        while waiting:
            number = next(iter(waiting))
            del waiting[number]
            factors, bound = self.constraints[number]
            slack = sum(factor for literal, factor in factors.items() if -literal not in true) - bound
            if slack < 0:
                return True
            for literal, factor in factors.items():
                if factor > slack and literal not in true and -literal not in true:
                    true.add(literal)
                    waiting.update(dict.fromkeys(self.uses.get(literal, ())))
        return False


def _changed(kind: str, number: int, hand: list[_Constraint]) -> _Constraint:
    """Pop the last constraint, and for + the one before it; return the constraint that follows."""
    factors, bound = hand.pop()
    if kind == "/":  # the left side is an integer, so the bound can be rounded up
        return {x: -(-factor // number) for x, factor in factors.items()}, -(-bound // number)
    if kind == "s":  # one true literal with such a factor suffices
        return {x: min(factor, bound) for x, factor in factors.items()} if bound > 0 else factors, bound
    if kind == "*":
        return _within({x: number * factor for x, factor in factors.items()}, number * bound)
    return _added(hand.pop(), (factors, bound))


def _within(factors: dict[int, int], bound: int) -> _Constraint:
    """Return a constraint after checking that its numbers are not too large."""
    if max(factors.values(), default=0) + abs(bound) >= _LARGEST:
        raise CertificateError("the numbers of a sum are too large.")
    return factors, bound


def _added(first: _Constraint, second: _Constraint) -> _Constraint:
    """Return the sum of two constraints; exactly one of a literal and its negation is true."""
    if len(first[0]) < len(second[0]):
        first, second = second, first
    factors, bound = first[0], first[1] + second[1]
    for literal, factor in second[0].items():
        both = min(factors.get(-literal, 0), factor)
        if both:
            bound -= both
            factors[-literal] -= both
            if not factors[-literal]:
                del factors[-literal]
        if factor > both:
            factors[literal] = factors.get(literal, 0) + factor - both
    return factors, bound
