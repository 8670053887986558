"""Words that answers share: who settled a question, what a change costs, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, sqrt
from typing import Any

__all__ = [
    "advice",
    "changes_listed",
    "engine_in",
    "engine_words",
    "percent_words",
    "short_number",
    "show_cost",
]

_ENGINES = {
    "evaluation": "evaluating one input",
    "bounds": "bounds through all layers",
    "dual": "dual bounds with branching",
    "search": "local search",
    "flips": "flip enumeration",
    "exhaust": "exhaustion of all combinations",
    "cdcl": "our own solver with threshold propagation",
    "patches": "patterns of patches and an exact linear bound",
}
_NAMES = {words: name for name, words in _ENGINES.items()}


def engine_words(engine: str, proof: Mapping[str, Any] | None = None) -> str:
    """What settled a question, in words; who is trusted, where there is no proof to check."""
    if proof is not None and proof.get("kind") == "trust":
        return f"trusting {proof['solver']}"
    words = _ENGINES.get(engine, engine)
    if proof is not None and proof.get("kind") == "walk":
        return f"{words} ({proof['sets']:,} changes)"
    return words


def engine_in(words: str, proof: Mapping[str, Any] | None = None) -> str:
    """The engine that `engine_words` said."""
    if proof is not None and proof.get("kind") == "trust":
        return str(proof["solver"])
    if proof is not None and proof.get("kind") == "walk":
        words = words.removesuffix(f" ({proof['sets']:,} changes)")
    return _NAMES.get(words, words)


def percent_words(share: Fraction, towards: int = 0) -> str:
    """A share in percent with two decimals: the nearest, or rounded down (-1) or up (+1), so that a bound
    stays one; 0 and 100 are written only where they are exact.

    Examples
    --------
    >>> [percent_words(Fraction(2, 3), towards) for towards in (-1, 0, 1)]
    ['66.66 %', '66.67 %', '66.67 %']
    >>> [percent_words(share) for share in (Fraction(0), Fraction(1), Fraction(99_999, 100_000))]
    ['0 %', '100 %', 'over 99.99 %']
    """
    if share in (0, 1):
        return "100 %" if share else "0 %"
    exact = 10_000 * share
    parts = floor(exact) if towards < 0 else ceil(exact) if towards > 0 else round(exact)
    if towards <= 0 and parts == 0:
        return "under 0.01 %" if towards == 0 else "over 0 %"
    if towards >= 0 and parts == 10_000:
        return "over 99.99 %" if towards == 0 else "under 100 %"
    return f"{parts // 100}.{parts % 100:02d} %"


def short_number(value: Fraction) -> str:
    """An exact number for people: whole, or six digits of it.

    Examples
    --------
    >>> short_number(Fraction(2_000_000)), short_number(Fraction(1, 3))
    ('2000000', '0.333333')
    """
    return str(value) if value.denominator == 1 else f"{float(value):.6g}"


def show_cost(cost: str, value: Fraction) -> str:
    """A cost in words."""
    number = short_number(value)
    many = "" if value == 1 else "s"
    match cost:
        case "L0":
            return f"{number} feature{many} changed"
        case "Hamming":
            return f"{number} bit{many} flipped"
        case "L1":
            return f"raw changes of {number} in all"
        case "L2":
            return f"a raw distance of {sqrt(value):.6g} (sum of squares {number})"
        case "Prices":
            return f"a price of {number}"
    return f"no raw change larger than {number}"


def advice(reason: str, smaller: str = "ask about a smaller region") -> str:
    """What to do next: more time helps only where it ran out."""
    if any(
        words in reason for words in ("time was up", "time is up", "time limit", "stopped", "interrupted")
    ):
        return f"Allow more time, or {smaller}."
    return f"{smaller[0].upper()}{smaller[1:]}, or try another engine."


def changes_listed(changes: Mapping[str, tuple[Any, Any]]) -> str:
    """Some changes, and how many more there are."""
    listed = [f"{name} from {before} to {after}" for name, (before, after) in changes.items()]
    return "; ".join(listed[:6]) + (f"; and {len(listed) - 6} more" if len(listed) > 6 else "")
