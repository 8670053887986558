"""The fields of a question, one table: how each is read from JSON, and its JSON schema.

A question is checked field by field, so that the error names the wrong field.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from sugenet.capacity.arguments import read_number
from sugenet.errors import QuestionError
from sugenet.fields import FIELDS, KINDS
from sugenet.nn import Coding, Network, OneHot
from sugenet.problem.regions import BALLS, AnyInput, Free, Region
from sugenet.reason.rules.rule import parse_rule

__all__ = [
    "MOST_SECONDS",
    "SECONDS",
    "checked",
    "json_value",
    "question_schema",
    "read_sample",
    "sample_schema",
]

SECONDS = 30.0
"""Default time limit of a question."""
MOST_SECONDS = 600.0
_MOST_ANSWERS = 50
"""Maximum number of reasons or counterfactuals per question."""
_RULE_LETTERS = 2000
_SEEDS = 2**32
_WRITTEN = r"[0-9]{1,18}([.][0-9]{1,18}|/[1-9][0-9]{0,17})?$"
"""Numbers as text that are accepted: those that the schema describes."""

Schema: TypeAlias = dict[str, Any]


def checked(network: Network, question: Any) -> dict[str, Any]:
    """Return a question with every field checked and filled in, with region and categories as Python values.

    Raises
    ------
    QuestionError
        If a field is wrong; the message names the first one and the fix.
    """
    if not isinstance(question, Mapping):
        raise QuestionError('a question is a JSON object, such as {"kind": "rule", "text": "..."}.')
    kind = question.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise QuestionError(f"kind is {_shown(kind)}, but must be one of {', '.join(_KINDS)}.")
    needed, possible = _KINDS[kind]
    for name in needed:
        if name not in question:
            raise QuestionError(f"a {kind} question needs the field {name}.")
    known = {"kind", *needed, *possible, *_LIMITS}
    stray = next((name for name in question if name not in known), None)
    if stray is not None:
        raise QuestionError(
            f"a {kind} question has no field {_shown(stray)}. It may have {', '.join(sorted(known))}."
        )
    fields: dict[str, Any] = {"kind": kind}
    for name in (*_LIMITS, *needed, *possible):
        field = _FIELDS[name]
        fields[name] = field.read(network, question[name]) if name in question else field.default
    return fields


def question_schema(network: Network) -> Schema:
    """Return the JSON schema of the questions that are valid for a network, for its OpenAPI description.

    Examples
    --------
    >>> from sugenet.nn import Head
    >>> schema = question_schema(Network.of_bits([], Head([[1, 1], [-1, -1]]), classes=["off", "on"]))
    >>> [one["properties"]["kind"]["const"] for one in schema["oneOf"]]
    ['verify', 'whatif', 'why', 'rule', 'count']
    """
    schemas = {name: field.schema(network) for name, field in _FIELDS.items()}
    kinds = []
    for kind, (needed, possible) in _KINDS.items():
        named = {name: schemas[name] for name in (*needed, *possible, *_LIMITS)}
        kinds.append(_object({"kind": {"const": kind}} | named, "kind", *needed))
    return {"oneOf": kinds}


def _object(properties: Schema, *required: str) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# -- the fields ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Field:
    """A field: how it is read, its schema, and its default."""

    read: Callable[[Network, Any], Any]
    schema: Callable[[Network], Schema]
    default: Any = None


def _number(
    name: str, kind: type[int] | type[float], low: float, high: float, default: float | None
) -> _Field:
    """Return a field for a number of one kind between two ends."""
    is_integer = kind is int
    what = f"an integer from {low} to {high}" if is_integer else f"a number from {low:g} to {high:g}"
    schema = {"type": "integer" if is_integer else "number", "minimum": low, "maximum": high}

    def read(_network: Network, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or (is_integer and value != int(value)):
            raise QuestionError(f"{name} is {_shown(value)}, but must be {what}.")
        return kind(value)

    return _Field(read, lambda _: schema, default)


def _one_of(name: str, choices: list[str], default: str | None) -> _Field:
    def read(_network: Network, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise QuestionError(f"{name} is {_shown(value)}, but must be one of {', '.join(choices)}.")
        return value

    return _Field(read, lambda _: {"enum": choices}, default)


def read_sample(network: Network, values: Any) -> list[Any]:
    """Return the values of a JSON sample, a list or an object, as Python values.

    Raises
    ------
    QuestionError
        If the sample is invalid.
    """
    encoder = network.encoder
    if isinstance(values, dict) and encoder.columns is None:  # before an array makes 0 of false
        for name, coding in zip(encoder.names, encoder.codings, strict=True):
            if name in values:
                _value(name, coding, values[name])
    if isinstance(values, dict) or (encoder.columns is not None and isinstance(values, list)):
        values = encoder.values(values)
    if not isinstance(values, list | tuple) or len(values) != encoder.features:
        received = f"{len(values)} values" if isinstance(values, list | tuple) else _shown(values)
        raise QuestionError(
            f"sample is {received}, but must be a list of {encoder.features} values, one for each feature, "
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
        some, n_more = ", ".join(map(str, coding.categories[:12])), len(coding.categories) - 12
        raise QuestionError(
            f"sample: {name} is {_shown(value)}, which is not a category. The {len(coding.categories)} "
            f"categories are {some}{f' and {n_more} more' if n_more > 0 else ''}."
        )
    number = read_number(value, f"sample: {name}", QuestionError)
    coding.read(np.array([number], dtype=object), f"sample: {name}")
    return number


def json_value(value: Any) -> Any:
    """Return a raw value as JSON; values that JSON lacks become text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def sample_schema(network: Network) -> Schema:
    """Return the JSON schema of a sample."""
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
    columns = network.encoder.columns
    if columns is None:
        return {"anyOf": [row, _object(values, *names)]}
    cell = {"type": ["string", "number", "boolean", "null"]}  # `sugenet.nn.columns` says how cells are read
    raw = {"type": "array", "items": cell, "minItems": len(columns.names), "maxItems": len(columns.names)}
    return {"anyOf": [row, raw, {"type": "object", "additionalProperties": cell}]}


def _value_schema(coding: Coding) -> Schema:
    if isinstance(coding, OneHot):
        return {"enum": [json_value(category) for category in coding.categories]}
    if coding.bipolar:
        return {"enum": [-1, 0, 1]}
    ends = {"minimum": coding.low, "maximum": coding.high}
    bounds = {name: int(end) if end == int(end) else end for name, end in ends.items() if isfinite(end)}
    number = {"type": "integer" if coding.whole else "number"} | bounds
    small = coding.whole and max(abs(coding.low), abs(coding.high)) < 2**53
    return number if small else {"anyOf": [number, {"type": "string", "pattern": f"^-?{_WRITTEN}"}]}


def _region(network: Network, region: Any) -> Region:
    if not isinstance(region, Mapping):
        raise QuestionError(
            f'region is {_shown(region)}, but must be an object such as {{"kind": "L0", "radius": "2"}}.'
        )
    kind = region.get("kind")
    if not isinstance(kind, str) or kind not in (*BALLS, "Free", "AnyInput"):
        raise QuestionError(
            f"region: kind is {_shown(kind)}, but must be one of {', '.join(BALLS)}, Free, AnyInput."
        )
    wanted = {"AnyInput": {"kind"}, "Free": {"kind", "features"}}.get(kind, {"kind", "radius"})
    if set(region) != wanted:
        raise QuestionError(
            f"region: {kind} has the fields {', '.join(sorted(wanted))}, "
            f"not {_shown(', '.join(map(str, region)))}."
        )
    if kind == "AnyInput":
        return AnyInput()
    if kind == "Free":
        return Free(_names(network, region["features"], "region: features"))
    radius = read_number(region["radius"], "region: radius", QuestionError)
    if radius < 0:
        raise QuestionError(f"region: radius is {_shown(region['radius'])}, but a radius is not negative.")
    return BALLS[kind](radius)


def _region_schema(network: Network) -> Schema:
    radius = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": f"^{_WRITTEN}"}]}
    balls = {"kind": {"enum": list(BALLS)}, "radius": radius}
    free = {"kind": {"const": "Free"}, "features": _names_schema(network)}
    return {
        "oneOf": [
            _object({"kind": {"const": "AnyInput"}}, "kind"),
            _object(balls, "kind", "radius"),
            _object(free, "kind", "features"),
        ]
    }


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


def _names_schema(network: Network) -> Schema:
    return {"type": "array", "items": {"enum": list(network.encoder.names)}}


def _target(network: Network, name: Any) -> str | None:
    if name is None or (isinstance(name, str) and name in network.classes):
        return name
    raise QuestionError(
        f"target is {_shown(name)}, which is not a class. The classes are {', '.join(network.classes)}."
    )


_RANGE = _one_of("within", ["data", "any"], None)


def _within(network: Network, value: Any) -> Any:
    network.within(_RANGE.read(network, value))  # raises an error if its training range is not known
    return value


def _text(network: Network, text: Any) -> str:
    if not isinstance(text, str) or not 0 < len(text) <= _RULE_LETTERS:
        raise QuestionError(
            f"text is {_shown(text)}, but must be a rule such as 'size >= 14 -> large', of up to "
            f"{_RULE_LETTERS:,} letters."
        )
    parse_rule(network, text)  # its error describes the problem
    return text


_FIELDS = {
    "sample": _Field(read_sample, sample_schema),
    "region": _Field(_region, _region_schema),
    "target": _Field(_target, lambda network: {"enum": [None, *network.classes]}),
    "cost": _one_of("cost", list(BALLS), "L0"),
    "minimal": _one_of("minimal", list(FIELDS["minimal"].choices), FIELDS["minimal"].default),
    "precision": _number("precision", float, 0, 1, None),
    "keep": _Field(lambda network, names: _names(network, names, "keep"), _names_schema, ()),
    "n": _number("n", int, 1, _MOST_ANSWERS, 1),
    "text": _Field(_text, lambda _: {"type": "string", "minLength": 1, "maxLength": _RULE_LETTERS}),
    "time_limit": _number("time_limit", float, 0, MOST_SECONDS, SECONDS),
    "seed": _number("seed", int, 0, _SEEDS - 1, 0),
    "within": _Field(_within, _RANGE.schema),
}
_LIMITS = ("time_limit", "seed", "within")
"""Fields that every question may have."""
_KINDS = {name: (kind.required, kind.optional) for name, kind in KINDS.items() if kind.required}
"""Required and optional fields of each kind of question."""
