"""The checker's own functions for data as a file has them, read as `check` reads them."""

import json
import re

from sugenet.checker.accelerate import rup
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.form import CaseAsked, Proof, QueryAsked, Question, sizes_of
from sugenet.checker.limit import Limit
from sugenet.checker.patterns import check_patterns
from sugenet.checker.reading import Sizes, read
from sugenet.checker.setting import Asked
from sugenet.reason.envelope import domain_data

__all__ = [
    "asked_of",
    "check_patches",
    "check_rup",
    "law_data",
    "proof_of_data",
    "without_form",
]


def law_data(text, network):
    """A law as certificates have it."""
    return domain_data(network.anywhere().within(text))["domain"]["laws"][0]


def proof_of_data(data):
    """A proof as a typed value."""
    return read(Proof, json.loads(json.dumps(data)), Sizes(), "the proof")


def asked_of(data, network, other=None):
    """A question about all inputs of a network as a typed value."""
    form = form_of(network)
    question = read(Question, json.loads(json.dumps(data)), sizes_of(form), "the question")
    return Asked(question, form, form, {}, None if other is None else form_of(other))


def check_rup(data, thresholds, assumed=()):
    return rup.check_rup(proof_of_data(data), thresholds, assumed)


def check_patches(data, network, query):
    cases = [
        CaseAsked(
            case.box.lower,
            case.box.upper,
            tuple(tuple((p.terms, p.bound) for p in row) for row in case.condition),
        )
        for case in query.cases
    ]
    asked = QueryAsked(query.inputs, query.outputs, tuple(cases))
    return check_patterns(proof_of_data(data), form_of(network), asked, Limit())


def without_form(said):
    """What a check said, or a page's answer with that, without the form that a rule was checked in."""
    if isinstance(said, dict):
        return said | {"said": without_form(said["said"])}
    said = re.sub(r"(property can occur)[:,] .*", r"\1", said.replace(", plain form)", ")"))
    said = re.sub(r"(sets of changes is a violation) \([a-z ]+\)", r"\1", said)
    return said.replace(", plain form)", ")").replace(" (plain form)", "")
