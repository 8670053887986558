"""Answers from their JSON data, as the same types: `answer_of`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from sugenet.bnn import Network
from sugenet.errors import CertificateError, SugenetError
from sugenet.reason.counterfactuals.answers import Counterfactual, NoCounterfactual, OpenCounterfactual
from sugenet.reason.counts.answers import Counted, CountOpen, CountSampled
from sugenet.reason.envelope import answered, asked_of, opened
from sugenet.reason.predictions import Predicted
from sugenet.reason.questions import Asked, HowMany, Predict, Suffices, WhatIf, Why
from sugenet.reason.reasons.answers import Reason, Reasons
from sugenet.reason.rules.book import Rulebook
from sugenet.reason.rules.checked import CheckedRule
from sugenet.reason.verdicts.answers import Proved, Refuted, Undecided

__all__ = ["Answer", "answer_of"]

Answer: TypeAlias = (
    Proved
    | Refuted
    | Undecided
    | Counterfactual
    | NoCounterfactual
    | OpenCounterfactual
    | Reason
    | Reasons
    | Counted
    | CountOpen
    | CountSampled
    | Predicted
    | CheckedRule
    | Rulebook
)

_VERDICTS: dict[str, Any] = {"proved": Proved, "refuted": Refuted, "undecided": Undecided}
_WHATIFS: dict[str, Any] = {
    "counterfactual": Counterfactual,
    "none": NoCounterfactual,
    "open": OpenCounterfactual,
}
_COUNTS: dict[str, Any] = {"counted": Counted, "undecided": CountOpen, "estimated": CountSampled}
_PREDICTIONS: dict[str, Any] = {"predicted": Predicted}

_FREE: dict[str, Any] = {
    "reason": str,
    "order": str,
    "engine": str,
    "facts": Mapping,
    "seconds": int | float,
}
"""Fields that are kept as they are given, and of which kind they must be."""

_ADDED = ("conditions",)
"""Fields that answers of earlier versions do not have."""


def answer_of(data: Mapping[str, Any], network: Network, other: Network | None = None) -> Answer:
    """Read an answer from what its `data` gave: the same type, which says the same.

    Whether it is true is another matter: `check` its certificate. Only a rulebook is checked at once.

    Parameters
    ----------
    data
        JSON data of any answer.
    network
        The network that it is about.
    other
        The second network, where the question was `Agree`.

    Raises
    ------
    CertificateError
        Where a field is missing or unknown, does not fit the others, or is about another network.

    Examples
    --------
    >>> from sugenet.bnn import Head, Network
    >>> from sugenet.reason import L0, Robust, verify
    >>> net = Network.of_bits([], Head([[1, -1], [-1, 1]]))
    >>> print(answer_of(verify(net, Robust([1, -1], L0(0))).data(), net))
    the class stays 0, with up to 0 features changed: proved by bounds through all layers
    """
    if not isinstance(data, Mapping):
        raise CertificateError("an answer is a JSON object, as its data() gives it.")
    if data.get("format") == "sugenet rulebook":
        return Rulebook.from_data(network, data)
    try:
        found: Answer = _read(data, network, other)
        again, _ = found.data(), str(found)  # what cannot be said is damaged
    except KeyError as error:
        raise CertificateError(f"the answer has no field {error}.") from None
    except RecursionError:
        raise CertificateError("the answer is nested too deeply.") from None
    except (TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        if isinstance(error, CertificateError):
            raise
        said = (
            str(error) if isinstance(error, SugenetError) else f"{type(error).__name__}: {str(error)[:200]}"
        )
        raise CertificateError(f"the answer is damaged: {said}") from error
    for name in (*again, *data):
        if name not in data and name in _ADDED:
            continue
        if name not in data:
            raise CertificateError(f"the answer has no field {name!r}.")
        if name not in again:
            raise CertificateError(f"the answer has a field {str(name)[:40]!r} that it must not have.")
        if name in _FREE and not isinstance(data[name], _FREE[name]):
            raise CertificateError(f"the field {name!r} of the answer is not what it must be.")
        if data[name] != again[name]:
            raise CertificateError(f"the field {name!r} does not fit the rest of the answer.")
    return found


def _read(data: Mapping[str, Any], network: Network, other: Network | None) -> Any:
    if "verdict" in data:
        verdict = _read(data["verdict"], network, other)
        return CheckedRule.of(verdict.network, verdict, data)
    network = asked_of(data.get("certificate") or data, network)
    if data.get("certificate") is None:
        asked = answered(data["question"], network, other)
        return _type(asked, data.get("outcome")).of(network, asked, data)
    asked = opened(data["certificate"], network, other)
    return _type(asked, data["certificate"]["answer"]).of(network, asked, data)


def _type(asked: Asked, outcome: Any) -> Any:
    """The type of an answer."""
    if isinstance(asked, Why | Suffices):
        return Reasons if isinstance(asked, Why) else Reason
    others = {WhatIf: _WHATIFS, HowMany: _COUNTS, Predict: _PREDICTIONS}
    kinds = others.get(type(asked), _VERDICTS)
    if not isinstance(outcome, str) or outcome not in kinds:
        raise CertificateError(f"there is no such answer: {str(outcome)[:40]!r}.")
    return kinds[outcome]
