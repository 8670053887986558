"""Proofs by multipliers: what is changed in them is refused, or still proves something true; damage is named;
and large numbers are added up as exactly as small ones.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from copy import deepcopy
from zlib import compress, decompress

import numpy as np
import pytest

from sugenet import Fair, Linf, Monotone, Refuted, Robust, check, verify
from sugenet.checker.accelerate.dual import _one_side
from sugenet.checker.limit import Limit
from sugenet.checker.setting import setting_of
from sugenet.errors import CertificateError
from sugenet.reason.verdicts import Proved
from tests.checker.typed import asked_of
from tests.engines.test_dual import KINDS, _everything
from tests.problem.levels import lively_network


def _numbers(proof):
    text = proof["multipliers"]
    return np.frombuffer(decompress(b64decode(text)), "<i8").copy() if text else np.zeros(0, np.int64)


def _packed(numbers):
    return b64encode(compress(np.asarray(numbers, "<i8").tobytes())).decode()


def _proved():
    """Certificates whose proofs have multipliers, some of them splits."""
    found = []
    for kind, made in KINDS.items():
        for seed in range(12):
            rng = np.random.default_rng([seed, len(kind)])
            network = made(rng)
            sample = rng.integers(0, [c.states for c in network.encoder.codings])
            answer = verify(network, Robust(sample, Linf(1)), engine="dual")
            if isinstance(answer, Proved) and answer.certificate["proof"]["multipliers"]:
                found.append((network, sample, answer.certificate))
                break
    return found


@pytest.fixture(scope="module")
def proved():
    found = _proved()
    assert len(found) >= 3
    assert any(isinstance(tree, list) for *_, c in found for tree in c["proof"]["cases"])
    return found


def _is_true(network, certificate):
    """Whether the claim holds, by all inputs."""
    question = certificate["question"]
    rows, classes = _everything(network)
    far = np.abs(rows - np.array(question["sample"])).max(axis=1)
    return (classes[far <= int(question["region"]["radius"])] == question["label"]).all()


def _accepted(certificate, network):
    try:
        check(certificate, network)
    except CertificateError:
        return False
    return True


def test_forged_proofs_are_refused_or_true(proved):
    rng = np.random.default_rng(0)
    refused = 0
    for network, _, certificate in proved:
        for turn in range(25):
            forged = deepcopy(certificate)
            proof, numbers = forged["proof"], _numbers(forged["proof"])
            match turn % 5:
                case 0:  # other multipliers
                    numbers[rng.integers(len(numbers))] += rng.integers(-(1 << 30), 1 << 30)
                    proof["multipliers"] = _packed(numbers)
                case 1:  # all zero: ranges alone
                    proof["multipliers"] = _packed(numbers * 0)
                case 2:  # a wider question with the same proof
                    forged["question"]["region"]["radius"] = str(2 + turn % 2)
                case 3:  # a leaf that claims to need nothing
                    place = int(rng.integers(len(proof["cases"])))
                    proof["cases"][place] = 0
                case _:  # signs
                    proof["multipliers"] = _packed(-numbers)
            if _accepted(forged, network):
                assert _is_true(network, forged)
            else:
                refused += 1
    assert refused > 25


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda proof: proof["cases"].pop(), "cases to be excluded"),
        (lambda proof: proof.update(multipliers=_packed(_numbers(proof)[:-1])), "end too soon"),
        (lambda proof: proof.update(multipliers=_packed([*_numbers(proof), 0])), "more multipliers"),
        (lambda proof: proof.update(multipliers="no"), "damaged|cut off"),
        (lambda proof: proof["cases"].__setitem__(0, True), "cases: an integer is needed, not True"),
        (
            lambda proof: proof["cases"].__setitem__(0, [1, 0, 1, 0]),
            "a split has a layer",
        ),
        (lambda proof: proof["cases"].__setitem__(0, [9, 0, 1, 0, 0]), "not there"),
        (lambda proof: proof["cases"].__setitem__(0, [1, -1, 1, 0, 0]), "a split has a layer"),
        (lambda proof: proof["cases"].__setitem__(0, [1, 0, 0, 0, 0]), "above 0"),
        (lambda proof: proof["cases"].__setitem__(0, [0, 99, 1, 0, 0]), "does not move"),
    ],
)
def test_damage_is_named(proved, change, said):
    network, _, certificate = proved[0]
    forged = deepcopy(certificate)
    change(forged["proof"])
    for plain in (False, True):
        with pytest.raises(CertificateError, match=said):
            check(forged, network, plain=plain)


def test_negative_weights_of_inequalities_are_refused(proved):
    network, _, certificate = proved[0]
    for place in (0, 1):  # of an inequality, and of the budget
        forged = deepcopy(certificate)
        numbers = _numbers(forged["proof"])
        numbers[place] = -1
        forged["proof"]["multipliers"] = _packed(numbers)
        for plain in (False, True):
            with pytest.raises(CertificateError, match="negative"):
                check(forged, network, plain=plain)


def test_numbers_beyond_64_bits_are_added_up_exactly():
    """With multipliers as large as they come, a leaf is judged as with those divided by a common factor."""
    network = KINDS["stairs"](np.random.default_rng(3))
    question = {
        "kind": "robust",
        "sample": [1, 1, 1, 1],
        "label": int(network.predict([[1, 1, 1, 1]])[0]),
        "target": None,
        "ties": "lowest",
        "region": {"kind": "Linf", "radius": "1"},
    }
    asked = _one_side(setting_of(asked_of(question, network), Limit()), Limit())
    ranges = asked.ranges({})
    rng = np.random.default_rng(0)

    class Told:
        def __init__(self, numbers):
            self.numbers = numbers

        def next(self, many):
            out, self.numbers = self.numbers[:many], self.numbers[many:]
            return out.tolist()

    verdicts = set()
    for _ in range(60):
        case = asked.cases[rng.integers(len(asked.cases))]
        many = len(case) + 1 + sum(layer.multipliers for layer in asked.layers)
        small = rng.integers(-40, 41, many) * (rng.random(many) < 0.4)
        small[: len(case) + 1] = abs(small[: len(case) + 1])
        said = []
        for factor in (1, 1 << 56):
            try:
                asked.see_multipliers(case, ranges, {}, Told(small * factor))
                said.append(True)
            except CertificateError:
                said.append(False)
        assert said[0] == said[1]
        verdicts.add(said[0])
    assert False in verdicts


@pytest.mark.parametrize("kind", ["dense", "mixed", "conv"])
def test_ranges_of_two_sides_add_up_what_features_do_to_one_neuron(kind):
    """A claim about pairs that is false is not excluded by ranges, though all features change each neuron."""
    refused = 0
    for seed in range(6):
        network = lively_network(np.random.default_rng([14, seed]), kind)
        for question in (Monotone(0, rising=True), Fair([0])):
            answer = verify(network, question)
            if isinstance(answer, Refuted):
                forged = deepcopy(answer.certificate) | {"answer": "proved", "witness": None}
                cases = 3 if isinstance(question, Monotone) else 6
                forged["proof"] = {"kind": "dual", "cases": [0] * cases, "multipliers": ""}
                with pytest.raises(CertificateError, match="ranges do not exclude"):
                    check(forged, network)
                refused += 1
    assert refused
