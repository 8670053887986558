"""Questions and answers as JSON: what the page asks, the server answers and a file carries along.

A question is checked field by field, so that what is wrong is named; then it is one call of `sugenet.reason`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from sys import float_info
from time import monotonic
from typing import Any

import numpy as np

from sugenet.bnn import Network, OneHot
from sugenet.bnn.codings import Coding
from sugenet.errors import QuestionError
from sugenet.problem.neighbourhood import row_of
from sugenet.reason import (
    L0,
    L1,
    L2,
    Always,
    Anything,
    CheckedRule,
    Free,
    Hamming,
    Linf,
    Proved,
    Reason,
    Refuted,
    Region,
    Robust,
    Undecided,
    count,
    verify,
    whatif,
    why,
)
from sugenet.reason.rules.figures import RuleFigures, coverage
from sugenet.reason.rules.rule import NetworkRule, parse_rule

__all__ = ["MOST_SECONDS", "SECONDS", "ask", "checked", "json_value", "precompute", "question_schema"]

SECONDS = 30.0
"""Time limit of a question that names none."""
MOST_SECONDS = 600.0
MOST_ANSWERS = 50
"""Reasons or counterfactuals that one question may ask for."""
_RULE_LETTERS = 2000
_SEEDS = 2**32
_EXACT = 2**53
"""JavaScript rounds whole numbers beyond."""
_LARGEST = float_info.max
_BALLS: dict[str, Any] = {"Hamming": Hamming, "L0": L0, "L1": L1, "L2": L2, "Linf": Linf}
_RADIUS = r"^[0-9]{1,9}(\.[0-9]{1,9})?$"
_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "verify": (("sample", "region"), ("target",)),
    "whatif": (("sample",), ("cost", "target", "immutable", "n")),
    "why": (("sample", "region"), ("minimal", "n")),
    "rule": (("text",), ()),
    "count": (("sample", "region"), ()),
}
"""For each kind of question the fields that it must have, and those that it may have."""

Tell = Callable[[str], None]
Part = Callable[[dict[str, Any]], None]


def ask(
    network: Network,
    question: Mapping[str, Any],
    *,
    on_part: Part | None = None,
    notify: Tell | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Answer a question that is given as JSON data, as JSON data.

    Parameters
    ----------
    network
        The network.
    question
        Its ``kind`` is verify, whatif, why, rule or count; the page on the explorer lists the fields of each.
    on_part
        Is given each reason of a ``why`` as soon as it is proved.
    notify
        Is told what is going on.
    threads
        How many may work at once; one for each core unless said.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]]), classes=["off", "on"])
    >>> answer = ask(net, {"kind": "whatif", "sample": [1, -1, 1, -1], "cost": "L0", "target": "on"})
    >>> answer["outcome"], answer["value"], answer["label"]
    ('minimum', '1', 'on')
    >>> ask(net, {"kind": "verify", "sample": [1, -1, 1, -1], "region": {"kind": "L0", "radius": "1"}})["sentence"]
    'the class stays off, with up to 1 feature changed: refuted by flip enumeration. Class on with x2 from -1 to 1'
    """
    fields = checked(network, question)
    start = monotonic()
    parts: list[dict[str, Any]] = []

    def found(reason: Reason) -> None:
        parts.append(_clean(reason.data()))
        if on_part is not None:
            on_part(parts[-1])

    try:
        answer = _call(network, fields, found, {"threads": threads, "seed": fields["seed"], "notify": notify})
    except KeyboardInterrupt:  # where no engine could give an answer of its own any more
        return _stopped(fields["kind"], parts, monotonic() - start)
    cleaned: dict[str, Any] = _clean({"kind": fields["kind"], "sentence": str(answer)} | answer.data())
    if fields["kind"] == "why":
        cleaned["outcome"] = "found" if answer.reasons else "undecided"
    return cleaned


def _call(
    network: Network, fields: dict[str, Any], found: Callable[[Reason], None], options: dict[str, Any]
) -> Any:
    """The one call that answers a checked question."""
    limit = fields["time_limit"]
    match fields["kind"]:
        case "verify":
            return verify(
                network,
                Robust(fields["sample"], fields["region"], fields["target"]),
                time_limit=limit,
                **options,
            )
        case "whatif":
            wanted = {name: fields[name] for name in ("target", "immutable", "n")}
            return whatif(
                network, fields["sample"], _BALLS[fields["cost"]], **wanted, time_limit=limit, **options
            )
        case "why":
            wanted = {name: fields[name] for name in ("region", "minimal", "n")}
            return why(network, fields["sample"], **wanted, each=found, time_limit=limit, **options)
        case "rule":
            return _rule(network, parse_rule(network, fields["text"]), limit / 2, options)
    return count(network, fields["sample"], fields["region"], time_limit=limit, **options)


@dataclass(frozen=True, eq=False)
class _Rule:
    """A rule that is decided, and counted where the time allowed it."""

    rule: NetworkRule
    verdict: Proved | Refuted | Undecided
    figures: RuleFigures | None

    def data(self) -> dict[str, Any]:
        found = None if self.figures is None else self.figures.data()
        return {
            "outcome": self.verdict.data()["outcome"],
            "rule": str(self.rule),
            "verdict": self.verdict.data(),
            "figures": found,
        }

    def __str__(self) -> str:
        return (
            str(self.verdict)
            if self.figures is None
            else str(CheckedRule(self.rule, self.verdict, self.figures))
        )


def _rule(network: Network, rule: NetworkRule, limit: float, options: dict[str, Any]) -> _Rule:
    """As `check_rule` does, but a verdict stays when the count is interrupted."""
    named = {network.encoder.names[feature]: kept for feature, kept in rule.limits}
    verdict = verify(network, Always(rule.label, named), time_limit=limit, **options)
    try:
        figures = coverage(
            network, rule, time_limit=limit, threads=options["threads"], notify=options["notify"]
        )
    except KeyboardInterrupt:
        return _Rule(rule, verdict, None)
    return _Rule(rule, verdict, figures)


def _stopped(kind: str, parts: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    sentence = f"undecided: stopped after {seconds:.1f} s."
    known: dict[str, Any] = {
        "kind": kind,
        "outcome": "undecided",
        "reason": "interrupted",
        "seconds": seconds,
        "certificate": None,
    }
    if kind == "why":
        known |= {"reasons": parts, "all_reasons": False, "outcome": "found" if parts else "undecided"}
        if parts:
            sentence = (
                f"stopped after {seconds:.1f} s with {len(parts)} reason{'' if len(parts) == 1 else 's'}."
            )
    return known | {"sentence": sentence}


def _clean(data: Any, *, whole: bool = False) -> Any:
    """Data as every JSON reader takes it: fractions and numbers that JavaScript would round as text.

    A certificate keeps its whole numbers, since its checkers want them.
    """
    match data:
        case dict():
            return {
                str(key): _clean(value, whole=whole or key == "certificate") for key, value in data.items()
            }
        case list() | tuple() | set() | frozenset():
            return [_clean(value, whole=whole) for value in data]
        case np.ndarray() | np.generic():
            return _clean(data.tolist(), whole=whole)
        case bool() | None | str():
            return data
        case int():
            return data if whole or abs(data) < _EXACT else str(data)
        case float():
            return data if isfinite(data) else str(data)
    return str(data)


# -- what a question must be ---------------------------------------------------------------------------------


def checked(network: Network, question: Any) -> dict[str, Any]:
    """A question with every field checked and filled in, its region and its categories as Python has them.

    Raises
    ------
    QuestionError
        Names the first field that is wrong, and what would be right.
    """
    if not isinstance(question, Mapping):
        raise QuestionError('a question is a JSON object, such as {"kind": "rule", "text": "..."}.')
    kind = question.get("kind")
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise QuestionError(f"kind is {_shown(kind)}, but must be one of {', '.join(_FIELDS)}.")
    needed, possible = _FIELDS[kind]
    for name in needed:
        if name not in question:
            raise QuestionError(f"a {kind} question needs the field {name}.")
    known = {"kind", *needed, *possible, "time_limit", "seed"}
    stray = next((name for name in question if name not in known), None)
    if stray is not None:
        raise QuestionError(
            f"a {kind} question has no field {_shown(stray)}. It may have {', '.join(sorted(known))}."
        )
    fields: dict[str, Any] = {
        "kind": kind,
        "time_limit": _number(question.get("time_limit", SECONDS), "time_limit", 0, MOST_SECONDS),
        "seed": _whole(question.get("seed", 0), "seed", 0, _SEEDS - 1),
    }
    for name in (*needed, *possible):
        fields[name] = _READERS[name](network, question[name]) if name in question else _DEFAULTS[name]
    return fields


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _number(value: Any, name: str, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise QuestionError(f"{name} is {_shown(value)}, but must be a number from {least:g} to {most:g}.")
    return float(value)


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not least <= value <= most
        or value != int(value)
    ):
        raise QuestionError(f"{name} is {_shown(value)}, but must be a whole number from {least} to {most}.")
    return int(value)


def _sample(network: Network, values: Any) -> list[Any]:
    encoder = network.encoder
    if isinstance(values, dict):
        values = encoder.values(values)
    if not isinstance(values, list | tuple) or len(values) != encoder.features:
        given = f"{len(values)} values" if isinstance(values, list | tuple) else _shown(values)
        raise QuestionError(
            f"sample is {given}, but must be a list of {encoder.features} values, one for each feature, "
            "or an object with a value for each name."
        )
    return [
        _value(name, coding, value)
        for name, coding, value in zip(encoder.names, encoder.codings, values, strict=True)
    ]


def _value(name: str, coding: Coding, value: Any) -> Any:
    if isinstance(coding, OneHot):
        for category in coding.categories:
            if (plain := json_value(category)) == value and isinstance(plain, bool) == isinstance(
                value, bool
            ):
                return category
        some = ", ".join(map(str, coding.categories[:12]))
        raise QuestionError(
            f"sample: {name} is {_shown(value)}, which is no category. The categories are {some}."
        )
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise QuestionError(f"sample: {name} is {_shown(value)}, but must be a number.")
    coding.read(np.array([value], dtype=object), f"sample: {name}")
    return value


def json_value(value: Any) -> Any:
    """A raw value as JSON has it; what JSON lacks, as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _region(network: Network, region: Any) -> Region:
    if not isinstance(region, Mapping):
        raise QuestionError(
            f'region is {_shown(region)}, but must be an object such as {{"kind": "L0", "radius": "2"}}.'
        )
    kind = region.get("kind")
    if not isinstance(kind, str) or kind not in (*_BALLS, "Free", "Anything"):
        raise QuestionError(
            f"region: kind is {_shown(kind)}, but must be one of {', '.join(_BALLS)}, Free, Anything."
        )
    wanted = {"Anything": {"kind"}, "Free": {"kind", "features"}}.get(kind, {"kind", "radius"})
    if set(region) != wanted:
        raise QuestionError(
            f"region: {kind} has the fields {', '.join(sorted(wanted))}, "
            f"not {_shown(', '.join(map(str, region)))}."
        )
    if kind == "Anything":
        return Anything()
    if kind == "Free":
        return Free(_names(network, region["features"], "region: features"))
    radius = region["radius"]
    if not isinstance(radius, str) or not re.fullmatch(_RADIUS, radius, re.ASCII):
        raise QuestionError(
            f'region: radius is {_shown(radius)}, but must be a number as text, such as "2" or "0.5".'
        )
    exact = Fraction(radius)
    ball: Region = _BALLS[kind](int(exact) if exact.denominator == 1 else exact)
    return ball


def _names(network: Network, names: Any, field: str) -> list[str]:
    if not isinstance(names, list | tuple):
        raise QuestionError(f"{field} is {_shown(names)}, but must be a list of names of features.")
    known = frozenset(network.encoder.names)
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise QuestionError(
                f"{field}: there is no feature {_shown(name)}. Names are "
                f"{', '.join(network.encoder.names[:4])} and so on."
            )
    return list(dict.fromkeys(names))


def _target(network: Network, name: Any) -> str | None:
    if name is None or (isinstance(name, str) and name in network.classes):
        return name
    raise QuestionError(
        f"target is {_shown(name)}, which is no class. The classes are {', '.join(network.classes)}."
    )


def _one_of(field: str, *words: str) -> Callable[[Network, Any], str]:
    def read(_network: Network, value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise QuestionError(f"{field} is {_shown(value)}, but must be one of {', '.join(words)}.")
        return value

    return read


def _text(network: Network, text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= _RULE_LETTERS:
        raise QuestionError(
            f"text is {_shown(text)}, but must be a rule such as 'size >= 14 -> large', of up to "
            f"{_RULE_LETTERS:,} letters."
        )
    parse_rule(network, text)  # says what is wrong with it
    return text


_READERS: dict[str, Callable[[Network, Any], Any]] = {
    "sample": _sample,
    "region": _region,
    "target": _target,
    "cost": _one_of("cost", *_BALLS),
    "minimal": _one_of("minimal", "subset", "size"),
    "immutable": lambda network, names: _names(network, names, "immutable"),
    "n": lambda _, value: _whole(value, "n", 1, MOST_ANSWERS),
    "text": _text,
}
_DEFAULTS: dict[str, Any] = {"target": None, "cost": "L0", "minimal": "subset", "immutable": [], "n": 1}


# -- the same, as a JSON schema ------------------------------------------------------------------------------


def question_schema(network: Network) -> dict[str, Any]:
    """JSON schema of the questions that make sense for a network, as its OpenAPI description has it.

    Examples
    --------
    >>> from sugenet.bnn import Head
    >>> schema = question_schema(Network.of_bits([], Head([[1, 1], [-1, -1]]), classes=["off", "on"]))
    >>> [one["properties"]["kind"]["const"] for one in schema["oneOf"]]
    ['verify', 'whatif', 'why', 'rule', 'count']
    """
    feature: dict[str, Any] = {"enum": list(network.encoder.names)}
    names = {"type": "array", "items": feature}
    balls = {"kind": {"enum": list(_BALLS)}, "radius": {"type": "string", "pattern": _RADIUS}}
    fields: dict[str, dict[str, Any]] = {
        "sample": _sample_schema(network),
        "region": {
            "oneOf": [
                _object({"kind": {"const": "Anything"}}, "kind"),
                _object(balls, "kind", "radius"),
                _object({"kind": {"const": "Free"}, "features": names}, "kind", "features"),
            ]
        },
        "target": {"enum": [None, *network.classes]},
        "cost": {"enum": list(_BALLS)},
        "minimal": {"enum": ["subset", "size"]},
        "immutable": names,
        "n": {"type": "integer", "minimum": 1, "maximum": MOST_ANSWERS},
        "text": {"type": "string", "minLength": 1, "maxLength": _RULE_LETTERS},
    }
    limits = {
        "time_limit": {"type": "number", "minimum": 0, "maximum": MOST_SECONDS},
        "seed": {"type": "integer", "minimum": 0, "maximum": _SEEDS - 1},
    }
    kinds = []
    for kind, (needed, possible) in _FIELDS.items():
        properties = (
            {"kind": {"const": kind}} | {name: fields[name] for name in (*needed, *possible)} | limits
        )
        kinds.append(_object(properties, "kind", *needed))
    return {"oneOf": kinds}


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _sample_schema(network: Network) -> dict[str, Any]:
    codings = network.encoder.codings
    schemas = {coding: _value_schema(coding) for coding in codings}
    row = {"type": "array", "minItems": len(codings), "maxItems": len(codings)}
    one = len(schemas) == 1
    row |= (
        {"items": schemas[codings[0]]}
        if one
        else {"prefixItems": [schemas[coding] for coding in codings], "items": False}
    )
    names = network.encoder.names
    values = {name: schemas[coding] for name, coding in zip(names, codings, strict=True)}
    named = {"type": "object", "properties": values, "required": list(names), "additionalProperties": False}
    return {"anyOf": [row, named]}


def _value_schema(coding: Coding) -> dict[str, Any]:
    if isinstance(coding, OneHot):
        return {"enum": [json_value(category) for category in coding.categories]}
    if coding.bipolar:
        return {"enum": [-1, 0, 1]}
    ends = {"minimum": coding.low, "maximum": coding.high}
    bounds = {name: int(end) if end == int(end) else end for name, end in ends.items() if isfinite(end)}
    return {"type": "integer" if coding.whole else "number"} | bounds


# -- answers found beforehand --------------------------------------------------------------------------------

_TARGETS = 12
"""Classes to each of which a counterfactual is found; of more, the first."""
_REACH = 6
"""Radii that are verified one by one."""


def precompute(
    network: Network,
    x: Any,
    *,
    time_limit: float | None = 20.0,
    threads: int | None = None,
    seed: int = 0,
    notify: Tell | None = None,
) -> list[dict[str, Any]]:
    """Answer what people ask first about a sample, for a page that has no server:
    a list of questions with their answers.

    Parameters
    ----------
    network, x
        The network and one raw sample.
    time_limit
        Seconds for all of them; what is not begun by then is left out. None:
        as long as one question may take.
    threads, seed, notify
        As in `verify`.

    Examples
    --------
    >>> from sugenet.bnn import DenseLayer, Head
    >>> net = Network.of_bits([DenseLayer([[+1, +1, -1, +1]], [2])], Head([[-1], [+1]]), classes=["off", "on"])
    >>> [pair["answer"]["outcome"] for pair in precompute(net, [1, -1, 1, -1])][:3]
    ['minimum', 'refuted', 'minimum']
    """
    values = network.encoder.values(x)
    sample = [json_value(value) for value in values]
    label = network.classes[int(network.predict(row_of(values))[0])]
    total = MOST_SECONDS if time_limit is None else time_limit
    end: float = monotonic() + total
    pairs: list[dict[str, Any]] = []

    def add(share: float, **question: Any) -> dict[str, Any] | None:
        nonlocal end
        left = end - monotonic()
        if left <= 0:
            return None
        if notify is not None:
            notify(f"question {len(pairs) + 1}: {question['kind']}")
        limits = {"time_limit": min(left, MOST_SECONDS, max(share * total, 0.5)), "seed": seed}
        answer = ask(network, question | limits, notify=notify, threads=threads)
        if answer.get("reason") == "interrupted":  # as little as possible comes after Ctrl-C
            end = 0.0
        pairs.append({"question": question, "answer": answer})
        return answer

    def nearest(target: str | None) -> dict[str, Any] | None:
        return add(0.15, kind="whatif", sample=sample, cost="L0", target=target, immutable=[], n=1)

    first = nearest(None)
    safe = _safe_radius(first)
    for radius in range(1, (1 if safe is None else min(safe, _REACH)) + 1):
        add(0.1, kind="verify", sample=sample, region={"kind": "L0", "radius": str(radius)}, target=None)
    if safe is not None and safe < _REACH:
        add(0.1, kind="verify", sample=sample, region={"kind": "L0", "radius": str(safe + 1)}, target=None)
    for name in [name for name in network.classes if name != label][:_TARGETS]:
        nearest(name)
    for region in ({"kind": "L0", "radius": "2"}, {"kind": "Hamming", "radius": "2"}):
        add(0.15, kind="why", sample=sample, region=region, minimal="size", n=5)
    add(0.2, kind="why", sample=sample, region={"kind": "Anything"}, minimal="subset", n=1)
    add(0.1, kind="count", sample=sample, region={"kind": "L0", "radius": "2"})
    return pairs


def _safe_radius(answer: dict[str, Any] | None) -> int | None:
    """Up to how many changed features no counterfactual is, by the proof of an answer;
    None where nothing is known.
    """
    if answer is None or "lower" not in answer:
        return None
    return max(0, -(-Fraction(answer["lower"]) // 1) - 1)
