"""Whether a certificate, its question and its proof have exactly the fields and kinds of values that they
must have.

A field that nobody expects could narrow what is checked without anybody noticing, so there must be none;
and numbers must be spelled out, so that reading one takes no longer than its text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from fractions import Fraction
from re import fullmatch
from typing import Any

from sugenet.bnn import Network, OneHot
from sugenet.bnn.codings import Coding
from sugenet.errors import CertificateError

__all__ = [
    "check_count_form",
    "check_form",
    "check_outside",
    "check_proof_form",
    "check_region_form",
    "exact",
    "only",
    "whole_number",
]

_LONGEST = 9000
"""Characters of a number."""
_BALLS = ("Hamming", "L0", "L1", "L2", "Linf")


def exact(value: Any, *, least: int | None = None) -> Fraction:
    """A number of a certificate: a JSON number, or text such as ``3`` or ``-7/2``."""
    if type(value) is str and (len(value) > _LONGEST or not fullmatch(r"-?[0-9]+(/[0-9]+)?", value)):
        raise CertificateError(f"{value[:40]!r} is not a number such as 3 or -7/2.")
    if type(value) not in (str, int, float):
        raise CertificateError(f"a number is needed, not {type(value).__name__}.")
    try:
        number = Fraction(value)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise CertificateError(f"{str(value)[:40]!r} is not a number such as 3 or -7/2.") from None
    if least is not None and number < least:
        raise CertificateError(f"{value!r} must not be below {least}.")
    return number


_TOP = ("format", "version", "network", "question", "answer", "witness", "proof")
_VERDICTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "proved": ((), ("witness",)),
    "refuted": ((), ("proof",)),
    "undecided": (("proved_up_to",), ("witness",)),
}
_ANSWERS: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "whatif": {
        "counterfactual": (("value", "lower"), ()),
        "open": (("lower",), ("witness",)),
        "none": ((), ("witness",)),
    },
    "reason": {
        "unknown": ((), ("proof",)),
        "sufficient": ((), ("witness",)),
        "minimal": ((), ()),
        "minimum": (("contrasts",), ()),
    },
    "count": {"counted": (("counts", "total", "method"), ())},
}
"""For each answer the fields that it has besides, and those of the others that must be null."""
_PROOFS: dict[str, tuple[str, ...]] = {
    "bounds": (),
    "walk": ("sets", "patterns", "digest"),
    "combinations": ("sets",),
    "branches": (),
    "sweep": ("sets",),
    "rup": ("variables", "facts", "cuts", "clauses", "encoding"),
    "drup": ("solver", "variables", "clauses", "cnf", "lemmas", "data"),
    "dual": ("cases", "multipliers"),
    "patches": ("cases",),
    "parts": ("parts",),
    "partition": ("order", "parts"),
}


def check_outside(certificate: dict[str, Any], kind: str) -> None:
    """See that a certificate has the fields of its answer and no others,
    and says nothing where it claims nothing.
    """
    answer = certificate.get("answer")
    known = _ANSWERS.get(kind, _VERDICTS)
    if not isinstance(answer, str) or answer not in known:
        raise CertificateError(f"unknown answer {str(answer)[:40]!r}.")
    more, null = known[answer]
    names = {*_TOP, *more} - ({"witness"} if kind == "count" else set())
    only(certificate, names, "the certificate")
    for name in null:
        if certificate[name] is not None:
            raise CertificateError(f"the field {name!r} must be null where the answer is {answer!r}.")


def check_proof_form(proof: Any) -> str:
    """See that a proof has the fields of its kind and no others; its kind.

    Which values they may have is seen where they are used.
    """
    if not isinstance(proof, dict):
        raise CertificateError("the proof must be a JSON object.")
    kind = proof.get("kind")
    if kind == "trust":
        raise CertificateError(
            f"there is no proof to check: the answer trusts {str(proof.get('solver'))[:80]}."
        )
    if not isinstance(kind, str) or kind not in _PROOFS:
        raise CertificateError(f"unknown kind of proof {str(kind)[:40]!r}.")
    only(proof, {"kind", *_PROOFS[kind]} - ({"encoding"} - set(proof)), "the proof")
    return kind


def only(data: dict[str, Any], names: Collection[str], what: str) -> None:
    """See that data has these fields and no others."""
    for name in sorted(names):
        if name not in data:
            raise CertificateError(f"{what} has no field {name!r}.")
    for name in data:
        if name not in names:
            raise CertificateError(f"{what} has a field {str(name)[:40]!r} that it must not have.")


def check_form(question: dict[str, Any], network: Network) -> None:
    """See that a question has the fields of its kind, and no others.

    Raises
    ------
    CertificateError
        Naming what is missing, unknown or not of its kind.
    """
    kind = question["kind"]
    if not isinstance(kind, str) or kind not in _QUESTIONS:
        raise CertificateError("unknown question.")
    _judge_fields(question, _QUESTIONS[kind], f"the question {kind}", network)
    if question.get("target") is not None and question["target"] == question["label"]:
        raise CertificateError("the target is the class that the sample has already.")


_Judge = Callable[[Any, Network], None]


def _judge_fields(data: Any, known: dict[str, _Judge], what: str, network: Network) -> None:
    _fields(data, known, what)
    for name, judge in known.items():
        judge(data[name], network)


def _fields(data: Any, known: Collection[str], what: str) -> None:
    if not isinstance(data, dict):
        raise CertificateError(f"{what} must be a JSON object.")
    for name in ("kind", *known):
        if name not in data:
            raise KeyError(name)
    for name in data:
        if name != "kind" and name not in known:
            raise CertificateError(f"{what} has a field {name[:40]!r} that it must not have.")


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise CertificateError(f"{what} must be a list.")
    return value


def _one_of(value: Any, allowed: Collection[Any], what: str) -> None:
    if type(value) not in (str, bool, int) or value not in allowed:
        raise CertificateError(f"unknown {what}: it must be one of {', '.join(map(str, allowed))}.")


def _place(value: Any, count: int, what: str) -> None:
    if type(value) is not int or not 0 <= value < count:
        raise CertificateError(f"{what} must be a number from 0 to {count - 1}.")


def _label(value: Any, network: Network) -> None:
    _place(value, network.head.outputs, "a class")


def _label_or_none(value: Any, network: Network) -> None:
    if value is not None:
        _label(value, network)


def _feature(value: Any, network: Network) -> None:
    _place(value, network.encoder.features, "a feature")


def _features(value: Any, network: Network) -> None:
    for feature in _list(value, "features"):
        _feature(feature, network)
    if len(set(value)) < len(value):
        raise CertificateError("a feature stands twice.")


def _some_features(value: Any, network: Network) -> None:
    _features(value, network)
    if not value:
        raise CertificateError("no feature is named.")


def _value(value: Any, coding: Coding) -> None:
    """A raw value; whether the encoder takes it is seen when it is read."""
    if isinstance(coding, OneHot):
        if value is not None and type(value) not in (str, int, float, bool):
            raise CertificateError(f"a category is needed, not {type(value).__name__}.")
    else:
        exact(value if type(value) is not bool else int(value))


def _sample(value: Any, network: Network) -> None:
    if len(_list(value, "a sample")) != network.encoder.features:
        raise CertificateError(
            f"a sample has {len(value)} values, but the network reads {network.encoder.features} features."
        )
    for one, coding in zip(value, network.encoder.codings, strict=True):
        _value(one, coding)


def _limits(value: Any, network: Network) -> None:
    for row in _list(value, "limits"):
        if len(_list(row, "a limit")) != 2:
            raise CertificateError("a limit is a feature and what it may be.")
        feature, limit = row
        _feature(feature, network)
        coding = network.encoder.codings[feature]
        if isinstance(limit, dict):
            if list(limit) != ["one of"] or not _list(limit["one of"], "the values of a limit"):
                raise CertificateError("a limit without bounds lists the values it allows, under 'one of'.")
            for one in limit["one of"]:
                _value(one, coding)
        else:
            if len(_list(limit, "bounds")) != 2:
                raise CertificateError("bounds are a pair.")
            for end in limit:
                if end is not None:
                    exact(end)
    if len({feature for feature, _ in value}) < len(value):
        raise CertificateError("a feature has limits twice.")


def _region(value: Any, network: Network) -> None:
    kind = value["kind"]
    _one_of(kind, _REGIONS, "kind of region")
    _judge_fields(value, _REGIONS[kind], f"the region {kind}", network)


def check_region_form(region: Any, network: Network) -> None:
    """See that a region has the fields of its kind and no others."""
    if not isinstance(region, dict):
        raise CertificateError("a region must be a JSON object.")
    _region(region, network)


def _region_or_none(value: Any, network: Network) -> None:
    if value is not None:
        _region(value, network)
        _one_of(value["kind"], ("Linf", "Free", "Box", "Anything"), "region of a counterfactual")


def _cost(value: Any, network: Network) -> None:
    kind = value["kind"]
    _one_of(kind, (*_BALLS, "Prices"), "cost")
    if kind != "Prices":
        _fields(value, (), f"the cost {kind}")
        return
    _fields(value, ("prices", "per_unit"), "the cost Prices")
    _bool(value["per_unit"], network)
    for row in _list(value["prices"], "prices"):
        if len(_list(row, "a price")) != 2:
            raise CertificateError("a price is a feature and what changing it costs.")
        exact(row[1], least=0)
    _features([feature for feature, _ in value["prices"]], network)


def _radius(value: Any, network: Network) -> None:  # noqa: ARG001 as the others
    exact(value, least=0)


def _limit(value: Any, network: Network) -> None:  # noqa: ARG001 as the others
    if value is not None:
        exact(value, least=0)


def _ties(value: Any, network: Network) -> None:  # noqa: ARG001 as the others
    _one_of(value, ("lowest", "against"), "tie rule")


def _bool(value: Any, network: Network) -> None:  # noqa: ARG001 as the others
    if type(value) is not bool:
        raise CertificateError("true or false is needed.")


def _text(value: Any, network: Network) -> None:  # noqa: ARG001 as the others
    if not isinstance(value, str):
        raise CertificateError("the other network is named by its fingerprint.")


def _cases(value: Any, network: Network) -> None:
    for case in _list(value, "cases"):
        if not isinstance(case, dict) or set(case) != {"lower", "upper", "condition"}:
            raise CertificateError("a case of a query has lower, upper and condition.")
        for ends in (case["lower"], case["upper"]):
            if len(_list(ends, "bounds")) != network.encoder.features:
                raise CertificateError("the query is for another number of inputs.")
            for end in ends:
                exact(end)
        for conjunction in _list(case["condition"], "a condition"):
            for part in _list(conjunction, "a conjunction"):
                terms, bound = part
                exact(bound)
                for k, factor in _list(terms, "terms"):
                    _label(k, network)
                    exact(factor)
                if len({k for k, _ in terms}) < len(terms):
                    raise CertificateError("an inequality names an output twice.")


def _inputs(value: Any, network: Network) -> None:
    _one_of(value, (network.encoder.features,), "number of inputs")


def _outputs(value: Any, network: Network) -> None:
    _one_of(value, (network.head.outputs,), "number of outputs")


_REGIONS: dict[str, dict[str, _Judge]] = {
    **{kind: {"radius": _radius} for kind in _BALLS},
    "Free": {"features": _features},
    "Box": {"limits": _limits},
    "Anything": {},
}
_ABOUT: dict[str, _Judge] = {"sample": _sample, "label": _label, "target": _label_or_none, "ties": _ties}
_QUESTIONS: dict[str, dict[str, _Judge]] = {
    "robust": {**_ABOUT, "region": _region},
    "reason": {**_ABOUT, "region": _region, "fixed": _features},
    "whatif": {**_ABOUT, "cost": _cost, "movable": _features, "region": _region_or_none, "limit": _limit},
    "always": {"label": _label, "where": _limits},
    "never": {"label": _label, "where": _limits},
    "monotone": {"feature": _feature, "label": _label_or_none, "rising": _bool, "where": _limits},
    "fair": {"protected": _some_features, "where": _limits},
    "agree": {"other": _text, "where": _limits},
    "query": {"inputs": _inputs, "outputs": _outputs, "cases": _cases},
}


def check_count_form(question: dict[str, Any], network: Network) -> None:
    """See that a question has the fields of a count and no others,
    which could narrow the region without anybody noticing.
    """
    _fields(question, ("sample", "region", "where"), "the question count")
    _limits(question["where"], network)
    region = question["region"]
    if question["sample"] is None:
        if region is not None:
            raise CertificateError("there is a region, but no sample that it is around.")
        return
    _sample(question["sample"], network)
    if region["kind"] != "Moves":
        _region(region, network)
        return
    _fields(region, ("moves", "budget"), "the region Moves")
    for row in _list(region["moves"], "moves"):
        if len(_list(row, "a move")) != 4:
            raise CertificateError("a move is a feature, a state, a value and a weight.")
        _place(row[0], network.encoder.features, "a feature")
        _place(row[1], network.encoder.codings[row[0]].states, "a state")
        whole_number(row[3])
    if region["budget"] is not None:
        exact(whole_number(region["budget"]))


def whole_number(value: Any) -> int:
    """A count of a certificate."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CertificateError(f"a count is {value!r}, but must be a whole number.")
    return value
