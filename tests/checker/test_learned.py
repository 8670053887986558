"""Certificates of what was learned from ratings: those as found are accepted, changed ones are refused."""

import json
from copy import deepcopy
from fractions import Fraction
from re import fullmatch

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError

LEVELS = sg.fit.Ratings(
    [[0, 3, 1], [2, 2, 0], [3, 1, 1], [1, 1, 2], [0, 2, 2], [3, 3, 3]], [2, 0, 1, 3, 1, 2], scale=range(4)
)
NUMBERS = sg.fit.Ratings([[0.1, 0.9], [0.6, 0.3], [0.7, 0.2], [0.5, 0.5]], [0.8, 0.3, 0.6, 0.4])
FINE = sg.fit.Ratings([[0.25, 0.75], [0.75, 0.25]], [0.5, 0.75])

ANSWERS = {
    "fits": (FINE, lambda: sg.fit.version_space(FINE)),
    "conflict": (LEVELS, lambda: sg.fit.version_space(LEVELS)),
    "largest": (LEVELS, lambda: sg.fit.fit_capacity(LEVELS)),
    "numbers": (NUMBERS, lambda: sg.fit.fit_capacity(NUMBERS)),
    "maxitive": (LEVELS, lambda: sg.fit.fit_capacity(LEVELS, maxitive=2)),
    "minitive": (NUMBERS, lambda: sg.fit.fit_capacity(NUMBERS, minitive=1)),
    "total": (LEVELS, lambda: sg.fit.fit_capacity(LEVELS, "total")),
    "prices": (NUMBERS, lambda: sg.fit.fit_capacity(NUMBERS, "total", costs={"over": 2, "under": 0.5})),
    "between": (LEVELS, lambda: sg.fit.fit_capacity(LEVELS, "total", time_limit=0)),
    "table": (LEVELS, lambda: sg.fit.fit_capacity(LEVELS, "total", costs=1 - np.eye(4, dtype=int))),
}


def certificate(name):
    ratings, ask = ANSWERS[name]
    return ratings, json.loads(json.dumps(ask().certificate))


@pytest.mark.parametrize("name", ANSWERS)
def test_what_was_found_is_accepted(name):
    ratings, found = certificate(name)
    assert sg.check(found, ratings)


def walk(data, path=()):
    """Every place in a certificate."""
    if path:
        yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from walk(value, (*path, key))


def at(data, path):
    for key in path:
        data = data[key]
    return data


def others(value):
    """Other values for a place in a certificate."""
    yield from (None, "x", -1, 0.5, -0.0, [], {}, True)
    edges = [-(2**63), -(2**31), 0, 2**31, 2**53, 2**62, 2**63 - 1, 2**63, 2**64, 10**30]
    if isinstance(value, int):
        yield from (value + 1, value - 1, *edges)
    if isinstance(value, str) and fullmatch(r"[0-9]+(/[0-9]+)?", value):
        yield from (str(Fraction(value) + 1), str(Fraction(value) / 2), "1e3", "1/0", "-1", *map(str, edges))
    if isinstance(value, list) and value:
        yield from (value[:-1], value[1:], value + value[:1], [value])


def is_true(forged, ratings):
    """Whether what a changed certificate claims is so: the question that it names, asked anew."""
    question = forged["question"]
    if question["kind"] == "version space":
        answer = sg.fit.version_space(ratings)
        return answer.certificate["answer"] == forged["answer"] and len(forged.get("dropped", ())) == len(
            getattr(answer, "dropped", ())
        )
    costs = question.get("costs")
    if isinstance(costs, dict):
        costs = {name: Fraction(cost) for name, cost in costs.items()}
    if isinstance(costs, list):
        costs = [[Fraction(cost) for cost in row] for row in costs]
    limits = {name: question[name] for name in ("maxitive", "minitive") if question.get(name) is not None}
    answer = sg.fit.fit_capacity(ratings, question["loss"], costs=costs, **limits)
    least = Fraction(forged.get("least", forged["error"]))
    return least <= answer.error <= Fraction(forged["error"])


@pytest.mark.parametrize("name", ANSWERS)
def test_every_change_is_refused_or_true(name):
    ratings, found = certificate(name)
    refused = accepted = 0
    for path in list(walk(found)):
        for other in others(at(found, path)):
            forged = deepcopy(found)
            at(forged, path[:-1])[path[-1]] = other
            if forged == found and type(other) is type(at(found, path)):
                continue
            try:
                sg.check(forged, ratings)
            except CertificateError:
                refused += 1
            else:
                accepted += 1
                assert is_true(forged, ratings), (path, other)
    assert refused > 5 * accepted


@pytest.mark.parametrize("name", ANSWERS)
def test_fields_that_nobody_reads_and_missing_ones_are_refused(name):
    ratings, found = certificate(name)
    for path in [(), ("question",), ("proof",)]:
        forged = deepcopy(found)
        at(forged, path)["note"] = 1
        with pytest.raises(CertificateError, match="'note' that it must not have"):
            sg.check(forged, ratings)
        for field in list(at(found, path)):
            forged = deepcopy(found)
            del at(forged, path)[field]
            with pytest.raises(CertificateError):
                sg.check(forged, ratings)


@pytest.mark.parametrize(
    ("name", "path", "other", "said"),
    [
        ("largest", ("error",), "0", "force no error of 0"),
        ("largest", ("error",), "1/2", "is impossible"),
        ("largest", ("error",), str(2**63 - 1), "is impossible"),
        ("minitive", ("error",), "2", "is impossible"),
        ("maxitive", ("error",), str(2**62), "is impossible"),
        ("total", ("error",), "-1", "the error -1 is negative"),
        (
            "total",
            ("proof",),
            {"kind": "envelopes", "because": [], "lower": [], "upper": []},
            "not of the kind",
        ),
        ("maxitive", ("question", "minitive"), 1, "must be null"),
        ("prices", ("question", "costs", "over"), "-1", "a cost is negative"),
        ("largest", ("proof", "because"), [0], "force no error"),
        ("largest", ("proof", "lower"), [], "least capacity does not give sample"),
        ("largest", ("proof", "lower"), [0, 0], "names a sample twice"),
        ("fits", ("proof", "upper"), [], "greatest capacity does not give sample"),
        ("conflict", ("dropped",), [], "no sample is dropped"),
        ("conflict", ("dropped",), [0, 1, 2, 3, 4, 5], "chains allow another number"),
        ("conflict", ("proof", "chains"), [], "do not hold every sample"),
        ("maxitive", ("proof", "capacity"), [[[0], "3"]], "errs by more than"),
        ("maxitive", ("proof", "capacity"), [[[0, 1, 2], "3"]], "1 to 2 different criteria"),
        ("maxitive", ("proof", "capacity"), [[[0], "2"]], "no set is worth top"),
        ("total", ("error",), "1", "do not cost 1"),
        ("total", ("proof", "parts"), [], "prove that the total cost is at least"),
        ("total", ("proof", "parts"), [[0, "1", 3, "3", "1"]], "does not bind"),
        ("total", ("question", "costs"), {"over": "2", "under": "1"}, "do not cost"),
        ("prices", ("question", "costs"), [], "no scale of levels"),
        ("between", ("least",), "7", "the total cost is at least [0-9]+, not 7"),
        ("between", ("question", "loss"), "largest", "unknown loss"),
        ("total", ("ratings",), "0" * 64, "is for the ratings 000000000000"),
        ("total", ("version",), 2, "not a sugenet certificate of version 3"),
        ("total", ("answer",), "fits", "must not have"),
    ],
)
def test_a_refusal_says_why(name, path, other, said):
    ratings, found = certificate(name)
    at(found, path[:-1])[path[-1]] = other
    with pytest.raises(CertificateError, match=said):
        sg.check(found, ratings)


@pytest.mark.parametrize("top", [2**31, 2**53, 2**62, 2**64])
def test_ratings_with_large_numbers(top):
    """A fraction of a large denominator makes large integers of all values."""
    near = Fraction(1, 2) + Fraction(1, top)
    ratings = sg.fit.Ratings([[0, near], [near, 1], [1, 0]], [near, Fraction(1, 2), 0])
    for loss in ("largest", "total"):
        found = sg.fit.fit_capacity(ratings, loss)
        whole = json.loads(json.dumps(found.certificate))
        assert sg.check(whole, ratings)
        for error in (found.error + Fraction(1, top), found.error - Fraction(1, top), 2**63 - 1, 2**63):
            with pytest.raises(CertificateError):
                sg.check(whole | {"error": str(error)}, ratings)


def test_certificates_are_bound_to_what_they_are_about():
    ratings, found = certificate("total")
    heavier = sg.fit.Ratings(ratings.X, ratings.a, range(4), weights=[1, 1, 1, 1, 1, 2])
    renamed = sg.fit.Ratings(ratings.X, ratings.a, range(4), ["a", "b", "c"])
    for other in (NUMBERS, heavier, renamed):
        with pytest.raises(CertificateError, match="is for the ratings"):
            sg.check(found, other)
    with pytest.raises(CertificateError, match="about ratings, not about a network"):
        sg.check(found, [sg.models.digits()])
    with pytest.raises(CertificateError, match="about ratings, not about a network"):
        sg.check(found, sg.models.digits())
    with pytest.raises(CertificateError, match="about a network or ratings, not about a dict"):
        sg.check(found, {})


def test_large_ratings_end_within_the_limit():
    ratings, found = certificate("largest")
    with pytest.raises(CertificateError, match="not checked within the limit"):
        sg.check(found, ratings, time_limit=0)


@pytest.mark.parametrize("seed", range(8))
def test_no_samples_force_more_than_the_least_error(seed):
    """Whatever samples are named, only the least error is accepted."""
    rng = np.random.default_rng(seed)
    ratings = sg.fit.Ratings(rng.integers(0, 6, (5, 3)), rng.integers(0, 6, 5), scale=range(6))
    best = sg.fit.fit_capacity(ratings)
    everybody = list(range(5))
    named = [[], *([k] for k in everybody), *([k, m] for k in everybody for m in everybody if k != m)]
    accepted = set()
    for error in range(6):
        for because in named:
            forged = json.loads(json.dumps(best.certificate)) | {"error": str(error)}
            forged["proof"] |= {"because": because, "lower": everybody, "upper": everybody}
            try:
                sg.check(forged, ratings)
            except CertificateError:
                continue
            accepted.add(error)
    assert accepted == {best.error}
