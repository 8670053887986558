"""Constraints that a lemma proof derives: each holds wherever those before it do, damaged sums are refused,
and no proof shows what is false.
"""

from __future__ import annotations

import json
from base64 import b64encode
from itertools import pairwise, product
from zlib import compress

import numpy as np
import pytest

import sugenet as sg
from sugenet.bnn import DenseLayer, Head, Network
from sugenet.checker.lemma import _System
from sugenet.errors import CertificateError
from tests.checker.plainly import lemma_plainly, thresholds_plainly
from tests.checker.test_rup import two_inputs
from tests.engines.test_learn import plain as system_of
from tests.engines.test_learn import random_cascade

PROOF = ["9 /2", "11 /2", "18 17 +", "14 20 +", "13 21 +", "15 22 +", "19 23 *2 + x10 +"]
PROOF += ["19 23 *2 + ~x8 +", "3 24 *4 + 8 25 *3 + +"]
"""Sums that Exact derived, which contradict each other."""


def with_sums():
    """A network, and a certificate that propagation alone does not show."""
    rng = np.random.default_rng(95)
    layers = [DenseLayer(rng.choice([-1, 1], (4, 6)), [4] * 4)]
    network = Network.of_bits(layers, Head(rng.choice([-1, 1], (3, 4)), [0, 1, 0]))
    certificate = sg.verify(network, sg.Robust([0, 1, 0, 1, 0, 0], sg.Hamming(2)), engine="cdcl").certificate
    certificate["proof"] = {"kind": "lemma", "variables": 14, "facts": [7], "cuts": []}
    certificate["proof"] |= {"clauses": [*PROOF, []], "sums": len(PROOF)}
    return network, json.loads(json.dumps(certificate))


@pytest.fixture(scope="module")
def proved():
    return with_sums()


def lemma(steps, system, facts=()):
    sums = sum(isinstance(step, str) for step in steps)
    about = {"kind": "lemma", "variables": system.starts[-1], "facts": list(facts), "cuts": []}
    return about | {"clauses": steps} | ({"sums": sums} if sums else {})


def is_accepted(steps, system):
    try:
        return lemma_plainly(lemma(steps, system), system).endswith(")")
    except CertificateError:
        return False


def test_sums_are_taken_by_every_form(proved):
    network, certificate = proved
    said = "9 sums and 1 clauses follow one after the other, the last one empty (plain form)"
    text = "\n".join(f"p {step} 0" for step in PROOF) + "\n0"
    packed = {"clauses": b64encode(compress(text.encode())).decode(), "encoding": "zlib+base64"}
    for proof in (certificate["proof"], certificate["proof"] | packed):
        for plain in (False, True):
            assert sg.check(certificate | {"proof": proof}, network, plain=plain) == said
    for steps in ([[]], [*PROOF[:-1], []], [*PROOF[1:], []]):
        sums = {"sums": len(steps) - 1} if len(steps) > 1 else {}
        shorter = {k: v for k, v in certificate["proof"].items() if k != "sums"} | {"clauses": steps} | sums
        with pytest.raises(CertificateError, match=r"does not follow|no constraint 20"):
            sg.check(certificate | {"proof": shorter}, network)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("0", "'0' is not a word"),
        ("-1", "'-1' is not a word"),
        ("01", "'01' is not a word"),
        ("18", "there is no constraint 18 before"),
        ("1 *0", r"'\*0' is not a word"),
        ("1 *-2", r"'\*-2' is not a word"),
        ("1 /0", "'/0' is not a word"),
        ("1 /-2", "'/-2' is not a word"),
        ("1 /2.0", "'/2.0' is not a word"),
        ("1 *True", r"'\*True' is not a word"),
        ("1 *٣", r"is not a word"),
        ("x0", "'x0' is not a word"),
        ("x6", "6 is not a literal"),
        ("~x6", "-6 is not a literal"),
        ("-x1", "'-x1' is not a word"),
        ("", "'' is not a word"),
        ("1  2 +", "'' is not a word"),
        ("+", r"'\+' is not a word"),
        ("1 +", r"'\+' is not a word"),
        ("s", "'s' is not a word"),
        ("*2", r"'\*2' is not a word"),
        ("1 x1 w", "'w' is not a word"),
        ("1 2", "does not end with one"),
        (" ".join(["1"] * 17), "more than 16 constraints"),
        ("x1" + f" *{'9' * 100}" * 13, "too large"),
        ("1 *" + "9" * 101, "is not a word"),
    ],
)
def test_damaged_sums_are_refused(step, words):
    system = two_inputs(2)  # which has 7 constraints, and 5 variables
    with pytest.raises(CertificateError, match=words):
        lemma_plainly(lemma([*["x1"] * 10, step, []], system), system)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sums": 1}, "the proof has 2 sums, not 1"),
        ({"sums": True}, "sums: an integer is needed"),
        ({"sums": -1}, "sums: an integer of at least 0"),
        ({"sums": 0}, "sums must be left out"),
        ({"clauses": ["1", 2, []]}, "clauses: a list or text"),
        ({"clauses": ["1", [True], []]}, "clauses: an integer is needed"),
        ({"clauses": ["1", "1"]}, "does not end with the empty clause"),
        ({"clauses": []}, "the proof has 0 sums, not 2"),
    ],
)
def test_damaged_fields_are_refused(change, words):
    system = two_inputs(3)
    proof = lemma(["1", "2", []], system)
    lemma_plainly(proof, system)
    with pytest.raises(CertificateError, match=words):
        lemma_plainly(proof | change, system)


def test_a_compiled_check_does_not_take_sums_that_are_not_counted(proved):
    network, certificate = proved
    proof = {k: v for k, v in certificate["proof"].items() if k != "sums"}
    text = "\n".join(f"p {step} 0" for step in PROOF) + "\n0"
    packed = {"clauses": b64encode(compress(text.encode())).decode(), "encoding": "zlib+base64"}
    for changed in (proof, proof | packed):
        for plain in (False, True):
            with pytest.raises(CertificateError, match=r"the proof has 9 sums|sums have no compiled form"):
                sg.check(certificate | {"proof": changed}, network, plain=plain)


# -- attacks -------------------------------------------------------------------------------------------------


def random_sum(rng, constraints, variables):
    """A sum of a few constraints and literals, with factors, divisions and saturation anywhere."""
    words = []
    for number in range(rng.integers(1, 5)):
        if rng.random() < 0.3:
            words.append(f"{'~' * int(rng.integers(2))}x{rng.integers(1, variables + 1)}")
        else:
            words.append(str(rng.integers(1, constraints + 1)))
        words += [[], [f"*{rng.integers(1, 5)}"], [f"/{rng.integers(1, 5)}"], ["s"]][rng.integers(4)]
        words += ["+"] * bool(number)
        words += [[], [f"/{rng.integers(1, 5)}"], ["s"]][rng.integers(3)]
    return " ".join(words)


def test_what_is_derived_holds_wherever_the_constraints_hold():
    rng = np.random.default_rng(0)
    strong = 0
    for _ in range(60):
        cascade = random_cascade(rng, steps=3, hidden=[2])
        if not 1 <= len(cascade.cases) <= 2:
            continue
        system = _System(thresholds_plainly(system_of(cascade)))
        signed = np.array(list(product((False, True), repeat=system.count)))
        true = {v: signed[:, v - 1] for v in range(1, system.count + 1)}
        true |= {-v: ~column for v, column in true.items()}

        def holds(constraint, true=true, signed=signed):
            factors, bound = constraint
            return sum((f * true[x] for x, f in factors.items()), np.zeros(len(signed), np.int64)) >= bound

        met = np.logical_and.reduce([holds(one) for one in system.constraints])
        for _ in range(20):
            found = system.summed(random_sum(rng, len(system.constraints), system.count))
            assert all(factor > 0 for factor in found[0].values())
            assert holds(found)[met].all()
            before = [holds(one) for one in system.constraints]
            strong += not all((holds(found) | ~one).all() for one in before)
            system.add(*found)
    assert strong > 100


def forged(rng, steps, constraints, variables):
    """Steps of a proof with a few words, signs or numbers changed."""
    steps = [step if isinstance(step, str) else list(step) for step in steps]
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(steps)))
        if rng.random() < 0.2:
            steps.insert(place, random_sum(rng, constraints, variables))
        elif isinstance(steps[place], str):
            words = steps[place].split(" ")
            k = int(rng.integers(len(words)))
            new = [str(rng.integers(1, constraints + 1)), f"*{rng.integers(1, 9)}", f"/{rng.integers(1, 9)}"]
            new += ["s", "+", f"x{rng.integers(1, variables + 1)}", f"~x{rng.integers(1, variables + 1)}"]
            words[k : k + int(rng.integers(2))] = [new[rng.integers(len(new))]]
            steps[place] = " ".join(words)
        else:
            steps[place] = [int(rng.integers(1, variables + 1)) * int(rng.choice([-1, 1]))]
    return [*steps, []]


def attack(seed, count):
    """How many forged proofs of false claims were accepted, and how many of true ones."""
    rng = np.random.default_rng(seed)
    accepted = {True: 0, False: 0}
    for _ in range(count):
        cascade = random_cascade(rng, steps=3, hidden=[2])
        if not cascade.cases:
            continue
        system = system_of(cascade)
        size = len(_System(thresholds_plainly(system)).constraints)
        steps = [random_sum(rng, size, system.starts[-1]) for _ in range(rng.integers(1, 5))]
        for _ in range(8):
            if is_accepted(forged(rng, steps, size, system.starts[-1]), system):
                accepted[is_true(system)] += 1
    return accepted


def is_true(system):
    """Whether no choice of steps is a violation, by all of them."""
    for chosen in product((0, 1), repeat=system.starts[1]):
        if any(chosen[b] > chosen[a] for chain in system.chains for a, b in pairwise(chain)):
            continue
        bits = np.array(chosen)
        if (
            system.budget is not None
            and sum(p for p, b in zip(system.budget[0], bits, strict=True) if b) > (system.budget[1])
        ):
            continue
        for weights, least in system.layers:
            bits = (weights @ bits >= least).astype(int)
        if any(all(bits[row] for row in case) for case in system.cases):
            return False
    return True


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 9))])
def test_random_proofs_show_nothing_false(seed):
    accepted = attack(seed, 200 if seed == 0 else 1500)
    assert accepted[False] == 0
    assert accepted[True] > 50


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_changed_proofs_show_nothing_false(proved, seed):
    """The proof of a question, changed at random, for wider questions that have a violation."""
    network, certificate = proved
    rng, accepted = np.random.default_rng(seed), 0
    question = certificate["question"]
    wider = question | {"region": {"kind": "Hamming", "radius": "4"}}
    assert sg.verify(network, sg.Robust(question["sample"], sg.Hamming(4))).outcome == "refuted"
    for _ in range(300 if seed == 0 else 3000):
        steps = forged(rng, PROOF, 28, 14)
        for asked, facts in ((wider, []), (question, [7])):  # a literal is there in place of the fact
            proof = certificate["proof"] | {"clauses": [*["x1"] * (not facts), *steps], "facts": facts}
            proof["sums"] = sum(isinstance(step, str) for step in proof["clauses"])
            try:
                sg.check(certificate | {"question": asked, "proof": proof}, network)
            except CertificateError:
                continue
            assert asked is question
            accepted += 1
    assert accepted > 10
