"""The plain forms say what the compiled ones say: of certificates of every kind, of forged ones,
and of random cases.
"""

from itertools import islice

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, CheckLimitError
from tests.checker.plainly import lemma_plainly
from tests.checker.test_golden import golden
from tests.checker.typed import check_rup, without_form
from tests.engines.test_learn import plain as system_of
from tests.engines.test_learn import random_cascade
from tests.engines.walked import walk, walked_plainly
from tests.fuzzing.forgeries import forgeries


def said_of(certificate, network, other, *, plain):
    """What is said, or why it is refused."""
    try:
        return sg.check(certificate, network, other, plain=plain, time_limit=2.0)
    except CertificateError as error:
        return error


@pytest.mark.parametrize("share", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_both_say_the_same_of_the_golden_certificates(share):
    networks, seen = golden()["networks"], {}
    for row in golden()["certificates"][::share]:
        other = None if row["other"] is None else networks[row["other"]]
        said = said_of(row["certificate"], networks[row["network"]], other, plain=True)
        if isinstance(said, CheckLimitError):
            continue
        said = f"{type(said).__name__}: {said}" if isinstance(said, CertificateError) else said
        assert without_form(said) == without_form(row["said"]), row["name"]
        proof = row["certificate"]["proof"] or {}
        kind = "list" if isinstance(proof, list) else proof.get("kind")
        seen[kind] = seen.get(kind, 0) + 1
    kinds = {
        "enumerate",
        "lemma",
        "dual",
        "partition",
        "bound",
        "patches",
        "list",
    }
    assert kinds <= seen.keys()
    assert seen["enumerate"] > 300 // share
    assert seen["lemma"] > 10 // share
    assert seen["partition"] > 50 // share


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_both_refuse_the_same_forgeries(seed):
    refused, accepted = 0, 0
    for forgery in islice(forgeries(300 + seed), 400):
        fast, plain = (
            said_of(forgery.certificate, forgery.network, forgery.other, plain=plain)
            for plain in (False, True)
        )
        if isinstance(plain, CheckLimitError) or isinstance(fast, CheckLimitError):
            continue
        if isinstance(fast, str):
            assert without_form(str(fast)) == without_form(str(plain)), forgery.how
        assert type(fast) is type(plain), forgery.how
        refused += isinstance(fast, CertificateError)
        accepted += isinstance(fast, str)
    assert refused > 150
    assert accepted > 30


def test_walks_of_random_cases():
    rng = np.random.default_rng(0)
    violations = 0
    for _ in range(150):
        neurons, features = int(rng.integers(0, 7)), int(rng.integers(0, 5))
        options = [
            [(int(rng.integers(0, 4)), rng.integers(-2, 3, neurons)) for _ in range(rng.integers(1, 4))]
            for _ in range(features)
        ]
        budget = None if rng.random() < 0.3 else int(rng.integers(0, 7))
        base, head = rng.integers(-3, 3, neurons), rng.integers(-2, 3, (2, 3))
        layers = [(rng.integers(-2, 3, (3, neurons)), rng.integers(0, 4, 3))]
        edge = int(rng.integers(0, 5))
        case = (
            base,
            options,
            budget,
            layers,
            head,
            lambda counts, edge=edge: counts[:, 0] - counts[:, 1] > edge,
        )
        found = walk(*case)
        assert found == walked_plainly(*case)
        violations += found.bad
    assert 20 < violations < 130


def test_propagation_of_random_cases():
    rng = np.random.default_rng(0)
    words = set()
    for _ in range(300):
        cascade = random_cascade(rng, steps=4, hidden=[3])
        if not cascade.cases:
            continue
        system = system_of(cascade)
        total = system.starts[-1]
        clauses = [
            (rng.choice(total, rng.integers(1, 4), replace=False) + 1).tolist()
            for _ in range(rng.integers(0, 4))
        ]
        clauses = [[int(x) * int(rng.choice([-1, 1])) for x in clause] for clause in clauses]
        proof = {"kind": "lemma", "variables": total, "facts": [], "cuts": [], "clauses": [*clauses, []]}
        said = []
        for check in (check_rup, lemma_plainly):
            try:
                said.append(check(proof, system))
            except CertificateError as error:
                said.append(str(error))
        assert said[0] == without_form(said[1])
        words.add(said[0].split(",")[0])
    assert len(words) > 6  # clauses that follow, and those that do not at every place


def test_what_is_too_large_for_the_plain_form_is_said():
    rng = np.random.default_rng(0)
    layer = sg.nn.DenseLayer(rng.choice([-1, 1], (4, 20)), [12] * 4)
    network = sg.Network.of_bits([layer], sg.nn.Head(rng.choice([-1, 1], (2, 4)), [9, 0]))
    answer = sg.verify(network, sg.Robust([0] * 20, sg.Hamming(20)), engine="exhaust")
    assert sg.check(answer.certificate, network).startswith("none of the 1,048,576 sets of changes")
    with pytest.raises(CheckLimitError, match="0 s were not enough"):
        sg.check(answer.certificate, network, plain=True, time_limit=0)
