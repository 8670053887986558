"""A problem as a pseudo-Boolean formula: clauses, linear sums of literals with a lower bound, and gates that
are true iff such a sum reaches its bound.

Variables are those of the cascade, in its order, but numbered from 1 so that ``-v`` can mean *not v*. If
cases of the goal have several inequalities, each case has one more variable. The solutions correspond one to
one to the inputs that meet the goal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sugenet.capacity.arguments import number_text
from sugenet.nn import OneHot
from sugenet.nn.binary_expansion import owners_of
from sugenet.problem.cascade import Cascade, FeatureSteps
from sugenet.problem.goal import Votes
from sugenet.problem.problem import Problem

__all__ = ["Formula", "Gate", "Linear", "Objective", "fixed_values", "goal_clauses", "variable_names"]


@dataclass(frozen=True)
class Linear:
    """The constraint that the coefficients of the true literals sum to at least `least`; none is negative.

    Examples
    --------
    >>> row = Linear.of([2, -1, 0], [1, 2, 3], 1)
    >>> row, row.signed()
    (Linear(coefficients=(2, 1), literals=(1, -2), least=2), ((2, -1), (1, 2), 1))
    >>> print(row)
    2 x1 + ~x2 >= 2
    """

    coefficients: tuple[int, ...]
    literals: tuple[int, ...]
    least: int

    @classmethod
    def of(cls, weights: Any, variables: Any, bound: int) -> Linear:
        """Return the constraint for integer weights of any sign over variables."""
        row = [(int(w), int(v)) for w, v in zip(weights, variables, strict=True) if w]
        below = sum(w for w, _ in row if w < 0)
        return cls(
            tuple(abs(w) for w, _ in row), tuple(v if w > 0 else -v for w, v in row), int(bound) - below
        )

    @property
    def total(self) -> int:
        """The largest possible sum."""
        return sum(self.coefficients)

    @property
    def constant(self) -> bool | None:
        """Whether it always (True) or never (False) holds; None if that depends on the literals."""
        if self.least <= 0:
            return True
        return False if self.total < self.least else None

    def signed(self) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        """Return weights of any sign, variables, and the least sum, without negated literals."""
        weights = tuple(c if v > 0 else -c for c, v in zip(self.coefficients, self.literals, strict=True))
        return weights, tuple(abs(v) for v in self.literals), self.least + sum(w for w in weights if w < 0)

    def unless(self, literal: int) -> Linear:
        """Return the constraint that this one holds or the literal is true, with the smallest
        coefficients.
        """
        row = [(min(c, self.least), v) for c, v in zip(self.coefficients, self.literals, strict=True)]
        return Linear((self.least, *(c for c, _ in row)), (literal, *(v for _, v in row)), self.least)

    def negated(self) -> Linear:
        """Return the constraint that this one does not hold."""
        return Linear(self.coefficients, tuple(-v for v in self.literals), self.total - self.least + 1)

    def __str__(self) -> str:
        terms = (
            f"{'' if c == 1 else f'{c} '}{'' if v > 0 else '~'}x{abs(v)}"
            for c, v in zip(self.coefficients, self.literals, strict=True)
        )
        return f"{' + '.join(terms) or '0'} >= {self.least}"


@dataclass(frozen=True)
class Gate:
    """A variable that is true iff a sum reaches its bound; the sum is never constant."""

    variable: int
    sum: Linear

    def constraints(self) -> tuple[Linear, Linear]:
        """Return both directions: if true, the sum reaches its bound; if false, it does not."""
        return self.sum.unless(-self.variable), self.sum.negated().unless(self.variable)


@dataclass(frozen=True)
class Objective:
    """The cost of a change: ``unit`` times (``offset`` plus the coefficients of the true literals).

    The weights of the moves are summed. For `Linf` the largest change counts, so this is not the cost;
    solve one problem per radius instead.
    """

    coefficients: tuple[int, ...]
    literals: tuple[int, ...]
    offset: int
    unit: Fraction


@dataclass(frozen=True, eq=False)
class Formula:
    """Clauses, sums and gates over numbered variables; an empty clause is never satisfied.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head, Network
    >>> from sugenet.problem.goal import loses
    >>> from sugenet.problem.regions import Hamming
    >>> net = Network.of_bits([DenseLayer([[1, 1, -1]], [2])], Head([[1], [-1]]))
    >>> formula = Formula.of(Problem(Hamming(1).around(net, [1, 1, -1]), loses(net.head, 0)))
    >>> for number, words in enumerate(formula.names, start=1):
    ...     print(f"x{number}: {words}")
    x1: feature x1 = +1
    x2: feature x2 = +1
    x3: feature x3 = +1
    x4: layer 1, neuron 1 is active
    x5: class 1 scores more than class 0
    >>> print(*formula.constraints(), sep="; ")
    x1 + x2 + ~x3 >= 2; x4 >= 1; ~x5 >= 1; x5 >= 1
    """

    names: tuple[str, ...]
    """The meaning of each variable, starting with variable 1."""
    cascade: Cascade
    clauses: tuple[tuple[int, ...], ...]
    sums: tuple[Linear, ...]
    gates: tuple[Gate, ...]
    objective: Objective

    @classmethod
    def of(cls, problem: Problem, *, folded: bool = True) -> Formula:
        """Write a problem as a formula.

        Parameters
        ----------
        problem
            The problem.
        folded
            Whether neurons that bounds prove constant in the neighbourhood become single literals. Otherwise
            every neuron is written out, and a solver of the formula need not trust any bound.
        """
        cascade = problem.cascade
        fixed = fixed_values(problem) if folded else np.full(cascade.starts[-1], -1, np.int8)
        clauses: list[tuple[int, ...]] = [
            (-(step + 1), step) for chain in cascade.chains for step in chain.steps[1:]
        ]
        gates: list[Gate] = []
        starts = cascade.starts
        for number, layer in enumerate(cascade.layers):
            below = fixed[starts[number] : starts[number + 1]]
            bounds = layer.least - layer.weights @ (below == 1)
            free = below < 0
            variables = np.flatnonzero(free) + starts[number] + 1
            for row, bound in enumerate(bounds.tolist()):
                variable = starts[number + 1] + row + 1
                value: bool | None = None if fixed[variable - 1] < 0 else bool(fixed[variable - 1])
                if value is None:
                    gate = Gate(
                        variable, Linear.of(layer.weights[row, free].tolist(), variables.tolist(), bound)
                    )
                    value = gate.sum.constant
                if value is None:
                    gates.append(gate)
                else:
                    clauses.append((variable if value else -variable,))
        goal, extra = goal_clauses(cascade)
        sums = []
        if cascade.budget is not None:
            spent = Linear.of(
                [-int(p) for p in cascade.budget[0]], range(1, cascade.steps + 1), -cascade.budget[1]
            )
            if spent.constant is not True:
                sums.append(spent)
        names = (*variable_names(problem), *(f"case {number + 1} of the goal" for number in range(extra)))
        return cls(names, cascade, (*clauses, *goal), tuple(sums), tuple(gates), _objective(problem))

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    def constraints(self) -> Iterator[Linear]:
        """Yield everything as sums with a lower bound: clauses, sums, and two for each gate."""
        yield from self.sums
        for gate in self.gates:
            yield from gate.constraints()
        for clause in self.clauses:
            yield Linear((1,) * len(clause), clause, 1)


def goal_clauses(cascade: Cascade) -> tuple[list[tuple[int, ...]], int]:
    """Return clauses that say that some case holds, and the number of extra variables that
    stand for cases.
    """
    first, after = cascade.starts[-2] + 1, cascade.starts[-1] + 1
    cases = [[first + row for row in case] for case in cascade.cases]
    if not all(cases):
        return [], 0
    if len(cases) == 1:
        return [(row,) for row in cases[0]], 0
    if all(len(case) == 1 for case in cases):
        return [tuple(dict.fromkeys(case[0] for case in cases))], 0
    clauses: list[tuple[int, ...]] = []
    for number, case in enumerate(cases):
        clauses += [(-(after + number), row) for row in case]
        clauses.append((*dict.fromkeys(-row for row in case), after + number))
    clauses.append(tuple(after + number for number in range(len(cases))))
    return clauses, len(cases)


def fixed_values(problem: Problem) -> npt.NDArray[np.int8]:
    """Return 0 or 1 for each variable of the cascade that bounds prove constant in the neighbourhood, else
    -1.

    In the first layer all neurons but the fragile ones are fixed. In later layers a neuron is fixed if the
    fixed neurons before it decide its sum, whatever the others are.
    """
    cascade, first_layer = problem.cascade, problem.first_layer
    below = first_layer.active.astype(np.int8)
    below[first_layer.fragile] = -1
    values = [np.full(cascade.steps, -1, np.int8), below]
    for layer in cascade.layers[1:]:
        weights = layer.weights
        known, free = weights @ (below == 1), weights[:, below < 0]
        low, high = known + np.minimum(free, 0).sum(axis=1), known + np.maximum(free, 0).sum(axis=1)
        below = np.where(low >= layer.least, 1, np.where(high < layer.least, 0, -1)).astype(np.int8)
        values.append(below)
    return np.concatenate(values)


def variable_names(problem: Problem) -> list[str]:
    """Return the meaning of each variable of the cascade in words."""
    network, cascade = problem.near.network, problem.cascade
    names = [
        _step(problem, chain, index) for chain in cascade.chains for index in range(1, len(chain.options))
    ]
    if not network.layers:
        names += [
            f"bit {index + 1}: {network.encoder.words(index)}" for index in range(network.encoder.width)
        ]
    for number, (layer, owners) in enumerate(
        zip(network.layers, owners_of(network.layers), strict=True), start=1
    ):
        if owners is None:
            names += [f"layer {number}, neuron {j} is active" for j in range(1, layer.outputs + 1)]
            continue
        reached: Counter[int] = Counter()
        for j in owners.tolist():
            reached[j] += 1
            names.append(f"layer {number}, neuron {j + 1} reaches level {reached[j]}")
    return names + [_vote(problem, vote) for vote in problem.goal.votes]


def _step(problem: Problem, chain: FeatureSteps, index: int) -> str:
    encoder, start_state = problem.near.network.encoder, problem.near.states[chain.feature]
    states = [start_state if option is None else option.state for option in chain.options]
    name, coding = encoder.feature_text[chain.feature], encoder.codings[chain.feature]
    if isinstance(coding, OneHot):
        alternatives = " or ".join(number_text(coding.categories[state]) for state in states[index:])
        return f"feature {name} = {alternatives}"
    return f"feature {coding.words(name, states[index] - 1, True)}"


def _vote(problem: Problem, vote: Votes) -> str:
    network = problem.near.network
    slopes, offsets, _ = network.head.integers
    used = [k for k, factor in enumerate(vote.factors) if factor]
    if len(used) == 2:
        for a, b in (used, used[::-1]):
            for comparison, strict in (("more than", 1), ("at least as much as", 0)):
                factors = [slopes[a] * (k == a) - slopes[b] * (k == b) for k in range(len(slopes))]
                if Votes.of(factors, offsets[b] - offsets[a] + strict) == vote:
                    return (
                        f"class {network.class_texts[a]} scores {comparison} class {network.class_texts[b]}"
                    )
    terms = " + ".join(f"{vote.factors[k]} M[{network.class_texts[k]}]" for k in used) or "0"
    return f"{terms} >= {vote.least} for match counts M of the classes"


def _objective(problem: Problem) -> Objective:
    coefficients, literals, offset = [], [], 0
    for chain in problem.cascade.chains:
        weights = [0 if option is None else option.weight for option in chain.options]
        offset += weights[0]
        for index, step in enumerate(chain.steps, start=1):
            price = weights[index] - weights[index - 1]
            if price:
                coefficients.append(abs(price))
                literals.append(step + 1 if price > 0 else -(step + 1))
                offset += min(price, 0)  # a negative price is paid if the step is not taken
    return Objective(tuple(coefficients), tuple(literals), offset, problem.near.unit)
