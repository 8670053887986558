"""Networks as arrays: levels and match counts are those of the plain form, whatever layers there are."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import sugenet as sg
from sugenet.checker.accelerate.arrays import backed
from sugenet.checker.accelerate.origin import form_of
from sugenet.checker.network import load_network
from sugenet.errors import CertificateError, NetworkError
from sugenet.io.native.file import network_bytes
from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Head,
    LevelLayer,
    Network,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    SparseLayer,
    Window,
    integer,
)
from sugenet.nn.encoder import Encoder


def shaped(inputs, rng):
    """Some shape of maps with so many values."""
    channels = int(rng.choice([n for n in range(1, inputs + 1) if inputs % n == 0]))
    height = int(rng.choice([n for n in range(1, inputs + 1) if inputs // channels % n == 0]))
    return channels, height, inputs // channels // height


def layer_of(kind, inputs, shape, top, rng):
    """A layer of a kind over levels up to a top, or bits; the shape of its maps, and its top."""
    m, steps = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    if kind == "dense":
        weights, tau = rng.integers(-2, 3, (m, inputs)), rng.integers(-3, 2 * inputs, m)
        made = LevelLayer(weights, tau, [top] * inputs) if top else DenseLayer(weights, tau)
        return made, None, None
    if kind == "sparse":
        reads, weights = rng.integers(0, inputs, (m, 3)), rng.integers(-2, 3, (m, 3))
        return SparseLayer(reads, weights, rng.integers(-3, 6, m), inputs), None, None
    if kind == "stairs":
        tau = np.sort(rng.integers(-3, 15, (m, steps)), axis=1)
        return QuantizedLayer(rng.integers(-2, 3, (m, inputs)), tau, [top or 1] * inputs), None, steps
    if shape is None or rng.integers(4) == 0:
        shape = shaped(inputs, rng)
    sizes = (rng.integers(1, 4, 2), rng.integers(1, 3, 2), rng.integers(1, 3, 2), rng.integers(0, 2, 4))
    window = Window(shape, *(tuple(size.tolist()) for size in sizes))
    if kind == "pool":
        made = PoolLayer(window, rng.integers(0, 2, shape[0]).astype(bool), top=top)
        return made, made.output_shape, top
    groups = int(rng.choice([n for n in range(1, shape[0] + 1) if shape[0] % n == 0]))
    outs = groups * int(rng.integers(1, 3))
    weights = rng.integers(-2, 3, (outs, shape[0] // groups, *window.kernel))
    if kind == "conv":
        made = ConvLayer(weights, rng.integers(-2, 12, outs), window, groups, top=top)
        return made, made.output_shape, None
    tau = np.sort(rng.integers(-6, 10, (outs, steps)), axis=1)
    made = QuantizedConv(weights, tau, window, groups, top=top or 1, pad=int(rng.integers(0, 2)))
    return made, made.output_shape, steps


def network_of(seed):
    """Up to three layers of any kind, in any order."""
    rng = np.random.default_rng(seed)
    shape, top = tuple(rng.integers(1, 4, 3).tolist()), int(rng.integers(1, 4))
    inputs = int(np.prod(shape))
    encoder, reads = Encoder([integer(0, top)] * inputs), None
    if top > 1 and rng.integers(2):
        reads = top
    elif top > 1:
        inputs, shape = inputs * top, None
    layers = []
    for _ in range(int(rng.integers(1, 4))):
        kinds = ["dense", "stairs", "conv", "stairs conv", "pool"]
        kind = rng.choice(kinds if reads else [*kinds, "sparse"])
        made, shape, reads = layer_of(kind, inputs, shape, reads, rng)
        layers.append(made)
        inputs = made.outputs
    head = Head(
        rng.integers(-2, 3, (3, inputs)), [0, 1, -2], [1, 2, 3], tops=[reads] * inputs if reads else None
    )
    return Network(encoder, layers, head), rng


@pytest.mark.parametrize("weight", [1 << 24, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 1 << 32, 1 << 53])
@pytest.mark.parametrize("is_conv", [False, True])
def test_thresholds_at_the_ends_of_numbers(weight, is_conv):
    """A staircase spells a threshold that nothing reaches as 2^31; other layers may reach that."""
    first = LevelLayer([[weight]], [weight], [3])
    if is_conv:
        first = ConvLayer([[[[weight]]]], [weight], Window((1, 1, 1), 1), top=3)
    network = Network(Encoder([integer(0, 3)]), [first], Head([[1], [-1]]))
    form = load_network(network_bytes(network))
    for state in range(4):
        scores = [1, -1] if state else [-1, 1]
        assert (
            form.scores([state]) == backed(form).scores([state]) == form_of(network).scores([state]) == scores
        )
    refuted = sg.verify(network, sg.Never(0)).certificate
    assert refuted["answer"] == "refuted"
    false = refuted | {"answer": "proved", "witness": None, "proof": {"kind": "enumerate"}}
    for given, plain in product((network, form), (False, True)):
        with pytest.raises(CertificateError, match="is a violation"):
            sg.check(false, given, plain=plain)


def test_layers_of_all_kinds_in_any_order():
    seen = Counter()
    for seed in range(3000):
        try:
            network, rng = network_of(seed)
        except NetworkError:  # a window that does not fit
            continue
        seen += Counter(type(layer).__name__ for layer in network.layers)
        form = load_network(network_bytes(network))
        arrays = backed(form)
        for _ in range(3):
            states = [int(rng.integers(coding.states)) for coding in network.encoder.codings]
            assert arrays.scores(states) == form.scores(states), seed
            assert (arrays.expanded.counts_at(states) == arrays.quantized.counts_at(states)).all(), seed
    assert len(seen) == 7
    assert min(seen.values()) > 100
