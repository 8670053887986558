"""Raw features in C: their type, the check of their values, and the bits or levels that the first layer
reads.
"""

from __future__ import annotations

from math import ceil, inf

import numpy as np

from sugenet.errors import FileError
from sugenet.io.c99.text import Signal, Text, Values, literal
from sugenet.nn import Encoder, OneHot, Steps

__all__ = ["raw_type", "write_reader"]

_TYPES = (
    ("uint8_t", 0, 255),
    ("int8_t", -128, 127),
    ("uint16_t", 0, 65535),
    ("int16_t", -32768, 32767),
    ("int32_t", 2 - 2**31, 2**31 - 2),  # so that a cut beyond all values can be written
)
_EXACT = 1 << 53


def raw_type(encoder: Encoder) -> str:
    """Return the C type of raw features: an integer type if all features are integers, else double."""
    ends = [_ends(encoder, feature) for feature in range(encoder.features)]
    low, high = min((end[0] for end in ends), default=0), max((end[1] for end in ends), default=0)
    if all(is_integer for _, _, is_integer in ends):
        for name, lower, upper in _TYPES:
            if lower <= low and high <= upper:
                return name
    return "double"


def _ends(encoder: Encoder, feature: int) -> tuple[float, float, bool]:
    """Return the minimum and maximum of a feature, and whether it is an integer; a category is its index."""
    match encoder.codings[feature]:
        case OneHot(categories):
            return 0.0, float(len(categories) - 1), True
        case Steps() as coding:
            return (-1.0 if coding.bipolar else coding.low), coding.high, coding.whole
        case other:
            raise FileError(
                f"feature {encoder.names[feature]!r} is coded as {type(other).__name__}, "
                f"which this writer does not know."
            )


def write_reader(text: Text, encoder: Encoder, levels: bool, gives: Signal) -> None:
    """Write the function ``read``: it returns 0 and the inputs of the first layer, or -1 for an invalid
    value.
    """
    ctype = raw_type(encoder)
    check = _check(text, encoder, ctype)
    body = _levels(text, encoder, ctype, gives) if levels else _bits(text, encoder, ctype, gives)
    text.add(
        f"static int @_read(const {ctype} *x, {gives.ctype} *out)\n{{\n{check}{gives.clear}{body}"
        f"    return 0;\n}}"
    )


def _check(text: Text, encoder: Encoder, ctype: str) -> str:
    wide = "double" if ctype == "double" else "int32_t"
    ends = [_ends(encoder, feature) for feature in range(encoder.features)]

    def column(name: str, values: list[float]) -> str:
        spelled = [value if wide == "double" else int(value) for value in values]
        if len(set(spelled)) <= 1:
            return literal(spelled[0]) if spelled else "0"
        return f"{text.constant(name, wide, spelled)}[i]"

    low, high = column("low", [end[0] for end in ends]), column("high", [end[1] for end in ends])
    tests = [f"!(v >= {low} && v <= {high})"]
    are_integers = [end[2] for end in ends]
    if wide == "double" and any(are_integers):
        inside = f"v > -{_EXACT}.0 && v < {_EXACT}.0"  # beyond, all floats are integers
        part = f"({inside} && (double)(int64_t)v != v)"
        tests.append(
            part
            if all(are_integers)
            else f"({text.numbers('whole', [int(end) for end in are_integers])}[i] && {part})"
        )
    return (
        f"    for (uint32_t i = 0; i < {encoder.features}u; i++) {{\n        const {wide} v = x[i];\n"
        f"        if ({' || '.join(tests)}) return -1;\n    }}\n"
    )


def _cut(cut: float, ctype: str) -> float | int:
    """Return a cut in the type of the values: the smallest integer that reaches it."""
    if ctype == "double":
        return cut
    if cut in (inf, -inf):
        return 2**31 - 1 if cut > 0 else 1 - 2**31
    return max(1 - 2**31, min(2**31 - 1, ceil(cut)))


def _table(text: Text, name: str, values: list[float | int], ctype: str) -> str:
    """Write an array of numbers to compare with; if all are equal, return that number."""
    if len(set(values)) == 1:
        return literal(values[0])
    if ctype == "double":
        return f"{text.constant(name, 'double', [float(value) for value in values])}[i]"
    return f"{text.numbers(name, values)}[i]"


def _bits(text: Text, encoder: Encoder, ctype: str, gives: Signal) -> str:
    lows: list[float | int] = []
    highs: list[float | int] = []
    for coding in encoder.codings:
        if isinstance(coding, OneHot):
            lows += [float(index) if ctype == "double" else index for index in range(coding.width)]
            highs += [float(index) if ctype == "double" else index for index in range(coding.width)]
        else:
            lows += [_cut(cut, ctype) for cut in coding.cuts]
            highs += [_cut(inf, ctype)] * coding.width
    if not lows:
        return "    (void)x;\n    (void)out;\n" if isinstance(gives, Values) else "    (void)x;\n"
    feature = "i"
    if encoder.feature_of != tuple(range(encoder.features)):
        feature = f"{text.numbers('feature', encoder.feature_of)}[i]"
    condition = f"x[{feature}] >= {_table(text, 'cut', lows, ctype)}"
    if any(isinstance(coding, OneHot) for coding in encoder.codings):
        condition = f"{condition} && x[{feature}] <= {_table(text, 'upto', highs, ctype)}"
    store = gives.store(text, "i", condition, "")
    return f"    for (uint32_t i = 0; i < {encoder.width}u; i++)\n        {store}\n"


def _levels(text: Text, encoder: Encoder, ctype: str, gives: Signal) -> str:
    codings = [coding for coding in encoder.codings if isinstance(coding, Steps)]
    assert isinstance(gives, Values)
    loop = f"    for (uint32_t i = 0; i < {encoder.features}u; i++)"
    if ctype != "double" and all(coding.every_step for coding in codings):
        low = _table(text, "least", [int(coding.low) for coding in codings], ctype)
        return f"{loop} out[i] = ({gives.ctype})({'x[i]' if low == '0' else f'x[i] - ({low})'});\n"
    starts = np.cumsum([0, *(coding.width for coding in codings)])
    first = text.numbers("first", starts)
    cuts = [_cut(cut, ctype) for coding in codings for cut in coding.cuts]
    name = text.constant("cuts", "double", cuts) if ctype == "double" else text.numbers("cuts", cuts)
    return (
        f"{loop} {{\n        uint32_t level = 0, n = (uint32_t)({first}[i + 1] - {first}[i]);\n"
        f"        while (level < n && x[i] >= {name}[(uint32_t){first}[i] + level]) level++;\n"
        f"        out[i] = ({gives.ctype})level;\n    }}\n"
    )
