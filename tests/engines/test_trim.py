"""The lemmas that a SAT solver's proof needs: a plain propagation says the same."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sugenet.engines.hard.outside.trim import flat, propagate_all

solvers = pytest.importorskip("pysat.solvers")


def random_clauses(rng, variables, count, size=3):
    return [
        tuple(
            int(v) * int(s)
            for v, s in zip(
                rng.choice(variables, size, replace=False) + 1, rng.choice([-1, 1], size), strict=True
            )
        )
        for _ in range(count)
    ]


def state_of(clauses, given, variables):
    """What is said of clauses of which the first ones are given."""
    return propagate_all(*flat(clauses), given, np.arange(given, len(clauses)), variables)


def follows_by_propagation(clauses, lemma):
    """Plain unit propagation, for comparison."""
    false = set(lemma)
    while True:
        units = set()
        for clause in clauses:
            rest = {v for v in clause if v not in false}
            if not rest:
                return True
            if len(rest) == 1:
                units |= {-v for v in rest}
        if units <= false:
            return any(-v in false for v in false)
        false |= units
        if any(-v in false for v in false):
            return True


@pytest.mark.parametrize("seed", range(20))
def test_lemmas_follow_iff_plain_propagation_says_so(seed):
    rng = np.random.default_rng(seed)
    clauses = random_clauses(rng, 8, 30)
    satisfiable = any(
        all(any((v > 0) == row[abs(v) - 1] for v in clause) for clause in clauses)
        for row in product((False, True), repeat=8)
    )
    for lemma in random_clauses(rng, 8, 20, size=2):
        state = state_of([*clauses, lemma], len(clauses), 8)[0]
        assert (state == len(clauses)) != follows_by_propagation(clauses, lemma)
        assert not (satisfiable and state == -1)
        clauses = [*clauses, lemma] if state < 0 else clauses


@pytest.mark.parametrize("seed", range(10))
def test_proofs_of_random_clauses(seed):
    clauses = random_clauses(np.random.default_rng(seed), 40, 200)
    with solvers.Solver("glucose4", bootstrap_with=clauses, with_proof=True) as solver:
        satisfiable = solver.solve()
        lines = [] if satisfiable else solver.get_proof()
    lemmas = [tuple(int(word) for word in line.split()[:-1]) for line in lines if not line.startswith("d")]
    state, used, _ = state_of([*clauses, *lemmas], len(clauses), 40)
    assert state == (-2 if satisfiable else -1)
    if not satisfiable:
        kept = [lemma for lemma, needed in zip(lemmas, used[len(clauses) :], strict=True) if needed]
        assert state_of([*clauses, *kept], len(clauses), 40)[0] == -1
