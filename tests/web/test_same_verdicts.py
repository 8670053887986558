"""The page's checker and ours on the same certificates, true and forged ones.

The page accepts nothing that Python refuses, refuses nothing that Python accepts, and what it covers it does
not leave open.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, CheckLimitError, EncodingError, NetworkError, TooLargeError
from sugenet.reason.envelope import kind_of
from sugenet.web import payload
from tests.checker import holes, make_golden, test_attacks, test_twin, twin
from tests.checker.typed import without_form
from tests.thinned import examples

QUESTIONS = ("robust", "whatif", "reason", "always", "never")
CHECK = """([pages, asked]) => {
  const models = pages.map((page) => new _engine_model.Model(JSON.parse(page)));
  return asked.map(([place, text]) => _engine_check.check(text, models[place]));
}"""


@cache
def page_of(network):
    """What the page knows of a network, as text; None if it does not show such networks."""
    try:
        return json.dumps(payload(network, title="check"))
    except (NetworkError, TooLargeError):
        return None


def is_covered(certificate):
    """Whether the page must tell: a claim about one input of a small network, whose proof is done again."""
    proof, domain = certificate["proof"], certificate.get("domain") or {"laws": []}
    if certificate["answer"] == "unknown" or (certificate["answer"] == "undecided" and proof is None):
        return False
    return (
        certificate["question"]["kind"] in QUESTIONS
        and not domain["laws"]
        and kind_of(proof) in (None, "bound", "enumerate")
    )


def by_python(certificate, network):
    """As the page says it."""
    try:
        said = sg.check(json.loads(json.dumps(certificate)), network, time_limit=4)
    except CheckLimitError as error:
        return {"holds": None, "said": str(error)}
    except CertificateError as error:
        return {"holds": False, "said": str(error)}
    return {"holds": True, "said": said}


def differ(here, there, certificate):
    """Whether the page says of a certificate what it must not, where Python says something."""
    if there["holds"] is None:  # prices that Python's walks do not take, say
        return False
    if here["holds"] is None:
        return there["holds"] and is_covered(certificate)
    return here["holds"] != there["holds"] or (here["holds"] and without_form(here) != without_form(there))


def compare(engine, cases):
    """See that both say the same of (network, certificate) pairs; how many both accept and refuse."""
    cases = [(network, certificate) for network, certificate in cases if page_of(network) is not None]
    networks = list(dict.fromkeys(id(network) for network, _ in cases))
    pages = {id(network): page_of(network) for network, _ in cases}
    asked = [(networks.index(id(network)), json.dumps(certificate)) for network, certificate in cases]
    found = engine(CHECK, [[pages[key] for key in networks], asked])
    accepted = refused = 0
    for (network, certificate), seen in zip(cases, found, strict=True):
        there = by_python(certificate, network)
        assert not differ(seen, there, certificate), (json.dumps(certificate), seen, there)
        accepted += seen["holds"] is True
        refused += seen["holds"] is False
    return accepted, refused


def sets_in(said):
    """How many sets of changes were enumerated."""
    found = re.search(r"none of the ([0-9,]+) sets", said)
    return 0 if found is None else int(found[1].replace(",", ""))


@pytest.mark.parametrize(("most", "share"), [(1500, 5), pytest.param(10**9, 1, marks=pytest.mark.slow)])
def test_golden_certificates(engine, most, share):
    stored = make_golden.stored()
    rows = [row for row in stored["certificates"] if row["other"] is None and sets_in(row["said"]) < most]
    cases = [(stored["networks"][row["network"]], row["certificate"]) for row in rows[::share]]
    accepted, refused = compare(engine, cases)
    assert accepted > 900 // share
    assert refused == 0


def test_forged_certificates(engine):
    cases = [(hole.network, hole.certificate) for hole in holes.every()]
    accepted, refused = compare(engine, cases)
    assert accepted > 15
    assert refused > 20


# -- random questions ----------------------------------------------------------------------------------------


def claims(net, network, asked, row, price):
    """Certificates about a question: each names a witness, or says that there is none."""
    witness = [twin.shown(value) for value in row]
    if asked.kind != "whatif":
        yield {"answer": "refuted", "witness": witness, "proof": None}
        contents = [{"answer": "proved", "witness": None}]
    else:
        for value in (price, price + 1):
            numbers = {"value": str(value), "lower": "0"}
            yield {"answer": "counterfactual", "witness": witness, "proof": None, **numbers}
        contents = [
            {"answer": "none", "witness": None},
            *({"answer": "open", "witness": None, "lower": str(lower)} for lower in {price, price + 1}),
        ]
    for content in contents:
        for kind in ("bound", "enumerate"):
            yield {**content, "proof": {"kind": kind}}


def reasons(network, data, row):
    """Claims about a reason: that it suffices, and that none is smaller, by a counterexample."""
    sufficient = {"answer": "sufficient", "witness": None, "proof": {"kind": "bound"}}
    yield sufficient
    proof = {"kind": "enumerate"}
    yield {**sufficient, "proof": proof}
    for feature, value in enumerate(row):
        yield {"answer": "minimal", "witness": [[feature, row]], "proof": proof}
        contrasts = [[[feature, value]], [*map(list, enumerate(row))]]
        yield {"answer": "minimum", "witness": None, "proof": proof, "contrasts": contrasts}


def price_of(net, asked, row):
    pairs = enumerate(zip(asked.sample, row, strict=True))
    if asked.cost.startswith("Prices") and any(f not in asked.prices and a != b for f, (a, b) in pairs):
        return 1  # a feature without a price stays
    return asked.price(net, row)


def random_cases(seed, rows):
    chance, net, asked, network = test_twin.asked_at(seed, "robust", "whatif", "whatif", "always", "never")
    _, bad = twin.decided(asked, net)
    every = list(twin.product(*asked.inputs(net)))
    for row in chance.sample(every, min(rows, len(every))) + bad[:2]:
        price = price_of(net, asked, row) if asked.kind == "whatif" else 0
        for contents in claims(net, network, asked, row, price):
            yield network, asked.certificate(net, network, **contents)
        if asked.kind == "robust":
            fixed = [f for f in range(len(net.features)) if chance.random() < 0.5]
            data = asked.certificate(net, network)
            data["question"] |= {"kind": "reason", "fixed": fixed}
            for contents in reasons(network, data, [twin.shown(value) for value in row]):
                yield network, {**data, **contents}


def test_random_questions(engine):
    cases = [case for seed in range(examples(120)) for case in random_cases(seed, 2)]
    accepted, refused = compare(engine, cases)
    assert accepted > examples(200)
    assert refused > examples(400)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 9000, 1600))
def test_random_questions_at_length(engine, start):
    compare(engine, [case for seed in range(start, start + 400) for case in random_cases(seed, 8)])


# -- attacks -------------------------------------------------------------------------------------------------


def attacked(seed, most):
    """Certificates of every kind with numbers replaced, one at a time."""
    _, network, _, certificates = test_attacks.pool(seed)
    rng = np.random.default_rng(seed)
    covered = [one for one in certificates if one["question"]["kind"] in QUESTIONS]
    places = [(one, path) for one in covered for path in test_attacks.numbers(one)]
    yield from ((network, one) for one in covered)
    for k in rng.permutation(len(places))[:most].tolist():
        certificate, path = places[k]
        for value in (*test_attacks.spellings(test_attacks.at(certificate, path)), *test_attacks.EDGES):
            yield network, test_attacks.replaced(certificate, path, value)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_another_type(engine, seed):
    accepted, refused = compare(engine, attacked(seed, 10))
    assert accepted
    assert refused > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_numbers_of_another_type_at_length(engine, seed):
    compare(engine, attacked(seed, None))


# -- what the page finds itself ------------------------------------------------------------------------------

FIND = """(cases) => cases.map(([page, sample, target, locked]) => {
  const payload = JSON.parse(page);
  const model = _engine_model.askedOf(payload);
  const states = model.statesOf(sample);
  const near = _engine_walk.nearest(model, states, { target, locked });
  const free = _engine_free.free(model, states, { target, locked });
  const limit = near.outcome === "none" ? near.provedUpTo : null;
  const about = { sample, target, locked, changes: near.changes, limit };
  const anywhere = new _engine_model.Model({ ...payload, domain: null });
  try {
    const text = _engine_strict_json.writePlain(_engine_certify.certify(model, about));
    return { near, free, text, seen: _engine_check.check(text, anywhere) };
  } catch (error) {
    return { near, free, refused: error.message };
  }
})"""


def least_of(net, asked):
    """The fewest features to change, by enumeration; None if no change does it."""
    bad = twin.decided(asked, net)[1]
    return min((asked.price(net, row) for row in bad), default=None)


def questions_of_pages(seeds):
    """Questions that a page answers: the fewest features that change the class, some of them held."""
    for seed in seeds:
        _, net, asked, network = test_twin.asked_at(seed, "whatif")
        asked = replace(asked, region=None, cost="L0", limit=None, ties="lowest")
        known = twin.within(asked, network)
        if not asked.obeys(asked.sample) or asked.target == net.label(asked.sample):
            continue
        try:
            page = payload(known, [[twin.shown(value) for value in asked.sample]], title="asked")
        except (EncodingError, NetworkError, TooLargeError):  # what the page would round, and says so
            continue
        yield net, asked, network, page


def see_found(engine, seeds):
    cases = list(questions_of_pages(seeds))
    asked = [
        [
            json.dumps(page),
            page["samples"][0]["values"],
            one.target,
            [f for f in range(len(net.features)) if f not in one.movable],
        ]
        for net, one, _, page in cases
    ]
    answers = set()
    for (net, one, network, _), found in zip(cases, engine(FIND, asked), strict=True):
        least, about = least_of(net, one), (one, net, found)
        assert found["near"]["outcome"] == ("none" if least is None else "minimum"), about
        assert found["free"]["outcome"] == ("proved" if least is None else "refuted"), about
        if least is not None:
            assert len(found["near"]["changes"]) == least, about
        if "refused" in found:
            assert "round the limits" in found["refused"], about
            continue
        said = by_python(json.loads(found["text"]), network)
        assert said["holds"], (about, said)
        seen = found["seen"]
        assert without_form(seen) == without_form(said) or (seen["holds"] is None and one.law), about
        answers.add((json.loads(found["text"])["answer"], bool(one.domain), one.law is not None))
    return answers


def test_what_the_page_finds_is_so_and_certified(engine):
    answers = see_found(engine, range(examples(400)))
    assert {answer for answer, *_ in answers} == {"counterfactual", "none"}
    assert {(limited, lawful) for _, limited, lawful in answers} >= {
        (False, False),
        (True, False),
        (False, True),
    }


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 9000, 800))
def test_what_the_page_finds_is_so_and_certified_at_length(engine, start):
    see_found(engine, range(start, start + 800))
