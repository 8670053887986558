"""The fingerprint: a network that differs in anything that an answer depends on has another one.

Every argument of every part of a network is changed in turn. An argument that does not count, or that the
rest of the network determines, is listed here by name with the reason.
"""

from fractions import Fraction
from inspect import signature
from typing import get_args

import numpy as np
import pytest

import sugenet as sg
from sugenet.errors import CertificateError, EncodingError, FileError, NetworkError
from sugenet.nn import (
    Columns,
    ConvLayer,
    DenseLayer,
    Domain,
    Encoder,
    Head,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    Preparation,
    QuantizedConv,
    QuantizedLayer,
    Real,
    RealLayer,
    Source,
    SparseLayer,
    Steps,
    Window,
    bit,
)
from sugenet.nn.codings import Coding, Span
from sugenet.nn.layers import Layer

HEAD = Head([[1], [-1]])
SQUARE = Window((2, 3, 3), kernel=2)
KERNEL = np.ones((2, 2, 2, 2), int)
PIXELS = Encoder.of_integers(18, 0, 2)


def over(encoder, layer):
    """A network of one layer, with a head that reads whatever it gives."""
    top = layer.max_level
    tops = None if top is None else [top] * layer.outputs
    return Network(encoder, [layer], Head([[1] * layer.outputs, [-1] * layer.outputs], tops=tops))


def coded(coding):
    return Network(Encoder([coding]), [], Head([[1] * coding.width, [-1] * coding.width]))


def seen_through(window):
    kernel = np.ones((1, window.shape[0], *window.kernel), int)
    return over(Encoder.of_bits(window.inputs), ConvLayer(kernel, [2], window))


WAYS = {
    Steps: (
        coded,
        {
            "cuts": ((0.5,), (0.25,)),
            "low": (0.0, -1.0),
            "high": (1.0, 2.0),
            "whole": (True, False),
            "bipolar": (False, True),
            "silent": ((), (0,)),
        },
    ),
    Real: (
        lambda coding: Network(Encoder([coding]), [RealLayer([[1]], [0])], HEAD),
        {
            "cuts": ((), (0.5,)),
            "low": (0.0, 1.0),
            "high": (9.0, 8.0),
            "whole": (False, True),
            "bipolar": (False, True),
            "silent": ((), (0,)),
        },
    ),
    OneHot: (coded, {"categories": (("a", "b"), ("a", "c"))}),
    Encoder: (
        lambda encoder: Network(encoder, [], HEAD),
        {
            "codings": ([Steps((1.0,))], [Steps((2.0,))]),
            "names": (["x"], ["y"]),
            "shape": (None, (1,)),
            "seen": (None, [Span(low=0.0, high=2.0)]),
            "columns": (None, Columns(("x",), (Preparation(("x",), fill=1),))),
        },
    ),
    DenseLayer: (
        lambda layer: over(Encoder.of_bits(2), layer),
        {
            "weights": ([[1, 1]], [[1, -1]]),
            "tau": ([1], [2]),
            "flipped": (None, [True]),
            "ties": (None, [True]),
        },
    ),
    SparseLayer: (
        lambda layer: over(Encoder.of_bits(layer.inputs), layer),
        {
            "reads": ([[0, 1]], [[0, 2]]),
            "factors": ([[1, 1]], [[1, -1]]),
            "tau": ([1], [2]),
            "inputs": (3, 4),
        },
    ),
    LevelLayer: (
        lambda layer: over(Encoder.of_integers(2, 0, 3), layer),
        {
            "weights": ([[1, 1]], [[1, 2]]),
            "tau": ([2], [3]),
            "tops": ([3, 3], [2, 3]),
            "flipped": (None, [True]),
            "ties": (None, [True]),
        },
    ),
    QuantizedLayer: (
        lambda layer: over(Encoder.of_integers(2, 0, 2), layer),
        {
            "weights": ([[1, 1]], [[1, -1]]),
            "tau": ([[1, 2]], [[1, 3]]),
            "tops": ([2, 2], [1, 2]),
        },
    ),
    ConvLayer: (
        lambda layer: over(PIXELS if layer.inputs == 18 else Encoder.of_integers(layer.inputs, 0, 2), layer),
        {
            "weights": (KERNEL, -KERNEL),
            "tau": ([3, 3], [3, 4]),
            "window": (SQUARE, Window((2, 3, 3), kernel=2, pads=(1, 0, 0, 0))),
            "groups": (1, 2),
            "top": (2, 3),
            "flipped": (None, [True, False]),
            "ties": (None, [True, False]),
        },
    ),
    QuantizedConv: (
        lambda layer: over(PIXELS, layer),
        {
            "weights": (KERNEL, -KERNEL),
            "steps": ([[1, 3], [1, 3]], [[1, 3], [1, 4]]),
            "window": (SQUARE, Window((2, 3, 3), kernel=2, pads=(1, 0, 0, 0))),
            "groups": (1, 2),
            "top": (2, 3),
            "pad": (0, 1),
        },
    ),
    PoolLayer: (
        lambda layer: over(PIXELS, layer),
        {
            "window": (SQUARE, Window((2, 3, 3), kernel=2, stride=2)),
            "every": (False, [False, True]),
            "top": (2, 3),
        },
    ),
    RealLayer: (
        lambda layer: over(Encoder.of_reals(layer.inputs), layer),
        {
            "weights": (KERNEL, -KERNEL),
            "theta": ([0] * 8, [0] * 7 + [1]),
            "window": (SQUARE, Window((2, 4, 4), kernel=2, stride=2)),
            "groups": (1, 2),
        },
    ),
    Window: (
        seen_through,
        {
            "shape": ((1, 5, 5), (1, 5, 6)),
            "kernel": ((2, 2), (2, 3)),
            "stride": ((1, 1), (1, 2)),
            "dilation": ((1, 1), (1, 2)),
            "pads": ((0, 0, 0, 0), (0, 0, 0, 1)),
        },
    ),
    Head: (
        lambda head: Network(Encoder.of_bits(1), [QuantizedLayer([[1]], [[1, 1]], [1])], head),
        {
            "weights": ([[1], [-1]], [[1], [1]]),
            "bias": (0, [0, 1]),
            "scale": (1, [1, 2]),
            "tops": ([2], [3]),
        },
    ),
    Network: (
        lambda network: network,
        {
            "encoder": (Encoder.of_bits(2), Encoder([bit(), Steps((1.0,))])),
            "layers": ([DenseLayer([[1, 1]], [1])], [DenseLayer([[1, 1]], [2])]),
            "head": (HEAD, Head([[-1], [1]])),
            "classes": (["no", "yes"], ["yes", "no"]),
            "notes": (None, {"from": "here"}),
            "source": (None, Source(step=Fraction(1, 255))),
            "domain": (None, Domain.of({"limits": [[0, [1, 1]]], "laws": []}, Encoder.of_bits(2))),
        },
    ),
}
"""For each part: a network that has it, and two values for each of its arguments."""

REMARK = "a remark of folding: no neuron computes with it"
UNCOUNTED = {
    (DenseLayer, "flipped"): REMARK,
    (DenseLayer, "ties"): REMARK,
    (LevelLayer, "flipped"): REMARK,
    (LevelLayer, "ties"): REMARK,
    (ConvLayer, "flipped"): REMARK,
    (ConvLayer, "ties"): REMARK,
    (Encoder, "shape"): "samples may come in this shape: the same values in the same order",
    (Encoder, "seen"): "what training has seen: a question within it spells it out as its domain",
    (Encoder, "columns"): "how raw columns become features: certificates are about features",
    (Network, "notes"): "text for people",
    (Network, "source"): "numbers of the file it was read from: certificates use those of the network",
    (Network, "domain"): "every certificate spells out the inputs that it is about",
}
"""Arguments that no certificate depends on, and why. Names of features and classes do count: answers use
them to say what they are about.
"""

IMPLIED = {
    (Real, "cuts"): "none",
    (Real, "whole"): "no",
    (Real, "bipolar"): "no",
    (Real, "silent"): "none",
    (LevelLayer, "tops"): "those of the encoder, or of the layer before",
    (QuantizedLayer, "tops"): "those of the encoder, or of the layer before",
    (ConvLayer, "top"): "that of the encoder, or of the layer before",
    (QuantizedConv, "top"): "that of the encoder, or of the layer before",
    (PoolLayer, "top"): "that of the encoder, or of the layer before",
    (Head, "tops"): "those of the last layer",
    (ConvLayer, "groups"): "from the shape of the kernel and the channels",
    (QuantizedConv, "groups"): "from the shape of the kernel and the channels",
    (RealLayer, "groups"): "from the shape of the kernel and the channels",
}
"""Arguments that follow from the rest, so that any other value is refused; and what they are."""

CASES = [(part, name) for part, (_, values) in WAYS.items() for name in values]


def _kinds(form):
    return {kind for below in form.__subclasses__() for kind in _kinds(below)} or {form}


def test_every_part_of_a_network_is_here_with_all_its_arguments():
    assert set(WAYS) == {*_kinds(Layer), *get_args(Coding), Real, Encoder, Head, Network, Window}
    for part, (_, values) in WAYS.items():
        assert set(values) == set(signature(part).parameters), part


@pytest.mark.parametrize(("part", "name"), CASES, ids=[f"{part.__name__}.{name}" for part, name in CASES])
def test_whatever_is_changed_changes_the_fingerprint(part, name):
    made, values = WAYS[part]
    base = {key: first for key, (first, _) in values.items()}
    network = made(part(**base))
    changed = base | {name: values[name][1]}
    if (part, name) in IMPLIED:
        with pytest.raises((NetworkError, EncodingError)):
            made(part(**changed))
        return
    same = made(part(**changed)).fingerprint == network.fingerprint
    assert same == ((part, name) in UNCOUNTED)


def test_a_certificate_of_a_network_with_other_silent_cuts_is_refused(tmp_path):
    """A bit of a silent cut does not count as flipped, so Hamming(1) reaches further."""
    plain, silent = (
        Network(Encoder([Steps((1.0, 2.0, 3.0), silent=cuts)], ["x"]), [], Head([[-1] * 3, [1] * 3]))
        for cuts in ((), (0, 1, 2))
    )
    for own, other, answer in ((plain, silent, "proved"), (silent, plain, "refuted")):
        certificate = sg.verify(own, sg.Robust([0.0], sg.Hamming(1))).certificate
        assert certificate["answer"] == answer
        assert sg.check(certificate, own)
        with pytest.raises(CertificateError, match="is for the network"):
            sg.check(certificate, other)
    with pytest.raises(FileError, match="silent cuts"):
        sg.save(silent, tmp_path / "silent.sugenet")
