"""Write a network as one C99 file: no allocation, no library, identical classes and match counts.

The file has a self-test: samples with their match counts by the definition. If the features have few
combinations of states, these are all of them. Otherwise the samples are directed to thresholds of neurons.
"""

import os
import re
from math import gcd
from pathlib import Path

import numpy as np

from sugenet.files import write_text
from sugenet.io.c99.layers import raw_type, sum_type, write_head, write_layer, write_reader
from sugenet.io.c99.text import Signal, Text, literal, wanted
from sugenet.io.plain.refusals import refuse_if, within
from sugenet.io.proof.near import directed
from sugenet.nn import Encoder, Head, Layer, Network, OneHot, network_of

__all__ = ["c_text", "write_c"]

_MAX_RANKS = 1 << 20
_VECTORS, _EVERY, _VECTOR_VALUES = 64, 1024, 1 << 14
_KEYWORDS = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|"
    "main|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|"
    "volatile|while"
)


def write_c(network: Network, path: str | os.PathLike[str]) -> None:
    """Write a network as a C99 file that needs no library and allocates nothing.

    Functions are named by the stem of the file: ``net.c`` has ``int net_predict(const uint8_t x[])``, the
    index of the class, and ``int net_match_counts(const uint8_t x[], int32_t counts[])``. Both give -1 if a
    value is not valid for its feature. Raw values are ``double``, or the smallest integer type that holds all
    of them; a category is given by its index. Compiled with ``-Dnet_SELF_TEST``, the file is a program that
    compares itself with `Network` on samples in it: all combinations of states if there are at most 1024,
    else 64 samples at and next to thresholds. With ``net_DECLARATIONS_ONLY`` defined it can be included as
    its own header.

    Parameters
    ----------
    network : Network
        The network.
    path : str or Path
        File to write. An existing file is replaced in one step.

    Returns
    -------
    None
        The file is complete when this returns.

    Raises
    ------
    FileError
        If the path cannot be written, or the network cannot be written as a C file of reasonable size.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sugenet.nn import DenseLayer
    >>> net = Network.of_bits([DenseLayer([[+1, -1, +1]], tau=[2])], Head([[+1], [-1]]))
    >>> with TemporaryDirectory() as folder:
    ...     write_c(net, f"{folder}/small.c")
    ...     text = Path(folder, "small.c").read_text()
    >>> next(line for line in text.splitlines() if "predict(" in line)
    'int small_predict(const int8_t x[3]);'

    See Also
    --------
    write_onnx : writes a file for ONNX Runtime.
    """
    with within(f"the network cannot be written to {os.fspath(path)!r}"):
        text = c_text(network_of(network), _prefix(Path(path).stem))
    write_text(path, text)


def c_text(network: Network, prefix: str) -> str:
    """Return the text of the file that `write_c` writes; all names start with `prefix`."""
    refuse_if(
        network.passes_reals,
        "layer 1 reads real numbers as they are, whose exact sums have no type in C. Import the network "
        "with inputs=Integers(...).",
    )
    text = Text(prefix)
    encoder, head, ctype = network.encoder, network.head, raw_type(network.encoder)
    tops = [_input_top(network), *(layer.height for layer in network.layers)]
    readers: list[Layer | Head] = [*network.layers, head]
    signals = [wanted(reader, top) for reader, top in zip(readers, tops, strict=True)]
    write_reader(text, encoder, network.reads_levels, signals[0])
    for number, layer in enumerate(network.layers, start=1):
        write_layer(text, number, layer, signals[number - 1], signals[number])
    write_head(text, head, signals[-1])
    ranks = _ranks(text, head)
    body = _program(signals, ctype, encoder.features, head, ranks)
    buffers = min(len(signals), 2) * max(_size(signal) for signal in signals)
    opening = _opening(network, prefix, ctype, text.bytes, buffers)
    test = Text(prefix)
    _self_test(test, network, ctype)
    return f"{opening}\n{text}\n{body.replace('@', prefix)}\n{test}\n#endif\n"


def _prefix(stem: str) -> str:
    """Return a C identifier made from the name of a file."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", stem).strip("_") or "net"
    return f"net_{name}" if name[0].isdigit() or _KEYWORDS.fullmatch(name) else name


def _input_top(network: Network) -> int:
    if not network.reads_levels:
        return 1
    return max(network.encoder.tops or (1,), default=1)


def _size(signal: Signal) -> int:
    return signal.length * (4 if signal.ctype == "uint32_t" else 2 if signal.ctype == "uint16_t" else 1)


def _opening(network: Network, prefix: str, ctype: str, constants: int, stack: int) -> str:
    features, classes = network.encoder.features, network.head.outputs
    kept = sum_type(network.head.sizes)
    named = [f" *   {k} {_plain(name)}" for k, name in enumerate(network.classes)]
    slopes, offsets, unit = network.head.integers
    scores = [
        f" *   {k}: ({a} * count {b:+}) / {unit}"
        for k, (a, b) in enumerate(zip(slopes, offsets, strict=True))
    ]
    return f"""/* A binarized network in C99, made by sugenet. Network {network.fingerprint}.
 * Features: {features}; hidden layers: {len(network.layers)}; classes: {classes}.
 * Constants take {constants} bytes, buffers on the stack {stack}; nothing is allocated, nothing is kept
 * between calls. Test: cc -std=c99 -D{prefix}_SELF_TEST FILE && ./a.out
 * Classes:
{_lines(named)}
 * Exact scores, from match counts; of equal ones the lowest class wins:
{_lines(scores)}
 * Features, in order (a category is given by its place, from 0):
{_lines([f" *   {i} {_feature(network.encoder, i)}" for i in range(features)])}
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>

#ifndef {prefix}_H
#define {prefix}_H
#define {prefix}_FEATURES {features}
#define {prefix}_CLASSES {classes}
/* The index of the class, or -1 if a value is not valid for its feature. */
int {prefix}_predict(const {ctype} x[{features or 1}]);
/* The match count of every class, and 0; or -1. */
int {prefix}_match_counts(const {ctype} x[{features or 1}], {kept} counts[{classes}]);
#endif

#ifndef {prefix}_DECLARATIONS_ONLY
"""


def _lines(rows: list[str], limit: int = 40) -> str:
    if len(rows) > limit:
        rows = [*rows[: limit // 2], f" *   ... {len(rows) - limit} more", *rows[-(limit // 2) :]]
    return "\n".join(rows)


def _plain(name: str) -> str:
    """Return a name that cannot end a comment."""
    return re.sub(r"[^ -~]", "?", name).replace("*/", "* /").replace("/*", "/ *").replace("@", "(at)")


def _feature(encoder: Encoder, feature: int) -> str:
    coding, name = encoder.codings[feature], _plain(encoder.names[feature])
    if isinstance(coding, OneHot):
        return f"{name}: {', '.join(f'{p} {_plain(str(c))}' for p, c in enumerate(coding.categories[:20]))}"
    if coding.bipolar:
        return f"{name}: 1 is on, 0 or -1 off"
    prefix = "whole, " if coding.whole else ""
    return f"{name}: {prefix}{coding.low:g} to {coding.high:g}"


def _ranks(text: Text, head: Head) -> str:
    """Return an expression for the rank of class k with its count among all scores.

    Ranks are ordered integers, or indices in a table of all possible scores.
    """
    slopes, offsets, _ = head.integers
    min_offset = min(offsets)
    factor = gcd(*slopes, *(offset - min_offset for offset in offsets)) or 1
    a, b = [slope // factor for slope in slopes], [(offset - min_offset) // factor for offset in offsets]
    sizes = head.sizes.tolist()
    if max(abs(s) * n + o for s, o, n in zip(a, b, sizes, strict=True)) < 1 << 62:
        slope = text.constant("slope", "int64_t", np.array(a, object))
        offset = text.constant("offset", "int64_t", np.array(b, object))
        return f"{slope}[k] * counts[k] + {offset}[k]"
    refuse_if(
        sum(sizes) + len(sizes) > _MAX_RANKS,
        f"its scores need a table of {sum(sizes) + len(sizes):,} places, too many for a C file.",
    )
    scores = [[s * m + o for m in range(n + 1)] for s, o, n in zip(a, b, sizes, strict=True)]
    index = {score: rank for rank, score in enumerate(sorted({score for row in scores for score in row}))}
    table = text.numbers("rank", [index[score] for row in scores for score in row])
    first = text.numbers("rank_first", np.cumsum([0, *(n + 1 for n in sizes[:-1])]))
    return f"{table}[{first}[k] + counts[k]]"


def _program(signals: list[Signal], ctype: str, features: int, head: Head, rank: str) -> str:
    classes, kept = head.outputs, sum_type(head.sizes)
    layers = len(signals) - 1
    members = {signal.member: signal for signal in sorted(signals, key=lambda signal: signal.length)}
    fields = "".join(f"    {signal.ctype} {name}[{signal.length}];\n" for name, signal in members.items())
    calls = "".join(
        f"    @_layer{n}({'ab'[(n - 1) % 2]}.{signals[n - 1].member}, {'ab'[n % 2]}.{signals[n].member});\n"
        for n in range(1, layers + 1)
    )
    return f"""union @_buffer {{
{fields}}};

int @_match_counts(const {ctype} x[{features or 1}], {kept} counts[{classes}])
{{
    union @_buffer a{", b" if layers else ""};
    if (@_read(x, a.{signals[0].member}) != 0) return -1;
{calls}    @_votes({"ab"[layers % 2]}.{signals[-1].member}, counts);
    return 0;
}}

int @_predict(const {ctype} x[{features or 1}])
{{
    {kept} counts[{classes}];
    int best = 0;
    int64_t most = INT64_MIN;
    if (@_match_counts(x, counts) != 0) return -1;
    for (int k = 0; k < {classes}; k++) {{
        const int64_t rank = {rank};
        if (rank > most) {{
            most = rank;
            best = k;
        }}
    }}
    return best;
}}
"""


def _self_test(text: Text, network: Network, ctype: str) -> None:
    """Write a program that compares the match counts of some samples with those of the definition."""
    head = network.head
    features = network.encoder.features
    room = _VECTOR_VALUES // max(features, 1)
    samples = directed(network, max(2, min(_VECTORS, room)), every=min(_EVERY, room))
    n_samples = len(samples.numbers)
    counts = network.match_counts(samples.raw, engine="definition")
    classes = head.classes(counts)
    rows = samples.numbers.tolist() if ctype == "double" else samples.numbers.astype(int).tolist()
    x = ",\n".join("{" + ", ".join(map(literal, row)) + "}" for row in rows)
    m = ", ".join("{" + ", ".join(map(literal, row)) + "}" for row in counts.tolist())
    text.add(f"""#ifdef @_SELF_TEST
#include <stdio.h>

static const {ctype} @_samples[{n_samples}][{max(features, 1)}] = {{
{x if features else "{0}"}
}};
static const {sum_type(head.sizes)} @_expected[{n_samples}][{head.outputs}] = {{ {m} }};
static const int @_classes[{n_samples}] = {{ {", ".join(map(str, classes.tolist()))} }};

int main(void)
{{
    int wrong = 0;
    for (int i = 0; i < {n_samples}; i++) {{
        {sum_type(head.sizes)} counts[{head.outputs}];
        int bad = @_match_counts(@_samples[i], counts) != 0 || @_predict(@_samples[i]) != @_classes[i];
        for (int k = 0; !bad && k < {head.outputs}; k++) bad = counts[k] != @_expected[i][k];
        wrong += bad;
    }}
    printf("%d of {n_samples} samples differ\\n", wrong);
    return wrong != 0;
}}
#endif""")
