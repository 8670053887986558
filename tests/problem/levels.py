"""Small networks of more than two levels in which something can happen, for tests against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.nn.level_nets import KINDS, level_network
from tests.problem.small import random_network, raw_values

__all__ = ["KINDS", "any_network", "every_input", "lively_network", "some_of"]


def every_input(network):
    """All raw samples, one row each."""
    values = [raw_values(coding) for coding in network.encoder.codings]
    rows = np.empty((int(np.prod([len(row) for row in values])), len(values)), object)
    rows[:] = list(product(*values))
    return rows


def lively_network(rng, kind):
    """A network of one kind that knows at least two classes."""
    while True:
        network = level_network(rng, kind)
        if len(set(network.predict(every_input(network), engine="definition").tolist())) > 1:
            return network


def any_network(rng, seed, **options):
    """A network of bits with these options; for every fifth seed one of more than two levels, each kind
    in its turn.
    """
    if seed % 5:
        return random_network(rng, **options)
    return lively_network(rng, KINDS[seed // 5 % len(KINDS)])


def some_of(regions, seed):
    """The regions to ask about: few where the network has more than two levels, and more inputs with that."""
    return regions if seed % 5 else regions[seed // 5 % 3 :: 3]
