"""A network with laws as one more class, which wins for inputs that break a law. It is used for
questions about inputs that can occur (docs/theory.md 7.11).

A clause is broken iff all its literals fail. A neuron whose threshold is the number of literals computes
this. If laws name steps that the network does not have, these become further bits of the encoder, which all
other neurons ignore.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sugenet.nn.arrays import Ints, make_sure
from sugenet.nn.codings import Coding, Steps
from sugenet.nn.encoder import Encoder
from sugenet.nn.head import Head
from sugenet.nn.laws import Clause, Law
from sugenet.nn.layers import DenseLayer, Layer

__all__ = ["lawful_parts"]


def lawful_parts(
    encoder: Encoder, layers: Sequence[Layer], head: Head, laws: Sequence[Law]
) -> tuple[Encoder, tuple[Layer, ...], Head]:
    """Return the parts of a network over bits with one more class. Its match count is the number of clauses
    that an input breaks, and it wins against all others iff that number is positive.
    """
    clauses = tuple(dict.fromkeys(clause for law in laws for clause in law.clauses))
    finer, original_bits = _refined(encoder, clauses)
    neurons = (layers[0].outputs if layers else encoder.width) + len(clauses)
    make_sure(
        16 * neurons * finer.width, f"{neurons:,} neurons over {finer.width:,} bits", "Laws are for tables."
    )
    first = _first(encoder, layers)
    weights = np.zeros((first.outputs + len(clauses), finer.width), np.int64)
    weights[: first.outputs, original_bits] = first.weights
    for number, clause in enumerate(clauses, start=first.outputs):
        for feature, at, on in clause:
            coding, start = finer.codings[feature], finer.group(feature).start
            index = coding.cuts.index(at) if isinstance(coding, Steps) else coding.categories.index(at)
            weights[number, start + index] = -1 if on else 1
    made: list[Layer] = [DenseLayer(weights, np.concatenate([first.tau, [len(c) for c in clauses]]))]
    for layer in layers[1:]:
        dense = layer.unrolled()
        identity = np.eye(len(clauses), dtype=np.int64)
        tau = np.concatenate([dense.tau, np.ones(len(clauses), np.int64)])
        made.append(DenseLayer(_blocks(dense.weights, identity), tau))
    broken = np.ones((1, len(clauses)), np.int64)
    sizes = (
        scale * int(n) + abs(bias) for scale, n, bias in zip(head.scale, head.sizes, head.bias, strict=True)
    )
    more = max(sizes) + 1  # than any score of a class; without a broken clause, the negative of that
    bias = (*head.bias, more * (len(clauses) - 1))
    last = Head(_blocks(head.weights, broken), bias, (*head.scale, more))
    return finer, tuple(made), last


def _first(encoder: Encoder, layers: Sequence[Layer]) -> DenseLayer:
    """Return the first layer over the bits of the encoder; without layers, the identity on the bits."""
    if not layers:
        return DenseLayer(np.eye(encoder.width, dtype=np.int64), np.ones(encoder.width, np.int64))
    return layers[0].unrolled()


def _refined(encoder: Encoder, clauses: Sequence[Clause]) -> tuple[Encoder, Ints]:
    """Return the encoder with the steps that clauses name, and the new indices of its own bits."""
    wanted: dict[int, set[float]] = {}
    for clause in clauses:
        for feature, at, _ in clause:
            if isinstance(encoder.codings[feature], Steps):
                wanted.setdefault(feature, set()).add(at)
    codings: list[Coding] = []
    original_bits: list[int] = []
    start = 0
    for feature, coding in enumerate(encoder.codings):
        finer = coding
        if isinstance(coding, Steps) and not wanted.get(feature, set()) <= set(coding.cuts):
            cuts = tuple(sorted({*coding.cuts, *wanted[feature]}))
            silent = tuple(index for index, cut in enumerate(cuts) if cut not in coding.cuts)
            finer = replace(coding, cuts=cuts, silent=silent)
        codings.append(finer)
        silent = finer.silent if isinstance(finer, Steps) else ()
        original_bits += [start + index for index in range(finer.width) if index not in silent]
        start += finer.width
    return replace(encoder, codings=tuple(codings)), np.array(original_bits, np.intp)


def _blocks(a: Ints, b: Ints) -> Ints:
    out = np.zeros((a.shape[0] + b.shape[0], a.shape[1] + b.shape[1]), np.int64)
    out[: a.shape[0], : a.shape[1]], out[a.shape[0] :, a.shape[1] :] = a, b
    return out
