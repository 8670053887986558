"""Small networks over bits, all of whose images can be gone through, and wholes over them."""

from __future__ import annotations

from itertools import product

import numpy as np

import sugenet as sg
from sugenet.logic import Reading


def net_of(seed, *, bits=3, classes="0123456789", hidden=0, scale=1, bias=0):
    """A random network of a few bits whose head may tie, one class for each name."""
    rng = np.random.default_rng(seed)
    layers, width = [], bits
    if hidden:
        layers = [sg.nn.DenseLayer(rng.choice([-1, 1], (hidden, bits)), rng.integers(1, bits + 1, hidden))]
        width = hidden
    head = sg.nn.Head(rng.choice([-1, 1], (len(classes), width)), bias, scale)
    return sg.Network.of_bits(layers, head, classes=list(classes))


def images(bits):
    return list(product((-1, 1), repeat=bits))


def drawn_gaps(rng, names, largest=4):
    """A reading with gaps at random, many of them equal."""
    gaps = rng.integers(0, largest, len(names))
    gaps[rng.integers(len(names))] = 0
    return dict(zip(names, gaps.tolist(), strict=True))


def given(rng, name, values, largest=4):
    return Reading.given(name, drawn_gaps(rng, values, largest))


def all_choices(readings):
    return list(product(*(range(len(reading.values)) for reading in readings)))


def by_definition(whole, wanted):
    """The least gap over all choices, by going through them."""
    found = [
        max(r.gaps[k] for r, k in zip(whole.readings, choice, strict=True))
        for choice in all_choices(whole.readings)
        if wanted.met(whole.value(choice))
    ]
    return min(found, default=None)


def cheapest_by_definition(whole, wanted, costs):
    found = [
        sum(row[k] for row, k in zip(costs, choice, strict=True))
        for choice in all_choices(whole.readings)
        if wanted.met(whole.value(choice))
        and None not in [row[k] for row, k in zip(costs, choice, strict=True)]
    ]
    return min(found, default=None)


def valid_grids():
    """All 288 Sudoku grids of 16 cells, row by row, digits from 1; by filling cell after cell."""
    grids = [()]
    for cell in range(16):
        r, c = divmod(cell, 4)
        peers = [
            k for k in range(cell) if k // 4 == r or k % 4 == c or (k // 8 == r // 2 and k % 4 // 2 == c // 2)
        ]
        grids = [(*g, d) for g in grids for d in range(1, 5) if all(g[k] != d for k in peers)]
    return grids
