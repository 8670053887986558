"""Turn JSON data into frozen, typed values. No other code of the checker reads raw JSON.

A dataclass is a JSON object with exactly its fields. A field with a default is omitted if it has that value.
``class Robust(Tagged, kind="robust")`` names a further field that identifies it. An integer is not a bool,
not 1.0 and not text. A number is an integer, a finite float, or text in lowest terms such as ``-7/2``. It is
read exactly.
"""

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from fractions import Fraction
from functools import cache
from math import isfinite
from re import fullmatch
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from sugenet.errors import CertificateError

__all__ = [
    "ClassIndex",
    "Feature",
    "Features",
    "Integer",
    "Natural",
    "Nested",
    "Number",
    "Row",
    "Rows",
    "Scalar",
    "Sizes",
    "Tagged",
    "Tree",
    "exact",
    "read",
]

Integer: TypeAlias = Annotated[int, "Integer"]
"""A JSON integer."""
Natural: TypeAlias = Annotated[int, "Natural"]
"""A JSON integer of at least 0."""
Number: TypeAlias = Annotated[Fraction, "Number"]
"""A JSON number, or text such as ``-7/2``, read exactly."""
Scalar: TypeAlias = Annotated[Any, "Scalar"]
"""The raw value of a feature: text, a finite number, true, false or null. `meaning` reads it."""
Feature: TypeAlias = Annotated[int, "Feature"]
"""The index of a feature of the network."""
ClassIndex: TypeAlias = Annotated[int, "ClassIndex"]
"""The index of a class of the network."""
Features: TypeAlias = Annotated[tuple[int, ...], "Features"]
"""Different features, by index."""
Row: TypeAlias = Annotated[tuple[Any, ...], "Row"]
"""A raw value for each feature."""
Rows: TypeAlias = Annotated[tuple[tuple[Any, ...], ...], "Rows"]
"""A raw sample as a list of values, or two of them; a tuple of one or two rows."""
Tree: TypeAlias = Annotated[Any, "Tree"]
"""An integer, or a list of trees, which becomes a tuple."""
Nested: TypeAlias = Annotated[dict[str, Any], "Nested"]
"""A JSON object that is read later, for another network."""

_WRITTEN = r"-?[0-9]{1,4300}(/[1-9][0-9]{0,4299})?"
"""A number as text, with at most as many digits as Python reads."""
_BITS = 30_000
"""Largest number of bits of an integer."""
_SHOWN = 150
"""Largest number of bits of an integer that a message shows."""
_WORDS: dict[type, str] = {
    bool: "true or false",
    str: "text",
    list: "a list",
    dict: "a JSON object",
    NoneType: "null",
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Upper bounds of indices."""

    features: int = 0
    classes: int = 0


class Tagged:
    """A JSON object identified by a field; that field and its text are in the class header."""

    __slots__ = ()
    tag: ClassVar[tuple[str, str]]

    def __init_subclass__(cls, **tag: str) -> None:
        if tag:
            (cls.tag,) = tag.items()


_Read = Callable[[Any, Sizes], Any]


def read(kind: Any, data: Any, sizes: Sizes, what: str) -> Any:
    """Read JSON data as a value of a type.

    Raises
    ------
    CertificateError
        If a field is missing, unknown or of the wrong kind; the message names it.
    """
    try:
        return _reader(kind)(data, sizes)
    except CertificateError as error:
        raise CertificateError(f"{what}: {error}") from None
    except RecursionError:
        raise CertificateError(f"{what} is nested too deeply.") from None
    except ValueError as error:  # a number that is too long to show
        raise CertificateError(f"{what} is damaged: {error}") from None


def exact(value: Any, *, least: int | None = None) -> Fraction:
    """Return the exact number for a JSON value: an integer, a finite float, or text such as ``-7/2``."""
    if type(value) is str:
        if not fullmatch(_WRITTEN, value):
            raise _wrong("a number such as 3 or -7/2", value)
        number = Fraction(value)
        if str(number) != value:
            raise CertificateError(f"the number {value[:40]!r} is not in lowest terms.")
    elif type(value) is int:
        number = Fraction(_integer(value))
    elif type(value) is float and isfinite(value):
        number = Fraction(value)
    else:
        raise _wrong("a number such as 3 or -7/2", value)
    if least is not None and number < least:
        raise CertificateError(f"the number {number} must not be below {least}.")
    return number


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise _wrong("an integer", value)
    if value.bit_length() > _BITS:
        raise CertificateError(f"an integer has {value.bit_length():,} bits; {_BITS:,} is the limit.")
    return value


def _natural(value: Any) -> int:
    if _integer(value) < 0:
        raise _wrong("an integer of at least 0", value)
    return int(value)


def _index(value: Any, size: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < size:
        raise _wrong(f"{what} from 0 to {size - 1}", value)
    return value


def _scalar(value: Any) -> Any:
    if type(value) is int:
        return _integer(value)
    if type(value) in (str, bool, NoneType) or (type(value) is float and isfinite(value)):
        return value
    raise _wrong("a raw value", value)


def _features(value: Any, sizes: Sizes) -> tuple[int, ...]:
    indices = tuple(_index(one, sizes.features, "a feature") for one in _list(value))
    if len(set(indices)) < len(indices):
        raise CertificateError("a feature occurs twice.")
    return indices


def _row(value: Any, sizes: Sizes) -> tuple[Any, ...]:
    if len(_list(value)) != sizes.features:
        raise CertificateError(
            f"a sample has {len(value)} values, but the network reads {sizes.features} features."
        )
    return tuple(map(_scalar, value))


def _rows(value: Any, sizes: Sizes) -> tuple[tuple[Any, ...], ...]:
    pair = len(_list(value)) == 2 and type(value[0]) is list
    return tuple(_row(one, sizes) for one in (value if pair else [value]))


def _tree(value: Any) -> Any:
    return tuple([_tree(part) for part in value]) if type(value) is list else _integer(value)


_PLAIN: dict[Any, _Read] = {
    NoneType: lambda value, _: _null(value),
    Tree: lambda value, _: _tree(value),
    Nested: lambda value, _: _of_type(value, dict),
    Integer: lambda value, _: _integer(value),
    Natural: lambda value, _: _natural(value),
    Number: lambda value, _: exact(value),
    Scalar: lambda value, _: _scalar(value),
    Feature: lambda value, sizes: _index(value, sizes.features, "a feature"),
    ClassIndex: lambda value, sizes: _index(value, sizes.classes, "a class"),
    Features: _features,
    Row: _row,
    Rows: _rows,
}


@cache
def _reader(kind: Any) -> _Read:
    """Return the function that reads values of a type."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is None:
        return _PLAIN[NoneType]
    if kind in (bool, str):
        return lambda value, _: _of_type(value, kind)
    if origin is Literal:
        return lambda value, _: _one_of(value, inner)
    if origin is tuple:
        return _list_reader(inner[0]) if inner[-1] is ... else _pair_reader(inner)
    if origin in (Union, UnionType):
        return _union_reader(inner)
    if not is_dataclass(kind):
        raise TypeError(f"certificates hold no {kind}")
    return _object_reader(kind)


def _of_type(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise _wrong(_WORDS[kind], value)
    return value


def _null(value: Any) -> None:
    if value is not None:
        raise _wrong(_WORDS[NoneType], value)


def _one_of(value: Any, allowed: tuple[Any, ...]) -> Any:
    if not any(type(value) is type(one) and value == one for one in allowed):
        raise _wrong(" or ".join(map(str, allowed)), value)
    return value


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise _wrong(_WORDS[list], value)
    return value


def _list_reader(kind: Any) -> _Read:
    one = _reader(kind)
    return lambda value, sizes: tuple([one(part, sizes) for part in _list(value)])


def _pair_reader(kinds: tuple[Any, ...]) -> _Read:
    readers = [_reader(kind) for kind in kinds]

    def pair(value: Any, sizes: Sizes) -> tuple[Any, ...]:
        if len(_list(value)) != len(readers):
            raise CertificateError(f"a list has {len(value)} parts, but must have {len(readers)}.")
        return tuple([one(part, sizes) for one, part in zip(readers, value, strict=True)])

    return pair


def _union_reader(kinds: tuple[Any, ...]) -> _Read:
    """Return the reader of one of several types: null, an object by its tag, or the one other type."""
    objects: list[Any] = [kind for kind in kinds if is_dataclass(kind)]
    others = {
        _json_type(kind): _reader(kind) for kind in kinds if kind is not NoneType and kind not in objects
    }
    tagged: dict[Any, _Read] = {tag: _reader(kind) for kind in objects for tag in _tags(kind)}
    names = sorted({tag[0] for tag in tagged if tag is not None})
    assert len(tagged) == sum(len(_tags(kind)) for kind in objects)

    def union(value: Any, sizes: Sizes) -> Any:
        if value is None and NoneType in kinds:
            return None
        if isinstance(value, dict) and objects:
            for name in names:
                tag = value.get(name)
                if type(tag) is str and (name, tag) in tagged:
                    return tagged[name, tag](value, sizes)
            if None not in tagged:
                known = [name for name in names if name in value]
                if not known:
                    raise CertificateError(f"a JSON object has no field {' or '.join(map(repr, names))}.")
                raise CertificateError(f"unknown {known[0]} {_shortened(value[known[0]])}.")
            return tagged[None](value, sizes)
        reader = others.get(type(value), others.get(None))
        if reader is None:
            known = [_WORDS[one] for one in others if one is not None]
            known += [_WORDS[dict]] * bool(objects) + [_WORDS[NoneType]] * (NoneType in kinds)
            raise _wrong(" or ".join(known), value)
        return reader(value, sizes)

    return union


def _tags(kind: Any) -> list[tuple[str, str] | None]:
    """Return the fields and texts that identify an object; None for an object without a tag."""
    if hasattr(kind, "tag"):
        return [kind.tag]
    literals = ((name, hint) for name, hint in get_type_hints(kind).items() if get_origin(hint) is Literal)
    return [(name, text) for name, hint in literals for text in get_args(hint)] or [None]


def _json_type(kind: Any) -> type | None:
    """Return the JSON type of a list, text, true or false; None for all others."""
    if kind is bool:
        return bool
    return list if get_origin(kind) is tuple else str if kind is str or get_origin(kind) is Literal else None


def _object_reader(kind: Any) -> _Read:
    hints, tag = get_type_hints(kind, include_extras=True), getattr(kind, "tag", None)
    known = {field.metadata.get("json", field.name): field for field in fields(kind)}
    what = kind.__name__ if tag is None else tag[1]

    def read_object(value: Any, sizes: Sizes) -> Any:
        if not isinstance(value, dict):
            raise _wrong(_WORDS[dict], value)
        if tag is not None and value.get(tag[0]) != tag[1]:
            raise CertificateError(f"unknown {tag[0]} {_shortened(value.get(tag[0]))}.")
        for name in value:
            if name not in known and (tag is None or name != tag[0]):
                raise CertificateError(f"{what} has a field {_shortened(name)} that it must not have.")
        arguments = {}
        for name, field in known.items():
            if name not in value:
                if field.default is MISSING:
                    raise CertificateError(f"{what} has no field {name!r}.")
                continue
            try:
                arguments[field.name] = readers[name](value[name], sizes)
            except CertificateError as error:
                raise CertificateError(f"{name}: {error}") from None
            if field.default is not MISSING and arguments[field.name] == field.default:
                raise CertificateError(f"{name} must be left out if it is {_shortened(value[name])}.")
        return kind(**arguments)

    readers: dict[str, _Read] = {}  # a type may contain itself

    def first(value: Any, sizes: Sizes) -> Any:
        if not readers:
            readers.update({name: _reader(hints[field.name]) for name, field in known.items()})
        return read_object(value, sizes)

    return first


def _shortened(value: Any) -> str:
    if isinstance(value, list | dict | NoneType):
        return _WORDS[type(value)]
    if isinstance(value, int) and value.bit_length() > _SHOWN:
        return f"an integer of {value.bit_length():,} bits"
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _wrong(needed: str, value: Any) -> CertificateError:
    return CertificateError(f"{needed} is needed, not {_shortened(value)}.")
