"""Thresholds laid out as layers, against their sums."""

from itertools import product
from random import Random

import numpy as np
import pytest

from sugenet.errors import TooLargeError
from sugenet.spiking.wiring import Wiring


def test_every_small_threshold_over_bits_and_over_others():
    for weights in product((-2, 0, 1, 4), repeat=2):
        for least in range(-4, 7):
            wiring = Wiring(2)
            bits = [wiring.over_bits([1, 0], 1, "a"), wiring.over_bits([0, 1], 1, "b")]
            for ref in (
                wiring.over_bits(weights, least, "c"),
                wiring.over(zip(weights, bits, strict=True), least, "c"),
            ):
                for x in product((0, 1), repeat=2):
                    expected = sum(w * v for w, v in zip(weights, x, strict=True)) >= least
                    assert value(wiring, ref, x) == expected


def value(wiring: Wiring, ref: int | bool, x: tuple[int, ...]) -> bool:
    if isinstance(ref, bool):
        return ref
    laid = wiring.laid([ref])
    bits = np.array([x], bool)
    for layer in laid.layers:
        bits = layer.activity(bits)
    return bool(bits[0, laid.indices[ref]])


def test_what_is_constant_takes_no_neuron_and_what_is_equal_takes_one():
    wiring = Wiring(3)
    assert wiring.over_bits([1, -1, 0], -1, "always") is True
    assert wiring.over_bits([1, -1, 0], 2, "never") is False
    assert wiring.over_bits([0, 0, 0], 0, "always") is True
    one = wiring.over_bits([2, 4, 0], 3, "a")
    assert wiring.over_bits([1, 2, 0], 2, "b") == one
    assert wiring.over([(5, one), (3, True)], 6, "itself") == one
    assert wiring.over([(-1, one)], -1, "always") is True
    assert wiring.over([(1, one), (-1, one)], 1, "never") is False


@pytest.mark.parametrize("seed", range(5))
def test_values_are_carried_to_where_they_are_read(seed):
    random = Random(seed)
    wiring = Wiring(4)
    refs: list[int | bool] = [
        wiring.over_bits([random.randint(-3, 3) for _ in range(4)], random.randint(-1, 3), f"{k}")
        for k in range(4)
    ]
    terms = []
    for k in range(8):
        row = [(random.randint(-2, 3), random.choice(refs)) for _ in range(3)]
        least = random.randint(0, 2)
        refs.append(wiring.over(row, least, f"later {k}"))
        terms.append((row, least, refs[-1]))
    for x in product((0, 1), repeat=4):
        for row, least, ref in terms:
            expected = sum(w * value(wiring, source, x) for w, source in row) >= least
            assert value(wiring, ref, x) == expected


def test_sums_stay_within_31_bits():
    wiring = Wiring(2)
    assert wiring.over_bits([(1 << 31) - 2, 1], 5, "fits") == 0
    with pytest.raises(TooLargeError, match="whether it is too much is a sum of integers of up to 32 bits"):
        wiring.over_bits([(1 << 31) - 1, 1], 5, "it is too much")
