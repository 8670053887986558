"""Match counts and inequalities by floats, against whole numbers of any size."""

from __future__ import annotations

import numpy as np
import pytest

from sugenet.checker.accelerate.arrays import dense_counts
from sugenet.checker.accelerate.integers import violations
from sugenet.nn import Head


@pytest.mark.parametrize("size", [1, 3, 1 << 20, (1 << 24) - 1, 1 << 24, (1 << 53) - 1, 1 << 53, 1 << 56])
@pytest.mark.parametrize("inputs", [1, 63, 64, 65])
def test_match_counts_as_by_the_definition(size, inputs):
    rng = np.random.default_rng(inputs)
    size = max(1, size // inputs) if size > 1 else 1
    weights = rng.integers(-size, size + 1, (9, inputs))
    weights[0], weights[1], weights[2] = size, -size, 0
    bits = rng.random((7, inputs)) < 0.5
    bits[0], bits[1] = True, False
    assert (dense_counts(weights, bits) == Head(weights).match_counts(bits)).all()


@pytest.mark.parametrize("size", [1, 1 << 40, 1 << 49, (1 << 53) // 10, 1 << 53, 1 << 60, 1 << 70])
def test_inequalities_in_exact_numbers(size):
    rng = np.random.default_rng(0)
    head = np.ones((3, 5), np.int64)
    counts = rng.integers(0, 6, (50, 3))
    factors = [[size, -size, 1], [0, size, -1], [-size + 1, 0, size]]
    sums = [[sum(f * int(c) for f, c in zip(row, count, strict=True)) for row in factors] for count in counts]
    for pick in range(10):
        least = sums[pick]
        cases = [[(factors[0], least[0]), (factors[1], least[1])], [(factors[2], least[2] + 1)], []]
        for many in range(4):
            expected = [
                any(
                    all(
                        sum(f * int(c) for f, c in zip(row, count, strict=True)) >= bound
                        for row, bound in case
                    )
                    for case in cases[:many]
                )
                for count in counts
            ]
            assert violations(cases[:many], head, counts).tolist() == expected
