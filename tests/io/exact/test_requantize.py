"""Integer layers with a requantizer of one's own, against the same arithmetic written out in Python."""

from itertools import product

import numpy as np
import pytest

from sugenet.errors import NetworkError
from sugenet.io import quantized_conv, quantized_layer
from sugenet.nn import Window

BIAS, MULTIPLIERS, SHIFTS = [7, -12, 0], [19661, 30001, 1 << 30], [17, 18, 31]


def microcontroller(total, row, height=15):
    """A fixed-point multiplier and a rounding shift, then saturation."""
    scaled = (total + BIAS[row]) * MULTIPLIERS[row]
    return min(max((scaled + (1 << SHIFTS[row] >> 1) >> SHIFTS[row]) + 4, 0), height)


def by_rows(sums):
    return np.array([[microcontroller(int(s), row) for s in line] for row, line in enumerate(sums)])


@pytest.mark.parametrize("zero", [0, 2, 3])
def test_a_dense_layer_gives_what_the_fixed_point_gives(zero):
    weights = np.random.default_rng(zero).integers(-128, 128, (3, 4))
    layer = quantized_layer(weights.tolist(), by_rows, height=15, top=3, zero=zero)
    for levels in product(range(4), repeat=4):
        sums = [sum(int(w) * (a - zero) for w, a in zip(row, levels, strict=True)) for row in weights]
        assert layer.activity([levels])[0].tolist() == [microcontroller(s, k) for k, s in enumerate(sums)]


def test_padding_of_a_convolution_adds_nothing():
    weights = np.random.default_rng(5).integers(-30, 31, (3, 1, 2, 2))
    conv = quantized_conv(weights, by_rows, Window((1, 2, 2), 2, pads=1), height=15, top=2, zero=1)
    for levels in product(range(3), repeat=4):
        values = np.pad(np.reshape(levels, (2, 2)) - 1, 1)
        wanted = [
            microcontroller(int((weights[k, 0] * values[i : i + 2, j : j + 2]).sum()), k)
            for k, i, j in product(range(3), repeat=3)
        ]
        assert conv.activity([levels])[0].tolist() == wanted


@pytest.mark.parametrize(
    ("weights", "level", "about", "words"),
    [
        (
            [[1, 2]],
            lambda s: np.clip(3 - s, 0, 3),
            {},
            r"output 1 gives level 3 at a sum of 0.*must not fall",
        ),
        ([[1, 2]], lambda s: np.clip(s, 0, 5), {}, "from 0 to height=3"),
        ([[1, 2]], lambda s: np.clip(s, -1, 3), {"zero": 1}, "gives level -1"),
        ([[1, 2]], lambda s: np.zeros(1, int), {}, r"levels of shape \(1,\) for sums of shape"),
        ([[0.5, 2]], lambda s: s, {}, "integers in 2 dimensions, not float64"),
        ([1, 2], lambda s: s, {}, r"of shape \(2,\)"),
        ([[1, 2]], lambda s: s, {"zero": 4}, "zero one of the levels 0..top"),
        ([[1, 2]], lambda s: s, {"height": 0}, "height must be at least 1"),
    ],
)
def test_what_is_no_staircase_is_named(weights, level, about, words):
    with pytest.raises(NetworkError, match=words):
        quantized_layer(weights, level, **{"height": 3, "top": 3, **about})
