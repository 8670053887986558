"""Raw features, layers and the head in C."""

from math import ceil, inf
from typing import Any

import numpy as np

from sugenet.errors import FileError
from sugenet.io.c99.text import SET, Signal, Text, Values, Words, literal, pack
from sugenet.nn import (
    NEVER,
    Encoder,
    Head,
    Layer,
    OneHot,
    Steps,
)

__all__ = ["raw_type", "sum_type", "write_head", "write_layer", "write_reader"]

_MOST = 2**31 - 1
_WIDE = 2**62

_COUNT = """#if (defined(__GNUC__) || defined(__clang__)) && UINT_MAX >= 0xffffffffu
#define @_count(v) __builtin_popcount(v)
#else
static int32_t @_count(uint32_t v)
{
    v -= (v >> 1) & 0x55555555u;
    v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
    return (int32_t)((((v + (v >> 4)) & 0x0f0f0f0fu) * (uint32_t)0x01010101u) >> 24);
}
#endif"""

_DIFFER = """static int32_t @_differ(const uint32_t *a, const uint32_t *b, uint32_t words)
{
    int32_t n = 0;
    for (uint32_t i = 0; i < words; i++) n += @_count(a[i] ^ b[i]);
    return n;
}"""

_DIFFER_IN = """static int32_t @_differ_in(const uint32_t *a, const uint32_t *b, const uint32_t *in,
    uint32_t words)
{
    int32_t n = 0;
    for (uint32_t i = 0; i < words; i++) n += @_count((a[i] ^ b[i]) & in[i]);
    return n;
}"""

_SUM = """static SUM @_sum_VALUE_WEIGHT_SUM(const VALUE *v, const WEIGHT *w, uint32_t n)
{
    SUM sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (SUM)v[i] * w[i];
    return sum;
}"""

_CLIMB = """static uint32_t @_climb_STEP_SUM(SUM sum, const STEP *limit, uint32_t steps)
{
    uint32_t low = 0, high = steps;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (sum > limit[middle]) low = middle + 1; else high = middle;
    }
    return low;
}"""


def write_layer(text: Text, number: int, layer: Layer, reads: Signal, gives: Signal) -> None:
    """Write the function ``layerN`` from its inputs to those of the next layer."""
    name = f"layer{number}"
    if layer.window is None:
        make = _packed if isinstance(reads, Words) else _summed
    elif layer.every is None:
        make = _packed_conv if isinstance(reads, Words) else _summed_conv
    else:
        make = _pooled_words if isinstance(reads, Words) else _pooled
    body = make(text, name, layer, reads, gives)
    text.add(f"static void @_{name}(const {reads.ctype} *in, {gives.ctype} *out)\n{{\n{gives.clear}{body}}}")


def write_head(text: Text, head: Head, reads: Signal) -> None:
    """Write the function ``votes``: the match count of every class."""
    if isinstance(reads, Words):
        full, words = bool(head.weights.all()), reads.length
        differ = _differing(text, "head", head.weights, full, "in", f"k * {words}u", words)
        count = f"{text.numbers('head_size', head.sizes)}[k] - {differ}"
    else:
        rows, total = _sums(text, "head", head.weights, reads, sum_type(head.sizes))
        lowest = text.numbers("head_least", head.lowest)
        count = f"{total}(in, {rows} + k * {head.inputs}u, {head.inputs}u) - {lowest}[k]"
    text.add(
        f"static void @_votes(const {reads.ctype} *in, {sum_type(head.sizes)} *counts)\n{{\n"
        f"    for (uint32_t k = 0; k < {head.outputs}u; k++)\n        counts[k] = {count};\n}}"
    )


def _differing(text: Text, name: str, weights: Any, full: bool, values: str, row: str, words: int) -> str:
    """Write packed signs, and masks unless all weights are nonzero.

    Return the call that counts the literals that do not hold, in `words` words of `values` and of the weights
    from `row` on.
    """
    text.helper("count", _COUNT)
    signs = text.constant(f"{name}_sign", "uint32_t", pack(weights > 0))
    if full:
        return f"{text.helper('differ', _DIFFER)}({values}, {signs} + {row}, {words}u)"
    mask = text.constant(f"{name}_mask", "uint32_t", pack(weights != 0))
    return f"{text.helper('differ_in', _DIFFER_IN)}({values}, {signs} + {row}, {mask} + {row}, {words}u)"


def _packed(text: Text, name: str, layer: Any, _reads: Signal, gives: Signal) -> str:
    full, words = bool(layer.weights.all()), Words(layer.inputs).length
    differ = _differing(text, name, layer.weights, full, "in", f"j * {words}u", words)
    room = text.numbers(f"{name}_room", layer.sizes - np.clip(layer.tau, 0, layer.sizes + 1))
    store = gives.store(text, "j", f"{differ} <= {room}[j]", "")
    return f"    for (uint32_t j = 0; j < {layer.outputs}u; j++)\n        {store}\n"


def _limits(layer: Any) -> Any:
    """Return what a sum must exceed to reach a step; `NEVER` is above all sums."""
    steps = layer.sum_thresholds if layer.is_binary else layer.steps
    limit = _MOST if sum_type(layer.sizes) == "int32_t" else _WIDE
    return steps - 1 if layer.is_binary else np.where(steps == NEVER, limit, steps - 1)


def sum_type(sizes: Any) -> str:
    """Return the type of sums of these magnitudes, or of match counts."""
    return "int32_t" if int(sizes.max(initial=0)) < 1 << 31 else "int64_t"


def _sums(text: Text, name: str, weights: Any, reads: Signal, kept: str) -> tuple[str, str]:
    kind = Text.type_of(weights)
    lines = _SUM.replace("VALUE", reads.ctype).replace("WEIGHT", kind).replace("SUM", kept)
    total = text.helper(f"sum_{reads.ctype}_{kind}_{kept}", lines)
    return text.constant(f"{name}_weight", kind, weights), total


def _level(text: Text, name: str, limits: Any, row: str, kept: str) -> tuple[str, str]:
    """Return the condition and level of a sum ``s`` under the limits of a row."""
    steps, kind = limits.shape[1], Text.type_of(limits)
    limit = text.constant(f"{name}_limit", kind, limits)
    if steps == 1:
        return f"s > {limit}[{row}]", ""
    lines = _CLIMB.replace("STEP", kind).replace("SUM", kept)
    climb = text.helper(f"climb_{kind}_{kept}", lines)
    call = f"{climb}(s, {limit} + {row} * {steps}u, {steps}u)"
    return f"{call} > 0", call


def _summed(text: Text, name: str, layer: Any, reads: Signal, gives: Signal) -> str:
    weights, kept = layer.weights, sum_type(layer.sizes)
    rows, total = _sums(text, name, weights, reads, kept)
    condition, level = _level(text, name, _limits(layer), "j", kept)
    inputs = weights.shape[1]
    return (
        f"    for (uint32_t j = 0; j < {len(weights)}u; j++) {{\n"
        f"        const {kept} s = {total}(in, {rows} + j * {inputs}u, {inputs}u);\n"
        f"        {gives.store(text, 'j', condition, level)}\n    }}\n"
    )


def _kinds(text: Text, name: str, table: Any) -> tuple[Any, str]:
    """Return the different columns of a table over positions, as rows, and the row of a position as an
    expression.
    """
    rows, owner = np.unique(table.T, axis=0, return_inverse=True)
    if len(rows) == 1:
        return rows, "0u"
    return rows, f"(uint32_t){text.numbers(f'{name}_kind', owner.reshape(-1))}[p]"


def _packed_conv(text: Text, name: str, layer: Any, reads: Any, gives: Signal) -> str:
    outs, positions = len(layer.weights), len(layer.window.taps)
    kernel = layer.weights.reshape(outs, reads.shape[0] if reads.shape else 1, -1)
    taps, cw = kernel.shape[2], reads.per_pixel
    spread = np.zeros((outs, taps, 32 * cw), np.int64)
    spread[:, :, : kernel.shape[1]] = kernel.transpose(0, 2, 1)
    rows, at = spread.reshape(outs, -1), f"(o * {taps}u + t) * {cw}u"
    differ = _differing(text, name, rows, bool(kernel.all()), f"in + (uint32_t)q * {cw}u", at, cw)
    room = layer.sizes - np.clip(layer.tau, 0, layer.sizes + 1)
    rows, kind = _kinds(text, name, room.reshape(outs, positions))
    rooms = text.numbers(f"{name}_room", rows)
    tap = text.numbers(f"{name}_tap", layer.window.taps)
    store = _placed(text, gives, layer.output_shape, f"n <= {rooms}[{kind} * {outs}u + o]", "")
    return (
        f"    for (uint32_t p = 0; p < {positions}u; p++)\n"
        f"    for (uint32_t o = 0; o < {outs}u; o++) {{\n"
        f"        int32_t n = 0;\n"
        f"        for (uint32_t t = 0; t < {taps}u; t++) {{\n"
        f"            const int32_t q = {tap}[p * {taps}u + t];\n"
        f"            if (q >= 0) n += {differ};\n        }}\n"
        f"        {store}\n    }}\n"
    )


def _placed(text: Text, gives: Signal, shape: tuple[int, int, int], condition: str, level: str) -> str:
    """Store the value of channel o at position p."""
    if isinstance(gives, Words) and gives.shape == shape:
        name = text.helper("set", SET)
        return f"{name}(out, p * {32 * gives.per_pixel}u + o, {condition});"
    return gives.store(text, f"(o * {shape[1] * shape[2]}u + p)", condition, level)


def _summed_conv(text: Text, name: str, layer: Any, _reads: Signal, gives: Signal) -> str:
    outs, positions = len(layer.weights), len(layer.window.taps)
    channels, height, width = layer.window.shape
    per_in, per_out = channels // layer.groups, outs // layer.groups
    taps, pixels = layer.window.taps.shape[1], height * width
    limits, row, pad = _limits(layer), "o", layer.pad
    if layer.is_binary:
        rows, kind = _kinds(text, name, limits.reshape(outs, positions))
        limits, row = rows.reshape(-1, 1), f"({kind} * {outs}u + o)"
    weight = text.numbers(f"{name}_weight", layer.weights)
    tap = text.numbers(f"{name}_tap", layer.window.taps)
    kept = sum_type(layer.sizes)
    condition, level = _level(text, name, limits, row, kept)
    inside = f"in[(g + c) * {pixels}u + (uint32_t)q]"
    value = f"(q < 0 ? {pad} : ({kept}){inside})" if pad else f"({kept}){inside}"
    skip = "" if pad else "            if (q < 0) continue;\n"
    group = f"o / {per_out}u * {per_in}u" if layer.groups > 1 else "0"
    return (
        f"    for (uint32_t p = 0; p < {positions}u; p++)\n"
        f"    for (uint32_t o = 0; o < {outs}u; o++) {{\n"
        f"        const uint32_t g = {group};\n        {kept} s = 0;\n"
        f"        for (uint32_t t = 0; t < {taps}u; t++) {{\n"
        f"            const int32_t q = {tap}[p * {taps}u + t];\n{skip}"
        f"            for (uint32_t c = 0; c < {per_in}u; c++)\n"
        f"                s += {value} * {weight}[(o * {per_in}u + c) * {taps}u + t];\n        }}\n"
        f"        {_placed(text, gives, layer.output_shape, condition, level)}\n    }}\n"
    )


def _pooled_words(text: Text, name: str, layer: Any, reads: Any, gives: Signal) -> str:
    """Write OR over the window, AND for the channels in which every input must be active."""
    channels, height, width = layer.output_shape
    cw, taps = reads.per_pixel, layer.window.taps.shape[1]
    every = text.constant(f"{name}_every", "uint32_t", pack(layer.every[None, :]))
    tap = text.numbers(f"{name}_tap", layer.window.taps)
    if isinstance(gives, Words) and gives.shape == layer.output_shape:
        keep = f"out[p * {cw}u + k] = w;"
    else:
        store = gives.store(text, f"((k * 32 + b) * {height * width}u + p)", "((w >> b) & 1) != 0", "")
        keep = f"for (uint32_t b = 0; b < 32 && k * 32 + b < {channels}u; b++) {store}"
    return (
        f"    for (uint32_t p = 0; p < {height * width}u; p++)\n"
        f"    for (uint32_t k = 0; k < {cw}u; k++) {{\n"
        f"        uint32_t any = 0, all = 0xffffffffu, w;\n"
        f"        for (uint32_t t = 0; t < {taps}u; t++) {{\n"
        f"            const int32_t q = {tap}[p * {taps}u + t];\n            if (q < 0) continue;\n"
        f"            any |= in[(uint32_t)q * {cw}u + k];\n            all &= in[(uint32_t)q * {cw}u + k];\n"
        f"        }}\n        w = (any & ~{every}[k]) | (all & {every}[k]);\n        {keep}\n    }}\n"
    )


def _pooled(text: Text, name: str, layer: Any, _reads: Signal, gives: Signal) -> str:
    """Write the maximum of the window, or the minimum if every input counts."""
    channels, height, width = layer.output_shape
    pixels, taps = layer.window.shape[1] * layer.window.shape[2], layer.window.taps.shape[1]
    every = text.constant(f"{name}_every", "uint8_t", layer.every.astype(np.int64))
    tap = text.numbers(f"{name}_tap", layer.window.taps)
    return (
        f"    for (uint32_t p = 0; p < {height * width}u; p++)\n"
        f"    for (uint32_t o = 0; o < {channels}u; o++) {{\n"
        f"        int32_t best = -1;\n"
        f"        for (uint32_t t = 0; t < {taps}u; t++) {{\n"
        f"            const int32_t q = {tap}[p * {taps}u + t];\n            if (q < 0) continue;\n"
        f"            const int32_t v = (int32_t)in[o * {pixels}u + (uint32_t)q];\n"
        f"            if (best < 0 || ({every}[o] ? v < best : v > best)) best = v;\n        }}\n"
        f"        {_placed(text, gives, layer.output_shape, 'best > 0', 'best')}\n    }}\n"
    )


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
