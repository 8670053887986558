"""Proofs by multipliers in plain form and in compiled form: both accept what the engine finds, the plain form
accepts what the compiled one does, and neither accepts a proof of something false.
"""

from base64 import b64decode, b64encode
from collections import Counter
from copy import deepcopy
from functools import cache
from itertools import product
from math import prod
from zlib import compress, decompress

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.domain import within_domain
from sugenet.checker.form import read_certificate
from sugenet.checker.limit import Limit
from sugenet.checker.multipliers import _over_bits, _over_levels
from sugenet.checker.problem import combined
from sugenet.checker.setting import Asked, setting_of
from sugenet.checker.splits import center_of
from sugenet.errors import CertificateError
from sugenet.reason.verdicts import Proved, Refuted
from tests.checker.make_golden import mixed
from tests.engines.test_dual import KINDS
from tests.problem.levels import KINDS as LEVELS
from tests.problem.levels import every_input, lively_network
from tests.problem.small import random_network

MADE = [
    *KINDS.values(),
    *(lambda rng, kind=kind: lively_network(rng, kind) for kind in LEVELS),
    lambda rng: mixed(int(rng.integers(1, 4))),
    random_network,
]


def questions(network, rng):
    """Questions about regions with and without a budget, about two inputs and about two networks."""
    rows = every_input(network)
    rows = rows[[network.domain.broken(row) is None for row in rows.tolist()]]
    sample, feature = rows[rng.integers(len(rows))].tolist(), int(rng.integers(rows.shape[1]))
    for radius in (1, 2):
        yield from (sg.Robust(sample, kind(radius)) for kind in (sg.L0, sg.L1, sg.Linf))
    yield from (sg.Always(0), sg.Never(0), sg.Fair([feature]), sg.Agree(network))
    if not hasattr(network.encoder.codings[feature], "categories"):
        yield sg.Monotone(feature)


@cache
def asked():
    """Networks and certificates, some within laws."""
    found = []
    for number, made in enumerate(MADE, start=16):  # these are quick
        rng = np.random.default_rng(number)
        network = made(rng)
        coding, name = network.encoder.codings[0], network.encoder.names[0]
        if number % 3 == 2 and not hasattr(coding, "categories"):
            network = network.within(f"if {name} >= 1 then {network.encoder.names[-1]} >= 1")
        for question in questions(network, rng):
            answer = sg.verify(network, question, engine="dual")
            if isinstance(answer, Proved | Refuted):
                other = network if isinstance(question, sg.Agree) else None
                found.append((network, other, answer.certificate))
    return found


def question_of(network, other, certificate):
    """What the plain form makes of a question."""
    form = form_of(network)
    read = read_certificate(certificate, form)
    lawful, limits = within_domain(read.domain, form, Limit())
    setting = setting_of(Asked(read.question, form, lawful, limits, other and form_of(other)), Limit())
    is_expanded = len(setting.networks) > 1 or lawful.clauses
    return (_over_bits if is_expanded else _over_levels)(setting, Limit())


def numbers_of(proof):
    text = proof["multipliers"]
    return np.frombuffer(decompress(b64decode(text)), "<i8").copy() if text else np.zeros(0, np.int64)


def with_numbers(proof, numbers):
    packed = b64encode(compress(np.asarray(numbers, "<i8").tobytes())).decode() if len(numbers) else ""
    return proof | {"multipliers": packed}


def is_accepted(network, other, certificate, *, plain):
    try:
        return bool(sg.check(certificate, network, other, plain=plain))
    except CertificateError:
        return False


def tree_of(rng, depth=0):
    """A leaf or a split."""
    if depth > 2 or rng.random() < 0.4:
        return int(rng.integers(2))
    where = int(rng.integers(3)), int(rng.integers(5)), int(rng.integers(1, 3))
    return [*where, tree_of(rng, depth + 1), tree_of(rng, depth + 1)]


def leaves_of(tree):
    """How many leaves have multipliers."""
    return sum(map(leaves_of, tree[3:])) if isinstance(tree, list) else tree


def changed(proof, rng):
    """Another proof: other multipliers, or other splits."""
    proof, numbers = deepcopy(proof), numbers_of(proof)
    match int(rng.integers(4)):
        case 0:
            numbers[rng.integers(len(numbers), size=min(1, len(numbers)))] += rng.integers(-3, 4)
        case 1:
            numbers = (numbers * rng.uniform(0.9, 1.1, len(numbers))).astype(np.int64)
        case 2:
            numbers = numbers // int(rng.integers(2, 1000))
        case _:
            proof["cases"][rng.integers(len(proof["cases"]))] = tree_of(rng)
    return with_numbers(proof, numbers)


def test_there_are_all_sorts():
    kinds = {(one["question"]["kind"], "domain" in one) for *_, one in asked() if one["answer"] == "proved"}
    assert {kind for kind, _ in kinds} == {"robust", "always", "never", "fair", "agree", "monotone"}
    assert {kind for kind, is_lawful in kinds if is_lawful} >= {"robust", "fair", "agree"}
    assert sum("[" in str(one["proof"]["cases"])[1:] for *_, one in asked() if one["proof"]) > 10


def test_both_forms_accept_what_the_engine_proves_and_the_plain_one_whatever_the_other_does():
    rng, seen = np.random.default_rng(0), []
    for network, other, certificate in asked():
        if certificate["answer"] != "proved":
            continue
        said = sg.check(certificate, network, other)
        assert sg.check(certificate, network, other, plain=True) == said.replace(")", ", plain form)")
        forged = certificate | {"proof": changed(certificate["proof"], rng)}
        compiled, plain = (is_accepted(network, other, forged, plain=form) for form in (False, True))
        assert plain or not compiled  # its ranges are never wider
        seen.append((compiled, plain))
    assert seen.count((True, True)) > 50
    assert seen.count((False, False)) > 20
    assert seen.count((False, True)) < 10


def test_no_form_accepts_a_proof_of_something_false():
    """Proofs at random, and proofs of the same claim about fewer inputs, also changed."""
    rng, proofs, tried = np.random.default_rng(1), {}, 0
    for network, other, certificate in asked():
        key = id(network), certificate["question"]["kind"], str(certificate["question"].get("label"))
        if certificate["answer"] == "proved":
            proofs.setdefault(key, []).append(certificate["proof"])
            continue
        known = proofs.get(key, [])
        question = question_of(network, other, certificate)
        many = sum(1 if hasattr(n, "weights") else len(n.inputs) for row in question.layers for n in row)
        forged = [*known, *(changed(proof, rng) for proof in known)]
        for turn in range(4):  # with as many multipliers as are needed
            trees = [tree_of(rng) if turn else 1 for _ in question.cases]
            sizes = [leaves_of(t) * (len(c) + 1 + many) for t, c in zip(trees, question.cases, strict=True)]
            numbers = rng.integers(0 if turn < 3 else -3, 4, sum(sizes))
            forged.append(with_numbers({"kind": "dual", "cases": trees}, numbers))
        for proof in forged:
            lie = certificate | {"answer": "proved", "witness": None, "proof": proof}
            tried += 1
            for plain in (False, True):
                assert not is_accepted(network, other, lie, plain=plain)
    assert tried > 100


def inputs_of(question, windows):
    """Every input of a question within splits: what the first layer reads."""
    features = [
        [option for k, option in enumerate(options) if least <= k <= most]
        for number, options in question.features.items()
        for least, most in [windows.get((0, number), (0, len(options)))]
    ]
    for chosen in product(*features):
        if question.budget is None or sum(price for price, _ in chosen) <= question.budget:
            values = list(question.start)
            for place, change in ((place, change) for _, row in chosen for place, change in row.items()):
                values[place] += change
            yield values


def levels_of(question, values, windows):
    """Sums and levels of all layers; None if splits exclude them."""
    sums, levels = [], [values]
    for number, neurons in enumerate(question.layers, start=1):
        found = [neuron.level(levels[-1]) for neuron in neurons]
        sums.append([n.total(levels[-1]) if hasattr(n, "weights") else n.level(levels[-1]) for n in neurons])
        levels.append(found)
        for (layer, j), (least, most) in windows.items():
            if layer == number and not least <= found[j] <= most:
                return None
    return sums, levels


def some_split(question, rng):
    """Splits at random: part of the levels of a neuron, or of the options of a feature."""
    windows = {}
    for _ in range(rng.integers(3)):
        layer = int(rng.integers(len(question.layers) + 1)) * int(rng.integers(2))
        unit = int(rng.choice(list(question.features) if layer == 0 else len(question.layers[layer - 1])))
        parts = question.split((layer, unit, 1, 0, 1), windows)
        windows = parts[rng.integers(2)][1]
    return windows


def test_no_input_leaves_the_ranges_or_exceeds_the_bound_of_a_leaf():
    """For any multipliers and any splits."""
    rng, seen = np.random.default_rng(2), Counter()
    for network, other, certificate in asked():
        question = question_of(network, other, certificate)
        if not question.features or prod(map(len, question.features.values())) > 300:
            continue
        for _ in range(4):
            windows, case = some_split(question, rng), question.cases[rng.integers(len(question.cases))]
            ranges = question.ranges(windows)
            mu, nu = rng.integers(0, 5, len(case)).tolist(), int(rng.choice([0, 1, 1000]))
            lambdas = [rng.integers(-3, 4, count).tolist() for count in question.shares]
            worth, needed = combined(mu, 0, case, [0] * len(case))
            bound = ranges and question.bound(case, worth, ranges, windows, nu, lambdas)
            for values in inputs_of(question, windows):
                found = levels_of(question, values, windows)
                if found is None:
                    continue
                assert ranges is not None
                for own, ends in zip((*found[0], *found[1]), (*ranges[1], *ranges[0]), strict=True):
                    assert all(low <= value <= high for value, (low, high) in zip(own, ends, strict=True))
                short = [sum(w * found[1][-1][j] for j, w in row.items()) - least for row, least in case]
                is_met = min(short) >= 0
                if is_met or center_of(case) is None:
                    assert bound is not None
                    assert sum(a * b for a, b in zip(mu, short, strict=True)) <= bound - needed
                seen[is_met, center_of(case) is None, bool(windows)] += 1
    assert len(seen) == 8, seen
    assert center_of([({0: 1, 1: -1}, 0), ({0: 1, 2: -1}, 0)]) == 0
    assert center_of([({0: 1, 1: -1}, 0), ({0: 1, 1: -2}, 0)]) is None  # neuron 1 would count twice


@pytest.mark.parametrize("plain", [False, True])
def test_multipliers_of_any_size_are_added_up_exactly(plain):
    """Multiplied by 2^62 as far as they fit, they prove the same."""
    done = 0
    for network, other, certificate in asked():
        numbers = numbers_of(certificate["proof"]) if certificate["answer"] == "proved" else ()
        if len(numbers) and 0 < abs(numbers).max() < 1 << 40:
            large = numbers * ((1 << 62) // int(abs(numbers).max()))
            proof = with_numbers(certificate["proof"], large)
            assert sg.check(certificate | {"proof": proof}, network, other, plain=plain)
            done += 1
    assert done > 20
