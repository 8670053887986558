"""Certificates of every kind that were kept: they hold today, in the same words, and the same questions give
the same certificates.
"""

from functools import cache
from typing import get_args

import pytest

import sugenet as sg
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.composed_form import Composed, Formula
from sugenet.checker.form import (
    BySplit,
    Certificate,
    Closure,
    Lemma,
    Partition,
    Patches,
    Question,
    Single,
    Undecided,
    read_certificate,
)
from sugenet.checker.learned_form import LearnedCertificate
from tests.checker import make_golden, test_learned


@cache
def golden():
    return make_golden.stored()


def test_the_corpus_has_every_kind():
    rows = golden()["certificates"]
    kinds = {(row["certificate"]["question"]["kind"], row["certificate"]["answer"]) for row in rows}
    verdicts = {"robust", "always", "never", "monotone", "fair", "agree", "query"}
    assert kinds >= {(kind, answer) for kind in verdicts for answer in ("proved", "refuted")}
    assert kinds >= {("whatif", answer) for answer in ("counterfactual", "none", "open")}
    assert kinds >= {("reason", answer) for answer in ("sufficient", "minimal", "minimum", "unknown")}
    assert kinds >= {("count", "counted"), ("robust", "undecided")}
    questions = [row["certificate"]["question"] for row in rows]
    regions = {question["region"]["kind"] for question in questions if question.get("region")}
    assert regions == {"Hamming", "L0", "L1", "L2", "Linf", "AnyInput", "Free", "Box"}
    costs = {question["cost"]["kind"] for question in questions if "cost" in question}
    assert costs == {"L0", "L1", "L2", "Linf", "Hamming", "Prices"}


def tags_of(kind):
    """The texts that name the objects of a union."""
    return {text for one in get_args(kind) for text in (tags_of(one) if get_args(one) else {one.tag[1]})}


def inside(closure):
    """A closure, and those of both sides of a split."""
    sides = [closure.on, closure.off] if isinstance(closure, BySplit) else []
    return [closure, *(one for side in sides for one in inside(side))]


def test_the_corpus_has_every_kind_of_the_format():
    rows = [row for row in golden()["certificates"] if "Error" not in row["said"]]  # so that each one holds
    known = [
        read_certificate(row["certificate"], form_of(golden()["networks"][row["network"]])) for row in rows
    ]
    assert {type(one).tag[1] for one in known} == tags_of(Certificate)
    assert {type(one.question).tag[1] for one in known} == tags_of(Question)
    several = [one.proof for one in known if isinstance(one.proof, tuple)]
    proofs = [one.proof for one in known if one.proof is not None and one.proof not in several]
    assert {type(proof).tag[1] for proof in proofs} == tags_of(Single) | {Partition.tag[1]}
    assert several
    clauses = [proof.clauses for proof in proofs if isinstance(proof, Lemma)]
    assert {type(one) for one in clauses} == {str, tuple}
    cases = [case for proof in proofs if isinstance(proof, Patches) for case in proof.cases]
    closures = [one for case in cases for closure in case.closures for one in inside(closure)]
    assert {type(one) for one in closures} == set(get_args(Closure))
    reached = {one.proved_up_to for one in known if isinstance(one, Undecided)}
    assert None in reached
    assert len(reached) > 2


def test_the_corpus_has_every_whole_and_everything_learned():
    wholes = [row["certificate"] for row in golden()["wholes"]]
    assert {one["answer"] for one in wholes} == tags_of(Composed)
    assert {one["whole"]["kind"] for one in wholes} == {"sum", "stated", "sudoku"}
    assert {"gaps" in reading for one in wholes for reading in one["readings"]} == {True, False}
    formulas = [one["whole"]["formula"] for one in wholes if one["whole"]["kind"] == "stated"]
    assert {part["kind"] for formula in formulas for part in parts_of(formula)} == tags_of(Formula)
    learned = [row["certificate"] for row in golden()["learned"]]
    assert {one["answer"] for one in learned} == tags_of(LearnedCertificate)
    assert {one["proof"]["kind"] for one in learned} == {"envelopes", "chains", "sets", "flow"}


def parts_of(formula):
    """A formula, and those in it."""
    return [formula, *(one for part in formula.get("parts", ()) for one in parts_of(part))]


def test_they_hold_in_the_same_words():
    networks = golden()["networks"]
    for row in golden()["certificates"]:
        other = None if row["other"] is None else networks[row["other"]]
        found = make_golden.said_of(row["certificate"], networks[row["network"]], other)
        assert found == row["said"], row["name"]
    for row in golden()["wholes"]:
        assert make_golden.said_of(row["certificate"], networks["codes"]) == row["said"], row["name"]
        assert "Error" not in row["said"]
    for row in golden()["learned"]:
        ratings, _ = test_learned.ANSWERS[row["name"]]
        assert make_golden.said_of(row["certificate"], ratings) == row["said"], row["name"]
        assert "Error" not in row["said"]


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_the_same_questions_give_the_same_certificates(share):
    known = {row["name"]: row["certificate"] for row in golden()["certificates"] if row["again"]}
    assert len(known) > 700
    networks = golden()["networks"]
    for number, (name, first, second, again, ask) in enumerate(make_golden.entries(networks)):
        if not again:
            continue
        certificate = known.pop(name, None)  # None where the question had no certificate then
        if number % share:
            continue
        found = make_golden.asked(ask)
        assert same(found, certificate, "cdcl" in name or ": why" in name), name
        if found != certificate and found["answer"] != "undecided":  # another proof, which must hold
            sg.check(found, networks[first], None if second is None else networks[second])
    assert not known


def same(one, other, learned):
    """Whether two certificates are equal, but for which input of the same least cost they show, for which
    violation of a query (a strict one is preferred to a tie now), and for the clauses that a solver learned
    on its way to a proof, or to some violation that it shows.
    """
    one, other = unlearned(one), unlearned(other)
    if one is None or other is None or not (learned or one["question"]["kind"] in ("whatif", "query")):
        return one == other
    assert (one["witness"] is None) == (other["witness"] is None)
    return {**one, "witness": None} == {**other, "witness": None}


def unlearned(data):
    """JSON data without the contents of proofs by learned clauses."""
    if isinstance(data, list):
        return [unlearned(part) for part in data]
    if not isinstance(data, dict):
        return data
    if data.get("kind") == "lemma":
        return {"kind": "lemma"}
    return {name: unlearned(part) for name, part in data.items()}


@pytest.mark.parametrize("number", range(9))
def test_rulebooks_are_read_and_written_as_before(number):
    row = golden()["rulebooks"][number]
    book = sg.reason.Rulebook.from_data(golden()["networks"][row["network"]], row["data"])
    assert book.data() | {"seconds": 0} == row["data"]


def test_the_same_rulebooks_are_written():
    found = list(make_golden.books(golden()["networks"]))
    assert [(name, network, unlearned(data | {"seconds": 0})) for name, network, data in found] == [
        (row["name"], row["network"], unlearned(row["data"])) for row in golden()["rulebooks"]
    ]
