"""What wraps certificates (a rulebook, an answer, a row of results), with one field altered at a time."""

import copy
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

__all__ = ["altered", "uncovered_in"]

Path = tuple[Any, ...]


def altered(
    data: Any,
    *,
    others: Mapping[str, list[Any]] | None = None,
    skip: Callable[[Path], bool] = lambda _: False,
) -> Iterator[tuple[Path, Any]]:
    """Copies of JSON data, in each of which one value is another one of the same type, with its path.

    `others` has further values for text, by the text that they are to replace; `skip` says of which paths
    nothing is to be altered.
    """
    for path, value in _places(data, ()):
        if not skip(path):
            for other in _others(value, others or {}):
                yield path, _with(data, path, other)


def uncovered_in(words: str) -> set[str]:
    """The fields that the words of a check name as not covered."""
    _, found, names = words.rpartition("not covered by a certificate: ")
    return set(names.split(", ")) if found else set()


def _places(data: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if path:
        yield path, data
    rows = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in rows:
        yield from _places(value, (*path, key))


def _others(value: Any, others: Mapping[str, list[Any]]) -> list[Any]:
    match value:
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1]
        case float():
            return [value + 1.0, value - 0.5]
        case str():
            found = [*others.get(value, []), f"{value} or so"]
            try:
                number = Fraction(value)
            except ValueError:
                return found
            return [*found, str(number + 1), str(number / 2)] if number else [*found, "1"]
        case list():
            more = [[*value, value[-1]], value[:-1], value[::-1]] if value else [[0]]
            return [row for row in more if row != value]
        case dict():
            first = next(iter(value), None)
            more = [{name: one for name, one in value.items() if name != first}] if value else []
            return [*more, {**value, "more": 1}]
    return [1]


def _with(data: Any, path: Path, other: Any) -> Any:
    made = copy.deepcopy(data)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = copy.deepcopy(other)
    return made
