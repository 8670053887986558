"""Small certificates that ask for much: time without end, or all the memory there is.

Each must be refused within limits.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from math import comb
from typing import Any

import numpy as np

import sugenet as sg
from sugenet.nn import ConvLayer, DenseLayer, Encoder, Head, LevelLayer, Network, OneHot, Window
from sugenet.reason.envelope import envelope
from sugenet.reason.questions import problems_of

__all__ = ["bombs"]


@cache
def pixels(features: int = 784, neurons: int = 64) -> Network:
    """As many levels as a photograph has."""
    rng = np.random.default_rng(0)
    layers = [
        LevelLayer(rng.choice([-1, 1], (neurons, features)), [128 * features] * neurons, [255] * features)
    ]
    layers.append(DenseLayer(rng.choice([-1, 1], (neurons, neurons)), [neurons // 2] * neurons))
    return Network(Encoder.of_integers(features), layers, Head(rng.choice([-1, 1], (4, neurons))))


@cache
def bits(features: int = 64, neurons: int = 64, *, depth: int = 1) -> Network:
    """Bits, so that sets of changes are many and their patterns all different; deep ones are enumerated."""
    rng = np.random.default_rng(1)
    layers = [
        DenseLayer(rng.choice([-1, 1], (neurons, inputs)), [inputs // 2] * neurons)
        for inputs in (features, neurons, neurons)[:depth]
    ]
    return Network.of_bits(layers, Head(rng.choice([-1, 1], (3, neurons))))


@cache
def maps() -> Network:
    """Convolutions that are large as neurons."""
    rng = np.random.default_rng(2)
    first = ConvLayer(rng.choice([-1, 1], (16, 3, 3, 3)), [13] * 16, Window((3, 32, 32), kernel=3, pads=1))
    second = ConvLayer(rng.choice([-1, 1], (16, 16, 3, 3)), [72] * 16, Window((16, 32, 32), kernel=3, pads=1))
    return Network.of_bits([first, second], Head(rng.choice([-1, 1], (3, second.outputs))))


@cache
def categories() -> Network:
    """Features with many categories, all pairs of which a question about fairness compares."""
    encoder = Encoder([OneHot(tuple(range(3000))) for _ in range(2)], ["a", "b"])
    rng = np.random.default_rng(3)
    return Network(
        encoder, [DenseLayer(rng.choice([-1, 1], (8, 6000)), [3000] * 8)], Head(rng.choice([-1, 1], (2, 8)))
    )


def _claim(network: Network, question: Any, proof: Any, **more: Any) -> dict[str, Any]:
    data = envelope(network, question, witness=None, proof=None)
    return {**data, "answer": "proved", "proof": proof, **more}


def _packed(piece: bytes, size: int) -> str:
    """A zlib stream of the piece again and again, put together from one packed block."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = piece * (1 + (1 << 20) // len(piece))
    times = max(1, size // len(block))
    body = (packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)) * times + packer.flush(zlib.Z_FINISH)
    total = 1
    for _ in range(times):
        total = zlib.adler32(block, total)
    return b64encode(b"\x78\xda" + body + total.to_bytes(4, "big")).decode()


_WALK = {"kind": "enumerate"}


def bombs(size: int) -> Iterator[tuple[str, dict[str, Any], Network]]:
    """What each aims at, the certificate and its network; compressed proofs unpack to about so many bytes."""
    net, zero = bits(), [0] * 64
    robust = sg.Robust(zero, sg.Hamming(8))
    yield "a walk whose patterns fill the memory", _claim(net, robust, _WALK), net
    yield "a walk without end", _claim(net, sg.Robust(zero, sg.Hamming(12)), _WALK), net
    yield "too many sets", _claim(net, sg.Robust(zero, sg.Hamming(40)), _WALK), net
    yield "a walk over all pixels", _claim(pixels(), sg.Always(0), _WALK), pixels()
    yield "bounds over all pixels", _claim(pixels(), sg.Always(0), {"kind": "bound"}), pixels()
    yield "a walk over maps", _claim(maps(), sg.Robust([0] * 3072, sg.Hamming(3)), _WALK), maps()
    yield "bounds over maps", _claim(maps(), sg.Robust([0] * 3072, sg.Hamming(3)), {"kind": "bound"}), maps()
    yield "fairness of many categories", _claim(categories(), sg.Fair(["a", "b"]), _WALK), categories()
    problem = problems_of(net, robust)[0][0]
    variables = problem.cascade.starts[-1] + len(problem.cascade.cases)
    rup = {"kind": "lemma", "variables": variables, "facts": [], "cuts": [], "encoding": "zlib+base64"}
    for words, piece in (
        ("empty", b"0 "),
        ("true", b"1 -1 0 "),
        ("long", b"1 "),
        ("known", b"-2 -2 1 0 "),
        ("one word", b"1"),
    ):
        yield (
            f"clauses that unpack for ever: {words}",
            _claim(net, robust, {**rup, "clauses": _packed(piece, size)}),
            net,
        )
    for words, piece in (
        ("copies", b"p 1 0 "),
        ("at hand", b"p " + b"1 " * 99),
        ("one sum", b"p 1 " + b"2 + " * 99),
        ("large", b"p 1 " + b"*" + b"9" * 90 + b" "),
    ):
        yield (
            f"sums that unpack for ever: {words}",
            _claim(net, robust, {**rup, "sums": 10**6, "clauses": _packed(piece, size)}),
            net,
        )
    cuts = [[65, 1, 1]] * 200_000
    yield (
        "cuts without end",
        _claim(net, robust, {**rup, "cuts": cuts, "clauses": b64encode(zlib.compress(b"0")).decode()}),
        net,
    )
    yield "prices without a common denominator", _prices(net), net
    for region in ({"kind": "Hamming", "radius": "32"}, {"kind": "AnyInput"}, {"kind": "L0", "radius": "12"}):
        yield f"a count of {region['kind']}", _count(net, zero, region), net
        yield f"a count of {region['kind']} over pixels", _count(pixels(), [0] * 784, region), pixels()
    for radius in (5, 7):
        total = sum(comb(64, k) for k in range(radius + 1))
        yield (
            f"a count of {total:,} inputs",
            _count(net, zero, {"kind": "Hamming", "radius": str(radius)}, total),
            net,
        )
    where = [[f, {"one of": list(range(256))}] for f in range(784)]
    boxed = {
        "kind": "robust",
        "sample": [0] * 784,
        "label": _label(pixels(), [0] * 784),
        "target": None,
        "ties": "lowest",
    }
    region = {"kind": "Box", "limits": where}
    yield (
        "a box of lists",
        {**_claim(pixels(), sg.Always(0), _WALK), "question": {**boxed, "region": region}},
        pixels(),
    )
    yield "a reason of many counterexamples", _reason(net, zero), net
    deep: Any = {"by": "split", "neuron": 0, "on": None, "off": None}
    for _ in range(20_000):
        deep = {"by": "split", "neuron": 0, "on": deep, "off": deep}
    yield "a proof nested deeply", _claim(net, robust, {"kind": "patches", "cases": [deep]}), net
    yield (
        "parts without end",
        _claim(net, robust, [{"kind": "bound"}] * 10**6),
        net,
    )


def _label(network: Network, sample: list[int]) -> int:
    return int(network.predict([sample], engine="definition")[0])


def _prices(net: Network) -> dict[str, Any]:
    sample = [0] * 64
    prices = [[f, f"1/{(1 << 12_000) + 2 * f + 1}"] for f in range(64)]
    question = {
        "kind": "whatif",
        "sample": sample,
        "label": _label(net, sample),
        "target": None,
        "ties": "lowest",
        "limit": "1",
    }
    question |= {
        "cost": {"kind": "Prices", "prices": prices, "per_unit": False},
        "movable": list(range(64)),
        "region": None,
    }
    head = envelope(net, sg.Always(0), witness=None, proof=None)
    return {**head, "question": question, "answer": "none", "witness": None, "proof": _WALK}


def _count(net: Network, sample: list[int], region: dict[str, Any], total: int = 1) -> dict[str, Any]:
    """The parts of a count sum up; whether the classes are right takes counting."""
    counts = [total, *([0] * (net.head.outputs - 1))]
    question = {"kind": "count", "sample": sample, "region": region, "where": []}
    base = envelope(net, sg.Always(0), witness=None, proof=None)
    del base["witness"]
    proof = {"kind": "partition", "order": [], "parts": [[[], counts]]}
    return {
        **base,
        "question": question,
        "answer": "counted",
        "counts": counts,
        "total": total,
        "method": "walk",
        "proof": proof,
    }


def _reason(net: Network, sample: list[int]) -> dict[str, Any]:
    """Many counterexamples, true ones, among which a smallest set that meets all is hard to find."""
    label, rng = _label(net, sample), np.random.default_rng(5)
    rows = rng.random((4000, 64)) < 0.3
    kept = [
        row
        for row, other in zip(rows.tolist(), net.predict(rows.astype(int)).tolist(), strict=True)
        if other != label
    ]
    contrasts = [[[f, 1] for f, changed in enumerate(row) if changed] for row in kept]
    base = envelope(net, sg.Always(0), witness=None, proof=None)
    question = {
        "kind": "reason",
        "sample": sample,
        "label": label,
        "target": None,
        "ties": "lowest",
        "region": {"kind": "AnyInput"},
    }
    proof = {"kind": "bound"}
    return {
        **base,
        "question": {**question, "fixed": list(range(64))},
        "answer": "minimum",
        "contrasts": contrasts,
        "proof": proof,
    }
