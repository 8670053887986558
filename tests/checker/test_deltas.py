"""Layers after the first from turned neurons, against the definition and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from sugenet.checker.accelerate.arrays import Picking, Sliding, Taps, bits_layer, dense_counts
from sugenet.checker.accelerate.deltas import Deltas
from sugenet.checker.accelerate.later import LaterLayers
from sugenet.checker.limit import Limit


def windows(shape, size, stride=1, pad=0):
    """The pixels under the windows of a map; -1 is padding."""
    _, height, width = shape
    rows = range(-pad, height + pad - size + 1, stride)
    columns = range(-pad, width + pad - size + 1, stride)
    taps = [
        [
            y * width + x if 0 <= y < height and 0 <= x < width else -1
            for y in range(top, top + size)
            for x in range(left, left + size)
        ]
        for top in rows
        for left in columns
    ]
    return Taps(shape, np.array(taps, np.intp))


def sliding(rng, window, kernels, groups, top=1):
    per, positions = window.shape[0] // groups, len(window.taps)
    weights = rng.integers(-top, top + 1, (kernels, per, window.taps.shape[1]))
    tau = rng.integers(0, 4, (kernels * positions, 1))
    return Sliding(weights, tau, np.ones(int(np.prod(window.shape)), np.int64), window, groups)


def stack(seed):
    """Convolutions, with groups and padding, a pool, dense layers and a head, after 4 x 6 x 6 neurons."""
    rng = np.random.default_rng(seed)
    first = sliding(rng, windows((4, 6, 6), 3, pad=seed % 2), 6, (1, 2)[seed % 2])
    side = round(len(first.window.taps) ** 0.5)
    pool = Picking(windows((6, side, side), 2, 2), rng.random(6) < 0.5)
    small = side // 2
    second = sliding(rng, windows((6, small, small), 2), 8, (1, 2, 3)[seed % 2], top=3)
    width = second.outputs
    dense = bits_layer(rng.integers(-2, 3, (63 + seed % 3, width)), rng.integers(0, 9, 63 + seed % 3))
    head = rng.integers(-3, 4, (3, dense.outputs))
    return rng, [first, pool, second, dense], head


def patterns(rng, width, count):
    sizes = [0, 1, width, *rng.integers(1, 12, count)]
    return [np.sort(rng.choice(width, size, replace=False)) for size in sizes]


@pytest.mark.parametrize("seed", range(6))
def test_turned_neurons_give_the_counts_of_the_definition(seed):
    rng, layers, head = stack(seed)
    active = rng.random(layers[0].inputs) < 0.5
    turned = patterns(rng, len(active), 60)
    bits = np.repeat(active[None], len(turned), axis=0)
    for row, neurons in zip(bits, turned, strict=True):
        row[neurons] = ~row[neurons]
    assert Deltas.fits(layers, head)
    found = Deltas(active, layers, head, Limit()).counts(turned)
    assert (found == LaterLayers(active, layers, head).counts(bits)).all()
    for layer in layers:
        bits = layer.levels(bits)
    assert (found == dense_counts(head, bits)).all()


def test_no_layer_after_the_first():
    head = np.array([[1, -2, 3], [0, 1, 1]])
    active = np.array([True, False, True])
    found = Deltas(active, [], head, Limit()).counts([np.array([], np.int64), np.array([0, 1])])
    assert (found == dense_counts(head, np.array([[1, 0, 1], [0, 1, 1]], bool))).all()


def test_large_sums_are_left_to_the_definition():
    layers = [bits_layer(np.full((1, 3), 6000), [2])]
    assert not Deltas.fits(layers, np.array([[1]]))
    assert not Deltas.fits([], np.array([[1 << 14]]))


@pytest.mark.parametrize("seed", range(4))
def test_weights_of_inputs_are_what_one_more_of_them_adds(seed):
    _, (first, *_), _ = stack(seed)
    zero = np.zeros((1, first.inputs), np.int64)
    for index in (0, first.inputs // 2, first.inputs - 1):
        one = zero.copy()
        one[0, index] = 1
        gain = first.match_counts(one) - first.match_counts(zero)
        assert (first.gains(np.array([index])) == gain).all()
