"""Proofs in clauses: the checker writes the same clauses by its own code, follows true proofs,
and refuses all others.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import replace
from itertools import product
from zlib import compress, decompress

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.checker.accelerate.clauses import clauses_of, written
from sugenet.checker.accelerate.drup import followed
from sugenet.checker.accelerate.whole import whole_of
from sugenet.checker.limit import Limit
from sugenet.checker.setting import parts_of, setting_of
from sugenet.engines.outside.cnf import Cnf
from sugenet.engines.outside.trim import flat, propagate_all
from sugenet.errors import CertificateError, SugenetError
from sugenet.problem.outcomes import Holds
from sugenet.problem.regions import Hamming
from sugenet.reason.questions import Agree, Fair, Monotone, Robust, problems_of
from tests.checker.typed import asked_of, check_drup
from tests.problem.levels import any_network, some_of
from tests.problem.small import random_sample
from tests.problem.test_problem import REGIONS

pysat = pytest.importorskip("sugenet.engines.outside.pysat")
solvers = pytest.importorskip("pysat.solvers")


def both(network, question, other=None):
    """A question as the engines see it, and as the checker does."""
    problems, _ = problems_of(network, question)
    asked, limit = asked_of(question.data(network), network, other), Limit()
    plains = [whole_of(setting_of(asked, limit, part), limit) for part in parts_of(asked)]
    return list(zip(problems, plains, strict=True))


def states_of(clauses, given, steps, variables):
    """What the checker says of steps, and what the engine does."""
    numbers, starts, _ = written(clauses, Limit())
    said = followed(numbers, starts, given, np.array(steps, np.int64), variables)
    assert said == propagate_all(*flat(clauses), given, np.array(steps, np.int64), variables)[0]
    return said


@pytest.mark.parametrize("seed", range(25))
def test_the_checker_writes_the_same_clauses(seed):
    rng = np.random.default_rng(seed)
    network = any_network(rng, seed)
    x = random_sample(network, rng)
    label = int(network.predict(np.array([x], object))[0])
    for region in some_of(REGIONS, seed):
        for target, ties in (
            (None, "lowest"),
            (None, "against"),
            ((label + 1) % 3, "lowest"),
            ((label + 2) % 3, "against"),
        ):
            for problem, plain in both(network, Robust(x, region, target, ties)):
                cnf = Cnf.of(problem)
                assert clauses_of(plain) == (cnf.variables, list(cnf.clauses))
                found = pysat.PYSAT(problem)
                if isinstance(found, Holds):
                    assert "clauses say so" in check_drup(found.proof, plain)


@pytest.mark.parametrize("seed", range(12))
def test_the_checker_writes_the_same_clauses_for_two_sides(seed):
    rng = np.random.default_rng(100 + seed)
    network = any_network(rng, seed)
    names, n = network.encoder.names, network.encoder.width
    other = Network(
        network.encoder,
        [DenseLayer(rng.integers(-1, 2, (3, n)), [1, 2, 0])],
        Head(rng.integers(-1, 2, (3, 3)), [0, 1, 0]),
    )
    for question in (
        Agree(other),
        *(Fair([name]) for name in names[:2]),
        *(Monotone(name) for name in names[:2]),
    ):
        try:
            pairs = both(network, question, other)
        except SugenetError:
            continue  # a category cannot be raised, or a feature takes one value only
        for problem, plain in pairs:
            cnf = Cnf.of(problem)
            assert clauses_of(plain) == (cnf.variables, list(cnf.clauses))


@pytest.fixture(scope="module")
def proved():
    network = sg.models.digits()
    question = Robust(sg.models.samples("digits")[0][1], Hamming(2))
    (problem, plain) = both(network, question)[0]
    found = pysat.PYSAT(problem)
    assert isinstance(found, Holds)
    return found.proof, plain


def numbers_of(proof):
    return np.frombuffer(decompress(b64decode(proof["data"])), "<i4").tolist()


def with_numbers(proof, numbers):
    return {**proof, "data": b64encode(compress(np.array(numbers, "<i4").tobytes())).decode()}


def test_a_proof_is_followed(proved):
    proof, plain = proved
    assert check_drup(proof, plain).endswith("lemmas that follow one after another")
    assert proof["lemmas"] > 100


def test_a_proof_with_anything_changed_is_refused(proved):
    proof, plain = proved
    numbers = numbers_of(proof)
    with pytest.raises(CertificateError, match="ends without a contradiction"):
        check_drup(with_numbers(proof, []), plain)
    with pytest.raises(CertificateError, match="does not follow"):
        check_drup(with_numbers(proof, [1, 1, *numbers]), plain)
    with pytest.raises(CertificateError, match="does not follow"):
        check_drup(with_numbers(proof, [0]), plain)
    with pytest.raises(CertificateError, match="lemma 1 of the proof is damaged"):
        check_drup(with_numbers(proof, [1, proof["variables"] + 1]), plain)
    with pytest.raises(CertificateError, match="lemma 1 of the proof is damaged"):
        check_drup(with_numbers(proof, [5, 1]), plain)
    with pytest.raises(CertificateError, match="drops a lemma"):
        check_drup(with_numbers(proof, [-1, 3]), plain)
    with pytest.raises(CertificateError, match="other clauses"):
        check_drup({**proof, "clauses": proof["clauses"] - 1}, plain)
    with pytest.raises(CertificateError, match="other clauses"):
        check_drup(proof, replace(plain, budget=3))
    for data, words in (("!", "Only base64 data"), (proof["data"][:-8], "is cut off"), ("", "is cut off")):
        with pytest.raises(CertificateError, match=words):
            check_drup({**proof, "data": data}, plain)
    with pytest.raises(CertificateError, match="drup has no field 'solver'"):
        check_drup({"kind": "drup"}, plain)


def random_clauses(rng, variables, count):
    return [
        tuple(
            int(v) * int(s)
            for v, s in zip(rng.choice(variables, 3, replace=False) + 1, rng.choice([-1, 1], 3), strict=True)
        )
        for _ in range(count)
    ]


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
    for _ in range(20):
        lemma = tuple(
            int(v) * int(s)
            for v, s in zip(rng.choice(8, 2, replace=False) + 1, rng.choice([-1, 1], 2), strict=True)
        )
        state = states_of([*clauses, lemma], len(clauses), [len(clauses)], 8)
        assert (state == len(clauses)) != follows_by_propagation(clauses, lemma)
        assert not (satisfiable and state == -1)
        clauses = [*clauses, lemma] if state < 0 else clauses


@pytest.mark.parametrize("seed", range(10))
def test_proofs_of_random_clauses(seed):
    rng = np.random.default_rng(seed)
    clauses = random_clauses(rng, 40, 200)
    with solvers.Solver("glucose4", bootstrap_with=clauses, with_proof=True) as solver:
        satisfiable = solver.solve()
        lines = [] if satisfiable else solver.get_proof()
    lemmas = [tuple(int(word) for word in line.split()[:-1]) for line in lines if not line.startswith("d")]
    count = len(clauses)
    state, used, _ = propagate_all(
        *flat([*clauses, *lemmas]), count, np.arange(count, count + len(lemmas)), 40
    )
    assert state == (-2 if satisfiable else -1)
    if not satisfiable:
        kept = [lemma for lemma, needed in zip(lemmas, used[count:], strict=True) if needed]
        assert states_of([*clauses, *kept], count, range(count, count + len(kept)), 40) == -1
