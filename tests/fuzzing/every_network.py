"""Small random networks of every kind that the definition has, for exports and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np

from sugenet.nn import (
    ConvLayer,
    DenseLayer,
    Domain,
    Encoder,
    Head,
    Law,
    LevelLayer,
    Network,
    OneHot,
    PoolLayer,
    QuantizedConv,
    QuantizedLayer,
    RealLayer,
    Source,
    Span,
    Steps,
    Window,
    bit,
    integer,
    threshold,
)
from sugenet.spiking import unroll
from tests.fuzzing.convolutions import conv_network
from tests.nn.level_nets import KINDS, level_network
from tests.problem.small import random_network
from tests.spiking.nets import RESETS, conventions
from tests.spiking.nets import random_network as random_spiking

__all__ = ["KIND_OF_NETWORK", "every_network", "kinds", "samples_of"]


def every_network(seed: int) -> Network:
    """The network of a seed; the kinds take turns."""
    return KIND_OF_NETWORK[seed % len(KIND_OF_NETWORK)](np.random.default_rng(seed))


def kinds() -> Iterator[str]:
    """The kinds by their names, in their order."""
    return (make.__name__.strip("_") for make in KIND_OF_NETWORK)


def samples_of(network: Network, rng: np.random.Generator, count: int = 40) -> Any:
    """Raw samples: in each feature one of the values at and around its cuts."""
    columns = [_values(coding, rng) for coding in network.encoder.codings]
    rows = np.empty((count, len(columns)), object)
    for feature, values in enumerate(columns):
        rows[:, feature] = [values[int(k)] for k in rng.integers(len(values), size=count)]
    return rows


def _values(coding: Any, rng: np.random.Generator) -> list[Any]:
    if isinstance(coding, OneHot):
        return list(coding.categories)
    if not isinstance(coding, Steps):  # real numbers
        return [0.0, -0.0, *rng.normal(size=6).tolist(), *(rng.normal(size=3) * 1e4).tolist()]
    if coding.bipolar:
        return [-1, 0, 1]
    ends = [coding.low, coding.high, *coding.cuts]
    finite = [end for end in ends if np.isfinite(end)] or [0.0]
    if coding.whole:
        near = {int(end // 1) + step for end in finite for step in (-1, 0, 1)}
        return sorted(value for value in near if coding.low <= value <= coding.high)
    near = {v for end in finite for v in (np.nextafter(end, -9e9), end, np.nextafter(end, 9e9))}
    return [float(value) for value in near if coding.low <= value <= coding.high]


# -- the kinds -----------------------------------------------------------------------------------------------


def _codings(rng: np.random.Generator) -> Network:
    return random_network(rng)


def _levels(rng: np.random.Generator) -> Network:
    return level_network(rng, KINDS[int(rng.integers(len(KINDS)))])


def _small_maps(rng: np.random.Generator) -> Network:
    return conv_network(rng)


def _maps(rng: np.random.Generator) -> Network:
    """Convolutions and pools with pads, strides, dilation, groups, levels and thresholds per position."""
    pick = lambda *sizes: rng.integers(-1, 2, sizes)  # noqa: E731
    shape = (int(rng.integers(1, 4)), int(rng.integers(3, 6)), int(rng.integers(3, 6)))
    top = int(rng.integers(2, 6)) if rng.random() < 0.3 else None
    size = int(np.prod(shape))
    encoder = Encoder.of_bits(size) if top is None else Encoder([integer(1, 1 + top)] * size)
    layers: list[Any] = []
    for place in range(int(rng.integers(1, 4))):
        if place and min(shape[1:]) > 1 and rng.random() < 0.4:
            window = Window(shape, 2, int(rng.integers(1, 3)), 1, rng.integers(0, 2, 4).tolist())
            layers.append(PoolLayer(window, rng.random(shape[0]) < 0.5))
        else:
            groups = int(rng.choice([1, shape[0]]))
            kernel = [min(int(rng.integers(1, 3)), size) for size in shape[1:]]
            dilation = int(rng.integers(1, 3)) if place == 0 else 1
            window = Window(shape, kernel, int(rng.integers(1, 3)), dilation, rng.integers(0, 2, 4).tolist())
            out = groups * int(rng.integers(1, 3))
            weights, first_top = pick(out, shape[0] // groups, *kernel), top if place == 0 else None
            largest = ConvLayer(weights, [0] * out, window, groups, first_top).sizes.max(initial=1)
            tau = rng.integers(-1, largest + 2, (out, *window.positions))
            tau = tau if rng.random() < 0.5 else tau[:, 0, 0]
            layers.append(ConvLayer(weights, tau, window, groups, first_top))
        shape = layers[-1].output_shape
    if rng.random() < 0.5:
        layers.append(DenseLayer(pick(4, int(np.prod(shape))), rng.integers(0, 5, 4)))
    return Network(
        encoder, layers, Head(pick(3, layers[-1].outputs), rng.integers(-2, 3, 3), [1, Fraction(1, 3), 2])
    )


def _table(rng: np.random.Generator) -> Network:
    """A table: categories of texts, numbers, booleans and gaps; float cuts; limits, laws, notes, a source."""
    choices: list[Any] = [
        OneHot(("red", "green", "blue")),
        OneHot((True, False)),
        OneHot((1, 2.5, None)),
        Steps((0.1, 0.30000000000000004, 1e300)),
        Steps((2.0, 4.0, 6.0), low=0, high=7, whole=True),
        threshold(0.5, low=-1.0, high=3.0),
        integer(-3, 9),
        bit(),
    ]
    picked = [choices[int(k)] for k in rng.integers(len(choices), size=rng.integers(1, 6))]
    encoder = Encoder([*picked, integer(0, 90)], [*(f"the {k}th, é" for k in range(len(picked))), "age"])
    width, layers = encoder.width, []
    for _ in range(int(rng.integers(0, 3))):
        weights = rng.integers(-2, 3, (int(rng.integers(1, 6)), width))
        layers.append(DenseLayer(weights, rng.integers(-1, np.abs(weights).sum(axis=1) + 2)))
        width = layers[-1].outputs
    head = Head(rng.integers(-2, 3, (3, width)), [0.1, Fraction(1, 3), -2], [1, Fraction(1, 7), 0.1])
    domain = Domain({len(picked): Span(16, 80)} if rng.random() < 0.5 else {})
    if rng.random() < 0.5:
        domain = Domain(domain.limits, [Law("if age >= 18 then age >= 20", encoder)])
    return Network(
        encoder, layers, head, ["no", "it's", "yes\nof course"], {"made": "by chance"}, Source(), domain
    )


def _spiking(rng: np.random.Generator) -> Network:
    random = Random(int(rng.integers(1 << 30)))
    said = random.choice(list(conventions(*random.choice(RESETS))))
    return unroll(random_spiking(random, said)).network


def _reals(rng: np.random.Generator) -> Network:
    """A first layer over real numbers, dense or of maps, then bits."""
    if rng.random() < 0.5:
        window = Window((2, 3, 3), 2, pads=(1, 0, 0, 1))
        free = RealLayer(rng.integers(-8, 8, (4, 1, 2, 2)), [0] * (4 * len(window.taps)), window, groups=2)
    else:
        free = RealLayer(rng.integers(-9, 9, (5, 6)), [0] * 5)
    sums = free.sums(rng.normal(size=free.inputs).tolist())
    theta = [s + (abs(s) + 1) * Fraction(float(rng.normal() * 0.2)) for s in sums]
    first = RealLayer(free.weights, theta, free.window, free.groups)
    second = DenseLayer(rng.choice([-1, 1], (5, first.outputs)), rng.integers(1, first.outputs, 5))
    head = Head(rng.choice([-1, 1], (3, 5)), [Fraction(int(v), 3) for v in rng.integers(-2, 3, 3)])
    return Network(Encoder.of_reals(first.inputs), [first, second], head)


def _large(rng: np.random.Generator) -> Network:
    """Weights at the edges of 24, 31, 32 and 53 bits, dense or in maps."""
    edge = int(rng.choice([1 << 7, 1 << 15, 1 << 22, 1 << 24, 1 << 30, 1 << 31, 1 << 40, 1 << 50]))
    draw = lambda *sizes: edge * rng.integers(-1, 2, sizes) + rng.integers(-2, 3, sizes)  # noqa: E731
    encoder = Encoder.of_integers(4, 0, 2)
    kind = int(rng.integers(5))
    if kind in (1, 4):  # match counts of several levels stay below 2^31
        edge = min(edge, 1 << 26)
    first: Any
    if kind == 0:
        weights = draw(3, 4)
        first = LevelLayer(weights, 1 + rng.integers(0, np.abs(weights).sum(axis=1) * 2 + 1), encoder.tops)
    elif kind == 1:
        weights = draw(3, 4)
        steps = np.sort(rng.integers(0, np.abs(weights).sum(axis=1)[:, None] * 2 + 1, (3, 2)), axis=1)
        first = QuantizedLayer(weights, steps, encoder.tops)
    else:
        window = Window((1, 2, 2), (1, 2), pads=(0, 1, 0, 0))
        weights = draw(2, 1, 1, 2)
        total = np.abs(weights).reshape(2, -1).sum(axis=1) * 2 + 1
        if kind == 2:
            first = ConvLayer(weights, rng.integers(0, total), window, 1, 2)
        elif kind == 3:
            position = rng.integers(0, total[:, None, None], (2, *window.positions))
            first = ConvLayer(weights, position, window, 1, 2)
        else:
            steps = np.sort(rng.integers(-total[:, None], total[:, None], (2, 3)), axis=1)
            first = QuantizedConv(weights, steps, window, 1, top=2, pad=int(rng.integers(3)))
    tops = None if first.max_level is None else [first.max_level] * first.outputs
    head = Head(
        draw(3, first.outputs) if rng.random() < 0.5 else rng.integers(-1, 2, (3, first.outputs)), tops=tops
    )
    return Network(encoder, [first], head)


def _heads(rng: np.random.Generator) -> Network:
    """Heads with fractions, floats and huge numbers; one class; no layer; constant neurons; wide layers."""
    n = int(rng.choice([1, 3, 63, 64, 65]))
    layers = []
    width = n
    for _ in range(int(rng.integers(0, 3))):
        m = int(rng.choice([1, 2, 63, 64, 65]))
        tau = rng.integers(-1, width + 3, m)
        layers.append(DenseLayer(rng.integers(-1, 2, (m, width)), tau))
        width = m
    k = int(rng.choice([1, 2, 5]))
    numbers: list[Any] = [
        0,
        -3,
        Fraction(1, 3),
        0.1,
        Fraction(10**20, 7),
        1e-300,
        -1e17,
        Fraction(1, 1 << 70),
    ]
    bias = [numbers[int(i)] for i in rng.integers(len(numbers), size=k)]
    scale = [abs(numbers[int(i)]) for i in rng.integers(len(numbers), size=k)] if rng.random() < 0.6 else 1
    return Network(Encoder.of_bits(n), layers, Head(rng.integers(-1, 2, (k, width)), bias, scale))


def _deep(rng: np.random.Generator) -> Network:
    """Layers of levels behind each other, of heights that differ."""
    encoder = Encoder.of_integers(4, -1, 2)
    layers: list[Any] = []
    tops = list(encoder.tops or ())
    sizes = rng.integers(1, 5, int(rng.integers(2, 5))).tolist()
    for _, m in pairwise([0, *sizes]):
        weights = rng.integers(-2, 3, (m, len(tops)))
        total = np.abs(weights) @ np.array(tops)
        height = int(rng.integers(1, 4))
        tau = np.sort(rng.integers(-1, total[:, None] + 2, (m, height)), axis=1)
        layers.append(QuantizedLayer(weights, tau, tops))
        tops = [layers[-1].max_level or 1] * m
    is_level = layers[-1].max_level is not None
    return Network(
        encoder, layers, Head(rng.integers(-2, 3, (2, len(tops))), tops=tops if is_level else None)
    )


KIND_OF_NETWORK: list[Callable[[np.random.Generator], Network]] = [
    _codings, _levels, _small_maps, _maps, _table, _spiking, _reals, _large, _heads, _deep,
]  # fmt: skip
