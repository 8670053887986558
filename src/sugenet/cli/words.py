"""The words of the command line: what the library says of its arguments, as it can be typed here.

Messages are written once, for Python. What they say of an argument that a command has as an option,
``bits=(1, 2)``, is said here as that option, ``--bits 1,2``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from fractions import Fraction
from shlex import quote

__all__ = ["as_typed", "as_typed_hints"]

_ALIASES = {"prove=False": "--no-proof", "strict=False": "--relaxed"}
"""Arguments whose options have other names."""

_INPUTS = re.compile(r"(?:inputs=)?\b(Integers|Reals|BitInputs)\(((?:[^()]|\([^()]*\))*)\)")
_VALUE = (
    r"'[^']*'|\"[^\"]*\"|\([^()]*\)|\[[^\]]*\]|-?[0-9][0-9.e+-]*[0-9]|-?[0-9]|None|True|False|\.\.\.|\w+|"
)
_HINTS = {
    "method='sample'": "--method sample",
    "time_limit=": "--time-limit",
    "memory_limit=": "--memory-limit",
}
_FIRES = {">": "above", ">=": "reaching"}


def as_typed_hints(text: str) -> str:
    """An answer whose advice can be typed; what it says of samples stays as it is.

    Examples
    --------
    >>> as_typed_hints("Estimate with method='sample'")
    'Estimate with --method sample'
    """
    for words, typed in _HINTS.items():
        text = text.replace(words, typed)
    return text


def as_typed(text: str, flags: Mapping[str, str]) -> str:
    """A message about arguments as one about the options of a command: `flags` by name of the argument.

    Examples
    --------
    >>> flags = {"bits": "--bits", "inputs": "--inputs", "zero": "--zero", "weight_bits": "--weight-bits"}
    >>> as_typed("say bits=(1, 2), or quantize(bits=2) in an architecture", flags)
    'say --bits 1,2, or quantize(bits=2) in an architecture'
    >>> as_typed("declare inputs=Integers(0, 255, step=Fraction(1, 255)), zero=-1.", flags)
    'declare --inputs 0..255/255, --zero -1.'
    >>> as_typed("weight_bits=9 must be at most 8.", flags)
    '--weight-bits 9 must be at most 8.'
    """
    if not flags:  # no name would be any name, of no letters
        return text
    if "inputs" in flags:
        text = _INPUTS.sub(lambda found: f"{flags['inputs']} {_inputs(found[1], found[2])}", text)
    for words, flag in _ALIASES.items():
        if flag in flags.values():
            text = text.replace(words, flag)
    names = "|".join(re.escape(name) for name in flags)
    return re.sub(
        rf"(?<![\w.-])({names})=({_VALUE})(?=\W|$)",
        lambda found: found[0] if _is_inside(text, found.start()) else _option(found, flags),
        text,
    )


def _is_inside(text: str, place: int) -> bool:
    """Whether a place is between the brackets of ``quantize(bits=2)``, where options have no meaning."""
    start = text.rfind("(", 0, place)
    return start > 0 and text[start - 1].isalnum() and ")" not in text[start:place]


def _option(found: re.Match[str], flags: Mapping[str, str]) -> str:
    flag, value = flags[found[1]], found[2]
    if not value:
        return flag
    if found[1] == "image":
        return f"{flag} {'x'.join(re.findall(r'[0-9]+', value)) or value}"
    if value[0] in "([":
        parts = [part.strip().strip("'\"") for part in value[1:-1].split(",") if part.strip()]
        return f"{flag} {','.join(parts) or quote('')}"
    if value[0] in "'\"":
        plain = ast.literal_eval(value)
        if found[1] in ("when", "decision", "fires"):
            return f"{flag} {_FIRES.get(plain, plain.replace(' ', '-'))}"
        return f"{flag} {'tab' if plain == chr(9) else quote(plain)}"
    return f"{flag} {value}"


def _inputs(kind: str, about: str) -> str:
    """What raw samples are, in the words of ``--inputs``.

    Examples
    --------
    >>> _inputs("Integers", "0, 255, step=Fraction(2, 255), start=Fraction(-1, 1)")
    '0..255*2/255-1'
    >>> _inputs("Integers", "..."), _inputs("BitInputs", ""), _inputs("Reals", "low, high")
    ('LOW..HIGH', 'bits', 'reals:LOW..HIGH')
    """
    if kind == "Reals" and "low" in about:
        return "reals:LOW..HIGH"
    if kind != "Integers":
        return {"Reals": "reals", "BitInputs": "bits"}[kind]
    ends = re.match(r"(-?[0-9]+), (-?[0-9]+)", about)
    numbers = {
        name: Fraction(int(top), int(bottom or 1))
        for name, top, bottom in re.findall(r"(step|start)=(?:Fraction\()?(-?[0-9]+)(?:, ([0-9]+)\))?", about)
    }
    step, start = numbers.get("step", Fraction(1)), numbers.get("start", Fraction(0))
    times = "" if step == 1 else f"/{step.denominator}" if step.numerator == 1 else f"*{step}"
    plus = "" if not start else f"{'+' if start > 0 else ''}{start}"
    return f"{f'{ends[1]}..{ends[2]}' if ends else 'LOW..HIGH'}{times}{plus}"
