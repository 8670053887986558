"""Data of the page as JSON: the network with packed weights, the encoder, possible inputs, samples, stored
answers.
"""

import sys
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Any

import numpy as np

from sugenet.bits.window import Window
from sugenet.errors import EncodingError, NetworkError, TooLargeError
from sugenet.nn import (
    NEVER,
    Coding,
    ConvLayer,
    Encoder,
    Head,
    Law,
    Layer,
    Network,
    OneHot,
    QuantizedConv,
    Span,
    Steps,
)
from sugenet.nn.arrays import Ints
from sugenet.nn.images import image_of
from sugenet.nn.layers import SUM_BITS
from sugenet.nn.packed import is_wide_sum
from sugenet.reason.envelope import domain_data
from sugenet.reason.questions.reading import described_within

__all__ = [
    "certified",
    "clauses",
    "first_right",
    "limit",
    "page_value",
    "payload",
    "raw_value",
    "raw_values",
]

_EXACT = 1 << 53
"""Larger integers are rounded by JavaScript."""


def limit(coding: Coding, span: Span) -> tuple[Any, ...] | list[float | None]:
    """Return the limit of a feature: two ends, None for no end, or a tuple of its values.

    Examples
    --------
    >>> from fractions import Fraction
    >>> limit(Steps((1.0,), low=0.0), Span(None, Fraction(1, 3)))
    [0.0, 0.3333333333333333]
    >>> limit(Steps((1.0,)), Span(values=(Fraction(1, 3), 2)))
    (2,)
    """
    if not isinstance(coding, Steps):
        return span.values or ()
    if coding.bipolar:  # off, if the range contains -1 or 0
        return tuple(value for value in (0, 1) if coding.holds(span, value))
    if span.values is not None:
        return tuple(value for value in span.values if coding.has(value))
    low = coding.low if span.low is None else max(coding.low, _rounded(span.low, inf))
    high = coding.high if span.high is None else min(coding.high, _rounded(span.high, -inf))
    if low > high or (coding.whole and any(_is_rounded(end) for end in (span.low, span.high))):
        raise EncodingError(f"the page would round the limits from {span.low} to {span.high}. Ask in Python.")
    return [end if isfinite(end) else None for end in (low, high)]


def _rounded(end: Any, towards: float) -> float:
    """Return the nearest float from there on: states begin and end at floats, so none is lost."""
    try:
        near = float(end)
    except OverflowError:
        near = inf if end > 0 else -inf
    outside = near < end if towards > 0 else near > end
    return nextafter(near, towards) if outside else near


def _is_rounded(end: Any) -> bool:
    """Return whether an integer bound is too large to be stored exactly."""
    return end is not None and abs(end) >= _EXACT and _rounded(end, inf) != end


def clauses(law: Law, encoder: Encoder) -> list[list[list[Any]]]:
    """Return the clauses of a law.

    A literal has the feature, the position of its cut or category in the encoder, and whether it is reached.
    """
    return [
        [[f, _place(encoder.codings[f], at), on] for f, at, on in sorted(clause, key=lambda one: one[0])]
        for clause in law.clauses
    ]


def _place(coding: Coding, at: Any) -> int:
    return coding.cuts.index(at) if isinstance(coding, Steps) else coding.categories.index(at)


def certified(network: Network) -> dict[str, Any] | None:
    """Return the domain as in a certificate; None if JavaScript would round it."""
    data: dict[str, Any] = domain_data(network)["domain"]
    ends = [end for _, span in data["limits"] for end in (span["one of"] if isinstance(span, dict) else span)]
    ends += [at for law in data["laws"] for clause in law["clauses"] for _, at, _ in clause]
    return None if any(type(end) is int and abs(end) >= _EXACT for end in ends) else data


MOST_SAMPLES = 400
FAR = 1 << 40
"""Larger thresholds cannot be reached by any match count, and are written as this value."""


def payload(
    network: Network,
    samples: Any = None,
    truth: Any = None,
    *,
    title: str,
    index: int = 0,
    answers: Iterable[Mapping[str, Any]] = (),
    numbers: Sequence[int] | None = None,
    most: int = MOST_SAMPLES,
    results: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all data that the page needs to show a network, as JSON data.

    Parameters
    ----------
    network
        The network.
    samples, truth
        Raw samples, one row each, and their class indices, if known. Without samples the page begins with the
        lowest value of every feature.
    title
        Title of the page.
    index
        Index of the sample to show first.
    answers
        Questions with precomputed answers.
    numbers
        The index of each sample in its data set (default: 0, 1, 2, ...).
    most
        Maximum number of samples; of more, the first are used.
    results
        Results about the data set, from `sugenet.web.results`.

    Examples
    --------
    >>> from sugenet.nn import DenseLayer, Head
    >>> neuron = DenseLayer([[+1, +1, -1, +1]], [2])
    >>> net = Network.of_bits([neuron], Head([[-1], [+1]]), classes=["off", "on"])
    >>> page = payload(net, [[1, -1, 1, -1]], title="Example 1")
    >>> page["layers"]
    [{'kind': 'dense', 'inputs': 4, 'outputs': 1, 'signs': 'CwAAAA==', 'mask': None, 'tau': [2]}]
    >>> page["features"][0], page["codings"][0]["kind"]
    (['x1', 0], 'steps')
    """
    from sugenet import __version__

    _see_that_it_fits(network)
    encoder = network.encoder
    codings = list(dict.fromkeys(encoder.codings))
    coding_index = {coding: number for number, coding in enumerate(codings)}
    rows, start = _samples(network, samples, truth, index, numbers, most)
    count = max(0 if samples is None else len(samples), 0 if results is None else results["samples"])
    return {
        "format": "sugenet page",
        "version": 1,
        "server": False,
        "title": title,
        "description": str(network),
        "fingerprint": network.fingerprint,
        "notes": dict(network.notes),
        "sugenet": __version__,
        "classes": list(network.classes),
        "codings": [_coding(coding) for coding in codings],
        "features": [
            [name, coding_index[coding]] for name, coding in zip(encoder.names, encoder.codings, strict=True)
        ],
        "grid": image_of(network),
        "levels": network.reads_levels,
        **_layers(network),
        "samples": rows,
        "start": start,
        "count": count,
        "answers": [dict(answer) for answer in answers],
        "results": None if results is None else dict(results),
        **({} if encoder.columns is None else {"columns": encoder.columns.data()}),
    } | _domains(network)


def _domains(network: Network) -> dict[str, Any]:
    """Return the domain, if there is one; for a training range also the domain without it, which the page can
    switch to.
    """
    if not network.domain:
        return {}
    wider = network.within("any") if network.is_within_data else None
    anywhere = None if wider is None or not wider.domain else _domain(wider)
    return {"domain": _domain(network)} | ({} if wider is None else {"anywhere": anywhere})


def _see_that_it_fits(network: Network) -> None:
    """Refuse networks that exceed the page's own arithmetic, integers below 2^31."""
    if network.passes_reals:
        what = "its first layer reads real numbers as they are"
    elif any(isinstance(coding, Steps) and coding.silent for coding in network.encoder.codings):
        what = "its encoder has silent cuts"
    elif any(map(_is_below_floats, network.encoder.codings)):
        what = "a feature has integers below all floats"
    elif any(map(is_wide_sum, network.layers)):
        what = "sums of its first layer, whose inputs are rescaled, reach beyond 2^31"
    else:
        return
    raise NetworkError(
        f"the explorer cannot show this network: {what}. Ask in Python (sg.verify, sg.why, sg.whatif), or on "
        "the command line (sugenet verify, why, whatif)."
    )


def _is_below_floats(coding: Coding) -> bool:
    """Return whether the first state of a feature has values, but none that a float can hold."""
    lowest_float = -sys.float_info.max
    return (
        isinstance(coding, Steps)
        and coding.whole
        and lowest_float in coding.cuts
        and coding.low < lowest_float
    )


def _domain(network: Network) -> dict[str, Any]:
    """Return the inputs that can occur: in words, and as data that restricts the page's questions to them.

    Features include the steps that laws name. If there are laws, `lawful` has one more class, for inputs that
    break them.
    """
    encoder, spans = network.lawful.encoder, network.domain.limits
    pairs = [(coding, spans.get(feature)) for feature, coding in enumerate(encoder.codings)]
    index = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    return {
        "words": described_within(network, "").removeprefix(", "),
        "laws": [[law.text, clauses(law, encoder)] for law in network.domain.laws],
        "codings": [_coding(*pair) for pair in index],
        "places": [index[pair] for pair in pairs],
        "lawful": _layers(network.lawful) if network.domain.laws else None,
        "data": certified(network),
    }


def first_right(network: Network, samples: Any, truth: Any) -> int:
    """Return the first correctly classified sample, to begin with; 0 if none is known."""
    if samples is None or truth is None or not len(samples):
        return 0
    right = network.predict(samples[:MOST_SAMPLES]) == np.array(truth[:MOST_SAMPLES], object)
    return int(right.argmax())


# -- features and samples ------------------------------------------------------------------------------------


def _coding(coding: Coding, span: Span | None = None) -> dict[str, Any]:
    if isinstance(coding, OneHot):
        about: dict[str, Any] = {
            "kind": "onehot",
            "categories": [_category(category) for category in coding.categories],
            "names": [str(category) for category in coding.categories],
        }
    else:
        about = {
            "kind": "steps",
            "cuts": [cut if isfinite(cut) else "Infinity" if cut > 0 else "-Infinity" for cut in coding.cuts],
            "low": _finite(coding.low),
            "high": _finite(coding.high),
            "whole": coding.whole,
            "bipolar": coding.bipolar,
        }
    if isinstance(coding, Steps) and coding.silent:
        about["silent"] = list(coding.silent)
    if span is not None:
        kept = limit(coding, span)
        about["limit"] = kept if isinstance(kept, list) else {"values": [raw_value(value) for value in kept]}
    return about


def _category(category: Any) -> Any:
    """Return a category that JavaScript represents exactly: it reads 1.0 as 1, and rounds large integers."""
    if not isinstance(category, int | float) or (
        not category.is_integer() if isinstance(category, float) else abs(category) < 1 << 53
    ):
        return category
    raise EncodingError(
        f"the page cannot hold the category {category!r}, which JavaScript reads as another number. "
        f"Use text, or an integer below 2^53."
    )


def _typical(coding: Steps, state: int) -> float | int:
    """Return a value that represents a state: the end of the domain for the first or last state, else the
    middle.
    """
    ends = coding.interval(state)
    assert ends is not None
    low, high = ends
    has_low = isfinite(coding.low) or (state > 0 and isfinite(coding.cuts[state - 1]))
    has_high = isfinite(coding.high) or (state < coding.width and isfinite(coding.cuts[state]))
    if has_low and (not has_high or (state == 0 and isfinite(coding.low))):
        return low
    if has_high and (not has_low or (state == coding.width and isfinite(coding.high))):
        return high
    if not has_low:
        return 0 if coding.whole else 0.0
    if coding.whole:
        return low + (high - low) // 2
    return low + (high - low) / 2 if isfinite(high - low) else low / 2 + high / 2


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def raw_value(value: Any) -> Any:
    """Return a raw value as JSON; a fraction, or an integer too large for a float, becomes text."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, Fraction) and plain.denominator == 1:
        plain = int(plain)
    large = isinstance(plain, int) and abs(plain) >= 1 << 53
    return (
        plain if plain is None or (isinstance(plain, str | int | float | bool) and not large) else str(plain)
    )


def _samples(
    network: Network, samples: Any, truth: Any, index: int, numbers: Sequence[int] | None, max_samples: int
) -> tuple[list[dict[str, Any]], int]:
    if samples is None:
        spans = network.domain.limits
        lowest = [_lowest(coding, spans.get(f)) for f, coding in enumerate(network.encoder.codings)]
        return [{"index": None, "values": lowest, "truth": None}], 0
    rows = list(network.encoder.rows(samples))
    number_of = range(len(rows)) if numbers is None else numbers
    if index not in number_of:
        known = f"there are {len(rows)}, numbered from 0" if numbers is None else "it has no answer"
        raise EncodingError(f"index={index} is not a sample: {known}.")
    chosen = number_of.index(index)
    kept = list(range(min(len(rows), max_samples)))
    if chosen not in kept:
        kept[-1] = chosen
    shown = [
        {
            "index": number_of[index],
            "values": raw_values(network, rows[index].tolist(), number_of[index]),
            "truth": None if truth is None or truth[index] is None else int(truth[index]),
        }
        for index in kept
    ]
    return shown, kept.index(chosen)


def _lowest(coding: Coding, span: Span | None) -> Any:
    """Return a value of the first state that a feature can have, within its limits."""
    kept = [None, None] if span is None else limit(coding, span)
    if isinstance(kept, tuple):
        return raw_value(min(kept, key=coding.state))
    if isinstance(coding, Steps) and span is not None:
        low, high = kept
        coding = replace(coding, low=-inf if low is None else low, high=inf if high is None else high)
    return next(_state_value(coding, state) for state in range(coding.states) if coding.reachable(state))


def _state_value(coding: Coding, state: int) -> Any:
    return raw_value(coding.categories[state] if isinstance(coding, OneHot) else _typical(coding, state))


def raw_values(network: Network, row: Sequence[Any], number: int) -> list[Any]:
    """Return the values of a sample as JSON; refuse those that the page cannot show."""
    if len(row) != network.encoder.features:
        raise EncodingError(
            f"sample {number} has {len(row)} values, but the network reads "
            f"{network.encoder.features} features."
        )
    return [page_value(coding, value) for coding, value in zip(network.encoder.codings, row, strict=True)]


def page_value(coding: Coding, value: Any) -> Any:
    """Return the value of a feature in the form of JSON; -1 stays -1 for a bit."""
    if isinstance(coding, OneHot):
        return coding.categories[coding.state(value)]
    number = coding.number(value)
    return -1 if coding.bipolar and value == -1 else raw_value(number)


# -- layers --------------------------------------------------------------------------------------------------


def _layers(network: Network) -> dict[str, Any]:
    return {"layers": [_layer(layer) for layer in network.layers], "head": _head(network.head)}


def _layer(layer: Layer) -> dict[str, Any]:
    size = {"inputs": layer.inputs, "outputs": layer.outputs}
    if layer.every is not None and layer.window is not None:
        pool = {**size, "window": _window(layer.window), "every": layer.every.tolist()}
        if layer.is_binary:
            return {"kind": "pool", **pool}
        return {"kind": "level pool", **pool, "top": layer.height, "height": layer.height}
    if layer.window is None and not layer.is_binary:
        rows = {"weights": _words(layer.weights), "tops": layer.input_tops.tolist()}
        return {"kind": "stairs", **size, **rows, "height": layer.height, "steps": _unsigned(layer.tau)}
    if isinstance(layer, QuantizedConv):
        lowest = np.minimum(layer.weights, 0).reshape(len(layer.weights), -1).sum(axis=1) * layer.top
        above = np.where(layer.steps == NEVER, NEVER, layer.steps - lowest[:, None])
        return {
            "kind": "stairs conv",
            **size,
            "window": _window(layer.window),
            "channels": len(layer.weights),
            "weights": _words(layer.weights),
            "groups": layer.groups,
            "top": layer.top,
            "pad": layer.pad,
            "height": layer.height,
            "steps": _unsigned(above),
        }
    tau = np.clip(layer.tau, -FAR, FAR).tolist()
    if isinstance(layer, ConvLayer):
        kernel = {
            "channels": len(layer.weights),
            "weights": _words(layer.weights),
            "groups": layer.groups,
            "top": layer.top,
        }
        return {"kind": "conv", **size, "window": _window(layer.window), **kernel, "tau": tau}
    if layer.tops is not None:
        return {
            "kind": "levels",
            **size,
            "weights": _words(layer.weights),
            "tops": layer.tops.tolist(),
            "tau": tau,
        }
    return {**_rows(layer.weights), "tau": tau}


def _rows(weights: Ints) -> dict[str, Any]:
    """Return rows of weights: as sign bits and a mask if they are -1, 0 and +1, else as integers."""
    size = {"inputs": weights.shape[1], "outputs": weights.shape[0]}
    if np.abs(weights).max(initial=0) > 1:
        return {"kind": "weights", **size, "weights": _words(weights)}
    mask = None if weights.all() else _bits(weights != 0)
    return {"kind": "dense", **size, "signs": _bits(weights > 0), "mask": mask}


def _head(head: Head) -> dict[str, Any]:
    slopes, offsets, unit = head.integers
    if head.sum_bits > SUM_BITS:
        raise TooLargeError(
            f"the scores of this network are integers of up to {head.sum_bits} bits, as its last layer has "
            f"floats. The page computes with at most {SUM_BITS} bits. Ask on the command line or in Python."
        )
    rows = _rows(head.weights)
    if head.tops is not None:
        size = {"inputs": head.inputs, "outputs": head.outputs}
        rows = {"kind": "levels", **size, "weights": _words(head.weights), "tops": head.tops.tolist()}
    return {
        **rows,
        "slopes": [str(slope) for slope in slopes],
        "offsets": [str(offset) for offset in offsets],
        "unit": str(unit),
        "scale": [_shown(scale) for scale in head.scale],
        "bias": [_shown(bias) for bias in head.bias],
    }


def _shown(value: Fraction) -> float:
    """Return the nearest float, for display only; the largest one if the value is beyond it."""
    try:
        return float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -sys.float_info.max


def _window(window: Window) -> dict[str, list[int]]:
    return {name: list(getattr(window, name)) for name in ("shape", "kernel", "stride", "dilation", "pads")}


def _words(values: Ints) -> str:
    """Return integers as 32-bit words; layers ensure that larger ones do not occur."""
    return b64encode(np.ascontiguousarray(values, dtype="<i4").tobytes()).decode()


def _unsigned(values: Ints) -> str:
    """Return match counts as unsigned 32-bit words, which can also hold `NEVER`."""
    return b64encode(np.ascontiguousarray(values, dtype="<u4").tobytes()).decode()


def _bits(truths: Any) -> str:
    """Return rows of truth values, each in whole 32-bit words, the first value in the lowest bit."""
    padded = np.pad(truths, ((0, 0), (0, -truths.shape[1] % 32)))
    return b64encode(np.packbits(padded, axis=1, bitorder="little").tobytes()).decode()
