"""JSON as strictly as it is defined, and no larger than it can be meant: no key twice, no NaN,
no number of endless digits.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

__all__ = ["strict_json"]

_DIGITS = 4300
"""Of a whole number: beyond, reading it takes longer than its text suggests."""


def strict_json(text: str) -> Any:
    """Read JSON; raise `ValueError` with what is wrong, in words, where a lenient reader would guess;
    `RecursionError` where it is deep.

    Examples
    --------
    >>> strict_json('{"n": [3, 0.5]}')
    {'n': [3, 0.5]}
    >>> strict_json('{"n": 3, "n": 4}')
    Traceback (most recent call last):
    ValueError: the key 'n' stands twice
    """
    return json.loads(
        text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite, parse_int=_short
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    known = dict(pairs)
    if len(known) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice[:80]!r} stands twice")
    return known


def _refuse(number: str) -> Any:
    raise ValueError(f"{number[:80]} is no number of JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if isfinite(value) else _refuse(number)


def _short(number: str) -> int:
    if len(number) > _DIGITS:
        raise ValueError(f"a number has too many digits, more than {_DIGITS:,}")
    return int(number)
