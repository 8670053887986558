"""Certificates about a whole: its readings as JSON, and the whole that such JSON is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from re import escape, finditer, fullmatch
from typing import Any

from sugenet.bnn import Network
from sugenet.checker.form import exact
from sugenet.errors import CertificateError, RuleSyntaxError
from sugenet.logic.addition import Sum
from sugenet.logic.composed import Composed
from sugenet.logic.formulas import Every, Listed, LogicFormula, formula_of
from sugenet.logic.parsing import parse_formula
from sugenet.logic.readings import Reading, exact_gap, readings_of
from sugenet.logic.stated import Stated
from sugenet.logic.sudoku import Sudoku
from sugenet.problem.boxes import plain
from sugenet.reason.envelope import asked_of, composed_envelope, domain_data
from sugenet.reason.questions import raw_of

__all__ = ["PartOf", "certificate_of", "networks_of", "sample_of", "whole_in"]

PartOf = tuple[int, dict[str, Any]]
"""The place of a reading, and a certificate about it."""


def sample_of(reading: Reading) -> list[Any]:
    """The raw values of a reading's sample."""
    assert reading.network is not None
    return [plain(value) for value in reading.network.encoder.values(reading.sample)]


def networks_of(whole: Composed) -> list[Network]:
    """The networks that read a whole, each once, with all their classes."""
    found: dict[str, Network] = {}
    for reading in whole.readings:
        network = reading.base or reading.network
        if network is not None:
            found.setdefault(network.fingerprint, network)
    return list(found.values())


def certificate_of(
    whole: Composed, question: Mapping[str, Any], answer: str, parts: Sequence[PartOf] = (), **more: Any
) -> dict[str, Any]:
    """A certificate about a whole, made of certificates of its parts."""
    named = [network.fingerprint for network in networks_of(whole)]
    return composed_envelope(
        named,
        readings=[_reading_data(reading, named) for reading in whole.readings],
        whole=whole.whole_data(),
        question=dict(question),
        answer=answer,
        **more,
        parts=[{"reading": place, "certificate": certificate} for place, certificate in parts],
    )


def _reading_data(reading: Reading, named: Sequence[str]) -> dict[str, Any]:
    if reading.network is None:
        gaps = [str(gap) for gap in reading.gaps]
        return {"kind": "given", "name": reading.name, "values": list(reading.values), "gaps": gaps}
    base = reading.base or reading.network
    some = None if reading.base is None else [base.classes.index(name) for name in reading.values]
    return {
        "name": reading.name,
        "network": named.index(base.fingerprint),
        "classes": some,
        "sample": sample_of(reading),
        **domain_data(reading.network),
    }


# -- and back ------------------------------------------------------------------------------------------------


def whole_in(certificate: Mapping[str, Any], networks: Sequence[Network], text: str | None) -> Composed:
    """The whole that a certificate is about; `text` is what a statement says."""
    known = {network.fingerprint: network for network in networks}
    readings = [_reading_in(data, certificate["networks"], known) for data in certificate["readings"]]
    data = certificate["whole"]
    match data["kind"]:
        case "sum":
            return Sum(tuple(readings[: data["left"]]), tuple(readings[data["left"] :]))
        case "sudoku":
            return Sudoku(tuple(readings))
        case "stated":
            formula = formula_of(data["formula"])
            if not isinstance(text, str) or not _says(text, formula, readings):
                raise CertificateError("the text of the statement does not say what its formula says.")
            return Stated(tuple(readings), formula, text)
    raise CertificateError(f"there is no whole of kind {str(data['kind'])[:40]!r}.")


def _reading_in(data: Mapping[str, Any], named: Sequence[str], known: Mapping[str, Network]) -> Reading:
    if "gaps" in data:
        gaps = [exact_gap(exact(gap)) for gap in data["gaps"]]
        return Reading.given(data["name"], dict(zip(data["values"], gaps, strict=True)))
    fingerprint = named[data["network"]]
    if fingerprint not in known:
        raise CertificateError(
            f"the answer is about the network {str(fingerprint)[:12]}, which is not given."
        )
    network = asked_of(data, known[fingerprint])
    sample = raw_of(network, data["sample"])
    return readings_of(network, [sample], [data["name"]], data["classes"])[0]


def _says(text: str, formula: LogicFormula, readings: Sequence[Reading]) -> bool:
    """Whether a text is that of a formula; rows and functions of Python are called something, no more."""
    with suppress(RuleSyntaxError):
        return parse_formula(text, readings) == formula
    if isinstance(formula, Listed):
        return formula.on and _is_called(text, formula, readings)
    if not isinstance(formula, Every) or len(formula.parts) != 2:
        return False
    cuts = [cut.start() for cut in finditer(r"\) and \(", text)]  # as `Stated.also` joins two
    return (
        text.startswith("(")
        and text.endswith(")")
        and any(
            _says(text[1:cut], formula.parts[0], readings)
            and _says(text[cut + len(") and (") : -1], formula.parts[1], readings)
            for cut in cuts
        )
    )


def _is_called(text: str, formula: Listed, readings: Sequence[Reading]) -> bool:
    """Whether a text is one that rows or a function of Python get."""
    names = ", ".join(readings[place].name for place in formula.places)
    called = rf"(the predicate|a predicate|[^\W\d]\w*)\({escape(names)}\)"
    return text == f"{names} are one of {len(formula.rows)} rows" or fullmatch(called, text) is not None
