"""Standing attacks on the checker: numbers of another type, and integers at the edges of the machine.

Every number of real certificates of every kind is replaced, one at a time. Brute force
(`tests.fuzzing.truth`) says whether what is still accepted is true.
"""

from __future__ import annotations

import copy
import json
from fractions import Fraction

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError
from sugenet.nn import Head, Network
from tests.fuzzing.forgeries import real
from tests.fuzzing.truth import is_true
from tests.problem.levels import KINDS, lively_network
from tests.problem.small import random_network

EDGES = (-(2**63), 2**63 - 1, 2**63, 2**31, -(2**31) - 1, 2**53 + 1, 2**64, 0, -1, 10**40)
FEW = 250


def pool(seed):
    """Certificates of all kinds about a small network."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, features=3) if seed % 2 else lively_network(rng, str(rng.choice(KINDS)))
    other = Network(network.encoder, (), Head(rng.integers(-1, 2, (3, network.encoder.width))))
    found = [json.loads(json.dumps(one)) for one in real(network, other, rng)]
    return rng, network, other, found


def numbers(data, path=()):
    """Where numbers are, text such as 5/2 too."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from numbers(value, (*path, key))
    elif type(data) in (int, float, bool) or (isinstance(data, str) and _exact(data) is not None):
        yield path


def _exact(text):
    try:
        return Fraction(text) if len(text) < 40 else None
    except (ValueError, ZeroDivisionError):
        return None


def at(data, path):
    for key in path:
        data = data[key]
    return data


def replaced(data, path, value):
    forged = copy.deepcopy(data)
    at(forged, path[:-1])[path[-1]] = value
    return forged


def accepted(certificate, network, other):
    try:
        sg.check(certificate, network, other, time_limit=4, memory_limit=400 << 20)
    except CertificateError:
        return False
    return True


def spellings(value):
    """The same number, or one beside it, as another type."""
    number = Fraction(value)
    yield from (True, False, None, [value], {"value": value}, str(value) + " ", f"{value}/1", f"+{value}")
    yield from (0.5, -0.0, 1e308, "NaN", "1e3", "0x1", "", [])
    yield float(number) if abs(number) < 2**1000 else 1.5
    yield str(number) if type(value) is not str else int(number)


def edges(_before):
    """Integers at the edges of the machine."""
    return EDGES


def attack(seed, values, most=None):
    rng, network, other, certificates = pool(seed)
    places = [(one, path) for one in certificates for path in numbers(one)]
    tried = 0
    for k in rng.permutation(len(places))[:most].tolist():
        certificate, path = places[k]
        before = at(certificate, path)
        for value in values(before):
            forged = replaced(certificate, path, value)
            tried += 1
            if not accepted(forged, network, other):
                continue
            assert type(value) is not bool or type(before) is bool, (seed, path, before, value)
            if _number(value) is not None and _number(value) == _number(before):
                assert type(value) is type(before) or not _is_integer(path), (seed, path, before, value)
            else:
                assert is_true(forged, network, other), (seed, path, before, value, certificate)
    return tried


def _number(value):
    if isinstance(value, str):
        return _exact(value)
    return Fraction(value) if type(value) in (int, float) else None


def _is_integer(path):
    """Whether a field counts or numbers something, so that it must be spelled as an integer."""
    names = [key for key in path if isinstance(key, str)]
    return names[-1] in INTEGERS


INTEGERS = (
    "version", "label", "target", "variables", "facts", "cuts", "lemmas", "clauses",
    "total", "counts", "movable", "fixed", "features", "feature", "inputs", "outputs", "order", "parts",
    "grid", "patches", "protected",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_a_number_of_another_type_is_refused(seed):
    assert attack(seed, spellings, FEW // 4)


@pytest.mark.parametrize("seed", range(4))
def test_integers_at_the_edges_of_the_machine_prove_nothing(seed):
    assert attack(seed, edges, FEW // 2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, *range(10, 30)])
def test_a_number_of_another_type_is_refused_at_length(seed):
    assert attack(seed, spellings)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_integers_at_the_edges_prove_nothing_at_length(seed):
    assert attack(seed, edges)
